//! Lowering to an older version of SPIR-V.

use super::select;
use crate::transform::hints::{LOOP_CONTROL_1_0, LOOP_CONTROL_1_1, LOOP_CONTROL_CORE, trim_loop_control};
use crate::{
    Capability, Decoration, Definitions, Instruction, Module, Op, Rewriter, StorageClass, Type, TypeTable,
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
    let mut new = Rewriter::new(&definitions);
    new.set_version(max);
    for instruction in module.instructions() {
        lowering.instruction(&mut new, &instruction)?;
    }
    new.finish()
}

struct Lowering<'d, 'm> {
    max: Version,
    keeps_wraps: bool,
    definitions: &'d Definitions<'m>,
    types: TypeTable<'m>,
}

impl Lowering<'_, '_> {
    fn instruction(&self, new: &mut Rewriter<'_>, instruction: &Instruction<'_>) -> Result<()> {
        let Some(op) = instruction.op() else {
            new.copy(instruction);
            return Ok(());
        };
        let before_1_4 = self.max < Version::V1_4;
        let operands = instruction.operands();
        match (op, operands) {
            (Op::Capability, &[capability]) => return self.capability(new, capability),
            (Op::EntryPoint, &[model, function, ..]) if before_1_4 => {
                let (Some(name), Some(interface)) = (instruction.string(2), instruction.after_string(2))
                else {
                    return Err(self.unsupported("an entry point without name"));
                };
                let mut kept = vec![model, function];
                kept.extend(string_words(&name));
                kept.extend(interface.iter().filter(|&&id| self.is_in_or_out(id)));
                new.replace(instruction, op, &kept);
                return Ok(());
            }
            (Op::ExecutionModeId, _) if self.max < Version::V1_2 => {
                return Err(self.unsupported("OpExecutionModeId"));
            }
            (Op::ExecutionMode, &[_, mode, ..]) if self.max < V1_1 && (33..=38).contains(&mode) => {
                return Err(self.unsupported(&format!("execution mode {mode}")));
            }
            (Op::ModuleProcessed, _) if self.max < V1_1 => return Ok(()),
            (Op::DecorateId, _) if self.max < Version::V1_2 => return Err(self.unsupported("OpDecorateId")),
            (Op::Decorate, &[_, decoration, ..]) if before_1_4 && is_wrap(decoration) => {
                if !self.keeps_wraps {
                    return Ok(());
                }
                new.extension(WRAPS);
            }
            (Op::PtrEqual, &[a, b]) if before_1_4 => {
                return self.compare(new, instruction, Op::IEqual, a, b);
            }
            (Op::PtrNotEqual, &[a, b]) if before_1_4 => {
                return self.compare(new, instruction, Op::INotEqual, a, b);
            }
            (Op::PtrDiff, &[a, b]) if before_1_4 => return self.difference(new, instruction, a, b),
            (Op::CopyLogical, _) if before_1_4 => return Err(self.unsupported("OpCopyLogical")),
            (Op::Select, _)
                if before_1_4 && select::is_of_wholes(instruction, self.definitions, &self.types) =>
            {
                return select::lower(new, instruction, &self.types)
                    .ok_or_else(|| self.unsupported("OpSelect of structs or arrays of this size"));
            }
            (Op::CopyMemory | Op::CopyMemorySized, _) if before_1_4 => {
                return self.copy_memory(new, instruction, op);
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
                    new.replace(instruction, op, &[&[merge, next], trimmed.as_slice()].concat());
                    return Ok(());
                }
            }
            _ if introduced(op).is_some_and(|v| v > self.max) => {
                return Err(self.unsupported(&format!("Op{op:?}")));
            }
            _ => {}
        }
        new.copy(instruction);
        Ok(())
    }

    fn capability(&self, new: &mut Rewriter<'_>, capability: u32) -> Result<()> {
        let newer = CAPABILITIES.iter().find(|(c, since, _)| *c as u32 == capability && *since > self.max);
        match newer {
            Some((_, _, Some(extension))) => new.extension(extension),
            Some((c, _, None)) => return Err(self.unsupported(&format!("capability {c:?}"))),
            None => {}
        }
        new.push_in(crate::Section::Capabilities, Op::Capability, &[capability]);
        Ok(())
    }

    /// A comparison of two pointers as one of two integers.
    fn compare(&self, new: &mut Rewriter<'_>, at: &Instruction<'_>, op: Op, a: u32, b: u32) -> Result<()> {
        let (Some(ty), Some(id)) = (at.result_type(), at.result_id()) else {
            return Err(self.unsupported("a comparison without result"));
        };
        let integer = new.int_type(self.types.pointer_bytes() * 8);
        let (x, y) = (new.fresh_id(), new.fresh_id());
        new.push(Op::ConvertPtrToU, &[integer, x, a]);
        new.push(Op::ConvertPtrToU, &[integer, y, b]);
        new.push(op, &[ty, id, x, y]);
        Ok(())
    }

    /// The distance of two pointers in elements.
    fn difference(&self, new: &mut Rewriter<'_>, at: &Instruction<'_>, a: u32, b: u32) -> Result<()> {
        let width = self.types.pointer_bytes() * 8;
        let result = at.result_type().and_then(|ty| self.types.ty(ty));
        let pointee = self.definitions.type_of(a).and_then(|ty| self.types.ty(ty));
        let (Some(ty), Some(id), Some(Type::Pointer { pointee, .. })) =
            (at.result_type(), at.result_id(), pointee)
        else {
            return Err(self.unsupported("OpPtrDiff of something other than pointers"));
        };
        let (Some(size @ 1..), Some(Type::Int { width: result })) = (self.types.size_bytes(pointee), result)
        else {
            return Err(self.unsupported("OpPtrDiff of pointers to a type without size"));
        };
        let integer = new.int_type(width);
        let size = new.int_constant(width, size);
        let [x, y, bytes, count] = std::array::from_fn(|_| new.fresh_id());
        new.push(Op::ConvertPtrToU, &[integer, x, a]);
        new.push(Op::ConvertPtrToU, &[integer, y, b]);
        new.push(Op::ISub, &[integer, bytes, x, y]);
        if result == width {
            new.push(Op::SDiv, &[ty, id, bytes, size]);
        } else {
            new.push(Op::SDiv, &[integer, count, bytes, size]);
            new.push(Op::SConvert, &[ty, id, count]);
        }
        Ok(())
    }

    /// Two memory operands, of the target and of the source, as one for both.
    fn copy_memory(&self, new: &mut Rewriter<'_>, at: &Instruction<'_>, op: Op) -> Result<()> {
        let fixed = if op == Op::CopyMemory { 2 } else { 3 };
        let (aligned, simple) = (0x2, 0x7);
        let (head, access) = at.operands().split_at_checked(fixed).unwrap_or_default();
        let one = |access: &[u32]| -> Option<(u32, Option<u32>, usize)> {
            let mask = *access.first()?;
            let alignment = if mask & aligned != 0 { Some(*access.get(1)?) } else { None };
            Some((mask, alignment, 1 + usize::from(alignment.is_some())))
        };
        let Some((first, first_alignment, length)) = one(access) else {
            new.copy(at);
            return Ok(());
        };
        let Some((second, second_alignment, _)) = access.get(length..).and_then(one) else {
            new.copy(at);
            return Ok(());
        };
        if (first | second) & !simple != 0 {
            return Err(self.unsupported(&format!("Op{op:?} with two memory operands")));
        }
        let mut operands = head.to_vec();
        let alignment = first_alignment.zip(second_alignment).map(|(a, b)| a.min(b));
        // Volatile where one of them is, nontemporal where both are, as aligned as the lesser.
        let mask =
            (first | second) & 0x1 | first & second & 0x4 | if alignment.is_some() { aligned } else { 0 };
        operands.push(mask);
        operands.extend(alignment);
        new.replace(at, op, &operands);
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
