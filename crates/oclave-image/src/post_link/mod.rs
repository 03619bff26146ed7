//! Post-link: modules as the translator wrote them become device images.

mod checks;
mod multiply_add;
mod without_fp64;

use std::collections::{BTreeMap, BTreeSet};

pub use without_fp64::forms_without_fp64;

use checks::{check_agreement, check_virtual_calls, parts_that_fit};

use crate::analysis::aspects::FunctionAspects;
use crate::analysis::declared_globals::{DeclaredGlobal, declared_globals};
use crate::build::class_globals;
use crate::build::device_globals;
use crate::build::if_device;
use crate::build::markers::Markers;
use crate::build::passthrough::remove_calls;
use crate::build::pointer_constants::plain_constants;
use crate::build::private_variables;
use crate::build::signatures::signatures_with;
use crate::build::spec_constants::{SpecNames, spec_constants, spec_names};
use crate::build::split::{PARTING_WITHOUT_VARIABLES, Part, split};
use crate::build::weak_exchanges;
use crate::link::linkage::{check_imports, plain_variables, remove_exports};
use crate::link::virtual_functions::images::{SetFacts, Virtual, is_plain};
use crate::link::virtual_functions::wrappers::Callable;
use crate::link::virtual_functions::{dummy, lower};
use crate::lowering::global_decorations;
use crate::{
    Aspects, DeviceImage, DeviceTarget, ImageError, KernelSignature, MAX_VIRTUAL_CALL_DEPTH, Requirements,
    Result, Side, TranslationUnit, legalize,
};
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::transform::dimensions;
use oclave_spirv::{Definitions, Module, TypeTable};

/// How kernels are distributed over images. In every mode kernels of different aspects end in
/// different images.
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
    /// How deep virtual calls may nest in a cycle where kernels do not say `depth=N`, 1 to
    /// [`MAX_VIRTUAL_CALL_DEPTH`]; `None`: such kernels are refused.
    pub virtual_call_depth: Option<u32>,
    /// Whether `mad` becomes a multiplication and an addition, each of which rounds. Otherwise the
    /// driver decides.
    pub round_products: bool,
    /// Whether the last work-groups of a launch may be smaller than the others. Otherwise drivers
    /// need no code for these.
    pub non_uniform_work_groups: bool,
}

/// Turns modules into device images.
///
/// It reads the markers of `oclave.h`, rewrites device globals, splits, and writes kernel
/// signatures and property sets. The images of one call are one program. They are sorted by unit
/// and name, and images of sets of virtual functions follow those of kernels. A unit that was
/// compiled once for both sides gives images for each ([`DeviceImage::side`]).
///
/// # Errors
/// [`Diagnostic`](crate::ImageError::Diagnostic) for what the kernels' author must change;
/// [`Spirv`](crate::ImageError::Spirv) for malformed modules;
/// [`Unsupported`](crate::ImageError::Unsupported) for sound ones that post-link cannot express.
pub fn post_link(units: &[TranslationUnit], options: &PostLinkOptions) -> Result<Vec<DeviceImage>> {
    if let Some(depth) =
        options.virtual_call_depth.filter(|depth| !(1..=MAX_VIRTUAL_CALL_DEPTH).contains(depth))
    {
        let what = format!("`virtual_call_depth` is 1 to {MAX_VIRTUAL_CALL_DEPTH}, not {depth}");
        return Err(ImageError::Diagnostic(what));
    }
    link_units(units, options, Kernels::All)
}

/// The kernels of a program that images are made of.
#[derive(Clone, Copy)]
enum Kernels<'k> {
    All,
    /// Those for which the function returns true, and nothing else of the program.
    Only(&'k dyn Fn(&KernelSignature) -> bool),
}

fn link_units(
    units: &[TranslationUnit],
    options: &PostLinkOptions,
    chosen: Kernels<'_>,
) -> Result<Vec<DeviceImage>> {
    let mut images = Vec::new();
    let mut wanted_sets = Vec::new();
    for unit in units {
        let sided = if_device::has_sides(&unit.module);
        let link = if sided { link_sides } else { link_unit };
        let (of_unit, wanted) = link(unit, options, chosen)?;
        images.extend(of_unit);
        wanted_sets.extend(wanted);
    }
    check_agreement(&images)?;
    check_virtual_calls(&images, &wanted_sets)?;
    images.iter().try_for_each(check_module)?;
    Ok(images)
}

/// A module that would be refused when it is loaded, whatever the device, is an error of the build.
fn check_module(image: &DeviceImage) -> Result<()> {
    let target = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
    match legalize(image, &target) {
        Err(ImageError::Spirv { word, what }) => {
            Err(ImageError::Spirv { word, what: format!("{what} (in image `{}`)", image.name) })
        }
        _ => Ok(()),
    }
}

/// A kernel, and a set that it calls and that the program must have.
type WantedSet = (String, String);

/// The images of a unit that was compiled once for both sides: those for devices, and those for the
/// host (`name.host`).
fn link_sides(
    unit: &TranslationUnit,
    options: &PostLinkOptions,
    chosen: Kernels<'_>,
) -> Result<(Vec<DeviceImage>, Vec<WantedSet>)> {
    let (mut images, mut wanted) = (Vec::new(), Vec::new());
    for side in [Side::Device, Side::Host] {
        let module = if_device::keep_side(&unit.module, side)?;
        let own = TranslationUnit { module, ..unit.clone() };
        let (linked, wanted_there) =
            link_unit(&own, options, chosen).map_err(|error| of_side(error, side))?;
        wanted.extend(wanted_there);
        for mut image in linked {
            if side == Side::Host {
                image.name.push_str(".host");
            }
            image.insert_side(side);
            images.push(image);
        }
    }
    // Stable, so that those of sets stay behind.
    images.sort_by(|a, b| (is_set(a), &a.name).cmp(&(is_set(b), &b.name)));
    Ok((images, wanted))
}

/// Says in which side's code something is wrong.
fn of_side(error: ImageError, side: Side) -> ImageError {
    let named = |what: String| match side {
        Side::Device => format!("for devices: {what}"),
        Side::Host => format!("for the host: {what}"),
    };
    match error {
        ImageError::Diagnostic(what) => ImageError::Diagnostic(named(what)),
        ImageError::Unsupported(what) => ImageError::Unsupported(named(what)),
        error => error,
    }
}

fn is_set(image: &DeviceImage) -> bool {
    image.kernels.is_empty()
}

fn link_unit(
    unit: &TranslationUnit,
    options: &PostLinkOptions,
    chosen: Kernels<'_>,
) -> Result<(Vec<DeviceImage>, Vec<WantedSet>)> {
    let plain = plain_constants(&unit.module)?;
    let module = plain.as_ref().unwrap_or(&unit.module);
    let without_calls = remove_calls(module)?;
    let module = without_calls.as_ref().unwrap_or(module);
    let completed = dimensions::complete(module)?;
    let module = completed.as_ref().unwrap_or(module);
    let strong = weak_exchanges::strengthen(module)?;
    let module = strong.as_ref().unwrap_or(module);
    let rounded = if options.round_products { multiply_add::expand(module)? } else { None };
    let module = rounded.as_ref().unwrap_or(module);
    class_globals::check_constructors(&Definitions::new(module))?;
    let mut markers = Markers::new(module)?;
    let lowered = lower(unit, module, &markers)?;
    let definitions = Definitions::new(lowered.as_ref().map_or(module, |lowered| &lowered.module));
    let types = TypeTable::new(&definitions);
    let references = References::new(&definitions);
    let facts = VariableFacts::new(&definitions);
    class_globals::find(&definitions, &types, &facts, &mut markers)?;
    check_imports(&definitions, &facts)?;
    let globals = declared_globals(&definitions, &types, &facts, &markers, &unit.name)?;
    let ids = globals.iter().map(|g| (g.variable, g.info.id.clone())).collect();
    // Signatures come from the module as the translator wrote it: dead-code elimination drops its
    // strings.
    let mut kernels = signatures_with(&references, &types, &ids)?;
    kernels.iter_mut().for_each(|kernel| kernel.uniform_work_groups |= !options.non_uniform_work_groups);
    let virtual_functions = lowered.as_ref().map(|lowered| {
        let variables = ids.keys().copied().collect();
        Virtual::new(lowered, &references, &FunctionAspects::new(&references, &types, &variables))
    });
    if let Some(all) = &virtual_functions {
        all.complete_kernels(&mut kernels, &references)?;
    }
    if let Kernels::Only(is_wanted) = chosen {
        kernels.retain(is_wanted);
        // Without its set images, no kernel with virtual calls can be linked.
        if kernels.is_empty() || virtual_functions.is_some() {
            return Ok((Vec::new(), Vec::new()));
        }
    }
    let wanted = virtual_functions.iter().flat_map(Virtual::wanted);
    let wanted = wanted.map(|(kernel, set)| (kernel.clone(), set.clone())).collect();
    let mut program = Program {
        spec_names: spec_names(&markers)?,
        rewritten: device_globals::rewrite(&references, &types, &facts, &globals)?,
        tables: BTreeMap::new(),
        globals,
        kernels,
        virtual_functions,
        depth: options.virtual_call_depth,
    };
    let variables = program.globals.iter().map(|global| global.variable).collect();
    let plain: Vec<_> = plain_variables(definitions.module(), &facts, &variables).collect();
    let (parts, fits) = parts_that_fit(&program, unit, options, &references, &plain);
    program.tables = tables(&program.globals, &program.kernels, &parts, program.virtual_functions.as_ref());
    if matches!(chosen, Kernels::All) {
        add_unused_globals(&program.globals, &parts, &mut program.tables);
    }
    let mut images = Vec::new();
    program.images(&program.rewritten, &parts, &mut images)?;
    fits?;
    Ok((images, wanted))
}

/// One image for each set of virtual functions, named `unit.set.NAME`.
fn set_parts(unit: &str, all: &Virtual<'_>) -> Vec<Part> {
    let part = |(set, facts): (&String, &SetFacts<'_>)| Part {
        name: format!("{unit}.set.{set}"),
        stem: unit.to_owned(),
        kernels: BTreeSet::new(),
        exports: facts.callables.iter().map(|callable| callable.export.clone()).collect(),
        set: Some(set.clone()),
    };
    all.sets.iter().map(part).collect()
}

/// A unit on its way to images.
struct Program<'l> {
    rewritten: Module,
    globals: Vec<DeclaredGlobal>,
    kernels: Vec<KernelSignature>,
    spec_names: SpecNames,
    /// Image → the unique ids of the device globals that it tells of.
    tables: BTreeMap<String, BTreeSet<String>>,
    virtual_functions: Option<Virtual<'l>>,
    /// How deep virtual calls may nest, where kernels do not say.
    depth: Option<u32>,
}

impl Program<'_> {
    /// The images to be, of kernels and of sets.
    fn parts(
        &self,
        unit: &TranslationUnit,
        depths: &BTreeMap<String, u32>,
        parting: Aspects,
        mode: SplitMode,
    ) -> Vec<Part> {
        let mut parts = split(&unit.name, &self.kernels, &unit.kernel_sources, depths, parting, mode);
        parts.extend(self.virtual_functions.iter().flat_map(|all| set_parts(&unit.name, all)));
        parts
    }

    /// Makes the images of `parts` from a module that holds at least them. Halving the module with
    /// the parts keeps the cost of many parts near that of the module's size.
    fn images(&self, module: &Module, parts: &[Part], images: &mut Vec<DeviceImage>) -> Result<()> {
        match parts {
            [] => {}
            [part] => {
                let module = self.extract(module, parts)?;
                let image = self.image(&module, part)?;
                let dummy = self.dummy(&image, part)?;
                images.push(image);
                images.extend(dummy);
            }
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
        Ok(dce::eliminate(module, |root| match root {
            Root::EntryPoint(name) => parts.iter().any(|part| part.kernels.contains(name)),
            Root::Export(name) => {
                parts.iter().any(|part| self.tells_of(part, name) || part.exports.contains(name))
            }
        })?)
    }

    fn image(&self, module: &Module, part: &Part) -> Result<DeviceImage> {
        let is_global = |name: &str| self.globals.iter().any(|g| g.info.id == name);
        let own = private_variables::localize(module)?;
        let module = own.as_ref().unwrap_or(module);
        let module = remove_exports(module, |name| is_global(name) || part.exports.contains(name))?;
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
        if let Some(all) = &self.virtual_functions {
            let told = match &part.set {
                Some(set) => all.of_set(set, false),
                None => all.of_kernels(part.kernels.iter(), self.depth),
            };
            image.set_virtual_functions(&told);
            if let Some(set) = &part.set {
                let facts = all.sets.get(set).ok_or_else(|| unknown_set(set))?;
                image.set_requirements(&Requirements { aspects: facts.aspects });
            }
        }
        image.spirv = module.into_words();
        Ok(image)
    }

    /// The dummy of a set's image, for devices that lack what the image needs.
    fn dummy(&self, image: &DeviceImage, part: &Part) -> Result<Option<DeviceImage>> {
        let (Some(all), Some(set)) = (&self.virtual_functions, &part.set) else { return Ok(None) };
        let facts = all.sets.get(set).ok_or_else(|| unknown_set(set))?;
        if !facts.aspects.intersects(PARTING_WITHOUT_VARIABLES) {
            return Ok(None);
        }
        let callables: Vec<&Callable> = facts.callables.iter().filter(|c| is_plain(c)).copied().collect();
        let module = dummy::empty(&Module::from_words(image.spirv.clone())?, &callables)?;
        let mut dummy = DeviceImage {
            name: format!("{}.dummy", image.name),
            spirv: module.into_words(),
            ..DeviceImage::default()
        };
        dummy.set_virtual_functions(&all.of_set(set, true));
        Ok(Some(dummy))
    }

    /// Whether what a part is made of uses a device global.
    fn uses(&self, part: &Part, global: &DeclaredGlobal) -> bool {
        let by_set = || {
            let all = self.virtual_functions.as_ref()?;
            Some(all.sets.get(part.set.as_ref()?)?.reached.contains(&global.variable))
        };
        let mut kernels = self.kernels.iter().filter(|kernel| part.kernels.contains(&kernel.name));
        kernels.any(|kernel| kernel.device_globals.contains(&global.info.id)) || by_set() == Some(true)
    }
}

fn unknown_set(set: &str) -> ImageError {
    ImageError::Link(format!("nothing is known of the set of virtual functions `{set}`"))
}

/// Which device globals each image lists: those that its kernels use, also through the initial
/// value of another.
fn tables(
    globals: &[DeclaredGlobal],
    kernels: &[KernelSignature],
    parts: &[Part],
    virtual_functions: Option<&Virtual<'_>>,
) -> BTreeMap<String, BTreeSet<String>> {
    let kernels: BTreeMap<&str, &KernelSignature> = kernels.iter().map(|k| (k.name.as_str(), k)).collect();
    let mut tables = BTreeMap::new();
    for part in parts {
        let of_kernels = part.kernels.iter().filter_map(|name| kernels.get(name.as_str()));
        let mut table: BTreeSet<String> =
            of_kernels.flat_map(|kernel| kernel.device_globals.iter().cloned()).collect();
        if let Some(set) = virtual_functions.zip(part.set.as_ref()).and_then(|(all, set)| all.sets.get(set)) {
            let of_set = globals.iter().filter(|global| set.reached.contains(&global.variable));
            table.extend(of_set.map(|global| global.info.id.clone()));
        }
        tables.insert(part.name.clone(), table);
    }
    tables
}

/// Adds the device globals that no kernel uses to the tables.
///
/// Each goes to an image of the source that declares it, or to the first image. The variables in
/// its initial value go with it. The host may access a shared one. For one with image scope it
/// learns that no kernel uses it.
fn add_unused_globals(
    globals: &[DeclaredGlobal],
    parts: &[Part],
    tables: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let by_id: BTreeMap<&str, &DeclaredGlobal> = globals.iter().map(|g| (g.info.id.as_str(), g)).collect();
    let used: BTreeSet<String> = tables.values().flatten().cloned().collect();
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
}
