//! The database of device globals: one piece of memory for each variable, context and device.
//!
//! A variable without `device_image_scope` is, in a program, a pointer to this memory. It is made and initialised when
//! the first program that uses the variable is built or the host first copies, whichever comes first, and is freed with
//! the context.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use oclave_image::DeviceGlobalInfo;

use super::flight::lock;
use crate::driver::Device;
use crate::driver::context::Context;
use crate::driver::queue::Queue;
use crate::driver::usm::{Allocation, Kind};
use crate::memory::Region;
use crate::{Error, Result};

/// Variables up to this size share pieces of memory: a program may have a thousand, and each piece costs calls.
const SMALL_BYTES: usize = 4096;

/// The variables of a context.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    variables: Mutex<HashMap<String, Declared>>,
    memory: Mutex<HashMap<Device, OfDevice>>,
}

/// The variables that were made on one device. Locked while some are being made, so that others wait for them.
type OfDevice = Arc<Mutex<HashMap<String, Region>>>;

/// What the first image said of a variable.
#[derive(Debug)]
struct Declared {
    global: DeviceGlobalInfo,
    by: String,
}

impl Globals {
    /// The memory of variables that `image` declares, made and initialised if need be; in the order of `globals`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when another image declares a variable differently.
    pub(crate) fn memory(
        &self,
        context: &Arc<Context>,
        queue: &Arc<Queue>,
        globals: &[&DeviceGlobalInfo],
        image: &str,
    ) -> Result<Vec<Region>> {
        globals.iter().try_for_each(|global| self.declare(global, image))?;
        if globals.is_empty() {
            return Ok(Vec::new());
        }
        let of_device = Arc::clone(lock(&self.memory).entry(queue.device().clone()).or_default());
        let mut made = lock(&of_device);
        let missing: Vec<New<'_>> = globals
            .iter()
            .filter(|global| !made.contains_key(&global.id))
            .map(|global| New { global, initial: &global.initial })
            .collect();
        let memory = make(context, queue, &missing)?;
        made.extend(missing.iter().zip(memory).map(|(new, memory)| (new.global.id.clone(), memory)));
        let lost =
            |global: &&DeviceGlobalInfo| Error::invalid(format!("device global `{}` is lost", global.id));
        globals.iter().map(|global| made.get(&global.id).cloned().ok_or_else(|| lost(global))).collect()
    }

    /// Enters a variable, or checks that it is the one that is known by this id.
    pub(crate) fn declare(&self, global: &DeviceGlobalInfo, image: &str) -> Result<()> {
        let mut variables = lock(&self.variables);
        let Some(known) = variables.get(&global.id) else {
            let declared = Declared { global: global.clone(), by: image.to_owned() };
            variables.insert(global.id.clone(), declared);
            return Ok(());
        };
        match conflict(&known.global, global) {
            None => Ok(()),
            Some(what) => Err(Error::invalid(format!(
                "images `{}` and `{image}` declare it with different {what}",
                known.by
            ))
            .at(format!("device global `{}`", global.id))
            .remedy("give the variables different names, or one declaration in a shared header")),
        }
    }
}

fn conflict(one: &DeviceGlobalInfo, other: &DeviceGlobalInfo) -> Option<&'static str> {
    if one.size_bytes != other.size_bytes {
        Some("sizes")
    } else if one.device_image_scope != other.device_image_scope {
        Some("scopes (`device_image_scope`)")
    } else if one.initial != other.initial {
        Some("initial values")
    } else {
        None
    }
}

/// A variable to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct New<'a> {
    pub(crate) global: &'a DeviceGlobalInfo,
    /// Its first bytes; none means zeroes.
    pub(crate) initial: &'a [u8],
}

impl New<'_> {
    fn size_bytes(&self) -> usize {
        usize::try_from(self.global.size_bytes).unwrap_or(usize::MAX)
    }

    /// The alignment of the type is not known here; no type of OpenCL wants more than its size or 128 bytes.
    fn align_bytes(&self) -> usize {
        self.size_bytes().clamp(1, 128).next_power_of_two()
    }

    fn place(&self, error: Error) -> Error {
        error.at(format!("device global `{}`", self.global.id))
    }
}

/// Makes variables on the queue's device, with their initial values in them. All of them or, on an error, none.
pub(crate) fn make(context: &Arc<Context>, queue: &Arc<Queue>, variables: &[New<'_>]) -> Result<Vec<Region>> {
    let small: Vec<New<'_>> =
        variables.iter().copied().filter(|variable| variable.size_bytes() <= SMALL_BYTES).collect();
    let mut small = make_small(context, queue, &small)?.into_iter();
    let next = |variable: &New<'_>| match variable.size_bytes() <= SMALL_BYTES {
        true => small.next().ok_or_else(|| Error::invalid("a variable without memory")),
        false => make_large(context, queue, variable).map_err(|error| variable.place(error)),
    };
    variables.iter().map(next).collect()
}

/// In one piece of memory, with one copy.
fn make_small(context: &Arc<Context>, queue: &Arc<Queue>, variables: &[New<'_>]) -> Result<Vec<Region>> {
    let Some(first) = variables.first() else { return Ok(Vec::new()) };
    let mut image = Vec::new();
    let mut offsets = Vec::with_capacity(variables.len());
    for variable in variables {
        let offset_bytes = image.len().next_multiple_of(variable.align_bytes());
        image.resize(offset_bytes, 0);
        image.extend_from_slice(variable.initial);
        image.resize(offset_bytes + variable.size_bytes(), 0);
        offsets.push(offset_bytes);
    }
    let upload = || {
        let allocation = allocate(context, queue, image.len())?;
        queue.write(&image, allocation.span(0, image.len())?, &[])?;
        Ok(allocation)
    };
    let allocation = upload().map_err(|error: Error| match variables.len() {
        1 => first.place(error),
        n => error.at(format!("device globals `{}` and {} others", first.global.id, n - 1)),
    })?;
    let memory = |(variable, offset_bytes): (&New<'_>, usize)| {
        Region::new(Arc::clone(&allocation), offset_bytes, variable.size_bytes())
    };
    Ok(variables.iter().zip(offsets).map(memory).collect())
}

fn make_large(context: &Arc<Context>, queue: &Arc<Queue>, variable: &New<'_>) -> Result<Region> {
    let size_bytes = variable.size_bytes();
    let allocation = allocate(context, queue, size_bytes)?;
    let span = allocation.span(0, size_bytes)?;
    if variable.initial.is_empty() {
        let pattern = [0u8; 128];
        // The largest power of two that divides the size, as drivers fill by whole patterns.
        let width = 1 << size_bytes.trailing_zeros().min(7);
        queue.fill(span, pattern.get(..width).unwrap_or(&pattern), &[])?.wait()?;
    } else {
        queue.write(variable.initial, span, &[])?;
    }
    Ok(Region::whole(allocation))
}

fn allocate(context: &Arc<Context>, queue: &Arc<Queue>, size_bytes: usize) -> Result<Arc<Allocation>> {
    let allocation = Allocation::new(context, Some(queue.device()), Kind::Device, size_bytes, 128)?;
    // Kernels find it through the program, so the arguments of a launch do not tell who uses it.
    allocation.used_by_any_queue();
    Ok(allocation)
}
