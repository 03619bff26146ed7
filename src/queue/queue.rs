//! Queues: in order or out of order, of one device.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::{After, Order};
use crate::command::{Advice, CopyFrom, CopyTo, Handler, Recording, TaskResult};
use crate::driver::queue::{self as driver, Properties};
use crate::memory::{AsyncSource, Readback};
use crate::{
    Command, Context, Device, Error, Event, ExecutableGraph, KernelCall, NdRange, Result, TaskAccess, runtime,
};

/// Where commands for a device are put.
///
/// An in-order queue runs its commands one after the other. An out-of-order queue runs them in any order that keeps the
/// dependencies given with [`Queue::after`]. Either may be used from many threads; cloning is cheap and gives the same
/// queue. A queue may be dropped while its commands run. When the process exits, commands in flight are waited for, for five
/// seconds at most.
///
/// Functions that return an [`Event`] return at once; the others when they are done.
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    recording: Arc<Recording>,
    order: Order,
    driver: Arc<driver::Queue>,
    context: Context,
}

impl Queue {
    /// An in-order queue of the context's first device.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(context: &Context) -> Result<Self> {
        Self::builder(context).build()
    }

    /// A queue with other properties.
    pub fn builder(context: &Context) -> QueueBuilder {
        QueueBuilder { context: context.clone(), device: None, properties: Properties::default() }
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.driver().device()
    }

    /// Whether commands may run out of order.
    pub fn is_out_of_order(&self) -> bool {
        self.driver().properties().out_of_order
    }

    /// Commands that wait for these events first:
    /// `queue.after(&[&copied, &computed]).parallel_for(range, call)`.
    ///
    /// Events may be of other queues and contexts.
    pub fn after<'a>(&'a self, events: &'a [&'a Event]) -> After<'a> {
        After::new(self, events)
    }

    /// Puts a command on the queue. All other functions that return an [`Event`] are short for this.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when memory is of another context, being accessed by the host, or of other
    /// sizes than the command needs; for kernels also as [`Queue::parallel_for`].
    pub fn submit(&self, command: Command) -> Result<Event> {
        self.after(&[]).submit(command)
    }

    /// Puts a command on the queue that a closure describes, as a command group of SYCL does.
    ///
    /// ```no_run
    /// # use oclave::{Command, Event, Queue, Result, UsmSlice};
    /// # fn f(queue: &Queue, x: &UsmSlice<f32>, event: &Event) -> Result<Event> {
    /// queue.submit_with(|h| {
    ///     h.depends_on(event);
    ///     h.run(Command::fill(x, 0.0));
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Queue::submit`]; [`Invalid`](crate::ErrorKind::Invalid) for more than one action. None is an empty command.
    pub fn submit_with(&self, describe: impl FnOnce(&mut Handler)) -> Result<Event> {
        self.after(&[]).submit_with(describe)
    }

    /// Runs a closure on a thread of the library, in its place in the order, see [`Command::host_task`].
    ///
    /// # Errors
    /// When the system has no thread. What the closure returns, and a panic, is the outcome of the event.
    pub fn host_task<R: TaskResult>(&self, task: impl Fn() -> R + Send + Sync + 'static) -> Result<Event> {
        self.after(&[]).host_task(task)
    }

    /// Runs a closure on a thread of the library, with elements of buffers, see [`Command::host_task_with`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for two accessors of the same elements, one of which writes; as [`Queue::host_task`].
    pub fn host_task_with<S: TaskAccess, R: TaskResult>(
        &self,
        accessors: S,
        task: impl Fn(S::Views<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Event> {
        self.after(&[]).host_task_with(accessors, task)
    }

    /// Runs a kernel over a range: a number of work-items (`1000`, [`Range`](crate::Range), `[640, 480]`) or an
    /// [`NdRange`]. An empty range runs nothing and keeps its place in the order.
    ///
    /// # Errors
    /// [`NdRange`](crate::ErrorKind::NdRange) when the device or the kernel does not take the range,
    /// [`KernelArgument`](crate::ErrorKind::KernelArgument) when the arguments do not fit the kernel,
    /// [`Invalid`](crate::ErrorKind::Invalid) when memory is of another context or being accessed by the host,
    /// [`Build`](crate::ErrorKind::Build) and others when the kernel's program is built for the first time.
    pub fn parallel_for(&self, range: impl Into<NdRange>, call: KernelCall) -> Result<Event> {
        self.after(&[]).parallel_for(range, call)
    }

    /// Runs a kernel with one work-item.
    ///
    /// # Errors
    /// As [`Queue::parallel_for`].
    pub fn single_task(&self, call: KernelCall) -> Result<Event> {
        self.after(&[]).single_task(call)
    }

    /// Copies host data to USM of the same length, and waits.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for other lengths, memory of another context, or memory that the host accesses.
    pub fn copy_to_device<T: Pod>(&self, from: &[T], to: &impl CopyTo<T>) -> Result<()> {
        self.after(&[]).copy_to_device(from, to)
    }

    /// Copies USM to host data of the same length, and waits.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn copy_to_host<T: Pod>(&self, from: &impl CopyFrom<T>, to: &mut [T]) -> Result<()> {
        self.after(&[]).copy_to_host(from, to)
    }

    /// The elements of USM as a vector, when everything before has run.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn read<T: Pod>(&self, from: &impl CopyFrom<T>) -> Result<Vec<T>> {
        self.after(&[]).read(from)
    }

    /// Copies host data (a `Vec<T>` or an `Arc<[T]>`) to USM of the same length, later.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn copy_to_device_async<T: Pod>(
        &self,
        from: impl Into<AsyncSource<T>>,
        to: &impl CopyTo<T>,
    ) -> Result<Event> {
        self.after(&[]).copy_to_device_async(from, to)
    }

    /// As [`Queue::read`], later.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn read_async<T: Pod>(&self, from: &impl CopyFrom<T>) -> Result<Readback<T>> {
        self.after(&[]).read_async(from)
    }

    /// Copies USM to USM of the same length, of the same context.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`]; also [`Invalid`](crate::ErrorKind::Invalid) where the two overlap.
    pub fn copy<T: Pod>(&self, from: &impl CopyFrom<T>, to: &impl CopyTo<T>) -> Result<Event> {
        self.after(&[]).copy(from, to)
    }

    /// Sets every element to a value.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn fill<T: Pod>(&self, to: &impl CopyTo<T>, value: T) -> Result<Event> {
        self.after(&[]).fill(to, value)
    }

    /// Sets every byte to a value.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn memset<T: Pod>(&self, to: &impl CopyTo<T>, byte: u8) -> Result<Event> {
        self.after(&[]).memset(to, byte)
    }

    /// Moves memory to the device ahead of its use. Does nothing but keep its place in the order where the device cannot.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn prefetch<T: Pod>(&self, memory: &impl CopyFrom<T>) -> Result<Event> {
        self.after(&[]).prefetch(memory)
    }

    /// Gives the driver a hint on how memory will be used.
    ///
    /// The extension defines the call but no advice, so no OpenCL driver takes such hints today. This only checks the memory
    /// and keeps its place in the order.
    ///
    /// # Errors
    /// As [`Queue::copy_to_device`].
    pub fn mem_advise<T: Pod>(&self, memory: &impl CopyFrom<T>, advice: Advice) -> Result<Event> {
        self.after(&[]).mem_advise(memory, advice)
    }

    /// Runs an executable graph as one command (`sycl_ext_oneapi_graph`, section 7.6.4, `ext_oneapi_graph`).
    ///
    /// On an in-order queue it follows everything before it, like any command. Its edges alone order its nodes. A recording
    /// queue adds it as a sub-graph.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the queue is of another context or device than the graph, or the host is
    /// accessing memory that the graph uses. An error that names the node when the driver refuses it.
    pub fn submit_graph(&self, graph: &ExecutableGraph) -> Result<Event> {
        self.submit(Command::graph(graph))
    }

    /// A command that does nothing, and that is complete when everything before it is.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn marker(&self) -> Result<Event> {
        self.after(&[]).marker()
    }

    /// A command that does nothing, that waits for everything before it, and that everything behind it waits for.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn barrier(&self) -> Result<Event> {
        self.after(&[]).barrier()
    }

    /// Hands everything on the queue to the device. Waiting does so too.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn flush(&self) -> Result<()> {
        self.driver().context().check()?;
        self.driver().flush()
    }

    /// Waits for everything on the queue.
    ///
    /// # Errors
    /// The first failure of a host task since the last wait, the first error of an earlier operation that could not report
    /// it, and errors of the driver. Events have the outcome of single commands. [`Invalid`](crate::ErrorKind::Invalid) inside
    /// a host task, when the queue waits for that task.
    pub fn wait(&self) -> Result<()> {
        self.refuse_recording("waiting")?;
        for promise in self.order().held() {
            promise.wait_known()?;
        }
        runtime::blocking(|| self.driver().finish())?;
        self.driver().context().check()?;
        self.order().take_failure().map_or(Ok(()), Err)
    }

    pub(super) fn around(context: Context, driver: Arc<driver::Queue>) -> Self {
        let order = Order::new(!driver.properties().out_of_order);
        Self(Arc::new(Inner { order, recording: Arc::default(), driver, context }))
    }

    pub(crate) fn driver(&self) -> &Arc<driver::Queue> {
        &self.0.driver
    }

    /// What is held back.
    pub(crate) fn order(&self) -> &Order {
        &self.0.order
    }

    pub(crate) fn recording(&self) -> &Arc<Recording> {
        &self.0.recording
    }

    /// Refuses what a graph cannot run later.
    pub(crate) fn refuse_recording(&self, what: &str) -> Result<()> {
        match self.recording().recorder() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("{what}, on a queue that records to a graph"))
                .remedy("end the recording first; copies that own their host memory can be recorded: `Command::write`, `Command::read`")),
        }
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Queue {}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.driver(), f)
    }
}

/// Properties of a queue to be made; from [`Queue::builder`].
#[must_use = "a queue is made by `build`"]
#[derive(Debug, Clone)]
pub struct QueueBuilder {
    context: Context,
    device: Option<Device>,
    properties: Properties,
}

impl QueueBuilder {
    /// A queue of this device of the context, instead of the first.
    pub fn device(mut self, device: &Device) -> Self {
        self.device = Some(device.clone());
        self
    }

    /// Commands may run out of order.
    pub fn out_of_order(mut self) -> Self {
        self.properties.out_of_order = true;
        self
    }

    /// Commands are measured: [`Event::profiling`].
    pub fn profiling(mut self) -> Self {
        self.properties.profiling = true;
        self
    }

    /// Commands get no event of their own, which makes launching cheaper. Their [`Event`]s still work, but stand for
    /// everything that was put on the queue until they are used, and cannot be measured.
    pub fn discard_events(mut self) -> Self {
        self.properties.discard_events = true;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the device is not of the context,
    /// [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when it cannot run commands out of order.
    pub fn build(self) -> Result<Queue> {
        let device = self.device.as_ref().unwrap_or(self.context.device());
        let driver = driver::Queue::new(self.context.driver(), device, self.properties)?;
        Ok(Queue::around(self.context, driver))
    }
}
