//! The one way from a command to a queue: recorded, enqueued, or deferred.

mod deferred;
pub(super) mod recording;
#[expect(clippy::module_inception, reason = "its name in the tour")]
pub(super) mod submit;
