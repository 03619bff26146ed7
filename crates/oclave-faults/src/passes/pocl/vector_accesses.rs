//! Writes `vloadn` and `vstoren` as loads and stores of vectors that are aligned as one of their elements.
//!
//! They read and write no other bytes: three elements stay three. The functions of half precision stay.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{ALIGNED, Cursor, Definitions, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q77. PoCL 6.0 and 7.1 on CPUs.** `vloadn` and `vstoren` are functions of PoCL's library. On PoCL 6.0 kernels that come as
    /// SPIR-V call them (Q9), and store all vector registers around each call. On PoCL 7.1 loops with them are still slower than
    /// loops with plain loads. A product of vectors by `vload4` took 3.4 and 1.5 times as long. So they become loads and stores.
    Q77 {
        affects: [POCL_CPU],
        seen: Measurements,
        symptom: "`vloadn` and `vstoren` are calls, or slower than plain loads and stores.",
        remedy: "Loads and stores that are aligned as their elements (`vector_accesses`).",
        upstream: [],
    }
}

/// Runs before the fences, so that these and all other passes see the accesses.
pub(in crate::passes) const PASS: Pass = pass(Fault::Q77, "vector_accesses", |on| expand(on.analyses));

const VLOADN: u32 = 171;
const VSTOREN: u32 = 172;
/// The module with plain loads and stores; `None` where there are no such functions.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn expand(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    for instruction in analyses.module().instructions() {
        let Some(access) = Access::read(&instruction, set, definitions, &types) else { continue };
        if access.stored.is_some() {
            // A load of a vector has the id of the call. A store has none.
            edit.remove(&instruction);
        }
        access.write(&mut edit.instead_of(&instruction));
    }
    Ok(edit.finish()?)
}

/// A call of one of the functions.
struct Access {
    /// Type and id of a load.
    loaded: [u32; 2],
    stored: Option<u32>,
    /// The type of the vector.
    vector: u32,
    lanes: u32,
    element_bytes: u32,
    /// How many vectors there are before it, and the bits of that number.
    offset: u32,
    offset_bits: u32,
    /// The first element, the type of the pointer to it, and the kind of its memory.
    pointer: u32,
    pointer_type: u32,
    class: u32,
}

impl Access {
    fn read(
        instruction: &Instruction<'_>,
        set: u32,
        definitions: &Definitions<'_>,
        types: &TypeTable<'_>,
    ) -> Option<Self> {
        if !instruction.is(Op::ExtInst) {
            return None;
        }
        let loaded = [instruction.result_type()?, instruction.result_id()?];
        let (stored, vector, offset, pointer) = match *instruction.operands() {
            [of, VLOADN, offset, pointer, _] if of == set => (None, loaded[0], offset, pointer),
            [of, VSTOREN, data, offset, pointer] if of == set => {
                (Some(data), definitions.type_of(data)?, offset, pointer)
            }
            _ => return None,
        };
        let Type::Vector { component, count: lanes } = types.ty(vector)? else { return None };
        let Type::Int { width: offset_bits } = types.ty(definitions.type_of(offset)?)? else { return None };
        let pointer_type = definitions.type_of(pointer)?;
        let Type::Pointer { class, pointee } = types.ty(pointer_type)? else { return None };
        let element_bytes = u32::try_from(types.size_bytes(component)?).ok()?;
        let is_known = pointee == component;
        is_known.then_some(Self {
            loaded,
            stored,
            vector,
            lanes,
            element_bytes,
            offset,
            offset_bits,
            pointer,
            pointer_type,
            class,
        })
    }

    fn write(&self, at: &mut Cursor<'_, '_>) {
        let offset_type = at.int_type(self.offset_bits);
        let lanes = at.int_constant(self.offset_bits, self.lanes.into());
        let index = at.emit(Op::IMul, offset_type, &[self.offset, lanes]);
        let first = at.emit(Op::InBoundsPtrAccessChain, self.pointer_type, &[self.pointer, index]);
        let to_vector = at.intern(Op::TypePointer, &[self.class, self.vector]);
        let all = at.emit(Op::Bitcast, to_vector, &[first]);
        match (self.stored, self.loaded) {
            (Some(value), _) => at.push(Op::Store, &[all, value, ALIGNED, self.element_bytes]),
            (None, [ty, result]) => at.push(Op::Load, &[ty, result, all, ALIGNED, self.element_bytes]),
        }
    }
}
