//! Compiles the kernels of the tests, the examples and the benchmarks.

/// Programs, the folders of their sources, and the compiler's optimisation level.
const PROGRAMS: [(&str, &str, u32); 13] = [
    ("guide", "../kernels/guide", 2),
    ("tests", "../kernels/tests", 2),
    ("filters", "../examples/filters/kernels", 2),
    ("planets", "../examples/planets/kernels", 2),
    ("ports", "../examples/ports/kernels", 2),
    ("solver", "../examples/solver/kernels", 2),
    ("search", "../examples/search/kernels", 2),
    ("bench", "../kernels/bench", 2),
    ("virtual_functions", "../kernels/virtual", 2),
    ("virtual_functions_o0", "../kernels/virtual", 0),
    ("virtual_bases", "../kernels/virtual_bases", 2),
    ("scenarios", "../kernels/scenarios", 2),
    ("nesting", "../kernels/nesting", 2),
];

/// Sources that are programs of their own, named like them, by folder.
const APART: [(&str, &[&str]); 3] = [
    ("../kernels/bench_virtual", &["virtual_call", "virtual_link"]),
    ("../kernels/virtual_apart", &["apart_bodies", "apart_make", "apart_use"]),
    (
        "../kernels/virtual_linking",
        &[
            "squares",
            "circles",
            "use_first",
            "use_both",
            "misspelt",
            "names",
            "use_names",
            "use_default",
            "mixed",
            "plugged",
            "use_plug",
            "levels",
            "levels_inner",
            "levels_use",
            "levels_outer",
            "tally_first",
            "tally_other",
        ],
    ),
];

/// Programs with bodies for one side, compiled for each side or once for both, and the compiler's
/// optimisation level.
const SIDES: [(&str, &str, bool, u32); 6] = [
    ("single_pass", "bodies", true, 2),
    ("single_pass_o0", "bodies", true, 0),
    ("sides_virtual", "shapes", false, 2),
    ("sides_virtual_o0", "shapes", false, 0),
    ("single_pass_virtual", "shapes", true, 2),
    ("single_pass_virtual_o0", "shapes", true, 0),
];

/// Programs with sources in Rust.
const RUST: [(&str, &[&str]); 4] = [
    (
        "rust",
        &["parameters.rs", "panics.rs", "features.rs", "sides.rs", "vectors.rs", "prints.rs", "images.rs"],
    ),
    ("rust_mixed", &["mixed.rs", "mixed_c.cl"]),
    ("rust_objects", &["objects/objects.rs"]),
    ("rust_objects_apart", &["objects/apart.rs"]),
];

/// The variable that names the `OUT_DIR` of another run of this script. Its kernels are copied: lints need no new ones.
const BUILT: &str = "OCLAVE_BUILT_KERNELS";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={BUILT}");
    if let Some(built) = std::env::var_os(BUILT) {
        return copy_kernels(built.as_ref());
    }
    for (name, folder, level) in PROGRAMS {
        println!("cargo::rerun-if-changed={folder}");
        let sources = oclave_build::sources_in(folder)?;
        oclave_build::Config::new().out_name(name).opt_level(level).compile(&sources)?;
    }
    for (folder, names) in APART {
        for name in names {
            let source = format!("{folder}/{name}.clcpp");
            oclave_build::Config::new().out_name(*name).compile(&[source])?;
        }
    }
    for (name, source, single_pass, level) in SIDES {
        let mut config = oclave_build::Config::new();
        config.out_name(name).opt_level(level).single_pass(single_pass);
        config.compile(&[format!("../kernels/sides/{source}.clcpp")])?;
    }
    for (name, sources) in RUST {
        println!("cargo::rerun-if-changed=../kernels/rust");
        let sources: Vec<String> = sources.iter().map(|source| format!("../kernels/rust/{source}")).collect();
        oclave_build::Config::new().out_name(name).compile(&sources)?;
    }
    println!("cargo::rerun-if-changed=fixtures/random.rs");
    oclave_build::Config::new().out_name("rust_random").compile(&["fixtures/random.rs"])?;
    oclave_build::Config::new()
        .out_name("rust_quiet")
        .panics(oclave_build::Panics::Ignore)
        .compile(&["../kernels/rust/panics.rs"])?;
    oclave_build::Config::new()
        .out_name("rust_single_pass")
        .single_pass(true)
        .compile(&["../kernels/rust/sides.rs"])?;
    oclave_build::Config::new()
        .out_name("together")
        .compile(&oclave_build::sources_in("../kernels/virtual_apart")?)?;
    oclave_build::Config::new()
        .out_name("ahead")
        .ahead_of_time("../kernels/ahead/devices.toml", ["without_fp64"])
        .compile(&["../kernels/virtual/features.clcpp"])?;
    shared_library()?;
    Ok(())
}

/// Copies what another run of this script made, and tells cargo what that run told it.
fn copy_kernels(built: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    if built == out {
        return Err(format!("{BUILT} names the folder of this run itself").into());
    }
    for entry in std::fs::read_dir(built)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), out.join(entry.file_name()))?;
        }
    }
    // Cargo keeps what a script prints beside its OUT_DIR.
    let told = std::fs::read_to_string(built.with_file_name("output"))?;
    print!("{}", told.replace(&*built.to_string_lossy(), &out.to_string_lossy()));
    Ok(())
}

/// A shared library with the images of the program `plugged`, as `libplugged.so` in `OUT_DIR`.
fn shared_library() -> Result<(), Box<dyn std::error::Error>> {
    const SOURCE: &str = "fixtures/plugged.rs";
    println!("cargo::rerun-if-changed={SOURCE}");
    let var = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
    let out = std::path::PathBuf::from(var("OUT_DIR")?);
    let status = std::process::Command::new(var("RUSTC")?)
        .args(["--edition=2024", "--crate-type=cdylib", "--target", &var("TARGET")?, SOURCE, "-o"])
        .arg(out.join("libplugged.so"))
        .env("PLUGGED_IMAGES", &out)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("{SOURCE} does not compile").into()) }
}
