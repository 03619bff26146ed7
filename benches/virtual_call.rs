//! A hot loop of virtual calls against a switch over the same functions: a million work-items with
//! a hundred calls each.
//!
//! On Intel's device, which has function pointers, it also compares with calls through them.
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is the number of classes of the objects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use oclave::kernel::KernelCall;
use oclave::{Context, Device, Queue, UsmSlice};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("virtual_call");
}
use kernels::virtual_call::{Tagged, call_switch, call_virtual, make_operations, make_tagged};

/// `function_pointers.cl` beside it.
const POINTERS: &[u8] = include_bytes!("kernels/function_pointers.spv");

const ITEMS: usize = 1_000_000;
const CALLS: i32 = 100;
const ROUNDS: usize = 11;

struct Ours {
    queue: Queue,
    operations: UsmSlice<i8>,
    tagged: UsmSlice<Tagged>,
    out: UsmSlice<i32>,
}

impl Ours {
    fn new(device: &Device, checks: bool) -> Self {
        let context =
            Context::builder(std::slice::from_ref(device)).virtual_call_checks(checks).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        let operations = context.alloc_device::<i8>(8 * 16).unwrap();
        let tagged = context.alloc_device::<Tagged>(8).unwrap();
        queue.single_task(make_operations(&operations)).unwrap();
        queue.single_task(make_tagged(&tagged)).unwrap();
        let out = context.alloc_device::<i32>(ITEMS).unwrap();
        Self { queue, operations, tagged, out }
    }

    fn run(&self, call: KernelCall) {
        self.queue.parallel_for(ITEMS, call).unwrap().wait().unwrap();
    }

    fn call_virtual(&self, types: i32) {
        self.run(call_virtual(&self.operations, &self.out, types, CALLS));
    }

    fn call_switch(&self, types: i32) {
        self.run(call_switch(&self.tagged, &self.out, types, CALLS));
    }

    fn results(&self) -> Vec<i32> {
        self.queue.read(&self.out).unwrap()
    }
}

/// Pointers to functions in raw OpenCL.
struct Pointers {
    raw: Raw,
    kernel: opencl_sys::cl_kernel,
    out: *mut c_void,
}

impl Pointers {
    fn new(device: &Device) -> Self {
        let raw = Raw::new(device.name(), false);
        let program = raw.program(POINTERS);
        let (make, kernel) =
            (raw.kernel_of(program, c"make_objects"), raw.kernel_of(program, c"call_pointers"));
        let (objects, out) = (raw.alloc(8 * 16), raw.alloc(ITEMS * 4));
        // SAFETY: the objects are alive, the kernels have these parameters, the memory is as large
        // as they need.
        unsafe {
            check((raw.cl.clSetKernelArgMemPointerINTEL)(make, 0, objects));
            raw.launch(make, None, false);
            check((raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, objects));
            check((raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 1, out));
            check((raw.cl.clSetKernelArg)(kernel, 3, 4, (&raw const CALLS_VALUE).cast()));
        }
        raw.finish();
        Self { raw, kernel, out }
    }

    fn run(&self, types: i32) {
        let cl = &self.raw.cl;
        // SAFETY: as above; the value is read before the call returns.
        unsafe {
            check((cl.clSetKernelArg)(self.kernel, 2, 4, (&raw const types).cast()));
            let (queue, kernel) = (self.raw.queue, self.kernel);
            check((cl.clEnqueueNDRangeKernel)(
                queue,
                kernel,
                1,
                null(),
                &ITEMS,
                null(),
                0,
                null(),
                null_mut(),
            ));
        }
        self.raw.finish();
    }

    fn results(&self) -> Vec<i32> {
        let mut results = vec![0; ITEMS];
        let to = results.as_mut_ptr().cast();
        // SAFETY: both sides have this many bytes, and the copy is a blocking one.
        check(unsafe {
            (self.raw.cl.clEnqueueMemcpyINTEL)(
                self.raw.queue,
                1,
                to,
                self.out,
                ITEMS * 4,
                0,
                null(),
                null_mut(),
            )
        });
        results
    }
}

static CALLS_VALUE: i32 = CALLS;

fn main() {
    let Some(device) = measure::device() else { return };
    let (ours, unchecked) = (Ours::new(&device, true), Ours::new(&device, false));
    // Function pointers are an extension of Intel's, which its CPU runtime does not list.
    let pointers = device.platform().name().contains("Intel").then(|| Pointers::new(&device));
    for types in [1, 2, 7] {
        ours.call_virtual(types);
        let expected = ours.results();
        ours.call_switch(types);
        assert_eq!(ours.results(), expected, "{types} classes");
        let pair =
            |name: &str, a: &dyn Fn(), b: &dyn Fn()| measure::pair(name, types as usize, ROUNDS, 1, a, b);
        pair("virtual_call", &|| ours.call_virtual(types), &|| ours.call_switch(types));
        pair("virtual_call_unchecked", &|| unchecked.call_virtual(types), &|| ours.call_switch(types));
        if let Some(pointers) = &pointers {
            pointers.run(types);
            assert_eq!(pointers.results(), expected, "{types} classes, by pointers");
            pair("virtual_call_pointers", &|| ours.call_virtual(types), &|| pointers.run(types));
        }
    }
}
