//! The macro that brings generated code into a program.

/// Includes the Rust that `oclave_build::compile` generated: `mod kernels {
/// oclave::include_kernels!(); }`.
///
/// A program that has a name of its own (`Config::out_name("filters")`) is included by it:
/// `oclave::include_kernels!("filters")`.
///
/// The build script tells cargo where each program is. A program that it no longer compiles is an
/// error, even where its files are still there.
#[macro_export]
macro_rules! include_kernels {
    () => {
        $crate::include_kernels!("oclave_kernels");
    };
    ($name:literal) => {
        include!(env!(
            concat!("OCLAVE_KERNELS_", $name),
            concat!(
                "the build script of this package compiles no kernels named \"",
                $name,
                "\": call `oclave_build::compile(&[\"kernels/….cl\"])` in build.rs for `include_kernels!()`, or \
                 `oclave_build::Config::new().out_name(\"",
                $name,
                "\").compile(…)` for `include_kernels!(\"",
                $name,
                "\")`"
            )
        ));
    };
}
