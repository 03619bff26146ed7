//! What rustc must refuse: wrong arguments of kernels, access that a device global does not grant,
//! and the like.
//!
//! Each program has a file with the compiler's messages. `TRYBUILD=overwrite cargo test --test
//! compile_fail` writes them again.

#[test]
fn programs_that_must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
