//! Buffers: memory that follows its users, and whose users are put in order by how they access it.
//!
//! ```text
//! buffer.rs         Buffer: what users hold                    accessor.rs      Accessor: a part, and what is done to it
//! object.rs         what handles, accessors, commands share    host_accessor.rs HostReader, HostWriter
//! requirement.rs    a command's use of a part                  write_back.rs    contents that go back to the host
//! order.rs          the order of commands, by requirements     contents.rs      where they are, the way to a context
//! area.rs           boxes of elements                          hazards.rs       what an access must wait for: used with events
//! index.rs          which of many areas overlap one                             by queues, and with nodes by graphs
//! transfer.rs       bytes between contents and the host
//! recorded.rs       buffers in recorded commands               joined.rs        requirements of a whole graph
//! native.rs         contents of `cl_mem`, in and out           task_access.rs   accessors of host tasks
//! ```

mod accessor;
mod area;
#[allow(clippy::module_inception, reason = "the buffer of the buffers")]
mod buffer;
mod contents;
mod hazards;
mod host_accessor;
mod index;
mod joined;
mod native;
mod object;
mod order;
mod recorded;
mod requirement;
mod task_access;
mod transfer;
mod write_back;

pub use accessor::{AccessKind, Accessor, Reads, Writes, access};
pub(crate) use area::Area;
pub use buffer::Buffer;
pub(crate) use contents::Transport;
pub(crate) use hazards::{Dependency, Tracker};
pub use host_accessor::{HostReader, HostWriter};
pub(crate) use joined::joined;
pub(crate) use object::Object;
pub(crate) use order::{at_once, ordered};
pub(crate) use requirement::{AccessMode, Requirement};
pub use task_access::TaskAccess;
pub use write_back::WriteBack;
