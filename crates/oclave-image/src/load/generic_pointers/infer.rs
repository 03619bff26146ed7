//! Which address space each generic pointer points into.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::spirv::{Definitions, Instruction, Op, StorageClass, Type, TypeTable};
use crate::{ImageError, Result};

/// A function with the address spaces of its generic parameters, in order.
pub(super) type Key = (u32, Vec<u32>);

/// Where a generic pointer points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    /// A storage class.
    Class(u32),
    /// Nowhere: null, or undefined.
    Null,
}

/// What is known of a clone.
#[derive(Debug, Default)]
pub(super) struct Clone {
    /// The storage class of each generic value that the function defines.
    pub(super) classes: HashMap<u32, u32>,
    /// That of its result, if it is generic.
    pub(super) result: Option<u32>,
}

/// All that the rewriting needs to know.
pub(super) struct Inferred<'m> {
    pub(super) types: TypeTable<'m>,
    /// Of generic constants.
    pub(super) constants: HashMap<u32, u32>,
    /// The clones that are called, in the order of the functions.
    pub(super) clones: BTreeMap<Key, Clone>,
}

struct Inference<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: TypeTable<'m>,
    functions: BTreeMap<u32, Vec<Instruction<'m>>>,
    constants: HashMap<u32, u32>,
    clones: BTreeMap<Key, Clone>,
    /// What is being looked at, for recursion.
    open: BTreeSet<Key>,
}

/// # Errors
/// [`ImageError::DeviceLacks`] where something does not follow.
pub(super) fn infer<'m>(definitions: &'m Definitions<'m>) -> Result<Inferred<'m>> {
    let mut inference = Inference {
        definitions,
        types: TypeTable::new(definitions),
        functions: functions(definitions),
        constants: HashMap::new(),
        clones: BTreeMap::new(),
        open: BTreeSet::new(),
    };
    inference.find_constants();
    let whole: Vec<u32> = inference.functions.keys().copied().collect();
    for function in whole {
        // Functions with generic parameters exist as far as they are called.
        if inference.generic_parameters(function).is_empty() {
            inference.visit(&(function, Vec::new()))?;
        }
    }
    let Inference { types, constants, clones, .. } = inference;
    Ok(Inferred { types, constants, clones })
}

fn functions<'m>(definitions: &Definitions<'m>) -> BTreeMap<u32, Vec<Instruction<'m>>> {
    let mut all: BTreeMap<u32, Vec<Instruction<'m>>> = BTreeMap::new();
    let mut current = 0;
    for instruction in definitions.module().instructions() {
        if instruction.is(Op::Function) {
            current = instruction.result_id().unwrap_or(0);
        }
        if current != 0 {
            all.entry(current).or_default().push(instruction);
        }
        if instruction.is(Op::FunctionEnd) {
            current = 0;
        }
    }
    all
}

/// The storage class of a pointer type.
pub(super) fn class_of(types: &TypeTable<'_>, ty: u32) -> Option<u32> {
    match types.ty(ty)? {
        Type::Pointer { class, .. } => Some(class),
        _ => None,
    }
}

pub(super) fn is_generic(types: &TypeTable<'_>, ty: Option<u32>) -> bool {
    ty.and_then(|ty| class_of(types, ty)) == Some(StorageClass::Generic as u32)
}

impl Inference<'_, '_> {
    fn is_generic_value(&self, id: u32) -> bool {
        is_generic(&self.types, self.definitions.type_of(id))
    }

    fn generic_parameters(&self, function: u32) -> Vec<u32> {
        let all = self.functions.get(&function).into_iter().flatten();
        all.filter(|i| i.is(Op::FunctionParameter) && is_generic(&self.types, i.result_type()))
            .filter_map(Instruction::result_id)
            .collect()
    }

    /// Constants that are computed from the addresses of variables may stand before what they use.
    fn find_constants(&mut self) {
        let constants: Vec<Instruction<'_>> = self
            .definitions
            .module()
            .instructions()
            .take_while(|i| !i.is(Op::Function))
            .filter(|i| i.is(Op::SpecConstantOp) && is_generic(&self.types, i.result_type()))
            .collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for constant in &constants {
                let (Some(id), Some(from)) = (constant.result_id(), constant.operand(1)) else { continue };
                if self.constants.contains_key(&id) {
                    continue;
                }
                if let Some(Space::Class(class)) = self.space(&HashMap::new(), from) {
                    self.constants.insert(id, class);
                    changed = true;
                }
            }
        }
    }

    /// Where a value points to, as far as that is known.
    fn space(&self, known: &HashMap<u32, Space>, id: u32) -> Option<Space> {
        if let Some(space) = known.get(&id) {
            return Some(*space);
        }
        if let Some(class) = self.constants.get(&id) {
            return Some(Space::Class(*class));
        }
        let defined = self.definitions.instruction(id)?;
        if matches!(defined.op(), Some(Op::ConstantNull | Op::Undef)) {
            return Some(Space::Null);
        }
        let class = class_of(&self.types, defined.result_type()?)?;
        (class != StorageClass::Generic as u32).then_some(Space::Class(class))
    }

    /// Looks at a clone, and at those that it calls.
    fn visit(&mut self, key: &Key) -> Result<Option<u32>> {
        if let Some(clone) = self.clones.get(key) {
            return Ok(clone.result);
        }
        if !self.open.insert(key.clone()) {
            return Err(self.refuse(key.0, 0, "is the result of a function that calls itself"));
        }
        let body = self.functions.get(&key.0).cloned().unwrap_or_default();
        let mut known: HashMap<u32, Space> = HashMap::new();
        let parameters = self.generic_parameters(key.0);
        known.extend(parameters.into_iter().zip(key.1.iter().map(|class| Space::Class(*class))));
        let mut result: Option<Space> = None;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for instruction in &body {
                let found = self.look(key.0, &known, instruction)?;
                if instruction.is(Op::ReturnValue) {
                    let of = instruction.operand(0).filter(|id| self.is_generic_value(*id));
                    let space = of.and_then(|id| self.space(&known, id));
                    result = self.join(key.0, of.unwrap_or(0), result, space)?;
                }
                let (Some(id), Some(space)) = (instruction.result_id(), found) else { continue };
                let joined = self.join(key.0, id, known.get(&id).copied(), Some(space))?;
                if joined != known.get(&id).copied() {
                    known.extend(joined.map(|joined| (id, joined)));
                    changed = true;
                }
            }
        }
        self.check(key.0, &body, &known)?;
        // What is always null may point anywhere.
        let class = |space: &Space| match space {
            Space::Class(class) => *class,
            Space::Null => StorageClass::CrossWorkgroup as u32,
        };
        let returns = body.first().and_then(Instruction::result_type);
        let result = is_generic(&self.types, returns).then(|| class(&result.unwrap_or(Space::Null)));
        let classes: HashMap<u32, u32> = known.iter().map(|(id, space)| (*id, class(space))).collect();
        // Calls of which an argument is always null were not looked at yet.
        for call in body.iter().filter(|i| i.is(Op::FunctionCall)) {
            if let Some(callee) = self.callee(call, &known, true) {
                self.visit(&callee)?;
            }
        }
        self.open.remove(key);
        self.clones.insert(key.clone(), Clone { classes, result });
        Ok(result)
    }

    /// Where the generic result of an instruction points to, as far as that is known.
    fn look(
        &mut self,
        function: u32,
        known: &HashMap<u32, Space>,
        instruction: &Instruction<'_>,
    ) -> Result<Option<Space>> {
        let generic = is_generic(&self.types, instruction.result_type());
        let operands = instruction.operands();
        match instruction.op() {
            Some(Op::FunctionCall) => {
                let Some(callee) = self.callee(instruction, known, false) else { return Ok(None) };
                let result = self.visit(&callee)?;
                Ok(result.filter(|_| generic).map(Space::Class))
            }
            _ if !generic => Ok(None),
            Some(
                Op::PtrCastToGeneric
                | Op::Bitcast
                | Op::CopyObject
                | Op::AccessChain
                | Op::InBoundsAccessChain
                | Op::PtrAccessChain
                | Op::InBoundsPtrAccessChain,
            ) => Ok(operands.first().and_then(|id| self.space(known, *id))),
            Some(Op::Phi) => self.all(function, known, operands.iter().step_by(2)),
            Some(Op::Select) => self.all(function, known, operands.iter().skip(1)),
            Some(Op::Undef) => Ok(Some(Space::Null)),
            _ => Ok(None),
        }
    }

    fn all<'i>(
        &self,
        function: u32,
        known: &HashMap<u32, Space>,
        ids: impl Iterator<Item = &'i u32>,
    ) -> Result<Option<Space>> {
        ids.into_iter().try_fold(None, |all, id| self.join(function, *id, all, self.space(known, *id)))
    }

    fn join(&self, function: u32, id: u32, a: Option<Space>, b: Option<Space>) -> Result<Option<Space>> {
        match (a, b) {
            (Some(Space::Class(a)), Some(Space::Class(b))) if a != b => {
                Err(self.refuse(function, id, "may point into several address spaces"))
            }
            (Some(Space::Class(_)), _) | (_, None) => Ok(a),
            _ => Ok(b),
        }
    }

    /// The clone that is called; none while an argument is not known. `nulls`: what is null points
    /// into global memory.
    fn callee(&self, call: &Instruction<'_>, known: &HashMap<u32, Space>, nulls: bool) -> Option<Key> {
        let (function, arguments) = call.operands().split_first()?;
        let classes = arguments.iter().filter(|id| self.is_generic_value(**id)).map(|id| {
            match self.space(known, *id) {
                Some(Space::Class(class)) => Some(class),
                Some(Space::Null) if nulls || !known.contains_key(id) => {
                    Some(StorageClass::CrossWorkgroup as u32)
                }
                _ => None,
            }
        });
        Some((*function, classes.collect::<Option<_>>()?))
    }

    /// Refuses what stays generic.
    fn check(&self, function: u32, body: &[Instruction<'_>], known: &HashMap<u32, Space>) -> Result<()> {
        for instruction in body {
            let refuse = |why| Err(self.refuse(function, instruction.result_id().unwrap_or(0), why));
            let generic = is_generic(&self.types, instruction.result_type());
            let id = instruction.result_id().unwrap_or(0);
            match instruction.op() {
                // Where a function points to is looked at where it returns.
                Some(Op::Function) => {}
                Some(Op::FunctionCall) if generic && !known.contains_key(&id) => {
                    return refuse("is returned by a function that is not known");
                }
                Some(Op::Load) if generic => {
                    return refuse("is loaded from memory, where it could point anywhere");
                }
                Some(Op::ConvertUToPtr) if generic => return refuse("is made of an integer"),
                Some(Op::Store) => {
                    let value = instruction.operand(1).unwrap_or(0);
                    if self.is_generic_value(value) {
                        return Err(self.refuse(function, value, "is stored in memory"));
                    }
                }
                _ if generic && !known.contains_key(&id) => {
                    return refuse("comes from where the compiler does not see");
                }
                _ => {}
            }
        }
        // Functions without a body have nothing to resolve.
        let declared = !body.iter().any(|i| i.is(Op::Label));
        if declared && !self.generic_parameters(function).is_empty() {
            return Err(self.refuse(function, 0, "is a parameter of a function without a body"));
        }
        Ok(())
    }

    fn refuse(&self, function: u32, pointer: u32, why: &str) -> ImageError {
        let name = |id: u32| {
            let found = self.definitions.module().names().find(|(named, _)| *named == id);
            found.map_or_else(|| format!("%{id}"), |(_, name)| name)
        };
        let pointer = if pointer == 0 { "one".to_owned() } else { format!("`{}`", name(pointer)) };
        let what = format!(
            "the generic address space: of function `{}`, generic pointer {pointer} {why}",
            name(function)
        );
        ImageError::DeviceLacks { what }
    }
}
