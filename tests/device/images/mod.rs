//! Images beyond the conformance scenarios, on the selected device: buffers of the crate `image`,
//! depths, the number of images in a kernel, and the calls of copies.

use oclave::Queue;

use crate::common;
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
