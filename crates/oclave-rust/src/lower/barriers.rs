//! Panics of kernels with barriers.
//!
//! A work-item that panics must not keep the others of its work-group waiting. Compilers for CPUs assume that
//! all work-items take the same way to a barrier. So it goes on to the next barrier, or function of the
//! work-group, that the others get to. There all see that one has panicked, and all return. Where the others
//! may get to one of several, there is one more barrier before the branch that decides it. All work-items
//! branch alike there, else the kernel is wrong without a panic, too.
//!
//! A phase is the time between two barriers. A panic leaves its phase in local memory, and those who meet compare it with
//! theirs. So a work-item that panics in the next phase is not seen by one that has just left the barrier.
//!
//! In functions of sub-groups, the same holds for the work-items of one sub-group. They ask each other whether one has panicked. If so, all
//! have, and go on to where their work-group meets.
//!
//! Values whose calculation a panic skips go through variables, which drivers make values again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use oclave_spirv::{ALIGNED, Capability, Op, StorageClass, is_group_function};

use super::builder::{TypeId, ValueId};
use super::calls::{SUB_GROUP, WORK_GROUP};
use super::code::{Block, Inst, edges, effect, ids, rename, targets};
use super::copied::leading_to;
use super::function::{Lower, Lowering, Refusal};

/// Sequentially consistent, for local and global memory.
const SEMANTICS: u64 = 0x310;

/// What the work-items of a group know of panics.
#[derive(Debug, Clone, Copy)]
struct Signals {
    /// The scope of the group, `WORK_GROUP` or `SUB_GROUP`.
    scope: ValueId,
    know: Know,
    /// The block where all return.
    done: ValueId,
}

#[derive(Debug, Clone, Copy)]
enum Know {
    /// The group has memory.
    Memory {
        /// The phase of the last panic of the work-group, in local memory.
        panicked: ValueId,
        /// The phase that the work-item is in, a variable. The first is 1.
        phase: ValueId,
    },
    /// Each work-item has a variable that says whether it has panicked, and tells the others.
    Votes { panicked: ValueId },
}

impl Signals {
    /// Whether an instruction needs all work-items of the group.
    fn waits(&self, inst: &Inst) -> bool {
        waits(inst, self.scope)
    }

    /// Whether an instruction stays where work-items meet. A barrier of a work-group is a part of the meeting.
    fn stays(&self, inst: &Inst) -> bool {
        matches!(self.know, Know::Votes { .. }) || inst.op != Op::ControlBarrier
    }
}

/// Whether an instruction needs all work-items of a group.
pub(super) fn waits(inst: &Inst, scope: ValueId) -> bool {
    inst.operands.first() == Some(&scope.word())
        && (inst.op == Op::ControlBarrier || is_group_function(inst.op))
}

/// More barriers than a kernel gets.
const MOST: usize = 64;

fn too_many() -> Refusal {
    Refusal::new(
        "it panics in more places between its barriers than can be kept apart",
        "check before the first barrier, or split the kernel",
    )
}

/// The first block of a loop, and all.
pub(super) type Loop = (usize, BTreeSet<usize>);

/// Where work-items get to from a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// The block of a barrier.
    Wait(usize),
    /// The end of the kernel.
    End,
}

impl Lower<'_, '_> {
    /// Lets all work-items meet where some would wait for others, if the kernel waits and may panic.
    pub(super) fn meet(&mut self) -> Lowering<()> {
        let uint = self.int(32);
        let [none, one] = [0, 1].map(|value| self.number(32, value));
        let (waits, votes) = (self.waits(), self.waits_for(SUB_GROUP));
        if self.panic_exits.is_empty() || !(waits || votes) {
            return Ok(());
        }
        let mut begin = Vec::new();
        if votes {
            let panicked = self.variable(uint, None);
            begin.push(store(panicked, none));
            self.meet_in(SUB_GROUP, Know::Votes { panicked })?;
        }
        if waits {
            let pointer = self.output.builder.pointer_type(StorageClass::Workgroup, uint);
            let panicked = self.output.builder.variable(pointer, StorageClass::Workgroup, None);
            let name = format!("{}.panicked", self.output.kernel);
            self.output.builder.name(panicked, &name);
            let phase = self.variable(uint, None);
            begin.extend([store(panicked, none), store(phase, one), self.barrier_of_group()]);
            self.meet_in(WORK_GROUP, Know::Memory { panicked, phase })?;
        }
        if let Some(first) = self.blocks.first_mut() {
            first.code.splice(0..0, begin);
        }
        self.demote();
        self.sort_blocks();
        Ok(())
    }

    /// Lets the work-items of each group of a scope meet.
    fn meet_in(&mut self, scope: u64, know: Know) -> Lowering<()> {
        self.part_panics()?;
        let (scope, done) = (self.number(32, scope), self.output.builder.value());
        let signals = Signals { scope, know, done };
        let mut meetings = Vec::new();
        let mut at = 0;
        while let Some(block) = self.blocks.get(at) {
            let position = block.code.iter().position(|inst| signals.waits(inst));
            if let Some(position) = position.filter(|_| !meetings.contains(&at)) {
                meetings.push(self.meeting(at, position, signals));
                // The rest of the block is the last one now. It begins with what waited, if that stays.
                let rest = self.blocks.len() - 1;
                let begins_with_it = |block: &Block| {
                    block.code.first().is_some_and(|inst| signals.waits(inst) && signals.stays(inst))
                };
                if self.blocks.get(rest).is_some_and(begins_with_it) {
                    self.split_functions(rest, signals, &mut meetings);
                }
            }
            at += 1;
        }
        let targets = self.find_targets(signals, &mut meetings)?;
        let (uint, one) = (self.int(32), self.number(32, 1));
        for (exit, target) in targets {
            let label = self.blocks.get(target).map(|block| block.label);
            let now = self.output.builder.value();
            if let (Some(block), Some(label)) = (self.blocks.get_mut(exit), label) {
                match know {
                    Know::Memory { panicked, phase } => {
                        block.code.extend([load(uint, now, phase), store(panicked, now)]);
                    }
                    Know::Votes { panicked } => block.code.push(store(panicked, one)),
                }
                block.end = Some(effect(Op::Branch, &[label.word()]));
                self.panic_exits.remove(&exit);
            }
        }
        let mut end = Block::new(done);
        end.end = Some(effect(Op::Return, &[]));
        // All of a sub-group have panicked there.
        if matches!(know, Know::Votes { .. }) {
            self.panic_exits.insert(self.blocks.len());
        }
        self.blocks.push(end);
        Ok(())
    }

    /// Whether the kernel waits for the other work-items of its work-group.
    pub(super) fn waits(&mut self) -> bool {
        self.waits_for(WORK_GROUP)
    }

    /// Whether the kernel waits for other work-items.
    pub(super) fn waits_for_others(&mut self) -> bool {
        self.waits_for(WORK_GROUP) || self.waits_for(SUB_GROUP)
    }

    fn waits_for(&mut self, scope: u64) -> bool {
        let scope = self.number(32, scope);
        self.blocks.iter().any(|block| block.code.iter().any(|inst| waits(inst, scope)))
    }

    /// A barrier of the work-group.
    fn barrier_of_group(&mut self) -> Inst {
        let (scope, semantics) = (self.number(32, WORK_GROUP), self.number(32, SEMANTICS));
        effect(Op::ControlBarrier, &[scope.word(), scope.word(), semantics.word()])
    }

    /// Gives each way to a panic blocks of its own. rustc joins panics with one message, and each goes on to
    /// another barrier.
    fn part_panics(&mut self) -> Lowering<()> {
        for _ in 0..MOST * 4 {
            let (_, edges) = self.edges();
            let lives = self.living();
            let parted = (1..self.blocks.len()).filter(|at| !lives.contains(at)).find_map(|at| {
                let mut tail: Vec<usize> = reachable_from(&edges, at).into_iter().collect();
                tail.sort_unstable();
                let from = |(before, to): (usize, &Vec<usize>)| {
                    (to.contains(&at) && !tail.contains(&before)).then_some(before)
                };
                let more = edges.iter().enumerate().filter_map(from).nth(1)?;
                Some((at, tail, more))
            });
            let Some((at, tail, from)) = parted else { return Ok(()) };
            self.copy_tail(at, &tail, from);
        }
        Err(too_many())
    }

    /// Blocks from which the kernel may end without a panic.
    pub(super) fn living(&self) -> BTreeSet<usize> {
        let (_, edges) = self.edges();
        let is_end = |at: usize, block: &Block| {
            block.end.as_ref().is_some_and(|end| end.op == Op::Return) && !self.panic_exits.contains(&at)
        };
        let ends = self.blocks.iter().enumerate().filter(|(at, block)| is_end(*at, block));
        leading_to(&edges, ends.map(|(at, _)| at))
    }

    /// Copies blocks for one of those that lead to the first of them.
    fn copy_tail(&mut self, first: usize, tail: &[usize], from: usize) {
        let blocks: Vec<Block> = tail.iter().filter_map(|at| self.blocks.get(*at).cloned()).collect();
        let (mut blocks, new) = self.copies(blocks);
        let Some(label) = self.blocks.get(first).map(|block| block.label.word()) else { return };
        let Some(before) = self.blocks.get_mut(from) else { return };
        let before_label = before.label.word();
        if let Some(end) = &mut before.end {
            for place in ids(end.op, end.operands.len()) {
                if let Some(word) = end.operands.get_mut(place).filter(|word| **word == label) {
                    *word = new.get(&label).map_or(label, |id| id.word());
                }
            }
        }
        let copied: BTreeSet<u32> = blocks.iter().map(|block| block.label.word()).collect();
        for phi in blocks.iter_mut().flat_map(|block| &mut block.phis) {
            let pairs = phi.operands.chunks_exact(2).filter(
                |pair| matches!(pair, [_, label] if copied.contains(label) || *label == before_label),
            );
            phi.operands = pairs.flatten().copied().collect();
        }
        for (block, at) in blocks.into_iter().zip(tail) {
            if self.panic_exits.contains(at) {
                self.panic_exits.insert(self.blocks.len());
            }
            self.blocks.push(block);
        }
        // The blocks that were copied are left to the others.
        let Some(block) = self.blocks.get_mut(first) else { return };
        for phi in &mut block.phis {
            let pairs = phi.operands.chunks_exact(2).filter(|pair| pair.get(1) != Some(&before_label));
            phi.operands = pairs.flatten().copied().collect();
        }
    }

    /// Gives all that blocks define new ids. Also gives these, by the old ones.
    pub(super) fn copies(&mut self, mut blocks: Vec<Block>) -> (Vec<Block>, BTreeMap<u32, ValueId>) {
        let mut new: BTreeMap<u32, ValueId> = BTreeMap::new();
        for block in &blocks {
            let results = block.phis.iter().chain(&block.code).filter_map(|inst| inst.result);
            for id in results.map(|(_, id)| id).chain([block.label]) {
                new.insert(id.word(), self.output.builder.value_like(id));
            }
        }
        let of = |id: ValueId| new.get(&id.word()).copied().unwrap_or(id);
        for block in &mut blocks {
            block.label = of(block.label);
            for inst in block.phis.iter_mut().chain(&mut block.code) {
                inst.result = inst.result.map(|(ty, id)| (ty, of(id)));
            }
        }
        rename(&mut blocks, &new);
        (blocks, new)
    }

    /// Splits what follows a function of the group, which stays the first instruction of its block.
    fn split_functions(&mut self, block: usize, signals: Signals, meetings: &mut Vec<usize>) {
        let mut at = block;
        while let Some(position) = self
            .blocks
            .get(at)
            .and_then(|block| block.code.iter().skip(1).position(|inst| signals.waits(inst)))
            .map(|position| position + 1)
        {
            meetings.push(self.meeting(at, position, signals));
            at = self.blocks.len() - 1;
        }
        // Not to be looked at again.
        meetings.push(at);
        meetings.push(block);
    }

    /// Splits a block before an instruction by a meeting after which all return if one has panicked. Gives
    /// the block of the meeting. The rest of the block that is split is the last one.
    fn meeting(&mut self, at: usize, position: usize, signals: Signals) -> usize {
        let [label, rest_label, has_panicked] = [(); 3].map(|()| self.output.builder.value());
        let mut wait = Block::new(label);
        wait.code = self.ask(signals, has_panicked);
        let operands = [has_panicked, signals.done, rest_label].map(ValueId::word);
        wait.end = Some(effect(Op::BranchConditional, &operands));
        let new = self.blocks.len();
        let Some(block) = self.blocks.get_mut(at) else { return new };
        let mut code = block.code.split_off(position);
        if code.first().is_some_and(|inst| signals.waits(inst) && !signals.stays(inst)) {
            code.remove(0);
        }
        let (before, end) = (block.label, block.end.take());
        block.end = Some(effect(Op::Branch, &[label.word()]));
        let mut rest = Block::new(rest_label);
        (rest.code, rest.end) = (code, end);
        let next = targets(&rest);
        if self.panic_exits.remove(&at) {
            self.panic_exits.insert(new + 1);
        }
        for target in self.blocks.iter_mut().filter(|block| next.contains(&block.label.word())) {
            for word in target.phis.iter_mut().flat_map(|phi| phi.operands.iter_mut().skip(1).step_by(2)) {
                if *word == before.word() {
                    *word = rest_label.word();
                }
            }
        }
        self.blocks.push(wait);
        self.blocks.push(rest);
        new
    }

    /// Asks whether a work-item of the group has panicked.
    fn ask(&mut self, signals: Signals, has_panicked: ValueId) -> Vec<Inst> {
        let (uint, bool) = (self.int(32), self.bool());
        let [none, one] = [0, 1].map(|value| self.number(32, value));
        let [value, now, following] = [(); 3].map(|()| self.output.builder.value());
        let inst = |op, ty, result, operands: [ValueId; 2]| Inst {
            op,
            result: Some((ty, result)),
            operands: operands.map(ValueId::word).to_vec(),
        };
        match signals.know {
            Know::Memory { panicked, phase } => vec![
                self.barrier_of_group(),
                load(uint, value, panicked),
                load(uint, now, phase),
                inst(Op::IAdd, uint, following, [now, one]),
                store(phase, following),
                inst(Op::IEqual, bool, has_panicked, [value, now]),
            ],
            Know::Votes { panicked } => {
                self.output.capability(Capability::Groups);
                vec![
                    load(uint, value, panicked),
                    inst(Op::INotEqual, bool, now, [value, none]),
                    inst(Op::GroupAny, bool, has_panicked, [signals.scope, now]),
                ]
            }
        }
    }

    /// The meeting that each panic goes on to. Those after which nobody waits need none.
    fn find_targets(&mut self, signals: Signals, meetings: &mut Vec<usize>) -> Lowering<Vec<(usize, usize)>> {
        for _ in 0..MOST {
            let is_wait = |block: &Block| matches!(&block.end, Some(end) if end.operands.get(1) == Some(&signals.done.word()));
            let (_, edges) = self.edges();
            let waits: BTreeSet<usize> = self
                .blocks
                .iter()
                .enumerate()
                .filter(|(_, block)| is_wait(block))
                .map(|(at, _)| at)
                .collect();
            // Where a sub-group gets to what its work-group waits at, it meets the others there.
            let work_group = self.number(32, WORK_GROUP);
            let leaves = |block: &Block| {
                signals.scope != work_group && block.code.iter().any(|inst| self::waits(inst, work_group))
            };
            let leaving: BTreeSet<usize> =
                (0..self.blocks.len()).filter(|at| self.blocks.get(*at).is_some_and(leaves)).collect();
            let mut next: Vec<BTreeSet<Next>> = vec![BTreeSet::new(); self.blocks.len()];
            let of = |next: &[BTreeSet<Next>], to: usize| match (waits.contains(&to), leaving.contains(&to)) {
                (true, _) => BTreeSet::from([Next::Wait(to)]),
                (false, true) => BTreeSet::from([Next::End]),
                (false, false) => next.get(to).cloned().unwrap_or_default(),
            };
            loop {
                let mut has_changed = false;
                for (at, block) in self.blocks.iter().enumerate().rev() {
                    let mut found = BTreeSet::new();
                    if block.end.as_ref().is_some_and(|end| end.op == Op::Return)
                        && !self.panic_exits.contains(&at)
                    {
                        found.insert(Next::End);
                    }
                    edges.get(at).into_iter().flatten().for_each(|to| found.extend(of(&next, *to)));
                    if let Some(known) = next.get_mut(at).filter(|known| **known != found) {
                        *known = found;
                        has_changed = true;
                    }
                }
                if !has_changed {
                    break;
                }
            }
            let mut found = Vec::new();
            let mut deciding = None;
            let mut entered = None;
            let loops = if self.panic_exits.is_empty() { Vec::new() } else { loops(&edges) };
            for &exit in &self.panic_exits {
                // From where the panic comes, others go on.
                let (mut from, mut seen, mut goals) = (vec![exit], BTreeSet::new(), BTreeSet::new());
                let mut origins = Vec::new();
                while let Some(at) = from.pop() {
                    let before =
                        edges.iter().enumerate().filter(|(_, to)| to.contains(&at)).map(|(at, _)| at);
                    for origin in before.filter(|origin| seen.insert(*origin)) {
                        match next.get(origin).filter(|goals| !goals.is_empty()) {
                            Some(more) => {
                                goals.extend(more.iter().copied());
                                origins.push(origin);
                            }
                            None => from.push(origin),
                        }
                    }
                }
                match goals.into_iter().collect::<Vec<_>>().as_slice() {
                    [] | [Next::End] => {}
                    [Next::Wait(wait)] => {
                        found.push((exit, *wait));
                        entered = entered.or_else(|| entered_loop(&loops, &origins, *wait));
                    }
                    _ => {
                        let goals = |to: usize| of(&next, to);
                        let ends = |at: usize| waits.contains(&at) || leaving.contains(&at);
                        deciding = deciding.or_else(|| first_deciding(&edges, ends, goals, &origins));
                    }
                }
            }
            let block = match (deciding, entered) {
                (Some(block), _) => block,
                (None, Some((header, body))) => self.preheader(header, &body),
                (None, None) => return Ok(found),
            };
            meetings.push(self.meeting(block, 0, signals));
        }
        Err(too_many())
    }

    /// A block before a loop, through which all ways into the loop lead.
    fn preheader(&mut self, header: usize, body: &BTreeSet<usize>) -> usize {
        let label = self.output.builder.value();
        let mut new = Block::new(label);
        let Some(old) = self.blocks.get(header).map(|block| block.label.word()) else { return header };
        new.end = Some(effect(Op::Branch, &[old]));
        let mut inside = BTreeSet::new();
        for (at, block) in self.blocks.iter_mut().enumerate() {
            if body.contains(&at) {
                inside.insert(block.label.word());
            } else if let Some(end) = &mut block.end {
                for place in ids(end.op, end.operands.len()) {
                    if let Some(word) = end.operands.get_mut(place).filter(|word| **word == old) {
                        *word = label.word();
                    }
                }
            }
        }
        let mut values = Vec::new();
        for phi in self.blocks.get_mut(header).into_iter().flat_map(|block| &mut block.phis) {
            let (own, others): (Vec<&[u32]>, Vec<&[u32]>) = phi
                .operands
                .chunks_exact(2)
                .partition(|pair| pair.get(1).is_some_and(|from| inside.contains(from)));
            let value = self.output.builder.value();
            let operands = others.concat();
            values.push(Inst { op: Op::Phi, result: phi.result.map(|(ty, _)| (ty, value)), operands });
            phi.operands = [&own.concat()[..], &[value.word(), label.word()]].concat();
        }
        new.phis = values;
        self.blocks.push(new);
        self.blocks.len() - 1
    }

    /// The places of blocks by label, and for each block those that it leads to.
    pub(super) fn edges(&self) -> (BTreeMap<u32, usize>, Vec<Vec<usize>>) {
        edges(&self.blocks)
    }

    /// Puts blocks behind those that dominate them.
    pub(super) fn sort_blocks(&mut self) {
        let index: BTreeMap<u32, usize> =
            self.blocks.iter().enumerate().map(|(at, block)| (block.label.word(), at)).collect();
        let (mut order, mut seen) = (Vec::new(), BTreeSet::from([0]));
        let mut open: Vec<(usize, Vec<u32>)> =
            self.blocks.first().map(|first| (0, targets(first))).into_iter().collect();
        while let Some((at, next)) = open.last_mut() {
            match next.pop().map(|label| index.get(&label).copied()) {
                Some(Some(target)) if seen.insert(target) => {
                    if let Some(block) = self.blocks.get(target) {
                        open.push((target, targets(block)));
                    }
                }
                Some(_) => {}
                None => {
                    order.push(*at);
                    open.pop();
                }
            }
        }
        let mut blocks: Vec<Option<Block>> = std::mem::take(&mut self.blocks).into_iter().map(Some).collect();
        order.reverse();
        self.blocks = order.iter().filter_map(|at| blocks.get_mut(*at)?.take()).collect();
        let place = |old: usize| order.iter().position(|at| *at == old);
        self.panic_exits = self.panic_exits.iter().filter_map(|at| place(*at)).collect();
        for report in &mut self.reports {
            report.block = place(report.block).unwrap_or(report.block);
        }
    }
}

/// The blocks that can be reached from the entry without a block.
pub(super) fn reachable_without(edges: &[Vec<usize>], without: usize) -> BTreeSet<usize> {
    let (mut open, mut seen) = (vec![0], BTreeSet::new());
    while let Some(at) = open.pop() {
        if at != without && seen.insert(at) {
            open.extend(edges.get(at).into_iter().flatten());
        }
    }
    seen
}

/// A block and those that can be reached from it.
pub(super) fn reachable_from(edges: &[Vec<usize>], start: usize) -> BTreeSet<usize> {
    let (mut open, mut seen) = (vec![start], BTreeSet::new());
    while let Some(at) = open.pop() {
        if seen.insert(at) {
            open.extend(edges.get(at).into_iter().flatten());
        }
    }
    seen
}

/// The blocks that lead to each.
pub(super) fn reversed(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, to) in edges.iter().enumerate() {
        for to in to {
            before.get_mut(*to).into_iter().for_each(|before| before.push(from));
        }
    }
    before
}

/// Loops: the first block of each, and all.
pub(super) fn loops(edges: &[Vec<usize>]) -> Vec<Loop> {
    let before = reversed(edges);
    let mut found = Vec::new();
    for (header, from) in before.iter().enumerate().filter(|(_, from)| from.len() > 1) {
        let without = reachable_without(edges, header);
        let mut open: Vec<usize> = from.iter().copied().filter(|at| !without.contains(at)).collect();
        if open.is_empty() {
            continue;
        }
        let mut body = BTreeSet::from([header]);
        while let Some(at) = open.pop() {
            if body.insert(at) {
                open.extend(before.get(at).into_iter().flatten());
            }
        }
        found.push((header, body));
    }
    found
}

/// The outermost loop with a barrier that does not have all of some blocks. A way into the middle of a loop
/// would make it one that compilers for CPUs cannot take.
fn entered_loop(loops: &[Loop], origins: &[usize], wait: usize) -> Option<Loop> {
    let is_entered =
        |body: &BTreeSet<usize>| body.contains(&wait) && !origins.iter().all(|origin| body.contains(origin));
    loops.iter().filter(|(_, body)| is_entered(body)).max_by_key(|(_, body)| body.len()).cloned()
}

pub(super) fn load(ty: TypeId, result: ValueId, from: ValueId) -> Inst {
    Inst { op: Op::Load, result: Some((ty, result)), operands: vec![from.word(), ALIGNED, 4] }
}

pub(super) fn store(to: ValueId, value: ValueId) -> Inst {
    effect(Op::Store, &[to.word(), value.word(), ALIGNED, 4])
}

/// The first block behind some that decides which barrier work-items get to.
fn first_deciding(
    edges: &[Vec<usize>],
    ends: impl Fn(usize) -> bool,
    goals: impl Fn(usize) -> BTreeSet<Next>,
    origins: &[usize],
) -> Option<usize> {
    let mut open: VecDeque<usize> = origins.iter().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(at) = open.pop_front() {
        if !seen.insert(at) {
            continue;
        }
        let of_targets: BTreeSet<_> =
            edges.get(at)?.iter().map(|to| goals(*to)).filter(|goals| !goals.is_empty()).collect();
        if of_targets.len() > 1 {
            return Some(at);
        }
        open.extend(edges.get(at)?.iter().copied().filter(|to| !ends(*to)));
    }
    None
}
