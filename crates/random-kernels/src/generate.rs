//! Random kernels whose result does not depend on the order of work-items.
//!
//! Barriers are where all work-items of a group come by together. Between two barriers a local
//! array is either read only, or each work-item has slots of its own in it. So a right compiler has
//! one result to give.

use crate::ast::{Compare, Count, Expr, Function, Kernel, Place, Stmt, Type, Until};
use crate::expressions::Scope;
use crate::random::Random;

/// Whose the elements of a local array are until the next barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Slot i belongs to the work-item i + turn.
    Own(u32),
    Shared,
}

/// What is known at a place of the kernel.
#[derive(Debug, Clone)]
struct Flow {
    /// All work-items of the group come by together.
    uniform: bool,
    /// Inside a loop: modes that `break` and `continue` must find, and whether work-items may leave
    /// it at different times.
    round: Option<(Vec<Mode>, bool)>,
    /// A `break` would end a `switch`.
    in_switch: bool,
    depth: u32,
}

/// The kernel of a seed.
pub fn kernel(name: &str, seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let barriers = random.chance(60);
    let functions = (0..random.below(3)).map(|_| function(&mut random)).collect::<Vec<_>>();
    let locals =
        if barriers { (0..1 + random.below(3)).map(|_| random.of(&[1, 1, 4])).collect() } else { Vec::new() };
    let params = [1 + random.below(40), 1 + random.below(5)];
    let mut generator = Generator {
        scope: Scope {
            modes: vec![Mode::Own(0); locals.len()],
            locals,
            functions: functions.len(),
            privates: random.below(3) as usize,
            places: true,
            ..Scope::new(random)
        },
        barriers,
        next_counter: 0,
        budget: 0,
    };
    let body = generator.body();
    let Generator { scope, next_counter, .. } = generator;
    let mut random = scope.random;
    Kernel {
        name: name.to_owned(),
        functions,
        vars: scope.vars.iter().map(|var| var.ty).collect(),
        counters: next_counter,
        privates: scope.privates,
        locals: scope.locals,
        body,
        plane: random.chance(25),
        barriers,
        params,
    }
}

fn function(random: &mut Random) -> Function {
    let inner = Random::new(u64::from(random.word()));
    let mut generator = Generator { scope: Scope::new(inner), barriers: false, next_counter: 0, budget: 5 };
    for _ in 0..3 {
        generator.scope.declare(Type::Word, false);
    }
    let flow = Flow { uniform: false, round: None, in_switch: false, depth: 1 };
    let body = generator.block(&flow, 2);
    let result = generator.scope.expr(Type::Word, 2, false);
    Function {
        vars: generator.scope.vars.iter().map(|var| var.ty).collect(),
        counters: generator.next_counter,
        body,
        result,
    }
}

struct Generator {
    scope: Scope,
    barriers: bool,
    next_counter: usize,
    /// Statements that may still be made.
    budget: u32,
}

impl Generator {
    fn random(&mut self) -> &mut Random {
        &mut self.scope.random
    }

    fn body(&mut self) -> Vec<Stmt> {
        let mut body = Vec::new();
        // Local arrays hold nothing yet that could be read.
        let locals = std::mem::take(&mut self.scope.locals);
        for (array, width) in locals.iter().enumerate() {
            for index in 0..*width {
                let value = self.scope.expr(Type::Word, 2, false);
                body.push(Stmt::SetOwn(array, 0, Expr::Const(index), value));
            }
        }
        self.scope.locals = locals;
        let vars = 3 + self.random().below(6);
        for _ in 0..vars {
            let ty = self.random().of(&[Type::Word, Type::Word, Type::Word, Type::Bool, Type::Vector]);
            let uniform = self.random().chance(35);
            let value = self.scope.expr(ty, 2, uniform);
            let var = self.scope.declare(ty, uniform);
            body.push(Stmt::Assign(var, value));
        }
        self.budget = 6 + self.random().below(26);
        let flow = Flow { uniform: true, round: None, in_switch: false, depth: 0 };
        while self.budget > 0 {
            body.extend(self.block(&flow, 4));
        }
        self.finish(&mut body);
        body
    }

    /// All that the kernel computed goes into the result.
    fn finish(&mut self, body: &mut Vec<Stmt>) {
        if !self.scope.locals.is_empty() {
            body.push(Stmt::Barrier);
            self.scope.modes = vec![Mode::Shared; self.scope.locals.len()];
        }
        let mut result = Expr::Const(17);
        let mut mix = |value| {
            let old = std::mem::replace(&mut result, Expr::Const(0));
            result = mixed(old, value);
        };
        for (var, known) in self.scope.vars.iter().enumerate() {
            match known.ty {
                Type::Word => mix(Expr::Var(var)),
                Type::Bool => mix(Expr::Choose(
                    Box::new(Expr::Var(var)),
                    Box::new(Expr::Const(5)),
                    Box::new(Expr::Const(11)),
                )),
                Type::Vector => (0..4).for_each(|lane| mix(Expr::Lane(lane, Box::new(Expr::Var(var))))),
            }
        }
        for array in 0..self.scope.locals.len() {
            mix(Expr::Shared(array, Box::new(Expr::Place(Place::Local))));
        }
        for array in 0..self.scope.privates {
            mix(Expr::Private(array, Box::new(Expr::Const(1))));
        }
        body.push(Stmt::Return(result));
    }

    fn block(&mut self, flow: &Flow, most: u32) -> Vec<Stmt> {
        let count = 1 + self.random().below(most);
        let mut body = Vec::new();
        for _ in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.stmt(flow, &mut body);
        }
        body
    }

    fn stmt(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let nests = flow.depth < 4 && self.budget > 0;
        match self.random().below(100) {
            0..=13 if nests => self.branch(flow, body),
            14..=27 if nests && flow.depth < 3 => self.counted(flow, body),
            28..=36 if nests && flow.depth < 3 => self.until(flow, body),
            37..=41 if nests => self.switch(flow, body),
            42..=46 => self.leave(flow, body),
            47..=60 if self.barriers && flow.uniform => self.barrier(body),
            61..=70 if !self.scope.locals.is_empty() => self.set_own(body),
            71..=74 if self.scope.privates > 0 => {
                let array = self.scope.random.below(self.scope.privates as u32) as usize;
                let (index, value) =
                    (self.scope.expr(Type::Word, 1, false), self.scope.expr(Type::Word, 2, false));
                body.push(Stmt::SetPrivate(array, index, value));
            }
            75..=78 if self.scope.places => {
                let value = self.scope.expr(Type::Word, 2, false);
                body.push(Stmt::Accumulate(value));
            }
            79 if self.scope.places => {
                let value = self.scope.expr(Type::Word, 2, false);
                body.push(Stmt::Atomic(value));
            }
            _ => self.assign(flow, body),
        }
    }

    fn assign(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let candidates: Vec<usize> = (0..self.scope.vars.len())
            .filter(|var| {
                let known = &self.scope.vars[*var];
                !known.locked && (flow.uniform || !known.uniform)
            })
            .collect();
        if candidates.is_empty() {
            return;
        }
        let var = self.random().of(&candidates);
        let known = self.scope.vars[var];
        let mut value = self.scope.expr(known.ty, 3, known.uniform);
        // What was there before matters, or most statements would be dead.
        if known.ty == Type::Word && self.random().chance(70) {
            value = mixed(Expr::Var(var), value);
        }
        body.push(Stmt::Assign(var, value));
    }

    fn set_own(&mut self, body: &mut Vec<Stmt>) {
        let array = self.scope.random.below(self.scope.locals.len() as u32) as usize;
        if let Mode::Own(turn) = self.scope.modes[array] {
            let (index, value) =
                (self.scope.expr(Type::Word, 1, false), self.scope.expr(Type::Word, 2, false));
            body.push(Stmt::SetOwn(array, turn, index, value));
        }
    }

    /// A barrier, after which some arrays belong to others.
    fn barrier(&mut self, body: &mut Vec<Stmt>) {
        body.push(Stmt::Barrier);
        for array in 0..self.scope.modes.len() {
            self.scope.modes[array] = match self.scope.random.below(6) {
                0 => Mode::Own(0),
                1 => Mode::Own(self.scope.random.below(40)),
                2..=4 => Mode::Shared,
                _ => self.scope.modes[array],
            };
        }
    }

    /// Makes a nested block that leaves the modes of arrays as it found them.
    fn nested(&mut self, flow: &Flow, most: u32) -> Vec<Stmt> {
        let modes = self.scope.modes.clone();
        let mut body = self.block(flow, most);
        if self.scope.modes != modes {
            body.push(Stmt::Barrier);
            self.scope.modes = modes;
        }
        body
    }

    fn branch(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let uniform = self.random().chance(40);
        let condition = self.scope.expr(Type::Bool, 2, uniform);
        let inner = Flow { uniform: flow.uniform && uniform, depth: flow.depth + 1, ..flow.clone() };
        let then = self.nested(&inner, 4);
        let otherwise = if self.random().chance(45) { self.nested(&inner, 4) } else { Vec::new() };
        body.push(Stmt::If(condition, then, otherwise));
    }

    /// Whether the loop keeps work-items together.
    fn together(&mut self, flow: &Flow) -> bool {
        flow.uniform && self.random().chance(65)
    }

    fn inside(&mut self, flow: &Flow, together: bool) -> Flow {
        let divergent_exits = !together && self.random().chance(60);
        Flow {
            uniform: together,
            round: Some((self.scope.modes.clone(), divergent_exits)),
            in_switch: false,
            depth: flow.depth + 1,
        }
    }

    fn counted(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let together = self.together(flow);
        let uniform_bound = together || self.random().chance(60);
        let bound = self.bound(uniform_bound);
        let inner = self.inside(flow, together);
        let count =
            self.random().of(&[Count::Up, Count::Up, Count::Up, Count::UpByTwo, Count::Down, Count::AtEnd]);
        let counter = self.counter();
        self.scope.counters.push((counter, together));
        let rounds = self.nested(&inner, 4);
        self.scope.counters.pop();
        body.push(Stmt::For { counter, count, bound, body: rounds });
    }

    fn counter(&mut self) -> usize {
        self.next_counter += 1;
        self.next_counter - 1
    }

    fn bound(&mut self, uniform: bool) -> Expr {
        match self.random().below(10) {
            0..=2 => Expr::Const(1 + self.random().below(5)),
            3..=5 => Expr::Param(1),
            6 if self.scope.counters.last().is_some_and(|(_, together)| *together || !uniform) => {
                let counter = self.scope.counters.last().map_or(0, |(counter, _)| *counter);
                binary_small(Expr::Counter(counter), 6)
            }
            _ => {
                let most = 2 + self.random().below(6);
                binary_small(self.scope.expr(Type::Word, 2, uniform), most)
            }
        }
    }

    fn until(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let together = self.together(flow);
        let candidates: Vec<usize> = (0..self.scope.vars.len())
            .filter(|var| {
                let known = &self.scope.vars[*var];
                !known.locked && known.ty == Type::Word && known.uniform == together
            })
            .collect();
        if candidates.is_empty() {
            return;
        }
        let var = self.random().of(&candidates);
        let start = binary_small(self.scope.expr(Type::Word, 1, together), 9);
        body.push(Stmt::Assign(var, start));
        let limit = match self.random().below(3) {
            0 => Expr::Const(5 + self.random().below(25)),
            1 => Expr::Param(0),
            _ => binary_small(self.scope.expr(Type::Word, 2, together), 30),
        };
        let form = self.random().of(&[Until::While, Until::While, Until::Break, Until::DoWhile]);
        self.scope.vars[var].locked = true;
        let step = self.scope.expr(Type::Word, 2, together);
        let most = 3 + self.random().below(7);
        let advance = Stmt::Advance(var, step, most);
        let inner = self.inside(flow, together);
        let mut rounds = Vec::new();
        if self.random().chance(50) {
            // The steps are in a loop of their own, which has one round at least.
            let bound = if self.random().chance(50) {
                Expr::Param(1)
            } else {
                Expr::Const(1 + self.random().below(4))
            };
            let counter = self.counter();
            let innermost = Flow { depth: flow.depth + 2, ..self.inside(&inner, together) };
            self.scope.counters.push((counter, together));
            let mut steps = vec![advance];
            if self.random().chance(60) {
                steps.extend(self.nested(&innermost, 2));
            }
            self.scope.counters.pop();
            rounds.push(Stmt::For { counter, count: Count::Up, bound, body: steps });
            if self.random().chance(60) {
                rounds.extend(self.nested(&inner, 3));
            }
        } else {
            rounds.push(advance);
            rounds.extend(self.nested(&inner, 4));
        }
        self.scope.vars[var].locked = false;
        body.push(Stmt::Until { var, limit, form, body: rounds });
    }

    fn switch(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let uniform = self.random().chance(40);
        let count = 2 + self.random().below(4);
        let value = binary_small(self.scope.expr(Type::Word, 2, uniform), count + 1);
        let inner =
            Flow { uniform: flow.uniform && uniform, in_switch: true, depth: flow.depth + 1, ..flow.clone() };
        let cases = (0..count)
            .map(|number| {
                let case = self.nested(&inner, 3);
                (case, number + 1 < count && self.random().chance(25))
            })
            .collect();
        body.push(Stmt::Switch(value, cases));
    }

    /// A `break`, `continue` or `return` under a condition.
    fn leave(&mut self, flow: &Flow, body: &mut Vec<Stmt>) {
        let may_diverge = match &flow.round {
            Some((_, divergent_exits)) => *divergent_exits,
            None => false,
        };
        let condition = self.scope.expr(Type::Bool, 2, !may_diverge || flow.uniform);
        let leaves = match &flow.round {
            Some((modes, divergent)) if *modes == self.scope.modes && (*divergent || flow.uniform) => {
                let breaks = self.scope.random.chance(60) && !flow.in_switch;
                if breaks { Stmt::Break } else { Stmt::Continue }
            }
            _ if self.scope.places && (flow.uniform || !self.barriers) && self.scope.random.chance(30) => {
                Stmt::Return(self.scope.expr(Type::Word, 2, false))
            }
            _ => return,
        };
        body.push(Stmt::If(condition, vec![leaves], Vec::new()));
    }
}

/// `old * 31 + value`.
fn mixed(old: Expr, value: Expr) -> Expr {
    use crate::ast::Binary::{Add, Mul};
    let old = Expr::Binary(Mul, Box::new(old), Box::new(Expr::Const(31)));
    Expr::Binary(Add, Box::new(old), Box::new(value))
}

/// `value % most`.
fn binary_small(value: Expr, most: u32) -> Expr {
    // The right side of a remainder has its lowest bit set.
    Expr::Binary(crate::ast::Binary::Rem, Box::new(value), Box::new(Expr::Const(most | 1)))
}

/// A comparison of two words.
pub(crate) fn compared(op: Compare, a: Expr, b: Expr) -> Expr {
    Expr::Compare(op, Box::new(a), Box::new(b))
}
