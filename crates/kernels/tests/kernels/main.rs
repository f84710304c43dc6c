//! Tests of the kernels against plain loops in `f64`, at every level that this processor has.

mod conv;
mod gemm;
mod map;
mod rows;
mod support;
mod threads;

use std::process::Command;
use tensoracle_kernels::{Level, cpu_level};

/// Runs all the other tests again at the levels below this machine's own.
#[test]
fn lower_levels_pass_too() {
    if std::env::var_os("TENSORACLE_CPU_LEVEL").is_some() {
        return;
    }
    for level in [Level::Portable, Level::Avx2] {
        if level >= cpu_level() {
            continue;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--skip", "lower_levels_pass_too"])
            .env("TENSORACLE_CPU_LEVEL", level.name())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "tests fail at level {level}:\n{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}

#[test]
fn the_environment_lowers_the_level() {
    if let Ok(name) = std::env::var("TENSORACLE_CPU_LEVEL") {
        assert_eq!(cpu_level().name(), name);
    }
}
