//! The work-item: its place in the range.

/// A work-item of a range of `D` dimensions, 1 to 3.
///
/// | here | OpenCL C |
/// |---|---|
/// | [`global_id`](Self::global_id), [`global_size`](Self::global_size) | `get_global_id`, `get_global_size` |
/// | [`local_id`](Self::local_id), [`local_size`](Self::local_size) | `get_local_id`, `get_local_size` |
/// | [`group_id`](Self::group_id), [`group_count`](Self::group_count) | `get_group_id`, `get_num_groups` |
/// | [`barrier`](Self::barrier) | `barrier(CLK_LOCAL_MEM_FENCE \| CLK_GLOBAL_MEM_FENCE)` |
#[derive(Debug, Clone, Copy)]
pub struct Item<const D: usize> {
    pub(crate) global_id: [usize; 3],
    pub(crate) global_size: [usize; 3],
    pub(crate) local_id: [usize; 3],
    pub(crate) local_size: [usize; 3],
    pub(crate) group_id: [usize; 3],
    pub(crate) group_count: [usize; 3],
    #[cfg(not(oclave_device))]
    pub(crate) barrier: Option<&'static std::sync::Barrier>,
}

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

impl<const D: usize> Item<D> {
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
    /// check it: where some do not, the launch may never end. It does not touch other memory.
    #[inline(always)]
    pub fn barrier(&self) {
        #[cfg(oclave_device)]
        crate::parameter::device::barrier();
        #[cfg(not(oclave_device))]
        if let Some(barrier) = self.barrier {
            barrier.wait();
        }
    }
}
