//! Which names a misspelt name may have meant.

/// Most names suggested.
const SUGGESTIONS: usize = 3;

/// Names longer than this are not compared: edit distance takes the product of both lengths.
const COMPARED_LENGTH: usize = 512;

/// Up to three of `names` near `wanted`, the nearest first: those that differ by a leading path
/// (`module.fc.weight` for `fc.weight`), then by edit distance up to a third of the length.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let length = wanted.chars().count();
    let allowed = length / 3 + 1;
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            if differ_by_a_leading_path(wanted, name) {
                return Some((0, name));
            }
            let too_long = length.max(name.len()) > COMPARED_LENGTH;
            // The difference of lengths bounds the distance from below.
            if too_long || name.chars().count().abs_diff(length) > allowed {
                return None;
            }
            let distance = strsim::levenshtein(wanted, name);
            (distance <= allowed).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(SUGGESTIONS)
        .map(|(_, name)| name.to_owned())
        .collect()
}

fn differ_by_a_leading_path(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() > other.len() {
        (one, other)
    } else {
        (other, one)
    };
    !short.is_empty()
        && long
            .strip_suffix(short)
            .is_some_and(|prefix| prefix.ends_with(['.', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_come_before_spelling() {
        let names = ["module.fc.weight", "fc.weigth", "conv.bias", "fc.bias"];
        assert_eq!(
            nearest("fc.weight", names.into_iter()),
            ["module.fc.weight", "fc.weigth"]
        );
        assert!(nearest("x", names.into_iter()).is_empty());
    }
}
