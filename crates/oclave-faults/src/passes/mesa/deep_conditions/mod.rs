//! Functions whose conditions nest deeper than a compiler follows.
//!
//! llvmpipe keeps 80 conditions that are one inside the other. It forgets what goes beyond that: the
//! code runs for work-items that should not run it. So a function with deep conditions becomes a loop
//! around a `switch`. Blocks at which the conditions are deep are cut off, and the `switch` leads to
//! them:
//!
//! ```text
//! entry: goto head
//! head:  state = phi(0 from entry, 1 from …, …); switch (state) { 0: the function; 1: a block; … }
//! ```
//!
//! What led to such a block leads to `head`. So does what led to the header of a loop around it: else
//! `head` would lead into the middle of the loop. Values that are needed behind such a way live in
//! private variables.
//!
//! Functions with barriers or operations of groups stay as they are. Work-items would come to them in
//! different rounds. If their conditions are too deep, the kernel is refused.

mod writer;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::Fault;
use crate::passes::mesa::nesting::{Nesting, by_unrolling, labels, own};
use crate::passes::mesa::wide_switches;
use crate::passes::pieces::Pieces;
use crate::passes::{Error, Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Tree};
use oclave_spirv::{Definitions, Editor, Module, Op};
use writer::Writer;

fault! {
    /// **Q42. Mesa's rusticl 25.0.7 and 26.1.6 on llvmpipe.** llvmpipe keeps 80 conditions that are one
    /// inside the other (`LP_MAX_TGSI_NESTING`), and forgets what goes beyond that. Results are wrong,
    /// without an error. From source, `switch (id)` with 79 cases was right, and with 80 cases from
    /// case 79 on wrong. So were 80 of `else if`, and 80 of `if (…) return`. 80 loops were right, and
    /// 81 were not. In a loop with several exits, each iteration that Mesa unrolls counts, up to 32. So
    /// switches are searched by halves (`wide_switches`). Functions with deep
    /// conditions become loops around switches, or the kernel is refused.
    Q42 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "More than 80 nested conditions are forgotten, and results are wrong.",
        remedy: "Switches are searched by halves; functions with deep conditions become loops (`deep_conditions`, `wide_switches`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q42, "deep_conditions", |on| bound(on.analyses, on.image.name));

/// The conditions that may be one inside the other.
const MOST: usize = 79;
/// The loops that may be.
const MOST_LOOPS: usize = 80;
/// Functions with more are rewritten. There is a distance to `MOST`, as compilers may add some.
const ENOUGH: usize = 60;
/// The conditions between two cuts.
const BETWEEN: usize = 10;

/// The module with such functions as loops, and with searches for wide switches; `None` where it stays
/// as it is.
///
/// # Errors
/// [`Error::Kernel`] where conditions or loops of a kernel are too deep all the same; as
/// [`Editor::finish`].
pub(crate) fn bound(analyses: &Analyses<'_>, image: &str) -> Result<Option<Module>> {
    let halved = wide_switches::halve(analyses)?;
    let cut = match &halved {
        Some(halved) => cut(&Analyses::new(halved), image)?,
        None => cut(analyses, image)?,
    };
    let Some(cut) = cut else { return Ok(halved) };
    // The functions are switches now.
    let new = wide_switches::halve(&Analyses::new(&cut))?.unwrap_or(cut);
    let analyses = Analyses::new(&new);
    refuse(&analyses, &Facts::new(analyses.definitions(), analyses.flows()), image)?;
    Ok(Some(new))
}

/// The module with its deep functions as loops; `None` where there are none.
fn cut(analyses: &Analyses<'_>, image: &str) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let facts = Facts::new(definitions, analyses.flows());
    let deep = facts.total.iter().filter(|(_, total)| **total > ENOUGH);
    let mut deep: Vec<u32> = deep.map(|(function, _)| *function).collect();
    if !deep.is_empty() {
        let together = together(module, analyses.flows());
        deep.retain(|function| !together.contains(function));
    }
    let mut edit = Editor::new(definitions);
    let plans = deep.into_iter().filter_map(|function| Plan::new(definitions, &facts, function));
    plans.for_each(|plan| Writer::write(&mut edit, &plan));
    let new = edit.finish()?;
    if new.is_none() {
        refuse(analyses, &facts, image)?;
    }
    Ok(new)
}

/// Refuses a kernel with conditions or loops that are too deep.
fn refuse(analyses: &Analyses<'_>, facts: &Facts<'_, '_>, image: &str) -> Result<()> {
    let module = analyses.module();
    for entry in module.instructions().filter(|i| i.is(Op::EntryPoint)) {
        let of =
            |all: &BTreeMap<u32, usize>| entry.operand(1).and_then(|id| all.get(&id)).copied().unwrap_or(0);
        let (conditions, loops) = (of(&facts.total), of(&facts.loops));
        let (what, most, remedy) = if conditions > MOST {
            let stays = |kernel| together(module, analyses.flows()).contains(&kernel);
            let remedy = match entry.operand(1).is_some_and(stays) {
                true => "Take its barriers and group functions out of nested conditions, or divide it",
                false => "Divide it",
            };
            (format!("conditions nested {conditions} deep"), MOST, remedy)
        } else if loops > MOST_LOOPS {
            (format!("loops nested {loops} deep"), MOST_LOOPS, "Divide it")
        } else {
            continue;
        };
        let kernel = entry.string(2).unwrap_or_default().into_owned();
        let what = format!(
            "{what}, counted with the functions that it calls, which kernel `{kernel}` of image \"{image}\" \
             needs; results are right up to {most}. {remedy}"
        );
        return Err(Error::Kernel { kernel, what });
    }
    Ok(())
}

/// What is known of the functions of a module.
struct Facts<'f, 'm> {
    flows: HashMap<u32, &'f Flow<'m>>,
    nestings: HashMap<u32, Nesting>,
    /// The levels of conditions of each function. Compilers may inline what it calls.
    total: BTreeMap<u32, usize>,
    /// The levels of loops.
    loops: BTreeMap<u32, usize>,
}

impl<'f, 'm> Facts<'f, 'm> {
    fn new(definitions: &Definitions<'m>, flows: &'f [Flow<'m>]) -> Self {
        let mut facts = Self {
            flows: flows.iter().map(|flow| (flow.function, flow)).collect(),
            nestings: flows.iter().map(|flow| (flow.function, Nesting::of(definitions, flow))).collect(),
            total: BTreeMap::new(),
            loops: BTreeMap::new(),
        };
        for flow in flows {
            facts.sum_up(definitions, flow.function);
        }
        facts
    }

    /// Sums up a function, and first those that it calls. What calls itself counts as nothing there.
    fn sum_up(&mut self, definitions: &Definitions<'m>, function: u32) {
        let (mut open, mut begun) = (vec![function], BTreeSet::new());
        while let Some(id) = open.last().copied() {
            let Some(flow) = self.flows.get(&id).copied().filter(|_| !self.total.contains_key(&id)) else {
                open.pop();
                continue;
            };
            let callees = flow.blocks.iter().flat_map(|block| &block.calls).copied();
            if begun.insert(id) {
                open.extend(callees.filter(|callee| !begun.contains(callee)));
                continue;
            }
            let nesting =
                self.nestings.get(&id).map(|nesting| nesting.conditions.as_slice()).unwrap_or_default();
            let unrolled = by_unrolling(definitions, flow);
            let around =
                |at: usize| nesting.get(at).copied().unwrap_or(0) + unrolled.get(at).copied().unwrap_or(0);
            let conditions = (0..flow.blocks.len()).map(|at| around(at) + self.with_calls(flow, at)).max();
            let loops = flow.blocks.iter().enumerate().map(|(at, block)| {
                let inside = block.calls.iter().filter_map(|callee| self.loops.get(callee)).max();
                flow.loops_around(at).count() + inside.copied().unwrap_or(0)
            });
            let loops = loops.max().unwrap_or(0);
            self.total.insert(id, conditions.unwrap_or(0));
            self.loops.insert(id, loops);
            open.pop();
        }
    }

    /// The conditions of a block and of what it calls.
    fn with_calls(&self, flow: &Flow<'_>, at: usize) -> usize {
        let Some(block) = flow.blocks.get(at) else { return 0 };
        let called = block.calls.iter().filter_map(|callee| self.total.get(callee)).max();
        own(block).max(called.copied().unwrap_or(0))
    }
}

/// The functions that do, or call what does, something that work-items of a group or of a sub-group
/// do together.
fn together(module: &Module, flows: &[Flow<'_>]) -> BTreeSet<u32> {
    let (mut together, mut function) = (BTreeSet::new(), 0);
    for instruction in module.instructions().skip_while(|i| !i.is(Op::Function)) {
        match instruction.op() {
            Some(Op::Function) => function = instruction.result_id().unwrap_or(0),
            Some(op) if op != Op::ControlBarrier && !format!("{op:?}").to_lowercase().contains("group") => {}
            _ => _ = together.insert(function),
        }
    }
    loop {
        let count = together.len();
        for flow in flows {
            if flow.blocks.iter().flat_map(|block| &block.calls).any(|callee| together.contains(callee)) {
                together.insert(flow.function);
            }
        }
        if together.len() == count {
            return together;
        }
    }
}

/// How a function is cut.
struct Plan<'f, 'm> {
    definitions: &'f Definitions<'m>,
    flow: &'f Flow<'m>,
    /// The blocks that `head` leads to, but for the first of the function, and their states.
    cuts: BTreeMap<usize, u32>,
    /// The blocks of the new function.
    pieces: Pieces<'f, 'm>,
}

impl<'f, 'm> Plan<'f, 'm> {
    /// `None` for a function that cannot be written so.
    fn new(definitions: &'f Definitions<'m>, facts: &Facts<'f, 'm>, function: u32) -> Option<Self> {
        let flow = *facts.flows.get(&function)?;
        if flow.irreducible {
            return None;
        }
        let cuts: BTreeMap<usize, u32> = places_to_cut(facts, flow)?.into_iter().zip(1..).collect();
        let places: BTreeMap<u32, usize> =
            flow.blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
        let head = flow.blocks.len();
        let mut successors: Vec<Vec<usize>> = Vec::new();
        for block in &flow.blocks {
            let targets = labels(definitions, block);
            let targets = targets.iter().filter_map(|label| places.get(label));
            successors.push(targets.map(|to| if cuts.contains_key(to) { head } else { *to }).collect());
        }
        successors.push(std::iter::once(0).chain(cuts.keys().copied()).collect());
        let dominators = Tree::new(&successors, head);
        let (code, entered) = (flow.code(definitions).collect(), cuts.keys().copied().collect());
        let pieces = Pieces::new(definitions, flow, code, places, entered, dominators)?;
        Some(Self { definitions, flow, cuts, pieces })
    }
}

/// The blocks at which a function is cut. A loop around one of them is cut at its header.
fn places_to_cut(facts: &Facts<'_, '_>, flow: &Flow<'_>) -> Option<BTreeSet<usize>> {
    let nesting = facts.nestings.get(&flow.function)?;
    let mut cuts = BTreeSet::new();
    let mut since = vec![0; nesting.conditions.len()];
    for at in nesting.order.iter().copied() {
        let Some(Some((parent, step))) = nesting.steps.get(at).copied() else { continue };
        let mut here = since.get(parent).copied()? + step;
        if here > 0 && here + facts.with_calls(flow, at) > BETWEEN && at < flow.blocks.len() {
            here = 0;
            cuts.insert(at);
        }
        *since.get_mut(at)? = here;
    }
    // A cut at a header makes its loop one of `head`, so loops around it have to be as well.
    while let Some(header) = flow.loops.iter().find_map(|of| {
        let is_cut = |at: &usize| *at != of.header && cuts.contains(at);
        (!cuts.contains(&of.header) && of.blocks.iter().any(is_cut)).then_some(of.header)
    }) {
        cuts.insert(header);
    }
    cuts.remove(&0);
    (!cuts.is_empty()).then_some(cuts)
}
