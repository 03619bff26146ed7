//! The kernels that walk a list of tasks.
//!
//! ```text
//! for (task = first + group; task < first + count; task += groups)
//!     switch (task.kernel)
//!         case k: load the arguments; for (z) for (y) for (x) kernel_k(arguments, built-ins);
//!     wi only: a barrier, after which all work-items see what the task wrote
//! ```
//! `seq` runs every work-item of a task in turn. In `wi` the work-items of the launch's group take those of a row in turns,
//! so that compilers which vectorise over work-items do; all of them go through every loop equally often. Kernels whose
//! work-items wait for each other have the launch's work-items for their own.

use super::arguments::{Parameter, Source};
use super::builtins::{Builtin, Component, Needs};
use super::emit::{Body, Loop, builtin_variable, module_variables};
use super::layout::{Field, ReplayUnit, TaskRecord};
use super::modes::FloatModes;
use crate::spirv::{
    BuiltIn, ExecutionMode, ExecutionModel, Op, Rewriter, Section, StorageClass, Version, string_words,
};

const SCOPE_WORKGROUP: u64 = 2;
/// Sequentially consistent, for local and global memory: what `barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)` is.
const ALL_MEMORY: u64 = 0x310;

/// What a task of one kind runs.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) function: u32,
    pub(super) parameters: Vec<Parameter>,
    pub(super) needs: Needs,
    pub(super) unit: ReplayUnit,
    pub(super) needs_groups: bool,
    /// Whether `seq` runs rows in parts: see [`Writer::row_in_parts`].
    pub(super) in_parts: bool,
}

/// Which of the two kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Seq,
    Wi,
}

/// The built-ins that the kernels themselves ask for: `seq` the first two.
///
/// Both kernels share the variables: of two for one built-in, Intel's compiler does not find the second.
pub(super) fn inputs(new: &mut Rewriter<'_>) -> [u32; 4] {
    let builtins =
        [BuiltIn::WorkgroupId, BuiltIn::NumWorkgroups, BuiltIn::LocalInvocationId, BuiltIn::WorkgroupSize];
    builtins.map(|builtin| builtin_variable(new, builtin))
}

/// Adds a kernel to the module.
pub(super) fn add(
    new: &mut Rewriter<'_>,
    (name, mode): (&str, Mode),
    inputs: [u32; 4],
    cases: &[Case],
    modes: &FloatModes,
) {
    let [group, groups, ..] = inputs;
    let inputs = if mode == Mode::Seq { vec![group, groups] } else { inputs.to_vec() };
    let function = new.fresh_id();
    let ulong = new.int_type(64);
    let list = new.pointer_type(StorageClass::CrossWorkgroup, ulong);
    let mut parameters = vec![list, ulong, ulong];
    if mode == Mode::Wi {
        let byte = new.int_type(8);
        parameters.push(new.pointer_type(StorageClass::Workgroup, byte));
    }
    let structs: Vec<u32> = cases.iter().filter(|case| mode.runs(case)).flat_map(struct_types).collect();
    let (body, parameters, structs) = Body::new(new, function, &parameters, &structs);
    let mut writer = Writer { body, mode, list, base: 0, local: parameters.get(3).copied(), lanes: None };
    writer.tasks(&inputs, &parameters, cases, structs);
    writer.body.finish();

    let mut entry = vec![ExecutionModel::Kernel as u32, function];
    entry.extend(string_words(name));
    entry.extend(&inputs);
    let definitions = new.definitions();
    if definitions.module().version() >= Version::V1_4 {
        let builtin = |id: &u32| {
            let class = definitions.instruction(*id).and_then(|i| i.operand(0));
            class == Some(StorageClass::Input as u32)
        };
        entry.extend(module_variables(definitions).filter(|id| !builtin(id)));
    }
    new.push_in(Section::EntryPoints, Op::EntryPoint, &entry);
    if mode == Mode::Seq {
        let size = [function, ExecutionMode::LocalSize as u32, 1, 1, 1];
        new.push_in(Section::ExecutionModes, Op::ExecutionMode, &size);
    }
    for mode in modes {
        new.push_in(Section::ExecutionModes, Op::ExecutionMode, &[&[function], mode.as_slice()].concat());
    }
}

impl Mode {
    fn runs(self, case: &Case) -> bool {
        self == Self::Wi || !case.needs_groups
    }
}

/// The types of the variables that a case needs for structs by value.
fn struct_types(case: &Case) -> impl Iterator<Item = u32> {
    let structs = case.parameters.iter().filter(|p| matches!(p.source, Source::Struct { .. }));
    structs.map(|parameter| parameter.ty)
}

struct Writer<'a, 'm> {
    body: Body<'a, 'm>,
    mode: Mode,
    /// Type of pointers to tasks.
    list: u32,
    /// Where the list begins, and what argument blocks are counted from.
    base: u32,
    /// The launch's local memory.
    local: Option<u32>,
    lanes: Option<Lanes>,
}

/// The work-items of a `wi` launch's group.
#[derive(Clone, Copy)]
struct Lanes {
    id: [u32; 3],
    /// The work-item's number in the group, and how many there are.
    index: u32,
    count: u32,
}

/// What a task says of its index space, three ids each; zeroes for what its kernel does not need.
#[derive(Default, Clone, Copy)]
struct Space {
    dimensions: u32,
    size: [u32; 3],
    offset: [u32; 3],
    local: [u32; 3],
    groups: [u32; 3],
}

/// Where a work-item is; zeroes for what its kernel does not need.
#[derive(Default, Clone, Copy)]
struct Position {
    /// In the index space, from 0.
    item: [u32; 3],
    group: [u32; 3],
    group_size: [u32; 3],
    local: [u32; 3],
}

impl Writer<'_, '_> {
    fn tasks(&mut self, inputs: &[u32], parameters: &[u32], cases: &[Case], structs: Vec<u32>) {
        let (&[list, first, count, ..], &[group, groups, ref lanes @ ..]) = (parameters, inputs) else {
            return;
        };
        let bytes = self.bytes();
        self.base = self.body.value(Op::Bitcast, bytes, &[list]);
        let [start, step] = [group, groups].map(|input| {
            let [x, ..] = self.body.components(input);
            x
        });
        if let &[id, size] = lanes {
            self.lanes = Some(self.lanes(id, size));
        }
        let (start, end) = (self.body.add(first, start), self.body.add(first, count));
        let tasks = self.body.begin_loop(start, end, step);
        let words = self.body.constant(TaskRecord::WORDS as u64);
        let offset = self.body.multiply(tasks.index, words);
        let task = self.body.element(self.list, list, offset);

        let kernel = self.field(task, Field::Kernel, 0);
        let uint = self.body.new.int_type(32);
        let kernel = self.body.value(Op::UConvert, uint, &[kernel]);
        let done = self.body.new.fresh_id();
        let mut switch = vec![kernel, done];
        let labels: Vec<u32> = cases.iter().map(|_| self.body.new.fresh_id()).collect();
        let runs = |case: &Case| self.mode.runs(case);
        for ((number, case), label) in (0_u32..).zip(cases).zip(&labels) {
            if runs(case) {
                switch.extend([number, *label]);
            }
        }
        self.body.push(Op::Switch, &switch);
        let mut structs = structs.into_iter();
        for (case, label) in cases.iter().zip(labels) {
            if self.mode.runs(case) {
                self.body.label(label);
                self.case(case, task, &mut structs);
                self.body.branch(done);
            }
        }
        self.body.label(done);
        if self.mode == Mode::Wi {
            self.barrier();
        }
        self.body.end_loop(&tasks);
    }

    fn lanes(&mut self, id: u32, size: u32) -> Lanes {
        let (id, size) = (self.body.components(id), self.body.components(size));
        let index = self.linear(id, size);
        let rows = self.body.multiply(size[1], size[2]);
        Lanes { id, index, count: self.body.multiply(size[0], rows) }
    }

    /// `(z * size.y + y) * size.x + x`.
    fn linear(&mut self, [x, y, z]: [u32; 3], size: [u32; 3]) -> u32 {
        let slices = self.body.multiply(z, size[1]);
        let rows = self.body.add(slices, y);
        let rows = self.body.multiply(rows, size[0]);
        self.body.add(rows, x)
    }

    fn field(&mut self, task: u32, field: Field, axis: u64) -> u32 {
        let index = self.body.constant(field as u64 + axis);
        let place = self.body.element(self.list, task, index);
        let ulong = self.body.ulong();
        self.body.load(ulong, place, 8)
    }

    fn fields(&mut self, task: u32, field: Field) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.field(task, field, axis))
    }

    fn barrier(&mut self) {
        let [scope, semantics] =
            [SCOPE_WORKGROUP, ALL_MEMORY].map(|value| self.body.new.int_constant(32, value));
        self.body.push(Op::ControlBarrier, &[scope, scope, semantics]);
    }

    fn case(&mut self, case: &Case, task: u32, structs: &mut impl Iterator<Item = u32>) {
        let arguments = self.arguments(case, task, structs);
        let space = self.space(case, task);
        let mut position = Position::default();
        match (case.unit, case.needs_groups) {
            (ReplayUnit::Items, _) => {
                let outer = self.outer(space.size, &mut position.item);
                if case.in_parts && self.lanes.is_none() {
                    self.row_in_parts(case, &arguments, &space, &mut position);
                } else {
                    self.items_of_row(case, &arguments, &space, &mut position);
                }
                self.close(outer);
            }
            (ReplayUnit::Groups, groups) => {
                let outer = self.outer(space.groups, &mut position.group);
                let row = self.count(space.groups[0]);
                position.group[0] = row.index;
                if groups {
                    self.whole_group(case, &arguments, &space, &mut position);
                } else {
                    self.items_of_group(case, &arguments, &space, &mut position);
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

    /// A row whose global ids begin at 0, as they mostly do, in three parts: its first item, those between, and its last one.
    /// Stencils compare their global id with 0 and with the global size; for the items between, compilers know the answers
    /// and vectorise what they would not with them open.
    fn row_in_parts(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &mut Position) {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let [elsewhere, done] = [(); 2].map(|()| self.body.new.fresh_id());
        let bool = self.body.new.bool_type();
        let from_zero = self.body.value(Op::IEqual, bool, &[space.offset[0], zero]);
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
    fn count(&mut self, end: u32) -> Loop {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        self.body.begin_loop(zero, end, one)
    }

    fn close(&mut self, [slices, rows]: [Loop; 2]) {
        self.body.end_loop(&rows);
        self.body.end_loop(&slices);
    }

    /// A loop over a row, and the item that it is at. In `wi` the work-items take turns; those beyond the end skip the rest.
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

    /// Finds how many work-items the group has, the last ones being smaller, and gives its first one.
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

    fn space(&mut self, case: &Case, task: u32) -> Space {
        let (needs, groups) = (case.needs, case.unit == ReplayUnit::Groups);
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

    fn call(&mut self, case: &Case, arguments: &[u32], space: &Space, position: &Position) {
        let mut operands = vec![case.function];
        operands.extend(arguments);
        for component in case.needs.iter() {
            let value = self.builtin(component, space, position);
            operands.push(value);
        }
        let void = self.body.new.void_type();
        self.body.value(Op::FunctionCall, void, &operands);
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

    /// Type of pointers to bytes of global memory.
    fn bytes(&mut self) -> u32 {
        let byte = self.body.new.int_type(8);
        self.body.new.pointer_type(StorageClass::CrossWorkgroup, byte)
    }

    /// Loads the arguments from the block.
    fn arguments(&mut self, case: &Case, task: u32, structs: &mut impl Iterator<Item = u32>) -> Vec<u32> {
        if case.parameters.is_empty() {
            return Vec::new();
        }
        let bytes = self.bytes();
        let offset = self.field(task, Field::Arguments, 0);
        let block = self.body.element(bytes, self.base, offset);
        let mut values = Vec::new();
        for parameter in &case.parameters {
            let offset = self.body.constant(parameter.argument.offset_bytes.into());
            let place = self.body.element(bytes, block, offset);
            values.push(self.argument(parameter, (bytes, place), structs));
        }
        values
    }

    fn argument(
        &mut self,
        parameter: &Parameter,
        (bytes, place): (u32, u32),
        structs: &mut impl Iterator<Item = u32>,
    ) -> u32 {
        let ulong = self.body.ulong();
        match parameter.source {
            Source::Value { align } => self.load_as(parameter.ty, align, (bytes, place)),
            Source::Address => {
                let address = self.load_as(ulong, 8, (bytes, place));
                self.body.value(Op::ConvertUToPtr, parameter.ty, &[address])
            }
            Source::LocalOffset => {
                let offset = self.load_as(ulong, 8, (bytes, place));
                let byte = self.body.new.int_type(8);
                let ty = self.body.new.pointer_type(StorageClass::Workgroup, byte);
                let local = self.local.unwrap_or(0);
                let pointer = self.body.element(ty, local, offset);
                self.cast(ty, parameter.ty, pointer)
            }
            Source::Struct { size, align } => {
                let variable = structs.next().unwrap_or(0);
                let size = self.body.constant(size.into());
                // The alignment that both have: what it is in C.
                self.body.push(Op::CopyMemorySized, &[variable, place, size, 2, align]);
                variable
            }
        }
    }

    fn load_as(&mut self, ty: u32, align: u32, (bytes, place): (u32, u32)) -> u32 {
        let pointer = self.body.new.pointer_type(StorageClass::CrossWorkgroup, ty);
        let place = self.cast(bytes, pointer, place);
        self.body.load(ty, place, align)
    }

    fn cast(&mut self, from: u32, to: u32, pointer: u32) -> u32 {
        if from == to { pointer } else { self.body.value(Op::Bitcast, to, &[pointer]) }
    }
}
