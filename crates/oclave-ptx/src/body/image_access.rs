//! Reading, writing and asking images.
//!
//! The texture and surface units know the format of an image: they convert what is read and written.
//! The order of the channels is theirs for reads only.

use std::fmt::Write as _;

use oclave_spirv::{Instruction, Op};

use super::image::Image;
use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Ty};
use crate::sampler::Sampler;

/// Image operands of SPIR-V that say something here.
const LOD: u32 = 2;
/// Those that say something of signs and caches. The format says what is signed.
const WITHOUT_MEANING: u32 = 0x7000;
/// `CL_SNORM_INT8`, which SPIR-V's channel types begin with. PTX has OpenCL's numbers.
const FIRST_TYPE: u64 = 0x10D0;
/// `CL_R`, which SPIR-V's channel orders begin with.
const FIRST_ORDER: u64 = 0x10B0;

/// The place of a pixel, as instructions take it.
struct Place {
    /// In braces.
    text: String,
    ty: Ty,
}

impl<'m> Body<'_, '_, 'm> {
    /// `OpImageSampleExplicitLod`, `OpImageRead` and `OpImageFetch`.
    pub(super) fn read_image(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, ty) = self.result(instruction)?;
        let [from, at] = self.ids(instruction, 0)?;
        let image = self.image_of(from)?;
        if image.is_written {
            return Err(Stop::Broken("an image that is written only is read"));
        }
        let level = self.level(instruction, 2)?;
        let shape = self.cx.shapes.shape(ty)?;
        let kind = need(shape.kinds.first().copied())?;
        let number = self.part(from, 0)?;
        let sampler = if op == Op::ImageSampleExplicitLod { Some(self.part(from, 1)?) } else { None };
        let place = self.place(&image, at)?;
        let read = if matches!(kind, Kind::F16 | Kind::F32) { "f32" } else { "s32" };
        let channels: [Operand; 4] = std::array::from_fn(|_| self.register(Class::B32));
        let [x, y, z, w] = channels;
        let start = match level {
            None => "tex".to_owned(),
            Some(_) if place.ty == Ty::F32 => "tex.level".to_owned(),
            Some(_) => return Err(Stop::unsupported("levels of detail want coordinates that are floats")),
        };
        let end = level.map(|level| format!(", {}", level.of(Ty::F32))).unwrap_or_default();
        let start = format!("{start}.{}.v4.{read}.{} {{{x}, {y}, {z}, {w}}}", image.geometry(), place.ty);
        let place = place.text;
        self.for_image(image, number, |body, name| match sampler {
            Some(sampler) => body.for_sampler(sampler, |body, sampler| {
                ptx!(body, "{start}, [{name}, {sampler}, {place}]{end}");
                Ok(())
            }),
            None => {
                let sampler = body.sampler_name(Sampler::NONE);
                ptx!(body, "{start}, [{name}, {sampler}, {place}]{end}");
                Ok(())
            }
        })?;
        let mut parts = Vec::with_capacity(shape.kinds.len());
        for &channel in channels.iter().take(shape.kinds.len()) {
            parts.push(match kind {
                Kind::F16 => self.op1(Class::B16, "cvt.rn.f16.f32", Ty::F32, channel),
                Kind::F32 | Kind::I32 => channel,
                _ => return Err(Stop::unsupported("pixels are read as float, half, int or uint")),
            });
        }
        self.bind(id, &parts)
    }

    /// `OpImageWrite`. What lies outside of the image is left alone.
    pub(super) fn write_image(&mut self, instruction: &Instruction<'m>) -> Step {
        let [to, at, texel] = self.ids(instruction, 0)?;
        let image = self.image_of(to)?;
        if !image.is_written {
            return Err(Stop::Broken("an image that is read only is written"));
        }
        if self.level(instruction, 3)?.is_some() {
            return Err(Stop::unsupported("NVIDIA's driver writes no levels of detail"));
        }
        let (number, shape) = (self.scalar(to)?, self.shape_of(texel)?);
        let mut channels = [Operand::Immediate(0); 4];
        for (channel, (value, kind)) in
            channels.iter_mut().zip(self.value(texel)?.into_iter().zip(&shape.kinds))
        {
            let value = match kind {
                Kind::F16 => self.op1(Class::B32, "cvt.f32.f16", Ty::F16, value),
                Kind::F32 | Kind::I32 => value,
                _ => return Err(Stop::unsupported("pixels are written as float, half, int or uint")),
            };
            *channel = self.in_register(value, Class::B32);
        }
        for channel in &mut channels {
            *channel = self.in_register(*channel, Class::B32);
        }
        let place = self.place(&image, at)?;
        if place.ty == Ty::F32 {
            return Err(Stop::Broken("an image is written at a place between pixels"));
        }
        let place = place.text;
        self.for_image(image, number, |body, name| {
            let [x, y, z, w] = if shape.kinds.len() == 4 { body.ordered(name, channels) } else { channels };
            ptx!(body, "sust.p.{}.v4.b32.zero [{name}, {place}], {{{x}, {y}, {z}, {w}}}", image.geometry());
            Ok(())
        })
    }

    /// The channels in the order in which the image has them. Surfaces have red first, whatever the
    /// format says.
    fn ordered(&mut self, name: &str, [red, green, blue, alpha]: [Operand; 4]) -> [Operand; 4] {
        const A: u64 = 0x10B1;
        const RA: u64 = 0x10B3;
        const BGRA: u64 = 0x10B6;
        const ARGB: u64 = 0x10B7;
        let order = self.register(Class::B32);
        ptx!(self, "suq.channel_order.b32 {order}, [{name}]");
        let [a, ra, bgra, argb] =
            [A, RA, BGRA, ARGB].map(|is| self.compare("eq", Ty::S32, order, Operand::Immediate(is)));
        let mut pick = |condition, yes, no| self.pick(Kind::I32, condition, yes, no);
        let alpha_first = pick(argb, alpha, red);
        let first = pick(bgra, blue, alpha_first);
        let first = pick(a, alpha, first);
        let second = pick(argb, red, green);
        let second = pick(ra, alpha, second);
        let third = pick(argb, green, blue);
        let third = pick(bgra, red, third);
        let fourth = pick(argb, blue, alpha);
        [first, second, third, fourth]
    }

    /// The level of detail, unless it is the first.
    fn level(&mut self, instruction: &Instruction<'m>, first: usize) -> Step<Option<Operand>> {
        let mask = instruction.operand(first).unwrap_or(0);
        if mask & !(LOD | WITHOUT_MEANING) != 0 {
            return Err(Stop::unsupported("NVIDIA's driver has no gradients and no several samples"));
        }
        if mask & LOD == 0 {
            return Ok(None);
        }
        let level = self.id(instruction, first + 1)?;
        Ok(Some(self.scalar(level)?).filter(|level| *level != Operand::Immediate(0)))
    }

    /// The place of a pixel of the image.
    fn place(&mut self, image: &Image, at: u32) -> Step<Place> {
        let mut parts = self.value(at)?;
        let kind = self.kind_of(at)?;
        let mut ty = match kind {
            Kind::I32 => Ty::S32,
            Kind::F32 => Ty::F32,
            _ => return Err(Stop::unsupported("places in images are float or int")),
        };
        parts.truncate(image.coordinates());
        if parts.len() < image.coordinates() {
            return Err(Stop::Broken("the coordinate has too few parts"));
        }
        let layer = if image.has_layers { parts.pop() } else { None };
        // Integers into a row mean memory without a texture.
        if image.geometry() == "1d" && !image.is_written && !image.is_buffer && ty == Ty::S32 {
            ty = Ty::F32;
            for part in &mut parts {
                *part = self.op1(Class::B32, "cvt.rn.f32.s32", Ty::S32, *part);
            }
        }
        let mut all = Vec::with_capacity(4);
        if let Some(layer) = layer {
            all.push(match (kind, image.is_written) {
                (_, true) => layer,
                (Kind::F32, false) => self.op1(Class::B32, "cvt.rni.sat.u32.f32", Ty::F32, layer),
                (_, false) => self.op2(Class::B32, "max.s32", Ty::S32, layer, Operand::Immediate(0)),
            });
        }
        all.extend(parts);
        // Three numbers are four, the last of which says nothing.
        if let [_, _, last] = *all.as_slice() {
            all.push(last);
        }
        let mut text = String::from("{");
        for (index, part) in all.into_iter().enumerate() {
            let part = self.in_register(part, Class::B32);
            let _ = write!(text, "{}{part}", if index == 0 { "" } else { ", " });
        }
        text.push('}');
        Ok(Place { text, ty })
    }

    /// The size of an image, the type of its channels, and their order.
    pub(super) fn query_image(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, ty) = self.result(instruction)?;
        let of = self.id(instruction, 0)?;
        let (image, number) = (self.image_of(of)?, self.scalar(of)?);
        if op == Op::ImageQuerySizeLod {
            let level = self.id(instruction, 1)?;
            if self.scalar(level)? != Operand::Immediate(0) {
                return Err(Stop::unsupported("NVIDIA's driver has no levels of detail"));
            }
        }
        let asked: Vec<&str> = match op {
            Op::ImageQueryFormat => vec!["channel_data_type"],
            Op::ImageQueryOrder => vec!["channel_order"],
            _ => {
                let sizes = ["width", "height", "depth"].into_iter().take(image.dimensions);
                sizes.chain(image.has_layers.then_some("array_size")).collect()
            }
        };
        let shape = self.cx.shapes.shape(ty)?;
        if shape.kinds.len() != asked.len() {
            return Err(Stop::Broken("its result has another number of parts than the image's size"));
        }
        let answers: Vec<Operand> = asked.iter().map(|_| self.register(Class::B32)).collect();
        let unit = if image.is_written { "suq" } else { "txq" };
        self.for_image(image, number, |body, name| {
            for (what, answer) in asked.iter().zip(&answers) {
                ptx!(body, "{unit}.{what}.b32 {answer}, [{name}]");
            }
            Ok(())
        })?;
        let mut parts = Vec::with_capacity(answers.len());
        for (answer, kind) in answers.into_iter().zip(&shape.kinds) {
            let first = match op {
                Op::ImageQueryFormat => FIRST_TYPE,
                Op::ImageQueryOrder => FIRST_ORDER,
                _ => 0,
            };
            let answer = match first {
                0 => answer,
                first => self.op2(Class::B32, "sub.s32", Ty::S32, answer, Operand::Immediate(first)),
            };
            parts.push(match kind {
                Kind::I64 => self.op1(Class::B64, "cvt.u64.u32", Ty::U32, answer),
                Kind::I32 => answer,
                _ => return Err(Stop::unsupported("sizes of images have 32 or 64 bits")),
            });
        }
        self.bind(id, &parts)
    }
}
