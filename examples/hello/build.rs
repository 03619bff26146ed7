fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::compile(&["kernels/saxpy.rs"])?;
    Ok(())
}
