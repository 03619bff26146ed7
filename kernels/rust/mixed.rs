//! Functions and variables that this source shares with `mixed_c.cl`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oclave_kernel::{Item, Out, device_global, kernel};

device_global! {
    /// Kernels of both languages change it.
    pub static OURS: u32 = 5;
    /// Counted by a function that C calls.
    pub static QUOTIENTS: AtomicU32 = AtomicU32::new(0);
    /// OpenCL C defines it.
    pub extern static theirs: [i32; 3];
}

unsafe extern "C" {
    /// In OpenCL C.
    safe fn in_c(x: u32, y: f32) -> f32;
    fn greatest(x: *const u32, count: u32) -> u32;
}

/// Calls functions of C.
#[kernel]
pub fn calls_c(item: Item<1>, x: &[u32], mut out: Out<[f32; 3]>) {
    let [i] = item.global_id();
    // SAFETY: the slice has so many elements.
    let most = unsafe { greatest(x.as_ptr(), x.len() as u32) };
    *out = [in_c(x[i], 0.5), most as f32, theirs.elements().get(i % 3) as f32];
}

/// C calls it. It panics for a divisor of zero, and for one that brings bad luck.
#[unsafe(no_mangle)]
pub extern "C" fn quotient(x: i64, divisor: i32) -> i64 {
    assert!(divisor != -13, "{divisor} below {x}");
    QUOTIENTS.fetch_add(1, Relaxed);
    x / i64::from(divisor)
}

/// C calls it with local memory.
///
/// # Safety
/// There are so many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sum_of_local(x: *const u32, count: u32) -> u32 {
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(x, count as usize) }.iter().sum()
}

/// Changes the variable of this source.
#[kernel]
pub fn step_in_rust(_item: Item<1>, by: u32) {
    OURS.set(OURS.get() * 2 + by);
}
