//! Any bytes as the pickle of a checkpoint whose storages are all there.

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
