//! Kernels whose doubles come from literals alone, in a form for devices without fp64.

use oclave_image::{
    Aspects, DeviceImage, Field, KernelSignature, PostLinkOptions, Scalar, StructType, ValueType,
    forms_without_fp64,
};

use crate::cargo::Cargo;
use crate::compile::{Compiler, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::overlay;
use crate::program::translation_unit;
use crate::source::Source;
use crate::translate;
use crate::undefined;

/// Makes clang take literals without a suffix for floats, as on devices without fp64.
const FLOAT_LITERALS: &str = "-cl-single-precision-constant";

/// Compiles a program that needs fp64 once more, with literals as floats, and adds to its images the
/// forms of those kernels that then do without fp64.
///
/// Programs without doubles, and those whose kernels all take doubles as arguments, are not compiled
/// again. A source that does not compile in this way has no such form.
pub(crate) fn add(
    compiler: &Compiler<'_>,
    sources: &[Source],
    units: &[Unit],
    options: &PostLinkOptions,
    images: &mut [DeviceImage],
) -> Result<()> {
    let is_set = compiler.config.extra_args.iter().any(|argument| argument == FLOAT_LITERALS);
    if is_set || !images.iter().any(|image| may_do_without(image, units)) {
        return Ok(());
    }
    let mut config = compiler.config.clone();
    config.extra_args.push(FLOAT_LITERALS.into());
    let work = compiler.work.join("without_fp64");
    std::fs::create_dir_all(&work).map_err(|error| Error::io("create", &work, error))?;
    let again = Compiler { config: &config, work: &work, ..*compiler };
    match forms(&again, sources, options, images) {
        Ok(forms) => {
            for (index, mut form) in forms {
                overlay::kernels(&mut form, units);
                if let Some(image) = images.get_mut(index) {
                    image.insert_without_fp64(&form);
                }
            }
            Ok(())
        }
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Compile
                    | ErrorKind::Declarations
                    | ErrorKind::Translate
                    | ErrorKind::Link
                    | ErrorKind::PostLink
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn forms(
    compiler: &Compiler<'_>,
    sources: &[Source],
    options: &PostLinkOptions,
    images: &[DeviceImage],
) -> Result<Vec<(usize, DeviceImage)>> {
    // The first compilation told cargo all that it needs to know.
    let mut told = Vec::new();
    let (units, translated) = translate::program(compiler, sources, &mut Cargo::new(&mut told))?;
    let unit = translation_unit(compiler.config, sources, &units, translated);
    let forms = forms_without_fp64(images, &[unit], options)
        .map_err(|error| Error::new(ErrorKind::PostLink, "without fp64").with_source(error))?;
    let made: Vec<DeviceImage> = forms.iter().map(|(_, form)| form.clone()).collect();
    undefined::refuse(compiler, sources, &made)?;
    Ok(forms)
}

/// Whether an image has a kernel that needs fp64 and takes no doubles from the host.
fn may_do_without(image: &DeviceImage, units: &[Unit]) -> bool {
    let mut declared = DeviceImage { kernels: image.kernels.clone(), ..DeviceImage::default() };
    overlay::kernels(&mut declared, units);
    let takes_doubles = |kernel: &KernelSignature| {
        kernel.parameters.iter().filter_map(|parameter| parameter.value_type()).any(has_doubles)
    };
    let needs_fp64 = |kernel: &KernelSignature| kernel.aspects.contains(Aspects::FP64);
    declared.kernels.iter().any(|kernel| needs_fp64(kernel) && !takes_doubles(kernel))
}

fn has_doubles(ty: &ValueType) -> bool {
    match ty {
        ValueType::Scalar(scalar) | ValueType::Vector(scalar, _) => *scalar == Scalar::F64,
        ValueType::Array(element, _) => has_doubles(element),
        ValueType::Struct(StructType { fields, .. }) => fields.iter().any(|Field { ty, .. }| has_doubles(ty)),
        ValueType::Opaque { .. } | ValueType::Void => false,
    }
}
