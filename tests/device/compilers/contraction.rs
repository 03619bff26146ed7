//! Kernels that multiply and add compute the same bits whatever runs them, on the selected device:
//! those of Rust.

use crate::common;

use crate::common::{queues, strategies};
use oclave::memory::usm;
use oclave::{Command, Context, Graph, UsmSlice};

use crate::kernels::contraction::{blend, products};

const LEN: usize = 1000;
const NODES: usize = 40;
const ROUNDS: i32 = 20;
const A: f32 = 0.5003;
const B: f32 = 0.2501;
const C: f32 = 0.1497;

fn input() -> Vec<f32> {
    (0..LEN).map(|i| 3.2 + (i * 7919 % LEN) as f32 * 0.0131).collect()
}

/// What the kernels compute, with a rounding for each operation.
fn step(node: usize, from: &[f32]) -> Vec<f32> {
    let blended = |i: usize| {
        let (left, right) = (i.saturating_sub(1), (i + 1).min(LEN - 1));
        from[i] * A + from[left] * B + from[right] * C + 0.1 * from[(i * 7) % LEN]
    };
    let multiplied = |i: usize| {
        let (mut v, mut w) = (from[i], 1.0_f32);
        for _ in 0..ROUNDS {
            v = v * A + B;
            w = v * B + w * A;
            v -= w * 0.001;
        }
        v + w
    };
    (0..LEN).map(|i| if node.is_multiple_of(2) { blended(i) } else { multiplied(i) }).collect()
}

fn command(node: usize, from: &UsmSlice<f32, usm::Shared>, to: &UsmSlice<f32, usm::Shared>) -> Command {
    let call = if node.is_multiple_of(2) {
        blend(from, to, LEN as i32, A, B, C)
    } else {
        products(from, to, ROUNDS, A, B)
    };
    Command::parallel_for(LEN, call)
}

#[device_test]
fn every_strategy_computes_the_same_bits(context: Context) {
    let expected = (0..NODES).fold(input(), |from, node| step(node, &from));
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
    let memory = [(); 2].map(|()| context.alloc_shared::<f32>(LEN).unwrap());
    let start = || {
        memory[0].write().unwrap().copy_from_slice(&input());
        memory[1].write().unwrap().fill(0.0);
    };
    let commands = || (0..NODES).map(|node| command(node, &memory[node % 2], &memory[(node + 1) % 2]));
    let check = |how: &str| {
        let found = memory[NODES % 2].read().unwrap();
        let differ = bits(&found).iter().zip(bits(&expected)).filter(|(a, b)| *a != b).count();
        assert_eq!(differ, 0, "{how}: {differ} of {LEN} elements differ");
    };
    for queue in queues(&context) {
        start();
        let mut last = None;
        for command in commands() {
            last = Some(queue.submit(last.iter().fold(command, Command::after)).unwrap());
        }
        last.unwrap().wait().unwrap();
        check("launches");
        for strategy in strategies(context.device()) {
            let graph = Graph::new(&context, context.device()).unwrap();
            common::chain(&graph, commands());
            let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
            // More than one plan may be tried.
            for _ in 0..10 {
                start();
                queue.submit_graph(&executable).unwrap().wait().unwrap();
                check(&format!("{strategy:?}"));
            }
        }
    }
}
