//! The header of a safetensors file: no bytes make the reader panic, and it agrees with the
//! `safetensors` crate on everything but names that stand twice.
//!
//! `cargo +nightly fuzz run weights_header -- -dict=fuzz/dictionaries/safetensors.dict`

#![no_main]

use libfuzzer_sys::fuzz_target;
use safetensors::SafeTensors;
use tensoracle_weights::{Header, HeaderFault};

fuzz_target!(|input: &[u8]| {
    let Some((mode, rest)) = input.split_first() else {
        return;
    };
    if *mode == 0 {
        check(rest);
    } else {
        // Lengths are the hardest part to guess, so they are put right: the input is a header, and
        // as many bytes of data follow as it says, if those are few.
        let mut file = [&(rest.len() as u64).to_le_bytes(), rest].concat();
        check(&file);
        if let Err(HeaderFault::Truncated { expected, .. }) = Header::parse(&file)
            && expected < 1 << 16
        {
            file.resize(expected as usize, 0);
            check(&file);
        }
    }
});

fn check(file: &[u8]) {
    match (Header::parse(file), SafeTensors::deserialize(file)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.tensors().len(), theirs.len());
            for tensor in ours.tensors() {
                let view = theirs.tensor(&tensor.name).expect("a tensor of that name");
                assert_eq!(view.dtype().to_string(), tensor.element.name());
                assert!(
                    view.shape()
                        .iter()
                        .map(|&dim| dim as u64)
                        .eq(tensor.dims.iter().copied())
                );
                assert_eq!(
                    view.data().as_ptr_range(),
                    file[tensor.range.clone()].as_ptr_range()
                );
                assert_eq!(
                    ours.position(&tensor.name).map(|at| &ours.tensors()[at]),
                    Some(tensor)
                );
            }
        }
        (Err(fault), Err(_)) => drop((fault.to_string(), fault.hint())),
        (Err(HeaderFault::DuplicateName { .. }), Ok(_)) => {}
        (ours, theirs) => panic!("here: {ours:?}, the reference: {theirs:?}"),
    }
}
