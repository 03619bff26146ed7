//! The corpus comes out of the view byte for byte as it went in.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_spirv::{Definitions, Editor, Fit, Module, Op, Role};

#[test]
fn bytes_round_trip_in_both_orders() {
    for (name, bytes) in support::corpus() {
        let module = Module::from_bytes(&bytes).unwrap();
        assert_eq!(module.to_bytes(), bytes, "{name}");
        let swapped: Vec<u8> = bytes.chunks_exact(4).flat_map(|c| c.iter().rev().copied()).collect();
        let foreign = Module::from_bytes(&swapped).unwrap();
        assert_eq!(foreign.words(), module.words(), "{name}");
        assert_eq!(foreign.to_bytes(), swapped, "{name}");
    }
}

#[test]
fn copying_all_instructions_changes_nothing() {
    for (name, bytes) in support::corpus() {
        let module = Module::from_bytes(&bytes).unwrap();
        let definitions = Definitions::new(&module);
        // A rule that nothing follows: all instructions are copied.
        let mut copy = Editor::new(&definitions);
        copy.remove_annotations(module.id_bound());
        assert!(copy.finish().unwrap().unwrap().words() == module.words(), "{name}");
        let mut mapped = Editor::new(&definitions);
        for instruction in module.instructions().skip_while(|i| !i.is(Op::Function)) {
            mapped.instead_of(&instruction).copy_mapped(&instruction, |id| id);
        }
        if let Some(mapped) = mapped.finish().unwrap() {
            assert!(mapped.words() == module.words(), "{name}");
        }
    }
}

/// Every operand that the table calls an id is one: it is defined somewhere, and all words are
/// accounted for.
#[test]
fn the_grammar_fits_what_compilers_write() {
    let mut instructions = 0;
    for (name, bytes) in support::corpus() {
        let module = Module::from_bytes(&bytes).unwrap();
        let definitions = Definitions::new(&module);
        for instruction in module.instructions() {
            instructions += 1;
            let fit = instruction.visit_ids(&definitions, |index, role| {
                let id = instruction.word(index).unwrap();
                assert!(
                    role == Role::MaybeId || definitions.instruction(id).is_some(),
                    "{name}: word {index} of {instruction:?} is no id"
                );
            });
            assert_eq!(fit, Fit::Exact, "{name}: {instruction:?}");
        }
        assert_eq!(module.instructions().map(|i| i.words.len()).sum::<usize>() + 5, module.words().len());
    }
    assert!(instructions > 1000, "{instructions}");
}

/// What rspirv's loader refuses is in the corpus, and goes through.
#[test]
fn the_corpus_has_what_rspirv_refuses() {
    let refused = support::corpus().into_iter().filter(|(name, bytes)| {
        name.starts_with("virtual")
            && std::panic::catch_unwind(|| rspirv::dr::load_bytes(bytes).is_err()).unwrap_or(true)
    });
    assert_eq!(refused.count(), 2);
    let (_, bytes) = support::corpus().into_iter().find(|(name, _)| name == "virtual.O0.spv").unwrap();
    let module = Module::from_bytes(&bytes).unwrap();
    assert!(module.instructions().any(|i| i.is(Op::ConstantFunctionPointerINTEL)));
    assert!(module.instructions().any(|i| i.is(Op::Decorate) && i.operand(1) == Some(6409)));
}
