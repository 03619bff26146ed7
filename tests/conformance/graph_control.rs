//! Loops and conditions: CF.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oclave::command::Fold;
use oclave::graph::{Detail, DynamicParameter, NodeType};
use oclave::record::Session;
use oclave::{Buffer, Command, Context, ErrorKind, Graph, Queue};

use super::graph_support::{
    Values, Way, add_all, advance_by, chain, count_down, edges, read, submit, updatable, ways,
};
use super::kernels::buffers::{advance, advance_late, combine, keep_low, number};
use super::kernels::{globals_define, globals_scope};

/// `times` times ·3 + 1.
fn advanced(mut value: u32, times: u32) -> u32 {
    (0..times).for_each(|_| value = value.wrapping_mul(3).wrapping_add(1));
    value
}

#[test]
fn cf_rep_001_a_number_of_times() {
    for way in ways() {
        for count in [0_u32, 1, 2, 100, 1000] {
            let values = way.device(&[1_u32; 8]);
            let body = chain(&way, [advance_by(&values, 3, 0), advance_by(&values, 1, 1)]);
            let graph = way.graph();
            let node = graph.add(Command::repeat(count, &body)).unwrap();
            assert_eq!(node.node_type(), NodeType::Repeat);
            graph.after(&node).add(advance_by(&values, 1, 7)).unwrap();
            let executable = way.finalize(&graph);
            submit(&way, &executable);
            let expected = advanced(1, count).wrapping_add(7);
            assert_eq!(read(&way, &values), [expected; 8], "{count} times");
            submit(&way, &executable);
            assert_eq!(read(&way, &values), [advanced(expected, count).wrapping_add(7); 8], "{count} times");
        }
    }
}

#[test]
fn cf_rep_002_the_count_is_a_parameter() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let body = chain(&way, [advance_by(&values, 1, 1)]);
        let graph = way.graph();
        let count = DynamicParameter::new(&graph, 3_i32);
        let node = graph.add(Command::repeat(&count, &body)).unwrap();
        let executable = updatable(&way, &graph);
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [4; 8]);
        executable.set(&count, 10).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [14; 8]);
        executable.set(&count, -1).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [14; 8]);
        // Another count in the place of the parameter.
        node.update_command(Command::repeat(2, &body)).unwrap();
        executable.update(&node).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [16; 8]);
    }
}

#[test]
fn cf_rep_003_the_count_is_in_memory() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let count = way.device(&[9_i64, 5]);
        let body = chain(&way, [advance_by(&values, 1, 1)]);
        let graph = way.graph();
        graph.add(Command::repeat(&count.slice(1..=1).unwrap(), &body)).unwrap();
        let executable = way.finalize(&graph);
        for (number, expected) in [(5_i64, 6), (0, 6), (-4, 6), (1, 7)] {
            way.queue.write(&count, &[9, number]).unwrap();
            submit(&way, &executable);
            assert_eq!(read(&way, &values), [expected; 8], "{number}");
        }
    }
}

#[test]
fn cf_whl_001_a_condition_in_usm() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let left = way.device(&[0_u32]);
        let body = chain(&way, [advance_by(&values, 3, 1), count_down(&left)]);
        let graph = way.graph();
        let node = graph.add(Command::while_(&left, &body)).unwrap();
        assert_eq!(node.node_type(), NodeType::While);
        graph.after(&node).add(advance_by(&values, 1, 7)).unwrap();
        let executable = way.finalize(&graph);
        let mut expected = 1;
        // Zero iterations, and many.
        for count in [0, 1, 3, 300] {
            way.queue.write(&left, &[count]).unwrap();
            submit(&way, &executable);
            expected = advanced(expected, count).wrapping_add(7);
            assert_eq!(read(&way, &values), [expected; 8], "{count} times");
            assert_eq!(read(&way, &left), [0]);
        }
    }
}

#[test]
fn cf_whl_002_a_condition_in_a_buffer_and_edges_by_accessors() {
    for way in ways() {
        let left = Buffer::<u32>::from_vec(vec![0, 4, 0]).unwrap();
        let values = Buffer::<u32>::from_vec(vec![1; 8]).unwrap();
        let body = chain(
            &way,
            [advance_by(values.read_write(), 3, 1), count_down(left.read_write().slice(1..2).unwrap())],
        );
        let graph = way.graph();
        // Nothing but the accessors of the body says what comes first.
        graph.add(advance_by(values.read_write(), 1, 1)).unwrap();
        graph.add(Command::while_(&left.read().slice(1..2).unwrap(), &body)).unwrap();
        graph.add(advance_by(values.read_write(), 1, 5)).unwrap();
        graph.add(count_down(left.read_write().slice(0..1).unwrap())).unwrap();
        assert_eq!(edges(&graph), [vec![], vec![0], vec![1], vec![]]);
        let executable = way.finalize(&graph);
        submit(&way, &executable);
        assert_eq!(*values.host_read().unwrap(), [advanced(2, 4) + 5; 8]);
        assert_eq!(*left.host_read().unwrap(), [u32::MAX, 0, 0]);
    }
}

#[test]
fn cf_buf_001_bodies_that_do_not_run_leave_buffers_as_they_are() {
    for way in ways() {
        // The body would replace all of one buffer, and read another that a node behind it replaces.
        let [replaced, seen] = [[7_u32; 8], [5; 8]].map(|data| Buffer::from_vec(data.to_vec()).unwrap());
        let (total, runs) = (way.device(&[1_u32; 8]), way.device(&[0_u32]));
        let body = way.graph();
        body.add(Command::copy(&total, &replaced.write().no_init())).unwrap();
        body.add(Command::parallel_for(8, combine(seen.read(), &total, 1))).unwrap();
        let graph = way.graph();
        let node = graph.add(Command::repeat(&runs, &body)).unwrap();
        graph.after(&node).add(Command::fill(&seen.write().no_init(), 9)).unwrap();
        let executable = way.finalize(&graph);
        submit(&way, &executable);
        assert_eq!(*replaced.host_read().unwrap(), [7; 8]);
        assert_eq!(*seen.host_read().unwrap(), [9; 8]);
        way.queue.write(&runs, &[1]).unwrap();
        seen.host_write().unwrap().fill(5);
        submit(&way, &executable);
        assert_eq!(read(&way, &total), [6; 8]);
        assert_eq!(*seen.host_read().unwrap(), [9; 8]);
        // Not in a graph.
        let one_more = Buffer::from_vec(vec![3_u32; 8]).unwrap();
        let body = way.graph();
        body.add(Command::fill(&one_more.write().no_init(), 4)).unwrap();
        way.queue.write(&runs, &[0]).unwrap();
        way.queue.submit(Command::repeat(&runs, &body)).unwrap().wait().unwrap();
        assert_eq!(*one_more.host_read().unwrap(), [3; 8]);
    }
}

#[test]
fn cf_whl_003_a_condition_in_a_device_global() {
    for way in ways() {
        let way = way.alone();
        let counter = &globals_define::COUNTER;
        way.queue.write(counter, &4).unwrap();
        let values = way.device(&[1_u32; 8]);
        let body =
            chain(&way, [advance_by(&values, 3, 1), Command::single_task(globals_define::count_up(-1))]);
        let graph = way.graph();
        graph.add(Command::while_(counter, &body)).unwrap();
        let executable = way.finalize(&graph);
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [advanced(1, 4); 8]);
        assert_eq!(way.queue.read(counter).unwrap(), 0);
    }
}

#[test]
fn cf_if_001_either_body_or_none() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let flag = way.device(&[0.0_f32]);
        let then = chain(&way, [advance_by(&values, 1, 10), advance_by(&values, 2, 0)]);
        let otherwise = chain(&way, [advance_by(&values, 1, 1)]);
        let both = way.graph();
        assert_eq!(both.add(Command::if_(&flag, &then, &otherwise)).unwrap().node_type(), NodeType::If);
        let one = way.graph();
        one.add(Command::if_(&flag, &then, ())).unwrap();
        let other = way.graph();
        other.add(Command::if_(&flag, (), &otherwise)).unwrap();
        let executables = [both, one, other].map(|graph| way.finalize(&graph));
        for (value, expected) in
            [(0.5_f32, [22, 22, 1]), (0.0, [2, 1, 2]), (-0.0, [2, 1, 2]), (-3.0, [22, 22, 1])]
        {
            way.queue.write(&flag, &[value]).unwrap();
            for (executable, expected) in executables.iter().zip(expected) {
                way.queue.fill(&values, 1).unwrap().wait().unwrap();
                submit(&way, executable);
                assert_eq!(read(&way, &values), [expected; 8], "{value}");
            }
        }
    }
}

#[test]
fn cf_swt_001_one_of_several_bodies() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let which = way.device(&[0_i32]);
        let bodies: Vec<Graph> = (0..4).map(|n| chain(&way, [advance_by(&values, 1, 10 * n + 10)])).collect();
        let graph = way.graph();
        assert_eq!(graph.add(Command::switch(&which, &bodies)).unwrap().node_type(), NodeType::Switch);
        let executable = way.finalize(&graph);
        for (value, expected) in [(0, 11), (1, 21), (3, 41), (4, 1), (-1, 1), (i32::MAX, 1)] {
            way.queue.write(&which, &[value]).unwrap();
            way.queue.fill(&values, 1).unwrap().wait().unwrap();
            submit(&way, &executable);
            assert_eq!(read(&way, &values), [expected; 8], "{value}");
        }
    }
}

#[test]
fn cf_nst_001_loops_in_loops_in_conditions() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let (outer, flag) = (way.device(&[3_u32]), way.device(&[1_u8]));
        let innermost = chain(&way, [advance_by(&values, 1, 1)]);
        // Two of three rounds are even: outer is 3, 2, 1.
        let odd = way.device(&[0_u32]);
        let if_odd = chain(&way, [advance_by(&values, 1, 1000)]);
        let middle = way.graph();
        let first = middle.add(Command::repeat(5, &innermost)).unwrap();
        let copied = middle.after(&first).add(Command::copy(&outer, &odd)).unwrap();
        let one = middle.after(&copied).add(Command::parallel_for(1, advance(&odd, 1, u32::MAX))).unwrap();
        // Nothing happens where one is left.
        let inner = middle.after(&one).add(Command::if_(&odd, &if_odd, ())).unwrap();
        middle.after(&inner).add(count_down(&outer)).unwrap();
        let looped = way.graph();
        looped.add(Command::while_(&outer, &middle)).unwrap();
        let graph = way.graph();
        graph.add(Command::if_(&flag, &looped, ())).unwrap();
        submit(&way, &way.finalize(&graph));
        assert_eq!(read(&way, &values), [1 + 15 + 2000; 8]);
    }
}

#[test]
fn cf_nst_002_bodies_with_every_kind_of_node() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let other = way.device(&[0_u32; 8]);
        let calls = Arc::new(AtomicU32::new(0));
        let (seen, sub) = (Arc::clone(&calls), chain(&way, [advance_by(&values, 1, 1)]));
        let body = way.graph();
        let first = body
            .add(Command::host_task(move || {
                seen.fetch_add(1, Ordering::Relaxed);
            }))
            .unwrap();
        let second = body.after(&first).add(&way.finalize(&sub)).unwrap();
        let third = body.after(&second).add(Command::copy(&values, &other)).unwrap();
        let fourth = body.after(&third).add(Command::write(&values.slice(0..=0).unwrap(), 40_u32)).unwrap();
        body.after(&fourth).add(Command::parallel_for(8, combine(&other, &values, 1))).unwrap();
        let graph = way.graph();
        graph.add(Command::repeat(3, &body)).unwrap();
        // A body that is an executable.
        graph.after_all_leaves().add(Command::repeat(2, &way.finalize(&sub))).unwrap();
        // A graph with loops as a sub-graph.
        let around = way.graph();
        around.add(&way.finalize(&graph)).unwrap();
        submit(&way, &way.finalize(&around));
        assert_eq!(calls.load(Ordering::Relaxed), 3);
        let (mut first, mut rest) = (1_u32, 1_u32);
        for _ in 0..3 {
            first = 40 + first + 1;
            rest = 2 * (rest + 1);
        }
        assert_eq!(read(&way, &values), [[first + 2].as_slice(), &[rest + 2; 7]].concat());
    }
}

#[test]
fn cf_lim_001_a_loop_that_does_not_end_fails() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let left = way.device(&[1_u32]);
        let body = chain(&way, [advance_by(&values, 1, 1)]);
        let graph = way.graph();
        let first = graph.add(advance_by(&values, 1, 0)).unwrap();
        graph.after(&first).add(Command::while_(&left, &body).max_iterations(50)).unwrap();
        let executable = way.finalize(&graph);
        let error = way.queue.submit_graph(&executable).unwrap().wait().unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("while node 1") && text.contains("50 iterations, which is its limit"),
            "{text}"
        );
        assert_eq!(error.kind(), ErrorKind::Runtime, "{text}");
        assert_eq!(read(&way, &values), [51; 8]);
        // The next submission runs.
        way.queue.write(&left, &[0]).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [51; 8]);
    }
}

#[test]
fn cf_lim_002_a_count_beyond_the_limit_fails() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let count = way.device(&[7_u16]);
        let body = chain(&way, [advance_by(&values, 1, 1)]);
        for command in [Command::repeat(7, &body), Command::repeat(&count, &body)] {
            let graph = way.graph();
            graph.add(command.clone().max_iterations(7)).unwrap();
            submit(&way, &way.finalize(&graph));
            let graph = way.graph();
            graph.add(command.max_iterations(6)).unwrap();
            let error = way.queue.submit_graph(&way.finalize(&graph)).unwrap().wait().unwrap_err();
            assert!(format!("{error:#}").contains("repeat node 0"), "{error:#}");
        }
        assert_eq!(read(&way, &values), [15; 8]);
    }
}

#[test]
fn cf_upd_001_nodes_and_parameters_of_bodies() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let innermost = way.graph();
        let addend = DynamicParameter::new(&innermost, 1_u32);
        let node = innermost.add(Command::parallel_for(8, advance(&values, 1, &addend))).unwrap();
        let middle = way.graph();
        middle.add(Command::repeat(2, &innermost)).unwrap();
        let graph = way.graph();
        graph.add(Command::repeat(3, &middle)).unwrap();
        let executable = updatable(&way, &graph);
        let other = updatable(&way, &graph);
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [6; 8]);
        executable.set(&addend, 10).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [66; 8]);
        submit(&way, &other);
        assert_eq!(read(&way, &values), [72; 8]);
        node.update_range(4).unwrap();
        executable.update(&node).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [132, 132, 132, 132, 72, 72, 72, 72]);
        let foreign = way.graph().add(Command::empty()).unwrap();
        assert!(executable.update(&foreign).unwrap_err().to_string().contains("is of graph"));
    }
}

#[test]
fn cf_upd_002_whole_graphs_with_bodies() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let make = |addend: u32, count: u32, more: bool| {
            let body = way.graph();
            body.add(advance_by(&values, 1, addend)).unwrap();
            if more {
                body.after_all_leaves().add(advance_by(&values, 1, 0)).unwrap();
            }
            let graph = way.graph();
            graph.add(advance_by(&values, 1, 100 * addend)).unwrap();
            graph.after_all_leaves().add(Command::repeat(count, &body)).unwrap();
            graph
        };
        let executable = updatable(&way, &make(1, 2, false));
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [102; 8]);
        executable.update_graph(&make(2, 5, false)).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [102 + 210; 8]);
        let error = executable.update_graph(&make(3, 1, true)).unwrap_err().to_string();
        assert!(error.contains("2 nodes, the executable has 1"), "{error}");
        submit(&way, &executable);
        assert_eq!(read(&way, &values), [102 + 420; 8]);
    }
}

#[test]
fn cf_upd_004_whole_graphs_are_updated_with_all_bodies_or_not_at_all() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        // The temporaries share a place, so that the fourth node must not use the first of them.
        let make = |addend: u32, uses_first: bool| {
            let body = chain(&way, [advance_by(&values, 1, addend)]);
            let graph = way.graph();
            let [first, second] = [(); 2].map(|()| graph.alloc::<u32>(8).unwrap());
            let last = if uses_first { &first } else { &second };
            let commands = [
                Command::parallel_for(8, number(&first, addend)),
                Command::parallel_for(8, combine(&first, &values, 0)),
                Command::parallel_for(8, number(&second, 2 * addend)),
                Command::parallel_for(8, combine(last, &values, 1)),
                Command::repeat(2, &body),
            ];
            add_all(&graph, commands);
            graph
        };
        let executable = updatable(&way, &make(1, false));
        let expected = |addend: u32| -> Vec<u32> { (0..8).map(|item| 5 * addend + 2 * item).collect() };
        submit(&way, &executable);
        assert_eq!(read(&way, &values), expected(1));
        let error = executable.update_graph(&make(10, true)).unwrap_err().to_string();
        assert!(error.contains("in the same place"), "{error}");
        submit(&way, &executable);
        assert_eq!(read(&way, &values), expected(1), "after an update that was refused");
        executable.update_graph(&make(10, false)).unwrap();
        submit(&way, &executable);
        assert_eq!(read(&way, &values), expected(10));
    }
}

#[test]
fn cf_upd_003_submissions_keep_what_they_began_with() {
    for way in ways() {
        let values = way.device(&[0_u32]);
        let body = way.graph();
        let addend = DynamicParameter::new(&body, 1_u32);
        body.add(Command::parallel_for(1, advance_late(&values, 20_000, &addend))).unwrap();
        let graph = way.graph();
        graph.add(Command::repeat(40, &body)).unwrap();
        let executable = updatable(&way, &graph);
        let mut expected = 0;
        for round in 1..4_u32 {
            executable.set(&addend, round * 1000).unwrap();
            way.queue.submit_graph(&executable).unwrap();
            expected += 40 * round * 1000;
        }
        way.queue.wait().unwrap();
        assert_eq!(read(&way, &values), [expected]);
    }
}

#[test]
fn cf_rec_001_recorded_and_submitted_at_once() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let queue = Queue::new(way.context()).unwrap();
        let body = way.graph();
        let recording = body.record(&queue).unwrap();
        queue.parallel_for(8, advance(&values, 3, 0)).unwrap();
        queue.parallel_for(8, advance(&values, 1, 1)).unwrap();
        recording.end();
        let graph = way.graph();
        let recording = graph.record(&queue).unwrap();
        queue.parallel_for(8, advance(&values, 1, 1)).unwrap();
        queue.submit(Command::repeat(3, &body)).unwrap();
        queue.parallel_for(8, advance(&values, 1, 5)).unwrap();
        recording.end();
        assert_eq!(edges(&graph), [vec![], vec![0], vec![1]]);
        submit(&way, &way.finalize(&graph));
        assert_eq!(read(&way, &values), [advanced(2, 3) + 5; 8]);
        // Without a graph around it.
        let left = way.device(&[2_u32]);
        let step = chain(&way, [advance_by(&values, 1, 1), count_down(&left)]);
        let looped = way.queue.submit(Command::while_(&left, &step)).unwrap();
        way.queue.submit(advance_by(&values, 2, 0).after(&looped)).unwrap().wait().unwrap();
        assert_eq!(read(&way, &values), [2 * (advanced(2, 3) + 7); 8]);
    }
}

#[test]
fn cf_fai_001_a_failure_in_a_body_ends_the_loop() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let calls = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&calls);
        let body = chain(
            &way,
            [
                advance_by(&values, 1, 1),
                Command::host_task(move || match seen.fetch_add(1, Ordering::Relaxed) {
                    2 => Err("no luck"),
                    _ => Ok(()),
                }),
            ],
        );
        let graph = way.graph();
        let node = graph.add(Command::repeat(5, &body)).unwrap();
        graph.after(&node).add(advance_by(&values, 1, 100)).unwrap();
        let executable = way.finalize(&graph);
        let error = way.queue.submit_graph(&executable).unwrap().wait().unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("no luck") && text.contains("repeat node 0"), "{text}");
        assert_eq!((read(&way, &values), calls.load(Ordering::Relaxed)), (vec![3; 8], 3));
        submit(&way, &executable);
        assert_eq!((read(&way, &values), calls.load(Ordering::Relaxed)), (vec![108; 8], 8));
    }
}

#[test]
fn cf_ref_001_what_is_refused() {
    for way in ways().into_iter().take(1) {
        let values = way.device(&[0_u32; 8]);
        let (body, graph) = (chain(&way, [advance_by(&values, 1, 1)]), way.graph());
        let refused = |outcome: oclave::Result<oclave::graph::Node>, what: &str| {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(format!("{error:#}").contains(what), "{what}: {error:#}");
        };
        refused(graph.add(Command::while_(&values, &body)), "given 8");
        refused(graph.add(Command::repeat(2, &graph)), "is the graph itself");
        refused(graph.add(Command::switch(&values.slice(0..=0).unwrap(), [&body; 0])), "without bodies");
        let elsewhere = Graph::new(&Context::new(way.queue.device()).unwrap(), way.queue.device()).unwrap();
        refused(graph.add(Command::repeat(2, &elsewhere)), "another context");
        let around = way.graph();
        around.add(Command::repeat(1, &body)).unwrap();
        refused(body.add(Command::repeat(1, &around)), "contains it");
        let recording = body.record(&way.queue).unwrap();
        refused(graph.add(Command::repeat(2, &body)), "records");
        recording.end();
        assert!(graph.is_empty());
        graph.add(Command::repeat(2, &body)).unwrap();
        body.add(Command::empty()).unwrap();
        let error = graph.finalize().unwrap_err();
        assert!(format!("{error:#}").contains("were added to the graph after"), "{error:#}");
        let foreign = DynamicParameter::new(&body, 2_u32);
        refused(way.graph().add(Command::repeat(&foreign, &around)), "another graph");
        // Other bodies in the place of a node's.
        let graph = way.graph();
        let node = graph.add(Command::repeat(2, &around)).unwrap();
        let error = node.update_command(Command::repeat(2, &elsewhere)).unwrap_err();
        assert!(format!("{error:#}").contains("bodies"), "{error:#}");
    }
}

#[test]
fn cf_drw_001_bodies_are_frames() {
    for way in ways().into_iter().take(1) {
        let values = way.device(&[0_u32; 8]);
        let inner = chain(&way, [advance_by(&values, 1, 1), advance_by(&values, 1, 1)]);
        let middle = way.graph();
        middle.add(Command::repeat(2, &inner)).unwrap();
        let graph = way.graph();
        graph.add(Command::if_(&values.slice(0..=0).unwrap(), &middle, ())).unwrap();
        for dot in [graph.to_dot(Detail::Verbose), way.finalize(&graph).to_dot(Detail::Brief)] {
            for part in [
                "n0 [label=\"0 if",
                "cluster_n0_0",
                "cluster_n0_0_0_0",
                "n0_0_0 [label=\"0 repeat",
                "n0_0_0_0_1 -> ",
            ] {
                let found =
                    dot.contains(part) || part.ends_with("-> ") && dot.contains("n0_0_0_0_0 -> n0_0_0_0_1");
                assert!(found, "{part} in {dot}");
            }
        }
    }
}

#[test]
fn cf_tim_001_timelines_have_iterations() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let left = way.device(&[0_u32]);
        let queue = Queue::builder(way.context()).profiling().build().unwrap();
        let inner = chain(&way, [advance_by(&values, 1, 1)]);
        let body = chain(&way, [advance_by(&values, 1, 1)]);
        let nested = body.after_all_leaves().add(Command::repeat(3, &inner)).unwrap();
        body.after(&nested).add(count_down(&left)).unwrap();
        let graph = way.graph();
        let first = graph.add(advance_by(&values, 1, 1)).unwrap();
        let looped = graph.after(&first).add(Command::while_(&left, &body)).unwrap();
        let finalizer = graph.finalizer().strategy(way.strategy).profiling().wait_for_interpreter();
        let executable = finalizer.finalize().unwrap();
        // Counts are of one submission. Loops that did not run have none.
        for count in [5_u32, 0, 2, 1100] {
            way.queue.write(&left, &[count]).unwrap();
            way.queue.write(&values, &[0; 8]).unwrap();
            let event = queue.submit_graph(&executable).unwrap();
            event.wait().unwrap();
            assert_eq!(read(&way, &values), [1 + 4 * count; 8]);
            let timeline = executable.timeline(&event).unwrap();
            let entry = timeline.nodes().iter().find(|entry| entry.nodes == [looped.index()]).unwrap();
            let [outer, inside] = entry.loops.as_slice() else { panic!("{:?}", entry.loops) };
            assert_eq!((outer.node, outer.name.as_str()), (looped.index(), "while"));
            assert_eq!((inside.node, inside.name.as_str()), (nested.index(), "repeat"));
            assert_eq!([outer.iterations, inside.iterations], [count, 3 * count].map(u64::from));
            assert_eq!(outer.mean().is_some(), count > 0, "{count}, {:?}, {outer:?}", way.strategy);
            let in_spans: u64 = outer.spans.iter().map(|span| span.iterations).sum();
            let is_cut = outer.spans.iter().all(|span| span.iterations == 1);
            assert_eq!(in_spans, if is_cut { outer.iterations.min(1000) } else { outer.iterations });
            let times: Vec<_> = outer.spans.iter().map(|span| span.times.unwrap()).collect();
            assert!(times.windows(2).all(|two| two[0].ended_ns <= two[1].started_ns), "{times:?}");
            let others = timeline.nodes().iter().filter(|entry| entry.nodes != [looped.index()]);
            assert!(others.clone().count() > 0 && others.clone().all(|entry| entry.loops.is_empty()));
            let trace = timeline.to_chrome_trace();
            let numbers = format!("{{\"node\":{},\"loop\":\"while\",\"iterations\":{count}", looped.index());
            assert!(trace.contains(&numbers), "{trace}");
            assert_eq!(
                trace.contains("\"iteration 0\"") || trace.contains("\"iterations 0 to"),
                count > 0,
                "{trace}"
            );
        }
    }
}

#[test]
fn cf_itp_001_loops_of_small_nodes_are_one_launch() {
    let Some(way) = ways().into_iter().find(|way| way.strategy == oclave::graph::ReplayStrategy::Interpreter)
    else {
        return;
    };
    let values = way.device(&[1_u32; 8]);
    let (left, which) = (way.device(&[0_u32]), way.device(&[0_i32]));
    let wait = |graph: &Graph| {
        graph.finalizer().updatable().strategy(way.strategy).wait_for_interpreter().finalize().unwrap()
    };
    let innermost = way.graph();
    let addend = DynamicParameter::new(&innermost, 1_u32);
    innermost.add(Command::parallel_for(8, advance(&values, 3, &addend))).unwrap();
    let bodies = [chain(&way, [advance_by(&values, 1, 10)]), chain(&way, [advance_by(&values, 1, 20)])];
    let step = way.graph();
    step.add(Command::repeat(3, &innermost)).unwrap();
    step.after_all_leaves().add(Command::switch(&which, &bodies)).unwrap();
    step.after_all_leaves().add(Command::fill(&which, 1)).unwrap();
    step.after_all_leaves().add(count_down(&left)).unwrap();
    let graph = way.graph();
    graph.add(Command::while_(&left, &step)).unwrap();
    let executable = wait(&graph);
    if executable.segments().is_empty() {
        skip!("the interpreter has no jumps here: {:?}", executable.not_interpreted());
    }
    assert_eq!(executable.segments()[0].nodes, [0]);
    let oracle = |rounds: u32, addend: u32, mut value: u32| {
        for round in 0..rounds {
            (0..3).for_each(|_| value = value.wrapping_mul(3).wrapping_add(addend));
            value = value.wrapping_add(if round == 0 { 10 } else { 20 });
        }
        value
    };
    let mut expected = 1;
    // More than one launch takes.
    for (rounds, by) in [(5_u32, 1_u32), (0, 1), (7, 2), (200_000, 3)] {
        way.queue.write(&left, &[rounds]).unwrap();
        way.queue.write(&which, &[0]).unwrap();
        executable.set(&addend, by).unwrap();
        submit(&way, &executable);
        expected = oracle(rounds, by, expected);
        assert_eq!(read(&way, &values), [expected; 8], "{rounds} rounds");
    }
    // Limits have the message of loops that the host decides.
    let graph = way.graph();
    graph.add(Command::while_(&which, &innermost).max_iterations(20)).unwrap();
    let executable = wait(&graph);
    assert_eq!(executable.segments().len(), 1);
    let error = way.queue.submit_graph(&executable).unwrap().wait().unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("while node 0") && text.contains("20 iterations, which is its limit"), "{text}");
}

#[test]
fn cf_itp_002_kernels_of_several_programs_are_one_launch() {
    use super::kernels::spec_constants::{FACTOR, specialized};
    let Some(shared) =
        ways().into_iter().find(|way| way.strategy == oclave::graph::ReplayStrategy::Interpreter)
    else {
        return;
    };
    let way = shared.alone();
    let values = way.device(&[1_u32; 8]);
    let (total, left, floats) = (way.device(&[0_u32]), way.device(&[0_u32]), way.device(&[1.0_f32; 4]));
    let finalize = |graph: &Graph| {
        graph.finalizer().updatable().strategy(way.strategy).wait_for_interpreter().finalize().unwrap()
    };
    let by = |factor: i32| Command::parallel_for(4, specialized(&floats).spec(&FACTOR, factor));
    // Four sources, one of them with two values of a constant, and a kernel of the library.
    let body = chain(
        &way,
        [
            advance_by(&values, 3, 1),
            Command::reduce(Fold::Sum, &values, &total),
            by(2),
            by(5),
            Command::single_task(globals_define::count_up(2)),
            Command::single_task(globals_scope::scoped_add(3)),
            count_down(&left),
        ],
    );
    let graph = way.graph();
    let looped = graph.add(Command::while_(&left, &body)).unwrap();
    // What a launch writes to variables is what the list reads, and the other way round.
    graph.after(&looped).add(Command::single_task(globals_scope::scoped_add(100))).unwrap();
    let executable = finalize(&graph);
    let is_there = |executable: &oclave::graph::ExecutableGraph| {
        executable.segments().iter().any(|segment| segment.nodes == [0])
    };
    let has_jumps = is_there(&executable);
    let (counter, scoped) = (&globals_define::COUNTER, &globals_scope::SCOPED);
    let begun = (way.queue.read(counter).unwrap(), way.queue.read(scoped).unwrap());
    let (mut value, mut float, mut iterations, mut sums) = (1_u32, 1.0_f32, 0, 0);
    for (submission, rounds) in [2, 0, 3].into_iter().enumerate() {
        way.queue.write(&left, &[rounds]).unwrap();
        submit(&way, &executable);
        for _ in 0..rounds {
            value = value * 3 + 1;
            float = (float * 2.0 + 0.5) * 5.0 + 0.5;
            sums = value * 8;
        }
        iterations += rounds as i32;
        assert_eq!(read(&way, &values), [value; 8]);
        assert_eq!(read(&way, &total), [sums]);
        assert_eq!(way.queue.read(&floats).unwrap(), [float; 4]);
        assert_eq!(way.queue.read(counter).unwrap(), begun.0 + 2 * iterations);
        assert_eq!(way.queue.read(scoped).unwrap(), begun.1 + 3 * iterations + 100 * (submission as i32 + 1));
    }
    // What holds for a loop of one program holds for this one.
    let (alone, one_left) = (shared.graph(), shared.device(&[0_u32]));
    alone.add(Command::while_(&one_left, &chain(&shared, [count_down(&one_left)]))).unwrap();
    let reasons = executable.not_interpreted();
    assert_eq!(has_jumps, is_there(&finalize(&alone)), "{reasons:?}");
    if !has_jumps {
        skip!("the interpreter has no jumps here: {reasons:?}");
    }
    // Two programs that both have the variable: an interpreter program has only one.
    let body = chain(
        &way,
        [1, 4].map(|step| {
            Command::single_task(globals_scope::scoped_add(1).spec(&globals_scope::SCOPED_STEP, step))
        }),
    );
    let graph = way.graph();
    graph.add(Command::repeat(3, &body)).unwrap();
    let executable = finalize(&graph);
    submit(&way, &executable);
    assert!(!is_there(&executable));
    let reasons = format!("{:?}", executable.not_interpreted());
    assert!(
        reasons.contains("two programs have a device global `oclave-tests/tests/globals_scope.scoped_"),
        "{reasons}"
    );
}

#[test]
fn cf_itp_003_an_inner_loop_is_one_launch_in_each_iteration() {
    for way in ways().into_iter().filter(|way| way.strategy == oclave::graph::ReplayStrategy::Interpreter) {
        let values = way.device(&[1_u32; 8]);
        let calls = Arc::new(AtomicU32::new(0));
        let called = Arc::clone(&calls);
        let innermost = chain(&way, [advance_by(&values, 3, 1), advance_by(&values, 1, 2)]);
        let inner = way.graph();
        inner.add(Command::repeat(500, &innermost)).unwrap();
        let inner = inner.finalizer().strategy(way.strategy).wait_for_interpreter().finalize().unwrap();
        if inner.segments().is_empty() {
            skip!("the interpreter has no jumps here: {:?}", inner.not_interpreted());
        }
        let body = way.graph();
        body.add(Command::repeat(500, &innermost)).unwrap();
        let task = Command::host_task(move || {
            called.fetch_add(1, Ordering::Relaxed);
        });
        body.after_all_leaves().add(task).unwrap();
        let graph = way.graph();
        graph.add(Command::repeat(3, &body)).unwrap();
        let finalizer = graph.finalizer().strategy(way.strategy).wait_for_interpreter();
        let executable = finalizer.finalize().unwrap();
        let mut expected = 1_u32;
        for round in 1..=2 {
            let session = Session::start();
            submit(&way, &executable);
            let launches = session.count("clEnqueueNDRangeKernel");
            drop(session);
            (0..1500).for_each(|_| expected = expected.wrapping_mul(3).wrapping_add(3));
            assert_eq!(read(&way, &values), [expected; 8]);
            assert_eq!(calls.load(Ordering::Relaxed), 3 * round);
            // If its estimate is small, three; else a few more.
            assert!((3..100).contains(&launches), "{launches} launches for 3000 nodes");
        }
    }
}

#[test]
fn cf_itp_004_a_first_launch_waits_in_the_queue() {
    for way in ways() {
        let (values, total) = (way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let (left, flag) = (way.device(&[0_u32]), way.device(&[1_u32]));
        let body = chain(&way, [advance_by(&values, 3, 1), count_down(&left)]);
        let graph = way.graph();
        // The loop reads what commands before it write late.
        add_all(
            &graph,
            [
                Command::fill(&values, 1),
                Command::fill(&left, 7),
                Command::parallel_for(1, advance_late(&left, 1000, 3)),
                Command::while_(&left, &body).max_iterations(10),
                Command::parallel_for(8, combine(&values, &total, 1)),
            ],
        );
        let executable = way.finalize(&graph);
        let alone = way.graph();
        alone.add(Command::while_(&flag, &body).max_iterations(20)).unwrap();
        let alone = way.finalize(&alone);
        let mut expected = 0_u32;
        // Each alone, and one right behind the other.
        for submissions in [1, 1, 3, 2, 1] {
            for _ in 0..submissions {
                way.queue.submit_graph(&executable).unwrap();
                expected = expected.wrapping_add(advanced(1, 10));
            }
            way.queue.wait().unwrap();
            assert_eq!(read(&way, &total), [expected; 8]);
            // A loop that fails at its limit leaves the queue as it was.
            let failed = way.queue.submit_graph(&alone).unwrap();
            assert!(format!("{:#}", failed.wait().unwrap_err()).contains("while node 0"));
            assert!(way.queue.wait().is_err());
        }
        let cancelled = way.queue.submit_graph(&alone).unwrap();
        cancelled.cancel();
        assert!(cancelled.wait().is_err());
        let _ = way.queue.wait();
        submit(&way, &executable);
        assert_eq!(read(&way, &total), [expected.wrapping_add(advanced(1, 10)); 8]);
    }
}

#[test]
fn cf_can_001_a_cancelled_loop_ends_between_iterations() {
    for way in ways() {
        let values = way.device(&[0_u32]);
        let left = way.device(&[1_u32]);
        let body = chain(&way, [Command::parallel_for(1, advance_late(&values, 1000, 1))]);
        let nested = way.graph();
        nested.add(Command::while_(&left, &body)).unwrap();
        let graph = way.graph();
        graph.add(Command::repeat(2, &nested)).unwrap();
        let executable = way.finalize(&graph);
        let event = way.queue.submit_graph(&executable).unwrap();
        assert!(event.cancel());
        let error = event.wait().unwrap_err();
        assert!(format!("{error:#}").contains("was cancelled"), "{error:#}");
        assert!(!event.cancel());
        // The next submission runs.
        way.queue.write(&left, &[0]).unwrap();
        submit(&way, &executable);
        let filled = way.queue.fill(&values, 1).unwrap();
        assert!(!filled.cancel());
        filled.wait().unwrap();
        // As for all failures, the queue tells of it, too.
        assert!(format!("{:#}", way.queue.wait().unwrap_err()).contains("was cancelled"));
    }
}

/// Programs of loops, conditions and commands that change four arrays, on the host and as graphs.
mod programs {
    use std::collections::HashMap;

    use oclave::graph::{ExecutableGraph, Node};

    use super::*;

    const ARRAYS: usize = 4;
    /// One for each depth of loops.
    const DEPTH: usize = 3;

    #[derive(Debug)]
    pub(super) enum Statement {
        /// Of the first `items` elements.
        Advance {
            id: usize,
            array: usize,
            factor: u32,
            addend: u32,
            items: usize,
        },
        Combine {
            from: usize,
            to: usize,
            factor: u32,
        },
        Copy {
            from: usize,
            to: usize,
        },
        Fill {
            array: usize,
            value: u32,
        },
        Host,
        Repeat {
            id: usize,
            count: u32,
            body: Vec<Statement>,
        },
        /// The count is the first element of an array, modulo four.
        RepeatBy {
            array: usize,
            depth: usize,
            body: Vec<Statement>,
        },
        While {
            count: u32,
            depth: usize,
            body: Vec<Statement>,
        },
        If {
            array: usize,
            then: Vec<Statement>,
            otherwise: Vec<Statement>,
        },
        Switch {
            array: usize,
            bodies: Vec<Vec<Statement>>,
        },
    }

    /// A generator of numbers.
    pub(super) struct Numbers {
        state: u64,
        statements: usize,
        /// Whether programs have kernels only, as updates of whole graphs want them.
        are_kernels: bool,
    }

    impl Numbers {
        pub(super) fn new(seed: u64, are_kernels: bool) -> Self {
            Self { state: seed, statements: 0, are_kernels }
        }

        fn below(&mut self, end: usize) -> usize {
            self.state =
                self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 33) as usize % end
        }

        pub(super) fn body(&mut self, depth: usize) -> Vec<Statement> {
            let count = 1 + self.below(4);
            (0..count).map(|_| self.statement(depth)).collect()
        }

        fn statement(&mut self, depth: usize) -> Statement {
            let (array, other, number) = (self.below(ARRAYS), self.below(ARRAYS - 1), self.below(5) as u32);
            let to = (array + 1 + other) % ARRAYS;
            self.statements += 1;
            let id = self.statements;
            let advance = |factor, addend| Statement::Advance { id, array, factor, addend, items: 8 };
            match self.below(if depth < DEPTH { 13 } else { 7 }) {
                0 | 1 => advance(number, number + 1),
                2 | 3 => Statement::Combine { from: array, to, factor: number },
                4..=6 if self.are_kernels => advance(1, number),
                4 => Statement::Copy { from: array, to },
                5 => Statement::Fill { array, value: number },
                6 if self.below(4) == 0 => Statement::Host,
                6 => advance(1, number),
                7 | 8 => Statement::Repeat { id, count: number, body: self.body(depth + 1) },
                9 => Statement::RepeatBy { array, depth, body: self.body(depth + 1) },
                10 => Statement::While { count: number, depth, body: self.body(depth + 1) },
                11 => Statement::If { array, then: self.body(depth + 1), otherwise: self.body(depth + 1) },
                _ => Statement::Switch { array, bodies: (0..3).map(|_| self.body(depth + 1)).collect() },
            }
        }

        /// Changes a value somewhere in a program, and the executable of its graph with it, if one is given.
        pub(super) fn change(
            &mut self,
            program: &mut [Statement],
            device: Option<(&ExecutableGraph, &Handles)>,
        ) {
            let mut all = Vec::new();
            changeable(program, &mut all);
            let count = all.len();
            let Some(statement) = all.into_iter().nth(self.below(count.max(1))) else { return };
            match statement {
                Statement::Advance { id, addend, .. } if self.below(2) == 0 => {
                    *addend = self.below(100) as u32;
                    if let Some((executable, handles)) = device {
                        executable.set(&handles.numbers[id], *addend).unwrap();
                    }
                }
                Statement::Advance { id, items, .. } => {
                    *items = 1 + self.below(8);
                    if let Some((executable, handles)) = device {
                        let node = &handles.nodes[id];
                        node.update_range(*items).unwrap();
                        executable.update(node).unwrap();
                    }
                }
                Statement::Repeat { id, count, .. } => {
                    *count = self.below(6) as u32;
                    if let Some((executable, handles)) = device {
                        executable.set(&handles.numbers[id], *count).unwrap();
                    }
                }
                _ => {}
            }
        }
    }

    /// The statements whose values can change.
    fn changeable<'p>(program: &'p mut [Statement], all: &mut Vec<&'p mut Statement>) {
        for statement in program {
            match statement {
                Statement::Advance { .. } => all.push(statement),
                // Either the loop or what is in it.
                Statement::Repeat { id, .. } if *id % 2 == 0 => all.push(statement),
                Statement::Repeat { body, .. }
                | Statement::RepeatBy { body, .. }
                | Statement::While { body, .. } => changeable(body, all),
                Statement::If { then, otherwise, .. } => {
                    changeable(then, all);
                    changeable(otherwise, all);
                }
                Statement::Switch { bodies, .. } => bodies.iter_mut().for_each(|body| changeable(body, all)),
                _ => {}
            }
        }
    }

    #[derive(Default)]
    pub(super) struct Host {
        pub(super) arrays: [[u32; 8]; ARRAYS],
        pub(super) calls: u32,
    }

    impl Host {
        pub(super) fn run(&mut self, program: &[Statement]) {
            for statement in program {
                match statement {
                    Statement::Advance { array, factor, addend, items, .. } => {
                        for value in &mut self.arrays[*array][..*items] {
                            *value = value.wrapping_mul(*factor).wrapping_add(*addend);
                        }
                    }
                    Statement::Combine { from, to, factor } => {
                        let from = self.arrays[*from];
                        for (value, from) in self.arrays[*to].iter_mut().zip(from) {
                            *value = value.wrapping_mul(*factor).wrapping_add(from);
                        }
                    }
                    Statement::Copy { from, to } => self.arrays[*to] = self.arrays[*from],
                    Statement::Fill { array, value } => self.arrays[*array] = [*value; 8],
                    Statement::Host => self.calls += 1,
                    Statement::Repeat { count, body, .. } | Statement::While { count, body, .. } => {
                        (0..*count).for_each(|_| self.run(body));
                    }
                    Statement::RepeatBy { array, body, .. } => {
                        let count = self.arrays[*array][0] & 3;
                        self.arrays[*array][0] = count;
                        (0..count).for_each(|_| self.run(body));
                    }
                    Statement::If { array, then, otherwise } => {
                        let body = if self.arrays[*array][7] != 0 { then } else { otherwise };
                        self.run(body);
                    }
                    Statement::Switch { array, bodies } => {
                        if let Some(body) = bodies.get(self.arrays[*array][3] as usize) {
                            self.run(body);
                        }
                    }
                }
            }
        }
    }

    /// What updates of a program name, by statement.
    #[derive(Default)]
    pub(super) struct Handles {
        numbers: HashMap<usize, DynamicParameter<u32>>,
        nodes: HashMap<usize, Node>,
    }

    pub(super) enum Array {
        Usm(Values),
        Buffer(Buffer<u32>),
    }
    use Array::{Buffer as Buf, Usm};

    /// What programs use on the device.
    pub(super) struct Memory {
        arrays: [Array; ARRAYS],
        counters: Vec<Values>,
        pub(super) calls: Arc<AtomicU32>,
    }

    impl Memory {
        /// Half of the arrays are buffers.
        pub(super) fn new(way: &Way) -> Self {
            let array = |number| match number % 2 {
                0 => Usm(way.device(&[0_u32; 8])),
                _ => Buf(Buffer::from_vec(vec![0; 8]).unwrap()),
            };
            Self {
                arrays: std::array::from_fn(array),
                counters: (0..=DEPTH).map(|_| way.device(&[0_u32])).collect(),
                calls: Arc::default(),
            }
        }

        pub(super) fn arrays(&self, way: &Way) -> [[u32; 8]; ARRAYS] {
            let values = |array: &Array| match array {
                Usm(memory) => read(way, memory),
                Buf(buffer) => buffer.host_read().unwrap().to_vec(),
            };
            std::array::from_fn(|array| values(&self.arrays[array]).try_into().unwrap())
        }

        fn is_buffer(&self, array: usize) -> bool {
            matches!(self.arrays[array], Buf(_))
        }

        pub(super) fn graph(&self, way: &Way, program: &[Statement], handles: &mut Handles) -> Graph {
            let graph = way.graph();
            let add = |command: Command| graph.after_all_leaves().add(command).unwrap();
            // Accessors alone order what uses buffers only.
            let add_to = |arrays: &[usize], command: Command| match arrays {
                all if all.iter().all(|array| self.is_buffer(*array)) => graph.add(command).unwrap(),
                _ => add(command),
            };
            for statement in program {
                match statement {
                    Statement::Advance { id, array, factor, addend, items } => {
                        let addend = DynamicParameter::new(&graph, *addend);
                        let command = match &self.arrays[*array] {
                            Usm(memory) => Command::parallel_for(*items, advance(memory, *factor, &addend)),
                            Buf(buffer) => {
                                Command::parallel_for(*items, advance(buffer.read_write(), *factor, &addend))
                            }
                        };
                        handles.nodes.insert(*id, add_to(&[*array], command));
                        handles.numbers.insert(*id, addend);
                    }
                    Statement::Combine { from, to, factor } => {
                        let call = match (&self.arrays[*from], &self.arrays[*to]) {
                            (Usm(from), Usm(to)) => combine(from, to, *factor),
                            (Usm(from), Buf(to)) => combine(from, to.read_write(), *factor),
                            (Buf(from), Usm(to)) => combine(from.read(), to, *factor),
                            (Buf(from), Buf(to)) => combine(from.read(), to.read_write(), *factor),
                        };
                        add_to(&[*from, *to], Command::parallel_for(8, call));
                    }
                    Statement::Copy { from, to } => {
                        let command = match (&self.arrays[*from], &self.arrays[*to]) {
                            (Usm(from), Usm(to)) => Command::copy(from, to),
                            (Usm(from), Buf(to)) => Command::copy(from, &to.write()),
                            (Buf(from), Usm(to)) => Command::copy(&from.read(), to),
                            (Buf(from), Buf(to)) => Command::copy(&from.read(), &to.write()),
                        };
                        add_to(&[*from, *to], command);
                    }
                    Statement::Fill { array, value } => {
                        let command = match &self.arrays[*array] {
                            Usm(memory) => Command::fill(memory, *value),
                            Buf(buffer) => Command::fill(&buffer.write(), *value),
                        };
                        add_to(&[*array], command);
                    }
                    Statement::Host => {
                        let calls = Arc::clone(&self.calls);
                        add(Command::host_task(move || {
                            calls.fetch_add(1, Ordering::Relaxed);
                        }));
                    }
                    Statement::Repeat { id, count, body } => {
                        let count = DynamicParameter::new(&graph, *count);
                        add(Command::repeat(&count, &self.graph(way, body, handles)));
                        handles.numbers.insert(*id, count);
                    }
                    Statement::RepeatBy { array, depth, body } => {
                        let low = &self.counters[*depth];
                        let (take, put) = match &self.arrays[*array] {
                            Usm(memory) => (combine(memory, low, 0), combine(low, memory, 0)),
                            Buf(buffer) => {
                                (combine(buffer.read(), low, 0), combine(low, buffer.read_write(), 0))
                            }
                        };
                        [take, keep_low(low, 3), put]
                            .into_iter()
                            .for_each(|call| drop(add(Command::parallel_for(1, call))));
                        add(Command::repeat(low, &self.graph(way, body, handles)));
                    }
                    Statement::While { count, depth, body } => {
                        let left = &self.counters[*depth];
                        add(Command::parallel_for(1, advance(left, 0, *count)));
                        let body = self.graph(way, body, handles);
                        body.after_all_leaves().add(count_down(left)).unwrap();
                        add(Command::while_(left, &body));
                    }
                    Statement::If { array, then, otherwise } => {
                        let [then, otherwise] = [then, otherwise].map(|body| self.graph(way, body, handles));
                        add(match &self.arrays[*array] {
                            Usm(memory) => Command::if_(&memory.slice(7..=7).unwrap(), &then, &otherwise),
                            Buf(buffer) => {
                                Command::if_(&buffer.read().slice(7..=7).unwrap(), &then, &otherwise)
                            }
                        });
                    }
                    Statement::Switch { array, bodies } => {
                        let bodies: Vec<Graph> =
                            bodies.iter().map(|body| self.graph(way, body, handles)).collect();
                        add(match &self.arrays[*array] {
                            Usm(memory) => Command::switch(&memory.slice(3..=3).unwrap(), &bodies),
                            Buf(buffer) => Command::switch(&buffer.read().slice(3..=3).unwrap(), &bodies),
                        });
                    }
                }
            }
            graph
        }

        /// Makes the interpreter program that all others find.
        pub(super) fn warm_up(&self, way: &Way) {
            let kernels =
                [0, 1].map(|array| Statement::Advance { id: array, array, factor: 1, addend: 0, items: 8 });
            let body = kernels.into_iter().chain([
                Statement::Combine { from: 0, to: 1, factor: 1 },
                Statement::RepeatBy { array: 0, depth: 1, body: Vec::new() },
            ]);
            let program = [Statement::Repeat { id: 2, count: 1, body: body.collect() }];
            let _ = self.finalize(way, &self.graph(way, &program, &mut Handles::default()));
        }

        pub(super) fn finalize(&self, way: &Way, graph: &Graph) -> ExecutableGraph {
            let finalizer = graph.finalizer().updatable().strategy(way.strategy);
            match way.strategy {
                oclave::graph::ReplayStrategy::Interpreter => {
                    finalizer.wait_for_interpreter().finalize().unwrap()
                }
                _ => finalizer.finalize().unwrap(),
            }
        }
    }
}

#[test]
fn cf_rnd_001_random_programs_do_what_they_do_on_the_host() {
    use programs::{Handles, Host, Memory, Numbers};
    for (number, way) in ways().into_iter().enumerate() {
        Memory::new(&way).warm_up(&way);
        let mut lists = 0;
        for seed in 0..6 {
            let are_kernels = seed % 2 == 1;
            let mut numbers = Numbers::new(1000 * number as u64 + seed, are_kernels);
            let mut program = numbers.body(0);
            let memory = Memory::new(&way);
            let mut handles = Handles::default();
            let executable = memory.finalize(&way, &memory.graph(&way, &program, &mut handles));
            lists += executable.segments().len();
            let mut host = Host::default();
            // Values of single statements first, then whole graphs, which may be updated with kernels only.
            for round in 0..if are_kernels { 8 } else { 4 } {
                let submitted = way.queue.submit_graph(&executable).unwrap();
                host.run(&program);
                // Some updates come while the submission runs.
                if round % 2 == 1 {
                    submitted.wait().unwrap();
                    let found = (memory.arrays(&way), memory.calls.load(Ordering::Relaxed));
                    assert_eq!(
                        found,
                        (host.arrays, host.calls),
                        "program {number}.{seed}, round {round}: {program:?}"
                    );
                }
                if round < 4 {
                    (0..2).for_each(|_| numbers.change(&mut program, Some((&executable, &handles))));
                } else {
                    (0..3).for_each(|_| numbers.change(&mut program, None));
                    executable.update_graph(&memory.graph(&way, &program, &mut Handles::default())).unwrap();
                }
            }
        }
        if way.strategy == oclave::graph::ReplayStrategy::Interpreter {
            println!("{lists} lists");
        }
    }
}
