//! Changes of graphs after their nodes were added, as the graph itself shows them: parameters,
//! ranges, command groups.

use std::sync::Mutex;

use crate::kernels::arguments::{Pair, fill_bytes, group_sum, positions, structs};
use crate::kernels::buffers::{advance, number};
use crate::kernels::saxpy::saxpy;
use oclave::command::RawArgument;
use oclave::graph::{Detail, DynamicCommandGroup, DynamicParameter, ExecutableGraph, NodeType};
use oclave::kernel::{Local, NdRange};
use oclave::{Buffer, Command, Context, ErrorKind, Event, Graph, Queue};

/// The lines that tell of each node.
fn shown(graph: &Graph) -> String {
    graph.to_dot(Detail::Verbose)
}

/// How often the drawing of a graph has a text.
fn count(graph: &Graph, text: &str) -> usize {
    shown(graph).matches(text).count()
}

fn graph(context: &Context) -> Graph {
    Graph::new(context, context.device()).unwrap()
}

#[track_caller]
fn invalid<T: std::fmt::Debug>(result: oclave::Result<T>, because: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(format!("{error:#}").contains(because), "{error}");
}

#[device_test]
fn arguments_of_every_kind_follow_parameters(context: Context) {
    let graph = graph(&context);
    let (x, y) = (context.alloc_device::<f32>(64).unwrap(), context.alloc_shared::<f32>(64).unwrap());
    let alpha = DynamicParameter::new(&graph, 2.5_f32);
    let input = DynamicParameter::new(&graph, x.clone());
    for _ in 0..3 {
        graph.add(Command::parallel_for(64, saxpy(&alpha, &input, &y))).unwrap();
    }
    graph.add(Command::parallel_for(64, saxpy(2.5, &x, &y))).unwrap();
    assert_eq!(count(&graph, "argument 0 (`alpha`): 2.5"), 4, "{}", shown(&graph));
    alpha.update(7.5).unwrap();
    assert_eq!(
        (count(&graph, ": 7.5"), count(&graph, ": 2.5")),
        (3, 1),
        "what has no parameter keeps its value"
    );
    let other = context.alloc_device::<f32>(65).unwrap();
    input.update(&other).unwrap();
    assert_eq!((count(&graph, "260 bytes"), count(&graph, "256 bytes")), (3, 5), "{}", shown(&graph));
    input.update(x.clone()).unwrap();
    assert_eq!((count(&graph, "260 bytes"), count(&graph, "256 bytes")), (0, 8));

    let pair = DynamicParameter::new(&graph, Pair { first: 1.0, second: 2.0 });
    let sample = context.alloc_device(1).unwrap();
    graph.add(Command::single_task(structs(&pair, &sample, &y))).unwrap();
    pair.update(Pair { first: 3.0, second: 4.0 }).unwrap();
    assert_eq!(count(&graph, "bytes 00 00 40 40 00 00 80 40"), 1, "{}", shown(&graph));

    let scratch = DynamicParameter::new(&graph, Local::<i32>::new(16));
    let ints = context.alloc_device::<i32>(64).unwrap();
    graph.add(Command::parallel_for(NdRange::new(64, 16), group_sum(&ints, &ints, &scratch))).unwrap();
    graph.add(Command::parallel_for(NdRange::new(64, 16), group_sum(&ints, &ints, Local::new(16)))).unwrap();
    scratch.update(Local::new(32)).unwrap();
    assert_eq!((count(&graph, "of 128 bytes"), count(&graph, "of 64 bytes")), (1, 1), "{}", shown(&graph));
    let error = scratch.update(Local::new(1 << 40)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelArgument, "{error}");
    assert_eq!(count(&graph, "of 128 bytes"), 1, "a refused update changes nothing");
}

#[device_test]
fn a_command_gets_the_value_of_when_it_is_added(context: Context) {
    let graph = graph(&context);
    let x = context.alloc_device::<u32>(8).unwrap();
    let first = DynamicParameter::new(&graph, 41_u32);
    let command = Command::parallel_for(8, number(&x, &first));
    let group = DynamicCommandGroup::new(&graph, [command.clone()]).unwrap();
    first.update(5).unwrap();
    graph.add(command).unwrap();
    graph.add(&group).unwrap();
    assert_eq!((count(&graph, ": 5"), count(&graph, ": 41")), (2, 0), "{}", shown(&graph));
    let same = first.clone();
    same.update(6).unwrap();
    assert_eq!((first, count(&graph, ": 6")), (same, 2));
}

#[device_test]
fn raw_arguments_are_checked_by_size_and_kind(context: Context) {
    let graph = graph(&context);
    let x = context.alloc_device::<u32>(8).unwrap();
    let raw = DynamicParameter::new(&graph, RawArgument::bytes(&9_u32.to_ne_bytes()));
    let memory = DynamicParameter::new(&graph, RawArgument::memory(&x));
    graph.add(Command::parallel_for(8, number(&memory, &raw))).unwrap();
    assert_eq!((count(&graph, "09 00 00 00"), count(&graph, "null")), (1, 0));
    raw.update(RawArgument::bytes(&10_u32.to_ne_bytes())).unwrap();
    memory.update(RawArgument::null()).unwrap();
    assert_eq!((count(&graph, "0a 00 00 00"), count(&graph, "null")), (1, 1));
    for wrong in [RawArgument::bytes(&[0; 3]), RawArgument::memory(&x)] {
        assert_eq!(raw.update(wrong).unwrap_err().kind(), ErrorKind::KernelArgument);
    }
    assert_eq!(memory.update(RawArgument::bytes(&[0; 8])).unwrap_err().kind(), ErrorKind::KernelArgument);
    assert_eq!((count(&graph, "0a 00 00 00"), count(&graph, "null")), (1, 1));
    let eager = Queue::new(&context).unwrap();
    let call = number(RawArgument::memory(&x), RawArgument::bytes(&3_u32.to_ne_bytes()));
    eager.parallel_for(8, call).unwrap().wait().unwrap();
    assert_eq!(eager.read(&x).unwrap(), (3..11).collect::<Vec<u32>>());
    let wrong = number(RawArgument::bytes(&[0; 8]), 3);
    assert_eq!(eager.parallel_for(8, wrong).unwrap_err().kind(), ErrorKind::KernelArgument);
}

#[device_test]
fn parameters_belong_to_one_graph(context: Context) {
    let (ours, other) = (graph(&context), graph(&context));
    let x = context.alloc_device::<u32>(8).unwrap();
    let first = DynamicParameter::new(&ours, 1_u32);
    let memory = DynamicParameter::new(&ours, x.clone());
    let command = || Command::parallel_for(8, number(&memory, &first));
    invalid(other.add(command()), "given to another graph");
    invalid(DynamicCommandGroup::new(&other, [command()]), "given to another graph");
    let queue = Queue::new(&context).unwrap();
    invalid(queue.submit(command()), "run at once");
    invalid(queue.parallel_for(8, number(Some(&memory), 1)), "run at once");
    {
        let _recording = other.record(&queue).unwrap();
        invalid(queue.submit(command()), "given to another graph");
    }
    assert!(other.is_empty());
    {
        let _recording = ours.record(&queue).unwrap();
        queue.submit(command()).unwrap();
    }
    first.update(77).unwrap();
    assert_eq!(count(&ours, ": 77"), 1, "recorded commands follow, too");
    let foreign = Context::new(context.device()).unwrap();
    assert!(memory.update(foreign.alloc_device::<u32>(8).unwrap()).is_err());
    assert_eq!(count(&ours, "32 bytes"), 1, "{}", shown(&ours));
}

#[device_test]
fn accessors_follow_parameters_and_edges_stay(context: Context) {
    let graph = graph(&context);
    let (a, b) = (Buffer::<u32>::new(8).unwrap(), Buffer::<u32>::new(8).unwrap());
    let values = DynamicParameter::new(&graph, a.read_write());
    for addend in 0..2 {
        graph.add(Command::parallel_for(8, advance(&values, 3, addend))).unwrap();
    }
    assert_eq!(graph.edge_count(), 1);
    let before = shown(&graph);
    values.update(b.read_write()).unwrap();
    assert_eq!(graph.edge_count(), 1);
    assert_ne!(shown(&graph), before);
    let host = Buffer::from_vec(vec![0_u32; 8]).unwrap();
    values.update(host.read_write()).unwrap();
}

#[device_test]
fn ranges_change_within_their_kind_and_dimensions(context: Context) {
    let graph = graph(&context);
    let out = context.alloc_device::<u64>(15 * 64).unwrap();
    let plain = graph.add(Command::parallel_for([4, 4], positions(&out))).unwrap();
    let groups = graph.add(Command::parallel_for(NdRange::new(64, 8), positions(&out))).unwrap();
    plain.update_range([8, 2]).unwrap();
    plain.update_nd_range(NdRange::from([2, 2]).with_offset([1, 0])).unwrap();
    groups.update_nd_range(NdRange::new(32, 4).with_offset(3)).unwrap();
    let before = shown(&graph);
    invalid(plain.update_range(8), "2 dimensions");
    invalid(plain.update_range([1, 1, 1]), "2 dimensions");
    invalid(plain.update_nd_range(NdRange::new([8, 2], [2, 2])), "plain range");
    invalid(groups.update_range(8), "given size");
    invalid(groups.update_nd_range(8), "given size");
    invalid(groups.update_nd_range(NdRange::new([8, 2], [2, 2])), "1 dimensions");
    let error = groups.update_nd_range(NdRange::new(1 << 20, 1 << 20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
    let fill = graph.add(Command::fill(&out, 0)).unwrap();
    invalid(fill.update_range(8), "only kernels");
    drop(graph.add(Command::empty()).unwrap());
    assert!(shown(&graph).starts_with(before.split("  ").next().unwrap()));
    assert_eq!(count(&graph, "8 × 2 work-items"), 0, "replaced by the second update");
    assert_eq!(count(&graph, "2 × 2 work-items, ids from 1 × 0 on"), 1, "{}", shown(&graph));
    assert_eq!(count(&graph, "32 work-items, groups of 4, ids from 3 on"), 1, "{}", shown(&graph));
    groups.update_command(Command::parallel_for(64, positions(&out))).unwrap();
    groups.update_range(16).unwrap();
}

#[device_test]
fn commands_are_replaced_by_others_of_their_type(context: Context) {
    let graph = graph(&context);
    let (x, y) = (context.alloc_device::<u32>(8).unwrap(), context.alloc_device::<u32>(8).unwrap());
    let first = DynamicParameter::new(&graph, 1_u32);
    let kernel = graph.add(Command::parallel_for(8, number(&x, &first))).unwrap();
    let copy = graph.after(&kernel).add(Command::copy(&x, &y)).unwrap();
    let fill = graph.after(&copy).add(Command::fill(&x, 5)).unwrap();
    let memset = graph.after(&fill).add(Command::memset(&x, 5)).unwrap();
    let task = graph.after(&memset).add(Command::host_task(|| ())).unwrap();
    let empty = graph.after(&task).add(Command::empty()).unwrap();
    copy.update_command(Command::copy(&y, &x)).unwrap();
    copy.update_command(Command::write(&x, vec![1_u32; 8])).unwrap();
    fill.update_command(Command::fill(&y, 6)).unwrap();
    memset.update_command(Command::memset(&y, 6)).unwrap();
    task.update_command(Command::host_task(|| ())).unwrap();
    kernel.update_command(Command::parallel_for(4, advance(&x, 2, &first))).unwrap();
    first.update(99).unwrap();
    assert_eq!(count(&graph, ": 99"), 1, "{}", shown(&graph));
    kernel.update_command(Command::parallel_for(4, advance(&x, 2, 98))).unwrap();
    first.update(97).unwrap();
    assert_eq!(
        (count(&graph, ": 97"), count(&graph, ": 98")),
        (0, 1),
        "a command that is gone follows nothing"
    );
    invalid(copy.update_command(Command::fill(&x, 1)), "is a memcpy");
    invalid(empty.update_command(Command::empty()), "cannot be updated");
    let other = self::graph(&context);
    let foreign = DynamicParameter::new(&other, 1_u32);
    invalid(kernel.update_command(Command::parallel_for(8, number(&x, &foreign))), "another graph");
    assert!(copy.update_command(Command::copy(&x, &context.alloc_device::<u32>(4).unwrap())).is_err());
    assert_eq!(graph.edge_count(), 5);
}

#[device_test]
fn one_command_of_a_group_is_active(context: Context) {
    let graph = graph(&context);
    let (x, y) = (context.alloc_device::<u32>(64).unwrap(), context.alloc_device::<u32>(64).unwrap());
    let first = DynamicParameter::new(&graph, 41_u32);
    let group = DynamicCommandGroup::new(
        &graph,
        [
            Command::parallel_for(8, number(&x, &first)),
            Command::parallel_for(NdRange::new([4, 4], [2, 2]), advance(&y, 3, 4)),
            Command::parallel_for(8, fill_bytes(context.alloc_device::<u8>(4).unwrap(), 1, 4)),
        ],
    )
    .unwrap();
    let (a, b) = (graph.add(&group).unwrap(), graph.add(&group).unwrap());
    assert_eq!((group.active_index(), a.node_type()), (0, NodeType::Kernel));
    assert_eq!((count(&graph, "kernel number"), count(&graph, ": 41")), (2, 2), "{}", shown(&graph));
    group.set_active_index(1).unwrap();
    assert_eq!(
        (group.active_index(), count(&graph, "kernel advance"), count(&graph, "kernel number")),
        (1, 2, 0)
    );
    first.update(55).unwrap();
    assert_eq!(count(&graph, ": 55"), 0, "not active");
    invalid(a.update_range(8), "given size");
    a.update_nd_range(NdRange::new([8, 8], [2, 2])).unwrap();
    assert_eq!(count(&graph, "8 × 8 work-items"), 2, "all nodes of the group: {}", shown(&graph));
    group.set_active_index(0).unwrap();
    b.update_range(16).unwrap();
    assert_eq!((count(&graph, ": 55"), count(&graph, "kernel number")), (2, 2));
    group.set_active_index(1).unwrap();
    assert_eq!(count(&graph, "8 × 8 work-items"), 2, "a range stays as it was last set");
    group.set_active_index(1).unwrap();
    invalid(group.set_active_index(3), "command 3");
    assert_eq!(group.active_index(), 1);
    invalid(a.update_command(Command::parallel_for(8, number(&x, 1))), "comes from a dynamic command group");
    assert_eq!(group.clone(), group);
}

#[device_test]
fn groups_refuse_what_they_cannot_hold(context: Context) {
    let (graph, other) = (graph(&context), graph(&context));
    let x = context.alloc_device::<u32>(8).unwrap();
    let kernel = || Command::parallel_for(8, number(&x, 1));
    let task = || Command::host_task(|| ());
    invalid(DynamicCommandGroup::new(&graph, []), "no command");
    invalid(DynamicCommandGroup::new(&graph, [kernel(), Command::fill(&x, 1)]), "command 1 is a memfill");
    invalid(DynamicCommandGroup::new(&graph, [Command::copy(&x, &x)]), "command 0 is a memcpy");
    invalid(DynamicCommandGroup::new(&graph, [kernel(), task()]), "command 1 is a host_task");
    let tasks = DynamicCommandGroup::new(&graph, [task(), task()]).unwrap();
    assert_eq!(graph.add(&tasks).unwrap().node_type(), NodeType::HostTask);
    invalid(other.add(&tasks), "given to another graph");
    let outside = Queue::new(&context).unwrap().submit(kernel()).unwrap();
    let differing = DynamicCommandGroup::new(&graph, [kernel().after(&outside), kernel()]).unwrap();
    invalid(graph.add(&differing), "depends on nodes");
}

#[device_test]
fn commands_of_a_group_depend_on_the_same_nodes(context: Context) {
    let graph = graph(&context);
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let x = context.alloc_device::<u32>(8).unwrap();
    let kernel = || Command::parallel_for(8, number(&x, 1));
    let events: Vec<Event> = {
        let _recording = graph.record(&queue).unwrap();
        (0..2).map(|_| queue.submit(kernel()).unwrap()).collect()
    };
    let group = |commands: [Command; 2]| DynamicCommandGroup::new(&graph, commands).unwrap();
    let both =
        group([kernel().after(&[&events[0], &events[1]]), kernel().after(&events[1]).after(&events[0])]);
    let node = graph.add(&both).unwrap();
    assert_eq!(node.predecessors().iter().map(|node| node.index()).collect::<Vec<_>>(), [0, 1]);
    let unlike = group([kernel().after(&events[0]), kernel().after(&events[1])]);
    invalid(graph.add(&unlike), "depends on nodes [1], command 0 on [0]");
    invalid(
        graph.add(&group([kernel(), kernel().after(&events[1])])),
        "depends on nodes [1], command 0 on []",
    );

    let (a, b) = (Buffer::<u32>::new(8).unwrap(), Buffer::<u32>::new(8).unwrap());
    let fresh = group([
        Command::parallel_for(8, number(a.write(), 1)),
        Command::parallel_for(8, advance(b.read_write(), 2, 3)),
    ]);
    let node = graph.add(&fresh).unwrap();
    assert!(node.predecessors().is_empty());
    let reader = graph.add(Command::read(&b.read(), &oclave::memory::HostTarget::new(8).unwrap())).unwrap();
    assert_eq!(reader.predecessors(), std::slice::from_ref(&node), "as if either command ran");
    let unlike = group([
        Command::parallel_for(8, advance(a.read_write(), 1, 1)),
        Command::parallel_for(8, advance(b.read_write(), 2, 3)),
    ]);
    let nodes = graph.len();
    invalid(graph.add(&unlike), "dynamic command group depends on nodes");
    assert_eq!(graph.len(), nodes);
    let again = graph.after_all_leaves().after(&node).add(&both).unwrap();
    assert_eq!(again.predecessors().last(), Some(&reader));
}

/// Keeps the warnings about old values, by the number of the executable that they name.
struct OldValues;

static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl log::Log for OldValues {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let text = record.args().to_string();
        if text.contains("runs with old values") {
            WARNED.lock().unwrap().push(text);
        }
    }

    fn flush(&self) {}
}

#[device_test(alone)]
fn a_forgotten_update_is_warned_of(context: Context, queue: Queue) {
    log::set_logger(&OldValues).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let graph = graph(&context);
    let x = context.alloc_device::<u32>(8).unwrap();
    let (first, second) = (DynamicParameter::new(&graph, 1_u32), DynamicParameter::new(&graph, 2_u32));
    let a = graph.add(Command::parallel_for(8, number(&x, &first))).unwrap();
    let b = graph.after(&a).add(Command::parallel_for(8, number(&x, &first))).unwrap();
    let c = graph.after(&b).add(Command::parallel_for(8, number(&x, &second))).unwrap();
    let warns = |what: &str, expected: bool, change: &dyn Fn(&ExecutableGraph) -> oclave::Result<()>| {
        let executable = graph.finalizer().updatable().finalize().unwrap();
        change(&executable).unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        // `ExecutableGraph(7 of graph …`: the warning has the same number.
        let shown = format!("{executable:?}");
        let number = shown.trim_start_matches("ExecutableGraph(").split(' ').next().unwrap();
        let name = format!("executable graph {number} ");
        let warned = WARNED.lock().unwrap().iter().any(|text| text.starts_with(&name));
        assert_eq!(warned, expected, "{what}");
    };
    warns("nothing changed", false, &|_| Ok(()));
    warns("no update", true, &|_| first.update(3));
    warns("all nodes", false, &|executable| {
        first.update(4)?;
        executable.update(&[&a, &b])
    });
    warns("one of two nodes", true, &|executable| {
        first.update(5)?;
        executable.update(&a)
    });
    warns("one node after the other", false, &|executable| {
        first.update(6)?;
        executable.update(&b)?;
        executable.update(&a)
    });
    warns("one of two parameters", true, &|executable| {
        first.update(7)?;
        second.update(7)?;
        executable.update(&[&a, &b])
    });
    warns("set", false, &|executable| executable.set(&first, 8));
    warns("set after a forgotten change", true, &|executable| {
        second.update(9)?;
        executable.set(&first, 9)
    });
    warns("a range", true, &|executable| {
        b.update_range(4)?;
        executable.update(&[&a, &c])
    });
    warns("a node that was added later", false, &|executable| {
        first.update(10)?;
        graph.after(&c).add(Command::parallel_for(8, number(&x, &first)))?;
        executable.update(&[&a, &b])
    });
    let commands = [1_u32, 2].map(|first| Command::parallel_for(8, number(&x, first)));
    let group = DynamicCommandGroup::new(&graph, commands).unwrap();
    graph.after_all_leaves().add(&group).unwrap();
    warns("the command that is active", false, &|_| group.set_active_index(0));
    warns("another command", true, &|_| group.set_active_index(1));
}
