//! Ways to run a partition again and again. All have the same results.

mod command_buffer;
mod enqueue;
mod replay;

use self::command_buffer::CommandBuffers;
use self::enqueue::Enqueue;
pub(super) use self::replay::Replay;
use super::options::{Options, ReplayStrategy};
use crate::{Context, Device};

/// The way for a sequence on a device.
pub(crate) fn choose(context: &Context, device: &Device, options: Options) -> Box<dyn Replay> {
    match options.strategy.on(device) {
        ReplayStrategy::CommandBuffer => Box::new(CommandBuffers::new(context, device, options)),
        _ => Box::new(Enqueue),
    }
}
