//! Post-link: modules as the translator wrote them become device images.

use std::collections::{BTreeMap, BTreeSet};

use crate::passes::class_globals;
use crate::passes::dce::{self, Root};
use crate::passes::declared_globals::{DeclaredGlobal, VariableFacts, declared_globals};
use crate::passes::device_globals;
use crate::passes::global_decorations;
use crate::passes::linkage::{check_imports, plain_variables, remove_exports};
use crate::passes::markers::Markers;
use crate::passes::passthrough::remove_calls;
use crate::passes::references::References;
use crate::passes::signatures::signatures_with;
use crate::passes::spec_constants::{SpecNames, spec_constants, spec_names};
use crate::passes::split::{Part, split};
use crate::spirv::{Definitions, Module, TypeTable};
use crate::{DeviceGlobalInfo, DeviceImage, ImageError, KernelSignature, Result};

/// One linked module and what is known about its sources.
#[derive(Debug, Clone)]
pub struct TranslationUnit {
    /// Stem of the source, or of the program when several sources are linked: the first part of its images' names.
    pub name: String,
    /// The translator's output, annotations included.
    pub module: Module,
    /// Kernel → stem of the source that defines it. Kernels that are not listed belong to the source `name`.
    pub kernel_sources: BTreeMap<String, String>,
}

impl TranslationUnit {
    /// A unit made from one source of stem `name`.
    pub fn new(name: impl Into<String>, module: Module) -> Self {
        Self { name: name.into(), module, kernel_sources: BTreeMap::new() }
    }
}

/// How kernels are distributed over images. In every mode kernels of different aspects end in different images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitMode {
    /// One image for each source, named as the source.
    #[default]
    PerSource,
    /// One image for each kernel, named `source.kernel`.
    PerKernel,
    /// One image for each unit, named as the unit.
    Off,
}

/// Choices of [`post_link`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PostLinkOptions {
    /// How kernels are distributed over images.
    pub split: SplitMode,
}

/// Turns modules into device images: reads the markers of `oclave.h`, rewrites device globals, splits, and writes kernel
/// signatures and property sets. The images of one call are one program; they are sorted by unit, then by name.
///
/// # Errors
/// [`ImageError::Diagnostic`] for what the kernels' author must change; [`ImageError::Spirv`] for malformed modules;
/// [`ImageError::Unsupported`] for sound ones that post-link cannot express.
pub fn post_link(units: &[TranslationUnit], options: &PostLinkOptions) -> Result<Vec<DeviceImage>> {
    let mut images = Vec::new();
    for unit in units {
        images.extend(link_unit(unit, options)?);
    }
    check_agreement(&images)?;
    Ok(images)
}

fn link_unit(unit: &TranslationUnit, options: &PostLinkOptions) -> Result<Vec<DeviceImage>> {
    let without_calls = remove_calls(&unit.module)?;
    let definitions = Definitions::new(without_calls.as_ref().unwrap_or(&unit.module));
    let types = TypeTable::new(&definitions);
    let references = References::new(&definitions);
    let facts = VariableFacts::new(&definitions);
    let mut markers = Markers::new(definitions.module())?;
    class_globals::find(&definitions, &types, &facts, &mut markers)?;
    check_imports(&definitions, &facts)?;
    let globals = declared_globals(&definitions, &types, &facts, &markers, &unit.name)?;
    let ids = globals.iter().map(|g| (g.variable, g.info.id.clone())).collect();
    // Signatures come from the module as the translator wrote it: dead-code elimination drops its strings.
    let kernels = signatures_with(&references, &types, &ids)?;
    let parts = split(&unit.name, &kernels, &unit.kernel_sources, options.split);
    let program = Program {
        spec_names: spec_names(&markers)?,
        rewritten: device_globals::rewrite(&references, &types, &facts, &globals)?,
        tables: tables(&globals, &kernels, &parts),
        globals,
        kernels,
    };
    let mut images = Vec::new();
    program.images(&program.rewritten, &parts, &mut images)?;
    let variables = program.globals.iter().map(|global| global.variable).collect();
    let plain = plain_variables(definitions.module(), &facts, &variables);
    check_scopes(&program, &references, &parts, plain)?;
    Ok(images)
}

/// A unit on its way to images.
struct Program {
    rewritten: Module,
    globals: Vec<DeclaredGlobal>,
    kernels: Vec<KernelSignature>,
    spec_names: SpecNames,
    /// Image → the unique ids of the device globals that it tells of.
    tables: BTreeMap<String, BTreeSet<String>>,
}

impl Program {
    /// Makes the images of `parts` from a module that holds at least them. Halving the module with the parts keeps the
    /// cost of many parts near that of the module's size.
    fn images(&self, module: &Module, parts: &[Part], images: &mut Vec<DeviceImage>) -> Result<()> {
        match parts {
            [] => {}
            [part] => images.push(self.image(&self.extract(module, parts)?, part)?),
            _ => {
                let module = self.extract(module, parts)?;
                let (first, second) = parts.split_at(parts.len() / 2);
                self.images(&module, first, images)?;
                self.images(&module, second, images)?;
            }
        }
        Ok(())
    }

    /// Whether the image of a part has a device global in its table.
    fn tells_of(&self, part: &Part, id: &str) -> bool {
        self.tables.get(&part.name).is_some_and(|table| table.contains(id))
    }

    /// What the images of `parts` need of a module.
    fn extract(&self, module: &Module, parts: &[Part]) -> Result<Module> {
        dce::eliminate(module, |root| match root {
            Root::EntryPoint(name) => parts.iter().any(|part| part.kernels.contains(name)),
            Root::Export(name) => parts.iter().any(|part| self.tells_of(part, name)),
        })
    }

    fn image(&self, module: &Module, part: &Part) -> Result<DeviceImage> {
        let is_global = |name: &str| self.globals.iter().any(|g| g.info.id == name);
        let module = remove_exports(module, is_global)?;
        let kernels: Vec<KernelSignature> =
            self.kernels.iter().filter(|k| part.kernels.contains(&k.name)).cloned().collect();
        let mut image = DeviceImage { name: part.name.clone(), kernels, ..DeviceImage::default() };
        let mut globals = Vec::new();
        for global in &self.globals {
            if self.tells_of(part, &global.info.id) {
                image.insert_device_global(&global.info);
                globals.push(&global.info);
            }
        }
        let module = global_decorations::decorate(&module, &globals)?;
        for constant in spec_constants(&module, &self.spec_names)? {
            image.insert_spec_constant(&constant);
        }
        image.insert_requirements();
        image.spirv = module.into_words();
        Ok(image)
    }
}

/// Which device globals the images tell of: those that their kernels use, also through the initial value of another. One
/// that no kernel uses goes to an image of the source that declares it, or to the first, with those that its initial value
/// points to: the host may access a shared one, and is told that no kernel uses the one with image scope.
fn tables(
    globals: &[DeclaredGlobal],
    kernels: &[KernelSignature],
    parts: &[Part],
) -> BTreeMap<String, BTreeSet<String>> {
    let by_id: BTreeMap<&str, &DeclaredGlobal> = globals.iter().map(|g| (g.info.id.as_str(), g)).collect();
    let kernels: BTreeMap<&str, &KernelSignature> = kernels.iter().map(|k| (k.name.as_str(), k)).collect();
    let mut used = BTreeSet::new();
    let mut tables = BTreeMap::new();
    for part in parts {
        let of_kernels = part.kernels.iter().filter_map(|name| kernels.get(name.as_str()));
        let table: BTreeSet<String> =
            of_kernels.flat_map(|kernel| kernel.device_globals.iter().cloned()).collect();
        used.extend(table.iter().cloned());
        tables.insert(part.name.clone(), table);
    }
    for global in globals.iter().filter(|global| !used.contains(&global.info.id)) {
        // oclave-build's unit names are `package/program/stem`.
        let stem = global.unit.rsplit('/').next();
        let home = parts.iter().find(|part| Some(part.stem.as_str()) == stem).or(parts.first());
        let Some(table) = home.and_then(|home| tables.get_mut(&home.name)) else { continue };
        let mut open = vec![global.info.id.as_str()];
        while let Some(id) = open.pop() {
            if let Some(global) = by_id.get(id)
                && table.insert(id.to_owned())
            {
                open.extend(global.info.initial.addresses.iter().map(|address| address.target.as_str()));
            }
        }
    }
    tables
}

/// Checks that what has one instance for each program is used by one image only.
fn check_scopes<'p>(
    program: &Program,
    references: &References<'_>,
    parts: &[Part],
    plain: impl Iterator<Item = (u32, &'p str)>,
) -> Result<()> {
    if parts.len() < 2 {
        return Ok(());
    }
    for global in program.globals.iter().filter(|global| global.info.device_image_scope) {
        let users = users_of(parts, |kernel| {
            let signature = program.kernels.iter().find(|k| k.name == kernel);
            signature.is_some_and(|k| k.device_globals.contains(&global.info.id))
        });
        if users.len() > 1 {
            return Err(ImageError::Diagnostic(format!(
                "device_global variable {} with property \"device_image_scope\" is used in more than one device image: {}{}",
                global.name,
                users.join(", "),
                declared_in(&global.unit)
            )));
        }
    }
    let plain: Vec<(u32, &str)> = plain.collect();
    if plain.is_empty() {
        return Ok(());
    }
    let reached: BTreeMap<&str, BTreeSet<u32>> = references
        .entry_points()
        .iter()
        .map(|entry| (entry.name.as_str(), references.reachable(entry.function)))
        .collect();
    for (variable, name) in plain {
        let users = users_of(parts, |kernel| reached.get(kernel).is_some_and(|ids| ids.contains(&variable)));
        if users.len() > 1 {
            return Err(ImageError::Diagnostic(format!(
                "variable `{name}` is used in more than one device image ({}), each of which would have its own; mark \
                 it DEVICE_GLOBAL(), or make it const if no kernel writes it",
                users.join(", ")
            )));
        }
    }
    Ok(())
}

/// Where the source of a unit is named in messages; the unit of oclave-build is `package/program/stem`.
fn declared_in(unit: &str) -> String {
    match unit.rsplit('/').next() {
        Some(stem) if !stem.is_empty() => format!(" (declared in source `{stem}`)"),
        _ => String::new(),
    }
}

/// The names of the images with a kernel that `uses` something.
fn users_of(parts: &[Part], uses: impl Fn(&str) -> bool) -> Vec<&str> {
    parts.iter().filter(|part| part.kernels.iter().any(|k| uses(k))).map(|part| part.name.as_str()).collect()
}

/// Equal ids are one variable: checks that all images of the program agree on it.
fn check_agreement(images: &[DeviceImage]) -> Result<()> {
    let mut known: BTreeMap<String, (DeviceGlobalInfo, &str)> = BTreeMap::new();
    for image in images {
        for global in image.device_globals()? {
            let (first, other) =
                known.entry(global.id.clone()).or_insert_with(|| (global.clone(), &image.name));
            let differs = |what: &str, there: &dyn std::fmt::Display, here: &dyn std::fmt::Display| {
                Err(ImageError::Diagnostic(format!(
                    "device global `{}` {what}: {there} in {other}, {here} in {}; equal names are one variable",
                    global.id, image.name
                )))
            };
            if first.size_bytes != global.size_bytes {
                return differs("has two sizes in bytes", &first.size_bytes, &global.size_bytes);
            }
            if first.device_image_scope != global.device_image_scope {
                let scope = |image_scope| if image_scope { "device_image_scope" } else { "none" };
                return differs(
                    "has two scopes",
                    &scope(first.device_image_scope),
                    &scope(global.device_image_scope),
                );
            }
            if first.initial != global.initial {
                return differs("has two initial values", &"one", &"another");
            }
        }
    }
    Ok(())
}
