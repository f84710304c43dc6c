//! Removing what dead builders and writers left.

use std::fs::File;
use std::path::Path;

use crate::disk::Step;
use crate::lock::{Attempt, KeyLock, leads_to};
use crate::store::{BUILDING, DAMAGED, KeyPaths, LOCK, Store, TEMPORARY};

impl Store {
    /// Removes temporaries, locks and set-aside engines whose process is gone. What a living
    /// process holds stays; what cannot be removed stays for the next builder.
    pub fn clean_up(&self) {
        let Ok(files) = self.files(&[BUILDING, DAMAGED, LOCK, TEMPORARY]) else {
            return;
        };
        let mut last_stem = None;
        for file in &files {
            let path = self.folder().join(file);
            let Some((stem, extension)) = file.rsplit_once('.') else {
                continue;
            };
            if extension == TEMPORARY {
                self.clean_temporary(&path);
            } else if last_stem != Some(stem) {
                last_stem = Some(stem);
                self.clean_key(&KeyPaths::new(self.folder(), stem));
            }
        }
    }

    fn clean_key(&self, paths: &KeyPaths) {
        // Releasing the lock removes its file.
        if let Ok(Attempt::Held(_lock)) = KeyLock::attempt(&self.disk, &paths.lock) {
            for leftover in [&paths.building, &paths.damaged] {
                let _ = self.disk.remove_if_there(Step::RemoveLeftover, leftover);
            }
        }
    }

    /// Whoever writes a temporary holds its lock.
    fn clean_temporary(&self, path: &Path) {
        if let Ok(file) = File::open(path)
            && file.try_lock().is_ok()
            && leads_to(path, &file).unwrap_or(false)
        {
            let _ = self.disk.remove(Step::RemoveLeftover, path);
        }
    }
}
