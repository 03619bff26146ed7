//! Additions to modules, literal strings, layouts of types, and headers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_spirv::check;
use oclave_spirv::{
    Capability, Code, Decoration, Definitions, Editor, ExecutionMode, Module, Op, Section, StorageClass,
    Type, TypeTable, Version, string_words,
};
use support::{assemble, golden, module, with_string};

#[test]
fn an_added_kernel_is_valid_and_reuses_types() {
    let before = module("saxpy.O2.spv");
    let definitions = Definitions::new(&before);
    let mut new = Editor::new(&definitions);
    let int = new.int_type(32);
    assert_eq!(definitions.instruction(int).map(|i| i.is(Op::TypeInt)), Some(true), "the old module's type");
    let (void, pointer) = (new.void_type(), new.pointer_type(StorageClass::CrossWorkgroup, int));
    let vector = new.vector_type(int, 16);
    let table = new.pointer_type(StorageClass::CrossWorkgroup, vector);
    let function_type = new.function_type(void, &[pointer, table]);
    let value = new.int_constant(32, 41);
    assert_eq!(new.int_constant(32, 41), value, "made once");
    new.capability(Capability::Vector16);
    new.capability(Capability::Vector16);
    new.extension("SPV_KHR_no_integer_wrap_decoration");

    let [function, p, q, label] = std::array::from_fn(|_| new.fresh_id());
    let mut code = Code::new();
    code.push(Op::Function, &[void, function, 0, function_type]);
    code.push(Op::FunctionParameter, &[pointer, p]);
    code.push(Op::FunctionParameter, &[table, q]);
    code.push(Op::Label, &[label]);
    code.push(Op::Store, &[p, value, 2, 4]);
    code.push(Op::Return, &[]);
    code.push(Op::FunctionEnd, &[]);
    new.add_function(code);
    new.entry_point(function, "added", &[]);
    new.name(function, "added");
    new.decorate(p, Decoration::Alignment, &[4]);
    let after = new.finish().unwrap().unwrap();
    check::check(&after).unwrap();
    support::assert_valid("saxpy with a kernel more", &after);
    golden("added_kernel", &after);
}

#[test]
fn a_new_kernel_is_valid_and_its_types_bring_their_capabilities() {
    let empty = Module::empty(Version::V1_2);
    let definitions = Definitions::new(&empty);
    let mut new = Editor::new(&definitions);
    new.kernel_header(&[Capability::Addresses, Capability::Kernel]);
    let (void, byte, half) = (new.void_type(), new.int_type(8), new.float_type(16));
    let memory = new.pointer_type(StorageClass::CrossWorkgroup, byte);
    let function_type = new.function_type(void, &[memory]);
    assert_eq!(function_type, new.function_type(void, &[memory]), "made once");
    let (seven, one, yes) = (new.int_constant(8, 7), new.float_constant(16, 0x3c00), new.bool_constant(true));
    let vector = new.vector_type(half, 8);
    new.composite_constant(vector, &[one; 8]);
    let [function, parameter, label, choice] = std::array::from_fn(|_| new.fresh_id());
    let mut code = Code::new();
    code.push(Op::Function, &[void, function, 0, function_type]);
    code.push(Op::FunctionParameter, &[memory, parameter]);
    code.push(Op::Label, &[label]);
    code.push(Op::Select, &[half, choice, yes, one, one]);
    code.push(Op::Store, &[parameter, seven, 2, 1]);
    code.push(Op::Return, &[]);
    code.push(Op::FunctionEnd, &[]);
    new.add_function(code);
    new.entry_point(function, "seven", &[]);
    new.execution_mode(function, ExecutionMode::LocalSize, &[8, 1, 1]);
    let after = new.finish().unwrap().unwrap();
    check::check(&after).unwrap();
    support::assert_valid("a new kernel", &after);
    assert_eq!(after.version(), Version::V1_2);
    let capabilities = after.instructions().filter(|i| i.is(Op::Capability)).filter_map(|i| i.operand(0));
    let wanted = [
        Capability::Addresses,
        Capability::Kernel,
        Capability::Int8,
        Capability::Float16,
        Capability::Vector16,
    ];
    assert_eq!(capabilities.collect::<Vec<_>>(), wanted.map(|c| c as u32));
}

#[test]
fn a_type_that_is_removed_is_brought_back_with_its_parts() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let before = assemble(
        Version::V1_2,
        &[o(Op::TypeInt, &[1, 64, 0]), o(Op::TypeVector, &[2, 1, 3]), o(Op::TypePointer, &[3, 1, 2])],
    );
    let definitions = Definitions::new(&before);
    let mut new = Editor::new(&definitions);
    before.instructions().for_each(|i| new.remove(&i));
    let int = new.int_type(64);
    let vector = new.vector_type(int, 3);
    assert_eq!(new.pointer_type(StorageClass::Input, vector), 3, "the old module's type");
    let after = new.finish().unwrap().unwrap();
    let order: Vec<u32> = after.instructions().filter_map(|i| i.result_id()).collect();
    assert_eq!(order, [1, 2, 3]);
}

#[test]
fn types_that_are_added_late_stand_before_their_use() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let before = assemble(
        Version::V1_2,
        &[o(Op::TypeInt, &[1, 32, 0]), o(Op::TypePointer, &[2, 5, 1]), o(Op::Variable, &[2, 3, 5])],
    );
    let definitions = Definitions::new(&before);
    let mut new = Editor::new(&definitions);
    new.replace(&definitions.instruction(3).unwrap(), Op::Variable, &[900, 3, 5]);
    new.push_in(Section::Types, Op::TypePointer, &[900, 5, 2]);
    let after = new.finish().unwrap().unwrap();
    let order: Vec<u32> = after.instructions().filter_map(|i| i.result_id()).collect();
    assert_eq!(order, [1, 2, 900, 3]);
}

#[test]
fn strings_go_in_and_out() {
    for text in ["", "a", "abc", "abcd", "grüße, 世界", "seven b"] {
        let named = assemble(Version::V1_0, &[(Op::Name, with_string(&[7], text, &[]))]);
        let name = named.instructions().next().unwrap();
        assert_eq!(name.string(1).as_deref(), Some(text));
        assert!(name.string_is(1, text) && !name.string_is(1, "other"));
        assert_eq!(name.after_string(1), Some(&[][..]));
        assert_eq!(string_words(text).len(), text.len() / 4 + 1);
    }
    let endless = assemble(Version::V1_0, &[(Op::Name, vec![7, u32::MAX])]);
    let name = endless.instructions().next().unwrap();
    assert_eq!((name.string(1), name.after_string(1), name.string(9)), (None, None, None));
    let wrong = assemble(Version::V1_0, &[(Op::Name, vec![7, 0x00ff_41ff])]);
    assert_eq!(wrong.instructions().next().unwrap().string(1).as_deref(), Some("\u{fffd}A\u{fffd}"));
}

#[test]
fn layouts_are_those_of_opencl() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let types = |addressing: u32| {
        assemble(
            Version::V1_2,
            &[
                o(Op::MemoryModel, &[addressing, 2]),
                o(Op::Decorate, &[21, Decoration::CPacked as u32]),
                o(Op::TypeInt, &[1, 8, 0]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::TypeFloat, &[3, 64]),
                o(Op::TypeVector, &[4, 2, 3]),
                o(Op::Constant, &[2, 5, 5]),
                o(Op::TypeArray, &[6, 4, 5]),
                o(Op::TypePointer, &[7, 5, 1]),
                o(Op::TypeStruct, &[20, 1, 3, 1, 4, 7, 1]),
                o(Op::TypeStruct, &[21, 1, 3, 1]),
                o(Op::TypeStruct, &[22, 21, 2, 6]),
                o(Op::SpecConstant, &[2, 8, 5]),
                o(Op::TypeArray, &[23, 2, 8]),
                o(Op::Constant, &[2, 9, u32::MAX]),
                o(Op::TypeArray, &[24, 20, 9]),
                o(Op::TypeArray, &[25, 24, 9]),
                o(Op::TypeForwardPointer, &[31, 5]),
                o(Op::TypeStruct, &[30, 31, 2]),
                o(Op::TypePointer, &[31, 5, 30]),
                o(Op::TypeArray, &[40, 40, 5]),
                o(Op::TypeStruct, &[41, 42]),
                o(Op::TypeStruct, &[42, 41]),
            ],
        )
    };
    let module = types(2);
    let definitions = Definitions::new(&module);
    let table = TypeTable::new(&definitions);
    let layout = |id| (table.size_bytes(id), table.align_bytes(id));
    assert_eq!(layout(4), (Some(16), 16), "a vector of three is one of four");
    assert_eq!(layout(6), (Some(80), 16));
    assert_eq!((layout(20), table.member_offsets(20)), ((Some(64), 16), Some(vec![0, 8, 16, 32, 48, 56])));
    assert_eq!((layout(21), table.member_offsets(21)), ((Some(10), 1), Some(vec![0, 1, 9])), "packed");
    assert_eq!((layout(22), table.member_offsets(22)), ((Some(96), 16), Some(vec![0, 12, 16])));
    assert_eq!(layout(23), (None, 4), "as long as a specialization constant says");
    assert_eq!(table.size_bytes(25), Some(u64::MAX), "saturates");
    assert_eq!(layout(30), (Some(16), 8), "a list: a pointer to itself");
    assert!(matches!(table.ty(40), Some(Type::Other)) && matches!(table.ty(41), Some(Type::Other)), "cycles");
    let module = types(1);
    let definitions = Definitions::new(&module);
    assert_eq!(TypeTable::new(&definitions).size_bytes(30), Some(8), "32-bit pointers");
}

#[test]
fn a_bound_without_ids_costs_no_memory() {
    // Twenty bytes that declare four million ids: a map of them is no array.
    let bytes: Vec<u8> =
        [0x0723_0203_u32, 0x0001_0000, 0, 0x40_0000, 0].iter().flat_map(|w| w.to_le_bytes()).collect();
    let module = Module::from_bytes(&bytes).unwrap();
    let begin = std::time::Instant::now();
    for _ in 0..10_000 {
        std::hint::black_box(Definitions::new(&module));
    }
    assert!(begin.elapsed().as_secs() < 2, "took {:?}", begin.elapsed());
}

#[test]
fn bad_headers_and_streams_are_refused() {
    let refused = |words: &[u32], why: &str| {
        let error = Module::from_words(words.to_vec()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&[], "header");
    refused(&[0x0723_0203, 0x0001_0000, 0, 1], "header");
    refused(&[0x0bad_beef, 0x0001_0000, 0, 1, 0], "magic");
    refused(&[0x0723_0203, 0x0002_0000, 0, 1, 0], "version");
    refused(&[0x0723_0203, 0x0001_0000, 0, 0, 0], "bound");
    refused(&[0x0723_0203, 0x0001_0000, 0, u32::MAX, 0], "bound");
    refused(&[0x0723_0203, 0x0001_0000, 0, 1, 1], "schema");
    refused(&[0x0723_0203, 0x0001_0000, 0, 1, 0, 17], "word count of 0");
    refused(&[0x0723_0203, 0x0001_0000, 0, 1, 0, 3 << 16 | 17, 6], "only 2 are left");
    assert!(Module::from_bytes(&[3, 2, 0x23]).unwrap_err().to_string().contains("truncated"));
}
