//! Images and samplers.

use super::values::{At, Kind, Verdict};
use crate::{Instruction, Op, Type, is_within};

/// Checks instructions that sample, read, write or ask images.
pub(super) fn check(at: &At<'_, '_, '_>, op: Op) -> Verdict {
    match op {
        Op::SampledImage => {
            let sampler = at.operand_type(1).and_then(|ty| at.context.ty(ty));
            let fits = image(at, 0).is_some() && sampler == Some(Type::Sampler);
            at.ensure(
                fits && at.result_type() == Some(Type::SampledImage),
                "is not of an image and a sampler",
            )
        }
        Op::Image => at.ensure(
            sampled_image(at, 0).is_some() && at.result_type() == Some(Type::Image),
            "is not the image of a sampled one",
        ),
        _ if is_within(op, Op::ImageSampleImplicitLod, Op::ImageDrefGather) && op != Op::ImageFetch => {
            let image = sampled_image(at, 0).ok_or("operand 0 is no sampled image")?;
            at.ensure(image.operand(4) != Some(1), "the image has several samples a pixel")?;
            let projective = matches!(
                op,
                Op::ImageSampleProjImplicitLod
                    | Op::ImageSampleProjExplicitLod
                    | Op::ImageSampleProjDrefImplicitLod
                    | Op::ImageSampleProjDrefExplicitLod
            );
            coordinate(at, &image, &[Kind::Int, Kind::Float], u32::from(projective))?;
            let dref = matches!(
                op,
                Op::ImageSampleDrefImplicitLod
                    | Op::ImageSampleDrefExplicitLod
                    | Op::ImageSampleProjDrefImplicitLod
                    | Op::ImageSampleProjDrefExplicitLod
                    | Op::ImageGather
                    | Op::ImageDrefGather
            );
            image_operands(at, op, 2 + usize::from(dref))
        }
        Op::ImageRead | Op::ImageWrite | Op::ImageFetch => {
            let image = image(at, 0).ok_or("operand 0 is no image")?;
            coordinate(at, &image, &[Kind::Int], 0)?;
            let first = if op == Op::ImageWrite { 3 } else { 2 };
            let mask = at.instruction.operands().get(first);
            let names_sample = mask.is_some_and(|mask| mask & SAMPLE != 0);
            at.ensure(
                (image.operand(4) == Some(1)) == names_sample,
                "only images of several samples have a sample's number",
            )?;
            let texel = if op == Op::ImageWrite { at.operand_type(2) } else { at.result_id() };
            at.ensure(at.shape_of(texel).is_some_and(|s| s.kind != Kind::Bool), "the texel is no number")?;
            image_operands(at, op, first)
        }
        Op::ImageTexelPointer => Err("no OpenCL device has pointers to texels".to_owned()),
        Op::ImageQueryLod => at.ensure(sampled_image(at, 0).is_some(), "operand 0 is no sampled image"),
        Op::ImageQuerySizeLod => {
            at.ensure(image(at, 0).is_some(), "operand 0 is no image")?;
            at.ensure(at.shape(1, Kind::Int)?.lanes == 1, "the level of detail is no scalar")
        }
        _ if is_within(op, Op::ImageQueryFormat, Op::ImageQuerySamples) => {
            at.ensure(image(at, 0).is_some(), "operand 0 is no image")
        }
        _ => Ok(()),
    }
}

/// The `OpTypeImage` of operand `i`.
fn image<'m>(at: &At<'_, '_, 'm>, i: usize) -> Option<Instruction<'m>> {
    at.context.definitions.instruction(at.operand_type(i)?).filter(|ty| ty.is(Op::TypeImage))
}

/// The `OpTypeImage` of operand `i`, which is a sampled image.
fn sampled_image<'m>(at: &At<'_, '_, 'm>, i: usize) -> Option<Instruction<'m>> {
    let sampled = at.context.definitions.instruction(at.operand_type(i)?)?;
    let image = sampled.operand(0).filter(|_| sampled.is(Op::TypeSampledImage))?;
    at.context.definitions.instruction(image).filter(|ty| ty.is(Op::TypeImage))
}

/// Operand 1 has a number for each dimension of the image, and one for its layer.
fn coordinate(at: &At<'_, '_, '_>, image: &Instruction<'_>, kinds: &[Kind], more: u32) -> Verdict {
    let shape = at.shape_of(at.operand_type(1)).filter(|shape| kinds.contains(&shape.kind));
    let shape = shape.ok_or("no coordinate")?;
    // 1D, 2D, 3D, cubes, rectangles and buffers; the rest are of shaders.
    let dimensions = match image.operand(1) {
        Some(0 | 5) => 1,
        Some(2 | 3) => 3,
        _ => 2,
    };
    let layer = image.operand(3).unwrap_or(0).min(1);
    at.ensure(shape.lanes >= dimensions + layer + more, "the coordinate has too few parts")
}

/// The mask of image operands at operand `first`, if there is one, is one of kernels, and what it
/// needs follows.
fn image_operands(at: &At<'_, '_, '_>, op: Op, first: usize) -> Verdict {
    let Some((&mask, operands)) = at.instruction.operands().get(first..).and_then(|o| o.split_first()) else {
        return Ok(());
    };
    let has = |bit: u32| mask & bit != 0;
    let explicit = matches!(
        op,
        Op::ImageSampleExplicitLod
            | Op::ImageSampleDrefExplicitLod
            | Op::ImageSampleProjExplicitLod
            | Op::ImageSampleProjDrefExplicitLod
    );
    let belongs = !(has(LOD) && has(GRAD))
        && (!has(LOD) || explicit || op == Op::ImageFetch)
        && (!has(GRAD) || explicit);
    let needed = usize::from(has(LOD)) + 2 * usize::from(has(GRAD)) + usize::from(has(SAMPLE));
    at.ensure(
        mask & !(LOD | GRAD | SAMPLE | WITHOUT_OPERANDS) == 0 && belongs && operands.len() == needed,
        "the image operands are not those of its mask",
    )?;
    let mut next = first + 1;
    if has(LOD) {
        let kind = if explicit { Kind::Float } else { Kind::Int };
        at.ensure(at.shape(next, kind)?.lanes == 1, "the level of detail is no scalar")?;
        next += 1;
    }
    if has(GRAD) {
        at.shape(next, Kind::Float)?;
        at.shape(next + 1, Kind::Float)?;
        next += 2;
    }
    if has(SAMPLE) {
        at.ensure(at.shape(next, Kind::Int)?.lanes == 1, "the sample's number is no scalar")?;
    }
    Ok(())
}

/// Image operands of kernels. The others (`Bias`, offsets, `MinLod`) need capabilities of shaders.
const LOD: u32 = 2;
const GRAD: u32 = 4;
const SAMPLE: u32 = 0x40;
/// The signs of texels, and `Nontemporal`.
const WITHOUT_OPERANDS: u32 = 0x7000;
