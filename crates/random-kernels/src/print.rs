//! Kernels as OpenCL C.

use crate::ast::{
    Binary, Compare, Count, Expr, Function, INPUT_WORDS, Kernel, MOST_ITEMS, PRIVATE_WORDS, Place, Stmt,
    Type, Unary, Until,
};
use crate::lines::Lines;

/// The text of a kernel and of the functions that it calls.
pub fn print(kernel: &Kernel) -> String {
    let mut printer = Printer { lines: Lines::default(), kernel };
    for (number, function) in kernel.functions.iter().enumerate() {
        printer.function(number, function);
    }
    printer.kernel();
    printer.lines.text
}

struct Printer<'a> {
    lines: Lines,
    kernel: &'a Kernel,
}

impl Printer<'_> {
    fn function(&mut self, number: usize, function: &Function) {
        let name = &self.kernel.name;
        self.lines.open(&format!(
            "static uint {name}_f{number}(global const uint *in, uint v0, uint v1, int a, int b) {{"
        ));
        for (var, ty) in function.vars.iter().enumerate().skip(2) {
            self.declare(var, *ty);
        }
        self.block(&function.body);
        let result = self.expr(&function.result);
        self.lines.line(&format!("return {result};"));
        self.lines.close("}");
    }

    fn declare(&mut self, var: usize, ty: Type) {
        self.lines.line(&match ty {
            Type::Word => format!("uint v{var} = 0;"),
            Type::Bool => format!("bool v{var} = false;"),
            Type::Vector => format!("uint4 v{var} = (uint4)(0);"),
        });
    }

    fn kernel(&mut self) {
        let kernel = self.kernel;
        let name = &kernel.name;
        self.lines
            .open(&format!("kernel void {name}(global uint *out, global const uint *in, int a, int b) {{"));
        for (array, width) in kernel.locals.iter().enumerate() {
            self.lines.line(&format!("local uint l{array}[{}];", *width as usize * MOST_ITEMS));
        }
        if kernel.plane {
            self.lines.line("uint items = (uint)(get_local_size(0) * get_local_size(1));");
            self.lines.line("uint lid = (uint)(get_local_id(1) * get_local_size(0) + get_local_id(0));");
            self.lines.line("uint total = (uint)(get_global_size(0) * get_global_size(1));");
        } else {
            self.lines.line("uint items = (uint)get_local_size(0);");
            self.lines.line("uint lid = (uint)get_local_id(0);");
            self.lines.line("uint total = (uint)get_global_size(0);");
        }
        self.lines.line("uint gid = (uint)get_group_id(0) * items + lid;");
        for array in 0..kernel.privates {
            self.lines.line(&format!("uint p{array}[{PRIVATE_WORDS}] = {{0, 0, 0, 0}};"));
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
                self.lines.line(&format!("v{var} += {value} % {most}u + 1u;"));
            }
            Stmt::SetPrivate(array, index, value) => {
                let (index, value) = (self.expr(index), self.expr(value));
                self.lines.line(&format!("p{array}[{index} % {PRIVATE_WORDS}u] = {value};"));
            }
            Stmt::SetOwn(array, turn, index, value) => {
                let (place, value) = (self.own(*array, *turn, index), self.expr(value));
                self.lines.line(&format!("{place} = {value};"));
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                self.lines.open(&format!("if ({condition}) {{"));
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
                    Until::While => self.lines.open(&format!("while (v{var} < {limit}) {{")),
                    Until::Break => {
                        self.lines.open("while (1) {");
                        self.lines.line(&format!("if (v{var} >= {limit}) break;"));
                    }
                    Until::DoWhile => self.lines.open("do {"),
                }
                self.block(body);
                self.lines.close(&match form {
                    Until::DoWhile => format!("}} while (v{var} < {limit});"),
                    _ => "}".to_owned(),
                });
            }
            Stmt::Switch(value, cases) => self.switch(value, cases),
            Stmt::Break => self.lines.line("break;"),
            Stmt::Continue => self.lines.line("continue;"),
            Stmt::Return(value) => {
                let value = self.expr(value);
                self.lines.line(&format!("out[gid] = {value};"));
                self.lines.line("return;");
            }
            Stmt::Barrier => self.lines.line("barrier(CLK_LOCAL_MEM_FENCE);"),
            Stmt::Accumulate(value) => {
                let value = self.expr(value);
                self.lines.line(&format!("out[total + gid] = out[total + gid] * 3u + {value};"));
            }
            Stmt::Atomic(value) => {
                let value = self.expr(value);
                self.lines.line(&format!("atomic_add(&out[2 * total + (uint)get_group_id(0)], {value});"));
            }
        }
    }

    fn count(&mut self, counter: usize, count: Count, bound: &Expr, body: &[Stmt]) {
        let bound = format!("(int){}", self.expr(bound));
        match count {
            Count::Up => {
                self.lines.open(&format!("for (int i{counter} = 0; i{counter} < {bound}; i{counter}++) {{"))
            }
            Count::UpByTwo => {
                self.lines
                    .open(&format!("for (int i{counter} = 0; i{counter} < {bound}; i{counter} += 2) {{"));
            }
            Count::Down => self
                .lines
                .open(&format!("for (int i{counter} = {bound} - 1; i{counter} >= 0; i{counter}--) {{")),
            Count::AtEnd => {
                self.lines.open("{");
                self.lines.line(&format!("int i{counter} = 0;"));
                self.lines.open("do {");
            }
        }
        self.block(body);
        match count {
            Count::AtEnd => {
                self.lines.close(&format!("}} while (++i{counter} < {bound});"));
                self.lines.close("}");
            }
            _ => self.lines.close("}"),
        }
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<Stmt>, bool)]) {
        let value = self.expr(value);
        self.lines.open(&format!("switch ({value}) {{"));
        for (number, (body, falls)) in cases.iter().enumerate() {
            if number + 1 == cases.len() {
                self.lines.open("default: {");
            } else {
                self.lines.open(&format!("case {number}: {{"));
            }
            self.block(body);
            if !falls {
                self.lines.line("break;");
            }
            self.lines.close("}");
        }
        self.lines.close("}");
    }

    fn own(&self, array: usize, turn: u32, index: &Expr) -> String {
        let width = self.kernel.locals[array];
        let slot = if turn == 0 { "lid".to_owned() } else { format!("((lid + {turn}u) % items)") };
        match width {
            1 => format!("l{array}[{slot}]"),
            _ => format!("l{array}[{slot} * {width}u + {} % {width}u]", self.expr(index)),
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        let e = |expr: &Expr| self.expr(expr);
        match expr {
            Expr::Const(value) => format!("{value}u"),
            Expr::Place(place) => match place {
                Place::Global => "gid".to_owned(),
                Place::Local => "lid".to_owned(),
                Place::LocalX => "(uint)get_local_id(0)".to_owned(),
                Place::LocalY => "(uint)get_local_id(1)".to_owned(),
                Place::Group => "(uint)get_group_id(0)".to_owned(),
                Place::Items => "items".to_owned(),
            },
            Expr::Param(number) => format!("(uint){}", ["a", "b"][*number]),
            Expr::Var(var) => format!("v{var}"),
            Expr::Counter(counter) => format!("(uint)i{counter}"),
            Expr::Unary(op, a) => unary(*op, &e(a)),
            Expr::Binary(op, a, b) => binary(*op, &e(a), &e(b)),
            Expr::Choose(c, a, b) => format!("({} ? {} : {})", e(c), e(a), e(b)),
            Expr::Input(index) => format!("in[{} % {INPUT_WORDS}u]", e(index)),
            Expr::Shared(array, index) => match self.kernel.locals[*array] {
                1 => format!("l{array}[{} % items]", e(index)),
                width => format!("l{array}[{} % (items * {width}u)]", e(index)),
            },
            Expr::Own(array, turn, index) => self.own(*array, *turn, index),
            Expr::Private(array, index) => format!("p{array}[{} % {PRIVATE_WORDS}u]", e(index)),
            Expr::Compare(op, a, b) => match op {
                Compare::Equal => format!("({} == {})", e(a), e(b)),
                Compare::NotEqual => format!("({} != {})", e(a), e(b)),
                Compare::Less => format!("({} < {})", e(a), e(b)),
                Compare::AtMost => format!("({} <= {})", e(a), e(b)),
                Compare::SignedLess => format!("((int){} < (int){})", e(a), e(b)),
            },
            Expr::Not(a) => format!("(!{})", e(a)),
            Expr::Both(a, b) => format!("({} && {})", e(a), e(b)),
            Expr::Either(a, b) => format!("({} || {})", e(a), e(b)),
            Expr::Lane(lane, a) => format!("({}).s{lane}", e(a)),
            Expr::Make(parts) => {
                format!("(uint4)({}, {}, {}, {})", e(&parts[0]), e(&parts[1]), e(&parts[2]), e(&parts[3]))
            }
            Expr::Splat(a) => format!("(uint4)({})", e(a)),
            Expr::Swizzle(lanes, a) => {
                let lanes: String = lanes.iter().map(|lane| ["x", "y", "z", "w"][*lane]).collect();
                format!("({}).{lanes}", e(a))
            }
            Expr::Select(parts) => {
                format!("select({}, {}, {} < {})", e(&parts[0]), e(&parts[1]), e(&parts[2]), e(&parts[3]))
            }
            Expr::Call(function, a, b) => {
                format!("{}_f{function}(in, {}, {}, a, b)", self.kernel.name, e(a), e(b))
            }
        }
    }
}

fn unary(op: Unary, a: &str) -> String {
    match op {
        Unary::Not => format!("(~{a})"),
        Unary::Negate => format!("(-{a})"),
        Unary::CountOnes => format!("popcount({a})"),
        Unary::LeadingZeros => format!("clz({a})"),
        Unary::SignedByte => format!("(uint)(int)(char)({a})"),
        Unary::UnsignedShort => format!("(uint)(ushort)({a})"),
    }
}

fn binary(op: Binary, a: &str, b: &str) -> String {
    let infix = |op: &str| format!("({a} {op} {b})");
    match op {
        Binary::Add => infix("+"),
        Binary::Sub => infix("-"),
        Binary::Mul => infix("*"),
        Binary::And => infix("&"),
        Binary::Or => infix("|"),
        Binary::Xor => infix("^"),
        Binary::Shl => format!("({a} << ({b} & 31u))"),
        Binary::Shr => format!("({a} >> ({b} & 31u))"),
        Binary::Div => format!("({a} / ({b} | 1u))"),
        Binary::Rem => format!("({a} % ({b} | 1u))"),
        Binary::Min => format!("min({a}, {b})"),
        Binary::Max => format!("max({a}, {b})"),
        Binary::AbsDiff => format!("abs_diff({a}, {b})"),
        Binary::MulHigh => format!("mul_hi({a}, {b})"),
        Binary::Rotate => format!("rotate({a}, {b} & 31u)"),
    }
}
