//! Commands: what is put on a queue, recorded, or added to a graph.

use std::sync::Arc;

use super::argument::Value;
use super::call::KernelCall;
use super::control::{Alone, ControlBody, ControlFlow, ControlKind, ControlValue, MAX_ITERATIONS};
use super::graph::GraphCommand;
use super::name::Name;
use super::native::NativeCommand;
use super::outside::Outside;
use super::place::{CopyFrom, CopyTo, Memory, Place};
use super::task::{HostTask, TaskResult};
use crate::Event;
use crate::driver::host::{HostSink, HostSource};
use crate::driver::native::{EventHandle, KernelHandle, Submission};
use crate::handles::Handles;
use crate::memory::buffer::Requirement;
use crate::memory::{AsyncSource, HostTarget, TaskAccess};
use crate::range::{LaunchRange, NdRange};

/// A kernel, a copy or a task on the host, with what it waits for.
///
/// A queue runs it, or it becomes a node of a graph.
///
/// Describing a command makes no OpenCL call and cannot fail: what does not fit is an error where
/// it is [submitted](crate::Queue::submit). The same value can be cloned and submitted many times,
/// to any queue of the context that its memory belongs to. It keeps all that it names alive.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// # use oclave::{Command, Context, Device, Queue};
/// # let context = Context::new(&Device::select()?)?;
/// let queue = Queue::builder(&context).out_of_order().build()?;
/// let (x, y) = (context.alloc_device::<f32>(64)?, context.alloc_device::<f32>(64)?);
/// let filled = queue.submit(Command::fill(&x, 1.5))?;
/// queue.submit(Command::copy(&x, &y).after(&filled))?.wait()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a command does nothing until it is submitted"]
#[derive(Clone, Debug)]
pub struct Command {
    kind: CommandKind,
    after: Vec<Event>,
    name: Option<Name>,
}

/// The work of a command, with its operands.
#[derive(Clone, Debug)]
pub(crate) enum CommandKind {
    Kernel {
        range: NdRange,
        call: KernelCall,
    },
    Copy {
        from: Place,
        to: Place,
    },
    Write {
        from: HostSource,
        to: Place,
    },
    Read {
        from: Place,
        to: HostSink,
    },
    Fill {
        to: Place,
        pattern: Value,
    },
    Memset {
        to: Place,
        byte: u8,
    },
    Prefetch {
        memory: Place,
    },
    Advise {
        memory: Place,
        advice: Advice,
    },
    HostTask(HostTask),
    Native(NativeCommand),
    Graph(Arc<dyn GraphCommand>),
    Control(Box<ControlFlow>),
    /// Of graphs only.
    External(Outside),
    Marker,
    Barrier,
    Empty,
}

/// How memory will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Mostly read.
    ReadMostly,
    /// Not mostly read after all.
    NotReadMostly,
    /// Best placed on the device.
    PreferDevice,
    /// Not best placed on the device after all.
    NotPreferDevice,
}

impl Command {
    fn new(kind: CommandKind) -> Self {
        Self { kind, after: Vec::new(), name: None }
    }

    /// Runs a kernel over a range: a number of work-items (`1000`, [`Range`](crate::kernel::Range), `[640, 480]`) or an
    /// [`NdRange`]. An empty range runs nothing and keeps its place in the order.
    pub fn parallel_for(range: impl LaunchRange, call: KernelCall) -> Self {
        Self::new(CommandKind::Kernel { range: range.nd_range(), call })
    }

    /// Runs a kernel with one work-item.
    pub fn single_task(call: KernelCall) -> Self {
        Self::parallel_for(1, call)
    }

    /// Copies memory to memory of the same length, which it does not overlap: USM, boxes of it
    /// ([`UsmRect`](crate::memory::UsmRect)), parts of buffers, images and their regions, elements of device
    /// globals. Boxes need not have one shape: a copy goes element by element.
    pub fn copy<M: CopyFrom>(from: &M, to: &impl CopyTo<Element = M::Element>) -> Self {
        Self::new(CommandKind::Copy { from: from.place(false), to: to.place(true) })
    }

    /// Copies host data (a `Vec<T>`, an `Arc<[T]>` or a single value) to memory of the same length.
    pub fn write<M: CopyTo>(to: &M, data: impl Into<AsyncSource<M::Element>>) -> Self {
        Self::write_place(data.into().into_bytes(), to.place(true))
    }

    pub(crate) fn write_place(from: impl Into<HostSource>, to: Place) -> Self {
        Self::new(CommandKind::Write { from: from.into(), to })
    }

    /// Copies memory to host memory of the same length.
    pub fn read<M: CopyFrom>(from: &M, to: &HostTarget<M::Element>) -> Self {
        Self::read_place(from.place(false), to.sink())
    }

    pub(crate) fn read_place(from: Place, to: HostSink) -> Self {
        Self::new(CommandKind::Read { from, to })
    }

    /// Sets every element to a value.
    pub fn fill<M: CopyTo>(to: &M, value: M::Element) -> Self {
        Self::new(CommandKind::Fill { to: to.place(true), pattern: Value::new(&value) })
    }

    /// Sets every byte to a value.
    pub fn memset(to: &impl CopyTo, byte: u8) -> Self {
        Self::new(CommandKind::Memset { to: to.place(true), byte })
    }

    /// Moves memory to the device ahead of its use. Does nothing but keep its place in the order
    /// where the device cannot.
    pub fn prefetch(memory: &impl CopyFrom) -> Self {
        Self::new(CommandKind::Prefetch { memory: memory.place(false) })
    }

    /// Gives the driver a hint on how memory will be used.
    ///
    /// The extension defines the call but no advice, so no OpenCL driver takes such hints today.
    /// This only checks the memory and keeps its place in the order.
    pub fn mem_advise(memory: &impl CopyFrom, advice: Advice) -> Self {
        Self::new(CommandKind::Advise { memory: memory.place(false), advice })
    }

    /// Runs a closure on a thread of the library, or on one that waits for the command. It returns `()` or a
    /// `Result<(), E>`.
    ///
    /// An error that it returns and a panic end on the command's event. Commands that name this
    /// event do not run. Commands that only come later on the queue do. It may be called many times:
    /// a graph does so on each replay.
    pub fn host_task<R: TaskResult>(task: impl Fn() -> R + Send + Sync + 'static) -> Self {
        Self::new(CommandKind::HostTask(HostTask::new(task)))
    }

    /// As [`Command::host_task`], with elements of buffers (SYCL 2020, section 4.10).
    ///
    /// `accessors` is one accessor, a tuple of them, or a vector. The closure gets a `&[T]` for
    /// each accessor that reads, and a `&mut [T]` for each that writes. Elements of more than one
    /// dimension are contiguous, the last dimension fastest.
    ///
    /// The task is ordered among all commands that use these elements, so it waits for nothing
    /// itself. The elements are copied from the queue's context. Written elements are copied back
    /// when the closure has succeeded, but not when it fails or panics. With
    /// [`no_init`](crate::memory::Accessor::no_init), elements are zero at first, and all are copied back.
    ///
    /// If it fails, later commands on the same elements run nevertheless, unless they name its
    /// event. With `no_init`, the elements are undefined then. Without, they are unchanged.
    ///
    /// Two accessors of the same elements, one of which writes, are
    /// [`Invalid`](crate::ErrorKind::Invalid) where the command is submitted.
    ///
    /// ```no_run
    /// # use oclave::{Buffer, Command, Queue, Result};
    /// # fn f(queue: &Queue, values: &Buffer<f32>, sum: &Buffer<f32>) -> Result<()> {
    /// let add_up = Command::host_task_with((values.read(), sum.write()), |(values, sum)| sum[0] = values.iter().sum());
    /// queue.submit(add_up)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn host_task_with<S: TaskAccess, R: TaskResult>(
        accessors: S,
        task: impl Fn(S::Views<'_>) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::new(CommandKind::HostTask(HostTask::with(accessors, task)))
    }

    /// Puts raw commands on the queue, in the place of one (`ext_codeplay_enqueue_native_command`).
    ///
    /// The closure gets the driver's queue and the events that the raw commands must wait for. It
    /// returns an event after which all of them have ended. On an out-of-order queue, the closure
    /// decides which of its commands wait for which. `uses` is the memory that the raw commands
    /// use. Until they have ended, the library keeps this memory alive, and the host cannot access
    /// it. Accessors of buffers order the command like any other.
    /// [`Queue::native_address`](crate::Queue::native_address) returns addresses.
    ///
    /// The closure is called when the command is put on the driver's queue. It runs on the caller's
    /// thread or on one of the library's, and must not wait. A panic of it is an error as one that
    /// it returns. A graph calls it at each replay.
    ///
    /// The closure may use the queue and the events that it gets, and no more of the library. The executable graph that
    /// it is part of is locked then, and so is the order of its buffers. A call that needs them waits for ever.
    ///
    /// The event may be of another queue of the same context, or a user event. A marker on the
    /// library's queue then waits for it, and the command's times are those of the marker.
    ///
    /// # Safety
    /// The library frees memory, and lends it to the host, when it believes that the commands which
    /// use it have ended. It cannot see what the closure does. So the caller promises, for each
    /// call of the closure:
    /// - The raw commands keep to OpenCL's rules. Of the library's memory they use only what `uses`
    ///   names, or what the caller keeps alive and away from the host until they have ended. The
    ///   same holds for kernels and other objects.
    /// - They wait for [`Submission::wait_list`](crate::native::Submission::wait_list). For an
    ///   in-order queue, the list leaves out the commands that were put on the queue before. So raw
    ///   commands for another queue must also wait for a marker that the closure puts on this one.
    /// - The returned event belongs to the queue's context, and completes no earlier than all of
    ///   the raw commands.
    /// - When the closure fails or panics, what it has put on other queues no longer uses memory of
    ///   the library. What it has put on the library's queue may go on: the library keeps the
    ///   memory of `uses` until that has ended.
    ///
    /// ```no_run
    /// # use oclave::{Command, Queue, Result, UsmSlice, native};
    /// # unsafe fn enqueue_something(_: native::cl_command_queue, _: &[native::cl_event]) -> native::cl_event { std::ptr::null_mut() }
    /// # fn f(queue: &Queue, x: &UsmSlice<f32>) -> Result<()> {
    /// // SAFETY: the command uses `x` only, waits for the list, and the event is its own.
    /// let command = unsafe {
    ///     Command::native(&[x], |to| {
    ///         // clEnqueue…(to.queue(), …, to.wait_list(), &mut event)
    ///         native::EventHandle::from_raw(enqueue_something(to.queue(), to.wait_list()))
    ///     })
    /// };
    /// queue.submit(command)?;
    /// # Ok(())
    /// # }
    /// ```
    #[expect(unsafe_code, reason = "the caller promises what nobody can check; nothing unsafe is done here")]
    pub unsafe fn native<E>(
        uses: &[&dyn Memory],
        enqueue: impl Fn(&Submission<'_>) -> std::result::Result<EventHandle, E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let uses = uses.iter().map(|place| place.place(false).used_in_any_way()).collect();
        Self::new(CommandKind::Native(NativeCommand::new(uses, enqueue)))
    }

    /// Runs an OpenCL kernel object with the arguments that it has. `uses` is the memory of
    /// these arguments, as for [`Command::native`]. If the driver rejects the kernel, the command
    /// fails when it is enqueued.
    ///
    /// # Safety
    /// As for [`Command::native`]. The device and the kernel take the range. Nobody sets arguments of the kernel, or releases memory that they
    /// name, until the command has ended: in a graph, until its executables are gone.
    #[expect(unsafe_code, reason = "the caller promises what nobody can check; nothing unsafe is done here")]
    pub unsafe fn native_kernel(kernel: KernelHandle, range: impl LaunchRange, uses: &[&dyn Memory]) -> Self {
        let uses = uses.iter().map(|place| place.place(false).used_in_any_way()).collect();
        Self::new(CommandKind::Native(NativeCommand::of_kernel(uses, kernel, range.nd_range())))
    }

    /// Does nothing. Complete when the events that it waits for are; without any, when everything
    /// before it on the queue is.
    pub fn marker() -> Self {
        Self::new(CommandKind::Marker)
    }

    /// As [`Command::marker`], and everything after it on the queue waits for it.
    pub fn barrier() -> Self {
        Self::new(CommandKind::Barrier)
    }

    /// Does nothing, and waits for nothing but its events, and its place on an in-order queue: to
    /// join events into one.
    pub fn empty() -> Self {
        Self::new(CommandKind::Empty)
    }

    /// Waits for events first: `.after(&event)`, `.after(&[&copied, &computed])`.
    pub fn after<'a>(mut self, events: impl Handles<'a, Event>) -> Self {
        self.after.extend(events.handles().cloned());
        self
    }

    /// Gives it a name, which errors, drawings, timelines and traces show.
    ///
    /// Names need not differ. Labels come before them: see [`Graph::label`](crate::Graph::label) and
    /// [`Queue::label`](crate::Queue::label).
    ///
    /// ```no_run
    /// # use oclave::{Command, Graph, Result, UsmSlice};
    /// # fn f(graph: &Graph, x: &UsmSlice<f32>) -> Result<()> {
    /// let node = graph.label("solve", || graph.add(Command::fill(x, 0.0).named("clear")))?;
    /// assert_eq!(node.name().as_deref(), Some("solve/clear"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        self.with_name(Some(name.into()))
    }

    pub(crate) fn with_name(self, name: Option<Name>) -> Self {
        Self { name, ..self }
    }

    /// The name that it was given.
    pub(crate) fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    pub(crate) fn kind(&self) -> &CommandKind {
        &self.kind
    }

    /// The events that it waits for.
    pub(crate) fn dependencies(&self) -> &[Event] {
        &self.after
    }

    pub(crate) fn from_parts(kind: CommandKind, after: Vec<Event>) -> Self {
        Self { kind, after, name: None }
    }

    /// Its work, and the events that it waits for.
    pub(crate) fn into_parts(self) -> (CommandKind, Vec<Event>) {
        (self.kind, self.after)
    }
}

impl Command {
    pub(crate) fn control(
        kind: ControlKind,
        value: ControlValue,
        bodies: Vec<Arc<dyn ControlBody>>,
        alone: Alone,
    ) -> Self {
        let flow = ControlFlow { kind, value, bodies, max_iterations: MAX_ITERATIONS, alone };
        Self::from_parts(CommandKind::Control(Box::new(flow)), Vec::new())
    }

    /// Limits how often a loop runs its body: 2³² times, if this is not called. A loop that would
    /// run longer fails, with an error that names its node. Other commands are not changed.
    ///
    /// ```no_run
    /// # use oclave::{Command, Graph, Result, UsmSlice};
    /// # fn f(graph: &Graph, residual: &UsmSlice<f32>, body: &Graph) -> Result<()> {
    /// graph.add(Command::while_(residual, body).max_iterations(1000))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_iterations(mut self, most: u64) -> Self {
        if let CommandKind::Control(flow) = &mut self.kind {
            flow.max_iterations = most;
        }
        self
    }
}

impl CommandKind {
    /// Its accesses to parts of buffers.
    pub(crate) fn requirements(&self) -> Vec<Arc<Requirement>> {
        match self {
            Self::Kernel { call, .. } => call.requirements(),
            Self::Graph(graph) => graph.requirements(),
            Self::Control(flow) => flow.requirements(),
            Self::Native(native) => native.places().iter().filter_map(Place::requirement).collect(),
            Self::HostTask(task) => task.uses().to_vec(),
            kind => kind.places().into_iter().flatten().filter_map(Place::requirement).collect(),
        }
    }

    /// The memory of all but kernels.
    pub(in crate::command) fn places(&self) -> [Option<&Place>; 2] {
        match self {
            Self::Copy { from, to } => [Some(from), Some(to)],
            Self::Write { to: memory, .. }
            | Self::Read { from: memory, .. }
            | Self::Fill { to: memory, .. }
            | Self::Memset { to: memory, .. }
            | Self::Prefetch { memory }
            | Self::Advise { memory, .. } => [Some(memory), None],
            Self::Kernel { .. }
            | Self::HostTask(_)
            | Self::Native(_)
            | Self::Graph(_)
            | Self::Control(_)
            | Self::External(_)
            | Self::Marker
            | Self::Barrier
            | Self::Empty => [None, None],
        }
    }
}
