//! A parameter keeps its type.
use oclave::{DynamicParameter, Result};

fn update(alpha: &DynamicParameter<f32>) -> Result<()> {
    alpha.update(1_u32)
}

fn main() {}
