//! Images and samplers as values.
//!
//! PTX names a kernel's images and samplers in its instructions: no register can hold one. So the value
//! of an image is a number, which says which of the kernel's images it is. Where compilers join
//! accesses of several images, the number is in a register. Then each image that it may be has an
//! instruction of its own.

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Operand, Ty};
use crate::sampler::Sampler;

/// The images and samplers that a kernel names, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Images {
    images: Vec<(Image, String)>,
    /// Those that are parameters, and literal ones. `u32::MAX` stands for what is no literal.
    samplers: Vec<(u32, String)>,
}

/// What there is to know of an `OpTypeImage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Image {
    ty: u32,
    /// 1 to 3.
    pub(super) dimensions: usize,
    pub(super) is_buffer: bool,
    pub(super) has_layers: bool,
    pub(super) is_written: bool,
}

impl Image {
    /// The geometry of instructions. Buffers are read as rows of pixels.
    pub(super) fn geometry(&self) -> &'static str {
        match (self.dimensions, self.has_layers) {
            (1, _) if self.is_buffer && self.is_written => "1d_buffer",
            (1, false) => "1d",
            (1, true) => "a1d",
            (2, false) => "2d",
            (2, true) => "a2d",
            _ => "3d",
        }
    }

    /// Numbers of a coordinate: the layer comes last.
    pub(super) fn coordinates(&self) -> usize {
        self.dimensions + usize::from(self.has_layers)
    }

    fn of(ty: u32, definition: &Instruction<'_>) -> Step<Self> {
        const SAMPLES: usize = 4;
        const ACCESS: usize = 7;
        let operand = |index| need(definition.operand(index));
        let (dimensions, is_buffer) = match operand(1)? {
            0 => (1, false),
            1 => (2, false),
            2 => (3, false),
            5 => (1, true),
            _ => return Err(Stop::unsupported("OpenCL has no images of this kind")),
        };
        let access = definition.operand(ACCESS).unwrap_or(0);
        if operand(SAMPLES)? != 0 {
            return Err(Stop::unsupported("NVIDIA's driver has no images of several samples"));
        }
        if access > 1 {
            return Err(Stop::unsupported(
                "NVIDIA's driver has no images that one kernel reads and writes; use two images",
            ));
        }
        Ok(Self { ty, dimensions, is_buffer, has_layers: operand(3)? != 0, is_written: access == 1 })
    }
}

impl<'m> Body<'_, '_, 'm> {
    /// Declares a parameter that is an image or a sampler; `None` for any other.
    pub(super) fn image_parameter(&mut self, id: u32, ty: u32, name: &str) -> Step<Option<String>> {
        let definition = need(self.cx.definition(ty))?;
        let (number, declared) = if definition.is(Op::TypeSampler) {
            self.images.samplers.push((u32::MAX, name.to_owned()));
            (self.images.samplers.len(), format!(".param .samplerref {name}"))
        } else if definition.is(Op::TypeImage) {
            let image = Image::of(ty, &definition)?;
            let (named, declared) = match (image.is_written, image.is_buffer) {
                (false, _) => (name.to_owned(), format!(".param .texref {name}")),
                (true, false) => (name.to_owned(), format!(".param .surfref {name}")),
                // The driver takes these only so.
                (true, true) => {
                    let handle = self.register(Class::B64);
                    ptx!(self, "ld.param.u64 {handle}, [{name}]");
                    (handle.to_string(), format!(".param .u64 .ptr .surfref {name}"))
                }
            };
            self.images.images.push((image, named));
            (self.images.images.len(), declared)
        } else {
            return Ok(None);
        };
        self.bind(id, &[Operand::Immediate(number as u64 - 1)])?;
        Ok(Some(declared))
    }

    /// The number of a literal sampler.
    pub(super) fn literal_sampler(&mut self, constant: &Instruction<'m>) -> Step<u64> {
        let id = need(constant.result_id())?;
        if let Some(at) = self.images.samplers.iter().position(|(known, _)| *known == id) {
            return Ok(at as u64);
        }
        let name = self.sampler_name(Sampler::of(constant)?);
        self.images.samplers.push((id, name));
        Ok(self.images.samplers.len() as u64 - 1)
    }

    /// The variable of a sampler's state. It will be written.
    pub(super) fn sampler_name(&mut self, sampler: Sampler) -> String {
        if let Some((_, name)) = self.cx.samplers.iter().find(|(known, _)| *known == sampler) {
            return name.clone();
        }
        let name = self.cx.names.free("sampler");
        self.cx.samplers.push((sampler, name.clone()));
        name
    }

    /// `OpSampledImage`, and `OpImage`, which takes the image from it.
    pub(super) fn sampled_image(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, _) = self.result(instruction)?;
        let parts = if op == Op::Image {
            let [of] = self.ids(instruction, 0)?;
            vec![self.part(of, 0)?]
        } else {
            let [image, sampler] = self.ids(instruction, 0)?;
            vec![self.scalar(image)?, self.scalar(sampler)?]
        };
        self.bind(id, &parts)
    }

    /// The type of the image that `id` is or has.
    pub(super) fn image_of(&self, id: u32) -> Step<Image> {
        let mut ty = need(self.cx.definitions.type_of(id))?;
        let mut definition = need(self.cx.definition(ty))?;
        if definition.is(Op::TypeSampledImage) {
            ty = need(definition.operand(0))?;
            definition = need(self.cx.definition(ty))?;
        }
        if !definition.is(Op::TypeImage) {
            return Err(Stop::Broken("it is no image"));
        }
        Image::of(ty, &definition)
    }

    /// Writes an instruction for each image that a value may be: `write` gets its name.
    pub(super) fn for_image(
        &mut self,
        image: Image,
        value: Operand,
        write: impl FnMut(&mut Self, &str) -> Step,
    ) -> Step {
        let all = self.images.images.iter().enumerate();
        let fitting = all.filter(|(_, (other, _))| *other == image);
        let names = fitting.map(|(number, (_, name))| (number as u64, name.clone())).collect();
        self.for_each(value, names, write)
    }

    /// Writes an instruction for each sampler that a value may be: `write` gets its name.
    pub(super) fn for_sampler(&mut self, value: Operand, write: impl FnMut(&mut Self, &str) -> Step) -> Step {
        if value.immediate().is_none() {
            self.number_literal_samplers()?;
        }
        let all = self.images.samplers.iter().enumerate();
        let names = all.map(|(number, (_, name))| (number as u64, name.clone())).collect();
        self.for_each(value, names, write)
    }

    /// Numbers all literal samplers that the function names: a register may stand for one that
    /// comes later.
    fn number_literal_samplers(&mut self) -> Step {
        let definitions = self.cx.definitions;
        let function = need(self.cx.definition(self.function))?;
        let body = definitions.module().instructions_from(function.at);
        for instruction in body.take_while(|i| !i.is(Op::FunctionEnd)) {
            // Literals among the operands may be taken for ids, which does no harm.
            for &operand in instruction.operands() {
                let definition = definitions.instruction(operand).filter(|i| i.is(Op::ConstantSampler));
                if let Some(constant) = definition {
                    self.literal_sampler(&constant)?;
                }
            }
        }
        Ok(())
    }

    fn for_each(
        &mut self,
        value: Operand,
        names: Vec<(u64, String)>,
        mut write: impl FnMut(&mut Self, &str) -> Step,
    ) -> Step {
        if let Some(number) = value.immediate() {
            let (_, name) = need_image(names.iter().find(|(known, _)| *known == number))?;
            return write(self, name);
        }
        let done = self.new_label();
        let (last, others) = need_image(names.split_last())?;
        for (number, name) in others {
            let next = self.new_label();
            let differs = self.compare("ne", Ty::S64, value, Operand::Immediate(*number));
            ptx!(self, "@{differs} bra {next}");
            write(self, name)?;
            ptx!(self, "bra {done}");
            self.label(&next);
        }
        write(self, &last.1)?;
        self.label(&done);
        Ok(())
    }
}

/// Only kernels have images: what they call has none of them.
fn need_image<T>(value: Option<T>) -> Step<T> {
    value.ok_or_else(|| {
        Stop::unsupported("an image or sampler in a function that calls itself; use a loop instead")
    })
}
