//! Buffers that recorded commands use: the host accessors of SYCL are refused meanwhile (section
//! 7.11.3).

use std::sync::Weak;

use crate::MakeError as _;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::event::NodeOwner;
use crate::{Error, Result};

/// The recorders of commands of queues that use the buffer.
#[derive(Default)]
pub(crate) struct Recorders(Mutex<Vec<Weak<dyn NodeOwner>>>);

impl Recorders {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn NodeOwner>>> {
        self.0.lock()
    }

    pub(crate) fn add(&self, recorder: Weak<dyn NodeOwner>) {
        let mut recorders = self.lock();
        if !recorders.iter().any(|known| known.ptr_eq(&recorder)) {
            recorders.retain(|known| known.strong_count() > 0);
            recorders.push(recorder);
        }
    }

    /// Refuses while one of them records.
    pub(super) fn check(&self) -> Result<()> {
        // Asked without the lock, as they have locks of their own.
        let recorders = self.lock().clone();
        if recorders.iter().filter_map(Weak::upgrade).any(|recorder| recorder.is_recording()) {
            return Err(Error::invalid("a host accessor of a buffer that a graph is recording commands of")
                .remedy("end the recording first; `Command::read` and `Command::write` can be recorded"));
        }
        Ok(())
    }
}
