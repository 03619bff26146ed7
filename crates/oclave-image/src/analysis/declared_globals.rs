//! The device globals that a module declares: what their markers, linkage and initializers say.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::markers::{DeviceGlobalMarker, Markers};
use crate::{DeviceGlobalInfo, HostAccess, ImageError, InitialAddress, InitialValue, Result};
use oclave_spirv::analysis::initializer::{AddressOf, Constant, evaluate};
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::{Definitions, Op, StorageClass, Type, TypeTable};

/// A device global of a module.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredGlobal {
    /// Its `OpVariable`.
    pub(crate) variable: u32,
    /// Its name in the source, as the compiler wrote it.
    pub(crate) name: String,
    /// The source that declares it.
    pub(crate) unit: String,
    /// The variable holds the value as the first member of an object of the class template
    /// `device_global`.
    pub(crate) in_class: bool,
    /// Type of the value.
    pub(crate) ty: u32,
    /// Initial value in the module.
    pub(crate) initializer: Option<u32>,
    pub(crate) info: DeviceGlobalInfo,
}

/// The device globals of a module, in its order.
///
/// # Errors
/// [`ImageError::Diagnostic`] with the name of a variable that cannot be a device global.
pub(crate) fn declared_globals(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    facts: &VariableFacts,
    markers: &Markers,
    unit: &str,
) -> Result<Vec<DeclaredGlobal>> {
    let mut marked: Vec<_> = markers.device_globals.iter().collect();
    marked.sort_by_key(|(variable, _)| definitions.word_index(**variable));
    let mut taken = BTreeSet::new();
    let mut values = Vec::new();
    for (&variable, marker) in marked {
        let value = declared_global(definitions, types, facts, variable, marker)
            .map_err(|what| diagnostic(facts, variable, what))?;
        let unit = if marker.unit.is_empty() { unit } else { &marker.unit };
        values.push((variable, marker, unit, unique_id(facts, variable, unit, &mut taken), value));
    }
    let ids: BTreeMap<u32, (String, bool)> = values
        .iter()
        .map(|(variable, marker, _, id, _)| (*variable, (id.clone(), marker.device_image_scope)))
        .collect();
    let global = |(variable, marker, unit, id, value): (u32, &DeviceGlobalMarker, &str, String, Value)| {
        let initial = named(value.initial, &ids, facts).map_err(|what| diagnostic(facts, variable, what))?;
        Ok(DeclaredGlobal {
            variable,
            name: facts.name(variable).to_owned(),
            unit: unit.to_owned(),
            in_class: marker.in_class,
            ty: value.ty,
            initializer: value.initializer,
            info: DeviceGlobalInfo {
                id,
                size_bytes: value.size_bytes,
                device_image_scope: marker.device_image_scope,
                host_access: value.host_access,
                init_mode: marker.init_mode,
                implement_in_csr: marker.implement_in_csr,
                initial,
            },
        })
    };
    values.into_iter().map(global).collect()
}

fn diagnostic(facts: &VariableFacts, variable: u32, what: String) -> ImageError {
    ImageError::Diagnostic(format!("device global `{}`: {what}", facts.name(variable)))
}

/// What the addresses in initial values point to: other device globals that all programs of a
/// device share.
fn named(
    initial: Constant,
    ids: &BTreeMap<u32, (String, bool)>,
    facts: &VariableFacts,
) -> Result<InitialValue, String> {
    let address = |address: &AddressOf| {
        let target = facts.name(address.variable);
        let (id, image_scope) = ids.get(&address.variable).ok_or_else(|| {
            format!("it holds the address of `{target}`, which is no device global; mark that, too, DEVICE_GLOBAL()")
        })?;
        if *image_scope {
            return Err(format!(
                "it holds the address of `{target}`, of which each program has its own; take device_image_scope away \
                 there, or give it to both"
            ));
        }
        Ok(InitialAddress {
            offset_bytes: address.offset_bytes,
            target: id.clone(),
            addend_bytes: address.addend_bytes,
        })
    };
    let addresses = initial.addresses.iter().map(address).collect::<Result<_, _>>()?;
    Ok(InitialValue { bytes: initial.bytes, addresses })
}

/// What the declaration of a variable tells of its value.
struct Value {
    ty: u32,
    size_bytes: u32,
    host_access: HostAccess,
    initializer: Option<u32>,
    initial: Constant,
}

fn declared_global(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    facts: &VariableFacts,
    variable: u32,
    marker: &DeviceGlobalMarker,
) -> Result<Value, String> {
    let instruction = definitions.instruction(variable).filter(|i| i.is(Op::Variable));
    let instruction = instruction.ok_or("DEVICE_GLOBAL belongs before a variable at program scope")?;
    let pointer = instruction.result_type().and_then(|ty| types.ty(ty));
    let (Some(Type::Pointer { class, pointee }), Some(storage)) = (pointer, instruction.operand(0)) else {
        return Err("its type is no pointer type; the module is malformed".to_owned());
    };
    if storage != StorageClass::CrossWorkgroup as u32 || class != storage {
        return Err("it is not in global memory; declare it __global, not __constant or __local".to_owned());
    }
    if facts.is_import(variable) {
        return Err("it is declared, but no source of the program defines it".to_owned());
    }
    let mut initializer = instruction.operand(1);
    let mut ty = pointee;
    if marker.in_class {
        let Some(Type::Struct { members }) = types.ty(pointee) else {
            return Err("its type is not that of oclave/device_global.hpp; use its oclave-build".to_owned());
        };
        ty = members.first().copied().unwrap_or(pointee);
        let object = initializer.and_then(|id| definitions.instruction(id));
        initializer = object.filter(|i| i.is(Op::ConstantComposite)).and_then(|i| i.operand(0));
    }
    let size = types.size_bytes(ty).ok_or("its type has no known size")?;
    let size = u32::try_from(size).map_err(|_| format!("its {size} bytes are 4 GiB or more"))?;
    let access = match (facts.constant.contains(&variable), marker.host_access) {
        (true, Some(HostAccess::Write | HostAccess::ReadWrite)) => {
            return Err(
                "it is const, so the host cannot write it; drop const or use host_access_read".to_owned()
            );
        }
        (true, access) => access.unwrap_or(HostAccess::Read),
        (false, access) => access.unwrap_or_default(),
    };
    let initial = match initializer {
        // Image-scope variables keep their initializer in the module, whatever it is.
        Some(initializer) if !marker.device_image_scope => evaluate(definitions, types, initializer, ty)
            .map_err(|what| format!("its initial value cannot be moved to the image's table: {what}"))?,
        _ => Constant::default(),
    };
    Ok(Value { ty, size_bytes: size, host_access: access, initializer, initial })
}

/// The linkage name of an external variable; for a static one `source.name`, which no external name
/// can be.
fn unique_id(facts: &VariableFacts, variable: u32, unit: &str, taken: &mut BTreeSet<String>) -> String {
    if let Some((name, _)) = facts.linkage.get(&variable) {
        taken.insert(name.clone());
        return name.clone();
    }
    // llvm-link tells statics of one name apart by a number that depends on the order of its
    // inputs; the source's name does it as well. Within one source the order of the declarations
    // does.
    let name = facts.name(variable);
    let stem = match name.rsplit_once('.') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    };
    let first = format!("{unit}.{stem}");
    let others = (2_u32..).map(|n| format!("{first}.{n}"));
    let id = std::iter::once(first.clone()).chain(others).find(|id| !taken.contains(id)).unwrap_or(first);
    taken.insert(id.clone());
    id
}
