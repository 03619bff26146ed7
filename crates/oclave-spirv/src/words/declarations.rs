//! The sections of a changed module: new ids, types, constants, decorations, names, imports, and instructions that are appended.

use std::collections::{HashMap, HashSet};

use ::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    LinkageType, MemoryModel, Op, StorageClass,
};

use super::code::{Code, string_words};
use super::definitions::Definitions;
use super::grammar::Role;
use super::instruction::Instruction;
use super::module::{MAX_ID_BOUND, Module, Version};
use super::opcodes::is_decoration;
use super::order::sort_types;
use super::section::Section;
use crate::{Error, Result};

/// The sections of a module that is made from an old one. Every section has a stream of its own, so
/// anything can be added to any section at any time. Types and constants that are added are put before
/// their first use when the module is finished. New types come with the capabilities that they need.
#[derive(Debug)]
pub struct Declarations<'m> {
    definitions: &'m Definitions<'m>,
    version: Version,
    generator: u32,
    bound: u32,
    sections: [Code; Section::COUNT],
    /// Types and constants that may be shared: words without the result id → result id.
    interned: Option<HashMap<Vec<u32>, u32>>,
    /// Types and constants of the old module that new ones refer to.
    wanted: Vec<u32>,
    pub(super) unsorted: bool,
    error: Option<Error>,
    /// The section of the last appended instruction outside of functions.
    last: Section,
    /// `OpLine`s that belong to the next one.
    lines: Code,
    /// The function that is being appended, and whether it has blocks.
    function: Option<(Code, bool)>,
}

impl<'m> Declarations<'m> {
    pub(super) fn new(definitions: &'m Definitions<'m>) -> Self {
        let module = definitions.module();
        Self {
            definitions,
            version: module.version(),
            generator: module.generator(),
            bound: module.id_bound(),
            sections: Default::default(),
            interned: None,
            wanted: Vec::new(),
            unsorted: false,
            error: None,
            last: Section::Capabilities,
            lines: Code::new(),
            function: None,
        }
    }

    /// The definitions of the old module.
    pub fn definitions(&self) -> &'m Definitions<'m> {
        self.definitions
    }

    /// Sets the version of the new module's header. The instructions are the caller's business.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// An id that nothing uses yet. Running out of ids makes [`Editor::finish`](super::Editor::finish) fail.
    pub fn fresh_id(&mut self) -> u32 {
        let id = self.bound;
        if id >= MAX_ID_BOUND {
            self.error.get_or_insert_with(|| {
                Error::Unsupported(format!("the module needs more than {MAX_ID_BOUND} ids; split it"))
            });
            return id;
        }
        self.bound += 1;
        id
    }

    /// Appends an instruction to a section.
    pub fn push_in(&mut self, section: Section, op: Op, operands: &[u32]) {
        self.unsorted |= section == Section::Types;
        self.section(section).push(op, operands);
    }

    /// Adds a whole function, `OpFunction` to `OpFunctionEnd`, behind those that are finished so
    /// far.
    pub fn add_function(&mut self, mut function: Code) {
        let has_blocks = super::module::instructions_of(function.words()).any(|i| i.is(Op::Label));
        let section = if has_blocks { Section::Definitions } else { Section::Declarations };
        self.section(section).append(&mut function);
    }

    /// Declares an imported function with this linkage name.
    pub fn import(&mut self, name: &str, result: u32, parameters: &[u32]) -> u32 {
        let ty = self.function_type(result, parameters);
        let id = self.fresh_id();
        let mut code = Code::new();
        code.push(Op::Function, &[result, id, FunctionControl::NONE.bits(), ty]);
        for parameter in parameters {
            code.push(Op::FunctionParameter, &[*parameter, self.fresh_id()]);
        }
        code.push(Op::FunctionEnd, &[]);
        self.add_function(code);
        self.name(id, name);
        self.decorate_linkage(id, name, LinkageType::Import);
        id
    }

    /// Begins a new module of kernels: with these capabilities, and pointers of 64 bits.
    pub fn kernel_header(&mut self, capabilities: &[Capability]) {
        capabilities.iter().for_each(|capability| self.capability(*capability));
        let model = [AddressingModel::Physical64 as u32, MemoryModel::OpenCL as u32];
        self.push_in(Section::MemoryModel, Op::MemoryModel, &model);
    }

    /// Makes a function a kernel of this name. It uses the variables of `interface`.
    pub fn entry_point(&mut self, function: u32, name: &str, interface: &[u32]) {
        let head = [ExecutionModel::Kernel as u32, function];
        let operands = [&head, string_words(name).as_slice(), interface].concat();
        self.push_in(Section::EntryPoints, Op::EntryPoint, &operands);
    }

    /// Adds a mode of an entry point.
    pub fn execution_mode(&mut self, function: u32, mode: ExecutionMode, literals: &[u32]) {
        let operands = [&[function, mode as u32], literals].concat();
        self.push_in(Section::ExecutionModes, Op::ExecutionMode, &operands);
    }

    /// Adds a capability unless the module has it.
    pub fn capability(&mut self, capability: Capability) {
        self.push_once(Section::Capabilities, Op::Capability, &[capability as u32]);
    }

    /// Adds an extension unless the module has it.
    pub fn extension(&mut self, name: &str) {
        self.push_once(Section::Extensions, Op::Extension, &string_words(name));
    }

    /// Names an id.
    pub fn name(&mut self, id: u32, name: &str) {
        let mut operands = vec![id];
        operands.extend(string_words(name));
        self.push_in(Section::Names, Op::Name, &operands);
    }

    /// Decorates an id.
    pub fn decorate(&mut self, id: u32, decoration: Decoration, literals: &[u32]) {
        let operands = [&[id, decoration as u32], literals].concat();
        self.push_in(Section::Annotations, Op::Decorate, &operands);
    }

    /// Gives an id a linkage name.
    pub fn decorate_linkage(&mut self, id: u32, name: &str, linkage: LinkageType) {
        let mut literals = string_words(name);
        literals.push(linkage as u32);
        self.decorate(id, Decoration::LinkageAttributes, &literals);
    }

    /// A new variable of a built-in value of a type.
    pub fn built_in_variable(&mut self, what: BuiltIn, ty: u32) -> u32 {
        let pointer = self.pointer_type(StorageClass::Input, ty);
        let variable = self.module_variable(pointer, StorageClass::Input, None);
        self.decorate(variable, Decoration::BuiltIn, &[what as u32]);
        self.decorate(variable, Decoration::Constant, &[]);
        variable
    }

    /// The id of a type or constant with these operands, without the result id.
    ///
    /// An existing id is reused if there is one. Not for structs, arrays and decorated types, whose
    /// equals are distinct.
    pub fn intern(&mut self, op: Op, operands: &[u32]) -> u32 {
        let mut key = vec![op as u32];
        key.extend_from_slice(operands);
        let definitions = self.definitions;
        let interned = self.interned.get_or_insert_with(|| shareable(definitions));
        if let Some(&id) = interned.get(&key) {
            if definitions.instruction(id).is_some() {
                self.wanted.push(id);
            }
            return id;
        }
        let id = self.fresh_id();
        let result_at = usize::from(!super::section::is_type(op)).min(operands.len());
        let mut words = operands.to_vec();
        words.insert(result_at, id);
        self.push_in(Section::Types, op, &words);
        if let Some(interned) = &mut self.interned {
            interned.insert(key, id);
        }
        id
    }

    /// `OpTypeVoid`.
    pub fn void_type(&mut self) -> u32 {
        self.intern(Op::TypeVoid, &[])
    }

    /// `OpTypeBool`.
    pub fn bool_type(&mut self) -> u32 {
        self.intern(Op::TypeBool, &[])
    }

    /// An integer type as kernels have them: without sign.
    pub fn int_type(&mut self, width: u32) -> u32 {
        let needed = match width {
            8 => Some(Capability::Int8),
            16 => Some(Capability::Int16),
            64 => Some(Capability::Int64),
            _ => None,
        };
        self.ty(Op::TypeInt, &[width, 0], needed)
    }

    /// A floating-point type.
    pub fn float_type(&mut self, width: u32) -> u32 {
        let needed = match width {
            16 => Some(Capability::Float16),
            64 => Some(Capability::Float64),
            _ => None,
        };
        self.ty(Op::TypeFloat, &[width], needed)
    }

    /// A vector type.
    pub fn vector_type(&mut self, component: u32, count: u32) -> u32 {
        let needed = (count > 4).then_some(Capability::Vector16);
        self.ty(Op::TypeVector, &[component, count], needed)
    }

    /// A pointer type.
    pub fn pointer_type(&mut self, class: StorageClass, pointee: u32) -> u32 {
        let needed = (class == StorageClass::Generic).then_some(Capability::GenericPointer);
        self.ty(Op::TypePointer, &[class as u32, pointee], needed)
    }

    /// A type. If the module had no such type, the capability that it needs is added, too.
    fn ty(&mut self, op: Op, operands: &[u32], needed: Option<Capability>) -> u32 {
        let bound = self.bound;
        let ty = self.intern(op, operands);
        if self.bound > bound {
            needed.into_iter().for_each(|capability| self.capability(capability));
        }
        ty
    }

    /// A function type.
    pub fn function_type(&mut self, returns: u32, parameters: &[u32]) -> u32 {
        self.intern(Op::TypeFunction, &[&[returns], parameters].concat())
    }

    /// An integer constant of `width` 8, 16, 32 or 64 bits.
    pub fn int_constant(&mut self, width: u32, value: u64) -> u32 {
        let ty = self.int_type(width);
        self.number(ty, width, value)
    }

    /// A floating-point constant of `width` 16, 32 or 64 bits, by its bits.
    pub fn float_constant(&mut self, width: u32, bits: u64) -> u32 {
        let ty = self.float_type(width);
        self.number(ty, width, bits)
    }

    fn number(&mut self, ty: u32, width: u32, bits: u64) -> u32 {
        let words = [ty, bits as u32, (bits >> 32) as u32];
        self.intern(Op::Constant, if width > 32 { &words[..] } else { &words[..2] })
    }

    /// `true` or `false`.
    pub fn bool_constant(&mut self, value: bool) -> u32 {
        let ty = self.bool_type();
        self.intern(if value { Op::ConstantTrue } else { Op::ConstantFalse }, &[ty])
    }

    /// A constant vector, array or struct.
    pub fn composite_constant(&mut self, ty: u32, elements: &[u32]) -> u32 {
        self.intern(Op::ConstantComposite, &[&[ty], elements].concat())
    }

    /// The null value of a type.
    pub fn null_constant(&mut self, ty: u32) -> u32 {
        self.intern(Op::ConstantNull, &[ty])
    }

    /// A new variable at module scope. `pointer` is the type of its address.
    pub fn module_variable(&mut self, pointer: u32, class: StorageClass, initial: Option<u32>) -> u32 {
        let variable = self.fresh_id();
        let operands: Vec<u32> = [pointer, variable, class as u32].into_iter().chain(initial).collect();
        self.push_in(Section::Types, Op::Variable, &operands);
        variable
    }

    /// Lets [`Editor::finish`](super::Editor::finish) put types, constants and variables in order: each behind what
    /// it uses.
    pub fn sort_types(&mut self) {
        self.unsorted = true;
    }

    /// Puts the sections together.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where ids ran out or an instruction became too long to encode;
    /// [`Error::Malformed`] where what was pushed is no stream of instructions.
    pub(super) fn finish(mut self) -> Result<Module> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.add_wanted();
        let total = self.sections.iter().map(|s| s.words().len()).sum::<usize>();
        let mut words = Vec::with_capacity(total + super::module::HEADER_WORDS);
        words.extend([::spirv::MAGIC_NUMBER, self.version.word(), self.generator, self.bound, 0]);
        let mut types = 0..0;
        for (i, section) in self.sections.iter().enumerate() {
            if let Some(opcode) = section.overlong() {
                let what =
                    format!("an instruction with opcode {opcode} of more than 65535 words; split the module");
                return Err(Error::Unsupported(what));
            }
            if i == Section::Types as usize {
                types = words.len()..words.len() + section.words().len();
            }
            words.extend_from_slice(section.words());
        }
        let module = Module::from_words(words)?;
        if self.unsorted { sort_types(module, types) } else { Ok(module) }
    }

    /// Copies the types and constants that [`intern`](Self::intern) found in the old module and
    /// that were not copied.
    fn add_wanted(&mut self) {
        if self.wanted.is_empty() {
            return;
        }
        let mut present = HashSet::new();
        let types = std::mem::take(&mut self.sections[Section::Types as usize]);
        for instruction in super::module::instructions_of(types.words()) {
            present.extend(instruction.result_id());
        }
        self.sections[Section::Types as usize] = types;
        let mut stack = std::mem::take(&mut self.wanted);
        while let Some(id) = stack.pop() {
            if !present.insert(id) {
                continue;
            }
            let Some(instruction) = self.definitions.instruction(id) else { continue };
            instruction.visit_ids(self.definitions, |index, role| {
                if role != Role::Result {
                    stack.extend(instruction.word(index));
                }
            });
            self.section(Section::Types).extend(instruction.words);
            self.unsorted = true;
        }
    }

    /// Whether anything was added to the old module or is to be changed outside of functions.
    pub(super) fn has_additions(&self) -> bool {
        self.error.is_some()
            || self.unsorted
            || self.version != self.definitions.module().version()
            || self.sections.iter().any(|section| !section.is_empty() || section.overlong().is_some())
    }

    /// What was added so far.
    pub(super) fn take_sections(&mut self) -> [Code; Section::COUNT] {
        self.end_appending();
        std::mem::take(&mut self.sections)
    }

    /// Appends what was added to all sections.
    pub(super) fn append_sections(&mut self, added: [Code; Section::COUNT]) {
        for (section, mut code) in self.sections.iter_mut().zip(added) {
            section.append(&mut code);
        }
    }

    fn push_once(&mut self, section: Section, op: Op, operands: &[u32]) {
        let is_it = |i: &Instruction<'_>| i.is(op) && i.words.get(1..) == Some(operands);
        let mut old = self.definitions.module().instructions().take_while(|i| !i.is(Op::MemoryModel));
        let is_old = old.any(|i| is_it(&i));
        if !is_old && !super::module::instructions_of(self.section(section).words()).any(|i| is_it(&i)) {
            self.push_in(section, op, operands);
        }
    }

    pub(super) fn section(&mut self, section: Section) -> &mut Code {
        &mut self.sections[section as usize]
    }

    /// Appends an instruction of any module: to its section, or to the function whose `OpFunction` was appended last,
    /// until its `OpFunctionEnd`.
    pub fn append(&mut self, instruction: &Instruction<'_>) {
        self.append_as(instruction, |code| code.extend(instruction.words));
    }

    /// As [`append`](Self::append) for an instruction of the old module, with each id that it uses or defines replaced by
    /// `map`. Words of unknown instructions stay as they are.
    pub fn append_mapped(&mut self, instruction: &Instruction<'_>, map: impl FnMut(u32) -> u32) {
        let words = instruction.mapped(self.definitions, map);
        self.append(&Instruction { words: &words, ..*instruction });
    }

    /// Appends what `write` writes to where `instruction` belongs.
    pub(super) fn append_as(&mut self, instruction: &Instruction<'_>, write: impl FnOnce(&mut Code)) {
        if let Some((code, has_blocks)) = &mut self.function {
            write(code);
            *has_blocks |= instruction.is(Op::Label);
            if instruction.is(Op::FunctionEnd) {
                self.end_function();
            }
            return;
        }
        if instruction.is(Op::Line) || instruction.is(Op::NoLine) {
            write(&mut self.lines);
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        if instruction.is(Op::Function) {
            write(&mut lines);
            self.function = Some((lines, false));
            self.last = Section::Definitions;
            return;
        }
        self.last = Section::of(instruction, self.last);
        let section = self.section(self.last);
        section.append(&mut lines);
        write(section);
    }

    /// Appends an instruction, unless it names or decorates an id that is gone. Decorations of groups lose such targets. The
    /// interfaces of entry points lose such variables, and get those that are `used`.
    pub(super) fn append_annotated(
        &mut self,
        instruction: &Instruction<'_>,
        is_gone: impl Fn(u32) -> bool,
        used: &[u32],
    ) {
        let Some(op) = instruction.op() else { return self.append(instruction) };
        let all = instruction.operands();
        let is_group = matches!(op, Op::GroupDecorate | Op::GroupMemberDecorate);
        let is_annotation = is_group || matches!(op, Op::Name | Op::MemberName) || is_decoration(op);
        let left: Vec<u32> = match *all {
            // A decorated id, or a group.
            [id, ..] if is_annotation && is_gone(id) => return,
            [group, ref targets @ ..] if is_group => {
                let targets = targets.chunks(if op == Op::GroupDecorate { 1 } else { 2 });
                let stay = targets.filter(|target| !target.first().is_some_and(|id| is_gone(*id)));
                std::iter::once(group).chain(stay.flatten().copied()).collect()
            }
            _ if op == Op::EntryPoint => {
                let listed = instruction.after_string(2).unwrap_or_default();
                let (head, interface) = all.split_at(all.len() - listed.len());
                let missing = used.iter().filter(|variable| !listed.contains(variable));
                let stay = interface.iter().filter(|id| !is_gone(**id)).chain(missing);
                head.iter().chain(stay).copied().collect()
            }
            _ => return self.append(instruction),
        };
        match left.len() {
            _ if left == all => self.append(instruction),
            // A group without targets.
            1 => {}
            _ => self.append_as(instruction, |code| code.push(op, &left)),
        }
    }

    /// Appends code to where `instruction` belongs.
    pub(super) fn append_code(&mut self, instruction: &Instruction<'_>, code: &mut Code) {
        if code.is_empty() && code.overlong().is_none() {
            return;
        }
        // Code before the end of a function does not end it.
        if let Some((to, has_blocks)) = &mut self.function {
            to.append(code);
            *has_blocks |= instruction.is(Op::Label);
            return;
        }
        self.append_as(instruction, |to| to.append(code));
        self.unsorted |= self.last == Section::Types;
    }

    /// Appends a whole function, with the lines before it. These go where the function is empty.
    pub(super) fn append_function(&mut self, mut function: Code) {
        let mut code = std::mem::take(&mut self.lines);
        if !function.is_empty() {
            code.append(&mut function);
            self.add_function(code);
        }
        self.last = Section::Definitions;
    }

    /// Moves what was appended in part to its section.
    pub(super) fn end_appending(&mut self) {
        self.end_function();
        let mut lines = std::mem::take(&mut self.lines);
        self.section(self.last).append(&mut lines);
    }

    fn end_function(&mut self) {
        if let Some((mut code, has_blocks)) = self.function.take() {
            let section = if has_blocks { Section::Definitions } else { Section::Declarations };
            self.section(section).append(&mut code);
        }
    }
}

/// The types and constants of a module of which equal ones are the same.
fn shareable(definitions: &Definitions<'_>) -> HashMap<Vec<u32>, u32> {
    let mut map = HashMap::new();
    for instruction in definitions.module().global_instructions() {
        let Some(op) = instruction.op() else { continue };
        let shareable = super::section::is_type(op) && !matches!(op, Op::TypeStruct | Op::TypeArray)
            || matches!(op, Op::Constant | Op::ConstantTrue | Op::ConstantFalse | Op::ConstantNull);
        let (true, Some(id)) = (shareable, instruction.result_id()) else { continue };
        let mut key = vec![op as u32];
        key.extend(instruction.result_type());
        key.extend_from_slice(instruction.operands());
        map.entry(key).or_insert(id);
    }
    map
}
