//! The pass: each `printf` becomes a record in a buffer.

use std::collections::{BTreeMap, BTreeSet};

use super::reserve::{ALIGNED, add_reserve};
use super::{MOST_SITES, PRINTS, PrintArgument, PrintBuffer, PrintSite};
use crate::{DeviceGlobalInfo, DeviceImage, HostAccess, ImageError, Result};
use oclave_spirv::analysis::references::References;
use oclave_spirv::{
    Capability, Definitions, Instruction, LinkageType, Module, Op, Rewriter, Section, StorageClass, Type,
    TypeTable, Version, is_access_chain,
};

/// `printf` in OpenCL's extended instructions.
const PRINTF: u32 = 184;
/// Acquire and release, of memory that all work-items share.
const ACQUIRE_RELEASE: u64 = 0x208;
/// The scope of atomics.
const DEVICE: u64 = 1;

/// What [`lower_printf`] makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printing {
    /// The image, with [`PRINTS`] among its device globals.
    pub image: DeviceImage,
    /// By the numbers in headers of records.
    pub sites: Vec<PrintSite>,
}

/// Whether a module has a `printf`.
pub fn prints(module: &Module) -> bool {
    let definitions = Definitions::new(module);
    let set = definitions.opencl_std();
    module.instructions().any(|instruction| is_printf(&instruction, set))
}

/// Makes the kernels of an image print to the buffer that [`PRINTS`] points to; `None` where there
/// is no `printf`. Records hold `key`, which tells them from those of other modules.
///
/// # Errors
/// [`ImageError::Unsupported`] for formats that are no string literals, and for arguments that no
/// conversion takes; [`ImageError::Spirv`] for malformed modules.
pub fn lower_printf(image: &DeviceImage, key: u64) -> Result<Option<Printing>> {
    let module = Module::from_words(image.spirv.clone())?;
    let definitions = Definitions::new(&module);
    let Some(set) = definitions.opencl_std().filter(|_| prints(&module)) else { return Ok(None) };
    let references = References::new(&definitions);
    let printing = printing_functions(&module, set);
    let mut pass = Lower {
        set,
        debug: BTreeSet::new(),
        types: TypeTable::new(&definitions),
        new: Rewriter::new(&definitions),
        kernels: only_kernels(&references, &printing),
        key,
        sites: Vec::new(),
        variable: 0,
        reserve: 0,
        function: 0,
        line: None,
    };
    pass.begin();
    for instruction in module.instructions() {
        pass.instruction(&instruction)?;
    }
    pass.new.capability(Capability::Int64);
    let Lower { new, sites, .. } = pass;
    let spirv = new.finish()?.into_words();
    let mut image = DeviceImage { spirv, ..image.clone() };
    image.insert_device_global(&global());
    let users = references.users(&printing);
    let entries = references.entry_points().iter().filter(|entry| users.contains(&entry.function));
    let names: BTreeSet<&str> = entries.map(|entry| entry.name.as_str()).collect();
    for kernel in image.kernels.iter_mut().filter(|kernel| names.contains(kernel.name.as_str())) {
        kernel.device_globals.push(PRINTS.to_owned());
        kernel.device_globals.sort();
    }
    Ok(Some(Printing { image, sites }))
}

/// [`PRINTS`] as images declare device globals.
fn global() -> DeviceGlobalInfo {
    DeviceGlobalInfo {
        id: PRINTS.to_owned(),
        size_bytes: (PrintBuffer::WORDS * size_of::<u32>()) as u32,
        host_access: HostAccess::None,
        ..DeviceGlobalInfo::default()
    }
}

pub(super) fn is_printf(instruction: &Instruction<'_>, set: Option<u32>) -> bool {
    instruction.is(Op::ExtInst)
        && set.is_some()
        && instruction.operand(0) == set
        && instruction.operand(1) == Some(PRINTF)
}

fn printing_functions(module: &Module, set: u32) -> BTreeSet<u32> {
    let mut function = 0;
    let mut found = BTreeSet::new();
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            function = instruction.result_id().unwrap_or(0);
        }
        if is_printf(&instruction, Some(set)) {
            found.insert(function);
        }
    }
    found
}

/// The kernel that gets to a function, for functions that only one gets to.
fn only_kernels(references: &References<'_>, functions: &BTreeSet<u32>) -> BTreeMap<u32, String> {
    let only = |function: &u32| {
        let users = references.users(&BTreeSet::from([*function]));
        let mut kernels = references.entry_points().iter().filter(|entry| users.contains(&entry.function));
        match (kernels.next(), kernels.next()) {
            (Some(one), None) => Some((*function, one.name.clone())),
            _ => None,
        }
    };
    functions.iter().filter_map(only).collect()
}

struct Lower<'m> {
    /// The import of OpenCL's instructions.
    set: u32,
    /// The imports of instructions about the source. Few drivers take them, and lines are read here.
    debug: BTreeSet<u32>,
    types: TypeTable<'m>,
    new: Rewriter<'m>,
    kernels: BTreeMap<u32, String>,
    key: u64,
    sites: Vec<PrintSite>,
    /// Holds the buffer's address.
    variable: u32,
    reserve: u32,
    function: u32,
    line: Option<(u32, u32)>,
}

impl Lower<'_> {
    /// Adds the variable and the function.
    fn begin(&mut self) {
        let to = self.buffer_type();
        let place = self.new.pointer_type(StorageClass::CrossWorkgroup, to);
        let null = self.new.null_constant(to);
        self.variable = self.new.fresh_id();
        let class = StorageClass::CrossWorkgroup as u32;
        self.new.push_in(Section::Types, Op::Variable, &[place, self.variable, class, null]);
        self.new.decorate_linkage(self.variable, PRINTS, LinkageType::Export);
        self.new.name(self.variable, PRINTS);
        self.reserve = add_reserve(&mut self.new, self.variable);
    }

    fn buffer_type(&mut self) -> u32 {
        let uint = self.new.int_type(32);
        self.new.pointer_type(StorageClass::CrossWorkgroup, uint)
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::EntryPoint), operands)
                if self.new.definitions().module().version() >= Version::V1_4 =>
            {
                self.new.replace(instruction, Op::EntryPoint, &[operands, &[self.variable]].concat());
                return Ok(());
            }
            (Some(Op::ExtInstImport), _) if is_debug_set(instruction) => {
                self.debug.extend(instruction.result_id());
                return Ok(());
            }
            (Some(Op::ExtInst), [set, ..]) if self.debug.contains(set) => return Ok(()),
            (Some(Op::Function), _) => self.function = instruction.result_id().unwrap_or(0),
            (Some(Op::Line), &[file, line, ..]) => self.line = Some((file, line)),
            (Some(Op::NoLine | Op::Label | Op::FunctionEnd), _) => self.line = None,
            (Some(Op::ExtInst), [_, _, format, arguments @ ..]) if is_printf(instruction, Some(self.set)) => {
                return self.print(instruction, *format, arguments);
            }
            _ => {}
        }
        self.new.copy(instruction);
        Ok(())
    }

    fn print(&mut self, instruction: &Instruction<'_>, format: u32, arguments: &[u32]) -> Result<()> {
        let unsupported = |what: &str| ImageError::Unsupported(format!("printf to the program: {what}"));
        let format = text(self.new.definitions(), format)
            .ok_or_else(|| unsupported("the format is no string literal"))?;
        let strings = strings_of(&format);
        let mut values: Vec<u32> = Vec::new();
        let mut described = Vec::new();
        for (at, &argument) in arguments.iter().enumerate() {
            let is_string = strings.get(at).is_some_and(|is_string| *is_string);
            described.push(self.argument(argument, is_string, &mut values).map_err(unsupported)?);
        }
        let words = PrintBuffer::RECORD_HEADER + values.len();
        let site = self.sites.len();
        if words > PrintBuffer::LONGEST || site >= MOST_SITES {
            return Err(unsupported("arguments of more than 4 KiB, or too many calls in one module"));
        }
        let key = [self.key as u32, (self.key >> 32) as u32].map(u64::from);
        let key = key.map(|word| self.new.int_constant(32, word));
        self.record(instruction, PrintBuffer::header(site, words), &[&key, values.as_slice()].concat());
        self.sites.push(PrintSite {
            format,
            arguments: described,
            kernel: self.kernels.get(&self.function).cloned(),
            source: self.source(),
        });
        Ok(())
    }

    /// File and line of the current instruction.
    fn source(&self) -> Option<(String, u32)> {
        let (file, line) = self.line?;
        let file = self.new.definitions().instruction(file).filter(|file| file.is(Op::String))?;
        Some((file.string(0)?.into_owned(), line))
    }

    /// Writes the words of a record to a place of their own, the header last.
    fn record(&mut self, instruction: &Instruction<'_>, header: u32, words: &[u32]) {
        let (uint, bool, pointer) = (self.new.int_type(32), self.new.bool_type(), self.buffer_type());
        let count = self.new.int_constant(32, words.len() as u64 + 1);
        let [base, at] = [(); 2].map(|()| self.new.fresh_id());
        self.new.push(Op::Load, &[pointer, base, self.variable, ALIGNED, 8]);
        self.new.push(Op::FunctionCall, &[uint, at, self.reserve, count]);
        for (index, word) in (1_u64..).zip(words) {
            let index = self.new.int_constant(32, index);
            let [place, to] = [(); 2].map(|()| self.new.fresh_id());
            self.new.push(Op::IAdd, &[uint, place, at, index]);
            self.new.push(Op::InBoundsPtrAccessChain, &[pointer, to, base, place]);
            self.new.push(Op::Store, &[to, *word, ALIGNED, 4]);
        }
        let [device, order, header, nowhere, zero, failed] =
            [DEVICE, ACQUIRE_RELEASE, u64::from(header), PrintBuffer::NOWHERE as u64, 0, 0xffff_ffff]
                .map(|value| self.new.int_constant(32, value));
        let [first, old, lost] = [(); 3].map(|()| self.new.fresh_id());
        self.new.push(Op::InBoundsPtrAccessChain, &[pointer, first, base, at]);
        self.new.push(Op::AtomicExchange, &[uint, old, first, device, order, header]);
        self.new.push(Op::IEqual, &[bool, lost, at, nowhere]);
        // What printf returns: 0, or -1 when it failed.
        if let (Some(ty), Some(id)) = (instruction.result_type(), instruction.result_id()) {
            self.new.replace(instruction, Op::Select, &[ty, id, lost, failed, zero]);
        }
    }

    /// Describes an argument, and adds the words that hold it.
    fn argument(
        &mut self,
        argument: u32,
        is_string: bool,
        words: &mut Vec<u32>,
    ) -> Result<PrintArgument, &'static str> {
        let refused = "an argument that is no number, vector, pointer or string literal";
        let definitions = self.new.definitions();
        let ty = definitions.type_of(argument).ok_or(refused)?;
        match self.types.ty(ty).ok_or(refused)? {
            Type::Pointer { .. } if is_string => {
                text(definitions, argument).map(PrintArgument::Text).ok_or("a `%s` of no string literal")
            }
            Type::Pointer { .. } => {
                let (ulong, address) = (self.new.int_type(64), self.new.fresh_id());
                self.new.push(Op::ConvertPtrToU, &[ulong, address, argument]);
                self.halves(address, words);
                Ok(PrintArgument::Pointer)
            }
            Type::Vector { component, count } => {
                let kind = self.types.ty(component).ok_or(refused)?;
                for lane in 0..count {
                    let id = self.new.fresh_id();
                    self.new.push(Op::CompositeExtract, &[component, id, argument, lane]);
                    self.number(id, kind, words).ok_or(refused)?;
                }
                describe(kind, count).ok_or(refused)
            }
            kind => {
                self.number(argument, kind, words).ok_or(refused)?;
                describe(kind, 1).ok_or(refused)
            }
        }
    }

    /// Adds the words of a number.
    fn number(&mut self, value: u32, kind: Type<'_>, words: &mut Vec<u32>) -> Option<()> {
        let (uint, ulong) = (self.new.int_type(32), self.new.int_type(64));
        let bits = self.new.fresh_id();
        match kind {
            Type::Int { width: 32 } => words.push(value),
            Type::Int { width: 8 | 16 } => {
                self.new.push(Op::UConvert, &[uint, bits, value]);
                words.push(bits);
            }
            Type::Int { width: 64 } => self.halves(value, words),
            Type::Float { width: 16 } => {
                self.new.capability(Capability::Int16);
                let (ushort, short) = (self.new.int_type(16), self.new.fresh_id());
                self.new.push(Op::Bitcast, &[ushort, short, value]);
                self.new.push(Op::UConvert, &[uint, bits, short]);
                words.push(bits);
            }
            Type::Float { width: 32 } => {
                self.new.push(Op::Bitcast, &[uint, bits, value]);
                words.push(bits);
            }
            Type::Float { width: 64 } => {
                self.new.push(Op::Bitcast, &[ulong, bits, value]);
                self.halves(bits, words);
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds the two words of 64 bits.
    fn halves(&mut self, value: u32, words: &mut Vec<u32>) {
        let (uint, ulong) = (self.new.int_type(32), self.new.int_type(64));
        let by = self.new.int_constant(64, 32);
        let [low, shifted, high] = [(); 3].map(|()| self.new.fresh_id());
        self.new.push(Op::UConvert, &[uint, low, value]);
        self.new.push(Op::ShiftRightLogical, &[ulong, shifted, value, by]);
        self.new.push(Op::UConvert, &[uint, high, shifted]);
        words.extend([low, high]);
    }
}

fn is_debug_set(import: &Instruction<'_>) -> bool {
    import.string(0).is_some_and(|name| name.contains("DebugInfo"))
}

fn describe(kind: Type<'_>, lanes: u32) -> Option<PrintArgument> {
    match kind {
        Type::Int { width } => Some(PrintArgument::Integer { width, lanes }),
        Type::Float { width } => Some(PrintArgument::Float { width, lanes }),
        _ => None,
    }
}

/// Which arguments a format takes for strings.
fn strings_of(format: &[u8]) -> Vec<bool> {
    super::convert::Piece::all(format)
        .filter_map(|piece| match piece {
            super::convert::Piece::Conversion(conversion) => Some(conversion.letter == b's'),
            super::convert::Piece::Text(_) => None,
        })
        .collect()
}

/// The characters of a string literal that a pointer is of, up to its zero.
fn text(definitions: &Definitions<'_>, mut pointer: u32) -> Option<Vec<u8>> {
    let mut offset = 0_u64;
    for _ in 0..16 {
        let definition = definitions.instruction(pointer)?;
        let (op, operands) = match (definition.op()?, definition.operands()) {
            (Op::SpecConstantOp, [op, operands @ ..]) => (Op::from_u32(*op)?, operands),
            other => other,
        };
        if op == Op::Variable {
            let bytes = bytes_of(definitions, definition.operand(1)?)?;
            let mut bytes = bytes.get(usize::try_from(offset).ok()?..)?.to_vec();
            bytes.truncate(bytes.iter().position(|byte| *byte == 0)?);
            return Some(bytes);
        }
        let indices = match operands {
            [_, indices @ ..] if is_access_chain(op) => indices,
            [_] if matches!(
                op,
                Op::Bitcast | Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::CopyObject
            ) =>
            {
                &[]
            }
            _ => return None,
        };
        for &index in indices {
            offset = offset.checked_add(definitions.int_constant(index)?)?;
        }
        pointer = *operands.first()?;
    }
    None
}

fn bytes_of(definitions: &Definitions<'_>, constant: u32) -> Option<Vec<u8>> {
    let definition = definitions.instruction(constant)?;
    match definition.op()? {
        Op::ConstantNull => Some(vec![0]),
        Op::ConstantComposite => {
            let byte = |id: &u32| u8::try_from(definitions.int_constant(*id)?).ok();
            definition.operands().iter().map(byte).collect()
        }
        _ => None,
    }
}
