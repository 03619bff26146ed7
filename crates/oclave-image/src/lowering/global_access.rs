//! A kernel that gives the host access to a program's device globals, for devices without
//! `clEnqueueWriteGlobalVariableINTEL`.

use std::collections::BTreeMap;

use crate::build::device_globals::is_pointer_variable;
use crate::{DeviceGlobalInfo, ImageError, Result};
use oclave_spirv::{
    ALIGNED, Code, Definitions, Editor, LinkageType, Module, Op, StorageClass, TypeTable, Version,
};

/// Name of the kernel that [`add_global_access_kernel`] adds.
pub const GLOBAL_ACCESS_KERNEL: &str = "__oclave_access_device_globals";

/// Adds the kernel `void __oclave_access_device_globals(global ulong *table)`, for a launch of one
/// work-item.
///
/// `table[i]` belongs to `globals[i]`, which is what
/// [`DeviceImage::device_globals`](crate::DeviceImage::device_globals) gives. For a variable that
/// all images share, the kernel *reads* its USM address there, and stores it into the program's
/// pointer variable. For a variable with `device_image_scope`, the kernel *writes* the variable's
/// own address there, so that the host can copy to and from it. Entries are 64 bits wide on any
/// device.
///
/// # Errors
/// [`ImageError::Unsupported`] where the module has no variable of a global's unique id.
pub fn add_global_access_kernel(module: &Module, globals: &[DeviceGlobalInfo]) -> Result<Module> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let exported = exported_variables(module);
    let mut edit = Editor::new(&definitions);
    let void = edit.void_type();
    let ulong = edit.int_type(64);
    let address = edit.int_type(types.pointer_bytes().saturating_mul(8));
    let table_type = edit.pointer_type(StorageClass::CrossWorkgroup, ulong);
    let function_type = edit.function_type(void, &[table_type]);
    let [function, table, label] = [(); 3].map(|()| edit.fresh_id());

    let mut code = Code::new();
    code.push(Op::Function, &[void, function, 0, function_type]);
    code.push(Op::FunctionParameter, &[table_type, table]);
    code.push(Op::Label, &[label]);
    let mut interface = Vec::new();
    for (index, global) in (0_u64..).zip(globals) {
        let missing = |what: &str| ImageError::Unsupported(format!("device global `{}`: {what}", global.id));
        let variable = *exported.get(&global.id).ok_or_else(|| missing("the module has no such variable"))?;
        let pointer = definitions.type_of(variable).ok_or_else(|| missing("its variable has no type"))?;
        interface.push(variable);
        let index = edit.int_constant(64, index);
        let [entry, wide, narrow, value] = [(); 4].map(|()| edit.fresh_id());
        code.push(Op::InBoundsPtrAccessChain, &[table_type, entry, table, index]);
        if global.device_image_scope {
            code.push(Op::ConvertPtrToU, &[address, narrow, variable]);
            if address != ulong {
                code.push(Op::UConvert, &[ulong, wide, narrow]);
            }
            let wide = if address == ulong { narrow } else { wide };
            code.push(Op::Store, &[entry, wide, ALIGNED, 8]);
        } else {
            let target = is_pointer_variable(&types, pointer)
                .ok_or_else(|| missing("its variable is no pointer; it was not rewritten by post-link"))?;
            code.push(Op::Load, &[ulong, wide, entry, ALIGNED, 8]);
            if address != ulong {
                code.push(Op::UConvert, &[address, narrow, wide]);
            }
            let narrow = if address == ulong { wide } else { narrow };
            code.push(Op::ConvertUToPtr, &[target, value, narrow]);
            code.push(Op::Store, &[variable, value, ALIGNED, types.pointer_bytes()]);
        }
    }
    code.push(Op::Return, &[]);
    code.push(Op::FunctionEnd, &[]);
    edit.add_function(code);

    // Before SPIR-V 1.4, interfaces list only variables of the storage classes Input and Output.
    if module.version() < Version::V1_4 {
        interface.clear();
    }
    interface.sort_unstable();
    interface.dedup();
    edit.entry_point(function, GLOBAL_ACCESS_KERNEL, &interface);
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// Linkage name → module-scope variable.
pub(crate) fn exported_variables(module: &Module) -> BTreeMap<String, u32> {
    module
        .linkages()
        .filter(|(_, _, kind)| *kind == LinkageType::Export)
        .map(|(id, name, _)| (name.into_owned(), id))
        .collect()
}
