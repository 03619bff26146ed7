//! Loads, stores, access chains, composites, atomics.

use super::values::{At, Kind, Shape, Verdict};
use crate::{Capability, Op, StorageClass, Type, is_group_reduction, is_within};

/// Checks instructions that touch memory, and the rest of those that have rules.
pub(super) fn check(at: &At<'_, '_, '_>, op: Op) -> Verdict {
    match op {
        Op::Load => {
            let (_, pointee) = pointer(at, 0)?;
            at.ensure(at.result_id() == Some(pointee), "the result is not what the pointer points to")?;
            access(at, at.instruction.operands().get(1..).unwrap_or_default())
        }
        Op::Store => {
            let pointee = written(at, 0)?;
            at.ensure(at.operand_type(1) == Some(pointee), "the object is not what the pointer points to")?;
            access(at, at.instruction.operands().get(2..).unwrap_or_default())
        }
        Op::CopyMemory => {
            let (a, (_, b)) = (written(at, 0)?, pointer(at, 1)?);
            at.ensure(a == b, "the pointers point to different types")?;
            access(at, at.instruction.operands().get(2..).unwrap_or_default())
        }
        Op::CopyMemorySized => {
            written(at, 0)?;
            pointer(at, 1)?;
            at.ensure(at.shape(2, Kind::Int)?.lanes == 1, "the size is no integer")?;
            access(at, at.instruction.operands().get(3..).unwrap_or_default())
        }
        Op::AccessChain | Op::InBoundsAccessChain => chain(at, 1),
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => chain(at, 2),
        Op::LoopMerge => at.ensure(is_loop_control(at.instruction.operands().get(2..)), "unknown control"),
        Op::SelectionMerge => at.ensure(at.instruction.operand(1).is_some_and(|c| c <= 3), "unknown control"),
        Op::LifetimeStart | Op::LifetimeStop => pointer(at, 0).map(|_| ()),
        Op::AtomicStore => {
            let pointee = atomic_object(at)?;
            at.ensure(at.operand_type(3) == Some(pointee), "the value is not what the pointer points to")?;
            scopes(at, &[1], &[2])
        }
        Op::AtomicLoad => atomic(at, &[], &[1, 2]),
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
            let released = constant(at, 3).is_some_and(|mask| mask & RELEASES != 0);
            at.ensure(!released, "nothing is released where the values differ")?;
            atomic(at, &[4, 5], &[1, 2, 3])
        }
        Op::AtomicIIncrement | Op::AtomicIDecrement => atomic(at, &[], &[1, 2]),
        Op::AtomicFlagTestAndSet | Op::AtomicFlagClear => {
            atomic_object(at)?;
            let bool = Some(Shape { kind: Kind::Bool, width: 0, lanes: 1 });
            let fits = op == Op::AtomicFlagClear || at.shape_of(at.result_id()) == bool;
            at.ensure(fits, "the result is no bool")?;
            scopes(at, &[1], &[2])
        }
        Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT => atomic(at, &[3], &[1, 2]),
        _ if is_within(op, Op::AtomicExchange, Op::AtomicXor) => atomic(at, &[3], &[1, 2]),
        Op::ControlBarrier => scopes(at, &[0, 1], &[2]),
        Op::MemoryBarrier => scopes(at, &[0], &[1]),
        Op::GroupAll | Op::GroupAny => {
            scopes(at, &[0], &[])?;
            at.ensure(
                at.shape(1, Kind::Bool)?.lanes == 1 && at.result(Kind::Bool)?.lanes == 1,
                "is of no bool",
            )
        }
        Op::GroupBroadcast => {
            scopes(at, &[0], &[])?;
            at.ensure(at.operand_type(1) == at.result_id(), "the value is not of the result's type")?;
            at.shape(2, Kind::Int).map(|_| ())
        }
        _ if is_group_reduction(op) => {
            scopes(at, &[0], &[])?;
            let float = matches!(op, Op::GroupFAdd | Op::GroupFMin | Op::GroupFMax);
            at.result(if float { Kind::Float } else { Kind::Int })?;
            let operation = at.instruction.operand(1).is_some_and(|o| o <= 2);
            at.ensure(
                operation && at.operand_type(2) == at.result_id(),
                "the value is not of the result's type",
            )
        }
        Op::GroupAsyncCopy => {
            let (a, (_, b)) = (written(at, 1)?, pointer(at, 2)?);
            at.ensure(
                a == b && at.result_type() == Some(Type::Other),
                "the pointers point to different types",
            )?;
            scopes(at, &[0], &[])
        }
        Op::GroupWaitEvents => {
            pointer(at, 2)?;
            scopes(at, &[0], &[])
        }
        Op::CopyLogical => Err("is not known to devices for kernels".to_owned()),
        _ => super::images::check(at, op),
    }
}

/// A mask with bits of the core, with a literal for each from `DependencyLength` on. Or a mask with
/// bits of the FPGA extension, one of which may have any number of literals.
fn is_loop_control(control: Option<&[u32]>) -> bool {
    let Some((&mask, literals)) = control.and_then(|c| c.split_first()) else { return false };
    // Of the kinds of extensions, one takes no literal, and one takes several.
    let needed = (mask & 0x37f_01f8).count_ones() as usize;
    match mask & !0x1ff {
        0 => literals.len() == needed,
        extension => extension & !0x3ff_0000 == 0 && literals.len() >= needed,
    }
}

/// Storage class and pointee of operand `i`.
fn pointer(at: &At<'_, '_, '_>, i: usize) -> Result<(u32, u32), String> {
    at.operand_pointer(i).ok_or_else(|| format!("operand {i} is no pointer"))
}

/// The pointee of operand `i`, whose memory is not constant.
fn written(at: &At<'_, '_, '_>, i: usize) -> Result<u32, String> {
    let (class, pointee) = pointer(at, i)?;
    at.ensure(class != StorageClass::UniformConstant as u32, "constant memory cannot be written")?;
    Ok(pointee)
}

/// The pointee of operand 0, in memory that has atomics.
fn atomic_object(at: &At<'_, '_, '_>) -> Result<u32, String> {
    let (class, pointee) = pointer(at, 0)?;
    let has_atomics = match StorageClass::from_u32(class) {
        Some(
            StorageClass::Workgroup
            | StorageClass::CrossWorkgroup
            | StorageClass::Function
            | StorageClass::Generic,
        ) => true,
        // Those of extensions.
        _ => class > 5000,
    };
    at.ensure(has_atomics, format!("storage class {class} has no atomics").as_str())?;
    Ok(pointee)
}

/// Volatile, aligned, nontemporal, and the two of `SPV_INTEL_memory_access_aliasing`.
const ACCESS: u32 = 0x3_0007;

/// Memory operands: their mask is one of kernels, an alignment is a power of two, and lists of
/// aliases are such. `OpCopyMemory` may have a second mask.
fn access(at: &At<'_, '_, '_>, operands: &[u32]) -> Verdict {
    let mut rest = operands.iter();
    while let Some(&mask) = rest.next() {
        at.ensure(mask & !ACCESS == 0, "a memory operand is none of kernels")?;
        if mask & 2 != 0 {
            let power = rest.next().is_some_and(|a| a.is_power_of_two() && *a <= 1 << 29);
            at.ensure(power, "the alignment is no power of two")?;
        }
        for _ in 0..(mask >> 16).count_ones() {
            let list = rest.next().and_then(|&id| at.context.definitions.instruction(id));
            let is_list = list.is_some_and(|i| i.is(Op::AliasScopeListDeclINTEL));
            at.ensure(is_list, "an operand is no list of alias scopes")?;
        }
        let second = matches!(at.instruction.op(), Some(Op::CopyMemory | Op::CopyMemorySized));
        at.ensure(second || rest.len() == 0, "there are operands beyond those of the mask")?;
    }
    Ok(())
}

/// Scopes and memory semantics are 32-bit integers, and those that are constants are known.
fn scopes(at: &At<'_, '_, '_>, scopes: &[usize], semantics: &[usize]) -> Verdict {
    for &i in scopes.iter().chain(semantics) {
        let shape = at.shape(i, Kind::Int)?;
        at.ensure(shape.width == 32 && shape.lanes == 1, "a scope is no 32-bit integer")?;
    }
    let known = scopes.iter().filter_map(|&i| constant(at, i)).all(|scope| scope <= LAST_SCOPE);
    at.ensure(known, "a scope is unknown")?;
    let sound = |mask: u32| mask & !SEMANTICS == 0 && (mask & ORDERS).count_ones() <= 1;
    let sound = semantics.iter().filter_map(|&i| constant(at, i)).all(sound);
    at.ensure(sound, "memory semantics are none of kernels")
}

/// The value of operand `i`, which is a constant.
fn constant(at: &At<'_, '_, '_>, i: usize) -> Option<u32> {
    let definition = at.context.definitions.instruction(at.instruction.operand(i)?)?;
    definition.is(Op::Constant).then(|| definition.operand(0))?
}

/// `Invocation`; the rest are of shaders.
const LAST_SCOPE: u32 = 4;
/// Acquire, release, both, sequentially consistent: one at most.
const ORDERS: u32 = 0x1e;
/// Release, alone and with acquire.
const RELEASES: u32 = 0xc;
/// The orders, and the memories that kernels have: of sub-groups, of groups, of all, of images.
const SEMANTICS: u32 = ORDERS | 0xb80;

/// An atomic whose result, pointee and `values` are of one type.
fn atomic(at: &At<'_, '_, '_>, values: &[usize], semantics: &[usize]) -> Verdict {
    let pointee = atomic_object(at)?;
    let result = at.result_id();
    let same = result == Some(pointee) && values.iter().all(|&i| at.operand_type(i) == result);
    at.ensure(same, "operands of different types")?;
    let shape = at.shape_of(result);
    let scalar = shape.is_some_and(|s| s.lanes == 1 && s.kind != Kind::Bool);
    let wide = shape.is_some_and(|s| s.kind == Kind::Int && s.width == 64);
    at.ensure(
        !wide || at.context.requirements.has(Capability::Int64Atomics),
        "needs the capability Int64Atomics",
    )?;
    at.ensure(scalar, "is not of a number")?;
    let (scope, semantics) = semantics.split_at(1);
    scopes(at, scope, semantics)
}

/// Casts between the generic storage class and others keep the pointee.
pub(super) fn generic_cast(at: &At<'_, '_, '_>, op: Op) -> Verdict {
    let generic = StorageClass::Generic as u32;
    let (class, pointee) = pointer(at, 0)?;
    let Some(Type::Pointer { class: to, pointee: result }) = at.result_type() else {
        return Err("the result is no pointer".to_owned());
    };
    let (special, other) = if op == Op::PtrCastToGeneric { (to, class) } else { (class, to) };
    let castable =
        [StorageClass::CrossWorkgroup, StorageClass::Workgroup, StorageClass::Function, StorageClass::Input]
            .iter()
            .any(|&c| c as u32 == other)
            || other > 5000;
    let fits = special == generic && castable && pointee == at.context.same(result);
    at.ensure(fits, "does not cast between the generic storage class and another")
}

/// Access chains: the indices lead from the base to what the result points to. The first index is
/// operand `skip`; with two, operand 1 moves the base as in an array.
fn chain(at: &At<'_, '_, '_>, skip: usize) -> Verdict {
    let (class, mut ty) = pointer(at, 0)?;
    let Some(Type::Pointer { class: result_class, pointee }) = at.result_type() else {
        return Err("the result is no pointer".to_owned());
    };
    for i in 1..at.instruction.operands().len() {
        at.ensure(at.shape(i, Kind::Int)?.lanes == 1, "an index is no integer")?;
        if i < skip {
            continue;
        }
        ty = match at.context.ty(ty) {
            Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => element,
            Some(Type::Vector { component, .. }) => component,
            Some(Type::Struct { members }) => {
                let index = at.instruction.operand(i).and_then(|id| at.context.definitions.int_constant(id));
                match index.and_then(|i| members.get(usize::try_from(i).ok()?)) {
                    Some(&member) => member,
                    None => return Err(format!("index {i} is no member of a struct")),
                }
            }
            _ => return Err(format!("index {i} goes into something without parts")),
        };
    }
    let leads = at.context.same(ty) == at.context.same(pointee) && class == result_class;
    at.ensure(leads, "the indices do not lead to the result's type")
}

/// `OpCompositeExtract`, `OpCompositeInsert`.
pub(super) fn composite(at: &At<'_, '_, '_>, op: Op) -> Verdict {
    let base = if op == Op::CompositeExtract { 0 } else { 1 };
    let Some(whole) = at.operand_type(base) else { return Err("is of no composite".to_owned()) };
    let indices = at.instruction.operands().get(base + 1..).unwrap_or_default();
    at.ensure(!indices.is_empty(), "there is no index")?;
    let mut ty = whole;
    for &index in indices {
        let part = match at.context.ty(ty) {
            Some(Type::Array { element, length }) => {
                length.is_none_or(|n| u64::from(index) < n).then_some(element)
            }
            Some(Type::Vector { component, count }) => (index < count).then_some(component),
            Some(Type::Struct { members }) => members.get(index as usize).copied(),
            _ => None,
        };
        ty = part.ok_or_else(|| format!("there is no part {index}"))?;
    }
    let part = Some(at.context.same(ty));
    let fits = match op {
        Op::CompositeExtract => at.result_id() == part,
        _ => at.operand_type(0) == part && at.result_id() == Some(whole),
    };
    at.ensure(fits, "the part is of another type")
}

/// Vectors with dynamic indices, and shuffles.
pub(super) fn vector(at: &At<'_, '_, '_>, op: Op) -> Verdict {
    let lanes = |i: usize| match at.operand_type(i).and_then(|ty| at.context.ty(ty)) {
        Some(Type::Vector { component, count }) => Some((at.context.same(component), count)),
        _ => None,
    };
    let index = |i: usize| at.shape(i, Kind::Int).is_ok_and(|s| s.lanes == 1);
    let fits = match op {
        Op::VectorExtractDynamic => lanes(0).is_some_and(|(c, _)| at.result_id() == Some(c)) && index(1),
        Op::VectorInsertDynamic => {
            let same = at.result_id() == at.operand_type(0);
            same && lanes(0).is_some_and(|(c, _)| at.operand_type(1) == Some(c)) && index(2)
        }
        _ => match (lanes(0), lanes(1), at.result_type()) {
            (Some((a, first)), Some((b, second)), Some(Type::Vector { component, count })) => {
                let picks = at.instruction.operands().get(2..).unwrap_or_default();
                // 0xffffffff picks nothing.
                let inside = picks.iter().all(|&p| p == u32::MAX || p < first.saturating_add(second));
                a == b && at.context.same(component) == a && picks.len() == count as usize && inside
            }
            _ => false,
        },
    };
    at.ensure(fits, "vectors of different lanes, or a lane out of range")
}
