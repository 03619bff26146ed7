//! The bytes of a constant in memory.

use crate::{Definitions, Instruction, Op, StorageClass, Type, TypeTable};

/// Initial values larger than this are not evaluated; zeros cost nothing and have no limit.
const MAX_BYTES: u64 = 64 << 20;
/// Deeper types are refused; keeps the stack bounded.
const MAX_DEPTH: u32 = 64;

/// A constant, as bytes of memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constant {
    /// None where all of it is zero.
    pub bytes: Vec<u8>,
    /// What only the device knows, where the bytes are zero.
    pub addresses: Vec<AddressOf>,
}

/// The address of a variable, or of a part of one, in a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressOf {
    /// Where in the constant it is.
    pub offset_bytes: u32,
    /// The `OpVariable`.
    pub variable: u32,
    /// Added to the address of the variable.
    pub addend_bytes: i64,
}

/// The constant `id`, a value of type `ty`.
///
/// # Errors
/// The part of the constant that cannot be moved out of the module: a specialization constant, an
/// address outside of global memory, or too many bytes.
pub fn evaluate(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    id: u32,
    ty: u32,
) -> Result<Constant, String> {
    evaluate_with(definitions, types, StorageClass::CrossWorkgroup, [id, ty])
}

/// [`evaluate`] for addresses in another kind of memory.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_with(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    class: StorageClass,
    [id, ty]: [u32; 2],
) -> Result<Constant, String> {
    let mut evaluation = Evaluation { definitions, types, class, addresses: Vec::new() };
    if evaluation.is_null(id) {
        return Ok(Constant::default());
    }
    let size = types.size_bytes(ty).ok_or("its type has no known size")?;
    if size > MAX_BYTES {
        return Err(format!(
            "its {size} bytes are more than {MAX_BYTES}, the limit of initial values that are not zero"
        ));
    }
    let mut bytes = vec![0; size as usize];
    evaluation.write(id, ty, 0, &mut bytes, 0)?;
    if bytes.iter().all(|&b| b == 0) {
        bytes.clear();
    }
    Ok(Constant { bytes, addresses: evaluation.addresses })
}

struct Evaluation<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    /// Where addresses may lead.
    class: StorageClass,
    addresses: Vec<AddressOf>,
}

impl Evaluation<'_, '_> {
    fn is_null(&self, id: u32) -> bool {
        self.definitions.instruction(id).is_some_and(|i| matches!(i.op(), Some(Op::ConstantNull | Op::Undef)))
    }

    /// Writes `id` at `at` bytes of `out`, which is zero so far.
    fn write(&mut self, id: u32, ty: u32, at: u64, out: &mut [u8], depth: u32) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("its type nests deeper than {MAX_DEPTH}"));
        }
        let instruction = self.definitions.instruction(id).ok_or("it is not defined")?;
        // Also keeps the time bounded: each part that is looked at has bytes of its own.
        if self.types.size_bytes(ty) == Some(0) {
            return Ok(());
        }
        match instruction.op() {
            Some(Op::ConstantNull | Op::Undef | Op::ConstantFalse) => Ok(()),
            Some(Op::ConstantTrue) => put(out, at, &[1]),
            Some(Op::Constant) => {
                let size = self.types.size_bytes(ty).unwrap_or(0).min(8) as usize;
                let bytes: Vec<u8> =
                    instruction.operands().iter().flat_map(|word| word.to_le_bytes()).collect();
                put(out, at, bytes.get(..size).ok_or("a number is shorter than its type")?)
            }
            Some(Op::ConstantComposite) => self.composite(instruction.operands(), ty, at, out, depth),
            Some(Op::Function | Op::ConstantFunctionPointerINTEL) => {
                Err("it holds the address of a function, which only the device knows".to_owned())
            }
            Some(Op::Variable | Op::SpecConstantOp) => {
                if let Some(number) = self.number_as_pointer(&instruction, 0) {
                    let size = self.types.pointer_bytes() as usize;
                    return put(out, at, number.to_le_bytes().get(..size).unwrap_or_default());
                }
                let (variable, addend_bytes) = self.address(id, 0)?;
                let offset_bytes = u32::try_from(at).map_err(|_| "it is too large")?;
                self.addresses.push(AddressOf { offset_bytes, variable, addend_bytes });
                Ok(())
            }
            Some(
                Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse | Op::SpecConstantComposite,
            ) => Err("it depends on a specialization constant".to_owned()),
            _ => Err(format!("it is made by opcode {}, which cannot be evaluated", instruction.opcode)),
        }
    }

    /// The number that a constant pointer is made of, perhaps cast to another type: what stands for
    /// the address of a table of virtual functions.
    fn number_as_pointer(&self, instruction: &Instruction<'_>, depth: u32) -> Option<u64> {
        let &[op, from] = instruction.operands() else { return None };
        if !instruction.is(Op::SpecConstantOp) || depth > MAX_DEPTH {
            return None;
        }
        match Op::from_u32(op)? {
            Op::ConvertUToPtr => self.definitions.int_constant(from),
            Op::Bitcast => self.number_as_pointer(&self.definitions.instruction(from)?, depth + 1),
            _ => None,
        }
    }

    fn composite(
        &mut self,
        parts: &[u32],
        ty: u32,
        at: u64,
        out: &mut [u8],
        depth: u32,
    ) -> Result<(), String> {
        let types = self.types;
        let mut part = |part: u32, ty: u32, offset: u64| -> Result<(), String> {
            self.write(part, ty, at.saturating_add(offset), out, depth + 1)
        };
        let expect = |wanted: u64| {
            if parts.len() as u64 == wanted {
                return Ok(());
            }
            Err(format!("it has {} parts where its type has {wanted}", parts.len()))
        };
        match types.ty(ty) {
            Some(Type::Array { element, length: Some(length) }) => {
                expect(length)?;
                let stride = types.size_bytes(element).ok_or("its elements have no known size")?;
                (0..).zip(parts).try_for_each(|(i, &id)| part(id, element, stride.saturating_mul(i)))
            }
            Some(Type::Vector { component, count }) => {
                expect(count.into())?;
                let stride = types.size_bytes(component).ok_or("its lanes have no known size")?;
                (0..).zip(parts).try_for_each(|(i, &id)| part(id, component, stride.saturating_mul(i)))
            }
            Some(Type::Struct { members }) => {
                expect(members.len() as u64)?;
                let offsets = types.member_offsets(ty).ok_or("a member has no known size")?;
                parts
                    .iter()
                    .zip(members)
                    .zip(offsets)
                    .try_for_each(|((&id, &ty), offset)| part(id, ty, offset))
            }
            _ => Err("it has parts, but its type has none".to_owned()),
        }
    }

    /// The variable that a constant address lies in, and how many bytes behind its start.
    fn address(&self, id: u32, depth: u32) -> Result<(u32, i64), String> {
        let unknown = || "it computes an address, or depends on a specialization constant".to_owned();
        if depth > MAX_DEPTH {
            return Err(unknown());
        }
        let instruction = self.definitions.instruction(id).ok_or_else(unknown)?;
        if instruction.is(Op::Variable) {
            return if instruction.operand(0) == Some(self.class as u32) {
                Ok((id, 0))
            } else {
                let memory = match self.class {
                    StorageClass::UniformConstant => "constant",
                    _ => "global",
                };
                Err(format!("it holds the address of something that is not in {memory} memory"))
            };
        }
        let (Some(Op::SpecConstantOp), &[op, ref operands @ ..]) = (instruction.op(), instruction.operands())
        else {
            return Err(unknown());
        };
        let base = *operands.first().ok_or_else(unknown)?;
        let (variable, start) = self.address(base, depth + 1)?;
        let more = match (Op::from_u32(op), operands) {
            (Some(Op::Bitcast | Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::ConvertPtrToU), [_]) => {
                Some(0)
            }
            (Some(op), _) => self.types.chain_offset(self.definitions, op, operands),
            _ => None,
        };
        let sum = more.and_then(|more| start.checked_add(more)).ok_or_else(unknown)?;
        Ok((variable, sum))
    }
}

fn put(out: &mut [u8], at: u64, bytes: &[u8]) -> Result<(), String> {
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let place = out.get_mut(start..start.saturating_add(bytes.len())).ok_or("a number lies outside of it")?;
    place.copy_from_slice(bytes);
    Ok(())
}
