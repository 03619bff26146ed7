//! The table of faults.

use std::fmt;

use crate::driver::{Driver, Family, Version};

/// A fault of a driver, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault(u8);

impl Fault {
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

    const fn before(self, major: u32, minor: u32) -> Self {
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

const INTEL: Affected = Affected::every(Family::IntelCpu, On::Any);
const POCL: Affected = Affected::every(Family::Pocl, On::Any);
const POCL_CPU: Affected = Affected::every(Family::Pocl, On::Cpu);
const POCL_6: Affected = POCL.before(7, 0);
const POCL_CPU_6: Affected = POCL_CPU.before(7, 0);
const POCL_CPU_7: Affected = POCL_CPU.from(7, 0);
const RUSTICL: Affected = Affected::every(Family::Rusticl, On::Any);
const LLVMPIPE: Affected = Affected::every(Family::Rusticl, On::Cpu);
const NVIDIA: Affected = Affected::every(Family::Nvidia, On::Any);

/// Declares the constants of faults and the table, in one list.
macro_rules! faults {
    ($($name:ident = $number:literal, $affects:expr, $seen:ident, $symptom:literal, $remedy:literal, [$($upstream:literal),*];)*) => {
        impl Fault {
            $(#[doc = $symptom] pub const $name: Self = Self($number);)*
        }

        /// All faults, by number.
        pub const FAULTS: &[Row] = &[$(Row {
            fault: Fault::$name,
            affects: &$affects,
            symptom: $symptom,
            remedy: $remedy,
            seen: Seen::$seen,
            upstream: &[$($upstream),*],
        }),*];
    };
}

faults! {
    Q1 = 1, [INTEL], Programs,
        "Waits hang, and releases of queues crash, if several threads use out-of-order queues.",
        "Out-of-order queues are in-order ones underneath.", [];
    Q2 = 2, [POCL], Programs,
        "Two threads that create programs with specialization constants lose or mix them up.",
        "One thread of the process creates programs at a time.", [];
    Q3 = 3, [POCL], Programs,
        "Freed USM and new USM overlap, which ends the process (\"Overlapping BDA pointer!\"); on 6.0, allocations get slower.",
        "Freed memory is kept for a while, and allocated again.", ["pocl#1942"];
    Q4 = 4, [POCL], Programs,
        "Kernels of different builds disagree where program-scope variables are, and lose writes.",
        "Device globals never are program-scope variables.", [];
    Q5 = 5, [INTEL, POCL], Measurements,
        "Command buffers take up to 2.4 times as long as the same commands on a queue.",
        "`ReplayStrategy::Auto` does not choose them.", [];
    Q6 = 6, [INTEL], Measurements,
        "Each replay of a command buffer of 8 kernels leaks 16 KiB, each command buffer 8 KiB.",
        "A warning in the log.", [];
    Q7 = 7, [POCL], Measurements,
        "Appending to a command buffer walks the whole list: 12 µs a command at 10,000.",
        "Command buffers have at most 1000 commands, and 256 where updates record them again.", [];
    Q8 = 8, [POCL_6], Programs,
        "No callback is called when a user event gets an error as its status.",
        "Events from outside are polled.", ["pocl#1430"];
    Q9 = 9, [POCL_6], Measurements,
        "Built-in functions are calls that are not inlined into kernels from SPIR-V; loops with them are not vectorised.",
        "Instructions for simple functions (`called_functions`).", [];
    Q11 = 11, [POCL_CPU], Measurements,
        "Kernels with loops and barriers keep a context for each work-item.",
        "One work-item runs the tasks of a list that need no group (interpreter).", [];
    Q12 = 12, [POCL_CPU], Programs,
        "Code that only the first work-item of a group reaches runs twice, in groups of one in dimension 0 with barriers on some paths.",
        "The interpreter's groups have at least two work-items.", [];
    Q13 = 13, [POCL_CPU], Programs,
        "Barriers that PoCL adds to loops make the loop run as often as the first work-item needs.",
        "Such loops get another form (`work_item_loops`).", ["pocl#340", "pocl#2235"];
    Q14 = 14, [POCL_CPU_7], RandomKernels,
        "Barriers under conditions are wrong or abort the process in the usual method.",
        "A second exit of an outermost loop, for which PoCL uses continuations (`work_item_loops`).", [];
    Q15 = 15, [POCL_CPU_6], Programs,
        "Barriers under conditions, and in loops with several exits, abort the process or are wrong.",
        "One barrier in one loop (`one_barrier`).", ["pocl#1167", "pocl#1747", "pocl#1794", "pocl#1958"];
    Q16 = 16, [POCL_CPU], Programs,
        "Accesses to neighbouring elements are joined across accesses of the same work-item to one of them.",
        "Fences between such accesses (`interleaved`).", ["llvm-project#63602", "pocl#757"];
    Q17 = 17, [LLVMPIPE], Programs,
        "Building ends the process if a kernel reads two lanes of a vector in a struct by value.",
        "Addresses of lanes by a cast (`vector_components`).", [];
    Q18 = 18, [RUSTICL], Programs,
        "Programs from binaries have default values of specialization constants.",
        "Programs with other values are not cached on disk.", [];
    Q19 = 19, [POCL_6], Programs,
        "A kernel with a one-dimensional image of a buffer crashes.",
        "An ordinary one-dimensional image.", [];
    Q20 = 20, [POCL], Programs,
        "A command buffer with a kernel that has a sampler argument crashes.",
        "Such kernels are enqueued between command buffers.", [];
    Q21 = 21, [LLVMPIPE], Programs,
        "A barrier in a function that is not inlined crashes at the launch.",
        "The hint `Inline` at such functions (`inline_hints`).", [];
    Q22 = 22, [LLVMPIPE], Programs,
        "An access to private memory crashes in a kernel without private variables.",
        "Such functions get a variable (`private_addresses`).", [];
    Q23 = 23, [LLVMPIPE.before(26, 0)], Programs,
        "A function that is not inlined and has no name crashes at the launch.",
        "Functions get names (`function_names`).", [];
    Q24 = 24, [INTEL], Programs,
        "Programs with an atomic instruction on a generic pointer do not build.",
        "`OpSource` says OpenCL C++ (`generic_atomics`).", [];
    Q25 = 25, [POCL_CPU_7], Programs,
        "`to_global`, `to_local` and `to_private` crash the compiler.",
        "Pointers to concrete address spaces (`generic_pointers`).", [];
    Q26 = 26, [INTEL], Programs,
        "The vectoriser of loops crashes at built-in functions of values that depend on the path.",
        "Such loops are not vectorised (`scalar_loops`).", [];
    Q27 = 27, [RUSTICL], Programs,
        "Constant pointers made of integers are refused.",
        "Functions compute them (`integer_pointers`).", [];
    Q28 = 28, [INTEL], Measurements,
        "A blocking write of an image is up to eight times slower than one with an event.",
        "Writes with an event, from 16 KiB on.", [];
    Q29 = 29, [LLVMPIPE], Measurements,
        "`clWaitForEvents` is slower than `clFinish`.",
        "`clFinish` where the event is the queue's last.", [];
    Q30 = 30, [POCL_CPU_6], RandomKernels,
        "LLVM ends the process (\"Instruction Combining did not reach a fixpoint after 1 iterations\").",
        "Second phis and hidden comparisons (`second_phis`, `hidden_comparisons`, `last_stores`).", ["llvm-project#104905"];
    Q31 = 31, [NVIDIA], Measurements,
        "Launches get slower with each list of SVM pointers that a kernel is given.",
        "No lists in contexts of one device, where kernels reach all SVM.", [];
    Q32 = 32, [INTEL], RandomKernels,
        "Values are the same for all work-items after branches with loops that work-items take differently.",
        "Such values depend on the work-item (`joined_values`).", [];
    Q33 = 33, [POCL_CPU_7], Programs,
        "A value from memory that is needed after a barrier is loaded again there.",
        "Volatile loads (`kept_loads`).", ["pocl#2269"];
    Q34 = 34, [NVIDIA], Measurements,
        "Each launch is slower by the arguments that are memory.",
        "Pointers are passed as numbers.", [];
    Q35 = 35, [INTEL], RandomKernels,
        "`max` with an id counts as a bound of the group, and nothing is written.",
        "A comparison and a selection (`integer_maximum`).", [];
    Q36 = 36, [RUSTICL], Programs,
        "Phis with two values for one block are refused.",
        "Repeated values go (`phi_pairs`).", [];
    Q37 = 37, [RUSTICL], Measurements,
        "An event keeps the events of its wait list.",
        "Events that have ended do not go into wait lists.", [];
    Q38 = 38, [LLVMPIPE], Measurements,
        "A process keeps 8 MB for each queue that it had at once.",
        "A warning in the log.", [];
    Q39 = 39, [POCL_CPU], RandomKernels,
        "Zero lanes of products of vectors count as undefined.",
        "Products lane by lane (`zero_lanes`).", ["llvm-project#180727"];
    Q40 = 40, [INTEL], RandomKernels,
        "A loop runs too often if its bound is an unsigned quotient or remainder with a variable divisor.",
        "Quotients go through a volatile variable (`quotients`).", [];
    Q41 = 41, [NVIDIA], Programs,
        "`clEnqueueWriteImage` reads host memory before the events that it waits for.",
        "SVM is copied to images by buffers over it.", [];
    Q42 = 42, [LLVMPIPE], Programs,
        "More than 80 nested conditions are forgotten, and results are wrong.",
        "Switches are searched by halves; functions with deep conditions become loops (`deep_conditions`, `wide_switches`).", [];
    Q43 = 43, [INTEL], Programs,
        "Complements are wrong in kernels with barriers; a negated float that is kept across a barrier is that of the last work-item.",
        "A selection with a condition that compilers do not know (`inverted_choices`).", ["intel/llvm#23220", "intel-negations-across-barriers.md"];
    Q45 = 45, [POCL_CPU_7], RandomKernels,
        "Masked counters in addresses run on.",
        "A zero that compilers do not know joins the counter (`masked_counters`).", ["llvm-project#191498"];
    Q46 = 46, [LLVMPIPE], RandomKernels,
        "Loads from addresses that are the same for all work-items run without their condition.",
        "Such addresses depend on the work-item (`guarded_loads`).", [];
    Q50 = 50, [POCL_CPU_6], RandomKernels,
        "Counters of loops in kernels with barriers lose their copies, in some processes.",
        "Counters begin with a selection (`lone_counters`).", [];
    Q52 = 52, [POCL_CPU_6], RandomKernels,
        "Values that a loop changes are those of the last work-item after a barrier, if work-items leave it in different iterations.",
        "Such values depend on the work-item (`uneven_loops`).", [];
    Q53 = 53, [POCL_CPU], Programs,
        "Conditions that keep a loop from ending vanish. After a check with an endless loop, work-items take one branch.",
        "The condition leaves the loop instead (`work_item_loops`, `endless_loops`).", ["pocl-endless-loops.md"];
    Q54 = 54, [POCL_CPU_6], RandomKernels,
        "A loop directly after a barrier vanishes in groups of one or two.",
        "Such loops begin with a selection (`loops_behind_barriers`).", [];
    Q55 = 55, [RUSTICL], Programs,
        "Program-scope constants with addresses of others are refused.",
        "Functions compute such addresses (`constant_addresses`).", [];
    Q56 = 56, [LLVMPIPE], Programs,
        "Fields of packed structs are read and written at the wrong place.",
        "Accesses are split (`unaligned`).", [];
    Q57 = 57, [POCL_6], Programs,
        "Program-scope variables hold garbage if the binary is read before the first launch.",
        "Programs with such variables are not cached on disk.", ["pocl-variables-after-binaries.md"];
    Q58 = 58, [POCL_CPU_6], Programs,
        "A function that stays a call and reads ids ends the process.",
        "Such functions lose the hint not to be inlined (`inline_hints`).", ["pocl-ids-in-calls.md"];
    Q59 = 59, [POCL_CPU_6], Programs,
        "Built-in functions get garbage for vectors wider than a register.",
        "Vectors are split (`wide_arguments`).", ["pocl-wide-arguments.md"];
    Q61 = 61, [INTEL], Programs,
        "A condition on a difference with an id inverts later conditions on ids.",
        "A zero that compilers do not know joins the difference (`inverted_bounds`).", ["intel-differences-invert-bounds.md"];
    Q62 = 62, [INTEL], Programs,
        "`mad_sat`, `step` and `shuffle` are wrong for some vectors.",
        "Other instructions (`wrong_functions`).", ["intel-vector-functions.md"];
    Q63 = 63, [POCL_CPU_6], Programs,
        "`work_group_all` is 0 where all work-items agree.",
        "`work_group_any` of the opposite (`inverted_votes`).", ["pocl-work-group-all.md"];
    Q64 = 64, [LLVMPIPE], Programs,
        "`get_sub_group_size` is 8 in the last sub-group of a group of 9.",
        "The size is computed (`sub_group_sizes`).", ["rusticl-sub-group-size.md"];
    Q65 = 65, [INTEL], Programs,
        "`work_group_broadcast` of `half` crashes the compiler.",
        "Integers are broadcast (`half_broadcasts`).", ["intel-half-broadcast.md"];
    Q66 = 66, [INTEL, POCL_CPU], Programs,
        "`vstorea_half3` writes a fourth element.",
        "`vstore_half3` at the same address (`wrong_functions`).", ["vstorea-half3.md"];
    Q67 = 67, [POCL_6], Measurements,
        "The driver does not say that it takes decorations of sums that do not wrap, and vectorises less without them.",
        "Modules keep these decorations.", [];
    Q68 = 68, [LLVMPIPE], Programs,
        "`mad_sat` of `long` is wrong for some sums that overflow.",
        "128-bit arithmetic (`wrong_functions`).", ["rusticl-long-mad-sat.md"];
    Q69 = 69, [POCL_CPU_6], Programs,
        "Work-group and sub-group functions end the process in groups of one or two work-items.",
        "The launch is refused.", ["pocl-work-group-all.md"];
}
