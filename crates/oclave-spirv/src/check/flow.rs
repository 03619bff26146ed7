//! Control flow of functions: branches, phis, dominance, calls.

use super::annotations::is_string;
use super::layout::{Function, Layout};
use super::{Context, broken, types, values};
use crate::Result;
use crate::analysis::control_flow::targets;
use crate::analysis::dominators::{Graph, Tree};
use crate::transform::capabilities::declared;
use crate::transform::hints::OPT_NONE;
use crate::{Fit, Instruction, Op, Role, Type};

/// Checks the bodies of all functions.
pub(super) fn check(context: &Context<'_, '_>, layout: &Layout<'_>) -> Result<()> {
    let mut calls = Vec::with_capacity(layout.functions.len());
    for function in &layout.functions {
        signature(context, function)?;
        calls.push(Body::new(context, layout, function)?.check()?);
    }
    no_recursion(layout, &calls)
}

/// The function's type, result and parameters agree.
fn signature(context: &Context<'_, '_>, function: &Function<'_>) -> Result<()> {
    let begin = &function.begin;
    // Inline, DontInline, Pure, Const, OptNoneINTEL.
    if begin.operand(0).is_some_and(|control| control & !0x1_000f != 0) {
        return Err(broken(begin, "unknown function control"));
    }
    let optnone = declared(context.module).any(|c| c == OPT_NONE);
    if begin.operand(0).is_some_and(|control| control & 0x1_0000 != 0) && !optnone {
        return Err(broken(begin, "needs the capability OptNoneEXT, which is not declared"));
    }
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
    /// Nodes are indices into the function's blocks.
    predecessors: Graph,
    dominators: Tree,
}

/// The ids of an instruction: word, role, id.
type Ids = Vec<(usize, Role, u32)>;

impl<'a, 'm> Body<'a, 'm> {
    fn new(context: &'a Context<'a, 'm>, layout: &'a Layout<'m>, function: &'a Function<'m>) -> Result<Self> {
        let blocks = layout.blocks.get(function.blocks.clone()).unwrap_or_default();
        let mut graph = Graph::new();
        for block in blocks {
            let labels = targets(context.definitions, &block.terminator);
            for &label in &labels {
                match layout.block_of_label(function, label) {
                    Some(0) => return Err(broken(&block.terminator, "goes to the function's first block")),
                    Some(_) => {}
                    None => {
                        return Err(broken(
                            &block.terminator,
                            format!("%{label} is no label of its function"),
                        ));
                    }
                }
            }
            graph.push(labels.iter().filter_map(|&label| layout.block_of_label(function, label)));
        }
        let predecessors = graph.reversed();
        let dominators = Tree::of(&graph, &predecessors, 0);
        Ok(Self { context, layout, function, predecessors, dominators })
    }

    /// Checks the whole function; the result are the functions that are called.
    fn check(&self) -> Result<Vec<usize>> {
        let mut ids = Ids::new();
        // What stands before the first block.
        for instruction in self.context.module.instructions_from(self.function.begin.at) {
            if instruction.is(Op::Label) || instruction.is(Op::FunctionEnd) {
                break;
            }
            self.ids(&instruction, &mut ids)?;
        }
        let blocks = self.layout.blocks.get(self.function.blocks.clone()).unwrap_or_default();
        let mut calls = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            let (mut phis, mut variables, mut merge) = (true, number == 0, None);
            for instruction in self.context.module.instructions_from(block.start) {
                let Some(op) = instruction.op() else { continue };
                self.context.requirements.instruction(&instruction)?;
                self.ids(&instruction, &mut ids)?;
                if instruction.at != block.terminator.at
                    && !matches!(op, Op::Line | Op::NoLine)
                    && let Some(merge) = merge
                {
                    return Err(broken(&merge, "does not stand before a branch"));
                }
                match op {
                    Op::Phi if !phis => return Err(broken(&instruction, "stands after another instruction")),
                    Op::Phi => self.phi(&instruction, number)?,
                    Op::Line if !instruction.operand(0).is_some_and(|id| is_string(self.context, id)) => {
                        return Err(broken(&instruction, "its file is no OpString"));
                    }
                    Op::Line | Op::NoLine => {}
                    Op::Variable if !variables => {
                        return Err(broken(&instruction, "stands after other instructions"));
                    }
                    Op::Variable => {
                        phis = false;
                        types::variable(self.context, &instruction, true)?;
                    }
                    _ => {
                        variables &= op == Op::ExtInst
                            && instruction.operand(0) != self.context.definitions.opencl_std();
                        if matches!(op, Op::LoopMerge | Op::SelectionMerge) {
                            merge = Some(instruction);
                        }
                        // llvm-spirv puts debug scopes between phis.
                        phis &= op == Op::ExtInst
                            && instruction.operand(0) != self.context.definitions.opencl_std();
                        self.dominance(&instruction, &ids, number)?;
                        values::check(self.context, &instruction, op, &ids)
                            .map_err(|what| broken(&instruction, what))?;
                    }
                }
                if op == Op::FunctionCall {
                    calls.extend(self.callee(&instruction));
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

    /// Reads the ids of an instruction. Each is defined, outside of functions or in this one.
    fn ids(&self, instruction: &Instruction<'_>, ids: &mut Ids) -> Result<()> {
        ids.clear();
        let fit = instruction.visit_ids(self.context.definitions, |index, role| {
            ids.extend(instruction.word(index).map(|id| (index, role, id)));
        });
        if fit == Fit::Malformed {
            return Err(broken(instruction, "operands are missing or left over"));
        }
        for &(_, role, id) in ids.iter().filter(|(_, role, _)| matches!(role, Role::Id | Role::ResultType)) {
            match self.layout.block_of.value(id) {
                0 if self.context.definitions.word_index(id).is_none() => {
                    return Err(broken(instruction, format!("%{id} is not defined")));
                }
                0 => {}
                block if role == Role::Id && self.function.blocks.contains(&(block as usize - 1)) => {}
                _ => return Err(broken(instruction, format!("%{id} is defined in another function"))),
            }
        }
        Ok(())
    }

    /// A phi has a value of its type for each predecessor, and each value comes that way.
    fn phi(&self, phi: &Instruction<'_>, block: usize) -> Result<()> {
        let Some(ty) = phi.result_type().map(|ty| self.context.same(ty)) else { return Ok(()) };
        let predecessors = self.predecessors.successors(block);
        let mut parents = Vec::with_capacity(predecessors.len());
        for pair in phi.operands().chunks_exact(2) {
            let &[value, parent] = pair else { continue };
            let from = self.layout.block_of_label(self.function, parent);
            let Some(from) = from.filter(|from| predecessors.contains(from)) else {
                return Err(broken(phi, format!("%{parent} does not go to this block")));
            };
            if self.context.value_type(value) != Some(ty) {
                return Err(broken(phi, format!("%{value} is not of its type")));
            }
            parents.push(from);
            if let Some(defined) = self.local_block(value)
                && self.dominators.is_reached(from)
                && !(self.dominators.is_reached(defined) && self.dominators.is_ancestor(defined, from))
            {
                return Err(broken(phi, format!("%{value} is not defined on the way through %{parent}")));
            }
        }
        parents.sort_unstable();
        parents.dedup();
        // A block that goes here twice stands there twice.
        if !predecessors.chunk_by(|a, b| a == b).filter_map(|same| same.first()).eq(&parents) {
            return Err(broken(phi, "has no value for one of the ways to its block"));
        }
        Ok(())
    }

    /// What an instruction uses is defined on every way to it.
    fn dominance(&self, instruction: &Instruction<'_>, ids: &Ids, block: usize) -> Result<()> {
        if !self.dominators.is_reached(block) {
            return Ok(());
        }
        for &(_, role, id) in ids {
            let (Role::Id, Some(defined)) = (role, self.local_block(id)) else { continue };
            let definition = self.context.definitions.word_index(id);
            let sound = if defined == block {
                definition < Some(instruction.at)
            } else {
                self.dominators.is_reached(defined) && self.dominators.is_ancestor(defined, block)
            };
            // Labels are everywhere.
            if !sound && self.layout.block_of_label(self.function, id).is_none() {
                return Err(broken(instruction, format!("%{id} is not defined on every way to it")));
            }
        }
        Ok(())
    }

    /// Index of the block of this function that defines `id`; parameters are of the first.
    fn local_block(&self, id: u32) -> Option<usize> {
        let block = (self.layout.block_of.value(id) as usize).checked_sub(1)?;
        block.checked_sub(self.function.blocks.start).filter(|&b| b < self.predecessors.len())
    }

    /// Index of the function that an `OpFunctionCall` calls.
    fn callee(&self, call: &Instruction<'_>) -> Option<usize> {
        let at = self.context.definitions.word_index(call.operand(0)?)?;
        self.layout.functions.binary_search_by_key(&at, |f| f.begin.at).ok()
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

/// No function calls itself, by way of others or not: no OpenCL device can, and drivers die of it.
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
