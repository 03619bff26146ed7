//! Types, constants, instruction sets and built-in variables that several parts have.

use std::collections::HashMap;

use super::Part;
use super::facts::is_built_in;
use crate::{ImageError, Result};
use oclave_spirv::transform::dce::is_continuation;
use oclave_spirv::{Declarations, Instruction, Op, Role, is_constant, is_type};

/// What the parts so far have, and by which id.
#[derive(Debug, Default)]
pub(super) struct Shared {
    ids: HashMap<Vec<u32>, u32>,
    /// `SpecId` → opcode, type and default, and the part that declares it.
    specs: HashMap<u32, (Vec<u32>, String)>,
}

impl Shared {
    /// Gives the sharable definitions of a part their ids; those that are there already are dropped
    /// from the part.
    pub(super) fn share(&mut self, part: &mut Part<'_>, new: &mut Declarations<'_>) -> Result<()> {
        let mut instructions = part.module().global_instructions().peekable();
        while let Some(instruction) = instructions.next() {
            let continued = instructions.peek().and_then(|next| next.op()).is_some_and(is_continuation);
            if let Some(pointer) = instruction.operand(0).filter(|_| instruction.is(Op::TypeForwardPointer)) {
                self.forward(part, pointer, new);
            }
            let Some(id) = instruction.result_id() else { continue };
            // What was named before it is defined has its id already.
            if part.map.value(id) != 0
                || part.dropped.contains(&id)
                || continued
                || !is_sharable(part, &instruction, id)
            {
                continue;
            }
            let Some(key) = self.key(part, &instruction, id, new)? else { continue };
            match self.ids.get(&key) {
                Some(&there) => {
                    part.map.insert(id, there);
                    part.dropped.insert(id);
                }
                None => {
                    let fresh = part.mapped(id, new);
                    self.ids.insert(key, fresh);
                }
            }
        }
        Ok(())
    }

    /// Gives a pointer its id that a struct needs which it leads to. The pointer of another part stands for it if all types that they lead to
    /// are the same.
    fn forward(&mut self, part: &mut Part<'_>, pointer: u32, new: &mut Declarations<'_>) {
        if part.map.value(pointer) != 0 {
            return;
        }
        let shape = shape(part, pointer);
        if let Some(there) = shape.as_ref().and_then(|shape| self.ids.get(shape)) {
            part.map.insert(pointer, *there);
            part.dropped.insert(pointer);
            return;
        }
        let fresh = part.mapped(pointer, new);
        self.ids.extend(shape.map(|shape| (shape, fresh)));
    }

    /// What two definitions must have in common to be one; `None` where nothing else can be the
    /// same.
    fn key(
        &mut self,
        part: &mut Part<'_>,
        instruction: &Instruction<'_>,
        id: u32,
        new: &mut Declarations<'_>,
    ) -> Result<Option<Vec<u32>>> {
        let mut key = part.translate(instruction, new, |_, _, _| 0)?;
        if let Some(spec_id) = part.facts.spec_id(id) {
            self.check_spec(part, spec_id, &key)?;
        }
        let Some(decorations) = part.facts.decorations(id) else { return Ok(None) };
        // Of a built-in variable, compilers write different hints. Drivers do not take two.
        let is_variable = instruction.is(Op::Variable);
        for decoration in decorations.into_iter().filter(|words| !is_variable || is_built_in(words)) {
            key.push(decoration.len() as u32);
            key.extend_from_slice(decoration);
        }
        if instruction.is(Op::TypeStruct) {
            key.push(u32::MAX);
            key.extend_from_slice(part.facts.name(id));
        }
        Ok(Some(key))
    }

    fn check_spec(&mut self, part: &Part<'_>, spec_id: u32, value: &[u32]) -> Result<()> {
        let (there, owner) =
            self.specs.entry(spec_id).or_insert_with(|| (value.to_vec(), part.name.to_owned()));
        if there == value {
            return Ok(());
        }
        Err(ImageError::Link(format!(
            "specialization constant {spec_id} has another type or default in module `{}` than in module `{owner}`",
            part.name
        )))
    }
}

/// A type and all that it is made of, without their ids; `None` where that is not known. Equal types of two parts have equal shapes, also if
/// they lead to themselves.
fn shape(part: &Part<'_>, ty: u32) -> Option<Vec<u32>> {
    // No key of a single definition begins so.
    let mut shape = vec![u32::MAX];
    let mut places = HashMap::from([(ty, 0)]);
    let mut ids = vec![ty];
    let mut next = 0;
    while let Some(&id) = ids.get(next) {
        next += 1;
        let instruction = part.definitions.instruction(id)?;
        let behind = part.module().instruction_at(instruction.at + instruction.words.len());
        if behind.and_then(|behind| behind.op()).is_some_and(is_continuation) {
            return None;
        }
        let mut words = instruction.words.to_vec();
        instruction.visit_ids(part.definitions, |index, role| {
            let Some(word) = words.get_mut(index) else { return };
            *word = match role {
                Role::Result => 0,
                _ => *places.entry(*word).or_insert_with(|| {
                    ids.push(*word);
                    ids.len() as u32 - 1
                }),
            };
        });
        shape.append(&mut words);
        for decoration in part.facts.decorations(id)?.into_iter().chain([part.facts.name(id)]) {
            shape.push(decoration.len() as u32);
            shape.extend_from_slice(decoration);
        }
    }
    Some(shape)
}

fn is_sharable(part: &Part<'_>, instruction: &Instruction<'_>, id: u32) -> bool {
    match instruction.op() {
        Some(Op::ExtInstImport | Op::Undef) => true,
        Some(Op::Variable) => part.facts.is_builtin(id),
        // Each is memory of its own.
        Some(Op::ConstantPipeStorage) => false,
        Some(op) => is_type(op) || is_constant(op),
        None => false,
    }
}
