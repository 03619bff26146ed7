//! Kernels that are compiled from source while the program runs, on the selected device.

use std::fs;
use std::path::Path;

use oclave::kernel::{KernelBundle, KernelSource, NdRange, ProgramCache};
use oclave::{Context, Device, Error, ErrorKind, Queue};

use crate::common::{call, device, load};

const SCALE: &str = r#"
#include "factor.h"
kernel void scale(global float *x) { x[get_global_id(0)] *= FACTOR * MORE; }
"#;

fn with_cache(device: &Device, cache: &ProgramCache) -> Queue {
    let context = Context::builder(std::slice::from_ref(device)).program_cache(cache).build().unwrap();
    Queue::new(&context).unwrap()
}

/// The device, where there is a compiler as well.
fn setting() -> Option<Device> {
    device().filter(|_| load::has_compiler())
}

/// What `scale` makes of 1.
fn scaled(queue: &Queue, source: &KernelSource) -> f32 {
    let bundle = load::source(queue.context(), source).unwrap();
    let x = queue.upload(&[1.0_f32; 3]).unwrap();
    queue.parallel_for(3, bundle.kernel("scale").unwrap().call().pointer_mut(&x)).unwrap();
    let x = queue.read(&x).unwrap();
    assert_eq!(x, [x[0]; 3]);
    x[0]
}

fn refused(source: &KernelSource) -> Option<Error> {
    let queue = with_cache(&device()?, &ProgramCache::Off);
    Some(load::source(queue.context(), source).unwrap_err())
}

#[device_test(setting)]
fn macros_and_headers_make_different_programs_that_are_cached(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let headers = directory.path().join("headers");
    fs::create_dir(&headers).unwrap();
    let factor = |value: &str| fs::write(headers.join("factor.h"), format!("#define FACTOR {value}\n"));
    factor("3").unwrap();
    let cache = ProgramCache::Directory(directory.path().to_owned());
    let queue = with_cache(&device, &cache);
    let source = |more: &str| KernelSource::new("scale.cl", SCALE).include(&headers).define("MORE", more);
    let made = || fs::read_dir(directory.path().join("programs")).unwrap().count();

    assert_eq!(scaled(&queue, &source("5")), 15.0);
    let after_one = made();
    assert_eq!(scaled(&queue, &source("5")), 15.0);
    assert_eq!(made(), after_one, "the same source was compiled again");
    assert_eq!(scaled(&queue, &source("7")), 21.0);
    assert!(made() > after_one, "another macro is another program");

    factor("4").unwrap();
    assert_eq!(scaled(&queue, &source("5")), 20.0, "the header changed");
    fs::remove_file(headers.join("factor.h")).unwrap();
    let error = load::source(queue.context(), &source("5")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    assert!(error.to_string().contains("'factor.h' file not found"), "{error}");
    let in_memory = source("5").header("factor.h", "#define FACTOR 10");
    assert_eq!(scaled(&queue, &in_memory), 50.0);
}

/// Variables without `DEVICE_GLOBAL` begin with their values and keep what a kernel writes, or the
/// device does not take the program. PoCL 6.0 read garbage.
#[device_test(setting)]
fn program_scope_variables_hold_their_values_or_are_refused(device: Device) {
    let text = "global int seven = 7; global int none; global int table[3] = { 4, 5, 6 };
        kernel void look(global int *out) { out[0] = seven; out[1] = none; out[2] = table[1]; }
        kernel void change(int by) { seven += by; none -= by; table[1] *= by; }
        kernel void alone(global int *out) { out[0] = 3; }";
    let queue = with_cache(&device, &ProgramCache::Off);
    let run = || -> oclave::Result<[Vec<i32>; 2]> {
        let bundle = load::source(queue.context(), &KernelSource::new("variables.cl", text))?;
        let out = queue.upload(&[-1_i32; 3])?;
        let look = || queue.parallel_for(1, bundle.kernel("look")?.call().pointer_mut(&out));
        look()?;
        let first = queue.read(&out)?;
        queue.parallel_for(1, bundle.kernel("change")?.call().value(10_i32))?;
        look()?;
        Ok([first, queue.read(&out)?])
    };
    let seen = run();
    // A kernel without them runs all the same.
    let bundle = load::source(queue.context(), &KernelSource::new("variables.cl", text)).unwrap();
    let out = queue.upload(&[-1_i32]).unwrap();
    queue.single_task(bundle.kernel("alone").unwrap().call().pointer_mut(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [3]);
    match seen {
        Ok(seen) => assert_eq!(seen, [vec![7, 0, 5], vec![17, -10, 50]]),
        Err(error) => {
            println!("refused: {error}");
            assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error}");
            assert!(error.to_string().contains("needs program_scope_variables"), "{error}");
        }
    }
}

#[device_test(setting)]
fn several_sources_are_one_program(device: Device) {
    let queue = with_cache(&device, &ProgramCache::Off);
    let source = KernelSource::new(
        "scale.cl",
        "float twice(float); kernel void scale(global float *x) { size_t i = get_global_id(0); x[i] = twice(x[i]); }",
    )
    .source("twice.clcpp", "extern \"C\" float twice(float x) { auto y = x; return y + y; }")
    .opt_level(1);
    match load::source(queue.context(), &source) {
        Ok(_) => assert_eq!(scaled(&queue, &source), 2.0),
        Err(error) if error.to_string().contains("several sources need llvm-link") => {
            println!("skipped: {error}");
        }
        Err(error) => panic!("{error:#}"),
    }
}

#[device_test(setting)]
fn work_groups_divide_the_range_unless_the_program_says_otherwise(device: Device) {
    let queue = with_cache(&device, &ProgramCache::Off);
    let text = "kernel void sizes(global uint *x) { x[get_global_id(0)] = get_local_size(0); }";
    let launch = |non_uniform: bool, items: usize| {
        let source = KernelSource::new("sizes.cl", text).non_uniform_work_groups(non_uniform);
        let bundle = load::source(queue.context(), &source)?;
        let out = queue.context().alloc_shared::<u32>(items)?;
        queue.parallel_for(NdRange::new(items, 4), call(&bundle, "sizes").pointer_mut(&out))?.wait()?;
        out.read().map(|sizes| sizes.to_vec())
    };
    assert_eq!(launch(false, 8).unwrap(), [4; 8]);
    let error = launch(false, 7).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
    if device.capabilities().limits.non_uniform_work_groups {
        assert_eq!(launch(true, 7).unwrap(), [4, 4, 4, 4, 3, 3, 3]);
    } else {
        assert_eq!(launch(true, 7).unwrap_err().kind(), ErrorKind::NdRange);
    }
}

#[device_test(setting)]
fn device_globals_of_sources_are_reached_by_name(device: Device) {
    let queue = with_cache(&device, &ProgramCache::Off);
    let bundle = |start: u32| {
        let text = format!(
            "#include <oclave/oclave.h>\nstatic DEVICE_GLOBAL() uint counter = {start};\n\
             kernel void count(void) {{ counter++; }}"
        );
        load::source(queue.context(), &KernelSource::new("count.cl", text)).unwrap()
    };
    // Static variables of two texts are two variables, though both sources have one name.
    for start in [5, 9] {
        let bundle = bundle(start);
        queue.single_task(bundle.kernel("count").unwrap().call()).unwrap();
        let counter = bundle.device_global("counter").unwrap();
        assert_eq!(queue.read(&counter.slice::<u32>(..).unwrap()).unwrap(), [start + 1]);
    }
}

#[test]
fn compile_errors_have_the_compilers_words_and_the_sources_name() {
    let source = KernelSource::new("bad.cl", "kernel void k(global int *x) {\n  x[0] = y;\n  z();\n}");
    if !load::has_compiler() {
        return;
    }
    let Some(error) = refused(&source) else { return };
    assert_eq!(error.kind(), ErrorKind::Build);
    let line = error.to_string();
    assert!(line.contains("kernel source `bad.cl`"), "{line}");
    assert!(line.contains("bad.cl:2:10: error: use of undeclared identifier 'y'"), "{line}");
    let log = error.build_log().unwrap();
    assert!(log.contains("bad.cl:3:3: error:"), "all errors: {log}");
    let temporary = std::env::temp_dir();
    for text in [line.as_str(), log.split("the command was").next().unwrap()] {
        assert!(!text.contains(&*temporary.to_string_lossy()), "the folder of the compiler's copy: {text}");
    }
}

#[test]
fn a_missing_compiler_is_an_error_that_says_what_to_install() {
    let source = KernelSource::new("scale.cl", "kernel void k(void) {}")
        .env("PATH", "/nonexistent")
        .env("OCLAVE_CLANG", "")
        .env("OCLAVE_LLVM_SPIRV", "");
    let Some(error) = refused(&source) else { return };
    assert_eq!(error.kind(), ErrorKind::Build);
    let line = error.to_string();
    assert!(
        line.contains("neither clang nor llvm-spirv") && line.contains("install a matching pair"),
        "{line}"
    );
    assert!(!line.contains("checked_in"), "an advice for build scripts: {line}");
}

#[test]
fn names_that_are_no_file_names_are_refused() {
    for name in ["", "../x.cl", "/x.cl", "a/x.cl", "x.txt", "x"] {
        let Some(error) = refused(&KernelSource::new(name, "kernel void k(void) {}")) else { return };
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}: {error}");
    }
    let source = KernelSource::new("x.cl", "kernel void k(void) {}").header("../x.h", "");
    assert_eq!(refused(&source).unwrap().kind(), ErrorKind::Invalid);
    assert!(!Path::new("../x.h").exists());
    let source = KernelSource::new("x.cl", "kernel void k(void) {}").opt_level(9);
    assert_eq!(refused(&source).unwrap().kind(), ErrorKind::Invalid);
}

#[device_test(setting)]
fn errors_of_calls_show_the_kernels_declaration(device: Device) {
    let queue = with_cache(&device, &ProgramCache::Off);
    let source = KernelSource::new(
        "scale.cl",
        "kernel void scale(float factor, global float *x, const global int *y) { x[0] = factor * y[0]; }",
    );
    let bundle: KernelBundle = load::source(queue.context(), &source).unwrap();
    let declared = "`scale(float factor, float *x, const int *y)`";
    let unknown = bundle.kernel("scal").unwrap_err().to_string();
    assert!(unknown.contains(declared), "{unknown}");
    let scale = bundle.kernel("scale").unwrap();
    let x = queue.upload(&[1.0_f32]).unwrap();
    for call in [scale.call().value(1.0_f32), scale.call().value(1_u32).pointer_mut(&x).pointer(&x)] {
        let error = queue.single_task(call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelArgument);
        assert!(error.to_string().contains(declared), "{error}");
    }
}

/// clang accepts them, and SPIR-V loses them.
#[test]
fn options_that_have_no_effect_are_refused() {
    if setting().is_none() {
        return;
    }
    let text = "kernel void one(global int *x) { *x = 1; }";
    for option in ["-cl-denorms-are-zero", "-cl-fp32-correctly-rounded-divide-sqrt"] {
        let source = KernelSource::new("one.cl", text).compiler_args(["-g", option]);
        let Some(error) = refused(&source) else { return };
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(option), "{error}");
        assert!(error.to_string().contains("compiler_options"), "{error}");
    }
}
