//! The kernels that walk a list of tasks.
//!
//! ```text
//! for (task = first + group; task < first + count; task += groups)
//!     switch (task.kernel)
//!         case k: load the arguments; for (z) for (y) for (x) kernel_k(arguments, built-ins);
//!     wi only: a barrier, after which all work-items see what the task wrote
//! ```
//! `seq` runs every work-item of a task in turn. In `wi` the work-items of the launch's group take
//! those of a row in turns, so that compilers can vectorise over work-items. All of them go through
//! every loop equally often. Kernels whose work-items wait for each other have the launch's
//! work-items for their own. Some devices run the work-items of a group one after the other. There,
//! the first work-item runs all tasks without such kernels, as `seq` does, and the others go on to
//! the barrier.

use super::arguments::{Parameter, Source};
use super::builtins::Needs;
use super::emit::{Body, Loop, builtin_variable, module_variables};
use super::flow::{OPS, Walk};
use super::layout::{Field, InterpreterUnit, TaskRecord};
use super::levels::{ARGUMENT_WORDS, ARGUMENTS_AT, COPY_ALIGN};
use super::modes::FloatModes;
use oclave_spirv::{
    BuiltIn, Declarations, ExecutionMode, Op, SCOPE_WORKGROUP, Section, StorageClass, Version,
};

/// Sequentially consistent, for local and global memory: what `barrier(CLK_LOCAL_MEM_FENCE |
/// CLK_GLOBAL_MEM_FENCE)` is.
const ALL_MEMORY: u64 = 0x310;

/// Work-items of the largest group in mode `Levels`.
const MOST_ITEMS: u32 = 1024;

/// A task of the list that is being run: its record, in global memory, or a copy in local memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum Task {
    Record(u32),
    Copy(TaskCopy),
}

/// A copy: where it is, and what was loaded of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskCopy {
    pub(super) slot: u32,
    /// Twice the kernel's number, one more where the index space has several rows.
    pub(super) key: u32,
    /// Work-items of the index space.
    pub(super) items: u32,
    /// Those of them that have enough behind them for several to run abreast.
    pub(super) ahead: u32,
}

/// What a task of one kind runs.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) function: u32,
    pub(super) parameters: Vec<Parameter>,
    pub(super) needs: Needs,
    pub(super) unit: InterpreterUnit,
    pub(super) needs_groups: bool,
    /// Whether one work-item runs rows in parts: see `Writer::row_in_parts`.
    pub(super) in_parts: bool,
    /// Whether what it runs may be written twice.
    pub(super) is_small: bool,
    /// Whether several work-items may run it abreast: it is small, and has no branches.
    pub(super) is_straight: bool,
    /// Whether it is a task of the library's own.
    pub(super) is_own: bool,
}

/// How a kernel runs tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// By the work-items of a group, in teams, from copies in local memory: see `levels.rs`.
    Levels,
    /// By one work-item, with jumps: see `flow.rs`.
    Flow,
    /// The same by the work-items of a group.
    FlowInGroup,
    /// By one work-item.
    Seq,
    /// By the work-items of a group, side by side.
    Wi,
    /// By the work-items of a group, which take turns: the first one alone runs what they need not
    /// share.
    WiInTurn,
}

/// The built-ins that the kernels themselves ask for: `seq` the first two.
///
/// Both kernels share the variables: of two for one built-in, Intel's compiler does not find the
/// second.
pub(super) fn inputs(new: &mut Declarations<'_>) -> [u32; 4] {
    let builtins =
        [BuiltIn::WorkgroupId, BuiltIn::NumWorkgroups, BuiltIn::LocalInvocationId, BuiltIn::WorkgroupSize];
    builtins.map(|builtin| builtin_variable(new, builtin))
}

/// Adds a kernel to the module. Gives the calls that are to run abreast with the one before them.
pub(super) fn add(
    new: &mut Declarations<'_>,
    (name, mode): (&str, Mode),
    inputs: [u32; 4],
    cases: &[Case],
    modes: &FloatModes,
    says_uniform: bool,
) -> Vec<u32> {
    let [group, groups, ..] = inputs;
    let inputs = match mode {
        Mode::Flow => Vec::new(),
        Mode::Seq => vec![group, groups],
        _ => inputs.to_vec(),
    };
    let function = new.fresh_id();
    let ulong = new.int_type(64);
    let list = new.pointer_type(StorageClass::CrossWorkgroup, ulong);
    let byte = new.int_type(8);
    let local = new.pointer_type(StorageClass::Workgroup, byte);
    let mut parameters = vec![list, ulong, ulong];
    match mode {
        Mode::Seq => {}
        Mode::Flow => parameters.push(ulong),
        Mode::FlowInGroup => parameters.extend([ulong, local, ulong]),
        Mode::Levels => parameters.extend([local, ulong, ulong]),
        Mode::Wi | Mode::WiInTurn => parameters.push(local),
    }
    let mut structs: Vec<u32> = cases.iter().filter(|case| mode.runs(case)).flat_map(struct_types).collect();
    if mode == Mode::Flow {
        structs.extend(Writer::walk_variables(new));
    }
    let (body, parameters, structs) = Body::new(new, function, &parameters, &structs);
    let mut writer = Writer {
        body,
        mode,
        list,
        base: 0,
        local: parameters.get(3).copied().filter(|_| !mode.has_jumps()),
        flow: None,
        lanes: None,
        narrow: None,
        is_row: false,
        abreast: Vec::new(),
    };
    writer.body.says_uniform = says_uniform;
    match mode {
        Mode::Levels => writer.levels(&inputs, &parameters, cases, structs),
        Mode::FlowInGroup => writer.walk_in_group(&inputs, &parameters, cases, structs),
        Mode::Flow => writer.walk(&parameters, cases, structs),
        _ => writer.tasks(&inputs, &parameters, cases, structs),
    }
    writer.body.finish();
    let abreast = writer.abreast;

    let mut interface = inputs.to_vec();
    let definitions = new.definitions();
    if definitions.module().version() >= Version::V1_4 {
        let builtin = |id: &u32| {
            let class = definitions.instruction(*id).and_then(|i| i.operand(0));
            class == Some(StorageClass::Input as u32)
        };
        interface.extend(module_variables(definitions).filter(|id| !builtin(id)));
    }
    new.entry_point(function, name, &interface);
    if mode.is_one_item() {
        new.execution_mode(function, ExecutionMode::LocalSize, &[1, 1, 1]);
    }
    if matches!(mode, Mode::Levels | Mode::FlowInGroup) {
        // Compilers that give a work-item too many registers make large groups impossible.
        new.execution_mode(function, ExecutionMode::LocalSizeHint, &[MOST_ITEMS, 1, 1]);
    }
    for mode in modes {
        new.push_in(Section::ExecutionModes, Op::ExecutionMode, &[&[function], mode.as_slice()].concat());
    }
    abreast
}

impl Case {
    /// Whether tasks of one row have code of their own.
    fn in_two_forms(&self) -> bool {
        self.unit == InterpreterUnit::Items && self.is_small
    }
}

impl Mode {
    fn runs(self, case: &Case) -> bool {
        !(self.is_one_item() || self.has_jumps()) || !case.needs_groups
    }

    fn has_jumps(self) -> bool {
        matches!(self, Self::Flow | Self::FlowInGroup)
    }

    fn is_one_item(self) -> bool {
        matches!(self, Self::Seq | Self::Flow)
    }
}

/// Whether the copy of a task holds all arguments of a kernel, as aligned as they must be.
fn are_copied(parameters: &[Parameter]) -> bool {
    parameters.iter().all(|parameter| {
        let argument = parameter.argument;
        let align = match parameter.source {
            Source::Value { align } | Source::Struct { align, .. } => align,
            Source::Address | Source::LocalOffset => 8,
        };
        align <= COPY_ALIGN
            && u64::from(argument.offset_bytes) + u64::from(argument.kind.size_bytes()) <= ARGUMENT_WORDS * 8
    })
}

/// The types of the variables that a case needs for structs by value.
fn struct_types(case: &Case) -> impl Iterator<Item = u32> {
    let structs = case.parameters.iter().filter(|p| matches!(p.source, Source::Struct { .. }));
    structs.map(|parameter| parameter.ty)
}

pub(super) struct Writer<'a, 'm> {
    pub(super) body: Body<'a, 'm>,
    mode: Mode,
    /// Type of pointers to tasks.
    pub(super) list: u32,
    /// Where the list begins, and what argument blocks are counted from.
    pub(super) base: u32,
    /// The launch's local memory for arguments.
    pub(super) local: Option<u32>,
    /// What the kernel with jumps keeps.
    pub(super) flow: Option<Walk>,
    /// Those that share a task; `None` where one work-item runs it.
    pub(super) lanes: Option<Lanes>,
    /// Their number and how many they are, in 32 bits, for tasks that run as one row.
    pub(super) narrow: Option<(u32, u32)>,
    /// The task is known to be one row.
    pub(super) is_row: bool,
    /// Calls for work-items that run abreast with the one of the call before.
    pub(super) abreast: Vec<u32>,
}

/// The work-items of a `wi` launch's group.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) id: [u32; 3],
    /// The work-item's number in the group, and how many there are.
    pub(super) index: u32,
    pub(super) count: u32,
}

impl Writer<'_, '_> {
    fn tasks(&mut self, inputs: &[u32], parameters: &[u32], cases: &[Case], structs: Vec<u32>) {
        let (&[list, first, count, ..], &[group, groups, ref lanes @ ..]) = (parameters, inputs) else {
            return;
        };
        let bytes = self.bytes();
        self.base = self.body.value(Op::Bitcast, bytes, &[list]);
        let groups = [group, groups].map(|input| {
            let [x, ..] = self.body.components(input);
            x
        });
        if let &[id, size] = lanes {
            self.lanes = Some(self.lanes(id, size));
        }
        let (tasks, number) = self.numbers([first, count], groups);
        let words = self.body.constant(TaskRecord::WORDS as u64);
        let offset = self.body.multiply(number, words);
        let record = self.body.element(self.list, list, offset);
        self.one(Task::Record(record), cases, structs);
        if self.mode != Mode::Seq {
            self.barrier();
        }
        self.body.end_loop(&tasks);
    }

    /// Runs a task.
    pub(super) fn one(&mut self, task: Task, cases: &[Case], structs: Vec<u32>) {
        let done = self.body.new.fresh_id();
        let flow: Vec<u32> = match self.flow {
            Some(_) => OPS.iter().map(|_| self.body.new.fresh_id()).collect(),
            None => Vec::new(),
        };
        let labels: Vec<u32> = cases.iter().map(|_| self.body.new.fresh_id()).collect();
        // Those of tasks of several rows.
        let divided: Vec<Option<u32>> = match task {
            Task::Record(_) => vec![None; cases.len()],
            Task::Copy(_) => {
                cases.iter().map(|case| case.in_two_forms().then(|| self.body.new.fresh_id())).collect()
            }
        };
        let all = || (0_u32..).zip(cases.iter().zip(labels.iter().zip(&divided)));
        let mode = self.mode;
        let runs = |case: &Case| mode.runs(case);
        match task {
            Task::Record(_) => {
                let kernel = self.field(task, Field::Kernel, 0);
                let kernel = self.body.with_bits(32, kernel);
                let mut switch = vec![kernel, done];
                for (number, (_, (label, _))) in all().filter(|(_, (case, _))| runs(case)) {
                    switch.extend([number, *label]);
                }
                for (number, label) in (cases.len() as u32..).zip(&flow) {
                    switch.extend([number, *label]);
                }
                self.body.push(Op::Switch, &switch);
            }
            Task::Copy(copy) => {
                // Assemblers make one jump of many cases, which takes longer than a few comparisons:
                // the library's own tasks are another switch.
                let others = self.body.new.fresh_id();
                let mut switches = [vec![copy.key, others], vec![copy.key, done]];
                for (number, (case, (label, divided))) in all().filter(|(_, (case, _))| runs(case)) {
                    let [_, own] = &mut switches;
                    let keys = [2 * number, *label, 2 * number + 1, divided.unwrap_or(*label)];
                    if case.is_own { own.extend(keys) } else { switches[0].extend(keys) }
                }
                let [switch, mut own] = switches;
                for (number, label) in (cases.len() as u32..).zip(&flow) {
                    own.extend([2 * number, *label, 2 * number + 1, *label]);
                }
                self.body.push(Op::Switch, &switch);
                self.body.label(others);
                self.body.push(Op::Switch, &own);
            }
        }
        let mut structs = structs.into_iter();
        for (case, (label, divided)) in cases.iter().zip(labels.iter().zip(divided)) {
            if !runs(case) {
                continue;
            }
            let own: Vec<u32> = structs.by_ref().take(struct_types(case).count()).collect();
            self.body.label(*label);
            self.is_row = divided.is_some();
            self.case(case, task, done, &mut own.iter().copied());
            self.is_row = false;
            if let Some(divided) = divided {
                self.body.label(divided);
                self.case(case, task, done, &mut own.into_iter());
            }
        }
        for (op, label) in OPS.into_iter().zip(flow) {
            if let Some(walk) = self.flow {
                self.body.label(label);
                if let Some(group) = walk.by_group {
                    self.body.branch_unless(group.is_first, done);
                    self.set_following(&walk);
                }
                self.flow_op(op, &walk, done);
            }
        }
        self.body.label(done);
    }

    /// A loop over the tasks of the launch's group, and the number of the one that it is at.
    fn numbers(&mut self, [first, count]: [u32; 2], [group, groups]: [u32; 2]) -> (Loop, u32) {
        let start = self.body.add(first, group);
        if self.mode != Mode::WiInTurn {
            let end = self.body.add(first, count);
            let tasks = self.body.begin_loop(start, end, groups);
            let number = tasks.index;
            return (tasks, number);
        }
        // Compilers assume that a counter from 0 in steps of 1 is the same for all work-items. They
        // assume the same of values that are loaded from the counter's task. They then keep one
        // copy of them across barriers.
        let one = self.body.constant(1);
        let last = self.body.arithmetic(Op::ISub, groups, one);
        let rest = self.body.arithmetic(Op::ISub, last, group);
        let count = self.body.add(count, rest);
        let rounds = self.body.arithmetic(Op::UDiv, count, groups);
        let tasks = self.count(rounds);
        let later = self.body.multiply(tasks.index, groups);
        let number = self.body.add(start, later);
        (tasks, number)
    }

    /// Runs a task, and goes on at `done`.
    fn case(&mut self, case: &Case, task: Task, done: u32, structs: &mut impl Iterator<Item = u32>) {
        let all = self.lanes;
        if let (Mode::WiInTurn, false, Some(lanes)) = (self.mode, case.needs_groups, all) {
            let zero = self.body.constant(0);
            let is_first = self.body.equal(lanes.index, zero);
            self.body.branch_unless(is_first, done);
            self.lanes = None;
        }
        let arguments = self.arguments(case, task, structs);
        self.index_space(case, task, &arguments);
        self.lanes = all;
        self.body.branch(done);
    }

    pub(super) fn lanes(&mut self, id: u32, size: u32) -> Lanes {
        let (id, size) = (self.body.components(id), self.body.components(size));
        let index = self.linear(id, size);
        let rows = self.body.multiply(size[1], size[2]);
        Lanes { id, index, count: self.body.multiply(size[0], rows) }
    }

    pub(super) fn field(&mut self, task: Task, field: Field, axis: u64) -> u32 {
        let index = self.body.constant(field as u64 + axis);
        let place = match task {
            Task::Record(record) => self.body.element(self.list, record, index),
            Task::Copy(copy) => {
                let words = self.words();
                self.body.element(words, copy.slot, index)
            }
        };
        let ulong = self.body.ulong();
        self.body.load(ulong, place, 8)
    }

    pub(super) fn fields(&mut self, task: Task, field: Field) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.field(task, field, axis))
    }

    pub(super) fn barrier(&mut self) {
        let [scope, semantics] =
            [SCOPE_WORKGROUP, ALL_MEMORY].map(|value| self.body.new.int_constant(32, value));
        self.body.push(Op::ControlBarrier, &[scope, scope, semantics]);
    }

    /// Type of pointers to bytes of global memory.
    pub(super) fn bytes(&mut self) -> u32 {
        let byte = self.body.new.int_type(8);
        self.body.new.pointer_type(StorageClass::CrossWorkgroup, byte)
    }

    /// Type of pointers to words of local memory.
    pub(super) fn words(&mut self) -> u32 {
        let ulong = self.body.ulong();
        self.body.new.pointer_type(StorageClass::Workgroup, ulong)
    }

    /// Loads the arguments from the block, or from its copy if they are all in there.
    fn arguments(&mut self, case: &Case, task: Task, structs: &mut impl Iterator<Item = u32>) -> Vec<u32> {
        if case.parameters.is_empty() {
            return Vec::new();
        }
        let (class, block) = match task {
            Task::Copy(copy) if are_copied(&case.parameters) => {
                let words = self.words();
                let start = self.body.constant(ARGUMENTS_AT);
                let block = self.body.element(words, copy.slot, start);
                let byte = self.body.new.int_type(8);
                let bytes = self.body.new.pointer_type(StorageClass::Workgroup, byte);
                (StorageClass::Workgroup, self.cast(words, bytes, block))
            }
            _ => {
                let bytes = self.bytes();
                let offset = self.field(task, Field::Arguments, 0);
                (StorageClass::CrossWorkgroup, self.body.element(bytes, self.base, offset))
            }
        };
        let byte = self.body.new.int_type(8);
        let bytes = self.body.new.pointer_type(class, byte);
        let mut values = Vec::new();
        for parameter in &case.parameters {
            let offset = self.body.constant(parameter.argument.offset_bytes.into());
            let place = self.body.element(bytes, block, offset);
            values.push(self.argument(parameter, class, (bytes, place), structs));
        }
        values
    }

    fn argument(
        &mut self,
        parameter: &Parameter,
        class: StorageClass,
        (bytes, place): (u32, u32),
        structs: &mut impl Iterator<Item = u32>,
    ) -> u32 {
        let ulong = self.body.ulong();
        match parameter.source {
            Source::Value { align } => self.load_as(parameter.ty, align, class, (bytes, place)),
            Source::Address => {
                let address = self.load_as(ulong, 8, class, (bytes, place));
                self.body.value(Op::ConvertUToPtr, parameter.ty, &[address])
            }
            Source::LocalOffset => {
                let offset = self.load_as(ulong, 8, class, (bytes, place));
                let byte = self.body.new.int_type(8);
                let ty = self.body.new.pointer_type(StorageClass::Workgroup, byte);
                let local = self.local.unwrap_or(0);
                let pointer = self.body.element(ty, local, offset);
                self.cast(ty, parameter.ty, pointer)
            }
            Source::Struct { size, align } => {
                let variable = structs.next().unwrap_or(0);
                // In C, a struct may be empty; SPIR-V has no copies of 0 bytes.
                if size > 0 {
                    let size = self.body.constant(size.into());
                    // The alignment that both have: what it is in C.
                    self.body.push(Op::CopyMemorySized, &[variable, place, size, 2, align]);
                }
                variable
            }
        }
    }

    fn load_as(&mut self, ty: u32, align: u32, class: StorageClass, (bytes, place): (u32, u32)) -> u32 {
        let pointer = self.body.new.pointer_type(class, ty);
        let place = self.cast(bytes, pointer, place);
        self.body.load(ty, place, align)
    }

    pub(super) fn cast(&mut self, from: u32, to: u32, pointer: u32) -> u32 {
        if from == to { pointer } else { self.body.value(Op::Bitcast, to, &[pointer]) }
    }
}
