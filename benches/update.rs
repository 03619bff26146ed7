//! Updates of executable graphs: one scalar, in one node and in all, against raw OpenCL, alternating in one process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes that change, of a graph of 1000. `update_in_place` compares a commit
//! (`update_nodes`) with `clUpdateMutableCommandsKHR` for the same change, `update_set` with `clSetKernelArg`, where commands are enqueued; so does
//! `update_task`, where they are tasks of a list.
//! `update_record_anew` is a commit of one node and the recording that it causes, against a raw recording of the same commands.
//! `update_rebuild` is the change of the parameter and the commit, against building and finalizing the graph, which is the only way elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null;
use std::time::Instant;

use oclave::mask::Mask;
use oclave::{
    Command, Context, Device, DynamicParameter, ExecutableGraph, Graph, Node, Queue, ReplayStrategy,
    UsmSlice, usm,
};
use opencl_sys::{
    CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, CL_MUTABLE_DISPATCH_ARGUMENTS_KHR,
    CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR,
    cl_command_buffer_khr, cl_kernel, cl_mutable_command_khr, cl_mutable_dispatch_arg_khr,
    cl_mutable_dispatch_config_khr, cl_uint,
};
use raw::command_buffer::CommandBuffers;
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump_by;

/// `kernels/bench/bump.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
const NODES: usize = 1000;
const ROUNDS: usize = 101;

fn main() {
    let Some(device) = measure::device() else { return };
    let reference = Reference::new(&device);
    let kernels: Vec<cl_kernel> = (0..NODES).map(|_| reference.kernel()).collect();
    let enqueued = Ours::new(&device, ReplayStrategy::Enqueue);
    for n in [1, NODES] {
        enqueued.commit("update_set", n, |value| {
            kernels[..n].iter().for_each(|kernel| reference.set(*kernel, value))
        });
    }
    enqueued.rebuild("update_rebuild_enqueue");
    let listed = Ours::new(&device, ReplayStrategy::Interpreter);
    for n in [1, NODES] {
        listed.commit("update_task", n, |value| {
            kernels[..n].iter().for_each(|kernel| reference.set(*kernel, value))
        });
    }
    let Some(buffers) = CommandBuffers::of(&reference.raw, &device) else { return };
    if Graph::support(&device).updates_in_place {
        let ours = Ours::new(&device, ReplayStrategy::CommandBuffer);
        let recorded = reference.record(&buffers, &kernels, true);
        for n in [1, NODES] {
            ours.commit("update_in_place", n, |value| reference.update(&buffers, &recorded, n, value));
        }
        ours.rebuild("update_rebuild_in_place");
        buffers.release(recorded.buffer);
    }
    let masked = Ours::new(&device.masked(Mask::MUTABLE_DISPATCH), ReplayStrategy::CommandBuffer);
    let last = Cell::new(reference.record(&buffers, &kernels, false));
    masked.record_anew("update_record_anew", || {
        let before = last.replace(reference.record(&buffers, &kernels, false));
        buffers.release(before.buffer);
    });
}

/// A chain of kernels, all of which follow one parameter.
struct Ours {
    context: Context,
    queue: Queue,
    cell: UsmSlice<i32, usm::Device>,
    strategy: ReplayStrategy,
    step: DynamicParameter<i32>,
    nodes: Vec<Node>,
    executable: ExecutableGraph,
    value: Cell<i32>,
}

impl Ours {
    fn new(device: &Device, strategy: ReplayStrategy) -> Self {
        let context = Context::new(device).unwrap();
        let queue = Queue::new(&context).unwrap();
        let cell = context.alloc_device::<i32>(1).unwrap();
        let (step, nodes, executable) = build(&context, &cell, strategy, NODES);
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        Self { context, queue, cell, strategy, step, nodes, executable, value: Cell::new(1) }
    }

    /// Another value for the nodes of the graph.
    fn change(&self) -> i32 {
        let value = self.value.get() + 1;
        self.value.set(value);
        self.step.update(value).unwrap();
        value
    }

    /// Commits, each after a change that is not measured, in turns with the same by other means.
    fn commit(&self, name: &str, n: usize, reference: impl Fn(i32)) {
        let mut times = (Vec::new(), Vec::new());
        let repeat = if n == 1 { 50 } else { 2 };
        for round in 0..ROUNDS + 3 {
            let (mut a, mut b) = (0.0, 0.0);
            for _ in 0..repeat {
                let value = self.change();
                let start = Instant::now();
                self.executable.update_nodes(&self.nodes[..n]).unwrap();
                a += start.elapsed().as_secs_f64() * 1e6;
                let start = Instant::now();
                reference(value);
                b += start.elapsed().as_secs_f64() * 1e6;
            }
            if round >= 3 {
                times.0.push(a / f64::from(repeat));
                times.1.push(b / f64::from(repeat));
            }
        }
        measure::row(name, n, times);
    }

    fn rebuild(&self, name: &str) {
        let build = || build(&self.context, &self.cell, self.strategy, 1);
        let (step, nodes, executable) = build();
        let ours = || {
            self.value.set(self.value.get() + 1);
            step.update(self.value.get()).unwrap();
            executable.update(&nodes[0]).unwrap();
        };
        measure::pair(name, 1, 15, 1, ours, || drop(build()));
    }

    fn record_anew(&self, name: &str, reference: impl Fn()) {
        let ours = || {
            self.change();
            self.executable.update(&self.nodes[0]).unwrap();
            assert!(!self.executable.native_command_buffers(&self.queue).unwrap().is_empty());
        };
        measure::pair(name, NODES, 31, 1, ours, reference);
    }
}

/// A chain of kernels, of which the first ones follow a parameter.
fn build(
    context: &Context,
    cell: &UsmSlice<i32, usm::Device>,
    strategy: ReplayStrategy,
    followers: usize,
) -> (DynamicParameter<i32>, Vec<Node>, ExecutableGraph) {
    let graph = Graph::new(context, context.device()).unwrap();
    let step = DynamicParameter::new(&graph, 1);
    let mut nodes: Vec<Node> = Vec::with_capacity(NODES);
    for at in 0..NODES {
        let call = if at < followers { bump_by(cell, &step) } else { bump_by(cell, 1) };
        let command = Command::parallel_for(1, call);
        let node = match nodes.last() {
            Some(last) => graph.after(last).add(command),
            None => graph.add(command),
        };
        nodes.push(node.unwrap());
    }
    let executable = graph.finalizer().updatable().strategy(strategy).finalize().unwrap();
    (step, nodes, executable)
}

/// A command buffer, and what updates name its commands by.
struct Recorded {
    buffer: cl_command_buffer_khr,
    handles: Vec<cl_mutable_command_khr>,
}

/// The same in raw OpenCL.
struct Reference {
    raw: Raw,
    program: opencl_sys::cl_program,
    cell: *mut c_void,
}

impl Reference {
    fn new(device: &Device) -> Self {
        let raw = Raw::new(device.name(), false);
        let (program, cell) = (raw.program(SPIRV), raw.alloc(4));
        Self { raw, program, cell }
    }

    fn kernel(&self) -> cl_kernel {
        let kernel = self.raw.kernel_of(self.program, c"bump_by");
        // SAFETY: kernel and memory are alive.
        check(unsafe { (self.raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, self.cell) });
        self.set(kernel, 1);
        kernel
    }

    fn set(&self, kernel: cl_kernel, value: i32) {
        // SAFETY: the kernel is alive, and takes an int there.
        check(unsafe { (self.raw.cl.clSetKernelArg)(kernel, 1, 4, (&raw const value).cast()) });
    }

    fn record(&self, buffers: &CommandBuffers, kernels: &[cl_kernel], mutable: bool) -> Recorded {
        let (flags, fields) = (
            [CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, 0],
            [CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, CL_MUTABLE_DISPATCH_ARGUMENTS_KHR, 0],
        );
        let (flags, fields): (&[_], &[_]) = if mutable { (&flags, &fields) } else { (&[], &[]) };
        let buffer = buffers.create(&self.raw, flags);
        let launch = |kernel: &cl_kernel| buffers.launch(buffer, fields, *kernel, (1, None), &[]).1;
        let handles = kernels.iter().map(launch).collect();
        buffers.finalize(buffer);
        Recorded { buffer, handles }
    }

    /// Gives the first commands another value.
    fn update(&self, buffers: &CommandBuffers, recorded: &Recorded, n: usize, value: i32) {
        let argument =
            cl_mutable_dispatch_arg_khr { arg_index: 1, arg_size: 4, arg_value: (&raw const value).cast() };
        let config = |command: &*mut c_void| cl_mutable_dispatch_config_khr {
            command: *command,
            num_args: 1,
            num_svm_args: 0,
            num_exec_infos: 0,
            work_dim: 0,
            arg_list: &argument,
            arg_svm_list: null(),
            exec_info_list: null(),
            global_work_offset: null(),
            global_work_size: null(),
            local_work_size: null(),
        };
        let configs: Vec<_> = recorded.handles[..n].iter().map(config).collect();
        let mut pointers: Vec<*const c_void> =
            configs.iter().map(|config| std::ptr::from_ref(config).cast()).collect();
        let types = vec![CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR; n];
        let update = buffers.update.expect("the device updates commands");
        // SAFETY: the buffer is alive, the commands are its own, the lists are as long as said.
        check(unsafe { update(recorded.buffer, n as cl_uint, types.as_ptr(), pointers.as_mut_ptr()) });
    }
}
