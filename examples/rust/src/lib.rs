//! The kernels of this example: launchers for devices, and the same sources for the host.

/// Launchers, written by the build.
pub mod kernels {
    oclave::include_kernels!();
}

/// The sources of the kernels on the host.
pub mod host {
    #[path = "../../kernels/mix.rs"]
    pub mod mix;
    #[path = "../../kernels/step.rs"]
    pub mod step;
}
