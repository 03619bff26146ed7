//! Where the newest contents of a buffer are, and their way to the context of a command.

use std::sync::Arc;

use super::area::Area;
use super::object::{Contents, Move, Object, State, Storage};
use super::requirement::Requirement;
use super::transfer::replaced;
use crate::MakeError as _;
use crate::driver::host::HostBytes;
use crate::event::EventStatus;
use crate::memory::Region;
use crate::{Context, Error, Event, Result};

/// The function that a command runs on the host.
type Task = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// A command that brings contents to a context.
pub(crate) enum Transport {
    /// Fills memory with zeroes.
    Zeroes(Region),
    Write {
        from: HostBytes,
        to: Region,
    },
    /// Runs this on the host.
    Task(Task),
}

/// Submits a [`Transport`] after events. Those of the first list must succeed.
pub(crate) type Carrier<'a> = &'a dyn Fn(Transport, &[Event], &[Event]) -> Result<Event>;

impl State {
    /// Notes that the newest contents are in a context only.
    pub(super) fn written_in(&mut self, object: &Object, context: &Context) -> Result<()> {
        self.written = true;
        match &self.contents {
            Contents::In(storages) if matches!(&**storages, [only] if only.context == *context) => {}
            _ => self.contents = Contents::In(vec![object.storage(context)?]),
        }
        Ok(())
    }

    /// Looks which moves have ended. When one failed, the contents are where they were before it:
    /// all that was submitted behind it depends on its success, and has not run.
    pub(super) fn end_moves(&mut self) {
        while let Some(first) = self.moves.first() {
            match first.event.status() {
                Ok(EventStatus::Complete) => drop(self.moves.remove(0)),
                Ok(EventStatus::Failed(_)) => {
                    self.contents = self.moves.swap_remove(0).from;
                    self.moves.clear();
                }
                _ => return,
            }
        }
    }

    /// Brings the contents to a context, by a command where they are not there yet.
    pub(super) fn bring(
        &mut self,
        object: &Arc<Object>,
        context: &Context,
        carry: Carrier<'_>,
    ) -> Result<()> {
        if let Contents::In(storages) = &self.contents
            && storages.iter().any(|storage| storage.context == *context)
        {
            return Ok(());
        }
        let whole = Area::whole(object.shape());
        let storage = object.storage(context)?;
        let moves: Vec<Event> = self.moves.iter().map(|moved| moved.event.clone()).collect();
        let behind: Vec<Event> = self.pending(&whole, true).cloned().collect();
        let transport = if moves.iter().chain(&behind).all(Event::has_ended) {
            let to = Region::whole(storage.memory.clone());
            match &self.contents {
                Contents::Zeroes => Transport::Zeroes(to),
                contents => Transport::Write { from: contents.bytes(object)?, to },
            }
        } else {
            Transport::Task(self.bring_later(object, storage.clone()))
        };
        let event = carry(transport, &moves, &behind)?;
        self.tracker.record(&whole, true, event.clone());
        self.moves.push(Move { from: self.contents.clone(), event });
        match &mut self.contents {
            Contents::In(storages) => storages.push(storage),
            contents => *contents = Contents::In(vec![storage]),
        }
        Ok(())
    }

    /// The same by a task on the host, when the commands have ended that are in the way, and the
    /// host writes no part.
    fn bring_later(&self, object: &Arc<Object>, to: Storage) -> Task {
        let object = Arc::clone(object);
        match &self.contents {
            Contents::In(storages) => {
                let from = Contents::In(storages.clone());
                Box::new(move || to.write_all(from.bytes(&object)?.bytes()))
            }
            // From the host contents move once, before all other moves; the host may write parts of
            // them until then.
            Contents::Zeroes | Contents::Host(_) => Box::new(move || {
                let first = object.lock().moves.first().map(|first| first.from.bytes(&object)).transpose()?;
                first.map_or(Ok(()), |source| to.write_all(source.bytes()))
            }),
        }
    }

    /// The events that an access must wait for and that have not ended well.
    fn pending(&self, area: &Area, writes: bool) -> impl Iterator<Item = &Event> {
        self.tracker.dependencies(area, writes).filter(|event| !matches!(event.is_complete(), Ok(true)))
    }

    /// Refuses what would wait for ever if it were the same thread that writes on the host.
    pub(super) fn check_no_host_writer(&self, area: &Area) -> Result<()> {
        if self.host_writes.iter().any(|other| other.overlaps(area)) {
            return Err(Error::invalid("the host writes this part of it already")
                .remedy("drop the other host accessor first"));
        }
        Ok(())
    }

    /// Begins to replace a part on the host: the place where the new elements go. `None`: with the
    /// contents on the host.
    pub(super) fn begin_host_write(&mut self, part: &Requirement, event: Event) -> Option<Storage> {
        self.host_writes.push(*part.area());
        self.tracker.record(part.area(), true, event);
        self.written |= !part.area().is_empty();
        let Contents::In(storages) = &mut self.contents else { return None };
        // Other contexts have the old contents.
        if !part.area().is_empty() {
            storages.truncate(1);
        }
        storages.first().cloned()
    }

    /// Ends it: no command has used the part meanwhile.
    pub(super) fn end_host_write(
        &mut self,
        part: &Requirement,
        home: Option<&Storage>,
        source: &[u8],
    ) -> Result<()> {
        // Parts do not overlap, so an equal one, which is empty, will do.
        if let Some(index) = self.host_writes.iter().position(|other| other == part.area()) {
            self.host_writes.swap_remove(index);
        }
        if part.area().is_empty() {
            return Ok(());
        }
        if let Some(storage) = home {
            return storage.write(part, source);
        }
        // They may be about to move, by what waits for this.
        let contents = match self.moves.first_mut() {
            Some(first) => &mut first.from,
            None => &mut self.contents,
        };
        // In contexts, the contents are of a command that replaces all, and that waits for this.
        if let Contents::Zeroes | Contents::Host(_) = contents {
            let whole = *part.area() == Area::whole(part.object().shape());
            *contents = Contents::Host(match whole {
                true => HostBytes::owned(source.to_vec()),
                false => replaced(&contents.bytes(part.object())?, part, source)?,
            });
        }
        Ok(())
    }
}

impl Object {
    /// Calls with the state when no command has an area for what an access to it must wait for.
    ///
    /// # Errors
    /// When one of the commands failed; while the host writes the area.
    pub(super) fn when_idle<R>(
        &self,
        area: &Area,
        writes: bool,
        mut look: impl FnMut(&mut State) -> Result<R>,
    ) -> Result<R> {
        loop {
            let mut pending = Vec::new();
            {
                let mut state = self.lock();
                state.end_moves();
                state.check_no_host_writer(area).map_err(|error| error.at(self.to_string()))?;
                pending.extend(state.pending(area, writes).cloned());
                if pending.is_empty() {
                    return look(&mut state).map_err(|error| error.at(self.to_string()));
                }
            }
            // Not under the lock: these commands may wait for a task that uses the buffer. A driver
            // that does not say how a command ended would keep it among the pending ones.
            let ended = |event: &Event| event.wait().and_then(|()| event.status());
            if let Err(error) = pending.iter().try_for_each(|event| ended(event).map(drop)) {
                self.lock().tracker.forget_completed();
                return Err(error.at(self.to_string()));
            }
        }
    }
}
