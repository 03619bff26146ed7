use proptest::prelude::*;

use super::*;

const EXAMPLE: &str = "
[config]
name: Some sums        # of two numbers
clc_version_min: 12
build_options: -D N=4
require_device_extensions: cl_khr_fp64 cl_khr_fp16
kernel_name: sum
dimensions: 2
local_size: NULL

[test]
name: short \\
      numbers
global_size: 4 2 0
global_offset: 1 0 0
arg_out: 0 buffer short[2] 3 0x7 tolerance 1
arg_in:  1 short3 1 -2 3
arg_in:  2 buffer uint[5] repeat 1 \\
                                 2
arg_in:  3 buffer int[4] NULL

[test]
kernel_name: blur
expect_test_fail: true
local_size: 2 1 1
arg_out: 0 image float4 repeat 0.5 image_type 2d image_width 3 image_height 2 \\
   image_channel_order RGBA image_channel_data_type float tolerance 2 ulp
arg_in: 1 sampler normalized_coords 1 addressing_mode CLAMP filter_mode linear
arg_in: 2 buffer float2[2] random
";

fn reason(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// The parameter that a line of a test makes.
fn line(text: &str) -> Result<Parameter, ConfigError> {
    let (_, tests) = parse(&format!("[config]\n[test]\n{text}\n"))?;
    let mut test = tests.into_iter().next().unwrap();
    Ok(test.inputs.pop().or(test.outputs.pop()).unwrap())
}

#[test]
fn an_example_is_read() {
    let (config, tests) = parse(EXAMPLE).unwrap();
    assert_eq!(config.name.as_deref(), Some("Some sums"));
    assert_eq!((config.version_min, config.version_max), (12, 0));
    assert_eq!(config.options, "-D N=4");
    assert_eq!(config.extensions, ["cl_khr_fp64", "cl_khr_fp16"]);
    let [first, second] = &tests[..] else { panic!("{} tests", tests.len()) };
    assert_eq!(first.name, "short       numbers");
    assert_eq!((first.dimensions, first.global, first.local), (2, [4, 2, 0], None));
    assert_eq!(first.offset, Some([1, 0, 0]));
    assert_eq!(first.outputs[0].value.as_deref(), Some(&[3, 0, 7, 0][..]));
    assert_eq!(first.outputs[0].tolerance, 1);
    assert_eq!(first.inputs[0].value.as_deref(), Some(&[1, 0, 254, 255, 3, 0, 0, 0][..]));
    let repeated = first.inputs[1].value.as_deref().unwrap();
    assert_eq!(repeated.iter().step_by(4).copied().collect::<Vec<_>>(), [1, 2, 1, 2, 1]);
    assert_eq!((&first.inputs[2].value, first.inputs[2].length), (&None, 4));
    assert_eq!(second.kernel.as_deref(), Some("blur"));
    assert!(second.expects_failure);
    assert_eq!(second.local, Some([2, 1, 1]));
    let Kind::Image { width: 3, height: 2, order, channel } = &second.outputs[0].kind else { panic!() };
    assert_eq!((&order[..], &channel[..]), ("RGBA", "FLOAT"));
    assert_eq!((second.outputs[0].tolerance, second.outputs[0].length), (2, 6));
    let addressing = "clamp".to_owned();
    assert_eq!(second.inputs[0].kind, Kind::Sampler { is_normalized: true, addressing, is_linear: true });
    assert_eq!(second.inputs[1].value.as_ref().map(Vec::len), Some(16));
}

#[test]
fn a_program_lies_between_sections() {
    let text = "[config]\n[program source]\nint a[1];  # kept\n  [test]\nname: x\n";
    let (config, tests) = parse(text).unwrap();
    assert_eq!(config.source.as_deref(), Some("int a[1];  # kept"));
    assert_eq!(tests.len(), 1);
    assert!(reason("[config]\n[program source]\n[program source]\n[nothing]").contains("[nothing]"));
}

#[test]
fn comments_hold_configurations() {
    assert_eq!(comment("a /*! b !*/ c !*/ d"), Some(" b !*/ c "));
    assert_eq!(comment("/*!*/"), None);
    assert_eq!(comment("!*/ /*!"), None);
}

#[test]
fn errors_name_the_line() {
    assert_eq!(reason(""), "there is no [config]");
    assert!(reason("[test]").starts_with("line 1 of the configuration: there is no [config]"));
    assert!(reason("[config]\n[config]").starts_with("line 2"));
    assert!(reason("[config]\nname").starts_with("line 2"));
    assert!(reason("[config]\nname:").starts_with("line 2"));
    assert!(reason("[config]\nname: a/b").contains("slash"));
    assert!(reason("[config]\nsize: 1").contains("no key `size`"));
    assert!(reason("[config]\nglobal_size: 1 2").contains("three"));
    assert!(reason("[config]\nexpect_build_fail: 1\n[test]").contains("must not build"));
    assert!(reason("[config]\n[program binary]").contains("binary"));
    assert!(reason("name: a").contains("no section"));
    let second = "[config]\n[test]\narg_in: 0 int 1\narg_in: 0 int 2";
    assert_eq!(parse(second).unwrap_err().line, 4);
    let other = "[config]\n[test]\narg_in: 0 buffer int[1] 1\narg_out: 0 buffer int[2] 1 2";
    assert!(reason(other).contains("differ"));
}

#[test]
fn bad_arguments_are_errors() {
    let bad = [
        "arg_out: 0 int 1",
        "arg_out: 0 buffer int[1] NULL",
        "arg_out: 0 buffer int[1] random",
        "arg_out: 0 sampler normalized_coords 1 addressing_mode none filter_mode linear",
        "arg_out: 0 buffer int[1] 1 tolerance 1 ulp",
        "arg_out: 0 buffer int[1] 1 tolerance",
        "arg_out: 0 buffer int[1] 1 tolerance 1 2",
        "arg_in: 0 buffer int[1] 1 tolerance 1",
        "arg_in: 0 buffer int[2] 1",
        "arg_in: 0 buffer int[18446744073709551615] repeat 1",
        "arg_in: 0 buffer int[1 1",
        "arg_in: 0 buffer int[1] repeat",
        "arg_in: 0 buffer uint[1] -1",
        "arg_in: 0 int5 1",
        "arg_in: x int 1",
        "arg_in: 0 int 1 2",
        "arg_in: 0",
        "arg_in: 0 image int 1 image_type 3d image_width 1",
        "arg_in: 0 image int 1 image_width 1",
    ];
    for text in bad {
        assert!(line(text).is_err(), "{text}");
    }
}

#[test]
fn tolerances_of_floats_are_bits() {
    let tolerance = |text: &str| line(&format!("arg_out: 0 buffer {text}")).unwrap().tolerance;
    assert_eq!(tolerance("float[1] 1.0 tolerance 2 ulp"), 2);
    assert_eq!(tolerance("float[1] 1.0 tolerance 0"), 0);
    assert_eq!(tolerance("float[1] 1.0 tolerance 0.5"), 0x3f00_0000);
    assert_eq!(tolerance("long[1] 1 tolerance 3"), 3);
}

/// A piece of a configuration.
fn piece() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "[config]",
        "[test]",
        "[program source]",
        "name:",
        "arg_in:",
        "arg_out:",
        "buffer",
        "image",
        "sampler",
        "int[2]",
        "float3[1]",
        "half",
        "0",
        "-1",
        "0x1p-3",
        "nan",
        "NULL",
        "repeat",
        "random",
        "tolerance",
        "ulp",
        "image_type",
        "2d",
        "image_width",
        "99999999999999999999",
        "global_size: 1 1",
        "\\",
        "#",
        "\n",
        "\n",
        "\n",
        ":",
        "[",
        "]",
        "é",
        "\t",
    ];
    prop_oneof![8 => proptest::sample::select(WORDS).prop_map(str::to_owned), 1 => ".{0,4}"]
}

proptest! {
    #[test]
    fn no_text_panics(pieces in proptest::collection::vec(piece(), 0..60), glue in "[ \n]?") {
        let text = pieces.join(&glue);
        let _ = parse(&text);
        let _ = comment(&text);
    }

    #[test]
    fn no_changed_example_panics(at in 0..EXAMPLE.len(), removed in 0..12_usize, piece in piece()) {
        let end = (at + removed).min(EXAMPLE.len());
        let text = format!("{}{piece}{}", &EXAMPLE[..at], &EXAMPLE[end..]);
        let _ = parse(&text);
    }

    #[test]
    fn no_argument_panics(pieces in proptest::collection::vec(piece(), 0..12)) {
        let _ = parse(&format!("[config]\n[test]\narg_out: 0 {}\n", pieces.join(" ")));
    }
}
