//! `printf` to the program: the text against the system's C library, and the pass.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fmt::Write as _;
use std::process::Command;

use oclave_image::passes::printf::{PRINTS, PrintArgument, PrintBuffer, PrintSite, decode, lower_printf};
use oclave_image::{
    Aspects, DeviceImage, DeviceTarget, ImageError, PostLinkOptions, TranslationUnit, forms_without_fp64,
    legalize, passes, post_link,
};
use oclave_spirv::{Capability, Definitions, Module, Op, Version};
use support::with_string;

fn site(format: &str, arguments: Vec<PrintArgument>) -> PrintSite {
    PrintSite { format: format.as_bytes().to_vec(), arguments, kernel: None, source: None }
}

fn text(format: &str, arguments: Vec<PrintArgument>, words: &[u32]) -> String {
    String::from_utf8(decode(&site(format, arguments), words)).unwrap()
}

fn integers(width: u32, lanes: u32) -> PrintArgument {
    PrintArgument::Integer { width, lanes }
}

fn halves(bits: u64) -> [u32; 2] {
    [bits as u32, (bits >> 32) as u32]
}

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ self.0 >> 29;
        x.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ x >> 32
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 8) % end
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn head(&mut self) -> String {
        let mut head = String::from("%");
        for flag in ["-", "+", " ", "#", "0"] {
            if self.below(4) == 0 {
                head.push_str(flag);
            }
        }
        if self.below(2) == 0 {
            write!(head, "{}", self.below(30) + 1).unwrap();
        }
        if self.below(2) == 0 {
            write!(head, ".{}", self.below(20)).unwrap();
        }
        head
    }

    fn float(&mut self) -> f64 {
        let special =
            [0.0, -0.0, 1.5, 2.5, 0.5, 9.5, 1e-5, 123_456.0, 0.1, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
        match self.below(4) {
            0 => self.pick(&special),
            1 => f64::from(f32::from_bits(self.next() as u32)),
            2 => self.below(100_000) as f64 / 64.0,
            _ => f64::from_bits(self.next()),
        }
    }
}

/// 3000 conversions, each as C's printf does it.
#[test]
fn numbers_are_printed_as_c_prints_them() {
    let mut numbers = Numbers(2026);
    let (mut source, mut ours) =
        (String::from("#include <stdio.h>\n#include <string.h>\nint main() { double d;\n"), String::new());
    for at in 0..3000 {
        let head = numbers.head();
        if at % 2 == 0 {
            let (length, width, cast) =
                numbers.pick(&[("hh", 8, ""), ("h", 16, ""), ("", 32, ""), ("l", 64, "L")]);
            let format = format!("{head}{length}{}", numbers.pick(&['d', 'i', 'o', 'u', 'x', 'X']));
            let shift = numbers.below(64);
            let bits = numbers.next() >> shift;
            let value = if width == 64 { bits.cast_signed() } else { i64::from((bits as u32).cast_signed()) };
            // C has no literal for the smallest numbers.
            writeln!(
                source,
                "printf(\"[{format}]\\n\", ({})({value}{cast} - 1{cast} + 1{cast}));",
                if width == 64 { "long" } else { "int" }
            )
            .unwrap();
            let arguments = vec![integers(if width == 64 { 64 } else { 32 }, 1)];
            writeln!(ours, "[{}]", text(&format, arguments, &halves(value.cast_unsigned()))).unwrap();
        } else {
            let format = format!("{head}{}", numbers.pick(&['f', 'F', 'e', 'E', 'g', 'G', 'a', 'A']));
            let bits = numbers.float().to_bits();
            writeln!(
                source,
                "{{ unsigned long b = {bits}UL; memcpy(&d, &b, 8); printf(\"[{format}]\\n\", d); }}"
            )
            .unwrap();
            // The sign of what is no number is nobody's business.
            let arguments = vec![PrintArgument::Float { width: 64, lanes: 1 }];
            writeln!(ours, "[{}]", text(&format, arguments, &halves(bits))).unwrap();
        }
    }
    source.push_str("return 0; }\n");
    let folder = tempfile::tempdir().unwrap();
    let (file, program) = (folder.path().join("prints.c"), folder.path().join("prints"));
    std::fs::write(&file, &source).unwrap();
    let compiled = Command::new("cc").arg("-w").arg("-o").arg(&program).arg(&file).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: there is no C compiler");
        return;
    }
    let theirs = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let mut lines = source.lines().skip(3);
    let mut differences = String::new();
    for (a, b) in ours.lines().zip(theirs.lines()) {
        let line = lines.next().unwrap();
        if a != b {
            writeln!(differences, "{line}\n ours {a}\n    C {b}").unwrap();
        }
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn opencl_adds_vectors_and_their_lengths() {
    let bytes = [1, 0xff, 3, 4];
    for (format, arguments, words, expected) in [
        ("%v4hld|", vec![integers(32, 4)], vec![1, 0xffff_ffff, 3, 4], "1,-1,3,4|"),
        ("%v4hhd", vec![integers(8, 4)], bytes.to_vec(), "1,-1,3,4"),
        ("%v4hhx", vec![integers(8, 4)], bytes.to_vec(), "1,ff,3,4"),
        ("%#04v2hhX", vec![integers(8, 2)], vec![10, 255], "0X0A,0XFF"),
        ("%v3hd", vec![integers(16, 3)], vec![0x8000, 1, 2], "-32768,1,2"),
        ("%v2ld", vec![integers(64, 2)], vec![1, 0, u32::MAX, u32::MAX], "1,-1"),
        (
            "%5.1v2hlf",
            vec![PrintArgument::Float { width: 32, lanes: 2 }],
            vec![1.25_f32.to_bits(), f32::NAN.to_bits()],
            "  1.2,  nan",
        ),
        (
            "%g %f",
            [16, 16].map(|width| PrintArgument::Float { width, lanes: 1 }).to_vec(),
            vec![0x3c01, 0xfbff],
            "1.00098 -65504.000000",
        ),
        (
            "%s=%5.2s|%-4s|",
            vec![
                PrintArgument::Text(b"one".into()),
                PrintArgument::Text(b"two".into()),
                PrintArgument::Text(b"3".into()),
            ],
            vec![],
            "one=   tw|3   |",
        ),
        ("%c%3c", vec![integers(32, 1), integers(32, 1)], vec![65, 66], "A  B"),
        (
            "%p %p",
            vec![PrintArgument::Pointer, PrintArgument::Pointer],
            vec![0xabc, 1, 0, 0],
            "0x100000abc (nil)",
        ),
        ("100%% %y %", vec![], vec![], "100% %y %"),
        // glibc 2.36 prints "1.e+06" for the second.
        (
            "%g %#g",
            vec![PrintArgument::Float { width: 64, lanes: 1 }; 2],
            [halves(999_999.5_f64.to_bits()); 2].concat(),
            "1e+06 1.00000e+06",
        ),
        ("%d and %d", vec![integers(32, 1)], vec![7], "7 and "),
        ("%99999999999999999999.1d", vec![], vec![], ""),
    ] {
        assert_eq!(text(format, arguments, &words), expected, "{format}");
    }
}

/// The image of a kernel of `prints.cl`, as clang and llvm-spirv 15 translate it.
fn fixture(words: &[u8], kernel: &str) -> DeviceImage {
    let module = Module::from_bytes(words).unwrap();
    let images = post_link(&[TranslationUnit::new("prints", module)], &PostLinkOptions::default()).unwrap();
    images.into_iter().find(|image| image.kernel(kernel).is_some()).unwrap()
}

#[test]
fn prints_become_records_with_a_site_each() {
    for words in [&include_bytes!("fixtures/prints.O0.spv")[..], include_bytes!("fixtures/prints.O2.spv")] {
        let image = fixture(words, "items");
        let printing = lower_printf(&image, 0x1234_5678_9abc_def0).unwrap().unwrap();
        let formats: Vec<_> =
            printing.sites.iter().map(|site| String::from_utf8_lossy(&site.format).into_owned()).collect();
        for format in ["item %d\n", "%s: %v4hld %f\n", "tail %c %p\n"] {
            assert!(formats.iter().any(|f| f == format), "{format:?} in {formats:?}");
        }
        let named = |kernel: &str| printing.sites.iter().any(|site| site.kernel.as_deref() == Some(kernel));
        assert!(named("items"));
        assert!(printing.image.device_globals().unwrap().iter().any(|global| global.id == PRINTS));
        assert_eq!(printing.image.kernel("items").unwrap().device_globals.as_slice(), [PRINTS]);
        let module = Module::from_words(printing.image.spirv.clone()).unwrap();
        assert!(!passes::printf::prints(&module));
        assert_eq!(
            Definitions::new(&module).module().instructions().filter(|i| i.is(Op::AtomicExchange)).count(),
            printing.sites.len()
        );
        // No other pass finds fault with it.
        oclave_spirv::check::check(&module).unwrap();
    }
}

#[test]
fn kernels_that_print_nothing_keep_their_globals() {
    let image = fixture(include_bytes!("fixtures/prints.O2.spv"), "silent");
    let printing = lower_printf(&image, 1).unwrap().unwrap();
    assert_eq!(printing.image.kernel("other").unwrap().device_globals.as_slice(), [PRINTS]);
    assert!(printing.image.kernel("silent").unwrap().device_globals.is_empty());
    assert_eq!(printing.sites[0].kernel.as_deref(), Some("other"));
    // A second time there is nothing to do.
    assert_eq!(lower_printf(&printing.image, 1).unwrap(), None);
}

#[test]
fn a_header_says_site_and_length() {
    assert_eq!(PrintBuffer::parts(5 << 11 | 1024), (5, 1024));
    assert!(PrintBuffer::RING_WORDS.is_power_of_two());
}

/// Kernels that print doubles: `%x` widened, a selection and a phi of such values and of literals, an
/// integer, and, if `needs_double`, a sum that takes a widened value.
fn printing_doubles(needs_double: bool) -> Module {
    const VOID: u32 = 1;
    const INT: u32 = 3;
    const FLOAT: u32 = 4;
    const DOUBLE: u32 = 5;
    const BOOL: u32 = 6;
    const FORMAT: u32 = 50;
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let print = |id: u32, value: u32| o(Op::ExtInst, &[INT, id, 2, 184, FORMAT, value]);
    let double =
        |id: u32, value: f64| o(Op::Constant, &[&[DOUBLE, id], &halves(value.to_bits())[..]].concat());
    let mut code = vec![
        o(Op::Capability, &[Capability::Addresses as u32]),
        o(Op::Capability, &[Capability::Kernel as u32]),
        o(Op::Capability, &[Capability::Int8 as u32]),
        o(Op::Capability, &[Capability::Float64 as u32]),
        (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
        o(Op::MemoryModel, &[2, 2]),
        (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
        o(Op::TypeVoid, &[VOID]),
        o(Op::TypeInt, &[INT, 32, 0]),
        o(Op::TypeInt, &[7, 8, 0]),
        o(Op::TypeFloat, &[FLOAT, 32]),
        o(Op::TypeFloat, &[DOUBLE, 64]),
        o(Op::TypeBool, &[BOOL]),
        o(Op::TypePointer, &[8, 0, 7]),
        o(Op::TypePointer, &[9, 5, FLOAT]),
        o(Op::TypeFunction, &[10, VOID, 9, FLOAT, INT, BOOL]),
        o(Op::Constant, &[INT, 11, 255]),
        double(12, 0.1),
        // The number of `printf` is no id.
        double(184, 2.5),
        o(Op::ConstantNull, &[8, FORMAT]),
        o(Op::Function, &[VOID, 20, 0, 10]),
        o(Op::FunctionParameter, &[9, 21]),
        o(Op::FunctionParameter, &[FLOAT, 22]),
        o(Op::FunctionParameter, &[INT, 23]),
        o(Op::FunctionParameter, &[BOOL, 24]),
        o(Op::Label, &[25]),
        o(Op::FConvert, &[DOUBLE, 26, 22]),
        o(Op::Select, &[DOUBLE, 27, 24, 26, 12]),
        o(Op::BitwiseAnd, &[INT, 28, 23, 11]),
        o(Op::ConvertUToF, &[DOUBLE, 29, 28]),
        print(60, 26),
        print(61, 27),
        print(62, 29),
        print(63, 12),
        o(Op::BranchConditional, &[24, 30, 31]),
        o(Op::Label, &[30]),
        o(Op::Branch, &[31]),
        o(Op::Label, &[31]),
        o(Op::Phi, &[DOUBLE, 32, 184, 25, 27, 30]),
        print(64, 32),
    ];
    if needs_double {
        code.extend([
            o(Op::FAdd, &[DOUBLE, 33, 26, 12]),
            o(Op::FConvert, &[FLOAT, 34, 33]),
            o(Op::Store, &[21, 34, 2, 4]),
        ]);
    }
    code.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    support::assemble(Version::V1_0, &code)
}

fn declares_double(module: &Module) -> bool {
    oclave_spirv::transform::capabilities::declared(module)
        .any(|capability| capability == Capability::Float64 as u32)
}

/// The images of a module, and the form without fp64 of the first.
fn with_form(module: Module) -> (DeviceImage, Option<DeviceImage>) {
    let units = [TranslationUnit::new("k", module)];
    let options = PostLinkOptions::default();
    let images = post_link(&units, &options).unwrap();
    let forms = forms_without_fp64(&images, &units, &options).unwrap();
    assert!(forms.iter().all(|(index, _)| *index == 0));
    (images.into_iter().next().unwrap(), forms.into_iter().map(|(_, form)| form).next())
}

#[test]
fn printed_doubles_become_floats() {
    let module = printing_doubles(false);
    oclave_spirv::check::check(&module).unwrap();
    let (mut image, form) = with_form(module);
    assert_eq!(image.kernels[0].aspects, Aspects::FP64);
    let form = form.unwrap();
    assert_eq!((form.name.as_str(), form.kernels[0].aspects), ("k.without_fp64", Aspects::empty()));
    let narrowed = Module::from_words(form.spirv.clone()).unwrap();
    assert!(!declares_double(&narrowed));
    support::assert_valid("narrowed", &narrowed);
    support::golden("printed_floats", &narrowed);
    // Devices without fp64 take the form, and refuse the image.
    let poor = DeviceTarget { aspects: Aspects::all() - Aspects::FP64, ..DeviceTarget::default() };
    assert!(legalize(&form, &poor).is_ok());
    assert!(
        matches!(legalize(&image, &poor), Err(ImageError::DeviceLacks { what }) if what.contains("fp64"))
    );
    // The image holds it, and says so.
    image.insert_without_fp64(&form);
    let read = DeviceImage::from_bytes(&image.to_bytes()).unwrap();
    assert_eq!(read.without_fp64().unwrap().as_ref(), Some(&form));
    assert!(read.dump().contains("also for devices without fp64: k"), "{}", read.dump());
    // A form in a form is malformed.
    let mut nested = image.clone();
    nested.insert_without_fp64(&image);
    assert!(matches!(nested.without_fp64(), Err(ImageError::Property { .. })));
}

#[test]
fn doubles_that_are_not_only_printed_stay() {
    let (image, form) = with_form(printing_doubles(true));
    assert_eq!(image.kernels[0].aspects, Aspects::FP64);
    assert_eq!(form, None);
}

#[test]
fn prints_of_the_fixtures_need_no_doubles() {
    for words in [&include_bytes!("fixtures/prints.O0.spv")[..], include_bytes!("fixtures/prints.O2.spv")] {
        let units = [TranslationUnit::new("prints", Module::from_bytes(words).unwrap())];
        let options = PostLinkOptions::default();
        let images = post_link(&units, &options).unwrap();
        let forms = forms_without_fp64(&images, &units, &options).unwrap();
        let [(index, form)] = &forms[..] else { panic!("{} forms", forms.len()) };
        assert!(images[*index].kernel("items").unwrap().aspects.contains(Aspects::FP64));
        assert_eq!(form.kernels.len(), 1);
        assert!(!form.kernel("items").unwrap().aspects.contains(Aspects::FP64));
        let printing = lower_printf(form, 1).unwrap().unwrap();
        let arguments = printing.sites.iter().flat_map(|site| &site.arguments);
        assert_eq!(arguments.filter(|a| matches!(a, PrintArgument::Float { width: 32, .. })).count(), 1);
    }
}
