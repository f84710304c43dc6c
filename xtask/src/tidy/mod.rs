//! `cargo xtask tidy`: checks the rules that the compiler cannot, over the files git knows. Each
//! rule is a module and a pure function over a `Tree`; each finding says how to mend it.

mod arrows;
mod headers;
mod layers;
mod manifests;
mod paths;
mod tree;
mod unsafety;

use anyhow::{Result, ensure};

use tree::Tree;

/// Arguments of `cargo xtask tidy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// The file, with a line number where one helps: `a/b.rs:12`.
    place: String,
    /// What is wrong there.
    what: String,
    /// What to do about it.
    mend: String,
}

impl Finding {
    fn new(place: impl Into<String>, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
            mend: mend.into(),
        }
    }
}

/// The documents a reader of the repository looks for.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

/// `cargo xtask tidy`.
pub(crate) fn run(_args: &Args) -> Result<()> {
    let tree = Tree::tracked()?;
    let findings = [
        headers::check(&tree),
        arrows::check(&arrows::workspace_packages()?),
        layers::check(&tree),
        unsafety::check(&tree),
        manifests::check(&tree),
        paths::check(&tree),
        documents(&tree),
    ]
    .concat();
    for finding in &findings {
        println!(
            "{}: {}\n    to mend: {}",
            finding.place, finding.what, finding.mend
        );
    }
    ensure!(findings.is_empty(), "{} findings", findings.len());
    eprintln!("tidy: {} files, nothing found", tree.len());
    Ok(())
}

fn documents(tree: &Tree) -> Vec<Finding> {
    let missing = DOCUMENTS
        .iter()
        .filter(|name| tree.text(name).is_none_or(str::is_empty));
    missing
        .map(|name| Finding::new(*name, "missing or empty", "write it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_document_is_found() {
        let all = DOCUMENTS.map(|name| (name, "text"));
        assert_eq!(documents(&Tree::of(&all)), []);
        for i in 0..all.len() {
            let mut some = all;
            some[i].1 = "";
            let findings = documents(&Tree::of(&some));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].place, DOCUMENTS[i]);
        }
        assert_eq!(documents(&Tree::of(&[])).len(), DOCUMENTS.len());
    }
}
