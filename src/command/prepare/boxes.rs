//! Boxes of memory, copied and filled by kernels of the library: OpenCL has no such command where
//! memory is USM.
//!
//! A command for each row costs as much as a small kernel, so one launch replaces them from
//! [`ROWS`] rows on. The kernels are built for a context's device when they are first needed, and
//! cached on disk.

use std::sync::LazyLock;

use oclave_image::passes::interpreter::{BoxLaunch, ByteBox, box_kernels};
use oclave_image::{PostLinkOptions, SplitMode, TranslationUnit, post_link};

use super::byte_box::{box_of, box_of_copy};
use super::launch::{self, PreparedKernel};
use super::prepared::PreparedCommand;
use crate::Queue;
use crate::command::describe::argument::RawArgument;
use crate::command::describe::call::KernelCall;
use crate::image::{ImageTable, Kernel};
use crate::range::NdRange;

/// Rows from which on a kernel is faster than a command for each.
const ROWS: u64 = 8;

/// The name of the kernels' image in messages.
const NAME: &str = "oclave_boxes";

static CONTAINER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let make = || {
        let mut options = PostLinkOptions::default();
        options.split = SplitMode::Off;
        post_link(&[TranslationUnit::new(NAME, box_kernels()?)], &options)
    };
    match make() {
        Ok(images) => images.first().map(oclave_image::DeviceImage::to_bytes).unwrap_or_default(),
        Err(error) => {
            log::error!("kernels for boxes of memory: {error:#}");
            Vec::new()
        }
    }
});
static CONTAINERS: LazyLock<[&'static [u8]; 1]> = LazyLock::new(|| [&CONTAINER]);
static IMAGES: LazyLock<ImageTable> = LazyLock::new(|| ImageTable::generated(NAME, &*CONTAINERS));
static KERNELS: LazyLock<[Kernel; BoxLaunch::KERNELS.len()]> =
    LazyLock::new(|| BoxLaunch::KERNELS.map(|name| Kernel::new(&IMAGES, name)));

/// A kernel that does a command with a box, where that is faster, and a kernel can do it.
pub(super) fn kernel(command: &PreparedCommand, queue: &Queue) -> Option<PreparedKernel> {
    let (size, call) = call(command)?;
    let prepared = launch::prepare(queue, &NdRange::new(size, group(size)), call);
    prepared.inspect_err(|error| log::debug!("a box of memory is moved row by row: {error:#}")).ok()
}

fn call(command: &PreparedCommand) -> Option<([usize; 3], KernelCall)> {
    let (launch, memory) = match command {
        PreparedCommand::Copy { from, to } if !(from.rows.is_one() && to.rows.is_one()) => {
            let size = worthwhile(box_of_copy(from, to)?)?;
            let launch = BoxLaunch::copy(to.region.address(), from.region.address(), &size)?;
            (launch, [Some(&to.region), Some(&from.region)])
        }
        PreparedCommand::Fill { to, pattern } if !to.rows.is_one() => {
            let size = worthwhile(box_of(to))?;
            (BoxLaunch::fill(to.region.address(), pattern.bytes(), &size)?, [Some(&to.region), None])
        }
        _ => return None,
    };
    let kernel = KERNELS.iter().find(|kernel| kernel.name() == launch.kernel)?;
    let pointers = memory.into_iter().flatten().map(RawArgument::region);
    let pitches = launch.pitches.iter().map(|pitch| RawArgument::bytes(&pitch.to_ne_bytes()));
    let pattern = launch.pattern.as_deref().map(RawArgument::bytes);
    let call = pointers.chain(pitches).chain(pattern).fold(KernelCall::new(kernel), KernelCall::raw);
    let [x, y, z] = launch.items.map(usize::try_from);
    Some(([x.ok()?, y.ok()?, z.ok()?], call))
}

/// The work-groups of an index space. They have one of a few sizes, because some drivers compile a
/// kernel for each size.
fn group([columns, rows, _]: [usize; 3]) -> [usize; 3] {
    let divisor = |size: usize, limit: u32| 1 << size.trailing_zeros().min(limit);
    match divisor(columns, 6) {
        few @ 1..8 => [few, divisor(rows, 3), 1],
        many => [many, 1, 1],
    }
}

fn worthwhile(size: ByteBox) -> Option<ByteBox> {
    let [_, rows, slices] = size.extent;
    (rows.saturating_mul(slices) >= ROWS).then_some(size)
}
