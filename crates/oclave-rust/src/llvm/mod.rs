//! LLVM IR as rustc writes it: tokens, the tree of a module, layout of types.

pub(crate) mod floats;
pub(crate) mod layout;
pub(crate) mod lexer;
pub(crate) mod metadata;
pub(crate) mod parser;
pub(crate) mod tree;
