//! A flat view over the words of a SPIR-V module: read, look up, rewrite.
//!
//! Internal: the other crates of oclave use this module. It is not part of the semver promise.
//!
//! | type | what for |
//! |---|---|
//! | [`Module`] | words, checked to be a stream of instructions; byte-exact round trip |
//! | [`Instruction`] | one instruction: opcode, operands, strings, ids |
//! | [`Definitions`] | id → defining instruction |
//! | [`TypeTable`] | id → [`Type`], with sizes, alignments and field offsets |
//! | [`Editor`], [`Cursor`] | changes of a module at given instructions; a new module from an empty one |
//! | [`Declarations`] | what is added outside of functions: types, constants, decorations, names, imports |
//! | [`Code`] | instructions that are being written |
//!
//! Opcodes, decorations, capabilities and the like are those of the `spirv` crate. Opcodes and
//! enumerants that it does not know are numbers, and are carried through.

mod access_chains;
mod code;
mod declarations;
mod definitions;
mod editor;
mod grammar;
mod grammar_table;
mod id_map;
mod instruction;
mod module;
mod opcodes;
mod order;
mod section;
mod types;

pub use ::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    FunctionParameterAttribute, LinkageType, LoopControl, MAGIC_NUMBER, MemoryModel, Op, SourceLanguage,
    StorageClass,
};
pub use access_chains::ChainStep;
pub use code::{Code, string_words};
pub use declarations::Declarations;
pub use definitions::Definitions;
pub use editor::{Cursor, Editor};
pub use grammar::{Fit, Role};
pub use id_map::IdMap;
pub use instruction::Instruction;
pub use module::{Instructions, Module, Version};
pub use opcodes::{
    ALIGNED, SCOPE_WORKGROUP, VOLATILE, first_chain_index, is_access_chain, is_atomic, is_block_end,
    is_calculation, is_conversion, is_decoration, is_group, is_group_function, is_group_reduction,
    is_integer_comparison, is_pure, is_sub_group_builtin, is_sub_group_op, is_terminator, is_within,
};
pub use section::Section;
pub use section::{is_constant, is_type};
pub use types::{Type, TypeTable};
