//! The generator, the interpreter and the printer agree with each other and from run to run.

use random_kernels::ast::{Binary, Compare, Count, Expr, Kernel, Place, Stmt, Type, WORDS_PER_ITEM};
use random_kernels::evaluate::evaluate;
use random_kernels::{generate, group_sizes, input, print};

/// `for (i = 0; i < b; i++) { v0 = v0 + gid; if (lid < 1) break; }`, then `out[gid] = v0`.
fn handmade() -> Kernel {
    let word = |expr| Box::new(expr);
    let add = Expr::Binary(Binary::Add, word(Expr::Var(0)), word(Expr::Place(Place::Global)));
    let first = Expr::Compare(Compare::Less, word(Expr::Place(Place::Local)), word(Expr::Const(1)));
    Kernel {
        name: "handmade".to_owned(),
        functions: Vec::new(),
        vars: vec![Type::Word],
        counters: 1,
        privates: 0,
        locals: Vec::new(),
        body: vec![
            Stmt::For {
                counter: 0,
                count: Count::Up,
                bound: Expr::Param(1),
                body: vec![Stmt::Assign(0, add), Stmt::If(first, vec![Stmt::Break], Vec::new())],
            },
            Stmt::Return(Expr::Var(0)),
        ],
        plane: false,
        barriers: false,
        params: [1, 3],
    }
}

#[test]
fn the_interpreter_runs_what_the_text_says() {
    let kernel = handmade();
    let text = print::print(&kernel);
    for part in
        ["for (int i0 = 0; i0 < (int)(uint)b; i0++) {", "v0 = (v0 + gid);", "if ((lid < 1u)) {", "break;"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Two groups of two: the first item of each leaves its loop at once, the others run three
    // rounds.
    let words = evaluate(&kernel, &input(), [2, 1], 2, 1000).expect("a short kernel");
    assert_eq!(words, [0, 3, 2, 9, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_seed_gives_one_kernel_and_one_result() {
    let input = input();
    let mut evaluated = 0;
    for seed in 0..60 {
        let kernel = generate::kernel("k", seed);
        let again = generate::kernel("k", seed);
        assert_eq!(print::print(&kernel), print::print(&again));
        for &size in group_sizes(&kernel) {
            let Ok(words) = evaluate(&kernel, &input, size, 3, 200_000) else { continue };
            assert_eq!(words.len() as u32, 3 * size[0] * size[1] * WORDS_PER_ITEM as u32 + 3);
            assert_eq!(evaluate(&again, &input, size, 3, 200_000).ok(), Some(words));
            evaluated += 1;
        }
    }
    assert!(evaluated > 100, "only {evaluated} launches were short enough");
}
