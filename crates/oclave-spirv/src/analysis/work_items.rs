//! Which kernels do more with the number of a work-item than to compare it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::control_flow::Flow;
use super::uniformity::makes_value;
use crate::{
    BuiltIn, Definitions, Instruction, Op, Role, StorageClass, Type, TypeTable, is_atomic, is_group,
    is_within,
};

/// How often the values of a kernel are gone through, at most. What is not found by then counts as
/// not used.
const ROUNDS: usize = 16;
/// How many parts of a condition are looked at.
const PARTS: usize = 64;

/// What a value is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// The number of the work-item.
    Number,
    /// Memory at a place that depends on the number.
    Memory,
}

/// The functions of a module, and what tells their work-items which one they are.
#[derive(Debug)]
pub struct WorkItems<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: TypeTable<'m>,
    flows: HashMap<u32, &'a Flow<'m>>,
    numbers: HashSet<u32>,
}

impl<'a, 'm> WorkItems<'a, 'm> {
    /// For a module; `flows` are all of its functions.
    pub fn new(definitions: &'a Definitions<'m>, flows: &'a [Flow<'m>]) -> Self {
        let flows = flows.iter().map(|flow| (flow.function, flow)).collect();
        Self { definitions, types: TypeTable::new(definitions), flows, numbers: id_variables(definitions) }
    }

    /// A kernel's function and all that it calls.
    pub fn reached(&self, kernel: u32) -> BTreeSet<u32> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![kernel]);
        while let Some(function) = open.pop() {
            if let Some(flow) = self.flows.get(&function)
                && reached.insert(function)
            {
                open.extend(flow.blocks.iter().flat_map(|block| &block.calls));
            }
        }
        reached
    }

    /// Whether a kernel that reaches these functions writes what depends on the number of the
    /// work-item, or where depends on it. Code that a single work-item runs does not count:
    /// compilers replace the number there.
    pub fn are_used(&self, reached: &BTreeSet<u32>) -> bool {
        let origins = self.origins(reached);
        if origins.is_empty() {
            return false;
        }
        self.flows_of(reached).any(|flow| {
            let single = self.of_one_item(flow, &origins);
            let counts = |block: usize| !single.iter().any(|from| flow.dominates(*from, block));
            flow.code(self.definitions).any(|(block, i)| self.is_effect(&i, &origins) && counts(block))
        })
    }

    fn flows_of(&self, functions: &BTreeSet<u32>) -> impl Iterator<Item = &'a Flow<'m>> {
        functions.iter().filter_map(|function| self.flows.get(function).copied())
    }

    /// The values that depend on the number. Private variables and functions are among them, for
    /// what they hold and give.
    fn origins(&self, reached: &BTreeSet<u32>) -> HashMap<u32, Origin> {
        let mut origins = HashMap::new();
        for _ in 0..ROUNDS {
            let mut is_new = false;
            for flow in self.flows_of(reached) {
                for (_, instruction) in flow.code(self.definitions) {
                    for (id, origin) in self.follow(flow.function, &instruction, &origins) {
                        if origins.get(&id) < Some(&origin) {
                            origins.insert(id, origin);
                            is_new = true;
                        }
                    }
                }
            }
            if !is_new {
                break;
            }
        }
        origins
    }

    /// What an instruction makes of values that are known.
    fn follow(
        &self,
        function: u32,
        instruction: &Instruction<'m>,
        origins: &HashMap<u32, Origin>,
    ) -> Vec<(u32, Origin)> {
        let origin = |id: Option<u32>| id.and_then(|id| origins.get(&id).copied());
        let first = instruction.operand(0);
        let give = |id: Option<u32>, origin: Option<Origin>| id.zip(origin).into_iter().collect();
        match instruction.op() {
            Some(Op::Store) => {
                let variable = first
                    .map(|to| self.definitions.root(to))
                    .filter(|id| self.definitions.is_private_variable(*id));
                give(variable, origin(first).max(origin(instruction.operand(1))))
            }
            Some(Op::Load) => {
                let root = first.map(|from| self.definitions.root(from));
                let loaded = match root {
                    Some(root) if self.numbers.contains(&root) => Some(Origin::Number),
                    Some(root) if self.definitions.is_private_variable(root) => {
                        origin(Some(root)).max(origin(first))
                    }
                    _ => origin(first).map(|_| Origin::Memory),
                };
                give(instruction.result_id(), loaded)
            }
            Some(Op::FunctionCall) => {
                let parameters = first.into_iter().flat_map(|callee| self.definitions.parameters(callee));
                let arguments = instruction.operands().get(1..).unwrap_or_default();
                let passed = parameters.zip(arguments);
                passed
                    .filter_map(|(parameter, argument)| Some((parameter, origin(Some(*argument))?)))
                    .chain(instruction.result_id().zip(origin(first)))
                    .collect()
            }
            Some(Op::ReturnValue) => give(Some(function), origin(first)),
            // What a comparison of the number gives does not depend on it once compilers have made
            // it the bounds of the kernel.
            Some(op) if is_comparison(op) => give(
                instruction.result_id(),
                self.of_operands(instruction, origins).filter(|o| *o == Origin::Memory),
            ),
            _ => give(instruction.result_id(), self.of_operands(instruction, origins)),
        }
    }

    fn of_operands(&self, instruction: &Instruction<'m>, origins: &HashMap<u32, Origin>) -> Option<Origin> {
        let mut found = None;
        instruction.visit_ids(self.definitions, |at, role| {
            if role == Role::Id {
                found = found.max(instruction.word(at).and_then(|id| origins.get(&id).copied()));
            }
        });
        found
    }

    /// Whether others can see what an instruction does with the number.
    fn is_effect(&self, instruction: &Instruction<'m>, origins: &HashMap<u32, Origin>) -> bool {
        let any = || self.of_operands(instruction, origins).is_some();
        match instruction.op() {
            Some(Op::Store | Op::CopyMemory | Op::CopyMemorySized) => {
                !instruction.operand(0).is_some_and(|to| self.is_private(to)) && any()
            }
            Some(Op::BranchConditional | Op::Switch) => {
                instruction.operand(0).and_then(|on| origins.get(&on)) == Some(&Origin::Memory)
            }
            Some(Op::FunctionCall) => {
                !instruction.operand(0).is_some_and(|callee| self.flows.contains_key(&callee)) && any()
            }
            // `vstore`, and calls that write for others.
            Some(Op::ExtInst) => {
                let is_void = |ty| self.types.ty(ty) == Some(Type::Void);
                instruction.result_type().is_some_and(is_void) && any()
            }
            Some(op) => writes_or_exchanges(op) && any(),
            None => any(),
        }
    }

    /// The blocks that begin what only one work-item runs: behind a comparison for equality.
    fn of_one_item(&self, flow: &Flow<'_>, origins: &HashMap<u32, Origin>) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, block) in flow.blocks.iter().enumerate() {
            let Some(end) = block.terminator.filter(|end| end.is(Op::BranchConditional)) else { continue };
            let &[then, other] = block.successors.as_slice() else { continue };
            for (to, when) in [(then, true), (other, false)] {
                if then != other
                    && flow.predecessor(to) == Some(at)
                    && end.operand(0).is_some_and(|on| self.is_equal(on, when, origins))
                {
                    found.push(to);
                }
            }
        }
        found
    }

    /// Whether a condition means that the number equals something.
    fn is_equal(&self, condition: u32, when: bool, origins: &HashMap<u32, Origin>) -> bool {
        let mut open = vec![(condition, when)];
        for _ in 0..PARTS {
            let Some((condition, when)) = open.pop() else { return false };
            let Some(instruction) = self.definitions.instruction(condition) else { continue };
            let (a, b, c) = (instruction.operand(0), instruction.operand(1), instruction.operand(2));
            let is_number = |id: Option<u32>| id.is_some_and(|id| origins.contains_key(&id));
            let is = |id: Option<u32>, op| {
                id.and_then(|id| self.definitions.instruction(id)).is_some_and(|i| i.is(op))
            };
            let parts = match (instruction.op(), when) {
                (Some(Op::IEqual), true) | (Some(Op::INotEqual), false) if is_number(a) || is_number(b) => {
                    return true;
                }
                (Some(Op::LogicalNot), _) => {
                    open.extend(a.map(|a| (a, !when)));
                    continue;
                }
                (Some(Op::LogicalAnd), true) | (Some(Op::LogicalOr), false) => [a, b],
                // Optimisers write `a && b` and `a || b` so.
                (Some(Op::Select), true) if is(c, Op::ConstantFalse) => [a, b],
                (Some(Op::Select), false) if is(b, Op::ConstantTrue) => [a, c],
                _ => continue,
            };
            open.extend(parts.into_iter().flatten().map(|part| (part, when)));
        }
        false
    }

    fn is_private(&self, pointer: u32) -> bool {
        let ty = self.definitions.type_of(pointer).and_then(|ty| self.types.ty(ty));
        matches!(ty, Some(Type::Pointer { class, .. }) if class == StorageClass::Function as u32)
    }
}

fn is_comparison(op: Op) -> bool {
    op != Op::Select && is_within(op, Op::Any, Op::FUnordGreaterThanEqual)
}

/// Atomic instructions, those of groups, and stores to images.
fn writes_or_exchanges(op: Op) -> bool {
    op == Op::ImageWrite || is_atomic(op) || is_group(op)
}

/// Values that are computed of the id of the work-item, or read from addresses that are. What a function gets or gives is not followed.
pub fn made_of_ids(definitions: &Definitions<'_>) -> HashSet<u32> {
    let mut users: HashMap<u32, Vec<u32>> = HashMap::new();
    for instruction in definitions.module().instructions() {
        let (Some(id), true) = (instruction.result_id(), instruction.op().is_some_and(makes_value)) else {
            continue;
        };
        instruction.visit_ids(definitions, |at, role| {
            if let (Role::Id, Some(operand)) = (role, instruction.word(at)) {
                users.entry(operand).or_default().push(id);
            }
        });
    }
    let mut open: Vec<u32> = id_variables(definitions).into_iter().collect();
    let mut found = HashSet::new();
    while let Some(id) = open.pop() {
        open.extend(users.get(&id).into_iter().flatten().filter(|user| found.insert(**user)));
    }
    found
}

/// The variables that tell a work-item which one it is.
pub fn id_variables(definitions: &Definitions<'_>) -> HashSet<u32> {
    let ids = [
        BuiltIn::GlobalInvocationId as u32,
        BuiltIn::LocalInvocationId as u32,
        BuiltIn::GlobalLinearId as u32,
        BuiltIn::LocalInvocationIndex as u32,
    ];
    let built_ins = definitions.module().built_ins();
    built_ins.filter(|(_, number)| ids.contains(number)).map(|(id, _)| id).collect()
}
