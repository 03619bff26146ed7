//! `PRT-…`: where the text goes that kernels print.

use log::{Level, LevelFilter};
use oclave::context::ContextBuilder;
use oclave::vector::Float4;
use oclave::{Command, Context, Graph, Queue};

use super::common::prints::{KeptLog, Lines, builder, setting};
use super::common::strategies;
use super::kernels::printing::print_vectors;
use super::kernels::prints::say;
use super::support::{output_of, speaks};

fn says(values: impl IntoIterator<Item = i32>) -> Vec<String> {
    values.into_iter().map(|value| format!("the kernel says {value}\n")).collect()
}

#[device_test(setting)]
fn prt_001_text_goes_to_the_program_in_order_before_the_wait_returns(
    (_, queue, lines): (Context, Queue, Lines),
) {
    let said = queue.upload(&[0_i32]).unwrap();
    for value in 0..5 {
        queue.single_task(say(value, &said)).unwrap();
    }
    queue.wait().unwrap();
    let all = lines.take();
    assert!(all.iter().all(|line| line.kernel() == Some("say") && line.lost() == 0));
    assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>(), says(0..5));
    queue.single_task(say(-7, &said)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), says([-7]));
    assert_eq!(queue.read(&said).unwrap(), [6]);
}

#[device_test]
fn prt_002_without_a_function_for_it_the_driver_prints(queue: Queue) {
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

#[device_test(builder)]
fn prt_003_text_goes_to_the_log_with_the_kernel(builder: ContextBuilder) {
    let log = KeptLog::install("oclave::printf", LevelFilter::Info);
    let queue = Queue::new(&builder.printf_to_log().build().unwrap()).unwrap();
    let said = queue.upload(&[0_i32]).unwrap();
    queue.single_task(say(1, &said)).unwrap();
    queue.single_task(say(2, &said)).unwrap();
    queue.wait().unwrap();
    log::set_max_level(LevelFilter::Off);
    let line = |value| (Level::Info, format!("kernel `say`: the kernel says {value}"));
    assert_eq!(log.take(), [line(1), line(2)]);
}

#[device_test(setting)]
fn prt_004_graphs_print_in_order_by_each_strategy((_, queue, lines): (Context, Queue, Lines)) {
    const NODES: i32 = 10;
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
            assert_eq!(lines.texts(), says(0..NODES), "{strategy:?}");
        }
    }
}

#[device_test(setting)]
fn prt_005_the_text_is_that_of_the_format_on_every_device((_, queue, lines): (Context, Queue, Lines)) {
    let floats = Float4::from([1.5, -0.25, f32::NAN, f32::INFINITY]);
    queue.single_task(print_vectors(floats)).unwrap().wait().unwrap();
    let expected = [
        "1,-1,120,127 1099511627776,-1  1.50,-0.25,  nan,  inf",
        "value 0x0041, character A, a string, (nil)\n",
        "value 0x0042, character B, a string, (nil)\n",
    ];
    assert_eq!(lines.texts(), expected);
}
