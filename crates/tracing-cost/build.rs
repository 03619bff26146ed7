//! Compiles the kernel.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::compile(&["kernels/bump.cl"])?;
    Ok(())
}
