//! Any bytes as the pickle of a checkpoint whose storages are all there.
//!
//! `cargo +nightly fuzz run checkpoint_pickle fuzz/corpus/checkpoint_pickle crates/checkpoint/tests/data/more/pickles -- -max_len=16384
//! -dict=fuzz/dictionaries/pickle.dict`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tensoracle_checkpoint::{Options, fuzzing};

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzzing::pickle(bytes, &Options::default());
    let options = Options {
        skip_non_tensors: true,
        ..Options::default()
    };
    let _ = fuzzing::pickle(bytes, &options);
});
