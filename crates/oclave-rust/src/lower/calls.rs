//! Calls: of functions, of what the device has, and of what `oclave-kernel` means by a name.

use std::rc::Rc;

use oclave_spirv::transform::dimensions::of_others;
use oclave_spirv::{ALIGNED, BuiltIn, Capability, Op};

use super::builder::ValueId;
use super::function::{Lower, Lowering, Refusal};
use super::types::{Leaf, Scalar, leaves};
use super::{Argument, library};
use crate::demangle;
use crate::kernels::{self, INTRINSIC};
use crate::llvm::tree::{BlockIndex, Constant, Instruction, Local, Operand, Type, Typed};
use crate::spaces::Storage;

/// The order of a barrier.
const SEQUENTIALLY_CONSISTENT: u64 = 0x10;
/// Local and global memory, in the semantics of a barrier.
const ALL_MEMORY: u64 = 0x300;
/// The scope of a work-group.
pub(super) const WORK_GROUP: u64 = 2;
/// That of a sub-group.
pub(super) const SUB_GROUP: u64 = 3;

impl Lower<'_, '_> {
    pub(super) fn call(
        &mut self,
        instruction: &Instruction,
        at: (BlockIndex, usize),
        name: &str,
        arguments: &[Typed],
        aligns: &[u64],
    ) -> Lowering<()> {
        if let Some(intrinsic) = name.strip_prefix("llvm.") {
            return self.intrinsic(instruction, intrinsic, arguments, aligns);
        }
        if let Some(copy) = self.analysis.calls.get(&at).cloned() {
            return self.call_function(instruction, &copy, arguments, self.is_last_call(at));
        }
        if let Some(foreign) = self.output.foreign(name).cloned() {
            return self.call_foreign(instruction, &foreign, arguments);
        }
        if let Some(own) = name.strip_prefix(INTRINSIC) {
            return self.own(instruction, own, arguments);
        }
        if let Some(what) = opencl_index(name) {
            return self.index_function(instruction, what, arguments);
        }
        if name.starts_with("_Z7barrierj") {
            return self.barrier(WORK_GROUP, ALL_MEMORY);
        }
        if let Some((number, count)) = library::symbol(name) {
            return self.mathematics(instruction, number, count, arguments);
        }
        match name {
            "memcpy" | "memmove" => self.copy(arguments, aligns, name == "memmove"),
            "memset" => self.fill(arguments, aligns),
            "memcmp" | "bcmp" => self.compare(instruction, arguments),
            _ => Err(self.undefined(name)),
        }
    }

    /// Why a function that is only declared cannot be called.
    fn undefined(&self, name: &str) -> Refusal {
        let path = demangle::path(name);
        if name.contains("__rust_alloc") || name.contains("__rust_no_alloc_shim") {
            return Refusal::new(
                "it allocates memory (`Vec`, `Box`, `String`)",
                "use arrays, slices and references; devices have no heap",
            );
        }
        if path.starts_with("std::") {
            return Refusal::new(
                format!("it calls `{path}`, which needs an operating system"),
                "leave it to the host",
            );
        }
        if path.starts_with("core::") {
            return Refusal::new(
                format!(
                    "it calls `{path}`, which is neither generic nor inlined: rustc has its code in the standard library only"
                ),
                "write it in the kernel's own file",
            );
        }
        Refusal::new(
            format!("it calls `{path}`, which no crate of the program defines"),
            "add the crate that defines it; functions of OpenCL have their names of Rust in oclave-kernel",
        )
    }

    /// Calls a function. The last call of a block never returns.
    fn call_function(
        &mut self,
        instruction: &Instruction,
        copy: &crate::spaces::Copy,
        arguments: &[Typed],
        is_last: bool,
    ) -> Lowering<()> {
        let Some((_, function)) = self.output.program.function(copy.symbol.module, &copy.symbol.name) else {
            return Err(self.undefined(&copy.symbol.name));
        };
        let emitted = self.output.function(copy, &function)?;
        let analysis = self.output.analyses.get(copy, &function)?;
        let mut words = vec![emitted.id];
        for ((ty, argument), (_, parameter)) in arguments.iter().zip(&function.parameters) {
            let storage = analysis.of(*parameter);
            words.extend(self.operand(ty, argument, storage)?.iter());
        }
        let note = emitted.panics.then(|| self.note());
        words.extend(note);
        let storage = analysis.of_result();
        let parts = leaves(&instruction.ty)?;
        let ty = self.result_type(&parts, storage);
        let result = self.op(Op::FunctionCall, ty, &words);
        match note {
            Some(note) if is_last => return self.leave_with_note(note),
            Some(note) => self.check_note(note)?,
            None => {}
        }
        let values: Vec<ValueId> = match parts.len() {
            0 => Vec::new(),
            1 => vec![result],
            _ => {
                let mut values = Vec::new();
                for (index, leaf) in (0_u32..).zip(&parts) {
                    let ty = self.leaf_type(leaf.scalar, storage);
                    values.push(self.op_words(Op::CompositeExtract, ty, vec![result.word(), index]));
                }
                values
            }
        };
        self.set(instruction, values);
        Ok(())
    }

    /// A call of one of several functions: a switch over the numbers that stand for their addresses.
    pub(super) fn call_through_pointer(
        &mut self,
        instruction: &Instruction,
        at: (BlockIndex, usize),
        pointer: Local,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let (copies, is_whole) = self.analysis.indirect.get(&at).cloned().unwrap_or_default();
        let copies = match copies.as_slice() {
            [] => {
                return Err(Refusal::new(
                    "it calls a function through a pointer, and no function of this type has its address taken",
                    "make the object or the pointer in the kernel, by functions that the kernel calls",
                ));
            }
            [copy] if is_whole => {
                return self.call_function(instruction, copy, arguments, self.is_last_call(at));
            }
            copies => copies.to_vec(),
        };
        let (address, storage) = self.pointer(&Operand::Local(pointer))?;
        let uint = self.int(32);
        let number = self.number_of_address(address, storage);
        let number = self.op(Op::UConvert, uint, &[number]);
        let labels: Vec<ValueId> = copies.iter().map(|_| self.output.builder.value()).collect();
        let end = self.output.builder.value();
        let other = if is_whole { None } else { Some(self.output.builder.value()) };
        let Some(default) = other.or(labels.last().copied()) else { return Err("a call of nothing".into()) };
        let mut operands = vec![number.word(), default.word()];
        for (copy, label) in copies.iter().zip(&labels) {
            let number = self.output.function_number(&copy.symbol);
            operands.extend([number as u32, label.word()]);
        }
        self.end(Op::Switch, &operands);
        let mut incoming = Vec::new();
        for (copy, label) in copies.iter().zip(&labels) {
            self.begin(*label);
            self.call_function(instruction, copy, arguments, false)?;
            let values = instruction.result.and_then(|result| self.values.get(&result).cloned());
            if let Some(from) = self.current_label() {
                incoming.push((from, values.unwrap_or_else(|| Rc::from([]))));
            }
            self.end(Op::Branch, &[end.word()]);
        }
        if let Some(other) = other {
            self.begin(other);
            self.panic_without_function(instruction)?;
        }
        let storage = self.result_storage(instruction);
        let types: Vec<_> =
            leaves(&instruction.ty)?.iter().map(|leaf| self.leaf_type(leaf.scalar, storage)).collect();
        let values = self.begin_with(end, &types, &incoming);
        self.set(instruction, values);
        Ok(())
    }

    pub(super) fn mathematics(
        &mut self,
        instruction: &Instruction,
        number: u32,
        count: usize,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let ty = &instruction.ty;
        let mut lists: Vec<Rc<[ValueId]>> = Vec::new();
        for (ty, argument) in arguments.iter().take(count) {
            lists.push(self.operand(ty, argument, Storage::Global)?);
        }
        let mut results = Vec::new();
        for (index, leaf) in leaves(ty)?.iter().enumerate() {
            if !matches!(leaf.scalar, Scalar::Float(_)) {
                return Err(format!("a function of mathematics with a result of the type {ty}").into());
            }
            let operands: Vec<ValueId> = lists.iter().filter_map(|list| list.get(index).copied()).collect();
            if operands.len() != count {
                return Err("a function of mathematics with other parameters than in OpenCL".into());
            }
            let ty = self.leaf_type(leaf.scalar, Storage::Global);
            results.push(self.std(number, ty, &operands));
        }
        self.set(instruction, results);
        Ok(())
    }

    /// A function that `oclave-kernel` declares.
    fn own(&mut self, instruction: &Instruction, name: &str, arguments: &[Typed]) -> Lowering<()> {
        let index = || match arguments.first() {
            Some((_, Operand::Constant(Constant::Int(value)))) => u64::try_from(*value).ok(),
            Some((_, Operand::Constant(Constant::Zero))) => Some(0),
            _ => None,
        };
        if name.starts_with("argument_") {
            let arguments =
                self.arguments.ok_or("the parameters of a kernel, which only the kernel itself has")?;
            let index = index().and_then(|index| usize::try_from(index).ok());
            let argument = index.and_then(|index| arguments.get(index)).copied();
            let argument = argument.ok_or("a parameter that the kernel does not have")?;
            return self.argument(instruction, argument);
        }
        let numbers = |at: usize| match arguments.get(at) {
            Some((_, Operand::Constant(Constant::Int(value)))) => Ok(*value as u64),
            Some((_, Operand::Constant(Constant::Zero))) => Ok(0),
            _ => Err(Refusal::from("an argument of oclave-kernel's that is calculated")),
        };
        if matches!(name, "barrier" | "group_vote")
            || name.starts_with("group_combine_")
            || name.starts_with("group_broadcast_")
        {
            self.check_waits()?;
            self.mark_wait(instruction);
        }
        match name {
            "barrier" => {
                // LLVM makes one of two barriers at which branches end, and selects the memory.
                let memory = numbers(1).unwrap_or(ALL_MEMORY);
                self.barrier(numbers(0)?, memory)
            }
            "whole" => Ok(()),
            "group_vote" => self.vote(instruction, numbers(0)?, numbers(1)? != 0, arguments),
            _ if name.starts_with("group_combine_") => {
                self.combine(instruction, [numbers(0)?, numbers(1)?, numbers(2)?], arguments)
            }
            _ if name.starts_with("group_broadcast_") => {
                self.broadcast(instruction, numbers(0)?, numbers(1)?, arguments)
            }
            _ if name.starts_with("spec_constant_") => {
                let scalar = name.strip_prefix("spec_constant_").and_then(kernels::Scalar::of_rust);
                let scalar = scalar.ok_or("a specialization constant of an unknown type")?;
                let bits = match arguments.get(1) {
                    Some((_, Operand::Constant(Constant::Int(bits)))) => *bits as u64,
                    Some((_, Operand::Constant(Constant::Float(bits)))) => *bits,
                    Some((_, Operand::Constant(Constant::Zero))) => 0,
                    _ => return Err("a specialization constant whose default is calculated".into()),
                };
                let id = u32::try_from(numbers(0)?).map_err(|_| "a number of a specialization constant")?;
                let constant = self.output.spec_constant(id, scalar, bits);
                self.set(instruction, vec![constant]);
                Ok(())
            }
            _ if name.starts_with("object_index_") => self.object_index(instruction, name, arguments),
            _ if name.starts_with("object_table_") => Err(no_class(name)),
            _ if name.starts_with("image_") => self.image(instruction, name, arguments),
            _ if name.starts_with("print_") => self.print(instruction, name, arguments),
            _ if name.starts_with("half_") => self.half(instruction, name, arguments),
            "on_device" | "on_host" => {
                let guard = self.output.guard(name);
                let ty = self.bool();
                let result = self.op(Op::FunctionCall, ty, &[guard]);
                self.set(instruction, vec![result]);
                Ok(())
            }
            "local_memory" => {
                let bytes = index().ok_or("local memory of a size that is calculated")?;
                let pointer = self.local_memory(bytes);
                self.set(instruction, vec![pointer]);
                Ok(())
            }
            _ => match own_index(name) {
                Some(what) => self.index_function(instruction, what, arguments),
                None => Err(Refusal::new(
                    format!("`{INTRINSIC}{name}`, which this version of oclave-rust does not know"),
                    "use the version of oclave-kernel that belongs to this oclave-build",
                )),
            },
        }
    }

    /// The number of a class in the table of its trait, by what memory has of the class.
    fn object_index(&mut self, instruction: &Instruction, name: &str, arguments: &[Typed]) -> Lowering<()> {
        let [(class_type, class), (room_type, room)] = arguments else {
            return Err("an object without a class".into());
        };
        let Some(set) = self.output.program.set(name.strip_prefix("object_index_").unwrap_or_default())
        else {
            return Err(no_class(name));
        };
        let known_room = match room {
            Operand::Constant(Constant::Int(room)) => Some(*room as u64),
            _ => None,
        };
        let class = self.scalar(class_type, class)?;
        let (bool, uint) = (self.bool(), self.int(32));
        let mut index = self.number(32, u64::from(u32::MAX));
        for (position, known) in (0_u64..).zip(&set.classes) {
            if known_room.is_some_and(|room| room < known.size) {
                continue;
            }
            let number = self.number(64, known.number);
            let mut is_it = self.op(Op::IEqual, bool, &[class, number]);
            if known_room.is_none() {
                let (room, size) = (self.scalar(room_type, room)?, self.number(64, known.size));
                let fits = self.op(Op::UGreaterThanEqual, bool, &[room, size]);
                is_it = self.op(Op::LogicalAnd, bool, &[is_it, fits]);
            }
            let position = self.number(32, position);
            index = self.op(Op::Select, uint, &[is_it, position, index]);
        }
        self.set(instruction, vec![index]);
        Ok(())
    }

    fn argument(&mut self, instruction: &Instruction, argument: Argument) -> Lowering<()> {
        let value = match (argument.pointee, leaves(&instruction.ty)?.as_slice()) {
            (Some((pointee, storage)), [Leaf { scalar: Scalar::Pointer, .. }]) => {
                let wanted = self.result_storage(instruction);
                let bytes = self.untyped(argument.id, storage, pointee);
                self.in_storage(bytes, storage, wanted)
            }
            // A vector, which is read from memory as other values of several numbers are.
            (None, [Leaf { scalar: Scalar::Pointer, .. }]) => {
                let variable = self.variable(argument.ty, None);
                self.effect(Op::Store, &[variable.word(), argument.id.word()]);
                let wanted = self.result_storage(instruction);
                let bytes = self.untyped(variable, Storage::Function, argument.ty);
                self.in_storage(bytes, Storage::Function, wanted)
            }
            (None, [leaf]) => {
                let ty = self.leaf_type(leaf.scalar, Storage::Global);
                if ty != argument.ty {
                    return Err("a parameter of another type than the kernel's description says".into());
                }
                argument.id
            }
            _ => return Err("a parameter of another type than the kernel's description says".into()),
        };
        self.set(instruction, vec![value]);
        Ok(())
    }

    fn barrier(&mut self, scope: u64, memory: u64) -> Lowering<()> {
        let scope = self.number(32, scope);
        let semantics = self.number(32, SEQUENTIALLY_CONSISTENT | memory);
        self.effect(Op::ControlBarrier, &[scope.word(), scope.word(), semantics.word()]);
        Ok(())
    }

    /// Only the kernel itself may wait for other work-items: it knows who has panicked.
    fn check_waits(&self) -> Lowering<()> {
        if self.arguments.is_some() {
            return Ok(());
        }
        Err(Refusal::new(
            "it waits for the other work-items in a function that is not inlined into the kernel",
            "mark the function `#[inline(always)]`",
        ))
    }

    /// Whether something is true for some or all work-items of a group.
    fn vote(
        &mut self,
        instruction: &Instruction,
        scope: u64,
        all: bool,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let [.., (ty, value)] = arguments else { return Err("a vote about nothing".into()) };
        let value = self.scalar(ty, value)?;
        self.output.capability(Capability::Groups);
        let (bool, scope) = (self.bool(), self.number(32, scope));
        let result = self.op(if all { Op::GroupAll } else { Op::GroupAny }, bool, &[scope, value]);
        self.set(instruction, vec![result]);
        Ok(())
    }

    /// The values of a group, combined by an operation that has its number in SPIR-V.
    fn combine(
        &mut self,
        instruction: &Instruction,
        [scope, part, operation]: [u64; 3],
        arguments: &[Typed],
    ) -> Lowering<()> {
        let [.., (ty, value)] = arguments else { return Err("a reduction of nothing".into()) };
        let operations = [
            Op::GroupIAdd,
            Op::GroupFAdd,
            Op::GroupFMin,
            Op::GroupUMin,
            Op::GroupSMin,
            Op::GroupFMax,
            Op::GroupUMax,
            Op::GroupSMax,
        ];
        let operation = operations.into_iter().find(|op| *op as u64 == operation);
        let operation = operation.ok_or("an unknown operation of a group")?;
        let value = self.scalar(ty, value)?;
        self.output.capability(Capability::Groups);
        let [leaf] = leaves(ty)?[..] else { return Err("a reduction of more than a number".into()) };
        let ty = self.leaf_type(leaf.scalar, Storage::Global);
        let scope = self.number(32, scope);
        let result = self.op_words(operation, ty, vec![scope.word(), part as u32, value.word()]);
        self.set(instruction, vec![result]);
        Ok(())
    }

    /// The value of one work-item of a group.
    fn broadcast(
        &mut self,
        instruction: &Instruction,
        scope: u64,
        dimensions: u64,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let [_, _, ids @ .., (ty, value)] = arguments else { return Err("a broadcast of nothing".into()) };
        let value = self.scalar(ty, value)?;
        let mut parts = Vec::new();
        for (ty, id) in ids.iter().take(usize::try_from(dimensions).unwrap_or(1)) {
            parts.push(self.scalar(ty, id)?);
        }
        self.output.capability(Capability::Groups);
        let id = match parts.as_slice() {
            // Sub-groups have ids of 32 bits.
            [id] if scope != WORK_GROUP => self.resize(*id, 64, 32),
            [id] => *id,
            _ => {
                let ulong = self.int(64);
                let vector = self.output.builder.vector_type(ulong, parts.len() as u32);
                self.op(Op::CompositeConstruct, vector, &parts)
            }
        };
        let [leaf] = leaves(ty)?[..] else { return Err("a broadcast of more than a number".into()) };
        let ty = self.leaf_type(leaf.scalar, Storage::Global);
        let scope = self.number(32, scope);
        let result = self.op(Op::GroupBroadcast, ty, &[scope, value, id]);
        self.set(instruction, vec![result]);
        Ok(())
    }

    /// A function of the index space, such as `get_global_id`.
    fn index_function(
        &mut self,
        instruction: &Instruction,
        what: Index,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let value = match what {
            Index::Vector(built_in) => {
                let axis = match arguments.first() {
                    Some((_, Operand::Constant(Constant::Int(axis)))) => u32::try_from(*axis).ok(),
                    Some((_, Operand::Constant(Constant::Zero))) => Some(0),
                    _ => None,
                };
                match axis {
                    Some(axis @ 0..=2) => self.built_in_part(built_in, axis),
                    Some(_) => self.number(64, of_others(built_in).unwrap_or(0)),
                    None => return Err("an id of a dimension that is calculated".into()),
                }
            }
            Index::Scalar(built_in) => {
                let (variable, ty) = self.output.built_in(built_in, false);
                self.op_words(Op::Load, ty, vec![variable.word(), ALIGNED, 8])
            }
            Index::Word(built_in) => {
                self.output.capability(Capability::Groups);
                let uint = self.int(32);
                let variable = self.output.builder.built_in(built_in, uint);
                self.op_words(Op::Load, uint, vec![variable.word(), 2, 4])
            }
        };
        let is_word = matches!(what, Index::Word(_));
        let value = match instruction.ty {
            Type::Int(32) if !is_word => self.resize(value, 64, 32),
            Type::Int(64) if is_word => self.resize(value, 32, 64),
            Type::Int(32 | 64) => value,
            _ => return Err(format!("an id of the type {}", instruction.ty).into()),
        };
        self.set(instruction, vec![value]);
        Ok(())
    }

    pub(super) fn built_in_part(&mut self, built_in: BuiltIn, axis: u32) -> ValueId {
        let (variable, ty) = self.output.built_in(built_in, true);
        let vector = self.op_words(Op::Load, ty, vec![variable.word(), 2, 32]);
        let ulong = self.int(64);
        self.op_words(Op::CompositeExtract, ulong, vec![vector.word(), axis])
    }
}

/// Why objects of a trait cannot be called, by the name of a function of `oclave-kernel`.
fn no_class(name: &str) -> Refusal {
    let set = name.splitn(3, '_').last().unwrap_or(name);
    let name = set.rsplit("::").next().and_then(|name| name.split(':').next()).unwrap_or(set);
    Refusal::new(
        format!("it calls objects of `dyn {name}`, of which the program has no class"),
        "write `#[objects]` before the implementations of the trait",
    )
}

/// A function of the index space.
#[derive(Debug, Clone, Copy)]
enum Index {
    /// A part of a vector.
    Vector(BuiltIn),
    /// 64 bits.
    Scalar(BuiltIn),
    /// 32 bits, of sub-groups.
    Word(BuiltIn),
}

/// The functions of `oclave-kernel`.
fn own_index(name: &str) -> Option<Index> {
    Some(match name {
        "global_id" => Index::Vector(BuiltIn::GlobalInvocationId),
        "global_size" => Index::Vector(BuiltIn::GlobalSize),
        "global_offset" => Index::Vector(BuiltIn::GlobalOffset),
        "local_id" => Index::Vector(BuiltIn::LocalInvocationId),
        "local_size" => Index::Vector(BuiltIn::WorkgroupSize),
        "group_id" => Index::Vector(BuiltIn::WorkgroupId),
        "group_count" => Index::Vector(BuiltIn::NumWorkgroups),
        "global_linear_id" => Index::Scalar(BuiltIn::GlobalLinearId),
        "local_linear_id" => Index::Scalar(BuiltIn::LocalInvocationIndex),
        "sub_group_size" => Index::Word(BuiltIn::SubgroupSize),
        "sub_group_id" => Index::Word(BuiltIn::SubgroupId),
        "sub_group_local_id" => Index::Word(BuiltIn::SubgroupLocalInvocationId),
        _ => return None,
    })
}

/// The functions of OpenCL C, by their symbols.
fn opencl_index(symbol: &str) -> Option<Index> {
    own_index(match symbol {
        "_Z13get_global_idj" => "global_id",
        "_Z15get_global_sizej" => "global_size",
        "_Z17get_global_offsetj" => "global_offset",
        "_Z12get_local_idj" => "local_id",
        "_Z14get_local_sizej" => "local_size",
        "_Z12get_group_idj" => "group_id",
        "_Z14get_num_groupsj" => "group_count",
        "_Z20get_global_linear_idv" => "global_linear_id",
        "_Z19get_local_linear_idv" => "local_linear_id",
        _ => return None,
    })
}
