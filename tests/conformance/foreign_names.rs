//! Names of nodes and labels around them: LBL-NOD, LBL-QUE, LBL-DOT, LBL-TIM, LBL-ERR.

use oclave::graph::{Detail, DynamicCommandGroup, Node, ReplayStrategy};
use oclave::memory::usm;
use oclave::{Command, ErrorKind, Graph, Queue, UsmSlice};

use super::graph_support::{Way, advance, node, ways};
use super::kernels::buffers;

type Values = UsmSlice<u32, usm::DeviceOnly>;

fn name(node: &Node) -> String {
    node.name().unwrap_or_default()
}

#[test]
fn lbl_nod_001_names_and_labels_nest() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let add = |name: &str| graph.after_all_leaves().add(advance(&values).named(name)).unwrap();
        let plain = graph.after_all_leaves().add(advance(&values)).unwrap();
        let alone = add("alone");
        let (outer, inner, label) = graph.label("solve", || {
            let outer = add("first");
            let inner = graph.label("step", || add("second"));
            (outer, inner, graph.after_all_leaves().add(advance(&values)).unwrap())
        });
        let after = add("after");
        assert_eq!(plain.name(), None);
        let names = [&alone, &outer, &inner, &label, &after].map(name);
        assert_eq!(names, ["alone", "solve/first", "solve/step/second", "solve", "after"]);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [1093; 8]);
    }
}

#[test]
fn lbl_nod_002_of_this_graph_and_this_thread_only() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let (graph, other) = (way.graph(), way.graph());
        graph.label("mine", || {
            assert_eq!(other.add(advance(&values)).unwrap().name(), None);
            std::thread::scope(|scope| {
                let added = scope.spawn(|| graph.add(Command::empty().named("theirs")).unwrap());
                assert_eq!(name(&added.join().unwrap()), "theirs");
            });
        });
        let panics =
            std::panic::AssertUnwindSafe(|| graph.label("lost", || std::panic::resume_unwind(Box::new(()))));
        let caught: Result<(), _> = std::panic::catch_unwind(panics);
        assert!(caught.is_err());
        assert_eq!(graph.add(Command::empty()).unwrap().name(), None, "a label ends with a panic, too");
    }
}

#[test]
fn lbl_nod_003_groups_and_updates_keep_the_name() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let either = [advance(&values).named("either"), advance(&values)];
        let group = DynamicCommandGroup::new(&graph, either).unwrap();
        let of_group = graph.label("group", || graph.add(&group).unwrap());
        assert_eq!(name(&of_group), "group/either");
        group.set_active_index(1).unwrap();
        assert_eq!(name(&of_group), "group/either");
        let plain = graph.after(&of_group).add(advance(&values).named("before")).unwrap();
        plain.update_command(advance(&values).named("new")).unwrap();
        assert_eq!(name(&plain), "before");
    }
}

#[test]
fn lbl_que_001_recorded_commands_have_labels_of_queue_and_graph() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let queue = Queue::new(way.context()).unwrap();
        let recording = graph.record(&queue).unwrap();
        let library = |queue: &Queue| queue.label("library", || queue.submit(advance(&values).named("step")));
        let events = graph.label("phase", || {
            let shortcut = queue.parallel_for(8, buffers::advance(&values, 3, 1)).unwrap();
            let command = queue.submit(advance(&values).named("group")).unwrap();
            [shortcut, command, library(&queue).unwrap()]
        });
        let elsewhere = Queue::new(way.context()).unwrap();
        let unlabelled = elsewhere.label("elsewhere", || queue.submit(advance(&values)).unwrap());
        recording.end();
        let names: Vec<String> = events.iter().map(|event| name(&node(event))).collect();
        assert_eq!(names, ["phase", "phase/group", "phase/library/step"]);
        assert_eq!(node(&unlabelled).name(), None);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [121; 8]);
    }
}

/// Two named steps, a named task, and a sub-graph with a named step.
fn named(way: &Way) -> (Values, Graph) {
    let values = way.device(&[1_u32; 8]);
    let inner = way.graph();
    inner.label("inside", || inner.add(advance(&values).named("step")).unwrap());
    let sub = way.finalize(&inner);
    let graph = way.graph();
    graph.label("solve", || {
        graph.add(advance(&values).named("residual")).unwrap();
        graph.after_all_leaves().add(advance(&values)).unwrap();
        graph.after_all_leaves().add(Command::host_task(|| ()).named("report")).unwrap();
        graph.after_all_leaves().add(Command::graph(&sub).named("sub")).unwrap();
    });
    (values, graph)
}

#[test]
fn lbl_dot_001_drawings_of_graphs_and_executables() {
    for way in ways() {
        let (_, graph) = named(&way);
        let executable = way.finalize(&graph);
        let (drawn, executed) = (graph.to_dot(Detail::Brief), executable.to_dot(Detail::Brief));
        for label in ["solve/residual: kernel advance", "solve: kernel advance", "solve/report: host_task"] {
            assert!(drawn.contains(label) && executed.contains(label), "{label}: {drawn}{executed}");
        }
        assert!(drawn.contains("3 solve/sub: subgraph"), "{drawn}");
        assert!(executed.contains("3 solve/sub/inside/step: kernel advance"), "{executed}");
    }
}

#[test]
fn lbl_dot_002_nodes_have_the_same_ids_in_graph_and_executable() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        // In an order that is not that of the numbers.
        let last = graph.add(advance(&values).named("last")).unwrap();
        let first = graph.add(advance(&values).named("first")).unwrap();
        graph.make_edge(&first, &last).unwrap();
        let executed = way.finalize(&graph).to_dot(Detail::Brief);
        for line in ["n0 [label=\"0 last", "n1 [label=\"1 first", "n1 -> n0;"] {
            assert!(graph.to_dot(Detail::Brief).contains(line) && executed.contains(line), "{executed}");
        }
        let (_, with_sub) = named(&way);
        let executed = way.finalize(&with_sub).to_dot(Detail::Brief);
        assert!(executed.contains("n3_1 [label=\"3 ") && executed.contains("n2 -> n3_1;"), "{executed}");
    }
}

#[test]
fn lbl_dot_003_arguments_have_the_names_of_parameters() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        graph.add(advance(&values)).unwrap();
        let drawings = [graph.to_dot(Detail::Verbose), way.finalize(&graph).to_dot(Detail::Verbose)];
        for drawn in drawings {
            for line in ["argument 0 (`values`): 0x", "argument 1 (`factor`): 3", "argument 2 (`addend`): 1"]
            {
                assert!(drawn.contains(line), "{drawn}");
            }
        }
    }
}

#[test]
fn lbl_tim_001_timelines_and_traces() {
    for way in ways() {
        let (_, graph) = named(&way);
        let queue = Queue::builder(way.context()).profiling().build().unwrap();
        let executable = graph.finalizer().strategy(way.strategy).profiling().finalize().unwrap();
        let event = queue.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        let timeline = executable.timeline(&event).unwrap();
        let trace = timeline.to_chrome_trace();
        let mut seen: Vec<(usize, &str)> = Vec::new();
        for times in timeline.nodes() {
            assert_eq!(times.nodes.len(), times.names.len(), "{times:?}");
            seen.extend(times.nodes.iter().copied().zip(times.names.iter().map(String::as_str)));
            assert_eq!(times.on_host, times.name == "solve/report: host_task", "{times:?}");
        }
        seen.sort_unstable();
        assert_eq!(seen, [(0, "solve/residual"), (1, "solve"), (2, "solve/report"), (3, "solve/sub")]);
        assert!(trace.contains("\"nodes\":[2],\"names\":[\"solve/report\"]"), "{trace}");
        if way.strategy == ReplayStrategy::Enqueue {
            assert!(trace.contains("solve/sub/inside/step: kernel advance"), "{trace}");
        }
    }
}

#[test]
fn lbl_tim_002_reports_of_the_interpreter() {
    for way in ways() {
        let (_, graph) = named(&way);
        let executable = way.finalize(&graph);
        let mut names: Vec<String> =
            executable.not_interpreted().into_iter().flat_map(|one| one.names).collect();
        names.extend(executable.segments().into_iter().flat_map(|one| one.names));
        names.sort_unstable();
        assert_eq!(names, ["solve", "solve/residual", "solve/sub"]);
    }
}

#[test]
fn lbl_err_001_failed_host_tasks() {
    for way in ways() {
        let graph = way.graph();
        let task = Command::host_task(|| Err::<(), _>("no luck")).named("report");
        graph.label("solve", || graph.add(task.clone()).unwrap());
        let error = way.queue.submit_graph(&way.finalize(&graph)).unwrap().wait().unwrap_err();
        assert!(error.to_string().contains("node 0 (`solve/report`)"), "{error}");
        let error = way.queue.label("eager", || way.queue.submit(task).unwrap()).wait().unwrap_err();
        assert!(error.to_string().contains("`eager/report`"), "{error}");
        drop(way.queue.wait());
    }
}

#[test]
fn lbl_err_002_refused_commands() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let short = way.device(&[1_u32; 4]);
        let copy = || Command::copy(&values, &short).named("copy");
        let shown = |error: oclave::Error| {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            error.to_string()
        };
        let graph = way.graph();
        let added = shown(graph.label("begin", || graph.add(copy())).unwrap_err());
        assert!(added.contains("`begin/copy`"), "{added}");
        let eager = shown(way.queue.label("begin", || way.queue.submit(copy())).unwrap_err());
        assert!(eager.contains("`begin/copy`"), "{eager}");
        let launch = || way.queue.parallel_for(8, buffers::advance(None::<&Values>, 1, 1).value(1_u8));
        let launched = way.queue.label("launch", launch).unwrap_err().to_string();
        assert!(launched.contains("`launch`"), "{launched}");
    }
}

#[test]
fn lbl_err_003_refused_updates_and_cycles() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let first = graph.add(advance(&values).named("first")).unwrap();
        let second = graph.after(&first).add(advance(&values).named("second")).unwrap();
        let cycle = graph.make_edge(&second, &first).unwrap_err().to_string();
        assert!(cycle.contains("first: kernel advance") && cycle.contains("second: kernel"), "{cycle}");
        let fill = Command::fill(&values, 0_u32);
        let refused = first.update_command(fill).unwrap_err().to_string();
        assert!(refused.contains("node 0 (`first`)"), "{refused}");
        let executable = graph.finalizer().updatable().strategy(way.strategy).finalize().unwrap();
        let empty = graph.add(Command::empty().named("nothing")).unwrap();
        let late = executable.update(&empty).unwrap_err().to_string();
        assert!(late.contains("node 2"), "{late}");
    }
}
