//! Placeholder until the runner follows.
#![allow(dead_code, unreachable_pub, reason = "the runner, which uses all of it, follows")]

mod case;
mod classics;

fn main() {}
