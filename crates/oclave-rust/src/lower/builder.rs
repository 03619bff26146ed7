//! The module that is being made, by an editor of an empty one. Types and values have ids of their own kinds here.

use std::collections::HashMap;

use oclave_spirv::{
    BuiltIn, Capability, Code, Decoration, Definitions, Editor, ExecutionMode, LinkageType, Module, Op,
    Section, StorageClass, string_words,
};

/// The id of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TypeId(u32);

/// The id of a value, a block or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueId(u32);

impl TypeId {
    /// As an operand.
    pub(super) const fn word(self) -> u32 {
        self.0
    }
}

impl ValueId {
    /// As an operand.
    pub(super) const fn word(self) -> u32 {
        self.0
    }
}

/// Declares what is outside of functions, and knows what it declared. Equal types and constants are one.
#[derive(Debug)]
pub(super) struct Builder<'m> {
    editor: Editor<'m>,
    opencl_std: ValueId,
    /// What values are decorated with.
    decorations: HashMap<ValueId, Vec<(Decoration, Vec<u32>)>>,
    /// Integer types → their widths.
    widths: HashMap<TypeId, u32>,
    /// Integer constants → their values.
    integers: HashMap<u32, u64>,
    /// Variables → the built-in values that they have.
    built_ins: HashMap<u32, BuiltIn>,
}

impl<'m> Builder<'m> {
    /// For an empty module, with what every kernel needs.
    pub(super) fn new(empty: &'m Definitions<'m>) -> Self {
        let mut editor = Editor::new(empty);
        editor.kernel_header(&[
            Capability::Addresses,
            Capability::Linkage,
            Capability::Kernel,
            Capability::Int64,
        ]);
        let set = editor.fresh_id();
        let operands = [&[set], string_words("OpenCL.std").as_slice()].concat();
        editor.push_in(Section::ExtInstImports, Op::ExtInstImport, &operands);
        Self {
            editor,
            opencl_std: ValueId(set),
            decorations: HashMap::new(),
            widths: HashMap::new(),
            integers: HashMap::new(),
            built_ins: HashMap::new(),
        }
    }

    /// The whole module; `None` if nothing was declared.
    pub(super) fn finish(mut self) -> oclave_spirv::Result<Option<Module>> {
        // OpenCL C 3.0: readers take the module for that of a kernel language.
        self.editor.push_in(Section::DebugStrings, Op::Source, &[3, 300_000]);
        self.editor.finish()
    }

    /// A new id for a value, a block or a function.
    pub(super) fn value(&mut self) -> ValueId {
        ValueId(self.editor.fresh_id())
    }

    /// A new id for a value that is decorated as another one is.
    pub(super) fn value_like(&mut self, other: ValueId) -> ValueId {
        let id = self.value();
        for (decoration, literals) in self.decorations.get(&other).cloned().unwrap_or_default() {
            self.decorate(id, decoration, &literals);
        }
        id
    }

    pub(super) fn capability(&mut self, capability: Capability) {
        self.editor.capability(capability);
    }

    /// The set of instructions `OpenCL.std`.
    pub(super) fn opencl_std(&self) -> ValueId {
        self.opencl_std
    }

    pub(super) fn add_function(&mut self, function: Code) {
        self.editor.add_function(function);
    }

    /// Declares an imported function.
    pub(super) fn import(&mut self, name: &str, returns: TypeId, parameters: &[TypeId]) -> ValueId {
        ValueId(self.editor.import(name, returns.0, &words(parameters)))
    }

    /// Makes a function a kernel.
    pub(super) fn entry_point(&mut self, function: ValueId, name: &str) {
        self.editor.entry_point(function.0, name, &[]);
    }

    pub(super) fn execution_mode(&mut self, function: ValueId, mode: ExecutionMode, literals: &[u32]) {
        self.editor.execution_mode(function.0, mode, literals);
    }

    /// A string for tools.
    pub(super) fn string(&mut self, text: &str) -> ValueId {
        let id = self.value();
        let operands = [&[id.0], string_words(text).as_slice()].concat();
        self.editor.push_in(Section::DebugStrings, Op::String, &operands);
        id
    }

    pub(super) fn name(&mut self, id: ValueId, name: &str) {
        self.editor.name(id.0, name);
    }

    pub(super) fn decorate(&mut self, id: ValueId, decoration: Decoration, literals: &[u32]) {
        self.editor.decorate(id.0, decoration, literals);
        self.decorations.entry(id).or_default().push((decoration, literals.to_vec()));
    }

    pub(super) fn decorate_linkage(&mut self, id: ValueId, name: &str, linkage: LinkageType) {
        self.editor.decorate_linkage(id.0, name, linkage);
    }

    /// A type by its instruction. No capability is added.
    pub(super) fn ty(&mut self, op: Op, operands: &[u32]) -> TypeId {
        TypeId(self.editor.intern(op, operands))
    }

    pub(super) fn void_type(&mut self) -> TypeId {
        TypeId(self.editor.void_type())
    }

    pub(super) fn bool_type(&mut self) -> TypeId {
        TypeId(self.editor.bool_type())
    }

    pub(super) fn int_type(&mut self, width: u32) -> TypeId {
        let ty = TypeId(self.editor.int_type(width));
        self.widths.insert(ty, width);
        ty
    }

    /// The width of an integer type.
    pub(super) fn int_width(&self, ty: TypeId) -> Option<u32> {
        self.widths.get(&ty).copied()
    }

    pub(super) fn float_type(&mut self, width: u32) -> TypeId {
        if width == 16 {
            // The type may be there, for memory only.
            self.capability(Capability::Float16);
        }
        TypeId(self.editor.float_type(width))
    }

    /// A floating-point type of 16 bits in memory: `vload_half` and `vstore_half` take pointers to it, and
    /// nothing else is done with it.
    pub(super) fn stored_half_type(&mut self) -> TypeId {
        self.capability(Capability::Float16Buffer);
        self.ty(Op::TypeFloat, &[16])
    }

    pub(super) fn vector_type(&mut self, component: TypeId, count: u32) -> TypeId {
        TypeId(self.editor.vector_type(component.0, count))
    }

    pub(super) fn array_type(&mut self, element: TypeId, count: u64) -> TypeId {
        let count = self.int_constant(64, count);
        self.ty(Op::TypeArray, &[element.0, count.0])
    }

    /// A struct type. Structs with equal members are one type.
    pub(super) fn struct_type(&mut self, members: &[TypeId]) -> TypeId {
        self.ty(Op::TypeStruct, &words(members))
    }

    /// A new struct type, whose members have names.
    pub(super) fn named_struct_type(&mut self, name: &str, members: &[(TypeId, &str)]) -> TypeId {
        let id = self.editor.fresh_id();
        self.editor.name(id, name);
        let mut operands = vec![id];
        for (index, (ty, name)) in (0_u32..).zip(members) {
            operands.push(ty.0);
            let named = [&[id, index], string_words(name).as_slice()].concat();
            self.editor.push_in(Section::Names, Op::MemberName, &named);
        }
        self.editor.push_in(Section::Types, Op::TypeStruct, &operands);
        TypeId(id)
    }

    pub(super) fn pointer_type(&mut self, class: StorageClass, pointee: TypeId) -> TypeId {
        TypeId(self.editor.pointer_type(class, pointee.0))
    }

    pub(super) fn function_type(&mut self, returns: TypeId, parameters: &[TypeId]) -> TypeId {
        TypeId(self.editor.function_type(returns.0, &words(parameters)))
    }

    /// An integer constant of 8, 16, 32 or 64 bits.
    pub(super) fn int_constant(&mut self, width: u32, value: u64) -> ValueId {
        let value = value & u64::MAX.checked_shr(64_u32.saturating_sub(width)).unwrap_or(0);
        let id = self.editor.int_constant(width, value);
        self.integers.insert(id, value);
        ValueId(id)
    }

    /// The value of an integer constant, by its id.
    pub(super) fn integer(&self, id: u32) -> Option<u64> {
        self.integers.get(&id).copied()
    }

    /// A floating-point constant of 16, 32 or 64 bits, by its bits.
    pub(super) fn float_constant(&mut self, width: u32, bits: u64) -> ValueId {
        ValueId(self.editor.float_constant(width, bits))
    }

    /// A specialization constant with an id, and the words of its default.
    pub(super) fn spec_constant(&mut self, ty: TypeId, id: u32, words: &[u32]) -> ValueId {
        let constant = self.value();
        let operands = [&[ty.0, constant.0], words].concat();
        self.editor.push_in(Section::Types, Op::SpecConstant, &operands);
        self.decorate(constant, Decoration::SpecId, &[id]);
        constant
    }

    pub(super) fn bool_constant(&mut self, value: bool) -> ValueId {
        ValueId(self.editor.bool_constant(value))
    }

    /// The null value of a type.
    pub(super) fn null(&mut self, ty: TypeId) -> ValueId {
        ValueId(self.editor.null_constant(ty.0))
    }

    /// A value that is not defined.
    pub(super) fn undefined(&mut self, ty: TypeId) -> ValueId {
        ValueId(self.editor.intern(Op::Undef, &[ty.0]))
    }

    /// A constant of elements.
    pub(super) fn composite(&mut self, ty: TypeId, elements: &[ValueId]) -> ValueId {
        let elements: Vec<u32> = elements.iter().map(|element| element.0).collect();
        ValueId(self.editor.composite_constant(ty.0, &elements))
    }

    /// A variable at module scope. `pointer` is the type of its address.
    pub(super) fn variable(
        &mut self,
        pointer: TypeId,
        class: StorageClass,
        value: Option<ValueId>,
    ) -> ValueId {
        ValueId(self.editor.module_variable(pointer.0, class, value.map(ValueId::word)))
    }

    /// The variable of a built-in value, whose type is `ty`.
    pub(super) fn built_in(&mut self, what: BuiltIn, ty: TypeId) -> ValueId {
        let known = self.built_ins.iter().find(|(_, known)| **known == what).map(|(variable, _)| *variable);
        let variable = known.unwrap_or_else(|| self.editor.built_in_variable(what, ty.0));
        self.built_ins.insert(variable, what);
        ValueId(variable)
    }

    /// Which built-in value a variable has, by its id.
    pub(super) fn built_in_of(&self, variable: u32) -> Option<BuiltIn> {
        self.built_ins.get(&variable).copied()
    }
}

fn words(types: &[TypeId]) -> Vec<u32> {
    types.iter().map(|ty| ty.0).collect()
}
