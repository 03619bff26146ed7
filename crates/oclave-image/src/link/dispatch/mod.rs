//! Virtual calls: kernels and the sets that they call become one module, with dispatchers for
//! exactly these.

mod bodies;
mod faults;
mod generate;
mod inlining;
mod plan;

pub use bodies::BodyConflict;
pub use faults::{VIRTUAL_FAULT, VIRTUAL_FAULT_BYTES, fault_id};
pub use plan::{DEFAULT_DEPTH, DispatchPlan};

use std::collections::BTreeSet;

use crate::link::linkage::remove_exports;
use crate::link::linker::{LinkInput, link_modules};
use crate::link::virtual_functions::at_level;
use crate::{Aspects, DeviceImage, ImageError, OFFSET_DISPATCHER, Requirements, Result, VirtualFunctions};
use generate::Form;
use oclave_spirv::Module;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::{LinkageType, Op};

/// A kernels image and the set images that serve its virtual calls.
#[derive(Debug, Clone, Copy)]
pub struct VirtualProgram<'a> {
    /// The image with the kernels.
    pub kernels: &'a DeviceImage,
    /// Images of the sets that are called. Where several provide one function, the first does, and
    /// its body must be the same in all of them.
    pub sets: &'a [&'a DeviceImage],
    /// How many of the first sets come from the program of the kernels. What they provide may have
    /// another body elsewhere: each program calls its own.
    pub own_sets: usize,
    /// What all images say that there are: their slots and offsets count, linked or not.
    pub known: &'a [&'a VirtualFunctions],
    /// Whether a call that reaches no function is noted in [`VIRTUAL_FAULT`].
    pub report_faults: bool,
}

impl VirtualProgram<'_> {
    /// What each dispatcher leads to.
    ///
    /// # Errors
    /// [`ImageError::Link`] for two functions of one code; those of
    /// [`DeviceImage::virtual_functions`].
    pub fn plan(&self) -> Result<DispatchPlan> {
        DispatchPlan::new(&self.kernels.virtual_functions()?, &self.described()?, self.known)
    }

    /// A function that several of the sets provide with different bodies, and the program of the
    /// kernels does not: the sets do not link.
    ///
    /// # Errors
    /// Those of [`DeviceImage::virtual_functions`], and for images whose words are no module.
    pub fn conflict(&self) -> Result<Option<BodyConflict>> {
        let all = bodies::conflicts(self.sets, &self.described()?)?;
        Ok(all.into_iter().find(|conflict| conflict.images.iter().all(|&image| image >= self.own_sets)))
    }

    fn described(&self) -> Result<Vec<(&str, VirtualFunctions)>> {
        self.sets.iter().map(|set| Ok((set.name.as_str(), set.virtual_functions()?))).collect()
    }

    /// The linked image without its module: kernels, device globals, specialization constants,
    /// requirements.
    ///
    /// # Errors
    /// [`ImageError::Property`](crate::ImageError::Property) where an image has a property of the
    /// wrong shape.
    pub fn describe(&self) -> Result<DeviceImage> {
        let mut image = DeviceImage { spirv: Vec::new(), ..self.kernels.clone() };
        image.set_virtual_functions(&VirtualFunctions::default());
        let mut aspects = image.requirements()?.aspects;
        let mut reached = BTreeSet::new();
        for set in self.sets {
            aspects |= set.requirements()?.aspects;
            let present = image.device_globals()?;
            for global in set.device_globals()? {
                reached.insert(global.id.clone());
                if !present.iter().any(|there| there.id == global.id) {
                    image.insert_device_global(&global);
                }
            }
            for constant in set.spec_constants()? {
                image.insert_spec_constant(&constant);
            }
        }
        if self.report_faults {
            image.insert_device_global(&faults::global());
            reached.insert(VIRTUAL_FAULT.to_owned());
        }
        image.set_requirements(&Requirements { aspects });
        let of_sets = aspects - (Aspects::GENERIC_POINTER | Aspects::PROGRAM_SCOPE_VARIABLES);
        for kernel in &mut image.kernels {
            kernel.device_globals.extend(reached.iter().cloned());
            kernel.device_globals.sort();
            kernel.device_globals.dedup();
            kernel.aspects |= of_sets;
        }
        Ok(image)
    }

    /// One image with everything: nothing is left to link.
    ///
    /// # Errors
    /// As [`VirtualProgram::plan`], [`VirtualProgram::describe`] and [`link_modules`], and
    /// [`ImageError::Link`] for a [`VirtualProgram::conflict`].
    pub fn link(&self) -> Result<DeviceImage> {
        if let Some(BodyConflict { function, images }) = self.conflict()? {
            let [first, other] = images.map(|at| self.sets.get(at).map_or("", |set| &*set.name));
            return Err(ImageError::Link(format!(
                "virtual function `{function}` has one body in image `{first}` and another in image `{other}`"
            )));
        }
        let mut image = self.describe()?;
        let plan = self.plan()?;
        let kernels = Module::from_words(self.kernels.spirv.clone())?;
        let mut waits = waits_for_others(&kernels);
        let mut parts = vec![(self.kernels.name.clone(), kernels)];
        for set in self.sets {
            let module = Module::from_words(set.spirv.clone())?;
            waits |= waits_for_others(&module);
            match plan.levels() {
                None => parts.push((set.name.clone(), module)),
                Some(levels) => {
                    for level in 0..levels {
                        parts.push((format!("{} (level {level})", set.name), at_level(&module, level)?));
                    }
                }
            }
        }
        let form = if waits { Form::Codes } else { Form::Numbers };
        parts.push(("dispatchers".to_owned(), plan.generate(self.report_faults, form)?));
        let inputs: Vec<LinkInput<'_>> =
            parts.iter().map(|(name, module)| LinkInput { name, module }).collect();
        let globals: BTreeSet<String> = image.device_globals()?.into_iter().map(|global| global.id).collect();
        let linked = link_modules(&inputs, |name| globals.contains(name))?;
        let linked =
            remove_exports(&linked, |name| globals.contains(name) || name == faults::FAULT_FUNCTION)?;
        let mut linked = dce::eliminate(&linked, |root| match root {
            Root::EntryPoint(_) => true,
            Root::Export(name) => {
                globals.contains(name) || self.report_faults && name == faults::FAULT_FUNCTION
            }
        })?;
        if plan.levels().is_some() {
            linked = inlining::limit(&linked)?.unwrap_or(linked);
        }
        if self.report_faults {
            linked = faults::report(&linked, &self.kernels.name)?;
        }
        image.spirv = linked.into_words();
        Ok(image)
    }
}

/// Whether functions of a module have barriers, or other things that all work-items of a group do
/// together.
fn waits_for_others(module: &Module) -> bool {
    let mut ops = module.instructions().filter_map(|instruction| instruction.op());
    ops.any(|op| {
        op == Op::ControlBarrier
            || op as u32 >= Op::GroupAsyncCopy as u32 && {
                let name = format!("{op:?}");
                name.starts_with("Group") || name.starts_with("Subgroup")
            }
    })
}

/// Whether an image cannot be built without linking: it imports dispatchers.
///
/// # Errors
/// [`ImageError::Property`](crate::ImageError::Property) for properties of the wrong shape.
pub fn needs_dispatchers(image: &DeviceImage) -> Result<bool> {
    let all = image.virtual_functions()?;
    if !all.dispatchers.is_empty() || all.is_empty() {
        return Ok(!all.dispatchers.is_empty());
    }
    let module = Module::from_words(image.spirv.clone())?;
    Ok(module.linkages().any(|(_, name, kind)| name == OFFSET_DISPATCHER && kind == LinkageType::Import))
}
