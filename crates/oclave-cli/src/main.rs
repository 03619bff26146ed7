//! The `oclave` command-line tool.
fn main() {}
