//! What safe code must not be able to do, and closures that use what they are called with; on the
//! selected device.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::common::{bundle, call, queues_and_eventless};
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Context, ErrorKind};

/// Fails, rather than hang, when a closure does not come back.
fn in_time(what: &str, run: impl FnOnce() + Send + 'static) {
    let (done, finished) = channel();
    let thread = std::thread::spawn(move || {
        run();
        let _ = done.send(());
    });
    match finished.recv_timeout(Duration::from_secs(120)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("{what} hangs"),
        _ => thread.join().unwrap(),
    }
}

#[device_test]
fn host_targets_are_free_while_they_are_looked_at(context: Context) {
    for queue in queues_and_eventless(&context) {
        let memory = context.alloc_device::<u32>(4).unwrap();
        queue.fill(&memory, 7).unwrap().wait().unwrap();
        in_time("a look at a host target", move || {
            let target = HostTarget::from_vec(vec![1_u32; 4]);
            let clone = target.clone();
            let read = target
                .with(|seen| {
                    // A clone, a command that writes it, at once and deferred, and waits for
                    // these.
                    assert_eq!(clone.to_vec().unwrap(), [1; 4]);
                    let read = queue.submit(Command::read(&memory, &clone)).unwrap();
                    read.wait().unwrap();
                    assert_eq!(clone.to_vec().unwrap(), [7; 4]);
                    let task = queue.host_task(|| std::thread::sleep(Duration::from_millis(5))).unwrap();
                    let filled = queue.after(&[&task]).fill(&memory, 9).unwrap();
                    let held = queue.submit(Command::read(&memory, &clone).after(&filled)).unwrap();
                    held.wait().unwrap();
                    assert_eq!(clone.with(|inner| inner.to_vec()).unwrap(), [9; 4]);
                    // The elements that the closure sees do not change.
                    assert_eq!(seen, [1; 4]);
                    queue.submit(Command::read(&memory, &clone)).unwrap()
                })
                .unwrap();
            read.wait().unwrap();
            assert_eq!(target.to_vec().unwrap(), [9; 4]);
        });
    }
}

#[device_test]
fn too_many_guards_are_an_error(context: Context) {
    let memory = context.alloc_shared::<u32>(1).unwrap();
    memory.write().unwrap().fill(5);
    let mut guards = Vec::new();
    let error = loop {
        match memory.read() {
            Ok(guard) => guards.push(guard),
            Err(error) => break error,
        }
        assert!(guards.len() < 1 << 20, "guards without end");
    };
    assert!(error.to_string().contains("too many"), "{error}");
    assert!(guards.len() > 1000 && guards.iter().all(|guard| **guard == [5]));
    // Readers are no writers, and each one that goes counts.
    assert_eq!(memory.write().unwrap_err().kind(), ErrorKind::Invalid);
    guards.pop();
    guards.push(memory.read().unwrap());
    guards.clear();
    memory.write().unwrap().fill(6);
    for queue in queues_and_eventless(&context) {
        queue.fill(&memory, 8).unwrap().wait().unwrap();
        assert_eq!(*memory.read().unwrap(), [8]);
    }
}

#[device_test]
fn too_many_guards_in_a_task_are_an_error(context: Context) {
    for queue in queues_and_eventless(&context) {
        let memory = context.alloc_shared::<u32>(1).unwrap();
        memory.write().unwrap().fill(5);
        let inner = memory.clone();
        let task = queue.host_task(move || {
            let mut guards = Vec::new();
            while let Ok(guard) = inner.read() {
                guards.push(guard);
                assert!(guards.len() < 1 << 20, "guards without end");
            }
            let error = inner.read().map(drop).unwrap_err();
            assert!(error.to_string().contains("too many"), "{error}");
            assert!(guards.len() > 1000 && guards.iter().all(|guard| **guard == [5]));
            // Readers are no writers.
            assert_eq!(inner.write().map(drop).unwrap_err().kind(), ErrorKind::Invalid);
        });
        task.unwrap().wait().unwrap();
        queue.fill(&memory, 8).unwrap().wait().unwrap();
        assert_eq!(*memory.read().unwrap(), [8]);
    }
}

#[device_test]
fn contents_go_back_when_the_last_host_writer_closes(context: Context) {
    for queue in queues_and_eventless(&context) {
        for on_device in [false, true] {
            let target = HostTarget::from_vec(vec![1_u32; 4]);
            let buffer = Buffer::with_host_data(4, &target).unwrap();
            if on_device {
                queue.fill(&buffer.write(), 2).unwrap();
            }
            let mut first = buffer.write().part(0, 1).unwrap().host().unwrap();
            let mut second = buffer.write().part(3, 1).unwrap().host().unwrap();
            drop(buffer);
            first[0] = 10;
            drop(first);
            second[0] = 20;
            let middle = if on_device { 2 } else { 1 };
            assert_eq!(target.to_vec().unwrap(), [1; 4], "not before the last one closes");
            drop(second);
            assert_eq!(target.to_vec().unwrap(), [10, middle, middle, 20]);
        }
    }
    // A failure that nobody could return would come out here.
    let queue = oclave::Queue::new(&context).unwrap();
    let value = context.alloc_shared::<u32>(1).unwrap();
    queue
        .single_task(call(&bundle(&context), "slow").pointer_mut(&value).value(1_u32))
        .unwrap()
        .wait()
        .unwrap();
}

/// Outside of `oclave-driver`, `unsafe` is only ever declared, never used: functions whose contract
/// nobody can check.
#[test]
fn unsafe_operations_stay_in_the_driver_layer() {
    fn visit(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, found, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                *files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
                for (at, line) in code {
                    let rest = line.split("unsafe").skip(1);
                    let declares =
                        |rest: &str| rest.starts_with(" fn ") || line.trim_start().starts_with("#");
                    if rest.into_iter().any(|rest| !declares(rest)) {
                        found.push(format!("{}:{}: {line}", path.display(), at + 1));
                    }
                }
            }
        }
    }
    // Where the program runs beside its sources only.
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    if !sources.is_dir() {
        println!("skipped: the sources are not here");
        return;
    }
    let (mut found, mut files) = (Vec::new(), 0);
    visit(&sources, &mut found, &mut files);
    assert!(files > 100, "only {files} files");
    assert!(found.is_empty(), "unsafe operations outside of oclave-driver:\n{}", found.join("\n"));
}
