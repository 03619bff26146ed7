//! Kernels with what the library adds to their programs: device globals, virtual functions.

use super::finalize;
use crate::common::{chain, undecided, variable_devices};
use oclave::graph::ReplayStrategy;
use oclave::kernel::{Local, NdRange};
use oclave::{Command, Context, Graph, Queue};

use crate::kernels;
mod optimised {
    oclave::include_kernels!("virtual_functions");
}
mod unoptimised {
    oclave::include_kernels!("virtual_functions_o0");
}

#[test]
fn device_globals_are_those_of_all_programs() {
    use kernels::{globals_define as define, globals_use as using};
    for device in variable_devices() {
        if device.capabilities().memory().is_none() {
            println!("skipped: kernels cannot address memory by pointers on the device");
            continue;
        }
        let context =
            Context::builder(std::slice::from_ref(&device)).graph_interpreter(Some(true)).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        let graph = Graph::builder(&context, &device).allow_device_globals().build().unwrap();
        let count = context.alloc_shared::<i32>(1).unwrap();
        let bins = context.alloc_shared::<u32>(8).unwrap();
        for i in 0..20 {
            chain(
                &graph,
                [Command::single_task(define::count_up(i)), Command::single_task(define::add_to_bin(3))],
            );
        }
        chain(
            &graph,
            [
                Command::single_task(using::double_shared()),
                Command::single_task(using::read_shared(&count, &bins)),
            ],
        );
        let executable = graph.finalizer().wait_for_interpreter().finalize().unwrap();
        let nodes: Vec<_> = executable.segments().iter().map(|segment| segment.nodes.len()).collect();
        // Two images: two programs.
        assert_eq!(nodes, [40, 2], "{:?}", executable.not_interpreted());
        queue.write(&define::COUNTER, &1000).unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(*count.read().unwrap(), [2 * 1190]);
        assert_eq!(*bins.read().unwrap(), [2, 4, 6, 40, 0, 0, 0, 0]);
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 2 * 1190);
        queue.single_task(define::count_up(1)).unwrap();
        queue.submit_graph(&executable).unwrap();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 2 * (2 * 1190 + 1 + 190));
    }
}

/// A test for kernels that the optimiser saw, and that it did not.
macro_rules! virtual_functions {
    ($name:ident, $kernels:ident) => {
        #[test]
        fn $name() {
            let Some(context) = undecided() else { return };
            let queue = Queue::new(&context).unwrap();
            let [shapes, steps] = [32 * 12, 8].map(|bytes| context.alloc_shared::<i8>(bytes).unwrap());
            let outs: Vec<_> = (0..4).map(|_| context.alloc_shared::<i32>(16).unwrap()).collect();
            let mut results = Vec::new();
            for strategy in [ReplayStrategy::Enqueue, ReplayStrategy::Interpreter] {
                shapes.write().unwrap().fill(0);
                outs.iter().for_each(|out| out.write().unwrap().fill(-1));
                let graph = Graph::from_queue(&queue);
                chain(
                    &graph,
                    [
                        Command::parallel_for(12, $kernels::basic::make_shapes(&shapes)),
                        Command::parallel_for(12, $kernels::basic::use_shapes(&shapes, &outs[0])),
                        Command::parallel_for(12, $kernels::basic::private_shapes(&outs[1])),
                        Command::parallel_for(NdRange::new(12, 6), $kernels::basic::local_shapes(&outs[2])),
                        Command::single_task($kernels::basic::make_step(&steps, 1)),
                        Command::parallel_for(
                            NdRange::new(16, 8),
                            $kernels::basic::exchange_values(&steps, &outs[3], Local::new(8)),
                        ),
                    ],
                );
                let executable = finalize(&graph, strategy);
                for _ in 0..2 {
                    queue.submit_graph(&executable).unwrap();
                }
                queue.wait().unwrap();
                if strategy == ReplayStrategy::Interpreter {
                    assert_eq!(executable.not_interpreted(), []);
                    assert!(!executable.segments().is_empty());
                }
                results.push(outs.iter().map(|out| out.read().unwrap().to_vec()).collect::<Vec<_>>());
            }
            assert!(results[0] == results[1], "{results:?}");
            assert!(results[0].iter().all(|out| out[0] != -1));
        }
    };
}
virtual_functions!(virtual_calls_reach_the_same_functions, optimised);
virtual_functions!(virtual_calls_of_unoptimised_kernels_reach_the_same_functions, unoptimised);
