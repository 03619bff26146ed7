//! Device globals: variables that live on a device between kernels and that the host can read and write.
//!
//! After `sycl_ext_oneapi_device_global`. A variable without `device_image_scope` has one instance per context and
//! device, shared by every image and program; it is made and initialised when first accessed, by whatever side.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::ImageTable;

/// What the host may do with a device global: the property `host_access` as types.
pub mod host_access {
    mod sealed {
        pub trait Sealed {}
    }

    /// A value of the property.
    pub trait Access: sealed::Sealed + 'static {}
    /// Access that lets the host read.
    pub trait HostRead: Access {}
    /// Access that lets the host write.
    pub trait HostWrite: Access {}

    /// The host only reads.
    #[derive(Debug)]
    pub enum Read {}
    /// The host only writes.
    #[derive(Debug)]
    pub enum Write {}
    /// The host reads and writes; the default.
    #[derive(Debug)]
    pub enum ReadWrite {}
    /// The host does neither.
    #[derive(Debug)]
    pub enum None {}

    impl sealed::Sealed for Read {}
    impl sealed::Sealed for Write {}
    impl sealed::Sealed for ReadWrite {}
    impl sealed::Sealed for None {}
    impl Access for Read {}
    impl Access for Write {}
    impl Access for ReadWrite {}
    impl Access for None {}
    impl HostRead for Read {}
    impl HostRead for ReadWrite {}
    impl HostWrite for Write {}
    impl HostWrite for ReadWrite {}
}

/// A device global of a source, declared by the generated code.
///
/// `T` is the variable's type; `A` what the host may do, checked at compile time.
pub struct DeviceGlobal<T, A = host_access::ReadWrite> {
    images: &'static ImageTable,
    id: &'static str,
    ty: PhantomData<fn() -> (T, A)>,
}

impl<T: Pod, A: host_access::Access> DeviceGlobal<T, A> {
    /// The variable with unique id `id`, of one of the images of a table.
    pub const fn new(images: &'static ImageTable, id: &'static str) -> Self {
        Self { images, id, ty: PhantomData }
    }

    /// The unique id; equal ids are one variable.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// A table whose images use the variable.
    pub const fn images(&self) -> &'static ImageTable {
        self.images
    }
}

impl<T, A> fmt::Debug for DeviceGlobal<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceGlobal")
            .field("id", &self.id)
            .field("type", &std::any::type_name::<T>())
            .finish()
    }
}
