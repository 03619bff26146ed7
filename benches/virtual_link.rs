//! Linking a kernel with eight sets of 50 virtual functions each, against what the driver needs to
//! compile the module that comes of it. The second kernel of the image must link and compile
//! nothing, which is counted.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is the number of functions, and times are
//! medians. `virtual_link` is the library's part, and `virtual_link_launch` is the whole first
//! launch. `virtual_link_second` is the first launch of the second kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::time::Instant;

use oclave::device::Aspects;
use oclave::kernel::ProgramCache;
use oclave::record::Session;
use oclave::{Context, Device, Queue};
use oclave_image::passes::{DeviceTarget, VirtualProgram, legalize};
use oclave_image::{DeviceImage, VirtualFunctions};
use raw::Raw;

mod kernels {
    oclave::include_kernels!("virtual_link");
}
use kernels::virtual_link::{call_steps, make_steps};

const FUNCTIONS: usize = 8 * 50;
/// Intel's compiler needs seconds for each of two builds a round.
const ROUNDS: usize = 3;

fn main() {
    let Some(device) = measure::device() else { return };
    let images: Vec<DeviceImage> =
        kernels::IMAGES.containers().iter().map(|bytes| DeviceImage::from_bytes(bytes).unwrap()).collect();
    let all: Vec<VirtualFunctions> = images.iter().map(|image| image.virtual_functions().unwrap()).collect();
    let sets: Vec<&DeviceImage> =
        images.iter().zip(&all).filter(|(_, of)| of.provides.is_some()).map(|(image, _)| image).collect();
    assert_eq!(sets.len(), 8);
    let known: Vec<&VirtualFunctions> = all.iter().collect();
    let callers = images.iter().find(|image| image.kernel("call_steps").is_some()).unwrap();
    let program =
        VirtualProgram { kernels: callers, sets: &sets, own_sets: 0, known: &known, report_faults: false };

    let raw = Raw::new(device.name(), false);
    let (mut link, mut compile, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (time, words) = timed(|| {
            let linked = program.link().unwrap();
            legalize(&linked, &DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() }).unwrap()
        });
        link.push(time);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        compile.push(timed(|| raw.kernel(&bytes, c"call_steps")).0);
        let (a, b) = launches(&device);
        first.push(a);
        second.push(b);
    }
    for (name, times) in
        [("virtual_link", link), ("virtual_link_launch", first), ("virtual_link_second", second)]
    {
        measure::row(name, FUNCTIONS, (times, compile.clone()));
    }
}

/// Microseconds of the first launches of two kernels of the image, with nothing cached.
fn launches(device: &Device) -> (f64, f64) {
    let context =
        Context::builder(std::slice::from_ref(device)).program_cache(&ProgramCache::Off).build().unwrap();
    let queue = Queue::new(&context).unwrap();
    let memory = context.alloc_device::<i8>(16 * FUNCTIONS).unwrap();
    let out = context.alloc_device::<i32>(FUNCTIONS).unwrap();
    let session = Session::start();
    // All kernels of the image are linked with the sets, as it is one module.
    let (first, ()) = timed(|| queue.single_task(make_steps(&memory)).unwrap().wait().unwrap());
    assert_eq!(session.count("clBuildProgram"), 1);
    let (second, ()) =
        timed(|| queue.parallel_for(FUNCTIONS, call_steps(&memory, &out)).unwrap().wait().unwrap());
    assert_eq!(session.count("clCreateProgramWithIL"), 1, "the second kernel links nothing");
    assert_eq!(session.count("clBuildProgram"), 1);
    (first, second)
}

fn timed<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64() * 1e6, result)
}
