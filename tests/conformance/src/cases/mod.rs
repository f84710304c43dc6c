//! The cases of each layer, one file a layer, named as in the graph crate.
//!
//! Each has what a hand computed, with the reckoning beside it, and what NumPy and ONNX computed,
//! which is data.

/// Declares the layers' modules, and the list of them.
macro_rules! layers {
    ($($layer:ident,)*) => {
        $(pub mod $layer;)*

        /// All layers by name with their cases.
        #[must_use]
        pub fn all() -> Vec<(&'static str, Vec<Case>)> {
            vec![$((stringify!($layer), $layer::cases()),)*]
        }
    };
}

crate::for_each_layer!(layers);

use crate::{Case, numpy, onnx};

/// All cases of a layer: NumPy's, ONNX's, and those written by hand.
fn joined(layer: &str, by_hand: Vec<Case>) -> Vec<Case> {
    let mut cases = numpy::cases(layer);
    cases.extend(onnx::cases(layer));
    cases.extend(by_hand);
    cases
}

/// 0, 1, 2, … as many as asked for.
fn count(elements: u32) -> Vec<f64> {
    (0..elements).map(f64::from).collect()
}
