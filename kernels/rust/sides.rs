//! Code for devices or for the host only.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oclave_kernel::{Item, Out, device_global, if_device, if_host, kernel};

device_global! {
    /// How many work-items were on a device.
    pub static ON_DEVICES: AtomicU32 = AtomicU32::new(0);
}

fn leaf(mut x: i32) -> i32 {
    if_device! {
        x += 100;
    }
    x
}

/// Bodies without and with results, nested, and in functions that are called. On devices 2 * (x + 101) + 1, on
/// the host 1.5 * x + 2 + 2.
fn branches(x: i32) -> i32 {
    let mut r = x;
    if_device! {
        if_host!({ r = -1; } else { r += leaf(1); });
    }
    if_host!({
        r = (f64::from(r) * 1.5) as i32 + leaf(2);
    } else {
        r *= 2;
    });
    r + if_device!({ 1 } else { 2 })
}

/// The sides of a program.
#[kernel]
pub fn branch(_item: Item<1>, mut x: Out<i32>) {
    *x = branches(*x);
}

/// Bodies that change memory and device globals, and one that panics.
#[kernel]
pub fn effects(item: Item<1>, limit: u32, x: &[u32], mut out: Out<u32>) {
    let value = x[item.global_id()[0]];
    *out = 5;
    if_host! {
        *out = value + 6;
    }
    if_device! {
        ON_DEVICES.fetch_add(1, Relaxed);
        assert!(value < limit, "too much for a device");
        *out += value;
    }
}
