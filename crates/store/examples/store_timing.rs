//! What `cargo xtask bench store` measures: opening one saved engine, and listing many.
//!
//! Each measured call is the first of its process. Prints one JSON object with `median_s`.

#![expect(clippy::print_stdout, reason = "the result is what the program is for")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use tensoracle_progress::Silent;
use tensoracle_store::{
    BuildOptions, Conditions, Map, OpenOptions, Outcome, SavedEngine, Store, Value, Verify,
};

const USAGE: &str = "expected one of
    engine BASE BYTES   save one engine with a plan of so many bytes; print its path
    many BASE COUNT     save so many small engines
    open FILE full|header
    list BASE";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["engine", base, bytes] => save_one(Path::new(base), bytes.parse()?),
        ["many", base, count] => save_many(Path::new(base), count.parse()?),
        ["open", file, "full"] => open(Path::new(file), Verify::Full),
        ["open", file, "header"] => open(Path::new(file), Verify::Header),
        ["list", base] => list(Path::new(base)),
        _ => Err(USAGE.into()),
    }
}

fn report(start: Instant) {
    println!("{{\"median_s\": {}}}", start.elapsed().as_secs_f64());
}

fn open(file: &Path, verify: Verify) -> Result<(), Box<dyn Error>> {
    let options = OpenOptions {
        verify,
        ..OpenOptions::default()
    };
    let start = Instant::now();
    let engine = SavedEngine::open_file(file, options)?;
    report(start);
    drop(engine);
    Ok(())
}

/// Lists as `tensoracle cache list` does, its JSON included.
fn list(base: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let json = serde_json::to_vec(&Store::at(base).list()?)?;
    report(start);
    drop(json);
    Ok(())
}

fn save_one(base: &Path, bytes: usize) -> Result<(), Box<dyn Error>> {
    let store = Store::at(base);
    let conditions = conditions(0)?;
    if store.find(&conditions, OpenOptions::default())?.is_none() {
        let mut piece = vec![0; 1 << 20];
        let mut stream = blake3::Hasher::new().finalize_xof();
        save(&store, &conditions, |build| {
            let mut left = bytes;
            while left > 0 {
                let size = left.min(piece.len());
                stream.fill(&mut piece[..size]);
                build.write_all(&piece[..size])?;
                left -= size;
            }
            Ok(())
        })?;
    }
    println!("{}", store.engine_path(&conditions).display());
    Ok(())
}

/// Builds in small folders, because each build looks through its folder for what the dead left,
/// and moves the files into one.
fn save_many(base: &Path, count: i64) -> Result<(), Box<dyn Error>> {
    const IN_ONE: i64 = 250;
    let all = Store::at(base);
    std::fs::create_dir_all(all.folder())?;
    for first in (0..count).step_by(IN_ONE as usize) {
        let part = base.join("part");
        let store = Store::at(&part);
        for number in first..count.min(first + IN_ONE) {
            let conditions = conditions(number)?;
            let target = all.engine_path(&conditions);
            if !target.exists() {
                save(&store, &conditions, |build| build.write_all(&[7; 1000]))?;
                std::fs::rename(store.engine_path(&conditions), target)?;
            }
        }
        let _ = std::fs::remove_dir_all(part);
    }
    Ok(())
}

fn save(
    store: &Store,
    conditions: &Conditions,
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), Box<dyn Error>> {
    if let Outcome::Build(mut build) =
        store.begin_build(conditions, BuildOptions::default(), &Silent)?
    {
        write(&mut build)?;
        build.publish(Map::from([("workspace_limit".to_owned(), Value::Null)]))?;
    }
    Ok(())
}

/// As many and as long fields as an engine for a real graph of 200 layers has.
fn conditions(number: i64) -> Result<Conditions, Box<dyn Error>> {
    let mut conditions = Conditions::new(format!("model-{}", number % 100))?;
    conditions
        .set(
            &["graph", "digest"],
            blake3::hash(&number.to_le_bytes()).to_hex().as_str(),
        )
        .set(&["graph", "version"], number)
        .set(&["inputs", "ids", "min"], vec![1_i64, 1])
        .set(&["inputs", "ids", "opt"], vec![8_i64, 128])
        .set(&["inputs", "ids", "max"], vec![64_i64, 512])
        .set(&["settings", "optimization_level"], 3)
        .set(&["settings", "tf32"], false)
        .set(&["backend", "name"], "tensorrt")
        .set(&["backend", "version"], "11.4.0.106")
        .set(
            &["backend", "device", "name"],
            "NVIDIA RTX 6000 Ada Generation",
        )
        .set(&["backend", "device", "compute_capability"], "8.9")
        .set(&["backend", "device", "multiprocessors"], 142)
        .set(&["os"], "linux")
        .set(&["architecture"], "x86_64");
    let layers: Vec<String> = (0..200)
        .map(|layer| format!("layer{layer} = activation(RELU) -> Float[batch, tokens, 384]"))
        .collect();
    conditions.describe(&["graph", "layers"], layers);
    Ok(conditions)
}
