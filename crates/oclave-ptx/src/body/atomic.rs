//! Atomic operations with their scopes and orders.
//!
//! PTX has relaxed, acquire and release operations and their union. What is sequentially consistent gets a `fence.sc`
//! before it, as the mapping of C++ to PTX's memory model asks for.

use oclave_image::spirv::{Instruction, Op};

use super::barrier::{
    ACQUIRE, ACQUIRE_RELEASE, CROSS_DEVICE, RELEASE, SEQUENTIALLY_CONSISTENT, scope_suffix,
};
use super::{Body, ptx};
use crate::error::{Step, Stop};
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
        let order = self.begin(op, scope, semantics);
        let place = Place { address, space, scope: scope_suffix(scope), order };
        // Private memory is the work-item's own: nothing else sees it.
        if space == Space::Local {
            return Err(Stop::unsupported(
                "atomic operations on private variables; use local or global memory",
            ));
        }
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
        let value = match op {
            Op::AtomicIIncrement => Operand::Immediate(1),
            Op::AtomicIDecrement => Operand::Immediate(kind.mask()),
            _ => {
                let value = self.id(instruction, 3)?;
                self.scalar(value)?
            }
        };
        let (name, ty, value) = match op {
            Op::AtomicExchange => ("exch", kind.untyped(), value),
            // Wrapping sums have no sign, and PTX has none for signed numbers of 64 bits.
            Op::AtomicIIncrement | Op::AtomicIDecrement | Op::AtomicIAdd => ("add", kind.unsigned(), value),
            Op::AtomicISub => {
                let negated = self.op1(kind.class(), &format!("neg.{}", kind.signed()), kind.signed(), value);
                ("add", kind.unsigned(), negated)
            }
            Op::AtomicSMin => ("min", kind.signed(), value),
            Op::AtomicUMin => ("min", kind.unsigned(), value),
            Op::AtomicSMax => ("max", kind.signed(), value),
            Op::AtomicUMax => ("max", kind.unsigned(), value),
            Op::AtomicAnd => ("and", kind.untyped(), value),
            Op::AtomicOr => ("or", kind.untyped(), value),
            Op::AtomicXor => ("xor", kind.untyped(), value),
            Op::AtomicFAddEXT if kind.is_float() => ("add", kind.float(), value),
            Op::AtomicFMinEXT | Op::AtomicFMaxEXT if kind.is_float() => {
                let old = self.float_extremum(place, kind, value, op == Op::AtomicFMinEXT)?;
                return self.bind(id, &[old]);
            }
            _ => return Err(Stop::Broken("an atomic operation on a value of another type")),
        };
        let old = self.exchange(place, name, ty, kind.class(), value);
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
