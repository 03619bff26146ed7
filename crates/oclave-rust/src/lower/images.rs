//! Images and samplers, which `oclave-kernel` has as the numbers of the kernel's arguments.

use oclave_spirv::{Capability, Op};

use super::builder::{TypeId, ValueId};
use super::function::{Lower, Lowering, Refusal};
use super::types::{Leaf, Scalar};
use super::{Argument, Output};
use crate::kernels::{Dimensions, ImageAccess};
use crate::llvm::tree::{Constant, Instruction, Operand, Typed};

/// Image operands: a level of detail.
const LOD: u32 = 2;
/// The kind of pixels of floating-point numbers.
const FLOATS: u64 = 0;

impl Output<'_> {
    /// The type of an image.
    pub(super) fn image_type(&mut self, access: ImageAccess, dimensions: Dimensions) -> TypeId {
        self.capability(Capability::ImageBasic);
        if matches!(dimensions, Dimensions::D1 | Dimensions::D1Array) {
            self.capability(Capability::Sampled1D);
        }
        if access == ImageAccess::ReadWrite {
            self.capability(Capability::ImageReadWrite);
        }
        let (dim, is_array) = match dimensions {
            Dimensions::D1 => (0, false),
            Dimensions::D2 => (1, false),
            Dimensions::D3 => (2, false),
            Dimensions::D1Array => (0, true),
            Dimensions::D2Array => (1, true),
        };
        let access = match access {
            ImageAccess::Read => 0,
            ImageAccess::Write => 1,
            ImageAccess::ReadWrite => 2,
        };
        let void = self.builder.void_type();
        // Kernels do not know the format.
        self.builder.ty(Op::TypeImage, &[void.word(), dim, 0, is_array.into(), 0, 0, 0, access])
    }
}

impl Lower<'_, '_> {
    /// A function of `oclave-kernel` for images.
    pub(super) fn image(
        &mut self,
        instruction: &Instruction,
        name: &str,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let (image, dimensions) = self.image_argument(arguments.first())?;
        let count = dimensions.count();
        let mut values = Vec::new();
        match (name, arguments) {
            ("image_size", [_, axis]) => {
                let axis = number(axis)?;
                let size = self.image_size(image, dimensions, axis);
                values.push(size);
            }
            ("image_read", [_, kind, place @ .., to]) => {
                self.note_pixels(arguments.first(), kind)?;
                let ty = self.pixel_type(number(kind)?);
                let place = self.image_place(place, count)?;
                let pixel = self.op(Op::ImageRead, ty, &[image.id, place]);
                self.put_pixel(pixel, number(kind)?, to)?;
            }
            ("image_sample", [_, kind, sampler, point @ .., to]) => {
                self.note_pixels(arguments.first(), kind)?;
                self.note_pixels(Some(sampler), kind)?;
                let (sampler, _) = self.handle(Some(sampler))?;
                let ty = self.pixel_type(number(kind)?);
                let point = self.image_place(point, count)?;
                let sampled = self.output.builder.ty(Op::TypeSampledImage, &[image.ty.word()]);
                let both = self.op(Op::SampledImage, sampled, &[image.id, sampler.id]);
                let level = self.output.builder.float_constant(32, 0);
                let words = vec![both.word(), point.word(), LOD, level.word()];
                let pixel = self.op_words(Op::ImageSampleExplicitLod, ty, words);
                self.put_pixel(pixel, number(kind)?, to)?;
            }
            ("image_write", [_, kind, place @ .., red, green, blue, alpha]) => {
                self.note_pixels(arguments.first(), kind)?;
                let place = self.image_place(place, count)?;
                let mut parts = Vec::new();
                for (ty, part) in [red, green, blue, alpha] {
                    let bits = self.scalar(ty, part)?;
                    parts.push(if number(kind)? == FLOATS {
                        let float = self.output.builder.float_type(32);
                        self.op(Op::Bitcast, float, &[bits])
                    } else {
                        bits
                    });
                }
                let ty = self.pixel_type(number(kind)?);
                let pixel = self.op(Op::CompositeConstruct, ty, &parts);
                self.effect(Op::ImageWrite, &[image.id, place, pixel].map(ValueId::word));
            }
            _ => return Err(format!("`{name}`, which is no function of images").into()),
        }
        self.set(instruction, values);
        Ok(())
    }

    /// The argument of the kernel that an image or a sampler is.
    fn handle(&mut self, argument: Option<&Typed>) -> Lowering<(Argument, usize)> {
        let elsewhere = || {
            Refusal::new(
                "it uses an image or a sampler in a function that is not inlined into the kernel, or one of several",
                "mark the function `#[inline(always)]`, and choose between pixels instead of images",
            )
        };
        let index = argument.map(number).ok_or_else(elsewhere)?.map_err(|_| elsewhere())?;
        let index = usize::try_from(index).map_err(|_| elsewhere())?;
        let arguments = self.arguments.ok_or_else(elsewhere)?;
        let argument = arguments.get(index).copied().ok_or("a parameter that the kernel does not have")?;
        Ok((argument, index))
    }

    /// Notes as what the numbers of pixels are taken, which a launch checks.
    fn note_pixels(&mut self, of: Option<&Typed>, kind: &Typed) -> Lowering<()> {
        let (_, index) = self.handle(of)?;
        let kind = 1_u8.checked_shl(u32::try_from(number(kind)?).unwrap_or(u32::MAX)).unwrap_or(0);
        *self.output.pixels.entry((self.output.kernel.clone(), index)).or_default() |= kind;
        Ok(())
    }

    fn image_argument(&mut self, argument: Option<&Typed>) -> Lowering<(Argument, Dimensions)> {
        let (argument, _) = self.handle(argument)?;
        let dimensions = argument.dimensions.ok_or("a parameter that is no image")?;
        Ok((argument, dimensions))
    }

    fn pixel_type(&mut self, kind: u64) -> TypeId {
        let number = if kind == FLOATS { self.output.builder.float_type(32) } else { self.int(32) };
        self.output.builder.vector_type(number, 4)
    }

    /// A place: one number, two, or four of which the last is zero.
    fn image_place(&mut self, numbers: &[Typed], count: usize) -> Lowering<ValueId> {
        let mut parts = Vec::new();
        let mut of = None;
        for (ty, part) in numbers.iter().take(count) {
            parts.push(self.scalar(ty, part)?);
            of = Some(ty);
        }
        let ty = match of {
            Some(crate::llvm::tree::Type::Float) => self.output.builder.float_type(32),
            _ => self.int(32),
        };
        if let [one] = parts[..] {
            return Ok(one);
        }
        if parts.len() == 3 {
            parts.push(self.output.builder.null(ty));
        }
        let vector = self.output.builder.vector_type(ty, parts.len() as u32);
        Ok(self.op(Op::CompositeConstruct, vector, &parts))
    }

    fn image_size(&mut self, image: Argument, dimensions: Dimensions, axis: u64) -> ValueId {
        self.output.capability(Capability::ImageBasic);
        let (uint, first) = (self.int(32), self.number(32, 0));
        let count = dimensions.count() as u32;
        if count == 1 {
            return self.op(Op::ImageQuerySizeLod, uint, &[image.id, first]);
        }
        let vector = self.output.builder.vector_type(uint, count);
        let sizes = self.op(Op::ImageQuerySizeLod, vector, &[image.id, first]);
        self.op_words(Op::CompositeExtract, uint, vec![sizes.word(), axis as u32])
    }

    /// Stores the bits of a pixel's numbers.
    fn put_pixel(&mut self, pixel: ValueId, kind: u64, to: &Typed) -> Lowering<()> {
        let (pointer, storage) = self.pointer(&to.1)?;
        let uint = self.int(32);
        let number = if kind == FLOATS { self.output.builder.float_type(32) } else { uint };
        let mut values = Vec::new();
        for at in 0..4 {
            let part = self.op_words(Op::CompositeExtract, number, vec![pixel.word(), at]);
            values.push(if kind == FLOATS { self.op(Op::Bitcast, uint, &[part]) } else { part });
        }
        let parts: Vec<Leaf> = (0..4).map(|at| Leaf { scalar: Scalar::Int(32), offset: at * 4 }).collect();
        self.store_leaves(pointer, storage, &parts, &values, storage, 4)
    }
}

/// A number that is known when the kernel is built.
fn number(argument: &Typed) -> Result<u64, Refusal> {
    match &argument.1 {
        Operand::Constant(Constant::Int(value)) => Ok(*value as u64),
        Operand::Constant(Constant::Zero) => Ok(0),
        _ => Err("a number of an image that is calculated".into()),
    }
}
