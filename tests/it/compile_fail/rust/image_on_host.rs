//! An image of another number of dimensions on the host.
use oclave_kernel::images::{D2, D3, HostImage, WriteImage};
use oclave_kernel::{HostRange, Item, Vec4, kernel};

#[kernel]
pub fn blank(item: Item<2>, image: WriteImage<D2>) {
    image.write(item.global_id().map(|id| id as i32), Vec4::splat(0.0_f32));
}

fn main() {
    let mut image = HostImage::<D3>::new([4, 4, 4], Vec4::splat(1.0_f32));
    blank::run_on_host(HostRange::new([4, 4]), &mut image);
}
