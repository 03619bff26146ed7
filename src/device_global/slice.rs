//! Elements of device globals, as copies and fills take them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::host_access::{Access, HostRead, HostWrite, ReadWrite};
use super::{BundleGlobal, Declaration};
use crate::MakeError as _;
use crate::command::{Contents, CopyFrom, CopyTo, Place, Placed};
use crate::memory::{Region, bounds};
use crate::{Error, Queue, Result};

/// A device global, whatever names it.
#[derive(Clone, Debug)]
pub(super) enum AnyGlobal {
    Static(Declaration),
    Bundle(BundleGlobal),
}

impl AnyGlobal {
    fn id(&self) -> &str {
        match self {
            Self::Static(declaration) => &declaration.global.id,
            Self::Bundle(global) => global.id(),
        }
    }

    /// Whether the host may write it, or read it. Of generated variables rustc knows.
    fn check(&self, write: bool) -> Result<()> {
        match self {
            Self::Static(_) => Ok(()),
            Self::Bundle(global) => global.check(write),
        }
    }
}

/// Bytes of a device global. Its memory is made when a command that uses it is prepared.
#[derive(Clone)]
pub struct GlobalPlace {
    variable: AnyGlobal,
    offset_bytes: usize,
    size_bytes: usize,
}

impl GlobalPlace {
    pub(super) fn new(variable: AnyGlobal, size_bytes: usize) -> Self {
        Self { variable, offset_bytes: 0, size_bytes }
    }

    pub(crate) fn region(&self, queue: &Queue) -> Result<Region> {
        let memory = match &self.variable {
            AnyGlobal::Static(declaration) => declaration.region(queue),
            AnyGlobal::Bundle(global) => global.region(queue),
        };
        memory
            .and_then(|memory| memory.part(self.offset_bytes, self.size_bytes))
            .map_err(|error| named(self.variable.id(), error))
    }

    pub(super) fn into_place(self, write: bool) -> Place {
        match self.variable.check(write) {
            Ok(()) => Place::Global(Box::new(self)),
            Err(error) => Place::Refused(named(self.variable.id(), error)),
        }
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

/// Elements of a device global: `queue.copy(&COUNTS.slice(0..8)?, &usm)`. From
/// [`DeviceGlobal::slice`](super::DeviceGlobal::slice),
/// [`DeviceGlobal::bytes`](super::DeviceGlobal::bytes) and [`BundleGlobal::slice`].
///
/// The host's rights to the variable hold here, too: one that it may not read is no
/// [`CopyFrom`].
pub struct GlobalSlice<E, A = ReadWrite> {
    place: GlobalPlace,
    ty: PhantomData<fn() -> (E, A)>,
}

impl<E: Pod, A> GlobalSlice<E, A> {
    pub(super) fn new(
        variable: AnyGlobal,
        size_bytes: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<Self> {
        let len = size_bytes.checked_div(size_of::<E>()).unwrap_or(0);
        let range = bounds(&range, len).ok_or_else(|| {
            let (start, end) = (range.start_bound(), range.end_bound());
            let message = format!("elements {start:?} to {end:?} are not within its {len}");
            named(variable.id(), Error::invalid(message))
        })?;
        let (offset_bytes, size_bytes) = (range.start * size_of::<E>(), range.len() * size_of::<E>());
        Ok(Self { place: GlobalPlace { variable, offset_bytes, size_bytes }, ty: PhantomData })
    }

    pub(super) fn check(&self, write: bool) -> Result<()> {
        self.place.variable.check(write).map_err(|error| self.name(error))
    }

    pub(super) fn memory(&self, queue: &Queue) -> Result<Region> {
        self.place.region(queue)
    }
}

impl<E, A> Clone for GlobalSlice<E, A> {
    fn clone(&self) -> Self {
        Self { place: self.place.clone(), ty: PhantomData }
    }
}

impl<E, A> fmt::Debug for GlobalSlice<E, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GlobalSlice<{}>({:?})", std::any::type_name::<E>(), self.place)
    }
}

impl<E, A> Placed for GlobalSlice<E, A> {
    fn place(&self, write: bool) -> Place {
        self.place.clone().into_place(write)
    }

    fn name(&self, error: Error) -> Error {
        named(self.place.variable.id(), error)
    }
}
impl<E: Pod, A: Access> Contents for GlobalSlice<E, A> {
    type Element = E;
    type Data = [E];
    type Owned = Vec<E>;
}
impl<E: Pod, A: HostRead> CopyFrom for GlobalSlice<E, A> {}
impl<E: Pod, A: HostWrite> CopyTo for GlobalSlice<E, A> {}

/// One element of a device global, or all of one as a value: `queue.write(&COUNTS.element(3)?, &5)`.
/// From [`DeviceGlobal::element`](super::DeviceGlobal::element), [`BundleGlobal::element`] and
/// [`BundleGlobal::value`].
///
/// Copies take it as the variable itself: by value. What the host may do with the variable holds
/// here, too.
pub struct GlobalElement<E, A = ReadWrite>(GlobalSlice<E, A>);

impl<E: Pod, A> GlobalElement<E, A> {
    pub(super) fn new(variable: AnyGlobal, size_bytes: usize, index: usize) -> Result<Self> {
        let len = size_bytes.checked_div(size_of::<E>()).unwrap_or(0);
        if index >= len {
            let error = Error::invalid(format!("element {index} is not within its {len}"));
            return Err(named(variable.id(), error));
        }
        GlobalSlice::new(variable, size_bytes, index..index + 1).map(Self)
    }
}

impl<E, A> Clone for GlobalElement<E, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E, A> fmt::Debug for GlobalElement<E, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GlobalElement<{}>({:?})", std::any::type_name::<E>(), self.0.place)
    }
}

impl<E, A> Placed for GlobalElement<E, A> {
    fn place(&self, write: bool) -> Place {
        self.0.place(write)
    }

    fn name(&self, error: Error) -> Error {
        self.0.name(error)
    }
}
impl<E: Pod, A: Access> Contents for GlobalElement<E, A> {
    type Element = E;
    type Data = E;
    type Owned = E;
}
impl<E: Pod, A: HostRead> CopyFrom for GlobalElement<E, A> {}
impl<E: Pod, A: HostWrite> CopyTo for GlobalElement<E, A> {}

/// Names the variable in an error.
pub(super) fn named(id: &str, error: Error) -> Error {
    let place = format!("device global `{id}`");
    // The code that makes memory and programs may have named it already.
    if error.place().contains(&place) { error } else { error.at(place) }
}
