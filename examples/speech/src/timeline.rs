//! The probability of speech over time, as a picture of characters.

use std::fmt;

use console::style;
use tensoracle_example_speech::{CHUNK, SAMPLE_RATE, Segment};

/// Rows of the picture, of eight steps each.
const ROWS: usize = 4;
const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns left of the picture, with the scale.
const MARGIN: usize = 5;

/// Columns that two ticks of the time axis need between them.
const TICK_COLUMNS: f64 = 8.0;

/// Draws in the width that there is, with speech in colour where colours can be seen.
pub(crate) struct Timeline<'a> {
    probabilities: &'a [f32],
    segments: &'a [Segment],
    columns: usize,
}

impl<'a> Timeline<'a> {
    /// As wide as the terminal.
    pub(crate) fn new(probabilities: &'a [f32], segments: &'a [Segment]) -> Self {
        Self::with_width(
            probabilities,
            segments,
            tensoracle_example_terminal::width(),
        )
    }

    fn with_width(probabilities: &'a [f32], segments: &'a [Segment], width: usize) -> Self {
        // One column is left, since some terminals wrap a full line.
        let columns = width.saturating_sub(MARGIN + 1).min(probabilities.len());
        Self {
            probabilities,
            segments,
            columns: columns.max(1),
        }
    }

    /// The highest probability in a column.
    fn height(&self, column: usize) -> f32 {
        let first = |column: usize| column * self.probabilities.len() / self.columns;
        let within = &self.probabilities[first(column)..first(column + 1)];
        within.iter().copied().fold(0.0, f32::max)
    }

    fn seconds(&self) -> f64 {
        (self.probabilities.len() * CHUNK) as f64 / f64::from(SAMPLE_RATE)
    }

    fn column(&self, seconds: f64) -> f64 {
        seconds / self.seconds() * self.columns as f64
    }

    /// Whether a column overlaps detected speech.
    fn is_speech(&self, column: usize) -> bool {
        let (left, right) = (column as f64, column as f64 + 1.0);
        let overlaps = |segment: &Segment| {
            self.column(segment.start) < right && self.column(segment.end) > left
        };
        self.segments.iter().any(overlaps)
    }

    fn row(&self, row: usize, label: &str) -> String {
        let cell = |column: usize| {
            let steps = self.height(column).clamp(0.0, 1.0) * (ROWS * 8) as f32;
            let above = (steps.round() as usize).saturating_sub((ROWS - 1 - row) * 8);
            (STEPS[above.min(8)], self.is_speech(column))
        };
        format!("{label:>4} {}", coloured((0..self.columns).map(cell)))
    }

    /// Seconds between ticks: 1, 2 or 5 times a power of ten, and enough for the labels.
    fn tick(&self) -> f64 {
        let least = TICK_COLUMNS * self.seconds() / self.columns as f64;
        let decade = 10f64.powf(least.log10().floor());
        let steps = [1.0, 2.0, 5.0].map(|step| step * decade);
        let tick = steps.into_iter().find(|tick| *tick >= least);
        tick.unwrap_or(10.0 * decade)
    }

    /// The axis and the labels below it.
    fn axis(&self) -> (String, String) {
        let (mut line, mut labels) = (vec!['─'; self.columns], String::new());
        let tick = self.tick();
        for number in 0.. {
            let seconds = f64::from(number) * tick;
            let column = self.column(seconds) as usize;
            let label = format!("{} s", (seconds * 1e3).round() / 1e3);
            if column + label.len() > self.columns + 1 {
                break;
            }
            line[column.min(self.columns - 1)] = '┬';
            labels.push_str(&" ".repeat(column.saturating_sub(labels.len())));
            labels.push_str(&label);
        }
        (line.into_iter().collect(), labels)
    }
}

/// Runs of characters, green where they are speech.
fn coloured(cells: impl Iterator<Item = (char, bool)>) -> String {
    let mut text = String::new();
    let mut run = (String::new(), false);
    let mut flush = |(run, speech): (String, bool)| match speech {
        true => text.push_str(&style(run).green().to_string()),
        false => text.push_str(&run),
    };
    for (character, speech) in cells {
        if speech != run.1 {
            flush(std::mem::replace(&mut run, (String::new(), speech)));
        }
        run.0.push(character);
    }
    flush(run);
    text
}

impl fmt::Display for Timeline<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.probabilities.is_empty() {
            return formatter.write_str("(no sound)");
        }
        for row in 0..ROWS {
            let label = match row {
                0 => "100%",
                _ if row == ROWS - 1 => "0%",
                _ => "",
            };
            writeln!(formatter, "{}", self.row(row, label).trim_end())?;
        }
        let speech = (0..self.columns).map(|column| match self.is_speech(column) {
            true => ('━', true),
            false => (' ', false),
        });
        let (axis, labels) = self.axis();
        writeln!(formatter, "     {}", coloured(speech).trim_end())?;
        writeln!(formatter, "     {axis}")?;
        write!(formatter, "     {labels}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(probabilities: &[f32], segments: &[Segment], width: usize) -> String {
        console::set_colors_enabled(false);
        Timeline::with_width(probabilities, segments, width).to_string()
    }

    #[test]
    fn heights_marks_and_times_line_up() {
        // 40 chunks are 1.28 s, a column each; chunks 10 to 19 are speech, and half a second is
        // in chunk 15.
        let mut probabilities = vec![0.0; 40];
        probabilities[10..20].fill(1.0);
        probabilities[30] = 0.5;
        let speech = Segment {
            start: 0.32,
            end: 0.64,
        };
        let expected = "\
100%           ██████████
               ██████████
               ██████████          █
  0%           ██████████          █
               ━━━━━━━━━━
     ┬──────────────┬───────────────┬────────
     0 s            0.5 s           1 s";
        assert_eq!(drawn(&probabilities, &[speech], 80), expected);
    }

    #[test]
    fn a_narrow_terminal_keeps_the_highest_of_each_column() {
        let mut probabilities = vec![0.0; 100];
        probabilities[99] = 1.0;
        let text = drawn(&probabilities, &[], 16);
        assert!(text.lines().all(|line| line.chars().count() < 16), "{text}");
        assert!(text.starts_with("100%          █\n"), "{text}");
    }

    #[test]
    fn no_width_and_no_sound_are_drawn_all_the_same() {
        assert_eq!(drawn(&[], &[], 80), "(no sound)");
        assert!(drawn(&[0.5; 7], &[], 0).contains('─'));
        assert!(drawn(&[f32::NAN; 7], &[], 20).contains("0%"));
    }
}
