//! The rule that a layer has one file name in every place that knows it.

use super::Finding;
use super::tree::Tree;

/// Where the graph defines its layers.
const DEFINED: &str = "crates/graph/src/layers/";

/// Files there that hold no layer.
const HELPERS: &[&str] = &["mod.rs"];

/// What each layer must have besides its definition.
const PLACES: &[(&str, &str)] = &[
    ("crates/cpu/src/layers/", "compute the layer on the CPU"),
    (
        "crates/tensoracle/src/lower/",
        "lower the layer to TensorRT",
    ),
    (
        "tests/conformance/src/cases/",
        "write the layer's conformance cases",
    ),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let layers: Vec<_> = tree
        .texts()
        .filter_map(|(path, _)| path.strip_prefix(DEFINED))
        .filter(|file| !file.contains('/') && !HELPERS.contains(file))
        .collect();
    let mut findings = Vec::new();
    // A place that does not exist yet asks for nothing.
    for (place, task) in PLACES.iter().filter(|(place, _)| tree.has_folder(place)) {
        for layer in &layers {
            let file = format!("{place}{layer}");
            if !tree.contains(&file) {
                findings.push(Finding::new(
                    &file,
                    format!("missing, while {DEFINED}{layer} defines a layer"),
                    format!(
                        "{task} there; if {DEFINED}{layer} is no layer, add it to HELPERS in \
                         xtask/src/tidy/layers.rs"
                    ),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_missing_in_one_place_is_found() {
        let all = [
            "crates/graph/src/layers/mod.rs",
            "crates/graph/src/layers/softmax.rs",
            "crates/cpu/src/layers/mod.rs",
            "crates/cpu/src/layers/softmax.rs",
            "crates/tensoracle/src/lower/mod.rs",
            "crates/tensoracle/src/lower/softmax.rs",
            "tests/conformance/src/cases/mod.rs",
            "tests/conformance/src/cases/softmax.rs",
        ];
        let without = |absent: &str| {
            let files: Vec<_> = all
                .iter()
                .filter(|&&p| p != absent)
                .map(|p| (*p, ""))
                .collect();
            check(&Tree::of(&files))
                .into_iter()
                .map(|finding| finding.place)
                .collect::<Vec<_>>()
        };
        assert_eq!(without(""), [""; 0]);
        for (place, _) in PLACES {
            let file = format!("{place}softmax.rs");
            assert_eq!(without(&file), [file.as_str()]);
        }
    }

    #[test]
    fn a_place_that_does_not_exist_yet_asks_for_nothing() {
        assert_eq!(
            check(&Tree::of(&[("crates/graph/src/layers/softmax.rs", "")])),
            []
        );
    }
}
