//! Blocks and the ways between them.
#![allow(clippy::unwrap_used)]

mod support;

use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Capability, Op, Version};
use support::{assemble, assert_valid, of_kernel, with_string};

/// The literals of a switch are no labels, even if they look like some.
#[test]
fn literals_of_cases_are_no_labels() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    for bits in [32, 64] {
        let literal: &[u32] = if bits == 64 { &[24, 25] } else { &[24] };
        let module = assemble(
            Version::V1_0,
            &of_kernel(
                &[Capability::Int64],
                [
                    (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                    o(Op::TypeVoid, &[2]),
                    o(Op::TypeInt, &[3, bits, 0]),
                    o(Op::TypeFunction, &[4, 2, 3]),
                    o(Op::Function, &[2, 20, 0, 4]),
                    o(Op::FunctionParameter, &[3, 21]),
                    o(Op::Label, &[22]),
                    (Op::Switch, [&[21, 26], literal, &[23]].concat()),
                    o(Op::Label, &[23]),
                    o(Op::Branch, &[24]),
                    o(Op::Label, &[24]),
                    o(Op::Branch, &[25]),
                    o(Op::Label, &[25]),
                    o(Op::Branch, &[26]),
                    o(Op::Label, &[26]),
                    o(Op::Return, &[]),
                    o(Op::FunctionEnd, &[]),
                ],
            ),
        );
        assert_valid("the switch", &module);
        let analyses = Analyses::new(&module);
        let flow = &analyses.flows()[0];
        assert_eq!(flow.blocks[0].successors, [4, 1], "{bits} bits");
        assert!(flow.dominates(1, 3) && !flow.dominates(3, 4));
    }
}
