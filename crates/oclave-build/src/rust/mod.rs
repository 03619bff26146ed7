//! Kernels in Rust: from sources to one SPIR-V module, by the user's rustc and `oclave-rust`.
//!
//! ```text
//! kernels/step.rs --rustc--> LLVM IR for the host --oclave-rust--> SPIR-V
//! ```
//! `oclave-kernel` is compiled here as well: its sources are part of this crate.

mod compiler;
mod declarations;
mod foreign;

use std::path::{Path, PathBuf};

use oclave_image::{
    DeviceImage, PANICS, PanicSite, PostLinkOptions, PropertyValue, SLICES, SliceKind, TranslationUnit,
    encode_panics, forms_without_fp64,
};
use oclave_rust::{Kernel, Parameter, ParameterKind, Text};
use oclave_spirv::Module;

use crate::cargo::Cargo;
use crate::compile::Unit;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::overlay;
use crate::source::Source;
pub(crate) use compiler::Rustc;

/// What the sources of a program became.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) module: Module,
    pub(crate) units: Vec<Unit>,
    kernels: Vec<Kernel>,
    panics: Vec<oclave_rust::PanicSite>,
    /// Functions that other languages call, and what tells them in the note of a panic.
    exported: Vec<(String, u64)>,
    reports_panics: bool,
}

/// Whether kernels check for overflow.
pub(crate) fn overflow_checks(config: &Config) -> bool {
    compiler::overflow_checks(config, Rustc::find(&config.environment).ok().as_ref())
}

/// Compiles all sources in Rust of a program. `others` is the module of the other sources, if there are
/// some.
pub(crate) fn compile(
    config: &Config,
    rustc: &Rustc,
    sources: &[Source],
    work: &Path,
    others: Option<&Module>,
    cargo: &mut Cargo<'_>,
) -> Result<Compiled> {
    let device = compiler::DeviceCrate::compile(config, rustc, work)?;
    let mut texts = Vec::new();
    let mut dependencies = Vec::new();
    // The source of each text.
    let mut owners = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let compiled = compiler::source(config, rustc, &device, source, work)?;
        // Cargo shows warnings line by line.
        cargo.warning(&compiled.warnings);
        compiled.dependencies.iter().for_each(|path| cargo.rerun_if_changed(path));
        compiled.variables.iter().for_each(|variable| cargo.rerun_if_env_changed(variable));
        dependencies.push((compiled.dependencies, compiled.warnings));
        owners.extend(compiled.texts.iter().map(|_| index));
        texts.extend(compiled.texts);
    }
    texts.push(("oclave_kernel".to_owned(), device.ir.clone()));
    let texts: Vec<Text<'_>> = texts.iter().map(|(name, ir)| Text { name, ir }).collect();
    let options = oclave_rust::Options {
        foreign: others.map(foreign::functions).unwrap_or_default(),
        are_panics_ignored: config.panics == crate::Panics::Ignore,
    };
    let oclave_rust::Compiled { module, kernels, panics, device_globals, spec_constants, exported } =
        oclave_rust::compile_with(&texts, &options)
            .map_err(|error| Error::new(ErrorKind::Translate, error.to_string()))?;
    let units = dependencies
        .into_iter()
        .enumerate()
        .map(|(index, (dependencies, warnings))| Unit {
            bitcode: PathBuf::new(),
            leftovers: Vec::new(),
            declarations: declarations::of(
                &|text| owners.get(text) == Some(&index),
                &kernels,
                &device_globals,
                &spec_constants,
            ),
            dependencies,
            warnings: vec![warnings],
        })
        .collect();
    let reports_panics = !options.are_panics_ignored;
    Ok(Compiled { module, units, kernels, panics, exported, reports_panics })
}

impl Compiled {
    /// Whether this module and that of the other sources need each other.
    pub(crate) fn is_linked_with(&self, others: &Module) -> bool {
        let (own, theirs) = (foreign::symbols(&self.module), foreign::symbols(others));
        let needs = |a: &foreign::Symbols, b: &foreign::Symbols| {
            a.imported.intersection(&b.exported).next().is_some()
        };
        needs(&own, &theirs) || needs(&theirs, &own)
    }

    /// Adds the forms for devices without doubles of kernels that have no doubles but those that they print.
    pub(crate) fn add_without_fp64(
        &self,
        unit: TranslationUnit,
        options: &PostLinkOptions,
        images: &mut [DeviceImage],
    ) -> Result<()> {
        let forms = forms_without_fp64(images, &[unit], options)
            .map_err(|error| Error::new(ErrorKind::PostLink, "without fp64").with_source(error))?;
        for (index, mut form) in forms {
            overlay::kernels(&mut form, &self.units);
            self.describe(&mut form);
            if let Some(image) = images.get_mut(index) {
                image.insert_without_fp64(&form);
            }
        }
        Ok(())
    }

    /// Tells the runtime what the parameters and the panics of an image's kernels mean.
    pub(crate) fn describe(&self, image: &mut DeviceImage) {
        for kernel in &self.kernels {
            if image.kernel(&kernel.name).is_some() {
                let kind = |of: &Parameter| slice_kind(of.kind).to_byte(of.pixels);
                let bytes = [kernel.dimensions].into_iter().chain(kernel.parameters.iter().map(kind));
                image.properties.insert(SLICES, &kernel.name, PropertyValue::Bytes(bytes.collect()));
            }
        }
        if self.panics.is_empty() || !self.reports_panics {
            return;
        }
        let place = |site: &oclave_rust::PanicSite| site.place.as_ref().map(ToString::to_string);
        let sites: Vec<PanicSite> = self
            .panics
            .iter()
            .map(|site| PanicSite { place: place(site).unwrap_or_default(), message: site.message.clone() })
            .collect();
        let names: Vec<String> = image.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        let mut insert = |name: &str, id: u64| {
            let value = PropertyValue::Bytes(encode_panics(id, &sites));
            image.properties.insert(PANICS, name, value);
        };
        for kernel in self.kernels.iter().filter(|kernel| names.contains(&kernel.name)) {
            insert(&kernel.name, kernel.panic_id());
        }
        // Which kernels of other languages reach them is not known here.
        self.exported.iter().for_each(|(name, id)| insert(name, *id));
    }
}

fn slice_kind(kind: ParameterKind) -> SliceKind {
    match kind {
        ParameterKind::Value | ParameterKind::Local => SliceKind::Other,
        ParameterKind::Image(..) => SliceKind::Image,
        ParameterKind::Sampler => SliceKind::Sampler,
        ParameterKind::Read => SliceKind::Read,
        ParameterKind::Write => SliceKind::Shared,
        ParameterKind::Out => SliceKind::Out,
        ParameterKind::Length => SliceKind::Length,
    }
}

/// Reads what rustc wrote.
fn read_text(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&files::read(path)?).into_owned())
}
