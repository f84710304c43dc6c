//! The digests of weights, kept beside the saved engines.

use std::collections::BTreeMap;
use std::fs::Metadata;
use tensoracle_graph::ContentDigest;
use tensoracle_store::DigestRecords;
use tensoracle_weights::{DigestCache, FileStamp};

/// The store's records as the weights want them.
#[derive(Debug)]
pub(crate) struct StoredDigests(pub(crate) DigestRecords);

impl DigestCache for StoredDigests {
    fn load(&self, stamp: &FileStamp) -> Option<BTreeMap<String, ContentDigest>> {
        let metadata = still_the_same(stamp)?;
        let digests = self.0.load(&stamp.path, &metadata)?;
        digests
            .into_iter()
            .map(|(name, digest)| Some((name, digest.try_into().ok()?)))
            .collect()
    }

    fn save(&self, stamp: &FileStamp, digests: &BTreeMap<String, ContentDigest>) {
        let Some(metadata) = still_the_same(stamp) else {
            return;
        };
        let digests = digests
            .iter()
            .map(|(name, digest)| (name.clone(), digest.to_string()))
            .collect();
        if let Err(error) = self.0.save(&stamp.path, &metadata, &digests) {
            tracing::debug!(path = %stamp.path.display(), %error, "digests of weights not recorded");
        }
    }
}

/// What the file system says about a file, if it is what it said when the file was opened.
fn still_the_same(stamp: &FileStamp) -> Option<Metadata> {
    let metadata = std::fs::metadata(&stamp.path).ok()?;
    (FileStamp::new(&stamp.path, &metadata) == *stamp).then_some(metadata)
}
