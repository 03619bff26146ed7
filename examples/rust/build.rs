//! Compiles the kernels for devices.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::compile(&["kernels/step.rs", "kernels/mix.rs", "kernels/widths.rs", "kernels/groups.rs"])?;
    Ok(())
}
