//! What the functions of a module do that matters to the interpreter, and which kernels it can run.

use std::collections::{BTreeMap, BTreeSet};

use super::arguments::{self, Parameter};
use super::builtins::{Builtin, Component, Needs};
use super::cost::{self, FunctionCost};
use super::layout::{Block, InterpreterCost};
use super::modes::{self, FloatModes};
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::{
    BuiltIn, Definitions, Instruction, Op, Role, StorageClass, Type, TypeTable, is_access_chain,
};

/// A variable of the module that is a built-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuiltinVariable {
    /// Its number in SPIR-V.
    number: u32,
    /// `None` for those that a task list cannot give.
    pub(super) builtin: Option<Builtin>,
    /// What a load of it gives.
    pub(super) pointee: u32,
    /// The integer type of its components and their width.
    pub(super) component: u32,
    pub(super) width: u32,
}

/// A load of a built-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) variable: u32,
    /// Something other than the extraction of a component uses it.
    pub(super) whole: bool,
}

/// What a function does.
#[derive(Debug, Default)]
pub(super) struct FunctionFacts {
    /// What it and those that it calls ask for.
    pub(super) needs: Needs,
    /// Built-in variables that it indexes: it gets copies.
    pub(super) indexed: BTreeSet<u32>,
    /// It has a work-group barrier.
    barrier: bool,
    /// Why it cannot run from a task list.
    refusal: Option<String>,
    calls: BTreeSet<u32>,
    /// Blocks; none where it has no body.
    pub(super) blocks: usize,
    /// The types of its variables, which are pointers.
    variables: Vec<u32>,
}

/// A kernel, and whether it can be interpreted.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) function: u32,
    /// The parameters, or the reason why it cannot be interpreted.
    pub(super) parameters: Result<(Vec<Parameter>, Block), String>,
    pub(super) needs_groups: bool,
    /// Whether a loop with barriers is left in several places.
    pub(super) leaves_barriers: bool,
    pub(super) static_local_bytes: u64,
    /// Of its functions' variables and of structs that it is given.
    pub(super) private_bytes: u64,
    pub(super) float_modes: FloatModes,
    pub(super) cost: InterpreterCost,
}

/// What was found in a module.
#[derive(Debug)]
pub(super) struct Survey<'m> {
    pub(super) variables: BTreeMap<u32, BuiltinVariable>,
    /// Result of a load → the load.
    pub(super) loads: BTreeMap<u32, Load>,
    /// Result of an extraction → what it extracts of which variable.
    pub(super) extracts: BTreeMap<u32, (Component, u32)>,
    /// Results of access chains into built-in variables.
    pub(super) chains: BTreeSet<u32>,
    /// Constants that name a built-in variable.
    tainted: BTreeSet<u32>,
    pub(super) functions: BTreeMap<u32, FunctionFacts>,
    costs: BTreeMap<u32, FunctionCost>,
    address_taken: BTreeSet<u32>,
    facts: VariableFacts,
    definitions: &'m Definitions<'m>,
}

impl<'m> Survey<'m> {
    pub(super) fn new(definitions: &'m Definitions<'m>, types: &TypeTable<'_>) -> Self {
        let mut survey = Self {
            variables: builtin_variables(definitions, types),
            loads: BTreeMap::new(),
            extracts: BTreeMap::new(),
            chains: BTreeSet::new(),
            tainted: BTreeSet::new(),
            functions: BTreeMap::new(),
            costs: Flow::of_functions(definitions)
                .iter()
                .map(|flow| (flow.function, FunctionCost::of(definitions, flow)))
                .collect(),
            address_taken: BTreeSet::new(),
            facts: VariableFacts::new(definitions),
            definitions,
        };
        survey.find_loads();
        survey.walk();
        survey.spread_needs();
        survey
    }

    pub(super) fn definitions(&self) -> &'m Definitions<'m> {
        self.definitions
    }

    /// Loads of built-ins and chains into them. Uses may come before them: blocks are in any
    /// order.
    fn find_loads(&mut self) {
        for instruction in self.definitions.module().instructions() {
            let (Some(op), Some(variable)) = (instruction.op(), instruction.operand(0)) else { continue };
            let (true, Some(id)) = (self.variables.contains_key(&variable), instruction.result_id()) else {
                continue;
            };
            if op == Op::Load {
                self.loads.insert(id, Load { variable, whole: false });
            } else if is_access_chain(op) {
                self.chains.insert(id);
            }
        }
    }

    fn walk(&mut self) {
        let module = self.definitions.module();
        let mut function: Option<(u32, FunctionFacts)> = None;
        for instruction in module.instructions() {
            if instruction.is(Op::ConstantFunctionPointerINTEL) {
                self.address_taken.extend(instruction.operand(0));
            }
            if instruction.is(Op::Function) {
                let id = instruction.result_id().unwrap_or(0);
                function = Some((id, FunctionFacts::default()));
                continue;
            }
            let Some((_, facts)) = &mut function else {
                self.module_scope(&instruction);
                continue;
            };
            facts.blocks += usize::from(instruction.is(Op::Label));
            if let Some(what) = refusal(&instruction, self.definitions, &mut facts.barrier) {
                facts.refusal.get_or_insert(what);
            }
            if instruction.is(Op::FunctionCall) {
                facts.calls.extend(instruction.operand(0));
            }
            if instruction.is(Op::Variable) {
                facts.variables.extend(instruction.result_type());
            }
            self.uses(&instruction, facts);
            if instruction.is(Op::FunctionEnd)
                && let Some((id, facts)) = function.take()
            {
                self.functions.insert(id, facts);
            }
        }
    }

    fn module_scope(&mut self, instruction: &Instruction<'_>) {
        let Some(result) = instruction.result_id() else { return };
        instruction.visit_ids(self.definitions, |index, role| {
            if role != Role::Result
                && instruction.word(index).is_some_and(|id| self.variables.contains_key(&id))
            {
                self.tainted.insert(result);
            }
        });
    }

    /// How an instruction of a function uses built-ins.
    fn uses(&mut self, instruction: &Instruction<'_>, facts: &mut FunctionFacts) {
        let (op, operands) = (instruction.op(), instruction.operands());
        instruction.visit_ids(self.definitions, |index, role| {
            let Some(id) = instruction.word(index).filter(|_| matches!(role, Role::Id | Role::MaybeId))
            else {
                return;
            };
            if let Some(variable) = self.variables.get(&id) {
                let is_first = operands.first() == Some(&id);
                let builtin = match variable.builtin {
                    Some(builtin) => builtin,
                    None => {
                        facts.refusal.get_or_insert_with(|| format!("it asks for {}", variable.name()));
                        return;
                    }
                };
                match op {
                    Some(Op::Load) if is_first && instruction.result_type() == Some(variable.pointee) => {
                        if builtin.axes() == 1 {
                            facts.needs.insert_all(builtin);
                        }
                    }
                    Some(op) if is_first && is_access_chain(op) => {
                        facts.needs.insert_all(builtin);
                        facts.indexed.insert(id);
                    }
                    _ => {
                        facts
                            .refusal
                            .get_or_insert_with(|| format!("it takes the address of {}", variable.name()));
                    }
                }
            } else if let Some(load) = self.loads.get_mut(&id) {
                let Some(builtin) = self.variables.get(&load.variable).and_then(|v| v.builtin) else {
                    return;
                };
                match (op, operands, instruction.result_id()) {
                    (Some(Op::CompositeExtract), &[of, axis @ 0..=2], Some(result))
                        if of == id && builtin.axes() == 3 =>
                    {
                        let component = Component { builtin, axis: axis as u8 };
                        facts.needs.insert(component);
                        self.extracts.insert(result, (component, load.variable));
                    }
                    _ => {
                        load.whole = true;
                        facts.needs.insert_all(builtin);
                    }
                }
            } else if self.chains.contains(&id) && !(op == Some(Op::Load) && operands.first() == Some(&id)) {
                facts.refusal.get_or_insert_with(|| "it takes the address of a built-in".to_owned());
            }
        });
    }

    /// Gives each function the needs of those that it calls.
    fn spread_needs(&mut self) {
        let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&caller, facts) in &self.functions {
            facts.calls.iter().for_each(|&callee| callers.entry(callee).or_default().push(caller));
        }
        let mut open: Vec<u32> = self.functions.keys().copied().collect();
        while let Some(callee) = open.pop() {
            let Some(needs) = self.functions.get(&callee).map(|facts| facts.needs) else { continue };
            for caller in callers.get(&callee).into_iter().flatten() {
                if self.functions.get_mut(caller).is_some_and(|facts| facts.needs.merge(needs)) {
                    open.push(*caller);
                }
            }
        }
    }

    /// The kernels in the module's order.
    pub(super) fn kernels(&self, types: &TypeTable<'_>) -> Vec<Kernel> {
        let references = References::new(self.definitions);
        let by_value = arguments::by_value(self.definitions.module());
        let modes = modes::of_functions(self.definitions.module());
        let kernels = references.entry_points().iter().map(|entry| {
            let reachable = references.reachable(entry.function);
            let parameters = arguments::parameters(self.definitions, types, &by_value, entry.function);
            let (float_modes, refused) = modes.get(&entry.function).cloned().unwrap_or_default();
            let (local, static_local_bytes) = self.local_memory(&reachable, types);
            let struct_bytes = parameters.as_ref().map_or(0, |(list, _)| arguments::struct_bytes(list));
            let private_bytes = self.private_bytes(&reachable, types).saturating_add(struct_bytes);
            let has_local_argument = parameters.as_ref().is_ok_and(|(list, _)| {
                list.iter().any(|p| matches!(p.source, arguments::Source::LocalOffset))
            });
            let in_barrier = |id: &u32| self.functions.get(id).is_some_and(|facts| facts.barrier);
            let leaves_barriers = reachable.iter().filter_map(|id| self.costs.get(id)).any(|cost| {
                let calls_barrier = |callee: &u32| references.reachable(*callee).iter().any(in_barrier);
                cost.leaves_barriers || cost.left_calls.iter().any(calls_barrier)
            });
            Kernel {
                leaves_barriers,
                name: entry.name.clone(),
                function: entry.function,
                parameters: match refused.or_else(|| self.refusal(&reachable, types)) {
                    Some(reason) => Err(reason),
                    None => parameters,
                },
                needs_groups: local || has_local_argument || reachable.iter().any(in_barrier),
                static_local_bytes,
                private_bytes,
                float_modes,
                cost: cost::total(&self.costs, entry.function),
            }
        });
        kernels.collect()
    }

    /// Whether one of these is local memory, and how much.
    fn local_memory(&self, reachable: &BTreeSet<u32>, types: &TypeTable<'_>) -> (bool, u64) {
        let of_class =
            reachable.iter().filter_map(|id| self.variable_in(*id, StorageClass::Workgroup, types));
        of_class.fold((false, 0), |(_, sum), pointee| {
            let size = types.size_bytes(pointee).unwrap_or(0).checked_next_multiple_of(128);
            (true, size.map_or(u64::MAX, |size| sum.saturating_add(size)))
        })
    }

    /// How large the variables of these functions are together.
    fn private_bytes(&self, reachable: &BTreeSet<u32>, types: &TypeTable<'_>) -> u64 {
        let functions = reachable.iter().filter_map(|id| self.functions.get(id));
        let pointees = functions.flat_map(|facts| &facts.variables);
        let pointees = pointees.filter_map(|ty| pointee(types, *ty, StorageClass::Function));
        pointees.filter_map(|ty| types.size_bytes(ty)).fold(0, u64::saturating_add)
    }

    /// The pointee of a module-scope variable of a storage class.
    fn variable_in(&self, id: u32, class: StorageClass, types: &TypeTable<'_>) -> Option<u32> {
        let variable = self.definitions.instruction(id).filter(|i| i.is(Op::Variable))?;
        pointee(types, variable.result_type()?, class)
    }

    /// Why a kernel that reaches these cannot be interpreted.
    fn refusal(&self, reachable: &BTreeSet<u32>, types: &TypeTable<'_>) -> Option<String> {
        // Functions first: they tell most.
        let functions = reachable.iter().filter_map(|id| Some((id, self.functions.get(id)?)));
        for (id, facts) in functions {
            let name = self.facts.name(*id);
            if let Some(reason) = &facts.refusal {
                return Some(reason.clone());
            }
            if self.costs.get(id).is_some_and(|cost| cost.is_irreducible) {
                // Compilers of drivers overflow the stack when they compile them beside barriers.
                return Some("it has a loop with several entries".to_owned());
            }
            if facts.blocks == 0 {
                return Some(format!("it calls `{name}`, which is not in the module"));
            }
            if self.address_taken.contains(id) && !facts.needs.is_empty() {
                return Some(format!(
                    "function `{name}`, which is called through a pointer, asks for its place in the index space"
                ));
            }
        }
        for id in reachable {
            if self.tainted.contains(id) {
                return Some("it takes the address of a built-in".to_owned());
            }
            if self.variable_in(*id, StorageClass::CrossWorkgroup, types).is_some()
                && !self.facts.constant.contains(id)
            {
                return Some(format!(
                    "it uses the program-scope variable `{}`, of which an interpreter module would have a copy of its own",
                    self.facts.name(*id)
                ));
            }
            if let Some(what) = self.definitions.instruction(*id).and_then(|i| refused_type(i.op()?)) {
                return Some(format!("it uses {what}"));
            }
        }
        None
    }
}

impl BuiltinVariable {
    fn name(&self) -> String {
        match BuiltIn::from_u32(self.number) {
            Some(builtin) => format!("the built-in {builtin:?}"),
            None => format!("the built-in {}", self.number),
        }
    }
}

fn builtin_variables(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> BTreeMap<u32, BuiltinVariable> {
    let found = definitions.module().built_ins().filter_map(|(id, number)| {
        // A constant with the work-group size is what it says.
        let variable = definitions.instruction(id).filter(|i| i.is(Op::Variable))?;
        let Some(Type::Pointer { pointee, .. }) = types.ty(variable.result_type()?) else { return None };
        let (component, axes) = match types.ty(pointee) {
            Some(Type::Vector { component, count: 3 }) => (component, 3),
            _ => (pointee, 1),
        };
        let width = match types.ty(component) {
            Some(Type::Int { width: width @ (32 | 64) }) => width,
            _ => 0,
        };
        let builtin = Builtin::of(number).filter(|builtin| builtin.axes() == axes && width != 0);
        Some((id, BuiltinVariable { number, builtin, pointee, component, width }))
    });
    found.collect()
}

/// What a type points to, if it is a pointer of this storage class.
fn pointee(types: &TypeTable<'_>, ty: u32, class: StorageClass) -> Option<u32> {
    match types.ty(ty)? {
        Type::Pointer { class: of, pointee } if of == class as u32 => Some(pointee),
        _ => None,
    }
}

/// Why an instruction cannot run from a task list. Notes work-group barriers.
fn refusal(
    instruction: &Instruction<'_>,
    definitions: &Definitions<'_>,
    barrier: &mut bool,
) -> Option<String> {
    let Some(op) = instruction.op().filter(|_| instruction.is_known()) else {
        return Some(format!("it has an instruction of the unknown opcode {}", instruction.opcode));
    };
    match op {
        Op::ControlBarrier => {
            match instruction.operand(0).and_then(|scope| definitions.int_constant(scope)) {
                Some(2) => {
                    *barrier = true;
                    None
                }
                Some(3) => Some("it has a barrier of sub-groups".to_owned()),
                _ => Some("it has a barrier of an unusual scope".to_owned()),
            }
        }
        // What is below are arithmetic, memory, atomics, and control flow.
        op if (op as u32) < Op::GroupAsyncCopy as u32 => None,
        op => {
            let name = format!("{op:?}");
            if name.starts_with("Subgroup") || name.starts_with("GroupNonUniform") {
                Some(format!("it uses sub-groups (Op{name})"))
            } else if name.starts_with("Group") {
                Some(format!("it has operations of a whole group (Op{name})"))
            } else if name.starts_with("Enqueue") || name.contains("NDRange") || name.contains("Queue") {
                Some(format!("it enqueues kernels (Op{name})"))
            } else if name.contains("NamedBarrier") || name.contains("ControlBarrier") {
                Some(format!("it has barriers of an unusual kind (Op{name})"))
            } else {
                None
            }
        }
    }
}

/// What a type stands for that an interpreter module cannot have.
fn refused_type(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::TypeImage | Op::TypeSampledImage => "images",
        Op::TypeSampler => "samplers",
        Op::TypePipe | Op::TypePipeStorage | Op::TypeReserveId => "pipes",
        Op::TypeQueue | Op::TypeDeviceEvent => "queues of the device",
        Op::TypeEvent => "copies by a whole group",
        Op::TypeNamedBarrier => "named barriers",
        _ => return None,
    })
}
