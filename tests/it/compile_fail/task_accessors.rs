//! What a host task does with its accessors is not what they are for.
use std::sync::Mutex;

use oclave::{Buffer, Command};

fn writes_what_it_reads(x: &Buffer<f32>) -> Command {
    Command::host_task_with(x.read(), |x| x[0] = 1.0)
}

fn keeps_what_it_got(x: &Buffer<f32>, kept: &'static Mutex<&'static [f32]>) -> Command {
    Command::host_task_with(x.read(), |x| *kept.lock().unwrap() = x)
}

fn takes_more_than_it_gets(x: &Buffer<f32>) -> Command {
    Command::host_task_with((x.read(), x.read()), |(x, y, z)| drop((x, y, z)))
}

fn borrows_from_outside(x: &Buffer<f32>) -> Command {
    let sum = Mutex::new(0.0);
    Command::host_task_with(x.read(), |x| *sum.lock().unwrap() = x[0])
}

fn main() {}
