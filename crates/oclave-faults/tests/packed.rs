//! Packed structs and constants with addresses, as Mesa's llvmpipe takes them.
#![allow(clippy::unwrap_used)]

mod support;

use support::lowered::rich;

use std::collections::BTreeSet;

use oclave_faults::Fault;
use oclave_image::{DeviceImage, DeviceTarget, legalize};
use oclave_spirv::check;
use oclave_spirv::{Definitions, Module, Op, StorageClass, Type, TypeTable};

fn legal(target: &DeviceTarget) -> Module {
    let path = format!("{}/../oclave-image/tests/fixtures/packed.O2.spv", env!("CARGO_MANIFEST_DIR"));
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let spirv = module.words().to_vec();
    let image = DeviceImage { name: "packed".to_owned(), spirv, ..DeviceImage::default() };
    let legal = Module::from_words(legalize(&image, target).unwrap()).unwrap();
    check::check(&legal).unwrap();
    support::assert_valid("packed", &legal);
    legal
}

/// The functions that access a number in local memory that is aligned to less than its size.
fn functions_with_unaligned_accesses(module: &Module) -> BTreeSet<String> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let mut function = 0;
    let mut found = BTreeSet::new();
    for instruction in module.instructions() {
        let (pointer, value, alignment) = match (instruction.op(), instruction.operands()) {
            (Some(Op::Function), _) => {
                function = instruction.result_id().unwrap();
                continue;
            }
            (Some(Op::Load), &[pointer, _, alignment]) => (pointer, instruction.result_type(), alignment),
            (Some(Op::Store), &[pointer, value, _, alignment]) => {
                (pointer, definitions.type_of(value), alignment)
            }
            (Some(Op::CopyMemorySized), &[pointer, _, _, _, alignment]) => (pointer, None, alignment),
            _ => continue,
        };
        let Some(Type::Pointer { class, .. }) = types.ty(definitions.type_of(pointer).unwrap()) else {
            continue;
        };
        let size = value.map_or(8, |ty| types.size_bytes(ty).unwrap());
        if class == StorageClass::Workgroup as u32 && u64::from(alignment) < size {
            found.extend(module.names().find(|(id, _)| *id == function).map(|(_, name)| name));
        }
    }
    found
}

#[test]
fn accesses_to_local_memory_are_as_wide_as_their_alignment() {
    let before = functions_with_unaligned_accesses(&legal(&rich()));
    assert_eq!(before, ["copied", "in_local"].map(str::to_owned).into());
    let target = DeviceTarget { faults: Fault::Q56.into(), ..rich() };
    assert_eq!(functions_with_unaligned_accesses(&legal(&target)), BTreeSet::new());
}

#[test]
fn accesses_of_too_many_parts_are_refused() {
    let path = format!(
        "{}/../oclave-image/tests/regressions/sound/unaligned_array_of_arrays.spv",
        env!("CARGO_MANIFEST_DIR")
    );
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let image = DeviceImage { spirv: module.words().to_vec(), ..DeviceImage::default() };
    assert!(legalize(&image, &rich()).is_ok());
    let target = DeviceTarget { faults: Fault::Q56.into(), ..rich() };
    let error = legalize(&image, &target).unwrap_err().to_string();
    assert!(error.contains("an access of 4194304 parts") && error.contains("copy in a loop"), "{error}");
}

/// The types of the structs that kernels are given by value: whether these are packed.
fn are_packed(module: &Module) -> Vec<bool> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let entries = module.instructions().filter(|i| i.is(Op::EntryPoint));
    let kernels: Vec<u32> = entries.filter_map(|entry| entry.operand(1)).collect();
    let (mut is_kernel, mut found) = (false, Vec::new());
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            is_kernel = kernels.contains(&instruction.result_id().unwrap());
        }
        if is_kernel
            && instruction.is(Op::FunctionParameter)
            && let Some(Type::Pointer { class, pointee }) = types.ty(instruction.result_type().unwrap())
            && class == StorageClass::Function as u32
        {
            found.push(types.is_packed(pointee));
        }
    }
    found
}

#[test]
fn packed_structs_by_value_become_arrays() {
    assert_eq!(are_packed(&legal(&rich())), [true, false]);
    let target = DeviceTarget { faults: Fault::Q56.into(), ..rich() };
    assert_eq!(are_packed(&legal(&target)), [false, false]);
}

/// The number of constants in constant memory whose initial values have the address of a variable.
fn constants_with_addresses(module: &Module) -> usize {
    let definitions = Definitions::new(module);
    let is_constant = |operands: &[u32]| operands.first() == Some(&(StorageClass::UniformConstant as u32));
    let variables = module.instructions().filter(|i| i.is(Op::Variable) && is_constant(i.operands()));
    let has_address = |initial: u32| {
        let mut open = vec![initial];
        while let Some(id) = open.pop() {
            let Some(constant) = definitions.instruction(id) else { continue };
            match constant.op() {
                Some(Op::Variable) => return true,
                Some(Op::ConstantComposite) => open.extend(constant.operands()),
                Some(Op::SpecConstantOp) => open.extend(constant.operands().iter().skip(1)),
                _ => {}
            }
        }
        false
    };
    variables.filter_map(|variable| variable.operand(1)).filter(|initial| has_address(*initial)).count()
}

#[test]
fn addresses_in_constants_are_computed() {
    assert_eq!(constants_with_addresses(&legal(&rich())), 1);
    let target = DeviceTarget { faults: Fault::Q55.into(), ..rich() };
    assert_eq!(constants_with_addresses(&legal(&target)), 0);
}
