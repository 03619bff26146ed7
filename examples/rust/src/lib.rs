//! The kernels of this example: launchers for devices, and the same sources for the host.

/// Launchers, written by the build.
pub mod kernels {
    oclave::include_kernels!();
}

/// A program of sources in OpenCL C and in Rust.
pub mod both {
    oclave::include_kernels!("both");
}

/// Kernels in both languages, whose speed `ci/bench rust_kernels` compares.
pub mod speed {
    oclave::include_kernels!("speed");
}

/// A package of kernels with dependencies.
pub mod packaged {
    oclave::include_kernels!("rays");
}

pub mod host;
