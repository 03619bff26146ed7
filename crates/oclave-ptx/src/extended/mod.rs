//! The instructions of OpenCL.std.
//!
//! What PTX has, or what a few instructions say exactly, is written in place; the other functions
//! of numbers are calls of the [library](crate::library). Vectors are taken apart: everything here
//! is about one lane.

mod common;
pub(crate) mod gamma;
mod geometry;
mod integers;
mod math;
mod native;
mod pointers;
mod printf;
mod scale;
mod vectors;

use oclave_spirv::Instruction;
use spirv::OpenclStd100Op as Cl;

use crate::body::Body;
use crate::error::{Step, Stop, need};
use crate::library;
use crate::operand::{Class, Kind, Operand, Ty};

/// The name of an instruction of OpenCL.std.
pub(crate) fn name(number: u32) -> Option<String> {
    Cl::from_u32(number).map(|instruction| format!("{instruction:?}"))
}

impl<'m> Body<'_, '_, 'm> {
    /// `OpExtInst`.
    pub(crate) fn extended(&mut self, instruction: &Instruction<'m>) -> Step {
        let (set, number) = (self.id(instruction, 0)?, self.id(instruction, 1)?);
        if self.cx.definitions.opencl_std() != Some(set) {
            let import = self.cx.definition(set);
            let name = import.and_then(|import| import.string(0)).unwrap_or_default().into_owned();
            return Err(Stop::unsupported(format!("the instruction set {name} is not supported")));
        }
        let cl = Cl::from_u32(number)
            .ok_or_else(|| Stop::unsupported(format!("OpenCL.std has no instruction {number}")))?;
        let operands = instruction.operands().get(2..).unwrap_or_default();
        match cl {
            Cl::printf => self.printf(instruction, operands),
            Cl::prefetch => Ok(()),
            Cl::vloadn | Cl::vload_half | Cl::vload_halfn | Cl::vloada_halfn => {
                self.vector_load(instruction, cl, operands)
            }
            Cl::vstoren
            | Cl::vstore_half
            | Cl::vstore_half_r
            | Cl::vstore_halfn
            | Cl::vstore_halfn_r
            | Cl::vstorea_halfn
            | Cl::vstorea_halfn_r => self.vector_store(cl, operands),
            Cl::shuffle | Cl::shuffle2 => self.shuffle_lanes(instruction, operands),
            Cl::cross
            | Cl::distance
            | Cl::length
            | Cl::normalize
            | Cl::fast_distance
            | Cl::fast_length
            | Cl::fast_normalize => self.geometry(instruction, cl, operands),
            Cl::fract | Cl::frexp | Cl::lgamma_r | Cl::modf | Cl::remquo | Cl::sincos => {
                self.two_results(instruction, cl, operands)
            }
            _ => self.lane_by_lane(instruction, cl, operands),
        }
    }

    fn lane_by_lane(&mut self, instruction: &Instruction<'m>, cl: Cl, operands: &[u32]) -> Step {
        let (id, ty) = self.result(instruction)?;
        let shape = self.cx.shapes.shape(ty)?;
        self.in_vector = shape.kinds.len() > 1;
        let mut parts = Vec::with_capacity(shape.kinds.len());
        for (lane, kind) in shape.kinds.iter().enumerate() {
            let mut values = Vec::with_capacity(operands.len());
            for &operand in operands {
                let count = self.shape_of(operand)?.kinds.len();
                // `fmax(vector, scalar)` and its like.
                let value = self.part(operand, if count == 1 { 0 } else { lane })?;
                values.push((self.kind_of(operand)?, value));
            }
            parts.push(self.lane(cl, *kind, &values)?);
        }
        self.bind(id, &parts)
    }

    /// One lane of an instruction that works lane by lane.
    fn lane(&mut self, cl: Cl, kind: Kind, values: &[(Kind, Operand)]) -> Step<Operand> {
        if let Some(result) = self.integer_function(cl, kind, values)? {
            return Ok(result);
        }
        if let Some(result) = self.math_function(cl, kind, values)? {
            return Ok(result);
        }
        if let Some(result) = self.common_function(cl, kind, values)? {
            return Ok(result);
        }
        if let Some(result) = self.native_function(cl, kind, values)? {
            return Ok(result);
        }
        match library::plain_name(cl) {
            Some(name) => self.library_function(cl, name, kind, values),
            None => Err(Stop::unsupported("this built-in function is not supported")),
        }
    }

    /// A function of the library, with what it gets wrong put right.
    pub(crate) fn library_function(
        &mut self,
        cl: Cl,
        name: &str,
        kind: Kind,
        values: &[(Kind, Operand)],
    ) -> Step<Operand> {
        let (_, a) = need(values.first().copied())?;
        let float = kind.float();
        match (cl, kind) {
            (Cl::tgamma, Kind::F64) => self.gamma(a),
            (Cl::tgamma, _) => {
                let double = self.float_to_float(kind, Kind::F64, a, None);
                let result = self.gamma(double)?;
                Ok(self.float_to_float(Kind::F64, kind, result, None))
            }
            // Subnormal results come from numbers that are far from them: exp(x) is exp(x + 40) /
            // exp(40).
            (Cl::exp | Cl::half_exp, Kind::F32) => self.below(name, a, -87.0, 40.0, (-40.0_f64).exp()),
            (Cl::exp2, Kind::F32) => self.below(name, a, -126.0, 64.0, (-64.0_f64).exp2()),
            // Where it is small, its error in single precision is above 16 ulp.
            (Cl::erfc, Kind::F16 | Kind::F32) => {
                let double = self.float_to_float(kind, Kind::F64, a, None);
                let result = self.library_function(cl, name, Kind::F64, &[(Kind::F64, double)])?;
                Ok(self.float_to_float(Kind::F64, kind, result, None))
            }
            // It takes subnormal numbers for zeros. In double precision they are none, and the
            // result is exact.
            (Cl::fmod | Cl::remainder, Kind::F16 | Kind::F32) => {
                let mut doubles = Vec::with_capacity(values.len());
                for &(of, value) in values {
                    doubles.push((Kind::F64, self.float_to_float(of, Kind::F64, value, None)));
                }
                let result = self.library_call(name, Kind::F64, &doubles, Kind::F64)?;
                Ok(self.float_to_float(Kind::F64, kind, result, None))
            }
            // It is infinite at both ends.
            (Cl::lgamma, Kind::F32 | Kind::F64) => {
                let result = self.library_call(name, kind, values, kind)?;
                let magnitude = self.magnitude(kind, a);
                let infinity =
                    if kind == Kind::F64 { f64::INFINITY.to_bits() } else { f32::INFINITY.to_bits().into() };
                let at_end = self.compare("eq", float, magnitude, Operand::Immediate(infinity));
                Ok(self.pick(kind, at_end, magnitude, result))
            }
            // What is no number becomes the index of a table in some functions, and one half in
            // another.
            (_, Kind::F64) if values.len() == 1 => {
                let is_nan = self.compare("nan", float, a, a);
                let number = self.pick(kind, is_nan, Operand::Immediate(0), a);
                let result = self.library_call(name, kind, &[(kind, number)], kind)?;
                Ok(self.pick(kind, is_nan, a, result))
            }
            _ => self.library_call(name, kind, values, kind),
        }
    }

    /// An exponential of single precision: of a larger number, and scaled, below `limit`.
    fn below(&mut self, name: &str, a: Operand, limit: f64, shift: f64, factor: f64) -> Step<Operand> {
        let (kind, number) = (Kind::F32, |number| common::bits_of(Kind::F32, number));
        let below = self.compare("lt", Ty::F32, a, number(limit));
        let moved = self.op2(Class::B32, "add.rn.f32", Ty::F32, a, number(shift));
        let argument = self.pick(kind, below, moved, a);
        let result = self.library_call(name, kind, &[(kind, argument)], kind)?;
        let scaled = self.op2(Class::B32, "mul.rn.f32", Ty::F32, result, number(factor));
        Ok(self.pick(kind, below, scaled, result))
    }

    /// Calls a function of the library. Half precision goes through single precision.
    pub(crate) fn library_call(
        &mut self,
        name: &str,
        kind: Kind,
        values: &[(Kind, Operand)],
        returns: Kind,
    ) -> Step<Operand> {
        let single = |kind| if kind == Kind::F16 { Kind::F32 } else { kind };
        let mut arguments = Vec::with_capacity(values.len());
        for &(of, value) in values {
            arguments.push((single(of), self.float_if_half(of, value)));
        }
        let result = self.call_library(name, single(kind), &arguments, &[], single(returns))?;
        Ok(if returns == Kind::F16 {
            self.float_to_float(Kind::F32, Kind::F16, result, None)
        } else {
            result
        })
    }

    pub(crate) fn float_if_half(&mut self, kind: Kind, value: Operand) -> Operand {
        if kind == Kind::F16 { self.float_to_float(kind, Kind::F32, value, None) } else { value }
    }

    /// Calls a function by its mangled name; `pointers` are addresses of private memory with what
    /// they point to.
    pub(crate) fn call_library(
        &mut self,
        name: &str,
        kind: Kind,
        values: &[(Kind, Operand)],
        pointers: &[(Kind, Operand)],
        returns: Kind,
    ) -> Step<Operand> {
        let kinds: Vec<Kind> = values.iter().map(|(kind, _)| *kind).collect();
        let pointees: Vec<Kind> = pointers.iter().map(|(kind, _)| *kind).collect();
        let mangled = need(library::mangled(name, &kinds, &pointees))?;
        let Some(&function) = self.cx.facts.exports.get(&mangled) else {
            let float = if kind == Kind::F64 { "double" } else { "float" };
            return Err(Stop::unsupported(format!(
                "`{name}` of {float} is a function of the library of built-in functions (`{mangled}`), which is not \
                 linked: install libclc, and use oclave_ptx::Library"
            )));
        };
        let mut arguments: Vec<(Vec<Kind>, Vec<Operand>)> =
            values.iter().map(|(kind, value)| (vec![*kind], vec![*value])).collect();
        for (_, address) in pointers {
            arguments.push((vec![Kind::I64], vec![*address]));
        }
        let parts = self.call_function(function, &arguments, &[returns])?;
        need(parts.first().copied())
    }
}
