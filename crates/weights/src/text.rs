//! Showing names, shapes and long lists from files in messages: escaped, and cut to a length that
//! a person reads.

use std::fmt::{self, Write as _};
use std::path::Path;

/// Characters of a name that a message shows.
const NAME_LIMIT: usize = 160;

/// Entries of a list that a message shows.
const LIST_LIMIT: usize = 8;

/// A name out of a file: control characters are escaped and long names cut, since a hostile file
/// may hold anything.
pub(crate) struct Plain<'a>(pub(crate) &'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars().take(NAME_LIMIT) {
            if character.is_control() {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                formatter.write_char(character)?;
            }
        }
        match self.0.chars().nth(NAME_LIMIT) {
            Some(_) => formatter.write_str("…"),
            None => Ok(()),
        }
    }
}

/// The same in backquotes.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", Plain(self.0))
    }
}

/// Names in backquotes, separated by commas; the rest counted.
pub(crate) struct Names<'a>(pub(crate) &'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, name) in self.0.iter().take(LIST_LIMIT).enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(formatter, "{separator}{}", Name(name))?;
        }
        match self.0.len().saturating_sub(LIST_LIMIT) {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}

/// A shape, `[384, 1152]`; the dims past a readable number of them are left out.
pub(crate) struct Dims<'a>(pub(crate) &'a [u64]);

impl fmt::Display for Dims<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        formatter.write_str("[")?;
        for (position, dim) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(formatter, "{separator}{dim}")?;
        }
        if self.0.len() > SHOWN {
            write!(formatter, ", … {} dims", self.0.len())?;
        }
        formatter.write_str("]")
    }
}

/// The last part of a path: what identifies a file to a person where the folder is known.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_escaped_and_cut() {
        assert_eq!(Name("a\u{1b}[31m\n").to_string(), "`a\\u{1b}[31m\\n`");
        let long = "x".repeat(10_000);
        assert_eq!(Name(&long).to_string().chars().count(), NAME_LIMIT + 3);
    }

    #[test]
    fn long_lists_are_counted() {
        let names: Vec<String> = (0..10).map(|i| format!("t{i}")).collect();
        assert_eq!(
            Names(&names).to_string(),
            "`t0`, `t1`, `t2`, `t3`, `t4`, `t5`, `t6`, `t7` and 2 more"
        );
        assert_eq!(Dims(&[]).to_string(), "[]");
        assert_eq!(Dims(&[2, 3]).to_string(), "[2, 3]");
    }
}
