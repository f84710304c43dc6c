//! What a saved engine was built from, and the identity that follows from it.
//!
//! The store does not know what the conditions mean; it digests, stores and compares them. What
//! was merely recorded about a build (how long it took, its workspace limit) is no condition: it
//! is the header's `reference`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::StoreError;
use crate::value::{self, Map, Value};

/// Distinguishes these digests from any other use of BLAKE3, and this way of making them from
/// later ones.
const IDENTITY_CONTEXT: &str = "tensoracle saved engine identity 1";

/// Longest engine name, in bytes. Long enough for a model's path, short enough for file systems.
pub const MAX_NAME: usize = 200;

/// How many hexadecimal digits of the identity stand in a file name: 128 bits.
pub(crate) const DIGITS_IN_FILE_NAME: usize = 32;

/// How much of a name stands in a file name, in bytes.
const NAME_IN_FILE_NAME: usize = 100;

/// Everything that decides whether a saved engine may be reused: a name and a tree of fields.
///
/// Fields that belong to the identity are [`set`](Self::set). Text that explains a field without
/// adding to it, such as the lines of a graph whose digest is already a field, is
/// [`described`](Self::describe): it is stored and compared by `explain`, and changing its
/// wording does not orphan saved engines.
///
/// ```
/// use tensoracle_store::Conditions;
///
/// let mut conditions = Conditions::new("example")?;
/// conditions.set(&["backend", "name"], "cpu");
/// conditions.set(&["settings", "optimization_level"], 3);
/// conditions.describe(&["graph", "layers"], vec!["sum: elementwise SUM"]);
/// let file_name = conditions.file_stem();
/// assert!(file_name.starts_with("example-"));
/// # Ok::<(), tensoracle_store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    name: String,
    fields: Map,
    described: Map,
}

impl Conditions {
    /// Conditions of an engine called `name`, with no fields yet.
    ///
    /// # Errors
    /// [`StoreError::InvalidName`] when `name` is empty, longer than [`MAX_NAME`] bytes, or holds
    /// control characters.
    pub fn new(name: impl Into<String>) -> Result<Self, StoreError> {
        let name = name.into();
        let problem = if name.is_empty() {
            "is empty"
        } else if name.len() > MAX_NAME {
            "is longer than 200 bytes"
        } else if name.chars().any(char::is_control) {
            "holds control characters"
        } else {
            return Ok(Self {
                name,
                fields: Map::new(),
                described: Map::new(),
            });
        };
        Err(StoreError::InvalidName { name, problem })
    }

    pub(crate) fn from_parts(name: String, fields: Map, described: Map) -> Self {
        Self {
            name,
            fields,
            described,
        }
    }

    /// The engine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields of the identity.
    #[must_use]
    pub fn fields(&self) -> &Map {
        &self.fields
    }

    /// The explanations outside the identity.
    #[must_use]
    pub fn described(&self) -> &Map {
        &self.described
    }

    /// The field at `path`, one name a level.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        self.fields.get(*first)?.get(rest)
    }

    /// Makes `value` the field at `path`, one name a level, as part of the identity. Maps on the
    /// way are made; an empty path sets nothing.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) -> &mut Self {
        value::insert(&mut self.fields, path, value.into());
        self
    }

    /// Stores an explanation at `path`, outside the identity.
    pub fn describe(&mut self, path: &[&str], value: impl Into<Value>) -> &mut Self {
        value::insert(&mut self.described, path, value.into());
        self
    }

    /// BLAKE3 over the name and all fields, in an order and a form that are the same for equal
    /// conditions only.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let mut hasher = blake3::Hasher::new_derive_key(IDENTITY_CONTEXT);
        value::digest_text(&self.name, &mut hasher);
        value::digest_map(&self.fields, &mut hasher);
        Identity(*hasher.finalize().as_bytes())
    }

    /// The saved engine's file name without its extension: the name, as far as file systems take
    /// it, and the identity's first 32 digits.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let identity = self.identity().to_string();
        format!(
            "{}-{}",
            name_in_file_name(&self.name),
            &identity[..DIGITS_IN_FILE_NAME]
        )
    }
}

/// `name` with everything but ASCII letters, digits, `.`, `_` and `-` replaced by `_`, cut, and
/// never beginning with `.` or `-`. Different names may meet here: the identity tells them apart.
fn name_in_file_name(name: &str) -> String {
    name.chars()
        .take(NAME_IN_FILE_NAME)
        .enumerate()
        .map(|(i, c)| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
            '.' | '-' if i > 0 => c,
            _ => '_',
        })
        .collect()
}

/// The digest of [`Conditions`]: equal identities mean that a saved engine may be reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity([u8; 32]);

impl Identity {
    /// The digest's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({self})")
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an identity is 64 hexadecimal digits, found {found:?}")]
pub struct NotAnIdentity {
    found: String,
}

impl FromStr for Identity {
    type Err = NotAnIdentity;

    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| NotAnIdentity {
                found: text.chars().take(80).collect(),
            })
    }
}

impl Serialize for Identity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_file_can_carry_are_refused() {
        for (name, problem) in [
            (String::new(), "is empty"),
            ("x".repeat(201), "is longer than 200 bytes"),
            ("a\nb".to_owned(), "holds control characters"),
        ] {
            match Conditions::new(name) {
                Err(StoreError::InvalidName { problem: found, .. }) => assert_eq!(found, problem),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_file_name_is_safe_whatever_the_name() {
        for (name, start) in [
            ("../../etc/passwd", "_._.._etc_passwd-"),
            (".hidden", "_hidden-"),
            ("-rf", "_rf-"),
            ("naïve modèle", "na_ve_mod_le-"),
            ("a/b", "a_b-"),
        ] {
            let stem = Conditions::new(name).unwrap().file_stem();
            assert!(stem.starts_with(start), "{stem}");
            assert_eq!(stem.len(), start.len() + DIGITS_IN_FILE_NAME);
        }
        assert_ne!(
            Conditions::new("a/b").unwrap().file_stem(),
            Conditions::new("a b").unwrap().file_stem()
        );
    }

    #[test]
    fn the_order_of_setting_and_explanations_do_not_matter() {
        let mut a = Conditions::new("x").unwrap();
        a.set(&["b"], 1).set(&["a", "c"], 2).set(&["a", "b"], 3);
        let mut b = Conditions::new("x").unwrap();
        b.set(&["a", "b"], 3).set(&["a", "c"], 2).set(&["b"], 1);
        b.describe(&["graph", "layers"], vec!["one"]);
        assert_eq!(a.identity(), b.identity());
    }

    #[test]
    fn every_change_of_name_or_field_changes_the_identity() {
        let base = || {
            let mut conditions = Conditions::new("x").unwrap();
            conditions.set(&["a", "b"], 1).set(&["c"], vec!["d", "e"]);
            conditions
        };
        let mut changed = vec![base(), Conditions::new("y").unwrap()];
        changed[1].set(&["a", "b"], 1).set(&["c"], vec!["d", "e"]);
        for edit in [
            |c: &mut Conditions| c.set(&["a", "b"], 2).identity(),
            |c: &mut Conditions| c.set(&["a", "b2"], 1).identity(),
            |c: &mut Conditions| c.set(&["c"], vec!["e", "d"]).identity(),
            |c: &mut Conditions| c.set(&["c"], Value::Null).identity(),
        ] {
            let mut conditions = base();
            edit(&mut conditions);
            changed.push(conditions);
        }
        let mut identities: Vec<Identity> = changed.iter().map(Conditions::identity).collect();
        identities.sort();
        identities.dedup();
        assert_eq!(identities.len(), changed.len());
    }

    #[test]
    fn an_identity_comes_back_from_its_text() {
        let identity = Conditions::new("x").unwrap().identity();
        assert_eq!(identity.to_string().parse(), Ok(identity));
        assert!("12".parse::<Identity>().is_err());
    }
}
