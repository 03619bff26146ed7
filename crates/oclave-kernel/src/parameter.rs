//! Parameters of kernels, as devices get them.

use crate::description::TypeDescription;
use crate::{Data, Element, Global, Item, Local, Object, Objects, Out};

/// The type of a parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a kernel",
    note = "parameters are `Item`, numbers, vectors, structs with `#[derive(Data)]`, slices `&[T]`, `Out`, `Global` and `Local`",
    note = "memory that the kernel changes is an `Out` (the work-item's own element) or a `Global` (all elements), and no `&mut`"
)]
pub trait Parameter: Sized {
    /// Number of the kind in descriptions.
    const KIND: u32;
    /// How many arguments it has.
    const ARGUMENTS: u32;
    /// The type of the value, or of its elements.
    const TYPE: &'static TypeDescription;

    /// Dimensions of the range, of which only `Item` knows.
    const DIMENSIONS: u32 = 0;

    /// The parameter whose first argument has a number.
    ///
    /// # Safety
    /// Called once a work-item, by the kernel itself, with the number of an argument of this type, and what holds for
    /// its launches.
    #[cfg(oclave_device)]
    unsafe fn argument(index: u32, launches: Launches) -> Self;
}

/// What holds for each launch of a kernel.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Launches {
    /// Work-items of a work-group. 0 is not known.
    pub work_group: [u32; 3],
    /// Dimensions of the range. If there are more, the range has one work-item in each of them.
    pub dimensions: u32,
}

impl Launches {
    /// Of a kernel whose parameters have these [dimensions](Parameter::DIMENSIONS).
    #[must_use]
    pub const fn new(work_group: [u32; 3], parameters: &[u32]) -> Self {
        let (mut dimensions, mut at) = (0, 0);
        while at < parameters.len() {
            if parameters[at] > dimensions {
                dimensions = parameters[at];
            }
            at += 1;
        }
        Self { work_group, dimensions: if dimensions == 0 { 3 } else { dimensions } }
    }
}

/// What only the lowering to SPIR-V knows.
#[cfg(oclave_device)]
pub(crate) mod device {
    unsafe extern "C" {
        #[link_name = "__oclave_argument_global"]
        pub(super) safe fn argument_global(index: u32) -> *mut u8;
        #[link_name = "__oclave_argument_local"]
        pub(super) safe fn argument_local(index: u32) -> *mut u8;
        #[link_name = "__oclave_argument_bytes"]
        pub(super) safe fn argument_bytes(index: u32) -> *const u8;
        #[link_name = "__oclave_argument_u64"]
        pub(super) safe fn argument_u64(index: u32) -> u64;
        #[link_name = "__oclave_argument_u32"]
        pub(super) safe fn argument_u32(index: u32) -> u32;
        #[link_name = "__oclave_argument_u16"]
        pub(super) safe fn argument_u16(index: u32) -> u16;
        #[link_name = "__oclave_argument_u8"]
        pub(super) safe fn argument_u8(index: u32) -> u8;
        #[link_name = "__oclave_argument_f32"]
        pub(super) safe fn argument_f32(index: u32) -> f32;
        #[link_name = "__oclave_argument_f64"]
        pub(super) safe fn argument_f64(index: u32) -> f64;
        #[link_name = "__oclave_global_id"]
        pub(super) safe fn global_id(axis: u32) -> usize;
        #[link_name = "__oclave_global_size"]
        pub(super) safe fn global_size(axis: u32) -> usize;
        #[link_name = "__oclave_local_id"]
        pub(super) safe fn local_id(axis: u32) -> usize;
        #[link_name = "__oclave_local_size"]
        pub(super) safe fn local_size(axis: u32) -> usize;
        #[link_name = "__oclave_group_id"]
        pub(super) safe fn group_id(axis: u32) -> usize;
        #[link_name = "__oclave_group_count"]
        pub(super) safe fn group_count(axis: u32) -> usize;
        #[link_name = "__oclave_global_offset"]
        pub(super) safe fn global_offset(axis: u32) -> usize;
        #[link_name = "__oclave_barrier"]
        pub(crate) safe fn barrier(scope: u32, memory: u32);
        #[link_name = "__oclave_whole"]
        safe fn whole(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32);
        #[link_name = "__oclave_local_memory"]
        pub(crate) safe fn local_memory(bytes: u64) -> *mut u8;
        #[link_name = "__oclave_sub_group_local_id"]
        pub(crate) safe fn sub_group_local_id() -> u32;
        #[link_name = "__oclave_sub_group_size"]
        pub(crate) safe fn sub_group_size() -> u32;
        #[link_name = "__oclave_sub_group_id"]
        pub(crate) safe fn sub_group_id() -> u32;
    }

    /// Keeps the code before a barrier together with it. rustc does not know that a barrier must not be copied into
    /// branches. Its own jump threading stops at assembly, if that is inlined in MIR. So this function is small. LLVM
    /// copies only what costs little, and the calls cost more than any of its limits. On the device all of this is nothing.
    #[inline(always)]
    pub(crate) fn keep_whole() {
        // SAFETY: it has no instructions.
        unsafe { core::arch::asm!("") };
        cost_much();
    }

    #[inline(always)]
    fn cost_much() {
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
        whole(0, 0, 0, 0, 0, 0, 0);
    }
}

/// A type without values in memory, for `Item`.
const NOTHING: &TypeDescription = &TypeDescription::scalar::<u8>(1);

impl<const D: usize> Parameter for Item<'_, D> {
    const KIND: u32 = 0;
    const ARGUMENTS: u32 = 0;
    const TYPE: &'static TypeDescription = NOTHING;
    const DIMENSIONS: u32 = D as u32;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(_: u32, launches: Launches) -> Self {
        // All at once: what is not used costs nothing, and the calls of a loop would keep values from staying in
        // registers.
        let mut item = Self {
            global_id: [device::global_id(0), device::global_id(1), device::global_id(2)],
            global_size: [device::global_size(0), device::global_size(1), device::global_size(2)],
            local_id: [device::local_id(0), device::local_id(1), device::local_id(2)],
            local_size: [device::local_size(0), device::local_size(1), device::local_size(2)],
            group_id: [device::group_id(0), device::group_id(1), device::group_id(2)],
            group_count: [device::group_count(0), device::group_count(1), device::group_count(2)],
            group: core::marker::PhantomData,
        };
        let mut axis = 0;
        while axis < 3 {
            if launches.work_group[axis] != 0 {
                item.local_size[axis] = launches.work_group[axis] as usize;
            }
            // So that rustc leaves out checks.
            // SAFETY: ids are less than sizes, and the size is that of each launch.
            unsafe {
                core::hint::assert_unchecked(item.local_id[axis] < item.local_size[axis]);
                core::hint::assert_unchecked(item.group_id[axis] < item.group_count[axis]);
            }
            axis += 1;
        }
        item
    }
}

macro_rules! scalars {
    ($($ty:ty: $function:ident),*) => {$(
        impl Parameter for $ty {
            const KIND: u32 = 1;
            const ARGUMENTS: u32 = 1;
            const TYPE: &'static TypeDescription = <$ty as Element>::DESCRIPTION;

            #[cfg(oclave_device)]
            #[inline(always)]
            unsafe fn argument(index: u32, _: Launches) -> Self {
                device::$function(index) as $ty
            }
        }
    )*};
}

scalars!(
    i8: argument_u8, u8: argument_u8, i16: argument_u16, u16: argument_u16, i32: argument_u32, u32: argument_u32,
    i64: argument_u64, u64: argument_u64, f32: argument_f32, f64: argument_f64
);

impl Parameter for crate::f16 {
    const KIND: u32 = 1;
    const ARGUMENTS: u32 = 1;
    const TYPE: &'static TypeDescription = <Self as Element>::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: Launches) -> Self {
        Self::from_bits(device::argument_u16(index))
    }
}

/// A value that is passed as bytes.
///
/// # Safety
/// As [`Parameter::argument`].
#[cfg(oclave_device)]
#[inline(always)]
pub unsafe fn bytes_argument<T: Data>(index: u32) -> T {
    // SAFETY: the argument is a value of this type.
    unsafe { device::argument_bytes(index).cast::<T>().read() }
}

impl<T: Data, const N: usize> Parameter for [T; N] {
    const KIND: u32 = 1;
    const ARGUMENTS: u32 = 1;
    const TYPE: &'static TypeDescription = <[T; N] as Element>::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: Launches) -> Self {
        // SAFETY: as this function.
        unsafe { bytes_argument(index) }
    }
}

impl<D: Objects + ?Sized, const SIZE: usize> Parameter for Object<D, SIZE> {
    const KIND: u32 = 1;
    const ARGUMENTS: u32 = 1;
    const TYPE: &'static TypeDescription = <Self as Element>::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: Launches) -> Self {
        // SAFETY: as this function.
        unsafe { bytes_argument(index) }
    }
}

/// Makes a type that is [`Data`] a parameter.
#[doc(hidden)]
#[macro_export]
macro_rules! __parameter {
    ($ty:ty) => {
        $crate::__device! {
            #[allow(unsafe_code)]
            impl $crate::__private::Parameter for $ty {
                const KIND: u32 = 1;
                const ARGUMENTS: u32 = 1;
                const TYPE: &'static $crate::__private::TypeDescription = <$ty as $crate::Element>::DESCRIPTION;

                #[inline(always)]
                unsafe fn argument(index: u32, _: $crate::__private::Launches) -> Self {
                    // SAFETY: as this function.
                    unsafe { $crate::__private::bytes_argument(index) }
                }
            }
        }
        $crate::__host! {
            impl $crate::__private::Parameter for $ty {
                const KIND: u32 = 1;
                const ARGUMENTS: u32 = 1;
                const TYPE: &'static $crate::__private::TypeDescription = <$ty as $crate::Element>::DESCRIPTION;
            }

            impl $crate::__private::HostParameter for $ty {
                type Host<'h> = $ty;
                type Shared = $ty;
                type Given<'s> = $ty;

                fn share(given: $ty) -> $ty {
                    given
                }

                fn of(shared: &$ty, _: &$crate::__private::Work<'_>) -> $ty {
                    *shared
                }
            }
        }
    };
}

/// The number of elements of memory, which is the argument after it.
#[cfg(oclave_device)]
#[inline(always)]
fn length(memory: u32) -> usize {
    device::argument_u64(memory + 1) as usize
}

impl<T: Element> Parameter for &[T] {
    const KIND: u32 = if T::IS_ATOMIC { 3 } else { 2 };
    const ARGUMENTS: u32 = 2;
    const TYPE: &'static TypeDescription = T::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: Launches) -> Self {
        let len = length(index);
        let first = device::argument_global(index).cast::<T>();
        // SAFETY: the host passes memory with so many elements, and no null pointer for a slice.
        unsafe { core::slice::from_raw_parts(first, len) }
    }
}

/// The number of the work-item in a range, without its offset.
#[cfg(oclave_device)]
#[inline(always)]
fn number_in_range(dimensions: u32) -> usize {
    let (mut number, mut axis) = (0usize, dimensions);
    while axis > 0 {
        axis -= 1;
        let id = device::global_id(axis).wrapping_sub(device::global_offset(axis));
        number = number.wrapping_mul(device::global_size(axis)).wrapping_add(id);
    }
    number
}

impl<T: Data> Parameter for Out<'_, T> {
    const KIND: u32 = 4;
    const ARGUMENTS: u32 = 1;
    const TYPE: &'static TypeDescription = T::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, launches: Launches) -> Self {
        let number = number_in_range(launches.dimensions);
        // SAFETY: the launch is refused if the memory has fewer elements than the range has work-items, or if the range has
        // more dimensions.
        let element = unsafe { device::argument_global(index).cast::<T>().add(number) };
        Self { element, of: core::marker::PhantomData }
    }
}

impl<T: Data> Parameter for Global<'_, T> {
    const KIND: u32 = 3;
    const ARGUMENTS: u32 = 2;
    const TYPE: &'static TypeDescription = T::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: Launches) -> Self {
        let len = length(index);
        Self { first: device::argument_global(index).cast(), len, of: core::marker::PhantomData }
    }
}

impl<T: Data> Parameter for Local<'_, T> {
    const KIND: u32 = 5;
    const ARGUMENTS: u32 = 2;
    const TYPE: &'static TypeDescription = T::DESCRIPTION;

    #[cfg(oclave_device)]
    #[inline(always)]
    unsafe fn argument(index: u32, _: Launches) -> Self {
        let len = length(index);
        Self { first: device::argument_local(index).cast(), len, of: core::marker::PhantomData }
    }
}
