//! A host slice is passed where the kernel wants device memory.
mod kernels {
    oclave::include_kernels!("tests");
}

fn call(x: &[f32]) -> oclave::kernel::KernelCall {
    kernels::saxpy::saxpy(2.0, x, x)
}

fn main() {}
