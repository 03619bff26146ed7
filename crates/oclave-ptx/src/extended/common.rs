//! `mix`, `step`, `smoothstep`, `sign`, `degrees`, `radians`.

use spirv::OpenclStd100Op as Cl;

use crate::body::Body;
use crate::error::{Step, need};
use crate::operand::{Kind, Operand};

/// A number as the bits of a kind.
pub(crate) fn bits_of(kind: Kind, number: f64) -> Operand {
    Operand::Immediate(match kind {
        Kind::F32 => u64::from((number as f32).to_bits()),
        Kind::F64 => number.to_bits(),
        _ => u64::from(half_bits(number)),
    })
}

/// The bits of a number that half precision has exactly (0, small powers of two and their sums).
fn half_bits(number: f64) -> u16 {
    if number == 0.0 {
        return 0;
    }
    let bits = number.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023 + 15;
    let sign = (bits >> 63) as u16;
    sign << 15 | (exponent.clamp(0, 30) as u16) << 10 | ((bits >> 42) & 0x3ff) as u16
}

impl Body<'_, '_, '_> {
    /// A function of this file; `None` for others.
    pub(crate) fn common_function(
        &mut self,
        cl: Cl,
        kind: Kind,
        values: &[(Kind, Operand)],
    ) -> Step<Option<Operand>> {
        if !kind.is_float() {
            return Ok(None);
        }
        let (_, a) = need(values.first().copied())?;
        let two = || need(values.get(1).map(|(_, value)| *value));
        let three = || need(values.get(2).map(|(_, value)| *value));
        let number = |number| bits_of(kind, number);
        let float = kind.float();
        Ok(Some(match cl {
            Cl::degrees | Cl::radians => {
                let factor: f64 = if cl == Cl::degrees {
                    180.0 / std::f64::consts::PI
                } else {
                    std::f64::consts::PI / 180.0
                };
                if kind == Kind::F16 {
                    let single = self.float_if_half(kind, a);
                    let scaled = self.multiply(Kind::F32, single, bits_of(Kind::F32, factor));
                    return Ok(Some(self.float_to_float(Kind::F32, kind, scaled, None)));
                }
                self.multiply(kind, a, number(factor))
            }
            Cl::mix => {
                let b = two()?;
                let difference = self.subtract(kind, b, a);
                self.fused(kind, difference, three()?, a)
            }
            Cl::step => {
                let below = self.compare("lt", float, two()?, a);
                self.pick(kind, below, number(0.0), number(1.0))
            }
            Cl::smoothstep => {
                let (low, high, x) = (a, two()?, three()?);
                let (from, width) = (self.subtract(kind, x, low), self.subtract(kind, high, low));
                let t = self.quotient(kind, from, width, false);
                let t = self.smaller(kind, t, number(0.0), false);
                let t = self.smaller(kind, t, number(1.0), true);
                let slope = self.fused(kind, t, number(-2.0), number(3.0));
                let square = self.multiply(kind, t, t);
                self.multiply(kind, square, slope)
            }
            Cl::sign => {
                let (positive, negative) =
                    (self.compare("gt", float, a, number(0.0)), self.compare("lt", float, a, number(0.0)));
                let is_nan = self.compare("nan", float, a, a);
                // A zero keeps its sign, what is no number gives zero.
                let zero = self.pick(kind, is_nan, number(0.0), a);
                let below = self.pick(kind, negative, number(-1.0), zero);
                self.pick(kind, positive, number(1.0), below)
            }
            _ => return Ok(None),
        }))
    }
}
