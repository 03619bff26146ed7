//! Memory that kernels and the host share.

mod pointer;
mod usm;

pub(crate) use pointer::Pointer;
pub use pointer::{KernelPointer, KernelPointerMut};
pub use usm::{UsmKind, UsmSlice, kind};
