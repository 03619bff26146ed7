//! Objects of traits: one kernel makes them, others call them.

use oclave_kernel::{Data, Global, Item, Local, Object, Out, kernel, objects};

#[path = "shapes.rs"]
pub mod shapes;
use shapes::{AnyShape, Circle, Polygon, Shape, Square};

/// A shape for each work-item.
#[kernel]
pub fn make(item: Item<1>, mut shape: Out<AnyShape>) {
    *shape = shapes::shape(item.global_id()[0]);
}

#[inline(never)]
fn measured(shape: &dyn Shape) -> [f32; 2] {
    [shape.area(), shape.scaled(2.0) + shape.corners() as f32]
}

/// Calls them in global memory.
#[kernel]
pub fn measure(item: Item<1>, shapes: &[AnyShape], mut out: Out<[f32; 2]>) {
    *out = measured(&*shapes[item.global_id()[0]]);
}

/// Calls one that is a parameter.
#[kernel]
pub fn measure_one(_item: Item<1>, shape: AnyShape, mut out: Out<[f32; 2]>) {
    *out = measured(&*shape);
}

/// Changes the object that comes next after the work-item's own, through a copy.
#[kernel]
pub fn grow(item: Item<1>, by: f32, shapes: Global<AnyShape>) {
    let next = (item.global_id()[0] + 1) % shapes.len();
    let mut shape = shapes.get(next);
    shape.grow(by);
    shapes.set(next, shape);
}

/// Changes the work-item's own object where it lies.
#[kernel]
pub fn grow_in_place(item: Item<1>, by: f32, mut shape: Out<AnyShape>) {
    shape.grow(by + item.global_id()[0] as f32);
}

/// Objects in local memory: each work-item measures that of another one.
#[kernel(work_group = [16, 1, 1])]
pub fn exchange(item: Item<1>, tile: Local<AnyShape>, mut out: Out<[f32; 2]>) {
    let [me] = item.local_id();
    tile.set(me, shapes::shape(item.global_id()[0]));
    item.local_barrier();
    *out = measured(&*tile.get(15 - me));
}

/// Objects within a struct.
#[derive(Debug, Clone, Copy, PartialEq, Data)]
#[repr(C)]
pub struct Pair {
    pub shapes: [AnyShape; 2],
    pub weights: [f32; 4],
}

#[kernel]
pub fn pair(item: Item<1>, mut pair: Out<Pair>) {
    let [i] = item.global_id();
    *pair = Pair { shapes: [shapes::shape(i), shapes::shape(i + 1)], weights: [0.5, 2.0, i as f32, 0.0] };
}

#[kernel]
pub fn weigh(item: Item<1>, pairs: &[Pair], mut out: Out<f32>) {
    let pair = &pairs[item.global_id()[0]];
    let sum: f32 = pair.shapes.iter().zip(&pair.weights).map(|(shape, weight)| shape.area() * weight).sum();
    *out = sum + pair.weights[2];
}

/// A second trait, whose functions take objects of the first.
#[objects]
pub trait Rule {
    fn judge(&self, shape: &dyn Shape, other: &AnyShape) -> u32;
}

pub type AnyRule = Object<dyn Rule, 16>;

#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Larger {
    than: f32,
}

#[objects]
impl Rule for Larger {
    fn judge(&self, shape: &dyn Shape, other: &AnyShape) -> u32 {
        u32::from(shape.area() > self.than) + 2 * u32::from(other.area() > self.than)
    }
}

#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Corners {
    least: u32,
    is_counted: u32,
}

#[objects]
impl Rule for Corners {
    fn judge(&self, shape: &dyn Shape, other: &AnyShape) -> u32 {
        let more = if self.is_counted != 0 { other.corners() } else { 0 };
        more * 16 + u32::from(shape.corners() >= self.least)
    }
}

/// Objects that live in the kernel beside those from memory.
#[kernel]
pub fn judge(item: Item<1>, shapes: &[AnyShape], mut out: Out<u32>) {
    let [i] = item.global_id();
    let rule: AnyRule = match i % 4 {
        0 => Object::new(Larger { than: 30.0 }),
        1 => Object::new(Corners { least: 3, is_counted: 0 }),
        _ => Object::new(Corners { least: 4, is_counted: 1 }),
    };
    let (shape, own) = (shapes[i], Square { side: i as f32 });
    let one: &dyn Shape = if i % 5 == 0 { &own } else { &*shape };
    *out = rule.judge(one, &shapes[(i + 7) % shapes.len()]);
}

/// The classes of objects.
#[kernel]
pub fn classes(item: Item<1>, shapes: &[AnyShape], mut out: Out<[u32; 2]>) {
    let shape = &shapes[item.global_id()[0]];
    let class = if shape.is::<Square>() {
        1
    } else if shape.is::<Circle>() {
        2
    } else {
        0
    };
    *out = [class, shape.downcast_ref::<Polygon>().map_or(99, |polygon| polygon.count)];
}

/// Less memory than the largest class needs.
#[kernel]
pub fn measure_small(item: Item<1>, shapes: &[Object<dyn Shape, 16>], mut out: Out<f32>) {
    *out = shapes[item.global_id()[0]].area();
}
