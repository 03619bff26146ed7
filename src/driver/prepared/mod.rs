//! Prepared commands: steps, sequences of steps, and how they are put on queues or recorded into
//! command buffers.

pub(crate) mod command_buffer;
pub(crate) mod copy;
pub(crate) mod images;
pub(crate) mod launch;
pub(crate) mod mutable;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod sequence;
pub(crate) mod step;
