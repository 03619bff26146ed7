//! What kernels were seen to cost, against the static estimate of their steps.

use std::sync::{Arc, PoisonError, RwLock};

use crate::program::disk::{CacheKey, DiskCache};

/// How much more, or less, than estimated: nothing beyond is believed.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-3..=1e4;

/// How much longer than estimated the steps of kernels take. From replays as they run; kept in the cache of programs, as the
/// estimates that the next process begins with.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// By kernel: from lists, and from launches.
    factors: RwLock<Vec<[Factor; 2]>>,
    /// Where they are kept.
    disk: Option<(Arc<DiskCache>, CacheKey)>,
}

/// Of one kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Factor {
    factor: Option<f64>,
    /// Work-items of the nodes that tell it. Smaller ones tell less, as what a node costs without its items is not told apart.
    items: f64,
    /// By this process.
    is_measured: bool,
}

/// Nodes of so many times the items are another matter.
const LARGER: f64 = 4.0;

/// Where a kernel was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// In lists, on one core.
    List = 0,
    /// Launched, on all cores.
    Launch = 1,
}

impl Learned {
    /// For so many kernels; with what the cache has.
    pub(super) fn new(count: usize, disk: Option<(Arc<DiskCache>, CacheKey)>) -> Self {
        let kept = disk.as_ref().and_then(|(disk, key)| disk.load(key)).unwrap_or_default();
        let kept = kept.chunks(8).map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes));
        let kept: Vec<f64> = kept.collect();
        let mut kept = kept.chunks(2).map(|kept| match *kept {
            [factor, items] if PLAUSIBLE.contains(&factor) && items >= 1.0 => {
                Factor { factor: Some(factor), items, is_measured: false }
            }
            _ => Factor::default(),
        });
        let mut next = || kept.next().unwrap_or_default();
        let factors = (0..count).map(|_| [next(), next()]).collect();
        Self { factors: RwLock::new(factors), disk }
    }

    fn of(&self, kernel: u32, source: Source) -> Factor {
        let factors = self.factors.read().unwrap_or_else(PoisonError::into_inner);
        let both = factors.get(kernel as usize);
        both.and_then(|both| both.get(source as usize)).copied().unwrap_or_default()
    }

    /// What was seen there, or else elsewhere: static estimates are wrong by more than that.
    pub(super) fn nearest(&self, kernel: u32, source: Source) -> f64 {
        let elsewhere = match source {
            Source::List => Source::Launch,
            Source::Launch => Source::List,
        };
        let factor = |source: Source| self.of(kernel, source).factor;
        factor(source).or_else(|| factor(elsewhere)).unwrap_or(1.0)
    }

    /// Whether nodes of so many work-items have a factor.
    pub(super) fn is_known(&self, kernel: u32, source: Source, items: f64) -> bool {
        let of = self.of(kernel, source);
        of.factor.is_some() && items <= LARGER * of.items
    }

    /// Whether this process measured nodes of about so many work-items, or larger ones.
    pub(super) fn is_measured(&self, kernel: u32, source: Source, items: f64) -> bool {
        let of = self.of(kernel, source);
        of.is_measured && items <= LARGER * of.items
    }

    /// Sets a factor that nodes of so many work-items told.
    pub(super) fn set(&self, kernel: u32, factor: f64, source: Source, items: f64) {
        let mut factors = self.factors.write().unwrap_or_else(PoisonError::into_inner);
        let both = factors.get_mut(kernel as usize);
        if let Some(entry) = both.and_then(|both| both.get_mut(source as usize)) {
            let factor = factor.clamp(*PLAUSIBLE.start(), *PLAUSIBLE.end());
            *entry = Factor { factor: Some(factor), items, is_measured: true };
        }
    }

    /// Puts the factors into the cache.
    pub(super) fn keep(&self) {
        if let Some((disk, key)) = &self.disk {
            let factors = self.factors.read().unwrap_or_else(PoisonError::into_inner);
            let numbers =
                factors.iter().flatten().flat_map(|entry| [entry.factor.unwrap_or(f64::NAN), entry.items]);
            disk.store(key, &numbers.flat_map(f64::to_ne_bytes).collect::<Vec<u8>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_plausible_and_know_where_they_are_from() {
        let learned = Learned::new(2, None);
        learned.set(0, 3.0, Source::List, 64.0);
        learned.set(1, f64::INFINITY, Source::Launch, 64.0);
        learned.set(7, 2.0, Source::List, 64.0);
        assert_eq!((learned.nearest(0, Source::List), learned.nearest(0, Source::Launch)), (3.0, 3.0));
        assert!(learned.is_measured(0, Source::List, 64.0) && !learned.is_measured(0, Source::Launch, 64.0));
        // Larger nodes may be another matter, smaller ones are not.
        assert!(learned.is_known(0, Source::List, 1.0) && !learned.is_known(0, Source::List, 1024.0));
        // What was only launched is known better than what nobody saw.
        assert_eq!(learned.nearest(1, Source::List), *PLAUSIBLE.end());
        assert!(!learned.is_known(1, Source::List, 64.0));
        learned.set(1, 2.0, Source::List, 64.0);
        assert_eq!(
            (learned.nearest(1, Source::List), learned.nearest(1, Source::Launch)),
            (2.0, *PLAUSIBLE.end())
        );
        assert_eq!(learned.nearest(7, Source::List), 1.0);
    }
}
