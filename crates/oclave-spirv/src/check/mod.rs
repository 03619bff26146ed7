//! The rules of SPIR-V whose breach makes drivers crash.
//!
//! On modules that break the rules, drivers die with a segmentation fault or an assertion. So only checked modules may reach `clCreateProgramWithIL`. Looked at are:
//!
//! - the layout: sections in order, functions of blocks, blocks with one terminator (`layout.rs`);
//! - ids: below the bound, defined once, used where they are defined (`layout.rs`, `flow.rs`);
//! - types, constants, module-scope variables (`types.rs`);
//! - the capabilities that instructions, types and decorations need (`requirements.rs`);
//! - memory model, entry points, modes (`annotations.rs`), decorations (`decorations.rs`);
//! - control flow: branch targets, predecessors of phis, dominance, no recursion (`flow.rs`);
//! - the types of operands (`values.rs`, `memory.rs`, `images.rs`, `extended.rs`).
//!
//! What `llvm-spirv` writes passes, although the specification says otherwise in two points. Blocks
//! may be in any order, and loop merges may be anywhere in their block. Its annotations' strings do
//! not pass: [`strip`](crate::transform::strip) first. Operands of instructions of extensions are
//! only checked to exist. `tests/mutants.rs` compares the verdicts with those of `spirv-val`. It
//! lists what is taken here and refused there. Time and memory are linear in the module's size.
//! Dominance is nearly so.

mod annotations;
mod decorations;
mod extended;
mod flow;
mod images;
mod layout;
mod memory;
mod opencl;
mod requirements;
mod requirements_table;
mod types;
mod values;

pub use requirements::implied;

use crate::{Definitions, IdMap, Instruction, Module, Op, Type, TypeTable};
use crate::{Error, Result};

/// Checks a kernel module.
///
/// # Errors
/// [`Error::Malformed`] with the first instruction that breaks a rule.
pub fn check(module: &Module) -> Result<()> {
    let definitions = Definitions::new(module);
    let layout = layout::read(module, &definitions)?;
    let types = TypeTable::new(&definitions);
    let mut context = Context {
        module,
        definitions: &definitions,
        types: &types,
        canonical: IdMap::new(module, 0),
        value_types: None,
        requirements: requirements::Requirements::new(module)?,
    };
    types::check(&mut context)?;
    context.value_types = Some(value_types(&context));
    annotations::check(&context, &layout)?;
    flow::check(&context, &layout)
}

/// What all rules look at.
struct Context<'a, 'm> {
    module: &'m Module,
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    /// Type → the first equal type. Equal scalars, vectors, pointers and function types are one
    /// type.
    canonical: IdMap<u32>,
    /// Value → its canonical type; 0 for what is no value. There once the types are checked.
    value_types: Option<IdMap<u32>>,
    /// What the module declares.
    requirements: requirements::Requirements,
}

impl<'m> Context<'_, 'm> {
    /// The type of the value `id`; `None` where `id` is not a value.
    #[inline]
    fn value_type(&self, id: u32) -> Option<u32> {
        if let Some(types) = &self.value_types {
            return Some(types.value(id)).filter(|&ty| ty != 0);
        }
        let definition = self.definitions.instruction(id)?;
        if definition.is(Op::Function) {
            return None;
        }
        Some(self.same(definition.result_type()?))
    }

    /// The one type that stands for all that are equal to `ty`.
    #[inline]
    fn same(&self, ty: u32) -> u32 {
        match self.canonical.value(ty) {
            0 => ty,
            first => first,
        }
    }

    #[inline]
    fn ty(&self, id: u32) -> Option<Type<'m>> {
        self.types.ty(id)
    }

    /// Storage class and pointee of the type of the pointer `id`.
    fn pointer(&self, id: u32) -> Option<(u32, u32)> {
        match self.ty(self.value_type(id)?)? {
            Type::Pointer { class, pointee } => Some((class, self.same(pointee))),
            _ => None,
        }
    }
}

fn value_types(context: &Context<'_, '_>) -> IdMap<u32> {
    let mut types = IdMap::new(context.module, 0);
    for instruction in context.module.instructions().filter(|i| !i.is(Op::Function)) {
        if let (Some(id), Some(ty)) = (instruction.result_id(), instruction.result_type()) {
            types.insert(id, context.same(ty));
        }
    }
    types
}

/// The error for an instruction.
fn broken(instruction: &Instruction<'_>, what: impl std::fmt::Display) -> Error {
    let name = match instruction.op() {
        Some(op) => format!("Op{op:?}"),
        None => format!("opcode {}", instruction.opcode),
    };
    let what = match instruction.result_id() {
        Some(id) => format!("{name} %{id}: {what}"),
        None => format!("{name}: {what}"),
    };
    Error::Malformed { word: instruction.at, what }
}
