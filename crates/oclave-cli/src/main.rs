//! The `oclave` command-line tool.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed; the reason is on standard error |
//! | 2 | the command line is wrong |

// `json!` of a device has many fields.
#![recursion_limit = "256"]

mod aot;
mod columns;
mod devices;
mod dump;
mod facts;
mod faults;
mod file;
mod package;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Lists OpenCL devices as oclave sees them, and shows what is in device images.
#[derive(Parser)]
#[command(name = "oclave", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints the devices, their capabilities, and what oclave does with them.
    ///
    /// The environment counts as it does for programs: OCLAVE_DEVICE, OCLAVE_MASK,
    /// OCLAVE_OPENCL_LIBRARY, OCL_ICD_VENDORS.
    Devices {
        /// Prints JSON, with all extensions and limits.
        #[arg(long)]
        json: bool,
    },
    /// Prints the faults of drivers that oclave works around.
    ///
    /// OCLAVE_FAULTS=-Q45,+Q16 removes and adds faults in every program that uses oclave; `none` and `all` replace them.
    Faults {
        /// Prints only the faults of this device, by its number in `oclave devices`.
        #[arg(long, value_name = "NUMBER")]
        device: Option<usize>,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
        /// Prints the page of the documentation.
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
    /// Makes images that need no linking, with binaries for a device of this machine, or for
    /// targets of a configuration file.
    Aot(aot::Aot),
    /// Prints a device image (.oclimg) or a SPIR-V module (.spv) as text.
    Dump {
        /// The file.
        #[arg(required_unless_present = "package", conflicts_with = "package")]
        image: Option<PathBuf>,
        #[command(flatten)]
        package: package::Package,
        /// Prints the module's instructions too.
        #[arg(long)]
        code: bool,
        /// Prints the PTX for a compute capability of NVIDIA's devices, too: `sm_70`, `sm_80`,
        /// `sm_90` ….
        #[arg(long, value_name = "CAPABILITY")]
        ptx: Option<oclave_ptx::PtxTarget>,
        /// Prints how each pass against faults of drivers changes the module. The faults are those of a device, by its number
        /// in `oclave devices`, or words as in OCLAVE_FAULTS: `all`, `Q45,Q16`.
        #[arg(long, value_name = "FAULTS")]
        passes: Option<String>,
    },
}

/// What ends a command early.
enum Failure {
    /// The reader of our output has seen enough: not an error.
    Closed,
    Message(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Message(format!("writing: {error}")),
        }
    }
}

impl From<oclave::Error> for Failure {
    fn from(error: oclave::Error) -> Self {
        Self::Message(format!("{error:#}"))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let result = match arguments.command {
        Command::Devices { json: false } => devices::print(&mut out),
        Command::Devices { json: true } => devices::print_json(&mut out),
        Command::Faults { device, json, markdown } => {
            let form = match (json, markdown) {
                (true, _) => faults::Form::Json,
                (_, true) => faults::Form::Markdown,
                _ => faults::Form::Table,
            };
            faults::print(&mut out, device, form)
        }
        Command::Aot(aot) => aot::run(&mut out, &aot),
        Command::Dump { image, package, code, ptx, passes } => {
            image.map_or_else(|| package.images(), |image| Ok(vec![image])).and_then(|images| {
                let faults = passes.as_deref().map(faults::named).transpose()?;
                dump::print_all(&mut out, &images, &dump::Parts { code, ptx, faults })
            })
        }
    };
    let result = result.and_then(|()| out.flush().map_err(Failure::from));
    match result {
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            // The output before the failure comes first. If flushing fails as well, nobody can be
            // told.
            let _ = out.flush();
            let _ = writeln!(io::stderr(), "oclave: {message}");
            ExitCode::FAILURE
        }
    }
}
