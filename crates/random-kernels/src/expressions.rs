//! Random expressions of what is in scope.

use crate::ast::{Binary, Compare, Expr, Place, Type, Unary};
use crate::generate::{Mode, compared};
use crate::random::Random;

/// A variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Var {
    pub(crate) ty: Type,
    /// All work-items of a group have the same value in it.
    pub(crate) uniform: bool,
    /// A loop depends on it: nothing else writes it meanwhile.
    pub(crate) locked: bool,
}

/// What expressions can be made of.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) random: Random,
    pub(crate) vars: Vec<Var>,
    /// Counters of the loops around, and whether they are the same for all work-items.
    pub(crate) counters: Vec<(usize, bool)>,
    pub(crate) locals: Vec<u32>,
    pub(crate) modes: Vec<Mode>,
    pub(crate) privates: usize,
    pub(crate) functions: usize,
    /// Whether the index space can be asked, which functions do not.
    pub(crate) places: bool,
}

impl Scope {
    pub(crate) fn new(random: Random) -> Self {
        Self {
            random,
            vars: Vec::new(),
            counters: Vec::new(),
            locals: Vec::new(),
            modes: Vec::new(),
            privates: 0,
            functions: 0,
            places: false,
        }
    }

    pub(crate) fn declare(&mut self, ty: Type, uniform: bool) -> usize {
        self.vars.push(Var { ty, uniform, locked: false });
        self.vars.len() - 1
    }

    /// An expression; a `uniform` one is the same for all work-items of a group.
    pub(crate) fn expr(&mut self, ty: Type, depth: u32, uniform: bool) -> Expr {
        match ty {
            Type::Word => self.word(depth, uniform),
            Type::Bool => self.truth(depth, uniform),
            Type::Vector => self.vector(depth, uniform),
        }
    }

    fn boxed(&mut self, ty: Type, depth: u32, uniform: bool) -> Box<Expr> {
        Box::new(self.expr(ty, depth, uniform))
    }

    fn var(&mut self, ty: Type, uniform: bool) -> Option<Expr> {
        let fitting: Vec<usize> = (0..self.vars.len())
            .filter(|var| self.vars[*var].ty == ty && (self.vars[*var].uniform || !uniform))
            .collect();
        (!fitting.is_empty()).then(|| Expr::Var(self.random.of(&fitting)))
    }

    fn leaf(&mut self, uniform: bool) -> Expr {
        let counters: Vec<usize> =
            self.counters.iter().filter(|(_, together)| *together || !uniform).map(|(c, _)| *c).collect();
        match self.random.below(10) {
            0..=3 => {
                if let Some(var) = self.var(Type::Word, uniform) {
                    return var;
                }
            }
            4..=5 if !counters.is_empty() => return Expr::Counter(self.random.of(&counters)),
            6..=7 if self.places && !uniform => {
                use Place::{Global, Local, LocalX, LocalY};
                return Expr::Place(self.random.of(&[Global, Global, Local, Local, LocalX, LocalY]));
            }
            6..=7 if self.places => return Expr::Place(self.random.of(&[Place::Group, Place::Items])),
            8 => return Expr::Param(self.random.below(2) as usize),
            _ => {}
        }
        let wide = self.random.word();
        Expr::Const(self.random.of(&[0, 1, 2, 3, 7, 16, 100, wide]))
    }

    fn word(&mut self, depth: u32, uniform: bool) -> Expr {
        if depth == 0 {
            return self.leaf(uniform);
        }
        let d = depth - 1;
        match self.random.below(100) {
            0..=29 => self.leaf(uniform),
            30..=59 => {
                use Binary::*;
                let op = self.random.of(&[
                    Add, Add, Add, Sub, Sub, Mul, And, Or, Xor, Xor, Shl, Shr, Div, Rem, Rem, Min, Max,
                    AbsDiff, MulHigh, Rotate,
                ]);
                Expr::Binary(op, self.boxed(Type::Word, d, uniform), self.boxed(Type::Word, d, uniform))
            }
            60..=65 => {
                use Unary::*;
                let op = self.random.of(&[Not, Negate, CountOnes, LeadingZeros, SignedByte, UnsignedShort]);
                Expr::Unary(op, self.boxed(Type::Word, d, uniform))
            }
            66..=73 => Expr::Choose(
                self.boxed(Type::Bool, d, uniform),
                self.boxed(Type::Word, d, uniform),
                self.boxed(Type::Word, d, uniform),
            ),
            74..=80 => Expr::Input(self.boxed(Type::Word, d, uniform)),
            81..=90 if !self.locals.is_empty() => {
                let array = self.random.below(self.locals.len() as u32) as usize;
                match self.modes[array] {
                    Mode::Shared => Expr::Shared(array, self.boxed(Type::Word, d, uniform)),
                    Mode::Own(turn) if !uniform => Expr::Own(array, turn, self.boxed(Type::Word, d, false)),
                    Mode::Own(_) => self.leaf(uniform),
                }
            }
            91..=93 if self.privates > 0 && !uniform => {
                let array = self.random.below(self.privates as u32) as usize;
                Expr::Private(array, self.boxed(Type::Word, d, false))
            }
            94..=96 => {
                let lane = self.random.below(4) as usize;
                Expr::Lane(lane, self.boxed(Type::Vector, d, uniform))
            }
            97.. if self.functions > 0 => {
                let function = self.random.below(self.functions as u32) as usize;
                Expr::Call(function, self.boxed(Type::Word, d, uniform), self.boxed(Type::Word, d, uniform))
            }
            _ => self.leaf(uniform),
        }
    }

    fn truth(&mut self, depth: u32, uniform: bool) -> Expr {
        let d = depth.saturating_sub(1);
        match self.random.below(10) {
            0..=1 => {
                if let Some(var) = self.var(Type::Bool, uniform) {
                    return var;
                }
            }
            2 if depth > 0 => return Expr::Not(self.boxed(Type::Bool, d, uniform)),
            3 if depth > 0 => {
                return Expr::Both(self.boxed(Type::Bool, d, uniform), self.boxed(Type::Bool, d, uniform));
            }
            4 if depth > 0 => {
                return Expr::Either(self.boxed(Type::Bool, d, uniform), self.boxed(Type::Bool, d, uniform));
            }
            // Often true for some work-items of a group, and false for others.
            5..=6 if self.places && !uniform => {
                let bound = self.random.of(&[1, 2, 5, 16, 31]);
                let place = self.random.of(&[Place::Local, Place::Local, Place::LocalX]);
                return compared(Compare::Less, Expr::Place(place), Expr::Const(bound));
            }
            7 => {
                let odd =
                    Expr::Binary(Binary::And, self.boxed(Type::Word, d, uniform), Box::new(Expr::Const(1)));
                return compared(Compare::NotEqual, odd, Expr::Const(0));
            }
            _ => {}
        }
        use Compare::*;
        let op = self.random.of(&[Equal, NotEqual, Less, AtMost, SignedLess]);
        let (a, b) = (self.word(d, uniform), self.word(d, uniform));
        compared(op, a, b)
    }

    fn vector(&mut self, depth: u32, uniform: bool) -> Expr {
        let d = depth.saturating_sub(1);
        match self.random.below(10) {
            0..=3 => {
                if let Some(var) = self.var(Type::Vector, uniform) {
                    return var;
                }
            }
            4..=5 if depth > 0 => {
                use Binary::*;
                let op = self.random.of(&[Add, Sub, Mul, And, Or, Xor, Shl, Shr, Div, Rem, Min, Max, Rotate]);
                return Expr::Binary(
                    op,
                    self.boxed(Type::Vector, d, uniform),
                    self.boxed(Type::Vector, d, uniform),
                );
            }
            6 if depth > 0 => {
                let lanes = std::array::from_fn(|_| self.random.below(4) as usize);
                return Expr::Swizzle(lanes, self.boxed(Type::Vector, d, uniform));
            }
            7 if depth > 0 => {
                let op = self.random.of(&[Unary::Not, Unary::Negate, Unary::CountOnes]);
                return Expr::Unary(op, self.boxed(Type::Vector, d, uniform));
            }
            8 if depth > 0 => {
                let parts = std::array::from_fn(|_| self.vector(d, uniform));
                return Expr::Select(Box::new(parts));
            }
            9 => return Expr::Splat(self.boxed(Type::Word, d, uniform)),
            _ => {}
        }
        let parts = std::array::from_fn(|_| self.word(d.min(1), uniform));
        Expr::Make(Box::new(parts))
    }
}
