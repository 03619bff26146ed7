//! Kernels by the test's own rustc: sound modules, and errors that name function and line.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use oclave_rust::{Compiled, Error, Text, compile};
use oclave_spirv::{Capability, Decoration, Definitions, Instruction, Op, StorageClass};
use support::Compiler;

const HEAD: &str = "use oclave_kernel::{Data, Global, Item, Local, Out, kernel};
use std::sync::atomic::{AtomicU32, Ordering};
";

fn lowered(compiler: &Compiler, source: &str) -> Result<Compiled, Error> {
    let (text, own) = (compiler.text(&format!("{HEAD}{source}")), compiler.kernel_crate());
    compile(&[Text { name: "k.ll", ir: &text }, Text { name: "oclave_kernel.ll", ir: &own }])
}

/// Lowers a source, which must give a sound module.
fn sound(compiler: &Compiler, source: &str) -> Compiled {
    let compiled = lowered(compiler, source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    oclave_spirv::check::check(&oclave_spirv::transform::strip::strip(&compiled.module, |_| false).unwrap())
        .unwrap_or_else(|error| panic!("{error}\n{source}"));
    compiled
}

/// The storage classes of the types of pointers that a module has.
fn classes(compiled: &Compiled) -> Vec<u32> {
    let pointers = compiled.module.instructions().filter(|i| i.is(Op::TypePointer));
    let mut found: Vec<u32> = pointers.filter_map(|i| i.operand(0)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn has_generic_pointers(compiled: &Compiled) -> bool {
    classes(compiled).contains(&(StorageClass::Generic as u32))
}

#[test]
fn the_kernels_of_the_example() {
    let compiler = Compiler::new();
    for source in [
        include_str!("../../../examples/rust/kernels/step.rs"),
        include_str!("../../../examples/rust/kernels/mix.rs"),
        include_str!("../../../examples/rust/kernels/groups.rs"),
        include_str!("../../../examples/rust/kernels/barriers.rs"),
        include_str!("../../../examples/rust/kernels/objects.rs"),
        include_str!("../../../examples/rust/kernels/vectors.rs"),
        include_str!("../../../examples/rust/kernels/pictures.rs"),
        include_str!("../../../examples/tracer/kernels/tracer.rs"),
    ] {
        // Arrays of objects of any memory need them.
        let may_be_generic = source.contains("dyn Shape");
        let own = compiler.kernel_crate();
        for flags in [&["-Copt-level=3"][..], &["-Copt-level=1"], &["-Copt-level=2", "-Coverflow-checks=on"]]
        {
            let text = compiler.file(source, "k.rs", flags);
            let texts = [Text { name: "k.ll", ir: &text }, Text { name: "oclave_kernel.ll", ir: &own }];
            let compiled = compile(&texts).unwrap_or_else(|error| panic!("{flags:?}: {error}"));
            // Caches are keyed by the words.
            assert!(compile(&texts).unwrap().module == compiled.module, "{flags:?}: other words each time");
            let module = oclave_spirv::transform::strip::strip(&compiled.module, |_| false).unwrap();
            oclave_spirv::check::check(&module).unwrap_or_else(|error| panic!("{flags:?}: {error}"));
            assert!(may_be_generic || !has_generic_pointers(&compiled), "{flags:?}");
            assert!(compiled.kernels.iter().all(|kernel| !kernel.documentation.is_empty()));
        }
    }
}

#[test]
fn parameters_are_described() {
    let compiler = Compiler::new();
    let source = "/// Doc.
        #[derive(Clone, Copy, Data)] #[repr(C)] pub struct Pair { pub a: u32, pub b: [f32; 3] }
        /// A kernel.
        #[kernel(work_group = [8, 4, 1])]
        pub fn k(_i: Item<2>, p: Pair, n: i16, x: &[Pair], mut y: Out<u8>, g: Global<f64>, c: &[AtomicU32], l: Local<[u16; 2]>) {
            *y = n as u8 ^ p.a as u8 ^ x.len() as u8; g.set(0, l.get(0)[1].into()); c[0].store(1, Ordering::Relaxed);
        }";
    let compiled = sound(&compiler, source);
    let [kernel] = &compiled.kernels[..] else { panic!("{:?}", compiled.kernels) };
    let shown: Vec<String> = kernel
        .parameters
        .iter()
        .map(|p| format!("{} {:?} {} {}", p.name, p.kind, p.text, p.ty.size()))
        .collect();
    assert_eq!(
        shown,
        [
            "p Value Pair 16",
            "n Value i16 2",
            "x Read &[Pair] 16",
            "x_len Length usize 8",
            "y Out Out<u8> 1",
            "g Write Global<f64> 8",
            "g_len Length usize 8",
            "c Write &[AtomicU32] 4",
            "c_len Length usize 8",
            "l Local Local<[u16; 2]> 4",
            "l_len Length usize 8",
        ]
    );
    assert_eq!((kernel.name.as_str(), kernel.place.file.as_str(), kernel.place.line), ("k", "k.rs", 7));
    assert_eq!(kernel.documentation, "A kernel.\n");
    assert_eq!(kernel.work_group_size, Some([8, 4, 1]));
}

/// The names that a module has.
fn names(compiled: &Compiled) -> Vec<String> {
    let names = compiled.module.instructions().filter(|i| i.is(Op::Name));
    names.filter_map(|i| i.string(1).map(|name| name.to_string())).collect()
}

#[test]
fn checks_that_a_launch_can_make_are_made_once() {
    let compiler = Compiler::new();
    let head = "#[kernel] pub fn k(item: Item<2>, n: u64, x: &[u32], mut y: Out<u32>) {
        let ([i, j], [width, height], n) = (item.global_id(), item.global_size(), n as usize);";
    for (body, is_made_once) in [
        ("*y = x[i];", true),
        ("*y = x[j * width + i];", true),
        ("*y = if j + 1 < height { x[j * width + i + width] } else { 0 };", true),
        ("*y = if i > 0 { x[i - 1] } else { 0 };", true),
        ("*y = (0..n).map(|k| x[k * width + i]).sum();", true),
        ("*y = (0..n).step_by(8).map(|k| x[k + j]).sum();", true),
        ("let mut k = n; let mut sum = 0; while k > 0 { sum ^= x[k - 1 + i]; k /= 2; } *y = sum;", true),
        ("*y = x[i % n];", true),
        (
            "let t = item.local_array::<u32, 8>(); let [l, _] = item.local_id(); t.set(l, x[i]); item.barrier(); *y = t.get(l);",
            true,
        ),
        // Behind the loop, for all of its indices.
        ("*y = x.iter().fold(0, |sum, k| sum ^ x[*k as usize]);", true),
        ("*y = x.iter().fold(0, |sum, k| if *k > 7 { sum ^ x[*k as usize] } else { sum });", false),
        ("*y = x.iter().fold(0, |k, _| x[k as usize]);", true),
        ("for k in x { *y ^= x[*k as usize]; }", false),
        ("*y = (0..n).map(|k| x[k].wrapping_mul(x[x[k] as usize])).fold(0, u32::wrapping_add);", true),
        // What the index is made of is an index, too, or compared with one.
        ("*y = x.iter().fold(0, |sum, k| sum ^ x[*k as usize + 1].wrapping_sub(x[*k as usize]));", false),
        ("*y = x.iter().fold(0, |sum, k| sum ^ x[*k as usize | 4].wrapping_sub(x[3]));", false),
        (
            "*y = x.iter().fold(0, |sum, k| { let v = x[*k as usize]; if *k == 3 { sum ^ x[3] } else { sum ^ v } });",
            false,
        ),
        ("*y = x.iter().fold(0, |sum, k| sum ^ *k ^ x[*k as usize] ^ x[x[*k as usize] as usize]);", true),
        // What memory holds is not known.
        ("*y = x[x[i] as usize];", false),
        // A difference that may be less than 0, or a quotient by 0.
        ("*y = x[i.wrapping_sub(x[0] as usize)];", false),
        ("*y = x[0] / x[1];", false),
        ("assert!(x[i] > 7); *y = 0;", false),
    ] {
        let compiled = sound(&compiler, &format!("{head} {body} }}"));
        let has_versions = names(&compiled).iter().any(|name| name == "k.checked");
        assert_eq!(has_versions, is_made_once, "{body}");
    }
    // Both versions convert with saturation.
    let compiled = sound(&compiler, &format!("{head} *y = u32::from(f32::from_bits(x[i]) as u8); }}"));
    let is_saturated = |i: &Instruction<'_>| i.operand(1) == Some(Decoration::SaturatedConversion as u32);
    let decorations = compiled.module.instructions().filter(|i| i.is(Op::Decorate) && is_saturated(i));
    assert_eq!(decorations.count(), 2);
    // Slices that cannot be too short need no version.
    let compiled = sound(&compiler, "#[kernel] pub fn k(_i: Item<1>, mut y: Out<u32>) { *y = 1; }");
    assert!(!names(&compiled).iter().any(|name| name == "k.checked"));
}

#[test]
fn functions_that_never_return_are_called() {
    let compiler = Compiler::new();
    let source = "#[cold] #[inline(never)] fn odd(log: &[AtomicU32], i: usize) -> ! {
            log[0].fetch_add(1, Ordering::Relaxed);
            panic!(\"index {i} is odd\")
        }
        #[kernel] pub fn k(item: Item<1>, log: &[AtomicU32], mut y: Out<u32>) {
            let [i] = item.global_id();
            if i % 2 == 1 { odd(log, i) }
            *y = 7;
        }";
    let compiled = sound(&compiler, source);
    let has = |op: Op| compiled.module.instructions().any(|i| i.is(op));
    assert!(has(Op::AtomicIAdd));
    let messages: Vec<&str> = compiled.panics.iter().map(|site| site.message.as_str()).collect();
    assert!(messages.contains(&"index {0 usize} is odd"), "{messages:?}");
    assert!(messages.iter().all(|message| !message.contains("panicked in")), "{messages:?}");
}

#[test]
fn a_match_over_128_bits() {
    let compiler = Compiler::new();
    let source = "#[kernel] pub fn k(_i: Item<1>, x: &[u64], mut y: Out<u32>) {
            *y = match u128::from(x[0]) * u128::from(x[1]) {
                1 => x[2] as u32, 0x1_0000_0000_0000_0000 => x[3] as u32 * 3, u128::MAX => 9, 7 => x[4] as u32 ^ 5, _ => 1,
            };
        }";
    let compiled = sound(&compiler, source);
    let switches: Vec<_> = compiled.module.instructions().filter(|i| i.is(Op::Switch)).collect();
    assert!(switches.iter().any(|switch| switch.operand(2) == Some(0)), "{switches:?}");
}

#[test]
fn a_match_gives_references_to_statics() {
    let compiler = Compiler::new();
    sound(
        &compiler,
        "static A: [f32; 4] = [1.0; 4]; static B: [f32; 4] = [2.0; 4]; static C: [f32; 4] = [3.0; 4]; static D: [f32; 4] = [4.0; 4];
        #[kernel] pub fn k(item: Item<1>, kind: &[u32], mut y: Out<f32>) {
            let [i] = item.global_id();
            let table = match kind[i] { 0 => &A, 1 => &B, 2 => &C, _ => &D };
            *y = table[i % 4];
        }",
    );
    sound(
        &compiler,
        "trait Shape { fn area(&self, x: f32) -> f32; }
        struct Square; struct Circle; struct Line;
        impl Shape for Square { fn area(&self, x: f32) -> f32 { x * x } }
        impl Shape for Circle { fn area(&self, x: f32) -> f32 { 3.0 * x * x } }
        impl Shape for Line { fn area(&self, x: f32) -> f32 { x } }
        #[kernel] pub fn k(item: Item<1>, kind: &[u32], mut y: Out<f32>) {
            let [i] = item.global_id();
            let shape: &dyn Shape = match kind[i] { 0 => &Square, 1 => &Circle, 2 => &Line, 3 => &Square, 4 => &Line, _ => &Circle };
            *y = shape.area(i as f32);
        }",
    );
}

#[test]
#[should_panic(expected = "too big")]
fn local_arrays_that_are_too_large() {
    let source = "#[kernel] pub fn k(item: Item<1>, mut y: Out<u64>) {
            let t = item.local_array::<u64, { 1 << 61 }>();
            t.set(0, 1);
            *y = t.get(1);
        }";
    Compiler::new().text(&format!("{HEAD}{source}"));
}

#[test]
fn nand_is_a_loop_and_black_box_is_nothing() {
    let compiler = Compiler::new();
    let source = "#[kernel] pub fn k(_i: Item<1>, x: &[AtomicU32], mut y: Out<u32>) {
            *y = std::hint::black_box(x[0].fetch_nand(5, Ordering::Relaxed)) + 1;
        }";
    let compiled = sound(&compiler, source);
    assert!(compiled.module.instructions().any(|i| i.is(Op::AtomicCompareExchange)));
}

#[test]
fn parameters_live_as_long_as_the_launch() {
    let source = "#[kernel] pub fn k(_i: Item<1>, x: &'static [u32], mut y: Out<u32>) { *y = x[0]; }";
    let said = Compiler::new().errors(&format!("{HEAD}{source}"));
    assert!(said.contains("leave out `'static`"), "{said}");
}

#[test]
fn vectors_of_bits() {
    let compiler = Compiler::new();
    let source = "#[inline(never)] fn changed(x: u16) -> u16 { x ^ 0x1234 }
        #[kernel] pub fn k(_i: Item<1>, x: &[u16], mut y: Out<u16>) { *y = changed(x[0]); }";
    let own = compiler.kernel_crate();
    let text = compiler.text(&format!("{HEAD}{source}"));
    let line = text.lines().find(|line| line.contains(" = xor i16 ")).unwrap();
    let (result, value) = (line.split_once(" = ").unwrap().0, line.split_once("i16 ").unwrap().1);
    let value = value.split_once(',').unwrap().0;
    let lowered = |code: &str| {
        let text = text.replace(line, &code.replace("$x", value).replace("$y", result));
        compile(&[Text { name: "k.ll", ir: &text }, Text { name: "oclave_kernel.ll", ir: &own }])
    };
    let both = "%bits = bitcast i16 $x to <16 x i1>\n$y = bitcast <16 x i1> %bits to i16";
    let compiled = lowered(both).unwrap();
    let count = |op: Op| compiled.module.instructions().filter(|i| i.is(op)).count();
    // Each lane is a bit.
    assert!(count(Op::INotEqual) >= 16 && count(Op::Select) >= 16 && count(Op::BitwiseOr) >= 15);
    let stored = "%bits = bitcast i16 $x to <16 x i1>\n%m = alloca i16\nstore <16 x i1> %bits, ptr %m\n$y = load i16, ptr %m";
    let error = lowered(stored).unwrap_err().to_string();
    assert!(error.contains("a value of the type <16 x i1> in memory"), "{error}");
}

#[test]
fn loops_with_barriers_are_unrolled_if_their_number_of_iterations_is_known() {
    let compiler = Compiler::new();
    for (body, barriers) in [
        ("let mut i = 16_u32; while i > 0 { step!(i); i /= 2; }", 5),
        ("let mut i = 1_u32; while i < 256 { step!(i); i *= 2; }", 8),
        ("for i in 0..7_u32 { step!(i); }", 7),
        ("for i in (-3..4_i32).rev() { step!(i as u32); }", 7),
        ("let mut i = 250_u8; while i > 4 { step!(u32::from(i)); i = i.wrapping_add(1); }", 6),
        ("let mut i = 0_u32; loop { step!(i); if i == 9 { break; } i += 3; }", 4),
        ("for i in 0..16_u32 { step!(i); }", 16),
        // Too often, or an argument or another loop tells how often.
        ("for i in 1..4_u32 { let mut k = i; while k > 0 { step!(k); k -= 1; } }", 1),
        ("for i in 0..17_u32 { step!(i); }", 1),
        ("for i in 0..n { step!(i); }", 1),
        ("let mut i = n; while i > 0 { step!(i); i /= 2; }", 1),
        ("for i in 0..8_u32 { if i == n { break; } step!(i); }", 1),
    ] {
        let source = format!(
            "#[kernel] pub fn k(item: Item<1>, n: u32, mut y: Out<u32>) {{
                 let t = item.local_array::<u32, 64>();
                 let ([me], mut sum) = (item.local_id(), 0_u32);
                 macro_rules! step {{
                     ($i:expr) => {{{{
                         item.local_barrier();
                         t.set(me % 64, sum ^ $i);
                         sum = sum.wrapping_mul(31).wrapping_add(t.get((me ^ $i as usize) % 64));
                     }}}};
                 }}
                 {body}
                 *y = sum;
             }}"
        );
        let compiled = sound(&compiler, &source);
        let found = compiled.module.instructions().filter(|i| i.is(Op::ControlBarrier)).count();
        assert_eq!(found, barriers, "{body}");
    }
}

#[test]
fn waits_that_rustc_copied_become_one() {
    let compiler = Compiler::new();
    // The kernel is not told of panics, so that no barriers are for these.
    for (body, barriers) in [
        // A condition before and behind barriers, and functions with them.
        ("if me == 0 { t.set(0, n); } item.local_barrier(); if me == 0 { sum = t.get(0); }", 1),
        ("if me == 0 { t.set(0, n); } sum = waits(&item, &t, n); if me == 0 { sum += 1; }", 2),
        (
            "let l = me == 0; if l { t.set(0, n); } sum = loops(&item, &t, n); sum = if l { 1 } else { sum * 3 };",
            1,
        ),
        // The branches wait at barriers of their own. LLVM makes one of two at which both end.
        ("if n == 0 { sum = 1; item.local_barrier(); } else { sum = me as u32; item.barrier(); }", 1),
        ("if n == 0 { sum = waits(&item, &t, 1); } else { sum = waits(&item, &t, 2); }", 3),
    ] {
        let source = format!(
            "#[inline(always)] fn waits(item: &Item<1>, t: &Local<u32>, v: u32) -> u32 {{
                 t.set(item.local_id()[0] % 64, v);
                 item.local_barrier();
                 let mut sum = 0_u32;
                 for i in 0..64 {{ sum = sum.wrapping_mul(31) ^ t.get(i).rotate_left(7); }}
                 item.local_barrier();
                 sum
             }}
             #[inline(always)] fn loops(item: &Item<1>, t: &Local<u32>, n: u32) -> u32 {{
                 let (me, mut sum) = (item.local_id()[0] % 64, 0_u32);
                 for i in 0..n {{
                     t.set(me, sum ^ i);
                     item.local_barrier();
                     sum = sum.wrapping_mul(31).wrapping_add(t.get((me ^ i as usize) % 64));
                 }}
                 sum
             }}
             #[kernel] pub fn k(item: Item<1>, n: u32, mut y: Out<u32>) {{
                 let t = item.local_array::<u32, 64>();
                 let ([me], mut sum) = (item.local_id(), 0_u32);
                 {body}
                 *y = sum;
             }}"
        );
        let compiled = sound(&compiler, &source);
        let found = compiled.module.instructions().filter(|i| i.is(Op::ControlBarrier)).count();
        assert_eq!(found, barriers, "{body}");
    }
}

#[test]
fn elements_that_a_loop_overwrites_are_not_filled() {
    let compiler = Compiler::new();
    for (body, zeroes) in [
        ("for t in 16..64 { w[t] = mix(w[t - 3], w[t - 16]); }", 0),
        ("for t in 16..62 { w[t] = mix(w[t - 3], w[t - 16]); }", 2),
        ("for t in 16..64 { w[t] = mix(w[2], w[t - 1]); }", 0),
        // Something reads the zeroes, or may do so, or not all elements are overwritten.
        ("for t in 16..64 { w[t] = mix(w[t], w[t - 16]); }", 48),
        ("for t in 16..64 { w[t] = mix(w[79 - t], w[t - 1]); }", 48),
        ("for t in 16..64 { w[t] = mix(w[20], w[t - 16]); }", 48),
        ("w[3] = w[n % 64]; for t in 16..64 { w[t] = mix(w[t - 3], w[t - 16]); }", 48),
        ("for t in 16..n.min(64) { w[t] = mix(w[t - 3], w[t - 16]); }", 48),
        ("for t in 16..64 { w[t] = mix(w[t - 3], w[t - 16]); if w[t] == 7 { break; } }", 48),
        ("if n > 7 { for t in 16..64 { w[t] = mix(w[t - 3], w[t - 16]); } }", 48),
    ] {
        let source = format!(
            "fn mix(a: u32, b: u32) -> u32 {{
                 let a = a.rotate_left(7) ^ a.rotate_left(18) ^ a >> 3;
                 let b = b.rotate_left(17) ^ b.rotate_left(19) ^ b >> 10;
                 a.wrapping_mul(31).wrapping_add(b) ^ a.wrapping_add(b).rotate_left(11)
             }}
             #[kernel] pub fn k(n: u32, mut y: Out<u32>) {{
                 let n = n as usize;
                 let mut w = [0; 64];
                 for t in 0..16 {{ w[t] = mix(n as u32, t as u32); }}
                 {body}
                 let mut sum = 1_u32;
                 for t in 0..64 {{ sum = mix(sum, w[(sum as usize ^ t) % 64]); }}
                 *y = sum;
             }}"
        );
        let compiled = sound(&compiler, &source);
        let definitions = Definitions::new(&compiled.module);
        let is_fill = |i: &Instruction<'_>| {
            i.is(Op::Store) && i.operand(1).and_then(|value| definitions.int_constant(value)) == Some(0)
        };
        let found = compiled.module.instructions().filter(is_fill).count();
        assert_eq!(found, zeroes, "{body}");
    }
}

#[test]
fn functions_are_copied_for_each_kind_of_memory() {
    let compiler = Compiler::new();
    let source =
        "#[inline(never)] fn sum(x: &[u32]) -> u32 { x.iter().fold(7, |a, b| a.wrapping_mul(31) ^ *b) }
        static TABLE: [u32; 5] = [1, 2, 3, 4, 5];
        #[kernel] pub fn k(item: Item<1>, x: &[u32], mut y: Out<u32>) {
            let i = item.global_id()[0];
            let mut own = [0_u32; 9];
            for (n, o) in own.iter_mut().enumerate() { *o = (n * i) as u32; }
            *y = sum(x) ^ sum(&own[i % 9..]) ^ sum(&TABLE[i % 5..]);
        }";
    let compiled = sound(&compiler, source);
    assert!(!has_generic_pointers(&compiled));
    // The kernel, and three copies.
    assert_eq!(compiled.module.instructions().filter(|i| i.is(Op::Function)).count(), 4);
}

#[test]
fn references_to_different_memory_are_generic() {
    let compiler = Compiler::new();
    let source = "#[kernel] pub fn k(item: Item<1>, x: &[u32], mut y: Out<u32>) {
            let i = item.global_id()[0];
            let mut own = [0_u32; 64];
            for (n, o) in own.iter_mut().enumerate() { *o = (n * i) as u32; }
            let either: &[u32] = if i % 2 == 0 { x } else { &own };
            *y = std::hint::black_box(either).iter().fold(0, |a, b| a ^ *b);
        }";
    // `black_box` is assembly without instructions.
    assert!(has_generic_pointers(&sound(&compiler, source)));
    let source = source.replace("std::hint::black_box(either)", "pick(either, i)")
        + "#[inline(never)] fn pick(x: &[u32], i: usize) -> &[u32] { &x[i % 2..] }";
    let compiled = sound(&compiler, &source);
    assert!(has_generic_pointers(&compiled));
    let capability =
        |i: oclave_spirv::Instruction<'_>| i.operand(0) == Some(Capability::GenericPointer as u32);
    assert!(compiled.module.instructions().filter(|i| i.is(Op::Capability)).any(capability));
}

#[test]
fn panics_know_message_and_place() {
    let compiler = Compiler::new();
    let source = "#[kernel] pub fn k(item: Item<1>, x: &[u32], mut y: Out<u32>) {
            let i = item.global_id()[0];
            let v = x[i];
            assert!(v != 5, \"five\");
            *y = 10 / v + helper(x, v).unwrap();
        }
        #[inline(never)] fn helper(x: &[u32], v: u32) -> Option<u32> { x[v as usize..].iter().copied().max() }";
    let compiled = sound(&compiler, source);
    let mut sites: Vec<String> = compiled
        .panics
        .iter()
        .map(|site| format!("{} at {}", site.message, site.place.as_ref().map_or(0, |place| place.line)))
        .collect();
    sites.sort();
    assert_eq!(
        sites,
        [
            "attempt to divide by zero at 7",
            "called `Option::unwrap()` on a `None` value at 7",
            "five at 6",
            "index out of bounds: the len is {0 usize} but the index is {1 usize} at 5",
            "{0 range} at 9",
        ]
    );
}

#[test]
fn messages_show_values() {
    let compiler = Compiler::new();
    let of = |body: &str| {
        let source = format!(
            "#[kernel] pub fn k(item: Item<1>, x: &[u32], f: f32, n: i16, mut y: Out<u32>) {{
                let i = item.global_id()[0];
                let Some(v) = x.get(i) else {{ return }};
                {body}
                *y = *v;
            }}"
        );
        messages(&sound(&compiler, &source)).join(" | ")
    };
    assert_eq!(
        of("assert!(f > 1.0, \"{{{f}}} is too small: {f:?}, {:.2}\", f * 2.0);"),
        "{{{0 f32}}} is too small: {1 f32 ?}, {2 f32 .2}"
    );
    assert_eq!(of("if *v > 3 { panic!(\"{v} {:#x} {n}\", *v + 1) }"), "{0 u32} {1 u32 #x} {2 i16}");
    assert_eq!(
        of("assert_eq!(*v, 3);"),
        "assertion `left == right` failed\n  left: {0 u32 ?}\n right: {1 u32 ?}"
    );
    assert_eq!(
        of("assert_ne!(f, 3.0, \"of {n:>8}\");"),
        "assertion `left != right` failed: of {0 i16}\n  left: {1 f32 ?}\n right: {2 f32 ?}"
    );
    assert_eq!(
        of("let checked: Result<u16, i16> = if *v > 3 { Err(n) } else { Ok(1) }; checked.expect(\"small\");"),
        "small: {0 i16 ?}"
    );
    // Five values, and a tuple.
    assert_eq!(
        of("if *v > 3 { panic!(\"{v} {v} {v} {} {n}\", n + 1) }"),
        "{0 u32} {1 u32} {2 u32} {3 i16} …"
    );
    assert_eq!(of("if *v > 3 { panic!(\"{} {:?} {}\", \"text\", (f, n), n > 3) }"), "text … {0 bool}");
}

/// The messages of panics, in order.
fn messages(compiled: &Compiled) -> Vec<&str> {
    let mut messages: Vec<&str> = compiled.panics.iter().map(|site| site.message.as_str()).collect();
    messages.sort_unstable();
    messages
}

#[test]
fn messages_may_be_stored_before_a_panic() {
    // `core` before 1.93 calls `panic_fmt` like this.
    let compiler = Compiler::new();
    let source = "use std::{mem::MaybeUninit, panic::Location, ptr};
        #[repr(C)] struct Message { parts: *const [&'static str; 1], count: usize, values: *const u32, more: usize }
        unsafe extern \"Rust\" { fn fail(message: *const Message, place: &'static Location<'static>) -> !; }
        #[kernel] pub fn k(_i: Item<1>, mut y: Out<u32>) {
            if *y == 3 || *y == 4 {
                let (mut message, value) = (MaybeUninit::<Message>::uninit(), *y);
                let to = message.as_mut_ptr();
                unsafe {
                    (&raw mut (*to).count).write(1);
                    if *y == 3 {
                        (&raw mut (*to).parts).write(&[\"three is too much\"]);
                        (&raw mut (*to).values).write(ptr::dangling());
                        (&raw mut (*to).more).write(0);
                        fail(to, Location::caller())
                    }
                    (&raw mut (*to).parts).write(&[\"too much: \"]);
                    (&raw mut (*to).values).write(&value);
                    (&raw mut (*to).more).write(1);
                    fail(to, Location::caller())
                }
            }
            *y += 1;
        }";
    let compiled = sound(&compiler, source);
    assert_eq!(messages(&compiled), ["three is too much", "too much: …"]);
}

#[test]
fn tables_of_references_are_copied_to_the_stack() {
    let source = "static WORDS: [&[u32]; 3] = [&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]];
        #[kernel] pub fn k(item: Item<1>, mut y: Out<u32>) {
            let id = item.global_id()[0];
            *y = WORDS[id % 3][id / 3 % 3];
        }";
    let compiled = sound(&Compiler::new(), source);
    let count = |op: Op, storage: StorageClass| {
        let all = compiled.module.instructions().filter(|i| i.is(op));
        all.filter(|i| i.operand(0) == Some(storage as u32)).count()
    };
    assert_eq!(count(Op::Variable, StorageClass::UniformConstant), 3, "the rows");
    assert_eq!(count(Op::Variable, StorageClass::Function), 1, "the table");
    // The address of each row, and the result.
    assert!(compiled.module.instructions().filter(|i| i.is(Op::Store)).count() >= 4);
}

#[test]
fn what_devices_do_not_have_names_function_and_line() {
    let compiler = Compiler::new();
    for (source, wanted) in [
        (
            "#[kernel] pub fn k(item: Item<1>, mut y: Out<u32>) {\n let v = vec![1_u32; item.global_id()[0]];\n *y = v.len() as u32 + v[0]; }",
            &["k.rs:", "k`", "allocates memory"][..],
        ),
        (
            "#[inline(never)] fn down(n: u32) -> u32 { if n < 2 { 1 } else { down(n - 1).wrapping_mul(down(n / 2)) } }\n#[kernel] pub fn k(_i: Item<1>, mut y: Out<u32>) { *y = down(*y); }",
            &["k.rs:3", "down", "calls itself", "loop"],
        ),
        (
            "#[kernel] pub fn k(_i: Item<1>, x: &[u8], mut y: Out<u32>) {\n *y = std::str::from_utf8(x).map_or(0, |s| s.len() as u32); }",
            &["k.rs:4", "k`", "core::str::converts::from_utf8"],
        ),
        (
            "static WORDS: [&[u32]; 2] = [&[1, 2, 3], &[4]];\n#[inline(never)] fn words(from: usize) -> &'static [&'static [u32]] { &WORDS[from % 2..] }\n#[kernel] pub fn k(item: Item<1>, mut y: Out<u32>) { *y = words(item.global_id()[0])[0][0]; }",
            &["k.rs:4", "words`", "a table of references"],
        ),
        (
            "static COUNTER: AtomicU32 = AtomicU32::new(0);\n#[kernel] pub fn k(_i: Item<1>, mut y: Out<u32>) { *y = COUNTER.fetch_add(1, Ordering::Relaxed); }",
            &["k.rs:4", "COUNTER", "can change"],
        ),
        (
            "#[kernel] pub fn k(_i: Item<1>, mut y: Out<u32>) { println!(\"{}\", *y); *y = 1; }",
            &["k.rs:3", "the address of the function", "printing"],
        ),
    ] {
        let error = lowered(&compiler, source).map(|_| ()).expect_err(source);
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        let text = error.to_string();
        assert!(wanted.iter().all(|part| text.contains(part)), "{wanted:?} in: {text}");
    }
}

#[test]
fn integers_of_all_widths() {
    let compiler = Compiler::new();
    let mut source = String::new();
    for (n, expression) in [
        "x.checked_add(y).unwrap_or(1)",
        "x.saturating_sub(y) ^ x.saturating_add(y)",
        "(x as i64).saturating_add(y as i64) as u64 ^ (x as i8).saturating_sub(y as i8) as u64",
        "(u128::from(x) * u128::from(y) >> 31) as u64",
        "(u128::from(x) << (y % 128) >> 64) as u64",
        "((x as i128 - y as i128) >> 3) as u64",
        "u64::from((x as i128) < (y as i128 * 5 - 3))",
        "x.rotate_left(y as u32) ^ x.swap_bytes() ^ y.reverse_bits() ^ u64::from(x.leading_zeros() + y.trailing_zeros())",
        "u64::from((x as u16).checked_mul(y as u16).unwrap_or(9)) ^ u64::from((x as i32).wrapping_abs() as u32)",
        "(f64::from_bits(x) as i32) as u64 ^ u64::from(f32::from_bits(y as u32) as u8)",
        "if x % 7 == 3 { x.min(y) } else { x.max(y) } ^ u64::from(x.is_power_of_two())",
        "x.checked_mul(y).unwrap_or(3) ^ (x as i64).checked_mul(y as i64).unwrap_or(3) as u64",
        "(0..x).sum::<u64>() ^ (0..(y as u32)).map(u64::from).sum::<u64>()",
        "match x % 9 { 0 => y, 3 => x, 4 => 7, 5 => x ^ y, 8 => 1, _ => 0 }",
        "(x as f32).sqrt().to_bits() as u64 ^ (x as f64).sin().to_bits() ^ (y as f32).powf(1.5).to_bits() as u64",
        "(x as f32).mul_add(2.0, 1.0).max(y as f32).floor().abs().to_bits() as u64 ^ (x as f32).powi(3).tan().to_bits() as u64",
        "u64::from((x as f32).is_nan()) ^ u64::from((y as f32).is_subnormal()) ^ (x as f32).classify() as u64",
    ]
    .iter()
    .enumerate()
    {
        source += &format!(
            "#[kernel] pub fn k{n}(i: Item<1>, a: &[u64], mut o: Out<u64>) {{
                let (x, y) = (a[i.global_id()[0]], a[i.global_id()[0] + 1]); *o = {expression};
            }}\n"
        );
    }
    sound(&compiler, &source);
}

#[test]
fn integers_of_512_bits_are_moved() {
    // rustc 1.100 moves structs of 64 bytes like this.
    let compiler = Compiler::new();
    let source = "#[kernel] pub fn k(_i: Item<1>, x: &[[u64; 8]], to: Global<[u64; 8]>, mut y: Out<u32>) {
            let _ = to.len();
            let mut copy = std::mem::MaybeUninit::<u128>::uninit();
            let value = unsafe { x.as_ptr().cast::<u128>().read_volatile() };
            unsafe { copy.as_mut_ptr().write_volatile(value) };
            *y = value as u32;
        }";
    let text = compiler.text(&format!("{HEAD}{source}"));
    assert!(text.contains("load volatile i128") && text.contains("trunc i128"), "{text}");
    let (text, own) = (text.replace("i128", "i512"), compiler.kernel_crate());
    let texts = [Text { name: "k.ll", ir: &text }, Text { name: "oclave_kernel.ll", ir: &own }];
    let compiled = compile(&texts).unwrap();
    let count = |op| compiled.module.instructions().filter(|i| i.is(op)).count();
    assert!(count(Op::Load) >= 8 && count(Op::Store) >= 8, "eight parts are loaded and stored");
    let refused = compile(&[Text { ir: &text.replace("trunc i512", "sext i512"), ..texts[0] }, texts[1]]);
    assert!(refused.is_err_and(|error| error.to_string().contains("i512")));
}

#[test]
fn copies_fills_and_large_values() {
    let compiler = Compiler::new();
    sound(
        &compiler,
        "#[kernel] pub fn k(item: Item<1>, x: &[u32], mut y: Out<[u32; 40]>) {
            let i = item.global_id()[0];
            let mut own = [0xff_u8; 300];
            own[i % 300] = 3;
            let mut words = [0_u32; 40];
            words[..x.len().min(40)].copy_from_slice(&x[..x.len().min(40)]);
            words.copy_within(i % 20.., 3 - i % 3);
            words[i % 40] ^= u32::from(own[(i * 7) % 300]) ^ u32::from(x[..5] == x[5..10]);
            *y = words;
        }",
    );
}

#[test]
fn vectors_are_those_of_opencl() {
    let compiler = Compiler::new();
    let source = "use oclave_kernel::{Vec3, Vec16, f16};
        #[kernel] pub fn k(_i: Item<1>, a: Vec3<f32>, b: Vec16<f16>, x: &[Vec3<u8>], mut y: Out<Vec3<f32>>) {
            *y = a + b.s7.to_f32() + f32::from(x[0].z);
        }";
    let compiled = sound(&compiler, source);
    let shown: Vec<String> = compiled.kernels[0]
        .parameters
        .iter()
        .map(|p| format!("{:?} {}/{}", p.ty, p.ty.size(), p.ty.align()))
        .collect();
    assert_eq!(
        shown,
        [
            "Vector(F32, 3) 16/16",
            "Vector(F16, 16) 32/32",
            "Vector(U8, 3) 4/4",
            "Scalar(U64) 8/8",
            "Vector(F32, 3) 16/16"
        ]
    );
    // Halves are only loaded, which every device can.
    assert!(
        has_capability(&compiled, Capability::Float16Buffer)
            && !has_capability(&compiled, Capability::Float16)
    );
    let compiled = sound(
        &compiler,
        "use oclave_kernel::f16; #[kernel] pub fn k(_i: Item<1>, a: f16, mut y: Out<f16>) { *y = *y * a; }",
    );
    assert!(has_capability(&compiled, Capability::Float16));
}

#[test]
fn formats_of_text() {
    let compiler = Compiler::new();
    let source = "use oclave_kernel::{device_print, device_println};
        #[kernel] pub fn k(_i: Item<1>, a: u8, b: i64, c: f32) {
            device_println!(\"{a} {b:<5} {c:8.3} {:x} {} {} 5% {{\", a, c, \"text %\");
            device_print!();
        }";
    let compiled = sound(&compiler, source);
    let prints: Vec<_> = compiled.module.instructions().filter(|i| i.is(Op::ExtInst)).collect();
    assert_eq!(prints.iter().map(|print| print.operands().len()).collect::<Vec<_>>(), [8, 3]);
    let strings: Vec<Vec<u8>> = compiled
        .module
        .instructions()
        .filter(|i| i.is(Op::ConstantComposite))
        .map(|i| i.operands().iter().filter_map(|id| byte(&compiled, *id)).collect())
        .collect();
    assert_eq!(strings, [&b"%u %-5ld %8.3f %x %g text %% 5%% {\n\0"[..], b"\0"]);
    for (format, wanted) in [
        ("\"{:+}\", 1", "no format of kernels"),
        ("\"{} {}\", 1", "more values than there are"),
        ("\"{}\", 1, 2", "does not have this value"),
        ("\"{\"", "not closed"),
        ("\"{}\", true", "kernels cannot print a `bool`"),
        ("1", "the format is a string literal"),
    ] {
        let text =
            format!("{HEAD}#[kernel] pub fn k(_i: Item<1>) {{ oclave_kernel::device_println!({format}); }}");
        let said = compiler.errors(&text);
        assert!(said.contains(wanted), "{format}: {said}");
    }
    let refused = lowered(
        &compiler,
        "#[kernel] pub fn k(_i: Item<1>, a: f32) { oclave_kernel::device_println!(\"{a:x}\"); }",
    );
    assert!(refused.unwrap_err().to_string().contains("to_bits"));
}

fn has_capability(compiled: &Compiled, capability: Capability) -> bool {
    compiled.module.instructions().any(|i| i.is(Op::Capability) && i.operand(0) == Some(capability as u32))
}

/// The byte of a constant.
fn byte(compiled: &Compiled, id: u32) -> Option<u8> {
    let constant =
        compiled.module.instructions().find(|i| i.is(Op::Constant) && i.result_id() == Some(id))?;
    u8::try_from(constant.operand(0)?).ok()
}

#[test]
fn images_are_used_in_kernels() {
    let compiler = Compiler::new();
    let head = "use oclave_kernel::{Vec4, images::{D2, ReadImage}};";
    let function = "fn at(image: ReadImage<D2>, x: i32) -> Vec4<f32> { image.read([x, x]) }";
    let kernel = "#[kernel] pub fn k(_i: Item<1>, a: ReadImage<D2>, x: i32, mut y: Out<Vec4<f32>>) { *y = at(a, x) + at(a, x + 7); }";
    sound(&compiler, &format!("{head} #[inline(always)] {function} {kernel}"));
    let refused = lowered(&compiler, &format!("{head} #[inline(never)] {function} {kernel}")).unwrap_err();
    assert!(refused.to_string().contains("is not inlined into the kernel"), "{refused}");
    let one_of_two =
        "#[kernel] pub fn k(_i: Item<1>, a: ReadImage<D2>, b: ReadImage<D2>, x: i32, mut y: Out<Vec4<f32>>) {
        let image = if x > 3 { a } else { b }; *y = image.read([x, x]); }";
    let refused = lowered(&compiler, &format!("{head} {one_of_two}")).unwrap_err();
    assert!(refused.to_string().contains("one of several"), "{refused}");
}

const SHAPES: &str = "use oclave_kernel::{Object, objects};
#[objects]
pub trait Shape {
    fn area(&self) -> f32;
}
#[kernel]
pub fn measure(item: Item<1>, shapes: &[Object<dyn Shape, 16>], mut out: Out<f32>) {
    *out = shapes[item.global_id()[0]].area();
}
";

/// A class of objects.
fn class(name: &str, factor: &str) -> String {
    format!(
        "#[derive(Clone, Copy, Data)]
        #[repr(C)]
        pub struct {name} {{ size: f32 }}
        #[objects]
        impl Shape for {name} {{
            fn area(&self) -> f32 {{ self.size * {factor} }}
        }}
        "
    )
}

#[test]
fn objects_of_classes_that_no_kernel_makes() {
    let compiler = Compiler::new();
    let compiled = sound(&compiler, &format!("{SHAPES}{}{}", class("Square", "2.0"), class("Circle", "3.0")));
    assert!(!has_generic_pointers(&compiled));
    // The number of the class, and that of the function.
    assert_eq!(compiled.module.instructions().filter(|i| i.is(Op::Select)).count(), 2);
    assert_eq!(compiled.module.instructions().filter(|i| i.is(Op::Switch)).count(), 1);
}

#[test]
fn a_trait_of_objects_without_classes_is_refused() {
    let compiler = Compiler::new();
    let text = lowered(&compiler, SHAPES).unwrap_err().to_string();
    assert!(text.contains("objects of `dyn Shape`, of which the program has no class"), "{text}");
    assert!(text.starts_with("k.rs:"), "{text}");
}

#[test]
fn two_classes_of_one_name_are_refused() {
    let compiler = Compiler::new();
    let again = format!("pub mod again {{ use super::*; {} }}", class("Square", "2.0"));
    let text =
        lowered(&compiler, &format!("{SHAPES}{}{again}", class("Square", "2.0"))).unwrap_err().to_string();
    assert!(text.contains("two classes of a trait with one name, `Square`"), "{text}");
}
