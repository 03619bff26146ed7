//! Kernel signatures from a module alone.
//!
//! Names come from `OpName`, which clang writes under `-cl-kernel-arg-info`; signs and qualifiers
//! from the `OpString`s that llvm-spirv writes under
//! `--preserve-ocl-kernel-arg-type-metadata-through-string`; all else from the types.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::aspects::FunctionAspects;
use crate::analysis::value_types::{Spelling, ValueTypes};
use crate::{Access, AddressSpace, ImageError, KernelSignature, Parameter, ParameterKind, Result, ValueType};
use oclave_spirv::analysis::references::{EntryPoint, References};
use oclave_spirv::{
    Decoration, Definitions, ExecutionMode, FunctionParameterAttribute, Instruction, Module, Op,
    SourceLanguage, StorageClass, Type, TypeTable,
};

/// The signatures of all kernels of a module, in the order of its entry points.
///
/// Parameters of types that the host cannot pass (pipes, queues, events) are [`ValueType::Opaque`]
/// of no size.
///
/// # Errors
/// [`ImageError::Spirv`] where an entry point's function or its type is missing.
pub fn signatures(module: &Module) -> Result<Vec<KernelSignature>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    signatures_with(&References::new(&definitions), &types, &BTreeMap::new())
}

/// As [`signatures`], with the unique ids of device globals by variable. They need no program-scope
/// variables: a hidden argument will do.
pub(crate) fn signatures_with(
    references: &References<'_>,
    types: &TypeTable<'_>,
    device_globals: &BTreeMap<u32, String>,
) -> Result<Vec<KernelSignature>> {
    let definitions = references.definitions();
    let aspects = FunctionAspects::new(references, types, &device_globals.keys().copied().collect());
    let facts = Facts::new(references.module());
    let values = ValueTypes::new(definitions, types);
    let kernels = references.entry_points().iter().map(|entry| {
        let reachable = references.reachable(entry.function);
        let used: BTreeSet<&String> = reachable.iter().filter_map(|id| device_globals.get(id)).collect();
        Ok(KernelSignature {
            name: entry.name.clone(),
            parameters: parameters(entry, definitions, types, &values, &facts)?,
            required_work_group_size: facts.work_group_size(entry.function, definitions),
            uniform_work_groups: facts.uniform_work_groups,
            required_sub_group_size: facts.sub_group_size(entry.function),
            aspects: aspects.of(&reachable),
            device_globals: used.into_iter().cloned().collect(),
        })
    });
    kernels.collect()
}

const OPENCL_C_2_0: u32 = 200_000;

/// Names, decorations, execution modes and strings, read in one walk.
#[derive(Debug, Default)]
struct Facts<'m> {
    names: BTreeMap<u32, String>,
    by_value: BTreeSet<u32>,
    not_written: BTreeSet<u32>,
    zero_extended: BTreeSet<u32>,
    modes: BTreeMap<u32, Vec<Instruction<'m>>>,
    /// OpenCL C before 2.0 has only such work-groups.
    uniform_work_groups: bool,
    /// `kernel_arg_type.…` and its like: kind and kernel → comma-separated list.
    strings: BTreeMap<String, String>,
}

impl<'m> Facts<'m> {
    fn new(module: &'m Module) -> Self {
        let mut facts = Self { names: module.names().collect(), ..Self::default() };
        for instruction in module.global_instructions() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::Decorate), &[id, decoration, attribute, ..])
                    if decoration == Decoration::FuncParamAttr as u32 =>
                {
                    let set = match FunctionParameterAttribute::from_u32(attribute) {
                        Some(FunctionParameterAttribute::ByVal) => &mut facts.by_value,
                        Some(FunctionParameterAttribute::NoWrite) => &mut facts.not_written,
                        Some(FunctionParameterAttribute::Zext) => &mut facts.zero_extended,
                        _ => continue,
                    };
                    set.insert(id);
                }
                (Some(Op::ExecutionMode | Op::ExecutionModeId), &[function, ..]) => {
                    facts.modes.entry(function).or_default().push(instruction);
                }
                (Some(Op::Source), &[language, version, ..]) => {
                    facts.uniform_work_groups =
                        language == SourceLanguage::OpenCL_C as u32 && version < OPENCL_C_2_0;
                }
                (Some(Op::String), _) => {
                    let text = instruction.string(0).unwrap_or_default();
                    if text.starts_with("kernel_arg_type")
                        && let Some((kind, rest)) = text.split_once('.')
                        && let Some((kernel, list)) = rest.split_once('.')
                    {
                        facts.strings.insert(format!("{kind}.{kernel}"), list.to_owned());
                    }
                }
                _ => {}
            }
        }
        facts
    }

    fn mode(&self, function: u32, mode: ExecutionMode) -> Option<&[u32]> {
        self.modes.get(&function)?.iter().find_map(|i| match *i.operands() {
            [_, number, ref rest @ ..] if number == mode as u32 => Some(rest),
            _ => None,
        })
    }

    fn work_group_size(&self, function: u32, definitions: &Definitions<'_>) -> Option<[u32; 3]> {
        if let Some(&[x, y, z, ..]) = self.mode(function, ExecutionMode::LocalSize) {
            return Some([x, y, z]);
        }
        let &[x, y, z, ..] = self.mode(function, ExecutionMode::LocalSizeId)? else { return None };
        let size = |id| definitions.int_constant(id).and_then(|size| u32::try_from(size).ok());
        Some([size(x)?, size(y)?, size(z)?])
    }

    fn sub_group_size(&self, function: u32) -> Option<u32> {
        self.mode(function, ExecutionMode::SubgroupSize)?.first().copied()
    }

    /// The comma-separated list of a kernel's string `kind`, if it has as many entries as the
    /// kernel parameters.
    fn list(&self, kind: &str, kernel: &str, count: usize) -> Option<Vec<&str>> {
        let list = self.strings.get(&format!("{kind}.{kernel}"))?;
        let entries = split_list(list);
        (entries.len() == count).then_some(entries)
    }
}

/// Splits at the commas that are not within brackets; the last one ends the list.
fn split_list(list: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_i32, 0);
    let mut entries = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth <= 0 => {
                entries.extend(list.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    entries
}

fn parameters(
    entry: &EntryPoint,
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    values: &ValueTypes<'_, '_>,
    facts: &Facts<'_>,
) -> Result<Vec<Parameter>> {
    let missing = |what: &str| ImageError::Spirv {
        word: definitions.word_index(entry.function).unwrap_or(0),
        what: format!("kernel {} has no {what}", entry.name),
    };
    let module = definitions.module();
    let start = definitions.word_index(entry.function).ok_or_else(|| missing("function"))?;
    let function =
        module.instruction_at(start).filter(|i| i.is(Op::Function)).ok_or_else(|| missing("function"))?;
    let ty = function.operand(1).and_then(|ty| types.ty(ty));
    let Some(Type::Function { parameters: declared, .. }) = ty else { return Err(missing("function type")) };
    let ids: Vec<u32> = module
        .instructions_from(start)
        .skip(1)
        .take_while(|i| i.is(Op::FunctionParameter) || i.is(Op::Line) || i.is(Op::NoLine))
        .filter(|i| i.is(Op::FunctionParameter))
        .filter_map(|i| i.result_id())
        .collect();
    if ids.len() != declared.len() {
        let what = format!("{} parameters where its type has {}", ids.len(), declared.len());
        return Err(ImageError::Spirv { word: start, what: format!("kernel {} has {what}", entry.name) });
    }
    let spellings = facts.list("kernel_arg_type", &entry.name, ids.len());
    let qualifiers = facts.list("kernel_arg_type_qual", &entry.name, ids.len());
    let parameters = ids.iter().zip(declared).enumerate().map(|(index, (&id, &ty))| {
        let about = About {
            spelling: spellings.as_ref().and_then(|list| list.get(index)).map(|text| Spelling::new(text)),
            is_const: qualifiers
                .as_ref()
                .and_then(|list| list.get(index))
                .map(|qualifiers| qualifiers.split(' ').any(|q| q == "const")),
            by_value: facts.by_value.contains(&id),
            not_written: facts.not_written.contains(&id),
            unsigned: facts.zero_extended.contains(&id),
        };
        let name = facts.names.get(&id).filter(|name| !name.is_empty()).cloned();
        Parameter {
            name: name.unwrap_or_else(|| format!("arg{index}")),
            kind: kind(ty, &about, types, values),
        }
    });
    Ok(parameters.collect())
}

/// What is known of one parameter besides its type.
struct About<'s> {
    spelling: Option<Spelling<'s>>,
    /// `None` where the module does not tell.
    is_const: Option<bool>,
    by_value: bool,
    not_written: bool,
    unsigned: bool,
}

fn kind(ty: u32, about: &About<'_>, types: &TypeTable<'_>, values: &ValueTypes<'_, '_>) -> ParameterKind {
    let value = |ty: u32| {
        let mut value = values.value_type(ty);
        match &about.spelling {
            Some(spelling) => spelling.apply(&mut value),
            None if about.unsigned => crate::analysis::value_types::make_unsigned(&mut value),
            None => {}
        }
        value
    };
    let pointee_type = |ty: u32| {
        let mut value = values.value_type(ty);
        if let Some(spelling) = &about.spelling {
            spelling.apply_to_pointee(&mut value);
        }
        value
    };
    match types.ty(ty) {
        Some(Type::Pointer { class, pointee }) => {
            if about.by_value || class == StorageClass::Function as u32 {
                ParameterKind::Value(value(pointee))
            } else if class == StorageClass::Workgroup as u32 {
                ParameterKind::Local { pointee: pointee_type(pointee) }
            } else {
                let constant = class == StorageClass::UniformConstant as u32;
                // The optimiser marks every pointer that the kernel happens not to write through.
                // Only the qualifiers of the source are the same from build to build.
                let read_only = constant || about.is_const.unwrap_or(about.not_written);
                ParameterKind::Pointer {
                    address_space: if constant { AddressSpace::Constant } else { AddressSpace::Global },
                    access: if read_only { Access::Read } else { Access::ReadWrite },
                    pointee: pointee_type(pointee),
                }
            }
        }
        Some(Type::Image | Type::SampledImage) => values.image(ty),
        Some(Type::Sampler) => ParameterKind::Sampler,
        Some(Type::Other | Type::Opaque | Type::Void | Type::Function { .. }) | None => {
            let name = about.spelling.as_ref().map_or("opaque", |spelling| spelling.base()).to_owned();
            ParameterKind::Value(ValueType::Opaque { name, size_bytes: 0, align_bytes: 1 })
        }
        Some(_) => ParameterKind::Value(value(ty)),
    }
}

#[cfg(test)]
mod tests {
    use super::split_list;

    #[test]
    fn lists_split_at_outer_commas() {
        assert_eq!(split_list("float,float*,"), ["float", "float*"]);
        assert_eq!(split_list("pair<int, float>*,uint,"), ["pair<int, float>*", "uint"]);
        assert_eq!(split_list(""), [""; 0]);
        assert_eq!(split_list(",const,"), ["", "const"]);
    }
}
