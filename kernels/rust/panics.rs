//! Each kind of panic. The first parameter says whether it happens.

use oclave_kernel::{Global, Item, Local, Out, kernel};

/// Bounds of a slice.
#[kernel]
pub fn bounds(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    *out = x[item.global_id()[0]] + 1;
}

/// Overflow, where the profile has it checked, and what is checked in every profile.
#[kernel]
pub fn arithmetic(_item: Item<1>, which: u32, a: i32, b: i32, mut out: Out<i32>) {
    *out = match which {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        3 => -a,
        4 => a << b,
        5 => a >> b,
        6 => a / b,
        7 => a % b,
        8 => (a as u8 + b as u8) as i32,
        9 => a.pow(b as u32),
        10 => a.abs(),
        _ => a.isqrt(),
    };
}

/// What has no value.
#[kernel]
pub fn values(_item: Item<1>, which: u32, x: &[u32], mut out: Out<u32>) {
    let wrong: Result<u32, u8> = if x.len() > 3 { Ok(x[0]) } else { Err(3) };
    *out = match which {
        0 => *x.first().unwrap(),
        1 => *x.get(3).expect("there are four elements"),
        2 => wrong.unwrap(),
        3 => wrong.expect("there are four of them"),
        4 => *x.iter().max_by_key(|x| **x / 2).unwrap(),
        _ => wrong.unwrap_or(9),
    };
}

/// What the programmer says.
#[kernel]
pub fn said(_item: Item<1>, which: u32, x: u32, mut out: Out<u32>) {
    match which {
        0 => assert!(x < 10, "ten is too much"),
        1 => assert!(x < 10),
        2 => assert_eq!(x, 3),
        3 => assert_ne!(x, 10),
        4 if x == 10 => panic!("this is the end"),
        5 if x == 10 => unreachable!(),
        6 if x == 10 => todo!(),
        7 => debug_assert!(x < 10, "ten is too much for now"),
        _ => {}
    }
    *out = x + which;
}

#[inline(never)]
fn of_a_pair(a: i64, b: u8) -> i64 {
    assert!(a > i64::from(b), "{a} is not above {b:#x}");
    a - 1
}

/// Values in messages.
#[kernel]
pub fn shown(item: Item<1>, which: u32, f: f32, n: i16, x: &[u32], mut out: Out<u32>) {
    let i = item.global_id()[0];
    match which {
        0 => panic!("{f} {f:?} {:.2} {:e}", f * 2.0, f / 8.0),
        1 => panic!("{n} {:x} {} {:?}", n, n < 0, char::from(n.unsigned_abs() as u8)),
        2 => x.iter().for_each(|v| assert!(*v < 5, "{v} of {{{i}}}")),
        3 => *out = of_a_pair(i64::from(n) << 40, 200) as u32,
        4 => assert_eq!(x[i] as f32, f, "element {i}"),
        // No message shows a tuple.
        5 => panic!("{:?} and {i}", (n, i)),
        _ => *out = x[i + x.len()],
    }
}

/// Parts of slices.
#[kernel]
pub fn parts(_item: Item<1>, which: u32, first: u32, last: u32, x: &[u32], mut out: Out<u32>) {
    let (first, last) = (first as usize, last as usize);
    let mut four = [0; 4];
    *out = match which {
        0 => x[first..last].iter().sum(),
        1 => x[first..].iter().sum(),
        2 => x[..last].iter().sum(),
        3 => {
            four.copy_from_slice(&x[first..last]);
            four.iter().sum()
        }
        4 => x.split_at(first).1.iter().sum(),
        _ => x.chunks(first).map(|part| part[0]).sum(),
    };
}

/// Memory that all work-items access.
#[kernel]
pub fn shared(item: Item<1>, which: u32, at: u32, x: Global<u32>, tile: Local<u32>) {
    let (at, local) = (at as usize, item.local_array::<u32, 4>());
    match which {
        0 => x.set(0, x.get(at)),
        1 => x.set(at, 1),
        2 => drop(x.swap(at, 1)),
        3 => tile.set(at, 1),
        4 => x.set(0, tile.get(at)),
        5 => local.set(at, 1),
        _ => x.set(0, local.get(at)),
    }
}

#[inline(never)]
fn deepest(x: &[u32], at: usize) -> u32 {
    assert!(at < 50, "fifty is too deep");
    x.get(at).copied().unwrap_or(0) + 1
}

#[inline(never)]
fn deeper(x: &[u32], at: usize) -> u32 {
    let first = deepest(x, at);
    first * 2 + deepest(x, at + 1)
}

/// Panics in functions that are called.
#[kernel]
pub fn called(item: Item<1>, add: u32, x: &[u32], mut out: Out<u32>) {
    *out = deeper(x, item.global_id()[0] + add as usize);
}

/// A panic before a barrier that the other work-items wait at.
#[kernel]
pub fn waiting(item: Item<1>, x: &[u32], tile: Local<u32>, mut out: Out<u32>) {
    let [me] = item.local_id();
    tile.set(me, x[item.global_id()[0]]);
    item.barrier();
    *out = tile.get(tile.len() - 1 - me);
}

/// A panic in a round of a loop with barriers.
#[kernel]
pub fn rounds(item: Item<1>, limit: u32, tile: Local<u32>, out: Global<u32>) {
    let [me] = item.local_id();
    tile.set(me, 0);
    item.barrier();
    for round in 0..6_u32 {
        assert!(me != 3 || round < limit, "too many rounds");
        let next = tile.get((me + 1) % tile.len());
        item.barrier();
        tile.set(me, next + round);
        item.barrier();
    }
    out.set(item.global_id()[0], tile.get(me));
}

/// A `match` over 64 bits beside a barrier and a panic: values that differ in all bits, and near ones.
#[kernel]
pub fn chosen(item: Item<1>, x: &[u64], tile: Local<u32>, mut out: Out<u64>) {
    let [me] = item.local_id();
    let value = x[item.global_id()[0]];
    tile.set(me, me as u32);
    item.barrier();
    let other = u64::from(tile.get((me + 1) % tile.len()));
    let far = match value {
        0 => other + 1,
        7 => other.wrapping_mul(value + 3),
        0x1_0000_0007 => other.pow(2),
        u64::MAX => value - other,
        _ => value.rotate_left(other as u32),
    };
    *out = match far {
        1 => value ^ 5,
        4 => value.wrapping_add(77),
        9 => value.count_ones().into(),
        50 => value / 3,
        _ => far,
    };
}

/// A panic between a function of the work-group and the next.
#[kernel]
pub fn grouped(item: Item<1>, x: &[u32], sums: Global<u32>) {
    let value = x[item.global_id()[0]];
    let sum = item.work_group().reduce_add(value);
    let least = item.work_group().reduce_min(100 / value);
    if item.local_id()[0] == 0 {
        sums.set(item.group_id()[0], sum * 1000 + least);
    }
}

/// A panic between a function of the sub-group and the next.
#[kernel]
pub fn sub_grouped(item: Item<1>, x: &[u32], sums: Global<[u32; 2]>) {
    let (value, group) = (x[item.global_id()[0]], item.sub_group());
    let sum = group.reduce_add(value);
    let least = group.reduce_min(100 / value);
    sums.set(item.global_id()[0], [sum / group.size(), least]);
}

/// The same before a barrier.
#[kernel]
pub fn sub_grouped_before_barrier(item: Item<1>, x: &[u32], scratch: Local<u32>, sums: Global<[u32; 2]>) {
    let (value, group) = (x[item.global_id()[0]], item.sub_group());
    let [me] = item.local_id();
    scratch.set(me, group.reduce_max(100 / value));
    item.local_barrier();
    let other = scratch.get(scratch.len() - 1 - me);
    sums.set(item.global_id()[0], [other, group.reduce_min(other)]);
}

/// A row of a sparse matrix. Memory holds the indices of the elements that are combined.
#[kernel]
pub fn gathered(item: Item<1>, starts: &[u32], columns: &[u32], x: &[u32], mut out: Out<u32>) {
    let [row] = item.global_id();
    let columns = &columns[starts[row] as usize..starts[row + 1] as usize];
    *out = columns.iter().fold(0, |sum, column| sum ^ x[*column as usize]);
}

/// The end of a list, whose elements are the places of the next ones.
#[kernel]
pub fn followed(_item: Item<1>, first: u32, steps: u32, next: &[u32], mut out: Out<u32>) {
    *out = (0..steps).fold(first, |at, _| next[at as usize]);
}
