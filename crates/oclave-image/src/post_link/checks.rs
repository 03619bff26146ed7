//! What the images of a program must agree on.

use std::collections::{BTreeMap, BTreeSet};

use super::{Program, WantedSet};
use crate::build::split::{PARTING, PARTING_WITHOUT_VARIABLES, Part};
use crate::link::virtual_functions::demangle::readable;
use crate::virtual_functions::Sets;
use crate::{
    DEFAULT_SET, DeviceGlobalInfo, DeviceImage, ImageError, PostLinkOptions, Result, TranslationUnit,
    VirtualFunctions, VirtualSlot, find_cycle,
};
use oclave_spirv::analysis::references::References;

/// The images to be, of kernels and of sets, and whether [`check_scopes`] passes. A variable that
/// kernels share keeps them together: with and without a depth, and with and without variables of
/// the program.
pub(super) fn parts_that_fit(
    program: &Program<'_>,
    unit: &TranslationUnit,
    options: &PostLinkOptions,
    references: &References<'_>,
    plain: &[(u32, &str)],
) -> (Vec<Part>, Result<()>) {
    let split_by = |depths, parting| {
        let parts = program.parts(unit, depths, parting, options.split);
        let fits = check_scopes(program, references, &parts, plain);
        (parts, fits)
    };
    let depths = program.virtual_functions.as_ref().map(|all| all.depths(options.virtual_call_depth));
    let (depths, none) = (depths.unwrap_or_default(), BTreeMap::new());
    let mut found = split_by(&depths, PARTING);
    let others = [(&none, PARTING), (&depths, PARTING_WITHOUT_VARIABLES), (&none, PARTING_WITHOUT_VARIABLES)];
    for (depths, parting) in others {
        if found.1.is_err() {
            found = split_by(depths, parting);
        }
    }
    found
}

/// Checks that what has one instance for each program is used by one image only.
fn check_scopes(
    program: &Program<'_>,
    references: &References<'_>,
    parts: &[Part],
    plain: &[(u32, &str)],
) -> Result<()> {
    if parts.len() < 2 {
        return Ok(());
    }
    for global in program.globals.iter().filter(|global| global.info.device_image_scope) {
        let users = users_of(parts, |part| program.uses(part, global));
        if users.len() > 1 {
            return Err(ImageError::Diagnostic(format!(
                "device_global variable {} with property \"device_image_scope\" is used in more than one device image: {}{}",
                global.name,
                users.join(", "),
                declared_in(&global.unit)
            )));
        }
    }
    if plain.is_empty() {
        return Ok(());
    }
    let reached: BTreeMap<&str, BTreeSet<u32>> = references
        .entry_points()
        .iter()
        .map(|entry| (entry.name.as_str(), references.reachable(entry.function)))
        .collect();
    let set = |part: &Part| program.virtual_functions.as_ref()?.sets.get(part.set.as_ref()?);
    for &(variable, name) in plain {
        let users = users_of(parts, |part| {
            let kernel_does =
                |kernel: &String| reached.get(kernel.as_str()).is_some_and(|ids| ids.contains(&variable));
            part.kernels.iter().any(kernel_does)
                || set(part).is_some_and(|set| set.reached.contains(&variable))
        });
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

/// Where the source of a unit is named in messages; the unit of oclave-build is
/// `package/program/stem`.
fn declared_in(unit: &str) -> String {
    match unit.rsplit('/').next() {
        Some(stem) if !stem.is_empty() => format!(" (declared in source `{stem}`)"),
        _ => String::new(),
    }
}

/// The names of the images that are made of what `uses` something.
fn users_of(parts: &[Part], uses: impl Fn(&Part) -> bool) -> Vec<&str> {
    parts.iter().filter(|part| uses(part)).map(|part| part.name.as_str()).collect()
}

/// Equal ids are one variable: checks that all images of the program agree on it.
pub(super) fn check_agreement(images: &[DeviceImage]) -> Result<()> {
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

/// Checks that all sets exist that kernels call, and that virtual calls form no cycle without a
/// depth.
pub(super) fn check_virtual_calls(images: &[DeviceImage], wanted: &[WantedSet]) -> Result<()> {
    let mut all: Vec<(&DeviceImage, VirtualFunctions)> = Vec::new();
    for image in images {
        all.push((image, image.virtual_functions()?));
    }
    let provided: BTreeSet<String> = all.iter().filter_map(|(_, told)| told.provides.clone()).collect();
    if let Some((kernel, set)) = wanted.iter().find(|(_, set)| !provided.contains(set)) {
        let set = if set == DEFAULT_SET { "the default set".to_owned() } else { format!("set `{set}`") };
        let known = if provided.is_empty() { "none".to_owned() } else { Sets(&provided).to_string() };
        return Err(ImageError::Diagnostic(format!(
            "kernel `{kernel}` calls virtual functions of {set}, but no function of the program is INDIRECTLY_CALLABLE in \
             it; sets of the program: {known}. (Clang leaves out the functions of \
             classes of which no object is made.) If another program provides it, write `extern` in front of its name"
        )));
    }
    let slots: Vec<VirtualSlot> = all.iter().flat_map(|(_, told)| told.slots.iter().cloned()).collect();
    for (image, kernels) in all.iter().filter(|(_, told)| told.provides.is_none() && told.depth.is_none()) {
        let is_called = |told: &&VirtualFunctions| {
            !told.dummy && told.provides.as_ref().is_some_and(|set| kernels.calls.contains(set))
        };
        let linked: Vec<&VirtualFunctions> = all.iter().map(|(_, told)| told).filter(is_called).collect();
        if let Some(cycle) = find_cycle(kernels, &linked, &slots) {
            let cycle: Vec<String> =
                cycle.iter().map(|function| format!("`{}`", readable(function))).collect();
            let names: Vec<&str> = image.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            return Err(ImageError::Diagnostic(format!(
                "virtual functions may call each other without end: {} (kernels {} of image \"{}\"). Devices have no \
                 recursion; say how deep such calls nest: CALLS_INDIRECTLY(sets…, depth=N)",
                cycle.join(", "),
                names.join(", "),
                image.name
            )));
        }
    }
    Ok(())
}
