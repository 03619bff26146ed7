//! Kernels as Rust.

use crate::ast::{
    Binary, Compare, Count, Expr, Function, INPUT_WORDS, Kernel, MOST_ITEMS, PRIVATE_WORDS, Place, Stmt,
    Type, Unary, Until,
};
use crate::lines::Lines;

/// What a source begins with.
pub const HEAD: &str = "#![allow(warnings, arithmetic_overflow, unconditional_panic)]

use std::sync::atomic::{AtomicU32, Ordering};

use oclave_kernel::{Global, Item, Vec4, kernel};

fn mul_high(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

fn select(a: Vec4<u32>, b: Vec4<u32>, c: Vec4<u32>, d: Vec4<u32>) -> Vec4<u32> {
    let one = |a, b, c, d| if c < d { b } else { a };
    Vec4::new(one(a.x, b.x, c.x, d.x), one(a.y, b.y, c.y, d.y), one(a.z, b.z, c.z, d.z), one(a.w, b.w, c.w, d.w))
}
";

/// The text of a kernel and of the functions that it calls. It stands after [`HEAD`].
///
/// The kernel has the memory of its output twice: as words, and as atomic words for the sums of groups.
pub fn print(kernel: &Kernel) -> String {
    let mut printer =
        Printer { lines: Lines::default(), kernel, vars: &kernel.vars, around: Vec::new(), labels: 0 };
    for (number, function) in kernel.functions.iter().enumerate() {
        printer.function(number, function);
    }
    printer.vars = &kernel.vars;
    printer.kernel();
    printer.lines.text
}

/// What `break` and `continue` leave.
#[derive(Debug, Clone, Copy)]
enum Around {
    /// A loop whose rounds begin with `continue`.
    Loop(usize),
    /// A loop whose rounds end with a test. `continue` leaves a block before it.
    Tested(usize),
    Switch(usize),
}

struct Printer<'a> {
    lines: Lines,
    kernel: &'a Kernel,
    /// The variables of the function that is printed.
    vars: &'a [Type],
    around: Vec<Around>,
    labels: usize,
}

impl<'a> Printer<'a> {
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn function(&mut self, number: usize, function: &'a Function) {
        let name = &self.kernel.name;
        self.vars = &function.vars;
        // Every second one stays a function.
        if number % 2 == 1 {
            self.lines.line("#[inline(never)]");
        }
        self.lines.open(&format!(
            "fn {name}_f{number}(input: &[u32], mut v0: u32, mut v1: u32, a: i32, b: i32) -> u32 {{"
        ));
        for (var, ty) in function.vars.iter().enumerate().skip(2) {
            self.declare(var, *ty);
        }
        self.block(&function.body);
        let result = self.expr(&function.result);
        self.lines.line(&result);
        self.lines.close("}");
    }

    fn declare(&mut self, var: usize, ty: Type) {
        self.lines.line(&match ty {
            Type::Word => format!("let mut v{var} = 0_u32;"),
            Type::Bool => format!("let mut v{var} = false;"),
            Type::Vector => format!("let mut v{var} = Vec4::splat(0_u32);"),
        });
    }

    fn kernel(&mut self) {
        let kernel = self.kernel;
        self.lines.line("#[kernel]");
        self.lines.open(&format!(
            "pub fn {}(item: Item<2>, out: Global<u32>, sums: &[AtomicU32], input: &[u32], a: i32, b: i32) {{",
            kernel.name
        ));
        for (array, width) in kernel.locals.iter().enumerate() {
            let words = *width as usize * MOST_ITEMS;
            self.lines.line(&format!("let l{array} = item.local_array::<u32, {words}>();"));
        }
        self.lines.line("let items = (item.local_size()[0] * item.local_size()[1]) as u32;");
        self.lines.line("let lid = (item.local_id()[1] * item.local_size()[0] + item.local_id()[0]) as u32;");
        self.lines.line("let total = (item.global_size()[0] * item.global_size()[1]) as u32;");
        self.lines.line("let group = item.group_id()[0] as u32;");
        self.lines.line("let gid = group.wrapping_mul(items).wrapping_add(lid);");
        for array in 0..kernel.privates {
            self.lines.line(&format!("let mut p{array} = [0_u32; {PRIVATE_WORDS}];"));
        }
        for (var, ty) in kernel.vars.iter().enumerate() {
            self.declare(var, *ty);
        }
        self.block(&kernel.body);
        self.lines.close("}");
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(var, value) => {
                let value = self.expr(value);
                self.lines.line(&format!("v{var} = {value};"));
            }
            Stmt::Advance(var, value, most) => {
                let value = self.expr(value);
                self.lines.line(&format!("v{var} = v{var}.wrapping_add({value} % {most} + 1);"));
            }
            Stmt::SetPrivate(array, index, value) => {
                let (index, value) = (self.expr(index), self.expr(value));
                self.lines.line(&format!("p{array}[({index} % {PRIVATE_WORDS}) as usize] = {value};"));
            }
            Stmt::SetOwn(array, turn, index, value) => {
                let (place, value) = (self.own(*array, *turn, index), self.expr(value));
                self.lines.line(&format!("l{array}.set({place}, {value});"));
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                self.lines.open(&format!("if {condition} {{"));
                self.block(then);
                if !otherwise.is_empty() {
                    self.lines.between("} else {");
                    self.block(otherwise);
                }
                self.lines.close("}");
            }
            Stmt::For { counter, count, bound, body } => self.count(*counter, *count, bound, body),
            Stmt::Until { var, limit, form, body } => {
                let limit = self.expr(limit);
                match form {
                    Until::While => self.looped(&format!("while v{var} < {limit}"), None, body),
                    Until::Break => {
                        self.looped("loop", Some(&format!("if v{var} >= {limit} {{ break; }}")), body);
                    }
                    Until::DoWhile => self.tested(body, &format!("if !(v{var} < {limit}) {{ break; }}")),
                }
            }
            Stmt::Switch(value, cases) => self.switch(value, cases),
            Stmt::Break => {
                let line = self.around.last().map(|around| match around {
                    Around::Loop(label) | Around::Tested(label) => format!("break 'loop{label};"),
                    Around::Switch(label) => format!("break 'switch{label};"),
                });
                self.lines.line(&line.unwrap_or_default());
            }
            Stmt::Continue => {
                let line = self.around.iter().rev().find_map(|around| match around {
                    Around::Loop(label) => Some(format!("continue 'loop{label};")),
                    Around::Tested(label) => Some(format!("break 'round{label};")),
                    Around::Switch(_) => None,
                });
                self.lines.line(&line.unwrap_or_default());
            }
            Stmt::Return(value) => {
                let value = self.expr(value);
                self.lines.line(&format!("out.set(gid as usize, {value});"));
                self.lines.line("return;");
            }
            Stmt::Barrier => self.lines.line("item.local_barrier();"),
            Stmt::Accumulate(value) => {
                let value = self.expr(value);
                let at = "(total + gid) as usize";
                self.lines
                    .line(&format!("out.set({at}, out.get({at}).wrapping_mul(3).wrapping_add({value}));"));
            }
            Stmt::Atomic(value) => {
                let value = self.expr(value);
                self.lines.line(&format!(
                    "sums[(2 * total + group) as usize].fetch_add({value}, Ordering::Relaxed);"
                ));
            }
        }
    }

    /// A loop that tests before each round.
    fn looped(&mut self, head: &str, first: Option<&str>, body: &[Stmt]) {
        let label = self.label();
        self.lines.open(&format!("'loop{label}: {head} {{"));
        first.into_iter().for_each(|line| self.lines.line(line));
        self.around.push(Around::Loop(label));
        self.block(body);
        self.around.pop();
        self.lines.close("}");
    }

    /// A loop that tests after each round.
    fn tested(&mut self, body: &[Stmt], test: &str) {
        let label = self.label();
        self.lines.open(&format!("'loop{label}: loop {{"));
        self.lines.open(&format!("'round{label}: {{"));
        self.around.push(Around::Tested(label));
        self.block(body);
        self.around.pop();
        self.lines.close("}");
        self.lines.line(test);
        self.lines.close("}");
    }

    fn count(&mut self, counter: usize, count: Count, bound: &Expr, body: &[Stmt]) {
        // A loop in C tests its bound before each iteration, and a range in Rust has one bound for all.
        let is_fixed = matches!(bound, Expr::Const(_) | Expr::Param(_) | Expr::Counter(_));
        let bound = format!("({} as i32)", self.expr(bound));
        let (last, test) = if is_fixed {
            (bound.as_str(), None)
        } else {
            ("", Some(format!("if i{counter} >= {bound} {{ break; }}")))
        };
        match count {
            Count::Up => self.looped(&format!("for i{counter} in 0_i32..{last}"), test.as_deref(), body),
            Count::UpByTwo => {
                self.looped(&format!("for i{counter} in (0_i32..{last}).step_by(2)"), test.as_deref(), body);
            }
            Count::Down => self.looped(&format!("for i{counter} in (0..{bound}).rev()"), None, body),
            Count::AtEnd => {
                self.lines.open("{");
                self.lines.line(&format!("let mut i{counter} = 0_i32;"));
                self.tested(body, &format!("i{counter} += 1; if i{counter} >= {bound} {{ break; }}"));
                self.lines.close("}");
            }
        }
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<Stmt>, bool)]) {
        let label = self.label();
        let value = self.expr(value);
        self.lines.open(&format!("'switch{label}: {{"));
        self.around.push(Around::Switch(label));
        let last = cases.len() - 1;
        if cases.iter().any(|(_, falls)| *falls) {
            self.lines.line(&format!("let case = {value};"));
            for (number, (body, falls)) in cases.iter().enumerate() {
                if number == last {
                    self.lines.open("{");
                } else {
                    self.lines.open(&format!("if case <= {number} {{"));
                }
                self.block(body);
                if !falls {
                    self.lines.line(&format!("break 'switch{label};"));
                }
                self.lines.close("}");
            }
        } else {
            self.lines.open(&format!("match {value} {{"));
            for (number, (body, _)) in cases.iter().enumerate() {
                let case = if number == last { "_".to_owned() } else { number.to_string() };
                self.lines.open(&format!("{case} => {{"));
                self.block(body);
                self.lines.close("}");
            }
            self.lines.close("}");
        }
        self.around.pop();
        self.lines.close("}");
    }

    /// The place in a local array that is the work-item's own now.
    fn own(&self, array: usize, turn: u32, index: &Expr) -> String {
        let width = self.kernel.locals[array];
        let slot = if turn == 0 { "lid".to_owned() } else { format!("((lid + {turn}) % items)") };
        match width {
            1 => format!("{slot} as usize"),
            _ => format!("({slot} * {width} + {} % {width}) as usize", self.expr(index)),
        }
    }

    fn is_vector(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Var(var) => self.vars.get(*var) == Some(&Type::Vector),
            Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Choose(_, a, _) => self.is_vector(a),
            Expr::Make(_) | Expr::Splat(_) | Expr::Swizzle(..) | Expr::Select(_) => true,
            _ => false,
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        let e = |expr: &Expr| self.expr(expr);
        match expr {
            Expr::Const(value) => format!("{value}_u32"),
            Expr::Place(place) => match place {
                Place::Global => "gid".to_owned(),
                Place::Local => "lid".to_owned(),
                Place::LocalX => "(item.local_id()[0] as u32)".to_owned(),
                Place::LocalY => "(item.local_id()[1] as u32)".to_owned(),
                Place::Group => "group".to_owned(),
                Place::Items => "items".to_owned(),
            },
            Expr::Param(number) => format!("({} as u32)", ["a", "b"][*number]),
            Expr::Var(var) => format!("v{var}"),
            Expr::Counter(counter) => format!("(i{counter} as u32)"),
            Expr::Unary(op, a) if self.is_vector(a) => format!("{}.map(|a| {})", e(a), unary(*op, "a")),
            Expr::Unary(op, a) => unary(*op, &e(a)),
            Expr::Binary(op, a, b) if self.is_vector(a) => {
                format!("{}.zip_map({}, |a, b| {})", e(a), e(b), binary(*op, "a", "b"))
            }
            Expr::Binary(op, a, b) => binary(*op, &e(a), &e(b)),
            Expr::Choose(c, a, b) => format!("(if {} {{ {} }} else {{ {} }})", e(c), e(a), e(b)),
            Expr::Input(index) => format!("input[({} % {INPUT_WORDS}) as usize]", e(index)),
            Expr::Shared(array, index) => match self.kernel.locals[*array] {
                1 => format!("l{array}.get(({} % items) as usize)", e(index)),
                width => format!("l{array}.get(({} % (items * {width})) as usize)", e(index)),
            },
            Expr::Own(array, turn, index) => format!("l{array}.get({})", self.own(*array, *turn, index)),
            Expr::Private(array, index) => format!("p{array}[({} % {PRIVATE_WORDS}) as usize]", e(index)),
            Expr::Compare(op, a, b) => match op {
                Compare::Equal => format!("({} == {})", e(a), e(b)),
                Compare::NotEqual => format!("({} != {})", e(a), e(b)),
                Compare::Less => format!("({} < {})", e(a), e(b)),
                Compare::AtMost => format!("({} <= {})", e(a), e(b)),
                Compare::SignedLess => format!("(({} as i32) < ({} as i32))", e(a), e(b)),
            },
            Expr::Not(a) => format!("(!{})", e(a)),
            Expr::Both(a, b) => format!("({} && {})", e(a), e(b)),
            Expr::Either(a, b) => format!("({} || {})", e(a), e(b)),
            Expr::Lane(lane, a) => format!("({}).{}", e(a), ["x", "y", "z", "w"][*lane]),
            Expr::Make(parts) => {
                format!("Vec4::new({}, {}, {}, {})", e(&parts[0]), e(&parts[1]), e(&parts[2]), e(&parts[3]))
            }
            Expr::Splat(a) => format!("Vec4::splat({})", e(a)),
            Expr::Swizzle(lanes, a) => format!("({}).swizzle({lanes:?})", e(a)),
            Expr::Select(parts) => {
                format!("select({}, {}, {}, {})", e(&parts[0]), e(&parts[1]), e(&parts[2]), e(&parts[3]))
            }
            Expr::Call(function, a, b) => {
                format!("{}_f{function}(input, {}, {}, a, b)", self.kernel.name, e(a), e(b))
            }
        }
    }
}

fn unary(op: Unary, a: &str) -> String {
    match op {
        Unary::Not => format!("(!{a})"),
        Unary::Negate => format!("{a}.wrapping_neg()"),
        Unary::CountOnes => format!("{a}.count_ones()"),
        Unary::LeadingZeros => format!("{a}.leading_zeros()"),
        Unary::SignedByte => format!("({a} as i8 as i32 as u32)"),
        Unary::UnsignedShort => format!("({a} as u16 as u32)"),
    }
}

fn binary(op: Binary, a: &str, b: &str) -> String {
    let infix = |op: &str| format!("({a} {op} {b})");
    let method = |name: &str| format!("{a}.{name}({b})");
    match op {
        Binary::Add => method("wrapping_add"),
        Binary::Sub => method("wrapping_sub"),
        Binary::Mul => method("wrapping_mul"),
        Binary::And => infix("&"),
        Binary::Or => infix("|"),
        Binary::Xor => infix("^"),
        Binary::Shl => format!("({a} << ({b} & 31))"),
        Binary::Shr => format!("({a} >> ({b} & 31))"),
        Binary::Div => format!("({a} / ({b} | 1))"),
        Binary::Rem => format!("({a} % ({b} | 1))"),
        Binary::Min => method("min"),
        Binary::Max => method("max"),
        Binary::AbsDiff => method("abs_diff"),
        Binary::MulHigh => format!("mul_high({a}, {b})"),
        Binary::Rotate => format!("{a}.rotate_left({b} & 31)"),
    }
}
