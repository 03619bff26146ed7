//! Queues: in order or out of order, of one device.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Order;
use crate::MakeError as _;
use crate::command::{self, KernelCall, Recording, TaskResult};
use crate::driver::queue::{self as driver, Properties};
use crate::event::Waited;
use crate::graph::GraphSource;
use crate::handles::Handles;
use crate::memory::TaskAccess;
use crate::range::{LaunchRange, Range};
use crate::trace::{self, Track};
use crate::{Command, Context, Device, Error, Event, Result, runtime};

/// Where commands for a device are put.
///
/// An in-order queue runs its commands one after the other. An out-of-order queue runs them in any
/// order that keeps the dependencies given with [`Queue::after`]. Either may be used from many
/// threads; cloning is cheap and gives the same queue. A queue may be dropped while its commands
/// run. When the process exits, commands in flight are waited for, for five seconds at most.
///
/// Functions that return an [`Event`] or a [`Readback`](crate::memory::Readback) return at once; the others
/// when they are done.
///
/// ```no_run
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
/// # use kernels::saxpy::saxpy;
/// # fn main() -> oclave::Result<()> {
/// use oclave::{Context, Device, Queue};
///
/// let context = Context::new(&Device::select()?)?;
/// let queue = Queue::new(&context)?;
/// let x = queue.upload(&[1.0_f32; 1024])?;
/// let y = queue.upload(&[2.0_f32; 1024])?;
/// let event = queue.parallel_for(1024, saxpy(3.0, &x, &y))?; // returns at once
/// queue.host_task(|| println!("the kernel has run"))?;
/// assert_eq!(queue.read(&y)?[0], 5.0); // returns when the data is there
/// assert!(event.is_complete()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
    dependencies: Dependencies,
}

/// The events that every command waits for. One event is the common case, and needs no allocation.
#[derive(Clone)]
enum Dependencies {
    None,
    One(Event),
    Many(Arc<[Event]>),
}

impl Dependencies {
    /// These, and further ones.
    #[inline]
    fn and<'s, 'a: 's>(&'s self, more: impl Iterator<Item = &'a Event>) -> Self {
        let mut all = self.events().iter().chain(more.map(|event| -> &'s Event { event }));
        match (all.next(), all.next()) {
            (None, _) => Self::None,
            (Some(one), None) => Self::One(one.clone()),
            (Some(first), Some(second)) => {
                Self::Many([first, second].into_iter().chain(all).cloned().collect())
            }
        }
    }

    #[inline]
    fn events(&self) -> &[Event] {
        match self {
            Self::None => &[],
            Self::One(event) => std::slice::from_ref(event),
            Self::Many(events) => events,
        }
    }
}

struct Inner {
    track: Track,
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
        &self.inner.context
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.driver().device()
    }

    /// Whether commands may run out of order.
    pub fn is_out_of_order(&self) -> bool {
        self.driver().properties().out_of_order
    }

    /// The same queue, whose commands wait for events first:
    /// `queue.after(&[&copied, &computed]).parallel_for(range, call)`.
    ///
    /// The handle may be kept, cloned and given to others. Each command that is submitted through
    /// it waits for the events, which may be of other queues and contexts. It is equal to the
    /// handle that it was made from.
    ///
    /// ```no_run
    /// # fn f(queue: &oclave::Queue, x: &oclave::UsmSlice<f32>, y: &oclave::UsmSlice<f32>) -> oclave::Result<()> {
    /// let filled = queue.fill(x, 1.5)?;
    /// let copied = queue.after(&filled).copy(x, y)?;
    /// queue.after(&[&filled, &copied]).marker()?.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "dependencies do nothing until a command is put on the queue"]
    pub fn after<'a>(&self, events: impl Handles<'a, Event>) -> Self {
        Self { inner: Arc::clone(&self.inner), dependencies: self.dependencies.and(events.handles()) }
    }

    /// Runs a closure, during which the commands that this thread puts on the queue have a label.
    /// Those that are recorded become nodes with it, as with [`Graph::label`](crate::Graph::label);
    /// for others, errors show it. Labels nest.
    ///
    /// ```no_run
    /// # use oclave::{Graph, Queue, Result};
    /// # fn library_that_uses(_: &Queue) -> Result<()> { Ok(()) }
    /// # fn f(queue: &Queue, graph: &Graph) -> Result<()> {
    /// let recording = graph.record(queue)?;
    /// queue.label("library", || library_that_uses(queue))?;
    /// recording.end();
    /// # Ok(())
    /// # }
    /// ```
    pub fn label<R>(&self, label: impl Into<Arc<str>>, run: impl FnOnce() -> R) -> R {
        command::labelled(command::Labelled::Queue(self.recording().id()), label.into(), run)
    }

    /// The events that every command waits for.
    pub(crate) fn dependencies(&self) -> &[Event] {
        self.dependencies.events()
    }

    /// Puts a command on the queue. All other functions that return an [`Event`] are short for
    /// this.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when memory is of another context, being accessed by
    /// the host, or of other sizes than the command needs; for kernels also as
    /// [`Queue::parallel_for`].
    pub fn submit(&self, command: Command) -> Result<Event> {
        let event = self.submit_traced(command)?;
        if self.context().blocking_submissions() && event.recorded().is_none() {
            event.wait()?;
        }
        Ok(event)
    }

    /// Runs a closure in its place in the order, see [`Command::host_task`].
    ///
    /// # Errors
    /// When the system has no thread. What the closure returns, and a panic, is the outcome of the
    /// event.
    pub fn host_task<R: TaskResult>(&self, task: impl Fn() -> R + Send + Sync + 'static) -> Result<Event> {
        self.submit(Command::host_task(task))
    }

    /// Runs a closure with elements of buffers, see [`Command::host_task_with`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for two accessors of the same elements, one of which
    /// writes; as [`Queue::host_task`].
    pub fn host_task_with<S: TaskAccess, R: TaskResult>(
        &self,
        accessors: S,
        task: impl Fn(S::Views<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Event> {
        self.submit(Command::host_task_with(accessors, task))
    }

    /// Runs a kernel over a range: a number of work-items (`1000`, [`Range`](crate::kernel::Range), `[640,
    /// 480]`) or an [`NdRange`](crate::kernel::NdRange). An empty range runs nothing and keeps its place in
    /// the order.
    ///
    /// # Errors
    ///
    /// - [`NdRange`](crate::ErrorKind::NdRange) when the device or the kernel does not take the
    ///   range.
    /// - [`KernelArgument`](crate::ErrorKind::KernelArgument) when the arguments do not fit the
    ///   kernel.
    /// - [`Invalid`](crate::ErrorKind::Invalid) when memory is of another context, or the host
    ///   accesses it.
    /// - [`Build`](crate::ErrorKind::Build) and others when the kernel's program is built for the
    ///   first time.
    pub fn parallel_for(&self, range: impl LaunchRange, call: KernelCall) -> Result<Event> {
        let range = range.nd_range();
        if command::is_direct(self, &call) {
            return self.submit_direct_traced(&range, call);
        }
        self.submit(Command::parallel_for(range, call))
    }

    /// Finds or builds the program of a kernel, and checks the arguments, without running it. A
    /// launch does so, too: the first may compile for seconds, which this moves to a time of your
    /// choice. The log says at level `info` when a compiler runs.
    ///
    /// # Errors
    /// As [`Queue::parallel_for`].
    pub fn prepare(&self, call: &KernelCall) -> Result<()> {
        command::prepare(self, call)
    }

    /// The size of work-groups that the driver chooses for a launch whose range has none. If the range or
    /// the kernel says a size, it is that one.
    ///
    /// `None` for an empty range, and if the driver does not tell
    /// ([`suggested_group_sizes`](crate::device::Capabilities::suggested_group_sizes)).
    ///
    /// It is good for memory that depends on the number of groups. Launches that give no size get the
    /// driver's own choice anyway.
    ///
    /// ```no_run
    /// # use oclave::kernel::{KernelCall, NdRange};
    /// # use oclave::{Queue, Result};
    /// # fn f(queue: &Queue, call: KernelCall) -> Result<()> {
    /// let group = queue.suggested_group_size(4096, &call)?.unwrap_or(64.into());
    /// queue.parallel_for(NdRange::new(4096, group), call)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Queue::parallel_for`].
    pub fn suggested_group_size(&self, range: impl LaunchRange, call: &KernelCall) -> Result<Option<Range>> {
        let range = range.nd_range();
        let suggested = command::suggested_group_size(self, &range, call)?;
        Ok(suggested.map(|sizes| Range::of(sizes, range.global().dimensions())))
    }

    /// Runs a kernel with one work-item.
    ///
    /// # Errors
    /// As [`Queue::parallel_for`].
    pub fn single_task(&self, call: KernelCall) -> Result<Event> {
        self.parallel_for(1, call)
    }

    /// Runs an executable graph as one command (`sycl_ext_oneapi_graph`, section 7.6.4,
    /// `ext_oneapi_graph`).
    ///
    /// On an in-order queue it follows everything before it, like any command. Its edges alone
    /// order its nodes. A recording queue adds it as a sub-graph.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the queue is of another context or device than
    /// the graph, or the host is accessing memory that the graph uses. An error that names the node
    /// when the driver refuses it.
    ///
    /// [`ExecutableGraph::with`](crate::graph::ExecutableGraph::with) gives a submission events from outside.
    pub fn submit_graph(&self, graph: impl GraphSource) -> Result<Event> {
        self.submit(graph.into())
    }

    /// A command that does nothing, and that is complete when everything before it is, or the
    /// events of [`Queue::after`] are.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn marker(&self) -> Result<Event> {
        self.submit(Command::marker())
    }

    /// As [`Queue::marker`], and everything behind it on the queue waits for it.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn barrier(&self) -> Result<Event> {
        self.submit(Command::barrier())
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
    /// The first failure of a host task since the last wait. The first error of an earlier
    /// operation that could not report it. Errors of the driver. Events have the outcome of single
    /// commands. [`Invalid`](crate::ErrorKind::Invalid) inside a host task, when the queue waits
    /// for that task.
    pub fn wait(&self) -> Result<()> {
        if let Some(recorder) = self.recording().recorder()
            && let Some(recorded) = recorder.wait_recorded(Waited::Queue(self.recording().id()))
        {
            return recorded;
        }
        self.refuse_recording("waiting")?;
        let outcome = trace::wait("queue", || {
            for promise in self.order().held() {
                promise.wait_known()?;
            }
            runtime::blocking(|| self.driver().finish())?;
            self.driver().context().check()?;
            self.order().take_failure().map_or(Ok(()), Err)
        });
        self.inner.track.report();
        outcome
    }

    /// The library's own queue of a device, for commands to be prepared with.
    pub(crate) fn internal(context: &Context, device: &Device) -> Result<Self> {
        let driver = context.programs().queue(device)?;
        Ok(Self::around(context.clone(), driver))
    }

    pub(crate) fn around(context: Context, driver: Arc<driver::Queue>) -> Self {
        let order = Order::new(!driver.properties().out_of_order);
        let inner = Inner { track: Default::default(), order, recording: Arc::default(), driver, context };
        Self { inner: Arc::new(inner), dependencies: Dependencies::None }
    }

    pub(crate) fn driver(&self) -> &Arc<driver::Queue> {
        &self.inner.driver
    }

    /// Deferred commands.
    pub(crate) fn order(&self) -> &Order {
        &self.inner.order
    }

    /// The measured commands of the queue, and its number.
    #[inline]
    pub(super) fn track(&self) -> (&Track, u64) {
        (&self.inner.track, self.recording().id())
    }

    pub(crate) fn recording(&self) -> &Arc<Recording> {
        &self.inner.recording
    }

    /// Refuses what a graph cannot run later.
    pub(crate) fn refuse_recording(&self, what: &str) -> Result<()> {
        match self.recording().recorder() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("{what}, on a queue that records to a graph"))
                .remedy("end the recording first; copies that own their host memory can be recorded: `Command::write`, `Command::read`; waits can be barriers: `Graph::builder(..).waits(..)`")),
        }
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Queue {}

impl Hash for Queue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.recording().id().hash(state);
    }
}

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

    /// Commands get no event of their own, which makes launching cheaper. Their [`Event`]s still
    /// work, but stand for everything that was put on the queue until they are used, and cannot be
    /// measured.
    pub fn discard_events(mut self) -> Self {
        self.properties.discard_events = true;
        self
    }

    /// Makes the queue.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the device is not of the context,
    /// [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when it cannot run commands
    /// out of order.
    pub fn build(self) -> Result<Queue> {
        let device = self.device.as_ref().unwrap_or(self.context.device());
        let driver = driver::Queue::new(self.context.driver(), device, self.properties)?;
        Ok(Queue::around(self.context, driver))
    }
}
