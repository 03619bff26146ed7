//! Kernels in the forms of textbooks and samples: `kernels/classics`.
//!
//! Their results are computed by code that shares nothing with the kernels.
#![allow(clippy::many_single_char_names, reason = "formulas use the names of their publications")]

mod algorithm;
mod atomics;
mod barrier_nests;
mod barriers;
mod bignum;
mod bits;
mod blocks;
mod calls;
mod cipher;
mod collective;
mod common;
mod dynamic;
mod fills;
mod format;
mod generator;
mod grid;
mod group_items;
mod hash;
mod histogram;
mod literals;
mod matrix;
mod nests;
mod number;
mod private_arrays;
mod reduce;
mod scan;
mod science;
mod sort;
mod text;
mod timed;
mod tree;
mod vector;
mod wide_vectors;

use crate::case::Case;
pub(crate) use timed::{Timed, timed};

/// A program of `kernels/classics` with its cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classic {
    /// The stem of its file.
    pub name: &'static str,
    /// Makes the cases.
    pub cases: fn() -> Vec<Case>,
}

/// The file of a program.
pub(crate) fn source(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/classics");
    folder.join(format!("{name}.cl"))
}

fn classic(name: &'static str, cases: fn() -> Vec<Case>) -> Classic {
    Classic { name, cases }
}

/// All programs.
pub(crate) fn programs() -> Vec<Classic> {
    vec![
        classic("aes", cipher::of_aes),
        classic("async_copy", collective::async_copy),
        classic("atomics", atomics::cases),
        classic("barrier_branches", barriers::branches),
        classic("barrier_checks", barriers::checks),
        classic("barrier_flags", barriers::flags),
        classic("barrier_loops", barriers::loops),
        classic("barrier_negations", barriers::negations),
        classic("barrier_nests", barrier_nests::cases),
        classic("base64", text::of_base64),
        classic("bfs", science::bfs),
        classic("big_integers", number::big_integers),
        classic("binary_search", algorithm::binary_search),
        classic("bit_fields", format::bit_fields),
        classic("bit_packed", format::bit_packed),
        classic("byte_swaps", bits::byte_swaps),
        classic("chacha20", cipher::of_chacha20),
        classic("collatz", algorithm::collatz),
        classic("collectives", collective::collectives),
        classic("common_subsequence", dynamic::common_subsequence),
        classic("convolution", grid::convolution),
        classic("crc32", hash::of_crc32),
        classic("doubles", algorithm::doubles),
        classic("fft", science::fft),
        classic("fixed_blocks", blocks::cases),
        classic("fixed_point", number::fixed_point),
        classic("calls", calls::cases),
        classic("fills", fills::cases),
        classic("floyd_warshall", science::floyd_warshall),
        classic("gauss", matrix::gauss),
        classic("group_items", group_items::group_items),
        classic("half_blocks", format::half_blocks),
        classic("hash_table", algorithm::hash_table),
        classic("heat_3d", grid::heat_3d),
        classic("histogram", histogram::cases),
        classic("hotspot", grid::hotspot),
        classic("k_means", algorithm::k_means),
        classic("life", grid::life),
        classic("literals", literals::cases),
        classic("loop_nests", nests::cases),
        classic("lu", matrix::lu),
        classic("mandelbrot", algorithm::mandelbrot),
        classic("marching_squares", algorithm::marching_squares),
        classic("matrix_product", matrix::products),
        classic("md5", hash::of_md5),
        classic("mersenne_twister", generator::mersenne_twister),
        classic("murmur3", hash::of_murmur3),
        classic("nbody", science::nbody),
        classic("needleman_wunsch", dynamic::needleman_wunsch),
        classic("needleman_wunsch_launches", dynamic::needleman_wunsch_launches),
        classic("overflow", bits::overflow),
        classic("overflow_signed_product", bits::overflow_signed_product),
        classic("pathfinder", dynamic::pathfinder),
        classic("philox", generator::of_philox),
        classic("pixels", format::pixels),
        classic("private_arrays", private_arrays::cases),
        classic("prime_sieve", algorithm::prime_sieve),
        classic("quants", format::quants),
        classic("random_numbers", generator::random_numbers),
        classic("reduce_endings", reduce::endings),
        classic("reduce_halving", reduce::halving),
        classic("reduce_interleaved", reduce::interleaved),
        classic("reduce_tree", tree::cases),
        classic("reduce_while", reduce::loops),
        classic("rotations", bits::rotations),
        classic("run_length", text::run_length),
        classic("scan_blelloch", scan::blelloch),
        classic("scan_groups", scan::groups),
        classic("scan_hillis_steele", scan::hillis_steele),
        classic("scan_segmented", scan::segmented),
        classic("sha1", hash::of_sha1),
        classic("sha256", hash::of_sha256),
        classic("sha512", hash::of_sha512),
        classic("sort_bitonic", sort::bitonic),
        classic("sort_merge", sort::merge),
        classic("sort_odd_even", sort::odd_even),
        classic("sort_private", sort::private),
        classic("sort_radix", sort::radix),
        classic("sort_rank", sort::rank),
        classic("spmv", science::spmv),
        classic("stencil_1d", grid::stencil_1d),
        classic("stencil_2d", grid::stencil_2d),
        classic("string_search", text::string_search),
        classic("structs", format::structs),
        classic("subgroups", collective::of_sub_groups),
        classic("transpose", matrix::transposes),
        classic("two_bounds", algorithm::two_bounds),
        classic("utf8", text::utf8),
        classic("varint", text::of_varint),
        classic("vector_doubles", vector::doubles),
        classic("vector_functions", vector::functions),
        classic("vector_halves", vector::halves),
        classic("wide_doubles", wide_vectors::doubles),
        classic("wide_vectors", wide_vectors::cases),
        classic("xtea", cipher::of_xtea),
        classic("xxhash", hash::of_xxhash),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::programs;
    use crate::case::{Argument, Memory};

    #[test]
    fn every_file_has_cases_and_the_other_way_round() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/classics");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "cl"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut names: Vec<String> = programs().iter().map(|program| program.name.to_owned()).collect();
        names.sort();
        assert_eq!(files, names);
    }

    #[test]
    fn cases_have_unique_names_and_use_their_memory() {
        for program in programs() {
            let cases = (program.cases)();
            assert!(!cases.is_empty(), "{}", program.name);
            let mut names = HashSet::new();
            for case in cases {
                let all = format!("{}: {}", program.name, case.name);
                for launch in &case.launches {
                    for argument in &launch.arguments {
                        if let Argument::Memory(index) = argument {
                            assert!(*index < case.memory.len(), "{all}");
                        }
                    }
                    let local = launch.space.local.unwrap();
                    for (global, local) in launch.space.global.iter().zip(local) {
                        assert!(*global > 0 && global.is_multiple_of(local), "{all}");
                    }
                }
                let not_empty = |memory: &Memory| !memory.bytes().is_empty();
                assert!(case.memory.iter().all(not_empty), "{all}");
                // The contents before the launches must not pass.
                // Only a group of one has nothing to sort in place.
                let before: Vec<Vec<u8>> = case.memory.iter().map(|memory| memory.bytes().to_vec()).collect();
                let may_pass = case.name == "radix_split in groups of 1";
                assert!(may_pass || (case.check)(&before).is_err(), "{all}");
                assert!(names.insert(case.name), "{all} is twice");
            }
        }
    }
}
