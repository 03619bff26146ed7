//! A second version of kernels, without checks.
//!
//! Compilers for CPUs calculate several work-items at once, but not where one of them may panic. In kernels with barriers,
//! each panic goes on to a barrier. So a kernel asks once, when it starts, whether none of its checks can fail in this launch.
//! The lengths of its slices, its other arguments, and the range tell it. Then it runs a copy without checks.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::{FunctionControl, Op, TypeId, ValueId};

use super::barriers::reachable_from;
use super::code::{Block, Inst, assemble, effect, rename, targets};
use super::function::Lower;
use super::ranges::{AtMost, Bound, Known, Ranges};

/// Kernels of more instructions are not copied.
const MOST_INSTRUCTIONS: usize = 4000;
/// More comparisons than these are not made when a kernel starts.
const MOST_CONDITIONS: usize = 48;

/// The version without checks.
pub(super) struct Unchecked {
    blocks: Vec<Block>,
    /// When it may be used.
    conditions: Vec<AtMost>,
}

impl Lower<'_, '_> {
    /// The version of a kernel without checks, if it has some, and all can be made when it starts.
    pub(super) fn unchecked(&mut self) -> Option<Unchecked> {
        let count: usize = self.blocks.iter().map(|block| block.code.len()).sum();
        // Not all devices take images in functions.
        let has_images = self.arguments?.iter().any(|argument| argument.dimensions.is_some());
        if self.panic_exits.is_empty() || has_images || count > MOST_INSTRUCTIONS {
            return None;
        }
        let lives = self.living();
        let (index, edges) = self.edges();
        let arguments = self.arguments?.iter().filter(|argument| {
            argument.pointee.is_none() && self.output.builder.int_width(argument.ty).is_some()
        });
        let arguments = arguments.map(|argument| (argument.id.word(), (argument.id, argument.ty))).collect();
        let mut ranges = Ranges::new(
            &self.output.builder,
            &self.blocks,
            arguments,
            self.output.group,
            (index.clone(), &edges),
        );
        let mut conditions: Vec<AtMost> = Vec::new();
        // Block → where it goes if its check passes.
        let mut passed: BTreeMap<usize, u32> = BTreeMap::new();
        for (at, block) in self.blocks.iter().enumerate().filter(|(at, _)| lives.contains(at)) {
            let to = edges.get(at)?;
            let is_safe =
                |to: &usize| lives.contains(to) || reachable_from(&edges, *to).is_disjoint(&self.panic_exits);
            if to.iter().all(is_safe) {
                continue;
            }
            let end = block.end.as_ref()?;
            let (Op::BranchConditional, [condition, yes, no, ..]) = (end.op, end.operands.as_slice()) else {
                return None;
            };
            let is_yes = index.get(yes).is_some_and(|to| lives.contains(to));
            let more = ranges.prove(*condition, is_yes, at)?;
            conditions.extend(more);
            passed.insert(at, if is_yes { *yes } else { *no });
        }
        let mut seen = BTreeSet::new();
        conditions.retain(|condition| seen.insert(condition.clone()));
        if conditions.len() > MOST_CONDITIONS {
            return None;
        }
        let mut blocks = self.without(&passed);
        if self.waits() {
            blocks = self.with_own_addresses(blocks);
        }
        let (blocks, _) = self.copies(blocks);
        Some(Unchecked { blocks, conditions })
    }

    /// The blocks that are reached if checks pass.
    fn without(&self, passed: &BTreeMap<usize, u32>) -> Vec<Block> {
        let mut blocks = self.blocks.clone();
        for (at, label) in passed {
            if let Some(block) = blocks.get_mut(*at) {
                block.end = Some(effect(Op::Branch, &[*label]));
            }
        }
        let index: BTreeMap<u32, usize> =
            blocks.iter().enumerate().map(|(at, block)| (block.label.word(), at)).collect();
        let (mut open, mut reached) = (vec![0], BTreeSet::new());
        let mut edges: BTreeSet<(u32, u32)> = BTreeSet::new();
        while let Some(at) = open.pop() {
            let Some(block) = blocks.get(at).filter(|_| reached.insert(at)) else { continue };
            for target in targets(block) {
                edges.insert((block.label.word(), target));
                open.extend(index.get(&target));
            }
        }
        let mut at = 0..;
        blocks.retain(|_| at.next().is_some_and(|at| reached.contains(&at)));
        for block in &mut blocks {
            let label = block.label.word();
            for phi in &mut block.phis {
                let pairs = phi
                    .operands
                    .chunks_exact(2)
                    .filter(|pair| pair.get(1).is_some_and(|from| edges.contains(&(*from, label))));
                phi.operands = pairs.flatten().copied().collect();
            }
        }
        blocks
    }

    /// Writes a new first block, which chooses the version.
    ///
    /// The checked version is a function of its own: what it costs does not keep compilers from calculating several
    /// work-items of the other at once. In kernels with barriers, both versions are functions, so that passes against faults
    /// of drivers find the choice.
    pub(super) fn choose(&mut self, unchecked: Unchecked) {
        let mut versions = unchecked.blocks;
        if unchecked.conditions.is_empty() {
            self.blocks = versions;
            return;
        }
        let end = Block { end: Some(effect(Op::Return, &[])), ..Block::new(self.output.builder.value()) };
        let waits = self.waits();
        let checked = std::mem::take(&mut self.blocks);
        let control = if waits { FunctionControl::INLINE } else { FunctionControl::DONT_INLINE };
        let checked = self.call_of(checked, "checked", control, end.label);
        self.renew_variables(&mut versions);
        if waits {
            let call = self.call_of(versions, "unchecked", control, end.label);
            self.variables.clear();
            versions = vec![call];
        }
        let Some(first) = versions.first().map(|block| block.label) else { return };
        let checked_label = checked.label;
        versions.extend([checked, end]);
        let label = self.output.builder.value();
        self.begin(label);
        let mut known = BTreeMap::new();
        let mut all = Vec::new();
        for (a, b) in unchecked.conditions {
            let a = self.known(&a, &mut known, &mut all);
            // Whether it can be calculated is checked.
            if *b == Known::Number(u64::MAX) {
                continue;
            }
            let b = self.known(&b, &mut known, &mut all);
            all.push(self.compared(Op::ULessThanEqual, a, b));
        }
        let bool = self.bool();
        match all.into_iter().reduce(|a, b| self.op(Op::LogicalAnd, bool, &[a, b])) {
            Some(passes) => {
                self.end(Op::BranchConditional, &[passes.word(), first.word(), checked_label.word()]);
            }
            None => self.end(Op::Branch, &[first.word()]),
        }
        self.blocks.append(&mut versions);
    }

    /// Makes a function of blocks, and gives a block that calls it and goes to `then`.
    fn call_of(
        &mut self,
        mut blocks: Vec<Block>,
        name: &str,
        control: FunctionControl,
        then: ValueId,
    ) -> Block {
        let arguments: Vec<(TypeId, ValueId)> =
            self.arguments.into_iter().flatten().map(|argument| (argument.ty, argument.id)).collect();
        let parameters: Vec<(TypeId, ValueId)> =
            arguments.iter().map(|(ty, _)| (*ty, self.output.builder.value())).collect();
        let of: BTreeMap<u32, ValueId> =
            arguments.iter().zip(&parameters).map(|((_, old), (_, new))| (old.word(), *new)).collect();
        rename(&mut blocks, &of);
        let code = assemble(&self.variables, &blocks);
        let (void, function) = (self.output.builder.void_type(), self.output.builder.value());
        let name = format!("{}.{name}", self.output.kernel);
        self.output.builder.name(function, &name);
        self.output.add_function(function, control, void, &parameters, code);
        let mut block = Block::new(self.output.builder.value());
        let mut operands = vec![function.word()];
        operands.extend(arguments.iter().map(|(_, id)| id.word()));
        let result = Some((void, self.output.builder.value()));
        block.code.push(Inst { op: Op::FunctionCall, result, operands });
        block.end = Some(effect(Op::Branch, &[then.word()]));
        block
    }

    /// The one of two numbers for which a comparison with the other holds. Intel's compiler takes results of built-in
    /// functions for different in each work-item.
    fn chosen(&mut self, op: Op, a: ValueId, b: ValueId) -> ValueId {
        let (ulong, is_first) = (self.int(64), self.compared(op, a, b));
        self.op(Op::Select, ulong, &[is_first, a, b])
    }

    /// Gives the variables of the function new ids, since another function has the old ones.
    fn renew_variables(&mut self, blocks: &mut [Block]) {
        let mut of = BTreeMap::new();
        for (_, id) in self.variables.iter_mut().filter_map(|variable| variable.result.as_mut()) {
            let new = self.output.builder.value_like(*id);
            of.insert(id.word(), new);
            *id = new;
        }
        rename(blocks, &of);
    }

    fn compared(&mut self, op: Op, a: ValueId, b: ValueId) -> ValueId {
        let bool = self.bool();
        self.op(op, bool, &[a, b])
    }

    /// Calculates a bound. `checks` gets what holds if it does not overflow.
    fn known(
        &mut self,
        bound: &Bound,
        known: &mut BTreeMap<Bound, ValueId>,
        checks: &mut Vec<ValueId>,
    ) -> ValueId {
        if let Some(id) = known.get(bound) {
            return *id;
        }
        let ulong = self.int(64);
        let mut both = |lower: &mut Self, a: &Bound, b: &Bound, checks: &mut Vec<ValueId>| {
            (lower.known(a, known, checks), lower.known(b, known, checks))
        };
        let id = match &**bound {
            Known::Number(value) => self.number(64, *value),
            Known::Argument(id) => {
                let is_wide = self.arguments.into_iter().flatten().any(|a| a.id == *id && a.ty == ulong);
                if is_wide { *id } else { self.op(Op::UConvert, ulong, &[*id]) }
            }
            Known::BuiltIn(what, axis) => self.built_in_part(*what, *axis),
            Known::Add(a, b) => {
                let (a, b) = both(self, a, b, checks);
                let sum = self.op(Op::IAdd, ulong, &[a, b]);
                checks.push(self.compared(Op::UGreaterThanEqual, sum, a));
                sum
            }
            Known::Sub(a, b) => {
                let (a, b) = both(self, a, b, checks);
                checks.push(self.compared(Op::UGreaterThanEqual, a, b));
                self.op(Op::ISub, ulong, &[a, b])
            }
            Known::Mul(a, b) => {
                let (a, b) = both(self, a, b, checks);
                // Factors of 32 bits are enough.
                let (bits, most) = (self.op(Op::BitwiseOr, ulong, &[a, b]), self.number(64, u32::MAX.into()));
                checks.push(self.compared(Op::ULessThanEqual, bits, most));
                self.op(Op::IMul, ulong, &[a, b])
            }
            Known::Div(a, b) => {
                let is_number = matches!(**b, Known::Number(_));
                let (a, mut b) = both(self, a, b, checks);
                if !is_number {
                    let one = self.number(64, 1);
                    checks.push(self.compared(Op::UGreaterThanEqual, b, one));
                    b = self.chosen(Op::UGreaterThan, b, one);
                }
                self.op(Op::UDiv, ulong, &[a, b])
            }
            Known::Min(a, b) => {
                let (a, b) = both(self, a, b, checks);
                self.chosen(Op::ULessThan, a, b)
            }
            Known::Max(a, b) => {
                let (a, b) = both(self, a, b, checks);
                self.chosen(Op::UGreaterThan, a, b)
            }
        };
        known.insert(bound.clone(), id);
        id
    }
}
