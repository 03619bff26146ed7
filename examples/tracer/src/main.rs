//! A path tracer, whose objects and materials are `dyn Trait`. One kernel makes them, another one calls them.
//!
//! ```sh
//! cargo run --release -p tracer -- [--width W] [--samples N] [--out FILE]
//! ```
//! The picture has 512 × 600 pixels, as the repository's photograph. Another width keeps its form. `FILE` is
//! a PNG file to write. The host runs the same source, and the pictures must be equal bit by bit.

use std::error::Error;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Instant;

use oclave::{Context, Device, Queue};
use oclave_kernel::{HostRange, Object};

mod kernels {
    oclave::include_kernels!();
}

#[path = "../kernels/tracer.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "a part of it is for devices only")]
mod tracer;

use kernels::tracer as on_device;

type Failure = Box<dyn Error + Send + Sync>;

/// What the user asks for.
struct Options {
    width: usize,
    samples: u32,
    out: Option<PathBuf>,
}

impl Options {
    fn read() -> Result<Self, Failure> {
        let mut options = Self { width: 512, samples: 32, out: None };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--width" => options.width = value()?.parse()?,
                "--samples" => options.samples = value()?.parse()?,
                "--out" => options.out = Some(value()?.into()),
                _ => {
                    return Err(format!(
                        "unknown option {word}; see the begin of examples/tracer/src/main.rs"
                    )
                    .into());
                }
            }
        }
        if !(1..=8192).contains(&options.width) || options.samples == 0 {
            return Err("the width is 1 to 8192, and a pixel has at least one sample".into());
        }
        Ok(options)
    }

    fn height(&self) -> usize {
        (self.width * 600 / 512).max(1)
    }
}

const SEED: u32 = 11;

/// The scene and its picture.
struct Traced {
    objects: Vec<tracer::AnyHittable>,
    materials: Vec<tracer::AnyMaterial>,
    /// Red, green and blue of each pixel.
    light: Vec<[f32; 3]>,
}

fn camera(options: &Options) -> tracer::Camera {
    let minus = |a: [f32; 3], b: [f32; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let cross = |a: [f32; 3], b: [f32; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let scaled = |a: [f32; 3], by: f32| a.map(|x| x * by);
    let unit = |a: [f32; 3]| scaled(a, 1.0 / a.iter().map(|x| x * x).sum::<f32>().sqrt());
    let (place, target) = ([1.1, 3.1, 9.6], [-0.1, 1.45, 0.0]);
    let forward = unit(minus(target, place));
    let right = unit(cross(forward, [0.0, 1.0, 0.0]));
    let down = cross(forward, right);
    let pixel = 0.82 / options.width as f32;
    let (right, down) = (scaled(right, pixel), scaled(down, pixel));
    let half = |step: [f32; 3], count: usize| scaled(step, count as f32 / 2.0);
    let corner = minus(minus(forward, half(right, options.width)), half(down, options.height()));
    tracer::Camera {
        place,
        corner,
        right,
        down,
        samples: options.samples,
        depth: 12,
        first_row: 0,
        seed: SEED,
    }
}

/// On the device: three launches.
fn trace(queue: &Queue, options: &Options) -> Result<Traced, Failure> {
    let context = queue.context();
    let objects = context.alloc_device::<on_device::HittableObject48>(tracer::OBJECTS)?;
    let materials = context.alloc_device::<on_device::MaterialObject16>(tracer::MATERIALS)?;
    let light = context.alloc_device::<[f32; 3]>(options.width * options.height())?;
    let tracer::Camera { place, corner, right, down, samples, depth, first_row, seed } = camera(options);
    let camera = on_device::Camera::new(place, corner, right, down, samples, depth, first_row, seed);

    queue.parallel_for(tracer::OBJECTS, on_device::furnish(SEED, &objects))?;
    queue.parallel_for(tracer::MATERIALS, on_device::paint(SEED, &materials))?;
    queue.parallel_for(
        [options.width, options.height()],
        on_device::render(camera, &objects, &materials, &light),
    )?;
    let objects = queue.read(&objects)?;
    let materials = queue.read(&materials)?;
    Ok(Traced {
        objects: objects.iter().map(|object| Object::from_parts(object.class, object.value)).collect(),
        materials: materials.iter().map(|object| Object::from_parts(object.class, object.value)).collect(),
        light: queue.read(&light)?,
    })
}

/// On the host: the same source, rows by several threads.
fn trace_on_host(options: &Options) -> Traced {
    let (width, height) = (options.width, options.height());
    let mut objects = vec![Object::default(); tracer::OBJECTS];
    let mut materials = vec![Object::default(); tracer::MATERIALS];
    let mut light = vec![[0.0; 3]; width * height];
    tracer::furnish::run_on_host(HostRange::new([tracer::OBJECTS]), SEED, &mut objects);
    tracer::paint::run_on_host(HostRange::new([tracer::MATERIALS]), SEED, &mut materials);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let rows = height.div_ceil(threads);
    std::thread::scope(|scope| {
        for (part, light) in light.chunks_mut(rows * width).enumerate() {
            let (objects, materials) = (&objects, &materials);
            let camera = tracer::Camera { first_row: (part * rows) as u32, ..camera(options) };
            let range = HostRange::new([width, light.len() / width]);
            scope.spawn(move || tracer::render::run_on_host(range, camera, objects, materials, light));
        }
    });
    Traced { objects, materials, light }
}

/// The pixels as bytes, brighter in the dark.
fn bytes(light: &[[f32; 3]]) -> Vec<u8> {
    light.iter().flatten().map(|x| (x.clamp(0.0, 1.0).sqrt() * 255.0).round() as u8).collect()
}

fn main() -> Result<(), Failure> {
    let options = Options::read()?;
    let device = Device::select()?;
    let queue = Queue::new(&Context::new(&device)?)?;
    let (width, height) = (options.width, options.height());

    let started = Instant::now();
    let traced = trace(&queue, &options)?;
    println!(
        "{}: {width} × {height} pixels in {:.2?}, its compiler's time included",
        device.name(),
        started.elapsed()
    );
    if let Some(out) = &options.out {
        image::save_buffer(out, &bytes(&traced.light), width as u32, height as u32, image::ColorType::Rgb8)?;
        println!("wrote {}", out.display());
    }

    let started = Instant::now();
    let wanted = trace_on_host(&options);
    println!("the host: {:.2?}", started.elapsed());
    if traced.objects != wanted.objects || traced.materials != wanted.materials {
        return Err("the device's scene differs from the host's".into());
    }
    let bits = |light: &[[f32; 3]]| light.iter().map(|pixel| pixel.map(f32::to_bits)).collect::<Vec<_>>();
    let (found, wanted_bits) = (bits(&traced.light), bits(&wanted.light));
    let wrong = found.iter().zip(&wanted_bits).filter(|(found, wanted)| found != wanted).count();
    if wrong > 0 {
        return Err(format!("{wrong} of {} pixels differ from the host's", found.len()).into());
    }
    println!("all pixels are equal, bit by bit");
    Ok(())
}
