//! Processes that end while commands are in flight; on the selected device.
//!
//! Each run is a process of its own, because its end is tested. `OCLAVE_EXIT_RUNS` is the number of
//! runs.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{bundle, call, chain, context, name_of, process_of, replay_kernels, without_cache};
use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::kernel::KernelBundle;
use oclave::{Command, Context, Device, Graph, Queue};

/// Whether all commands of the child are on their queues.
static LEFT: AtomicBool = AtomicBool::new(false);

/// How the child ends, which the parent tells it here.
const HOW: &str = "OCLAVE_EXIT_HOW";

/// Ways to end, with the code that the process ends with.
const WAYS: [(&str, i32); 6] =
    [("return", 0), ("exit", 7), ("task", 8), ("panic", 101), ("kernels", 0), ("build", 0)];

#[device_test]
fn processes_end_well_while_commands_are_in_flight(_: Device) {
    let runs: usize = std::env::var("OCLAVE_EXIT_RUNS").map_or(20, |runs| runs.parse().unwrap());
    for (run, (how, code)) in WAYS.into_iter().cycle().take(runs).enumerate() {
        let started = Instant::now();
        let (status, output) = run_process("child", how, &[]);
        assert_eq!(status.code(), Some(code), "run {run}, {how}: {status}\n{output}");
        assert!(output.contains("in flight"), "run {run}, {how}: {output}");
        assert!(started.elapsed() < Duration::from_secs(120), "run {run}, {how}");
    }
    println!("{runs} processes ended well");
}

/// The first compilation of each process runs in the background, since all else comes from caches.
/// Compilers register destructors in the middle of it.
#[device_test]
fn processes_end_well_during_their_first_compilation(_: Device) {
    let folder = tempfile::tempdir().unwrap();
    let caches = |name: &str| folder.path().join(name);
    let run = |milliseconds: &str, caches: &Path| {
        let pocl = caches.join("pocl");
        let environment =
            [("OCLAVE_CACHE", Path::new("1")), ("OCLAVE_CACHE_DIR", caches), ("POCL_CACHE_DIR", &pocl)];
        let (status, output) = run_process("first_compilation", milliseconds, &environment);
        assert_eq!(status.code(), Some(0), "{milliseconds}: {status}\n{output}");
        assert!(output.contains("launched"), "{milliseconds}: {output}");
    };
    std::fs::create_dir_all(caches("first/pocl")).unwrap();
    run("none", &caches("first"));
    // Drivers go from one part of their compilers to the next.
    for milliseconds in ["50", "900", "1500"] {
        copy_folder(&caches("first"), &caches(milliseconds));
        run(milliseconds, &caches(milliseconds));
    }
}

/// Runs one of the ignored tests in a process of its own. Gives how it ended, and its output.
fn run_process(test: &str, how: &str, environment: &[(&str, &Path)]) -> (ExitStatus, String) {
    let child = process_of(&name_of(module_path!(), test))
        .arg("--nocapture")
        .env(HOW, how)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    (child.status, output.into_owned())
}

/// Ends so many milliseconds after the build in the background was asked for.
#[test]
#[ignore = "one of the processes of the test above"]
fn first_compilation() {
    let Ok(milliseconds) = std::env::var(HOW) else { return };
    let context = Context::builder(context().unwrap().devices()).graph_interpreter(None).build().unwrap();
    let bundle = replay_kernels(&context);
    let memory = context.alloc_device::<i32>(64).unwrap();
    let call = call(&bundle, "chained").pointer_mut::<i32>(&memory).value(1);
    Queue::new(&context).unwrap().parallel_for(64, call).unwrap().wait().unwrap();
    println!("launched");
    if let Ok(milliseconds) = milliseconds.parse() {
        let _wanted = wants_interpreter(&context, &bundle);
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => drop(std::fs::copy(&path, &to).unwrap()),
        }
    }
}

#[test]
#[ignore = "one of the processes of `processes_end_well_while_commands_are_in_flight`"]
fn child() {
    let Ok(how) = std::env::var(HOW) else { return };
    let context = context().unwrap();
    leave_work(&context, &how);
    println!("in flight");
    LEFT.store(true, Ordering::SeqCst);
    match &*how {
        "exit" => std::process::exit(7),
        "panic" => panic!("as the test wants"),
        // The task ends the process.
        "task" => std::thread::sleep(Duration::from_secs(60)),
        _ => {}
    }
}

/// Commands that nobody waits for: kernels, host tasks between them, graphs.
fn leave_work(context: &Context, how: &str) {
    let bundle = bundle(context);
    let value = context.alloc_device::<u32>(1).unwrap();
    let late = || call(&bundle, "slow").pointer_mut::<u32>(&value).value(1_u32 << 18);
    let (queue, other) = (Queue::new(context).unwrap(), Queue::new(context).unwrap());
    queue.fill(&value, 0).unwrap();
    if how == "kernels" {
        for _ in 0..200 {
            queue.single_task(late()).unwrap();
        }
        return queue.flush().unwrap();
    }
    if how == "build" {
        return leave_build(context);
    }
    let graph = Graph::from_queue(&queue);
    let first = graph.add(Command::single_task(late())).unwrap();
    let task = graph.after(&first).add(Command::host_task(|| ())).unwrap();
    graph.after(&task).add(Command::single_task(late())).unwrap();
    let graph = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
    for round in 0..40 {
        let ran = queue.single_task(late()).unwrap();
        let leaves = how == "task" && round == 5;
        let task = other.after(&[&ran]).host_task(move || {
            loop {
                if !leaves {
                    break;
                }
                if LEFT.load(Ordering::SeqCst) {
                    std::process::exit(8);
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        queue.after(&[&task.unwrap()]).single_task(late()).unwrap();
        queue.host_task(|| std::thread::sleep(Duration::from_micros(50))).unwrap();
        queue.submit_graph(&graph).unwrap();
    }
}

/// A build in the background that nobody wants any more. Intel's driver does not survive the end of a
/// process while it compiles.
fn leave_build(context: &Context) {
    let context = without_cache(context);
    drop(wants_interpreter(&context, &replay_kernels(&context)));
    // Half of them end while it is compiled, others before it was begun.
    if std::process::id().is_multiple_of(2) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A graph whose interpreter program is built in the background.
fn wants_interpreter(context: &Context, bundle: &KernelBundle) -> ExecutableGraph {
    let memory = context.alloc_device::<i32>(64).unwrap();
    let graph = Graph::new(context, context.device()).unwrap();
    let bump = || call(bundle, "chained").pointer_mut::<i32>(&memory).value(1);
    chain(&graph, (0..40).map(|_| Command::parallel_for(64, bump())));
    graph.finalizer().strategy(ReplayStrategy::Interpreter).finalize().unwrap()
}
