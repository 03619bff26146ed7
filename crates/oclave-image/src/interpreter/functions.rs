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
use oclave_spirv::{Decoration, Instruction, LinkageType, Op, Rewriter, Role, StorageClass, Type, TypeTable};

/// Copies a module without its entry points, its functions rewritten.
pub(super) fn rewrite<'m>(new: &mut Rewriter<'m>, types: &TypeTable<'m>, survey: &Survey<'m>) -> Result<()> {
    let module = new.definitions().module();
    let mut rewriting = Rewriting { new, types, survey, function: None };
    for instruction in module.instructions() {
        rewriting.instruction(&instruction)?;
    }
    Ok(())
}

struct Rewriting<'a, 'm> {
    new: &'a mut Rewriter<'m>,
    types: &'a TypeTable<'m>,
    survey: &'a Survey<'m>,
    function: Option<Function>,
}

/// The function that is being written.
struct Function {
    needs: Needs,
    parameters: BTreeMap<Component, u32>,
    /// Built-in variable → the variable of the function that stands for it.
    copies: BTreeMap<u32, u32>,
    place: Place,
}

#[derive(PartialEq)]
enum Place {
    BeforeBlocks,
    /// At the variables of the first block.
    Variables,
    Body,
}

impl Function {
    fn parameter(&self, component: Component) -> u32 {
        self.parameters.get(&component).copied().unwrap_or(0)
    }
}

impl Rewriting<'_, '_> {
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        if instruction.is(Op::Function) {
            return self.begin(instruction);
        }
        let Some(function) = self.function.take() else {
            self.module_scope(instruction);
            return Ok(());
        };
        let mut function = function;
        if instruction.is(Op::Label) && function.place == Place::BeforeBlocks {
            self.first_block(&mut function, instruction);
        } else {
            let variables = matches!(instruction.op(), Some(Op::Variable | Op::Line | Op::NoLine));
            if function.place == Place::Variables && !variables {
                function.place = Place::Body;
                self.fill_copies(&function);
            }
            self.body(&function, instruction);
        }
        if !instruction.is(Op::FunctionEnd) {
            self.function = Some(function);
        }
        Ok(())
    }

    fn module_scope(&mut self, instruction: &Instruction<'_>) {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::EntryPoint | Op::ExecutionMode | Op::ExecutionModeId), _) => {}
            (Some(Op::Decorate), &[id, ref rest @ ..])
                if self.is_export_of_function(id, rest, instruction) => {}
            (Some(Op::Variable), _) if instruction.result_id().is_some_and(|id| is_gone(self.survey, id)) => {
            }
            _ => {
                let survey = self.survey;
                self.new.copy_unless_gone(instruction, |id| is_gone(survey, id));
            }
        }
    }

    fn is_export_of_function(&self, id: u32, rest: &[u32], instruction: &Instruction<'_>) -> bool {
        rest.first() == Some(&(Decoration::LinkageAttributes as u32))
            && instruction.after_string(2).and_then(|kind| kind.first())
                == Some(&(LinkageType::Export as u32))
            && self.survey.functions.contains_key(&id)
    }

    fn begin(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let &[_, returns, id, control, ty] = instruction.words else {
            return Err(bad(instruction, "a function without a type"));
        };
        let facts = self.survey.functions.get(&id).ok_or_else(|| bad(instruction, "an unknown function"))?;
        let needs = facts.needs;
        let parameters = needs.iter().map(|component| (component, self.new.fresh_id())).collect();
        let copies = facts.indexed.iter().map(|variable| (*variable, self.new.fresh_id())).collect();
        let ty = self.function_type(instruction, ty, needs)?;
        // Inline stays. Pure and Const were said of functions that read built-ins. Some drivers fail on functions
        // that are not inlined (Q58).
        self.new.replace(instruction, Op::Function, &[returns, id, control & 1, ty]);
        self.function = Some(Function { needs, parameters, copies, place: Place::BeforeBlocks });
        Ok(())
    }

    fn function_type(&mut self, instruction: &Instruction<'_>, ty: u32, needs: Needs) -> Result<u32> {
        if needs.is_empty() {
            return Ok(ty);
        }
        let Some(Type::Function { returns, parameters }) = self.types.ty(ty) else {
            return Err(bad(instruction, "a function whose type is none"));
        };
        let ulong = self.new.int_type(64);
        let mut all = parameters.to_vec();
        all.extend(needs.iter().map(|_| ulong));
        Ok(self.new.function_type(returns, &all))
    }

    /// The new parameters, the label, and the variables that stand for built-ins that are indexed.
    fn first_block(&mut self, function: &mut Function, label: &Instruction<'_>) {
        let ulong = self.new.int_type(64);
        for component in function.needs.iter() {
            self.new.push(Op::FunctionParameter, &[ulong, function.parameter(component)]);
        }
        self.new.copy(label);
        for (variable, copy) in &function.copies {
            let Some(pointee) = self.survey.variables.get(variable).map(|v| v.pointee) else { continue };
            let pointer = self.new.pointer_type(StorageClass::Function, pointee);
            self.new.push(Op::Variable, &[pointer, *copy, StorageClass::Function as u32]);
        }
        function.place = Place::Variables;
    }

    fn fill_copies(&mut self, function: &Function) {
        for (variable, copy) in &function.copies {
            let Some(variable) = self.survey.variables.get(variable) else { continue };
            let value = self.new.fresh_id();
            self.rebuild(function, variable, value);
            self.new.push(Op::Store, &[*copy, value]);
        }
    }

    /// Defines `result` as the built-in's whole value.
    fn rebuild(&mut self, function: &Function, variable: &BuiltinVariable, result: u32) {
        let Some(builtin) = variable.builtin else { return };
        let parameters: Vec<u32> =
            builtin.components().map(|component| function.parameter(component)).collect();
        match (is_scalar(variable), parameters.as_slice()) {
            (true, &[only]) if variable.width == 64 => {
                self.new.push(Op::CopyObject, &[variable.component, result, only]);
            }
            (true, &[only]) => self.new.push(Op::UConvert, &[variable.component, result, only]),
            _ => {
                let mut operands = vec![variable.pointee, result];
                for parameter in parameters {
                    operands.push(self.narrowed(variable, parameter));
                }
                self.new.push(Op::CompositeConstruct, &operands);
            }
        }
    }

    /// A parameter in the width of the built-in's components.
    fn narrowed(&mut self, variable: &BuiltinVariable, parameter: u32) -> u32 {
        if variable.width == 64 {
            return parameter;
        }
        let narrow = self.new.fresh_id();
        self.new.push(Op::UConvert, &[variable.component, narrow, parameter]);
        narrow
    }

    fn body(&mut self, function: &Function, instruction: &Instruction<'_>) {
        let result = instruction.result_id().unwrap_or(0);
        let variable_of = |id: &u32| self.survey.variables.get(id).copied();
        if let Some(load) = self.survey.loads.get(&result) {
            if !is_gone(self.survey, result)
                && let Some(variable) = variable_of(&load.variable)
            {
                self.rebuild(function, &variable, result);
            }
        } else if let Some((component, variable)) = self.survey.extracts.get(&result) {
            if let Some(variable) = variable_of(variable).filter(|variable| variable.width != 64) {
                let parameter = function.parameter(*component);
                self.new.push(Op::UConvert, &[variable.component, result, parameter]);
            }
        } else if self.survey.chains.contains(&result) {
            self.chain(function, instruction);
        } else if let Some(component) = self.component_at(instruction) {
            self.select(function, instruction, component);
        } else {
            self.other(function, instruction);
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
        let bool = self.new.bool_type();
        let mut value = self.new.int_constant(variable.width, builtin.beyond());
        for component in builtin.components() {
            let axis = self.new.int_constant(index_bits, component.axis.into());
            let [is_axis, next] = [(); 2].map(|()| self.new.fresh_id());
            let next = if component.axis == 2 { result } else { next };
            let parameter = self.narrowed(&variable, function.parameter(component));
            self.new.push(Op::IEqual, &[bool, is_axis, index, axis]);
            self.new.push(Op::Select, &[ty, next, is_axis, parameter, value]);
            value = next;
        }
    }

    /// An access chain, now into a variable of the function.
    fn chain(&mut self, function: &Function, instruction: &Instruction<'_>) {
        let mut words = self.mapped(function, instruction);
        if let (Some(op), Some(ty)) = (instruction.op(), words.first_mut())
            && let Some(Type::Pointer { pointee, .. }) = self.types.ty(*ty)
        {
            *ty = self.new.pointer_type(StorageClass::Function, pointee);
            self.new.push(op, &words);
        }
    }

    fn other(&mut self, function: &Function, instruction: &Instruction<'_>) {
        let mut words = self.mapped(function, instruction);
        let callee = instruction.operand(0).filter(|_| instruction.is(Op::FunctionCall));
        let needs = callee.and_then(|callee| self.survey.functions.get(&callee)).map(|facts| facts.needs);
        words.extend(needs.into_iter().flat_map(Needs::iter).map(|component| function.parameter(component)));
        match instruction.op() {
            Some(op) => self.new.replace(instruction, op, &words),
            None => self.new.copy(instruction),
        }
    }

    /// The words of an instruction after the first, with parameters in the place of built-ins.
    fn mapped(&self, function: &Function, instruction: &Instruction<'_>) -> Vec<u32> {
        let mut words = instruction.words.to_vec();
        instruction.visit_ids(self.survey.definitions(), |index, role| {
            if role == Role::Id
                && let Some(word) = words.get_mut(index)
            {
                *word = self.substitute(function, *word);
            }
        });
        words.split_off(1.min(words.len()))
    }

    fn substitute(&self, function: &Function, id: u32) -> u32 {
        if let Some(copy) = function.copies.get(&id) {
            return *copy;
        }
        let component = if let Some((component, _)) = self.survey.extracts.get(&id) {
            Some(*component)
        } else {
            self.survey
                .loads
                .get(&id)
                .and_then(|load| self.survey.variables.get(&load.variable))
                .filter(|variable| is_scalar(variable))
                .and_then(|variable| variable.builtin?.components().next())
        };
        match component.filter(|_| is_gone(self.survey, id)) {
            Some(component) => function.parameter(component),
            None => id,
        }
    }
}

fn is_scalar(variable: &BuiltinVariable) -> bool {
    variable.pointee == variable.component
}

fn bad(instruction: &Instruction<'_>, what: &str) -> ImageError {
    ImageError::Spirv { word: instruction.at, what: what.to_owned() }
}

/// Whether nothing defines an id any more.
fn is_gone(survey: &Survey<'_>, id: u32) -> bool {
    if let Some(load) = survey.loads.get(&id) {
        let Some(variable) = survey.variables.get(&load.variable) else { return false };
        return if is_scalar(variable) { variable.width == 64 } else { !load.whole };
    }
    let is_wide = |variable: &u32| survey.variables.get(variable).is_some_and(|v| v.width == 64);
    survey.variables.contains_key(&id)
        || survey.extracts.get(&id).is_some_and(|(_, variable)| is_wide(variable))
}
