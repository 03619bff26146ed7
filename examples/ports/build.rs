//! Compiles the kernels for devices.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::Config::new().out_name("ports").compile(&oclave_build::sources_in("kernels")?)?;
    Ok(())
}
