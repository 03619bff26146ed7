//! What the values of a kernel are at most and at least, by what is known when the kernel starts.
//!
//! Bounds are numbers, arguments of the kernel, sizes of the range, and sums and products of these. A bound of a value
//! holds at a place: behind a branch that compares the value, it is closer. Values are counted without sign. What
//! is told of global ids holds for ranges without offset.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use oclave_spirv::analysis::control_flow::Tree;
use oclave_spirv::{BuiltIn, Op};

use super::builder::{Builder, TypeId, ValueId};
use super::code::{Block, Inst};
use super::function::mask;
use super::library;

/// A number that is known when the kernel starts, the same in all work-items of a work-group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    Number(u64),
    /// An argument of the kernel, whose type is an integer.
    Argument(ValueId),
    /// A part of a built-in vector.
    BuiltIn(BuiltIn, u32),
    Add(Bound, Bound),
    /// The first must not be less than the second.
    Sub(Bound, Bound),
    Mul(Bound, Bound),
    /// Rounded down. The divisor must not be 0.
    Div(Bound, Bound),
    Min(Bound, Bound),
    Max(Bound, Bound),
}

pub(super) type Bound = Rc<Known>;

impl Known {
    pub(super) fn operands(&self) -> Option<(&Bound, &Bound)> {
        match self {
            Self::Number(_) | Self::Argument(_) | Self::BuiltIn(..) => None,
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => Some((a, b)),
        }
    }

    /// Adds the arguments and sizes that the operands are calculated from.
    pub(super) fn leaves(&self, to: &mut BTreeSet<Bound>) {
        for bound in self.operands().into_iter().flat_map(|(a, b)| [a, b]) {
            match **bound {
                Self::Argument(_) | Self::BuiltIn(..) => {
                    to.insert(bound.clone());
                }
                _ => bound.leaves(to),
            }
        }
    }
}

/// Arguments and sizes up to this are small: most sums and products of them do not overflow.
pub(super) const SMALL: u64 = i32::MAX as u64;

/// What a bound is at most if its arguments and sizes are small.
pub(super) fn most(bound: &Bound) -> u128 {
    match &**bound {
        Known::Number(value) => (*value).into(),
        Known::Argument(_) | Known::BuiltIn(..) => SMALL.into(),
        Known::Add(a, b) => most(a).saturating_add(most(b)),
        Known::Sub(a, _) | Known::Div(a, _) => most(a),
        Known::Mul(a, b) => most(a).saturating_mul(most(b)),
        Known::Min(a, b) => most(a).min(most(b)),
        Known::Max(a, b) => most(a).max(most(b)),
    }
}

/// A bound as the sum of another and a number.
fn parts(bound: &Bound) -> (&Bound, i128) {
    match &**bound {
        Known::Add(base, more) => value_of(more).map_or((bound, 0), |more| (base, more.into())),
        Known::Sub(base, less) => value_of(less).map_or((bound, 0), |less| (base, -i128::from(less))),
        _ => (bound, 0),
    }
}

/// Leaves out what others tell, too: `a` is at most `b` if `a + 1` is.
pub(super) fn without_implied(conditions: Vec<AtMost>) -> Vec<AtMost> {
    let mut largest: BTreeMap<(Bound, Bound), i128> = BTreeMap::new();
    for (a, b) in &conditions {
        let (base, more) = parts(a);
        let known = largest.entry((base.clone(), b.clone())).or_insert(more);
        *known = more.max(*known);
    }
    let is_largest = |(a, b): &AtMost| {
        let (base, more) = parts(a);
        largest.get(&(base.clone(), b.clone())) == Some(&more)
    };
    conditions.into_iter().filter(is_largest).collect()
}

/// The first is at most the second.
pub(super) type AtMost = (Bound, Bound);

/// That a range of so many dimensions has no offset.
pub(super) fn no_offset(dimensions: u8) -> impl Iterator<Item = AtMost> {
    (0..dimensions.into()).map(|axis| (Rc::new(Known::BuiltIn(BuiltIn::GlobalOffset, axis)), number(0)))
}

fn number(value: u64) -> Bound {
    Rc::new(Known::Number(value))
}

fn value_of(bound: &Bound) -> Option<u64> {
    match **bound {
        Known::Number(value) => Some(value),
        _ => None,
    }
}

/// A sum; `None` if it is known to overflow.
fn add(a: &Bound, b: &Bound) -> Option<Bound> {
    Some(match (&**a, &**b) {
        (Known::Number(a), Known::Number(b)) => number(a.checked_add(*b)?),
        (_, Known::Number(0)) => a.clone(),
        (Known::Number(_), _) => return add(b, a),
        (Known::Add(x, y), Known::Number(more)) if value_of(y).is_some() => {
            Rc::new(Known::Add(x.clone(), number(value_of(y)?.checked_add(*more)?)))
        }
        (Known::Sub(x, y), Known::Number(more)) if value_of(y).is_some() => {
            let less = value_of(y)?;
            match less.checked_sub(*more) {
                Some(less) => sub(x, &number(less))?,
                None => add(x, &number(more - less))?,
            }
        }
        _ => Rc::new(Known::Add(a.clone(), b.clone())),
    })
}

/// A difference; `None` if it is known to be negative.
fn sub(a: &Bound, b: &Bound) -> Option<Bound> {
    Some(match (&**a, &**b) {
        _ if a == b => number(0),
        (Known::Number(a), Known::Number(b)) => number(a.checked_sub(*b)?),
        (_, Known::Number(0)) => a.clone(),
        (Known::Add(x, y), Known::Number(less)) if value_of(y).is_some() => {
            let more = value_of(y)?;
            match more.checked_sub(*less) {
                Some(more) => add(x, &number(more))?,
                None => sub(x, &number(less - more))?,
            }
        }
        (Known::Sub(x, y), Known::Number(more)) if value_of(y).is_some() => {
            Rc::new(Known::Sub(x.clone(), number(value_of(y)?.checked_add(*more)?)))
        }
        _ => Rc::new(Known::Sub(a.clone(), b.clone())),
    })
}

fn mul(a: &Bound, b: &Bound) -> Option<Bound> {
    Some(match (&**a, &**b) {
        (Known::Number(a), Known::Number(b)) => number(a.checked_mul(*b)?),
        (Known::Number(0), _) | (_, Known::Number(0)) => number(0),
        (_, Known::Number(1)) => a.clone(),
        (Known::Number(1), _) => b.clone(),
        _ => Rc::new(Known::Mul(a.clone(), b.clone())),
    })
}

fn div(a: &Bound, b: &Bound) -> Option<Bound> {
    Some(match (&**a, &**b) {
        (_, Known::Number(0)) => return None,
        (Known::Number(a), Known::Number(b)) => number(a / b),
        (_, Known::Number(1)) => a.clone(),
        _ => Rc::new(Known::Div(a.clone(), b.clone())),
    })
}

/// Which of two bounds is the larger one, if that is known.
fn order(a: &Bound, b: &Bound) -> Option<Ordering> {
    match (value_of(a), value_of(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => {
            let ((base, more), (other, other_more)) = (parts(a), parts(b));
            (base == other).then(|| more.cmp(&other_more))
        }
    }
}

fn min(a: &Bound, b: &Bound) -> Bound {
    match order(a, b) {
        Some(Ordering::Greater) => b.clone(),
        Some(_) => a.clone(),
        None => Rc::new(Known::Min(a.clone(), b.clone())),
    }
}

fn max(a: &Bound, b: &Bound) -> Bound {
    match (order(a, b), value_of(a), value_of(b)) {
        (Some(Ordering::Less), ..) | (None, Some(0), _) => b.clone(),
        (Some(_), ..) | (None, _, Some(0)) => a.clone(),
        (None, ..) => Rc::new(Known::Max(a.clone(), b.clone())),
    }
}

/// What a value is at least, and at most.
#[derive(Debug, Clone)]
struct Range {
    low: Bound,
    high: Bound,
}

impl Range {
    /// What either of two values is.
    fn or(&self, other: &Self) -> Self {
        Self { low: min(&self.low, &other.low), high: max(&self.high, &other.high) }
    }
}

/// What a branch tells of two values.
#[derive(Debug, Clone, Copy)]
enum Fact {
    Less(u32, u32),
    AtMost(u32, u32),
    Equal(u32, u32),
    Unequal(u32, u32),
}

/// A place: a block, or its edge to another.
#[derive(Debug, Clone, Copy)]
struct At {
    block: usize,
    to: Option<usize>,
}

/// How deep values are followed.
const DEPTH: u32 = 24;
/// How many values are looked at for one check.
const STEPS: u32 = 2000;

pub(super) struct Ranges<'b> {
    builder: &'b Builder<'b>,
    blocks: &'b [Block],
    /// Arguments that are integers, and their types.
    arguments: BTreeMap<u32, (ValueId, TypeId)>,
    /// The size of work-groups that the kernel demands.
    group: Option<[u32; 3]>,
    /// The dimensions of its ranges.
    dimensions: u8,
    defined: BTreeMap<u32, (usize, &'b Inst)>,
    index: BTreeMap<u32, usize>,
    tree: Tree,
    before: Vec<Vec<usize>>,
    facts: BTreeMap<usize, Rc<[Fact]>>,
    visited: BTreeSet<u32>,
    /// Whether sums may be assumed to be less than their type holds. Each assumption is a condition.
    may_assume: bool,
    conditions: Vec<AtMost>,
    steps: u32,
}

impl<'b> Ranges<'b> {
    pub(super) fn new(
        builder: &'b Builder<'b>,
        blocks: &'b [Block],
        arguments: BTreeMap<u32, (ValueId, TypeId)>,
        (group, dimensions): (Option<[u32; 3]>, u8),
        (index, after): (BTreeMap<u32, usize>, &[Vec<usize>]),
    ) -> Self {
        let mut before = vec![Vec::new(); blocks.len()];
        for (from, after) in after.iter().enumerate() {
            for to in after {
                if let Some(list) = before.get_mut(*to) {
                    list.push(from);
                }
            }
        }
        let mut defined = BTreeMap::new();
        for (at, block) in blocks.iter().enumerate() {
            for inst in block.phis.iter().chain(&block.code) {
                defined.extend(inst.result.map(|(_, id)| (id.word(), (at, inst))));
            }
        }
        Self {
            builder,
            blocks,
            arguments,
            group,
            dimensions,
            defined,
            index,
            tree: Tree::new(after, 0),
            before,
            facts: BTreeMap::new(),
            visited: BTreeSet::new(),
            may_assume: false,
            conditions: Vec::new(),
            steps: 0,
        }
    }

    /// Clears the state of the last proof.
    fn begin(&mut self, may_assume: bool) {
        self.may_assume = may_assume;
        self.conditions.clear();
        self.visited.clear();
        self.steps = 0;
    }

    /// What must hold when the kernel starts, so that a condition has a value whenever a block decides by it. `None` if that
    /// is not known.
    pub(super) fn prove(&mut self, condition: u32, value: bool, block: usize) -> Option<Vec<AtMost>> {
        [false, true].into_iter().find_map(|may_assume| {
            self.begin(may_assume);
            let is_proved = self.proves(condition, value, At { block, to: None }, 4);
            is_proved.then(|| std::mem::take(&mut self.conditions))
        })
    }

    /// What must hold when the kernel starts, so that a value is at least 1 whenever a block is reached.
    pub(super) fn prove_positive(&mut self, value: u32, block: usize) -> Option<Vec<AtMost>> {
        self.begin(true);
        let low = self.range(value, At { block, to: None }, DEPTH).low;
        self.at_most(&number(1), &low).then(|| std::mem::take(&mut self.conditions))
    }

    /// The instruction that calculates a value.
    pub(super) fn definition(&self, id: u32) -> Option<&'b Inst> {
        self.defined.get(&id).map(|(_, inst)| *inst)
    }

    fn proves(&mut self, condition: u32, value: bool, at: At, depth: u32) -> bool {
        let Some((_, inst)) = self.defined.get(&condition).copied() else { return false };
        let (op, operands) = (inst.op, inst.operands.as_slice());
        match (op, operands, value) {
            (Op::LogicalNot, [inner], _) if depth > 0 => return self.proves(*inner, !value, at, depth - 1),
            (Op::LogicalAnd, [a, b], true) | (Op::LogicalOr, [a, b], false) if depth > 0 => {
                return self.proves(*a, value, at, depth - 1) && self.proves(*b, value, at, depth - 1);
            }
            // `a + b < a` tells that the sum has overflowed.
            (Op::ULessThan, [sum, part], false) => {
                if let Some((_, inst)) = self.defined.get(sum)
                    && inst.op == Op::IAdd
                    && inst.operands.contains(part)
                {
                    let inst = *inst;
                    return self.sum(inst, at, DEPTH).is_some();
                }
            }
            _ => {}
        }
        let Some(fact) = fact(inst, value) else { return false };
        let (a, b) = match fact {
            Fact::Less(a, b) | Fact::AtMost(a, b) | Fact::Equal(a, b) | Fact::Unequal(a, b) => (a, b),
        };
        let (left, right) = self.both(a, b, at, DEPTH);
        match fact {
            Fact::Less(..) => self.less(&left.high, &right.low),
            Fact::AtMost(..) => self.at_most(&left.high, &right.low),
            Fact::Equal(..) => self.at_most(&left.high, &right.low) && self.at_most(&right.high, &left.low),
            Fact::Unequal(..) => self.less(&right.high, &left.low) || self.less(&left.high, &right.low),
        }
    }

    /// Notes that one bound must be at most another. Gives whether it may be.
    fn at_most(&mut self, a: &Bound, b: &Bound) -> bool {
        match (value_of(a), value_of(b)) {
            (Some(a), Some(b)) => return a <= b,
            (Some(0), _) => return true,
            _ if a == b => return true,
            // Hardly any slice is so long: the value is any of 32 bits.
            (Some(a), None) if a >= u32::MAX.into() => return false,
            _ => {}
        }
        if !self.may_assume {
            return false;
        }
        self.conditions.push((a.clone(), b.clone()));
        true
    }

    fn less(&mut self, a: &Bound, b: &Bound) -> bool {
        match add(a, &number(1)) {
            Some(a) => self.at_most(&a, b),
            None => false,
        }
    }

    /// The facts of all branches that lead to a place.
    fn facts_at(&mut self, at: At) -> Vec<Fact> {
        let mut all: Vec<Fact> = self.facts_of(at.block).to_vec();
        if let Some(to) = at.to {
            self.facts_of_edge(at.block, to, &mut all);
        }
        all
    }

    fn facts_of(&mut self, block: usize) -> Rc<[Fact]> {
        if let Some(known) = self.facts.get(&block) {
            return known.clone();
        }
        let mut all = Vec::new();
        let mut at = Some(block);
        while let Some(to) = at {
            if let Some([from]) = self.before.get(to).map(Vec::as_slice) {
                self.facts_of_edge(*from, to, &mut all);
            }
            at = self.tree.above(to);
        }
        let all: Rc<[Fact]> = all.into();
        self.facts.insert(block, all.clone());
        all
    }

    fn facts_of_edge(&self, from: usize, to: usize, all: &mut Vec<Fact>) {
        let Some(end) = self.blocks.get(from).and_then(|block| block.end.as_ref()) else { return };
        let (Op::BranchConditional, [condition, yes, no, ..]) = (end.op, end.operands.as_slice()) else {
            return;
        };
        if yes != no {
            self.collect(*condition, self.index.get(yes) == Some(&to), 4, all);
        }
    }

    fn collect(&self, condition: u32, value: bool, depth: u32, all: &mut Vec<Fact>) {
        let Some((_, inst)) = self.defined.get(&condition) else { return };
        match (inst.op, inst.operands.as_slice(), value) {
            (Op::LogicalNot, [inner], _) if depth > 0 => self.collect(*inner, !value, depth - 1, all),
            (Op::LogicalAnd, [a, b], true) | (Op::LogicalOr, [a, b], false) if depth > 0 => {
                self.collect(*a, value, depth - 1, all);
                self.collect(*b, value, depth - 1, all);
            }
            _ => all.extend(fact(inst, value)),
        }
    }

    fn width(&self, id: u32) -> u32 {
        let ty = self.defined.get(&id).and_then(|(_, inst)| inst.result).map(|(ty, _)| ty);
        let ty = ty.or_else(|| self.arguments.get(&id).map(|(_, ty)| *ty));
        ty.and_then(|ty| self.builder.int_width(ty)).unwrap_or(64)
    }

    fn constant(&self, id: u32) -> Option<u64> {
        self.builder.integer(id)
    }

    fn range(&mut self, id: u32, at: At, depth: u32) -> Range {
        if let Some(value) = self.constant(id) {
            return Range { low: number(value), high: number(value) };
        }
        if let Some((argument, _)) = self.arguments.get(&id) {
            let known = Rc::new(Known::Argument(*argument));
            return Range { low: known.clone(), high: known };
        }
        let width = self.width(id);
        self.steps += 1;
        if depth == 0 || self.steps > STEPS {
            return full(width);
        }
        let held = self.conditions.len();
        let base = match self.defined.get(&id).copied() {
            Some((block, inst)) => self.calculated(inst, block, width, at, depth - 1).unwrap_or_else(|| {
                self.conditions.truncate(held);
                full(width)
            }),
            None => full(width),
        };
        self.closer(id, base, width, at, depth.saturating_sub(4))
    }

    fn both(&mut self, a: u32, b: u32, at: At, depth: u32) -> (Range, Range) {
        (self.range(a, at, depth), self.range(b, at, depth))
    }

    /// Brings bounds closer by the facts of a place.
    fn closer(&mut self, id: u32, base: Range, width: u32, at: At, depth: u32) -> Range {
        let Range { mut low, mut high } = base;
        let limit = mask(width);
        let tighter = |old: &Bound, new: Bound| match value_of(old) {
            // The limit of a type, or nearly.
            Some(value) if value > limit / 2 => new,
            _ => min(old, &new),
        };
        for fact in self.facts_at(at) {
            let (a, b, less) = match fact {
                Fact::Less(a, b) => (a, b, 1),
                Fact::AtMost(a, b) => (a, b, 0),
                Fact::Equal(a, b) if a == id || b == id => {
                    let other = self.range(if a == id { b } else { a }, at, depth);
                    (low, high) = (max(&low, &other.low), tighter(&high, other.high));
                    continue;
                }
                Fact::Unequal(a, b) if a == id || b == id => {
                    if self.constant(if a == id { b } else { a }) == Some(0) {
                        low = max(&low, &number(1));
                    }
                    continue;
                }
                Fact::Equal(..) | Fact::Unequal(..) => continue,
            };
            if b == id {
                let other = self.range(a, at, depth);
                if let Some(bound) = add(&other.low, &number(less)) {
                    low = max(&low, &bound);
                }
                continue;
            }
            // The value itself, or the value plus a number.
            let more = if a == id { Some(0) } else { self.sum_with(a, id) };
            let Some(more) = more else { continue };
            if more > 0 {
                // The sum must not have overflowed.
                let held = self.conditions.len();
                let fits = add(&high, &number(more)).is_some_and(|sum| self.fits(&sum, width));
                if !fits {
                    self.conditions.truncate(held);
                    continue;
                }
            }
            let other = self.range(b, at, depth);
            if value_of(&other.high) == Some(limit) && more + less == 0 {
                continue;
            }
            if let Some(bound) = sub(&other.high, &number(more + less)) {
                high = tighter(&high, bound);
            }
        }
        Range { low, high }
    }

    /// The constant whose sum with a value another value is.
    fn sum_with(&self, sum: u32, id: u32) -> Option<u64> {
        let (_, inst) = self.defined.get(&sum)?;
        let (Op::IAdd, [a, b]) = (inst.op, inst.operands.as_slice()) else { return None };
        let other = if *a == id {
            *b
        } else if *b == id {
            *a
        } else {
            return None;
        };
        self.constant(other).filter(|value| *value < 1 << 31)
    }

    /// Whether a bound is at most what a width holds; a condition, unless it is known. At 64 bits, the condition is that
    /// the bound can be calculated without overflow.
    fn fits(&mut self, bound: &Bound, width: u32) -> bool {
        self.at_most(bound, &number(mask(width)))
    }

    /// The range of a sum that does not overflow.
    fn sum(&mut self, inst: &Inst, at: At, depth: u32) -> Option<Range> {
        let [a, b] = *inst.operands.as_slice() else { return None };
        let width = self.width(inst.result?.1.word());
        let (a, b) = self.both(a, b, at, depth);
        self.sum_of(&a, &b, width)
    }

    fn sum_of(&mut self, a: &Range, b: &Range, width: u32) -> Option<Range> {
        let range = Range { low: add(&a.low, &b.low)?, high: add(&a.high, &b.high)? };
        self.fits(&range.high, width).then_some(range)
    }

    /// The value of which a sum has a constant less, and the constant.
    fn lessened(&self, inst: &Inst, width: u32) -> Option<(u32, Bound)> {
        let (Op::IAdd, [a, b]) = (inst.op, inst.operands.as_slice()) else { return None };
        [(*a, *b), (*b, *a)].into_iter().find_map(|(value, constant)| {
            let constant = self.constant(constant).filter(|constant| *constant > mask(width) / 2)?;
            Some((value, number(mask(width) - constant + 1)))
        })
    }

    fn difference(&mut self, a: &Range, b: &Range) -> Option<Range> {
        let is_positive = self.at_most(&b.high, &a.low);
        is_positive.then_some(())?;
        Some(Range { low: sub(&a.low, &b.high)?, high: sub(&a.high, &b.low)? })
    }

    fn product(&mut self, a: &Range, b: &Range, width: u32) -> Option<Range> {
        let range = Range { low: mul(&a.low, &b.low)?, high: mul(&a.high, &b.high)? };
        self.fits(&range.high, width).then_some(range)
    }

    /// The range of the result of an instruction, by its operands.
    fn calculated(&mut self, inst: &Inst, block: usize, width: u32, at: At, depth: u32) -> Option<Range> {
        let operands = inst.operands.as_slice();
        let zero = || number(0);
        match (inst.op, operands) {
            (Op::Phi, _) => self.phi(inst, block, width, depth),
            (Op::IAdd, [a, b]) => {
                if let Some((other, less)) = self.lessened(inst, width) {
                    let range = self.range(other, at, depth);
                    return self.difference(&range, &Range { low: less.clone(), high: less });
                }
                // LLVM makes `(a - 1) + b` of `(b - 1) + a`, although only b is at least 1.
                for (part, other) in [(*a, *b), (*b, *a)] {
                    let inner = self.defined.get(&part).and_then(|(_, inner)| self.lessened(inner, width));
                    if let Some((part, less)) = inner {
                        let (a, b) = self.both(part, other, at, depth);
                        let sum = self.sum_of(&a, &b, width)?;
                        return self.difference(&sum, &Range { low: less.clone(), high: less });
                    }
                }
                self.sum(inst, at, depth)
            }
            (Op::ISub, [a, b]) => {
                let (a, b) = self.both(*a, *b, at, depth);
                self.difference(&a, &b)
            }
            (Op::IMul, [a, b]) => {
                let (a, b) = self.both(*a, *b, at, depth);
                self.product(&a, &b, width)
            }
            (Op::ShiftLeftLogical, [a, by]) => {
                let factor = number(1_u64.checked_shl(u32::try_from(self.constant(*by)?).ok()?)?);
                let a = self.range(*a, at, depth);
                self.product(&a, &Range { low: factor.clone(), high: factor }, width)
            }
            (Op::ShiftRightLogical, [a, by]) => {
                let by = self.constant(*by);
                let a = self.range(*a, at, depth);
                let Some(divisor) = by.and_then(|by| 1_u64.checked_shl(u32::try_from(by).ok()?)) else {
                    return Some(Range { low: zero(), high: a.high });
                };
                let divisor = number(divisor);
                Some(Range { low: div(&a.low, &divisor)?, high: div(&a.high, &divisor)? })
            }
            (Op::UDiv, [a, b]) => {
                let (a, b) = self.both(*a, *b, at, depth);
                // The divisor is at least 1: rustc checks it, or knows it.
                let divisor = if value_of(&b.low) == Some(0) { number(1) } else { b.low };
                Some(Range { low: zero(), high: div(&a.high, &divisor)? })
            }
            (Op::UMod, [a, b]) => {
                let b = self.range(*b, at, depth);
                if value_of(&b.high) == Some(mask(width)) {
                    return Some(Range { low: zero(), high: self.range(*a, at, depth).high });
                }
                Some(Range { low: zero(), high: sub(&b.high, &number(1))? })
            }
            (Op::BitwiseAnd, [a, b]) => {
                let (a, b) = (self.range(*a, at, depth).high, self.range(*b, at, depth).high);
                let high = match (value_of(&a), value_of(&b)) {
                    (Some(a), Some(b)) => number(a.min(b)),
                    (Some(a), None) => number(a),
                    (None, Some(b)) => number(b),
                    (None, None) => min(&a, &b),
                };
                Some(Range { low: zero(), high })
            }
            (Op::BitwiseOr | Op::BitwiseXor, [a, b]) => {
                let (a, b) = self.both(*a, *b, at, depth);
                let high = add(&a.high, &b.high)?;
                let low = if inst.op == Op::BitwiseOr { max(&a.low, &b.low) } else { zero() };
                self.fits(&high, width).then_some(Range { low, high })
            }
            (Op::UConvert, [a]) => {
                let a = self.range(*a, at, depth);
                self.fits(&a.high, width).then_some(a)
            }
            (Op::SConvert, [a]) => {
                let own = self.width(*a);
                let a = self.range(*a, at, depth);
                (self.at_most(&a.high, &number(mask(own) / 2)) && self.fits(&a.high, width)).then_some(a)
            }
            (Op::Select, [_, a, b]) => {
                let (a, b) = self.both(*a, *b, at, depth);
                Some(a.or(&b))
            }
            (Op::CompositeExtract, [vector, axis]) => self.built_in(*vector, *axis),
            (Op::ExtInst, [_, function, rest @ ..]) => match (*function, rest) {
                (library::U_MIN, [a, b]) => {
                    let (a, b) = self.both(*a, *b, at, depth);
                    Some(Range { low: min(&a.low, &b.low), high: min(&a.high, &b.high) })
                }
                (library::U_MAX, [a, b]) => {
                    let (a, b) = self.both(*a, *b, at, depth);
                    Some(Range { low: max(&a.low, &b.low), high: max(&a.high, &b.high) })
                }
                (library::U_SUB_SAT, [a, _]) => {
                    Some(Range { low: zero(), high: self.range(*a, at, depth).high })
                }
                (library::U_MUL_HI, [a, b]) => {
                    let (a, b) = self.both(*a, *b, at, depth);
                    self.product(&a, &b, width)?;
                    Some(Range { low: zero(), high: zero() })
                }
                (library::CLZ | library::CTZ, _) => Some(Range { low: zero(), high: number(width.into()) }),
                _ => None,
            },
            _ => None,
        }
    }

    /// A part of a built-in vector.
    fn built_in(&mut self, vector: u32, axis: u32) -> Option<Range> {
        let (_, load) = self.defined.get(&vector).filter(|(_, inst)| inst.op == Op::Load)?;
        let what = self.builder.built_in_of(*load.operands.first()?)?;
        let of = |what| Rc::new(Known::BuiltIn(what, axis));
        let group = self.group.and_then(|sizes| sizes.get(axis as usize).copied()).map(u64::from);
        let (low, end) = match what {
            BuiltIn::GlobalInvocationId => {
                self.conditions.extend(no_offset(self.dimensions));
                (number(0), of(BuiltIn::GlobalSize))
            }
            BuiltIn::LocalInvocationId => {
                (number(0), group.map_or_else(|| of(BuiltIn::WorkgroupSize), number))
            }
            BuiltIn::WorkgroupId => (number(0), of(BuiltIn::NumWorkgroups)),
            BuiltIn::GlobalOffset => {
                self.conditions.extend(no_offset(self.dimensions));
                return Some(Range { low: number(0), high: number(0) });
            }
            BuiltIn::GlobalSize | BuiltIn::NumWorkgroups => {
                return Some(Range { low: of(what), high: of(what) });
            }
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => {
                let size = group.map_or_else(|| of(what), number);
                return Some(Range {
                    low: if group.is_some() { number(1) } else { size.clone() },
                    high: size,
                });
            }
            _ => return None,
        };
        Some(Range { low, high: sub(&end, &number(1))? })
    }

    /// The range of a value that several blocks give.
    fn phi(&mut self, inst: &Inst, block: usize, width: u32, depth: u32) -> Option<Range> {
        let id = inst.result?.1.word();
        if !self.visited.insert(id) {
            return None;
        }
        let range = self.phi_of(inst, block, width, depth);
        self.visited.remove(&id);
        range
    }

    fn phi_of(&mut self, inst: &Inst, block: usize, width: u32, depth: u32) -> Option<Range> {
        let id = inst.result?.1.word();
        let (mut first, mut again): (Option<Range>, Vec<(u32, usize)>) = (None, Vec::new());
        for pair in inst.operands.chunks_exact(2) {
            let [value, label] = *pair else { return None };
            let from = *self.index.get(&label)?;
            if self.dominates(block, from) {
                again.push((value, from));
                continue;
            }
            let range = self.range(value, At { block: from, to: Some(block) }, depth);
            first = Some(first.map_or_else(|| range.clone(), |known| known.or(&range)));
        }
        let mut range = first?;
        for (value, latch) in again {
            range = self.repeated(id, value, block, latch, range, width, depth)?;
        }
        Some(range)
    }

    fn dominates(&self, above: usize, mut block: usize) -> bool {
        while block != above {
            match self.tree.above(block) {
                Some(next) => block = next,
                None => return false,
            }
        }
        true
    }

    /// The range of a value that each iteration of a loop changes.
    #[expect(clippy::too_many_arguments, reason = "a value, its next, and the loop")]
    fn repeated(
        &mut self,
        id: u32,
        next: u32,
        header: usize,
        latch: usize,
        first: Range,
        width: u32,
        depth: u32,
    ) -> Option<Range> {
        if next == id {
            return Some(first);
        }
        let (at, inst) = self.defined.get(&next).copied()?;
        let operands = inst.operands.as_slice();
        match (inst.op, operands) {
            (Op::ShiftRightLogical | Op::UDiv, [a, by]) if *a == id => {
                let by = self.constant(*by);
                let divisor =
                    if inst.op == Op::UDiv { by } else { by.and_then(|by| 1_u64.checked_shl(by as u32)) };
                let facts = self.facts_at(At { block: latch, to: Some(header) });
                let is_positive = self.is_at_least(&facts, next, 1)
                    || divisor.is_some_and(|divisor| self.is_at_least(&facts, id, divisor));
                let low = if is_positive { min(&first.low, &number(1)) } else { number(0) };
                Some(Range { low, high: first.high })
            }
            (Op::UMod, [a, _]) if *a == id => Some(Range { low: number(0), high: first.high }),
            (Op::BitwiseAnd, [a, b]) if *a == id || *b == id => {
                Some(Range { low: number(0), high: first.high })
            }
            (Op::IAdd, [a, b]) if *a == id || *b == id => {
                let step = if *a == id { *b } else { *a };
                if self.constant(step) == Some(mask(width)) {
                    let times = self.downwards(id, next, header, latch, &first)?;
                    return Some(Range { low: number(times.0), high: first.high });
                }
                let step = self.range(step, At { block: at, to: None }, depth);
                // A step that is less than 0 would have to be known as one.
                if value_of(&step.high).is_some_and(|high| high > mask(width) / 2) {
                    return None;
                }
                let times = self.times_again(header, latch, depth)?;
                let high = add(&first.high, &mul(&step.high, &times)?)?;
                self.fits(&high, width).then_some(Range { low: first.low, high })
            }
            _ => None,
        }
    }

    /// Whether one of some facts tells that a value is at least a number.
    fn is_at_least(&self, facts: &[Fact], value: u32, least: u64) -> bool {
        facts.iter().any(|fact| self.least(fact, value) >= Some(least))
    }

    /// What a fact tells that a value is at least.
    fn least(&self, fact: &Fact, value: u32) -> Option<u64> {
        match *fact {
            Fact::Unequal(a, b) if a == value || b == value => {
                let other = if a == value { b } else { a };
                (self.constant(other) == Some(0)).then_some(1)
            }
            Fact::Less(a, b) if b == value => Some(self.constant(a)?.saturating_add(1)),
            Fact::AtMost(a, b) if b == value => self.constant(a),
            _ => None,
        }
    }

    /// What a value is at least that is one less with each iteration, and how often it is, at most.
    fn downwards(
        &mut self,
        id: u32,
        next: u32,
        header: usize,
        latch: usize,
        first: &Range,
    ) -> Option<(u64, Bound)> {
        let facts = self.facts_at(At { block: latch, to: Some(header) });
        let (is_before, is_after) = (self.is_at_least(&facts, id, 1), self.is_at_least(&facts, next, 1));
        if is_before {
            return Some((0, first.high.clone()));
        }
        // At least 1, now and at first.
        (is_after && self.at_most(&number(1), &first.low)).then_some(())?;
        Some((1, sub(&first.high, &number(1))?))
    }

    /// How often a loop is gone through again, at most.
    fn times_again(&mut self, header: usize, latch: usize, depth: u32) -> Option<Bound> {
        let label = self.blocks.get(latch)?.label.word();
        let phis = &self.blocks.get(header)?.phis;
        let backward = self.before.get(header)?.iter().filter(|from| self.dominates(header, **from)).count();
        if backward != 1 {
            return None;
        }
        let facts = self.facts_at(At { block: latch, to: Some(header) });
        for phi in phis {
            let held = self.conditions.len();
            if let Some(times) = self.times_by(phi, header, latch, label, &facts, depth) {
                return Some(times);
            }
            self.conditions.truncate(held);
        }
        None
    }

    /// The same by one value that each iteration changes.
    fn times_by(
        &mut self,
        phi: &Inst,
        header: usize,
        latch: usize,
        label: u32,
        facts: &[Fact],
        depth: u32,
    ) -> Option<Bound> {
        let (ty, id) = phi.result?;
        let (id, width) = (id.word(), self.builder.int_width(ty)?);
        let (mut first, mut next) = (None, None);
        for pair in phi.operands.chunks_exact(2) {
            let [value, from] = *pair else { return None };
            if from == label {
                next = Some(value);
            } else if first.is_none() {
                first = Some((value, *self.index.get(&from)?));
            } else {
                return None;
            }
        }
        let ((first, from), next) = (first?, next?);
        let (_, inst) = self.defined.get(&next).copied()?;
        let (Op::IAdd, [a, b]) = (inst.op, inst.operands.as_slice()) else { return None };
        let step = if *a == id {
            self.constant(*b)?
        } else if *b == id {
            self.constant(*a)?
        } else {
            return None;
        };
        let first = self.range(first, At { block: from, to: Some(header) }, depth);
        if step == mask(width) {
            return self.downwards(id, next, header, latch, &first).map(|(_, times)| times);
        }
        if step == 0 || step > mask(width) / 2 {
            return None;
        }
        for fact in facts {
            let (value, end, less) = match *fact {
                Fact::Less(value, end) => (value, end, true),
                Fact::AtMost(value, end) => (value, end, false),
                // One step at a time meets the end.
                Fact::Unequal(a, b) if step == 1 && (a == id || a == next) => (a, b, true),
                Fact::Unequal(a, b) if step == 1 && (b == id || b == next) => (b, a, true),
                _ => continue,
            };
            if value != id && value != next {
                continue;
            }
            if !self.is_before(end, header) {
                continue;
            }
            let end = self.range(end, At { block: from, to: Some(header) }, depth);
            if matches!(fact, Fact::Unequal(..)) {
                // It begins before the end, or the end is met by none of its values.
                let least = if value == id { first.high.clone() } else { add(&first.high, &number(1))? };
                if !self.at_most(&least, &end.low) {
                    continue;
                }
            }
            // The value at the last edge back is at most this.
            let last = if less { sub(&end.high, &number(1))? } else { end.high };
            let span = sub(&last, &first.low)?;
            let steps = div(&span, &number(step))?;
            // `next` is one step ahead. None of the values may overflow.
            let highest = add(&max(&first.high, &last), &number(step))?;
            let fits = self.fits(&highest, width);
            fits.then_some(())?;
            return if value == id { add(&steps, &number(1)) } else { Some(steps) };
        }
        None
    }

    /// Whether a value is calculated before a loop.
    fn is_before(&self, id: u32, header: usize) -> bool {
        match self.defined.get(&id) {
            Some((block, _)) => *block != header && self.dominates(*block, header),
            None => true,
        }
    }
}

fn full(width: u32) -> Range {
    Range { low: number(0), high: number(mask(width)) }
}

/// What it tells that a comparison has a value.
fn fact(inst: &Inst, value: bool) -> Option<Fact> {
    let [a, b] = *inst.operands.as_slice() else { return None };
    Some(match (inst.op, value) {
        (Op::ULessThan, true) | (Op::UGreaterThanEqual, false) => Fact::Less(a, b),
        (Op::UGreaterThan, true) | (Op::ULessThanEqual, false) => Fact::Less(b, a),
        (Op::ULessThanEqual, true) | (Op::UGreaterThan, false) => Fact::AtMost(a, b),
        (Op::UGreaterThanEqual, true) | (Op::ULessThan, false) => Fact::AtMost(b, a),
        (Op::IEqual, true) | (Op::INotEqual, false) => Fact::Equal(a, b),
        (Op::INotEqual, true) | (Op::IEqual, false) => Fact::Unequal(a, b),
        _ => return None,
    })
}
