//! Programs of devices that take PTX instead of SPIR-V.

use oclave_ptx::{PtxError, PtxTarget, ptx_of, translate_for};
use oclave_spirv::Module;
use oclave_spirv::transform::specialize::specialize;

use super::spec::SpecValue;
use crate::MakeError as _;
use crate::driver::hook;
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result};

/// The name of the translation, which is no call of OpenCL, in a recording of calls.
const TRANSLATION: &str = "translation to PTX";

/// The PTX of the module that was made of an image for a device.
///
/// Specialization constants get their values here: the driver knows none.
///
/// # Errors
/// [`ErrorKind::KernelNotSupported`] for what PTX cannot say, [`ErrorKind::FeatureNotSupported`]
/// where the library of built-in functions is missing.
pub(super) fn text_of(
    image: &LoadedImage,
    words: Vec<u32>,
    specs: &[SpecValue],
    target: &PtxTarget,
) -> Result<String> {
    hook::before(TRANSLATION)?;
    let module = Module::from_words(words)?;
    let values: Vec<(u32, &[u8])> = specs.iter().map(|spec| (spec.id(), spec.bytes())).collect();
    let module = if values.is_empty() { module } else { specialize(&module, &values)? };
    translate_for(image.image(), &module, target).map_err(error_of)
}

/// The PTX that an image brings along for a device.
pub(super) fn held<'i>(image: &'i LoadedImage, target: &PtxTarget) -> Option<&'i str> {
    ptx_of(image.image(), target).map(|(_, text)| text)
}

fn error_of(error: PtxError) -> Error {
    match error {
        PtxError::Module(error) => Error::from(error),
        PtxError::Library(_) => {
            Error::new(ErrorKind::FeatureNotSupported, "the kernels call functions of OpenCL C")
                .remedy("install libclc-15, or build the image with `Config::nvidia`")
                .with_source(error)
        }
        error => Error::new(ErrorKind::KernelNotSupported, "the module has no PTX").with_source(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let error = error_of(PtxError::Library("the library is not installed".to_owned()));
        assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
        assert!(format!("{error:#}").contains("libclc-15"), "{error:#}");
        let error = error_of(PtxError::Refused("addresses of 32 bits".to_owned()));
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        assert!(format!("{error:#}").contains("addresses of 32 bits"), "{error:#}");
    }
}
