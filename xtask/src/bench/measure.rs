//! Measuring fairly: contestants take turns, so that a slow minute of the machine hits all of
//! them, and the median of the turns counts.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use wait4::Wait4;

/// One measured time, with peak memory where that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Time in seconds.
    pub(crate) seconds: f64,
    /// Peak resident memory in MiB.
    pub(crate) peak_mib: Option<f64>,
}

/// Something that can be measured again and again.
pub(crate) type Contestant<'a> = Box<dyn FnMut() -> Result<Sample> + 'a>;

/// Measures the contestants in turn, `rounds` times (A B A B ...), and returns for each the median
/// time and the highest peak, in their order.
pub(crate) fn in_turn(rounds: usize, contestants: &mut [Contestant<'_>]) -> Result<Vec<Sample>> {
    ensure!(rounds > 0, "a benchmark needs at least one round");
    let mut samples = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            samples.push(contestant()?);
        }
    }
    Ok(samples
        .iter()
        .map(|samples| Sample {
            seconds: median(samples.iter().map(|sample| sample.seconds)),
            peak_mib: samples
                .iter()
                .filter_map(|sample| sample.peak_mib)
                .reduce(f64::max),
        })
        .collect())
}

/// The median; the mean of the middle two of an even number. NaN of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// A finished child process.
#[derive(Debug)]
pub(crate) struct Finished {
    /// From start to end, and the peak the system saw: resident pages, those of mapped files
    /// included.
    pub(crate) sample: Sample,
    /// What it wrote on its standard output.
    pub(crate) stdout: Vec<u8>,
}

/// Runs a program to its end; one that fails is an error. Its standard error stays visible.
pub(crate) fn run(command: &mut Command) -> Result<Finished> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    let mut stdout = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        std::io::Read::read_to_end(&mut pipe, &mut stdout)?;
    }
    let ended = child
        .wait4()
        .with_context(|| format!("cannot wait for {program}"))?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(
        ended.status.success(),
        "{program} failed ({})",
        ended.status
    );
    let peak_mib = Some(ended.rusage.maxrss as f64 / f64::from(1 << 20));
    Ok(Finished {
        sample: Sample { seconds, peak_mib },
        stdout,
    })
}

/// Runs a program that measures itself and prints one JSON object with at least `median_s`, the
/// median time of one iteration in seconds. Its peak memory is the whole process's.
pub(crate) fn run_self_timed(command: &mut Command) -> Result<Sample> {
    #[derive(Deserialize)]
    struct Timed {
        median_s: f64,
    }
    let finished = run(command)?;
    let timed: Timed = serde_json::from_slice(&finished.stdout).with_context(|| {
        format!(
            "{} printed no JSON object with median_s, but: {}",
            command.get_program().to_string_lossy(),
            String::from_utf8_lossy(&finished.stdout)
        )
    })?;
    Ok(Sample {
        seconds: timed.median_s,
        ..finished.sample
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn contestants_take_turns_and_the_median_counts() {
        let order = RefCell::new(String::new());
        let mut times = [9.0, 1.0, 2.0].into_iter();
        let a: Contestant<'_> = Box::new(|| {
            order.borrow_mut().push('a');
            Ok(Sample {
                seconds: times.next().unwrap(),
                peak_mib: None,
            })
        });
        let mut peaks = [5.0, 7.0, 6.0].into_iter();
        let b: Contestant<'_> = Box::new(|| {
            order.borrow_mut().push('b');
            Ok(Sample {
                seconds: 1.0,
                peak_mib: peaks.next(),
            })
        });
        let samples = in_turn(3, &mut [a, b]).unwrap();
        assert_eq!(
            samples[0],
            Sample {
                seconds: 2.0,
                peak_mib: None
            }
        );
        assert_eq!(
            samples[1],
            Sample {
                seconds: 1.0,
                peak_mib: Some(7.0)
            }
        );
        assert_eq!(*order.borrow(), "ababab");
        assert!(in_turn(0, &mut []).is_err());
    }

    fn python(program: &str) -> Command {
        let mut command = Command::new(crate::python::SYSTEM);
        command.args(["-c", program]);
        command
    }

    #[test]
    fn a_childs_time_and_peak_are_its_own() {
        let small = run(&mut python("print('small')")).unwrap();
        assert_eq!(small.stdout, b"small\n");
        let large = run(&mut python(
            "x = b'x' * (200 << 20); import time; time.sleep(0.2)",
        ));
        let large = large.unwrap().sample;
        assert!(large.seconds >= 0.2);
        let grown = large.peak_mib.unwrap() - small.sample.peak_mib.unwrap();
        assert!(
            (195.0..250.0).contains(&grown),
            "200 MiB were allocated, {grown} MiB seen"
        );
    }

    #[test]
    fn a_failing_or_silent_program_is_an_error() {
        assert!(
            run(&mut python("raise SystemExit(3)"))
                .unwrap_err()
                .to_string()
                .contains("3")
        );
        let sample = run_self_timed(&mut python("print('{\"median_s\": 0.25, \"runs\": 9}')"));
        assert_eq!(sample.unwrap().seconds, 0.25);
        let error = run_self_timed(&mut python("print('hello')"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("median_s") && error.contains("hello"),
            "{error}"
        );
    }
}
