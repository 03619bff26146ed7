//! The modules of several crates, linked by the names of their symbols.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::llvm::metadata::Place;
use crate::llvm::parser;
use crate::llvm::tree::{Function, Global, Instruction, Module};
use crate::objects::{self, Set};
use crate::{Error, Result, Text};

/// A symbol, and the module in which it is looked up first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol {
    pub(crate) module: usize,
    pub(crate) name: Rc<str>,
}

/// All modules.
#[derive(Debug)]
pub(crate) struct Program {
    modules: Vec<Module>,
    /// Symbols that modules show to each other.
    functions: BTreeMap<Rc<str>, usize>,
    globals: BTreeMap<Rc<str>, usize>,
    /// The names of device globals.
    device_globals: BTreeSet<Rc<str>>,
    /// The classes of each trait whose objects kernels share, by what these have in common.
    sets: BTreeMap<Rc<str>, Set>,
}

impl Program {
    pub(crate) fn read(texts: &[Text<'_>]) -> Result<Self> {
        let modules: Vec<Module> =
            texts.iter().map(|text| parser::parse(text.name, text.ir)).collect::<Result<_>>()?;
        let (mut functions, mut globals) = (BTreeMap::new(), BTreeMap::new());
        for (index, module) in modules.iter().enumerate() {
            for function in module.functions.values().filter(|f| !f.blocks.is_empty() && !f.is_internal) {
                if let Some(kernel) = function.name.strip_prefix(crate::kernels::ENTRY)
                    && let Some(other) = functions.get(&function.name)
                {
                    let of = |index: usize| texts.get(index).map_or("", |text| text.name);
                    return Err(Error::Link(format!(
                        "the kernel `{kernel}` is in {} and in {}; rename one, or compile them as two programs",
                        of(*other),
                        of(index)
                    )));
                }
                // Generic functions that two crates instantiated are equal.
                functions.entry(function.name.clone()).or_insert(index);
            }
            for global in module.globals.values().filter(|g| g.value.is_some() && !g.is_internal) {
                globals.entry(global.name.clone()).or_insert(index);
            }
        }
        let names = globals.keys().filter_map(|name: &Rc<str>| name.strip_prefix(crate::kernels::GLOBAL));
        let device_globals = names.map(Rc::from).collect();
        let mut program = Self { modules, functions, globals, device_globals, sets: BTreeMap::new() };
        program.sets = objects::sets(&program)?;
        program.insert_tables();
        Ok(program)
    }

    /// Makes a constant of the tables of each set, and lets functions address it.
    fn insert_tables(&mut self) {
        for set in self.sets.values() {
            if let Some(module) = self.modules.first_mut() {
                module.globals.insert(Rc::clone(&set.table.name), Rc::clone(&set.table));
                self.globals.insert(Rc::clone(&set.table.name), 0);
            }
        }
        for module in &mut self.modules {
            for function in module.functions.values_mut() {
                objects::address_tables(&self.sets, function);
            }
        }
    }

    /// The classes of a trait.
    pub(crate) fn set(&self, name: &str) -> Option<&Set> {
        self.sets.get(name)
    }

    /// The tables of a set, if a name is that of their constant.
    pub(crate) fn tables(&self, name: &str) -> Option<&Set> {
        self.sets.get(name.strip_prefix(objects::TABLES)?)
    }

    /// The definition of a function that a module names.
    pub(crate) fn function(&self, module: usize, name: &str) -> Option<(Symbol, Rc<Function>)> {
        let own =
            self.modules.get(module)?.functions.get(name).filter(|function| !function.blocks.is_empty());
        let (module, function) = match own {
            Some(function) => (module, function),
            None => {
                let module = *self.functions.get(name)?;
                (module, self.modules.get(module)?.functions.get(name)?)
            }
        };
        Some((Symbol { module, name: function.name.clone() }, Rc::clone(function)))
    }

    /// A function that modules show to each other.
    pub(crate) fn exported(&self, name: &str) -> Option<(Symbol, Rc<Function>)> {
        self.function(*self.functions.get(name)?, name)
    }

    /// Whether a name of a module is that of a function, defined or declared.
    pub(crate) fn is_function(&self, module: usize, name: &str) -> bool {
        self.modules.get(module).is_some_and(|module| module.functions.contains_key(name))
    }

    /// The definition of a variable that a module names.
    pub(crate) fn global(&self, module: usize, name: &str) -> Option<(Symbol, Rc<Global>)> {
        let own = self.modules.get(module)?.globals.get(name).filter(|global| global.value.is_some());
        let (module, global) = match own {
            Some(global) => (module, global),
            None => {
                let module = *self.globals.get(name)?;
                (module, self.modules.get(module)?.globals.get(name)?)
            }
        };
        Some((Symbol { module, name: global.name.clone() }, Rc::clone(global)))
    }

    /// Whether a name is that of a device global.
    pub(crate) fn is_device_global(&self, name: &str) -> bool {
        self.device_globals.contains(name)
    }

    /// The variables whose names begin with a prefix, by name.
    pub(crate) fn globals_with(&self, prefix: &str) -> Vec<Symbol> {
        let mut found: Vec<Symbol> = self
            .globals
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(name, module)| Symbol { module: *module, name: Rc::clone(name) })
            .collect();
        found.sort();
        found
    }

    /// The functions whose names begin with a prefix, in the order of their names.
    pub(crate) fn functions_with(&self, prefix: &str) -> Vec<(Symbol, Rc<Function>)> {
        let mut found: Vec<_> = self
            .functions
            .keys()
            .filter(|name| name.starts_with(prefix))
            .filter_map(|name| self.function(*self.functions.get(name)?, name))
            .collect();
        found.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        found
    }

    /// Where an instruction of a function stands, the innermost inlined call first.
    pub(crate) fn places(&self, module: usize, instruction: &Instruction) -> Vec<Place> {
        let metadata = self.modules.get(module).map(|module| &module.metadata);
        metadata.zip(instruction.debug).map(|(metadata, id)| metadata.places(id)).unwrap_or_default()
    }

    /// Where a function begins.
    pub(crate) fn place(&self, module: usize, function: &Function) -> Option<Place> {
        self.modules.get(module)?.metadata.function(function.debug?)
    }

    /// The error for an instruction of a function.
    pub(crate) fn unsupported(
        &self,
        symbol: &Symbol,
        function: &Function,
        instruction: Option<&Instruction>,
        what: impl Into<String>,
        remedy: &'static str,
    ) -> Error {
        let mut places = instruction.map(|i| self.places(symbol.module, i)).unwrap_or_default();
        if places.is_empty() {
            places.extend(self.place(symbol.module, function));
        }
        let function =
            crate::demangle::path(symbol.name.strip_prefix(crate::kernels::ENTRY).unwrap_or(&symbol.name));
        Error::Unsupported { function, places, what: what.into(), remedy }
    }
}
