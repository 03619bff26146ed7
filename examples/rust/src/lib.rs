//! The kernels of this example: launchers for devices, and the same sources for the host.

/// Launchers, written by the build.
pub mod kernels {
    oclave::include_kernels!();
}

pub mod host;
