//! What a kernel calculates when it starts, to choose between its versions.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::Op;

use super::builder::ValueId;
use super::function::Lower;
use super::ranges::{AtMost, Bound, Known, SMALL, most, without_implied};

/// The bounds that the kernel has calculated so far.
#[derive(Debug, Default)]
struct Calculated {
    values: BTreeMap<Bound, ValueId>,
    /// What must hold so that these are right.
    checks: Vec<ValueId>,
    /// Sizes and arguments that must be small for that.
    small: BTreeSet<Bound>,
}

impl Lower<'_, '_> {
    /// Whether conditions hold; `None` if there are none.
    pub(super) fn write_conditions(&mut self, conditions: Vec<AtMost>) -> Option<ValueId> {
        let mut calculated = Calculated::default();
        let mut zeroes = Vec::new();
        for (a, b) in without_implied(conditions) {
            let a = self.known(&a, &mut calculated);
            match *b {
                // Whether it can be calculated is checked.
                Known::Number(u64::MAX) => {}
                Known::Number(0) => zeroes.push(a),
                _ => {
                    let b = self.known(&b, &mut calculated);
                    let holds = self.compared(Op::ULessThanEqual, a, b);
                    calculated.checks.push(holds);
                }
            }
        }
        let small =
            calculated.small.iter().filter_map(|bound| calculated.values.get(bound).copied()).collect();
        for (values, limit) in [(zeroes, 0), (small, SMALL)] {
            let ulong = self.int(64);
            let bits = values.into_iter().reduce(|a, b| self.op(Op::BitwiseOr, ulong, &[a, b]));
            if let Some(bits) = bits {
                let limit = self.number(64, limit);
                let holds = self.compared(Op::ULessThanEqual, bits, limit);
                calculated.checks.push(holds);
            }
        }
        let bool = self.bool();
        calculated.checks.into_iter().reduce(|a, b| self.op(Op::LogicalAnd, bool, &[a, b]))
    }

    /// The one of two numbers for which a comparison with the other holds. Intel's compiler takes results of built-in
    /// functions for different in each work-item.
    fn chosen(&mut self, op: Op, a: ValueId, b: ValueId) -> ValueId {
        let (ulong, is_first) = (self.int(64), self.compared(op, a, b));
        self.op(Op::Select, ulong, &[is_first, a, b])
    }

    fn compared(&mut self, op: Op, a: ValueId, b: ValueId) -> ValueId {
        let bool = self.bool();
        self.op(op, bool, &[a, b])
    }

    fn both(&mut self, a: &Bound, b: &Bound, calculated: &mut Calculated) -> (ValueId, ValueId) {
        (self.known(a, calculated), self.known(b, calculated))
    }

    /// Calculates a bound, and what holds if it does not overflow.
    fn known(&mut self, bound: &Bound, calculated: &mut Calculated) -> ValueId {
        if let Some(id) = calculated.values.get(bound) {
            return *id;
        }
        let ulong = self.int(64);
        let fits = most(bound) <= u64::MAX.into();
        let id = match &**bound {
            Known::Number(value) => self.number(64, *value),
            Known::BuiltIn(what, axis) => self.built_in_part(*what, *axis),
            Known::Argument(id) => {
                let is_wide = self.arguments.into_iter().flatten().any(|a| a.id == *id && a.ty == ulong);
                if is_wide { *id } else { self.op(Op::UConvert, ulong, &[*id]) }
            }
            Known::Add(a, b) => {
                let (a, b) = self.both(a, b, calculated);
                let sum = self.op(Op::IAdd, ulong, &[a, b]);
                if fits {
                    bound.leaves(&mut calculated.small);
                } else {
                    calculated.checks.push(self.compared(Op::UGreaterThanEqual, sum, a));
                }
                sum
            }
            Known::Sub(a, b) => {
                let (a, b) = self.both(a, b, calculated);
                calculated.checks.push(self.compared(Op::UGreaterThanEqual, a, b));
                self.op(Op::ISub, ulong, &[a, b])
            }
            Known::Mul(a, b) => {
                let (a, b) = self.both(a, b, calculated);
                if fits {
                    bound.leaves(&mut calculated.small);
                } else {
                    // Factors of 32 bits are enough.
                    let bits = self.op(Op::BitwiseOr, ulong, &[a, b]);
                    let limit = self.number(64, u32::MAX.into());
                    calculated.checks.push(self.compared(Op::ULessThanEqual, bits, limit));
                }
                self.op(Op::IMul, ulong, &[a, b])
            }
            Known::Div(a, divisor) => {
                let (a, mut b) = self.both(a, divisor, calculated);
                if !matches!(**divisor, Known::Number(_)) {
                    let one = self.number(64, 1);
                    calculated.checks.push(self.compared(Op::UGreaterThanEqual, b, one));
                    b = self.chosen(Op::UGreaterThan, b, one);
                }
                self.op(Op::UDiv, ulong, &[a, b])
            }
            Known::Min(a, b) => {
                let (a, b) = self.both(a, b, calculated);
                self.chosen(Op::ULessThan, a, b)
            }
            Known::Max(a, b) => {
                let (a, b) = self.both(a, b, calculated);
                self.chosen(Op::UGreaterThan, a, b)
            }
        };
        calculated.values.insert(bound.clone(), id);
        id
    }
}
