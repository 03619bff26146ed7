//! Lengths, distances and cross products.

use oclave_spirv::Instruction;
use spirv::OpenclStd100Op as Cl;

use super::common::bits_of;
use crate::body::Body;
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Ty};

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn geometry(&mut self, instruction: &Instruction<'m>, cl: Cl, operands: &[u32]) -> Step {
        let (id, _) = self.result(instruction)?;
        let first = need(operands.first().copied())?;
        let kind = self.kind_of(first)?;
        let mut a = self.value(first)?;
        if !kind.is_float() {
            return Err(Stop::Broken("its operands are no floating-point numbers"));
        }
        if matches!(cl, Cl::distance | Cl::fast_distance) {
            let second = need(operands.get(1).copied())?;
            let b = self.value(second)?;
            a = a.into_iter().zip(b).map(|(a, b)| self.subtract(kind, a, b)).collect();
        }
        let parts = match cl {
            Cl::cross => {
                let second = need(operands.get(1).copied())?;
                let b = self.value(second)?;
                self.cross(kind, &a, &b)?
            }
            Cl::length | Cl::distance => vec![self.length(kind, &a)?.0],
            Cl::fast_length | Cl::fast_distance => {
                let square = self.dot_of(kind, &a, &a)?;
                vec![self.square_root(kind, square)]
            }
            Cl::normalize => {
                let (length, scaled) = self.length(kind, &a)?;
                let zero = self.compare("eq", kind.float(), length, Operand::Immediate(0));
                let square = self.dot_of(kind, &scaled, &scaled)?;
                let root = self.square_root(kind, square);
                let mut parts = Vec::new();
                for (own, lane) in a.iter().zip(scaled) {
                    let unit = self.quotient(kind, lane, root, false);
                    parts.push(self.pick(kind, zero, *own, unit));
                }
                parts
            }
            _ => {
                let square = self.dot_of(kind, &a, &a)?;
                let zero = self.compare("eq", kind.float(), square, Operand::Immediate(0));
                let root = self.square_root(kind, square);
                let inverse = self.quotient(kind, bits_of(kind, 1.0), root, false);
                let mut parts = Vec::new();
                for lane in a {
                    let unit = self.multiply(kind, lane, inverse);
                    parts.push(self.pick(kind, zero, lane, unit));
                }
                parts
            }
        };
        self.bind(id, &parts)
    }

    fn cross(&mut self, kind: Kind, a: &[Operand], b: &[Operand]) -> Step<Vec<Operand>> {
        let (Some(&[a0, a1, a2]), Some(&[b0, b1, b2])) = (a.first_chunk::<3>(), b.first_chunk::<3>()) else {
            return Err(Stop::Broken("a cross product of other than three dimensions"));
        };
        let mut lane = |a: Operand, b: Operand, c: Operand, d: Operand| {
            let product = self.multiply(kind, c, d);
            let negated = self.negate(kind, product);
            self.fused(kind, a, b, negated)
        };
        let mut parts = vec![lane(a1, b2, a2, b1), lane(a2, b0, a0, b2), lane(a0, b1, a1, b0)];
        if a.len() == 4 {
            parts.push(Operand::Immediate(0));
        }
        Ok(parts)
    }

    /// The length, without overflow between, and the lanes divided by a power of two near the
    /// largest.
    fn length(&mut self, kind: Kind, a: &[Operand]) -> Step<(Operand, Vec<Operand>)> {
        if kind == Kind::F16 {
            let single: Vec<Operand> = a.iter().map(|lane| self.float_if_half(kind, *lane)).collect();
            let square = self.dot_of(Kind::F32, &single, &single)?;
            let root = self.square_root(Kind::F32, square);
            return Ok((self.float_to_float(Kind::F32, kind, root, None), a.to_vec()));
        }
        let mut largest = Operand::Immediate(0);
        for lane in a {
            let magnitude = self.magnitude(kind, *lane);
            largest = self.smaller(kind, magnitude, largest, false);
        }
        // The exponent alone: of 1 for numbers in the middle, of its inverse for the others.
        let (of, exponent, one) = match kind {
            Kind::F64 => (Kind::I64, 0x7ff0_0000_0000_0000, 2046_u64 << 52),
            _ => (Kind::I32, 0x7f80_0000, 254_u64 << 23),
        };
        let power = self.integer("and", of, of.untyped(), largest, Operand::Immediate(exponent));
        let (low, high) = match kind {
            Kind::F64 => (1_u64 << 52, 2045_u64 << 52),
            _ => (1_u64 << 23, 253_u64 << 23),
        };
        let power = self.integer("max", of, of.unsigned(), power, Operand::Immediate(low));
        let power = self.integer("min", of, of.unsigned(), power, Operand::Immediate(high));
        let inverse = self.integer("sub", of, of.signed(), Operand::Immediate(one), power);
        let scaled: Vec<Operand> = a.iter().map(|lane| self.multiply(kind, *lane, inverse)).collect();
        let square = self.dot_of(kind, &scaled, &scaled)?;
        let root = self.square_root(kind, square);
        let length = self.multiply(kind, root, power);
        // Infinity wins over what is no number.
        let infinity = Operand::Immediate(exponent);
        let mut infinite = self.compare("eq", kind.float(), largest, infinity);
        for lane in a {
            let magnitude = self.magnitude(kind, *lane);
            let this = self.compare("eq", kind.float(), magnitude, infinity);
            infinite = self.op2(Class::Pred, "or.pred", Ty::Pred, infinite, this);
        }
        Ok((self.pick(kind, infinite, infinity, length), scaled))
    }
}
