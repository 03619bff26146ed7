//! Known faults of drivers, and how this layer works around them. Each has a number, a field, and
//! measurements that show it. `oclave_faults` says which versions of which drivers have it.
//! Reports upstream are named (`pocl#1430` is issue 1430 of PoCL). Where none is named, none was
//! found in November 2026.

use std::time::Duration;

use oclave_faults::{DeviceTexts, Driver, Fault, FaultSet, Version};
use oclave_image::passes::ImplicitBarriers;

use crate::{Device, DeviceKind};

/// Which work-arounds a context needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// The faults that the other fields come from.
    pub(super) faults: FaultSet,
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
    pub(crate) in_order_only: bool,
    /// **Q2. PoCL 6.0 and 7.1.** `clCreateProgramWithIL` parses the list of specialization
    /// constants with `strtok`, which has one state for the process. Two threads lose or mix up
    /// constants: CL_INVALID_SPEC_ID in one of 20 runs of sixteen programs by eight threads.
    ///
    /// So one thread of the process creates programs at a time.
    pub(crate) one_module_at_a_time: bool,
    /// **Q3. PoCL 6.0 and 7.1.** How long freed USM is kept, to be allocated again, before the
    /// driver gets it back (`spare.rs`). `None` means not at all.
    ///
    /// PoCL keeps two records of an allocation. `clMemFreeINTEL` removes one of them. 7.1 removes
    /// the other some time after the event of the last command that used the memory. Memory that
    /// is allocated in between may overlap the old record, and PoCL aborts ("Overlapping BDA
    /// pointer!"). The same happens when another thread allocates during `clMemFreeINTEL`. Threads
    /// that free memory behind its last command and allocate as much see it within a second.
    ///
    /// 6.0 never removes the second record. Each allocation leaves 0.6 KiB, and later ones get
    /// slower. One of 256 bytes takes 38 µs at first and 641 µs after 30,000 times. PoCL 7.1 takes
    /// 0.2 µs, since pocl#1942.
    pub(crate) usm_free_delay: Option<Duration>,
    /// **Q4. PoCL 6.0.** The order of program-scope variables in memory differs between builds of
    /// one module. PoCL keeps compiled kernels on disk under a key that does not contain the
    /// order. Kernels of different builds then disagree where a variable is.
    ///
    /// All programs with more than one variable lost writes, in every run, once several threads
    /// had built the same program. So the library puts nothing into program-scope variables there.
    pub(crate) variables_move: bool,
    /// **Q5. Intel's CPU runtime and PoCL.** Command buffers are slower than the same commands on a
    /// queue. They take 1.1 to 2.4 times as long on Intel's runtime, 1.0 to 1.9 times on PoCL.
    pub slow_command_buffers: bool,
    /// **Q6. Intel's CPU runtime 2026.2.** Each replay of a command buffer of 8 kernels leaks
    /// 16 KiB, each command buffer 8 KiB. Raw OpenCL in C leaks as much. The log has a warning, and
    /// `tests/leaks.rs` measures the leak.
    pub(crate) command_buffers_leak: bool,
    /// **Q7. PoCL.** The most commands in a command buffer. PoCL walks its list of commands to
    /// append one: 1.1 to 1.7 µs a command in a thousand, 12 µs in ten thousand. An enqueued buffer
    /// also takes 16 bytes of the caller's stack for each command.
    pub commands_per_buffer: usize,
    /// **Q7** for buffers that updates record again, which are smaller. Replays of a thousand
    /// commands take up to 1.3 times as long in four buffers as in one.
    pub commands_per_updatable_buffer: usize,
    /// **Q8. PoCL 6.0.** No callback is called when a user event gets an error as its status
    /// (pocl#1430). So the library polls events from outside.
    pub(crate) failures_are_silent: bool,
    /// **Q9. PoCL 6.0.** Kernels that come as SPIR-V do not inline the functions of PoCL's library: these name features of the
    /// processor, and such kernels do not. Each `min`, `max`, `clamp`, `rotate` or `mad` is a call, and neither
    /// loops nor work-items with one are vectorised. A median of nine bytes took five times as long as from source. In task
    /// lists of 1024 work-items each `mad` took 2.7 and 0.7 ns. So simple functions become instructions
    /// (`called_functions` of `oclave_image`).
    pub functions_are_called: bool,
    /// **Q67. PoCL 6.0.** It takes SPIR-V 1.2, and does not say which extensions. It takes decorations of
    /// sums that do not wrap. Without them, its compiler does not see that neighbouring work-items access
    /// neighbouring elements: a stencil of five points took 1.8 times as long as from source.
    pub takes_wraps_unasked: bool,
    /// **Q11. PoCL on CPUs.** The work-items of a group run one after the other, from barrier to
    /// barrier. Kernels with loops and barriers keep a context for each work-item. So one work-item
    /// alone runs the tasks of a list that need no group. A list of 1000 tasks of 64 items took 255
    /// µs on 6.0 and 234 µs on 7.1 when all work-items shared them. This way it took 110 µs and 120
    /// µs.
    pub serial_work_items: bool,
    /// **Q12. PoCL 6.0 and 7.1 on CPUs.** Code that only the first work-item of a group reaches may
    /// run twice. It does if some paths of the kernel have barriers and the group has one work-item
    /// in dimension 0. In lists, 6.0 showed it with three work-items or more, 7.1 with one, too.
    pub first_item_runs_twice: bool,
    /// **Q13. PoCL 6.0 and 7.1 on CPUs.** PoCL adds barriers to innermost loops whose bound is the
    /// same for a group. 6.0 does so in kernels with barriers, 7.1 in all kernels. It does so even
    /// where work-items reach the loop at different times, and then runs the loop as often as the
    /// first work-item needs. `oclave_image::legalize` writes such loops in another form. Beside
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
    pub implicit_barriers: ImplicitBarriers,
    /// **Q14. PoCL 7.1 on CPUs.** Barriers under conditions go wrong in PoCL's usual method: of 168
    /// random kernels 2 were wrong and 4 aborted the process. Continuations got these six right.
    /// PoCL takes continuations for kernels in which an outermost loop with barriers has several
    /// ends (`WorkitemLoops::canHandleKernel`). So such kernels get a second end.
    ///
    /// **Q44. PoCL 6.0 and 7.1 on CPUs.** Behind a barrier, all work-items may take the branch of the
    /// first one. They do if several edges lead to where a way past the barrier leads. From source,
    /// this is wrong in both: `if (a) { do { v += 3; barrier(CLK_LOCAL_MEM_FENCE); } while (v < a); if (id > 2) out[id] = v; }
    /// if (id & 1) …`. So such kernels get the forms for Q14 and Q15 (decision 116).
    pub continuations_for_several_ends: bool,
    /// **Q15. PoCL 6.0 on CPUs.** It takes continuations only where `POCL_WORK_GROUP_METHOD=cbs` is
    /// set. Barriers under conditions, and in loops with several ends, abort the process in one of
    /// a hundred random kernels (`WorkitemLoops.cc:1274`). About as many compute wrong results.
    /// Such kernels get one barrier in one loop (`one_barrier` of `oclave_image`, decision 91).
    /// Reports of the same kind: pocl#1167 (open), pocl#1747, pocl#1794, pocl#1958.
    pub one_barrier: bool,
    /// **Q16. PoCL 6.0 (LLVM 18) and 7.1 (LLVM 21) on CPUs.** PoCL marks loops over work-items as
    /// parallel. LLVM then joins accesses to neighbouring elements (`InterleavedAccessInfo`), also
    /// across accesses of the same work-item to one of them. Fences keep them apart (decision 93).
    ///
    /// Seen from source, without any barrier: `p[4*i+1] = 7; p[4*i+2] = 5; p[4*i+3] = 3;
    /// p[4*i] = p[4*i + (a & 3)] + 1;` reads the old elements. `tests/work_items.rs` shows three
    /// more. llvm-project#63602 was the same fault in ordinary loops; pocl#757 is another of the
    /// same marks.
    pub joins_accesses: bool,
    /// **Q17. Mesa's rusticl 26.1.6 on llvmpipe.** `clBuildProgram` ends the process with SIGSEGV on
    /// some kernels that take a struct by value. The struct has a vector, and the kernel reads two
    /// lanes of it by access chains: `typedef struct { float4 s; } P; kernel void k(P p, global float *out) {
    /// out[0] = p.s.x + p.s.y; }`, built by clang 15 with `-O2`. One lane, or the whole vector, is
    /// fine. So is an address that is made by a cast, and the library makes it so
    /// (`vector_components` of `oclave_image`). Raw OpenCL in C shows the crash. No
    /// upstream report was found.
    pub lanes_of_arguments_crash: bool,
    /// **Q18. Mesa's rusticl 26.1.6.** A program from a binary (`clGetProgramInfo`,
    /// `clCreateProgramWithBinary`) has the default values of its specialization constants. The
    /// values that the binary was made with are lost. `G-KRN-003` computed 11, 11 and 11 instead of 28, 53 and
    /// 11 with a warm cache. So programs with other values are compiled each time.
    pub binaries_lose_constants: bool,
    /// **Q57. PoCL 6.0.** If a program's binary is asked for before its first launch
    /// (`CL_PROGRAM_BINARIES`), variables at program scope hold garbage in that process. So programs
    /// with such variables are not kept on disk. `tests/program_cache.rs` shows it. Upstream:
    /// `docs/upstream/pocl-variables-after-binaries.md`.
    pub binaries_spoil_variables: bool,
    /// **Q19. PoCL 6.0.** A kernel that is given a one-dimensional image of a buffer crashes the
    /// process in `clEnqueueNDRangeKernel`, from any buffer. Kernels take an ordinary
    /// one-dimensional image for it, and compute the same. So such images are ordinary ones there,
    /// and not wider than these.
    pub image_buffers_crash: bool,
    /// **Q20. PoCL 6.0 and 7.1.** A command buffer with a kernel that has a sampler argument crashes
    /// the process: `POclRetainSampler` finds no sampler where it looks for one. Such kernels are
    /// enqueued between command buffers. Debian's PoCL 7.1 hides its command buffers; the crash
    /// shows on `pocl7cb` of `ci/setup`.
    pub(crate) recorded_samplers_crash: bool,
    /// **Q21. Mesa's rusticl 26.1.6 on llvmpipe.** Larger functions are not inlined. A barrier in
    /// one ends the process with SIGSEGV when the kernel is launched: llvmpipe suspends a coroutine
    /// there, and a function has none. Such functions get SPIR-V's hint `Inline`, which Mesa follows
    /// (`inline_hints` of `oclave_image`). Kernels with barriers in virtual functions crashed.
    pub barriers_in_calls_crash: bool,
    /// **Q58. PoCL 6.0 on CPUs.** A function that stays a call and reads the id of its work-item or group
    /// ends the process when its kernel is loaded. Seen in plain OpenCL C: `__attribute__((noinline))
    /// uint f(void) { return get_group_id(0); }`. So such functions lose the hint not to be
    /// inlined (`inline_hints` of `oclave_image`). Upstream: `docs/upstream/pocl-ids-in-calls.md`.
    pub built_ins_in_calls_crash: bool,
    /// **Q59. PoCL 6.0 on CPUs.** Built-in functions that SPIR-V calls get garbage for vectors that are
    /// wider than a register: 64 bytes with AVX-512, 32 with AVX, 16 else. `vstore16` of `long`
    /// stores nothing there, and `cos(double16)` does not compute. The library of bitcode calls such a function by
    /// a wrapper that passes addresses of variables, and never writes them. OpenCL C does not call the
    /// wrappers. So these functions get parts of the vectors (`wide_arguments` of `oclave_image`).
    /// This is the number of bytes that they may have. Upstream: `docs/upstream/pocl-wide-arguments.md`.
    pub vector_argument_bytes: Option<u32>,
    /// **Q22. Mesa's rusticl 26.1.6 on llvmpipe.** If a kernel has no private variable, an access
    /// to private memory ends the process with SIGSEGV at the launch. The address may be an
    /// integer, and the access need not happen: `if (a) *out = *(private uint *)a;` with `a == 0`
    /// crashes. Resolved generic pointers ask an integer for its address space, and one way leads
    /// to private memory. So such functions get a variable (`private_addresses` of `oclave_image`).
    pub private_memory_may_lack: bool,
    /// **Q23. Mesa's rusticl 25.0.7 on llvmpipe.** A function that is not inlined and has no
    /// `OpName` ends the process with SIGSEGV when a kernel that calls it is launched:
    /// `LLVMAddFunction` gets a null pointer for the name. 26.1.6 takes such functions. Modules of
    /// the interpreter have some. So functions get names (`function_names` of `oclave_image`).
    pub unnamed_functions_crash: bool,
    /// **Q24. Intel's CPU runtime 2026.2.** A program with an atomic instruction on a generic
    /// pointer does not build, with none of its kernels ("JIT session error: Symbols not found:
    /// `_Z10atomic_addPU3AS4Vii`"). It builds where the module's `OpSource` is OpenCL C++ 1.0:
    /// then the reader calls the atomic functions of OpenCL 2.0. So such modules say that.
    pub generic_atomics_are_cpp: bool,
    /// **Q25. PoCL 7.1 on CPUs.** `to_global`, `to_local` and `to_private`
    /// (`OpGenericCastToPtrExplicit`) end the process with SIGSEGV in `clBuildProgram`. PoCL 6.0
    /// takes them. So modules with them get pointers to concrete address spaces (decisions 92 and
    /// 95). What cannot be resolved is an error.
    pub casts_from_generic_crash: bool,
    /// **Q26. Intel's CPU runtime 2026.2.** Its vectoriser of loops crashes the process, in
    /// `vplan-vec` or in `adce` after it. Two kinds of calls of built-in functions do that. One has
    /// a value that depends on the path. The other is under a condition that the loop does not
    /// change. From source, this does: `for (uint i = 0; i < n; i++) { uint r = i < a ? in[i] : b;
    /// s += rotate(r, 9u); }`. `min`, `sqrt`, `popcount` and saturating conversions crash as well.
    /// Kernels whose work-items are vectorised do not show it. Loops of interpreter modules over
    /// work-items do. Such loops are kept from being vectorised (`scalar_loops` of `oclave_image`).
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
    pub vectorised_loops_crash: bool,
    /// **Q27. Mesa's rusticl 26.1.6.** A constant pointer that is made of an integer
    /// (`OpSpecConstantOp ConvertUToPtr`) is refused: "No NIR equivalent", which only
    /// `RUSTICL_DEBUG=program` shows. From LLVM 16 on, constructors of classes with virtual
    /// functions store such constants. So functions compute them (`integer_pointers` of
    /// `oclave_image`).
    pub integer_pointer_constants_fail: bool,
    /// **Q55. Mesa's rusticl 26.1.6.** A program-scope constant with the address of another one in its
    /// initial value is refused, without a word. SPIR-V's validator, which Mesa asks, requires an
    /// `OpSpecConstantComposite` there, and Mesa refuses addresses in it ("wrong kind of value").
    /// So functions compute such addresses (`constant_addresses` of `oclave_image`, decision 129).
    pub constant_addresses_fail: bool,
    /// **Q56. Mesa's rusticl 26.1.6 on llvmpipe.** Fields of packed structs are read and written at the
    /// wrong place in local memory. In structs by value, kernels read them at the wrong place. An access
    /// falls on the address before that its type would be aligned to. From source, `int b` at offset 1
    /// is read at offset 0. Copies of such structs are wrong, too. Private, constant and global memory is
    /// right. Such accesses are split (decision 128).
    pub unaligned_accesses_miss: bool,
    /// **Q28. Intel's CPU runtime 2026.2.** A `clEnqueueWriteImage` that blocks is slower than one
    /// with an event and `clWaitForEvents`, but for small images. This was measured in C with RGBA
    /// images of 8 bits. Of 4 KiB they took 3.3 and 4.0 µs. Of 16 KiB they took 4.9 and 4.5 µs, of
    /// 64 KiB 13 and 7 µs, of 256 KiB 150 and 19 µs. A `clEnqueueReadImage` that blocks is faster or
    /// as fast in all these sizes.
    pub(crate) slow_blocking_writes: bool,
    /// **Q29. Mesa's rusticl 26.1.6 on llvmpipe.** `clWaitForEvents` is slower than `clFinish`, which
    /// waits for the queue's last command as well. This was measured in C with fills of images of
    /// 32 × 32 pixels: 23.4 and 19.2 µs. On Intel and PoCL `clFinish` is as fast or slower.
    pub(crate) slow_event_waits: bool,
    /// **Q30. PoCL 6.0 (LLVM 18) on CPUs.** PoCL names LLVM's pass `instcombine` in a string. A
    /// pass that is named so checks that a second run would change nothing. If it would, LLVM ends
    /// the process ("Instruction Combining did not reach a fixpoint after 1 iterations"). One of
    /// 250 random kernels did that. A binary has all kernels of its program, so no kernel of such a
    /// program could be built. LLVM's maintainers say that the check is for tests only
    /// (llvm-project#104905).
    ///
    /// Of twenty-six such kernels, nineteen have the form that `second_phis` of `oclave_image`
    /// describes (decision 126). This source shows it: `uint id = get_global_id(0), v = a, w =
    /// in[id]; if (id < 5) { v = in[a]; w = v * 3 + a; } if (abs_diff(w, b) != 77u) w = rotate(v,
    /// id); out[id] = w;`. There, a second phi joins the first. One loads on two ways, and gets a
    /// second phi, too (`loading_ways`). The other six fail only in groups of one and two. Four
    /// compute a value before a condition that says something of it (`hidden_comparisons`). One
    /// stores at one address on two ways (`last_stores`). One selects by what a loop gives
    /// (`choices`). Left as it is: code of clang's `-O0`, which has no phis yet.
    pub fixpoints_are_checked: bool,
    /// **Q31. NVIDIA 580.159.** A kernel that was given `CL_KERNEL_EXEC_INFO_SVM_PTRS` is launched
    /// more slowly each time, also where the list stays the same. A launch and a wait took 16.4 µs
    /// without it, 17.8 with one allocation, 22 with 8, 40 with 32 and 79 with 64. In a context
    /// with one device, kernels reach all SVM without being told. So the driver is not told there.
    pub(crate) telling_pointers_is_slow: bool,
    /// **Q32. Intel's CPU runtime 2026.2.** Its vectoriser is wrong behind branches that work-items
    /// take differently, if one of them has a loop. It takes a value for the same in all work-items
    /// if it is the same for all on each branch. From source, `if (id & 1) { v = 1; do p[id] *= 3;
    /// while (++i < b); } else { v = 0; do p[id] *= 5; while (++i < b); } out[id] = v;` writes 0
    /// everywhere, in groups of 16 and more. Pointers, floats and vectors are wrong, too. So is
    /// `for (…) { if (id == 0) v = 1; p[id] *= 3; }`, whose condition the compiler takes out of the
    /// loop. So are two branches in a loop, behind a condition that is the same for all work-items:
    /// both conditions leave the loop. So is a condition of two parts, one of which is the same for
    /// all and the other one leaves the loop. So is a selection behind a loop that has its condition,
    /// too. Such values are made to depend on the work-item (`joined_values` of `oclave_image`,
    /// decisions 102, 115 and 125). Right
    /// with `-cl-opt-disable`, and with `CL_CONFIG_USE_VECTORIZER=False` in the environment.
    ///
    /// Left as it is: code of clang's `-O0`, which has variables instead of such values.
    pub joined_values_collapse: bool,
    /// **Q33. PoCL 7.1 on CPUs.** A value from memory that a work-item needs behind a barrier is
    /// loaded again there, when the memory may hold something else. From source, `v = l[id]; l[id]
    /// = 9; barrier(CLK_LOCAL_MEM_FENCE); out[id] = v;` writes 9, in local, global and private
    /// memory. pocl#2269 mends it. PoCL does not repeat volatile loads, so such loads become
    /// volatile (`kept_loads` of `oclave_image`). `POCL_PREGION_VALUE_REMAT=0` in the environment
    /// helps, too.
    pub repeats_loads: bool,
    /// **Q34. NVIDIA 580.159.** Each launch is slower by the arguments that are memory, also if they
    /// are set once. A launch in order took 13.5 µs with a `cl_mem`, 14.1 with SVM, and 13.0 with
    /// the same address as a number of 64 bits. With two pointers, it took 15.3 µs with SVM, and 13.0
    /// with numbers. In a context with one device, kernels reach all SVM without being told. So
    /// pointers are numbers there.
    pub(crate) pointer_arguments_are_slow: bool,
    /// **Q35. Intel's CPU runtime 2026.2.** `max` with an id of a work-item counts as a bound of the
    /// group, where the kernel uses that dimension for nothing else. From source, `out[get_global_id(0)]
    /// = max((uint)get_local_id(1), 1u);` writes nothing in groups of 8 × 1. So `max` of integers
    /// becomes a comparison and a selection (`integer_maximum` of `oclave_image`). `min` was right.
    pub maxima_are_bounds: bool,
    /// **Q61. Intel's CPU runtime 2026.2.** A condition that a kernel begins with becomes a bound of the
    /// loop over the work-items. One on a difference `d - i` with an id inverts the next one on an id, in
    /// this kernel or in a later one of the program. From source, `int i = get_global_id(0), j = d - i;
    /// if (i > n || j > m) return; out[i] = i;` runs from `n` on. Beside a kernel that begins with `if (d - i >= n)
    /// return;`, another one with `if (i >= n) return;` runs from `n` on, out of its buffers. Also,
    /// `if (i - d <= n || i < m) return;` is wrong for item 0 if `n + d` is 0. Such comparisons get a zero
    /// that compilers do not know (`inverted_bounds` of `oclave_image`). Upstream:
    /// `docs/upstream/intel-differences-invert-bounds.md`.
    pub differences_invert_bounds: bool,
    /// **Q62. Intel's CPU runtime 2026.2.** Some built-in functions of vectors are wrong.
    /// `mad_sat((int2)INT_MAX, (int2)2, (int2)2)` is 0. Of 1728 triples of edge values, 282 are wrong for
    /// `int` and 239 for `uint`. `mad_sat` of `long` is wrong for scalars, too. `step` is 0 for NaN.
    /// `shuffle(double4, mask)` uses high bits of the mask. `shuffle` of `half` vectors does not build. Such
    /// calls get other instructions (`wrong_functions` of `oclave_image`). Upstream:
    /// `docs/upstream/intel-vector-functions.md`.
    pub functions_are_wrong: bool,
    /// **Q66. Intel's CPU runtime 2026.2, PoCL 6.0 and 7.1 on CPUs.** `vstorea_half3` writes a fourth
    /// element, in all address spaces and rounding modes. So `vstore_half3` stores at the same address
    /// (`wrong_functions` of `oclave_image`). Upstream: `docs/upstream/vstorea-half3.md`.
    pub aligned_threes_write_four: bool,
    /// **Q63. PoCL 6.0 on CPUs.** `work_group_all` is 0 where all work-items are for it. `work_group_any`
    /// is right. So it becomes `!work_group_any(!x)` (`inverted_votes` of `oclave_image`). Upstream:
    /// `docs/upstream/pocl-work-group-all.md`.
    pub group_votes_are_inverted: bool,
    /// **Q68. Mesa's rusticl 26.1.6.** `mad_sat` of `long` is wrong for some sums that overflow. So it is
    /// computed with 128 bits, as on Intel (Q62). Upstream: `docs/upstream/rusticl-long-mad-sat.md`.
    pub long_mad_sat_is_wrong: bool,
    /// **Q69. PoCL 6.0 on CPUs.** In groups of one or two work-items, work-group and sub-group functions end
    /// the process: "undefined symbol: __pocl_work_group_alloca". `POCL_WORK_GROUP_METHOD=loops` in the
    /// environment avoids it. So such launches are refused. Upstream: `docs/upstream/pocl-work-group-all.md`.
    pub small_groups_cannot_exchange: bool,
    /// **Q64. Mesa's rusticl 26.1.6 on llvmpipe.** `get_sub_group_size` is 8 in the last sub-group of a group of 9, which has
    /// one work-item. So the size is computed from the size of the group (`sub_group_sizes` of `oclave_image`).
    /// Upstream: `docs/upstream/rusticl-sub-group-size.md`.
    pub sub_group_sizes_are_whole: bool,
    /// **Q65. Intel's CPU runtime 2026.2.** `work_group_broadcast` of `half` crashes its compiler
    /// (`vplan-vec`). Other collective functions of `half` are right. So it broadcasts integers
    /// (`half_broadcasts` of `oclave_image`). Upstream: `docs/upstream/intel-half-broadcast.md`.
    pub half_broadcasts_crash: bool,
    /// **Q36. Mesa's rusticl 26.1.6.** `clBuildProgram` refuses phis with two values for one block
    /// ("OpPhi's number of incoming blocks does not match"). llvm-spirv 15 writes such phis where
    /// several cases of a switch lead to one block. SPIR-V does not allow them, and the drivers that
    /// use LLVM need them. So the repeated values go (`phi_pairs` of `oclave_image`).
    pub repeated_pairs_fail: bool,
    /// **Q37. Mesa's rusticl 26.1.6.** An event keeps the events of its wait list, also when all have
    /// ended. So a chain of events, each of which waited for the one before, stays as long as its
    /// last one. In raw OpenCL in C, a marker of such a chain left 288 bytes, and none when the last
    /// was released. Replays of a graph are such a chain. So events that have ended do not go into
    /// wait lists.
    ///
    /// If each command is put on a queue while the one before still runs, the chain grows all the
    /// same.
    pub(crate) ended_events_are_kept: bool,
    /// **Q38. Mesa's rusticl 26.1.6 on llvmpipe.** A queue has a context of Mesa's, of some 8 MB. Queues
    /// that are released leave theirs to later queues, but only a moment later. So a process keeps as
    /// many as it ever had at once, those moments included. In raw OpenCL in C, a process with 28,800
    /// queues, each released at once, had 516 MB on a busy machine. With a pause of 1 ms behind each
    /// release, one with 12,000 had 172 MB. A process that makes many queues gets a warning in the
    /// log, once.
    pub(crate) queues_are_kept: bool,
    /// **Q39. PoCL 7.1 (LLVM 21) on CPUs.** LLVM may take a zero lane of a product of vectors for
    /// undefined. So it does with bitwise `and`. `llvm-project#180727` mends it. From source,
    /// `zero_lanes` of `kernels/tests/optimised.cl` is wrong, with each of PoCL's methods. It was right
    /// with `-cl-opt-disable`. Seen in one of 10,000 random kernels. Lanes may become zero in PoCL, as
    /// ids do in groups of n × 1. So products of vectors that are put together from scalars are
    /// computed lane by lane (`zero_lanes` of `oclave_image`). Left as it is: code of clang's `-O0`.
    /// PoCL 6.0 (LLVM 18) was right, but LLVM's fault is older.
    pub zero_lanes_are_lost: bool,
    /// **Q40. Intel's CPU runtime 2026.2.** A loop runs too often where its bound is an unsigned
    /// quotient or remainder with a variable divisor. Groups that do not fill a vector of 16 show it.
    /// From source, `uint n = 40u / a; for (uint i = 0; i < n; i++) if (a != 1) v = i;` takes the `i`
    /// of a round that is not to be. In groups of 16, 32 and 64 it was right, and with
    /// `-cl-opt-disable`. Constant divisors and signed quotients were right, and loops without such
    /// an `if`. It also runs too often where a complement makes the step of its counter, as in
    /// `uint s = (in[b] & 6) ^ 7; while (v < 21) { v += s; w *= 31; }`. So such quotients and steps
    /// go through a volatile variable (`quotients` of `oclave_image`, decision 108).
    pub quotients_are_bounds: bool,
    /// **Q41. NVIDIA 580.159.** `clEnqueueWriteImage` reads host memory when it is enqueued, before the
    /// events that it waits for. Where a read into the same host memory came before, it wrote zeroes
    /// to the image. So SVM is copied to images and back by buffers over it. On Mesa's rusticl 26.1,
    /// two tests of copies fail by such buffers, so other drivers get none.
    pub(crate) image_writes_read_early: bool,
    /// **Q42. Mesa's rusticl 25.0.7 and 26.1.6 on llvmpipe.** llvmpipe keeps 80 conditions that are one
    /// inside the other (`LP_MAX_TGSI_NESTING`), and forgets what goes beyond that. Results are wrong,
    /// without an error. From source, `switch (id)` with 79 cases was right, and with 80 cases from
    /// case 79 on wrong. So were 80 of `else if`, and 80 of `if (…) return`. 80 loops were right, and
    /// 81 were not. A loop with several ends counts as often as Mesa unrolls it, up to 32 times. So
    /// switches are searched by halves (`wide_switches` of `oclave_image`). Functions with deep
    /// conditions become loops around switches (`deep_conditions`), or the module is refused.
    pub deep_conditions_are_lost: bool,
    /// **Q43. Intel's CPU runtime 2026.2.** In kernels with barriers, `~min(in[id], b)` is wrong in
    /// groups that do not fill a vector of 16, and so is `fmax(-x, 2.0f)`. Right with
    /// `-cl-opt-disable`. So such complements and negations become `never ? 0 : ~x`
    /// (`inverted_choices` of `oclave_image`).
    ///
    /// Also, it takes `-x` of a float for the same in all work-items, and all that depends on the work-item by
    /// such negations only. If that is kept across a barrier, all work-items have that of the last one. From
    /// source, `float v = -in[id]; barrier(CLK_LOCAL_MEM_FENCE); out[id] = v;` is wrong in groups of 2 to 256, but of 16.
    /// intel/llvm#23220 shows it. Upstream: `docs/upstream/intel-negations-across-barriers.md`.
    pub inverted_choices_fail: bool,
    /// **Q45. PoCL 7.1 (LLVM 21) on CPUs.** LLVM's vectoriser has to test that a counter with a mask
    /// does not wrap around. It drops this test if an address adds something to the counter.
    /// `llvm-project#191498` mends it.
    /// From source, `out[id] = in[(id & 7) + 8 * (a & 3)]` reads `in[8]` for `id == 8`, and so does the
    /// same with a counter of a loop. So a zero that LLVM does not know joins such a counter
    /// (`masked_counters` of `oclave_image`, decision 118). Left as it is: code of clang's `-O0`.
    pub masked_counters_run_on: bool,
    /// **Q46. Mesa's rusticl 26.1.6 on llvmpipe.** A load from an address that is the same for all
    /// work-items has no mask. Few instructions behind a condition are no branch, and code behind a
    /// `break` goes on. From source, `if (a == 77) v = *p;` ends the process with SIGSEGV for an invalid
    /// `p`. So such addresses become `address == id ? 0 : address` (`guarded_loads` of `oclave_image`).
    pub guarded_loads_run: bool,
    /// **Q52. PoCL 6.0 on CPUs.** A value that is needed behind a barrier is kept for each work-item,
    /// unless it is the same for all. PoCL takes values for the same that each round of a loop changes
    /// alike, also where work-items leave the loop in different rounds. Behind the barrier, all
    /// work-items then have the value of the last one. From source, `uneven_rounds` of
    /// `kernels/tests/optimised.cl` is wrong in groups of 16 and 64. PoCL's
    /// `VariableUniformityAnalysis.cc` explains it. So such values depend on the work-item where they
    /// enter the loop (`uneven_loops` of `oclave_image`, decision 123).
    pub uneven_rounds_collapse: bool,
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
    pub loops_without_end_go: bool,
    /// **Q54. PoCL 6.0 on CPUs.** In groups of one or two work-items, a loop directly behind a
    /// barrier vanishes, with all that follows. The kernel crashes or hangs, or an assertion of
    /// `ParallelRegion.cc` ends the process. From source, `barrier(CLK_LOCAL_MEM_FENCE); do { v += (100u
    /// | 16 * w) % 7 + 1; w *= 31; } while (v < a); barrier(…);` does it. Such a loop begins with a
    /// selection (`loops_behind_barriers` of `oclave_image`, decision 127), but not in code of `-O0`.
    /// Seen in twelve of 25,000 random kernels.
    pub phis_vanish: bool,
    /// **Q50. PoCL 6.0 (LLVM 18) on CPUs.** PoCL notes which values are the same for a group. It finds
    /// them by their addresses, and keeps the notes while LLVM removes and adds instructions. A phi that LLVM adds may
    /// get the address of a loop's counter. PoCL then keeps no copies of it, and results are wrong behind
    /// the next barrier. This depends on addresses: 905/k16 of the random kernels was wrong in 5 of 60
    /// processes. PoCL's `VariableUniformityAnalysis.cc` explains it (`invalidate` gives `false`). So
    /// counters begin with a selection, but for innermost loops that all work-items run together
    /// (`lone_counters` of `oclave_image`, decision 122).
    pub counters_are_mistaken: bool,
}

impl Quirks {
    pub(super) fn of(device: &Device) -> Self {
        let driver = driver(device);
        let faults = faults(device, driver.as_ref());
        let has = |fault| faults.has(fault);
        let is_old = driver.is_some_and(|driver| driver.version < Version(7, 0));
        Self {
            faults,
            usm_free_delay: has(Fault::Q3).then(|| {
                // PoCL 7's thread needs microseconds, or as long as it gets no processor.
                Duration::from_secs(if is_old { 60 } else { 1 })
            }),
            implicit_barriers: match has(Fault::Q13) {
                false => ImplicitBarriers::None,
                true if is_old => ImplicitBarriers::BesideOthers,
                true => ImplicitBarriers::Everywhere,
            },
            vector_argument_bytes: has(Fault::Q59).then(vector_argument_bytes),
            commands_per_buffer: if has(Fault::Q7) { 1000 } else { 1 << 16 },
            commands_per_updatable_buffer: if has(Fault::Q7) { 256 } else { 1 << 16 },
            in_order_only: has(Fault::Q1),
            one_module_at_a_time: has(Fault::Q2),
            variables_move: has(Fault::Q4),
            failures_are_silent: has(Fault::Q8),
            functions_are_called: has(Fault::Q9),
            takes_wraps_unasked: has(Fault::Q67),
            serial_work_items: has(Fault::Q11),
            first_item_runs_twice: has(Fault::Q12),
            continuations_for_several_ends: has(Fault::Q14),
            command_buffers_leak: has(Fault::Q6),
            joins_accesses: has(Fault::Q16),
            lanes_of_arguments_crash: has(Fault::Q17),
            binaries_lose_constants: has(Fault::Q18),
            binaries_spoil_variables: has(Fault::Q57),
            barriers_in_calls_crash: has(Fault::Q21),
            built_ins_in_calls_crash: has(Fault::Q58),
            private_memory_may_lack: has(Fault::Q22),
            unnamed_functions_crash: has(Fault::Q23),
            integer_pointer_constants_fail: has(Fault::Q27),
            constant_addresses_fail: has(Fault::Q55),
            unaligned_accesses_miss: has(Fault::Q56),
            slow_event_waits: has(Fault::Q29),
            slow_blocking_writes: has(Fault::Q28),
            fixpoints_are_checked: has(Fault::Q30),
            phis_vanish: has(Fault::Q54),
            zero_lanes_are_lost: has(Fault::Q39),
            masked_counters_run_on: has(Fault::Q45),
            quotients_are_bounds: has(Fault::Q40),
            telling_pointers_is_slow: has(Fault::Q31),
            joined_values_collapse: has(Fault::Q32),
            repeated_pairs_fail: has(Fault::Q36),
            ended_events_are_kept: has(Fault::Q37),
            queues_are_kept: has(Fault::Q38),
            deep_conditions_are_lost: has(Fault::Q42),
            inverted_choices_fail: has(Fault::Q43),
            guarded_loads_run: has(Fault::Q46),
            uneven_rounds_collapse: has(Fault::Q52),
            loops_without_end_go: has(Fault::Q53),
            counters_are_mistaken: has(Fault::Q50),
            maxima_are_bounds: has(Fault::Q35),
            differences_invert_bounds: has(Fault::Q61),
            functions_are_wrong: has(Fault::Q62),
            aligned_threes_write_four: has(Fault::Q66),
            group_votes_are_inverted: has(Fault::Q63),
            long_mad_sat_is_wrong: has(Fault::Q68),
            small_groups_cannot_exchange: has(Fault::Q69),
            sub_group_sizes_are_whole: has(Fault::Q64),
            half_broadcasts_crash: has(Fault::Q65),
            repeats_loads: has(Fault::Q33),
            pointer_arguments_are_slow: has(Fault::Q34),
            image_writes_read_early: has(Fault::Q41),
            image_buffers_crash: has(Fault::Q19),
            recorded_samplers_crash: has(Fault::Q20),
            generic_atomics_are_cpp: has(Fault::Q24),
            vectorised_loops_crash: has(Fault::Q26),
            casts_from_generic_crash: has(Fault::Q25),
            one_barrier: has(Fault::Q15),
            slow_command_buffers: has(Fault::Q5),
        }
    }
}

fn driver(device: &Device) -> Option<Driver> {
    let platform = device.platform();
    Driver::of(&DeviceTexts {
        platform: platform.name(),
        vendor: platform.vendor(),
        driver_version: &device.capabilities().driver_version,
        device: device.name(),
        is_cpu: device.kind() == DeviceKind::Cpu,
        is_gpu: device.kind() == DeviceKind::Gpu,
    })
}

/// The faults of a device, as `OCLAVE_FAULTS` changes them.
fn faults(device: &Device, driver: Option<&Driver>) -> FaultSet {
    if let Some(driver) = driver.filter(|driver| driver.is_newer_than_seen()) {
        log::info!(
            "{}: {driver} is newer than {}, and is treated like it",
            device.name(),
            driver.family.newest_seen()
        );
    }
    let known = driver.map_or(FaultSet::NONE, FaultSet::of);
    let Ok(words) = std::env::var("OCLAVE_FAULTS") else { return known };
    known.adjust(&words).unwrap_or_else(|error| {
        log::error!("OCLAVE_FAULTS: {error}; the faults of {} are as without it", device.name());
        known
    })
}

/// The widest vectors that PoCL passes in registers. It has a library of built-in functions for each
/// class of processors, and takes one by the features of the host or by this variable.
fn vector_argument_bytes() -> u32 {
    match std::env::var("POCL_KERNELLIB_NAME").as_deref() {
        Ok("avx512") => 64,
        Ok("avx" | "avx2" | "avx_f16c" | "avx_fma4") => 32,
        Ok("sse2" | "ssse3" | "sse41") => 16,
        // PoCL ignores other names.
        _ => register_bytes(),
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn register_bytes() -> u32 {
    match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx")) {
        (true, _) => 64,
        (_, true) => 32,
        _ => 16,
    }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn register_bytes() -> u32 {
    16
}
