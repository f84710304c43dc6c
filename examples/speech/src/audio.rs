//! Recordings from files.
//!
//! What is left out: resampling and mixing. What the model was not trained on is refused by name.

use crate::SAMPLE_RATE;
use hound::{SampleFormat, WavReader};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AudioError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A damaged WAV file.
    #[error("{} is not a WAV file that can be read", path.display())]
    Wav {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: hound::Error,
    },
    /// A WAV file of another kind.
    #[error("{} has {found}, expected {expected}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: String,
        /// What the model can take.
        expected: String,
    },
    /// Raw samples that end within one.
    #[error("{} has {len} bytes, expected a multiple of 2 in a raw 16-bit file", path.display())]
    HalfSample {
        /// The file.
        path: PathBuf,
        /// Its length.
        len: usize,
    },
}

impl AudioError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        matches!(self, Self::Kind { .. }).then(|| {
            format!("convert it first, as with `ffmpeg -i FILE -ac 1 -ar {SAMPLE_RATE} OUT.wav`")
        })
    }
}

/// Reads a recording: a mono WAV file of 16 kHz, or else raw little-endian 16-bit samples of that
/// rate. Samples come out from −1 to 1.
///
/// # Errors
/// A file that cannot be read, is damaged, or has another rate or several channels.
pub fn read_audio(path: &Path) -> Result<Vec<f32>, AudioError> {
    let bytes = fs::read(path).map_err(|source| AudioError::Io {
        path: path.to_owned(),
        source,
    })?;
    if bytes.starts_with(b"RIFF") {
        return wav(path, &bytes);
    }
    let (samples, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(AudioError::HalfSample {
            path: path.to_owned(),
            len: bytes.len(),
        });
    }
    let full = -f32::from(i16::MIN);
    let samples = samples.iter().map(|sample| i16::from_le_bytes(*sample));
    Ok(samples.map(|sample| f32::from(sample) / full).collect())
}

fn wav(path: &Path, bytes: &[u8]) -> Result<Vec<f32>, AudioError> {
    let damaged = |source| AudioError::Wav {
        path: path.to_owned(),
        source,
    };
    let other = |found: String, expected: String| AudioError::Kind {
        path: path.to_owned(),
        found,
        expected,
    };
    let mut reader = WavReader::new(bytes).map_err(damaged)?;
    let spec = reader.spec();
    if spec.sample_rate != SAMPLE_RATE {
        let found = format!("{} samples a second", spec.sample_rate);
        return Err(other(found, SAMPLE_RATE.to_string()));
    }
    if spec.channels != 1 {
        return Err(other(format!("{} channels", spec.channels), "1".into()));
    }
    let samples: Result<Vec<f32>, _> = match spec.sample_format {
        SampleFormat::Float => reader.samples::<f32>().collect(),
        SampleFormat::Int => {
            let full = (1u64 << (spec.bits_per_sample - 1)) as f32;
            let samples = reader.samples::<i32>();
            samples.map(|sample| Ok(sample? as f32 / full)).collect()
        }
    };
    samples.map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hound::{WavSpec, WavWriter};

    const SPEC: WavSpec = WavSpec {
        channels: 1,
        sample_rate: SAMPLE_RATE,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };

    fn written(folder: &tempfile::TempDir, spec: WavSpec) -> PathBuf {
        let path = folder.path().join("sound.wav");
        let mut writer = WavWriter::create(&path, spec).unwrap();
        for sample in [0i16, 16384, -32768, 8192] {
            writer.write_sample(sample).unwrap();
        }
        writer.finalize().unwrap();
        path
    }

    #[test]
    fn wav_and_raw_files_come_to_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let raw = folder.path().join("sound.raw");
        fs::write(&raw, [0, 0, 0, 64, 0, 128, 0, 32]).unwrap();
        let expected = [0.0, 0.5, -1.0, 0.25];
        assert_eq!(read_audio(&raw).unwrap(), expected);
        assert_eq!(read_audio(&written(&folder, SPEC)).unwrap(), expected);
    }

    #[test]
    fn other_files_are_refused_with_what_they_have() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |spec| read_audio(&written(&folder, spec)).unwrap_err();
        let rate = refusal(WavSpec {
            sample_rate: 44_100,
            ..SPEC
        });
        assert!(
            rate.to_string()
                .contains("44100 samples a second, expected 16000"),
            "{rate}"
        );
        assert!(rate.hint().unwrap().contains("-ar 16000"));
        let stereo = refusal(WavSpec {
            channels: 2,
            ..SPEC
        });
        assert!(
            stereo.to_string().contains("2 channels, expected 1"),
            "{stereo}"
        );

        let path = folder.path().join("odd");
        fs::write(&path, b"odd").unwrap();
        let error = read_audio(&path).unwrap_err().to_string();
        assert!(
            error.contains("3 bytes, expected a multiple of 2"),
            "{error}"
        );
        fs::write(&path, b"RIFF, or is it?").unwrap();
        assert!(matches!(read_audio(&path), Err(AudioError::Wav { .. })));
        let missing = read_audio(Path::new("no such file"));
        assert!(matches!(missing, Err(AudioError::Io { .. })));
    }
}
