//! Which file translates which instruction.

use oclave_spirv::{Instruction, Op};

use super::Body;
use crate::error::{Step, Stop, need};

impl<'m> Body<'_, '_, 'm> {
    /// Translates an instruction that does not end a block.
    pub(crate) fn translate(&mut self, instruction: &Instruction<'m>) -> Step {
        use Op as O;
        let Some(op) = instruction.op() else {
            return Err(Stop::unsupported("an instruction of an extension that is not known"));
        };
        match op {
            O::Nop
            | O::Line
            | O::NoLine
            | O::LoopMerge
            | O::SelectionMerge
            | O::LifetimeStart
            | O::LifetimeStop
            | O::AssumeTrueKHR => Ok(()),
            O::Undef | O::CopyObject | O::ExpectKHR | O::CopyLogical => self.rename(instruction),
            O::Variable => self.variable(instruction),
            O::Load => self.load(instruction),
            O::Store => self.store(instruction),
            O::CopyMemory | O::CopyMemorySized => self.copy_memory(instruction),
            O::AccessChain | O::InBoundsAccessChain | O::PtrAccessChain | O::InBoundsPtrAccessChain => {
                self.access_chain(instruction)
            }
            O::PtrCastToGeneric | O::GenericCastToPtr | O::GenericCastToPtrExplicit => {
                self.cast_space(instruction)
            }
            O::GenericPtrMemSemantics => self.space_semantics(instruction),
            O::PtrDiff => self.pointer_difference(instruction),

            O::IAdd
            | O::ISub
            | O::IMul
            | O::BitwiseAnd
            | O::BitwiseOr
            | O::BitwiseXor
            | O::ShiftLeftLogical
            | O::ShiftRightLogical
            | O::ShiftRightArithmetic
            | O::LogicalAnd
            | O::LogicalOr
            | O::LogicalEqual
            | O::LogicalNotEqual => self.integer2(instruction, op),
            O::SNegate | O::Not | O::LogicalNot | O::BitReverse | O::BitCount => {
                self.integer1(instruction, op)
            }
            O::SDiv | O::UDiv | O::SRem | O::UMod | O::SMod => self.divide(instruction, op),
            O::IAddCarry | O::ISubBorrow | O::UMulExtended | O::SMulExtended => {
                self.extended_result(instruction, op)
            }
            O::BitFieldInsert | O::BitFieldSExtract | O::BitFieldUExtract => self.bit_field(instruction, op),

            O::FAdd | O::FSub | O::FMul | O::FDiv | O::FRem | O::FMod => self.float2(instruction, op),
            O::FNegate => self.float_negate(instruction),
            O::VectorTimesScalar => self.scale(instruction),
            O::Dot => self.dot(instruction),

            O::IEqual
            | O::INotEqual
            | O::UGreaterThan
            | O::SGreaterThan
            | O::UGreaterThanEqual
            | O::SGreaterThanEqual
            | O::ULessThan
            | O::SLessThan
            | O::ULessThanEqual
            | O::SLessThanEqual
            | O::PtrEqual
            | O::PtrNotEqual => self.compare_integers(instruction, op),
            O::FOrdEqual
            | O::FUnordEqual
            | O::FOrdNotEqual
            | O::FUnordNotEqual
            | O::FOrdLessThan
            | O::FUnordLessThan
            | O::FOrdGreaterThan
            | O::FUnordGreaterThan
            | O::FOrdLessThanEqual
            | O::FUnordLessThanEqual
            | O::FOrdGreaterThanEqual
            | O::FUnordGreaterThanEqual
            | O::Ordered
            | O::Unordered
            | O::LessOrGreater => self.compare_floats(instruction, op),
            O::IsNan | O::IsInf | O::IsFinite | O::IsNormal | O::SignBitSet => self.classify(instruction, op),
            O::Any | O::All => self.any_or_all(instruction, op),
            O::Select => self.select(instruction),

            O::ConvertFToU
            | O::ConvertFToS
            | O::ConvertSToF
            | O::ConvertUToF
            | O::UConvert
            | O::SConvert
            | O::FConvert
            | O::SatConvertSToU
            | O::SatConvertUToS
            | O::ConvertPtrToU
            | O::ConvertUToPtr => self.convert(instruction, op),
            O::Bitcast => self.bit_cast(instruction),

            O::CompositeConstruct
            | O::CompositeExtract
            | O::CompositeInsert
            | O::VectorShuffle
            | O::VectorExtractDynamic
            | O::VectorInsertDynamic => self.composite(instruction, op),

            O::AtomicLoad
            | O::AtomicStore
            | O::AtomicExchange
            | O::AtomicCompareExchange
            | O::AtomicCompareExchangeWeak
            | O::AtomicIIncrement
            | O::AtomicIDecrement
            | O::AtomicIAdd
            | O::AtomicISub
            | O::AtomicSMin
            | O::AtomicUMin
            | O::AtomicSMax
            | O::AtomicUMax
            | O::AtomicAnd
            | O::AtomicOr
            | O::AtomicXor
            | O::AtomicFlagTestAndSet
            | O::AtomicFlagClear
            | O::AtomicFAddEXT
            | O::AtomicFMinEXT
            | O::AtomicFMaxEXT => self.atomic(instruction, op),
            O::ControlBarrier => self.control_barrier(instruction),
            O::MemoryBarrier => self.memory_barrier(instruction),
            O::GroupAsyncCopy => self.async_copy(instruction),
            O::GroupWaitEvents => self.wait_events(instruction),

            O::SampledImage | O::Image => self.sampled_image(instruction, op),
            O::ImageSampleExplicitLod | O::ImageRead | O::ImageFetch => self.read_image(instruction, op),
            O::ImageWrite => self.write_image(instruction),
            O::ImageQuerySizeLod | O::ImageQuerySize | O::ImageQueryFormat | O::ImageQueryOrder => {
                self.query_image(instruction, op)
            }

            O::FunctionCall => self.call(instruction),
            O::ExtInst => self.extended(instruction),
            _ => match self.group_operation(instruction, op)? {
                true => Ok(()),
                false => Err(Stop::unsupported(refusal(op))),
            },
        }
    }

    /// What has the value of its operand.
    fn rename(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let parts = if instruction.is(Op::Undef) {
            let shape = self.cx.shapes.shape(ty)?;
            vec![crate::operand::Operand::Immediate(0); shape.kinds.len()]
        } else {
            let of = self.id(instruction, 0)?;
            self.value(of)?
        };
        self.bind(id, &parts)
    }

    /// Lane by lane: `write` gets the kind of the result's lane and the lanes of the operands.
    pub(crate) fn lanes<const N: usize>(
        &mut self,
        instruction: &Instruction<'m>,
        operands: [u32; N],
        mut write: impl FnMut(
            &mut Self,
            crate::operand::Kind,
            [crate::operand::Operand; N],
        ) -> Step<crate::operand::Operand>,
    ) -> Step {
        let (id, ty) = self.result(instruction)?;
        let shape = self.cx.shapes.shape(ty)?;
        let mut parts = Vec::with_capacity(shape.kinds.len());
        for (lane, kind) in shape.kinds.iter().enumerate() {
            let mut values = [crate::operand::Operand::Immediate(0); N];
            for (value, operand) in values.iter_mut().zip(operands) {
                *value = self.part(operand, lane)?;
            }
            parts.push(write(self, *kind, values)?);
        }
        self.bind(id, &parts)
    }

    /// The first `N` operand ids.
    pub(crate) fn ids<const N: usize>(&self, instruction: &Instruction<'m>, first: usize) -> Step<[u32; N]> {
        let ids = instruction.operands().get(first..first + N);
        need(ids.and_then(|ids| ids.try_into().ok()))
    }
}

/// Why an instruction has no translation.
fn refusal(op: Op) -> String {
    let name = format!("{op:?}");
    if name.contains("Image") || name.contains("Sampler") {
        "NVIDIA's driver has no images with levels of detail or several samples".to_owned()
    } else if name.contains("Pipe") {
        "pipes are not supported; use buffers and atomics".to_owned()
    } else if name.contains("Enqueue")
        || name.contains("Queue")
        || name.contains("Event")
        || name.contains("NDRange")
    {
        "kernels cannot enqueue kernels on this device".to_owned()
    } else if name.contains("FunctionPointer") {
        "calls through pointers are not supported".to_owned()
    } else {
        "this instruction has no translation to PTX".to_owned()
    }
}
