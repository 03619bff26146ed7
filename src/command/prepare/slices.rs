//! The check of a launch of a kernel in Rust: its slices must be what the kernel takes them for.

use crate::MakeError as _;
use crate::command::describe::argument::Argument;
use crate::command::describe::call::KernelCall;
use crate::command::describe::place::Place;
use crate::driver::ChannelType;
use crate::driver::launch::WorkSize;
use crate::memory::Region;
use crate::program::{ReadyKernel, SliceParameter, Slices};
use crate::{Error, ErrorKind, Result};

/// Refuses a call of a kernel in Rust that could reach memory beyond its arguments, or one memory by
/// two of them.
///
/// Memory that must be looked up is left to [`check_apart`].
#[inline]
pub(super) fn check(kernel: &ReadyKernel, call: &KernelCall, size: Option<&WorkSize>) -> Result<()> {
    match kernel.slices() {
        Some(slices) => check_slices(kernel, slices, call, size),
        None => Ok(()),
    }
}

fn check_slices(
    kernel: &ReadyKernel,
    slices: &Slices,
    call: &KernelCall,
    size: Option<&WorkSize>,
) -> Result<()> {
    check_dimensions(slices.dimensions, size)?;
    let arguments = call.arguments();
    for (index, slice) in slices.parameters.iter().enumerate() {
        let check = || {
            let argument = arguments.get(index).ok_or_else(|| Error::bug("an argument is missing"))?;
            match slice {
                SliceParameter::Other => Ok(()),
                SliceParameter::Image { pixels } => check_pixels(argument, *pixels),
                SliceParameter::Sampler { pixels } => check_sampler(argument, *pixels),
                SliceParameter::Length { element_bytes } => {
                    let memory = index.checked_sub(1).and_then(|before| arguments.get(before));
                    check_length(call, index, memory, argument, *element_bytes)
                }
                SliceParameter::Out { element_bytes } => check_out(argument, *element_bytes, size),
                SliceParameter::Read | SliceParameter::Shared => match argument {
                    Argument::Pointer(pointer) if matches!(pointer.place(), Place::Null) => {
                        Err(bad("a null pointer is no slice".to_owned())
                            .remedy("give the kernel memory, of no elements if need be"))
                    }
                    _ => Ok(()),
                },
            }
        };
        check().map_err(|error| at(error, kernel, index))?;
    }
    check_apart(kernel, arguments)
}

/// What a kernel takes numbers of pixels as, by the bits of [`SliceParameter::Image`].
const NUMBERS: [&str; 3] = ["f32", "i32", "u32"];

/// Whether the numbers of an image's pixels are what the kernel takes them for: OpenCL does not say what it reads otherwise.
fn check_pixels(argument: &Argument, pixels: u8) -> Result<()> {
    let Argument::Image(image) = argument else { return Ok(()) };
    let format = image.image().format();
    let own = match format.channel {
        ChannelType::I8 | ChannelType::I16 | ChannelType::I32 => 1,
        ChannelType::U8 | ChannelType::U16 | ChannelType::U32 => 2,
        _ => 0,
    };
    match (0..NUMBERS.len()).find(|number| *number != own && pixels >> number & 1 != 0) {
        Some(wrong) => Err(bad(format!(
            "the kernel takes the numbers of pixels as {}, and those of an image of {format} are {}",
            NUMBERS.get(wrong).copied().unwrap_or_default(),
            NUMBERS.get(own).copied().unwrap_or_default(),
        ))
        .remedy("give it an image of another format, or let it take such pixels")),
        None => Ok(()),
    }
}

/// Whether each result of a sampler is defined.
fn check_sampler(argument: &Argument, pixels: u8) -> Result<()> {
    let Argument::Sampler(sampler) = argument else { return Ok(()) };
    if pixels == 0 {
        return Ok(());
    }
    if !sampler.is_defined_outside() {
        return Err(bad(
            "a sampler with `Addressing::None` says nothing of points outside of the image".to_owned()
        )
        .remedy("choose another addressing: kernels in Rust have a result for each point"));
    }
    if pixels & 0b110 != 0 && sampler.is_linear() {
        return Err(bad(
            "a sampler with `Filter::Linear` mixes no integers, and the kernel samples some".to_owned()
        )
        .remedy("choose `Filter::Nearest`, or an image of floating-point numbers"));
    }
    Ok(())
}

/// Whether the memory before a length has so many elements.
fn check_length(
    call: &KernelCall,
    index: usize,
    memory: Option<&Argument>,
    length: &Argument,
    element_bytes: u64,
) -> Result<()> {
    let size = match memory {
        Some(Argument::Pointer(pointer)) => pointer.size_bytes(),
        Some(Argument::Local { size_bytes, .. }) => Some(*size_bytes),
        _ => None,
    };
    let given = match length {
        Argument::Value(value) => value.bytes().try_into().ok().map(u64::from_ne_bytes),
        _ => None,
    };
    if call.bindings().iter().any(|binding| binding.argument == index) {
        return Err(bad("the number of elements of a slice follows no parameter of a graph".to_owned())
            .remedy("let the slice itself follow one, with `KernelCall::slice`"));
    }
    let follows = index.checked_sub(1).is_some_and(|memory| {
        call.bindings().iter().any(|binding| binding.argument == memory) && !call.has_length_of(memory)
    });
    if follows {
        return Err(bad("the number of elements would not follow the slice before it".to_owned())
            .remedy("give the kernel both with `KernelCall::slice`, `slice_mut` or `local_slice`"));
    }
    match (size, given) {
        (Some(size), Some(given))
            if given.checked_mul(element_bytes).is_some_and(|bytes| bytes <= size as u64) =>
        {
            Ok(())
        }
        (Some(size), Some(given)) => Err(bad(format!(
            "a slice of {given} elements of {element_bytes} bytes in memory of {size} bytes"
        ))
        .remedy("give the kernel both with `KernelCall::slice`, `slice_mut` or `local_slice`")),
        // The error of the memory says more than this.
        (None, _) if matches!(memory, Some(Argument::Pointer(pointer)) if matches!(pointer.place(), Place::Refused(_))) => {
            Ok(())
        }
        _ => Err(bad("a slice in memory that does not lie in one piece, or of an unknown size".to_owned())
            .remedy("give the kernel a `UsmSlice` or a contiguous part of a buffer")),
    }
}

/// Whether the kernel's `Item` has all dimensions of the range: it numbers work-items by these.
fn check_dimensions(dimensions: usize, size: Option<&WorkSize>) -> Result<()> {
    let Some(size) = size.filter(|size| size.global.iter().skip(dimensions).any(|size| *size > 1)) else {
        return Ok(());
    };
    Err(Error::new(
        ErrorKind::NdRange,
        format!(
            "the range has {} dimensions, and the kernel is for ranges of {dimensions} (`Item<{dimensions}>`)",
            size.dimensions
        ),
    )
    .remedy("launch the kernel over a range of so many dimensions, or give it an `Item` of more"))
}

/// Whether each work-item has an element of its own.
fn check_out(argument: &Argument, element_bytes: u64, size: Option<&WorkSize>) -> Result<()> {
    let Argument::Pointer(pointer) = argument else { return Ok(()) };
    if matches!(pointer.place(), Place::Refused(_)) {
        return Ok(());
    }
    // The range's sizes were multiplied without overflow before.
    let items: u64 = size.map_or(0, |size| size.global.iter().map(|size| *size as u64).product());
    let elements = pointer.size_bytes().map(|bytes| (bytes as u64).checked_div(element_bytes).unwrap_or(0));
    match elements {
        Some(elements) if items <= elements => Ok(()),
        Some(elements) => Err(Error::new(
            ErrorKind::NdRange,
            format!("the range has {items} work-items, and the memory for `Out` has {elements} elements"),
        )
        .remedy("launch the kernel over as many work-items as elements, or give it larger memory")),
        None => Err(bad("`Out` of memory that does not lie in one piece, or of an unknown size".to_owned())
            .remedy("give the kernel a `UsmSlice` or a contiguous part of a buffer")),
    }
}

/// Refuses one memory for two slices if one of them is the only way to it: an `Out`, or a `&[T]`
/// beside what changes it. Memory that is still to be looked up is passed over.
pub(super) fn check_apart(kernel: &ReadyKernel, arguments: &[Argument]) -> Result<()> {
    let Some(Slices { parameters, .. }) = kernel.slices() else { return Ok(()) };
    let memory = |index: usize| arguments.get(index).and_then(Argument::region);
    for (second, of_second) in parameters.iter().enumerate() {
        for (first, of_first) in parameters.iter().enumerate().take(second) {
            if of_first.may_share_with(*of_second) {
                continue;
            }
            if let (Some(a), Some(b)) = (memory(first), memory(second))
                && overlap(a, b)
            {
                let name = |index: usize| {
                    let parameter = kernel.signature().parameters.get(index);
                    parameter.map_or_else(|| index.to_string(), |parameter| format!("`{}`", parameter.name))
                };
                return Err(bad(format!(
                    "{} and {} are in one memory, and the kernel changes it",
                    name(first),
                    name(second)
                ))
                .at(format!("kernel `{}`", kernel.signature().name))
                .remedy("give the kernel different memory, or take it once, as `Out` or `Global`"));
            }
        }
    }
    Ok(())
}

fn overlap(a: &Region, b: &Region) -> bool {
    let end = |region: &Region| region.address().saturating_add(region.size_bytes() as u64);
    a.size_bytes() > 0 && b.size_bytes() > 0 && a.address() < end(b) && b.address() < end(a)
}

fn bad(message: String) -> Error {
    Error::new(ErrorKind::KernelArgument, message)
}

fn at(error: Error, kernel: &ReadyKernel, index: usize) -> Error {
    let name = kernel.signature().parameters.get(index).map_or("", |parameter| parameter.name.as_str());
    error.at(format!("argument {index} (`{name}`)")).at(format!("kernel `{}`", kernel.signature().name))
}
