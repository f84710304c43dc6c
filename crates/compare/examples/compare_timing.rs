//! What `cargo xtask bench compare` measures: a comparison of two mapped `.npy` files, beside the
//! least that could be done with them, summing all their bytes as integers on two threads.
//!
//! `make FOLDER COUNT` writes the files; `compare CANDIDATE REFERENCE` and `sum CANDIDATE
//! REFERENCE` print the median time of several runs as JSON, each with new mappings; `compare`
//! also the highest amount of memory that was not mapped from files.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tensoracle_compare::{Element, TensorRef, Tolerance, compare_outputs};
use tensoracle_kernels::compare::{Vectorized, vectorized};
use tensoracle_tensorfile::{TensorData, TensorFile, write};

const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["make", folder, count] => make(Path::new(folder), count.parse()?),
        ["compare", candidate, reference] => {
            let peak = Peak::default();
            let seconds = peak.watch(|| median(|| compare(candidate, reference)))?;
            print(&format!(
                "{{\"median_s\": {seconds}, \"anonymous_mib\": {}}}",
                peak.mib()?
            ))
        }
        ["sum", candidate, reference] => {
            let seconds = median(|| sum(candidate, reference))?;
            print(&format!("{{\"median_s\": {seconds}}}"))
        }
        _ => Err("expected make FOLDER COUNT, or compare or sum with two files".into()),
    }
}

fn print(text: &str) -> Result<(), Box<dyn Error>> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn median(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

fn compare(candidate: &str, reference: &str) -> Result<(), Box<dyn Error>> {
    let (candidate, reference) = (open(candidate)?, open(reference)?);
    let candidate = candidate.tensor(candidate.entries()[0].name())?;
    let reference = reference.tensor(reference.entries()[0].name())?;
    let found = compare_outputs(
        TensorRef::new(candidate.element, candidate.dims, &candidate.bytes)?,
        TensorRef::new(reference.element, reference.dims, &reference.bytes)?,
        Some(Tolerance::new(1e-3, 1e-3)?),
    )?;
    std::hint::black_box(found);
    Ok(())
}

fn sum(candidate: &str, reference: &str) -> Result<(), Box<dyn Error>> {
    let files = [open(candidate)?, open(reference)?];
    let tensors: Vec<_> = files
        .iter()
        .map(|file| file.tensor(file.entries()[0].name()))
        .collect::<Result<_, _>>()?;
    // Equal shares of both files, so that neither thread waits for the other.
    let (front, back): (Vec<_>, Vec<_>) = tensors
        .iter()
        .map(|tensor| tensor.bytes.split_at(tensor.bytes.len() / 16 * 8))
        .unzip();
    let total = |halves: &[&[u8]]| {
        halves.iter().fold(0u64, |total, half| {
            total.wrapping_add(vectorized(Sum(half)))
        })
    };
    let sums = std::thread::scope(|scope| {
        let other = scope.spawn(|| total(&back));
        (total(&front), other.join())
    });
    std::hint::black_box((sums.0, sums.1.ok()));
    Ok(())
}

/// The sum of 64-bit words; what is left of the last one does not count.
struct Sum<'a>(&'a [u8]);

impl Vectorized for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let words = self.0.as_chunks::<8>().0;
        words
            .iter()
            .fold(0, |sum, &word| sum.wrapping_add(u64::from_le_bytes(word)))
    }
}

fn open(path: &str) -> Result<TensorFile, Box<dyn Error>> {
    Ok(TensorFile::open(Path::new(path))?)
}

/// The most memory that the process held without a file behind it.
#[derive(Default)]
struct Peak(std::sync::atomic::AtomicU64);

impl Peak {
    fn watch<T>(&self, run: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    self.0
                        .fetch_max(anonymous_kib().unwrap_or(0), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            let result = run();
            self.0
                .fetch_max(anonymous_kib().unwrap_or(0), Ordering::Relaxed);
            done.store(true, Ordering::Relaxed);
            result
        })
    }

    fn mib(&self) -> Result<f64, Box<dyn Error>> {
        match self.0.load(Ordering::Relaxed) {
            0 => Err("this system does not tell how much memory has no file behind it".into()),
            kib => Ok(kib as f64 / 1024.0),
        }
    }
}

fn anonymous_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Writes a reference of `count` numbers and two candidates beside it, in float32 with a relative
/// noise of 1e-4 and rounded to float16.
fn make(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    let mut reference = Vec::with_capacity(count * 4);
    let mut candidate = Vec::with_capacity(count * 4);
    let mut rounded = Vec::with_capacity(count * 2);
    for _ in 0..count {
        // The sum of three is about normal.
        let value = uniform() + uniform() + uniform();
        reference.extend(value.to_le_bytes());
        candidate.extend((value * (1.0 + 1e-4 * uniform())).to_le_bytes());
        rounded.extend(half::f16::from_f32(value).to_le_bytes());
    }
    let dims = [count as u64];
    for (name, element, bytes) in [
        ("reference", Element::F32, &reference),
        ("candidate", Element::F32, &candidate),
        ("rounded", Element::F16, &rounded),
    ] {
        let tensor = TensorData {
            name,
            element,
            dims: &dims,
            bytes,
        };
        write(&folder.join(format!("{name}.npy")), &[tensor])?;
    }
    Ok(())
}
