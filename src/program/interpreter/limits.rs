//! Which work-groups an interpreter program can run.

/// Plain numbers, for planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupLimits {
    /// Work-items of the largest group.
    pub(crate) most_items: usize,
    /// Work-items of a group in the first dimension, from which on the device runs lists of groups
    /// rightly.
    pub(crate) least_width: usize,
    /// Local memory that variables of the kernels leave.
    pub(crate) free_local_bytes: u64,
}

impl GroupLimits {
    /// Why groups of this size with so much local memory for their arguments are not run, if they
    /// are not.
    pub(crate) fn refusal(&self, local: [usize; 3], local_bytes: u64) -> Option<String> {
        let [width, ..] = local;
        let work_items: usize = local.iter().product();
        if width < self.least_width {
            return Some(
                "work-group size 1 in dimension 0, which triggers a fault of the driver (Q12)".to_owned(),
            );
        }
        let takes = work_items <= self.most_items && local_bytes <= self.free_local_bytes;
        (!takes).then(|| {
            format!(
                "{work_items} work-items in a group and {local_bytes} bytes of local memory, too many for the interpreter program, which takes {} and {}",
                self.most_items, self.free_local_bytes
            )
        })
    }
}
