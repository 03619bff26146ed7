//! Copies, fills and kernels of images against raw OpenCL, alternating in one process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is pixels, times are medians of single
//! commands that are waited for, and of one command of a hundred for chains. The reference has an
//! event for each command where the library has one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use oclave::images::{D2, Image, Rgba, Unorm8};
use oclave::{Context, Queue};
use raw::Raw;
use raw::images::RawImage;

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::pixels::invert;

/// `kernels/bench/pixels.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/pixels.spv");
const CHAIN: usize = 100;

fn main() {
    let Some(device) = measure::device() else { return };
    if device.capabilities().images.is_none() {
        println!("skipped: the device has no images");
        return;
    }
    let queue = Queue::new(&Context::new(&device).unwrap()).unwrap();
    let raw = Raw::new(device.name(), false);
    for edge in [32, 256, 2048] {
        compare(&queue, &raw, edge);
    }
}

fn compare(queue: &Queue, raw: &Raw, edge: usize) {
    let pixels = edge * edge;
    let (rounds, repeat) = match edge {
        32 => (101, 100),
        256 => (51, 10),
        _ => (15, 1),
    };
    let pair = |name: &str, ours: &mut dyn FnMut(), reference: &mut dyn FnMut()| {
        measure::pair(name, pixels, rounds, repeat, ours, reference);
    };
    let image = || queue.context().alloc_image::<Rgba<Unorm8>, D2>([edge, edge]).unwrap();
    let [a, b]: [Image<_, _>; 2] = [image(), image()];
    let [raw_a, raw_b] = [RawImage::new(raw, edge, edge), RawImage::new(raw, edge, edge)];
    let host = vec![[1, 2, 3, 4]; pixels];
    pair("image_write", &mut || queue.write(&a, &host).unwrap(), &mut || raw_a.write(&host));
    // The same host memory for both: where it lies makes a difference.
    let target = std::cell::RefCell::new(host.clone());
    pair("image_read", &mut || queue.read_into(&a, &mut target.borrow_mut()).unwrap(), &mut || {
        raw_a.read(&mut target.borrow_mut())
    });
    pair("image_copy", &mut || queue.copy(&a, &b).unwrap().wait().unwrap(), &mut || raw_a.copy_to(&raw_b));
    pair("image_fill", &mut || queue.fill(&a, [255, 0, 255, 0]).unwrap().wait().unwrap(), &mut || {
        raw_a.fill([1.0, 0.0, 1.0, 0.0])
    });
    let kernel = raw.kernel(SPIRV, c"invert");
    raw_a.set(kernel, 0);
    raw_b.set(kernel, 1);
    let range = a.shape().work_items();
    pair(
        "image_kernel",
        &mut || queue.parallel_for(range, invert(&a, &b)).unwrap().wait().unwrap(),
        &mut || raw_a.run(kernel),
    );
    if edge == 32 {
        let ours = || {
            for _ in 0..CHAIN {
                queue.parallel_for(range, invert(&a, &b)).unwrap();
            }
            queue.wait().unwrap();
        };
        let reference = || {
            for _ in 0..CHAIN {
                raw_a.launch(kernel);
            }
            raw.finish();
        };
        measure::pair("image_kernel_chain", CHAIN, 151, 1, ours, reference);
    }
}
