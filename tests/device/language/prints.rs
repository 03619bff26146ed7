//! What kernels print goes where the program wants, on the selected device.

use crate::common;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::prints::{KeptLog, Lines, builder, setting};
use log::{Level, LevelFilter};
use oclave::context::ContextBuilder;
use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelBundle, KernelSource, Printed, ProgramCache};
use oclave::vector::Float4;
use oclave::{Command, Context, Graph, Queue};

mod virtual_kernels {
    oclave::include_kernels!("scenarios");
}
use crate::kernels::printing::{print_flood, print_items, print_vectors};
use crate::kernels::prints::say;
use virtual_kernels::virtual_functions::speak;

fn says(value: i32) -> String {
    format!("the kernel says {value}\n")
}

#[device_test(setting)]
fn text_comes_in_order_with_the_kernels_name_before_the_wait_returns(
    (context, queue, lines): (Context, Queue, Lines),
) {
    let said = context.alloc_shared::<i32>(1).unwrap();
    queue.fill(&said, 0).unwrap();
    for value in 0..5 {
        queue.single_task(say(value, &said)).unwrap();
    }
    queue.wait().unwrap();
    let all = lines.take();
    assert_eq!(all.iter().map(Printed::text).collect::<Vec<_>>(), (0..5).map(says).collect::<Vec<_>>());
    assert!(all.iter().all(|line| line.kernel() == Some("say") && line.lost() == 0));
    queue.single_task(say(-7, &said)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), [says(-7)]);
    assert_eq!(said.read().unwrap()[0], 6);
    // A copy waits, too.
    queue.single_task(say(8, &said)).unwrap();
    queue.read(&said).unwrap();
    assert_eq!(lines.texts(), [says(8)]);
}

#[device_test(setting)]
fn branches_loops_and_work_items_each_print((_, queue, lines): (Context, Queue, Lines)) {
    queue.parallel_for(64, print_items(3)).unwrap().wait().unwrap();
    let texts = lines.texts();
    let of = |item: i32| {
        texts.iter().filter(|t| t.starts_with(&format!("item {item} "))).cloned().collect::<Vec<_>>()
    };
    for item in 0..64 {
        let rounds = if item % 2 == 1 { 3 } else { 0 };
        let expected: Vec<_> = (0..rounds).map(|round| format!("item {item} round {round}\n")).collect();
        assert_eq!(of(item), expected);
    }
    assert_eq!(texts.len(), 96);
}

#[device_test(setting)]
fn conversions_are_those_of_opencl((_, queue, lines): (Context, Queue, Lines)) {
    queue
        .single_task(print_vectors(Float4::from([1.5, -0.25, f32::NAN, f32::INFINITY])))
        .unwrap()
        .wait()
        .unwrap();
    let expected = [
        "1,-1,120,127 1099511627776,-1  1.50,-0.25,  nan,  inf",
        "value 0x0041, character A, a string, (nil)\n",
        "value 0x0042, character B, a string, (nil)\n",
    ];
    assert_eq!(lines.texts(), expected);
}

#[device_test(setting)]
fn what_is_too_much_is_counted_and_the_next_text_arrives((context, queue, lines): (Context, Queue, Lines)) {
    const ITEMS: usize = 80_000;
    let results = context.alloc_shared::<i32>(ITEMS).unwrap();
    for _ in 0..2 {
        queue.parallel_for(ITEMS, print_flood(&results)).unwrap().wait().unwrap();
        let all = lines.take();
        let lost: u64 = all.iter().map(Printed::lost).sum();
        let printed = all.iter().filter(|line| line.lost() == 0).count();
        assert!(lost > 0 && printed > 50_000, "{lost} lost, {printed} printed");
        assert_eq!(printed + lost as usize, ITEMS);
        let failed = results.read().unwrap().iter().filter(|result| **result != 0).count();
        assert_eq!(failed, lost as usize);
        let note = all.iter().find(|line| line.lost() > 0).unwrap().to_string();
        assert!(note.contains("were lost"), "{note}");
        // Each exactly once.
        let mut ids: Vec<i32> = all
            .iter()
            .filter(|line| line.lost() == 0)
            .map(|line| line.text().trim().parse().unwrap())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), printed);
    }
    // Over the end of the ring.
    for round in 0..12 {
        queue.parallel_for(20_000, print_flood(&results)).unwrap().wait().unwrap();
        assert_eq!(lines.take().len(), 20_000, "round {round}");
    }
}

#[test]
fn graphs_print_in_order_by_each_strategy() {
    for interpreter in [Some(false), Some(true)] {
        let Some(builder) = builder() else { return };
        let lines = Lines::default();
        let to = lines.clone();
        let context =
            builder.graph_interpreter(interpreter).printf(move |line| to.push(line)).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        let said = context.alloc_shared::<i32>(1).unwrap();
        let graph = Graph::from_queue(&queue);
        for value in 0..40 {
            graph.after_all_leaves().add(Command::single_task(say(value, &said))).unwrap();
        }
        let mut strategies = vec![ReplayStrategy::Auto, ReplayStrategy::Enqueue];
        if interpreter == Some(true) {
            strategies.push(ReplayStrategy::Interpreter);
        }
        if Graph::support(queue.device()).command_buffers {
            strategies.push(ReplayStrategy::CommandBuffer);
        }
        for strategy in strategies {
            let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
            for _ in 0..2 {
                queue.submit_graph(&executable).unwrap().wait().unwrap();
                let expected: Vec<_> = (0..40).map(says).collect();
                assert_eq!(lines.texts(), expected, "{strategy:?}, interpreter {interpreter:?}");
            }
        }
    }
}

#[device_test(setting)]
fn virtual_functions_and_several_programs_print((context, queue, lines): (Context, Queue, Lines)) {
    let said = context.alloc_shared::<i32>(1).unwrap();
    queue.single_task(speak(0, &said)).unwrap();
    queue.single_task(say(1, &said)).unwrap();
    queue.single_task(speak(1, &said)).unwrap();
    queue.wait().unwrap();
    let texts = lines.texts();
    assert_eq!(texts.iter().filter(|text| *text == &says(1)).count(), 1, "{texts:?}");
    assert_eq!(texts.iter().filter(|text| text.starts_with("the printer says 4711")).count(), 1, "{texts:?}");
}

#[device_test(setting)]
fn out_of_order_queues_print_each_line_once((context, _, lines): (Context, Queue, Lines)) {
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let said = [(); 8].map(|()| context.alloc_shared::<i32>(1).unwrap());
    let mut last = None;
    for value in 0..64 {
        let event = queue.single_task(say(value, &said[value as usize % 8])).unwrap();
        if value == 31 {
            event.wait().unwrap();
        }
        last = Some(event);
    }
    last.unwrap().wait().unwrap();
    queue.wait().unwrap();
    let mut texts = lines.texts();
    texts.sort();
    let mut expected: Vec<_> = (0..64).map(says).collect();
    expected.sort();
    assert_eq!(texts, expected);
}

#[device_test(setting)]
fn failures_leave_the_text_of_others_alone((context, queue, lines): (Context, Queue, Lines)) {
    let said = context.alloc_shared::<i32>(1).unwrap();
    queue.single_task(say(1, &said)).unwrap();
    // Never launched.
    let failed = queue.host_task(|| Err::<(), _>("no")).unwrap();
    let after = queue.after(&failed).single_task(say(2, &said)).unwrap();
    assert!(after.wait().is_err());
    let _ = queue.wait();
    queue.single_task(say(3, &said)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), [says(1), says(3)]);
}

#[device_test(setting)]
fn text_that_nobody_waited_for_comes_when_the_context_goes((context, queue, lines): (Context, Queue, Lines)) {
    let said = context.alloc_device::<i32>(1).unwrap();
    queue.single_task(say(5, &said)).unwrap();
    drop((said, queue, context));
    assert_eq!(lines.texts(), [says(5)]);
}

/// The sink may use the context, and wait.
#[device_test(builder)]
fn a_sink_may_launch_and_wait(builder: ContextBuilder) {
    static QUEUE: OnceLock<Queue> = OnceLock::new();
    static DONE: AtomicBool = AtomicBool::new(false);
    let lines = Lines::default();
    let to = lines.clone();
    let sink = move |line: &Printed| {
        to.push(line);
        if !DONE.swap(true, Ordering::SeqCst) {
            let queue = QUEUE.get().unwrap();
            let said = queue.context().alloc_shared::<i32>(1).unwrap();
            queue.single_task(say(2, &said)).unwrap().wait().unwrap();
        }
    };
    let context = builder.printf(sink).build().unwrap();
    let queue = QUEUE.get_or_init(|| Queue::new(&context).unwrap());
    let said = context.alloc_shared::<i32>(1).unwrap();
    queue.single_task(say(1, &said)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), [says(1), says(2)]);
}

/// Threads that wait at the same time lose nothing.
#[device_test(setting)]
fn threads_print_each_line_once((context, _, lines): (Context, Queue, Lines)) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let context = &context;
            scope.spawn(move || {
                let queue = Queue::new(context).unwrap();
                let said = context.alloc_shared::<i32>(1).unwrap();
                for value in 0..25 {
                    queue.single_task(say(thread * 100 + value, &said)).unwrap().wait().unwrap();
                }
            });
        }
    });
    let texts = lines.texts();
    for thread in 0..4 {
        let own = |text: &&String| (0..25).any(|value| **text == says(thread * 100 + value));
        assert_eq!(
            texts.iter().filter(own).cloned().collect::<Vec<_>>(),
            (0..25).map(|value| says(thread * 100 + value)).collect::<Vec<_>>()
        );
    }
}

/// A kernel that prints, with debug information.
fn tell(context: &Context) -> KernelBundle {
    let text = "kernel void tell(void)\n{\n    printf(\"here\\n\");\n}\n";
    common::load::source(context, &KernelSource::new("tell.cl", text).compiler_args(["-g"])).unwrap()
}

#[test]
fn debug_information_gives_file_and_line() {
    if !common::load::has_compiler() {
        return;
    }
    let Some((context, queue, lines)) = setting() else { return };
    queue.single_task(tell(&context).kernel("tell").unwrap().call()).unwrap().wait().unwrap();
    let all = lines.take();
    let (file, line) = all[0].source().unwrap();
    assert!(file.ends_with("tell.cl"), "{file}");
    assert_eq!((line, all[0].kernel(), all[0].text()), (3, Some("tell"), "here\n"));
}

#[device_test(alone)]
fn the_log_names_kernel_file_and_line() {
    if !common::load::has_compiler() {
        return;
    }
    let Some(builder) = builder() else { return };
    let log = KeptLog::install("oclave::printf", LevelFilter::Info);
    let context = builder.printf_to_log().build().unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.single_task(tell(&context).kernel("tell").unwrap().call()).unwrap().wait().unwrap();
    log::set_max_level(LevelFilter::Off);
    let records = log.take();
    let [(Level::Info, record)] = records.as_slice() else { panic!("{records:?}") };
    assert!(record.starts_with("kernel `tell`, ") && record.ends_with("tell.cl:3: here"), "{record}");
}

/// A binary of a cache, and one that was made without a sink, print where they should.
#[test]
fn caches_tell_the_forms_apart() {
    let folder = tempfile::tempdir().unwrap();
    let cache = ProgramCache::Directory(folder.path().to_owned());
    for _ in 0..2 {
        let Some(builder) = builder() else { return };
        let plain = builder.clone().program_cache(&cache).build().unwrap();
        let said = plain.alloc_shared::<i32>(1).unwrap();
        Queue::new(&plain).unwrap().single_task(say(0, &said)).unwrap().wait().unwrap();
        let lines = Lines::default();
        let to = lines.clone();
        let sink = move |line: &Printed| to.push(line);
        let context = builder.program_cache(&cache).printf(sink).build().unwrap();
        let said = context.alloc_shared::<i32>(1).unwrap();
        Queue::new(&context).unwrap().single_task(say(9, &said)).unwrap().wait().unwrap();
        assert_eq!(lines.texts(), [says(9)]);
    }
}
