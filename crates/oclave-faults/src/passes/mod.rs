//! Passes that change modules so that compilers of drivers do not get them wrong.
//!
//! A pass is a file in the folder of a driver. It has a function from a module and its analyses to the changed module, or to
//! `None` where nothing is to be changed. The lists below say for which fault a pass runs, and in which order. [`Passes`] runs them in three
//! phases, between which a module gets other changes that every device needs.
//!
//! | phase | the module then |
//! |---|---|
//! | [`insert_fences`](Passes::insert_fences) | is as it was linked |
//! | [`legalize_barriers`](Passes::legalize_barriers) | has the code that the library adds to kernels |
//! | [`finish`](Passes::finish) | has sorted blocks, and no generic pointers that the device lacks |

mod built_in_vector;
pub(crate) mod called_functions;
mod error;
pub(crate) mod inline_hints;
pub(crate) mod intel;
mod kept_values;
pub(crate) mod mesa;
mod opaque_values;
mod pieces;
pub(crate) mod pocl;
mod volatile_accesses;
pub(crate) mod wrong_functions;

use std::fmt;

use oclave_spirv::analysis::Analyses;
use oclave_spirv::transform::{block_layout, block_order};
use oclave_spirv::{Module, check};

pub use error::{Error, Result};
use intel::{
    chosen_pointers, divergent_phis, filled_arrays, generic_atomics, half_broadcasts, integer_bounds,
    inverted_bounds, local_phis, opaque_negations, scalar_loops, uniform_groups,
};
use mesa::{
    constant_addresses, deep_conditions, function_names, guarded_loads, integer_pointers, narrow_counters,
    packed_arguments, phi_pairs, pointer_counters, private_addresses, sub_group_sizes, unaligned,
    uniform_counters, vector_components,
};
use pocl::barriers;
pub use pocl::barriers::{LegalBarriers, kernels_with_tangled_barriers};
pub use pocl::wide_arguments::vector_argument_bytes;
use pocl::{
    endless_loops, fences, fixed_addresses, inverted_votes, masked_counters, private_arrays, vector_accesses,
    volatile_loads, wide_arguments, zero_lanes,
};

use crate::{Fault, FaultSet};

/// The properties of a device that passes depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The faults of its driver that are worked around.
    pub faults: FaultSet,
    /// Width of the device's addresses in bits (`CL_DEVICE_ADDRESS_BITS`).
    pub address_bits: u32,
    /// Bytes of the widest vector that built-in functions take by value, with Q59: see [`vector_argument_bytes`].
    pub vector_argument_bytes: u32,
    /// The number of passes that run, in their order; `None` for all.
    pub limit: Option<usize>,
}

/// The image of a module.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    /// Its name, for errors and the log.
    pub name: &'a str,
    /// Whether all work-groups of a launch have the same size.
    pub uniform_work_groups: bool,
}

/// The input of a pass.
struct Input<'a, 'm> {
    analyses: &'a Analyses<'m>,
    target: &'a Target,
    image: Image<'a>,
}

struct Pass {
    /// The pass runs for devices with this fault.
    fault: Fault,
    name: &'static str,
    /// Makes the changed module; `None` where there is nothing to change.
    run: fn(&Input<'_, '_>) -> Result<Option<Module>>,
}

const fn pass(fault: Fault, name: &'static str, run: fn(&Input<'_, '_>) -> Result<Option<Module>>) -> Pass {
    Pass { fault, name, run }
}

const LATE: &[Pass] = &[
    constant_addresses::PASS,
    packed_arguments::PASS,
    unaligned::PASS,
    integer_pointers::PASS,
    vector_components::PASS,
    inline_hints::AT_BARRIERS,
    inline_hints::AT_VARIABLES,
    wide_arguments::PASS,
    private_addresses::PASS,
    function_names::PASS,
    generic_atomics::PASS,
    uniform_groups::PASS,
    phi_pairs::PASS,
    deep_conditions::PASS,
    inverted_votes::PASS,
    sub_group_sizes::PASS,
    half_broadcasts::PASS,
    wrong_functions::FUNCTIONS,
    wrong_functions::ALIGNED_STORES,
    wrong_functions::LONG_MAD_SAT,
    integer_bounds::PASS,
    inverted_bounds::PASS,
    zero_lanes::PASS,
    masked_counters::PASS,
    scalar_loops::PASS,
    volatile_loads::PASS,
    private_arrays::PASS,
    opaque_negations::PASS,
    filled_arrays::PASS,
    local_phis::PASS,
    chosen_pointers::PASS,
    divergent_phis::PASS,
    fixed_addresses::PASS,
    called_functions::PASS,
    pointer_counters::PASS,
    narrow_counters::PASS,
    uniform_counters::PASS,
    guarded_loads::PASS,
];

/// The pass for Q13 and its relatives, which also names kernels that stay wrong.
const BARRIERS: &str = "barriers";

/// A change of a module by a pass, for those who watch.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The number of the pass among those that run for the device, from 1 on.
    pub number: usize,
    /// The fault that it is for.
    pub fault: Fault,
    /// The name of the pass: its file, and its function where a file has several.
    pub pass: &'static str,
    /// The module before.
    pub before: &'a Module,
    /// The module after.
    pub after: &'a Module,
}

/// Runs the passes for the faults of a device, and counts them.
pub struct Passes<'a> {
    target: Target,
    image: Image<'a>,
    number: usize,
    watch: &'a mut dyn FnMut(Change<'_>),
}

impl fmt::Debug for Passes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passes({} of {:?} ran for {})", self.number, self.target.faults, self.image.name)
    }
}

impl<'a> Passes<'a> {
    /// For a module of an image. `watch` is called for each pass that changes the module.
    pub fn new(target: Target, image: Image<'a>, watch: &'a mut dyn FnMut(Change<'_>)) -> Self {
        Self { target, image, number: 0, watch }
    }

    /// Keeps accesses apart that the device's compiler would join.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn insert_fences(&mut self, module: Module) -> Result<Module> {
        Ok(self.run_all(&[vector_accesses::PASS, fences::PASS], &module)?.unwrap_or(module))
    }

    /// Gives loops and barriers a form that the device's compiler follows.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn legalize_barriers(&mut self, module: Module) -> Result<LegalBarriers> {
        let module = self.run_all(&[endless_loops::PASS], &module)?.unwrap_or(module);
        let wanted = [Fault::Q13, Fault::Q14].into_iter().find(|fault| self.target.faults.has(*fault));
        let Some(fault) = wanted.filter(|fault| self.is_next(*fault, BARRIERS)) else {
            return Ok(LegalBarriers { module, refused_kernels: Vec::new() });
        };
        let legal = barriers::legalize_barriers(module.clone(), &self.target)?;
        if legal.module != module {
            self.tell(fault, BARRIERS, &module, &legal.module)?;
        }
        Ok(legal)
    }

    /// Runs all other passes. Gives `None` where none changes the module. After an error, the passes may run again for another module.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn finish(&mut self, module: &Module) -> Result<Option<Module>> {
        let before = self.number;
        self.run_all(LATE, module).inspect_err(|_| self.number = before)
    }

    /// Runs passes. Gives `None` where none changes the module.
    fn run_all(&mut self, passes: &[Pass], module: &Module) -> Result<Option<Module>> {
        let (mut passes, mut changed) = (passes.iter(), None);
        loop {
            // The analyses of a module serve all passes up to the next that changes it.
            let analyses = Analyses::new(changed.as_ref().unwrap_or(module));
            match passes.find_map(|pass| self.run(pass, &analyses).transpose()).transpose()? {
                Some(after) => changed = Some(after),
                None => return Ok(changed),
            }
        }
    }

    /// The module after a pass; `None` where it stays as it is.
    fn run(&mut self, pass: &Pass, analyses: &Analyses<'_>) -> Result<Option<Module>> {
        if !self.target.faults.has(pass.fault) || !self.is_next(pass.fault, pass.name) {
            return Ok(None);
        }
        let input = Input { analyses, target: &self.target, image: self.image };
        let Some(after) = (pass.run)(&input)? else { return Ok(None) };
        self.tell(pass.fault, pass.name, analyses.module(), &after)?;
        Ok(Some(after))
    }

    /// Counts a pass, and whether it is among those that run.
    fn is_next(&mut self, fault: Fault, name: &str) -> bool {
        self.number += 1;
        let runs = self.target.limit.is_none_or(|limit| self.number <= limit);
        if !runs {
            log::debug!("{}: pass {} ({fault}, {name}) does not run", self.image.name, self.number);
        }
        runs
    }

    /// Tells of a changed module. Debug builds check it, so that the pass at fault is known.
    fn tell(&mut self, fault: Fault, pass: &'static str, before: &Module, after: &Module) -> Result<()> {
        let Self { image: Image { name: image, .. }, number, .. } = self;
        log::debug!("{image}: pass {number} ({fault}, {pass}) changed the module");
        (self.watch)(Change { number: *number, fault, pass, before, after });
        if cfg!(debug_assertions)
            && check::check(before).is_ok()
            && let Err(error) = check_sorted(after)
        {
            log::error!("{image}: pass {number} ({fault}, {pass}) broke the module: {error}");
            return Err(error.into());
        }
        Ok(())
    }
}

/// Checks a module whose blocks and merge instructions may be in another order. That is mended after all passes.
fn check_sorted(module: &Module) -> oclave_spirv::Result<()> {
    let blocks = block_order::sort(module)?;
    let layout = block_layout::sort(blocks.as_ref().unwrap_or(module))?;
    check::check(layout.as_ref().or(blocks.as_ref()).unwrap_or(module))
}

/// The passes in the order in which they run, each with its fault.
pub fn all() -> impl Iterator<Item = (Fault, &'static str)> {
    let early =
        [&vector_accesses::PASS, &fences::PASS, &endless_loops::PASS].map(|pass| (pass.fault, pass.name));
    early.into_iter().chain([(Fault::Q13, BARRIERS)]).chain(LATE.iter().map(|pass| (pass.fault, pass.name)))
}

/// Whether the module needs pointers to concrete address spaces instead of generic ones on a device with these faults.
pub fn needs_concrete_pointers(module: &Module, faults: FaultSet) -> bool {
    faults.has(Fault::Q25) && generic_atomics::asks_for_spaces(module)
}
