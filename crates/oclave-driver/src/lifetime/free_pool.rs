//! Freed memory, which is allocated again before the driver gets it back. Some drivers do not take
//! it back well (`facts::faults`), others are slow to allocate
//! (`Pointers::free_delay`).
//!
//! A block goes back to the driver if it was not requested for long enough, if there is more than
//! `MOST_BYTES`, or if memory runs out. This module calls the driver only through its callers'
//! closures. They run under the lock, so the driver takes one call at a time.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::usm::Kind;
use crate::Result;
use crate::sync::{Mutex, MutexGuard};

/// Larger blocks are as large as asked for.
const MOST_ROUNDED_BYTES: usize = 16 << 20;
/// How often blocks are looked at that may have rested long enough.
const SWEEP: Duration = Duration::from_millis(100);
/// Bytes that rest at most, longest-resting blocks going first.
const MOST_BYTES: usize = 256 << 20;

/// Memory of a context that was freed and not given back to the driver yet: see
/// `Context::spare_memory`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpareMemory {
    /// Allocations.
    pub blocks: usize,
    /// Their bytes in sum.
    pub bytes: usize,
    /// Small allocations, used or spare, that are pieces of larger ones of the driver.
    pub pieces: usize,
    /// The driver's allocations that they are pieces of.
    pub slabs: usize,
}

/// What a block can be used for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Class {
    pub(crate) kind: Kind,
    /// The address of the device's handle; 0 for memory of the host.
    pub(crate) device: usize,
    pub(crate) alignment: u32,
    pub(crate) size_bytes: usize,
}

impl Class {
    /// Of blocks whose size is not known, as they came from outside.
    const OTHER: Self = Self { kind: Kind::Device, device: 0, alignment: 0, size_bytes: 0 };

    /// With an eighth more bytes at most, so that there are eight classes between powers of two.
    fn rounded(self) -> Self {
        if self.size_bytes > MOST_ROUNDED_BYTES {
            return self;
        }
        let step = self.size_bytes.max(1).ilog2().saturating_sub(3).max(6);
        Self { size_bytes: self.size_bytes.next_multiple_of(1 << step), ..self }
    }
}

/// The blocks of one context.
pub(crate) struct FreePool {
    rest: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What has been given out.
    in_use: HashMap<Address, Class>,
    /// What rests, in the order in which it was freed.
    resting: HashMap<Class, VecDeque<(Instant, Address)>>,
    sum: SpareMemory,
    next_sweep: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Address(NonNull<c_void>);

// SAFETY: an address that is only handed back; nothing here reads or writes what it points to.
unsafe impl Send for Address {}

impl FreePool {
    /// None yet; each will rest that long.
    pub(crate) fn new(rest: Duration) -> Self {
        Self { rest, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A spare block, or a new one from `allocate`, which asks the driver. If the driver has no
    /// memory left, all spare blocks go through `free` and `allocate` is called again.
    pub(crate) fn allocate(
        &self,
        wanted: Class,
        allocate: impl Fn(usize) -> Result<Option<NonNull<c_void>>>,
        free: impl FnMut(NonNull<c_void>),
    ) -> Result<Option<NonNull<c_void>>> {
        let class = wanted.rounded();
        let mut state = self.lock();
        let block = match state.take(&class) {
            Some(block) => Some(block),
            None => match allocate(class.size_bytes) {
                Err(_) if state.sum.blocks > 0 => {
                    state.drain().into_iter().for_each(free);
                    allocate(class.size_bytes)?
                }
                outcome => outcome?,
            },
        };
        if let Some(block) = block {
            state.in_use.insert(Address(block), class);
        }
        Ok(block)
    }

    /// Takes a block that nobody uses any more. `free` gets those that have rested long enough.
    pub(crate) fn free(&self, block: NonNull<c_void>, free: impl FnMut(NonNull<c_void>)) {
        let mut state = self.lock();
        let class = state.in_use.remove(&Address(block)).unwrap_or(Class::OTHER);
        let now = Instant::now();
        state.resting.entry(class).or_default().push_back((now, Address(block)));
        state.sum.blocks += 1;
        state.sum.bytes += class.size_bytes;
        state.sweep(now, self.rest, free);
    }

    /// All that rests, for the end of the context.
    pub(crate) fn drain(&self) -> Vec<NonNull<c_void>> {
        self.lock().drain()
    }

    pub(crate) fn memory(&self) -> SpareMemory {
        self.lock().sum
    }
}

impl State {
    /// The block of the class that was used last.
    fn take(&mut self, class: &Class) -> Option<NonNull<c_void>> {
        let (_, Address(block)) = self.resting.get_mut(class)?.pop_back()?;
        self.sum.blocks -= 1;
        self.sum.bytes -= class.size_bytes;
        Some(block)
    }

    fn drain(&mut self) -> Vec<NonNull<c_void>> {
        self.sum = SpareMemory::default();
        self.resting.drain().flat_map(|(_, blocks)| blocks).map(|(_, Address(block))| block).collect()
    }

    fn sweep(&mut self, now: Instant, rest: Duration, mut free: impl FnMut(NonNull<c_void>)) {
        if self.next_sweep.is_none_or(|next| next <= now) {
            self.next_sweep = Some(now + SWEEP);
            self.remove(|since, _| now.duration_since(since) >= rest, &mut free);
        }
        while self.sum.bytes > MOST_BYTES {
            let firsts = self.resting.values().filter_map(|blocks| blocks.front());
            let Some((_, oldest)) = firsts.min_by_key(|(since, _)| *since).copied() else { return };
            self.remove(|_, block| block == oldest, &mut free);
        }
    }

    /// Frees the first blocks of each class for which that is said.
    fn remove(
        &mut self,
        mut goes: impl FnMut(Instant, Address) -> bool,
        free: &mut impl FnMut(NonNull<c_void>),
    ) {
        let sum = &mut self.sum;
        self.resting.retain(|class, resting| {
            while let Some((_, block)) =
                resting.front().copied().filter(|(since, block)| goes(*since, *block))
            {
                resting.pop_front();
                sum.blocks -= 1;
                sum.bytes -= class.size_bytes;
                free(block.0);
            }
            !resting.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::RefCell;

    use super::*;
    use crate::Error;
    use crate::MakeError as _;

    const REST: Duration = Duration::from_secs(1);

    fn block(address: usize) -> NonNull<c_void> {
        NonNull::new(std::ptr::without_provenance_mut(address)).unwrap()
    }

    fn device(size_bytes: usize) -> Class {
        Class { kind: Kind::Device, device: 1, alignment: 0, size_bytes }
    }

    fn never(_: usize) -> Result<Option<NonNull<c_void>>> {
        Err(Error::invalid("nothing left"))
    }

    #[test]
    fn blocks_are_given_out_again_to_who_can_use_them() {
        let spare = FreePool::new(REST);
        let kept = |_| panic!("a block goes too early");
        let get =
            |class, address| spare.allocate(class, |_| Ok(Some(block(address))), kept).unwrap().unwrap();
        assert_eq!(get(device(1000), 64), block(64));
        spare.free(block(64), kept);
        assert_eq!(spare.memory(), SpareMemory { blocks: 1, bytes: 1024, ..SpareMemory::default() });
        // Of another size, kind or alignment.
        assert_eq!(get(device(1025), 128), block(128));
        assert_eq!(get(Class { kind: Kind::Host, device: 0, ..device(1000) }, 192), block(192));
        assert_eq!(get(Class { alignment: 4096, ..device(1000) }, 4096), block(4096));
        assert_eq!(spare.allocate(device(1010), never, kept).unwrap(), Some(block(64)));
        assert_eq!(spare.memory(), SpareMemory::default());
    }

    #[test]
    fn blocks_go_back_after_their_rest_or_when_there_are_too_many() {
        let spare = FreePool::new(REST);
        let gone = RefCell::<Vec<_>>::default();
        let free = |block| gone.borrow_mut().push(block);
        let large = MOST_BYTES / 2;
        for address in [64, 128, 192] {
            spare.allocate(device(large), |_| Ok(Some(block(address))), free).unwrap();
        }
        spare.free(block(64), free);
        spare.free(block(128), free);
        assert_eq!(gone.take(), []);
        spare.free(block(192), free);
        assert_eq!(gone.take(), [block(64)]);
        // From outside.
        spare.free(block(256), free);
        assert_eq!(spare.memory(), SpareMemory { blocks: 3, bytes: MOST_BYTES, ..SpareMemory::default() });
        spare.lock().sweep(Instant::now() + REST / 2, REST, free);
        assert_eq!(gone.take(), []);
        spare.lock().sweep(Instant::now() + REST, REST, free);
        let mut all = gone.take();
        all.sort();
        assert_eq!(all, [block(128), block(192), block(256)]);
        assert_eq!(spare.memory(), SpareMemory::default());
    }

    #[test]
    fn blocks_go_back_when_the_driver_has_nothing_left() {
        let spare = FreePool::new(REST);
        let gone = RefCell::<Vec<_>>::default();
        let free = |block| gone.borrow_mut().push(block);
        spare.allocate(device(64), |_| Ok(Some(block(64))), free).unwrap();
        spare.allocate(device(128), never, free).unwrap_err();
        spare.free(block(64), free);
        let tries = RefCell::new(0);
        let second = |_| {
            *tries.borrow_mut() += 1;
            if *tries.borrow() == 1 { never(0) } else { Ok(Some(block(128))) }
        };
        assert_eq!(spare.allocate(device(128), second, free).unwrap(), Some(block(128)));
        assert_eq!((gone.take(), spare.memory()), (vec![block(64)], SpareMemory::default()));
        assert_eq!(spare.drain(), []);
    }
}
