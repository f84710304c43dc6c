//! The model run over a recording, chunk after chunk, with its state carried along.
//!
//! What is left out: smoothing. Pauses and bursts of one chunk are told as they are.

use crate::{CHUNK, CONTEXT, HIDDEN, SAMPLE_RATE};
use serde::{Serialize, Serializer};
use tensoracle::{Engine, Error, HostTensor, Session};

/// Listens to one recording. What it has heard so far is its state.
#[derive(Debug)]
pub struct Detector {
    session: Session,
    context: Vec<f32>,
    h: HostTensor,
    c: HostTensor,
}

impl Detector {
    /// A detector that has heard nothing yet.
    ///
    /// # Errors
    /// When the engine has no room for another session.
    pub fn new(engine: &Engine) -> Result<Self, Error> {
        let zeros = HostTensor::new([1, HIDDEN as u64], vec![0f32; HIDDEN])?;
        Ok(Self {
            session: engine.session()?,
            context: vec![0.0; CONTEXT],
            h: zeros.clone(),
            c: zeros,
        })
    }

    /// The probability that somebody speaks in the next 32 ms. Samples are from −1 to 1; where
    /// there are fewer than a chunk's, silence follows.
    ///
    /// # Errors
    /// An engine of another model, or more samples than a chunk's.
    pub fn push(&mut self, samples: &[f32]) -> Result<f32, Error> {
        let mut window = std::mem::take(&mut self.context);
        window.extend_from_slice(samples);
        if samples.len() < CHUNK {
            window.resize(CONTEXT + CHUNK, 0.0);
        }
        self.context = window[window.len() - CONTEXT..].to_vec();
        let window = HostTensor::new([1, window.len() as u64], window)?;
        let inputs = [("samples", &window), ("h", &self.h), ("c", &self.c)];
        let outputs = self.session.run(&inputs)?;
        let probability = outputs.get("probability")?.to_vec::<f32>()?;
        for (name, tensor) in outputs.into_vec() {
            match name.as_str() {
                "next_h" => self.h = tensor,
                "next_c" => self.c = tensor,
                _ => {}
            }
        }
        Ok(probability.first().copied().unwrap_or(f32::NAN))
    }

    /// The probabilities of all chunks of a recording that follows what was heard so far.
    ///
    /// # Errors
    /// An engine of another model.
    pub fn push_all(&mut self, samples: &[f32]) -> Result<Vec<f32>, Error> {
        samples
            .chunks(CHUNK)
            .map(|chunk| self.push(chunk))
            .collect()
    }

    /// The state, hidden and cell, after what was heard so far.
    #[must_use]
    pub fn state(&self) -> (&HostTensor, &HostTensor) {
        (&self.h, &self.c)
    }
}

/// A stretch of speech, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// As a pair of numbers.
impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end).serialize(serializer)
    }
}

/// The stretches of chunks whose probability is above `threshold`.
#[must_use]
pub fn segments(probabilities: &[f32], threshold: f32) -> Vec<Segment> {
    let seconds = |chunk: usize| (chunk * CHUNK) as f64 / f64::from(SAMPLE_RATE);
    let mut segments: Vec<Segment> = Vec::new();
    let mut speaking = false;
    for (chunk, probability) in probabilities.iter().enumerate() {
        let was = std::mem::replace(&mut speaking, *probability > threshold);
        match segments.last_mut() {
            Some(segment) if speaking && was => segment.end = seconds(chunk + 1),
            _ if speaking => segments.push(Segment {
                start: seconds(chunk),
                end: seconds(chunk + 1),
            }),
            _ => {}
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_begin_and_end_between_chunks() {
        let found = segments(&[0.9, 0.1, 0.6, 0.5, 0.51, 0.8], 0.5);
        let expected = [(0.0, 0.032), (0.064, 0.096), (0.128, 0.192)];
        let found: Vec<_> = found.iter().map(|found| (found.start, found.end)).collect();
        assert_eq!(found, expected);
        assert_eq!(segments(&[], 0.5), []);
        assert_eq!(segments(&[f32::NAN, 0.2], 0.5), []);
    }

    #[test]
    fn a_segment_is_written_as_a_pair() {
        let segment = Segment {
            start: 1.024,
            end: 2.752,
        };
        assert_eq!(serde_json::to_string(&segment).unwrap(), "[1.024,2.752]");
    }
}
