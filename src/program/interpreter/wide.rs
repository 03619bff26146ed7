//! Launches of the interpreter for devices with wide groups: how large groups and teams are.

use oclave_image::passes::interpreter::{InterpreterKernel, InterpreterLayout, LocalCopy};

use super::{Load, Segment, Shape};

/// Work-items of the smallest team: those of a sub-group.
const NARROWEST_TEAM: usize = 32;
/// Work-items of the smallest group: they copy tasks to local memory, one each.
const FEWEST_ITEMS: usize = 128;
/// Work-items of the team that runs a chain by itself. On an H100 a thousand tasks of 1024
/// work-items took 225 µs with teams of 512, 267 µs with 1024 and 260 µs with 256.
const WIDEST_ALONE: usize = 512;
/// Those of teams of several groups: 17 µs with 256 and 19 to 20 µs with more.
const WIDEST_AMONG_GROUPS: usize = 256;
/// Work-items of the largest group.
const MOST_ITEMS: usize = 1024;
/// Where a core runs the work-items of a group in turn, large groups only cost time.
const MOST_ITEMS_ON_CPU: usize = 64;
/// Tasks of the largest block.
const MOST_BLOCK: usize = 64;
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
    (most_block(local_memory_bytes) * LocalCopy::BYTES) as u64
}

fn most_block(local_memory_bytes: u64) -> usize {
    let room = (local_memory_bytes / COPY_PART) as usize / LocalCopy::BYTES;
    (room.min(MOST_BLOCK) / LocalCopy::BLOCK).max(1) * LocalCopy::BLOCK
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
        (self.most_block * LocalCopy::BYTES) as u64
    }

    /// How to run tasks that need no groups of a certain size.
    pub(super) fn shape(&self, load: &Load) -> Shape {
        let mean = load.items / load.tasks.max(1) as f64;
        let width = (mean.ceil() as usize).clamp(1, MOST_ITEMS).next_power_of_two();
        let width = match (load.groups, load.widest) {
            (0 | 1, 0 | 1) => width.min(WIDEST_ALONE),
            // Teams of a quarter leave room for others, and save work-items that do nothing.
            (0 | 1, widest) => {
                width.min((MOST_ITEMS / widest.min(MOST_ITEMS).next_power_of_two()).max(width / 4))
            }
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

    fn shape(items: f64, widest: usize) -> (usize, usize) {
        let load = Load { local: None, tasks: 10, items: items * 10.0, steps: 0.0, groups: 1, widest };
        match H100.shape(&load) {
            Shape::Teams { items, width } => (items, width),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn teams_are_as_large_as_tasks_and_as_many_as_a_level_has() {
        let alone = [0.0, 1.0, 64.0, 65.0, 900.0, 1e9].map(|items| shape(items, 1));
        assert_eq!(alone, [(128, 32), (128, 32), (128, 64), (128, 128), (512, 512), (512, 512)]);
        let levels_of_ten = [1.0, 64.0, 256.0, 1024.0].map(|items| shape(items, 10));
        assert_eq!(levels_of_ten, [(512, 32), (1024, 64), (1024, 64), (1024, 256)]);
        assert_eq!([2, 4, 1000].map(|widest| shape(1.0, widest)), [(128, 32), (128, 32), (1024, 32)]);
    }

    #[test]
    fn programs_without_teams_have_groups_of_one_task() {
        let load = Load { local: None, tasks: 1, items: 64.0, steps: 0.0, groups: 1, widest: 10 };
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
        assert_eq!(copy_bytes(48 << 10), 64 * 208);
    }
}
