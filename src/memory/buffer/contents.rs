//! Moving contents: to the context of a command, to the host, and from the host.

use super::area::Area;
use super::object::{Contents, Object, State, Storage};
use super::requirement::Requirement;
use crate::command::{Prepared, Value, submit_prepared};
use crate::driver::host::HostSource;
use crate::memory::{Region, zeroed};
use crate::{Error, Event, Queue, Result};

/// Pieces beyond which one copy of everything between the first and the last is cheaper.
const FEW_PIECES: usize = 16;

impl State {
    /// Notes that the newest contents are in one place.
    pub(super) fn written_in(&mut self, storage: Storage) {
        self.written = true;
        match &self.contents {
            Contents::In(storages) if matches!(&**storages, [only] if only.context == storage.context) => {}
            _ => self.contents = Contents::In(vec![storage]),
        }
    }

    /// Brings the contents to the context of a queue, by a command of this queue where they are not there yet.
    pub(super) fn bring(&mut self, object: &Object, queue: &Queue) -> Result<()> {
        let context = queue.context();
        if let Contents::In(storages) = &self.contents
            && storages.iter().any(|storage| storage.context == *context)
        {
            return Ok(());
        }
        let whole = Area::whole(object.shape());
        let storage = object.storage(context)?;
        let source = match &self.contents {
            Contents::Zeroes => None,
            Contents::Host(source) => Some(source.clone()),
            Contents::In(_) => Some(self.download(object)?),
        };
        let mut after = Vec::new();
        self.tracker.dependencies(&whole, true, |event| after.push(event));
        let memory = Region::whole(storage.memory.clone());
        let command = match source {
            None => Prepared::Fill { to: memory, pattern: Value::new(&0_u8) },
            Some(from) => Prepared::Write { from, to: memory },
        };
        let event = submit_prepared(queue, command, after.into_iter(), None)?;
        self.tracker.record(&whole, true, event);
        match &mut self.contents {
            Contents::In(storages) => storages.push(storage),
            contents => *contents = Contents::In(vec![storage]),
        }
        Ok(())
    }

    /// All contents, from a context that has them, when what writes them has run.
    fn download(&self, object: &Object) -> Result<HostSource> {
        let whole = Area::whole(object.shape());
        let mut writers = Vec::new();
        self.tracker.dependencies(&whole, false, |event| writers.push(event));
        writers.into_iter().try_for_each(Event::wait)?;
        let mut bytes: Vec<u8> = zeroed(object.size_bytes())?;
        self.read(object, &whole, &mut bytes)?;
        Ok(HostSource::owned(bytes))
    }

    /// Reads an area of the newest contents, which no command writes at the moment.
    pub(super) fn read(&self, object: &Object, area: &Area, target: &mut [u8]) -> Result<()> {
        let bytes = object.element_bytes();
        let pieces = || area.runs(object.shape()).map(|(start, length)| (start * bytes, length * bytes));
        match &self.contents {
            Contents::Zeroes => target.fill(0),
            Contents::Host(source) => pick(source.bytes(), 0, pieces(), target)?,
            Contents::In(storages) => {
                let storage = storages.first().ok_or_else(|| Error::invalid("contents that are nowhere"))?;
                let queue = storage.context.transfer_queue()?;
                let memory = Region::whole(storage.memory.clone());
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
            }
        }
        Ok(())
    }

    /// Replaces an area of the newest contents, which no command uses at the moment.
    pub(super) fn write(&mut self, part: &Requirement, source: &[u8]) -> Result<()> {
        let object = part.object();
        let whole = *part.area() == Area::whole(object.shape());
        let storage = match &self.contents {
            Contents::In(storages) => storages.first().cloned(),
            _ => None,
        };
        let Some(storage) = storage else {
            let mut bytes: Vec<u8> = zeroed(object.size_bytes())?;
            match &self.contents {
                Contents::Host(old) if !whole => bytes.copy_from_slice(old.bytes()),
                _ => {}
            }
            let mut source = source;
            for (start, length) in part.stretches() {
                let (now, rest) = source.split_at_checked(length).ok_or_else(mismatch)?;
                bytes.get_mut(start..start + length).ok_or_else(mismatch)?.copy_from_slice(now);
                source = rest;
            }
            self.contents = Contents::Host(HostSource::owned(bytes));
            self.written = true;
            return Ok(());
        };
        let queue = storage.context.transfer_queue()?;
        let memory = Region::whole(storage.memory.clone());
        let mut source = source;
        for (start, length) in part.stretches() {
            let (now, rest) = source.split_at_checked(length).ok_or_else(mismatch)?;
            queue.write(now, memory.part(start, length)?.span()?, &[])?;
            source = rest;
        }
        self.written_in(storage);
        Ok(())
    }
}

impl Object {
    /// Calls with the state when no command has an area for what an access to it must wait for.
    ///
    /// # Errors
    /// When one of the commands failed; while the host writes the area.
    pub(super) fn settled<R>(
        &self,
        area: &Area,
        writes: bool,
        mut look: impl FnMut(&mut State) -> Result<R>,
    ) -> Result<R> {
        loop {
            let mut pending = Vec::new();
            {
                let mut state = self.lock();
                if state.host_writes.iter().any(|other| other.overlaps(area)) {
                    return Err(Error::invalid("the host writes this part of it already")
                        .remedy("drop the other host accessor first")
                        .at(self.to_string()));
                }
                state.tracker.dependencies(area, writes, |event| {
                    if !matches!(event.is_complete(), Ok(true)) {
                        pending.push(event.clone());
                    }
                });
                if pending.is_empty() {
                    return look(&mut state).map_err(|error| error.at(self.to_string()));
                }
            }
            // Not under the lock: what is waited for may be waiting for a task that uses the buffer.
            if let Err(error) = pending.iter().try_for_each(Event::wait) {
                self.lock().tracker.forget_completed();
                return Err(error.at(self.to_string()));
            }
        }
    }
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
