//! Built-in variables with one number for each dimension, such as the id of the group.

use oclave_spirv::{BuiltIn, Cursor, Editor, Op, Type, TypeTable};

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
        let definitions = edit.definitions();
        let types = TypeTable::new(definitions);
        let mut built_ins = definitions.module().built_ins().filter(|(_, number)| *number == wanted as u32);
        let known = built_ins.find_map(|(variable, _)| {
            let pointer = definitions.instruction(variable).filter(|v| v.is(Op::Variable))?.result_type()?;
            let Some(Type::Pointer { pointee: vector, .. }) = types.ty(pointer) else { return None };
            let Some(Type::Vector { component, count: 3 }) = types.ty(vector) else { return None };
            let Some(Type::Int { width }) = types.ty(component) else { return None };
            Some(Self { variable, vector, component, width })
        });
        let vector = known.unwrap_or_else(|| {
            let component = edit.int_type(address_bits);
            let vector = edit.vector_type(component, 3);
            let variable = edit.built_in_variable(wanted, vector);
            Self { variable, vector, component, width: address_bits }
        });
        edit.add_to_interfaces(vector.variable);
        vector
    }

    /// Writes the number of one dimension.
    pub(crate) fn read(&self, at: &mut Cursor<'_, '_>, axis: u32) -> u32 {
        let all = at.emit(Op::Load, self.vector, &[self.variable]);
        at.emit(Op::CompositeExtract, self.component, &[all, axis])
    }
}
