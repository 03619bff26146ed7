//! Launches, device globals and virtual calls against what is written by hand in OpenCL C, with the
//! driver's own buffers, alternating in one process.
//!
//! A side runs in a loop during its turn (`measure::steady`), as each has a context of its own. On
//! an H100, the first launch after one in another context takes 133 µs longer.
//!
//! Both sides wait in the same way: by the event of the launch, or by the queue where launches have
//! no events (`launch_and_finish`, `launch_without_events`).
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`. Here n counts launches, bytes, rounds of a
//! loop, or classes of objects. The driver compiles the reference from source. So this also runs
//! where drivers take no SPIR-V.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use oclave::kernel::DeviceGlobal;
use oclave::{Context, Device, Queue};
use opencl_sys::{cl_event, cl_kernel, cl_mem, cl_program};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
    pub(crate) mod objects {
        oclave::include_kernels!("virtual_call");
    }
}
use kernels::bump::bump;
use kernels::objects::virtual_call::{call_virtual, make_operations};
use kernels::{blocks, globals};

const CHAIN: usize = 1000;
const LOOP_ITEMS: usize = 1 << 14;
const CALL_ITEMS: usize = 1_000_000;
const CALLS: i32 = 100;
/// How often each side has its turn.
const ROUNDS: usize = 5;
/// The same for copies. On an H100, raw copies of 4 bytes take 6.4 µs for some
/// seconds, then 7.6 µs, whatever the call and the memory.
const COPY_ROUNDS: usize = 21;
/// `FP_CONTRACT OFF`, because kernels here are built so, too, unless a program asks for the other.
/// Else the loop would be half as many instructions of another result.
const SOURCE: &str = r"
#pragma OPENCL FP_CONTRACT OFF
kernel void bump(global int *value) { value[get_global_id(0)] += 1; }
kernel void loop_argument(global float *x, int rounds, global const float *factor)
{
    size_t i = get_global_id(0);
    float sum = x[i];
    for (int n = 0; n < rounds; n++)
        sum = sum * 0.5f + *factor;
    x[i] = sum;
}
struct tagged { int kind; int k; };
kernel void make_tagged(global struct tagged *objects)
{
    for (int i = 0; i < 8; i++) {
        objects[i].kind = i;
        objects[i].k = i + 1;
    }
}
kernel void call_switch(global const struct tagged *objects, global int *out, int types, int rounds)
{
    size_t i = get_global_id(0);
    global const struct tagged *own = objects + i % types;
    int x = (int)i;
    for (int round = 0; round < rounds; round++) {
        int k = own->k;
        switch (own->kind) {
        case 0: x = apply_0(k, x); break;
        case 1: x = apply_1(k, x); break;
        case 2: x = apply_2(k, x); break;
        case 3: x = apply_3(k, x); break;
        case 4: x = apply_4(k, x); break;
        case 5: x = apply_5(k, x); break;
        case 6: x = apply_6(k, x); break;
        case 7: x = apply_7(k, x); break;
        }
    }
    out[i] = x;
}
";

/// The reference: its program, and what it has to say of a kernel.
struct ByHand {
    raw: Raw,
    program: cl_program,
}

impl ByHand {
    fn new(device: &Device) -> Self {
        let raw = Raw::new(device.name(), false);
        let source = [include_str!("../kernels/bench_virtual/operations.h"), SOURCE].concat();
        let program = raw.program_of_source(&std::ffi::CString::new(source).unwrap());
        Self { raw, program }
    }

    fn kernel(&self, name: &std::ffi::CStr, arguments: &[&[u8]]) -> cl_kernel {
        let kernel = self.raw.kernel_of(self.program, name);
        for (index, value) in arguments.iter().enumerate() {
            self.set(kernel, index, value);
        }
        kernel
    }

    fn set(&self, kernel: cl_kernel, index: usize, value: &[u8]) {
        // SAFETY: the kernel is alive; the value is copied in the call.
        check(unsafe {
            (self.raw.cl.clSetKernelArg)(kernel, index as u32, value.len(), value.as_ptr().cast())
        });
    }

    /// Runs a kernel and waits for the queue.
    fn run(&self, kernel: cl_kernel, items: usize) {
        self.launch(kernel, items, null_mut());
        self.raw.finish();
    }

    /// Runs a kernel and waits for its event.
    fn run_by_event(&self, kernel: cl_kernel, items: usize) {
        let mut event: cl_event = null_mut();
        self.launch(kernel, items, &mut event);
        // SAFETY: the launch gave the event, whose reference ends here.
        unsafe {
            check((self.raw.cl.clWaitForEvents)(1, &event));
            check((self.raw.cl.clReleaseEvent)(event));
        }
    }

    fn launch(&self, kernel: cl_kernel, items: usize, event: *mut cl_event) {
        let queue = self.raw.queue;
        // SAFETY: kernel and queue are alive; the size is read in the call, and `event` is null or
        // lives through it.
        check(unsafe {
            let enqueue = self.raw.cl.clEnqueueNDRangeKernel;
            enqueue(queue, kernel, 1, null(), &items, null(), 0, null(), event)
        });
    }

    fn write(&self, to: cl_mem, bytes: &[u8]) {
        let from = bytes.as_ptr().cast::<c_void>();
        // SAFETY: the buffer has so many bytes, and the copy is a blocking one.
        check(unsafe {
            let queue = self.raw.queue;
            (self.raw.cl.clEnqueueWriteBuffer)(queue, to, 1, 0, bytes.len(), from, 0, null(), null_mut())
        });
    }

    fn read(&self, from: cl_mem, bytes: &mut [u8]) {
        let to = bytes.as_mut_ptr().cast::<c_void>();
        // SAFETY: as for writing.
        check(unsafe {
            let queue = self.raw.queue;
            (self.raw.cl.clEnqueueReadBuffer)(queue, from, 1, 0, bytes.len(), to, 0, null(), null_mut())
        });
    }
}

/// A buffer as `clSetKernelArg` takes it.
fn handle(buffer: &cl_mem) -> [u8; size_of::<cl_mem>()] {
    buffer.addr().to_ne_bytes()
}

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    let by_hand = ByHand::new(&device);
    launches(&context, &queue, &by_hand);
    copies(&queue, &by_hand, &blocks::BLOCK_SMALL);
    copies(&queue, &by_hand, &blocks::BLOCK_MEDIUM);
    copies(&queue, &by_hand, &blocks::BLOCK_LARGE);
    loops(&context, &queue, &by_hand);
    calls(&context, &queue, &by_hand);
}

fn launches(context: &Context, queue: &Queue, by_hand: &ByHand) {
    let value = context.alloc_device::<i32>(64).unwrap();
    let kernel = by_hand.kernel(c"bump", &[&handle(&by_hand.raw.buffer(256))]);
    let chain = |queue: &Queue| {
        for _ in 0..CHAIN {
            queue.parallel_for(1, bump(&value)).unwrap();
        }
        queue.wait().unwrap();
    };
    let reference = |events| by_hand.raw.chain_in_order(kernel, CHAIN, events);
    measure::pair("launch_in_order", CHAIN, 51, 1, || chain(queue), || reference(true));
    let discarding = Queue::builder(context).discard_events().build().unwrap();
    measure::pair("launch_without_events", CHAIN, 51, 1, || chain(&discarding), || reference(false));
    let ours = || queue.parallel_for(1, bump(&value)).unwrap().wait().unwrap();
    measure::steady("launch_and_wait", 1, ROUNDS, ours, || by_hand.run_by_event(kernel, 1));
    let ours = || {
        discarding.parallel_for(1, bump(&value)).unwrap();
        discarding.wait().unwrap();
    };
    measure::steady("launch_and_finish", 1, ROUNDS, ours, || by_hand.run(kernel, 1));
}

fn copies<T: bytemuck::Pod>(queue: &Queue, by_hand: &ByHand, global: &DeviceGlobal<T>) {
    let size = global.size_bytes();
    let buffer = by_hand.raw.buffer(size);
    let mut host = vec![1_u8; size];
    let part = || global.bytes(..size).unwrap();
    let ours = || queue.write(&part(), &host).unwrap();
    measure::steady("global_write", size, COPY_ROUNDS, ours, || by_hand.write(buffer, &host));
    // The same host memory for both: where it lies makes a difference.
    let target = std::cell::RefCell::new(&mut host);
    let ours = || queue.read_into(&part(), &mut target.borrow_mut()[..]).unwrap();
    let reference = || by_hand.read(buffer, &mut target.borrow_mut()[..]);
    measure::steady("global_read", size, COPY_ROUNDS, ours, reference);
    assert!(host.iter().all(|byte| *byte == 1), "other bytes came back");
}

/// A device global in the inner loop of a kernel.
fn loops(context: &Context, queue: &Queue, by_hand: &ByHand) {
    let x = context.alloc_device::<f32>(LOOP_ITEMS).unwrap();
    let [buffer, factor] = [LOOP_ITEMS * 4, 4].map(|size| by_hand.raw.buffer(size));
    by_hand.write(factor, &1.0_f32.to_ne_bytes());
    for rounds in [16_i32, 256, 4096] {
        queue.write(&x, &vec![0.0; LOOP_ITEMS]).unwrap();
        by_hand.write(buffer, &vec![0; LOOP_ITEMS * 4]);
        let arguments: [&[u8]; 3] = [&handle(&buffer), &rounds.to_ne_bytes(), &handle(&factor)];
        let kernel = by_hand.kernel(c"loop_argument", &arguments);
        let ours =
            || queue.parallel_for(LOOP_ITEMS, globals::loop_global(&x, rounds)).unwrap().wait().unwrap();
        let reference = || by_hand.run_by_event(kernel, LOOP_ITEMS);
        measure::steady("global_loop", rounds as usize, ROUNDS, ours, reference);
        let mut expected = vec![0; LOOP_ITEMS * 4];
        by_hand.read(buffer, &mut expected);
        assert!(bytemuck::cast_slice::<f32, u8>(&queue.read(&x).unwrap()) == expected, "{rounds} rounds");
    }
}

/// Virtual calls, against a switch over the same functions.
fn calls(context: &Context, queue: &Queue, by_hand: &ByHand) {
    let unchecked = Context::builder(context.devices()).virtual_call_checks(false).build().unwrap();
    let tagged = by_hand.raw.buffer(8 * 8);
    by_hand.run(by_hand.kernel(c"make_tagged", &[&handle(&tagged)]), 1);
    for (name, context) in [("virtual_call", context), ("virtual_call_unchecked", &unchecked)] {
        let queue = if name == "virtual_call" { queue.clone() } else { Queue::new(context).unwrap() };
        let operations = context.alloc_device::<i8>(8 * 16).unwrap();
        let out = context.alloc_device::<i32>(CALL_ITEMS).unwrap();
        queue.single_task(make_operations(&operations)).unwrap();
        let reference_out = by_hand.raw.buffer(CALL_ITEMS * 4);
        for types in [1_i32, 2, 7] {
            let arguments: [&[u8]; 4] =
                [&handle(&tagged), &handle(&reference_out), &types.to_ne_bytes(), &CALLS.to_ne_bytes()];
            let kernel = by_hand.kernel(c"call_switch", &arguments);
            let call = || call_virtual(&operations, &out, types, CALLS);
            let ours = || queue.parallel_for(CALL_ITEMS, call()).unwrap().wait().unwrap();
            let reference = || by_hand.run_by_event(kernel, CALL_ITEMS);
            measure::steady(name, types as usize, ROUNDS, ours, reference);
            let mut expected = vec![0; CALL_ITEMS * 4];
            by_hand.read(reference_out, &mut expected);
            let results = queue.read(&out).unwrap();
            assert!(bytemuck::cast_slice::<i32, u8>(&results) == expected, "{types} classes");
        }
    }
}
