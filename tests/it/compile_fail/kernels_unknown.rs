//! Kernels that the build script does not compile.
mod kernels {
    oclave::include_kernels!("not_there");
}

fn main() {}
