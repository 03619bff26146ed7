use oclave::{Context, Device, Queue};

mod kernels {
    oclave::include_kernels!();
}

fn main() -> oclave::Result<()> {
    let device = Device::select()?;
    let context = Context::new(&device)?;
    let queue = Queue::new(&context)?;

    let x = context.alloc_device::<f32>(1024)?;
    let y = context.alloc_device::<f32>(1024)?;
    queue.fill(&x, 2.0)?;
    queue.fill(&y, 1.0)?;
    queue.write(&kernels::saxpy::ALPHA, &10.0)?;
    queue.parallel_for(1024, kernels::saxpy::saxpy(&x, &y))?;

    println!("{}: 10 × 2 + 1 = {}", device.name(), queue.read(&y)?[0]);
    Ok(())
}
