//! Atomic instructions on generic pointers, for Intel's CPU runtime.
//!
//! Its reader of SPIR-V calls the atomic functions of OpenCL 1.2 for them (`atomic_add`), of which
//! there are none for generic pointers. The program then does not link, with all of its kernels.
//! Modules whose source is OpenCL C++ get the functions of OpenCL 2.0 (`atomic_fetch_add_explicit`),
//! which exist for all pointers.

use super::with_source;
use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::SourceLanguage;
use oclave_spirv::analysis::Analyses;

use oclave_spirv::{Instruction, Module, Op, StorageClass, Type, TypeTable, is_atomic};

fault! {
    /// **Q24. Intel's CPU runtime 2026.2.** A program with an atomic instruction on a generic
    /// pointer does not build, with none of its kernels ("JIT session error: Symbols not found:
    /// `_Z10atomic_addPU3AS4Vii`"). It builds where the module's `OpSource` is OpenCL C++ 1.0:
    /// then the reader calls the atomic functions of OpenCL 2.0. So such modules say that.
    Q24 {
        affects: [INTEL],
        seen: Programs,
        symptom: "Programs with an atomic instruction on a generic pointer do not build.",
        remedy: "`OpSource` says OpenCL C++ (`generic_atomics`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q24, "generic_atomics", |on| as_cpp(on.analyses));

/// What the reader takes for OpenCL C++. It takes C++ for OpenCL 2021 (202100) for OpenCL C.
const OPENCL_CPP: [u32; 2] = [SourceLanguage::OpenCL_CPP as u32, 100_000];

/// The module as one of OpenCL C++; `None` where it has no atomic instruction on a generic pointer.
///
/// # Errors
/// As [`with_source`].
pub(crate) fn as_cpp(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let is_generic = |instruction: &Instruction<'_>| {
        let pointer = instruction.operand(0).and_then(|id| definitions.type_of(id));
        matches!(
            pointer.and_then(|ty| types.ty(ty)),
            Some(Type::Pointer { class, .. }) if class == StorageClass::Generic as u32
        )
    };
    if !analyses.module().instructions().any(|i| i.op().is_some_and(is_atomic) && is_generic(&i)) {
        return Ok(None);
    }
    with_source(analyses, OPENCL_CPP)
}

/// Whether a module asks at run time for the address space of a generic pointer (`to_global`).
pub(crate) fn asks_for_spaces(module: &Module) -> bool {
    module.instructions().any(|i| i.is(Op::GenericCastToPtrExplicit))
}
