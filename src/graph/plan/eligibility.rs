//! Decides which commands the interpreter can run, and estimates their cost. Pure: numbers in, numbers out.

use oclave_image::passes::interpreter::{ByteBox, InterpreterKernel, InterpreterUnit};

use super::unit::LONGEST_NS;
use crate::program::GroupLimits;

/// The alignment of local memory of any type.
pub(in crate::graph) const LOCAL_ALIGN: usize = 128;
/// Nanoseconds that a task without work is taken to cost, and a step of a work-item. Devices differ
/// by a factor of three or so, and nobody knows how often loops run: where it matters, whole plans
/// are compared ([`plans`](super::planner::plans)).
const TASK_NS: f64 = 20.0;
const STEP_NS: f64 = 0.1;
/// The same on a GPU, where instructions and loads wait for each other: a chain of a thousand took
/// 140 to 150 µs on an H100. A step of a large group is some ten instructions of as many warps.
const GPU_TASK_NS: f64 = 120.0;
const GPU_STEP_NS: f64 = 5.0;
/// Work-items of the largest groups that share a task on a GPU.
const WIDE_GROUP: f64 = 1024.0;

/// Where a node can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum Kind {
    /// Anywhere: it does nothing.
    Nothing,
    /// In a list of any program.
    AnyList,
    /// In a list of this program; by groups of this size, if any.
    Of(u32, Option<[u32; 3]>),
    /// By a launch, a copy … of its own only, for the reason with this number.
    Standalone(u32),
}

/// A node as planning sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::graph) struct Candidate {
    pub(in crate::graph) kind: Kind,
    /// Steps of all work-items.
    pub(in crate::graph) steps: f64,
    /// Whether the steps may be far from the truth.
    pub(in crate::graph) has_loops: bool,
}

impl Candidate {
    pub(in crate::graph) const NOTHING: Self = Self { kind: Kind::Nothing, steps: 0.0, has_loops: false };

    /// A node with a launch of its own, for a reason.
    pub(in crate::graph) fn standalone(reason: u32) -> Self {
        Self { kind: Kind::Standalone(reason), steps: 0.0, has_loops: false }
    }

    /// A kernel of a program over so many work-items, in groups of a size if it needs them.
    pub(in crate::graph) fn kernel(
        program: u32,
        kernel: &InterpreterKernel,
        work_items: f64,
        local: Option<[u32; 3]>,
    ) -> Self {
        let steps = work_items * f64::from(kernel.cost.steps.max(1));
        Self { kind: Kind::Of(program, local), steps, has_loops: kernel.cost.has_loops }
    }

    /// The cost of moving bytes, in elements as wide as `alignment` and the box allow.
    pub(in crate::graph) fn moved(alignment: u64, size: &ByteBox) -> Self {
        let [row_bytes, rows, planes] = size.extent;
        let pitches = size.to_pitch.iter().chain(&size.from_pitch).fold(0, |all, pitch| all | pitch);
        // As the library's own tasks do: 16, 4 or 1 bytes.
        let width = match (alignment | row_bytes | pitches).trailing_zeros() {
            4.. => 16,
            2.. => 4,
            _ => 1,
        };
        let steps = (row_bytes / width * rows * planes) as f64 * 6.0;
        Self { kind: Kind::AnyList, steps, has_loops: false }
    }

    /// The same on a GPU: what a group of [`WIDE_GROUP`] work-items takes, side by side.
    pub(in crate::graph) fn on_gpu(self) -> Self {
        match self.kind {
            Kind::Nothing | Kind::Standalone(_) => self,
            _ => Self { steps: (GPU_TASK_NS + GPU_STEP_NS * self.steps / WIDE_GROUP) / STEP_NS, ..self },
        }
    }

    /// Estimated nanoseconds on one core, from a task list.
    pub(in crate::graph) fn cost_ns(&self) -> f64 {
        match self.kind {
            Kind::Nothing => 0.0,
            _ => TASK_NS + STEP_NS * self.steps,
        }
    }

    /// Whether the node may be in a list of nodes up to a cost.
    ///
    /// No list has a task of 2^32 work-items, however short: the interpreter for GPUs counts in 32
    /// bits.
    pub(in crate::graph) fn is_small(&self, cap_ns: f64) -> bool {
        let cost_ns = self.cost_ns();
        !matches!(self.kind, Kind::Standalone(_)) && cost_ns < LONGEST_NS && cost_ns <= cap_ns
    }
}

/// The size of groups that a kernel needs to be run by the interpreter, if it needs groups.
///
/// # Errors
/// The reason why it cannot be run.
pub(in crate::graph) fn groups_for(
    kernel: &InterpreterKernel,
    limits: &GroupLimits,
    global: [usize; 3],
    local: Option<[usize; 3]>,
    local_bytes: u64,
) -> Result<Option<[u32; 3]>, String> {
    let name = || format!("kernel `{}`", kernel.name);
    let asks = kernel.needs_groups || kernel.unit == InterpreterUnit::Groups;
    let Some(local) = local else {
        return match asks {
            true => Err(format!("{} uses work-groups, and is launched without their size", name())),
            false => Ok(None),
        };
    };
    if !kernel.needs_groups {
        return Ok(None);
    }
    let whole = global.iter().zip(local).all(|(global, local)| global.is_multiple_of(local));
    if !whole {
        return Err(format!("{} shares local memory in work-groups that are not whole", name()));
    }
    if let Some(reason) = limits.refusal(local, local_bytes) {
        return Err(format!("{} has {reason}", name()));
    }
    Ok(Some(local.map(|size| size as u32)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use oclave_image::passes::interpreter::InterpreterCost;

    use super::*;

    const LIMITS: GroupLimits = GroupLimits { most_items: 256, least_width: 2, free_local_bytes: 1024 };

    fn kernel(needs_groups: bool, unit: InterpreterUnit) -> InterpreterKernel {
        InterpreterKernel {
            name: "k".to_owned(),
            arguments: Vec::new(),
            block_bytes: 0,
            block_align: 1,
            unit,
            needs_groups,
            static_local_bytes: 0,
            private_bytes: 0,
            is_straight: false,
            cost: InterpreterCost { steps: 10, has_loops: false },
        }
    }

    #[test]
    fn kernels_that_share_local_memory_need_groups_that_fit() {
        let groups = |global, local, bytes| {
            groups_for(&kernel(true, InterpreterUnit::Groups), &LIMITS, global, local, bytes)
        };
        assert_eq!(groups([64, 1, 1], Some([16, 1, 1]), 64), Ok(Some([16, 1, 1])));
        for (global, local, bytes, reason) in [
            ([64, 1, 1], None, 0, "without their size"),
            ([65, 1, 1], Some([16, 1, 1]), 0, "not whole"),
            ([512, 1, 1], Some([512, 1, 1]), 0, "too many"),
            ([64, 1, 1], Some([16, 1, 1]), 4096, "too many"),
            ([1, 64, 1], Some([1, 16, 1]), 0, "work-group size 1 in dimension 0"),
        ] {
            let told = groups(global, local, bytes).unwrap_err();
            assert!(told.contains(reason), "{told}");
        }
    }

    #[test]
    fn kernels_without_groups_run_in_any() {
        let items = kernel(false, InterpreterUnit::Items);
        assert_eq!(groups_for(&items, &LIMITS, [7, 1, 1], None, 0), Ok(None));
        assert_eq!(groups_for(&items, &LIMITS, [7, 1, 1], Some([3, 1, 1]), 0), Ok(None));
        let candidate = Candidate::kernel(0, &items, 100.0, None);
        assert_eq!((candidate.kind, candidate.steps), (Kind::Of(0, None), 1000.0));
        assert!(candidate.cost_ns() > Candidate::NOTHING.cost_ns());
    }

    #[test]
    fn wide_elements_make_copies_cheap() {
        let wide = Candidate::moved(16, &ByteBox::contiguous(4096));
        let narrow = Candidate::moved(1, &ByteBox::contiguous(4096));
        assert!(narrow.steps > 10.0 * wide.steps);
    }

    #[test]
    fn on_a_gpu_tasks_cost_more_and_work_items_less() {
        let of = |steps| Candidate { kind: Kind::AnyList, steps, has_loops: false };
        assert!(of(10.0).on_gpu().cost_ns() > 5.0 * of(10.0).cost_ns());
        assert!(of(1e6).on_gpu().cost_ns() < of(1e6).cost_ns() / 10.0);
        assert_eq!(Candidate::NOTHING.on_gpu(), Candidate::NOTHING);
    }
}
