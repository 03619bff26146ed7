//! A second version of kernels, without checks.
//!
//! Compilers for CPUs calculate several work-items at once, but not where one of them may panic. In kernels with barriers,
//! each panic goes on to a barrier. So a kernel asks once, when it starts, whether none of its checks can fail in this launch.
//! The lengths of its slices, its other arguments, and the range tell it. Then it runs a copy without checks.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::{BuiltIn, FunctionControl, Op};

use super::barriers::reachable_from;
use super::builder::{TypeId, ValueId};
use super::code::{Block, Inst, effect, rename, targets, without_unreached};
use super::deferred::{Check, Place, can_begin_again, compared, place};
use super::function::Lower;
use super::ranges::{AtMost, Ranges, no_offset};

/// Kernels of more instructions are not copied.
const MOST_INSTRUCTIONS: usize = 4000;
/// More comparisons than these are not made when a kernel starts.
const MOST_CONDITIONS: usize = 48;

/// The version without checks.
pub(super) struct Unchecked {
    blocks: Vec<Block>,
    /// When it may be used.
    conditions: Vec<AtMost>,
    /// The label of the block that calls the other version.
    checked: ValueId,
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
            (self.output.group, self.output.dimensions),
            (index.clone(), &edges),
        );
        let mut conditions: Vec<AtMost> = Vec::new();
        // Block → where it goes if its check passes.
        let mut passed: BTreeMap<usize, u32> = BTreeMap::new();
        let mut unproved = Vec::new();
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
            if let Some(more) = ranges.prove(*condition, is_yes, at) {
                conditions.extend(more);
                passed.insert(at, if is_yes { *yes } else { *no });
                continue;
            }
            let length = ranges.definition(*condition).and_then(|inst| compared(inst, is_yes));
            let not_empty = length.and_then(|(_, length)| ranges.prove_positive(length, at));
            unproved.push(Check { block: block.label.word(), is_yes, not_empty });
        }
        let checked = self.output.builder.value();
        let mut blocks = self.without(&passed, &unproved, checked);
        conditions.extend(self.make_up(&mut blocks, unproved, checked)?);
        if self.waits() {
            blocks = self.unrolled(blocks);
            blocks = self.with_own_addresses(blocks);
        }
        if !conditions.is_empty() && self.leave_out_offsets(&mut blocks) {
            conditions.extend(no_offset(self.output.dimensions));
        }
        let mut seen = BTreeSet::new();
        conditions.retain(|condition| seen.insert(condition.clone()));
        if conditions.len() > MOST_CONDITIONS {
            return None;
        }
        let (blocks, _) = self.copies(blocks);
        Some(Unchecked { blocks, conditions, checked })
    }

    /// Lets loops make up for checks that are not known to pass. Gives the conditions for that; `None` if the version would not be
    /// faster.
    fn make_up(
        &mut self,
        blocks: &mut Vec<Block>,
        unproved: Vec<Check>,
        checked: ValueId,
    ) -> Option<Vec<AtMost>> {
        let mut conditions = Vec::new();
        if unproved.is_empty() {
            return Some(conditions);
        }
        if self.waits_for_others() || !can_begin_again(blocks, checked) {
            return None;
        }
        let mut is_faster = false;
        let (mut opaque, bool) = (self.loaded_from_host(blocks), self.bool());
        for check in unproved {
            match place(blocks, &check, &opaque, bool) {
                Place::OutsideLoops => {}
                Place::Deferrable(deferral) => {
                    conditions.extend(check.not_empty?);
                    opaque.insert(self.defer(blocks, &deferral, checked)?);
                    is_faster = true;
                }
                Place::Neither => return None,
            }
        }
        is_faster.then_some(conditions)
    }

    /// The blocks that are reached if checks pass. Those that may fail go on to a label then.
    fn without(&self, passed: &BTreeMap<usize, u32>, unproved: &[Check], failed: ValueId) -> Vec<Block> {
        let mut blocks = self.blocks.clone();
        for (at, label) in passed {
            if let Some(block) = blocks.get_mut(*at) {
                block.end = Some(effect(Op::Branch, &[*label]));
            }
        }
        for check in unproved {
            let block = blocks.iter_mut().find(|block| block.label.word() == check.block);
            let end = block.and_then(|block| block.end.as_mut());
            if let Some(target) = end.and_then(|end| end.operands.get_mut(if check.is_yes { 2 } else { 1 })) {
                *target = failed.word();
            }
        }
        without_unreached(blocks)
    }

    /// Replaces the range's offset by 0, and gives whether blocks asked for it. Where a kernel chooses its version, Intel's compiler
    /// takes a difference with the offset for any number, and writes one element at a time.
    fn leave_out_offsets(&mut self, blocks: &mut [Block]) -> bool {
        let code = blocks.iter().flat_map(|block| &block.code);
        let with_operand = |op: Op, is_one: &dyn Fn(u32) -> bool| -> BTreeSet<u32> {
            let found = code
                .clone()
                .filter(|inst| inst.op == op && inst.operands.first().is_some_and(|first| is_one(*first)));
            found.filter_map(|inst| inst.result).map(|(_, id)| id.word()).collect()
        };
        let builder = &self.output.builder;
        let vectors =
            with_operand(Op::Load, &|from| builder.built_in_of(from) == Some(BuiltIn::GlobalOffset));
        let parts = with_operand(Op::CompositeExtract, &|from| vectors.contains(&from));
        // What is left of differences.
        let ids: BTreeMap<u32, ValueId> =
            code.clone().filter_map(|inst| inst.result).map(|(_, id)| (id.word(), id)).collect();
        let difference = |inst: &Inst| match (inst.op, inst.operands.as_slice(), inst.result) {
            (Op::ISub, [from, part], Some((_, id))) if parts.contains(part) => {
                Some((id.word(), *ids.get(from)?))
            }
            _ => None,
        };
        let mut instead: BTreeMap<u32, ValueId> = code.clone().filter_map(difference).collect();
        let zero = self.number(64, 0);
        instead.extend(parts.iter().map(|part| (*part, zero)));
        rename(blocks, &instead);
        !parts.is_empty()
    }

    /// Writes a new first block, which chooses the version.
    ///
    /// The checked version is a function of its own: what it costs does not keep compilers from calculating several
    /// work-items of the other at once. It has no hint: on Intel, calls cost some kernels more, and inlined code others.
    /// In kernels with barriers, both versions are functions, so that passes against faults of drivers find the choice.
    pub(super) fn choose(&mut self, unchecked: Unchecked) {
        let mut versions = unchecked.blocks;
        let begins_again = versions.iter().any(|block| targets(block).contains(&unchecked.checked.word()));
        if unchecked.conditions.is_empty() && !begins_again {
            self.blocks = versions;
            return;
        }
        let end = Block { end: Some(effect(Op::Return, &[])), ..Block::new(self.output.builder.value()) };
        let waits = self.waits();
        let checked = std::mem::take(&mut self.blocks);
        let checked = self.call_of(checked, "checked", FunctionControl::NONE, (unchecked.checked, end.label));
        self.renew_variables(&mut versions);
        if waits {
            let label = self.output.builder.value();
            let call = self.call_of(versions, "unchecked", FunctionControl::INLINE, (label, end.label));
            self.variables.clear();
            versions = vec![call];
        }
        let Some(first) = versions.first().map(|block| block.label) else { return };
        let checked_label = checked.label;
        versions.extend([checked, end]);
        let label = self.output.builder.value();
        self.begin(label);
        match self.write_conditions(unchecked.conditions) {
            Some(passes) => {
                self.end(Op::BranchConditional, &[passes.word(), first.word(), checked_label.word()]);
            }
            None => self.end(Op::Branch, &[first.word()]),
        }
        self.blocks.append(&mut versions);
    }

    /// Makes a function of blocks, and gives a block with a label that calls it and goes to `then`.
    fn call_of(
        &mut self,
        mut blocks: Vec<Block>,
        name: &str,
        control: FunctionControl,
        (label, then): (ValueId, ValueId),
    ) -> Block {
        let arguments: Vec<(TypeId, ValueId)> =
            self.arguments.into_iter().flatten().map(|argument| (argument.ty, argument.id)).collect();
        let parameters: Vec<(TypeId, ValueId)> =
            arguments.iter().map(|(ty, _)| (*ty, self.output.builder.value())).collect();
        let of: BTreeMap<u32, ValueId> =
            arguments.iter().zip(&parameters).map(|((_, old), (_, new))| (old.word(), *new)).collect();
        rename(&mut blocks, &of);
        let code = self.assemble(blocks);
        let (void, function) = (self.output.builder.void_type(), self.output.builder.value());
        let name = format!("{}.{name}", self.output.kernel);
        self.output.builder.name(function, &name);
        self.output.add_function(function, control, void, &parameters, code);
        let mut block = Block::new(label);
        let mut operands = vec![function.word()];
        operands.extend(arguments.iter().map(|(_, id)| id.word()));
        let result = Some((void, self.output.builder.value()));
        block.code.push(Inst { op: Op::FunctionCall, result, operands });
        block.end = Some(effect(Op::Branch, &[then.word()]));
        block
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
}
