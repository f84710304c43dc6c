//! How the examples' `bench` commands time one iteration: warm up, repeat, take the median.
//!
//! The same figures as in the script that times the peers, so that both sides are measured alike.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use serde::Serialize;

const WARM_UP: Duration = Duration::from_millis(500);
const TIMED: Duration = Duration::from_millis(1500);
const LEAST_ITERATIONS: usize = 20;

/// What a bench command prints as one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Timing {
    /// The median time of one iteration in seconds.
    pub median_s: f64,
    /// How many iterations were timed.
    pub iterations: usize,
}

/// Times one iteration, repeated for about two seconds, the first half second of which does not
/// count.
///
/// # Errors
/// The first error of an iteration.
pub fn time<E>(mut iteration: impl FnMut() -> Result<(), E>) -> Result<Timing, E> {
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < LEAST_ITERATIONS || started.elapsed() < WARM_UP + TIMED {
        let before = Instant::now();
        iteration()?;
        let time = before.elapsed();
        if started.elapsed() >= WARM_UP {
            times.push(time.as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    let median_s = match times.len() % 2 {
        0 => f64::midpoint(times[middle - 1], times[middle]),
        _ => times[middle],
    };
    Ok(Timing {
        median_s,
        iterations: times.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_the_slow_start() {
        let mut calls = 0;
        let timing = time(|| {
            calls += 1;
            // The first call fills the warm-up.
            let pause = if calls == 1 { 600 } else { 30 };
            std::thread::sleep(Duration::from_millis(pause));
            Ok::<_, ()>(())
        })
        .unwrap();
        assert!((0.03..0.3).contains(&timing.median_s), "{timing:?}");
        assert!(timing.iterations >= LEAST_ITERATIONS && timing.iterations <= calls);
    }

    #[test]
    fn an_error_ends_it() {
        assert_eq!(time(|| Err("no")), Err("no"));
    }
}
