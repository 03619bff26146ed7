//! Virtual functions through the real compiler: images, and what the build refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;

use common::{Built, Folder, assert_has, toolchain_is_here};
use oclave_build::{Config, ErrorKind};
use oclave_image::passes::VirtualProgram;
use oclave_image::{Aspects, DEFAULT_SET, DeviceImage, VirtualFunctions, VirtualSlot};
use oclave_spirv::{Module, Op};

const HEADER: &str = "#include <oclave/virtual.hpp>\n";
const SHAPES: &str = "struct shape { INDIRECTLY_CALLABLE(shapes) virtual int area(int s) { return s; } };
struct square : shape { int side = 3; INDIRECTLY_CALLABLE(shapes) int area(int s) override { return side * s; } };
kernel void make(global char *m) { new (m) square; }
";

/// The folder goes when the first of the two does.
fn build(level: u32, source: &str) -> (Folder, Built) {
    let folder = Folder::new();
    folder.write("shapes.clcpp", &format!("{HEADER}{source}"));
    let built = folder.build(Config::new().opt_level(level), &["shapes.clcpp"]);
    (folder, built)
}

fn images(built: &Built) -> BTreeMap<String, (DeviceImage, VirtualFunctions)> {
    let paths = &built.result.as_ref().unwrap().images;
    let read = |path| {
        let image = DeviceImage::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let told = image.virtual_functions().unwrap();
        (image.name.clone(), (image, told))
    };
    paths.iter().map(read).collect()
}

fn sets<'s>(names: impl IntoIterator<Item = &'s String>) -> Vec<&'s str> {
    names.into_iter().map(String::as_str).collect()
}

/// What a source must not have, and what the message must have. At `-O2` the compiler may leave no
/// trace of it.
#[track_caller]
fn refused(source: &str, wanted: &[&str]) {
    for level in [0, 2] {
        let (_folder, built) = build(level, source);
        let error = match &built.result {
            Err(error) => error.to_string(),
            Ok(_) => panic!("-O{level}: it builds"),
        };
        assert_has(&error, wanted);
        assert_has(&error, &["shapes.clcpp"]);
    }
}

#[test]
fn kernels_and_sets_get_images() {
    if !toolchain_is_here() {
        return;
    }
    let source = "struct shape {
    INDIRECTLY_CALLABLE() virtual int area(int s) { return s; }
    INDIRECTLY_CALLABLE(doubles, both) virtual double half_of(double s) { return s / 2; }
    virtual int unmarked() { return 4711; }
};
kernel void make(global char *m) { new (m) shape; }
CALLS_INDIRECTLY() kernel void areas(global char *m, global int *out) { *out = ((shape *)m)->area(*out); }
CALLS_INDIRECTLY(doubles) kernel void halves(global char *m, global int *out) { *out = (int)((shape *)m)->half_of(*out); }
";
    for level in [0, 2] {
        let (_folder, built) = build(level, source);
        let images = images(&built);
        let names: Vec<&str> = images.keys().map(String::as_str).collect();
        let expected = [
            "shapes",
            "shapes.fp64",
            "shapes.set.both",
            "shapes.set.both.dummy",
            "shapes.set.doubles",
            "shapes.set.doubles.dummy",
            "shapes.set.void",
        ];
        assert_eq!(names, expected, "-O{level}");
        let aspects =
            |image: &str| images[image].0.requirements().unwrap().aspects - Aspects::GENERIC_POINTER;
        let (kernels, told) = &images["shapes"];
        assert_eq!(kernels.kernels.len(), 2, "making objects needs no fp64");
        assert_eq!(aspects("shapes"), Aspects::empty());
        assert_eq!(sets(&told.calls), [DEFAULT_SET]);
        assert_eq!(sets(&told.creates), ["both", "doubles", DEFAULT_SET]);
        assert_eq!(told.dispatchers.len(), 1);
        let (kernels, told) = &images["shapes.fp64"];
        assert_eq!(kernels.kernels[0].name, "halves");
        assert_eq!(sets(&told.calls), ["doubles"]);
        assert_eq!(
            (aspects("shapes.set.void"), aspects("shapes.set.both")),
            (Aspects::empty(), Aspects::FP64)
        );
        assert_eq!(aspects("shapes.set.both.dummy"), Aspects::empty());
        let function = |image: &str| images[image].1.functions.first().cloned();
        assert_eq!(function("shapes.set.both").unwrap().signature.to_string(), "f64_p8_f64");
        assert_eq!(function("shapes.set.both.dummy"), None, "its signature has fp64");
        assert_ne!(
            function("shapes.set.both").unwrap().wrapper,
            function("shapes.set.doubles").unwrap().wrapper
        );
        assert_eq!(images["shapes.set.void"].1.slots[0].slot, Some(0));
        for (image, _) in images.values() {
            // The constant of the function that belongs to no set.
            assert!(!image.spirv.contains(&4711), "{} has a function that nobody can call", image.name);
        }
    }
}

#[test]
fn ordinary_sources_are_translated_as_before() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder
        .write("plain.clcpp", "struct a { int v; }; kernel void k(global int *out) { a x{3}; *out = x.v; }");
    let built = folder.build(&mut Config::new(), &["plain.clcpp"]);
    let images = images(&built);
    let (image, told) = &images["plain"];
    assert!(told.is_empty());
    assert!(image.properties.set_names().all(|name| !name.contains("virtual")));
}

/// Tables of classes without markers hold constant expressions of functions, which nothing may call.
#[test]
fn classes_without_markers_build_where_nothing_is_called_virtually() {
    if !toolchain_is_here() {
        return;
    }
    let source = "struct shape { virtual int area(int s) { return s; } virtual int edges() { return 4711; } int side = 3; };
struct square : shape { int area(int s) override { return side * s; } };
kernel void areas(global int *out) { square s; *out = s.square::area(*out) + s.shape::area(2); }
";
    for level in [0, 2] {
        let (_folder, built) = build(level, source);
        assert_eq!(built.warnings(), [""; 0], "-O{level}");
        let images = images(&built);
        let (image, _) = &images["shapes"];
        assert_eq!(image.kernels.len(), 1, "-O{level}");
        assert!(!image.spirv.contains(&4711), "-O{level}: a function that nobody can call is there");
    }
}

#[test]
fn sets_may_have_any_name() {
    if !toolchain_is_here() {
        return;
    }
    let (_folder, built) = build(2, "struct s { INDIRECTLY_CALLABLE(ns::list<int, 4>, a b, a+b, 100% */ 2) virtual int f() { return 1; } };
        CALLS_INDIRECTLY(100% */ 2, ns::list<int, 4>, a b, extern elsewhere) kernel void k(global int *out) { s x; s *p = &x; *out = p->f(); }");
    let images = images(&built);
    assert_eq!(sets(&images["shapes"].1.calls), ["100% */ 2", "a b", "elsewhere", "ns::list<int, 4>"]);
    let provided: Vec<String> = images.values().filter_map(|(_, told)| told.provides.clone()).collect();
    assert_eq!(provided, ["100% */ 2", "a b", "a+b", "ns::list<int, 4>"]);
    assert_eq!(built.result.unwrap().images.len(), 5, "no file replaces another");
}

#[test]
fn calls_without_a_marker_are_refused() {
    if !toolchain_is_here() {
        return;
    }
    let source = format!(
        "{SHAPES}__attribute__((noinline)) int help(shape *s) {{ return s->area(1); }}
kernel void use(global char *m, global int *out) {{ *out = help((shape *)m); }}"
    );
    refused(&source, &["kernel `use` makes virtual calls", "`help`", "CALLS_INDIRECTLY", "shapes"]);
}

#[test]
fn sets_that_do_not_exist_are_refused() {
    if !toolchain_is_here() {
        return;
    }
    let source = format!(
        "{SHAPES}CALLS_INDIRECTLY(shape) kernel void use(global char *m, global int *out) {{ *out = ((shape *)m)->area(1); }}"
    );
    refused(&source, &["kernel `use` calls virtual functions of set `shape`", "shapes", "extern"]);
}

#[test]
fn overrides_need_the_marker() {
    if !toolchain_is_here() {
        return;
    }
    let source = "namespace n { struct shape { INDIRECTLY_CALLABLE(shapes) virtual int area(int s) { return s; } virtual int other() { return 1; } };
struct middle : shape {};
struct square : middle { int area(int s) override { return 2 * s; } int area(char c) { return c; } int other() override { return 2; } }; }
CALLS_INDIRECTLY(shapes) kernel void use(global char *m, global int *out) { *out = ((n::shape *)m)->area(1); }";
    refused(source, &["shapes.clcpp:4: `square::area`: it overrides `shape::area`"]);
}

#[test]
fn pointers_to_members_and_functions_are_refused() {
    if !toolchain_is_here() {
        return;
    }
    let member = format!(
        "{SHAPES}CALLS_INDIRECTLY(shapes) kernel void use(global char *m, global int *out, int which) {{
    auto f = &shape::area; shape *s = (shape *)m; if (which) f = nullptr; *out = (s->*f)(1); }}"
    );
    refused(&member, &["`use`", "virtual functions"]);
    let raw = "int add(int a) { return a + 1; } int sub(int a) { return a - 1; }
kernel void use(global int *out) { int (*f)(int) = *out ? add : sub; *out = f(3); }";
    refused(raw, &["function `", "Devices have no pointers to functions"]);
}

#[test]
fn arguments_that_calls_cannot_pass_are_refused() {
    if !toolchain_is_here() {
        return;
    }
    let source = "struct painter { INDIRECTLY_CALLABLE(paint) virtual int paint(read_only image2d_t image) { return get_image_width(image); } };
CALLS_INDIRECTLY(paint) kernel void use(global char *m, read_only image2d_t image, global int *out) { painter p; painter *q = &p; if (*out) q = (painter *)m; *out = q->paint(image); }";
    refused(source, &["argument 2 (`this` counts)", "neither a number"]);
}

const DECORATOR: &str = "struct node { INDIRECTLY_CALLABLE(nodes) virtual int value(int x) { return x; } };
struct twice : node { node *inner; twice(node *n) : inner(n) {} INDIRECTLY_CALLABLE(nodes) int value(int x) override { return 2 * inner->value(x); } };
kernel void make(global char *m) { new (m) twice(new (m + 16) node); }
";

#[test]
fn recursion_needs_a_depth() {
    if !toolchain_is_here() {
        return;
    }
    let kernel = "kernel void use(global char *m, global int *out) { *out = ((node *)m)->value(*out); }";
    let plain = format!("{DECORATOR}CALLS_INDIRECTLY(nodes) {kernel}");
    refused(&plain, &["`twice::value`", "use", "depth=N"]);
    let (_folder, built) = build(2, &format!("{DECORATOR}CALLS_INDIRECTLY(nodes, depth=5) {kernel}"));
    assert_eq!(images(&built)["shapes.depth-5"].1.depth, Some(5));
    let folder = Folder::new();
    folder.write("a.clcpp", &format!("{HEADER}{plain}"));
    let built = folder.build(Config::new().virtual_call_depth(3), &["a.clcpp"]);
    assert_eq!(images(&built)["a.depth-3"].1.depth, Some(3));
    let error = folder.build(Config::new().virtual_call_depth(0), &["a.clcpp"]).error(ErrorKind::Config);
    assert_has(&error, &["virtual_call_depth is 1 to 64"]);
}

/// The functions and words of an image of kernels, linked with the sets that it calls.
fn linked(all: &BTreeMap<String, (DeviceImage, VirtualFunctions)>, name: &str) -> [usize; 2] {
    let (kernels, told) = &all[name];
    let called = |(_, set): &&(DeviceImage, VirtualFunctions)| {
        set.provides.as_ref().is_some_and(|set| told.calls.contains(set))
    };
    let sets: Vec<&DeviceImage> = all.values().filter(called).map(|(image, _)| image).collect();
    let known: Vec<&VirtualFunctions> = all.values().map(|(_, told)| told).collect();
    let (sets, known) = (&sets[..], &known[..]);
    let program = VirtualProgram { kernels, sets, own_sets: sets.len(), known, report_faults: true };
    let linked = program.link().unwrap();
    let module = Module::from_words(linked.spirv.clone()).unwrap();
    [module.instructions().filter(|i| i.is(Op::Function)).count(), linked.spirv.len()]
}

/// Each level is a copy of the set. Drivers compile a module as a whole, so kernels whose calls do
/// not nest must not get the copies.
#[test]
fn a_depth_makes_no_neighbour_larger() {
    if !toolchain_is_here() {
        return;
    }
    let flat = format!(
        "{DECORATOR}struct leaf {{ INDIRECTLY_CALLABLE(leaves) virtual int size(int x) {{ return x + 1; }} }};
kernel void make_leaf(global char *m) {{ new (m) leaf; }}
CALLS_INDIRECTLY(leaves) kernel void flat(global char *m, global int *out) {{ *out = ((leaf *)m)->size(*out); }}
"
    );
    let deep = "kernel void deep(global char *m, global int *out) { *out = ((node *)m)->value(*out); }
";
    for level in [0, 2] {
        let (_folder, alone) = build(level, &flat);
        let (_folder, beside) = build(level, &format!("{flat}CALLS_INDIRECTLY(nodes, depth=16) {deep}"));
        let (_folder, shallow) = build(level, &format!("{flat}CALLS_INDIRECTLY(nodes, depth=2) {deep}"));
        let [alone, beside, shallow] = [&alone, &beside, &shallow].map(images);
        assert_eq!(linked(&alone, "shapes"), linked(&beside, "shapes"), "-O{level}");
        let [many, few] = [linked(&beside, "shapes.depth-16"), linked(&shallow, "shapes.depth-2")];
        assert!(many[0] >= few[0] + 28, "-O{level}: {many:?} and {few:?}: two functions a level");
        assert_eq!(beside["shapes"].1.depth, None);
    }
    // Each image would have a counter of its own.
    let counted = flat.replace("new (m) leaf;", "new (m) leaf; counter++;");
    let source = format!(
        "global int counter;\n{counted}CALLS_INDIRECTLY(nodes, depth=3) {}",
        deep.replace("*out = ", "*out = counter + ")
    );
    let (_folder, built) = build(2, &source);
    let images = images(&built);
    assert_eq!(images["shapes.program_scope_variables"].1.depth, Some(3), "{:?}", images.keys());
}

fn keys(image: &VirtualFunctions) -> Vec<Option<&str>> {
    image.dispatchers.iter().map(|dispatcher| dispatcher.key.class.as_deref()).collect()
}

/// One signature, one slot, but no common base: what calls the other is no cycle.
#[test]
fn classes_that_are_not_related_stay_apart() {
    if !toolchain_is_here() {
        return;
    }
    let source = "namespace n { struct weight { INDIRECTLY_CALLABLE(w) virtual float of(float x) { return x; } }; }
struct halved : n::weight { INDIRECTLY_CALLABLE(w) float of(float x) override { return x / 2; } };
struct other { int a; INDIRECTLY_CALLABLE(w) virtual float mixed(float x) { return x; } };
struct filter { n::weight *inner; INDIRECTLY_CALLABLE(w) virtual float apply(float x) { return inner->of(x); } };
struct both : filter, other { INDIRECTLY_CALLABLE(w) float apply(float x) override { return inner->of(x) + 1; } INDIRECTLY_CALLABLE(w) float mixed(float x) override { return inner->of(x) + 1; } };
kernel void make(global char *m) { new (m) n::weight; new (m + 16) halved; new (m + 32) filter; new (m + 64) both; new (m + 128) other; }
CALLS_INDIRECTLY(w) kernel void use(global char *m, global float *out) { *out = ((filter *)m)->apply(*out) + ((other *)m)->mixed(1); }";
    for level in [0, 2] {
        let (_folder, built) = build(level, source);
        let images = images(&built);
        let told = &images["shapes.set.w"].1;
        let classes = |function: &str| -> Vec<String> {
            let slots = told.slots.iter().filter(|slot| slot.function.contains(function));
            slots.flat_map(|slot| slot.classes.clone()).collect()
        };
        assert_eq!(classes("6halved2of"), ["halved", "n::weight"]);
        assert_eq!(classes("_ZNU3AS44both5apply"), ["both", "filter"]);
        assert_eq!(classes("_ZThn16_NU3AS44both5mixed"), ["other"]);
        assert_eq!(keys(&images["shapes"].1), [Some("filter"), Some("other")]);
        assert_eq!(keys(told), [Some("n::weight")]);
    }
}

#[test]
fn markers_belong_to_kernels_and_functions() {
    if !toolchain_is_here() {
        return;
    }
    refused(
        "INDIRECTLY_CALLABLE(a) kernel void k(global int *out) { *out = 1; }",
        &["`k`", "not INDIRECTLY_CALLABLE"],
    );
    refused(
        "CALLS_INDIRECTLY(a) __attribute__((noinline)) int f(int x) { return x; } kernel void k(global int *out) { *out = f(1); }",
        &["`f`", "only kernels say CALLS_INDIRECTLY"],
    );
    refused(
        "CALLS_INDIRECTLY(a, depth=many) kernel void k(global int *out) { *out = 1; }",
        &["`k`", "\"many\""],
    );
}

#[test]
fn classes_have_at_most_eight_thousand_virtual_functions() {
    if !toolchain_is_here() {
        return;
    }
    let class = |functions: usize| {
        let declared: String = (1..functions).map(|i| format!("    virtual int f{i}(int x);\n")).collect();
        format!(
            "struct wide {{\n    INDIRECTLY_CALLABLE(s) virtual int f0(int x);\n{declared}}};
int wide::f0(int x) {{ return x; }}
kernel void make(global char *m) {{ new (m) wide; }}"
        )
    };
    refused(&class(8192), &["`wide::f8191`", "more than 8000 virtual functions"]);
    let (_folder, built) = build(2, &class(8000));
    assert_eq!(sets(&images(&built)["shapes"].1.creates), ["s"]);
}

/// The same vtables, wherever: constructing, bodies and calling in three sources.
#[test]
fn sources_may_share_classes() {
    if !toolchain_is_here() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "shape.h",
        "#include <oclave/virtual.hpp>\nstruct shape { virtual int area(int s); INDIRECTLY_CALLABLE(shapes) virtual int edge() { return 1; } int side = 3; };",
    );
    folder.write("bodies.clcpp", "#include \"shape.h\"\nINDIRECTLY_CALLABLE(shapes) int shape::area(int s) { return side * s; }\nkernel void nothing() {}");
    folder.write("make.clcpp", "#include \"shape.h\"\nkernel void make(global char *m) { new (m) shape; }");
    folder.write("use.clcpp", "#include \"shape.h\"\nCALLS_INDIRECTLY(shapes) kernel void use(global char *m, global int *out) { *out = ((shape *)m)->area(2) + ((shape *)m)->edge(); }");
    let built = folder.build(&mut Config::new(), &["bodies.clcpp", "make.clcpp", "use.clcpp"]);
    let of_program = images(&built);
    let told = &of_program["oclave_kernels.set.shapes"].1;
    assert_eq!(told.functions.len(), 2);
    assert_eq!(keys(&of_program["use"].1), [Some("shape"), Some("shape")]);
    assert_eq!(told.slots[0].classes, ["shape"]);
    let codes: Vec<u64> = told.slots.iter().map(|slot| slot.code).collect();
    assert_eq!(sets(&of_program["make"].1.creates), ["shapes"]);
    // As programs of their own: the vtable is with the bodies, its code is the same.
    let mut config = Config::new();
    let bodies = images(&folder.build(config.out_name("bodies"), &["bodies.clcpp"]));
    let apart: Vec<u64> = bodies["bodies.set.shapes"].1.slots.iter().map(|slot| slot.code).collect();
    assert_eq!(apart, codes);
    let make = images(&folder.build(config.out_name("make"), &["make.clcpp"]));
    assert!(make["make"].1.slots.is_empty() && make["make"].1.creates.is_empty(), "it knows no function");
    let error = folder.build(config.out_name("use"), &["use.clcpp"]).error(ErrorKind::PostLink);
    assert_has(&error, &["set `shapes`"]);
}

/// The linker takes structs that look alike for one type; calls know their classes nevertheless.
#[test]
fn classes_that_look_alike_stay_apart_in_several_sources() {
    if !toolchain_is_here() {
        return;
    }
    let source = |class: &str| {
        format!(
            "#include <oclave/virtual.hpp>
struct {class} {{ INDIRECTLY_CALLABLE(s) virtual int f(int x) {{ return x; }} }};
static __attribute__((noinline)) int help({class} *p) {{ return p->f(2); }}
inline __attribute__((noinline)) int shared_help(struct {class} *p) {{ return p->f(3); }}
static __attribute__((noinline)) int vague(void *p) {{ return (({class} *)p)->f(4); }}
kernel void make_{class}(global char *m) {{ new (m) {class}; }}
CALLS_INDIRECTLY(s) kernel void call_{class}(global char *m, global int *out) {{ *out = (({class} *)m)->f(1) + shared_help(({class} *)m); }}
CALLS_INDIRECTLY(s) kernel void help_{class}(global char *m, global int *out) {{ *out = help(({class} *)m) + vague(m); }}"
        )
    };
    for level in [0, 2] {
        let folder = Folder::new();
        for class in ["first", "second"] {
            folder.write(&format!("{class}.clcpp"), &source(class));
        }
        let built = folder.build(Config::new().opt_level(level), &["first.clcpp", "second.clcpp"]);
        let images = images(&built);
        for class in ["first", "second"] {
            let keys = keys(&images[class].1);
            // `vague` has one name in both sources, which hides its class from LLVM 15.
            assert!(keys == [None, Some(class)] || keys == [Some(class)], "-O{level}: {keys:?}");
        }
    }
}

/// Not optimised, clang constructs such objects through tables of vtables, and wrongly.
#[test]
fn virtual_bases_want_optimisation() {
    if !toolchain_is_here() {
        return;
    }
    let source = "struct base { int b = 1; INDIRECTLY_CALLABLE(s) virtual int f() { return b; } };
struct left : virtual base { INDIRECTLY_CALLABLE(s) int f() override { return b + 1; } };
struct right : virtual base { int r = 2; };
struct both : left, right { INDIRECTLY_CALLABLE(s) int f() override { return b + r; } };
kernel void make(global char *m) { new (m) both; }
CALLS_INDIRECTLY(s) kernel void use(global char *m, global int *out) { *out = ((left *)(both *)m)->f(); }";
    let (_folder, built) = build(2, source);
    let images = images(&built);
    let told = &images["shapes.set.s"].1;
    // Newer compilers keep the vtable of `base`, whose objects have no virtual bases.
    let own = |slot: &VirtualSlot| slot.function == "_ZNU3AS44base1fEv" && slot.classes == ["base"];
    assert!(
        told.slots.iter().all(|slot| slot.slot == Some(0) && (slot.classes.is_empty() || own(slot))),
        "{:?}",
        told.slots
    );
    assert!(told.slots.iter().filter(|slot| own(slot)).count() <= 1);
    assert!(told.offsets.iter().any(|offset| offset.value < 0) && !told.offsets.is_empty());
    let (_folder, built) = build(0, source);
    let error = built.result.as_ref().map(|_| "it builds".to_owned()).unwrap_or_else(ToString::to_string);
    assert_has(&error, &["shapes.clcpp", "virtual base classes", "opt_level 1"]);
    // Of several files, the one with the virtual bases is named.
    let folder = Folder::new();
    folder.write("innocent.cl", "kernel void innocent(global int *x) { x[0] = 1; }");
    folder.write("shapes.clcpp", &format!("{HEADER}{source}"));
    let built = folder.build(Config::new().opt_level(0), &["innocent.cl", "shapes.clcpp"]);
    let error = built.result.as_ref().map(|_| "it builds".to_owned()).unwrap_or_else(ToString::to_string);
    let first = error.lines().next().unwrap_or_default();
    assert!(first.contains("shapes.clcpp") && first.contains("opt_level 1"), "{error}");
    assert!(!first.contains("innocent.cl"), "{error}");
}
