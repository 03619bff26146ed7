//! Sources as real programs have them stay optimised: nothing that clang writes at -O2 makes the
//! build fall back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::{Folder, assert_has, toolchain_is_here};
use oclave_build::{Config, sources_in};
use oclave_image::DeviceImage;
use oclave_spirv::{Decoration, Module, Op};

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

/// llvm-spirv writes a merge instruction before a switch that a loop begins with, where SPIR-V has none.
#[test]
fn loops_that_begin_with_a_switch_build_at_each_level() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("flags.cl", include_str!("../../../kernels/classics/barrier_flags.cl"));
    for level in 0..4 {
        folder.build(Config::new().opt_level(level), &["flags.cl"]).result.unwrap();
    }
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

/// LLVM's `reassociate` drops that from sums that it orders. Drivers' vectorisers need it.
#[test]
fn indices_do_not_wrap() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let source = folder.write(
        "tile.cl",
        "kernel void tile(global float *out, global const float *in, int width, int n)\n{\n    \
         int x = get_global_id(0), y = get_global_id(1);\n    float sum = 0;\n    \
         for (int k = 0; k < n; k++)\n        sum += in[(y * 16 + k) * width + k * 16 + x];\n    \
         out[y * width + x] = sum;\n}\n",
    );
    let mut config = Config::new();
    let made = config.out_dir(folder.path().join("out")).compile_images(&[source]).unwrap();
    let module = Module::from_words(DeviceImage::from_bytes(&made.images[0]).unwrap().spirv).unwrap();
    let without_wrap: BTreeSet<u32> = module
        .instructions()
        .filter(|i| i.is(Op::Decorate) && i.operand(1) == Some(Decoration::NoSignedWrap as u32))
        .filter_map(|i| i.operand(0))
        .collect();
    let sums: Vec<u32> =
        module.instructions().filter(|i| i.is(Op::IAdd)).filter_map(|i| i.result_id()).collect();
    assert!(
        !sums.is_empty() && sums.iter().all(|sum| without_wrap.contains(sum)),
        "{sums:?} {without_wrap:?}"
    );
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

/// The modules of a program that is compiled from one source at -O2.
fn modules(source: &str) -> Vec<Module> {
    let folder = Folder::new();
    let path = folder.write("source.cl", source);
    let mut config = Config::new();
    config.out_dir(folder.path().join("out")).env("CARGO_MANIFEST_DIR", folder.path());
    let images = config.compile_images(&[path]).unwrap().images;
    let module = |bytes: &Vec<u8>| Module::from_words(DeviceImage::from_bytes(bytes).unwrap().spirv).unwrap();
    images.iter().map(module).collect()
}

/// LLVM 15 sank the barrier before a loop and the one at its end into one, and those of several
/// branches.
#[test]
fn barriers_are_neither_merged_nor_copied() {
    if !toolchain_is_here() {
        return;
    }
    let modules = modules(
        "#define WAIT barrier(CLK_LOCAL_MEM_FENCE)
        kernel void before_and_at_end(global int *out, local int *t)
        {
            uint l = get_local_id(0);
            t[l] = l + 1;
            WAIT;
            for (uint s = 1; s < get_local_size(0); s *= 2) {
                if (l + s < get_local_size(0) && l % (2 * s) == 0)
                    t[l] += t[l + s];
                WAIT;
            }
            out[l] = t[0];
        }
        kernel void ends_of_arms(global int *out, int n)
        {
            int l = get_local_id(0);
            if (n > 3) { out[l] = 3; WAIT; } else { out[l + 1] = 5; WAIT; }
            out[l + 2] += 7;
        }
        kernel void starts_of_arms(global int *out, int n)
        {
            int l = get_local_id(0);
            if (n > 3) { WAIT; out[l + 1] = 4; } else { WAIT; out[l] = 5; }
        }
        kernel void cases(global int *out, int n)
        {
            int l = get_local_id(0);
            switch (n) {
            case 1: out[l] = 4; WAIT; break;
            case 2: out[l] = 7; WAIT; break;
            case 3: out[l + 1] = 5; WAIT; break;
            }
            out[l] += 3;
        }
        kernel void continued(global int *out, local int *t, int n)
        {
            int l = get_local_id(0);
            for (int i = 0; i < n; i++) {
                if (i & 1) { t[l] = i; WAIT; continue; }
                out[l] += t[l + 1];
                WAIT;
            }
        }
        kernel void conditional_in_loop(global int *out, local int *t, int n, int m)
        {
            int l = get_local_id(0);
            for (int i = 0; i < n; i++) {
                t[l] = out[l] + i;
                if (m > 2) WAIT;
                out[l] = t[l + 1];
            }
        }",
    );
    let instructions = modules.iter().flat_map(Module::instructions);
    let barriers = instructions.filter(|i| i.is(Op::ControlBarrier)).count();
    assert_eq!(barriers, 12, "as many as the source has");
}

/// Drivers read the names of helper functions that llvm-spirv writes as intrinsic functions of LLVM.
#[test]
fn nothing_is_named_like_an_intrinsic_function() {
    if !toolchain_is_here() {
        return;
    }
    let modules = modules(
        "kernel void rotated(global uint *x, uint n) { size_t i = get_global_id(0); uint v = x[i]; x[i] = v << 7 | v >> 25; x[i + 9] = v << (n & 31) | v >> (-n & 31); }
        kernel void swapped(global ushort *x) { size_t i = get_global_id(0); ushort v = x[i]; x[i] = (ushort)((v & 0xff) << 8 | v >> 8); }
        kernel void product(global uint *x) { uint r; x[0] = __builtin_mul_overflow(x[1], x[2], &r) ? 0 : r; }
        kernel void long_product(global long *x) { long r; x[0] = __builtin_mul_overflow(x[1], x[2], &r) ? 0 : r; }
        kernel void cleared(global uchar *x, uint n) { for (uint i = 0; i < n; i++) x[i] = 0; }
        kernel void filled(local uchar *x, uchar v, uint n) { for (uint i = 0; i < n; i++) x[i] = v; }
        kernel void moved(global int *x, uint n) { for (uint i = 0; i < n; i++) x[i] = x[i + 1]; }
        kernel void reversed(global uint *x) { x[0] = __builtin_bitreverse32(x[1]); }
        kernel void ordered(global int *x) { x[0] = (x[1] > x[2]) - (x[1] < x[2]); }",
    );
    let names: Vec<String> = modules.iter().flat_map(Module::names).map(|(_, name)| name).collect();
    assert!(names.iter().any(|name| name == "x"), "{names:?}");
    let like: Vec<&String> =
        names.iter().filter(|name| name.starts_with("spirv.") || name.starts_with("llvm.")).collect();
    assert!(like.is_empty(), "{like:?}");
}
