//! Kernels as trees: integers and vectors of them, structured control flow, barriers and local
//! memory.

/// Words of the input that all kernels read.
pub const INPUT_WORDS: usize = 256;
/// Work-items that a group has at most: the length of local arrays of width 1.
pub const MOST_ITEMS: usize = 64;
/// Words that each work-item writes.
pub const WORDS_PER_ITEM: usize = 2;
/// Elements of a private array.
pub const PRIVATE_WORDS: u32 = 4;

/// The type of a variable or expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `uint`.
    Word,
    /// `bool`.
    Bool,
    /// `uint4`.
    Vector,
}

/// Operators on words and, lane by lane, on vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// The right side counts modulo 32.
    Shl,
    Shr,
    /// The right side's lowest bit is set, so that nothing is divided by zero.
    Div,
    Rem,
    Min,
    Max,
    AbsDiff,
    MulHigh,
    Rotate,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    Not,
    Negate,
    CountOnes,
    LeadingZeros,
    /// Through `char` and back.
    SignedByte,
    /// Through `ushort` and back.
    UnsignedShort,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Equal,
    NotEqual,
    Less,
    AtMost,
    SignedLess,
}

/// Values that the index space gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The work-item's number in the whole index space.
    Global,
    /// The work-item's number in its group.
    Local,
    LocalX,
    LocalY,
    Group,
    /// Work-items of a group.
    Items,
}

/// An expression. Those of words and vectors share operators.
#[derive(Debug, Clone)]
pub enum Expr {
    Const(u32),
    Place(Place),
    /// One of the two `int` arguments, which are small and positive.
    Param(usize),
    Var(usize),
    /// An `int` that a loop counts.
    Counter(usize),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    /// An element of the input.
    Input(Box<Expr>),
    /// An element of a local array that nobody writes now.
    Shared(usize, Box<Expr>),
    /// An element of a local array that belongs to the work-item now.
    Own(usize, u32, Box<Expr>),
    Private(usize, Box<Expr>),
    Compare(Compare, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Both(Box<Expr>, Box<Expr>),
    Either(Box<Expr>, Box<Expr>),
    Lane(usize, Box<Expr>),
    Make(Box<[Expr; 4]>),
    Splat(Box<Expr>),
    Swizzle([usize; 4], Box<Expr>),
    /// `select(a, b, c < d)` of vectors.
    Select(Box<[Expr; 4]>),
    /// A function of two words.
    Call(usize, Box<Expr>, Box<Expr>),
}

/// How a loop counts from 0 to below its bound, or down from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Up,
    UpByTwo,
    Down,
    /// Tested at the end of each round: there is one at least.
    AtEnd,
}

/// How a loop that adds to a word until it reaches a limit is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    While,
    /// `while (1) { if (t >= limit) break; … }`
    Break,
    /// `do … while (t < limit)`
    DoWhile,
}

/// A statement.
#[derive(Debug, Clone)]
pub enum Stmt {
    Assign(usize, Expr),
    SetPrivate(usize, Expr, Expr),
    /// Array, rotation of the slots, index in the own part, value.
    SetOwn(usize, u32, Expr, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    For {
        counter: usize,
        count: Count,
        bound: Expr,
        body: Vec<Stmt>,
    },
    /// Until the variable reaches the limit; `body` adds to it with [`Stmt::Advance`].
    Until {
        var: usize,
        limit: Expr,
        form: Until,
        body: Vec<Stmt>,
    },
    /// Adds at least 1 to the variable.
    Advance(usize, Expr, u32),
    /// Value, and for each case whether it falls through to the next; the last one is the default.
    Switch(Expr, Vec<(Vec<Stmt>, bool)>),
    Break,
    Continue,
    /// Writes the result and ends the work-item.
    Return(Expr),
    Barrier,
    /// `out[second] = out[second] * 3 + value`.
    Accumulate(Expr),
    /// Adds to a word that all work-items of the group share.
    Atomic(Expr),
}

/// A function of two words: variables 0 and 1 are its parameters.
#[derive(Debug, Clone)]
pub struct Function {
    pub vars: Vec<Type>,
    pub counters: usize,
    pub body: Vec<Stmt>,
    pub result: Expr,
}

/// A kernel.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub name: String,
    pub functions: Vec<Function>,
    pub vars: Vec<Type>,
    pub counters: usize,
    pub privates: usize,
    /// For each local array, how many elements a work-item has of it.
    pub locals: Vec<u32>,
    pub body: Vec<Stmt>,
    /// Whether groups have two dimensions.
    pub plane: bool,
    /// Whether it has barriers.
    pub barriers: bool,
    pub params: [u32; 2],
}
