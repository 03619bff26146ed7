//! Device globals as places of commands.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::access::{GlobalVariable, HostReadable, HostWritable, place, sealed::Variable};
use super::{BundleGlobal, Declaration};
use crate::command::{CopyFrom, CopyTo, Place, Placed};
use crate::memory::Region;
use crate::{Queue, Result};

/// A device global, whatever names it.
#[derive(Clone, Debug)]
pub enum AnyGlobal {
    Static(Declaration),
    Bundle(BundleGlobal),
}

impl AnyGlobal {
    fn memory(&self, queue: &Queue) -> Result<Region> {
        match self {
            Self::Static(declaration) => declaration.memory(queue),
            Self::Bundle(global) => Variable::memory(global, queue),
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::Static(declaration) => &declaration.global.id,
            Self::Bundle(global) => global.id(),
        }
    }
}

/// Bytes of a device global. Its memory is made when a command that uses it is prepared.
#[derive(Clone)]
pub(crate) struct GlobalPlace {
    variable: AnyGlobal,
    offset_bytes: usize,
    size_bytes: usize,
}

impl GlobalPlace {
    pub(crate) fn region(&self, queue: &Queue) -> Result<Region> {
        self.variable
            .memory(queue)
            .and_then(|memory| memory.part(self.offset_bytes, self.size_bytes))
            .map_err(|error| place(self.variable.id(), error))
    }
}

impl fmt::Debug for GlobalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "device global `{}`, {} bytes from {} on",
            self.variable.id(),
            self.size_bytes,
            self.offset_bytes
        )
    }
}

/// Elements of a device global, as commands read and write them: `Command::copy(&COUNTS.elements(0, 8), &usm)`. From
/// [`GlobalVariable::elements`] and [`GlobalVariable::bytes`].
///
/// What the host may do with the variable holds here, too: one that it may not read is no [`CopyFrom`]. Where rustc
/// does not know, and where the elements are not within the variable, the command fails when it is submitted.
pub struct GlobalElements<E, G> {
    variable: Result<AnyGlobal>,
    readable: Result<()>,
    writable: Result<()>,
    offset_bytes: usize,
    size_bytes: usize,
    ty: PhantomData<fn() -> (E, G)>,
}

impl<E, G: GlobalVariable> GlobalElements<E, G> {
    pub(super) fn new(global: &G, fits: Result<()>, start_index: usize, count: usize) -> Self {
        let named = |error| place(global.id(), error);
        Self {
            variable: fits.and_then(|()| global.variable()).map_err(named),
            readable: global.check_read().map_err(named),
            writable: global.check_write().map_err(named),
            offset_bytes: size_of_elements::<E>(start_index),
            size_bytes: size_of_elements::<E>(count),
            ty: PhantomData,
        }
    }

    fn place(&self, allowed: &Result<()>) -> Place {
        match (&self.variable, allowed) {
            (Err(error), _) | (_, Err(error)) => Place::Refused(error.clone()),
            (Ok(variable), Ok(())) => Place::Global(Box::new(GlobalPlace {
                variable: variable.clone(),
                offset_bytes: self.offset_bytes,
                size_bytes: self.size_bytes,
            })),
        }
    }
}

/// Beyond the address space it saturates, which no variable reaches.
pub(super) fn size_of_elements<E>(count: usize) -> usize {
    count.saturating_mul(size_of::<E>())
}

impl<E, G> Clone for GlobalElements<E, G> {
    fn clone(&self) -> Self {
        Self {
            variable: self.variable.clone(),
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            ..*self
        }
    }
}

impl<E, G> fmt::Debug for GlobalElements<E, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GlobalElements")
            .field("variable", &self.variable.as_ref().map(AnyGlobal::id))
            .field("offset_bytes", &self.offset_bytes)
            .field("size_bytes", &self.size_bytes)
            .finish_non_exhaustive()
    }
}

#[allow(private_interfaces, reason = "of a sealed trait")]
impl<E: Pod, G: GlobalVariable> Placed for GlobalElements<E, G> {
    fn place(&self, write: bool) -> Place {
        Self::place(self, if write { &self.writable } else { &self.readable })
    }
}
impl<E: Pod, G: HostReadable> CopyFrom<E> for GlobalElements<E, G> {}
impl<E: Pod, G: HostWritable> CopyTo<E> for GlobalElements<E, G> {}
