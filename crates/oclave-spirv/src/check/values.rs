//! The types of what instructions work on.

use super::{Context, memory, types};
use crate::{Definitions, Instruction, Op, Role, StorageClass, Type, is_access_chain, is_within};

pub(super) type Verdict = Result<(), String>;

/// A number or bool, or a vector of them.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Bits of a lane; 0 for bool.
    pub(super) width: u32,
    /// Lanes; 1 for scalars.
    pub(super) lanes: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Bool,
    Int,
    Float,
}

/// Checks an instruction of a function, or the operation of an `OpSpecConstantOp`.
pub(super) fn check(
    context: &Context<'_, '_>,
    instruction: &Instruction<'_>,
    op: Op,
    ids: &[(usize, Role, u32)],
) -> Verdict {
    let at = At { context, instruction };
    at.operands_are_values(op, ids)?;
    match op {
        Op::IAdd | Op::ISub | Op::IMul | Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod => {
            at.arithmetic(Kind::Int)
        }
        Op::BitwiseOr | Op::BitwiseXor | Op::BitwiseAnd | Op::Not | Op::SNegate => at.arithmetic(Kind::Int),
        Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FRem | Op::FMod | Op::FNegate => {
            at.arithmetic(Kind::Float)
        }
        Op::LogicalOr | Op::LogicalAnd | Op::LogicalNot | Op::LogicalEqual | Op::LogicalNotEqual => {
            at.arithmetic(Kind::Bool)
        }
        Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
            let (result, base) = (at.result(Kind::Int)?, at.shape(0, Kind::Int)?);
            at.ensure(
                result == base && at.shape(1, Kind::Int)?.lanes == base.lanes,
                "operands of different types",
            )
        }
        Op::BitReverse | Op::BitCount => at.ensure(
            at.result(Kind::Int)?.lanes == at.shape(0, Kind::Int)?.lanes,
            "operands of different types",
        ),
        Op::IEqual | Op::INotEqual => at.comparison(Kind::Int),
        _ if is_within(op, Op::UGreaterThan, Op::SLessThanEqual) => at.comparison(Kind::Int),
        _ if is_within(op, Op::FOrdEqual, Op::FUnordGreaterThanEqual) => at.comparison(Kind::Float),
        Op::LessOrGreater | Op::Ordered | Op::Unordered => at.comparison(Kind::Float),
        Op::IsNan | Op::IsInf | Op::IsFinite | Op::IsNormal | Op::SignBitSet => at.comparison(Kind::Float),
        Op::Any | Op::All => {
            let result = at.result(Kind::Bool)?;
            at.ensure(result.lanes == 1 && at.shape(0, Kind::Bool)?.lanes > 1, "is not of a vector")
        }
        Op::ConvertFToU | Op::ConvertFToS => at.conversion(Kind::Float, Kind::Int),
        Op::ConvertSToF | Op::ConvertUToF => at.conversion(Kind::Int, Kind::Float),
        Op::SatConvertSToU | Op::SatConvertUToS => at.conversion(Kind::Int, Kind::Int),
        Op::QuantizeToF16 => at.conversion(Kind::Float, Kind::Float),
        Op::UConvert | Op::SConvert | Op::FConvert => {
            let kind = if op == Op::FConvert { Kind::Float } else { Kind::Int };
            at.conversion(kind, kind)?;
            at.ensure(at.result(kind)?.width != at.shape(0, kind)?.width, "operands of one width")
        }
        Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
            at.shape(0, Kind::Int)?;
            let part = at.operand_type(0);
            let same = |&member: &u32| Some(at.context.same(member)) == part;
            let of_two = matches!(at.result_type(), Some(Type::Struct { members }) if members.len() == 2 && members.iter().all(same));
            at.ensure(of_two && at.operand_type(1) == part, "the result is no struct of two operands")
        }
        Op::ConvertPtrToU => at.ensure(
            at.operand_pointer(0).is_some() && at.result(Kind::Int)?.lanes == 1,
            "is not pointer to integer",
        ),
        Op::ConvertUToPtr => {
            let pointer = matches!(at.result_type(), Some(Type::Pointer { .. }));
            at.ensure(pointer && at.shape(0, Kind::Int)?.lanes == 1, "is not integer to pointer")
        }
        Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::GenericCastToPtrExplicit => {
            memory::generic_cast(&at, op)
        }
        Op::Bitcast => at.bitcast(),
        Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff => {
            let kind = if op == Op::PtrDiff { Kind::Int } else { Kind::Bool };
            let scalar = at.result(kind)?.lanes == 1;
            let same = at.operand_pointer(0).is_some() && at.operand_type(0) == at.operand_type(1);
            at.ensure(scalar && same, "does not compare pointers of one type")
        }
        Op::Select => at.select(),
        Op::CopyObject => {
            at.ensure(at.operand_type(0) == at.result_id(), "the operand is not of the result's type")
        }
        Op::Dot => {
            let vector = at.shape(0, Kind::Float)?;
            let result = at.result(Kind::Float)?;
            let fits = result.width == vector.width && result.lanes == 1 && vector.lanes > 1;
            at.ensure(fits && at.operand_type(0) == at.operand_type(1), "is not of two equal vectors")
        }
        Op::VectorTimesScalar => {
            let (vector, scalar) = (at.result(Kind::Float)?, at.shape(1, Kind::Float)?);
            let fits =
                at.operand_type(0) == at.result_id() && scalar.lanes == 1 && scalar.width == vector.width;
            at.ensure(fits && vector.lanes > 1, "is not of a vector and a scalar of its lanes")
        }
        Op::CompositeConstruct => constituents_of(&at),
        Op::CompositeExtract | Op::CompositeInsert => memory::composite(&at, op),
        Op::VectorExtractDynamic | Op::VectorInsertDynamic | Op::VectorShuffle => memory::vector(&at, op),
        Op::BranchConditional => at.ensure(
            at.shape(0, Kind::Bool)?.lanes == 1 && matches!(instruction.operands().len(), 3 | 5),
            "the condition is no bool, or weights are missing",
        ),
        Op::Switch => at.switch(),
        Op::FunctionCall => at.call(),
        Op::ExtInst => at.extended(),
        _ => memory::check(&at, op),
    }
}

/// Whether `operands` are what a composite of type `ty` consists of.
pub(super) fn constituents(
    context: &Context<'_, '_>,
    ty: Type<'_>,
    operands: &[u32],
    instruction: &Instruction<'_>,
) -> Verdict {
    let all = |element: u32, count: u64| {
        let element = context.same(element);
        operands.len() as u64 == count && operands.iter().all(|&id| context.value_type(id) == Some(element))
    };
    // A list that is too long for one instruction goes on in those that follow.
    let next = context.module.instructions_from(instruction.at + instruction.words.len()).next();
    let continued = next.and_then(|i| i.op()).is_some_and(|op| {
        matches!(op, Op::ConstantCompositeContinuedINTEL | Op::SpecConstantCompositeContinuedINTEL)
    });
    let fits = continued
        || match ty {
            Type::Vector { component, count } => all(component, count.into()),
            Type::Array { element, length: Some(length) } => all(element, length),
            Type::Array { element, length: None } => all(element, operands.len() as u64),
            Type::Struct { members } => {
                members.len() == operands.len()
                    && members
                        .iter()
                        .zip(operands)
                        .all(|(&m, &id)| context.value_type(id) == Some(context.same(m)))
            }
            _ => false,
        };
    if fits { Ok(()) } else { Err("its parts are not those of its type".to_owned()) }
}

/// `OpCompositeConstruct`: as constants, but vectors may be made of vectors.
fn constituents_of(at: &At<'_, '_, '_>) -> Verdict {
    let operands = at.instruction.operands();
    match at.result_type() {
        Some(Type::Vector { component, count }) => {
            let component = at.context.same(component);
            let mut lanes = 0;
            for i in 0..operands.len() {
                let part = at.operand_type(i);
                lanes += match part.and_then(|ty| at.context.ty(ty)) {
                    Some(Type::Vector { component: c, count }) if at.context.same(c) == component => {
                        u64::from(count)
                    }
                    _ if part == Some(component) => 1,
                    _ => return Err("its parts are not those of its type".to_owned()),
                };
            }
            at.ensure(lanes == u64::from(count), "its parts are not those of its type")
        }
        Some(ty) => constituents(at.context, ty, operands, at.instruction),
        None => Err("has no type".to_owned()),
    }
}

/// An instruction where it is looked at.
pub(super) struct At<'a, 'b, 'm> {
    pub(super) context: &'a Context<'b, 'm>,
    pub(super) instruction: &'a Instruction<'a>,
}

impl<'m> At<'_, '_, 'm> {
    pub(super) fn ensure(&self, sound: bool, what: &str) -> Verdict {
        if sound { Ok(()) } else { Err(what.to_owned()) }
    }

    /// The canonical id of the result's type.
    pub(super) fn result_id(&self) -> Option<u32> {
        self.instruction.result_type().map(|ty| self.context.same(ty))
    }

    pub(super) fn result_type(&self) -> Option<Type<'m>> {
        self.context.ty(self.instruction.result_type()?)
    }

    /// The canonical id of the type of operand `i`.
    pub(super) fn operand_type(&self, i: usize) -> Option<u32> {
        self.context.value_type(self.instruction.operand(i)?)
    }

    /// Storage class and pointee of operand `i`.
    pub(super) fn operand_pointer(&self, i: usize) -> Option<(u32, u32)> {
        self.context.pointer(self.instruction.operand(i)?)
    }

    pub(super) fn shape_of(&self, ty: Option<u32>) -> Option<Shape> {
        let ty = self.context.ty(ty?)?;
        let (ty, lanes) = match ty {
            Type::Vector { component, count } => (self.context.ty(component)?, count),
            other => (other, 1),
        };
        let (kind, width) = match ty {
            Type::Bool => (Kind::Bool, 0),
            Type::Int { width } => (Kind::Int, width),
            Type::Float { width } => (Kind::Float, width),
            _ => return None,
        };
        Some(Shape { kind, width, lanes })
    }

    pub(super) fn shape(&self, i: usize, kind: Kind) -> Result<Shape, String> {
        let shape = self.shape_of(self.operand_type(i)).filter(|s| s.kind == kind);
        shape.ok_or_else(|| format!("operand {i} is no {kind:?}"))
    }

    pub(super) fn result(&self, kind: Kind) -> Result<Shape, String> {
        let shape = self.shape_of(self.result_id()).filter(|s| s.kind == kind);
        shape.ok_or_else(|| format!("the result is no {kind:?}"))
    }

    /// Everything that is used as a value is one; labels, types and functions only stand where they
    /// belong.
    fn operands_are_values(&self, op: Op, ids: &[(usize, Role, u32)]) -> Verdict {
        let context = self.context;
        if let Some(ty) = self.instruction.result_type() {
            let voids = matches!(op, Op::FunctionCall | Op::ExtInst | Op::FunctionPointerCallINTEL);
            match context.ty(ty) {
                None => return Err(format!("%{ty} is no type")),
                Some(Type::Function { .. }) => return Err("the result cannot be a function".to_owned()),
                Some(Type::Void) if !voids => return Err("the result is void".to_owned()),
                Some(_) => {}
            }
        }
        let first_operand = self.instruction.words.len() - self.instruction.operands().len();
        for &(index, _, id) in ids.iter().filter(|(_, role, _)| *role == Role::Id) {
            let sound = match expected(op, index, index == first_operand) {
                Expected::Value => match context.value_type(id).and_then(|ty| context.ty(ty)) {
                    None | Some(Type::Void) => false,
                    // Drivers replace the variables of built-ins by calls, and expect nothing but
                    // reads.
                    Some(Type::Pointer { class, .. }) => class != StorageClass::Input as u32 || reads(op),
                    Some(_) => true,
                },
                Expected::Label => is(context.definitions, id, Op::Label),
                Expected::Function => is(context.definitions, id, Op::Function),
                Expected::Other => true,
            };
            if !sound {
                return Err(format!("%{id} may not be used here"));
            }
        }
        Ok(())
    }

    /// Result and operands are of one type.
    fn arithmetic(&self, kind: Kind) -> Verdict {
        self.result(kind)?;
        let result = self.result_id();
        let same = (0..self.instruction.operands().len()).all(|i| self.operand_type(i) == result);
        self.ensure(same, "operands of different types")
    }

    /// A bool for each lane of operands of one type.
    fn comparison(&self, kind: Kind) -> Verdict {
        let operand = self.shape(0, kind)?;
        let same = self.instruction.operands().len() < 2 || self.operand_type(0) == self.operand_type(1);
        self.ensure(same && self.result(Kind::Bool)?.lanes == operand.lanes, "operands of different types")
    }

    fn conversion(&self, from: Kind, to: Kind) -> Verdict {
        self.ensure(self.result(to)?.lanes == self.shape(0, from)?.lanes, "operands of different lanes")
    }

    fn bitcast(&self) -> Verdict {
        let operand = self.operand_type(0);
        let pointers = (self.operand_pointer(0), self.result_type());
        let sound = match pointers {
            (Some((from, _)), Some(Type::Pointer { class, .. })) => from == class,
            (Some(_), _) => {
                self.result(Kind::Int).is_ok_and(|r| r.lanes == 1 && r.width == self.address_bits())
            }
            (None, Some(Type::Pointer { .. })) => {
                self.shape(0, Kind::Int).is_ok_and(|s| s.lanes == 1 && s.width == self.address_bits())
            }
            _ => match (self.shape_of(operand), self.shape_of(self.result_id())) {
                (Some(a), Some(b)) => {
                    let bits = |s: Shape| u64::from(s.width) * u64::from(s.lanes);
                    a.kind != Kind::Bool && b.kind != Kind::Bool && bits(a) == bits(b)
                }
                _ => false,
            },
        };
        self.ensure(sound, "operand and result are not of one size")
    }

    fn switch(&self) -> Verdict {
        self.ensure(self.shape(0, Kind::Int)?.lanes == 1, "the selector is no integer")?;
        let selector = self.instruction.operand(0).unwrap_or(0);
        let of = self.context.definitions.type_of(selector);
        let of = of.and_then(|ty| self.context.definitions.instruction(ty));
        let literal = self.context.definitions.literal_words(selector);
        let cases = self.instruction.operands().get(2..).unwrap_or_default().chunks(literal + 1);
        let extended = |case: &[u32]| types::is_extended(of, case.get(..literal).unwrap_or_default());
        self.ensure(cases.into_iter().all(extended), "a literal has bits beyond its type")
    }

    pub(super) fn address_bits(&self) -> u32 {
        self.context.types.pointer_bytes() * 8
    }

    fn select(&self) -> Verdict {
        let result = self.result_id();
        let condition = self.shape(0, Kind::Bool)?;
        let lanes = self.shape_of(result).map_or(1, |s| s.lanes);
        let same = self.operand_type(1) == result && self.operand_type(2) == result;
        self.ensure(same && (condition.lanes == 1 || condition.lanes == lanes), "operands of different types")
    }

    fn call(&self) -> Verdict {
        let callee = self.instruction.operand(0).and_then(|f| self.context.definitions.instruction(f));
        let ty = callee.and_then(|f| f.operand(1)).and_then(|ty| self.context.ty(ty));
        let Some(Type::Function { returns, parameters }) = ty else {
            return Err("calls no function".to_owned());
        };
        let arguments = self.instruction.operands().get(1..).unwrap_or_default();
        let same = |(&id, &ty): (&u32, &u32)| self.context.value_type(id) == Some(self.context.same(ty));
        let fits = arguments.len() == parameters.len() && arguments.iter().zip(parameters).all(same);
        self.ensure(fits, "arguments are not what the function takes")?;
        self.ensure(
            self.result_id() == Some(self.context.same(returns)),
            "the result is not what the function returns",
        )
    }

    fn extended(&self) -> Verdict {
        let set = self.instruction.operand(0);
        let import =
            set.and_then(|id| self.context.definitions.instruction(id)).filter(|i| i.is(Op::ExtInstImport));
        self.ensure(import.is_some(), "is of no instruction set")?;
        if set != self.context.definitions.opencl_std() {
            return Ok(());
        }
        let number = self.instruction.operand(1).unwrap_or(u32::MAX);
        let count = self.instruction.operands().len() - 2;
        match super::opencl::arguments(number) {
            None => Err(format!("OpenCL.std has no instruction {number}")),
            Some(range) if range.contains(&count) => super::extended::operands(self, number),
            Some(_) => Err(format!("instruction {number} of OpenCL.std does not take {count} operands")),
        }
    }
}

enum Expected {
    Value,
    Label,
    Function,
    Other,
}

/// What kind of id an instruction takes at a word; `first` is its first operand.
fn expected(op: Op, index: usize, first: bool) -> Expected {
    match op {
        Op::Branch | Op::LoopMerge | Op::SelectionMerge => Expected::Label,
        Op::BranchConditional | Op::Switch if !first => Expected::Label,
        Op::FunctionCall | Op::ConstantFunctionPointerINTEL if first => Expected::Function,
        Op::ExtInst if first => Expected::Other,
        Op::ExtInst => Expected::Value,
        Op::Line | Op::Label | Op::Undef | Op::AsmINTEL | Op::AsmCallINTEL => Expected::Other,
        // Blocks to enqueue are functions.
        Op::EnqueueKernel | Op::GetKernelNDrangeSubGroupCount | Op::GetKernelNDrangeMaxSubGroupSize => {
            Expected::Other
        }
        Op::GetKernelWorkGroupSize | Op::GetKernelPreferredWorkGroupSizeMultiple => Expected::Other,
        Op::GetKernelLocalSizeForSubgroupCount | Op::GetKernelMaxNumSubgroups => Expected::Other,
        // The scopes and lists of aliases are no values.
        Op::Load if index > 3 => Expected::Other,
        Op::Store if index > 2 => Expected::Other,
        _ => Expected::Value,
    }
}

fn reads(op: Op) -> bool {
    is_access_chain(op) || matches!(op, Op::Load | Op::PtrCastToGeneric | Op::Bitcast | Op::CopyObject)
}

fn is(definitions: &Definitions<'_>, id: u32, op: Op) -> bool {
    definitions.instruction(id).is_some_and(|i| i.is(op))
}
