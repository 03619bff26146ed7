//! Compiles this repository's own kernels (tests, examples, benchmarks); downstream builds do nothing here.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
