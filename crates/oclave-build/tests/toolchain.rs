//! Which compilers are taken and which refused, with programs that only pretend to be compilers.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Built, Folder, assert_has};
use oclave_build::{Config, ErrorKind};

/// What `--version` of a clang and of an llvm-spirv of a version prints; any other use fails,
/// saying who it is.
fn clang(version: &str) -> String {
    format!(
        "[ \"$1\" = --version ] && echo 'Debian clang version {version}' && exit 0\necho \"I am clang {version}\" >&2\nexit 1"
    )
}

fn llvm(version: &str) -> String {
    format!(
        "[ \"$1\" = --version ] && printf 'LLVM (http://llvm.org/):\\n  LLVM version {version}\\n' && exit 0\nexit 1"
    )
}

/// Builds `k.cl` with only these programs on `PATH`, and these variables.
fn build(programs: &[(&str, String)], variables: &[(&str, &str)]) -> Built {
    let folder = Folder::new();
    folder.write("k.cl", "kernel void k(global int *x) { x[0] = 1; }");
    let scripts: Vec<(&str, &str)> = programs.iter().map(|(name, script)| (*name, script.as_str())).collect();
    let path = folder.programs("bin", &scripts);
    let mut config = Config::new();
    config
        .env("PATH", &path)
        .env("OCLAVE_CLANG", "")
        .env("OCLAVE_LLVM_SPIRV", "")
        .env("OCLAVE_LLVM_LINK", "");
    for (variable, value) in variables {
        config.env(*variable, value.replace("BIN", path.to_str().unwrap()));
    }
    folder.build(&mut config, &["k.cl"])
}

/// The clang that was asked to compile: the pretended ones say who they are.
fn chosen(programs: &[(&str, String)], variables: &[(&str, &str)]) -> String {
    let error = build(programs, variables).error(ErrorKind::Compile);
    error.lines().find_map(|line| line.strip_prefix("I am ")).map(str::to_owned).expect(&error)
}

#[test]
fn nothing_there() {
    let error = build(&[], &[]).error(ErrorKind::Toolchain);
    assert_has(
        &error,
        &[
            "neither clang nor llvm-spirv",
            "apt install clang-15 llvm-15 llvm-spirv-15",
            "clang-19",
            "dnf install",
            "pacman -S",
            "OCLAVE_CLANG",
            "checked_in",
        ],
    );
}

#[test]
fn one_half_is_missing() {
    let error = build(&[("clang-15", clang("15.0.6"))], &[]).error(ErrorKind::Toolchain);
    assert_has(
        &error,
        &["found clang 15.0.6 and llvm-spirv none (clang's own SPIR-V back end", "llvm-spirv-15"],
    );
}

#[test]
fn the_halves_differ() {
    let programs =
        [("clang-15", clang("15.0.6")), ("clang-17", clang("17.0.1")), ("llvm-spirv-16", llvm("16.0.0"))];
    let error = build(&programs, &[]).error(ErrorKind::Toolchain);
    assert_has(&error, &["found clang 15.0.6, 17.0.1 and llvm-spirv 16.0.0"]);
}

#[test]
fn versions_that_were_not_tested_come_last() {
    let pair = |major: u32| {
        let version = format!("{major}.1.0");
        [(format!("clang-{major}"), clang(&version)), (format!("llvm-spirv-{major}"), llvm(&version))]
    };
    let chosen_of = |majors: &[u32]| {
        let programs: Vec<(String, String)> = majors.iter().flat_map(|major| pair(*major)).collect();
        let programs: Vec<(&str, String)> =
            programs.iter().map(|(name, script)| (name.as_str(), script.clone())).collect();
        chosen(&programs, &[])
    };
    assert_eq!(chosen_of(&[15, 22, 97]), "clang 22.1.0");
    assert_eq!(chosen_of(&[98, 97]), "clang 97.1.0");
}

#[test]
fn too_old() {
    let programs = [("clang-13", clang("13.0.1")), ("llvm-spirv-13", llvm("13.0.0"))];
    assert_has(&build(&programs, &[]).error(ErrorKind::Toolchain), &["13.0.1, too old", "14 or later"]);
}

#[test]
fn a_version_with_a_faulty_translator_is_passed_over() {
    let faulty = [("clang-16", clang("16.0.6")), ("llvm-spirv-16", llvm("16.0.0"))];
    let error = build(&faulty, &[]).error(ErrorKind::Toolchain);
    assert_has(&error, &["LLVM 16, whose translator", "wrong types", "apt install clang-18"]);
    let wanted = [("OCLAVE_CLANG", "clang-16"), ("OCLAVE_LLVM_SPIRV", "llvm-spirv-16")];
    assert_has(&build(&faulty, &wanted).error(ErrorKind::Toolchain), &["LLVM 16, whose translator"]);
    let older = [("clang-15", clang("15.0.6")), ("llvm-spirv-15", llvm("15.0.6"))];
    assert_eq!(chosen(&[faulty, older].concat(), &[]), "clang 15.0.6");
}

#[test]
fn the_highest_pair_wins() {
    let programs = [
        ("clang-14", clang("14.0.0")),
        ("llvm-spirv-14", llvm("14.0.0")),
        ("clang-17", clang("17.0.6")),
        ("llvm-spirv-17", llvm("17.0.0")),
        ("clang-21", clang("21.1.0")),
        ("clang-format-16", clang("16.0.6")),
        ("clang-cpp", clang("30.0.0")),
    ];
    assert_eq!(chosen(&programs, &[]), "clang 17.0.6");
}

#[test]
fn names_without_a_version_count_by_what_they_say() {
    let programs = [("clang", clang("18.1.3")), ("llvm-spirv", llvm("18.1.0"))];
    assert_eq!(chosen(&programs, &[]), "clang 18.1.3");
    let programs = [("clang", clang("18.1.3")), ("llvm-spirv-18", llvm("18.1.0"))];
    assert_eq!(chosen(&programs, &[]), "clang 18.1.3");
}

#[test]
fn variables_win_over_the_search_path() {
    let programs = [
        ("clang-16", clang("16.0.6")),
        ("llvm-spirv-16", llvm("16.0.0")),
        ("old-clang", clang("15.0.1")),
        ("llvm-spirv-15", llvm("15.0.0")),
    ];
    assert_eq!(chosen(&programs, &[("OCLAVE_CLANG", "BIN/old-clang")]), "clang 15.0.1");
    assert_eq!(chosen(&programs, &[("OCLAVE_CLANG", "old-clang")]), "clang 15.0.1");
    let wrong = [("OCLAVE_CLANG", "old-clang"), ("OCLAVE_LLVM_SPIRV", "llvm-spirv-16")];
    let error = build(&programs, &wrong).error(ErrorKind::Toolchain);
    assert_has(&error, &["found clang 15.0.1 and llvm-spirv 16.0.0"]);
}

#[test]
fn variables_that_name_nothing_usable() {
    let programs =
        [("clang-16", clang("16.0.6")), ("llvm-spirv-16", llvm("16.0.0")), ("odd", "echo hello".into())];
    let error = build(&programs, &[("OCLAVE_CLANG", "BIN/absent")]).error(ErrorKind::Toolchain);
    assert_has(&error, &["OCLAVE_CLANG names ", "/absent", "unset it"]);
    let error = build(&programs, &[("OCLAVE_LLVM_SPIRV", "odd")]).error(ErrorKind::Toolchain);
    assert_has(&error, &["odd does not tell its version", "hello"]);
}

#[test]
fn the_compiler_fails_without_a_word() {
    let silent = "[ \"$1\" = --version ] && echo 'clang version 15.0.0' && exit 0\nexit 3";
    let error = build(&[("clang-15", silent.into()), ("llvm-spirv-15", llvm("15.0.0"))], &[]);
    assert_has(
        &error.error(ErrorKind::Compile),
        &["k.cl does not compile", "it said nothing", "exit status: 3", "-cl-std=CL3.0", "clang-15 "],
    );
}

#[test]
fn several_sources_need_a_linker_of_the_same_version() {
    let (Some(real_clang), true) = (common::which("clang-15"), common::which("llvm-spirv-15").is_some())
    else {
        println!("skipped: no clang-15 and llvm-spirv-15");
        return;
    };
    let folder = Folder::new();
    folder.write("a.cl", "kernel void a(void) {}");
    folder.write("b.cl", "kernel void b(void) {}");
    // A copy of the script's folder has no llvm-link beside it.
    let wrapper = format!("exec {real_clang} \"$@\"");
    let path = folder.programs("bin", &[("clang-15", &wrapper), ("llvm-spirv-15", &llvm("15.0.6"))]);
    let mut config = Config::new();
    config.env("PATH", &path).env("OCLAVE_LLVM_LINK", "");
    let error = folder.build(&mut config, &["a.cl", "b.cl"]).error(ErrorKind::Toolchain);
    assert_has(&error, &["llvm-link of version 15, found none", "llvm-15", "OCLAVE_LLVM_LINK"]);
}

#[test]
fn cargo_learns_of_the_variables_even_on_failure() {
    let built = build(&[], &[]);
    for variable in ["OCLAVE_CLANG", "OCLAVE_LLVM_SPIRV", "OCLAVE_LLVM_LINK"] {
        assert_has(&built.cargo, &[&format!("cargo::rerun-if-env-changed={variable}\n")]);
    }
    assert_has(&built.cargo, &["cargo::rerun-if-changed=", "k.cl\n"]);
}

#[test]
fn a_tool_that_hangs_is_ended() {
    let hangs = "[ \"$1\" = --version ] && echo 'clang version 15.0.0' && exit 0\nexec sleep 600";
    let folder = Folder::new();
    folder.write("k.cl", "kernel void k(void) {}");
    let path = folder.programs("bin", &[("clang-15", hangs), ("llvm-spirv-15", &llvm("15.0.0"))]);
    let mut config = Config::new();
    config
        .env("PATH", format!("{}:/bin:/usr/bin", path.display()))
        .env("OCLAVE_CLANG", path.join("clang-15"));
    config.env("OCLAVE_LLVM_SPIRV", path.join("llvm-spirv-15")).tool_limit(std::time::Duration::from_secs(5));
    let error = folder.build(&mut config, &["k.cl"]).error(ErrorKind::Toolchain);
    assert_has(
        &error,
        &["did not end within 5 s and was ended", "Config::tool_limit", "bin/clang-15 ", "k.cl"],
    );
}
