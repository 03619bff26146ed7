//! Preparing launches: the kernel object, the check of arguments and index space.

use std::borrow::Cow;
use std::sync::Arc;

use super::{arguments, index_space, resolve, slices};
use crate::MakeError as _;
use crate::command::describe::argument::Argument;
use crate::command::describe::call::KernelCall;
use crate::command::describe::command::CommandKind;
use crate::command::describe::place::Place;
use crate::driver::event::Event;
use crate::driver::launch::{Arg, WorkSize};
use crate::driver::step::Step;
use crate::driver::{self, Device};
use crate::program::ReadyKernel;
use crate::range::NdRange;
use crate::{Context, Error, ErrorKind, Queue, Result};

/// A kernel with arguments that fit it.
#[derive(Debug)]
pub(crate) struct PreparedKernel {
    pub(super) kernel: Arc<ReadyKernel>,
    /// All places in them are resolved.
    pub(super) arguments: Vec<Argument>,
    /// `None`: nothing runs.
    pub(super) size: Option<WorkSize>,
}

impl CommandKind {
    /// The arguments of a kernel as the driver takes them.
    pub(crate) fn driver_arguments(&self) -> impl Iterator<Item = Arg<'_>> + Clone {
        self.arguments().iter().map(|argument| self::argument(argument, false))
    }

    /// The index space of a kernel, checked; `None` when nothing runs.
    pub(crate) fn work_size(&self, context: &Context, device: &Device) -> Result<Option<WorkSize>> {
        match self {
            Self::Kernel { range, call } => find(context, device, range, call).map(|(_, size)| size),
            _ => Ok(None),
        }
    }
}

/// Finds the kernel of a call, builds its program if need be, and checks what it is given.
pub(super) fn prepare(queue: &Queue, range: &NdRange, mut call: KernelCall) -> Result<PreparedKernel> {
    try_prepare(queue, range, &mut call).map_err(|error| named(error, call.kernel_name()))
}

/// Names the kernel in an error. Programs name it themselves.
pub(in crate::command) fn named(error: Error, kernel: &str) -> Error {
    match error.place() {
        [first, ..] if first.starts_with("kernel ") => error,
        _ => error.at(format!("kernel `{kernel}`")),
    }
}

/// As [`prepare`], without looking at memory.
#[inline(always)]
pub(in crate::command) fn find<'a>(
    context: &'a Context,
    device: &Device,
    range: &NdRange,
    call: &'a KernelCall,
) -> Result<(Cow<'a, Arc<ReadyKernel>>, Option<WorkSize>)> {
    try_find(context, device, range, call).map_err(|error| named(error, call.kernel_name()))
}

#[inline(always)]
fn try_find<'a>(
    context: &'a Context,
    device: &Device,
    range: &NdRange,
    call: &'a KernelCall,
) -> Result<(Cow<'a, Arc<ReadyKernel>>, Option<WorkSize>)> {
    let kernel = kernel_of(context, device, call, true)?;
    let size = index_space::check(range, &kernel)?;
    slices::check(&kernel, call, size.as_ref())?;
    Ok((kernel, size))
}

/// As [`find`], for a command some of whose parameters may still change. Images that are given twice
/// are left to the check of the command that runs.
pub(super) fn check_parameters(
    context: &Context,
    device: &Device,
    range: &NdRange,
    call: &KernelCall,
) -> Result<()> {
    let check = || {
        let kernel = kernel_of(context, device, call, false)?;
        let size = index_space::check(range, &kernel)?;
        slices::check(&kernel, call, size.as_ref())
    };
    check().map_err(|error| named(error, call.kernel_name()))
}

/// Whether the call is of a kernel in Rust, which is known once its program is built.
pub(crate) fn is_in_rust(context: &Context, device: &Device, call: &KernelCall) -> bool {
    let kernel = context.programs().kernel(device, call.target(), call.specs());
    kernel.is_ok_and(|kernel| kernel.slices().is_some())
}

/// Finds or builds the program of a call, and checks what it is given.
pub(crate) fn prepare_kernel(queue: &Queue, call: &KernelCall) -> Result<()> {
    let found = kernel_of(queue.context(), queue.device(), call, true);
    found.map(drop).map_err(|error| named(error, call.kernel_name()))
}

/// The work-groups that the driver would choose for a launch; `None` where it does not say, and where
/// nothing runs.
pub(crate) fn suggested_group_size(
    queue: &Queue,
    range: &NdRange,
    call: &KernelCall,
) -> Result<Option<[usize; 3]>> {
    let PreparedKernel { kernel, arguments, size } = prepare(queue, range, call.clone())?;
    let Some(size) = size else { return Ok(None) };
    if size.local.is_some() {
        return Ok(size.local);
    }
    if !queue.device().capabilities().suggested_group_sizes {
        return Ok(None);
    }
    let arguments = arguments.iter().map(|each| argument(each, false));
    let suggested = kernel.lock().suggested_group_size(queue.driver(), arguments, &size);
    suggested.map(Some).map_err(|error| named(error, call.kernel_name()))
}

/// The kernel of a call, whose arguments it takes. `apart`: no image may be given twice if the kernel
/// writes it.
#[inline(always)]
fn kernel_of<'a>(
    context: &'a Context,
    device: &Device,
    call: &'a KernelCall,
    apart: bool,
) -> Result<Cow<'a, Arc<ReadyKernel>>> {
    let kernel = context.programs().kernel(device, call.target(), call.specs())?;
    arguments::check(kernel.signature(), call.arguments())?;
    let is_simple = |argument: &Argument| matches!(argument, Argument::Value(_) | Argument::Pointer(_));
    if !call.arguments().iter().all(is_simple) {
        if apart {
            arguments::check_images(kernel.signature(), call.arguments())?;
        }
        check_objects(context, call)?;
        check_local_memory(device, call)?;
    }
    Ok(kernel)
}

fn try_prepare(queue: &Queue, range: &NdRange, call: &mut KernelCall) -> Result<PreparedKernel> {
    let (kernel, size) = try_find(queue.context(), queue.device(), range, call)?;
    let kernel = kernel.into_owned();
    let arguments = resolved(&kernel, call, queue)?;
    Ok(PreparedKernel { kernel, arguments, size })
}

/// The kernel of a call, with arguments that fit it, for no range in particular.
pub(super) fn bind(queue: &Queue, mut call: KernelCall) -> Result<(Arc<ReadyKernel>, Vec<Argument>)> {
    let kernel = kernel_of(queue.context(), queue.device(), &call, true)?.into_owned();
    let arguments = resolved(&kernel, &mut call, queue)?;
    Ok((kernel, arguments))
}

/// The arguments of a call, with their places looked up.
fn resolved(kernel: &ReadyKernel, call: &mut KernelCall, queue: &Queue) -> Result<Vec<Argument>> {
    let mut arguments = call.take_arguments();
    resolve::arguments(&mut arguments, queue)?;
    slices::check_apart(kernel, &arguments)?;
    Ok(arguments)
}

/// Puts a kernel on a queue, with arguments that fit it and whose places are resolved. No size:
/// nothing runs.
#[inline(always)]
pub(in crate::command) fn execute(
    queue: &Arc<driver::queue::Queue>,
    kernel: &ReadyKernel,
    arguments: &[Argument],
    size: Option<&WorkSize>,
    after: &[&Event],
    held: bool,
) -> Result<Event> {
    let arguments = arguments.iter().map(|each| argument(each, held));
    match size {
        Some(size) => queue.launch(&mut kernel.lock(), arguments, size, after),
        None => queue.launch_nothing(arguments, after),
    }
    .map_err(|error| named(error, &kernel.signature().name))
}

/// An argument whose place is resolved, as the driver takes it.
#[inline]
pub(super) fn argument(argument: &Argument, held: bool) -> Arg<'_> {
    match argument {
        Argument::Value(value) => Arg::Value(value.bytes()),
        Argument::Local { size_bytes, .. } => Arg::Local(*size_bytes),
        Argument::Image(image) => Arg::Image(image.driver()),
        Argument::Sampler(sampler) => Arg::Sampler(sampler.driver()),
        Argument::Pointer(pointer) => match pointer.place() {
            Place::Usm(region) => Arg::Memory(region.tail().held(held)),
            _ => Arg::Null,
        },
    }
}

/// Refuses images and samplers of other contexts, which drivers need not check.
fn check_objects(context: &Context, call: &KernelCall) -> Result<()> {
    for (index, argument) in call.arguments().iter().enumerate() {
        match argument {
            Argument::Image(image) => image.check(context),
            Argument::Sampler(sampler) => sampler.check(context),
            Argument::Value(_) | Argument::Pointer(_) | Argument::Local { .. } => Ok(()),
        }
        .map_err(|error| error.at(format!("argument {index}")))?;
    }
    Ok(())
}

fn check_local_memory(device: &Device, call: &KernelCall) -> Result<()> {
    let mut total = 0_u64;
    for argument in call.arguments() {
        let Argument::Local { size_bytes, .. } = argument else { continue };
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

/// A launch as a step; a join where nothing runs.
pub(super) fn step(kernel: &ReadyKernel, arguments: &[Argument], size: Option<WorkSize>) -> Step {
    let arguments = arguments.iter().map(|each| argument(each, false));
    size.map_or_else(Step::join, |size| Step::kernel(kernel.shared(), arguments, &size))
}
