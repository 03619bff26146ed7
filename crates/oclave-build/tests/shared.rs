//! Functions for kernels and the Rust program: the generated code, and the side that an error
//! names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Built, Folder, assert_has, toolchain_is_here};
use oclave_build::{Config, ErrorKind};
use oclave_image::{DeviceImage, Side};

const HEAD: &str = "#include <oclave/if_device.hpp>\n#include <oclave/oclave.h>\n";

fn build(folder: &Folder, text: &str, config: &mut Config) -> Built {
    folder.write("k.clcpp", &format!("{HEAD}{text}"));
    folder.build(config, &["k.clcpp"])
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    if !toolchain_is_here() {
        return;
    }
    let built = build(&Folder::new(), text, &mut Config::new());
    assert_has(&built.error(ErrorKind::Compile), parts);
    // -O0 sees it, too.
    let built = build(&Folder::new(), text, Config::new().opt_level(0));
    assert_has(&built.error(ErrorKind::Compile), parts);
}

#[test]
fn the_host_has_no_work_items_outside_of_if_device() {
    refused(
        "SHARED int place(int x)\n{\n    return x + get_global_id(0);\n}\n",
        &[
            "k.clcpp does not compile for the host",
            "k.clcpp:5:16: error: ",
            "get_global_id",
            "inside oclave::if_device",
        ],
    );
}

#[test]
fn what_a_shared_function_calls_is_looked_at_too() {
    refused(
        "int helper(int x)\n{\n    barrier(CLK_LOCAL_MEM_FENCE);\n    return x;\n}\nSHARED int f(int x) { return helper(x); }\n",
        &["does not compile for the host", "k.clcpp:5:5: error: ", "barrier"],
    );
    refused(
        "SHARED int f(int x) { int r = x; oclave::if_host([&] { r = sub_group_reduce_add(r); }); return r; }\n",
        &["does not compile for the host", "k.clcpp:3:", "sub_group_reduce_add"],
    );
}

#[test]
fn the_host_has_no_device_globals_outside_of_if_device() {
    refused(
        "DEVICE_GLOBAL(host_access_write) static __global int limit = 5;\nSHARED int f(int x)\n{\n    return min(x, limit);\n}\n",
        &[
            "does not compile for the host",
            "k.clcpp:6:19: error: ",
            "the device global `limit`",
            "inside oclave::if_device",
        ],
    );
    refused(
        "#include <oclave/device_global.hpp>\nnamespace tuning { static oclave::device_global<int> gain{3}; }\n\
         SHARED int f(int x) { return oclave::if_device([] { return 1; }).otherwise([] { return tuning::gain + 1; }); }\n",
        &["k.clcpp:5:", "error: ", "`gain`"],
    );
    refused(
        "SPEC_CONSTANT(int, WIDTH, 0, 16)\nSHARED int f(int x) { return x / WIDTH(); }\n",
        &["does not compile for the host", "k.clcpp:4:34: error: ", "WIDTH", "specialization constants"],
    );
}

#[test]
fn nor_those_that_another_source_defines() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("a.cl", "#include <oclave/oclave.h>\nDEVICE_GLOBAL() __global int elsewhere[4];\n");
    folder.write(
        "b.cl",
        "#include <oclave/oclave.h>\nextern __global int elsewhere[4];\nDEVICE_GLOBAL() __global int here;\n\
         int sum(int i)\n{\n    return elsewhere[i] + here;\n}\nSHARED int f(int x) { return sum(x); }\n",
    );
    let error = folder.build(&mut Config::new(), &["a.cl", "b.cl"]).error(ErrorKind::Compile);
    assert_has(
        &error,
        &[
            "b.cl does not compile for the host",
            "b.cl:6:12: error: ",
            "`elsewhere`",
            "b.cl:6:27: error: ",
            "`here`",
        ],
    );
}

#[test]
fn what_only_devices_have_may_stand_in_their_bodies() {
    if !toolchain_is_here() {
        return;
    }
    let text = "#include <oclave/device_global.hpp>\nDEVICE_GLOBAL() __global int calls;\nstatic oclave::device_global<int> gain{3};\n\
         SPEC_CONSTANT(int, WIDTH, 0, 16)\n\
         SHARED int f(int x)\n{\n    oclave::if_device([&] { atomic_inc(&calls); x += gain + WIDTH() + get_global_id(0); });\n    return x;\n}\n\
         kernel void k(global int *x) { x[0] = f(x[0]) + calls + WIDTH(); }\n";
    for level in [0, 2] {
        let built = build(&Folder::new(), text, Config::new().opt_level(level));
        assert!(built.result.as_ref().unwrap().host_library.is_some());
        assert!(built.warnings().is_empty(), "{:?}", built.warnings());
    }
}

#[test]
fn errors_of_devices_name_their_side() {
    refused(
        "SHARED int f(int x) { return x; }\nint broken(int x) { return y; }\n",
        &["k.clcpp does not compile for devices", "k.clcpp:4:28: error: ", "'y'"],
    );
}

#[test]
fn kernels_and_what_they_alone_use_are_not_compiled_for_the_host() {
    if !toolchain_is_here() {
        return;
    }
    let text = "int local_helper(void) { return get_local_id(0); }\n\
        SHARED int f(int x) { oclave::if_device([&] { x += sub_group_all(x); }); return x; }\n\
        __attribute__((reqd_work_group_size(8, 1, 1))) kernel void k(global int *x, local int *y, read_only image2d_t i)\n\
        { x[0] = f(local_helper()); barrier(CLK_LOCAL_MEM_FENCE); y[0] = get_image_width(i); }\n";
    let folder = Folder::new();
    for level in [0, 1, 2, 3] {
        let built = build(&folder, text, Config::new().opt_level(level));
        let output = built.result.as_ref().unwrap();
        assert!(output.host_library.as_ref().unwrap().is_file());
        assert_has(&built.cargo, &["cargo::rustc-link-search=native="]);
        assert_has(&built.rust(), &["::oclave::shared_library!", "safe fn f(x : i32) -> value i32"]);
        assert!(built.warnings().is_empty(), "{:?}", built.warnings());
    }
    let plain = build(&folder, "kernel void k(global int *x) { x[0] = 1; }", &mut Config::new());
    assert_eq!(plain.result.as_ref().unwrap().host_library, None);
    assert!(!plain.cargo.contains("rustc-link"), "{}", plain.cargo);
}

#[test]
fn what_cannot_be_shared_is_refused_with_its_line() {
    refused(
        "SHARED kernel void k(global int *x) { x[0] = 1; }\n",
        &["k.clcpp:3: `k`", "a kernel cannot be SHARED"],
    );
    refused(
        "struct S { int x;\nSHARED int get() { return x; } };\n",
        &["k.clcpp:4: `S::get`", "must be static"],
    );
    refused(
        "struct A { int x; };\nstruct B : A { int y; };\nSHARED int f(B b) { return b.y; }\n",
        &["k.clcpp:5: `f`", "the parameter `b`", "`B`"],
    );
    refused("SHARED const int &f(const int &x) { return x; }\n", &["k.clcpp:3: `f`", "the result"]);
}

#[test]
fn bodies_of_one_choice_have_one_type() {
    refused(
        "SHARED int f(int x) { return oclave::if_device([] { return 1.0f; }).otherwise([] { return 1; }); }\n",
        &["does not compile for devices", "have one result type"],
    );
}

#[test]
fn names_tell_overloads_instances_and_namespaces_apart() {
    if !toolchain_is_here() {
        return;
    }
    let text = "namespace a { SHARED int f(int x) { return x; } }\n\
        namespace b { SHARED int f(int x) { return x; } SHARED int only(int x) { return x; } }\n\
        SHARED int g(int x) { return x; }\nSHARED int g(float x, const global int *y) { return x; }\n\
        template <class T, int N> SHARED T h(T x) { return x * N; }\n\
        template int h<int, 3>(int);\ntemplate float h<float, 4>(float);\n";
    let rust = build(&Folder::new(), text, &mut Config::new()).rust();
    let wanted = ["a_f(", "b_f(", "only(", "g_int(", "g_float_int_ptr(", "h_int_3(", "h_float_4("];
    assert_has(&rust, &wanted.map(|name| ["fn ", name].concat()).each_ref().map(String::as_str));
    assert_has(&rust, &["unsafe fn g_float_int_ptr(x : f32, y : *"]);
}

#[test]
fn one_pass_has_images_for_both_sides_and_no_library() {
    if !toolchain_is_here() {
        return;
    }
    let text = "SHARED int f(int x)\n{\n    oclave::if_host([&] { x = (int)(x * 0.5); });\n    return x;\n}\n\
        kernel void k(global int *x) { x[0] = f(x[0]); }\n";
    let folder = Folder::new();
    let built = build(&folder, text, Config::new().single_pass(true));
    let output = built.result.as_ref().unwrap();
    assert_eq!(output.host_library, None);
    let images: Vec<DeviceImage> = output
        .images
        .iter()
        .map(|path| DeviceImage::from_bytes(&std::fs::read(path).unwrap()).unwrap())
        .collect();
    let sides: Vec<_> = images.iter().map(|image| (image.name.as_str(), image.side().unwrap())).collect();
    assert_eq!(sides, [("k", Some(Side::Device)), ("k.host", Some(Side::Host))]);
    assert!(images[0].kernels[0].aspects.is_empty(), "{}", images[0].dump());
    // Callers see what devices need.
    assert!(!built.rust().contains("fp64"), "{}", built.rust());
    assert!(!built.rust().contains("shared_function"));
}

/// What is wrong in a body of one side is said of that side, and the other one does not mind.
#[test]
fn in_one_pass_each_side_has_its_own_errors() {
    if !toolchain_is_here() {
        return;
    }
    let program = |call: &str| {
        format!(
            "#include <oclave/virtual.hpp>\nclass a {{ public: INDIRECTLY_CALLABLE(s) virtual int f() const {{ return 1; }} }};\n\
             kernel void k(global int *x)\n{{\n    a o;\n    const a *p = x[1] ? &o : (const a *)x;\n    oclave::{call}([&] {{ x[0] = p->f(); }});\n}}\n"
        )
    };
    for (call, side) in [("if_host", "for the host: "), ("if_device", "for devices: ")] {
        let built = build(&Folder::new(), &program(call), Config::new().single_pass(true));
        assert_has(&built.error(ErrorKind::PostLink), &[side, "kernel `k` makes virtual calls"]);
    }
    // Compiled for devices alone, the host's body is not there.
    let built = build(&Folder::new(), &program("if_host"), &mut Config::new());
    assert!(built.result.is_ok() && built.warnings().is_empty(), "{:?}", built.result);
}

#[cfg(unix)]
#[test]
fn without_an_archiver_the_build_says_what_to_install() {
    let (Some(clang), Some(translator)) = (common::which("clang-15"), common::which("llvm-spirv-15")) else {
        return println!("skipped: no clang-15 and llvm-spirv-15");
    };
    let folder = Folder::new();
    let copies = folder.programs(
        "bin",
        &[("clang", &format!("exec {clang} \"$@\"")), ("llvm-spirv", &format!("exec {translator} \"$@\""))],
    );
    let mut config = Config::new();
    config.env("PATH", &copies).env("OCLAVE_CLANG", copies.join("clang"));
    // The tests may run with another compiler's archiver.
    config.env("OCLAVE_LLVM_SPIRV", copies.join("llvm-spirv")).env("OCLAVE_LLVM_AR", "");
    let error = build(&folder, "SHARED int f(int x) { return x; }", &mut config).error(ErrorKind::Toolchain);
    assert_has(&error, &["SHARED functions need llvm-ar or ar", "OCLAVE_LLVM_AR"]);
    config.env("OCLAVE_LLVM_AR", "no-such-program");
    let error = build(&folder, "SHARED int f(int x) { return x; }", &mut config).error(ErrorKind::Toolchain);
    assert_has(&error, &["OCLAVE_LLVM_AR"]);
}

/// Functions of the host's libraries keep their names: those with C linkage and those of C++.
#[test]
fn bodies_for_the_host_call_functions_of_other_libraries() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let text = "extern \"C\" int toupper(int c);\nint other(int c);\nSHARED int upper(int c)\n{\n    return \
                oclave::if_host([&] { return toupper(c) + other(c); }).otherwise([&] { return c - 32; });\n}\n\
                kernel void k(global int *x) { x[0] = upper(x[0]); }\n";
    for level in [0, 2] {
        let built = build(&folder, text, Config::new().opt_level(level));
        let library = built.result.unwrap().host_library.unwrap();
        let bytes = std::fs::read(library).unwrap();
        let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
        assert!(has("\0toupper\0") && has("\0_Z5otheri\0") && !has("_ZL7toupper"), "-O{level}");
    }
}
