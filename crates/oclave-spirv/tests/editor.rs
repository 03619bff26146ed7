//! Changes at given instructions: what is written lands where it belongs, and the rest stays.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use oclave_spirv::{
    Capability, Decoration, Definitions, Editor, Error, FunctionControl, Instruction, Module, Op, Section,
    StorageClass, Version, check,
};
use support::{assemble, assert_valid, with_string};

const VOID: u32 = 1;
const UINT: u32 = 2;
const BOOL: u32 = 3;
const FUNCTION_TYPE: u32 = 4;
const ONE: u32 = 5;
const ZERO: u32 = 6;
const KERNEL: u32 = 7;
const PARAMETER: u32 = 8;
const ENTRY: u32 = 9;
const VARIABLE: u32 = 10;
const POINTER: u32 = 11;
const LOOP: u32 = 12;
const COUNTER: u32 = 13;
const NEXT: u32 = 14;
const CONDITION: u32 = 15;
const DONE: u32 = 16;
const DIMENSIONS: u32 = 17;
const INPUT: u32 = 18;
const OTHER: u32 = 19;
const OTHER_PARAMETER: u32 = 20;
const OTHER_LABEL: u32 = 21;
const LOADED: u32 = 22;
const GROUP: u32 = 23;
const WIDE_INPUT: u32 = 24;
const FILE: u32 = 25;
const SUM: u32 = 26;

const WORK_DIM: u32 = 30;

/// A kernel with a loop, and a function that nothing calls.
fn module() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let private = StorageClass::Function as u32;
    let input = StorageClass::Input as u32;
    let name = |id: u32, name: &str| (Op::Name, with_string(&[id], name, &[]));
    let module = assemble(
        Version::V1_2,
        &[
            o(Op::Capability, &[Capability::Addresses as u32]),
            o(Op::Capability, &[Capability::Kernel as u32]),
            o(Op::Capability, &[Capability::Linkage as u32]),
            (Op::Extension, with_string(&[], "SPV_KHR_no_integer_wrap_decoration", &[])),
            o(Op::MemoryModel, &[2, 2]),
            (Op::EntryPoint, with_string(&[6, KERNEL], "k", &[DIMENSIONS])),
            (Op::String, with_string(&[FILE], "file", &[])),
            name(DIMENSIONS, "dimensions"),
            name(NEXT, "next"),
            name(COUNTER, "counter"),
            name(SUM, "sum"),
            o(Op::Decorate, &[DIMENSIONS, Decoration::BuiltIn as u32, WORK_DIM]),
            o(Op::Decorate, &[NEXT, Decoration::NoSignedWrap as u32]),
            o(Op::Decorate, &[GROUP, Decoration::Restrict as u32]),
            o(Op::DecorationGroup, &[GROUP]),
            o(Op::GroupDecorate, &[GROUP, DIMENSIONS, VARIABLE]),
            o(Op::TypeVoid, &[VOID]),
            o(Op::TypeInt, &[UINT, 32, 0]),
            o(Op::TypeBool, &[BOOL]),
            o(Op::TypeFunction, &[FUNCTION_TYPE, VOID, UINT]),
            o(Op::TypePointer, &[POINTER, private, UINT]),
            o(Op::TypePointer, &[INPUT, input, UINT]),
            o(Op::Constant, &[UINT, ONE, 1]),
            o(Op::Constant, &[UINT, ZERO, 0]),
            o(Op::Variable, &[INPUT, DIMENSIONS, input]),
            o(Op::Variable, &[INPUT, WIDE_INPUT, input]),
            o(Op::Function, &[VOID, KERNEL, FunctionControl::NONE.bits(), FUNCTION_TYPE]),
            o(Op::FunctionParameter, &[UINT, PARAMETER]),
            o(Op::Label, &[ENTRY]),
            o(Op::Variable, &[POINTER, VARIABLE, private]),
            o(Op::Store, &[VARIABLE, PARAMETER]),
            o(Op::Branch, &[LOOP]),
            o(Op::Label, &[LOOP]),
            o(Op::Phi, &[UINT, COUNTER, ZERO, ENTRY, NEXT, LOOP]),
            o(Op::IAdd, &[UINT, NEXT, COUNTER, ONE]),
            o(Op::ULessThan, &[BOOL, CONDITION, NEXT, PARAMETER]),
            o(Op::LoopMerge, &[DONE, LOOP, 0]),
            o(Op::BranchConditional, &[CONDITION, LOOP, DONE]),
            o(Op::Label, &[DONE]),
            o(Op::Load, &[UINT, LOADED, DIMENSIONS]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
            o(Op::Line, &[FILE, 1, 1]),
            o(Op::Function, &[VOID, OTHER, FunctionControl::NONE.bits(), FUNCTION_TYPE]),
            o(Op::FunctionParameter, &[UINT, OTHER_PARAMETER]),
            o(Op::Label, &[OTHER_LABEL]),
            o(Op::IAdd, &[UINT, SUM, OTHER_PARAMETER, ONE]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
        ],
    );
    check::check(&module).unwrap();
    module
}

/// The sound module with these changes; `None` where there are none.
fn changed(module: &Module, change: impl FnOnce(&mut Editor<'_>)) -> Option<Module> {
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    change(&mut edit);
    let after = edit.finish().unwrap()?;
    check::check(&after).unwrap();
    assert_valid("a changed module", &after);
    Some(after)
}

fn edited(change: impl FnOnce(&mut Editor<'_>)) -> Module {
    changed(&module(), change).unwrap()
}

/// The instruction of the old module that defines an id.
fn at<'m>(edit: &Editor<'m>, id: u32) -> Instruction<'m> {
    edit.definitions().instruction(id).unwrap()
}

/// The first instruction of a kind of the old module.
fn first<'m>(edit: &Editor<'m>, op: Op) -> Instruction<'m> {
    edit.definitions().module().instructions().find(|i| i.is(op)).unwrap()
}

/// The opcodes of a block behind its label.
fn block(module: &Module, label: u32) -> Vec<Op> {
    let start = Definitions::new(module).word_index(label).unwrap();
    let rest = module.instructions_from(start).skip(1);
    rest.map(|i| i.op().unwrap()).take_while(|op| !matches!(op, Op::Label | Op::FunctionEnd)).collect()
}

fn operands(module: &Module, id: u32) -> Vec<u32> {
    Definitions::new(module).instruction(id).unwrap().operands().to_vec()
}

fn count(module: &Module, op: Op) -> usize {
    module.instructions().filter(|i| i.is(op)).count()
}

fn interface(module: &Module) -> Vec<u32> {
    module.instructions().find(|i| i.is(Op::EntryPoint)).unwrap().after_string(2).unwrap().to_vec()
}

fn names(module: &Module) -> Vec<String> {
    module.names().map(|(_, name)| name).collect()
}

#[test]
fn without_changes_there_is_no_new_module() {
    let same = changed(&module(), |edit| {
        let next = at(edit, NEXT);
        let _ = edit.before(&next);
        let _ = edit.at_entry(KERNEL);
        assert_eq!((edit.int_type(32), edit.int_constant(32, 1)), (UINT, ONE));
        edit.capability(Capability::Kernel);
        edit.extension("SPV_KHR_no_integer_wrap_decoration");
    });
    assert!(same.is_none());
    let older = edited(|edit| edit.set_version(Version::V1_0));
    assert_eq!(older.version(), Version::V1_0);
}

#[test]
fn places_at_one_instruction_have_an_order() {
    let after = edited(|edit| {
        let store = first(edit, Op::Store);
        edit.after(&store).emit(Op::Not, UINT, &[ONE]);
        edit.after(&store).emit(Op::SNegate, UINT, &[ONE]);
        edit.instead_of(&store).emit(Op::BitwiseXor, UINT, &[ONE, ONE]);
        edit.before(&store).emit(Op::BitwiseOr, UINT, &[ONE, ONE]);
        edit.before(&store).emit(Op::BitwiseAnd, UINT, &[ONE, ONE]);
        edit.at_start(ENTRY).emit(Op::IMul, UINT, &[ONE, ONE]);
        edit.at_entry(KERNEL).emit(Op::ISub, UINT, &[ONE, ONE]);
        edit.variable(KERNEL, UINT, None);
        edit.instead_of(&store).copy(&store);
    });
    let wanted = [
        Op::Variable,
        Op::Variable,
        Op::ISub,
        Op::IMul,
        Op::BitwiseOr,
        Op::BitwiseAnd,
        Op::BitwiseXor,
        Op::Store,
        Op::Not,
        Op::SNegate,
        Op::Branch,
    ];
    assert_eq!(block(&after, ENTRY), wanted);
}

#[test]
fn blocks_start_after_phis_and_functions_after_variables() {
    let after = edited(|edit| {
        edit.at_start(LOOP).emit(Op::ISub, UINT, &[COUNTER, ONE]);
        edit.at_entry(OTHER).emit(Op::IMul, UINT, &[OTHER_PARAMETER, ONE]);
        edit.at_entry(KERNEL).emit(Op::IMul, UINT, &[PARAMETER, ONE]);
    });
    assert!(block(&after, LOOP).starts_with(&[Op::Phi, Op::ISub, Op::IAdd]));
    assert_eq!(block(&after, OTHER_LABEL), [Op::IMul, Op::IAdd, Op::Return]);
    assert_eq!(block(&after, ENTRY), [Op::Variable, Op::IMul, Op::Store, Op::Branch]);
}

#[test]
fn variables_have_a_type_and_an_initial_value() {
    let mut ids = [0; 2];
    let after = edited(|edit| {
        ids = [edit.variable(OTHER, UINT, Some(ONE)), edit.variable(OTHER, BOOL, None)];
        edit.at_entry(OTHER).emit(Op::Load, UINT, &[ids[0]]);
    });
    assert_eq!(block(&after, OTHER_LABEL), [Op::Variable, Op::Variable, Op::Load, Op::IAdd, Op::Return]);
    assert_eq!(operands(&after, ids[0]), [StorageClass::Function as u32, ONE]);
    let definitions = Definitions::new(&after);
    assert_eq!(definitions.type_of(ids[0]), Some(POINTER));
    assert_eq!(operands(&after, definitions.type_of(ids[1]).unwrap()), [7, BOOL]);
}

#[test]
fn instructions_are_replaced_and_copied() {
    let mut copy = 0;
    let after = edited(|edit| {
        let (next, condition) = (at(edit, NEXT), at(edit, CONDITION));
        edit.replace(&next, Op::ISub, &[UINT, NEXT, COUNTER, ONE]);
        let mut cursor = edit.before(&condition);
        copy = cursor.fresh_id();
        cursor.copy_mapped(&next, |id| match id {
            NEXT => copy,
            ONE => ZERO,
            _ => id,
        });
        // A constant of a module of its own: its place is before what uses it.
        let two = edit.int_constant(32, 2);
        edit.after(&next).emit(Op::IMul, UINT, &[NEXT, two]);
    });
    assert!(block(&after, LOOP).starts_with(&[Op::Phi, Op::ISub, Op::IMul, Op::IAdd, Op::ULessThan]));
    assert_eq!(operands(&after, copy), [COUNTER, ZERO]);
    assert!(names(&after).contains(&"next".to_owned()), "what is replaced keeps its name");
}

#[test]
fn what_is_removed_loses_names_decorations_and_places_in_interfaces() {
    let after = edited(|edit| {
        let (dimensions, loaded) = (at(edit, DIMENSIONS), at(edit, LOADED));
        edit.remove(&dimensions);
        edit.remove(&loaded);
    });
    assert_eq!(names(&after), ["next", "counter", "sum"]);
    assert_eq!(interface(&after), []);
    assert!(after.built_ins().next().is_none());
    let group = |module: &Module| {
        module.instructions().find(|i| i.is(Op::GroupDecorate)).map(|i| i.operands().to_vec())
    };
    assert_eq!(group(&after), Some(vec![GROUP, VARIABLE]));

    let after = edited(|edit| {
        let loaded = at(edit, LOADED);
        edit.remove(&loaded);
        edit.remove_annotations(NEXT);
        edit.remove_annotations(VARIABLE);
        edit.remove_annotations(DIMENSIONS);
    });
    assert_eq!(names(&after), ["counter", "sum"]);
    assert_eq!(group(&after), None, "a group without targets");
    assert_eq!(block(&after, LOOP), block(&module(), LOOP));
}

#[test]
fn other_ids_take_the_place_of_uses_only() {
    let mut written = 0;
    let after = edited(|edit| {
        edit.replace_uses(COUNTER, PARAMETER);
        edit.replace_uses(NEXT, ZERO);
        written = edit.at_start(DONE).emit(Op::IAdd, UINT, &[NEXT, COUNTER]);
    });
    assert_eq!(operands(&after, NEXT), [PARAMETER, ONE]);
    assert_eq!(operands(&after, COUNTER), [ZERO, ENTRY, ZERO, LOOP]);
    assert_eq!(operands(&after, CONDITION), [ZERO, PARAMETER]);
    assert_eq!(operands(&after, written), [NEXT, COUNTER], "code of the editor stays");
    let named: Vec<(u32, String)> = module().names().collect();
    assert_eq!(after.names().collect::<Vec<_>>(), named);
    let wraps = |i: &Instruction<'_>| i.operands() == [NEXT, Decoration::NoSignedWrap as u32];
    assert!(after.instructions().any(|i| i.is(Op::Decorate) && wraps(&i)));
}

#[test]
fn types_take_the_place_of_types() {
    let after = edited(|edit| {
        edit.push_in(Section::Types, Op::TypeInt, &[800, 8, 0]);
        edit.capability(Capability::Int8);
        edit.push_in(Section::Types, Op::TypePointer, &[801, StorageClass::Function as u32, 800]);
        edit.replace_uses(POINTER, 801);
        let store = first(edit, Op::Store);
        edit.remove(&store);
    });
    assert_eq!(Definitions::new(&after).type_of(VARIABLE), Some(801));
}

#[test]
fn phis_name_the_block_that_has_the_end_now() {
    let mut behind = 0;
    let after = edited(|edit| {
        let (branch, merge) = (first(edit, Op::BranchConditional), first(edit, Op::LoopMerge));
        edit.remove(&merge);
        behind = edit.fresh_id();
        let mut cursor = edit.before(&branch);
        cursor.push(Op::Branch, &[behind]);
        cursor.push(Op::Label, &[behind]);
        edit.move_end(LOOP, behind);
    });
    assert_eq!(operands(&after, COUNTER), [ZERO, ENTRY, NEXT, behind]);
    let branch = after.instructions().find(|i| i.is(Op::BranchConditional)).unwrap();
    assert_eq!(branch.operands(), [CONDITION, LOOP, DONE], "branches go to the same block");
}

#[test]
fn entry_points_get_variables_that_they_lack() {
    let after = edited(|edit| {
        edit.add_to_interfaces(WIDE_INPUT);
        edit.add_to_interfaces(DIMENSIONS);
        edit.add_to_interfaces(WIDE_INPUT);
    });
    assert_eq!(interface(&after), [DIMENSIONS, WIDE_INPUT]);
}

#[test]
fn functions_are_replaced_and_removed() {
    let after = edited(|edit| {
        let mut cursor = edit.instead_of_function(OTHER);
        cursor.push(Op::Function, &[VOID, OTHER, 0, FUNCTION_TYPE]);
        cursor.push(Op::FunctionParameter, &[UINT, OTHER_PARAMETER]);
        cursor.push(Op::Label, &[OTHER_LABEL]);
        cursor.emit(Op::IAdd, UINT, &[OTHER_PARAMETER, OTHER_PARAMETER]);
        cursor.push(Op::Return, &[]);
        cursor.push(Op::FunctionEnd, &[]);
        edit.remove_annotations(SUM);
        // It is part of what goes.
        edit.at_start(OTHER_LABEL).emit(Op::IMul, UINT, &[ONE, ONE]);
        edit.at_entry(KERNEL).emit(Op::ISub, UINT, &[ONE, ONE]);
    });
    assert_eq!(block(&after, OTHER_LABEL), [Op::IAdd, Op::Return]);
    assert!(block(&after, ENTRY).contains(&Op::ISub));
    let all: Vec<Instruction<'_>> = after.instructions().collect();
    let line = all.iter().position(|i| i.is(Op::Line)).unwrap();
    assert_eq!(all[line + 1].result_id(), Some(OTHER), "its line stays before it");

    let after = edited(|edit| edit.remove_function(OTHER));
    assert_eq!((count(&after, Op::Function), count(&after, Op::Line)), (1, 0));
    assert_eq!(names(&after), ["dimensions", "next", "counter"]);

    let after = edited(|edit| {
        edit.remove_function(KERNEL);
        let entry = first(edit, Op::EntryPoint);
        edit.remove(&entry);
    });
    assert_eq!(
        (names(&after), count(&after, Op::GroupDecorate)),
        (vec!["dimensions".to_owned(), "sum".to_owned()], 1)
    );
}

#[test]
fn blocks_are_replaced() {
    let after = edited(|edit| {
        let mut cursor = edit.instead_of_block(LOOP);
        cursor.push(Op::Label, &[LOOP]);
        cursor.push(Op::IAdd, &[UINT, NEXT, PARAMETER, ONE]);
        cursor.push(Op::Branch, &[DONE]);
        edit.remove_annotations(COUNTER);
    });
    assert_eq!(block(&after, LOOP), [Op::IAdd, Op::Branch]);
    assert_eq!(names(&after), ["dimensions", "next", "sum"]);
    assert_eq!(block(&after, DONE), block(&module(), DONE));
}

#[test]
fn functions_end_with_more_blocks() {
    let after = edited(|edit| {
        let end = first(edit, Op::FunctionEnd);
        let label = edit.fresh_id();
        let mut cursor = edit.before(&end);
        cursor.push(Op::Label, &[label]);
        cursor.push(Op::Unreachable, &[]);
    });
    let ends: Vec<Op> = after.instructions().filter_map(|i| i.op()).collect();
    assert!(ends.windows(3).any(|ops| ops == [Op::Label, Op::Unreachable, Op::FunctionEnd]));
}

#[test]
fn declarations_are_added_once_and_in_order() {
    let after = edited(|edit| {
        edit.capability(Capability::Kernel);
        edit.capability(Capability::Int64);
        edit.capability(Capability::Int64);
        edit.extension("SPV_KHR_no_integer_wrap_decoration");
        let long = edit.int_type(64);
        let function = edit.import("imported", long, &[long]);
        let argument = edit.null_constant(long);
        let result = edit.at_entry(KERNEL).emit(Op::FunctionCall, long, &[function, argument]);
        edit.name(result, "result");
    });
    let capabilities: Vec<u32> =
        after.instructions().filter(|i| i.is(Op::Capability)).filter_map(|i| i.operand(0)).collect();
    let wanted = [Capability::Addresses, Capability::Kernel, Capability::Linkage, Capability::Int64];
    assert_eq!(capabilities, wanted.map(|c| c as u32));
    assert_eq!(count(&after, Op::Extension), 1);
    assert!(names(&after).contains(&"result".to_owned()));
}

#[test]
fn what_cannot_be_encoded_is_an_error() {
    let before = module();
    let definitions = Definitions::new(&before);
    let mut edit = Editor::new(&definitions);
    (0..0x40_0001).for_each(|_| _ = edit.fresh_id());
    assert!(matches!(edit.finish(), Err(Error::Unsupported(what)) if what.contains("ids")));
    let mut edit = Editor::new(&definitions);
    edit.at_start(LOOP).push(Op::TypeStruct, &vec![1; 70_000]);
    assert!(matches!(edit.finish(), Err(Error::Unsupported(what)) if what.contains("65535")));
    let mut edit = Editor::new(&definitions);
    edit.push_in(Section::Types, Op::TypeStruct, &vec![1; 70_000]);
    assert!(matches!(edit.finish(), Err(Error::Unsupported(what)) if what.contains("65535")));
}

#[test]
fn what_takes_the_place_of_an_id_gets_neither_its_name_nor_its_place_in_interfaces() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let before = assemble(
        Version::V1_4,
        &[
            o(Op::EntryPoint, &with_string(&[6, 9], "kernel", &[3, 4])),
            o(Op::Name, &with_string(&[3], "old", &[])),
            o(Op::Decorate, &[3, Decoration::Constant as u32]),
            o(Op::TypeInt, &[1, 32, 0]),
            o(Op::TypePointer, &[2, 5, 1]),
            o(Op::Variable, &[2, 3, 5]),
            o(Op::Variable, &[2, 4, 5]),
            o(Op::Variable, &[2, 5, 5, 3]),
        ],
    );
    let definitions = Definitions::new(&before);
    let mut edit = Editor::new(&definitions);
    edit.remove(&definitions.instruction(3).unwrap());
    edit.replace_uses(3, 1);
    assert_eq!([edit.replaced(3), edit.replaced(4)], [1, 4]);
    let after = edit.finish().unwrap().unwrap();
    let entry = after.instructions().next().unwrap();
    assert_eq!(entry.after_string(2), Some(&[4][..]));
    let ops: Vec<Op> = after.instructions().filter_map(|i| i.op()).collect();
    assert_eq!(ops, [Op::EntryPoint, Op::TypeInt, Op::TypePointer, Op::Variable, Op::Variable]);
    assert_eq!(after.instructions().last().unwrap().operands(), [5, 1], "other uses change");
}

#[test]
fn a_module_of_the_instructions_of_another_one_is_that_module() {
    let other = support::module("saxpy.O2.spv");
    let empty = Module::empty(other.version());
    let definitions = Definitions::new(&empty);
    let mut edit = Editor::new(&definitions);
    other.instructions().for_each(|instruction| edit.append(&instruction));
    let copy = edit.finish().unwrap().unwrap();
    assert_eq!(copy.words().get(5..), other.words().get(5..));
    assert!(Editor::new(&definitions).finish().unwrap().is_none(), "nothing was added");
}

#[test]
fn code_before_the_end_of_a_function_stays_in_it() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let before = assemble(
        Version::V1_0,
        &[
            o(Op::TypeVoid, &[1]),
            o(Op::TypeFunction, &[2, 1]),
            o(Op::Function, &[1, 3, 0, 2]),
            o(Op::Label, &[4]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
            o(Op::Function, &[1, 5, 0, 2]),
            o(Op::FunctionEnd, &[]),
        ],
    );
    let definitions = Definitions::new(&before);
    let mut edit = Editor::new(&definitions);
    let end = before.instructions().find(|i| i.is(Op::FunctionEnd)).unwrap();
    let label = edit.fresh_id();
    let mut at = edit.before(&end);
    at.push(Op::Label, &[label]);
    at.push(Op::Unreachable, &[]);
    let after = edit.finish().unwrap().unwrap();
    let ops: Vec<Op> = after.instructions().filter_map(|i| i.op()).skip(2).collect();
    let declared = [Op::Function, Op::FunctionEnd];
    let defined = [Op::Function, Op::Label, Op::Return, Op::Label, Op::Unreachable, Op::FunctionEnd];
    assert_eq!(ops, [&declared[..], &defined].concat(), "functions without blocks come first");
}
