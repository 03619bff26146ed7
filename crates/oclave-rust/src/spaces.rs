//! Which memory each pointer points to.
//!
//! LLVM's pointers of the host have no address space. Pointers that may be equal, and pointers that
//! are stored in the same memory, are put into one class (by unification, as Steensgaard's analysis
//! does). A class knows the kinds of memory that its pointers may point to. Functions are analysed
//! once for each combination of classes that they are called with, and copied likewise.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::llvm::tree::{
    BlockIndex, Callee, Cast, Constant, Expression, Function, Instruction, Kind, Local, Operand, Type, Typed,
};
use crate::memory::{self, Image};
use crate::program::{Program, Symbol};
use crate::{Result, demangle, kernels};

/// A kind of memory, as a set of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Spaces(u8);

impl Spaces {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const FUNCTION: Self = Self(1);
    pub(crate) const GLOBAL: Self = Self(2);
    pub(crate) const LOCAL: Self = Self(4);
    pub(crate) const CONSTANT: Self = Self(8);

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What pointers of a class are on the device. Constants that share a class with other memory are
    /// copied to the stack.
    pub(crate) fn storage(self) -> Storage {
        let set = if self.has_copies() { Self(self.0 & !Self::CONSTANT.0 | Self::FUNCTION.0) } else { self };
        match set {
            Self::FUNCTION => Storage::Function,
            Self::LOCAL => Storage::Local,
            Self::CONSTANT => Storage::Constant,
            // What no memory is known of is null, or an address that the host stored in memory.
            Self::GLOBAL | Self::NONE => Storage::Global,
            _ => Storage::Generic,
        }
    }

    /// Whether constants of the class are copied to the stack.
    pub(crate) fn has_copies(self) -> bool {
        self.0 & Self::CONSTANT.0 != 0 && self != Self::CONSTANT
    }
}

/// Where pointers of a class point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Storage {
    Function,
    Global,
    Local,
    Constant,
    Generic,
}

/// A function that a pointer may point to, and the offset in the vtable that has its address;
/// [`ANYWHERE`] for pointers that are no part of a vtable.
pub(crate) type Target = (Symbol, u64);

/// See [`Target`].
const ANYWHERE: u64 = u64::MAX;

/// How rustc's names of vtables begin.
const VTABLE: &str = "vtable.";

/// A class of pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Class(u32);

/// Classes, and which of them were joined.
#[derive(Debug, Clone, Default)]
struct Classes {
    parent: Vec<u32>,
    spaces: Vec<Spaces>,
    /// The class of pointers in the memory that pointers of this class point to.
    pointee: Vec<Option<Class>>,
    /// The functions that pointers of this class may point to.
    functions: Vec<BTreeSet<Target>>,
    /// Counts changes.
    changes: u64,
}

impl Classes {
    fn fresh(&mut self, spaces: Spaces) -> Class {
        let class = Class(u32::try_from(self.parent.len()).unwrap_or(u32::MAX));
        self.parent.push(class.0);
        self.spaces.push(spaces);
        self.pointee.push(None);
        self.functions.push(BTreeSet::new());
        class
    }

    fn root(&self, class: Class) -> usize {
        let mut at = class.0 as usize;
        while let Some(&parent) = self.parent.get(at) {
            if parent as usize == at {
                break;
            }
            at = parent as usize;
        }
        at
    }

    fn spaces(&self, class: Class) -> Spaces {
        self.spaces.get(self.root(class)).copied().unwrap_or_default()
    }

    fn add(&mut self, class: Class, spaces: Spaces) {
        let root = self.root(class);
        if let Some(known) = self.spaces.get_mut(root) {
            let joined = known.with(spaces);
            if joined != *known {
                *known = joined;
                self.changes += 1;
            }
        }
    }

    fn functions(&self, class: Class) -> BTreeSet<Target> {
        self.functions.get(self.root(class)).cloned().unwrap_or_default()
    }

    fn add_functions(&mut self, class: Class, more: impl IntoIterator<Item = Target>) {
        let root = self.root(class);
        if let Some(known) = self.functions.get_mut(root) {
            let before = known.len();
            known.extend(more);
            self.changes += u64::from(known.len() != before);
        }
    }

    /// The class of pointers in memory that pointers of `class` point to.
    fn pointee(&mut self, class: Class) -> Class {
        let root = self.root(class);
        if let Some(Some(pointee)) = self.pointee.get(root) {
            return *pointee;
        }
        let pointee = self.fresh(Spaces::NONE);
        if let Some(entry) = self.pointee.get_mut(root) {
            *entry = Some(pointee);
        }
        pointee
    }

    fn known_pointee(&self, class: Class) -> Option<Class> {
        self.pointee.get(self.root(class)).copied().flatten()
    }

    /// Joins classes, and those of the memory behind them.
    fn unify(&mut self, a: Class, b: Class) {
        let mut pending = vec![(a, b)];
        while let Some((a, b)) = pending.pop() {
            let (a, b) = (self.root(a), self.root(b));
            if a == b {
                continue;
            }
            self.changes += 1;
            let (behind_a, behind_b) =
                (self.pointee.get(a).copied().flatten(), self.pointee.get(b).copied().flatten());
            let spaces = self.spaces.get(b).copied().unwrap_or_default();
            if let Some(parent) = self.parent.get_mut(b) {
                *parent = a as u32;
            }
            let functions = self.functions.get_mut(b).map(std::mem::take).unwrap_or_default();
            if let Some(known) = self.functions.get_mut(a) {
                known.extend(functions);
            }
            if let Some(known) = self.spaces.get_mut(a) {
                *known = known.with(spaces);
            }
            match (behind_a, behind_b) {
                (Some(a), Some(b)) => pending.push((a, b)),
                (None, Some(behind)) => {
                    if let Some(entry) = self.pointee.get_mut(a) {
                        *entry = Some(behind);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The classes of a function's parameters and result, and what lies behind them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Shape {
    /// Indices into `classes`. The last one is that of the result.
    values: Vec<Option<usize>>,
    classes: Vec<ClassShape>,
}

/// What a function is told of a class: kinds of memory, the class behind it, and functions.
type ClassShape = (Spaces, Option<usize>, BTreeSet<Target>);

impl Shape {
    /// The shape of parameters and a result, whose pointers have one kind of memory each.
    pub(crate) fn new(values: Vec<Option<usize>>, spaces: Vec<Spaces>) -> Self {
        Self { values, classes: spaces.into_iter().map(|spaces| (spaces, None, BTreeSet::new())).collect() }
    }
}

/// A copy of a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Copy {
    pub(crate) symbol: Symbol,
    pub(crate) shape: Shape,
}

/// The classes of one copy of a function.
#[derive(Debug)]
pub(crate) struct Analysis {
    classes: Classes,
    locals: BTreeMap<Local, Class>,
    globals: BTreeMap<Symbol, Class>,
    returns: Option<Class>,
    /// Block and position of calls → what is called.
    pub(crate) calls: BTreeMap<(BlockIndex, usize), Copy>,
    /// Block and position of calls through pointers → what may be called, and whether that is all that the
    /// pointer may point to.
    pub(crate) indirect: BTreeMap<(BlockIndex, usize), (Vec<Copy>, bool)>,
    /// Classes and results as callers see them.
    summary: Shape,
}

impl Analysis {
    /// Where a pointer, or the pointers in an aggregate, point to.
    pub(crate) fn of(&self, local: Local) -> Storage {
        self.locals.get(&local).map_or(Storage::Global, |class| self.classes.spaces(*class).storage())
    }

    pub(crate) fn of_result(&self) -> Storage {
        self.returns.map_or(Storage::Global, |class| self.classes.spaces(class).storage())
    }

    /// Where a constant lies, and whether this function copies it to its stack.
    pub(crate) fn of_global(&self, symbol: &Symbol) -> (Storage, bool) {
        let spaces = self.globals.get(symbol).map_or(Spaces::CONSTANT, |class| self.classes.spaces(*class));
        (spaces.storage(), spaces.has_copies())
    }

    /// Where the pointers in the memory that an operand points to point to.
    pub(crate) fn behind(&self, local: Local) -> Storage {
        self.behind_class(self.locals.get(&local))
    }

    /// Where the pointers in a constant point to.
    pub(crate) fn behind_global(&self, symbol: &Symbol) -> Storage {
        self.behind_class(self.globals.get(symbol))
    }

    fn behind_class(&self, class: Option<&Class>) -> Storage {
        let behind = class.and_then(|class| self.classes.known_pointee(*class));
        behind.map_or(Storage::Global, |class| self.classes.spaces(class).storage())
    }
}

/// Analyses functions, each copy once.
#[derive(Debug)]
pub(crate) struct Analyses<'p> {
    program: &'p Program,
    done: BTreeMap<Copy, Rc<Analysis>>,
    /// Functions that are being analysed, to find recursion.
    active: Vec<Symbol>,
}

/// Calls may nest so deep.
const DEEPEST: usize = 200;

impl<'p> Analyses<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Self { program, done: BTreeMap::new(), active: Vec::new() }
    }

    /// The analysis of a kernel's function, which has no parameters.
    pub(crate) fn kernel(&mut self, symbol: &Symbol) -> Copy {
        Copy { symbol: symbol.clone(), shape: Shape { values: vec![None], classes: Vec::new() } }
    }

    pub(crate) fn get(&mut self, copy: &Copy, function: &Function) -> Result<Rc<Analysis>> {
        if let Some(analysis) = self.done.get(copy) {
            return Ok(Rc::clone(analysis));
        }
        if self.active.contains(&copy.symbol) || self.active.len() >= DEEPEST {
            return Err(self.program.unsupported(
                &copy.symbol,
                function,
                None,
                "it calls itself, and devices have no recursion",
                "write a loop, with a stack of its own if need be",
            ));
        }
        self.active.push(copy.symbol.clone());
        let analysis = Run::new(self, copy, function).run();
        self.active.pop();
        let analysis = Rc::new(analysis?);
        self.done.insert(copy.clone(), Rc::clone(&analysis));
        Ok(analysis)
    }
}

/// The analysis of one function.
struct Run<'a, 'p> {
    all: &'a mut Analyses<'p>,
    copy: &'a Copy,
    function: &'a Function,
    classes: Classes,
    locals: BTreeMap<Local, Class>,
    globals: BTreeMap<Symbol, Class>,
    /// The constants that [`Self::table`] has looked at.
    tables: BTreeSet<Symbol>,
    returns: Option<Class>,
}

impl<'a, 'p> Run<'a, 'p> {
    fn new(all: &'a mut Analyses<'p>, copy: &'a Copy, function: &'a Function) -> Self {
        let mut run = Self {
            all,
            copy,
            function,
            classes: Classes::default(),
            locals: BTreeMap::new(),
            globals: BTreeMap::new(),
            tables: BTreeSet::new(),
            returns: None,
        };
        let classes = run.instantiate(&copy.shape);
        for ((_, local), class) in function.parameters.iter().zip(&classes) {
            run.locals.extend(class.map(|class| (*local, class)));
        }
        if carries(&function.returns) {
            run.returns = classes.last().copied().flatten().or_else(|| Some(run.classes.fresh(Spaces::NONE)));
        }
        run
    }

    /// The classes of a shape, as new ones here.
    fn instantiate(&mut self, shape: &Shape) -> Vec<Option<Class>> {
        let new: Vec<Class> = shape.classes.iter().map(|(spaces, ..)| self.classes.fresh(*spaces)).collect();
        for (class, (_, pointee, functions)) in new.iter().zip(&shape.classes) {
            self.classes.add_functions(*class, functions.iter().cloned());
            if let Some(pointee) = pointee.and_then(|index| new.get(index)) {
                let behind = self.classes.pointee(*class);
                self.classes.unify(behind, *pointee);
            }
        }
        shape.values.iter().map(|value| value.and_then(|index| new.get(index)).copied()).collect()
    }

    /// The shape of values.
    fn shape(&self, values: &[Option<Class>]) -> Shape {
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut order: Vec<Class> = Vec::new();
        let mut number = |class: Class, order: &mut Vec<Class>| {
            *numbers.entry(self.classes.root(class)).or_insert_with(|| {
                order.push(class);
                order.len() - 1
            })
        };
        let values = values.iter().map(|class| class.map(|class| number(class, &mut order))).collect();
        let mut classes = Vec::new();
        let mut at = 0;
        while let Some(&class) = order.get(at) {
            let pointee = self.classes.known_pointee(class).map(|class| number(class, &mut order));
            classes.push((self.classes.spaces(class), pointee, self.classes.functions(class)));
            at += 1;
        }
        Shape { values, classes }
    }

    fn local(&mut self, local: Local) -> Class {
        match self.locals.get(&local) {
            Some(class) => *class,
            None => {
                let class = self.classes.fresh(Spaces::NONE);
                self.locals.insert(local, class);
                class
            }
        }
    }

    fn operand(&mut self, operand: &Operand) -> Option<Class> {
        self.class_of(operand, true)
    }

    /// The class of an operand. If it is a constant that may be read, the addresses in it are looked at.
    fn class_of(&mut self, operand: &Operand, may_be_read: bool) -> Option<Class> {
        match operand {
            Operand::Local(local) => Some(self.local(*local)),
            Operand::Constant(constant) => self.constant(constant, may_be_read),
        }
    }

    fn constant(&mut self, constant: &Constant, may_be_read: bool) -> Option<Class> {
        match constant {
            Constant::Global(name) => {
                let symbol = Symbol { module: self.copy.symbol.module, name: Rc::clone(name) };
                let class = self.global(&symbol);
                if may_be_read {
                    self.table(class, &symbol);
                }
                Some(class)
            }
            Constant::Elements(elements) => {
                let mut joined: Option<Class> = None;
                for (_, element) in elements.iter() {
                    if let Some(class) = self.constant(element, may_be_read) {
                        if let Some(known) = joined {
                            self.classes.unify(known, class);
                        }
                        joined = Some(class);
                    }
                }
                joined
            }
            Constant::Splat(element) => self.constant(&element.1, may_be_read),
            Constant::Expression(expression) => match &**expression {
                Expression::Cast(_, _, value) => self.constant(value, may_be_read),
                Expression::Address { base, .. } => self.constant(base, may_be_read),
                _ => None,
            },
            _ => None,
        }
    }

    /// The class of pointers to a constant, a device global or a function.
    fn global(&mut self, symbol: &Symbol) -> Class {
        if let Some(class) = self.globals.get(symbol) {
            return *class;
        }
        let program = self.all.program;
        if program.is_function(symbol.module, &symbol.name) {
            let class = self.classes.fresh(Spaces::NONE);
            let function = program.function(symbol.module, &symbol.name);
            self.classes.add_functions(class, function.map(|(symbol, _)| (symbol, ANYWHERE)));
            self.globals.insert(symbol.clone(), class);
            return class;
        }
        let is_shared = program.is_device_global(&symbol.name);
        let class = self.classes.fresh(if is_shared { Spaces::GLOBAL } else { Spaces::CONSTANT });
        self.globals.insert(symbol.clone(), class);
        self.vtable(class, symbol);
        class
    }

    /// Notes the constants whose addresses a constant holds. A constant that holds any lies on the stack, where they can be
    /// stored.
    fn table(&mut self, class: Class, symbol: &Symbol) {
        let program = self.all.program;
        if program.is_device_global(&symbol.name) || !self.tables.insert(symbol.clone()) {
            return;
        }
        let Some((_, image)) = self.constant_with_addresses(symbol) else { return };
        for (target, _) in image.addresses.values() {
            if program.is_function(target.module, &target.name) {
                continue;
            }
            self.classes.add(class, Spaces::FUNCTION);
            let (behind, held) = (self.classes.pointee(class), self.global(target));
            self.classes.unify(behind, held);
            self.table(held, target);
        }
    }

    /// A constant that holds addresses, by the name where it is defined.
    fn constant_with_addresses(&self, symbol: &Symbol) -> Option<(Symbol, Image)> {
        let program = self.all.program;
        let (owner, global) = program.global(symbol.module, &symbol.name)?;
        let image = Image::of_global(program, owner.module, &owner.name).ok()?;
        (global.is_constant && !image.addresses.is_empty()).then_some((owner, image))
    }

    /// Notes the functions whose addresses a constant holds.
    fn vtable(&mut self, class: Class, symbol: &Symbol) {
        let program = self.all.program;
        let Some((owner, image)) = self.constant_with_addresses(symbol) else { return };
        // Vtables of objects of one trait stand behind each other. In other tables, a pointer may point to any element.
        let stride = program.tables(&owner.name).map(|set| set.stride.max(1));
        let place = |offset: u64| match stride {
            Some(stride) => offset % stride,
            None if owner.name.starts_with(VTABLE) => offset,
            None => ANYWHERE,
        };
        let functions: Vec<Target> = image
            .addresses
            .iter()
            .filter_map(|(offset, (function, _))| {
                let (symbol, _) = program.function(function.module, &function.name)?;
                Some((symbol, place(*offset)))
            })
            .collect();
        let behind = self.classes.pointee(class);
        self.classes.add_functions(behind, functions);
    }

    fn is_panic(&self, instructions: &[Instruction], position: usize) -> bool {
        is_panic(self.all.program, self.copy.symbol.module, instructions, position)
    }

    fn join(&mut self, a: Option<Class>, b: Option<Class>) {
        if let (Some(a), Some(b)) = (a, b) {
            self.classes.unify(a, b);
        }
    }

    fn join_operands(&mut self, result: Option<Class>, operands: &[&Operand]) {
        for operand in operands {
            let class = self.operand(operand);
            self.join(result, class);
        }
    }

    fn run(mut self) -> Result<Analysis> {
        let function = self.function;
        for block in &function.blocks {
            let is_panic = |position: usize| self.is_panic(&block.instructions, position);
            // A message of a panic stores addresses of tables that nothing reads.
            let panic = (0..block.instructions.len()).find(|position| is_panic(*position));
            for (position, instruction) in block.instructions.iter().enumerate() {
                if panic != Some(position) {
                    self.instruction(instruction, panic.is_some());
                }
            }
        }
        let (mut calls, mut indirect) = (BTreeMap::new(), BTreeMap::new());
        loop {
            let before = self.classes.changes;
            for (index, block) in (0_u32..).zip(&function.blocks) {
                for (position, instruction) in block.instructions.iter().enumerate() {
                    if self.is_panic(&block.instructions, position) {
                        continue;
                    }
                    if let Some(copy) = self.call(instruction)? {
                        calls.insert((BlockIndex(index), position), copy);
                    }
                    if let Some(copies) = self.call_through_pointer(instruction)? {
                        indirect.insert((BlockIndex(index), position), copies);
                    }
                }
            }
            if self.classes.changes == before {
                break;
            }
        }
        self.check_copies()?;
        let mut values: Vec<Option<Class>> =
            function.parameters.iter().map(|(_, local)| self.locals.get(local).copied()).collect();
        values.push(self.returns);
        let summary = self.shape(&values);
        let Self { classes, locals, globals, returns, .. } = self;
        Ok(Analysis { classes, locals, globals, returns, calls, indirect, summary })
    }

    /// Copies of constants on the stack must not outlive the function.
    fn check_copies(&self) -> Result<()> {
        let copied: BTreeSet<usize> = self
            .globals
            .values()
            .filter(|class| self.classes.spaces(**class).has_copies())
            .map(|class| self.classes.root(*class))
            .collect();
        if copied.is_empty() {
            return Ok(());
        }
        let parameters = self.function.parameters.iter().filter_map(|(_, local)| self.locals.get(local));
        let mut pending: Vec<Class> = parameters.copied().chain(self.returns).collect();
        let mut seen = BTreeSet::new();
        while let Some(class) = pending.pop() {
            let root = self.classes.root(class);
            if !seen.insert(root) {
                continue;
            }
            if copied.contains(&root) {
                return Err(self.all.program.unsupported(
                    &self.copy.symbol,
                    self.function,
                    None,
                    "a reference that leaves the function may refer to a table of references, or to a constant and to other memory",
                    "mark the function `#[inline(always)]`, or return a value instead of a reference",
                ));
            }
            pending.extend(self.classes.known_pointee(class));
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction, has_message: bool) {
        let result = match instruction.result {
            Some(result) if carries(&instruction.ty) => Some(self.local(result)),
            _ => None,
        };
        match &instruction.kind {
            Kind::Alloca { .. } => {
                if let Some(class) = result {
                    self.classes.add(class, Spaces::FUNCTION);
                }
            }
            Kind::Load { pointer, .. } => {
                if let (Some(result), Some(pointer)) = (result, self.operand(pointer)) {
                    let behind = self.classes.pointee(pointer);
                    self.classes.unify(result, behind);
                }
            }
            Kind::Store { value: (ty, value), pointer, .. } => {
                // Device globals have a class, whatever is stored.
                let pointer = self.operand(pointer);
                if carries(ty)
                    && let (Some(value), Some(pointer)) = (self.class_of(value, !has_message), pointer)
                {
                    let behind = self.classes.pointee(pointer);
                    self.classes.unify(behind, value);
                }
            }
            Kind::Atomic { pointer, value, .. } => {
                if let (Some(result), Some(pointer)) = (result, self.operand(pointer)) {
                    let behind = self.classes.pointee(pointer);
                    self.classes.unify(result, behind);
                    self.join_operands(Some(result), &[value]);
                }
            }
            Kind::CompareExchange { pointer, expected, new, .. } => {
                if let (Some(result), Some(pointer)) = (result, self.operand(pointer)) {
                    let behind = self.classes.pointee(pointer);
                    self.classes.unify(result, behind);
                    self.join_operands(Some(result), &[&expected.1, new]);
                }
            }
            Kind::Address { base, .. } => self.join_operands(result, &[base]),
            Kind::Cast(Cast::PtrToInt | Cast::IntToPtr | Cast::AddressSpace | Cast::Bitcast, from, value)
                if carries(from) =>
            {
                self.join_operands(result, &[value]);
            }
            Kind::Select(_, yes, no) => self.join_operands(result, &[yes, no]),
            Kind::Freeze(value) => self.join_operands(result, &[value]),
            Kind::Phi(incoming) => {
                for (value, _) in incoming {
                    self.join_operands(result, &[value]);
                }
            }
            Kind::ExtractValue(aggregate, _) | Kind::ExtractElement(aggregate, _) => {
                self.join_operands(result, &[&aggregate.1]);
            }
            Kind::InsertValue(aggregate, value, _) | Kind::InsertElement(aggregate, value, _) => {
                self.join_operands(result, &[&aggregate.1]);
                if carries(&value.0) {
                    self.join_operands(result, &[&value.1]);
                }
            }
            Kind::Shuffle(a, b, _) => self.join_operands(result, &[&a.1, &b.1]),
            Kind::Return(Some((ty, value))) if carries(ty) => {
                let value = self.operand(value);
                self.join(self.returns, value);
            }
            Kind::Call { callee: Callee::Function(name), arguments, .. } => {
                if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") {
                    if let [(_, to), (_, from), ..] = arguments.as_slice()
                        && let (Some(to), Some(from)) = (self.operand(to), self.operand(from))
                    {
                        let (to, from) = (self.classes.pointee(to), self.classes.pointee(from));
                        self.classes.unify(to, from);
                    }
                    return;
                }
                let spaces = match name.strip_prefix(kernels::INTRINSIC) {
                    Some("argument_global") => Spaces::GLOBAL,
                    Some("argument_local" | "local_memory") => Spaces::LOCAL,
                    Some("argument_bytes") => Spaces::FUNCTION,
                    _ => Spaces::NONE,
                };
                if let Some(class) = result {
                    self.classes.add(class, spaces);
                    // `llvm.ptrmask`, `llvm.launder.invariant.group` and the like.
                    if name.starts_with("llvm.")
                        && let Some((Type::Pointer, first)) = arguments.first()
                    {
                        self.join_operands(result, &[first]);
                    }
                }
            }
            _ => {}
        }
    }

    /// The copy of a function that an instruction calls.
    fn call(&mut self, instruction: &Instruction) -> Result<Option<Copy>> {
        let Kind::Call { callee: Callee::Function(name), arguments, .. } = &instruction.kind else {
            return Ok(None);
        };
        let Some((symbol, function)) = self.all.program.function(self.copy.symbol.module, name) else {
            return Ok(None);
        };
        self.call_of(instruction, symbol, &function, arguments).map(Some)
    }

    /// The copies of functions that an instruction may call through a pointer.
    fn call_through_pointer(&mut self, instruction: &Instruction) -> Result<Option<(Vec<Copy>, bool)>> {
        let Kind::Call { callee: Callee::Pointer(pointer), arguments, .. } = &instruction.kind else {
            return Ok(None);
        };
        let class = self.local(*pointer);
        let all: Vec<Target> = self.classes.functions(class).into_iter().collect();
        let slot = self.slot(*pointer);
        let (mut copies, mut is_whole) = (Vec::new(), true);
        for (symbol, offset) in all {
            let Some((symbol, function)) = self.all.program.function(symbol.module, &symbol.name) else {
                continue;
            };
            let is_at_slot = slot.is_none_or(|slot| offset == slot || offset == ANYWHERE);
            let fits = function.returns == instruction.ty
                && function.parameters.len() == arguments.len()
                && function.parameters.iter().zip(arguments).all(|((own, _), (given, _))| own == given);
            if !fits || !is_at_slot {
                // Functions of other types cannot be called here at all.
                is_whole &= !fits;
                continue;
            }
            let copy = self.call_of(instruction, symbol, &function, arguments)?;
            if !copies.contains(&copy) {
                copies.push(copy);
            }
        }
        Ok(Some((copies, is_whole)))
    }

    /// The offset in a vtable from which a pointer to a function was loaded, if that can be seen.
    fn slot(&self, pointer: Local) -> Option<u64> {
        let defined = |local: Local| {
            let instructions = self.function.blocks.iter().flat_map(|block| &block.instructions);
            instructions.into_iter().find(|instruction| instruction.result == Some(local))
        };
        let Kind::Load { pointer: Operand::Local(place), .. } = &defined(pointer)?.kind else { return None };
        match defined(*place).map(|instruction| &instruction.kind) {
            Some(Kind::Address { element, indices, .. }) => match indices.as_slice() {
                [(_, Operand::Constant(Constant::Int(index)))] => {
                    Some(crate::llvm::layout::size(element).wrapping_mul(*index as u64))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The copy of a function that is called with arguments.
    fn call_of(
        &mut self,
        instruction: &Instruction,
        symbol: Symbol,
        function: &Rc<Function>,
        arguments: &[Typed],
    ) -> Result<Copy> {
        let mut values = Vec::new();
        for (ty, argument) in arguments.iter().take(function.parameters.len()) {
            values.push(if carries(ty) { self.operand(argument) } else { None });
        }
        values.resize(function.parameters.len(), None);
        values.push(match instruction.result {
            Some(result) if carries(&instruction.ty) => Some(self.local(result)),
            _ => None,
        });
        let copy = Copy { symbol, shape: self.shape(&values) };
        let analysis = self.all.get(&copy, function)?;
        let before = self.classes.changes;
        let summary = self.instantiate(&analysis.summary);
        for (value, known) in values.iter().zip(summary) {
            self.join(*value, known);
        }
        // Joining with new classes that tell nothing new is no change.
        let is_same = self.shape(&values) == copy.shape;
        self.classes.changes = if is_same { before } else { before + 1 };
        Ok(copy)
    }
}

/// Whether a value of a type may hold pointers. LLVM copies pointers as integers of 64 bits, too.
fn carries(ty: &Type) -> bool {
    match ty {
        Type::Pointer | Type::Int(64) => true,
        Type::Array(_, element) | Type::Vector(_, element) => carries(element),
        Type::Struct { fields, .. } => fields.iter().any(carries),
        _ => false,
    }
}

/// Whether the instruction at a position is a panic: a call that never returns, of what is no function of the program.
pub(crate) fn is_panic(
    program: &Program,
    module: usize,
    instructions: &[Instruction],
    position: usize,
) -> bool {
    let Some(Kind::Call { callee, arguments, .. }) = instructions.get(position).map(|call| &call.kind) else {
        return false;
    };
    if !instructions.get(position + 1).is_some_and(|next| matches!(next.kind, Kind::Unreachable)) {
        return false;
    }
    // Of the functions of Rust's own crates that panic, what they are given is shown. Those with `#[track_caller]` are given a
    // place, which is a table of references.
    let is_own = |name: &str| {
        let path = demangle::path(name);
        !["core::", "alloc::", "std::", "oclave_kernel::"].iter().any(|own| path.starts_with(own))
            && program.function(module, name).is_some()
            && !arguments.iter().any(|(_, argument)| is_table(program, module, argument))
    };
    let is_called = match callee {
        Callee::Function(name) => is_own(name),
        Callee::Pointer(_) => true,
        _ => false,
    };
    !is_hint(callee) && !is_called
}

/// Whether an operand is the address of a constant that holds addresses.
fn is_table(program: &Program, module: usize, operand: &Operand) -> bool {
    let Operand::Constant(constant) = operand else { return false };
    let name = memory::address(constant).and_then(|(name, _)| name);
    let image = name.and_then(|name| Image::of_global(program, module, &name).ok());
    image.is_some_and(|image| !image.addresses.is_empty())
}

fn is_hint(callee: &Callee) -> bool {
    matches!(callee, Callee::Function(name) if name.starts_with("llvm.") && !name.starts_with("llvm.trap"))
}
