//! The interpreter module: many small launches of a module's kernels in one.
//!
//! Any launch costs 3 to 10 µs on a CPU. An interpreter module holds the kernels of a module as
//! functions. Two kernels of its own walk a list of [`TaskRecord`]s in memory and call these
//! functions. A task then costs tens of nanoseconds.
//!
//! ```text
//! kernel void __oclave_interpreter_seq(global ulong *tasks, ulong first, ulong count)                      // groups of 1
//! kernel void __oclave_interpreter_wi(global ulong *tasks, ulong first, ulong count, local uchar *local)   // groups of any size
//! ```
//! For devices with [`wide_groups`](DeviceTarget::wide_groups), `wi` has two more parameters:
//! - `ulong width`: the work-items of a team; the size of the group is a multiple of it
//! - `ulong block`: how many tasks are copied at once
//!
//! The local memory then begins with the copies, [`LocalCopy::BYTES`] for each task of a block.
//!
//! A launch of one group runs the tasks `first` to `first + count` in order, each sees what those
//! before it wrote. A launch of `n` groups gives each group every `n`th task. Tasks must not depend
//! on each other then.
//!
//! | file | job |
//! |---|---|
//! | `survey.rs`, `modes.rs`, `cost.rs` | what functions and kernels do, which kernels can be in the module, what they cost |
//! | `arguments.rs` | how an argument block holds parameters |
//! | `functions.rs` | kernels and what they call become functions, with built-ins as parameters |
//! | `own_tasks.rs` | copies and fills |
//! | `box_kernels.rs` | the same as kernels of a module of their own |
//! | `fold_kernels.rs` | reductions and scans, in the same way |
//! | `kernels.rs`, `emit.rs` | the two kernels |
//! | `levels.rs` | the second one for GPUs |
//! | `flow.rs` | a third one, with jumps, in modules for loops |
//! | `join.rs` | kernels of several images in one, before all this |
//! | `layout.rs` | what the host must know |
//!
//! # What cannot be interpreted
//! A kernel with one of these is left out, with the reason in [`InterpreterLayout::excluded`]:
//! - sub-groups, work-group collectives, images, samplers, pipes, device queues;
//! - functions that are not in the module;
//! - program-scope variables that are not constant, because the interpreter module would have its
//!   own;
//! - floating-point modes that most kernels of the module do not have;
//! - loops with several entries, on which drivers crash;
//! - barrier loops with several exits, on devices that run work-items side by side. Drivers
//!   miscompile them.

mod arguments;
mod box_kernels;
mod builtins;
mod cost;
mod emit;
mod flow;
mod fold_kernels;
mod functions;
mod index_space;
mod join;
mod kernels;
mod layout;
mod levels;
mod modes;
mod own_tasks;
mod survey;

use std::collections::BTreeSet;

pub use box_kernels::{BoxLaunch, box_kernels};
pub use flow::{FlowEnd, FlowOp, FlowTask, FlowValue};
pub use fold_kernels::{FOLD_GROUP, Fold, FoldKernel, fold_kernels};
pub use join::{JoinPart, join_images, joined_name};
pub use layout::{
    ExcludedKernel, InterpreterArgument, InterpreterArgumentKind, InterpreterCost, InterpreterKernel,
    InterpreterLayout, InterpreterUnit, LocalCopy, TaskRecord,
};
pub use oclave_spirv::analysis::references::{INTERPRETER_FLOW, INTERPRETER_SEQ, INTERPRETER_WI};
pub use own_tasks::{ByteBox, OwnTask};

use self::kernels::{Case, Mode};
use self::survey::{Kernel, Survey};
use crate::{DeviceTarget, ImageError, Result};
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::transform::inline;
use oclave_spirv::{AddressingModel, Capability, Definitions, Editor, ExecutionMode, Module, Op, TypeTable};

/// Kernels of more steps are not written several times.
const PARTED_STEPS: u32 = 200;

/// Kernels of more steps run one work-item after the other: several at once need too many registers.
const ABREAST_STEPS: u32 = 32;

/// Functions of more words stay functions. A call costs a GPU as much as ten to fifty instructions.
const MOST_INLINED_WORDS: usize = 1 << 14;

/// What [`interpreter_module`] makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterpreterModule {
    /// The module with the two kernels.
    pub module: Module,
    /// What it holds.
    pub layout: InterpreterLayout,
}

/// Makes the interpreter module of a whole module that passes [`check`](oclave_spirv::check::check).
///
/// Device globals must be in the hidden argument
/// ([`lower_globals_to_hidden_argument`](crate::lowering::hidden_argument::lower_globals_to_hidden_argument)):
/// variables of an interpreter module would not be those of the program. All local memory of all
/// kernels in the module adds up; kernels that no longer fit into `local_memory_bytes` are left
/// out. Of the device, how it runs work-items matters ([`DeviceTarget::serial_work_items`]).
///
/// A module of which no kernel can be interpreted still gives a layout, with the reasons.
///
/// # Errors
/// [`ImageError::Unsupported`] for addresses of 32 bits; [`ImageError::Spirv`] for modules that are
/// not sound.
pub fn interpreter_module(
    module: &Module,
    target: &DeviceTarget,
    local_memory_bytes: u64,
) -> Result<InterpreterModule> {
    make(module, target, local_memory_bytes, false)
}

/// The same with a third kernel, which walks lists with loops and conditions: [`FlowTask`].
///
/// # Errors
/// As there.
pub fn flow_module(
    module: &Module,
    target: &DeviceTarget,
    local_memory_bytes: u64,
) -> Result<InterpreterModule> {
    make(module, target, local_memory_bytes, true)
}

fn make(
    module: &Module,
    target: &DeviceTarget,
    local_memory_bytes: u64,
    has_flow: bool,
) -> Result<InterpreterModule> {
    refuse_narrow_addresses(module)?;
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let all = Survey::new(&definitions, &types).kernels(&types);
    let (included, excluded) = choose(all, target, local_memory_bytes);
    let names: BTreeSet<&str> = included.iter().map(|kernel| kernel.name.as_str()).collect();
    let reduced =
        dce::eliminate(module, |root| matches!(root, Root::EntryPoint(name) if names.contains(name)))?;
    let wi = match target {
        DeviceTarget { wide_groups: true, .. } => Mode::Levels,
        DeviceTarget { serial_work_items: true, .. } => Mode::WiInTurn,
        _ => Mode::Wi,
    };
    let (mut made, abreast) =
        write(&reduced, excluded, modes::contraction_off(module), (wi, has_flow), target.says_uniform)?;
    if target.wide_groups {
        made.module = inline::into_kernels(made.module, MOST_INLINED_WORDS, abreast)?;
    }
    Ok(made)
}

fn refuse_narrow_addresses(module: &Module) -> Result<()> {
    let model = module.global_instructions().find(|i| i.is(Op::MemoryModel));
    match model.and_then(|i| i.operand(0)) {
        Some(model) if model == AddressingModel::Physical64 as u32 => Ok(()),
        _ => Err(ImageError::Unsupported("the interpreter needs addresses of 64 bits".to_owned())),
    }
}

/// The most private memory of a kernel. Where all kernels are one, drivers may keep the variables of
/// each for all work-items of a group, and overflow their stacks.
const MOST_PRIVATE_BYTES: u64 = 8192;

/// The kernels that can be in the module, and the others with the reason.
fn choose(
    all: Vec<Kernel>,
    target: &DeviceTarget,
    local_memory_bytes: u64,
) -> (Vec<Kernel>, Vec<ExcludedKernel>) {
    let usable = all.iter().filter(|kernel| kernel.parameters.is_ok());
    let modes = modes::most_common(usable.map(|kernel| &kernel.float_modes));
    let mut local = 0_u64;
    let (mut included, mut excluded) = (Vec::new(), Vec::new());
    for kernel in all {
        let needed = local.saturating_add(kernel.static_local_bytes);
        let reason = match &kernel.parameters {
            Err(reason) => reason.clone(),
            Ok(_) if kernel.float_modes != modes => {
                "it has other floating-point modes than most kernels of its module".to_owned()
            }
            // Intel's compiler has work-items leave such loops at different times, if it cannot see
            // that they all leave together.
            Ok(_) if kernel.leaves_barriers && !target.serial_work_items => {
                "it leaves a loop with barriers in several places".to_owned()
            }
            Ok(_) if kernel.private_bytes > MOST_PRIVATE_BYTES => {
                format!("its private variables have {} bytes", kernel.private_bytes)
            }
            Ok(_) if needed > local_memory_bytes => {
                format!(
                    "the module's kernels together have more than {local_memory_bytes} bytes of local memory"
                )
            }
            Ok(_) => {
                local = needed;
                included.push(kernel);
                continue;
            }
        };
        excluded.push(ExcludedKernel { name: kernel.name, reason });
    }
    (included, excluded)
}

/// Writes the module of kernels that can all be in it.
fn write(
    module: &Module,
    excluded: Vec<ExcludedKernel>,
    contraction_off: bool,
    (wi, has_flow): (Mode, bool),
    says_uniform: bool,
) -> Result<(InterpreterModule, BTreeSet<u32>)> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let survey = Survey::new(&definitions, &types);
    let mut layout = InterpreterLayout { excluded, ..InterpreterLayout::default() };
    let mut cases = Vec::new();
    let mut modes = modes::FloatModes::default();
    for kernel in survey.kernels(&types) {
        let unknown =
            || ImageError::Unsupported(format!("kernel `{}`: its function is missing", kernel.name));
        let facts = survey.functions.get(&kernel.function).ok_or_else(unknown)?;
        let needs = facts.needs;
        let (parameters, block) = kernel
            .parameters
            .map_err(|reason| ImageError::Unsupported(format!("kernel `{}`: {reason}", kernel.name)))?;
        let unit = if kernel.needs_groups || needs.asks_for_group() {
            InterpreterUnit::Groups
        } else {
            InterpreterUnit::Items
        };
        let (block_bytes, block_align) = block.finish();
        layout.by_name.insert(kernel.name.clone(), cases.len() as u32);
        let is_straight = kernel.cost.steps <= ABREAST_STEPS && facts.blocks == 1;
        layout.kernels.push(InterpreterKernel {
            name: kernel.name,
            arguments: parameters.iter().map(|parameter| parameter.argument).collect(),
            block_bytes,
            block_align,
            unit,
            needs_groups: kernel.needs_groups,
            static_local_bytes: kernel.static_local_bytes,
            private_bytes: kernel.private_bytes,
            is_straight,
            cost: kernel.cost,
        });
        modes = kernel.float_modes;
        let (function, needs_groups) = (kernel.function, kernel.needs_groups);
        let in_parts = needs.compares_ends() && !kernel.cost.has_loops && kernel.cost.steps <= PARTED_STEPS;
        let is_small = kernel.cost.steps <= PARTED_STEPS;
        cases.push(Case {
            function,
            parameters,
            needs,
            unit,
            needs_groups,
            in_parts,
            is_small,
            is_straight,
            is_own: false,
        });
    }
    layout.own_tasks = cases.len() as u32;

    let mut new = Editor::new(&definitions);
    functions::rewrite(&mut new, &types, &survey)?;
    for (case, kernel) in own_tasks::add(&mut new) {
        cases.push(case);
        layout.kernels.push(kernel);
    }
    layout.flow_tasks = has_flow.then_some(cases.len() as u32);
    new.capability(Capability::Kernel);
    new.capability(Capability::Addresses);
    if says_uniform {
        new.capability(Capability::UniformDecoration);
    }
    if contraction_off {
        modes.push(vec![ExecutionMode::ContractionOff as u32]);
    }
    let inputs = kernels::inputs(&mut new);
    let mut abreast = BTreeSet::new();
    let flow = if wi == Mode::Levels { Mode::FlowInGroup } else { Mode::Flow };
    let flow = has_flow.then_some((INTERPRETER_FLOW, flow));
    for kernel in [(INTERPRETER_SEQ, Mode::Seq), (INTERPRETER_WI, wi)].into_iter().chain(flow) {
        abreast.extend(kernels::add(&mut new, kernel, inputs, &cases, &modes, says_uniform));
    }
    let module = new.finish()?.unwrap_or_else(|| module.clone());
    Ok((InterpreterModule { module, layout }, abreast))
}
