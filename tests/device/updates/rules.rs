//! Rules of section "Executable Graph Update" that need several executables, graphs or parameters
//! to be seen, in every way that graphs are run.

use crate::common;

use crate::common::freed;
use crate::kernels::arguments::group_sum;
use crate::kernels::buffers::{advance, number};
use oclave::graph::{Detail, DynamicCommandGroup, DynamicParameter, ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::{Local, NdRange};
use oclave::memory::usm;
use oclave::record::Session;
use oclave::{Command, Context, ErrorKind, Graph, Queue, UsmSlice};

const LEN: usize = 8;

/// A graph whose first node numbers memory from a parameter on, and whose second adds another
/// parameter to it.
struct Bench {
    context: Context,
    queue: Queue,
    strategy: ReplayStrategy,
    graph: Graph,
    memory: UsmSlice<u32, usm::DeviceOnly>,
    first: DynamicParameter<u32>,
    addend: DynamicParameter<u32>,
    nodes: [Node; 2],
}

impl Bench {
    fn new(context: &Context, strategy: ReplayStrategy) -> Self {
        let graph = Graph::new(context, context.device()).unwrap();
        let memory = context.alloc_device::<u32>(LEN).unwrap();
        let (first, addend) = (DynamicParameter::new(&graph, 10), DynamicParameter::new(&graph, 1));
        let a = graph.add(Command::parallel_for(LEN, number(&memory, &first))).unwrap();
        let b = graph.after(&a).add(Command::parallel_for(LEN, advance(&memory, 1, &addend))).unwrap();
        let (context, queue) = (context.clone(), Queue::new(context).unwrap());
        Self { context, queue, strategy, graph, memory, first, addend, nodes: [a, b] }
    }

    fn finalize(&self, graph: &Graph) -> ExecutableGraph {
        graph.finalizer().updatable().strategy(self.strategy).finalize().unwrap()
    }

    /// The first number that a run leaves; the others count from it.
    fn run(&self, executable: &ExecutableGraph) -> u32 {
        self.queue.submit_graph(executable).unwrap().wait().unwrap();
        let seen = self.queue.read(&self.memory).unwrap();
        assert!((seen[0]..).zip(&seen).all(|(expected, seen)| expected == *seen), "{seen:?}");
        seen[0]
    }
}

fn each(test: impl Fn(&Bench)) {
    let Some(context) = common::context() else { return };
    for strategy in common::strategies(context.device()) {
        println!("{strategy:?} on {}", context.device().name());
        test(&Bench::new(&context, strategy));
    }
}

#[test]
fn a_parameter_is_set_for_one_executable_in_one_call() {
    each(|bench| {
        let (one, other) = (bench.finalize(&bench.graph), bench.finalize(&bench.graph));
        one.set(&bench.first, 70).unwrap();
        one.set(&bench.addend, 5).unwrap();
        assert_eq!((bench.run(&one), bench.run(&other)), (75, 11));
        // A node that came later is no obstacle, and stays out.
        let late = bench.context.alloc_device::<u32>(LEN).unwrap();
        bench.queue.fill(&late, 3).unwrap();
        bench.graph.add(Command::parallel_for(LEN, number(&late, &bench.first))).unwrap();
        other.set(&bench.first, 20).unwrap();
        assert_eq!((bench.run(&other), bench.queue.read(&late).unwrap()), (21, vec![3; LEN]));
        // Refusals change nothing.
        let fixed = bench.graph.finalizer().strategy(bench.strategy).finalize().unwrap();
        assert_eq!(fixed.set(&bench.first, 1).unwrap_err().kind(), ErrorKind::Invalid);
        let foreign = DynamicParameter::new(&Graph::from_queue(&bench.queue), 4_u32);
        assert_eq!(one.set(&foreign, 5).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(bench.run(&bench.finalize(&bench.graph)), 25);
    });
}

#[test]
fn an_argument_has_the_value_of_the_newest_of_its_parameters() {
    each(|bench| {
        let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
        let (a, b) = (DynamicParameter::new(&graph, 1_u32), DynamicParameter::new(&graph, 2));
        let other = bench.context.alloc_device::<u32>(LEN).unwrap();
        let (to, away) = (
            DynamicParameter::new(&graph, other.clone()),
            DynamicParameter::new(&graph, bench.memory.clone()),
        );
        let call = number(to.and(&away), a.and(&b));
        let node = graph.add(Command::parallel_for(LEN, call.clone())).unwrap();
        let executable = bench.finalize(&graph);
        assert_eq!(bench.run(&executable), 2, "the one that was made last");
        for (parameter, value) in [(&a, 30), (&a, 31), (&b, 40), (&a, 32)] {
            parameter.update(value).unwrap();
            executable.update(&node).unwrap();
            assert_eq!(bench.run(&executable), value);
        }
        to.update(&other).unwrap();
        b.update(50).unwrap();
        executable.update(&node).unwrap();
        assert_eq!(bench.run(&executable), 32, "the other memory is written");
        assert_eq!(bench.queue.read(&other).unwrap()[0], 50);
        away.update(&bench.memory).unwrap();
        executable.update(&node).unwrap();
        assert_eq!(bench.run(&executable), 50);
        let error = bench.graph.add(Command::parallel_for(LEN, call)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "both are of another graph: {error}");
    });
}

#[test]
fn local_memory_follows_the_newest_of_its_parameters() {
    each(|bench| {
        let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
        let numbers = bench.context.alloc_device::<i32>(64).unwrap();
        bench.queue.fill(&numbers, 1).unwrap();
        let sums = bench.context.alloc_device::<i32>(4).unwrap();
        let (few, many) = (
            DynamicParameter::new(&graph, Local::<i32>::new(1)),
            DynamicParameter::new(&graph, Local::new(16)),
        );
        let call = group_sum(&numbers, &sums, few.and(&many));
        let node = graph.add(Command::parallel_for(NdRange::new(64, 16), call)).unwrap();
        let executable = bench.finalize(&graph);
        for parameter in [&many, &few] {
            parameter.update(Local::new(32)).unwrap();
            executable.update(&node).unwrap();
            bench.queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(bench.queue.read(&sums).unwrap(), [16; 4]);
        }
        let error = few.update(Local::new(1 << 40)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelArgument, "{error}");
    });
}

#[test]
fn executables_of_one_graph_are_updated_one_by_one() {
    each(|bench| {
        let (one, two) = (bench.finalize(&bench.graph), bench.finalize(&bench.graph));
        bench.first.update(20).unwrap();
        bench.addend.update(2).unwrap();
        assert_eq!((bench.run(&one), bench.run(&two)), (11, 11), "not committed");
        one.update(&bench.nodes[0]).unwrap();
        assert_eq!((bench.run(&one), bench.run(&two)), (21, 11), "one node of one executable");
        let three = bench.finalize(&bench.graph);
        assert_eq!(bench.run(&three), 22, "finalized later");
        bench.first.update(30).unwrap();
        two.update(&[&bench.nodes[1], &bench.nodes[0], &bench.nodes[1]]).unwrap();
        assert_eq!((bench.run(&one), bench.run(&two), bench.run(&three)), (21, 32, 22));
        bench.first.update(10).unwrap();
        one.update(&bench.nodes).unwrap();
        assert_eq!((bench.run(&one), bench.run(&two)), (12, 32), "back to the first value");
        bench.first.update(10).unwrap();
        one.update(&bench.nodes).unwrap();
        assert_eq!(bench.run(&one), 12, "the same value once more");
    });
}

#[test]
fn what_is_made_of_an_executable_has_what_was_committed() {
    each(|bench| {
        let executable = bench.finalize(&bench.graph);
        bench.first.update(40).unwrap();
        bench.addend.update(4).unwrap();
        executable.update(&bench.nodes[0]).unwrap();
        let drawn = executable.to_dot(Detail::Verbose);
        assert!(
            drawn.contains("argument 1 (`first`): 40") && drawn.contains("argument 2 (`addend`): 1"),
            "{drawn}"
        );
        let outer = Graph::new(&bench.context, bench.context.device()).unwrap();
        outer.add(Command::graph(&executable)).unwrap();
        bench.first.update(50).unwrap();
        let outer = outer.finalize().unwrap();
        assert_eq!((bench.run(&outer), bench.run(&executable)), (41, 41));
        executable.update(&bench.nodes).unwrap();
        assert_eq!((bench.run(&outer), bench.run(&executable)), (41, 54));
        let drawn = bench.graph.to_dot(Detail::Verbose);
        assert!(drawn.contains("argument 1 (`first`): 50"), "{drawn}");
    });
}

#[test]
fn parameters_of_the_source_are_in_a_whole_graph_update() {
    each(|bench| {
        let source = Bench { memory: bench.memory.clone(), ..Bench::new(&bench.context, bench.strategy) };
        let call = number(&bench.memory, &source.first);
        source.nodes[0].update_command(Command::parallel_for(LEN, call)).unwrap();
        let call = advance(&bench.memory, 1, &source.addend);
        source.nodes[1].update_command(Command::parallel_for(LEN, call)).unwrap();
        let executable = bench.finalize(&bench.graph);
        bench.first.update(60).unwrap();
        executable.update(&bench.nodes).unwrap();
        source.first.update(70).unwrap();
        executable.update_graph(&source.graph).unwrap();
        assert_eq!(bench.run(&executable), 71);
        source.addend.update(7).unwrap();
        executable.update_graph(&source.graph).unwrap();
        assert_eq!(bench.run(&executable), 77);
        // Its own graph still has its own values.
        executable.update(&bench.nodes[0]).unwrap();
        assert_eq!(bench.run(&executable), 67);
        bench.first.update(61).unwrap();
        executable.update(&bench.nodes).unwrap();
        assert_eq!(bench.run(&executable), 62);
        bench.first.update(10).unwrap();
        executable.update_graph(&bench.graph).unwrap();
        assert_eq!(bench.run(&executable), 11, "to the first value, from its own graph");
    });
}

#[test]
fn ranges_of_commands_that_are_active_again_are_the_latest() {
    each(|bench| {
        let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
        let first = DynamicParameter::new(&graph, 5_u32);
        let commands = [
            Command::parallel_for(LEN, number(&bench.memory, &first)),
            Command::parallel_for(2, advance(&bench.memory, 1, &first)),
        ];
        let group = DynamicCommandGroup::new(&graph, commands).unwrap();
        let nodes = [graph.add(&group).unwrap(), graph.after_all_leaves().add(&group).unwrap()];
        let executable = bench.finalize(&graph);
        let run = || {
            bench.queue.fill(&bench.memory, 0).unwrap();
            bench.queue.submit_graph(&executable).unwrap().wait().unwrap();
            bench.queue.read(&bench.memory).unwrap()
        };
        nodes[0].update_range(3).unwrap();
        group.set_active_index(1).unwrap();
        first.update(100).unwrap();
        executable.update(&nodes).unwrap();
        assert_eq!(run(), [200, 200, 0, 0, 0, 0, 0, 0]);
        group.set_active_index(0).unwrap();
        executable.update(&nodes[1]).unwrap();
        assert_eq!(run(), [100, 101, 102, 0, 0, 0, 0, 0], "the first node still adds");
        executable.update(&nodes[0]).unwrap();
        first.update(7).unwrap();
        executable.update(&nodes[1]).unwrap();
        assert_eq!(run(), [7, 8, 9, 0, 0, 0, 0, 0]);
    });
}

#[test]
fn a_refused_commit_changes_nothing() {
    each(|bench| {
        let executable = bench.finalize(&bench.graph);
        let later =
            bench.graph.add(Command::parallel_for(LEN, advance(&bench.memory, 1, &bench.addend))).unwrap();
        let foreign = Bench::new(&bench.context, bench.strategy);
        bench.first.update(80).unwrap();
        for wrong in [&later, &foreign.nodes[0]] {
            let error = executable.update(&[&bench.nodes[0], wrong]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert_eq!(bench.run(&executable), 11);
        }
        drop(bench.finalize(&bench.graph));
        executable.update(&bench.nodes[0]).unwrap();
        assert_eq!(bench.run(&executable), 81);
    });
}

#[test]
fn parameters_whose_handles_are_gone_keep_their_values() {
    each(|bench| {
        let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
        let first = DynamicParameter::new(&graph, 1_u32);
        let node = graph.add(Command::parallel_for(LEN, number(&bench.memory, &first))).unwrap();
        let executable = bench.finalize(&graph);
        first.update(90).unwrap();
        drop((first, graph));
        executable.update(&node).unwrap();
        assert_eq!(bench.run(&executable), 90);
    });
}

/// An executable keeps the memory that its nodes use now, and lets go of what they do not use any
/// more.
#[test]
fn memory_comes_and_goes_with_commits() {
    each(|bench| {
        let session = Session::start();
        let [old, new] = [(); 2].map(|()| bench.context.alloc_device::<u32>(LEN).unwrap());
        let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
        let memory = DynamicParameter::new(&graph, old.clone());
        let a = graph.add(Command::parallel_for(LEN, number(&memory, 7))).unwrap();
        let b = graph.after(&a).add(Command::parallel_for(LEN, advance(&memory, 1, 3))).unwrap();
        let executable = bench.finalize(&graph);
        bench.queue.submit_graph(&executable).unwrap().wait().unwrap();
        memory.update(&new).unwrap();
        executable.update(&a).unwrap();
        bench.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(bench.queue.read(&new).unwrap()[0], 7);
        assert_eq!(bench.queue.read(&old).unwrap()[0], 13);
        let before = freed(&session, &bench.context);
        drop(old);
        assert_eq!(freed(&session, &bench.context), before, "the second node uses it");
        executable.update(&b).unwrap();
        assert_eq!(freed(&session, &bench.context), before + 1);
        bench.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(bench.queue.read(&new).unwrap()[0], 10);
    });
}

#[test]
fn threads_change_commit_draw_and_submit_at_once() {
    each(|bench| {
        let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
        let both = DynamicParameter::new(&graph, 1_u32);
        let a = graph.add(Command::parallel_for(LEN, number(&bench.memory, &both))).unwrap();
        let b = graph.after(&a).add(Command::parallel_for(LEN, advance(&bench.memory, 1, &both))).unwrap();
        let nodes = [a, b];
        let executable = bench.finalize(&graph);
        let times = |work: &dyn Fn(u32)| (1..200).for_each(work);
        std::thread::scope(|scope| {
            scope.spawn(|| times(&|value| both.update(value).unwrap()));
            scope.spawn(|| times(&|_| executable.update(&nodes).unwrap()));
            scope.spawn(|| {
                times(&|_| drop((executable.to_dot(Detail::Verbose), graph.to_dot(Detail::Verbose))))
            });
            scope
                .spawn(|| times(&|_| assert_eq!(bench.run(&executable) % 2, 0, "both nodes have one value")));
        });
        both.update(500).unwrap();
        executable.update(&nodes).unwrap();
        assert_eq!(bench.run(&executable), 1000);
    });
}

/// Bodies that are executables, and bodies that are nothing, are compared as others are.
#[test]
fn whole_graph_updates_compare_bodies_of_every_kind() {
    each(|bench| {
        let of = |first: u32| {
            let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
            graph.add(Command::parallel_for(LEN, number(&bench.memory, first))).unwrap();
            graph
        };
        let executable_of = |first: u32| bench.finalize(&of(first));
        let around = |command: Command| {
            let graph = Graph::new(&bench.context, bench.context.device()).unwrap();
            graph.add(command).unwrap();
            graph
        };
        let flag = bench.context.alloc_device::<u32>(1).unwrap();
        let zero = || drop(bench.queue.fill(&flag, 0).unwrap());
        zero();
        // An executable in the place of another one.
        let target = bench.finalize(&around(Command::repeat(1, &executable_of(20))));
        assert_eq!(bench.run(&target), 20);
        target.update_graph(&around(Command::repeat(1, &executable_of(30)))).unwrap();
        assert_eq!(bench.run(&target), 30);
        let other = Graph::new(&bench.context, bench.context.device()).unwrap();
        other.add(Command::parallel_for(LEN, advance(&bench.memory, 1, 1))).unwrap();
        let refused = [
            Command::repeat(1, &bench.finalize(&other)),
            Command::repeat(1, &of(40)),
            Command::repeat(1, ()),
        ];
        for command in refused {
            let error = target.update_graph(&around(command)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert_eq!(bench.run(&target), 30);
        }
        // Nothing in the place of a body, and the reverse.
        let both = bench.finalize(&around(Command::if_(&flag, &of(1), &of(50))));
        let none = bench.finalize(&around(Command::if_(&flag, &of(1), ())));
        let [with_none, with_both] =
            [Command::if_(&flag, &of(2), ()), Command::if_(&flag, &of(2), &of(60))].map(around);
        for (target, source) in [(&both, &with_none), (&none, &with_both)] {
            let error = target.update_graph(source).unwrap_err();
            assert!(error.to_string().contains("the graphs differ"), "{error}");
        }
        both.update_graph(&with_both).unwrap();
        assert_eq!(bench.run(&both), 60);
        none.update_graph(&with_none).unwrap();
    });
}
