//! The replay program of a program: the same kernels, launched many at a time from a list of tasks.
//!
//! It is built from the same image, device and specialization values ([`ReplaySlot`]), when somebody first asks, and kept with the
//! program; a failure is kept, too. Device globals always come in the hidden argument, whatever the device has otherwise:
//! variables of the replay program would be others than those of the program. The table of the hidden argument holds the
//! addresses of the program's variables.

mod learned;
mod rates;
mod tasks;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock};

use oclave_image::ImageError;
use oclave_image::passes::interpreter::{
    INTERPRETER_SEQ, INTERPRETER_WI, InterpreterKernel, InterpreterLayout, InterpreterModule, TaskRecord,
    interpreter_module,
};
use oclave_image::passes::{self, legalize_with};

use self::learned::Learned;
pub(crate) use self::learned::Source;
pub(crate) use self::rates::{Rates, Shape, Work};
pub(crate) use self::tasks::TaskList;
use super::attach;
use super::build::{Builder, refused};
use super::device::DeviceState;
use super::flight::lock;
use super::ready::BuiltProgram;
use super::spec::SpecValue;
use crate::driver::event::Event;
use crate::driver::kernel::Kernel;
use crate::driver::launch::{Arg, WorkSize};
use crate::driver::queue::Queue;
use crate::driver::usm::{Allocation, Span};
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result};

/// The place of a replay program in its program: not asked for yet, built, or why there is none.
pub(crate) type ReplaySlot = OnceLock<Result<Arc<ReplayProgram>>>;

/// Kernels of a program that run from lists of tasks.
#[derive(Debug)]
pub(crate) struct ReplayProgram {
    layout: InterpreterLayout,
    seq: Mutex<Kernel>,
    wi: Mutex<Kernel>,
    /// The table of addresses that kernels with device globals get as their last argument.
    hidden: Option<Arc<Allocation>>,
    rates: Rates,
    learned: Learned,
    /// Work-items of the largest group that the device runs it with.
    max_group: usize,
    /// Work-items of a group in the first dimension, from which on the device runs lists of groups rightly.
    least_width: usize,
    /// Local memory that variables of its kernels leave.
    free_local_bytes: u64,
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

impl ReplayProgram {
    /// What it holds.
    pub(crate) fn layout(&self) -> &InterpreterLayout {
        &self.layout
    }

    /// What tasks cost on the device.
    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    /// Steps of a work-item of a kernel: the static estimate, corrected by what was seen there, or else elsewhere.
    pub(crate) fn steps(&self, kernel: u32, source: Source) -> f64 {
        let estimate = self.layout.kernel(kernel).map_or(1, |kernel| kernel.cost.steps.max(1));
        f64::from(estimate) * self.learned.nearest(kernel, source)
    }

    /// Whether something is known of what nodes of so many work-items cost there, from this process or an earlier one.
    pub(crate) fn is_known(&self, kernel: u32, source: Source, items: f64) -> bool {
        self.learned.is_known(kernel, source, items)
    }

    /// Whether this process has measured it.
    pub(crate) fn is_measured(&self, kernel: u32, source: Source, items: f64) -> bool {
        self.learned.is_measured(kernel, source, items)
    }

    /// Corrects the steps of a kernel: in nodes of so many work-items they took so much more than [`Self::steps`] says.
    pub(crate) fn correct(&self, kernel: u32, by: f64, source: Source, items: f64) {
        self.learned.set(kernel, self.learned.nearest(kernel, source) * by, source, items);
    }

    /// Keeps the corrections in the cache of programs.
    pub(crate) fn keep_corrections(&self) {
        self.learned.keep();
    }

    /// The address for the last argument of kernels that use device globals.
    pub(crate) fn hidden(&self) -> Option<&Arc<Allocation>> {
        self.hidden.as_ref()
    }

    /// Why it does not run groups of this size with so much local memory for their arguments, if it does not.
    pub(crate) fn refusal(&self, local: [usize; 3], local_bytes: u64) -> Option<String> {
        let [width, ..] = local;
        let work_items: usize = local.iter().product();
        if width < self.least_width {
            let reason = "groups of one work-item in the first dimension, in lists of which the driver runs other nodes twice";
            return Some(reason.to_owned());
        }
        let takes = work_items <= self.max_group && local_bytes <= self.free_local_bytes;
        (!takes).then(|| {
            format!(
                "{work_items} work-items in a group and {local_bytes} bytes of local memory, too many for the replay module, which takes {} and {}",
                self.max_group, self.free_local_bytes
            )
        })
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
        };
        // Drivers do not take local memory of no bytes.
        let last = (segment.shape != Shape::Seq).then(|| Arg::Local(segment.local_bytes.max(1)));
        let [x, y, z] = local;
        let size =
            WorkSize { dimensions: 3, global: [x * segment.groups, y, z], local: Some(local), offset: None };
        queue
            .launch_using(&mut lock(kernel), arguments.into_iter().chain(last), memory, &size, after)
            .map_err(|error| error.at("replay"))
    }
}

impl Builder<'_> {
    /// The replay program of a program.
    ///
    /// # Errors
    /// [`ErrorKind::KernelNotSupported`] with the reasons, when no kernel can be replayed.
    pub(super) fn build_replay(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
        original: &BuiltProgram,
    ) -> Result<Arc<ReplayProgram>> {
        let (words, layout) = legal_words(image, device)?;
        if layout.module_kernels() == 0 {
            let reasons: Vec<String> = layout
                .excluded()
                .iter()
                .map(|kernel| format!("`{}`: {}", kernel.name, kernel.reason))
                .collect();
            let what = format!("no kernel can be replayed ({})", reasons.join("; "));
            return Err(Error::new(ErrorKind::KernelNotSupported, what));
        }
        // A binary in the cache is of these very words: whoever changes how they are written gets another one.
        let form = format!("replay {}", blake3::hash(bytemuck::cast_slice(&words)));
        let program = self.program_of(image, device, specs, &form, || Ok(words))?;
        let hidden = attach::table_of(self, image, device, original)?;
        let kernel = |name: &str| -> Result<Kernel> {
            let mut kernel = Kernel::new(&program, name)?;
            // All that tasks point to.
            kernel.set_indirect_access()?;
            Ok(kernel)
        };
        let wi = kernel(INTERPRETER_WI)?;
        let sum = |bytes: fn(&InterpreterKernel) -> u64| {
            layout.kernels().iter().map(bytes).fold(0, u64::saturating_add)
        };
        let (local, private) = (sum(|kernel| kernel.static_local_bytes), sum(|kernel| kernel.private_bytes));
        let local_bytes = device.device().capabilities().limits.local_memory_bytes;
        let max_group = wi.max_work_group_size()?.min(most_items(private));
        let mut replay = ReplayProgram {
            layout,
            seq: Mutex::new(kernel(INTERPRETER_SEQ)?),
            max_group,
            least_width: if self.context.quirks().first_item_runs_twice { 2 } else { 1 },
            wi: Mutex::new(wi),
            hidden,
            rates: Rates::default(),
            learned: Learned::default(),
            free_local_bytes: local_bytes.saturating_sub(local),
        };
        let key = self.cache_key(image, device, specs, "replay rates 5");
        replay.rates = rates::known_or_measured(self, device, &key, &replay)?;
        let key = self.cache_key(image, device, specs, "replay corrections 3");
        replay.learned =
            Learned::new(replay.layout.module_kernels(), self.disk.cloned().map(|disk| (disk, key)));
        Ok(Arc::new(replay))
    }
}

/// Private memory of a group that drivers keep on the stack, in bytes: they may keep some of it several times.
const MOST_GROUP_BYTES: u64 = 1 << 20;

/// Work-items of the largest group that does not overflow a stack, if each has so many bytes of private memory.
fn most_items(private_bytes: u64) -> usize {
    MOST_GROUP_BYTES.checked_div(private_bytes).map_or(usize::MAX, |items| items as usize)
}

/// The replay module as the device takes it.
fn legal_words(image: &LoadedImage, device: &DeviceState) -> Result<(Vec<u32>, InterpreterLayout)> {
    let globals = image.device_globals();
    let local = device.device().capabilities().limits.local_memory_bytes;
    let mut layout = InterpreterLayout::default();
    let pass = |module| {
        passes::check::check(&module)?;
        let module = match globals {
            [] => module,
            globals => passes::lower_globals_to_hidden_argument(&module, globals)?.module,
        };
        let InterpreterModule { module, layout: made } = interpreter_module(&module, device.target(), local)?;
        layout = made;
        Ok(module)
    };
    let words = legalize_with(&*image.whole()?, device.target(), pass)
        .map_err(|error: ImageError| refused(error, device))
        .map_err(|error| error.at("replay module"))?;
    Ok((words, layout))
}

/// Bytes of `count` tasks.
pub(crate) const fn list_bytes(count: usize) -> usize {
    count * TaskRecord::BYTES
}
