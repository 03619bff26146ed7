//! A specialization constant is given a value of another type.
use oclave::kernel::{KernelCall, SpecConstant};

fn specialize(call: KernelCall, width: &SpecConstant<i32>) -> KernelCall {
    call.spec(width, 2.5f32)
}

fn main() {}
