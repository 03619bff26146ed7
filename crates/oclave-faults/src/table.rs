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
const POCL_7: Affected = POCL.from(7, 0);
const POCL_CPU_6: Affected = POCL_CPU.before(7, 0);
const POCL_CPU_7: Affected = POCL_CPU.from(7, 0);
const RUSTICL: Affected = Affected::every(Family::Rusticl, On::Any);
const LLVMPIPE: Affected = Affected::every(Family::Rusticl, On::Cpu);
const NVIDIA: Affected = Affected::every(Family::Nvidia, On::Any);

/// Declares the constants of faults and the table, in one list.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $affects:expr, $seen:ident, $symptom:literal, $remedy:literal, [$($upstream:literal),*];)*) => {
        impl Fault {
            $($(#[$doc])* pub const $name: Self = Self($number);)*
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
    /// **Q1. Intel's CPU runtime (all versions seen, 2026.2 last).** A process with threads cannot
    /// use out-of-order queues.
    /// - `clFinish` and `clWaitForEvents` hang while another thread waits for any queue. Two
    ///   threads ran 20 dependent kernels, a marker and a wait, 1000 times, on a queue each.
    ///   `clFinish` hung in every run, `clWaitForEvents` in every second.
    /// - Without a thread inside a wait nothing hangs, but the release of a queue then hangs or
    ///   crashes, in 11 of 12 runs. The last task of a queue destroys the queue's task list, which
    ///   waits for that task.
    /// - Enqueueing from two threads crashed in a quarter of the runs.
    ///
    /// In-order queues did none of this in any run. So an out-of-order queue is an in-order one
    /// underneath, which is a valid order. It costs nothing on two cores: 1000 independent kernels
    /// of one group took 4971 µs in order and 6311 µs out of order. With more cores, small
    /// independent kernels only run side by side on several queues.
    ///
    /// `tests/threads.rs` shows the first fault (`ci/sweep threads`).
    Q1 = 1, [INTEL], Programs,
        "Waits hang, and releases of queues crash, if several threads use out-of-order queues.",
        "Out-of-order queues are in-order ones underneath.", [];
    /// **Q2. PoCL 6.0 and 7.1.** `clCreateProgramWithIL` parses the list of specialization
    /// constants with `strtok`, which has one state for the process. Two threads lose or mix up
    /// constants: CL_INVALID_SPEC_ID in one of 20 runs of sixteen programs by eight threads.
    ///
    /// So one thread of the process creates programs at a time.
    Q2 = 2, [POCL], Programs,
        "Two threads that create programs with specialization constants lose or mix them up.",
        "One thread of the process creates programs at a time.", [];
    /// **Q3. PoCL 7.1.** Freed USM and new USM overlap.
    ///
    /// PoCL keeps two records of an allocation. `clMemFreeINTEL` removes one of them. 7.1 removes
    /// the other one later than the event of the last command that used the memory. Memory that
    /// is allocated in between may overlap the old record, and PoCL aborts ("Overlapping BDA
    /// pointer!"). The same happens when another thread allocates during `clMemFreeINTEL`. Threads
    /// that free memory behind its last command and allocate as much see it within a second.
    ///
    /// So freed memory is kept for a second, and allocated again.
    Q3 = 3, [POCL_7], Programs,
        "Freed USM and new USM overlap, which ends the process (\"Overlapping BDA pointer!\").",
        "Freed memory is kept for a second, and allocated again.", ["pocl#1942"];
    /// **Q4. PoCL 6.0.** The order of program-scope variables in memory differs between builds of
    /// one module. PoCL keeps compiled kernels on disk under a key that does not contain the
    /// order. Kernels of different builds then disagree where a variable is.
    ///
    /// All programs with more than one variable lost writes, in every run, once several threads
    /// had built the same program. So the library puts nothing into program-scope variables there.
    Q4 = 4, [POCL], Programs,
        "Kernels of different builds disagree where program-scope variables are, and lose writes.",
        "Device globals never are program-scope variables.", [];
    /// **Q5. Intel's CPU runtime and PoCL.** Command buffers are slower than the same commands on a
    /// queue. They take 1.1 to 2.4 times as long on Intel's runtime, 1.0 to 1.9 times on PoCL.
    Q5 = 5, [INTEL, POCL], Measurements,
        "Command buffers take up to 2.4 times as long as the same commands on a queue.",
        "`ReplayStrategy::Auto` does not choose them.", [];
    /// **Q6. Intel's CPU runtime 2026.2.** Each replay of a command buffer of 8 kernels leaks
    /// 16 KiB, each command buffer 8 KiB. Raw OpenCL in C leaks as much. The log has a warning, and
    /// `tests/leaks.rs` measures the leak.
    Q6 = 6, [INTEL], Measurements,
        "Each replay of a command buffer of 8 kernels leaks 16 KiB, each command buffer 8 KiB.",
        "A warning in the log.", [];
    /// **Q7. PoCL.** The most commands in a command buffer. PoCL walks its list of commands to
    /// append one: 1.1 to 1.7 µs a command in a thousand, 12 µs in ten thousand. An enqueued buffer
    /// also takes 16 bytes of the caller's stack for each command.
    Q7 = 7, [POCL], Measurements,
        "Appending to a command buffer walks the whole list: 12 µs a command at 10,000.",
        "Command buffers have at most 1000 commands, and 256 where updates record them again.", [];
    /// **Q8. PoCL 6.0.** No callback is called when a user event gets an error as its status
    /// (pocl#1430). So the library polls events from outside.
    Q8 = 8, [POCL_6], Programs,
        "No callback is called when a user event gets an error as its status.",
        "Events from outside are polled.", ["pocl#1430"];
    /// **Q9. PoCL 6.0.** Kernels that come as SPIR-V do not inline the functions of PoCL's library: these name features of the
    /// processor, and such kernels do not. Each `min`, `max`, `clamp`, `rotate` or `mad` is a call, and neither
    /// loops nor work-items with one are vectorised. A median of nine bytes took five times as long as from source. In task
    /// lists of 1024 work-items each `mad` took 2.7 and 0.7 ns. So simple functions become instructions
    /// (`called_functions`).
    Q9 = 9, [POCL_6], Measurements,
        "Built-in functions are calls that are not inlined into kernels from SPIR-V; loops with them are not vectorised.",
        "Instructions for simple functions (`called_functions`).", [];
    /// **Q11. PoCL on CPUs.** The work-items of a group run one after the other, from barrier to
    /// barrier. Kernels with loops and barriers keep a context for each work-item. So one work-item
    /// alone runs the tasks of a list that need no group. A list of 1000 tasks of 64 items took 255
    /// µs on 6.0 and 234 µs on 7.1 when all work-items shared them. This way it took 110 µs and 120
    /// µs.
    Q11 = 11, [POCL_CPU], Measurements,
        "Kernels with loops and barriers keep a context for each work-item.",
        "One work-item runs the tasks of a list that need no group (interpreter).", [];
    /// **Q12. PoCL 6.0 and 7.1 on CPUs.** Code that only the first work-item of a group reaches may
    /// run twice. It does if some paths of the kernel have barriers and the group has one work-item
    /// in dimension 0. In lists, 6.0 showed it with three work-items or more, 7.1 with one, too.
    Q12 = 12, [POCL_CPU], Programs,
        "Code that only the first work-item of a group reaches runs twice, in groups of one in dimension 0 with barriers on some paths.",
        "The interpreter's groups have at least two work-items.", [];
    /// **Q13. PoCL 6.0 and 7.1 on CPUs.** PoCL adds barriers to innermost loops whose bound is the
    /// same for a group. 6.0 does so in kernels with barriers, 7.1 in all kernels. It does so even
    /// where work-items reach the loop at different times, and then runs the loop as often as the
    /// first work-item needs. [`passes`](crate::passes) write such loops in another form. Beside
    /// other barriers `POCL_WORK_GROUP_METHOD=cbs` in the environment helps, too.
    ///
    /// Such barriers behind conditions also make code run twice, for the first work-item of groups of
    /// 1 × n, and on 7.1 of one. So these conditions get barriers of ours (decision 113).
    ///
    /// `collect` of `tests/work_items.rs` had 864 of 1024 elements wrong on 7.1, from source and
    /// from SPIR-V. PoCL's `ImplicitLoopBarriers.cc` and `VariableUniformityAnalysis.cc` explain
    /// it. pocl#340 says what these barriers are for. pocl#2235 mends a relative, barriers that are
    /// added to conditions.
    ///
    /// **Q48. PoCL 7.1 on CPUs.** A barrier of PoCL's between a `switch` and its cases goes wrong if
    /// there are more than two cases. Results are wrong, or the process ends. The pass for Q13 keeps
    /// PoCL from adding it (decision 119).
    ///
    /// **Q49. PoCL 7.1 on CPUs.** Work-items that take different branches behind such a loop all take
    /// the branch of the first one. This happens if the path around the loop leads past the branch.
    /// The pass for Q13 keeps PoCL's barrier out of such loops (decision 120). Barriers of ours at nested
    /// conditions go wrong for the same ways (850/k72 of the random kernels), so these loops get none.
    ///
    /// **Q47. PoCL 6.0 (LLVM 18) on CPUs.** LLVM takes loops out of loops, and makes loops of rounds that
    /// leave a value as it is. So PoCL finds innermost loops that the module lacks. Barriers before conditions
    /// go wrong if work-items part behind them, and the ways meet where those of the condition do. The
    /// pass for Q13 looks at all of these on 6.0 (decision 121).
    Q13 = 13, [POCL_CPU], Programs,
        "Barriers that PoCL adds to loops make the loop run as often as the first work-item needs.",
        "Such loops get another form (`barriers`).", ["pocl#340", "pocl#2235"];
    /// **Q14. PoCL 7.1 on CPUs.** Barriers under conditions go wrong in PoCL's usual method: of 168
    /// random kernels 2 were wrong and 4 aborted the process. Continuations got these six right.
    /// PoCL takes continuations for kernels in which an outermost loop with barriers has several
    /// ends (`WorkitemLoops::canHandleKernel`). So such kernels get a second end.
    ///
    /// **Q44. PoCL 6.0 and 7.1 on CPUs.** Behind a barrier, all work-items may take the branch of the
    /// first one. They do if several edges lead to where a way past the barrier leads. From source,
    /// this is wrong in both: `if (a) { do { v += 3; barrier(CLK_LOCAL_MEM_FENCE); } while (v < a); if (id > 2) out[id] = v; }
    /// if (id & 1) …`. So such kernels get the forms for Q14 and Q15 (decision 116).
    Q14 = 14, [POCL_CPU_7], Programs,
        "Barriers under conditions are wrong or abort the process in the usual method.",
        "A second exit of an outermost loop, for which PoCL uses continuations (`barriers`).", [];
    /// **Q15. PoCL 6.0 on CPUs.** It takes continuations only where `POCL_WORK_GROUP_METHOD=cbs` is
    /// set. Barriers under conditions, and in loops with several ends, abort the process in one of
    /// a hundred random kernels (`WorkitemLoops.cc:1274`). About as many compute wrong results.
    /// Such kernels get one barrier in one loop (`one_barrier`, decision 91).
    /// Reports of the same kind: pocl#1167 (open), pocl#1747, pocl#1794, pocl#1958.
    Q15 = 15, [POCL_CPU_6], Programs,
        "Barriers under conditions, and in loops with several exits, abort the process or are wrong.",
        "One barrier in one loop (`one_barrier`).", ["pocl#1167", "pocl#1747", "pocl#1794", "pocl#1958"];
    /// **Q16. PoCL 6.0 (LLVM 18) and 7.1 (LLVM 21) on CPUs.** PoCL marks loops over work-items as
    /// parallel. LLVM then joins accesses to neighbouring elements (`InterleavedAccessInfo`), also
    /// across accesses of the same work-item to one of them. Fences keep them apart (decision 93).
    ///
    /// Seen from source, without any barrier: `p[4*i+1] = 7; p[4*i+2] = 5; p[4*i+3] = 3;
    /// p[4*i] = p[4*i + (a & 3)] + 1;` reads the old elements. `tests/work_items.rs` shows three
    /// more. llvm-project#63602 was the same fault in ordinary loops; pocl#757 is another of the
    /// same marks.
    Q16 = 16, [POCL_CPU], Programs,
        "Accesses to neighbouring elements are joined across accesses of the same work-item to one of them.",
        "Fences between such accesses (`fences`).", ["llvm-project#63602", "pocl#757"];
    /// **Q17. Mesa's rusticl 26.1.6 on llvmpipe.** `clBuildProgram` ends the process with SIGSEGV on
    /// some kernels that take a struct by value. The struct has a vector, and the kernel reads two
    /// lanes of it by access chains: `typedef struct { float4 s; } P; kernel void k(P p, global float *out) {
    /// out[0] = p.s.x + p.s.y; }`, built by clang 15 with `-O2`. One lane, or the whole vector, is
    /// fine. So is an address that is made by a cast, and the library makes it so
    /// (`vector_components`). Raw OpenCL in C shows the crash. No
    /// upstream report was found.
    Q17 = 17, [LLVMPIPE], Programs,
        "Building ends the process if a kernel reads two lanes of a vector in a struct by value.",
        "Addresses of lanes by a cast (`vector_components`).", [];
    /// **Q18. Mesa's rusticl 26.1.6.** A program from a binary (`clGetProgramInfo`,
    /// `clCreateProgramWithBinary`) has the default values of its specialization constants. The
    /// values that the binary was made with are lost. `G-KRN-003` computed 11, 11 and 11 instead of 28, 53 and
    /// 11 with a warm cache. So programs with other values are compiled each time.
    Q18 = 18, [RUSTICL], Programs,
        "Programs from binaries have default values of specialization constants.",
        "Programs with other values are not cached on disk.", [];
    /// **Q19. PoCL 6.0.** A kernel that is given a one-dimensional image of a buffer crashes the
    /// process in `clEnqueueNDRangeKernel`, from any buffer. Kernels take an ordinary
    /// one-dimensional image for it, and compute the same. So such images are ordinary ones there,
    /// and not wider than these.
    Q19 = 19, [POCL_6], Programs,
        "A kernel with a one-dimensional image of a buffer crashes.",
        "An ordinary one-dimensional image.", [];
    /// **Q20. PoCL 6.0 and 7.1.** A command buffer with a kernel that has a sampler argument crashes
    /// the process: `POclRetainSampler` finds no sampler where it looks for one. Such kernels are
    /// enqueued between command buffers. Debian's PoCL 7.1 hides its command buffers; the crash
    /// shows on `pocl7cb` of `ci/setup`.
    Q20 = 20, [POCL], Programs,
        "A command buffer with a kernel that has a sampler argument crashes.",
        "Such kernels are enqueued between command buffers.", [];
    /// **Q21. Mesa's rusticl 26.1.6 on llvmpipe.** Larger functions are not inlined. A barrier in
    /// one ends the process with SIGSEGV when the kernel is launched: llvmpipe suspends a coroutine
    /// there, and a function has none. Such functions get SPIR-V's hint `Inline`, which Mesa follows
    /// (`inline_hints`). Kernels with barriers in virtual functions crashed.
    Q21 = 21, [LLVMPIPE], Programs,
        "A barrier in a function that is not inlined crashes at the launch.",
        "The hint `Inline` at such functions (`inline_hints`).", [];
    /// **Q22. Mesa's rusticl 26.1.6 on llvmpipe.** If a kernel has no private variable, an access
    /// to private memory ends the process with SIGSEGV at the launch. The address may be an
    /// integer, and the access need not happen: `if (a) *out = *(private uint *)a;` with `a == 0`
    /// crashes. Resolved generic pointers ask an integer for its address space, and one way leads
    /// to private memory. So such functions get a variable (`private_addresses`).
    Q22 = 22, [LLVMPIPE], Programs,
        "An access to private memory crashes in a kernel without private variables.",
        "Such functions get a variable (`private_addresses`).", [];
    /// **Q23. Mesa's rusticl 25.0.7 on llvmpipe.** A function that is not inlined and has no
    /// `OpName` ends the process with SIGSEGV when a kernel that calls it is launched:
    /// `LLVMAddFunction` gets a null pointer for the name. 26.1.6 takes such functions. Modules of
    /// the interpreter have some. So functions get names (`function_names`).
    Q23 = 23, [LLVMPIPE.before(26, 0)], Programs,
        "A function that is not inlined and has no name crashes at the launch.",
        "Functions get names (`function_names`).", [];
    /// **Q24. Intel's CPU runtime 2026.2.** A program with an atomic instruction on a generic
    /// pointer does not build, with none of its kernels ("JIT session error: Symbols not found:
    /// `_Z10atomic_addPU3AS4Vii`"). It builds where the module's `OpSource` is OpenCL C++ 1.0:
    /// then the reader calls the atomic functions of OpenCL 2.0. So such modules say that.
    Q24 = 24, [INTEL], Programs,
        "Programs with an atomic instruction on a generic pointer do not build.",
        "`OpSource` says OpenCL C++ (`generic_atomics`).", [];
    /// **Q25. PoCL 7.1 on CPUs.** `to_global`, `to_local` and `to_private`
    /// (`OpGenericCastToPtrExplicit`) end the process with SIGSEGV in `clBuildProgram`. PoCL 6.0
    /// takes them. So modules with them get pointers to concrete address spaces (decisions 92 and
    /// 95). What cannot be resolved is an error.
    Q25 = 25, [POCL_CPU_7], Programs,
        "`to_global`, `to_local` and `to_private` crash the compiler.",
        "Pointers to concrete address spaces (`generic_pointers`).", [];
    /// **Q26. Intel's CPU runtime 2026.2.** Its vectoriser of loops crashes the process, in
    /// `vplan-vec` or in `adce` after it. Two kinds of calls of built-in functions do that. One has
    /// a value that depends on the path. The other is under a condition that the loop does not
    /// change. From source, this does: `for (uint i = 0; i < n; i++) { uint r = i < a ? in[i] : b;
    /// s += rotate(r, 9u); }`. `min`, `sqrt`, `popcount` and saturating conversions crash as well.
    /// Kernels whose work-items are vectorised do not show it. Loops of interpreter modules over
    /// work-items do. Such loops are kept from being vectorised (`scalar_loops`).
    ///
    /// Kernels that only compare the number of a work-item count as not vectorised: the compiler makes
    /// `if (get_local_id(0) == 0) for …` the bounds of the group. In kernels that are vectorised the
    /// volatile access would make small loops up to three times slower (0.8 and 2.5 ms).
    ///
    /// Its vectoriser of work-items is wrong in loops with loops inside. The work-items of a group
    /// that do not fill a vector of 16 get wrong values:
    /// `for (i < b) { v = id + i; for (j < a) if (i & 1) v = 9 + j; }` takes the `i` of the next
    /// round. From source, only `-cl-opt-disable` is right. The inner loop gives a value to code
    /// behind it in all that are wrong. The same pass puts a volatile access into such outer loops.
    Q26 = 26, [INTEL], Programs,
        "The vectoriser of loops crashes at built-in functions of values that depend on the path.",
        "Such loops are not vectorised (`scalar_loops`).", [];
    /// **Q27. Mesa's rusticl 26.1.6.** A constant pointer that is made of an integer
    /// (`OpSpecConstantOp ConvertUToPtr`) is refused: "No NIR equivalent", which only
    /// `RUSTICL_DEBUG=program` shows. From LLVM 16 on, constructors of classes with virtual
    /// functions store such constants. So functions compute them (`integer_pointers`).
    Q27 = 27, [RUSTICL], Programs,
        "Constant pointers made of integers are refused.",
        "Functions compute them (`integer_pointers`).", [];
    /// **Q28. Intel's CPU runtime 2026.2.** A `clEnqueueWriteImage` that blocks is slower than one
    /// with an event and `clWaitForEvents`, but for small images. This was measured in C with RGBA
    /// images of 8 bits. Of 4 KiB they took 3.3 and 4.0 µs. Of 16 KiB they took 4.9 and 4.5 µs, of
    /// 64 KiB 13 and 7 µs, of 256 KiB 150 and 19 µs. A `clEnqueueReadImage` that blocks is faster or
    /// as fast in all these sizes.
    Q28 = 28, [INTEL], Measurements,
        "A blocking write of an image is up to eight times slower than one with an event.",
        "Writes with an event, from 16 KiB on.", [];
    /// **Q29. Mesa's rusticl 26.1.6 on llvmpipe.** `clWaitForEvents` is slower than `clFinish`, which
    /// waits for the queue's last command as well. This was measured in C with fills of images of
    /// 32 × 32 pixels: 23.4 and 19.2 µs. On Intel and PoCL `clFinish` is as fast or slower.
    Q29 = 29, [LLVMPIPE], Measurements,
        "`clWaitForEvents` is slower than `clFinish`.",
        "`clFinish` where the event is the queue's last.", [];
    /// **Q31. NVIDIA 580.159.** A kernel that was given `CL_KERNEL_EXEC_INFO_SVM_PTRS` is launched
    /// more slowly each time, also where the list stays the same. A launch and a wait took 16.4 µs
    /// without it, 17.8 with one allocation, 22 with 8, 40 with 32 and 79 with 64. In a context
    /// with one device, kernels reach all SVM without being told. So the driver is not told there.
    Q31 = 31, [NVIDIA], Measurements,
        "Launches get slower with each list of SVM pointers that a kernel is given.",
        "No lists in contexts of one device, where kernels reach all SVM.", [];
    /// **Q32. Intel's CPU runtime 2026.2.** Its vectoriser is wrong behind branches that work-items
    /// take differently, if one of them has a loop. It takes a value for the same in all work-items
    /// if it is the same for all on each branch. From source, `if (id & 1) { v = 1; do p[id] *= 3;
    /// while (++i < b); } else { v = 0; do p[id] *= 5; while (++i < b); } out[id] = v;` writes 0
    /// everywhere, in groups of 16 and more. Pointers, floats and vectors are wrong, too. So is
    /// `for (…) { if (id == 0) v = 1; p[id] *= 3; }`, whose condition the compiler takes out of the
    /// loop. So are two branches in a loop, behind a condition that is the same for all work-items:
    /// both conditions leave the loop. So is a condition of two parts, one of which is the same for
    /// all and the other one leaves the loop. So is a selection behind a loop that has its condition,
    /// too. Such values are made to depend on the work-item (`divergent_phis`,
    /// decisions 102, 115 and 125). Right
    /// with `-cl-opt-disable`, and with `CL_CONFIG_USE_VECTORIZER=False` in the environment.
    ///
    /// Left as it is: code of clang's `-O0`, which has variables instead of such values.
    Q32 = 32, [INTEL], RandomKernels,
        "Values are the same for all work-items after branches with loops that work-items take differently.",
        "Such values depend on the work-item (`divergent_phis`).", [];
    /// **Q33. PoCL 7.1 on CPUs.** A value from memory that a work-item needs behind a barrier is
    /// loaded again there, when the memory may hold something else. From source, `v = l[id]; l[id]
    /// = 9; barrier(CLK_LOCAL_MEM_FENCE); out[id] = v;` writes 9, in local, global and private
    /// memory. pocl#2269 mends it. PoCL does not repeat volatile loads, so such loads become
    /// volatile (`volatile_loads`). `POCL_PREGION_VALUE_REMAT=0` in the environment
    /// helps, too.
    Q33 = 33, [POCL_CPU_7], Programs,
        "A value from memory that is needed after a barrier is loaded again there.",
        "Volatile loads (`volatile_loads`).", ["pocl#2269"];
    /// **Q34. NVIDIA 580.159.** Each launch is slower by the arguments that are memory, also if they
    /// are set once. A launch in order took 13.5 µs with a `cl_mem`, 14.1 with SVM, and 13.0 with
    /// the same address as a number of 64 bits. With two pointers, it took 15.3 µs with SVM, and 13.0
    /// with numbers. In a context with one device, kernels reach all SVM without being told. So
    /// pointers are numbers there.
    Q34 = 34, [NVIDIA], Measurements,
        "Each launch is slower by the arguments that are memory.",
        "Pointers are passed as numbers.", [];
    /// **Q35. Intel's CPU runtime 2026.2.** `max` with an id of a work-item counts as a bound of the
    /// group, where the kernel uses that dimension for nothing else. From source, `out[get_global_id(0)]
    /// = max((uint)get_local_id(1), 1u);` writes nothing in groups of 8 × 1. So `max` of integers
    /// becomes a comparison and a selection (`integer_maximum`). `min` was right.
    Q35 = 35, [INTEL], RandomKernels,
        "`max` with an id counts as a bound of the group, and nothing is written.",
        "A comparison and a selection (`integer_maximum`).", [];
    /// **Q36. Mesa's rusticl 26.1.6.** `clBuildProgram` refuses phis with two values for one block
    /// ("OpPhi's number of incoming blocks does not match"). llvm-spirv 15 writes such phis where
    /// several cases of a switch lead to one block. SPIR-V does not allow them, and the drivers that
    /// use LLVM need them. So the repeated values go (`phi_pairs`).
    Q36 = 36, [RUSTICL], Programs,
        "Phis with two values for one block are refused.",
        "Repeated values go (`phi_pairs`).", [];
    /// **Q37. Mesa's rusticl 26.1.6.** An event keeps the events of its wait list, also when all have
    /// ended. So a chain of events, each of which waited for the one before, stays as long as its
    /// last one. In raw OpenCL in C, a marker of such a chain left 288 bytes, and none when the last
    /// was released. Replays of a graph are such a chain. So events that have ended do not go into
    /// wait lists.
    ///
    /// If each command is put on a queue while the one before still runs, the chain grows all the
    /// same.
    Q37 = 37, [RUSTICL], Measurements,
        "An event keeps the events of its wait list.",
        "Events that have ended do not go into wait lists.", [];
    /// **Q38. Mesa's rusticl 26.1.6 on llvmpipe.** A queue has a context of Mesa's, of some 8 MB. Queues
    /// that are released leave theirs to later queues, but only a moment later. So a process keeps as
    /// many as it ever had at once, those moments included. In raw OpenCL in C, a process with 28,800
    /// queues, each released at once, had 516 MB on a busy machine. With a pause of 1 ms behind each
    /// release, one with 12,000 had 172 MB. A process that makes many queues gets a warning in the
    /// log, once.
    Q38 = 38, [LLVMPIPE], Measurements,
        "A process keeps 8 MB for each queue that it had at once.",
        "A warning in the log.", [];
    /// **Q39. PoCL 7.1 (LLVM 21) on CPUs.** LLVM may take a zero lane of a product of vectors for
    /// undefined. So it does with bitwise `and`. `llvm-project#180727` mends it. From source,
    /// `zero_lanes` of `kernels/tests/optimised.cl` is wrong, with each of PoCL's methods. It was right
    /// with `-cl-opt-disable`. Seen in one of 10,000 random kernels. Lanes may become zero in PoCL, as
    /// ids do in groups of n × 1. So products of vectors that are put together from scalars are
    /// computed lane by lane (`zero_lanes`). Left as it is: code of clang's `-O0`.
    /// PoCL 6.0 (LLVM 18) was right, but LLVM's fault is older.
    Q39 = 39, [POCL_CPU], RandomKernels,
        "Zero lanes of products of vectors count as undefined.",
        "Products lane by lane (`zero_lanes`).", ["llvm-project#180727"];
    /// **Q41. NVIDIA 580.159.** `clEnqueueWriteImage` reads host memory when it is enqueued, before the
    /// events that it waits for. Where a read into the same host memory came before, it wrote zeroes
    /// to the image. So SVM is copied to images and back by buffers over it. On Mesa's rusticl 26.1,
    /// two tests of copies fail by such buffers, so other drivers get none.
    Q41 = 41, [NVIDIA], Programs,
        "`clEnqueueWriteImage` reads host memory before the events that it waits for.",
        "SVM is copied to images by buffers over it.", [];
    /// **Q42. Mesa's rusticl 25.0.7 and 26.1.6 on llvmpipe.** llvmpipe keeps 80 conditions that are one
    /// inside the other (`LP_MAX_TGSI_NESTING`), and forgets what goes beyond that. Results are wrong,
    /// without an error. From source, `switch (id)` with 79 cases was right, and with 80 cases from
    /// case 79 on wrong. So were 80 of `else if`, and 80 of `if (…) return`. 80 loops were right, and
    /// 81 were not. A loop with several ends counts as often as Mesa unrolls it, up to 32 times. So
    /// switches are searched by halves (`wide_switches`). Functions with deep
    /// conditions become loops around switches (`deep_conditions`), or the module is refused.
    Q42 = 42, [LLVMPIPE], Programs,
        "More than 80 nested conditions are forgotten, and results are wrong.",
        "Switches are searched by halves; functions with deep conditions become loops (`deep_conditions`, `wide_switches`).", [];
    /// **Q43. Intel's CPU runtime 2026.2.** In kernels with barriers, `~min(in[id], b)` is wrong in
    /// groups that do not fill a vector of 16, and so is `fmax(-x, 2.0f)`. Right with
    /// `-cl-opt-disable`. So such complements and negations become `never ? 0 : ~x`
    /// (`opaque_negations`).
    ///
    /// Also, it takes `-x` of a float for the same in all work-items, and all that depends on the work-item by
    /// such negations only. If that is kept across a barrier, all work-items have that of the last one. From
    /// source, `float v = -in[id]; barrier(CLK_LOCAL_MEM_FENCE); out[id] = v;` is wrong in groups of 2 to 256, but of 16.
    /// intel/llvm#23220 shows it. Upstream: `docs/upstream/intel-negations-across-barriers.md`.
    Q43 = 43, [INTEL], Programs,
        "Complements are wrong in kernels with barriers; a negated float that is kept across a barrier is that of the last work-item.",
        "A selection with a condition that compilers do not know (`opaque_negations`).", ["intel/llvm#23220", "intel-negations-across-barriers.md"];
    /// **Q45. PoCL 7.1 (LLVM 21) on CPUs.** LLVM's vectoriser has to test that a counter with a mask
    /// does not wrap around. It drops this test if an address adds something to the counter.
    /// `llvm-project#191498` mends it.
    /// From source, `out[id] = in[(id & 7) + 8 * (a & 3)]` reads `in[8]` for `id == 8`, and so does the
    /// same with a counter of a loop. So a zero that LLVM does not know joins such a counter
    /// (`masked_counters`, decision 118). Left as it is: code of clang's `-O0`.
    Q45 = 45, [POCL_CPU_7], RandomKernels,
        "Masked counters in addresses run on.",
        "A zero that compilers do not know joins the counter (`masked_counters`).", ["llvm-project#191498"];
    /// **Q46. Mesa's rusticl 26.1.6 on llvmpipe.** A load from an address that is the same for all
    /// work-items has no mask. Few instructions behind a condition are no branch, and code behind a
    /// `break` goes on. From source, `if (a == 77) v = *p;` ends the process with SIGSEGV for an invalid
    /// `p`. So such addresses become `address == id ? 0 : address` (`guarded_loads`).
    Q46 = 46, [LLVMPIPE], Programs,
        "Loads from addresses that are the same for all work-items run without their condition.",
        "Such addresses depend on the work-item (`guarded_loads`).", [];
    /// **Q48. PoCL 7.1 on CPUs.** It adds the barriers of Q13 in all kernels. 6.0 does so only in kernels with
    /// barriers. One between a `switch` and more than two cases makes results wrong, or ends the process
    /// (decision 119). One in a loop that leads past a later branch makes all work-items take the branch of the first
    /// one (Q49, decision 120).
    Q48 = 48, [POCL_CPU_7], Programs,
        "The barriers of Q13 are added in kernels without barriers, too, and go wrong between a switch and its cases.",
        "As for Q13, in all kernels (`barriers`).", [];
    /// **Q53. PoCL 6.0 (LLVM 18) on CPUs.** The work-around for Q13 makes the end of a loop depend on
    /// the work-item. The condition that it added kept a work-item that no group has in the loop for
    /// ever. LLVM takes loops for finite, and drops such a condition where the loop writes nothing.
    /// PoCL then puts its barrier into the loop after all. So the condition leaves the loop instead
    /// (decision 124). `two_inner_loops` of `kernels/tests/optimised.cl` was wrong. The old condition
    /// also made kernels wrong that PoCL gets right without it (664/k1 of the random kernels). A loop that
    /// does nothing, and may be endless, leads on always (`endless_loops`; 1352/k52). One that nothing
    /// leads out of ends when a counter of its rounds is zero again (1834/k73, 2014/k74).
    ///
    /// **Also PoCL 7.1 (LLVM 21).** Behind `if (n + in[0] < 0) for (;;);`, a check that all work-items pass, they all take
    /// the same way of a later `if (get_local_id(0) == 0) … else …;`, also from source. Right with a `return` instead
    /// of the loop.
    Q53 = 53, [POCL_CPU], Programs,
        "Conditions that keep a loop from ending vanish. After a check with an endless loop, work-items take one branch.",
        "The condition leaves the loop instead (`barriers`, `endless_loops`).", ["pocl-endless-loops.md"];
    /// **Q55. Mesa's rusticl 26.1.6.** A program-scope constant with the address of another one in its
    /// initial value is refused, without a word. SPIR-V's validator, which Mesa asks, requires an
    /// `OpSpecConstantComposite` there, and Mesa refuses addresses in it ("wrong kind of value").
    /// So functions compute such addresses (`constant_addresses`, decision 129).
    Q55 = 55, [RUSTICL], Programs,
        "Program-scope constants with addresses of others are refused.",
        "Functions compute such addresses (`constant_addresses`).", [];
    /// **Q56. Mesa's rusticl 26.1.6 on llvmpipe.** Fields of packed structs are read and written at the
    /// wrong place in local memory. In structs by value, kernels read them at the wrong place. An access
    /// falls on the address before that its type would be aligned to. From source, `int b` at offset 1
    /// is read at offset 0. Copies of such structs are wrong, too. Private, constant and global memory is
    /// right. Such accesses are split (decision 128).
    Q56 = 56, [LLVMPIPE], Programs,
        "Fields of packed structs are read and written at the wrong place.",
        "Accesses are split (`unaligned`).", [];
    /// **Q57. PoCL 6.0.** If a program's binary is asked for before its first launch
    /// (`CL_PROGRAM_BINARIES`), variables at program scope hold garbage in that process. So programs
    /// with such variables are not kept on disk. `tests/program_cache.rs` shows it. Upstream:
    /// `docs/upstream/pocl-variables-after-binaries.md`.
    Q57 = 57, [POCL_6], Programs,
        "Program-scope variables hold garbage if the binary is read before the first launch.",
        "Programs with such variables are not cached on disk.", ["pocl-variables-after-binaries.md"];
    /// **Q58. PoCL 6.0 on CPUs.** A function that stays a call and reads the id of its work-item or group
    /// ends the process when its kernel is loaded. Seen in plain OpenCL C: `__attribute__((noinline))
    /// uint f(void) { return get_group_id(0); }`. So such functions lose the hint not to be
    /// inlined (`inline_hints`). Upstream: `docs/upstream/pocl-ids-in-calls.md`.
    Q58 = 58, [POCL_CPU_6], Programs,
        "A function that stays a call and reads ids ends the process.",
        "Such functions lose the hint not to be inlined (`inline_hints`).", ["pocl-ids-in-calls.md"];
    /// **Q59. PoCL 6.0 on CPUs.** Built-in functions that SPIR-V calls get garbage for vectors that are
    /// wider than a register: 64 bytes with AVX-512, 32 with AVX, 16 else. `vstore16` of `long`
    /// stores nothing there, and `cos(double16)` does not compute. The library of bitcode calls such a function by
    /// a wrapper that passes addresses of variables, and never writes them. OpenCL C does not call the
    /// wrappers. So these functions get parts of the vectors (`wide_arguments`).
    /// This is the number of bytes that they may have. Upstream: `docs/upstream/pocl-wide-arguments.md`.
    Q59 = 59, [POCL_CPU_6], Programs,
        "Built-in functions get garbage for vectors wider than a register.",
        "Vectors are split (`wide_arguments`).", ["pocl-wide-arguments.md"];
    /// **Q61. Intel's CPU runtime 2026.2.** A condition that a kernel begins with becomes a bound of the
    /// loop over the work-items. One on a difference `d - i` with an id inverts the next one on an id, in
    /// this kernel or in a later one of the program. From source, `int i = get_global_id(0), j = d - i;
    /// if (i > n || j > m) return; out[i] = i;` runs from `n` on. Beside a kernel that begins with `if (d - i >= n)
    /// return;`, another one with `if (i >= n) return;` runs from `n` on, out of its buffers. Also,
    /// `if (i - d <= n || i < m) return;` is wrong for item 0 if `n + d` is 0. Such comparisons get a zero
    /// that compilers do not know (`inverted_bounds`). Upstream:
    /// `docs/upstream/intel-differences-invert-bounds.md`.
    Q61 = 61, [INTEL], Programs,
        "A condition on a difference with an id inverts later conditions on ids.",
        "A zero that compilers do not know joins the difference (`inverted_bounds`).", ["intel-differences-invert-bounds.md"];
    /// **Q62. Intel's CPU runtime 2026.2.** Some built-in functions of vectors are wrong.
    /// `mad_sat((int2)INT_MAX, (int2)2, (int2)2)` is 0. Of 1728 triples of edge values, 282 are wrong for
    /// `int` and 239 for `uint`. `mad_sat` of `long` is wrong for scalars, too. `step` is 0 for NaN.
    /// `shuffle(double4, mask)` uses high bits of the mask. `shuffle` of `half` vectors does not build. Such
    /// calls get other instructions (`wrong_functions`). Upstream:
    /// `docs/upstream/intel-vector-functions.md`.
    Q62 = 62, [INTEL], Programs,
        "`mad_sat`, `step` and `shuffle` are wrong for some vectors.",
        "Other instructions (`wrong_functions`).", ["intel-vector-functions.md"];
    /// **Q63. PoCL 6.0 on CPUs.** `work_group_all` is 0 where all work-items are for it. `work_group_any`
    /// is right. So it becomes `!work_group_any(!x)` (`inverted_votes`). Upstream:
    /// `docs/upstream/pocl-work-group-all.md`.
    Q63 = 63, [POCL_CPU_6], Programs,
        "`work_group_all` is 0 where all work-items agree.",
        "`work_group_any` of the opposite (`inverted_votes`).", ["pocl-work-group-all.md"];
    /// **Q64. Mesa's rusticl 26.1.6 on llvmpipe.** `get_sub_group_size` is 8 in the last sub-group of a group of 9, which has
    /// one work-item. So the size is computed from the size of the group (`sub_group_sizes`).
    /// Upstream: `docs/upstream/rusticl-sub-group-size.md`.
    Q64 = 64, [LLVMPIPE], Programs,
        "`get_sub_group_size` is 8 in the last sub-group of a group of 9.",
        "The size is computed (`sub_group_sizes`).", ["rusticl-sub-group-size.md"];
    /// **Q65. Intel's CPU runtime 2026.2.** `work_group_broadcast` of `half` crashes its compiler
    /// (`vplan-vec`). Other collective functions of `half` are right. So it broadcasts integers
    /// (`half_broadcasts`). Upstream: `docs/upstream/intel-half-broadcast.md`.
    Q65 = 65, [INTEL], Programs,
        "`work_group_broadcast` of `half` crashes the compiler.",
        "Integers are broadcast (`half_broadcasts`).", ["intel-half-broadcast.md"];
    /// **Q66. Intel's CPU runtime 2026.2, PoCL 6.0 and 7.1 on CPUs.** `vstorea_half3` writes a fourth
    /// element, in all address spaces and rounding modes. So `vstore_half3` stores at the same address
    /// (`wrong_functions`). Upstream: `docs/upstream/vstorea-half3.md`.
    Q66 = 66, [INTEL, POCL_CPU], Programs,
        "`vstorea_half3` writes a fourth element.",
        "`vstore_half3` at the same address (`wrong_functions`).", ["vstorea-half3.md"];
    /// **Q67. PoCL 6.0.** It takes SPIR-V 1.2, and does not say which extensions. It takes decorations of
    /// sums that do not wrap. Without them, its compiler does not see that neighbouring work-items access
    /// neighbouring elements: a stencil of five points took 1.8 times as long as from source.
    Q67 = 67, [POCL_6], Measurements,
        "The driver does not say that it takes decorations of sums that do not wrap, and vectorises less without them.",
        "Modules keep these decorations.", [];
    /// **Q68. Mesa's rusticl 26.1.6.** `mad_sat` of `long` is wrong for some sums that overflow. So it is
    /// computed with 128 bits, as on Intel (Q62). Upstream: `docs/upstream/rusticl-long-mad-sat.md`.
    Q68 = 68, [LLVMPIPE], Programs,
        "`mad_sat` of `long` is wrong for some sums that overflow.",
        "128-bit arithmetic (`wrong_functions`).", ["rusticl-long-mad-sat.md"];
    /// **Q69. PoCL 6.0 on CPUs.** In groups of one or two work-items, work-group and sub-group functions end
    /// the process: "undefined symbol: __pocl_work_group_alloca". `POCL_WORK_GROUP_METHOD=loops` in the
    /// environment avoids it. So such launches are refused. Upstream: `docs/upstream/pocl-work-group-all.md`.
    Q69 = 69, [POCL_CPU_6], Programs,
        "Work-group and sub-group functions end the process in groups of one or two work-items.",
        "The launch is refused.", ["pocl-work-group-all.md"];
    /// **Q70. PoCL 6.0.** PoCL never removes its second record of freed USM (Q3). Each allocation leaves
    /// 0.6 KiB, and later ones get slower. One of 256 bytes takes 38 µs at first and 641 µs after 30,000
    /// times. PoCL 7.1 takes 0.2 µs, since pocl#1942.
    ///
    /// So freed memory is kept for a minute, and allocated again.
    Q70 = 70, [POCL_6], Measurements,
        "Allocations of USM get slower with their number.",
        "Freed memory is kept for a minute, and allocated again.", ["pocl#1942"];
    /// **Q71. NVIDIA 580.159.** A callback of `clSetEventCallback` comes up to 20 ms after the command has ended (H100).
    /// Of a kernel of 8.3 ms, `clWaitForEvents` returns after 8.3 ms, and the callback comes after 9 to 20 ms, mostly 20.
    ///
    /// So events are asked again and again. Their end is noticed late by an eighth of their time, by 1 ms at most.
    Q71 = 71, [NVIDIA], Measurements,
        "A callback comes up to 20 ms after the end of the command.",
        "Events are asked again and again.", [];
    /// **Q72. PoCL 6.0 and 7.1 on CPUs.** `vloadn` and `vstoren` are functions of PoCL's library. On PoCL 6.0 kernels that come as SPIR-V
    /// call them (Q9), and store all vector registers around each call. On PoCL 7.1 loops with them are still slower than loops with
    /// plain loads. A product of vectors by `vload4` took 3.4 and 1.5 times as long. So they become loads and stores of vectors that
    /// are aligned as their elements (`vector_accesses`).
    Q72 = 72, [POCL_CPU], Measurements,
        "`vloadn` and `vstoren` are calls, or slower than plain loads and stores.",
        "Loads and stores that are aligned as their elements (`vector_accesses`).", [];
}
