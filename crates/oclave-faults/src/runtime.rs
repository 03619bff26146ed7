//! Faults that are worked around by other calls of the driver, and not by other SPIR-V. `oclave-driver` and `oclave` ask for them.

use crate::table::{
    INTEL, LLVMPIPE, NVIDIA, POCL, POCL_6, POCL_7, POCL_CPU, POCL_CPU_6, POCL_CPU_7, RUSTICL, fault,
};

fault! {
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
    /// `tests/device/commands/threads.rs` shows the first fault (`ci/sweep threads`).
    Q1 {
        affects: [INTEL],
        seen: Programs,
        symptom: "Waits hang, and releases of queues crash, if several threads use out-of-order queues.",
        remedy: "Out-of-order queues are in-order ones underneath.",
        upstream: [],
    }
}

fault! {
    /// **Q2. PoCL 6.0 and 7.1.** `clCreateProgramWithIL` parses the list of specialization
    /// constants with `strtok`, which has one state for the process. Two threads lose or mix up
    /// constants: CL_INVALID_SPEC_ID in one of 20 runs of sixteen programs by eight threads.
    ///
    /// So one thread of the process creates programs at a time.
    Q2 {
        affects: [POCL],
        seen: Programs,
        symptom: "Two threads that create programs with specialization constants lose or mix them up.",
        remedy: "One thread of the process creates programs at a time.",
        upstream: [],
    }
}

fault! {
    /// **Q3. PoCL 7.1.** Freed USM and new USM overlap.
    ///
    /// PoCL keeps two records of an allocation. `clMemFreeINTEL` removes one of them. 7.1 removes
    /// the other one later than the event of the last command that used the memory. Memory that
    /// is allocated in between may overlap the old record, and PoCL aborts ("Overlapping BDA
    /// pointer!"). The same happens when another thread allocates during `clMemFreeINTEL`. Threads
    /// that free memory behind its last command and allocate as much see it within a second.
    ///
    /// So freed memory is kept for a second, and allocated again.
    Q3 {
        affects: [POCL_7],
        seen: Programs,
        symptom: "Freed USM and new USM overlap, which ends the process (\"Overlapping BDA pointer!\").",
        remedy: "Freed memory is kept for a second, and allocated again.",
        upstream: ["pocl#1942"],
    }
}

fault! {
    /// **Q4. PoCL 6.0.** The order of program-scope variables in memory differs between builds of
    /// one module. PoCL keeps compiled kernels on disk under a key that does not contain the
    /// order. Kernels of different builds then disagree where a variable is.
    ///
    /// All programs with more than one variable lost writes, in every run, once several threads
    /// had built the same program. So the library puts nothing into program-scope variables there.
    Q4 {
        affects: [POCL],
        seen: Programs,
        symptom: "Kernels of different builds disagree where program-scope variables are, and lose writes.",
        remedy: "Device globals never are program-scope variables.",
        upstream: [],
    }
}

fault! {
    /// **Q5. Intel's CPU runtime and PoCL.** Command buffers are slower than the same commands on a
    /// queue. They take 1.1 to 2.4 times as long on Intel's runtime, 1.0 to 1.9 times on PoCL.
    Q5 {
        affects: [INTEL, POCL],
        seen: Measurements,
        symptom: "Command buffers take up to 2.4 times as long as the same commands on a queue.",
        remedy: "`ReplayStrategy::Auto` does not choose them.",
        upstream: [],
    }
}

fault! {
    /// **Q6. Intel's CPU runtime 2026.2.** Each replay of a command buffer of 8 kernels leaks
    /// 16 KiB, each command buffer 8 KiB. Raw OpenCL in C leaks as much. The log has a warning, and
    /// `tests/device/memory/leaks.rs` measures the leak.
    Q6 {
        affects: [INTEL],
        seen: Measurements,
        symptom: "Each replay of a command buffer of 8 kernels leaks 16 KiB, each command buffer 8 KiB.",
        remedy: "A warning in the log.",
        upstream: [],
    }
}

fault! {
    /// **Q7. PoCL.** The most commands in a command buffer. PoCL walks its list of commands to
    /// append one: 1.1 to 1.7 µs a command in a thousand, 12 µs in ten thousand. An enqueued buffer
    /// also takes 16 bytes of the caller's stack for each command.
    Q7 {
        affects: [POCL],
        seen: Measurements,
        symptom: "Appending to a command buffer walks the whole list: 12 µs a command at 10,000.",
        remedy: "Command buffers have at most 1000 commands, and 256 where updates record them again.",
        upstream: [],
    }
}

fault! {
    /// **Q8. PoCL 6.0.** No callback is called when a user event gets an error as its status
    /// (pocl#1430). So the library polls events from outside.
    Q8 {
        affects: [POCL_6],
        seen: Programs,
        symptom: "No callback is called when a user event gets an error as its status.",
        remedy: "Events from outside are polled.",
        upstream: ["pocl#1430"],
    }
}

fault! {
    /// **Q11. PoCL on CPUs.** The work-items of a group run one after the other, from barrier to
    /// barrier. Kernels with loops and barriers keep a context for each work-item. So one work-item
    /// alone runs the tasks of a list that need no group. A list of 1000 tasks of 64 items took 255
    /// µs on 6.0 and 234 µs on 7.1 when all work-items shared them. This way it took 110 µs and 120
    /// µs.
    Q11 {
        affects: [POCL_CPU],
        seen: Measurements,
        symptom: "Kernels with loops and barriers keep a context for each work-item.",
        remedy: "One work-item runs the tasks of a list that need no group (interpreter).",
        upstream: [],
    }
}

fault! {
    /// **Q12. PoCL 6.0 and 7.1 on CPUs.** Code that only the first work-item of a group reaches may
    /// run twice. It does if some paths of the kernel have barriers and the group has one work-item
    /// in dimension 0. In lists, 6.0 showed it with three work-items or more, 7.1 with one, too.
    Q12 {
        affects: [POCL_CPU],
        seen: Programs,
        symptom: "Code that only the first work-item of a group reaches runs twice, in groups of one in dimension 0 with barriers on some paths.",
        remedy: "The interpreter's groups have at least two work-items.",
        upstream: [],
    }
}

fault! {
    /// **Q18. Mesa's rusticl 26.1.6.** A program from a binary (`clGetProgramInfo`,
    /// `clCreateProgramWithBinary`) has the default values of its specialization constants. The
    /// values that the binary was made with are lost. `G-KRN-003` computed 11, 11 and 11 instead of 28, 53 and
    /// 11 with a warm cache. So programs with other values are compiled each time.
    Q18 {
        affects: [RUSTICL],
        seen: Programs,
        symptom: "Programs from binaries have default values of specialization constants.",
        remedy: "Programs with other values are not cached on disk.",
        upstream: [],
    }
}

fault! {
    /// **Q19. PoCL 6.0.** A kernel that is given a one-dimensional image of a buffer crashes the
    /// process in `clEnqueueNDRangeKernel`, from any buffer. Kernels take an ordinary
    /// one-dimensional image for it, and compute the same. So such images are ordinary ones there,
    /// and not wider than these.
    Q19 {
        affects: [POCL_6],
        seen: Programs,
        symptom: "A kernel with a one-dimensional image of a buffer crashes.",
        remedy: "An ordinary one-dimensional image.",
        upstream: [],
    }
}

fault! {
    /// **Q20. PoCL 6.0 and 7.1.** A command buffer with a kernel that has a sampler argument crashes
    /// the process: `POclRetainSampler` finds no sampler where it looks for one. Such kernels are
    /// enqueued between command buffers. Debian's PoCL 7.1 hides its command buffers; the crash
    /// shows on `pocl7cb` of `ci/setup`.
    Q20 {
        affects: [POCL],
        seen: Programs,
        symptom: "A command buffer with a kernel that has a sampler argument crashes.",
        remedy: "Such kernels are enqueued between command buffers.",
        upstream: [],
    }
}

fault! {
    /// **Q25. PoCL 7.1 on CPUs.** `to_global`, `to_local` and `to_private`
    /// (`OpGenericCastToPtrExplicit`) end the process with SIGSEGV in `clBuildProgram`. PoCL 6.0
    /// takes them. So modules with them get pointers to concrete address spaces (decisions 92 and
    /// 95). What cannot be resolved is an error.
    Q25 {
        affects: [POCL_CPU_7],
        seen: Programs,
        symptom: "`to_global`, `to_local` and `to_private` crash the compiler.",
        remedy: "Pointers to concrete address spaces (`generic_pointers`).",
        upstream: [],
    }
}

fault! {
    /// **Q28. Intel's CPU runtime 2026.2.** A `clEnqueueWriteImage` that blocks is slower than one
    /// with an event and `clWaitForEvents`, but for small images. This was measured in C with RGBA
    /// images of 8 bits. Of 4 KiB they took 3.3 and 4.0 µs. Of 16 KiB they took 4.9 and 4.5 µs, of
    /// 64 KiB 13 and 7 µs, of 256 KiB 150 and 19 µs. A `clEnqueueReadImage` that blocks is faster or
    /// as fast in all these sizes.
    Q28 {
        affects: [INTEL],
        seen: Measurements,
        symptom: "A blocking write of an image is up to eight times slower than one with an event.",
        remedy: "Writes with an event, from 16 KiB on.",
        upstream: [],
    }
}

fault! {
    /// **Q29. Mesa's rusticl 26.1.6 on llvmpipe.** `clWaitForEvents` is slower than `clFinish`, which
    /// waits for the queue's last command as well. This was measured in C with fills of images of
    /// 32 × 32 pixels: 23.4 and 19.2 µs. On Intel and PoCL `clFinish` is as fast or slower.
    Q29 {
        affects: [LLVMPIPE],
        seen: Measurements,
        symptom: "`clWaitForEvents` is slower than `clFinish`.",
        remedy: "`clFinish` where the event is the queue's last.",
        upstream: [],
    }
}

fault! {
    /// **Q31. NVIDIA 580.159.** A kernel that was given `CL_KERNEL_EXEC_INFO_SVM_PTRS` is launched
    /// more slowly each time, also where the list stays the same. A launch and a wait took 16.4 µs
    /// without it, 17.8 with one allocation, 22 with 8, 40 with 32 and 79 with 64. In a context
    /// with one device, kernels reach all SVM without being told. So the driver is not told there.
    Q31 {
        affects: [NVIDIA],
        seen: Measurements,
        symptom: "Launches get slower with each list of SVM pointers that a kernel is given.",
        remedy: "No lists in contexts of one device, where kernels reach all SVM.",
        upstream: [],
    }
}

fault! {
    /// **Q34. NVIDIA 580.159.** Each launch is slower by the arguments that are memory, also if they
    /// are set once. A launch in order took 13.5 µs with a `cl_mem`, 14.1 with SVM, and 13.0 with
    /// the same address as a number of 64 bits. With two pointers, it took 15.3 µs with SVM, and 13.0
    /// with numbers. In a context with one device, kernels reach all SVM without being told. So
    /// pointers are numbers there.
    Q34 {
        affects: [NVIDIA],
        seen: Measurements,
        symptom: "Each launch is slower by the arguments that are memory.",
        remedy: "Pointers are passed as numbers.",
        upstream: [],
    }
}

fault! {
    /// **Q37. Mesa's rusticl 26.1.6.** An event keeps the events of its wait list, also when all have
    /// ended. So a chain of events, each of which waited for the one before, stays as long as its
    /// last one. In raw OpenCL in C, a marker of such a chain left 288 bytes, and none when the last
    /// was released. Replays of a graph are such a chain. So events that have ended do not go into
    /// wait lists.
    ///
    /// If each command is put on a queue while the one before still runs, the chain grows all the
    /// same.
    Q37 {
        affects: [RUSTICL],
        seen: Measurements,
        symptom: "An event keeps the events of its wait list.",
        remedy: "Events that have ended do not go into wait lists.",
        upstream: [],
    }
}

fault! {
    /// **Q38. Mesa's rusticl 26.1.6 on llvmpipe.** A queue has a context of Mesa's, of some 8 MB. Queues
    /// that are released leave theirs to later queues, but only a moment later. So a process keeps as
    /// many as it ever had at once, those moments included. In raw OpenCL in C, a process with 28,800
    /// queues, each released at once, had 516 MB on a busy machine. With a pause of 1 ms behind each
    /// release, one with 12,000 had 172 MB. A process that makes many queues gets a warning in the
    /// log, once.
    Q38 {
        affects: [LLVMPIPE],
        seen: Measurements,
        symptom: "A process keeps 8 MB for each queue that it had at once.",
        remedy: "A warning in the log.",
        upstream: [],
    }
}

fault! {
    /// **Q41. NVIDIA 580.159.** `clEnqueueWriteImage` reads host memory when it is enqueued, before the
    /// events that it waits for. Where a read into the same host memory came before, it wrote zeroes
    /// to the image. So SVM is copied to images and back by buffers over it. On Mesa's rusticl 26.1,
    /// two tests of copies fail by such buffers, so other drivers get none.
    Q41 {
        affects: [NVIDIA],
        seen: Programs,
        symptom: "`clEnqueueWriteImage` reads host memory before the events that it waits for.",
        remedy: "SVM is copied to images by buffers over it.",
        upstream: [],
    }
}

fault! {
    /// **Q57. PoCL 6.0.** If a program's binary is asked for before its first launch
    /// (`CL_PROGRAM_BINARIES`), variables at program scope hold garbage in that process. So programs
    /// with such variables are not kept on disk. `tests/device/programs/cache.rs` shows it.
    Q57 {
        affects: [POCL_6],
        seen: Programs,
        symptom: "Program-scope variables hold garbage if the binary is read before the first launch.",
        remedy: "Programs with such variables are not cached on disk.",
        upstream: ["pocl-variables-after-binaries.md"],
    }
}

fault! {
    /// **Q67. PoCL 6.0.** It takes SPIR-V 1.2, and does not say which extensions. It takes decorations of
    /// sums that do not wrap. Without them, its compiler does not see that neighbouring work-items access
    /// neighbouring elements: a stencil of five points took 1.8 times as long as from source.
    Q67 {
        affects: [POCL_6],
        seen: Measurements,
        symptom: "The driver does not say that it takes decorations of sums that do not wrap, and vectorises less without them.",
        remedy: "Modules keep these decorations.",
        upstream: [],
    }
}

fault! {
    /// **Q69. PoCL 6.0 on CPUs.** In groups of one or two work-items, work-group and sub-group functions end
    /// the process: "undefined symbol: __pocl_work_group_alloca". `POCL_WORK_GROUP_METHOD=loops` in the
    /// environment avoids it. So such launches are refused.
    Q69 {
        affects: [POCL_CPU_6],
        seen: Programs,
        symptom: "Work-group and sub-group functions end the process in groups of one or two work-items.",
        remedy: "The launch is refused.",
        upstream: ["pocl-work-group-all.md"],
    }
}

fault! {
    /// **Q70. PoCL 6.0.** PoCL never removes its second record of freed USM (Q3). Each allocation leaves
    /// 0.6 KiB, and later ones get slower. One of 256 bytes takes 38 µs at first and 641 µs after 30,000
    /// times. PoCL 7.1 takes 0.2 µs, since pocl#1942.
    ///
    /// So freed memory is kept for a minute, and allocated again.
    Q70 {
        affects: [POCL_6],
        seen: Measurements,
        symptom: "Allocations of USM get slower with their number.",
        remedy: "Freed memory is kept for a minute, and allocated again.",
        upstream: ["pocl#1942"],
    }
}

fault! {
    /// **Q71. NVIDIA 580.159.** A callback of `clSetEventCallback` comes up to 20 ms after the command has ended (H100).
    /// Of a kernel of 8.3 ms, `clWaitForEvents` returns after 8.3 ms, and the callback comes after 9 to 20 ms, mostly 20.
    ///
    /// So events are asked again and again. Their end is noticed late by an eighth of their time, by 1 ms at most.
    Q71 {
        affects: [NVIDIA],
        seen: Measurements,
        symptom: "A callback comes up to 20 ms after the end of the command.",
        remedy: "Events are asked again and again.",
        upstream: [],
    }
}

/// What a user can do about [`Fault::Q69`](crate::Fault::Q69).
pub const REMEDY_OF_Q69: &str =
    "use larger groups, or set POCL_WORK_GROUP_METHOD=loops and OCLAVE_FAULTS=-Q69 in the environment";

fault! {
    /// **Q72. PoCL 6.0 and 7.1.** A callback on a command that depends on a failed user event is told that all is well. So the event
    /// itself is asked, too.
    Q72 {
        affects: [POCL],
        seen: Programs,
        symptom: "Callbacks are told that all is well of user events that failed.",
        remedy: "The event is asked, too.",
        upstream: [],
    }
}

fault! {
    /// **Q73. PoCL.** Some bit fields have 4 bytes instead of 8, as in OpenCL 2. So both sizes are taken.
    Q73 {
        affects: [POCL],
        seen: Programs,
        symptom: "Some 64-bit fields of device queries have 32 bits.",
        remedy: "Both sizes are taken.",
        upstream: [],
    }
}

fault! {
    /// **Q74. PoCL 3.1.** It crashes in most runs where two threads ask for platforms or devices for the first time at once.
    Q74 {
        affects: [POCL.before(4, 0)],
        seen: Programs,
        symptom: "Two threads that ask for the first platforms or devices at once crash.",
        remedy: "One thread of the process asks at a time.",
        upstream: [],
    }
}

fault! {
    /// **Q75. PoCL 6.0.** A command buffer without commands waits for none of the events in its wait list.
    Q75 {
        affects: [POCL_6],
        seen: Programs,
        symptom: "An empty command buffer waits for nothing.",
        remedy: "Command buffers without commands are not enqueued.",
        upstream: [],
    }
}

fault! {
    /// **Q76. PoCL 3.1.** Its command buffers (extension version 0.9.0) do not capture arguments of kernels when commands are recorded.
    Q76 {
        affects: [POCL.before(4, 0)],
        seen: Programs,
        symptom: "Command buffers read arguments of kernels when they run, not when they are recorded.",
        remedy: "Versions of the extension before 0.9.4 are not used.",
        upstream: [],
    }
}

fault! {
    /// **Q84. PoCL 7.1.** `CL_KERNEL_EXEC_INFO_SVM_PTRS` gives a kernel a list of allocations. While the kernel runs,
    /// PoCL keeps the second record (Q3) of each, even if the memory is freed. The kernel may run for longer than freed
    /// memory is kept. Then new memory overlaps such a record, and PoCL aborts ("Overlapping BDA pointer!").
    /// `memory_comes_and_goes_while_a_kernel_follows_pointers` aborted in every run. With USM, it did not.
    ///
    /// Kernels on a CPU reach all memory without being told. So the driver is not told there.
    Q84 {
        affects: [POCL_CPU_7],
        seen: Programs,
        symptom: "Memory that is freed while a kernel with a list of SVM pointers runs ends the process.",
        remedy: "No lists, as kernels reach all SVM.",
        upstream: ["pocl#1942"],
    }
}

fault! {
    /// **Q87. PoCL 6.0 and 7.1.** When it is asked for a program's binary, it compiles each kernel of the program once more,
    /// for any work-group size. PoCL also keeps the kernels that it compiled for launches. So the program cache gains little.
    ///
    /// These are times of processes that launch one small kernel:
    ///
    /// | | PoCL 6.0 | PoCL 7.1 |
    /// |---|---|---|
    /// | first process, with and without the cache | 2.4 s, 1.0 s | 2.7 s, 1.9 s |
    /// | later processes, with and without the cache | 130 ms, 165 ms | 95 ms, 135 ms |
    Q87 {
        affects: [POCL],
        seen: Measurements,
        symptom: "A program's binary makes the driver compile each kernel once more.",
        remedy: "Programs are cached on disk only if that was asked for.",
        upstream: [],
    }
}

fault! {
    /// **Q88. NVIDIA 580.159.** The event of `clEnqueueSVMMigrateMem` ends before the events that the command waits for. On an in-order
    /// queue, it ends before the commands in front of it.
    ///
    /// A program in C enqueued some commands and a migration on an H200. It waited for the event of the migration, and read the result
    /// on another queue. In one process, 4,888 of 38,363 results were wrong. In 16 processes at once, 31,094 of 35,566 were. With a
    /// marker behind the migration, or without the migration, none was wrong.
    ///
    /// The migration has no effect there: a kernel that reads 256 MiB which the host wrote takes as long without it. So it is left out.
    Q88 {
        affects: [NVIDIA],
        seen: Programs,
        symptom: "The event of `clEnqueueSVMMigrateMem` ends before the commands in front of it.",
        remedy: "A marker in its place, as it moves nothing there.",
        upstream: [],
    }
}

fault! {
    /// **Q89. NVIDIA 580.159.** A context in which `clEnqueueSVMMemFill` was called is never released. The process keeps some 520 MiB of
    /// the device's memory for each one. On an H200, `clCreateContext` fails with `CL_OUT_OF_HOST_MEMORY` after a hundred contexts.
    ///
    /// A program in C made two contexts for each of 25 kinds of commands and released all objects. The contexts with fills of SVM kept
    /// 1,047 MiB, with any pattern, with and without an event. All others kept nothing. One of these filled a buffer over the SVM by
    /// `clEnqueueFillBuffer`.
    ///
    /// Memory that comes from the user's own `clSVMAlloc` has no such buffer, and is still filled by `clEnqueueSVMMemFill`.
    Q89 {
        affects: [NVIDIA],
        seen: Programs,
        symptom: "A context in which `clEnqueueSVMMemFill` was called is never released.",
        remedy: "SVM is filled by buffers over it.",
        upstream: [],
    }
}

fault! {
    /// **Q90. NVIDIA 580.159.** `clSVMAlloc` returns null if another thread of the process calls `clSVMAlloc` or `clSVMFree` at the
    /// same time, in the same context or another.
    ///
    /// In a program in C on an H200, 13 threads allocated and freed 1 MiB again and again. Each with its own context, 629 of 3,632
    /// allocations failed; with one context for all, 456 of 2,456; of two threads, 5 of 3,812. Nearly all succeeded when they were tried
    /// again. With a lock around both functions, none of 7,960 failed. With a lock around `clSVMAlloc` only, 685 of 3,408 did.
    Q90 {
        affects: [NVIDIA],
        seen: Programs,
        symptom: "`clSVMAlloc` fails while another thread allocates or frees SVM.",
        remedy: "One thread at a time allocates or frees SVM.",
        upstream: [],
    }
}
