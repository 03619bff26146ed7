//! Writes the blocks of functions where they are called.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Bodies, is_call_to};
use crate::Result;
use crate::transform::decorations::Decorations;
use crate::{Decoration, Definitions, Instruction, Module, Op, Rewriter, StorageClass, Type, TypeTable};

/// `FuncParamAttr ByVal`.
const BY_VALUE: u32 = 2;

/// A call that becomes blocks.
struct Call {
    callee: u32,
    /// The ids of the copy, for those of the function.
    ids: HashMap<u32, u32>,
    /// Where the caller goes on.
    rest: u32,
    /// Structs by value: a variable of the copy, its type, and what is copied there.
    copies: Vec<(u32, u32, u32)>,
}

impl Call {
    /// The id of the copy; the same id for what is outside of the function.
    fn map(&self, id: u32) -> u32 {
        self.ids.get(&id).copied().unwrap_or(id)
    }
}

/// Copies a module, with blocks for some of its calls.
pub(super) struct Inliner<'a, 'm> {
    new: Rewriter<'m>,
    bodies: &'a Bodies<'m>,
    decorations: Decorations,
    by_value: BTreeSet<u32>,
    /// Instruction sets that describe the source.
    debug: BTreeSet<u32>,
    /// Calls that run in step with the one before them.
    abreast: &'a mut BTreeSet<u32>,
}

impl<'a, 'm> Inliner<'a, 'm> {
    pub(super) fn new(
        definitions: &'m Definitions<'m>,
        bodies: &'a Bodies<'m>,
        abreast: &'a mut BTreeSet<u32>,
    ) -> Self {
        let is_by_value = |decoration: &[u32]| *decoration == [Decoration::FuncParamAttr as u32, BY_VALUE];
        let is_linkage =
            |decoration: &[u32]| decoration.first() == Some(&(Decoration::LinkageAttributes as u32));
        let decorations =
            Decorations::of(definitions, |decoration| !is_by_value(decoration) && !is_linkage(decoration));
        let (mut by_value, mut debug) = (BTreeSet::new(), BTreeSet::new());
        for instruction in definitions.module().instructions().take_while(|i| !i.is(Op::Function)) {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::Decorate), &[id, ref decoration @ ..]) if is_by_value(decoration) => {
                    by_value.insert(id);
                }
                _ if instruction.imports_description() => debug.extend(instruction.result_id()),
                _ => {}
            }
        }
        Self { new: Rewriter::new(definitions), bodies, decorations, by_value, debug, abreast }
    }

    /// The module with these calls inlined: `wanted` says for a caller which functions it takes in.
    ///
    /// # Errors
    /// As [`Rewriter::finish`].
    pub(super) fn write(mut self, wanted: &BTreeMap<u32, BTreeSet<u32>>) -> Result<Module> {
        let gone = self.results_of_nothing(wanted);
        let mut instructions = self.new.definitions().module().instructions();
        while let Some(instruction) = instructions.next() {
            let callees = instruction.result_id().filter(|_| instruction.is(Op::Function));
            let Some((id, callees)) = callees.and_then(|id| Some((id, wanted.get(&id)?))) else {
                self.new.copy_unless_gone(&instruction, |id| gone.contains(&id));
                continue;
            };
            let Some(body) = self.bodies.get(&id) else {
                self.new.copy(&instruction);
                continue;
            };
            self.function(body, callees);
            instructions.by_ref().find(|i| i.is(Op::FunctionEnd));
        }
        self.new.finish()
    }

    /// The results of calls that go and return nothing. Decorations may name them.
    fn results_of_nothing(&self, wanted: &BTreeMap<u32, BTreeSet<u32>>) -> BTreeSet<u32> {
        let types = TypeTable::new(self.new.definitions());
        let is_void = |call: &&Instruction<'_>| {
            call.result_type().is_some_and(|ty| matches!(types.ty(ty), Some(Type::Void)))
        };
        let calls = wanted.iter().flat_map(|(caller, callees)| {
            let body = self.bodies.get(caller).map(Vec::as_slice).unwrap_or_default();
            body.iter().filter(|i| is_call_to(i, callees))
        });
        calls.filter(is_void).filter_map(Instruction::result_id).collect()
    }

    fn function(&mut self, body: &[Instruction<'m>], callees: &BTreeSet<u32>) {
        let mut calls: BTreeMap<usize, Call> = BTreeMap::new();
        // Labels of blocks whose end is in another block now.
        let mut ends: HashMap<u32, u32> = HashMap::new();
        let mut label = 0;
        for instruction in body {
            if instruction.is(Op::Label) {
                label = instruction.result_id().unwrap_or(0);
            }
            if is_call_to(instruction, callees)
                && let Some(call) = self.call(instruction)
            {
                ends.insert(label, call.rest);
                calls.insert(instruction.at, call);
            }
        }
        let (mut in_entry, mut is_split) = (false, false);
        let mut body_rest = body.iter();
        while let Some(instruction) = body_rest.next() {
            if in_entry {
                in_entry = false;
                calls.values().for_each(|call| self.variables(call));
            }
            match instruction.op() {
                Some(Op::Label) => {
                    in_entry = instruction.result_id() == first_label(body);
                    is_split = false;
                    self.new.copy(instruction);
                }
                Some(Op::Phi) => {
                    self.new.copy_mapped(instruction, |id| ends.get(&id).copied().unwrap_or(id));
                }
                // A hint for the block that the loop began with.
                Some(Op::LoopMerge | Op::SelectionMerge) if is_split => {}
                _ => match calls.get(&instruction.at) {
                    Some(call) => {
                        is_split = true;
                        let others = self.in_step(call, body_rest.as_slice(), &calls);
                        match others.as_slice() {
                            [] => self.blocks(instruction, call),
                            others => {
                                let first = [(instruction, call)];
                                self.block_in_step(&[&first, others].concat());
                                body_rest.nth(others.len() - 1);
                            }
                        }
                    }
                    None => self.new.copy(instruction),
                },
            }
        }
    }

    fn call(&mut self, instruction: &Instruction<'m>) -> Option<Call> {
        let (&callee, arguments) = instruction.operands().split_first()?;
        let body = self.bodies.get(&callee)?;
        let mut ids = HashMap::new();
        let mut copies = Vec::new();
        let mut arguments = arguments.iter();
        let types = TypeTable::new(self.new.definitions());
        for defined in body.iter().skip(1) {
            let Some(id) = defined.result_id() else { continue };
            let mut new = self.new.fresh_id();
            if defined.is(Op::FunctionParameter) {
                let argument = *arguments.next()?;
                if self.by_value.contains(&id) && is_private(&types, defined) {
                    copies.push((new, defined.result_type()?, argument));
                    // A struct may be aligned to more than its members are.
                    let is_alignment = |kind| kind == Decoration::Alignment as u32;
                    self.decorations.copy(&mut self.new, new, id, is_alignment);
                } else {
                    new = argument;
                }
            } else if !self.is_debug(defined) && !defined.is(Op::Label) {
                // The first label is not written.
                self.decorations.copy(&mut self.new, new, id, |_| true);
            }
            ids.insert(id, new);
        }
        Some(Call { callee, ids, rest: self.new.fresh_id(), copies })
    }

    /// Whether an instruction describes the source. These are not copied.
    fn is_debug(&self, instruction: &Instruction<'_>) -> bool {
        instruction.is(Op::ExtInst) && instruction.operand(0).is_some_and(|set| self.debug.contains(&set))
    }

    /// The private variables of a call.
    fn variables(&mut self, call: &Call) {
        for (variable, pointer, _) in &call.copies {
            self.new.push(Op::Variable, &[*pointer, *variable, StorageClass::Function as u32]);
        }
        let body = self.bodies.get(&call.callee).map(Vec::as_slice).unwrap_or_default();
        for variable in body.iter().filter(|i| i.is(Op::Variable)) {
            if let (Some(ty), Some(id)) = (variable.result_type(), variable.result_id()) {
                let id = call.map(id);
                self.new.push(Op::Variable, &[ty, id, StorageClass::Function as u32]);
            }
        }
    }

    /// The blocks of a call, and the beginning of the one where the caller goes on.
    fn blocks(&mut self, instruction: &Instruction<'m>, call: &Call) {
        let map = |id: u32| call.map(id);
        let body = self.bodies.get(&call.callee).map(Vec::as_slice).unwrap_or_default();
        let (mut label, mut returned) = (0, Vec::new());
        for inner in body.iter().skip_while(|i| !i.is(Op::Label)) {
            match (inner.op(), inner.operands()) {
                (Some(Op::Label), _) => {
                    let is_first = label == 0;
                    label = inner.result_id().map_or(0, map);
                    if is_first {
                        self.new.push(Op::Branch, &[label]);
                    }
                    self.new.push(Op::Label, &[label]);
                    if is_first {
                        self.begin(body, call);
                    }
                }
                (Some(Op::Variable | Op::FunctionEnd | Op::Line | Op::NoLine), _) => {}
                (Some(Op::ExtInst), _) if self.is_debug(inner) => {}
                (Some(Op::Return), _) => self.new.push(Op::Branch, &[call.rest]),
                (Some(Op::ReturnValue), &[value]) => {
                    returned.extend([map(value), label]);
                    self.new.push(Op::Branch, &[call.rest]);
                }
                _ => self.new.copy_mapped(inner, map),
            }
        }
        self.new.push(Op::Label, &[call.rest]);
        let (Some(ty), Some(result)) = (instruction.result_type(), instruction.result_id()) else { return };
        let types = TypeTable::new(self.new.definitions());
        if !matches!(types.ty(ty), Some(Type::Void)) {
            // Without a return nothing comes here.
            let op = if returned.is_empty() { Op::Undef } else { Op::Phi };
            self.new.push(op, &[&[ty, result], returned.as_slice()].concat());
        }
    }

    /// The calls behind one that run in step with it.
    fn in_step<'c>(
        &self,
        call: &Call,
        behind: &'c [Instruction<'m>],
        calls: &'c BTreeMap<usize, Call>,
    ) -> Vec<(&'c Instruction<'m>, &'c Call)> {
        let body = self.bodies.get(&call.callee).map(Vec::as_slice).unwrap_or_default();
        let is_straight = body.iter().filter(|i| i.is(Op::Label)).count() == 1
            && body.iter().any(|i| matches!(i.op(), Some(Op::Return | Op::ReturnValue)));
        let is_abreast =
            |i: &Instruction<'_>| is_straight && i.result_id().is_some_and(|id| self.abreast.contains(&id));
        let behind = behind.iter().take_while(|instruction| is_abreast(instruction));
        behind.map_while(|i| Some((i, calls.get(&i.at)?))).collect()
    }

    /// The block of calls of a function that has only one, each instruction for all of them.
    fn block_in_step(&mut self, calls: &[(&Instruction<'m>, &Call)]) {
        let (Some((_, first)), Some((_, last))) = (calls.first(), calls.last()) else { return };
        let body = self.bodies.get(&first.callee).map(Vec::as_slice).unwrap_or_default();
        for inner in body.iter().skip_while(|i| !i.is(Op::Label)) {
            match (inner.op(), inner.operands()) {
                (Some(Op::Label), _) => {
                    let label = inner.result_id().map_or(0, |id| first.map(id));
                    self.new.push(Op::Branch, &[label]);
                    self.new.push(Op::Label, &[label]);
                    calls.iter().for_each(|(_, call)| self.begin(body, call));
                }
                (Some(Op::Variable | Op::FunctionEnd | Op::Line | Op::NoLine | Op::Return), _) => {}
                (Some(Op::ExtInst), _) if self.is_debug(inner) => {}
                (Some(Op::ReturnValue), &[value]) => {
                    for (instruction, call) in calls {
                        if let (Some(ty), Some(result)) = (instruction.result_type(), instruction.result_id())
                        {
                            self.new.push(Op::CopyObject, &[ty, result, call.map(value)]);
                        }
                    }
                }
                _ => {
                    for (number, (_, call)) in calls.iter().enumerate() {
                        self.new.copy_mapped(inner, |id| call.map(id));
                        if inner.is(Op::FunctionCall) && number > 0 {
                            self.abreast.extend(inner.result_id().map(|id| call.map(id)));
                        }
                    }
                }
            }
        }
        self.new.push(Op::Branch, &[last.rest]);
        self.new.push(Op::Label, &[last.rest]);
    }

    /// What the variables of a call begin with.
    fn begin(&mut self, body: &[Instruction<'m>], call: &Call) {
        for (variable, _, argument) in &call.copies {
            self.new.push(Op::CopyMemory, &[*variable, *argument]);
        }
        for variable in body.iter().filter(|i| i.is(Op::Variable)) {
            let begins = variable.operand(1).filter(|_| variable.operands().len() > 1);
            if let (Some(value), Some(id)) = (begins, variable.result_id()) {
                let id = call.map(id);
                self.new.push(Op::Store, &[id, value]);
            }
        }
    }
}

fn first_label(body: &[Instruction<'_>]) -> Option<u32> {
    body.iter().find(|i| i.is(Op::Label)).and_then(Instruction::result_id)
}

/// Whether a value is a pointer to private memory.
fn is_private(types: &TypeTable<'_>, value: &Instruction<'_>) -> bool {
    let ty = value.result_type().and_then(|ty| types.ty(ty));
    matches!(ty, Some(Type::Pointer { class, .. }) if class == StorageClass::Function as u32)
}
