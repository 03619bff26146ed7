//! `vloadn`, `vstoren`, `shuffle`.

use oclave_spirv::Instruction;
use spirv::OpenclStd100Op as Cl;

use crate::body::Body;
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Space, Ty};
use crate::types::Shape;

impl<'m> Body<'_, '_, 'm> {
    /// `vloadn(offset, pointer, n)` and the loads of half precision.
    pub(crate) fn vector_load(&mut self, instruction: &Instruction<'m>, cl: Cl, operands: &[u32]) -> Step {
        let (id, ty) = self.result(instruction)?;
        let shape = self.cx.shapes.shape(ty)?;
        let kind = need(shape.kinds.first().copied())?;
        let &[offset, pointer, ..] = operands else { return Err(Stop::Broken("an operand is missing")) };
        let lanes = shape.kinds.len();
        let stored = if cl == Cl::vloadn { kind } else { Kind::F16 };
        let (address, memory, align) = self.vector_place(cl, stored, lanes, offset, pointer)?;
        let space = self.space_of(pointer)?;
        let parts = self.load_parts(space, address, &memory, align, Default::default())?;
        let converted: Vec<Operand> =
            parts.into_iter().map(|part| self.float_to_float_if(stored, kind, part)).collect();
        self.bind(id, &converted)
    }

    fn float_to_float_if(&mut self, from: Kind, to: Kind, part: Operand) -> Operand {
        if from == to { part } else { self.float_to_float(from, to, part, None) }
    }

    /// `vstoren(data, offset, pointer)` and the stores of half precision, with their rounding
    /// modes.
    pub(crate) fn vector_store(&mut self, cl: Cl, operands: &[u32]) -> Step {
        let &[data, offset, pointer, ref rest @ ..] = operands else {
            return Err(Stop::Broken("an operand is missing"));
        };
        let shape = self.shape_of(data)?;
        let kind = need(shape.kinds.first().copied())?;
        let stored = if cl == Cl::vstoren { kind } else { Kind::F16 };
        let rounding = rest.first().copied();
        let (address, memory, align) = self.vector_place(cl, stored, shape.kinds.len(), offset, pointer)?;
        let space = self.space_of(pointer)?;
        if space == Space::Param {
            return Err(Stop::unsupported("arguments of kernels cannot be written here"));
        }
        let mut parts = Vec::new();
        for part in self.value(data)? {
            parts.push(match stored == kind {
                true => part,
                false => self.float_to_float(kind, stored, part, rounding),
            });
        }
        self.store_parts_at(space, address, &memory, &parts, align, Default::default())
    }

    /// Address, layout and alignment of vector number `offset`. Vectors are as aligned as their
    /// lanes, but for `vloada` and `vstorea`, which also have four places for three lanes.
    fn vector_place(
        &mut self,
        cl: Cl,
        stored: Kind,
        lanes: usize,
        offset: u32,
        pointer: u32,
    ) -> Step<(Operand, Shape, u64)> {
        let whole = matches!(cl, Cl::vloada_halfn | Cl::vstorea_halfn | Cl::vstorea_halfn_r);
        let places = if whole { lanes.next_power_of_two() } else { lanes } as u64;
        let step = stored.bytes() * places;
        let align = if whole { step } else { stored.bytes() };
        let memory = Shape::of_lanes(stored, lanes);
        let kind = self.kind_of(offset)?;
        let (index, base) = (self.scalar(offset)?, self.scalar(pointer)?);
        let index = self.widen(kind, index, false);
        let address = self.op3(Class::B64, "mad.lo.s64", Ty::S64, [index, Operand::Immediate(step), base]);
        Ok((address, memory, align))
    }

    /// `shuffle(x, mask)` and `shuffle2(x, y, mask)`: indices are taken modulo the number of lanes.
    pub(crate) fn shuffle_lanes(&mut self, instruction: &Instruction<'m>, operands: &[u32]) -> Step {
        let (id, ty) = self.result(instruction)?;
        let shape = self.cx.shapes.shape(ty)?;
        let Some((&mask, vectors)) = operands.split_last() else { return Err(Stop::Broken("no mask")) };
        let mut lanes = Vec::new();
        for &vector in vectors {
            let mut own = self.value(vector)?;
            // A vector of three lanes has room for four.
            own.resize(own.len().next_power_of_two(), Operand::Immediate(0));
            lanes.extend(own);
        }
        let index_kind = self.kind_of(mask)?;
        let mut parts = Vec::new();
        for (index, kind) in self.value(mask)?.into_iter().zip(&shape.kinds) {
            let limit = Operand::Immediate(lanes.len() as u64 - 1);
            let index = match index {
                Operand::Immediate(index) => Operand::Immediate(index & (lanes.len() as u64 - 1)),
                index => self.integer("and", index_kind, index_kind.untyped(), index, limit),
            };
            parts.push(self.lane_of(index_kind, index, *kind, &lanes)?);
        }
        self.bind(id, &parts)
    }
}
