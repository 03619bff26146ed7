//! What a function does with its pointers: which private variables can be registers, which
//! arguments stay where they are.

use std::collections::{HashMap, HashSet};

use oclave_spirv::{Instruction, Op, StorageClass, Type};

use super::Body;
use crate::error::{Step, Stop, need};
use crate::facts::is_access_chain;

/// A variable of more parts stays in memory: it is an array, which is indexed.
const MOST_PARTS: usize = 16;

impl<'m> Body<'_, '_, 'm> {
    /// Reads the whole function once, before anything is written.
    pub(crate) fn survey(&mut self, parameters: &[Instruction<'m>]) {
        let mut candidates: HashMap<u32, u32> = HashMap::new();
        // Pointer → the argument or variable that it points into.
        let mut root: HashMap<u32, u32> = HashMap::new();
        let mut only_read: HashSet<u32> = HashSet::new();
        for parameter in parameters {
            let (Some(id), Some(ty)) = (parameter.result_id(), parameter.result_type()) else { continue };
            let of_id = self.parameter_decorations(id);
            let class = match self.cx.shapes.table.ty(ty) {
                Some(Type::Pointer { class, .. }) => class,
                _ => continue,
            };
            if self.is_kernel && of_id.by_value {
                root.insert(id, id);
                only_read.insert(id);
            } else if self.is_kernel
                && (class == StorageClass::UniformConstant as u32
                    || class == StorageClass::CrossWorkgroup as u32 && of_id.no_alias && of_id.no_write)
            {
                self.read_only.insert(id);
            }
        }
        for block in &self.blocks {
            for instruction in block.instructions.iter().filter(|i| i.is(Op::Variable)) {
                if let (Some(id), Some(ty)) = (instruction.result_id(), instruction.result_type())
                    && let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(ty)
                {
                    candidates.insert(id, pointee);
                }
            }
        }
        let definitions = self.cx.definitions;
        let mut refused = HashSet::new();
        for block in &self.blocks {
            for instruction in block.phis.iter().chain(&block.instructions) {
                let pointer = instruction.operand(0);
                let result = instruction.result_id();
                let is_volatile = |access: usize| instruction.operand(access).is_some_and(|m| m & 1 != 0);
                match (instruction.op(), pointer) {
                    (Some(Op::Load), Some(pointer)) if !is_volatile(1) => {
                        if candidates.get(&pointer).is_some_and(|ty| Some(*ty) != instruction.result_type()) {
                            refused.insert(pointer);
                        }
                        continue;
                    }
                    (Some(Op::Store), Some(pointer)) if !is_volatile(2) => {
                        let value = instruction.operand(1);
                        if let Some(ty) = candidates.get(&pointer)
                            && value.and_then(|value| definitions.type_of(value)) != Some(*ty)
                        {
                            refused.insert(pointer);
                        }
                        if let Some(root) = root.get(&pointer) {
                            only_read.remove(root);
                        }
                        if let Some(value) = value {
                            refused.insert(value);
                            if let Some(root) = root.get(&value) {
                                only_read.remove(root);
                            }
                        }
                        continue;
                    }
                    (Some(Op::LifetimeStart | Op::LifetimeStop), _) => continue,
                    (op, Some(pointer)) if is_access_chain(op) || op == Some(Op::Bitcast) => {
                        if let (Some(of), Some(result)) = (root.get(&pointer).copied(), result) {
                            root.insert(result, of);
                        }
                        refused.insert(pointer);
                        continue;
                    }
                    (Some(Op::Variable), _) => continue,
                    _ => {}
                }
                instruction.visit_ids(definitions, |index, _| {
                    if let Some(id) = instruction.word(index).filter(|id| Some(*id) != result) {
                        refused.insert(id);
                        if let Some(root) = root.get(&id) {
                            only_read.remove(root);
                        }
                    }
                });
            }
        }
        // Blocks may stand before those that define what they use: a chain that was not known yet
        // was not followed.
        let in_order = self.blocks.iter().flat_map(|block| &block.instructions).all(|instruction| {
            let first = instruction.operand(0);
            let op = instruction.op();
            let is_chain = is_access_chain(op) || matches!(op, Some(Op::Bitcast | Op::Store));
            let defined = first.and_then(|id| definitions.word_index(id));
            !is_chain || defined.is_some_and(|at| at < instruction.at)
        });
        if !in_order {
            only_read.clear();
        }
        self.in_parameters =
            root.into_iter().filter(|(_, of)| only_read.contains(of)).map(|(id, _)| id).collect();
        for (id, ty) in candidates {
            let small = self.cx.shapes.shape(ty).is_ok_and(|shape| shape.kinds.len() <= MOST_PARTS);
            if small && !refused.contains(&id) {
                self.promoted.insert(id);
            }
        }
    }

    /// Bytes and alignment of a private variable.
    pub(crate) fn variable_layout(&mut self, variable: &Instruction<'m>) -> Step<(u64, u64)> {
        let (id, ty) = self.result(variable)?;
        let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(ty) else {
            return Err(Stop::Broken("a variable is a pointer"));
        };
        let table = self.cx.shapes.table;
        let bytes = self.cx.shapes.size_bytes(pointee);
        let bytes = bytes.ok_or_else(|| Stop::unsupported("a private variable of a type without a size"))?;
        let align = table.align_bytes(pointee).max(self.cx.facts.of(id).alignment.unwrap_or(1));
        Ok((bytes.max(1), align.into()))
    }

    /// `OpVariable` in a function.
    pub(crate) fn variable(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(ty) else {
            return Err(Stop::Broken("a variable is a pointer"));
        };
        let initializer = instruction.operand(1);
        if self.promoted.contains(&id) {
            if self.cx.values.value(id).0 == u32::MAX {
                self.promise_variable(id, pointee)?;
            }
            if let Some(initializer) = initializer {
                self.write_variable(id, initializer)?;
            }
            return Ok(());
        }
        let address = self.scalar(id)?;
        let Some(initializer) = initializer else { return Ok(()) };
        let shape = self.cx.shapes.shape(pointee)?;
        let parts = self.value(initializer)?;
        let align = self.cx.shapes.table.align_bytes(pointee).into();
        self.store_parts_at(crate::operand::Space::Local, address, &shape, &parts, align, Default::default())
    }

    /// Stores into a variable that is registers.
    pub(crate) fn write_variable(&mut self, variable: u32, value: u32) -> Step {
        let (shape, parts) = (self.shape_of(value)?, self.value(value)?);
        let registers = self.variable_registers(variable)?;
        for ((d, s), kind) in registers.into_iter().zip(parts).zip(&shape.kinds) {
            self.copy(d, kind.class(), s);
        }
        Ok(())
    }

    /// Loads from a variable that is registers.
    pub(crate) fn read_variable(&mut self, variable: u32, id: u32, ty: u32) -> Step {
        let shape = self.cx.shapes.shape(ty)?;
        let registers = self.variable_registers(variable)?;
        let mut parts = Vec::with_capacity(registers.len());
        for (s, kind) in registers.into_iter().zip(&shape.kinds) {
            let d = self.register(kind.class());
            self.copy(d, kind.class(), s);
            parts.push(d);
        }
        self.bind(id, &parts)
    }

    fn variable_registers(&mut self, variable: u32) -> Step<Vec<crate::operand::Operand>> {
        if self.cx.values.value(variable).0 == u32::MAX {
            let ty = need(self.cx.definitions.type_of(variable))?;
            let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(ty) else {
                return Err(Stop::Broken("a variable is a pointer"));
            };
            self.promise_variable(variable, pointee)?;
        }
        self.value(variable)
    }
}
