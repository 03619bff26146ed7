//! Memory in rows: boxes of elements within arrays of two or three dimensions, and commands on
//! them.
//!
//! OpenCL copies boxes of buffers only, not of USM. So each contiguous stretch of bytes is a
//! command of its own here. They run in any order, and one event stands for all. Copies and fills
//! of many rows are kernels instead (`command/boxes.rs`).

use std::sync::Arc;

use crate::event::Event;
use crate::host::{HostSink, HostSource};
use crate::queue::Queue;
use crate::sys::{CL_FALSE, cl_command_queue, cl_event};
use crate::usm::Span;
use crate::{Api, Error, Result, copy};

/// Which bytes of a piece of memory belong to a box: stretches of equal length, at equal distances.
/// The first begins with the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StridedRegion {
    row_bytes: usize,
    rows: usize,
    row_pitch: usize,
    planes: usize,
    plane_pitch: usize,
}

impl StridedRegion {
    /// All bytes.
    pub fn all(size_bytes: usize) -> Self {
        Self { row_bytes: size_bytes, rows: 1, row_pitch: size_bytes, planes: 1, plane_pitch: size_bytes }
    }

    /// A box of so many elements in an array of so many, slowest dimension first. It is within the
    /// array, whose bytes can be addressed.
    pub fn of_box(shape: [usize; 3], extent: [usize; 3], element_bytes: usize) -> Self {
        if extent.contains(&0) {
            return Self::all(0);
        }
        let [_, height, width] = shape;
        let [planes, rows, columns] = extent;
        let row_pitch = width * element_bytes;
        let plane_pitch = height * row_pitch;
        let mut own = Self { row_bytes: columns * element_bytes, rows, row_pitch, planes, plane_pitch };
        // Whole rows are one stretch, whole planes too.
        if own.rows == 1 || own.row_bytes == own.row_pitch {
            own.row_bytes *= own.rows;
            (own.rows, own.row_pitch) = (1, own.row_bytes);
            if own.planes == 1 || own.row_bytes == own.plane_pitch {
                return Self::all(own.row_bytes * own.planes);
            }
        }
        own
    }

    /// Whether they lie side by side.
    pub fn is_one(&self) -> bool {
        self.rows == 1 && self.planes == 1
    }

    /// The offset behind the last of them.
    pub fn end(&self) -> usize {
        self.stretches().last().map_or(0, |(start, size)| start + size)
    }

    /// How many bytes.
    pub fn size_bytes(&self) -> usize {
        self.row_bytes * self.rows * self.planes
    }

    /// Offset and length of each stretch, in order.
    pub fn stretches(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.planes).flat_map(move |plane| {
            (0..self.rows).map(move |row| (plane * self.plane_pitch + row * self.row_pitch, self.row_bytes))
        })
    }

    /// Bytes of a row, rows of a plane, planes.
    pub fn shape(&self) -> [usize; 3] {
        [self.row_bytes, self.rows, self.planes]
    }

    /// The distances in bytes between rows and between planes, as rows and planes of a shape.
    /// `None` if they do not fit the shape.
    pub fn pitches(&self, shape: [usize; 3]) -> Option<[usize; 2]> {
        let [row_bytes, rows, planes] = shape;
        let plane_bytes = rows.checked_mul(row_bytes)?;
        if self.shape() == shape {
            Some([self.row_pitch, self.plane_pitch])
        } else if self.rows == 1 && self.planes == planes && self.row_bytes == plane_bytes {
            Some([row_bytes, self.plane_pitch])
        } else {
            (self.is_one() && self.row_bytes == plane_bytes.checked_mul(planes)?)
                .then_some([row_bytes, plane_bytes])
        }
    }

    /// For a copy of one to the other, as many bytes: offsets and length of each piece that is a
    /// stretch of both.
    fn pieces(from: Self, to: Self) -> impl Iterator<Item = (usize, usize, usize)> {
        let (mut from, mut to) = (from.stretches(), to.stretches());
        let (mut source, mut target) = ((0, 0), (0, 0));
        std::iter::from_fn(move || {
            if source.1 == 0 {
                source = from.next()?;
            }
            if target.1 == 0 {
                target = to.next()?;
            }
            let length = source.1.min(target.1);
            let piece = (source.0, target.0, length);
            source = (source.0 + length, source.1 - length);
            target = (target.0 + length, target.1 - length);
            (length != 0).then_some(piece)
        })
    }

    /// Whether some byte is in both, each beginning at its offset.
    fn overlap(self, start: usize, other: Self, other_start: usize) -> bool {
        if self.row_bytes == 0 || other.row_bytes == 0 {
            return false;
        }
        let (mut own, mut other) = (self.stretches().peekable(), other.stretches().peekable());
        while let (Some((a, a_bytes)), Some((b, b_bytes))) = (own.peek(), other.peek()) {
            let (a, b) = (a + start, b + other_start);
            if a < b + b_bytes && b < a + a_bytes {
                return true;
            }
            // Stretches of one box are in order, and do not overlap.
            if a < b {
                own.next();
            } else {
                other.next();
            }
        }
        false
    }
}

/// Checks a copy within a context.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for other sizes, and where the two overlap.
pub fn check(from: (&Span<'_>, StridedRegion), to: (&Span<'_>, StridedRegion)) -> Result<()> {
    copy::same_size(from.1.size_bytes(), to.1.size_bytes())?;
    if from.0.shares_allocation(to.0) && from.1.overlap(from.0.offset_bytes(), to.1, to.0.offset_bytes()) {
        return Err(copy::overlapping());
    }
    Ok(())
}

impl Queue {
    /// Copies within the context.
    pub fn copy_rows(
        self: &Arc<Self>,
        from: (Span<'_>, StridedRegion),
        to: (Span<'_>, StridedRegion),
        after: &[&Event],
    ) -> Result<Event> {
        check((&from.0, from.1), (&to.0, to.1))?;
        let pieces = StridedRegion::pieces(from.1, to.1)
            .map(|(source, target, size)| Ok((from.0.part(source, size)?, to.0.part(target, size)?)));
        self.using([from.0, to.0].into_iter(), || self.copy_pieces(pieces, after))
    }

    /// Copies the first row to all the others.
    pub fn repeat_row(self: &Arc<Self>, of: (Span<'_>, StridedRegion), after: &[&Event]) -> Result<Event> {
        let (span, rows) = of;
        let others = rows.stretches().skip(1);
        let pieces = others.map(|(start, size)| Ok((span.part(0, size)?, span.part(start, size)?)));
        self.using([span].into_iter(), || self.copy_pieces(pieces, after))
    }

    /// Copies from the first to the second of each; they are of one size, do not overlap and are in
    /// use.
    fn copy_pieces<'s>(
        self: &Arc<Self>,
        pieces: impl Iterator<Item = Result<(Span<'s>, Span<'s>)>>,
        after: &[&Event],
    ) -> Result<Event> {
        let pointers = self.context().pointers()?;
        // SAFETY: queue and events are alive, both ends have `size_bytes` bytes, do not overlap and
        // are in use.
        self.submit_each(pieces, after, false, |(from, to), queue, wait, event| unsafe {
            let size_bytes = to.size_bytes();
            pointers.copy(queue, to.address(), from.address(), size_bytes, wait, event)
        })
    }

    /// Copies from host memory, which stays until the copies have ended.
    pub fn write_rows(
        self: &Arc<Self>,
        from: &HostSource,
        to: (Span<'_>, StridedRegion),
        after: &[&Event],
    ) -> Result<Event> {
        copy::same_size(from.size_bytes(), to.1.size_bytes())?;
        let pointers = self.context().pointers()?;
        from.read(self, |start| {
            let pieces = StridedRegion::pieces(StridedRegion::all(from.size_bytes()), to.1).map(
                |(source, target, size)| Ok((start.wrapping_byte_add(source), to.0.part(target, size)?)),
            );
            self.using([to.0].into_iter(), || {
                // SAFETY: queue and events are alive, and both ends have `size_bytes` bytes. Host
                // memory lives until the event is complete, or until abandoned commands have ended
                // (`HostSource::read`).
                self.submit_each(pieces, after, true, |(from, to), queue, wait, event| unsafe {
                    pointers.write(queue, CL_FALSE, to.address(), *from, to.size_bytes(), wait, event)
                })
            })
        })
    }

    /// Copies to host memory, which stays, and out of the host's reach, until the copies have
    /// ended.
    pub fn read_rows(
        self: &Arc<Self>,
        from: (Span<'_>, StridedRegion),
        to: &HostSink,
        after: &[&Event],
    ) -> Result<Event> {
        copy::same_size(from.1.size_bytes(), to.size_bytes())?;
        let pointers = self.context().pointers()?;
        to.write(self, |start| {
            let pieces = StridedRegion::pieces(from.1, StridedRegion::all(to.size_bytes())).map(
                |(source, target, size)| Ok((from.0.part(source, size)?, start.wrapping_byte_add(target))),
            );
            self.using([from.0].into_iter(), || {
                // SAFETY: queue and events are alive, and both ends have `size_bytes` bytes. The
                // host's live, and nobody looks at them, until the event is complete or abandoned
                // commands have ended (`HostSink::write`).
                self.submit_each(pieces, after, true, |(from, to), queue, wait, event| unsafe {
                    pointers.read(queue, CL_FALSE, *to, from.address(), from.size_bytes(), wait, event)
                })
            })
        })
    }

    /// Fills each row with a pattern of 1, 2, 4, … 128 bytes that divides it and to which it is
    /// aligned.
    pub fn fill_rows(
        self: &Arc<Self>,
        to: (Span<'_>, StridedRegion),
        pattern: &[u8],
        after: &[&Event],
    ) -> Result<Event> {
        let pointers = self.context().pointers()?;
        let pieces = to.1.stretches().map(|(start, size)| {
            let stretch = to.0.part(start, size)?;
            copy::check_pattern(&stretch, pattern.len())?;
            Ok(stretch)
        });
        self.using([to.0].into_iter(), || {
            // SAFETY: queue and events are alive, the span is in use; the driver copies the pattern
            // in the call.
            self.submit_each(pieces, after, false, |to, queue, wait, event| unsafe {
                pointers.fill(queue, to.address(), pattern, to.size_bytes(), wait, event)
            })
        })
    }

    /// Enqueues a command for each piece, all after the same events and in any order. The event,
    /// which is there when `want_event`, stands for all; as [`Queue::submit`] for what `enqueue`
    /// must do.
    ///
    /// # Errors
    /// If a piece fails. The pieces enqueued before have ended then, unless the driver does not
    /// wait for them ([`Queue::abandoned`]).
    fn submit_each<P>(
        self: &Arc<Self>,
        pieces: impl Iterator<Item = Result<P>>,
        after: &[&Event],
        want_event: bool,
        enqueue: impl Fn(&P, cl_command_queue, &[cl_event], *mut cl_event) -> Result<()>,
    ) -> Result<Event> {
        let in_order = self.is_in_order();
        let mut events: Vec<Event> = Vec::new();
        let submit_all = || {
            let (mut pieces, mut after) = (pieces.peekable(), after);
            while let Some(piece) = pieces.next() {
                let piece = piece?;
                let one = |_: &Api, queue, wait: &[cl_event], event| enqueue(&piece, queue, wait, event);
                if !in_order || pieces.peek().is_none() {
                    events.push(self.submit(after, want_event || !in_order, one)?);
                } else {
                    // The last one stands for all.
                    self.submit_eventless(after, one)?;
                    after = &[];
                }
            }
            Ok::<(), Error>(())
        };
        submit_all().inspect_err(|_| self.abandon())?;
        match events.len() {
            0 => self.marker(after),
            1 => events.pop().map_or_else(|| self.marker(after), Ok),
            _ => {
                let all: Vec<&Event> = events.iter().collect();
                self.marker(&all)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A box in an array: shape, offset of its first element, extent.
    fn boxes() -> impl Strategy<Value = ([usize; 3], usize, [usize; 3])> {
        (1..4_usize, 1..5_usize, 1..6_usize).prop_flat_map(|(planes, rows, columns)| {
            (0..=planes, 0..=rows, 0..=columns, 0..3_usize).prop_map(move |(p, r, c, at)| {
                let shape = [planes, rows, columns];
                let first = ((planes - p) * rows + (rows - r)) * columns + (columns - c);
                (shape, if at == 0 { 0 } else { first }, [p, r, c])
            })
        })
    }

    /// By element.
    fn bytes(shape: [usize; 3], extent: [usize; 3], size: usize) -> Vec<usize> {
        let mut all = Vec::new();
        for plane in 0..extent[0] {
            for row in 0..extent[1] {
                let start = (plane * shape[1] + row) * shape[2] * size;
                all.extend(start..start + extent[2] * size);
            }
        }
        all
    }

    fn flat(stretches: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
        stretches.flat_map(|(start, size)| start..start + size).collect()
    }

    proptest! {
        #[test]
        fn stretches_are_the_box((shape, _, extent) in boxes(), size in 1..5_usize) {
            let rows = StridedRegion::of_box(shape, extent, size);
            let expected = bytes(shape, extent, size);
            prop_assert_eq!(rows.size_bytes(), expected.len());
            prop_assert_eq!(rows.is_one(), rows.stretches().count() == 1);
            // As few as can be.
            let gaps = expected.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
            prop_assert_eq!(rows.stretches().count(), gaps + 1);
            prop_assert_eq!(flat(rows.stretches()), expected);
        }

        #[test]
        fn pieces_pair_the_bytes_of_both((a, _, from) in boxes(), (b, _, to) in boxes()) {
            // The element of one has as many bytes as the other has elements, so that both have as
            // many bytes.
            let (from, to) = (StridedRegion::of_box(a, from, to.iter().product()), StridedRegion::of_box(b, to, from.iter().product()));
            let pieces: Vec<_> = StridedRegion::pieces(from, to).collect();
            let lengths: usize = pieces.iter().map(|piece| piece.2).sum();
            prop_assert_eq!(lengths, from.size_bytes());
            prop_assert_eq!(flat(pieces.iter().map(|piece| (piece.0, piece.2))), flat(from.stretches()));
            prop_assert_eq!(flat(pieces.iter().map(|piece| (piece.1, piece.2))), flat(to.stretches()));
        }

        #[test]
        fn boxes_overlap_where_they_have_a_byte_in_common((a, at, x) in boxes(), (b, bt, y) in boxes()) {
            let of = |shape, first: usize, extent| -> Vec<usize> {
                bytes(shape, extent, 2).into_iter().map(|byte| byte + 2 * first).collect()
            };
            let (own, other) = (of(a, at, x), of(b, bt, y));
            let common = own.iter().any(|byte| other.contains(byte));
            let overlap = StridedRegion::of_box(a, x, 2).overlap(2 * at, StridedRegion::of_box(b, y, 2), 2 * bt);
            prop_assert_eq!(overlap, common);
        }
    }
}
