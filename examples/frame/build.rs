//! Compiles the kernels for devices.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::Config::new().out_name("guide").compile(&["../../kernels/guide/soften.cl"])?;
    Ok(())
}
