//! Many threads that submit and wait, and many commands; on the selected device.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{bundle, call, context, name_of, process_of, resident_bytes};
use oclave::{Command, Context, Event, Queue};

/// Kernels that depend on each other, a marker and a wait, again and again, by two threads with an
/// out-of-order queue each.
fn storm(context: &Context, rounds: usize) {
    let bundle = bundle(context);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let bundle = &bundle;
            scope.spawn(move || {
                let queue = Queue::builder(context).out_of_order().build().unwrap();
                let value = context.alloc_device::<i32>(1).unwrap();
                queue.fill(&value, 0).unwrap().wait().unwrap();
                for round in 1..=rounds {
                    let mut last: Option<Event> = None;
                    for _ in 0..20 {
                        let bump = call(bundle, "bump_by").pointer_mut::<i32>(&value).value(1);
                        let command = Command::single_task(bump);
                        let command = last.iter().fold(command, |command, event| command.after(event));
                        last = Some(queue.submit(command).unwrap());
                    }
                    queue.marker().unwrap();
                    queue.wait().unwrap();
                    if round % 100 == 0 {
                        assert_eq!(queue.read(&value).unwrap(), [20 * round as i32]);
                    }
                }
            });
        }
    });
}

#[device_test]
fn out_of_order_queues_are_waited_for_by_threads(context: Context) {
    storm(&context, 300);
}

/// What `without_the_workaround_it_hangs` runs in another process.
#[device_test]
#[ignore = "run by another test"]
fn long_storm(context: Context) {
    storm(&context, 1000);
}

/// Whether an ignored test of this program ends well in a process of its own, within the time.
fn ends_well(test: &str, workarounds: bool, limit: Duration) -> bool {
    let mut process = process_of(&name_of(module_path!(), test));
    process.stdout(Stdio::null()).stderr(Stdio::null());
    if !workarounds {
        process.env("OCLAVE_FAULTS", "none");
    }
    let mut child = process.spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

/// Reports whether a driver's bug still shows without the workaround. The suite does not depend on
/// it.
fn canary(test: &str, limit: Duration, runs: usize) {
    let fails = (0..runs).position(|_| !ends_well(test, false, limit));
    match fails {
        Some(run) => println!("canary: {test} fails without the workaround, in run {} of {runs}", run + 1),
        None => println!("canary: {test} ended {runs} times without the workaround: is it still needed?"),
    }
}

/// Q1: without it the same work does not end.
#[device_test]
#[ignore = "a canary, which ci/sweep threads runs"]
fn without_the_workaround_it_hangs(context: Context) {
    if !context.device().platform().vendor().contains("Intel") {
        return println!("skipped: only Intel's runtime hangs");
    }
    let start = Instant::now();
    for _ in 0..5 {
        assert!(
            ends_well("long_storm", true, Duration::from_secs(100)),
            "it hangs, or fails, with the workaround"
        );
    }
    // Ten times as long as one run took. One run in seven hung on two cores.
    let limit = (2 * start.elapsed()).max(Duration::from_secs(10)).min(Duration::from_secs(40));
    canary("long_storm", limit, 60);
}

#[device_test]
fn one_queue_takes_commands_and_waits_of_many_threads(context: Context) {
    let bundle = bundle(&context);
    for queue in [Queue::new(&context), Queue::builder(&context).out_of_order().build()] {
        let Ok(queue) = queue else { continue };
        std::thread::scope(|scope| {
            for thread in 0..4_i32 {
                let (queue, bundle, context) = (&queue, &bundle, &context);
                scope.spawn(move || {
                    let value = context.alloc_device::<i32>(1).unwrap();
                    let mut last = queue.fill(&value, 0).unwrap();
                    for i in 1..=200 {
                        let bump = call(bundle, "bump_by").pointer_mut::<i32>(&value).value(thread + 1);
                        last = if i % 20 == 0 {
                            let task = queue.after(&[&last]).host_task(|| ()).unwrap();
                            queue.after(&[&task]).single_task(bump).unwrap()
                        } else {
                            queue.after(&[&last]).single_task(bump).unwrap()
                        };
                        match i % 50 {
                            0 => queue.wait().unwrap(),
                            25 => last.wait().unwrap(),
                            _ => {}
                        }
                    }
                    assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [200 * (thread + 1)]);
                });
            }
        });
    }
}

/// Memory is allocated, used by commands and given back by threads that know nothing of each other.
/// (PoCL 7.1 aborts the process when the records it keeps of allocations overlap:
/// Q3.)
#[device_test]
fn memory_comes_and_goes_in_many_threads(context: Context) {
    let bundle = bundle(&context);
    let rounds = std::env::var("ROUNDS").map_or(300, |r| r.parse().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (context, bundle) = (&context, &bundle);
            scope.spawn(move || {
                let queue = Queue::new(context).unwrap();
                for round in 0..rounds {
                    let len = 1 + (round * 37 + thread * 11) % 300;
                    let value = context.alloc_device::<i32>(len).unwrap();
                    queue.fill(&value, 1).unwrap();
                    queue.single_task(call(bundle, "bump_by").pointer_mut::<i32>(&value).value(2)).unwrap();
                    if round % 3 == 0 {
                        assert_eq!(queue.read(&value).unwrap()[0], 3);
                    } else if round % 3 == 1 {
                        queue.wait().unwrap();
                    }
                }
            });
        }
    });
}

/// Memory is dropped behind its last command, and as much is allocated until the driver has let go
/// of it and after.
fn come_and_go(context: &Context, rounds: usize) {
    let bundle = bundle(context);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let bundle = &bundle;
            scope.spawn(move || {
                let queue = Queue::new(context).unwrap();
                for round in 0..rounds {
                    let len = 64 + thread;
                    let value = context.alloc_device::<i32>(len).unwrap();
                    queue.fill(&value, 1).unwrap();
                    queue.single_task(call(bundle, "bump_by").pointer_mut::<i32>(&value).value(2)).unwrap();
                    if round % 100 == 0 {
                        assert_eq!(queue.read(&value).unwrap()[..2], [3, 1]);
                    }
                    drop(value);
                    (0..20).for_each(|_| drop(context.alloc_device::<i32>(len).unwrap()));
                }
            });
        }
    });
}

#[device_test]
fn memory_comes_and_goes_in_threads(context: Context) {
    come_and_go(&context, 2000);
    let spare = context.spare_memory();
    assert!(spare.bytes <= 64 << 10, "{spare:?}");
}

/// What `without_the_workaround_it_aborts` runs in another process.
#[device_test]
#[ignore = "run by another test"]
fn long_coming_and_going(context: Context) {
    come_and_go(&context, 20_000);
}

/// Q3: without it PoCL 7.1 aborts.
#[device_test]
#[ignore = "a canary, which ci/sweep threads runs"]
fn without_the_workaround_it_aborts(context: Context) {
    let version = context.device().platform().version();
    if !version.contains("PoCL 7.1") {
        return println!("skipped: only PoCL 7.1 aborts");
    }
    const TEST: &str = "long_coming_and_going";
    let limit = Duration::from_secs(100);
    for _ in 0..5 {
        assert!(ends_well(TEST, true, limit), "it fails with the workaround");
    }
    // One run in three aborted on two cores.
    canary(TEST, limit, 40);
}

/// Kernels with dependencies, and now and then a host task; a wait at times, as no driver forgets
/// what is never waited for.
fn many(count: usize) {
    let Some(context) = context() else { return };
    let bundle = bundle(&context);
    let queue = Queue::builder(&context).out_of_order().build().unwrap_or(Queue::new(&context).unwrap());
    let value = context.alloc_device::<i32>(1).unwrap();
    let mut last = queue.fill(&value, 0).unwrap();
    let mut early = 0;
    for i in 0..count {
        let bump = call(&bundle, "bump_by").pointer_mut::<i32>(&value).value(1);
        last = queue.submit(Command::single_task(bump).after(&last)).unwrap();
        if i % 1000 == 0 {
            last = queue.submit(Command::host_task(|| ()).after(&last)).unwrap();
            last.wait().unwrap();
        }
        if i == count / 5 {
            early = resident_bytes().unwrap();
        }
    }
    assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [count as i32]);
    let growth = resident_bytes().unwrap().saturating_sub(early);
    println!("{count} commands, the last four fifths took {} KiB", growth >> 10);
    assert!(growth < 16 << 20, "{growth} bytes more");
}

#[test]
fn memory_stays_flat() {
    many(50_000);
}

#[test]
#[ignore = "takes long"]
fn memory_stays_flat_over_a_million() {
    many(1_000_000);
}
