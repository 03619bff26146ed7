//! Arithmetic with halves, as opposed to halves that code stores, loads and copies.
//!
//! OpenCL C has pointers to halves and structs with halves on all devices. Compilers copy such
//! structs member by member, so there are values of half that nothing computes with.

use std::collections::HashSet;

use crate::{Definitions, Instruction, Op, Role, Type, TypeTable};

/// The types of a module that are halves or hold some. Pointers to halves are no such types.
#[derive(Debug)]
pub struct Halves<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: HashSet<u32>,
    kernels: HashSet<u32>,
}

impl<'a, 'm> Halves<'a, 'm> {
    /// Reads the types of a module.
    pub fn new(definitions: &'a Definitions<'m>, types: &TypeTable<'m>) -> Self {
        let before_code = definitions.module().global_instructions();
        let mut found = HashSet::new();
        // Types come after those that they hold.
        for id in before_code.filter_map(|i| i.result_id()) {
            let holds = match types.ty(id) {
                Some(Type::Float { width: 16 }) => true,
                Some(Type::Vector { component: part, .. }) => found.contains(&part),
                Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => {
                    found.contains(&element)
                }
                Some(Type::Struct { members }) => members.iter().any(|member| found.contains(member)),
                _ => false,
            };
            if holds {
                found.insert(id);
            }
        }
        let entries = definitions.module().instructions().filter(|i| i.is(Op::EntryPoint));
        Self { definitions, types: found, kernels: entries.filter_map(|i| i.operand(1)).collect() }
    }

    /// Whether a kernel takes a half by value, which OpenCL C allows with arithmetic only.
    fn are_arguments(&self, function: &Instruction<'_>) -> bool {
        let ty = || self.definitions.instruction(function.operand(1)?);
        function.is(Op::Function)
            && function.result_id().is_some_and(|id| self.kernels.contains(&id))
            && ty().is_some_and(|ty| ty.operands().iter().any(|part| self.types.contains(part)))
    }

    /// Whether an instruction makes or takes values of half and does more than move them.
    pub fn computes(&self, instruction: &Instruction<'_>) -> bool {
        if self.are_arguments(instruction) {
            return true;
        }
        // Other sets of instructions describe values, for debuggers.
        let describes =
            instruction.is(Op::ExtInst) && instruction.operand(0) != self.definitions.opencl_std();
        if self.types.is_empty() || describes || instruction.op().is_some_and(only_moves) {
            return false;
        }
        let mut takes = instruction.result_type().is_some_and(|ty| self.types.contains(&ty));
        instruction.visit_ids(self.definitions, |index, role| {
            let ty = (role != Role::Result)
                .then(|| instruction.word(index).and_then(|id| self.definitions.type_of(id)))
                .flatten();
            takes |= ty.is_some_and(|ty| self.types.contains(&ty));
        });
        takes
    }
}

/// Whether an instruction leaves the bits of values as they are, whatever the values are.
fn only_moves(op: Op) -> bool {
    matches!(
        op,
        Op::Undef
            | Op::ConstantNull
            | Op::Constant
            | Op::ConstantComposite
            | Op::SpecConstant
            | Op::SpecConstantComposite
            | Op::Variable
            | Op::Load
            | Op::Store
            | Op::CopyMemory
            | Op::CopyMemorySized
            | Op::CopyObject
            | Op::CopyLogical
            | Op::Bitcast
            | Op::Phi
            | Op::Select
            | Op::CompositeConstruct
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::VectorShuffle
            | Op::VectorExtractDynamic
            | Op::VectorInsertDynamic
            | Op::Function
            | Op::FunctionParameter
            | Op::FunctionCall
            | Op::ReturnValue
            | Op::Name
            | Op::MemberName
            | Op::Decorate
            | Op::MemberDecorate
    )
}
