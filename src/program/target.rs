//! Which kernel a launch runs.

use super::bundle::BundleKernel;
use crate::Kernel;

/// The kernel of a call.
#[derive(Clone)]
pub(crate) enum CallTarget {
    /// A kernel of an image table.
    Image(&'static Kernel),
    /// A kernel of a bundle.
    Bundle(BundleKernel),
}

impl CallTarget {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Image(kernel) => kernel.name(),
            Self::Bundle(kernel) => kernel.name(),
        }
    }

    /// Whether both are the same kernel.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Image(a), Self::Image(b)) => {
                std::ptr::eq(*a, *b) || std::ptr::eq(a.images(), b.images()) && a.name() == b.name()
            }
            (Self::Bundle(a), Self::Bundle(b)) => {
                std::ptr::eq(a.bundle(), b.bundle()) && a.index() == b.index()
            }
            _ => false,
        }
    }
}
