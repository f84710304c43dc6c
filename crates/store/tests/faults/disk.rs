//! Disks that are full or fail: every step that changes the disk fails once in turn.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tensoracle_progress::Silent;
use tensoracle_store::disk::{Step, Watch};
use tensoracle_store::{Map, Outcome, Store};

use crate::common::conditions;
use crate::{Before, Found, NAME, check_aftermath, look, plan_of};

/// `ENOSPC` and `EIO` on Linux.
const ERRORS: [(&str, i32); 2] = [("ENOSPC", 28), ("EIO", 5)];

/// Fails the step of one number, or all from it on.
struct Failing {
    at: usize,
    and_all_after: bool,
    error: i32,
    count: AtomicUsize,
    seen: std::sync::Mutex<Vec<Step>>,
}

impl Watch for Failing {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().unwrap().push(step);
        if number == self.at || self.and_all_after && number > self.at {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        Ok(())
    }
}

/// Builds generation 1 of key 1; whether it was published.
fn build(store: &Store, before: Before) -> bool {
    let wanted = conditions(NAME, 1);
    let Ok(outcome) = store.begin_build(&wanted, before.options(), &Silent) else {
        return false;
    };
    let Outcome::Build(mut build) = outcome else {
        panic!("nothing intact was to be reused");
    };
    let written = plan_of(1, 1)
        .chunks(32 << 10)
        .try_for_each(|piece| io::Write::write_all(&mut build, piece));
    // Publishing must refuse by itself when a write failed.
    build.publish(Map::new()).is_ok() && written.is_ok()
}

pub(crate) fn failing_steps() -> String {
    let (mut runs, mut tolerated) = (0, 0);
    let mut failed_at: BTreeMap<String, usize> = BTreeMap::new();
    for before in Before::ALL {
        for (name, error) in ERRORS {
            for and_all_after in [false, true] {
                for at in 0.. {
                    let base = tempfile::tempdir().unwrap();
                    let store = before.prepare(base.path());
                    let watch = Arc::new(Failing {
                        at,
                        and_all_after,
                        error,
                        count: AtomicUsize::new(0),
                        seen: std::sync::Mutex::default(),
                    });
                    let published = build(&store.clone().watched(watch.clone()), before);
                    let seen = watch.seen.lock().unwrap();
                    let Some(step) = seen.get(at) else {
                        assert!(published, "no step failed");
                        break;
                    };
                    let fault = format!("{name} at step {at}, {step:?}");
                    if published {
                        tolerated += 1;
                        assert_eq!(look(&store), Found::Generation(1), "{fault}");
                    } else {
                        *failed_at.entry(format!("{step:?}")).or_insert(0) += 1;
                        if before == Before::Old {
                            assert_eq!(look(&store), Found::Generation(0), "{fault}");
                        }
                    }
                    check_aftermath(&store, before, &fault);
                    runs += 1;
                }
            }
        }
    }
    let listed: Vec<String> = failed_at
        .iter()
        .map(|(step, count)| format!("{step} {count}"))
        .collect();
    format!(
        "{runs} failing runs, {tolerated} of them published all the same, the others kept the old \
         engine; failed at: {}",
        listed.join(", ")
    )
}
