//! The interpreter programs of a program: some of its kernels, launched many at a time from a task
//! list.
//!
//! One is built from the same image, device and specialization values, for the kernels that a graph
//! uses. It is kept with the program ([`InterpreterSlot`]), and so is a failure. Device globals
//! always come in the hidden argument, on every device, because the interpreter program would have
//! variables of its own. The table of the hidden argument has the addresses of the program's
//! variables.
//!
//! Lists with jumps may have kernels of several programs (`joined.rs`).

mod joined;
mod limits;
mod slot;
mod tasks;
#[cfg(test)]
mod tests;
mod wide;

use oclave_faults::Fault;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::MakeError as _;
use crate::driver::sync::Mutex;

use oclave_image::ImageError;
use oclave_image::passes::interpreter::{
    INTERPRETER_SEQ, INTERPRETER_WI, InterpreterKernel, InterpreterLayout, InterpreterModule, TaskRecord,
    flow_module, interpreter_module,
};
use oclave_image::passes::{self, Legal, legalize_with};
use oclave_spirv::transform::dce;

pub(crate) use self::joined::{InterpreterPart, joined_kernels};
pub(super) use self::joined::{JoinedSlots, Names, joined_image};
pub(crate) use self::limits::GroupLimits;
pub(crate) use self::slot::{InterpreterSlot, PendingProgram};
pub(crate) use self::tasks::TaskList;
use self::wide::WideGroups;
pub(crate) use self::wide::{FlowGroup, FlowLoad};
use super::attach;
use super::build::{Builder, refused};
use super::device::DeviceState;
use super::ready::BuiltProgram;
use super::spec::SpecValue;
use crate::driver::DeviceKind;
use crate::driver::event::Event;
use crate::driver::kernel::Kernel;
use crate::driver::launch::{Arg, WorkSize};
use crate::driver::queue::Queue;
use crate::driver::usm::{Allocation, Span};
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result};
pub(crate) use oclave_image::passes::interpreter::INTERPRETER_FLOW;

/// Work-items of a group that share the tasks, where these need no groups and work-items run side
/// by side.
const GROUP: usize = 16;
/// Steps of a task, from which on it is worth being shared.
const SHARED_STEPS: f64 = 1024.0;

/// How a launch runs tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One work-item runs all work-items of a task.
    Seq,
    /// A group of this size shares them.
    Wi([usize; 3]),
    /// Teams of `width` work-items share them, `items` in a group.
    Teams { items: usize, width: usize },
}

impl Shape {
    /// Work-items of a group.
    pub(crate) fn items(self) -> usize {
        match self {
            Self::Seq => 1,
            Self::Wi(sizes) => sizes.iter().product(),
            Self::Teams { items, .. } => items,
        }
    }

    /// How many tasks a group runs side by side.
    pub(crate) fn teams(self) -> usize {
        match self {
            Self::Seq | Self::Wi(_) => 1,
            Self::Teams { items, width } => items / width.max(1),
        }
    }
}

/// Tasks of a launch, as far as its groups depend on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// The size of groups that some of the tasks need.
    pub(crate) local: Option<[u32; 3]>,
    pub(crate) tasks: usize,
    /// Work-items and steps of all tasks together.
    pub(crate) items: f64,
    pub(crate) steps: f64,
    /// Whether work-items run several of each task at once, where groups are wide.
    pub(crate) is_straight: bool,
    pub(crate) groups: u32,
    /// Tasks of the largest level: a group may run those of a level side by side.
    pub(crate) widest: usize,
}

/// Kernels of a program that run from task lists.
#[derive(Debug)]
pub(crate) struct InterpreterProgram {
    layout: InterpreterLayout,
    names: Names,
    seq: Mutex<Kernel>,
    wi: Mutex<Kernel>,
    /// The one with jumps, in programs for loops.
    flow: Option<Mutex<Kernel>>,
    /// The table of addresses that kernels with device globals get as their last argument.
    hidden: Option<Arc<Allocation>>,
    limits: GroupLimits,
    /// Work-items of a group run one after the other, so that sharing a task saves nothing.
    serial_work_items: bool,
    /// Where groups have many work-items side by side.
    wide: Option<WideGroups>,
}

/// Which tasks of a list one launch runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The first one's number.
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// Groups that share the tasks; more than one only where tasks do not depend on each other.
    pub(crate) groups: usize,
    pub(crate) shape: Shape,
    /// Local memory that the tasks' arguments point to.
    pub(crate) local_bytes: usize,
}

impl InterpreterProgram {
    /// What it holds.
    pub(crate) fn layout(&self) -> &InterpreterLayout {
        &self.layout
    }

    /// The number of a kernel of the program that this slot is of.
    ///
    /// # Errors
    /// The reason why it is not there.
    pub(crate) fn kernel_index(&self, of: &Arc<InterpreterSlot>, kernel: &str) -> Result<u32, String> {
        let name = self.names.name(of, kernel);
        self.layout.kernel_index(&name).ok_or_else(|| {
            let reason = self.layout.why_excluded(&name).unwrap_or("it is not there");
            format!("kernel `{kernel}`: {reason}")
        })
    }

    /// Which groups it can run.
    pub(crate) fn limits(&self) -> &GroupLimits {
        &self.limits
    }

    /// How to run tasks.
    pub(crate) fn shape(&self, load: &Load) -> Shape {
        match (load.local, &self.wide) {
            (Some(local), _) => Shape::Wi(local.map(|size| size as usize)),
            (None, Some(wide)) => wide.shape(load),
            _ if self.serial_work_items || load.steps < SHARED_STEPS * load.tasks as f64 => Shape::Seq,
            _ if self.limits.refusal([GROUP, 1, 1], 0).is_some() => Shape::Seq,
            _ => Shape::Wi([GROUP, 1, 1]),
        }
    }

    /// The address for the last argument of kernels that use device globals.
    pub(crate) fn hidden(&self) -> Option<&Arc<Allocation>> {
        self.hidden.as_ref()
    }

    /// The group that runs a list with jumps.
    pub(crate) fn flow_group(&self, load: &FlowLoad) -> FlowGroup {
        let of = |wide: &WideGroups| wide.flow(load, self.limits.free_local_bytes + wide.local_bytes());
        self.wide.as_ref().map_or(FlowGroup::ONE, of)
    }

    /// Whether a work-item runs lists with jumps alone, where work-items of a group would run side by side.
    pub(crate) fn has_idle_lanes(&self) -> bool {
        !self.serial_work_items && self.wide.is_none()
    }

    /// Runs a list with jumps, from a task on to an end, or until a budget is spent.
    ///
    /// # Errors
    /// When the program has no jumps, or the driver refuses.
    pub(crate) fn launch_flow(
        &self,
        queue: &Arc<Queue>,
        list: Span<'_>,
        range: [u64; 3],
        group: FlowGroup,
        after: &[&Event],
    ) -> Result<Event> {
        let kernel = self.flow.as_ref();
        let kernel = kernel.ok_or_else(|| Error::bug("an interpreter program without jumps"))?;
        let [first, end, budget] = range.map(u64::to_ne_bytes);
        let arguments = [Arg::Memory(list), Arg::Value(&first), Arg::Value(&end), Arg::Value(&budget)];
        let block = (group.block as u64).to_ne_bytes();
        let of_group = [Arg::Local(group.local_bytes()), Arg::Value(&block)];
        let of_group = of_group.into_iter().take(if self.wide.is_some() { 2 } else { 0 });
        let arguments = arguments.into_iter().chain(of_group);
        let local = [group.items, 1, 1];
        let size = WorkSize { dimensions: 3, global: local, local: Some(local), offset: None };
        queue
            .launch_using(&mut kernel.lock(), arguments, std::iter::empty(), &size, after)
            .map_err(|error| error.at("interpreter"))
    }

    /// Runs tasks. `memory` is what they use through their arguments.
    ///
    /// # Errors
    /// When the host accesses some of the memory, or the driver refuses.
    pub(crate) fn launch<'m>(
        &self,
        queue: &Arc<Queue>,
        list: Span<'_>,
        segment: &Segment,
        memory: impl Iterator<Item = Span<'m>> + Clone,
        after: &[&Event],
    ) -> Result<Event> {
        let [first, count] = [segment.first, segment.count].map(u64::to_ne_bytes);
        let arguments = [Arg::Memory(list), Arg::Value(&first), Arg::Value(&count)];
        let (kernel, local) = match segment.shape {
            Shape::Seq => (&self.seq, [1; 3]),
            Shape::Wi(local) => (&self.wi, local),
            Shape::Teams { items, .. } => (&self.wi, [items, 1, 1]),
        };
        let block = self.wide.as_ref().map_or(0, |wide| wide.block(segment));
        let of_teams =
            [(segment.shape.items() / segment.shape.teams()) as u64, block as u64].map(u64::to_ne_bytes);
        let of_teams = of_teams.iter().map(|bytes| Arg::Value(bytes)).take(if block > 0 { 2 } else { 0 });
        // Drivers do not take local memory of no bytes.
        let local_bytes = self.wide.as_ref().map_or(segment.local_bytes, |wide| wide.launch_bytes(segment));
        let last = std::iter::once(Arg::Local(local_bytes.max(1))).chain(of_teams);
        let last = last.take(if segment.shape == Shape::Seq { 0 } else { usize::MAX });
        let [x, y, z] = local;
        let size =
            WorkSize { dimensions: 3, global: [x * segment.groups, y, z], local: Some(local), offset: None };
        queue
            .launch_using(&mut kernel.lock(), arguments.into_iter().chain(last), memory, &size, after)
            .map_err(|error| error.at("interpreter"))
    }
}

impl Builder<'_> {
    /// The interpreter program for some kernels of an image. It has the variables of `originals`: the programs of the image,
    /// or of those that it was joined of.
    ///
    /// # Errors
    /// [`ErrorKind::KernelNotSupported`] with the reasons, when it can run none of them.
    pub(super) fn build_interpreter(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
        originals: &[&BuiltProgram],
        (kernels, names): (&BTreeSet<String>, Names),
    ) -> Result<Arc<InterpreterProgram>> {
        let LegalInterpreter { words, layout, spec_ids } = legal_words(image, device, kernels)?;
        let specs: Vec<SpecValue> =
            specs.iter().filter(|spec| spec_ids.contains(&spec.id())).cloned().collect();
        if layout.module_kernels() == 0 {
            let reasons: Vec<String> = layout
                .excluded()
                .iter()
                .map(|kernel| format!("`{}`: {}", kernel.name, kernel.reason))
                .collect();
            let what = format!("the interpreter can run no kernel ({})", reasons.join("; "));
            return Err(Error::new(ErrorKind::KernelNotSupported, what));
        }
        // A binary in the cache is of these very words. A change in how they are written gives
        // another one.
        let form = format!("interpreter {}", blake3::hash(bytemuck::cast_slice(&words)));
        let legal = || Ok(Legal { words, ..Legal::default() });
        let (program, _) = self.program_of(image, device, &specs, &form, legal)?;
        let hidden = attach::table_of(self, image, device, originals)?;
        let kernel = |name: &str| -> Result<Kernel> {
            let mut kernel = Kernel::new(&program, name)?;
            // All that tasks point to.
            kernel.set_indirect_access()?;
            Ok(kernel)
        };
        let wi = kernel(INTERPRETER_WI)?;
        let is_gpu = device.device().kind() == DeviceKind::Gpu;
        let sum = |bytes: fn(&InterpreterKernel) -> u64| {
            layout.kernels().iter().map(bytes).fold(0, u64::saturating_add)
        };
        let (local, private) = (sum(|kernel| kernel.static_local_bytes), sum(|kernel| kernel.private_bytes));
        let local_bytes = device.device().capabilities().limits.local_memory_bytes;
        // NVIDIA's driver tells 256, though the PTX says that groups have up to 1024, and runs these.
        let most = match device.target().says_uniform {
            true => device.device().capabilities().limits.max_work_group_size,
            false => wi.max_work_group_size()?,
        };
        let most = most.min(most_items(private));
        let wide = device.target().wide_groups.then(|| WideGroups::new(&layout, is_gpu, most, local_bytes));
        let copies = wide.as_ref().map_or(0, WideGroups::local_bytes);
        let limits = GroupLimits {
            most_items: most,
            least_width: if self.context.driver_faults().has(Fault::Q12) { 2 } else { 1 },
            free_local_bytes: local_bytes.saturating_sub(local).saturating_sub(copies),
        };
        Ok(Arc::new(InterpreterProgram {
            layout,
            names,
            seq: Mutex::new(kernel(INTERPRETER_SEQ)?),
            wi: Mutex::new(wi),
            flow: kernels
                .contains(INTERPRETER_FLOW)
                .then(|| kernel(INTERPRETER_FLOW).map(Mutex::new))
                .transpose()?,
            hidden,
            limits,
            serial_work_items: device.target().serial_work_items,
            wide,
        }))
    }
}

/// Private memory of a group that drivers keep on the stack, in bytes: they may keep some of it
/// several times.
const MOST_GROUP_BYTES: u64 = 1 << 20;

/// Work-items of the largest group that does not overflow a stack, if each has so many bytes of
/// private memory.
fn most_items(private_bytes: u64) -> usize {
    MOST_GROUP_BYTES.checked_div(private_bytes).map_or(usize::MAX, |items| items as usize)
}

/// An interpreter module, as a device takes it.
struct LegalInterpreter {
    words: Vec<u32>,
    layout: InterpreterLayout,
    /// Of the specialization constants that its kernels use: drivers refuse values of others.
    spec_ids: BTreeSet<u32>,
}

/// The interpreter module with some kernels.
fn legal_words(
    image: &LoadedImage,
    device: &DeviceState,
    kernels: &BTreeSet<String>,
) -> Result<LegalInterpreter> {
    let globals = image.device_globals();
    let local = device.device().capabilities().limits.local_memory_bytes;
    let copies = if device.target().wide_groups { wide::copy_bytes(local) } else { 0 };
    let local = local.saturating_sub(copies);
    let (mut layout, mut spec_ids) = (InterpreterLayout::default(), BTreeSet::new());
    let pass = |module| {
        oclave_spirv::check::check(&module)?;
        let module = match globals {
            [] => module,
            globals => passes::lower_globals_to_hidden_argument(&module, globals)?.module,
        };
        let module = dce::eliminate(
            &module,
            |root| matches!(root, dce::Root::EntryPoint(name) if kernels.contains(name)),
        )?;
        let make = if kernels.contains(INTERPRETER_FLOW) { flow_module } else { interpreter_module };
        let InterpreterModule { module, layout: made } = make(&module, device.target(), local)?;
        (layout, spec_ids) = (made, module.spec_ids().collect());
        Ok(module)
    };
    let Legal { words, refused_kernels, .. } = legalize_with(&*image.whole()?, device.target(), pass)
        .map_err(|error: ImageError| refused(error, device.device()))
        .map_err(|error| error.at("interpreter module"))?;
    if !refused_kernels.is_empty() {
        let what =
            "the device's compiler may get the barriers of its kernels wrong; they are launched instead";
        return Err(Error::new(ErrorKind::KernelNotSupported, what).at("interpreter module"));
    }
    Ok(LegalInterpreter { words, layout, spec_ids })
}

/// Bytes of `count` tasks.
pub(crate) const fn list_bytes(count: usize) -> usize {
    count * TaskRecord::BYTES
}
