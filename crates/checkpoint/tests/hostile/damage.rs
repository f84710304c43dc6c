//! Honest files cut and changed at every byte.
//!
//! What is left out: time and memory, which thousands of files share.

use crate::judge::turn;
use std::path::Path;
use tensoracle_checkpoint::{Error, Options, Summary, convert, fuzzing};
use tensoracle_progress::Silent;

/// Small files of the three layouts.
fn small_files() -> [(&'static str, Vec<u8>); 4] {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/more");
    ["nothing.pt", "deflated.pt", "views_legacy.pt", "old.tar"]
        .map(|name| (name, std::fs::read(data.join(name)).unwrap()))
}

/// Converts without judging time and memory, which thousands of files share.
fn quick(bytes: &[u8]) -> Result<Summary, Error> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, bytes).unwrap();
    let destination = folder.path().join("out.safetensors");
    let options = Options {
        digest: true,
        max_output: Some(1 << 20),
        ..Options::default()
    };
    let outcome = convert(&source, &destination, &options, &Silent);
    assert_eq!(outcome.is_ok(), destination.exists());
    outcome
}

#[test]
fn a_file_cut_anywhere_is_refused_or_complete() {
    let _turn = turn();
    for (name, bytes) in small_files() {
        let whole = quick(&bytes).unwrap();
        // A tar archive ends with zeros that nobody needs.
        let needed = match name {
            "old.tar" => bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1,
            _ => bytes.len(),
        };
        let mut accepted = 0;
        for len in 0..bytes.len() {
            // Every length in memory, and every seventh with files.
            if len % 7 != 0 && len < needed {
                let answer = fuzzing::checkpoint(&bytes[..len], &Options::default());
                assert!(answer.is_err(), "{name} cut to {len} bytes");
                continue;
            }
            match quick(&bytes[..len]) {
                Ok(summary) => {
                    assert_eq!(summary.digest, whole.digest, "{name} cut to {len} bytes");
                    assert!(len >= needed, "{name} cut to {len} bytes");
                    accepted += 1;
                }
                Err(Error::InFile { .. }) => {}
                Err(other) => panic!("{name} cut to {len} bytes: {other:?}"),
            }
        }
        assert!(accepted == 0 || name == "old.tar");
    }
}

#[test]
fn a_file_with_any_byte_changed_is_answered() {
    let _turn = turn();
    let mut answers = [0, 0];
    for (_, bytes) in small_files() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                // Passes the first elements of each tensor through every step of writing, too.
                let answer = fuzzing::checkpoint(&changed, &Options::default());
                answers[usize::from(answer.is_ok())] += 1;
            }
        }
    }
    // Changed values of elements are not noticed, and changed structure is.
    assert!(answers.iter().all(|count| *count > 1000), "{answers:?}");
}
