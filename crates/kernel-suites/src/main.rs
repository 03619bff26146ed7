//! Placeholder until the runner follows.
mod case;
fn main() {}
