//! Calls between Rust and other languages of one program.
//!
//! Functions are imported and exported by name, with the types that the other language has. Pointers
//! are cast: those of Rust point to bytes.

use oclave_spirv::{ALIGNED, Code, LinkageType, Op};

use super::builder::{TypeId, ValueId};
use super::code::write;
use super::function::{Lower, Lowering, Refusal};
use super::types::{Leaf, Scalar, class, leaves};
use super::{Emitted, Output, panics};
use crate::Result;
use crate::foreign::{ForeignFunction, ForeignMemory, ForeignNumber, ForeignType};
use crate::llvm::tree::{Instruction, Typed};
use crate::spaces::{Copy, Shape, Spaces, Storage};

const REMEDY: &str =
    "pass numbers, and pointers to numbers in memory of the kind that the other function declares";

impl ForeignMemory {
    fn storage(self) -> Storage {
        match self {
            Self::Private => Storage::Function,
            Self::Global => Storage::Global,
            Self::Local => Storage::Local,
            Self::Constant => Storage::Constant,
            Self::Generic => Storage::Generic,
        }
    }

    fn spaces(self) -> Spaces {
        match self {
            Self::Private => Spaces::FUNCTION,
            Self::Global => Spaces::GLOBAL,
            Self::Local => Spaces::LOCAL,
            Self::Constant => Spaces::CONSTANT,
            Self::Generic => Spaces::FUNCTION.with(Spaces::GLOBAL).with(Spaces::LOCAL),
        }
    }
}

impl Output<'_> {
    fn foreign_type(&mut self, ty: ForeignType) -> Option<TypeId> {
        Some(match ty {
            ForeignType::Nothing => self.builder.void_type(),
            ForeignType::Int(width) => self.builder.int_type(width),
            ForeignType::Float(width) => self.builder.float_type(width),
            ForeignType::Pointer(memory, number) => {
                let number = match number {
                    ForeignNumber::Int(width) => self.builder.int_type(width),
                    ForeignNumber::Float(width) => self.builder.float_type(width),
                };
                self.builder.pointer_type(class(memory.storage()), number)
            }
            ForeignType::Other => return None,
        })
    }

    /// The types of a function's result and parameters.
    fn foreign_types(&mut self, function: &ForeignFunction) -> Option<(TypeId, Vec<TypeId>)> {
        let returns = self.foreign_type(function.returns)?;
        let parameters =
            function.parameters.iter().map(|ty| self.foreign_type(*ty)).collect::<Option<_>>()?;
        Some((returns, parameters))
    }

    /// The function of another language that a name means.
    pub(super) fn foreign(&self, name: &str) -> Option<&ForeignFunction> {
        self.foreign.iter().find(|function| function.is_defined && function.name == name)
    }

    /// Declares a function of another language, once.
    fn import(&mut self, function: &ForeignFunction) -> Option<ValueId> {
        let (returns, parameters) = self.foreign_types(function)?;
        Some(self.declare(&function.name, returns, &parameters))
    }

    /// The function that asks whether code runs on that side. Post-link puts the answer in its place.
    pub(super) fn guard(&mut self, name: &str) -> ValueId {
        let bool = self.builder.bool_type();
        self.declare(&format!("{}{name}", crate::kernels::INTRINSIC), bool, &[])
    }

    /// Imports a function, once.
    fn declare(&mut self, name: &str, returns: TypeId, parameters: &[TypeId]) -> ValueId {
        let key = format!("import {name}");
        if let Some(id) = self.helpers.get(&key) {
            return *id;
        }
        let id = self.builder.import(name, returns, parameters);
        self.helpers.insert(key, id);
        id
    }

    /// Exports the functions in Rust that other languages call.
    pub(super) fn exports(&mut self) -> Result<()> {
        // Kernels of other languages call them.
        (self.group, self.dimensions) = (None, 3);
        for function in self.foreign {
            if function.is_defined {
                continue;
            }
            let Some((symbol, body)) = self.program.exported(&function.name) else { continue };
            let mut values = Vec::new();
            let mut classes = Vec::new();
            for ty in &function.parameters {
                values.push(match ty {
                    ForeignType::Pointer(memory, _) => {
                        classes.push(memory.spaces());
                        Some(classes.len() - 1)
                    }
                    _ => None,
                });
            }
            let does_fit = function.parameters.len() == body.parameters.len()
                && function.parameters.iter().zip(&body.parameters).all(|(ty, (own, _))| fits(*ty, own))
                && fits(function.returns, &body.returns);
            let types = self.foreign_types(function).filter(|_| does_fit);
            let Some((returns, parameters)) = types else {
                return Err(self.program.unsupported(
                    &symbol,
                    &body,
                    None,
                    "another language of the program calls it with other types",
                    REMEDY,
                ));
            };
            // Integers of 64 bits may hold pointers.
            values.push(None);
            let copy = Copy { symbol: symbol.clone(), shape: Shape::new(values, classes) };
            self.kernel.clone_from(&function.name);
            let emitted = self.function(&copy, &body)?;
            self.exported.push(function.name.clone());
            self.export(function, &emitted, returns, &parameters);
        }
        Ok(())
    }

    /// The function that the other language calls.
    fn export(
        &mut self,
        function: &ForeignFunction,
        inner: &Emitted,
        returns: TypeId,
        parameters: &[TypeId],
    ) {
        let id = self.builder.value();
        let ty = self.builder.function_type(returns, parameters);
        let mut code = Code::new();
        code.push(Op::Function, &[returns.word(), id.word(), 0, ty.word()]);
        let mut arguments = Vec::new();
        for ty in parameters {
            let parameter = self.builder.value();
            code.push(Op::FunctionParameter, &[ty.word(), parameter.word()]);
            arguments.push(parameter);
        }
        let begin = self.builder.value();
        code.push(Op::Label, &[begin.word()]);
        let ulong = self.builder.int_type(64);
        let note = inner.panics.then(|| {
            let words = self.builder.array_type(ulong, panics::PRIVATE_WORDS);
            let pointer = self.builder.pointer_type(class(Storage::Function), words);
            let to = self.builder.pointer_type(class(Storage::Function), ulong);
            let [variable, note] = [(); 2].map(|()| self.builder.value());
            code.push(Op::Variable, &[pointer.word(), variable.word(), class(Storage::Function) as u32]);
            code.push(Op::Bitcast, &[to.word(), note.word(), variable.word()]);
            let zero = self.builder.int_constant(64, 0);
            code.push(Op::Store, &[note.word(), zero.word(), ALIGNED, 8]);
            note
        });
        let mut words = Vec::new();
        for (argument, ty) in arguments.iter().zip(&function.parameters) {
            match ty {
                ForeignType::Pointer(memory, number) if *number != ForeignNumber::Int(8) => {
                    let bytes = self.byte_pointer(memory.storage());
                    let cast = self.builder.value();
                    code.push(Op::Bitcast, &[bytes.word(), cast.word(), argument.word()]);
                    words.push(cast.word());
                }
                _ => words.push(argument.word()),
            }
        }
        words.extend(note.map(ValueId::word));
        let result = self.builder.value();
        let call = [&[returns.word(), result.word(), inner.id.word()], words.as_slice()].concat();
        code.push(Op::FunctionCall, &call);
        if let Some(note) = note.filter(|_| self.variables.reports_panics) {
            self.report_note(&mut code, note, &function.name);
        }
        match function.returns {
            ForeignType::Nothing => code.push(Op::Return, &[]),
            _ => code.push(Op::ReturnValue, &[result.word()]),
        }
        code.push(Op::FunctionEnd, &[]);
        self.builder.add_function(code);
        self.builder.name(id, &function.name);
        self.builder.decorate_linkage(id, &function.name, LinkageType::Export);
    }

    /// Tells the host of a panic that was noted.
    fn report_note(&mut self, code: &mut Code, note: ValueId, function: &str) {
        let (ulong, bool) = (self.builder.int_type(64), self.builder.bool_type());
        let [value, panicked, report, go_on] = [(); 4].map(|()| self.builder.value());
        let zero = self.builder.int_constant(64, 0);
        code.push(Op::Load, &[ulong.word(), value.word(), note.word(), ALIGNED, 8]);
        code.push(Op::INotEqual, &[bool.word(), panicked.word(), value.word(), zero.word()]);
        code.push(Op::BranchConditional, &[panicked.word(), report.word(), go_on.word()]);
        code.push(Op::Label, &[report.word()]);
        let (loads, checksum, values) = self.note_values(note);
        let report = self.panic_report(function, value, Some(checksum), &values);
        loads.iter().chain([&report]).for_each(|inst| write(code, inst));
        code.push(Op::Branch, &[go_on.word()]);
        code.push(Op::Label, &[go_on.word()]);
    }
}

/// Whether a type of Rust is one of the other language.
fn fits(ty: ForeignType, own: &crate::llvm::tree::Type) -> bool {
    match (ty, leaves(own).as_deref()) {
        (ForeignType::Nothing, Ok([])) => true,
        (ForeignType::Int(a), Ok([Leaf { scalar: Scalar::Int(b), .. }])) => a == *b,
        (ForeignType::Float(a), Ok([Leaf { scalar: Scalar::Float(b), .. }])) => a == *b,
        (ForeignType::Pointer(..), Ok([Leaf { scalar: Scalar::Pointer, .. }])) => true,
        _ => false,
    }
}

impl Lower<'_, '_> {
    /// A call of a function of another language.
    pub(super) fn call_foreign(
        &mut self,
        instruction: &Instruction,
        function: &ForeignFunction,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let wrong = |what: &str| Refusal::new(format!("it calls `{}` {what}", function.name), REMEDY);
        let Some(id) = self.output.import(function) else {
            return Err(wrong(
                "of another language, which has parameters or a result of other types than numbers",
            ));
        };
        if arguments.len() != function.parameters.len() || !fits(function.returns, &instruction.ty) {
            return Err(wrong("with other types than those that it is defined with"));
        }
        if matches!(function.returns, ForeignType::Pointer(..)) {
            return Err(wrong("of another language, which returns a pointer"));
        }
        let mut words = vec![id];
        for ((ty, argument), wanted) in arguments.iter().zip(&function.parameters) {
            if !fits(*wanted, ty) {
                return Err(wrong("with other types than those that it is defined with"));
            }
            match wanted {
                ForeignType::Pointer(memory, number) => {
                    let (pointer, storage) = self.pointer(argument)?;
                    let to = memory.storage();
                    let is_known = storage == to || to == Storage::Generic && storage != Storage::Constant;
                    if !is_known {
                        return Err(wrong("with a pointer to another kind of memory than it takes"));
                    }
                    let pointer = self.in_storage(pointer, storage, to);
                    let number = match number {
                        ForeignNumber::Int(width) => self.output.builder.int_type(*width),
                        ForeignNumber::Float(width) => self.output.builder.float_type(*width),
                    };
                    words.push(self.cast_pointer(pointer, to, number));
                }
                _ => words.push(self.scalar(ty, argument)?),
            }
        }
        let returns = self.output.foreign_type(function.returns);
        let returns = returns.ok_or_else(|| wrong("with a result of another type"))?;
        let result = self.op(Op::FunctionCall, returns, &words);
        let results = if function.returns == ForeignType::Nothing { Vec::new() } else { vec![result] };
        self.set(instruction, results);
        Ok(())
    }
}
