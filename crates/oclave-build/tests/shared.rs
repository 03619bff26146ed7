//! Functions for kernels and the Rust program: what is generated, and which side an error is about.
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
    config.env("OCLAVE_LLVM_SPIRV", copies.join("llvm-spirv"));
    let error = build(&folder, "SHARED int f(int x) { return x; }", &mut config).error(ErrorKind::Toolchain);
    assert_has(&error, &["SHARED functions need llvm-ar or ar", "OCLAVE_LLVM_AR"]);
    config.env("OCLAVE_LLVM_AR", "no-such-program");
    let error = build(&folder, "SHARED int f(int x) { return x; }", &mut config).error(ErrorKind::Toolchain);
    assert_has(&error, &["OCLAVE_LLVM_AR"]);
}
