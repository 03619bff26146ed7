//! Places: what commands read and write, in the form in which users name it.

use std::sync::Arc;

use bytemuck::Pod;

use crate::Error;
use crate::device_global::GlobalPlace;
use crate::images::ImagePart;
use crate::memory::buffer::Requirement;
use crate::memory::{
    AccessKind, Accessor, Block, FromElements, Reads, Region, UsmKind, UsmRect, UsmSlice, Writes,
};

/// Where bytes are. A plain value, small as commands are moved often: a place is looked up
/// ([`Place::resolve`]) when the command is prepared for a queue.
#[derive(Clone, Debug)]
pub enum Place {
    /// The null pointer, as an argument.
    Null,
    /// Unified shared memory; all places resolve to this.
    Usm(Region),
    /// A box of unified shared memory.
    Block(Box<Block>),
    /// Bytes of a device global, which has its memory where it is first used.
    Global(Box<GlobalPlace>),
    /// A part of a buffer.
    Accessor(Arc<Requirement>),
    /// Pixels of an image, for copies and fills.
    Image(ImagePart),
    /// Nothing that can be used; the command fails with this when it is submitted.
    Refused(Error),
}

impl Place {
    /// The order that the place demands of commands.
    pub(crate) fn requirement(&self) -> Option<Arc<Requirement>> {
        match self {
            Self::Accessor(requirement) => Some(Arc::clone(requirement)),
            Self::Image(image) => Some(Arc::clone(image.requirement())),
            _ => None,
        }
    }

    /// The same place for raw commands, of which nobody knows what they do with an image.
    pub(in crate::command) fn used_in_any_way(self) -> Self {
        match self {
            Self::Image(image) => Self::Image(image.accessed(oclave_image::Access::ReadWrite)),
            other => other,
        }
    }
}

mod sealed {
    pub trait Placed {
        /// The place, to be written (or else read) by a command.
        fn place(&self, write: bool) -> super::Place;

        /// Names the memory in an error, where it has a name.
        fn name(&self, error: crate::Error) -> crate::Error {
            error
        }
    }

    pub trait HostData {
        fn bytes(&self) -> &[u8];

        fn bytes_mut(&mut self) -> &mut [u8];
    }
}
pub(crate) use sealed::{HostData, Placed};

impl<T: Pod> HostData for [T] {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

impl<T: Pod> HostData for T {
    fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::bytes_of_mut(self)
    }
}

/// Memory that commands use: USM, boxes of it, parts of buffers, images and their regions, device
/// globals and their elements.
pub trait Memory: Placed {}
impl<M: Placed> Memory for M {}

/// Elements in memory, and the host's form of a copy.
pub trait Contents: Memory {
    /// The unit of copies: the `T` of a slice, or the whole value of a device global.
    type Element: Pod;

    /// Borrowed: `[T]`; for a device global its type.
    type Data: HostData + ?Sized;

    /// Owned: `Vec<T>`; for a device global its type.
    type Owned: FromElements<Self::Element>;
}

/// Memory that commands read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no memory that commands read",
    note = "commands read USM, `UsmRect`, `buffer.read()`, images, and device globals that the host may read"
)]
pub trait CopyFrom: Contents {}

/// Memory that commands write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no memory that commands write",
    note = "commands write USM, `UsmRect`, `buffer.write()`, images, and device globals that the host may write"
)]
pub trait CopyTo: Contents {}

impl<T, K: UsmKind> Placed for UsmSlice<T, K> {
    fn place(&self, _: bool) -> Place {
        Place::Usm(self.region().clone())
    }
}
impl<T: Pod, K: UsmKind> Contents for UsmSlice<T, K> {
    type Element = T;
    type Data = [T];
    type Owned = Vec<T>;
}
impl<T: Pod, K: UsmKind> CopyFrom for UsmSlice<T, K> {}
impl<T: Pod, K: UsmKind> CopyTo for UsmSlice<T, K> {}

impl<T, K: UsmKind> Placed for UsmRect<T, K> {
    fn place(&self, _: bool) -> Place {
        match self.block() {
            Ok(block) if block.rows.is_one() => Place::Usm(block.region),
            Ok(block) => Place::Block(Box::new(block)),
            Err(error) => Place::Refused(error),
        }
    }
}
impl<T: Pod, K: UsmKind> Contents for UsmRect<T, K> {
    type Element = T;
    type Data = [T];
    type Owned = Vec<T>;
}
impl<T: Pod, K: UsmKind> CopyFrom for UsmRect<T, K> {}
impl<T: Pod, K: UsmKind> CopyTo for UsmRect<T, K> {}

impl<T, A> Placed for Accessor<T, A> {
    fn place(&self, write: bool) -> Place {
        Place::Accessor(self.use_by_copy(write))
    }
}
impl<T: Pod, A: AccessKind> Contents for Accessor<T, A> {
    type Element = T;
    type Data = [T];
    type Owned = Vec<T>;
}
impl<T: Pod, A: Reads> CopyFrom for Accessor<T, A> {}
impl<T: Pod, A: Writes> CopyTo for Accessor<T, A> {}
