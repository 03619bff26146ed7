//! Private arrays that hold values from local memory across barriers.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, launch, local, mem};
use crate::case::{Case, Memory, Space};

/// What a kernel makes of the data of a group.
type Reference = fn(&[u32]) -> Vec<u32>;

pub(super) fn cases() -> Vec<Case> {
    let kernels: [(&str, usize, Reference); 4] =
        [("rows", 1, rows), ("elements", 1, elements), ("structures", 1, structures), ("copies", 0, copies)];
    let of = |(kernel, locals, reference): (&str, usize, Reference)| {
        in_groups(kernel, &SIZES, |size| of_groups(kernel, size, locals, reference))
    };
    kernels.into_iter().flat_map(of).collect()
}

/// A launch of a kernel `(data, local)`, without the second parameter where there are no `locals`.
fn of_groups(kernel: &str, size: usize, locals: usize, reference: Reference) -> Parts {
    let input = Random::new(size as u64 + 70).words_below(groups_of(size) * size, 1000);
    let expected: Vec<u32> = input.chunks(size).flat_map(reference).collect();
    let mut arguments = vec![mem(0)];
    arguments.extend((0..locals).map(|_| local::<u32>(size)));
    let launches = vec![launch(kernel, Space::d1(input.len(), size), arguments)];
    (vec![Memory::of(&input)], launches, equal(0, expected))
}

fn rows(data: &[u32]) -> Vec<u32> {
    let size = data.len();
    let of = |value: u32| -> [[u32; 4]; 4] {
        std::array::from_fn(|i| std::array::from_fn(|j| value + (i * 4 + j) as u32))
    };
    let mut items: Vec<[[u32; 4]; 4]> = data.iter().map(|value| of(*value)).collect();
    for r in 0..4 {
        let shared: Vec<u32> = items.iter().enumerate().map(|(lid, m)| m[r][(lid + r) % 4]).collect();
        for (lid, m) in items.iter_mut().enumerate() {
            for (j, element) in m[(r + 1) % 4].iter_mut().enumerate() {
                *element = element.wrapping_add(shared[(lid + j) % size]);
            }
        }
    }
    let sum = |m: [[u32; 4]; 4]| {
        m.as_flattened().iter().fold(0_u32, |sum, element| sum.wrapping_mul(3).wrapping_add(*element))
    };
    items.into_iter().map(sum).collect()
}

fn elements(data: &[u32]) -> Vec<u32> {
    let size = data.len();
    let at = |lid: usize| (data[lid] % 3) as usize;
    let array = |lid: usize| {
        let mut m = [1, 2, 3, data[lid] * 7 + 4];
        m[at(lid)] = data[(lid + 1) % size] * 7;
        m
    };
    let shared: Vec<u32> = (0..size).map(|lid| array(lid)[at(lid) + 1] * 3).collect();
    let result = |lid: usize| {
        let m = array(lid);
        m[0] + m[1] * 3 + m[2] * 5 + m[3] * 7 + m[at(lid)] * 11 + shared[size - 1 - lid]
    };
    (0..size).map(result).collect()
}

fn structures(data: &[u32]) -> Vec<u32> {
    let size = data.len();
    let rest = |value: u32| [[0, 1, 2], [value, value + 1, (value * 7) ^ 3]];
    let shared: Vec<u32> =
        data.iter().map(|value| rest(*value)[(value & 1) as usize][((value >> 1) % 3) as usize]).collect();
    let result = |(lid, value): (usize, &u32)| {
        let rest = rest(*value);
        value * 8 + rest[1][2] * 3 + rest[(value >> 2 & 1) as usize][1] * 5 + shared[size - 1 - lid]
    };
    data.iter().enumerate().map(result).collect()
}

fn copies(data: &[u32]) -> Vec<u32> {
    let size = data.len();
    let result = |(lid, value): (usize, &u32)| {
        let mine = data[size - 1 - lid];
        (mine * 3 + value % 3) * 5 + mine * 3 + mine * 3 + ((lid + 1) % size) as u32
    };
    data.iter().enumerate().map(result).collect()
}
