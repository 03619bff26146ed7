//! Operations of sub-groups, which are warps, and of work-groups: votes, ballots, broadcasts,
//! shuffles.
//!
//! Those of SPIR-V's `Group` instructions are executed by all work-items. The others are done by
//! the work-items that come there. These are all of the warp where control flow leads each
//! work-item of the kernel to the block. Otherwise they are those that are active.

use oclave_spirv::{BuiltIn, Instruction, Op};

use super::barrier::{SUBGROUP, WORKGROUP};
use super::reduce::{INCLUSIVE, REDUCE, combine_of};
use super::{Body, ptx};
use crate::error::{Step, Stop};
use crate::operand::{Class, Kind, Operand, Ty};

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
                let mask = match op {
                    O::GroupAll | O::GroupAny => self.warp_mask(),
                    _ => self.present(),
                };
                let all = matches!(op, O::GroupAll | O::GroupNonUniformAll);
                self.vote(instruction, scope, predicate, all, mask)?;
            }
            O::SubgroupAllKHR | O::SubgroupAnyKHR => {
                let [predicate] = self.ids(instruction, 0)?;
                let mask = self.present();
                self.vote(instruction, SUBGROUP, predicate, op == O::SubgroupAllKHR, mask)?;
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
                let present = self.present();
                let first = self.lowest_bit(present);
                self.shuffle_by(instruction, value, first, "idx", present)?;
            }
            O::GroupNonUniformElect => {
                let (id, _) = self.result(instruction)?;
                let present = self.present();
                let first = self.lowest_bit(present);
                let (_, lane) = self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?;
                let elected = self.compare("eq", Ty::U32, lane, first);
                self.bind(id, &[elected])?;
            }
            O::GroupNonUniformBallot | O::SubgroupBallotKHR => {
                let predicate = self.id(instruction, if op == O::SubgroupBallotKHR { 0 } else { 1 })?;
                self.ballot(instruction, predicate)?;
            }
            O::SubgroupShuffleUpINTEL | O::SubgroupShuffleDownINTEL => {
                self.shuffle_two(instruction, op == O::SubgroupShuffleDownINTEL)?;
            }
            O::GroupNonUniformAllEqual => self.all_equal(instruction)?,
            O::GroupNonUniformInverseBallot | O::GroupNonUniformBallotBitExtract => {
                let (id, _) = self.result(instruction)?;
                let mask = self.id(instruction, 1)?;
                let word = self.part(mask, 0)?;
                let lane = match instruction.operand(2) {
                    Some(lane) => self.word(lane)?,
                    None => self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?.1,
                };
                let shifted = self.op2(Class::B32, "shr.u32", Ty::U32, word, lane);
                let bit = self.op2(Class::B32, "and.b32", Ty::B32, shifted, Operand::Immediate(1));
                let set = self.compare("ne", Ty::U32, bit, Operand::Immediate(0));
                self.bind(id, &[set])?;
            }
            O::GroupNonUniformBallotFindLSB | O::GroupNonUniformBallotFindMSB => {
                let (id, ty) = self.result(instruction)?;
                let mask = self.id(instruction, 1)?;
                let word = self.part(mask, 0)?;
                let found = match op {
                    O::GroupNonUniformBallotFindLSB => self.lowest_bit(word),
                    _ => {
                        let zeros = self.op1(Class::B32, "clz.b32", Ty::B32, word);
                        self.op2(Class::B32, "sub.s32", Ty::S32, Operand::Immediate(31), zeros)
                    }
                };
                let kind = self.cx.shapes.kind(ty)?;
                let found = self.resize(Kind::I32, kind, found, false);
                self.bind(id, &[found])?;
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

    /// A bit for each work-item of the sub-group that executes the instruction in hand with this
    /// one.
    pub(crate) fn present(&mut self) -> Operand {
        if self.all_arrive() {
            return self.warp_mask();
        }
        let d = self.register(Class::B32);
        ptx!(self, "activemask.b32 {d}");
        d
    }

    pub(crate) fn lowest_bit(&mut self, mask: Operand) -> Operand {
        let reversed = self.op1(Class::B32, "brev.b32", Ty::B32, mask);
        self.op1(Class::B32, "clz.b32", Ty::B32, reversed)
    }

    fn vote(
        &mut self,
        instruction: &Instruction<'m>,
        scope: u64,
        predicate: u32,
        all: bool,
        mask: Operand,
    ) -> Step {
        let (id, _) = self.result(instruction)?;
        let predicate = self.scalar(predicate)?;
        let predicate = self.in_register(predicate, Class::Pred);
        let d = self.register(Class::Pred);
        let name = if all { "all" } else { "any" };
        match scope {
            SUBGROUP => ptx!(self, "vote.sync.{name}.pred {d}, {predicate}, {mask}"),
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
        let mask = self.present();
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
        let mask = self.present();
        let by = self.word(by)?;
        self.shuffle_by(instruction, value, by, mode, mask)
    }

    /// A number that counts lanes, in 32 bits.
    fn word(&mut self, id: u32) -> Step<Operand> {
        let kind = self.kind_of(id)?;
        let value = self.scalar(id)?;
        Ok(self.resize(kind, Kind::I32, value, false))
    }

    fn shuffle_by(
        &mut self,
        instruction: &Instruction<'m>,
        value: u32,
        by: Operand,
        mode: &str,
        mask: Operand,
    ) -> Step {
        let (id, _) = self.result(instruction)?;
        let shape = self.shape_of(value)?;
        let parts = self.value(value)?;
        let moved: Vec<Operand> = parts
            .into_iter()
            .zip(&shape.kinds)
            .map(|(part, kind)| self.moved(*kind, part, by, mode, mask))
            .collect();
        self.bind(id, &moved)
    }

    /// Intel's shuffles of two values behind each other: lane `own + by` of them, or lane `own -
    /// by` of the second.
    fn shuffle_two(&mut self, instruction: &Instruction<'m>, down: bool) -> Step {
        let (id, _) = self.result(instruction)?;
        let [first, second, by] = self.ids(instruction, 0)?;
        let (by, mask, size) = (self.word(by)?, self.present(), self.sub_group_size());
        let (_, own) = self.builtin(BuiltIn::SubgroupLocalInvocationId, 0)?;
        let lane = if down {
            self.op2(Class::B32, "add.s32", Ty::S32, own, by)
        } else {
            let moved = self.op2(Class::B32, "sub.s32", Ty::S32, own, by);
            self.op2(Class::B32, "add.s32", Ty::S32, moved, size)
        };
        let in_second = self.op2(Class::B32, "sub.s32", Ty::S32, lane, size);
        let of_first = self.compare("lo", Ty::U32, lane, size);
        let shape = self.shape_of(first)?;
        let (a, b) = (self.value(first)?, self.value(second)?);
        let mut parts = Vec::with_capacity(a.len());
        for ((a, b), kind) in a.into_iter().zip(b).zip(&shape.kinds) {
            let a = self.moved(*kind, a, lane, "idx", mask);
            let b = self.moved(*kind, b, in_second, "idx", mask);
            parts.push(self.pick(*kind, of_first, a, b));
        }
        self.bind(id, &parts)
    }

    /// Whether all work-items that are there have the same value.
    fn all_equal(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, _) = self.result(instruction)?;
        let value = self.id(instruction, 1)?;
        let shape = self.shape_of(value)?;
        let mask = self.present();
        let first = self.lowest_bit(mask);
        let mut equal = Operand::Immediate(1);
        for (part, kind) in self.value(value)?.into_iter().zip(&shape.kinds) {
            let other = self.moved(*kind, part, first, "idx", mask);
            let same = match kind {
                Kind::Bool => {
                    let differs = self.op2(Class::Pred, "xor.pred", Ty::Pred, part, other);
                    self.op1(Class::Pred, "not.pred", Ty::Pred, differs)
                }
                kind if kind.is_float() => self.compare("eq", kind.float(), part, other),
                kind => self.compare("eq", kind.untyped(), part, other),
            };
            equal = self.op2(Class::Pred, "and.pred", Ty::Pred, equal, same);
        }
        let equal = self.in_register(equal, Class::Pred);
        let d = self.register(Class::Pred);
        ptx!(self, "vote.sync.all.pred {d}, {equal}, {mask}");
        self.bind(id, &[d])
    }

    /// The value of another lane.
    pub(crate) fn moved(
        &mut self,
        kind: Kind,
        value: Operand,
        by: Operand,
        mode: &str,
        mask: Operand,
    ) -> Operand {
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
            let (local, mask) = (self.word(local)?, self.warp_mask());
            return self.shuffle_by(instruction, value, local, "idx", mask);
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
    pub(crate) fn scratch(&mut self) -> Operand {
        self.cx.uses_group_scratch = true;
        let before = std::mem::replace(&mut self.in_prologue, true);
        let d = self.register(Class::B64);
        ptx!(self, "mov.u64 {d}, $group_scratch");
        self.in_prologue = before;
        d
    }
}
