//! Starting up with cached binaries, against a raw program that loads the same binary: fresh
//! processes, in turns.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is the binary's size in bytes. `startup` is
//! the time from `main` to the first result of a kernel, and `startup_program` begins with a
//! finished context. The lower quartile of the processes' times counts, because other work on the
//! machine only adds to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::time::Instant;

use oclave::kernel::KernelCall;
use oclave::{Context, Device, Queue, UsmSlice};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}

const ROUNDS: usize = 25;
const LEN: usize = 64;
/// Bytes of a cache entry before the binary (`src/program/disk.rs`).
const ENTRY_HEADER_BYTES: usize = 88;

fn main() {
    let start = Instant::now();
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    match arguments[..] {
        ["ours", kernel] => ours(start, kernel),
        ["reference", device, binary, kernel] => reference(start, device, binary, kernel),
        _ => compare(),
    }
}

fn call(kernel: &str, data: &UsmSlice<i32>, wide: &UsmSlice<f32>) -> KernelCall {
    match kernel {
        "bump" => kernels::bump::bump(data),
        "wide_1" => kernels::wide::wide_1(wide),
        other => panic!("no kernel {other}"),
    }
}

fn ours(start: Instant, kernel: &str) {
    let context = Context::new(&Device::select().unwrap()).unwrap();
    let queue = Queue::new(&context).unwrap();
    let ready = start.elapsed();
    let ints = context.alloc_device::<i32>(LEN).unwrap();
    let floats = context.alloc_device::<f32>(LEN).unwrap();
    queue.parallel_for(LEN, call(kernel, &ints, &floats)).unwrap();
    assert_eq!(queue.read(&ints).unwrap().len(), LEN);
    report(start, ready);
}

fn reference(start: Instant, device: &str, binary: &str, kernel: &str) {
    let raw = Raw::new(device, false);
    let ready = start.elapsed();
    let binary = std::fs::read(binary).unwrap();
    let kernel = raw.kernel_of_binary(&binary, &CString::new(kernel).unwrap());
    let memory = raw.alloc(LEN * 4);
    let _other = raw.alloc(LEN * 4);
    let mut back = [0_i32; LEN];
    // SAFETY: the objects are alive, the memory has room for the kernel's work-items and for the
    // copy.
    unsafe {
        check((raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, memory));
        let queue = raw.queue;
        check((raw.cl.clEnqueueNDRangeKernel)(queue, kernel, 1, null(), &LEN, null(), 0, null(), null_mut()));
        let to = back.as_mut_ptr().cast();
        check((raw.cl.clEnqueueMemcpyINTEL)(queue, 1, to, memory, LEN * 4, 0, null(), null_mut()));
    }
    report(start, ready);
}

fn report(start: Instant, ready: std::time::Duration) {
    let total = start.elapsed();
    println!("{} {}", total.as_secs_f64() * 1e6, (total - ready).as_secs_f64() * 1e6);
}

/// One process; its two times in microseconds.
fn spawn(cache: &Path, arguments: &[&str]) -> [f64; 2] {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(arguments)
        .env("OCLAVE_CACHE_DIR", cache)
        .env("OCLAVE_CACHE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}{errors}");
    let times: Vec<f64> = text.split_whitespace().map(|time| time.parse().unwrap()).collect();
    [times[0], times[1]]
}

fn compare() {
    let Some(device) = measure::device() else { return };
    let shown = measure::shown_device();
    for kernel in ["bump", "wide_1"] {
        let cache = tempfile::tempdir().unwrap();
        // Fills the cache.
        spawn(cache.path(), &["ours", kernel]);
        let entry = std::fs::read_dir(cache.path().join("programs")).unwrap().next().unwrap().unwrap();
        let binary = std::fs::read(entry.path()).unwrap().split_off(ENTRY_HEADER_BYTES);
        let file = cache.path().join("binary");
        std::fs::write(&file, &binary).unwrap();
        let (mut ours, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(spawn(cache.path(), &["ours", kernel]));
            reference
                .push(spawn(cache.path(), &["reference", device.name(), file.to_str().unwrap(), kernel]));
        }
        for (part, name) in ["startup", "startup_program"].into_iter().enumerate() {
            let (a, b) = (quartile(&ours, part), quartile(&reference, part));
            println!("{name}_{kernel},{shown},{},{a:.1},{b:.1},{:.3}", binary.len(), a / b);
        }
    }
}

fn quartile(times: &[[f64; 2]], part: usize) -> f64 {
    let mut times: Vec<f64> = times.iter().map(|times| times[part]).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}
