//! Classes of objects that one kernel makes and another one calls (`Object` of `oclave-kernel`).
//!
//! Memory has a number of an object's class. The classes of one trait are a set. Their tables of functions
//! stand behind each other in one constant of the program. A call finds the position of the class in it, and
//! is a call through a table as any other then.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::kernels::{self, Class};
use crate::llvm::tree::{Callee, Constant, Function, Global, Kind, Operand, Type};
use crate::memory::Image;
use crate::program::Program;
use crate::{Error, Result};

/// The prefix of the names of the constants with tables.
pub(crate) const TABLES: &str = "__oclave_objects_";
/// The prefix of functions that give the table of a class.
const TABLE: &str = "__oclave_object_table_";

/// The classes of a trait.
#[derive(Debug)]
pub(crate) struct Set {
    /// In the order of their names.
    pub(crate) classes: Vec<Class>,
    /// Bytes of one table.
    pub(crate) stride: u64,
    /// All tables.
    pub(crate) image: Image,
    /// The constant that has them.
    pub(crate) table: Rc<Global>,
}

/// The sets of a program, by name.
pub(crate) fn sets(program: &Program) -> Result<BTreeMap<Rc<str>, Set>> {
    let mut classes: BTreeMap<String, Vec<Class>> = BTreeMap::new();
    for class in kernels::classes(program)? {
        classes.entry(class.set.clone()).or_default().push(class);
    }
    let mut sets = BTreeMap::new();
    for (name, mut classes) in classes {
        classes.sort_by(|a, b| (&a.name, &a.place.file).cmp(&(&b.name, &b.place.file)));
        let mut numbers = BTreeMap::new();
        for class in &classes {
            if let Some(other) = numbers.insert(class.number, class) {
                return Err(Error::Link(format!(
                    "{}: two classes of a trait with one name, `{}`: the other one is in {}; rename one",
                    class.place, class.name, other.place
                )));
            }
        }
        sets.insert(Rc::from(name.as_str()), set(program, &name, classes)?);
    }
    Ok(sets)
}

fn set(program: &Program, name: &str, classes: Vec<Class>) -> Result<Set> {
    let mut tables = Vec::new();
    for class in &classes {
        let table = Image::of_global(program, class.table.module, &class.table.name);
        tables.push(table.map_err(|what| Error::Link(format!("the table of `{}`: {what}", class.name)))?);
    }
    let stride = tables.iter().map(|table| table.bytes.len()).max().unwrap_or(0).next_multiple_of(8);
    let mut image = Image::default();
    for table in tables {
        let start = image.bytes.len();
        image.bytes.extend(table.bytes);
        image.bytes.resize(start + stride, 0);
        let moved = table.addresses.into_iter().map(|(at, address)| (at + start as u64, address));
        image.addresses.extend(moved);
    }
    let table = Global {
        name: format!("{TABLES}{name}").into(),
        ty: Type::Array(image.bytes.len() as u64, Rc::new(Type::Int(8))),
        value: Some(Constant::Zero),
        is_constant: true,
        is_internal: false,
        align: 8,
    };
    Ok(Set { classes, stride: stride as u64, image, table: Rc::new(table) })
}

/// Replaces calls that ask for the table of a class by its address.
pub(crate) fn address_tables(sets: &BTreeMap<Rc<str>, Set>, function: &mut Rc<Function>) {
    let of = |kind: &Kind| match kind {
        Kind::Call { callee: Callee::Function(name), arguments, .. } => match arguments.as_slice() {
            [index] => Some((sets.get(name.strip_prefix(TABLE)?)?, index.clone())),
            _ => None,
        },
        _ => None,
    };
    let calls = |function: &Function| {
        function.blocks.iter().flat_map(|block| &block.instructions).any(|i| of(&i.kind).is_some())
    };
    if !calls(function) {
        return;
    }
    for instruction in Rc::make_mut(function).blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        if let Some((set, index)) = of(&instruction.kind) {
            instruction.kind = Kind::Address {
                element: Type::Array(set.stride, Rc::new(Type::Int(8))),
                base: Operand::Constant(Constant::Global(Rc::clone(&set.table.name))),
                indices: vec![index],
                in_bounds: true,
            };
        }
    }
}
