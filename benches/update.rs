//! Updates of executable graphs, of one node and of all, against raw OpenCL, alternating in one
//! process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is how many of 1000 nodes change. One
//! scalar changes, unless the name says `pointer`, `range` or `local`.
//!
//! - `update_in_place`: a commit (`update`) against `clUpdateMutableCommandsKHR`.
//! - `update_set`: a commit of enqueued commands against `clSetKernelArg`.
//! - `update_task`: the same for tasks of the interpreter.
//! - `update_parts`: the same with a host task between each two kernels, so that each kernel is a
//!   partition.
//! - `update_record_anew`: a commit of one node and the recording that it causes, against a raw
//!   recording.
//! - `update_rebuild`: a change of the parameter and the commit, against building and finalizing
//!   the graph.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null;
use std::time::Instant;

use oclave::device::mask::Mask;
use oclave::graph::{DynamicParameter, ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::{Local, NdRange};
use oclave::memory::usm;
use oclave::{Command, Context, Device, Graph, Queue, UsmSlice};
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
use kernels::bump::{bump_by, bump_local};

/// `bump` and `bump_by` of `kernels/bench/bump.cl`, as the build script compiles them too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
const NODES: usize = 1000;
const ROUNDS: usize = 101;

fn main() {
    let Some(device) = measure::device() else { return };
    let reference = Reference::new(&device);
    let kernels: Vec<cl_kernel> = (0..NODES).map(|_| reference.kernel()).collect();
    let set = |value, n: usize| kernels[..n].iter().for_each(|kernel| reference.set(*kernel, value));
    for what in What::ALL {
        let enqueued = Ours::new(&device, ReplayStrategy::Enqueue, what);
        enqueued.commits("update_set", set);
        if what == What::Value {
            enqueued.rebuild("update_rebuild_enqueue");
        }
        Ours::new(&device, ReplayStrategy::Interpreter, what).commits("update_task", set);
    }
    Ours::new(&device, ReplayStrategy::Enqueue, What::Parts).commits("update", set);
    let Some(buffers) = CommandBuffers::of(&reference.raw, &device) else { return };
    if Graph::support(&device).updates_in_place {
        let recorded = reference.record(&buffers, &kernels, true);
        for what in What::ALL {
            let ours = Ours::new(&device, ReplayStrategy::CommandBuffer, what);
            ours.commits("update_in_place", |value, n| reference.update(&buffers, &recorded, n, value));
            if what == What::Value {
                ours.rebuild("update_rebuild_in_place");
            }
        }
        buffers.release(recorded.buffer);
    }
    let masked =
        Ours::new(&device.masked(Mask::MUTABLE_DISPATCH), ReplayStrategy::CommandBuffer, What::Value);
    let last = Cell::new(reference.record(&buffers, &kernels, false));
    masked.record_anew("update_record_anew", || {
        let before = last.replace(reference.record(&buffers, &kernels, false));
        buffers.release(before.buffer);
    });
}

/// What changes.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Value,
    Pointer,
    Range,
    Local,
    /// A value; with host tasks between the kernels.
    Parts,
}

impl What {
    const ALL: [Self; 4] = [Self::Value, Self::Pointer, Self::Range, Self::Local];

    /// The end of names of rows.
    fn suffix(self) -> &'static str {
        match self {
            Self::Value => "",
            Self::Pointer => "_pointer",
            Self::Range => "_range",
            Self::Local => "_local",
            Self::Parts => "_parts",
        }
    }
}

/// A chain of kernels, all of which follow one parameter.
struct Ours {
    context: Context,
    queue: Queue,
    cells: [UsmSlice<i32, usm::DeviceOnly>; 2],
    strategy: ReplayStrategy,
    what: What,
    graph: Built,
    value: Cell<i32>,
}

impl Ours {
    fn new(device: &Device, strategy: ReplayStrategy, what: What) -> Self {
        let context = Context::new(device).unwrap();
        let queue = Queue::new(&context).unwrap();
        let cells = [(); 2].map(|()| context.alloc_device::<i32>(2).unwrap());
        let graph = Built::new(&context, &cells, strategy, what, NODES);
        queue.submit_graph(&graph.executable).unwrap().wait().unwrap();
        Self { context, queue, cells, strategy, what, graph, value: Cell::new(1) }
    }

    /// Another value for nodes of the graph.
    fn change(&self, n: usize) -> i32 {
        let value = self.value.get() + 1;
        self.value.set(value);
        self.graph.change(&self.cells, value, n);
        value
    }

    /// Commits of one node and of all, each after a change that is not measured, in turns with the
    /// same by other means.
    fn commits(&self, name: &str, reference: impl Fn(i32, usize)) {
        for n in [1, NODES] {
            let mut times = (Vec::new(), Vec::new());
            let repeat = if n == 1 { 50 } else { 2 };
            for round in 0..ROUNDS + 3 {
                let (mut a, mut b) = (0.0, 0.0);
                for _ in 0..repeat {
                    let value = self.change(n);
                    let start = Instant::now();
                    self.graph.executable.update(&self.graph.nodes[..n]).unwrap();
                    a += start.elapsed().as_secs_f64() * 1e6;
                    let start = Instant::now();
                    reference(value, n);
                    b += start.elapsed().as_secs_f64() * 1e6;
                }
                if round >= 3 {
                    times.0.push(a / f64::from(repeat));
                    times.1.push(b / f64::from(repeat));
                }
            }
            measure::row(&format!("{name}{}", self.what.suffix()), n, times);
        }
    }

    fn rebuild(&self, name: &str) {
        let build = || Built::new(&self.context, &self.cells, self.strategy, self.what, 1);
        let graph = build();
        let ours = || {
            self.value.set(self.value.get() + 1);
            graph.change(&self.cells, self.value.get(), 1);
            graph.executable.update(&graph.nodes[0]).unwrap();
        };
        measure::pair(name, 1, 15, 1, ours, || drop(build()));
    }

    fn record_anew(&self, name: &str, reference: impl Fn()) {
        let ours = || {
            self.change(1);
            self.graph.executable.update(&self.graph.nodes[0]).unwrap();
            assert!(!self.graph.executable.native_command_buffers(&self.queue).unwrap().is_empty());
        };
        measure::pair(name, NODES, 31, 1, ours, reference);
    }
}

/// A chain of kernels, of which the first ones follow a parameter.
struct Built {
    what: What,
    step: DynamicParameter<i32>,
    cell: DynamicParameter<UsmSlice<i32, usm::DeviceOnly>>,
    local: DynamicParameter<Local<i32>>,
    /// The kernels.
    nodes: Vec<Node>,
    executable: ExecutableGraph,
}

impl Built {
    fn new(
        context: &Context,
        cells: &[UsmSlice<i32, usm::DeviceOnly>; 2],
        strategy: ReplayStrategy,
        what: What,
        followers: usize,
    ) -> Self {
        let graph = Graph::new(context, context.device()).unwrap();
        let step = DynamicParameter::new(&graph, 1);
        let cell = DynamicParameter::new(&graph, cells[0].clone());
        let local = DynamicParameter::new(&graph, Local::new(2));
        let mut nodes: Vec<Node> = Vec::with_capacity(NODES);
        let mut last: Option<Node> = None;
        let mut add = |command: Command| {
            let node = match &last {
                Some(last) => graph.after(last).add(command),
                None => graph.add(command),
            };
            last = Some(node.unwrap());
            last.clone().unwrap()
        };
        for at in 0..NODES {
            let call = match what {
                What::Value | What::Parts if at < followers => bump_by(&cells[0], &step),
                What::Pointer => bump_by(&cell, 1),
                What::Local => bump_local(&cells[0], &local),
                _ => bump_by(&cells[0], 1),
            };
            if what == What::Parts && at > 0 {
                add(Command::host_task(|| {}));
            }
            // What has local memory is in a list only with groups of a given size; on PoCL, of more
            // than one (Q12).
            nodes.push(add(match what {
                What::Local => Command::parallel_for(NdRange::new(2, 2), call),
                _ => Command::parallel_for(1, call),
            }));
        }
        let executable =
            graph.finalizer().updatable().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        if strategy == ReplayStrategy::Interpreter {
            assert_eq!(executable.not_interpreted(), []);
        }
        Self { what, step, cell, local, nodes, executable }
    }

    /// Gives the first nodes another value.
    fn change(&self, cells: &[UsmSlice<i32, usm::DeviceOnly>; 2], value: i32, n: usize) {
        let other = value as usize % 2;
        match self.what {
            What::Value | What::Parts => self.step.update(value).unwrap(),
            What::Pointer => self.cell.update(&cells[other]).unwrap(),
            What::Local => self.local.update(Local::new(2 + other)).unwrap(),
            What::Range => self.nodes[..n].iter().for_each(|node| node.update_range(1 + other).unwrap()),
        }
    }
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
