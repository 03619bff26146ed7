//! Compiles this repository's own kernels (tests, examples, benchmarks); downstream builds do nothing here.

/// Programs and the folders of their sources.
#[cfg(feature = "test-kernels")]
const PROGRAMS: [(&str, &str); 3] =
    [("tests", "kernels/tests"), ("filters", "kernels/examples/filters"), ("bench", "kernels/bench")];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "test-kernels")]
    for (name, folder) in PROGRAMS {
        println!("cargo::rerun-if-changed={folder}");
        oclave_build::Config::new().out_name(name).compile(&oclave_build::sources_in(folder)?)?;
    }
    Ok(())
}
