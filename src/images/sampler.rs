//! Samplers: how kernels read images between and outside of pixels.

use std::fmt;
use std::sync::Arc;

use crate::MakeError as _;
use crate::driver::{Addressing, Filter, image as driver};
use crate::{Context, Error, Result};

/// How a kernel reads an image: what coordinates mean, and what lies between pixels and outside.
///
/// A kernel has it as a `sampler_t` argument. Kernels can also have samplers of their own
/// (`constant sampler_t nearest = …`), which the host knows nothing of.
///
/// ```no_run
/// # fn f(context: &oclave::Context) -> oclave::Result<()> {
/// use oclave::images::Sampler;
/// use oclave::images::{Addressing, Filter};
///
/// let sampler =
///     Sampler::builder(context).normalized().addressing(Addressing::Repeat).filter(Filter::Linear).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sampler {
    context: Context,
    driver: Arc<driver::Sampler>,
    properties: Properties,
}

#[derive(Debug, Clone, Copy)]
struct Properties {
    normalized: bool,
    addressing: Addressing,
    filter: Filter,
}

impl Sampler {
    /// A sampler of coordinates in pixels, the nearest pixel, and the edge for what is outside,
    /// unless the builder is told otherwise.
    pub fn builder(context: &Context) -> SamplerBuilder {
        let properties =
            Properties { normalized: false, addressing: Addressing::ClampToEdge, filter: Filter::Nearest };
        SamplerBuilder { context: context.clone(), properties }
    }

    pub(crate) fn driver(&self) -> &Arc<driver::Sampler> {
        &self.driver
    }

    /// Whether what it gives for points outside of an image is defined.
    pub(crate) fn is_defined_outside(&self) -> bool {
        self.properties.addressing != Addressing::None
    }

    /// Whether it mixes pixels.
    pub(crate) fn is_linear(&self) -> bool {
        self.properties.filter == Filter::Linear
    }

    /// Refuses another context than the sampler's.
    pub(crate) fn check(&self, context: &Context) -> Result<()> {
        if *context == self.context {
            return Ok(());
        }
        Err(Error::invalid("the sampler belongs to another context")
            .remedy("make it in the context of the queue"))
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Properties { normalized, addressing, filter } = self.properties;
        let coordinates = if normalized { "normalized" } else { "in pixels" };
        write!(f, "sampler, coordinates {coordinates}, {addressing}, {filter}")
    }
}

/// Properties of a sampler to be made; from [`Sampler::builder`].
#[must_use = "a sampler is made by `build`"]
#[derive(Debug, Clone)]
pub struct SamplerBuilder {
    context: Context,
    properties: Properties,
}

impl SamplerBuilder {
    /// Coordinates from 0.0 to 1.0 instead of pixels.
    pub fn normalized(mut self) -> Self {
        self.properties.normalized = true;
        self
    }

    /// The pixels outside of the image.
    pub fn addressing(mut self, addressing: Addressing) -> Self {
        self.properties.addressing = addressing;
        self
    }

    /// The values between pixels.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.properties.filter = filter;
        self
    }

    /// Makes the sampler.
    ///
    /// # Errors
    /// [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when a device of the context
    /// has no images; [`Invalid`](crate::ErrorKind::Invalid) for
    /// [`Repeat`](Addressing::Repeat) and [`MirroredRepeat`](Addressing::MirroredRepeat) of
    /// coordinates in pixels, which OpenCL does not have.
    pub fn build(self) -> Result<Sampler> {
        let Self { context, properties } = self;
        context.require_images()?;
        let Properties { normalized, addressing, filter } = properties;
        if !normalized && matches!(addressing, Addressing::Repeat | Addressing::MirroredRepeat) {
            return Err(Error::invalid(format!("a sampler of coordinates in pixels with {addressing}"))
                .remedy("use normalized coordinates"));
        }
        let driver = driver::Sampler::new(context.driver(), normalized, addressing, filter)?;
        Ok(Sampler { context, driver, properties })
    }
}
