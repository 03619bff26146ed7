//! Kernels and functions as a whole: parameters, blocks, declarations of registers.

use std::fmt::Write as _;

use oclave_spirv::{Instruction, Op, Type};

use super::flow::Block;
use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::facts::{Kernel, MOST_ITEMS};
use crate::operand::{Class, Kind, Operand, Space};
use crate::parameters::GLOBAL_POINTER;

/// What local memory that is an argument is aligned to: the largest type of OpenCL C. Drivers place it
/// where the alignment allows, and kernels use it for any type.
const LOCAL_ALIGN: u32 = 128;

impl<'m> Body<'_, '_, 'm> {
    /// Writes a kernel.
    pub(crate) fn kernel(&mut self, kernel: &Kernel, out: &mut String) -> Step {
        self.is_kernel = true;
        self.enter_only_call();
        let parameters = self.read()?;
        let mut heads = Vec::new();
        self.in_prologue = true;
        for (index, parameter) in parameters.iter().enumerate() {
            self.instruction = Some(*parameter);
            let name = format!("{}_param_{index}", kernel.name);
            heads.push(self.kernel_parameter(parameter, &name)?);
        }
        self.in_prologue = false;
        self.blocks_to_text()?;
        let _ = write!(out, "\n.entry {}(", kernel.name);
        for (index, head) in heads.iter().enumerate() {
            let _ = write!(out, "{}\n\t{head}", if index == 0 { "" } else { "," });
        }
        out.push_str("\n)\n");
        if let Some([x, y, z]) = kernel.required_size {
            let _ = writeln!(out, ".reqntid {x}, {y}, {z}");
        } else if kernel.has_large_groups {
            let _ = writeln!(out, ".maxntid {MOST_ITEMS}, 1, 1");
        }
        self.finish(out);
        Ok(())
    }

    /// Writes the body of a function, and returns its declaration.
    pub(crate) fn function(&mut self, out: &mut String) -> Step<String> {
        let parameters = self.read()?;
        let definition = need(self.cx.definition(self.function))?;
        self.instruction = Some(definition);
        let returns = self.cx.shapes.shape(need(definition.result_type())?)?;
        let mut head = ".func ".to_owned();
        if let Some(declared) = super::calls::declaration(&returns.kinds, "result") {
            let _ = write!(head, "({declared}) ");
        }
        let name = self.cx.function_name(self.function);
        let _ = write!(head, "{name}(");
        self.in_prologue = true;
        let mut count = 0;
        for parameter in &parameters {
            self.instruction = Some(*parameter);
            let (id, ty) = self.result(parameter)?;
            let shape = self.cx.shapes.shape(ty)?;
            let name = format!("p{count}");
            if let Some(declared) = super::calls::declaration(&shape.kinds, &name) {
                let _ = write!(head, "{}{declared}", if count == 0 { "" } else { ", " });
                count += 1;
            }
            let parts = self.received(&shape.kinds, &name);
            self.bind(id, &parts)?;
        }
        self.in_prologue = false;
        head.push(')');
        self.returns = Some(returns);
        self.blocks_to_text()?;
        self.finish(out);
        Ok(head)
    }

    /// Makes the function that a kernel does nothing but call the kernel's body. `llvm-spirv`
    /// writes all kernels so; as calls, they would hide from the assembler what the pointers of the
    /// kernel are.
    fn enter_only_call(&mut self) {
        let Some(definition) = self.cx.definition(self.function) else { return };
        let mut parameters = Vec::new();
        let mut callee = None;
        for instruction in self.cx.definitions.module().instructions_from(definition.at).skip(1) {
            match instruction.op() {
                Some(Op::FunctionParameter) => parameters.extend(instruction.result_id()),
                Some(Op::Label | Op::Line | Op::NoLine) => {}
                Some(Op::FunctionCall) if callee.is_none() => {
                    let Some((&function, arguments)) = instruction.operands().split_first() else { return };
                    if arguments != parameters || self.cx.facts.imports.contains_key(&function) {
                        return;
                    }
                    callee = Some(function);
                }
                Some(Op::Return) => break,
                _ => return,
            }
        }
        let Some(callee) = callee else { return };
        let Some(definition) = self.cx.definition(callee).filter(|function| function.is(Op::Function)) else {
            return;
        };
        let inner = self.cx.definitions.module().instructions_from(definition.at).skip(1);
        let inner = inner.take_while(|i| i.is(Op::FunctionParameter)).filter_map(|i| i.result_id());
        self.outer = inner.zip(parameters).collect();
        self.function = callee;
    }

    /// The decorations of a parameter: its own, and those of the kernel's parameter that it gets.
    pub(crate) fn parameter_decorations(&self, id: u32) -> crate::facts::Decorations {
        let own = self.cx.facts.of(id);
        let Some(outer) = self.outer.get(&id).map(|outer| self.cx.facts.of(*outer)) else { return own };
        crate::facts::Decorations {
            alignment: own.alignment.max(outer.alignment),
            by_value: own.by_value || outer.by_value,
            no_alias: own.no_alias || outer.no_alias,
            no_write: own.no_write || outer.no_write,
            ..own
        }
    }

    /// Reads parameters and blocks.
    fn read(&mut self) -> Step<Vec<Instruction<'m>>> {
        let definition = need(self.cx.definition(self.function))?;
        if let Some(import) = self.cx.facts.imports.get(&self.function) {
            return Err(Stop::unsupported(format!(
                "it calls `{import}`, which is in no module that was linked"
            )));
        }
        let mut parameters = Vec::new();
        let module = self.cx.definitions.module();
        for instruction in module.instructions_from(definition.at).skip(1) {
            match instruction.op() {
                Some(Op::FunctionEnd) => break,
                Some(Op::FunctionParameter) => parameters.push(instruction),
                Some(Op::Label) => {
                    let label = need(instruction.result_id())?;
                    self.block_of_label.insert(label, self.blocks.len());
                    self.blocks.push(Block { label, phis: Vec::new(), instructions: Vec::new() });
                }
                Some(Op::Line | Op::NoLine | Op::Nop) => {}
                Some(Op::Phi) => {
                    let block = need(self.blocks.last_mut())?;
                    block.phis.push(instruction);
                }
                _ => {
                    let block = need(self.blocks.last_mut())?;
                    block.instructions.push(instruction);
                }
            }
        }
        self.instruction = Some(definition);
        if self.blocks.is_empty() {
            return Err(Stop::unsupported("a function without a body that is in no module that was linked"));
        }
        self.survey(&parameters);
        Ok(parameters)
    }

    fn blocks_to_text(&mut self) -> Step {
        let blocks = self.blocks.len();
        for index in 0..blocks {
            let block = need(self.blocks.get_mut(index))?;
            let label = block.label;
            self.block = label;
            let instructions = std::mem::take(&mut block.instructions);
            let phis = block.phis.clone();
            let next = self.blocks.get(index + 1).map(|block| block.label);
            let _ = writeln!(self.text, "$L{label}:");
            self.begin_phis(&phis)?;
            let Some((last, before)) = instructions.split_last() else {
                return Err(Stop::Broken("a block without an end"));
            };
            for instruction in before {
                self.instruction = Some(*instruction);
                self.translate(instruction)?;
            }
            self.instruction = Some(*last);
            self.terminate(last, label, next)?;
        }
        Ok(())
    }

    /// Declares a parameter of a kernel, and gives its id the value.
    fn kernel_parameter(&mut self, parameter: &Instruction<'m>, name: &str) -> Step<String> {
        let (id, ty) = self.result(parameter)?;
        let decorations = self.parameter_decorations(id);
        if decorations.by_value
            && let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(ty)
        {
            return self.by_value(id, pointee, name);
        }
        if let Some(declared) = self.image_parameter(id, ty, name)? {
            return Ok(declared);
        }
        let shape = self.cx.shapes.shape(ty)?;
        let table = self.cx.shapes.table;
        if let &[Kind::Pointer(space)] = shape.kinds.as_slice() {
            let pointee = match table.ty(ty) {
                Some(Type::Pointer { pointee, .. }) => pointee,
                _ => 0,
            };
            let mut align = decorations.alignment.unwrap_or(1).max(table.align_bytes(pointee));
            if space == Space::Shared {
                align = align.max(LOCAL_ALIGN);
            }
            let declared = match space {
                Space::Shared => ".param .u64 .ptr .shared .align ",
                Space::Global | Space::Constant => GLOBAL_POINTER,
                _ => {
                    return Err(Stop::unsupported(
                        "a kernel's pointers point to global, constant or local memory",
                    ));
                }
            };
            let d = self.register(Class::B64);
            ptx!(self, "ld.param.u64 {d}, [{name}]");
            self.bind(id, &[d])?;
            return Ok(format!("{declared}{align} {name}"));
        }
        let (size, align) = (table.size_bytes(ty).unwrap_or(0), u64::from(table.align_bytes(ty)));
        let d = self.register(Class::B64);
        ptx!(self, "mov.b64 {d}, {name}");
        let parts = self.load_parts(Space::Param, d, &shape, align, super::memory::Access::default())?;
        self.bind(id, &parts)?;
        Ok(match shape.kinds.as_slice() {
            [kind] => format!(".param .{} {name}", kind.memory()),
            _ => format!(".param .align {align} .b8 {name}[{}]", size.max(1)),
        })
    }

    /// A struct that is passed as a pointer to a copy of it.
    fn by_value(&mut self, id: u32, pointee: u32, name: &str) -> Step<String> {
        let table = self.cx.shapes.table;
        let size = table.size_bytes(pointee).filter(|size| *size <= 1 << 16);
        let size = size.ok_or_else(|| Stop::unsupported("an argument of more than 64 KiB; use a buffer"))?;
        let align = u64::from(table.align_bytes(pointee));
        let address = self.register(Class::B64);
        ptx!(self, "mov.b64 {address}, {name}");
        if self.in_parameters.contains(&id) {
            self.bind(id, &[address])?;
        } else {
            let at = self.private_bytes(size.max(1), align.max(8))?;
            let copy = self.private_address(at);
            self.copy_bytes(Space::Local, copy, Space::Param, address, size, align)?;
            self.bind(id, &[copy])?;
        }
        Ok(format!(".param .align {align} .b8 {name}[{}]", size.max(1)))
    }

    /// Puts declarations, prologue and blocks together.
    fn finish(&mut self, out: &mut String) {
        out.push_str("{\n");
        if self.depot_bytes > 0 {
            let _ = writeln!(
                out,
                "\t.local .align {} .b8 $depot{}[{}];",
                self.depot_align, self.function, self.depot_bytes
            );
        }
        for (class, count) in Class::ALL.into_iter().zip(self.counts) {
            if count > 0 {
                let _ = writeln!(out, "\t.reg .{} {}<{}>;", class.ty(), class.prefix(), u64::from(count) + 1);
            }
        }
        out.push_str(&self.prologue);
        out.push_str(&self.text);
        out.push_str("}\n");
        // The function may be written again, as another kernel's body.
        let mut ids = std::mem::take(&mut self.borrowed);
        if let Some(definition) = self.cx.definition(self.function) {
            let body = self.cx.definitions.module().instructions_from(definition.at);
            ids.extend(body.take_while(|i| !i.is(Op::FunctionEnd)).filter_map(|i| i.result_id()));
        }
        for id in ids {
            self.cx.values.insert(id, (u32::MAX, 0));
        }
    }

    /// Copies a whole number of bytes, in pieces as large as the alignment allows.
    pub(crate) fn copy_bytes(
        &mut self,
        to: Space,
        target: Operand,
        from: Space,
        source: Operand,
        bytes: u64,
        align: u64,
    ) -> Step {
        let piece = align.clamp(1, 8);
        let whole = bytes / piece * piece;
        let kind = |piece| match piece {
            8 => Kind::I64,
            4 => Kind::I32,
            2 => Kind::I16,
            _ => Kind::I8,
        };
        let access = super::memory::Access::default();
        if whole / piece <= 128 {
            for at in (0..whole).step_by(piece as usize) {
                let value = self.load_one(from, source, at, kind(piece), piece, access);
                self.store_one(to, target, at, kind(piece), value, piece, access);
            }
        } else {
            let (zero, end) = (Operand::Immediate(0), Operand::Immediate(whole));
            self.counted(zero, end, Operand::Immediate(piece), |body, at| {
                let s = body.op2(Class::B64, "add.s64", crate::operand::Ty::S64, source, at);
                let d = body.op2(Class::B64, "add.s64", crate::operand::Ty::S64, target, at);
                let value = body.load_one(from, s, 0, kind(piece), piece, access);
                body.store_one(to, d, 0, kind(piece), value, piece, access);
                Ok(())
            })?;
        }
        for at in whole..bytes {
            let value = self.load_one(from, source, at, Kind::I8, 1, access);
            self.store_one(to, target, at, Kind::I8, value, 1, access);
        }
        Ok(())
    }
}
