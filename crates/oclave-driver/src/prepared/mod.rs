//! Prepared commands: steps, sequences of steps, and how they are put on queues or recorded into
//! command buffers.

pub mod command_buffer;
pub mod copy;
pub mod images;
pub mod launch;
pub mod mutable;
pub mod rows;
pub mod run;
pub mod sequence;
pub mod step;
