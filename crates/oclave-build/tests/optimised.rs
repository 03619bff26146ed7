//! Sources as real programs have them stay optimised: nothing that clang writes at -O2 makes the
//! build fall back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, assert_has, toolchain_is_here};
use oclave_build::{Config, sources_in};

fn fixtures() -> Vec<PathBuf> {
    sources_in(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/optimised")).unwrap()
}

#[test]
fn real_sources_stay_optimised() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let sources = fixtures();
    assert!(sources.len() >= 40, "{} sources", sources.len());
    let mut cargo = Vec::new();
    let mut config = Config::new();
    config.out_dir(folder.path().join("out")).env("CARGO_MANIFEST_DIR", folder.path());
    let built = config.compile_to(&sources, &mut cargo);
    let cargo = String::from_utf8(cargo).unwrap();
    let warnings: Vec<&str> = cargo.lines().filter(|line| line.starts_with("cargo::warning=")).collect();
    built.unwrap();
    // Nothing says that a kernel has no launcher, or that optimisation is lost.
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
}

/// A sum over 64-bit numbers becomes a product of 65 bits, which is one of limbs.
#[test]
fn closed_forms_of_loops_stay() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "sum.cl",
        "kernel void total(global long *out, long n)\n{\n    long t = 0;\n    \
         for (long i = 0; i < n; i++)\n        t += i;\n    out[0] = t;\n}\n",
    );
    let built = folder.build(&mut Config::new(), &["sum.cl"]);
    built.result.as_ref().unwrap();
    assert!(built.warnings().is_empty(), "{:?}", built.warnings());
}

/// The optimiser makes a call for the magnitude of a number of 128 bits: that source alone is not
/// optimised, and says so.
#[test]
fn what_falls_back_does_so_alone_and_names_the_place() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("plain.cl", "kernel void plain(global int *out) { out[0] = 1; }");
    folder.write(
        "wide.cl",
        "kernel void first(global int *out) { out[0] = 1; }\n\nkernel void magnitude(global long *out, long n)\n{\n    \
         _BitInt(128) p = (_BitInt(128))n * out[0];\n    if (p < 0)\n        p = -p;\n    \
         out[0] = (long)(p >> 64);\n}\n",
    );
    let built = folder.build(&mut Config::new(), &["plain.cl", "wide.cl"]);
    built.result.as_ref().unwrap();
    let [warning] = built.warnings()[..] else { panic!("{:?}", built.warnings()) };
    let wanted = [
        "wide.cl:",
        ": `magnitude`: llvm-spirv refuses what clang writes at -O2 (`call` of an integer of 128 bits",
        "compiled at -O0 instead",
    ];
    assert_has(warning, &wanted);
    assert!(!warning.contains("plain"), "{warning}");
    let line: u32 = warning.split("wide.cl:").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    assert!((3..=9).contains(&line), "{warning}");
}

/// Translators from LLVM 18 on refuse the private variable that holds the literal.
#[test]
fn a_literal_that_initialises_a_member_builds_without_optimisation() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "ball.clcpp",
        "struct ball { float3 center = (float3)(1, 2, 3); };\n\
         kernel void y(global float *out) { ball b; out[0] = b.center.y; }\n",
    );
    let built = folder.build(Config::new().opt_level(0), &["ball.clcpp"]);
    built.result.as_ref().unwrap();
    match built.warnings()[..] {
        [] => {}
        [warning] => assert_has(warning, &["ball.clcpp: llvm-spirv refuses", "compiled at -O1 instead"]),
        ref warnings => panic!("{warnings:?}"),
    }
}

/// Devices divide by no number of 128 bits, at no level: the source, the cause and the remedy are named.
/// Products and shifts of such numbers build.
#[test]
fn quotients_of_128_bits_are_refused() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "fine.cl",
        "kernel void product(global ulong *out, ulong a, ulong b)\n{\n    \
         unsigned _BitInt(128) p = (unsigned _BitInt(128))a * b;\n    out[0] = (ulong)(p >> 64);\n}\n",
    );
    folder.write(
        "wide.cl",
        "kernel void quotient(global ulong *out, ulong a, ulong b)\n{\n    \
         unsigned _BitInt(128) p = (unsigned _BitInt(128))a << 64;\n    out[0] = (ulong)(p / b);\n}\n",
    );
    for level in [0, 2] {
        let built = folder.build(Config::new().opt_level(level), &["fine.cl", "wide.cl"]);
        let error = built.error(oclave_build::ErrorKind::Translate);
        assert_has(&error, &["wide.cl", "`udiv` of an integer of 128 bits", "write `UL` or `L`"]);
        assert!(!error.contains("fine.cl"), "-O{level}: {error}");
    }
}

/// The extension that the translator would need, with the call that allows it.
#[test]
fn a_missing_extension_is_named_with_the_remedy() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("fine.cl", "kernel void fine(global int *out) { out[0] = 1; }");
    folder.write(
        "stack.clcpp",
        "kernel void grow(global int *out, int n)\n{\n    int *p = (int *)__builtin_alloca(n * sizeof(int));\n    \
         for (int i = 0; i < n; i++)\n        p[i] = out[i];\n    out[0] = p[out[1]];\n}\n",
    );
    let built = folder.build(&mut Config::new(), &["fine.cl", "stack.clcpp"]);
    let error = built.error(oclave_build::ErrorKind::Translate);
    let remedy = "Config::translator_args([\"--spirv-ext=+SPV_INTEL_variable_length_array\"])";
    assert_has(&error, &["stack.clcpp:", "`grow`", remedy]);
    assert!(!error.contains("fine.cl"), "{error}");
}
