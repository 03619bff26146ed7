//! Changes of recorded kernels in place (`cl_khr_command_buffer_mutable_dispatch`, 0.9.2 and later).

use std::ffi::c_void;

use super::command_buffer::CommandBuffer;
use super::launch::{Arg, WorkSize};
use super::sys::{
    CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR, cl_mutable_dispatch_arg_khr,
    cl_mutable_dispatch_config_khr,
};
use super::{Device, MutableDispatchSupport};
use crate::error::{Error, Result};

/// What of kernels in a sequence changes: arguments, index spaces. The kernels stay.
#[derive(Default)]
pub(crate) struct Patches<'a> {
    arguments: Vec<(u32, Arg<'a>)>,
    patches: Vec<Patch>,
}

struct Patch {
    step: usize,
    /// The end of its part of the arguments.
    arguments_end: usize,
    /// Before and after.
    size: Option<(WorkSize, WorkSize)>,
}

impl<'a> Patches<'a> {
    /// Adds a step: arguments that change, with their indices, and the index space before and after if that does.
    pub(crate) fn push(
        &mut self,
        step: usize,
        arguments: impl IntoIterator<Item = (u32, Arg<'a>)>,
        size: Option<(WorkSize, WorkSize)>,
    ) {
        self.arguments.extend(arguments);
        self.patches.push(Patch { step, arguments_end: self.arguments.len(), size });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// The steps.
    pub(crate) fn steps(&self) -> impl Iterator<Item = usize> {
        self.patches.iter().map(|patch| patch.step)
    }

    fn each(&self) -> impl Iterator<Item = (&Patch, &[(u32, Arg<'a>)])> {
        let mut start = 0;
        self.patches.iter().map(move |patch| {
            let arguments = self.arguments.get(start..patch.arguments_end).unwrap_or_default();
            start = patch.arguments_end;
            (patch, arguments)
        })
    }
}

impl Patch {
    /// Whether a device that can change this much can change that.
    fn is_possible(&self, arguments: &[(u32, Arg<'_>)], support: &MutableDispatchSupport) -> bool {
        // A null pointer is no value of an argument for SVM.
        let arguments = arguments.is_empty()
            || support.arguments && !arguments.iter().any(|(_, argument)| matches!(argument, Arg::Null));
        let size = self.size.is_none_or(|(from, to)| {
            from.dimensions == to.dimensions
                && (from.global == to.global || support.global_size)
                && (from.local == to.local || support.local_size && to.local.is_some())
                && (from.offset == to.offset || support.global_offset)
        });
        arguments && size
    }
}

/// Room for what the driver is given.
#[derive(Default)]
struct Configs {
    values: Vec<cl_mutable_dispatch_arg_khr>,
    pointers: Vec<cl_mutable_dispatch_arg_khr>,
    configs: Vec<cl_mutable_dispatch_config_khr>,
}

impl CommandBuffer {
    /// Changes those of the steps that it holds, in one call. The next time that it is put on a queue it is as if it had been
    /// recorded so; what was put on queues before is not changed.
    ///
    /// # Errors
    /// When the device or the driver cannot; what it holds is not known then, and it must be recorded anew.
    pub(crate) fn update(&self, device: &Device, patches: &Patches<'_>) -> Result<()> {
        let support = device.capabilities().mutable_dispatch.filter(MutableDispatchSupport::updates_as_array);
        let impossible = || Error::invalid("a change that cannot be made to recorded commands");
        let support = support.ok_or_else(impossible)?;
        let count = patches.patches.len();
        let mut room = Configs { configs: Vec::with_capacity(count), ..Configs::default() };
        for (patch, arguments) in patches.each().filter(|(patch, _)| self.steps().contains(&patch.step)) {
            let command = self.handle(patch.step);
            let command =
                command.filter(|_| patch.is_possible(arguments, &support)).ok_or_else(impossible)?;
            let (values, pointers) = (room.values.len(), room.pointers.len());
            for (index, argument) in arguments {
                let entry = |size, value| cl_mutable_dispatch_arg_khr {
                    arg_index: *index,
                    arg_size: size,
                    arg_value: value,
                };
                match argument {
                    Arg::Value(bytes) => room.values.push(entry(bytes.len(), bytes.as_ptr().cast())),
                    Arg::Local(size_bytes) => room.values.push(entry(*size_bytes, std::ptr::null())),
                    Arg::Memory(span) => room.pointers.push(entry(0, span.address().cast_const())),
                    Arg::Null => room.pointers.push(entry(0, std::ptr::null())),
                }
            }
            let size = patch.size.as_ref();
            room.configs.push(cl_mutable_dispatch_config_khr {
                command,
                num_args: (room.values.len() - values) as u32,
                num_svm_args: (room.pointers.len() - pointers) as u32,
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
        if room.configs.is_empty() {
            return Ok(());
        }
        self.give(device, room)
    }

    fn give(&self, device: &Device, mut room: Configs) -> Result<()> {
        let (mut values, mut pointers) = (room.values.as_slice(), room.pointers.as_slice());
        for config in &mut room.configs {
            config.arg_list = take(&mut values, config.num_args);
            config.arg_svm_list = take(&mut pointers, config.num_svm_args);
        }
        let types = vec![CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR; room.configs.len()];
        let mut configs: Vec<*const c_void> =
            room.configs.iter().map(|config| std::ptr::from_ref(config).cast()).collect();
        let table = &device.tables().mutable_dispatch;
        // SAFETY: the buffer is alive and finalized, and the commands are its own; there are as many types and pointers as
        // configurations, whose lists live through the call; addresses are those of USM that the sequence keeps.
        unsafe {
            table.clUpdateMutableCommandsKHR(
                self.native(),
                types.len() as u32,
                types.as_ptr(),
                configs.as_mut_ptr(),
            )
        }
    }
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
