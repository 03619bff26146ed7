//! A new module from nothing, for what translates to SPIR-V.
//!
//! ```
//! use oclave_spirv::{Builder, Code, ExecutionModel, Op, Version};
//! # fn empty_kernel() -> oclave_spirv::Result<oclave_spirv::Module> {
//! let mut module = Builder::kernel(Version::V1_2);
//! let void = module.void_type();
//! let ty = module.function_type(void, &[]);
//! let (function, label) = (module.value(), module.value());
//! let mut code = Code::new();
//! code.push(Op::Function, &[void.word(), function.word(), 0, ty.word()]);
//! code.push(Op::Label, &[label.word()]);
//! code.push(Op::Return, &[]);
//! code.push(Op::FunctionEnd, &[]);
//! module.add_function(code);
//! module.entry_point(ExecutionModel::Kernel, function, "empty", &[]);
//! module.finish()
//! # }
//! ```

use std::collections::HashMap;

use ::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, LinkageType,
    MemoryModel, Op, StorageClass,
};

use super::code::{Code, string_words};
use super::module::{HEADER_WORDS, MAX_ID_BOUND, Module, Version};
use super::section::Section;
use crate::{Error, Result};

/// The id of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

/// The id of a value, a block or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);

impl TypeId {
    /// As an operand.
    pub const fn word(self) -> u32 {
        self.0
    }
}

impl ValueId {
    /// As an operand.
    pub const fn word(self) -> u32 {
        self.0
    }
}

/// Writes a module. Equal types and constants are one.
#[derive(Debug)]
pub struct Builder {
    version: Version,
    bound: u32,
    sections: [Code; Section::COUNT],
    /// Opcode and operands without the result → result.
    interned: HashMap<Vec<u32>, u32>,
    /// What values are decorated with: decoration and literals.
    decorations: HashMap<ValueId, Vec<Vec<u32>>>,
    /// Integer constants → their values.
    integers: HashMap<u32, u64>,
    /// Variables of built-in values.
    built_ins: HashMap<u32, BuiltIn>,
    once: HashMap<Vec<u32>, ()>,
}

impl Builder {
    /// A module of kernels with pointers of 64 bits. It has the capabilities that every kernel needs.
    pub fn kernel(version: Version) -> Self {
        let mut new = Self {
            version,
            bound: 1,
            sections: Default::default(),
            interned: HashMap::new(),
            decorations: HashMap::new(),
            integers: HashMap::new(),
            built_ins: HashMap::new(),
            once: HashMap::new(),
        };
        for capability in [Capability::Addresses, Capability::Linkage, Capability::Kernel, Capability::Int64]
        {
            new.capability(capability);
        }
        let model = [AddressingModel::Physical64 as u32, MemoryModel::OpenCL as u32];
        new.push_in(Section::MemoryModel, Op::MemoryModel, &model);
        new
    }

    fn fresh(&mut self) -> u32 {
        let id = self.bound;
        self.bound = self.bound.saturating_add(1);
        id
    }

    /// A new id for a value, a block or a function.
    pub fn value(&mut self) -> ValueId {
        ValueId(self.fresh())
    }

    /// Appends an instruction to a section.
    pub fn push_in(&mut self, section: Section, op: Op, operands: &[u32]) {
        if let Some(section) = self.sections.get_mut(section as usize) {
            section.push(op, operands);
        }
    }

    /// Adds a capability unless the module has it.
    pub fn capability(&mut self, capability: Capability) {
        if self.once.insert(vec![Op::Capability as u32, capability as u32], ()).is_none() {
            self.push_in(Section::Capabilities, Op::Capability, &[capability as u32]);
        }
    }

    /// Adds an extension unless the module has it.
    pub fn extension(&mut self, name: &str) {
        let words = string_words(name);
        let mut key = vec![Op::Extension as u32];
        key.extend_from_slice(&words);
        if self.once.insert(key, ()).is_none() {
            self.push_in(Section::Extensions, Op::Extension, &words);
        }
    }

    /// The set of instructions `OpenCL.std`.
    pub fn opencl_std(&mut self) -> ValueId {
        let words = string_words("OpenCL.std");
        ValueId(self.intern_in(Section::ExtInstImports, Op::ExtInstImport, 0, &words))
    }

    /// Makes a function an entry point.
    pub fn entry_point(
        &mut self,
        model: ExecutionModel,
        function: ValueId,
        name: &str,
        interface: &[ValueId],
    ) {
        let mut operands = vec![model as u32, function.0];
        operands.extend(string_words(name));
        operands.extend(interface.iter().map(|variable| variable.0));
        self.push_in(Section::EntryPoints, Op::EntryPoint, &operands);
    }

    /// Adds a mode of an entry point.
    pub fn execution_mode(&mut self, function: ValueId, mode: ExecutionMode, literals: &[u32]) {
        let operands = [&[function.0, mode as u32], literals].concat();
        self.push_in(Section::ExecutionModes, Op::ExecutionMode, &operands);
    }

    /// A string for tools.
    pub fn string(&mut self, text: &str) -> ValueId {
        let id = self.fresh();
        let mut operands = vec![id];
        operands.extend(string_words(text));
        self.push_in(Section::DebugStrings, Op::String, &operands);
        ValueId(id)
    }

    /// Names a value.
    pub fn name(&mut self, id: ValueId, name: &str) {
        let mut operands = vec![id.0];
        operands.extend(string_words(name));
        self.push_in(Section::Names, Op::Name, &operands);
    }

    /// Names a type.
    pub fn name_type(&mut self, id: TypeId, name: &str) {
        self.name(ValueId(id.0), name);
    }

    /// Names a member of a struct.
    pub fn name_member(&mut self, id: TypeId, member: u32, name: &str) {
        let mut operands = vec![id.0, member];
        operands.extend(string_words(name));
        self.push_in(Section::Names, Op::MemberName, &operands);
    }

    /// Decorates a value.
    pub fn decorate(&mut self, id: ValueId, decoration: Decoration, literals: &[u32]) {
        self.decorate_words(id, [&[decoration as u32], literals].concat());
    }

    fn decorate_words(&mut self, id: ValueId, words: Vec<u32>) {
        self.push_in(Section::Annotations, Op::Decorate, &[&[id.0], &words[..]].concat());
        self.decorations.entry(id).or_default().push(words);
    }

    /// A new id for a value that is decorated as another one is.
    pub fn value_like(&mut self, other: ValueId) -> ValueId {
        let id = self.value();
        for words in self.decorations.get(&other).cloned().unwrap_or_default() {
            self.decorate_words(id, words);
        }
        id
    }

    /// Gives a value a linkage name.
    pub fn decorate_linkage(&mut self, id: ValueId, name: &str, linkage: LinkageType) {
        let mut literals = string_words(name);
        literals.push(linkage as u32);
        self.decorate(id, Decoration::LinkageAttributes, &literals);
    }

    fn intern_in(&mut self, section: Section, op: Op, result_at: usize, operands: &[u32]) -> u32 {
        let mut key = vec![op as u32];
        key.extend_from_slice(operands);
        if let Some(&id) = self.interned.get(&key) {
            return id;
        }
        let id = self.fresh();
        let mut words = operands.to_vec();
        words.insert(result_at.min(words.len()), id);
        self.push_in(section, op, &words);
        self.interned.insert(key, id);
        id
    }

    fn ty(&mut self, op: Op, operands: &[u32]) -> TypeId {
        TypeId(self.intern_in(Section::Types, op, 0, operands))
    }

    fn constant(&mut self, op: Op, ty: TypeId, operands: &[u32]) -> ValueId {
        let operands = [&[ty.0], operands].concat();
        ValueId(self.intern_in(Section::Types, op, 1, &operands))
    }

    /// `OpTypeVoid`.
    pub fn void_type(&mut self) -> TypeId {
        self.ty(Op::TypeVoid, &[])
    }

    /// `OpTypeBool`.
    pub fn bool_type(&mut self) -> TypeId {
        self.ty(Op::TypeBool, &[])
    }

    /// An integer type of 8, 16, 32 or 64 bits, without sign. Its capability is added.
    pub fn int_type(&mut self, width: u32) -> TypeId {
        match width {
            8 => self.capability(Capability::Int8),
            16 => self.capability(Capability::Int16),
            _ => {}
        }
        self.ty(Op::TypeInt, &[width, 0])
    }

    /// A floating-point type of 16, 32 or 64 bits. Its capability is added.
    pub fn float_type(&mut self, width: u32) -> TypeId {
        match width {
            16 => self.capability(Capability::Float16),
            64 => self.capability(Capability::Float64),
            _ => {}
        }
        self.ty(Op::TypeFloat, &[width])
    }

    /// A floating-point type of 16 bits in memory: `vload_half` and `vstore_half` take pointers to it, and
    /// nothing else is done with it.
    pub fn stored_half_type(&mut self) -> TypeId {
        self.capability(Capability::Float16Buffer);
        self.ty(Op::TypeFloat, &[16])
    }

    /// The type of an image of which kernels do not know the format: dimensions and access by their numbers.
    pub fn image_type(&mut self, dim: u32, is_array: bool, access: u32) -> TypeId {
        let void = self.void_type();
        self.ty(Op::TypeImage, &[void.0, dim, 0, u32::from(is_array), 0, 0, 0, access])
    }

    /// `OpTypeSampler`.
    pub fn sampler_type(&mut self) -> TypeId {
        self.ty(Op::TypeSampler, &[])
    }

    /// The type of an image with a sampler.
    pub fn sampled_image_type(&mut self, image: TypeId) -> TypeId {
        self.ty(Op::TypeSampledImage, &[image.0])
    }

    /// A vector type.
    pub fn vector_type(&mut self, component: TypeId, count: u32) -> TypeId {
        self.ty(Op::TypeVector, &[component.0, count])
    }

    /// An array type.
    pub fn array_type(&mut self, element: TypeId, count: u64) -> TypeId {
        let count = self.int_constant(64, count);
        self.ty(Op::TypeArray, &[element.0, count.0])
    }

    /// A struct type. Structs with equal members are one type.
    pub fn struct_type(&mut self, members: &[TypeId]) -> TypeId {
        let members: Vec<u32> = members.iter().map(|member| member.0).collect();
        self.ty(Op::TypeStruct, &members)
    }

    /// A struct type that is no other, for one that is named.
    pub fn new_struct_type(&mut self, members: &[TypeId]) -> TypeId {
        let id = self.fresh();
        let mut operands = vec![id];
        operands.extend(members.iter().map(|member| member.0));
        self.push_in(Section::Types, Op::TypeStruct, &operands);
        TypeId(id)
    }

    /// A pointer type.
    pub fn pointer_type(&mut self, class: StorageClass, pointee: TypeId) -> TypeId {
        if class == StorageClass::Generic {
            self.capability(Capability::GenericPointer);
        }
        self.ty(Op::TypePointer, &[class as u32, pointee.0])
    }

    /// A function type.
    pub fn function_type(&mut self, returns: TypeId, parameters: &[TypeId]) -> TypeId {
        let mut operands = vec![returns.0];
        operands.extend(parameters.iter().map(|parameter| parameter.0));
        self.ty(Op::TypeFunction, &operands)
    }

    /// An integer constant of 8, 16, 32 or 64 bits.
    pub fn int_constant(&mut self, width: u32, value: u64) -> ValueId {
        let ty = self.int_type(width);
        let value = value & u64::MAX.checked_shr(64_u32.saturating_sub(width)).unwrap_or(0);
        let words = [value as u32, (value >> 32) as u32];
        let words = if width == 64 { &words[..] } else { &words[..1] };
        let id = self.constant(Op::Constant, ty, words);
        self.integers.insert(id.0, value);
        id
    }

    /// The value of an integer constant, by its id.
    pub fn integer(&self, id: u32) -> Option<u64> {
        self.integers.get(&id).copied()
    }

    /// The width of an integer type.
    pub fn int_width(&self, ty: TypeId) -> Option<u32> {
        let of = |width: &u32| self.interned.get(&[Op::TypeInt as u32, *width, 0][..]) == Some(&ty.0);
        [8, 16, 32, 64].into_iter().find(of)
    }

    /// A floating-point constant of 16, 32 or 64 bits, by its bits.
    pub fn float_constant(&mut self, width: u32, bits: u64) -> ValueId {
        let ty = self.float_type(width);
        match width {
            64 => self.constant(Op::Constant, ty, &[bits as u32, (bits >> 32) as u32]),
            _ => self.constant(Op::Constant, ty, &[bits as u32]),
        }
    }

    /// A specialization constant with an id, and the words of its default.
    pub fn spec_constant(&mut self, ty: TypeId, id: u32, words: &[u32]) -> ValueId {
        let constant = self.fresh();
        let operands = [&[ty.0, constant], words].concat();
        self.push_in(Section::Types, Op::SpecConstant, &operands);
        self.decorate(ValueId(constant), Decoration::SpecId, &[id]);
        ValueId(constant)
    }

    /// `true` or `false`.
    pub fn bool_constant(&mut self, value: bool) -> ValueId {
        let ty = self.bool_type();
        self.constant(if value { Op::ConstantTrue } else { Op::ConstantFalse }, ty, &[])
    }

    /// The null value of a type.
    pub fn null(&mut self, ty: TypeId) -> ValueId {
        self.constant(Op::ConstantNull, ty, &[])
    }

    /// A value that is not defined.
    pub fn undefined(&mut self, ty: TypeId) -> ValueId {
        self.constant(Op::Undef, ty, &[])
    }

    /// A constant of elements.
    pub fn composite(&mut self, ty: TypeId, elements: &[ValueId]) -> ValueId {
        let elements: Vec<u32> = elements.iter().map(|element| element.0).collect();
        self.constant(Op::ConstantComposite, ty, &elements)
    }

    /// A variable at module scope. `pointer` is the type of its address.
    pub fn variable(&mut self, pointer: TypeId, class: StorageClass, value: Option<ValueId>) -> ValueId {
        let id = self.fresh();
        let mut operands = vec![pointer.0, id, class as u32];
        operands.extend(value.map(|value| value.0));
        self.push_in(Section::Types, Op::Variable, &operands);
        ValueId(id)
    }

    /// The variable of a built-in value, whose type is `ty`.
    pub fn built_in(&mut self, what: BuiltIn, ty: TypeId) -> ValueId {
        let key = vec![u32::MAX, what as u32];
        if let Some(&id) = self.interned.get(&key) {
            return ValueId(id);
        }
        let pointer = self.pointer_type(StorageClass::Input, ty);
        let variable = self.variable(pointer, StorageClass::Input, None);
        self.decorate(variable, Decoration::BuiltIn, &[what as u32]);
        self.decorate(variable, Decoration::Constant, &[]);
        self.interned.insert(key, variable.0);
        self.built_ins.insert(variable.0, what);
        variable
    }

    /// Which built-in value a variable has, by its id.
    pub fn built_in_of(&self, variable: u32) -> Option<BuiltIn> {
        self.built_ins.get(&variable).copied()
    }

    /// Adds a whole function, `OpFunction` to `OpFunctionEnd`.
    pub fn add_function(&mut self, mut function: Code) {
        if let Some(section) = self.sections.get_mut(Section::Definitions as usize) {
            section.append(&mut function);
        }
    }

    /// Adds a function without a body.
    pub fn declare_function(&mut self, mut function: Code) {
        if let Some(section) = self.sections.get_mut(Section::Declarations as usize) {
            section.append(&mut function);
        }
    }

    /// Puts the sections together.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where ids ran out or an instruction is too long to encode.
    pub fn finish(self) -> Result<Module> {
        if self.bound > MAX_ID_BOUND {
            let what = format!("the module needs more than {MAX_ID_BOUND} ids; split it");
            return Err(Error::Unsupported(what));
        }
        let total = self.sections.iter().map(|section| section.words().len()).sum::<usize>();
        let mut words = Vec::with_capacity(total + HEADER_WORDS);
        words.extend([::spirv::MAGIC_NUMBER, self.version.word(), 0, self.bound, 0]);
        for section in &self.sections {
            if let Some(opcode) = section.overlong() {
                let what =
                    format!("an instruction with opcode {opcode} of more than 65535 words; split the module");
                return Err(Error::Unsupported(what));
            }
            words.extend_from_slice(section.words());
        }
        Module::from_words(words)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::check::check;

    #[test]
    fn an_empty_kernel_is_sound() {
        let mut module = Builder::kernel(Version::V1_2);
        let void = module.void_type();
        let uint = module.int_type(32);
        let memory = module.pointer_type(StorageClass::CrossWorkgroup, uint);
        let ty = module.function_type(void, &[memory]);
        assert_eq!(ty, module.function_type(void, &[memory]));
        let (function, parameter, label) = (module.value(), module.value(), module.value());
        let seven = module.int_constant(32, 7);
        let mut code = Code::new();
        code.push(Op::Function, &[void.word(), function.word(), 0, ty.word()]);
        code.push(Op::FunctionParameter, &[memory.word(), parameter.word()]);
        code.push(Op::Label, &[label.word()]);
        code.push(Op::Store, &[parameter.word(), seven.word(), 2, 4]);
        code.push(Op::Return, &[]);
        code.push(Op::FunctionEnd, &[]);
        module.add_function(code);
        module.entry_point(ExecutionModel::Kernel, function, "seven", &[]);
        let module = module.finish().unwrap();
        check(&module).unwrap();
        assert_eq!(module.version(), Version::V1_2);
    }
}
