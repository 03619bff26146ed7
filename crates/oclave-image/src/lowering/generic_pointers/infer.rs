//! Which address space each generic pointer points into.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::uses::{TAGGED, View};
use crate::{ImageError, Result};
use oclave_spirv::{Definitions, Instruction, Op, StorageClass, Type, TypeTable, is_access_chain};

/// The most copies of functions. A function with many generic pointers can need one for each list of address spaces.
const MOST_CLONES: usize = 4096;
/// How deep calls may nest.
const DEEPEST_CALLS: usize = 256;

/// A function with the address spaces of its generic parameters, in order.
pub(super) type Key = (u32, Vec<u32>);

/// Where a generic pointer points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    /// A storage class, or [`TAGGED`].
    Class(u32),
    /// Nowhere: null, or undefined.
    Null,
}

/// What is known of a clone.
#[derive(Debug, Default)]
pub(super) struct Clone {
    /// The storage class, or [`TAGGED`], of each generic value that the function defines.
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
    /// The address spaces that tagged pointers may have, global memory last.
    pub(super) tags: Vec<u32>,
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
    inference.check_constants()?;
    let whole: Vec<u32> = inference.functions.keys().copied().collect();
    for function in whole {
        // Functions with generic parameters exist as far as they are called.
        if inference.generic_parameters(function).is_empty() {
            inference.visit(&(function, Vec::new()))?;
        }
    }
    let tags = inference.tags();
    let Inference { types, constants, clones, .. } = inference;
    Ok(Inferred { types, constants, clones, tags })
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

fn join(a: Option<Space>, b: Option<Space>) -> Option<Space> {
    match (a, b) {
        (Some(Space::Class(a)), Some(Space::Class(b))) if a != b => Some(Space::Class(TAGGED)),
        (Some(Space::Class(_)), _) | (_, None) => a,
        _ => b,
    }
}

impl<'m> Inference<'_, 'm> {
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
            .global_instructions()
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
        if self.open.len() > DEEPEST_CALLS {
            let why = format!("is passed on by more than {DEEPEST_CALLS} calls; name its address space");
            return Err(self.refuse(key.0, 0, &why));
        }
        if self.clones.len() >= MOST_CLONES {
            let why =
                format!("would need more than {MOST_CLONES} copies of functions; name its address space");
            return Err(self.refuse(key.0, 0, &why));
        }
        let body = self.functions.get(&key.0).cloned().unwrap_or_default();
        let mut known: HashMap<u32, Space> = HashMap::new();
        let parameters = self.generic_parameters(key.0);
        known.extend(parameters.into_iter().zip(key.1.iter().map(|class| Space::Class(*class))));
        let mut result: Option<Space> = None;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for instruction in &body {
                let found = self.look(&known, instruction)?;
                if instruction.is(Op::ReturnValue) {
                    let of = instruction.operand(0).filter(|id| self.is_generic_value(*id));
                    let space = of.and_then(|id| self.space(&known, id));
                    result = join(result, space);
                }
                let (Some(id), Some(space)) = (instruction.result_id(), found) else { continue };
                let joined = join(known.get(&id).copied(), Some(space));
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
        let clone = Clone { classes, result };
        self.check_uses(key.0, &body, &clone)?;
        // Calls of which an argument is always null were not looked at yet.
        for call in body.iter().filter(|i| i.is(Op::FunctionCall)) {
            if let Some(callee) = self.callee(call, &known, true) {
                self.visit(&callee)?;
            }
        }
        self.open.remove(key);
        self.clones.insert(key.clone(), clone);
        Ok(result)
    }

    /// Where the generic result of an instruction points to, as far as that is known.
    fn look(&mut self, known: &HashMap<u32, Space>, instruction: &Instruction<'_>) -> Result<Option<Space>> {
        let generic = is_generic(&self.types, instruction.result_type());
        let operands = instruction.operands();
        match instruction.op() {
            Some(Op::FunctionCall) => {
                let Some(callee) = self.callee(instruction, known, false) else { return Ok(None) };
                let result = self.visit(&callee)?;
                Ok(result.filter(|_| generic).map(Space::Class))
            }
            _ if !generic => Ok(None),
            Some(op)
                if is_access_chain(op)
                    || matches!(op, Op::PtrCastToGeneric | Op::Bitcast | Op::CopyObject) =>
            {
                Ok(operands.first().and_then(|id| self.space(known, *id)))
            }
            Some(Op::Phi) => Ok(self.all(known, operands.iter().step_by(2))),
            Some(Op::Select) => Ok(self.all(known, operands.iter().skip(1))),
            Some(Op::Undef) => Ok(Some(Space::Null)),
            Some(Op::Load | Op::CompositeExtract) => Ok(Some(Space::Class(TAGGED))),
            _ => Ok(None),
        }
    }

    fn all<'i>(&self, known: &HashMap<u32, Space>, ids: impl Iterator<Item = &'i u32>) -> Option<Space> {
        ids.into_iter().fold(None, |all, id| join(all, self.space(known, *id)))
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
                Some(Op::ConvertUToPtr) if generic => return refuse("is made of an integer"),
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

    fn view<'a>(&'a self, clone: &'a Clone) -> View<'a, 'm> {
        View { definitions: self.definitions, types: &self.types, constants: &self.constants, clone }
    }

    /// Refuses what cannot be done with tagged pointers.
    fn check_uses(&self, function: u32, body: &[Instruction<'_>], clone: &Clone) -> Result<()> {
        let view = self.view(clone);
        for instruction in body {
            let uses = view.uses(instruction);
            let tagged = clone.classes.get(&instruction.result_id().unwrap_or(0)) == Some(&TAGGED);
            if uses.unknown {
                let op = instruction.op().map(|op| format!("{op:?}")).unwrap_or_default();
                let first = instruction.operands().iter().find(|id| view.is_generic_value(**id));
                return Err(self.refuse(
                    function,
                    first.copied().unwrap_or(0),
                    &format!("is used by Op{op}"),
                ));
            }
            if self.types.pointer_bytes() != 8 && (tagged || !uses.integers.is_empty()) {
                let id = instruction.result_id().unwrap_or(0);
                return Err(self.refuse(function, id, "is in memory, for which addresses need 64 bits"));
            }
        }
        Ok(())
    }

    /// The address spaces of what becomes a tagged pointer.
    fn tags(&self) -> Vec<u32> {
        let mut found = BTreeSet::new();
        for (key, clone) in &self.clones {
            let view = self.view(clone);
            for instruction in self.functions.get(&key.0).into_iter().flatten() {
                let values = view.uses(instruction).integers;
                let values = values.into_iter().filter_map(|place| instruction.word(place));
                found.extend(values.map(|value| view.class(value)));
            }
        }
        let global = StorageClass::CrossWorkgroup as u32;
        found.retain(|class| *class != TAGGED && *class != global);
        found.into_iter().chain([global]).collect()
    }

    /// Refuses initial values of module-scope variables that keep generic pointers.
    fn check_constants(&self) -> Result<()> {
        let module = self.definitions.module();
        for instruction in module.global_instructions() {
            let keeps = matches!(
                instruction.op(),
                Some(Op::ConstantComposite | Op::SpecConstantComposite | Op::Variable)
            );
            // The first operand of a variable is no id.
            let values = instruction.operands().iter().skip(usize::from(instruction.is(Op::Variable)));
            let kept = values.into_iter().find(|id| self.constants.contains_key(id));
            if let (true, Some(kept)) = (keeps, kept) {
                return Err(self.refuse(0, *kept, "is part of an initial value"));
            }
        }
        Ok(())
    }

    fn refuse(&self, function: u32, pointer: u32, why: &str) -> ImageError {
        let name = |id: u32| {
            let found = self.definitions.module().names().find(|(named, _)| *named == id);
            found.map_or_else(|| format!("%{id}"), |(_, name)| name)
        };
        let pointer = if pointer == 0 { "one".to_owned() } else { format!("`{}`", name(pointer)) };
        let of = if function == 0 { String::new() } else { format!("of function `{}`, ", name(function)) };
        let what = format!("the generic address space: {of}generic pointer {pointer} {why}");
        ImageError::DeviceLacks { what }
    }
}
