//! Operands of PTX instructions and the types of values.

use std::fmt;

/// A state space of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// `.global`.
    Global,
    /// `.global` that no kernel writes: OpenCL's constant memory.
    Constant,
    /// `.shared`: OpenCL's local memory.
    Shared,
    /// `.local`: OpenCL's private memory.
    Local,
    /// `.param`: an argument of a kernel that is only read.
    Param,
    /// A generic address.
    Generic,
}

impl Space {
    /// How instructions name the state space.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Global | Self::Constant => ".global",
            Self::Shared => ".shared",
            Self::Local => ".local",
            Self::Param => ".param",
            Self::Generic => "",
        }
    }
}

/// The registers that hold a value. They are untyped, so that a bit cast costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Pred,
    B16,
    B32,
    B64,
}

impl Class {
    pub(crate) const ALL: [Self; 4] = [Self::Pred, Self::B16, Self::B32, Self::B64];

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Pred => "%p",
            Self::B16 => "%h",
            Self::B32 => "%r",
            Self::B64 => "%rd",
        }
    }

    /// The type in declarations and moves.
    pub(crate) fn ty(self) -> Ty {
        match self {
            Self::Pred => Ty::Pred,
            Self::B16 => Ty::B16,
            Self::B32 => Ty::B32,
            Self::B64 => Ty::B64,
        }
    }
}

/// The type of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Ty { Pred, B16, B32, B64, U8, U16, U32, U64, S16, S32, S64, F16, F32, F64 }

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pred => "pred",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A register, or bits in the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    Register(Class, u32),
    /// Zero-extended from the width of the value.
    Immediate(u64),
}

impl Operand {
    /// The operand as an instruction of type `ty` writes it.
    pub(crate) fn of(self, ty: Ty) -> Shown {
        Shown(self, ty)
    }

    pub(crate) fn immediate(self) -> Option<u64> {
        match self {
            Self::Immediate(bits) => Some(bits),
            Self::Register(..) => None,
        }
    }
}

/// Registers only: immediates are written as if they had 64 bits.
impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of(Ty::B64).fmt(f)
    }
}

/// See [`Operand::of`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown(Operand, Ty);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Operand::Register(class, number), _) => {
                let mut digits = [0_u8; 10];
                f.write_str(class.prefix())?;
                f.write_str(decimal(number, &mut digits))
            }
            (Operand::Immediate(bits), Ty::F32) => write!(f, "0f{:08X}", bits as u32),
            (Operand::Immediate(bits), Ty::F64) => write!(f, "0d{bits:016X}"),
            (Operand::Immediate(bits), Ty::U8) => write!(f, "{}", bits as u8),
            (Operand::Immediate(bits), Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16) => {
                write!(f, "{}", bits as u16)
            }
            (Operand::Immediate(bits), Ty::B32 | Ty::U32 | Ty::S32) => write!(f, "{}", bits as i32),
            (Operand::Immediate(bits), _) => write!(f, "{}", bits as i64),
        }
    }
}

/// Decimal digits without the machinery of `fmt`: most of the text is numbers of registers.
pub(crate) fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &str {
    let mut at = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        at -= 1;
        if number == 0 {
            break;
        }
    }
    digits.get(at..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
}

/// What one register holds. A vector, a struct or an array is several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bool,
    /// Integers below 32 bits are in 32-bit registers, always zero-extended.
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
    Pointer(Space),
}

impl Kind {
    pub(crate) fn class(self) -> Class {
        match self {
            Self::Bool => Class::Pred,
            Self::F16 => Class::B16,
            Self::I8 | Self::I16 | Self::I32 | Self::F32 => Class::B32,
            Self::I64 | Self::F64 | Self::Pointer(_) => Class::B64,
        }
    }

    /// Width of the value; 1 for booleans.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I8 => 8,
            Self::I16 | Self::F16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 | Self::Pointer(_) => 64,
        }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(self) -> u64 {
        u64::from(self.bits().div_ceil(8))
    }

    pub(crate) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    pub(crate) fn is_narrow(self) -> bool {
        matches!(self, Self::I8 | Self::I16)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The type of an untyped instruction on the register.
    pub(crate) fn untyped(self) -> Ty {
        self.class().ty()
    }

    pub(crate) fn unsigned(self) -> Ty {
        match self.class() {
            Class::B64 => Ty::U64,
            Class::B16 => Ty::U16,
            _ => Ty::U32,
        }
    }

    pub(crate) fn signed(self) -> Ty {
        match self.class() {
            Class::B64 => Ty::S64,
            Class::B16 => Ty::S16,
            _ => Ty::S32,
        }
    }

    /// The type of floating-point instructions, or of moves where it is no such number.
    pub(crate) fn float(self) -> Ty {
        match self {
            Self::F16 => Ty::F16,
            Self::F32 => Ty::F32,
            Self::F64 => Ty::F64,
            other => other.untyped(),
        }
    }

    /// The type of loads and stores.
    pub(crate) fn memory(self) -> Ty {
        match self {
            Self::Bool | Self::I8 => Ty::U8,
            Self::I16 => Ty::U16,
            Self::F16 => Ty::B16,
            Self::I32 => Ty::U32,
            Self::I64 | Self::Pointer(_) => Ty::U64,
            Self::F32 => Ty::F32,
            Self::F64 => Ty::F64,
        }
    }
}
