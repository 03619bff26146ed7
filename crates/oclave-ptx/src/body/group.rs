//! Operations of sub-groups, which are warps, and of work-groups: votes, broadcasts, shuffles, reductions, scans.

use oclave_image::spirv::{BuiltIn, Instruction, Op};

use super::barrier::{SUBGROUP, WORKGROUP};
use super::{Body, ptx};
use crate::error::{Step, Stop};
use crate::operand::{Class, Kind, Operand, Ty};

/// `GroupOperation` of SPIR-V.
const REDUCE: u32 = 0;
const INCLUSIVE: u32 = 1;
const EXCLUSIVE: u32 = 2;

/// How two values of a reduction become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
enum Combine { Add, Multiply, SMin, UMin, SMax, UMax, FMin, FMax, And, Or, Xor }

fn combine_of(op: Op) -> Option<Combine> {
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
    /// Translates an operation of a group; false where it is none.
    pub(crate) fn group_operation(&mut self, instruction: &Instruction<'m>, op: Op) -> Step<bool> {
        use Op as O;
        if let Some(combine) = combine_of(op) {
            self.reduction(instruction, combine)?;
            return Ok(true);
        }
        match op {
            O::GroupAll | O::GroupAny | O::GroupNonUniformAll | O::GroupNonUniformAny => {
                let [scope, predicate] = self.ids(instruction, 0)?;
                let scope = self.known(scope, WORKGROUP)?;
                self.vote(instruction, scope, predicate, matches!(op, O::GroupAll | O::GroupNonUniformAll))?;
            }
            O::SubgroupAllKHR | O::SubgroupAnyKHR => {
                let [predicate] = self.ids(instruction, 0)?;
                self.vote(instruction, SUBGROUP, predicate, op == O::SubgroupAllKHR)?;
            }
            O::GroupBroadcast => self.broadcast(instruction)?,
            O::GroupNonUniformBroadcast | O::GroupNonUniformShuffle => {
                let [_, value, lane] = self.ids(instruction, 0)?;
                self.shuffle(instruction, value, lane, "idx")?;
            }
            O::SubgroupShuffleINTEL | O::SubgroupReadInvocationKHR => {
                let [value, lane] = self.ids(instruction, 0)?;
                self.shuffle(instruction, value, lane, "idx")?;
            }
            O::SubgroupShuffleXorINTEL => {
                let [value, mask] = self.ids(instruction, 0)?;
                self.shuffle(instruction, value, mask, "bfly")?;
            }
            O::GroupNonUniformShuffleXor | O::GroupNonUniformShuffleUp | O::GroupNonUniformShuffleDown => {
                let [_, value, by] = self.ids(instruction, 0)?;
                let mode = match op {
                    O::GroupNonUniformShuffleXor => "bfly",
                    O::GroupNonUniformShuffleUp => "up",
                    _ => "down",
                };
                self.shuffle(instruction, value, by, mode)?;
            }
            O::GroupNonUniformBroadcastFirst | O::SubgroupFirstInvocationKHR => {
                let value = self.id(instruction, if op == O::SubgroupFirstInvocationKHR { 0 } else { 1 })?;
                let active = self.active();
                let first = self.lowest_bit(active);
                self.shuffle_by(instruction, value, first, "idx")?;
            }
            O::GroupNonUniformElect => {
                let (id, _) = self.result(instruction)?;
                let active = self.active();
                let first = self.lowest_bit(active);
                let (_, lane) = self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?;
                let elected = self.compare("eq", Ty::U32, lane, first);
                self.bind(id, &[elected])?;
            }
            O::GroupNonUniformBallot | O::SubgroupBallotKHR => {
                let predicate = self.id(instruction, if op == O::SubgroupBallotKHR { 0 } else { 1 })?;
                self.ballot(instruction, predicate)?;
            }
            O::GroupNonUniformBallotBitCount => {
                let (id, ty) = self.result(instruction)?;
                let (how, mask) = (self.id(instruction, 1)?, self.id(instruction, 2)?);
                let mut word = self.part(mask, 0)?;
                if how != REDUCE {
                    let below =
                        if how == INCLUSIVE { BuiltIn::SubgroupLeMask } else { BuiltIn::SubgroupLtMask };
                    let (_, below) = self.builtin(below, 0)?;
                    word = self.op2(Class::B32, "and.b32", Ty::B32, word, below);
                }
                let kind = self.cx.shapes.kind(ty)?;
                let count = self.population(Kind::I32, kind, word);
                self.bind(id, &[count])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn active(&mut self) -> Operand {
        let d = self.register(Class::B32);
        ptx!(self, "activemask.b32 {d}");
        d
    }

    fn lowest_bit(&mut self, mask: Operand) -> Operand {
        let reversed = self.op1(Class::B32, "brev.b32", Ty::B32, mask);
        self.op1(Class::B32, "clz.b32", Ty::B32, reversed)
    }

    fn vote(&mut self, instruction: &Instruction<'m>, scope: u64, predicate: u32, all: bool) -> Step {
        let (id, _) = self.result(instruction)?;
        let predicate = self.scalar(predicate)?;
        let predicate = self.in_register(predicate, Class::Pred);
        let d = self.register(Class::Pred);
        let name = if all { "all" } else { "any" };
        match scope {
            SUBGROUP => {
                let mask = self.warp_mask();
                ptx!(self, "vote.sync.{name}.pred {d}, {predicate}, {mask}");
            }
            WORKGROUP => {
                let name = if all { "and" } else { "or" };
                ptx!(self, "barrier.red.{name}.pred {d}, 0, {predicate}");
            }
            _ => return Err(Stop::unsupported("votes are for work-groups and sub-groups only")),
        }
        self.bind(id, &[d])
    }

    fn ballot(&mut self, instruction: &Instruction<'m>, predicate: u32) -> Step {
        let (id, ty) = self.result(instruction)?;
        let predicate = self.scalar(predicate)?;
        let predicate = self.in_register(predicate, Class::Pred);
        let mask = self.warp_mask();
        let d = self.register(Class::B32);
        ptx!(self, "vote.sync.ballot.b32 {d}, {predicate}, {mask}");
        let shape = self.cx.shapes.shape(ty)?;
        let mut parts = vec![Operand::Immediate(0); shape.kinds.len()];
        if let Some(first) = parts.first_mut() {
            *first = d;
        }
        self.bind(id, &parts)
    }

    fn shuffle(&mut self, instruction: &Instruction<'m>, value: u32, by: u32, mode: &str) -> Step {
        let kind = self.kind_of(by)?;
        let by = self.scalar(by)?;
        let by = self.resize(kind, Kind::I32, by, false);
        self.shuffle_by(instruction, value, by, mode)
    }

    fn shuffle_by(&mut self, instruction: &Instruction<'m>, value: u32, by: Operand, mode: &str) -> Step {
        let (id, _) = self.result(instruction)?;
        let shape = self.shape_of(value)?;
        let parts = self.value(value)?;
        let mask = self.warp_mask();
        let moved: Vec<Operand> = parts
            .into_iter()
            .zip(&shape.kinds)
            .map(|(part, kind)| self.moved(*kind, part, by, mode, mask))
            .collect();
        self.bind(id, &moved)
    }

    /// The value of another lane.
    fn moved(&mut self, kind: Kind, value: Operand, by: Operand, mode: &str, mask: Operand) -> Operand {
        let limit = if mode == "up" { 0 } else { 31 };
        let one = |body: &mut Self, value| {
            let value = body.in_register(value, Class::B32);
            let d = body.register(Class::B32);
            ptx!(body, "shfl.sync.{mode}.b32 {d}, {value}, {}, {limit}, {mask}", by.of(Ty::B32));
            d
        };
        match kind.class() {
            Class::B64 => {
                let value = self.in_register(value, Class::B64);
                let (low, high) = (self.register(Class::B32), self.register(Class::B32));
                ptx!(self, "mov.b64 {{{low}, {high}}}, {value}");
                let (low, high) = (one(self, low), one(self, high));
                let d = self.register(Class::B64);
                ptx!(self, "mov.b64 {d}, {{{low}, {high}}}");
                d
            }
            Class::B32 => one(self, value),
            Class::B16 => {
                let bits = self.half_bits(value);
                let bits = one(self, bits);
                self.half_of_bits(bits)
            }
            Class::Pred => {
                let bit = self.bool_as(value, 1);
                let bit = one(self, bit);
                self.compare("ne", Ty::S32, bit, Operand::Immediate(0))
            }
        }
    }

    /// `OpGroupBroadcast`: of a sub-group, or of a work-group by way of local memory.
    fn broadcast(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, _) = self.result(instruction)?;
        let [scope, value, local] = self.ids(instruction, 0)?;
        if self.known(scope, WORKGROUP)? == SUBGROUP {
            return self.shuffle(instruction, value, local, "idx");
        }
        let kind = self.kind_of(local)?;
        let local = self.value(local)?;
        let here = self.new_label();
        for (dimension, wanted) in local.into_iter().enumerate() {
            let wanted = self.resize(kind, Kind::I32, wanted, false);
            let (_, own) = self.builtin(BuiltIn::LocalInvocationId, dimension)?;
            let other = self.compare("ne", Ty::U32, own, wanted);
            ptx!(self, "@{other} bra {here}");
        }
        let shape = self.shape_of(value)?;
        let parts = self.value(value)?;
        if shape.kinds.len() > 32 {
            return Err(Stop::unsupported("a broadcast of more than 32 numbers"));
        }
        let scratch = self.scratch();
        for (index, (part, kind)) in parts.into_iter().zip(&shape.kinds).enumerate() {
            self.store_one(
                crate::operand::Space::Shared,
                scratch,
                index as u64 * 8,
                *kind,
                part,
                8,
                Default::default(),
            );
        }
        self.label(&here);
        ptx!(self, "barrier.sync 0");
        let loaded: Vec<Operand> = shape
            .kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                self.load_one(
                    crate::operand::Space::Shared,
                    scratch,
                    index as u64 * 8,
                    *kind,
                    8,
                    Default::default(),
                )
            })
            .collect();
        ptx!(self, "barrier.sync 0");
        self.bind(id, &loaded)
    }

    /// The address of the local memory that operations of work-groups share.
    fn scratch(&mut self) -> Operand {
        self.cx.uses_group_scratch = true;
        let before = std::mem::replace(&mut self.in_prologue, true);
        let d = self.register(Class::B64);
        ptx!(self, "mov.u64 {d}, $group_scratch");
        self.in_prologue = before;
        d
    }

    fn reduction(&mut self, instruction: &Instruction<'m>, combine: Combine) -> Step {
        let (id, ty) = self.result(instruction)?;
        let scope = self.id(instruction, 0)?;
        let scope = self.known(scope, WORKGROUP)?;
        let how = self.id(instruction, 1)?;
        let value = self.id(instruction, 2)?;
        if how > EXCLUSIVE || instruction.operand(3).is_some() {
            return Err(Stop::unsupported("reductions of clusters are not supported"));
        }
        let shape = self.cx.shapes.shape(ty)?;
        let parts = self.value(value)?;
        let mut results = Vec::with_capacity(parts.len());
        for (part, kind) in parts.into_iter().zip(&shape.kinds) {
            results.push(match scope {
                SUBGROUP => self.of_warp(combine, *kind, part, how)?,
                WORKGROUP => self.of_group(combine, *kind, part, how)?,
                _ => return Err(Stop::unsupported("reductions are for work-groups and sub-groups only")),
            });
        }
        self.bind(id, &results)
    }

    fn combined(&mut self, combine: Combine, kind: Kind, a: Operand, b: Operand) -> Operand {
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
