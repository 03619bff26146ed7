//! The loops over the index space of one task.

use super::builtins::{Builtin, Component};
use super::emit::Loop;
use super::kernels::{Case, Task, Writer};
use super::layout::{Field, InterpreterUnit};
use oclave_spirv::Op;

/// What a task says of its index space, three ids each; zeroes for what its kernel does not need.
#[derive(Default, Clone, Copy)]
pub(super) struct Space {
    dimensions: u32,
    pub(super) size: [u32; 3],
    offset: [u32; 3],
    local: [u32; 3],
    groups: [u32; 3],
}

/// Where a work-item is; zeroes for what its kernel does not need.
#[derive(Default, Clone, Copy)]
pub(super) struct Position {
    /// In the index space, from 0.
    pub(super) item: [u32; 3],
    pub(super) group: [u32; 3],
    pub(super) group_size: [u32; 3],
    pub(super) local: [u32; 3],
}

impl Writer<'_, '_> {
    /// Calls the function of a case for all work-items of a task.
    pub(super) fn index_space(&mut self, case: &Case, task: Task, arguments: &[u32]) {
        let space = self.space(case, task);
        let mut position = Position::default();
        match (case.unit, case.needs_groups) {
            (InterpreterUnit::Items, _) if self.narrow.is_some() => {
                self.items_as_one_row(case, task, arguments, &space);
            }
            (InterpreterUnit::Items, _) => {
                let outer = self.outer(space.size, &mut position.item);
                if case.in_parts && self.lanes.is_none() {
                    self.row_in_parts(case, arguments, &space, &mut position);
                } else {
                    self.items_of_row(case, arguments, &space, &mut position);
                }
                self.close(outer);
            }
            (InterpreterUnit::Groups, groups) => {
                let outer = self.outer(space.groups, &mut position.group);
                let row = self.count(space.groups[0]);
                position.group[0] = row.index;
                if groups {
                    self.whole_group(case, arguments, &space, &mut position);
                } else {
                    self.items_of_group(case, arguments, &space, &mut position);
                }
                self.body.end_loop(&row);
                self.close(outer);
            }
        }
    }

    fn items_of_row(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &mut Position) {
        let row = self.row(space.size[0]);
        position.item[0] = row.1;
        self.call(case, arguments, space, position);
        self.body.end_loop(&row.0);
    }

    /// A row whose global ids begin at 0, as they mostly do, in three parts: its first item, those
    /// between, and its last one. Stencils compare their global id with 0 and with the global size.
    /// For the items in between, compilers know the answers. So they vectorise code that they would
    /// not vectorise otherwise.
    fn row_in_parts(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &mut Position) {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let [elsewhere, done] = [(); 2].map(|()| self.body.new.fresh_id());
        let from_zero = self.body.equal(space.offset[0], zero);
        self.body.branch_unless(from_zero, elsewhere);
        let [_, y, z] = space.offset;
        let known = Space { offset: [zero, y, z], ..*space };
        let mut part = |writer: &mut Self, item: u32| {
            position.item[0] = item;
            writer.call(case, arguments, &known, position);
        };
        let any = self.body.less(zero, space.size[0]);
        self.body.branch_unless(any, done);
        part(self, zero);
        let between = self.body.begin_loop_before_last(one, space.size[0]);
        part(self, between.index);
        self.body.end_loop(&between);
        let more = self.body.less(one, space.size[0]);
        self.body.branch_unless(more, done);
        let last = self.body.arithmetic(Op::ISub, space.size[0], one);
        part(self, last);
        self.body.branch(done);
        self.body.label(elsewhere);
        self.items_of_row(case, arguments, space, position);
        self.body.branch(done);
        self.body.label(done);
    }

    /// Loops over slices and rows.
    fn outer(&mut self, end: [u32; 3], index: &mut [u32; 3]) -> [Loop; 2] {
        let slices = self.count(end[2]);
        let rows = self.count(end[1]);
        (index[2], index[1]) = (slices.index, rows.index);
        [slices, rows]
    }

    /// A loop from 0 to `end`.
    pub(super) fn count(&mut self, end: u32) -> Loop {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        self.body.begin_loop(zero, end, one)
    }

    fn close(&mut self, [slices, rows]: [Loop; 2]) {
        self.body.end_loop(&rows);
        self.body.end_loop(&slices);
    }

    /// A loop over a row, and the item that it is at. In `wi` the work-items take turns; those
    /// beyond the end skip the rest.
    fn row(&mut self, end: u32) -> (Loop, u32) {
        match self.lanes {
            None => {
                let row = self.count(end);
                let item = row.index;
                (row, item)
            }
            Some(lanes) => {
                let zero = self.body.constant(0);
                let row = self.body.begin_loop(zero, end, lanes.count);
                let item = self.body.add(row.index, lanes.index);
                let within = self.body.less(item, end);
                self.body.branch_unless(within, row.latch());
                (row, item)
            }
        }
    }

    /// The work-items of a group that do not depend on each other.
    fn items_of_group(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &mut Position) {
        let base = self.group_size(space, position);
        let outer = self.outer(position.group_size, &mut position.local);
        let row = self.row(position.group_size[0]);
        position.local[0] = row.1;
        for (item, (base, local)) in position.item.iter_mut().zip(base.into_iter().zip(position.local)) {
            *item = self.body.add(base, local);
        }
        self.call(case, arguments, space, position);
        self.body.end_loop(&row.0);
        self.close(outer);
    }

    /// The work-items of a group are those of the launch.
    fn whole_group(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &mut Position) {
        let base = self.group_size(space, position);
        position.local = self.lanes.map(|lanes| lanes.id).unwrap_or_default();
        for (item, (base, local)) in position.item.iter_mut().zip(base.into_iter().zip(position.local)) {
            *item = self.body.add(base, local);
        }
        self.call(case, arguments, space, position);
        // The next group uses the same local memory.
        self.barrier();
    }

    /// Finds how many work-items the group has, the last ones being smaller, and gives its first
    /// one.
    fn group_size(&mut self, space: &Space, position: &mut Position) -> [u32; 3] {
        let mut base = [0; 3];
        for (axis, base) in base.iter_mut().enumerate() {
            let of = |ids: &[u32; 3]| ids.get(axis).copied().unwrap_or(0);
            *base = self.body.multiply(of(&position.group), of(&space.local));
            let rest = self.body.arithmetic(Op::ISub, of(&space.size), *base);
            let size = self.body.minimum(of(&space.local), rest);
            if let Some(place) = position.group_size.get_mut(axis) {
                *place = size;
            }
        }
        base
    }

    fn space(&mut self, case: &Case, task: Task) -> Space {
        let (needs, groups) = (case.needs, case.unit == InterpreterUnit::Groups);
        let mut space = Space::default();
        if needs.any(&[Builtin::WorkDim]) {
            space.dimensions = self.field(task, Field::Dimensions, 0);
        }
        space.size = self.fields(task, Field::GlobalSize);
        if needs.any(&[Builtin::GlobalOffset, Builtin::GlobalInvocationId]) {
            space.offset = self.fields(task, Field::GlobalOffset);
        }
        if groups || needs.any(&[Builtin::EnqueuedWorkgroupSize]) {
            space.local = self.fields(task, Field::LocalSize);
        }
        if groups || needs.any(&[Builtin::NumWorkgroups]) {
            space.groups = self.fields(task, Field::Groups);
        }
        space
    }

    pub(super) fn call(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &Position) {
        let operands = self.operands(case, arguments, space, position);
        let void = self.body.new.void_type();
        self.body.value(Op::FunctionCall, void, &operands);
    }

    /// The function of a case, and what it is given for a work-item.
    pub(super) fn operands(
        &mut self,
        case: &Case,
        arguments: &[u32],
        space: &Space,
        position: &Position,
    ) -> Vec<u32> {
        let mut operands = vec![case.function];
        operands.extend(arguments);
        for component in case.needs.iter() {
            let value = self.builtin(component, space, position);
            operands.push(value);
        }
        operands
    }

    fn builtin(&mut self, component: Component, space: &Space, position: &Position) -> u32 {
        let of = |ids: &[u32; 3]| ids.get(usize::from(component.axis)).copied().unwrap_or(0);
        match component.builtin {
            Builtin::WorkDim => space.dimensions,
            Builtin::GlobalSize => of(&space.size),
            Builtin::GlobalOffset => of(&space.offset),
            Builtin::GlobalInvocationId => self.body.add(of(&space.offset), of(&position.item)),
            Builtin::GlobalLinearId => self.linear(position.item, space.size),
            Builtin::LocalInvocationId => of(&position.local),
            Builtin::LocalInvocationIndex => self.linear(position.local, position.group_size),
            Builtin::WorkgroupId => of(&position.group),
            Builtin::NumWorkgroups => of(&space.groups),
            Builtin::WorkgroupSize => of(&position.group_size),
            Builtin::EnqueuedWorkgroupSize => of(&space.local),
        }
    }

    /// `(z * size.y + y) * size.x + x`.
    pub(super) fn linear(&mut self, [x, y, z]: [u32; 3], size: [u32; 3]) -> u32 {
        let slices = self.body.multiply(z, size[1]);
        let rows = self.body.add(slices, y);
        let rows = self.body.multiply(rows, size[0]);
        self.body.add(rows, x)
    }
}
