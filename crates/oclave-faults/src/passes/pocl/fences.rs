//! Fences between accesses that LLVM's vectoriser would join across others.
//!
//! PoCL marks its loops over work-items as parallel, and LLVM (18 and 21) then takes accesses of
//! one work-item for independent, too. It joins stores to neighbouring elements (`p[4 * i]`, `p[4 *
//! i + 1]`, …) at the last of them, and loads at the first. It does so even if an access between
//! them may meet the same element. A loop with a fence is not vectorised. So a fence goes between
//! two accesses that could be joined so, and only there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{
    ChainStep, Decoration, Definitions, Editor, Instruction, Module, Op, SCOPE_WORKGROUP, StorageClass,
    TypeTable, is_access_chain, is_atomic,
};

fault! {
    /// **Q16. PoCL 6.0 (LLVM 18) and 7.1 (LLVM 21) on CPUs.** PoCL marks loops over work-items as
    /// parallel. LLVM then joins accesses to neighbouring elements (`InterleavedAccessInfo`), also
    /// across accesses of the same work-item to one of them. Fences keep them apart (decision 93).
    ///
    /// Seen from source, without any barrier: `p[4*i+1] = 7; p[4*i+2] = 5; p[4*i+3] = 3;
    /// p[4*i] = p[4*i + (a & 3)] + 1;` reads the old elements. `tests/device/compilers/work_items.rs` shows three
    /// more. llvm-project#63602 was the same fault in ordinary loops; pocl#757 is another of the
    /// same marks.
    Q16 {
        affects: [POCL_CPU],
        seen: Programs,
        symptom: "Accesses to neighbouring elements are joined across accesses of the same work-item to one of them.",
        remedy: "Fences between such accesses (`fences`).",
        upstream: ["llvm-project#63602", "pocl#757"],
    }
}

/// Runs on modules as they were linked: what is added to them later needs no fences.
pub(in crate::passes) const PASS: Pass = pass(Fault::Q16, "fences", |on| insert(on.analyses));

/// Semantics of `mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)`.
const BOTH_FENCES: u64 = 0x308;
/// The most elements that LLVM joins (`MaxInterleaveGroupFactor`).
const MOST: u64 = 8;
/// Longer ways from a pointer to its root are followed in part.
const LONGEST_WAY: usize = 1000;
/// More accesses than this between two barriers are looked at in part.
const WINDOW: usize = 256;

/// The module with these fences; `None` where none is needed.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn insert(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let mut edit = Editor::new(definitions);
    for instruction in places(definitions) {
        let (scope, both) = (edit.int_constant(32, SCOPE_WORKGROUP), edit.int_constant(32, BOTH_FENCES));
        edit.before(&instruction).push(Op::MemoryBarrier, &[scope, both]);
    }
    Ok(edit.finish()?)
}

/// The instructions before which a fence goes.
fn places<'m>(definitions: &Definitions<'m>) -> Vec<Instruction<'m>> {
    let addresses = Addresses::new(definitions);
    let mut stretch = Stretch::default();
    let mut places = Vec::new();
    for instruction in definitions.module().instructions() {
        let Some(op) = instruction.op() else { continue };
        match op {
            Op::Load | Op::Store => {}
            // What LLVM does not vectorise loops with, and where functions begin.
            Op::Function | Op::ControlBarrier | Op::MemoryBarrier => {
                stretch = Stretch::default();
                continue;
            }
            op if is_atomic(op) => {
                stretch = Stretch::default();
                continue;
            }
            Op::FunctionCall | Op::CopyMemory | Op::CopyMemorySized => {
                stretch.add_unknown();
                continue;
            }
            _ => continue,
        }
        let Some(access) = addresses.touched(&instruction) else { continue };
        if stretch.needs_fence(&addresses, &access) {
            places.push(instruction);
            stretch = Stretch::default();
        }
        stretch.add(&addresses, access);
    }
    places
}

/// What one work-item reads or writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Access {
    is_store: bool,
    /// The variable, the parameter or other value that the pointer comes from.
    pub(crate) root: u32,
    /// The storage class of the root's memory.
    class: Option<u32>,
    /// Root or terms come from private variables, as without optimisation, which may hold something
    /// else each time.
    is_loose: bool,
    /// What varies in the distance to the root: value → bytes for each one.
    terms: BTreeMap<u32, i64>,
    offset: i64,
    size: u64,
}

impl Access {
    /// Whether the memory is private.
    pub(crate) fn is_private(&self) -> bool {
        self.class == Some(StorageClass::Function as u32)
    }

    /// Whether LLVM can tell that a load reads what this store wrote.
    pub(crate) fn is_read_by(&self, load: &Self) -> bool {
        self.root == load.root && self.terms == load.terms && self.overlaps(load)
    }

    /// Whether two accesses have bytes in common, if their terms are the same.
    fn overlaps(&self, other: &Self) -> bool {
        let (first, second) = if self.offset <= other.offset { (self, other) } else { (other, self) };
        first.offset.abs_diff(second.offset) < first.size
    }
}

/// The accesses since the last barrier or fence.
#[derive(Default)]
struct Stretch {
    /// Stores are with whether something between then and now may meet what they wrote.
    accesses: Vec<(Access, bool)>,
    /// How many accesses there were at the last call, which may do anything.
    unknown: Option<usize>,
}

impl Stretch {
    fn needs_fence(&self, addresses: &Addresses<'_, '_>, new: &Access) -> bool {
        self.parts(addresses, new) || self.follows_joined(addresses, new)
    }

    /// Whether a load follows two stores that could be joined, and may meet one.
    fn follows_joined(&self, addresses: &Addresses<'_, '_>, new: &Access) -> bool {
        let stores = || self.accesses.iter().map(|(old, _)| old).filter(|old| old.is_store && !new.is_store);
        stores().any(|a| addresses.may_meet(a, new) && stores().any(|b| addresses.could_join(a, b)))
    }

    /// Whether an access could be joined with one before it, across one that may meet what is
    /// moved.
    fn parts(&self, addresses: &Addresses<'_, '_>, new: &Access) -> bool {
        self.accesses.iter().enumerate().any(|(at, (old, is_met))| {
            let joins = old.is_store == new.is_store && addresses.could_join(old, new);
            let between = || self.accesses.iter().skip(at + 1).map(|(access, _)| access);
            joins
                && (self.unknown.is_some_and(|unknown| unknown > at)
                    || if new.is_store {
                        *is_met
                    } else {
                        between().any(|access| access.is_store && addresses.may_meet(access, new))
                    })
        })
    }

    fn add(&mut self, addresses: &Addresses<'_, '_>, new: Access) {
        for (old, is_met) in &mut self.accesses {
            *is_met |= old.is_store && addresses.may_meet(old, &new);
        }
        if self.accesses.len() == WINDOW {
            self.accesses.remove(0);
            self.unknown = self.unknown.and_then(|unknown| unknown.checked_sub(1));
        }
        self.accesses.push((new, false));
    }

    fn add_unknown(&mut self) {
        self.unknown = Some(self.accesses.len());
    }
}

/// Where pointers lead.
pub(crate) struct Addresses<'d, 'm> {
    pub(crate) definitions: &'d Definitions<'m>,
    types: TypeTable<'m>,
    /// Parameters that nothing else leads to.
    restrict: BTreeSet<u32>,
    /// Where pointers lead that were asked about.
    ways: RefCell<HashMap<u32, Rc<Access>>>,
}

impl<'d, 'm> Addresses<'d, 'm> {
    pub(crate) fn new(definitions: &'d Definitions<'m>) -> Self {
        const NO_ALIAS: u32 = 4;
        let is_restrict = |i: &Instruction<'_>| {
            i.is(Op::Decorate)
                && matches!(*i.operands(), [_, d, NO_ALIAS] if d == Decoration::FuncParamAttr as u32)
        };
        let before = definitions.module().global_instructions();
        let restrict = before.filter(is_restrict).filter_map(|i| i.operand(0)).collect();
        Self { definitions, types: TypeTable::new(definitions), restrict, ways: RefCell::default() }
    }

    fn pointer(&self, value: u32) -> Option<(u32, u32)> {
        self.types.pointer(self.definitions.type_of(value)?)
    }

    pub(crate) fn is_pointer(&self, value: u32) -> bool {
        self.pointer(value).is_some()
    }

    /// The storage class of what a pointer leads to.
    pub(crate) fn class(&self, pointer: u32) -> Option<u32> {
        self.way(pointer).class
    }

    /// Whether some work-items may reach the same memory by two pointers.
    pub(crate) fn may_share_memory(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.way(a), self.way(b));
        a.root == b.root || self.may_be_one(&a, &b)
    }

    /// What a load or a store of one work-item touches. `None` for other instructions, and where the size is not known.
    pub(crate) fn touched(&self, by: &Instruction<'_>) -> Option<Access> {
        let pointer = by.operand(0)?;
        match by.op()? {
            Op::Load => self.access(pointer, by.result_type()?, false),
            Op::Store => self.access(pointer, self.definitions.type_of(by.operand(1)?)?, true),
            _ => None,
        }
    }

    /// Where a pointer leads, with no size.
    fn way(&self, pointer: u32) -> Rc<Access> {
        if let Some(known) = self.ways.borrow().get(&pointer) {
            return Rc::clone(known);
        }
        let (class, terms) = (None, BTreeMap::new());
        let mut way =
            Access { is_store: false, root: pointer, class, is_loose: false, terms, offset: 0, size: 0 };
        self.follow(pointer, &mut way);
        let way = Rc::new(way);
        self.ways.borrow_mut().insert(pointer, Rc::clone(&way));
        way
    }

    fn access(&self, pointer: u32, ty: u32, is_store: bool) -> Option<Access> {
        let size = self.types.size_bytes(ty)?;
        let mut access = Access { is_store, size, ..(*self.way(pointer)).clone() };
        access.terms.retain(|_, bytes| *bytes != 0);
        Some(access)
    }

    /// Adds the way from a pointer's root. In code that never runs, a pointer may lead to itself.
    fn follow(&self, pointer: u32, access: &mut Access) {
        let mut next = Some(pointer);
        for _ in 0..LONGEST_WAY {
            let Some(pointer) = next else { return };
            next = self.step_back(pointer, access);
        }
    }

    /// Adds the last step to a pointer; returns the pointer before it, if there is one.
    fn step_back(&self, pointer: u32, access: &mut Access) -> Option<u32> {
        access.root = self.named(pointer, access);
        access.class = self.pointer(pointer).map(|(class, _)| class);
        let instruction = self.definitions.instruction(pointer)?;
        let operands = instruction.operands();
        match instruction.op()? {
            Op::Bitcast | Op::CopyObject => operands.first().copied().filter(|from| self.is_pointer(*from)),
            op if is_access_chain(op) => {
                for step in self.types.chain_steps(self.definitions, op, operands)? {
                    match step {
                        ChainStep::Member { offset_bytes } => {
                            access.offset = access.offset.wrapping_add(offset_bytes as i64);
                        }
                        ChainStep::Element { index, stride_bytes } => {
                            self.add(index, stride_bytes as i64, access, 0);
                        }
                    }
                }
                operands.first().copied()
            }
            _ => None,
        }
    }

    /// The private variable that a value was just read from, or the value.
    fn named(&self, value: u32, access: &mut Access) -> u32 {
        let load = self.definitions.instruction(value).filter(|i| i.is(Op::Load));
        let Some(from) = load.and_then(|load| load.operand(0)) else { return value };
        if !self.definitions.is_private_variable(from) {
            return value;
        }
        access.is_loose = true;
        from
    }

    /// Adds `scale` bytes for each one of an integer.
    fn add(&self, value: u32, scale: i64, access: &mut Access, depth: u32) {
        if let Some(constant) = self.definitions.signed_constant(value) {
            access.offset = access.offset.wrapping_add(constant.wrapping_mul(scale));
            return;
        }
        let instruction = self.definitions.instruction(value).filter(|_| depth < 16);
        let two = |i: &Instruction<'_>| Some((i.operand(0)?, i.operand(1)?));
        if let Some(instruction) = instruction {
            match (instruction.op(), two(&instruction)) {
                (Some(Op::SConvert | Op::UConvert), _) => {
                    if let Some(from) = instruction.operand(0) {
                        return self.add(from, scale, access, depth + 1);
                    }
                }
                (Some(Op::IAdd), Some((a, b))) => {
                    self.add(a, scale, access, depth + 1);
                    return self.add(b, scale, access, depth + 1);
                }
                // The lowest bits of what was shifted are zeros.
                (Some(Op::BitwiseOr), Some((a, b)))
                    if self.definitions.signed_constant(b).is_some_and(|b| self.has_room(a, b)) =>
                {
                    self.add(a, scale, access, depth + 1);
                    return self.add(b, scale, access, depth + 1);
                }
                (Some(Op::IMul), Some((a, b))) => {
                    for (factor, by) in [(a, b), (b, a)] {
                        if let Some(by) = self.definitions.signed_constant(by) {
                            return self.add(factor, scale.wrapping_mul(by), access, depth + 1);
                        }
                    }
                }
                (Some(Op::ShiftLeftLogical), Some((a, b))) => {
                    if let Some(by) = self.definitions.signed_constant(b).filter(|by| (0..32).contains(by)) {
                        return self.add(a, scale.wrapping_mul(1 << by), access, depth + 1);
                    }
                }
                _ => {}
            }
        }
        let value = self.named(value, access);
        let bytes = access.terms.entry(value).or_default();
        *bytes = bytes.wrapping_add(scale);
    }

    fn has_room(&self, value: u32, bits: i64) -> bool {
        let instruction = self.definitions.instruction(value);
        let by = instruction
            .filter(|i| i.is(Op::ShiftLeftLogical))
            .and_then(|i| self.definitions.signed_constant(i.operand(1)?));
        by.is_some_and(|by| (0..32).contains(&by) && (0..1 << by).contains(&bits))
    }

    /// Whether LLVM may take two accesses for neighbours in a row of elements that each work-item
    /// has.
    fn could_join(&self, a: &Access, b: &Access) -> bool {
        let apart = a.offset.abs_diff(b.offset);
        let near = a.size == b.size && apart >= a.size && apart < a.size.saturating_mul(MOST);
        near && a.root == b.root && a.terms == b.terms && self.is_strided(a)
    }

    /// Whether the work-items' elements may be further apart than one is long.
    fn is_strided(&self, of: &Access) -> bool {
        // Private arrays that live across barriers are arrays of arrays.
        self.definitions.is_private_variable(of.root)
            || of.terms.values().any(|bytes| bytes.unsigned_abs() >= of.size.saturating_mul(2))
    }

    /// Whether one work-item may reach the same element by both.
    fn may_meet(&self, a: &Access, b: &Access) -> bool {
        if a.root != b.root {
            return self.may_be_one(a, b);
        }
        a.is_loose || b.is_loose || a.terms != b.terms || a.overlaps(b)
    }

    /// Whether two roots may lead to the same memory.
    fn may_be_one(&self, a: &Access, b: &Access) -> bool {
        let is_class = |of: &Access, class: StorageClass| of.class == Some(class as u32);
        let never =
            |of: &Access| is_class(of, StorageClass::UniformConstant) || is_class(of, StorageClass::Input);
        if never(a) || never(b) {
            return false;
        }
        if a.class != b.class && !is_class(a, StorageClass::Generic) && !is_class(b, StorageClass::Generic) {
            return false;
        }
        let is = |of: &Access, op: Op| self.definitions.instruction(of.root).is_some_and(|i| i.is(op));
        // The variable of a loose access holds the pointer, so it is no root that is known.
        let is_known = |of: &Access| {
            let is_holder = of.is_loose && !is_class(of, StorageClass::Function) && is(of, Op::Variable);
            !is_holder && (is(of, Op::Variable) || is(of, Op::FunctionParameter))
        };
        if !is_known(a) || !is_known(b) {
            return true;
        }
        let both_given = is(a, Op::FunctionParameter) && is(b, Op::FunctionParameter);
        both_given && !self.restrict.contains(&a.root) && !self.restrict.contains(&b.root)
    }
}
