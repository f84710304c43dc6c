//! `tensoracle compare`: two files of tensors, what differs between them, by how much, where.

mod inputs;
mod rules;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use tensoracle_compare::{
    CompareError, Drawing, OutputComparison, Report, ReportEntry, TensorRef, Verdict,
    compare_outputs_with, html,
};
use tensoracle_progress::{Progress, Unit};
use tensoracle_tensorfile::{Tensor, TensorFile, TensorFileError};

use crate::terminal::{Terminal, print, print_json};
use inputs::{Matched, Pair, RawFormat};
use rules::{FailOn, Limit, Rules};

/// Arguments of `tensoracle compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Both files may be .npy, .npz or .safetensors, told apart by their contents, or raw elements with \
--raw. Two files of one tensor each are compared whatever its name; otherwise tensors are matched \
by name, and names that only one file has are listed. Files are mapped: tensors may be larger than \
memory.

An element is within tolerance where |candidate - reference| <= atol + rtol * |reference|. Integers \
and booleans agree where they are equal, whatever the tolerances.

Verdicts: `equal`; `within` the tolerance; `outside` it; `different`, where no tolerance applies; \
`nonfinite`, where a NaN or infinity on one side has no equal on the other; `incomparable`, where \
shapes or kinds of number differ.

Exit status: 0 where nothing of --fail-on was found; 1 where something was; 2 for wrong usage and \
for files that cannot be read.")]
pub(crate) struct Arguments {
    /// The file to be judged
    candidate: PathBuf,
    /// The file it is held against
    reference: PathBuf,
    /// Largest absolute error that is tolerated. As PATTERN=NUMBER for some tensors only: * stands
    /// for any text, ? for any character, and the last that matches a tensor counts
    #[arg(long, value_name = "[PATTERN=]NUMBER", value_parser = rules::parse_limit)]
    atol: Vec<Limit>,
    /// Largest error relative to the reference's magnitude that is tolerated, in the same form. A
    /// tensor with only one of both has 0 for the other
    #[arg(long, value_name = "[PATTERN=]NUMBER", value_parser = rules::parse_limit)]
    rtol: Vec<Limit>,
    /// What makes the exit status 1. Unless given: unmatched, and for each tensor with a tolerance
    /// outside and nonfinite, for each without one different
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Print every measurement as JSON
    #[arg(long)]
    json: bool,
    /// Also write a page with all measurements and drawings
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Read files whose names end otherwise than in .npy, .npz or .safetensors as elements of TYPE
    /// (F32, BF16, I64, ...), shaped like the other file's only tensor unless said. Given twice:
    /// the candidate's, then the reference's
    #[arg(long, value_name = "TYPE[:DIMxDIM...]", value_parser = inputs::parse_raw)]
    raw: Vec<RawFormat>,
}

/// The exit status for a difference.
const DIFFERENT: u8 = 1;
/// The exit status where nothing could be said, that of wrong usage.
const TROUBLE: u8 = 2;

/// Runs the command. Errors have a status of their own, so that 1 always means a difference.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> ExitCode {
    match compare(arguments, terminal) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(DIFFERENT),
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(TROUBLE)
        }
    }
}

/// Whether the comparison passes.
fn compare(arguments: &Arguments, terminal: &Terminal) -> Result<bool> {
    let [candidate, reference] =
        inputs::open([&arguments.candidate, &arguments.reference], &arguments.raw)?;
    let rules = Rules::new(&arguments.atol, &arguments.rtol, &arguments.fail_on);
    let Matched {
        pairs,
        missing,
        extra,
    } = inputs::matched(&candidate, &reference);
    let files = Files {
        candidate: &candidate,
        reference: &reference,
        rules: &rules,
        draw: arguments.html.is_some(),
        progress: terminal,
    };
    let bytes = pairs.iter().map(|pair| pair.bytes).sum();
    terminal.begin("comparing", Some(bytes), Unit::Bytes);
    let tensors = pairs
        .iter()
        .map(|pair| files.compare(pair))
        .collect::<Result<_>>()?;
    terminal.finish();
    let report = Report {
        candidate: arguments.candidate.display().to_string(),
        reference: arguments.reference.display().to_string(),
        tensors,
        missing,
        extra,
    };
    if let Some(path) = &arguments.html {
        std::fs::write(path, html(&report, "Comparison of tensors"))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    if arguments.json {
        print_json(&report)?;
    } else {
        print(&table::text(&report))?;
    }
    Ok(rules.passes(&report))
}

/// Both files, and what is wanted of their tensors.
struct Files<'a> {
    candidate: &'a TensorFile,
    reference: &'a TensorFile,
    rules: &'a Rules<'a>,
    draw: bool,
    progress: &'a dyn Progress,
}

impl Files<'_> {
    fn compare(&self, pair: &Pair) -> Result<ReportEntry> {
        let tensors = self
            .candidate
            .tensor(&pair.candidate)
            .and_then(|candidate| Ok((candidate, self.reference.tensor(&pair.reference)?)));
        let mut entry = match tensors {
            Ok((candidate, reference)) => self.measure(&pair.reference, &candidate, &reference)?,
            // The rest of a set can still be compared.
            Err(error @ TensorFileError::UnsupportedElement { .. }) => {
                ReportEntry::incomparable(&pair.reference, error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        entry.failed = self.rules.fails(&entry);
        Ok(entry)
    }

    fn measure(
        &self,
        name: &str,
        candidate: &Tensor<'_>,
        reference: &Tensor<'_>,
    ) -> Result<ReportEntry> {
        let candidate = TensorRef::new(candidate.element, candidate.dims, &candidate.bytes)?;
        let reference = TensorRef::new(reference.element, reference.dims, &reference.bytes)?;
        let tolerance = self.rules.tolerance(name)?;
        match compare_outputs_with(candidate, reference, tolerance, self.progress) {
            Ok(comparison) => {
                let around = to_be_drawn(&comparison);
                let mut entry = ReportEntry::compared(name, comparison);
                if self.draw {
                    entry.drawing = Some(Drawing::of(candidate, reference, around)?);
                }
                Ok(entry)
            }
            // Nothing in them differs.
            Err(error @ CompareError::Empty { .. }) => Ok(ReportEntry {
                verdict: Verdict::Equal,
                ..ReportEntry::incomparable(name, error.to_string())
            }),
            Err(error @ (CompareError::Shapes { .. } | CompareError::Kinds { .. })) => {
                Ok(ReportEntry::incomparable(name, error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The index of the element whose slice is drawn: the worst, else the first that is wrong.
fn to_be_drawn(comparison: &OutputComparison) -> u64 {
    let worst = comparison
        .finite
        .as_ref()
        .and_then(|finite| finite.worst_absolute.as_ref());
    worst
        .or(comparison.first_offending.as_ref())
        .map_or(0, |at| at.index)
}
