//! The vtables of a module, and the names of what they hold.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::codes::{function_code, module_hash, vtable_code};
use super::hierarchy::Hierarchy;
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::{Definitions, Module, Op, TypeTable};

/// Offset-to-top and the place of the type's description come before the functions of a sub-vtable.
const ADDRESS_POINT: u64 = 16;
const SLOT_BYTES: u64 = 8;

/// The beginning of the name of a variable that stands for the address of a function, whose name
/// follows. A vtable in global memory cannot hold the address itself.
pub const FUNCTION_PLACEHOLDER: &str = "oclave.function.";

/// Names of functions and vtables, as codes and metadata know them.
#[derive(Debug)]
pub(super) struct Names {
    names: HashMap<u32, String>,
    linked: HashSet<u32>,
    /// Variables that stand for addresses of functions; their names here are those of the
    /// functions.
    placeholders: HashSet<u32>,
    /// Hash of the module: what has no linkage is told apart from that of other modules by it.
    pub(super) hash: u64,
}

impl Names {
    pub(super) fn new(unit: &str, module: &Module) -> Self {
        let mut names = HashMap::new();
        let mut linked = HashSet::new();
        let mut placeholders = HashSet::new();
        let mut kernels = HashMap::new();
        for instruction in module.global_instructions() {
            let Some(id) = instruction.operand(0) else { continue };
            if let Some(entry) = kernel_entry(&instruction) {
                kernels.insert(entry.function, entry.name);
            } else if instruction.is(Op::Name)
                && let Some(name) = instruction.string(1)
            {
                names.entry(id).or_insert_with(|| name.into_owned());
            } else if let Some((_, name, _)) = instruction.linkage() {
                if let Some(function) = name.strip_prefix(FUNCTION_PLACEHOLDER) {
                    names.insert(id, function.to_owned());
                    placeholders.insert(id);
                } else {
                    names.insert(id, name.into_owned());
                }
                linked.insert(id);
            }
        }
        // Newer translators give the function of an entry point no name of its own.
        for (function, name) in kernels {
            names.entry(function).or_insert(name);
        }
        Self { names, linked, placeholders, hash: module_hash(unit, module.words()) }
    }

    /// The name in the module; empty where there is none.
    pub(super) fn plain(&self, id: u32) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    /// The name by which other programs know it, too.
    pub(super) fn unique(&self, id: u32) -> String {
        match self.linked.contains(&id) {
            true => self.plain(id).to_owned(),
            false => format!("{}.{:016x}", self.plain(id), self.hash),
        }
    }
}

/// A place of a vtable with a function.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) function: u32,
    /// Number from the address point; `None` where that is not known.
    pub(super) number: Option<u32>,
    /// The static types through which it may be called; empty where that is not known.
    pub(super) classes: Vec<String>,
}

/// A vtable that the module has.
#[derive(Debug, Default)]
pub(super) struct Vtable {
    /// Code of its first byte.
    pub(super) base: u64,
    /// Offset in bytes → the called function.
    pub(super) slots: BTreeMap<u64, Slot>,
    /// Offset in bytes → what is there: offset to top, vbase and vcall offsets.
    pub(super) offsets: BTreeMap<u64, i64>,
}

/// Everything of a module that has a code.
#[derive(Debug, Default)]
pub(super) struct Vtables {
    /// Variables of vtables and type descriptions → code of their first byte.
    pub(super) variables: BTreeMap<u32, u64>,
    /// Constants, and variables in their place, that are addresses of functions → function.
    pub(super) function_pointers: BTreeMap<u32, u32>,
    /// Tables of vtables: they are data that constructors with virtual bases read.
    pub(super) construction_tables: Vec<u32>,
    /// The vtables with their contents.
    pub(super) tables: Vec<Vtable>,
}

impl Vtables {
    pub(super) fn new(definitions: &Definitions<'_>, types: &TypeTable<'_>, names: &Names) -> Self {
        let mut found = Self::default();
        let module = definitions.module();
        let functions: HashMap<&str, u32> = module
            .instructions()
            .filter(|i| i.is(Op::Function))
            .filter_map(|i| i.result_id())
            .map(|id| (names.plain(id), id))
            .collect();
        for instruction in module.global_instructions() {
            let Some(id) = instruction.result_id() else { continue };
            if instruction.is(Op::ConstantFunctionPointerINTEL) {
                found.function_pointers.extend(instruction.operand(0).map(|function| (id, function)));
            } else if instruction.is(Op::Variable) {
                let name = names.plain(id);
                if names.placeholders.contains(&id) {
                    // Of a function that other programs have, only the name is here.
                    found.function_pointers.insert(id, functions.get(name).copied().unwrap_or(id));
                } else if name.starts_with("_ZTT") {
                    found.construction_tables.push(id);
                } else if ["_ZTV", "_ZTC", "_ZTI", "_ZTS"].iter().any(|prefix| name.starts_with(prefix)) {
                    found.variables.insert(id, vtable_code(&names.unique(id)));
                }
            }
        }
        for (&variable, &base) in &found.variables {
            let name = names.plain(variable);
            let initializer = definitions.instruction(variable).and_then(|i| i.operand(1));
            if let (true, Some(initializer)) =
                (name.starts_with("_ZTV") || name.starts_with("_ZTC"), initializer)
            {
                let mut table = Vtable { base, ..Vtable::default() };
                let hierarchy = Hierarchy::new(definitions, names);
                let mut walk = Walk { definitions, types, hierarchy, vtables: &found, table: &mut table };
                walk.tables(initializer);
                found.tables.push(table);
            }
        }
        found
    }

    /// Number of the slot with a code.
    pub(super) fn slot_number(&self, code: u64) -> Option<u32> {
        let table = self.tables.iter().find(|table| table.base == code & !0xffff)?;
        table.slots.get(&(code & 0xffff))?.number
    }

    /// The code of a function's address.
    pub(super) fn function_code(names: &Names, function: u32) -> u64 {
        function_code(&names.unique(function))
    }
}

/// Whether an operation of a constant changes nothing but the type of an address.
pub(super) fn is_cast(op: u32) -> bool {
    [Op::Bitcast, Op::PtrCastToGeneric, Op::ConvertPtrToU, Op::ConvertUToPtr]
        .iter()
        .any(|cast| *cast as u32 == op)
}

/// Reads the initial value of a vtable, a struct of an array for each sub-vtable.
struct Walk<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    hierarchy: Hierarchy<'a, 'm>,
    vtables: &'a Vtables,
    table: &'a mut Vtable,
}

impl<'m> Walk<'_, 'm> {
    fn tables(&mut self, initializer: u32) {
        let mut offset = 0;
        for &array in self.parts(initializer) {
            let size = self.definitions.type_of(array).and_then(|ty| self.types.size_bytes(ty)).unwrap_or(0);
            let leaves = self.parts(array);
            // What comes before the functions: offsets, and where the type is described, in front
            // of the address point.
            let first = leaves.iter().position(|&leaf| self.function(leaf).is_some());
            let described = leaves.iter().position(|&leaf| self.description(leaf).is_some());
            let address_point = match described {
                Some(index) => Some(SLOT_BYTES * (index as u64 + 1)),
                // Without descriptions virtual bases hide where they would be; others have two
                // entries in front.
                None => first.filter(|&first| first == 2).map(|_| ADDRESS_POINT),
            };
            let classes = described.map(|index| self.classes(leaves, index)).unwrap_or_default();
            for (index, &leaf) in (0_u64..).zip(leaves) {
                let here = SLOT_BYTES * index;
                if let Some(function) = self.function(leaf) {
                    let number =
                        address_point.and_then(|point| here.checked_sub(point)).map(|o| o / SLOT_BYTES);
                    let number = number.and_then(|number| u32::try_from(number).ok());
                    self.table
                        .slots
                        .insert(offset + here, Slot { function, number, classes: classes.clone() });
                } else if let Some(value) = self.number(leaf) {
                    self.table.offsets.insert(offset + here, value);
                }
            }
            offset += size;
        }
    }

    /// The parts of a composite; none of a null one.
    fn parts(&self, id: u32) -> &'m [u32] {
        let instruction = self.definitions.instruction(id).filter(|i| i.is(Op::ConstantComposite));
        instruction.map(|i| i.operands()).unwrap_or_default()
    }

    /// What a leaf is without its casts.
    fn uncast(&self, mut id: u32) -> u32 {
        // No leaf has more casts than this; the limit ends cycles.
        for _ in 0..8 {
            match self.definitions.instruction(id).filter(|i| i.is(Op::SpecConstantOp)).map(|i| i.operands())
            {
                Some(&[op, operand]) if is_cast(op) => id = operand,
                _ => break,
            }
        }
        id
    }

    fn function(&self, leaf: u32) -> Option<u32> {
        self.vtables.function_pointers.get(&self.uncast(leaf)).copied()
    }

    fn description(&self, leaf: u32) -> Option<u32> {
        let id = self.uncast(leaf);
        self.vtables.variables.contains_key(&id).then_some(id)
    }

    /// Through which static types a sub-vtable may be called. In front of the description is the
    /// offset to the start of the whole object.
    fn classes(&self, leaves: &[u32], described: usize) -> Vec<String> {
        let description = leaves.get(described).and_then(|&leaf| self.description(leaf));
        let to_top = described.checked_sub(1).and_then(|index| leaves.get(index)).copied();
        match (description, to_top) {
            (Some(description), Some(to_top)) => {
                let offset = self.number(to_top).unwrap_or(0).wrapping_neg();
                self.hierarchy.classes_at(description, offset)
            }
            _ => Vec::new(),
        }
    }

    fn number(&self, leaf: u32) -> Option<i64> {
        match self.definitions.instruction(leaf)?.operands() {
            &[op, number] if op == Op::ConvertUToPtr as u32 => {
                self.definitions.int_constant(number).map(u64::cast_signed)
            }
            _ => None,
        }
    }
}
