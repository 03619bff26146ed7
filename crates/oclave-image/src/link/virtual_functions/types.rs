//! Which types stand for addresses of functions and slots, and types as signatures have them.

use crate::virtual_functions::CallType;
use oclave_spirv::{Declarations, IdMap, Module, Op, StorageClass, Type, TypeTable};

/// The types that become 64-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeType {
    /// Any other type.
    None,
    /// A pointer to a function.
    Function,
    /// A pointer to where a vtable holds a pointer to a function: what clang makes of a vptr.
    Slot,
}

/// Which types are code types.
#[derive(Debug)]
pub(super) struct CodeTypes {
    kinds: IdMap<CodeType>,
}

impl CodeTypes {
    pub(super) fn new(module: &Module, types: &TypeTable<'_>) -> Self {
        let mut kinds = IdMap::new(module, CodeType::None);
        let pointers = || {
            let before = module.global_instructions();
            before.filter(|i| i.is(Op::TypePointer)).filter_map(|i| i.result_id())
        };
        for id in pointers() {
            if let Some(Type::Pointer { pointee, .. }) = types.ty(id)
                && matches!(types.ty(pointee), Some(Type::Function { .. }))
            {
                kinds.insert(id, CodeType::Function);
            }
        }
        for id in pointers() {
            if let Some(Type::Pointer { class, pointee }) = types.ty(id)
                && is_of_vtables(class)
                && kinds.value(pointee) == CodeType::Function
            {
                kinds.insert(id, CodeType::Slot);
            }
        }
        Self { kinds }
    }

    /// The kind of a type.
    pub(super) fn kind(&self, ty: u32) -> CodeType {
        self.kinds.value(ty)
    }

    /// Whether a type becomes an integer.
    pub(super) fn contains(&self, ty: u32) -> bool {
        self.kind(ty) != CodeType::None
    }
}

/// Whether vtables are in this storage class: since LLVM 19 in global memory, before it where
/// functions are.
pub(super) fn is_of_vtables(class: u32) -> bool {
    class == StorageClass::Function as u32 || class == StorageClass::CrossWorkgroup as u32
}

/// A type as signatures have it; `None` for those that calls cannot pass.
pub(super) fn call_type(types: &TypeTable<'_>, ty: u32) -> Option<CallType> {
    let scalar = |ty| match types.ty(ty)? {
        Type::Int { width } if matches!(width, 8 | 16 | 32 | 64) => Some(CallType::Int(width)),
        Type::Float { width } if matches!(width, 16 | 32 | 64) => Some(CallType::Float(width)),
        _ => None,
    };
    match types.ty(ty)? {
        Type::Void => Some(CallType::Void),
        Type::Bool => Some(CallType::Bool),
        Type::Vector { component, count } => match scalar(component)? {
            CallType::Int(bits) => Some(CallType::IntVector(count, bits)),
            CallType::Float(bits) => Some(CallType::FloatVector(count, bits)),
            _ => None,
        },
        Type::Pointer { class, .. } => StorageClass::from_u32(class).map(CallType::Pointer),
        _ => scalar(ty),
    }
}

/// A type of a signature in the new module, with the capabilities that it needs.
pub(crate) fn type_of(new: &mut Declarations<'_>, ty: CallType) -> u32 {
    match ty {
        CallType::Void => new.void_type(),
        CallType::Bool => new.bool_type(),
        CallType::Int(bits) => new.int_type(bits),
        CallType::Float(bits) => new.float_type(bits),
        CallType::IntVector(lanes, bits) => vector_of(new, CallType::Int(bits), lanes),
        CallType::FloatVector(lanes, bits) => vector_of(new, CallType::Float(bits), lanes),
        CallType::Pointer(class) => {
            let byte = new.int_type(8);
            new.pointer_type(class, byte)
        }
    }
}

fn vector_of(new: &mut Declarations<'_>, component: CallType, lanes: u32) -> u32 {
    let component = type_of(new, component);
    new.vector_type(component, lanes)
}
