//! Atomic operations with their scopes and orders.
//!
//! PTX has relaxed, acquire and release operations and their union. What is sequentially consistent
//! gets a `fence.sc` before it, as the mapping of C++ to PTX's memory model asks for.

use oclave_spirv::{Instruction, Op};

use super::barrier::{
    ACQUIRE, ACQUIRE_RELEASE, CROSS_DEVICE, RELEASE, SEQUENTIALLY_CONSISTENT, scope_suffix,
};
use super::reduce::Combine;
use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::facts::is_access_chain;
use crate::operand::{Class, Kind, Operand, Space, Ty};

/// Where and how an atomic operation works.
#[derive(Debug, Clone, Copy)]
struct Place {
    address: Operand,
    space: Space,
    scope: &'static str,
    order: &'static str,
}

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn atomic(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let [pointer, scope, semantics] = self.ids(instruction, 0)?;
        let scope = self.known(scope, CROSS_DEVICE)?;
        let semantics = self.known(semantics, SEQUENTIALLY_CONSISTENT)?;
        let space = self.space_of(pointer)?;
        if space == Space::Param {
            return Err(Stop::unsupported("atomic operations on input variables"));
        }
        let address = self.scalar(pointer)?;
        let address = self.in_register(address, Class::B64);
        if space == Space::Local {
            return self.private_atomic(instruction, op, address);
        }
        // C11's functions take generic pointers, also to private variables.
        if space == Space::Generic && self.is_made_of_private(pointer) {
            let generic = address;
            let address = self.register(Class::B64);
            ptx!(self, "cvta.to.local.u64 {address}, {generic}");
            return self.private_atomic(instruction, op, address);
        }
        let order = self.begin(op, scope, semantics);
        let place = Place { address, space, scope: scope_suffix(scope), order };
        match op {
            Op::AtomicLoad => self.atomic_load(instruction, place),
            Op::AtomicStore => {
                let value = self.id(instruction, 3)?;
                self.atomic_store(value, place)
            }
            Op::AtomicFlagClear => {
                self.line(format_args!(
                    "st.{}.{}{}.b32 [{address}], 0",
                    place.order,
                    place.scope,
                    space.suffix()
                ));
                Ok(())
            }
            Op::AtomicFlagTestAndSet => {
                let (id, _) = self.result(instruction)?;
                let old = self.exchange(place, "exch", Ty::B32, Class::B32, Operand::Immediate(1));
                let was = self.compare("ne", Ty::S32, old, Operand::Immediate(0));
                self.bind(id, &[was])
            }
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
                self.compare_exchange(instruction, place)
            }
            _ => self.read_modify_write(instruction, op, place),
        }
    }

    /// Writes the fence of sequential consistency, and tells the order of the operation itself.
    fn begin(&mut self, op: Op, scope: u64, semantics: u64) -> &'static str {
        let sequential = semantics & SEQUENTIALLY_CONSISTENT != 0;
        if sequential {
            ptx!(self, "fence.sc.{}", scope_suffix(scope));
        }
        let acquires = sequential || semantics & (ACQUIRE | ACQUIRE_RELEASE) != 0;
        let releases = sequential || semantics & (RELEASE | ACQUIRE_RELEASE) != 0;
        match op {
            Op::AtomicLoad if acquires => "acquire",
            Op::AtomicStore | Op::AtomicFlagClear if releases => "release",
            Op::AtomicLoad | Op::AtomicStore | Op::AtomicFlagClear => "relaxed",
            _ => match (acquires, releases) {
                (true, true) => "acq_rel",
                (true, false) => "acquire",
                (false, true) => "release",
                (false, false) => "relaxed",
            },
        }
    }

    fn exchange(&mut self, place: Place, name: &str, ty: Ty, class: Class, value: Operand) -> Operand {
        let value = self.in_register(value, class);
        let d = self.register(class);
        let Place { address, space, scope, order } = place;
        ptx!(self, "atom.{order}.{scope}{}.{name}.{ty} {d}, [{address}], {value}", space.suffix());
        d
    }

    fn atomic_load(&mut self, instruction: &Instruction<'m>, place: Place) -> Step {
        let (id, ty) = self.result(instruction)?;
        let kind = self.cx.shapes.kind(ty)?;
        let d = self.register(kind.class());
        let Place { address, space, scope, order } = place;
        let ty = self.memory_type(kind)?;
        ptx!(self, "ld.{order}.{scope}{}.{ty} {d}, [{address}]", space.suffix());
        self.bind(id, &[d])
    }

    fn atomic_store(&mut self, value: u32, place: Place) -> Step {
        let kind = self.kind_of(value)?;
        let value = self.scalar(value)?;
        let value = self.in_register(value, kind.class());
        let Place { address, space, scope, order } = place;
        let ty = self.memory_type(kind)?;
        ptx!(self, "st.{order}.{scope}{}.{ty} [{address}], {value}", space.suffix());
        Ok(())
    }

    fn memory_type(&self, kind: Kind) -> Step<Ty> {
        match kind {
            Kind::Bool | Kind::F16 => Err(Stop::unsupported("atomic operations on values of this type")),
            kind => Ok(kind.memory()),
        }
    }

    fn compare_exchange(&mut self, instruction: &Instruction<'m>, place: Place) -> Step {
        let (id, ty) = self.result(instruction)?;
        let kind = self.cx.shapes.kind(ty)?;
        let [value, comparator] = self.ids(instruction, 4)?;
        let (value, comparator) = (self.scalar(value)?, self.scalar(comparator)?);
        let old = self.compare_and_swap(place, kind, comparator, value)?;
        self.bind(id, &[old])
    }

    fn compare_and_swap(
        &mut self,
        place: Place,
        kind: Kind,
        expected: Operand,
        new: Operand,
    ) -> Step<Operand> {
        if kind.is_narrow() || matches!(kind, Kind::Bool | Kind::F16) {
            return Err(Stop::unsupported("atomic operations need 32 or 64 bits"));
        }
        let (expected, new) = (self.in_register(expected, kind.class()), self.in_register(new, kind.class()));
        let d = self.register(kind.class());
        let Place { address, space, scope, order } = place;
        ptx!(
            self,
            "atom.{order}.{scope}{}.cas.{} {d}, [{address}], {expected}, {new}",
            space.suffix(),
            kind.untyped()
        );
        Ok(d)
    }

    fn read_modify_write(&mut self, instruction: &Instruction<'m>, op: Op, place: Place) -> Step {
        let (id, ty) = self.result(instruction)?;
        let kind = self.cx.shapes.kind(ty)?;
        if kind.is_narrow() || matches!(kind, Kind::Bool | Kind::F16) {
            return Err(Stop::unsupported("atomic operations need 32 or 64 bits"));
        }
        let (combine, value) = self.combination(instruction, op, kind)?;
        let (name, ty) = match combine {
            None => ("exch", kind.untyped()),
            // Wrapping sums have no sign, and PTX has none for signed numbers of 64 bits.
            Some(Combine::Add) if !kind.is_float() => ("add", kind.unsigned()),
            Some(Combine::Add) => ("add", kind.float()),
            Some(Combine::SMin) => ("min", kind.signed()),
            Some(Combine::UMin) => ("min", kind.unsigned()),
            Some(Combine::SMax) => ("max", kind.signed()),
            Some(Combine::UMax) => ("max", kind.unsigned()),
            Some(Combine::And) => ("and", kind.untyped()),
            Some(Combine::Or) => ("or", kind.untyped()),
            Some(Combine::Xor) => ("xor", kind.untyped()),
            Some(combine) => {
                let old = self.float_extremum(place, kind, value, combine == Combine::FMin)?;
                return self.bind(id, &[old]);
            }
        };
        let old = self.exchange(place, name, ty, kind.class(), value);
        self.bind(id, &[old])
    }

    /// How an operation makes the new value of the old one and another; without a combination the
    /// other is the new value.
    fn combination(
        &mut self,
        instruction: &Instruction<'m>,
        op: Op,
        kind: Kind,
    ) -> Step<(Option<Combine>, Operand)> {
        let value = match op {
            Op::AtomicIIncrement => Operand::Immediate(1),
            Op::AtomicIDecrement => Operand::Immediate(kind.mask()),
            _ => {
                let value = self.id(instruction, 3)?;
                self.scalar(value)?
            }
        };
        let combine = match op {
            Op::AtomicExchange => return Ok((None, value)),
            Op::AtomicFAddEXT if kind.is_float() => Combine::Add,
            Op::AtomicFMinEXT if kind.is_float() => Combine::FMin,
            Op::AtomicFMaxEXT if kind.is_float() => Combine::FMax,
            _ if kind.is_float() => {
                return Err(Stop::Broken("an atomic operation on a value of another type"));
            }
            Op::AtomicIIncrement | Op::AtomicIDecrement | Op::AtomicIAdd => Combine::Add,
            Op::AtomicISub => {
                let negated = self.op1(kind.class(), &format!("neg.{}", kind.signed()), kind.signed(), value);
                return Ok((Some(Combine::Add), negated));
            }
            Op::AtomicSMin => Combine::SMin,
            Op::AtomicUMin => Combine::UMin,
            Op::AtomicSMax => Combine::SMax,
            Op::AtomicUMax => Combine::UMax,
            Op::AtomicAnd => Combine::And,
            Op::AtomicOr => Combine::Or,
            Op::AtomicXor => Combine::Xor,
            _ => return Err(Stop::Broken("an atomic operation on a value of another type")),
        };
        Ok((Some(combine), value))
    }

    /// Whether a generic pointer is the address of a private variable, or of a part of one.
    fn is_made_of_private(&mut self, mut pointer: u32) -> bool {
        for _ in 0..16 {
            match self.space_of(pointer) {
                Ok(Space::Generic) => {}
                space => return matches!(space, Ok(Space::Local)),
            }
            let Some(definition) = self.cx.definition(pointer) else { return false };
            let op = definition.op();
            let renames = is_access_chain(op)
                || matches!(op, Some(Op::PtrCastToGeneric | Op::Bitcast | Op::CopyObject));
            match definition.operand(0).filter(|_| renames) {
                Some(of) => pointer = of,
                None => return false,
            }
        }
        false
    }

    /// The operation on a private variable, for which PTX has none. No other work-item sees the
    /// variable, so that a load and a store do.
    fn private_atomic(&mut self, instruction: &Instruction<'m>, op: Op, address: Operand) -> Step {
        let space = Space::Local;
        let kind = match (op, instruction.result_type()) {
            (Op::AtomicStore, _) => {
                let value = self.id(instruction, 3)?;
                self.kind_of(value)?
            }
            (Op::AtomicFlagClear | Op::AtomicFlagTestAndSet, _) => Kind::I32,
            (_, ty) => self.cx.shapes.kind(need(ty)?)?,
        };
        self.memory_type(kind)?;
        let put = |body: &mut Self, value| {
            body.store_one(space, address, 0, kind, value, kind.bytes(), Default::default());
        };
        match op {
            Op::AtomicStore => {
                let value = self.id(instruction, 3)?;
                let value = self.scalar(value)?;
                put(self, value);
                return Ok(());
            }
            Op::AtomicFlagClear => {
                put(self, Operand::Immediate(0));
                return Ok(());
            }
            _ => {}
        }
        let (id, _) = self.result(instruction)?;
        let old = self.load_one(space, address, 0, kind, kind.bytes(), Default::default());
        let new = match op {
            Op::AtomicLoad => return self.bind(id, &[old]),
            Op::AtomicFlagTestAndSet => {
                put(self, Operand::Immediate(1));
                let was = self.compare("ne", Ty::S32, old, Operand::Immediate(0));
                return self.bind(id, &[was]);
            }
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
                let [value, comparator] = self.ids(instruction, 4)?;
                let (value, comparator) = (self.scalar(value)?, self.scalar(comparator)?);
                let same = self.compare("eq", kind.untyped(), old, comparator);
                self.pick(kind, same, value, old)
            }
            _ => match self.combination(instruction, op, kind)? {
                (None, value) => value,
                (Some(combine), value) => self.combined(combine, kind, old, value),
            },
        };
        put(self, new);
        self.bind(id, &[old])
    }

    /// Minimum and maximum of floating-point numbers: tried until nothing came between.
    fn float_extremum(&mut self, place: Place, kind: Kind, value: Operand, smallest: bool) -> Step<Operand> {
        let value = self.in_register(value, kind.class());
        let (again, done) = (self.new_label(), self.new_label());
        let old = self.register(kind.class());
        let Place { address, space, scope, .. } = place;
        ptx!(self, "ld.relaxed.{scope}{}.{} {old}, [{address}]", space.suffix(), kind.untyped());
        self.label(&again);
        let name = if smallest { "min" } else { "max" };
        let new = self.op2(kind.class(), &format!("{name}.{}", kind.float()), kind.float(), old, value);
        let seen = self.compare_and_swap(place, kind, old, new)?;
        let same = self.compare("eq", kind.untyped(), seen, old);
        ptx!(self, "@{same} bra {done}");
        self.copy(old, kind.class(), seen);
        ptx!(self, "bra.uni {again}");
        self.label(&done);
        Ok(old)
    }
}
