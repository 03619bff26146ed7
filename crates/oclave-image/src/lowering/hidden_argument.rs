//! Device globals for devices without program-scope variables: the pointers come in a hidden kernel
//! argument.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::device_globals::ALIGNED;
use crate::error::diagnostic;
use crate::lowering::global_access::exported_variables;
use crate::{DeviceGlobalInfo, ImageError, InitialAddress, InitialValue, Result};
use oclave_spirv::analysis::initializer::{AddressOf, Constant, evaluate};
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::localize::Localizer;
use oclave_spirv::{
    Capability, Definitions, Instruction, Module, Op, Rewriter, StorageClass, Type, TypeTable,
};

/// What [`lower_globals_to_hidden_argument`] makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenArgument {
    /// The module, without the variables.
    pub module: Module,
    /// The kernels that have one more parameter now, behind the others: `global ulong *table`.
    pub kernels: BTreeSet<String>,
}

/// Removes the variables of device globals. Each function that uses one, or calls one that does,
/// gets a table of addresses as its last parameter; `table[i]`, 64 bits wide on any device, is the
/// USM address of `globals[i]`, which is what
/// [`DeviceImage::device_globals`](crate::DeviceImage::device_globals) gives. Memory of variables
/// with `device_image_scope` begins with what [`image_scope_initial_values`] says.
///
/// # Errors
/// [`ImageError::Unsupported`] where the address of a function that would get a parameter is taken.
pub fn lower_globals_to_hidden_argument(
    module: &Module,
    globals: &[DeviceGlobalInfo],
) -> Result<HiddenArgument> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let references = References::new(&definitions);
    let exported = exported_variables(module);
    let mut slots = BTreeMap::new();
    for (index, global) in (0_u64..).zip(globals) {
        let unsupported = |what| ImageError::Unsupported(format!("device global `{}`: {what}", global.id));
        let variable =
            exported.get(&global.id).ok_or_else(|| unsupported("the module has no such variable"))?;
        slots.insert(*variable, Slot { index, is_pointer: !global.device_image_scope });
    }
    let variables: BTreeSet<u32> = slots.keys().copied().collect();
    let users = references.users(&variables);
    check_function_pointers(&references, &users)?;
    let mut lowering = Lowering {
        definitions: &definitions,
        types: &types,
        localizer: Localizer::new(&references, &VariableFacts::new(&definitions), &variables, &variables)
            .map_err(diagnostic)?,
        new: Rewriter::new(&definitions),
        slots: &slots,
        users: &users,
        table: None,
        in_function: false,
    };
    for instruction in module.instructions() {
        lowering.instruction(&instruction)?;
    }
    lowering.new.capability(Capability::Int64);
    let kernels = references.entry_points().iter().filter(|entry| users.contains(&entry.function));
    Ok(HiddenArgument {
        kernels: kernels.map(|entry| entry.name.clone()).collect(),
        module: lowering.new.finish()?,
    })
}

/// The initial values of variables with `device_image_scope`, which keep their initializer in the
/// module; nothing for those that begin as zeroes, and for other device globals. In the order of
/// `globals`.
///
/// # Errors
/// [`ImageError::Unsupported`] for values that only the device's compiler knows, such as addresses
/// of other variables.
pub fn image_scope_initial_values(
    module: &Module,
    globals: &[DeviceGlobalInfo],
) -> Result<Vec<InitialValue>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let exported = exported_variables(module);
    let names: BTreeMap<u32, &str> = globals
        .iter()
        .filter(|global| global.device_image_scope)
        .filter_map(|global| Some((*exported.get(&global.id)?, global.id.as_str())))
        .collect();
    let initial = |global: &DeviceGlobalInfo| {
        let variable = exported.get(&global.id).filter(|_| global.device_image_scope);
        let Some(instruction) = variable.and_then(|id| definitions.instruction(*id)) else {
            return Ok(InitialValue::default());
        };
        let pointee = match instruction.result_type().and_then(|ty| types.ty(ty)) {
            Some(Type::Pointer { pointee, .. }) => pointee,
            _ => return Ok(InitialValue::default()),
        };
        let value = match instruction.operand(1) {
            None => Ok(InitialValue::default()),
            Some(initializer) => {
                evaluate(&definitions, &types, initializer, pointee).and_then(|value| named(value, &names))
            }
        };
        value.map_err(|what| {
            let id = &global.id;
            ImageError::Unsupported(format!("device global `{id}`: its initial value is not known: {what}"))
        })
    };
    globals.iter().map(initial).collect()
}

/// The addresses of other variables with `device_image_scope` by name.
fn named(value: Constant, names: &BTreeMap<u32, &str>) -> Result<InitialValue, String> {
    let address = |address: &AddressOf| {
        let target = names
            .get(&address.variable)
            .ok_or("it holds the address of a variable that is no device global")?;
        Ok(InitialAddress {
            offset_bytes: address.offset_bytes,
            target: (*target).to_owned(),
            addend_bytes: address.addend_bytes,
        })
    };
    let addresses = value.addresses.iter().map(address).collect::<Result<_, String>>()?;
    Ok(InitialValue { bytes: value.bytes, addresses })
}

/// Functions that are called through pointers must keep their type.
fn check_function_pointers(references: &References<'_>, users: &BTreeSet<u32>) -> Result<()> {
    for instruction in references.module().instructions() {
        let taken = match instruction.op() {
            Some(Op::ConstantFunctionPointerINTEL) => instruction.operand(0),
            Some(Op::EnqueueKernel) => instruction.operand(6),
            _ => None,
        };
        if taken.is_some_and(|function| users.contains(&function)) {
            let what = "a function whose address is taken uses device globals, which this device has in kernel \
                        arguments only";
            return Err(ImageError::Unsupported(what.to_owned()));
        }
    }
    Ok(())
}

/// Where the table has the address of a variable.
#[derive(Debug, Clone, Copy)]
struct Slot {
    index: u64,
    /// The variable holds the address, rather than lies there.
    is_pointer: bool,
}

struct Lowering<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    localizer: Localizer<'a, 'm>,
    new: Rewriter<'m>,
    /// Variable → its place in the table.
    slots: &'a BTreeMap<u32, Slot>,
    /// The functions that get the parameter.
    users: &'a BTreeSet<u32>,
    /// The parameter of the function that is being written, and whether it stands already.
    table: Option<(u32, bool)>,
    in_function: bool,
}

impl Lowering<'_, '_> {
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        if instruction.is(Op::Function) {
            self.in_function = true;
            self.table = None;
        }
        if self.in_function {
            self.function_instruction(instruction)?;
        } else {
            self.module_instruction(instruction);
        }
        self.in_function &= !instruction.is(Op::FunctionEnd);
        Ok(())
    }

    fn module_instruction(&mut self, instruction: &Instruction<'_>) {
        let goes = |id: u32| self.slots.contains_key(&id) || self.localizer.is_derived(id);
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Name | Op::Decorate), &[id, ..]) if goes(id) => {}
            (Some(Op::EntryPoint), _) => {
                self.new.copy_unless_gone(instruction, |id| self.slots.contains_key(&id));
            }
            _ if instruction.result_id().is_some_and(goes) => {}
            _ => self.new.copy(instruction),
        }
    }

    fn table_type(&mut self) -> u32 {
        let ulong = self.new.int_type(64);
        self.new.pointer_type(StorageClass::CrossWorkgroup, ulong)
    }

    fn function_instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        match (instruction.op(), instruction.words) {
            (Some(Op::Function), &[_, returns, id, control, ty]) if self.users.contains(&id) => {
                self.localizer.advance(&mut self.new, instruction, |_, _| None)?;
                let ty = self.function_type(ty)?;
                self.new.replace(instruction, Op::Function, &[returns, id, control, ty]);
                self.table = Some((self.new.fresh_id(), false));
                return Ok(());
            }
            (Some(Op::Label), _) => self.parameter(),
            _ => {}
        }
        let table_type = self.table_type();
        let (table, slots, definitions) = (self.table.map(|(id, _)| id), self.slots, self.definitions);
        self.localizer.advance(&mut self.new, instruction, |new, variable| {
            let ty = definitions.type_of(variable)?;
            let slot = slots.get(&variable)?;
            let index = new.int_constant(64, slot.index);
            let [entry, place] = [(); 2].map(|()| new.fresh_id());
            new.push(Op::InBoundsPtrAccessChain, &[table_type, entry, table?, index]);
            if slot.is_pointer {
                // The variable was a place with a pointer in it; so is its entry in the table.
                new.push(Op::Bitcast, &[ty, place, entry]);
            } else {
                let ulong = new.int_type(64);
                let address = new.fresh_id();
                new.push(Op::Load, &[ulong, address, entry, ALIGNED, 8]);
                new.push(Op::ConvertUToPtr, &[ty, place, address]);
            }
            Some(place)
        })?;
        let calls_user = instruction.is(Op::FunctionCall)
            && instruction.operand(0).is_some_and(|function| self.users.contains(&function));
        match table {
            Some(table) if calls_user => {
                let mut operands = self.localizer.mapped(instruction);
                operands.push(table);
                self.new.replace(instruction, Op::FunctionCall, &operands);
            }
            _ => self.localizer.copy(&mut self.new, instruction),
        }
        Ok(())
    }

    /// Writes the parameter before the first block, behind the others.
    fn parameter(&mut self) {
        if let Some((table, false)) = self.table {
            let ty = self.table_type();
            self.new.push(Op::FunctionParameter, &[ty, table]);
            self.new.name(table, "__oclave_device_globals");
            self.table = Some((table, true));
        }
    }

    /// The type of a function with one parameter more.
    fn function_type(&mut self, ty: u32) -> Result<u32> {
        let Some(Type::Function { returns, parameters }) = self.types.ty(ty) else {
            let word = self.definitions.word_index(ty).unwrap_or(0);
            return Err(ImageError::Spirv { word, what: format!("the type %{ty} of a function is none") });
        };
        let table = self.table_type();
        Ok(self.new.function_type(returns, &[parameters, &[table]].concat()))
    }
}
