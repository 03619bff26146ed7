//! The names of the built-in functions that the host has; `host_builtins.h` and its like define
//! them.

use std::fmt::Write as _;

const NAMES: [&str; 144] = [
    "abs",
    "abs_diff",
    "acos",
    "acosh",
    "acospi",
    "add_sat",
    "all",
    "any",
    "asin",
    "asinh",
    "asinpi",
    "atan",
    "atan2",
    "atan2pi",
    "atanh",
    "atanpi",
    "bitselect",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cross",
    "ctz",
    "degrees",
    "distance",
    "dot",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fast_distance",
    "fast_length",
    "fast_normalize",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "fract",
    "frexp",
    "hadd",
    "half_cos",
    "half_divide",
    "half_exp",
    "half_exp10",
    "half_exp2",
    "half_log",
    "half_log10",
    "half_log2",
    "half_powr",
    "half_recip",
    "half_rsqrt",
    "half_sin",
    "half_sqrt",
    "half_tan",
    "hypot",
    "ilogb",
    "isequal",
    "isfinite",
    "isgreater",
    "isgreaterequal",
    "isinf",
    "isless",
    "islessequal",
    "islessgreater",
    "isnan",
    "isnormal",
    "isnotequal",
    "isordered",
    "isunordered",
    "ldexp",
    "length",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "mad",
    "mad24",
    "mad_hi",
    "mad_sat",
    "max",
    "maxmag",
    "min",
    "minmag",
    "mix",
    "modf",
    "mul24",
    "mul_hi",
    "nan",
    "native_cos",
    "native_divide",
    "native_exp",
    "native_exp10",
    "native_exp2",
    "native_log",
    "native_log10",
    "native_log2",
    "native_powr",
    "native_recip",
    "native_rsqrt",
    "native_sin",
    "native_sqrt",
    "native_tan",
    "nextafter",
    "normalize",
    "popcount",
    "pow",
    "pown",
    "powr",
    "radians",
    "remainder",
    "rhadd",
    "rint",
    "rootn",
    "rotate",
    "round",
    "rsqrt",
    "select",
    "sign",
    "signbit",
    "sin",
    "sincos",
    "sinh",
    "sinpi",
    "smoothstep",
    "sqrt",
    "step",
    "sub_sat",
    "tan",
    "tanh",
    "tanpi",
    "tgamma",
    "trunc",
    "upsample",
];
const LANES: [&str; 6] = ["", "2", "3", "4", "8", "16"];
const INTEGERS: [&str; 8] = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"];
const FLOATS: [&str; 3] = ["float", "double", "half"];

/// All of them.
pub(super) fn names() -> Vec<String> {
    let mut names: Vec<String> = NAMES.map(str::to_owned).into();
    for lanes in LANES {
        for ty in INTEGERS {
            names.extend([format!("convert_{ty}{lanes}"), format!("convert_{ty}{lanes}_sat")]);
        }
        names.extend(FLOATS.map(|ty| format!("convert_{ty}{lanes}")));
        if !lanes.is_empty() {
            names.extend([format!("vload{lanes}"), format!("vstore{lanes}")]);
        }
    }
    names
}

/// The beginning of a source for the host: declarations of all built-in functions.
///
/// Calling one outside of `if_device` is an error, except for those that the host has.
pub(super) fn prelude() -> String {
    let names = names();
    // What the compiler's headers leave to devices of this kind is declared, too: bodies of
    // if_device may use it. The base has types, constants and printf, which the C library has, too.
    let mut text = String::from("#define __SPIR__ 1\n#include <opencl-c-base.h>\n");
    for name in &names {
        // Writing to a string does not fail.
        let _ = writeln!(text, "#define {name} oclave_of_devices_{name}");
    }
    let _ = writeln!(
        text,
        "#pragma clang attribute push(__attribute__((error(\"{ONLY_DEVICES}\"))), apply_to = function)"
    );
    text.push_str("#include <opencl-c.h>\n#pragma clang attribute pop\n#undef __SPIR__\n");
    for name in &names {
        let _ = writeln!(text, "#undef {name}");
    }
    text.push_str("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
    for header in ["host_builtins", "host_math", "host_convert"] {
        let _ = writeln!(text, "#include <oclave/{header}.h>");
    }
    text.push_str("#pragma OPENCL EXTENSION cl_khr_fp16 : disable\n");
    text
}

/// What clang says after `call to 'f' declared with 'error' attribute: `.
const ONLY_DEVICES: &str = "the host does not have this built-in function; call it inside oclave::if_device";
