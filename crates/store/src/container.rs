//! The file format of a saved engine, byte by byte.
//!
//! ```text
//! tensoracle engine format 1\n                      27 bytes
//! header NNNNNNNNNN blake3 <64 hex digits>\n        90 bytes: length and checksum of what follows
//! { conditions and so on }                          JSON
//! { what describes them }                            JSON, which listings need not read
//!   spaces  \n                                       both with these: NNNNNNNNNN bytes, to a
//!                                                   multiple of 4096
//! the plan                                          to the end of the file
//! ```
//!
//! Everything is covered: the two lines by comparing them, the JSON and its padding by the
//! header's checksum, the plan by the checksum in the header, the file's end by the plan's length.
//! `head` shows the header. What is left out: files, locks and names.

use serde::{Deserialize, Serialize};

use crate::conditions::{Conditions, Identity};
use crate::error::Damage;
use crate::header::{Blake3, Header, PlanRecord};
use crate::time::utc_text;
use crate::value::Map;

/// The version of the format, which also names the folder that such files lie in.
pub const FORMAT: u32 = 1;

/// Plans begin at multiples of this: a page, which mappings and direct reads need.
pub const PLAN_ALIGNMENT: u64 = 4096;

/// No header is larger: the graph of a very large model is a few MiB of text.
pub const MAX_HEADER: u64 = 64 << 20;

/// What begins every version's files.
const MAGIC: &[u8] = b"tensoracle engine format ";
const LENGTH_LABEL: &[u8] = b"header ";
const LENGTH_DIGITS: usize = 10;
const CHECKSUM_LABEL: &[u8] = b" blake3 ";
const CHECKSUM_DIGITS: usize = 64;

/// Bytes of the two lines before the JSON.
pub(crate) const PRELUDE: usize = MAGIC.len()
    + 2
    + LENGTH_LABEL.len()
    + LENGTH_DIGITS
    + CHECKSUM_LABEL.len()
    + CHECKSUM_DIGITS
    + 1;

/// The header's first JSON. `format` and the texts of times are there for people.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Json {
    format: u32,
    name: String,
    identity: Identity,
    created_at: String,
    created_at_ns: i64,
    plan: PlanRecord,
    conditions: Map,
    reference: Map,
}

/// The header's second JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    described: Map,
}

/// How much of a header is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All of it.
    Whole,
    /// All but what describes the conditions, which is most of a large graph's header and then
    /// stands empty.
    Conditions,
}

/// The two lines, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prelude {
    /// Bytes of JSON and padding after the lines.
    pub(crate) header_length: u64,
    checksum: Blake3,
}

impl Prelude {
    pub(crate) fn plan_offset(&self) -> u64 {
        PRELUDE as u64 + self.header_length
    }
}

/// Where the plan begins when at least `json_length` bytes of JSON come before it.
pub(crate) fn plan_offset_for(json_length: usize) -> u64 {
    // One more for the line's end.
    (PRELUDE as u64 + json_length as u64 + 1).next_multiple_of(PLAN_ALIGNMENT)
}

/// The header's JSON, unpadded.
pub(crate) fn json(header: &Header) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(&Json {
        format: FORMAT,
        name: header.conditions.name().to_owned(),
        identity: header.identity(),
        created_at: utc_text(header.created_at_ns),
        created_at_ns: header.created_at_ns,
        plan: header.plan,
        conditions: header.conditions.fields().clone(),
        reference: header.reference.clone(),
    })?;
    bytes.push(b'\n');
    serde_json::to_writer_pretty(
        &mut bytes,
        &Description {
            described: header.conditions.described().clone(),
        },
    )?;
    Ok(bytes)
}

/// Whether what [`json`] gave can be read back: text may be too deeply nested.
pub(crate) fn check_readable(json: &[u8]) -> serde_json::Result<()> {
    parse_body(json, Detail::Whole).map(|_| ())
}

/// Everything before the plan: the lines, `json` and the padding up to `plan_offset`, which
/// [`plan_offset_for`] gave for JSON at least as long.
pub(crate) fn encode(json: &[u8], plan_offset: u64) -> Vec<u8> {
    let end = plan_offset as usize;
    let mut body = Vec::with_capacity(end);
    body.extend_from_slice(json);
    body.resize(end - PRELUDE - 1, b' ');
    body.push(b'\n');
    let mut bytes = format!(
        "{}{FORMAT}\nheader {:010} blake3 {}\n",
        String::from_utf8_lossy(MAGIC),
        body.len(),
        blake3::hash(&body).to_hex()
    )
    .into_bytes();
    bytes.append(&mut body);
    bytes
}

/// Reads the two lines. `bytes` is the file's beginning, at least [`PRELUDE`] bytes where the
/// file has them; `file_length` is that of the whole file.
pub(crate) fn decode_prelude(bytes: &[u8], file_length: u64) -> Result<Prelude, Damage> {
    if file_length == 0 {
        return Err(Damage::Empty);
    }
    let beginning = &bytes[..bytes.len().min(PRELUDE)];
    let Some(after_magic) = beginning.strip_prefix(MAGIC) else {
        // A file that stops inside the magic, or whose header was never written.
        let incomplete = MAGIC.starts_with(beginning) || beginning.iter().all(|byte| *byte == 0);
        return Err(if incomplete {
            Damage::Incomplete {
                expected: None,
                found: file_length,
            }
        } else {
            Damage::Foreign
        });
    };
    let version_end = after_magic
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(after_magic.len());
    let version = std::str::from_utf8(&after_magic[..version_end])
        .ok()
        .and_then(|digits| digits.parse::<u32>().ok())
        .ok_or(Damage::Foreign)?;
    if version != FORMAT {
        return Err(Damage::OtherFormat {
            found: version,
            supported: FORMAT,
        });
    }
    if beginning.len() < PRELUDE {
        return Err(Damage::Incomplete {
            expected: Some(PRELUDE as u64),
            found: file_length,
        });
    }
    parse_prelude(after_magic).ok_or_else(|| Damage::Unreadable {
        reason: "the line with the header's length and checksum is malformed".to_owned(),
    })
}

fn parse_prelude(after_magic: &[u8]) -> Option<Prelude> {
    let rest = after_magic
        .strip_prefix(b"1\n")?
        .strip_prefix(LENGTH_LABEL)?;
    let (length, rest) = rest.split_at_checked(LENGTH_DIGITS)?;
    let (checksum, rest) = rest
        .strip_prefix(CHECKSUM_LABEL)?
        .split_at_checked(CHECKSUM_DIGITS)?;
    let all_digits = length.iter().all(u8::is_ascii_digit);
    let lower_case = checksum.iter().all(|byte| !byte.is_ascii_uppercase());
    if rest != b"\n" || !all_digits || !lower_case {
        return None;
    }
    Some(Prelude {
        header_length: std::str::from_utf8(length).ok()?.parse().ok()?,
        checksum: Blake3(blake3::Hash::from_hex(checksum).ok()?),
    })
}

/// Whether a header of the length that `prelude` states can lie in a file of `file_length` bytes.
pub(crate) fn check_header_length(prelude: &Prelude, file_length: u64) -> Result<(), Damage> {
    if prelude.header_length > MAX_HEADER {
        return Err(Damage::Unreadable {
            reason: format!(
                "the header is said to be {} bytes long, more than {MAX_HEADER}",
                prelude.header_length
            ),
        });
    }
    if prelude.plan_offset() > file_length {
        return Err(Damage::Incomplete {
            expected: Some(prelude.plan_offset()),
            found: file_length,
        });
    }
    Ok(())
}

/// Reads the header from `body`, the bytes between the lines and the plan.
pub(crate) fn decode_body(
    prelude: &Prelude,
    body: &[u8],
    file_length: u64,
    detail: Detail,
) -> Result<Header, Damage> {
    let found = Blake3(blake3::hash(body));
    if found != prelude.checksum {
        return Err(Damage::HeaderChecksum {
            expected: prelude.checksum,
            found,
        });
    }
    let unreadable = |reason: String| Damage::Unreadable { reason };
    let (json, described) =
        parse_body(body, detail).map_err(|error| unreadable(error.to_string()))?;
    if json.format != FORMAT {
        return Err(unreadable(format!(
            "the first line says format {FORMAT}, the header format {}",
            json.format
        )));
    }
    let name = Conditions::new(json.name)
        .map_err(|error| unreadable(error.to_string()))?
        .name()
        .to_owned();
    let conditions = Conditions::from_parts(name, json.conditions, described);
    let identity = conditions.identity();
    if identity != json.identity {
        return Err(Damage::Identity {
            expected: identity,
            found: json.identity,
        });
    }
    if json.plan.offset != prelude.plan_offset() || !json.plan.offset.is_multiple_of(PLAN_ALIGNMENT)
    {
        return Err(unreadable(format!(
            "the plan is said to begin at byte {}, the header ends at byte {}",
            json.plan.offset,
            prelude.plan_offset()
        )));
    }
    let expected = json.plan.offset.checked_add(json.plan.length);
    match expected {
        Some(expected) if expected == file_length => {}
        Some(expected) if expected < file_length => {
            return Err(Damage::TooLong {
                expected,
                found: file_length,
            });
        }
        expected => {
            return Err(Damage::Incomplete {
                expected,
                found: file_length,
            });
        }
    }
    Ok(Header {
        conditions,
        reference: json.reference,
        created_at_ns: json.created_at_ns,
        plan: json.plan,
    })
}

fn parse_body(body: &[u8], detail: Detail) -> serde_json::Result<(Json, Map)> {
    let mut documents = serde_json::Deserializer::from_slice(body);
    let json = Json::deserialize(&mut documents)?;
    if detail == Detail::Conditions {
        return Ok((json, Map::new()));
    }
    let Description { described } = Description::deserialize(&mut documents)?;
    documents.end()?;
    Ok((json, described))
}

/// Reads the header of a file whose whole contents are `bytes`. Never panics and never allocates
/// more than a small multiple of `bytes`, whatever they are.
///
/// # Errors
/// What is wrong with the header; the plan's checksum is not looked at.
pub fn decode(bytes: &[u8]) -> Result<Header, Damage> {
    let length = bytes.len() as u64;
    let prelude = decode_prelude(bytes, length)?;
    check_header_length(&prelude, length)?;
    let body = &bytes[PRELUDE..prelude.plan_offset() as usize];
    decode_body(&prelude, body, length, Detail::Whole)
}

/// Compares the plan with its checksum, on all cores.
pub(crate) fn verify_plan(header: &Header, plan: &[u8]) -> Result<(), Damage> {
    let found = Blake3(blake3::Hasher::new().update_rayon(plan).finalize());
    if found == header.plan.blake3 {
        Ok(())
    } else {
        Err(Damage::PlanChecksum {
            expected: header.plan.blake3,
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use proptest::prelude::*;

    /// A file with `plan`, as a builder writes it.
    fn file(header: &Header, plan: &[u8]) -> Vec<u8> {
        let mut header = header.clone();
        header.plan = PlanRecord {
            offset: plan_offset_for(json(&header).unwrap().len() + 100),
            length: plan.len() as u64,
            blake3: Blake3(blake3::hash(plan)),
        };
        let mut bytes = encode(&json(&header).unwrap(), header.plan.offset);
        bytes.extend_from_slice(plan);
        bytes
    }

    /// A file whose lines are right for the given body, whatever that is.
    fn around(body: &[u8]) -> Vec<u8> {
        let digest = blake3::hash(body).to_hex();
        let mut bytes = format!(
            "tensoracle engine format 1\nheader {:010} blake3 {digest}\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
                map_of(inner).prop_map(Value::Map),
            ]
        })
    }

    fn map_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
        prop::collection::btree_map(any::<String>(), value, 0..6)
    }

    prop_compose! {
        fn header()(
            name in "[^\\p{Cc}]{1,40}",
            fields in map_of(value()),
            described in map_of(value()),
            reference in map_of(value()),
            created_at_ns in any::<i64>(),
        ) -> Header {
            Header {
                conditions: Conditions::from_parts(name, fields, described),
                reference,
                created_at_ns,
                plan: PlanRecord { offset: 0, length: 0, blake3: Blake3(blake3::hash(&[])) },
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(header in header(), plan in prop::collection::vec(any::<u8>(), 1..99)) {
            let bytes = file(&header, &plan);
            let read = decode(&bytes).unwrap();
            prop_assert_eq!(read.identity(), header.identity());
            prop_assert_eq!(&read.conditions, &header.conditions);
            prop_assert_eq!(&read.reference, &header.reference);
            prop_assert_eq!(read.created_at_ns, header.created_at_ns);
            prop_assert_eq!(&bytes[read.plan.offset as usize..], &plan[..]);
            prop_assert!(verify_plan(&read, &plan).is_ok());
        }

        #[test]
        fn any_change_is_noticed(
            header in header(),
            at in any::<prop::sample::Index>(),
            splice in prop::collection::vec(any::<u8>(), 0..40),
            drop in 0..40_usize,
        ) {
            let bytes = file(&header, b"plan");
            let mut changed = bytes.clone();
            let start = at.index(bytes.len());
            changed.splice(start..bytes.len().min(start + drop), splice);
            if let Ok(read) = decode(&changed) {
                let plan = &changed[read.plan.offset as usize..];
                prop_assert!(verify_plan(&read, plan).is_err() || changed == bytes);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
            let _ = decode(&around(&bytes));
            let _ = decode(&[&around(&bytes)[..], &bytes].concat());
        }

        #[test]
        fn no_fields_make_it_panic(
            format in any::<u32>(),
            name in any::<String>(),
            offset in any::<u64>(),
            length in any::<u64>(),
            fields in map_of(value()),
        ) {
            let hash = blake3::hash(&[]).to_hex();
            let body = serde_json::json!({
                "format": format, "name": name, "identity": hash.as_str(),
                "created_at": "", "created_at_ns": 0,
                "plan": {"offset": offset, "length": length, "blake3": hash.as_str()},
                "conditions": fields, "reference": {},
            });
            let bytes = around(format!("{body} {{\"described\": {{}}}}").as_bytes());
            prop_assert!(decode(&bytes).is_err(), "nobody knows this identity");
        }
    }

    #[test]
    fn a_stated_length_is_not_believed() {
        for length in ["9999999999", "0067108865", "0000000001"] {
            let text = format!(
                "tensoracle engine format 1\nheader {length} blake3 {}\n",
                "0".repeat(64)
            );
            assert!(decode(text.as_bytes()).is_err());
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(
            decode(&around(deep.as_bytes())),
            Err(Damage::Unreadable { .. })
        ));
    }
}
