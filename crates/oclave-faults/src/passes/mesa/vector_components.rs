//! Pointers to lanes of vectors behind pointers that a function is given, made by a cast.
//!
//! The compiler of Mesa's rusticl crashes on some kernels with a struct argument that has a vector.
//! The kernel reads two lanes of this vector, each by an access chain of its own. A chain that ends
//! at the vector, a cast of that pointer and a step over the lanes give the same address.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{
    Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable, first_chain_index,
};

fault! {
    /// **Q17. Mesa's rusticl 26.1.6 on llvmpipe.** `clBuildProgram` ends the process with SIGSEGV on
    /// some kernels that take a struct by value. The struct has a vector, and the kernel reads two
    /// lanes of it by access chains: `typedef struct { float4 s; } P; kernel void k(P p, global float *out) {
    /// out[0] = p.s.x + p.s.y; }`, built by clang 15 with `-O2`. One lane, or the whole vector, is
    /// fine. So is an address that is made by a cast, and the library makes it so. Raw OpenCL in C shows the crash. No
    /// upstream report was found.
    Q17 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "Building ends the process if a kernel reads two lanes of a vector in a struct by value.",
        remedy: "Addresses of lanes by a cast (`vector_components`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q17, "vector_components", |on| cast(on.analyses));

/// The module without access chains into vectors, as far as they lead through private memory that
/// is no variable of the function; `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn cast(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let chains = Chains { definitions, types: &types };
    let mut edit = Editor::new(definitions);
    for chain in analyses.module().instructions() {
        let (Some(vector), Some(op), Some(lane_pointer), Some(result), [before @ .., lane]) =
            (chains.vector(&chain), chain.op(), chain.result_type(), chain.result_id(), chain.operands())
        else {
            continue;
        };
        let vector_pointer = edit.pointer_type(StorageClass::Function, vector);
        let mut at = edit.instead_of(&chain);
        let whole = at.emit(op, vector_pointer, before);
        let first = at.emit(Op::Bitcast, lane_pointer, &[whole]);
        at.push(Op::InBoundsPtrAccessChain, &[lane_pointer, result, first, *lane]);
    }
    Ok(edit.finish()?)
}

struct Chains<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
}

impl Chains<'_, '_> {
    /// The vector that an access chain leads into.
    fn vector(&self, chain: &Instruction<'_>) -> Option<u32> {
        let skipped = first_chain_index(chain.op()?)?;
        let base = chain.operand(0)?;
        let (class, pointee) = self.types.pointer(self.definitions.type_of(base)?)?;
        let root = self.definitions.root(base);
        if class != StorageClass::Function as u32 || self.definitions.is_private_variable(root) {
            return None;
        }
        let (_, steps) = chain.operands().get(skipped..)?.split_last()?;
        let reached =
            steps.iter().try_fold(pointee, |ty, index| self.types.part(self.definitions, ty, *index))?;
        matches!(self.types.ty(reached)?, Type::Vector { .. }).then_some(reached)
    }
}
