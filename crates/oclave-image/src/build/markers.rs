//! Markers of `oclave.h`: what an author says of variables, read from annotations.
//!
//! An annotation arrives as `OpDecorate %x UserSemantic "oclave:kind,item,item…"`. It is one string
//! per entity, for the translator keeps the first annotation only. Annotations without the
//! `oclave:` are other people's and are left alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::link::virtual_functions::demangle::readable;
use crate::virtual_functions::{MAX_VIRTUAL_CALL_DEPTH, set_names};
use crate::{DEFAULT_SET, HostAccess, ImageError, InitMode, Result};
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::{Decoration, Module, Op};

const PREFIX: &str = "oclave:";

/// The markers of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markers {
    /// Variable → its properties.
    pub(crate) device_globals: BTreeMap<u32, DeviceGlobalMarker>,
    /// Dummy variable → the specialization constant that it stands for.
    pub(crate) spec_constants: BTreeMap<u32, SpecConstantMarker>,
    /// The variable of each source to which its objects of the class template `device_global` point
    /// → the source.
    pub(crate) units: BTreeMap<u32, String>,
    /// Virtual function → the sets that it belongs to.
    pub(crate) indirectly_callable: BTreeMap<u32, BTreeSet<String>>,
    /// Kernel → the sets that it calls.
    pub(crate) calls_indirectly: BTreeMap<u32, CallsMarker>,
}

/// `CALLS_INDIRECTLY(…)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallsMarker {
    pub(crate) sets: BTreeSet<String>,
    /// Those of the sets that another program may provide.
    pub(crate) external: BTreeSet<String>,
    /// How deep virtual calls may nest in a cycle.
    pub(crate) depth: Option<u32>,
}

/// `DEVICE_GLOBAL(…)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeviceGlobalMarker {
    /// Name of the source as the compiler had it; empty where the build did not say.
    pub(crate) unit: String,
    pub(crate) device_image_scope: bool,
    pub(crate) host_access: Option<HostAccess>,
    pub(crate) init_mode: Option<InitMode>,
    pub(crate) implement_in_csr: Option<bool>,
    /// It is an object of the class template `device_global`: the value is its first member.
    pub(crate) in_class: bool,
}

/// `SPEC_CONSTANT(…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecConstantMarker {
    pub(crate) name: String,
    /// The type as the source spells it.
    pub(crate) ty: String,
    pub(crate) id: u32,
}

impl Markers {
    /// Reads the markers of a module.
    ///
    /// # Errors
    /// [`ImageError::Diagnostic`] for unknown or contradictory items, with the name of the
    /// variable.
    pub(crate) fn new(module: &Module) -> Result<Self> {
        let mut names = None;
        let mut markers = Self::default();
        for instruction in module.global_instructions() {
            let (true, Some(target)) = (is_user_semantic(instruction.operands()), instruction.operand(0))
            else {
                continue;
            };
            if !instruction.is(Op::Decorate) {
                continue;
            }
            let text = instruction.string(2).unwrap_or_default();
            let Some(marker) = text.strip_prefix(PREFIX) else { continue };
            let names = names.get_or_insert_with(|| names_of(module));
            let name = names.get(&target).map_or("?", String::as_str);
            markers.add(target, name, marker)?;
        }
        Ok(markers)
    }

    fn add(&mut self, target: u32, name: &str, marker: &str) -> Result<()> {
        let (kind, items) = marker.split_once(',').unwrap_or((marker, ""));
        let twice = match kind {
            "device_global" => self.device_globals.insert(target, device_global(name, items)?).is_some(),
            // Read from the syntax tree, before there is a module; newer translators append the
            // annotation's number.
            _ if kind.starts_with("shared") => false,
            "unit" => self.units.insert(target, items.to_owned()).is_some(),
            "indirectly_callable" => {
                let sets = callable_sets(items);
                check_names(&readable(name), &sets)?;
                self.indirectly_callable.insert(target, sets).is_some()
            }
            "calls_indirectly" => {
                let marker = calls(name, items)?;
                check_names(name, &marker.sets)?;
                self.calls_indirectly.insert(target, marker).is_some()
            }
            "spec_constant" => self.spec_constants.insert(target, spec_constant(name, items)?).is_some(),
            _ => {
                return Err(diagnostic(
                    name,
                    format!("the marker \"{kind}\" is not known; use a newer oclave-build"),
                ));
            }
        };
        if twice {
            return Err(diagnostic(
                name,
                "it is marked twice; put all that there is to say into one marker".to_owned(),
            ));
        }
        Ok(())
    }
}

/// The names of a module; kernels have those of their entry points, which newer translators give no
/// other name.
fn names_of(module: &Module) -> BTreeMap<u32, String> {
    let entries = module.instructions().filter_map(|i| kernel_entry(&i));
    let mut names: BTreeMap<u32, String> = entries.map(|entry| (entry.function, entry.name)).collect();
    names.extend(module.names());
    names
}

/// Whether the operands of an `OpDecorate` are those of an annotation.
pub(crate) fn is_user_semantic(operands: &[u32]) -> bool {
    operands.get(1) == Some(&(Decoration::UserSemantic as u32))
}

fn device_global(name: &str, items: &str) -> Result<DeviceGlobalMarker> {
    let mut marker = DeviceGlobalMarker::default();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for item in items.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let property = match item {
            "device_image_scope" => {
                marker.device_image_scope = true;
                item
            }
            "host_access_read" | "host_access_write" | "host_access_read_write" | "host_access_none" => {
                marker.host_access = Some(match item {
                    "host_access_read" => HostAccess::Read,
                    "host_access_write" => HostAccess::Write,
                    "host_access_none" => HostAccess::None,
                    _ => HostAccess::ReadWrite,
                });
                "host_access"
            }
            "init_mode_reprogram" | "init_mode_reset" => {
                let reset = item == "init_mode_reset";
                marker.init_mode = Some(if reset { InitMode::Reset } else { InitMode::Reprogram });
                "init_mode"
            }
            "implement_in_csr_on" | "implement_in_csr_off" => {
                marker.implement_in_csr = Some(item == "implement_in_csr_on");
                "implement_in_csr"
            }
            _ => match item.split_once('=') {
                Some(("unit", unit)) => {
                    marker.unit = unit.to_owned();
                    "unit"
                }
                _ => {
                    let what = format!(
                        "the device-global property \"{item}\" is not known; it takes device_image_scope, \
                         host_access_{{read,write,read_write,none}}, init_mode_{{reprogram,reset}} and \
                         implement_in_csr_{{on,off}}"
                    );
                    return Err(diagnostic(name, what));
                }
            },
        };
        if let Some((_, other)) = seen.iter().find(|(seen, _)| *seen == property) {
            let what = if *other == item {
                format!("the property {item} stands twice")
            } else {
                format!("the properties {other} and {item} contradict each other")
            };
            return Err(diagnostic(name, what));
        }
        seen.push((property, item));
    }
    Ok(marker)
}

fn callable_sets(items: &str) -> BTreeSet<String> {
    let sets: BTreeSet<String> = set_names(items).map(str::to_owned).collect();
    if sets.is_empty() { BTreeSet::from([DEFAULT_SET.to_owned()]) } else { sets }
}

fn check_names(function: &str, sets: &BTreeSet<String>) -> Result<()> {
    // llvm-spirv adds up the characters of a string as signed numbers.
    match sets.iter().find(|set| !set.is_ascii()) {
        Some(_) => Err(ImageError::Diagnostic(format!(
            "`{function}`: the name of a set of virtual functions has characters outside of ASCII"
        ))),
        None => Ok(()),
    }
}

fn calls(kernel: &str, items: &str) -> Result<CallsMarker> {
    let mut marker = CallsMarker::default();
    for item in set_names(items) {
        if let Some(depth) = item.strip_prefix("depth").and_then(|rest| rest.trim_start().strip_prefix('=')) {
            let depth = depth.trim();
            marker.depth = depth.parse().ok().filter(|depth| (1..=MAX_VIRTUAL_CALL_DEPTH).contains(depth));
            if marker.depth.is_none() {
                return Err(ImageError::Diagnostic(format!(
                    "kernel `{kernel}`: the depth of virtual calls \"{depth}\" is no plain number from 1 to {MAX_VIRTUAL_CALL_DEPTH}"
                )));
            }
            continue;
        }
        let name = match item.strip_prefix("extern ") {
            Some(external) => {
                marker.external.insert(external.trim().to_owned());
                external.trim()
            }
            None => item,
        };
        marker.sets.insert(name.to_owned());
    }
    if marker.sets.is_empty() {
        marker.sets.insert(DEFAULT_SET.to_owned());
    }
    Ok(marker)
}

fn spec_constant(variable: &str, items: &str) -> Result<SpecConstantMarker> {
    let (mut name, mut ty, mut id) = (None, None, None);
    for item in items.split(',').map(str::trim) {
        match item.split_once('=') {
            Some(("name", value)) => name = Some(value.to_owned()),
            Some(("type", value)) => ty = Some(value.to_owned()),
            Some(("id", value)) => id = Some(value.to_owned()),
            _ => {
                return Err(diagnostic(
                    variable,
                    format!("the specialization constant's item \"{item}\" is not known"),
                ));
            }
        }
    }
    let (Some(name), Some(ty), Some(id)) = (name, ty, id) else {
        return Err(diagnostic(variable, "the specialization constant lacks a name, type or id".to_owned()));
    };
    let Ok(number) = id.parse() else {
        let what = format!(
            "the id \"{id}\" of specialization constant {name} is no plain number from 0; macros do not count"
        );
        return Err(ImageError::Diagnostic(what));
    };
    Ok(SpecConstantMarker { name, ty, id: number })
}

fn diagnostic(name: &str, what: String) -> ImageError {
    ImageError::Diagnostic(format!("variable `{name}`: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read() {
        let marker = device_global("v", "unit=a,host_access_read, device_image_scope").unwrap();
        let expected = DeviceGlobalMarker {
            unit: "a".into(),
            device_image_scope: true,
            host_access: Some(HostAccess::Read),
            ..DeviceGlobalMarker::default()
        };
        assert_eq!(marker, expected);
        assert_eq!(device_global("v", "unit=,").unwrap(), DeviceGlobalMarker::default());
        let marker = device_global("v", "init_mode_reset,implement_in_csr_off").unwrap();
        assert_eq!((marker.init_mode, marker.implement_in_csr), (Some(InitMode::Reset), Some(false)));
    }

    #[test]
    fn unknown_and_contradictory_properties_name_the_variable() {
        for (items, wanted) in [
            ("host_acess_read", "\"host_acess_read\" is not known"),
            ("host_access_read,host_access_write", "contradict each other"),
            ("init_mode_reset,init_mode_reprogram", "contradict each other"),
            ("device_image_scope,device_image_scope", "stands twice"),
        ] {
            let error = device_global("counter", items).unwrap_err().to_string();
            assert!(error.contains("`counter`") && error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn sets_are_read() {
        let sets = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(callable_sets(""), sets(&[DEFAULT_SET]));
        assert_eq!(callable_sets("a, list<int, 4>"), sets(&["a", "list<int, 4>"]));
        let marker = calls("k", "a, extern b,depth = 4").unwrap();
        assert_eq!((marker.sets, marker.external, marker.depth), (sets(&["a", "b"]), sets(&["b"]), Some(4)));
        assert_eq!(calls("k", "depth=2").unwrap().sets, sets(&[DEFAULT_SET]));
        for depth in ["0", "65", "-1", "many"] {
            let error = calls("k", &format!("depth={depth}")).unwrap_err().to_string();
            assert!(error.contains("`k`") && error.contains(depth), "{error}");
        }
    }

    #[test]
    fn specialization_constants_are_read() {
        let marker = spec_constant("v", "name=WIDTH,type=unsigned int,id=7").unwrap();
        assert_eq!(marker, SpecConstantMarker { name: "WIDTH".into(), ty: "unsigned int".into(), id: 7 });
        let error = spec_constant("v", "name=WIDTH,type=int,id=BASE + 1").unwrap_err().to_string();
        assert!(error.contains("BASE + 1"), "{error}");
        assert!(spec_constant("v", "name=WIDTH,type=int").is_err());
    }
}
