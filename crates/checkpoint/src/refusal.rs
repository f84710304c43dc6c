//! Entries of a checkpoint that have no place in a safetensors file: where they are and what.
//!
//! What is left out: finding them, in [`crate::flatten`].

use std::fmt;

/// An entry that cannot be converted, or that was left out on request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Keys joined with dots; `None` for an object that the pickle builds and then discards.
    pub path: Option<String>,
    /// What stands there.
    pub kind: Kind,
}

/// What an [`Entry`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A value of a plain Python type: its name.
    Value(&'static str),
    /// An object of a class, or the result of a function, that is not on the closed list. Nothing
    /// of it was called: its module and name.
    Object {
        /// Module and name, as in `posix.system`.
        global: String,
    },
    /// A key that is not a string: the key's type.
    Key(&'static str),
    /// A tensor of a kind that safetensors cannot hold: which.
    Tensor(&'static str),
    /// A tensor whose element type safetensors cannot hold: torch's name of the type.
    Dtype(&'static str),
    /// A second tensor of the same joined name.
    Duplicate,
    /// A name that safetensors keeps for itself.
    Reserved,
    /// A mapping that contains itself.
    Cycle,
    /// Mappings nested deeper than the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(name) => formatter.write_str(name),
            Self::Object { global } => write!(formatter, "object of {global}"),
            Self::Key(name) => write!(formatter, "key of type {name}"),
            Self::Tensor(kind) => formatter.write_str(kind),
            Self::Dtype(name) => write!(formatter, "tensor of {name}"),
            Self::Duplicate => formatter.write_str("second tensor of this name"),
            Self::Reserved => formatter.write_str("name reserved by safetensors"),
            Self::Cycle => formatter.write_str("mapping that contains itself"),
            Self::TooDeep { limit } => write!(formatter, "mappings more than {limit} deep"),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(formatter, "{path:?}: {}", self.kind),
            None => write!(formatter, "(built and discarded): {}", self.kind),
        }
    }
}

/// All entries because of which a checkpoint is refused, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The entries; never empty.
    pub entries: Vec<Entry>,
}

impl Refusal {
    pub(crate) fn hint(&self) -> Option<String> {
        let is_metadata =
            |entry: &Entry| matches!(entry.kind, Kind::Value(_) | Kind::Object { .. });
        let is_elsewhere = |entry: &Entry| matches!(entry.kind, Kind::Key(_) | Kind::Duplicate);
        if self.entries.iter().all(is_metadata) {
            Some(
                "convert one part with --select PATH, or leave out what is not a tensor with \
                 --skip-non-tensors"
                    .into(),
            )
        } else if self
            .entries
            .iter()
            .any(|entry| is_metadata(entry) || is_elsewhere(entry))
        {
            Some("convert one part with --select PATH".into())
        } else {
            None
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entries.as_slice() {
            [entry] => write!(formatter, "one entry cannot be converted: {entry}"),
            entries => {
                write!(formatter, "{} entries cannot be converted:", entries.len())?;
                entries
                    .iter()
                    .try_for_each(|entry| write!(formatter, "\n  {entry}"))
            }
        }
    }
}
