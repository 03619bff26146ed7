//! The table of faults.

use std::fmt;

use crate::driver::{Driver, Family, Version};
use crate::passes::{called_functions, inline_hints, intel, mesa, pocl, wrong_functions};
use crate::runtime;

/// A fault of a driver, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault(u8);

impl Fault {
    /// The fault of a name such as `Q62`, which has a number below 128.
    pub(crate) const fn named(name: &str) -> Self {
        let name = name.as_bytes();
        let (mut number, mut at) = (0, 1);
        while at < name.len() {
            number = number * 10 + (name[at] - b'0');
            at += 1;
        }
        Self(number)
    }

    /// The number: 62 for Q62. It is below 128.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The fault of a name such as `Q62`, if the table has it.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let number: u8 = name.strip_prefix('Q')?.parse().ok()?;
        FAULTS.iter().map(|row| row.fault).find(|fault| fault.0 == number)
    }

    /// Its row in the table.
    #[must_use]
    pub fn row(self) -> Option<&'static Row> {
        FAULTS.iter().find(|row| row.fault == self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Q{}", self.0)
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where a fault was seen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// In a program that someone wrote, or in a test of the library.
    Programs,
    /// Only in generated kernels.
    RandomKernels,
    /// In a measurement: results are right, but late or large.
    Measurements,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Programs => "programs",
            Self::RandomKernels => "random kernels",
            Self::Measurements => "measurements",
        })
    }
}

/// The devices of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// All of them.
    Any,
    /// Those that run kernels on the host's processor.
    Cpu,
}

/// Versions of a driver that have a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Affected {
    /// The driver.
    pub family: Family,
    /// Its devices.
    pub on: On,
    /// The first version that has the fault. `None` if older versions than those seen count, too.
    pub from: Option<Version>,
    /// The first version without the fault. `None` if the newest one seen has it.
    pub before: Option<Version>,
}

impl Affected {
    const fn every(family: Family, on: On) -> Self {
        Self { family, on, from: None, before: None }
    }

    const fn from(self, major: u32, minor: u32) -> Self {
        Self { from: Some(Version(major, minor)), ..self }
    }

    pub(crate) const fn before(self, major: u32, minor: u32) -> Self {
        Self { before: Some(Version(major, minor)), ..self }
    }

    fn contains(&self, driver: &Driver) -> bool {
        // Newer than the newest one seen counts as that one.
        let version = driver.version.min(driver.family.newest_seen());
        driver.family == self.family
            && (self.on == On::Any || driver.is_cpu)
            && self.from.is_none_or(|first| version >= first)
            && self.before.is_none_or(|end| version < end)
    }
}

impl fmt::Display for Affected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.family)?;
        match (self.from, self.before) {
            (None, None) => {}
            (Some(first), None) => write!(f, " from {first}")?,
            (None, Some(end)) => write!(f, " before {end}")?,
            (Some(first), Some(end)) => write!(f, " {first} to before {end}")?,
        }
        match (self.on, self.family) {
            (On::Cpu, Family::Pocl) => f.write_str(" on CPUs"),
            (On::Cpu, Family::Rusticl) => f.write_str(" on llvmpipe"),
            _ => Ok(()),
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// The drivers that have it.
    pub affects: &'static [Affected],
    /// What users of the driver see.
    pub symptom: &'static str,
    /// What oclave does instead, with the file that does it.
    pub remedy: &'static str,
    /// Where it was seen.
    pub seen: Seen,
    /// Reports: `pocl#1430` is issue or pull request 1430 of PoCL; a file is a text in `docs/upstream`. Empty if none is known.
    pub upstream: &'static [&'static str],
}

impl Row {
    /// Whether a driver has the fault.
    #[must_use]
    pub fn affects(&self, driver: &Driver) -> bool {
        self.affects.iter().any(|affected| affected.contains(driver))
    }
}

pub(crate) const INTEL: Affected = Affected::every(Family::IntelCpu, On::Any);
pub(crate) const POCL: Affected = Affected::every(Family::Pocl, On::Any);
pub(crate) const POCL_CPU: Affected = Affected::every(Family::Pocl, On::Cpu);
pub(crate) const POCL_6: Affected = POCL.before(7, 0);
pub(crate) const POCL_7: Affected = POCL.from(7, 0);
pub(crate) const POCL_CPU_6: Affected = POCL_CPU.before(7, 0);
pub(crate) const POCL_CPU_7: Affected = POCL_CPU.from(7, 0);
pub(crate) const RUSTICL: Affected = Affected::every(Family::Rusticl, On::Any);
pub(crate) const LLVMPIPE: Affected = Affected::every(Family::Rusticl, On::Cpu);
pub(crate) const NVIDIA: Affected = Affected::every(Family::Nvidia, On::Any);

/// Declares the constant of a fault in [`Fault`], and its row beside it.
macro_rules! fault {
    ($(#[$doc:meta])* $name:ident {
        affects: $affects:expr,
        seen: $seen:ident,
        symptom: $symptom:literal,
        remedy: $remedy:literal,
        upstream: [$($upstream:literal),*],
    }) => {
        impl $crate::Fault {
            $(#[$doc])*
            pub const $name: Self = Self::named(stringify!($name));
        }

        pub(crate) const $name: $crate::Row = $crate::Row {
            fault: $crate::Fault::$name,
            affects: &$affects,
            symptom: $symptom,
            remedy: $remedy,
            seen: $crate::Seen::$seen,
            upstream: &[$($upstream),*],
        };
    };
}
pub(crate) use fault;

/// All faults, by number.
pub const FAULTS: &[Row] = &[
    runtime::Q1,
    runtime::Q2,
    runtime::Q3,
    runtime::Q4,
    runtime::Q5,
    runtime::Q6,
    runtime::Q7,
    runtime::Q8,
    called_functions::Q9,
    runtime::Q11,
    runtime::Q12,
    pocl::barriers::Q13,
    pocl::barriers::Q14,
    pocl::one_barrier::Q15,
    pocl::fences::Q16,
    mesa::vector_components::Q17,
    runtime::Q18,
    runtime::Q19,
    runtime::Q20,
    inline_hints::Q21,
    mesa::private_addresses::Q22,
    mesa::function_names::Q23,
    intel::generic_atomics::Q24,
    runtime::Q25,
    intel::scalar_loops::Q26,
    mesa::integer_pointers::Q27,
    runtime::Q28,
    runtime::Q29,
    runtime::Q31,
    intel::divergent_phis::Q32,
    pocl::volatile_loads::Q33,
    runtime::Q34,
    intel::integer_bounds::Q35,
    mesa::phi_pairs::Q36,
    runtime::Q37,
    runtime::Q38,
    pocl::zero_lanes::Q39,
    runtime::Q41,
    mesa::deep_conditions::Q42,
    intel::opaque_negations::Q43,
    pocl::masked_counters::Q45,
    mesa::guarded_loads::Q46,
    pocl::barriers::Q48,
    pocl::endless_loops::Q53,
    mesa::constant_addresses::Q55,
    mesa::unaligned::Q56,
    runtime::Q57,
    inline_hints::Q58,
    pocl::wide_arguments::Q59,
    intel::inverted_bounds::Q61,
    wrong_functions::Q62,
    pocl::inverted_votes::Q63,
    mesa::sub_group_sizes::Q64,
    intel::half_broadcasts::Q65,
    wrong_functions::Q66,
    runtime::Q67,
    wrong_functions::Q68,
    runtime::Q69,
    runtime::Q70,
    runtime::Q71,
    runtime::Q72,
    runtime::Q73,
    runtime::Q74,
    runtime::Q75,
    runtime::Q76,
    pocl::vector_accesses::Q77,
    mesa::uniform_counters::Q78,
    intel::filled_arrays::Q79,
    pocl::fixed_addresses::Q80,
    pocl::private_arrays::Q81,
    mesa::narrow_counters::Q82,
    intel::uniform_groups::Q83,
    runtime::Q84,
    mesa::pointer_counters::Q86,
    runtime::Q87,
    runtime::Q88,
    runtime::Q89,
    runtime::Q90,
    intel::local_phis::Q91,
    intel::chosen_pointers::Q92,
];
