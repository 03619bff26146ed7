//! Objects for another program, and of a class that it does not have.

use oclave_kernel::{Data, Item, Object, Out, kernel, objects};

#[path = "shapes.rs"]
pub mod shapes;
use shapes::{AnyShape, Shape};

#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Star {
    rays: u32,
}

#[objects]
impl Shape for Star {
    fn area(&self) -> f32 {
        self.rays as f32 / 2.0
    }

    fn corners(&self) -> u32 {
        2 * self.rays
    }

    fn grow(&mut self, _: f32) {
        self.rays += 1;
    }
}

/// Each fifth one is a star.
#[kernel]
pub fn make_with_stars(item: Item<1>, mut shape: Out<AnyShape>) {
    let [i] = item.global_id();
    *shape = if i % 5 == 4 { Object::new(Star { rays: i as u32 }) } else { shapes::shape(i) };
}

#[kernel]
pub fn areas(item: Item<1>, shapes: &[AnyShape], mut out: Out<f32>) {
    *out = shapes[item.global_id()[0]].area();
}
