//! A trait and its classes, for several programs.

use oclave_kernel::{Data, Object, objects};

/// What has an area.
#[objects]
pub trait Shape {
    fn area(&self) -> f32;

    fn corners(&self) -> u32;

    /// What a class need not have.
    fn scaled(&self, by: f32) -> f32 {
        self.area() * by
    }

    fn grow(&mut self, by: f32);
}

pub type AnyShape = Object<dyn Shape, 48>;

#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Square {
    pub side: f32,
}

#[objects]
impl Shape for Square {
    fn area(&self) -> f32 {
        self.side * self.side
    }

    fn corners(&self) -> u32 {
        4
    }

    fn grow(&mut self, by: f32) {
        self.side += by;
    }
}

#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Circle {
    pub tag: u64,
    pub radius: f32,
    pub times: u32,
}

#[objects]
impl Shape for Circle {
    fn area(&self) -> f32 {
        3.0 * self.radius * self.radius + self.tag as f32
    }

    fn corners(&self) -> u32 {
        self.times
    }

    fn scaled(&self, by: f32) -> f32 {
        self.area() * by + 1.0
    }

    fn grow(&mut self, by: f32) {
        self.radius *= by;
        self.times += 1;
    }
}

#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Polygon {
    pub sides: [f32; 9],
    pub count: u32,
}

#[objects]
impl Shape for Polygon {
    fn area(&self) -> f32 {
        self.sides.iter().take(self.count as usize).sum()
    }

    fn corners(&self) -> u32 {
        self.count
    }

    fn grow(&mut self, by: f32) {
        self.sides[self.count as usize] = by;
        self.count += 1;
    }
}

/// A shape that is made of a number.
pub fn shape(number: usize) -> AnyShape {
    let size = number as f32 / 4.0;
    match number % 3 {
        0 => Object::new(Square { side: size }),
        1 => Object::new(Circle { tag: number as u64, radius: size, times: 0 }),
        _ => Object::new(Polygon { sides: [size; 9], count: (number % 8) as u32 }),
    }
}
