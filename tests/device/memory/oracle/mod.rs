//! Random programs over buffers and USM against a sequential model, on the selected device.
//!
//! They use parts of one to three dimensions, host accessors that stay open, graphs, several
//! contexts, both kinds of queues, one thread and many.

mod program;
mod run;

use std::sync::atomic::{AtomicU32, Ordering};

use oclave::device::mask::Mask;
use oclave::{Buffer, Context, Device};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::kernels::buffers::advance;
use program::{LEN, Op, program};
use run::{Machine, Run};

fn run(machines: &[Machine], queues: std::ops::Range<usize>, program: &[Op]) {
    let mut run = Run::new(machines, queues);
    program.iter().for_each(|op| run.step(op));
    run.finish();
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

fn check(cases: u32, machines: &[Machine], queues: std::ops::Range<usize>) {
    let outcome = TestRunner::new(config(cases)).run(&program(1), |program| {
        run(machines, queues.clone(), &program);
        Ok(())
    });
    outcome.unwrap();
}

#[device_test]
fn one_queue_in_order(context: Context) {
    check(30, &[Machine::new(context)], 0..1);
}

#[device_test]
fn one_queue_out_of_order(context: Context) {
    check(30, &[Machine::new(context)], 1..2);
}

#[device_test]
fn several_queues(context: Context) {
    check(30, &[Machine::new(context)], 0..4);
}

#[device_test]
fn several_contexts(context: Context) {
    let other = Context::new(context.device()).unwrap();
    check(30, &[Machine::new(context), Machine::new(other)], 0..4);
}

#[device_test]
fn graphs_between_commands(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let machines = [Machine::new(context), Machine::new(other)];
    let outcome = TestRunner::new(config(15)).run(&program(25), |program| {
        run(&machines, 0..4, &program);
        Ok(())
    });
    outcome.unwrap();
}

#[device_test]
fn devices_with_less_usm(device: Device) {
    if device.capabilities().memory().is_none() {
        return println!("skipped: kernels cannot address memory by pointers on the device");
    }
    for mask in [Mask::SHARED_USM, Mask::SHARED_USM | Mask::HOST_USM] {
        let context = Context::new(&device.masked(mask)).unwrap();
        check(15, &[Machine::new(context)], 0..4);
    }
}

/// Each thread has buffers of its own and runs random programs, and all add to common ones, which
/// must lose nothing.
#[device_test]
fn many_threads(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let machines = [Machine::new(context), Machine::new(other)];
    let common = [Buffer::<u32>::new(LEN).unwrap(), Buffer::<u32>::new(LEN).unwrap()];
    let sums: [[AtomicU32; LEN]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU32::new(0)));
    let add = |buffer: usize, start: usize, addend: u32, machine: usize, queue: usize| {
        let part = common[buffer].read_write().slice(start..).unwrap();
        let call = advance(part, 1, addend);
        machines[machine % 2].queues[queue % 4].parallel_for(LEN - start, call).unwrap();
        for sum in &sums[buffer][start..] {
            sum.fetch_add(addend, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (machines, add) = (&machines, &add);
            scope.spawn(move || {
                // A graph would record what other threads submit.
                let steps = (program(1), prop::collection::vec((0..2_usize, 0..LEN, 1..9_u32), 30));
                let outcome = TestRunner::new(config(6)).run(&steps, |(program, steps)| {
                    for (at, (buffer, start, addend)) in steps.into_iter().enumerate() {
                        add(buffer, start, addend, at / 8, thread + at);
                    }
                    let program: Vec<Op> =
                        program.into_iter().filter(|op| !matches!(op, Op::Graph { .. })).collect();
                    run(machines, 0..4, &program);
                    Ok(())
                });
                outcome.unwrap();
            });
        }
    });
    for (buffer, sums) in common.iter().zip(&sums) {
        let sums = sums.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        assert_eq!(*buffer.host_read().unwrap(), sums);
    }
}
