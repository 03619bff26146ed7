//! Vectors, structs and arrays as values: their parts are put together and taken apart by renaming.

use oclave_spirv::{Instruction, Op};

use super::Body;
use crate::error::{Step, Stop, need};
use crate::operand::{Kind, Operand};

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn composite(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, ty) = self.result(instruction)?;
        let shape = self.cx.shapes.shape(ty)?;
        let parts = match op {
            Op::CompositeConstruct => {
                let mut all = Vec::with_capacity(shape.kinds.len());
                for &part in instruction.operands() {
                    all.extend(self.value(part)?);
                }
                all
            }
            Op::CompositeExtract => {
                let whole = self.id(instruction, 0)?;
                let of = need(self.cx.definitions.type_of(whole))?;
                let start = self.path(of, instruction.operands().get(1..).unwrap_or_default())?;
                let parts = self.value(whole)?;
                need(parts.get(start..start + shape.kinds.len()).map(<[Operand]>::to_vec))?
            }
            Op::CompositeInsert => {
                let [part, whole] = self.ids(instruction, 0)?;
                let start = self.path(ty, instruction.operands().get(2..).unwrap_or_default())?;
                let mut parts = self.value(whole)?;
                let part = self.value(part)?;
                let place = need(parts.get_mut(start..start + part.len()))?;
                place.copy_from_slice(&part);
                parts
            }
            Op::VectorShuffle => {
                let [a, b] = self.ids(instruction, 0)?;
                let mut lanes = self.value(a)?;
                lanes.extend(self.value(b)?);
                let chosen = instruction.operands().get(2..).unwrap_or_default();
                // 0xFFFFFFFF stands for a lane of any value.
                let lane = |index: &u32| match index {
                    &u32::MAX => Some(Operand::Immediate(0)),
                    index => lanes.get(*index as usize).copied(),
                };
                need(chosen.iter().map(lane).collect::<Option<Vec<_>>>())?
            }
            Op::VectorExtractDynamic => {
                let [vector, index] = self.ids(instruction, 0)?;
                let lanes = self.value(vector)?;
                vec![self.lane_at(index, need(shape.kinds.first().copied())?, &lanes)?]
            }
            _ => {
                let [vector, value, index] = self.ids(instruction, 0)?;
                let (lanes, value) = (self.value(vector)?, self.scalar(value)?);
                self.with_lane_at(index, &shape.kinds, lanes, value)?
            }
        };
        if parts.len() != shape.kinds.len() {
            return Err(Stop::Broken("its result has another number of parts than its type"));
        }
        self.bind(id, &parts)
    }

    /// How many parts come before the one that indices lead to.
    fn path(&mut self, mut of: u32, indices: &[u32]) -> Step<usize> {
        let mut start = 0_usize;
        for &index in indices {
            let (before, part) = self.cx.shapes.part(of, index)?;
            start = start.saturating_add(before);
            of = part;
        }
        Ok(start)
    }

    /// The lane that an index chooses; any of them for an index that is too large.
    pub(crate) fn lane_at(&mut self, index: u32, kind: Kind, lanes: &[Operand]) -> Step<Operand> {
        let index_kind = self.kind_of(index)?;
        let index = self.scalar(index)?;
        self.lane_of(index_kind, index, kind, lanes)
    }

    pub(crate) fn lane_of(
        &mut self,
        index_kind: Kind,
        index: Operand,
        kind: Kind,
        lanes: &[Operand],
    ) -> Step<Operand> {
        if let Operand::Immediate(index) = index {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            return Ok(lanes.get(index).copied().unwrap_or(Operand::Immediate(0)));
        }
        let mut result = need(lanes.first().copied())?;
        for (number, lane) in lanes.iter().enumerate().skip(1) {
            let p = self.compare("eq", index_kind.untyped(), index, Operand::Immediate(number as u64));
            result = self.pick(kind, p, *lane, result);
        }
        Ok(result)
    }

    fn with_lane_at(
        &mut self,
        index: u32,
        kinds: &[Kind],
        mut lanes: Vec<Operand>,
        value: Operand,
    ) -> Step<Vec<Operand>> {
        let index_kind = self.kind_of(index)?;
        let index = self.scalar(index)?;
        for (number, (lane, kind)) in lanes.iter_mut().zip(kinds).enumerate() {
            let number = Operand::Immediate(number as u64);
            if let Operand::Immediate(_) = index {
                if index == number {
                    *lane = value;
                }
                continue;
            }
            let p = self.compare("eq", index_kind.untyped(), index, number);
            *lane = self.pick(*kind, p, value, *lane);
        }
        Ok(lanes)
    }
}
