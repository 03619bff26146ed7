//! The work-item: its place in the range.

use core::marker::PhantomData;

use crate::{Data, Local, SubGroup, WorkGroup};

/// A work-item of a range of `D` dimensions, 1 to 3.
///
/// A launch over a range of more dimensions is refused, unless the range has one work-item in each of the others.
///
/// | here | OpenCL C |
/// |---|---|
/// | [`global_id`](Self::global_id), [`global_size`](Self::global_size) | `get_global_id`, `get_global_size` |
/// | [`local_id`](Self::local_id), [`local_size`](Self::local_size) | `get_local_id`, `get_local_size` |
/// | [`group_id`](Self::group_id), [`group_count`](Self::group_count) | `get_group_id`, `get_num_groups` |
/// | [`barrier`](Self::barrier) | `barrier(CLK_LOCAL_MEM_FENCE \| CLK_GLOBAL_MEM_FENCE)` |
/// | [`local_barrier`](Self::local_barrier), [`global_barrier`](Self::global_barrier) | `barrier` with one of the flags |
/// | [`work_group`](Self::work_group), [`sub_group`](Self::sub_group) | `work_group_…`, `sub_group_…` |
/// | [`local_array`](Self::local_array) | an array in `local` memory |
#[derive(Debug, Clone, Copy)]
pub struct Item<'a, const D: usize> {
    pub(crate) global_id: [usize; 3],
    pub(crate) global_size: [usize; 3],
    pub(crate) local_id: [usize; 3],
    pub(crate) local_size: [usize; 3],
    pub(crate) group_id: [usize; 3],
    pub(crate) group_count: [usize; 3],
    #[cfg(oclave_device)]
    pub(crate) group: PhantomData<&'a ()>,
    #[cfg(not(oclave_device))]
    pub(crate) group: Option<&'a crate::host::HostGroup>,
}

/// Kinds of memory that a barrier orders, as the semantics of SPIR-V have them.
pub(crate) const LOCAL: u32 = 0x100;
pub(crate) const GLOBAL: u32 = 0x200;

/// The first `D` of three.
#[inline(always)]
const fn first<const D: usize>(all: [usize; 3]) -> [usize; D] {
    const { assert!(1 <= D && D <= 3, "a range has 1 to 3 dimensions") };
    let mut some = [0; D];
    let mut axis = 0;
    while axis < D {
        some[axis] = all[axis];
        axis += 1;
    }
    some
}

impl<'a, const D: usize> Item<'a, D> {
    /// The place in the range, the range's offset included.
    #[inline(always)]
    pub const fn global_id(&self) -> [usize; D] {
        first(self.global_id)
    }

    /// Work-items of the range.
    #[inline(always)]
    pub const fn global_size(&self) -> [usize; D] {
        first(self.global_size)
    }

    /// The place in the work-group.
    #[inline(always)]
    pub const fn local_id(&self) -> [usize; D] {
        first(self.local_id)
    }

    /// Work-items of the work-group.
    #[inline(always)]
    pub const fn local_size(&self) -> [usize; D] {
        first(self.local_size)
    }

    /// The place of the work-group among the work-groups.
    #[inline(always)]
    pub const fn group_id(&self) -> [usize; D] {
        first(self.group_id)
    }

    /// Work-groups of the range.
    #[inline(always)]
    pub const fn group_count(&self) -> [usize; D] {
        first(self.group_count)
    }

    /// Waits for all work-items of the work-group. What they wrote to local and global memory before
    /// is seen after it.
    ///
    /// All work-items of a work-group must get to the same barrier, or none. The library does not
    /// check it: where some do not, the launch may never end. A function that waits is
    /// `#[inline(always)]`, so that it is part of the kernel.
    #[inline(always)]
    pub fn barrier(&self) {
        self.wait(LOCAL | GLOBAL);
    }

    /// A [barrier](Self::barrier) after which only what was written to local memory is seen.
    #[inline(always)]
    pub fn local_barrier(&self) {
        self.wait(LOCAL);
    }

    /// A [barrier](Self::barrier) after which only what was written to global memory is seen.
    #[inline(always)]
    pub fn global_barrier(&self) {
        self.wait(GLOBAL);
    }

    #[inline(always)]
    fn wait(&self, memory: u32) {
        #[cfg(oclave_device)]
        {
            crate::parameter::device::keep_whole();
            crate::parameter::device::barrier(2, memory);
        }
        #[cfg(not(oclave_device))]
        {
            let _ = memory;
            if let Some(group) = self.group {
                group.wait();
            }
        }
    }

    /// The functions in which all work-items of the work-group take part.
    #[inline(always)]
    pub const fn work_group(&self) -> WorkGroup<'a, D> {
        WorkGroup { item: *self }
    }

    /// The functions in which all work-items of the sub-group take part. The device must have
    /// sub-groups.
    #[inline(always)]
    pub const fn sub_group(&self) -> SubGroup<'a, D> {
        SubGroup { item: *self }
    }

    /// An array in local memory, which the work-group has in common. Each place in the source where this
    /// is called is one array. It begins with any values.
    ///
    /// ```
    /// # use oclave_kernel::{Item, Out, kernel};
    /// /// Reverses each work-group's elements.
    /// #[kernel(work_group = [64, 1, 1])]
    /// pub fn reverse(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    ///     let tile = item.local_array::<u32, 64>();
    ///     let [me] = item.local_id();
    ///     tile.set(me, x[item.global_id()[0]]);
    ///     item.local_barrier();
    ///     *out = tile.get(63 - me);
    /// }
    /// ```
    #[inline(always)]
    #[cfg_attr(not(oclave_device), track_caller)]
    pub fn local_array<T: Data, const N: usize>(&self) -> Local<'a, T> {
        const { assert!(align_of::<T>() <= 8, "local arrays are aligned to 8 bytes") };
        // An array that is too large is an error of the build.
        let size = const { size_of::<[T; N]>() };
        #[cfg(oclave_device)]
        let first = crate::parameter::device::local_memory(size as u64).cast();
        #[cfg(not(oclave_device))]
        let first = crate::host::local_array(self.group, size).cast();
        Local { first, len: N, of: PhantomData }
    }
}

#[cfg(not(oclave_device))]
impl<const D: usize> Item<'_, D> {
    /// The number of the work-item in its work-group.
    pub(crate) fn number_in_group(&self) -> usize {
        self.number_of(self.local_id)
    }

    /// The number of the work-item with a local id.
    pub(crate) fn number_of(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.local_size[1] + y) * self.local_size[0] + x
    }

    /// What all work-items of the group give, in the order of their numbers.
    pub(crate) fn exchange(&self, value: u64) -> std::vec::Vec<u64> {
        match self.group {
            Some(group) => group.exchange(self.number_in_group(), value),
            None => std::vec![value],
        }
    }
}
