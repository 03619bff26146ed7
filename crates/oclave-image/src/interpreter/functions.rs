//! Kernels become functions, with the built-ins that they ask for as parameters.
//!
//! Parameters are scalars of 64 bits, one for each component. Vectors or pointers to them would be
//! as simple. But where Intel's compiler vectorises the caller over work-items, it turns both into
//! wrong code. It gathers from garbage addresses, and functions that are not inlined give wrong
//! results.

use std::collections::BTreeMap;

use super::builtins::{Component, Needs};
use super::survey::{BuiltinVariable, Survey};
use crate::{ImageError, Result};
use oclave_spirv::{Cursor, Editor, Instruction, LinkageType, Op, Role, StorageClass, Type, TypeTable};

/// Removes the entry points of a module, and rewrites its functions.
pub(super) fn rewrite<'m>(edit: &mut Editor<'m>, types: &TypeTable<'m>, survey: &Survey<'m>) -> Result<()> {
    let module = edit.definitions().module();
    for instruction in module.global_instructions() {
        let is_export = match instruction.linkage() {
            Some((id, _, LinkageType::Export)) => survey.functions.contains_key(&id),
            _ => false,
        };
        let is_built_in = instruction.result_id().is_some_and(|id| survey.variables.contains_key(&id));
        let is_entry =
            matches!(instruction.op(), Some(Op::EntryPoint | Op::ExecutionMode | Op::ExecutionModeId));
        if is_export || is_built_in || is_entry {
            edit.remove(&instruction);
        }
    }
    let mut rewriting = Rewriting { edit, types, survey };
    let mut functions = module.instructions().filter(|i| i.is(Op::Function));
    functions.try_for_each(|function| rewriting.function(&function))
}

struct Rewriting<'a, 'm> {
    edit: &'a mut Editor<'m>,
    types: &'a TypeTable<'m>,
    survey: &'a Survey<'m>,
}

/// The function that is being written.
struct Function {
    parameters: BTreeMap<Component, u32>,
    /// What takes the place of results that are parameters, and of built-in variables.
    stands: BTreeMap<u32, u32>,
}

impl Rewriting<'_, '_> {
    fn function(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let &[_, returns, id, control, ty] = instruction.words else {
            return Err(bad(instruction, "a function without a type"));
        };
        let facts = self.survey.functions.get(&id).ok_or_else(|| bad(instruction, "an unknown function"))?;
        let ty = self.function_type(instruction, ty, facts.needs)?;
        // Inline stays. Pure and Const were said of functions that read built-ins. Some drivers fail on functions
        // that are not inlined (Q58).
        self.edit.replace(instruction, Op::Function, &[returns, id, control & 1, ty]);
        let definitions = self.edit.definitions();
        let Some(label) = definitions.body(id).find(|i| i.is(Op::Label)) else { return Ok(()) };
        let ulong = self.edit.int_type(64);
        let parameters = facts
            .needs
            .iter()
            .map(|component| (component, self.edit.before(&label).emit(Op::FunctionParameter, ulong, &[])));
        let mut function = Function { parameters: parameters.collect(), stands: BTreeMap::new() };
        for variable in &facts.indexed {
            let Some(of) = self.survey.variables.get(variable) else { continue };
            let copy = self.edit.variable(id, of.pointee, None);
            let mut at = self.edit.at_entry(id);
            let value = at.fresh_id();
            function.rebuild(&mut at, of, value);
            at.push(Op::Store, &[copy, value]);
            function.stands.insert(*variable, copy);
        }
        definitions.body(id).for_each(|instruction| self.read(&mut function, &instruction));
        definitions.body(id).for_each(|instruction| self.rewrite_use(&function, &instruction));
        Ok(())
    }

    fn function_type(&mut self, instruction: &Instruction<'_>, ty: u32, needs: Needs) -> Result<u32> {
        if needs.is_empty() {
            return Ok(ty);
        }
        let Some(Type::Function { returns, parameters }) = self.types.ty(ty) else {
            return Err(bad(instruction, "a function whose type is none"));
        };
        let ulong = self.edit.int_type(64);
        let mut all = parameters.to_vec();
        all.extend(needs.iter().map(|_| ulong));
        Ok(self.edit.function_type(returns, &all))
    }

    /// A load of a built-in, or an extraction of its component.
    fn read(&mut self, function: &mut Function, instruction: &Instruction<'_>) {
        let survey = self.survey;
        let Some(result) = instruction.result_id() else { return };
        let load = survey.loads.get(&result);
        let extracted = survey.extracts.get(&result);
        let read = load.map(|load| load.variable).or(extracted.map(|(_, variable)| *variable));
        let Some(variable) = read.and_then(|variable| survey.variables.get(&variable)) else { return };
        let component = match (extracted, variable.builtin) {
            (Some((component, _)), _) => Some(*component),
            (None, Some(builtin)) if is_scalar(variable) => builtin.components().next(),
            _ => None,
        };
        let parameter = component.and_then(|component| function.parameters.get(&component).copied());
        match parameter {
            Some(parameter) if variable.width == 64 => {
                self.edit.remove(instruction);
                self.edit.replace_uses(result, parameter);
                function.stands.insert(result, parameter);
            }
            Some(parameter) => {
                self.edit.replace(instruction, Op::UConvert, &[variable.component, result, parameter]);
            }
            None if load.is_some_and(|load| load.whole) => {
                function.rebuild(&mut self.edit.instead_of(instruction), variable, result);
            }
            None => self.edit.remove(instruction),
        }
    }

    /// An instruction that needs more than other operands.
    fn rewrite_use(&mut self, function: &Function, instruction: &Instruction<'_>) {
        let survey = self.survey;
        let called = instruction.operand(0).filter(|_| instruction.is(Op::FunctionCall));
        if instruction.result_id().is_some_and(|id| survey.chains.contains(&id)) {
            self.chain(function, instruction);
        } else if let Some(variable) = self.component_at(instruction) {
            self.select(function, instruction, variable);
        } else if let Some(callee) = called.and_then(|callee| survey.functions.get(&callee)) {
            let mut words = self.mapped(function, instruction);
            words.extend(callee.needs.iter().filter_map(|component| function.parameters.get(&component)));
            self.edit.replace(instruction, Op::FunctionCall, &words);
        }
    }

    /// The built-in of which an instruction extracts a component by an index that is computed.
    fn component_at(&self, instruction: &Instruction<'_>) -> Option<BuiltinVariable> {
        let vector = instruction.operand(0).filter(|_| instruction.is(Op::VectorExtractDynamic))?;
        self.survey.variables.get(&self.survey.loads.get(&vector)?.variable).copied()
    }

    /// Selects the component. What OpenCL C says of dimensions beyond the third, and drivers make
    /// of such an instruction, holds, too.
    fn select(&mut self, function: &Function, instruction: &Instruction<'_>, variable: BuiltinVariable) {
        let words = self.mapped(function, instruction);
        let (&[ty, result, _, index], Some(builtin)) = (words.as_slice(), variable.builtin) else { return };
        let index_bits = match instruction
            .operand(1)
            .and_then(|index| self.survey.definitions().type_of(index))
            .and_then(|ty| self.types.ty(ty))
        {
            Some(Type::Int { width }) => width,
            _ => 64,
        };
        let mut at = self.edit.instead_of(instruction);
        let bool = at.bool_type();
        let mut value = at.int_constant(variable.width, builtin.beyond());
        for component in builtin.components() {
            let Some(&parameter) = function.parameters.get(&component) else { continue };
            let axis = at.int_constant(index_bits, component.axis.into());
            let parameter = narrowed(&mut at, &variable, parameter);
            let is_axis = at.emit(Op::IEqual, bool, &[index, axis]);
            let next = if component.axis == 2 { result } else { at.fresh_id() };
            at.push(Op::Select, &[ty, next, is_axis, parameter, value]);
            value = next;
        }
    }

    /// An access chain, now into a variable of the function.
    fn chain(&mut self, function: &Function, instruction: &Instruction<'_>) {
        let mut words = self.mapped(function, instruction);
        if let (Some(op), Some(ty)) = (instruction.op(), words.first_mut())
            && let Some(Type::Pointer { pointee, .. }) = self.types.ty(*ty)
        {
            *ty = self.edit.pointer_type(StorageClass::Function, pointee);
            self.edit.replace(instruction, op, &words);
        }
    }

    /// The words of an instruction after the first, with parameters in the place of built-ins.
    fn mapped(&self, function: &Function, instruction: &Instruction<'_>) -> Vec<u32> {
        let mut words = instruction.words.to_vec();
        instruction.visit_ids(self.survey.definitions(), |index, role| {
            if role == Role::Id
                && let Some(word) = words.get_mut(index)
            {
                *word = function.stands.get(word).copied().unwrap_or(*word);
            }
        });
        words.split_off(1.min(words.len()))
    }
}

impl Function {
    /// Defines `result` as the built-in's whole value.
    fn rebuild(&self, at: &mut Cursor<'_, '_>, variable: &BuiltinVariable, result: u32) {
        let Some(builtin) = variable.builtin else { return };
        let mut operands = vec![variable.pointee, result];
        for component in builtin.components() {
            let parameter = self.parameters.get(&component);
            operands.extend(parameter.map(|parameter| narrowed(at, variable, *parameter)));
        }
        at.push(Op::CompositeConstruct, &operands);
    }
}

/// A parameter in the width of the built-in's components.
fn narrowed(at: &mut Cursor<'_, '_>, variable: &BuiltinVariable, parameter: u32) -> u32 {
    match variable.width {
        64 => parameter,
        _ => at.emit(Op::UConvert, variable.component, &[parameter]),
    }
}

fn is_scalar(variable: &BuiltinVariable) -> bool {
    variable.pointee == variable.component
}

fn bad(instruction: &Instruction<'_>, what: &str) -> ImageError {
    ImageError::Spirv { word: instruction.at, what: what.to_owned() }
}
