//! Replaces built-in functions by instructions, for devices whose compiler calls a function for them.
//!
//! A compiler that does not inline these functions vectorises no loop, and no work-items, with such a call.
//!
//! | function | instead |
//! |---|---|
//! | `mad`, `mad24`, `mul24`, `mix` | products and sums |
//! | `min`, `max`, `clamp` | comparisons and selections |
//! | `abs`, `fabs` | a selection; a mask of bits |
//! | `rotate` | two shifts |
//! | `mul_hi`, `mad_hi` of up to 32 bits | products of twice as many bits |
//! | `shuffle`, `shuffle2` | lanes by number |
//! | `sqrt`, `fma`, `fmin`, `fmax`, `floor`, `ceil`, `trunc`, `rint`, `copysign` | intrinsic functions of LLVM |
//! | `native_sqrt`, `half_sqrt` | that of `sqrt` |
//! | `rsqrt`, `native_rsqrt`, `half_rsqrt` | that of `sqrt`, and a division |
//! | `dot` of vectors | a product and sums |
//!
//! PoCL translates SPIR-V to LLVM IR, where an imported function with the name of an intrinsic function is that function.

use std::collections::BTreeMap;

use crate::Fault;
use crate::passes::opaque_values::{float_one, splat};
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_6, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Cursor, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q9. PoCL 6.0.** Kernels from SPIR-V do not inline the functions of PoCL's library. The functions name features of the
    /// processor, and such kernels do not. Each `min`, `max`, `clamp`, `rotate` or `mad` is a call, and neither
    /// loops nor work-items with one are vectorised. A median of nine bytes took five times as long as from source. In task
    /// lists of 1024 work-items each `mad` took 2.7 and 0.7 ns. A simulation of bodies with `sqrt` took 2.5 times as long as with an
    /// instruction. Another one, with `dot`, took 1.4 times as long as from source. So simple functions become instructions, or
    /// intrinsic functions of LLVM.
    Q9 {
        affects: [POCL_6],
        seen: Measurements,
        symptom: "Built-in functions are calls that are not inlined into kernels from SPIR-V; loops with them are not vectorised.",
        remedy: "Instructions, or intrinsic functions of LLVM (`called_functions`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q9, "called_functions", |on| expand(on.analyses, |_| true));

/// A function that drivers may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    /// Of OpenCL.std, by number.
    Std(u32),
    /// `OpDot`.
    Dot,
}

const CEIL: Function = Function::Std(12);
const COPYSIGN: Function = Function::Std(13);
const FABS: Function = Function::Std(23);
const FLOOR: Function = Function::Std(25);
const FMA: Function = Function::Std(26);
const FMAX: Function = Function::Std(27);
const FMIN: Function = Function::Std(28);
const MAD: Function = Function::Std(42);
const RINT: Function = Function::Std(53);
const RSQRT: Function = Function::Std(56);
const SQRT: Function = Function::Std(61);
const TRUNC: Function = Function::Std(66);
const HALF_RSQRT: Function = Function::Std(77);
const HALF_SQRT: Function = Function::Std(79);
const NATIVE_RSQRT: Function = Function::Std(91);
const NATIVE_SQRT: Function = Function::Std(93);
const FCLAMP: Function = Function::Std(95);
const FMAX_COMMON: Function = Function::Std(97);
const FMIN_COMMON: Function = Function::Std(98);
const MIX: Function = Function::Std(99);
const S_ABS: Function = Function::Std(141);
const S_CLAMP: Function = Function::Std(149);
const U_CLAMP: Function = Function::Std(150);
const S_MAD_HI: Function = Function::Std(153);
const S_MAX: Function = Function::Std(156);
const U_MAX: Function = Function::Std(157);
const S_MIN: Function = Function::Std(158);
const U_MIN: Function = Function::Std(159);
const S_MUL_HI: Function = Function::Std(160);
const ROTATE: Function = Function::Std(161);
const S_MAD24: Function = Function::Std(167);
const U_MAD24: Function = Function::Std(168);
const S_MUL24: Function = Function::Std(169);
const U_MUL24: Function = Function::Std(170);
const SHUFFLE: Function = Function::Std(182);
const SHUFFLE2: Function = Function::Std(183);
const U_MUL_HI: Function = Function::Std(203);
const U_MAD_HI: Function = Function::Std(204);

/// The module with instructions for those of these functions that `is_meant` holds for; `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(in crate::passes) fn expand(
    analyses: &Analyses<'_>,
    is_meant: impl Fn(&Call<'_>) -> bool,
) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let set = definitions.opencl_std();
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    let mut intrinsics = Intrinsics::default();
    for instruction in analyses.module().instructions() {
        let Some(call) = Call::read(&instruction, set, &types).filter(&is_meant) else { continue };
        let mut at = edit.before(&instruction);
        if call.write_intrinsic(&mut at, &mut intrinsics) || call.write(&mut at) {
            // The result stays, and its name and decorations, too.
            let _ = edit.instead_of(&instruction);
        }
    }
    Ok(edit.finish()?)
}

/// Writes the sum of the products of lanes, which is what `OpDot` gives for two vectors.
pub(in crate::passes) fn write_dot(at: &mut Cursor<'_, '_>, ty: u32, result: u32, [a, b]: [u32; 2]) {
    let definitions = at.definitions();
    let vector = definitions.type_of(a).unwrap_or(ty);
    let lanes = definitions.instruction(vector).and_then(|ty| ty.operand(1)).unwrap_or(1);
    let products = at.emit(Op::FMul, vector, &[a, b]);
    let mut sum = at.emit(Op::CompositeExtract, ty, &[products, 0]);
    for lane in 1..lanes {
        let product = at.emit(Op::CompositeExtract, ty, &[products, lane]);
        if lane + 1 == lanes {
            at.push(Op::FAdd, &[ty, result, sum, product]);
        } else {
            sum = at.emit(Op::FAdd, ty, &[sum, product]);
        }
    }
}

/// The intrinsic functions of LLVM that are imported, by name.
#[derive(Default)]
struct Intrinsics(BTreeMap<String, u32>);

impl Intrinsics {
    /// The function that takes so many arguments of the type of its result.
    fn function(&mut self, at: &mut Cursor<'_, '_>, call: &Call<'_>, name: &str, arguments: usize) -> u32 {
        let lanes = call.lanes.map(|lanes| format!("v{lanes}")).unwrap_or_default();
        let name = format!("llvm.{name}.{lanes}f{}", call.width);
        if let Some(id) = self.0.get(&name) {
            return *id;
        }
        let id = at.import(&name, call.ty, &vec![call.ty; arguments]);
        self.0.insert(name, id);
        id
    }
}

/// A call of a function.
pub(in crate::passes) struct Call<'a> {
    function: Function,
    arguments: &'a [u32],
    ty: u32,
    result: u32,
    /// Bits of a lane.
    width: u32,
    is_float: bool,
    /// `None` for scalars.
    lanes: Option<u32>,
}

impl<'a> Call<'a> {
    /// Whether it is `min`, `max` or `clamp` of integers that are no vectors.
    pub(in crate::passes) fn bounds_integer(&self) -> bool {
        self.lanes.is_none() && matches!(self.function, S_MAX | U_MAX | S_MIN | U_MIN | S_CLAMP | U_CLAMP)
    }

    fn read(instruction: &Instruction<'a>, set: Option<u32>, types: &TypeTable<'_>) -> Option<Self> {
        let (function, arguments) = match (instruction.op()?, instruction.operands()) {
            (Op::ExtInst, &[of, number, ref arguments @ ..]) if Some(of) == set => {
                (Function::Std(number), arguments)
            }
            (Op::Dot, arguments) => (Function::Dot, arguments),
            _ => return None,
        };
        let (ty, result) = (instruction.result_type()?, instruction.result_id()?);
        let (lane, lanes) = match types.ty(ty)? {
            Type::Vector { component, count } => (types.ty(component)?, Some(count)),
            scalar => (scalar, None),
        };
        let (width, is_float) = match lane {
            Type::Int { width } => (width, false),
            Type::Float { width } => (width, true),
            _ => return None,
        };
        Some(Self { function, arguments, ty, result, width, is_float, lanes })
    }

    /// Writes a call of an intrinsic function. Gives whether it did.
    fn write_intrinsic(&self, at: &mut Cursor<'_, '_>, intrinsics: &mut Intrinsics) -> bool {
        let &Self { function, arguments, ty, result, .. } = self;
        let name = match function {
            SQRT | NATIVE_SQRT | HALF_SQRT | RSQRT | NATIVE_RSQRT | HALF_RSQRT => "sqrt",
            FMA => "fma",
            FMAX => "maxnum",
            FMIN => "minnum",
            FLOOR => "floor",
            CEIL => "ceil",
            TRUNC => "trunc",
            RINT => "rint",
            COPYSIGN => "copysign",
            _ => return false,
        };
        if !self.is_float || !matches!(self.width, 32 | 64) {
            return false;
        }
        let intrinsic = intrinsics.function(at, self, name, arguments.len());
        let operands = [&[intrinsic], arguments].concat();
        if matches!(function, RSQRT | NATIVE_RSQRT | HALF_RSQRT) {
            let root = at.emit(Op::FunctionCall, ty, &operands);
            let one = float_one(at, self.width);
            let one = self.splat(at, ty, one);
            at.push(Op::FDiv, &[ty, result, one, root]);
        } else {
            at.push(Op::FunctionCall, &[&[ty, result], &*operands].concat());
        }
        true
    }

    /// Writes instructions for the call. Gives whether it did.
    fn write(&self, at: &mut Cursor<'_, '_>) -> bool {
        let &Self { ty, result, .. } = self;
        match (self.function, self.arguments) {
            (Function::Dot, &[a, b]) => write_dot(at, self.ty, self.result, [a, b]),
            (MAD, &[a, b, c]) => {
                let product = at.emit(Op::FMul, ty, &[a, b]);
                at.push(Op::FAdd, &[ty, result, product, c]);
            }
            (MIX, &[from, to, part]) => {
                let difference = at.emit(Op::FSub, ty, &[to, from]);
                let product = at.emit(Op::FMul, ty, &[difference, part]);
                at.push(Op::FAdd, &[ty, result, from, product]);
            }
            (S_MUL24 | U_MUL24, &[a, b]) => at.push(Op::IMul, &[ty, result, a, b]),
            (S_MAD24 | U_MAD24, &[a, b, c]) => {
                let product = at.emit(Op::IMul, ty, &[a, b]);
                at.push(Op::IAdd, &[ty, result, product, c]);
            }
            (S_MUL_HI | U_MUL_HI, &[a, b]) if self.width <= 32 => self.high_product(at, [a, b], result),
            (S_MAD_HI | U_MAD_HI, &[a, b, c]) if self.width <= 32 => {
                let high = at.fresh_id();
                self.high_product(at, [a, b], high);
                at.push(Op::IAdd, &[ty, result, high, c]);
            }
            (SHUFFLE | SHUFFLE2, &[ref vectors @ .., mask]) => return self.shuffle(at, vectors, mask),
            (S_MAX, &[a, b]) => self.choose(at, Op::SGreaterThan, [a, b], result),
            (U_MAX, &[a, b]) => self.choose(at, Op::UGreaterThan, [a, b], result),
            (S_MIN, &[a, b]) => self.choose(at, Op::SLessThan, [a, b], result),
            (U_MIN, &[a, b]) => self.choose(at, Op::ULessThan, [a, b], result),
            // The second one only where it is larger or smaller: NaN has no meaning here.
            (FMAX_COMMON, &[a, b]) => self.choose(at, Op::FOrdGreaterThan, [b, a], result),
            (FMIN_COMMON, &[a, b]) => self.choose(at, Op::FOrdLessThan, [b, a], result),
            (S_CLAMP, &[x, low, high]) => self.clamp(at, [Op::SGreaterThan, Op::SLessThan], [x, low, high]),
            (U_CLAMP, &[x, low, high]) => self.clamp(at, [Op::UGreaterThan, Op::ULessThan], [x, low, high]),
            (FCLAMP, &[x, low, high]) => {
                self.clamp(at, [Op::FOrdGreaterThan, Op::FOrdLessThan], [x, low, high]);
            }
            (S_ABS, &[x]) => {
                let (truth, zero) = (self.truth(at), at.null_constant(ty));
                let is_negative = at.emit(Op::SLessThan, truth, &[x, zero]);
                let negated = at.emit(Op::SNegate, ty, &[x]);
                at.push(Op::Select, &[ty, result, is_negative, negated, x]);
            }
            (FABS, &[x]) if self.is_float => {
                let bits = at.int_type(self.width);
                let bits = self.lanes.map_or(bits, |lanes| at.vector_type(bits, lanes));
                let all = at.emit(Op::Bitcast, bits, &[x]);
                let mask = self.constant(at, bits, (1 << (self.width - 1)) - 1);
                let rest = at.emit(Op::BitwiseAnd, bits, &[all, mask]);
                at.push(Op::Bitcast, &[ty, result, rest]);
            }
            (ROTATE, &[x, by]) => {
                let (mask, zero) = (self.constant(at, ty, u64::from(self.width) - 1), at.null_constant(ty));
                let by = at.emit(Op::BitwiseAnd, ty, &[by, mask]);
                let back = at.emit(Op::ISub, ty, &[zero, by]);
                let back = at.emit(Op::BitwiseAnd, ty, &[back, mask]);
                let high = at.emit(Op::ShiftLeftLogical, ty, &[x, by]);
                let low = at.emit(Op::ShiftRightLogical, ty, &[x, back]);
                at.push(Op::BitwiseOr, &[ty, result, high, low]);
            }
            _ => return false,
        }
        true
    }

    /// The first one where the comparison holds, otherwise the second one.
    fn choose(&self, at: &mut Cursor<'_, '_>, compare: Op, [a, b]: [u32; 2], result: u32) {
        let truth = self.truth(at);
        let holds = at.emit(compare, truth, &[a, b]);
        at.push(Op::Select, &[self.ty, result, holds, a, b]);
    }

    fn clamp(&self, at: &mut Cursor<'_, '_>, [above, below]: [Op; 2], [x, low, high]: [u32; 3]) {
        let raised = at.fresh_id();
        self.choose(at, above, [x, low], raised);
        self.choose(at, below, [raised, high], self.result);
    }

    /// The upper half of a product.
    fn high_product(&self, at: &mut Cursor<'_, '_>, factors: [u32; 2], result: u32) {
        let is_signed = matches!(self.function, S_MUL_HI | S_MAD_HI);
        let convert = if is_signed { Op::SConvert } else { Op::UConvert };
        let int = at.int_type(2 * self.width);
        let wide = self.lanes.map_or(int, |lanes| at.vector_type(int, lanes));
        let factors = factors.map(|factor| at.emit(convert, wide, &[factor]));
        let product = at.emit(Op::IMul, wide, &factors);
        let bits = at.int_constant(2 * self.width, self.width.into());
        let bits = self.splat(at, wide, bits);
        let high = at.emit(Op::ShiftRightLogical, wide, &[product, bits]);
        at.push(Op::UConvert, &[self.ty, result, high]);
    }

    /// Takes lanes of one or two vectors by the lowest bits of a mask. Gives whether it did.
    fn shuffle(&self, at: &mut Cursor<'_, '_>, vectors: &[u32], mask: u32) -> bool {
        let definitions = at.definitions();
        // The type of lanes, and their number.
        let vector = |id: u32| {
            let ty = definitions.instruction(definitions.type_of(id)?).filter(|ty| ty.is(Op::TypeVector))?;
            Some((ty.operand(0)?, ty.operand(1)?))
        };
        let Some(lanes) = self.lanes else { return false };
        let (from, lane, count) = match *vectors {
            [one] => match vector(one) {
                Some((lane, count)) => (one, lane, count),
                None => return false,
            },
            [one, other] => match vector(one).filter(|(_, count)| *count <= 8) {
                Some((lane, count)) => {
                    let both = at.vector_type(lane, 2 * count);
                    let all: Vec<u32> = [one, other].into_iter().chain(0..2 * count).collect();
                    (at.emit(Op::VectorShuffle, both, &all), lane, 2 * count)
                }
                None => return false,
            },
            _ => return false,
        };
        let index = at.int_type(self.width);
        let most = at.int_constant(self.width, u64::from(count) - 1);
        let mut parts = vec![self.ty, self.result];
        for number in 0..lanes {
            let number = at.emit(Op::CompositeExtract, index, &[mask, number]);
            let number = at.emit(Op::BitwiseAnd, index, &[number, most]);
            parts.push(at.emit(Op::VectorExtractDynamic, lane, &[from, number]));
        }
        at.push(Op::CompositeConstruct, &parts);
        true
    }

    /// The type of comparisons.
    fn truth(&self, at: &mut Cursor<'_, '_>) -> u32 {
        let truth = at.bool_type();
        self.lanes.map_or(truth, |lanes| at.vector_type(truth, lanes))
    }

    /// An integer, in each lane of a vector.
    fn constant(&self, at: &mut Cursor<'_, '_>, ty: u32, value: u64) -> u32 {
        let lane = at.int_constant(self.width, value);
        self.splat(at, ty, lane)
    }

    /// A constant, or a vector with it in each lane.
    fn splat(&self, at: &mut Cursor<'_, '_>, ty: u32, lane: u32) -> u32 {
        self.lanes.map_or(lane, |lanes| splat(at, ty, lane, lanes))
    }
}
