//! Reductions and scans of sub-groups and work-groups.

use oclave_spirv::{BuiltIn, Instruction, Op};

use super::barrier::{SUBGROUP, WORKGROUP};
use super::{Body, ptx};
use crate::error::{Step, Stop};
use crate::operand::{Class, Kind, Operand, Ty};

/// `GroupOperation` of SPIR-V.
pub(crate) const REDUCE: u32 = 0;
pub(crate) const INCLUSIVE: u32 = 1;
const EXCLUSIVE: u32 = 2;
const CLUSTERED: u32 = 3;

/// The opcodes of what work-items do that happen to come there, not all of the group.
const NON_UNIFORM: std::ops::RangeInclusive<u32> =
    Op::GroupNonUniformElect as u32..=Op::GroupNonUniformLogicalXor as u32;

/// How two values of a reduction become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Combine { Add, Multiply, SMin, UMin, SMax, UMax, FMin, FMax, And, Or, Xor }

pub(crate) fn combine_of(op: Op) -> Option<Combine> {
    use Op as O;
    Some(match op {
        O::GroupIAdd | O::GroupFAdd | O::GroupNonUniformIAdd | O::GroupNonUniformFAdd => Combine::Add,
        O::GroupIMulKHR | O::GroupFMulKHR | O::GroupNonUniformIMul | O::GroupNonUniformFMul => {
            Combine::Multiply
        }
        O::GroupSMin | O::GroupNonUniformSMin => Combine::SMin,
        O::GroupUMin | O::GroupNonUniformUMin => Combine::UMin,
        O::GroupSMax | O::GroupNonUniformSMax => Combine::SMax,
        O::GroupUMax | O::GroupNonUniformUMax => Combine::UMax,
        O::GroupFMin | O::GroupNonUniformFMin => Combine::FMin,
        O::GroupFMax | O::GroupNonUniformFMax => Combine::FMax,
        O::GroupBitwiseAndKHR
        | O::GroupNonUniformBitwiseAnd
        | O::GroupLogicalAndKHR
        | O::GroupNonUniformLogicalAnd => Combine::And,
        O::GroupBitwiseOrKHR
        | O::GroupNonUniformBitwiseOr
        | O::GroupLogicalOrKHR
        | O::GroupNonUniformLogicalOr => Combine::Or,
        O::GroupBitwiseXorKHR
        | O::GroupNonUniformBitwiseXor
        | O::GroupLogicalXorKHR
        | O::GroupNonUniformLogicalXor => Combine::Xor,
        _ => return None,
    })
}

impl<'m> Body<'_, '_, 'm> {
    /// Reductions and scans.
    pub(crate) fn reduction(&mut self, instruction: &Instruction<'m>, combine: Combine) -> Step {
        let (id, ty) = self.result(instruction)?;
        let scope = self.id(instruction, 0)?;
        let scope = self.known(scope, WORKGROUP)?;
        let how = self.id(instruction, 1)?;
        let value = self.id(instruction, 2)?;
        let cluster = match instruction.operand(3) {
            Some(size) if how == CLUSTERED => Some(self.known(size, 0)?),
            None if how <= EXCLUSIVE => None,
            _ => return Err(Stop::Broken("a reduction of an unknown kind")),
        };
        if cluster.is_some_and(|size| !size.is_power_of_two() || size > 32) {
            return Err(Stop::unsupported(
                "the size of a cluster must be a constant power of two, at most 32",
            ));
        }
        let uniform = !NON_UNIFORM.contains(&u32::from(instruction.opcode));
        let shape = self.cx.shapes.shape(ty)?;
        let parts = self.value(value)?;
        let mut results = Vec::with_capacity(parts.len());
        for (part, kind) in parts.into_iter().zip(&shape.kinds) {
            results.push(match scope {
                SUBGROUP if cluster.is_none() && (uniform || self.all_arrive()) => {
                    self.of_warp(combine, *kind, part, how)?
                }
                SUBGROUP => self.of_present(combine, *kind, part, how, cluster.unwrap_or(32))?,
                WORKGROUP => self.of_group(combine, *kind, part, how)?,
                _ => return Err(Stop::unsupported("reductions are for work-groups and sub-groups only")),
            });
        }
        self.bind(id, &results)
    }

    /// Two values as one.
    pub(crate) fn combined(&mut self, combine: Combine, kind: Kind, a: Operand, b: Operand) -> Operand {
        let (class, x) = (kind.class(), kind.untyped());
        let result = match combine {
            Combine::Add if kind.is_float() => {
                self.op2(class, &format!("add.rn.{}", kind.float()), kind.float(), a, b)
            }
            Combine::Multiply if kind.is_float() => {
                self.op2(class, &format!("mul.rn.{}", kind.float()), kind.float(), a, b)
            }
            Combine::Add => self.integer("add", kind, kind.signed(), a, b),
            Combine::Multiply => self.integer("mul.lo", kind, kind.signed(), a, b),
            Combine::SMin | Combine::SMax => {
                let (a, b) = (self.with_sign(kind, a), self.with_sign(kind, b));
                self.integer(if combine == Combine::SMin { "min" } else { "max" }, kind, kind.signed(), a, b)
            }
            Combine::UMin => self.integer("min", kind, kind.unsigned(), a, b),
            Combine::UMax => self.integer("max", kind, kind.unsigned(), a, b),
            Combine::FMin => self.smaller(kind, a, b, true),
            Combine::FMax => self.smaller(kind, a, b, false),
            Combine::And => self.integer("and", kind, x, a, b),
            Combine::Or => self.integer("or", kind, x, a, b),
            Combine::Xor => self.integer("xor", kind, x, a, b),
        };
        if kind.is_float() { result } else { self.masked(kind, result) }
    }

    /// What changes nothing when it is combined.
    fn neutral(combine: Combine, kind: Kind) -> u64 {
        let (bits, all) = (kind.bits(), kind.mask());
        let infinity = match kind {
            Kind::F16 => 0x7c00,
            Kind::F32 => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        };
        let one = match kind {
            Kind::F16 => 0x3c00,
            Kind::F32 => 0x3f80_0000,
            Kind::F64 => 0x3ff0_0000_0000_0000,
            _ => 1,
        };
        match combine {
            Combine::Add | Combine::UMax | Combine::Or | Combine::Xor => 0,
            Combine::Multiply => one,
            Combine::SMin => all >> 1,
            Combine::SMax => 1 << (bits - 1),
            Combine::UMin | Combine::And => all,
            Combine::FMin => infinity,
            Combine::FMax => infinity | 1 << (bits - 1),
        }
    }

    /// Within a warp: an inclusive scan in five steps; the last lane has the sum.
    fn of_warp(&mut self, combine: Combine, kind: Kind, value: Operand, how: u32) -> Step<Operand> {
        let mask = self.warp_mask();
        let (_, lane) = self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?;
        let mut scan = value;
        for step in [1_u64, 2, 4, 8, 16] {
            let below = self.moved(kind, scan, Operand::Immediate(step), "up", mask);
            let both = self.combined(combine, kind, below, scan);
            let has = self.compare("hs", Ty::U32, lane, Operand::Immediate(step));
            scan = self.pick(kind, has, both, scan);
        }
        Ok(match how {
            INCLUSIVE => scan,
            EXCLUSIVE => {
                let below = self.moved(kind, scan, Operand::Immediate(1), "up", mask);
                let first = self.compare("eq", Ty::U32, lane, Operand::Immediate(0));
                self.pick(kind, first, Operand::Immediate(Self::neutral(combine, kind)), below)
            }
            _ => {
                let size = self.sub_group_size();
                let last = self.op2(Class::B32, "sub.s32", Ty::S32, size, Operand::Immediate(1));
                self.moved(kind, scan, last, "idx", mask)
            }
        })
    }

    /// Among the work-items that are there: one after the other, by each of them.
    fn of_present(
        &mut self,
        combine: Combine,
        kind: Kind,
        value: Operand,
        how: u32,
        cluster: u64,
    ) -> Step<Operand> {
        let (mask, result, rest) = (self.present(), self.register(kind.class()), self.register(Class::B32));
        let (_, own) = self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?;
        let first = self.op2(Class::B32, "and.b32", Ty::B32, own, Operand::Immediate(!(cluster - 1)));
        let again = self.new_label();
        self.copy(rest, Class::B32, mask);
        self.copy(result, kind.class(), Operand::Immediate(Self::neutral(combine, kind)));
        self.label(&again);
        let lane = self.lowest_bit(rest);
        let other = self.moved(kind, value, lane, "idx", mask);
        let both = self.combined(combine, kind, result, other);
        let counts = match how {
            INCLUSIVE => self.compare("ls", Ty::U32, lane, own),
            EXCLUSIVE => self.compare("lo", Ty::U32, lane, own),
            _ => {
                let at = self.op2(Class::B32, "sub.s32", Ty::S32, lane, first);
                self.compare("lo", Ty::U32, at, Operand::Immediate(cluster))
            }
        };
        let both = self.pick(kind, counts, both, result);
        self.copy(result, kind.class(), both);
        let below = self.op2(Class::B32, "sub.s32", Ty::S32, rest, Operand::Immediate(1));
        ptx!(self, "and.b32 {rest}, {rest}, {below}");
        let more = self.compare("ne", Ty::U32, rest, Operand::Immediate(0));
        ptx!(self, "@{more} bra {again}");
        Ok(result)
    }

    /// Within a work-group: warps first, then the sums of the warps before.
    fn of_group(&mut self, combine: Combine, kind: Kind, value: Operand, how: u32) -> Step<Operand> {
        let shared = crate::operand::Space::Shared;
        let inclusive = self.of_warp(combine, kind, value, INCLUSIVE)?;
        let own = match how {
            EXCLUSIVE => self.of_warp(combine, kind, value, EXCLUSIVE)?,
            _ => inclusive,
        };
        let (_, warp) = self.builtin(BuiltIn::SubgroupId, 0)?;
        let (_, warps) = self.builtin(BuiltIn::NumSubgroups, 0)?;
        let (_, lane) = self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?;
        let size = self.sub_group_size();
        let last = self.op2(Class::B32, "sub.s32", Ty::S32, size, Operand::Immediate(1));
        let scratch = self.scratch();
        let skip = self.new_label();
        let not_last = self.compare("ne", Ty::U32, lane, last);
        ptx!(self, "@{not_last} bra {skip}");
        let at = self.op2(Class::B64, "mul.wide.u32", Ty::U32, warp, Operand::Immediate(8));
        let at = self.op2(Class::B64, "add.s64", Ty::S64, scratch, at);
        self.store_one(shared, at, 0, kind, inclusive, 8, Default::default());
        self.label(&skip);
        ptx!(self, "barrier.sync 0");
        let end = if how == REDUCE { warps } else { warp };
        let end = self.widen(Kind::I32, end, false);
        let sum = self.register(kind.class());
        self.copy(sum, kind.class(), Operand::Immediate(Self::neutral(combine, kind)));
        self.counted(Operand::Immediate(0), end, Operand::Immediate(1), |body, index| {
            let at = body.op2(Class::B64, "shl.b64", Ty::B64, index, Operand::Immediate(3));
            let at = body.op2(Class::B64, "add.s64", Ty::S64, scratch, at);
            let of_warp = body.load_one(shared, at, 0, kind, 8, Default::default());
            let both = body.combined(combine, kind, sum, of_warp);
            body.copy(sum, kind.class(), both);
            Ok(())
        })?;
        ptx!(self, "barrier.sync 0");
        Ok(if how == REDUCE { sum } else { self.combined(combine, kind, sum, own) })
    }
}
