//! What a program has, image by image and source by source, brought together for the generator.

use std::collections::BTreeMap;

use oclave_image::{DeviceGlobalInfo, KernelSignature, Side, SpecConstantInfo};

use super::names::{self, Scope};
use super::{Program, Source};
use crate::ast::VariableDeclaration;
use crate::error::{Error, ErrorKind, Result};

/// The prefix of the variables that `SPEC_CONSTANT` of oclave.h declares.
const SPEC_CONSTANT_VARIABLE: &str = "oclave_spec_constant_";

/// The prefix of the library's own device globals, which programs do not see.
const OWN: &str = "__oclave_";

/// A static of the generated code.
#[derive(Debug)]
pub(crate) enum Item {
    Global(DeviceGlobalInfo),
    Constant(SpecConstantInfo),
}

impl Item {
    fn name(&self) -> &str {
        match self {
            Self::Global(global) => &global.id,
            Self::Constant(constant) => &constant.name,
        }
    }

    /// The variable in a source.
    pub(crate) fn declared<'a>(&self, source: &Source<'a>) -> Option<&'a VariableDeclaration> {
        source.declarations.variables.iter().find(|variable| match self {
            Self::Global(global) => variable.has_unique_id(&global.id, &source.unit),
            Self::Constant(constant) => {
                variable.name.strip_prefix(SPEC_CONSTANT_VARIABLE) == Some(constant.name.as_str())
            }
        })
    }

    /// The source that defines it: the others re-export.
    fn home(&self, sources: &[Source<'_>]) -> usize {
        let defines = |source| self.declared(source).is_some_and(|variable| !variable.is_extern);
        let declares = |source| self.declared(source).is_some();
        sources.iter().position(defines).or_else(|| sources.iter().position(declares)).unwrap_or(0)
    }
}

/// The names of one module.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) module: String,
    pub(crate) scope: Scope,
    /// Kernels with the names of their launchers, in the source's order.
    pub(crate) kernels: Vec<(&'a KernelSignature, String)>,
    /// Shared functions that are defined here, by index, with their names.
    pub(crate) shared: Vec<(usize, String)>,
    /// Statics that are defined here, with their names.
    pub(crate) statics: Vec<(usize, String)>,
}

/// Everything in a program's images.
#[derive(Debug)]
pub(crate) struct Contents<'a> {
    kernels: BTreeMap<&'a str, &'a KernelSignature>,
    /// Device globals, then specialization constants, sorted.
    pub(crate) items: Vec<Item>,
}

impl<'a> Contents<'a> {
    pub(crate) fn of(program: &Program<'a>) -> Result<Self> {
        let bad = |error| {
            Error::new(ErrorKind::PostLink, "post-link wrote bad properties; this is a bug in oclave")
                .with_source(error)
        };
        let mut kernels = BTreeMap::new();
        let (mut globals, mut constants) = (BTreeMap::new(), BTreeMap::new());
        for image in program.images {
            // The host's images have the same kernels; what devices need is what matters to
            // callers.
            if image.side().map_err(bad)? != Some(Side::Host) {
                kernels.extend(image.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel)));
            }
            for global in image.device_globals().map_err(bad)? {
                if global.id.starts_with(OWN) {
                    continue;
                }
                globals.insert(global.id.clone(), global);
            }
            for constant in image.spec_constants().map_err(bad)? {
                constants.insert(constant.name.clone(), constant);
            }
        }
        let globals = globals.into_values().map(Item::Global);
        let items = globals.chain(constants.into_values().map(Item::Constant)).collect();
        Ok(Self { kernels, items })
    }

    /// Chooses the names of all modules, so that each can refer to the others.
    pub(crate) fn plan(&self, sources: &[Source<'_>]) -> Vec<Plan<'a>> {
        let mut plans: Vec<Plan<'a>> = sources
            .iter()
            .enumerate()
            .map(|(index, source)| {
                let mut scope = Scope::with(&["IMAGES"]);
                // Kernels have the first choice, since callers write their names most.
                let kernels = self
                    .kernels_of(sources, index)
                    .into_iter()
                    .map(|kernel| (kernel, scope.take(names::sanitized(&kernel.name))))
                    .collect();
                let shared = super::shared::names(&source.declarations.shared)
                    .into_iter()
                    .map(|(index, name)| (index, scope.take(name)))
                    .collect();
                Plan { module: super::module_name(source.stem), scope, kernels, shared, statics: Vec::new() }
            })
            .collect();
        for (index, item) in self.in_source_order(sources) {
            let home = item.home(sources);
            let declared = sources.get(home).and_then(|source| item.declared(source));
            let source_name = match item {
                Item::Global(_) => declared.map_or(item.name(), |variable| &variable.name),
                Item::Constant(_) => item.name(),
            };
            if let Some(plan) = plans.get_mut(home) {
                let name = plan.scope.take(names::static_name(source_name));
                plan.statics.push((index, name));
            }
        }
        plans
    }

    /// The items as their sources declare them, so that of two equal names the first gets the plain
    /// one.
    fn in_source_order(&self, sources: &[Source<'_>]) -> Vec<(usize, &Item)> {
        let mut items: Vec<(usize, &Item)> = self.items.iter().enumerate().collect();
        items.sort_by_cached_key(|(_, item)| {
            let home = item.home(sources);
            let variables = sources.get(home).map(|source| &source.declarations.variables);
            let declared = sources.get(home).and_then(|source| item.declared(source));
            let position = variables.zip(declared).and_then(|(variables, declared)| {
                variables.iter().position(|variable| variable.symbol == declared.symbol)
            });
            (home, position.unwrap_or(usize::MAX))
        });
        items
    }

    /// The kernels of a source in its order; the first source also gets those that no source is
    /// known to declare.
    fn kernels_of(&self, sources: &[Source<'_>], index: usize) -> Vec<&'a KernelSignature> {
        let declares = |source: &Source<'_>, name: &str| {
            source.declarations.kernels.iter().any(|kernel| kernel.name == name)
        };
        let declared = sources.get(index).into_iter().flat_map(|source| &source.declarations.kernels);
        let mut kernels: Vec<&KernelSignature> =
            declared.filter_map(|kernel| self.kernels.get(kernel.name.as_str()).copied()).collect();
        if index == 0 {
            let unknown = |name: &str| !sources.iter().any(|source| declares(source, name));
            kernels.extend(self.kernels.values().copied().filter(|kernel| unknown(&kernel.name)));
        }
        kernels
    }
}
