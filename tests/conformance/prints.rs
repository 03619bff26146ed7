//! `PRT-…`: where the text goes that kernels print.

use std::sync::{Arc, Mutex, OnceLock};

use log::{Level, LevelFilter, Log, Metadata, Record};
use oclave::vector::Float4;
use oclave::{Command, Context, ContextBuilder, Graph, Printed, Queue};

use super::common::{context, strategies};
use super::kernels::printing::print_vectors;
use super::kernels::prints::say;
use super::support::{output_of, speaks};

/// A builder for the device; `None`, after saying why, where the library cannot take the text.
fn builder() -> Option<ContextBuilder> {
    let device = context()?.device().clone();
    if device.capabilities().memory().is_some_and(|memory| !memory.host && !memory.shared) {
        println!("skipped: the host does not reach the device's memory");
        return None;
    }
    Some(Context::builder(&[device]))
}

type Lines = Arc<Mutex<Vec<Printed>>>;

/// A queue whose kernels print to a list.
fn setting() -> Option<(Queue, Lines)> {
    let lines = Lines::default();
    let sink = Arc::clone(&lines);
    let context = builder()?.printf(move |line| sink.lock().unwrap().push(line.clone())).build().unwrap();
    Some((Queue::new(&context).unwrap(), lines))
}

fn take(lines: &Lines) -> Vec<String> {
    std::mem::take(&mut *lines.lock().unwrap()).iter().map(ToString::to_string).collect()
}

fn says(values: impl IntoIterator<Item = i32>) -> Vec<String> {
    values.into_iter().map(|value| format!("the kernel says {value}\n")).collect()
}

#[test]
fn prt_001_text_goes_to_the_program_in_order_before_the_wait_returns() {
    let Some((queue, lines)) = setting() else { return };
    let said = queue.upload(&[0_i32]).unwrap();
    for value in 0..5 {
        queue.single_task(say(value, &said)).unwrap();
    }
    queue.wait().unwrap();
    assert!(lines.lock().unwrap().iter().all(|line| line.kernel() == Some("say") && line.lost() == 0));
    assert_eq!(take(&lines), says(0..5));
    queue.single_task(say(-7, &said)).unwrap().wait().unwrap();
    assert_eq!(take(&lines), says([-7]));
    assert_eq!(queue.read(&said).unwrap(), [6]);
}

#[test]
fn prt_002_without_a_function_for_it_the_driver_prints() {
    let Some((_, queue)) = super::common::setting() else { return };
    if speaks() {
        let said = queue.upload(&[0_i32]).unwrap();
        for value in [4711, 4712] {
            queue.single_task(say(value, &said)).unwrap().wait().unwrap();
        }
        assert_eq!(queue.read(&said).unwrap(), [2]);
        return;
    }
    let text = output_of("prints::prt_002_without_a_function_for_it_the_driver_prints");
    let said = text.split("the kernel says ").skip(1).map(|rest| rest.get(..4).unwrap_or(rest));
    assert_eq!(said.collect::<Vec<_>>(), ["4711", "4712"], "{text}");
}

/// Keeps the records of `printf`.
struct Kept(Mutex<Vec<(Level, String)>>);

impl Log for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "oclave::printf"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().unwrap().push((record.level(), record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

#[test]
fn prt_003_text_goes_to_the_log_with_the_kernel() {
    static KEPT: OnceLock<Kept> = OnceLock::new();
    let Some(builder) = builder() else { return };
    let kept = KEPT.get_or_init(|| Kept(Mutex::default()));
    log::set_logger(kept).unwrap();
    log::set_max_level(LevelFilter::Info);
    let queue = Queue::new(&builder.printf_to_log().build().unwrap()).unwrap();
    let said = queue.upload(&[0_i32]).unwrap();
    queue.single_task(say(1, &said)).unwrap();
    queue.single_task(say(2, &said)).unwrap();
    queue.wait().unwrap();
    log::set_max_level(LevelFilter::Off);
    let line = |value| (Level::Info, format!("kernel `say`: the kernel says {value}"));
    assert_eq!(*kept.0.lock().unwrap(), [line(1), line(2)]);
}

#[test]
fn prt_004_graphs_print_in_order_by_each_strategy() {
    const NODES: i32 = 10;
    let Some((queue, lines)) = setting() else { return };
    let said = queue.upload(&[0_i32]).unwrap();
    let graph = Graph::from_queue(&queue);
    for value in 0..NODES {
        graph.after_all_leaves().add(Command::single_task(say(value, &said))).unwrap();
    }
    for strategy in strategies(queue.device()) {
        println!("strategy: {strategy:?}");
        let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
        for _ in 0..2 {
            queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(take(&lines), says(0..NODES), "{strategy:?}");
        }
    }
}

#[test]
fn prt_005_the_text_is_that_of_the_format_on_every_device() {
    let Some((queue, lines)) = setting() else { return };
    let floats = Float4::from([1.5, -0.25, f32::NAN, f32::INFINITY]);
    queue.single_task(print_vectors(floats)).unwrap().wait().unwrap();
    let expected = [
        "1,-1,120,127 1099511627776,-1  1.50,-0.25,  nan,  inf",
        "value 0x0041, character A, a string, (nil)\n",
        "value 0x0042, character B, a string, (nil)\n",
    ];
    assert_eq!(take(&lines), expected);
}
