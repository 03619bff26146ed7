//! The memory of a context that is allocated: what kernels may reach by pointers that are not their
//! arguments.

use std::collections::BTreeMap;

use crate::MakeError as _;
use crate::sync::RwLock;
use crate::sys::cl_mem;
use crate::{Error, ErrorKind, Result};

/// One allocation.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) size_bytes: usize,
    /// Null for SVM that the host need not map, and for memory from outside.
    pub(super) buffer: cl_mem,
    /// Where it begins in its buffer.
    pub(super) offset_bytes: usize,
}

/// The allocations by address.
pub(super) struct Live(RwLock<State>);

struct State {
    /// Another one after each change; never 0.
    generation: u64,
    blocks: BTreeMap<usize, Block>,
}

impl Live {
    pub(super) fn new() -> Self {
        Self(RwLock::new(State { generation: 1, blocks: BTreeMap::new() }))
    }

    pub(super) fn insert(&self, start: usize, block: Block) {
        let mut state = self.0.write();
        state.generation += 1;
        state.blocks.insert(start, block);
    }

    /// Takes an allocation out. Launches that may be given it have been enqueued when this returns.
    pub(super) fn remove(&self, start: usize) -> Option<Block> {
        let mut state = self.0.write();
        state.generation += 1;
        state.blocks.remove(&start)
    }

    /// The allocation around an address, and the offset in its buffer.
    pub(super) fn find(&self, address: usize) -> Result<(Block, usize)> {
        let state = self.0.read();
        let found = state.blocks.range(..=address).next_back();
        // The end counts: it is where a part without bytes may lie.
        let found = found.filter(|(start, block)| address - **start <= block.size_bytes);
        match found {
            Some((start, block)) => Ok((*block, block.offset_bytes + (address - start))),
            None => Err(Error::new(ErrorKind::Runtime, format!("no buffer is at the address {address:#x}"))),
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.0.read().generation
    }

    /// Runs `during`, while nothing is added or removed. Before, if something has changed since the
    /// generation `seen`, `tell` gets the addresses of all buffers.
    pub(super) fn unchanged<R>(
        &self,
        seen: &mut u64,
        tell: impl FnOnce(&[usize]) -> Result<()>,
        during: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let state = self.0.read();
        if *seen != state.generation {
            let starts: Vec<usize> =
                state.blocks.iter().map(|(start, block)| start - block.offset_bytes).collect();
            // Some drivers refuse an empty list.
            if !starts.is_empty() {
                tell(&starts)?;
            }
            *seen = state.generation;
        }
        during()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(size_bytes: usize, offset_bytes: usize) -> Block {
        Block { size_bytes, buffer: std::ptr::null_mut(), offset_bytes }
    }

    #[test]
    fn addresses_are_found_within_their_allocation() {
        let live = Live::new();
        live.insert(4096, block(64, 0));
        live.insert(8192, block(64, 32));
        assert!(live.find(4095).is_err());
        assert_eq!(live.find(4100).unwrap().1, 4);
        assert_eq!(live.find(4160).unwrap().1, 64);
        assert!(live.find(4161).is_err());
        assert_eq!(live.find(8200).unwrap().1, 40);
        assert!(live.remove(8192).is_some() && live.remove(8192).is_none());
        assert!(live.find(8200).is_err());
    }

    #[test]
    fn the_list_is_told_again_only_after_a_change() {
        let live = Live::new();
        let mut seen = 0;
        let mut told = Vec::new();
        let mut launch = |live: &Live| {
            let tell = |starts: &[usize]| {
                told.push(starts.to_vec());
                Ok(())
            };
            live.unchanged(&mut seen, tell, || Ok(())).unwrap();
        };
        // There is nothing to tell yet.
        launch(&live);
        live.insert(4096, block(64, 0));
        live.insert(8192, block(64, 32));
        launch(&live);
        launch(&live);
        live.remove(4096);
        launch(&live);
        launch(&live);
        assert_eq!(told, [vec![4096, 8160], vec![8160]]);
    }

    #[test]
    fn a_list_that_was_refused_is_told_again() {
        let live = Live::new();
        live.insert(4096, block(64, 0));
        let mut seen = 0;
        let refuse = |_: &[usize]| Err(Error::invalid("refused"));
        live.unchanged(&mut seen, refuse, || Ok(())).unwrap_err();
        let mut told = false;
        let tell = |_: &[usize]| {
            told = true;
            Ok(())
        };
        live.unchanged(&mut seen, tell, || Ok(())).unwrap();
        assert!(told);
    }
}
