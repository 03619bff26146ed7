//! Small pieces of large allocations, for drivers whose allocations are slow.
//!
//! NVIDIA's driver takes 1 ms for `clSVMAlloc` and 0.5 ms for `clSVMFree`, whatever the size.
//! Kernels that follow pointers are also given a list of all allocations, which is shorter this
//! way. Only memory of the device is cut into pieces: what the host maps is an allocation of its
//! own.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;

use crate::Result;
use crate::sync::{Mutex, MutexGuard};

/// Bytes of an allocation that is cut into pieces.
const SLAB_BYTES: usize = 1 << 20;
/// Pieces are at least so large, and so aligned. NVIDIA's driver aligns allocations so, too.
const LEAST_BYTES: usize = 512;
/// Larger memory is an allocation of its own.
const MOST_BYTES: usize = 64 << 10;

/// The allocations that are cut into pieces.
#[derive(Default)]
pub(super) struct Slabs(Mutex<BTreeMap<usize, Slab>>);

struct Slab {
    start: Start,
    piece_bytes: usize,
    /// Offsets of the pieces that nobody has.
    free: Vec<usize>,
}

struct Start(NonNull<c_void>);

// SAFETY: an address that is only handed out and back; nothing here reads or writes what it points
// to.
unsafe impl Send for Start {}

impl Slab {
    fn is_unused(&self) -> bool {
        self.free.len() == SLAB_BYTES / self.piece_bytes
    }

    fn take(&mut self) -> Option<NonNull<c_void>> {
        let offset = self.free.pop()?;
        NonNull::new(self.start.0.as_ptr().wrapping_byte_add(offset))
    }
}

impl Slabs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Slab>> {
        self.0.lock()
    }

    /// A piece of memory, if it is small. `allocate` is asked for so many bytes where no slab has a
    /// piece left.
    pub(super) fn allocate(
        &self,
        size_bytes: usize,
        alignment: u32,
        allocate: impl FnOnce(usize) -> Result<Option<NonNull<c_void>>>,
    ) -> Result<Option<NonNull<c_void>>> {
        let wanted = size_bytes.max(LEAST_BYTES);
        if wanted > MOST_BYTES || alignment as usize > LEAST_BYTES {
            return Ok(None);
        }
        let piece_bytes = wanted.next_power_of_two();
        let mut slabs = self.lock();
        let mut fitting = slabs.values_mut().filter(|slab| slab.piece_bytes == piece_bytes);
        if let Some(piece) = fitting.find_map(Slab::take) {
            return Ok(Some(piece));
        }
        let Some(start) = allocate(SLAB_BYTES)? else { return Ok(None) };
        // The lowest first.
        let free = (0..SLAB_BYTES / piece_bytes).rev().map(|piece| piece * piece_bytes).collect();
        let mut slab = Slab { start: Start(start), piece_bytes, free };
        let piece = slab.take();
        slabs.insert(start.addr().get(), slab);
        Ok(piece)
    }

    /// Takes a piece back, or returns `false` if the memory is not a piece. `free` gets a slab that
    /// is no longer used, unless it is the only one with pieces of its size.
    pub(super) fn free(
        &self,
        piece: NonNull<c_void>,
        free: impl FnOnce(NonNull<c_void>) -> Result<()>,
    ) -> Result<bool> {
        let mut slabs = self.lock();
        let address = piece.addr().get();
        let around = slabs.range_mut(..=address).next_back();
        let Some((&start, slab)) = around.filter(|(start, _)| address - **start < SLAB_BYTES) else {
            return Ok(false);
        };
        slab.free.push(address - start);
        if !slab.is_unused() {
            return Ok(true);
        }
        let piece_bytes = slab.piece_bytes;
        let others = slabs.iter().filter(|(at, slab)| **at != start && slab.piece_bytes == piece_bytes);
        if others.count() == 0 {
            return Ok(true);
        }
        match slabs.remove(&start) {
            Some(slab) => free(slab.start.0).map(|()| true),
            None => Ok(true),
        }
    }

    /// The pieces that are used, and the slabs.
    pub(super) fn counts(&self) -> (usize, usize) {
        let slabs = self.lock();
        let used = |slab: &Slab| SLAB_BYTES / slab.piece_bytes - slab.free.len();
        (slabs.values().map(used).sum(), slabs.len())
    }

    /// All slabs, for the end of the context.
    pub(super) fn drain(&self) -> Vec<NonNull<c_void>> {
        std::mem::take(&mut *self.lock()).into_values().map(|slab| slab.start.0).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::RefCell;

    use super::*;
    use crate::Error;
    use crate::MakeError as _;

    fn at(address: usize) -> NonNull<c_void> {
        NonNull::new(std::ptr::without_provenance_mut(address)).unwrap()
    }

    fn never(_: usize) -> Result<Option<NonNull<c_void>>> {
        Err(Error::invalid("nothing left"))
    }

    #[test]
    fn pieces_of_a_size_share_a_slab() {
        let slabs = Slabs::default();
        let first = SLAB_BYTES;
        let new = |bytes: usize| Ok((bytes == SLAB_BYTES).then(|| at(first)));
        assert_eq!(slabs.allocate(4, 0, new).unwrap(), Some(at(first)));
        assert_eq!(slabs.allocate(512, 512, never).unwrap(), Some(at(first + 512)));
        // Of another size.
        slabs.allocate(513, 0, never).unwrap_err();
        // Large or strangely aligned memory is none of its business.
        assert_eq!(slabs.allocate(MOST_BYTES + 1, 0, never).unwrap(), None);
        assert_eq!(slabs.allocate(4, 4096, never).unwrap(), None);
        assert_eq!(slabs.counts(), (2, 1));
        let kept = |_| -> Result<()> { panic!("a slab goes too early") };
        assert!(slabs.free(at(first), kept).unwrap());
        assert_eq!(slabs.allocate(100, 0, never).unwrap(), Some(at(first)));
        assert!(!slabs.free(at(first + SLAB_BYTES), kept).unwrap());
        assert!(!slabs.free(at(first - 512), kept).unwrap());
        assert_eq!(slabs.drain(), [at(first)]);
    }

    #[test]
    fn an_unused_slab_goes_unless_it_is_the_last() {
        let slabs = Slabs::default();
        let pieces = SLAB_BYTES / MOST_BYTES;
        for piece in 0..pieces {
            let new = |_| Ok(Some(at(SLAB_BYTES)));
            let expected = at(SLAB_BYTES + piece * MOST_BYTES);
            assert_eq!(slabs.allocate(MOST_BYTES, 0, new).unwrap(), Some(expected));
        }
        let second = at(4 * SLAB_BYTES);
        assert_eq!(slabs.allocate(MOST_BYTES, 0, |_| Ok(Some(second))).unwrap(), Some(second));
        let gone = RefCell::<Vec<_>>::default();
        let free = |slab| {
            gone.borrow_mut().push(slab);
            Ok(())
        };
        for piece in 0..pieces {
            assert!(slabs.free(at(SLAB_BYTES + piece * MOST_BYTES), free).unwrap());
        }
        assert!(slabs.free(second, free).unwrap());
        assert_eq!((gone.take(), slabs.drain()), (vec![at(SLAB_BYTES)], vec![second]));
    }
}
