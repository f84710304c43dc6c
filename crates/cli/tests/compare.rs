//! `tensoracle compare`: what it prints, what it answers, what it refuses.

use insta::assert_snapshot;
use std::path::{Path, PathBuf};
use std::process::Command;
use tensoracle_tensorfile::{Element, TensorData, write};

/// A folder with two sets of tensors and the command run in it.
struct Folder(tempfile::TempDir);

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let reference: Vec<f32> = (0..24).map(|i| i as f32 / 8.0 - 1.0).collect();
        let mut near = reference.clone();
        near[7] += 0.0078125;
        let mut far = reference.clone();
        far[20] = 9.0;
        far[21] = f32::NAN;
        let (near, far, reference) = (floats(&near), floats(&far), floats(&reference));
        let ids: Vec<u8> = [5i64, 6, 7]
            .iter()
            .flat_map(|id| id.to_le_bytes())
            .collect();
        let others: Vec<u8> = [5i64, 6, 8]
            .iter()
            .flat_map(|id| id.to_le_bytes())
            .collect();
        let tensor = |name, element, dims, bytes| TensorData {
            name,
            element,
            dims,
            bytes,
        };
        let of_floats = |name, bytes| tensor(name, Element::F32, &[2, 3, 4], bytes);
        folder.write(
            "reference.safetensors",
            &[
                of_floats("encoder.near", &reference),
                of_floats("encoder.far", &reference),
                of_floats("same", &reference),
                of_floats("turned", &reference),
                tensor("ids", Element::I64, &[3], &ids),
                of_floats("only.reference", &reference),
            ],
        );
        folder.write(
            "candidate.npz",
            &[
                of_floats("encoder.near", &near),
                of_floats("encoder.far", &far),
                of_floats("same", &reference),
                tensor("turned", Element::F32, &[24], &reference),
                tensor("ids", Element::I64, &[3], &others),
                of_floats("only.candidate", &reference),
            ],
        );
        folder.write("reference.npy", &[of_floats("x", &reference)]);
        folder.write("near.npy", &[of_floats("x", &near)]);
        std::fs::write(folder.path("near.bin"), &near).unwrap();
        std::fs::write(folder.path("reference.bin"), &reference).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, tensors: &[TensorData<'_>]) {
        write(&self.path(name), tensors).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(Path::new(env!("CARGO_BIN_EXE_tensoracle")))
            .arg("compare")
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    /// Runs and shows status and both outputs.
    fn shown(&self, arguments: &[&str]) -> String {
        let (status, out, err) = self.run(arguments);
        format!("status {status}\n{out}{err}")
    }

    fn status(&self, arguments: &[&str]) -> i32 {
        self.run(arguments).0
    }
}

#[test]
fn sets_are_matched_by_name_and_shown_as_a_table() {
    let folder = Folder::new();
    let set = ["candidate.npz", "reference.safetensors"];
    assert_snapshot!("set", folder.shown(&[set[0], set[1], "--atol", "0.01"]));
}

#[test]
fn one_tensor_is_shown_in_full() {
    let folder = Folder::new();
    let pair = [
        "near.npy",
        "reference.npy",
        "--atol",
        "1e-3",
        "--rtol",
        "1e-3",
    ];
    assert_snapshot!("single", folder.shown(&pair));
    let raw = folder.shown(&["near.bin", "reference.npy", "--raw", "f32"]);
    assert!(raw.contains("shape                [2, 3, 4]"), "{raw}");
}

#[test]
fn the_exit_status_says_what_was_asked() {
    let folder = Folder::new();
    let near = |more: &[&str]| folder.status(&[&["near.npy", "reference.npy"], more].concat());
    assert_eq!(near(&[]), 1, "without a tolerance any difference counts");
    assert_eq!(near(&["--atol", "0.01"]), 0);
    assert_eq!(near(&["--atol", "0.001"]), 1);
    assert_eq!(near(&["--rtol", "1"]), 0);
    assert_eq!(near(&["--atol", "0.01", "--fail-on", "different"]), 1);
    assert_eq!(near(&["--fail-on", "nothing"]), 0);
    assert_eq!(
        folder.status(&["reference.npy", "reference.bin", "--raw", "F32:2x3x4"]),
        0
    );
    assert_eq!(
        folder.status(&["near.bin", "reference.bin", "--raw", "F32"]),
        1
    );

    let set = |more: &[&str]| {
        folder.status(&[&["candidate.npz", "reference.safetensors"], more].concat())
    };
    assert_eq!(
        set(&["--atol", "100", "--fail-on", "outside"]),
        1,
        "an integer differs"
    );
    assert_eq!(set(&["--atol", "100", "--fail-on", "nonfinite"]), 1);
    assert_eq!(set(&["--fail-on", "unmatched"]), 1);
    let generous = ["--atol", "0.01", "--atol", "encoder.*=100"];
    assert_eq!(set(&generous), 1);

    for wrong in [
        &["near.npy"][..],
        &["near.npy", "reference.npy", "--atol", "-1"],
        &["near.npy", "reference.npy", "--fail-on", "everything"],
        &["near.npy", "nowhere.npy"],
        &["near.bin", "reference.npy"],
        &["near.bin", "reference.npy", "--raw", "F64"],
    ] {
        assert_eq!(folder.status(wrong), 2, "{wrong:?}");
    }
}

#[test]
fn tolerances_apply_to_the_tensors_that_their_patterns_name() {
    let folder = Folder::new();
    let (_, out, _) = folder.run(&[
        "candidate.npz",
        "reference.safetensors",
        "--json",
        "--atol",
        "0.001",
        "--atol",
        "*.near=0.1",
        "--rtol",
        "same=0.5",
    ]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let of = |name: &str| {
        let tensors = json["tensors"].as_array().unwrap();
        tensors
            .iter()
            .find(|tensor| tensor["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(
        (&of("encoder.near")["atol"], &of("encoder.near")["rtol"]),
        (&0.1.into(), &0.0.into())
    );
    assert_eq!(
        (&of("same")["atol"], &of("same")["rtol"]),
        (&0.001.into(), &0.5.into())
    );
    assert_eq!(of("encoder.near")["verdict"], "within");
    assert_eq!(of("encoder.far")["verdict"], "nonfinite");
    assert_eq!(of("encoder.far")["finite"]["outside_tolerance_count"], 1);
    assert_eq!(of("same")["verdict"], "equal");
    assert_eq!(of("turned")["verdict"], "incomparable");
    assert_eq!(of("ids")["mismatch_count"], 1);
    assert_eq!(json["missing"], serde_json::json!(["only.reference"]));
    assert_eq!(json["extra"], serde_json::json!(["only.candidate"]));
}

#[test]
fn every_measurement_is_in_the_json() {
    let folder = Folder::new();
    assert_snapshot!(
        "json",
        folder.shown(&["near.npy", "reference.npy", "--json", "--atol", "1e-3"])
    );
}

#[test]
fn a_page_is_written_beside_the_table() {
    let folder = Folder::new();
    let (status, out, err) = folder.run(&[
        "candidate.npz",
        "reference.safetensors",
        "--atol",
        "1",
        "--html",
        "page.html",
    ]);
    assert_eq!((status, err.as_str()), (1, ""));
    assert!(out.contains("encoder.far"));
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("encoder.far"));
    assert_eq!(page.matches("<canvas").count(), 3);
    let (status, _, err) =
        folder.run(&["near.npy", "reference.npy", "--html", "nowhere/page.html"]);
    assert_eq!(status, 2);
    assert!(err.contains("cannot write `nowhere/page.html`"), "{err}");
}

#[test]
fn what_cannot_be_read_is_said_with_advice() {
    let folder = Folder::new();
    assert_snapshot!("unknown", folder.shown(&["near.bin", "reference.npy"]));
    std::fs::write(folder.path("cut.npy"), b"\x93NUMPY\x01\x00\x46\x00{'descr'").unwrap();
    assert_snapshot!("damaged", folder.shown(&["cut.npy", "reference.npy"]));
}
