//! Steps: commands that were prepared once, to be put on queues again and again.

use oclave_faults::Fault;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use super::copy;
use super::launch::{Arg, Kept, WorkSize};
use crate::Result;
use crate::event::Event;
use crate::kernel::SharedKernel;
use crate::queue::Queue;
use crate::usm::{Allocation, Span};

/// A command that was prepared: a kernel with its arguments, a copy, a fill.
pub struct Step {
    pub(crate) work: Work,
    /// The memory that it uses, but for a kernel's arguments.
    memory: Box<[Arc<Allocation>]>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("memory", &self.memory.len()).finish_non_exhaustive()
    }
}

pub(crate) enum Work {
    Kernel(Box<Launch>),
    Copy { from: *const c_void, to: *mut c_void, size_bytes: usize },
    Fill { to: *mut c_void, pattern: Box<[u8]>, size_bytes: usize },
    Join,
    Other(Enqueue),
}

/// A launch. The kernel object is shared, so the arguments are set whenever the step is put on a
/// queue or recorded. Arguments that the object already has are not set again.
pub(crate) struct Launch {
    pub(crate) kernel: Arc<SharedKernel>,
    pub(crate) arguments: Box<[Kept]>,
    pub(crate) size: WorkSize,
}

/// Puts a command on a queue, after events; as [`Mode::held`](super::run::Mode::held) says.
pub(crate) type Enqueue = Box<dyn Fn(&Arc<Queue>, &[&Event], bool) -> Result<Event> + Send + Sync>;

// SAFETY: the addresses are only handed to the driver, while the sequence keeps their allocations.
unsafe impl Send for Step {}
// SAFETY: as above.
unsafe impl Sync for Step {}

impl Step {
    /// A launch. The arguments are as many as the kernel has, of its kinds and sizes.
    #[inline]
    pub fn kernel<'a>(
        kernel: &Arc<SharedKernel>,
        arguments: impl Iterator<Item = Arg<'a>>,
        size: &WorkSize,
    ) -> Self {
        let arguments = arguments.map(Kept::from).collect();
        let launch = Launch { kernel: Arc::clone(kernel), arguments, size: *size };
        Self::new(Work::Kernel(Box::new(launch)), [])
    }

    /// A copy within a context.
    pub fn copy(from: Span<'_>, to: Span<'_>) -> Result<Self> {
        copy::check(&from, &to)?;
        let work = match to.size_bytes() {
            0 => Work::Join,
            size_bytes => Work::Copy { from: from.address(), to: to.address(), size_bytes },
        };
        Ok(Self::new(work, [Arc::clone(from.allocation()), Arc::clone(to.allocation())]))
    }

    /// A fill with a pattern of 1, 2, 4, … 128 bytes that divides the span and to which the span is
    /// aligned.
    pub fn fill(to: Span<'_>, pattern: &[u8]) -> Result<Self> {
        copy::check_pattern(&to, pattern.len())?;
        let work = match to.size_bytes() {
            0 => Work::Join,
            size_bytes => Work::Fill { to: to.address(), pattern: pattern.into(), size_bytes },
        };
        Ok(Self::new(work, [Arc::clone(to.allocation())]))
    }

    /// Nothing: complete when what it waits for is. On a queue in order it costs nothing.
    pub fn join() -> Self {
        Self::new(Work::Join, [])
    }

    /// Any other command, which no command buffer holds, with the memory that it uses.
    pub fn other(memory: Vec<Arc<Allocation>>, enqueue: Enqueue) -> Self {
        Self::new(Work::Other(enqueue), memory)
    }

    fn new(work: Work, memory: impl Into<Box<[Arc<Allocation>]>>) -> Self {
        Self { work, memory: memory.into() }
    }

    /// The memory that it uses.
    #[inline]
    pub fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> + Clone {
        let arguments = match &self.work {
            Work::Kernel(launch) => &*launch.arguments,
            _ => &[],
        };
        arguments.iter().filter_map(Kept::memory).chain(&self.memory)
    }

    /// Whether it is nothing.
    #[inline]
    pub fn is_join(&self) -> bool {
        matches!(self.work, Work::Join)
    }

    /// Whether command buffers can hold it.
    #[inline]
    pub fn is_recordable(&self) -> bool {
        match &self.work {
            Work::Other(_) => false,
            Work::Kernel(launch) => {
                let crashes = launch.kernel.program().context().driver_faults().has(Fault::Q20);
                !crashes || !launch.arguments.iter().any(|argument| matches!(argument, Kept::Sampler(_)))
            }
            Work::Copy { .. } | Work::Fill { .. } | Work::Join => true,
        }
    }
}
