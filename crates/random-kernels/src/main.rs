//! Writes random kernels, their device images, their launches and the expected results to files.
//!
//! ```text
//! random-kernels [--rust | --translated] [--once] SEED FIRST COUNT FOLDER
//! ```
//! | file | contents |
//! |---|---|
//! | `kernels.cl` | the kernels FIRST to FIRST + COUNT - 1 of the seed, as OpenCL C |
//! | `kernels0.rs`, … | with `--rust` the same in Rust, 50 in each file |
//! | `random_kernels.*.oclimg` | their device images |
//! | `kernels0.spv`, … | in place of images with `--translated`: kernels in Rust, by `llvm-spirv` |
//! | `input.bin` | the words that all of them read, little-endian |
//! | `launches.txt` | a line per launch: kernel, global size x, y, group size x, y, number of output words, two arguments |
//! | `expected.bin` | the output words of all launches, one after the other, little-endian |
//!
//! Each kernel has the parameters `global uint *out, global const uint *in, int a, int b`; in Rust, the output is
//! passed twice, and both with their lengths. The
//! output starts as zeros. Launches that take the interpreter too many steps are left out.
//! With `--once` each kernel has one launch: the next work-group size of its list for each next kernel.
//! `ci/random-kernels` runs the rest on a device.
//!
//! `--translated` takes `llvm-link` and `llvm-spirv` from `OCLAVE_LLVM_LINK` and `OCLAVE_LLVM_SPIRV`. Their LLVM is that of rustc, or newer.

use std::error::Error;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use random_kernels::evaluate::evaluate;
use random_kernels::{generate, group_sizes, input, print, print_rust, translated};

/// Steps of the interpreter after which a launch is left out.
const STEPS: u64 = 2_000_000;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let has = |arguments: &[String], option| arguments.first().is_some_and(|argument| argument == option);
    let translated = has(&arguments, "--translated");
    let rust = translated || has(&arguments, "--rust");
    arguments.drain(..usize::from(rust));
    let once = has(&arguments, "--once");
    let [seed, first, count, folder] = arguments.get(usize::from(once)..).unwrap_or_default() else {
        eprintln!("usage: random-kernels [--rust | --translated] [--once] SEED FIRST COUNT FOLDER");
        return ExitCode::from(2);
    };
    let (Ok(seed), Ok(first), Ok(count)) = (seed.parse(), first.parse::<u64>(), count.parse()) else {
        eprintln!("error: SEED, FIRST and COUNT are whole numbers");
        return ExitCode::from(2);
    };
    let numbers = first..first.saturating_add(count);
    match write(seed, numbers, Choices { rust, translated, once }, Path::new(folder)) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy)]
struct Choices {
    rust: bool,
    translated: bool,
    once: bool,
}

/// Kernels of one source in Rust: rustc compiles each source by one call.
const PER_SOURCE: usize = 50;

fn write(
    seed: u64,
    numbers: Range<u64>,
    Choices { rust, translated, once }: Choices,
    folder: &Path,
) -> Result<String, Box<dyn Error>> {
    let input = input();
    let (mut kernels, mut launches, mut expected) = (Vec::new(), String::new(), Vec::new());
    let (mut launched, mut left_out) = (0, 0);
    let count = numbers.end - numbers.start;
    for number in numbers {
        let kernel =
            generate::kernel(&format!("k{number}"), seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut used = false;
        let sizes = group_sizes(&kernel);
        let turn = usize::try_from(number)? % sizes.len();
        // Where the first one takes too long, the next one is tried.
        for &[x, y] in sizes.iter().cycle().skip(if once { turn } else { 0 }).take(sizes.len()) {
            if once && used {
                break;
            }
            let groups = if x * y < 8 { 5 } else { 3 };
            let Ok(words) = evaluate(&kernel, &input, [x, y], groups, STEPS) else {
                left_out += 1;
                continue;
            };
            let [a, b] = kernel.params;
            let _ = writeln!(launches, "{} {} {y} {x} {y} {} {a} {b}", kernel.name, x * groups, words.len());
            expected.extend(words);
            launched += 1;
            used = true;
        }
        if used {
            kernels.push(kernel);
        }
    }
    fs::create_dir_all(folder)?;
    let mut paths = Vec::new();
    if rust {
        for (number, kernels) in kernels.chunks(PER_SOURCE).enumerate() {
            let texts = kernels.iter().map(|kernel| print_rust::print(kernel) + "\n");
            paths.push(folder.join(format!("kernels{number}.rs")));
            fs::write(&paths[number], format!("{}\n{}", print_rust::HEAD, texts.collect::<String>()))?;
        }
    } else {
        let texts = kernels.iter().map(|kernel| print::print(kernel) + "\n");
        paths.push(folder.join("kernels.cl"));
        fs::write(&paths[0], texts.collect::<String>())?;
    }
    let mut config = oclave_build::Config::new();
    config.out_name("random_kernels").out_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    config.compile_to(&paths, &mut std::io::stderr().lock())?;
    if translated {
        translate(folder, &paths)?;
    }
    fs::write(folder.join("launches.txt"), launches)?;
    fs::write(folder.join("input.bin"), little_endian(&input))?;
    fs::write(folder.join("expected.bin"), little_endian(&expected))?;
    Ok(format!("{count} kernels, {launched} launches; {left_out} launches take too long and are left out"))
}

/// Puts modules of `llvm-spirv` in the place of the images.
fn translate(folder: &Path, sources: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let tool = |variable: &str| env::var(variable).map_err(|error| format!("{variable}: {error}"));
    let (link, spirv) = (tool("OCLAVE_LLVM_LINK")?, tool("OCLAVE_LLVM_SPIRV")?);
    for source in sources {
        let name = source.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let ir = folder.join(format!("random_kernels.work/{name}.rust/{name}.ll"));
        translated::translate(&ir, &folder.join(format!("{name}.spv")), &link, &spirv)?;
        fs::remove_file(folder.join(format!("random_kernels.{name}.oclimg")))?;
    }
    Ok(())
}

fn little_endian(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
