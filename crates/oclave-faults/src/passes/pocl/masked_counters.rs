//! Addresses with counters that go round, kept from LLVM's vectoriser.
//!
//! The vectoriser takes `4 * a + (i & 3)` for an address that grows by one element a round. Then it
//! has to test before the loop that neither the sum nor `i & 3` wraps around. LLVM 21 takes the second
//! test for a part of the first, which it is not, and drops it (llvm-project#191498). The loop then
//! leaves the four elements:
//!
//! ```text
//! for (uint i = 0; i < n; i++) s += p[4 * a + (i & 3)];
//! ```
//!
//! The loop may also be PoCL's over the work-items, where the counter is an id. LLVM is right where
//! only a constant is added.
//!
//! So a zero that LLVM does not know joins what the mask leaves: `4 * a + ((i & 3) | zero)`. LLVM no
//! longer sees that it grows by one.

use std::collections::{HashMap, HashSet};

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{change_values, converted, hidden_zero};
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU_7, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{
    BuiltIn, Cursor, Definitions, Editor, Instruction, Module, Op, TypeTable, is_access_chain,
};

fault! {
    /// **Q45. PoCL 7.1 (LLVM 21) on CPUs.** LLVM's vectoriser has to test that a counter with a mask
    /// does not wrap around. It drops this test if an address adds something to the counter.
    /// `llvm-project#191498` mends it.
    /// From source, `out[id] = in[(id & 7) + 8 * (a & 3)]` reads `in[8]` for `id == 8`, and so does the
    /// same with a counter of a loop. So a zero that LLVM does not know joins such a counter
    /// (`masked_counters`, decision 118). Left as it is: code of clang's `-O0`.
    Q45 {
        affects: [POCL_CPU_7],
        seen: RandomKernels,
        symptom: "Masked counters in addresses run on.",
        remedy: "A zero that compilers do not know joins the counter (`masked_counters`).",
        upstream: ["llvm-project#191498"],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q45, "masked_counters", |on| hide(on.analyses, on.target.address_bits));

/// Counters have fewer values than this behind a mask. Conversions of ids to 32 bits mask, too.
const MOST: u64 = 1 << 31;

/// The module with these zeroes; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn hide(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let mut sums = Sums { definitions, seen: HashSet::new(), masks: HashMap::new() };
    for instruction in module.instructions().filter(|i| i.op().is_some_and(is_access_chain)) {
        instruction.operands().iter().skip(1).for_each(|index| sums.follow(*index, false));
    }
    if sums.masks.is_empty() {
        return Ok(None);
    }
    let ids: HashSet<u32> =
        module.built_ins().filter(|(_, n)| is_of_work_item(*n)).map(|(id, _)| id).collect();
    let mut counters = HashSet::new();
    for flow in analyses.flows() {
        for (block, id) in flow.code(definitions).filter_map(|(block, i)| Some((block, i.result_id()?))) {
            let masked = sums.masks.get(&id);
            if masked.is_some_and(|masked| counts(definitions, flow, &ids, block, *masked)) {
                counters.insert(id);
            }
        }
    }
    if counters.is_empty() {
        return Ok(None);
    }
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    let group = BuiltInVector::add(&mut edit, BuiltIn::WorkgroupId, address_bits);
    let begin = |at: &mut Cursor<'_, '_>| {
        let n = group.read(at, 0);
        hidden_zero(at, n, group.width)
    };
    change_values(&mut edit, &counters, begin, |at, zero, [masked, ty, result]| {
        let zero = converted(at, &types, (zero, group.width), ty);
        at.push(Op::BitwiseOr, &[ty, result, masked, zero]);
    });
    Ok(edit.finish()?)
}

/// Looks for what goes round in sums.
struct Sums<'a, 'm> {
    definitions: &'a Definitions<'m>,
    /// Values that were followed, and whether something was added to them.
    seen: HashSet<(u32, bool)>,
    /// Result of a mask → its operand.
    masks: HashMap<u32, u32>,
}

impl Sums<'_, '_> {
    /// Follows a part of an address to its masks. Those count to which a variable is added.
    fn follow(&mut self, value: u32, is_added: bool) {
        let mut open = vec![(value, is_added)];
        while let Some((value, is_added)) = open.pop() {
            let Some(instruction) = self.definitions.instruction(value) else { continue };
            if !self.seen.insert((value, is_added)) {
                continue;
            }
            if let Some(masked) = masked(self.definitions, &instruction).filter(|_| is_added) {
                self.masks.insert(value, masked);
                continue;
            }
            match (instruction.op(), instruction.operands()) {
                (Some(Op::IAdd | Op::BitwiseOr), &[a, b]) => {
                    let varies = |id| self.definitions.int_constant(id).is_none();
                    open.extend([(a, is_added || varies(b)), (b, is_added || varies(a))]);
                }
                (Some(Op::IMul), &[a, b]) => open.extend([(a, is_added), (b, is_added)]),
                (Some(Op::ShiftLeftLogical), &[of, _]) | (Some(Op::UConvert | Op::SConvert), &[of]) => {
                    open.push((of, is_added));
                }
                _ => {}
            }
        }
    }
}

/// What an instruction takes the lowest bits of.
fn masked(definitions: &Definitions<'_>, instruction: &Instruction<'_>) -> Option<u32> {
    let &[a, b] = instruction.operands() else { return None };
    let is_low =
        |id| definitions.int_constant(id).is_some_and(|mask| mask < MOST && (mask + 1).is_power_of_two());
    let is_power = |id| definitions.int_constant(id).is_some_and(|of| of <= MOST && of.is_power_of_two());
    match instruction.op()? {
        Op::BitwiseAnd if is_low(b) => Some(a),
        Op::BitwiseAnd if is_low(a) => Some(b),
        Op::UMod if is_power(b) => Some(a),
        _ => None,
    }
}

/// Whether a value of a block counts the rounds of a loop around it, or the work-items.
fn counts(
    definitions: &Definitions<'_>,
    flow: &Flow<'_>,
    ids: &HashSet<u32>,
    block: usize,
    value: u32,
) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![value]);
    while let Some(value) = open.pop() {
        let Some(instruction) = definitions.instruction(value).filter(|_| seen.insert(value)) else {
            continue;
        };
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Load), &[from, ..]) if ids.contains(&from) => return true,
            (Some(Op::Phi), _) => {
                let header = flow.phis.get(&value);
                if flow.loops_around(block).any(|of| Some(&of.header) == header) {
                    return true;
                }
            }
            (Some(Op::IAdd | Op::ISub | Op::IMul | Op::BitwiseOr | Op::BitwiseXor), operands) => {
                open.extend(operands);
            }
            (Some(Op::ShiftLeftLogical | Op::CompositeExtract), &[of, _])
            | (Some(Op::UConvert | Op::SConvert | Op::SNegate | Op::Not), &[of]) => open.push(of),
            _ => {}
        }
    }
    false
}

fn is_of_work_item(number: u32) -> bool {
    use BuiltIn as B;
    matches!(
        BuiltIn::from_u32(number),
        Some(B::LocalInvocationId | B::GlobalInvocationId | B::LocalInvocationIndex | B::GlobalLinearId)
    )
}
