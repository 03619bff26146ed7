//! Facts about PoCL that its driver does not report.

/// The widest vectors that PoCL passes in registers. It has a library of built-in functions for each
/// class of processors, and takes one by the features of the host or by this variable.
#[must_use]
pub fn vector_argument_bytes() -> u32 {
    match std::env::var("POCL_KERNELLIB_NAME").as_deref() {
        Ok("avx512") => 64,
        Ok("avx" | "avx2" | "avx_f16c" | "avx_fma4") => 32,
        Ok("sse2" | "ssse3" | "sse41") => 16,
        // PoCL ignores other names.
        _ => register_bytes(),
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn register_bytes() -> u32 {
    match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx")) {
        (true, _) => 64,
        (_, true) => 32,
        _ => 16,
    }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn register_bytes() -> u32 {
    16
}
