//! Loops with barriers inside loops and conditions, in groups of two dimensions.

use super::common::{Parts, Random, equal, in_shapes, int, launch, local, mem};
use crate::case::{Argument, Case, Memory, Space};

/// Some drivers run groups with one work-item in a dimension in another way.
const SHAPES: [[usize; 2]; 6] = [[1, 1], [1, 2], [1, 9], [7, 1], [8, 4], [1, 64]];

/// Changes a group as a kernel does, with these bounds of its loops.
type Reference = fn(&mut Group, u32, u32);

pub(super) fn cases() -> Vec<Case> {
    let kernels: [(&str, Reference); 3] =
        [("two_loops", two_loops), ("three_loops", three_loops), ("loop_in_branch", loop_in_branch)];
    let mut cases = Vec::new();
    for (kernel, reference) in kernels {
        for (n, m) in [(4, 3), (1, 5), (5, 0)] {
            cases.extend(in_shapes(&format!("{kernel} to {n} and {m}"), &SHAPES, |shape| {
                of_groups(kernel, shape, &[int(n), int(m)], |group| reference(group, n as u32, m as u32))
            }));
        }
    }
    // One work-item has nobody to exchange with.
    cases.extend(in_shapes("exchanges", &SHAPES[1..], |shape| {
        of_groups("exchanges", shape, &[int(16)], |group| exchanges(&mut group.data, 16))
    }));
    cases
}

/// A launch of a kernel `(data, local, more)`, whose groups change their part of the data.
fn of_groups(kernel: &str, [x, y]: [usize; 2], more: &[Argument], reference: impl Fn(&mut Group)) -> Parts {
    let input = Random::new((x * 100 + y) as u64).words(2 * x * 3 * y);
    let groups = input.chunks(x * y).map(|data| {
        let mut group = Group { data: data.to_vec(), values: data.to_vec() };
        reference(&mut group);
        group.data
    });
    let expected: Vec<u32> = groups.flatten().collect();
    let arguments = [&[mem(0), local::<u32>(x * y)], more].concat();
    let launches = vec![launch(kernel, Space::d2([2 * x, 3 * y], [x, y]), arguments)];
    (vec![Memory::of(&input)], launches, equal(0, expected))
}

/// What a group's work-items have: an element of the data each, and the value `v` of the kernel.
struct Group {
    data: Vec<u32>,
    values: Vec<u32>,
}

impl Group {
    /// `data[id] = change(data[id], v)` of each work-item.
    fn change(&mut self, change: impl Fn(u32, u32) -> u32) {
        self.data.iter_mut().zip(&self.values).for_each(|(data, value)| *data = change(*data, *value));
    }

    /// The innermost loop, from `first` up to `end`.
    fn mix(&mut self, first: u32, end: u32) {
        for j in first..end {
            let size = self.values.len();
            let mixed = |lid| {
                let value: u32 = self.values[lid];
                value.wrapping_mul(5).wrapping_add(self.values[(lid + 1) % size]).wrapping_add(j)
            };
            self.values = (0..size).map(mixed).collect();
        }
    }
}

fn two_loops(group: &mut Group, n: u32, m: u32) {
    for i in 0..n {
        group.change(|data, _| data.wrapping_mul(3).wrapping_add(i));
        group.mix(i, m);
        group.change(|data, value| data ^ value);
    }
}

fn three_loops(group: &mut Group, n: u32, m: u32) {
    for h in 0..n {
        group.change(|data, _| data.wrapping_add(h + 1));
        for i in h..m {
            group.change(|data, _| data.wrapping_mul(3).wrapping_add(i));
            group.mix(2 * i, m + 1);
            group.change(|data, value| data ^ value);
        }
    }
}

fn loop_in_branch(group: &mut Group, n: u32, m: u32) {
    for i in 0..n {
        group.change(|data, _| data.wrapping_mul(3).wrapping_add(i));
        if (i ^ m) & 1 != 0 {
            group.mix(i, m);
            group.change(|data, _| data.wrapping_add(7));
        }
        group.change(|data, value| data ^ value);
    }
}

fn exchanges(values: &mut [u32], n: u32) {
    let mut k = 1;
    while k <= n {
        let mut j = k as usize / 2;
        while j > 0 {
            let size = values.len();
            for (lid, other) in (0..size).map(|lid| (lid, lid ^ j)) {
                if other > lid && other < size {
                    let (a, b) = (values[lid], values[other]);
                    values[lid] = b.wrapping_add(k);
                    values[other] = a.wrapping_mul(3);
                }
            }
            j /= 2;
        }
        k *= 2;
    }
}
