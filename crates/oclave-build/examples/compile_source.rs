//! Compiles one source of OpenCL C to device images, as `KernelBundle::from_source` does at run
//! time. `ci/sources` runs it on code from elsewhere.
//!
//! ```text
//! compile_source FILE OUT-DIR [CLANG-ARGUMENT…]
//! ```

use std::process::ExitCode;

use oclave_build::Config;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(file), Some(out)) = (words.next(), words.next()) else {
        eprintln!("usage: compile_source FILE OUT-DIR [CLANG-ARGUMENT…]");
        return ExitCode::from(2);
    };
    let mut config = Config::new();
    // Cargo's variables, where it runs this, are about another package.
    for variable in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "TARGET", "OUT_DIR", "NUM_JOBS"] {
        config.env(variable, "");
    }
    match config.out_dir(&out).extra_args(words).compile_images(&[file]) {
        Ok(made) => {
            made.warnings.iter().for_each(|warning| println!("warning: {warning}"));
            println!("{} images", made.images.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
