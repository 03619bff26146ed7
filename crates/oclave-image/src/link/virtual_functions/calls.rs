//! Calls through slots become calls of dispatchers.

use std::collections::BTreeMap;

use super::rewrite::Rewrite;
use super::types::{CodeType, call_type, type_of};
use crate::Result;
use crate::virtual_functions::{CallSignature, Dispatcher, OFFSET_DISPATCHER, SlotKey};
use oclave_spirv::{Declarations, Instruction, Op, Type, TypeTable, is_access_chain};

/// The dispatchers that the new module imports.
#[derive(Debug, Default)]
pub(super) struct Dispatchers {
    by_name: BTreeMap<String, (u32, Dispatcher)>,
    offsets: Option<u32>,
}

impl Dispatchers {
    /// The function of a dispatcher, declared when it is first asked for.
    fn function(&mut self, new: &mut Declarations<'_>, dispatcher: Dispatcher) -> u32 {
        let (id, _) = self.by_name.entry(dispatcher.name.clone()).or_insert_with(|| {
            let code = new.int_type(64);
            let types = dispatcher.signature.parameters.iter().map(|ty| type_of(new, *ty));
            let parameters: Vec<u32> = [code].into_iter().chain(types).collect();
            let result = type_of(new, dispatcher.signature.result);
            (new.import(&dispatcher.name, result, &parameters), dispatcher)
        });
        *id
    }

    /// The function that is asked for offsets.
    pub(super) fn offsets(&mut self, new: &mut Declarations<'_>) -> u32 {
        *self.offsets.get_or_insert_with(|| {
            let ulong = new.int_type(64);
            new.import(OFFSET_DISPATCHER, ulong, &[ulong])
        })
    }

    /// Function → dispatcher.
    pub(super) fn into_functions(self) -> BTreeMap<u32, Dispatcher> {
        self.by_name.into_values().collect()
    }
}

/// The signature of a function type; the place of the first type that calls cannot pass, 0 being
/// the result, where there is one.
pub(super) fn signature(types: &TypeTable<'_>, function_type: u32) -> Result<CallSignature, usize> {
    let Some(Type::Function { returns, parameters }) = types.ty(function_type) else { return Err(0) };
    let result = call_type(types, returns).ok_or(0_usize)?;
    let parameters = (1..).zip(parameters).map(|(i, &ty)| call_type(types, ty).ok_or(i));
    Ok(CallSignature { result, parameters: parameters.collect::<Result<_, usize>>()? })
}

/// Whether a value of this type is a pointer, but not to bytes: signatures have only the latter.
pub(super) fn needs_cast(types: &TypeTable<'_>, ty: u32) -> bool {
    match types.ty(ty) {
        Some(Type::Pointer { pointee, .. }) => types.ty(pointee) != Some(Type::Int { width: 8 }),
        _ => false,
    }
}

impl Rewrite<'_, '_> {
    /// A call through a pointer.
    pub(super) fn call(&mut self, call: &Instruction<'_>) -> Result<()> {
        let (Some(id), Some(ty), &[pointer, ref arguments @ ..]) =
            (call.result_id(), call.result_type(), call.operands())
        else {
            return Ok(());
        };
        let old = self.old;
        let pointee = old.definitions.type_of(pointer).and_then(|ty| old.types.ty(ty));
        let Some(Type::Pointer { pointee: function_type, .. }) = pointee else {
            return Err(self.problem("it calls what is no pointer to a function"));
        };
        let signature =
            signature(old.types, function_type).map_err(|place| {
                self.problem(format!(
                "{} of a virtual call is neither a number, a truth value, a vector, a struct nor a pointer",
                if place == 0 { "the result".to_owned() } else { format!("argument {place} (`this` counts)") }
            ))
            })?;
        let key = SlotKey { slot: self.slot_of(pointer), class: old.call_classes.get(&id).cloned() };
        let dispatcher = Dispatcher::new(signature.clone(), key);
        let function = self.dispatchers.function(&mut self.edit, dispatcher);
        if arguments.iter().zip(&signature.parameters).any(|(&argument, _)| old.is_code(argument)) {
            return Err(self.problem("it passes a pointer to a function, which devices do not have"));
        }
        let mut at = self.edit.instead_of(call);
        let mut operands = vec![function, at.replaced(pointer)];
        for (&argument, &wanted) in arguments.iter().zip(&signature.parameters) {
            let mut value = at.replaced(argument);
            if old.definitions.type_of(argument).is_some_and(|ty| needs_cast(old.types, ty)) {
                let ty = type_of(&mut at, wanted);
                value = at.emit(Op::Bitcast, ty, &[value]);
            }
            operands.push(value);
        }
        let result = type_of(&mut at, signature.result);
        if needs_cast(old.types, ty) {
            let bytes = at.emit(Op::FunctionCall, result, &operands);
            let ty = at.replaced(ty);
            at.push(Op::Bitcast, &[ty, id, bytes]);
        } else {
            at.push(Op::FunctionCall, &[&[result, id], operands.as_slice()].concat());
        }
        Ok(())
    }

    /// The number of the slot that a pointer to a function was loaded from, where that is plain to
    /// see. Dispatchers of calls that say a slot know no codes of functions.
    fn slot_of(&self, pointer: u32) -> Option<u32> {
        let known = |id| self.old.vtables.slot_number(*self.old.symbols.get(&id)?);
        if let Some(slot) = known(pointer) {
            return Some(slot);
        }
        let function = self.old.uncast(pointer)?;
        let address = function.operand(0).filter(|_| function.is(Op::Load))?;
        if self.old.kind(address) != CodeType::Slot {
            return None;
        }
        if let Some(slot) = known(address) {
            return Some(slot);
        }
        let address = self.old.uncast(address)?;
        if self.is_vptr_load(&address) {
            return Some(0);
        }
        let (&base, indices) = address.operands().split_first()?;
        let &[index] = indices else { return None };
        let from_vptr = address.op().is_some_and(is_access_chain)
            && self.old.kind(base) == CodeType::Slot
            && self.old.uncast(base).is_some_and(|base| self.is_vptr_load(&base));
        let index = self.old.definitions.signed_constant(index).filter(|_| from_vptr)?;
        u32::try_from(index).ok()
    }

    /// Whether an instruction loads a vptr, which is the address of a slot.
    fn is_vptr_load(&self, instruction: &Instruction<'_>) -> bool {
        let kind = |ty: Option<u32>| ty.map_or(CodeType::None, |ty| self.old.code_types.kind(ty));
        instruction.is(Op::Load) && kind(instruction.result_type()) == CodeType::Slot
    }
}
