//! Files that were cut, changed or put in place by somebody else.

use std::path::PathBuf;

use tensoracle_progress::Silent;
use tensoracle_store::{
    BuildOptions, Conditions, OnDamage, OpenOptions, Outcome, Store, StoreError, Verify,
};

use crate::common::{build, conditions};
use crate::{NAME, Numbers, PLAN_BYTES, plan_of};

struct Fixture {
    _base: tempfile::TempDir,
    store: Store,
    wanted: Conditions,
    path: PathBuf,
    intact: Vec<u8>,
}

fn fixture() -> Fixture {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions(NAME, 1);
    let path = build(&store, &wanted, &plan_of(1, 0)).path().to_owned();
    Fixture {
        intact: std::fs::read(&path).unwrap(),
        _base: base,
        store,
        wanted,
        path,
    }
}

impl Fixture {
    /// Puts `bytes` in the engine's place and checks that none of them is handed out: not by
    /// finding, not by building with errors wanted, and not by building with rebuilding wanted.
    fn check_refused(&self, bytes: &[u8], verify: Verify, what: &str) {
        std::fs::write(&self.path, bytes).unwrap();
        let open = OpenOptions {
            verify,
            ..OpenOptions::default()
        };
        let damaged =
            |error: &StoreError| matches!(error, StoreError::Corrupt(_) | StoreError::Condition(_));
        match self.store.find(&self.wanted, open) {
            Err(error) if damaged(&error) => {}
            other => panic!("{what}, {verify:?}: {other:?}"),
        }
        let report = BuildOptions {
            open,
            on_damage: OnDamage::Error,
            ..BuildOptions::default()
        };
        match self.store.begin_build(&self.wanted, report, &Silent) {
            Err(error) if damaged(&error) => {}
            other => panic!("{what}, {verify:?}: {other:?}"),
        }
        let rebuild = BuildOptions {
            open,
            ..BuildOptions::default()
        };
        match self
            .store
            .begin_build(&self.wanted, rebuild, &Silent)
            .unwrap()
        {
            Outcome::Build(_) => {}
            Outcome::Saved(engine) => panic!("{what}, {verify:?}: {engine:?}"),
        }
        assert!(!self.path.exists(), "{what}: not set aside");
    }
}

pub(crate) fn truncations() -> String {
    let fixture = fixture();
    let length = fixture.intact.len();
    let cuts: Vec<usize> = (0..length)
        .step_by(4096)
        .chain([1, 26, 27, 116, 117, 118, length - 1])
        .collect();
    for cut in &cuts {
        for verify in [Verify::Full, Verify::Header] {
            fixture.check_refused(&fixture.intact[..*cut], verify, &format!("cut at {cut}"));
        }
    }
    format!("{} cuts refused, by both ways of verifying", cuts.len())
}

pub(crate) fn bit_flips() -> String {
    let fixture = fixture();
    let length = fixture.intact.len();
    let plan_start = length - PLAN_BYTES;
    let mut numbers = Numbers(2);
    let mut flips: Vec<(usize, u32)> = Vec::new();
    // Every bit of the two lines, one bit of each byte of the header and its padding, one bit in
    // every 512 bytes of the plan, its first and its last.
    flips.extend((0..117).flat_map(|byte| (0..8).map(move |bit| (byte, bit))));
    flips.extend((117..plan_start).map(|byte| (byte, numbers.below(8) as u32)));
    let in_header = flips.len();
    flips.extend([(plan_start, 0), (length - 1, 7)]);
    flips.extend(
        (plan_start..length)
            .step_by(512)
            .map(|start| (start + numbers.below(512) as usize, numbers.below(8) as u32)),
    );
    let mut bytes = fixture.intact.clone();
    for (index, (byte, bit)) in flips.iter().enumerate() {
        bytes[*byte] ^= 1 << bit;
        let what = format!("bit {bit} of byte {byte} flipped");
        fixture.check_refused(&bytes, Verify::Full, &what);
        if index < in_header {
            fixture.check_refused(&bytes, Verify::Header, &what);
        }
        bytes[*byte] ^= 1 << bit;
    }
    format!(
        "{in_header} flips in the header refused by both ways of verifying, {} in the plan by the \
         full one",
        flips.len() - in_header
    )
}

pub(crate) fn foreign_files() -> String {
    let fixture = fixture();
    let intact = &fixture.intact;
    let other = {
        let wanted = conditions(NAME, 2);
        let engine = build(&fixture.store, &wanted, &plan_of(2, 0));
        std::fs::read(engine.path()).unwrap()
    };
    let plan_start = intact.len() - PLAN_BYTES;
    assert_eq!(other.len(), intact.len());
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = intact.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let mut longer = intact.clone();
    longer.push(0);
    let cases: [(&str, Vec<u8>); 9] = [
        ("empty", Vec::new()),
        ("zeros", vec![0; intact.len()]),
        ("text", b"hello".to_vec()),
        ("a bare plan", plan_of(1, 0)),
        ("another engine", other.clone()),
        ("a longer file", longer),
        ("a newer format", with(25, b"2")),
        ("a much newer format", with(25, b"99")),
        (
            "another's header",
            [&other[..plan_start], &intact[plan_start..]].concat(),
        ),
    ];
    for (what, bytes) in &cases {
        for verify in [Verify::Full, Verify::Header] {
            fixture.check_refused(bytes, verify, what);
        }
    }
    // Of one length: only the plan's digest tells them apart.
    let swapped_plan = [&intact[..plan_start], &other[plan_start..]].concat();
    fixture.check_refused(&swapped_plan, Verify::Full, "another's plan");
    format!("{} kinds refused", cases.len() + 1)
}
