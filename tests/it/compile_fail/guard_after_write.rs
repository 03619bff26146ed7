//! A reference into shared memory outlives the guard that keeps kernels away from it.
use oclave::{Result, UsmSlice};
use oclave::memory::usm;

fn leak(x: &UsmSlice<f32, usm::Shared>) -> Result<f32> {
    let first: &f32 = {
        let guard = x.read()?;
        &guard[0]
    };
    Ok(*first)
}

fn main() {}
