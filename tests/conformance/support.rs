//! What conformance tests share.

/// Ends the test as skipped, for a reason: `skip!("no fp64 on {device}")`. The report shows the reason; a silent `return` in a
/// test would count as passed.
macro_rules! skip {
    ($($reason:tt)*) => {{
        println!("skipped: {}", format_args!($($reason)*));
        return;
    }};
}
