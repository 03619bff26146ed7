//! `native_*` and `half_*`: the hardware's approximations where they serve, the library where they
//! do not.

use spirv::OpenclStd100Op as Cl;

use super::common::bits_of;
use crate::body::Body;
use crate::error::{Step, need};
use crate::operand::{Class, Kind, Operand, Ty};

impl Body<'_, '_, '_> {
    /// A native or half function; `None` for others.
    pub(crate) fn native_function(
        &mut self,
        cl: Cl,
        kind: Kind,
        values: &[(Kind, Operand)],
    ) -> Step<Option<Operand>> {
        if !matches!(cl as u32, 67..=94) {
            return Ok(None);
        }
        let (_, a) = need(values.first().copied())?;
        let two = || need(values.get(1).map(|(_, value)| *value));
        if kind != Kind::F32 {
            // Half and double precision have the exact functions only.
            return Ok(Some(self.exact(cl, kind, values)?));
        }
        let constant = |number| bits_of(Kind::F32, number);
        Ok(Some(match cl {
            Cl::native_cos => self.approximate("cos", a),
            Cl::native_sin => self.approximate("sin", a),
            Cl::native_tan => {
                let (sin, cos) = (self.approximate("sin", a), self.approximate("cos", a));
                self.op2(Class::B32, "div.approx.f32", Ty::F32, sin, cos)
            }
            Cl::native_divide => self.op2(Class::B32, "div.approx.f32", Ty::F32, a, two()?),
            Cl::half_divide => self.op2(Class::B32, "div.full.f32", Ty::F32, a, two()?),
            Cl::native_recip | Cl::half_recip => self.approximate("rcp", a),
            Cl::native_rsqrt | Cl::half_rsqrt => self.approximate("rsqrt", a),
            Cl::native_sqrt | Cl::half_sqrt => self.approximate("sqrt", a),
            Cl::native_exp2 | Cl::half_exp2 => self.approximate("ex2", a),
            Cl::native_log2 => self.approximate("lg2", a),
            Cl::native_exp => {
                let scaled = self.multiply(kind, a, constant(std::f64::consts::LOG2_E));
                self.approximate("ex2", scaled)
            }
            Cl::native_exp10 => {
                let scaled = self.multiply(kind, a, constant(std::f64::consts::LOG2_10));
                self.approximate("ex2", scaled)
            }
            Cl::native_log => {
                let log = self.approximate("lg2", a);
                self.multiply(kind, log, constant(std::f64::consts::LN_2))
            }
            Cl::native_log10 => {
                let log = self.approximate("lg2", a);
                self.multiply(kind, log, constant(std::f64::consts::LOG10_2))
            }
            Cl::native_powr => {
                let log = self.approximate("lg2", a);
                let scaled = self.multiply(kind, log, two()?);
                self.approximate("ex2", scaled)
            }
            // The hardware's errors are absolute, and half functions promise 8192 ulp: these are
            // the exact ones.
            _ => self.exact(cl, kind, values)?,
        }))
    }

    fn approximate(&mut self, name: &str, a: Operand) -> Operand {
        self.op1(Class::B32, &format!("{name}.approx.f32"), Ty::F32, a)
    }

    /// The function without `native_` or `half_`.
    fn exact(&mut self, cl: Cl, kind: Kind, values: &[(Kind, Operand)]) -> Step<Operand> {
        let (_, a) = need(values.first().copied())?;
        let two = || need(values.get(1).map(|(_, value)| *value));
        let same = match cl {
            Cl::native_divide | Cl::half_divide => return Ok(self.quotient(kind, a, two()?, false)),
            Cl::native_recip | Cl::half_recip => {
                return Ok(self.quotient(kind, bits_of(kind, 1.0), a, false));
            }
            Cl::native_sqrt | Cl::half_sqrt => Cl::sqrt,
            Cl::native_rsqrt | Cl::half_rsqrt => Cl::rsqrt,
            _ => {
                let name = need(crate::library::plain_name(cl))?;
                return self.library_function(cl, name, kind, values);
            }
        };
        need(self.math_function(same, kind, values)?)
    }
}
