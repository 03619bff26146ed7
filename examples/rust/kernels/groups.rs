//! What work-items have in common: device globals, specialization constants, local arrays, and the functions of groups.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oclave_kernel::{Data, Global, Item, Out, device_global, kernel, spec_constant};

/// A struct in a device global.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Gains {
    /// Multiplied by.
    pub factor: u32,
    /// Added, one for each remainder of the index.
    pub terms: [u32; 3],
}

device_global! {
    /// How many elements were odd.
    pub static ODD: AtomicU32 = AtomicU32::new(5);
    /// How many elements had each remainder.
    pub static REMAINDERS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
    /// What the host sets.
    #[host_access(write)]
    pub static GAINS: Gains = Gains { factor: 2, terms: [10, 20, 30] };
    /// A table that kernels change.
    pub static TABLE: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
}

spec_constant! {
    /// How often.
    #[id(0)]
    pub static ROUNDS: u32 = 3;
    /// How much.
    #[id(1)]
    pub static SHIFT: f32 = 0.5;
}

/// Counts, and applies the gains.
#[kernel]
pub fn count(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let value = x[i];
    if value % 2 == 1 {
        ODD.fetch_add(1, Relaxed);
    }
    REMAINDERS[value as usize % 4].fetch_add(1, Relaxed);
    let gains = GAINS.get();
    *out = value * gains.factor + gains.terms[i % 3] + TABLE.elements().get(i % 8);
}

/// Changes the table.
#[kernel]
pub fn change_table(item: Item<1>, by: u32) {
    let [i] = item.global_id();
    let table = TABLE.elements();
    table.set(i, table.get(i) + by);
}

/// Adds a constant, some rounds.
#[kernel]
pub fn rounds(_item: Item<1>, mut out: Out<f32>) {
    for _ in 0..ROUNDS.get() {
        *out += SHIFT.get();
    }
}

/// The transposed matrix, by tiles in local memory.
#[kernel(work_group = [8, 8, 1])]
pub fn transpose(item: Item<2>, width: u32, x: &[u32], out: Global<u32>) {
    let tile = item.local_array::<u32, 72>();
    let ([column, row], [me_x, me_y]) = (item.global_id(), item.local_id());
    tile.set(me_y * 9 + me_x, x[row * width as usize + column]);
    item.local_barrier();
    let [group_x, group_y] = item.group_id();
    out.set((group_x * 8 + me_y) * width as usize + group_y * 8 + me_x, tile.get(me_x * 9 + me_y));
}

/// What work-groups calculate together.
#[kernel]
pub fn together(item: Item<1>, x: &[u32], mut out: Out<[u32; 8]>) {
    let value = x[item.global_id()[0]];
    let group = item.work_group();
    let (least, greatest) = (group.reduce_min(value as i32 - 500), group.reduce_max(value));
    *out = [
        group.reduce_add(value),
        least as u32,
        greatest,
        group.scan_inclusive_add(value),
        group.scan_exclusive_max(value),
        u32::from(group.all(value > 3)) | u32::from(group.any(value > 990)) << 1,
        group.broadcast(value, [5]),
        group.reduce_add(value as f32) as u32,
    ];
}

/// The same of two dimensions, and of numbers of 64 bits.
#[kernel]
pub fn together_2d(item: Item<2>, x: &[u64], out: Global<u64>) {
    let [column, row] = item.global_id();
    let place = row * item.global_size()[0] + column;
    let value = x[place];
    let sum = item.work_group().reduce_add(value);
    let given = item.work_group().broadcast(value, [1, 2]);
    item.barrier();
    out.set(place, sum ^ given.rotate_left(7));
}

/// The sum of each sub-group, in the place of its first work-item.
#[kernel]
pub fn sub_groups(item: Item<1>, x: &[u32], mut out: Out<[u32; 3]>) {
    let value = x[item.global_id()[0]];
    let group = item.sub_group();
    *out = [group.reduce_add(value), group.broadcast(value, 0), group.size() << 16 | group.local_id()];
    group.barrier();
}
