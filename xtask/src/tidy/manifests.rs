//! The rule that what holds for all crates stands once, in the root manifest: the oldest supported
//! compiler and the lints.

use super::Finding;
use super::tree::Tree;

/// The one file that states the oldest supported compiler.
const ROOT: &str = "Cargo.toml";

/// What every member's manifest must say.
const INHERITED: &[(&str, &str)] = &[
    (
        "rust-version.workspace = true",
        "the oldest supported compiler",
    ),
    ("[lints]\nworkspace = true", "the lints"),
];

/// Files that could state a compiler version a second time.
const RIVALS: &[(&str, &str)] = &[
    ("clippy.toml", "msrv"),
    ("rust-toolchain.toml", "channel"),
    ("rust-toolchain", ""),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !states_rust_version(tree.text(ROOT).unwrap_or_default()) {
        findings.push(Finding::new(
            ROOT,
            "states no rust-version",
            "state the oldest supported compiler under [workspace.package]",
        ));
    }
    let manifests = tree
        .texts()
        .filter(|(path, _)| path.ends_with("/Cargo.toml"));
    // A workspace of its own, such as a fuzz target's, has nothing to inherit from.
    for (path, text) in manifests.filter(|(_, text)| !text.lines().any(|l| l == "[workspace]")) {
        if states_rust_version(text) {
            findings.push(Finding::new(
                path,
                "states a rust-version of its own",
                "write `rust-version.workspace = true`",
            ));
        }
        for (line, what) in INHERITED {
            if !text.contains(line) {
                let mend = format!("add `{}`", line.replace('\n', "` and `"));
                findings.push(Finding::new(path, format!("does not inherit {what}"), mend));
            }
        }
    }
    for (path, key) in RIVALS {
        if tree.text(path).is_some_and(|text| text.contains(key)) {
            findings.push(Finding::new(
                *path,
                "states a compiler version a second time",
                format!("remove it: rust-version in {ROOT} is the one source"),
            ));
        }
    }
    findings
}

fn states_rust_version(manifest: &str) -> bool {
    manifest
        .lines()
        .any(|line| line.replace(' ', "").starts_with("rust-version=\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nrust-version.workspace = true\n\n[lints]\nworkspace = true\n";
    const ROOT_TEXT: &str = "[workspace.package]\nrust-version = \"1.95\"\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let finding = |f: Finding| format!("{} {}", f.place, f.what);
        check(&Tree::of(files)).into_iter().map(finding).collect()
    }

    #[test]
    fn what_is_stated_twice_or_not_inherited_is_found() {
        assert_eq!(found(&[(ROOT, ROOT_TEXT), ("a/Cargo.toml", GOOD)]), [""; 0]);
        assert_eq!(
            found(&[(ROOT, "[workspace]\n")]),
            ["Cargo.toml states no rust-version"]
        );
        let own = GOOD.replace("rust-version.workspace = true", "rust-version = \"1.90\"");
        assert_eq!(
            found(&[(ROOT, ROOT_TEXT), ("a/Cargo.toml", &own)]),
            [
                "a/Cargo.toml states a rust-version of its own",
                "a/Cargo.toml does not inherit the oldest supported compiler"
            ]
        );
        let apart = "[package]\nname = \"fuzz\"\n\n[workspace]\n";
        assert_eq!(
            found(&[(ROOT, ROOT_TEXT), ("fuzz/Cargo.toml", apart)]),
            [""; 0]
        );
        let lax = GOOD.replace("[lints]", "[other]");
        assert_eq!(
            found(&[(ROOT, ROOT_TEXT), ("a/Cargo.toml", &lax)]),
            ["a/Cargo.toml does not inherit the lints"]
        );
        let apart = "[package]\nname = \"a\"\n\n[workspace]\n";
        assert_eq!(
            found(&[(ROOT, ROOT_TEXT), ("fuzz/Cargo.toml", apart)]),
            [""; 0]
        );
        assert_eq!(
            found(&[(ROOT, ROOT_TEXT), ("clippy.toml", "msrv = \"1.90\"")]),
            ["clippy.toml states a compiler version a second time"]
        );
    }
}
