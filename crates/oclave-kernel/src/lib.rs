//! Kernels in Rust for OpenCL devices.
//!
//! ```
//! use oclave_kernel::{Item, Out, kernel};
//!
//! /// `y += a * x`, an element a work-item.
//! #[kernel]
//! pub fn saxpy(item: Item<1>, a: f32, x: &[f32], mut y: Out<f32>) {
//!     *y += a * x[item.global_id()[0]];
//! }
//!
//! // On the host, for a test.
//! let (x, mut y) = ([1.0, 2.0, 3.0], [1.0; 3]);
//! saxpy::run_on_host(oclave_kernel::HostRange::new([3]), 2.0, &x, &mut y);
//! assert_eq!(y, [3.0, 5.0, 7.0]);
//! ```
//! `oclave-build` compiles a file with kernels for devices with the stable rustc
//! (`oclave_build::compile(&["kernels/saxpy.rs"])`), and writes typed functions that launch them.
//!
//! # Parameters
//! | type | on the device | given by the host | on the host: `run_on_host` |
//! |---|---|---|---|
//! | [`Item<D>`](Item) | ids and sizes, barriers | nothing | [`HostRange<D>`](HostRange) |
//! | numbers, vectors ([`Vec4<f32>`](Vec4)), arrays, structs that are [`Data`] | a value | a value | a value |
//! | `&[T]` | memory that nobody writes meanwhile | memory | a slice |
//! | [`Out<T>`](Out) | the work-item's own element | memory with an element for each work-item | a mutable slice |
//! | [`Global<T>`](Global) | memory for all, by `get` and `set` | memory | a mutable slice |
//! | `&[AtomicU32]`, [`AtomicI32`](core::sync::atomic::AtomicI32) | memory for all, by atomic accesses | memory of `u32`, `i32` | a slice |
//! | [`ReadImage`](images::ReadImage), [`WriteImage`](images::WriteImage), [`Sampler`](images::Sampler) | an image, a sampler | the same | [`HostImage`](images::HostImage), [`HostSampler`](images::HostSampler) |
//! | [`Local<T>`](Local) | memory of a work-group | its number of elements | its number of elements |
//!
//! Kernels share variables with other kernels and the host ([`device_global!`]). They have constants that
//! the host sets before a kernel is built ([`spec_constant!`]), and arrays in local memory
//! ([`Item::local_array`]). [`Item::work_group`] and [`Item::sub_group`] have the
//! functions in which all work-items of a group take part. [`f16`](struct@f16) is OpenCL's `half`. [`if_device!`] and [`if_host!`] have code
//! for one side only. [`device_println!`] prints. [`Object`] is memory for objects of a trait, which one kernel makes and
//! another one calls.
//!
//! # Safety
//! A kernel without `unsafe` reads and writes only its arguments, whatever they and the range are:
//! every access is checked. A check that fails is a panic, as everywhere in Rust. It ends the
//! work-item, and the next wait of the host returns an error with the message and its place. In a kernel
//! with barriers, all work-items of the work-group end at the next one.
//!
//! What a kernel is given lives as long as the launch, and the types have this lifetime: `Out<'a, T>`. So a kernel that
//! runs on the host cannot keep it, either.
//!
//! The host checks a launch once. An [`Out`] has an element for each work-item. Memory that the kernel
//! changes is given for one parameter only, but several [`Global`]s and slices of atomics may share
//! memory. Nothing else may change the memory of a `&[T]` while the kernel runs. As for kernels in C,
//! commands that write it are ordered before or after the launch.
//!
//! Several work-items may access one element of a [`Global`] or [`Local`] at the same time. A `get`
//! then returns what some work-item wrote, or what was there before. Of elements larger than 32 bits
//! it may return parts of several values.
#![no_std]

#[cfg(not(oclave_device))]
extern crate std;

mod data;
mod description;
#[cfg(any(oclave_device, test))]
mod division;
mod global;
mod group;
mod half;
#[cfg(not(oclave_device))]
mod host;
#[cfg(not(oclave_device))]
mod host_image;
pub mod images;
mod item;
mod math;
mod memory;
mod object;
mod parameter;
mod print;
mod sides;
mod vector;

pub use data::{Data, Element};
pub use global::{Atomics, DeviceGlobal, SpecConstant};
pub use group::{GroupNumber, SubGroup, WorkGroup};
pub use half::f16;
#[cfg(not(oclave_device))]
pub use host::HostRange;
pub use item::Item;
pub use math::MathExt;
pub use memory::{Global, Local, Out};
pub use object::{Class, Object, Objects};
pub use oclave_kernel_macros::{
    Data, device_global, device_print, device_println, kernel, objects, spec_constant,
};
pub use print::Printed;
pub use vector::{Lane, Vec2, Vec3, Vec4, Vec8, Vec16, VectorOf};

/// For the macros.
#[doc(hidden)]
pub mod __private {
    pub use crate::description::{
        ClassDescription, FieldDescription, KernelDescription, ParameterDescription, TypeDescription,
        VariableDescription,
    };
    #[cfg(not(oclave_device))]
    pub use crate::host::{HostParameter, Work, run};
    #[cfg(not(oclave_device))]
    pub use crate::object::Classes;
    pub use crate::object::class_number;
    #[cfg(oclave_device)]
    pub use crate::parameter::bytes_argument;
    pub use crate::parameter::{Launches, Parameter};
    #[cfg(not(oclave_device))]
    pub use crate::print::print;
    #[cfg(oclave_device)]
    pub use crate::print::print_bits;
    pub use crate::print::print_code;
    #[cfg(oclave_single_pass)]
    pub use crate::sides::Choice;
    #[cfg(not(oclave_single_pass))]
    pub use crate::sides::{IS_DEVICE, run_here};

    /// Only compiles for [`Data`](crate::Data).
    pub const fn is_data<T: crate::Data>() {}
}

/// Code for devices only.
#[cfg(oclave_device)]
#[doc(hidden)]
#[macro_export]
macro_rules! __device {
    ($($tokens:tt)*) => { $($tokens)* };
}

/// Code for devices only.
#[cfg(not(oclave_device))]
#[doc(hidden)]
#[macro_export]
macro_rules! __device {
    ($($tokens:tt)*) => {};
}

/// Code for the host only.
#[cfg(oclave_device)]
#[doc(hidden)]
#[macro_export]
macro_rules! __host {
    ($($tokens:tt)*) => {};
}

/// Code for the host only.
#[cfg(not(oclave_device))]
#[doc(hidden)]
#[macro_export]
macro_rules! __host {
    ($($tokens:tt)*) => { $($tokens)* };
}
