//! An index of areas: which of them overlap one, without a look at all.
//!
//! An area is entered under the stretch of memory from its first to its last element: in a level by the stretch's length
//! (2^level elements hold it), there in the cell where it begins. What overlaps a stretch begins, on each level, in the
//! cells that the stretch touches or in the one before. Boxes of several dimensions whose stretches overlap need not
//! overlap themselves; they are compared one by one.

use std::collections::BTreeMap;

use super::area::{Area, Rest, Triple};

/// Level, cell, and a number that tells entries of a cell apart, in the order in which they came.
type Key = (u32, usize, u64);

/// Areas of an array, with something attached to each.
#[derive(Debug)]
pub(super) struct Index<V> {
    entries: BTreeMap<Key, (Area, V)>,
    next: u64,
}

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), next: 0 }
    }
}

impl<V> Index<V> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The level and cell of a stretch.
    fn place(start: usize, end: usize) -> (u32, usize) {
        let level = (end - start).next_power_of_two().trailing_zeros();
        (level, start >> level)
    }

    /// Enters an area, which is not empty.
    pub(super) fn insert(&mut self, area: Area, value: V, shape: Triple) {
        let (start, end) = area.linear(shape);
        let (level, cell) = Self::place(start, end);
        self.entries.insert((level, cell, self.next), (area, value));
        self.next += 1;
    }

    /// The keys of the entries that overlap an area, which is not empty.
    fn overlapping<'a>(&'a self, area: &Area, shape: Triple) -> impl Iterator<Item = (Key, &'a V)> {
        let area = *area;
        let (start, end) = area.linear(shape);
        let mut level = self.entries.keys().next().map(|(level, ..)| *level);
        std::iter::from_fn(move || {
            let current = level?;
            level = self.entries.range((current + 1, 0, 0)..).next().map(|((level, ..), _)| *level);
            let first = start.saturating_sub((1_usize << current) - 1) >> current;
            let last = (end - 1) >> current;
            Some(self.entries.range((current, first, 0)..=(current, last, u64::MAX)))
        })
        .flatten()
        .filter(move |(_, (other, _))| other.overlaps(&area))
        .map(|(key, (_, value))| (*key, value))
    }

    /// Shows the values of the entries that overlap an area.
    pub(super) fn for_each<'a>(&'a self, area: &Area, shape: Triple, mut found: impl FnMut(&'a V)) {
        self.overlapping(area, shape).for_each(|(_, value)| found(value));
    }

    /// The values that were entered last at the place of an area, the last one first, with their areas.
    pub(super) fn recent(&self, area: &Area, shape: Triple) -> impl Iterator<Item = (Key, &Area, &V)> {
        let (start, end) = area.linear(shape);
        let (level, cell) = Self::place(start, end);
        self.entries
            .range((level, cell, 0)..=(level, cell, u64::MAX))
            .rev()
            .map(|(key, (area, value))| (*key, area, value))
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.entries.remove(&key);
    }

    /// Keeps the entries of which `keep` says so.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.entries.retain(|_, (_, value)| keep(value));
    }
}

impl<V: Clone> Index<V> {
    /// Takes an area out of all entries, where what is left of them is a box or two; else they stay as they are.
    pub(super) fn cut(&mut self, area: &Area, shape: Triple) {
        let found: Vec<Key> = self.overlapping(area, shape).map(|(key, _)| key).collect();
        for key in found {
            let Some((old, _)) = self.entries.get(&key) else { continue };
            let rest = old.without(area);
            if rest == Rest::Other {
                continue;
            }
            let Some((_, value)) = self.entries.remove(&key) else { continue };
            if let Rest::Pieces(first, second) = rest {
                if let Some(second) = second {
                    self.insert(second, value.clone(), shape);
                }
                self.insert(first, value, shape);
            }
        }
    }
}
