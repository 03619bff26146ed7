//! The registers and immediates that stand for an id.

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::constants::{self, Constant};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Operand, Space};

impl<'m> Body<'_, '_, 'm> {
    /// All parts of a value.
    pub(crate) fn value(&mut self, id: u32) -> Step<Vec<Operand>> {
        let (start, count) = self.parts(id)?;
        let (start, count) = (start as usize, count as usize);
        need(self.cx.parts.get(start..start + count).map(<[Operand]>::to_vec))
    }

    /// Part `index` of a value.
    pub(crate) fn part(&mut self, id: u32, index: usize) -> Step<Operand> {
        let (start, count) = self.parts(id)?;
        if index >= count as usize {
            return Err(Stop::Broken("a value has fewer parts than its use needs"));
        }
        need(self.cx.parts.get(start as usize + index).copied())
    }

    /// The only part of a scalar.
    pub(crate) fn scalar(&mut self, id: u32) -> Step<Operand> {
        self.part(id, 0)
    }

    /// Lets `id` stand for `parts`. Where registers were promised already, they are written.
    pub(crate) fn bind(&mut self, id: u32, parts: &[Operand]) -> Step {
        let (start, count) = self.cx.values.value(id);
        if start == u32::MAX {
            self.store_parts(id, parts);
            return Ok(());
        }
        let shape = self.shape_of(id)?;
        if count as usize != parts.len() {
            return Err(Stop::Broken("its result has another number of parts than its type"));
        }
        for (index, (&part, kind)) in parts.iter().zip(&shape.kinds).enumerate() {
            let d = need(self.cx.parts.get(start as usize + index).copied())?;
            self.copy(d, kind.class(), part);
        }
        Ok(())
    }

    /// Gives `id` registers of its own, which may be written more than once.
    pub(crate) fn promise(&mut self, id: u32) -> Step<Vec<Operand>> {
        if self.cx.values.value(id).0 == u32::MAX {
            let shape = self.shape_of(id)?;
            let parts: Vec<Operand> = shape.kinds.iter().map(|kind| self.register(kind.class())).collect();
            self.store_parts(id, &parts);
        }
        self.value(id)
    }

    /// Gives `id` registers for a value of type `ty`: a variable that is not in memory.
    pub(crate) fn promise_variable(&mut self, id: u32, ty: u32) -> Step {
        let shape = self.cx.shapes.shape(ty)?;
        let parts: Vec<Operand> = shape.kinds.iter().map(|kind| self.register(kind.class())).collect();
        self.store_parts(id, &parts);
        Ok(())
    }

    fn store_parts(&mut self, id: u32, parts: &[Operand]) {
        let start = self.cx.parts.len() as u32;
        self.cx.parts.extend_from_slice(parts);
        self.cx.values.insert(id, (start, parts.len() as u32));
    }

    fn parts(&mut self, id: u32) -> Step<(u32, u32)> {
        let known = self.cx.values.value(id);
        if known.0 != u32::MAX {
            return Ok(known);
        }
        let definition = need(self.cx.definition(id))?;
        self.first_use(id, &definition)?;
        Ok(self.cx.values.value(id))
    }

    /// What stands for an id that is used for the first time, before its definition was seen.
    fn first_use(&mut self, id: u32, definition: &Instruction<'m>) -> Step {
        match definition.op() {
            Some(
                Op::ConstantTrue
                | Op::ConstantFalse
                | Op::Constant
                | Op::ConstantNull
                | Op::ConstantComposite
                | Op::SpecConstantTrue
                | Op::SpecConstantFalse
                | Op::SpecConstant
                | Op::SpecConstantComposite
                | Op::SpecConstantOp
                | Op::Undef,
            ) => {
                let constants = constants::parts(&mut self.cx.shapes, self.cx.definitions, id)?;
                let mut parts = Vec::with_capacity(constants.len());
                let mut borrows = false;
                for constant in constants {
                    parts.push(match constant {
                        Constant::Bits(bits) => Operand::Immediate(bits),
                        Constant::Address { variable, offset, space } => {
                            borrows = true;
                            self.address_of(variable, offset, space)?
                        }
                    });
                }
                if borrows {
                    self.borrowed.push(id);
                }
                self.store_parts(id, &parts);
            }
            Some(Op::ConstantSampler) => {
                let number = self.literal_sampler(definition)?;
                self.borrowed.push(id);
                self.store_parts(id, &[Operand::Immediate(number)]);
            }
            Some(Op::Variable) => {
                let class = need(definition.operand(0))?;
                let address = if class == spirv::StorageClass::Function as u32 {
                    let (bytes, align) = self.variable_layout(definition)?;
                    let at = self.private_bytes(bytes, align)?;
                    self.private_address(at)
                } else {
                    let space = crate::types::space(class)?;
                    self.borrowed.push(id);
                    self.address_of(id, 0, space)?
                };
                self.store_parts(id, &[address]);
            }
            Some(Op::Function | Op::ConstantFunctionPointerINTEL) => {
                return Err(Stop::unsupported("pointers to functions are not supported"));
            }
            _ => {
                self.promise(id)?;
            }
        }
        Ok(())
    }

    /// The address of a module-scope variable, in a register that the prologue writes.
    fn address_of(&mut self, variable: u32, offset: i64, space: Space) -> Step<Operand> {
        let own = self.kind_of(variable)?;
        let crate::operand::Kind::Pointer(own) = own else {
            return Err(Stop::Broken("a variable is a pointer"));
        };
        if own == Space::Param {
            return Err(Stop::unsupported("built-in variables have no address; load them directly"));
        }
        let name = crate::variables::name(self.cx, variable);
        let before = std::mem::replace(&mut self.in_prologue, true);
        let address = self.register(Class::B64);
        match offset {
            0 => ptx!(self, "mov.u64 {address}, {name}"),
            _ => ptx!(self, "mov.u64 {address}, {name}{offset:+}"),
        }
        let address = match (own, space) {
            (from, Space::Generic) if from != Space::Generic => self.generic_of(from, address),
            _ => address,
        };
        self.in_prologue = before;
        Ok(address)
    }
}
