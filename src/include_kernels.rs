//! The macro that brings generated code into a program.

/// Includes the Rust that `oclave_build::compile` generated: `mod kernels {
/// oclave::include_kernels!(); }`.
///
/// A program that has a name of its own (`Config::out_name("filters")`) is included by it:
/// `oclave::include_kernels!("filters")`.
#[macro_export]
macro_rules! include_kernels {
    () => {
        $crate::include_kernels!("oclave_kernels");
    };
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
