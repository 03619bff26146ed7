//! `dyn Trait` and pointers to functions.

use oclave_kernel::{Item, Out, kernel};

/// What has an area.
trait Shape {
    fn area(&self) -> f32;

    fn scaled(&self, by: f32) -> f32 {
        self.area() * by
    }

    fn corners(&self) -> u32;
}

struct Square(f32);
struct Circle {
    radius: f32,
}
struct Triangle<'a> {
    sides: &'a [f32],
}

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }

    fn corners(&self) -> u32 {
        4
    }
}

impl Shape for Circle {
    fn area(&self) -> f32 {
        3.0 * self.radius * self.radius
    }

    fn scaled(&self, by: f32) -> f32 {
        self.area() * by + 1.0
    }

    fn corners(&self) -> u32 {
        0
    }
}

impl Shape for Triangle<'_> {
    fn area(&self) -> f32 {
        self.sides[0] * self.sides[1] / 2.0
    }

    fn corners(&self) -> u32 {
        self.sides.len() as u32
    }
}

/// The objects of one call other objects: a group of shapes.
struct Pair<'a>(&'a dyn Shape, &'a dyn Shape);

impl Pair<'_> {
    fn total(&self, by: f32) -> f32 {
        self.0.scaled(by) + self.1.area()
    }
}

#[inline(never)]
fn describe(shape: &dyn Shape, by: f32) -> f32 {
    shape.scaled(by) + shape.corners() as f32 * 1000.0
}

/// Objects by reference, one of several.
#[kernel]
pub fn areas(item: Item<1>, sizes: &[f32], mut out: Out<f32>) {
    let [i] = item.global_id();
    let (square, circle) = (Square(sizes[i]), Circle { radius: sizes[i] });
    let triangle = Triangle { sides: &sizes[i..i + 3] };
    let shape: &dyn Shape = match i % 3 {
        0 => &square,
        1 => &circle,
        _ => &triangle,
    };
    *out = describe(shape, 2.0);
}

/// An array of objects.
#[kernel]
pub fn totals(item: Item<1>, sizes: &[f32], mut out: Out<f32>) {
    let [i] = item.global_id();
    let (square, circle) = (Square(sizes[i]), Circle { radius: sizes[i + 1] });
    let own = [sizes[i], sizes[i + 1], sizes[i + 2]];
    let triangle = Triangle { sides: &own };
    let shapes: [&dyn Shape; 4] = [&square, &circle, &triangle, &square];
    let sum: f32 = shapes.iter().skip(i % 2).map(|shape| shape.area()).sum();
    *out = sum + Pair(shapes[i % 4], shapes[(i + 1) % 4]).total(0.5);
}

fn twice(x: u32) -> u32 {
    x.wrapping_mul(2)
}

fn square(x: u32) -> u32 {
    x.wrapping_mul(x)
}

static STEPS: [fn(u32) -> u32; 3] = [twice, square, |x| x ^ 7];

/// A table of functions, and closures behind references.
#[kernel]
pub fn steps(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let (a, b) = (move |y: u32| y ^ i as u32, |y: u32| y.rotate_left(3));
    let last: &dyn Fn(u32) -> u32 = if i % 2 == 0 { &a } else { &b };
    *out = last(STEPS[i % 3](STEPS[(i / 3) % 3](x[i])));
}

/// Objects that panic.
#[kernel]
pub fn faulty(item: Item<1>, sizes: &[f32], mut out: Out<f32>) {
    let [i] = item.global_id();
    let (square, triangle) = (Square(1.0), Triangle { sides: &sizes[..i % 5] });
    let shape: &dyn Shape = if i % 5 < 2 && i > 10 { &triangle } else { &square };
    *out = describe(shape, 1.0);
}
