//! Fills with patterns of any size.

use std::sync::Arc;

use crate::Result;
use crate::driver::event::Event;
use crate::driver::host::HostSource;
use crate::driver::queue::Queue;
use crate::driver::rows::StridedRegion;
use crate::driver::usm::Span;

/// Host bytes that a fill with an odd pattern begins with, about.
const SEED_BYTES: usize = 64 << 10;

/// Whether OpenCL does it by itself.
pub(super) fn is_simple(to: &Span<'_>, pattern: &[u8]) -> bool {
    let size = pattern.len();
    size.is_power_of_two() && size <= 128 && to.address().addr().is_multiple_of(size)
}

/// Repeats `pattern` over the span, which is a whole number of patterns.
///
/// OpenCL fills with 1, 2, 4, … 128 bytes. Other patterns are written a few thousand times, and
/// then copied within the memory, twice as much each time. If a copy fails, those before it have ended.
pub(super) fn fill(queue: &Arc<Queue>, to: Span<'_>, pattern: &[u8], after: &[&Event]) -> Result<Event> {
    let size = pattern.len();
    if to.size_bytes() == 0 || size == 0 {
        return queue.fill(to, &[0], after);
    }
    if is_simple(&to, pattern) {
        return queue.fill(to, pattern, after);
    }
    let total = to.size_bytes();
    let seed = (SEED_BYTES / size).max(1).saturating_mul(size).min(total);
    let bytes = pattern.repeat(seed / size);
    let mut event = queue.write_later(&HostSource::owned(bytes), to.part(0, seed)?, after)?;
    let mut done = seed;
    while done < total {
        let step = done.min(total - done);
        let copied = queue.copy(to.part(0, step)?, to.part(done, step)?, &[&event]);
        event = copied.inspect_err(|_| queue.abandon())?;
        done += step;
    }
    Ok(event)
}

/// As [`fill`], in each row, which is a whole number of patterns.
pub(super) fn fill_rows(
    queue: &Arc<Queue>,
    to: (Span<'_>, StridedRegion),
    pattern: &[u8],
    after: &[&Event],
) -> Result<Event> {
    let (span, rows) = to;
    let size = pattern.len();
    let is_aligned = |(start, _)| span.address().addr().wrapping_add(start).is_multiple_of(size);
    if size.is_power_of_two() && size <= 128 && rows.stretches().all(is_aligned) {
        return queue.fill_rows(to, pattern, after);
    }
    let Some((start, row_bytes)) = rows.stretches().next() else { return queue.marker(after) };
    let first = fill(queue, span.part(start, row_bytes)?, pattern, after)?;
    queue.repeat_row(to, &[&first]).inspect_err(|_| queue.abandon())
}
