//! Virtual calls that reach no function are noted, with the kernel that made them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{DeviceGlobalInfo, HostAccess, ImageError, Result};
use oclave_spirv::analysis::references::References;
use oclave_spirv::{
    ALIGNED, Definitions, Editor, Instruction, LinkageType, Module, Op, StorageClass, Type, TypeTable,
    Version,
};

/// The device global to which an invalid virtual call writes its code and the [`fault_id`] of its
/// kernel.
///
/// These are its first two 64-bit words. Panics of kernels in Rust use all of them: code, id, checksum
/// ([`panic_checksum`](crate::panic_checksum)) and the values of the message. It is a pointer variable like other device globals.
pub const VIRTUAL_FAULT: &str = "__oclave_virtual_fault";

/// Size of [`VIRTUAL_FAULT`].
pub const VIRTUAL_FAULT_BYTES: u32 = (3 + crate::PANIC_VALUES as u32) * 8;

/// The function that dispatchers call: `void (ulong code)`.
pub(super) const FAULT_FUNCTION: &str = "__oclave_note_virtual_fault";

/// A code is kept combined with this, so that 0 stands for no fault: objects that were never made
/// have the code 0.
const NO_FAULT: u64 = 0x9e2d_51c7_3b68_f40b;

/// What tells a kernel of an image apart in [`VIRTUAL_FAULT`]; never 0.
pub fn fault_id(image: &str, kernel: &str) -> u64 {
    let bytes = image.bytes().chain([0]).chain(kernel.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash | 1
}

/// [`VIRTUAL_FAULT`] as images declare device globals.
pub(super) fn global() -> DeviceGlobalInfo {
    DeviceGlobalInfo {
        id: VIRTUAL_FAULT.to_owned(),
        size_bytes: VIRTUAL_FAULT_BYTES,
        host_access: HostAccess::None,
        ..DeviceGlobalInfo::default()
    }
}

/// Lets kernels write to [`VIRTUAL_FAULT`] when they return after a call of [`FAULT_FUNCTION`].
///
/// Each function on the way there gets a private variable of the kernel as its last parameter. A
/// write to visible memory would keep compilers from moving loads of objects out of loops. A hot
/// loop took up to 2.5 times as long.
pub(super) fn report(module: &Module, image: &str) -> Result<Module> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let references = References::new(&definitions);
    let Some(fault) = fault_function(module) else {
        return Err(ImageError::Link(format!("`{FAULT_FUNCTION}` is not in the linked module")));
    };
    let entries: BTreeMap<u32, u64> = references
        .entry_points()
        .iter()
        .map(|entry| (entry.function, fault_id(image, &entry.name)))
        .collect();
    let mut users: BTreeSet<u32> = references.users(&BTreeSet::from([fault]));
    users.insert(fault);
    let kernel_names: BTreeSet<&str> =
        references.entry_points().iter().map(|entry| entry.name.as_str()).collect();
    let mut edit = Editor::new(&definitions);
    let pointer = variable(&mut edit);
    if module.version() >= Version::V1_4 {
        // More than are used may stand in interfaces.
        edit.add_to_interfaces(pointer);
    }
    for instruction in module.global_instructions() {
        let Some(id) = instruction.operand(0) else { continue };
        let gets_parameter = users.contains(&id) && !entries.contains_key(&id);
        let has_name_of_kernel = || instruction.string(1).is_some_and(|name| kernel_names.contains(&*name));
        // Translators take a function that is called as a kernel for that kernel: both would need
        // the same type.
        let is_namesake = instruction.is(Op::Name) && gets_parameter && has_name_of_kernel();
        if is_namesake || instruction.is(Op::Decorate) && id == fault {
            edit.remove(&instruction);
        }
    }
    let mut pass = Report { edit, types, users, entries, fault, pointer };
    for function in module.instructions().filter(|i| i.is(Op::Function)) {
        pass.function(&function)?;
    }
    Ok(pass.edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// The device global.
fn variable(edit: &mut Editor<'_>) -> u32 {
    let to = pointer_type(edit);
    let place = edit.pointer_type(StorageClass::CrossWorkgroup, to);
    let null = edit.null_constant(to);
    let pointer = edit.module_variable(place, StorageClass::CrossWorkgroup, Some(null));
    edit.decorate_linkage(pointer, VIRTUAL_FAULT, LinkageType::Export);
    edit.name(pointer, VIRTUAL_FAULT);
    pointer
}

/// The type of the pointer in it.
fn pointer_type(edit: &mut Editor<'_>) -> u32 {
    let ulong = edit.int_type(64);
    edit.pointer_type(StorageClass::CrossWorkgroup, ulong)
}

fn fault_function(module: &Module) -> Option<u32> {
    module.linkages().find(|(_, name, _)| name == FAULT_FUNCTION).map(|(id, ..)| id)
}

struct Report<'m> {
    edit: Editor<'m>,
    types: TypeTable<'m>,
    /// The functions that reach the fault function, and it.
    users: BTreeSet<u32>,
    /// Function of an entry point → id of the kernel.
    entries: BTreeMap<u32, u64>,
    fault: u32,
    /// The device global.
    pointer: u32,
}

impl Report<'_> {
    fn function(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let &[_, returns, id, control, ty] = instruction.words else { return Ok(()) };
        let definitions = self.edit.definitions();
        let label = definitions.body(id).find(|i| i.is(Op::Label));
        let Some(label) = label.filter(|_| self.users.contains(&id)) else { return Ok(()) };
        let ulong = self.edit.int_type(64);
        let kernel = self.entries.get(&id).copied();
        let kept = if kernel.is_some() {
            let kept = self.edit.variable(id, ulong, None);
            let zero = self.edit.int_constant(64, 0);
            self.edit.at_entry(id).push(Op::Store, &[kept, zero, ALIGNED, 8]);
            kept
        } else {
            let pointer = self.edit.pointer_type(StorageClass::Function, ulong);
            let ty = self.with_parameter(ty, pointer)?;
            self.edit.replace(instruction, Op::Function, &[returns, id, control, ty]);
            self.edit.before(&label).emit(Op::FunctionParameter, pointer, &[])
        };
        for instruction in definitions.body(id) {
            match (instruction.op(), kernel) {
                (Some(Op::Return), _) if id == self.fault => self.note(&instruction, kept),
                (Some(Op::Return), Some(kernel)) => self.report(&instruction, kept, kernel),
                (Some(Op::FunctionCall), _) => self.pass_on(&instruction, kept),
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives a function that may fault what points to the variable.
    fn pass_on(&mut self, call: &Instruction<'_>, kept: u32) {
        let may_fault = |called: u32| self.users.contains(&called) && !self.entries.contains_key(&called);
        if call.operand(0).is_some_and(may_fault) {
            let operands = call.words.get(1..).unwrap_or_default();
            self.edit.replace(call, Op::FunctionCall, &[operands, &[kept]].concat());
        }
    }

    /// The body of the fault function: the last fault counts.
    fn note(&mut self, before: &Instruction<'_>, kept: u32) {
        let mut body = self.edit.definitions().body(self.fault);
        let parameter = body.next().filter(|i| i.is(Op::FunctionParameter));
        let Some(code) = parameter.and_then(|i| i.result_id()) else { return };
        let mut at = self.edit.before(before);
        let ulong = at.int_type(64);
        let mask = at.int_constant(64, NO_FAULT);
        let value = at.emit(Op::BitwiseXor, ulong, &[code, mask]);
        at.push(Op::Store, &[kept, value, ALIGNED, 8]);
    }

    /// Before a kernel returns: what it kept goes to the device global.
    fn report(&mut self, before: &Instruction<'_>, kept: u32, kernel: u64) {
        let mut at = self.edit.before(before);
        let (ulong, bool, to) = (at.int_type(64), at.bool_type(), pointer_type(&mut at));
        let [zero, one, mask, kernel] = [0, 1, NO_FAULT, kernel].map(|value| at.int_constant(64, value));
        let [fault, done] = [(); 2].map(|()| at.fresh_id());
        let value = at.emit(Op::Load, ulong, &[kept, ALIGNED, 8]);
        let faulted = at.emit(Op::INotEqual, bool, &[value, zero]);
        at.push(Op::BranchConditional, &[faulted, fault, done]);
        at.push(Op::Label, &[fault]);
        let code = at.emit(Op::BitwiseXor, ulong, &[value, mask]);
        let first = at.emit(Op::Load, to, &[self.pointer, ALIGNED, 8]);
        at.push(Op::Store, &[first, code, ALIGNED, 8]);
        let second = at.emit(Op::InBoundsPtrAccessChain, to, &[first, one]);
        at.push(Op::Store, &[second, kernel, ALIGNED, 8]);
        at.push(Op::Branch, &[done]);
        at.push(Op::Label, &[done]);
    }

    /// The type of a function with the variable behind its parameters.
    fn with_parameter(&mut self, ty: u32, pointer: u32) -> Result<u32> {
        let Some(Type::Function { returns, parameters }) = self.types.ty(ty) else {
            let word = self.edit.definitions().word_index(ty).unwrap_or(0);
            return Err(ImageError::Spirv { word, what: format!("the type %{ty} of a function is none") });
        };
        Ok(self.edit.function_type(returns, &[parameters, &[pointer]].concat()))
    }
}
