//! Integers of another type, and tuples, are no ranges.
mod kernels {
    oclave::include_kernels!("tests");
}

fn launch(queue: &oclave::Queue, x: &oclave::UsmSlice<f32>, n: u32) -> oclave::Result<()> {
    queue.parallel_for(n, kernels::saxpy::saxpy(2.0, x, x))?;
    queue.parallel_for((8, 8), kernels::saxpy::saxpy(2.0, x, x))?;
    Ok(())
}

fn main() {}
