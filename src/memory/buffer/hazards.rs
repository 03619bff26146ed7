//! Hazards: what an access to a buffer must wait for.
//!
//! The rules of SYCL 2020 (section 3.8.1): a command that reads waits for those that wrote before.
//! One that writes waits for those that wrote and for those that read before. Reads do not wait for
//! reads. Accesses to parts that do not overlap do not wait for each other.
//!
//! # Cost
//! An access looks at the entries that it must wait for, and at few others ([`Index`]). A write
//! removes the entries that it covers, because later accesses wait for the write. Completed entries
//! are removed whenever the number of entries has doubled. So an access checks a constant number of
//! entries for completion on average.

use super::area::{Area, Triple};
use super::index::Index;

/// Something that accesses wait for: an event, or a node of a graph.
pub(crate) trait Dependency: Clone {
    /// Whether nobody need wait for it any more.
    fn is_over(&self) -> bool;

    /// Whether it is complete only after `earlier`, which was recorded before it.
    fn comes_after(&self, earlier: &Self) -> bool;
}

/// Entries below which completed ones may stay.
const FEW: usize = 32;

/// The accesses to a buffer that later ones may have to wait for.
#[derive(Debug)]
pub(crate) struct Tracker<D> {
    shape: Triple,
    writes: Index<D>,
    reads: Index<D>,
    /// Completed entries are looked for beyond this many.
    limit: usize,
}

impl<D: Dependency> Tracker<D> {
    /// Of a buffer of this shape that nobody has used.
    pub(crate) fn new(shape: Triple) -> Self {
        Self { shape, writes: Index::default(), reads: Index::default(), limit: FEW }
    }

    /// The commands that an access must wait for; one may come several times. Empty accesses wait for
    /// nothing.
    pub(crate) fn dependencies(&self, area: &Area, writes: bool) -> impl Iterator<Item = &D> + Clone {
        let before = (!area.is_empty()).then(|| {
            let reads = writes.then(|| self.reads.overlapping(area, self.shape));
            self.writes.overlapping(area, self.shape).chain(reads.into_iter().flatten())
        });
        before.into_iter().flatten()
    }

    /// Notes an access that waits for its [`dependencies`](Self::dependencies).
    pub(crate) fn record(&mut self, area: &Area, writes: bool, dependency: D) {
        if area.is_empty() {
            return;
        }
        if writes {
            self.writes.cut(area, self.shape);
            self.reads.cut(area, self.shape);
            self.writes.insert(*area, dependency, self.shape);
        } else {
            let is_superfluous =
                |earlier: &Area, value: &D| area.contains(earlier) && dependency.comes_after(value);
            self.reads.remove_recent(area, self.shape, is_superfluous);
            self.reads.insert(*area, dependency, self.shape);
        }
        if self.len() > self.limit {
            self.forget_completed();
        }
    }

    /// Forgets what is complete.
    pub(crate) fn forget_completed(&mut self) {
        self.writes.retain(|dependency| !dependency.is_over());
        self.reads.retain(|dependency| !dependency.is_over());
        self.limit = (2 * self.len()).max(FEW);
    }

    /// How many accesses it remembers.
    pub(crate) fn len(&self) -> usize {
        self.writes.len() + self.reads.len()
    }
}

#[cfg(test)]
mod tests;
