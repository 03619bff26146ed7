//! The module with a clone of each function for each list of address spaces.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::infer::{Clone, Inferred, Key, class_of, is_generic};
use crate::Result;
use crate::spirv::{Decoration, Definitions, Instruction, Module, Op, Rewriter, Role, StorageClass, Type};

/// OpenCL's memory semantics of the address spaces that generic pointers have.
const WORKGROUP_MEMORY: u64 = 0x100;
const CROSS_WORKGROUP_MEMORY: u64 = 0x200;

struct Rewrite<'a, 'm> {
    definitions: &'m Definitions<'m>,
    inferred: &'a Inferred<'m>,
    new: Rewriter<'m>,
    /// The ids of the clones.
    functions: HashMap<&'a Key, u32>,
    /// Constants that are the same as what they were cast from.
    constants: HashMap<u32, u32>,
}

/// # Errors
/// As [`Rewriter::finish`].
pub(super) fn rewrite<'m>(definitions: &'m Definitions<'m>, inferred: &Inferred<'m>) -> Result<Module> {
    let mut rewrite = Rewrite {
        definitions,
        inferred,
        new: Rewriter::new(definitions),
        functions: HashMap::new(),
        constants: HashMap::new(),
    };
    rewrite.number_functions();
    rewrite.find_constants();
    let module = definitions.module();
    let gone = rewrite.gone(module);
    let mut body = Vec::new();
    let mut decorations: BTreeMap<u32, Vec<Instruction<'m>>> = BTreeMap::new();
    for instruction in module.instructions() {
        if instruction.is(Op::Function) || !body.is_empty() {
            body.push(instruction);
            if instruction.is(Op::FunctionEnd) {
                rewrite.function(&std::mem::take(&mut body), &decorations);
            }
            continue;
        }
        let target = instruction.operand(0).unwrap_or(0);
        match instruction.op() {
            Some(Op::Name | Op::Decorate | Op::DecorateId) if gone.contains(&target) => {}
            Some(Op::Decorate) if rewrite.is_linkage_of_a_clone(&instruction) => {}
            Some(Op::Decorate) => {
                decorations.entry(target).or_default().push(instruction);
                rewrite.new.copy(&instruction);
            }
            _ => rewrite.module_scope(&instruction),
        }
    }
    rewrite.new.finish()
}

impl<'a, 'm> Rewrite<'a, 'm> {
    /// The first clone of a function keeps its id.
    fn number_functions(&mut self) {
        let mut last = 0;
        for key in self.inferred.clones.keys() {
            let id = if key.0 == last { self.new.fresh_id() } else { key.0 };
            last = key.0;
            self.functions.insert(key, id);
        }
    }

    fn find_constants(&mut self) {
        for id in self.inferred.constants.keys() {
            let Some(constant) = self.definitions.instruction(*id) else { continue };
            if let &[op, from, ..] = constant.operands()
                && op == Op::PtrCastToGeneric as u32
            {
                self.constants.insert(*id, from);
            }
        }
    }

    /// What the new module does not define: casts, and functions that nothing calls.
    fn gone(&self, module: &Module) -> HashSet<u32> {
        let mut gone: HashSet<u32> = self.constants.keys().copied().collect();
        let cloned: HashSet<u32> = self.inferred.clones.keys().map(|key| key.0).collect();
        let mut function = 0;
        for instruction in module.instructions() {
            match instruction.op() {
                Some(Op::Function) => function = instruction.result_id().unwrap_or(0),
                Some(Op::FunctionEnd) => function = 0,
                _ => {}
            }
            let is_cast = matches!(
                instruction.op(),
                Some(
                    Op::PtrCastToGeneric
                        | Op::GenericCastToPtr
                        | Op::GenericCastToPtrExplicit
                        | Op::GenericPtrMemSemantics
                )
            );
            if function != 0 && (is_cast || !cloned.contains(&function)) {
                gone.extend(instruction.result_id());
            }
        }
        gone
    }

    /// A function whose type has changed is nobody's export any more.
    fn is_linkage_of_a_clone(&self, decoration: &Instruction<'_>) -> bool {
        let &[target, kind, ..] = decoration.operands() else { return false };
        kind == Decoration::LinkageAttributes as u32
            && self
                .inferred
                .clones
                .iter()
                .any(|(key, clone)| key.0 == target && !(key.1.is_empty() && clone.result.is_none()))
    }

    fn constant(&self, mut id: u32) -> u32 {
        while let Some(from) = self.constants.get(&id) {
            id = *from;
        }
        id
    }

    /// The pointer type of another storage class.
    fn retyped(&mut self, ty: u32, class: u32) -> u32 {
        match self.inferred.types.ty(ty) {
            Some(Type::Pointer { pointee, .. }) => self.new.intern(Op::TypePointer, &[class, pointee]),
            _ => ty,
        }
    }

    fn module_scope(&mut self, instruction: &Instruction<'m>) {
        let id = instruction.result_id().unwrap_or(0);
        if self.constants.contains_key(&id) {
            return;
        }
        let class = self.inferred.constants.get(&id).copied();
        let names_another = {
            let mut any = false;
            instruction.visit_ids(self.definitions, |index, role| {
                let named = instruction.word(index).unwrap_or(0);
                any |= role == Role::Id && self.constants.contains_key(&named);
            });
            any
        };
        let (Some(op), true) = (instruction.op(), class.is_some() || names_another) else {
            return self.new.copy(instruction);
        };
        let mut words = self.mapped(instruction, &|id| self.constant(id));
        if let (Some(class), Some(ty)) = (class, instruction.result_type()) {
            let ty = self.retyped(ty, class);
            words.splice(..1, [ty]);
        }
        self.new.replace(instruction, op, &words);
    }

    /// The words of an instruction after the first, with other ids.
    fn mapped(&self, instruction: &Instruction<'_>, map: &dyn Fn(u32) -> u32) -> Vec<u32> {
        let mut words = instruction.words.to_vec();
        instruction.visit_ids(self.definitions, |index, role| {
            if role != Role::MaybeId
                && let Some(word) = words.get_mut(index)
            {
                *word = map(*word);
            }
        });
        words.split_off(1.min(words.len()))
    }

    /// Writes all clones of a function.
    fn function(&mut self, body: &[Instruction<'m>], decorations: &BTreeMap<u32, Vec<Instruction<'m>>>) {
        let Some(function) = body.first().and_then(Instruction::result_id) else { return };
        let inferred = self.inferred;
        let clones = inferred.clones.range((function, Vec::new())..(function + 1, Vec::new()));
        for (key, clone) in clones {
            let id = self.functions.get(key).copied().unwrap_or(function);
            let mut ids: HashMap<u32, u32> = HashMap::new();
            if id != function {
                ids.insert(function, id);
                for defined in body.iter().skip(1).filter_map(Instruction::result_id) {
                    let fresh = self.new.fresh_id();
                    ids.insert(defined, fresh);
                }
                self.decorate(&ids, decorations);
            }
            self.clone(body, key, clone, ids);
        }
    }

    fn decorate(&mut self, ids: &HashMap<u32, u32>, decorations: &BTreeMap<u32, Vec<Instruction<'m>>>) {
        for (of, id) in ids {
            for decoration in decorations.get(of).into_iter().flatten() {
                if let [_, rest @ ..] = decoration.operands() {
                    let operands = [&[*id], rest].concat();
                    self.new.push_in(crate::spirv::Section::Annotations, Op::Decorate, &operands);
                }
            }
        }
    }

    fn clone(&mut self, body: &[Instruction<'m>], key: &Key, clone: &Clone, mut ids: HashMap<u32, u32>) {
        self.find_casts(body, clone, &mut ids);
        for instruction in body {
            match instruction.op() {
                None => self.new.copy(instruction),
                Some(
                    Op::PtrCastToGeneric
                    | Op::GenericCastToPtr
                    | Op::GenericCastToPtrExplicit
                    | Op::GenericPtrMemSemantics,
                ) => {}
                Some(op) => {
                    let mut words = self.mapped(instruction, &|id| self.local(&ids, id));
                    self.set_types(instruction, key, clone, &mut words);
                    self.set_nulls(instruction, clone, &mut words);
                    self.new.replace(instruction, op, &words);
                }
            }
        }
    }

    /// What an id of the old module is in a clone.
    fn local(&self, ids: &HashMap<u32, u32>, id: u32) -> u32 {
        match ids.get(&id) {
            Some(new) => *new,
            None => self.constant(id),
        }
    }

    /// Notes what takes the place of casts: what was cast, as far as that is where the cast leads
    /// to.
    fn find_casts(&mut self, body: &[Instruction<'m>], clone: &Clone, ids: &mut HashMap<u32, u32>) {
        let mut casts: HashMap<u32, u32> = HashMap::new();
        for instruction in body {
            let (Some(id), Some(from), Some(ty)) =
                (instruction.result_id(), instruction.operand(0), instruction.result_type())
            else {
                continue;
            };
            let class = clone.classes.get(&from).or_else(|| self.inferred.constants.get(&from)).copied();
            match instruction.op() {
                Some(Op::PtrCastToGeneric) => {
                    casts.insert(id, from);
                }
                Some(Op::GenericCastToPtr | Op::GenericCastToPtrExplicit) => {
                    if class == class_of(&self.inferred.types, ty) {
                        casts.insert(id, from);
                    } else {
                        let null = self.new.null_constant(ty);
                        casts.insert(id, null);
                    }
                }
                Some(Op::GenericPtrMemSemantics) => {
                    let memory = match class {
                        Some(class) if class == StorageClass::Workgroup as u32 => WORKGROUP_MEMORY,
                        Some(class) if class == StorageClass::CrossWorkgroup as u32 => CROSS_WORKGROUP_MEMORY,
                        _ => 0,
                    };
                    let constant = self.new.int_constant(32, memory);
                    casts.insert(id, constant);
                }
                _ => {}
            }
        }
        let mut targets = Vec::with_capacity(casts.len());
        for (id, from) in &casts {
            let mut from = *from;
            while let Some(before) = casts.get(&from) {
                from = *before;
            }
            targets.push((*id, self.local(ids, from)));
        }
        ids.extend(targets);
    }

    /// Gives results, parameters and the function itself the types of a clone.
    fn set_types(&mut self, instruction: &Instruction<'m>, key: &Key, clone: &Clone, words: &mut [u32]) {
        let id = instruction.result_id().unwrap_or(0);
        let generic = is_generic(&self.inferred.types, instruction.result_type());
        if instruction.is(Op::Function) {
            let ty = instruction.operand(1).and_then(|ty| self.inferred.types.ty(ty));
            if let (Some(Type::Function { returns, parameters }), &mut [ref mut result, _, _, ref mut ty]) =
                (ty, &mut *words)
            {
                let mut classes = key.1.iter();
                let types = self.inferred;
                let parameters: Vec<u32> = parameters
                    .iter()
                    .map(|ty| match is_generic(&types.types, Some(*ty)) {
                        true => classes.next().map_or(*ty, |class| self.retyped(*ty, *class)),
                        false => *ty,
                    })
                    .collect();
                let returns = clone.result.map_or(returns, |class| self.retyped(returns, class));
                *result = returns;
                if generic || !key.1.is_empty() {
                    *ty = self.new.function_type(returns, &parameters);
                }
            }
        } else if generic
            && let (Some(class), Some(ty)) = (clone.classes.get(&id).copied(), instruction.result_type())
        {
            let ty = self.retyped(ty, class);
            if let Some(word) = words.first_mut() {
                *word = ty;
            }
        }
        if instruction.is(Op::FunctionCall)
            && let Some((callee, arguments)) = instruction.operands().split_first()
        {
            let classes = arguments.iter().filter(|id| self.is_generic_value(**id));
            let called: Key = (*callee, classes.map(|id| self.class(clone, *id)).collect());
            if let (Some(function), Some(word)) = (self.functions.get(&called), words.get_mut(2)) {
                *word = *function;
            }
        }
    }

    fn is_generic_value(&self, id: u32) -> bool {
        is_generic(&self.inferred.types, self.definitions.type_of(id))
    }

    /// The storage class of a generic value; of null, that of global memory.
    fn class(&self, clone: &Clone, id: u32) -> u32 {
        let found = clone.classes.get(&id).or_else(|| self.inferred.constants.get(&id));
        found.copied().unwrap_or(StorageClass::CrossWorkgroup as u32)
    }

    /// Gives generic null pointers among the operands the type that is wanted there.
    fn set_nulls(&mut self, instruction: &Instruction<'m>, clone: &Clone, words: &mut [u32]) {
        let is_null = |id: u32| {
            self.is_generic_value(id)
                && self.definitions.instruction(id).is_some_and(|i| {
                    i.is(Op::ConstantNull) || i.is(Op::Undef) && !clone.classes.contains_key(&id)
                })
        };
        let mut nulls = Vec::new();
        let mut others = Vec::new();
        instruction.visit_ids(self.definitions, |index, role| {
            let id = instruction.word(index).unwrap_or(0);
            if role == Role::Id && is_null(id) {
                nulls.push((index, id));
            } else if role == Role::Id && self.is_generic_value(id) {
                others.push(id);
            }
        });
        if nulls.is_empty() {
            return;
        }
        let wanted = match instruction.op() {
            Some(Op::ReturnValue) => clone.result,
            Some(Op::FunctionCall) => None,
            Some(Op::Phi | Op::Select) => instruction.result_id().map(|id| self.class(clone, id)),
            _ => others.first().map(|id| self.class(clone, *id)),
        };
        for (index, id) in nulls {
            let ty = self.definitions.type_of(id).unwrap_or(0);
            let ty = self.retyped(ty, wanted.unwrap_or(StorageClass::CrossWorkgroup as u32));
            let null = self.new.null_constant(ty);
            if let Some(word) = words.get_mut(index.wrapping_sub(1)) {
                *word = null;
            }
        }
    }
}
