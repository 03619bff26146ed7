//! The `wi` kernel for devices whose groups have many work-items side by side: GPUs.
//!
//! ```text
//! for (base = 0; base < tasks of the group; base += block)
//!     each work-item copies some tasks and their arguments to local memory; a barrier
//!     for (at = 0; at < tasks of the block; at = min(at + teams, end of the level))
//!         task = at + team, which is no kernel's if it is beyond the end of the level
//!         switch (task.kernel)
//!             case k: for (i = index in the team; i < items; i += width) kernel_k(arguments, built-ins of i)
//!         a barrier, after which all work-items see what the tasks wrote
//! ```
//! Loads from global memory that depend on each other take longer than most tasks, so a block of
//! tasks is copied at once. The tasks of a level do not depend on each other. Teams of `width`
//! work-items take them in turns, so that a level of small tasks is done side by side.
//!
//! A chain of small tasks takes as long as the instructions between two barriers, one after the
//! other. So numbers have 32 bits here, and an index space is one row; for the other axes it is
//! divided. A level of more tasks than there are teams has more barriers than it needs: loops within
//! loops cost every task more than that.
//!
//! Of a kernel that is small and has no branches, a work-item runs [`ABREAST`] work-items in step.
//! It then waits once for what it loads for all of them.

use super::index_space::{Position, Space};
use super::kernels::{Case, Lanes, Task, TaskCopy, Writer};
use super::layout::{Field, LocalCopy, TaskRecord};
use oclave_spirv::{Op, StorageClass};

/// Where the arguments begin in a copy, in words.
pub(super) const ARGUMENTS_AT: u64 = TaskRecord::WORDS as u64;
/// Words of arguments that are copied.
pub(super) const ARGUMENT_WORDS: u64 = (LocalCopy::READ_BYTES / 8) as u64;
/// What the arguments of a copy are aligned to, in bytes.
pub(super) const COPY_ALIGN: u32 = 16;
/// Where the head of a copy is: a vector of four numbers behind the arguments.
/// - `items` and `key` of [`TaskCopy`]
/// - where the level of the task ends
/// - `ahead` of [`TaskCopy`]
const HEAD_AT: u64 = (ARGUMENTS_AT + ARGUMENT_WORDS) * 8;
/// Work-items that one runs abreast, of a kernel that is small enough.
const ABREAST: u64 = 4;
/// Bits of a record's first word that are the kernel's number; the others are the level.
const KERNEL_BITS: u64 = 32;

/// The tasks of the group.
pub(super) struct Place {
    pub(super) list: u32,
    /// The group's first task, and every how manieth is its own.
    pub(super) start: u32,
    pub(super) groups: u32,
    /// The copies, in local memory.
    pub(super) slots: u32,
}

impl Writer<'_, '_> {
    /// The whole kernel. The parameters are the list, the first task, how many there are, local
    /// memory, the work-items of a team, and the tasks of a block.
    pub(super) fn levels(&mut self, inputs: &[u32], parameters: &[u32], cases: &[Case], structs: Vec<u32>) {
        let (&[list, first, count, local, width, block], &[group, groups, id, size]) = (parameters, inputs)
        else {
            return;
        };
        let bytes = self.bytes();
        self.base = self.body.value(Op::Bitcast, bytes, &[list]);
        let [group, groups] = [group, groups].map(|input| {
            let [x, ..] = self.body.components(input);
            x
        });
        let all = self.lanes(id, size);
        let start = self.body.add(first, group);
        let byte = self.body.new.int_type(8);
        let local_bytes = self.body.new.pointer_type(StorageClass::Workgroup, byte);

        self.body.set_bits(32);
        let [count, group, groups, width, block, number, lanes] =
            [count, group, groups, width, block, all.index, all.count]
                .map(|wide| self.body.with_bits(32, wide));
        let team = self.body.arithmetic(Op::UDiv, number, width);
        let teams = self.body.arithmetic(Op::UDiv, lanes, width);
        let before = self.body.multiply(team, width);
        let index = self.body.arithmetic(Op::ISub, number, before);
        let [wide_index, wide_width] = [index, width].map(|narrow| self.body.with_bits(64, narrow));
        self.lanes = Some(Lanes { index: wide_index, count: wide_width, ..all });
        self.narrow = Some((index, width));
        let slot_bytes = self.body.constant(LocalCopy::BYTES as u64);
        let used = self.body.multiply(block, slot_bytes);
        self.local = Some(self.body.element(local_bytes, local, used));

        // The group's own tasks: every so manieth.
        let one = self.body.constant(1);
        let last = self.body.arithmetic(Op::ISub, groups, one);
        let rest = self.body.arithmetic(Op::ISub, last, group);
        let rounded = self.body.add(count, rest);
        let own = self.body.arithmetic(Op::UDiv, rounded, groups);
        let zero = self.body.constant(0);
        let blocks = self.body.begin_loop(zero, own, block);
        self.body.uniform(blocks.goes_on);
        let left = self.body.arithmetic(Op::ISub, own, blocks.index);
        let tasks = self.body.minimum(block, left);
        let slots = local;
        let place = Place { list, start, groups, slots };
        self.copy_block(&place, blocks.index, (number, lanes), (tasks, width));
        self.barrier();

        // Places of copies are in bytes. The next head is loaded before it is used. Beyond the
        // last copy there is memory, too, of which no task runs.
        let [team, teams, end] = [team, teams, tasks].map(|count| self.body.multiply(count, slot_bytes));
        let [_, _, ends, _] = self.head(slots, zero);
        let own = self.head(slots, team);
        let uint = self.body.new.int_type(32);
        let given = [ends, own[0], own[1], own[3]].map(|first| (uint, first));
        let mut round = self.body.begin_loop_with([zero, end, one], &given);
        self.body.uniform(round.goes_on);
        let [ends, items, key, ahead]: [u32; 4] = round.carried();
        let next = self.body.add(round.index, teams);
        let next = self.body.minimum(next, ends);
        round.step = self.body.arithmetic(Op::ISub, next, round.index);
        let [_, _, next_ends, _] = self.head(slots, next);
        let next = self.body.add(next, team);
        let next = self.head(slots, next);
        round.give(&[next_ends, next[0], next[1], next[3]]);
        let at = self.body.add(round.index, team);
        let is_there = self.body.less(at, ends);
        self.body.uniform(is_there);
        // What is behind the last copy is no task: no case may read pointers there.
        let none = self.body.new.fresh_id();
        self.body.branch_unless(is_there, none);
        self.body.uniform(key);
        let slot = self.slot(slots, at);
        self.body.set_bits(64);
        self.one(Task::Copy(TaskCopy { slot, key, items, ahead }), cases, structs);
        self.body.set_bits(32);
        self.body.branch(none);
        self.body.label(none);
        self.barrier();
        self.body.end_loop(&round);
        self.body.end_loop(&blocks);
        self.body.set_bits(64);
    }

    /// Copies the tasks of a block, one by each work-item.
    pub(super) fn copy_block(
        &mut self,
        place: &Place,
        base: u32,
        (number, lanes): (u32, u32),
        (tasks, width): (u32, u32),
    ) {
        let copied = self.body.begin_loop(number, tasks, lanes);
        let task = self.body.add(base, copied.index);
        let task = self.body.multiply(task, place.groups);
        let slot_bytes = self.body.constant(LocalCopy::BYTES as u64);
        let at = self.body.multiply(copied.index, slot_bytes);
        let slot = self.slot(place.slots, at);
        self.body.set_bits(64);
        let task = self.body.with_bits(64, task);
        let task = self.body.add(place.start, task);
        let words = self.body.constant(TaskRecord::WORDS as u64);
        let offset = self.body.multiply(task, words);
        let record = self.body.element(self.list, place.list, offset);
        let words = self.copy_words(record, (slot, 0), TaskRecord::WORDS as u64);
        let word = |at: usize| words.get(at).copied().unwrap_or(record);
        let bytes = self.bytes();
        let block = self.body.element(bytes, self.base, word(Field::Arguments as usize));
        let block = self.cast(bytes, self.list, block);
        self.copy_words(block, (slot, ARGUMENTS_AT), ARGUMENT_WORDS);
        let [x, y, z] = [0, 1, 2].map(|axis| word(Field::GlobalSize as usize + axis));
        let rows = self.body.multiply(y, z);
        let items = self.body.multiply(x, rows);
        let shift = self.body.constant(KERNEL_BITS);
        let level = self.body.arithmetic(Op::ShiftRightLogical, word(Field::Kernel as usize), shift);
        let [items, rows, level, kernel] =
            [items, rows, level, word(Field::Kernel as usize)].map(|wide| self.body.with_bits(32, wide));
        self.body.set_bits(32);
        // A record without a level must not hold up the group for ever.
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let is_none = self.body.equal(level, zero);
        let uint = self.body.new.int_type(32);
        let level = self.body.value(Op::Select, uint, &[is_none, one, level]);
        let left = self.body.arithmetic(Op::ISub, tasks, copied.index);
        let level = self.body.minimum(level, left);
        let end = self.body.add(copied.index, level);
        let end = self.body.multiply(end, slot_bytes);
        let is_row = self.body.equal(rows, one);
        let several = self.body.value(Op::Select, uint, &[is_row, zero, one]);
        let key = self.body.add(kernel, kernel);
        let key = self.body.add(key, several);
        // How many work-items have so many behind them that they can run abreast.
        let behind = self.body.constant(ABREAST - 1);
        let behind = self.body.multiply(width, behind);
        let any = self.body.less(behind, items);
        let ahead = self.body.arithmetic(Op::ISub, items, behind);
        let ahead = self.body.value(Op::Select, uint, &[any, ahead, zero]);
        let head = self.body.vector(uint, &[items, key, end, ahead]);
        let (place, _) = self.head_place(slot);
        self.body.store(place, head, 16);
        self.body.end_loop(&copied);
    }

    /// Copies words from global memory to a slot, and gives them.
    fn copy_words(&mut self, from: u32, to: (u32, u64), count: u64) -> Vec<u32> {
        let ulong = self.body.ulong();
        let load = |word: u64| {
            let index = self.body.constant(word);
            let from = self.body.element(self.list, from, index);
            self.body.load(ulong, from, 8)
        };
        let values: Vec<u32> = (0..count).map(load).collect();
        self.store_words(&values, to);
        values
    }

    fn store_words(&mut self, values: &[u32], (slot, at): (u32, u64)) {
        let words = self.words();
        for (word, value) in (at..).zip(values) {
            let index = self.body.constant(word);
            let to = self.body.element(words, slot, index);
            self.body.store(to, *value, 8);
        }
    }

    /// What stands at the end of a copy.
    pub(super) fn head(&mut self, slots: u32, at: u32) -> [u32; 4] {
        let slot = self.slot(slots, at);
        let (place, ty) = self.head_place(slot);
        let head = self.body.load(ty, place, 16);
        let uint = self.body.new.int_type(32);
        [0, 1, 2, 3].map(|part| self.body.value(Op::CompositeExtract, uint, &[head, part]))
    }

    /// Where it stands, and its type.
    fn head_place(&mut self, slot: u32) -> (u32, u32) {
        let uint = self.body.new.int_type(32);
        let vector = self.body.new.vector_type(uint, 4);
        let pointer = self.body.new.pointer_type(StorageClass::Workgroup, vector);
        let words = self.words();
        let at = self.body.constant(HEAD_AT / 8);
        let place = self.body.element(words, slot, at);
        (self.cast(words, pointer, place), vector)
    }

    /// The copy that begins at a byte.
    pub(super) fn slot(&mut self, slots: u32, at: u32) -> u32 {
        let byte = self.body.new.int_type(8);
        let bytes = self.body.new.pointer_type(StorageClass::Workgroup, byte);
        let words = self.words();
        let slot = self.body.element(bytes, slots, at);
        self.cast(bytes, words, slot)
    }

    /// Calls the function of a case for the work-items of a task, which are counted through all
    /// rows and slices.
    pub(super) fn items_as_one_row(&mut self, case: &Case, task: Task, arguments: &[u32], space: &Space) {
        let (Some((index, width)), Task::Copy(copy)) = (self.narrow, task) else { return };
        let items = copy.items;
        self.body.set_bits(32);
        let index = match self.is_row && case.is_straight {
            true => self.items_abreast(case, [index, copy.ahead, width], arguments, space),
            false => index,
        };
        let each = self.body.begin_loop(index, items, width);
        let item = match self.is_row {
            true => {
                let zero = self.body.constant(0);
                [each.index, zero, zero]
            }
            false => self.divided(case, space, each.index),
        };
        self.item(case, arguments, space, item);
        self.body.end_loop(&each);
        self.body.set_bits(64);
    }

    /// Calls the function of a case for several work-items at a time, as long as there are so many,
    /// and gives the next one. What they load, they then wait for together.
    fn items_abreast(
        &mut self,
        case: &Case,
        [index, ahead, width]: [u32; 3],
        arguments: &[u32],
        space: &Space,
    ) -> u32 {
        let abreast = self.body.constant(ABREAST);
        let abreast = self.body.multiply(width, abreast);
        let each = self.body.begin_loop(index, ahead, abreast);
        let mut item = each.index;
        let mut calls = Vec::new();
        for _ in 0..ABREAST {
            let wide = self.body.with_bits(64, item);
            self.body.set_bits(64);
            let zero = self.body.constant(0);
            let position = Position { item: [wide, zero, zero], ..Position::default() };
            calls.push(self.operands(case, arguments, space, &position));
            self.body.set_bits(32);
            item = self.body.add(item, width);
        }
        let void = self.body.new.void_type();
        for (number, operands) in calls.iter().enumerate() {
            let call = self.body.value(Op::FunctionCall, void, operands);
            self.abreast.extend((number > 0).then_some(call));
        }
        self.body.end_loop(&each);
        each.index
    }

    /// Calls the function of a case for a work-item.
    fn item(&mut self, case: &Case, arguments: &[u32], space: &Space, item: [u32; 3]) {
        let item = item.map(|item| self.body.with_bits(64, item));
        self.body.set_bits(64);
        self.call(case, arguments, space, &Position { item, ..Position::default() });
        self.body.set_bits(32);
    }

    /// Where a work-item is in its row, in which row and in which slice.
    fn divided(&mut self, case: &Case, space: &Space, index: u32) -> [u32; 3] {
        let size = space.size.map(|size| self.body.with_bits(32, size));
        let row = self.body.arithmetic(Op::UDiv, index, size[0]);
        let begin = self.body.multiply(row, size[0]);
        let x = self.body.arithmetic(Op::ISub, index, begin);
        if !case.needs.asks_for_row() {
            let zero = self.body.constant(0);
            return [x, zero, zero];
        }
        let z = self.body.arithmetic(Op::UDiv, row, size[1]);
        let begin = self.body.multiply(z, size[1]);
        [x, self.body.arithmetic(Op::ISub, row, begin), z]
    }
}
