//! Virtual calls that reach no function are noted, with the kernel that made them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{DeviceGlobalInfo, HostAccess, ImageError, Result};
use oclave_spirv::analysis::references::References;
use oclave_spirv::{
    Definitions, Instruction, LinkageType, Module, Op, Rewriter, Section, StorageClass, Type, TypeTable,
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

/// Aligned access: the mask of the operand, followed by the alignment.
const ALIGNED: u32 = 2;

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
    let mut pass = Report {
        new: Rewriter::new(&definitions),
        types,
        users,
        entries,
        kernel_names: references.entry_points().iter().map(|entry| entry.name.clone()).collect(),
        fault,
        pointer: 0,
        kernel: None,
        kept: None,
        declare: false,
        set: false,
        function: 0,
    };
    pass.variable();
    for instruction in module.instructions() {
        pass.instruction(&instruction)?;
    }
    Ok(pass.new.finish()?)
}

fn fault_function(module: &Module) -> Option<u32> {
    let linkage = module.instructions().take_while(|i| !i.is(Op::Function)).find(|i| {
        i.is(Op::Decorate)
            && i.operand(1) == Some(oclave_spirv::Decoration::LinkageAttributes as u32)
            && i.string_is(2, FAULT_FUNCTION)
    })?;
    linkage.operand(0)
}

struct Report<'m> {
    new: Rewriter<'m>,
    types: TypeTable<'m>,
    /// The functions that reach the fault function, and it.
    users: BTreeSet<u32>,
    /// Function of an entry point → id of the kernel.
    entries: BTreeMap<u32, u64>,
    kernel_names: BTreeSet<String>,
    fault: u32,
    /// The variable.
    pointer: u32,
    /// The id of the kernel that the current function is.
    kernel: Option<u64>,
    /// The kernel's variable, or the parameter that points to it.
    kept: Option<u32>,
    /// Whether it is still to be declared, and to be set.
    declare: bool,
    set: bool,
    function: u32,
}

impl Report<'_> {
    fn variable(&mut self) {
        let (place, to) = self.pointer_types();
        let null = self.new.null_constant(to);
        self.pointer = self.new.fresh_id();
        let class = StorageClass::CrossWorkgroup as u32;
        self.new.push_in(Section::Types, Op::Variable, &[place, self.pointer, class, null]);
        self.new.decorate_linkage(self.pointer, VIRTUAL_FAULT, LinkageType::Export);
        self.new.name(self.pointer, VIRTUAL_FAULT);
    }

    /// Whether a function that gets a parameter is named as a kernel.
    fn is_namesake(&self, name: &Instruction<'_>) -> bool {
        let changes = |id: u32| self.users.contains(&id) && !self.entries.contains_key(&id);
        name.operand(0).is_some_and(changes)
            && name.string(1).is_some_and(|name| self.kernel_names.contains(&*name))
    }

    /// The types of the variable and of the pointer in it.
    fn pointer_types(&mut self) -> (u32, u32) {
        let ulong = self.new.int_type(64);
        let to = self.new.pointer_type(StorageClass::CrossWorkgroup, ulong);
        (self.new.pointer_type(StorageClass::CrossWorkgroup, to), to)
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        match (instruction.op(), instruction.words) {
            // Translators take a function that is called as a kernel for that kernel: both would
            // need the same type.
            (Some(Op::Name), _) if self.is_namesake(instruction) => return Ok(()),
            (Some(Op::Decorate), _) if instruction.operand(0) == Some(self.fault) => return Ok(()),
            (Some(Op::EntryPoint), _) => {
                // From SPIR-V 1.4 on interfaces list all variables; more than are used may stand
                // there.
                let mut operands = instruction.operands().to_vec();
                if self.new.definitions().module().version() >= oclave_spirv::Version::V1_4 {
                    operands.push(self.pointer);
                }
                self.new.replace(instruction, Op::EntryPoint, &operands);
                return Ok(());
            }
            (Some(Op::Function), &[_, returns, id, control, ty]) => {
                self.function = id;
                self.kernel = self.entries.get(&id).copied();
                self.kept = self.users.contains(&id).then(|| self.new.fresh_id());
                self.declare = self.kept.is_some();
                if self.kernel.is_none() && self.kept.is_some() {
                    let ty = self.with_parameter(ty)?;
                    self.new.replace(instruction, Op::Function, &[returns, id, control, ty]);
                    return Ok(());
                }
            }
            (Some(Op::Label), _) if self.declare => {
                self.declare(instruction);
                return Ok(());
            }
            (Some(Op::Variable | Op::Line | Op::NoLine), _) => {}
            (op, _) => {
                if std::mem::take(&mut self.set) {
                    self.keep(0);
                }
                match op {
                    Some(Op::Return) if self.function == self.fault => self.note(),
                    Some(Op::Return) if self.kernel.is_some() => self.report(),
                    Some(Op::FunctionCall) if self.passes_on(instruction) => return Ok(()),
                    _ => {}
                }
            }
        }
        self.new.copy(instruction);
        Ok(())
    }

    /// At the first block of a function: the parameter before it, or the variable in it.
    fn declare(&mut self, label: &Instruction<'_>) {
        self.declare = false;
        let Some(kept) = self.kept else { return };
        let ty = self.kept_type();
        if self.kernel.is_none() {
            self.new.push(Op::FunctionParameter, &[ty, kept]);
            self.new.copy(label);
        } else {
            self.new.copy(label);
            self.new.push(Op::Variable, &[ty, kept, StorageClass::Function as u32]);
            self.set = true;
        }
    }

    fn keep(&mut self, value: u64) {
        let value = self.new.int_constant(64, value);
        if let Some(kept) = self.kept {
            self.new.push(Op::Store, &[kept, value, ALIGNED, 8]);
        }
    }

    /// Writes a call of a function that may fault, with what points to the variable.
    fn passes_on(&mut self, call: &Instruction<'_>) -> bool {
        let called = call.operand(0).unwrap_or(0);
        let Some(kept) = self.kept else { return false };
        if !self.users.contains(&called) || self.entries.contains_key(&called) {
            return false;
        }
        let mut operands = call.words.get(1..).unwrap_or_default().to_vec();
        operands.push(kept);
        self.new.replace(call, Op::FunctionCall, &operands);
        true
    }

    /// The body of the fault function: the last fault counts.
    fn note(&mut self) {
        let Some(kept) = self.kept else { return };
        let definitions = self.new.definitions();
        let Some(function) = definitions.instruction(self.fault) else { return };
        let mut parameters = definitions.module().instructions_from(function.at).skip(1);
        let Some(code) =
            parameters.next().filter(|i| i.is(Op::FunctionParameter)).and_then(|i| i.result_id())
        else {
            return;
        };
        let ulong = self.new.int_type(64);
        let mask = self.new.int_constant(64, NO_FAULT);
        let value = self.new.fresh_id();
        self.new.push(Op::BitwiseXor, &[ulong, value, code, mask]);
        self.new.push(Op::Store, &[kept, value, ALIGNED, 8]);
    }

    /// Before a kernel returns: what it kept goes to the device global.
    fn report(&mut self) {
        let (Some(kept), Some(kernel)) = (self.kept, self.kernel) else { return };
        let (ulong, bool) = (self.new.int_type(64), self.new.bool_type());
        let (_, to) = self.pointer_types();
        let [zero, one, mask, kernel] =
            [0, 1, NO_FAULT, kernel].map(|value| self.new.int_constant(64, value));
        let [value, faulted, fault, done, code, first, second] = [(); 7].map(|()| self.new.fresh_id());
        self.new.push(Op::Load, &[ulong, value, kept, ALIGNED, 8]);
        self.new.push(Op::INotEqual, &[bool, faulted, value, zero]);
        self.new.push(Op::BranchConditional, &[faulted, fault, done]);
        self.new.push(Op::Label, &[fault]);
        self.new.push(Op::BitwiseXor, &[ulong, code, value, mask]);
        self.new.push(Op::Load, &[to, first, self.pointer, ALIGNED, 8]);
        self.new.push(Op::Store, &[first, code, ALIGNED, 8]);
        self.new.push(Op::InBoundsPtrAccessChain, &[to, second, first, one]);
        self.new.push(Op::Store, &[second, kernel, ALIGNED, 8]);
        self.new.push(Op::Branch, &[done]);
        self.new.push(Op::Label, &[done]);
    }

    /// The type of the private variable's address.
    fn kept_type(&mut self) -> u32 {
        let ulong = self.new.int_type(64);
        self.new.pointer_type(StorageClass::Function, ulong)
    }

    /// The type of a function with the variable behind its parameters.
    fn with_parameter(&mut self, ty: u32) -> Result<u32> {
        let Some(Type::Function { returns, parameters }) = self.types.ty(ty) else {
            let word = self.new.definitions().word_index(ty).unwrap_or(0);
            return Err(ImageError::Spirv { word, what: format!("the type %{ty} of a function is none") });
        };
        let kept = self.kept_type();
        Ok(self.new.function_type(returns, &[parameters, &[kept]].concat()))
    }
}
