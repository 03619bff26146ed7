//! Command buffers: steps of a sequence, recorded by the driver.

use oclave_faults::Fault;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Once};

use super::launch::Kept;
use super::run::Mode;
use super::sequence::Sequence;
use super::step::Work;
use crate::MakeError as _;
use crate::deferred_free::DeferredResource;
use crate::event::{Event, RawEvent};
use crate::ext::command_buffer::{CommandBuffer as Table, Recorder};
use crate::queue::Queue;
use crate::sync::Mutex;
use crate::sys::{
    CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR,
    CL_MUTABLE_DISPATCH_ARGUMENTS_KHR, CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR,
    CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR, CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR,
    CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, cl_command_buffer_khr, cl_command_properties_khr,
    cl_mutable_command_khr, cl_sync_point_khr,
};
use crate::{Error, Result};

/// A `cl_command_buffer_khr` that was finalized. Owns one reference.
pub struct CommandBuffer {
    table: &'static Table,
    raw: cl_command_buffer_khr,
    /// That it was recorded for. Intel's runtime does not keep it.
    queue: Arc<Queue>,
    steps: Range<usize>,
    /// Whether it has no command.
    is_empty: bool,
    /// If kernels in it follow pointers, and the driver was told which there are: what it was told.
    told: Option<u64>,
    /// By step: what updates name it by; null for what cannot be updated. Empty unless it is
    /// updatable.
    handles: Vec<cl_mutable_command_khr>,
    simultaneous: bool,
    /// Whether it may be enqueued while it is pending if an event orders the two.
    ordered: bool,
    /// The event of the last time that it was enqueued.
    last: Mutex<Option<Event>>,
}

// SAFETY: the functions that are called on a finalized buffer are thread-safe; the handles are only
// read.
unsafe impl Send for CommandBuffer {}
// SAFETY: as above.
unsafe impl Sync for CommandBuffer {}

/// The warning about leaks is logged once in a process.
static LEAK: Once = Once::new();

impl CommandBuffer {
    /// Records steps, none of which enqueues itself, for queues like this one: of the same order
    /// and profiling.
    pub fn record(
        queue: &Arc<Queue>,
        sequence: &Sequence,
        steps: Range<usize>,
        updatable: bool,
    ) -> Result<Self> {
        queue.check_sequence(sequence)?;
        let device = queue.device();
        if device.driver_faults().has(Fault::Q6) {
            // Q6
            LEAK.call_once(|| {
                log::warn!(
                    "command buffers of device `{}` leak some 16 KiB with each replay; \
                     choose ReplayStrategy::Enqueue or Auto for graphs that run often",
                    device.name()
                );
            });
        }
        let (table, recorder) = device.command_buffer()?;
        let capabilities = device.capabilities();
        let simultaneous = capabilities.command_buffer.is_some_and(|support| support.simultaneous_use);
        let ordered = capabilities.command_buffer.is_some_and(|support| support.ordered_use);
        let fields = if updatable { updatable_fields(queue) } else { 0 };
        let mut flags = 0;
        // Before 0.9.8, drivers refuse a pending buffer without the flag, also where an event orders the two. A mask
        // can hide that they take more.
        if simultaneous
            || ordered && capabilities.command_buffer.is_some_and(|support| !support.orders_by_events())
        {
            flags |= CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR;
        }
        if fields != 0 {
            flags |= CL_COMMAND_BUFFER_MUTABLE_KHR;
        }
        let list = [CL_COMMAND_BUFFER_FLAGS_KHR, flags, 0];
        let list = if flags == 0 { std::ptr::null() } else { list.as_ptr() };
        // SAFETY: the queue is alive; the list is null or ends in 0.
        let raw = unsafe { table.clCreateCommandBufferKHR(&[queue.raw()], list) }?;
        let mut buffer = Self {
            table,
            raw,
            queue: Arc::clone(queue),
            steps: steps.clone(),
            is_empty: true,
            told: None,
            handles: Vec::new(),
            simultaneous,
            ordered,
            last: Mutex::new(None),
        };
        let mut points: Vec<cl_sync_point_khr> = Vec::new();
        let mut wait = Vec::new();
        let ordered = !queue.is_in_order();
        for index in steps.clone() {
            wait.clear();
            if ordered {
                let waits = sequence.waits(index).iter();
                let waits = waits.filter_map(|wait| (*wait as usize).checked_sub(steps.start));
                for at in waits {
                    wait.push(*points.get(at).ok_or_else(|| no_step(index))?);
                }
            }
            let mut point = 0;
            let place = if ordered { &mut point } else { std::ptr::null_mut() };
            let work = &sequence.step(index).ok_or_else(|| no_step(index))?.work;
            let recorded = buffer.add(recorder, work, &wait, place, fields);
            recorded.map_err(|error| sequence.named(index, error))?;
            buffer.is_empty &= !ordered && matches!(work, Work::Join);
            points.push(point);
        }
        // SAFETY: the buffer is alive, and not finalized yet.
        unsafe { table.clFinalizeCommandBufferKHR(raw) }?;
        Ok(buffer)
    }

    fn add(
        &mut self,
        recorder: Recorder,
        work: &Work,
        wait: &[cl_sync_point_khr],
        point: *mut cl_sync_point_khr,
        fields: cl_command_properties_khr,
    ) -> Result<()> {
        let (buffer, queue) = (self.raw, std::ptr::null_mut());
        let mut handle: cl_mutable_command_khr = std::ptr::null_mut();
        let context = Arc::clone(self.queue.context());
        let pointers = context.pointers()?;
        // SAFETY: buffer and kernel are alive. The kernel's arguments are set, and the driver
        // copies them, as it copies the pattern. The addresses are those of spans in allocations
        // that the sequence keeps, and that are in use while the buffer is pending.
        unsafe {
            match work {
                Work::Kernel(launch) => {
                    let size = &launch.size;
                    let mut kernel = launch.kernel.lock();
                    kernel.set_all(launch.arguments.iter().map(Kept::arg))?;
                    let list = [CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, fields, 0];
                    kernel.with_memory(|kernel| {
                        self.table.clCommandNDRangeKernelKHR(
                            buffer,
                            queue,
                            if fields == 0 { std::ptr::null() } else { list.as_ptr() },
                            kernel.raw(),
                            size.dimensions,
                            size.offset_pointer(),
                            size.global.as_ptr(),
                            size.local_pointer(),
                            wait,
                            point,
                            if fields == 0 { std::ptr::null_mut() } else { &mut handle },
                        )
                    })?;
                    // The oldest of all kernels.
                    self.told = self.told.into_iter().chain(kernel.told()).min();
                    Ok(())
                }
                Work::Copy { from, to, size_bytes } => {
                    pointers.record_copy(recorder, buffer, *to, *from, *size_bytes, wait, point)
                }
                Work::Fill { to, pattern, size_bytes } => {
                    pointers.record_fill(recorder, buffer, *to, pattern, *size_bytes, wait, point)
                }
                // In order there is nothing to join.
                Work::Join if point.is_null() => Ok(()),
                Work::Join => recorder.barrier(buffer, queue, wait, point),
                Work::Other(_) => Err(Error::invalid("a command that no command buffer holds")),
            }
        }?;
        if fields != 0 {
            self.handles.push(handle);
        }
        Ok(())
    }

    /// The driver's handle, which this keeps alive.
    pub fn native(&self) -> cl_command_buffer_khr {
        self.raw
    }

    /// Whether it has no command. With Q75, such a buffer waits for nothing.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub(crate) fn steps(&self) -> Range<usize> {
        self.steps.clone()
    }

    /// What updates name a step by, if it can be updated.
    pub(crate) fn handle(&self, step: usize) -> Option<cl_mutable_command_khr> {
        let at = step.checked_sub(self.steps.start)?;
        self.handles.get(at).copied().filter(|handle| !handle.is_null())
    }

    /// Whether memory came or went since the driver was told what its kernels may reach. Its steps
    /// are enqueued one by one then.
    fn is_outdated(&self) -> Result<bool> {
        let Some(told) = self.told else { return Ok(false) };
        Ok(told != self.queue.context().pointers()?.generation())
    }

    fn last(&self) -> crate::sync::MutexGuard<'_, Option<Event>> {
        self.last.lock()
    }
}

/// What of recorded kernels the device lets updates change.
fn updatable_fields(queue: &Queue) -> cl_command_properties_khr {
    let Some(mutable) = queue.device().capabilities().mutable_dispatch else { return 0 };
    if !mutable.updates_as_array() {
        return 0;
    }
    let fields = [
        (mutable.arguments, CL_MUTABLE_DISPATCH_ARGUMENTS_KHR),
        (mutable.global_offset, CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR),
        (mutable.global_size, CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR),
        (mutable.local_size, CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR),
    ];
    fields.into_iter().filter(|(can, _)| *can).map(|(_, field)| field).fold(0, |all, field| all | field)
}

impl Queue {
    /// Puts a command buffer on the queue, which is like the one that it was recorded for. The
    /// sequence is the one that it was recorded from. Where the driver does not take a buffer that
    /// is pending, that is waited for.
    pub fn run_buffer(
        self: &Arc<Self>,
        buffer: &CommandBuffer,
        sequence: &Sequence,
        after: &[&Event],
        held: bool,
    ) -> Result<Event> {
        self.check_sequence(sequence)?;
        if buffer.is_outdated()? {
            let mode = Mode { measure: true, held };
            return self.run(sequence, buffer.steps(), after, mode);
        }
        let mut last = buffer.last();
        // It stays where something fails: the buffer may be pending then.
        let before = if buffer.simultaneous { None } else { last.clone() };
        let mut all = Vec::new();
        let mut after = after;
        if let Some(pending) = &before {
            match buffer.ordered {
                // The driver waits. It would not run this after a failure, which is none of this run's.
                true if pending.is_behind() || pending.has_failed() => {}
                true => {
                    all.extend_from_slice(after);
                    all.push(pending);
                    after = &all;
                }
                // How it ended is told by its own event.
                false => pending.raw().and_then(RawEvent::wait_for_end)?,
            }
        }
        let event = self.using(sequence.spans(held), || {
            // SAFETY: queue, buffer and events are alive, and the memory that the commands use is
            // in use.
            self.submit(after, true, |_, queue, wait, event| unsafe {
                buffer.table.clEnqueueCommandBufferKHR(queues(self, buffer, &queue), buffer.raw, wait, event)
            })
        })?;
        *last = Some(event.clone());
        Ok(event)
    }
}

/// None for the queue that it was recorded for.
fn queues<'a, T>(queue: &Arc<Queue>, buffer: &CommandBuffer, raw: &'a T) -> &'a [T] {
    if Arc::ptr_eq(queue, &buffer.queue) { &[] } else { std::slice::from_ref(raw) }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        let last = self.last.get_mut().take();
        let running = last.filter(|event| !event.has_ended());
        let context = self.queue.context();
        let keep = DeferredResource::CommandBuffer(self.table, self.raw);
        match running.as_ref().map(|event| event.raw().and_then(RawEvent::try_clone)) {
            None => context.free(keep),
            Some(Ok(event)) => context.deferred().push(vec![event], keep),
            Some(Err(error)) => {
                context.keep_error(error.at("dropping a command buffer"));
                crate::deferred_free::leak(keep);
            }
        }
    }
}

impl fmt::Debug for CommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandBuffer of {} steps", self.steps.len())
    }
}

fn no_step(index: usize) -> Error {
    Error::bug(format!("step {index} of a command buffer, or one that it waits for, is missing"))
}
