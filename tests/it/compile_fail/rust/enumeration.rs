//! Some bytes are no value of an enum.
use oclave_kernel::Data;

#[derive(Clone, Copy, Data)]
#[repr(u8)]
enum Kind {
    First,
    Second,
}

fn main() {}
