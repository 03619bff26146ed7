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
//!
//! PoCL translates SPIR-V to LLVM IR, where an imported function with the name of an intrinsic function is that function.

use std::collections::BTreeMap;

use crate::Fault;
use crate::passes::opaque_values::{emit, float_one, splat};
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_6, fault};
use oclave_spirv::{Capability, Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable};

fault! {
    /// **Q9. PoCL 6.0.** Kernels that come as SPIR-V do not inline the functions of PoCL's library: these name features of the
    /// processor, and such kernels do not. Each `min`, `max`, `clamp`, `rotate` or `mad` is a call, and neither
    /// loops nor work-items with one are vectorised. A median of nine bytes took five times as long as from source. In task
    /// lists of 1024 work-items each `mad` took 2.7 and 0.7 ns. A simulation of bodies with `sqrt` took 2.5 times as long as with an
    /// instruction. So simple functions become instructions, or intrinsic functions of LLVM.
    Q9 {
        affects: [POCL_6],
        seen: Measurements,
        symptom: "Built-in functions are calls that are not inlined into kernels from SPIR-V; loops with them are not vectorised.",
        remedy: "Instructions, or intrinsic functions of LLVM (`called_functions`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q9, "called_functions", |on| expand(on.module));

const CEIL: u32 = 12;
const COPYSIGN: u32 = 13;
const FABS: u32 = 23;
const FLOOR: u32 = 25;
const FMA: u32 = 26;
const FMAX: u32 = 27;
const FMIN: u32 = 28;
const MAD: u32 = 42;
const RINT: u32 = 53;
const RSQRT: u32 = 56;
const SQRT: u32 = 61;
const TRUNC: u32 = 66;
const HALF_RSQRT: u32 = 77;
const HALF_SQRT: u32 = 79;
const NATIVE_RSQRT: u32 = 91;
const NATIVE_SQRT: u32 = 93;
const FCLAMP: u32 = 95;
const FMAX_COMMON: u32 = 97;
const FMIN_COMMON: u32 = 98;
const MIX: u32 = 99;
const S_ABS: u32 = 141;
const S_CLAMP: u32 = 149;
const U_CLAMP: u32 = 150;
const S_MAD_HI: u32 = 153;
const S_MAX: u32 = 156;
const U_MAX: u32 = 157;
const S_MIN: u32 = 158;
const U_MIN: u32 = 159;
const S_MUL_HI: u32 = 160;
const ROTATE: u32 = 161;
const S_MAD24: u32 = 167;
const U_MAD24: u32 = 168;
const S_MUL24: u32 = 169;
const U_MUL24: u32 = 170;
const SHUFFLE: u32 = 182;
const SHUFFLE2: u32 = 183;
const U_MUL_HI: u32 = 203;
const U_MAD_HI: u32 = 204;

/// The module with instructions for such functions; `None` where there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn expand(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let types = TypeTable::new(&definitions);
    let mut new = Rewriter::new(&definitions);
    let mut intrinsics = Intrinsics::default();
    let mut any = false;
    for instruction in module.instructions() {
        let is_replaced = Call::read(&instruction, set, &types)
            .is_some_and(|call| call.write_intrinsic(&mut new, &mut intrinsics) || call.write(&mut new));
        any |= is_replaced;
        if !is_replaced {
            new.copy(&instruction);
        }
    }
    if any { Ok(Some(new.finish()?)) } else { Ok(None) }
}

/// The intrinsic functions of LLVM that are imported, by name.
#[derive(Default)]
struct Intrinsics(BTreeMap<String, u32>);

impl Intrinsics {
    /// The function that takes so many arguments of the type of its result.
    fn function(&mut self, new: &mut Rewriter<'_>, call: &Call<'_>, name: &str, arguments: usize) -> u32 {
        let lanes = call.lanes.map(|lanes| format!("v{lanes}")).unwrap_or_default();
        let name = format!("llvm.{name}.{lanes}f{}", call.width);
        if let Some(id) = self.0.get(&name) {
            return *id;
        }
        let id = new.import(&name, call.ty, &vec![call.ty; arguments]);
        self.0.insert(name, id);
        id
    }
}

/// A call of a function of OpenCL.std.
struct Call<'a> {
    number: u32,
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
    fn read(instruction: &Instruction<'a>, set: u32, types: &TypeTable<'_>) -> Option<Self> {
        let &[of, number, ref arguments @ ..] = instruction.operands() else { return None };
        if of != set || !instruction.is(Op::ExtInst) {
            return None;
        }
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
        Some(Self { number, arguments, ty, result, width, is_float, lanes })
    }

    /// Writes a call of an intrinsic function. Gives whether it did.
    fn write_intrinsic(&self, new: &mut Rewriter<'_>, intrinsics: &mut Intrinsics) -> bool {
        let &Self { number, arguments, ty, result, .. } = self;
        let name = match number {
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
        let function = intrinsics.function(new, self, name, arguments.len());
        let operands = [&[function], arguments].concat();
        if matches!(number, RSQRT | NATIVE_RSQRT | HALF_RSQRT) {
            let root = emit(new, Op::FunctionCall, ty, &operands);
            let one = float_one(new, self.width);
            let one = self.splat(new, ty, one);
            new.push(Op::FDiv, &[ty, result, one, root]);
        } else {
            new.push(Op::FunctionCall, &[&[ty, result], &*operands].concat());
        }
        true
    }

    /// Writes instructions for the call. Gives whether it did.
    fn write(&self, new: &mut Rewriter<'_>) -> bool {
        let &Self { ty, result, .. } = self;
        match (self.number, self.arguments) {
            (MAD, &[a, b, c]) => {
                let product = emit(new, Op::FMul, ty, &[a, b]);
                new.push(Op::FAdd, &[ty, result, product, c]);
            }
            (MIX, &[from, to, part]) => {
                let difference = emit(new, Op::FSub, ty, &[to, from]);
                let product = emit(new, Op::FMul, ty, &[difference, part]);
                new.push(Op::FAdd, &[ty, result, from, product]);
            }
            (S_MUL24 | U_MUL24, &[a, b]) => new.push(Op::IMul, &[ty, result, a, b]),
            (S_MAD24 | U_MAD24, &[a, b, c]) => {
                let product = emit(new, Op::IMul, ty, &[a, b]);
                new.push(Op::IAdd, &[ty, result, product, c]);
            }
            (S_MUL_HI | U_MUL_HI, &[a, b]) if self.width <= 32 => self.high_product(new, [a, b], result),
            (S_MAD_HI | U_MAD_HI, &[a, b, c]) if self.width <= 32 => {
                let high = new.fresh_id();
                self.high_product(new, [a, b], high);
                new.push(Op::IAdd, &[ty, result, high, c]);
            }
            (SHUFFLE | SHUFFLE2, &[ref vectors @ .., mask]) => return self.shuffle(new, vectors, mask),
            (S_MAX, &[a, b]) => self.choose(new, Op::SGreaterThan, [a, b], result),
            (U_MAX, &[a, b]) => self.choose(new, Op::UGreaterThan, [a, b], result),
            (S_MIN, &[a, b]) => self.choose(new, Op::SLessThan, [a, b], result),
            (U_MIN, &[a, b]) => self.choose(new, Op::ULessThan, [a, b], result),
            // The second one only where it is larger or smaller: NaN has no meaning here.
            (FMAX_COMMON, &[a, b]) => self.choose(new, Op::FOrdGreaterThan, [b, a], result),
            (FMIN_COMMON, &[a, b]) => self.choose(new, Op::FOrdLessThan, [b, a], result),
            (S_CLAMP, &[x, low, high]) => self.clamp(new, [Op::SGreaterThan, Op::SLessThan], [x, low, high]),
            (U_CLAMP, &[x, low, high]) => self.clamp(new, [Op::UGreaterThan, Op::ULessThan], [x, low, high]),
            (FCLAMP, &[x, low, high]) => {
                self.clamp(new, [Op::FOrdGreaterThan, Op::FOrdLessThan], [x, low, high]);
            }
            (S_ABS, &[x]) => {
                let (truth, zero) = (self.truth(new), new.null_constant(ty));
                let is_negative = emit(new, Op::SLessThan, truth, &[x, zero]);
                let negated = emit(new, Op::SNegate, ty, &[x]);
                new.push(Op::Select, &[ty, result, is_negative, negated, x]);
            }
            (FABS, &[x]) if self.is_float => {
                match self.width {
                    16 => new.capability(Capability::Int16),
                    64 => new.capability(Capability::Int64),
                    _ => {}
                }
                let bits = new.int_type(self.width);
                let bits = self.lanes.map_or(bits, |lanes| new.vector_type(bits, lanes));
                let all = emit(new, Op::Bitcast, bits, &[x]);
                let mask = self.constant(new, bits, (1 << (self.width - 1)) - 1);
                let rest = emit(new, Op::BitwiseAnd, bits, &[all, mask]);
                new.push(Op::Bitcast, &[ty, result, rest]);
            }
            (ROTATE, &[x, by]) => {
                let (mask, zero) = (self.constant(new, ty, u64::from(self.width) - 1), new.null_constant(ty));
                let by = emit(new, Op::BitwiseAnd, ty, &[by, mask]);
                let back = emit(new, Op::ISub, ty, &[zero, by]);
                let back = emit(new, Op::BitwiseAnd, ty, &[back, mask]);
                let high = emit(new, Op::ShiftLeftLogical, ty, &[x, by]);
                let low = emit(new, Op::ShiftRightLogical, ty, &[x, back]);
                new.push(Op::BitwiseOr, &[ty, result, high, low]);
            }
            _ => return false,
        }
        true
    }

    /// The first one where the comparison holds, otherwise the second one.
    fn choose(&self, new: &mut Rewriter<'_>, compare: Op, [a, b]: [u32; 2], result: u32) {
        let truth = self.truth(new);
        let holds = emit(new, compare, truth, &[a, b]);
        new.push(Op::Select, &[self.ty, result, holds, a, b]);
    }

    fn clamp(&self, new: &mut Rewriter<'_>, [above, below]: [Op; 2], [x, low, high]: [u32; 3]) {
        let raised = new.fresh_id();
        self.choose(new, above, [x, low], raised);
        self.choose(new, below, [raised, high], self.result);
    }

    /// The upper half of a product.
    fn high_product(&self, new: &mut Rewriter<'_>, factors: [u32; 2], result: u32) {
        match self.width {
            8 => new.capability(Capability::Int16),
            32 => new.capability(Capability::Int64),
            _ => {}
        }
        let is_signed = matches!(self.number, S_MUL_HI | S_MAD_HI);
        let convert = if is_signed { Op::SConvert } else { Op::UConvert };
        let int = new.int_type(2 * self.width);
        let wide = self.lanes.map_or(int, |lanes| new.vector_type(int, lanes));
        let factors = factors.map(|factor| emit(new, convert, wide, &[factor]));
        let product = emit(new, Op::IMul, wide, &factors);
        let bits = new.int_constant(2 * self.width, self.width.into());
        let bits = self.splat(new, wide, bits);
        let high = emit(new, Op::ShiftRightLogical, wide, &[product, bits]);
        new.push(Op::UConvert, &[self.ty, result, high]);
    }

    /// Takes lanes of one or two vectors by the lowest bits of a mask. Gives whether it did.
    fn shuffle(&self, new: &mut Rewriter<'_>, vectors: &[u32], mask: u32) -> bool {
        let definitions = new.definitions();
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
                    if count > 2 {
                        new.capability(Capability::Vector16);
                    }
                    let both = new.vector_type(lane, 2 * count);
                    let all: Vec<u32> = [one, other].into_iter().chain(0..2 * count).collect();
                    (emit(new, Op::VectorShuffle, both, &all), lane, 2 * count)
                }
                None => return false,
            },
            _ => return false,
        };
        let index = new.int_type(self.width);
        let most = new.int_constant(self.width, u64::from(count) - 1);
        let mut parts = vec![self.ty, self.result];
        for number in 0..lanes {
            let number = emit(new, Op::CompositeExtract, index, &[mask, number]);
            let number = emit(new, Op::BitwiseAnd, index, &[number, most]);
            parts.push(emit(new, Op::VectorExtractDynamic, lane, &[from, number]));
        }
        new.push(Op::CompositeConstruct, &parts);
        true
    }

    /// The type of comparisons.
    fn truth(&self, new: &mut Rewriter<'_>) -> u32 {
        let truth = new.bool_type();
        self.lanes.map_or(truth, |lanes| new.vector_type(truth, lanes))
    }

    /// An integer, in each lane of a vector.
    fn constant(&self, new: &mut Rewriter<'_>, ty: u32, value: u64) -> u32 {
        let lane = new.int_constant(self.width, value);
        self.splat(new, ty, lane)
    }

    /// A constant, or a vector with it in each lane.
    fn splat(&self, new: &mut Rewriter<'_>, ty: u32, lane: u32) -> u32 {
        self.lanes.map_or(lane, |lanes| splat(new, ty, lane, lanes))
    }
}
