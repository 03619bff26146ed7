//! What the tests of kernels in Rust share: launchers, and the same sources for the host.

use bytemuck::Pod;
use oclave::kernel::{KernelCall, LaunchRange};
use oclave::memory::usm;
use oclave::{Context, Error, ErrorKind, Queue, UsmSlice};

/// Launchers of the kernels of `kernels/rust`.
pub(crate) mod on_device {
    oclave::include_kernels!("rust");
}

/// Launchers of kernels whose panics are ignored.
pub(crate) mod quiet {
    oclave::include_kernels!("rust_quiet");
}

/// Launchers of kernels that were compiled once for devices and the host.
pub(crate) mod single_pass {
    oclave::include_kernels!("rust_single_pass");
}

/// Launchers of those that call OpenCL C, and are called by it.
pub(crate) mod mixed {
    oclave::include_kernels!("rust_mixed");
}

#[path = "../../kernels/rust/features.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
pub(crate) mod features;
#[path = "../../kernels/rust/images.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
pub(crate) mod images;
#[path = "../../kernels/rust/parameters.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
pub(crate) mod parameters;
#[path = "../../kernels/rust/prints.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
pub(crate) mod prints;
#[path = "../../kernels/rust/sides.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
pub(crate) mod sides;
#[path = "../../kernels/rust/vectors.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
pub(crate) mod vectors;

/// A context that no other test uses, since the error of a panic belongs to a context, and a queue.
/// `None`, after saying why, without a device.
pub(crate) fn setting() -> Option<(Context, Queue)> {
    crate::common::setting()
}

/// Numbers below 1000 that look random.
pub(crate) fn numbers(count: usize) -> Vec<u32> {
    let mut state = 12_345_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 12) % 1000
    };
    (0..count).map(|_| next()).collect()
}

/// Memory without defined values.
pub(crate) fn memory<T: Pod>(queue: &Queue, count: usize) -> UsmSlice<T, usm::DeviceOnly> {
    queue.context().alloc_device(count).unwrap()
}

/// Runs a kernel that does not panic.
#[track_caller]
pub(crate) fn run(queue: &Queue, range: impl LaunchRange, call: KernelCall) {
    queue.parallel_for(range, call).unwrap().wait().unwrap();
}

/// Runs a kernel that panics, and checks what the host is told of it.
#[track_caller]
pub(crate) fn panics(queue: &Queue, range: impl LaunchRange, call: KernelCall, parts: &[&str]) {
    queue.parallel_for(range, call).unwrap();
    told(&queue.wait().expect_err("the wait tells of the panic"), parts);
    queue.wait().unwrap();
}

/// Checks the error of a panic.
#[track_caller]
pub(crate) fn told(error: &Error, parts: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::Kernel);
    let text = error.to_string();
    assert!(text.contains("work-item ") && text.contains(" panicked: "), "{text}");
    for part in parts {
        assert!(text.contains(part), "{text:?} does not contain {part:?}");
    }
}
