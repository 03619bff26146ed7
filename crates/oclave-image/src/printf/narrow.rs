//! Arguments of `printf` as floats, for devices without doubles.
//!
//! C widens floats that a variable argument list takes, and OpenCL C does not where there are no
//! doubles. What is printed stays the same: a widened float has the float's value.

use std::collections::{BTreeMap, BTreeSet};

use super::lower::is_printf;
use crate::Result;
use oclave_spirv::{Declarations, Definitions, Editor, Instruction, Module, Op, Role, Type, TypeTable};

/// The bits of an integer that a float holds exactly.
const EXACT_BITS: u32 = 24;

/// The module with floats for the doubles that only `printf` takes; `None` where there are none.
///
/// Doubles of float expressions and of literals become floats, also behind selections. Other
/// doubles stay.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn narrow_arguments(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let narrowed = Narrowed::find(&definitions, set);
    let is_wanted = |id: &u32| narrowed.values.contains(id) || narrowed.is_constant(*id);
    let prints = |i: &Instruction<'_>| is_printf(i, Some(set)) && printed(i).1.iter().any(is_wanted);
    if !module.instructions().any(|instruction| prints(&instruction)) {
        return Ok(None);
    }
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let (Some(op), Some(ty), Some(id)) =
            (instruction.op(), instruction.result_type(), instruction.result_id())
        else {
            continue;
        };
        let is_narrowed = narrowed.values.contains(&id);
        let (head, values) = match is_narrowed {
            true if narrowed.float_behind(id).is_some() => {
                edit.remove(&instruction);
                continue;
            }
            true => instruction.operands().split_at(0),
            false if is_printf(&instruction, Some(set)) => printed(&instruction),
            false => continue,
        };
        let ty = if is_narrowed { edit.float_type(32) } else { ty };
        let mut operands = [&[ty, id], head].concat();
        operands.extend(values.iter().map(|value| narrowed.as_float(*value, &mut edit)));
        edit.replace(&instruction, op, &operands);
    }
    Ok(edit.finish()?)
}

/// The operands of a `printf`: the set and the number of the instruction, and what is printed.
fn printed<'m>(instruction: &Instruction<'m>) -> (&'m [u32], &'m [u32]) {
    instruction.operands().split_at(instruction.operands().len().min(2))
}

/// The values that become floats.
struct Narrowed<'d, 'm> {
    definitions: &'d Definitions<'m>,
    types: TypeTable<'m>,
    /// Results of instructions that only `printf` and each other use.
    values: BTreeSet<u32>,
}

impl<'d, 'm> Narrowed<'d, 'm> {
    fn find(definitions: &'d Definitions<'m>, set: u32) -> Self {
        let mut own = Self { definitions, types: TypeTable::new(definitions), values: BTreeSet::new() };
        let module = definitions.module();
        let candidates =
            module.instructions().filter(|i| own.may_narrow(i)).filter_map(|i| i.result_id()).collect();
        own.values = candidates;
        // The users of each candidate. `None` stands for an instruction that needs the double.
        let mut users: BTreeMap<u32, BTreeSet<Option<u32>>> = BTreeMap::new();
        for instruction in module.instructions().filter(|i| !is_description(i)) {
            if is_printf(&instruction, Some(set)) {
                continue;
            }
            let user = instruction.result_id().filter(|id| own.values.contains(id));
            instruction.visit_ids(definitions, |index, role| {
                if let Some(id) = instruction.word(index)
                    && role != Role::Result
                    && own.values.contains(&id)
                {
                    users.entry(id).or_default().insert(user);
                }
            });
        }
        loop {
            let is_kept = |id: &u32| {
                let needs_double = |user: &Option<u32>| user.is_none_or(|user| !own.values.contains(&user));
                !users.get(id).is_some_and(|users| users.iter().any(needs_double)) && own.operands_narrow(*id)
            };
            let kept: BTreeSet<u32> = own.values.iter().copied().filter(is_kept).collect();
            if kept.len() == own.values.len() {
                return own;
            }
            own.values = kept;
        }
    }

    fn is_double(&self, ty: Option<u32>) -> bool {
        matches!(ty.and_then(|ty| self.types.ty(ty)), Some(Type::Float { width: 64 }))
    }

    /// Whether an instruction makes a double that a float can replace, as far as it tells by itself.
    fn may_narrow(&self, instruction: &Instruction<'_>) -> bool {
        if !self.is_double(instruction.result_type()) {
            return false;
        }
        let operand = instruction.operand(0);
        match instruction.op() {
            Some(Op::Phi | Op::Select) => true,
            Some(Op::FConvert) => true,
            // The optimizer skips the float of an integer that both types hold exactly.
            Some(Op::ConvertSToF | Op::ConvertUToF) => {
                operand.and_then(|id| self.bits_of(id)).is_some_and(|bits| bits <= EXACT_BITS)
            }
            _ => false,
        }
    }

    /// The bits that an integer takes at most.
    fn bits_of(&self, id: u32) -> Option<u32> {
        let width = |id: u32| match self.types.ty(self.definitions.type_of(id)?)? {
            Type::Int { width } => Some(width),
            _ => None,
        };
        let definition = self.definitions.instruction(id)?;
        let known = match definition.op()? {
            Op::UConvert | Op::SConvert => definition.operand(0).and_then(width),
            Op::BitwiseAnd => {
                let masks = definition.operands().iter().filter_map(|id| self.definitions.int_constant(*id));
                masks.map(|mask| u64::BITS - mask.leading_zeros()).min()
            }
            _ => None,
        };
        let own = width(id)?;
        Some(known.map_or(own, |known| known.min(own)))
    }

    /// Whether all values that a phi or selection chooses among become floats.
    fn operands_narrow(&self, id: u32) -> bool {
        let narrows = |id: &u32| self.values.contains(id) || self.is_constant(*id);
        self.definitions.instruction(id).is_some_and(|instruction| match instruction.op() {
            Some(Op::Phi) => instruction.operands().iter().step_by(2).all(narrows),
            Some(Op::Select) => instruction.operands().iter().skip(1).all(narrows),
            _ => true,
        })
    }

    fn is_constant(&self, id: u32) -> bool {
        self.definitions.instruction(id).is_some_and(|instruction| {
            matches!(instruction.op(), Some(Op::Constant | Op::ConstantNull | Op::Undef))
                && self.is_double(instruction.result_type())
        })
    }

    /// The float that a value was widened from.
    fn float_behind(&self, id: u32) -> Option<u32> {
        let instruction = self.definitions.instruction(id).filter(|i| i.is(Op::FConvert))?;
        let float = instruction.operand(0)?;
        let ty = self.types.ty(self.definitions.type_of(float)?)?;
        (self.values.contains(&id) && matches!(ty, Type::Float { width: 32 })).then_some(float)
    }

    /// What takes the place of an operand of `printf` or of a narrowed value.
    fn as_float(&self, id: u32, new: &mut Declarations<'_>) -> u32 {
        if let Some(float) = self.float_behind(id) {
            return float;
        }
        if !self.is_constant(id) {
            return id;
        }
        let bits = match self.definitions.instruction(id) {
            Some(constant) if constant.is(Op::Constant) => match *constant.operands() {
                [low, high] => f64::from_bits(u64::from(low) | u64::from(high) << 32),
                _ => 0.0,
            },
            _ => 0.0,
        };
        new.float_constant(32, (bits as f32).to_bits().into())
    }
}

/// Names and decorations do not use a value.
fn is_description(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.op(), Some(Op::Name | Op::Decorate | Op::GroupDecorate))
}
