//! Known faults of drivers that this layer works around. Each is found by platform and version,
//! never by hope.

use std::time::Duration;

use oclave_image::passes::ImplicitBarriers;

use crate::driver::{Device, DeviceKind};

/// Which work-arounds a context needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Out-of-order queues of Intel's CPU runtime (2026.2 and all before that were seen) cannot be
    /// used by a process with threads:
    /// - `clFinish` or `clWaitForEvents` for one, while another thread waits for any queue, hang
    ///   for ever. (Two threads, a queue each, 20 dependent kernels, a marker and a wait, 1000
    ///   times: `clFinish` hangs in every run, `clWaitForEvents` in every second.) Waiting threads
    ///   run tasks of other queues, and wait for tasks that they stand in.
    /// - Without any thread inside a wait (an event callback and a condition variable) they do not
    ///   hang, but releasing one then does, or crashes, in 11 of 12 runs, with a `clFinish` before
    ///   it or not: the last task of a queue destroys the queue's task list, which waits for that
    ///   task.
    /// - Enqueueing to one from two threads crashed in a quarter of the runs.
    ///
    /// In-order queues did none of this in any run (2 to 4 threads, own and shared queues, queues
    /// made and released 3000 times a thread). So an out-of-order queue is an in-order one
    /// underneath: any order is allowed, that of submission included. Nothing is lost in speed on
    /// two cores (independent one-group kernels: 4971 µs in order, 6311 µs out of order for 1000);
    /// on many cores independent kernels too small to fill the machine no longer run side by side,
    /// unless they are put on several queues.
    ///
    /// `tests/threads.rs` shows the first with this work-around switched off.
    pub(crate) in_order_only: bool,
    /// PoCL (6.0 and 7.1): `clCreateProgramWithIL` reads the list of specialization constants,
    /// which `llvm-spirv` prints, with `strtok`, whose state is one for the process. When two
    /// threads are in it, constants get lost or mixed up.
    ///
    /// Seen as CL_INVALID_SPEC_ID for a constant that the module has (7.1, sixteen programs by
    /// eight threads beside other builds: once in 20 runs). So: one thread of the process at a
    /// time.
    pub(crate) one_module_at_a_time: bool,
    /// How long USM rests, to be given out again, before the driver gets it back (`spare.rs`);
    /// `None`: not at all.
    ///
    /// PoCL 7.1 has a record of the address of each allocation, beside the one that
    /// `clMemFreeINTEL` takes away, which goes when the last command that used the memory lets go
    /// of it: some time after that command's event is complete. Memory that is freed in between may
    /// come out of the next allocation, whose record then overlaps the old one, and PoCL aborts the
    /// process ("Overlapping BDA pointer!"). The same happens when another thread allocates while
    /// `clMemFreeINTEL` is between freeing memory and record. Seen in one run of the graph
    /// scenarios in some tens, and in one second when threads free memory behind its last command
    /// and allocate as much (`tests/threads.rs` does both with and without the work-around).
    ///
    /// PoCL 6.0 never takes the second record away: each allocation leaves 0.6 KiB, and makes later
    /// ones slower (256 bytes allocated and freed, microseconds: 38 at first, 641 after 30,000
    /// times; 0.2 on PoCL 7.1). So memory seldom goes back there.
    pub(crate) usm_free_delay: Option<Duration>,
    /// PoCL 6.0 lays the program-scope variables of a program out in an order that differs from
    /// build to build of the same module (by addresses inside the compiler), and keeps compiled
    /// kernels on disk under a key that does not know the order. Kernels compiled by different
    /// builds then disagree where a variable is, and read and write another one.
    ///
    /// Seen as lost writes in all programs with more than one variable, in every run, once a test
    /// program that built the same program in several threads had filled PoCL's cache (one kernel
    /// of a program wrote a variable to byte 8 that the others read at byte 0). So: nothing of ours
    /// lives in program-scope variables there.
    pub(crate) variables_move: bool,
    /// Intel's CPU runtime and PoCL run commands of a command buffer no faster than the same
    /// commands put on a queue, mostly slower: 1.1 to 2.4 and 1.0 to 1.9 times, for chains and
    /// independent kernels, in order and out of order.
    pub(crate) slow_command_buffers: bool,
    /// Intel's CPU runtime (2026.2) leaks 16 KiB with each replay of a command buffer of 8 kernels
    /// and 8 KiB with each buffer. Raw OpenCL in C does as well. A warning is logged;
    /// `tests/leaks.rs` measures it.
    pub(crate) command_buffers_leak: bool,
    /// So many commands at most in a command buffer. PoCL appends each to a list by walking it from
    /// its start: recording a thousand takes 1.1 to 1.7 µs a command, two thirds of it for the
    /// walk, ten thousand 12 µs. It also takes 16 bytes of the caller's stack for each command when
    /// the buffer is put on a queue.
    pub(crate) commands_per_buffer: usize,
    /// The same for buffers that updates have recorded anew: small ones, of which few are, although
    /// replays of a thousand commands take up to 1.3 times as long in four buffers as in one.
    pub(crate) commands_per_updatable_buffer: usize,
    /// PoCL 6.0 does not call the callbacks of a user event whose status is set to an error. So
    /// events from outside are asked whether they have ended.
    pub(crate) failures_are_silent: bool,
    /// PoCL 6.0 calls a function for `mad`, which is not inlined, so that no loop with `a * b + c`
    /// is vectorised, nor are work-items. The function multiplies and adds. (Kernels of 1024
    /// work-items from lists: 2.7 and 0.7 ns for each `mad` of an item with it, less than 0.1 ns
    /// without; PoCL 7.1 inlines it.)
    pub(crate) mad_is_called: bool,
    /// How long a wait asks for an event's status, and lets other threads run in between, before it
    /// sleeps; `None`: not at all.
    ///
    /// PoCL's threads and those that wait for them wake each other once for each command that is
    /// waited for, which takes 5 to 50 µs as the operating system puts them on cores that sleep or
    /// do not. Waiting so leaves out one of the two. (Launch and wait of a kernel of 2 µs, medians
    /// of raw OpenCL in twelve runs on 6.0 and 7.1: 16 to 76 µs by `clFinish` or `clWaitForEvents`,
    /// 5 to 8 in nine runs and 20 to 38 in three by asking; of 16 µs: 31 to 97, and 20 to 42.)
    /// Intel's runtime lets the thread that waits run kernels itself: asking takes a core away from
    /// it (eight groups of 16 µs on two cores: 78 and 140 µs).
    pub(crate) spin_before_block: Option<Duration>,
    /// PoCL on CPUs runs the work-items of a group one after the other, from barrier to barrier,
    /// each with a loop and a context of its own in kernels that have both. So the first of them
    /// alone runs the tasks of a list that do not need groups. (A list of 1000 tasks of 64 items in
    /// such a kernel: 255 and 234 µs on 6.0 and 7.1 if all share them, 110 and 120 so.)
    pub(crate) serial_work_items: bool,
    /// PoCL (6.0 and 7.1) runs what only the first work-item of a group reaches twice, if the
    /// kernel has barriers on some of its ways and the group has one work-item in the first
    /// dimension. (Tasks without groups in lists of groups: 6.0 with 1 × n and 1 × 1 × n work-items
    /// from three on, 7.1 with one work-item, too.)
    pub(crate) first_item_runs_twice: bool,
    /// PoCL adds barriers to innermost loops whose bound is the same for a group (6.0 in kernels
    /// with barriers, 7.1 in all), also where work-items come to the loop at different times, and
    /// then runs them as often as the first work-item of the group. See
    /// `oclave_image::passes::steer`; `POCL_WORK_GROUP_METHOD=cbs` in the environment switches it
    /// off beside other barriers.
    ///
    /// Seen with raw OpenCL, from source and from SPIR-V (`collect` of `tests/work_items.rs`: 864
    /// of 1024 elements wrong on 7.1), and read in the sources of both (`ImplicitLoopBarriers.cc`,
    /// `VariableUniformityAnalysis.cc`).
    pub(crate) implicit_barriers: ImplicitBarriers,
    /// PoCL from 7 on compiles kernels in which an outermost loop with barriers has several ends by
    /// continuations (`WorkitemLoops::canHandleKernel`), which are right for barriers under
    /// conditions, too. Its usual way is not: of 168 random kernels with barriers 2 were wrong and
    /// 4 aborted the process. By continuations these six were right.
    pub(crate) continuations_for_several_ends: bool,
    /// PoCL 6.0 has continuations, too, but takes them only where `POCL_WORK_GROUP_METHOD=cbs` is
    /// set. Barriers under conditions, and in loops with several ends, abort the process in one of
    /// a hundred random kernels (`WorkitemLoops.cc:1274`) and are computed wrongly in about as
    /// many. Such kernels get one barrier in one loop (`oclave_image`'s `one_barrier.rs`).
    pub(crate) one_barrier: bool,
    /// PoCL (6.0 with LLVM 18, 7.1 with LLVM 21) marks loops over work-items as parallel, and LLVM
    /// then joins stores to neighbouring elements, or loads of them, across accesses of the same
    /// work-item to one of these elements (`InterleavedAccessInfo`).
    ///
    /// Seen with raw OpenCL from source, without any barrier: `p[4*i+1] = 7; p[4*i+2] = 5; p[4*i+3] =
    /// 3; p[4*i] = p[4*i + (a & 3)] + 1;` reads what was in memory before. `tests/work_items.rs`
    /// shows three more.
    pub(crate) joins_accesses: bool,
}

impl Quirks {
    pub(crate) fn of(device: &Device) -> Self {
        // For the tests that show what they are for; not in what users build.
        #[cfg(feature = "record")]
        if std::env::var_os("OCLAVE_WITHOUT_WORKAROUNDS").is_some() {
            return Self::default();
        }
        let is_pocl_on_cpu = is_pocl(device) && device.kind() == DeviceKind::Cpu;
        Self {
            in_order_only: is_intel_cpu_runtime(device),
            one_module_at_a_time: is_pocl(device),
            usm_free_delay: usm_free_delay(device),
            variables_move: is_pocl(device),
            failures_are_silent: is_pocl_before_7(device),
            mad_is_called: is_pocl_before_7(device),
            spin_before_block: is_pocl(device).then_some(Duration::from_micros(100)),
            serial_work_items: is_pocl_on_cpu,
            first_item_runs_twice: is_pocl_on_cpu,
            implicit_barriers: match is_pocl_on_cpu {
                false => ImplicitBarriers::None,
                true if is_pocl_before_7(device) => ImplicitBarriers::BesideOthers,
                true => ImplicitBarriers::Everywhere,
            },
            continuations_for_several_ends: is_pocl_on_cpu && !is_pocl_before_7(device),
            command_buffers_leak: is_intel_cpu_runtime(device),
            joins_accesses: is_pocl_on_cpu,
            one_barrier: is_pocl_on_cpu && is_pocl_before_7(device),
            slow_command_buffers: is_intel_cpu_runtime(device) || is_pocl(device),
            commands_per_buffer: if is_pocl(device) { 1000 } else { 1 << 16 },
            commands_per_updatable_buffer: if is_pocl(device) { 256 } else { 1 << 16 },
        }
    }
}

/// Every version that was seen has the fault; when one comes without it, compare the driver's
/// version here.
fn is_intel_cpu_runtime(device: &Device) -> bool {
    device.kind() == DeviceKind::Cpu && device.platform().vendor().contains("Intel")
}

fn usm_free_delay(device: &Device) -> Option<Duration> {
    // PoCL 7's thread needs microseconds, or as long as it gets no processor.
    let seconds = if is_pocl_before_7(device) { 60 } else { 1 };
    is_pocl(device).then(|| Duration::from_secs(seconds))
}

fn is_pocl_before_7(device: &Device) -> bool {
    is_pocl(device) && !device.platform().version().contains("PoCL 7")
}

fn is_pocl(device: &Device) -> bool {
    device.platform().name().contains("Portable Computing Language")
}
