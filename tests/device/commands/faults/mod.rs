//! Every OpenCL call of representative programs fails once, on the selected device.
//!
//! No failure causes a panic, a hang or wrong data. Objects are left only if the failed call
//! explains it. The error names the call.
//!
//! `cargo test` fails the first call of a quarter of the names: once, and from then on. With `OCLAVE_SWEEP=all`, as in
//! `ci/sweep faults`, every call fails. `OCLAVE_SWEEP_PROGRAM` selects programs by a part of their names.
//! `OCLAVE_SWEEP_CALL` selects calls in the same way.

mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::common::{name_of, process_of, settle, settle_within};
use oclave::device::DeviceKind;
use oclave::record::Session;
use oclave::{Device, ErrorKind};
use programs::PROGRAMS;

/// A program that checks its own results: an `Ok` says that they were right.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Device) -> oclave::Result<()>,
}

/// Whether all calls fail from one on, so that nothing can be tried again.
pub(crate) static FAULT_LASTS: AtomicBool = AtomicBool::new(false);

/// Programs that hang are ended, with the fault that made them hang. On a busy machine a program
/// whose kernels are compiled may take a minute.
const PATIENCE: Duration = Duration::from_secs(600);

/// Processes at a time. On an H200, about a hundred contexts can be in use, over all processes. Failed
/// releases leave contexts.
const AT_ONCE: usize = 3;

/// One call of a name, or all from it on.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Once(u64),
    From(u64),
}

/// What came of the faults of one program.
#[derive(Default)]
struct Figures {
    failed: u64,
    errors: u64,
    worked_around: u64,
    not_reached: u64,
    left: usize,
    /// What must not happen.
    wrong: Vec<String>,
}

#[device_test]
fn programs_survive_the_failure_of_each_call(device: Device) {
    let all = std::env::var_os("OCLAVE_SWEEP").is_some_and(|value| value == "all");
    let wanted = std::env::var("OCLAVE_SWEEP_PROGRAM").unwrap_or_default();
    println!("program,device,calls_failed,errors,worked_around,not_reached,left_by_failed_calls");
    let mut wrong = Vec::new();
    let (mut programs, mut apart) = (0, Vec::new());
    let is_wanted = |name: &str| match wanted.strip_prefix('=') {
        Some(wanted) => name == wanted,
        None => name.contains(&wanted),
    };
    for program in PROGRAMS.iter().filter(|program| is_wanted(program.name)) {
        programs += 1;
        if program.name == "both_sides" && device.kind() != DeviceKind::Cpu {
            println!("{} does not apply: only CPUs have the role of the host", program.name);
            continue;
        }
        // Once before, so that what happens once in a process has happened.
        if let Err(error) = (program.run)(&device) {
            assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{}: {error:#}", program.name);
            println!("{} does not apply: {error}", program.name);
            continue;
        }
        // What a failed release leaves keeps its context, and NVIDIA's driver refuses more contexts after some
        // programs. So each program has a process of its own there.
        if device.kind() == DeviceKind::Gpu && !wanted.starts_with('=') {
            apart.push(program.name);
            continue;
        }
        let figures = sweep(&device, program, all);
        println!(
            "{},{},{},{},{},{},{}",
            program.name,
            device.name(),
            figures.failed,
            figures.errors,
            figures.worked_around,
            figures.not_reached,
            figures.left,
        );
        let few = std::env::var_os("OCLAVE_SWEEP_CALL").is_some();
        assert!(few || figures.errors > 0, "{}: no failure became an error", program.name);
        wrong.extend(figures.wrong);
    }
    for some in apart.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let all: Vec<_> = some.iter().map(|program| scope.spawn(|| alone(program))).collect();
            wrong.extend(all.into_iter().filter_map(|one| one.join().unwrap().err()));
        });
    }
    assert!(programs > 0, "there is no program `{wanted}`");
    assert!(wrong.is_empty(), "{} of the failed calls: {wrong:#?}", wrong.len());
}

/// Runs the sweep of one program in another process.
fn alone(program: &str) -> Result<(), String> {
    let output = process_of(&name_of(module_path!(), "programs_survive_the_failure_of_each_call"))
        .arg("--nocapture")
        .env("OCLAVE_SWEEP_PROGRAM", format!("={program}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| line.starts_with(program)).for_each(|line| println!("{line}"));
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {text}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn sweep(device: &Device, program: &Program, all: bool) -> Figures {
    let counts = {
        let session = Session::start();
        (program.run)(device).unwrap();
        settle(&session);
        assert!(session.live().is_empty(), "{} leaves {:?}", program.name, session.live());
        session.counts()
    };
    let mut figures = Figures::default();
    let wanted = std::env::var("OCLAVE_SWEEP_CALL").unwrap_or_default();
    let quarter = program.name.len();
    for (index, (call, count)) in counts.into_iter().enumerate() {
        if !call.contains(&wanted) || !all && !(index + quarter).is_multiple_of(4) {
            continue;
        }
        for fault in faults(count, all) {
            let at = format!("{}, {call}, {fault:?}", program.name);
            let run = || fail_once(device, program, call, fault, &mut figures);
            match watched(at.clone(), run) {
                Ok(Ok(())) => {}
                Ok(Err(wrong)) => figures.wrong.push(format!("{at}: {wrong}")),
                Err(panic) => figures.wrong.push(format!("{at}: panics: {panic}")),
            }
        }
        // A failure leaves nothing behind that harms the next run.
        if let Err(error) = (program.run)(device) {
            panic!("{}, after failures of {call}: {error:#}", program.name);
        }
    }
    figures
}

fn faults(count: u64, all: bool) -> Vec<Fault> {
    let last = if all { count } else { 1 };
    (1..=last).flat_map(|nth| [Fault::Once(nth), Fault::From(nth)]).collect()
}

/// Runs the program with one fault; an error says what is wrong with what came of it.
fn fail_once(
    device: &Device,
    program: &Program,
    call: &'static str,
    fault: Fault,
    figures: &mut Figures,
) -> Result<(), String> {
    let code = -6; // CL_OUT_OF_HOST_MEMORY, which every call may return
    let session = Session::start();
    match fault {
        Fault::Once(nth) => session.fail(call, nth, code),
        Fault::From(nth) => session.fail_from(call, nth, code),
    }
    FAULT_LASTS.store(matches!(fault, Fault::From(_)), Ordering::Relaxed);
    let outcome = (program.run)(device);
    // What stays because of the fault itself is not waited for.
    let limit = if may_leave(call) { Duration::from_millis(100) } else { Duration::from_secs(10) };
    settle_within(&session, limit);
    if session.injected() == 0 {
        figures.not_reached += 1;
        return outcome.map_err(|error| format!("fails without the fault: {error:#}"));
    }
    figures.failed += 1;
    match outcome {
        Ok(()) => figures.worked_around += 1,
        Err(error) => {
            figures.errors += 1;
            let text = format!("{error:#}");
            if !text.contains(call) {
                return Err(format!("the error does not name the call: {text}"));
            }
        }
    }
    let left: usize = session.live().values().sum();
    if left > 0 && !may_leave(call) {
        return Err(format!("leaves {:?}", session.live()));
    }
    figures.left += left;
    Ok(())
}

/// What the driver refuses to release is left. So is memory that work may still use if the library
/// cannot find out whether the work has ended. For that it needs markers, their flush, and the
/// calls that ask and wait for events.
fn may_leave(call: &str) -> bool {
    const NEEDED_TO_KNOW_THE_END: &[&str] = &[
        "clEnqueueMarkerWithWaitList",
        "clFinish",
        "clFlush",
        "clGetEventInfo",
        "clRetainEvent",
        "clSetEventCallback",
        "clWaitForEvents",
    ];
    ["clRelease", "clMemFree", "clMemBlockingFree", "clSVMFree"].iter().any(|name| call.starts_with(name))
        || NEEDED_TO_KNOW_THE_END.contains(&call)
}

/// Runs `body` on this thread, and ends the process with `what` when it hangs. An error is the
/// message of a panic.
fn watched<T>(what: String, body: impl FnOnce() -> T) -> Result<T, String> {
    let (done, wait) = channel::<()>();
    let watch = std::thread::spawn(move || {
        if wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            eprintln!("hangs: {what}");
            std::process::abort();
        }
    });
    let outcome = catch_unwind(AssertUnwindSafe(body));
    drop(done);
    watch.join().unwrap();
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}
