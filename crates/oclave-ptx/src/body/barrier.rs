//! Barriers and fences.

use oclave_spirv::Instruction;

use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Operand, Ty};

/// Scopes of SPIR-V.
pub(crate) const CROSS_DEVICE: u64 = 0;
pub(crate) const DEVICE: u64 = 1;
pub(crate) const WORKGROUP: u64 = 2;
pub(crate) const SUBGROUP: u64 = 3;

/// Memory semantics of SPIR-V.
pub(crate) const ACQUIRE: u64 = 0x2;
pub(crate) const RELEASE: u64 = 0x4;
pub(crate) const ACQUIRE_RELEASE: u64 = 0x8;
pub(crate) const SEQUENTIALLY_CONSISTENT: u64 = 0x10;
const ANY_ORDER: u64 = ACQUIRE | RELEASE | ACQUIRE_RELEASE | SEQUENTIALLY_CONSISTENT;

/// The scope as PTX names it.
pub(crate) fn scope_suffix(scope: u64) -> &'static str {
    match scope {
        CROSS_DEVICE => "sys",
        DEVICE => "gpu",
        _ => "cta",
    }
}

impl<'m> Body<'_, '_, 'm> {
    /// A scope or memory semantics. What is not constant counts as the strongest that there is.
    pub(crate) fn known(&mut self, id: u32, strongest: u64) -> Step<u64> {
        Ok(self.scalar(id)?.immediate().unwrap_or(strongest))
    }

    pub(crate) fn fence(&mut self, scope: u64, semantics: u64) {
        let order = match semantics & ANY_ORDER {
            0 => return,
            order if order & SEQUENTIALLY_CONSISTENT != 0 => "sc",
            _ => "acq_rel",
        };
        ptx!(self, "fence.{order}.{}", scope_suffix(scope));
    }

    pub(crate) fn control_barrier(&mut self, instruction: &Instruction<'m>) -> Step {
        let [execution, memory, semantics] = self.ids(instruction, 0)?;
        let (execution, memory) = (self.known(execution, WORKGROUP)?, self.known(memory, CROSS_DEVICE)?);
        let semantics = self.known(semantics, SEQUENTIALLY_CONSISTENT)?;
        match execution {
            SUBGROUP => {
                if memory < SUBGROUP {
                    self.fence(memory, semantics);
                }
                let mask = self.warp_mask();
                ptx!(self, "bar.warp.sync {mask}");
            }
            WORKGROUP => self.barrier(memory, semantics),
            4 => {}
            _ => return Err(Stop::unsupported("barriers are for work-groups and sub-groups only")),
        }
        Ok(())
    }

    /// All work-items of the group wait for each other. The barrier orders memory within the group
    /// by itself.
    pub(crate) fn barrier(&mut self, memory: u64, semantics: u64) {
        if memory < WORKGROUP {
            self.fence(memory, semantics);
        }
        ptx!(self, "barrier.sync 0");
    }

    pub(crate) fn memory_barrier(&mut self, instruction: &Instruction<'m>) -> Step {
        let [scope, semantics] = self.ids(instruction, 0)?;
        let (scope, semantics) =
            (self.known(scope, CROSS_DEVICE)?, self.known(semantics, SEQUENTIALLY_CONSISTENT)?);
        self.fence(scope, semantics);
        Ok(())
    }

    /// A bit for each work-item of the sub-group: the last warp of a work-group may not be full.
    pub(crate) fn warp_mask(&mut self) -> Operand {
        let size = self.sub_group_size();
        let shift = self.op2(Class::B32, "sub.s32", Ty::S32, Operand::Immediate(32), size);
        self.op2(Class::B32, "shr.u32", Ty::U32, Operand::Immediate(0xffff_ffff), shift)
    }

    /// The event of an operation that has ended already.
    pub(crate) fn no_event(&mut self, instruction: &Instruction<'m>) -> Step {
        let id = need(instruction.result_id())?;
        self.bind(id, &[Operand::Immediate(0)])
    }
}
