//! Similarities of all pairs of sentences as a table, in colours where there are any.

use std::fmt;

use console::{Alignment, Style, pad_str};
use tensoracle_example_sentences::cosine;

/// Columns of one similarity: `-0.12` and a space.
const CELL: usize = 6;

/// Columns between a sentence and its similarities.
const GAP: usize = 2;

/// Fewest columns for the sentences themselves.
const LEAST_TEXT: usize = 12;

/// The similarities of sentences.
pub(crate) struct Matrix<'a> {
    sentences: &'a [String],
    similarity: Vec<Vec<f64>>,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(sentences: &'a [String], embeddings: &[Vec<f32>]) -> Self {
        let row = |a: &Vec<f32>| embeddings.iter().map(|b| cosine(a, b)).collect();
        Self {
            sentences,
            similarity: embeddings.iter().map(row).collect(),
        }
    }

    /// The cosine of each pair.
    pub(crate) fn similarity(&self) -> &[Vec<f64>] {
        &self.similarity
    }

    fn drawn(&self, width: usize) -> String {
        let digits = self.sentences.len().to_string().len();
        let cells = CELL * self.sentences.len();
        let room = width
            .saturating_sub(digits + 2 + GAP + cells)
            .max(LEAST_TEXT);
        let widths = self
            .sentences
            .iter()
            .map(|text| console::measure_text_width(text));
        let room = widths.max().unwrap_or(0).min(room);

        let numbers = 1..=self.sentences.len();
        let heads: String = numbers.map(|number| format!("{number:>4}  ")).collect();
        let mut lines = vec![format!("{}{heads}", " ".repeat(digits + 2 + room + GAP))];
        for (index, (sentence, row)) in self.sentences.iter().zip(&self.similarity).enumerate() {
            let text = pad_str(sentence, room, Alignment::Left, Some("…"));
            let cells: String = row.iter().map(|value| cell(*value)).collect();
            lines.push(format!("{:>digits$}  {text}{:GAP$}{cells}", index + 1, ""));
        }
        let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n")
    }
}

/// From cold to hot: 256-colour numbers for similarities up to 0.1, 0.2, 0.35, 0.5, 0.7 and beyond.
const HEAT: [(f64, u8); 5] = [(0.1, 17), (0.2, 19), (0.35, 54), (0.5, 125), (0.7, 166)];
const HOTTEST: u8 = 196;

fn cell(value: f64) -> String {
    let heat = HEAT.iter().find(|(most, _)| value <= *most);
    let colour = heat.map_or(HOTTEST, |(_, colour)| *colour);
    let style = Style::new().color256(231).on_color256(colour);
    // No minus sign before what is rounded to zero.
    let rounded = (value * 100.0).round() / 100.0 + 0.0;
    style.apply_to(format!("{rounded:>5.2} ")).to_string()
}

impl fmt::Display for Matrix<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.drawn(tensoracle_example_terminal::width()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_numbered_and_long_sentences_cut() {
        console::set_colors_enabled(false);
        let sentences = ["Short.".to_owned(), "A sentence that is long.".to_owned()];
        let matrix = Matrix::new(&sentences, &[vec![1.0, 0.0], vec![-0.6, 0.8]]);
        assert_eq!(matrix.similarity()[0][1], f64::from(-0.6f32));
        assert_eq!(
            matrix.drawn(80),
            "                                1     2\n\
             1  Short.                     1.00 -0.60\n\
             2  A sentence that is long.  -0.60  1.00"
        );
        assert!(
            matrix.drawn(10).contains("2  A sentence …"),
            "{}",
            matrix.drawn(10)
        );
    }
}
