//! The rule that no file names a folder of one person's machine.

use super::Finding;
use super::tree::Tree;

// In pieces, so that this file passes its own check.
const ROOTS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (number, line) in text.lines().enumerate() {
            for root in ROOTS.iter().filter(|root| names_folder(line, root)) {
                findings.push(Finding::new(
                    format!("{path}:{}", number + 1),
                    format!("names a path under {root}"),
                    "write it relative to the repository, or as ~ or $XDG_CACHE_HOME",
                ));
            }
        }
    }
    findings
}

/// Whether the line holds an absolute path under `root`, as opposed to a longer path or address
/// with the same letters in its middle.
fn names_folder(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~}$/<>".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_found_and_others_are_not() {
        for root in ROOTS {
            for text in [
                format!("x\n  open(\"{root}a/b\")"),
                format!("y\n{root}a"),
                format!("\n={root}"),
            ] {
                let findings = check(&Tree::of(&[("a.txt", &text)]));
                assert_eq!(findings.len(), 1, "{text}");
                assert_eq!(findings[0].place, "a.txt:2");
            }
            for text in [
                format!("https://example.org{root}a"),
                format!("a{root}b"),
                format!("..{root}"),
            ] {
                assert_eq!(check(&Tree::of(&[("a.txt", &text)])), [], "{text}");
            }
        }
    }
}
