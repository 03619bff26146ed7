//! The kernel that walks a list with jumps, for loops and conditions.
//!
//! ```text
//! kernel void __oclave_interpreter_flow(global ulong *tasks, ulong first, ulong end, ulong budget)
//!
//! next = first; spent = 0; tasks[end] = {end, 0}
//! while (next < end)
//!     task = next; next = task + 1
//!     switch (task.kernel)
//!         case k: as in `seq`
//!         Jump:        next = task.target
//!         If:          if (the value is zero) next = task.target
//!         Switch:      next += the value; if it is not less than task.limit, next = task.target
//!         While:       if (the value is zero) next = task.target
//!                      else if (task.limit == 0) fail
//!                      else tasks[task.target - 1].count = task.limit - 1
//!         WhileAgain:  if (the value is not zero) { if (task.count == 0) fail; else again }
//!         Repeat:      n = the value, or task.constant; if (n > task.limit) fail
//!                      else if (n == 0) next = task.target; else tasks[task.target - 1].count = n - 1
//!         RepeatAgain: if (task.count != 0) again
//! begin of a loop of n iterations, where they are counted: again.begun += n - again.count; then again.count = n - 1
//! again: task.count--; next = task.target; spent += task.cost; if (spent > budget) stop, to go on there
//! ```
//! A loop has two tasks: the first one stands before its body, the second one behind it. So an iteration has one
//! task besides those of the body.
//!
//! One work-item runs all of it. What it writes behind the last task says where it stopped
//! ([`FlowEnd`]); the host launches it again from there. Counters are in the records, so that they
//! survive that.
//!
//! `begun - count` grows by one with each iteration, over all runs of the loop.
//!
//! A value is masked and shifted out of the aligned word of 8 bytes that it is a part of.
//!
//! # By a group
//! For devices with [`wide_groups`](crate::DeviceTarget::wide_groups), the work-items of one group run each task
//! together, as in `levels.rs`, with a barrier behind it. The kernel has two more parameters:
//! - `local uchar *local`: [`LocalCopy::FLOW_BYTES`], and then the copies of a block of tasks, and room for one more
//! - `ulong block`: how many tasks are copied at once
//!
//! The first work-item alone runs the tasks above. It leaves in local memory which task is next. The tasks of a
//! block are copied when the walk gets to one that was not copied with the block before. A loop that fits into a
//! block is copied once.

use super::kernels::{Case, Task, TaskCopy, Writer};
use super::layout::{InterpreterLayout, LocalCopy, TaskRecord};
use super::levels::Place;
use oclave_spirv::{Op, StorageClass};

/// What a task does that is no kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlowOp {
    /// Goes on elsewhere.
    #[default]
    Jump,
    /// Goes on elsewhere if a value is zero.
    If,
    /// Skips as many tasks as a value says.
    Switch,
    /// Begins a loop as long as a value is not zero.
    While,
    /// Its next iteration, if the value is not zero then.
    WhileAgain,
    /// Begins a loop of so many iterations.
    Repeat,
    /// Its next iteration, if there is one.
    RepeatAgain,
}

pub(super) const OPS: [FlowOp; 7] = [
    FlowOp::Jump,
    FlowOp::If,
    FlowOp::Switch,
    FlowOp::While,
    FlowOp::WhileAgain,
    FlowOp::Repeat,
    FlowOp::RepeatAgain,
];

/// A value in memory, as tasks look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowValue {
    /// Aligned to its size; 0: there is none.
    pub address: u64,
    /// Its bits, those that are looked at.
    pub mask: u64,
    /// The bit that says that it is negative, if it can be.
    pub sign: u64,
}

/// A task that decides which one is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowTask {
    /// What it does.
    pub op: FlowOp,
    /// The number of the task to go to. Of the task that begins a loop: the one behind the loop's second task.
    pub target: u64,
    /// What it looks at.
    pub value: FlowValue,
    /// Iterations that a loop has at most; of [`FlowOp::Switch`], how many tasks there are.
    pub limit: u64,
    /// How many iterations [`FlowOp::Repeat`] begins where there is no value.
    pub constant: u64,
    /// What another iteration adds to what the launch has spent.
    pub cost: u64,
    /// Of a task that begins a loop: whether its iterations are counted, see [`FlowTask::iterations`].
    pub counts: bool,
}

impl FlowTask {
    /// How often the iterations of a loop have begun since the list was written, from the record of its second
    /// task; wraps around.
    pub fn iterations(record: &[u64; TaskRecord::WORDS]) -> u64 {
        let [begun, count] = [BEGUN, COUNT].map(|at| record.get(at as usize).copied().unwrap_or(0));
        begun.wrapping_sub(count)
    }
}

/// Where a launch stopped: what it wrote behind the last task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEnd {
    /// All is done.
    Done,
    /// It has spent its budget, and is to go on with this task.
    GoOn(u64),
    /// The limit of this task was reached.
    Limit(u64),
}

impl FlowEnd {
    /// Bytes that are read.
    pub const BYTES: usize = 16;

    /// Of a list that ends with a task.
    pub fn of(bytes: [u8; Self::BYTES], end: u64) -> Self {
        let word =
            |at: usize| bytes.iter().skip(at).take(8).rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        match (word(0), word(8)) {
            (_, failed @ 1..) => Self::Limit(failed - 1),
            (next, 0) if next < end => Self::GoOn(next),
            _ => Self::Done,
        }
    }
}

/// Words of a record.
const TARGET: u64 = 2;
const ADDRESS: u64 = 3;
const MASK: u64 = 4;
const SIGN: u64 = 5;
const LIMIT: u64 = 6;
const CONSTANT: u64 = 7;
const COUNT: u64 = 8;
const COST: u64 = 9;
/// By how much the word at the address is shifted, in bits.
const SHIFT: u64 = 10;
/// How many iterations all runs of the loop could have had until now.
const BEGUN: u64 = 11;
/// Whether that is kept.
const COUNTS: u64 = 12;

impl InterpreterLayout {
    /// The words of a task that decides which one is next; `None` in a module without jumps.
    pub fn flow(&self, task: &FlowTask) -> Option<[u64; TaskRecord::WORDS]> {
        let op = OPS.iter().position(|op| *op == task.op)? as u32;
        let mut words = [0; TaskRecord::WORDS];
        let FlowValue { address, mask, sign } = task.value;
        for (at, value) in [
            (0, u64::from(self.flow_tasks? + op)),
            (TARGET, task.target),
            (ADDRESS, address & !7),
            (SHIFT, 8 * (address & 7)),
            (MASK, mask),
            (SIGN, sign),
            (LIMIT, task.limit),
            (CONSTANT, task.constant),
            (COST, task.cost),
            (COUNTS, task.counts.into()),
        ] {
            if let Some(word) = words.get_mut(at as usize) {
                *word = value;
            }
        }
        Some(words)
    }
}

/// What the walk keeps in variables, or in local memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    list: u32,
    end: u32,
    budget: u32,
    next: u32,
    spent: u32,
    /// The task that is run, and its record.
    task: u32,
    record: u32,
    /// Where a group runs it.
    pub(super) by_group: Option<ByGroup>,
}

/// What the walk of a group has besides.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByGroup {
    /// Whether the work-item is the first one.
    pub(super) is_first: u32,
    /// The copy of the record: the same but for the counter.
    copy: u32,
}

/// Words of local memory before the copies. The next task has two places, which take turns: a work-item may
/// still look at one when the first work-item writes the other.
const NEXT_IN_TURN: u64 = 0;
const SPENT: u64 = 2;

impl Writer<'_, '_> {
    /// The whole kernel. The parameters are the list, the first task, the end, and the budget. The last
    /// variables are [those of the walk](Self::walk_variables).
    pub(super) fn walk(&mut self, parameters: &[u32], cases: &[Case], mut variables: Vec<u32>) {
        let own = variables.split_off(variables.len().saturating_sub(2));
        let (&[list, first, end, budget], &[next, spent]) = (parameters, own.as_slice()) else { return };
        let bytes = self.bytes();
        self.base = self.body.value(Op::Bitcast, bytes, &[list]);
        let zero = self.body.constant(0);
        self.body.store(next, first, 8);
        self.body.store(spent, zero, 8);
        let mut walk = Walk { list, end, budget, next, spent, task: 0, record: 0, by_group: None };
        self.stop_at(&walk, end, zero);
        let [head, exit] = [(); 2].map(|()| self.body.new.fresh_id());
        self.body.branch(head);
        self.body.label(head);
        let ulong = self.body.ulong();
        walk.task = self.body.load(ulong, next, 8);
        let goes_on = self.body.less(walk.task, end);
        self.body.branch_unless(goes_on, exit);
        self.set_following(&walk);
        walk.record = self.record(list, walk.task);
        self.flow = Some(walk);
        self.one(Task::Record(walk.record), cases, variables);
        self.body.branch(head);
        self.body.label(exit);
    }

    /// The whole kernel for a group. The parameters are the list, the first task, the end, the budget, local
    /// memory, and the tasks of a block.
    pub(super) fn walk_in_group(
        &mut self,
        inputs: &[u32],
        parameters: &[u32],
        cases: &[Case],
        structs: Vec<u32>,
    ) {
        let (&[list, first, end, budget, local, block], &[.., id, size]) = (parameters, inputs) else {
            return;
        };
        let bytes = self.bytes();
        self.base = self.body.value(Op::Bitcast, bytes, &[list]);
        let all = self.lanes(id, size);
        self.lanes = Some(all);
        let (byte, words, ulong) = (self.body.new.int_type(8), self.words(), self.body.ulong());
        let local_bytes = self.body.new.pointer_type(StorageClass::Workgroup, byte);
        let state = self.cast(local_bytes, words, local);
        let [spent_at, zero_words, state_bytes] =
            [SPENT, NEXT_IN_TURN, LocalCopy::FLOW_BYTES as u64].map(|value| self.body.constant(value));
        let spent = self.body.element(words, state, spent_at);
        let slots = self.body.element(local_bytes, local, state_bytes);
        let none = self.body.constant(0);
        let is_first = self.body.equal(all.index, none);
        let mut walk = Walk { list, end, budget, next: 0, spent, task: 0, record: 0, by_group: None };
        let begun = self.body.new.fresh_id();
        self.body.branch_unless(is_first, begun);
        self.body.store(spent, none, 8);
        self.stop_at(&walk, end, none);
        self.body.branch(begun);
        self.body.label(begun);

        let one = self.body.constant(1);
        let mut blocks = self.body.begin_loop(first, end, one);
        self.body.uniform(blocks.goes_on);
        let left = self.body.arithmetic(Op::ISub, end, blocks.index);
        let tasks = self.body.minimum(block, left);
        self.body.set_bits(32);
        let [number, lanes, count] = [all.index, all.count, tasks].map(|wide| self.body.with_bits(32, wide));
        self.narrow = Some((number, lanes));
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let place = Place { list, start: blocks.index, groups: one, slots };
        self.copy_block(&place, zero, (number, lanes), (count, lanes));
        self.barrier();

        // As in `levels`, places of copies are in bytes, and the next head is loaded before it is used.
        let slot_bytes = self.body.constant(LocalCopy::BYTES as u64);
        let last = self.body.multiply(count, slot_bytes);
        let uint = self.body.new.int_type(32);
        let head = self.head(slots, zero);
        let given =
            [(uint, head[0]), (uint, head[1]), (uint, head[3]), (ulong, blocks.index), (ulong, zero_words)];
        let mut round = self.body.begin_loop_with([zero, last, one], &given);
        self.body.uniform(round.goes_on);
        let [items, key, ahead, task, turn]: [u32; 5] = round.carried();
        walk.next = self.body.element(words, state, turn);
        let straight = self.body.add(round.index, slot_bytes);
        let straight_head = self.head(slots, straight);
        self.body.uniform(key);
        let slot = self.slot(slots, round.index);
        self.body.set_bits(64);
        (walk.task, walk.record) = (task, self.record(list, task));
        walk.by_group = Some(ByGroup { is_first, copy: slot });
        self.flow = Some(walk);
        let one = self.body.constant(1);
        let following = self.body.add(task, one);
        self.one(Task::Copy(TaskCopy { slot, key, items, ahead }), cases, structs);
        self.barrier();

        self.body.set_bits(32);
        let first_key = self.body.constant(2 * cases.len() as u64);
        let keys = self.body.constant(2 * OPS.len() as u64);
        let over = self.body.arithmetic(Op::ISub, key, first_key);
        let decides = self.body.less(over, keys);
        self.body.uniform(decides);
        let (before, after) = (self.body.block(), self.body.new.fresh_id());
        self.body.branch_unless(decides, after);
        let target = self.body.load(ulong, walk.next, 8);
        self.body.set_bits(64);
        let behind = self.body.arithmetic(Op::ISub, target, blocks.index);
        let is_here = self.body.less(behind, tasks);
        self.body.set_bits(32);
        let behind = self.body.with_bits(32, behind);
        let behind = self.body.multiply(behind, slot_bytes);
        let jumped = self.body.value(Op::Select, uint, &[is_here, behind, last]);
        let jumped_head = self.head(slots, jumped);
        let jumped_at = self.body.block();
        self.body.branch(after);
        self.body.label(after);
        let mut either =
            |ty, straight, jumped| self.body.value(Op::Phi, ty, &[straight, before, jumped, jumped_at]);
        let next = either(ulong, following, target);
        let at = either(uint, straight, jumped);
        let head = [0, 1, 3].map(|part| either(uint, straight_head[part], jumped_head[part]));
        round.step = self.body.arithmetic(Op::ISub, at, round.index);
        self.body.set_bits(64);
        let turn = self.body.arithmetic(Op::ISub, one, turn);
        round.give(&[head[0], head[1], head[2], next, turn]);
        self.body.end_loop(&round);
        blocks.step = self.body.arithmetic(Op::ISub, task, blocks.index);
        self.body.end_loop(&blocks);
    }

    /// Says that the next task is the one behind.
    pub(super) fn set_following(&mut self, walk: &Walk) {
        let one = self.body.constant(1);
        let following = self.body.add(walk.task, one);
        self.body.store(walk.next, following, 8);
    }

    fn record(&mut self, list: u32, task: u32) -> u32 {
        let words = self.body.constant(TaskRecord::WORDS as u64);
        let offset = self.body.multiply(task, words);
        self.body.element(self.list, list, offset)
    }

    /// Writes where the launch stopped.
    fn stop_at(&mut self, walk: &Walk, task: u32, failed: u32) {
        let place = self.record(walk.list, walk.end);
        self.set_word(place, 0, task);
        self.set_word(place, 1, failed);
    }

    /// A word of the task, which is not the counter.
    fn word(&mut self, walk: &Walk, at: u64) -> u32 {
        let (ty, record) = match walk.by_group {
            Some(ByGroup { copy, .. }) => (self.words(), copy),
            None => (self.list, walk.record),
        };
        self.load_word(ty, record, at)
    }

    fn counter(&mut self, walk: &Walk) -> u32 {
        self.load_word(self.list, walk.record, COUNT)
    }

    fn load_word(&mut self, ty: u32, record: u32, at: u64) -> u32 {
        let index = self.body.constant(at);
        let place = self.body.element(ty, record, index);
        let ulong = self.body.ulong();
        self.body.load(ulong, place, 8)
    }

    fn set_word(&mut self, record: u32, at: u64, value: u32) {
        let index = self.body.constant(at);
        let place = self.body.element(self.list, record, index);
        self.body.store(place, value, 8);
    }

    fn go_to_target(&mut self, walk: &Walk) {
        let target = self.word(walk, TARGET);
        self.body.store(walk.next, target, 8);
    }

    /// The value of a task, and whether it is negative.
    fn looked_at(&mut self, walk: &Walk) -> (u32, u32) {
        let address = self.word(walk, ADDRESS);
        let shift = self.word(walk, SHIFT);
        let pointer = self.body.value(Op::ConvertUToPtr, self.list, &[address]);
        let ulong = self.body.ulong();
        let word = self.body.load(ulong, pointer, 8);
        let shifted = self.body.arithmetic(Op::ShiftRightLogical, word, shift);
        let (mask, sign) = (self.word(walk, MASK), self.word(walk, SIGN));
        let value = self.body.arithmetic(Op::BitwiseAnd, shifted, mask);
        let negative = self.body.arithmetic(Op::BitwiseAnd, value, sign);
        (value, negative)
    }

    /// Ends the launch with the failure of a task.
    fn fail(&mut self, walk: &Walk) {
        let one = self.body.constant(1);
        let failed = self.body.add(walk.task, one);
        self.stop_at(walk, walk.end, failed);
        self.body.store(walk.next, walk.end, 8);
    }

    /// Has a counter say that so many iterations follow the one that begins.
    fn begin_iterations(&mut self, walk: &Walk, count: u32) {
        let one = self.body.constant(1);
        let left = self.body.arithmetic(Op::ISub, count, one);
        // The second task of the loop is the last one before what follows the loop.
        let target = self.word(walk, TARGET);
        let again = self.body.arithmetic(Op::ISub, target, one);
        let again = self.record(walk.list, again);
        let [counted, set] = [(); 2].map(|()| self.body.new.fresh_id());
        let (counts, zero) = (self.word(walk, COUNTS), self.body.constant(0));
        let counts = self.body.less(zero, counts);
        self.body.push(Op::BranchConditional, &[counts, counted, set]);
        self.body.label(counted);
        let (begun, unused) =
            (self.load_word(self.list, again, BEGUN), self.load_word(self.list, again, COUNT));
        let begun = self.body.add(begun, count);
        let begun = self.body.arithmetic(Op::ISub, begun, unused);
        self.set_word(again, BEGUN, begun);
        self.body.branch(set);
        self.body.label(set);
        self.set_word(again, COUNT, left);
    }

    /// Begins another iteration, if a value is not zero; `None`: if the counter is not. A counter of zero is a
    /// failure where there is a value.
    ///
    /// Everything is loaded at first, and the usual case has one branch: a GPU waits for each load and each branch.
    fn again(&mut self, walk: &Walk, value: Option<u32>, done: u32) {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let (ulong, bool) = (self.body.ulong(), self.body.new.bool_type());
        let [other, leaves, fails, stops] = [(); 4].map(|()| self.body.new.fresh_id());
        let count = self.counter(walk);
        let (target, cost) = (self.word(walk, TARGET), self.word(walk, COST));
        let spent = self.body.load(ulong, walk.spent, 8);
        let spent = self.body.add(spent, cost);
        let left = self.body.arithmetic(Op::ISub, count, one);
        let is_over = self.body.less(walk.budget, spent);
        let within = self.body.value(Op::LogicalNot, bool, &[is_over]);
        let counts = self.body.less(zero, count);
        let goes_on = value.map_or(counts, |value| self.body.less(zero, value));
        let both = self.body.value(Op::LogicalAnd, bool, &[goes_on, counts]);
        let usual = self.body.value(Op::LogicalAnd, bool, &[both, within]);
        self.body.branch_unless(usual, other);
        self.set_word(walk.record, COUNT, left);
        self.body.store(walk.next, target, 8);
        self.body.store(walk.spent, spent, 8);
        self.body.branch(done);
        self.body.label(other);
        self.body.push(Op::BranchConditional, &[goes_on, leaves, done]);
        self.body.label(leaves);
        self.body.push(Op::BranchConditional, &[counts, stops, fails]);
        self.body.label(stops);
        self.set_word(walk.record, COUNT, left);
        self.stop_at(walk, target, zero);
        self.body.store(walk.next, walk.end, 8);
        self.body.branch(done);
        self.body.label(fails);
        self.fail(walk);
        self.body.branch(done);
    }

    /// Writes what a task does that is no kernel's, and goes on at `done`.
    pub(super) fn flow_op(&mut self, op: FlowOp, walk: &Walk, done: u32) {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let ulong = self.body.ulong();
        let [leave, fails] = [(); 2].map(|()| self.body.new.fresh_id());
        match op {
            FlowOp::Jump => self.go_to_target(walk),
            FlowOp::If => {
                let (value, _) = self.looked_at(walk);
                let is_zero = self.body.equal(value, zero);
                self.body.branch_unless(is_zero, done);
                self.go_to_target(walk);
            }
            FlowOp::Switch => {
                let (value, negative) = self.looked_at(walk);
                let is_negative = self.body.less(zero, negative);
                let limit = self.word(walk, LIMIT);
                let value = self.body.value(Op::Select, ulong, &[is_negative, limit, value]);
                let is_one = self.body.less(value, limit);
                self.body.branch_unless(is_one, leave);
                let following = self.body.add(walk.task, one);
                let next = self.body.add(following, value);
                self.body.store(walk.next, next, 8);
                self.body.branch(done);
                self.body.label(leave);
                self.go_to_target(walk);
            }
            FlowOp::While => {
                let (value, _) = self.looked_at(walk);
                let goes_on = self.body.less(zero, value);
                self.body.branch_unless(goes_on, leave);
                let limit = self.word(walk, LIMIT);
                let may = self.body.less(zero, limit);
                self.body.branch_unless(may, fails);
                self.begin_iterations(walk, limit);
                self.body.branch(done);
                self.body.label(leave);
                self.go_to_target(walk);
                self.body.branch(done);
                self.body.label(fails);
                self.fail(walk);
            }
            FlowOp::WhileAgain => {
                let (value, _) = self.looked_at(walk);
                return self.again(walk, Some(value), done);
            }
            FlowOp::RepeatAgain => return self.again(walk, None, done),
            FlowOp::Repeat => {
                let [from_memory, constant, count, some] = [(); 4].map(|()| self.body.new.fresh_id());
                let address = self.word(walk, ADDRESS);
                let has = self.body.less(zero, address);
                // By way of the record itself.
                self.body.push(Op::BranchConditional, &[has, from_memory, constant]);
                self.body.label(from_memory);
                let (value, negative) = self.looked_at(walk);
                let is_negative = self.body.less(zero, negative);
                let value = self.body.value(Op::Select, ulong, &[is_negative, zero, value]);
                self.set_word(walk.record, COUNT, value);
                self.body.branch(count);
                self.body.label(constant);
                let value = self.word(walk, CONSTANT);
                self.set_word(walk.record, COUNT, value);
                self.body.branch(count);
                self.body.label(count);
                let (value, limit) = (self.counter(walk), self.word(walk, LIMIT));
                let fails_at = self.body.less(limit, value);
                self.body.push(Op::BranchConditional, &[fails_at, fails, some]);
                self.body.label(some);
                let is_some = self.body.less(zero, value);
                self.body.branch_unless(is_some, leave);
                self.begin_iterations(walk, value);
                self.body.branch(done);
                self.body.label(leave);
                self.go_to_target(walk);
                self.body.branch(done);
                self.body.label(fails);
                self.fail(walk);
            }
        }
        self.body.branch(done);
    }

    /// The types of the variables of the walk: the next task, and what is spent.
    pub(super) fn walk_variables(new: &mut oclave_spirv::Declarations<'_>) -> [u32; 2] {
        let ulong = new.int_type(64);
        [new.pointer_type(StorageClass::Function, ulong); 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_launch_is_read() {
        let end = |next: u64, failed: u64| {
            let mut bytes = [0; FlowEnd::BYTES];
            bytes[..8].copy_from_slice(&next.to_le_bytes());
            bytes[8..].copy_from_slice(&failed.to_le_bytes());
            FlowEnd::of(bytes, 7)
        };
        assert_eq!([end(7, 0), end(3, 0), end(7, 3)], [FlowEnd::Done, FlowEnd::GoOn(3), FlowEnd::Limit(2)]);
    }

    #[test]
    fn modules_without_jumps_have_no_such_tasks() {
        let value = FlowValue { address: 68, ..FlowValue::default() };
        let task =
            FlowTask { op: FlowOp::While, target: 9, value, limit: 5, constant: 4, cost: 3, counts: true };
        let mut layout = InterpreterLayout::default();
        assert_eq!(layout.flow(&task), None);
        layout.flow_tasks = Some(20);
        assert_eq!(layout.flow(&task), Some([23, 0, 9, 64, 0, 0, 5, 4, 0, 3, 32, 0, 1, 0, 0, 0]));
    }

    #[test]
    fn iterations_are_counted_over_all_runs() {
        let mut record = [0_u64; TaskRecord::WORDS];
        let mut begin = |count: u64, more: u64| {
            let unused = record[COUNT as usize];
            record[BEGUN as usize] = record[BEGUN as usize].wrapping_add(count).wrapping_sub(unused);
            record[COUNT as usize] = count - 1 - more;
            FlowTask::iterations(&record)
        };
        assert_eq!([begin(100, 4), begin(1, 0), begin(7, 6), begin(1 << 32, 1)], [5, 6, 13, 15]);
    }
}
