//! Kernels of `crates/oclave-image/tests/fixtures/in_groups.cl`: what drivers get wrong about loops
//! over work-items, in launches and in graphs that the interpreter runs.

use super::finalize;
use crate::common::{call, chain, load, undecided};
use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelBundle, KernelCall, Local, NdRange};
use oclave::memory::usm;
use oclave::{Command, Context, Graph, Queue, UsmSlice};

const GROUP: u32 = 32;
const GROUPS: u32 = 3;
const ITEMS: u32 = GROUP * GROUPS;
const SIDE: usize = 16;
/// Rows and columns of the matrix of `halves`, which is the largest result.
const WIDTH: usize = (GROUPS as usize + 1) * SIDE;

struct Case {
    kernel: &'static str,
    values: &'static [u32],
    /// Words of its local arrays.
    locals: &'static [usize],
    wanted: fn() -> Vec<u32>,
}

const CASES: [Case; 4] = [
    Case { kernel: "particles", values: &[1], locals: &[32], wanted: particles },
    Case { kernel: "collect_together", values: &[200, 3], locals: &[32], wanted: collected },
    Case { kernel: "halves", values: &[], locals: &[256, 256, 256], wanted: halves },
    Case { kernel: "meets_some", values: &[4], locals: &[32], wanted: met },
];

/// What all results begin with.
fn begin() -> Vec<u32> {
    (0..WIDTH * WIDTH).map(|at| (at as u32).wrapping_mul(2_654_435_761) >> 20).collect()
}

fn particles() -> Vec<u32> {
    [2, 99, 5, 100].repeat(ITEMS as usize)
}

fn collected() -> Vec<u32> {
    let count = |x: u32| {
        let mut t = 0;
        while t < 200 {
            t += (0..3).map(|j| (x + j) % 7).sum::<u32>();
        }
        t
    };
    (0..ITEMS).map(count).collect()
}

fn halves() -> Vec<u32> {
    let mut all = begin();
    let corner = |i: usize, j: usize| begin()[i * WIDTH + j];
    let corner: Vec<Vec<u32>> = (0..SIDE).map(|i| (0..SIDE).map(|j| corner(i, j)).collect()).collect();
    for block in (SIDE..WIDTH).step_by(SIDE) {
        for x in 0..SIDE {
            for i in 1..SIDE {
                let above = (0..i).map(|j| corner[i][j].wrapping_mul(all[j * WIDTH + block + x]));
                let sum = above.fold(0, u32::wrapping_add);
                all[i * WIDTH + block + x] = all[i * WIDTH + block + x].wrapping_sub(sum);
            }
            let row = (block + x) * WIDTH;
            for i in 0..SIDE {
                let left = (0..i).map(|j| all[row + j].wrapping_mul(corner[j][i]));
                let sum = left.fold(0, u32::wrapping_add);
                all[row + i] = all[row + i].wrapping_sub(sum) ^ corner[i][i];
            }
        }
    }
    all
}

fn met() -> Vec<u32> {
    let of_group = |group: u32| {
        let mut values: Vec<u32> = (0..GROUP).collect();
        if !(group + 4).is_multiple_of(3) {
            for i in 0..4 {
                let next = |l: usize| (values[(l + 1) % GROUP as usize] + i).wrapping_mul(3).wrapping_add(1);
                values = (0..GROUP as usize).map(next).collect();
                if group + i == 4 {
                    break;
                }
            }
        }
        values
    };
    (0..GROUPS).flat_map(of_group).collect()
}

fn call_of(case: &Case, bundle: &KernelBundle, out: &UsmSlice<u32, usm::Shared>) -> KernelCall {
    let run = call(bundle, case.kernel).pointer_mut::<u32>(out);
    let run = case.values.iter().fold(run, |run, value| run.value(*value));
    let run = case.locals.iter().fold(run, |run, words| run.local(Local::<u32>::new(*words)));
    if case.kernel == "halves" { run.value(WIDTH as u32) } else { run }
}

#[device_test(undecided)]
fn groups_compute_the_same_in_launches_and_in_graphs(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let module = include_bytes!("../../../../crates/oclave-image/tests/fixtures/in_groups.O2.spv");
    let bundle = load::spirv(&context, module).unwrap();
    let range = NdRange::new(ITEMS as usize, GROUP as usize);
    let outs = CASES.each_ref().map(|_| context.alloc_shared::<u32>(WIDTH * WIDTH).unwrap());
    let command = |(case, out)| Command::parallel_for(range, call_of(case, &bundle, out));
    let graph = Graph::from_queue(&queue);
    chain(&graph, CASES.iter().zip(&outs).map(command));
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    // Where work-items run side by side, loops with barriers and several ends are launched.
    let interpreted = executable.segments().iter().map(|segment| segment.nodes.len()).sum::<usize>();
    assert!(interpreted + 1 >= CASES.len(), "{:?}", executable.not_interpreted());

    let mut wrong = Vec::new();
    for how in ["launched", "interpreted"] {
        outs.iter().for_each(|out| out.write().unwrap().copy_from_slice(&begin()));
        if how == "interpreted" {
            queue.submit_graph(&executable).unwrap();
        } else {
            CASES.iter().zip(&outs).for_each(|of| drop(queue.submit(command(of)).unwrap()));
        }
        queue.wait().unwrap();
        for (case, out) in CASES.iter().zip(&outs) {
            let (wanted, seen) = ((case.wanted)(), out.read().unwrap().to_vec());
            let differ = wanted.iter().zip(&seen).filter(|(wanted, seen)| wanted != seen).count();
            if differ > 0 {
                wrong.push(format!("{}, {how}: {differ} of {} words", case.kernel, wanted.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
