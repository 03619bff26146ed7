//! `tgamma` by Lanczos' approximation, in double precision: the library's is `exp(lgamma(x))`,
//! which is too inexact.
//!
//! For positive numbers it is `t^(x - 1/2) * exp(-t) * s(x)` with `t = x + G - 1/2` and a quotient
//! `s` of polynomials. How `t` is rounded hardly matters, because the power and the exponential
//! undo each other's error. The power is taken in two halves, so that it is a number wherever the
//! result is one. Below zero it is `-pi / (x * sin(pi * x) * gamma(-x))`.

use crate::body::Body;
use crate::error::Step;
use crate::extended::common::bits_of;
use crate::operand::{Class, Kind, Operand, Ty};

const G: f64 = 6.024_680_040_776_73;
/// Coefficients of the polynomials, the highest power first: those of 13 terms and 53 bits, found
/// by Godfrey's method.
const NUMERATOR: [f64; 13] = [
    2.506_628_274_631_000_3,
    210.824_277_751_579_36,
    8_071.672_002_365_816,
    186_056.265_395_223_5,
    2_876_370.628_935_372_4,
    31_426_415.585_400_194,
    248_874_557.862_054_15,
    1_439_720_407.311_721_7,
    6_039_542_586.352_028,
    17_921_034_426.037_21,
    35_711_959_237.355_67,
    42_919_803_642.649_1,
    23_531_376_880.410_76,
];
const DENOMINATOR: [f64; 13] = [
    1.0,
    66.0,
    1_925.0,
    32_670.0,
    357_423.0,
    2_637_558.0,
    13_339_535.0,
    45_995_730.0,
    105_258_076.0,
    150_917_976.0,
    120_543_840.0,
    39_916_800.0,
    0.0,
];
/// The functions of the library that it calls, all of `double`.
pub(crate) const CALLS: [(&str, usize); 3] = [("pow", 2), ("exp", 1), ("sinpi", 1)];

impl Body<'_, '_, '_> {
    /// The gamma function of a `double`.
    pub(crate) fn gamma(&mut self, x: Operand) -> Step<Operand> {
        let kind = Kind::F64;
        let number = |number| bits_of(kind, number);
        let z = self.magnitude(kind, x);
        let (above, below) = (self.polynomial(&NUMERATOR, z), self.polynomial(&DENOMINATOR, z));
        let sum = self.quotient(kind, above, below, false);
        let t = self.add(kind, z, number(G - 0.5));
        let exponent = self.add(kind, z, number(-0.5));
        let exponent = self.multiply(kind, exponent, number(0.5));
        let power = self.library_call("pow", kind, &[(kind, t), (kind, exponent)], kind)?;
        let negated = self.negate(kind, t);
        let decay = self.library_call("exp", kind, &[(kind, negated)], kind)?;
        let half = self.multiply(kind, power, decay);
        let half = self.multiply(kind, half, sum);
        let positive = self.multiply(kind, half, power);

        let sine = self.library_call("sinpi", kind, &[(kind, x)], kind)?;
        let both = self.multiply(kind, sine, half);
        let quotient = self.quotient(kind, number(-std::f64::consts::PI), both, false);
        let quotient = self.quotient(kind, quotient, x, false);
        let negative = self.quotient(kind, quotient, power, false);
        let is_negative = self.compare("lt", Ty::F64, x, Operand::Immediate(0));
        let result = self.pick(kind, is_negative, negative, positive);

        // Far out the parts are no numbers: infinity above, and zero below, between the poles at
        // whole numbers.
        let far_above = self.compare("gt", Ty::F64, x, number(172.0));
        let result = self.pick(kind, far_above, number(f64::INFINITY), result);
        let far_below = self.compare("lt", Ty::F64, x, number(-185.0));
        let result = self.pick(kind, far_below, Operand::Immediate(0), result);
        let whole = self.op1(kind.class(), "cvt.rzi.f64.f64", Ty::F64, x);
        let pole = self.compare("eq", Ty::F64, whole, x);
        let pole = self.op2(Class::Pred, "and.pred", Ty::Pred, pole, is_negative);
        let result = self.pick(kind, pole, number(f64::NAN), result);
        // Near zero it is 1 / x, and at zero infinity with the sign of the zero; what is no number
        // stays so.
        let small = self.compare("lt", Ty::F64, z, number(1e-290));
        let inverse = self.quotient(kind, number(1.0), x, false);
        let result = self.pick(kind, small, inverse, result);
        let is_nan = self.compare("nan", Ty::F64, x, x);
        Ok(self.pick(kind, is_nan, x, result))
    }

    fn polynomial(&mut self, coefficients: &[f64], z: Operand) -> Operand {
        let mut sum = Operand::Immediate(0);
        for (index, &coefficient) in coefficients.iter().enumerate() {
            let coefficient = bits_of(Kind::F64, coefficient);
            sum = if index == 0 { coefficient } else { self.fused(Kind::F64, sum, z, coefficient) };
        }
        sum
    }
}
