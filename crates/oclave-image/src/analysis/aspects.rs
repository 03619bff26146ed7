//! Which optional device features functions use, and with them the kernels that call them.
//!
//! What counts is what instructions do, not the module's list of capabilities, which speaks for all
//! kernels at once:
//! - fp64: any type with a 64-bit float, pointers to it included, for the module must declare it to
//!   name it;
//! - fp16: arithmetic with halves. Halves that are only stored, loaded (`vload_half`) and copied are core
//!   OpenCL;
//! - atomic64: atomics on 64 bits; atomic_float: floating-point atomic addition and min/max;
//! - images: by the types of images and samplers, read-write and 3-D writing by access qualifier
//!   and dimension;
//! - sub-groups and work-group collectives: by the scope of the group instruction; barriers and
//!   async copies are core;
//! - program-scope variables: a variable in global memory that is neither constant nor a device
//!   global, which devices without such variables get by another way. Constant ones work
//!   everywhere: nothing has to persist.

use std::collections::{BTreeMap, BTreeSet};

use crate::Aspects;
use oclave_spirv::analysis::halves::Halves;
use oclave_spirv::analysis::references::References;
use oclave_spirv::{
    BuiltIn, Decoration, Definitions, ExecutionMode, Instruction, Op, SCOPE_WORKGROUP, StorageClass,
    TypeTable, is_sub_group_builtin, is_sub_group_op, is_within,
};

const SCOPE_SUBGROUP: u64 = 3;
const IMAGE_DIM_3D: u32 = 2;
const IMAGE_READ_ONLY: u32 = 0;
const IMAGE_READ_WRITE: u32 = 2;

/// The aspects of the functions of a module.
#[derive(Debug)]
pub(crate) struct FunctionAspects {
    /// Everything that uses an aspect directly: functions, types, variables.
    direct: BTreeMap<u32, Aspects>,
}

impl FunctionAspects {
    /// Looks through the module. Variables in `device_globals` are not program-scope variables.
    pub(crate) fn new(
        references: &References<'_>,
        types: &TypeTable<'_>,
        device_globals: &BTreeSet<u32>,
    ) -> Self {
        let definitions = references.definitions();
        let mut look = Look {
            definitions,
            types,
            halves: Halves::new(definitions, types),
            special: Special::new(definitions),
            direct: BTreeMap::new(),
        };
        look.special.constant.extend(device_globals);
        let mut function = None;
        for instruction in definitions.module().instructions() {
            if instruction.is(Op::Function) {
                function = instruction.result_id();
            }
            match function {
                Some(function) => look.in_function(function, &instruction),
                None => look.at_module_scope(&instruction),
            }
            if instruction.is(Op::FunctionEnd) {
                function = None;
            }
        }
        Self { direct: look.direct }
    }

    /// What all of `ids` together use.
    pub(crate) fn of<'i>(&self, ids: impl IntoIterator<Item = &'i u32>) -> Aspects {
        ids.into_iter().filter_map(|id| self.direct.get(id)).fold(Aspects::empty(), |all, &one| all | one)
    }
}

/// Decorations that matter here.
#[derive(Debug, Default)]
struct Special {
    /// Variables that are not written, and those that are not to be counted.
    constant: BTreeSet<u32>,
    /// Built-in variables that only sub-groups have.
    sub_group: BTreeSet<u32>,
}

impl Special {
    fn new(definitions: &Definitions<'_>) -> Self {
        let mut special = Self::default();
        for instruction in definitions.module().global_instructions() {
            let (true, &[id, decoration, ref literals @ ..]) =
                (instruction.is(Op::Decorate), instruction.operands())
            else {
                continue;
            };
            if decoration == Decoration::Constant as u32 {
                special.constant.insert(id);
            } else if decoration == Decoration::BuiltIn as u32
                && literals.first().and_then(|&b| BuiltIn::from_u32(b)).is_some_and(is_sub_group_builtin)
            {
                special.sub_group.insert(id);
            }
        }
        special
    }
}

struct Look<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    halves: Halves<'a, 'm>,
    special: Special,
    direct: BTreeMap<u32, Aspects>,
}

impl Look<'_, '_> {
    fn add(&mut self, id: u32, aspects: Aspects) {
        if !aspects.is_empty() {
            *self.direct.entry(id).or_default() |= aspects;
        }
    }

    fn at_module_scope(&mut self, instruction: &Instruction<'_>) {
        let aspects = match (instruction.op(), instruction.operands()) {
            (Some(Op::ExecutionMode), &[function, mode, ..]) => {
                if mode == ExecutionMode::SubgroupSize as u32
                    || mode == ExecutionMode::SubgroupsPerWorkgroup as u32
                {
                    self.add(function, Aspects::SUB_GROUPS);
                }
                return;
            }
            (Some(Op::TypeFloat), &[64, ..]) => Aspects::FP64,
            (Some(Op::TypePointer), &[class, ..]) if class == StorageClass::Generic as u32 => {
                Aspects::GENERIC_POINTER
            }
            (Some(Op::TypeImage), operands) => image_aspects(operands),
            (Some(Op::TypeSampler | Op::TypeSampledImage), _) => Aspects::IMAGE,
            (Some(Op::TypePipe | Op::TypePipeStorage), _) => Aspects::PIPES,
            (Some(Op::TypeQueue | Op::TypeDeviceEvent), _) => Aspects::DEVICE_ENQUEUE,
            (Some(Op::ConstantFunctionPointerINTEL), _) => Aspects::FUNCTION_POINTERS,
            (Some(Op::Variable), operands) => self.variable_aspects(instruction, operands),
            _ => self.half_arithmetic(instruction),
        };
        if let Some(id) = instruction.result_id() {
            self.add(id, aspects);
        }
    }

    fn variable_aspects(&self, instruction: &Instruction<'_>, operands: &[u32]) -> Aspects {
        let Some(id) = instruction.result_id() else { return Aspects::empty() };
        if self.special.sub_group.contains(&id) {
            Aspects::SUB_GROUPS
        } else if operands.first() == Some(&(StorageClass::CrossWorkgroup as u32))
            && !self.special.constant.contains(&id)
        {
            Aspects::PROGRAM_SCOPE_VARIABLES
        } else {
            Aspects::empty()
        }
    }

    fn in_function(&mut self, function: u32, instruction: &Instruction<'_>) {
        let aspects = self.instruction_aspects(instruction) | self.half_arithmetic(instruction);
        self.add(function, aspects);
    }

    fn instruction_aspects(&self, instruction: &Instruction<'_>) -> Aspects {
        let Some(op) = instruction.op() else { return Aspects::empty() };
        match op {
            Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT => Aspects::ATOMIC_FLOAT,
            Op::AtomicStore => {
                self.atomic(instruction.operand(3).and_then(|id| self.definitions.type_of(id)))
            }
            _ if is_within(op, Op::AtomicLoad, Op::AtomicXor) => self.atomic(instruction.result_type()),
            Op::ControlBarrier => {
                match instruction.operand(0).and_then(|id| self.definitions.int_constant(id)) {
                    Some(SCOPE_SUBGROUP) => Aspects::SUB_GROUPS,
                    _ => Aspects::empty(),
                }
            }
            Op::NamedBarrierInitialize | Op::MemoryNamedBarrier => Aspects::SUB_GROUPS,
            _ if is_within(op, Op::GroupAll, Op::GroupSMax) => self.group(instruction),
            Op::GroupIMulKHR
            | Op::GroupFMulKHR
            | Op::GroupBitwiseAndKHR
            | Op::GroupBitwiseOrKHR
            | Op::GroupBitwiseXorKHR
            | Op::GroupLogicalAndKHR
            | Op::GroupLogicalOrKHR
            | Op::GroupLogicalXorKHR => self.group(instruction),
            _ if is_within(op, Op::ReadPipe, Op::GroupCommitWritePipe) => Aspects::PIPES,
            _ if is_within(op, Op::EnqueueMarker, Op::BuildNDRange) => Aspects::DEVICE_ENQUEUE,
            Op::GetKernelLocalSizeForSubgroupCount | Op::GetKernelMaxNumSubgroups => {
                Aspects::DEVICE_ENQUEUE | Aspects::SUB_GROUPS
            }
            Op::FunctionPointerCallINTEL | Op::ConstantFunctionPointerINTEL => Aspects::FUNCTION_POINTERS,
            _ if is_sub_group_op(op) => Aspects::SUB_GROUPS,
            _ => Aspects::empty(),
        }
    }

    /// Atomics other than floating-point arithmetic: what matters is the width.
    fn atomic(&self, ty: Option<u32>) -> Aspects {
        match ty.and_then(|ty| self.types.size_bytes(ty)) {
            Some(8) => Aspects::ATOMIC64,
            _ => Aspects::empty(),
        }
    }

    /// A group instruction, whose first operand is the scope.
    fn group(&self, instruction: &Instruction<'_>) -> Aspects {
        match instruction.operand(0).and_then(|id| self.definitions.int_constant(id)) {
            Some(SCOPE_WORKGROUP) => Aspects::WORK_GROUP_COLLECTIVES,
            Some(SCOPE_SUBGROUP) => Aspects::SUB_GROUPS,
            _ => Aspects::WORK_GROUP_COLLECTIVES | Aspects::SUB_GROUPS,
        }
    }

    fn half_arithmetic(&self, instruction: &Instruction<'_>) -> Aspects {
        if self.halves.computes(instruction) { Aspects::FP16 } else { Aspects::empty() }
    }
}

fn image_aspects(operands: &[u32]) -> Aspects {
    let access = operands.get(7).copied().unwrap_or(IMAGE_READ_ONLY);
    let mut aspects = Aspects::IMAGE;
    if access != IMAGE_READ_ONLY && operands.get(1) == Some(&IMAGE_DIM_3D) {
        aspects |= Aspects::IMAGE_3D_WRITE;
    }
    if access == IMAGE_READ_WRITE {
        aspects |= Aspects::IMAGE_READ_WRITE;
    }
    aspects
}
