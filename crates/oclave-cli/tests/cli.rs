//! The tool as a user runs it: on the machine as it is, and on broken ones.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn oclave(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oclave"))
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("the tool starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Whether the machine lacks what a message tells.
fn lacks(what: &str) -> bool {
    let error = text(&oclave(&["devices"], &[]).stderr);
    let lacks = error.contains(what);
    if lacks {
        println!("skipped: {error}");
    }
    lacks
}

#[test]
fn without_a_loader_it_says_what_to_install() {
    let output = oclave(&["devices"], &[("OCLAVE_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so")]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    for part in [
        "no OpenCL loader",
        "/nonexistent/libOpenCL.so",
        "ocl-icd-libopencl1",
        "intel-opencl-rt",
        "OCLAVE_OPENCL_LIBRARY",
    ] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn the_page_of_faults_is_what_the_tool_prints() {
    let output = oclave(&["faults", "--markdown"], &[]);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md");
    assert!(
        text(&output.stdout) == std::fs::read_to_string(page).unwrap(),
        "run: cargo run -p oclave-cli -- faults --markdown > docs/faults.md"
    );
    let all: serde_json::Value = serde_json::from_slice(&oclave(&["faults", "--json"], &[]).stdout).unwrap();
    let lines = text(&output.stdout).lines().filter(|line| line.starts_with("| Q")).count();
    assert_eq!(all.as_array().unwrap().len(), lines);
    assert!(lines > 50, "{lines}");
}

#[test]
fn faults_of_a_device_follow_the_environment() {
    if lacks("no OpenCL") {
        return;
    }
    let of = |words: &str| {
        let output = oclave(&["faults", "--device", "0", "--json"], &[("OCLAVE_FAULTS", words)]);
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let names = all.as_array().unwrap().iter().map(|row| row["fault"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(of("none"), Vec::<String>::new());
    assert_eq!(of("none,+Q45"), ["Q45"]);
    let error = text(&oclave(&["faults", "--device", "99"], &[]).stderr);
    assert!(error.contains("no device 99"), "{error}");
}

#[test]
fn a_library_that_is_not_opencl_is_refused() {
    // The C library is loaded already, whatever the machine.
    let output = oclave(&["devices"], &[("OCLAVE_OPENCL_LIBRARY", "libc.so.6")]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("`libc.so.6`") && error.contains("clGetPlatformIDs"), "{error}");
}

#[test]
fn without_a_platform_it_says_what_to_install() {
    if lacks("no OpenCL loader") {
        return;
    }
    let empty = folder("no-drivers");
    let output = oclave(&["devices"], &[("OCL_ICD_VENDORS", empty.to_str().unwrap())]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    for part in ["found no driver", "OCL_ICD_VENDORS", "no-drivers", "pocl-opencl-icd"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn an_unknown_mask_lists_the_known() {
    if lacks("no OpenCL loader") || lacks("found no driver") {
        return;
    }
    let output = oclave(&["devices"], &[("OCLAVE_MASK", "usm,nonsense")]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("OCLAVE_MASK") && error.contains("`nonsense`"), "{error}");
    assert!(error.contains("command_buffer,mutable_dispatch"), "{error}");
}

#[test]
fn devices_prints_a_table() {
    let output = oclave(&["devices"], &[]);
    let table = text(&output.stdout);
    if !output.status.success() {
        println!("skipped: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("install"));
        return;
    }
    println!("{table}");
    for row in [
        "OpenCL loader:",
        "SPIR-V",
        "USM",
        "command buffers",
        "oclave uses",
        "device globals",
        "images",
        "image formats",
    ] {
        assert!(table.contains(row), "no `{row}`");
    }

    let masked =
        text(&oclave(&["devices"], &[("OCLAVE_MASK", "spirv,usm,svm,buffer_device_address")]).stdout);
    assert!(
        masked.contains("masked: spirv,usm,svm,buffer_device_address") && masked.contains("takes no SPIR-V"),
        "{masked}"
    );
    assert!(masked.contains("none: kernels cannot address memory by pointers"), "{masked}");
}

/// Devices that report OpenCL 3.1 and unified SVM, by the library of `ci/setup.d/unified_svm.c`.
#[test]
fn devices_of_opencl_3_1_are_described() {
    let Ok(library) = std::env::var("OCLAVE_UNIFIED_SVM_LIBRARY") else {
        println!("skipped: OCLAVE_UNIFIED_SVM_LIBRARY names no library with OpenCL 3.1 (ci/on sets it)");
        return;
    };
    let environment = [
        ("OCLAVE_OPENCL_LIBRARY", library.as_str()),
        ("SHOWN_OPENCL", "3.1"),
        ("OCLAVE_MEMORY", "unified_svm"),
    ];
    let output = oclave(&["devices"], &environment);
    if !output.status.success() {
        println!("skipped: {}", text(&output.stderr));
        return;
    }
    let table = text(&output.stdout);
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(row("OpenCL  ").contains("OpenCL 3.1"), "{table}");
    assert!(row("UUID").contains('-'), "{table}");
    assert!(row("unified SVM").contains("0.9: types 0 (of the device, indirect)"), "{table}");
    assert!(row("memory  ").contains("by unified SVM"), "{table}");
    let json = oclave(&["devices", "--json"], &environment);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["devices"][0]["unified_svm"]["types"][0][1], "DEVICE_OWNED");
}

#[test]
fn json_is_json_with_the_same_devices() {
    let output = oclave(&["devices", "--json"], &[]);
    if !output.status.success() {
        println!("skipped: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("install"));
        return;
    }
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let devices = json["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    for device in devices {
        assert!(device["compute_units"].as_u64().unwrap() > 0);
        assert!(device["extensions"].is_object());
        let takes = !device["spirv_versions"].as_array().unwrap().is_empty() || !device["ptx"].is_null();
        assert_eq!(device["usable"], takes);
        if let Some(images) = device["images"].as_object() {
            assert!(images["max_2d"][0].as_u64().unwrap() > 0, "{images:?}");
            let formats = images["formats"]["image2d_t"].as_array().unwrap();
            assert!(formats.iter().any(|format| format["format"] == "RGBA unorm8"), "{formats:?}");
        }
    }
    // A device without images has none.
    let masked = oclave(&["devices", "--json"], &[("OCLAVE_MASK", "image")]);
    let json: serde_json::Value = serde_json::from_slice(&masked.stdout).unwrap();
    assert!(json["devices"].as_array().unwrap().iter().all(|device| device["images"].is_null()));
}

/// Whether it succeeded, and what it said on standard error, with nobody reading its output.
fn into_closed_pipe(arguments: &[&str]) -> (bool, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oclave"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.success(), text(&output.stderr))
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let (_, error) = into_closed_pipe(&["help"]);
    assert!(!error.contains("panicked"), "{error}");
    let (success, error) = into_closed_pipe(&["devices", "--json"]);
    assert!(!error.contains("panicked"), "{error}");
    assert!(success || error.contains("install"), "{error}");
}

#[test]
fn dump_refuses_what_is_no_image() {
    let folder = folder("dump");
    for (name, bytes) in
        [("empty.oci", &b""[..]), ("text.oci", b"hello"), ("short.spv", b"\x03\x02\x23\x07abc")]
    {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        let output = oclave(&["dump", path.to_str().unwrap()], &[]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(error.contains(name) && error.contains("malformed"), "{error}");
    }
    let output = oclave(&["dump", folder.join("missing.oci").to_str().unwrap()], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("missing.oci"));
    assert_eq!(oclave(&["dump", folder.to_str().unwrap()], &[]).status.code(), Some(1));
    assert_eq!(oclave(&["dump"], &[]).status.code(), Some(2));
}

/// A package whose build script tells of two programs as that of `oclave_build` does, with an image
/// of an earlier build beside them.
fn package() -> PathBuf {
    let root = folder("package");
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"app\"\nedition = \"2024\"\n[workspace]\n\
         [features]\nthird = []\n[profile.own]\ninherits = \"release\"\n",
    );
    write("src/lib.rs", "");
    let fixture = fixture("arith8.O2.spv");
    write(
        "build.rs",
        &format!(
            r#"fn main() {{
                let out = std::env::var("OUT_DIR").unwrap();
                let mut programs = vec![("one", vec!["a", "b"]), ("two", vec!["c"])];
                if std::env::var_os("CARGO_FEATURE_THIRD").is_some() {{
                    programs.push(("third", vec!["d"]));
                }}
                if std::env::var("PROFILE").unwrap() == "release" {{
                    programs.push(("fast", vec!["e"]));
                }}
                for (program, images) in programs {{
                    let mut text = String::new();
                    for image in images {{
                        std::fs::copy("{fixture}", format!("{{out}}/{{program}}.{{image}}.oclimg")).unwrap();
                        text += &format!("include_bytes!(\"{{program}}.{{image}}.oclimg\")\n");
                    }}
                    std::fs::write(format!("{{out}}/{{program}}.rs"), text).unwrap();
                    println!("cargo::rustc-env=OCLAVE_KERNELS_{{program}}={{out}}/{{program}}.rs");
                }}
                std::fs::copy("{fixture}", format!("{{out}}/one.stale.oclimg")).unwrap();
            }}"#
        ),
    );
    root
}

#[test]
fn images_of_a_package_are_found() {
    let root = package();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oclave"));
        command.args(arguments).current_dir(&root).env("CARGO_TARGET_DIR", root.join("target"));
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, error) = run(&["dump", "--package", "app"]);
    if error.contains("does not start: No such file") {
        println!("skipped: cargo is not there: {error}");
        return;
    }
    assert_eq!(code, Some(0), "{error}");
    let (a, b, c) = (out.find("one.a"), out.find("one.b"), out.find("two.c"));
    assert!(a.is_some() && a < b && b < c && !out.contains("stale"), "{out}");
    let (_, out, error) = run(&["dump", "--package", "app", "--program", "two"]);
    assert!(out.contains("two.c") && !out.contains("one."), "{out}{error}");
    for (options, found) in [
        (&["--release"][..], [false, true]),
        (&["--profile", "own", "--features", "third"], [true, true]),
        (&["--features", "third"], [true, false]),
    ] {
        let (_, out, error) = run(&[&["dump", "--package", "app"], options].concat());
        assert_eq!(["third.d", "fast.e"].map(|name| out.contains(name)), found, "{options:?}: {error}");
    }
    for (arguments, part) in [
        (&["dump", "--package", "app", "--program", "three"][..], "compiles no kernels named `three`"),
        (&["dump", "--package", "nobody"], "`cargo build --package nobody"),
        (
            &["aot", "--package", "app", "--target", "nvidia", "--out", "x"],
            "choose one with --program: one, two",
        ),
    ] {
        let (code, _, error) = run(arguments);
        assert!(code == Some(1) && error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn files_without_an_end_are_refused() {
    let folder = folder("endless");
    let fifo = folder.join("fifo");
    let _ = std::fs::remove_file(&fifo);
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let big = folder.join("big.oci");
    std::fs::File::create(&big).unwrap().set_len(1 << 40).unwrap();
    for (path, why) in [
        ("/dev/zero", "not a regular file"),
        (fifo.to_str().unwrap(), "not a regular file"),
        (big.to_str().unwrap(), "too many for a device image"),
    ] {
        let output = oclave(&["dump", path], &[]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(error.contains(path) && error.contains(why), "{error}");
    }
}

#[test]
fn dump_shows_a_module() {
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-spirv/tests/corpus/control.O2.spv");
    let output = oclave(&["dump", module], &[]);
    let short = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(short.contains("kernels: ") && !short.contains("kernels: 0"), "{short}");
    let long = text(&oclave(&["dump", "--code", module], &[]).stdout);
    assert!(long.starts_with(&short) && long.contains("OpEntryPoint"), "{long}");
}

#[test]
fn dump_shows_what_passes_change() {
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/neighbours.O2.spv");
    let changed = text(&oclave(&["dump", "--passes", "Q16", module], &[]).stdout);
    assert!(
        changed.contains("\npass 1 (Q16, fences)\n") && changed.contains("\n+OpMemoryBarrier"),
        "{changed}"
    );
    let same = text(&oclave(&["dump", "--passes", "none", module], &[]).stdout);
    assert!(same.ends_with("\nno pass changes the module\n"), "{same}");
    let refused = oclave(&["dump", "--passes", "Q0", module], &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("is no fault"));
}

/// The kernel of a SPIR-V file as an image, and a configuration of two targets.
fn aot_input(name: &str) -> (PathBuf, String, String) {
    use oclave_spirv::Module;
    let folder = folder(name);
    let spirv = include_bytes!("../../oclave-spirv/tests/corpus/fp64.O2.spv");
    let unit = oclave_image::TranslationUnit::new("fp64", Module::from_bytes(spirv).unwrap());
    let images = oclave_image::post_link(&[unit], &Default::default()).unwrap();
    let mut paths = Vec::new();
    for image in &images {
        let path = folder.join(format!("{}.oclimg", image.name));
        std::fs::write(&path, image.to_bytes()).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    assert_eq!(paths.len(), 2, "one with fp64, one without");
    let config = folder.join("devices.toml");
    let text = "[targets.small]\naspects = [\"generic_pointer\"]\n[targets.large]\nlike = \"small\"\naspects = [\"fp64\"]\n";
    std::fs::write(&config, text).unwrap();
    (folder, config.to_str().unwrap().to_owned(), paths.join("\n"))
}

#[test]
fn aot_writes_what_the_targets_run() {
    let (folder, config, paths) = aot_input("aot-targets");
    let images: Vec<&str> = paths.lines().collect();
    for (target, count) in [("small", 1), ("large", 2)] {
        let out = folder.join(target);
        let arguments =
            ["aot", "--device-config", &config, "--target", target, "--out", out.to_str().unwrap()];
        let output = oclave(&[&arguments, images.as_slice()].concat(), &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).lines().count(), count, "{target}");
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), count);
    }
    let unknown = ["aot", "--device-config", &config, "--target", "tiny", "--out", "unused"];
    let output = oclave(&[&unknown, images.as_slice()].concat(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("`large`, `nvidia`, `small`"), "{}", text(&output.stderr));
    let neither = oclave(&[&["aot", "--out", "unused"], images.as_slice()].concat(), &[]);
    assert_eq!(neither.status.code(), Some(2));
}

#[test]
fn aot_makes_binaries_for_a_device() {
    let (folder, _, paths) = aot_input("aot-device");
    let images: Vec<&str> = paths.lines().collect();
    let out = folder.join("device");
    let wish = std::env::var("OCLAVE_DEVICE").unwrap_or_else(|_| "0".to_owned());
    let arguments = ["aot", "--device", &wish, "--out", out.to_str().unwrap()];
    let output = oclave(&[&arguments, images.as_slice()].concat(), &[]);
    if !output.status.success() {
        println!("skipped: {}", text(&output.stderr));
        return;
    }
    for path in text(&output.stdout).lines() {
        let dump = text(&oclave(&["dump", path], &[]).stdout);
        assert!(dump.contains("oclave/device binaries"), "{dump}");
    }
}

/// A module of the tests of `oclave-ptx`.
fn fixture(name: &str) -> String {
    format!("{}/../oclave-ptx/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn dump_prints_ptx() {
    let output = oclave(&["dump", "--ptx", "sm_80", &fixture("arith8.O2.spv")], &[]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shown.contains(".target sm_80") && shown.contains(".entry arith8("), "{shown}");

    let wrong = oclave(&["dump", "--ptx", "sm_50", &fixture("arith8.O2.spv")], &[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("7.0"), "{}", text(&wrong.stderr));
}

#[test]
fn aot_makes_ptx_for_nvidia() {
    let (folder, config, paths) = aot_input("aot-nvidia");
    let images: Vec<&str> = paths.lines().collect();
    let (out, old) = (folder.join("new"), folder.join("old"));
    let arguments = [
        "aot",
        "--target",
        "nvidia",
        "--compute-capability",
        "sm_80",
        "--compute-capability",
        "sm_90",
        "--out",
    ];
    let output = oclave(&[&arguments[..], &[out.to_str().unwrap()], images.as_slice()].concat(), &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written = text(&output.stdout);
    assert_eq!(written.lines().count(), 2);
    for path in written.lines() {
        let image = oclave_image::DeviceImage::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let (held, ptx) = oclave_ptx::ptx_of(&image, &"sm_90".parse().unwrap()).unwrap();
        assert_eq!(held.to_string(), "sm_90");
        let shown = text(&oclave(&["dump", "--ptx", "sm_90", path], &[]).stdout);
        assert!(shown.contains("[oclave/ptx]") && shown.ends_with(ptx), "{shown}");
        assert!(oclave_ptx::ptx_of(&image, &"sm_75".parse().unwrap()).is_none());
    }
    // Every file has the target as well, for the oldest devices unless it says otherwise.
    let arguments = ["aot", "--device-config", &config, "--target", "nvidia", "--out", old.to_str().unwrap()];
    let output = oclave(&[&arguments, images.as_slice()].concat(), &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for path in text(&output.stdout).lines() {
        let image = oclave_image::DeviceImage::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        assert!(oclave_ptx::ptx_of(&image, &"sm_70".parse().unwrap()).is_some());
    }
    let wrong = ["aot", "--target", "elsewhere", "--out", "unused"];
    let output = oclave(&[&wrong, images.as_slice()].concat(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("`nvidia`"), "{}", text(&output.stderr));
}

#[test]
fn without_the_library_ptx_says_what_to_install() {
    let environment = [("OCLAVE_LIBCLC", "/nonexistent/libclc.spv")];
    let output = oclave(&["dump", "--ptx", "sm_80", &fixture("small.spv")], &environment);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nonexistent/libclc.spv"), "{}", text(&output.stderr));
}
