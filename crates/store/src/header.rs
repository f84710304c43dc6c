//! The header of a saved engine: what it says, not how it lies in the file.

use serde::{Deserialize, Serialize};

use crate::conditions::{Conditions, Identity};
use crate::value::{Map, Value};

/// What a saved engine says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What the engine was built from.
    pub conditions: Conditions,
    /// What was recorded about the build and does not decide about reuse: the workspace limit,
    /// how long the build took, where the weights lay.
    pub reference: Map,
    /// When the engine was saved, in nanoseconds since 1970.
    pub created_at_ns: i64,
    /// Where the plan lies in the file.
    pub plan: PlanRecord,
}

impl Header {
    /// The identity, computed from the conditions.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.conditions.identity()
    }

    /// The engine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.conditions.name()
    }

    /// The recorded value at `path`, one name a level.
    #[must_use]
    pub fn reference(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        self.reference.get(*first)?.get(rest)
    }
}

/// Where the plan lies and what its bytes must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    /// First byte of the plan, a multiple of 4096.
    pub offset: u64,
    /// Bytes of the plan.
    pub length: u64,
    /// BLAKE3 of the plan.
    pub blake3: Blake3,
}

/// A BLAKE3 digest, in text 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Blake3(pub(crate) blake3::Hash);

impl Blake3 {
    /// The digest's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl std::fmt::Display for Blake3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl std::fmt::Debug for Blake3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Serialize for Blake3 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Blake3 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        blake3::Hash::from_hex(String::deserialize(deserializer)?)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}
