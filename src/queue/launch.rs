//! Launching kernels.

use super::index_space;
use super::{Argument, KernelCall, NdRange, Queue};
use crate::driver::Device;
use crate::driver::event::Event;
use crate::driver::launch::Arg;
use crate::{Error, ErrorKind, Result};

/// Puts a call on a queue.
pub(super) fn launch(queue: &Queue, range: &NdRange, call: &KernelCall, after: &[&Event]) -> Result<Event> {
    try_launch(queue, range, call, after).map_err(|error| match error.place() {
        // Programs name the kernel themselves.
        [first, ..] if first.starts_with("kernel ") => error,
        _ => error.at(format!("kernel `{}`", call.kernel_name())),
    })
}

fn try_launch(queue: &Queue, range: &NdRange, call: &KernelCall, after: &[&Event]) -> Result<Event> {
    let driver = queue.driver();
    // Not with the kernel locked.
    driver.wait_for_other_contexts(after)?;
    let kernel = queue.context().programs().kernel(queue.device(), call.target(), call.specs())?;
    crate::program::check_arguments(kernel.signature(), call.arguments())?;
    check_local_memory(queue.device(), call)?;
    let arguments = call.arguments().iter().map(argument);
    match index_space::check(range, &kernel)? {
        Some(size) => driver.launch(&mut kernel.lock(), arguments, &size, after),
        None => driver.launch_nothing(arguments, after),
    }
}

fn argument(argument: &Argument) -> Arg<'_> {
    match argument {
        Argument::Value(value) => Arg::Value(value.bytes()),
        Argument::Local { size_bytes, .. } => Arg::Local(*size_bytes),
        Argument::Pointer(pointer) => match pointer.memory() {
            Some(memory) => Arg::Memory(memory.tail(pointer.offset_bytes())),
            None => Arg::Null,
        },
    }
}

fn check_local_memory(device: &Device, call: &KernelCall) -> Result<()> {
    let mut total = 0_u64;
    for (index, argument) in call.arguments().iter().enumerate() {
        let Argument::Local { size_bytes, .. } = argument else { continue };
        if *size_bytes == 0 {
            return Err(Error::new(ErrorKind::KernelArgument, "local memory of no bytes")
                .at(format!("argument {index}"))
                .remedy("OpenCL has no empty local memory: give it one element"));
        }
        total = total.saturating_add(*size_bytes as u64);
    }
    if total == 0 {
        return Ok(());
    }
    let limit = device.capabilities().limits.local_memory_bytes;
    if total > limit {
        return Err(Error::new(
            ErrorKind::KernelArgument,
            format!("{total} bytes of local memory, the device has {limit}"),
        ));
    }
    Ok(())
}
