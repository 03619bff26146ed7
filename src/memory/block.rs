//! Memory in rows, with a share in it.

use super::Region;
use crate::Result;
use crate::driver::rows::{self, StridedRegion};
use crate::driver::usm::Span;

/// Bytes of USM that lie in rows, which live as long as this does: from the first of them to the
/// last.
#[derive(Clone, Debug)]
pub struct Block {
    pub(crate) region: Region,
    pub(crate) rows: StridedRegion,
}

impl Block {
    /// All bytes of a region.
    pub(crate) fn whole(region: Region) -> Self {
        Self { rows: StridedRegion::all(region.size_bytes()), region }
    }

    /// The memory as the driver takes it; `held` says that the command was deferred.
    pub(crate) fn span(&self, held: bool) -> Result<(Span<'_>, StridedRegion)> {
        Ok((self.region.held_span(held)?, self.rows))
    }

    /// Checks a copy within a context.
    pub(crate) fn check_copy(&self, to: &Self) -> Result<()> {
        rows::check((&self.region.span()?, self.rows), (&to.region.span()?, to.rows))
    }
}
