//! Code from elsewhere enters the process by `unsafe` calls only.
use oclave::native::{EventHandle, KernelHandle, cl_event};
use oclave::{Command, Context};
use oclave::kernel::{ImageTable, KernelBundle, KernelSource};

fn loads_a_module(context: &Context, bytes: &[u8]) {
    let _ = KernelBundle::from_spirv(context, bytes);
}

fn loads_an_image(context: &Context, bytes: &[u8]) {
    let _ = KernelBundle::from_image(context, bytes);
}

fn compiles_a_source(context: &Context, source: &KernelSource) {
    let _ = KernelBundle::from_source(context, source);
}

fn embeds_images() -> ImageTable {
    ImageTable::new("images", &[])
}

fn enqueues_raw_commands(event: EventHandle) -> Command {
    Command::native::<oclave::Error>(&[], move |_| event.try_clone())
}

fn runs_a_kernel_object(kernel: KernelHandle) -> Command {
    Command::native_kernel(kernel, 1, &[])
}

fn takes_any_pointer_for_an_event(event: cl_event) {
    let _ = EventHandle::from_raw(event);
}

fn main() {}
