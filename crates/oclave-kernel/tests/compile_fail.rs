//! What the types of kernels forbid.
//!
//! Each program has a file with the compiler's messages. `TRYBUILD=overwrite cargo test -p oclave-kernel --test
//! compile_fail` writes them again.

#[test]
fn kernels_that_must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
