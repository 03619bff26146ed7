//! Kernels that share functions and variables with those of `both_c.cl`.

use oclave_kernel::{Global, Item, Out, device_global, kernel};

device_global! {
    /// Defined here, and changed by kernels of both languages.
    pub static STEPS: u32 = 7;
    /// Defined in OpenCL C.
    pub extern static offsets: [i32; 4];
}

unsafe extern "C" {
    /// In OpenCL C.
    safe fn mixed(x: u32, y: f32) -> f32;
    fn sum_of(x: *const f32, count: u32) -> f32;
}

/// Calls functions of C.
#[kernel]
pub fn calls_c(item: Item<1>, x: &[f32], mut out: Out<f32>) {
    let [i] = item.global_id();
    // SAFETY: the memory has so many elements.
    let sum = unsafe { sum_of(x.as_ptr(), x.len() as u32) };
    *out = mixed(i as u32, x[i]) + sum + offsets.elements().get(i % 4) as f32;
}

/// Called by C. It panics for a divisor of zero.
#[unsafe(no_mangle)]
pub extern "C" fn remainder_of(x: u32, divisor: u32) -> u32 {
    x % divisor
}

/// Called by C: the first number that is greater.
///
/// # Safety
/// There are so many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn first_above(x: *const i32, count: u32, bound: i32) -> u64 {
    // SAFETY: as the caller says.
    let x = unsafe { std::slice::from_raw_parts(x, count as usize) };
    x.iter().position(|x| *x > bound).unwrap_or(x.len()) as u64
}

/// Counts up.
#[kernel]
pub fn step(_item: Item<1>, by: u32, seen: Global<u32>) {
    seen.set(0, STEPS.get());
    STEPS.set(STEPS.get() + by);
}
