//! The PTX of small kernels, compared with `tests/golden`; `OCLAVE_BLESS=1` writes these files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use oclave_ptx::{Library, PtxError, PtxTarget, translate};
use oclave_spirv::{Code, Module, Op, string_words};

fn fixture(name: &str) -> Module {
    let (_, bytes) = support::modules().into_iter().find(|(known, _)| known == name).unwrap();
    Module::from_bytes(&bytes).unwrap()
}

/// One kernel of a text: from its `.entry` to its end.
fn entry<'t>(text: &'t str, kernel: &str) -> &'t str {
    let start = text.find(&format!(".entry {kernel}(")).unwrap();
    let rest = &text[start..];
    &rest[..rest.find("\n}").unwrap() + 2]
}

/// The module without calls of the library: `waves` is the only kernel with one.
fn stand_in(module: &Module) -> Module {
    match Library::installed() {
        Ok(library) => oclave_ptx::link(module, &library.part_for(module).unwrap().unwrap()).unwrap(),
        Err(_) => oclave_spirv::transform::dce::eliminate(module, |root| {
            !matches!(root, oclave_spirv::transform::dce::Root::EntryPoint("waves"))
        })
        .unwrap(),
    }
}

#[test]
fn small_kernels_are_as_they_were() {
    let target = "sm_90".parse().unwrap();
    let small = translate(&stand_in(&fixture("small.spv")), &target).unwrap();
    let pictures = translate(&fixture("pictures.O2.spv"), &target).unwrap();
    let orders = translate(&fixture("orders.O2.spv"), &target).unwrap();
    let modes = translate(&fixture("rounds.spv"), &target).unwrap();
    let scales = translate(&fixture("scales.spv"), &target).unwrap();
    for (text, kernel) in [
        (&small, "saxpy"),
        (&small, "total"),
        (&small, "places"),
        (&small, "says"),
        (&orders, "orders"),
        (&modes, "rounds"),
        (&scales, "scales"),
        (&pictures, "halves"),
        (&pictures, "reads_1d_array"),
        (&pictures, "writes_1d_buffer"),
        (&pictures, "asks_read_only_3d"),
        (&pictures, "chooses"),
    ] {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{kernel}.ptx"));
        // Ids, and so labels, depend on what was linked.
        let mut labels = Vec::new();
        let mut now = String::new();
        for word in entry(text, kernel).split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '$')) {
            let plain = word.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '$'));
            let is_label = ["$L", "$E", "$depot"].iter().any(|p| plain.starts_with(p));
            if !is_label {
                now += word;
                continue;
            }
            let known = labels.iter().position(|label| *label == plain).unwrap_or_else(|| {
                labels.push(plain);
                labels.len() - 1
            });
            now += &format!("$label{known}{}", &word[plain.len()..]);
        }
        if std::env::var_os("OCLAVE_BLESS").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            now == golden,
            "{kernel} is not as in its golden file (OCLAVE_BLESS=1 writes it); now:\n{now}"
        );
    }
}

#[test]
fn unsigned_conversions_saturate() {
    // convert_uchar_sat of a uint, as `saturated.cl` has it.
    let text = translate(&fixture("saturated.spv"), &"sm_70".parse().unwrap()).unwrap();
    assert!(entry(&text, "saturated").contains("min.u64"), "{text}");
}

#[test]
fn pointers_are_declared_for_the_driver() {
    let text = translate(&stand_in(&fixture("small.spv")), &"sm_70".parse().unwrap()).unwrap();
    let total = entry(&text, "total");
    for parameter in [
        ".param .u64 .ptr .global .align 4 total_param_0",
        ".param .u64 .ptr .global .align 4 total_param_1",
        ".param .u64 .ptr .shared .align 128 total_param_2",
    ] {
        assert!(total.contains(parameter), "`{parameter}` is not in:\n{total}");
    }
    assert!(total.contains("ld.global.nc."), "what is restrict and const is loaded as read-only:\n{total}");
    assert!(entry(&text, "places").contains(".param .align 4 .b8 places_param_0[12]"), "{text}");
    assert!(text.starts_with("// ") && text.contains(".version 6.4\n.target sm_70, texmode_independent"));
}

/// Every instruction that has no PTX is named, with its kernel.
#[test]
fn what_cannot_be_said_is_an_error_with_the_kernel() {
    let error = translate(&fixture("pipe.spv"), &"sm_80".parse().unwrap()).unwrap_err();
    assert!(matches!(error, PtxError::Unsupported { .. }));
    for (name, kernel, instruction, what) in [
        ("pipe.spv", "takes", "OpFunctionParameter", "use buffers"),
        ("enqueue.spv", "starts", "OpGetDefaultQueue", "cannot enqueue"),
    ] {
        let text = translate(&fixture(name), &"sm_80".parse().unwrap()).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("kernel `{kernel}`, {instruction} %")) && text.contains(what),
            "{text}"
        );
    }

    let text =
        translate(&fixture("saxpy.physical32.spv"), &"sm_80".parse().unwrap()).unwrap_err().to_string();
    assert!(text.contains("64 bits"), "{text}");

    let text = translate(&fixture("link_main.O2.spv"), &"sm_80".parse().unwrap()).unwrap_err().to_string();
    assert!(text.contains("kernel `links`") && text.contains("`next`"), "{text}");
}

/// No other work-item sees a private variable, and PTX has no atomic instruction for it.
#[test]
fn private_atomics_are_loads_and_stores() {
    for name in ["privat.O0.spv", "privat.O2.spv"] {
        let text = translate(&fixture(name), &"sm_70".parse().unwrap()).unwrap();
        assert!(!text.contains("atom.") && text.contains("st.local."), "{name}:\n{text}");
    }
}

/// In a branch the active work-items count; where all come, they are waited for.
#[test]
fn sub_groups_are_those_that_are_there() {
    let text = translate(&fixture("present.O2.spv"), &"sm_70".parse().unwrap()).unwrap();
    assert_eq!(text.matches("vote.sync.ballot").count(), 2, "{text}");
    let active = text.matches("activemask").count();
    assert!((1..=9).contains(&active), "the operations behind the branch are of all work-items:\n{text}");
    let behind = &text[text.rfind("activemask").unwrap()..];
    assert!(behind.contains("vote.sync.ballot") && behind.contains("shfl.sync.bfly"), "{text}");
}

/// A kernel for sub-groups of another size cannot run, and the others of its module can.
#[test]
fn kernels_for_other_sub_groups_are_left_out() {
    use oclave_spirv::{Capability, Definitions, Editor, ExecutionMode};
    let module = fixture("present.O2.spv");
    for (size, there) in [(16, false), (32, true)] {
        let definitions = Definitions::new(&module);
        let mut edit = Editor::new(&definitions);
        edit.capability(Capability::SubgroupDispatch);
        for entry in module.instructions().filter(|i| i.is(Op::EntryPoint)) {
            edit.execution_mode(entry.operand(1).unwrap(), ExecutionMode::SubgroupSize, &[size]);
        }
        let text = translate(&edit.finish().unwrap().unwrap(), &"sm_80".parse().unwrap()).unwrap();
        assert_eq!(text.contains(".entry present("), there, "{text}");
        assert_eq!(text.contains("kernel present requires sub-groups of 16 work-items"), !there, "{text}");
    }
}

/// A kernel `k` of a number, which ends where a switch over it leads.
fn switch(values: &[u32]) -> Module {
    let (entry, default) = (20, 21);
    let mut code = Code::new();
    code.push(Op::Capability, &[4]);
    code.push(Op::Capability, &[6]);
    code.push(Op::MemoryModel, &[2, 2]);
    code.push(Op::EntryPoint, &[&[6, 10], string_words("k").as_slice()].concat());
    code.push(Op::TypeVoid, &[1]);
    code.push(Op::TypeInt, &[2, 32, 0]);
    code.push(Op::TypeFunction, &[3, 1, 2]);
    code.push(Op::Function, &[1, 10, 0, 3]);
    code.push(Op::FunctionParameter, &[2, 11]);
    code.push(Op::Label, &[entry]);
    let cases: Vec<u32> = values.iter().zip(30..).flat_map(|(value, label)| [*value, label]).collect();
    code.push(Op::Switch, &[&[11, default], cases.as_slice()].concat());
    for label in std::iter::once(default).chain((30..).take(values.len())) {
        code.push(Op::Label, &[label]);
        code.push(Op::Return, &[]);
    }
    code.push(Op::FunctionEnd, &[]);
    let words = [&[0x0723_0203, 0x0001_0000, 0, 100, 0], code.words()].concat();
    Module::from_words(words).unwrap()
}

/// Where the PTX of a switch leads, by its comparisons.
fn follow(text: &str, value: u64) -> u32 {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut at = lines.iter().position(|line| *line == "$L20:").unwrap();
    let mut holds = std::collections::HashMap::new();
    for _ in 0..1000 {
        let line = lines[at].trim_end_matches(';');
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        at = match *words.as_slice() {
            ["ret"] => return lines[at - 1].trim_start_matches("$L").trim_end_matches(':').parse().unwrap(),
            [name, predicate, _, other] if name.starts_with("setp.") => {
                let other: u64 = other.parse::<i64>().unwrap() as u32 as u64;
                let relation = name.split('.').nth(1).unwrap();
                let outcome = match relation {
                    "lo" => value < other,
                    "hi" => value > other,
                    "ne" => value != other,
                    _ => panic!("{line}"),
                };
                holds.insert(predicate, outcome);
                at + 1
            }
            [condition, "bra", label] if !holds[condition.trim_start_matches('@')] => {
                let _ = label;
                at + 1
            }
            [.., "bra" | "bra.uni", label] => lines.iter().position(|l| *l == format!("{label}:")).unwrap(),
            _ => at + 1,
        };
    }
    panic!("it does not end:\n{text}");
}

/// By halves, and never one value after the other: the assembler would make a jump by a table of that,
/// which took up to four times as long.
#[test]
fn switches_are_searched_by_halves() {
    for values in [
        &[][..],
        &[0],
        &[5],
        &[u32::MAX],
        &[0, 1, 2, 3, 4, 5, 6, 7],
        &[7, 3, 1, 0, 5],
        &[0, 2, 4, 6, u32::MAX - 1, u32::MAX],
        &[0x8000_0000, 0x7fff_ffff, 1],
    ] {
        let text = translate(&switch(values), &"sm_80".parse().unwrap()).unwrap();
        let around = values.iter().flat_map(|value| [value.wrapping_sub(1), *value, value.wrapping_add(1)]);
        for value in around.chain([0, 9, u32::MAX]) {
            let expected = values.iter().position(|case| *case == value).map_or(21, |at| 30 + at as u32);
            assert_eq!(follow(&text, value.into()), expected, "{value} of {values:?}:\n{text}");
        }
        assert!(!text.contains("setp.eq"), "{text}");
        let in_row = text.lines().filter(|line| line.contains("setp.ne")).count();
        assert!(in_row <= values.len(), "{text}");
    }
}

/// What they compute is compared on a device: `ci/ptx-pack`.
#[test]
fn divisions_of_64_bits_have_a_way_for_numbers_of_32() {
    let text = translate(&fixture("divide.O0.spv"), &"sm_80".parse().unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_wide =
        |line: &&str| ["div.u64", "rem.u64", "div.s64", "rem.s64"].contains(&&line[..line.len().min(7)]);
    let wide: Vec<usize> = (0..lines.len()).filter(|at| is_wide(&lines[*at])).collect();
    assert_eq!(wide.len(), 6, "{text}");
    for at in wide {
        let label = lines[at - 1].trim_end_matches(':');
        let before = &lines[at - 8..at];
        assert!(before.iter().any(|line| line.contains(" bra ") && line.contains(label)), "{before:?}");
        assert!(
            before.iter().any(|line| line.starts_with(&format!("{}.u32", &lines[at][..3]))),
            "{before:?}"
        );
    }
}

#[test]
fn functions_of_the_library_must_be_linked() {
    let text = translate(&fixture("small.spv"), &"sm_80".parse().unwrap()).unwrap_err().to_string();
    for part in ["kernel `waves`", "OpenCL.std sin", "`_Z3sinf`", "libclc"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    // That of `float` takes subnormal numbers for zeros.
    let text = translate(&fixture("quotient.spv"), &"sm_80".parse().unwrap()).unwrap_err().to_string();
    assert!(text.contains("kernel `quotient`") && text.contains("`_Z6remquoddPi`"), "{text}");
    let missing = std::path::Path::new("/nonexistent/libclc.spv");
    let text = Library::read(missing).unwrap_err().to_string();
    assert!(text.contains("/nonexistent/libclc.spv"), "{text}");
}

#[test]
fn targets_are_compute_capabilities() {
    // The first versions that know them, after LLVM's NVPTX.td.
    for (text, version) in [
        ("sm_70", "6.4"),
        ("sm_75", "6.4"),
        ("sm_80", "7.0"),
        ("sm_86", "7.1"),
        ("sm_87", "7.4"),
        ("sm_88", "9.0"),
        ("sm_89", "7.8"),
        ("sm_90", "7.8"),
        ("sm_100", "8.6"),
        ("sm_101", "8.6"),
        ("sm_103", "8.8"),
        ("sm_110", "9.0"),
        ("sm_120", "8.7"),
        ("sm_121", "8.8"),
    ] {
        let target: PtxTarget = text.parse().unwrap();
        assert_eq!(target.to_string(), text);
        let mut code = Code::new();
        code.push(Op::Capability, &[4]);
        code.push(Op::Capability, &[6]);
        code.push(Op::MemoryModel, &[2, 2]);
        code.push(Op::Source, &[3, 102_000]);
        let _ = string_words("");
        let words = [&[0x0723_0203, 0x0001_0000, 0, 1, 0], code.words()].concat();
        let ptx = translate(&Module::from_words(words).unwrap(), &target).unwrap();
        assert!(ptx.contains(&format!(".version {version}\n.target {text},")), "{ptx}");
    }
    for wrong in ["sm_60", "sm_9x", "90", "sm_", "sm_99999999999"] {
        assert!(wrong.parse::<PtxTarget>().is_err(), "{wrong}");
    }
}
