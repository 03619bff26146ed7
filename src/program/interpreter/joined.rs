//! Interpreter programs with kernels of several programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use oclave_image::passes::interpreter::{JoinPart, join_images, joined_name};

use super::{INTERPRETER_FLOW, InterpreterSlot};
use crate::Result;
use crate::driver::sync::Mutex;
use crate::image::LoadedImage;
use crate::program::spec::SpecValue;
use crate::program::target::CallTarget;

/// Kernels of one program that an interpreter program is wanted for.
pub(crate) struct InterpreterPart {
    /// One of them.
    pub(crate) target: CallTarget,
    pub(crate) specs: Vec<SpecValue>,
    /// Of their program.
    pub(crate) slot: Arc<InterpreterSlot>,
    pub(crate) kernels: BTreeSet<String>,
}

/// Programs, in an order. That they are held keeps addresses from being used again.
type Programs = Vec<Weak<InterpreterSlot>>;

/// Where the interpreter programs with kernels of several programs are.
#[derive(Debug, Default)]
pub(in crate::program) struct JoinedSlots(Mutex<Vec<(Programs, Arc<InterpreterSlot>)>>);

impl JoinedSlots {
    /// The place for programs with kernels of all of these. Forgets those of programs that are gone.
    pub(in crate::program) fn slot(&self, parts: &[InterpreterPart]) -> Arc<InterpreterSlot> {
        let mut known = self.0.lock();
        known.retain(|(programs, _)| programs.iter().all(|program| program.strong_count() > 0));
        let is_it = |programs: &Programs| {
            programs.len() == parts.len()
                && programs.iter().zip(parts).all(|(of, part)| is_of(of, &part.slot))
        };
        if let Some((_, slot)) = known.iter().find(|(programs, _)| is_it(programs)) {
            return Arc::clone(slot);
        }
        let slot = Arc::<InterpreterSlot>::default();
        known.push((programs_of(parts), Arc::clone(&slot)));
        slot
    }
}

fn is_of(program: &Weak<InterpreterSlot>, slot: &Arc<InterpreterSlot>) -> bool {
    Weak::as_ptr(program) == Arc::as_ptr(slot)
}

fn programs_of(parts: &[InterpreterPart]) -> Programs {
    parts.iter().map(|part| Arc::downgrade(&part.slot)).collect()
}

/// The kernels of several programs, and that with jumps, as one program names them.
pub(crate) fn joined_kernels(parts: &[InterpreterPart]) -> BTreeSet<String> {
    let of_part = |(number, part): (usize, &InterpreterPart)| {
        part.kernels.iter().map(|kernel| joined_name(number, kernel)).collect::<Vec<_>>()
    };
    let kernels = parts.iter().enumerate().flat_map(of_part);
    kernels.chain(std::iter::once(INTERPRETER_FLOW.to_owned())).collect()
}

/// Which kernels of which programs an interpreter program has.
#[derive(Debug, Default)]
pub(in crate::program) struct Names(Programs);

impl Names {
    pub(in crate::program) fn of(parts: &[InterpreterPart]) -> Self {
        Self(programs_of(parts))
    }

    /// The name of a program's kernel in the interpreter program. One that is of a single program calls it as that does.
    pub(super) fn name<'n>(
        &self,
        program: &Arc<InterpreterSlot>,
        kernel: &'n str,
    ) -> std::borrow::Cow<'n, str> {
        match self.0.iter().position(|of| is_of(of, program)) {
            Some(number) => joined_name(number, kernel).into(),
            None => kernel.into(),
        }
    }
}

/// The image with the kernels of all parts, each of an image with values of specialization constants.
///
/// # Errors
/// As [`join_images`], and when an image cannot be linked.
pub(in crate::program) fn joined_image(
    parts: &[(&InterpreterPart, &LoadedImage, Vec<SpecValue>)],
) -> Result<LoadedImage> {
    let images = parts.iter().map(|(_, image, _)| image.whole()).collect::<Result<Vec<_>>>()?;
    let specs: Vec<Vec<(u32, &[u8])>> = parts
        .iter()
        .map(|(.., specs)| specs.iter().map(|spec| (spec.id(), spec.bytes())).collect())
        .collect();
    let of_images: Vec<JoinPart<'_>> = parts
        .iter()
        .zip(images.iter().zip(&specs))
        .map(|((part, ..), (image, specs))| JoinPart { image, kernels: &part.kernels, specs })
        .collect();
    let joined = join_images(&of_images)?;
    let bytes = joined.to_bytes();
    LoadedImage::from_bytes(joined, &bytes)
}
