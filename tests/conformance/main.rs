//! Conformance tests: one module per feature, one or more tests per scenario of `scenarios.txt`.
//!
//! The name of a test names its scenario (`dg_cpy_001_whole_value` tests DG-CPY-001).
//!
//! `ci/conformance` runs these tests on every device, and prints a line for each scenario and device.
//!
//! `ci/on intel cargo test -p oclave-tests --test conformance dg_cpy` runs some of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[macro_use]
extern crate device_test;

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
mod support;

mod device_globals;
mod device_globals_host;
mod folds;
mod foreign_async;
mod foreign_events;
mod foreign_names;
mod foreign_nodes;
mod foreign_tracing;
mod foreign_waits;
mod graph_arenas;
mod graph_buffer_runs;
mod graph_buffers;
mod graph_build;
mod graph_control;
mod graph_devices;
mod graph_events;
mod graph_images;
mod graph_kernels;
mod graph_limits;
mod graph_memory;
mod graph_record;
mod graph_rules;
mod graph_run;
mod graph_sub;
mod graph_support;
mod graph_tasks;
mod graph_update;
mod if_device;
mod image_copies;
mod image_samplers;
mod images;
mod images_refused;
mod prints;
mod rust_graphs;
mod rust_images;
mod rust_kernels;
mod rust_objects;
mod rust_panics;
mod rust_prints;
mod rust_sides;
mod rust_support;
mod rust_vectors;
mod unified_svm;
mod virtual_functions;
mod virtual_linking;

/// The kernels of `kernels/tests`.
mod kernels {
    oclave::include_kernels!("tests");
}

/// The list that the report is made from.
const SCENARIOS: &str = include_str!("scenarios.txt");

#[test]
fn every_line_of_the_scenario_list_is_well_formed() {
    let mut ids = std::collections::BTreeSet::new();
    for line in SCENARIOS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (id, feature, applies) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let mut parts = id.split('-');
        assert!(
            matches!(
                parts.next(),
                Some(
                    "G" | "CF"
                        | "GM"
                        | "FLD"
                        | "DG"
                        | "VF"
                        | "ID"
                        | "IMG"
                        | "PRT"
                        | "ASY"
                        | "LBL"
                        | "EXT"
                        | "TRC"
                        | "RK"
                        | "USV"
                )
            ),
            "unknown group in {line:?}"
        );
        assert!(
            parts.next_back().is_some_and(|n| n.len() == 3 && n.parse::<u32>().is_ok()),
            "no number in {line:?}"
        );
        let features = [
            "device-globals",
            "virtual-functions",
            "if-device",
            "graphs",
            "graph-update",
            "control-flow",
            "graph-memory",
            "reductions",
            "images",
            "printf",
            "foreign",
            "rust-kernels",
            "unified-svm",
        ];
        assert!(features.contains(&feature), "unknown feature in {line:?}");
        assert!(matches!(applies, "yes" | "no"), "neither yes nor no in {line:?}");
        assert!(words.next().is_some(), "no text in {line:?}");
        assert!(ids.insert(id), "{id} stands there twice");
    }
    assert!(ids.len() > 200, "only {} scenarios", ids.len());
}

#[test]
fn a_skipped_test_ends_where_it_skips() {
    fn body() {
        skip!("this test looks at {} itself", "skip!");
        #[allow(unreachable_code)]
        {
            panic!("went on after skip!");
        }
    }
    body();
}
