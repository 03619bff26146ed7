//! Calls, and how values are passed: scalars as they are, everything else as 8 bytes for each part.

use std::fmt::Write as _;

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Ty};

/// The declaration of a parameter or result; `None` for a type without parts.
pub(crate) fn declaration(kinds: &[Kind], name: &str) -> Option<String> {
    match kinds {
        [] => None,
        [kind] => Some(format!(".param .b{} {name}", if kind.class() == Class::B64 { 64 } else { 32 })),
        kinds => Some(format!(".param .align 8 .b8 {name}[{}]", kinds.len() * 8)),
    }
}

impl<'m> Body<'_, '_, 'm> {
    /// The value as it is passed: in 32 or 64 bits.
    fn widened(&mut self, kind: Kind, value: Operand) -> (Ty, Operand) {
        match kind.class() {
            Class::Pred => (Ty::B32, self.bool_as(value, 1)),
            Class::B16 => (Ty::B32, self.half_bits(value)),
            Class::B32 => (Ty::B32, self.in_register(value, Class::B32)),
            Class::B64 => (Ty::B64, self.in_register(value, Class::B64)),
        }
    }

    fn send(&mut self, kinds: &[Kind], name: &str, values: &[Operand]) {
        for (index, (kind, value)) in kinds.iter().zip(values).enumerate() {
            let (ty, value) = self.widened(*kind, *value);
            let value = self.in_register(value, if ty == Ty::B64 { Class::B64 } else { Class::B32 });
            ptx!(self, "st.param.{ty} [{name}+{}], {value}", index * 8);
        }
    }

    /// Reads what was passed.
    pub(crate) fn received(&mut self, kinds: &[Kind], name: &str) -> Vec<Operand> {
        let mut parts = Vec::with_capacity(kinds.len());
        for (index, kind) in kinds.iter().enumerate() {
            let (class, ty) = match kind.class() {
                Class::B64 => (Class::B64, Ty::B64),
                _ => (Class::B32, Ty::B32),
            };
            let d = self.register(class);
            ptx!(self, "ld.param.{ty} {d}, [{name}+{}]", index * 8);
            parts.push(match kind.class() {
                Class::Pred => self.compare("ne", Ty::S32, d, Operand::Immediate(0)),
                Class::B16 => self.half_of_bits(d),
                _ => d,
            });
        }
        parts
    }

    /// `OpFunctionCall`.
    pub(crate) fn call(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let callee = self.id(instruction, 0)?;
        if !self.is_defined_by(callee, Op::Function) {
            return Err(Stop::unsupported("calls through pointers are not supported"));
        }
        if let Some(import) = self.cx.facts.imports.get(&callee) {
            return Err(Stop::unsupported(format!(
                "`{import}` is in no module that was linked; link the library of built-in functions"
            )));
        }
        let mut arguments = Vec::new();
        for &argument in instruction.operands().get(1..).unwrap_or_default() {
            let shape = self.shape_of(argument)?;
            arguments.push((shape.kinds.clone(), self.value(argument)?));
        }
        let shape = self.cx.shapes.shape(ty)?;
        let parts = self.call_function(callee, &arguments, &shape.kinds)?;
        if shape.kinds.is_empty() {
            return Ok(());
        }
        self.bind(id, &parts)
    }

    /// Calls the function `callee`.
    pub(crate) fn call_function(
        &mut self,
        callee: u32,
        arguments: &[(Vec<Kind>, Vec<Operand>)],
        returns: &[Kind],
    ) -> Step<Vec<Operand>> {
        let name = self.cx.function_name(callee);
        ptx!(self, "{{ // call");
        let mut list = String::new();
        let mut count = 0;
        for (kinds, values) in arguments {
            let parameter = format!("a{count}");
            let Some(declared) = declaration(kinds, &parameter) else { continue };
            ptx!(self, "{declared}");
            self.send(kinds, &parameter, values);
            let _ = write!(list, "{}{parameter}", if count == 0 { "" } else { ", " });
            count += 1;
        }
        match declaration(returns, "r") {
            Some(declared) => {
                ptx!(self, "{declared}");
                ptx!(self, "call.uni (r), {name}, ({list})");
            }
            None => ptx!(self, "call.uni {name}, ({list})"),
        }
        let parts = self.received(returns, "r");
        ptx!(self, "}} // call");
        Ok(parts)
    }

    /// `OpReturnValue`.
    pub(crate) fn return_value(&mut self, instruction: &Instruction<'m>) -> Step {
        let value = self.id(instruction, 0)?;
        let returns = need(self.returns.clone())?;
        let parts = self.value(value)?;
        self.send(&returns.kinds, "result", &parts);
        ptx!(self, "ret");
        Ok(())
    }
}
