//! RK: what kernels in Rust print.

use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::kernel::Printed;
use oclave::{Context, Queue};
use oclave_kernel::{HostRange, f16};

use super::common::prints::{Lines, builder, setting};
use super::rust_support::on_device::prints as kernels;
use super::rust_support::prints;
use super::support::{output_of, speaks};

/// What the format of `integers` gives on the host.
fn of_integers(x: &[i64]) -> Vec<String> {
    let lines = |(n, x): (usize, &i64)| {
        let (a, b, c, d) = (*x as i8, *x as i16, *x as i32, *x as u16);
        [
            format!("{n}: {a} {b} {c} {x} {d} {} {} {}\n", *x as u8, *x as u32, *x as u64),
            format!("{0:4}|{0:<4}|{0:04}|{1:08}|{2:x}|{2:#x}|{3:#06X}|{c:o}|{a:x} 100 %\n", a, c, x, d),
        ]
    };
    x.iter().enumerate().flat_map(lines).collect()
}

#[device_test(setting)]
fn rk_prt_001_integers((_, queue, lines): (Context, Queue, Lines)) {
    let x = [0, 1, -1, 127, -128, 40_000, -2_000_000_000, i64::MIN, i64::MAX];
    let given = queue.upload(&x).unwrap();
    queue.single_task(kernels::print_integers(&given)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), of_integers(&x));
}

#[device_test(setting)]
fn rk_prt_002_floating_point_numbers((context, queue, lines): (Context, Queue, Lines)) {
    let x = [0.0, 1.5, -2.25, 1e6, 0.1, 123_456.79, f32::INFINITY];
    let half = oclave::half::f16::from_f32(0.5);
    let mut wanted = Vec::new();
    // Six digits, as by `%g` of C.
    for (x, plain) in x.into_iter().zip(["0", "1.5", "-2.25", "1e+06", "0.1", "123457", "inf"]) {
        wanted.push(format!("{x:.3} {:9.2} {:<8.1}|", x, -x));
        wanted.push(format!(" {plain} 0.5 {{}}\n"));
    }
    let given = queue.upload(&x).unwrap();
    queue.single_task(kernels::print_floats(&given, half)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), wanted);
    if context.device().capabilities().aspects.contains(Aspects::FP64) {
        queue.single_task(kernels::print_doubles(1.0 / 3.0)).unwrap().wait().unwrap();
        assert_eq!(lines.texts(), [format!("{:.10}, and a text of 100 %\n", 1.0 / 3.0)]);
    }

    // Only doubles of the kernel's own need them.
    let device = context.device().masked(Mask::FP64);
    let lines = Lines::default();
    let to = lines.clone();
    let context = Context::builder(&[device]).printf(move |line| to.push(line)).build().unwrap();
    let queue = Queue::new(&context).unwrap();
    let given = queue.upload(&x).unwrap();
    queue.single_task(kernels::print_floats(&given, half)).unwrap().wait().unwrap();
    assert_eq!(lines.texts(), wanted);
    assert!(queue.single_task(kernels::print_doubles(1.0)).is_err());
}

#[device_test(setting)]
fn rk_prt_003_functions_and_branches((_, queue, lines): (Context, Queue, Lines)) {
    let x: Vec<u32> = (0..20).map(|i| i * 7 % 20).collect();
    let given = queue.upload(&x).unwrap();
    queue.parallel_for(20, kernels::print_branches(&given, 15)).unwrap().wait().unwrap();
    let all = lines.take();
    let mut wanted = vec!["\n".to_owned(), "15 is 15\n".to_owned()];
    wanted.extend((16..20).map(|x| format!("{x} is more than 15\n")));
    wanted.push(format!("work-item {}: nearly 15\n", x.iter().position(|x| *x == 14).unwrap()));
    let mut found: Vec<String> = all.iter().map(ToString::to_string).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    assert!(all.iter().all(|line| line.kernel() == Some("print_branches")));
    let source = include_str!("../../kernels/rust/prints.rs");
    let place = |printed: &Printed| {
        let (file, line) = printed.source().unwrap();
        assert!(file.ends_with("prints.rs"), "{file}");
        source.lines().nth(line as usize - 1).unwrap()
    };
    let is_one = all.iter().find(|line| line.text() == "15 is 15\n").unwrap();
    assert!(place(is_one).contains("device_println!(\"{x} is {limit}\")"));
}

#[test]
fn rk_prt_004_the_driver_and_the_host_print() {
    if speaks() {
        let Some((_, queue)) = super::common::setting() else { return };
        let x = [4711, 4712, -4713];
        let given = queue.upload(&x).unwrap();
        queue.single_task(kernels::print_integers(&given)).unwrap().wait().unwrap();
        prints::print_integers::run_on_host(HostRange::new([1]), &x);
        prints::print_floats::run_on_host(HostRange::new([1]), &[2.5], f16::from_f32(0.5));
        return;
    }
    if builder().is_none() {
        return;
    }
    let text = output_of("rust_prints::rk_prt_004_the_driver_and_the_host_print");
    for line in of_integers(&[4711, 4712, -4713]) {
        assert_eq!(text.matches(line.trim_end()).count(), 2, "{line:?} in {text}");
    }
    assert!(text.contains("2.500      2.50 -2.5    | 2.5 0.5 {}"), "{text}");
}
