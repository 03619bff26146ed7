//! Memory that graphs have while they run: GM.

use oclave::graph::{Arena, DynamicParameter, ExecutableGraph};
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, ErrorKind, Graph, Queue};

use super::graph_support::{
    Values, Way, add_all, advance_by, chain, count_down, read, submit, updatable, ways,
};
use super::kernels::buffers::{advance, combine, number};

fn copy(from: &Values, to: &Values) -> Command {
    Command::copy(from, to)
}

/// `to · factor + from`, of eight values.
fn join(from: &Values, to: &Values, factor: u32) -> Command {
    Command::parallel_for(8, combine(from, to, factor))
}

fn poisoned(way: &Way, graph: &Graph) -> ExecutableGraph {
    graph.finalizer().strategy(way.strategy).poison(0xa5).finalize().unwrap()
}

/// What `number` gives, moved on so many times by · 3 + 1.
fn moved(first: u32, times: u32) -> Vec<u32> {
    let one = |mut value: u32| {
        (0..times).for_each(|_| value = value.wrapping_mul(3).wrapping_add(1));
        value
    };
    (first..first + 8).map(one).collect()
}

#[test]
fn gm_chn_001_a_chain_of_temporaries_takes_two_of_them() {
    for way in ways() {
        for length in [1, 2, 3, 1000] {
            let graph = way.graph();
            let result = way.device(&[0_u32; 8]);
            let mut last = graph.alloc::<u32>(8).unwrap();
            add_all(&graph, [Command::parallel_for(8, number(&last, 5))]);
            for _ in 1..length {
                let next = graph.alloc::<u32>(8).unwrap();
                add_all(&graph, [copy(&last, &next), advance_by(&next, 3, 1)]);
                last = next;
            }
            add_all(&graph, [copy(&last, &result)]);
            let executable = way.finalize(&graph);
            for _ in 0..2 {
                way.queue.fill(&result, 0).unwrap().wait().unwrap();
                submit(&way, &executable);
                assert_eq!(read(&way, &result), moved(5, length - 1), "{length}");
            }
            let memory = executable.memory();
            assert_eq!(
                (memory.requested_bytes, memory.allocations.len()),
                (32 * length as usize, length as usize)
            );
            assert!(memory.used_bytes <= 256, "{memory}");
        }
    }
}

#[test]
fn gm_shr_001_branches_have_their_own_and_what_comes_later_shares() {
    for way in ways() {
        let graph = way.graph();
        let result = way.device(&[0_u32; 8]);
        let begin = graph.add(Command::empty()).unwrap();
        let mut ends = Vec::new();
        let mut branches = Vec::new();
        for branch in 0..6_u32 {
            let own = graph.alloc::<u32>(8).unwrap();
            let first = graph.after(&begin).add(Command::parallel_for(8, number(&own, branch))).unwrap();
            ends.push(graph.after(&first).add(advance_by(&own, 3, 1)).unwrap());
            branches.push(own);
        }
        let sum = graph.alloc::<u32>(8).unwrap();
        let cleared = graph.after(&ends.iter().collect::<Vec<_>>()[..]).add(Command::fill(&sum, 0)).unwrap();
        let mut last = cleared;
        for own in &branches {
            last = graph.after(&last).add(join(own, &sum, 1)).unwrap();
        }
        let copied = graph.after(&last).add(copy(&sum, &result)).unwrap();
        // Only now are the branches' places free.
        let late = graph.alloc::<u32>(8).unwrap();
        graph.after(&copied).add(Command::fill(&late, 7)).unwrap();
        let expected: Vec<u32> =
            (0..8).map(|item| (0..6).map(|branch| (branch + item) * 3 + 1).sum()).collect();
        for executable in [way.finalize(&graph), poisoned(&way, &graph)] {
            for _ in 0..2 {
                submit(&way, &executable);
                assert_eq!(read(&way, &result), expected);
            }
            let memory = executable.memory();
            assert_eq!(memory.used_bytes, 7 * 128, "{memory}");
            let late = memory.allocations.iter().find(|allocation| allocation.number == 7).unwrap();
            assert_eq!((late.shares_with.len(), late.lives_beside.len()), (1, 0), "{memory}");
            assert!(memory.allocations[0].lives_beside.len() >= 6, "{memory}");
        }
    }
}

#[test]
fn gm_cpy_001_all_kinds_of_commands_and_parts() {
    for way in ways() {
        let graph = way.graph();
        let (a, bytes) = (graph.alloc::<u32>(16).unwrap(), graph.alloc::<u8>(64).unwrap());
        let back = HostTarget::<u32>::new(16).unwrap();
        let buffer = Buffer::<u32>::from_vec(vec![1; 4]).unwrap();
        let (low, high) = (a.slice(..8).unwrap(), a.slice(8..).unwrap());
        let column = a.rect([4, 4]).unwrap().part([0, 0], [4, 1]).unwrap();
        add_all(
            &graph,
            [
                Command::write(&low, vec![3_u32; 8]),
                Command::memset(&high, 1),
                Command::copy(&buffer.read(), &a.slice(4..8).unwrap()),
                advance_by(&high, 2, 1),
                Command::copy(&a.cast::<u8>().unwrap(), &bytes),
                Command::fill(&a, 0),
                Command::copy(&bytes.cast::<u32>().unwrap().slice(..12).unwrap(), &a.slice(2..14).unwrap()),
                Command::fill(&column, 9),
                Command::read(&a, &back),
            ],
        );
        let executable = way.finalize(&graph);
        for _ in 0..2 {
            submit(&way, &executable);
            let one = 0x0202_0203;
            let expected = [9, 0, 3, 3, 9, 3, 1, 1, 9, 1, one, one, 9, one, 0, 0];
            assert_eq!(back.to_vec().unwrap(), expected);
        }
    }
}

#[test]
fn gm_psn_001_what_nobody_wrote_is_poison_in_each_replay() {
    for way in ways() {
        let graph = way.graph();
        let result = way.device(&[0_u32; 8]);
        let (first, second) = (graph.alloc::<u32>(8).unwrap(), graph.alloc::<u32>(8).unwrap());
        // The second has the place of the first.
        add_all(
            &graph,
            [advance_by(&first, 1, 1), advance_by(&first, 1, 1), Command::empty(), join(&second, &result, 1)],
        );
        let executable = poisoned(&way, &graph);
        for _ in 0..3 {
            way.queue.fill(&result, 0).unwrap().wait().unwrap();
            submit(&way, &executable);
            assert_eq!(read(&way, &result), [0xa5a5_a5a5_u32; 8]);
        }
        assert_eq!(executable.memory().used_bytes, 128);
        assert_eq!(executable.memory().allocations[1].shares_with, [0]);
    }
}

#[test]
fn gm_exe_001_several_executables_have_memory_each() {
    for way in ways() {
        let graph = way.graph();
        let factor = DynamicParameter::new(&graph, 1_u32);
        let result = DynamicParameter::new(&graph, way.device(&[0_u32; 8]));
        let own = graph.alloc::<u32>(8).unwrap();
        add_all(&graph, [Command::parallel_for(8, number(&own, 1))]);
        for _ in 0..40 {
            add_all(&graph, [Command::parallel_for(8, advance(&own, &factor, 1))]);
        }
        add_all(&graph, [Command::parallel_for(8, combine(&own, &result, 0))]);
        let all: Vec<(ExecutableGraph, Values)> = (1..4_u32)
            .map(|number| {
                let executable = updatable(&way, &graph);
                let to = way.device(&[0_u32; 8]);
                executable.set(&factor, number).unwrap();
                executable.set(&result, &to).unwrap();
                (executable, to)
            })
            .collect();
        // They run at the same time on queues of their own.
        let queues: Vec<Queue> = all.iter().map(|_| Queue::new(way.context()).unwrap()).collect();
        for _ in 0..5 {
            for ((executable, _), queue) in all.iter().zip(&queues) {
                queue.submit_graph(executable).unwrap();
            }
        }
        queues.iter().for_each(|queue| queue.wait().unwrap());
        for (number, (_, to)) in (1..).zip(&all) {
            let one = |mut value: u32| {
                (0..40).for_each(|_| value = value.wrapping_mul(number).wrapping_add(1));
                value
            };
            assert_eq!(read(&way, to), (1..9).map(one).collect::<Vec<u32>>(), "factor {number}");
        }
    }
}

#[test]
fn gm_upd_001_values_and_memory_are_updated_within_lifetimes() {
    for way in ways() {
        let graph = way.graph();
        let result = way.device(&[0_u32; 8]);
        let (a, b) = (graph.alloc::<u32>(8).unwrap(), graph.alloc::<u32>(8).unwrap());
        let addend = DynamicParameter::new(&graph, 1_u32);
        let from = DynamicParameter::new(&graph, a.clone());
        let filled = [Command::parallel_for(8, number(&a, 10)), Command::parallel_for(8, number(&b, 20))];
        add_all(&graph, filled);
        add_all(&graph, [Command::parallel_for(8, advance(&a, 1, &addend))]);
        let joined =
            graph.after_all_leaves().add(Command::parallel_for(8, combine(&from, &result, 0))).unwrap();
        add_all(&graph, [join(&b, &result, 1), join(&a, &result, 1)]);
        let late = graph.alloc::<u32>(8).unwrap();
        add_all(&graph, [Command::fill(&late, 1)]);
        let executable = updatable(&way, &graph);
        let check = |first: u32, second: u32, what: &str| {
            submit(&way, &executable);
            let expected: Vec<u32> = (0..8).map(|item| first + second + 2 * item + item).collect();
            assert_eq!(read(&way, &result), expected, "{what}");
        };
        check(11 + 20, 11, "as it was made");
        executable.set(&addend, 5).unwrap();
        check(15 + 20, 15, "another value");
        executable.set(&from, &b).unwrap();
        check(20 + 20, 15, "other memory that lives there");
        executable.set(&from, a.slice(..).unwrap()).unwrap();
        check(15 + 20, 15, "and back");
        // What lies in the same place later.
        let error = executable.set(&from, &late).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = format!("{error:#}");
        assert!(
            text.contains("memory 2 of the graph") && text.contains("finalize the graph again"),
            "{text}"
        );
        check(15 + 20, 15, "a refused update changes nothing");
        from.update(&a).unwrap();
        // Memory from outside, and another command.
        let outside = way.device(&[100_u32; 8]);
        joined.update_command(Command::parallel_for(8, combine(&outside, &result, 0))).unwrap();
        executable.update(&joined).unwrap();
        submit(&way, &executable);
        let expected: Vec<u32> = (0..8).map(|item| 100 + 20 + 15 + 2 * item).collect();
        assert_eq!(read(&way, &result), expected);
        // Memory of another graph.
        let foreign = way.graph().alloc::<u32>(8).unwrap();
        joined.update_command(Command::parallel_for(8, combine(&foreign, &result, 0))).unwrap();
        let text = format!("{:#}", executable.update(&joined).unwrap_err());
        assert!(text.contains("outside of that graph"), "{text}");
    }
}

#[test]
fn gm_upd_002_a_whole_graph_update_from_a_graph_with_its_own_memory() {
    for way in ways() {
        let result = way.device(&[0_u32; 8]);
        let make = |first: u32, len: usize| {
            let inner = way.graph();
            let of_inner = inner.alloc::<u32>(8).unwrap();
            add_all(
                &inner,
                [Command::parallel_for(8, number(&of_inner, first)), join(&of_inner, &result, 0)],
            );
            let body = way.graph();
            let graph = way.graph();
            let (left, own) = (graph.alloc::<u32>(1).unwrap(), graph.alloc::<u32>(len).unwrap());
            let of_body = body.alloc::<u32>(8).unwrap();
            add_all(
                &body,
                [
                    Command::parallel_for(8, number(&of_body, first)),
                    join(&of_body, &own, 1),
                    count_down(&left),
                ],
            );
            add_all(
                &graph,
                [
                    Command::parallel_for(1, number(&left, 3)),
                    Command::parallel_for(8, number(&own, 2 * first)),
                    Command::graph(&way.finalize(&inner)),
                ],
            );
            graph.after_all_leaves().add(Command::while_(&left, &body)).unwrap();
            add_all(&graph, [join(&own, &result, 1)]);
            graph
        };
        let executable = updatable(&way, &make(1, 8));
        for first in [1, 50, 7] {
            if first > 1 {
                executable.update_graph(&make(first, 8)).unwrap();
            }
            for _ in 0..2 {
                submit(&way, &executable);
                let expected: Vec<u32> = (0..8).map(|item| 6 * first + 5 * item).collect();
                assert_eq!(read(&way, &result), expected, "{first}");
            }
        }
        let text = format!("{:#}", executable.update_graph(&make(1, 16)).unwrap_err());
        assert!(text.contains("has 64 bytes, and 32 in the executable"), "{text}");
        // As a part of another graph it has memory there.
        let outer = chain(&way, [Command::graph(&executable), Command::graph(&executable)]);
        let outer = way.finalize(&outer);
        submit(&way, &outer);
        assert_eq!(read(&way, &result), (0..8).map(|item| 42 + 5 * item).collect::<Vec<u32>>());
    }
}

#[test]
fn gm_sub_001_sub_graphs_have_memory_in_each_graph_that_they_are_in() {
    for way in ways() {
        let result = way.device(&[1_u32; 8]);
        let inner = way.graph();
        let own = inner.alloc::<u32>(8).unwrap();
        add_all(&inner, [copy(&result, &own), advance_by(&own, 3, 1), copy(&own, &result)]);
        let inner = way.finalize(&inner);
        let middle = way.graph();
        let (other, more) = (middle.alloc::<u32>(8).unwrap(), middle.alloc::<u32>(1000).unwrap());
        add_all(
            &middle,
            [
                Command::parallel_for(8, number(&other, 1)),
                Command::graph(&inner),
                join(&other, &result, 1),
                Command::fill(&more, 1),
                Command::graph(&inner),
            ],
        );
        let middle = way.finalize(&middle);
        let outer = way.finalize(&chain(
            &way,
            [Command::graph(&middle), Command::graph(&inner), Command::graph(&middle)],
        ));
        let step = |value: u32| value * 3 + 1;
        let of_middle = |value: u32, item: u32| step(step(value) + item + 1);
        for executable in [&inner, &middle, &outer] {
            way.queue.fill(&result, 1).unwrap().wait().unwrap();
            submit(&way, executable);
            let expected: Vec<u32> = (0..8)
                .map(|item| match executable {
                    _ if executable == &inner => step(1),
                    _ if executable == &middle => of_middle(1, item),
                    _ => of_middle(step(of_middle(1, item)), item),
                })
                .collect();
            assert_eq!(read(&way, &result), expected);
        }
        // The large one has the place of the others where they are not used.
        assert_eq!(inner.memory().used_bytes, 128);
        let memory = middle.memory();
        assert!(memory.used_bytes < 4000 + 512, "{memory}");
    }
}

#[test]
fn gm_bod_001_loops_decide_by_it_and_bodies_share_it_and_have_their_own() {
    for way in ways() {
        let result = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let (left, sum) = (graph.alloc::<u32>(2).unwrap(), graph.alloc::<u32>(8).unwrap());
        let flag = left.slice(1..=1).unwrap();
        let body = way.graph();
        let own = body.alloc::<u32>(8).unwrap();
        let inner = way.graph();
        let of_inner = inner.alloc::<u32>(8).unwrap();
        add_all(&inner, [copy(&own, &of_inner), join(&of_inner, &sum, 1)]);
        add_all(
            &body,
            [Command::parallel_for(8, number(&own, 1)), Command::repeat(2, &inner), count_down(&flag)],
        );
        add_all(&graph, [Command::parallel_for(2, number(&left, 4)), Command::fill(&sum, 0)]);
        graph.after_all_leaves().add(Command::while_(&flag, &body)).unwrap();
        add_all(&graph, [copy(&sum, &result)]);
        let expected: Vec<u32> = (1..9).map(|item| 10 * item).collect();
        let plain = way.finalize(&graph);
        let measured = graph.finalizer().strategy(way.strategy).poison(0xff).finalize().unwrap();
        // An executable as a body, with memory of the body that it was.
        let whole = chain(&way, [Command::repeat(3, &plain)]);
        for executable in [plain, measured, way.finalize(&whole)] {
            for _ in 0..2 {
                way.queue.fill(&result, 0).unwrap().wait().unwrap();
                submit(&way, &executable);
                assert_eq!(read(&way, &result), expected);
            }
            assert_eq!(executable.memory().allocations.len(), 4, "{}", executable.memory());
        }
    }
}

/// Code that takes memory where it is told to.
fn doubled_sum(queue: &Queue, arena: &Arena, from: &Values, to: &Values) -> oclave::Result<()> {
    let (twice, again) = (arena.alloc::<u32>(8)?, arena.alloc::<u32>(8)?);
    queue.copy(from, &twice)?;
    queue.submit(advance_by(&twice, 2, 0))?;
    queue.copy(&twice, &again)?;
    queue.submit(join(&again, to, 1))?;
    Ok(())
}

#[test]
fn gm_rec_001_recorded_code_takes_memory_from_the_graph() {
    for way in ways() {
        let queue = Queue::new(way.context()).unwrap();
        let (from, to) = (way.device(&[3_u32; 8]), way.device(&[0_u32; 8]));
        doubled_sum(&queue, &queue.arena(), &from, &to).unwrap();
        queue.wait().unwrap();
        let graph = way.graph();
        let recording = graph.record(&queue).unwrap();
        for arena in [queue.arena(), graph.arena(), queue.arena()] {
            doubled_sum(&queue, &arena, &from, &to).unwrap();
        }
        recording.end();
        let executable = way.finalize(&graph);
        submit(&way, &executable);
        submit(&way, &executable);
        assert_eq!(read(&way, &to), [6 * 7; 8]);
        let memory = executable.memory();
        assert_eq!((memory.allocations.len(), memory.used_bytes), (6, 256), "{memory}");
    }
}

#[test]
fn gm_ref_001_use_where_it_is_not_is_refused() {
    for way in ways() {
        let graph = way.graph();
        let (own, there) = (graph.alloc::<u32>(8).unwrap(), way.device(&[5_u32; 8]));
        add_all(&graph, [Command::fill(&own, 1)]);
        let executable = way.finalize(&graph);
        let refused = |error: oclave::Error| {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
            let text = format!("{error:#}");
            assert!(text.contains(&format!("memory 0 of graph {}", graph.id())), "{text}");
            assert!(text.contains("in nodes of the graph"), "{text}");
        };
        refused(way.queue.read(&own).unwrap_err());
        refused(way.queue.write(&own, &[1; 8]).unwrap_err());
        refused(way.queue.fill(&own, 1).unwrap_err());
        refused(way.queue.copy(&there, &own).unwrap_err());
        refused(way.queue.submit(join(&own, &there, 1)).unwrap_err());
        refused(way.queue.submit(Command::repeat(2, &chain(&way, [Command::fill(&own, 1)]))).unwrap_err());
        // Behind a host task, it is deferred.
        let task = way.queue.submit(Command::host_task(|| ())).unwrap();
        let outcome = way.queue.submit(copy(&there, &own).after(&task)).and_then(|event| event.wait());
        refused(outcome.unwrap_err());
        // Another graph, a sub-graph, and the body of another one.
        let other = chain(&way, [Command::empty(), copy(&own, &there)]);
        let error = other.finalize().unwrap_err();
        assert!(format!("{error:#}").contains("node 1"), "{error:#}");
        refused(error);
        refused(chain(&way, [Command::repeat(2, &other)]).finalize().unwrap_err());
        assert_eq!(read(&way, &there), [5; 8], "nothing was done");
        submit(&way, &executable);
        // Too large.
        assert_eq!(graph.alloc::<u8>(usize::MAX / 2).unwrap_err().kind(), ErrorKind::MemoryAllocation);
        assert_eq!(graph.alloc::<u64>(usize::MAX).unwrap_err().kind(), ErrorKind::MemoryAllocation);
        // None takes none.
        let none = graph.alloc::<u32>(0).unwrap();
        add_all(&graph, [Command::fill(&none, 1)]);
        submit(&way, &way.finalize(&graph));
    }
}

#[test]
fn gm_rpt_001_the_report_and_drawings_name_what_lies_where() {
    for way in ways() {
        let graph = way.graph();
        let (a, b) = (graph.alloc::<u32>(100).unwrap(), graph.alloc::<u32>(8).unwrap());
        let unused = graph.alloc::<u32>(8).unwrap();
        add_all(&graph, [Command::fill(&a, 1), Command::fill(&a, 2), Command::fill(&b, 3)]);
        let memory = way.finalize(&graph).memory();
        assert_eq!((memory.requested_bytes, memory.used_bytes), (432, 512));
        assert_eq!(memory.allocations[0].nodes, [0, 1]);
        assert_eq!(memory.allocations[1].shares_with, [0]);
        assert_eq!(memory.allocations[0].graph, graph.id());
        let text = memory.to_string();
        assert!(text.starts_with("512 bytes for 2 allocations of 432 bytes"), "{text}");
        assert!(text.contains("nodes 0 to 1") && text.contains("shares with 1"), "{text}");
        let drawing = graph.to_dot(oclave::graph::Detail::Verbose);
        assert!(drawing.contains(&format!("memory 1 of graph {}", graph.id())), "{drawing}");
        assert!(format!("{unused:?}").contains("memory 2 of graph"), "{unused:?}");
        assert_eq!(way.finalize(&way.graph()).memory().used_bytes, 0);
    }
}

/// Numbers that look random, always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

#[test]
fn gm_rnd_001_random_graphs_of_temporaries_do_what_they_do_on_the_host() {
    for (number_of_way, way) in ways().into_iter().enumerate() {
        for seed in 0..4 {
            let mut numbers = Numbers(1000 * number_of_way as u64 + seed);
            let graph = way.graph();
            // Each value is made from one or two values before, in memory of its own.
            let mut made: Vec<(Values, oclave::graph::Node, Vec<u32>)> = Vec::new();
            for index in 0..60_u32 {
                let own = graph.alloc::<u32>(8 + numbers.below(100)).unwrap().slice(..8).unwrap();
                let (node, value) = match made.len() {
                    0..3 => {
                        let node = graph.add(Command::parallel_for(8, number(&own, index))).unwrap();
                        (node, (index..index + 8).collect())
                    }
                    count => {
                        let [a, b] = [(); 2].map(|()| &made[count - 1 - numbers.below(count.min(12))]);
                        let first = graph.after(&a.1).add(copy(&a.0, &own)).unwrap();
                        let node = graph.after(&[&first, &b.1]).add(join(&b.0, &own, 3)).unwrap();
                        let value = a.2.iter().zip(&b.2).map(|(a, b)| a.wrapping_mul(3).wrapping_add(*b));
                        (node, value.collect())
                    }
                };
                made.push((own, node, value));
            }
            let result = way.device(&[0_u32; 8]);
            let (last, node, expected) = made.last().unwrap();
            graph.after(node).add(copy(last, &result)).unwrap();
            for executable in [way.finalize(&graph), poisoned(&way, &graph)] {
                for _ in 0..2 {
                    way.queue.fill(&result, 0).unwrap().wait().unwrap();
                    submit(&way, &executable);
                    assert_eq!(
                        read(&way, &result),
                        *expected,
                        "{number_of_way}.{seed}\n{}",
                        executable.memory()
                    );
                }
            }
        }
    }
}
