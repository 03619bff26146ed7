//! Launches of the interpreter for devices with wide groups: how large groups and teams are.

use oclave_image::passes::interpreter::{InterpreterKernel, InterpreterLayout, LocalCopy};

use super::{Load, Segment, Shape};

/// Work-items of the smallest team: those of a sub-group.
const NARROWEST_TEAM: usize = 32;
/// Work-items of the smallest group: they copy tasks to local memory, one each.
const FEWEST_ITEMS: usize = 128;
/// Work-items of the team that runs a chain by itself. On an H100 a thousand tasks of 1024
/// work-items took 201 µs with teams of 512, 232 µs with 1024 and 246 µs with 256.
const WIDEST_ALONE: usize = 512;
/// The same where work-items run several of a task's at once: 182 µs with 256, 217 µs with 512 and
/// 226 µs with 128.
const WIDEST_ABREAST: usize = 256;
/// Those of teams of several groups: 17 µs with 256 and 19 to 20 µs with more.
const WIDEST_AMONG_GROUPS: usize = 256;
/// Work-items of the largest group.
const MOST_ITEMS: usize = 1024;
/// Where a core runs the work-items of a group in turn, large groups only cost time.
const MOST_ITEMS_ON_CPU: usize = 64;
/// Tasks of the largest block.
const MOST_BLOCK: usize = 64;
/// Teams of the largest group.
const MOST_TEAMS: usize = MOST_ITEMS / NARROWEST_TEAM;
/// The part of the local memory that copies of tasks may take.
const COPY_PART: u64 = 2;

/// How an interpreter program runs tasks in wide groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WideGroups {
    most_items: usize,
    /// Tasks that are copied at once.
    most_block: usize,
    /// Whether teams may run tasks side by side.
    has_teams: bool,
}

/// Bytes of local memory that copies of tasks take, of all that the device has.
pub(crate) fn copy_bytes(local_memory_bytes: u64) -> u64 {
    bytes_of_block(most_block(local_memory_bytes), MOST_TEAMS) as u64
}

/// Bytes of the copies of a block. Teams without a task look at what is behind the last copy.
fn bytes_of_block(block: usize, teams: usize) -> usize {
    (block + teams) * LocalCopy::BYTES
}

fn most_block(local_memory_bytes: u64) -> usize {
    let room = (local_memory_bytes / COPY_PART) as usize / LocalCopy::BYTES;
    (room.min(MOST_BLOCK) / LocalCopy::BLOCK).max(1) * LocalCopy::BLOCK
}

/// A list with jumps, as far as its group depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowLoad {
    /// Tasks of kernels, and work-items of all of them together.
    pub(crate) tasks: usize,
    pub(crate) items: f64,
    pub(crate) is_straight: bool,
    /// All tasks, those that jump included.
    pub(crate) list: usize,
}

/// The group that runs a list with jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowGroup {
    /// Work-items.
    pub(crate) items: usize,
    /// Tasks that are copied at once; 0: none, one work-item runs all.
    pub(crate) block: usize,
}

impl FlowGroup {
    /// One work-item, which copies nothing.
    pub(super) const ONE: Self = Self { items: 1, block: 0 };

    /// Local memory of a launch.
    pub(super) fn local_bytes(self) -> usize {
        LocalCopy::FLOW_BYTES + (self.block + 1) * LocalCopy::BYTES
    }
}

impl WideGroups {
    /// For a program whose groups have at most so many work-items.
    pub(super) fn new(layout: &InterpreterLayout, is_gpu: bool, most_items: usize, local_bytes: u64) -> Self {
        let most = if is_gpu { MOST_ITEMS } else { MOST_ITEMS_ON_CPU };
        // Compilers for CPUs take it that all work-items come to a barrier equally often, those
        // that no task of the launch has, too.
        let has_barriers = |kernel: &InterpreterKernel| kernel.needs_groups;
        Self {
            most_items: 1 << most_items.clamp(1, most).ilog2(),
            most_block: most_block(local_bytes),
            has_teams: is_gpu || !layout.kernels().iter().any(has_barriers),
        }
    }

    #[cfg(test)]
    pub(super) fn has_teams(&self) -> bool {
        self.has_teams
    }

    /// Local memory that the copies of the largest block take.
    pub(super) fn local_bytes(&self) -> u64 {
        bytes_of_block(self.most_block, MOST_TEAMS) as u64
    }

    /// How to run tasks that need no groups of a certain size.
    pub(super) fn shape(&self, load: &Load) -> Shape {
        let mean = load.items / load.tasks.max(1) as f64;
        let width = (mean.ceil() as usize).clamp(1, MOST_ITEMS).next_power_of_two();
        let width = match (load.groups, load.widest) {
            (0 | 1, 0 | 1) if load.is_straight => width.min(WIDEST_ABREAST),
            (0 | 1, 0 | 1) => width.min(WIDEST_ALONE),
            // A team for each task of a level. Layers of ten tasks of 1024 work-items took 111 µs
            // with teams of 64, 128 µs with 128 and 140 µs with 256.
            (0 | 1, widest) => width.min(MOST_ITEMS / widest.min(MOST_ITEMS).next_power_of_two()),
            _ => width.min(WIDEST_AMONG_GROUPS),
        };
        let width = width.max(NARROWEST_TEAM).min(self.most_items);
        if !self.has_teams {
            return Shape::Teams { items: width, width };
        }
        let teams = (self.most_items / width).min(load.widest).max(1).next_power_of_two();
        let items = (width * teams).max(FEWEST_ITEMS).min(self.most_items);
        Shape::Teams { items, width }
    }

    /// How the kernel with jumps runs a list. `free_local_bytes` is what kernels leave of the local memory.
    pub(super) fn flow(&self, load: &FlowLoad, free_local_bytes: u64) -> FlowGroup {
        let mean = load.items / load.tasks.max(1) as f64;
        let most = if load.is_straight { WIDEST_ABREAST } else { WIDEST_ALONE };
        let items = (mean.ceil() as usize).clamp(1, most).next_power_of_two();
        let items = items.max(NARROWEST_TEAM).min(self.most_items);
        // One more is read, and not run.
        let room = (free_local_bytes as usize).saturating_sub(LocalCopy::FLOW_BYTES) / LocalCopy::BYTES;
        FlowGroup { items, block: load.list.min(room.saturating_sub(1)).max(1) }
    }

    /// Local memory of a launch: the copies of its block, and behind them what the arguments of its
    /// tasks point to.
    pub(super) fn launch_bytes(&self, segment: &Segment) -> usize {
        let block = self.block(segment);
        let arguments = block * LocalCopy::BYTES + segment.local_bytes;
        arguments.max(bytes_of_block(block, segment.shape.teams()))
    }

    /// How many tasks a launch copies at once: no more than a group has.
    pub(super) fn block(&self, segment: &Segment) -> usize {
        let own = segment.count.div_ceil(segment.groups.max(1) as u64);
        let own = usize::try_from(own).unwrap_or(usize::MAX).min(self.most_block);
        own.next_multiple_of(LocalCopy::BLOCK).max(LocalCopy::BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: WideGroups = WideGroups { most_items: 1024, most_block: 64, has_teams: true };

    fn load(items: f64, widest: usize) -> Load {
        Load {
            local: None,
            tasks: 10,
            items: items * 10.0,
            steps: 0.0,
            is_straight: false,
            groups: 1,
            widest,
        }
    }

    fn shape(load: &Load) -> (usize, usize) {
        match H100.shape(load) {
            Shape::Teams { items, width } => (items, width),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn teams_are_as_large_as_tasks_and_as_many_as_a_level_has() {
        let alone = [0.0, 1.0, 64.0, 65.0, 900.0, 1e9].map(|items| shape(&load(items, 1)));
        assert_eq!(alone, [(128, 32), (128, 32), (128, 64), (128, 128), (512, 512), (512, 512)]);
        let levels_of_ten = [1.0, 64.0, 256.0, 1024.0].map(|items| shape(&load(items, 10)));
        assert_eq!(levels_of_ten, [(512, 32), (1024, 64), (1024, 64), (1024, 64)]);
        let straight = |items| Load { is_straight: true, ..load(items, 1) };
        assert_eq!([1.0, 900.0].map(|items| shape(&straight(items))), [(128, 32), (256, 256)]);
        assert_eq!([2, 4, 1000].map(|widest| shape(&load(1.0, widest))), [(128, 32), (128, 32), (1024, 32)]);
    }

    #[test]
    fn groups_of_lists_with_jumps_are_as_large_as_tasks_and_copy_the_whole_list_if_it_fits() {
        let of = |items: f64, list: usize| {
            let load = FlowLoad { tasks: 10, items: items * 10.0, is_straight: false, list };
            H100.flow(&load, 48 << 10)
        };
        assert_eq!(of(1.0, 12), FlowGroup { items: 32, block: 12 });
        assert_eq!(of(100.0, 120), FlowGroup { items: 128, block: 120 });
        let most = of(1e9, 1000);
        assert_eq!(most.items, 512);
        assert!(most.block < 1000 && most.local_bytes() <= 48 << 10, "{most:?}");
        assert_eq!(H100.flow(&FlowLoad { tasks: 0, items: 0.0, is_straight: true, list: 3 }, 0).block, 1);
    }

    #[test]
    fn programs_without_teams_have_groups_of_one_task() {
        let load = load(64.0, 10);
        let wide = WideGroups { has_teams: false, ..H100 };
        assert_eq!(wide.shape(&load), Shape::Teams { items: 64, width: 64 });
    }

    #[test]
    fn blocks_are_no_larger_than_what_a_group_has_and_leave_half_the_local_memory() {
        let of = |count, groups| {
            H100.block(&Segment { first: 0, count, groups, shape: Shape::Seq, local_bytes: 0 })
        };
        assert_eq!([of(1, 1), of(9, 1), of(1000, 1), of(1000, 500)], [8, 16, 64, 8]);
        assert_eq!([48 << 10, 16 << 10, 0].map(most_block), [64, 32, 8]);
        assert_eq!(copy_bytes(48 << 10), (64 + 32) * 208);
    }

    #[test]
    fn there_is_local_memory_behind_the_copies_for_each_team() {
        let bytes = |shape, local_bytes| {
            H100.launch_bytes(&Segment { first: 0, count: 1000, groups: 1, shape, local_bytes })
        };
        let teams = Shape::Teams { items: 1024, width: 64 };
        assert_eq!([bytes(teams, 0), bytes(teams, 8192)], [(64 + 16) * 208, 64 * 208 + 8192]);
        assert_eq!(bytes(Shape::Wi([64, 1, 1]), 0), (64 + 1) * 208);
    }
}
