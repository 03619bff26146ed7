//! Compiles the kernels for devices.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    oclave_build::Config::new().out_name("rays").rust_package("rays").compile::<&str>(&[])?;
    // This one has a source in OpenCL C, and needs clang.
    oclave_build::Config::new().out_name("both").compile(&["kernels/both_c.cl", "kernels/both.rs"])?;
    oclave_build::Config::new().out_name("speed").compile(&["kernels/speed.rs", "kernels/speed_c.cl"])?;
    oclave_build::compile(&[
        "kernels/step.rs",
        "kernels/mix.rs",
        "kernels/widths.rs",
        "kernels/groups.rs",
        "kernels/objects.rs",
        "kernels/barriers.rs",
        "kernels/branches.rs",
        "kernels/vectors.rs",
        "kernels/pictures.rs",
        "kernels/bounds.rs",
        "kernels/slices.rs",
        "kernels/tables.rs",
    ])?;
    Ok(())
}
