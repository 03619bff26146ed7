//! How an argument block holds each parameter of a kernel.

use std::collections::BTreeSet;

use super::layout::{Block, InterpreterArgument, InterpreterArgumentKind};
use oclave_spirv::{
    Decoration, Definitions, FunctionParameterAttribute, Module, Op, StorageClass, Type, TypeTable,
};

/// A parameter: what is loaded for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) argument: InterpreterArgument,
    pub(super) source: Source,
    /// The parameter's type.
    pub(super) ty: u32,
}

/// What becomes of the bytes in a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// They are the value.
    Value { align: u32 },
    /// They are an address.
    Address,
    /// They are an offset in local memory.
    LocalOffset,
    /// They are copied to a variable, and its address is passed.
    Struct { size: u32, align: u32 },
}

/// The ids with `FuncParamAttr ByVal`.
pub(super) fn by_value(module: &Module) -> BTreeSet<u32> {
    let decorations = module.global_instructions().filter(|i| i.is(Op::Decorate));
    decorations
        .filter_map(|instruction| match instruction.operands() {
            &[id, decoration, attribute, ..]
                if decoration == Decoration::FuncParamAttr as u32
                    && attribute == FunctionParameterAttribute::ByVal as u32 =>
            {
                Some(id)
            }
            _ => None,
        })
        .collect()
}

/// The parameters of a function as arguments of a block.
///
/// # Errors
/// Why a kernel with such parameters cannot be in an interpreter module.
pub(super) fn parameters(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    by_value: &BTreeSet<u32>,
    function: u32,
) -> Result<(Vec<Parameter>, Block), String> {
    let missing = || "its function is not sound".to_owned();
    let definition = definitions.instruction(function).filter(|i| i.is(Op::Function)).ok_or_else(missing)?;
    let Some(Type::Function { parameters, .. }) = definition.operand(1).and_then(|ty| types.ty(ty)) else {
        return Err(missing());
    };
    let ids = definitions
        .module()
        .instructions_from(definition.at)
        .skip(1)
        .take_while(|i| !i.is(Op::Label) && !i.is(Op::FunctionEnd))
        .filter(|i| i.is(Op::FunctionParameter))
        .filter_map(|i| i.result_id());
    let mut block = Block::default();
    let mut list = Vec::new();
    for (index, (id, &ty)) in ids.zip(parameters).enumerate() {
        let by_value = by_value.contains(&id);
        let (kind, source, align) =
            one(types, ty, by_value).map_err(|what| format!("its argument {index} is {what}"))?;
        let offset_bytes = block.place(kind.size_bytes(), align).ok_or("its arguments are too large")?;
        list.push(Parameter { argument: InterpreterArgument { offset_bytes, kind }, source, ty });
    }
    if list.len() == parameters.len() { Ok((list, block)) } else { Err(missing()) }
}

/// How large the structs among parameters are.
pub(super) fn struct_bytes(parameters: &[Parameter]) -> u64 {
    let sizes = parameters.iter().map(|parameter| match parameter.source {
        Source::Struct { size, .. } => u64::from(size),
        _ => 0,
    });
    sizes.sum()
}

fn one(
    types: &TypeTable<'_>,
    ty: u32,
    by_value: bool,
) -> Result<(InterpreterArgumentKind, Source, u32), &'static str> {
    let layout = |ty: u32| match types.size_bytes(ty).and_then(|size| u32::try_from(size).ok()) {
        Some(size) if size < 1 << 20 => Ok((size, types.align_bytes(ty))),
        _ => Err("of no known size"),
    };
    match types.ty(ty) {
        Some(Type::Pointer { class, pointee }) => {
            let is = |other: StorageClass| class == other as u32;
            if is(StorageClass::Function) {
                let (size, align) = layout(pointee)?;
                let source = Source::Struct { size, align };
                Ok((InterpreterArgumentKind::Value { size_bytes: size }, source, align))
            } else if by_value {
                Err("passed by value, in memory that is not private")
            } else if is(StorageClass::Workgroup) {
                Ok((InterpreterArgumentKind::Local, Source::LocalOffset, 8))
            } else if is(StorageClass::CrossWorkgroup) || is(StorageClass::UniformConstant) {
                Ok((InterpreterArgumentKind::Pointer, Source::Address, 8))
            } else {
                Err("a pointer to memory that the host cannot give")
            }
        }
        Some(
            Type::Int { .. }
            | Type::Float { .. }
            | Type::Vector { .. }
            | Type::Struct { .. }
            | Type::Array { .. },
        ) => {
            let (size, align) = layout(ty)?;
            Ok((InterpreterArgumentKind::Value { size_bytes: size }, Source::Value { align }, align))
        }
        Some(Type::Image | Type::SampledImage) => Err("an image"),
        Some(Type::Sampler) => Err("a sampler"),
        _ => Err("of a type that cannot stand in memory"),
    }
}
