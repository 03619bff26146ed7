//! Linking of modules: what they share, what they must agree on, and that splitting and linking
//! changes nothing.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use oclave_image::ImageError;
use oclave_image::passes::{LinkInput, link_modules};
use oclave_spirv::check;
use oclave_spirv::transform::capabilities;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::transform::strip::strip;
use oclave_spirv::{Capability, Decoration, Definitions, Editor, LinkageType, Module, Op, Version};
use support::{assemble, of_kernel, with_string};

fn fixture(name: &str) -> Module {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    strip(&module, |_| false).unwrap()
}

fn link(modules: &[&Module]) -> Result<Module, ImageError> {
    let names = ["first", "second", "third", "fourth"];
    let inputs: Vec<LinkInput<'_>> =
        modules.iter().zip(names).map(|(module, name)| LinkInput { name, module }).collect();
    link_modules(&inputs, |_| false)
}

fn message(result: Result<Module, ImageError>) -> String {
    match result {
        Err(error @ ImageError::Link(_)) => error.to_string(),
        other => panic!("no link error, but {other:?}"),
    }
}

fn sound(name: &str, module: &Module) {
    check::check(module).unwrap_or_else(|error| panic!("{name}: {error}"));
    support::assert_valid(name, module);
}

fn count(module: &Module, what: impl Fn(&oclave_spirv::Instruction<'_>) -> bool) -> usize {
    module.instructions().filter(what).count()
}

/// The linkage names of a kind.
fn linkage(module: &Module, kind: LinkageType) -> Vec<String> {
    module
        .instructions()
        .filter(|i| i.is(Op::Decorate) && i.operand(1) == Some(Decoration::LinkageAttributes as u32))
        .filter(|i| i.after_string(2).unwrap()[0] == kind as u32)
        .map(|i| i.string(2).unwrap().into_owned())
        .collect()
}

#[test]
fn two_sources_become_one_module() {
    for (main, library) in [("O0", "O0"), ("O2", "O2"), ("O0", "O2"), ("O2", "O0")] {
        let main = fixture(&format!("link_main.{main}.spv"));
        let library = fixture(&format!("link_library.{library}.spv"));
        for modules in [[&main, &library], [&library, &main]] {
            let linked = link(&modules).unwrap();
            sound("linked", &linked);
            assert_eq!(count(&linked, |i| i.is(Op::EntryPoint)), 2);
            assert_eq!(count(&linked, |i| i.is(Op::MemoryModel)), 1);
            assert_eq!(count(&linked, |i| i.is(Op::ExtInstImport)), 1);
            assert_eq!(count(&linked, |i| i.is(Op::TypeInt) && i.operand(0) == Some(32)), 1);
            assert_eq!(count(&linked, |i| i.is(Op::TypeStruct)), 1);
            assert!(
                linkage(&linked, LinkageType::Import).iter().all(|name| name.starts_with("__spirv_BuiltIn"))
            );
            assert_eq!(linkage(&linked, LinkageType::Import).len(), 2, "one for each built-in variable");
            let mut declared: Vec<u32> = capabilities::declared(&linked).collect();
            let number = declared.len();
            declared.sort_unstable();
            declared.dedup();
            assert_eq!(declared.len(), number, "each capability once");
            let ids: std::collections::HashSet<u32> =
                linked.instructions().filter_map(|i| i.result_id()).collect();
            assert_eq!(ids.len() as u32 + 1, linked.id_bound(), "ids are dense");
        }
    }
}

#[test]
fn functions_of_one_name_stay_two() {
    let linked = link(&[&fixture("link_main.O0.spv"), &fixture("link_library.O0.spv")]).unwrap();
    let mut names: Vec<String> = linked.names().map(|(_, n)| n).filter(|n| n.contains("helper")).collect();
    names.sort();
    assert_eq!(names, ["helper", "helper.1.1"]);
    let tables: Vec<String> = linked.names().map(|(_, n)| n).filter(|n| n.starts_with("table")).collect();
    assert_eq!(tables, ["table", "table.1.1"]);
}

#[test]
fn what_no_module_defines_is_named_with_who_wants_it() {
    let text = message(link(&[&fixture("link_main.O2.spv")]));
    for name in ["`next` (module `first`)", "`sum` (module `first`)", "`library_table`"] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn what_two_modules_define_is_named_with_both() {
    let (main, library) = (fixture("link_main.O2.spv"), fixture("link_library.O2.spv"));
    let text = message(link(&[&main, &library, &library]));
    assert!(text.contains("is defined in module `second` and in module `third`"), "{text}");
    let without_kernel = dce::eliminate(&library, |root| matches!(root, Root::Export(_))).unwrap();
    let inputs = [&main, &library, &without_kernel].map(|module| LinkInput { name: "m", module });
    let merged = link_modules(&inputs, |_| true).unwrap();
    sound("merged", &merged);
    let plain = link(&[&main, &library]).unwrap();
    let functions = |module: &Module| count(module, |i| i.is(Op::Function));
    // The static helper is not merged.
    assert_eq!(functions(&merged), functions(&plain) + 1);
}

#[test]
fn kernels_of_one_name_are_an_error() {
    let text = message(link(&[&support::module("saxpy.O0.spv"), &support::module("saxpy.O2.spv")]));
    assert!(text.contains("saxpy") && text.contains("`first`") && text.contains("`second`"), "{text}");
}

#[test]
fn widths_of_addresses_must_agree() {
    let text = message(link(&[&support::module("saxpy.O2.spv"), &support::module("saxpy.physical32.spv")]));
    assert!(text.contains("memory models"), "{text}");
}

#[test]
fn built_in_variables_with_other_hints_are_one() {
    let kernel = |name: &str, hints: &[(Op, Vec<u32>)]| {
        let mut all = vec![
            (Op::Capability, vec![4]),
            (Op::Capability, vec![5]),
            (Op::Capability, vec![6]),
            (Op::Capability, vec![11]),
            (Op::MemoryModel, vec![2, 2]),
            (Op::EntryPoint, with_string(&[6, 20], name, &[10])),
            (Op::Decorate, vec![10, 11, 28]),
        ];
        all.extend_from_slice(hints);
        all.extend([
            (Op::TypeVoid, vec![1]),
            (Op::TypeInt, vec![2, 64, 0]),
            (Op::TypeVector, vec![4, 2, 3]),
            (Op::TypePointer, vec![5, 1, 4]),
            (Op::TypeFunction, vec![8, 1]),
            (Op::Variable, vec![5, 10, 1]),
            (Op::Function, vec![1, 20, 0, 8]),
            (Op::Label, vec![22]),
            (Op::Load, vec![4, 23, 10]),
            (Op::Return, vec![]),
            (Op::FunctionEnd, vec![]),
        ]);
        assemble(Version::V1_0, &all)
    };
    let constant = (Op::Decorate, vec![10, Decoration::Constant as u32]);
    let alignment = (Op::Decorate, vec![10, Decoration::Alignment as u32, 32]);
    let linked = link(&[
        &kernel("first", &[]),
        &kernel("second", std::slice::from_ref(&constant)),
        &kernel("third", &[alignment, constant]),
    ])
    .unwrap();
    sound("linked", &linked);
    assert_eq!(count(&linked, |i| i.is(Op::Variable)), 1);
    assert_eq!(count(&linked, |i| i.is(Op::EntryPoint)), 3);
}

/// `name`: a function, or its declaration, that takes an integer of `width` and returns void.
fn function(name: &str, width: u32, kind: LinkageType) -> Module {
    let mut all = vec![
        (Op::Capability, vec![4]),
        (Op::Capability, vec![5]),
        (Op::Capability, vec![6]),
        (Op::MemoryModel, vec![2, 2]),
        (Op::Decorate, with_string(&[1, Decoration::LinkageAttributes as u32], name, &[kind as u32])),
        (Op::TypeVoid, vec![2]),
        (Op::TypeInt, vec![3, width, 0]),
        (Op::TypeFunction, vec![4, 2, 3]),
        (Op::Function, vec![2, 1, 0, 4]),
        (Op::FunctionParameter, vec![3, 5]),
    ];
    if kind != LinkageType::Import {
        all.extend([(Op::Label, vec![6]), (Op::Return, vec![])]);
    }
    all.push((Op::FunctionEnd, vec![]));
    assemble(Version::V1_0, &all)
}

#[test]
fn types_of_import_and_export_must_agree() {
    let (import, export) = (LinkageType::Import, LinkageType::Export);
    link(&[&function("f", 32, import), &function("f", 32, export)]).unwrap();
    let text = message(link(&[&function("f", 32, import), &function("f", 64, export)]));
    let says = "`f` is a function of type void(i32) in module `first`, and a function of type void(i64) in module `second`";
    assert!(text.contains(says), "{text}");
}

#[test]
fn link_once_counts_once() {
    let once = function("f", 32, LinkageType::LinkOnceODR);
    let linked = link(&[&once, &once, &function("f", 32, LinkageType::Import)]).unwrap();
    assert_eq!(count(&linked, |i| i.is(Op::Function)), 1);
    message(link(&[&once, &function("f", 32, LinkageType::Export)]));
}

#[test]
fn nothing_to_link_is_an_error() {
    assert!(message(link(&[])).contains("no module"));
}

#[test]
fn specialization_constants_must_agree() {
    let with_default = |default| {
        assemble(
            Version::V1_0,
            &[
                (Op::Capability, vec![6]),
                (Op::Capability, vec![4]),
                (Op::MemoryModel, vec![2, 2]),
                (Op::Decorate, vec![2, Decoration::SpecId as u32, 7]),
                (Op::TypeInt, vec![1, 32, 0]),
                (Op::SpecConstant, vec![1, 2, default]),
            ],
        )
    };
    let linked = link(&[&with_default(3), &with_default(3)]).unwrap();
    assert_eq!(count(&linked, |i| i.is(Op::SpecConstant)), 1);
    let text = message(link(&[&with_default(3), &with_default(4)]));
    assert!(text.contains("specialization constant 7"), "{text}");
}

#[test]
fn groups_of_decorations_are_taken_apart() {
    let grouped = |value| {
        assemble(
            Version::V1_0,
            &[
                (Op::Capability, vec![6]),
                (Op::Capability, vec![4]),
                (Op::Capability, vec![5]),
                (Op::MemoryModel, vec![2, 2]),
                (Op::Decorate, vec![9, Decoration::Constant as u32]),
                (Op::Decorate, vec![9, Decoration::Alignment as u32, 4]),
                (Op::DecorationGroup, vec![9]),
                (Op::GroupDecorate, vec![9, 4, 5]),
                (Op::TypeInt, vec![1, 32, 0]),
                (Op::TypePointer, vec![2, 5, 1]),
                (Op::Constant, vec![1, 3, value]),
                (Op::Variable, vec![2, 4, 5, 3]),
                (Op::Variable, vec![2, 5, 5, 3]),
            ],
        )
    };
    let linked = link(&[&grouped(1), &grouped(2)]).unwrap();
    sound("groups", &linked);
    assert_eq!(count(&linked, |i| i.is(Op::Decorate)), 8);
    assert_eq!(count(&linked, |i| i.is(Op::GroupDecorate) || i.is(Op::DecorationGroup)), 0);
}

/// The functions of a module that are no kernels, with their names.
fn internal_functions(module: &Module) -> Vec<(u32, String)> {
    let entries: Vec<u32> =
        module.instructions().filter(|i| i.is(Op::EntryPoint)).filter_map(|i| i.operand(1)).collect();
    let names: BTreeMap<u32, String> = module.names().collect();
    let mut functions = Vec::new();
    let mut instructions = module.instructions().peekable();
    while let Some(instruction) = instructions.next() {
        let Some(id) = instruction.result_id().filter(|_| instruction.is(Op::Function)) else { continue };
        let has_body = instructions.clone().take_while(|i| !i.is(Op::FunctionEnd)).any(|i| i.is(Op::Label));
        if has_body && !entries.contains(&id) {
            functions.push((id, names.get(&id).cloned().unwrap_or_default()));
        }
    }
    functions
}

/// The module with the function imported, and the one that exports it.
fn split_off(module: &Module, function: u32) -> (Module, Module) {
    let definitions = Definitions::new(module);
    let with_linkage = |kind: LinkageType| {
        let mut edit = Editor::new(&definitions);
        for old in module.instructions().filter(|i| i.linkage().is_some_and(|(id, ..)| id == function)) {
            edit.remove(&old);
        }
        edit.decorate_linkage(function, "split off", kind);
        if kind == LinkageType::Import {
            let body = definitions.body(function).filter(|i| !i.is(Op::FunctionParameter));
            body.for_each(|i| edit.remove(&i));
        }
        edit.finish().unwrap().unwrap()
    };
    let main = dce::eliminate(&with_linkage(LinkageType::Import), |root| matches!(root, Root::EntryPoint(_)));
    let library =
        dce::eliminate(&with_linkage(LinkageType::Export), |root| root == Root::Export("split off"));
    (main.unwrap(), library.unwrap())
}

/// How often functions contain each opcode.
fn histogram(module: &Module) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for instruction in module.instructions().skip_while(|i| !i.is(Op::Function)) {
        *counts.entry(instruction.opcode).or_insert(0) += 1;
    }
    counts
}

#[test]
fn a_function_that_is_split_off_and_linked_again_changes_nothing() {
    let mut splits = 0;
    for (name, bytes) in support::corpus() {
        let module = strip(&Module::from_bytes(&bytes).unwrap(), |_| false).unwrap();
        let module = dce::eliminate(&module, |root| matches!(root, Root::EntryPoint(_))).unwrap();
        if check::check(&module).is_err() {
            continue;
        }
        let was_valid = support::is_valid(&module) == Some(true);
        for (function, function_name) in internal_functions(&module) {
            let (main, library) = split_off(&module, function);
            let called = linkage(&main, LinkageType::Import).contains(&"split off".to_owned());
            if !called {
                continue;
            }
            let inputs =
                [("main", &main), ("library", &library)].map(|(name, module)| LinkInput { name, module });
            let linked = match link_modules(&inputs, |_| true) {
                Ok(linked) => linked,
                Err(ImageError::Unsupported(_)) => continue,
                Err(error) => panic!("{name}, {function_name}: {error}"),
            };
            splits += 1;
            check::check(&linked).unwrap_or_else(|error| panic!("{name}, {function_name}: {error}"));
            if was_valid {
                support::assert_valid(&format!("{name}, {function_name}"), &linked);
            }
            // What both parts call is there twice, unless it was the library's own.
            let (before, after) = (histogram(&module), histogram(&linked));
            let twice = after[&(Op::Function as u16)] - before[&(Op::Function as u16)];
            assert!(twice > 0 || before == after, "{name}, {function_name}");
        }
    }
    assert!(splits > 10, "{splits} functions were split off");
}

/// `void f(global Node *node)`, where `struct Node { int value; global Node *next; }`. It is exported, or a kernel calls it. All ids begin
/// behind `before`, and the value has so many bits.
fn module_of_nodes(is_export: bool, before: u32, bits: u32) -> Module {
    let id = |id: u32| before + id;
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let function = [o(Op::Function, &[id(1), id(10), 0, id(5)]), o(Op::FunctionParameter, &[id(4), id(11)])];
    let export = [o(Op::Label, &[id(12)]), o(Op::Return, &[]), o(Op::FunctionEnd, &[])];
    let import = [
        o(Op::FunctionEnd, &[]),
        o(Op::Function, &[id(1), id(20), 0, id(5)]),
        o(Op::FunctionParameter, &[id(4), id(21)]),
        o(Op::Label, &[id(22)]),
        o(Op::FunctionCall, &[id(1), id(23), id(10), id(21)]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ];
    let entry = [(Op::EntryPoint, with_string(&[6, id(20)], "k", &[]))];
    let kind = if is_export { LinkageType::Export } else { LinkageType::Import };
    let head = [
        (Op::Name, with_string(&[id(3)], "struct.Node", &[])),
        (Op::Decorate, with_string(&[id(10), Decoration::LinkageAttributes as u32], "f", &[kind as u32])),
        o(Op::TypeVoid, &[id(1)]),
        o(Op::TypeInt, &[id(2), bits, 0]),
        o(Op::TypeForwardPointer, &[id(4), 5]),
        o(Op::TypeStruct, &[id(3), id(2), id(4)]),
        o(Op::TypePointer, &[id(4), 5, id(3)]),
        o(Op::TypeFunction, &[id(5), id(1), id(4)]),
    ];
    let code = entry.into_iter().filter(|_| !is_export).chain(head).chain(function);
    let code: Vec<_> = if is_export { code.chain(export).collect() } else { code.chain(import).collect() };
    assemble(Version::V1_0, &of_kernel(&[Capability::Linkage, Capability::Int64], code))
}

#[test]
fn structs_that_lead_to_themselves_are_shared() {
    let [export, import] = [module_of_nodes(true, 0, 32), module_of_nodes(false, 30, 32)];
    [&export, &import].into_iter().for_each(|module| sound("a part", module));
    let linked = link(&[&export, &import]).unwrap();
    sound("the linked nodes", &linked);
    let all = [Op::TypeStruct, Op::TypePointer, Op::TypeForwardPointer];
    assert_eq!(all.map(|op| count(&linked, |i| i.is(op))), [1; 3]);
    let other = module_of_nodes(false, 30, 64);
    assert!(message(link(&[&export, &other])).contains('f'), "structs with other members are others");
}

/// Which words of debug information are ids is not known.
#[test]
fn modules_with_debug_information_are_linked() {
    let modules = ["control.debug.spv", "saxpy.debug.spv"].map(support::module);
    let linked = link(&[&modules[0], &modules[1]]).unwrap();
    sound("two modules with debug information", &strip(&linked, |_| false).unwrap());
    assert_eq!(
        count(&linked, |i| i.is(Op::EntryPoint)),
        modules.iter().map(|m| count(m, |i| i.is(Op::EntryPoint))).sum()
    );
}

#[test]
fn modules_that_have_nothing_to_do_with_each_other() {
    let corpus: Vec<(String, Module)> = support::corpus()
        .into_iter()
        .map(|(name, bytes)| (name, strip(&Module::from_bytes(&bytes).unwrap(), |_| false).unwrap()))
        .filter(|(name, module)| !name.contains("physical32") && check::check(module).is_ok())
        .collect();
    let mut linked_pairs = 0;
    for (first_name, first) in &corpus {
        for (second_name, second) in corpus.iter().rev().step_by(3) {
            let inputs =
                [(first_name, first), (second_name, second)].map(|(name, module)| LinkInput { name, module });
            let linked = match link_modules(&inputs, |_| true) {
                Ok(linked) => linked,
                // Kernels of one name, structs that point to themselves.
                Err(ImageError::Link(_) | ImageError::Unsupported(_)) => continue,
                Err(error) => panic!("{first_name} and {second_name}: {error}"),
            };
            linked_pairs += 1;
            check::check(&linked).unwrap_or_else(|error| panic!("{first_name} and {second_name}: {error}"));
        }
    }
    assert!(linked_pairs > 100, "{linked_pairs} pairs were linked");
}
