//! The functions that set images export.

use super::calls::{needs_cast, signature};
use super::rewrite::{Old, Rewrite, problem};
use super::types::type_of;
use crate::Result;
use crate::virtual_functions::{CallSignature, WRAPPER_PREFIX};
use oclave_spirv::{Code, FunctionControl, LinkageType, Op, Type};

/// A function of a set, and what calls reach it by.
#[derive(Debug, Clone)]
pub(crate) struct Callable {
    /// Name of the function, unique over programs.
    pub(crate) name: String,
    pub(crate) code: u64,
    pub(crate) set: String,
    pub(crate) signature: CallSignature,
    /// The exported function that calls it.
    pub(crate) wrapper: u32,
    /// Linkage name of the wrapper.
    pub(crate) export: String,
}

impl Rewrite<'_, '_> {
    /// Adds the wrapper of a function as a member of a set.
    pub(super) fn wrapper(&mut self, function: u32, set_index: usize, set: &str) -> Result<Callable> {
        let Old { definitions, types, names, .. } = self.old;
        let missing = |what: &str| problem(names, function, what);
        let instruction = definitions.instruction(function).filter(|i| i.is(Op::Function));
        let Some(&[_, function_type]) = instruction.map(|i| i.operands()) else {
            return Err(missing("it is not defined"));
        };
        let Some(Type::Function { returns, parameters }) = types.ty(function_type) else {
            return Err(missing("it has no function type"));
        };
        let signature = signature(types, function_type).map_err(|place| {
            let what = if place == 0 { "its result".to_owned() } else { format!("its parameter {place} (`this` counts)") };
            missing(&format!(
                "{what} cannot be passed by virtual calls: it is neither a number, a truth value, a vector, a struct nor \
                 a pointer"
            ))
        })?;
        let new = &mut self.edit;
        let parameter_types: Vec<u32> = signature.parameters.iter().map(|ty| type_of(new, *ty)).collect();
        let result = type_of(new, signature.result);
        let ty = new.function_type(result, &parameter_types);
        let [wrapper, label, value] = std::array::from_fn(|_| self.edit.fresh_id());
        let mut code = Code::new();
        code.push(Op::Function, &[result, wrapper, FunctionControl::NONE.bits(), ty]);
        let ids: Vec<u32> = parameter_types.iter().map(|_| self.edit.fresh_id()).collect();
        for (ty, id) in parameter_types.iter().zip(&ids) {
            code.push(Op::FunctionParameter, &[*ty, *id]);
        }
        code.push(Op::Label, &[label]);
        let mut arguments = vec![function];
        for (&id, &ty) in ids.iter().zip(parameters) {
            let mut argument = id;
            if needs_cast(types, ty) {
                argument = self.edit.fresh_id();
                code.push(Op::Bitcast, &[self.mapped(ty), argument, id]);
            }
            arguments.push(argument);
        }
        code.push(Op::FunctionCall, &[&[self.mapped(returns), value], arguments.as_slice()].concat());
        if types.ty(returns) == Some(Type::Void) {
            code.push(Op::Return, &[]);
        } else if needs_cast(types, returns) {
            let bytes = self.edit.fresh_id();
            code.push(Op::Bitcast, &[result, bytes, value]);
            code.push(Op::ReturnValue, &[bytes]);
        } else {
            code.push(Op::ReturnValue, &[value]);
        }
        code.push(Op::FunctionEnd, &[]);
        self.edit.add_function(code);
        let name = names.unique(function);
        let export = format!("{WRAPPER_PREFIX}{:016x}_{set_index}_{}", names.hash, names.plain(function));
        self.edit.name(wrapper, &export);
        self.edit.decorate_linkage(wrapper, &export, LinkageType::Export);
        Ok(Callable {
            name,
            code: super::vtables::Vtables::function_code(names, function),
            set: set.to_owned(),
            signature,
            wrapper,
            export,
        })
    }
}
