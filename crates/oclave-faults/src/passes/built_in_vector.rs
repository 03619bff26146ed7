//! Built-in variables with one number for each dimension, such as the id of the group.

use oclave_spirv::{
    BuiltIn, Capability, Cursor, Declarations, Decoration, Editor, Instruction, Op, Rewriter, Section,
    StorageClass, Type, TypeTable,
};

/// A built-in variable that holds one number for each dimension.
pub(crate) struct BuiltInVector {
    pub(crate) variable: u32,
    vector: u32,
    component: u32,
    pub(crate) width: u32,
}

impl BuiltInVector {
    /// The variable of the module, or a new one. All kernels may use it.
    pub(crate) fn add(edit: &mut Editor<'_>, wanted: BuiltIn, address_bits: u32) -> Self {
        let vector = Self::of(edit, wanted, address_bits);
        edit.add_to_interfaces(vector.variable);
        vector
    }

    /// Writes the number of one dimension.
    pub(crate) fn read(&self, at: &mut Cursor<'_, '_>, axis: u32) -> u32 {
        let all = at.emit(Op::Load, self.vector, &[self.variable]);
        at.emit(Op::CompositeExtract, self.component, &[all, axis])
    }

    /// The variable of the module, or a new one.
    pub(crate) fn of(new: &mut Declarations<'_>, wanted: BuiltIn, address_bits: u32) -> Self {
        let definitions = new.definitions();
        let types = TypeTable::new(definitions);
        let mut built_ins = definitions.module().built_ins().filter(|(_, number)| *number == wanted as u32);
        let known = built_ins.find_map(|(variable, _)| {
            let pointer = definitions.instruction(variable).filter(|v| v.is(Op::Variable))?.result_type()?;
            let Some(Type::Pointer { pointee: vector, .. }) = types.ty(pointer) else { return None };
            let Some(Type::Vector { component, count: 3 }) = types.ty(vector) else { return None };
            let Some(Type::Int { width }) = types.ty(component) else { return None };
            Some(Self { variable, vector, component, width })
        });
        known.unwrap_or_else(|| {
            if address_bits == 64 {
                new.capability(Capability::Int64);
            }
            let component = new.int_type(address_bits);
            let vector = new.vector_type(component, 3);
            let pointer = new.pointer_type(StorageClass::Input, vector);
            let variable = new.fresh_id();
            new.push_in(Section::Types, Op::Variable, &[pointer, variable, StorageClass::Input as u32]);
            new.decorate(variable, Decoration::BuiltIn, &[wanted as u32]);
            new.decorate(variable, Decoration::Constant, &[]);
            Self { variable, vector, component, width: address_bits }
        })
    }

    /// Copies an entry point of a kernel that may use the variable now.
    pub(crate) fn copy_entry_point(&self, new: &mut Rewriter<'_>, entry: &Instruction<'_>) {
        copy_entry_point(new, entry, &[self.variable]);
    }

    /// Loads the number of one dimension.
    pub(crate) fn load(&self, new: &mut Rewriter<'_>, axis: u32) -> u32 {
        let (all, one) = (new.fresh_id(), new.fresh_id());
        new.push(Op::Load, &[self.vector, all, self.variable]);
        new.push(Op::CompositeExtract, &[self.component, one, all, axis]);
        one
    }
}

/// Copies an entry point, with variables in its interface: all that a kernel uses must be there.
pub(crate) fn copy_entry_point(new: &mut Rewriter<'_>, entry: &Instruction<'_>, used: &[u32]) {
    let listed = entry.after_string(2).unwrap_or_default();
    let missing = used.iter().filter(|variable| !listed.contains(variable));
    let operands: Vec<u32> = entry.operands().iter().chain(missing).copied().collect();
    new.replace(entry, Op::EntryPoint, &operands);
}
