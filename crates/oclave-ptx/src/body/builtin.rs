//! Where a work-item is. NVIDIA's driver tells what CUDA has no register for in `%envreg`
//! registers.
//!
//! | register | what |
//! |---|---|
//! | `%envreg0`–`2` | groups that stand before this launch, where the driver cuts a large one into several |
//! | `%envreg3`–`5` | the global offset, and the work-items of these groups |
//! | `%envreg6`–`8` | number of groups |
//! | `%envreg9` | number of dimensions |

use oclave_spirv::BuiltIn;

use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Ty};

const DIMENSIONS: [&str; 3] = ["x", "y", "z"];

impl Body<'_, '_, '_> {
    /// Loads a built-in variable.
    pub(crate) fn load_builtin(&mut self, id: u32, ty: u32, built_in: BuiltIn) -> Step {
        let shape = self.cx.shapes.shape(ty)?;
        let kind = need(shape.kinds.first().copied())?;
        let mut parts = Vec::with_capacity(shape.kinds.len());
        for dimension in 0..shape.kinds.len() {
            if dimension > 2 {
                return Err(Stop::Broken("a built-in variable of more than three dimensions"));
            }
            let (from, value) = self.builtin(built_in, dimension)?;
            parts.push(self.resize(from, kind, value, false));
        }
        self.bind(id, &parts)
    }

    /// One dimension of a built-in variable.
    pub(crate) fn builtin(&mut self, built_in: BuiltIn, dimension: usize) -> Step<(Kind, Operand)> {
        let narrow = |value| Ok((Kind::I32, value));
        match built_in {
            BuiltIn::LocalInvocationId => narrow(self.special("tid", dimension)),
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => {
                narrow(self.special("ntid", dimension))
            }
            BuiltIn::WorkgroupId => {
                let (before, group) = (self.environment(dimension), self.special("ctaid", dimension));
                narrow(self.op2(Class::B32, "add.s32", Ty::S32, before, group))
            }
            BuiltIn::NumWorkgroups => narrow(self.environment(6 + dimension)),
            BuiltIn::GlobalInvocationId => Ok((Kind::I64, self.global_id(dimension))),
            BuiltIn::GlobalOffset => {
                // The offset that the driver gives has the groups before this launch in it.
                let (offset, before) = (self.environment(3 + dimension), self.environment(dimension));
                let size = self.special("ntid", dimension);
                let items = self.op2(Class::B32, "mul.lo.s32", Ty::S32, before, size);
                narrow(self.op2(Class::B32, "sub.s32", Ty::S32, offset, items))
            }
            BuiltIn::GlobalSize => {
                let (groups, size) = (self.environment(6 + dimension), self.special("ntid", dimension));
                Ok((Kind::I64, self.op2(Class::B64, "mul.wide.u32", Ty::U32, groups, size)))
            }
            BuiltIn::WorkDim => narrow(self.environment(9)),
            BuiltIn::LocalInvocationIndex => narrow(self.local_linear_id()),
            BuiltIn::GlobalLinearId => self.global_linear_id(),
            BuiltIn::SubgroupSize => narrow(self.sub_group_size()),
            BuiltIn::SubgroupMaxSize => narrow(Operand::Immediate(32)),
            BuiltIn::SubgroupLocalInvocationId => {
                let d = self.register(Class::B32);
                ptx!(self, "mov.u32 {d}, %laneid");
                narrow(d)
            }
            BuiltIn::SubgroupId => {
                let linear = self.local_linear_id();
                narrow(self.op2(Class::B32, "shr.u32", Ty::U32, linear, Operand::Immediate(5)))
            }
            BuiltIn::NumSubgroups | BuiltIn::NumEnqueuedSubgroups => {
                let items = self.group_items();
                let up = self.op2(Class::B32, "add.s32", Ty::S32, items, Operand::Immediate(31));
                narrow(self.op2(Class::B32, "shr.u32", Ty::U32, up, Operand::Immediate(5)))
            }
            BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask => {
                // A vector of four words, of which warps need one.
                if dimension > 0 {
                    return narrow(Operand::Immediate(0));
                }
                let name = match built_in {
                    BuiltIn::SubgroupEqMask => "eq",
                    BuiltIn::SubgroupGeMask => "ge",
                    BuiltIn::SubgroupGtMask => "gt",
                    BuiltIn::SubgroupLeMask => "le",
                    _ => "lt",
                };
                let d = self.register(Class::B32);
                ptx!(self, "mov.u32 {d}, %lanemask_{name}");
                narrow(d)
            }
            other => Err(Stop::unsupported(format!(
                "the built-in variable {other:?} is not one of OpenCL kernels"
            ))),
        }
    }

    fn special(&mut self, name: &str, dimension: usize) -> Operand {
        let d = self.register(Class::B32);
        let dimension = DIMENSIONS.get(dimension).copied().unwrap_or("z");
        ptx!(self, "mov.u32 {d}, %{name}.{dimension}");
        d
    }

    fn environment(&mut self, number: usize) -> Operand {
        let d = self.register(Class::B32);
        ptx!(self, "mov.b32 {d}, %envreg{number}");
        d
    }

    fn global_id(&mut self, dimension: usize) -> Operand {
        let (group, size) = (self.special("ctaid", dimension), self.special("ntid", dimension));
        let (local, offset) = (self.special("tid", dimension), self.environment(3 + dimension));
        let before = self.op2(Class::B64, "mul.wide.u32", Ty::U32, group, size);
        let local = self.widen(Kind::I32, local, false);
        let offset = self.widen(Kind::I32, offset, false);
        let id = self.op2(Class::B64, "add.s64", Ty::S64, before, local);
        self.op2(Class::B64, "add.s64", Ty::S64, id, offset)
    }

    /// Number of work-items of the group.
    pub(crate) fn group_items(&mut self) -> Operand {
        let (x, y, z) = (self.special("ntid", 0), self.special("ntid", 1), self.special("ntid", 2));
        let xy = self.op2(Class::B32, "mul.lo.s32", Ty::S32, x, y);
        self.op2(Class::B32, "mul.lo.s32", Ty::S32, xy, z)
    }

    pub(crate) fn local_linear_id(&mut self) -> Operand {
        let (x, y, z) = (self.special("tid", 0), self.special("tid", 1), self.special("tid", 2));
        let (width, height) = (self.special("ntid", 0), self.special("ntid", 1));
        let rows = self.op3(Class::B32, "mad.lo.s32", Ty::S32, [z, height, y]);
        self.op3(Class::B32, "mad.lo.s32", Ty::S32, [rows, width, x])
    }

    fn global_linear_id(&mut self) -> Step<(Kind, Operand)> {
        let mut linear = Operand::Immediate(0);
        for dimension in (0..3).rev() {
            let (_, size) = self.builtin(BuiltIn::GlobalSize, dimension)?;
            let id = self.global_id(dimension);
            let (_, offset) = self.builtin(BuiltIn::GlobalOffset, dimension)?;
            let offset = self.widen(Kind::I32, offset, false);
            let at = self.op2(Class::B64, "sub.s64", Ty::S64, id, offset);
            linear = self.op3(Class::B64, "mad.lo.s64", Ty::S64, [linear, size, at]);
        }
        Ok((Kind::I64, linear))
    }

    /// 32, and less in the last sub-group of a work-group that is no multiple of it.
    pub(crate) fn sub_group_size(&mut self) -> Operand {
        let (items, linear) = (self.group_items(), self.local_linear_id());
        let first = self.op2(Class::B32, "and.b32", Ty::B32, linear, Operand::Immediate(0xffff_ffe0));
        let left = self.op2(Class::B32, "sub.s32", Ty::S32, items, first);
        self.op2(Class::B32, "min.u32", Ty::U32, left, Operand::Immediate(32))
    }
}
