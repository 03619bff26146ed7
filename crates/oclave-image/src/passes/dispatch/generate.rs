//! The module with the dispatchers of a program.

use super::faults::FAULT_FUNCTION;
use super::plan::{DispatchPlan, Table};
use crate::Result;
use crate::spirv::{
    AddressingModel, Capability, Code, Definitions, FunctionControl, LinkageType, MemoryModel, Module, Op,
    Rewriter, Section, Version,
};
use crate::virtual_functions::{CallSignature, CallType, OFFSET_DISPATCHER};

impl DispatchPlan {
    /// A module that exports the dispatchers and imports the wrappers that they lead to.
    ///
    /// # Errors
    /// As [`Rewriter::finish`].
    pub(super) fn generate(&self, report_faults: bool) -> Result<Module> {
        let empty = Module::from_words(vec![::spirv::MAGIC_NUMBER, Version::V1_0.word(), 0, 1, 0])?;
        let definitions = Definitions::new(&empty);
        let mut generator = Generator { new: Rewriter::new(&definitions), fault: None };
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
        generator.new.finish()
    }
}

struct Generator<'m> {
    new: Rewriter<'m>,
    /// What the default case of dispatchers calls.
    fault: Option<u32>,
}

impl Generator<'_> {
    fn header(&mut self) {
        for capability in [
            Capability::Addresses,
            Capability::Linkage,
            Capability::Kernel,
            Capability::Int64,
            Capability::Int8,
        ] {
            self.new.capability(capability);
        }
        let model = [AddressingModel::Physical64 as u32, MemoryModel::OpenCL as u32];
        self.new.push_in(Section::MemoryModel, Op::MemoryModel, &model);
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
        let mut wrappers = std::collections::BTreeMap::new();
        for table in tables {
            let mut cases = Vec::new();
            for (code, wrapper) in table.cases.iter().filter(|_| known) {
                let id = match wrappers.get(wrapper) {
                    Some(id) => *id,
                    None => {
                        let id = self.declare(&name(wrapper), &table.dispatcher.signature);
                        wrappers.insert(wrapper.clone(), id);
                        id
                    }
                };
                cases.push((*code, id));
            }
            self.dispatcher(&name(&table.dispatcher.name), &table.dispatcher.signature, &cases);
        }
        Ok(())
    }

    /// Imports a wrapper.
    fn declare(&mut self, name: &str, signature: &CallSignature) -> u32 {
        let (result, parameters) = self.types(signature);
        let ty = self.new.function_type(result, &parameters);
        let id = self.new.fresh_id();
        let mut function = Code::new();
        function.push(Op::Function, &[result, id, FunctionControl::NONE.bits(), ty]);
        for parameter in parameters {
            let id = self.new.fresh_id();
            function.push(Op::FunctionParameter, &[parameter, id]);
        }
        function.push(Op::FunctionEnd, &[]);
        self.new.add_function(function);
        self.export(id, name, LinkageType::Import);
        id
    }

    /// `result name(ulong code, parameters…)`, a switch over the codes.
    fn dispatcher(&mut self, name: &str, signature: &CallSignature, cases: &[(u64, u32)]) {
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
        // One block for each function, however many codes lead there.
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        let mut switch = vec![code, default];
        for &(literal, wrapper) in cases {
            let block = match blocks.iter().find(|(of, _)| *of == wrapper) {
                Some((_, block)) => *block,
                None => {
                    let block = self.new.fresh_id();
                    blocks.push((wrapper, block));
                    block
                }
            };
            switch.extend([literal as u32, (literal >> 32) as u32, block]);
        }
        match cases {
            [] => function.push(Op::Branch, &[default]),
            _ => function.push(Op::Switch, &switch),
        }
        for (wrapper, block) in blocks {
            let value = self.new.fresh_id();
            function.push(Op::Label, &[block]);
            function.push(Op::FunctionCall, &[&[result, value, wrapper], arguments].concat());
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

    /// The value of a call that reaches nothing. Translators do not take null constants of scalars.
    fn zero(&mut self, ty: CallType, id: u32) -> u32 {
        match ty {
            CallType::Void => 0,
            CallType::Bool => self.new.intern(Op::ConstantFalse, &[id]),
            CallType::Int(bits) => self.new.int_constant(bits, 0),
            CallType::Float(64) => self.new.intern(Op::Constant, &[id, 0, 0]),
            CallType::Float(_) => self.new.intern(Op::Constant, &[id, 0]),
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

    /// `ulong __vfo_i64(ulong code)`, a switch over all offsets. A dead object has none; its calls are reported.
    fn offsets(&mut self, plan: &DispatchPlan) {
        let ulong = self.new.int_type(64);
        let ty = self.new.function_type(ulong, &[ulong]);
        let [id, code, entry, default] = self.new_ids();
        let mut function = Code::new();
        function.push(Op::Function, &[ulong, id, FunctionControl::NONE.bits(), ty]);
        function.push(Op::FunctionParameter, &[ulong, code]);
        function.push(Op::Label, &[entry]);
        let mut blocks = std::collections::BTreeMap::new();
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
        let result = self.ty(signature.result);
        (result, signature.parameters.iter().map(|parameter| self.ty(*parameter)).collect())
    }

    fn ty(&mut self, ty: CallType) -> u32 {
        match ty {
            CallType::Void => self.new.void_type(),
            CallType::Bool => self.new.bool_type(),
            CallType::Int(bits) => self.int(bits),
            CallType::Float(bits) => self.float(bits),
            CallType::IntVector(lanes, bits) => {
                let component = self.int(bits);
                self.vector(component, lanes)
            }
            CallType::FloatVector(lanes, bits) => {
                let component = self.float(bits);
                self.vector(component, lanes)
            }
            CallType::Pointer(class) => {
                if class == crate::spirv::StorageClass::Generic {
                    self.new.capability(Capability::GenericPointer);
                }
                let byte = self.new.int_type(8);
                self.new.pointer_type(class, byte)
            }
        }
    }

    fn int(&mut self, bits: u32) -> u32 {
        if bits == 16 {
            self.new.capability(Capability::Int16);
        }
        self.new.int_type(bits)
    }

    fn float(&mut self, bits: u32) -> u32 {
        match bits {
            16 => self.new.capability(Capability::Float16),
            64 => self.new.capability(Capability::Float64),
            _ => {}
        }
        self.new.float_type(bits)
    }

    fn vector(&mut self, component: u32, lanes: u32) -> u32 {
        if lanes > 4 {
            self.new.capability(Capability::Vector16);
        }
        self.new.vector_type(component, lanes)
    }
}
