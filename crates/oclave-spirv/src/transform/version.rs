//! Lowering to an older version of SPIR-V.

use super::select;
use crate::transform::hints::{LOOP_CONTROL_1_0, LOOP_CONTROL_1_1, LOOP_CONTROL_CORE, trim_loop_control};
use crate::{
    Capability, Decoration, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable,
    Version, string_words,
};
use crate::{Error, Result};

const V1_1: Version = Version::new(1, 1);
const V1_3: Version = Version::new(1, 3);

/// Capabilities by the version that brought them, with the extension that gives them to older
/// versions.
const CAPABILITIES: [(Capability, Version, Option<&str>); 18] = [
    (Capability::SubgroupDispatch, V1_1, None),
    (Capability::NamedBarrier, V1_1, None),
    (Capability::PipeStorage, V1_1, None),
    (Capability::GroupNonUniform, V1_3, None),
    (Capability::GroupNonUniformVote, V1_3, None),
    (Capability::GroupNonUniformArithmetic, V1_3, None),
    (Capability::GroupNonUniformBallot, V1_3, None),
    (Capability::GroupNonUniformShuffle, V1_3, None),
    (Capability::GroupNonUniformShuffleRelative, V1_3, None),
    (Capability::GroupNonUniformClustered, V1_3, None),
    (Capability::DenormPreserve, Version::V1_4, FLOAT_CONTROLS),
    (Capability::DenormFlushToZero, Version::V1_4, FLOAT_CONTROLS),
    (Capability::SignedZeroInfNanPreserve, Version::V1_4, FLOAT_CONTROLS),
    (Capability::RoundingModeRTE, Version::V1_4, FLOAT_CONTROLS),
    (Capability::RoundingModeRTZ, Version::V1_4, FLOAT_CONTROLS),
    (Capability::DotProduct, V1_6, DOT_PRODUCT),
    (Capability::DotProductInput4x8Bit, V1_6, DOT_PRODUCT),
    (Capability::DotProductInput4x8BitPacked, V1_6, DOT_PRODUCT),
];
const V1_6: Version = Version::new(1, 6);
const FLOAT_CONTROLS: Option<&str> = Some("SPV_KHR_float_controls");
/// The extension that gives wrap decorations to versions before 1.4.
pub const WRAPS: &str = "SPV_KHR_no_integer_wrap_decoration";
const DOT_PRODUCT: Option<&str> = Some("SPV_KHR_integer_dot_product");

/// Lowers a module to version `max` at most. One that is not newer comes back as it is, but for
/// selects of whole values that its version does not have.
///
/// - Before 1.4, the interfaces of entry points keep Input and Output variables only.
/// - Comparisons of pointers become comparisons of integers.
/// - Selects of whole values become selects of their parts.
/// - Wrap decorations and loop controls that the version lacks are dropped.
/// - Capabilities that the version has only by an extension get that extension.
///
/// # Errors
/// [`Error::Unsupported`] where the module uses something that `max` cannot express; the
/// message names it.
pub fn lower(module: &Module, max: Version) -> Result<Module> {
    lower_with(module, max, false)
}

/// As [`lower`]. With `keeps_wraps`, decorations of sums and products that do not wrap stay. Versions before 1.4 have them by an
/// extension.
///
/// # Errors
/// As [`lower`].
pub fn lower_with(module: &Module, max: Version, keeps_wraps: bool) -> Result<Module> {
    if module.version() <= max && !select::has_select_of_wholes(module) {
        return Ok(module.clone());
    }
    let max = max.min(module.version());
    let definitions = Definitions::new(module);
    let lowering =
        Lowering { max, keeps_wraps, definitions: &definitions, types: TypeTable::new(&definitions) };
    let mut edit = Editor::new(&definitions);
    edit.set_version(max);
    for instruction in module.instructions() {
        lowering.instruction(&mut edit, &instruction)?;
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

struct Lowering<'d, 'm> {
    max: Version,
    keeps_wraps: bool,
    definitions: &'d Definitions<'m>,
    types: TypeTable<'m>,
}

impl Lowering<'_, '_> {
    fn instruction(&self, edit: &mut Editor<'_>, instruction: &Instruction<'_>) -> Result<()> {
        let Some(op) = instruction.op() else { return Ok(()) };
        let before_1_4 = self.max < Version::V1_4;
        let operands = instruction.operands();
        match (op, operands) {
            (Op::Capability, &[capability]) => return self.capability(edit, capability),
            (Op::EntryPoint, &[model, function, ..]) if before_1_4 => {
                let (Some(name), Some(interface)) = (instruction.string(2), instruction.after_string(2))
                else {
                    return Err(self.unsupported("an entry point without name"));
                };
                let mut kept = vec![model, function];
                kept.extend(string_words(&name));
                kept.extend(interface.iter().filter(|&&id| self.is_in_or_out(id)));
                edit.replace(instruction, op, &kept);
            }
            (Op::ExecutionModeId, _) if self.max < Version::V1_2 => {
                return Err(self.unsupported("OpExecutionModeId"));
            }
            (Op::ExecutionMode, &[_, mode, ..]) if self.max < V1_1 && (33..=38).contains(&mode) => {
                return Err(self.unsupported(&format!("execution mode {mode}")));
            }
            (Op::ModuleProcessed, _) if self.max < V1_1 => edit.remove(instruction),
            (Op::DecorateId, _) if self.max < Version::V1_2 => return Err(self.unsupported("OpDecorateId")),
            (Op::Decorate, &[_, decoration, ..]) if before_1_4 && is_wrap(decoration) => {
                match self.keeps_wraps {
                    true => edit.extension(WRAPS),
                    false => edit.remove(instruction),
                }
            }
            (Op::PtrEqual, &[a, b]) if before_1_4 => {
                return self.compare(edit, instruction, Op::IEqual, a, b);
            }
            (Op::PtrNotEqual, &[a, b]) if before_1_4 => {
                return self.compare(edit, instruction, Op::INotEqual, a, b);
            }
            (Op::PtrDiff, &[a, b]) if before_1_4 => return self.difference(edit, instruction, a, b),
            (Op::CopyLogical, _) if before_1_4 => return Err(self.unsupported("OpCopyLogical")),
            (Op::Select, _)
                if before_1_4 && select::is_of_wholes(instruction, self.definitions, &self.types) =>
            {
                return select::lower(edit, instruction, &self.types)
                    .ok_or_else(|| self.unsupported("OpSelect of structs or arrays of this size"));
            }
            (Op::CopyMemory | Op::CopyMemorySized, _) if before_1_4 => {
                return self.copy_memory(edit, instruction, op);
            }
            (Op::LoopMerge, &[merge, next, ref control @ ..]) => {
                let allowed = match () {
                    () if self.max < V1_1 => LOOP_CONTROL_1_0,
                    () if before_1_4 => LOOP_CONTROL_1_1,
                    () => u32::MAX,
                };
                // Bits of extensions stand behind those of the core: they stay where the core's do.
                if control.first().is_some_and(|mask| mask & LOOP_CONTROL_CORE & !allowed != 0) {
                    let trimmed = trim_loop_control(control, allowed);
                    edit.replace(instruction, op, &[&[merge, next], trimmed.as_slice()].concat());
                }
            }
            _ if introduced(op).is_some_and(|v| v > self.max) => {
                return Err(self.unsupported(&format!("Op{op:?}")));
            }
            _ => {}
        }
        Ok(())
    }

    fn capability(&self, edit: &mut Editor<'_>, capability: u32) -> Result<()> {
        let newer = CAPABILITIES.iter().find(|(c, since, _)| *c as u32 == capability && *since > self.max);
        match newer {
            Some((_, _, Some(extension))) => edit.extension(extension),
            Some((c, _, None)) => return Err(self.unsupported(&format!("capability {c:?}"))),
            None => {}
        }
        Ok(())
    }

    /// A comparison of two pointers as one of two integers.
    fn compare(&self, edit: &mut Editor<'_>, old: &Instruction<'_>, op: Op, a: u32, b: u32) -> Result<()> {
        let (Some(ty), Some(id)) = (old.result_type(), old.result_id()) else {
            return Err(self.unsupported("a comparison without result"));
        };
        let integer = edit.int_type(self.types.pointer_bytes() * 8);
        let mut at = edit.instead_of(old);
        let [x, y] = [a, b].map(|pointer| at.emit(Op::ConvertPtrToU, integer, &[pointer]));
        at.push(op, &[ty, id, x, y]);
        Ok(())
    }

    /// The distance of two pointers in elements.
    fn difference(&self, edit: &mut Editor<'_>, old: &Instruction<'_>, a: u32, b: u32) -> Result<()> {
        let width = self.types.pointer_bytes() * 8;
        let result = old.result_type().and_then(|ty| self.types.ty(ty));
        let pointee = self.definitions.type_of(a).and_then(|ty| self.types.ty(ty));
        let (Some(ty), Some(id), Some(Type::Pointer { pointee, .. })) =
            (old.result_type(), old.result_id(), pointee)
        else {
            return Err(self.unsupported("OpPtrDiff of something other than pointers"));
        };
        let (Some(size @ 1..), Some(Type::Int { width: result })) = (self.types.size_bytes(pointee), result)
        else {
            return Err(self.unsupported("OpPtrDiff of pointers to a type without size"));
        };
        let integer = edit.int_type(width);
        let size = edit.int_constant(width, size);
        let mut at = edit.instead_of(old);
        let [x, y] = [a, b].map(|pointer| at.emit(Op::ConvertPtrToU, integer, &[pointer]));
        let bytes = at.emit(Op::ISub, integer, &[x, y]);
        if result == width {
            at.push(Op::SDiv, &[ty, id, bytes, size]);
        } else {
            let count = at.emit(Op::SDiv, integer, &[bytes, size]);
            at.push(Op::SConvert, &[ty, id, count]);
        }
        Ok(())
    }

    /// Two memory operands, of the target and of the source, as one for both.
    fn copy_memory(&self, edit: &mut Editor<'_>, old: &Instruction<'_>, op: Op) -> Result<()> {
        let fixed = if op == Op::CopyMemory { 2 } else { 3 };
        let (aligned, simple) = (0x2, 0x7);
        let (head, access) = old.operands().split_at_checked(fixed).unwrap_or_default();
        let one = |access: &[u32]| -> Option<(u32, Option<u32>, usize)> {
            let mask = *access.first()?;
            let alignment = if mask & aligned != 0 { Some(*access.get(1)?) } else { None };
            Some((mask, alignment, 1 + usize::from(alignment.is_some())))
        };
        let Some((first, first_alignment, length)) = one(access) else { return Ok(()) };
        let Some((second, second_alignment, _)) = access.get(length..).and_then(one) else { return Ok(()) };
        if (first | second) & !simple != 0 {
            return Err(self.unsupported(&format!("Op{op:?} with two memory operands")));
        }
        let mut operands = head.to_vec();
        let alignment = match (first_alignment, second_alignment) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (None, None) => None,
            // What is said of one is not true of the other.
            _ => Some(1),
        };
        // Volatile where one of them is, nontemporal where both are, as aligned as the lesser.
        let mask =
            (first | second) & 0x1 | first & second & 0x4 | if alignment.is_some() { aligned } else { 0 };
        operands.push(mask);
        operands.extend(alignment);
        edit.replace(old, op, &operands);
        Ok(())
    }

    fn is_in_or_out(&self, id: u32) -> bool {
        let class =
            self.definitions.instruction(id).filter(|i| i.is(Op::Variable)).and_then(|i| i.operand(0));
        class.is_some_and(|c| c == StorageClass::Input as u32 || c == StorageClass::Output as u32)
    }

    fn unsupported(&self, what: &str) -> Error {
        Error::Unsupported(format!("{what} cannot be expressed in SPIR-V {}", self.max))
    }
}

fn is_wrap(decoration: u32) -> bool {
    decoration == Decoration::NoSignedWrap as u32 || decoration == Decoration::NoUnsignedWrap as u32
}

/// The version that brought an instruction, where it was not there from the start and no capability
/// stands for it.
fn introduced(op: Op) -> Option<Version> {
    match op as u32 {
        321..=330 => Some(V1_1),
        331 | 332 => Some(Version::V1_2),
        400..=403 => Some(Version::V1_4),
        _ => None,
    }
}
