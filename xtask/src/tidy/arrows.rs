//! The rule that dependencies between the workspace's crates point one way.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Finding;
use crate::workspace;

/// Crates that any other may use.
const LEAVES: &[&str] = &["element", "mapping", "progress"];

/// Each library and the libraries it may use besides the leaves.
const ARROWS: &[(&str, &[&str])] = &[
    ("element", &[]),
    ("mapping", &[]),
    ("progress", &[]),
    ("graph", &[]),
    ("kernels", &[]),
    ("store", &[]),
    ("tensorfile", &[]),
    ("weights", &["graph"]),
    ("checkpoint", &["tensorfile"]),
    ("compare", &["kernels", "tensorfile"]),
    ("cpu", &["graph", "kernels"]),
    ("trt-abi", &[]),
    ("tensorrt", &["graph", "trt-abi"]),
    ("test-support", &[]),
    ("xtask", &["test-support"]),
];

/// The crate that users depend on: it may use every library.
const FACE: &str = "tensoracle";

/// Crates that may use every library, the face and the examples: nobody depends on them but others
/// of their kind.
const TOP: &[&str] = &[
    "cli",
    "conformance",
    "example-images",
    "example-sentences",
    "example-speech",
    "example-terminal",
];

/// Crates that must work without TensorRT, by whatever path.
const APART: &[&str] = &[
    "graph",
    "weights",
    "cpu",
    "store",
    "compare",
    "checkpoint",
    "tensorfile",
];

/// One package of the workspace and the packages of the workspace that it uses, tests left aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    name: String,
    manifest: String,
    uses: Vec<String>,
}

/// The workspace's packages, as cargo reads them.
pub(super) fn workspace_packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Described>,
    }
    #[derive(Deserialize)]
    struct Described {
        name: String,
        manifest_path: std::path::PathBuf,
        dependencies: Vec<Dependency>,
    }
    #[derive(Deserialize)]
    struct Dependency {
        name: String,
        kind: Option<String>,
        path: Option<String>,
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(workspace::root())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let describe = |package: Described| Package {
        name: short(&package.name).to_owned(),
        manifest: workspace::shown(&package.manifest_path),
        uses: package
            .dependencies
            .iter()
            .filter(|used| used.path.is_some() && used.kind.as_deref() != Some("dev"))
            .map(|used| short(&used.name).to_owned())
            .collect(),
    };
    Ok(metadata.packages.into_iter().map(describe).collect())
}

fn short(name: &str) -> &str {
    name.strip_prefix("tensoracle-").unwrap_or(name)
}

pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let libraries: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        for used in package.uses.iter().map(String::as_str) {
            let library = libraries.contains_key(used);
            let fine = match libraries.get(name) {
                Some(allowed) => {
                    name != used && (LEAVES.contains(&used) || allowed.contains(&used))
                }
                None if name == FACE => library,
                None if TOP.contains(&name) => {
                    library || used == FACE || used.starts_with("example-")
                }
                None => false,
            };
            if !fine {
                findings.push(Finding::new(
                    &package.manifest,
                    format!("{name} uses {used}, against the direction of the arrows"),
                    format!(
                        "move what {name} needs into a crate that it may use, or change the \
                         design: ARCHITECTURE.md and ARROWS in xtask/src/tidy/arrows.rs"
                    ),
                ));
            }
        }
        if APART.contains(&name)
            && let Some(path) = path_to(packages, name, "trt-abi")
        {
            findings.push(Finding::new(
                &package.manifest,
                format!("{name} reaches trt-abi: {}", path.join(" → ")),
                format!("cut one of these dependencies: {name} must work without TensorRT"),
            ));
        }
    }
    findings
}

/// A chain of dependencies from one package to another, if there is one.
fn path_to<'a>(packages: &'a [Package], from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let uses: BTreeMap<_, _> = packages
        .iter()
        .map(|p| (p.name.as_str(), &p.uses))
        .collect();
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![vec![from]];
    while let Some(path) = open.pop() {
        let last = path.last()?;
        if *last == to {
            return Some(path);
        }
        for next in uses.get(last).into_iter().copied().flatten() {
            if seen.insert(next) {
                open.push([path.as_slice(), &[next.as_str()]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(packages: &[(&str, &[&str])]) -> Vec<String> {
        let packages: Vec<_> = packages
            .iter()
            .map(|(name, uses)| Package {
                name: (*name).to_owned(),
                manifest: format!("crates/{name}/Cargo.toml"),
                uses: uses.iter().map(|used| (*used).to_owned()).collect(),
            })
            .collect();
        check(&packages)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn arrows_of_the_design_pass() {
        let fine: &[(&str, &[&str])] = &[
            ("graph", &["progress"]),
            ("weights", &["graph", "mapping"]),
            ("cpu", &["graph", "kernels"]),
            ("tensorrt", &["trt-abi"]),
            (
                "tensoracle",
                &["cpu", "tensorrt", "store", "weights", "graph"],
            ),
            ("cli", &["tensoracle", "checkpoint"]),
            ("conformance", &["tensoracle", "cpu"]),
            ("xtask", &["test-support"]),
        ];
        assert_eq!(found(fine), [""; 0]);
    }

    #[test]
    fn arrows_against_the_design_are_found() {
        for (from, to) in [
            ("graph", "weights"),
            ("store", "graph"),
            ("weights", "tensoracle"),
            ("xtask", "graph"),
            ("progress", "progress"),
            ("new-crate", "graph"),
            ("tensoracle", "cli"),
            ("tensoracle", "example-speech"),
        ] {
            let findings = found(&[(from, &[to])]);
            assert_eq!(findings.len(), 1, "{from} {to}");
            assert!(
                findings[0].starts_with(&format!("{from} uses {to}")),
                "{findings:?}"
            );
        }
    }

    #[test]
    fn a_roundabout_way_to_trt_abi_is_found() {
        let findings = found(&[
            ("cpu", &["kernels"]),
            ("kernels", &["tensorrt"]),
            ("tensorrt", &["trt-abi"]),
        ]);
        assert!(
            findings
                .contains(&"cpu reaches trt-abi: cpu → kernels → tensorrt → trt-abi".to_owned()),
            "{findings:?}"
        );
    }

    #[test]
    fn every_crate_kept_apart_is_one_of_the_libraries() {
        for name in APART {
            assert!(ARROWS.iter().any(|(library, _)| library == name), "{name}");
        }
    }
}
