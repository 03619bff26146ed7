//! Products of vectors whose lanes may be zero, lane by lane.
//!
//! LLVM 21 makes code for a product, or a bitwise and, of vectors. Where it knows a lane of one
//! operand to be zero, it takes that lane of the other for unused, and leaves it undefined. It then
//! takes the result for undefined, which should be zero (llvm-project#180727). What PoCL makes of ids
//! may be such a zero: `(uint4)(a, get_local_id(1), 0, 3) * v` has two of them in groups of n × 1.

use std::collections::{HashMap, HashSet};

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Cursor, Definitions, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q39. PoCL 7.1 (LLVM 21) on CPUs.** LLVM may take a zero lane of a product of vectors for
    /// undefined. So it does with bitwise `and`. `llvm-project#180727` mends it. From source,
    /// `zero_lanes` of `kernels/tests/optimised.cl` is wrong, with each of PoCL's methods. It was right
    /// with `-cl-opt-disable`. Seen in one of 10,000 random kernels. Lanes may become zero in PoCL, as
    /// ids do in groups of n × 1. So products of vectors that are put together from scalars are
    /// computed lane by lane. Left as it is: code of clang's `-O0`.
    /// PoCL 6.0 (LLVM 18) was right, but LLVM's fault is older.
    Q39 {
        affects: [POCL_CPU],
        seen: RandomKernels,
        symptom: "Zero lanes of products of vectors count as undefined.",
        remedy: "Products lane by lane (`zero_lanes`).",
        upstream: ["llvm-project#180727"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q39, "zero_lanes", |on| split(on.analyses));

/// `s_mul_hi` and `u_mul_hi` of OpenCL.std.
const MUL_HI: [u32; 2] = [160, 203];

/// The module with a scalar operation for each lane of a product or bitwise and of vectors, one of
/// which is put together from scalars; `None` where there is none.
///
/// Vectors from memory are left alone: no lane of them is known.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn split(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let products: Vec<Product<'_>> =
        analyses.module().instructions().filter_map(|i| product(&i, definitions, &types)).collect();
    if products.is_empty() {
        return Ok(None);
    }
    let built = built(analyses.module());
    let is_lost = |product: &&Product<'_>| product.factors.iter().any(|factor| built.contains(factor));
    let mut edit = Editor::new(definitions);
    for product in products.iter().filter(is_lost) {
        // Such a result may be said not to wrap, which cannot be said of what is put together.
        edit.remove_annotations(product.result);
        product.write(&mut edit.instead_of(&product.instruction));
    }
    Ok(edit.finish()?)
}

/// A product, or bitwise and, of vectors.
struct Product<'m> {
    instruction: Instruction<'m>,
    op: Op,
    result: u32,
    ty: u32,
    element: u32,
    lanes: u32,
    factors: [u32; 2],
}

fn product<'m>(
    instruction: &Instruction<'m>,
    definitions: &Definitions<'m>,
    types: &TypeTable<'m>,
) -> Option<Product<'m>> {
    let op = instruction.op()?;
    let factors = match (op, instruction.operands()) {
        (Op::IMul | Op::BitwiseAnd, &[a, b]) => [a, b],
        (Op::ExtInst, &[set, number, a, b])
            if MUL_HI.contains(&number) && definitions.opencl_std() == Some(set) =>
        {
            [a, b]
        }
        _ => return None,
    };
    let (ty, result) = (instruction.result_type()?, instruction.result_id()?);
    match types.ty(ty)? {
        Type::Vector { component, count } => {
            let instruction = *instruction;
            Some(Product { instruction, op, result, ty, element: component, lanes: count, factors })
        }
        _ => None,
    }
}

impl Product<'_> {
    fn write(&self, at: &mut Cursor<'_, '_>) {
        let before: &[u32] = match self.instruction.operands() {
            [set, number, _, _] => &[*set, *number],
            _ => &[],
        };
        let mut whole = vec![self.ty, self.result];
        for lane in 0..self.lanes {
            let factors =
                self.factors.map(|factor| at.emit(Op::CompositeExtract, self.element, &[factor, lane]));
            whole.push(at.emit(self.op, self.element, &[before, &factors].concat()));
        }
        at.push(Op::CompositeConstruct, &whole);
    }
}

/// The vectors that are put together from scalars or constants, at least in part.
fn built(module: &Module) -> HashSet<u32> {
    let mut made_of: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut open = Vec::new();
    for instruction in module.instructions() {
        let Some(result) = instruction.result_id() else { continue };
        let operands = instruction.operands().iter();
        let of: Vec<u32> = match instruction.op() {
            Some(Op::CompositeConstruct | Op::CompositeInsert | Op::ConstantComposite | Op::ConstantNull) => {
                open.push(result);
                continue;
            }
            Some(Op::VectorShuffle | Op::IMul | Op::BitwiseAnd) => operands.take(2).copied().collect(),
            Some(Op::CopyObject | Op::UConvert | Op::Bitcast | Op::ShiftLeftLogical) => {
                operands.take(1).copied().collect()
            }
            Some(Op::Select) => operands.skip(1).copied().collect(),
            Some(Op::Phi) => operands.step_by(2).copied().collect(),
            _ => continue,
        };
        of.into_iter().for_each(|of| made_of.entry(of).or_default().push(result));
    }
    let mut built = HashSet::new();
    while let Some(id) = open.pop() {
        if built.insert(id) {
            open.extend(made_of.get(&id).into_iter().flatten());
        }
    }
    built
}
