//! Contexts: devices of one platform that share memory and programs.

use std::ffi::CString;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;

use crate::MakeError as _;
use crate::driver;
use crate::driver::MemoryKind;
use crate::driver::free_pool::SpareMemory;
use crate::driver::native::{ContextHandle, cl_context};
use crate::driver::sync::Mutex;
use crate::memory::{UsmSlice, usm};
use crate::program::{PrintSink, Printed, ProgramCache, Programs};
use crate::{Device, Error, Event, Result, runtime};

/// Devices of one platform that share memory, programs, and events.
///
/// Cloning is cheap and gives the same context. Everything made from a context keeps it alive.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// use oclave::{Context, Device, Queue};
///
/// let context = Context::new(&Device::select()?)?;
/// let queue = Queue::new(&context)?;
/// let memory = context.alloc_device::<f32>(1000)?;
/// queue.fill(&memory, 1.5)?.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    programs: Programs,
    graph_interpreter: Option<bool>,
    blocking_submissions: bool,
    /// For copies between buffers and the host; made on first use.
    transfer: OnceLock<Arc<driver::queue::Queue>>,
    /// Internal queues that are not in use.
    spare_queues: Mutex<Vec<SpareQueue>>,
    driver: Arc<driver::context::Context>,
}

/// An internal queue, with the event after which nothing runs on it.
struct SpareQueue {
    queue: Arc<driver::queue::Queue>,
    last: Option<Event>,
}

impl Context {
    /// A context of one device.
    ///
    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when the device
    /// takes no SPIR-V.
    pub fn new(device: &Device) -> Result<Self> {
        Self::builder(std::slice::from_ref(device)).build()
    }

    /// A context of several devices of one platform (devices, or sub-devices), or with properties.
    pub fn builder(devices: &[Device]) -> ContextBuilder {
        ContextBuilder {
            devices: devices.to_vec(),
            cache: ProgramCache::Environment,
            virtual_call_checks: crate::environment::switch("OCLAVE_VIRTUAL_CALL_CHECKS").unwrap_or(true),
            graph_interpreter: crate::graph::interpreter_of_environment(),
            blocking_submissions: crate::environment::switch("OCLAVE_BLOCKING_SUBMISSIONS").unwrap_or(false),
            compiler_options: String::new(),
            printf: None,
            faults: None,
            memory: None,
        }
    }

    /// A context of OpenCL's. Its reference is released with the last of what is made from it. What
    /// the environment says of contexts holds for it, too.
    ///
    /// # Errors
    /// As [`ContextBuilder::build`], for its devices.
    pub fn from_native(handle: ContextHandle) -> Result<Self> {
        let driver = driver::context::Context::of_native(handle)?;
        driver.devices().iter().try_for_each(Device::require_kernels)?;
        Self::builder(&[]).around(driver)
    }

    /// OpenCL's handle, good as long as the context or a clone lives.
    pub fn native(&self) -> cl_context {
        self.driver().raw()
    }

    /// The devices, in the order given.
    pub fn devices(&self) -> &[Device] {
        self.driver().devices()
    }

    /// The first device; that of queues and of device memory unless another is named.
    pub fn device(&self) -> &Device {
        // There is at least one.
        self.driver().first_device()
    }

    /// Device memory for `len` elements on the context's first device. The contents are undefined,
    /// not uninitialised: any bytes are a value of `T`.
    ///
    /// # Errors
    /// [`ErrorKind::MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when it does not fit,
    /// and [`ErrorKind::FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when the
    /// device has no such memory.
    pub fn alloc_device<T: Pod>(&self, len: usize) -> Result<UsmSlice<T, usm::DeviceOnly>> {
        UsmSlice::new(self, Some(self.device()), len)
    }

    /// As [`Context::alloc_device`], on a device of the context.
    ///
    /// # Errors
    /// Also [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the device is not of this
    /// context.
    pub fn alloc_device_on<T: Pod>(
        &self,
        device: &Device,
        len: usize,
    ) -> Result<UsmSlice<T, usm::DeviceOnly>> {
        if !self.devices().contains(device) {
            return Err(Error::invalid(format!("device `{}` is not in the context", device.name())));
        }
        UsmSlice::new(self, Some(device), len)
    }

    /// Memory for `len` elements on the host, which the devices can use.
    ///
    /// # Errors
    /// As [`Context::alloc_device`].
    pub fn alloc_host<T: Pod>(&self, len: usize) -> Result<UsmSlice<T, usm::Host>> {
        UsmSlice::new(self, None, len)
    }

    /// Memory for `len` elements that host and devices use, and that moves between them.
    ///
    /// # Errors
    /// As [`Context::alloc_device`].
    pub fn alloc_shared<T: Pod>(&self, len: usize) -> Result<UsmSlice<T, usm::Shared>> {
        // Memory shared by all devices where there are several.
        let device = if self.devices().len() == 1 { Some(self.device()) } else { None };
        UsmSlice::new(self, device, len)
    }

    /// Returns how much freed USM the context keeps for reuse.
    ///
    /// Some drivers do not take memory back well. They get it back after a second (Q3) or after a minute
    /// (Q70), and the context keeps at most 256 MiB. Other drivers get it back at once.
    #[must_use]
    pub fn spare_memory(&self) -> SpareMemory {
        self.driver().spare_memory()
    }

    /// Whether graphs are replayed by the interpreter; `None` where it is faster.
    pub(crate) fn graph_interpreter(&self) -> Option<bool> {
        self.0.graph_interpreter
    }

    /// Whether each submission waits for its command.
    pub(crate) fn blocking_submissions(&self) -> bool {
        self.0.blocking_submissions
    }

    /// The library's own in-order queue of the first device, for copies between buffers and the
    /// host.
    pub(crate) fn transfer_queue(&self) -> Result<&Arc<driver::queue::Queue>> {
        if let Some(queue) = self.0.transfer.get() {
            return Ok(queue);
        }
        let queue = driver::queue::Queue::new(self.driver(), self.device(), Default::default())?;
        Ok(self.0.transfer.get_or_init(|| queue))
    }

    /// An internal queue for commands that come after `after`. It is one of those that [`Self::put_queue_back`] got, if
    /// one was put back with this event or is idle. Queues are expensive: one may take 8 MB and up to 50 ms.
    pub(crate) fn take_queue(
        &self,
        device: &Device,
        properties: driver::queue::Properties,
        after: Option<&Event>,
    ) -> Result<Arc<driver::queue::Queue>> {
        let fits =
            |spare: &SpareQueue| spare.queue.properties() == properties && spare.queue.device() == device;
        let ends_with = |last: &Event| after.is_some_and(|after| last.is_same(after));
        let is_same = |spare: &SpareQueue| spare.last.as_ref().is_some_and(ends_with) && fits(spare);
        let is_idle = |spare: &SpareQueue| spare.last.as_ref().is_none_or(Event::has_ended);
        let mut spare = self.0.spare_queues.lock();
        let found = spare.iter().position(is_same);
        match found.or_else(|| spare.iter().position(|spare| fits(spare) && is_idle(spare))) {
            Some(index) => Ok(spare.swap_remove(index).queue),
            None => {
                drop(spare);
                driver::queue::Queue::new(self.driver(), device, properties)
            }
        }
    }

    /// Returns an internal queue. It is idle once `last` has ended.
    pub(crate) fn put_queue_back(&self, queue: Arc<driver::queue::Queue>, last: Option<Event>) {
        let mut spare = self.0.spare_queues.lock();
        spare.push(SpareQueue { queue, last });
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.0.programs
    }

    pub(crate) fn driver(&self) -> &Arc<driver::context::Context> {
        &self.0.driver
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

impl Hash for Context {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(Arc::as_ptr(&self.0), state);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("devices", &self.devices()).finish_non_exhaustive()
    }
}

/// Properties of a context to be made; from [`Context::builder`].
#[must_use = "a context is made by `build`"]
#[derive(Debug, Clone)]
pub struct ContextBuilder {
    devices: Vec<Device>,
    cache: ProgramCache,
    virtual_call_checks: bool,
    graph_interpreter: Option<bool>,
    blocking_submissions: bool,
    compiler_options: String,
    printf: Option<PrintSink>,
    faults: Option<String>,
    memory: Option<MemoryKind>,
}

impl ContextBuilder {
    /// Where binaries of programs are kept.
    pub fn program_cache(mut self, cache: &ProgramCache) -> Self {
        self.cache = cache.clone();
        self
    }

    /// Sets whether the next wait reports invalid virtual calls, as
    /// [`ErrorKind::Kernel`](crate::ErrorKind::Kernel).
    ///
    /// A call is invalid if its object is dead or was never constructed. It is also invalid if the
    /// kernel does not call the function's set, or if it is nested too deep. Such a call returns
    /// zero. The default is on, unless `OCLAVE_VIRTUAL_CALL_CHECKS` is `0` or `off`. Without
    /// checks, virtual calls can be a little faster.
    pub fn virtual_call_checks(mut self, on: bool) -> Self {
        self.virtual_call_checks = on;
        self
    }

    /// Sets whether graphs of the context run small nodes by the interpreter.
    ///
    /// `Some(false)` disables it, even for
    /// [`ReplayStrategy::Interpreter`](crate::graph::ReplayStrategy::Interpreter). `Some(true)` uses it
    /// for all nodes that it supports, and makes `finalize` wait for its program. `None` uses it
    /// where it is faster. The default comes from `OCLAVE_GRAPH_INTERPRETER`: `0` or `off`, `1` or
    /// `on`. Any other value is ignored with a warning in the log.
    pub fn graph_interpreter(mut self, wish: Option<bool>) -> Self {
        self.graph_interpreter = wish;
        self
    }

    /// Sets whether each submission waits for its command and returns the command's failure.
    ///
    /// This helps to find the command that fails. It includes replays of graphs, but not commands
    /// that are recorded. A submission that waits for something which the same thread does later
    /// never returns. The default is off, unless `OCLAVE_BLOCKING_SUBMISSIONS` is `1` or `on`.
    /// Values other than these, `0` and `off` are ignored with a warning in the log.
    pub fn blocking_submissions(mut self, on: bool) -> Self {
        self.blocking_submissions = on;
        self
    }

    /// Passes options to the driver's compiler, as `clBuildProgram` takes them:
    /// `"-cl-opt-disable"`.
    ///
    /// They hold for all programs of the context, and binaries in caches are told apart by them.
    /// Options that a driver does not know are an error of each build.
    pub fn compiler_options(mut self, options: impl Into<String>) -> Self {
        self.compiler_options = options.into();
        self
    }

    /// Switches work-arounds for faults of drivers off and on in this context. The words are those of the variable
    /// `OCLAVE_FAULTS`: `-Q45,+Q16`, `none`, `all`. `oclave faults` lists the faults.
    ///
    /// The devices of the context are [`with_faults`](Device::with_faults) then, and differ from those that the builder was
    /// given. Take them from [`Context::devices`].
    ///
    /// ```no_run
    /// # use oclave::{Context, Device, Queue};
    /// # fn main() -> oclave::Result<()> {
    /// let context = Context::builder(&[Device::select()?]).faults("-Q45").build()?;
    /// let queue = Queue::new(&context)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn faults(mut self, words: impl Into<String>) -> Self {
        self.faults = Some(words.into());
        self
    }

    /// Sets which kind of memory `alloc_device`, `alloc_host` and `alloc_shared` give. Without a choice, it is the first kind that
    /// all devices have, and never [`MemoryKind::UnifiedSvm`].
    ///
    /// The devices of the context are [`with_memory`](Device::with_memory) then, and differ from those that the builder was
    /// given. Take them from [`Context::devices`].
    ///
    /// ```no_run
    /// # use oclave::device::MemoryKind;
    /// # use oclave::{Context, Device};
    /// # fn main() -> oclave::Result<()> {
    /// let context = Context::builder(&[Device::select()?]).memory(MemoryKind::UnifiedSvm).build()?;
    /// let shared = context.alloc_shared::<f32>(1000)?;
    /// shared.write()?.fill(1.0); // kernels use it without a copy
    /// # Ok(())
    /// # }
    /// ```
    pub fn memory(mut self, kind: MemoryKind) -> Self {
        self.memory = Some(kind);
        self
    }

    /// Gives what kernels print with `printf` to a function, call by call, instead of to the
    /// driver.
    ///
    /// It is called before a wait for a command returns, with what all kernels of the device printed
    /// until then. The rest comes when the context is dropped. Calls come one at a
    /// time, in the order in which the work-items printed, from any thread that waits. Where two
    /// threads wait at the same time, one calls for both. The guide's page on debugging kernels has
    /// an example, and says what holds on which device.
    ///
    /// Kernels that print are built in another form for this, in which the format strings must be
    /// string literals. If more than 1 MiB is printed between two waits, the rest is lost, and a
    /// line says how much ([`Printed::lost`]).
    pub fn printf(mut self, sink: impl Fn(&Printed) + Send + Sync + 'static) -> Self {
        self.printf = Some(PrintSink::new(sink));
        self
    }

    /// As [`printf`](Self::printf), to the log. Each call of `printf` is a record of the level
    /// `info` and the target `oclave::printf`. It names the kernel, file and line where they are
    /// known.
    pub fn printf_to_log(mut self) -> Self {
        self.printf = Some(PrintSink::log());
        self
    }

    /// Makes the context.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for no device, for compiler options with a
    /// zero byte, and for [`faults`](Self::faults) that do not exist. The same for devices of several platforms, as OpenCL has no context across
    /// platforms. [`ErrorKind::FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) for a device without the chosen
    /// [`memory`](Self::memory). Otherwise as [`Context::new`]. A cache that cannot be used is no error; it is
    /// logged, once.
    pub fn build(mut self) -> Result<Context> {
        if let Some(words) = self.faults.take() {
            self.devices =
                self.devices.iter().map(|device| device.with_faults(&words)).collect::<Result<_>>()?;
        }
        if let Some(kind) = self.memory {
            self.devices =
                self.devices.iter().map(|device| device.with_memory(kind)).collect::<Result<_>>()?;
        }
        self.devices.iter().try_for_each(Device::require_kernels)?;
        let driver = driver::context::Context::new(&self.devices)?;
        self.around(driver)
    }

    fn around(self, driver: Arc<driver::context::Context>) -> Result<Context> {
        let options = CString::new(self.compiler_options)
            .map_err(|error| Error::invalid("compiler options with a zero byte").with_source(error))?;
        runtime::prepare_exit();
        let programs = Programs::new(&driver, &self.cache, options, self.virtual_call_checks, self.printf);
        let Self { graph_interpreter, blocking_submissions, .. } = self;
        Ok(Context(Arc::new(Inner {
            programs,
            graph_interpreter,
            blocking_submissions,
            transfer: OnceLock::new(),
            spare_queues: Mutex::default(),
            driver,
        })))
    }
}
