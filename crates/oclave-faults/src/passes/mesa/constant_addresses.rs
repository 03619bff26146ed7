//! Addresses in constant tables, computed by instructions.
//!
//! `constant struct { uint a; constant uint *p; } entries[] = {{1, table}, {2, table + 3}};` has
//! addresses of another constant in its initial value. Mesa has no form for it. SPIR-V's validator,
//! which Mesa asks, requires an `OpSpecConstantComposite`, and Mesa's own reader then refuses the
//! addresses.
//!
//! Here, such a variable begins with null pointers, and has two tables beside it. Both have an entry for
//! each place of a pointer. One says to which variable it leads (0: to none), and the other one how
//! many bytes behind its start. A kernel may load a pointer, or an integer as wide. It then looks
//! whether the address lies in such a variable, and computes the pointer by the tables.

use std::collections::{BTreeSet, HashSet};

use crate::Fault;
use crate::passes::error::{Result, unsupported};
use crate::passes::{Pass, pass};
use crate::table::{RUSTICL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::initializer::{AddressOf, evaluate_with};
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::transform::dce;
use oclave_spirv::{
    Cursor, Declarations, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable,
};

fault! {
    /// **Q55. Mesa's rusticl 26.1.6.** A program-scope constant with the address of another one in its
    /// initial value is refused, without a word. SPIR-V's validator, which Mesa asks, requires an
    /// `OpSpecConstantComposite` there, and Mesa refuses addresses in it ("wrong kind of value").
    /// So functions compute such addresses (`constant_addresses`, decision 129).
    Q55 {
        affects: [RUSTICL],
        seen: Programs,
        symptom: "Program-scope constants with addresses of others are refused.",
        remedy: "Functions compute such addresses (`constant_addresses`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q55, "constant_addresses", |on| compute(on.analyses));

const CLASS: u32 = StorageClass::UniformConstant as u32;

/// The module with these instructions; `None` where no constant has an address.
///
/// # Errors
/// [`Unsupported`](oclave_spirv::Error::Unsupported) for addresses of other memory in constants, and for copies of
/// constants with addresses that do not load these one by one.
pub(crate) fn compute(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let types = TypeTable::new(definitions);
    let tables = tables(definitions, &types)?;
    if tables.is_empty() {
        return Ok(None);
    }
    let mut edit = Editor::new(definitions);
    let bits = types.pointer_bytes() * 8;
    let tables = tables.into_iter().map(|table| Written::new(&mut edit, bits, table)).collect();
    let pass =
        Addresses { definitions, types: &types, tables, bits, parameters: kernel_parameters(definitions) };
    for Written { table, .. } in &pass.tables {
        if let Some(variable) = definitions.instruction(table.variable)
            && let (Some(ty), &[class, initializer]) = (variable.result_type(), variable.operands())
        {
            let initializer = pass.without_addresses(&mut edit, initializer);
            edit.replace(&variable, Op::Variable, &[ty, table.variable, class, initializer]);
        }
    }
    for instruction in module.instructions().skip_while(|i| !i.is(Op::Function)) {
        pass.in_function(&mut edit, &instruction)?;
    }
    // What the initial values were made of is not used any more, and Mesa refuses it as well.
    Ok(edit.finish()?.map(|new| dce::eliminate(&new, |_| true)).transpose()?)
}

/// A constant with addresses in its initial value.
struct Table {
    variable: u32,
    size_bytes: u64,
    addresses: Vec<AddressOf>,
    /// The variables that the addresses lead to.
    targets: BTreeSet<u32>,
}

fn tables(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for instruction in definitions.module().global_instructions() {
        let (Some(variable), &[CLASS, initializer]) = (instruction.result_id(), instruction.operands())
        else {
            continue;
        };
        if !instruction.is(Op::Variable) || !is_address(definitions, initializer) {
            continue;
        }
        let unsupported = |what: String| {
            let module = definitions.module();
            let name = module.names().find(|(id, _)| *id == variable).map(|(_, name)| name);
            let name = name.unwrap_or_else(|| format!("%{variable}"));
            unsupported(format!("constant `{name}`: {what}"))
        };
        let Some(Type::Pointer { pointee, .. }) = instruction.result_type().and_then(|ty| types.ty(ty))
        else {
            continue;
        };
        let size_bytes =
            types.size_bytes(pointee).ok_or_else(|| unsupported("its size is not known".into()))?;
        let value = evaluate_with(definitions, types, StorageClass::UniformConstant, [initializer, pointee]);
        let addresses = value.map_err(unsupported)?.addresses;
        let targets = addresses.iter().map(|address| address.variable).collect();
        tables.push(Table { variable, size_bytes, addresses, targets });
    }
    Ok(tables)
}

/// Whether a constant is an address, or has one.
fn is_address(definitions: &Definitions<'_>, constant: u32) -> bool {
    let (mut open, mut seen) = (vec![constant], HashSet::new());
    while let Some(id) = open.pop().filter(|_| seen.len() < 1 << 20) {
        let Some(instruction) = definitions.instruction(id).filter(|_| seen.insert(id)) else { continue };
        match instruction.op() {
            Some(Op::Variable) => return true,
            Some(Op::ConstantComposite | Op::SpecConstantComposite) => open.extend(instruction.operands()),
            Some(Op::SpecConstantOp) => open.extend(instruction.operands().iter().skip(1)),
            _ => {}
        }
    }
    false
}

/// A constant with addresses, and what stands beside it in the new module.
struct Written {
    table: Table,
    /// An array with a number for each place of a pointer: 0, or which of the targets, from 1 on.
    numbers: u32,
    /// An array with the bytes behind the start of the target.
    bytes: u32,
}

impl Written {
    fn new(new: &mut Declarations<'_>, bits: u32, table: Table) -> Self {
        let pointer = u64::from(bits / 8);
        let places = usize::try_from(table.size_bytes.div_ceil(pointer)).unwrap_or(usize::MAX);
        let (mut numbers, mut bytes) = (vec![0; places], vec![0; places]);
        for address in &table.addresses {
            let place = usize::try_from(u64::from(address.offset_bytes) / pointer).unwrap_or(usize::MAX);
            let number = table.targets.iter().position(|target| *target == address.variable);
            if let (Some(to), Some(behind), Some(number)) =
                (numbers.get_mut(place), bytes.get_mut(place), number)
            {
                *to = number as u64 + 1;
                *behind = address.addend_bytes as u64;
            }
        }
        let [numbers, bytes] =
            [(32, numbers), (bits, bytes)].map(|(width, values)| array(new, width, &values));
        Self { table, numbers, bytes }
    }
}

/// Writes a constant array of integers.
fn array(new: &mut Declarations<'_>, width: u32, values: &[u64]) -> u32 {
    let (element, length) = (new.int_type(width), new.int_constant(32, values.len() as u64));
    let array = new.intern(Op::TypeArray, &[element, length]);
    let numbers = values.iter().map(|value| new.int_constant(width, value & u64::MAX >> (64 - width)));
    let numbers: Vec<u32> = numbers.collect();
    let value = new.composite_constant(array, &numbers);
    let pointer = new.pointer_type(StorageClass::UniformConstant, array);
    new.module_variable(pointer, StorageClass::UniformConstant, Some(value))
}

struct Addresses<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    tables: Vec<Written>,
    /// The width of a pointer.
    bits: u32,
    /// The parameters of kernels, which lead to other memory.
    parameters: BTreeSet<u32>,
}

impl Addresses<'_, '_> {
    /// A constant with null pointers in the place of addresses.
    fn without_addresses(&self, new: &mut Declarations<'_>, constant: u32) -> u32 {
        let instruction = self.definitions.instruction(constant);
        let Some((instruction, ty)) = instruction
            .and_then(|i| Some((i, i.result_type()?)))
            .filter(|_| is_address(self.definitions, constant))
        else {
            return constant;
        };
        if !instruction.is(Op::ConstantComposite) {
            return new.null_constant(ty);
        }
        let parts = instruction.operands().iter().map(|part| self.without_addresses(new, *part));
        let parts: Vec<u32> = parts.collect();
        new.composite_constant(ty, &parts)
    }

    /// Changes an instruction that may load an address.
    fn in_function(&self, edit: &mut Editor<'_>, instruction: &Instruction<'_>) -> Result<()> {
        let from = match instruction.op() {
            Some(Op::Load) => instruction.operand(0),
            Some(Op::CopyMemory | Op::CopyMemorySized) => instruction.operand(1),
            _ => None,
        };
        let Some(from) = from.filter(|from| self.may_have_addresses(*from)) else { return Ok(()) };
        let ty = instruction.result_type();
        match ty.and_then(|ty| self.types.ty(ty)) {
            Some(Type::Pointer { class: CLASS, .. }) => {
                self.load(edit, instruction, from, Op::ConvertUToPtr);
            }
            Some(Type::Int { width }) if width == self.bits => {
                self.load(edit, instruction, from, Op::CopyObject);
            }
            Some(Type::Int { .. } | Type::Float { .. } | Type::Bool) => {}
            _ if ty.is_some_and(|ty| !self.has_pointer(ty)) => {}
            _ => {
                let what = "a constant that may have addresses is copied as a whole, which this device \
                            cannot do; copy its members one by one";
                return Err(unsupported(what.to_owned()));
            }
        }
        Ok(())
    }

    /// Whether a pointer may lead into a constant with addresses.
    fn may_have_addresses(&self, pointer: u32) -> bool {
        let ty = self.definitions.type_of(pointer).and_then(|ty| self.types.ty(ty));
        if !matches!(ty, Some(Type::Pointer { class: CLASS, .. })) {
            return false;
        }
        let root = self.definitions.root(pointer);
        match self.definitions.instruction(root) {
            Some(variable) if variable.is(Op::Variable) => {
                self.tables.iter().any(|written| written.table.variable == root)
            }
            _ => !self.parameters.contains(&root),
        }
    }

    /// Whether a type is a pointer, or has one.
    fn has_pointer(&self, ty: u32) -> bool {
        self.types.parts(ty).into_iter().any(|part| match self.types.ty(part) {
            Some(Type::Int { width }) => width == self.bits,
            Some(Type::Float { .. } | Type::Bool) => false,
            Some(Type::Vector { .. } | Type::Array { .. } | Type::Struct { .. }) => false,
            _ => true,
        })
    }

    /// Writes a load, and what it gives where it loads an address.
    fn load(&self, edit: &mut Editor<'_>, load: &Instruction<'_>, from: u32, convert: Op) {
        let (Some(ty), Some(result)) = (load.result_type(), load.result_id()) else { return };
        let (number, flag) = (edit.int_type(self.bits), edit.bool_type());
        let [zero, pointer_bytes] =
            [0, u64::from(self.bits / 8)].map(|value| edit.int_constant(self.bits, value));
        let none = edit.int_constant(32, 0);
        let mut at = edit.instead_of(load);
        let mut value = at.emit(Op::Load, ty, load.operands());
        let place = at.emit(Op::ConvertPtrToU, number, &[from]);
        for Written { table, numbers, bytes } in &self.tables {
            let size = at.int_constant(self.bits, table.size_bytes);
            let start = at.emit(Op::ConvertPtrToU, number, &[table.variable]);
            let offset = at.emit(Op::ISub, number, &[place, start]);
            let is_inside = at.emit(Op::ULessThan, flag, &[offset, size]);
            let index = at.emit(Op::UDiv, number, &[offset, pointer_bytes]);
            let index = at.emit(Op::Select, number, &[is_inside, index, zero]);
            let which = element(&mut at, *numbers, 32, index);
            let behind = element(&mut at, *bytes, self.bits, index);
            let mut base = zero;
            for (which_one, target) in (1..).zip(&table.targets) {
                let this = at.int_constant(32, which_one);
                let is_this = at.emit(Op::IEqual, flag, &[which, this]);
                let target = at.emit(Op::ConvertPtrToU, number, &[*target]);
                base = at.emit(Op::Select, number, &[is_this, target, base]);
            }
            let is_one = at.emit(Op::INotEqual, flag, &[which, none]);
            let is_address = at.emit(Op::LogicalAnd, flag, &[is_inside, is_one]);
            let sum = at.emit(Op::IAdd, number, &[base, behind]);
            let address = at.emit(convert, ty, &[sum]);
            value = at.emit(Op::Select, ty, &[is_address, address, value]);
        }
        at.push(Op::CopyObject, &[ty, result, value]);
    }
}

/// The parameters of kernels.
fn kernel_parameters(definitions: &Definitions<'_>) -> BTreeSet<u32> {
    let entries = definitions.module().instructions().filter_map(|i| kernel_entry(&i));
    let heads = entries.flat_map(|entry| definitions.body(entry.function).take_while(|i| !i.is(Op::Label)));
    heads.filter(|i| i.is(Op::FunctionParameter)).filter_map(|i| i.result_id()).collect()
}

/// Loads an element of an array of constants.
fn element(at: &mut Cursor<'_, '_>, array: u32, width: u32, index: u32) -> u32 {
    let ty = at.int_type(width);
    let pointer = at.pointer_type(StorageClass::UniformConstant, ty);
    let element = at.emit(Op::InBoundsAccessChain, pointer, &[array, index]);
    at.emit(Op::Load, ty, &[element])
}
