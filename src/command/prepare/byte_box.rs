//! Blocks of memory as boxes of bytes.

use oclave_image::passes::interpreter::ByteBox;

use crate::memory::Block;

/// The box that a fill of a block sets.
pub(super) fn box_of(to: &Block) -> ByteBox {
    let shape = to.rows.shape();
    let pitches = to.rows.pitches(shape).unwrap_or_default();
    ByteBox {
        extent: shape.map(|size| size as u64),
        to_pitch: pitches.map(|size| size as u64),
        from_pitch: [0; 2],
    }
}

/// The box that a copy between blocks moves; `None` where rows of one are not rows of the other, nor all of its
/// bytes side by side.
pub(super) fn box_of_copy(from: &Block, to: &Block) -> Option<ByteBox> {
    let narrow = std::cmp::min_by_key(from.rows, to.rows, |rows| rows.shape()[0]);
    let shape = narrow.shape();
    let wide = |sizes: [usize; 2]| sizes.map(|size| size as u64);
    Some(ByteBox {
        extent: shape.map(|size| size as u64),
        to_pitch: wide(to.rows.pitches(shape)?),
        from_pitch: wide(from.rows.pitches(shape)?),
    })
}
