//! What kernels print.

use oclave_kernel::{Item, device_print, device_println, f16, kernel};

/// Integers of all types.
#[kernel]
pub fn print_integers(_item: Item<1>, x: &[i64]) {
    for (n, x) in x.iter().enumerate() {
        let (a, b, c, d) = (*x as i8, *x as i16, *x as i32, *x as u16);
        device_println!("{n}: {a} {b} {c} {x} {d} {} {} {}", *x as u8, *x as u32, *x as u64);
        device_println!("{0:4}|{0:<4}|{0:04}|{1:08}|{2:x}|{2:#x}|{3:#06X}|{c:o}|{a:x} 100 %", a, c, x, d);
    }
}

/// Floating-point numbers with and without a precision.
#[kernel]
pub fn print_floats(_item: Item<1>, x: &[f32], half: f16) {
    for x in x {
        device_print!("{x:.3} {:9.2} {:<8.1}|", x, -x);
        device_println!(" {x} {half:?} {{}}");
    }
}

/// Doubles.
#[kernel]
pub fn print_doubles(_item: Item<1>, x: f64) {
    device_println!("{x:.10}, {}", "and a text of 100 %");
}

#[inline(never)]
fn deeper(x: u32, limit: u32) -> u32 {
    if x > limit {
        device_println!("{x} is more than {limit}");
    } else if x == limit {
        device_println!("{x} is {limit}");
    }
    x + 1
}

/// Lines of functions and branches, from work-items of their own.
#[kernel]
pub fn print_branches(item: Item<1>, x: &[u32], limit: u32) {
    let [i] = item.global_id();
    if deeper(x[i], limit) == limit {
        device_println!("work-item {i}: nearly {limit}");
    }
    if i == 0 {
        device_println!();
    }
}
