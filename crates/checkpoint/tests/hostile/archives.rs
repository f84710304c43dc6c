//! Zip archives that contradict themselves.
//!
//! What is left out: what their records hold.

use crate::forge::{Record, Zip, checkpoint, dict, pickle, text};
use crate::judge::{attempt, one_tensor, problem, refuse, too_much, turn};
use tensoracle_checkpoint::{Error, Options, Problem};

#[test]
fn records_that_are_not_what_they_seem_are_refused() {
    let _turn = turn();
    let good = Zip::default()
        .stored("a/data.pkl", &pickle(&dict(&[text("w"), one_tensor()])))
        .stored("a/data/0", &[0; 16]);
    assert!(attempt(&good.finish(), &Options::default()).is_ok());
    let archive = |zip: &Zip| match problem(&zip.finish()) {
        Problem::Archive { problem } => problem,
        other => panic!("{other:?}"),
    };
    for name in [
        "../evil",
        "a/../../evil",
        "/etc/passwd",
        "a\\..\\evil",
        "a/\0b",
    ] {
        assert!(archive(&good.clone().stored(name, b"")).contains("leaves the archive"));
    }
    assert!(archive(&good.clone().stored("a/data/0", &[1; 16])).contains("two records are named"));
    assert!(archive(&good.clone().stored("b/data.pkl", b"N.")).contains("more than one"));
    let change = |change: fn(&mut Record)| {
        let mut zip = good.clone();
        change(&mut zip.records[1]);
        zip
    };
    assert!(archive(&change(|record| record.flags = 1)).contains("encrypted"));
    assert!(archive(&change(|record| record.method = 12)).contains("method 12"));
    assert!(archive(&change(|record| record.size = 99)).contains("two sizes"));
    assert!(archive(&change(|record| record.header = Some(0))).contains("overlaps"));
    assert!(archive(&change(|record| record.header = Some(1 << 31))).contains("overlaps"));
    assert!(archive(&change(|record| record.header = Some(60))).contains("overlaps"));
    let mut swapped = good.clone();
    swapped.records[0].header = Some(good.finish().len() as u64 / 4);
    assert!(!archive(&swapped).is_empty());
}

#[test]
fn an_end_record_that_lies_is_refused() {
    let _turn = turn();
    let good = checkpoint(&dict(&[text("w"), one_tensor()]));
    let end = good.len() - 22;
    for (at, value) in [
        (10, [0xff, 0xff].as_slice()),
        (10, &[9, 0]),
        (12, &[0xff; 4]),
        (16, &[0xff; 4]),
        (16, &[0, 0, 0, 0]),
        (4, &[1, 0]),
        (6, &[1, 0]),
    ] {
        let mut bytes = good.clone();
        bytes[end + at..][..value.len()].copy_from_slice(value);
        let found = problem(&bytes);
        assert!(matches!(found, Problem::Archive { .. }), "{at} {found:?}");
    }
    let wide = Zip {
        zip64: true,
        ..Zip::default()
    }
    .stored("a/data.pkl", &pickle(&dict(&[])))
    .finish();
    let record = wide.len() - 22 - 20 - 56;
    for at in [32, 40, 48] {
        for value in [u64::MAX, 1 << 40] {
            let mut bytes = wide.clone();
            bytes[record + at..][..8].copy_from_slice(&value.to_le_bytes());
            assert!(
                matches!(problem(&bytes), Problem::Archive { .. }),
                "{at} {value}"
            );
        }
    }
}

#[test]
fn deflated_records_are_bounded_by_what_they_announce() {
    let _turn = turn();
    let bomb = vec![b'N'; 300 << 20];
    let file = Zip::default().deflated("a/data.pkl", &bomb).finish();
    assert!(file.len() < 1 << 20);
    assert!(too_much(&file));
    let body = pickle(&dict(&[text("w"), one_tensor()]));
    let good = Zip::default()
        .deflated("a/data.pkl", &body)
        .deflated("a/data/0", &[7; 16]);
    assert!(attempt(&good.finish(), &Options::default()).is_ok());
    let change = |number: usize, change: fn(&mut Record)| {
        let mut zip = good.clone();
        change(&mut zip.records[number]);
        match refuse(&zip.finish()) {
            Error::InFile {
                problem: Problem::Archive { problem },
                ..
            } => problem,
            other => panic!("{other:?}"),
        }
    };
    assert!(change(0, |record| record.size = 1 << 32).contains("cannot hold"));
    assert!(change(0, |record| record.size += 1).contains("less than its size"));
    assert!(change(0, |record| record.size -= 1).contains("past its size"));
    for number in [0, 1] {
        assert!(change(number, |record| record.crc ^= 1).contains("checksum"));
        assert!(!change(number, |record| record.bytes[0] = 0xff).is_empty());
        assert!(!change(number, |record| record.bytes.truncate(2)).is_empty());
    }
}
