//! The functions of OpenCL C that kernels in Rust may call, and those that C leaves to them.

use std::collections::{BTreeMap, BTreeSet};

use oclave_rust::{ForeignFunction, ForeignMemory, ForeignNumber, ForeignType};
use oclave_spirv::{Decoration, Definitions, LinkageType, Module, Op, StorageClass, Type, TypeTable};

/// The functions that a module imports and exports.
pub(super) fn functions(module: &Module) -> Vec<ForeignFunction> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let symbols = linkage(module);
    let functions = module.instructions().filter(|i| i.is(Op::Function)).filter_map(|function| {
        let (name, is_defined) = symbols.get(&function.result_id()?)?.clone();
        let ty = definitions.instruction(function.operand(1)?).filter(|ty| ty.is(Op::TypeFunction))?;
        let [returns, parameters @ ..] = ty.operands() else { return None };
        let parameters = parameters.iter().map(|ty| foreign(&types, *ty)).collect();
        Some(ForeignFunction { name, parameters, returns: foreign(&types, *returns), is_defined })
    });
    functions.collect()
}

fn foreign(types: &TypeTable<'_>, id: u32) -> ForeignType {
    match types.ty(id) {
        Some(Type::Void) => ForeignType::Nothing,
        Some(Type::Int { width }) => ForeignType::Int(width),
        Some(Type::Float { width }) => ForeignType::Float(width),
        Some(Type::Pointer { class, pointee }) => match (memory(class), number(types, pointee)) {
            (Some(memory), Some(number)) => ForeignType::Pointer(memory, number),
            _ => ForeignType::Other,
        },
        _ => ForeignType::Other,
    }
}

fn number(types: &TypeTable<'_>, id: u32) -> Option<ForeignNumber> {
    match types.ty(id)? {
        Type::Int { width } => Some(ForeignNumber::Int(width)),
        Type::Float { width } => Some(ForeignNumber::Float(width)),
        _ => None,
    }
}

fn memory(class: u32) -> Option<ForeignMemory> {
    [
        (StorageClass::Function, ForeignMemory::Private),
        (StorageClass::CrossWorkgroup, ForeignMemory::Global),
        (StorageClass::Workgroup, ForeignMemory::Local),
        (StorageClass::UniformConstant, ForeignMemory::Constant),
        (StorageClass::Generic, ForeignMemory::Generic),
    ]
    .into_iter()
    .find_map(|(known, memory)| (known as u32 == class).then_some(memory))
}

/// The names that a module imports and exports.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) imported: BTreeSet<String>,
    pub(super) exported: BTreeSet<String>,
}

/// The names that a module imports and exports.
pub(super) fn symbols(module: &Module) -> Symbols {
    let mut symbols = Symbols::default();
    for (name, is_defined) in linkage(module).into_values() {
        if is_defined { &mut symbols.exported } else { &mut symbols.imported }.insert(name);
    }
    symbols
}

/// Symbols by their ids, and whether they are defined.
fn linkage(module: &Module) -> BTreeMap<u32, (String, bool)> {
    let mut symbols = BTreeMap::new();
    for instruction in module.global_instructions() {
        if let (true, &[id, decoration, ..]) = (instruction.is(Op::Decorate), instruction.operands())
            && decoration == Decoration::LinkageAttributes as u32
            && let (Some(name), Some(rest)) = (instruction.string(2), instruction.after_string(2))
        {
            symbols.insert(id, (name.into_owned(), rest.first() == Some(&(LinkageType::Export as u32))));
        }
    }
    symbols
}
