//! Device globals become pointers to memory that all images of a device share.
//!
//! A variable without `device_image_scope` turns into the `usmptr` of the DPC++ design ("Device global variables"): a
//! module-scope pointer, null at first, which every function that uses the variable loads once at its start. What was
//! computed from the variable's address at module scope is computed there, too. A variable with `device_image_scope`
//! stays what it is; both get their unique id as linkage name.

use std::collections::{BTreeMap, BTreeSet};

use super::declared_globals::{DeclaredGlobal, VariableFacts};
use super::markers::is_user_semantic;
use super::references::References;
use crate::spirv::{
    Capability, Decoration, Definitions, FunctionControl, Instruction, LinkageType, Module, Op, Rewriter,
    Role, StorageClass, Type, TypeTable, Version,
};
use crate::{ImageError, Result};

/// What functions that use variables in global memory lose.
///
/// Pure and Const: the function reads memory that the optimiser did not think of (llvm-spirv and the drivers made from it
/// have the two the wrong way round besides, readnone is Pure and readonly is Const). DontInline: PoCL 6.0 reaches
/// variables through a pointer that only kernels have; functions that it must not inline do not link
/// ("undefined symbol: _pocl_gvar_buffer").
const MISLEADING: FunctionControl =
    FunctionControl::PURE.union(FunctionControl::CONST).union(FunctionControl::DONT_INLINE);

/// `MemoryAccess` bit that says that an alignment follows.
const ALIGNED: u32 = 2;

/// Rewrites the variables of `globals`, and removes the markers.
///
/// # Errors
/// [`ImageError::Diagnostic`] where the address of a shared variable initializes another variable.
pub(crate) fn rewrite(
    references: &References<'_>,
    types: &TypeTable<'_>,
    facts: &VariableFacts,
    globals: &[DeclaredGlobal],
) -> Result<Module> {
    let definitions = references.definitions();
    let by_variable: BTreeMap<u32, &DeclaredGlobal> = globals.iter().map(|g| (g.variable, g)).collect();
    let shared: BTreeSet<u32> =
        globals.iter().filter(|g| !g.info.device_image_scope).map(|g| g.variable).collect();
    let derived = derived_constants(definitions, facts, &shared)?;
    let mut rewrite = Rewrite {
        references,
        types,
        by_variable,
        shared,
        derived,
        users: functions_using_globals(references),
        new: Rewriter::new(definitions),
        function: None,
    };
    for instruction in definitions.module().instructions() {
        rewrite.instruction(&instruction)?;
    }
    rewrite.decorate(globals);
    rewrite.new.finish()
}

/// The module-scope constants that are computed from the address of a shared variable.
///
/// llvm-spirv writes some of them before what they use, so the order in the module tells nothing.
fn derived_constants(
    definitions: &Definitions<'_>,
    facts: &VariableFacts,
    shared: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>> {
    let mut users: BTreeMap<u32, Vec<Instruction<'_>>> = BTreeMap::new();
    for instruction in definitions.module().instructions().take_while(|i| !i.is(Op::Function)) {
        if instruction.result_type().is_none() {
            continue;
        }
        instruction.visit_ids(definitions, |index, role| {
            if role == Role::Id
                && let Some(id) = instruction.word(index)
            {
                users.entry(id).or_default().push(instruction);
            }
        });
    }
    let mut derived = BTreeSet::new();
    let mut open: Vec<(u32, u32)> = shared.iter().map(|&variable| (variable, variable)).collect();
    while let Some((id, variable)) = open.pop() {
        for user in users.get(&id).into_iter().flatten() {
            let Some(result) = user.result_id() else { continue };
            match user.op() {
                Some(Op::SpecConstantOp | Op::ConstantComposite | Op::SpecConstantComposite) => {
                    if derived.insert(result) {
                        open.push((result, variable));
                    }
                }
                Some(Op::Variable) => {
                    return Err(ImageError::Diagnostic(format!(
                        "variable `{}` is initialized with the address of device global `{}`, which is known only \
                         when the program runs; set it in a kernel instead, or give the device global \
                         device_image_scope",
                        facts.name(result),
                        facts.name(variable)
                    )));
                }
                // Debug information names the variable; that it is a pointer now is no harm.
                Some(Op::ExtInst) => {}
                _ => {
                    let what = format!(
                        "opcode {} at word {} computes with the address of device global `{}` at module scope",
                        user.opcode,
                        user.at,
                        facts.name(variable)
                    );
                    return Err(ImageError::Unsupported(what));
                }
            }
        }
    }
    Ok(derived)
}

fn functions_using_globals(references: &References<'_>) -> BTreeSet<u32> {
    let variables: BTreeSet<u32> = module_variables(references.module()).collect();
    if variables.is_empty() {
        return BTreeSet::new();
    }
    references.functions().filter(|&f| !references.reachable(f).is_disjoint(&variables)).collect()
}

/// The variables in global memory.
fn module_variables(module: &Module) -> impl Iterator<Item = u32> {
    module.instructions().take_while(|i| !i.is(Op::Function)).filter_map(|instruction| {
        let global = instruction.operand(0) == Some(StorageClass::CrossWorkgroup as u32);
        instruction.result_id().filter(|_| instruction.is(Op::Variable) && global)
    })
}

struct Rewrite<'a, 'm> {
    references: &'a References<'m>,
    types: &'a TypeTable<'m>,
    by_variable: BTreeMap<u32, &'a DeclaredGlobal>,
    shared: BTreeSet<u32>,
    derived: BTreeSet<u32>,
    /// The functions that use variables in global memory, themselves or through what they call.
    users: BTreeSet<u32>,
    new: Rewriter<'m>,
    function: Option<Function>,
}

/// The function that is being rewritten.
struct Function {
    id: u32,
    place: Place,
    /// Variables and constants → what takes their place here.
    local: BTreeMap<u32, u32>,
}

/// How far into a function the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeBlocks,
    /// At the variables of the first block.
    Variables,
    Body,
}

impl Rewrite<'_, '_> {
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        if instruction.is(Op::Function) {
            let id = instruction.result_id().unwrap_or(0);
            self.function = Some(Function { id, place: Place::BeforeBlocks, local: BTreeMap::new() });
        }
        if self.function.is_some() {
            self.in_function(instruction)?;
        } else if !self.is_dropped(instruction) {
            self.at_module_scope(instruction);
        }
        if instruction.is(Op::FunctionEnd) {
            self.function = None;
        }
        Ok(())
    }

    /// Markers, and names and decorations that the variables and constants lose.
    fn is_dropped(&self, instruction: &Instruction<'_>) -> bool {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Decorate), operands @ &[id, decoration, ..]) => {
                let marker = is_user_semantic(operands)
                    && instruction.string(2).is_some_and(|text| text.starts_with("oclave:"));
                marker
                    || self.shared.contains(&id)
                    || self.derived.contains(&id)
                    || decoration == Decoration::LinkageAttributes as u32
                        && self.by_variable.contains_key(&id)
            }
            (Some(Op::Name), &[id, ..]) => self.derived.contains(&id),
            _ => instruction.result_id().is_some_and(|id| self.derived.contains(&id)),
        }
    }

    fn at_module_scope(&mut self, instruction: &Instruction<'_>) {
        if instruction.is(Op::EntryPoint) {
            return self.entry_point(instruction);
        }
        let shared = instruction.result_id().filter(|id| self.shared.contains(id));
        let (Some(variable), Some(pointer)) = (shared, instruction.result_type()) else {
            return self.new.copy(instruction);
        };
        let class = StorageClass::CrossWorkgroup;
        let pointer_to_pointer = self.new.pointer_type(class, pointer);
        let null = self.new.null_constant(pointer);
        self.new.replace(instruction, Op::Variable, &[pointer_to_pointer, variable, class as u32, null]);
    }

    /// Copies an entry point. llvm-spirv leaves variables out of its interface that only constants of the module use.
    fn entry_point(&mut self, instruction: &Instruction<'_>) {
        let (&[_, function, ..], Some(interface)) = (instruction.operands(), instruction.after_string(2))
        else {
            return self.new.copy(instruction);
        };
        let missing: Vec<u32> = if self.references.module().version() >= Version::V1_4
            && self.users.contains(&function)
        {
            let used = self.references.reachable(function);
            self.shared.iter().copied().filter(|id| used.contains(id) && !interface.contains(id)).collect()
        } else {
            Vec::new()
        };
        self.new.replace(instruction, Op::EntryPoint, &[instruction.operands(), &missing].concat());
    }

    fn in_function(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let Some(function) = &mut self.function else { return Ok(()) };
        match (function.place, instruction.op()) {
            (Place::BeforeBlocks, Some(Op::Label)) => function.place = Place::Variables,
            (Place::Variables, Some(Op::Variable)) => self.check_initializer(instruction)?,
            (Place::BeforeBlocks | Place::Body, _) | (Place::Variables, Some(Op::Line | Op::NoLine)) => {}
            (Place::Variables, _) => {
                function.place = Place::Body;
                self.load()?;
            }
        }
        let Some(Function { id, local, .. }) = &self.function else { return Ok(()) };
        if let (Some(Op::Function), Some(ty), &[control, function_type]) =
            (instruction.op(), instruction.result_type(), instruction.operands())
            && self.users.contains(id)
        {
            self.new.replace(
                instruction,
                Op::Function,
                &[ty, *id, control & !MISLEADING.bits(), function_type],
            );
            return Ok(());
        }
        if local.is_empty() {
            self.new.copy(instruction);
        } else {
            self.new.copy_mapped(instruction, |id| local.get(&id).copied().unwrap_or(id));
        }
        Ok(())
    }

    fn check_initializer(&self, instruction: &Instruction<'_>) -> Result<()> {
        match instruction.operand(1) {
            Some(id) if self.shared.contains(&id) || self.derived.contains(&id) => {
                let what =
                    "a local variable is initialized with the address of a device global; assign it instead";
                Err(ImageError::Unsupported(what.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Loads the pointers that the function needs, and computes what was constant before.
    fn load(&mut self) -> Result<()> {
        let Some(function) = &self.function else { return Ok(()) };
        let mut local = BTreeMap::new();
        let definitions = self.references.definitions();
        // Each constant stands on the stack until what it uses is there.
        let mut stack = self.references.direct(function.id);
        let mut waiting = BTreeSet::new();
        while let Some(&id) = stack.last() {
            if local.contains_key(&id) {
                stack.pop();
            } else if self.shared.contains(&id) {
                stack.pop();
                let Some(ty) = definitions.type_of(id) else { continue };
                let pointer = self.new.fresh_id();
                self.new.push(Op::Load, &[ty, pointer, id, ALIGNED, self.types.pointer_bytes()]);
                local.insert(id, pointer);
            } else if self.derived.contains(&id) {
                let needed = self.references.direct(id).into_iter();
                if waiting.insert(id) {
                    stack.extend(needed.filter(|id| self.shared.contains(id) || self.derived.contains(id)));
                    continue;
                }
                stack.pop();
                if let Some(constant) = definitions.instruction(id) {
                    let result = self.new.fresh_id();
                    self.compute(&constant, result, &local)?;
                    local.insert(id, result);
                }
            } else {
                stack.pop();
            }
        }
        if let Some(function) = &mut self.function {
            function.local = local;
        }
        Ok(())
    }

    /// Writes a module-scope constant as an instruction.
    fn compute(&mut self, constant: &Instruction<'_>, result: u32, local: &BTreeMap<u32, u32>) -> Result<()> {
        let mut words = constant.words.to_vec();
        constant.visit_ids(self.references.definitions(), |index, role| {
            if role == Role::Id
                && let Some(word) = words.get_mut(index)
            {
                *word = local.get(word).copied().unwrap_or(*word);
            }
        });
        let unsupported = || {
            ImageError::Unsupported(format!(
                "the constant at word {} computes with the address of a device global by an operation that no \
                 instruction does",
                constant.at
            ))
        };
        let (op, operands) = match (constant.op(), words.as_slice()) {
            (Some(Op::SpecConstantOp), &[_, _, _, op, ref operands @ ..]) => {
                (Op::from_u32(op).ok_or_else(unsupported)?, operands)
            }
            (Some(_), [_, _, _, operands @ ..]) => (Op::CompositeConstruct, operands),
            _ => return Err(unsupported()),
        };
        let ty = constant.result_type().ok_or_else(unsupported)?;
        self.new.push(op, &[&[ty, result], operands].concat());
        Ok(())
    }

    fn decorate(&mut self, globals: &[DeclaredGlobal]) {
        if !globals.is_empty() {
            self.new.capability(Capability::Linkage);
        }
        for global in globals {
            self.new.decorate_linkage(global.variable, &global.info.id, LinkageType::Export);
            if !global.info.device_image_scope {
                self.new.decorate(global.variable, Decoration::Alignment, &[self.types.pointer_bytes()]);
            }
        }
    }
}

/// Whether a variable is the pointer that stands for a shared device global: a pointer in global memory to global memory.
pub(super) fn is_pointer_variable(types: &TypeTable<'_>, ty: u32) -> Option<u32> {
    let global = StorageClass::CrossWorkgroup as u32;
    match types.ty(ty)? {
        Type::Pointer { class, pointee } if class == global => match types.ty(pointee)? {
            Type::Pointer { class, .. } if class == global => Some(pointee),
            _ => None,
        },
        _ => None,
    }
}
