//! The rule that `unsafe` lives in few crates, and that the compiler is told so in all others.

use super::Finding;
use super::tree::Tree;

/// The crates that may hold `unsafe`, audited as such.
const ALLOWED: &[&str] = &["crates/kernels/", "crates/mapping/", "crates/trt-abi/"];

const FORBID: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.written_rust() {
        if ALLOWED.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        if is_crate_root(path) && !text.contains(FORBID) {
            findings.push(Finding::new(
                path,
                format!("lacks `{FORBID}`"),
                format!("add `{FORBID}`"),
            ));
        }
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| uses_unsafe(line))
        {
            findings.push(Finding::new(
                format!("{path}:{}", number + 1),
                format!("uses unsafe: {}", line.trim()),
                format!(
                    "find a safe way, or move it to one of {}",
                    ALLOWED.join(", ")
                ),
            ));
        }
    }
    findings
}

fn is_crate_root(path: &str) -> bool {
    path.ends_with("src/lib.rs") || path.ends_with("src/main.rs") || path.contains("/src/bin/")
}

/// Whether a line of code, leaving strings and comments aside, opens something unsafe.
fn uses_unsafe(line: &str) -> bool {
    let line = line.replace("\\\"", "");
    let without_strings = line.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let code = without_strings.split("//").next().unwrap_or_default();
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| word == "unsafe")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .into_iter()
            .map(|finding| finding.place)
            .collect()
    }

    #[test]
    fn a_root_that_does_not_forbid_is_found() {
        let good = format!("//! A.\n{FORBID}\n");
        for root in [
            "crates/a/src/lib.rs",
            "crates/a/src/main.rs",
            "crates/a/src/bin/b.rs",
        ] {
            assert_eq!(places(&[(root, &good)]), [""; 0]);
            assert_eq!(places(&[(root, "//! A.\n")]), [root]);
        }
        assert_eq!(
            places(&[("crates/kernels/src/lib.rs", "//! A.\n")]),
            [""; 0]
        );
    }

    #[test]
    fn unsafe_outside_the_allowed_crates_is_found() {
        for code in [
            "    unsafe { f() }",
            "unsafe{f(\"a\")}",
            "pub unsafe fn f() {}",
            "unsafe impl A for B {}",
        ] {
            let text = format!("//! A.\n{code}\n");
            assert_eq!(
                places(&[("crates/a/tests/b.rs", &text)]),
                ["crates/a/tests/b.rs:2"],
                "{code}"
            );
            assert_eq!(places(&[("crates/mapping/src/b.rs", &text)]), [""; 0]);
        }
        for other in [
            "// unsafe { }",
            "#![forbid(unsafe_code)]",
            "let unsafely = 1;",
            "f(\"unsafe\")",
        ] {
            let text = format!("//! A.\n{other}\n");
            assert_eq!(
                places(&[("crates/a/tests/b.rs", &text)]),
                [""; 0],
                "{other}"
            );
        }
    }
}
