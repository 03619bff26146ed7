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
//!         Jump:   next = task.target; spent += task.cost; if (spent > budget) stop, to go on there
//!         Test:   if (the value is zero) next = task.target; else if (task.count == task.limit) fail; else task.count++
//!         Set:    task.target.count = the value, or a constant; if it is more than task.limit, fail
//!         Loop:   if (task.count == 0) next = task.target; else task.count--
//!         Switch: next += the value; if it is not less than task.limit, next = task.target
//! ```
//! One work-item runs all of it. What it writes behind the last task says where it stopped
//! ([`FlowEnd`]); the host launches it again from there. Counters are in the records, so that they
//! survive that.
//!
//! A value is masked and shifted out of the aligned word of 8 bytes that it is a part of.

use super::kernels::Writer;
use super::layout::{InterpreterLayout, TaskRecord};
use oclave_spirv::{Op, StorageClass};

/// What a task does that is no kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowOp {
    /// Goes on elsewhere.
    Jump,
    /// Goes on elsewhere if a value is zero; counts how often it is not.
    Test,
    /// Sets the counter of another task.
    Set,
    /// Goes on elsewhere if its counter is zero, or else counts down.
    Loop,
    /// Skips as many tasks as a value says.
    Switch,
}

pub(super) const OPS: [FlowOp; 5] = [FlowOp::Jump, FlowOp::Test, FlowOp::Set, FlowOp::Loop, FlowOp::Switch];

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowTask {
    /// What it does.
    pub op: FlowOp,
    /// The number of another task.
    pub target: u64,
    /// What it looks at.
    pub value: FlowValue,
    /// See above.
    pub limit: u64,
    /// What [`FlowOp::Set`] sets where there is no value.
    pub constant: u64,
    /// What [`FlowOp::Jump`] adds to what the launch has spent.
    pub cost: u64,
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

impl InterpreterLayout {
    /// The words of a task that decides which one is next; `None` in a module without jumps.
    pub fn flow(&self, task: &FlowTask) -> Option<[u64; TaskRecord::WORDS]> {
        let op = OPS.iter().position(|op| *op == task.op)? as u32;
        let mut words = [0; TaskRecord::WORDS];
        let FlowValue { address, mask, sign } = task.value;
        for (at, value) in [
            (0, u64::from(self.flow_tasks? + op)),
            (TARGET, task.target),
            (ADDRESS, address),
            (MASK, mask),
            (SIGN, sign),
            (LIMIT, task.limit),
            (CONSTANT, task.constant),
            (COST, task.cost),
        ] {
            if let Some(word) = words.get_mut(at as usize) {
                *word = value;
            }
        }
        Some(words)
    }
}

/// What the walk keeps in variables.
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
}

impl Writer<'_, '_> {
    /// The whole kernel. The parameters are the list, the first task, the end, and the budget; the
    /// variables are the next task, and what is spent.
    pub(super) fn walk(
        &mut self,
        parameters: &[u32],
        [next, spent]: [u32; 2],
        run: impl FnOnce(&mut Self, u32, &Walk),
    ) {
        let &[list, first, end, budget] = parameters else { return };
        let bytes = self.bytes();
        self.base = self.body.value(Op::Bitcast, bytes, &[list]);
        let zero = self.body.constant(0);
        self.body.store(next, first, 8);
        self.body.store(spent, zero, 8);
        let mut walk = Walk { list, end, budget, next, spent, task: 0, record: 0 };
        self.stop_at(&walk, end, zero);
        let [head, exit] = [(); 2].map(|()| self.body.new.fresh_id());
        self.body.branch(head);
        self.body.label(head);
        let ulong = self.body.ulong();
        walk.task = self.body.load(ulong, next, 8);
        let goes_on = self.body.less(walk.task, end);
        self.body.branch_unless(goes_on, exit);
        let one = self.body.constant(1);
        let following = self.body.add(walk.task, one);
        self.body.store(next, following, 8);
        walk.record = self.record(list, walk.task);
        run(self, walk.record, &walk);
        self.body.branch(head);
        self.body.label(exit);
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

    fn word(&mut self, record: u32, at: u64) -> u32 {
        let index = self.body.constant(at);
        let place = self.body.element(self.list, record, index);
        let ulong = self.body.ulong();
        self.body.load(ulong, place, 8)
    }

    fn set_word(&mut self, record: u32, at: u64, value: u32) {
        let index = self.body.constant(at);
        let place = self.body.element(self.list, record, index);
        self.body.store(place, value, 8);
    }

    fn go_to_target(&mut self, walk: &Walk) {
        let target = self.word(walk.record, TARGET);
        self.body.store(walk.next, target, 8);
    }

    /// The value of a task, and whether it is negative.
    fn looked_at(&mut self, walk: &Walk) -> (u32, u32) {
        let [seven, three] = [7, 3].map(|value| self.body.constant(value));
        let address = self.word(walk.record, ADDRESS);
        let within = self.body.arithmetic(Op::BitwiseAnd, address, seven);
        let aligned = self.body.arithmetic(Op::ISub, address, within);
        let pointer = self.body.value(Op::ConvertUToPtr, self.list, &[aligned]);
        let ulong = self.body.ulong();
        let word = self.body.load(ulong, pointer, 8);
        let shift = self.body.arithmetic(Op::ShiftLeftLogical, within, three);
        let shifted = self.body.arithmetic(Op::ShiftRightLogical, word, shift);
        let (mask, sign) = (self.word(walk.record, MASK), self.word(walk.record, SIGN));
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

    /// Writes what a task does that is no kernel's, and goes on at `done`.
    pub(super) fn flow_op(&mut self, op: FlowOp, walk: &Walk, done: u32) {
        let [zero, one] = [0, 1].map(|value| self.body.constant(value));
        let ulong = self.body.ulong();
        match op {
            FlowOp::Jump => {
                self.go_to_target(walk);
                let spent = self.body.load(ulong, walk.spent, 8);
                let cost = self.word(walk.record, COST);
                let spent = self.body.add(spent, cost);
                self.body.store(walk.spent, spent, 8);
                let is_over = self.body.less(walk.budget, spent);
                self.body.branch_unless(is_over, done);
                let target = self.word(walk.record, TARGET);
                self.stop_at(walk, target, zero);
                self.body.store(walk.next, walk.end, 8);
            }
            FlowOp::Test => {
                let [count, leave] = [(); 2].map(|()| self.body.new.fresh_id());
                let (value, _) = self.looked_at(walk);
                let goes_on = self.body.less(zero, value);
                self.body.push(Op::BranchConditional, &[goes_on, count, leave]);
                self.body.label(leave);
                self.go_to_target(walk);
                self.body.branch(done);
                self.body.label(count);
                let (count, limit) = (self.word(walk.record, COUNT), self.word(walk.record, LIMIT));
                let fails = self.body.new.fresh_id();
                let may = self.body.less(count, limit);
                self.body.branch_unless(may, fails);
                let count = self.body.add(count, one);
                self.set_word(walk.record, COUNT, count);
                self.body.branch(done);
                self.body.label(fails);
                self.fail(walk);
            }
            FlowOp::Set => {
                let [from_memory, constant, set] = [(); 3].map(|()| self.body.new.fresh_id());
                let address = self.word(walk.record, ADDRESS);
                let has = self.body.less(zero, address);
                // By way of the record itself.
                self.body.push(Op::BranchConditional, &[has, from_memory, constant]);
                self.body.label(from_memory);
                let (value, negative) = self.looked_at(walk);
                let is_negative = self.body.less(zero, negative);
                let value = self.body.value(Op::Select, ulong, &[is_negative, zero, value]);
                self.set_word(walk.record, COUNT, value);
                self.body.branch(set);
                self.body.label(constant);
                let value = self.word(walk.record, CONSTANT);
                self.set_word(walk.record, COUNT, value);
                self.body.branch(set);
                self.body.label(set);
                let (value, limit) = (self.word(walk.record, COUNT), self.word(walk.record, LIMIT));
                let target = self.word(walk.record, TARGET);
                let target = self.record(walk.list, target);
                self.set_word(target, COUNT, value);
                let fails = self.body.less(limit, value);
                self.body.branch_unless(fails, done);
                self.fail(walk);
            }
            FlowOp::Loop => {
                let leave = self.body.new.fresh_id();
                let count = self.word(walk.record, COUNT);
                let goes_on = self.body.less(zero, count);
                self.body.branch_unless(goes_on, leave);
                let count = self.body.arithmetic(Op::ISub, count, one);
                self.set_word(walk.record, COUNT, count);
                self.body.branch(done);
                self.body.label(leave);
                self.go_to_target(walk);
            }
            FlowOp::Switch => {
                let leave = self.body.new.fresh_id();
                let (value, negative) = self.looked_at(walk);
                let is_negative = self.body.less(zero, negative);
                let limit = self.word(walk.record, LIMIT);
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
        }
        self.body.branch(done);
    }

    /// The types of the variables.
    pub(super) fn walk_variables(new: &mut oclave_spirv::Rewriter<'_>) -> [u32; 2] {
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
        let task = FlowTask {
            op: FlowOp::Loop,
            target: 9,
            value: FlowValue::default(),
            limit: 5,
            constant: 4,
            cost: 3,
        };
        let mut layout = InterpreterLayout::default();
        assert_eq!(layout.flow(&task), None);
        layout.flow_tasks = Some(20);
        assert_eq!(layout.flow(&task), Some([23, 0, 9, 0, 0, 0, 5, 4, 0, 3, 0, 0, 0, 0, 0, 0]));
    }
}
