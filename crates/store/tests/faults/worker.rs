//! What the processes that the suite starts do.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tensoracle_progress::Silent;
use tensoracle_store::disk::{Step, Watch};
use tensoracle_store::{BuildOptions, Map, Outcome, Store};

use crate::common::conditions;
use crate::{NAME, plan_of};

/// A started worker. Its standard output is read by the parent.
pub(crate) struct Worker {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Worker {
    pub(crate) fn start(base: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("worker")
            .arg(base)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// The next line that it writes, `None` at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Lets a worker that waits for its start go.
    pub(crate) fn go(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends SIGKILL and returns the lines not read yet, and whether it died of it.
    pub(crate) fn kill(mut self) -> (Vec<String>, bool) {
        self.child.kill().unwrap();
        let killed = self.child.wait().unwrap().code().is_none();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest.lines().map(str::to_owned).collect(), killed)
    }

    /// Waits for the end, which must be a good one, and returns the lines not read yet.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.go();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {rest}");
        rest.lines().map(str::to_owned).collect()
    }
}

/// `BASE share KEY`, `BASE build STOP PACE_MS FORCE` or `BASE open SECONDS`.
pub(crate) fn run(arguments: &[String]) {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let store = Store::at(words[0]);
    match &words[1..] {
        ["share", key] => share(&store, key.parse().unwrap()),
        ["build", stop, pace, force] => {
            let watch = Stopping {
                stop: stop.parse().unwrap(),
                pace: Duration::from_millis(pace.parse().unwrap()),
                count: AtomicUsize::new(0),
            };
            build(&store.watched(Arc::new(watch)), *force == "force");
        }
        ["open", seconds] => open(&store, Duration::from_secs(seconds.parse().unwrap())),
        other => panic!("{other:?}"),
    }
}

fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").unwrap();
    output.flush().unwrap();
}

/// Opens or builds one key, as soon as the parent says so, and says which it was.
fn share(store: &Store, key: i64) {
    say("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let outcome = store
        .begin_build(&conditions(NAME, key), BuildOptions::default(), &Silent)
        .unwrap();
    let engine = match outcome {
        Outcome::Saved(engine) => {
            say("reused");
            engine
        }
        Outcome::Build(mut build) => {
            say("built");
            // Long enough for the others to wait.
            std::thread::sleep(Duration::from_millis(100));
            build.write_all(&plan_of(key, 0)).unwrap();
            build.publish(Map::new()).unwrap()
        }
    };
    assert_eq!(engine.plan(), plan_of(key, 0));
}

/// Names every step, waits a little at each, and stops for good at one of them.
struct Stopping {
    stop: usize,
    pace: Duration,
    count: AtomicUsize,
}

impl Watch for Stopping {
    fn before(&self, step: Step, _: &Path) -> std::io::Result<()> {
        say(&format!("{step:?}"));
        if self.count.fetch_add(1, Ordering::SeqCst) == self.stop {
            say("stopped");
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        std::thread::sleep(self.pace);
        Ok(())
    }
}

/// Builds generation 1 of key 1 in several writes.
fn build(store: &Store, force: bool) {
    let options = BuildOptions {
        force,
        ..BuildOptions::default()
    };
    match store
        .begin_build(&conditions(NAME, 1), options, &Silent)
        .unwrap()
    {
        Outcome::Saved(_) => panic!("nothing intact was to be reused"),
        Outcome::Build(mut build) => {
            for piece in plan_of(1, 1).chunks(32 << 10) {
                build.write_all(piece).unwrap();
            }
            drop(build.publish(Map::new()).unwrap());
        }
    }
    say("published");
}

/// Opens or builds keys in turn, checks every byte, and says how often it did what.
fn open(store: &Store, time: Duration) {
    let start = Instant::now();
    let (mut opened, mut built) = (0, 0);
    while start.elapsed() < time {
        for key in 0..3 {
            let outcome = store
                .begin_build(&conditions(NAME, key), BuildOptions::default(), &Silent)
                .unwrap();
            let engine = match outcome {
                Outcome::Saved(engine) => {
                    opened += 1;
                    engine
                }
                Outcome::Build(mut build) => {
                    built += 1;
                    build.write_all(&plan_of(key, 0)).unwrap();
                    build.publish(Map::new()).unwrap()
                }
            };
            engine.record_use();
            assert_eq!(engine.plan(), plan_of(key, 0));
            assert!(
                engine.path().exists(),
                "{} was pruned while open",
                engine.path().display()
            );
        }
    }
    say(&opened.to_string());
    say(&built.to_string());
}
