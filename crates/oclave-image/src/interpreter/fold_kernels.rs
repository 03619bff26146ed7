//! Reductions and scans as kernels of their own.
//!
//! The order in which elements are combined depends on their number alone, so that results do not depend on how a device
//! runs work-items.

use super::emit::{Body, builtin_variable};
use crate::{Result, Scalar};
use oclave_spirv::{
    BuiltIn, Capability, Declarations, Decoration, Definitions, Editor, Module, Op, SCOPE_WORKGROUP, Section,
    StorageClass, Version,
};

/// How a reduction or a scan combines elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fold {
    /// The sum; of integers without the bits that do not fit.
    Sum,
    /// The product, in the same way.
    Product,
    /// The smallest. Floating-point numbers that are none are left out.
    Min,
    /// The largest, in the same way.
    Max,
    /// The bits that all have; of integers.
    And,
    /// The bits that at least one has; of integers.
    Or,
    /// The bits that an odd number of them has; of integers.
    Xor,
    /// One if an element is not zero, else zero.
    Any,
    /// One if no element is zero, else zero.
    All,
}

/// Work-items of the group that the kernels for many elements have.
pub const FOLD_GROUP: usize = 256;

/// Values that one work-item combines side by side.
const LANES: usize = 8;

const LOCAL_MEMORY: u64 = 0x100 | 0x8;

/// Of a parameter: memory that is not written through it.
const NO_WRITE: u32 = 6;

/// The kernels of a module of [`fold_kernels`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldKernel {
    /// One work-item combines all elements.
    Reduce,
    /// One group of [`FOLD_GROUP`] does.
    ReduceByGroup,
    /// One work-item writes what the elements up to each come to.
    Scan,
    /// One group of [`FOLD_GROUP`] does.
    ScanByGroup,
}

impl FoldKernel {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reduce, Self::ReduceByGroup, Self::Scan, Self::ScanByGroup];

    /// The kernel's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reduce => "__oclave_reduce",
            Self::ReduceByGroup => "__oclave_reduce_group",
            Self::Scan => "__oclave_scan",
            Self::ScanByGroup => "__oclave_scan_group",
        }
    }

    const fn has_group(self) -> bool {
        matches!(self, Self::ReduceByGroup | Self::ScanByGroup)
    }
}

/// A module with a kernel for each [`FoldKernel`]; `None` for bits of floating-point numbers.
///
/// ```text
/// kernel void __oclave_reduce(global T *from, ulong count, global T *to)
/// kernel void __oclave_reduce_group(global T *from, ulong count, global T *to, local T *shared)
/// ```
/// Those for a group need memory for [`FOLD_GROUP`] elements. Scans have the same parameters.
///
/// # Errors
/// As [`Editor::finish`].
pub fn fold_kernels(op: Fold, scalar: Scalar) -> Result<Option<Module>> {
    let is_float = matches!(scalar, Scalar::F16 | Scalar::F32 | Scalar::F64);
    if is_float && matches!(op, Fold::And | Fold::Or | Fold::Xor) {
        return Ok(None);
    }
    let empty = Module::empty(Version::V1_0);
    let definitions = Definitions::new(&empty);
    let mut new = Editor::new(&definitions);
    new.kernel_header(&[Capability::Kernel, Capability::Addresses]);
    let item = builtin_variable(&mut new, BuiltIn::LocalInvocationId);
    let bits = scalar.size_bytes() * 8;
    let element = if is_float { new.float_type(bits) } else { new.int_type(bits) };
    let fold = Shared {
        op,
        scalar,
        is_float,
        element,
        global: new.pointer_type(StorageClass::CrossWorkgroup, element),
        local: new.pointer_type(StorageClass::Workgroup, element),
        identity: constant(&mut new, element, scalar, identity(op, scalar)),
        zero: constant(&mut new, element, scalar, 0),
        one: constant(&mut new, element, scalar, one(scalar)),
    };
    for kernel in FoldKernel::ALL {
        let function = new.fresh_id();
        let ulong = new.int_type(64);
        let parameters = [fold.global, ulong, fold.global, fold.local];
        let count = if kernel.has_group() { 4 } else { 3 };
        let (mut body, ids, _) =
            Body::new(&mut new, function, parameters.get(..count).unwrap_or_default(), &[]);
        if let Some(from) = ids.first() {
            body.new.decorate(*from, Decoration::FuncParamAttr, &[NO_WRITE]);
        }
        match (kernel, ids.as_slice()) {
            (FoldKernel::Reduce, &[from, count, to]) => fold.reduce(&mut body, from, count, to),
            (FoldKernel::Scan, &[from, count, to]) => fold.scan(&mut body, from, count, to),
            (FoldKernel::ReduceByGroup, &[from, count, to, shared]) => {
                let [own, _, _] = body.components(item);
                fold.reduce_by_group(&mut body, [from, count, to], shared, own);
            }
            (FoldKernel::ScanByGroup, &[from, count, to, shared]) => {
                let [own, _, _] = body.components(item);
                fold.scan_by_group(&mut body, [from, count, to], shared, own);
            }
            _ => {}
        }
        body.finish();
        new.entry_point(function, kernel.name(), &[item]);
    }
    Ok(new.finish()?)
}

/// The bits of a number of ones and zeroes.
fn one(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::F16 => 0x3c00,
        Scalar::F32 => 1.0_f32.to_bits().into(),
        Scalar::F64 => 1.0_f64.to_bits(),
        _ => 1,
    }
}

/// The bits of what changes nothing.
fn identity(op: Fold, scalar: Scalar) -> u64 {
    let bits = scalar.size_bytes() * 8;
    let all = u64::MAX >> (64 - bits);
    let is_signed = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
    let (infinity, sign) = match scalar {
        Scalar::F16 => (Some(0x7c00), 1 << 15),
        Scalar::F32 => (Some(f32::INFINITY.to_bits().into()), 1 << 31),
        Scalar::F64 => (Some(f64::INFINITY.to_bits()), 1 << 63),
        _ => (None, 1 << (bits - 1)),
    };
    match (op, infinity) {
        (Fold::Sum | Fold::Or | Fold::Xor | Fold::Any, _) => 0,
        (Fold::Product | Fold::All, _) => one(scalar),
        (Fold::And, _) => all,
        (Fold::Min, Some(infinity)) => infinity,
        (Fold::Max, Some(infinity)) => infinity | sign,
        (Fold::Min, None) => all >> u32::from(is_signed),
        (Fold::Max, None) => {
            if is_signed {
                sign
            } else {
                0
            }
        }
    }
}

fn constant(new: &mut Declarations<'_>, ty: u32, scalar: Scalar, bits: u64) -> u32 {
    let id = new.fresh_id();
    let low = match scalar {
        // Narrow integers are extended by their sign, which a type without one takes for zero.
        Scalar::I8 | Scalar::U8 => bits as u32 & 0xff,
        Scalar::I16 | Scalar::U16 => bits as u32 & 0xffff,
        _ => bits as u32,
    };
    let words = [ty, id, low, (bits >> 32) as u32];
    let count = if scalar.size_bytes() == 8 { 4 } else { 3 };
    new.push_in(Section::Types, Op::Constant, words.get(..count).unwrap_or(&words));
    id
}

/// What the kernels of a module have in common.
struct Shared {
    op: Fold,
    scalar: Scalar,
    is_float: bool,
    element: u32,
    /// Types of pointers to elements.
    global: u32,
    local: u32,
    identity: u32,
    zero: u32,
    one: u32,
}

impl Shared {
    fn align(&self) -> u32 {
        self.scalar.size_bytes()
    }

    /// What two come to.
    fn combine(&self, body: &mut Body<'_, '_>, a: u32, b: u32) -> u32 {
        let is_signed = matches!(self.scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
        let op = match (self.op, self.is_float) {
            (Fold::Sum, false) => Op::IAdd,
            (Fold::Sum, true) => Op::FAdd,
            (Fold::Product, false) => Op::IMul,
            (Fold::Product, true) => Op::FMul,
            (Fold::And, _) => Op::BitwiseAnd,
            (Fold::Or, _) => Op::BitwiseOr,
            (Fold::Xor, _) => Op::BitwiseXor,
            (Fold::Min | Fold::Max | Fold::Any | Fold::All, _) => {
                // A number that is none is never less than another one.
                let less = match (self.is_float, is_signed) {
                    (true, _) => Op::FOrdLessThan,
                    (false, true) => Op::SLessThan,
                    (false, false) => Op::ULessThan,
                };
                let pair = if matches!(self.op, Fold::Min | Fold::All) { [b, a] } else { [a, b] };
                let bool = body.new.bool_type();
                let takes_b = body.value(less, bool, &pair);
                return body.value(Op::Select, self.element, &[takes_b, b, a]);
            }
        };
        body.value(op, self.element, &[a, b])
    }

    /// Combines a value with an element of memory.
    fn take(&self, body: &mut Body<'_, '_>, value: u32, from: u32, index: u32) -> u32 {
        let place = body.element(self.global, from, index);
        let mut element = body.load(self.element, place, self.align());
        if matches!(self.op, Fold::Any | Fold::All) {
            let differs = if self.is_float { Op::FUnordNotEqual } else { Op::INotEqual };
            let bool = body.new.bool_type();
            let is_set = body.value(differs, bool, &[element, self.zero]);
            element = body.value(Op::Select, self.element, &[is_set, self.one, self.zero]);
        }
        self.combine(body, value, element)
    }

    fn reduce(&self, body: &mut Body<'_, '_>, from: u32, count: u32, to: u32) {
        let [zero, one, lanes] = [0, 1, LANES as u64].map(|value| body.constant(value));
        let mask = body.constant(!(LANES as u64 - 1));
        let whole = body.arithmetic(Op::BitwiseAnd, count, mask);
        let first = [(self.element, self.identity); LANES];
        let mut rounds = body.begin_loop_with([zero, whole, lanes], &first);
        let mut values: [u32; LANES] = rounds.carried();
        let before = values;
        for (lane, value) in (0..).zip(&mut values) {
            let lane = body.constant(lane);
            let index = body.add(rounds.index, lane);
            *value = self.take(body, *value, from, index);
        }
        rounds.give(&values);
        body.end_loop(&rounds);
        let mut values = before.to_vec();
        while values.len() > 1 {
            let half = values.split_off(values.len() / 2);
            values = values.into_iter().zip(half).map(|(a, b)| self.combine(body, a, b)).collect();
        }
        let together = values.first().copied().unwrap_or(self.identity);
        let mut rest = body.begin_loop_with([whole, count, one], &[(self.element, together)]);
        let [value] = rest.carried();
        let next = self.take(body, value, from, rest.index);
        rest.give(&[next]);
        body.end_loop(&rest);
        body.store(to, value, self.align());
    }

    fn scan(&self, body: &mut Body<'_, '_>, from: u32, count: u32, to: u32) {
        let zero = body.constant(0);
        self.scan_part(body, [zero, count], from, to, self.identity);
    }

    /// Writes what elements of a part come to, each with those before it and a value.
    fn scan_part(&self, body: &mut Body<'_, '_>, [begin, end]: [u32; 2], from: u32, to: u32, first: u32) {
        let one = body.constant(1);
        let mut rounds = body.begin_loop_with([begin, end, one], &[(self.element, first)]);
        let [value] = rounds.carried();
        let next = self.take(body, value, from, rounds.index);
        let place = body.element(self.global, to, rounds.index);
        body.store(place, next, self.align());
        rounds.give(&[next]);
        body.end_loop(&rounds);
    }

    fn reduce_by_group(&self, body: &mut Body<'_, '_>, [from, count, to]: [u32; 3], shared: u32, own: u32) {
        let size = body.constant(FOLD_GROUP as u64);
        let mut rounds = body.begin_loop_with([own, count, size], &[(self.element, self.identity)]);
        let [mut value] = rounds.carried();
        let next = self.take(body, value, from, rounds.index);
        rounds.give(&[next]);
        body.end_loop(&rounds);
        let place = body.element(self.local, shared, own);
        body.store(place, value, self.align());
        let mask = body.constant(FOLD_GROUP as u64 - 1);
        let mut distance = FOLD_GROUP as u64 / 2;
        while distance > 0 {
            barrier(body);
            // All do the same, so that there is no branch; the first one's value counts.
            let by = body.constant(distance);
            let other = body.add(own, by);
            let other = body.arithmetic(Op::BitwiseAnd, other, mask);
            let other = body.element(self.local, shared, other);
            let other = body.load(self.element, other, self.align());
            value = self.combine(body, value, other);
            barrier(body);
            body.store(place, value, self.align());
            distance /= 2;
        }
        let zero = body.constant(0);
        let is_first = body.equal(own, zero);
        let end = body.new.fresh_id();
        body.branch_unless(is_first, end);
        body.store(to, value, self.align());
        body.branch(end);
        body.label(end);
    }

    fn scan_by_group(&self, body: &mut Body<'_, '_>, [from, count, to]: [u32; 3], shared: u32, own: u32) {
        let [zero, one] = [0, 1].map(|value| body.constant(value));
        let more = body.constant(FOLD_GROUP as u64 - 1);
        let shift = body.constant(u64::from(FOLD_GROUP.trailing_zeros()));
        let rounded = body.add(count, more);
        let part = body.arithmetic(Op::ShiftRightLogical, rounded, shift);
        let begin = body.multiply(own, part);
        let begin = body.minimum(begin, count);
        let end = body.add(begin, part);
        let end = body.minimum(end, count);
        let mut rounds = body.begin_loop_with([begin, end, one], &[(self.element, self.identity)]);
        let [value] = rounds.carried();
        let next = self.take(body, value, from, rounds.index);
        rounds.give(&[next]);
        body.end_loop(&rounds);
        let place = body.element(self.local, shared, own);
        body.store(place, value, self.align());
        barrier(body);
        let mut before = body.begin_loop_with([zero, own, one], &[(self.element, self.identity)]);
        let [value] = before.carried();
        let other = body.element(self.local, shared, before.index);
        let other = body.load(self.element, other, self.align());
        let next = self.combine(body, value, other);
        before.give(&[next]);
        body.end_loop(&before);
        self.scan_part(body, [begin, end], from, to, value);
    }
}

fn barrier(body: &mut Body<'_, '_>) {
    let [scope, semantics] = [SCOPE_WORKGROUP, LOCAL_MEMORY].map(|value| body.new.int_constant(32, value));
    body.push(Op::ControlBarrier, &[scope, scope, semantics]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::build::signatures::signatures;
    use oclave_spirv::check;

    #[test]
    fn the_modules_are_sound() {
        use Fold::{All, And, Any, Max, Min, Or, Product, Sum, Xor};
        for op in [Sum, Product, Min, Max, And, Or, Xor, Any, All] {
            for scalar in Scalar::ALL {
                let module = fold_kernels(op, scalar).unwrap();
                let is_float = matches!(scalar, Scalar::F16 | Scalar::F32 | Scalar::F64);
                assert_eq!(module.is_none(), is_float && matches!(op, And | Or | Xor));
                let Some(module) = module else { continue };
                check::check(&module).unwrap();
                let kernels = signatures(&module).unwrap();
                for kernel in FoldKernel::ALL {
                    let found = kernels.iter().find(|found| found.name == kernel.name()).unwrap();
                    assert_eq!(found.parameters.len(), if kernel.has_group() { 4 } else { 3 });
                }
            }
        }
    }

    #[test]
    fn identities_change_nothing() {
        assert_eq!(identity(Fold::Min, Scalar::I8), 0x7f);
        assert_eq!(identity(Fold::Max, Scalar::I8), 0x80);
        assert_eq!(identity(Fold::Min, Scalar::U64), u64::MAX);
        assert_eq!(identity(Fold::Min, Scalar::I64), i64::MAX as u64);
        assert_eq!(identity(Fold::Max, Scalar::F32), u64::from(f32::NEG_INFINITY.to_bits()));
        assert_eq!(identity(Fold::And, Scalar::U16), 0xffff);
    }
}
