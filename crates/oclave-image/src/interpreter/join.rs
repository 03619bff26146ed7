//! Kernels of several images in one, so that one interpreter module can hold them.

use std::collections::BTreeSet;

use crate::link::linkage::remove_exports;
use crate::link::linker::{LinkInput, link_modules};
use crate::{Aspects, DeviceImage, Requirements, Result};
use oclave_spirv::check;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::transform::specialize::specialize;
use oclave_spirv::transform::strip;
use oclave_spirv::{Decoration, Definitions, Editor, Module, Op, string_words};

/// Some kernels of an image.
#[derive(Debug, Clone, Copy)]
pub struct JoinPart<'a> {
    /// The image, with its virtual functions linked.
    pub image: &'a DeviceImage,
    /// The names of the kernels.
    pub kernels: &'a BTreeSet<String>,
    /// Values of specialization constants, by `SpecId`. Those of constants that the kernels do not use are ignored.
    pub specs: &'a [(u32, &'a [u8])],
}

/// What a kernel of a part is called in an image of [`join_images`].
pub fn joined_name(part: usize, kernel: &str) -> String {
    format!("p{part}_{kernel}")
}

/// Makes one image of kernels of several.
///
/// Kernels have the names of [`joined_name`]. Device globals of one id are one variable. Specialization constants become
/// constants: ids of different images may be the same, and mean something else.
///
/// # Errors
/// As [`link_modules`], and [`ImageError::Spirv`](crate::ImageError::Spirv) for modules that are not sound.
pub fn join_images(parts: &[JoinPart<'_>]) -> Result<DeviceImage> {
    let names: Vec<&str> = parts.iter().map(|part| part.image.name.as_str()).collect();
    let mut joined = DeviceImage { name: names.join(" and "), ..DeviceImage::default() };
    let mut aspects = Aspects::empty();
    let mut globals = BTreeSet::new();
    let mut modules = Vec::with_capacity(parts.len());
    for (number, part) in parts.iter().enumerate() {
        let own = part.image.device_globals()?;
        own.iter().for_each(|global| joined.insert_device_global(global));
        let own: BTreeSet<String> = own.into_iter().map(|global| global.id).collect();
        let wanted = part.image.kernels.iter().filter(|kernel| part.kernels.contains(&kernel.name));
        for kernel in wanted {
            aspects |= kernel.aspects;
            joined
                .kernels
                .push(crate::KernelSignature { name: joined_name(number, &kernel.name), ..kernel.clone() });
        }
        modules.push(module_of(number, part, &own)?);
        globals.extend(own);
    }
    joined.set_requirements(&Requirements { aspects });
    let inputs: Vec<LinkInput<'_>> =
        names.iter().zip(&modules).map(|(name, module)| LinkInput { name, module }).collect();
    joined.spirv = link_modules(&inputs, |name| globals.contains(name))?.into_words();
    Ok(joined)
}

/// The module with the kernels of a part, as they are called in the whole.
fn module_of(number: usize, part: &JoinPart<'_>, globals: &BTreeSet<String>) -> Result<Module> {
    // Hints stay here. Those that the device does not take are dropped from the whole.
    let module = strip::strip(&Module::from_words(part.image.spirv.clone())?, |_| true)?;
    check::check(&module)?;
    let module = remove_exports(&module, |name| globals.contains(name))?;
    let module = dce::eliminate(&module, |root| match root {
        Root::EntryPoint(name) => part.kernels.contains(name),
        Root::Export(name) => globals.contains(name),
    })?;
    let used: BTreeSet<u32> = module.spec_ids().collect();
    let specs: Vec<(u32, &[u8])> = part.specs.iter().filter(|(id, _)| used.contains(id)).copied().collect();
    let module = if specs.is_empty() { module } else { specialize(&module, &specs)? };
    let definitions = Definitions::new(&module);
    let mut edit = Editor::new(&definitions);
    for instruction in module.global_instructions() {
        let constant = match instruction.op() {
            Some(Op::SpecConstantTrue) => Op::ConstantTrue,
            Some(Op::SpecConstantFalse) => Op::ConstantFalse,
            Some(Op::SpecConstant) => Op::Constant,
            Some(Op::SpecConstantComposite) => Op::ConstantComposite,
            Some(Op::EntryPoint) => {
                if let (Some(name), Some(head), Some(interface)) =
                    (instruction.string(2), instruction.operands().get(..2), instruction.after_string(2))
                {
                    let name = string_words(&joined_name(number, &name));
                    edit.replace(&instruction, Op::EntryPoint, &[head, &name, interface].concat());
                }
                continue;
            }
            Some(Op::Decorate) if instruction.operand(1) == Some(Decoration::SpecId as u32) => {
                edit.remove(&instruction);
                continue;
            }
            _ => continue,
        };
        edit.replace(&instruction, constant, instruction.words.get(1..).unwrap_or_default());
    }
    let joined = edit.finish()?;
    Ok(joined.unwrap_or(module))
}
