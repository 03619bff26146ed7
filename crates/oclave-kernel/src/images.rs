//! Images and samplers.

use core::fmt;
use core::marker::PhantomData;

use crate::Vec4;
use crate::description::TypeDescription;
use crate::parameter::Parameter;
use crate::vector::Lane;

/// The dimensions of an image: [`D1`], [`D2`], [`D3`], [`D1Array`] or [`D2Array`].
///
/// Places begin with the column, as in OpenCL C: `[x, y]`, `[x, y, z]`, and for arrays `[x, layer]` and
/// `[x, y, layer]`.
pub trait Dimensions: Copy + Send + Sync + 'static {
    /// Column, row, plane or layer.
    type Place: Copy;
    /// The same between pixels, for samplers.
    type Point: Copy;
    /// Columns, rows, planes or layers.
    type Size: Copy + fmt::Debug;
    #[doc(hidden)]
    const NUMBER: u32;
    #[doc(hidden)]
    const COUNT: usize;
    #[doc(hidden)]
    fn place(place: Self::Place) -> [i32; 3];
    #[doc(hidden)]
    fn point(point: Self::Point) -> [f32; 3];
    #[doc(hidden)]
    fn size(size: [usize; 3]) -> Self::Size;
    #[doc(hidden)]
    fn of_size(size: Self::Size) -> [usize; 3];
}

macro_rules! dimensions {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $count:literal, [$($axis:ident)*];)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Dimensions for $name {
            type Place = [i32; $count];
            type Point = [f32; $count];
            type Size = [usize; $count];
            const NUMBER: u32 = $number;
            const COUNT: usize = $count;

            #[inline(always)]
            fn place([$($axis),*]: [i32; $count]) -> [i32; 3] {
                let mut all = [0; 3];
                all[..$count].copy_from_slice(&[$($axis),*]);
                all
            }

            #[inline(always)]
            fn point([$($axis),*]: [f32; $count]) -> [f32; 3] {
                let mut all = [0.0; 3];
                all[..$count].copy_from_slice(&[$($axis),*]);
                all
            }

            #[inline(always)]
            fn size([x, y, z]: [usize; 3]) -> [usize; $count] {
                let all = [x, y, z];
                core::array::from_fn(|axis| all[axis])
            }

            #[inline(always)]
            fn of_size([$($axis),*]: [usize; $count]) -> [usize; 3] {
                let mut all = [1; 3];
                all[..$count].copy_from_slice(&[$($axis),*]);
                all
            }
        }
    )*};
}

dimensions! {
    /// `image1d_t`: columns.
    D1 = 0, 1, [x];
    /// `image2d_t`: columns and rows.
    D2 = 1, 2, [x y];
    /// `image3d_t`: columns, rows and planes.
    D3 = 2, 3, [x y z];
    /// `image1d_array_t`: columns and layers.
    D1Array = 3, 2, [x layer];
    /// `image2d_array_t`: columns, rows and layers.
    D2Array = 4, 3, [x y layer];
}

/// A number of a pixel: `f32` for formats that kernels see as floating-point numbers, `i32` and `u32` for those of integers.
#[diagnostic::on_unimplemented(
    message = "pixels are not read and written as `{Self}`",
    note = "they are `f32` for formats that are floating-point numbers to kernels (`Unorm8`, `f32`, …), else `i32` or `u32`"
)]
pub trait Pixel: Lane {
    #[doc(hidden)]
    const NUMBERS: u32;
    #[doc(hidden)]
    fn to_bits(self) -> u32;
    #[doc(hidden)]
    fn of_bits(bits: u32) -> Self;
}

macro_rules! pixels {
    ($($ty:ty = $kind:literal, |$x:ident| $bits:expr, |$y:ident| $of:expr;)*) => {$(
        impl Pixel for $ty {
            const NUMBERS: u32 = $kind;

            #[inline(always)]
            fn to_bits(self) -> u32 {
                let $x = self;
                $bits
            }

            #[inline(always)]
            fn of_bits($y: u32) -> Self {
                $of
            }
        }
    )*};
}

pixels! {
    f32 = 0, |x| x.to_bits(), |x| f32::from_bits(x);
    i32 = 1, |x| x as u32, |x| x as i32;
    u32 = 2, |x| x, |x| x;
}

/// What only the lowering to SPIR-V knows. Images and samplers are numbers of arguments there.
#[cfg(oclave_device)]
mod device {
    unsafe extern "C" {
        #[link_name = "__oclave_image_size"]
        pub(super) safe fn size(image: u32, axis: u32) -> u32;
        #[link_name = "__oclave_image_read"]
        pub(super) safe fn read(image: u32, kind: u32, x: i32, y: i32, z: i32, to: *mut [u32; 4]);
        #[link_name = "__oclave_image_sample"]
        pub(super) safe fn sample(
            image: u32,
            kind: u32,
            sampler: u32,
            x: f32,
            y: f32,
            z: f32,
            to: *mut [u32; 4],
        );
        #[link_name = "__oclave_image_write"]
        pub(super) safe fn write(
            image: u32,
            kind: u32,
            x: i32,
            y: i32,
            z: i32,
            red: u32,
            green: u32,
            blue: u32,
            alpha: u32,
        );
    }
}

/// Where the pixels are.
#[cfg(oclave_device)]
pub(crate) type Pixels = u32;
#[cfg(not(oclave_device))]
pub(crate) use crate::host_image::Pixels;

#[inline(always)]
fn size_of_image<D: Dimensions>(pixels: Pixels, _: PhantomData<D>) -> [usize; 3] {
    #[cfg(oclave_device)]
    {
        let mut size = [1; 3];
        size[0] = device::size(pixels, 0) as usize;
        if D::COUNT > 1 {
            size[1] = device::size(pixels, 1) as usize;
        }
        if D::COUNT > 2 {
            size[2] = device::size(pixels, 2) as usize;
        }
        size
    }
    #[cfg(not(oclave_device))]
    {
        pixels.size
    }
}

/// The place, which is in the image.
#[inline(always)]
#[track_caller]
fn checked<D: Dimensions>(pixels: Pixels, place: D::Place) -> [i32; 3] {
    let (place, size) = (D::place(place), size_of_image(pixels, PhantomData::<D>));
    let mut axis = 0;
    while axis < D::COUNT {
        if place[axis] < 0 || place[axis] as usize >= size[axis] {
            panic!("a place outside of the image");
        }
        axis += 1;
    }
    place
}

#[inline(always)]
fn read_pixel<P: Pixel>(pixels: Pixels, [x, y, z]: [i32; 3]) -> Vec4<P> {
    #[cfg(oclave_device)]
    {
        let mut bits = [0; 4];
        device::read(pixels, P::NUMBERS, x, y, z, &raw mut bits);
        Vec4::from(bits.map(P::of_bits))
    }
    #[cfg(not(oclave_device))]
    {
        Vec4::from(pixels.read(P::NUMBERS, [x, y, z]).map(P::of_bits))
    }
}

#[inline(always)]
fn write_pixel<P: Pixel>(pixels: Pixels, [x, y, z]: [i32; 3], value: Vec4<P>) {
    let bits = value.to_array().map(P::to_bits);
    #[cfg(oclave_device)]
    device::write(pixels, P::NUMBERS, x, y, z, bits[0], bits[1], bits[2], bits[3]);
    #[cfg(not(oclave_device))]
    pixels.write(P::NUMBERS, [x, y, z], bits);
}

macro_rules! images {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$doc])*
        pub struct $name<'a, D: Dimensions> {
            pub(crate) pixels: Pixels,
            pub(crate) of: PhantomData<&'a D>,
        }

        impl<D: Dimensions> Clone for $name<'_, D> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<D: Dimensions> Copy for $name<'_, D> {}

        impl<D: Dimensions> fmt::Debug for $name<'_, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl<D: Dimensions> $name<'_, D> {
            /// Columns, rows, and planes or layers: `get_image_width` and its like.
            #[inline(always)]
            pub fn size(&self) -> D::Size {
                D::size(size_of_image(self.pixels, PhantomData::<D>))
            }
        }

        impl<D: Dimensions> Parameter for $name<'_, D> {
            const KIND: u32 = $kind + D::NUMBER;
            const ARGUMENTS: u32 = 1;
            const TYPE: &'static TypeDescription = &TypeDescription::scalar::<u32>(5);

            #[cfg(oclave_device)]
            #[inline(always)]
            unsafe fn argument(index: u32, _: crate::parameter::Launches) -> Self {
                Self { pixels: index, of: PhantomData }
            }
        }
    )*};
}

images! {
    /// An image that the kernel reads, `read_only` in OpenCL C.
    ///
    /// ```
    /// use oclave_kernel::images::{D2, HostImage, HostSampler, ReadImage, Sampler, WriteImage};
    /// use oclave_kernel::{HostRange, Item, Vec4, kernel};
    ///
    /// /// Half the size: each pixel is the mean of four.
    /// #[kernel]
    /// pub fn halve(item: Item<2>, from: ReadImage<D2>, linear: Sampler, to: WriteImage<D2>) {
    ///     let [x, y] = item.global_id().map(|id| id as i32);
    ///     let mean: Vec4<f32> = from.sample(linear, [2.0 * x as f32 + 1.0, 2.0 * y as f32 + 1.0]);
    ///     to.write([x, y], mean);
    /// }
    ///
    /// let from = HostImage::<D2>::new([4, 2], Vec4::new(0.5, 0.25, 0.0, 1.0));
    /// let mut to = HostImage::<D2>::new([2, 1], Vec4::<f32>::default());
    /// halve::run_on_host(HostRange::new([2, 1]), &from, HostSampler::new().linear(), &mut to);
    /// assert_eq!(to.pixels::<f32>(), [Vec4::new(0.5, 0.25, 0.0, 1.0); 2]);
    /// ```
    /// The type of numbers must be that of the image's format: `f32`, `i32` or `u32`. Images are used in the
    /// kernel itself, or in functions that are `#[inline(always)]`.
    ReadImage = 16;
    /// An image that the kernel writes, `write_only` in OpenCL C.
    WriteImage = 24;
    /// An image that the kernel reads and writes, on devices with the aspect `image_read_write`.
    ReadWriteImage = 32;
}

macro_rules! reads {
    ($($name:ident)*) => {$(
        impl<D: Dimensions> $name<'_, D> {
            /// A pixel.
            ///
            /// # Panics
            /// If the image has no such place.
            #[inline(always)]
            #[track_caller]
            pub fn read<P: Pixel>(&self, place: D::Place) -> Vec4<P> {
                read_pixel(self.pixels, checked::<D>(self.pixels, place))
            }
        }
    )*};
}

macro_rules! writes {
    ($($name:ident)*) => {$(
        impl<D: Dimensions> $name<'_, D> {
            /// Changes a pixel.
            ///
            /// # Panics
            /// If the image has no such place.
            #[inline(always)]
            #[track_caller]
            pub fn write<P: Pixel>(&self, place: D::Place, value: Vec4<P>) {
                write_pixel(self.pixels, checked::<D>(self.pixels, place), value);
            }
        }
    )*};
}

reads!(ReadImage ReadWriteImage);
writes!(WriteImage ReadWriteImage);

impl<D: Dimensions> ReadImage<'_, D> {
    /// A pixel, or a mixture of pixels, as the sampler says. It also says what is outside of the image, so that
    /// this does not panic. With `Addressing::None`, the host promises that no point is outside.
    #[inline(always)]
    pub fn sample<P: Pixel>(&self, sampler: Sampler, point: D::Point) -> Vec4<P> {
        let [x, y, z] = D::point(point);
        #[cfg(oclave_device)]
        {
            let mut bits = [0; 4];
            device::sample(self.pixels, P::NUMBERS, sampler.sampler, x, y, z, &raw mut bits);
            Vec4::from(bits.map(P::of_bits))
        }
        #[cfg(not(oclave_device))]
        {
            let is_array = matches!(D::NUMBER, 3 | 4);
            let bits = sampler.sampler.sample(self.pixels, P::NUMBERS, [x, y, z], D::COUNT, is_array);
            Vec4::from(bits.map(P::of_bits))
        }
    }
}

/// How an image is read between and outside of its pixels, `sampler_t` in OpenCL C.
#[derive(Debug, Clone, Copy)]
pub struct Sampler {
    #[cfg(oclave_device)]
    pub(crate) sampler: u32,
    #[cfg(not(oclave_device))]
    pub(crate) sampler: HostSampler,
}

impl Parameter for Sampler {
    const KIND: u32 = 6;
    const ARGUMENTS: u32 = 1;
    const TYPE: &'static TypeDescription = &TypeDescription::scalar::<u32>(5);

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: crate::parameter::Launches) -> Self {
        Self { sampler: index }
    }
}

#[cfg(not(oclave_device))]
pub use crate::host_image::{HostAddressing, HostImage, HostSampler};
