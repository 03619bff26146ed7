//! Control flow: branches, switches, and phis as copies on the edges that lead to them.
//!
//! A phi has two registers for each part. Predecessors write the first register before they branch.
//! The phi's block begins by copying it to the second register, which is the phi's value. Nothing
//! else reads the first one. So it may be written whichever way the branch goes, and phis of one
//! block may exchange their values. Writes for the fall-through edge stand behind the branch, so no
//! edge needs a block of its own. That matters, as the assembler unrolls only loops that end in one
//! conditional branch back. Control flow need not be structured.

use std::collections::{HashMap, HashSet};

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Ty};
use crate::types::Shape;

/// A block of the function.
#[derive(Debug)]
pub(crate) struct Block<'m> {
    pub(crate) label: u32,
    pub(crate) phis: Vec<Instruction<'m>>,
    pub(crate) instructions: Vec<Instruction<'m>>,
}

/// Values of a switch, one after the other, that lead to one label.
#[derive(Debug, PartialEq, Eq)]
struct Range<'t> {
    first: u64,
    last: u64,
    to: &'t str,
}

/// The ranges of sorted cases.
fn ranges(cases: &[(u64, String)]) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = Vec::with_capacity(cases.len());
    for (value, to) in cases {
        match ranges.last_mut() {
            Some(range) if range.to == to && range.last.checked_add(1) == Some(*value) => range.last = *value,
            _ => ranges.push(Range { first: *value, last: *value, to }),
        }
    }
    ranges
}

impl<'m> Body<'_, '_, 'm> {
    /// Writes what the phis of the block `to` get from the block `from`.
    fn feed(&mut self, from: u32, to: u32) -> Step {
        let block = self.block_of_label.get(&to).and_then(|index| self.blocks.get(*index));
        let phis = need(block)?.phis.clone();
        for phi in &phis {
            let (id, ty) = self.result(phi)?;
            let pairs = phi.operands().chunks_exact(2);
            let source =
                pairs.filter_map(|pair| <[u32; 2]>::try_from(pair).ok()).find(|[_, parent]| *parent == from);
            let [source, _] = source.ok_or(Stop::Broken("a phi without a value for a predecessor"))?;
            let shape = self.cx.shapes.shape(ty)?;
            let inputs = self.phi_inputs(id, &shape);
            let sources = self.value(source)?;
            for ((d, s), kind) in inputs.into_iter().zip(sources).zip(&shape.kinds) {
                self.copy(d, kind.class(), s);
            }
        }
        Ok(())
    }

    /// The registers that predecessors write.
    fn phi_inputs(&mut self, id: u32, shape: &Shape) -> Vec<Operand> {
        if let Some(inputs) = self.phi_inputs.get(&id) {
            return inputs.clone();
        }
        let inputs: Vec<Operand> = shape.kinds.iter().map(|kind| self.register(kind.class())).collect();
        self.phi_inputs.insert(id, inputs.clone());
        inputs
    }

    /// Whether every work-item of the kernel comes to the block in hand: no way from the entry to a
    /// return leads past it.
    pub(crate) fn all_arrive(&mut self) -> bool {
        let block = self.block;
        if !self.is_kernel {
            return false;
        }
        if let Some(&known) = self.for_all.get(&block) {
            return known;
        }
        let mut next: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut returns = HashSet::new();
        let (mut entry, mut label) = (None, 0);
        let body = self.cx.definition(self.function).map(|function| function.at).unwrap_or_default();
        for instruction in self.cx.definitions.module().instructions_from(body) {
            let operand = |index: usize| instruction.operand(index);
            match instruction.op() {
                Some(Op::FunctionEnd) => break,
                Some(Op::Label) => {
                    label = instruction.result_id().unwrap_or(0);
                    entry = entry.or(Some(label));
                }
                Some(Op::Branch) => next.entry(label).or_default().extend(operand(0)),
                Some(Op::BranchConditional) => {
                    next.entry(label).or_default().extend(operand(1).into_iter().chain(operand(2)));
                }
                // Literals among them are no labels, or lead further than control does.
                Some(Op::Switch) => next.entry(label).or_default().extend(instruction.operands()),
                Some(Op::Return) => drop(returns.insert(label)),
                _ => {}
            }
        }
        let mut open: Vec<u32> = entry.into_iter().collect();
        let mut seen = HashSet::from([block]);
        let mut past = false;
        while let Some(label) = open.pop() {
            if seen.insert(label) {
                past |= returns.contains(&label);
                open.extend(next.get(&label).into_iter().flatten());
            }
        }
        self.for_all.insert(block, !past);
        !past
    }

    /// The beginning of a block: its phis get their values.
    pub(crate) fn begin_phis(&mut self, phis: &[Instruction<'m>]) -> Step {
        for phi in phis {
            self.instruction = Some(*phi);
            let (id, ty) = self.result(phi)?;
            let shape = self.cx.shapes.shape(ty)?;
            let inputs = self.phi_inputs(id, &shape);
            let values = self.promise(id)?;
            for ((d, s), kind) in values.into_iter().zip(inputs).zip(&shape.kinds) {
                self.copy(d, kind.class(), s);
            }
        }
        Ok(())
    }

    /// Goes to a block, unless it comes next anyway.
    fn jump(&mut self, label: u32, next: Option<u32>) {
        if next != Some(label) {
            ptx!(self, "bra.uni $L{label}");
        }
    }

    /// The instruction that ends the block `from`; `next` is written behind it.
    pub(crate) fn terminate(&mut self, instruction: &Instruction<'m>, from: u32, next: Option<u32>) -> Step {
        match instruction.op() {
            Some(Op::Branch) => {
                let to = self.id(instruction, 0)?;
                self.feed(from, to)?;
                self.jump(to, next);
            }
            Some(Op::BranchConditional) => self.branch(instruction, from, next)?,
            Some(Op::Switch) => self.switch(instruction, from)?,
            Some(Op::Return) => ptx!(self, "ret"),
            Some(Op::ReturnValue) => self.return_value(instruction)?,
            // Nothing may come here; what does is stopped where that can be seen.
            Some(Op::Unreachable) => {
                ptx!(self, "trap");
                // Without an end the assembler thinks that control falls through.
                let end = if self.is_kernel { "exit" } else { "ret" };
                ptx!(self, "{end}");
            }
            _ => return Err(Stop::unsupported("it does not end blocks in kernels")),
        }
        Ok(())
    }

    fn branch(&mut self, instruction: &Instruction<'m>, from: u32, next: Option<u32>) -> Step {
        let condition = self.id(instruction, 0)?;
        let how = self.how_to_branch(condition);
        let (yes, no) = (self.id(instruction, 1)?, self.id(instruction, 2)?);
        let condition = self.scalar(condition)?;
        let only = match condition {
            Operand::Immediate(bits) => Some(if bits & 1 != 0 { yes } else { no }),
            Operand::Register(..) => (yes == no).then_some(yes),
        };
        if let Some(to) = only {
            self.feed(from, to)?;
            self.jump(to, next);
            return Ok(());
        }
        // Writes for the fall-through edge stand behind the branch. Before it, they would cost the
        // loop one more copy a round.
        if next == Some(yes) {
            self.feed(from, no)?;
            ptx!(self, "@!{condition} bra{how} $L{no}");
            self.feed(from, yes)
        } else {
            self.feed(from, yes)?;
            ptx!(self, "@{condition} bra{how} $L{yes}");
            self.feed(from, no)?;
            self.jump(no, next);
            Ok(())
        }
    }

    fn switch(&mut self, instruction: &Instruction<'m>, from: u32) -> Step {
        let (selector, default) = (self.id(instruction, 0)?, self.id(instruction, 1)?);
        let kind = self.kind_of(selector)?;
        let words = if kind.bits() > 32 { 2 } else { 1 };
        let mut cases: Vec<(u64, u32)> = Vec::new();
        for case in instruction.operands().get(2..).unwrap_or_default().chunks_exact(words + 1) {
            let &[low, ref rest @ ..] = case else { continue };
            let (high, to) = match *rest {
                [to] => (0, to),
                [high, to] => (high, to),
                _ => continue,
            };
            cases.push(((u64::from(low) | u64::from(high) << 32) & kind.mask(), to));
        }
        cases.sort_by_key(|(value, _)| *value);
        cases.dedup_by_key(|(value, _)| *value);
        let value = self.scalar(selector)?;
        let value = self.in_register(value, kind.class());
        let mut fed = HashSet::new();
        for to in cases.iter().map(|(_, to)| *to).chain([default]) {
            if fed.insert(to) {
                self.feed(from, to)?;
            }
        }
        let targets: Vec<(u64, String)> =
            cases.into_iter().map(|(value, to)| (value, format!("$L{to}"))).collect();
        let how = self.how_to_branch(selector);
        self.decide((kind, value), &targets, &format!("$L{default}"), how);
        Ok(())
    }

    /// The suffix of branches by a condition: whether all threads of a warp take them together.
    fn how_to_branch(&self, condition: u32) -> &'static str {
        if self.cx.facts.of(condition).uniform { ".uni" } else { "" }
    }

    /// A search among sorted cases, by halves.
    ///
    /// The assembler turns a jump by a table into comparisons, one value after the other. This was
    /// measured on an H100, with a loop over a switch of eight cases. With the table it took 1.5
    /// times as long where a warp's work-items all took one case. It took 4 times as long where
    /// they took seven.
    fn decide(
        &mut self,
        (kind, value): (Kind, Operand),
        cases: &[(u64, String)],
        otherwise: &str,
        how: &str,
    ) {
        let ranges = ranges(cases);
        let ty = kind.unsigned();
        // The label, the ranges, and the values that come there.
        let mut open = vec![(None, ranges.as_slice(), (0, kind.mask()))];
        while let Some((label, ranges, (least, most))) = open.pop() {
            if let Some(label) = label {
                let label: String = label;
                self.label(&label);
            }
            let (low, high) = ranges.split_at(ranges.len() / 2);
            if let (Some(_), Some(middle)) = (low.first(), high.first()) {
                let below = self.new_label();
                let p = self.compare("lo", ty, value, Operand::Immediate(middle.first));
                ptx!(self, "@{p} bra{how} {below}");
                open.push((Some(below), low, (least, middle.first - 1)));
                open.push((None, high, (middle.first, most)));
                continue;
            }
            let Some(range) = high.first() else {
                ptx!(self, "bra.uni {otherwise}");
                continue;
            };
            if range.first > least && range.first == range.last {
                let p = self.compare("ne", kind.untyped(), value, Operand::Immediate(range.first));
                ptx!(self, "@{p} bra{how} {otherwise}");
            } else {
                if range.first > least {
                    let p = self.compare("lo", ty, value, Operand::Immediate(range.first));
                    ptx!(self, "@{p} bra{how} {otherwise}");
                }
                if range.last < most {
                    let p = self.compare("hi", ty, value, Operand::Immediate(range.last));
                    ptx!(self, "@{p} bra{how} {otherwise}");
                }
            }
            ptx!(self, "bra.uni {}", range.to);
        }
    }

    /// `OpSelect`.
    pub(crate) fn select(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let (condition, a, b) =
            (self.id(instruction, 0)?, self.id(instruction, 1)?, self.id(instruction, 2)?);
        let conditions = self.value(condition)?;
        let shape = self.cx.shapes.shape(ty)?;
        let (a, b) = (self.value(a)?, self.value(b)?);
        let mut parts = Vec::with_capacity(shape.kinds.len());
        for (index, ((a, b), kind)) in a.into_iter().zip(b).zip(&shape.kinds).enumerate() {
            let condition = conditions.get(index).or(conditions.first()).copied();
            parts.push(self.pick(*kind, need(condition)?, a, b));
        }
        self.bind(id, &parts)
    }

    /// A loop over `counter` from `start` (in a register) below `end`, in steps of `step`; `write`
    /// writes what it does.
    pub(crate) fn counted(
        &mut self,
        start: Operand,
        end: Operand,
        step: Operand,
        write: impl FnOnce(&mut Self, Operand) -> Step,
    ) -> Step {
        let (head, done) = (self.new_label(), self.new_label());
        let counter = self.register(Class::B64);
        self.copy(counter, Class::B64, start);
        self.label(&head);
        let p = self.compare("hs", Ty::U64, counter, end);
        ptx!(self, "@{p} bra {done}");
        write(self, counter)?;
        ptx!(self, "add.s64 {counter}, {counter}, {step}");
        ptx!(self, "bra.uni {head}");
        self.label(&done);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_one_label_are_a_range() {
        let cases: Vec<(u64, String)> = [(0, "a"), (1, "a"), (2, "b"), (4, "b"), (u64::MAX, "b")]
            .map(|(value, to)| (value, to.to_owned()))
            .to_vec();
        let found: Vec<_> = ranges(&cases).iter().map(|range| (range.first, range.last, range.to)).collect();
        assert_eq!(found, [(0, 1, "a"), (2, 2, "b"), (4, 4, "b"), (u64::MAX, u64::MAX, "b")]);
        assert!(ranges(&[]).is_empty());
    }
}
