//! The tracker against an oracle that remembers, for each element, who wrote it last and who has
//! read it since.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

/// What the accesses of a test are known by, and which of them are complete.
#[derive(Clone, Debug)]
struct Access {
    id: usize,
    over: Rc<RefCell<BTreeSet<usize>>>,
    asked: Rc<Cell<usize>>,
    in_order: bool,
}

impl Dependency for Access {
    fn is_over(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.over.borrow().contains(&self.id)
    }

    fn comes_after(&self, earlier: &Self) -> bool {
        self.in_order && earlier.id < self.id
    }
}

/// A tracker with its accesses.
struct Run {
    tracker: Tracker<Access>,
    over: Rc<RefCell<BTreeSet<usize>>>,
    asked: Rc<Cell<usize>>,
    in_order: bool,
    count: usize,
}

impl Run {
    fn new(shape: Triple, in_order: bool) -> Self {
        Self { tracker: Tracker::new(shape), over: Rc::default(), asked: Rc::default(), in_order, count: 0 }
    }

    fn access(&mut self, area: Area, writes: bool) -> BTreeSet<usize> {
        let found = self.tracker.dependencies(&area, writes).map(|access| access.id).collect();
        let access = Access {
            id: self.count,
            over: Rc::clone(&self.over),
            asked: Rc::clone(&self.asked),
            in_order: self.in_order,
        };
        self.count += 1;
        self.tracker.record(&area, writes, access);
        found
    }
}

fn row(offset: usize, extent: usize) -> Area {
    Area { offset: [0, 0, offset], extent: [1, 1, extent] }
}

const WIDTH: Triple = [1, 1, 1 << 20];

#[test]
fn reads_do_not_wait_for_reads() {
    let mut run = Run::new(WIDTH, false);
    assert!(run.access(row(0, 10), true).is_empty());
    assert_eq!(run.access(row(0, 10), false), [0].into());
    assert_eq!(run.access(row(5, 2), false), [0].into());
    assert_eq!(run.access(row(5, 1), true), [0, 1, 2].into());
    assert_eq!(run.access(row(4, 1), false), [0].into());
    assert_eq!(run.access(row(5, 1), false), [3].into());
}

#[test]
fn what_does_not_overlap_does_not_wait() {
    let mut run = Run::new([4, 4, 4], false);
    let column = |column| Area { offset: [0, 0, column], extent: [4, 4, 1] };
    for i in 0..4 {
        assert!(run.access(column(i), true).is_empty());
    }
    assert_eq!(run.access(Area { offset: [2, 2, 1], extent: [1, 1, 2] }, false), [1, 2].into());
}

#[test]
fn writes_forget_what_they_cover() {
    let mut run = Run::new(WIDTH, false);
    for i in 0..100 {
        run.access(row(i, 1), true);
        run.access(row(i, 1), false);
    }
    assert_eq!(run.access(row(0, 100), true).len(), 200);
    assert_eq!(run.tracker.len(), 1);
    assert_eq!(run.access(row(50, 3), true), [200].into());
    // The two ends of the write before.
    assert_eq!(run.tracker.len(), 3);
}

#[test]
fn empty_accesses_wait_for_nothing_and_leave_nothing() {
    let mut run = Run::new(WIDTH, false);
    run.access(row(0, 10), true);
    assert!(run.access(row(5, 0), true).is_empty());
    assert_eq!(run.tracker.len(), 1);
}

#[test]
fn reads_in_order_keep_one_entry() {
    let mut run = Run::new(WIDTH, true);
    run.access(row(0, 1000), true);
    for _ in 0..100_000 {
        run.access(row(0, 1000), false);
    }
    assert_eq!(run.tracker.len(), 2);
    assert_eq!(run.access(row(0, 1), true), [0, 100_000].into());
}

#[test]
fn completed_accesses_are_forgotten_at_constant_cost() {
    let mut run = Run::new(WIDTH, false);
    for i in 0..100_000 {
        run.access(row(0, 1000), false);
        // Some forty are under way.
        if i >= 40 {
            run.over.borrow_mut().insert(i - 40);
        }
    }
    assert!(run.tracker.len() <= 2 * 41 + 1, "{}", run.tracker.len());
    assert!(run.asked.get() <= 3 * 100_000, "asked {} times", run.asked.get());
}

/// Who wrote an element last, and who has read it since.
type Oracle = Vec<(Option<usize>, BTreeSet<usize>)>;

fn oracle(elements: &mut Oracle, shape: Triple, id: usize, area: &Area, writes: bool) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for (start, length) in area.runs(shape) {
        for (writer, readers) in &mut elements[start..start + length] {
            found.extend(*writer);
            if writes {
                found.extend(readers.iter());
                readers.clear();
                *writer = Some(id);
            } else {
                readers.insert(id);
            }
        }
    }
    found
}

fn accesses(shape: Triple) -> impl Strategy<Value = Vec<(Area, bool)>> {
    let side = |size: usize| {
        (0..size, 0..=size).prop_map(move |(offset, extent)| (offset, extent.min(size - offset)))
    };
    let area = (side(shape[0]), side(shape[1]), side(shape[2]))
        .prop_map(|(a, b, c)| Area { offset: [a.0, b.0, c.0], extent: [a.1, b.1, c.1] });
    proptest::collection::vec((area, any::<bool>()), 1..60)
}

proptest! {
    /// In one dimension the tracker finds exactly what the oracle does.
    #[test]
    fn rows_are_exact(accesses in accesses([1, 1, 40])) {
        let shape = [1, 1, 40];
        let mut run = Run::new(shape, false);
        let mut elements: Oracle = vec![Default::default(); 40];
        for (id, (area, writes)) in accesses.iter().enumerate() {
            let expected = oracle(&mut elements, shape, id, area, *writes);
            prop_assert_eq!(run.access(*area, *writes), expected);
        }
    }

    /// In three dimensions it finds what the oracle does, and nothing that does not overlap.
    #[test]
    fn boxes_are_ordered_and_no_more_than_needed(accesses in accesses([3, 4, 5])) {
        let shape = [3, 4, 5];
        let mut run = Run::new(shape, false);
        let mut elements: Oracle = vec![Default::default(); 60];
        for (id, (area, writes)) in accesses.iter().enumerate() {
            let expected = oracle(&mut elements, shape, id, area, *writes);
            let found = run.access(*area, *writes);
            prop_assert!(found.is_superset(&expected), "{found:?} lacks some of {expected:?}");
            for other in found {
                prop_assert!(accesses[other].0.overlaps(area) && (accesses[other].1 || *writes));
            }
        }
    }

    /// On an in-order queue, reads that later reads make superfluous are left out; what comes after
    /// still waits for all.
    #[test]
    fn in_order_reads_stand_for_earlier_ones(accesses in accesses([1, 1, 12])) {
        let shape = [1, 1, 12];
        let mut run = Run::new(shape, true);
        let mut elements: Oracle = vec![Default::default(); 12];
        for (id, (area, writes)) in accesses.iter().enumerate() {
            let expected = oracle(&mut elements, shape, id, area, *writes);
            let found = run.access(*area, *writes);
            // Everything is after what has a smaller number, so the last one stands for all.
            prop_assert_eq!(found.last(), expected.last());
            prop_assert!(found.is_subset(&expected));
        }
    }
}
