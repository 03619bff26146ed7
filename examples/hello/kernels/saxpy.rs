use oclave_kernel::{Item, Out, device_global, kernel};

device_global! {
    pub static ALPHA: f32 = 1.0;
}

/// `y += ALPHA * x`, an element for each work-item.
#[kernel]
pub fn saxpy(item: Item<1>, x: &[f32], mut y: Out<f32>) {
    *y += ALPHA.get() * x[item.global_id()[0]];
}
