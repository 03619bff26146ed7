//! What the host must know of an interpreter module: which number a kernel has, and the
//! memory layout of tasks and arguments.

use std::collections::HashMap;

/// An interpreter module as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InterpreterLayout {
    pub(super) kernels: Vec<InterpreterKernel>,
    /// Kernel → its number.
    pub(super) by_name: HashMap<String, u32>,
    pub(super) excluded: Vec<ExcludedKernel>,
    /// The number of the first of the library's own tasks; they follow the kernels.
    pub(super) own_tasks: u32,
    /// The number of the first task that jumps, in a module that has such.
    pub(super) flow_tasks: Option<u32>,
}

impl InterpreterLayout {
    /// The kernels in the order of their numbers, the library's own tasks (copies, fills) behind
    /// those of the module.
    pub fn kernels(&self) -> &[InterpreterKernel] {
        &self.kernels
    }

    /// The number of a kernel of the module, which [`TaskRecord::kernel`] takes.
    pub fn kernel_index(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// A kernel, or one of the library's own tasks, by its number.
    pub fn kernel(&self, index: u32) -> Option<&InterpreterKernel> {
        self.kernels.get(usize::try_from(index).ok()?)
    }

    /// The kernels that only ordinary launches can run.
    pub fn excluded(&self) -> &[ExcludedKernel] {
        &self.excluded
    }

    /// Why a kernel is not in the interpreter module, if it is one of the excluded.
    pub fn why_excluded(&self, name: &str) -> Option<&str> {
        self.excluded.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.reason.as_str())
    }

    /// How many of [`kernels`](Self::kernels) are the module's own.
    pub fn module_kernels(&self) -> usize {
        self.own_tasks as usize
    }
}

/// A kernel that is not in an interpreter module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedKernel {
    /// Its name.
    pub name: String,
    /// Why, for people: "it uses sub-groups (OpGroupNonUniformFAdd)".
    pub reason: String,
}

/// A kernel in an interpreter module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterpreterKernel {
    /// The entry point's name; of the library's own tasks, what they do (`copy 4`).
    pub name: String,
    /// The arguments in order, hidden ones included.
    pub arguments: Vec<InterpreterArgument>,
    /// Size of the argument block in bytes, a multiple of its alignment.
    pub block_bytes: u32,
    /// Alignment of the argument block in bytes, at least 8.
    pub block_align: u32,
    /// What the loops of a task count.
    pub unit: InterpreterUnit,
    /// Whether work-items of a group depend on each other: the kernel has barriers or local memory.
    /// Its tasks run in `wi` launches of exactly their local size only, and their groups must be
    /// whole ones.
    pub needs_groups: bool,
    /// Bytes of the kernel's own local memory (variables, not arguments).
    pub static_local_bytes: u64,
    /// Bytes that the kernel's variables take for each work-item, and structs that it is given by
    /// value.
    pub private_bytes: u64,
    /// Whether a work-item for GPUs runs several of the kernel's at once: it is small, and has no
    /// branches.
    pub is_straight: bool,
    /// What one work-item costs.
    pub cost: InterpreterCost,
}

/// An argument in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterpreterArgument {
    /// Offset from the start of the block.
    pub offset_bytes: u32,
    /// What stands there.
    pub kind: InterpreterArgumentKind,
}

/// What a block holds for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpreterArgumentKind {
    /// The value: so many bytes, as `clSetKernelArg` takes them.
    Value {
        /// How many.
        size_bytes: u32,
    },
    /// An address of 8 bytes; 0 is null.
    Pointer,
    /// The offset of the argument's local memory in that of the launch, 8 bytes; aligned to 128 it
    /// suits any type.
    Local,
}

impl InterpreterArgumentKind {
    /// Bytes in the block.
    pub fn size_bytes(self) -> u32 {
        match self {
            Self::Value { size_bytes } => size_bytes,
            Self::Pointer | Self::Local => 8,
        }
    }
}

/// What a task's loops count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpreterUnit {
    /// Work-items: the kernel does not ask for its work-group.
    Items,
    /// Work-groups.
    Groups,
}

/// A static estimate of what one work-item costs on one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterpreterCost {
    /// Simple instructions, others by their weight, those in loops as if each loop ran
    /// [`Self::LOOP_TRIPS`] times.
    pub steps: u32,
    /// Whether the number of steps depends on data: there are loops.
    pub has_loops: bool,
}

impl InterpreterCost {
    /// How often a loop is taken to run.
    pub const LOOP_TRIPS: u64 = 8;
}

/// One task: a kernel over an index space. It takes 128 bytes of device memory. Kernels that do not
/// ask for their work-group read the first 64 only, one line of the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskRecord {
    /// The kernel's number; one that is not in the layout does nothing.
    pub kernel: u32,
    /// Dimensions of the index space, 1 to 3.
    pub dimensions: u32,
    /// Where the argument block begins, in bytes from the beginning of the list: a list with its
    /// blocks may lie anywhere.
    pub arguments: u64,
    /// Work-items per dimension, 1 for those that the index space does not have.
    pub global_size: [u64; 3],
    /// Where global ids start.
    pub global_offset: [u64; 3],
    /// Work-items of a full group per dimension; 1 at least.
    pub local_size: [u64; 3],
    /// Groups per dimension, partial ones included.
    pub groups: [u64; 3],
    /// From this task on, itself included, so many tasks of its group do not depend on each other.
    /// Only kernels for GPUs look at it ([`DeviceTarget::wide_groups`](crate::DeviceTarget::wide_groups)).
    pub level: u32,
}

/// The copy of a task in local memory, which kernels for GPUs make: its record, the begin of its
/// arguments, and what is calculated once.
#[derive(Debug, Clone, Copy)]
pub struct LocalCopy;

impl LocalCopy {
    /// Words of 64 bits.
    pub const WORDS: usize = TaskRecord::WORDS + Self::READ_BYTES / 8 + 2;
    /// Bytes.
    pub const BYTES: usize = Self::WORDS * 8;
    /// What the number of tasks in a block must be a multiple of, so that what comes after the
    /// copies is aligned to 128 bytes.
    pub const BLOCK: usize = 8;
    /// Bytes that are read from where the arguments of a task begin, however many it has.
    pub const READ_BYTES: usize = 64;
    /// Bytes of local memory before the copies of the kernel with jumps.
    pub const FLOW_BYTES: usize = 32;
}

/// Fields of a record by their place, in words of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Kernel = 0,
    Arguments = 1,
    GlobalSize = 2,
    GlobalOffset = 5,
    LocalSize = 8,
    Groups = 11,
    Dimensions = 14,
}

impl TaskRecord {
    /// Words of 64 bits.
    pub const WORDS: usize = 16;
    /// Bytes.
    pub const BYTES: usize = Self::WORDS * 8;
    /// Where the level stands, in bytes.
    pub const LEVEL_AT: usize = 4;

    /// The task of a kernel with this number.
    pub fn new(
        kernel: u32,
        arguments: u64,
        dimensions: u32,
        global_size: [u64; 3],
        global_offset: [u64; 3],
        local_size: [u64; 3],
    ) -> Self {
        let local_size = local_size.map(|size| size.max(1));
        let mut groups = global_size;
        for (groups, local) in groups.iter_mut().zip(local_size) {
            *groups = groups.div_ceil(local);
        }
        Self { kernel, dimensions, arguments, global_size, global_offset, local_size, groups, level: 1 }
    }

    /// The bytes of the record in device memory.
    pub fn to_words(&self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        let mut put = |field: Field, values: &[u64]| {
            for (word, value) in words.iter_mut().skip(field as usize).zip(values) {
                *word = *value;
            }
        };
        put(Field::Kernel, &[u64::from(self.kernel) | u64::from(self.level) << 32]);
        put(Field::Arguments, &[self.arguments]);
        put(Field::Dimensions, &[self.dimensions.into()]);
        put(Field::GlobalSize, &self.global_size);
        put(Field::GlobalOffset, &self.global_offset);
        put(Field::LocalSize, &self.local_size);
        put(Field::Groups, &self.groups);
        words
    }
}

/// An argument block that is being filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Block {
    end: u32,
    align: u32,
}

impl Block {
    /// Makes room; `None` where the block becomes larger than can be.
    pub(super) fn place(&mut self, size_bytes: u32, align: u32) -> Option<u32> {
        let align = align.max(1);
        let offset = self.end.checked_next_multiple_of(align)?;
        self.end = offset.checked_add(size_bytes).filter(|end| *end < 1 << 30)?;
        self.align = self.align.max(align);
        Some(offset)
    }

    /// Size and alignment.
    pub(super) fn finish(&self) -> (u32, u32) {
        let align = self.align.max(8);
        (self.end.next_multiple_of(align), align)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn records_have_their_fields_where_the_device_looks() {
        let record = TaskRecord {
            kernel: 1,
            dimensions: 2,
            arguments: 3,
            global_size: [4, 5, 6],
            global_offset: [7, 8, 9],
            local_size: [10, 11, 12],
            groups: [13, 14, 15],
            level: 16,
        };
        let words = record.to_words();
        assert_eq!(words, [1 | 16 << 32, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2, 0]);
        assert_eq!(words.len() * 8, TaskRecord::BYTES);
    }

    #[test]
    fn blocks_align_what_they_hold() {
        let mut block = Block::default();
        assert_eq!([block.place(1, 1), block.place(8, 8), block.place(2, 2)], [Some(0), Some(8), Some(16)]);
        assert_eq!(block.finish(), (24, 8));
        assert_eq!(block.place(16, 16), Some(32));
        assert_eq!(block.finish(), (48, 16));
        assert_eq!(block.place(u32::MAX, 1), None);
    }
}
