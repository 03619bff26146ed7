//! RK-PAN: panics of kernels in Rust reach the host.

use oclave::device::Aspects;
use oclave::kernel::{KernelCall, Local, NdRange};
use oclave::memory::usm;
use oclave::{Command, Context, Graph, Queue, UsmSlice};

use super::rust_support::on_device::panics as kernels;
use super::rust_support::{memory, mixed, panics, quiet, run, setting, told};

type Memory = UsmSlice<u32, usm::DeviceOnly>;

/// The line of the source that has a text.
fn line(text: &str) -> String {
    const SOURCE: &str = include_str!("../../kernels/rust/panics.rs");
    let at = SOURCE.lines().position(|line| line.contains(text)).unwrap();
    format!("panics.rs:{}:", at + 1)
}

/// A queue, the numbers from 1 to 8, and eight elements for results.
fn eight() -> Option<(Queue, Memory, Memory)> {
    let (_, queue) = setting()?;
    let (x, out) = (queue.upload(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap(), queue.upload(&[0; 8]).unwrap());
    Some((queue, x, out))
}

#[device_test(eight)]
fn rk_pan_001_bounds_with_message_place_kernel_and_work_item((queue, x, out): (Queue, Memory, Memory)) {
    let line = line("*out = x[item.global_id()[0]] + 1");
    let message = "index out of bounds: the len is 7 but the index is 7";
    let parts = ["work-item 7 panicked", &line, message, "kernel `bounds`"];
    panics(&queue, 8, kernels::bounds(x.slice(0..7).unwrap(), &out), &parts);
    // The number of a work-item in its range, not its id.
    let range = NdRange::from(3).with_offset(6);
    let message = "index out of bounds: the len is 8 but the index is 8";
    panics(&queue, range, kernels::bounds(&x, &out), &["work-item 2 panicked", message]);
}

/// What `pow` says on the host: "multiply", and "exponentiate" since Rust 1.100.
fn pow_overflows() -> String {
    let panic = std::panic::catch_unwind(|| std::hint::black_box(10_i32).pow(std::hint::black_box(11)));
    match panic {
        Err(panic) => panic
            .downcast::<String>()
            .map_or_else(|panic| panic.downcast::<&str>().unwrap().to_string(), |text| *text),
        Ok(_) => String::new(),
    }
}

#[device_test(setting)]
fn rk_pan_002_overflow_as_in_the_profile_of_the_build((_, queue): (Context, Queue)) {
    let (out, pow) = (memory::<i32>(&queue, 1), pow_overflows());
    let cases = [
        (0, i32::MAX, 1, i32::MIN, "attempt to add with overflow"),
        (1, i32::MIN, 1, i32::MAX, "attempt to subtract with overflow"),
        (2, 1 << 20, 1 << 12, 0, "attempt to multiply with overflow"),
        (3, i32::MIN, 0, i32::MIN, "attempt to negate with overflow"),
        (4, 1, 33, 2, "attempt to shift left with overflow"),
        (5, 8, 33, 4, "attempt to shift right with overflow"),
        (8, 200, 100, 44, "attempt to add with overflow"),
        (9, 10, 11, 10_i32.wrapping_pow(11), pow.as_str()),
    ];
    for (which, a, b, wrapped, message) in cases {
        let call = kernels::arithmetic(which, a, b, &out);
        if cfg!(debug_assertions) {
            // `pow` is a function of `core`, and panics there.
            let file = if which == 9 { "num/mod.rs" } else { "panics.rs" };
            panics(&queue, 1, call, &[message, file, "kernel `arithmetic`"]);
        } else {
            run(&queue, 1, call);
            assert_eq!(queue.read(&out).unwrap(), [wrapped], "{which}");
        }
        let call = kernels::arithmetic(which, 5, 3, &out);
        run(&queue, 1, call);
        let wanted = [8, 2, 15, -5, 40, 0, 1, 2, 8, 125];
        assert_eq!(queue.read(&out).unwrap(), [wanted[which as usize]], "{which}");
    }
}

#[device_test(setting)]
fn rk_pan_003_division((_, queue): (Context, Queue)) {
    let out = memory::<i32>(&queue, 1);
    let cases = [
        (6, 5, 0, "attempt to divide by zero"),
        (7, 5, 0, "attempt to calculate the remainder with a divisor of zero"),
        (6, i32::MIN, -1, "attempt to divide with overflow"),
        (7, i32::MIN, -1, "attempt to calculate the remainder with overflow"),
    ];
    for (which, a, b, message) in cases {
        panics(&queue, 1, kernels::arithmetic(which, a, b, &out), &[message]);
    }
    run(&queue, 1, kernels::arithmetic(6, -17, 5, &out));
    assert_eq!(queue.read(&out).unwrap(), [-3]);
    run(&queue, 1, kernels::arithmetic(7, -17, 5, &out));
    assert_eq!(queue.read(&out).unwrap(), [-2]);
}

#[device_test(eight)]
fn rk_pan_004_options_and_results_without_values((queue, x, out): (Queue, Memory, Memory)) {
    let cases = [
        (0, 0, "called `Option::unwrap()` on a `None` value"),
        (1, 3, "there are four elements"),
        (2, 3, "called `Result::unwrap()` on an `Err` value: 3"),
        (3, 3, "there are four of them: 3"),
        (4, 0, "called `Option::unwrap()` on a `None` value"),
    ];
    for (which, length, message) in cases {
        panics(&queue, 1, kernels::values(which, x.slice(0..length).unwrap(), &out), &[message, "panics.rs"]);
    }
    for (which, wanted) in [1, 4, 1, 1, 8, 1].into_iter().enumerate() {
        run(&queue, 1, kernels::values(which as u32, &x, &out));
        assert_eq!(queue.read(&out).unwrap()[0], wanted, "{which}");
    }
}

#[device_test(eight)]
fn rk_pan_005_assertions_and_messages((queue, _, out): (Queue, Memory, Memory)) {
    let cases = [
        (0, "ten is too much"),
        (1, "assertion failed: x < 10"),
        (2, "assertion `left == right` failed\n  left: 10\n right: 3"),
        (3, "assertion `left != right` failed\n  left: 10\n right: 10"),
        (4, "this is the end"),
        (5, "internal error: entered unreachable code"),
        (6, "not yet implemented"),
    ];
    for (which, message) in cases {
        panics(&queue, 1, kernels::said(which, 10, &out), &[message, "kernel `said`"]);
    }
    // What the programmer's own place says.
    panics(&queue, 1, kernels::said(4, 10, &out), &[&line("this is the end")]);
    run(&queue, 1, kernels::said(2, 3, &out));
    run(&queue, 1, kernels::said(5, 9, &out));
    assert_eq!(queue.read(&out).unwrap()[0], 14);
}

#[device_test(eight)]
fn rk_pan_006_parts_of_slices((queue, x, out): (Queue, Memory, Memory)) {
    let cases = [
        (0, 2, 9, "range end index 9 out of range for slice of length 8"),
        (0, 5, 4, "slice index starts at 5 but ends at 4"),
        (1, 9, 0, "range start index 9 out of range for slice of length 8"),
        (2, 0, 9, "range end index 9 out of range for slice of length 8"),
        (3, 0, 3, "source slice length (3) does not match destination slice length (4)"),
        (4, 9, 0, ""),
        (5, 0, 0, "chunk size must be non-zero"),
    ];
    for (which, first, last, message) in cases {
        panics(&queue, 1, kernels::parts(which, first, last, &x, &out), &[message, "panics.rs"]);
    }
    let right = [(0, 2, 5, 12), (1, 6, 0, 15), (2, 0, 3, 6), (3, 1, 5, 14), (4, 7, 0, 8), (5, 3, 0, 12)];
    for (which, first, last, wanted) in right {
        run(&queue, 1, kernels::parts(which, first, last, &x, &out));
        assert_eq!(queue.read(&out).unwrap()[0], wanted, "{which}");
    }
}

#[device_test(eight)]
fn rk_pan_007_bounds_of_global_and_local_memory((queue, x, _): (Queue, Memory, Memory)) {
    let call = |which: u32, at: u32| kernels::shared(which, at, &x, Local::new(4));
    for (which, bound) in [(0, 8), (1, 8), (2, 8), (3, 4), (4, 4), (5, 4), (6, 4)] {
        run(&queue, NdRange::new(1, 1), call(which, bound - 1));
        for at in [bound, u32::MAX] {
            let message = format!("index out of bounds: the len is {bound} but the index is {at}");
            panics(&queue, NdRange::new(1, 1), call(which, at), &[&message, "panics.rs"]);
        }
    }
}

#[device_test(eight)]
fn rk_pan_008_the_other_work_items_end_well((queue, x, out): (Queue, Memory, Memory)) {
    queue.write(&out, &[77; 8]).unwrap();
    panics(&queue, 8, kernels::bounds(x.slice(0..5).unwrap(), &out), &["index out of bounds"]);
    assert_eq!(queue.read(&out).unwrap(), [2, 3, 4, 5, 6, 77, 77, 77]);
    // Later launches run, and nobody is told twice.
    run(&queue, 8, kernels::bounds(&x, &out));
    assert_eq!(queue.read(&out).unwrap(), [2, 3, 4, 5, 6, 7, 8, 9]);
}

#[device_test(eight)]
fn rk_pan_009_functions_that_are_called((queue, x, out): (Queue, Memory, Memory)) {
    let parts = [&line("fifty is too deep"), "fifty is too deep", "kernel `called`"];
    panics(&queue, 8, kernels::called(42, &x, &out), &[&parts[..], &["work-item 7"]].concat());
    panics(&queue, 1, kernels::called(60, &x, &out), &parts);
    run(&queue, 8, kernels::called(0, &x, &out));
    let value = |at: usize| if at < 8 { at as u32 + 2 } else { 1 };
    assert_eq!(queue.read(&out).unwrap(), (0..8).map(|i| value(i) * 2 + value(i + 1)).collect::<Vec<u32>>());
}

#[device_test(setting)]
fn rk_pan_010_before_a_barrier((_, queue): (Context, Queue)) {
    let x = queue.upload(&(0..64).collect::<Vec<u32>>()).unwrap();
    let out = queue.upload(&[99_u32; 64]).unwrap();
    let call = |length: usize| kernels::waiting(x.slice(0..length).unwrap(), Local::new(16), &out);
    panics(&queue, NdRange::new(64, 16), call(55), &["index out of bounds", "kernel `waiting`"]);
    let reversed = |group: u32| (0..16).map(move |me| group * 16 + 15 - me);
    let mut wanted: Vec<u32> = (0..3).flat_map(reversed).collect();
    wanted.extend([99; 16]);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    run(&queue, NdRange::new(64, 16), call(64));
    assert_eq!(queue.read(&out).unwrap(), (0..4).flat_map(reversed).collect::<Vec<u32>>());
}

#[device_test(setting)]
fn rk_pan_011_in_a_loop_with_barriers((_, queue): (Context, Queue)) {
    let out = queue.upload(&[99_u32; 32]).unwrap();
    let call = |limit: u32| kernels::rounds(limit, Local::new(8), &out);
    for limit in 0..6 {
        panics(&queue, NdRange::new(32, 8), call(limit), &["too many rounds"]);
        assert_eq!(queue.read(&out).unwrap(), [99; 32], "{limit}");
    }
    run(&queue, NdRange::new(32, 8), call(6));
    assert_eq!(queue.read(&out).unwrap(), [15; 32]);
}

#[device_test(setting)]
fn rk_pan_018_beside_a_match_over_64_bits((_, queue): (Context, Queue)) {
    let values: Vec<u64> = [0, 7, 0x1_0000_0007, u64::MAX, 1, 4, 9, 0x1_0000_0000].repeat(4);
    let (x, out) = (queue.upload(&values).unwrap(), queue.upload(&[99_u64; 32]).unwrap());
    let range = NdRange::new(32, 8);
    let call = |length: usize| kernels::chosen(x.slice(0..length).unwrap(), Local::new(8), &out);
    panics(&queue, range, call(31), &["index out of bounds", "kernel `chosen`"]);
    run(&queue, range, call(32));
    let expected = |at: usize| {
        let (value, other) = (values[at], (at as u64 % 8 + 1) % 8);
        let far = match value {
            0 => other + 1,
            7 => other * 10,
            0x1_0000_0007 => other * other,
            u64::MAX => value - other,
            _ => value.rotate_left(other as u32),
        };
        match far {
            1 => value ^ 5,
            4 => value + 77,
            9 => value.count_ones().into(),
            50 => value / 3,
            _ => far,
        }
    };
    assert_eq!(queue.read(&out).unwrap(), (0..32).map(expected).collect::<Vec<u64>>());
}

#[device_test(setting)]
fn rk_pan_012_between_functions_of_the_work_group((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES) {
        skip!("the device has no functions of work-groups");
    }
    let mut values = [5_u32; 64];
    values[40] = 0;
    let (x, sums) = (queue.upload(&values).unwrap(), queue.upload(&[0_u32; 4]).unwrap());
    panics(&queue, NdRange::new(64, 16), kernels::grouped(&x, &sums), &["work-item 40", "divide by zero"]);
    assert_eq!(queue.read(&sums).unwrap(), [80_020, 80_020, 0, 80_020]);
}

#[device_test(eight)]
fn rk_pan_013_in_graphs_by_each_strategy((queue, x, out): (Queue, Memory, Memory)) {
    for strategy in crate::common::strategies(queue.device()) {
        println!("strategy: {strategy:?}");
        let graph = Graph::from_queue(&queue);
        let (few, next) = (x.slice(0..6).unwrap(), memory::<u32>(&queue, 8));
        queue.write(&out, &[50; 8]).unwrap();
        for _ in 0..3 {
            graph.after_all_leaves().add(Command::parallel_for(8, kernels::bounds(&x, &next))).unwrap();
        }
        graph.after_all_leaves().add(Command::parallel_for(8, kernels::bounds(few, &out))).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(8, kernels::bounds(&out, &next))).unwrap();
        let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
        for _ in 0..2 {
            let error = queue.submit_graph(&executable).unwrap().wait().unwrap_err();
            told(&error, &["index out of bounds", "kernel `bounds`", "panics.rs"]);
            // What depends on the node runs.
            assert_eq!(queue.read(&next).unwrap(), [3, 4, 5, 6, 7, 8, 51, 51], "{strategy:?}");
        }
        queue.wait().unwrap();
    }
}

#[device_test(setting)]
fn rk_pan_014_before_barriers_in_graphs((_, queue): (Context, Queue)) {
    let (x, out) = (queue.upload(&[3_u32; 64]).unwrap(), queue.upload(&[0_u32; 64]).unwrap());
    let call = |length: usize| {
        let call = kernels::waiting(x.slice(0..length).unwrap(), Local::new(16), &out);
        Command::parallel_for(NdRange::new(64, 16), call)
    };
    for strategy in crate::common::strategies(queue.device()) {
        println!("strategy: {strategy:?}");
        let graph = Graph::from_queue(&queue);
        for length in [64, 40, 64] {
            graph.after_all_leaves().add(call(length)).unwrap();
        }
        let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
        let error = queue.submit_graph(&executable).unwrap().wait().unwrap_err();
        told(&error, &["index out of bounds", "kernel `waiting`"]);
        assert_eq!(queue.read(&out).unwrap(), [3; 64], "{strategy:?}");
    }
}

#[device_test(setting)]
fn rk_pan_015_in_functions_that_c_calls((_, queue): (Context, Queue)) {
    let out = queue.upload(&[4_i64; 10]).unwrap();
    let call: KernelCall = mixed::mixed_c::calls_rust(0, &out);
    panics(&queue, 10, call, &["attempt to divide by zero", "mixed.rs", "quotient"]);
    assert_eq!(queue.read(&out).unwrap(), [0; 10]);
    let values = ["-13 below -5000", "mixed.rs", "quotient"];
    panics(&queue, 1, mixed::mixed_c::calls_rust(-13, &out), &values);
    run(&queue, 10, mixed::mixed_c::calls_rust(5, &out));
    assert_eq!(queue.read(&out).unwrap()[9], 800);
}

#[device_test(eight)]
fn rk_pan_016_each_wait_tells_of_what_came_before_it((queue, x, out): (Queue, Memory, Memory)) {
    let none = x.slice(0..0).unwrap();
    let event = queue.parallel_for(1, kernels::bounds(&none, &out)).unwrap();
    told(&event.wait().unwrap_err(), &["kernel `bounds`"]);
    queue.parallel_for(1, kernels::said(0, 10, &out)).unwrap();
    told(&queue.wait().unwrap_err(), &["kernel `said`", "ten is too much"]);
    // Two contexts know nothing of each other.
    let Some((_, other)) = setting() else { return };
    queue.parallel_for(1, kernels::bounds(&none, &out)).unwrap();
    other.wait().unwrap();
    told(&queue.wait().unwrap_err(), &["kernel `bounds`"]);
}

#[device_test(eight)]
fn rk_pan_017_ignored_panics_only_end_the_work_item((queue, x, out): (Queue, Memory, Memory)) {
    let x = x.slice(0..5).unwrap();
    queue.write(&out, &[77; 8]).unwrap();
    run(&queue, 8, quiet::panics::bounds(&x, &out));
    assert_eq!(queue.read(&out).unwrap(), [2, 3, 4, 5, 6, 77, 77, 77]);
    run(&queue, 8, quiet::panics::called(48, &x, &out));
    assert_eq!(queue.read(&out).unwrap()[..4], [3, 3, 4, 5]);
    // Barriers keep nobody waiting.
    let (x, out) = (memory::<u32>(&queue, 60), queue.upload(&[99_u32; 64]).unwrap());
    queue.write(&x, &[3; 60]).unwrap();
    run(&queue, NdRange::new(64, 16), quiet::panics::waiting(&x, Local::new(16), &out));
    let found = queue.read(&out).unwrap();
    assert_eq!((&found[..48], &found[48..]), (&[3; 48][..], &[99; 16][..]));
    // Those that are reported are told of, before and after.
    panics(&queue, 1, kernels::bounds(x.slice(0..0).unwrap(), &out), &["kernel `bounds`"]);
    run(&queue, 1, quiet::panics::bounds(x.slice(0..0).unwrap(), &out));
}

#[device_test(eight)]
fn rk_pan_019_values_in_messages((queue, x, out): (Queue, Memory, Memory)) {
    let call = |which: u32| kernels::shown(which, 1.5, -65, &x, &out);
    let cases = [
        (0, "1.5 1.5 3.00 1.875e-1"),
        (1, "-65 ffbf true 'A'"),
        (2, "5 of {0}"),
        (3, "-71468255805440 is not above 0xc8"),
        (4, "assertion `left == right` failed: element 0\n  left: 1.0\n right: 1.5"),
        (5, "… and 0"),
        (6, "index out of bounds: the len is 8 but the index is 8"),
    ];
    for (which, message) in cases {
        panics(&queue, 1, call(which), &[message, "panics.rs", "kernel `shown`"]);
    }
    for strategy in crate::common::strategies(queue.device()) {
        println!("strategy: {strategy:?}");
        let graph = Graph::from_queue(&queue);
        for _ in 0..3 {
            graph.after_all_leaves().add(Command::parallel_for(1, call(3))).unwrap();
        }
        let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
        let error = queue.submit_graph(&executable).unwrap().wait().unwrap_err();
        told(&error, &["-71468255805440 is not above 0xc8"]);
        queue.wait().unwrap();
    }
    // All work-items panic at once: the values are those of the work-item that is named, or left out.
    let many = memory::<u32>(&queue, 5000);
    for _ in 0..20 {
        queue.parallel_for(5000, kernels::shown(6, 1.5, 0, &x, &many)).unwrap();
        let text = queue.wait().unwrap_err().to_string();
        let number = |before: &str| {
            let (_, rest) = text.split_once(before).unwrap();
            rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<u32>().ok())
        };
        let (item, index) = (number("work-item ").unwrap(), number("but the index is "));
        assert!(index.is_none_or(|index| index == item + 8), "{text}");
        assert_eq!(index.is_none(), text.contains("the len is … but the index is …"), "{text}");
    }
}

#[device_test(eight)]
fn rk_pan_020_indices_from_memory_in_loops((queue, x, out): (Queue, Memory, Memory)) {
    let starts = queue.upload(&[0, 3, 3, 6, 8]).unwrap();
    let columns = queue.upload(&[0, 1, 2, 7, 9, 12, 5, 6]).unwrap();
    let rows = [1 ^ 2 ^ 3, 0, 8 ^ 2 ^ 3, 6 ^ 7];
    let call = |columns: &Memory, x: &Memory| kernels::gathered(&starts, columns, x, &out);
    let results = |count: usize| queue.read(&out).unwrap().split_at(count).0.to_vec();

    // The first index that is out of bounds is told. The other work-items do their work.
    queue.write(&out, &[99; 8]).unwrap();
    let message = "index out of bounds: the len is 8 but the index is 9";
    panics(
        &queue,
        4,
        call(&columns, &x),
        &["work-item 2 panicked", "panics.rs", message, "kernel `gathered`"],
    );
    assert_eq!(results(5), [rows[0], rows[1], 99, rows[3], 99]);
    for strategy in crate::common::strategies(queue.device()) {
        println!("strategy: {strategy:?}");
        let graph = Graph::from_queue(&queue);
        graph.add(Command::parallel_for(4, call(&columns, &x))).unwrap();
        let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
        told(&queue.submit_graph(&executable).unwrap().wait().unwrap_err(), &[message]);
        queue.wait().unwrap();
    }

    queue.write(&columns.slice(4..6).unwrap(), &[1, 2]).unwrap();
    run(&queue, 4, call(&columns, &x));
    assert_eq!(results(4), rows);
    // With an offset, and with the element of the work-item's number in the range.
    run(&queue, NdRange::from(2).with_offset(2), call(&columns, &x));
    assert_eq!(results(4), [rows[2], rows[3], rows[2], rows[3]]);
    // Without elements: a row without columns reads none.
    let none = x.slice(0..0).unwrap();
    run(&queue, NdRange::from(1).with_offset(1), call(&columns, &none));
    assert_eq!(results(1), [0]);
    let message = "index out of bounds: the len is 0 but the index is 0";
    panics(&queue, 1, call(&columns, &none), &["work-item 0 panicked", message]);
    // A range of columns that ends before it starts, and one that ends too late.
    let wrong = queue.upload(&[3_u32, 2, 9]).unwrap();
    let call = |range| kernels::gathered(wrong.slice(range).unwrap(), &columns, &x, &out);
    panics(&queue, 1, call(0..2), &["slice index starts at 3 but ends at 2"]);
    panics(&queue, 1, call(1..3), &["range end index 9 out of range for slice of length 8"]);

    // An index that the iteration before has loaded.
    let next = queue.upload(&[3_u32, 0, 1, 5, 8, 2]).unwrap();
    run(&queue, 1, kernels::followed(3, 5, &next, &out));
    assert_eq!(results(1), [3]);
    let message = "index out of bounds: the len is 6 but the index is 8";
    panics(&queue, 1, kernels::followed(4, 3, &next, &out), &[message, "kernel `followed`"]);
}

#[device_test(setting)]
fn rk_pan_021_between_functions_of_the_sub_group((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::SUB_GROUPS) {
        skip!("the device has no sub-groups");
    }
    let mut values = [5_u32; 128];
    values[70] = 0;
    let x = queue.upload(&values).unwrap();
    let range = NdRange::new(128, 64);
    let message = ["work-item 70", "divide by zero"];
    // The sub-group of the work-item ends, and the others go on.
    let sums = queue.upload(&[[7_u32; 2]; 128]).unwrap();
    panics(&queue, range, kernels::sub_grouped(&x, &sums), &message);
    let found = queue.read(&sums).unwrap();
    assert_eq!((&found[..64], found[70]), (&[[5, 20]; 64][..], [7, 7]));
    assert!(found[64..].iter().all(|sum| [[5, 20], [7, 7]].contains(sum)), "{found:?}");
    // All of its work-group do, where they meet.
    queue.write(&sums, &[[7; 2]; 128]).unwrap();
    let call = kernels::sub_grouped_before_barrier(&x, Local::new(64), &sums);
    panics(&queue, range, call, &message);
    assert_eq!(queue.read(&sums).unwrap(), [[[20; 2]; 64], [[7; 2]; 64]].concat());
}
