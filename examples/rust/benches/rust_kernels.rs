//! Kernels in Rust, with their checks, against the same kernels in OpenCL C.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`: "ours" is Rust, n is the number of work-items, times are
//! medians of launches. The last row has the geometric mean of the ratios. Results are compared: those of
//! integers must be equal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

#[path = "../../../benches/measure/mod.rs"]
mod measure;

use std::cell::RefCell;
use std::fmt::Debug;

use oclave::kernel::{KernelCall, LaunchRange, NdRange};
use oclave::memory::usm;
use oclave::{Context, Queue, UsmSlice};
use rust_kernels::speed::{speed, speed_c};

struct Bench {
    queue: Queue,
    ratios: RefCell<Vec<f64>>,
}

type Memory<T> = UsmSlice<T, usm::DeviceOnly>;

/// Numbers that look random.
fn random(count: usize) -> Vec<u32> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(7), next).map(|state| state >> 8).take(count).collect()
}

fn floats(count: usize) -> Vec<f32> {
    random(count).iter().map(|x| (x % 4096) as f32 / 2048.0 - 1.0).collect()
}

impl Bench {
    /// Times both in turns, one launch at a time.
    fn pair(
        &self,
        name: &str,
        n: usize,
        range: impl LaunchRange + Copy,
        rust: &dyn Fn() -> KernelCall,
        c: &dyn Fn() -> KernelCall,
    ) {
        let run = |call: &dyn Fn() -> KernelCall| {
            self.queue.parallel_for(range, call()).unwrap();
            self.queue.wait().unwrap();
        };
        run(rust);
        run(c);
        let mut times = (Vec::new(), Vec::new());
        for round in 0..21 {
            // The order alternates, because the first may find caches in another state.
            let (first, second) = if round % 2 == 0 { (rust, c) } else { (c, rust) };
            let both = [first, second].map(|call| measure::time(1, &mut || run(call)));
            let [ours, reference] = if round % 2 == 0 { both } else { [both[1], both[0]] };
            times.0.push(ours);
            times.1.push(reference);
        }
        let mut ratios: Vec<f64> = times.0.iter().zip(&times.1).map(|(ours, theirs)| ours / theirs).collect();
        self.ratios.borrow_mut().push(measure::median(&mut ratios));
        measure::row(&format!("rust_{name}"), n, times);
    }

    fn memory<T: bytemuck::Pod>(&self, count: usize) -> [Memory<T>; 2] {
        let zeroes = vec![T::zeroed(); count];
        [(); 2].map(|()| self.upload(&zeroes))
    }

    fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> Memory<T> {
        self.queue.upload(data).unwrap()
    }

    fn equal<T: bytemuck::Pod + PartialEq + Debug>(&self, name: &str, [rust, c]: &[Memory<T>; 2]) {
        let (rust, c) = (self.queue.read(rust).unwrap(), self.queue.read(c).unwrap());
        let wrong = rust.iter().zip(&c).position(|(rust, c)| rust != c);
        assert!(wrong.is_none(), "{name}: element {wrong:?} differs");
        assert!(rust.iter().any(|value| *value != T::zeroed()), "{name}: nothing was calculated");
    }

    fn near(&self, name: &str, [rust, c]: &[Memory<f32>; 2]) {
        let (rust, c) = (self.queue.read(rust).unwrap(), self.queue.read(c).unwrap());
        for (at, (rust, c)) in rust.iter().zip(&c).enumerate() {
            assert!(
                (rust - c).abs() <= 1e-3 * c.abs().max(1.0),
                "{name}: element {at} is {rust}, and {c} in C"
            );
        }
        assert!(rust.iter().any(|value| *value != 0.0), "{name}: nothing was calculated");
    }
}

fn main() {
    let Some(device) = measure::device() else { return };
    let queue = Queue::new(&Context::new(&device).unwrap()).unwrap();
    let bench = Bench { queue, ratios: RefCell::default() };

    let n = 1 << 21;
    let (x, y) = (bench.upload(&floats(n)), bench.memory::<f32>(n));
    bench.pair("saxpy", n, n, &|| speed::saxpy(0.5, &x, &y[0]), &|| speed_c::saxpy_c(0.5, &x, &y[1]));
    bench.near("saxpy", &y);

    let n = 2048;
    let stars = bench.upload(
        &floats(4 * n)
            .chunks(4)
            .map(|s| speed::Star::new([s[0], s[1], s[2]], s[3].abs()))
            .collect::<Vec<_>>(),
    );
    let numbers = bench.upload(
        &floats(4 * n)
            .chunks(4)
            .map(|s| oclave::vector::Float4::from([s[0], s[1], s[2], s[3].abs()]))
            .collect::<Vec<_>>(),
    );
    let [rust, _] = bench.memory::<[f32; 4]>(n);
    let [c, _] = bench.memory::<oclave::vector::Float4>(n);
    bench.pair("bodies", n, n, &|| speed::bodies(&stars, &rust), &|| {
        speed_c::bodies_c(n as u32, &numbers, &c)
    });
    let (rust, c) = (bench.queue.read(&rust).unwrap(), bench.queue.read(&c).unwrap());
    let flat = [
        bench.upload(rust.as_flattened()),
        bench.upload(&c.iter().flat_map(|v| <[f32; 4]>::from(*v)).collect::<Vec<f32>>()),
    ];
    bench.near("bodies", &flat);

    let size = 256;
    let n = size * size;
    let (a, b, out) = (bench.upload(&floats(n)), bench.upload(&floats(n)), bench.memory::<f32>(n));
    let range = NdRange::new([size, size], [16, 16]);
    bench.pair("product", n, range, &|| speed::product(size as u32, &a, &b, &out[0]), &|| {
        speed_c::product_c(size as u32, &a, &b, &out[1])
    });
    bench.near("product", &out);

    let n = 1 << 20;
    let (x, out) = (bench.upload(&floats(n)), bench.memory::<f32>(n));
    bench.pair("stencil", n, [1024, 1024], &|| speed::stencil(&x, &out[0]), &|| {
        speed_c::stencil_c(&x, &out[1])
    });
    bench.near("stencil", &out);

    let (x, sums) = (bench.upload(&random(n)), bench.memory::<u32>(n / 256));
    let range = NdRange::new(n, 256);
    bench.pair("reduce", n, range, &|| speed::reduce(&x, &sums[0]), &|| speed_c::reduce_c(&x, &sums[1]));
    bench.equal("reduce", &sums);

    let (bytes, counts) =
        (bench.upload(&random(n).iter().map(|x| *x as u8).collect::<Vec<_>>()), bench.memory::<u32>(256));
    bench.pair("histogram", 4096, 4096, &|| speed::histogram(&bytes, &counts[0]), &|| {
        speed_c::histogram_c(n as u32, &bytes, &counts[1])
    });
    bench.equal("histogram", &counts);

    let out = bench.memory::<u32>(n);
    bench.pair("scan", n, range, &|| speed::scan(&x, &out[0]), &|| speed_c::scan_c(&x, &out[1]));
    bench.equal("scan", &out);

    let n = 512 * 512;
    let out = bench.memory::<u32>(n);
    bench.pair("mandelbrot", n, [512, 512], &|| speed::mandelbrot(200, &out[0]), &|| {
        speed_c::mandelbrot_c(200, &out[1])
    });
    bench.equal("mandelbrot", &out);

    let n = 1 << 16;
    let lengths = random(n);
    let mut starts = vec![0];
    for length in &lengths {
        starts.push(starts.last().unwrap() + length % 32);
    }
    let count = *starts.last().unwrap() as usize;
    let columns: Vec<u32> = random(count).iter().map(|x| x % n as u32).collect();
    let (starts, columns) = (bench.upload(&starts), bench.upload(&columns));
    let (values, x, out) = (bench.upload(&floats(count)), bench.upload(&floats(n)), bench.memory::<f32>(n));
    bench.pair("sparse", n, n, &|| speed::sparse(&starts, &columns, &values, &x, &out[0]), &|| {
        speed_c::sparse_c(&starts, &columns, &values, &x, &out[1])
    });
    bench.near("sparse", &out);

    let n = 1 << 14;
    let words = random(16 * n);
    let blocks: Vec<[u32; 16]> = words.chunks_exact(16).map(|block| block.try_into().unwrap()).collect();
    let (blocks, words) = (bench.upload(&blocks), bench.upload(&words));
    let ([rust, _], [c, _]) = (bench.memory::<[u32; 8]>(n), bench.memory::<u32>(8 * n));
    bench.pair("sha256", n, n, &|| speed::sha256(&blocks, &rust), &|| speed_c::sha256_c(&words, &c));
    let rust = bench.queue.read(&rust).unwrap();
    bench.equal("sha256", &[bench.upload(rust.as_flattened()), c]);

    let ratios = bench.ratios.borrow();
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("rust_mean,{},{},{mean:.3},1.000,{mean:.3}", measure::shown_device(), ratios.len());
}
