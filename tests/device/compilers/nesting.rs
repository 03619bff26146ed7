//! Wide switches and deep conditions, which Mesa's llvmpipe forgets (Q42), on the selected device.
#![deny(unsafe_code)]

use crate::common;

use std::sync::OnceLock;

use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelCall, NdRange};
use oclave::memory::usm;
use oclave::{Command, Context, ErrorKind, Graph, Queue, UsmSlice};

mod kernels {
    oclave::include_kernels!("nesting");
}
use kernels::nesting as kernel;

const ITEMS: u32 = 512;
/// The conditions of `DEEP`.
const DEEP: u32 = 83;

struct Run {
    queue: Queue,
    words: Vec<u32>,
    input: UsmSlice<u32, usm::DeviceOnly>,
    out: UsmSlice<u32, usm::DeviceOnly>,
}

impl Run {
    /// All tests share a context: drivers that compile a program as a whole then do it once.
    fn new() -> Option<Self> {
        static CONTEXT: OnceLock<Option<Context>> = OnceLock::new();
        // Without a device, each test says so.
        let context = CONTEXT.get_or_init(common::context).clone().or_else(common::context)?;
        let queue = Queue::new(&context).unwrap();
        let words: Vec<u32> = (0..64_u32).map(|i| i.wrapping_mul(0x9e37_79b9) | 1).collect();
        let input = queue.context().alloc_device::<u32>(words.len()).unwrap();
        queue.write(&input, &words).unwrap();
        let out = queue.context().alloc_device::<u32>(ITEMS as usize).unwrap();
        Some(Self { queue, words, input, out })
    }

    /// Launches a kernel and compares the value of each work-item.
    fn check(&self, call: KernelCall, expected: impl Fn(u32) -> u32) {
        self.queue.fill(&self.out, 0).unwrap();
        self.queue.parallel_for(ITEMS as usize, call).unwrap();
        self.assert_that(expected);
    }

    /// As [`Run::check`], from a list of tasks.
    fn check_in_list(&self, call: KernelCall, expected: impl Fn(u32) -> u32) {
        self.queue.fill(&self.out, 0).unwrap();
        let graph = Graph::from_queue(&self.queue);
        graph.add(Command::parallel_for(ITEMS as usize, call)).unwrap();
        let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
        self.queue.submit_graph(&finalizer.finalize().unwrap()).unwrap();
        self.assert_that(expected);
    }

    fn assert_that(&self, expected: impl Fn(u32) -> u32) {
        assert_eq!(self.queue.read(&self.out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>());
    }

    /// `STEP` of the kernels.
    fn step(&self, n: u32, a: u32, r: u32) -> u32 {
        let word = self.words[n as usize % 64];
        (0..=a + n % 3).fold(r, |r, j| r.wrapping_mul(5).wrapping_add(word).wrapping_add(j))
    }

    /// `PLAIN` of the kernels.
    fn plain(&self, n: u32, a: u32, r: u32) -> u32 {
        r.wrapping_mul(5).wrapping_add(self.words[n as usize % 64]).wrapping_add(a)
    }

    /// The first number below `DEEP` that the conditions of `chain` and `returns` find.
    fn found(&self, id: u32) -> Option<u32> {
        let product = |n: u32, of: u32| self.words[of as usize % 64].wrapping_mul(n);
        (0..DEEP).find(|n| product(*n, *n) == product(id, id))
    }
}

/// `cases_100` and `cases_400` for one work-item.
fn case(run: &Run, id: u32, a: u32, cases: u32) -> u32 {
    let number = id + a;
    if number < cases { run.step(number, a, id) } else { 12345 }
}

#[device_test(Run::new)]
fn a_hundred_cases(run: Run) {
    for a in [0, 3] {
        run.check(kernel::cases_100(&run.out, &run.input, a), |id| case(&run, id, a, 100));
    }
}

#[device_test(Run::new)]
fn four_hundred_cases(run: Run) {
    run.check(kernel::cases_400(&run.out, &run.input, 3), |id| case(&run, id, 3, 400));
}

#[device_test(Run::new)]
fn a_hundred_cases_in_a_list(run: Run) {
    run.check_in_list(kernel::cases_100(&run.out, &run.input, 3), |id| case(&run, id, 3, 100));
}

#[device_test(Run::new)]
fn cases_that_go_on_with_the_next(run: Run) {
    for a in [0, 2] {
        run.check(kernel::cases_that_go_on(&run.out, &run.input, a), |id| {
            let number = if id < 120 { id + a } else { 1120 - id + a };
            let first = match number {
                0..100 => Some(number),
                901..=1000 => Some(1000 - number),
                _ => None,
            };
            first.map_or(id, |first| (first..100).fold(id, |r, n| run.step(n, a, r))) ^ 77
        });
    }
}

#[device_test(Run::new)]
fn cases_of_64_and_8_bits(run: Run) {
    let a = 1;
    run.check(kernel::cases_of_other_widths(&run.out, &run.input, a), |id| {
        let number = id + a;
        let r = if number < 50 { run.step(number, a, id) } else { 12345 };
        let narrow = (number as i32 - 25) as i8;
        let case = i32::from(narrow) + 25;
        if (0..50).contains(&case) { run.step(case as u32, a, r) } else { r.wrapping_add(1) }
    });
}

/// `chain` and `returns` for one work-item.
fn first_found(run: &Run, id: u32, a: u32) -> u32 {
    run.found(id).map_or(12345, |n| run.plain(n, a, id))
}

#[device_test(Run::new)]
fn conditions_one_behind_the_other(run: Run) {
    let a = 1;
    run.check(kernel::chain(&run.out, &run.input, a), |id| first_found(&run, id, a));
    run.check(kernel::returns(&run.out, &run.input, a), |id| first_found(&run, id, a));
}

#[device_test(Run::new)]
fn conditions_one_inside_the_other(run: Run) {
    for a in [0, 1] {
        run.check(kernel::inside(&run.out, &run.input, a), |id| inside(&run, id, a));
    }
}

/// The kernel `inside` for one work-item.
fn inside(run: &Run, id: u32, a: u32) -> u32 {
    let (mut r, mut rounds) = (id, 0_u32);
    'rounds: for round in 0..a + 3 {
        let mut depth = 0;
        while depth < DEEP && id + round >= depth {
            r = r.wrapping_mul(3).wrapping_add(run.words[depth as usize % 64]);
            if r % 251 == 7 {
                break 'rounds;
            }
            depth += 1;
        }
        // The innermost condition ends with the first of `OUT_OF`.
        for n in DEEP - depth..DEEP {
            r = run.plain(n, a, r);
        }
        if r % 97 != 5 {
            rounds = rounds.wrapping_add(r % 7);
        }
    }
    r.wrapping_add(rounds)
}

/// A kernel that the device cannot run does not keep it from running the others of its image.
#[device_test(Run::new)]
fn a_barrier_inside_conditions_is_right_or_refused(run: Run) {
    for a in [10, 100] {
        run.queue.fill(&run.out, 7).unwrap();
        let call = kernel::around_barrier(&run.out, &run.input, a);
        match run.queue.parallel_for(NdRange::new(ITEMS as usize, 8), call) {
            Ok(_) => run.assert_that(|id| {
                let id = if a < DEEP { id } else { id ^ 7 };
                (0..DEEP.min(a + 1))
                    .fold(id, |r, n| r.wrapping_mul(3).wrapping_add(run.words[n as usize % 64]))
            }),
            Err(error) => {
                println!("refused: {error:#}");
                assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error:#}");
                let message = format!("{error:#}");
                assert!(message.contains("which kernel `around_barrier` of image \"nesting\""), "{message}");
                assert_eq!(run.queue.context().device().platform().name(), "rusticl", "{message}");
            }
        }
        run.check(kernel::chain(&run.out, &run.input, a), |id| first_found(&run, id, a));
    }
}
