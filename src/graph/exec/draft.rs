//! Commands as tasks.

use std::sync::Arc;

use oclave_image::passes::interpreter::{InterpreterArgumentKind, OwnTask, TaskRecord};

use crate::MakeError as _;
use crate::command::{Argument, CommandKind, Form, KernelForm};
use crate::driver::usm::Allocation;
use crate::graph::plan::eligibility::LOCAL_ALIGN;
use crate::memory::Region;
use crate::program::InterpreterProgram;
use crate::{Error, Queue, Result};

/// A task to be written: everything but its block, which is in a list of bytes beside it.
pub(in crate::graph) struct Draft {
    /// Without the place of its block.
    pub(in crate::graph) record: TaskRecord,
    pub(in crate::graph) local_bytes: usize,
    pub(in crate::graph) memory: Vec<Arc<Allocation>>,
}

impl Draft {
    /// A command as a task, its block in `block`; `None` if it does nothing.
    pub(in crate::graph) fn of(
        program: &InterpreterProgram,
        command: &CommandKind,
        queue: &Queue,
        block: &mut Vec<u8>,
    ) -> Result<Option<Self>> {
        let layout = program.layout();
        match command.form(queue)? {
            Form::Kernel(form) => Self::of_kernel(program, &form, queue, block).map(Some),
            Form::Copy { from, to, size } => {
                let task = layout.copy(to.address(), from.address(), &size).ok_or_else(lost)?;
                let memory = vec![Arc::clone(from.allocation()), Arc::clone(to.allocation())];
                Ok(Some(Self::of_own(task, memory, block)))
            }
            Form::Fill { to, size, pattern } => {
                let task = layout.fill(to.address(), &pattern, &size).ok_or_else(lost)?;
                Ok(Some(Self::of_own(task, vec![Arc::clone(to.allocation())], block)))
            }
            Form::Nothing => Ok(None),
            Form::Other(_) => Err(lost()),
        }
    }

    fn of_own(task: OwnTask, memory: Vec<Arc<Allocation>>, block: &mut Vec<u8>) -> Self {
        *block = task.arguments;
        let record = TaskRecord::new(task.kernel, 0, 3, task.items, [0; 3], [1; 3]);
        Self { record, local_bytes: 0, memory }
    }

    fn of_kernel(
        program: &InterpreterProgram,
        form: &KernelForm<'_>,
        queue: &Queue,
        block: &mut Vec<u8>,
    ) -> Result<Self> {
        let name = &form.kernel.signature().name;
        let number = program.kernel_index(form.kernel.interpreters(), name).map_err(|_| lost())?;
        let kernel = program.layout().kernel(number).ok_or_else(lost)?;
        let arguments = form.arguments(queue)?;
        block.clear();
        block.resize(kernel.block_bytes as usize, 0);
        let (mut local_bytes, mut memory) = (0_usize, Vec::new());
        let mut given = arguments.iter();
        for place in &kernel.arguments {
            let small;
            let bytes: &[u8] = match (place.kind, given.next()) {
                (InterpreterArgumentKind::Value { .. }, Some(Argument::Value(value))) => value.bytes(),
                (InterpreterArgumentKind::Pointer, Some(argument @ Argument::Pointer(_))) => {
                    memory.extend(argument.region().map(|region| Arc::clone(region.allocation())));
                    small = address(argument);
                    &small
                }
                (InterpreterArgumentKind::Local, Some(Argument::Local { size_bytes, .. })) => {
                    let offset = local_bytes.next_multiple_of(LOCAL_ALIGN);
                    local_bytes = offset + size_bytes;
                    small = (offset as u64).to_ne_bytes();
                    &small
                }
                (InterpreterArgumentKind::Pointer, None) => {
                    let table = program.hidden().ok_or_else(lost)?;
                    small = (table.address().addr() as u64).to_ne_bytes();
                    &small
                }
                _ => return Err(lost()),
            };
            let start = place.offset_bytes as usize;
            match block.get_mut(start..start + place.kind.size_bytes() as usize) {
                Some(room) if room.len() == bytes.len() => room.copy_from_slice(bytes),
                _ => return Err(lost()),
            }
        }
        let wide = |sizes: [usize; 3]| sizes.map(|size| size as u64);
        let (global, offset) = (wide(form.size.global), form.size.offset.map_or([0; 3], wide));
        let local = form.size.local.map_or([1; 3], wide);
        let record = TaskRecord::new(number, 0, form.size.dimensions, global, offset, local);
        Ok(Self { record, local_bytes, memory })
    }
}

/// A pointer as blocks have it.
pub(in crate::graph) fn address(argument: &Argument) -> [u8; 8] {
    argument.region().map_or(0, Region::address).to_ne_bytes()
}

pub(in crate::graph) fn local_bytes(arguments: &[Argument]) -> usize {
    arguments.iter().fold(0, |all, argument| match argument {
        Argument::Local { size_bytes, .. } => all.next_multiple_of(LOCAL_ALIGN) + size_bytes,
        _ => all,
    })
}

/// The memory that a task of this command puts into the sequence.
pub(crate) fn memory_of(command: &CommandKind, queue: &Queue) -> Result<Vec<Arc<Allocation>>> {
    let of = |arguments: &[Argument]| {
        arguments.iter().filter_map(Argument::region).map(Region::allocation).cloned().collect()
    };
    if let Some(arguments) = command.plain_arguments() {
        return Ok(of(arguments));
    }
    Ok(match command.form(queue)? {
        Form::Kernel(form) => of(&form.arguments(queue)?),
        Form::Copy { from, to, .. } => vec![Arc::clone(from.allocation()), Arc::clone(to.allocation())],
        Form::Fill { to, .. } => vec![Arc::clone(to.allocation())],
        Form::Nothing | Form::Other(_) => Vec::new(),
    })
}

pub(in crate::graph) fn lost() -> Error {
    Error::invalid("a task that does not fit its interpreter program")
}
