//! A user's cache in a temporary folder, and the command run on it.
#![allow(dead_code, unreachable_pub)] // Each test binary uses a part.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use tensoracle_progress::Silent;
use tensoracle_store::{BuildOptions, Conditions, Map, Outcome, Store, Value};

/// 2026-01-01T00:00:00Z.
const LAST_USE: u64 = 1_767_225_600;

/// A cache of its own for one test.
pub struct Cache {
    base: tempfile::TempDir,
}

impl Cache {
    pub fn new() -> Self {
        Self {
            base: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self) -> &Path {
        self.base.path()
    }

    pub fn store(&self) -> Store {
        Store::at(self.base.path().join("tensoracle"))
    }

    /// Saves an engine of optimization level `level`, last used so many days after 2026 began.
    pub fn save(&self, name: &str, level: i64, days: u64, plan: &[u8]) -> PathBuf {
        let mut wanted = Conditions::new(name).unwrap();
        wanted
            .set(&["backend", "name"], "cpu")
            .set(&["backend", "version"], "0.1.0")
            .set(&["settings", "optimization_level"], level)
            .set(&["weights", "bias", "blake3"], "ab".repeat(32));
        wanted.describe(
            &["graph", "layers"],
            vec!["scale: constant Float [2]", "result: elementwise SUM"],
        );
        let store = self.store();
        let Outcome::Build(mut build) = store
            .begin_build(&wanted, BuildOptions::default(), &Silent)
            .unwrap()
        else {
            panic!("{name} is saved already");
        };
        build.write_all(plan).unwrap();
        let reference = Map::from([("workspace_limit".to_owned(), Value::Null)]);
        let path = build.publish(reference).unwrap().path().to_owned();
        let used = UNIX_EPOCH + Duration::from_secs(LAST_USE + days * 86_400);
        std::fs::File::open(&path)
            .unwrap()
            .set_modified(used)
            .unwrap();
        path
    }

    /// Runs `tensoracle` with these words and shows its exit status and both outputs.
    pub fn run(&self, words: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_tensoracle"))
            .args(words)
            .current_dir(self.base.path())
            .env("XDG_CACHE_HOME", self.base.path())
            .env("COLUMNS", "100")
            .env_remove("RUST_LOG")
            .output()
            .unwrap();
        format!(
            "exit status {}\n--- output\n{}--- errors\n{}",
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap()
        )
    }
}

/// Snapshot settings that blank out what differs between runs.
pub fn settings(cache: &Cache) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    let base = cache.path().to_str().unwrap().replace('.', "\\.");
    settings.add_filter(&base, "[CACHE]");
    settings.add_filter(r#""created_at": "[^"]*""#, r#""created_at": "[TIME]""#);
    settings.add_filter(r#""created_at_ns": \d+"#, r#""created_at_ns": "[TIME]""#);
    settings.set_prepend_module_to_snapshot(true);
    settings
}
