//! Functions with a second result behind a pointer: `fract`, `frexp`, `lgamma_r`, `modf`, `remquo`,
//! `sincos`.

use oclave_spirv::Instruction;
use spirv::OpenclStd100Op as Cl;

use crate::body::Body;
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Space, Ty};

impl<'m> Body<'_, '_, 'm> {
    /// The library's function for private memory is called, and its second result is stored where
    /// the pointer says.
    pub(crate) fn two_results(&mut self, instruction: &Instruction<'m>, cl: Cl, operands: &[u32]) -> Step {
        let (id, ty) = self.result(instruction)?;
        let Some((&pointer, numbers)) = operands.split_last() else { return Err(Stop::Broken("no pointer")) };
        let shape = self.cx.shapes.shape(ty)?;
        let kind = need(shape.kinds.first().copied())?;
        let name = need(crate::library::plain_name(cl))?;
        let second = if matches!(cl, Cl::frexp | Cl::lgamma_r | Cl::remquo) { Kind::I32 } else { kind };
        // The library's `remquo` of single precision takes subnormal numbers for zeros. In double
        // precision they are none, and the remainder is exact.
        let wider = |kind| match kind {
            Kind::F16 | Kind::F32 if cl == Cl::remquo => Kind::F64,
            Kind::F16 => Kind::F32,
            kind => kind,
        };
        let space = self.space_of(pointer)?;
        if space == Space::Param {
            return Err(Stop::unsupported("arguments of kernels cannot be written here"));
        }
        let to = self.scalar(pointer)?;
        let at = self.private_bytes(8, 8)?;
        let scratch = self.private_address(at);
        let mut parts = Vec::new();
        for (lane, kind) in shape.kinds.iter().enumerate() {
            let mut values = Vec::new();
            for &number in numbers {
                let value = self.part(number, lane)?;
                values.push((wider(*kind), self.in_precision(*kind, wider(*kind), value)));
            }
            let pointers = [(wider(second), scratch)];
            let result = self.call_library(name, wider(*kind), &values, &pointers, wider(*kind))?;
            parts.push(self.in_precision(wider(*kind), *kind, result));
            let other = self.load_one(Space::Local, scratch, 0, wider(second), 8, Default::default());
            let other = self.in_precision(wider(second), second, other);
            let place = match lane {
                0 => to,
                _ => {
                    let offset = Operand::Immediate(lane as u64 * second.bytes());
                    self.op2(Class::B64, "add.s64", Ty::S64, to, offset)
                }
            };
            self.store_one(space, place, 0, second, other, second.bytes(), Default::default());
        }
        self.bind(id, &parts)
    }

    /// A number in another precision; integers stay as they are.
    fn in_precision(&mut self, from: Kind, to: Kind, value: Operand) -> Operand {
        if from == to { value } else { self.float_to_float(from, to, value, None) }
    }
}
