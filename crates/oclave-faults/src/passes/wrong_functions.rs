//! Replaces built-in functions that drivers compute wrongly.
//!
//! Intel's CPU runtime:
//!
//! | function | wrong | instead |
//! |---|---|---|
//! | `mad_sat` of `int` and `uint` vectors | where the product takes more than 32 bits | 64-bit arithmetic |
//! | `mad_sat` of `long`, also of scalars | some sums that overflow | 128-bit arithmetic |
//! | `step` of vectors | 0 for NaN, where 1 is right | a comparison and a selection |
//! | `shuffle(double4, mask)` | where high bits of the mask are set | `shuffle` of integers |
//! | `shuffle` and `shuffle2` of `half` vectors | the program does not build | `shuffle` of integers |
//!
//! Other scalar `mad_sat` and scalar `step` are right.
//!
//! Intel's CPU runtime and PoCL: `vstorea_half3` writes a fourth element. `vstore_half3` at the same address
//! replaces it.

use crate::Fault;
use crate::passes::opaque_values::{float_one, splat};
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, LLVMPIPE, POCL_CPU, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Cursor, Definitions, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q62. Intel's CPU runtime 2026.2.** Some built-in functions of vectors are wrong.
    /// `mad_sat((int2)INT_MAX, (int2)2, (int2)2)` is 0. Of 1728 triples of edge values, 282 are wrong for
    /// `int` and 239 for `uint`. `mad_sat` of `long` is wrong for scalars, too. `step` is 0 for NaN.
    /// `shuffle(double4, mask)` uses high bits of the mask. `shuffle` of `half` vectors does not build. Such
    /// calls get other instructions.
    Q62 {
        affects: [INTEL],
        seen: Programs,
        symptom: "`mad_sat`, `step` and `shuffle` are wrong for some vectors.",
        remedy: "Other instructions (`wrong_functions`).",
        upstream: ["intel-vector-functions.md"],
    }
}

fault! {
    /// **Q66. Intel's CPU runtime 2026.2, PoCL 6.0 and 7.1 on CPUs.** `vstorea_half3` writes a fourth
    /// element, in all address spaces and rounding modes. So `vstore_half3` stores at the same address.
    Q66 {
        affects: [INTEL, POCL_CPU],
        seen: Programs,
        symptom: "`vstorea_half3` writes a fourth element.",
        remedy: "`vstore_half3` at the same address (`wrong_functions`).",
        upstream: ["vstorea-half3.md"],
    }
}

fault! {
    /// **Q68. Mesa's rusticl 26.1.6.** `mad_sat` of `long` is wrong for some sums that overflow. So it is
    /// computed with 128 bits, as on Intel (Q62).
    Q68 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "`mad_sat` of `long` is wrong for some sums that overflow.",
        remedy: "128-bit arithmetic (`wrong_functions`).",
        upstream: ["rusticl-long-mad-sat.md"],
    }
}

pub(in crate::passes) const FUNCTIONS: Pass =
    pass(Fault::Q62, "wrong_functions::replace", |on| replace(on.analyses));

pub(in crate::passes) const ALIGNED_STORES: Pass =
    pass(Fault::Q66, "wrong_functions::replace_aligned_stores", |on| replace_aligned_stores(on.analyses));

pub(in crate::passes) const LONG_MAD_SAT: Pass =
    pass(Fault::Q68, "wrong_functions::replace_long_mad_sat", |on| replace_long_mad_sat(on.analyses));

const STEP: u32 = 101;
const U_MAD_SAT: u32 = 154;
const S_MAD_SAT: u32 = 155;
const S_MUL_HI: u32 = 160;
const VSTORE_HALFN: u32 = 177;
const VSTOREA_HALFN: u32 = 180;
const VSTOREA_HALFN_R: u32 = 181;
const SHUFFLE: u32 = 182;
const SHUFFLE2: u32 = 183;

/// The module with other instructions for the functions that Intel's CPU runtime computes wrongly; `None`
/// where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn replace(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    replace_by(analyses, |reader, ty, number, arguments| reader.wrong_on_intel(ty, number, arguments))
}

/// The module with `vstore_half3` for `vstorea_half3`; `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn replace_aligned_stores(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    replace_by(analyses, |reader, _, number, arguments| reader.aligned_store(number, arguments))
}

/// The module with 128-bit arithmetic for `mad_sat` of `long`, which Mesa's rusticl computes wrongly as well;
/// `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn replace_long_mad_sat(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    replace_by(analyses, |reader, ty, number, arguments| {
        reader.wrong_on_intel(ty, number, arguments).filter(|form| matches!(form, Form::LongMadSat { .. }))
    })
}

type Find = fn(&Reader<'_, '_>, ty: u32, number: u32, arguments: &[u32]) -> Option<Form>;

fn replace_by(analyses: &Analyses<'_>, find: Find) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let reader = Reader { definitions, types: TypeTable::new(definitions), set };
    let mut edit = Editor::new(definitions);
    for instruction in analyses.module().instructions() {
        if let Some(call) = reader.read(&instruction, find) {
            call.write(&mut edit.instead_of(&instruction));
        }
    }
    Ok(edit.finish()?)
}

/// A call that gets other instructions.
struct Call {
    set: u32,
    ty: u32,
    result: u32,
    form: Form,
}

enum Form {
    LongMadSat {
        lanes: Option<u32>,
        factors: [u32; 2],
        term: u32,
    },
    MadSat {
        is_signed: bool,
        lanes: u32,
        factors: [u32; 2],
        term: u32,
    },
    Step {
        width: u32,
        lanes: u32,
        edge: u32,
        value: u32,
    },
    Shuffle {
        number: u32,
        width: u32,
        lanes: u32,
        from_lanes: u32,
        sources: Vec<u32>,
        mask: u32,
    },
    StoreHalf3 {
        data: u32,
        offset: u32,
        offset_type: u32,
        bits: u32,
        to: u32,
        pointer: u32,
        mode: Option<u32>,
    },
}

struct Reader<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: TypeTable<'m>,
    set: u32,
}

impl Reader<'_, '_> {
    fn read(&self, instruction: &Instruction<'_>, find: Find) -> Option<Call> {
        let &[set, number, ref arguments @ ..] = instruction.operands() else { return None };
        if set != self.set || !instruction.is(Op::ExtInst) {
            return None;
        }
        let (ty, result) = (instruction.result_type()?, instruction.result_id()?);
        let form = find(self, ty, number, arguments)?;
        Some(Call { set, ty, result, form })
    }

    fn wrong_on_intel(&self, ty: u32, number: u32, arguments: &[u32]) -> Option<Form> {
        Some(match (number, arguments) {
            (S_MAD_SAT, &[a, b, term])
                if matches!(self.types.ty(self.types.lane(ty)), Some(Type::Int { width: 64 })) =>
            {
                let lanes = self.lanes(ty).map(|(.., lanes)| lanes);
                Form::LongMadSat { lanes, factors: [a, b], term }
            }
            (S_MAD_SAT | U_MAD_SAT, &[a, b, term]) => match self.lanes(ty)? {
                (_, Type::Int { width: 32 }, lanes) => {
                    Form::MadSat { is_signed: number == S_MAD_SAT, lanes, factors: [a, b], term }
                }
                _ => return None,
            },
            (STEP, &[edge, value]) => match self.lanes(ty)? {
                (_, Type::Float { width }, lanes) => Form::Step { width, lanes, edge, value },
                _ => return None,
            },
            (SHUFFLE | SHUFFLE2, &[ref sources @ .., mask]) => {
                let (_, Type::Float { width }, lanes) = self.lanes(ty)? else { return None };
                let (.., from_lanes) = self.lanes(self.definitions.type_of(*sources.first()?)?)?;
                if width != 16 && !(width == 64 && from_lanes == 4 && number == SHUFFLE) {
                    return None;
                }
                Form::Shuffle { number, width, lanes, from_lanes, sources: sources.to_vec(), mask }
            }
            _ => return None,
        })
    }

    fn aligned_store(&self, number: u32, arguments: &[u32]) -> Option<Form> {
        let &[data, offset, to, ref mode @ ..] = arguments else { return None };
        let (.., lanes) = self.lanes(self.definitions.type_of(data)?)?;
        let offset_type = self.definitions.type_of(offset)?;
        let Type::Int { width: bits } = self.types.ty(offset_type)? else { return None };
        if !matches!(number, VSTOREA_HALFN | VSTOREA_HALFN_R) || lanes != 3 {
            return None;
        }
        let (pointer, mode) = (self.definitions.type_of(to)?, mode.first().copied());
        Some(Form::StoreHalf3 { data, offset, offset_type, bits, to, pointer, mode })
    }

    /// The type of a vector's lanes, and their number.
    fn lanes(&self, ty: u32) -> Option<(u32, Type<'_>, u32)> {
        match self.types.ty(ty)? {
            Type::Vector { component, count } => Some((component, self.types.ty(component)?, count)),
            _ => None,
        }
    }
}

impl Call {
    fn write(&self, at: &mut Cursor<'_, '_>) {
        let &Self { set, ty, result, ref form } = self;
        match *form {
            Form::LongMadSat { lanes, factors: [a, b], term } => {
                let constant = |at: &mut Cursor<'_, '_>, value: u64| {
                    let number = at.int_constant(64, value);
                    lanes.map_or(number, |lanes| splat(at, ty, number, lanes))
                };
                let truth = at.bool_type();
                let truth = lanes.map_or(truth, |lanes| at.vector_type(truth, lanes));
                let low = at.emit(Op::IMul, ty, &[a, b]);
                let high = at.emit(Op::ExtInst, ty, &[set, S_MUL_HI, a, b]);
                let sum = at.emit(Op::IAdd, ty, &[low, term]);
                let carries = at.emit(Op::ULessThan, truth, &[sum, low]);
                let (zero, one) = (constant(at, 0), constant(at, 1));
                let carry = at.emit(Op::Select, ty, &[carries, one, zero]);
                let last = constant(at, 63);
                let sign = at.emit(Op::ShiftRightArithmetic, ty, &[term, last]);
                let high = at.emit(Op::IAdd, ty, &[high, sign]);
                let high = at.emit(Op::IAdd, ty, &[high, carry]);
                // The sum fits if its high half repeats its sign.
                let repeated = at.emit(Op::ShiftRightArithmetic, ty, &[sum, last]);
                let fits = at.emit(Op::IEqual, truth, &[high, repeated]);
                let is_negative = at.emit(Op::SLessThan, truth, &[high, zero]);
                let least = constant(at, i64::MIN.cast_unsigned());
                let most = constant(at, i64::MAX.cast_unsigned());
                let bound = at.emit(Op::Select, ty, &[is_negative, least, most]);
                at.push(Op::Select, &[ty, result, fits, sum, bound]);
            }
            Form::MadSat { is_signed, lanes, factors: [a, b], term } => {
                // The sum of a product and a number of 32 bits fits into 64.
                let convert = if is_signed { Op::SConvert } else { Op::UConvert };
                let (long, truth) = (at.int_type(64), at.bool_type());
                let (long, truth) = (at.vector_type(long, lanes), at.vector_type(truth, lanes));
                let [a, b, term] = [a, b, term].map(|value| at.emit(convert, long, &[value]));
                let product = at.emit(Op::IMul, long, &[a, b]);
                let mut sum = at.emit(Op::IAdd, long, &[product, term]);
                let bounds = match is_signed {
                    true => vec![
                        (Op::SGreaterThan, i64::from(i32::MAX).cast_unsigned()),
                        (Op::SLessThan, i64::from(i32::MIN).cast_unsigned()),
                    ],
                    false => vec![(Op::UGreaterThan, u64::from(u32::MAX))],
                };
                for (compare, bound) in bounds {
                    let bound = at.int_constant(64, bound);
                    let bound = splat(at, long, bound, lanes);
                    let is_outside = at.emit(compare, truth, &[sum, bound]);
                    sum = at.emit(Op::Select, long, &[is_outside, bound, sum]);
                }
                at.push(convert, &[ty, result, sum]);
            }
            Form::Step { width, lanes, edge, value } => {
                let truth = at.bool_type();
                let truth = at.vector_type(truth, lanes);
                let is_less = at.emit(Op::FOrdLessThan, truth, &[value, edge]);
                let one = float_one(at, width);
                let ones = splat(at, ty, one, lanes);
                let zeros = at.null_constant(ty);
                at.push(Op::Select, &[ty, result, is_less, zeros, ones]);
            }
            Form::Shuffle { number, width, lanes, from_lanes, ref sources, mask } => {
                let lane = at.int_type(width);
                let (from, to) = (at.vector_type(lane, from_lanes), at.vector_type(lane, lanes));
                let mut operands = vec![set, number];
                for source in sources {
                    operands.push(at.emit(Op::Bitcast, from, &[*source]));
                }
                operands.push(match width {
                    64 => {
                        let last = at.int_constant(width, u64::from(from_lanes - 1));
                        let wide = at.vector_type(lane, lanes);
                        let last = splat(at, wide, last, lanes);
                        at.emit(Op::BitwiseAnd, wide, &[mask, last])
                    }
                    _ => mask,
                });
                let shuffled = at.emit(Op::ExtInst, to, &operands);
                at.push(Op::Bitcast, &[ty, result, shuffled]);
            }
            Form::StoreHalf3 { data, offset, offset_type, bits, to, pointer, mode } => {
                let (four, zero) = (at.int_constant(bits, 4), at.int_constant(bits, 0));
                let index = at.emit(Op::IMul, offset_type, &[offset, four]);
                let place = at.emit(Op::InBoundsPtrAccessChain, pointer, &[to, index]);
                let number = VSTORE_HALFN + u32::from(mode.is_some());
                let mut words = vec![ty, result, set, number, data, zero, place];
                words.extend(mode);
                at.push(Op::ExtInst, &words);
            }
        }
    }
}
