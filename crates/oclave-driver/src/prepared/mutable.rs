//! Changes of recorded kernels in place (`cl_khr_command_buffer_mutable_dispatch`, 0.9.2 and
//! later).

use std::ffi::c_void;
use std::fmt;

use super::command_buffer::CommandBuffer;
use super::launch::{Arg, Kept, WorkSize};
use super::sequence::Sequence;
use crate::MakeError as _;
use crate::sys::{
    CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR, cl_command_buffer_update_type_khr, cl_mem,
    cl_mutable_dispatch_arg_khr, cl_mutable_dispatch_config_khr, cl_sampler,
};
use crate::{Device, Error, MutableDispatchSupport, Result};

/// Which kernels of a sequence have got other arguments or index spaces. Used again and again, as
/// its memory is kept.
#[derive(Default)]
pub struct Patches {
    /// Indices of the arguments that are others now.
    arguments: Vec<u32>,
    /// Index spaces before, of the patches that change them.
    sizes: Vec<WorkSize>,
    patches: Vec<Patch>,
    scratch: Scratch,
}

impl fmt::Debug for Patches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patches").field("patches", &self.patches.len()).finish_non_exhaustive()
    }
}

struct Patch {
    step: u32,
    /// The end of its part of the arguments.
    arguments_end: u32,
    /// Whether the index space before is the next one of the sizes.
    has_size: bool,
}

/// Memory for what the driver is given.
#[derive(Default)]
struct Scratch {
    values: Vec<cl_mutable_dispatch_arg_khr>,
    pointers: Vec<cl_mutable_dispatch_arg_khr>,
    configs: Vec<cl_mutable_dispatch_config_khr>,
    types: Vec<cl_command_buffer_update_type_khr>,
    starts: Vec<*const c_void>,
}

// SAFETY: the pointers in it are only read by the call that they were written for.
unsafe impl Send for Scratch {}

impl Patches {
    /// More memory than for so many steps is given back.
    const KEPT: usize = 4096;

    /// Notes an argument of the step that comes next.
    #[inline]
    pub(crate) fn add_argument(&mut self, index: u32) {
        self.arguments.push(index);
    }

    /// Notes a step with the arguments since the last one, and its index space before if that is
    /// another one now. Without either there is nothing to note.
    #[inline]
    pub fn end_step(&mut self, step: u32, size: Option<WorkSize>) {
        let arguments_end = self.arguments.len() as u32;
        if size.is_some() || self.patches.last().map_or(0, |last| last.arguments_end) != arguments_end {
            self.patches.push(Patch { step, arguments_end, has_size: size.is_some() });
            self.sizes.extend(size);
        }
    }

    /// Whether nothing changes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        if self.patches.capacity() > Self::KEPT {
            *self = Self::default();
        }
        self.arguments.clear();
        self.sizes.clear();
        self.patches.clear();
    }

    /// The steps.
    #[inline]
    pub fn steps(&self) -> impl Iterator<Item = usize> {
        self.patches.iter().map(|patch| patch.step as usize)
    }
}

/// Whether a device that can change this much can change an index space to another one.
fn takes_size(from: &WorkSize, to: &WorkSize, support: &MutableDispatchSupport) -> bool {
    from.dimensions == to.dimensions
        && (from.global == to.global || support.global_size)
        && (from.local == to.local || support.local_size && to.local.is_some())
        && (from.offset == to.offset || support.global_offset)
}

impl CommandBuffer {
    /// Brings those of the steps that it holds to what the sequence has, in one call. The next time
    /// it is put on a queue, it behaves as if it had been recorded so. Earlier submissions are not
    /// changed.
    ///
    /// # Errors
    /// When the device or the driver cannot; what it holds is not known then, and it must be
    /// recorded again.
    pub fn update(&self, device: &Device, sequence: &Sequence, patches: &mut Patches) -> Result<()> {
        let support = device.capabilities().mutable_dispatch.filter(MutableDispatchSupport::updates_as_array);
        let support = support.ok_or_else(impossible)?;
        let pointers_change = sequence.context().pointers()?.updates_recorded_pointers();
        let Patches { arguments, sizes, patches, scratch } = patches;
        scratch.clear();
        let (mut start, mut sizes) = (0, sizes.iter());
        for patch in patches.iter() {
            let end = patch.arguments_end as usize;
            let changed = arguments.get(start..end).ok_or_else(impossible)?;
            start = end;
            let before = patch.has_size.then(|| sizes.next().ok_or_else(impossible)).transpose()?;
            let step = patch.step as usize;
            if !self.steps().contains(&step) {
                continue;
            }
            let launch = sequence.launch(step).ok_or_else(impossible)?;
            let command = self.handle(step).ok_or_else(impossible)?;
            let size = before.map(|from| (from, &launch.size));
            if !changed.is_empty() && !support.arguments
                || size.is_some_and(|(from, to)| !takes_size(from, to, &support))
            {
                return Err(impossible());
            }
            let (values, pointers) = (scratch.values.len(), scratch.pointers.len());
            for index in changed {
                scratch.add(*index, launch.arguments.get(*index as usize).ok_or_else(impossible)?)?;
            }
            if scratch.pointers.len() > pointers && !pointers_change {
                return Err(impossible());
            }
            scratch.configs.push(cl_mutable_dispatch_config_khr {
                command,
                num_args: (scratch.values.len() - values) as u32,
                num_svm_args: (scratch.pointers.len() - pointers) as u32,
                num_exec_infos: 0,
                work_dim: size.map_or(0, |(_, to)| to.dimensions),
                arg_list: std::ptr::null(),
                arg_svm_list: std::ptr::null(),
                exec_info_list: std::ptr::null(),
                global_work_offset: size.map_or(std::ptr::null(), |(from, to)| offset(from, to)),
                global_work_size: size.map_or(std::ptr::null(), |(_, to)| to.global.as_ptr()),
                local_work_size: size.map_or(std::ptr::null(), |(_, to)| to.local_pointer()),
            });
        }
        if scratch.configs.is_empty() {
            return Ok(());
        }
        self.give(device, scratch)
    }

    fn give(&self, device: &Device, scratch: &mut Scratch) -> Result<()> {
        let (mut values, mut pointers) = (scratch.values.as_slice(), scratch.pointers.as_slice());
        for config in &mut scratch.configs {
            config.arg_list = take(&mut values, config.num_args);
            config.arg_svm_list = take(&mut pointers, config.num_svm_args);
        }
        scratch.types.resize(scratch.configs.len(), CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR);
        scratch
            .starts
            .extend(scratch.configs.iter().map(|config| std::ptr::from_ref(config).cast::<c_void>()));
        let table = &device.tables().mutable_dispatch;
        // SAFETY: the buffer is alive and finalized, and the commands are its own. There are as
        // many types and pointers as configurations, whose lists live through the call. Addresses
        // are those of memory that the sequence keeps.
        unsafe {
            table.clUpdateMutableCommandsKHR(
                self.native(),
                scratch.types.len() as u32,
                scratch.types.as_ptr(),
                scratch.starts.as_mut_ptr(),
            )
        }
    }
}

impl Scratch {
    #[inline]
    fn clear(&mut self) {
        self.values.clear();
        self.pointers.clear();
        self.configs.clear();
        self.types.clear();
        self.starts.clear();
    }

    /// Adds an argument of the configuration that comes next.
    fn add(&mut self, index: u32, argument: &Kept) -> Result<()> {
        let entry =
            |size, value| cl_mutable_dispatch_arg_khr { arg_index: index, arg_size: size, arg_value: value };
        match argument.arg() {
            Arg::Value(bytes) => self.values.push(entry(bytes.len(), bytes.as_ptr().cast())),
            Arg::Local(size_bytes) => self.values.push(entry(size_bytes, std::ptr::null())),
            Arg::Memory(span) => self.pointers.push(entry(0, span.address().cast_const())),
            Arg::Image(image) => self.values.push(entry(size_of::<cl_mem>(), image.place())),
            Arg::Sampler(sampler) => self.values.push(entry(size_of::<cl_sampler>(), sampler.place())),
            // A null pointer is no value of an argument for SVM.
            Arg::Null => return Err(impossible()),
        }
        Ok(())
    }
}

fn impossible() -> Error {
    Error::invalid("a change that cannot be made to recorded commands")
}

/// From 0 where there was an offset and is none any more.
fn offset(from: &WorkSize, to: &WorkSize) -> *const usize {
    static ZERO: [usize; 3] = [0; 3];
    match (from.offset, &to.offset) {
        (Some(_), None) => ZERO.as_ptr(),
        _ => to.offset_pointer(),
    }
}

/// The first so many, and leaves the others.
fn take<T>(from: &mut &[T], count: u32) -> *const T {
    match from.split_at_checked(count as usize) {
        Some((first, rest)) if !first.is_empty() => {
            *from = rest;
            first.as_ptr()
        }
        _ => std::ptr::null(),
    }
}
