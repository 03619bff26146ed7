//! One copy of a function.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use oclave_spirv::{ALIGNED, Code, Op};

use super::builder::{TypeId, ValueId};
use super::code::{Block, Inst, assemble, leave_out_unused};
use super::messages::{DivergingCall, Source};
use super::overwritten::leave_out_overwritten;
use super::types::{Leaf, Scalar, class, leaves, range, storage_width};
use super::wide::Wide;
use super::{Argument, ConstantValue, Output, panics};
use crate::llvm::layout;
use crate::llvm::tree::{
    BlockIndex, Callee, Constant, Expression, Function, Instruction, IntPredicate, Kind, Local, Operand,
    Type, Typed,
};
use crate::memory;
use crate::program::Symbol;
use crate::spaces::{Analysis, Copy, Storage, is_panic};
use crate::{Error, Place, Result};

/// A function that was lowered, without its head.
pub(super) struct Lowered {
    pub(super) returns: TypeId,
    pub(super) parameters: Vec<(TypeId, ValueId)>,
    pub(super) code: Code,
    pub(super) panics: bool,
}

/// Why an instruction cannot be lowered, and what to do about it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) what: String,
    pub(super) remedy: &'static str,
    /// Where it is of a function that is called: the error there.
    pub(super) inner: Option<Box<Error>>,
}

impl Refusal {
    pub(super) fn new(what: impl Into<String>, remedy: &'static str) -> Self {
        Self { what: what.into(), remedy, inner: None }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { inner: Some(Box::new(error)), ..Self::new("", "") }
    }
}

/// What is done about what no device has.
const REWRITE: &str = "write it in another way";

impl From<String> for Refusal {
    fn from(what: String) -> Self {
        Self::new(what, REWRITE)
    }
}

impl From<&str> for Refusal {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

pub(super) type Lowering<T> = std::result::Result<T, Refusal>;

/// A phi whose operands are written when all blocks are.
struct Pending {
    block: usize,
    at: usize,
    ty: Type,
    storage: Storage,
    incoming: Vec<(Operand, BlockIndex)>,
    results: usize,
}

pub(super) struct Lower<'a, 'p> {
    pub(super) output: &'a mut Output<'p>,
    pub(super) copy: &'a Copy,
    function: &'a Function,
    pub(super) analysis: Rc<Analysis>,
    /// The parameters of a kernel; `None` for other functions.
    pub(super) arguments: Option<&'a [Argument]>,
    pub(super) values: BTreeMap<Local, Rc<[ValueId]>>,
    pub(super) variables: Vec<Inst>,
    pub(super) blocks: Vec<Block>,
    /// Blocks that end because of a panic.
    pub(super) panic_exits: BTreeSet<usize>,
    /// What they tell the host.
    pub(super) reports: Vec<panics::Report>,
    /// The block that is being written.
    pub(super) current: usize,
    labels: BTreeMap<BlockIndex, ValueId>,
    /// The block of SPIR-V with which a block of LLVM ends.
    exits: BTreeMap<BlockIndex, usize>,
    pending: Vec<Pending>,
    /// A pointer to bytes → the same pointer as it was before the cast.
    typed: BTreeMap<ValueId, (ValueId, TypeId)>,
    /// Pointers to elements of arrays in variables → the variable, and the number of the element.
    elements: BTreeMap<ValueId, (ValueId, ValueId)>,
    /// Constants that were copied to the stack.
    copies: BTreeMap<Symbol, ValueId>,
    /// Pointers that were calculated from others, by constant offsets.
    addresses: BTreeMap<Local, (Local, u64)>,
    /// The address of the kernel's note of a panic.
    note: Option<ValueId>,
    /// What is written at the begin of the first block.
    prologue: Vec<Inst>,
    /// The places in the source that waits come from.
    pub(super) origins: Vec<Vec<Place>>,
}

impl<'a, 'p> Lower<'a, 'p> {
    pub(super) fn new(
        output: &'a mut Output<'p>,
        copy: &'a Copy,
        function: &'a Function,
        analysis: Rc<Analysis>,
        arguments: Option<&'a [Argument]>,
    ) -> Self {
        Self {
            output,
            copy,
            function,
            analysis,
            arguments,
            values: BTreeMap::new(),
            variables: Vec::new(),
            blocks: Vec::new(),
            panic_exits: BTreeSet::new(),
            reports: Vec::new(),
            current: 0,
            labels: BTreeMap::new(),
            exits: BTreeMap::new(),
            pending: Vec::new(),
            typed: BTreeMap::new(),
            elements: BTreeMap::new(),
            copies: BTreeMap::new(),
            addresses: BTreeMap::new(),
            note: None,
            prologue: Vec::new(),
            origins: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<Lowered> {
        let parameters = match self.parameters() {
            Ok(parameters) => parameters,
            Err(refusal) => return Err(self.refuse(None, refusal)),
        };
        let function = self.function;
        let order = order(function);
        for &index in &order {
            let label = self.output.builder.value();
            self.labels.insert(index, label);
        }
        for &index in &order {
            let Some(block) = function.blocks.get(index.0 as usize) else { continue };
            let label = self.label(index);
            self.begin(label);
            let (message, mut stores) = (self.begin_of_message(&block.instructions), Vec::new());
            for (position, instruction) in block.instructions.iter().enumerate() {
                self.remember_address(instruction);
                let done = if self.is_panic(&block.instructions, position) {
                    let before = block.instructions.get(..position).unwrap_or_default();
                    self.panic(instruction, before, &stores)
                } else if position >= message && self.is_private_store(instruction) {
                    // Nothing reads it. It may store what no device can hold: tables of references.
                    stores.push(instruction);
                    Ok(())
                } else {
                    self.instruction(instruction, (index, position))
                };
                if let Err(refusal) = done {
                    return Err(self.refuse(Some(instruction), refusal));
                }
                if self.is_ended() {
                    break;
                }
            }
            if !self.is_ended() {
                self.end(Op::Unreachable, &[]);
            }
            self.exits.insert(index, self.current);
        }
        if let Err(refusal) = self.phis(&order) {
            return Err(self.refuse(None, refusal));
        }
        let returns = match self.return_type() {
            Ok(ty) => ty,
            Err(refusal) => return Err(self.refuse(None, refusal)),
        };
        if let Some(first) = self.blocks.first_mut() {
            let prologue = std::mem::take(&mut self.prologue);
            first.code.splice(0..0, prologue);
        }
        if self.arguments.is_some() {
            if self.waits() {
                self.join_nested_loops();
            }
            self.write_reports();
            self.unite_copied_waits();
            let unchecked = self.unchecked();
            if self.waits() {
                let mut blocks = std::mem::take(&mut self.blocks);
                if self.panic_exits.is_empty() {
                    blocks = self.unrolled(blocks);
                }
                self.blocks = self.with_own_addresses(blocks);
            }
            if let Err(refusal) = self.meet() {
                return Err(self.refuse(None, refusal));
            }
            if let Some(unchecked) = unchecked {
                self.choose(unchecked);
            }
        }
        let panics = self.note.is_some() && self.arguments.is_none();
        let mut all: Vec<(TypeId, ValueId)> = parameters;
        if panics && let Some(note) = self.note {
            let ty = self.note_type();
            all.push((ty, note));
        }
        let blocks = std::mem::take(&mut self.blocks);
        let code = self.assemble(blocks);
        Ok(Lowered { returns, parameters: all, code, panics })
    }

    /// The words of blocks with the function's variables.
    pub(super) fn assemble(&self, mut blocks: Vec<Block>) -> Code {
        leave_out_unused(&mut blocks);
        if leave_out_overwritten(&self.output.builder, &self.variables, &mut blocks) {
            leave_out_unused(&mut blocks);
        }
        assemble(&self.variables, &blocks)
    }

    fn refuse(&self, instruction: Option<&Instruction>, refusal: Refusal) -> Error {
        if let Some(inner) = refusal.inner {
            return *inner;
        }
        let symbol = &self.copy.symbol;
        self.output.program.unsupported(symbol, self.function, instruction, refusal.what, refusal.remedy)
    }

    // Blocks.

    fn label(&mut self, index: BlockIndex) -> ValueId {
        match self.labels.get(&index) {
            Some(label) => *label,
            None => self.output.builder.value(),
        }
    }

    pub(super) fn begin(&mut self, label: ValueId) {
        self.current = self.blocks.len();
        self.blocks.push(Block::new(label));
    }

    fn is_ended(&self) -> bool {
        self.blocks.get(self.current).is_none_or(|block| block.end.is_some())
    }

    /// The label of the block that is being written.
    pub(super) fn current_label(&self) -> Option<ValueId> {
        self.blocks.get(self.current).map(|block| block.label)
    }

    /// Begins a block with values of others, each with the label of the block that it comes from.
    pub(super) fn begin_with(
        &mut self,
        label: ValueId,
        types: &[TypeId],
        incoming: &[(ValueId, Rc<[ValueId]>)],
    ) -> Vec<ValueId> {
        self.begin(label);
        let mut results = Vec::new();
        for (index, ty) in types.iter().enumerate() {
            let id = self.output.builder.value();
            let operands = incoming
                .iter()
                .filter_map(|(from, values)| Some([values.get(index)?.word(), from.word()]))
                .flatten()
                .collect();
            if let Some(block) = self.blocks.get_mut(self.current) {
                block.phis.push(Inst { op: Op::Phi, result: Some((*ty, id)), operands });
            }
            results.push(id);
        }
        results
    }

    pub(super) fn push(&mut self, inst: Inst) {
        if let Some(block) = self.blocks.get_mut(self.current) {
            block.code.push(inst);
        }
    }

    /// Writes an instruction with a result.
    pub(super) fn op(&mut self, op: Op, ty: TypeId, operands: &[ValueId]) -> ValueId {
        let operands: Vec<u32> = operands.iter().map(|operand| operand.word()).collect();
        self.op_words(op, ty, operands)
    }

    pub(super) fn op_words(&mut self, op: Op, ty: TypeId, operands: Vec<u32>) -> ValueId {
        let id = self.output.builder.value();
        self.push(Inst { op, result: Some((ty, id)), operands });
        id
    }

    /// Writes an instruction without a result.
    pub(super) fn effect(&mut self, op: Op, operands: &[u32]) {
        self.push(Inst { op, result: None, operands: operands.to_vec() });
    }

    pub(super) fn end(&mut self, op: Op, operands: &[u32]) {
        if let Some(block) = self.blocks.get_mut(self.current) {
            block.end.get_or_insert(Inst { op, result: None, operands: operands.to_vec() });
        }
    }

    /// An instruction of `OpenCL.std`.
    pub(super) fn std(&mut self, number: u32, ty: TypeId, operands: &[ValueId]) -> ValueId {
        let set = self.output.builder.opencl_std();
        let mut words = vec![set.word(), number];
        words.extend(operands.iter().map(|operand| operand.word()));
        self.op_words(Op::ExtInst, ty, words)
    }

    /// A variable of the function.
    pub(super) fn variable(&mut self, ty: TypeId, value: Option<ValueId>) -> ValueId {
        let pointer = self.output.builder.pointer_type(class(Storage::Function), ty);
        let id = self.output.builder.value();
        let mut operands = vec![class(Storage::Function) as u32];
        operands.extend(value.map(ValueId::word));
        self.variables.push(Inst { op: Op::Variable, result: Some((pointer, id)), operands });
        id
    }

    // Types and constants.

    pub(super) fn int(&mut self, width: u32) -> TypeId {
        self.output.builder.int_type(storage_width(width))
    }

    pub(super) fn bool(&mut self) -> TypeId {
        self.output.builder.bool_type()
    }

    /// A constant of the type in which integers of a width lie.
    pub(super) fn number(&mut self, width: u32, value: u64) -> ValueId {
        self.output.builder.int_constant(storage_width(width), value)
    }

    pub(super) fn leaf_type(&mut self, leaf: Scalar, storage: Storage) -> TypeId {
        self.output.scalar_type(leaf, storage)
    }

    // Parameters and results.

    fn parameters(&mut self) -> Lowering<Vec<(TypeId, ValueId)>> {
        let mut all = Vec::new();
        for (ty, local) in &self.function.parameters {
            let storage = self.analysis.of(*local);
            let mut ids = Vec::new();
            for leaf in leaves(ty)? {
                let (ty, id) = (self.leaf_type(leaf.scalar, storage), self.output.builder.value());
                all.push((ty, id));
                ids.push(id);
            }
            self.values.insert(*local, ids.into());
        }
        Ok(all)
    }

    /// The type of results: nothing, a scalar, or a struct of scalars.
    fn return_type(&mut self) -> Lowering<TypeId> {
        let parts = leaves(&self.function.returns)?;
        let storage = self.analysis.of_result();
        Ok(self.result_type(&parts, storage))
    }

    pub(super) fn result_type(&mut self, parts: &[Leaf], storage: Storage) -> TypeId {
        match parts {
            [] => self.output.builder.void_type(),
            [leaf] => self.leaf_type(leaf.scalar, storage),
            _ => {
                let members: Vec<TypeId> =
                    parts.iter().map(|leaf| self.leaf_type(leaf.scalar, storage)).collect();
                self.output.builder.struct_type(&members)
            }
        }
    }

    fn return_values(&mut self, values: &[ValueId]) -> Lowering<()> {
        match values {
            [] => self.end(Op::Return, &[]),
            [value] => self.end(Op::ReturnValue, &[value.word()]),
            _ => {
                let ty = self.return_type()?;
                let value = self.op(Op::CompositeConstruct, ty, values);
                self.end(Op::ReturnValue, &[value.word()]);
            }
        }
        Ok(())
    }

    // Panics.

    pub(super) fn note_type(&mut self) -> TypeId {
        let ulong = self.int(64);
        self.output.builder.pointer_type(class(Storage::Function), ulong)
    }

    /// Where a panic is noted: a variable of the kernel, or a parameter that points to it.
    pub(super) fn note(&mut self) -> ValueId {
        if let Some(note) = self.note {
            return note;
        }
        let note = if self.arguments.is_some() {
            let (ulong, zero) = (self.int(64), self.number(64, 0));
            let words = self.output.builder.array_type(ulong, panics::PRIVATE_WORDS);
            let variable = self.variable(words, None);
            let (ty, note) = (self.note_type(), self.output.builder.value());
            self.prologue.extend([
                Inst { op: Op::Bitcast, result: Some((ty, note)), operands: vec![variable.word()] },
                Inst { op: Op::Store, result: None, operands: vec![note.word(), zero.word(), ALIGNED, 8] },
            ]);
            note
        } else {
            self.output.builder.value()
        };
        self.note = Some(note);
        note
    }

    fn is_panic(&self, instructions: &[Instruction], position: usize) -> bool {
        is_panic(self.output.program, self.copy.symbol.module, instructions, position)
    }

    /// The first instruction of a block from which on nothing reads memory before the panic that ends the block. The number of
    /// instructions, if no panic ends it.
    fn begin_of_message(&self, instructions: &[Instruction]) -> usize {
        match instructions.len().checked_sub(2) {
            Some(panic) if self.is_panic(instructions, panic) => {
                let read =
                    instructions.iter().take(panic).rposition(|instruction| may_read(&instruction.kind));
                read.map_or(0, |read| read + 1)
            }
            _ => instructions.len(),
        }
    }

    /// Whether an instruction stores in private memory.
    fn is_private_store(&self, instruction: &Instruction) -> bool {
        matches!(&instruction.kind, Kind::Store { pointer, .. } if self.storage(pointer) == Storage::Function)
    }

    /// Messages of panics are looked for behind such pointers.
    fn remember_address(&mut self, instruction: &Instruction) {
        if let Kind::Address { element, base: Operand::Local(base), indices, .. } = &instruction.kind
            && let Some(to) = instruction.result
            && let Some(indices) = constants(indices)
            && let Some(offset) = memory::constant_offset(element, indices)
        {
            self.addresses.insert(to, (*base, offset));
        }
    }

    /// A call that never returns. Of the instructions before it in its block, `skipped` are not lowered.
    fn panic(
        &mut self,
        call: &Instruction,
        before: &[Instruction],
        skipped: &[&Instruction],
    ) -> Lowering<()> {
        let (program, module) = (self.output.program, self.copy.symbol.module);
        let places = program.places(module, call);
        let place = panics::place(program, module, &call.kind, &places);
        let Kind::Call { callee: Callee::Function(name), arguments, .. } = &call.kind else {
            return self.panic_at("panicked".to_owned(), &[], place);
        };
        let addresses = &self.addresses;
        let message =
            DivergingCall { program, module, before, skipped, addresses, name, arguments }.message();
        // What cannot be lowered is not shown.
        let (template, values) = message.template(|source| self.shown(source).ok());
        self.panic_at(template, &values, place)
    }

    /// A value of a message as 64 bits.
    fn shown(&mut self, source: &Source) -> Lowering<ValueId> {
        let (ty, value) = match source {
            Source::Value((ty, operand)) => (ty, self.scalar(ty, operand)?),
            Source::Behind(pointer, ty) => {
                let (pointer, storage) = self.pointer(pointer)?;
                (ty, self.load_shown(pointer, storage, ty, Storage::Global)?)
            }
            Source::BehindReference(pointer, ty) => {
                let behind = self.behind(pointer);
                let (pointer, storage) = self.pointer(pointer)?;
                let reference = self.load_shown(pointer, storage, &Type::Pointer, behind)?;
                (ty, self.load_shown(reference, behind, ty, Storage::Global)?)
            }
        };
        let ulong = self.int(64);
        Ok(match ty {
            Type::Int(1) => {
                let (one, zero) = (self.number(64, 1), self.number(64, 0));
                self.op(Op::Select, ulong, &[value, one, zero])
            }
            Type::Int(width @ ..=64) => {
                let value = self.masked(value, *width);
                self.resize(value, *width, 64)
            }
            Type::Float => {
                let uint = self.int(32);
                let bits = self.op(Op::Bitcast, uint, &[value]);
                self.resize(bits, 32, 64)
            }
            Type::Double => self.op(Op::Bitcast, ulong, &[value]),
            _ => return Err("a value that no message shows".into()),
        })
    }

    fn load_shown(
        &mut self,
        pointer: ValueId,
        storage: Storage,
        ty: &Type,
        behind: Storage,
    ) -> Lowering<ValueId> {
        let values = self.load_leaves(pointer, storage, &leaves(ty)?, behind, layout::align(ty))?;
        values.first().copied().ok_or_else(|| "a value without parts".into())
    }

    /// A call through a pointer that points to none of the functions that are known.
    pub(super) fn panic_without_function(&mut self, instruction: &Instruction) -> Lowering<()> {
        let places = self.output.program.places(self.copy.symbol.module, instruction);
        let message = "a call through a pointer reached no function".to_owned();
        self.panic_at(message, &[], places.last().cloned())
    }

    /// Notes a panic, and leaves the function.
    fn panic_at(&mut self, message: String, values: &[ValueId], place: Option<Place>) -> Lowering<()> {
        let number = self.output.panics.number(panics::PanicSite { message, place });
        let number = self.number(64, number << panics::WORK_ITEM_BITS);
        let checksum = self.checksum(values);
        if self.arguments.is_some() {
            self.report(number, checksum, values);
            self.panic_exits.insert(self.current);
            self.end(Op::Return, &[]);
            return Ok(());
        }
        let note = self.note();
        let words = [&[number], checksum.as_slice(), values].concat();
        let stores = self.output.store_words(note, &words, Storage::Function);
        stores.into_iter().for_each(|inst| self.push(inst));
        self.leave()
    }

    /// Returns without a result that means anything.
    fn leave(&mut self) -> Lowering<()> {
        let parts = leaves(&self.function.returns)?;
        let storage = self.analysis.of_result();
        let ty = self.result_type(&parts, storage);
        if parts.is_empty() || self.arguments.is_some() {
            self.end(Op::Return, &[]);
        } else {
            let nothing = if parts.len() == 1 && parts.iter().all(|leaf| leaf.scalar != Scalar::Pointer) {
                self.output.builder.null(ty)
            } else {
                self.output.builder.undefined(ty)
            };
            self.end(Op::ReturnValue, &[nothing.word()]);
        }
        Ok(())
    }

    /// After a call of a function that may panic: goes on only if it did not.
    pub(super) fn check_note(&mut self, note: ValueId) -> Lowering<()> {
        let (ulong, bool) = (self.int(64), self.bool());
        let value = self.op_words(Op::Load, ulong, vec![note.word(), ALIGNED, 8]);
        let zero = self.number(64, 0);
        let panicked = self.op(Op::INotEqual, bool, &[value, zero]);
        let (leave, go_on) = (self.output.builder.value(), self.output.builder.value());
        self.end(Op::BranchConditional, &[panicked.word(), leave.word(), go_on.word()]);
        self.begin(leave);
        self.leave_with(note, value)?;
        self.begin(go_on);
        Ok(())
    }

    /// After a call of a function that always panics.
    pub(super) fn leave_with_note(&mut self, note: ValueId) -> Lowering<()> {
        let ulong = self.int(64);
        let value = self.op_words(Op::Load, ulong, vec![note.word(), ALIGNED, 8]);
        self.leave_with(note, value)
    }

    /// Leaves the function after a panic that is in the note, whose first word has a value.
    fn leave_with(&mut self, note: ValueId, value: ValueId) -> Lowering<()> {
        if self.arguments.is_some() {
            let (loads, checksum, values) = self.output.note_values(note);
            loads.into_iter().for_each(|inst| self.push(inst));
            self.report(value, Some(checksum), &values);
            self.panic_exits.insert(self.current);
        }
        self.leave()
    }

    /// Whether the call at a place never returns.
    pub(super) fn is_last_call(&self, (block, position): (BlockIndex, usize)) -> bool {
        let block = self.function.blocks.get(block.0 as usize);
        let next = block.and_then(|block| block.instructions.get(position + 1));
        next.is_some_and(|next| next.kind == Kind::Unreachable)
    }

    /// Lets the block tell the host of a panic, if the host is to be told.
    fn report(&mut self, number: ValueId, checksum: Option<ValueId>, values: &[ValueId]) {
        if self.output.variables.reports_panics {
            let (block, values) = (self.current, values.to_vec());
            self.reports.push(panics::Report { block, number, checksum, values });
        }
    }

    /// The part of the checksum that comes from values, if there are any.
    fn checksum(&mut self, values: &[ValueId]) -> Option<ValueId> {
        let (ulong, factor) = (self.int(64), self.number(64, panics::FACTOR));
        let mut values = values.iter().rev().copied();
        let last = values.next()?;
        let last = self.op(Op::IMul, ulong, &[last, factor]);
        Some(values.fold(last, |sum, value| {
            let sum = self.op(Op::IAdd, ulong, &[sum, value]);
            self.op(Op::IMul, ulong, &[sum, factor])
        }))
    }

    // Operands.

    /// The scalars of an operand. Pointers in constants are made for a kind of memory.
    pub(super) fn operand(
        &mut self,
        ty: &Type,
        operand: &Operand,
        storage: Storage,
    ) -> Lowering<Rc<[ValueId]>> {
        match operand {
            Operand::Local(local) => match self.values.get(local) {
                Some(values) => Ok(Rc::clone(values)),
                None => Err("a value is used before it is calculated".into()),
            },
            Operand::Constant(constant) => Ok(self.constant(ty, constant, storage)?.into()),
        }
    }

    /// The only scalar of an operand.
    pub(super) fn scalar(&mut self, ty: &Type, operand: &Operand) -> Lowering<ValueId> {
        let values = self.operand(ty, operand, Storage::Global)?;
        values.first().copied().ok_or_else(|| format!("a value of the type {ty}").into())
    }

    /// Where a pointer operand points to.
    pub(super) fn storage(&self, operand: &Operand) -> Storage {
        match operand {
            Operand::Local(local) => self.analysis.of(*local),
            Operand::Constant(constant) => self.constant_storage(constant),
        }
    }

    fn constant_storage(&self, constant: &Constant) -> Storage {
        match memory::address(constant) {
            Some((Some(name), _)) => self.analysis.of_global(&self.symbol(name)).0,
            _ => Storage::Global,
        }
    }

    pub(super) fn symbol(&self, name: Rc<str>) -> Symbol {
        Symbol { module: self.copy.symbol.module, name }
    }

    /// A pointer to bytes, and where it points to.
    pub(super) fn pointer(&mut self, operand: &Operand) -> Lowering<(ValueId, Storage)> {
        let storage = self.storage(operand);
        let values = self.operand(&Type::Pointer, operand, storage)?;
        let id = values.first().copied().ok_or_else(|| Refusal::from("a pointer without a value"))?;
        Ok((id, storage))
    }

    fn constant(&mut self, ty: &Type, constant: &Constant, storage: Storage) -> Lowering<Vec<ValueId>> {
        match (constant, ty) {
            (Constant::Elements(elements), _) => {
                let mut values = Vec::new();
                for (ty, element) in elements.iter() {
                    values.extend(self.constant(ty, element, storage)?);
                }
                return Ok(values);
            }
            (Constant::Splat(element), _) => {
                let value = self.constant(&element.0, &element.1, storage)?;
                let count = usize::try_from(ty.elements().unwrap_or(0)).unwrap_or(0);
                return Ok(value.iter().copied().cycle().take(value.len().saturating_mul(count)).collect());
            }
            (Constant::Bytes(bytes), _) => {
                return Ok(bytes.iter().map(|byte| self.number(8, u64::from(*byte))).collect());
            }
            _ => {}
        }
        let parts = leaves(ty)?;
        let mut values = Vec::new();
        for (index, leaf) in parts.iter().enumerate() {
            values.push(self.constant_leaf(leaf.scalar, index, constant, storage)?);
        }
        Ok(values)
    }

    fn constant_leaf(
        &mut self,
        scalar: Scalar,
        index: usize,
        constant: &Constant,
        storage: Storage,
    ) -> Lowering<ValueId> {
        let ty = self.leaf_type(scalar, storage);
        Ok(match (constant, scalar) {
            (Constant::Undefined, _) => self.output.builder.undefined(ty),
            (Constant::Zero, Scalar::Int(width)) => self.number(width, 0),
            (Constant::Zero, Scalar::Bool) => self.output.builder.bool_constant(false),
            (Constant::Zero, Scalar::Float(width)) => self.output.builder.float_constant(width, 0),
            (Constant::Zero, Scalar::Pointer) => self.output.builder.null(ty),
            (Constant::Int(value), Scalar::Bool) => {
                self.output.builder.bool_constant(part_of(*value, index) & 1 == 1)
            }
            (Constant::Int(value), Scalar::Int(width)) => {
                self.number(width, part_of(*value, index) & mask(width))
            }
            (Constant::Float(bits), Scalar::Float(width)) => self.output.builder.float_constant(width, *bits),
            (Constant::Global(_) | Constant::Expression(_), Scalar::Pointer) => {
                self.constant_pointer(constant, storage)?
            }
            (Constant::Expression(expression), Scalar::Int(width)) => match memory::address(constant) {
                Some((None, value)) => self.number(width, value & mask(width)),
                Some((Some(_), _)) => {
                    let Expression::Cast(_, _, pointer) = &**expression else {
                        return Err("the address of a constant as a number".into());
                    };
                    let storage = self.constant_storage(pointer);
                    let pointer = self.constant_pointer(pointer, storage)?;
                    let value = self.number_of_address(pointer, storage);
                    self.resize(value, 64, width)
                }
                None => return Err("a constant that has to be calculated".into()),
            },
            _ => return Err("a constant of an unknown form".into()),
        })
    }

    /// The address of a constant, or a number as an address.
    fn constant_pointer(&mut self, constant: &Constant, wanted: Storage) -> Lowering<ValueId> {
        let Some((name, offset)) = memory::address(constant) else {
            return Err("a constant address that cannot be calculated".into());
        };
        let Some(name) = name else {
            let number = self.number(64, offset);
            return Ok(self.address_of_number(number, wanted));
        };
        if let Some((function, _)) = self.output.program.function(self.copy.symbol.module, &name) {
            let number = self.output.function_number(&function);
            let number = self.number(64, number);
            return Ok(self.address_of_number(number, wanted));
        }
        if self.output.program.is_function(self.copy.symbol.module, &name) {
            return Err(Refusal::new(
                format!("the address of the function `{}`", crate::demangle::path(&name)),
                "leave formatting and printing to the host: rustc has the code of this function in the standard library only",
            ));
        }
        self.address_in(&self.symbol(name), offset)
    }

    /// An address in a constant or a device global.
    fn address_in(&mut self, symbol: &Symbol, offset: u64) -> Lowering<ValueId> {
        let (storage, is_copied) = self.analysis.of_global(symbol);
        let (base, from) = if self.output.program.is_device_global(&symbol.name) {
            let (variable, ty) = self.output.global_variable(&symbol.name)?;
            (self.untyped(variable, Storage::Global, ty), Storage::Global)
        } else if is_copied {
            (self.copied(symbol)?, Storage::Function)
        } else {
            (self.in_constant_memory(symbol)?, Storage::Constant)
        };
        let base = self.in_storage(base, from, storage);
        Ok(self.part(base, storage, offset))
    }

    fn in_constant_memory(&mut self, symbol: &Symbol) -> Lowering<ValueId> {
        let (variable, _) = self.output.constant_variable(symbol)?;
        let ty = self.output.byte_pointer(Storage::Constant);
        Ok(self.op(Op::Bitcast, ty, &[variable]))
    }

    /// A constant that shares references with other memory lies on the stack, and so does one that holds addresses.
    fn copied(&mut self, symbol: &Symbol) -> Lowering<ValueId> {
        let variable = match self.copies.get(symbol) {
            Some(variable) => *variable,
            None => {
                let ConstantValue { value, ty, addresses } = self.output.constant_value(symbol)?;
                let variable = self.variable(ty, Some(value));
                self.copies.insert(symbol.clone(), variable);
                if !addresses.is_empty() {
                    self.store_addresses(symbol, &addresses)?;
                }
                variable
            }
        };
        let ty = self.output.byte_pointer(Storage::Function);
        Ok(self.op(Op::Bitcast, ty, &[variable]))
    }

    /// Stores the addresses that a constant on the stack holds, when the function begins.
    fn store_addresses(&mut self, symbol: &Symbol, addresses: &BTreeMap<u64, (Symbol, u64)>) -> Lowering<()> {
        let (before, label) = (self.current, self.output.builder.value());
        self.begin(label);
        let parts: Vec<Leaf> =
            addresses.keys().map(|offset| Leaf { scalar: Scalar::Pointer, offset: *offset }).collect();
        let behind = self.analysis.behind_global(symbol);
        let stored = self.copied(symbol).and_then(|table| {
            let held: Vec<ValueId> = addresses
                .values()
                .map(|(target, offset)| self.address_in(target, *offset))
                .collect::<Lowering<_>>()?;
            self.store_leaves(table, Storage::Function, &parts, &held, behind, 8)
        });
        self.prologue.extend(self.blocks.pop().into_iter().flat_map(|block| block.code));
        self.current = before;
        stored
    }

    /// A pointer to bytes as one of another kind of memory.
    pub(super) fn in_storage(&mut self, pointer: ValueId, from: Storage, to: Storage) -> ValueId {
        if from == to {
            return pointer;
        }
        let ty = self.output.byte_pointer(to);
        if to == Storage::Generic {
            return self.op(Op::PtrCastToGeneric, ty, &[pointer]);
        }
        self.op(Op::GenericCastToPtr, ty, &[pointer])
    }

    /// A pointer to bytes that points some bytes farther.
    pub(super) fn offset(&mut self, pointer: ValueId, storage: Storage, bytes: u64) -> ValueId {
        self.offset_by(pointer, storage, bytes, Op::InBoundsPtrAccessChain)
    }

    /// A pointer to bytes as one to another type.
    pub(super) fn cast_pointer(&mut self, pointer: ValueId, storage: Storage, to: TypeId) -> ValueId {
        if let Some((typed, ty)) = self.typed.get(&pointer)
            && *ty == to
        {
            return *typed;
        }
        let ty = self.output.builder.pointer_type(class(storage), to);
        if ty == self.output.byte_pointer(storage) {
            return pointer;
        }
        self.op(Op::Bitcast, ty, &[pointer])
    }

    /// A pointer to a type as one to bytes, which remembers what it was.
    pub(super) fn untyped(&mut self, pointer: ValueId, storage: Storage, pointee: TypeId) -> ValueId {
        let byte = self.int(8);
        if pointee == byte {
            return pointer;
        }
        let ty = self.output.byte_pointer(storage);
        let bytes = self.op(Op::Bitcast, ty, &[pointer]);
        self.typed.insert(bytes, (pointer, pointee));
        bytes
    }

    // Instructions.

    pub(super) fn set(&mut self, instruction: &Instruction, values: impl Into<Rc<[ValueId]>>) {
        if let Some(result) = instruction.result {
            self.values.insert(result, values.into());
        }
    }

    /// Where the pointers in an instruction's result point to.
    pub(super) fn result_storage(&self, instruction: &Instruction) -> Storage {
        instruction.result.map_or(Storage::Global, |result| self.analysis.of(result))
    }

    fn instruction(&mut self, instruction: &Instruction, at: (BlockIndex, usize)) -> Lowering<()> {
        let ty = &instruction.ty;
        match &instruction.kind {
            Kind::Binary(op, left, right) => self.binary(instruction, *op, left, right),
            Kind::FNeg(value) => {
                let values = self.operand(ty, value, Storage::Global)?;
                let parts = leaves(ty)?;
                let mut results = Vec::new();
                for (leaf, value) in parts.iter().zip(values.iter()) {
                    let ty = self.leaf_type(leaf.scalar, Storage::Global);
                    results.push(self.op(Op::FNegate, ty, &[*value]));
                }
                self.set(instruction, results);
                Ok(())
            }
            Kind::CompareInts(predicate, of, left, right) => {
                self.compare_ints(instruction, *predicate, of, left, right)
            }
            Kind::CompareFloats(predicate, of, left, right) => {
                self.compare_floats(instruction, *predicate, of, left, right)
            }
            Kind::Cast(cast, from, value) => self.cast(instruction, *cast, from, value),
            Kind::Select(condition, yes, no) => self.select(instruction, condition, yes, no),
            Kind::Freeze(value) => {
                let storage = self.result_storage(instruction);
                let values = self.operand(ty, value, storage)?;
                self.set(instruction, values);
                Ok(())
            }
            Kind::Phi(incoming) => self.phi(instruction, incoming),
            Kind::Alloca { ty, count, align } => self.alloca(instruction, ty, count.as_ref(), *align),
            Kind::Load { pointer, align, atomic } => self.load(instruction, pointer, *align, *atomic),
            Kind::Store { value, pointer, align, atomic } => self.store(value, pointer, *align, *atomic),
            Kind::Address { element, base, indices, in_bounds } => {
                self.address(instruction, element, base, indices, *in_bounds)
            }
            Kind::ExtractValue((of, aggregate), path) => {
                let storage = self.result_storage(instruction);
                let values = self.operand(of, aggregate, storage)?;
                let part = values.get(range(of, path)?).unwrap_or_default().to_vec();
                self.set(instruction, part);
                Ok(())
            }
            Kind::InsertValue((of, aggregate), (part_type, part), path) => {
                let storage = self.result_storage(instruction);
                let mut values = self.operand(of, aggregate, storage)?.to_vec();
                let part = self.operand(part_type, part, storage)?;
                for (at, value) in range(of, path)?.zip(part.iter()) {
                    if let Some(place) = values.get_mut(at) {
                        *place = *value;
                    }
                }
                self.set(instruction, values);
                Ok(())
            }
            Kind::ExtractElement(vector, index) => self.extract_element(instruction, vector, index),
            Kind::InsertElement(vector, value, index) => {
                self.insert_element(instruction, vector, value, index)
            }
            Kind::Shuffle(left, right, mask) => self.shuffle(instruction, left, right, mask),
            Kind::Atomic { op, pointer, value, ordering } => {
                self.atomic(instruction, *op, pointer, value, *ordering)
            }
            Kind::CompareExchange { pointer, expected, new, success, failure } => {
                self.compare_exchange(instruction, pointer, expected, new, *success, *failure)
            }
            Kind::Fence(ordering) => {
                self.fence(*ordering);
                Ok(())
            }
            Kind::Call { callee: Callee::Function(name), arguments, aligns } => {
                self.call(instruction, at, name, arguments, aligns)
            }
            Kind::Call { callee: Callee::Pointer(pointer), arguments, .. } => {
                self.call_through_pointer(instruction, at, *pointer, arguments)
            }
            Kind::Call { callee: Callee::Nothing, .. } => Ok(()),
            Kind::Call { callee: Callee::Other(what), .. } => Err(Refusal::new(
                format!("it calls {what}"),
                "switch off what a crate has for the host's processor (`scalar-math` of glam, libm without `arch`)",
            )),
            Kind::Return(value) => {
                let values = match value {
                    Some((ty, value)) => {
                        let storage = self.analysis.of_result();
                        self.operand(ty, value, storage)?
                    }
                    None => Rc::from([]),
                };
                self.return_values(&values)
            }
            Kind::Branch(to) => {
                let label = self.label(*to);
                self.end(Op::Branch, &[label.word()]);
                Ok(())
            }
            Kind::Conditional(condition, yes, no) => {
                let condition = self.scalar(&Type::BOOL, condition)?;
                let (yes, no) = (self.label(*yes), self.label(*no));
                if yes == no {
                    self.end(Op::Branch, &[yes.word()]);
                } else {
                    self.end(Op::BranchConditional, &[condition.word(), yes.word(), no.word()]);
                }
                Ok(())
            }
            Kind::Switch { value, default, cases } => self.switch(value, *default, cases),
            Kind::Unreachable => {
                self.end(Op::Unreachable, &[]);
                Ok(())
            }
            Kind::Unknown(name) => Err(Refusal::new(
                format!("the instruction `{name}` of LLVM, which this version of oclave-rust does not know"),
                "report it with the source; until then, write it in another way",
            )),
        }
    }

    fn select(
        &mut self,
        instruction: &Instruction,
        condition: &Typed,
        yes: &Operand,
        no: &Operand,
    ) -> Lowering<()> {
        let ty = &instruction.ty;
        let storage = self.result_storage(instruction);
        let conditions = self.operand(&condition.0, &condition.1, storage)?;
        let (yes, no) = (self.operand(ty, yes, storage)?, self.operand(ty, no, storage)?);
        let parts = leaves(ty)?;
        // A vector of conditions chooses each element by itself.
        let each = (parts.len() / conditions.len().max(1)).max(1);
        let mut results = Vec::new();
        for (index, (leaf, (yes, no))) in parts.iter().zip(yes.iter().zip(no.iter())).enumerate() {
            let Some(condition) = conditions.get(index / each).or(conditions.first()) else { break };
            let ty = self.leaf_type(leaf.scalar, storage);
            results.push(self.op(Op::Select, ty, &[*condition, *yes, *no]));
        }
        self.set(instruction, results);
        Ok(())
    }

    fn phi(&mut self, instruction: &Instruction, incoming: &[(Operand, BlockIndex)]) -> Lowering<()> {
        let storage = self.result_storage(instruction);
        let parts = leaves(&instruction.ty)?;
        let mut results = Vec::new();
        let mut insts = Vec::new();
        for leaf in &parts {
            let (ty, id) = (self.leaf_type(leaf.scalar, storage), self.output.builder.value());
            insts.push(Inst { op: Op::Phi, result: Some((ty, id)), operands: Vec::new() });
            results.push(id);
        }
        let block = self.current;
        if let Some(current) = self.blocks.get_mut(block) {
            self.pending.push(Pending {
                block,
                at: current.phis.len(),
                ty: instruction.ty.clone(),
                storage,
                incoming: incoming.to_vec(),
                results: results.len(),
            });
            current.phis.extend(insts);
        }
        self.set(instruction, results);
        Ok(())
    }

    /// Writes the operands of phis, each at the end of the block that it comes from.
    fn phis(&mut self, order: &[BlockIndex]) -> Lowering<()> {
        let reached: BTreeSet<BlockIndex> = order.iter().copied().collect();
        for pending in std::mem::take(&mut self.pending) {
            let target = self.blocks.get(pending.block).map(|block| block.label.word());
            let mut seen = BTreeSet::new();
            for (operand, from) in &pending.incoming {
                // Several edges of a switch are one in SPIR-V.
                if !reached.contains(from) || !seen.insert(*from) {
                    continue;
                }
                let Some(&exit) = self.exits.get(from) else { continue };
                // A block whose call never returns does not get here.
                let end = self.blocks.get(exit).and_then(|block| block.end.as_ref());
                if !end.is_some_and(|end| end.operands.iter().any(|word| Some(*word) == target)) {
                    continue;
                }
                self.current = exit;
                let values = self.operand(&pending.ty, operand, pending.storage)?;
                let Some(label) = self.blocks.get(exit).map(|block| block.label.word()) else { continue };
                let Some(block) = self.blocks.get_mut(pending.block) else { continue };
                for (phi, value) in
                    block.phis.iter_mut().skip(pending.at).take(pending.results).zip(values.iter())
                {
                    phi.operands.extend([value.word(), label]);
                }
            }
        }
        Ok(())
    }

    fn switch(&mut self, value: &Typed, default: BlockIndex, cases: &[(u128, BlockIndex)]) -> Lowering<()> {
        let parts = leaves(&value.0)?;
        let id = self.scalar(&value.0, &value.1)?;
        let uint = self.int(32);
        let values = |width: u32| cases.iter().map(move |(case, _)| *case as u64 & mask(width));
        let words = |width: u32| values(width).map(|value| value as u32).collect();
        let (id, values): (ValueId, Vec<u32>) = match parts.as_slice() {
            [_, Leaf { scalar: Scalar::Int(_), .. }] => {
                (self.which_case(value, cases)?, (0..cases.len() as u32).collect())
            }
            [Leaf { scalar: Scalar::Bool, .. }] => {
                let (one, zero) = (self.number(32, 1), self.number(32, 0));
                (self.op(Op::Select, uint, &[id, one, zero]), words(32))
            }
            [Leaf { scalar: Scalar::Int(width), .. }] => match storage_width(*width) {
                64 => self.narrow(id, &values(*width).collect::<Vec<u64>>()),
                32 => (id, words(*width)),
                _ => (self.op(Op::UConvert, uint, &[id]), words(*width)),
            },
            _ => return Err(format!("a `match` over a value of the type {}", value.0).into()),
        };
        let mut operands = vec![id.word(), self.label(default).word()];
        for (value, (_, to)) in values.into_iter().zip(cases) {
            operands.extend([value, self.label(*to).word()]);
        }
        self.end(Op::Switch, &operands);
        Ok(())
    }

    /// The number of the case that a number of more than 64 bits is; the number of cases for all others.
    fn which_case(&mut self, (ty, value): &Typed, cases: &[(u128, BlockIndex)]) -> Lowering<ValueId> {
        let (Type::Int(width @ 65..=128), &[low, high]) = (ty, &*self.operand(ty, value, Storage::Global)?)
        else {
            return Err(format!("a `match` over a value of the type {ty}").into());
        };
        let uint = self.int(32);
        let mut which = self.number(32, cases.len() as u64);
        for (number, (case, _)) in (0..).zip(cases) {
            let number = self.number(32, number);
            let case = Wide {
                low: self.number(64, part_of(*case, 0)),
                high: self.number(width - 64, part_of(*case, 1) & mask(width - 64)),
            };
            let is_it = self.wide_compare(IntPredicate::Eq, *width, Wide { low, high }, case);
            which = self.op(Op::Select, uint, &[is_it, number, which]);
        }
        Ok(which)
    }

    /// A value of 32 bits that tells apart what a value of 64 bits may be, and what it is for each of these. Drivers
    /// take switches over words only.
    fn narrow(&mut self, id: ValueId, values: &[u64]) -> (ValueId, Vec<u32>) {
        let (uint, bool) = (self.int(32), self.bool());
        let ulong = self.int(64);
        let high = values.first().map_or(0, |value| value >> 32);
        if values.iter().any(|value| value >> 32 != high) {
            let mut which = self.number(32, values.len() as u64);
            for (number, value) in (0..).zip(values) {
                let (number, value) = (self.number(32, number), self.number(64, *value));
                let is_it = self.op(Op::IEqual, bool, &[id, value]);
                which = self.op(Op::Select, uint, &[is_it, number, which]);
            }
            return (which, (0..values.len() as u32).collect());
        }
        let low: Vec<u32> = values.iter().map(|value| *value as u32).collect();
        // For values with other high bits: none of the cases.
        let none = (0..u32::MAX).find(|none| !low.contains(none)).unwrap_or(u32::MAX);
        let (high, none, bits) = (self.number(32, high), self.number(32, none.into()), self.number(64, 32));
        let own_high = self.op(Op::ShiftRightLogical, ulong, &[id, bits]);
        let own_high = self.op(Op::UConvert, uint, &[own_high]);
        let own_low = self.op(Op::UConvert, uint, &[id]);
        let is_near = self.op(Op::IEqual, bool, &[own_high, high]);
        (self.op(Op::Select, uint, &[is_near, own_low, none]), low)
    }

    /// The position of an element that is known when the kernel is built.
    fn constant_index(index: &Typed) -> Option<u64> {
        match &index.1 {
            Operand::Constant(Constant::Int(value)) => u64::try_from(*value).ok(),
            Operand::Constant(Constant::Zero) => Some(0),
            _ => None,
        }
    }

    fn extract_element(&mut self, instruction: &Instruction, vector: &Typed, index: &Typed) -> Lowering<()> {
        let storage = self.result_storage(instruction);
        let values = self.operand(&vector.0, &vector.1, storage)?;
        if let Some(index) = Self::constant_index(index) {
            let part = values.get(range(&vector.0, &[index])?).unwrap_or_default().to_vec();
            self.set(instruction, part);
            return Ok(());
        }
        let position = self.scalar(&index.0, &index.1)?;
        let (width, each) = (int_width(&index.0)?, leaves(&instruction.ty)?);
        let mut results: Vec<ValueId> = values.get(..each.len()).unwrap_or_default().to_vec();
        for number in 1..vector.0.elements().unwrap_or(1) {
            let bool = self.bool();
            let number_id = self.number(width, number);
            let is_it = self.op(Op::IEqual, bool, &[position, number_id]);
            let part = values.get(range(&vector.0, &[number])?).unwrap_or_default().to_vec();
            for (result, (leaf, value)) in results.iter_mut().zip(each.iter().zip(part)) {
                let ty = self.output.scalar_type(leaf.scalar, storage);
                *result = self.op(Op::Select, ty, &[is_it, value, *result]);
            }
        }
        self.set(instruction, results);
        Ok(())
    }

    fn insert_element(
        &mut self,
        instruction: &Instruction,
        vector: &Typed,
        value: &Typed,
        index: &Typed,
    ) -> Lowering<()> {
        let storage = self.result_storage(instruction);
        let mut values = self.operand(&vector.0, &vector.1, storage)?.to_vec();
        let new = self.operand(&value.0, &value.1, storage)?;
        let Some(index) = Self::constant_index(index) else {
            return Err("a vector of the host's that is written at an index".into());
        };
        for (at, value) in range(&vector.0, &[index])?.zip(new.iter()) {
            if let Some(place) = values.get_mut(at) {
                *place = *value;
            }
        }
        self.set(instruction, values);
        Ok(())
    }

    fn shuffle(
        &mut self,
        instruction: &Instruction,
        left: &Typed,
        right: &Typed,
        mask: &Typed,
    ) -> Lowering<()> {
        let storage = self.result_storage(instruction);
        let first = self.operand(&left.0, &left.1, storage)?;
        let second = self.operand(&right.0, &right.1, storage)?;
        let count = left.0.elements().unwrap_or(0);
        let results_count = mask.0.elements().unwrap_or(0);
        let Operand::Constant(mask) = &mask.1 else { return Err("a shuffle by values".into()) };
        let each = leaves(left.0.element(0).unwrap_or(&Type::Void))?;
        let mut results = Vec::new();
        for at in 0..results_count {
            let index = match mask {
                Constant::Zero => Some(0),
                Constant::Undefined => None,
                Constant::Splat(element) => number_of(&element.1),
                Constant::Elements(elements) => {
                    elements.get(usize::try_from(at).unwrap_or(usize::MAX)).and_then(|(_, e)| number_of(e))
                }
                _ => return Err("a shuffle of an unknown form".into()),
            };
            match index {
                Some(index) => {
                    let (values, index) =
                        if index < count { (&first, index) } else { (&second, index - count) };
                    results.extend_from_slice(values.get(range(&left.0, &[index])?).unwrap_or_default());
                }
                None => {
                    for leaf in &each {
                        let ty = self.leaf_type(leaf.scalar, storage);
                        results.push(self.output.builder.undefined(ty));
                    }
                }
            }
        }
        self.set(instruction, results);
        Ok(())
    }

    fn address(
        &mut self,
        instruction: &Instruction,
        element: &Type,
        base: &Operand,
        indices: &[Typed],
        in_bounds: bool,
    ) -> Lowering<()> {
        if instruction.ty != Type::Pointer {
            return Err("a vector of pointers".into());
        }
        let storage = self.result_storage(instruction);
        let base = self.operand(&Type::Pointer, base, storage)?;
        let Some(mut pointer) = base.first().copied() else { return Err("a pointer without a value".into()) };
        let chain = if in_bounds { Op::InBoundsPtrAccessChain } else { Op::PtrAccessChain };
        let mut bytes = 0_u64;
        let mut ty = element;
        for (position, (index_type, index)) in indices.iter().enumerate() {
            let constant = match index {
                Operand::Constant(Constant::Int(value)) => Some(memory::signed(*value, index_type)),
                Operand::Constant(Constant::Zero) => Some(0),
                _ => None,
            };
            let step = if position == 0 {
                ty
            } else if matches!(ty, Type::Struct { .. }) {
                let Some(index) = constant else {
                    return Err("a field by a number that is calculated".into());
                };
                bytes = bytes.wrapping_add(layout::offset(ty, index));
                ty = ty.element(index).ok_or("a field that is not there")?;
                continue;
            } else {
                let inner = ty.element(0);
                ty = match (ty, inner) {
                    (_, Some(inner)) => inner,
                    (Type::Array(0, inner), None) => inner,
                    _ => return Err("an element of what has none".into()),
                };
                ty
            };
            let size = layout::size(step);
            match constant {
                Some(index) => bytes = bytes.wrapping_add(size.wrapping_mul(index)),
                None => {
                    if bytes != 0 {
                        pointer = self.offset_by(pointer, storage, std::mem::take(&mut bytes), chain);
                    }
                    let value = self.scalar(index_type, index)?;
                    let value = self.sign_extended(value, int_width(index_type)?, 64);
                    pointer = self.element(pointer, storage, step, size, value, chain)?;
                }
            }
        }
        if bytes != 0 {
            pointer = self.offset_by(pointer, storage, bytes, chain);
        }
        self.set(instruction, vec![pointer]);
        Ok(())
    }

    /// A pointer that points some bytes farther, or back. Where it was one to integers, it is one to another of these.
    fn offset_by(&mut self, pointer: ValueId, storage: Storage, bytes: u64, chain: Op) -> ValueId {
        if let Some((typed, pointee)) = self.typed.get(&pointer).copied()
            && let Some(size) = self.output.builder.int_width(pointee).map(|width| i64::from(width / 8))
            && bytes.cast_signed() % size == 0
        {
            let index = self.number(64, (bytes.cast_signed() / size).cast_unsigned());
            return self.typed_element(typed, storage, pointee, index, chain);
        }
        let ty = self.output.byte_pointer(storage);
        let bytes = self.number(64, bytes);
        self.op(chain, ty, &[pointer, bytes])
    }

    /// A pointer to bytes to an integer or float that lies some elements behind a typed pointer.
    fn typed_element(
        &mut self,
        typed: ValueId,
        storage: Storage,
        pointee: TypeId,
        index: ValueId,
        chain: Op,
    ) -> ValueId {
        let to = self.output.builder.pointer_type(class(storage), pointee);
        let element = match self.elements.get(&typed).copied() {
            Some((array, before)) => {
                let (ulong, zero) = (self.int(64), self.number(64, 0));
                let index = if before == zero { index } else { self.op(Op::IAdd, ulong, &[before, index]) };
                let element = self.op(chain, to, &[array, zero, index]);
                self.elements.insert(element, (array, index));
                element
            }
            None => self.op(chain, to, &[typed, index]),
        };
        self.untyped(element, storage, pointee)
    }

    /// A pointer to bytes to the first element of an array in a variable. Drivers keep arrays in registers, and calculate several
    /// work-items at once, if all accesses are to elements by their number.
    pub(super) fn first_element(&mut self, array: ValueId, element: TypeId) -> ValueId {
        let zero = self.number(64, 0);
        let to = self.output.builder.pointer_type(class(Storage::Function), element);
        let first = self.op(Op::InBoundsPtrAccessChain, to, &[array, zero, zero]);
        self.elements.insert(first, (array, zero));
        self.untyped(first, Storage::Function, element)
    }

    /// A pointer to an element of an array.
    fn element(
        &mut self,
        pointer: ValueId,
        storage: Storage,
        ty: &Type,
        size: u64,
        index: ValueId,
        chain: Op,
    ) -> Lowering<ValueId> {
        let scalar = match leaves(ty)?.as_slice() {
            [Leaf { scalar: scalar @ (Scalar::Int(16 | 32 | 64) | Scalar::Float(_)), .. }] => Some(*scalar),
            _ => None,
        };
        if let Some(scalar) = scalar {
            let pointee = self.leaf_type(scalar, storage);
            let typed = self.cast_pointer(pointer, storage, pointee);
            return Ok(self.typed_element(typed, storage, pointee, index, chain));
        }
        let ulong = self.int(64);
        let bytes = if size == 1 {
            index
        } else {
            let size = self.number(64, size);
            self.op(Op::IMul, ulong, &[index, size])
        };
        let to = self.output.byte_pointer(storage);
        Ok(self.op(chain, to, &[pointer, bytes]))
    }
}

fn number_of(constant: &Constant) -> Option<u64> {
    match constant {
        Constant::Int(value) => u64::try_from(*value).ok(),
        Constant::Zero => Some(0),
        _ => None,
    }
}

/// The width of an integer type.
pub(super) fn int_width(ty: &Type) -> Lowering<u32> {
    match ty {
        Type::Int(width) => Ok(*width),
        _ => Err(format!("an index of the type {ty}").into()),
    }
}

/// The bits of a width.
pub(super) fn mask(width: u32) -> u64 {
    u64::MAX >> 64_u32.saturating_sub(width)
}

/// The blocks that are reached, each behind its dominators.
fn order(function: &Function) -> Vec<BlockIndex> {
    let successors = |index: BlockIndex| {
        let block = function.blocks.get(index.0 as usize);
        let instructions = block.map(|block| block.instructions.as_slice()).unwrap_or_default();
        instructions.last().map(|last| last.kind.successors()).unwrap_or_default()
    };
    let mut order = Vec::new();
    let mut seen = BTreeSet::from([BlockIndex(0)]);
    let mut stack = vec![(BlockIndex(0), successors(BlockIndex(0)), 0)];
    while let Some((index, next, at)) = stack.last_mut() {
        // From the last to the first, so that the first comes first in the reverse.
        let position = next.len().checked_sub(1 + *at);
        *at += 1;
        match position.and_then(|position| next.get(position)) {
            Some(&to) => {
                if seen.insert(to) {
                    stack.push((to, successors(to), 0));
                }
            }
            None => {
                order.push(*index);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The constants of operands; `None` if one is no constant.
pub(super) fn constants(operands: &[Typed]) -> Option<Vec<(&Type, &Constant)>> {
    let mut constants = Vec::new();
    for (ty, operand) in operands {
        let Operand::Constant(constant) = operand else { return None };
        constants.push((ty, constant));
    }
    Some(constants)
}

/// The 64 bits of a constant from bit `64 * index` on.
fn part_of(value: u128, index: usize) -> u64 {
    let by = u32::try_from(index).ok().and_then(|index| index.checked_mul(64));
    by.and_then(|by| value.checked_shr(by)).unwrap_or(0) as u64
}

/// Whether an instruction may read memory.
fn may_read(kind: &Kind) -> bool {
    match kind {
        Kind::Load { .. } | Kind::Atomic { .. } | Kind::CompareExchange { .. } | Kind::Unknown(_) => true,
        Kind::Call { callee: Callee::Function(name), .. } => !name.starts_with("llvm.lifetime."),
        Kind::Call { .. } => true,
        _ => false,
    }
}
