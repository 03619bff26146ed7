//! What the module says about its ids outside of functions: names, decorations, entry points,
//! execution modes.

use std::collections::{BTreeMap, HashMap, HashSet};

use oclave_spirv::{
    AddressingModel, BuiltIn, Decoration, ExecutionMode, ExecutionModel, FunctionParameterAttribute,
    Instruction, LinkageType, Module, Op,
};

use crate::PtxError;

/// A kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) function: u32,
    pub(crate) required_size: Option<[u32; 3]>,
    /// A hint says that groups are large.
    pub(crate) has_large_groups: bool,
    pub(crate) required_sub_group: Option<u32>,
}

/// Attributes of a parameter, and other decorations that matter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Decorations {
    pub(crate) alignment: Option<u32>,
    pub(crate) by_value: bool,
    pub(crate) no_alias: bool,
    pub(crate) no_write: bool,
    pub(crate) volatile: bool,
    /// The same for all work-items of a sub-group.
    pub(crate) uniform: bool,
    pub(crate) saturated: bool,
    pub(crate) rounding: Option<u32>,
    pub(crate) no_contraction: bool,
    pub(crate) fast_math: u32,
    pub(crate) built_in: Option<BuiltIn>,
}

/// `FPFastMathMode`: reciprocals are allowed, everything is.
pub(crate) const FAST_RECIPROCAL: u32 = 8 | 16;

/// Whether an instruction goes from a pointer to a part of what it points to.
pub(crate) fn is_access_chain(op: Option<Op>) -> bool {
    use Op::{AccessChain, InBoundsAccessChain, InBoundsPtrAccessChain, PtrAccessChain};
    matches!(op, Some(AccessChain | InBoundsAccessChain | PtrAccessChain | InBoundsPtrAccessChain))
}

/// NVIDIA's driver gives work-items so many registers that groups of more cannot run, where the PTX
/// does not say that there are more.
const UNBOUNDED_ITEMS: u32 = 256;
/// Work-items of the largest groups of all devices.
pub(crate) const MOST_ITEMS: u32 = 1024;

#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) decorations: HashMap<u32, Decorations>,
    /// Functions and variables that others may import, and imports.
    pub(crate) exports: BTreeMap<String, u32>,
    pub(crate) imports: HashMap<u32, String>,
    pub(crate) names: HashMap<u32, String>,
    /// Whether a kernel forbids that multiplications and additions are fused.
    pub(crate) contraction_off: HashSet<u32>,
    pub(crate) uses_wide_addresses: bool,
}

impl Facts {
    pub(crate) fn read(module: &Module) -> Result<Self, PtxError> {
        let mut facts = Self::default();
        for instruction in module.global_instructions() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::MemoryModel), &[addressing, ..]) => {
                    facts.uses_wide_addresses = addressing == AddressingModel::Physical64 as u32;
                }
                (Some(Op::EntryPoint), &[model, function, ..]) => {
                    if model != ExecutionModel::Kernel as u32 {
                        continue;
                    }
                    let name = instruction.string(2).unwrap_or_default().into_owned();
                    facts.kernels.push(Kernel { name, function, ..Kernel::default() });
                }
                (Some(Op::ExecutionMode), &[function, mode, ref operands @ ..]) => {
                    facts.mode(function, mode, operands);
                }
                (Some(Op::Name), &[id, ..]) => {
                    if let Some(name) = instruction.string(1) {
                        facts.names.insert(id, name.into_owned());
                    }
                }
                (Some(Op::Decorate), &[id, decoration, ref literals @ ..]) => {
                    facts.decorate(id, decoration, literals, &instruction);
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    pub(crate) fn of(&self, id: u32) -> Decorations {
        self.decorations.get(&id).copied().unwrap_or_default()
    }

    fn mode(&mut self, function: u32, mode: u32, operands: &[u32]) {
        if mode == ExecutionMode::ContractionOff as u32 {
            self.contraction_off.insert(function);
        } else if mode == ExecutionMode::SubgroupSize as u32 {
            for kernel in self.kernels.iter_mut().filter(|kernel| kernel.function == function) {
                kernel.required_sub_group = operands.first().copied();
            }
        } else if mode == ExecutionMode::LocalSizeHint as u32
            && let &[x, y, z, ..] = operands
        {
            let items = [x, y, z].into_iter().fold(1_u32, u32::saturating_mul);
            for kernel in self.kernels.iter_mut().filter(|kernel| kernel.function == function) {
                kernel.has_large_groups = items > UNBOUNDED_ITEMS;
            }
        } else if mode == ExecutionMode::LocalSize as u32
            && let &[x, y, z, ..] = operands
        {
            for kernel in self.kernels.iter_mut().filter(|kernel| kernel.function == function) {
                kernel.required_size = Some([x, y, z]);
            }
        }
    }

    fn decorate(&mut self, id: u32, decoration: u32, literals: &[u32], instruction: &Instruction<'_>) {
        let Some(decoration) = Decoration::from_u32(decoration) else { return };
        let first = literals.first().copied();
        if decoration == Decoration::LinkageAttributes {
            let name = instruction.string(2).unwrap_or_default().into_owned();
            let linkage = instruction.after_string(2).and_then(|rest| rest.first().copied());
            if linkage == Some(LinkageType::Import as u32) {
                self.imports.insert(id, name);
            } else {
                self.exports.insert(name, id);
            }
            return;
        }
        let of_id = self.decorations.entry(id).or_default();
        match decoration {
            Decoration::Alignment => of_id.alignment = first.filter(|a| a.is_power_of_two() && *a <= 4096),
            Decoration::Uniform => of_id.uniform = true,
            Decoration::Volatile => of_id.volatile = true,
            Decoration::SaturatedConversion => of_id.saturated = true,
            Decoration::FPRoundingMode => of_id.rounding = first,
            Decoration::NoContraction => of_id.no_contraction = true,
            Decoration::FPFastMathMode => of_id.fast_math = first.unwrap_or(0),
            Decoration::BuiltIn => of_id.built_in = first.and_then(BuiltIn::from_u32),
            Decoration::FuncParamAttr => match first.and_then(FunctionParameterAttribute::from_u32) {
                Some(FunctionParameterAttribute::ByVal) => of_id.by_value = true,
                Some(FunctionParameterAttribute::NoAlias) => of_id.no_alias = true,
                Some(FunctionParameterAttribute::NoWrite) => of_id.no_write = true,
                _ => {}
            },
            _ => {}
        }
    }
}
