//! Changes of modules at given instructions.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_spirv::{Decoration, Definitions, Editor, Module, Op, Version};
use support::{assemble, module, with_string};

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
    let other = module("saxpy.O2.spv");
    let empty = Module::empty(other.version());
    let definitions = Definitions::new(&empty);
    let mut edit = Editor::new(&definitions);
    other.instructions().for_each(|instruction| edit.append(&instruction));
    let copy = edit.finish().unwrap().unwrap();
    assert_eq!(copy.words().get(5..), other.words().get(5..));
    assert!(Editor::new(&definitions).finish().unwrap().is_none(), "nothing was added");
}
