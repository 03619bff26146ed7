//! Types, constants and variables outside of functions.

use std::collections::{BTreeSet, HashMap};

use super::{Context, broken, values};
use crate::Result;
use crate::{Capability, IdMap, Instruction, Op, Role, StorageClass, Type, is_constant, is_type, is_within};

/// How deep types and constants may nest, and operations on constants may hang on each other. The
/// universal limit for structs is 255; drivers walk all of these recursively.
const MAX_DEPTH: u32 = 512;
/// No device can hold a variable of this size in bytes, and drivers compute with it in 64 bits.
const MAX_BYTES: u64 = 1 << 48;

/// Checks everything between annotations and functions, and fills in the canonical types.
pub(super) fn check(context: &mut Context<'_, '_>) -> Result<()> {
    let mut checker = Checker {
        depth: IdMap::new(context.module, 0),
        equal: HashMap::new(),
        announced: BTreeSet::new(),
        any_width: crate::transform::capabilities::declared(context.module)
            .any(|c| c == Capability::ArbitraryPrecisionIntegersALTERA as u32),
        any_vector: crate::transform::capabilities::declared(context.module)
            .any(|c| c == Capability::VectorAnyINTEL as u32),
    };
    for instruction in context.module.global_instructions() {
        let Some(op) = instruction.op() else { continue };
        checker.depth(context, &instruction, op)?;
        if is_type(op) || is_constant(op) || op == Op::Variable {
            context.requirements.instruction(&instruction)?;
        }
        if op == Op::TypeForwardPointer {
            checker.announced.extend(instruction.operand(0));
        } else if is_type(op) {
            checker.ty(context, &instruction, op)?;
            checker.unify(context, &instruction, op);
        } else if is_constant(op) || op == Op::Undef {
            constant(context, &instruction, op)?;
        } else if op == Op::Variable {
            variable(context, &instruction, false)?;
        }
    }
    for &pointer in &checker.announced {
        if !matches!(context.ty(pointer), Some(Type::Pointer { .. })) {
            return Err(crate::Error::Malformed {
                word: context.definitions.word_index(pointer).unwrap_or(0),
                what: format!("OpTypeForwardPointer announces %{pointer}, which is no pointer type"),
            });
        }
    }
    Ok(())
}

struct Checker {
    depth: IdMap<u32>,
    /// Words of types that are one when they are equal → the first of them.
    equal: HashMap<Vec<u32>, u32>,
    /// Pointers that were announced by `OpTypeForwardPointer`.
    announced: BTreeSet<u32>,
    any_width: bool,
    any_vector: bool,
}

impl Checker {
    fn depth(&mut self, context: &Context<'_, '_>, instruction: &Instruction<'_>, op: Op) -> Result<()> {
        let Some(id) = instruction.result_id() else { return Ok(()) };
        if !(is_type(op) || is_constant(op) || op == Op::Variable) {
            return Ok(());
        }
        let mut deepest = 0;
        instruction.visit_ids(context.definitions, |index, role| {
            if role != Role::Result {
                deepest = deepest.max(instruction.word(index).map_or(0, |id| self.depth.value(id)));
            }
        });
        if deepest >= MAX_DEPTH {
            return Err(broken(instruction, format!("nests deeper than {MAX_DEPTH}")));
        }
        self.depth.insert(id, deepest + 1);
        Ok(())
    }

    fn ty(&self, context: &Context<'_, '_>, instruction: &Instruction<'_>, op: Op) -> Result<()> {
        let fail = |what: String| Err(broken(instruction, what));
        let is_data = |id: u32| {
            let known = !matches!(context.ty(id), None | Some(Type::Void | Type::Function { .. }));
            known
                && (context.definitions.word_index(id) < Some(instruction.at) || self.announced.contains(&id))
        };
        let scalar = |id| matches!(context.ty(id), Some(Type::Int { .. } | Type::Float { .. } | Type::Bool));
        match (op, instruction.operands()) {
            (Op::TypeInt, &[width, sign]) => {
                if !(matches!(width, 8 | 16 | 32 | 64) || self.any_width && (1..=4096).contains(&width)) {
                    return fail(format!("{width} bits wide"));
                }
                if sign > 0 {
                    return fail(format!("signedness {sign}, which must be 0 in kernels"));
                }
                let needed = match width {
                    8 => Some(Capability::Int8),
                    16 => Some(Capability::Int16),
                    64 => Some(Capability::Int64),
                    _ => None,
                };
                if let Some(needed) = needed.filter(|&c| !context.requirements.has(c)) {
                    return fail(format!("needs the capability {needed:?}, which is not declared"));
                }
            }
            (Op::TypeFloat, &[width, ..]) if !matches!(width, 16 | 32 | 64) => {
                return fail(format!("{width} bits wide"));
            }
            (Op::TypeFloat, &[width, ref encoding @ ..]) => {
                let has = |c| context.requirements.has(c);
                let declared = match width {
                    16 => has(Capability::Float16) || has(Capability::Float16Buffer),
                    64 => has(Capability::Float64),
                    _ => true,
                };
                if !declared {
                    return fail(format!("needs the capability Float{width}, which is not declared"));
                }
                if !encoding.is_empty() {
                    return fail("has an encoding, which no OpenCL device knows".to_owned());
                }
            }
            (Op::TypeVector, &[component, count]) => {
                if matches!(count, 8 | 16)
                    && !(self.any_vector || context.requirements.has(Capability::Vector16))
                {
                    return fail(format!(
                        "{count} lanes need the capability Vector16, which is not declared"
                    ));
                }
                let pointer = self.any_vector || matches!(context.ty(component), Some(Type::Pointer { .. }));
                if !(scalar(component) || pointer) {
                    return fail(format!("%{component} is no scalar type"));
                }
                if !(matches!(count, 2 | 3 | 4 | 8 | 16) || self.any_vector && (1..=4096).contains(&count)) {
                    return fail(format!("{count} lanes"));
                }
            }
            (Op::TypeArray, &[element, length]) => {
                if !is_data(element) {
                    return fail(format!("%{element} is no type of elements"));
                }
                let constant = context.definitions.instruction(length);
                let integer = context.value_type(length).and_then(|ty| context.ty(ty));
                if !constant.and_then(|c| c.op()).is_some_and(is_constant)
                    || !matches!(integer, Some(Type::Int { .. }))
                {
                    return fail(format!("the length %{length} is no integer constant"));
                }
                if context.definitions.int_constant(length) == Some(0) {
                    return fail("has no elements".to_owned());
                }
            }
            (Op::TypeRuntimeArray, &[element]) if !is_data(element) => {
                return fail(format!("%{element} is no type of elements"));
            }
            (Op::TypeStruct, members) => {
                if let Some(member) = members.iter().find(|&&m| !is_data(m)) {
                    return fail(format!("%{member} is no type of members"));
                }
            }
            (Op::TypePointer, &[class, pointee]) => {
                if StorageClass::from_u32(class).is_none() {
                    return fail(format!("storage class {class}"));
                }
                if let Err(what) = context.requirements.storage_class(class) {
                    return fail(what);
                }
                let opaque = matches!(context.ty(pointee), Some(Type::Void | Type::Function { .. }));
                let function = matches!(context.ty(pointee), Some(Type::Function { .. }));
                if function && !context.requirements.has(Capability::FunctionPointersINTEL) {
                    return fail(format!("points to the function type %{pointee}"));
                }
                if !is_data(pointee) && !opaque {
                    return fail(format!("%{pointee} is no type"));
                }
            }
            (Op::TypeFunction, &[returns, ref parameters @ ..]) => {
                if !is_data(returns) && context.ty(returns) != Some(Type::Void) {
                    return fail(format!("%{returns} is no type of results"));
                }
                if let Some(parameter) = parameters.iter().find(|&&p| !is_data(p)) {
                    return fail(format!("%{parameter} is no type of parameters"));
                }
            }
            (Op::TypeImage, &[sampled, dim, depth, arrayed, multisampled, use_, format, ..]) => {
                let has = |c| context.requirements.has(c);
                let declared = match dim {
                    0 => has(Capability::Sampled1D) || has(Capability::Image1D),
                    1 | 2 => true,
                    5 => has(Capability::SampledBuffer) || has(Capability::ImageBuffer),
                    _ => false,
                };
                if !declared {
                    return fail(format!("dimension {dim} is none that the module declares"));
                }
                // OpenCL's environment leaves it to the driver whether an image has a sampler.
                if use_ != 0 {
                    return fail(format!("an image of use {use_}, where kernels have 0"));
                }
                let wide = context.ty(sampled) == Some(Type::Int { width: 64 });
                let known = scalar(sampled) || context.ty(sampled) == Some(Type::Void);
                if !known || wide && !has(Capability::Int64ImageEXT) {
                    return fail(format!("the sampled type %{sampled} is none of images"));
                }
                let access = instruction.operand(7);
                if dim > 6 || depth > 2 || arrayed > 1 || multisampled > 1 || format != 0 || access > Some(2)
                {
                    return fail("an operand is out of range".to_owned());
                }
            }
            (Op::TypeSampledImage, &[image]) if context.ty(image) != Some(Type::Image) => {
                return fail(format!("%{image} is no image type"));
            }
            (Op::TypePipe, &[access]) if access > 2 => return fail(format!("access qualifier {access}")),
            _ => {}
        }
        match instruction.result_id().and_then(|id| context.types.size_bytes(id)) {
            Some(bytes) if bytes > MAX_BYTES => fail(format!("takes {bytes} bytes")),
            _ => Ok(()),
        }
    }

    fn unify(&mut self, context: &mut Context<'_, '_>, instruction: &Instruction<'_>, op: Op) {
        let (Some(id), false) = (instruction.result_id(), matches!(op, Op::TypeStruct | Op::TypeArray))
        else {
            return;
        };
        let mut key = instruction.words.to_vec();
        if let Some(result) = key.get_mut(1) {
            *result = 0;
        }
        instruction.visit_ids(context.definitions, |index, role| {
            if role == Role::Id
                && let Some(word) = key.get_mut(index)
            {
                *word = context.same(*word);
            }
        });
        let first = *self.equal.entry(key).or_insert(id);
        if first != id {
            context.canonical.insert(id, first);
        }
    }
}

fn constant(context: &Context<'_, '_>, instruction: &Instruction<'_>, op: Op) -> Result<()> {
    let fail = |what: String| Err(broken(instruction, what));
    // Continuations have neither type nor result.
    let Some(type_id) = instruction.result_type() else { return Ok(()) };
    let Some(ty) = context.ty(type_id) else { return fail(format!("%{type_id} is no type")) };
    let operands = instruction.operands();
    match op {
        Op::ConstantTrue | Op::ConstantFalse | Op::SpecConstantTrue | Op::SpecConstantFalse
            if ty != Type::Bool =>
        {
            fail("the type is not bool".to_owned())
        }
        Op::Constant | Op::SpecConstant => match ty {
            Type::Int { width } | Type::Float { width } if operands.len() == width.div_ceil(32) as usize => {
                let of = context.definitions.instruction(type_id);
                if is_extended(of, operands) {
                    Ok(())
                } else {
                    fail("the literal has bits beyond its type".to_owned())
                }
            }
            Type::Int { .. } | Type::Float { .. } => {
                fail("the literal is not as wide as the type".to_owned())
            }
            _ => fail("the type is no number".to_owned()),
        },
        Op::ConstantComposite | Op::SpecConstantComposite => {
            if let Some(id) = operands.iter().find(|&&id| !is_constant_or_address(context, id)) {
                return fail(format!("%{id} is no constant"));
            }
            values::constituents(context, ty, operands, instruction).map_err(|what| broken(instruction, what))
        }
        Op::ConstantNull | Op::Undef if matches!(ty, Type::Void | Type::Function { .. }) => {
            fail("the type has no values".to_owned())
        }
        Op::ConstantSampler
            if ty != Type::Sampler || operands.first() > Some(&4) || operands.last() > Some(&1) =>
        {
            fail("is no sampler".to_owned())
        }
        Op::SpecConstantOp => {
            if let Some((_, id)) =
                spec_operands(context, instruction).find(|&(_, id)| !is_constant_or_address(context, id))
            {
                return fail(format!("%{id} is no constant"));
            }
            let Some((&inner, rest)) = operands.split_first() else {
                return fail("has no operation".to_owned());
            };
            let Some(inner) = Op::from_u32(inner).filter(|&op| is_constant_operation(op)) else {
                return fail(format!("operation {inner} does not work on constants"));
            };
            let mut words = vec![inner as u32 | (operands.len() as u32 + 2) << 16, type_id];
            words.extend(instruction.result_id());
            words.extend(rest);
            let operation = Instruction { opcode: inner as u16, words: &words, at: instruction.at };
            // Words of the operation are one place before those of the instruction.
            let ids: Vec<_> =
                spec_operands(context, instruction).map(|(i, id)| (i - 1, Role::Id, id)).collect();
            values::check(context, &operation, inner, &ids).map_err(|what| broken(instruction, what))
        }
        _ => Ok(()),
    }
}

/// Whether the high bits of a literal narrower than 32 bits are zero. `of` is its type; kernels
/// have no signed ones.
pub(super) fn is_extended(of: Option<Instruction<'_>>, literal: &[u32]) -> bool {
    let (Some(of), &[word]) = (of, literal) else { return true };
    let Some(width @ 1..32) = of.operand(0) else { return true };
    word >> width == 0
}

/// The ids that an `OpSpecConstantOp` works on, and their words.
fn spec_operands(
    context: &Context<'_, '_>,
    instruction: &Instruction<'_>,
) -> impl Iterator<Item = (usize, u32)> {
    let mut ids = Vec::new();
    instruction.visit_ids(context.definitions, |index, role| {
        if role == Role::Id {
            ids.extend(instruction.word(index).map(|id| (index, id)));
        }
    });
    ids.into_iter()
}

/// What a constant may contain: constants, and the addresses of variables and functions.
fn is_constant_or_address(context: &Context<'_, '_>, id: u32) -> bool {
    context.definitions.instruction(id).and_then(|i| i.op()).is_some_and(|op| {
        is_constant(op)
            || matches!(
                op,
                Op::Undef
                    | Op::Variable
                    | Op::UntypedVariableKHR
                    | Op::ConstantFunctionPointerINTEL
                    | Op::Function
            )
    })
}

/// What `OpSpecConstantOp` may do in kernels.
fn is_constant_operation(op: Op) -> bool {
    matches!(
        op,
        Op::UConvert
            | Op::SConvert
            | Op::FConvert
            | Op::ConvertFToS
            | Op::ConvertFToU
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::Bitcast
            | Op::QuantizeToF16
            | Op::VectorShuffle
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::Select
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::PtrEqual
            | Op::PtrNotEqual
            | Op::PtrDiff
    ) || is_within(op, Op::SNegate, Op::FMod)
        || is_within(op, Op::LogicalEqual, Op::FUnordGreaterThanEqual)
        || is_within(op, Op::ShiftRightLogical, Op::Not)
}

/// Checks an `OpVariable`, of a function or outside.
pub(super) fn variable(
    context: &Context<'_, '_>,
    instruction: &Instruction<'_>,
    in_function: bool,
) -> Result<()> {
    let fail = |what: String| Err(broken(instruction, what));
    let ty = instruction.result_type().and_then(|ty| context.ty(ty));
    let Some(Type::Pointer { class, pointee }) = ty else {
        return fail("the type is no pointer".to_owned());
    };
    if instruction.operand(0) != Some(class) {
        return fail("the storage class is not the one of its type".to_owned());
    }
    let legal = match StorageClass::from_u32(class) {
        Some(StorageClass::Function) => in_function,
        Some(
            StorageClass::CrossWorkgroup
            | StorageClass::UniformConstant
            | StorageClass::Workgroup
            | StorageClass::Input
            | StorageClass::Private
            | StorageClass::CodeSectionINTEL
            | StorageClass::DeviceOnlyALTERA
            | StorageClass::HostOnlyALTERA,
        ) => !in_function,
        _ => false,
    };
    if !legal {
        let place = if in_function { "in a function" } else { "outside of functions" };
        return fail(format!("storage class {class} may not stand {place}; strip annotations first"));
    }
    if matches!(
        context.ty(pointee),
        None | Some(Type::Void | Type::Function { .. } | Type::RuntimeArray { .. })
    ) {
        return fail(format!("the type %{pointee} has no size"));
    }
    let Some(initial) = instruction.operand(1) else { return Ok(()) };
    if !is_constant_or_address(context, initial) {
        return fail(format!("the initializer %{initial} is no constant"));
    }
    if context.value_type(initial) != Some(context.same(pointee)) {
        return fail(format!("the initializer %{initial} is not of the variable's type"));
    }
    Ok(())
}
