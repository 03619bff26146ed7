//! Promises of events of nodes, for submissions that are still to be made.

use std::sync::Arc;

use crate::driver::sync::Mutex;
use crate::event::{Outcome, Promise};
use crate::{Error, ErrorKind, Event, MakeError as _};

/// The promises for the next submission, by partition.
#[derive(Default)]
pub(super) struct Awaited(pub(super) Mutex<Vec<(u32, Arc<Promise>)>>);

/// Those that a submission must fulfil. If it ends without, it has failed.
#[must_use]
pub(super) struct Owed(pub(super) Vec<(u32, Arc<Promise>)>);

impl Owed {
    /// Fulfils the promises with the events of the partitions.
    pub(super) fn pay(mut self, events: &[Event]) {
        for (partition, promise) in std::mem::take(&mut self.0) {
            match events.get(partition as usize) {
                Some(event) => promise.follow(event),
                None => fail(&promise, Error::bug("a partition without an event")),
            }
        }
    }

    /// The submission has failed.
    pub(super) fn fail(mut self, error: &Error) {
        std::mem::take(&mut self.0).iter().for_each(|(_, promise)| fail(promise, error.clone()));
    }
}

fn fail(promise: &Promise, error: Error) {
    promise.resolve(Outcome::Failed(error));
    promise.notify();
}

impl Drop for Awaited {
    fn drop(&mut self) {
        for (_, promise) in std::mem::take(&mut *self.0.lock()) {
            let error =
                Error::new(ErrorKind::Runtime, "the executable graph was dropped before a submission");
            fail(&promise, error.remedy("submit it after `event_of`"));
        }
    }
}
