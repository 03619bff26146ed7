//! Bytes of padding have no value.
use oclave_kernel::Data;

#[derive(Clone, Copy, Data)]
#[repr(C)]
struct Padded {
    small: u8,
    wide: u64,
}

fn main() {
    let _ = <Padded as oclave_kernel::Element>::IS_ATOMIC;
}
