//! Device globals for devices without program-scope variables: the pointers come in a hidden kernel
//! argument.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::diagnostic;
use crate::lowering::global_access::exported_variables;
use crate::{DeviceGlobalInfo, ImageError, InitialAddress, InitialValue, Result};
use oclave_spirv::analysis::initializer::{AddressOf, Constant, evaluate};
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::localize::Localizer;
use oclave_spirv::{
    ALIGNED, Cursor, Declarations, Definitions, Editor, Instruction, Module, Op, StorageClass, Type,
    TypeTable,
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
    let localizer = Localizer::new(&references, &VariableFacts::new(&definitions), &variables, &variables)
        .map_err(diagnostic)?;
    let mut edit = Editor::new(&definitions);
    let gone = variables.iter().copied().chain(localizer.derived());
    gone.filter_map(|id| definitions.instruction(id)).for_each(|constant| edit.remove(&constant));
    for function in users.iter().filter_map(|id| definitions.instruction(*id)) {
        let &[_, returns, id, control, ty] = function.words else { continue };
        let (ty, table) = (with_table(&mut edit, &types, ty)?, edit.fresh_id());
        edit.replace(&function, Op::Function, &[returns, id, control, ty]);
        // After the other parameters.
        if let Some(block) = definitions.body(id).find(|i| i.is(Op::Label)) {
            let table_type = table_type(&mut edit);
            edit.before(&block).push(Op::FunctionParameter, &[table_type, table]);
            edit.name(table, "__oclave_device_globals");
        }
        let local = localizer.values(&mut edit, id, |at, variable| {
            Some(slots.get(&variable)?.load(at, table, definitions.type_of(variable)?))
        })?;
        let calls_user = |i: &Instruction<'_>| {
            i.is(Op::FunctionCall) && i.operand(0).is_some_and(|called| users.contains(&called))
        };
        for instruction in definitions.body(id) {
            let mut words = localizer.mapped(&instruction, &local);
            words.extend(calls_user(&instruction).then_some(table));
            edit.replace_words(&instruction, &words);
        }
    }
    let kernels = references.entry_points().iter().filter(|entry| users.contains(&entry.function));
    Ok(HiddenArgument {
        kernels: kernels.map(|entry| entry.name.clone()).collect(),
        module: edit.finish()?.unwrap_or_else(|| module.clone()),
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

impl Slot {
    /// Writes the address of the variable, of the type `ty`.
    fn load(self, at: &mut Cursor<'_, '_>, table: u32, ty: u32) -> u32 {
        let (table_type, index) = (table_type(at), at.int_constant(64, self.index));
        let entry = at.emit(Op::InBoundsPtrAccessChain, table_type, &[table, index]);
        if self.is_pointer {
            // The variable was a place with a pointer in it; so is its entry in the table.
            return at.emit(Op::Bitcast, ty, &[entry]);
        }
        let ulong = at.int_type(64);
        let address = at.emit(Op::Load, ulong, &[entry, ALIGNED, 8]);
        at.emit(Op::ConvertUToPtr, ty, &[address])
    }
}

fn table_type(new: &mut Declarations<'_>) -> u32 {
    let ulong = new.int_type(64);
    new.pointer_type(StorageClass::CrossWorkgroup, ulong)
}

/// The type of a function with the table as one parameter more.
fn with_table(new: &mut Declarations<'_>, types: &TypeTable<'_>, ty: u32) -> Result<u32> {
    let Some(Type::Function { returns, parameters }) = types.ty(ty) else {
        let word = new.definitions().word_index(ty).unwrap_or(0);
        return Err(ImageError::Spirv { word, what: format!("the type %{ty} of a function is none") });
    };
    let table = table_type(new);
    Ok(new.function_type(returns, &[parameters, &[table]].concat()))
}
