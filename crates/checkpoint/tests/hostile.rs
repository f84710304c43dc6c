//! Files made to do harm: each is answered with the right error in under a second and under 64 MiB
//! of memory, leaves no destination, and runs nothing.
//!
//! Not here: honest files of unusual form, in `forms.rs`.

mod forge;

use forge::{
    Record, Zip, call, checkpoint, dict, global, int, ints, legacy, pickle, storage, tar, tensor,
    text, tuple,
};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tensoracle_checkpoint::{Error, Kind, Options, Problem, Summary, convert, fuzzing};
use tensoracle_progress::Silent;

const SECOND: f64 = 1.0;
const MEMORY_KIB: u64 = 64 << 10;

/// Only one file is judged at a time, since memory and time are those of the process.
static TURN: Mutex<()> = Mutex::new(());

/// A number of /proc/self/status in KiB, where there is one.
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':')
        .trim()
        .split(' ')
        .next()?
        .parse()
        .ok()
}

/// Seconds of processor time that this process has taken, where the system tells.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// Converts `bytes` and checks time, memory and, on refusal, that nothing is left behind.
fn attempt(bytes: &[u8], options: &Options) -> Result<Summary, Error> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, bytes).unwrap();
    let destination = folder.path().join("out.safetensors");
    // Makes the peak the present size; without that the peak is of the whole process, which is
    // checked all the same.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (memory, time) = (status("VmRSS"), processor_seconds());
    let outcome = convert(&source, &destination, options, &Silent);
    if let (Some(before), Some(after)) = (time, processor_seconds()) {
        assert!(after - before < SECOND, "{} s", after - before);
    }
    if let (Some(before), Some(peak)) = (memory, status("VmHWM")) {
        // The mapped source is not counted.
        let mapped = bytes.len() as u64 / 1024;
        let grown = peak.saturating_sub(before + mapped);
        assert!(grown < MEMORY_KIB, "{grown} KiB");
    }
    if outcome.is_err() {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    outcome
}

fn refuse(bytes: &[u8]) -> Error {
    attempt(bytes, &Options::default()).unwrap_err()
}

fn problem(bytes: &[u8]) -> Problem {
    match refuse(bytes) {
        Error::InFile { problem, .. } => problem,
        other => panic!("{other:?}"),
    }
}

/// What is wrong with a pickle, of one whose value is a mapping.
fn pickle_problem(body: &[u8]) -> String {
    match problem(&checkpoint(body)) {
        Problem::Pickle { problem, .. } => problem,
        other => panic!("{other:?}"),
    }
}

fn entries(bytes: &[u8]) -> Vec<(Option<String>, Kind)> {
    match refuse(bytes) {
        Error::Refused { refusal, .. } => refusal
            .entries
            .into_iter()
            .map(|entry| (entry.path, entry.kind))
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn one_tensor() -> Vec<u8> {
    tensor(4, 0, &[4], &[1])
}

#[test]
fn functions_that_run_programs_are_only_named() {
    let proof = std::env::temp_dir().join(format!("tensoracle-proof-{}", std::process::id()));
    let command = text(&format!("touch {}", proof.display()));
    for (module, name) in [
        ("posix", "system"),
        ("nt", "system"),
        ("os", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("builtins", "exec"),
        ("builtins", "__import__"),
        ("builtins", "getattr"),
        ("__builtin__", "apply"),
        ("torch", "load"),
        ("torch._utils", "_import_dotted_name"),
        ("torch.hub", "load"),
        ("numpy.testing._private.utils", "runstring"),
        ("runpy", "_run_code"),
    ] {
        let function = global(module, name);
        let object = Kind::Object {
            global: format!("{module}.{name}"),
        };
        let arguments = tuple(std::slice::from_ref(&command));
        let by_stack = [text(module), text(name), vec![0x93]].concat();
        let ways = [
            call(function.clone(), std::slice::from_ref(&command)),
            [by_stack, arguments.clone(), b"R".to_vec()].concat(),
            [&function[..], &arguments, &[0x81]].concat(),
            [&function[..], &arguments, b"}", &[0x92]].concat(),
            [b"(", &function[..], &command, b"o"].concat(),
            [
                &call(function.clone(), std::slice::from_ref(&command))[..],
                b"}b",
            ]
            .concat(),
            // What it returned called in turn.
            [&call(function.clone(), &[])[..], &arguments, b"R"].concat(),
            function.clone(),
        ];
        for way in &ways {
            let file = checkpoint(&dict(&[text("w"), one_tensor(), text("x"), way.clone()]));
            assert_eq!(entries(&file), [(Some("x".into()), object.clone())]);
            let skipping = Options {
                skip_non_tensors: true,
                ..Options::default()
            };
            let summary = attempt(&file, &skipping).unwrap();
            assert_eq!((summary.tensors, summary.skipped.len()), (1, 1));
            // In a list, and built and thrown away.
            let list = [b"](", way.as_slice(), b"e"].concat();
            let file = checkpoint(&dict(&[text("x"), list]));
            assert_eq!(
                entries(&file),
                [
                    (Some("x".into()), Kind::Value("list")),
                    (Some("x[0]".into()), object.clone()),
                ]
            );
            let file = checkpoint(&[way.as_slice(), b"0", &dict(&[])].concat());
            assert_eq!(entries(&file), [(None, object.clone())]);
        }
        let file = legacy(&dict(&[text("x"), ways[0].clone()]), &[]);
        assert_eq!(entries(&file), [(Some("x".into()), object)]);
    }
    assert!(!proof.exists());
}

#[test]
fn a_tensor_takes_neither_items_nor_state() {
    let on_tensor = |rest: &[u8]| pickle_problem(&[&one_tensor()[..], rest].concat());
    assert!(on_tensor(&[&text("a")[..], b"Ns"].concat()).contains("entries for a tensor"));
    assert!(on_tensor(&[b"(", &text("a")[..], b"Nu"].concat()).contains("entries for a tensor"));
    assert!(on_tensor(b"Na").contains("items for a tensor"));
    assert!(on_tensor(b"(Ne").contains("items for a tensor"));
    assert!(on_tensor(b"}b").contains("state for a tensor"));
    assert!(on_tensor(b")R").contains("a call of a tensor"));
}

#[test]
fn a_storage_and_its_record_have_one_size() {
    let file = |count, elements: usize| {
        let bytes = vec![0; elements * 4];
        Zip::default()
            .stored(
                "a/data.pkl",
                &pickle(&dict(&[text("w"), tensor(count, 0, &[1], &[1])])),
            )
            .stored("a/data/0", &bytes)
            .finish()
    };
    assert!(attempt(&file(4, 4), &Options::default()).is_ok());
    for (count, elements) in [(5, 4), (4, 5), (1 << 40, 4), (0, 1)] {
        let found = problem(&file(count, elements));
        let is_right = match found {
            Problem::StorageSize { .. } => count != 0,
            // No element, yet the tensor has one.
            Problem::TensorOutOfBounds { .. } => count == 0,
            _ => false,
        };
        assert!(is_right, "{count} {elements} {found:?}");
    }
    let nowhere = checkpoint(&dict(&[
        text("w"),
        call(
            global("torch._utils", "_rebuild_tensor_v2"),
            &[
                storage("FloatStorage", "../data.pkl", 1),
                int(0),
                ints(&[1]),
                ints(&[1]),
                vec![0x89],
                b"}".to_vec(),
            ],
        ),
    ]));
    assert!(matches!(problem(&nowhere), Problem::StorageMissing { .. }));
}

#[test]
fn a_tensor_stays_within_its_storage() {
    let out = |offset, sizes: &[i64], strides: &[i64]| {
        let file = checkpoint(&dict(&[text("w"), tensor(4, offset, sizes, strides)]));
        matches!(problem(&file), Problem::TensorOutOfBounds { name, .. } if name == "w")
    };
    assert!(out(0, &[5], &[1]));
    assert!(out(4, &[1], &[1]));
    assert!(out(4, &[], &[]));
    assert!(out(1, &[4], &[1]));
    assert!(out(0, &[2], &[4]));
    assert!(out(0, &[2, 2], &[3, 1]));
    assert!(out(i64::MAX, &[1], &[1]));
    assert!(out(0, &[i64::MAX, i64::MAX], &[i64::MAX, i64::MAX]));
    assert!(out(0, &[i64::MAX], &[1]));
    assert!(out(0, &[3], &[i64::MAX]));
    // As many dimensions as torch has, each of two.
    assert!(out(0, &[2; 64], &[1; 64]));

    let wrong = |offset, sizes: &[i64], strides: &[i64]| {
        pickle_problem(&dict(&[text("w"), tensor(4, offset, sizes, strides)]))
    };
    assert!(wrong(-1, &[1], &[1]).contains("negative offset"));
    assert!(wrong(0, &[-1], &[1]).contains("a size of -1"));
    assert!(wrong(0, &[1], &[-1]).contains("a stride of -1"));
    assert!(wrong(0, &[1, 1], &[1]).contains("2 sizes and 1 strides"));
    assert!(wrong(0, &[1; 65], &[1; 65]).contains("65 dimensions"));
    assert!(pickle_problem(&dict(&[text("w"), tensor(-4, 0, &[1], &[1])])).contains("a size"));
    assert!(
        pickle_problem(&dict(&[text("w"), tensor(i64::MAX, 0, &[1], &[1])]))
            .contains("does not fit")
    );
}

#[test]
fn one_element_repeated_without_end_is_too_large() {
    let size = |sizes: &[i64]| {
        let strides = vec![0; sizes.len()];
        let file = checkpoint(&dict(&[text("w"), tensor(4, 0, sizes, &strides)]));
        match refuse(&file) {
            Error::OutputTooLarge {
                largest, needed, ..
            } if largest == "w" => needed,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(size(&[1 << 40]), 4 << 40);
    assert_eq!(size(&[1 << 20, 1 << 20]), 4 << 40);
    assert_eq!(size(&[1 << 62, 1 << 62]), u64::MAX);
    assert_eq!(size(&[i64::MAX]), u64::MAX);
    // No elements, yet sizes whose product readers cannot form.
    assert_eq!(size(&[1 << 62, 1 << 62, 0]), u64::MAX);

    // Within the limit asked for, and just beyond it.
    let file = checkpoint(&dict(&[text("w"), tensor(4, 0, &[100], &[0])]));
    let limited = |limit| {
        let options = Options {
            max_output: Some(limit),
            ..Options::default()
        };
        attempt(&file, &options)
    };
    assert_eq!(limited(400).unwrap().bytes, 400);
    assert!(matches!(
        limited(399),
        Err(Error::OutputTooLarge {
            needed: 400,
            limit: 399,
            largest_bytes: 400,
            ..
        })
    ));
}

fn too_much(bytes: &[u8]) -> bool {
    matches!(problem(bytes), Problem::TooMuchMetadata { .. })
}

#[test]
fn memory_is_bounded_whatever_the_opcodes() {
    let million = |unit: &[u8]| unit.repeat(3_000_000 / unit.len().min(4));
    assert!(too_much(&checkpoint(&million(b"N"))));
    assert!(too_much(&checkpoint(&million(b"("))));
    assert!(too_much(&checkpoint(&million(b"]"))));
    assert!(too_much(&checkpoint(&million(b"]0"))));
    assert!(too_much(&checkpoint(&million(b"}0"))));
    assert!(too_much(&checkpoint(&million(b"]Na0"))));
    assert!(too_much(&checkpoint(&million(b"}NNs0"))));
    assert!(too_much(&checkpoint(&million(b"NNN\x870"))));
    assert!(too_much(&checkpoint(
        &[b"N", million(b"\x94").as_slice()].concat()
    )));
    // Names, all different.
    let globals: Vec<u8> = (0..400_000)
        .flat_map(|n| global("m", &n.to_string()))
        .collect();
    assert!(too_much(&checkpoint(&globals)));
    let storages: Vec<u8> = (0..200_000)
        .flat_map(|n| storage("FloatStorage", &n.to_string(), 1))
        .collect();
    assert!(too_much(&checkpoint(&storages)));
    // The same tensor under many names, and many tensors.
    let shared = [b"}q\x00".to_vec(), one_tensor(), b"q\x010(".to_vec()].concat();
    let names: Vec<u8> = (0..150_000)
        .flat_map(|n| [text(&n.to_string()), b"h\x01".to_vec()].concat())
        .collect();
    let file = checkpoint(&[shared, names, b"u".to_vec()].concat());
    assert!(too_much(&file));
    // With a higher limit the same file is fine. Its time and memory are its own affair.
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, &file).unwrap();
    let options = Options {
        max_metadata: Some(1 << 30),
        ..Options::default()
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let listing = tensoracle_checkpoint::inspect(&source, &options, &Silent).unwrap();
    assert_eq!(listing.tensors.len(), 150_000);
}

#[test]
fn memo_slots_are_numbered_one_by_one() {
    for slot in [65, 1 << 20, u32::MAX] {
        let store = [b"}r".as_slice(), &slot.to_le_bytes()].concat();
        assert!(pickle_problem(&store).contains("memo slot"));
    }
    assert!(pickle_problem(b"h\x00").contains("memo slot 0 is empty"));
    assert!(pickle_problem(b"}j\xff\xff\xff\xff").contains("is empty"));
}

#[test]
fn doubling_is_not_followed() {
    // Lists of two times the list before, and tuples the same.
    for double in [b"](h\x00h\x00eq\x000".as_slice(), b"h\x00h\x00\x86q\x000"] {
        let body = [b"]q\x000".to_vec(), double.repeat(1000), b"h\x00".to_vec()].concat();
        let file = checkpoint(&dict(&[text("x"), body]));
        assert_eq!(entries(&file).len(), 1);
    }
    // Mappings of two times the mapping before: without tensors, and with one.
    for (innermost, level) in [(b"}".to_vec(), 60), (dict(&[text("t"), one_tensor()]), 60)] {
        let mut body = [innermost, b"q\x00".to_vec()].concat();
        for _ in 0..level {
            let twice = [text("a"), b"h\x00".to_vec(), text("b"), b"h\x00".to_vec()];
            body.extend([dict(&twice), b"q\x00".to_vec()].concat());
        }
        assert!(too_much(&checkpoint(&body)));
    }
    // Copies of a long list, again and again.
    let long = [b"](".to_vec(), b"N".repeat(10_000), b"eq\x00".to_vec()].concat();
    let copy = call(global("builtins", "list"), &[b"h\x00".to_vec()]);
    assert!(too_much(&checkpoint(
        &[long.clone(), copy.repeat(10_000)].concat()
    )));
    let copy = call(global("builtins", "tuple"), &[b"h\x00".to_vec()]);
    assert!(too_much(&checkpoint(&[long, copy.repeat(10_000)].concat())));
    let pairs = [b"](".to_vec(), b"NN\x86".repeat(10_000), b"eq\x00".to_vec()].concat();
    let copy = call(global("collections", "OrderedDict"), &[b"h\x00".to_vec()]);
    assert!(too_much(&checkpoint(
        &[pairs, copy.repeat(10_000)].concat()
    )));
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    let mut body = one_tensor();
    let level = [b"}".to_vec(), text("k")].concat();
    body = [level.repeat(100_000), body, b"s".repeat(100_000)].concat();
    let found = entries(&checkpoint(&body));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, Kind::TooDeep { limit: 512 });
    // Lists and tuples as deep are leaves.
    for (open, close) in [(b"](".as_slice(), b"e".as_slice()), (b"(", b"t")] {
        let deep = [open.repeat(100_000), close.repeat(100_000)].concat();
        assert_eq!(entries(&checkpoint(&dict(&[text("x"), deep]))).len(), 1);
    }
    // Arguments within arguments.
    let rebuild = global("torch._tensor", "_rebuild_from_type_v2");
    let nested = [
        rebuild.clone(),
        tuple(&[
            rebuild,
            global("torch", "Tensor"),
            tuple(&[]),
            b"N".to_vec(),
        ]),
        b"R".to_vec(),
    ]
    .concat();
    assert!(pickle_problem(&nested).contains("a rebuild within a rebuild"));
}

#[test]
fn lengths_beyond_the_file_allocate_nothing() {
    let huge32 = (1u32 << 31).to_le_bytes();
    let huge64 = (1u64 << 62).to_le_bytes();
    for (opcode, length) in [
        (b'X', &huge32[..]),
        (b'T', &huge32),
        (b'B', &huge32),
        (0x8b, &huge32),
        (0x8d, &huge64),
        (0x8e, &huge64),
        (0x96, &huge64),
        (0x8d, &[0xff; 8]),
        (b'U', &[255]),
        (0x8a, &[255]),
    ] {
        let body = [&[opcode], length, b"a"].concat();
        let found = problem(&checkpoint(&body));
        assert!(
            matches!(found, Problem::Truncated { .. }),
            "{opcode:#x} {found:?}"
        );
    }
}

#[test]
fn opcodes_that_no_checkpoint_uses_are_refused() {
    for opcode in [
        b'P', b'S', b'V', b'F', b'L', b'i', b'd', b'l', b'g', b'p', 0x82, 0x97, 0x98, 0,
    ] {
        assert!(pickle_problem(&[opcode]).contains("opcode"), "{opcode:#x}");
    }
    assert!(pickle_problem(b"\x80\x06").contains("protocol 6"));
    for body in [
        b"t".as_slice(),
        b"e",
        b"u",
        b"s",
        b"R",
        b"b",
        b"0",
        b"\x85",
        b"o",
        b"(o",
        b"Q",
    ] {
        assert!(!pickle_problem(body).is_empty());
    }
}

#[test]
fn records_that_are_not_what_they_seem_are_refused() {
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

#[test]
fn the_older_layouts_are_checked_as_strictly() {
    let body = dict(&[text("w"), one_legacy_tensor()]);
    let floats = [0; 16];
    assert!(attempt(&legacy(&body, &[("0", 4, &floats)]), &Options::default()).is_ok());
    assert!(matches!(
        problem(&legacy(&body, &[("0", 5, &[0; 20])])),
        Problem::StorageSize {
            expected: 16,
            found: 20,
            ..
        }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[])),
        Problem::StorageMissing { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", -1, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", i64::MAX, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", 4, &floats), ("0", 4, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", 4, &floats), ("1", 4, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", 4, &floats[1..])])),
        Problem::Truncated { .. }
    ));
    for (start, len) in [(0, 5), (4, 1), (-1, 1), (0, -1), (i64::MAX, i64::MAX)] {
        let view = tuple(&[text("v"), int(start), int(len)]);
        let found = problem(&legacy(
            &dict(&[text("w"), legacy_tensor(view)]),
            &[("0", 4, &floats)],
        ));
        assert!(matches!(found, Problem::Pickle { .. }), "{found:?}");
    }
}

/// A tensor whose storage has a sixth item in its id: a view, or none.
fn legacy_tensor(view: Vec<u8>) -> Vec<u8> {
    let id = [
        text("storage"),
        global("torch", "FloatStorage"),
        text("0"),
        text("cpu"),
        int(4),
        view,
    ];
    call(
        global("torch._utils", "_rebuild_tensor"),
        &[
            [tuple(&id), b"Q".to_vec()].concat(),
            int(0),
            ints(&[1]),
            ints(&[1]),
        ],
    )
}

fn one_legacy_tensor() -> Vec<u8> {
    legacy_tensor(b"N".to_vec())
}

#[test]
fn tar_members_that_lie_are_refused() {
    let class = |name| global("torch", name);
    let storages = |count: i64, elements: i64, bytes: &[u8], views: &[u8]| {
        let description = tuple(&[int(1), text("cpu"), class("FloatStorage")]);
        [
            pickle(&int(count)),
            pickle(&description),
            elements.to_le_bytes().to_vec(),
            bytes.to_vec(),
            pickle(views),
        ]
        .concat()
    };
    let tensors = |rank: u32, numbers: &[i64]| {
        [
            pickle(&int(1)),
            pickle(&tuple(&[int(2), int(1), class("FloatTensor")])),
            rank.to_le_bytes().to_vec(),
            vec![0; 4],
            numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
        ]
        .concat()
    };
    let object = pickle(&dict(&[text("w"), text("2"), b"Q".to_vec()]));
    let file = |storages: &[u8], tensors: &[u8]| {
        tar(&[
            ("storages", storages),
            ("tensors", tensors),
            ("pickle", &object),
        ])
    };
    let floats = [0; 16];
    let good_storages = storages(1, 4, &floats, b"]");
    let good_tensors = tensors(1, &[4, 1, 0]);
    let summary = attempt(&file(&good_storages, &good_tensors), &Options::default()).unwrap();
    assert_eq!((summary.tensors, summary.bytes), (1, 16));

    let truncated = |file: &[u8]| matches!(problem(file), Problem::Truncated { .. });
    let layout = |file: &[u8]| matches!(problem(file), Problem::Layout { .. });
    assert!(truncated(&file(
        &storages(1, 5, &floats, b""),
        &good_tensors
    )));
    // The views are read as a second storage.
    assert!(layout(&file(
        &storages(i64::MAX, 4, &floats, b"]"),
        &good_tensors
    )));
    assert!(layout(&file(
        &storages(1, -1, &floats, b"]"),
        &good_tensors
    )));
    assert!(layout(&file(
        &storages(1, i64::MAX, &floats, b"]"),
        &good_tensors
    )));
    for view in [
        [3, 1, 0, 5],
        [3, 1, 4, 1],
        [3, 1, i64::MAX, 1],
        [3, 1, -1, 1],
        [1, 1, 0, 1],
    ] {
        let views = [b"](".to_vec(), ints(&view), b"e".to_vec()].concat();
        assert!(
            layout(&file(&storages(1, 4, &floats, &views), &good_tensors)),
            "{view:?}"
        );
    }
    assert!(layout(&file(&good_storages, &tensors(65, &[0; 131]))));
    assert!(truncated(&file(&good_storages, &tensors(64, &[1, 1, 0]))));
    assert!(layout(&file(&good_storages, &tensors(1, &[-1, 1, 0]))));
    assert!(matches!(
        problem(&file(&good_storages, &tensors(1, &[5, 1, 0]))),
        Problem::TensorOutOfBounds { .. }
    ));
    assert!(truncated(&tar(&[
        ("storages", &good_storages),
        ("pickle", &object)
    ])));
    assert!(layout(&tar(&[("pickle", &object), ("pickle", &object)])));
    assert!(matches!(
        problem(&tar(&[("readme", b"hello")])),
        Problem::NotACheckpoint { .. }
    ));
    let mut broken = file(&good_storages, &good_tensors);
    let second = 512 + good_storages.len().next_multiple_of(512);
    broken[second] ^= 1;
    assert!(layout(&broken));
}

/// Small files of the three layouts.
fn small_files() -> [(&'static str, Vec<u8>); 4] {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/more");
    ["nothing.pt", "deflated.pt", "views_legacy.pt", "old.tar"]
        .map(|name| (name, std::fs::read(data.join(name)).unwrap()))
}

/// Converts without judging time and memory, which thousands of files share.
fn quick(bytes: &[u8]) -> Result<Summary, Error> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, bytes).unwrap();
    let destination = folder.path().join("out.safetensors");
    let options = Options {
        digest: true,
        max_output: Some(1 << 20),
        ..Options::default()
    };
    let outcome = convert(&source, &destination, &options, &Silent);
    assert_eq!(outcome.is_ok(), destination.exists());
    outcome
}

#[test]
fn a_file_cut_anywhere_is_refused_or_complete() {
    for (name, bytes) in small_files() {
        let whole = quick(&bytes).unwrap();
        // A tar archive ends with zeros that nobody needs.
        let needed = match name {
            "old.tar" => bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1,
            _ => bytes.len(),
        };
        let mut accepted = 0;
        for len in 0..bytes.len() {
            match quick(&bytes[..len]) {
                Ok(summary) => {
                    assert_eq!(summary.digest, whole.digest, "{name} cut to {len} bytes");
                    assert!(len >= needed, "{name} cut to {len} bytes");
                    accepted += 1;
                }
                Err(Error::InFile { .. }) => {}
                Err(other) => panic!("{name} cut to {len} bytes: {other:?}"),
            }
        }
        assert!(accepted == 0 || name == "old.tar");
    }
}

#[test]
fn a_file_with_any_byte_changed_is_answered() {
    let mut answers = [0, 0];
    for (_, bytes) in small_files() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                // Passes the first elements of each tensor through every step of writing, too.
                let answer = fuzzing::checkpoint(&changed, &Options::default());
                answers[usize::from(answer.is_ok())] += 1;
            }
        }
    }
    // Changed values of elements are not noticed, and changed structure is.
    assert!(answers.iter().all(|count| *count > 1000), "{answers:?}");
}
