//! Vectors of 2, 3, 4, 8 and 16 numbers, with the layout of OpenCL's.

use core::fmt;
use core::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Index,
    IndexMut, Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use crate::description::TypeDescription;
use crate::math::Root;
use crate::parameter::Parameter;
use crate::{Data, Element, f16};

/// Types without values that have an alignment.
macro_rules! alignments {
    ($($name:ident = $align:literal),*) => {$(
        #[doc(hidden)]
        #[derive(Debug, Clone, Copy)]
        #[repr(align($align))]
        pub struct $name;
    )*};
}

alignments!(Align2 = 2, Align4 = 4, Align8 = 8, Align16 = 16, Align32 = 32, Align64 = 64, Align128 = 128);

/// A number of which there are vectors: an integer of 8 to 64 bits, [`f16`](struct@f16), `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "there are no vectors of `{Self}`",
    note = "vectors have integers of 8 to 64 bits, `f16`, `f32` or `f64`; compare numbers one by one, or by `zip_map` to `u32`"
)]
pub trait Lane: Data + Parameter + PartialEq + fmt::Debug {
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    type Two: Copy + Send + Sync + 'static;
    #[doc(hidden)]
    type Four: Copy + Send + Sync + 'static;
    #[doc(hidden)]
    type Eight: Copy + Send + Sync + 'static;
    #[doc(hidden)]
    type Sixteen: Copy + Send + Sync + 'static;
}

macro_rules! lanes {
    ($($ty:ident = $zero:expr, $two:ident $four:ident $eight:ident $sixteen:ident;)*) => {$(
        impl Lane for $ty {
            const ZERO: Self = $zero;
            type Two = $two;
            type Four = $four;
            type Eight = $eight;
            type Sixteen = $sixteen;
        }
    )*};
}

lanes! {
    i8 = 0, Align2 Align4 Align8 Align16;
    u8 = 0, Align2 Align4 Align8 Align16;
    i16 = 0, Align4 Align8 Align16 Align32;
    u16 = 0, Align4 Align8 Align16 Align32;
    f16 = f16::ZERO, Align4 Align8 Align16 Align32;
    i32 = 0, Align8 Align16 Align32 Align64;
    u32 = 0, Align8 Align16 Align32 Align64;
    f32 = 0.0, Align8 Align16 Align32 Align64;
    i64 = 0, Align16 Align32 Align64 Align128;
    u64 = 0, Align16 Align32 Align64 Align128;
    f64 = 0.0, Align16 Align32 Align64 Align128;
}

/// The vector of `N` numbers of a type.
pub trait VectorOf<const N: usize>: Lane {
    /// [`Vec2`], [`Vec3`], [`Vec4`], [`Vec8`] or [`Vec16`].
    type Vector: From<[Self; N]>;
}

macro_rules! operators {
    ($name:ident, $lanes:tt, $($operator:ident $method:ident, $assign:ident $assign_method:ident;)*) => {$(
        operator!($name, $lanes, $operator $method, $assign $assign_method);
    )*};
}

/// An operator. What panics tells the place of its use.
macro_rules! operator {
    ($name:ident, [$($lane:ident)*], $operator:ident $method:ident, $assign:ident $assign_method:ident) => {
        impl<T: Lane + $operator<Output = T>> $operator for $name<T> {
            type Output = Self;

            #[inline(always)]
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                Self::new($(self.$lane.$method(other.$lane)),*)
            }
        }

        impl<T: Lane + $operator<Output = T>> $operator<T> for $name<T> {
            type Output = Self;

            #[inline(always)]
            #[track_caller]
            fn $method(self, other: T) -> Self {
                Self::new($(self.$lane.$method(other)),*)
            }
        }

        impl<T: Lane + $operator<Output = T>> $assign for $name<T> {
            #[inline(always)]
            #[track_caller]
            fn $assign_method(&mut self, other: Self) {
                *self = (*self).$method(other);
            }
        }

        impl<T: Lane + $operator<Output = T>> $assign<T> for $name<T> {
            #[inline(always)]
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                *self = (*self).$method(other);
            }
        }
    };
}

/// A number on the left, a vector on the right.
macro_rules! numbers_first {
    ($name:ident, $lanes:tt, $($ty:ident)*) => {$(
        number_first!($name, $lanes, $ty, Add add);
        number_first!($name, $lanes, $ty, Sub sub);
        number_first!($name, $lanes, $ty, Mul mul);
        number_first!($name, $lanes, $ty, Div div);
    )*};
}

macro_rules! number_first {
    ($name:ident, [$($lane:ident)*], $ty:ident, $operator:ident $method:ident) => {
        impl $operator<$name<$ty>> for $ty {
            type Output = $name<$ty>;

            #[inline(always)]
            #[track_caller]
            fn $method(self, other: $name<$ty>) -> $name<$ty> {
                $name::new($(self.$method(other.$lane)),*)
            }
        }
    };
}

/// Functions of vectors of floating-point numbers.
macro_rules! geometric {
    ($name:ident, $($ty:ident)*) => {$(
        impl $name<$ty> {
            /// The length, OpenCL's `length`.
            #[inline(always)]
            pub fn length(self) -> $ty {
                self.dot(self).root()
            }

            /// The distance of two points, OpenCL's `distance`.
            #[inline(always)]
            pub fn distance(self, other: Self) -> $ty {
                (self - other).length()
            }

            /// The vector of length 1 in this direction, OpenCL's `normalize`. That of zero is not a number.
            #[inline(always)]
            pub fn normalize(self) -> Self {
                self / self.length()
            }
        }
    )*};
}

macro_rules! vectors {
    ($(
        $(#[$doc:meta])*
        $name:ident, $count:literal, $align:ident, [$($lane:ident)*] $(+ $padding:ident)?;
    )*) => {$(
        $(#[$doc])*
        ///
        /// The operators are those of its numbers, one by one, with a vector or one number on the right.
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name<T: Lane> {
            align: [T::$align; 0],
            $(
                #[allow(missing_docs)]
                pub $lane: T,
            )*
            $($padding: T,)?
        }

        // SAFETY: any bytes are numbers.
        unsafe impl<T: Lane> Element for $name<T> {
            const DESCRIPTION: &'static TypeDescription = &TypeDescription::vector::<Self>(<T as Element>::DESCRIPTION, $count);
            const IS_ATOMIC: bool = false;
        }
        // SAFETY: the numbers fill it; three are followed by a fourth.
        unsafe impl<T: Lane> Data for $name<T> {}

        impl<T: Lane> Parameter for $name<T> {
            const KIND: u32 = 1;
            const ARGUMENTS: u32 = 1;
            const TYPE: &'static TypeDescription = <Self as Element>::DESCRIPTION;

            #[cfg(oclave_device)]
            #[inline(always)]
            unsafe fn argument(index: u32, _: crate::parameter::Launches) -> Self {
                // SAFETY: as this function.
                unsafe { crate::parameter::bytes_argument(index) }
            }
        }

        #[cfg(not(oclave_device))]
        impl<T: Lane> crate::host::HostParameter for $name<T> {
            type Host<'h> = Self;
            type Shared = Self;
            type Given<'s> = Self;

            fn share(given: Self) -> Self {
                given
            }

            fn of(shared: &Self, _: &crate::host::Work<'_>) -> Self {
                *shared
            }
        }

        impl<T: Lane> VectorOf<$count> for T {
            type Vector = $name<T>;
        }

        impl<T: Lane> $name<T> {
            /// The vector of these numbers.
            #[allow(clippy::too_many_arguments)]
            #[inline(always)]
            pub const fn new($($lane: T),*) -> Self {
                Self { align: [], $($lane,)* $($padding: T::ZERO,)? }
            }

            /// The vector with one number everywhere.
            #[inline(always)]
            pub const fn splat(value: T) -> Self {
                $(let $lane = value;)*
                Self::new($($lane),*)
            }

            /// The numbers, first to last.
            #[inline(always)]
            pub const fn to_array(self) -> [T; $count] {
                [$(self.$lane),*]
            }

            /// The numbers, to be read.
            #[inline(always)]
            pub const fn as_array(&self) -> &[T; $count] {
                // SAFETY: the numbers lie at the begin, one after the other.
                unsafe { &*core::ptr::from_ref(self).cast() }
            }

            /// The numbers, to be changed.
            #[inline(always)]
            pub const fn as_mut_array(&mut self) -> &mut [T; $count] {
                // SAFETY: as for `as_array`.
                unsafe { &mut *core::ptr::from_mut(self).cast() }
            }

            /// A vector of what a function gives for each number. Conversions are `v.map(|x| x as i32)`.
            #[inline(always)]
            pub fn map<U: Lane>(self, mut function: impl FnMut(T) -> U) -> $name<U> {
                $(let $lane = function(self.$lane);)*
                $name::new($($lane),*)
            }

            /// A vector of what a function gives for each pair of numbers, as in `a.zip_map(b, f32::max)`.
            #[inline(always)]
            pub fn zip_map<U: Lane, V: Lane>(self, other: $name<U>, mut function: impl FnMut(T, U) -> V) -> $name<V> {
                $(let $lane = function(self.$lane, other.$lane);)*
                $name::new($($lane),*)
            }

            /// The numbers at these places, in this order. `v.swizzle([1, 0])` is `v.yx` of OpenCL C.
            ///
            /// # Panics
            /// If there is no such place.
            #[inline(always)]
            #[track_caller]
            pub fn swizzle<const N: usize>(self, places: [usize; N]) -> <T as VectorOf<N>>::Vector
            where
                T: VectorOf<N>,
            {
                let numbers = self.to_array();
                <T as VectorOf<N>>::Vector::from(places.map(|place| numbers[place]))
            }

            /// The sum of the numbers, from the first to the last.
            #[inline(always)]
            #[track_caller]
            pub fn sum(self) -> T
            where
                T: Add<Output = T>,
            {
                let [first, rest @ ..] = self.to_array();
                let mut sum = first;
                let mut at = 0;
                while at < rest.len() {
                    sum = sum + rest[at];
                    at += 1;
                }
                sum
            }

            /// The sum of the products, OpenCL's `dot`.
            #[inline(always)]
            #[track_caller]
            pub fn dot(self, other: Self) -> T
            where
                T: Add<Output = T> + Mul<Output = T>,
            {
                (self * other).sum()
            }
        }

        impl<T: Lane> From<[T; $count]> for $name<T> {
            #[inline(always)]
            fn from([$($lane),*]: [T; $count]) -> Self {
                Self::new($($lane),*)
            }
        }

        impl<T: Lane> From<$name<T>> for [T; $count] {
            #[inline(always)]
            fn from(vector: $name<T>) -> Self {
                vector.to_array()
            }
        }

        impl<T: Lane> Default for $name<T> {
            #[inline(always)]
            fn default() -> Self {
                Self::splat(T::ZERO)
            }
        }

        impl<T: Lane> PartialEq for $name<T> {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                $(self.$lane == other.$lane)&&*
            }
        }

        impl<T: Lane> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name))$(.field(&self.$lane))*.finish()
            }
        }

        impl<T: Lane> Index<usize> for $name<T> {
            type Output = T;

            #[inline(always)]
            #[track_caller]
            fn index(&self, place: usize) -> &T {
                &self.as_array()[place]
            }
        }

        impl<T: Lane> IndexMut<usize> for $name<T> {
            #[inline(always)]
            #[track_caller]
            fn index_mut(&mut self, place: usize) -> &mut T {
                &mut self.as_mut_array()[place]
            }
        }

        impl<T: Lane + Neg<Output = T>> Neg for $name<T> {
            type Output = Self;

            #[inline(always)]
            #[track_caller]
            fn neg(self) -> Self {
                Self::new($(-self.$lane),*)
            }
        }

        impl<T: Lane + Not<Output = T>> Not for $name<T> {
            type Output = Self;

            #[inline(always)]
            fn not(self) -> Self {
                Self::new($(!self.$lane),*)
            }
        }

        operators! {
            $name, [$($lane)*],
            Add add, AddAssign add_assign;
            Sub sub, SubAssign sub_assign;
            Mul mul, MulAssign mul_assign;
            Div div, DivAssign div_assign;
            Rem rem, RemAssign rem_assign;
            BitAnd bitand, BitAndAssign bitand_assign;
            BitOr bitor, BitOrAssign bitor_assign;
            BitXor bitxor, BitXorAssign bitxor_assign;
            Shl shl, ShlAssign shl_assign;
            Shr shr, ShrAssign shr_assign;
        }
        numbers_first!($name, [$($lane)*], i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64);
        geometric!($name, f32 f64);
    )*};
}

vectors! {
    /// Two numbers, `float2` of OpenCL C.
    Vec2, 2, Two, [x y];
    /// Three numbers in the room of four, `float3` of OpenCL C.
    Vec3, 3, Four, [x y z] + padding;
    /// Four numbers, `float4` of OpenCL C.
    ///
    /// ```
    /// use oclave_kernel::{HostRange, Item, Out, Vec2, Vec4, kernel};
    ///
    /// #[kernel]
    /// pub fn blend(item: Item<1>, weight: f32, colours: &[Vec4<f32>], mut out: Out<Vec4<f32>>) {
    ///     let colour = colours[item.global_id()[0]];
    ///     *out = *out * (1.0 - weight) + weight * colour;
    ///     out.w = 1.0;
    /// }
    ///
    /// let (colours, mut out) = ([Vec4::new(1.0, 0.5, 0.25, 0.0)], [Vec4::splat(1.0)]);
    /// blend::run_on_host(HostRange::new([1]), 0.5, &colours, &mut out);
    /// assert_eq!(out, [Vec4::new(1.0, 0.75, 0.625, 1.0)]);
    ///
    /// // Parts, and other orders.
    /// let v = Vec4::from([1, 2, 3, 4]);
    /// assert_eq!((v.z, v[3], v.hi()), (3, 4, Vec2::new(3, 4)));
    /// assert_eq!(v.swizzle([3, 0]), Vec2::new(4, 1));
    /// assert_eq!(v.map(|x| x as f32 / 2.0).dot(Vec4::splat(2.0)), 10.0);
    /// ```
    /// The host passes the vectors of `oclave::vector`, such as `Float4`.
    Vec4, 4, Four, [x y z w];
    /// Eight numbers, `float8` of OpenCL C.
    Vec8, 8, Eight, [s0 s1 s2 s3 s4 s5 s6 s7];
    /// Sixteen numbers, `float16` of OpenCL C.
    Vec16, 16, Sixteen, [s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 sa sb sc sd se sf];
}

macro_rules! halves {
    ($($name:ident: $half:ident, [$($low:ident)*], [$($high:ident)*], [$($even:ident)*], [$($odd:ident)*];)*) => {$(
        impl<T: Lane> $name<T> {
            /// The first half.
            #[inline(always)]
            pub fn lo(self) -> $half<T> {
                $half::new($(self.$low),*)
            }

            /// The second half.
            #[inline(always)]
            pub fn hi(self) -> $half<T> {
                $half::new($(self.$high),*)
            }

            /// The numbers at even places: the first, the third…
            #[inline(always)]
            pub fn even(self) -> $half<T> {
                $half::new($(self.$even),*)
            }

            /// The numbers at odd places: the second, the fourth…
            #[inline(always)]
            pub fn odd(self) -> $half<T> {
                $half::new($(self.$odd),*)
            }

            /// The vector of two halves.
            #[inline(always)]
            pub fn of_halves(low: $half<T>, high: $half<T>) -> Self {
                let mut all = Self::default();
                let count = low.as_array().len();
                let mut at = 0;
                while at < count {
                    all[at] = low[at];
                    all[count + at] = high[at];
                    at += 1;
                }
                all
            }
        }
    )*};
}

halves! {
    Vec4: Vec2, [x y], [z w], [x z], [y w];
    Vec8: Vec4, [s0 s1 s2 s3], [s4 s5 s6 s7], [s0 s2 s4 s6], [s1 s3 s5 s7];
    Vec16: Vec8, [s0 s1 s2 s3 s4 s5 s6 s7], [s8 s9 sa sb sc sd se sf],
        [s0 s2 s4 s6 s8 sa sc se], [s1 s3 s5 s7 s9 sb sd sf];
}

impl<T: Lane> Vec4<T> {
    /// The first three numbers.
    #[inline(always)]
    pub fn xyz(self) -> Vec3<T> {
        Vec3::new(self.x, self.y, self.z)
    }
}

impl<T: Lane> Vec3<T> {
    /// The first two numbers.
    #[inline(always)]
    pub fn xy(self) -> Vec2<T> {
        Vec2::new(self.x, self.y)
    }

    /// With a fourth number.
    #[inline(always)]
    pub fn extend(self, w: T) -> Vec4<T> {
        Vec4::new(self.x, self.y, self.z, w)
    }

    /// The vector that is orthogonal to both, OpenCL's `cross`.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self
    where
        T: Sub<Output = T> + Mul<Output = T>,
    {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }
}

impl<T: Lane> Vec2<T> {
    /// With a third number.
    #[inline(always)]
    pub fn extend(self, z: T) -> Vec3<T> {
        Vec3::new(self.x, self.y, z)
    }
}

/// The layout of OpenCL's vectors.
const _: () = {
    assert!(size_of::<Vec2<u8>>() == 2 && align_of::<Vec2<u8>>() == 2);
    assert!(size_of::<Vec3<f32>>() == 16 && align_of::<Vec3<f32>>() == 16);
    assert!(size_of::<Vec4<f16>>() == 8 && align_of::<Vec4<f16>>() == 8);
    assert!(size_of::<Vec8<f32>>() == 32 && align_of::<Vec8<f32>>() == 32);
    assert!(size_of::<Vec16<f64>>() == 128 && align_of::<Vec16<f64>>() == 128);
};
