//! Writes the blocks of functions where they are called.

use std::collections::{BTreeSet, HashMap};

use super::{Bodies, Wanted, is_call_to};
use crate::Result;
use crate::transform::decorations::Decorations;
use crate::{
    Cursor, Decoration, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable,
};

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

/// Writes blocks for some calls of a module.
pub(super) struct Inliner<'a, 'm> {
    definitions: &'m Definitions<'m>,
    types: TypeTable<'m>,
    bodies: &'a Bodies<'m>,
    decorations: Decorations,
    by_value: BTreeSet<u32>,
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
        let before_code = definitions.module().global_instructions();
        let by_value = before_code
            .filter_map(|instruction| match instruction.operands() {
                &[id, ref decoration @ ..] if instruction.is(Op::Decorate) && is_by_value(decoration) => {
                    Some(id)
                }
                _ => None,
            })
            .collect();
        let types = TypeTable::new(definitions);
        Self { definitions, types, bodies, decorations, by_value, abreast }
    }

    /// The module with these calls inlined: `wanted` says for a caller which functions it takes in.
    ///
    /// # Errors
    /// As [`Editor::finish`].
    pub(super) fn write(mut self, wanted: &Wanted) -> Result<Option<Module>> {
        let mut edit = Editor::new(self.definitions);
        let bodies = self.bodies;
        let mut callers: Vec<&[Instruction<'m>]> =
            wanted.callers.iter().filter_map(|caller| bodies.get(caller)).map(Vec::as_slice).collect();
        callers.sort_by_key(|body| body.first().map(|function| function.at));
        for body in callers {
            self.function(&mut edit, body, &wanted.callees);
        }
        edit.finish()
    }

    fn function(&mut self, edit: &mut Editor<'m>, body: &[Instruction<'m>], callees: &BTreeSet<u32>) {
        let mut calls: Vec<(&Instruction<'m>, Call)> = Vec::new();
        let (mut label, mut is_split) = (None, false);
        for instruction in body {
            match instruction.op() {
                Some(Op::Label) => (label, is_split) = (instruction.result_id(), false),
                // A hint for the block that the loop began with.
                Some(Op::LoopMerge | Op::SelectionMerge) if is_split => edit.remove(instruction),
                _ if is_call_to(instruction, callees) => {
                    let Some(call) = self.call(edit, instruction) else { continue };
                    is_split = true;
                    label.into_iter().for_each(|label| edit.move_end(label, call.rest));
                    calls.push((instruction, call));
                }
                _ => {}
            }
        }
        if let Some(first) = body.iter().find(|i| i.is(Op::Label)) {
            calls.iter().for_each(|(_, call)| self.variables(&mut edit.after(first), call));
        }
        let mut rest = calls.as_slice();
        while let Some(((instruction, call), _)) = rest.split_first() {
            let (together, behind) = rest.split_at(self.in_step(rest));
            for (call, _) in together {
                match self.is_void(call) {
                    true => edit.remove(call),
                    // Another instruction has its result.
                    false => _ = edit.instead_of(call),
                }
            }
            let mut at = edit.instead_of(instruction);
            match together {
                [_] => self.blocks(&mut at, instruction, call),
                _ => self.block_in_step(&mut at, together),
            }
            rest = behind;
        }
    }

    fn is_void(&self, call: &Instruction<'_>) -> bool {
        call.result_type().is_some_and(|ty| matches!(self.types.ty(ty), Some(Type::Void)))
    }

    fn call(&self, edit: &mut Editor<'m>, instruction: &Instruction<'m>) -> Option<Call> {
        let (&callee, arguments) = instruction.operands().split_first()?;
        let body = self.bodies.get(&callee)?;
        let mut ids = HashMap::new();
        let mut copies = Vec::new();
        let mut arguments = arguments.iter();
        for defined in body.iter().skip(1) {
            let Some(id) = defined.result_id() else { continue };
            let mut new = edit.fresh_id();
            if defined.is(Op::FunctionParameter) {
                let argument = *arguments.next()?;
                if self.by_value.contains(&id) && is_private(&self.types, defined) {
                    copies.push((new, defined.result_type()?, argument));
                    // A struct may be aligned to more than its members are.
                    let is_alignment = |kind| kind == Decoration::Alignment as u32;
                    self.decorations.copy(edit, new, id, is_alignment);
                } else {
                    new = argument;
                }
            } else if !defined.is(Op::Label) {
                // The first label is not written.
                self.decorations.copy(edit, new, id, |_| true);
            }
            ids.insert(id, new);
        }
        Some(Call { callee, ids, rest: edit.fresh_id(), copies })
    }

    /// The private variables of a call.
    fn variables(&self, at: &mut Cursor<'_, 'm>, call: &Call) {
        for (variable, pointer, _) in &call.copies {
            at.push(Op::Variable, &[*pointer, *variable, StorageClass::Function as u32]);
        }
        let body = self.bodies.get(&call.callee).map(Vec::as_slice).unwrap_or_default();
        for variable in body.iter().filter(|i| i.is(Op::Variable)) {
            if let (Some(ty), Some(id)) = (variable.result_type(), variable.result_id()) {
                let id = call.map(id);
                at.push(Op::Variable, &[ty, id, StorageClass::Function as u32]);
            }
        }
    }

    /// The blocks of a call, and the beginning of the one where the caller goes on.
    fn blocks(&self, at: &mut Cursor<'_, 'm>, instruction: &Instruction<'m>, call: &Call) {
        let map = |id: u32| call.map(id);
        let body = self.bodies.get(&call.callee).map(Vec::as_slice).unwrap_or_default();
        let (mut label, mut returned) = (None, Vec::new());
        for inner in body.iter().skip_while(|i| !i.is(Op::Label)) {
            match (inner.op(), inner.operands()) {
                (Some(Op::Label), _) => {
                    let Some(new) = inner.result_id().map(map) else { continue };
                    let is_first = label.replace(new).is_none();
                    if is_first {
                        at.push(Op::Branch, &[new]);
                    }
                    at.push(Op::Label, &[new]);
                    if is_first {
                        self.begin(at, body, call);
                    }
                }
                (Some(Op::Variable | Op::FunctionEnd | Op::Line | Op::NoLine), _) => {}
                (Some(Op::Return), _) => at.push(Op::Branch, &[call.rest]),
                (Some(Op::ReturnValue), &[value]) => {
                    returned.extend(label.into_iter().flat_map(|label| [map(value), label]));
                    at.push(Op::Branch, &[call.rest]);
                }
                _ => at.copy_mapped(inner, map),
            }
        }
        at.push(Op::Label, &[call.rest]);
        let (Some(ty), Some(result)) = (instruction.result_type(), instruction.result_id()) else { return };
        if !self.is_void(instruction) {
            // Without a return nothing comes here.
            let op = if returned.is_empty() { Op::Undef } else { Op::Phi };
            at.push(op, &[&[ty, result], returned.as_slice()].concat());
        }
    }

    /// How many of these calls run in step with the first one, which counts.
    fn in_step(&self, calls: &[(&Instruction<'m>, Call)]) -> usize {
        let Some((_, first)) = calls.first() else { return 0 };
        let body = self.bodies.get(&first.callee).map(Vec::as_slice).unwrap_or_default();
        let is_straight = body.iter().filter(|i| i.is(Op::Label)).count() == 1
            && body.iter().any(|i| matches!(i.op(), Some(Op::Return | Op::ReturnValue)));
        let is_abreast =
            |i: &Instruction<'_>| is_straight && i.result_id().is_some_and(|id| self.abreast.contains(&id));
        let follows = |pair: &&[(&Instruction<'m>, Call)]| match pair {
            [(call, _), (next, _)] => call.at + call.words.len() == next.at && is_abreast(next),
            _ => false,
        };
        1 + calls.windows(2).take_while(follows).count()
    }

    /// The block of calls of a function that has only one, each instruction for all of them.
    fn block_in_step(&mut self, at: &mut Cursor<'_, 'm>, calls: &[(&Instruction<'m>, Call)]) {
        let (Some((_, first)), Some((_, last))) = (calls.first(), calls.last()) else { return };
        let body = self.bodies.get(&first.callee).map(Vec::as_slice).unwrap_or_default();
        for inner in body.iter().skip_while(|i| !i.is(Op::Label)) {
            match (inner.op(), inner.operands()) {
                (Some(Op::Label), _) => {
                    let Some(label) = inner.result_id().map(|id| first.map(id)) else { continue };
                    at.push(Op::Branch, &[label]);
                    at.push(Op::Label, &[label]);
                    calls.iter().for_each(|(_, call)| self.begin(at, body, call));
                }
                (Some(Op::Variable | Op::FunctionEnd | Op::Line | Op::NoLine | Op::Return), _) => {}
                (Some(Op::ReturnValue), &[value]) => {
                    for (instruction, call) in calls {
                        if let (Some(ty), Some(result)) = (instruction.result_type(), instruction.result_id())
                        {
                            at.push(Op::CopyObject, &[ty, result, call.map(value)]);
                        }
                    }
                }
                _ => {
                    for (number, (_, call)) in calls.iter().enumerate() {
                        at.copy_mapped(inner, |id| call.map(id));
                        if inner.is(Op::FunctionCall) && number > 0 {
                            self.abreast.extend(inner.result_id().map(|id| call.map(id)));
                        }
                    }
                }
            }
        }
        at.push(Op::Branch, &[last.rest]);
        at.push(Op::Label, &[last.rest]);
    }

    /// What the variables of a call begin with.
    fn begin(&self, at: &mut Cursor<'_, 'm>, body: &[Instruction<'m>], call: &Call) {
        for (variable, _, argument) in &call.copies {
            at.push(Op::CopyMemory, &[*variable, *argument]);
        }
        for variable in body.iter().filter(|i| i.is(Op::Variable)) {
            let begins = variable.operand(1).filter(|_| variable.operands().len() > 1);
            if let (Some(value), Some(id)) = (begins, variable.result_id()) {
                let id = call.map(id);
                at.push(Op::Store, &[id, value]);
            }
        }
    }
}

/// Whether a value is a pointer to private memory.
fn is_private(types: &TypeTable<'_>, value: &Instruction<'_>) -> bool {
    let ty = value.result_type().and_then(|ty| types.ty(ty));
    matches!(ty, Some(Type::Pointer { class, .. }) if class == StorageClass::Function as u32)
}
