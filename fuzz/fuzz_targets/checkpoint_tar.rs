//! Any bytes as a checkpoint, seeded with files of the tar layout.
//!
//! `cargo +nightly fuzz run checkpoint_tar fuzz/corpus/checkpoint_tar crates/checkpoint/tests/data/more -- -max_len=16384
//! -dict=fuzz/dictionaries/pickle.dict`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tensoracle_checkpoint::{Options, fuzzing};

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzzing::checkpoint(bytes, &Options::default());
    let options = Options {
        skip_non_tensors: true,
        select: vec!["a.b".into()],
        ..Options::default()
    };
    let _ = fuzzing::checkpoint(bytes, &options);
});
