//! Programs through the real compiler: generated code, images, dependencies, warnings, errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;

use common::{Folder, assert_has, toolchain_is_here};
use oclave_build::{Config, ErrorKind, Split};
use oclave_image::{Aspects, DeviceImage, PropertyValue};
use oclave_spirv::Module;

const SAXPY: &str = "kernel void saxpy(float a, global const float *x, global float *y)\n{\n    size_t i = get_global_id(0);\n    y[i] += a * x[i];\n}\n";

fn images(built: &common::Built) -> Vec<DeviceImage> {
    let paths = &built.result.as_ref().unwrap().images;
    paths.iter().map(|path| DeviceImage::from_bytes(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn image_names(built: &common::Built) -> Vec<String> {
    images(built).into_iter().map(|image| image.name).collect()
}

/// Compares with a file of `tests/golden`; `OCLAVE_BLESS=1` rewrites it.
#[test]
fn generated_code_is_as_blessed() {
    if !toolchain_is_here() {
        return;
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = Folder::new();
    for name in ["common.h", "first.cl", "second.cl", "third-part.clcpp"] {
        folder.write(&format!("kernels/{name}"), &std::fs::read_to_string(golden.join(name)).unwrap());
    }
    let sources = ["kernels/first.cl", "kernels/second.cl", "kernels/third-part.clcpp"];
    let mut config = Config::new();
    config.out_name("golden").env("CARGO_PKG_NAME", "package");
    let built = folder.build(&mut config, &sources);
    let text = built.rust();
    let blessed = golden.join("golden.rs");
    if std::env::var_os("OCLAVE_BLESS").is_some() {
        std::fs::write(&blessed, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&blessed).unwrap().replace('\r', "");
    assert!(
        text == expected,
        "{} differs; if the change is meant, run with OCLAVE_BLESS=1. Now it is:\n{text}",
        blessed.display()
    );
    // Another build, another folder: the same text and the same bytes.
    let again = folder.build(&mut config, &sources);
    assert_eq!(again.rust(), text);
    assert_eq!(images(&again), images(&built));
}

#[test]
fn images_carry_signatures_and_the_toolchain() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("saxpy.cl", SAXPY);
    let built = folder.build(&mut Config::new(), &["saxpy.cl"]);
    let [image] = &images(&built)[..] else { panic!("one image") };
    assert_eq!(image.name, "saxpy");
    let kernel = image.kernel("saxpy").unwrap();
    let names: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["a", "x", "y"]);
    let Some(PropertyValue::Bytes(tools)) = image.properties.value("oclave/build", "toolchain") else {
        panic!("the toolchain is recorded")
    };
    assert_has(std::str::from_utf8(tools).unwrap(), &["clang ", "llvm-spirv "]);
    let output = built.result.unwrap();
    assert!(output.rust.ends_with("oclave_kernels.rs"), "{output:?}");
    assert!(output.images[0].ends_with("oclave_kernels.saxpy.oclimg"), "{output:?}");
}

#[test]
fn splits() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "a.cl",
        "kernel void one(global int *x) { x[0] = 1; }\nkernel void two(global int *x) { x[0] = 2; }",
    );
    folder.write("b.cl", "kernel void wide(global double *x) { x[0] *= 3.0; }");
    let split = |split| image_names(&folder.build(Config::new().split(split), &["a.cl", "b.cl"]));
    assert_eq!(split(Split::PerSource), ["a", "b"]);
    assert_eq!(split(Split::PerKernel), ["a.one", "a.two", "b.wide"]);
    assert_eq!(split(Split::Off), ["oclave_kernels", "oclave_kernels.fp64"]);
    let built = folder.build(Config::new().split(Split::Off), &["a.cl", "b.cl"]);
    let aspects: Vec<Aspects> = images(&built).iter().map(|image| image.kernels[0].aspects).collect();
    assert_eq!(aspects, [Aspects::empty(), Aspects::FP64]);
    // With every split, launchers are in the modules of their sources.
    assert_has(&built.rust(), &["pub mod a {", "pub fn one(", "pub mod b {", "pub fn wide("]);
}

/// The kernels of an image, and those of its form without fp64.
fn kernels_and_form(image: &DeviceImage) -> (Vec<String>, Vec<String>) {
    let names = |image: &DeviceImage| image.kernels.iter().map(|kernel| kernel.name.clone()).collect();
    (names(image), image.without_fp64().unwrap().as_ref().map(names).unwrap_or_default())
}

#[test]
fn kernels_with_literals_have_a_form_without_fp64() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let literal =
        "float half_of(float x);\nkernel void literal(global float *x) { x[0] = half_of(x[0]) + 0.3; }\n";
    let prints = "kernel void prints(float x) { printf(\"%f\\n\", x); }\n";
    let sum = "kernel void sum(global float *x, int n)\n\
               { double s = 0.0; for (int i = 0; i < n; i++) s += (double)x[i]; x[0] = (float)s; }\n";
    // With a float for 2.0, `pow` is ambiguous.
    let power = "float power(float x) { double d = x; return (float)pow(d, 2.0); }\n\
                 kernel void calls_power(global float *x) { x[0] = power(x[0]); }\n";
    let plain = "kernel void plain(global int *x) { x[0] = 1; }\n";
    folder.write("a.cl", &[literal, prints, power, sum, plain].concat());
    folder
        .write("b.cl", "float half_of(float x) { return 0.5 * x; }\nkernel void wide(double x) { (void)x; }");
    for level in [0, 2] {
        let built = folder.build(Config::new().opt_level(level), &["a.cl", "b.cl"]);
        assert_eq!(built.cargo.matches("a.cl").count(), 1, "{}", built.cargo);
        let made = images(&built);
        let with_fp64 = made.iter().find(|image| image.name == "a.fp64").unwrap();
        let (kernels, form) = kernels_and_form(with_fp64);
        assert_eq!(kernels, ["literal", "prints", "calls_power", "sum"], "-O{level}");
        assert_eq!(form, ["literal", "prints"], "-O{level}");
        let form = with_fp64.without_fp64().unwrap().unwrap();
        assert_eq!(form.kernel("literal").unwrap().parameters, with_fp64.kernels[0].parameters);
        assert!(
            made.iter().filter(|image| image.name != "a.fp64").all(|i| i.without_fp64().unwrap().is_none())
        );
    }
    // The same bytes each time.
    let build = || images(&folder.build(&mut Config::new(), &["a.cl", "b.cl"]));
    assert_eq!(build(), build());
    // With the compiler's own option there is nothing to add.
    folder.write("a.cl", &[literal, prints, sum, plain].concat());
    let flag = ["-cl-single-precision-constant"];
    let built = folder.build(Config::new().extra_args(flag), &["a.cl", "b.cl"]);
    assert!(images(&built).iter().all(|image| image.without_fp64().unwrap().is_none()));
}

const IN_RUST: &str = "use oclave_kernel::{Item, Out, kernel};\n\
                       #[kernel]\npub fn in_rust(_: Item<1>, mut x: Out<f64>) { *x *= 0.3; }\n";

/// What a package of kernels is built from, and a source alone.
#[test]
fn inputs_of_kernels_in_rust_are_dependencies() {
    let folder = Folder::new();
    let kernel_crate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oclave-kernel");
    let text = "use oclave_kernel::{Item, Out, kernel};\n\
                const SEED: bool = option_env!(\"OCLAVE_TEST_SEED\").is_some();\n\
                #[kernel]\npub fn k(_: Item<1>, mut x: Out<u32>) { *x = if SEED { 1 } else { 2 }; }\n";
    folder.write("alone.rs", text);
    let alone = folder.build(&mut Config::new(), &["alone.rs"]);
    alone.result.as_ref().unwrap();
    assert_has(&alone.cargo, &["cargo::rerun-if-env-changed=OCLAVE_TEST_SEED\n"]);

    let kernels = "[package]\nname = \"kernels\"\nversion.workspace = true\nedition = \"2024\"\n";
    let dependencies = format!(
        "[dependencies]\noclave-kernel.path = {kernel_crate:?}\nhelper.path = \"../helper\"\n\
         [lints.rust]\nunexpected_cfgs = \"allow\"\n"
    );
    folder.write("w/Cargo.toml", "[workspace]\nmembers = [\"kernels\", \"helper\"]\nresolver = \"3\"\n[workspace.package]\nversion = \"0.1.0\"\n");
    folder.write("w/kernels/Cargo.toml", &format!("{kernels}{dependencies}"));
    folder.write("w/kernels/src/lib.rs", &format!("#![no_std]\n{text}"));
    folder.write("w/helper/Cargo.toml", &kernels.replace("kernels", "helper"));
    folder.write(
        "w/helper/src/lib.rs",
        "#![no_std]\npub const OTHER: Option<&str> = option_env!(\"OCLAVE_TEST_OTHER\");\n",
    );
    let mut config = Config::new();
    config.rust_package(folder.path().join("w/kernels"));
    let built = folder.build(&mut config, &[]);
    built.result.as_ref().unwrap();
    assert_has(
        &built.cargo,
        &[
            "/w/Cargo.toml\n",
            "/w/Cargo.lock\n",
            "/w/kernels/Cargo.toml\n",
            "/w/kernels/src/lib.rs\n",
            "/w/helper/Cargo.toml\n",
            "/w/helper/src/lib.rs\n",
            "cargo::rerun-if-env-changed=OCLAVE_TEST_SEED\n",
            "cargo::rerun-if-env-changed=OCLAVE_TEST_OTHER\n",
        ],
    );
    assert!(!built.cargo.contains("env-changed=CARGO_"), "{}", built.cargo);
    let folder_itself = folder.path().join("w/kernels/src/..");
    let built = folder.build(Config::new().rust_package(folder_itself), &[]);
    assert_has(&built.rust(), &["pub mod kernels {"]);
    // Cargo builds again each time where a file is missing.
    for path in built.cargo.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")) {
        assert!(Path::new(path).is_absolute() && Path::new(path).is_file(), "{path}");
    }
}

/// The page has them for the host as well, where doc tests run them.
#[test]
fn samples_of_the_guide_compile_for_devices() {
    let page = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/rust-kernels.md"),
    );
    let page = page.unwrap().replace('\r', "");
    let blocks = page.split("\n```").filter(|block| block.starts_with("rust") && block.contains("#[kernel"));
    let folder = Folder::new();
    let mut names = Vec::new();
    for (number, block) in blocks.enumerate() {
        let lines = block.lines().skip(1).filter(|line| !line.starts_with("# ") && *line != "#");
        names.push(format!("sample{number}.rs"));
        folder.write(&names[number], &lines.map(|line| format!("{line}\n")).collect::<String>());
    }
    assert!(names.len() >= 7, "{names:?}");
    for name in &names {
        let built = folder.build(&mut Config::new(), &[name]);
        assert!(built.result.is_ok(), "{}: {:?}", folder.read(name), built.result);
    }
}

/// Such a definition is one that rustc knows.
#[test]
fn definitions_reach_sources_in_rust() {
    let folder = Folder::new();
    folder.write(
        "r.rs",
        "use oclave_kernel::{Item, Out, kernel};\n#[kernel]\npub fn k(_: Item<1>, mut x: Out<u32>) {\n\
         if cfg!(FAST) && cfg!(TILE = \"16\") && !cfg!(TILE = \"8\") { *x = 1; } else { MISSING }\n}\n",
    );
    let mut config = Config::new();
    let refused = folder.build(&mut config, &["r.rs"]).error(ErrorKind::Compile);
    assert_has(&refused, &["MISSING"]);
    folder.write("r.rs", &folder.read("r.rs").replace("MISSING", "*x = 2;"));
    let built = folder.build(config.define("FAST", None).define("TILE", "16"), &["r.rs"]);
    built.result.as_ref().unwrap();
    assert!(built.warnings().is_empty(), "{:?}", built.warnings());
}

/// Kernels in Rust beside them change nothing, with each way of splitting.
#[test]
fn kernels_in_c_have_a_form_without_fp64_beside_kernels_in_rust() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("r.rs", IN_RUST);
    let plain = "kernel void plain(global int *x) { x[0] = 1; }\n";
    let literal = "kernel void literal(global float *x) { x[0] += 0.3; }\n";
    for source in [literal.to_owned(), format!("{plain}{literal}")] {
        folder.write("a.cl", &source);
        for split in [Split::PerSource, Split::PerKernel, Split::Off] {
            let built = images(&folder.build(Config::new().split(split), &["a.cl", "r.rs"]));
            let with_form: Vec<String> =
                built.iter().map(kernels_and_form).flat_map(|(_, form)| form).collect();
            assert_eq!(with_form, ["literal"], "{split:?}: {source}");
        }
    }
}

#[test]
fn sources_that_need_doubles_to_compile_build_as_before() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "k.clcpp",
        "static_assert(sizeof(0.5) == 8, \"doubles\");\nkernel void k(global int *x) { x[0] = 1; }\n\
         kernel void l(global float *x) { *x += 0.3; }",
    );
    let built = folder.build(&mut Config::new(), &["k.clcpp"]);
    assert_eq!(image_names(&built), ["k", "k.fp64"]);
    assert!(images(&built).iter().all(|image| image.without_fp64().unwrap().is_none()));
    assert!(!built.cargo.contains("cargo::warning"), "{}", built.cargo);
}

#[test]
fn the_host_and_the_kernels_agree_on_device_globals_without_fp64() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let source = |value: &str| {
        format!(
            "#include <oclave/oclave.h>\nDEVICE_GLOBAL() global float own = {value};\nDEVICE_GLOBAL() global int other;\n\
             kernel void k(global float *x) {{ x[0] = own * 0.3; }}\n"
        )
    };
    // In floats, the quotient is another one.
    for (value, has_form) in [("0.1", true), ("0.1 / 0.3", false)] {
        folder.write("k.cl", &source(value));
        let built = images(&folder.build(&mut Config::new(), &["k.cl"]));
        let form = built[0].without_fp64().unwrap();
        assert_eq!(form.is_some(), has_form, "{value}");
        if let Some(form) = form {
            let ids: Vec<String> =
                form.device_globals().unwrap().into_iter().map(|global| global.id).collect();
            assert_eq!(ids.len(), 1, "{ids:?}: only what the kernels use");
        }
    }
}

/// Devices without program-scope variables run the kernels beside those that use some.
#[test]
fn variables_of_the_program_leave_their_neighbours_alone() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let kernel =
        |name: &str, value: &str| format!("kernel void {name}(global int *x) {{ x[0] = {value}; }}\n");
    let users = format!("global int tally = 7;\n{}{}", kernel("one", "tally++"), kernel("two", "tally"));
    folder.write("k.cl", &format!("{users}{}", kernel("alone", "3")));
    let built = images(&folder.build(&mut Config::new(), &["k.cl"]));
    let found: Vec<(&str, usize, Aspects)> =
        built.iter().map(|image| (&*image.name, image.kernels.len(), image.kernels[0].aspects)).collect();
    let variables = Aspects::PROGRAM_SCOPE_VARIABLES;
    assert_eq!(found, [("k", 1, Aspects::empty()), ("k.program_scope_variables", 2, variables)]);
    // A variable of which each image would have its own keeps them together.
    let shared = "#include <oclave/oclave.h>\nDEVICE_GLOBAL(device_image_scope) global int own;\n";
    folder.write(
        "k.cl",
        &format!("{shared}{users}{}{}", kernel("both", "own + tally"), kernel("third", "own")),
    );
    assert_eq!(image_names(&folder.build(&mut Config::new(), &["k.cl"])), ["k"]);
}

#[test]
fn sources_of_one_program_use_each_others_functions() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("a.cl", "int twice(int x);\nkernel void k(global int *x) { x[0] = twice(x[0]); }");
    folder.write("b.cl", "int twice(int x) { return 2 * x; }");
    assert_eq!(image_names(&folder.build(&mut Config::new(), &["a.cl", "b.cl"])), ["a"]);
    folder.write("b.cl", "kernel void k(global int *x) { x[0] = 1; }");
    let error = folder.build(&mut Config::new(), &["a.cl", "b.cl"]).error(ErrorKind::Link);
    assert_has(&error, &["do not link", "k", "the command was: "]);
}

#[test]
fn a_source_may_be_named_program() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("program.cl", "kernel void k(global int *x) { x[0] = 1; }");
    folder.write("b.cl", "kernel void l(global int *x) { x[0] = 2; }");
    let bitcode = |sources: &[&str]| {
        let output = folder.build(&mut Config::new(), sources).result.unwrap();
        std::fs::read(output.rust.with_file_name("oclave_kernels.work").join("program.bc")).unwrap()
    };
    // The linked program does not replace it.
    assert!(bitcode(&["program.cl"]) == bitcode(&["program.cl", "b.cl"]));
}

#[test]
fn headers_and_the_toolchains_variables_are_dependencies() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("include/deep/inner.h", "#define BY 3");
    folder.write("include/outer header.h", "#include \"deep/inner.h\"");
    folder.write(
        "k.cl",
        "#include <oclave/oclave.h>\n#include \"outer header.h\"\nkernel void k(global int *x) { x[0] = BY; }",
    );
    let built = folder.build(Config::new().include(folder.path().join("include")), &["k.cl"]);
    built.result.as_ref().unwrap();
    let mut changed: Vec<String> = built
        .cargo
        .lines()
        .filter_map(|line| line.strip_prefix("cargo::rerun-if-changed="))
        .map(|path| Path::new(path).strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned())
        .collect();
    changed.sort();
    // Not among them: the compiler's headers and oclave's own, which change with their packages.
    assert_eq!(changed, ["include/deep/inner.h", "include/outer header.h", "k.cl"]);
    assert_has(&built.cargo, &["cargo::rerun-if-env-changed=OCLAVE_CLANG\n"]);
    // `include_kernels!` finds the program by it.
    assert_has(&built.cargo, &["cargo::rustc-env=OCLAVE_KERNELS_oclave_kernels=", "/oclave_kernels.rs\n"]);
}

#[test]
fn compiler_errors_have_file_line_and_command() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("good.cl", "kernel void good(void) {}");
    folder.write("bad.cl", "kernel void bad(global int *x)\n{\n    x[0] = nonsense;\n}");
    folder.write("worse.cl", "kernel int worse(void) { return 1; }");
    let built = folder.build(Config::new().define("TILE", "16"), &["good.cl", "bad.cl", "worse.cl"]);
    let error = built.error(ErrorKind::Compile);
    // Both broken sources at once.
    assert_has(
        &error,
        &["bad.cl does not compile", "bad.cl:3:12: error: use of undeclared identifier 'nonsense'"],
    );
    assert_has(
        &error,
        &["worse.cl:1:12: error: kernel must have void return type", "the command was: ", "-DTILE=16"],
    );
    assert!(!error.contains("good.cl does not"), "{error}");
    // What a build script prints is the same text, not a struct.
    assert_eq!(format!("{:?}", built.result.unwrap_err()), error);
}

#[test]
fn compiler_warnings_reach_cargo() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("k.cl", "kernel void k(global int *x)\n{\n    int unused;\n    x[0] = 1;\n}");
    let built = folder.build(Config::new().extra_args(["-Wall"]), &["k.cl"]);
    built.result.as_ref().unwrap();
    let [warning] = built.warnings()[..] else { panic!("{:?}", built.warnings()) };
    assert_has(warning, &["k.cl:3:9: warning: unused variable 'unused'"]);
    assert!(folder.build(&mut Config::new(), &["k.cl"]).warnings().is_empty());
}

#[test]
fn options_reach_the_compiler() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "#if defined(PLAIN) && VALUE == 3 && defined(__OPTIMIZE__) == OPTIMIZED && defined(EXTRA)\nkernel void k(void) {}\n#else\n#error options are missing\n#endif",
    );
    for level in [0, 1, 2, 3] {
        let mut config = Config::new();
        config.define("PLAIN", None).define("VALUE", "3").opt_level(level).extra_args(["-DEXTRA"]);
        config.define("OPTIMIZED", if level == 0 { "0" } else { "1" });
        folder.build(&mut config, &["k.cl"]).result.unwrap();
    }
    folder.build(&mut Config::new(), &["k.cl"]).error(ErrorKind::Compile);
    folder.build(Config::new().opt_level(4), &["k.cl"]).error(ErrorKind::Config);
    let mut refused = Config::new();
    refused.define("PLAIN", None).define("VALUE", "3").define("OPTIMIZED", "1").extra_args(["-DEXTRA"]);
    refused.translator_args(["--no-such-option"]);
    let error = folder.build(&mut refused, &["k.cl"]).error(ErrorKind::Translate);
    assert_has(&error, &["--no-such-option"]);
}

/// A translator that refuses all that clang writes at -O2: the build succeeds with less
/// optimisation, and says so.
#[cfg(unix)]
#[test]
fn what_the_translator_refuses_is_compiled_with_less_optimisation() {
    let (Some(clang), Some(llvm_spirv)) = (common::which("clang-15"), common::which("llvm-spirv-15")) else {
        toolchain_is_here();
        println!("skipped: this test wants clang-15 and llvm-spirv-15");
        return;
    };
    let folder = Folder::new();
    folder.write("k.cl", SAXPY);
    let log = folder.path().join("log");
    let log = log.display();
    let tools = |refuse: &str| {
        let clang = format!("echo \"$@\" >> {log}\nexec {clang} \"$@\"");
        let llvm_spirv = format!(
            "[ \"$1\" != --version ] && {refuse} && echo 'InvalidBitWidth: i3' >&2 && exit 9\nexec {llvm_spirv} \"$@\""
        );
        folder.programs("bin", &[("clang", &clang), ("llvm-spirv", &llvm_spirv)])
    };
    let path = tools(&format!("grep -q -e -O2 {log} && ! grep -q -e -O1 {log}"));
    let mut config = Config::new();
    config.env("OCLAVE_CLANG", path.join("clang")).env("OCLAVE_LLVM_SPIRV", path.join("llvm-spirv"));
    let built = folder.build(&mut config, &["k.cl"]);
    assert_eq!(image_names(&built), ["k"]);
    let [warning] = built.warnings()[..] else { panic!("{:?}", built.warnings()) };
    assert_has(warning, &["k.cl:1: `saxpy`: ", "at -O2 (InvalidBitWidth: i3)", "-O1 instead"]);

    tools("true");
    let built = folder.build(&mut config, &["k.cl"]);
    let error = built.error(ErrorKind::Translate);
    assert_has(
        &error,
        &[
            "k.cl:1: `saxpy` at -O2:",
            "not work at -O0 either",
            "InvalidBitWidth",
            "exit status: 9",
            "the command was: ",
        ],
    );
    assert!(built.warnings().is_empty());
}

#[test]
fn odd_vectorised_code_translates() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    // clang narrows the condition to i3, which llvm-spirv-15 refuses; loops like the second become
    // vector reductions.
    folder.write(
        "k.cl",
        "kernel void pick(global int *x)\n{\n    switch (get_global_id(0) & 7) {\n    case 0: x[0] = 3; break;\n    case 1: x[1] = 9; break;\n    case 5: x[2] = 1; break;\n    case 6: x[3] = 2; break;\n    }\n}\nkernel void sum(global int *x)\n{\n    int s = 0;\n    for (int i = 0; i < 16; i++)\n        s += x[i];\n    x[0] = s;\n}",
    );
    let built = folder.build(&mut Config::new(), &["k.cl"]);
    assert_eq!(image_names(&built), ["k"]);
    assert!(built.warnings().is_empty(), "{:?}", built.warnings());
}

#[test]
fn rules_of_device_globals_are_errors_with_the_variable() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "#include <oclave/oclave.h>\nDEVICE_GLOBAL(host_acess_read) __global int counter;\nkernel void k(void) { counter++; }",
    );
    let error = folder.build(&mut Config::new(), &["k.cl"]).error(ErrorKind::PostLink);
    assert_has(&error, &["k.cl", "counter", "host_acess_read"]);
}

#[test]
fn sources_that_cannot_be() {
    let folder = Folder::new();
    folder.write("a.cl", "");
    folder.write("x/a.cl", "");
    folder.write("a.c", "");
    let error = |sources: &[&str]| folder.build(&mut Config::new(), sources).error(ErrorKind::Config);
    assert_has(&error(&[]), &["no kernel sources"]);
    assert_has(&error(&["missing.cl"]), &["there is no kernel source", "missing.cl"]);
    assert_has(&error(&["a.c"]), &["a.c", ".clcpp"]);
    assert_has(&error(&["a.cl", "x/a.cl"]), &["one Rust module", "out_name"]);
    let built = folder.build(Config::new().out_name("../escape"), &["a.cl"]);
    assert_has(&built.error(ErrorKind::Config), &["out_name \"../escape\""]);
    let mut cargo = Vec::new();
    let nowhere = Config::new().env("OUT_DIR", "").compile_to(&[folder.path().join("a.cl")], &mut cargo);
    assert_has(&nowhere.unwrap_err().to_string(), &["OUT_DIR is not set"]);
}

#[test]
fn a_second_program_of_one_name_is_refused() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let sources = [folder.write("a.cl", SAXPY)];
    let mut config = Config::new();
    config.out_dir(folder.path().join("out"));
    config.compile_to(&sources, &mut Vec::new()).unwrap();
    let error = config.compile_to(&sources, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_has(&error.to_string(), &["two programs", "oclave_kernels", "out_name"]);
    config.out_name("other").compile_to(&sources, &mut Vec::new()).unwrap();
}

/// The class template in its places, with what its Rust side is called.
#[test]
fn class_template_of_device_globals() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let a = "#include <oclave/device_global.hpp>\nusing namespace oclave;\nstruct P { float x; bool b; };\n\
             device_global<int[2][3], host_access_read> table{1, 2, 3, 4, 5, 6};\n\
             static device_global<P, device_image_scope> p{P{2.5f, true}};\n\
             namespace n { namespace { device_global<ulong> hidden; } }\n\
             device_global<int> across{7};\n\
             kernel void a(global float *o) { o[0] = table[1][2] + p.get().x + n::hidden + across; }\n";
    let b = "#include <oclave/device_global.hpp>\nextern oclave::device_global<int> across;\n\
             static oclave::device_global<char> p{'p'};\n\
             kernel void b(global int *o) { *o = across + p; }\n";
    folder.write("a.clcpp", a);
    folder.write("b.clcpp", b);
    let mut config = Config::new();
    config.out_name("classes").env("CARGO_PKG_NAME", "package");
    let built = folder.build(&mut config, &["a.clcpp", "b.clcpp"]);
    let rust: String = built.rust().split_whitespace().collect();
    assert_has(
        &rust,
        &[
            "pubstaticTABLE:::oclave::kernel::DeviceGlobal<[[i32;3];2],::oclave::kernel::host_access::Read",
            "pubstaticP:::oclave::kernel::DeviceGlobal<",
            "\"package/classes/a._ZL1p\"",
            "\"package/classes/b._ZL1p\"",
            "pubstaticHIDDEN:::oclave::kernel::DeviceGlobal<u64,",
            "pubstaticACROSS:::oclave::kernel::DeviceGlobal<i32,",
            "pubusesuper::a::ACROSS;",
        ],
    );
    let images = images(&built);
    let table = images[0].device_globals().unwrap().into_iter().find(|global| global.id == "table").unwrap();
    assert_eq!(table.initial.bytes, [1_i32, 2, 3, 4, 5, 6].map(i32::to_le_bytes).concat());
    let of_b: Vec<String> = images[1].device_globals().unwrap().into_iter().map(|global| global.id).collect();
    assert_eq!(of_b, ["across", "package/classes/b._ZL1p"]);
    let again = folder.build(&mut config, &["b.clcpp", "a.clcpp"]);
    let ids = |built: &common::Built| {
        let mut ids: Vec<String> = self::images(built)
            .iter()
            .flat_map(|image| image.device_globals().unwrap())
            .map(|global| global.id)
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&again), ids(&built), "the order of the sources changes no id");
}

#[test]
fn rules_for_class_objects_are_kept() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let cases: [(&str, ErrorKind, &[&str]); 13] = [
        (
            "struct S { device_global<int> e; };",
            ErrorKind::Compile,
            &["bad.clcpp:3: `e`", "non-static member"],
        ),
        (
            "class C { static device_global<int> f; };",
            ErrorKind::Compile,
            &["bad.clcpp:3: `f`", "must be public"],
        ),
        ("device_global<int> h[4];", ErrorKind::Compile, &["bad.clcpp:3: `h`", "device_global<T[N]>"]),
        (
            "device_global<int> s; inline namespace o { device_global<int> s; }",
            ErrorKind::Compile,
            &["bad.clcpp:3: `s`", "inline namespace"],
        ),
        (
            "namespace foo { device_global<int> s; } inline namespace o { namespace foo {} }",
            ErrorKind::Compile,
            &["bad.clcpp:3: `foo`", "inline namespace"],
        ),
        (
            "void f() { device_global<int> x{3}; }",
            ErrorKind::Compile,
            &["bad.clcpp:3", "address space '__private'"],
        ),
        (
            "struct D { ~D() {} }; device_global<D> d;",
            ErrorKind::Compile,
            &["must be trivially destructible"],
        ),
        (
            "device_global<int, host_access_read, host_access_none> c;",
            ErrorKind::Compile,
            &["host_access properties contradict each other"],
        ),
        (
            "device_global<int, device_image_scope> x; device_global<int, device_image_scope> y{x};",
            ErrorKind::Compile,
            &["device_image_scope cannot be copied"],
        ),
        (
            "device_global<int> g; auto v = g.get_property<init_mode_key>();",
            ErrorKind::Compile,
            &["does not have this property"],
        ),
        (
            "kernel void k() { static device_global<int> x{3}; x = 4; }",
            ErrorKind::PostLink,
            &["x", "declared in a function"],
        ),
        (
            "int f(); device_global<int> x{f()}; kernel void k(global int *o) { *o = x; }",
            ErrorKind::PostLink,
            &["bad.clcpp", "constant expression"],
        ),
        (
            "extern device_global<int> e; kernel void k(global int *o) { *o = e; }",
            ErrorKind::PostLink,
            &["`e`", "no source of the program defines it"],
        ),
    ];
    for (declaration, kind, wanted) in cases {
        folder.write(
            "bad.clcpp",
            &format!("#include <oclave/device_global.hpp>\nusing namespace oclave;\n{declaration}\n"),
        );
        let error = folder.build(&mut Config::new(), &["bad.clcpp"]).error(kind);
        assert_has(&error, wanted);
    }
    let good = "struct S { static device_global<int> d; }; device_global<int> S::d; namespace foo { device_global<int> s; } \
                namespace { device_global<int> s; } device_global<int> s; kernel void k(global int *o) { *o = S::d + foo::s; }";
    folder.write(
        "good.clcpp",
        &format!("#include <oclave/device_global.hpp>\nusing namespace oclave;\n{good}\n"),
    );
    assert!(folder.build(&mut Config::new(), &["good.clcpp"]).result.is_ok());
}

#[test]
fn annotations_with_and_without_arguments_link() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "a.cl",
        "#include <oclave/oclave.h>\nSHARED int twice(int x) { return 2 * x; }
kernel void with(global int *x) { x[0] = twice(x[0]); }",
    );
    folder.write(
        "b.cl",
        "#include <oclave/oclave.h>\nDEVICE_GLOBAL() global int counter;
kernel void without(global int *x) { x[0] = counter; }",
    );
    folder.write(
        "c.cl",
        "#include <oclave/oclave.h>\nDEVICE_GLOBAL() global int other;\nSHARED int thrice(int x) { return 3 * x; }
__attribute__((annotate(\"a user's own\", 1, 2))) int own(int x) { return x + 1; }
kernel void both(global int *x) { x[0] = own(thrice(x[0] + other)); }",
    );
    for sources in [["a.cl", "b.cl", "c.cl"], ["b.cl", "a.cl", "c.cl"], ["c.cl", "b.cl", "a.cl"]] {
        let built = folder.build(&mut Config::new(), &sources);
        let rust = built.rust();
        assert_has(&rust, &["COUNTER", "OTHER", "fn twice", "fn thrice"]);
    }
}

#[test]
fn kernels_without_a_launcher_are_told() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "kernel void fine(global int *x) { x[0] = 1; }\n\nkernel void flow(global int *x, read_only pipe int in)\n{\n    \
         int v;\n    if (read_pipe(in, &v) == 0)\n        x[0] = v;\n}\nkernel void look(read_only image3d_t \
         volume, sampler_t how, global float4 *x) { x[0] = read_imagef(volume, how, (int4)(0)); }",
    );
    let built = folder.build(&mut Config::new(), &["k.cl"]);
    built.result.as_ref().unwrap();
    let [pipe] = built.warnings()[..] else { panic!("{:?}", built.warnings()) };
    assert_has(
        pipe,
        &["k.cl:3: kernel `flow` has no Rust function: parameter `in` is a pipe", "use buffers or USM"],
    );
    let rust = built.rust();
    assert_has(&rust, &["pub fn fine(", "has no function here: parameter `in` is a pipe"]);
    // One line, however it is broken.
    let look = rust.split_once("pub fn look(").unwrap().1.split_whitespace().collect::<String>();
    assert_has(
        &look,
        &[
            "volume:impl::oclave::images::KernelImage<::oclave::images::D3>,how:impl::oclave::images::KernelSampler,x:",
        ],
    );
    assert_has(&look, &[".read_image(volume).sampler(how).pointer_mut(x)"]);

    assert!(!rust.contains("kernel bundle"), "{rust}");
}

/// OpenCL C 3.0, section 6.12: the macros that are there on every device.
#[test]
fn predefined_macros_are_defined() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let checks = "#if __OPENCL_VERSION__ != 300 || CL_VERSION_1_0 != 100 || CL_VERSION_1_1 != 110 || CL_VERSION_1_2 != 120 \
                  || CL_VERSION_2_0 != 200 || CL_VERSION_3_0 != 300 || __ENDIAN_LITTLE__ != 1 || __IMAGE_SUPPORT__ != 1\n\
                  #error a version or feature\n#endif\n#if !defined(__FILE__) || !defined(__LINE__) || \
                  !defined(__kernel_exec) || __opencl_c_int64 != 1 || defined(__FAST_RELAXED_MATH__)\n#error others\n#endif\n";
    folder.write(
        "a.cl",
        &format!("{checks}#if __OPENCL_C_VERSION__ != 300\n#error C\n#endif\n__kernel_exec(4, float) void a(global int *x) {{ x[0] = 1; }}"),
    );
    folder.write(
        "b.clcpp",
        &format!("{checks}#if __OPENCL_CPP_VERSION__ != 202100 || __CL_CPP_VERSION_2021__ != 202100\n#error C++\n#endif\nkernel void b(global int *x) {{ x[0] = 1; }}"),
    );
    folder.write("c.cl", "#ifndef __FAST_RELAXED_MATH__\n#error fast\n#endif\nkernel void c(void) {}");
    let built = folder.build(&mut Config::new(), &["a.cl", "b.clcpp"]);
    built.result.as_ref().unwrap();
    assert!(built.warnings().is_empty(), "{:?}", built.warnings());
    let mut fast = Config::new();
    folder.build(fast.extra_args(["-cl-fast-relaxed-math"]), &["c.cl"]).result.unwrap();
    // A program that defines the version by itself still does.
    let own = folder.build(Config::new().define("__OPENCL_VERSION__", "300"), &["a.cl"]);
    own.result.as_ref().unwrap();
    assert!(own.warnings().is_empty(), "{:?}", own.warnings());
}

#[test]
fn a_function_without_a_body_is_an_error_of_the_build() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write("a.cl", "int twice(int x);\nkernel void k(global int *x) { x[0] = twice(x[0]); }");
    let error = folder.build(&mut Config::new(), &["a.cl"]).error(ErrorKind::Link);
    assert_has(
        &error,
        &["a.cl: `k` calls `twice`, which no source of the program defines", "Config::driver_functions"],
    );
    folder.build(Config::new().driver_functions(["twice"]), &["a.cl"]).result.unwrap();
    // The caller is the function, where it is not inlined; what no kernel reaches counts for
    // nothing.
    folder.write(
        "b.clcpp",
        "int twice(int x);\nnamespace n { int thrice(int x); }\n__attribute__((noinline)) int helper(int x) { return \
         twice(x); }\nint unused(int x) { return n::thrice(x); }\nkernel void k(global int *x) { x[0] = helper(x[0]); }",
    );
    let error = folder.build(&mut Config::new(), &["b.clcpp"]).error(ErrorKind::Link);
    assert_has(&error, &["`helper` calls `twice`"]);
    assert!(!error.contains("thrice"), "{error}");
    // What drivers bring along is theirs to find.
    folder.write(
        "c.cl",
        "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\nkernel void k(global int *x) { x[0] = \
         sub_group_reduce_add(x[0]) + work_group_scan_inclusive_max(x[1]); }",
    );
    folder.build(&mut Config::new(), &["c.cl"]).result.unwrap();
}

/// C99 has none for calls that are not inlined, the compilers of drivers do.
#[test]
fn inline_functions_have_definitions_and_several_sources_may_share_them() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let kernels = "kernel void NAME(global int *x) { x[0] = pick(x[0]) + pick(x[1]); }\n";
    for name in ["a", "b"] {
        let text = format!("#include \"pick.h\"\n{}", kernels.replace("NAME", name));
        folder.write(&format!("{name}.cl"), &text);
    }
    for head in [
        "inline int pick(int x)",
        "inline __attribute__((always_inline)) int pick(int x)",
        "__attribute__((always_inline)) inline int pick(int x)",
        "inline __attribute__((noinline)) int pick(int x)",
        "inline __attribute__((gnu_inline)) int pick(int x)",
        "inline __attribute__((overloadable)) int pick(int x)",
        "inline int pick(int x);\nint pick(int x)",
        "extern int pick(int x);\n__inline__ int pick(int x)",
        "static inline int pick(int x)",
    ] {
        folder.write("pick.h", &format!("{head} {{ return x > 3 ? x * x : -x; }}\n"));
        // Nothing is inlined without optimisation.
        for level in [0, 1, 2] {
            let mut config = Config::new();
            config.opt_level(level);
            for sources in [&["a.cl"][..], &["a.cl", "b.cl"]] {
                let built = folder.build(&mut config, sources);
                assert!(built.result.is_ok(), "`{head}` at -O{level}: {:?}", built.result);
            }
        }
    }
    // Other functions have one definition in a program.
    folder.write("pick.h", "__attribute__((always_inline)) int pick(int x) { return -x; }\n");
    folder.build(&mut Config::new(), &["a.cl", "b.cl"]).error(ErrorKind::Link);
}

/// Devices run no code before kernels: what the compiler does not compute must not become zero in
/// silence.
#[test]
fn values_that_need_code_before_kernels_are_errors() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let device_global = "#include <oclave/oclave.h>\nint f() { return 7; }\nDEVICE_GLOBAL() __global int v = f();\n\
                         kernel void k(__global int *o) { *o = v; }\n";
    let plain = "int f() { return 7; }\n__global int v = f();\nkernel void k(__global int *o) { *o = v; }\n";
    let object = "#include <oclave/virtual.hpp>\n\
                  struct shape { INDIRECTLY_CALLABLE() virtual int area() const { return x; } int x; shape() : x(5) {} };\n\
                  __global shape s;\n\
                  CALLS_INDIRECTLY() kernel void k(__global int *o) { __global const shape *p = &s; *o = p->area(); }\n";
    for (source, at_o2) in [(device_global, true), (plain, true), (object, false)] {
        folder.write("early.clcpp", source);
        let is_refused = |level| {
            let error =
                folder.build(Config::new().opt_level(level), &["early.clcpp"]).error(ErrorKind::PostLink);
            assert_has(&error, &["early.clcpp", "no constant", "constant expression"]);
        };
        is_refused(0);
        if !at_o2 {
            is_refused(2);
            continue;
        }
        // Here the optimiser computes the value.
        let image = images(&folder.build(&mut Config::new(), &["early.clcpp"])).remove(0);
        let text = oclave_image::disassemble(&oclave_spirv::Module::from_words(image.spirv.clone()).unwrap());
        let known = image.device_globals().unwrap();
        let value = known.first().map(|global| global.initial.bytes.clone());
        assert!(value == Some(vec![7, 0, 0, 0]) || value.is_none() && text.contains(" 7"), "{text}");
    }
    // A constant object has its class, as a number in the place of a pointer.
    folder.write("early.clcpp", &object.replace("shape() :", "constexpr shape() :"));
    let image = images(&folder.build(&mut Config::new(), &["early.clcpp"])).remove(0);
    let text = oclave_image::disassemble(&oclave_spirv::Module::from_words(image.spirv).unwrap());
    assert_has(&text, &["ConvertUToPtr", "OpConstantComposite"]);
}

/// How often a product and a sum round is the kernel's to say, unless the program leaves it to
/// drivers.
#[test]
fn products_round_unless_drivers_may_contract() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "kernel void k(global float *x, global float4 *y, float a) { x[0] = x[1] * a + x[2]; y[0] = mad(y[1], a, y[2]); }\n\
         kernel void plain(global int *x) { *x = 1; }\n",
    );
    let text = |config: &mut Config| {
        let image = images(&folder.build(config, &["k.cl"])).remove(0);
        oclave_image::disassemble(&oclave_spirv::Module::from_words(image.spirv).unwrap())
    };
    let rounds = text(&mut Config::new());
    assert_eq!(rounds.matches("ContractionOff").count(), 2, "{rounds}");
    assert!(rounds.matches("OpFMul").count() == 2 && !rounds.contains("OpExtInst %"), "{rounds}");
    let contracts = text(Config::new().fp_contract(true));
    assert!(contracts.matches("OpExtInst %").count() == 2 && !contracts.contains("OpFMul"), "{contracts}");
}

/// A call that the translator leaves is one of a function that drivers may not have under that
/// name.
#[test]
fn built_in_functions_are_instructions_in_both_languages() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    let source = |kernel: &str| {
        format!(
            "kernel void {kernel}(global int *out, local int *shared) {{
    size_t i = get_global_id(0);
    shared[get_local_id(0)] = max(out[i], (int)abs(out[0]));
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc((volatile global int *)out);
    printf(\"%d\\n\", out[i]);
    out[i] = convert_uchar_sat(shared[0]) + (int)sqrt((float)out[i]) + atomic_load((volatile global atomic_int *)(out + 1));
}}"
        )
    };
    folder.write("c.cl", &source("in_c"));
    folder.write("cpp.clcpp", &source("in_cpp"));
    for sources in [&["c.cl"][..], &["cpp.clcpp"], &["c.cl", "cpp.clcpp"]] {
        let built = folder.build(&mut Config::new(), sources);
        for image in images(&built) {
            let module = Module::from_words(image.spirv.clone()).unwrap();
            let left: Vec<String> = module
                .names()
                .map(|(_, name)| name)
                .filter(|name| name.starts_with("_Z") && !name.contains("in_c"))
                .collect();
            assert!(left.is_empty(), "{sources:?}, {}: {left:?}", image.name);
        }
    }
}

/// What NVIDIA's devices need is in the images where the build asks for it, and nowhere else.
#[test]
fn images_bring_functions_and_ptx_for_nvidia() {
    if !toolchain_is_here() {
        return;
    }
    if oclave_ptx::Library::installed().is_err() {
        println!("skipped: no libclc; ci/setup ptxas installs it");
        return;
    }
    let folder = Folder::new();
    folder.write("k.cl", "kernel void k(global float *x) { x[0] = sin(x[1]); }\n");
    folder.write("devices.toml", "[targets.desk]\nlike = \"nvidia\"\nptx = [\"sm_80\"]\n");
    let one = |config: &mut Config| images(&folder.build(config, &["k.cl"])).remove(0);
    let (plain, with) = (one(&mut Config::new()), one(Config::new().nvidia(true)));
    assert_eq!(oclave_ptx::library_of(&plain), Ok(None));
    assert!(oclave_ptx::library_of(&with).unwrap().is_some());
    assert_eq!(plain.spirv, with.spirv, "the module is the same");
    assert!(oclave_ptx::ptx_of(&with, &"sm_90".parse().unwrap()).is_none());

    let ahead = one(Config::new().ahead_of_time(folder.path().join("devices.toml"), ["desk"]));
    let (held, text) = oclave_ptx::ptx_of(&ahead, &"sm_90".parse().unwrap()).unwrap();
    assert!(held.to_string() == "sm_80" && text.contains(".entry k("), "{text}");
    assert!(oclave_ptx::library_of(&ahead).unwrap().is_some(), "for what is made of it when it runs");
}
