//! Writing the body of a function: instructions, blocks, loops.

use crate::spirv::{Code, Decoration, Definitions, Op, Rewriter, Section, StorageClass};

/// What an `OpLoad` or `OpStore` is told of alignment, before the bytes.
const ALIGNED: u32 = 2;

/// A function that is being written. Its types and constants go to the module as they are asked
/// for.
pub(super) struct Body<'a, 'm> {
    pub(super) new: &'a mut Rewriter<'m>,
    code: Code,
    /// The block that is being written.
    block: u32,
}

/// A loop that was begun.
#[must_use = "a loop must be ended"]
pub(super) struct Loop {
    /// The running index.
    pub(super) index: u32,
    next: u32,
    step: u32,
    head: u32,
    latch: u32,
    exit: u32,
}

impl Loop {
    /// Where `continue` jumps to.
    pub(super) fn latch(&self) -> u32 {
        self.latch
    }
}

impl<'a, 'm> Body<'a, 'm> {
    /// A function with parameters of these types; gives their ids. The first block is open.
    pub(super) fn new(
        new: &'a mut Rewriter<'m>,
        function: u32,
        parameters: &[u32],
        variables: &[u32],
    ) -> (Self, Vec<u32>, Vec<u32>) {
        let void = new.void_type();
        let ty = new.function_type(void, parameters);
        let mut code = Code::new();
        code.push(Op::Function, &[void, function, 0, ty]);
        let define = |op: Op, types: &[u32], rest: &[u32], new: &mut Rewriter<'m>, code: &mut Code| {
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
        (Self { new, code, block }, parameters, variables)
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

    pub(super) fn constant(&mut self, value: u64) -> u32 {
        self.new.int_constant(64, value)
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

    /// Arithmetic on 64 bits.
    pub(super) fn arithmetic(&mut self, op: Op, a: u32, b: u32) -> u32 {
        let ulong = self.ulong();
        self.value(op, ulong, &[a, b])
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
        let ulong = self.ulong();
        self.value(Op::Select, ulong, &[less, a, b])
    }

    pub(super) fn load(&mut self, ty: u32, pointer: u32, align: u32) -> u32 {
        self.value(Op::Load, ty, &[pointer, ALIGNED, align])
    }

    pub(super) fn store(&mut self, pointer: u32, value: u32, align: u32) {
        self.code.push(Op::Store, &[pointer, value, ALIGNED, align]);
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
        self.begin_loop_while(from, step, |_, index| index, to)
    }

    /// `for (index = from; index + 1 < to; index += 1)`.
    pub(super) fn begin_loop_before_last(&mut self, from: u32, to: u32) -> Loop {
        let one = self.constant(1);
        self.begin_loop_while(from, one, |body, index| body.add(index, one), to)
    }

    fn begin_loop_while(
        &mut self,
        from: u32,
        step: u32,
        compared: impl FnOnce(&mut Self, u32) -> u32,
        to: u32,
    ) -> Loop {
        let [index, next, head, latch, exit] = [(); 5].map(|()| self.new.fresh_id());
        let before = self.block;
        self.branch(head);
        self.label(head);
        let ulong = self.ulong();
        self.code.push(Op::Phi, &[ulong, index, from, before, next, latch]);
        let compared = compared(self, index);
        let goes_on = self.less(compared, to);
        self.branch_unless(goes_on, exit);
        Loop { index, next, step, head, latch, exit }
    }

    pub(super) fn end_loop(&mut self, of: &Loop) {
        self.branch(of.latch);
        self.label(of.latch);
        let ulong = self.ulong();
        self.code.push(Op::IAdd, &[ulong, of.next, of.index, of.step]);
        self.branch(of.head);
        self.label(of.exit);
    }
}

/// A new built-in variable, a vector of three numbers of 64 bits.
pub(super) fn builtin_variable(new: &mut Rewriter<'_>, builtin: crate::spirv::BuiltIn) -> u32 {
    let ulong = new.int_type(64);
    let vector = new.vector_type(ulong, 3);
    let pointer = new.pointer_type(StorageClass::Input, vector);
    let id = new.fresh_id();
    new.push_in(Section::Types, Op::Variable, &[pointer, id, StorageClass::Input as u32]);
    new.decorate(id, Decoration::BuiltIn, &[builtin as u32]);
    new.decorate(id, Decoration::Constant, &[]);
    id
}

/// The module-scope variables of a module: what entry points of SPIR-V 1.4 name.
pub(super) fn module_variables(definitions: &Definitions<'_>) -> impl Iterator<Item = u32> {
    let before = definitions.module().instructions().take_while(|i| !i.is(Op::Function));
    before.filter(|i| i.is(Op::Variable)).filter_map(|i| i.result_id())
}
