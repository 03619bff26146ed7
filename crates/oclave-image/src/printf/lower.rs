//! The pass: each `printf` becomes a record in a buffer.

use std::collections::{BTreeMap, BTreeSet};

use super::reserve::add_reserve;
use super::{MOST_SITES, PRINTS, PrintArgument, PrintBuffer, PrintSite};
use crate::{DeviceGlobalInfo, DeviceImage, HostAccess, ImageError, Result};
use oclave_spirv::analysis::references::References;
use oclave_spirv::{
    ALIGNED, Capability, Cursor, Declarations, Definitions, Editor, Instruction, LinkageType, Module, Op,
    StorageClass, Type, TypeTable, Version, is_access_chain,
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
    let calls = calls(&definitions, set);
    let printing = calls.iter().filter_map(|call| definitions.function_of(&call.instruction)).collect();
    let kernels = only_kernels(&references, &printing);
    let mut edit = Editor::new(&definitions);
    let variable = add_variable(&mut edit);
    if module.version() >= Version::V1_4 {
        edit.add_to_interfaces(variable);
    }
    // The function stands before all others with blocks.
    let block = module.instructions().find(|i| i.is(Op::Label));
    let first = block.and_then(|block| definitions.instruction(definitions.function_of(&block)?));
    let Some(first) = first else { return Ok(None) };
    let reserve = add_reserve(&mut edit.before(&first), variable);
    let lower = Lower { types: TypeTable::new(&definitions), key, variable, reserve };
    let mut sites = Vec::new();
    for call in &calls {
        let function = definitions.function_of(&call.instruction);
        let (format, arguments) =
            lower.print(&mut edit.instead_of(&call.instruction), &call.instruction, sites.len())?;
        let kernel = function.and_then(|function| kernels.get(&function).cloned());
        sites.push(PrintSite { format, arguments, kernel, source: call.source(&definitions) });
    }
    edit.capability(Capability::Int64);
    let Some(spirv) = edit.finish()?.map(Module::into_words) else { return Ok(None) };
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

/// A `printf`, with file and line of the source.
struct Call<'m> {
    instruction: Instruction<'m>,
    line: Option<(u32, u32)>,
}

impl Call<'_> {
    fn source(&self, definitions: &Definitions<'_>) -> Option<(String, u32)> {
        let (file, line) = self.line?;
        let file = definitions.instruction(file).filter(|file| file.is(Op::String))?;
        Some((file.string(0)?.into_owned(), line))
    }
}

fn calls<'m>(definitions: &Definitions<'m>, set: u32) -> Vec<Call<'m>> {
    let mut line = None;
    let mut found = Vec::new();
    for instruction in definitions.module().instructions() {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Line), &[file, number, ..]) => line = Some((file, number)),
            (Some(Op::NoLine | Op::Label | Op::FunctionEnd), _) => line = None,
            _ if is_printf(&instruction, Some(set)) => found.push(Call { instruction, line }),
            _ => {}
        }
    }
    found
}

fn buffer_type(new: &mut Declarations<'_>) -> u32 {
    let uint = new.int_type(32);
    new.pointer_type(StorageClass::CrossWorkgroup, uint)
}

/// Adds the variable that holds the buffer's address.
fn add_variable(new: &mut Declarations<'_>) -> u32 {
    let (to, class) = (buffer_type(new), StorageClass::CrossWorkgroup);
    let (place, null) = (new.pointer_type(class, to), new.null_constant(to));
    let variable = new.module_variable(place, class, Some(null));
    new.decorate_linkage(variable, PRINTS, LinkageType::Export);
    new.name(variable, PRINTS);
    variable
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
    types: TypeTable<'m>,
    key: u64,
    /// Holds the buffer's address.
    variable: u32,
    reserve: u32,
}

impl Lower<'_> {
    /// Writes the record of a `printf`. Gives the format, and what the arguments are.
    fn print(
        &self,
        to: &mut Cursor<'_, '_>,
        call: &Instruction<'_>,
        site: usize,
    ) -> Result<(Vec<u8>, Vec<PrintArgument>)> {
        let unsupported = |what: &str| ImageError::Unsupported(format!("printf to the program: {what}"));
        let &[_, _, format, ref arguments @ ..] = call.operands() else {
            return Err(unsupported("it has no format"));
        };
        let format =
            text(to.definitions(), format).ok_or_else(|| unsupported("the format is no string literal"))?;
        let strings = strings_of(&format);
        let mut words: Vec<u32> = Vec::new();
        let mut described = Vec::new();
        for (at, &argument) in arguments.iter().enumerate() {
            let is_string = strings.get(at).is_some_and(|is_string| *is_string);
            described.push(self.argument(to, argument, is_string, &mut words).map_err(unsupported)?);
        }
        let length = PrintBuffer::RECORD_HEADER + words.len();
        if length > PrintBuffer::LONGEST || site >= MOST_SITES {
            return Err(unsupported("arguments of more than 4 KiB, or too many calls in one module"));
        }
        let key = [self.key as u32, (self.key >> 32) as u32];
        let key = key.map(|word| to.int_constant(32, word.into()));
        self.record(to, call, PrintBuffer::header(site, length), &[&key, words.as_slice()].concat());
        Ok((format, described))
    }

    /// Writes the words of a record to a place of their own, the header last.
    fn record(&self, to: &mut Cursor<'_, '_>, call: &Instruction<'_>, header: u32, words: &[u32]) {
        let (uint, bool, pointer) = (to.int_type(32), to.bool_type(), buffer_type(to));
        let count = to.int_constant(32, words.len() as u64 + 1);
        let base = to.emit(Op::Load, pointer, &[self.variable, ALIGNED, 8]);
        let at = to.emit(Op::FunctionCall, uint, &[self.reserve, count]);
        for (index, word) in (1_u64..).zip(words) {
            let index = to.int_constant(32, index);
            let place = to.emit(Op::IAdd, uint, &[at, index]);
            let place = to.emit(Op::InBoundsPtrAccessChain, pointer, &[base, place]);
            to.push(Op::Store, &[place, *word, ALIGNED, 4]);
        }
        let [device, order, header, nowhere, zero, failed] =
            [DEVICE, ACQUIRE_RELEASE, u64::from(header), PrintBuffer::NOWHERE as u64, 0, 0xffff_ffff]
                .map(|value| to.int_constant(32, value));
        let first = to.emit(Op::InBoundsPtrAccessChain, pointer, &[base, at]);
        to.emit(Op::AtomicExchange, uint, &[first, device, order, header]);
        let lost = to.emit(Op::IEqual, bool, &[at, nowhere]);
        // What printf returns: 0, or -1 when it failed.
        if let (Some(ty), Some(id)) = (call.result_type(), call.result_id()) {
            to.push(Op::Select, &[ty, id, lost, failed, zero]);
        }
    }

    /// Describes an argument, and adds the words that hold it.
    fn argument(
        &self,
        to: &mut Cursor<'_, '_>,
        argument: u32,
        is_string: bool,
        words: &mut Vec<u32>,
    ) -> Result<PrintArgument, &'static str> {
        let refused = "an argument that is no number, vector, pointer or string literal";
        let definitions = to.definitions();
        let ty = definitions.type_of(argument).ok_or(refused)?;
        match self.types.ty(ty).ok_or(refused)? {
            Type::Pointer { .. } if is_string => {
                text(definitions, argument).map(PrintArgument::Text).ok_or("a `%s` of no string literal")
            }
            Type::Pointer { .. } => {
                let ulong = to.int_type(64);
                let address = to.emit(Op::ConvertPtrToU, ulong, &[argument]);
                words.extend(halves(to, address));
                Ok(PrintArgument::Pointer)
            }
            Type::Vector { component, count } => {
                let kind = self.types.ty(component).ok_or(refused)?;
                for lane in 0..count {
                    let lane = to.emit(Op::CompositeExtract, component, &[argument, lane]);
                    number(to, lane, kind, words).ok_or(refused)?;
                }
                describe(kind, count).ok_or(refused)
            }
            kind => {
                number(to, argument, kind, words).ok_or(refused)?;
                describe(kind, 1).ok_or(refused)
            }
        }
    }
}

/// Adds the words of a number.
fn number(to: &mut Cursor<'_, '_>, value: u32, kind: Type<'_>, words: &mut Vec<u32>) -> Option<()> {
    let uint = to.int_type(32);
    match kind {
        Type::Int { width: 32 } => words.push(value),
        Type::Int { width: 8 | 16 } => words.push(to.emit(Op::UConvert, uint, &[value])),
        Type::Int { width: 64 } => words.extend(halves(to, value)),
        Type::Float { width: 16 } => {
            let ushort = to.int_type(16);
            let short = to.emit(Op::Bitcast, ushort, &[value]);
            words.push(to.emit(Op::UConvert, uint, &[short]));
        }
        Type::Float { width: 32 } => words.push(to.emit(Op::Bitcast, uint, &[value])),
        Type::Float { width: 64 } => {
            let ulong = to.int_type(64);
            let bits = to.emit(Op::Bitcast, ulong, &[value]);
            words.extend(halves(to, bits));
        }
        _ => return None,
    }
    Some(())
}

/// The two words of 64 bits.
fn halves(to: &mut Cursor<'_, '_>, value: u32) -> [u32; 2] {
    let (uint, ulong, by) = (to.int_type(32), to.int_type(64), to.int_constant(64, 32));
    let low = to.emit(Op::UConvert, uint, &[value]);
    let shifted = to.emit(Op::ShiftRightLogical, ulong, &[value, by]);
    [low, to.emit(Op::UConvert, uint, &[shifted])]
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
