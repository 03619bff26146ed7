//! Placeholder until the runner follows.
#[allow(dead_code, unreachable_pub, reason = "the runner follows")]
mod case;
#[allow(dead_code, reason = "the runner follows")]
mod piglit;
#[allow(dead_code, reason = "the runner follows")]
mod real;
fn main() {}
