//! Floating-point numbers of 16 bits.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::description::TypeDescription;
use crate::{Data, Element};

/// A floating-point number of 16 bits, OpenCL's `half`. The host passes `oclave::half::f16`.
///
/// It is for memory: every device has the conversions from and to `f32` (`vload_half` and
/// `vstore_half`), and so comparisons. Arithmetic (`+`, `-`, `*`, `/`) is that of the device, which
/// must have `cl_khr_fp16`. Kernels that use it are refused elsewhere.
///
/// ```
/// use oclave_kernel::{HostRange, Item, Out, f16, kernel};
///
/// #[kernel]
/// pub fn halve(item: Item<1>, x: &[f16], mut out: Out<f16>) {
///     *out = f16::from_f32(x[item.global_id()[0]].to_f32() / 2.0);
/// }
///
/// let (x, mut out) = ([f16::from_f32(3.0)], [f16::ZERO]);
/// halve::run_on_host(HostRange::new([1]), &x, &mut out);
/// assert_eq!(out, [f16::from_f32(1.5)]);
/// ```
#[allow(non_camel_case_types, reason = "the name of the crate `half` and of Rust's own type")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct f16(u16);

// SAFETY: any bytes are a number.
unsafe impl Element for f16 {
    const DESCRIPTION: &'static TypeDescription = &TypeDescription::scalar::<Self>(10);
    const IS_ATOMIC: bool = false;
}
// SAFETY: there is no padding.
unsafe impl Data for f16 {}

#[cfg(oclave_device)]
mod device {
    unsafe extern "C" {
        #[link_name = "__oclave_half_to_float"]
        pub(super) safe fn to_float(bits: u16) -> f32;
        #[link_name = "__oclave_half_of_float"]
        pub(super) safe fn of_float(number: f32) -> u16;
        #[link_name = "__oclave_half_add"]
        pub(super) safe fn add(a: u16, b: u16) -> u16;
        #[link_name = "__oclave_half_sub"]
        pub(super) safe fn sub(a: u16, b: u16) -> u16;
        #[link_name = "__oclave_half_mul"]
        pub(super) safe fn mul(a: u16, b: u16) -> u16;
        #[link_name = "__oclave_half_div"]
        pub(super) safe fn div(a: u16, b: u16) -> u16;
    }
}

impl f16 {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(0x3c00);
    /// The largest number, 65504.
    pub const MAX: Self = Self(0x7bff);
    /// The least number, -65504.
    pub const MIN: Self = Self(0xfbff);
    /// The least positive number that has all digits.
    pub const MIN_POSITIVE: Self = Self(0x0400);
    /// Beyond all numbers.
    pub const INFINITY: Self = Self(0x7c00);
    /// Below all numbers.
    pub const NEG_INFINITY: Self = Self(0xfc00);
    /// Not a number.
    pub const NAN: Self = Self(0x7e00);

    /// The number with these bits.
    #[inline(always)]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits.
    #[inline(always)]
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The nearest number, that with an even last digit of two. OpenCL's `vstore_half_rte`.
    #[inline(always)]
    pub fn from_f32(number: f32) -> Self {
        #[cfg(oclave_device)]
        return Self(device::of_float(number));
        #[cfg(not(oclave_device))]
        Self(rounded(number))
    }

    /// The same number. OpenCL's `vload_half`.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        #[cfg(oclave_device)]
        return device::to_float(self.0);
        #[cfg(not(oclave_device))]
        widened(self.0)
    }

    /// Whether it is not a number.
    #[inline(always)]
    pub const fn is_nan(self) -> bool {
        self.0 & 0x7fff > 0x7c00
    }

    /// Without the sign.
    #[inline(always)]
    pub const fn abs(self) -> Self {
        Self(self.0 & 0x7fff)
    }
}

#[cfg(not(oclave_device))]
fn widened(bits: u16) -> f32 {
    let (sign, exponent, digits) =
        (u32::from(bits >> 15) << 31, (bits >> 10) & 0x1f, u32::from(bits & 0x3ff));
    match exponent {
        // Multiples of the least number.
        0 => f32::from_bits(sign | (digits as f32 * f32::from_bits(0x3380_0000)).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | digits << 13),
        _ => f32::from_bits(sign | (u32::from(exponent) + 112) << 23 | digits << 13),
    }
}

#[cfg(not(oclave_device))]
fn rounded(number: f32) -> u16 {
    let bits = number.to_bits();
    let (sign, size) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fff_ffff);
    let rounded = match size {
        0x7f80_0001.. => 0x7e00 | (size >> 13 & 0x1ff) as u16,
        // 65520 and more.
        0x477f_f000.. => 0x7c00,
        // At least the least number with all digits: the last 13 digits go.
        0x3880_0000.. => ((size - 0x3800_0000 + 0xfff + (size >> 13 & 1)) >> 13) as u16,
        // The sum has the digits that stay as its last ones.
        _ => ((f32::from_bits(size) + 0.5).to_bits() - 0x3f00_0000) as u16,
    };
    sign | rounded
}

impl From<f16> for f32 {
    #[inline(always)]
    fn from(number: f16) -> Self {
        number.to_f32()
    }
}

impl PartialEq for f16 {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl PartialOrd for f16 {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl Neg for f16 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0 ^ 0x8000)
    }
}

macro_rules! arithmetic {
    ($($operator:ident $method:ident, $assign:ident $assign_method:ident, $symbol:tt;)*) => {$(
        /// As the device calculates it, which must have `cl_khr_fp16`.
        impl $operator for f16 {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                #[cfg(oclave_device)]
                return Self(device::$method(self.0, other.0));
                // Twice the digits and more: rounding twice is rounding once.
                #[cfg(not(oclave_device))]
                Self::from_f32(self.to_f32() $symbol other.to_f32())
            }
        }

        impl $assign for f16 {
            #[inline(always)]
            fn $assign_method(&mut self, other: Self) {
                *self = *self $symbol other;
            }
        }
    )*};
}

arithmetic! {
    Add add, AddAssign add_assign, +;
    Sub sub, SubAssign sub_assign, -;
    Mul mul, MulAssign mul_assign, *;
    Div div, DivAssign div_assign, /;
}

impl fmt::Debug for f16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl fmt::Display for f16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f32(), f)
    }
}
