//! Functions of OpenCL's mathematics that Rust does not have.
//!
//! Those that Rust has (`f32::sin`, `f32::sqrt`, `f32::mul_add`, …) are the device's own on devices.

/// More functions of numbers.
pub trait MathExt: Sized {
    /// `1 / sqrt(self)`, OpenCL's `rsqrt`.
    fn rsqrt(self) -> Self;
}

macro_rules! functions {
    ($ty:ty, $rsqrt:literal) => {
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

functions!(f32, "_Z5rsqrtf");
functions!(f64, "_Z5rsqrtd");
