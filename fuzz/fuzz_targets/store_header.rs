//! The header of a saved engine, and telling what a file is: no bytes make either panic, and a
//! header that is read survives being read again.
//!
//! `cargo +nightly fuzz run store_header -- -dict=fuzz/dictionaries/store.dict`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tensoracle_store::{FileKind, container, recognize};

fuzz_target!(|input: &[u8]| {
    let Some((&mode, rest)) = input.split_first() else {
        return;
    };
    if mode == 0 {
        check(rest);
    } else {
        // No fuzzer guesses a digest, so the lines are put right: the input is a header, padded
        // to where a plan may begin, and `mode` bytes of plan follow.
        let mut body = rest.to_vec();
        body.resize((117 + body.len()).next_multiple_of(4096) - 117, b' ');
        let mut file = format!(
            "tensoracle engine format 1\nheader {:010} blake3 {}\n",
            body.len(),
            blake3::hash(&body).to_hex()
        )
        .into_bytes();
        file.append(&mut body);
        file.resize(file.len() + usize::from(mode), 0);
        check(&file);
    }
});

fn check(file: &[u8]) {
    let kind = recognize(file);
    match container::decode(file) {
        Ok(header) => {
            let plan = &file[header.plan.offset as usize..];
            assert_eq!(plan.len() as u64, header.plan.length);
            assert_eq!(kind, FileKind::SavedEngine(Box::new(header)));
        }
        Err(_) => assert!(!matches!(kind, FileKind::SavedEngine(_))),
    }
}
