//! Random kernels in OpenCL C and in Rust, and the results that a correct compiler gives.
//!
//! The kernels have nested loops with uniform and divergent bounds, `break`, `continue` and
//! `return`, switches, barriers with local memory, private arrays, vectors and functions. Their
//! result does not depend on the order of work-items, so an interpreter in Rust computes it. The
//! same seed gives the same kernel on every machine.
//!
//! ```
//! let kernel = random_kernels::generate::kernel("k7", 7);
//! let source = random_kernels::print::print(&kernel);
//! assert!(source.contains("kernel void k7("));
//! let input = random_kernels::input();
//! let words = random_kernels::evaluate::evaluate(&kernel, &input, [8, 1], 3, 2_000_000);
//! assert!(words.is_err() || words.is_ok_and(|words| words.len() == 3 * 8 * 2 + 3));
//! ```
//!
//! The program `random-kernels` writes kernels, launches and expected results to files, for a
//! runner that launches them on a device.
//!
//! | module | role |
//! |---|---|
//! | [`ast`] | kernels as trees |
//! | [`generate`] | the kernel of a seed |
//! | [`print`](mod@print) | OpenCL C |
//! | [`print_rust`] | Rust |
//! | [`translated`] | SPIR-V of kernels in Rust, by `llvm-spirv` |
//! | [`evaluate`] | the interpreter |

pub mod ast;
pub mod evaluate;
mod expressions;
pub mod generate;
mod lines;
pub mod print;
pub mod print_rust;
mod random;
pub mod translated;

/// The words that all kernels read.
#[must_use]
pub fn input() -> Vec<u32> {
    (0..u32::try_from(ast::INPUT_WORDS).unwrap_or(0)).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

/// Work-group sizes at which a kernel is interesting: one item, odd numbers, and the most that
/// kernels are made for.
#[must_use]
pub fn group_sizes(kernel: &ast::Kernel) -> &'static [[u32; 2]] {
    if kernel.plane {
        &[[1, 1], [2, 1], [1, 2], [2, 2], [4, 8], [8, 4], [16, 4], [1, 8]]
    } else {
        &[[1, 1], [2, 1], [3, 1], [8, 1], [32, 1], [64, 1]]
    }
}
