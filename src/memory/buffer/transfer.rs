//! Bytes between the places of a buffer's contents and the host, when no command is in the way.

use super::area::Area;
use super::object::{Contents, Object, Storage};
use super::requirement::Requirement;
use crate::MakeError as _;
use crate::driver::host::HostBytes;
use crate::memory::{Region, zeroed};
use crate::{Error, Result};

/// Pieces beyond which one copy of everything between the first and the last is cheaper.
const FEW_PIECES: usize = 16;

impl Contents {
    /// Reads an area, which no command writes at the moment.
    pub(super) fn read(&self, object: &Object, area: &Area, target: &mut [u8]) -> Result<()> {
        match self {
            Self::Zeroes => target.fill(0),
            Self::Host(source) => pick(source.bytes(), 0, pieces(object, area), target)?,
            Self::In(storages) => {
                let storage = storages.first().ok_or_else(|| Error::invalid("contents that are nowhere"))?;
                storage.read(object, area, target)?;
            }
        }
        Ok(())
    }

    /// All of it.
    pub(super) fn bytes(&self, object: &Object) -> Result<HostBytes> {
        if let Self::Host(source) = self {
            return Ok(source.clone());
        }
        let mut bytes: Vec<u8> = zeroed(object.size_bytes())?;
        self.read(object, &Area::whole(object.shape()), &mut bytes)?;
        Ok(HostBytes::owned(bytes))
    }
}

/// Bytes with a part of them replaced.
pub(super) fn replaced(old: &HostBytes, part: &Requirement, source: &[u8]) -> Result<HostBytes> {
    let mut bytes = old.bytes().to_vec();
    let mut source = source;
    for (start, length) in part.stretches() {
        let (now, rest) = source.split_at_checked(length).ok_or_else(mismatch)?;
        bytes.get_mut(start..start + length).ok_or_else(mismatch)?.copy_from_slice(now);
        source = rest;
    }
    Ok(HostBytes::owned(bytes))
}

impl Storage {
    /// Reads an area, which no command writes at the moment.
    pub(super) fn read(&self, object: &Object, area: &Area, target: &mut [u8]) -> Result<()> {
        let queue = self.context.transfer_queue()?;
        let memory = Region::whole(self.memory.clone());
        let pieces = || pieces(object, area);
        let (first, end) = match (pieces().next(), pieces().last()) {
            (Some((first, _)), Some((last, length))) => (first, last + length),
            _ => return Ok(()),
        };
        if pieces().nth(FEW_PIECES).is_some() {
            let mut stretch: Vec<u8> = zeroed(end - first)?;
            queue.read(memory.part(first, end - first)?.span()?, &mut stretch, &[])?;
            return pick(&stretch, first, pieces(), target);
        }
        let mut target = target;
        for (start, length) in pieces() {
            let (now, rest) = split(target, length)?;
            queue.read(memory.part(start, length)?.span()?, now, &[])?;
            target = rest;
        }
        Ok(())
    }

    /// Replaces a part, which no command uses at the moment.
    pub(super) fn write(&self, part: &Requirement, source: &[u8]) -> Result<()> {
        let queue = self.context.transfer_queue()?;
        let memory = Region::whole(self.memory.clone());
        let mut source = source;
        for (start, length) in part.stretches() {
            let (now, rest) = source.split_at_checked(length).ok_or_else(mismatch)?;
            queue.write(now, memory.part(start, length)?.span()?, &[])?;
            source = rest;
        }
        Ok(())
    }

    /// Replaces everything, while no command uses it.
    pub(super) fn write_all(&self, source: &[u8]) -> Result<()> {
        self.context.transfer_queue()?.write(source, Region::whole(self.memory.clone()).span()?, &[])
    }
}

/// Byte offset and size of each stretch of an area.
fn pieces(object: &Object, area: &Area) -> impl Iterator<Item = (usize, usize)> {
    let bytes = object.element_bytes();
    area.runs(object.shape()).map(move |(start, length)| (start * bytes, length * bytes))
}

/// Copies pieces of bytes that begin at `origin`.
fn pick(
    bytes: &[u8],
    origin: usize,
    pieces: impl Iterator<Item = (usize, usize)>,
    target: &mut [u8],
) -> Result<()> {
    let mut target = target;
    for (start, length) in pieces {
        let (now, rest) = split(target, length)?;
        let from = start - origin;
        now.copy_from_slice(bytes.get(from..from + length).ok_or_else(mismatch)?);
        target = rest;
    }
    Ok(())
}

fn split(bytes: &mut [u8], length: usize) -> Result<(&mut [u8], &mut [u8])> {
    bytes.split_at_mut_checked(length).ok_or_else(mismatch)
}

fn mismatch() -> Error {
    Error::invalid("host data of another size than its part of the buffer")
}
