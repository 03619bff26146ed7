//! The database of device globals: one piece of memory for each variable, context and device.
//!
//! In a program, a variable without `device_image_scope` is a pointer to this memory. The memory is
//! allocated and initialised when the first program that uses the variable is built, or when the
//! host first copies. It is freed with the context.

use std::collections::HashMap;
use std::sync::Arc;

use oclave_image::{DeviceGlobalInfo, InitialAddress, InitialValue};

use crate::MakeError as _;
use crate::driver::Device;
use crate::driver::context::Context;
use crate::driver::queue::Queue;
use crate::driver::sync::Mutex;
use crate::driver::usm::{Allocation, Kind};
use crate::memory::Region;
use crate::{Error, ErrorKind, Result};

/// Variables up to this size share pieces of memory: a program may have a thousand, and each piece
/// costs calls.
const SMALL_BYTES: usize = 4096;

/// The variables of a context.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    variables: Mutex<HashMap<String, Declared>>,
    memory: Mutex<HashMap<Device, OfDevice>>,
}

/// The variables that were made on one device. Locked while some are being made, so that others
/// wait for them.
type OfDevice = Arc<Mutex<HashMap<String, Region>>>;

/// A variable as the first image declared it.
#[derive(Debug)]
struct Declared {
    global: DeviceGlobalInfo,
    by: String,
}

impl Globals {
    /// The memory of variables that `image` declares, made and initialised if need be; in the order
    /// of `globals`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when another image declares a variable
    /// differently.
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
        let of_device = Arc::clone(self.memory.lock().entry(queue.device().clone()).or_default());
        let mut made = of_device.lock();
        let missing: Vec<New<'_>> = globals
            .iter()
            .filter(|global| !made.contains_key(&global.id))
            .map(|global| New { global, initial: &global.initial })
            .collect();
        let known = |id: &str| made.get(id).map(Region::address);
        let memory = make(context, queue, &missing, known)?;
        made.extend(missing.iter().zip(memory).map(|(new, memory)| (new.global.id.clone(), memory)));
        let lost =
            |global: &&DeviceGlobalInfo| Error::invalid(format!("device global `{}` is lost", global.id));
        globals.iter().map(|global| made.get(&global.id).cloned().ok_or_else(|| lost(global))).collect()
    }

    /// Enters a variable, or checks that it is the one that is known by this id.
    pub(crate) fn declare(&self, global: &DeviceGlobalInfo, image: &str) -> Result<()> {
        let mut variables = self.variables.lock();
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
    pub(crate) initial: &'a InitialValue,
}

impl New<'_> {
    fn size_bytes(&self) -> usize {
        usize::try_from(self.global.size_bytes).unwrap_or(usize::MAX)
    }

    /// The alignment of the type is not known here; no type of OpenCL wants more than its size or
    /// 128 bytes.
    fn align_bytes(&self) -> usize {
        self.size_bytes().clamp(1, 128).next_power_of_two()
    }

    fn place(&self, error: Error) -> Error {
        error.at(format!("device global `{}`", self.global.id))
    }
}

/// Makes variables on the queue's device, with their initial values in them. All of them or, on an
/// error, none.
///
/// Their initial values may hold addresses of each other, and of variables that are `known`
/// already.
pub(crate) fn make(
    context: &Arc<Context>,
    queue: &Arc<Queue>,
    variables: &[New<'_>],
    known: impl Fn(&str) -> Option<u64>,
) -> Result<Vec<Region>> {
    let memory = place(context, queue, variables)?;
    let new: HashMap<&str, u64> = variables
        .iter()
        .zip(&memory)
        .map(|(new, memory)| (new.global.id.as_str(), memory.address()))
        .collect();
    let pointer_bytes = queue.device().capabilities().address_bits as usize / 8;
    let addresses = Addresses { new: &new, known: &known, pointer_bytes };
    let mut small: Option<(&Arc<Allocation>, Vec<u8>, &New<'_>)> = None;
    for (variable, memory) in variables.iter().zip(&memory) {
        if variable.size_bytes() > SMALL_BYTES {
            initialize_large(queue, variable, memory, &addresses).map_err(|error| variable.place(error))?;
            continue;
        }
        let allocation = memory.allocation();
        let (_, image, _) =
            small.get_or_insert_with(|| (allocation, vec![0; allocation.size_bytes()], variable));
        let bytes = image.get_mut(memory.offset_bytes()..);
        let bytes = bytes.ok_or_else(|| variable.place(Error::bug("it lies outside of its memory")))?;
        addresses.write(variable, bytes).map_err(|error| variable.place(error))?;
    }
    if let Some((allocation, image, first)) = small {
        queue.write(&image, allocation.span(0, image.len())?, &[]).map_err(|error| first.place(error))?;
    }
    Ok(memory)
}

/// Memory for variables; small ones share a piece.
fn place(context: &Arc<Context>, queue: &Arc<Queue>, variables: &[New<'_>]) -> Result<Vec<Region>> {
    let is_small = |variable: &&New<'_>| variable.size_bytes() <= SMALL_BYTES;
    let mut end = 0_usize;
    let mut offsets = Vec::with_capacity(variables.len());
    for variable in variables.iter().filter(is_small) {
        let offset_bytes = end.next_multiple_of(variable.align_bytes());
        end = offset_bytes + variable.size_bytes();
        offsets.push(offset_bytes);
    }
    let shared = match variables.iter().find(is_small) {
        None => None,
        Some(first) => Some(allocate(context, queue, end).map_err(|error| match offsets.len() {
            1 => first.place(error),
            n => error.at(format!("device globals `{}` and {} others", first.global.id, n - 1)),
        })?),
    };
    let mut offsets = offsets.into_iter();
    let mut memory = |variable: &New<'_>| {
        let size_bytes = variable.size_bytes();
        match &shared {
            Some(allocation) if is_small(&variable) => {
                let offset_bytes = offsets.next();
                let offset_bytes =
                    offset_bytes.ok_or_else(|| variable.place(Error::bug("it has no offset")))?;
                Ok(Region::new(Arc::clone(allocation), offset_bytes, size_bytes))
            }
            _ => {
                let allocation =
                    allocate(context, queue, size_bytes).map_err(|error| variable.place(error))?;
                Ok(Region::whole(allocation))
            }
        }
    };
    variables.iter().map(&mut memory).collect()
}

fn initialize_large(
    queue: &Arc<Queue>,
    variable: &New<'_>,
    memory: &Region,
    addresses: &Addresses<'_>,
) -> Result<()> {
    let size_bytes = variable.size_bytes();
    let span = memory.span()?;
    if variable.initial.is_zero() {
        let pattern = [0u8; 128];
        // The largest power of two that divides the size, as drivers fill by whole patterns.
        let width = 1 << size_bytes.trailing_zeros().min(7);
        return queue.fill(span, pattern.get(..width).unwrap_or(&pattern), &[])?.wait();
    }
    let mut image = vec![0; size_bytes];
    addresses.write(variable, &mut image)?;
    queue.write(&image, span, &[])
}

/// Where the variables lie that initial values point to.
struct Addresses<'a> {
    new: &'a HashMap<&'a str, u64>,
    known: &'a dyn Fn(&str) -> Option<u64>,
    pointer_bytes: usize,
}

impl Addresses<'_> {
    /// Writes the initial value of a variable to the start of `out`, which is zero.
    fn write(&self, variable: &New<'_>, out: &mut [u8]) -> Result<()> {
        let outside = || Error::new(ErrorKind::Image, "its initial value is larger than the variable");
        let InitialValue { bytes, addresses } = variable.initial;
        let out = out.get_mut(..variable.size_bytes()).ok_or_else(outside)?;
        out.get_mut(..bytes.len()).ok_or_else(outside)?.copy_from_slice(bytes);
        for InitialAddress { offset_bytes, target, addend_bytes } in addresses {
            let start = self.new.get(target.as_str()).copied().or_else(|| (self.known)(target));
            let start = start.ok_or_else(|| {
                let what = format!("it points to device global `{target}`, of which the image does not tell");
                Error::new(ErrorKind::Image, what).remedy("build the image again")
            })?;
            let address = start.wrapping_add_signed(*addend_bytes).to_le_bytes();
            let place = *offset_bytes as usize..*offset_bytes as usize + self.pointer_bytes;
            let address = address.get(..self.pointer_bytes).ok_or_else(outside)?;
            out.get_mut(place).ok_or_else(outside)?.copy_from_slice(address);
        }
        Ok(())
    }
}

fn allocate(context: &Arc<Context>, queue: &Arc<Queue>, size_bytes: usize) -> Result<Arc<Allocation>> {
    let allocation = Allocation::new(context, Some(queue.device()), Kind::Device, size_bytes, 128)?;
    // Kernels find it through the program, so the arguments of a launch do not tell who uses it.
    allocation.used_by_any_queue();
    Ok(allocation)
}
