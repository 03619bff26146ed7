//! Images kept beside the sources: written on demand, used where there is no compiler, refused when
//! anything changed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Built, Folder, assert_has, toolchain_is_here};
use oclave_build::{Config, ErrorKind};

const SOURCE: &str = "#include \"by.h\"\nkernel void k(global int *x) { x[0] += BY; }\n";

/// A package with one kernel, a header, and checked-in images of them; `None` without a toolchain.
fn package() -> Option<Folder> {
    if !toolchain_is_here() {
        return None;
    }
    let folder = Folder::new();
    folder.write("kernels/k.cl", SOURCE);
    folder.write("kernels/by.h", "#define BY 3\n");
    let built = folder.build(config(&folder).env("OCLAVE_UPDATE_CHECKED_IN", "1"), &["kernels/k.cl"]);
    built.result.as_ref().unwrap();
    Some(folder)
}

fn config(folder: &Folder) -> Config {
    let mut config = Config::new();
    config.checked_in(folder.path().join("prebuilt"));
    config
}

trait WithoutCompiler {
    fn without_compiler(&mut self) -> &mut Self;
}

impl WithoutCompiler for Config {
    fn without_compiler(&mut self) -> &mut Self {
        self.env("PATH", "").env("OCLAVE_CLANG", "").env("OCLAVE_LLVM_SPIRV", "")
    }
}

fn build_without_compiler(folder: &Folder) -> Built {
    folder.build(config(folder).without_compiler(), &["kernels/k.cl"])
}

/// The host's side of shared functions is for one kind of machine.
#[test]
fn shared_functions_are_kept_for_the_machine_that_they_were_compiled_for() {
    let Some(folder) = package() else { return };
    folder.write("kernels/k.cl", "#include <oclave/oclave.h>\nSHARED int twice(int x) { return 2 * x; }\n");
    let target = "x86_64-unknown-linux-gnu";
    let update = folder
        .build(config(&folder).env("OCLAVE_UPDATE_CHECKED_IN", "1").env("TARGET", target), &["kernels/k.cl"]);
    let library = update.result.as_ref().unwrap().host_library.clone().unwrap();
    let without = folder.build(config(&folder).without_compiler().env("TARGET", target), &["kernels/k.cl"]);
    let copy = without.result.as_ref().unwrap().host_library.clone().unwrap();
    assert_eq!(std::fs::read(&library).unwrap(), std::fs::read(&copy).unwrap());
    assert_eq!(update.rust(), without.rust());
    assert_has(&without.cargo, &["cargo::rustc-link-search=native="]);
    let elsewhere = config(&folder).without_compiler().env("TARGET", "aarch64-apple-darwin").clone();
    let error = folder.build(&mut elsewhere.clone(), &["kernels/k.cl"]).error(ErrorKind::CheckedIn);
    assert_has(
        &error,
        &["compiled for x86_64-unknown-linux-gnu", "for aarch64-apple-darwin", "OCLAVE_UPDATE_CHECKED_IN"],
    );
    std::fs::write(folder.path().join("prebuilt").join(library.file_name().unwrap()), b"other").unwrap();
    let built = folder.build(config(&folder).without_compiler().env("TARGET", target), &["kernels/k.cl"]);
    assert_has(&built.error(ErrorKind::CheckedIn), &["oclave_shared_", "changed since"]);
}

#[test]
fn they_serve_where_there_is_no_compiler() {
    let Some(folder) = package() else { return };
    let with = folder.build(&mut config(&folder), &["kernels/k.cl"]);
    assert!(with.warnings().is_empty(), "{:?}", with.warnings());
    let without = build_without_compiler(&folder);
    let [warning] = without.warnings()[..] else { panic!("{:?}", without.warnings()) };
    assert_has(warning, &["no compiler", "prebuilt", "unchanged"]);
    assert_eq!(with.rust(), without.rust());
    let bytes = |built: &Built| {
        let paths = &built.result.as_ref().unwrap().images;
        paths.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(bytes(&with), bytes(&without));
    assert_has(
        &without.cargo,
        &[
            "cargo::rerun-if-changed=",
            "kernels/by.h\n",
            "oclave_kernels.manifest\n",
            "cargo::rerun-if-env-changed=OCLAVE_UPDATE_CHECKED_IN\n",
        ],
    );
    // Nothing of this machine is in what goes under version control.
    let manifest = folder.read("prebuilt/oclave_kernels.manifest");
    assert!(!manifest.contains(folder.path().to_str().unwrap()), "{manifest}");
    assert_has(
        &manifest,
        &["source kernels/k.cl ", "header kernels/by.h ", "image oclave_kernels.k.oclimg "],
    );
}

#[test]
fn line_ends_of_a_checkout_do_not_matter() {
    let Some(folder) = package() else { return };
    folder.write("kernels/k.cl", &SOURCE.replace('\n', "\r\n"));
    build_without_compiler(&folder).result.unwrap();
}

#[test]
fn changes_are_found() {
    let Some(folder) = package() else { return };
    let refused = |what: &[&str]| {
        let error = build_without_compiler(&folder).error(ErrorKind::CheckedIn);
        assert_has(&error, what);
        assert_has(&error, &["OCLAVE_UPDATE_CHECKED_IN=1", "apt install", "neither clang nor llvm-spirv"]);
    };
    folder.write("kernels/k.cl", &format!("{SOURCE}\n"));
    refused(&["kernels/k.cl changed"]);
    folder.write("kernels/k.cl", SOURCE);
    folder.write("kernels/by.h", "#define BY 4\n");
    refused(&["kernels/by.h changed"]);
    std::fs::remove_file(folder.path().join("kernels/by.h")).unwrap();
    refused(&["cannot read", "by.h"]);
    folder.write("kernels/by.h", "#define BY 3\n");
    build_without_compiler(&folder).result.unwrap();

    let image = folder.path().join("prebuilt/oclave_kernels.k.oclimg");
    let bytes = std::fs::read(&image).unwrap();
    std::fs::write(&image, &bytes[..bytes.len() - 1]).unwrap();
    refused(&["oclave_kernels.k.oclimg changed"]);
    std::fs::write(&image, bytes).unwrap();
    let rust = folder.read("prebuilt/oclave_kernels.rs");
    folder.write("prebuilt/oclave_kernels.rs", &rust.replace("KernelPointerMut", "KernelPointer"));
    refused(&["oclave_kernels.rs changed"]);
    folder.write("prebuilt/oclave_kernels.rs", &rust);

    let manifest = folder.read("prebuilt/oclave_kernels.manifest");
    folder.write("prebuilt/oclave_kernels.manifest", &manifest.replace("images 2", "images 0"));
    refused(&["another version"]);
    for (written, other) in [("image format 2", "image format 1"), ("generated text ", "generated text 0")] {
        assert_has(&manifest, &[written]);
        folder.write("prebuilt/oclave_kernels.manifest", &manifest.replacen(written, other, 1));
        refused(&["another version of oclave"]);
    }
    folder.write("prebuilt/oclave_kernels.manifest", &manifest.replace("image oclave", "image ../oclave"));
    refused(&["names a file elsewhere"]);
    let short = manifest.lines().filter(|line| !line.starts_with("rust ")).collect::<Vec<_>>().join("\n");
    folder.write("prebuilt/oclave_kernels.manifest", &short);
    refused(&["incomplete"]);
    std::fs::remove_file(folder.path().join("prebuilt/oclave_kernels.manifest")).unwrap();
    refused(&["no checked-in images"]);
    std::fs::create_dir(folder.path().join("prebuilt/oclave_kernels.manifest")).unwrap();
    refused(&["cannot read", "oclave_kernels.manifest"]);
}

#[test]
fn other_options_or_sources_are_refused() {
    let Some(folder) = package() else { return };
    folder.write("kernels/l.cl", "kernel void l(void) {}");
    let mut changed: [Config; 4] = std::array::from_fn(|_| config(&folder));
    changed[0].define("X", "1");
    changed[1].opt_level(1);
    changed[2].split(oclave_build::Split::Off);
    changed[3].extra_args(["-cl-fast-relaxed-math"]);
    for config in &mut changed {
        let error = folder.build(config.without_compiler(), &["kernels/k.cl"]).error(ErrorKind::CheckedIn);
        assert_has(&error, &["other options"]);
    }
    let built = folder.build(config(&folder).without_compiler(), &["kernels/k.cl", "kernels/l.cl"]);
    assert_has(
        &built.error(ErrorKind::CheckedIn),
        &["compiled from kernels/k.cl instead of kernels/k.cl, kernels/l.cl"],
    );
}

/// What panics of kernels in Rust do is in their images.
#[test]
fn panics_and_overflow_checks_are_options_of_kernels_in_rust() {
    let Some(folder) = package() else { return };
    folder.write(
        "kernels/r.rs",
        "use oclave_kernel::{Item, Out, kernel};\n#[kernel]\npub fn r(_: Item<1>, mut x: Out<u32>) { *x += 1; }\n",
    );
    let without_rustc = |config: &mut Config| config.without_compiler().env("RUSTC", "nothing").clone();
    for (sources, are_options) in [(&["kernels/k.cl"][..], false), (&["kernels/r.rs"], true)] {
        folder.build(config(&folder).update_checked_in(true), sources).result.unwrap();
        folder.build(&mut without_rustc(&mut config(&folder)), sources).result.unwrap();
        let mut ignores = without_rustc(config(&folder).panics(oclave_build::Panics::Ignore));
        let mut checks = without_rustc(config(&folder).env("CARGO_CFG_DEBUG_ASSERTIONS", ""));
        for config in [&mut ignores, &mut checks] {
            let built = folder.build(config, sources);
            match are_options {
                true => assert_has(&built.error(ErrorKind::CheckedIn), &["other options"]),
                false => assert!(built.result.is_ok(), "{:?}", built.result),
            }
        }
    }
}

#[test]
fn stale_images_are_noticed_where_a_compiler_is() {
    let Some(folder) = package() else { return };
    folder.write("kernels/by.h", "#define BY 5\n");
    let built = folder.build(&mut config(&folder), &["kernels/k.cl"]);
    built.result.as_ref().unwrap();
    assert_has(&built.warnings().join("\n"), &["kernels/by.h changed", "does not need them"]);
    // Rewritten through the method instead of the variable.
    folder.build(config(&folder).update_checked_in(true), &["kernels/k.cl"]).result.unwrap();
    build_without_compiler(&folder).result.unwrap();
}

#[test]
fn without_the_option_there_is_no_fallback() {
    let folder = Folder::new();
    folder.write("k.cl", "kernel void k(void) {}");
    let error = folder.build(Config::new().without_compiler(), &["k.cl"]).error(ErrorKind::Toolchain);
    assert_has(&error, &["checked_in"]);
}
