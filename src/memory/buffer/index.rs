//! An index of areas: which of them overlap one, without a look at all.
//!
//! The latest areas are in a short list, which is searched linearly. When it is full, its areas
//! move to a tree. The key of an area is its stretch: the memory from its first to its last
//! element. The length of the stretch determines the level, whose cells have 2^level elements. The
//! area is stored in the cell where the stretch begins. Whatever overlaps a stretch begins, on each
//! level, in the cells that the stretch touches or in the one before. Boxes whose stretches overlap
//! need not overlap themselves, so they are compared one by one.

use std::collections::BTreeMap;

use super::area::{Area, Rest, Triple};

/// Level, cell, and a number that tells entries of a cell apart, in the order in which they came.
type Key = (u32, usize, u64);

/// How many the list holds.
const FEW: usize = 8;

/// Entries of a cell among which one is looked for that came lately.
const RECENT: usize = 4;

/// Areas of an array, with something attached to each.
#[derive(Debug)]
pub(super) struct Index<V> {
    few: Vec<(Area, V)>,
    tree: BTreeMap<Key, (Area, V)>,
    next: u64,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self { few: Vec::new(), tree: BTreeMap::new(), next: 0 }
    }
}

impl<V> Index<V> {
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.tree.len()
    }

    /// Enters an area, which is not empty.
    pub(super) fn insert(&mut self, area: Area, value: V, shape: Triple) {
        if self.few.len() == FEW {
            for (area, value) in self.few.drain(..) {
                let (level, cell) = place(&area, shape);
                self.tree.insert((level, cell, self.next), (area, value));
                self.next += 1;
            }
        }
        self.few.push((area, value));
    }

    /// The values whose areas overlap one, which is not empty.
    pub(super) fn overlapping(&self, area: &Area, shape: Triple) -> impl Iterator<Item = &V> + Clone {
        let area = *area;
        let few = self.few.iter().filter(move |(other, _)| other.overlaps(&area)).map(|(_, value)| value);
        few.chain(self.in_tree(area, shape).map(|(_, value)| value))
    }

    /// Those of the tree, with their keys.
    fn in_tree(&self, area: Area, shape: Triple) -> impl Iterator<Item = (Key, &V)> + Clone {
        let (start, end) = area.linear(shape);
        let mut level = self.tree.keys().next().map(|(level, ..)| *level);
        std::iter::from_fn(move || {
            let current = level?;
            level = self.tree.range((current + 1, 0, 0)..).next().map(|((level, ..), _)| *level);
            let first = start.saturating_sub((1_usize << current) - 1) >> current;
            let last = (end - 1) >> current;
            Some(self.tree.range((current, first, 0)..=(current, last, u64::MAX)))
        })
        .flatten()
        .filter(move |(_, (other, _))| other.overlaps(&area))
        .map(|(key, (_, value))| (*key, value))
    }

    /// Takes out one for which `is_wanted` says so, if it came lately to about the place of an
    /// area.
    pub(super) fn remove_recent(
        &mut self,
        area: &Area,
        shape: Triple,
        is_wanted: impl Fn(&Area, &V) -> bool,
    ) {
        if let Some(index) = self.few.iter().rposition(|(other, value)| is_wanted(other, value)) {
            self.few.remove(index);
            return;
        }
        if self.tree.is_empty() {
            return;
        }
        let (level, cell) = place(area, shape);
        let cell = self.tree.range((level, cell, 0)..=(level, cell, u64::MAX));
        let mut recent = cell.rev().take(RECENT);
        let key = recent.find(|(_, (other, value))| is_wanted(other, value)).map(|(key, _)| *key);
        key.and_then(|key| self.tree.remove(&key));
    }

    /// Keeps the entries of which `keep` says so.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.few.retain(|(_, value)| keep(value));
        self.tree.retain(|_, (_, value)| keep(value));
    }
}

impl<V: Clone> Index<V> {
    /// Takes an area out of all entries, where what is left of them is a box or two; else they stay
    /// as they are.
    pub(super) fn cut(&mut self, area: &Area, shape: Triple) {
        // From the last to the first, as others may come to the end.
        for at in (0..self.few.len()).rev() {
            let Some((old, _)) = self.few.get(at).filter(|(old, _)| old.overlaps(area)) else { continue };
            let rest = old.without(area);
            if rest != Rest::Other {
                let (_, value) = self.few.remove(at);
                self.enter_rest(rest, value, shape);
            }
        }
        if self.tree.is_empty() {
            return;
        }
        let found: Vec<Key> = self.in_tree(*area, shape).map(|(key, _)| key).collect();
        for key in found {
            let Some((old, _)) = self.tree.get(&key) else { continue };
            let rest = old.without(area);
            if rest == Rest::Other {
                continue;
            }
            if let Some((_, value)) = self.tree.remove(&key) {
                self.enter_rest(rest, value, shape);
            }
        }
    }

    fn enter_rest(&mut self, rest: Rest, value: V, shape: Triple) {
        if let Rest::Pieces(first, second) = rest {
            if let Some(second) = second {
                self.insert(second, value.clone(), shape);
            }
            self.insert(first, value, shape);
        }
    }
}

/// The level and cell of an area.
fn place(area: &Area, shape: Triple) -> (u32, usize) {
    let (start, end) = area.linear(shape);
    let level = (end - start).next_power_of_two().trailing_zeros();
    (level, start >> level)
}
