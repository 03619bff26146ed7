//! Kernels whose doubles come from literals alone, in a form for devices without fp64.

mod bodies;

use std::collections::BTreeSet;

use oclave_image::{
    Aspects, DeviceImage, Field, KernelSignature, PostLinkOptions, Scalar, StructType, ValueType,
    forms_without_fp64,
};

use crate::cargo::Cargo;
use crate::compile::{Compiler, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::overlay;
use crate::program::translation_unit;
use crate::source::Source;
use crate::translate::{self, Translated};
use crate::undefined;
use bodies::replace_bodies;

/// Makes clang take literals without a suffix for floats, as on devices without fp64.
const FLOAT_LITERALS: &str = "-cl-single-precision-constant";

/// How often a source is compiled again without the bodies of functions that have errors.
const ROUNDS: usize = 4;

/// Compiles a program that needs fp64 once more, with literals as floats, and adds to its images the
/// forms of those kernels that then do without fp64.
///
/// Programs without doubles, and those whose kernels all take doubles as arguments, are not compiled
/// again. Kernels with functions that do not compile with such literals have no form. `pow(x, 2.0)` of a double `x` is ambiguous then.
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
    config.extra_args.extend([FLOAT_LITERALS, "-ferror-limit=0"].map(Into::into));
    // Copies of sources lie elsewhere than what they include.
    for folder in sources.iter().filter_map(|source| source.path.parent()) {
        let folder = if folder.as_os_str().is_empty() { ".".as_ref() } else { folder };
        config.extra_args.extend(["-iquote".into(), folder.into()]);
    }
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
    let (units, translated) = compile(compiler, sources)?;
    let unit = translation_unit(compiler.config, sources, &units, translated);
    let forms = forms_without_fp64(images, &[unit], options)
        .map_err(|error| Error::new(ErrorKind::PostLink, "without fp64").with_source(error))?;
    let made: Vec<DeviceImage> = forms.iter().map(|(_, form)| form.clone()).collect();
    undefined::refuse(compiler, sources, &made)?;
    Ok(forms)
}

/// Compiles the sources, with other bodies for the functions that do not compile.
fn compile(compiler: &Compiler<'_>, sources: &[Source]) -> Result<(Vec<Unit>, Translated)> {
    let mut sources = sources.to_vec();
    let mut rounds = 0;
    loop {
        // The first compilation told cargo all that it needs to know.
        let mut told = Vec::new();
        let error = match translate::program(compiler, &sources, &mut Cargo::new(&mut told)) {
            Err(error) if error.kind() == ErrorKind::Compile && rounds < ROUNDS => error,
            other => return other,
        };
        rounds += 1;
        if !replace_functions(compiler, &mut sources, &error.to_string())? {
            return Err(error);
        }
    }
}

/// Replaces sources by copies with other bodies for the functions in which the compiler found errors;
/// false where an error is somewhere else.
fn replace_functions(compiler: &Compiler<'_>, sources: &mut [Source], words: &str) -> Result<bool> {
    let mut errors = words.lines().filter(|line| line.contains(": error: ")).count();
    for (index, source) in sources.iter_mut().enumerate() {
        let place = format!("{}:", source.path.display());
        let of_source = |line: &str| {
            let (at, _) = line.strip_prefix(&place)?.split_once(": error: ")?;
            at.split(':').next()?.parse().ok()
        };
        let lines: Vec<usize> = words.lines().filter_map(of_source).collect();
        if lines.is_empty() {
            continue;
        }
        errors -= lines.len().min(errors);
        let text = String::from_utf8_lossy(&files::read(&source.path)?).into_owned();
        let Some(text) = replace_bodies(&text, &BTreeSet::from_iter(lines)) else { return Ok(false) };
        let extension = source.path.extension().unwrap_or_default().to_string_lossy();
        let path = compiler.work.join(format!("{index}.source.{extension}"));
        files::write(&path, text.as_bytes())?;
        source.path = path;
    }
    Ok(errors == 0)
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
