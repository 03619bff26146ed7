//! Which kernel a launch runs.

use super::bundle::BundleKernel;
use crate::image::Kernel;

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

    /// The names of its parameters, as far as the image has them.
    pub(crate) fn parameter_names(&self) -> Vec<&str> {
        let signature = match self {
            Self::Image(kernel) => {
                let images = kernel.images().images_with(kernel.name()).unwrap_or_default();
                images.into_iter().find_map(|image| image.kernel(kernel.name()))
            }
            Self::Bundle(kernel) => kernel.signature(),
        };
        let parameters = signature.map_or(&[][..], |signature| &signature.parameters);
        parameters.iter().map(|parameter| parameter.name.as_str()).collect()
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
