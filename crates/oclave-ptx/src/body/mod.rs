//! One function on its way to PTX: registers, values of ids, and how instructions are written.
//!
//! Registers of PTX are variables that may be written several times, and there is no limit on them:
//! each scalar of each SPIR-V value gets one. What only renames values (bit casts of equal widths,
//! parts of composites) writes nothing: the new id stands for the registers of the old one.

mod address;
mod arithmetic;
mod asynchronous;
mod atomic;
mod barrier;
mod bits;
mod builtin;
mod calls;
mod compare;
mod composite;
mod convert;
mod dispatch;
mod divide;
mod float;
mod flow;
mod function;
mod group;
mod image;
mod image_access;
mod memory;
mod promote;
mod reduce;
mod values;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;

use oclave_spirv::{Instruction, Op};

use crate::error::{Step, Stop, need};
use crate::module::Context;
use crate::operand::{Class, Kind, Operand, Space, Ty};
use crate::types::Shape;

/// Writes one instruction: `ptx!(self, "add.s32 {d}, {a}, {b}")`.
macro_rules! ptx {
    ($body:expr, $($text:tt)*) => { $body.line(format_args!($($text)*)) };
}
pub(crate) use ptx;

/// A function that is being written.
#[derive(Debug)]
pub(crate) struct Body<'c, 'a, 'm> {
    pub(crate) cx: &'c mut Context<'a, 'm>,
    function: u32,
    /// Whether multiplications and additions may be fused.
    contract: bool,
    /// The label of the block that is being translated, and the blocks that all work-items come to.
    block: u32,
    for_all: HashMap<u32, bool>,
    /// What is being translated, for messages.
    pub(crate) instruction: Option<Instruction<'m>>,
    text: String,
    /// What comes before the first block: addresses, parameters.
    prologue: String,
    /// Whether instructions go into the prologue now.
    in_prologue: bool,
    counts: [u32; 4],
    labels: u32,
    depot_bytes: u64,
    depot_align: u64,
    /// Ids from outside of the function whose registers are the function's.
    borrowed: Vec<u32>,
    blocks: Vec<flow::Block<'m>>,
    block_of_label: HashMap<u32, usize>,
    /// What predecessors write for each phi.
    phi_inputs: HashMap<u32, Vec<Operand>>,
    /// Private variables that are registers.
    promoted: HashSet<u32>,
    /// Pointers into the parameters of the kernel.
    in_parameters: HashSet<u32>,
    /// Pointers to what nothing writes while the kernel runs.
    read_only: HashSet<u32>,
    returns: Option<Rc<Shape>>,
    is_kernel: bool,
    /// Whether the instruction in hand works on lanes of a vector.
    pub(crate) in_vector: bool,
    /// What the kernel's images and samplers are numbered by.
    images: image::Images,
    /// The kernel that does nothing but call this function: decorations of its parameters, by those
    /// of the function.
    outer: HashMap<u32, u32>,
}

impl<'c, 'a, 'm> Body<'c, 'a, 'm> {
    pub(crate) fn new(cx: &'c mut Context<'a, 'm>, function: u32, contract: bool) -> Self {
        Self {
            cx,
            function,
            contract,
            block: 0,
            for_all: HashMap::new(),
            instruction: None,
            text: String::new(),
            prologue: String::new(),
            in_prologue: false,
            counts: [0; 4],
            labels: 0,
            depot_bytes: 0,
            depot_align: 8,
            borrowed: Vec::new(),
            blocks: Vec::new(),
            block_of_label: HashMap::new(),
            phi_inputs: HashMap::new(),
            promoted: HashSet::new(),
            in_parameters: HashSet::new(),
            read_only: HashSet::new(),
            returns: None,
            is_kernel: false,
            in_vector: false,
            images: image::Images::default(),
            outer: HashMap::new(),
        }
    }

    /// Writes an instruction.
    pub(crate) fn line(&mut self, text: fmt::Arguments<'_>) {
        let out = if self.in_prologue { &mut self.prologue } else { &mut self.text };
        out.push('\t');
        // Writing to a String cannot fail.
        let _ = fmt::write(out, text);
        out.push_str(";\n");
    }

    /// Writes a label.
    pub(crate) fn label(&mut self, name: &str) {
        self.text.push_str(name);
        self.text.push_str(":\n");
    }

    /// A label that nothing else has.
    pub(crate) fn new_label(&mut self) -> String {
        self.labels += 1;
        format!("$E{}_{}", self.function, self.labels)
    }

    /// A new register.
    pub(crate) fn register(&mut self, class: Class) -> Operand {
        let count = match class {
            Class::Pred => &mut self.counts[0],
            Class::B16 => &mut self.counts[1],
            Class::B32 => &mut self.counts[2],
            Class::B64 => &mut self.counts[3],
        };
        *count += 1;
        Operand::Register(class, *count)
    }

    /// A new register with what `name` makes of `a`.
    pub(crate) fn op1(&mut self, class: Class, name: &str, ty: Ty, a: Operand) -> Operand {
        let a = self.fit(a, ty);
        let d = self.register(class);
        ptx!(self, "{name} {d}, {}", a.of(ty));
        d
    }

    /// A new register with what `name` makes of `a` and `b`.
    pub(crate) fn op2(&mut self, class: Class, name: &str, ty: Ty, a: Operand, b: Operand) -> Operand {
        let (a, b) = (self.fit(a, ty), self.fit(b, ty));
        let d = self.register(class);
        ptx!(self, "{name} {d}, {}, {}", a.of(ty), b.of(ty));
        d
    }

    /// A new register with what `name` makes of three operands.
    pub(crate) fn op3(&mut self, class: Class, name: &str, ty: Ty, [a, b, c]: [Operand; 3]) -> Operand {
        let (a, b, c) = (self.fit(a, ty), self.fit(b, ty), self.fit(c, ty));
        let d = self.register(class);
        ptx!(self, "{name} {d}, {}, {}, {}", a.of(ty), b.of(ty), c.of(ty));
        d
    }

    /// The operand as an instruction of type `ty` takes it: there are no literals of half precision
    /// and of predicates.
    fn fit(&mut self, a: Operand, ty: Ty) -> Operand {
        match ty {
            Ty::F16 | Ty::B16 | Ty::U16 | Ty::S16 => self.in_register(a, Class::B16),
            Ty::Pred => self.in_register(a, Class::Pred),
            _ => a,
        }
    }

    /// The operand as a register.
    pub(crate) fn in_register(&mut self, a: Operand, class: Class) -> Operand {
        let Operand::Immediate(bits) = a else { return a };
        let d = self.register(class);
        match class {
            Class::Pred => ptx!(self, "setp.ne.s32 {d}, {}, 0", bits & 1),
            Class::B16 => ptx!(self, "mov.b16 {d}, {}", bits as u16),
            _ => ptx!(self, "mov.{} {d}, {}", class.ty(), a.of(class.ty())),
        }
        d
    }

    /// Copies `a` into the register `d`.
    pub(crate) fn copy(&mut self, d: Operand, class: Class, a: Operand) {
        match (class, a) {
            _ if a == d => {}
            (Class::Pred, Operand::Immediate(bits)) => ptx!(self, "setp.ne.s32 {d}, {}, 0", bits & 1),
            _ => ptx!(self, "mov.{} {d}, {}", class.ty(), a.of(class.ty())),
        }
    }

    /// `condition ? a : b`.
    pub(crate) fn pick(&mut self, kind: Kind, condition: Operand, a: Operand, b: Operand) -> Operand {
        if let Operand::Immediate(bits) = condition {
            return if bits & 1 != 0 { a } else { b };
        }
        if a == b {
            return a;
        }
        if kind == Kind::Bool {
            let (x, y) = (self.bool_as(a, 1), self.bool_as(b, 1));
            let both = self.op2_condition(Class::B32, Ty::B32, x, y, condition);
            return self.compare("ne", Ty::S32, both, Operand::Immediate(0));
        }
        self.op2_condition(kind.class(), kind.untyped(), a, b, condition)
    }

    fn op2_condition(&mut self, class: Class, ty: Ty, a: Operand, b: Operand, condition: Operand) -> Operand {
        let (a, b) = (self.fit(a, ty), self.fit(b, ty));
        let d = self.register(class);
        ptx!(self, "selp.{ty} {d}, {}, {}, {condition}", a.of(ty), b.of(ty));
        d
    }

    /// A predicate: `a relation b`.
    pub(crate) fn compare(&mut self, relation: &str, ty: Ty, a: Operand, b: Operand) -> Operand {
        let (a, b) = (self.fit(a, ty), self.fit(b, ty));
        let d = self.register(Class::Pred);
        ptx!(self, "setp.{relation}.{ty} {d}, {}, {}", a.of(ty), b.of(ty));
        d
    }

    /// A boolean as a 32-bit number: `yes` or 0.
    pub(crate) fn bool_as(&mut self, a: Operand, yes: u64) -> Operand {
        match a {
            Operand::Immediate(bits) => Operand::Immediate(if bits & 1 != 0 { yes } else { 0 }),
            Operand::Register(..) => {
                self.op2_condition(Class::B32, Ty::B32, Operand::Immediate(yes), Operand::Immediate(0), a)
            }
        }
    }

    /// Space in the function's private memory: the offset.
    pub(crate) fn private_bytes(&mut self, bytes: u64, align: u64) -> Step<u64> {
        let align = align.clamp(1, 256);
        let at = self.depot_bytes.next_multiple_of(align);
        let end = at.checked_add(bytes).filter(|end| *end <= 1 << 24);
        self.depot_bytes = end.ok_or_else(|| {
            Stop::unsupported("more than 16 MiB of private variables; use global memory".to_owned())
        })?;
        self.depot_align = self.depot_align.max(align);
        Ok(at)
    }

    /// The address of an offset in the function's private memory, as an address of `.local`.
    pub(crate) fn private_address(&mut self, offset: u64) -> Operand {
        let d = self.register(Class::B64);
        let before = std::mem::replace(&mut self.in_prologue, true);
        let function = self.function;
        ptx!(self, "mov.u64 {d}, $depot{function}+{offset}");
        self.in_prologue = before;
        d
    }

    /// The operand ids of the instruction in hand.
    pub(crate) fn id(&self, instruction: &Instruction<'m>, index: usize) -> Step<u32> {
        need(instruction.operand(index))
    }

    /// Result id and type.
    pub(crate) fn result(&self, instruction: &Instruction<'m>) -> Step<(u32, u32)> {
        Ok((need(instruction.result_id())?, need(instruction.result_type())?))
    }

    /// The state space of a pointer's type.
    pub(crate) fn space_of(&mut self, pointer: u32) -> Step<Space> {
        if self.in_parameters.contains(&pointer) {
            return Ok(Space::Param);
        }
        match self.kind_of(pointer)? {
            Kind::Pointer(space) => Ok(space),
            _ => Err(Stop::Broken("it is not a pointer")),
        }
    }

    /// The kind of the (first) scalar of a value.
    pub(crate) fn kind_of(&mut self, id: u32) -> Step<Kind> {
        let ty = need(self.cx.definitions.type_of(id))?;
        self.cx.shapes.kind(ty)
    }

    /// The shape of a value.
    pub(crate) fn shape_of(&mut self, id: u32) -> Step<Rc<Shape>> {
        let ty = need(self.cx.definitions.type_of(id))?;
        self.cx.shapes.shape(ty)
    }

    /// Whether the instruction that defines `id` is an `op`.
    pub(crate) fn is_defined_by(&self, id: u32, op: Op) -> bool {
        self.cx.definition(id).is_some_and(|definition| definition.is(op))
    }
}
