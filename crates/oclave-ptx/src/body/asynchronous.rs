//! Asynchronous copies of work-groups: the work-items share the elements, and the wait is a
//! barrier.

use oclave_spirv::{Instruction, Type};

use super::Body;
use super::barrier::{SEQUENTIALLY_CONSISTENT, WORKGROUP};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Space, Ty};

impl<'m> Body<'_, '_, 'm> {
    /// `OpGroupAsyncCopy`: the stride is that of the global side.
    pub(crate) fn async_copy(&mut self, instruction: &Instruction<'m>) -> Step {
        let [_, target, source, count, stride] = self.ids(instruction, 0)?;
        let (to, from) = (self.space_of(target)?, self.space_of(source)?);
        let pointer = need(self.cx.definitions.type_of(target))?;
        let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(pointer) else {
            return Err(Stop::Broken("its target is not a pointer"));
        };
        let size = need(self.cx.shapes.size_bytes(pointee))?;
        let align = u64::from(self.cx.shapes.table.align_bytes(pointee));
        let shape = self.cx.shapes.shape(pointee)?;
        let (d, s) = (self.scalar(target)?, self.scalar(source)?);
        let (count_kind, stride_kind) = (self.kind_of(count)?, self.kind_of(stride)?);
        let (count, stride) = (self.scalar(count)?, self.scalar(stride)?);
        let count = self.widen(count_kind, count, false);
        let stride = self.widen(stride_kind, stride, false);
        let strided = self.op2(Class::B64, "mul.lo.s64", Ty::S64, stride, Operand::Immediate(size));
        let dense = Operand::Immediate(size);
        let (d_step, s_step) = if to == Space::Shared { (dense, strided) } else { (strided, dense) };
        let first = self.local_linear_id();
        let first = self.widen(Kind::I32, first, false);
        let items = self.group_items();
        let items = self.widen(Kind::I32, items, false);
        self.counted(first, count, items, |body, index| {
            let s = body.op3(Class::B64, "mad.lo.s64", Ty::S64, [index, s_step, s]);
            let d = body.op3(Class::B64, "mad.lo.s64", Ty::S64, [index, d_step, d]);
            let parts = body.load_parts(from, s, &shape, align, Default::default())?;
            body.store_parts_at(to, d, &shape, &parts, align, Default::default())
        })?;
        self.no_event(instruction)
    }

    /// `OpGroupWaitEvents`.
    pub(crate) fn wait_events(&mut self, _: &Instruction<'m>) -> Step {
        self.barrier(WORKGROUP, SEQUENTIALLY_CONSISTENT);
        Ok(())
    }
}
