//! Text in, embeddings out: tokens, batches, padding.

use crate::{MAX_BATCH, MAX_TOKENS, WIDTH};
use std::path::{Path, PathBuf};
use tensoracle::{Engine, HostTensor, Session};
use tokenizers::Tokenizer;

/// Why sentences could not be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The tokenizer's file cannot be used.
    #[error("cannot use the tokenizer {}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: tokenizers::Error,
    },
    /// The tokenizer could not divide a sentence.
    #[error("cannot divide sentence {number} {sentence:?} into tokens")]
    Tokens {
        /// Which sentence, counted from 1.
        number: usize,
        /// How it begins.
        sentence: String,
        /// What is wrong.
        source: tokenizers::Error,
    },
    /// A sentence is longer than the model can take.
    #[error("sentence {number} {sentence:?} has {found} tokens, expected at most {MAX_TOKENS}")]
    TooLong {
        /// Which sentence, counted from 1.
        number: usize,
        /// How it begins.
        sentence: String,
        /// Its tokens.
        found: usize,
    },
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] tensoracle::Error),
}

impl EmbedError {
    /// What to do about it, where there is a usual remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::TooLong { .. } => {
                Some("divide it, and embed its parts or the mean of their embeddings".into())
            }
            Self::Engine(error) => error.hint(),
            _ => None,
        }
    }
}

/// Turns sentences into embeddings.
pub struct Embedder {
    tokenizer: Tokenizer,
    session: Session,
}

impl Embedder {
    /// Over the model's engine and its `tokenizer.json`.
    ///
    /// # Errors
    /// A file that is not a tokenizer, or an engine without room for another session.
    pub fn new(engine: &Engine, tokenizer: impl AsRef<Path>) -> Result<Self, EmbedError> {
        let path = tokenizer.as_ref();
        let fault = |source| EmbedError::Tokenizer {
            path: path.to_owned(),
            source,
        };
        let mut tokenizer = Tokenizer::from_file(path).map_err(fault)?;
        // The file asks for 128 tokens, cut or filled up. We take sentences as they are.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(fault)?;
        let session = engine.session()?;
        Ok(Self { tokenizer, session })
    }

    /// The embeddings of sentences: for each, 384 numbers whose squares sum to 1.
    ///
    /// Sentences run together in batches, each as long as its longest; what is filled up does not
    /// take part.
    ///
    /// # Errors
    /// A sentence of more than 512 tokens; nothing has run then.
    pub fn embed(&mut self, sentences: &[impl AsRef<str>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let tokens = self.all_tokens(sentences)?;
        let mut embeddings = Vec::with_capacity(tokens.len());
        for batch in tokens.chunks(MAX_BATCH as usize) {
            embeddings.extend(self.run(batch)?);
        }
        Ok(embeddings)
    }

    /// What the model's inputs are for sentences that run together, by name.
    ///
    /// # Errors
    /// A sentence of more than 512 tokens.
    pub fn inputs(&self, sentences: &[impl AsRef<str>]) -> Result<NamedInputs, EmbedError> {
        inputs(&self.all_tokens(sentences)?)
    }

    fn all_tokens(&self, sentences: &[impl AsRef<str>]) -> Result<Vec<Vec<u32>>, EmbedError> {
        sentences
            .iter()
            .enumerate()
            .map(|(index, sentence)| self.tokens(index + 1, sentence.as_ref()))
            .collect()
    }

    /// The tokens of a sentence, between the marks that the model wants at both ends.
    fn tokens(&self, number: usize, sentence: &str) -> Result<Vec<u32>, EmbedError> {
        let encoding = self.tokenizer.encode(sentence, true);
        let encoding = encoding.map_err(|source| EmbedError::Tokens {
            number,
            sentence: beginning(sentence),
            source,
        })?;
        let tokens = encoding.get_ids().to_vec();
        if tokens.len() as u64 > MAX_TOKENS {
            return Err(EmbedError::TooLong {
                number,
                sentence: beginning(sentence),
                found: tokens.len(),
            });
        }
        Ok(tokens)
    }

    fn run(&mut self, batch: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let inputs = inputs(batch)?;
        let outputs = self
            .session
            .run(&inputs.each_ref().map(|(name, tensor)| (*name, tensor)))?;
        let embeddings = outputs.get("embeddings")?.to_vec::<f32>()?;
        Ok(embeddings
            .chunks(WIDTH as usize)
            .map(<[f32]>::to_vec)
            .collect())
    }
}

/// The model's inputs by name.
pub type NamedInputs = [(&'static str, HostTensor); 2];

/// Rows of tokens, filled up to the longest, and which of them are tokens.
fn inputs(batch: &[Vec<u32>]) -> Result<NamedInputs, EmbedError> {
    let longest = batch.iter().map(Vec::len).max().unwrap_or(0);
    let filled = |of: fn(u32) -> i64| {
        let rows = batch.iter().map(|tokens| {
            let padding = std::iter::repeat_n(0, longest - tokens.len());
            tokens.iter().map(move |token| of(*token)).chain(padding)
        });
        let elements: Vec<i64> = rows.flatten().collect();
        HostTensor::new([batch.len() as u64, longest as u64], elements)
    };
    Ok([
        ("input_ids", filled(i64::from)?),
        ("attention_mask", filled(|_| 1)?),
    ])
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("Embedder");
        debug
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Enough of a sentence to recognise it by.
fn beginning(sentence: &str) -> String {
    const CHARACTERS: usize = 40;
    match sentence.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

/// How close two embeddings are: 1 for the same direction, 0 for unrelated ones. Embeddings have
/// length 1, so this is their scalar product.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}
