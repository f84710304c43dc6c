//! Saying what a file is: a saved engine, a bare TensorRT plan, or a plan behind a wrapper.
//!
//! Recognises by the first bytes; nothing is deserialised and no library loaded.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use tensoracle_mapping::{FileBytes, Read};

use crate::container;
use crate::error::{Damage, StoreError};
use crate::header::Header;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    /// An intact saved engine.
    SavedEngine(Box<Header>),
    /// A saved engine whose header can be read and whose plan is damaged.
    DamagedPlan(Box<Header>, Damage),
    /// The beginning of a saved engine with something wrong.
    Damaged(Damage),
    /// A bare TensorRT plan.
    Plan(PlanInfo),
    /// JSON metadata before a TensorRT plan.
    Wrapped {
        /// Which layout.
        wrapper: Wrapper,
        /// The metadata as it stands in the file.
        metadata: serde_json::Value,
        /// First byte of the plan.
        plan_offset: usize,
        /// The plan.
        plan: PlanInfo,
    },
    /// A known format that is no engine.
    Other(&'static str),
    /// None of these.
    Unknown,
}

/// What the first bytes of a TensorRT plan say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PlanInfo {
    /// Which TensorRT wrote it.
    pub flavour: Flavour,
    /// Its version.
    pub version: PlanVersion,
    /// Bytes that the plan says it has.
    pub stated_bytes: u64,
    /// Bytes that are there.
    pub found_bytes: u64,
}

/// Major, minor, patch and build of a TensorRT; in text `10.13.3.9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanVersion(pub [u8; 4]);

impl fmt::Display for PlanVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch, build] = self.0;
        write!(f, "{major}.{minor}.{patch}.{build}")
    }
}

impl Serialize for PlanVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The two families of TensorRT; neither reads the other's plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Flavour {
    /// TensorRT for data centres and Jetson.
    #[serde(rename = "tensorrt")]
    TensorRt,
    /// TensorRT for RTX.
    #[serde(rename = "tensorrt-rtx")]
    TensorRtRtx,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TensorRt => "TensorRT",
            Self::TensorRtRtx => "TensorRT-RTX",
        })
    }
}

impl PlanInfo {
    /// Reads the first bytes of `plan`, `None` where it is no plan of TensorRT.
    #[must_use]
    pub fn of(plan: &[u8]) -> Option<Self> {
        let header = plan.first_chunk::<PLAN_HEADER>()?;
        let flavour = match &header[..4] {
            b"ftrt" => Flavour::TensorRt,
            b"vtrt" => Flavour::TensorRtRtx,
            _ => return None,
        };
        let mut size = [0; 8];
        size.copy_from_slice(&header[16..24]);
        Some(Self {
            flavour,
            version: PlanVersion([header[24], header[25], header[26], header[27]]),
            stated_bytes: u64::from_le_bytes(size),
            found_bytes: plan.len() as u64,
        })
    }
}

/// `TensorRT-RTX 1.7.1.116 plan`
impl fmt::Display for PlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} plan", self.flavour, self.version)
    }
}

/// How metadata stands before a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrapper {
    /// Four bytes, little-endian: the length of the JSON, then the JSON, then the plan. What
    /// Ultralytics' YOLO exporter writes.
    LengthAndJson,
    /// The JSON, then the plan.
    Json,
}

/// The plan's first bytes that are looked at: tag, serialization version, sizes, TensorRT version.
/// Where they lie is what trtexec's `--getPlanVersionOnly` relies on; TensorRT-RTX differs in its
/// tag.
const PLAN_HEADER: usize = 28;

/// No metadata before a plan is longer.
const MAX_METADATA: usize = 16 << 20;

/// Looks for metadata and a plan behind it.
fn wrapped(bytes: &[u8]) -> Option<FileKind> {
    let with = |wrapper, metadata: &[u8], plan_offset: usize| {
        Some(FileKind::Wrapped {
            wrapper,
            metadata: serde_json::from_slice(metadata).ok()?,
            plan_offset,
            plan: PlanInfo::of(&bytes[plan_offset..])?,
        })
    };
    if let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        if length <= MAX_METADATA
            && let Some((json, _)) = rest.split_at_checked(length)
            && json.starts_with(b"{")
        {
            return with(Wrapper::LengthAndJson, json, 4 + length);
        }
    }
    if bytes.starts_with(b"{") {
        let beginning = &bytes[..bytes.len().min(MAX_METADATA)];
        let mut values =
            serde_json::Deserializer::from_slice(beginning).into_iter::<serde::de::IgnoredAny>();
        values.next()?.ok()?;
        let end = values.byte_offset();
        let padding = bytes[end..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace() || **byte == 0)
            .count();
        return with(Wrapper::Json, &bytes[..end], end + padding);
    }
    None
}

/// Formats that people mistake for engines.
fn other(bytes: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if starts(b"PK\x03\x04") {
        Some("a zip archive, such as a PyTorch checkpoint or an .npz file")
    } else if starts(b"version https://git-lfs") {
        Some("a Git LFS pointer: the file itself was not fetched")
    } else if bytes.get(8) == Some(&b'{') && bytes.get(..8).is_some_and(is_plausible_length) {
        Some("a safetensors file")
    } else if starts(b"\x7fELF") {
        Some("an ELF file, such as a plugin library or a cubin")
    } else if starts(b"\x08") && bytes.get(2) == Some(&0x12) {
        // Field 1 (ir_version), then field 2 (producer_name) of onnx.ModelProto.
        Some("probably an ONNX model")
    } else if starts(b"\x1f\x8b") {
        Some("a gzip archive")
    } else {
        None
    }
}

fn is_plausible_length(bytes: &[u8]) -> bool {
    // The length of a safetensors header is below 100 MB: its upper four bytes are zero.
    bytes[4..].iter().all(|byte| *byte == 0)
}

/// Says what `bytes`, a whole file, are. Of a saved engine only the header is checked.
#[must_use]
pub fn recognize(bytes: &[u8]) -> FileKind {
    match container::decode(bytes) {
        Ok(header) => return FileKind::SavedEngine(Box::new(header)),
        Err(Damage::Foreign) => {}
        Err(damage) => return FileKind::Damaged(damage),
    }
    if let Some(plan) = PlanInfo::of(bytes) {
        return FileKind::Plan(plan);
    }
    if let Some(kind) = wrapped(bytes) {
        return kind;
    }
    other(bytes).map_or(FileKind::Unknown, FileKind::Other)
}

/// An inspected file.
#[derive(Debug)]
pub struct Inspected {
    kind: FileKind,
    bytes: FileBytes,
}

impl Inspected {
    /// What the file is.
    #[must_use]
    pub fn kind(&self) -> &FileKind {
        &self.kind
    }

    /// Bytes of the whole file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bare plan, of any backend, where there is one and it is not known to be damaged.
    #[must_use]
    pub fn plan(&self) -> Option<&[u8]> {
        match &self.kind {
            FileKind::SavedEngine(header) => self.bytes.get(header.plan.offset as usize..),
            FileKind::Plan(_) => Some(&self.bytes),
            FileKind::Wrapped { plan_offset, .. } => self.bytes.get(*plan_offset..),
            _ => None,
        }
    }
}

/// Looks at the file at `path`, a saved engine's plan included.
///
/// # Errors
/// [`StoreError::Io`] when it cannot be read.
pub fn inspect(path: &Path) -> Result<Inspected, StoreError> {
    let bytes = FileBytes::open(path, Read::Mapped).map_err(|cause| StoreError::Io {
        doing: "read",
        path: path.to_owned(),
        cause,
    })?;
    let mut kind = recognize(&bytes);
    if let FileKind::SavedEngine(header) = &kind
        && let Err(damage) = container::verify_plan(header, &bytes[header.plan.offset as usize..])
    {
        kind = FileKind::DamagedPlan(header.clone(), damage);
    }
    Ok(Inspected { kind, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a plan that TensorRT-RTX 1.7.1.116 wrote for one ReLU layer.
    const RTX: [u8; 64] = [
        0x76, 0x74, 0x72, 0x74, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, //
        0x14, 0x0a, 0x02, 0, 0, 0, 0, 0, 0x01, 0x07, 0x01, 0x74, 0x76, 0x74, 0x72, 0x74, //
        4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    const RTX_BYTES: usize = 133_652;

    fn rtx_plan() -> Vec<u8> {
        let mut plan = RTX.to_vec();
        plan.resize(RTX_BYTES, 0);
        plan
    }

    fn rtx_info() -> PlanInfo {
        PlanInfo {
            flavour: Flavour::TensorRtRtx,
            version: PlanVersion([1, 7, 1, 116]),
            stated_bytes: RTX_BYTES as u64,
            found_bytes: RTX_BYTES as u64,
        }
    }

    #[test]
    fn bare_plans_say_who_wrote_them() {
        assert_eq!(recognize(&rtx_plan()), FileKind::Plan(rtx_info()));
        assert_eq!(rtx_info().to_string(), "TensorRT-RTX 1.7.1.116 plan");
        let mut other = rtx_plan();
        other[..4].copy_from_slice(b"ftrt");
        other[24..28].copy_from_slice(&[10, 13, 3, 9]);
        other.truncate(1000);
        let FileKind::Plan(plan) = recognize(&other) else {
            panic!("not recognised");
        };
        assert_eq!(plan.to_string(), "TensorRT 10.13.3.9 plan");
        assert_eq!((plan.stated_bytes, plan.found_bytes), (133_652, 1000));
    }

    #[test]
    fn a_wrapped_plan_is_found_behind_its_metadata() {
        let json = br#"{"task": "detect", "imgsz": [640, 640]}"#;
        let mut length_first = (json.len() as u32).to_le_bytes().to_vec();
        length_first.extend_from_slice(json);
        let bare = json.to_vec();
        let mut padded = json.to_vec();
        padded.extend_from_slice(b"\n\0\0");
        for (prefix, expected) in [
            (length_first, Wrapper::LengthAndJson),
            (bare, Wrapper::Json),
            (padded, Wrapper::Json),
        ] {
            let offset = prefix.len();
            let mut file = prefix;
            file.extend_from_slice(&rtx_plan());
            match recognize(&file) {
                FileKind::Wrapped {
                    wrapper,
                    metadata,
                    plan_offset,
                    plan,
                } => {
                    assert_eq!((wrapper, plan_offset, plan), (expected, offset, rtx_info()));
                    assert_eq!(metadata["imgsz"][1], 640);
                }
                other => panic!("{other:?}"),
            }
            // The metadata alone is nothing.
            assert_eq!(recognize(&file[..offset]), FileKind::Unknown);
        }
    }

    #[test]
    fn other_files_are_told_by_name() {
        for (bytes, word) in [
            (&b"PK\x03\x04rest"[..], "zip"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
            (b"\x02\0\0\0\0\0\0\0{}", "safetensors"),
            (b"\x7fELF\x02", "ELF"),
            (b"\x08\x0a\x12\x07pytorch", "ONNX"),
        ] {
            match recognize(bytes) {
                FileKind::Other(name) => assert!(name.contains(word), "{name}"),
                other => panic!("{word}: {other:?}"),
            }
        }
        assert_eq!(recognize(b"hello"), FileKind::Unknown);
        assert_eq!(recognize(b""), FileKind::Damaged(Damage::Empty));
    }
}
