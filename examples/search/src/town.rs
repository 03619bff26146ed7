//! A town, and the same search in plain Rust.

use std::collections::VecDeque;

/// The distance of a crossing that cannot be reached.
pub(crate) const UNSEEN: u32 = u32::MAX;
/// Of 100 streets between neighbours so many are missing.
const MISSING: u32 = 25;

/// Crossings on a square grid with streets between neighbours, some of which are missing, and a few bypasses. Streets
/// lead in both directions. Where they lead to is stored as the kernels want it.
pub(crate) struct Town {
    pub(crate) first: Vec<u32>,
    pub(crate) ends: Vec<u32>,
}

impl Town {
    /// With `size` crossings on each side; the same each time.
    pub(crate) fn new(size: u32) -> Self {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut below = |end: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((state >> 32) % u64::from(end)) as u32
        };
        let mut ways = vec![Vec::new(); (size * size) as usize];
        let mut street = |from: u32, to: u32| {
            ways[from as usize].push(to);
            ways[to as usize].push(from);
        };
        for crossing in 0..size * size {
            let (x, y) = (crossing % size, crossing / size);
            if x + 1 < size && below(100) >= MISSING {
                street(crossing, crossing + 1);
            }
            if y + 1 < size && below(100) >= MISSING {
                street(crossing, crossing + size);
            }
            if below(500) == 0 {
                // Past some crossings to the right and down.
                let (right, down) = (below(size - x).min(6), below(size - y).min(6));
                street(crossing, crossing + right + down * size);
            }
        }
        let mut first = vec![0];
        first.extend(ways.iter().scan(0, |all, ends| {
            *all += ends.len() as u32;
            Some(*all)
        }));
        Self { first, ends: ways.concat() }
    }

    pub(crate) fn crossings(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// How many streets lie between a crossing and each.
    pub(crate) fn distances(&self, start: u32) -> Vec<u32> {
        let mut distances = vec![UNSEEN; self.crossings() as usize];
        distances[start as usize] = 0;
        let mut open = VecDeque::from([start]);
        while let Some(from) = open.pop_front() {
            let ways = self.first[from as usize] as usize..self.first[from as usize + 1] as usize;
            for &to in &self.ends[ways] {
                if distances[to as usize] == UNSEEN {
                    distances[to as usize] = distances[from as usize] + 1;
                    open.push_back(to);
                }
            }
        }
        distances
    }
}
