//! Launches that take some milliseconds, of kernels of `kernels/classics` and of real programs, to compare the speed of compilers.

use super::blocks;
use super::common::{Parts, Random, int, launch, local, mem, uint};
use super::matrix::covering;
use crate::case::{Argument, Case, Launch, Memory, Space};

/// A kernel to be timed.
pub(crate) struct Timed {
    /// Unique.
    pub(crate) name: &'static str,
    /// Its program, and whether `ci/real` made the source.
    pub(crate) program: &'static str,
    pub(crate) is_real: bool,
    /// Its memory and launches. No result is known.
    pub(crate) case: Case,
    /// Which memory holds floats.
    pub(crate) floats: Vec<usize>,
    /// Whether bytes may differ by one: floats were rounded.
    pub(crate) close_bytes: bool,
}

fn of(
    name: &'static str,
    program: &'static str,
    floats: &[usize],
    memory: Vec<Memory>,
    launches: Vec<Launch>,
) -> Timed {
    let case = Case { name: name.to_owned(), memory, launches, check: Box::new(|_| Ok(())) };
    Timed { name, program, is_real: false, case, floats: floats.to_vec(), close_bytes: false }
}

fn block(name: &'static str, floats: &[usize], (memory, launches, check): Parts) -> Timed {
    let timed = of(name, "fixed_blocks", floats, memory, launches);
    Timed { case: Case { check, ..timed.case }, close_bytes: floats.is_empty(), ..timed }
}

fn real(
    name: &'static str,
    program: &'static str,
    floats: &[usize],
    memory: Vec<Memory>,
    launches: Vec<Launch>,
) -> Timed {
    Timed { is_real: true, ..of(name, program, floats, memory, launches) }
}

/// All names, and the kernel of one of them.
pub(crate) struct Chosen<'a> {
    pub(crate) names: Vec<&'static str>,
    pub(crate) found: Option<Timed>,
    wanted: &'a str,
}

/// Adds a kernel, whose memory and launches are only made if it is wanted.
macro_rules! add {
    ($all:ident, $make:ident, $name:expr $(, $rest:expr)* $(,)?) => {
        $all.names.push($name);
        if $name == $all.wanted {
            $all.found = Some($make($name $(, $rest)*));
        }
    };
}

/// All names, and the kernel of the name `wanted`, if there is one.
pub(crate) fn timed(wanted: &str) -> Chosen<'_> {
    let mut all = Chosen { names: Vec::new(), found: None, wanted };
    matrices(&mut all);
    grids(&mut all);
    groups(&mut all);
    items(&mut all);
    of_real_programs(&mut all);
    all
}

fn floats(seed: u64, len: usize) -> Memory {
    Memory::of(&Random::new(seed).floats(len, 0.1, 2.0))
}

fn bytes(seed: u64, len: usize) -> Memory {
    Memory::of(&Random::new(seed).bytes(len))
}

fn words(seed: u64, len: usize) -> Memory {
    Memory::of(&Random::new(seed).words(len))
}

fn below(seed: u64, len: usize, bound: usize) -> Memory {
    Memory::of(&Random::new(seed).words_below(len, bound))
}

fn zeros(len: usize) -> Memory {
    Memory::of(&vec![0u32; len])
}

fn matrices(all: &mut Chosen<'_>) {
    let factors = |m: usize, n: usize, k: usize| vec![floats(1, m * k), floats(2, k * n), zeros(m * n)];
    let square = |n: usize| [mem(0), mem(1), mem(2), int(n), int(n), int(n)];
    let with = |first: &[Argument], rest: &[Argument]| [first, rest].concat();
    let on = |n: usize, x: usize, y: usize| covering([n, n], [x, y]);
    let plane = |side: usize| vec![floats(3, side * side), zeros(side * side)];
    let tile = local::<f32>(256);
    add!(all, block, "matrix_product_blocks", &[0, 1, 2], blocks::product(384));
    add!(
        all,
        of,
        "matrix_product_naive",
        "matrix_product",
        &[0, 1, 2],
        factors(256, 256, 256),
        vec![launch("naive", on(256, 16, 16), square(256))],
    );
    add!(
        all,
        of,
        "matrix_product_tiled",
        "matrix_product",
        &[0, 1, 2],
        factors(256, 256, 256),
        vec![launch("tiled", on(256, 16, 16), with(&square(256), &[tile.clone(), tile]))],
    );
    add!(
        all,
        of,
        "matrix_product_registers",
        "matrix_product",
        &[0, 1, 2],
        factors(384, 384, 384),
        vec![launch("register_blocked", Space::d2([24 * 8, 24 * 4], [8, 4]), square(384))],
    );
    add!(
        all,
        of,
        "matrix_product_vectors",
        "matrix_product",
        &[0, 1, 2],
        factors(256, 256, 256),
        vec![launch("vectors", Space::d2([64, 256], [16, 4]), [mem(0), mem(1), mem(2), int(64), int(64)],)],
    );
    add!(
        all,
        of,
        "matrix_times_vector",
        "matrix_product",
        &[0, 1, 2],
        vec![floats(1, 2048 * 1024), floats(2, 1024), zeros(2048)],
        vec![launch(
            "times_vector",
            Space::d1(2048 * 64, 64),
            [mem(0), mem(1), mem(2), int(1024), local::<f32>(64)],
        )],
    );
    add!(
        all,
        of,
        "transpose_tiled",
        "transpose",
        &[],
        plane(1024),
        vec![launch("tiled", on(1024, 16, 16), [mem(0), mem(1), uint(1024), uint(1024), local::<u32>(256)],)],
    );
    add!(
        all,
        of,
        "transpose_rows",
        "transpose",
        &[],
        plane(1024),
        vec![
            launch("several_rows", Space::d2([1024, 256], [16, 4]), [mem(0), mem(1), int(1024), int(1024)],)
        ],
    );
    add!(all, block, "lu_blocks", &[0], blocks::lu(512));
    add!(
        all,
        of,
        "lu_inner",
        "fixed_blocks",
        &[0],
        vec![floats(4, 2048 * 2048)],
        vec![launch("lu_inner", Space::d2([2032, 2032], [16, 16]), [mem(0), int(2048), int(0)])],
    );
    add!(
        all,
        of,
        "lu_local",
        "lu",
        &[0],
        (0..1)
            .map(|_| {
                Memory::of(&(0..128u64).flat_map(|i| super::matrix::dominant(i, 48)).collect::<Vec<f32>>())
            })
            .collect(),
        vec![launch("lu_local", Space::d1(128 * 64, 64), [mem(0), int(48), local::<f32>(48 * 48)])],
    );
    add!(
        all,
        of,
        "gauss_eliminate",
        "gauss",
        &[0, 1, 2],
        vec![floats(5, 1024 * 1024), floats(6, 1024), floats(7, 1024 * 1024)],
        vec![launch("eliminate", Space::d1(1023 * 1024, 64), [mem(0), mem(1), mem(2), int(1024), int(0)],)],
    );
}

fn grids(all: &mut Chosen<'_>) {
    let (side, steps) = (1280usize, 3usize);
    let plane = || vec![floats(10, side * side), zeros(side * side)];
    let pixels = |each: usize| vec![bytes(11, side * side * each), bytes(12, side * side * each)];
    let args = [mem(0), mem(1), int(side), int(side)];
    let on = |x, y| covering([side, side], [x, y]);
    let room = local::<f32>((16 + 2 * steps) * (16 + 2 * steps));
    add!(all, block, "hotspot_blocks", &[0, 1, 2], blocks::heat([768, 768], 2));
    add!(
        all,
        of,
        "hotspot",
        "hotspot",
        &[0, 1, 2],
        vec![floats(13, 256 * 256), floats(14, 256 * 256), zeros(256 * 256)],
        vec![launch(
            "hotspot",
            covering([256, 256], [16, 16]),
            [mem(0), mem(1), mem(2), int(256), int(256), int(steps), room.clone(), room],
        )],
    );
    add!(
        all,
        of,
        "jacobi",
        "stencil_2d",
        &[0, 1],
        plane(),
        vec![launch("jacobi", on(16, 16), args.clone()); 8]
    );
    add!(
        all,
        of,
        "blur_tiled",
        "stencil_2d",
        &[],
        pixels(1),
        vec![launch("blur_tiled", on(16, 16), [&args[..], &[local::<u8>(18 * 18)]].concat())],
    );
    add!(all, of, "median", "stencil_2d", &[], pixels(1), vec![launch("median", on(16, 16), args.clone())]);
    add!(
        all,
        of,
        "sobel",
        "stencil_2d",
        &[],
        vec![bytes(11, side * side), bytes(12, 2 * side * side)],
        vec![launch("sobel", on(16, 16), args.clone())],
    );
    add!(all, block, "sobel_vectors", &[], blocks::sobel([768, 768]));
    add!(
        all,
        of,
        "heat_3d",
        "heat_3d",
        &[0, 1],
        vec![floats(15, 96 * 96 * 96), zeros(96 * 96 * 96)],
        vec![
            launch(
                "seven_points",
                Space::d3([96; 3], [16, 4, 4]),
                [mem(0), mem(1), int(96), int(96), int(96), Argument::value(0.1f32)],
            );
            8
        ],
    );
    add!(
        all,
        of,
        "convolution_tiled",
        "convolution",
        &[0, 1, 2],
        vec![floats(16, 512 * 512), floats(17, 49), zeros(512 * 512)],
        vec![launch(
            "tiled",
            covering([512, 512], [16, 16]),
            [mem(0), mem(1), mem(2), int(512), int(512), int(3), local::<f32>(22 * 22)],
        )],
    );
    add!(
        all,
        of,
        "life_groups",
        "life",
        &[],
        vec![below(18, 64 * 32 * 32 / 4, 2)],
        vec![launch(
            "many_generations",
            Space::d1(64 * 64, 64),
            [mem(0), int(32), int(32), int(16), local::<u8>(1024), local::<u8>(1024)],
        )],
    );
    add!(
        all,
        of,
        "pathfinder",
        "pathfinder",
        &[],
        vec![below(19, 120_000 * 11, 10), below(20, 120_000, 10), zeros(120_000)],
        vec![launch(
            "rows",
            Space::d1(120_000usize.div_ceil(256 - 20) * 256, 256),
            [mem(0), mem(1), mem(2), int(120_000), int(1), int(10), local::<i32>(256), local::<i32>(256)],
        )],
    );
}

fn groups(all: &mut Chosen<'_>) {
    let n = 1usize << 19;
    let in_out = || vec![below(30, n, 1000), zeros(n)];
    let reduction = |name, program, kernel: &str| {
        of(
            name,
            program,
            &[],
            in_out(),
            vec![launch(kernel, Space::d1(n, 256), [mem(0), mem(1), local::<u32>(256)])],
        )
    };
    let bodies = |n: usize| vec![floats(31, 4 * n), zeros(4 * n)];
    let rows = 80_000usize;
    let entries = rows * 24;
    let starts: Vec<i32> = (0..=rows).map(|row| row as i32 * 24).collect();
    let csr = || {
        vec![
            Memory::of(&starts),
            below(32, entries, 4096),
            floats(33, entries),
            floats(34, 4096),
            zeros(rows),
        ]
    };
    let csr_arguments = [mem(0), mem(1), mem(2), mem(3), mem(4)];
    let roots: Vec<f32> = (0..256)
        .flat_map(|k| {
            let (sin, cos) = (-std::f64::consts::PI * f64::from(k) / 256.0).sin_cos();
            [cos as f32, sin as f32]
        })
        .collect();
    add!(all, reduction, "reduce_modulo", "reduce_interleaved", "reduce_modulo");
    add!(all, reduction, "reduce_halving", "reduce_halving", "reduce_sequential");
    add!(all, reduction, "scan_hillis_steele", "scan_hillis_steele", "inclusive_in_place");
    add!(
        all,
        of,
        "scan_blelloch",
        "scan_blelloch",
        &[],
        in_out(),
        vec![launch("exclusive_tree", Space::d1(n / 2, 128), [mem(0), mem(1), local::<u32>(256)])],
    );
    add!(
        all,
        of,
        "sort_bitonic",
        "sort_bitonic",
        &[],
        vec![words(35, 1 << 17), zeros(1 << 17)],
        vec![launch("bitonic_local", Space::d1(1 << 16, 128), [mem(0), mem(1), local::<u32>(256)])],
    );
    add!(
        all,
        of,
        "sort_merge_local",
        "sort_merge",
        &[],
        vec![words(36, 1 << 16), zeros(1 << 16)],
        vec![launch(
            "merge_local",
            Space::d1(1 << 16, 128),
            [mem(0), mem(1), local::<i32>(128), local::<i32>(128)],
        )],
    );
    add!(
        all,
        of,
        "sort_radix_split",
        "sort_radix",
        &[],
        vec![words(37, 1 << 15)],
        vec![launch(
            "radix_split",
            Space::d1(1 << 15, 128),
            [mem(0), int(16), local::<u32>(128), local::<u32>(128)],
        )],
    );
    add!(
        all,
        of,
        "nbody_tiled",
        "nbody",
        &[0, 1],
        bodies(3072),
        vec![launch("tiled", Space::d1(3072, 64), [mem(0), mem(1), int(3072), local::<[f32; 4]>(64)])],
    );
    add!(all, block, "cells", &[1, 2, 3], blocks::cells(256));
    add!(
        all,
        of,
        "fft_local",
        "fft",
        &[0, 1, 2],
        vec![floats(38, 2 * 512 * 256), zeros(2 * 512 * 256), Memory::of(&roots)],
        vec![launch(
            "local_steps",
            Space::d1(256 * 64, 64),
            [mem(0), mem(1), mem(2), int(9), local::<[f32; 2]>(512)],
        )],
    );
    add!(
        all,
        of,
        "spmv_rows",
        "spmv",
        &[2, 3, 4],
        csr(),
        vec![launch(
            "csr_scalar",
            Space::d1(rows.div_ceil(64) * 64, 64),
            [&csr_arguments[..], &[int(rows)]].concat(),
        )],
    );
    add!(
        all,
        of,
        "spmv_groups",
        "spmv",
        &[2, 3, 4],
        csr(),
        vec![launch(
            "csr_vector",
            Space::d1(rows * 32, 32),
            [&csr_arguments[..], &[local::<f32>(32)]].concat(),
        )],
    );
    add!(
        all,
        of,
        "k_means",
        "k_means",
        &[],
        vec![below(39, 2 * 524_288, 4000), below(40, 64, 4000), zeros(524_288)],
        vec![launch(
            "assign",
            Space::d1(524_288, 64),
            [mem(0), int(524_288), mem(1), int(32), mem(2), local::<[i32; 2]>(32)],
        )],
    );
    add!(
        all,
        of,
        "histogram",
        "histogram",
        &[],
        vec![bytes(41, 1 << 20), zeros(256)],
        vec![launch("local_atomics", Space::d1(1 << 14, 128), [mem(0), uint(1 << 20), mem(1)])],
    );
    add!(
        all,
        of,
        "needleman_wunsch",
        "needleman_wunsch",
        &[],
        vec![
            Memory::of(&[1u8, 0, 3, 2, 2, 1, 3, 0].repeat(256 * 8)),
            Memory::of(&[2u8, 1, 0, 3, 1, 1, 2, 0].repeat(256 * 8)),
            Memory::of(&[10i32, -1, -3, -4, -1, 7, -5, -3, -3, -5, 9, 0, -4, -3, 0, 8]),
            zeros(256 * 65 * 65),
        ],
        vec![launch(
            "in_local_memory",
            Space::d1(256 * 64, 64),
            [mem(0), mem(1), int(64), int(64), int(5), mem(2), mem(3), local::<i32>(65 * 65)],
        )],
    );
}

fn items(all: &mut Chosen<'_>) {
    let (messages, stride) = (32_768usize, 128usize);
    let hashed = |each: usize| {
        vec![bytes(50, messages * stride), Memory::of(&vec![100u32; messages]), zeros(messages * each)]
    };
    let hash = |name, kernel: &str, words: usize, more: Option<Argument>| {
        let mut arguments = vec![mem(0), mem(1), uint(stride)];
        arguments.extend(more);
        arguments.push(mem(2));
        of(name, name, &[], hashed(words), vec![launch(kernel, Space::d1(messages, 64), arguments)])
    };
    add!(all, hash, "md5", "md5", 4, None);
    add!(all, hash, "sha256", "sha256", 8, None);
    add!(all, hash, "sha512", "sha512", 16, None);
    add!(all, hash, "xxhash", "xxh32", 1, Some(uint(7)));
    add!(all, hash, "crc32", "by_table", 1, None);
    add!(
        all,
        of,
        "aes",
        "aes",
        &[],
        vec![bytes(51, 16), words(52, 4 * 65_536), zeros(4 * 65_536)],
        vec![launch("by_tables", Space::d1(65_536, 64), [mem(0), mem(1), mem(2)])],
    );
    add!(
        all,
        of,
        "philox",
        "philox",
        &[],
        vec![words(53, 4 << 20), words(54, 2 << 20), zeros(4 << 20)],
        vec![launch("with_mul_hi", Space::d1(1 << 20, 64), [mem(0), mem(1), mem(2)])],
    );
    add!(
        all,
        of,
        "mandelbrot",
        "mandelbrot",
        &[],
        vec![zeros(512 * 512 / 4)],
        vec![launch("floats", covering([512, 512], [16, 8]), [mem(0), int(512), int(512), int(200)])],
    );
    add!(
        all,
        of,
        "nbody_naive",
        "nbody",
        &[0, 1],
        vec![floats(55, 4 * 2048), zeros(4 * 2048)],
        vec![launch("naive", Space::d1(2048, 64), [mem(0), mem(1), int(2048)])],
    );
    add!(
        all,
        of,
        "sort_private",
        "sort_private",
        &[],
        vec![words(56, 32 * 8192), zeros(32 * 8192)],
        vec![launch("shell", Space::d1(8192, 64), [mem(0), mem(1)])],
    );
}

/// Kernels of CLBlast, GEGL, silx and QMCToolsCL.
fn of_real_programs(all: &mut Chosen<'_>) {
    let pixels = |side: usize| vec![floats(70, 4 * side * side), zeros(4 * side * side)];
    let long = |value: u64| Argument::value(value);
    add!(
        all,
        real,
        "clblast_gemm",
        "clblast/literals+libclblast.so.1.5.3.XgemmUpper.cl",
        &[0, 1, 2],
        vec![floats(60, 256 * 256), floats(61, 256 * 256), zeros(256 * 256)],
        vec![launch(
            "Xgemm",
            Space::d2([256, 256], [8, 8]),
            [
                int(256),
                int(256),
                int(256),
                Argument::value(1.5f32),
                Argument::value(0.5f32),
                mem(0),
                mem(1),
                mem(2),
                int(0),
                int(0),
            ],
        )],
    );
    add!(
        all,
        real,
        "clblast_dot",
        "clblast/literals+libclblast.so.1.5.3.Xdot.cl",
        &[0, 1, 2],
        vec![floats(62, 1 << 21), floats(63, 1 << 21), zeros(1024)],
        vec![launch(
            "Xdot",
            Space::d1(1024 * 64, 64),
            [int(1 << 21), mem(0), int(0), int(1), mem(1), int(0), int(1), mem(2), int(0)],
        )],
    );
    add!(
        all,
        real,
        "silx_convolution",
        "silx/usr+lib+python3+dist-packages+silx+resources+opencl+convolution.cl",
        &[0, 1, 2],
        vec![floats(64, 256 * 256), zeros(256 * 256), floats(65, 81)],
        vec![launch(
            "convol_2D_XY",
            Space::d3([256, 256, 1], [16, 8, 1]),
            [mem(0), mem(1), mem(2), int(9), int(9), int(256), int(256), int(1)],
        )],
    );
    add!(
        all,
        real,
        "silx_sort",
        "silx/usr+lib+python3+dist-packages+silx+resources+opencl+bitonic.cl",
        &[0],
        vec![floats(66, 1 << 18)],
        vec![launch("bsort_all", Space::d1(1 << 15, 64), [mem(0), local::<[f32; 4]>(128)])],
    );
    add!(
        all,
        real,
        "silx_extremes",
        "silx/usr+lib+python3+dist-packages+silx+resources+opencl+image+max_min.cl",
        &[0, 1],
        vec![floats(67, 1 << 22), zeros(512)],
        vec![launch(
            "max_min_reduction_stage1",
            Space::d1(256 * 64, 64),
            [mem(0), mem(1), int(1 << 22), local::<[f32; 2]>(64)],
        )],
    );
    add!(
        all,
        real,
        "gegl_nearest_neighbours",
        "gegl/literals+gegl-common-x86_64-v2.so.snn_mean.cl",
        &[0, 1],
        pixels(264),
        vec![launch(
            "snn_mean",
            Space::d2([256, 256], [16, 8]),
            [mem(0), int(264), int(264), mem(1), int(4), int(2)],
        )],
    );
    add!(
        all,
        real,
        "gegl_noise_reduction",
        "gegl/literals+gegl-common-x86_64-v2.so.noise_reduction_cl.cl",
        &[0, 1],
        pixels(258),
        vec![launch(
            "noise_reduction_cl",
            Space::d2([256, 256], [16, 8]),
            [mem(0), int(258), mem(1), int(256)],
        )],
    );
    add!(
        all,
        real,
        "qmc_natural_order",
        "qmctoolscl/qmctoolscl-1.2.4+qmctoolscl+cl_kernels+dnb2_gen_natural.cl",
        &[],
        vec![words(68, 2 * 32 * 32), zeros(2 * 32 * 32_768)],
        vec![launch(
            "dnb2_gen_natural",
            Space::d3([1, 2048, 32], [1, 64, 1]),
            [long(1), long(32_768), long(32), long(1), long(16), long(1), long(0), long(32), mem(0), mem(1),],
        )],
    );
}
