//! Local memory ends with its work-group, and cannot be kept in a variable of the program.
use oclave_kernel::{Local, device_global};

device_global! {
    static KEPT: Local<u32> = todo!();
}

fn main() {}
