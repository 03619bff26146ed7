//! What kernels were seen to cost, against the static estimate of their steps.

use std::sync::{Arc, PoisonError, RwLock};

use crate::program::disk::{CacheKey, DiskCache};

/// How much more, or less, than estimated: nothing beyond is believed.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-3..=1e4;

/// How much longer than estimated the steps of kernels take. From replays as they run; kept in the cache of programs, as the
/// estimates that the next process begins with.
#[derive(Debug, Default)]
pub(super) struct Learned {
    factors: RwLock<Vec<Factor>>,
    /// Where they are kept.
    disk: Option<(Arc<DiskCache>, CacheKey)>,
}

/// Of one kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Factor {
    factor: f64,
    source: Source,
}

/// How a factor is known, the better the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// It is only an estimate of this process.
    Estimate,
    /// From launches, on all cores.
    Launch,
    /// From lists, on one core.
    List,
}

impl Learned {
    /// For so many kernels; with what the cache has.
    pub(super) fn new(count: usize, disk: Option<(Arc<DiskCache>, CacheKey)>) -> Self {
        let kept = disk.as_ref().and_then(|(disk, key)| disk.load(key)).unwrap_or_default();
        let kept = kept.chunks(8).map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes));
        let factors = kept.map(|factor| if PLAUSIBLE.contains(&factor) { factor } else { 1.0 });
        let factors = factors.chain(std::iter::repeat(1.0)).take(count);
        let factors = factors.map(|factor| Factor { factor, source: Source::Estimate }).collect();
        Self { factors: RwLock::new(factors), disk }
    }

    fn of(&self, kernel: u32) -> Factor {
        let factors = self.factors.read().unwrap_or_else(PoisonError::into_inner);
        let none = Factor { factor: 1.0, source: Source::Estimate };
        factors.get(kernel as usize).copied().unwrap_or(none)
    }

    pub(super) fn factor(&self, kernel: u32) -> f64 {
        self.of(kernel).factor
    }

    pub(super) fn source(&self, kernel: u32) -> Source {
        self.of(kernel).source
    }

    /// Multiplies a factor with what it was wrong by.
    pub(super) fn correct(&self, kernel: u32, by: f64, source: Source) {
        let mut factors = self.factors.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = factors.get_mut(kernel as usize) {
            let factor = (entry.factor * by).clamp(*PLAUSIBLE.start(), *PLAUSIBLE.end());
            *entry = Factor { factor, source };
        }
    }

    /// Puts the factors into the cache.
    pub(super) fn keep(&self) {
        if let Some((disk, key)) = &self.disk {
            let factors = self.factors.read().unwrap_or_else(PoisonError::into_inner);
            let bytes: Vec<u8> = factors.iter().flat_map(|entry| entry.factor.to_ne_bytes()).collect();
            disk.store(key, &bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_add_up_and_stay_plausible() {
        let learned = Learned::new(2, None);
        for (kernel, by) in [(0, 3.0), (1, f64::INFINITY), (7, 2.0)] {
            learned.correct(kernel, by, Source::Launch);
        }
        learned.correct(0, 2.0, Source::List);
        assert_eq!((learned.factor(0), learned.source(0)), (6.0, Source::List));
        assert_eq!((learned.factor(1), learned.source(1)), (*PLAUSIBLE.end(), Source::Launch));
        assert_eq!((learned.factor(7), learned.source(7)), (1.0, Source::Estimate));
    }
}
