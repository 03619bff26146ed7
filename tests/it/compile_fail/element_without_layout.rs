//! Memory of elements that are not plain bytes.
use oclave::{Context, Result};

fn allocate(context: &Context) -> Result<()> {
    context.alloc_shared::<String>(4)?;
    Ok(())
}

fn main() {}
