//! What `cargo xtask bench store` measures of weights: hashing every tensor of a file.

use std::error::Error;

use tensoracle_progress::Silent;
use tensoracle_weights::Weights;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("expected a safetensors file")?;
    let weights = Weights::open(path)?;
    weights.digest_all(weights.names(), &Silent)?;
    Ok(())
}
