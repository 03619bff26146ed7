//! The instructions of a clone.

use std::collections::{HashMap, HashSet};

use super::infer::{Clone, Key, class_of, is_generic};
use super::rewrite::{CROSS_WORKGROUP_MEMORY, Rewrite, WORKGROUP_MEMORY};
use super::uses::{TAG_SHIFT, TAGGED, Uses, View, tag};
use oclave_spirv::{Instruction, Op, StorageClass, is_access_chain};

const GLOBAL: u32 = StorageClass::CrossWorkgroup as u32;

/// What is known of a clone while it is written.
struct Plan<'c, 'm> {
    view: View<'c, 'm>,
    ids: HashMap<u32, u32>,
    uses: Vec<Uses>,
    /// Pointers of one address space → the same as integers.
    integers: HashMap<u32, u32>,
    /// The labels of what is behind the instructions that split their block.
    parts: HashMap<usize, u32>,
    /// Of the blocks that are split, the last of these labels.
    ends: HashMap<u32, u32>,
}

impl<'m> Rewrite<'_, 'm> {
    /// Writes a clone.
    pub(super) fn body(
        &mut self,
        body: &[Instruction<'m>],
        key: &Key,
        clone: &Clone,
        mut ids: HashMap<u32, u32>,
    ) {
        self.find_casts(body, clone, &mut ids);
        let plan = self.plan(body, clone, ids);
        let defined: HashSet<u32> =
            body.iter().filter(|i| !i.is(Op::FunctionParameter)).filter_map(Instruction::result_id).collect();
        // Integers that stand behind the phis or variables of a block.
        let mut waiting: Vec<u32> =
            plan.integers.keys().copied().filter(|id| !defined.contains(id)).collect();
        waiting.sort_unstable();
        let mut block = 0;
        for (at, instruction) in body.iter().enumerate() {
            let Some(op) = instruction.op() else {
                self.at().copy(instruction);
                continue;
            };
            let is_front = matches!(
                op,
                Op::Function
                    | Op::FunctionParameter
                    | Op::Label
                    | Op::Variable
                    | Op::Phi
                    | Op::Line
                    | Op::NoLine
            );
            if !is_front {
                std::mem::take(&mut waiting).into_iter().for_each(|id| self.make_integer(&plan, id));
            }
            if op == Op::Label {
                block = instruction.result_id().unwrap_or(0);
            }
            let is_hint = matches!(op, Op::LoopMerge | Op::SelectionMerge);
            if !(is_hint && plan.ends.contains_key(&block)) {
                self.instruction(&plan, at, instruction, op, key);
            }
            match instruction.result_id().filter(|id| plan.integers.contains_key(id)) {
                Some(id) if op == Op::Phi => waiting.push(id),
                Some(id) if op != Op::FunctionParameter => self.make_integer(&plan, id),
                _ => {}
            }
        }
    }

    fn plan<'c>(&mut self, body: &[Instruction<'m>], clone: &'c Clone, ids: HashMap<u32, u32>) -> Plan<'c, 'm>
    where
        Self: 'c,
    {
        let inferred = self.inferred;
        let view = View {
            definitions: self.definitions,
            types: &inferred.types,
            constants: &inferred.constants,
            clone,
        };
        let uses: Vec<Uses> = body.iter().map(|instruction| view.uses(instruction)).collect();
        let mut plan =
            Plan { view, ids, uses, integers: HashMap::new(), parts: HashMap::new(), ends: HashMap::new() };
        let mut block = 0;
        for (at, (instruction, uses)) in body.iter().zip(&plan.uses).enumerate() {
            if instruction.is(Op::Label) {
                block = instruction.result_id().unwrap_or(0);
            }
            if !uses.followed.is_empty() && self.inferred.tags.len() > 1 {
                let part = self.new.fresh_id();
                plan.parts.insert(at, part);
                plan.ends.insert(block, part);
            }
            for id in uses.integers.iter().filter_map(|place| instruction.word(*place)) {
                if view.class(id) != TAGGED && !view.is_null(id) {
                    plan.integers.entry(id).or_insert_with(|| self.new.fresh_id());
                }
            }
        }
        plan
    }

    /// Writes the integer that stands for a pointer of one address space.
    fn make_integer(&mut self, plan: &Plan<'_, '_>, id: u32) {
        let Some(&integer) = plan.integers.get(&id) else { return };
        let pointer = self.local(&plan.ids, id);
        let tag = tag(plan.view.class(id));
        if tag == 0 {
            return self.push(Op::ConvertPtrToU, &[self.word, integer, pointer]);
        }
        let (address, tag) = (self.new.fresh_id(), self.new.int_constant(64, tag << TAG_SHIFT));
        self.push(Op::ConvertPtrToU, &[self.word, address, pointer]);
        self.push(Op::BitwiseOr, &[self.word, integer, address, tag]);
    }

    fn instruction(
        &mut self,
        plan: &Plan<'_, '_>,
        at: usize,
        instruction: &Instruction<'m>,
        op: Op,
        key: &Key,
    ) {
        let from = instruction.operand(0).unwrap_or(0);
        let is_cast =
            matches!(op, Op::GenericCastToPtr | Op::GenericCastToPtrExplicit | Op::GenericPtrMemSemantics);
        if op == Op::PtrCastToGeneric || is_cast && plan.view.class(from) != TAGGED {
            return;
        }
        let mut words = self.mapped(instruction, &|id| self.local(&plan.ids, id));
        self.set_types(instruction, key, plan.view.clone, &mut words);
        self.set_callee(instruction, plan.view, &mut words);
        let Some(uses) = plan.uses.get(at) else { return };
        self.set_nulls(instruction, plan.view, &uses.integers, &mut words);
        for place in &uses.integers {
            let integer = instruction.word(*place).and_then(|id| plan.integers.get(&id));
            if let (Some(word), Some(integer)) = (words.get_mut(place.wrapping_sub(1)), integer) {
                *word = *integer;
            }
        }
        if op == Op::Phi {
            // Pairs of a value and the block that it comes from.
            for (word, from) in words.iter_mut().zip(instruction.words.iter().skip(1)).skip(3).step_by(2) {
                if let Some(end) = plan.ends.get(from) {
                    *word = *end;
                }
            }
        }
        if !uses.followed.is_empty() {
            return self.follow(plan, at, instruction, op, &words);
        }
        let generic = is_generic(plan.view.types, instruction.result_type());
        let tagged = generic && instruction.result_id().is_some_and(|id| plan.view.class(id) == TAGGED);
        match (op, &*words) {
            _ if is_cast => self.cast(instruction, op, &words),
            (Op::Bitcast | Op::CopyObject, &[_, result, from]) if tagged => {
                self.push(Op::CopyObject, &[self.word, result, from]);
            }
            (_, &[_, result, base, ref steps @ ..]) if tagged && is_access_chain(op) => {
                self.chain(plan, instruction, op, result, base, steps)
            }
            (Op::ConvertPtrToU | Op::Bitcast, &[ty, result, from]) if !uses.integers.is_empty() => {
                let op = match op {
                    _ if ty == self.word => Op::CopyObject,
                    Op::Bitcast => Op::Bitcast,
                    _ => Op::UConvert,
                };
                self.push(op, &[ty, result, from]);
            }
            (Op::PtrEqual, _) if !uses.integers.is_empty() => self.push(Op::IEqual, &words),
            (Op::PtrNotEqual, _) if !uses.integers.is_empty() => self.push(Op::INotEqual, &words),
            _ => self.push(op, &words),
        }
    }

    /// Steps do not depend on the address space. The tag stays where it is.
    fn chain(
        &mut self,
        plan: &Plan<'_, '_>,
        instruction: &Instruction<'_>,
        op: Op,
        result: u32,
        base: u32,
        steps: &[u32],
    ) {
        let old = instruction.operand(0).and_then(|id| plan.view.definitions.type_of(id)).unwrap_or(0);
        let base_type = self.retyped(old, GLOBAL);
        let result_type = self.retyped(instruction.result_type().unwrap_or(0), GLOBAL);
        // An address with a tag is in no object.
        let op = match op {
            Op::InBoundsAccessChain => Op::AccessChain,
            Op::InBoundsPtrAccessChain => Op::PtrAccessChain,
            other => other,
        };
        let (from, to) = (self.new.fresh_id(), self.new.fresh_id());
        self.push(Op::ConvertUToPtr, &[base_type, from, base]);
        self.push(op, &[&[result_type, to, from], steps].concat());
        self.push(Op::ConvertPtrToU, &[self.word, result, to]);
    }

    /// Casts of a tagged pointer.
    fn cast(&mut self, instruction: &Instruction<'_>, op: Op, words: &[u32]) {
        let &[ty, result, from, ..] = words else { return };
        if op == Op::GenericPtrMemSemantics {
            let bool_type = self.new.bool_type();
            let mut memory = self.new.int_constant(32, CROSS_WORKGROUP_MEMORY);
            let others = [(StorageClass::Function, 0), (StorageClass::Workgroup, WORKGROUP_MEMORY)];
            for (class, semantics) in others {
                let condition = self.has_tag(bool_type, from, class as u32);
                let is_last = class == StorageClass::Workgroup;
                let next = if is_last { result } else { self.new.fresh_id() };
                let semantics = self.new.int_constant(32, semantics);
                self.push(Op::Select, &[ty, next, condition, semantics, memory]);
                memory = next;
            }
            return;
        }
        let class = class_of(&self.inferred.types, instruction.result_type().unwrap_or(0)).unwrap_or(GLOBAL);
        let mut address = self.address(from, class);
        if op == Op::GenericCastToPtrExplicit {
            let bool_type = self.new.bool_type();
            let condition = self.is_of(bool_type, from, class);
            let null = self.new.null_constant(ty);
            let (nowhere, either) = (self.new.fresh_id(), self.new.fresh_id());
            self.push(Op::ConvertPtrToU, &[self.word, nowhere, null]);
            self.push(Op::Select, &[self.word, either, condition, address, nowhere]);
            address = either;
        }
        self.push(Op::ConvertUToPtr, &[ty, result, address]);
    }

    /// The address in a tagged pointer of a class.
    fn address(&mut self, from: u32, class: u32) -> u32 {
        if tag(class) == 0 {
            return from;
        }
        let mask = self.new.int_constant(64, (1 << TAG_SHIFT) - 1);
        let address = self.new.fresh_id();
        self.push(Op::BitwiseAnd, &[self.word, address, from, mask]);
        address
    }

    fn has_tag(&mut self, bool_type: u32, from: u32, class: u32) -> u32 {
        let shift = self.new.int_constant(64, TAG_SHIFT);
        let wanted = self.new.int_constant(64, tag(class));
        let (found, condition) = (self.new.fresh_id(), self.new.fresh_id());
        self.push(Op::ShiftRightLogical, &[self.word, found, from, shift]);
        self.push(Op::IEqual, &[bool_type, condition, found, wanted]);
        condition
    }

    /// Whether a tagged pointer is of a class; of global memory, whether it is of no other.
    fn is_of(&mut self, bool_type: u32, from: u32, class: u32) -> u32 {
        if tag(class) != 0 {
            return self.has_tag(bool_type, from, class);
        }
        let private = self.has_tag(bool_type, from, StorageClass::Function as u32);
        let local = self.has_tag(bool_type, from, StorageClass::Workgroup as u32);
        let (any, none) = (self.new.fresh_id(), self.new.fresh_id());
        self.push(Op::LogicalOr, &[bool_type, any, private, local]);
        self.push(Op::LogicalNot, &[bool_type, none, any]);
        none
    }

    /// Writes an instruction once for each list of address spaces of the pointers that it follows.
    fn follow(
        &mut self,
        plan: &Plan<'_, '_>,
        at: usize,
        instruction: &Instruction<'_>,
        op: Op,
        words: &[u32],
    ) {
        let Some(followed) = plan.uses.get(at).map(|uses| &uses.followed) else { return };
        let choices = choices(&self.inferred.tags, followed.len());
        let end = plan.parts.get(&at).copied();
        let void = self.new.void_type();
        // In a clone, the id of the result is another one.
        let result = match words {
            &[ty, result, ..] if instruction.result_type().is_some() => Some((result, ty)),
            _ => None,
        };
        let mut values = Vec::new();
        let mut label = 0;
        for (number, classes) in choices.iter().enumerate() {
            let is_last = number + 1 == choices.len();
            let mut next = 0;
            if !is_last {
                let condition = self.are_of(words, followed, classes);
                label = self.new.fresh_id();
                next = self.new.fresh_id();
                self.push(Op::BranchConditional, &[condition, label, next]);
                self.push(Op::Label, &[label]);
            }
            let mut words = words.to_vec();
            for (place, class) in followed.iter().zip(classes) {
                let old = instruction.word(*place).and_then(|id| plan.view.definitions.type_of(id));
                let ty = self.retyped(old.unwrap_or(0), *class);
                let Some(word) = words.get_mut(place.wrapping_sub(1)) else { continue };
                let (address, pointer) = (self.address(*word, *class), self.new.fresh_id());
                self.push(Op::ConvertUToPtr, &[ty, pointer, address]);
                *word = pointer;
            }
            if let (Some((_, ty)), Some(_)) = (result, end) {
                // The one result of an instruction without a value keeps its id, which may have a name.
                if let Some(word) = words.get_mut(1).filter(|_| !(is_last && ty == void)) {
                    *word = self.new.fresh_id();
                    values.extend([*word, label]);
                }
            }
            self.push(op, &words);
            if let Some(end) = end {
                self.push(Op::Branch, &[end]);
                let following = if is_last { end } else { next };
                self.push(Op::Label, &[following]);
                label = following;
            }
        }
        if let (Some((result, ty)), Some(_)) = (result, end)
            && ty != void
        {
            self.push(Op::Phi, &[&[ty, result], &*values].concat());
        }
    }

    /// Whether the pointers that an instruction follows are of these classes.
    fn are_of(&mut self, words: &[u32], followed: &[usize], classes: &[u32]) -> u32 {
        let bool_type = self.new.bool_type();
        let mut all = None;
        for (place, class) in followed.iter().zip(classes) {
            let from = words.get(place.wrapping_sub(1)).copied().unwrap_or(0);
            let one = self.is_of(bool_type, from, *class);
            all = Some(all.map_or(one, |before| {
                let both = self.new.fresh_id();
                self.push(Op::LogicalAnd, &[bool_type, both, before, one]);
                both
            }));
        }
        all.unwrap_or(0)
    }
}

/// All lists of so many address spaces.
fn choices(tags: &[u32], pointers: usize) -> Vec<Vec<u32>> {
    (0..pointers).fold(vec![Vec::new()], |lists, _| {
        let mut longer = Vec::with_capacity(lists.len() * tags.len());
        for list in &lists {
            longer.extend(tags.iter().map(|class| [&**list, &[*class]].concat()));
        }
        longer
    })
}
