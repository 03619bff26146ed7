//! Reductions and scans: FLD.

use bytemuck::Pod;
use oclave::command::{Fold, FoldScalar};
use oclave::device::Aspects;
use oclave::graph::NodeType;
use oclave::half::f16;
use oclave::{Buffer, Command, ErrorKind};

use super::graph_support::{Way, ways};
use super::kernels::buffers::{advance, combine, number};

const FOLDS: &[Fold] =
    &[Fold::Sum, Fold::Product, Fold::Min, Fold::Max, Fold::And, Fold::Or, Fold::Xor, Fold::Any, Fold::All];
const COUNTS: [usize; 9] = [0, 1, 7, 8, 100, 1024, 1025, 1279, 5000];

/// What the host does with two values.
trait Scalar: FoldScalar + std::fmt::Debug {
    const IS_FLOAT: bool = false;
    fn of(number: u64, fold: Fold) -> Self;
    fn identity(fold: Fold) -> Self;
    fn combine(fold: Fold, a: Self, b: Self) -> Self;
    /// What of an element is combined.
    fn taken(self, fold: Fold) -> Self;
    fn number(self) -> f64;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(impl Scalar for $ty {
        fn of(number: u64, fold: Fold) -> Self {
            // Some have few bits, or few zeroes.
            match fold {
                Fold::And => number as Self | 0x41,
                Fold::Product => number as Self | 1,
                Fold::Any | Fold::All => Self::from(number % 50 != 0),
                _ => number as Self,
            }
        }

        fn identity(fold: Fold) -> Self {
            match fold {
                Fold::Product | Fold::All => 1,
                Fold::Min => Self::MAX,
                Fold::Max => Self::MIN,
                Fold::And => !0,
                _ => 0,
            }
        }

        fn combine(fold: Fold, a: Self, b: Self) -> Self {
            match fold {
                Fold::Sum => a.wrapping_add(b),
                Fold::Product => a.wrapping_mul(b),
                Fold::Min | Fold::All => a.min(b),
                Fold::Max | Fold::Any => a.max(b),
                Fold::And => a & b,
                Fold::Or => a | b,
                _ => a ^ b,
            }
        }

        fn taken(self, fold: Fold) -> Self {
            if matches!(fold, Fold::Any | Fold::All) { Self::from(self != 0) } else { self }
        }

        fn number(self) -> f64 {
            self as f64
        }
    })*};
}
integers! { i8, u8, i16, u16, i32, u32, i64, u64 }

macro_rules! floats {
    ($($ty:ty: $from:expr),*) => {$(impl Scalar for $ty {
        const IS_FLOAT: bool = true;

        fn of(number: u64, fold: Fold) -> Self {
            let part = (number % 2001) as f32 / 1000.0 - 1.0;
            $from(match fold {
                Fold::Product => 1.0 + part / 64.0,
                Fold::Min | Fold::Max if number % 7 == 0 => f32::NAN,
                Fold::Any | Fold::All if number % 50 == 0 => -0.0,
                _ => part,
            })
        }

        fn identity(fold: Fold) -> Self {
            $from(match fold {
                Fold::Product | Fold::All => 1.0,
                Fold::Min => f32::INFINITY,
                Fold::Max => f32::NEG_INFINITY,
                _ => 0.0,
            })
        }

        fn combine(fold: Fold, a: Self, b: Self) -> Self {
            match fold {
                Fold::Sum => a + b,
                Fold::Product => a * b,
                Fold::Min | Fold::All => if b < a { b } else { a },
                _ => if a < b { b } else { a },
            }
        }

        fn taken(self, fold: Fold) -> Self {
            let is_set = self != $from(0.0);
            if matches!(fold, Fold::Any | Fold::All) { $from(if is_set { 1.0 } else { 0.0 }) } else { self }
        }

        fn number(self) -> f64 {
            f64::from(self)
        }
    })*};
}
floats! { f16: f16::from_f32, f32: |value: f32| value, f64: f64::from }

fn take<T: Scalar>(fold: Fold, value: T, element: T) -> T {
    T::combine(fold, value, element.taken(fold))
}

/// In the order that the documentation of the kernels gives.
fn reduced<T: Scalar>(fold: Fold, values: &[T]) -> T {
    if values.len() > 1024 {
        let mut all: Vec<T> = (0..256)
            .map(|item| {
                let own = values.iter().skip(item).step_by(256);
                own.fold(T::identity(fold), |value, element| take(fold, value, *element))
            })
            .collect();
        while all.len() > 1 {
            let half = all.split_off(all.len() / 2);
            all = all.iter().zip(&half).map(|(a, b)| T::combine(fold, *a, *b)).collect();
        }
        return all[0];
    }
    let (whole, rest) = values.split_at(values.len() / 8 * 8);
    let mut lanes = vec![T::identity(fold); 8];
    for eight in whole.chunks(8) {
        lanes.iter_mut().zip(eight).for_each(|(lane, element)| *lane = take(fold, *lane, *element));
    }
    while lanes.len() > 1 {
        let half = lanes.split_off(lanes.len() / 2);
        lanes = lanes.iter().zip(&half).map(|(a, b)| T::combine(fold, *a, *b)).collect();
    }
    rest.iter().fold(lanes[0], |value, element| take(fold, value, *element))
}

fn scanned<T: Scalar>(fold: Fold, values: &[T]) -> Vec<T> {
    let run = |first: T, part: &[T]| -> Vec<T> {
        let next = |value: &mut T, element: &T| {
            *value = take(fold, *value, *element);
            Some(*value)
        };
        part.iter().scan(first, next).collect()
    };
    if values.len() <= 1024 {
        return run(T::identity(fold), values);
    }
    let parts: Vec<&[T]> = values.chunks(values.len().div_ceil(256)).collect();
    let mut before = T::identity(fold);
    let mut all = Vec::new();
    for part in parts {
        all.extend(run(before, part));
        let own = part.iter().fold(T::identity(fold), |value, element| take(fold, value, *element));
        before = T::combine(fold, before, own);
    }
    all
}

fn data<T: Scalar>(fold: Fold, count: usize) -> Vec<T> {
    let mut state = 88_172_645_463_325_252_u64 + count as u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::of(state >> 3, fold)
    };
    (0..count).map(next).collect()
}

fn bytes<T: Pod>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

/// Bit by bit; but for sums and products of floating-point numbers, whose compilers need not keep the order of the source.
fn same<T: Scalar>(fold: Fold, found: T, expected: T) -> bool {
    let is_rounded = T::IS_FLOAT && matches!(fold, Fold::Sum | Fold::Product);
    let [a, b] = [found, expected].map(T::number);
    bytes(&[found]) == bytes(&[expected]) || is_rounded && (a - b).abs() <= 1e-4 * b.abs().max(1.0)
}

/// Folds of a type at once, against the host, bit by bit.
fn folds_of<T: Scalar>(way: &Way, folds: &[Fold]) {
    for fold in folds.iter().copied() {
        for count in COUNTS {
            let values = data::<T>(fold, count);
            let (from, to) = (way.device(&values), way.device(&[T::identity(Fold::Sum); 1]));
            let submitted = way.queue.submit(Command::reduce(fold, &from, &to));
            if T::IS_FLOAT && matches!(fold, Fold::And | Fold::Or | Fold::Xor) {
                let error = submitted.unwrap_err();
                assert!(format!("{error:#}").contains("cast the memory to integers"), "{error:#}");
                continue;
            }
            submitted.unwrap().wait().unwrap();
            let what = format!("{fold:?} of {count} {}", std::any::type_name::<T>());
            let (found, expected) = (way.queue.read(&to).unwrap(), [reduced(fold, &values)]);
            assert!(same(fold, found[0], expected[0]), "{what}: {found:?}, not {expected:?}");
            way.queue.submit(Command::reduce(fold, &from, &to)).unwrap().wait().unwrap();
            assert_eq!(bytes(&way.queue.read(&to).unwrap()), bytes(&found), "{what}, once more");
            // In place.
            way.queue.submit(Command::scan(fold, &from, &from)).unwrap().wait().unwrap();
            let (found, expected) = (way.queue.read(&from).unwrap(), scanned(fold, &values));
            let differs = found.iter().zip(&expected).position(|(a, b)| !same(fold, *a, *b));
            assert_eq!(differs, None, "scan, {what}: {:?}", differs.map(|at| (found[at], expected[at])));
        }
    }
}

#[test]
fn fld_red_001_integers_and_their_bits() {
    let Some(way) = ways().into_iter().next() else { return };
    // Each type and operation is a program, whose build takes longer than all else.
    folds_of::<u32>(&way, FOLDS);
    folds_of::<i8>(&way, &[Fold::Sum, Fold::Min, Fold::Max]);
    folds_of::<u8>(&way, &[Fold::Product, Fold::Any]);
    folds_of::<i16>(&way, &[Fold::Min, Fold::Xor]);
    folds_of::<u16>(&way, &[Fold::Max, Fold::And]);
    folds_of::<i32>(&way, &[Fold::Max, Fold::All]);
    folds_of::<i64>(&way, &[Fold::Min, Fold::Product]);
    folds_of::<u64>(&way, &[Fold::Max, Fold::And]);
}

#[test]
fn fld_red_002_floating_point_numbers() {
    let Some(way) = ways().into_iter().next() else { return };
    folds_of::<f32>(&way, FOLDS);
    let has = |aspect| way.queue.device().capabilities().aspects.contains(aspect);
    let refused = |submitted: oclave::Result<oclave::Event>| {
        let error = submitted.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error:#}");
    };
    match has(Aspects::FP64) {
        true => folds_of::<f64>(&way, &[Fold::Sum, Fold::Min]),
        false => {
            let memory = way.device(&[0.0_f64]);
            refused(way.queue.submit(Command::reduce(Fold::Sum, &memory, &memory)));
        }
    }
    match has(Aspects::FP16) {
        true => folds_of::<f16>(&way, &[Fold::Max]),
        false => {
            let memory = way.device(&[f16::ZERO]);
            refused(way.queue.submit(Command::reduce(Fold::Sum, &memory, &memory)));
        }
    }
}

#[test]
fn fld_nod_001_nodes_by_every_strategy_with_buffers_and_memory_of_the_graph() {
    for way in ways() {
        let values = Buffer::<u32>::from_vec((0..3000).collect()).unwrap();
        let result = Buffer::<u32>::from_vec(vec![0; 4]).unwrap();
        let graph = way.graph();
        let part = |range: std::ops::Range<usize>| values.read().slice(range).unwrap();
        let one = |at: usize| result.write().slice(at..=at).unwrap();
        // Accessors alone say what comes first.
        let node = graph.add(Command::reduce(Fold::Sum, &part(0..2000), &one(0))).unwrap();
        assert_eq!(node.node_type(), NodeType::Kernel);
        graph.add(Command::reduce(Fold::Max, &part(10..20), &one(1))).unwrap();
        graph.add(Command::parallel_for(3000, number(values.write(), 1))).unwrap();
        graph.add(Command::reduce(Fold::Sum, &part(0..3000), &one(2))).unwrap();
        let sums = graph.alloc::<u32>(8).unwrap();
        let scanned = graph.add(Command::scan(Fold::Sum, &part(0..8), &sums)).unwrap();
        graph.after(&scanned).add(Command::reduce(Fold::Xor, &sums, &one(3))).unwrap();
        let executable = way.finalize(&graph);
        let all = |count: u32| count * (count + 1) / 2;
        let last = (1..9).map(all).fold(0, |a, b| a ^ b);
        for first in [all(1999), all(2000)] {
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            let max = if first == all(1999) { 19 } else { 20 };
            assert_eq!(*result.host_read().unwrap(), [first, max, all(3000), last]);
        }
    }
}

#[test]
fn fld_cnd_001_loops_decide_by_what_elements_come_to() {
    for way in ways() {
        // Each item counts down to zero; the loop runs as long as the largest.
        for count in [8, 1500] {
            let counts: Vec<u32> = (0..count).map(|item| item % 6).collect();
            let (left, step) = (way.device(&counts), way.device(&vec![0_u32; count as usize]));
            let steps = way.device(&[0_u32]);
            let graph = way.graph();
            let any = graph.alloc::<u32>(1).unwrap();
            let body = way.graph();
            let is_set = |left| Command::reduce(Fold::Any, left, &any);
            // left -= left != 0: kernels of the tests have no such thing, so that all are added to first.
            let items = count as usize;
            let copied = body.add(Command::copy(&left, &step)).unwrap();
            let less =
                body.after(&copied).add(Command::parallel_for(items, advance(&step, 0, u32::MAX))).unwrap();
            let added =
                body.after(&less).add(Command::parallel_for(items, combine(&step, &left, 1))).unwrap();
            let counted = body.after(&added).add(Command::parallel_for(1, advance(&steps, 1, 1))).unwrap();
            let shown = Command::reduce(Fold::Max, &left, &any);
            body.after(&counted).add(shown).unwrap();
            let begun = graph.add(is_set(&left)).unwrap();
            let looped = graph.after(&begun).add(Command::while_(&any, &body).max_iterations(50)).unwrap();
            graph.after(&looped).add(Command::empty()).unwrap();
            // With all of them at three, three iterations bring them to zero.
            way.queue.fill(&left, 3).unwrap().wait().unwrap();
            let executable = way.finalize(&graph);
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(way.queue.read(&steps).unwrap(), [3]);
            assert_eq!(way.queue.read(&left).unwrap(), vec![0; items]);
        }
    }
}

#[test]
fn fld_ref_001_memory_that_does_not_fit_is_refused() {
    let Some(way) = ways().into_iter().next() else { return };
    let (values, few) = (way.device(&[1_u32; 16]), way.device(&[1_u32; 4]));
    let refused = |command: Command, text: &str| {
        for error in [way.queue.submit(command.clone()).unwrap_err(), way.graph().add(command).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
            assert!(format!("{error:#}").contains(text), "{error:#}");
        }
    };
    refused(Command::scan(Fold::Sum, &values, &few), "the result has 64 bytes, and its memory 16");
    refused(Command::reduce(Fold::Sum, &values, &few.slice(..0).unwrap()), "the result has 4 bytes");
    let column = values.rect([4, 4]).unwrap().part([0, 1], [4, 1]).unwrap();
    refused(Command::reduce(Fold::Sum, &column, &few), "does not lie in one piece");
    let buffer = Buffer::<u32>::from_vec(vec![1; 4]).unwrap();
    refused(
        Command::reduce(Fold::Sum, &values, &buffer.read_write().slice(0..0).unwrap()),
        "the result has 4 bytes",
    );
    assert_eq!(way.queue.read(&few).unwrap(), [1; 4]);
}
