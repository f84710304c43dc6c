//! How a program ends: with its own status, or with an error and what to do about it.

use std::process::ExitCode;

/// The exit status of a program that found the right answer, found another one, or failed. An error
/// goes to standard error with all its causes and the hint that comes with it.
#[must_use]
pub fn exit(result: anyhow::Result<bool>) -> ExitCode {
    /// As distinct from a wrong answer, which is 1.
    const FAILED: u8 = 2;
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            if let Some(hint) = hint(&error) {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(FAILED)
        }
    }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let ours = cause.downcast_ref::<tensoracle::Error>();
        let weights = cause.downcast_ref::<tensoracle::WeightsError>();
        ours.and_then(tensoracle::Error::hint)
            .or_else(|| weights.and_then(tensoracle::WeightsError::hint))
    })
}
