//! What the extensions for global variables say of device globals, as decorations: new numbers in
//! images, old ones for devices that only know those.
//!
//! SPV_INTEL_global_variable_host_access and SPV_INTEL_global_variable_fpga_decorations took the
//! place of SPV_INTEL_global_variable_decorations, with other numbers for the same things. Devices
//! that take neither lose them with the other hints.

use crate::lowering::global_access::exported_variables;
use crate::typed_properties::{host_access_number, init_mode_number};
use crate::{DeviceGlobalInfo, Result};
use oclave_spirv::{Declarations, Definitions, Editor, Module, Op, Section, string_words};

/// A capability with its extension.
type Feature = (u32, &'static str);

const HOST_ACCESS: Feature = (6187, "SPV_INTEL_global_variable_host_access");
const FPGA: Feature = (6189, "SPV_INTEL_global_variable_fpga_decorations");
const OLD: Feature = (6146, "SPV_INTEL_global_variable_decorations");

/// `HostAccessINTEL access "name"`.
const HOST_ACCESS_INTEL: u32 = 6188;
/// `InitModeINTEL trigger`.
const INIT_MODE_INTEL: u32 = 6190;
/// `ImplementInRegisterMapINTEL value`.
const IMPLEMENT_IN_REGISTER_MAP_INTEL: u32 = 6191;

/// New decoration → the old one of the same operands.
const OLD_DECORATIONS: [(u32, u32); 3] =
    [(HOST_ACCESS_INTEL, 6147), (INIT_MODE_INTEL, 6148), (IMPLEMENT_IN_REGISTER_MAP_INTEL, 6149)];

/// Decorates the variables of `globals`, which the module exports under their unique ids.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn decorate(module: &Module, globals: &[&DeviceGlobalInfo]) -> Result<Module> {
    let exported = exported_variables(module);
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    let mut features = Vec::new();
    for global in globals {
        let Some(&variable) = exported.get(&global.id) else { continue };
        let mut operands = vec![variable, HOST_ACCESS_INTEL, host_access_number(global.host_access)];
        operands.extend(string_words(&global.id));
        edit.push_in(Section::Annotations, Op::Decorate, &operands);
        features.push(HOST_ACCESS);
        for (decoration, value) in [
            (INIT_MODE_INTEL, global.init_mode.map(init_mode_number)),
            (IMPLEMENT_IN_REGISTER_MAP_INTEL, global.implement_in_csr.map(u32::from)),
        ] {
            if let Some(value) = value {
                edit.push_in(Section::Annotations, Op::Decorate, &[variable, decoration, value]);
                features.push(FPGA);
            }
        }
    }
    features.sort_unstable();
    features.dedup();
    features.into_iter().for_each(|feature| add(&mut edit, feature));
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// Gives devices that take only the old extension its numbers; `None` where nothing changes.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn for_device(module: &Module, takes: impl Fn(u32) -> bool) -> Result<Option<Module>> {
    let replaced: Vec<Feature> = [HOST_ACCESS, FPGA].into_iter().filter(|(c, _)| !takes(*c)).collect();
    let is_capability = |i: &oclave_spirv::Instruction<'_>| {
        i.is(Op::Capability) && replaced.iter().any(|(capability, _)| i.operand(0) == Some(*capability))
    };
    if !takes(OLD.0) || !module.instructions().any(|i| is_capability(&i)) {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let is_extension = instruction.is(Op::Extension)
            && replaced.iter().any(|(_, extension)| instruction.string_is(0, extension));
        let old = instruction.operand(1).filter(|_| instruction.is(Op::Decorate)).and_then(|decoration| {
            let fpga = decoration != HOST_ACCESS_INTEL;
            let (_, old) = OLD_DECORATIONS.into_iter().find(|(new, _)| *new == decoration)?;
            replaced.contains(if fpga { &FPGA } else { &HOST_ACCESS }).then_some(old)
        });
        if let (Some(old), [target, _, rest @ ..]) = (old, instruction.operands()) {
            edit.replace(&instruction, Op::Decorate, &[&[*target, old], rest].concat());
        } else if is_extension || is_capability(&instruction) {
            edit.remove(&instruction);
        }
    }
    add(&mut edit, OLD);
    Ok(edit.finish()?)
}

fn add(new: &mut Declarations<'_>, (capability, extension): Feature) {
    new.push_in(Section::Capabilities, Op::Capability, &[capability]);
    new.extension(extension);
}
