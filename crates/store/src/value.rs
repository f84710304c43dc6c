//! The values that conditions are made of: JSON without fractions, in one order.
//!
//! Fractions are left out because their text is not unique; whoever has one writes it as text.
//! What the values mean is the caller's business.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Named values, kept sorted by name.
pub type Map = BTreeMap<String, Value>;

/// One value of a condition or reference. Its JSON form is the plain one: `null`, `true`, `3`,
/// `"text"`, `[...]`, `{...}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Known to be absent: a limit that was not set.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Text, digests among it.
    Text(String),
    /// Values whose order matters.
    List(Vec<Value>),
    /// Values whose order does not matter.
    Map(Map),
}

impl Value {
    /// The text, where this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, where this is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The named values, where this is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items, where this is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value below `path`, one name a level.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        match path {
            [] => Some(self),
            [first, rest @ ..] => self.as_map()?.get(*first)?.get(rest),
        }
    }

    /// Feeds bytes that are the same exactly when the value is the same: a tag, and before
    /// everything of variable size its length.
    pub(crate) fn digest_into(&self, hasher: &mut blake3::Hasher) {
        match self {
            Self::Null => {
                hasher.update(b"n");
            }
            Self::Bool(value) => {
                hasher.update(&[b'b', u8::from(*value)]);
            }
            Self::Integer(value) => {
                hasher.update(b"i").update(&value.to_le_bytes());
            }
            Self::Text(text) => {
                hasher.update(b"t");
                digest_text(text, hasher);
            }
            Self::List(items) => {
                hasher
                    .update(b"l")
                    .update(&(items.len() as u64).to_le_bytes());
                for item in items {
                    item.digest_into(hasher);
                }
            }
            Self::Map(map) => {
                hasher.update(b"m");
                digest_map(map, hasher);
            }
        }
    }
}

pub(crate) fn digest_text(text: &str, hasher: &mut blake3::Hasher) {
    hasher
        .update(&(text.len() as u64).to_le_bytes())
        .update(text.as_bytes());
}

pub(crate) fn digest_map(map: &Map, hasher: &mut blake3::Hasher) {
    hasher.update(&(map.len() as u64).to_le_bytes());
    for (name, value) in map {
        digest_text(name, hasher);
        value.digest_into(hasher);
    }
}

/// Puts `value` below `path`, making the maps on the way; a value that is no map and stands in
/// the way is replaced by one.
pub(crate) fn insert(map: &mut Map, path: &[&str], value: Value) {
    match path {
        [] => {}
        [name] => {
            map.insert((*name).to_owned(), value);
        }
        [name, rest @ ..] => {
            let below = map
                .entry((*name).to_owned())
                .or_insert_with(|| Value::Map(Map::new()));
            if !matches!(below, Value::Map(_)) {
                *below = Value::Map(Map::new());
            }
            if let Value::Map(below) = below {
                insert(below, rest, value);
            }
        }
    }
}

/// By hand, because listings read many values and the derived form copies each of them first.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, true, false, a whole number of 64 bits, text, a list or a map")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value)
            .map(Value::Integer)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = entries.next_entry()? {
            map.insert(name, value);
        }
        Ok(Value::Map(map))
    }
}

/// As JSON on one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

/// A number beyond `i64::MAX` becomes its decimal text.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Text(value.to_string()), Self::Integer)
    }
}

/// A number beyond `i64::MAX` becomes its decimal text.
impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl From<Map> for Value {
    fn from(value: Map) -> Self {
        Self::Map(value)
    }
}

/// `None` is [`Value::Null`].
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(value: Vec<T>) -> Self {
        Self::List(value.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(items: I) -> Self {
        Self::Map(
            items
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(value: &Value) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        value.digest_into(&mut hasher);
        hasher.finalize()
    }

    #[test]
    fn what_looks_alike_when_joined_is_told_apart() {
        let alike: [Value; 8] = [
            vec!["ab", "c"].into(),
            vec!["a", "bc"].into(),
            vec!["abc"].into(),
            "abc".into(),
            Value::from_iter([("a", "bc")]),
            Value::from_iter([("ab", "c")]),
            vec![Value::List(vec![]), Value::List(vec![])].into(),
            vec![Value::List(vec![Value::List(vec![])])].into(),
        ];
        for (i, a) in alike.iter().enumerate() {
            for b in &alike[i + 1..] {
                assert_ne!(digest(a), digest(b), "{a} and {b}");
            }
        }
        assert_ne!(digest(&Value::Null), digest(&"null".into()));
        assert_ne!(digest(&1_i64.into()), digest(&"1".into()));
        assert_ne!(digest(&true.into()), digest(&1_i64.into()));
    }

    #[test]
    fn json_is_plain_and_comes_back() {
        let value = Value::from_iter([
            ("none", Value::Null),
            ("yes", true.into()),
            ("small", i64::MIN.into()),
            ("large", u64::MAX.into()),
            ("list", vec![1_i64, 2].into()),
        ]);
        let text = value.to_string();
        assert_eq!(
            text,
            r#"{"large":"18446744073709551615","list":[1,2],"none":null,"small":-9223372036854775808,"yes":true}"#
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        for wrong in ["0.5", "9223372036854775808", "1e3", "nul"] {
            assert!(serde_json::from_str::<Value>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn inserting_makes_the_maps_on_the_way() {
        let mut map = Map::new();
        insert(&mut map, &["a"], 1_i64.into());
        insert(&mut map, &["a", "b.c", "d"], 2_i64.into());
        let value = Value::Map(map);
        assert_eq!(value.get(&["a", "b.c", "d"]), Some(&Value::Integer(2)));
        assert_eq!(value.get(&["a", "b.c", "d", "e"]), None);
    }
}
