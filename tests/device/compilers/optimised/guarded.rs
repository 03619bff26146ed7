//! What no work-item asks for is not loaded.

use super::{kernel, queue, upload};
use oclave::Queue;

/// Mesa's llvmpipe loads behind conditions that no work-item meets (Q46), unless the pass helps. That
/// ends the process.
#[device_test(queue)]
fn what_is_behind_a_condition_is_not_loaded(queue: Queue) {
    let (input, out) = (upload(&queue, &[3_u32; 16]), upload(&queue, &[0_u32; 48]));
    for (a, rounds) in [(7, 2), (16, 1)] {
        queue.parallel_for(24, kernel::guarded_loads(&out, &input, 1_u64 << 44, a)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [rounds, 5].repeat(24), "{a}");
    }
}
