//! A module of LLVM IR. Only what has a meaning on devices is kept; hints are dropped when it is read.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::metadata::Metadata;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Void,
    Int(u32),
    Half,
    Float,
    Double,
    Pointer,
    Array(u64, Rc<Type>),
    Vector(u64, Rc<Type>),
    Struct {
        packed: bool,
        fields: Rc<[Type]>,
    },
    /// What kernels cannot have (`x86_fp80`, `token`), by its name.
    Other(Rc<str>),
}

impl Type {
    pub(crate) const BOOL: Self = Self::Int(1);

    /// The types of the elements that `extractvalue` numbers; `None` for scalars.
    pub(crate) fn element(&self, index: u64) -> Option<&Self> {
        match self {
            Self::Array(count, element) | Self::Vector(count, element) => {
                (index < *count).then_some(&**element)
            }
            Self::Struct { fields, .. } => fields.get(usize::try_from(index).ok()?),
            _ => None,
        }
    }

    /// Whether there is a vector in it whose elements are no whole bytes. In memory, and as a number, these lie bit by bit.
    pub(crate) fn has_packed_vector(&self) -> bool {
        match self {
            Self::Vector(_, element) => matches!(**element, Self::Int(width) if width % 8 != 0),
            Self::Array(_, element) => element.has_packed_vector(),
            Self::Struct { fields, .. } => fields.iter().any(Self::has_packed_vector),
            _ => false,
        }
    }

    /// How many elements an aggregate or vector has; `None` for scalars.
    pub(crate) fn elements(&self) -> Option<u64> {
        match self {
            Self::Array(count, _) | Self::Vector(count, _) => Some(*count),
            Self::Struct { fields, .. } => Some(fields.len() as u64),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void => f.write_str("void"),
            Self::Int(width) => write!(f, "i{width}"),
            Self::Half => f.write_str("half"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Pointer => f.write_str("ptr"),
            Self::Array(count, element) => write!(f, "[{count} x {element}]"),
            Self::Vector(count, element) => write!(f, "<{count} x {element}>"),
            Self::Struct { fields, .. } => {
                f.write_str("{ ")?;
                for (index, field) in fields.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{field}")?;
                }
                f.write_str(" }")
            }
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// A constant. Its type stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constant {
    /// In two's complement of 128 bits.
    Int(u128),
    /// The bits in the format of its type.
    Float(u64),
    /// All zeroes, null pointers included.
    Zero,
    /// `undef` and `poison`.
    Undefined,
    Global(Rc<str>),
    Bytes(Rc<[u8]>),
    /// Elements of an array, a vector or a struct.
    Elements(Rc<[(Type, Constant)]>),
    /// The same element everywhere.
    Splat(Rc<(Type, Constant)>),
    Expression(Rc<Expression>),
}

/// A constant that has to be calculated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Cast(Cast, Type, Constant),
    Address {
        element: Type,
        base: Constant,
        indices: Vec<(Type, Constant)>,
    },
    Binary(Binary, Type, Constant, Constant),
    /// What is not known, by its name.
    Unknown(String),
}

/// A value that an instruction uses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Local(Local),
    Constant(Constant),
}

/// A value of a function, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Local(pub(crate) u32);

/// A block of a function, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockIndex(pub(crate) u32);

/// An operand and its type.
pub(crate) type Typed = (Type, Operand);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cast {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    Bitcast,
    AddressSpace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum IntPredicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FloatPredicate {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    Uno,
    True,
}

/// Order of an atomic operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ordering {
    Monotonic,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AtomicOp {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    /// The complement of `and`.
    Nand,
}

/// What is called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Callee {
    Function(Rc<str>),
    /// What a value points to.
    Pointer(Local),
    /// Assembly without instructions.
    Nothing,
    /// Other assembly, and what is not known.
    Other(&'static str),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instruction {
    pub(crate) result: Option<Local>,
    /// Type of the result; `void` where there is none.
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
    /// The `!DILocation`.
    pub(crate) debug: Option<u32>,
}

/// What an instruction does. Types are given where the result's type does not tell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Binary(Binary, Operand, Operand),
    FNeg(Operand),
    CompareInts(IntPredicate, Type, Operand, Operand),
    CompareFloats(FloatPredicate, Type, Operand, Operand),
    Cast(Cast, Type, Operand),
    Select(Typed, Operand, Operand),
    Freeze(Operand),
    Phi(Vec<(Operand, BlockIndex)>),
    Alloca {
        ty: Type,
        count: Option<Typed>,
        align: u64,
    },
    Load {
        pointer: Operand,
        align: u64,
        atomic: Option<Ordering>,
    },
    Store {
        value: Typed,
        pointer: Operand,
        align: u64,
        atomic: Option<Ordering>,
    },
    Address {
        element: Type,
        base: Operand,
        indices: Vec<Typed>,
        in_bounds: bool,
    },
    ExtractValue(Typed, Vec<u64>),
    InsertValue(Typed, Typed, Vec<u64>),
    ExtractElement(Typed, Typed),
    InsertElement(Typed, Typed, Typed),
    Shuffle(Typed, Typed, Typed),
    Atomic {
        op: AtomicOp,
        pointer: Operand,
        value: Operand,
        ordering: Ordering,
    },
    CompareExchange {
        pointer: Operand,
        expected: Typed,
        new: Operand,
        success: Ordering,
        failure: Ordering,
    },
    Fence(Ordering),
    /// `aligns` has the alignment that an argument is known to have, or 0.
    Call {
        callee: Callee,
        arguments: Vec<Typed>,
        aligns: Vec<u64>,
    },
    Return(Option<Typed>),
    Branch(BlockIndex),
    Conditional(Operand, BlockIndex, BlockIndex),
    Switch {
        value: Typed,
        default: BlockIndex,
        cases: Vec<(u128, BlockIndex)>,
    },
    Unreachable,
    /// What this crate does not know. An error if a kernel reaches it.
    Unknown(String),
}

impl Kind {
    /// The blocks that a terminator leads to.
    pub(crate) fn successors(&self) -> Vec<BlockIndex> {
        match self {
            Self::Branch(to) => vec![*to],
            Self::Conditional(_, yes, no) => vec![*yes, *no],
            Self::Switch { default, cases, .. } => {
                std::iter::once(*default).chain(cases.iter().map(|(_, to)| *to)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A block: instructions, the last one a terminator.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) instructions: Vec<Instruction>,
}

/// A function. Without blocks, it is only declared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: Rc<str>,
    pub(crate) returns: Type,
    pub(crate) parameters: Vec<(Type, Local)>,
    pub(crate) blocks: Vec<Block>,
    /// Number of values. All [`Local`]s are below.
    pub(crate) locals: u32,
    /// Visible in its module only.
    pub(crate) is_internal: bool,
    /// The `!DISubprogram`.
    pub(crate) debug: Option<u32>,
}

/// A variable at module scope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Global {
    pub(crate) name: Rc<str>,
    pub(crate) ty: Type,
    /// `None` where another module defines it.
    pub(crate) value: Option<Constant>,
    pub(crate) is_constant: bool,
    pub(crate) is_internal: bool,
    pub(crate) align: u64,
}

/// A module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Module {
    pub(crate) functions: BTreeMap<Rc<str>, Rc<Function>>,
    pub(crate) globals: BTreeMap<Rc<str>, Rc<Global>>,
    pub(crate) metadata: Metadata,
}
