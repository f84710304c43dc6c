//! Saved engines and weights beside `b3sum` and beside hashing with Python's hashlib: every
//! contestant a process of its own, on files that are in memory already.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::measure::{self, Contestant, Sample, in_turn, run_self_timed};
use super::report::{Report, Row};
use crate::{python, release, workspace};

/// Arguments of `cargo xtask bench store`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each case is measured on either side
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Size of the saved engine in MiB
    #[arg(long, default_value_t = 1024)]
    engine_mib: u64,
    /// Size of the weights in MiB; all of it must stay in memory
    #[arg(long, default_value_t = 4096)]
    weights_mib: u64,
    /// How many engines are listed
    #[arg(long, default_value_t = 10_000)]
    entries: u64,
}

const B3SUM_VERSION: &str = "1.8.7";

/// The promised times, in seconds, of what no peer does.
const HEADER_PROMISE: f64 = 5e-3;
const LIST_PROMISE: f64 = 0.5;

/// `cargo xtask bench store`.
pub(crate) fn run(args: &Args) -> Result<Report> {
    let store_timing = release::example("tensoracle-store", "store_timing")?;
    let digest_timing = release::example("tensoracle-weights", "digest_timing")?;
    let b3sum = b3sum()?;
    let folder = workspace::target().join("bench/store");
    std::fs::create_dir_all(&folder)?;
    eprintln!("writing files to {}", workspace::shown(&folder));
    let engine = engine(&store_timing, &folder, args.engine_mib << 20)?;
    let weights = weights(&folder, args.weights_mib)?;
    let many = folder.join(format!("many-{}", args.entries));
    measure::run(
        Command::new(&store_timing)
            .arg("many")
            .arg(&many)
            .arg(args.entries.to_string()),
    )?;

    let rounds = usize::from(args.rounds);
    let whole = |program: &Path, words: &[&str], file: &Path| -> Contestant<'static> {
        let mut command = Command::new(program);
        command.args(words).arg(file);
        Box::new(move || Ok(measure::run(&mut command)?.sample))
    };
    let sha256 = |file: &Path| {
        let script = workspace::scripts().join("time_sha256.py");
        whole(
            Path::new(python::SYSTEM),
            &[&script.to_string_lossy()],
            file,
        )
    };
    let open = |verify: &str| -> Contestant<'static> {
        let mut command = Command::new(&store_timing);
        command.arg("open").arg(&engine).arg(verify);
        Box::new(move || Ok(measure::run(&mut command)?.sample))
    };
    let self_timed = |words: &[&str], file: &Path, last: &[&str]| -> Contestant<'static> {
        let mut command = Command::new(&store_timing);
        command.args(words).arg(file).args(last);
        Box::new(move || run_self_timed(&mut command))
    };
    let promise = |seconds| -> Contestant<'static> {
        Box::new(move || {
            Ok(Sample {
                seconds,
                peak_mib: None,
            })
        })
    };

    warm(&engine)?;
    eprintln!("measuring the engine, {rounds} rounds");
    let engines = in_turn(
        rounds,
        &mut [
            open("full"),
            whole(&b3sum, &[], &engine),
            sha256(&engine),
            self_timed(&["open"], &engine, &["header"]),
            promise(HEADER_PROMISE),
            self_timed(&["list"], &many, &[]),
            promise(LIST_PROMISE),
        ],
    )?;
    warm(&weights)?;
    eprintln!("measuring the weights, {rounds} rounds");
    let hashes = in_turn(
        rounds,
        &mut [
            whole(&digest_timing, &[], &weights),
            whole(&b3sum, &[], &weights),
            sha256(&weights),
        ],
    )?;

    let of_engine = format!("{} MiB engine", args.engine_mib);
    let full = format!("reopen a {of_engine}, fully verified");
    let header = format!("reopen a {of_engine}, header verified");
    let list = format!("list {} engines", args.entries);
    let digest = format!("hash {} MiB of weights", args.weights_mib);
    let b3sum_name = format!("b3sum {B3SUM_VERSION}");
    let hashlib = "read whole, hashlib SHA-256";
    let rows = vec![
        Row::new(&full, engines[0], &b3sum_name, engines[1], Some(1.4)),
        Row::new(&full, engines[0], hashlib, engines[2], None),
        Row::new(
            &header,
            engines[3],
            "the promised 5 ms",
            engines[4],
            Some(1.0),
        ),
        Row::new(&header, engines[3], hashlib, engines[2], None),
        Row::new(
            list,
            engines[5],
            "the promised 0.5 s",
            engines[6],
            Some(1.0),
        ),
        Row::new(&digest, hashes[0], &b3sum_name, hashes[1], Some(1.3)),
        Row::new(&digest, hashes[0], hashlib, hashes[2], Some(0.25)),
    ];
    let notes = vec![
        "hashing and full verification: whole processes, from start to end; header verification \
         and listing: the first call in a new process"
            .to_owned(),
        "all files are in the page cache; peaks count mapped pages".to_owned(),
    ];
    Ok(Report::new(rows, notes))
}

/// Installs the peer below the build folder, as its authors publish it.
fn b3sum() -> Result<PathBuf> {
    let root = workspace::target().join(format!("bench/b3sum-{B3SUM_VERSION}"));
    let program = root
        .join("bin")
        .join(format!("b3sum{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["install", "--locked", "--version", B3SUM_VERSION, "--root"])
            .arg(&root)
            .arg("b3sum")
            .stdout(Stdio::from(std::io::stderr()))
            .status()
            .context("cannot run cargo install")?;
        ensure!(status.success(), "installing b3sum failed ({status})");
    }
    Ok(program)
}

fn engine(program: &Path, folder: &Path, bytes: u64) -> Result<PathBuf> {
    let finished = measure::run(
        Command::new(program)
            .arg("engine")
            .arg(folder.join(format!("one-{bytes}")))
            .arg(bytes.to_string()),
    )?;
    let path = String::from_utf8(finished.stdout)?;
    Ok(PathBuf::from(path.trim_end()))
}

/// A safetensors file of tensors of 16 MiB each.
fn weights(folder: &Path, mib: u64) -> Result<PathBuf> {
    const TENSOR_MIB: u64 = 16;
    let path = folder.join(format!("weights-{mib}.safetensors"));
    let tensors = mib.div_ceil(TENSOR_MIB);
    let bytes = TENSOR_MIB << 20;
    let header: serde_json::Map<String, serde_json::Value> = (0..tensors)
        .map(|tensor| {
            let fields = serde_json::json!({
                "dtype": "F32",
                "shape": [bytes / 4096, 1024],
                "data_offsets": [tensor * bytes, (tensor + 1) * bytes],
            });
            (format!("layer{tensor}.weight"), fields)
        })
        .collect();
    let header = serde_json::to_vec(&header)?;
    let length = 8 + header.len() as u64 + tensors * bytes;
    if std::fs::metadata(&path).is_ok_and(|found| found.len() == length) {
        return Ok(path);
    }
    let unfinished = path.with_extension("tmp");
    let mut file = File::create(&unfinished)?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    let mut piece = vec![0_u8; bytes as usize];
    for tensor in 0..tensors {
        // Hashing takes as long whatever the bytes are; these only differ between tensors.
        for (number, value) in piece.chunks_exact_mut(8).zip(tensor..) {
            number.copy_from_slice(&value.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    std::fs::rename(&unfinished, &path)?;
    Ok(path)
}

/// Brings a file into the page cache.
fn warm(path: &Path) -> Result<()> {
    std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    Ok(())
}
