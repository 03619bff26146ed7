//! What kernels print.

use crate::f16;

/// A number that kernels print.
#[diagnostic::on_unimplemented(
    message = "kernels cannot print a `{Self}`",
    note = "they print numbers and string literals: print the parts of other values"
)]
pub trait Printed {
    /// Its kind, and its bits from the ninth bit on.
    #[doc(hidden)]
    const CODE: u32;
    /// Its bits. Integers have at least 32.
    #[doc(hidden)]
    fn bits(&self) -> u64;
}

const SIGNED: u32 = 0;
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 2;

macro_rules! printable {
    ($($ty:ty = $kind:ident, $width:literal, |$x:ident| $bits:expr;)*) => {$(
        impl Printed for $ty {
            const CODE: u32 = $kind | $width << 8;

            #[inline(always)]
            fn bits(&self) -> u64 {
                let $x = *self;
                $bits
            }
        }
    )*};
}

printable! {
    i8 = SIGNED, 8, |x| u64::from(i32::from(x) as u32);
    u8 = UNSIGNED, 8, |x| u64::from(x);
    i16 = SIGNED, 16, |x| u64::from(i32::from(x) as u32);
    u16 = UNSIGNED, 16, |x| u64::from(x);
    i32 = SIGNED, 32, |x| u64::from(x as u32);
    u32 = UNSIGNED, 32, |x| u64::from(x);
    i64 = SIGNED, 64, |x| x as u64;
    u64 = UNSIGNED, 64, |x| x;
    isize = SIGNED, 64, |x| x as u64;
    usize = UNSIGNED, 64, |x| x as u64;
    f16 = FLOAT, 32, |x| u64::from(x.to_f32().to_bits());
    f32 = FLOAT, 32, |x| u64::from(x.to_bits());
    f64 = FLOAT, 64, |x| x.to_bits();
}

impl<T: Printed> Printed for &T {
    const CODE: u32 = T::CODE;

    #[inline(always)]
    fn bits(&self) -> u64 {
        T::bits(self)
    }
}

/// For the macros.
#[inline(always)]
pub const fn print_code<T: Printed>(_: &T) -> u32 {
    T::CODE
}

/// For the macros.
#[cfg(oclave_device)]
#[inline(always)]
pub fn print_bits<T: Printed>(value: &T) -> u64 {
    value.bits()
}

/// For the macros: prints on the host.
#[cfg(not(oclave_device))]
pub fn print(text: core::fmt::Arguments<'_>, ends_line: bool) {
    if ends_line {
        std::println!("{text}");
    } else {
        std::print!("{text}");
    }
}
