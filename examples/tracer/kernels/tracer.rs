//! A path tracer. One kernel makes the objects and the materials of a scene, another one calls them.
//!
//! Only sums, products, divisions and square roots are calculated, which round alike everywhere, so that
//! pictures are equal bit by bit.

use oclave_kernel::{Data, Item, Object, Out, Vec3, kernel, objects};

type V = Vec3<f32>;

/// Where light comes from, backwards.
#[derive(Debug, Clone, Copy)]
pub struct Ray {
    from: V,
    to: V,
}

impl Ray {
    fn at(&self, t: f32) -> V {
        self.from + self.to * t
    }
}

/// Where a ray meets an object.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    t: f32,
    place: V,
    /// Of length 1, against the ray.
    normal: V,
    is_outside: bool,
    material: u32,
}

impl Hit {
    fn new(ray: &Ray, t: f32, outwards: V, material: u32) -> Self {
        let is_outside = ray.to.dot(outwards) < 0.0;
        let normal = if is_outside { outwards } else { -outwards };
        Self { t, place: ray.at(t), normal, is_outside, material }
    }
}

/// What a ray can meet.
#[objects]
pub trait Hittable {
    /// The first meeting between two distances.
    fn hit(&self, ray: &Ray, nearest: f32, farthest: f32) -> Option<Hit>;
}

/// What happens to light on a surface.
#[objects]
pub trait Material {
    /// Where the ray goes on, and the part of each colour that it takes along.
    fn scatter(&self, ray: &Ray, hit: &Hit, random: &mut Random) -> Option<(V, Ray)>;

    /// Light of its own.
    fn emitted(&self) -> V {
        V::splat(0.0)
    }
}

/// Memory for any object, and for any material.
pub type AnyHittable = Object<dyn Hittable, 48>;
pub type AnyMaterial = Object<dyn Material, 16>;

/// A sphere.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Sphere {
    centre: [f32; 3],
    radius: f32,
    material: u32,
}

#[objects]
impl Hittable for Sphere {
    fn hit(&self, ray: &Ray, nearest: f32, farthest: f32) -> Option<Hit> {
        let from = ray.from - V::from(self.centre);
        let (a, half_b) = (ray.to.dot(ray.to), from.dot(ray.to));
        let c = from.dot(from) - self.radius * self.radius;
        let discriminant = half_b * half_b - a * c;
        if discriminant < 0.0 {
            return None;
        }
        let root = discriminant.sqrt();
        let is_in = |t: &f32| *t > nearest && *t < farthest;
        let t = Some((-half_b - root) / a).filter(is_in).or(Some((-half_b + root) / a).filter(is_in))?;
        let outwards = (ray.at(t) - V::from(self.centre)) / self.radius;
        Some(Hit::new(ray, t, outwards, self.material))
    }
}

/// A parallelogram.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Parallelogram {
    corner: [f32; 3],
    right: [f32; 3],
    up: [f32; 3],
    material: u32,
}

#[objects]
impl Hittable for Parallelogram {
    fn hit(&self, ray: &Ray, nearest: f32, farthest: f32) -> Option<Hit> {
        let (right, up) = (V::from(self.right), V::from(self.up));
        let normal = right.cross(up);
        let slope = normal.dot(ray.to);
        let t = normal.dot(V::from(self.corner) - ray.from) / slope;
        // Not so for a ray along the plane, where this is no number.
        if !(t > nearest && t < farthest) {
            return None;
        }
        let inside = ray.at(t) - V::from(self.corner);
        let area = normal.dot(normal);
        let (a, b) = (inside.cross(up).dot(normal) / area, right.cross(inside).dot(normal) / area);
        let is_in = |x: f32| (0.0..=1.0).contains(&x);
        (is_in(a) && is_in(b)).then(|| Hit::new(ray, t, normal / area.sqrt(), self.material))
    }
}

/// An endless floor of squares in two materials.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Floor {
    height: f32,
    side: f32,
    materials: [u32; 2],
}

#[objects]
impl Hittable for Floor {
    fn hit(&self, ray: &Ray, nearest: f32, farthest: f32) -> Option<Hit> {
        let t = (self.height - ray.from.y) / ray.to.y;
        if !(t > nearest && t < farthest) {
            return None;
        }
        let place = ray.at(t) / self.side;
        let square = (place.x + 4096.0) as u32 ^ (place.z + 4096.0) as u32;
        let material = if square & 1 == 0 { self.materials[0] } else { self.materials[1] };
        Some(Hit::new(ray, t, V::new(0.0, 1.0, 0.0), material))
    }
}

/// A box along the axes.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Cuboid {
    low: [f32; 3],
    high: [f32; 3],
    material: u32,
}

#[objects]
impl Hittable for Cuboid {
    fn hit(&self, ray: &Ray, nearest: f32, farthest: f32) -> Option<Hit> {
        let (from, to) = (ray.from.to_array(), ray.to.to_array());
        // When the ray is between each pair of sides, and the axis of the side by which it enters and leaves.
        let (mut enter, mut leave) = (f32::MIN, f32::MAX);
        let (mut first, mut last) = (0, 0);
        for axis in 0..3 {
            let step = 1.0 / to[axis];
            let (a, b) = ((self.low[axis] - from[axis]) * step, (self.high[axis] - from[axis]) * step);
            let (near, far) = if a < b { (a, b) } else { (b, a) };
            if near > enter {
                (enter, first) = (near, axis);
            }
            if far < leave {
                (leave, last) = (far, axis);
            }
        }
        if enter >= leave {
            return None;
        }
        let (t, axis, sign) = if enter > nearest { (enter, first, -1.0) } else { (leave, last, 1.0) };
        if !(t > nearest && t < farthest) {
            return None;
        }
        let mut outwards = [0.0; 3];
        outwards[axis] = if to[axis] > 0.0 { sign } else { -sign };
        Some(Hit::new(ray, t, V::from(outwards), self.material))
    }
}

/// Scatters light in all directions.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Matte {
    colour: [f32; 3],
}

#[objects]
impl Material for Matte {
    fn scatter(&self, _: &Ray, hit: &Hit, random: &mut Random) -> Option<(V, Ray)> {
        let to = hit.normal + random.direction();
        // The opposite of the normal leaves nothing of it.
        let to = if to.dot(to) < 1e-6 { hit.normal } else { to };
        Some((V::from(self.colour), Ray { from: hit.place, to }))
    }
}

/// A mirror, more or less rough.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Metal {
    colour: [f32; 3],
    roughness: f32,
}

#[objects]
impl Material for Metal {
    fn scatter(&self, ray: &Ray, hit: &Hit, random: &mut Random) -> Option<(V, Ray)> {
        let to = reflect(unit(ray.to), hit.normal) + random.direction() * self.roughness;
        (to.dot(hit.normal) > 0.0).then(|| (V::from(self.colour), Ray { from: hit.place, to }))
    }
}

/// Glass: light is reflected, or goes through.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Glass {
    index: f32,
}

#[objects]
impl Material for Glass {
    fn scatter(&self, ray: &Ray, hit: &Hit, random: &mut Random) -> Option<(V, Ray)> {
        let ratio = if hit.is_outside { 1.0 / self.index } else { self.index };
        let to = unit(ray.to);
        let cosine = -to.dot(hit.normal);
        let cosine = if cosine > 1.0 { 1.0 } else { cosine };
        let across = (to + hit.normal * cosine) * ratio;
        let along = 1.0 - across.dot(across);
        // Schlick's approximation of how much is reflected.
        let straight = (1.0 - ratio) / (1.0 + ratio);
        let straight = straight * straight;
        let rest = 1.0 - cosine;
        let reflected = straight + (1.0 - straight) * (rest * rest * rest * rest * rest);
        let to = if along <= 0.0 || random.number() < reflected {
            reflect(to, hit.normal)
        } else {
            across - hit.normal * along.sqrt()
        };
        Some((V::splat(1.0), Ray { from: hit.place, to }))
    }
}

/// A lamp.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Lamp {
    colour: [f32; 3],
}

#[objects]
impl Material for Lamp {
    fn scatter(&self, _: &Ray, _: &Hit, _: &mut Random) -> Option<(V, Ray)> {
        None
    }

    fn emitted(&self) -> V {
        V::from(self.colour)
    }
}

fn unit(v: V) -> V {
    v / v.dot(v).sqrt()
}

fn reflect(v: V, normal: V) -> V {
    v - normal * (2.0 * v.dot(normal))
}

/// Random numbers, by PCG.
#[derive(Debug, Clone, Copy)]
pub struct Random(u32);

impl Random {
    fn of(a: u32, b: u32, c: u32) -> Self {
        let mut random =
            Self(a.wrapping_mul(0x9e37_79b9) ^ b.wrapping_mul(0x85eb_ca6b) ^ c.wrapping_mul(0xc2b2_ae35));
        random.bits();
        random
    }

    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let word = (self.0 >> ((self.0 >> 28) + 4) ^ self.0).wrapping_mul(277_803_737);
        word >> 22 ^ word
    }

    /// From 0 to 1, without 1.
    fn number(&mut self) -> f32 {
        (self.bits() >> 8) as f32 / 16_777_216.0
    }

    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.number()
    }

    /// Of length 1.
    fn direction(&mut self) -> V {
        loop {
            let v = V::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = v.dot(v);
            if square > 1e-4 && square <= 1.0 {
                return v / square.sqrt();
            }
        }
    }
}

/// Materials that have a fixed number. Each small sphere has one of its own after them.
const WHITE: u32 = 0;
const BLACK: u32 = 1;
const GLASS: u32 = 2;
const GOLD: u32 = 3;
const CLAY: u32 = 4;
const LAMP: u32 = 5;
const FIXED: u32 = 6;
/// Objects that are no small spheres.
const LARGE: u32 = 8;
/// Small spheres, and so many in a row.
const SMALL: u32 = 42;
const ROW: u32 = 7;

/// How many objects and materials there are.
pub const OBJECTS: usize = (LARGE + SMALL) as usize;
pub const MATERIALS: usize = (FIXED + SMALL) as usize;

/// Makes the objects of the scene, one a work-item.
#[kernel]
pub fn furnish(item: Item<1>, seed: u32, mut object: Out<AnyHittable>) {
    let number = item.global_id()[0] as u32;
    let mut random = Random::of(seed, number, 1);
    *object = match number {
        0 => Object::new(Floor { height: 0.0, side: 1.5, materials: [WHITE, BLACK] }),
        1 => Object::new(Sphere { centre: [0.1, 1.3, 0.3], radius: 1.3, material: GLASS }),
        // The inside of a shell of glass.
        2 => Object::new(Sphere { centre: [0.1, 1.3, 0.3], radius: -1.2, material: GLASS }),
        3 => Object::new(Sphere { centre: [-2.7, 1.5, -2.6], radius: 1.5, material: GOLD }),
        4 => Object::new(Cuboid { low: [1.7, 0.0, -3.4], high: [3.6, 2.9, -1.9], material: CLAY }),
        5 => Object::new(Cuboid { low: [-5.4, 0.0, -6.4], high: [5.4, 4.6, -6.1], material: GOLD }),
        6 => Object::new(Parallelogram {
            corner: [-2.6, 6.2, -2.4],
            right: [5.2, 0.0, 0.0],
            up: [0.0, 0.6, 4.0],
            material: LAMP,
        }),
        7 => Object::new(Parallelogram {
            corner: [-4.6, 0.01, 2.4],
            right: [1.4, 0.0, -1.1],
            up: [0.5, 2.2, 0.6],
            material: CLAY,
        }),
        _ => {
            let place = number - LARGE;
            let (column, row) = ((place % ROW) as f32, (place / ROW) as f32);
            let radius = random.between(0.18, 0.32);
            let (x, z) = (random.between(-0.3, 0.3), random.between(-0.3, 0.3));
            let centre = [(column - 3.0) * 1.25 + x, radius, 4.6 - row * 1.2 + z];
            Object::new(Sphere { centre, radius, material: FIXED + place })
        }
    };
}

/// Makes its materials.
#[kernel]
pub fn paint(item: Item<1>, seed: u32, mut material: Out<AnyMaterial>) {
    let number = item.global_id()[0] as u32;
    let mut random = Random::of(seed, number, 2);
    *material = match number {
        WHITE => Object::new(Matte { colour: [0.78, 0.75, 0.7] }),
        BLACK => Object::new(Matte { colour: [0.12, 0.14, 0.18] }),
        GLASS => Object::new(Glass { index: 1.5 }),
        GOLD => Object::new(Metal { colour: [0.9, 0.72, 0.42], roughness: 0.04 }),
        CLAY => Object::new(Matte { colour: [0.65, 0.2, 0.14] }),
        LAMP => Object::new(Lamp { colour: [7.0, 6.4, 5.4] }),
        _ => {
            let colour = [random.number(), random.number(), random.number()].map(|x| x * x * 0.9 + 0.05);
            match number % 4 {
                0 => Object::new(Metal { colour, roughness: random.between(0.0, 0.4) }),
                1 => Object::new(Glass { index: random.between(1.3, 1.7) }),
                _ => Object::new(Matte { colour }),
            }
        }
    };
}

/// Where the picture is seen from, and how exactly.
#[derive(Debug, Clone, Copy, Data)]
#[repr(C)]
pub struct Camera {
    pub place: [f32; 3],
    /// From the place to the upper left corner of the picture.
    pub corner: [f32; 3],
    /// From pixel to pixel.
    pub right: [f32; 3],
    pub down: [f32; 3],
    /// Rays of a pixel.
    pub samples: u32,
    /// How often a ray goes on.
    pub depth: u32,
    /// The row of the first work-item.
    pub first_row: u32,
    pub seed: u32,
}

/// The picture: the mean light of each pixel.
#[kernel]
pub fn render(
    item: Item<2>,
    camera: Camera,
    objects: &[AnyHittable],
    materials: &[AnyMaterial],
    mut light: Out<[f32; 3]>,
) {
    let [column, row] = item.global_id().map(|id| id as u32);
    let row = row + camera.first_row;
    let mut random = Random::of(column, row, camera.seed);
    let mut sum = V::splat(0.0);
    for _ in 0..camera.samples {
        let (x, y) = (column as f32 + random.number(), row as f32 + random.number());
        let to = V::from(camera.corner) + V::from(camera.right) * x + V::from(camera.down) * y;
        let ray = Ray { from: V::from(camera.place), to };
        sum += seen(ray, camera.depth, objects, materials, &mut random);
    }
    *light = (sum / camera.samples as f32).to_array();
}

/// The light that comes along a ray.
fn seen(
    mut ray: Ray,
    depth: u32,
    objects: &[AnyHittable],
    materials: &[AnyMaterial],
    random: &mut Random,
) -> V {
    let (mut part, mut sum) = (V::splat(1.0), V::splat(0.0));
    for _ in 0..depth {
        let mut nearest: Option<Hit> = None;
        for object in objects {
            let farthest = nearest.map_or(1e6, |hit| hit.t);
            nearest = object.hit(&ray, 1e-3, farthest).or(nearest);
        }
        let Some(hit) = nearest else {
            let height = unit(ray.to).y * 0.5 + 0.5;
            let sky = V::new(0.75, 0.8, 0.9) * (1.0 - height) + V::new(0.2, 0.36, 0.7) * height;
            return sum + part * sky * 0.6;
        };
        let material = &materials[hit.material as usize];
        sum += part * material.emitted();
        let Some((colour, next)) = material.scatter(&ray, &hit, random) else { break };
        part *= colour;
        ray = next;
    }
    sum
}
