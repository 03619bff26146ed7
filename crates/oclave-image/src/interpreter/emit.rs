//! Writing the body of a function: instructions, blocks, loops.

use oclave_spirv::{ALIGNED, Code, Declarations, Decoration, Definitions, Op, StorageClass};

/// A function that is being written. Its types and constants go to the module as they are asked
/// for.
pub(super) struct Body<'a, 'm> {
    pub(super) new: &'a mut Declarations<'m>,
    code: Code,
    /// The block that is being written.
    block: u32,
    /// Bits of the numbers that arithmetic, constants and loops are on.
    bits: u32,
    /// Whether to say of conditions that they are the same for all work-items of a sub-group.
    pub(super) says_uniform: bool,
}

/// A loop that was begun.
#[must_use = "a loop must be ended"]
pub(super) struct Loop {
    /// The running index.
    pub(super) index: u32,
    next: u32,
    /// What is added to the index; known where the body begins at the latest.
    pub(super) step: u32,
    head: u32,
    latch: u32,
    exit: u32,
    /// Type of the index.
    ty: u32,
    /// Other values that each round hands to the next.
    carried: Vec<Carried>,
    /// The condition that it goes on by.
    pub(super) goes_on: u32,
}

/// A value that a round of a loop has from the one before.
struct Carried {
    ty: u32,
    value: u32,
    next: u32,
    /// What becomes the next round's.
    given: u32,
}

impl Loop {
    /// Where `continue` jumps to.
    pub(super) fn latch(&self) -> u32 {
        self.latch
    }

    /// The values that this round was given.
    pub(super) fn carried<const N: usize>(&self) -> [u32; N] {
        std::array::from_fn(|at| self.carried.get(at).map_or(0, |carried| carried.value))
    }

    /// Gives values to the next round.
    pub(super) fn give(&mut self, values: &[u32]) {
        for (carried, value) in self.carried.iter_mut().zip(values) {
            carried.given = *value;
        }
    }
}

impl<'a, 'm> Body<'a, 'm> {
    /// A function with parameters of these types; gives their ids. The first block is open.
    pub(super) fn new(
        new: &'a mut Declarations<'m>,
        function: u32,
        parameters: &[u32],
        variables: &[u32],
    ) -> (Self, Vec<u32>, Vec<u32>) {
        let void = new.void_type();
        let ty = new.function_type(void, parameters);
        let mut code = Code::new();
        code.push(Op::Function, &[void, function, 0, ty]);
        let define = |op: Op, types: &[u32], rest: &[u32], new: &mut Declarations<'m>, code: &mut Code| {
            let mut ids = Vec::new();
            for ty in types {
                let id = new.fresh_id();
                code.push(op, &[&[*ty, id], rest].concat());
                ids.push(id);
            }
            ids
        };
        let parameters = define(Op::FunctionParameter, parameters, &[], new, &mut code);
        let block = new.fresh_id();
        code.push(Op::Label, &[block]);
        let variables = define(Op::Variable, variables, &[StorageClass::Function as u32], new, &mut code);
        (Self { new, code, block, bits: 64, says_uniform: false }, parameters, variables)
    }

    /// Returns, and adds the function to the module.
    pub(super) fn finish(mut self) {
        self.code.push(Op::Return, &[]);
        self.code.push(Op::FunctionEnd, &[]);
        self.new.add_function(self.code);
    }

    pub(super) fn ulong(&mut self) -> u32 {
        self.new.int_type(64)
    }

    /// Has what `write` writes calculate on 32 bits, which GPUs are faster at.
    pub(super) fn set_bits(&mut self, bits: u32) {
        self.bits = bits;
    }

    /// Type of numbers.
    fn number(&mut self) -> u32 {
        self.new.int_type(self.bits)
    }

    pub(super) fn constant(&mut self, value: u64) -> u32 {
        self.new.int_constant(self.bits, value)
    }

    /// A number with other bits.
    pub(super) fn with_bits(&mut self, bits: u32, value: u32) -> u32 {
        let ty = self.new.int_type(bits);
        self.value(Op::UConvert, ty, &[value])
    }

    /// An instruction without a result.
    pub(super) fn push(&mut self, op: Op, operands: &[u32]) {
        self.code.push(op, operands);
    }

    /// An instruction with a result of type `ty`.
    pub(super) fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.new.fresh_id();
        self.code.push(op, &[&[ty, id], operands].concat());
        id
    }

    pub(super) fn arithmetic(&mut self, op: Op, a: u32, b: u32) -> u32 {
        let number = self.number();
        self.value(op, number, &[a, b])
    }

    pub(super) fn add(&mut self, a: u32, b: u32) -> u32 {
        self.arithmetic(Op::IAdd, a, b)
    }

    pub(super) fn multiply(&mut self, a: u32, b: u32) -> u32 {
        self.arithmetic(Op::IMul, a, b)
    }

    pub(super) fn less(&mut self, a: u32, b: u32) -> u32 {
        let bool = self.new.bool_type();
        self.value(Op::ULessThan, bool, &[a, b])
    }

    pub(super) fn equal(&mut self, a: u32, b: u32) -> u32 {
        let bool = self.new.bool_type();
        self.value(Op::IEqual, bool, &[a, b])
    }

    pub(super) fn minimum(&mut self, a: u32, b: u32) -> u32 {
        let less = self.less(a, b);
        let number = self.number();
        self.value(Op::Select, number, &[less, a, b])
    }

    pub(super) fn load(&mut self, ty: u32, pointer: u32, align: u32) -> u32 {
        self.value(Op::Load, ty, &[pointer, ALIGNED, align])
    }

    pub(super) fn store(&mut self, pointer: u32, value: u32, align: u32) {
        self.code.push(Op::Store, &[pointer, value, ALIGNED, align]);
    }

    /// Says that a condition is the same for all work-items of a sub-group.
    pub(super) fn uniform(&mut self, condition: u32) {
        if self.says_uniform {
            self.new.decorate(condition, Decoration::Uniform, &[]);
        }
    }

    /// A vector of numbers of a type.
    pub(super) fn vector(&mut self, of: u32, parts: &[u32]) -> u32 {
        let vector = self.new.vector_type(of, parts.len() as u32);
        self.value(Op::CompositeConstruct, vector, parts)
    }

    /// The components of a built-in.
    pub(super) fn components(&mut self, variable: u32) -> [u32; 3] {
        let ulong = self.ulong();
        let vector = self.new.vector_type(ulong, 3);
        let value = self.value(Op::Load, vector, &[variable]);
        [0, 1, 2].map(|axis| self.value(Op::CompositeExtract, ulong, &[value, axis]))
    }

    /// The element `index` of an array that `pointer`, of type `ty`, is the start of.
    pub(super) fn element(&mut self, ty: u32, pointer: u32, index: u32) -> u32 {
        self.value(Op::InBoundsPtrAccessChain, ty, &[pointer, index])
    }

    /// The block that is being written.
    pub(super) fn block(&self) -> u32 {
        self.block
    }

    pub(super) fn label(&mut self, label: u32) {
        self.code.push(Op::Label, &[label]);
        self.block = label;
    }

    pub(super) fn branch(&mut self, to: u32) {
        self.code.push(Op::Branch, &[to]);
    }

    /// Goes on in a new block if `condition`, else to `otherwise`.
    pub(super) fn branch_unless(&mut self, condition: u32, otherwise: u32) {
        let then = self.new.fresh_id();
        self.code.push(Op::BranchConditional, &[condition, then, otherwise]);
        self.label(then);
    }

    /// `for (index = from; index < to; index += step)`.
    pub(super) fn begin_loop(&mut self, from: u32, to: u32, step: u32) -> Loop {
        self.begin_loop_while(from, step, |_, index| index, to, &[])
    }

    /// The same with values of these types besides, which each round gives to the next.
    pub(super) fn begin_loop_with(&mut self, [from, to, step]: [u32; 3], carried: &[(u32, u32)]) -> Loop {
        self.begin_loop_while(from, step, |_, index| index, to, carried)
    }

    /// `for (index = from; index + 1 < to; index += 1)`.
    pub(super) fn begin_loop_before_last(&mut self, from: u32, to: u32) -> Loop {
        let one = self.constant(1);
        self.begin_loop_while(from, one, |body, index| body.add(index, one), to, &[])
    }

    fn begin_loop_while(
        &mut self,
        from: u32,
        step: u32,
        compared: impl FnOnce(&mut Self, u32) -> u32,
        to: u32,
        carried: &[(u32, u32)],
    ) -> Loop {
        let [index, next, head, latch, exit] = [(); 5].map(|()| self.new.fresh_id());
        let before = self.block;
        self.branch(head);
        self.label(head);
        let ty = self.number();
        self.code.push(Op::Phi, &[ty, index, from, before, next, latch]);
        let carried = self.carry(carried, before, latch);
        let compared = compared(self, index);
        let goes_on = self.less(compared, to);
        self.branch_unless(goes_on, exit);
        Loop { index, next, step, head, latch, exit, ty, carried, goes_on }
    }

    fn carry(&mut self, carried: &[(u32, u32)], before: u32, latch: u32) -> Vec<Carried> {
        let mut all = Vec::new();
        for (ty, first) in carried.iter().copied() {
            let [value, next] = [(); 2].map(|()| self.new.fresh_id());
            self.code.push(Op::Phi, &[ty, value, first, before, next, latch]);
            all.push(Carried { ty, value, next, given: value });
        }
        all
    }

    /// What the next round gets.
    fn hand_on(&mut self, of: &Loop) {
        for Carried { ty, next, given, .. } in &of.carried {
            self.code.push(Op::CopyObject, &[*ty, *next, *given]);
        }
        self.code.push(Op::IAdd, &[of.ty, of.next, of.index, of.step]);
    }

    pub(super) fn end_loop(&mut self, of: &Loop) {
        self.branch(of.latch);
        self.label(of.latch);
        self.hand_on(of);
        self.branch(of.head);
        self.label(of.exit);
    }
}

/// A new built-in variable, a vector of three numbers of 64 bits.
pub(super) fn builtin_variable(new: &mut Declarations<'_>, builtin: oclave_spirv::BuiltIn) -> u32 {
    let ulong = new.int_type(64);
    let vector = new.vector_type(ulong, 3);
    new.built_in_variable(builtin, vector)
}

/// The module-scope variables of a module: what entry points of SPIR-V 1.4 name.
pub(super) fn module_variables(definitions: &Definitions<'_>) -> impl Iterator<Item = u32> {
    let before = definitions.module().global_instructions();
    before.filter(|i| i.is(Op::Variable)).filter_map(|i| i.result_id())
}
