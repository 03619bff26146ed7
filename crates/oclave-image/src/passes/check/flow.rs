//! Control flow of functions: branches, phis, dominance, calls.

use std::collections::HashMap;

use super::dominators::Dominators;
use super::layout::{Function, Layout};
use super::{Context, broken, types, values};
use crate::Result;
use crate::spirv::{Instruction, Op, Role, Type};

/// Checks the bodies of all functions.
pub(super) fn check(context: &Context<'_, '_>, layout: &Layout<'_>) -> Result<()> {
    let index: HashMap<u32, usize> =
        layout.functions.iter().enumerate().filter_map(|(i, f)| Some((f.begin.result_id()?, i))).collect();
    let mut calls = Vec::with_capacity(layout.functions.len());
    for function in &layout.functions {
        signature(context, function)?;
        calls.push(Body::new(context, layout, function)?.check(&index)?);
    }
    no_recursion(layout, &calls)
}

/// The function's type, result and parameters agree.
fn signature(context: &Context<'_, '_>, function: &Function<'_>) -> Result<()> {
    let begin = &function.begin;
    let Some(Type::Function { returns, parameters }) = begin.operand(1).and_then(|ty| context.ty(ty)) else {
        return Err(broken(begin, "its type is no function type"));
    };
    if begin.result_type().map(|ty| context.same(ty)) != Some(context.same(returns)) {
        return Err(broken(begin, "does not return what its type says"));
    }
    let same = |(&id, &ty): (&u32, &u32)| context.value_type(id) == Some(context.same(ty));
    if parameters.len() != function.parameters.len() || !function.parameters.iter().zip(parameters).all(same)
    {
        return Err(broken(begin, "does not have the parameters that its type says"));
    }
    Ok(())
}

/// A function with its graph of blocks.
struct Body<'a, 'm> {
    context: &'a Context<'a, 'm>,
    layout: &'a Layout<'m>,
    function: &'a Function<'m>,
    /// Per block, as indices into the function's blocks; each successor once.
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<u32>>,
    dominators: Dominators,
}

impl<'a, 'm> Body<'a, 'm> {
    fn new(context: &'a Context<'a, 'm>, layout: &'a Layout<'m>, function: &'a Function<'m>) -> Result<Self> {
        let blocks = layout.blocks.get(function.blocks.clone()).unwrap_or_default();
        let by_label: HashMap<u32, usize> = blocks.iter().enumerate().map(|(i, b)| (b.label, i)).collect();
        let mut successors = Vec::with_capacity(blocks.len());
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for block in blocks {
            let mut next = Vec::new();
            for label in targets(context, &block.terminator) {
                match by_label.get(&label) {
                    Some(0) => return Err(broken(&block.terminator, "goes to the function's first block")),
                    Some(&i) => next.push(i),
                    None => {
                        return Err(broken(
                            &block.terminator,
                            format!("%{label} is no label of its function"),
                        ));
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            for &i in &next {
                if let Some(list) = predecessors.get_mut(i) {
                    list.push(block.label);
                }
            }
            successors.push(next);
        }
        predecessors.iter_mut().for_each(|p| p.sort_unstable());
        let dominators = Dominators::new(&successors);
        Ok(Self { context, layout, function, successors, predecessors, dominators })
    }

    /// Checks all blocks; the result are the functions that are called.
    fn check(&self, functions: &HashMap<u32, usize>) -> Result<Vec<usize>> {
        let blocks = self.layout.blocks.get(self.function.blocks.clone()).unwrap_or_default();
        let mut calls = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            let mut phis = true;
            for instruction in self.context.module.instructions_from(block.start) {
                let Some(op) = instruction.op() else { continue };
                match op {
                    Op::Phi if !phis => return Err(broken(&instruction, "stands after another instruction")),
                    Op::Phi => self.phi(&instruction, number)?,
                    Op::Line | Op::NoLine => {}
                    Op::Variable => {
                        phis = false;
                        types::variable(self.context, &instruction, true)?;
                    }
                    _ => {
                        // llvm-spirv puts debug scopes between phis.
                        phis &= op == Op::ExtInst
                            && instruction.operand(0) != self.context.definitions.opencl_std();
                        self.dominance(&instruction, number)?;
                        values::check(self.context, &instruction, op)
                            .map_err(|what| broken(&instruction, what))?;
                    }
                }
                if op == Op::FunctionCall {
                    calls.extend(instruction.operand(0).and_then(|f| functions.get(&f)));
                }
                if instruction.at == block.terminator.at {
                    self.returns(&instruction, op)?;
                    break;
                }
            }
        }
        calls.sort_unstable();
        calls.dedup();
        Ok(calls)
    }

    /// A phi has a value of its type for each predecessor, and each value comes that way.
    fn phi(&self, phi: &Instruction<'_>, block: usize) -> Result<()> {
        let Some(ty) = phi.result_type().map(|ty| self.context.same(ty)) else { return Ok(()) };
        let predecessors = self.predecessors.get(block).map(Vec::as_slice).unwrap_or_default();
        let mut parents = Vec::new();
        for pair in phi.operands().chunks_exact(2) {
            let &[value, parent] = pair else { continue };
            if predecessors.binary_search(&parent).is_err() {
                return Err(broken(phi, format!("%{parent} does not go to this block")));
            }
            if self.context.value_type(value) != Some(ty) {
                return Err(broken(phi, format!("%{value} is not of its type")));
            }
            parents.push(parent);
            let from = self.local_block(parent);
            let defined = self.local_block(value);
            if let (Some(from), Some(defined)) = (from, defined)
                && self.dominators.is_reachable(from)
                && !self.dominators.dominates(defined, from)
            {
                return Err(broken(phi, format!("%{value} is not defined on the way through %{parent}")));
            }
        }
        parents.sort_unstable();
        parents.dedup();
        if parents != predecessors {
            return Err(broken(phi, "has no value for one of the ways to its block"));
        }
        Ok(())
    }

    /// What an instruction uses is defined on every way to it.
    fn dominance(&self, instruction: &Instruction<'_>, block: usize) -> Result<()> {
        if !self.dominators.is_reachable(block) {
            return Ok(());
        }
        let mut wrong = None;
        instruction.visit_ids(self.context.definitions, |index, role| {
            let (Role::Id, Some(id)) = (role, instruction.word(index)) else { return };
            let Some(defined) = self.local_block(id) else { return };
            let definition = self.context.definitions.instruction(id);
            if definition.is_none_or(|d| d.is(Op::Label)) {
                return;
            }
            let sound = if defined == block {
                definition.is_some_and(|d| d.at < instruction.at)
            } else {
                self.dominators.is_reachable(defined) && self.dominators.dominates(defined, block)
            };
            if !sound {
                wrong = Some(id);
            }
        });
        match wrong {
            Some(id) => Err(broken(instruction, format!("%{id} is not defined on every way to it"))),
            None => Ok(()),
        }
    }

    /// Index of the block of this function that defines `id`; parameters are of the first.
    fn local_block(&self, id: u32) -> Option<usize> {
        let block = (self.layout.block_of.value(id) as usize).checked_sub(1)?;
        block.checked_sub(self.function.blocks.start).filter(|&b| b < self.successors.len())
    }

    fn returns(&self, instruction: &Instruction<'_>, op: Op) -> Result<()> {
        let returns = self.function.begin.result_type().map(|ty| self.context.same(ty));
        let void = returns.and_then(|ty| self.context.ty(ty)) == Some(Type::Void);
        let sound = match op {
            Op::Return => void,
            Op::ReturnValue => {
                !void && instruction.operand(0).and_then(|v| self.context.value_type(v)) == returns
            }
            _ => true,
        };
        if sound { Ok(()) } else { Err(broken(instruction, "does not return what its function does")) }
    }
}

/// The labels that a terminator goes to.
fn targets(context: &Context<'_, '_>, terminator: &Instruction<'_>) -> Vec<u32> {
    let operands = terminator.operands();
    match terminator.op() {
        Some(Op::Branch) => operands.first().copied().into_iter().collect(),
        Some(Op::BranchConditional) => operands.get(1..3).unwrap_or_default().to_vec(),
        Some(Op::Switch) => {
            let step = context.definitions.literal_words(operands.first().copied().unwrap_or(0)) + 1;
            let cases = operands.get(2..).unwrap_or_default().chunks(step).filter_map(|case| case.last());
            operands.get(1).into_iter().chain(cases).copied().collect()
        }
        _ => Vec::new(),
    }
}

/// No function calls itself, by way of others or not: no OpenCL device can, and PoCL dies of it.
fn no_recursion(layout: &Layout<'_>, calls: &[Vec<usize>]) -> Result<()> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; calls.len()];
    let mut stack = Vec::new();
    for root in 0..calls.len() {
        if state.get(root) != Some(&State::New) {
            continue;
        }
        stack.push((root, 0));
        while let Some((function, next)) = stack.pop() {
            if let Some(s) = state.get_mut(function) {
                *s = State::Open;
            }
            let Some(&callee) = calls.get(function).and_then(|c| c.get(next)) else {
                if let Some(s) = state.get_mut(function) {
                    *s = State::Done;
                }
                continue;
            };
            stack.push((function, next + 1));
            match state.get(callee) {
                Some(State::New) => stack.push((callee, 0)),
                Some(State::Open) => {
                    return match layout.functions.get(callee) {
                        Some(f) => Err(broken(&f.begin, "calls itself, which no OpenCL device can")),
                        None => Ok(()),
                    };
                }
                _ => {}
            }
        }
    }
    Ok(())
}
