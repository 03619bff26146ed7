//! Everything that runs on a device: a folder for each topic, a module for each part of it.
//!
//! `ci/on intel cargo test -p oclave-tests --test device updates::` runs a topic on one device. `ci/test` runs each
//! module in a process of its own. Without a device, tests say why they are skipped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[macro_use]
extern crate device_test;

#[path = "../common/mod.rs"]
mod common;

/// The kernels of `kernels/tests`.
mod kernels {
    oclave::include_kernels!("tests");
}

/// What compilers of drivers make of kernels.
mod compilers {
    mod contraction;
    mod nesting;
    mod optimised;
    mod random;
    mod unrolled;
    mod work_items;
}

/// Commands on queues: order, events, threads, failures.
mod commands {
    mod events;
    mod exit;
    mod faults;
    mod futures;
    mod launch;
    mod oracle;
    mod ordering;
    mod threads;
}

mod device_globals {
    mod host;
    mod scope;
    mod shapes;
    mod sharing;
}

/// Devices and contexts, and machines without a usable device.
mod devices {
    mod capabilities;
    mod contexts;
    mod enumeration;
    mod unsupported;
}

/// Graphs that stay as they were made.
mod graph {
    mod construction;
    mod control;
    mod interpreter;
    mod memory;
    mod oracle;
    mod races;
    mod recorded;
    mod replay;
    mod segments;
    mod structure;
}

mod host_tasks {
    mod accessors;
    mod tasks;
}

mod images;
mod interop;

/// Features of kernels.
mod language {
    mod if_device;
    mod optional_features;
    mod prints;
    mod soundness;
}

/// USM, buffers, and how long they live.
mod memory {
    mod buffers;
    mod leaks;
    mod lifetimes;
    mod model;
    mod oracle;
    mod rects;
    mod usm;
}

/// Programs: builds, the cache, sources, images of shared libraries.
mod programs {
    mod building;
    mod cache;
    mod shared_library;
    mod source;
}

/// Changes of graphs and of executables.
mod updates {
    mod changes;
    mod oracle;
    mod rules;
}

mod virtual_functions {
    mod calls;
    mod faults;
    mod linking;
    mod sets;
}
