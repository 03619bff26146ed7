//! The module with the dispatchers of a program.

use std::collections::BTreeMap;

use super::faults::FAULT_FUNCTION;
use super::plan::{DispatchPlan, Table};
use crate::Result;
use crate::link::virtual_functions::type_of;
use crate::virtual_functions::{CallSignature, CallType, OFFSET_DISPATCHER};
use oclave_spirv::{
    Capability, Code, Definitions, Editor, FunctionControl, LinkageType, Module, Op, Version,
};

impl DispatchPlan {
    /// A module that exports the dispatchers and imports the wrappers that they lead to.
    ///
    /// # Errors
    /// As [`Editor::finish`].
    pub(super) fn generate(&self, report_faults: bool, form: Form) -> Result<Module> {
        let empty = Module::empty(Version::V1_0);
        let definitions = Definitions::new(&empty);
        let mut generator = Generator { new: Editor::new(&definitions), form, fault: None };
        generator.header();
        if report_faults {
            generator.fault();
        }
        match self.levels() {
            None => generator.tables(&self.tables, |name| name.to_owned(), true)?,
            Some(depth) => {
                for level in 0..=depth {
                    let at_level = |name: &str| match level {
                        0 => name.to_owned(),
                        level => format!("{name}__d{level}"),
                    };
                    generator.tables(&self.tables, at_level, level < depth)?;
                }
            }
        }
        generator.offsets(self);
        Ok(generator.new.finish()?.unwrap_or(empty))
    }
}

/// How many codes are compared one by one.
const COMPARED_CODES: usize = 16;

/// A function that a dispatcher leads to.
struct Target {
    /// The declaration of its wrapper.
    function: u32,
    /// The block that calls it.
    block: u32,
    /// What leads there.
    codes: Vec<u64>,
}

/// What dispatchers switch over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Codes, always, and one more for each function, which no object has. Without it, a driver aborts
    /// on some programs with barriers ("Could not find a dominating alternative variable"). These have
    /// a switch over numbers, or one with a single case for each block.
    Codes,
    /// Numbers of functions, where there are few codes.
    Numbers,
}

struct Generator<'m> {
    new: Editor<'m>,
    form: Form,
    /// What the default case of dispatchers calls.
    fault: Option<u32>,
}

impl Generator<'_> {
    fn header(&mut self) {
        self.new.kernel_header(&[
            Capability::Addresses,
            Capability::Linkage,
            Capability::Kernel,
            Capability::Int64,
            Capability::Int8,
        ]);
    }

    fn export(&mut self, id: u32, name: &str, linkage: LinkageType) {
        self.new.decorate_linkage(id, name, linkage);
        self.new.name(id, name);
    }

    /// The function that notes a fault: empty for now, see [`super::faults`].
    fn fault(&mut self) {
        let (void, ulong) = (self.new.void_type(), self.new.int_type(64));
        let ty = self.new.function_type(void, &[ulong]);
        let [id, code, label] = self.new_ids();
        let mut function = Code::new();
        function.push(Op::Function, &[void, id, FunctionControl::NONE.bits(), ty]);
        function.push(Op::FunctionParameter, &[ulong, code]);
        function.push(Op::Label, &[label]);
        function.push(Op::Return, &[]);
        function.push(Op::FunctionEnd, &[]);
        self.new.add_function(function);
        self.export(id, FAULT_FUNCTION, LinkageType::Export);
        self.fault = Some(id);
    }

    fn new_ids<const N: usize>(&mut self) -> [u32; N] {
        [(); N].map(|()| self.new.fresh_id())
    }

    /// All dispatchers of one level; `name` gives names their level.
    fn tables(&mut self, tables: &[Table], name: impl Fn(&str) -> String, known: bool) -> Result<()> {
        let mut wrappers: BTreeMap<&str, u32> = BTreeMap::new();
        for table in tables {
            let mut codes: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
            for (code, wrapper) in table.cases.iter().filter(|_| known) {
                codes.entry(wrapper).or_default().push(*code);
            }
            let signature = &table.dispatcher.signature;
            let targets: Vec<Target> = codes
                .into_iter()
                .map(|(wrapper, codes)| {
                    let declared = wrappers.get(wrapper).copied();
                    let function = declared.unwrap_or_else(|| {
                        let (result, parameters) = self.types(signature);
                        self.new.import(&name(wrapper), result, &parameters)
                    });
                    wrappers.insert(wrapper, function);
                    Target { function, block: self.new.fresh_id(), codes }
                })
                .collect();
            self.dispatcher(&name(&table.dispatcher.name), signature, &targets);
        }
        Ok(())
    }

    /// `result name(ulong code, parameters…)`, a switch over the functions.
    fn dispatcher(&mut self, name: &str, signature: &CallSignature, targets: &[Target]) {
        let (result, parameters) = self.types(signature);
        let (void, ulong) = (self.new.void_type(), self.new.int_type(64));
        let all = [&[ulong], parameters.as_slice()].concat();
        let ty = self.new.function_type(result, &all);
        let [id, entry, default] = self.new_ids();
        let mut function = Code::new();
        function.push(Op::Function, &[result, id, FunctionControl::NONE.bits(), ty]);
        let ids: Vec<u32> = all.iter().map(|_| self.new.fresh_id()).collect();
        for (ty, id) in all.iter().zip(&ids) {
            function.push(Op::FunctionParameter, &[*ty, *id]);
        }
        let (code, arguments) = ids.split_first().map_or((0, &[][..]), |(code, rest)| (*code, rest));
        function.push(Op::Label, &[entry]);
        self.branch(&mut function, code, targets, default);
        for target in targets {
            let value = self.new.fresh_id();
            function.push(Op::Label, &[target.block]);
            function.push(Op::FunctionCall, &[&[result, value, target.function], arguments].concat());
            self.leave(&mut function, signature, value);
        }
        function.push(Op::Label, &[default]);
        if let Some(fault) = self.fault {
            let nothing = self.new.fresh_id();
            function.push(Op::FunctionCall, &[void, nothing, fault, code]);
        }
        let value = self.zero(signature.result, result);
        self.leave(&mut function, signature, value);
        function.push(Op::FunctionEnd, &[]);
        self.new.add_function(function);
        self.export(id, name, LinkageType::Export);
    }

    /// Branches from a code to the block of its function, or to `default`.
    ///
    /// Few codes are first compared one by one. The switch is then over the number of the match. An
    /// object's code seldom changes within a loop, so compilers move the comparisons out of it, and
    /// a small switch stays inside. (With Intel's compiler a hot loop takes 1.10 times the time of
    /// a hand-written switch, instead of 1.44.) Many codes are switched over directly.
    fn branch(&mut self, function: &mut Code, code: u32, targets: &[Target], default: u32) {
        let count: usize = targets.iter().map(|target| target.codes.len()).sum();
        if count == 0 {
            return function.push(Op::Branch, &[default]);
        }
        let mut switch = vec![code, default];
        if count > COMPARED_CODES || self.form == Form::Codes {
            for target in targets {
                // Codes of slots end in three zeroes, those of functions in ones.
                let first = target.codes.first().filter(|_| self.form == Form::Codes);
                let second = first.map(|code| (code & !7) | 1);
                for code in target.codes.iter().copied().chain(second) {
                    switch.extend([code as u32, (code >> 32) as u32, target.block]);
                }
            }
            return function.push(Op::Switch, &switch);
        }
        let (uint, bool) = (self.new.int_type(32), self.new.bool_type());
        let mut number = self.new.int_constant(32, targets.len() as u64);
        for (index, target) in (0_u32..).zip(targets) {
            let own = self.new.int_constant(32, index.into());
            for literal in &target.codes {
                let literal = self.new.int_constant(64, *literal);
                let [equal, chosen] = self.new_ids();
                function.push(Op::IEqual, &[bool, equal, code, literal]);
                function.push(Op::Select, &[uint, chosen, equal, own, number]);
                number = chosen;
            }
            switch.extend([index, target.block]);
        }
        if let Some(selector) = switch.first_mut() {
            *selector = number;
        }
        function.push(Op::Switch, &switch);
    }

    /// The value of a call that reaches nothing. Translators do not take null constants of scalars.
    fn zero(&mut self, ty: CallType, id: u32) -> u32 {
        match ty {
            CallType::Void => 0,
            CallType::Bool => self.new.bool_constant(false),
            CallType::Int(bits) => self.new.int_constant(bits, 0),
            CallType::Float(bits) => self.new.float_constant(bits, 0),
            CallType::IntVector(..) | CallType::FloatVector(..) | CallType::Pointer(_) => {
                self.new.null_constant(id)
            }
        }
    }

    fn leave(&mut self, function: &mut Code, signature: &CallSignature, value: u32) {
        match signature.result {
            CallType::Void => function.push(Op::Return, &[]),
            _ => function.push(Op::ReturnValue, &[value]),
        }
    }

    /// `ulong __vfo_i64(ulong code)`, a switch over all offsets. A dead object has none; its calls
    /// are reported.
    fn offsets(&mut self, plan: &DispatchPlan) {
        let ulong = self.new.int_type(64);
        let ty = self.new.function_type(ulong, &[ulong]);
        let [id, code, entry, default] = self.new_ids();
        let mut function = Code::new();
        function.push(Op::Function, &[ulong, id, FunctionControl::NONE.bits(), ty]);
        function.push(Op::FunctionParameter, &[ulong, code]);
        function.push(Op::Label, &[entry]);
        let mut blocks = BTreeMap::new();
        let mut switch = vec![code, default];
        for (literal, value) in &plan.offsets {
            let block = *blocks.entry(*value).or_insert_with(|| self.new.fresh_id());
            switch.extend([*literal as u32, (*literal >> 32) as u32, block]);
        }
        match blocks.is_empty() {
            true => function.push(Op::Branch, &[default]),
            false => function.push(Op::Switch, &switch),
        }
        for (value, block) in blocks.into_iter().chain([(0, default)]) {
            let value = self.new.int_constant(64, value as u64);
            function.push(Op::Label, &[block]);
            function.push(Op::ReturnValue, &[value]);
        }
        function.push(Op::FunctionEnd, &[]);
        self.new.add_function(function);
        self.export(id, OFFSET_DISPATCHER, LinkageType::Export);
    }

    fn types(&mut self, signature: &CallSignature) -> (u32, Vec<u32>) {
        let result = type_of(&mut self.new, signature.result);
        (result, signature.parameters.iter().map(|parameter| type_of(&mut self.new, *parameter)).collect())
    }
}
