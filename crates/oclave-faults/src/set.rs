//! Sets of faults.

use std::fmt;

use crate::driver::Driver;
use crate::table::{FAULTS, Fault};

/// A set of faults.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u128);

/// A word of `OCLAVE_FAULTS` that names no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no fault: write all, none, Q62, +Q62 or -Q62, with commas between them; `oclave faults` lists the numbers"
)]
pub struct UnknownFault(String);

impl FaultSet {
    /// No fault.
    pub const NONE: Self = Self(0);

    /// All faults of the table.
    #[must_use]
    pub fn all() -> Self {
        FAULTS.iter().map(|row| row.fault).collect()
    }

    /// The faults of a driver.
    #[must_use]
    pub fn of(driver: &Driver) -> Self {
        FAULTS.iter().filter(|row| row.affects(driver)).map(|row| row.fault).collect()
    }

    /// Whether the fault is in the set.
    #[must_use]
    pub const fn has(self, fault: Fault) -> bool {
        self.0 >> fault.number() & 1 == 1
    }

    /// Adds a fault.
    pub fn insert(&mut self, fault: Fault) {
        self.0 |= 1 << fault.number();
    }

    /// Removes a fault.
    pub fn remove(&mut self, fault: Fault) {
        self.0 &= !(1 << fault.number());
    }

    /// The set after the words of `OCLAVE_FAULTS`, from left to right: `none` and `all` replace it, `+Q62` or `Q62` adds a fault,
    /// and `-Q62` removes one. Words have commas between them.
    ///
    /// # Errors
    /// [`UnknownFault`] for any other word, and for numbers that are not in the table.
    pub fn adjust(mut self, words: &str) -> Result<Self, UnknownFault> {
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "none" => self = Self::NONE,
                "all" => self = Self::all(),
                _ => {
                    let (is_added, name) = match word.strip_prefix('-') {
                        Some(name) => (false, name),
                        None => (true, word.strip_prefix('+').unwrap_or(word)),
                    };
                    let fault = Fault::by_name(name).ok_or_else(|| UnknownFault(word.to_owned()))?;
                    if is_added { self.insert(fault) } else { self.remove(fault) }
                }
            }
        }
        Ok(self)
    }

    /// The faults, by number.
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        FAULTS.iter().map(|row| row.fault).filter(move |fault| self.has(*fault))
    }
}

impl FromIterator<Fault> for FaultSet {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        let mut set = Self::NONE;
        faults.into_iter().for_each(|fault| set.insert(fault));
        set
    }
}

impl From<Fault> for FaultSet {
    fn from(fault: Fault) -> Self {
        Self::from_iter([fault])
    }
}

impl<const N: usize> From<[Fault; N]> for FaultSet {
    fn from(faults: [Fault; N]) -> Self {
        Self::from_iter(faults)
    }
}

impl fmt::Debug for FaultSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
