//! Functions of OpenCL's mathematics that Rust does not have.
//!
//! Those that Rust has (`f32::sin`, `f32::sqrt`, `f32::mul_add`, …) are the device's own on devices.

/// More functions of numbers.
pub trait MathExt: Sized {
    /// `1 / sqrt(self)`, OpenCL's `rsqrt`.
    fn rsqrt(self) -> Self;
}

/// `sqrt`, which `core` has on devices only as a function of them.
pub(crate) trait Root {
    fn root(self) -> Self;
}

macro_rules! functions {
    ($ty:ty, $rsqrt:literal, $sqrt:literal) => {
        impl Root for $ty {
            #[inline(always)]
            fn root(self) -> Self {
                #[cfg(oclave_device)]
                {
                    unsafe extern "C" {
                        #[link_name = $sqrt]
                        safe fn sqrt(x: $ty) -> $ty;
                    }
                    sqrt(self)
                }
                #[cfg(not(oclave_device))]
                {
                    self.sqrt()
                }
            }
        }

        impl MathExt for $ty {
            #[inline(always)]
            fn rsqrt(self) -> Self {
                #[cfg(oclave_device)]
                {
                    unsafe extern "C" {
                        #[link_name = $rsqrt]
                        safe fn rsqrt(x: $ty) -> $ty;
                    }
                    rsqrt(self)
                }
                #[cfg(not(oclave_device))]
                {
                    1.0 / self.sqrt()
                }
            }
        }
    };
}

functions!(f32, "_Z5rsqrtf", "_Z4sqrtf");
functions!(f64, "_Z5rsqrtd", "_Z4sqrtd");
