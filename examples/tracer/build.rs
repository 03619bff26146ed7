//! Compiles the kernels for devices.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::compile(&["kernels/tracer.rs"])?;
    Ok(())
}
