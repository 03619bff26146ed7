//! Bit casts: between parts of equal widths nothing is written, else the bits are put together
//! again.

use oclave_spirv::Instruction;

use super::{Body, ptx};
use crate::error::{Step, Stop};
use crate::operand::{Class, Kind, Operand, Ty};

impl<'m> Body<'_, '_, 'm> {
    /// `OpBitcast`.
    pub(crate) fn bit_cast(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let source = self.id(instruction, 0)?;
        if self.in_parameters.contains(&source) && !self.in_parameters.contains(&id) {
            return Err(Stop::Broken("a pointer into parameters escapes"));
        }
        if self.read_only.contains(&source) {
            self.read_only.insert(id);
        }
        let from = self.shape_of(source)?;
        let to = self.cx.shapes.shape(ty)?;
        let parts = self.value(source)?;
        let result = self.reinterpreted(&from.kinds, &parts, &to.kinds)?;
        self.bind(id, &result)
    }

    /// The same bits as parts of other kinds.
    pub(crate) fn reinterpreted(
        &mut self,
        from: &[Kind],
        parts: &[Operand],
        to: &[Kind],
    ) -> Step<Vec<Operand>> {
        let (Some(&a), Some(&b)) = (from.first(), to.first()) else { return Ok(Vec::new()) };
        if from.len() == to.len() && a.bits() == b.bits() {
            let same = |body: &mut Self, part| match (a, b) {
                (Kind::F16, Kind::I16) => body.half_bits(part),
                (Kind::I16, Kind::F16) => body.half_of_bits(part),
                _ => part,
            };
            return Ok(parts.iter().map(|part| same(self, *part)).collect());
        }
        let (narrow, wide) = (a.bits().min(b.bits()), a.bits().max(b.bits()));
        if narrow < 8 || from.len() * a.bits() as usize != to.len() * b.bits() as usize {
            return Err(Stop::unsupported("a bit cast between types of different sizes"));
        }
        let each = (wide / narrow) as usize;
        let mut result = Vec::with_capacity(to.len());
        if a.bits() < b.bits() {
            for group in parts.chunks(each) {
                result.push(self.joined(a, group, b));
            }
        } else {
            for part in parts {
                for index in 0..each {
                    result.push(self.piece(a, *part, b, index));
                }
            }
        }
        Ok(result)
    }

    /// One part of several narrower ones, the lowest first.
    fn joined(&mut self, from: Kind, parts: &[Operand], to: Kind) -> Operand {
        if from.bits() == 32
            && let &[low, high] = parts
        {
            let (low, high) = (self.in_register(low, Class::B32), self.in_register(high, Class::B32));
            let d = self.register(Class::B64);
            ptx!(self, "mov.b64 {d}, {{{low}, {high}}}");
            return d;
        }
        let wide = if to.bits() == 64 { Class::B64 } else { Class::B32 };
        let (shl, or) = match wide {
            Class::B64 => ("shl.b64", "or.b64"),
            _ => ("shl.b32", "or.b32"),
        };
        let mut all = Operand::Immediate(0);
        for (index, &part) in parts.iter().enumerate() {
            let part = if from == Kind::F16 { self.half_bits(part) } else { part };
            let part = match wide {
                Class::B64 => self.resize(Kind::I32, Kind::I64, part, false),
                _ => part,
            };
            let by = Operand::Immediate(u64::from(from.bits()) * index as u64);
            let part = if index == 0 { part } else { self.op2(wide, shl, Ty::B64, part, by) };
            all = if index == 0 { part } else { self.op2(wide, or, wide.ty(), all, part) };
        }
        if to == Kind::F16 { self.half_of_bits(all) } else { all }
    }

    /// Piece `index` of a wider part.
    fn piece(&mut self, from: Kind, part: Operand, to: Kind, index: usize) -> Operand {
        let by = to.bits() * index as u32;
        if let Operand::Immediate(bits) = part {
            return Operand::Immediate((bits >> by) & to.mask());
        }
        let bits = if from.class() == Class::B16 { self.half_bits(part) } else { part };
        let (class, shr) = match from.class() {
            Class::B64 => (Class::B64, "shr.u64"),
            _ => (Class::B32, "shr.u32"),
        };
        let shifted =
            if by == 0 { bits } else { self.op2(class, shr, Ty::B64, bits, Operand::Immediate(by.into())) };
        let integer = match to {
            Kind::F16 => Kind::I16,
            Kind::F32 => Kind::I32,
            kind => kind,
        };
        let from = if class == Class::B64 { Kind::I64 } else { Kind::I32 };
        let piece = self.resize(from, integer, shifted, false);
        if to == Kind::F16 { self.half_of_bits(piece) } else { piece }
    }
}
