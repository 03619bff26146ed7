//! `y += a * x` on a device and on the host.

use oclave::{Context, Device, Queue};
use oclave_kernel::HostRange;
use rust_kernels::{host, kernels};

fn main() -> oclave::Result<()> {
    let device = Device::select()?;
    let context = Context::new(&device)?;
    let queue = Queue::new(&context)?;

    let numbers: Vec<f32> = (0..1024_u16).map(f32::from).collect();
    let (x, y) = (queue.upload(&numbers)?, queue.upload(&vec![1.0; 1024])?);
    queue.parallel_for(1024, kernels::step::saxpy(10.0, &x, &y))?;
    let on_device = queue.read(&y)?;

    let mut on_host = vec![1.0; 1024];
    host::step::saxpy::run_on_host(HostRange::new([1024]), 10.0, &numbers, &mut on_host);
    println!("{}: 10 × 7 + 1 = {:?}, on the host {:?}", device.name(), on_device.get(7), on_host.get(7));
    Ok(())
}
