//! Forms of kernels that PoCL's compiler makes right loops over work-items of.
//!
//! PoCL runs the work-items of a group one after the other, from barrier to barrier, each part in a
//! loop of its own. Two of its passes go wrong (seen in 6.0 and 7.1, and read in their sources):
//!
//! - To vectorise, `ImplicitLoopBarriers` puts barriers into innermost loops whose bound is the
//!   same for a group. But work-items may come to the loop at different times. That happens inside
//!   a loop that they leave one by one, and behind `uniform || divergent`. PoCL 6.0 adds such
//!   barriers to kernels that have others. PoCL 7.1 adds them to all kernels, but not to loops
//!   whose counters begin with the id of the work-item.
//! - Barriers under conditions, and in loops with several ends, make both compute wrongly or abort
//!   ("Could not find a dominating alternative variable"). So do barriers in a loop inside another one, if
//!   the inner loop loads what ends it.
//!
//! 7.1 has another way to compile, by continuations, which is right for all of these. It takes that
//! way where an outermost loop with a barrier has several ends. So kernels that would go wrong get
//! such a loop, which is left at once.
//!
//! Both have one more fault. Where a condition leads past a barrier, PoCL tries it with the first
//! work-item alone. In groups of 1 × n, and on 7.1 of one, that work-item then runs some code
//! twice. It is the code between the last barrier and the condition, and what follows on the way
//! past. The barrier may be PoCL's own.
//!
//! So such conditions get a barrier before them. On 7.1 they also get one where the ways meet
//! (`isolate`). There, PoCL does so itself at the innermost condition, if a loop is tested at its
//! end. Where ways behind a condition meet elsewhere, loops get an end that depends on the
//! work-item, and so no barrier of PoCL's. On 7.1, two more forms of ways behind conditions and loops
//! get such an end (`divergent_exits`).
//!
//! 6.0 takes the other way only if the environment says `POCL_WORK_GROUP_METHOD=cbs`. There kernels
//! with such barriers are written with one barrier (`one_barrier.rs`). The end of a loop into which
//! PoCL would put a barrier is made to depend on the work-item. This changes no result, and PoCL
//! then leaves the loop alone. LLVM may take the loops out of a loop, and make loops of rounds that
//! change nothing (`idle_iterations`). So all ends of all such loops are made so. Both need the loops and barriers in the kernel itself, so
//! functions with them are inlined first. On 7.1, functions with loops that are called in one place are inlined: the kernel shows
//! whether a bound is the same for a group.
//!
//! The interpreter's kernels choose by a condition which barriers come next. It is the same for
//! all work-items of a group, and both versions are right there. So these kernels get neither form
//! for that condition alone. One barrier made lists of kernels with barriers 17 times slower.
//! Kernels in Rust choose likewise between a version with checks and one without. The version with
//! checks gets one barrier, and one version gets another barrier at its end.
//!
//! A group of one work-item has none of these faults, except those at barriers and conditions.

mod changes;
mod divergent_exits;
mod idle_iterations;

use std::collections::BTreeSet;

use crate::table::{POCL_CPU, POCL_CPU_7, fault};
use crate::{Fault, FaultSet};
use oclave_spirv::analysis::calls::with_callers;

use changes::Changes;
pub(crate) use changes::innermost_loops;

use crate::passes::pocl::dead_ends;
use crate::passes::pocl::one_barrier::{self, Plans};
use crate::passes::{Result, Target};
use oclave_spirv::analysis::control_flow::{Block, Flow, Loop};
use oclave_spirv::analysis::references::{is_interpreter, kernel_entry};
use oclave_spirv::analysis::uniformity::{self, Uniformity};
use oclave_spirv::transform::inline;
use oclave_spirv::{Definitions, ExecutionMode, Module, Op};

fault! {
    /// **Q13. PoCL 6.0 and 7.1 on CPUs.** PoCL adds barriers to innermost loops whose bound is the
    /// same for a group. 6.0 does so in kernels with barriers, 7.1 in all kernels. It does so even
    /// where work-items reach the loop at different times, and then runs the loop as often as the
    /// first work-item needs. [`passes`](crate::passes) write such loops in another form. Beside
    /// other barriers `POCL_WORK_GROUP_METHOD=cbs` in the environment helps, too.
    ///
    /// Such barriers behind conditions also make code run twice, for the first work-item of groups of
    /// 1 × n, and on 7.1 of one. So these conditions get barriers of ours (decision 113).
    ///
    /// `collect` of `tests/device/compilers/work_items.rs` had 864 of 1024 elements wrong on 7.1, from source and
    /// from SPIR-V. PoCL's `ImplicitLoopBarriers.cc` and `VariableUniformityAnalysis.cc` explain
    /// it. pocl#340 says what these barriers are for. pocl#2235 mends a relative, barriers that are
    /// added to conditions.
    ///
    /// **Q47. PoCL 6.0 (LLVM 18) on CPUs.** LLVM takes loops out of loops, and makes loops of rounds that
    /// leave a value as it is. So PoCL finds innermost loops that the module lacks. Barriers before conditions
    /// go wrong if work-items part behind them, and the ways meet where those of the condition do. The
    /// pass for Q13 looks at all of these on 6.0 (decision 121).
    Q13 {
        affects: [POCL_CPU],
        seen: Programs,
        symptom: "Barriers that PoCL adds to loops make the loop run as often as the first work-item needs.",
        remedy: "Such loops get another form (`barriers`).",
        upstream: ["pocl#340", "pocl#2235"],
    }
}

fault! {
    /// **Q14. PoCL 7.1 on CPUs.** Barriers under conditions go wrong in PoCL's usual method: of 168
    /// random kernels 2 were wrong and 4 aborted the process. Continuations got these six right.
    /// PoCL takes continuations for kernels in which an outermost loop with barriers has several
    /// ends (`WorkitemLoops::canHandleKernel`). So such kernels get a second end.
    ///
    /// **Q44. PoCL 6.0 and 7.1 on CPUs.** Behind a barrier, all work-items may take the branch of the
    /// first one. They do if several edges lead to where a way past the barrier leads. From source,
    /// this is wrong in both: `if (a) { do { v += 3; barrier(CLK_LOCAL_MEM_FENCE); } while (v < a); if (id > 2) out[id] = v; }
    /// if (id & 1) …`. So such kernels get the forms for Q14 and Q15 (decision 116).
    ///
    /// **Q85. PoCL 6.0 and 7.1 on CPUs.** A loop with barriers is inside another loop, and what ends it is loaded from memory
    /// in each iteration. PoCL may lose the code between two barriers, so that the loop never ends or ends early. It
    /// may also end the process. `kernels/classics/group_items.cl` has four such kernels, and none was right from source. A
    /// barrier behind the loop helped two of them. Continuations helped all. So such kernels get the forms for Q14 and Q15. In the
    /// interpreter, every kernel is inside a loop.
    Q14 {
        affects: [POCL_CPU_7],
        seen: Programs,
        symptom: "Barriers under conditions are wrong or abort the process in the usual method.",
        remedy: "A second exit of an outermost loop, for which PoCL uses continuations (`barriers`).",
        upstream: ["pocl-inner-loops.md", "pocl#1990"],
    }
}

fault! {
    /// **Q48. PoCL 7.1 on CPUs.** It adds the barriers of Q13 in all kernels. 6.0 does so only in kernels with
    /// barriers. One between a `switch` and more than two cases makes results wrong, or ends the process
    /// (decision 119).
    ///
    /// **Q49. PoCL 7.1 on CPUs.** Work-items that take different branches after such a loop all take the branch of the
    /// first one. This happens if the path around the loop leads past the branch. The pass for Q13 keeps PoCL's barrier
    /// out of such loops (decision 120). Our own barriers at nested conditions go wrong on the same paths (850/k72 of the
    /// random kernels), so these loops get none.
    Q48 {
        affects: [POCL_CPU_7],
        seen: Programs,
        symptom: "The barriers of Q13 are added in kernels without barriers, too, and go wrong between a switch and its cases.",
        remedy: "As for Q13, in all kernels (`barriers`).",
        upstream: [],
    }
}

/// Where the device's compiler adds barriers of its own to loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImplicitBarriers {
    /// Nowhere.
    None,
    /// In kernels that have barriers.
    BesideOthers,
    /// In all kernels.
    Everywhere,
}

impl ImplicitBarriers {
    fn of(faults: FaultSet) -> Self {
        match (faults.has(Fault::Q13), faults.has(Fault::Q48)) {
            (false, _) => Self::None,
            (true, false) => Self::BesideOthers,
            (true, true) => Self::Everywhere,
        }
    }
}

/// The result of [`Passes::legalize_barriers`](crate::passes::Passes::legalize_barriers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegalBarriers {
    /// The module.
    pub module: Module,
    /// Kernels that the device's compiler may still get wrong, by name: those whose barriers should
    /// have become one and could not.
    pub refused_kernels: Vec<String>,
}

/// The module with loops and barriers in a form that the device's compiler makes right code of.
///
/// # Errors
/// As [`Editor::finish`](oclave_spirv::Editor::finish).
pub(crate) fn legalize_barriers(module: Module, target: &Target) -> Result<LegalBarriers> {
    let mut refused_kernels = Vec::new();
    let mut module = dead_ends::cut(module)?;
    let has_fault = target.faults.has(Fault::Q14) || target.faults.has(Fault::Q15);
    if has_fault && may_have_versions(&module) {
        // The kernel itself can then stay as it is.
        module = with_one_barrier(module, target, |uniformity, flows| {
            flows
                .iter()
                .filter_map(|flow| Versions::of(uniformity, flow))
                .flat_map(|of| of.functions)
                .collect()
        })?;
    }
    let Choosing { kernels: choosing, ends } = Choosing::new(&module);
    if !ends.is_empty() {
        let definitions = Definitions::new(&module);
        let changed = Changes::with_barriers_before_ends(ends).apply(&definitions, target)?;
        module = changed.unwrap_or(module);
    }
    if target.faults.has(Fault::Q15) || !choosing.is_empty() {
        module = inline::into_kernels_with_barriers(module)?;
    }
    if target.faults.has(Fault::Q15) {
        module = with_one_barrier(module, target, |uniformity, _| uniformity.kernels() - &choosing)?;
        refused_kernels = tangled_kernels(&module, &choosing);
    }
    if target.faults.has(Fault::Q48) {
        module = inline::loops_called_once(module)?;
    }
    let changed = {
        let definitions = Definitions::new(&module);
        let flows = Flow::of_functions(&definitions);
        let uniformity = Uniformity::new(&definitions, &flows);
        let changes = Changes::new(&definitions, &uniformity, &flows, &choosing, target);
        if changes.is_empty() { None } else { changes.apply(&definitions, target)? }
    };
    Ok(LegalBarriers { module: changed.unwrap_or(module), refused_kernels })
}

/// Kernels that choose by a condition which of several functions they call, if these have no barriers under conditions
/// and in loops with several ends.
struct Choosing {
    /// The interpreter's, and those with two versions.
    kernels: BTreeSet<u32>,
    /// Labels of the blocks that get a barrier at their end: one of the two that call versions. Without it, LLVM puts
    /// a store with which both versions end into one block. PoCL then copies that block, and branches behind the last
    /// barrier of a version as the first work-item does. With two, LLVM would put the barriers into one block, too.
    ends: BTreeSet<u32>,
}

impl Choosing {
    fn new(module: &Module) -> Self {
        let mut choosing = Self { kernels: interpreters(module), ends: BTreeSet::new() };
        if choosing.kernels.is_empty() && !may_have_versions(module) {
            return choosing;
        }
        let definitions = Definitions::new(module);
        let flows = Flow::of_functions(&definitions);
        let uniformity = Uniformity::new(&definitions, &flows);
        if !choosing.kernels.is_empty() {
            let mut called = flows.iter().filter(|flow| !choosing.kernels.contains(&flow.function));
            // The interpreter has a loop around what it calls.
            let is_tangled = |flow| is_tangled(&uniformity, flow) || loses_code(&uniformity, flow, |_| true);
            if called.any(is_tangled) {
                choosing.kernels.clear();
            }
        }
        let tangled = tangled_functions(&uniformity, &flows);
        for flow in &flows {
            let Some(versions) = Versions::of(&uniformity, flow) else { continue };
            if versions.functions.is_disjoint(&tangled) {
                choosing.kernels.insert(flow.function);
                choosing.ends.insert(versions.last);
            }
        }
        choosing
    }
}

/// A kernel that does nothing but call one of two functions, by a condition that is the same for all work-items of a group.
struct Versions {
    functions: BTreeSet<u32>,
    /// The label of the block that calls the second.
    last: u32,
}

impl Versions {
    fn of(uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) -> Option<Self> {
        let [first, a, b, join] = flow.blocks.as_slice() else { return None };
        let does_nothing = |block: &Block<'_>| !block.barrier && block.calls.is_empty();
        let call = |block: &Block<'_>| match (block.calls.as_slice(), block.successors.as_slice()) {
            ([callee], [3]) if !block.barrier && uniformity.has_barriers(*callee) => Some(*callee),
            _ => None,
        };
        let functions = BTreeSet::from([call(a)?, call(b)?]);
        let chooses = does_nothing(first)
            && does_nothing(join)
            && uniformity.kernels().contains(&flow.function)
            && uniformity::condition(flow, 0).is_some_and(|value| uniformity.is_uniform(flow, vec![value]));
        chooses.then_some(Self { functions, last: b.label })
    }
}

/// Whether some function has as many blocks and calls as a kernel with two versions.
fn may_have_versions(module: &Module) -> bool {
    let (mut labels, mut calls) = (0, 0);
    module.instructions().any(|instruction| {
        match instruction.op() {
            Some(Op::Function) => (labels, calls) = (0, 0),
            Some(Op::Label) => labels += 1,
            Some(Op::FunctionCall) => calls += 1,
            _ => {}
        }
        instruction.is(Op::FunctionEnd) && (labels, calls) == (4, 2)
    })
}

/// The interpreter's kernels.
pub(crate) fn interpreters(module: &Module) -> BTreeSet<u32> {
    let entries = module.instructions().filter_map(|i| kernel_entry(&i));
    entries.filter(|entry| is_interpreter(&entry.name)).map(|entry| entry.function).collect()
}

/// Kernels whose groups have one work-item.
fn single_kernels(module: &Module) -> BTreeSet<u32> {
    let before = module.global_instructions();
    let sizes = before.filter(|i| i.is(Op::ExecutionMode));
    sizes
        .filter_map(|i| match *i.operands() {
            [kernel, mode, 1, 1, 1] if mode == ExecutionMode::LocalSize as u32 => Some(kernel),
            _ => None,
        })
        .collect()
}

/// The module with one barrier in those of the functions that `choose` gives whose barriers are under
/// conditions or in loops with several ends.
fn with_one_barrier(
    module: Module,
    target: &Target,
    choose: impl Fn(&Uniformity<'_, '_>, &[Flow<'_>]) -> BTreeSet<u32>,
) -> Result<Module> {
    let run = |module: &Module,
               change: &dyn Fn(&Definitions<'_>, &Plans<'_, '_>) -> Result<Option<Module>>| {
        let definitions = Definitions::new(module);
        let flows = Flow::of_functions(&definitions);
        let uniformity = Uniformity::new(&definitions, &flows);
        let functions = choose(&uniformity, &flows);
        let plans = one_barrier::candidates(&definitions, &uniformity, &flows, &functions);
        if plans.is_empty() { Ok(None) } else { change(&definitions, &plans) }
    };
    let parted = match target.faults.has(Fault::Q15) {
        true => run(&module, &one_barrier::part_group_functions)?,
        // PoCL 7.1 is right without, and ends the process with more barriers.
        false => None,
    };
    let module = parted.unwrap_or(module);
    let changed =
        run(&module, &|definitions, plans| one_barrier::gather(definitions, plans, target.address_bits))?;
    Ok(changed.unwrap_or(module))
}

/// Kernels with barriers under conditions or in loops with several ends, by name.
pub fn kernels_with_tangled_barriers(module: &Module) -> Vec<String> {
    tangled_kernels(module, &BTreeSet::new())
}

/// As [`kernels_with_tangled_barriers`], without those that only choose.
fn tangled_kernels(module: &Module, choosing: &BTreeSet<u32>) -> Vec<String> {
    let definitions = Definitions::new(module);
    let flows = Flow::of_functions(&definitions);
    let tangled = &tangled_functions(&Uniformity::new(&definitions, &flows), &flows) - choosing;
    let entries = module.instructions().filter_map(|i| kernel_entry(&i));
    entries.filter(|entry| tangled.contains(&entry.function)).map(|entry| entry.name).collect()
}

/// Whether a function has such barriers, or work-items part behind one in a way that goes wrong.
pub(super) fn is_tangled(uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) -> bool {
    uniformity.has_tangled_barriers(flow)
        || divergent_exits::parts_behind_source(uniformity, flow)
        || loses_code(uniformity, flow, |of| flow.loops_around(of.header).nth(1).is_some())
}

/// Whether one of the loops that are meant has barriers, and loads what ends it (Q85).
fn loses_code(uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>, is_meant: impl Fn(&Loop) -> bool) -> bool {
    let is_lossy = |of: &Loop| uniformity.has_barrier(flow, of) && uniformity.is_ended_by_memory(flow, of);
    flow.loops.iter().any(|of| is_meant(of) && is_lossy(of))
}

/// Functions with such barriers, and those that call them.
fn tangled_functions(uniformity: &Uniformity<'_, '_>, flows: &[Flow<'_>]) -> BTreeSet<u32> {
    with_callers(flows, |flow| is_tangled(uniformity, flow))
}
