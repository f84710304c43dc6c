//! How a program ends: with its own status, or with an error and what to do about it.

use std::error::Error;
use std::process::ExitCode;

/// The exit status of a program that found the right answer, found another one, or failed. An error
/// goes to standard error with all its causes and the hint that comes with it: one of the library's
/// own, or what `hint` knows about an error of the program.
#[must_use]
pub fn exit(result: anyhow::Result<bool>, hint: impl Fn(Cause<'_>) -> Option<String>) -> ExitCode {
    /// As distinct from a wrong answer, which is 1.
    const FAILED: u8 = 2;
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            if let Some(hint) = error
                .chain()
                .find_map(|cause| hint(cause).or_else(|| own(cause)))
            {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(FAILED)
        }
    }
}

/// An error, or what caused it.
pub type Cause<'a> = &'a (dyn Error + 'static);

fn own(cause: Cause<'_>) -> Option<String> {
    let ours = cause.downcast_ref::<tensoracle::Error>();
    let weights = cause.downcast_ref::<tensoracle::WeightsError>();
    ours.and_then(tensoracle::Error::hint)
        .or_else(|| weights.and_then(tensoracle::WeightsError::hint))
}
