//! Loops and conditions as commands: what they decide by, and their bodies.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::argument::Argument;
use super::graph::GraphCommand;
use super::parameter::{Binding, Parameter, newest_of};
use super::place::{CopyFrom, Place};
use crate::MakeError as _;
use crate::memory::buffer::Requirement;
use crate::memory::{Region, Reserved};
use crate::{Context, Device, Error, Queue, Result};

/// How often a loop runs its body at most, if nothing else is said.
pub(super) const MAX_ITERATIONS: u64 = 1 << 32;

/// Which construct it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlKind {
    Repeat,
    While,
    If,
    Switch,
}

/// A loop or a condition: bodies, and what decides which of them run, and how often.
#[derive(Clone, Debug)]
pub(crate) struct ControlFlow {
    pub(crate) kind: ControlKind,
    pub(crate) value: ControlValue,
    /// One for loops; the second one of an `if` runs where the value is zero.
    pub(crate) bodies: Vec<Arc<dyn ControlBody>>,
    pub(crate) max_iterations: u64,
    /// Makes an executable graph of one node, the command.
    pub(crate) alone: Alone,
}

/// What makes an executable graph of a loop or a condition.
pub(crate) type Alone = fn(ControlFlow, &Queue) -> Result<Arc<dyn GraphCommand>>;

/// The value that a loop or a condition decides by.
#[derive(Clone, Debug)]
pub(crate) enum ControlValue {
    Number(u64),
    /// A parameter of the graph, with the value that it had when this was last looked at.
    Parameter {
        bindings: Vec<Binding>,
        scalar: Scalar,
        value: u64,
    },
    /// One element of memory of the device.
    Device {
        from: Place,
        scalar: Scalar,
    },
}

/// A graph that a loop or a condition runs: all that this layer knows of it.
pub(crate) trait ControlBody: Any + fmt::Debug + Send + Sync {
    /// Equal for bodies that are of the same graph.
    fn id(&self) -> u64;

    /// The accesses of its commands to parts of buffers.
    fn requirements(&self) -> Vec<Arc<Requirement>>;

    /// The memory of graphs that its commands use, with what stands for it.
    fn memory(&self) -> Vec<(Reserved, Region)>;

    /// Whether it is this graph, or has it as a body.
    fn contains(&self, graph: u64) -> bool;

    /// Checks that it was made for a context and device.
    fn check(&self, context: &Context, device: &Device) -> Result<()>;
}

/// The type of a value that is decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// Of so many bytes.
    Unsigned(u8),
    /// Of so many bytes.
    Signed(u8),
    /// Of so many bytes.
    Float(u8),
}

impl Scalar {
    pub(crate) fn size_bytes(self) -> usize {
        let (Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Float(bytes)) = self;
        bytes.into()
    }

    /// The bits that make it other than zero, and the one that says that it is negative.
    pub(crate) fn bits(self) -> (u64, u64) {
        let top = 1 << (self.size_bytes() * 8 - 1);
        let all = top | (top - 1);
        match self {
            Self::Unsigned(_) => (all, 0),
            Self::Signed(_) => (all, top),
            Self::Float(_) => (all & !top, 0),
        }
    }

    /// A value as a number: 1 for floating-point numbers that are not zero. Negative ones are `None`.
    pub(crate) fn number(self, bytes: &[u8]) -> Option<u64> {
        let mut wide = [0; 8];
        wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        let bits = u64::from_le_bytes(wide);
        let (mask, sign) = self.bits();
        match self {
            // Both zeroes are zero.
            Self::Float(_) => Some(u64::from(bits & mask != 0)),
            _ => (bits & sign == 0).then_some(bits),
        }
    }
}

mod sealed {
    pub trait Sealed {}
    pub trait SealedCount {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "of a sealed trait")]
        fn value(self) -> super::ControlValue;
    }
}
pub(crate) use sealed::SealedCount;

/// Scalars that loops and conditions decide by: integers and floating-point numbers.
pub trait ControlScalar: Pod + sealed::Sealed {
    #[doc(hidden)]
    const SCALAR: Scalar;
}

/// Integers that count iterations, or choose among bodies.
pub trait ControlInteger: ControlScalar {}

macro_rules! scalars {
    ($($kind:ident: $($ty:ty)*;)*) => {$($(
        impl sealed::Sealed for $ty {}
        impl ControlScalar for $ty {
            const SCALAR: Scalar = Scalar::$kind(size_of::<$ty>() as u8);
        }
    )*)*};
}
scalars! { Unsigned: u8 u16 u32 u64; Signed: i8 i16 i32 i64; Float: f32 f64; }

macro_rules! integers {
    ($($ty:ty)*) => {$(impl ControlInteger for $ty {})*};
}
integers! { u8 u16 u32 u64 i8 i16 i32 i64 }

/// How often a loop runs its body: a number, a [`DynamicParameter`](crate::graph::DynamicParameter) of the
/// graph, or an element of memory of the device.
///
/// Memory is read when the loop begins. Negative numbers count as zero.
pub trait Count: sealed::SealedCount {}
impl<C: sealed::SealedCount> Count for C {}

macro_rules! counts {
    ($($ty:ty)*) => {$(
        #[allow(private_interfaces, reason = "of a sealed trait")]
        impl sealed::SealedCount for $ty {
            fn value(self) -> ControlValue {
                ControlValue::Number(u64::try_from(self).unwrap_or(0))
            }
        }
    )*};
}
counts! { u32 u64 usize i32 }

#[allow(private_interfaces, reason = "of a sealed trait")]
impl<M: CopyFrom<Element: ControlInteger>> sealed::SealedCount for &M {
    fn value(self) -> ControlValue {
        ControlValue::of(self)
    }
}

impl ControlValue {
    pub(crate) fn of<M: CopyFrom<Element: ControlScalar>>(from: &M) -> Self {
        Self::Device { from: from.place(false), scalar: M::Element::SCALAR }
    }

    pub(crate) fn following<T: ControlInteger>(parameter: Arc<Parameter>) -> Self {
        let bindings = vec![Binding { argument: 0, parameter }];
        let mut value = Self::Parameter { bindings, scalar: T::SCALAR, value: 0 };
        value.follow();
        value
    }

    pub(super) fn bindings(&self) -> &[Binding] {
        match self {
            Self::Parameter { bindings, .. } => bindings,
            Self::Number(_) | Self::Device { .. } => &[],
        }
    }

    fn newest(&self) -> Option<u64> {
        let Self::Parameter { bindings, scalar, .. } = self else { return None };
        newest_of(bindings).find_map(|binding| match &*binding.parameter.current() {
            Argument::Value(value) => Some(scalar.number(value.bytes()).unwrap_or(0)),
            _ => None,
        })
    }

    pub(super) fn is_behind(&self) -> bool {
        matches!(self, Self::Parameter { value, .. } if self.newest().is_some_and(|newest| newest != *value))
    }

    pub(super) fn follow(&mut self) {
        let newest = self.newest();
        if let (Self::Parameter { value, .. }, Some(newest)) = (self, newest) {
            *value = newest;
        }
    }
}

/// The access of a body to a part of a buffer, if it runs at all.
pub(crate) fn of_body(requirement: Arc<Requirement>) -> Arc<Requirement> {
    match requirement.replaces_all() {
        true => Arc::new(Requirement::clone(&requirement).of_possible_command()),
        false => requirement,
    }
}

impl ControlFlow {
    /// The access of the decision to a part of a buffer.
    pub(crate) fn own_requirement(&self) -> Option<Arc<Requirement>> {
        match &self.value {
            ControlValue::Device { from, .. } => from.requirement(),
            ControlValue::Number(_) | ControlValue::Parameter { .. } => None,
        }
    }

    pub(crate) fn requirements(&self) -> Vec<Arc<Requirement>> {
        let of_bodies = self.bodies.iter().flat_map(|body| body.requirements());
        self.own_requirement().into_iter().chain(of_bodies.map(of_body)).collect()
    }

    pub(crate) fn check(&self, context: &Context, device: &Device) -> Result<()> {
        if let ControlValue::Device { from, scalar } = &self.value {
            from.check(context, device)?;
            let size_bytes = from.size_bytes();
            if matches!(from, Place::Null) || size_bytes.is_some_and(|size| size != scalar.size_bytes()) {
                let found = size_bytes.unwrap_or(0) / scalar.size_bytes();
                return Err(Error::invalid(format!(
                    "a loop or a condition decides by one element, and was given {found}"
                ))
                .remedy("give it one: `&flags.slice(3..=3)?`, or an accessor of one element"));
            }
        }
        if self.bodies.is_empty() {
            return Err(Error::invalid("a switch without bodies"));
        }
        self.bodies.iter().try_for_each(|body| body.check(context, device))
    }

    /// The construct's name.
    pub(crate) const fn name(&self) -> &'static str {
        match self.kind {
            ControlKind::Repeat => "repeat",
            ControlKind::While => "while",
            ControlKind::If => "if",
            ControlKind::Switch => "switch",
        }
    }

    /// Whether both run the same bodies in the same way, whatever they decide by.
    pub(crate) fn has_same_bodies(&self, other: &Self) -> bool {
        let ids = |flow: &Self| flow.bodies.iter().map(|body| body.id()).collect::<Vec<_>>();
        self.kind == other.kind && ids(self) == ids(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_type() {
        assert_eq!(u16::SCALAR.number(&300_u16.to_le_bytes()), Some(300));
        assert_eq!(i8::SCALAR.number(&(-1_i8).to_le_bytes()), None);
        assert_eq!(i64::SCALAR.number(&i64::MAX.to_le_bytes()), Some(i64::MAX as u64));
        assert_eq!(u64::SCALAR.number(&u64::MAX.to_le_bytes()), Some(u64::MAX));
        for (value, number) in [(0.0_f32, 0), (-0.0, 0), (0.25, 1), (-3.0, 1), (f32::NAN, 1)] {
            assert_eq!(f32::SCALAR.number(&value.to_le_bytes()), Some(number), "{value}");
        }
        assert_eq!(f64::SCALAR.number(&(-0.0_f64).to_le_bytes()), Some(0));
    }
}
