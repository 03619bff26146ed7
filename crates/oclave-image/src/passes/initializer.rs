//! The bytes of a constant, as it stands in memory.

use crate::spirv::{Definitions, Op, Type, TypeTable};

/// Initial values larger than this are not evaluated; zeros cost nothing and have no limit.
const MAX_BYTES: u64 = 64 << 20;
/// Deeper types are refused; keeps the stack bounded.
const MAX_DEPTH: u32 = 64;

/// The bytes of the constant `id`, a value of type `ty`; empty where all of it is zero.
///
/// # Errors
/// What the constant has that no bytes can stand for: an address, a specialization constant, too much of it.
pub(crate) fn evaluate(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    id: u32,
    ty: u32,
) -> Result<Vec<u8>, String> {
    let evaluation = Evaluation { definitions, types };
    if evaluation.is_null(id) {
        return Ok(Vec::new());
    }
    let size = types.size_bytes(ty).ok_or("its type has no known size")?;
    if size > MAX_BYTES {
        return Err(format!(
            "its {size} bytes are more than {MAX_BYTES}, the limit of initial values that are not zero"
        ));
    }
    let mut bytes = vec![0; size as usize];
    evaluation.write(id, ty, &mut bytes, 0)?;
    Ok(if bytes.iter().all(|&b| b == 0) { Vec::new() } else { bytes })
}

struct Evaluation<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
}

impl Evaluation<'_, '_> {
    fn is_null(&self, id: u32) -> bool {
        self.definitions.instruction(id).is_some_and(|i| matches!(i.op(), Some(Op::ConstantNull | Op::Undef)))
    }

    /// Writes `id` at the start of `out`, which is zero so far.
    fn write(&self, id: u32, ty: u32, out: &mut [u8], depth: u32) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("its type nests deeper than {MAX_DEPTH}"));
        }
        let instruction = self.definitions.instruction(id).ok_or("it is not defined")?;
        match instruction.op() {
            Some(Op::ConstantNull | Op::Undef | Op::ConstantFalse) => Ok(()),
            Some(Op::ConstantTrue) => put(out, 0, &[1]),
            Some(Op::Constant) => {
                let size = self.types.size_bytes(ty).unwrap_or(0).min(8) as usize;
                let bytes: Vec<u8> =
                    instruction.operands().iter().flat_map(|word| word.to_le_bytes()).collect();
                put(out, 0, bytes.get(..size).ok_or("a number is shorter than its type")?)
            }
            Some(Op::ConstantComposite) => self.composite(instruction.operands(), ty, out, depth),
            Some(Op::Variable | Op::Function | Op::ConstantFunctionPointerINTEL) => {
                Err("it holds the address of a variable or function, which only the device knows".to_owned())
            }
            Some(Op::SpecConstantOp) => {
                Err("it holds an address, or depends on a specialization constant".to_owned())
            }
            Some(
                Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse | Op::SpecConstantComposite,
            ) => Err("it depends on a specialization constant".to_owned()),
            _ => Err(format!("it is made by opcode {}, which cannot be evaluated", instruction.opcode)),
        }
    }

    fn composite(&self, parts: &[u32], ty: u32, out: &mut [u8], depth: u32) -> Result<(), String> {
        let mut part = |part: u32, ty: u32, offset: u64| -> Result<(), String> {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = out.get_mut(start..).ok_or("a part lies outside of it")?;
            self.write(part, ty, rest, depth + 1)
        };
        let expect = |wanted: u64| {
            if parts.len() as u64 == wanted {
                return Ok(());
            }
            Err(format!("it has {} parts where its type has {wanted}", parts.len()))
        };
        match self.types.ty(ty) {
            Some(Type::Array { element, length: Some(length) }) => {
                expect(length)?;
                let stride = self.types.size_bytes(element).ok_or("its elements have no known size")?;
                (0..).zip(parts).try_for_each(|(i, &id)| part(id, element, stride.saturating_mul(i)))
            }
            Some(Type::Vector { component, count }) => {
                expect(count.into())?;
                let stride = self.types.size_bytes(component).ok_or("its lanes have no known size")?;
                (0..).zip(parts).try_for_each(|(i, &id)| part(id, component, stride.saturating_mul(i)))
            }
            Some(Type::Struct { members }) => {
                expect(members.len() as u64)?;
                let offsets = self.types.member_offsets(ty).ok_or("a member has no known size")?;
                parts
                    .iter()
                    .zip(members)
                    .zip(offsets)
                    .try_for_each(|((&id, &ty), offset)| part(id, ty, offset))
            }
            _ => Err("it has parts, but its type has none".to_owned()),
        }
    }
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) -> Result<(), String> {
    let place = out.get_mut(at..at + bytes.len()).ok_or("a number lies outside of it")?;
    place.copy_from_slice(bytes);
    Ok(())
}
