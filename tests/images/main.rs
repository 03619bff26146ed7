//! Images beyond the conformance scenarios, on the selected device: buffers of the crate `image`,
//! depths, the number of images in a kernel, and the calls of copies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use oclave::Queue;

#[path = "../common/mod.rs"]
mod common;
mod kernels {
    oclave::include_kernels!("tests");
}
mod arguments;
mod buffers;
mod copies;

/// A queue of a device that has images.
fn queue() -> Option<Queue> {
    let context = common::context()?;
    if context.device().capabilities().images.is_none() {
        println!("skipped: the device has no images");
        return None;
    }
    Some(Queue::new(&context).unwrap())
}
