//! The module without vtables and function pointers, instruction by instruction.

use std::collections::{BTreeMap, HashMap};

use super::call_classes::ARGUMENT_ATTRIBUTE;
use super::calls::Dispatchers;
use super::demangle::readable;
use super::symbols::Symbols;
use super::types::{CodeType, CodeTypes, is_of_vtables};
use super::vtables::{Names, Vtables};
use crate::build::markers::is_user_semantic;
use crate::{ImageError, Result};
use oclave_spirv::{
    Capability, Definitions, Editor, FunctionControl, Instruction, Op, Section, StorageClass, Type,
    TypeTable, is_access_chain,
};

const EXTENSION: &str = "SPV_INTEL_function_pointers";
const SLOT_BYTES: i64 = 8;

/// What is known of the module as it was.
#[derive(Clone, Copy)]
pub(super) struct Old<'a, 'm> {
    pub(super) definitions: &'a Definitions<'m>,
    pub(super) types: &'a TypeTable<'m>,
    pub(super) code_types: &'a CodeTypes,
    pub(super) names: &'a Names,
    pub(super) vtables: &'a Vtables,
    pub(super) symbols: &'a Symbols,
    /// Call → the class that it goes through, where it is known.
    pub(super) call_classes: &'a HashMap<u32, String>,
}

impl<'m> Old<'_, 'm> {
    /// The kind of the type that a value had.
    pub(super) fn kind(&self, id: u32) -> CodeType {
        self.definitions.type_of(id).map_or(CodeType::None, |ty| self.code_types.kind(ty))
    }

    pub(super) fn is_code(&self, id: u32) -> bool {
        self.kind(id) != CodeType::None
    }

    /// The instruction behind an id and its casts.
    pub(super) fn uncast(&self, id: u32) -> Option<Instruction<'m>> {
        let mut instruction = self.definitions.instruction(id)?;
        // In sound code casts form no cycle; the limit ends those of other code.
        for _ in 0..64 {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::Bitcast | Op::CopyObject), &[operand]) => {
                    instruction = self.definitions.instruction(operand)?;
                }
                _ => break,
            }
        }
        Some(instruction)
    }

    fn width(&self, id: u32) -> Option<u32> {
        match self.types.ty(self.definitions.type_of(id)?)? {
            Type::Int { width } => Some(width),
            _ => None,
        }
    }

    /// The operand that takes the place of a result, where an instruction leaves nothing else to
    /// do.
    fn forwards(&self, instruction: &Instruction<'_>) -> Option<u32> {
        let result = instruction.result_id()?;
        let (op, operands) = (instruction.op()?, instruction.operands());
        let &first = operands.first()?;
        let forwards = match op {
            Op::Load => self.kind(first) == CodeType::Slot,
            Op::Bitcast | Op::CopyObject | Op::PtrCastToGeneric | Op::GenericCastToPtr => {
                self.is_code(first) && self.is_code(result)
            }
            Op::ConvertPtrToU => self.is_code(first) && self.width(result) == Some(64),
            Op::ConvertUToPtr => self.is_code(result) && self.width(first) == Some(64),
            _ if is_access_chain(op) => {
                let zero = |&index: &u32| self.definitions.signed_constant(index) == Some(0);
                self.kind(first) == CodeType::Slot && operands.iter().skip(1).all(zero)
            }
            _ => false,
        };
        forwards.then_some(first)
    }
}

/// The module on its way.
pub(super) struct Rewrite<'a, 'm> {
    pub(super) old: Old<'a, 'm>,
    pub(super) edit: Editor<'a>,
    /// Constants that are codes → code.
    pub(super) codes: BTreeMap<u32, u64>,
    pub(super) dispatchers: Dispatchers,
    pub(super) ulong: u32,
    function: u32,
}

impl<'a, 'm> Rewrite<'a, 'm> {
    pub(super) fn new(old: Old<'a, 'm>, definitions: &'a Definitions<'a>) -> Self {
        let mut edit = Editor::new(definitions);
        for capability in [Capability::Int64, Capability::Int8, Capability::Linkage] {
            edit.capability(capability);
        }
        let ulong = edit.int_type(64);
        // What takes the place of a type or constant stands after all others so far.
        edit.sort_types();
        let (codes, dispatchers) = (BTreeMap::new(), Dispatchers::default());
        let mut rewrite = Self { old, edit, codes, dispatchers, ulong, function: 0 };
        rewrite.replace_symbols();
        rewrite.replace_results();
        rewrite
    }

    /// What stands for an id.
    pub(super) fn mapped(&self, id: u32) -> u32 {
        self.edit.replaced(id)
    }

    /// Removes what defines an id, and uses another one for it.
    fn replace(&mut self, id: u32, by: u32) {
        self.edit.replace_uses(id, by);
        self.old.definitions.instruction(id).iter().for_each(|i| self.edit.remove(i));
    }

    /// An error of the function that is being rewritten.
    pub(super) fn problem(&self, what: impl std::fmt::Display) -> ImageError {
        problem(self.old.names, self.function, what)
    }

    /// A constant for every symbol: an integer, or a pointer made of one where a pointer is wanted.
    fn replace_symbols(&mut self) {
        let Old { definitions, types, code_types, symbols, .. } = self.old;
        let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
        let mut pointers: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        let ordered: BTreeMap<u32, u64> = symbols.iter().map(|(&id, &code)| (id, code)).collect();
        for (id, code) in ordered {
            let number = *numbers.entry(code).or_insert_with(|| {
                let number = self.edit.fresh_id();
                let words = [self.ulong, number, code as u32, (code >> 32) as u32];
                self.edit.push_in(Section::Types, Op::Constant, &words);
                number
            });
            self.codes.insert(number, code);
            let ty = definitions.type_of(id).unwrap_or(0);
            let is_pointer = matches!(types.ty(ty), Some(Type::Pointer { .. }));
            let stands = if is_pointer && !code_types.contains(ty) {
                *pointers.entry((ty, code)).or_insert_with(|| {
                    let pointer = self.edit.fresh_id();
                    let words = [ty, pointer, Op::ConvertUToPtr as u32, number];
                    self.edit.push_in(Section::Types, Op::SpecConstantOp, &words);
                    pointer
                })
            } else {
                number
            };
            self.replace(id, stands);
        }
    }

    /// Results that are operands, and types that are integers.
    fn replace_results(&mut self) {
        let Old { definitions, code_types, .. } = self.old;
        let mut forwarded: HashMap<u32, u32> = HashMap::new();
        for instruction in definitions.module().instructions() {
            let Some(id) = instruction.result_id() else { continue };
            if code_types.contains(id) {
                self.replace(id, self.ulong);
            } else if !self.old.symbols.contains_key(&id)
                && let Some(operand) = self.old.forwards(&instruction)
            {
                forwarded.insert(id, operand);
            }
        }
        for (&id, &operand) in &forwarded {
            let mut last = operand;
            for _ in 0..forwarded.len() {
                match forwarded.get(&last) {
                    Some(&next) => last = next,
                    None => break,
                }
            }
            self.replace(id, self.mapped(last));
        }
    }

    pub(super) fn run(&mut self) -> Result<()> {
        let definitions = self.old.definitions;
        let module = definitions.module();
        for instruction in module.global_instructions() {
            self.at_module_scope(&instruction)?;
        }
        for function in module.instructions().filter(|i| i.is(Op::Function)) {
            let &[_, ty, id, control, of] = function.words else { continue };
            self.function = id;
            // At -O0 clang marks every function, and drivers have bugs with those that they must
            // not inline.
            let control = control & !FunctionControl::DONT_INLINE.bits();
            let (ty, of) = (self.mapped(ty), self.mapped(of));
            self.edit.replace(&function, Op::Function, &[ty, id, control, of]);
            definitions.body(id).try_for_each(|instruction| self.in_function(&instruction))?;
        }
        Ok(())
    }

    fn at_module_scope(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let operands = instruction.operands();
        let goes = match instruction.op() {
            Some(Op::Capability) => operands.first().is_some_and(|&c| {
                c == Capability::FunctionPointersINTEL as u32
                    || c == Capability::IndirectReferencesINTEL as u32
            }),
            Some(Op::Extension) => instruction.string_is(0, EXTENSION),
            Some(Op::Decorate) => {
                operands.get(1) == Some(&ARGUMENT_ATTRIBUTE)
                    || is_user_semantic(operands) && self.is_our_marker(instruction)
            }
            Some(Op::TypeStruct) => return self.refuse_members(instruction, operands),
            Some(Op::TypeArray | Op::TypeVector) => {
                return self.refuse_members(instruction, operands.get(..1).unwrap_or_default());
            }
            _ => false,
        };
        if goes {
            self.edit.remove(instruction);
        }
        Ok(())
    }

    fn is_our_marker(&self, instruction: &Instruction<'_>) -> bool {
        let text = instruction.string(2).unwrap_or_default();
        text.starts_with("oclave:indirectly_callable") || text.starts_with("oclave:calls_indirectly")
    }

    fn refuse_members(&self, ty: &Instruction<'_>, members: &[u32]) -> Result<()> {
        if !members.iter().any(|ty| self.old.code_types.kind(*ty) == CodeType::Function) {
            return Ok(());
        }
        let name = ty.result_id().map(|id| self.old.names.plain(id)).unwrap_or_default();
        let name = name.trim_start_matches("struct.").trim_start_matches("class.");
        let what = if name.is_empty() { "an array".to_owned() } else { format!("type `{name}`") };
        Err(ImageError::Diagnostic(format!(
            "{what} holds pointers to functions, which devices do not have; use virtual functions"
        )))
    }

    fn in_function(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let Some(op) = instruction.op() else { return Ok(()) };
        self.refuse_function_pointers(instruction, op)?;
        let (Some(id), Some(ty)) = (instruction.result_id(), instruction.result_type()) else {
            return Ok(());
        };
        if self.mapped(id) != id {
            return Ok(());
        }
        let operands = instruction.operands();
        let is_code = |index: usize| operands.get(index).is_some_and(|&id| self.old.is_code(id));
        let conversion = match (op, operands) {
            (Op::FunctionPointerCallINTEL, _) => return self.call(instruction),
            (Op::Load, &[pointer, ..]) if self.is_offset_load(pointer, id) => {
                return self.offset_load(instruction, id, pointer);
            }
            (_, &[base, index]) if is_access_chain(op) && self.old.kind(base) == CodeType::Slot => {
                self.slot_address(instruction, id, base, index);
                return Ok(());
            }
            (Op::Bitcast, &[_]) if is_code(0) != self.old.is_code(id) => {
                if is_code(0) {
                    Op::ConvertUToPtr
                } else {
                    Op::ConvertPtrToU
                }
            }
            (Op::ConvertPtrToU | Op::ConvertUToPtr, &[_]) if is_code(0) || self.old.is_code(id) => {
                Op::UConvert
            }
            (Op::PtrEqual, &[_, _]) if is_code(0) => Op::IEqual,
            (Op::PtrNotEqual, &[_, _]) if is_code(0) => Op::INotEqual,
            _ => return Ok(()),
        };
        let operands: Vec<u32> = operands.iter().map(|id| self.mapped(*id)).collect();
        self.edit.replace(instruction, conversion, &[&[self.mapped(ty), id], operands.as_slice()].concat());
        Ok(())
    }

    /// The code of the slot `index` behind `base`.
    fn slot_address(&mut self, chain: &Instruction<'_>, id: u32, base: u32, index: u32) {
        let (old, ulong) = (self.old, self.ulong);
        let mut at = self.edit.instead_of(chain);
        let bytes = match old.definitions.signed_constant(index) {
            Some(index) => at.int_constant(64, index.wrapping_mul(SLOT_BYTES).cast_unsigned()),
            None => {
                let mut wide = at.replaced(index);
                if old.width(index) != Some(64) {
                    wide = at.emit(Op::SConvert, ulong, &[wide]);
                }
                let eight = at.int_constant(64, SLOT_BYTES.cast_unsigned());
                at.emit(Op::IMul, ulong, &[wide, eight])
            }
        };
        let base = at.replaced(base);
        at.push(Op::IAdd, &[ulong, id, base, bytes]);
    }

    /// What can only come from pointers to functions that are no virtual ones.
    fn refuse_function_pointers(&self, instruction: &Instruction<'_>, op: Op) -> Result<()> {
        let kind = instruction.result_type().map_or(CodeType::None, |ty| self.old.code_types.kind(ty));
        let operand = instruction.operand(0);
        let is_symbol = instruction.result_id().is_some_and(|id| self.old.symbols.contains_key(&id));
        let what = match (op, kind) {
            (Op::Variable, CodeType::Slot) | (Op::FunctionParameter, CodeType::Function | CodeType::Slot) => {
                "holds a pointer to a function"
            }
            (Op::ConvertUToPtr, CodeType::Function) if !is_symbol => {
                "calls through a pointer to a member function"
            }
            (Op::Load, CodeType::Function)
                if operand.is_some_and(|id| {
                    self.old.kind(id) != CodeType::Slot && !self.old.symbols.contains_key(&id)
                }) =>
            {
                "loads a pointer to a function"
            }
            _ => return Ok(()),
        };
        Err(self.problem(format!(
            "it {what}. Devices have no pointers to functions and to member functions; use virtual functions"
        )))
    }

    /// Whether a load reads a vcall or vbase offset: 64 bits in front of where a vptr leads.
    fn is_offset_load(&self, pointer: u32, result: u32) -> bool {
        self.old.width(result) == Some(64)
            && (self.old.symbols.contains_key(&pointer) || self.offset_place(pointer).is_some())
    }

    /// The vptr, and how many bytes from where it leads, of a pointer to an offset in a vtable.
    fn offset_place(&self, pointer: u32) -> Option<(u32, i64)> {
        let Old { definitions, types, .. } = self.old;
        let cast = definitions.instruction(pointer).filter(|i| i.is(Op::Bitcast))?;
        let chain = definitions.instruction(cast.operand(0)?)?;
        let &[vptr, index] = chain.operands() else { return None };
        if !chain.op().is_some_and(is_access_chain) {
            return None;
        }
        let is_byte_pointer = match types.ty(definitions.type_of(vptr)?)? {
            Type::Pointer { class, pointee } => {
                is_of_vtables(class) && types.ty(pointee) == Some(Type::Int { width: 8 })
            }
            _ => false,
        };
        let offset = definitions.signed_constant(index).filter(|o| *o < 0 && o % SLOT_BYTES == 0)?;
        (is_byte_pointer && self.is_vptr(vptr)).then_some((vptr, offset))
    }

    /// Whether a pointer to bytes is a vptr: clang loads it through a cast pointer to the object.
    /// Others that are loaded come from variables and members of their own type.
    fn is_vptr(&self, id: u32) -> bool {
        if self.old.symbols.contains_key(&id) {
            return true;
        }
        let Some(value) = self.old.uncast(id) else { return false };
        let is_code_type = value.result_type().is_some_and(|ty| self.old.code_types.contains(ty));
        let has_space_of_vptrs =
            || is_pointer_to(value.result_type(), StorageClass::Function, self.old.types);
        match value.op() {
            Some(Op::Load) => {
                let from_object = || value.operand(0).is_some_and(|from| self.may_be_object(from));
                is_code_type || has_space_of_vptrs() && from_object()
            }
            Some(Op::Phi | Op::Select) => is_code_type,
            _ => false,
        }
    }

    /// Whether a vptr may be loaded from an address. With typed pointers, the address is cast to a
    /// pointer to a vptr. From opaque pointers, translators guess that `this` is such a pointer.
    fn may_be_object(&self, address: u32) -> bool {
        let Old { definitions, types, .. } = self.old;
        let is_private = is_pointer_to(definitions.type_of(address), StorageClass::Function, types);
        match definitions.instruction(address).and_then(|i| i.op()) {
            Some(Op::Bitcast | Op::PtrCastToGeneric) => true,
            Some(Op::FunctionParameter | Op::FunctionCall | Op::Phi | Op::Select) => !is_private,
            _ => false,
        }
    }

    fn offset_load(&mut self, load: &Instruction<'_>, id: u32, pointer: u32) -> Result<()> {
        let ulong = self.ulong;
        let code = match (self.old.symbols.get(&pointer), self.offset_place(pointer)) {
            (Some(&code), _) => self.edit.int_constant(64, code),
            (None, Some((vptr, offset))) => {
                let mut at = self.edit.before(load);
                let vptr = at.replaced(vptr);
                let offset = at.int_constant(64, offset.cast_unsigned());
                let address = at.emit(Op::ConvertPtrToU, ulong, &[vptr]);
                at.emit(Op::IAdd, ulong, &[address, offset])
            }
            (None, None) => {
                return Err(self.problem("it reads a table of virtual functions in an unknown way"));
            }
        };
        let function = self.dispatchers.offsets(&mut self.edit);
        self.edit.replace(load, Op::FunctionCall, &[ulong, id, function, code]);
        Ok(())
    }
}

fn is_pointer_to(ty: Option<u32>, space: StorageClass, types: &TypeTable<'_>) -> bool {
    let ty = ty.and_then(|ty| types.ty(ty));
    matches!(ty, Some(Type::Pointer { class, .. }) if class == space as u32)
}

/// An error of a function.
pub(super) fn problem(names: &Names, function: u32, what: impl std::fmt::Display) -> ImageError {
    ImageError::Diagnostic(format!("function `{}`: {what}", readable(names.plain(function))))
}
