//! Images on the host, for tests.

use core::marker::PhantomData;
use std::vec::Vec;

use crate::Vec4;
use crate::host::{HostParameter, Work};
use crate::images::{Dimensions, Pixel, ReadImage, ReadWriteImage, Sampler, WriteImage};

/// An image for `run_on_host`. Its pixels have four numbers of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct HostImage<D: Dimensions> {
    size: [usize; 3],
    kind: u32,
    pixels: Vec<[u32; 4]>,
    of: PhantomData<fn() -> D>,
}

impl<D: Dimensions> HostImage<D> {
    /// An image of a size, columns first, with one pixel everywhere.
    pub fn new<P: Pixel>(size: D::Size, pixel: Vec4<P>) -> Self {
        let size = D::of_size(size);
        let pixels = core::iter::repeat_n(pixel.to_array().map(P::to_bits), size.iter().product()).collect();
        Self { size, kind: P::NUMBERS, pixels, of: PhantomData }
    }

    /// An image of a size, columns first, with these pixels, row by row.
    ///
    /// # Panics
    /// If there are not as many pixels as the size has.
    pub fn from_pixels<P: Pixel>(size: D::Size, pixels: &[Vec4<P>]) -> Self {
        let size = D::of_size(size);
        assert_eq!(size.iter().product::<usize>(), pixels.len(), "an image has as many pixels as its size");
        let pixels = pixels.iter().map(|pixel| pixel.to_array().map(P::to_bits)).collect();
        Self { size, kind: P::NUMBERS, pixels, of: PhantomData }
    }

    /// The pixels, row by row.
    ///
    /// # Panics
    /// If the image has numbers of another type.
    pub fn pixels<P: Pixel>(&self) -> Vec<Vec4<P>> {
        check(self.kind, P::NUMBERS);
        self.pixels.iter().map(|bits| Vec4::from(bits.map(P::of_bits))).collect()
    }
}

fn check(own: u32, wanted: u32) {
    let name = |kind: u32| ["f32", "i32", "u32"][kind as usize % 3];
    assert!(own == wanted, "pixels of `{}` are accessed as `{}`", name(own), name(wanted));
}

/// The pixels of an image, as work-items reach them.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Pixels {
    pub(crate) size: [usize; 3],
    kind: u32,
    first: *mut [u32; 4],
}

// SAFETY: work-items access pixels as they do on a device, by volatile accesses.
unsafe impl Sync for Pixels {}

impl Pixels {
    fn at(&self, [x, y, z]: [i32; 3]) -> *mut [u32; 4] {
        let [x, y, z] = [x, y, z].map(|place| place as usize);
        assert!(x < self.size[0] && y < self.size[1] && z < self.size[2], "a place outside of the image");
        // SAFETY: in bounds.
        unsafe { self.first.add((z * self.size[1] + y) * self.size[0] + x) }
    }

    pub(crate) fn read(&self, kind: u32, place: [i32; 3]) -> [u32; 4] {
        check(self.kind, kind);
        // SAFETY: in bounds, and the image lives while kernels run: `run_on_host` holds it.
        unsafe { self.at(place).read_volatile() }
    }

    pub(crate) fn write(&self, kind: u32, place: [i32; 3], bits: [u32; 4]) {
        check(self.kind, kind);
        // SAFETY: as for `read`, and the image is borrowed for changes.
        unsafe { self.at(place).write_volatile(bits) }
    }
}

/// What a sampler of the host gives for places outside of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostAddressing {
    /// The nearest pixel.
    ClampToEdge,
    /// Zeroes.
    Clamp,
    /// The image again.
    Repeat,
}

/// A sampler for `run_on_host`: the nearest pixel, by columns and rows, and the nearest pixel for what is
/// outside, unless something else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSampler {
    is_linear: bool,
    is_normalized: bool,
    addressing: HostAddressing,
}

impl Default for HostSampler {
    fn default() -> Self {
        Self::new()
    }
}

impl HostSampler {
    /// The nearest pixel.
    pub const fn new() -> Self {
        Self { is_linear: false, is_normalized: false, addressing: HostAddressing::ClampToEdge }
    }

    /// Mixes the pixels around a point.
    pub const fn linear(mut self) -> Self {
        self.is_linear = true;
        self
    }

    /// Points are from 0 to 1.
    pub const fn normalized(mut self) -> Self {
        self.is_normalized = true;
        self
    }

    /// What is outside.
    pub const fn addressing(mut self, addressing: HostAddressing) -> Self {
        self.addressing = addressing;
        self
    }

    /// The place of an axis, or none for the border.
    fn addressed(self, place: i64, size: usize) -> Option<i32> {
        let size = size as i64;
        let place = match self.addressing {
            HostAddressing::ClampToEdge => place.clamp(0, size - 1),
            HostAddressing::Clamp if place < 0 || place >= size => return None,
            HostAddressing::Clamp => place,
            HostAddressing::Repeat => place.rem_euclid(size),
        };
        Some(place as i32)
    }

    pub(crate) fn sample(
        self,
        pixels: Pixels,
        kind: u32,
        mut point: [f32; 3],
        count: usize,
        is_array: bool,
    ) -> [u32; 4] {
        check(pixels.kind, kind);
        // The layer is the nearest one.
        let axes = if is_array { count - 1 } else { count };
        let layer =
            is_array.then(|| (point[axes].round_ties_even() as i64).clamp(0, pixels.size[axes] as i64 - 1));
        for (point, size) in point.iter_mut().zip(pixels.size).take(axes) {
            if self.is_normalized {
                *point *= size as f32;
            }
        }
        let read = |offset: [f32; 3]| {
            let mut place = [0; 3];
            for axis in 0..axes {
                let at = (point[axis] + offset[axis]).floor() as i64;
                match self.addressed(at, pixels.size[axis]) {
                    Some(at) => place[axis] = at,
                    None => return [0; 4],
                }
            }
            if let Some(layer) = layer {
                place[axes] = layer as i32;
            }
            pixels.read(kind, place)
        };
        if !self.is_linear || kind != f32::NUMBERS {
            return read([0.0; 3]);
        }
        let mut sum = [0.0_f32; 4];
        for corner in 0..1_u32 << axes {
            let (mut weight, mut offset) = (1.0, [0.0; 3]);
            for axis in 0..axes {
                let between = point[axis] - 0.5;
                let part = between - between.floor();
                let is_next = corner >> axis & 1 == 1;
                weight *= if is_next { part } else { 1.0 - part };
                offset[axis] = if is_next { 0.5 } else { -0.5 };
            }
            for (sum, bits) in sum.iter_mut().zip(read(offset)) {
                *sum += weight * f32::from_bits(bits);
            }
        }
        sum.map(f32::to_bits)
    }
}

macro_rules! host_images {
    ($($name:ident, [$($given:tt)*], |$image:ident| $first:expr;)*) => {$(
        impl<D: Dimensions> HostParameter for $name<'_, D> {
            type Host<'h> = &'h $($given)* HostImage<D>;
            type Shared = Pixels;
            type Given<'s> = $name<'s, D>;

            fn share($image: &$($given)* HostImage<D>) -> Pixels {
                Pixels { size: $image.size, kind: $image.kind, first: $first }
            }

            fn of<'s>(shared: &'s Pixels, _: &Work<'_>) -> $name<'s, D> {
                $name { pixels: *shared, of: PhantomData }
            }
        }
    )*};
}

host_images! {
    ReadImage, [], |image| image.pixels.as_ptr().cast_mut();
    WriteImage, [mut], |image| image.pixels.as_mut_ptr();
    ReadWriteImage, [mut], |image| image.pixels.as_mut_ptr();
}

impl HostParameter for Sampler {
    type Host<'h> = HostSampler;
    type Shared = HostSampler;
    type Given<'s> = Self;

    fn share(given: HostSampler) -> HostSampler {
        given
    }

    fn of(shared: &HostSampler, _: &Work<'_>) -> Self {
        Self { sampler: *shared }
    }
}
