//! The README and the guide's first page show this package's files as they are, and the program does
//! what they say.

use std::process::Command;

const PAGES: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../README.md")),
    ("docs/guide/first-program.md", include_str!("../../../docs/guide/first-program.md")),
];

#[test]
fn the_pages_show_these_files() {
    for (name, text) in [
        ("build.rs", include_str!("../build.rs")),
        ("kernels/saxpy.rs", include_str!("../kernels/saxpy.rs")),
        ("src/main.rs", include_str!("../src/main.rs")),
    ] {
        for (page, shown) in PAGES {
            assert!(shown.contains(text), "{page} does not show examples/hello/{name} as it is");
        }
    }
}

#[test]
fn it_runs() {
    let output = Command::new(env!("CARGO_BIN_EXE_hello")).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if error.contains("no OpenCL loader")
        || error.contains("found no driver")
        || error.contains("takes no SPIR-V")
    {
        println!("skipped: {error}");
        return;
    }
    assert!(output.status.success() && out.ends_with(": 10 × 2 + 1 = 21\n"), "{out}{error}");
}
