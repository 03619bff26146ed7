//! Objects of the library around handles that came from outside, and handles for outside.

use std::ptr::NonNull;
use std::sync::Arc;

use oclave_faults::Fault;

use super::context::Context;
use super::event::{Event, RawEvent};
use super::kernel::Kernel;
use super::native::{
    ContextHandle, DeviceHandle, Enqueue, EventHandle, KernelHandle, ProgramHandle, QueueHandle, Submission,
    UsmHandle,
};
use super::queue::{Properties, Queue};
use super::wait_list::WaitList;
use crate::MakeError as _;
use crate::sys::{
    CL_CONTEXT_DEVICES, CL_EVENT_COMMAND_QUEUE, CL_EVENT_CONTEXT, CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE,
    CL_QUEUE_ON_DEVICE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE,
    CL_QUEUE_PROPERTIES, cl_command_queue, cl_context, cl_device_id,
};
use crate::usm::{Allocation, Kind, Span};
use crate::{Device, Error, Result, api, info};

impl Context {
    /// A context from outside. Its reference is released with the result.
    pub fn of_native(handle: ContextHandle) -> Result<Arc<Self>> {
        let devices = devices_of(handle.raw())?;
        Self::own(api()?, handle, &devices)
    }
}

/// The devices of a context, which is alive.
fn devices_of(context: cl_context) -> Result<Vec<Device>> {
    let api = api()?;
    let ids: Vec<cl_device_id> = info::list(|size, value, ret| {
        // SAFETY: the context is alive; `value` has room for `size` bytes.
        unsafe { api.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, value, ret) }
    })?;
    let device = |id| {
        // SAFETY: a context's devices are alive.
        Device::from_native(unsafe { DeviceHandle::retain(id) }?)
    };
    ids.into_iter().map(device).collect()
}

impl Queue {
    /// A queue from outside, of a context. Its reference is released with the result.
    pub fn of_native(context: &Arc<Context>, handle: QueueHandle) -> Result<Arc<Self>> {
        let api = context.api();
        let raw = handle.raw();
        let of: cl_context = info::value(|size, value, ret| {
            // SAFETY: the handle is alive; `value` has room for `size` bytes.
            unsafe { api.clGetCommandQueueInfo(raw, CL_QUEUE_CONTEXT, size, value, ret) }
        })?;
        let id: cl_device_id = info::value(|size, value, ret| {
            // SAFETY: as above.
            unsafe { api.clGetCommandQueueInfo(raw, CL_QUEUE_DEVICE, size, value, ret) }
        })?;
        let flags: u64 = info::value(|size, value, ret| {
            // SAFETY: as above.
            unsafe { api.clGetCommandQueueInfo(raw, CL_QUEUE_PROPERTIES, size, value, ret) }
        })?;
        let device = context.devices().iter().find(|device| device.id() == id);
        let Some(device) = device.filter(|_| of == context.raw()) else {
            return Err(Error::invalid("the queue belongs to another context")
                .remedy("make the context with `Context::from_native`"));
        };
        if flags & CL_QUEUE_ON_DEVICE != 0 {
            return Err(Error::invalid("a queue on the device takes no commands of the host"));
        }
        let out_of_order = flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0;
        if out_of_order && context.driver_faults().has(Fault::Q1) {
            // Q1
            return Err(device.lacks("out-of-order queues that threads can share", "an in-order queue"));
        }
        let profiling = flags & CL_QUEUE_PROFILING_ENABLE != 0;
        let properties = Properties { out_of_order, profiling, ..Properties::default() };
        Ok(Self::own(context, device, properties, !out_of_order, handle.into_raw()))
    }

    /// Raw commands, in the place of one. They are counted even when they fail: memory outlives
    /// what was put on the queue before.
    pub fn native<'a>(
        self: &Arc<Self>,
        enqueue: &Enqueue,
        memory: impl Iterator<Item = Span<'a>> + Clone,
        after: &[&Event],
    ) -> Result<Event> {
        self.using(memory, || {
            let mut list = WaitList::empty();
            let wait = list.fill(self, after)?;
            let last = enqueue(&Submission { queue: self.raw(), wait });
            last.and_then(|last| self.after_raw_commands(last)).inspect_err(|_| self.count_unknown())
        })
    }

    /// The event of raw commands that end with `last`. It proves nothing about other commands of
    /// the queue, as the caller may have put the raw commands elsewhere. In that case a marker that
    /// waits for them takes their place on this queue.
    fn after_raw_commands(self: &Arc<Self>, last: EventHandle) -> Result<Event> {
        let api = self.context().api();
        let of: cl_command_queue = info::value(|size, value, ret| {
            // SAFETY: the event is alive; `value` has room for `size` bytes.
            unsafe { api.clGetEventInfo(last.raw(), CL_EVENT_COMMAND_QUEUE, size, value, ret) }
        })?;
        if of == self.raw() {
            // SAFETY: the handle gives its reference.
            return Ok(self.joined(vec![unsafe { RawEvent::new(api, last.into_raw()) }]));
        }
        if !of.is_null() {
            // SAFETY: an event keeps its queue alive.
            unsafe { api.clFlush(of) }?;
        }
        // SAFETY: queue and event are alive.
        self.submit(&[], true, |api, queue, _, event| unsafe {
            api.clEnqueueMarkerWithWaitList(queue, &[last.raw()], event)
        })
    }
}

impl Event {
    /// Another reference to the driver's event, the command of which is on its way.
    pub fn native(&self) -> Result<EventHandle> {
        let raw = self.raw()?.raw();
        self.queue().flush_once()?;
        // SAFETY: the event is alive.
        unsafe { EventHandle::retain(raw) }
    }
}

impl RawEvent {
    /// An event from outside, the command of which is sent on its way, if it is one of a queue.
    pub fn of_native(handle: EventHandle) -> Result<Self> {
        let api = api()?;
        let queue: cl_command_queue = info::value(|size, value, ret| {
            // SAFETY: the handle is alive; `value` has room for `size` bytes.
            unsafe { api.clGetEventInfo(handle.raw(), CL_EVENT_COMMAND_QUEUE, size, value, ret) }
        })?;
        if !queue.is_null() {
            // SAFETY: an event keeps its queue alive.
            unsafe { api.clFlush(queue) }?;
        }
        // SAFETY: the handle gives its reference.
        Ok(unsafe { Self::new(api, handle.into_raw()) })
    }

    /// Whether to ask it again and again, because its driver may not tell when it ends, or late.
    pub fn needs_asking(&self) -> Result<bool> {
        let api = api()?;
        let context: cl_context = info::value(|size, value, ret| {
            // SAFETY: the event is alive; `value` has room for `size` bytes.
            unsafe { api.clGetEventInfo(self.raw(), CL_EVENT_CONTEXT, size, value, ret) }
        })?;
        let devices = devices_of(context)?;
        let has = |fault| devices.first().is_some_and(|device| device.driver_faults().has(fault));
        Ok(has(Fault::Q8) || has(Fault::Q71))
    }
}

impl Kernel {
    /// Another reference.
    pub fn handle(&self) -> Result<KernelHandle> {
        // SAFETY: the kernel is alive.
        unsafe { KernelHandle::retain(self.raw()) }
    }

    /// A reference to its program.
    pub fn program_handle(&self) -> Result<ProgramHandle> {
        // SAFETY: the kernel keeps its program alive.
        unsafe { ProgramHandle::retain(self.program().raw()) }
    }
}

impl Allocation {
    /// Memory from outside.
    pub fn of_native(context: &Arc<Context>, kind: Kind, memory: UsmHandle) -> Result<Arc<Self>> {
        let Some(start) = NonNull::new(memory.pointer) else {
            return Err(Error::invalid("memory at a null pointer"));
        };
        let pointers = context.pointers()?;
        let id = pointers.check_outside(context.raw(), kind, start)?;
        let device = match id {
            Some(id) => context.devices().iter().find(|device| device.id() == id).cloned(),
            None => (kind == Kind::Device).then(|| context.first_device().clone()),
        };
        pointers.adopt(start, memory.size_bytes);
        Ok(Self::outside(context, device, kind, start, &memory))
    }
}
