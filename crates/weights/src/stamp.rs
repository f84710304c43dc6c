//! What the file system says about a file: the cheap sign that its contents are still the same.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file this young is not trusted to its stamp: within a file system's clock tick it could
/// change again and keep every field.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The identity and times of a file. Equal stamps of a settled file mean equal contents: a
/// rewrite that restores size and modification time still moves the change time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStamp {
    /// The absolute path the file was opened by; links in it are not resolved.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// When the contents were last written: nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When contents, name or rights last changed: nanoseconds since 1970; 0 where the system
    /// does not say.
    pub ctime_ns: i64,
    /// The file's number in its file system; 0 where the system does not say.
    pub inode: u64,
}

/// A field in which two stamps differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampField {
    /// Another file.
    Inode,
    /// Another size.
    Size,
    /// Another modification time.
    ModificationTime,
    /// Another change time.
    ChangeTime,
}

impl fmt::Display for StampField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Inode => "inode",
            Self::Size => "size",
            Self::ModificationTime => "modification time",
            Self::ChangeTime => "change time",
        })
    }
}

impl FileStamp {
    /// The stamp of the file that `metadata` describes, opened by the absolute `path`.
    #[must_use]
    pub fn new(path: &Path, metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (mtime_ns, ctime_ns, inode) = {
            use std::os::unix::fs::MetadataExt;
            let ns =
                |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
            (
                ns(metadata.mtime(), metadata.mtime_nsec()),
                ns(metadata.ctime(), metadata.ctime_nsec()),
                metadata.ino(),
            )
        };
        #[cfg(not(unix))]
        let (mtime_ns, ctime_ns, inode) = {
            let modified = metadata.modified().map_or(0, since_1970);
            (modified, 0, 0)
        };
        Self {
            path: path.to_path_buf(),
            size: metadata.len(),
            mtime_ns,
            ctime_ns,
            inode,
        }
    }

    /// Whether the file last changed long enough before `now` for its stamp to be trusted. One
    /// whose times lie in the future is not.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let youngest = self.mtime_ns.max(self.ctime_ns);
        let settled = i64::try_from(SETTLED_AFTER.as_nanos()).unwrap_or(i64::MAX);
        youngest.saturating_add(settled) <= since_1970(now)
    }

    /// The first field in which the same file looks different now, with both values.
    pub(crate) fn difference(&self, now: &Self) -> Option<(StampField, String, String)> {
        let fields = [
            (
                StampField::Inode,
                self.inode.to_string(),
                now.inode.to_string(),
            ),
            (
                StampField::Size,
                self.size.to_string(),
                now.size.to_string(),
            ),
            (
                StampField::ModificationTime,
                seconds(self.mtime_ns),
                seconds(now.mtime_ns),
            ),
            (
                StampField::ChangeTime,
                seconds(self.ctime_ns),
                seconds(now.ctime_ns),
            ),
        ];
        fields
            .into_iter()
            .find(|(_, before, after)| before != after)
    }
}

fn since_1970(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        })
}

/// Nanoseconds as seconds with nine places, the way `stat` prints times.
fn seconds(ns: i64) -> String {
    format!(
        "{}.{:09}",
        ns.div_euclid(1_000_000_000),
        ns.rem_euclid(1_000_000_000)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn youth_is_measured_by_the_latest_time() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let stamp = |mtime: i64, ctime: i64| FileStamp {
            path: PathBuf::from("/w"),
            size: 1,
            mtime_ns: mtime * 1_000_000_000,
            ctime_ns: ctime * 1_000_000_000,
            inode: 1,
        };
        assert!(stamp(0, 998).is_settled(now));
        assert!(
            !stamp(0, 999).is_settled(now),
            "an old modification time can be forged"
        );
        assert!(!stamp(999, 0).is_settled(now));
        assert!(
            !stamp(2_000, 0).is_settled(now),
            "the future is not settled"
        );
    }
}
