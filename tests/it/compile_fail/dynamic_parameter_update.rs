//! A parameter keeps its type.
use oclave::Result;
use oclave::graph::DynamicParameter;

fn update(alpha: &DynamicParameter<f32>) -> Result<()> {
    alpha.update(1_u32)
}

fn main() {}
