//! Images and samplers in PTX: every kind, and what is refused. `assemble.rs` assembles the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use oclave_ptx::{PtxError, translate};
use oclave_spirv::{Module, Op};

const DIMENSIONS: [(&str, &str); 6] =
    [("1d", "1d"), ("1d_buffer", "1d"), ("1d_array", "a1d"), ("2d", "2d"), ("2d_array", "a2d"), ("3d", "3d")];

fn fixture(name: &str) -> Module {
    let (_, bytes) = support::modules().into_iter().find(|(known, _)| known == name).unwrap();
    Module::from_bytes(&bytes).unwrap()
}

/// One kernel of the fixture with images.
fn kernel(text: &str, name: &str) -> String {
    let start = text.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no kernel {name}"));
    let rest = &text[start..];
    rest[..rest.find("\n}").unwrap() + 2].to_owned()
}

fn pictures() -> String {
    translate(&fixture("pictures.O2.spv"), &"sm_70".parse().unwrap()).unwrap()
}

#[test]
fn images_that_are_read_are_textures() {
    let text = pictures();
    for (dimensions, geometry) in DIMENSIONS {
        let name = format!("reads_{dimensions}");
        let kernel = kernel(&text, &name);
        assert!(kernel.contains(&format!("\t.param .texref {name}_param_0")), "{kernel}");
        let reads = |from: &str| kernel.matches(&format!("tex.{geometry}.v4.{from} ")).count();
        let counts = ["f32.s32", "f32.f32", "s32.s32", "s32.f32"].map(reads);
        // Integers into a row of pixels become floats, but in a buffer, which is none.
        let expected = match dimensions {
            "1d" => [0, 5, 0, 6],
            "1d_buffer" => [1, 0, 2, 0],
            _ => [3, 2, 4, 2],
        };
        assert_eq!(counts, expected, "{kernel}");
        let layers = kernel.matches("cvt.rni.sat.u32.f32").count();
        assert_eq!(layers > 0, dimensions.ends_with("array"), "{kernel}");
    }
}

#[test]
fn samplers_are_parameters_and_variables() {
    let text = pictures();
    let kernel = kernel(&text, "reads_2d");
    assert!(kernel.contains("\t.param .samplerref reads_2d_param_1,"), "{kernel}");
    assert!(kernel.contains("[reads_2d_param_0, reads_2d_param_1, {"), "{kernel}");
    let declared: Vec<&str> = text.lines().filter(|line| line.starts_with(".global .samplerref ")).collect();
    // `edge` is what images are read with without a sampler, too.
    assert_eq!(declared.len(), 3, "{declared:?}");
    assert!(declared.iter().any(|line| line.contains("addr_mode_0 = wrap") && line.contains("linear };")));
    assert!(declared.iter().any(|line| line.contains("clamp_to_edge") && line.contains("coords = 1 };")));
}

#[test]
fn images_that_are_written_are_surfaces() {
    let text = pictures();
    for (dimensions, geometry) in DIMENSIONS {
        let name = format!("writes_{dimensions}");
        let kernel = kernel(&text, &name);
        let (declared, geometry) = match dimensions {
            "1d_buffer" => (".param .u64 .ptr .surfref", "1d_buffer"),
            _ => (".param .surfref", geometry),
        };
        assert!(kernel.contains(&format!("\t{declared} {name}_param_0")), "{kernel}");
        // What lies outside is not written, and ends no kernel.
        assert_eq!(kernel.matches(&format!("sust.p.{geometry}.v4.b32.zero [")).count(), 3, "{kernel}");
        assert_eq!(kernel.matches("suq.channel_order").count(), 3, "{kernel}");
    }
    let depths = kernel(&text, "depths");
    assert!(depths.contains("sust.p.2d.v4.b32.zero") && !depths.contains("channel_order"), "{depths}");
    assert_eq!(kernel(&text, "halves").matches("cvt.rn.f16.f32").count(), 4);
}

#[test]
fn images_are_asked() {
    let text = pictures();
    for (dimensions, more) in [
        ("1d", ""),
        ("1d_buffer", ""),
        ("1d_array", "array_size"),
        ("2d", "height"),
        ("2d_array", "array_size"),
        ("3d", "depth"),
    ] {
        for (access, unit) in [("read_only", "txq"), ("write_only", "suq")] {
            let kernel = kernel(&text, &format!("asks_{access}_{dimensions}"));
            for what in ["width", "channel_data_type", "channel_order", more] {
                assert!(
                    what.is_empty() || kernel.contains(&format!("{unit}.{what}.b32")),
                    "{what}: {kernel}"
                );
            }
        }
    }
}

/// Clang makes one access of two, with a phi of images or samplers.
#[test]
fn each_image_of_several_has_an_instruction() {
    let text = pictures();
    let chooses = kernel(&text, "chooses");
    for read in
        ["[chooses_param_0, sampler", "[chooses_param_1, sampler", "[chooses_param_0, chooses_param_2"]
    {
        assert!(chooses.contains(read), "{read} in {chooses}");
    }
    let writes = kernel(&text, "chooses_where_to");
    for written in ["zero [chooses_where_to_param_0", "zero [chooses_where_to_param_1"] {
        assert_eq!(writes.matches(written).count(), 1, "{writes}");
    }
}

/// Only kernels can name images. These functions are `DontInline`, and called several times.
#[test]
fn functions_with_images_are_inlined() {
    for name in ["pictures.O0.spv", "pictures.O2.spv"] {
        let text = translate(&fixture(name), &"sm_90".parse().unwrap()).unwrap();
        let calls = kernel(&text, "calls");
        assert!(!calls.contains("call.uni"), "{calls}");
        assert!(calls.matches("tex.2d").count() >= 4 && calls.contains("[calls_param_1, "), "{calls}");
        assert!(!text.contains(".func"), "{text}");
    }
}

/// The module with operand `index` of all types of images set.
fn with_images(index: usize, value: u32) -> Module {
    let module = fixture("images.O2.spv");
    let mut words = module.words().to_vec();
    for ty in module.instructions().filter(|i| i.is(Op::TypeImage)) {
        // The opcode and the result come first.
        words[ty.at + 2 + index] = value;
    }
    Module::from_words(words).unwrap()
}

#[test]
fn what_the_driver_has_not_is_refused_with_the_kernel() {
    const SAMPLES: usize = 4;
    const ACCESS: usize = 7;
    for (index, value, what) in [(ACCESS, 2, "reads and writes"), (SAMPLES, 1, "several samples")] {
        let error = translate(&with_images(index, value), &"sm_90".parse().unwrap()).unwrap_err();
        let text = error.to_string();
        // The checker refuses some before.
        if matches!(error, PtxError::Unsupported { .. }) {
            assert!(text.starts_with("kernel `copy`") && text.contains(what), "{text}");
        } else {
            assert!(text.contains("samples"), "{text}");
        }
    }
}
