//! A list whose places can be compared: which of two entries comes first is one comparison of tags.
//!
//! Entries keep their number for ever and can be moved. When no tag is free between two neighbours,
//! the tags around them are spread over the smallest aligned range that is thin enough. An
//! insertion takes O(log n) amortised (Bender, Cole, Demaine, Farach-Colton, Zito: "Two simplified
//! algorithms for maintaining order in a list", 2002).

/// No neighbour.
const NONE: u32 = u32::MAX;
/// Between entries that are appended: room for twenty halvings, and for 2⁴³ entries.
const STEP: u64 = 1 << 20;

/// The list. Entries are numbered as they were appended.
#[derive(Debug, Clone)]
pub(super) struct Order {
    places: Vec<Place>,
    first: u32,
    last: u32,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    tag: u64,
    before: u32,
    after: u32,
}

impl Default for Order {
    fn default() -> Self {
        Self { places: Vec::new(), first: NONE, last: NONE }
    }
}

impl Order {
    /// Appends the next entry.
    pub(super) fn push(&mut self) {
        let entry = self.places.len() as u32;
        self.places.push(Place { tag: 0, before: NONE, after: NONE });
        self.insert_between(entry, self.last, NONE);
    }

    /// Greater for what comes later. Holds until something is moved.
    pub(super) fn tag(&self, entry: u32) -> u64 {
        self.places.get(entry as usize).map_or(u64::MAX, |place| place.tag)
    }

    /// Moves an entry directly in front of another.
    pub(super) fn move_before(&mut self, entry: u32, anchor: u32) {
        if entry != anchor {
            self.take_out(entry);
            self.insert_between(entry, self.place(anchor).before, anchor);
        }
    }

    /// Moves an entry directly behind another.
    pub(super) fn move_after(&mut self, entry: u32, anchor: u32) {
        if entry != anchor {
            self.take_out(entry);
            self.insert_between(entry, anchor, self.place(anchor).after);
        }
    }

    /// From first to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(self.first), |entry| Some(self.place(*entry).after))
            .take_while(|entry| *entry != NONE)
    }

    /// A place out of range has no neighbours; there are none.
    fn place(&self, entry: u32) -> Place {
        let nowhere = Place { tag: u64::MAX, before: NONE, after: NONE };
        self.places.get(entry as usize).copied().unwrap_or(nowhere)
    }

    fn set(&mut self, entry: u32, change: impl FnOnce(&mut Place)) {
        debug_assert!((entry as usize) < self.places.len(), "entry {entry} of {}", self.places.len());
        if let Some(place) = self.places.get_mut(entry as usize) {
            change(place);
        }
    }

    fn take_out(&mut self, entry: u32) {
        let Place { before, after, .. } = self.place(entry);
        self.join(before, after);
    }

    fn join(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            _ => self.set(before, |place| place.after = after),
        }
        match after {
            NONE => self.last = before,
            _ => self.set(after, |place| place.before = before),
        }
    }

    fn insert_between(&mut self, entry: u32, before: u32, after: u32) {
        let tag = loop {
            if let Some(tag) = self.tag_between(before, after) {
                break tag;
            }
            self.spread(if before == NONE { after } else { before });
        };
        self.join(before, entry);
        self.join(entry, after);
        self.set(entry, |place| place.tag = tag);
    }

    /// `None` where the neighbours leave no room.
    fn tag_between(&self, before: u32, after: u32) -> Option<u64> {
        match (before, after) {
            (NONE, NONE) => Some(1 << 63),
            (before, NONE) => self.tag(before).checked_add(STEP),
            (NONE, after) => self.tag(after).checked_sub(STEP),
            (before, after) => {
                let (low, high) = (self.tag(before), self.tag(after));
                let room = high.saturating_sub(low);
                (room >= 2).then(|| low + room / 2)
            }
        }
    }

    /// Gives the entries around one new tags, with room for one more between any two of them and
    /// beside the outermost.
    fn spread(&mut self, around: u32) {
        let tag = self.tag(around);
        let (mut left, mut right, mut count) = (around, around, 1_u64);
        for bits in 2..64_u32 {
            let mask = (1_u64 << bits) - 1;
            let (low, high) = (tag & !mask, tag | mask);
            while self.place(left).before != NONE && self.tag(self.place(left).before) >= low {
                left = self.place(left).before;
                count += 1;
            }
            while self.place(right).after != NONE && self.tag(self.place(right).after) <= high {
                right = self.place(right).after;
                count += 1;
            }
            let step = (1_u64 << bits) / count;
            // Thinner the larger the range is, so that it takes long until the same range is full
            // again.
            if step >= 4 && count as f64 <= (4.0_f64 / 3.0).powi(bits as i32) {
                self.retag(left, count, low + step / 2, step);
                return;
            }
        }
        let all = self.places.len() as u64;
        let step = u64::MAX / (all + 2);
        self.retag(self.first, all, step, step);
    }

    fn retag(&mut self, first: u32, count: u64, tag: u64, step: u64) {
        let mut entry = first;
        for i in 0..count {
            self.set(entry, |place| place.tag = tag + i * step);
            entry = self.place(entry).after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn consistent(order: &Order, expected: &[u32]) {
        let forward: Vec<u32> = order.iter().collect();
        assert_eq!(forward, expected);
        assert!(forward.windows(2).all(|pair| order.tag(pair[0]) < order.tag(pair[1])), "tags rise");
        let mut backward = Vec::new();
        let mut entry = order.last;
        while entry != NONE {
            backward.push(entry);
            entry = order.place(entry).before;
        }
        backward.reverse();
        assert_eq!(backward, expected);
    }

    #[test]
    fn one_place_takes_any_number_of_entries() {
        let mut order = Order::default();
        let mut expected = Vec::new();
        for entry in 0..5_000 {
            order.push();
            if entry >= 2 {
                order.move_after(entry, 0);
                expected.insert(1, entry);
            } else {
                expected.push(entry);
            }
        }
        consistent(&order, &expected);
    }

    #[test]
    fn the_front_takes_any_number_of_entries() {
        let mut order = Order::default();
        order.push();
        for entry in 1..5_000 {
            order.push();
            order.move_before(entry, entry - 1);
        }
        consistent(&order, &(0..5_000).rev().collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn moves_are_those_of_a_vector(
            len in 2..60_usize,
            moves in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..400),
        ) {
            let mut order = Order::default();
            let mut expected: Vec<u32> = (0..len as u32).collect();
            expected.iter().for_each(|_| order.push());
            for (before, entry, anchor) in moves {
                let (entry, anchor) = (entry.index(len) as u32, anchor.index(len) as u32);
                if before { order.move_before(entry, anchor) } else { order.move_after(entry, anchor) }
                if entry != anchor {
                    expected.retain(|e| *e != entry);
                    let at = expected.iter().position(|e| *e == anchor).unwrap();
                    expected.insert(if before { at } else { at + 1 }, entry);
                }
            }
            consistent(&order, &expected);
        }
    }
}
