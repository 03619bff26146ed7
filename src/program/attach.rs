//! Giving a built program its device globals: addresses of those that programs share, and memory
//! for its own.

use std::collections::HashMap;
use std::sync::Arc;

use oclave_image::DeviceGlobalInfo;
use oclave_image::passes::printf::PRINTS;
use oclave_image::passes::{self, GLOBAL_ACCESS_KERNEL};
use oclave_spirv::Module;

use super::build::Builder;
use super::device::DeviceState;
use super::globals::{self, New};
use super::ready::BuiltProgram;
use crate::MakeError as _;
use crate::driver::DeviceGlobalAccess;
use crate::driver::kernel::Kernel;
use crate::driver::program::Program;
use crate::driver::queue::Queue;
use crate::driver::usm::{Allocation, Kind};
use crate::image::LoadedImage;
use crate::memory::Region;
use crate::{Error, Result};

/// The device globals that a program uses.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// The table of addresses that kernels get behind their own arguments.
    pub(super) hidden: Option<Arc<Allocation>>,
    /// The variables with `device_image_scope`, by unique id: they live in this program.
    pub(super) own: HashMap<String, Region>,
}

/// Points the program's variables to the memory that all programs of the context and device share.
///
/// Also finds or allocates the memory of the program's own variables.
pub(super) fn attach(
    builder: &Builder<'_>,
    program: &Arc<Program>,
    image: &LoadedImage,
    device: &DeviceState,
) -> Result<Attached> {
    let globals = image.device_globals();
    if globals.is_empty() {
        return Ok(Attached::default());
    }
    let queue = device.queue(builder.context)?;
    let (own, shared): (Vec<&DeviceGlobalInfo>, Vec<_>) =
        globals.iter().filter(|global| !is_watched(global)).partition(|global| global.device_image_scope);
    own.iter().try_for_each(|global| builder.globals.declare(global, image.name()))?;
    let shared_memory = builder.globals.memory(builder.context, &queue, &shared, image.name())?;
    let mut addresses: HashMap<&str, u64> = shared
        .iter()
        .zip(&shared_memory)
        .map(|(global, memory)| (global.id.as_str(), memory.address()))
        .collect();
    for global in globals.iter().filter(|global| is_watched(global)) {
        addresses.insert(&global.id, watched(builder, global, device)?);
    }
    let attaching =
        Attaching { builder, program, image, device, queue: &queue, own: &own, shared: addresses };
    match device.variable_access(image) {
        DeviceGlobalAccess::Functions => attaching.by_functions(),
        DeviceGlobalAccess::Kernel => attaching.by_kernel(),
        DeviceGlobalAccess::Argument => attaching.by_argument(),
        other => Err(Error::bug(format!("device globals that are accessed by {other:?}"))),
    }
}

/// The table of the addresses of a program's variables, as kernels get it in the hidden argument;
/// none where the image has no device globals. It may be joined of the images of several programs.
pub(super) fn table_of(
    builder: &Builder<'_>,
    image: &LoadedImage,
    device: &DeviceState,
    programs: &[&BuiltProgram],
) -> Result<Option<Arc<Allocation>>> {
    let globals = image.device_globals();
    if let [program] = programs
        && (globals.is_empty() || program.hidden().is_some())
    {
        return Ok(program.hidden().cloned());
    }
    if globals.is_empty() {
        return Ok(None);
    }
    let queue = device.queue(builder.context)?;
    let lost = |global: &DeviceGlobalInfo| Error::invalid(format!("device global `{}` is lost", global.id));
    let mut addresses = Vec::new();
    for global in globals {
        addresses.push(match programs.iter().find_map(|program| program.own_global(&global.id)) {
            _ if is_watched(global) => watched(builder, global, device)?,
            Some(memory) => memory.address(),
            None if global.device_image_scope => 0,
            None => {
                let memory = builder.globals.memory(builder.context, &queue, &[global], image.name())?;
                memory.first().ok_or_else(|| lost(global))?.address()
            }
        });
    }
    let table = table(builder, device, &queue, &addresses)?;
    table.used_by_any_queue();
    Ok(Some(table))
}

fn table(
    builder: &Builder<'_>,
    device: &DeviceState,
    queue: &Arc<Queue>,
    addresses: &[u64],
) -> Result<Arc<Allocation>> {
    let bytes = bytemuck::cast_slice(addresses);
    let table = Allocation::new(builder.context, Some(device.device()), Kind::Device, bytes.len(), 8)?;
    queue.write(bytes, table.span(0, bytes.len())?, &[])?;
    Ok(table)
}

struct Attaching<'a> {
    builder: &'a Builder<'a>,
    program: &'a Arc<Program>,
    image: &'a LoadedImage,
    device: &'a DeviceState,
    queue: &'a Arc<Queue>,
    own: &'a [&'a DeviceGlobalInfo],
    /// Unique id → address.
    shared: HashMap<&'a str, u64>,
}

impl Attaching<'_> {
    fn by_functions(&self) -> Result<Attached> {
        if !self.shared.is_empty() {
            let pointers = self.shared.iter().map(|(id, address)| (*id, *address));
            self.program.write_pointers(self.queue, pointers, self.device.pointer_bytes())?;
        }
        let variable = |global: &&DeviceGlobalInfo| {
            let memory = self.program.variable(&global.id, size_of_variable(global));
            own(global, memory)
        };
        Ok(Attached { hidden: None, own: self.own.iter().map(variable).collect::<Result<_>>()? })
    }

    /// The kernel reads the addresses of shared variables from a table and writes those of the
    /// program's own there.
    fn by_kernel(&self) -> Result<Attached> {
        let mut addresses = self.addresses()?;
        let table = self.table(&addresses)?;
        let span = table.span(0, table.size_bytes())?;
        let mut kernel = Kernel::new(self.program, GLOBAL_ACCESS_KERNEL)?;
        kernel.set_indirect_access()?;
        kernel.set_memory(0, &span)?;
        kernel
            .run_once(self.queue)
            .map_err(|error| error.at(format!("device globals of image `{}`", self.image.name())))?;
        if self.own.is_empty() {
            return Ok(Attached::default());
        }
        self.queue.read(span, bytemuck::cast_slice_mut(&mut addresses), &[])?;
        let found = self.image.device_globals().iter().zip(addresses).filter(|(g, _)| g.device_image_scope);
        let variable =
            |(global, address)| own(global, self.program.variable_at(address, size_of_variable(global)));
        Ok(Attached { hidden: None, own: found.map(variable).collect::<Result<_>>()? })
    }

    /// Kernels get the table itself; the program's own variables lie in memory of their own.
    fn by_argument(&self) -> Result<Attached> {
        let own = self.make_own()?;
        let mut addresses = self.addresses()?;
        for (address, global) in addresses.iter_mut().zip(self.image.device_globals()) {
            if let Some(memory) = own.get(&global.id) {
                *address = memory.address();
            }
        }
        let table = self.table(&addresses)?;
        // Launches do not name it among their arguments.
        table.used_by_any_queue();
        Ok(Attached { hidden: Some(table), own })
    }

    fn make_own(&self) -> Result<HashMap<String, Region>> {
        if self.own.is_empty() {
            return Ok(HashMap::new());
        }
        let module = Module::from_words(self.image.whole()?.into_owned().spirv)?;
        let globals = self.image.device_globals();
        let initial = passes::image_scope_initial_values(&module, globals)?;
        let new: Vec<New<'_>> = globals
            .iter()
            .zip(&initial)
            .filter(|(global, _)| global.device_image_scope)
            .map(|(global, initial)| New { global, initial })
            .collect();
        let known = |id: &str| self.shared.get(id).copied();
        let memory = globals::make(self.builder.context, self.queue, &new, known)?;
        Ok(new.iter().map(|new| new.global.id.clone()).zip(memory).collect())
    }

    /// Addresses in the order of the image's variables; 0 for the program's own.
    fn addresses(&self) -> Result<Vec<u64>> {
        let address = |global: &DeviceGlobalInfo| match self.shared.get(global.id.as_str()) {
            Some(address) => Ok(*address),
            None if global.device_image_scope => Ok(0),
            None => Err(Error::bug(format!("device global `{}` has no address", global.id))),
        };
        self.image.device_globals().iter().map(address).collect()
    }

    fn table(&self, addresses: &[u64]) -> Result<Arc<Allocation>> {
        table(self.builder, self.device, self.queue, addresses)
    }
}

fn size_of_variable(global: &DeviceGlobalInfo) -> usize {
    usize::try_from(global.size_bytes).unwrap_or(usize::MAX)
}

fn own(global: &DeviceGlobalInfo, memory: Result<Arc<Allocation>>) -> Result<(String, Region)> {
    let place = |error: Error| error.at(format!("device global `{}`", global.id));
    Ok((global.id.clone(), Region::whole(memory.map_err(place)?)))
}

/// Whether a variable is the library's own, and lies where the host looks after waits: for virtual
/// calls that reached no function, and for `printf`.
fn is_watched(global: &DeviceGlobalInfo) -> bool {
    global.id == passes::VIRTUAL_FAULT || global.id == PRINTS
}

/// The address of such a variable.
fn watched(builder: &Builder<'_>, global: &DeviceGlobalInfo, device: &DeviceState) -> Result<u64> {
    match global.id == PRINTS {
        true => builder.context.prints(device.device()),
        false => builder.context.watch(device.device()),
    }
}
