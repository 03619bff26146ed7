//! The vector types of OpenCL C, with its sizes and alignments (OpenCL 3.0 C specification, section
//! 6.3.2).
//!
//! ```
//! use oclave::vector::{Float3, Float4, Int2};
//!
//! let v = Float4::from([1.0, 2.0, 3.0, 4.0]);
//! assert_eq!(v[2], 3.0);
//! assert_eq!(Int2::splat(7).lanes(), &[7, 7]);
//! // As in OpenCL C, three lanes take the room of four.
//! assert_eq!((size_of::<Float3>(), align_of::<Float3>()), (16, 16));
//! ```

use std::ops::{Index, IndexMut};

use bytemuck::{Pod, Zeroable};
use half::f16;

/// A vector whose lanes fill it.
macro_rules! vector {
    ($name:ident, $opencl:literal, $lane:ident, $lanes:literal, $align:literal) => {
        #[doc = concat!("`", $opencl, "` of OpenCL C: ", $lanes, " lanes of `", stringify!($lane), "`, aligned to ", $align, " bytes.")]
        #[repr(C, align($align))]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub struct $name {
            lanes: [$lane; $lanes],
        }

        impl $name {
            /// The vector of these lanes.
            pub const fn new(lanes: [$lane; $lanes]) -> Self {
                Self { lanes }
            }
        }

        vector!(@common $name, $lane, $lanes, $align);
    };

    (@common $name:ident, $lane:ident, $lanes:literal, $align:literal) => {
        const _: () = assert!(size_of::<$name>() == $align && align_of::<$name>() == $align);

        impl $name {
            /// The vector with `value` in every lane.
            pub const fn splat(value: $lane) -> Self {
                Self::new([value; $lanes])
            }

            /// The lanes, first to last.
            pub const fn lanes(&self) -> &[$lane; $lanes] {
                &self.lanes
            }
        }

        impl From<[$lane; $lanes]> for $name {
            fn from(lanes: [$lane; $lanes]) -> Self {
                Self::new(lanes)
            }
        }

        impl From<$name> for [$lane; $lanes] {
            fn from(vector: $name) -> Self {
                vector.lanes
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.lanes == other.lanes
            }
        }

        /// Panics when there is no such lane, as arrays do.
        impl Index<usize> for $name {
            type Output = $lane;

            fn index(&self, lane: usize) -> &$lane {
                &self.lanes[lane]
            }
        }

        /// Panics when there is no such lane, as arrays do.
        impl IndexMut<usize> for $name {
            fn index_mut(&mut self, lane: usize) -> &mut $lane {
                &mut self.lanes[lane]
            }
        }
    };
}

/// A vector of three lanes, in the room of four.
macro_rules! vector3 {
    ($name:ident, $opencl:literal, $lane:ident, $zero:expr, $align:literal) => {
        #[doc = concat!("`", $opencl, "` of OpenCL C: 3 lanes of `", stringify!($lane), "` in the room of 4, aligned to ", $align, " bytes.")]
        #[repr(C, align($align))]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub struct $name {
            lanes: [$lane; 3],
            padding: $lane,
        }

        impl $name {
            /// The vector of these lanes.
            pub const fn new(lanes: [$lane; 3]) -> Self {
                Self { lanes, padding: $zero }
            }
        }

        vector!(@common $name, $lane, 3, $align);
    };
}

vector!(Char2, "char2", i8, 2, 2);
vector3!(Char3, "char3", i8, 0, 4);
vector!(Char4, "char4", i8, 4, 4);
vector!(Char8, "char8", i8, 8, 8);
vector!(Char16, "char16", i8, 16, 16);
vector!(Uchar2, "uchar2", u8, 2, 2);
vector3!(Uchar3, "uchar3", u8, 0, 4);
vector!(Uchar4, "uchar4", u8, 4, 4);
vector!(Uchar8, "uchar8", u8, 8, 8);
vector!(Uchar16, "uchar16", u8, 16, 16);
vector!(Short2, "short2", i16, 2, 4);
vector3!(Short3, "short3", i16, 0, 8);
vector!(Short4, "short4", i16, 4, 8);
vector!(Short8, "short8", i16, 8, 16);
vector!(Short16, "short16", i16, 16, 32);
vector!(Ushort2, "ushort2", u16, 2, 4);
vector3!(Ushort3, "ushort3", u16, 0, 8);
vector!(Ushort4, "ushort4", u16, 4, 8);
vector!(Ushort8, "ushort8", u16, 8, 16);
vector!(Ushort16, "ushort16", u16, 16, 32);
vector!(Int2, "int2", i32, 2, 8);
vector3!(Int3, "int3", i32, 0, 16);
vector!(Int4, "int4", i32, 4, 16);
vector!(Int8, "int8", i32, 8, 32);
vector!(Int16, "int16", i32, 16, 64);
vector!(Uint2, "uint2", u32, 2, 8);
vector3!(Uint3, "uint3", u32, 0, 16);
vector!(Uint4, "uint4", u32, 4, 16);
vector!(Uint8, "uint8", u32, 8, 32);
vector!(Uint16, "uint16", u32, 16, 64);
vector!(Long2, "long2", i64, 2, 16);
vector3!(Long3, "long3", i64, 0, 32);
vector!(Long4, "long4", i64, 4, 32);
vector!(Long8, "long8", i64, 8, 64);
vector!(Long16, "long16", i64, 16, 128);
vector!(Ulong2, "ulong2", u64, 2, 16);
vector3!(Ulong3, "ulong3", u64, 0, 32);
vector!(Ulong4, "ulong4", u64, 4, 32);
vector!(Ulong8, "ulong8", u64, 8, 64);
vector!(Ulong16, "ulong16", u64, 16, 128);
vector!(Half2, "half2", f16, 2, 4);
vector3!(Half3, "half3", f16, f16::ZERO, 8);
vector!(Half4, "half4", f16, 4, 8);
vector!(Half8, "half8", f16, 8, 16);
vector!(Half16, "half16", f16, 16, 32);
vector!(Float2, "float2", f32, 2, 8);
vector3!(Float3, "float3", f32, 0.0, 16);
vector!(Float4, "float4", f32, 4, 16);
vector!(Float8, "float8", f32, 8, 32);
vector!(Float16, "float16", f32, 16, 64);
vector!(Double2, "double2", f64, 2, 16);
vector3!(Double3, "double3", f64, 0.0, 32);
vector!(Double4, "double4", f64, 4, 32);
vector!(Double8, "double8", f64, 8, 64);
vector!(Double16, "double16", f64, 16, 128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_lanes_compare_without_their_padding() {
        let mut bytes = [0_u8; 16];
        bytes[15] = 1;
        assert_eq!(bytemuck::cast::<_, Int3>(bytes), Int3::new([0, 0, 0]));
        assert_ne!(Int3::new([0, 0, 1]), Int3::new([0, 0, 0]));
    }

    #[test]
    fn lanes_lie_in_order() {
        let v = Ushort4::new([1, 2, 3, 4]);
        assert_eq!(bytemuck::bytes_of(&v), bytemuck::cast_slice::<u16, u8>(&[1, 2, 3, 4]));
        assert_eq!(<[u16; 4]>::from(v), [1, 2, 3, 4]);
    }

    #[test]
    fn lanes_can_be_changed() {
        let mut v = Double8::splat(1.0);
        v[7] = 2.0;
        assert_eq!(v.lanes(), &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
    }
}
