//! The module with a clone of each function for each list of address spaces.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::infer::{Clone, Inferred, Key, class_of, is_generic};
use super::uses::{TAGGED, View};
use crate::Result;
use oclave_spirv::{
    Cursor, Decoration, Definitions, Editor, Instruction, Module, Op, Role, StorageClass, Type,
};

/// OpenCL's memory semantics of the address spaces that generic pointers have.
pub(super) const WORKGROUP_MEMORY: u64 = 0x100;
pub(super) const CROSS_WORKGROUP_MEMORY: u64 = 0x200;

pub(super) struct Rewrite<'a, 'm> {
    pub(super) definitions: &'m Definitions<'m>,
    pub(super) inferred: &'a Inferred<'m>,
    pub(super) new: Editor<'m>,
    /// The function whose clones are written.
    function: u32,
    /// The ids of the clones.
    functions: HashMap<&'a Key, u32>,
    /// What takes the place of ids: of casts of constants, what was cast; of types of generic
    /// pointers, the integer that is tagged.
    aliases: HashMap<u32, u32>,
    /// The other types of pointers, by storage class and pointee.
    pointers: HashMap<(u32, u32), u32>,
    /// Values that are tagged in functions which keep their ids.
    tagged: HashSet<u32>,
    /// The type of tagged pointers.
    pub(super) word: u32,
}

/// # Errors
/// As [`Editor::finish`].
pub(super) fn rewrite<'m>(definitions: &'m Definitions<'m>, inferred: &Inferred<'m>) -> Result<Module> {
    let mut rewrite = Rewrite {
        definitions,
        inferred,
        new: Editor::new(definitions),
        function: 0,
        functions: HashMap::new(),
        aliases: HashMap::new(),
        pointers: HashMap::new(),
        tagged: HashSet::new(),
        word: 0,
    };
    rewrite.word = rewrite.new.int_type(64);
    rewrite.number_functions();
    rewrite.find_constants();
    rewrite.find_types();
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
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Name | Op::Decorate | Op::DecorateId), [target, ..]) if gone.contains(target) => {
                rewrite.new.remove(&instruction);
            }
            (Some(Op::Decorate), _) if rewrite.is_linkage_of_a_clone(&instruction) => {
                rewrite.new.remove(&instruction);
            }
            (Some(Op::Decorate), [target, ..]) => {
                // What is said of pointers need not be allowed of integers.
                if rewrite.tagged.contains(target) {
                    rewrite.new.remove(&instruction);
                }
                decorations.entry(*target).or_default().push(instruction);
            }
            _ => rewrite.module_scope(&instruction),
        }
    }
    // At least a type is added.
    Ok(rewrite.new.finish()?.unwrap_or_else(|| module.clone()))
}

impl<'a, 'm> Rewrite<'a, 'm> {
    /// The first clone of a function keeps its id.
    fn number_functions(&mut self) {
        let mut last = 0;
        for key in self.inferred.clones.keys() {
            let id = if key.0 == last { self.new.fresh_id() } else { key.0 };
            if id == key.0 {
                self.tagged.extend(tagged_values(self.inferred.clones.get(key)));
            }
            last = key.0;
            self.functions.insert(key, id);
        }
    }

    fn find_types(&mut self) {
        let module = self.definitions.module();
        for instruction in module.global_instructions() {
            let Some(id) = instruction.result_id().filter(|_| instruction.is(Op::TypePointer)) else {
                continue;
            };
            match self.inferred.types.ty(id) {
                Some(Type::Pointer { class: TAGGED, .. }) => {
                    self.aliases.insert(id, self.word);
                }
                Some(Type::Pointer { class, pointee }) => {
                    self.pointers.entry((class, pointee)).or_insert(id);
                }
                _ => {}
            }
        }
    }

    fn find_constants(&mut self) {
        for id in self.inferred.constants.keys() {
            let Some(constant) = self.definitions.instruction(*id) else { continue };
            if let &[op, from, ..] = constant.operands()
                && op == Op::PtrCastToGeneric as u32
            {
                self.aliases.insert(*id, from);
            }
        }
    }

    /// What the new module does not define: casts, types, and functions that nothing calls.
    fn gone(&self, module: &Module) -> HashSet<u32> {
        let mut gone: HashSet<u32> = self.aliases.keys().copied().collect();
        let cloned: HashSet<u32> = self.inferred.clones.keys().map(|key| key.0).collect();
        let mut function = 0;
        for instruction in module.instructions() {
            match instruction.op() {
                Some(Op::Function) => function = instruction.result_id().unwrap_or(0),
                Some(Op::FunctionEnd) => function = 0,
                _ => {}
            }
            let is_cast = match instruction.op() {
                Some(Op::PtrCastToGeneric) => true,
                Some(Op::GenericCastToPtr | Op::GenericCastToPtrExplicit | Op::GenericPtrMemSemantics) => {
                    !instruction.operand(0).is_some_and(|id| self.tagged.contains(&id))
                }
                _ => false,
            };
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

    fn alias(&self, mut id: u32) -> u32 {
        while let Some(instead) = self.aliases.get(&id) {
            id = *instead;
        }
        id
    }

    /// The pointer type of another storage class, or the type of tagged pointers.
    pub(super) fn retyped(&mut self, ty: u32, class: u32) -> u32 {
        match self.inferred.types.ty(ty) {
            Some(Type::Pointer { .. }) if class == TAGGED => self.word,
            Some(Type::Pointer { pointee, .. }) => match self.pointers.get(&(class, pointee)) {
                Some(known) => *known,
                None => {
                    let pointee = self.alias(pointee);
                    let ty = self.new.intern(Op::TypePointer, &[class, pointee]);
                    self.pointers.insert((class, pointee), ty);
                    ty
                }
            },
            _ => ty,
        }
    }

    fn module_scope(&mut self, instruction: &Instruction<'m>) {
        let id = instruction.result_id().unwrap_or(0);
        let mut names_another = false;
        instruction.visit_ids(self.definitions, |index, role| {
            let named = instruction.word(index).unwrap_or(0);
            names_another |= matches!(role, Role::Id | Role::ResultType) && self.aliases.contains_key(&named);
        });
        let is_gone = match instruction.op() {
            Some(Op::TypeForwardPointer) => {
                instruction.operand(0).is_some_and(|id| self.aliases.contains_key(&id))
            }
            // Each function gets its own again, as equal types must be one.
            Some(Op::TypeFunction) => names_another,
            _ => self.aliases.contains_key(&id),
        };
        if is_gone {
            self.new.remove(instruction);
            return;
        }
        let class = self.inferred.constants.get(&id).copied();
        let (Some(op), true) = (instruction.op(), class.is_some() || names_another) else {
            return;
        };
        let mut words = self.mapped(instruction, &|id| self.alias(id));
        if let (Some(class), Some(ty)) = (class, instruction.result_type()) {
            let ty = self.retyped(ty, class);
            words.splice(..1, [ty]);
        }
        self.new.replace(instruction, op, &words);
    }

    /// The words of an instruction after the first, with other ids.
    pub(super) fn mapped(&self, instruction: &Instruction<'_>, map: &dyn Fn(u32) -> u32) -> Vec<u32> {
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
        // Without clones it goes.
        self.function = function;
        self.at();
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
                self.decorate(&ids, clone, decorations);
            }
            self.body(body, key, clone, ids);
        }
    }

    /// Where the clones of the function are written.
    pub(super) fn at(&mut self) -> Cursor<'_, 'm> {
        self.new.instead_of_function(self.function)
    }

    /// Writes an instruction of a clone.
    pub(super) fn push(&mut self, op: Op, operands: &[u32]) {
        self.at().push(op, operands);
    }

    /// Decorates the values of a clone, but not those that are integers now.
    fn decorate(
        &mut self,
        ids: &HashMap<u32, u32>,
        clone: &Clone,
        decorations: &BTreeMap<u32, Vec<Instruction<'m>>>,
    ) {
        // In the order of the ids, so that the same module always gives the same words.
        let ids: BTreeMap<u32, u32> = ids.iter().map(|(of, id)| (*of, *id)).collect();
        for (of, id) in ids.iter().filter(|(of, _)| clone.classes.get(of) != Some(&TAGGED)) {
            for decoration in decorations.get(of).into_iter().flatten() {
                if let [_, rest @ ..] = decoration.operands() {
                    let operands = [&[*id], rest].concat();
                    self.new.push_in(oclave_spirv::Section::Annotations, Op::Decorate, &operands);
                }
            }
        }
    }

    /// What an id of the old module is in a clone.
    pub(super) fn local(&self, ids: &HashMap<u32, u32>, id: u32) -> u32 {
        match ids.get(&id) {
            Some(new) => *new,
            None => self.alias(id),
        }
    }

    /// Notes what takes the place of casts: what was cast, as far as that is where the cast leads
    /// to.
    pub(super) fn find_casts(
        &mut self,
        body: &[Instruction<'m>],
        clone: &Clone,
        ids: &mut HashMap<u32, u32>,
    ) {
        let mut casts: BTreeMap<u32, u32> = BTreeMap::new();
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
                _ if class == Some(TAGGED) => {}
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

    /// Gives a function the type of a clone, and a pointer the type of its address space.
    pub(super) fn set_types(
        &mut self,
        instruction: &Instruction<'m>,
        key: &Key,
        clone: &Clone,
        words: &mut [u32],
    ) {
        let is_generic_type = |ty: u32| is_generic(&self.inferred.types, Some(ty));
        if instruction.is(Op::Function) {
            let ty = instruction.operand(1).and_then(|ty| self.inferred.types.ty(ty));
            if let (Some(Type::Function { returns, parameters }), &mut [ref mut result, _, _, ref mut ty]) =
                (ty, &mut *words)
            {
                let mut classes = key.1.iter();
                let mut changed = is_generic_type(returns);
                let mut types = Vec::with_capacity(parameters.len());
                for parameter in parameters {
                    let class = is_generic_type(*parameter).then(|| classes.next()).flatten();
                    changed |= class.is_some();
                    types.push(class.map(|class| (*parameter, *class)).ok_or(*parameter));
                }
                if !changed {
                    return;
                }
                let parameters: Vec<u32> = types
                    .into_iter()
                    .map(|ty| match ty {
                        Ok((ty, class)) => self.retyped(ty, class),
                        Err(ty) => ty,
                    })
                    .collect();
                let returns = clone.result.map_or(returns, |class| self.retyped(returns, class));
                *result = returns;
                *ty = self.new.function_type(returns, &parameters);
            }
        } else if let Some(ty) = instruction.result_type().filter(|ty| is_generic_type(*ty))
            && let Some(class) = instruction.result_id().and_then(|id| clone.classes.get(&id))
        {
            let ty = self.retyped(ty, *class);
            if let Some(word) = words.first_mut() {
                *word = ty;
            }
        }
    }

    /// Lets a call lead to the clone for its arguments.
    pub(super) fn set_callee(&self, instruction: &Instruction<'_>, view: View<'_, '_>, words: &mut [u32]) {
        if instruction.is(Op::FunctionCall)
            && let Some((callee, arguments)) = instruction.operands().split_first()
        {
            let classes = arguments.iter().filter(|id| view.is_generic_value(**id));
            let called: Key = (*callee, classes.map(|id| view.class(*id)).collect());
            if let (Some(function), Some(word)) = (self.functions.get(&called), words.get_mut(2)) {
                *word = *function;
            }
        }
    }

    /// Gives generic null pointers among the operands the type that is wanted there. Where integers
    /// are, they are such already.
    pub(super) fn set_nulls(
        &mut self,
        instruction: &Instruction<'_>,
        view: View<'_, '_>,
        integers: &[usize],
        words: &mut [u32],
    ) {
        let mut nulls = Vec::new();
        let mut others = Vec::new();
        instruction.visit_ids(self.definitions, |index, role| {
            let id = instruction.word(index).unwrap_or(0);
            if role != Role::Id || !view.is_generic_value(id) || integers.contains(&index) {
            } else if view.is_null(id) {
                nulls.push((index, id));
            } else {
                others.push(id);
            }
        });
        if nulls.is_empty() {
            return;
        }
        let global = StorageClass::CrossWorkgroup as u32;
        let wanted = match instruction.op() {
            Some(Op::ReturnValue) => view.clone.result.unwrap_or(global),
            Some(Op::FunctionCall) => global,
            Some(Op::Phi | Op::Select) => instruction.result_id().map_or(global, |id| view.class(id)),
            _ => others.first().map_or(global, |id| view.class(*id)),
        };
        for (index, id) in nulls {
            let ty = self.definitions.type_of(id).unwrap_or(0);
            let ty = self.retyped(ty, wanted);
            let null = self.new.null_constant(ty);
            if let Some(word) = words.get_mut(index.wrapping_sub(1)) {
                *word = null;
            }
        }
    }
}

fn tagged_values(clone: Option<&Clone>) -> impl Iterator<Item = u32> {
    let classes = clone.into_iter().flat_map(|clone| &clone.classes);
    classes.filter(|(_, class)| **class == TAGGED).map(|(id, _)| *id)
}
