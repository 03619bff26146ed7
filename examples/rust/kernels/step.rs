//! Kernels in Rust: for devices, and for the host.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oclave_kernel::{Data, Global, Item, Local, Out, kernel};

/// `y += a * x`.
#[kernel]
pub fn saxpy(item: Item<1>, a: f32, x: &[f32], mut y: Out<f32>) {
    *y += a * x[item.global_id()[0]];
}

/// A body of an n-body simulation.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Body {
    /// Where it is.
    pub place: [f32; 3],
    /// How heavy it is.
    pub mass: f32,
}

/// What bodies do to each other, by the square of their distance.
trait Force {
    fn of(&self, squared: f32) -> f32;
}

struct Newton {
    softening: f32,
}

impl Force for Newton {
    fn of(&self, squared: f32) -> f32 {
        let squared = squared + self.softening;
        1.0 / (squared * squared.sqrt())
    }
}

fn acceleration<F: Force>(force: &F, me: Body, bodies: &[Body]) -> [f32; 3] {
    let mut sum = [0.0; 3];
    for other in bodies {
        let way: [f32; 3] = std::array::from_fn(|axis| other.place[axis] - me.place[axis]);
        let squared: f32 = way.iter().map(|x| x * x).sum();
        let strength = other.mass * force.of(squared);
        for (sum, way) in sum.iter_mut().zip(way) {
            *sum += strength * way;
        }
    }
    sum
}

/// The acceleration of each body.
#[kernel]
pub fn accelerate(item: Item<1>, bodies: &[Body], mut out: Out<[f32; 3]>) {
    let me = bodies[item.global_id()[0]];
    *out = acceleration(&Newton { softening: 0.01 }, me, bodies);
}

/// The sum of each work-group, by a tree in local memory.
#[kernel]
pub fn sums(item: Item<1>, x: &[u32], scratch: Local<u32>, sums: Global<u32>) {
    let [me] = item.local_id();
    scratch.set(me, x.get(item.global_id()[0]).copied().unwrap_or(0));
    item.barrier();
    let mut half = item.local_size()[0] / 2;
    while half > 0 {
        if me < half {
            scratch.set(me, scratch.get(me).wrapping_add(scratch.get(me + half)));
        }
        item.barrier();
        half /= 2;
    }
    if me == 0 {
        sums.set(item.group_id()[0], scratch.get(0));
    }
}

/// How often each byte occurs.
#[kernel]
pub fn histogram(item: Item<1>, bytes: &[u8], counts: &[AtomicU32]) {
    let first = item.global_id()[0];
    for byte in bytes.iter().skip(first).step_by(item.global_size()[0]) {
        counts[usize::from(*byte)].fetch_add(1, Relaxed);
    }
}
