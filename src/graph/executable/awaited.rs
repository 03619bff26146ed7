//! Promises of events of nodes, for submissions that are still to be made.

use std::sync::Arc;

use crate::driver::sync::Mutex;
use crate::event::{Outcome, Promise};
use crate::{Error, ErrorKind, Event, MakeError as _};

/// The promises for the next submission, by partition.
#[derive(Default)]
pub(super) struct Awaited(pub(super) Mutex<Vec<(u32, Arc<Promise>)>>);

/// The promises that a submission must fulfil, by partition.
#[must_use]
pub(super) struct NodePromises(pub(super) Vec<(u32, Arc<Promise>)>);

impl NodePromises {
    /// Fulfils them with the events of the partitions.
    pub(super) fn fulfil(self, events: &[Event]) {
        for (partition, promise) in self.0 {
            match events.get(partition as usize) {
                Some(event) => promise.follow(event),
                None => fail(&promise, Error::bug("a partition without an event")),
            }
        }
    }

    /// The submission has failed.
    pub(super) fn fail(self, error: &Error) {
        self.0.iter().for_each(|(_, promise)| fail(promise, error.clone()));
    }
}

fn fail(promise: &Promise, error: Error) {
    promise.settle(Outcome::Failed(error));
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
