//! Opcodes and globals that do harm elsewhere.
//!
//! What is left out: pickles that are merely large, in `bombs`.

use crate::forge::{call, checkpoint, dict, global, legacy, text, tuple};
use crate::judge::{attempt, entries, one_tensor, pickle_problem, problem, turn};
use tensoracle_checkpoint::{Kind, Options, Problem};

#[test]
fn functions_that_run_programs_are_only_named() {
    let _turn = turn();
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
    let _turn = turn();
    let on_tensor = |rest: &[u8]| pickle_problem(&[&one_tensor()[..], rest].concat());
    assert!(on_tensor(&[&text("a")[..], b"Ns"].concat()).contains("entries for a tensor"));
    assert!(on_tensor(&[b"(", &text("a")[..], b"Nu"].concat()).contains("entries for a tensor"));
    assert!(on_tensor(b"Na").contains("items for a tensor"));
    assert!(on_tensor(b"(Ne").contains("items for a tensor"));
    assert!(on_tensor(b"}b").contains("state for a tensor"));
    assert!(on_tensor(b")R").contains("a call of a tensor"));
}

#[test]
fn lengths_beyond_the_file_allocate_nothing() {
    let _turn = turn();
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
    let _turn = turn();
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
fn memo_slots_are_numbered_one_by_one() {
    let _turn = turn();
    for slot in [65, 1 << 20, u32::MAX] {
        let store = [b"}r".as_slice(), &slot.to_le_bytes()].concat();
        assert!(pickle_problem(&store).contains("memo slot"));
    }
    assert!(pickle_problem(b"h\x00").contains("memo slot 0 is empty"));
    assert!(pickle_problem(b"}j\xff\xff\xff\xff").contains("is empty"));
}
