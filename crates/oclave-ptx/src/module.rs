//! A module on its way to PTX: what all functions share, and the order in which they are written.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use oclave_spirv::{Definitions, IdMap, Instruction, Module, Op, TypeTable};

use crate::body::Body;
use crate::error::Stop;
use crate::facts::Facts;
use crate::operand::Operand;
use crate::sampler::Sampler;
use crate::types::Shapes;
use crate::{PtxError, PtxTarget, Result, variables};

/// Work-items of a sub-group.
const WARP: u32 = 32;

/// What all functions of a module share.
#[derive(Debug)]
pub(crate) struct Context<'a, 'm> {
    pub(crate) target: PtxTarget,
    pub(crate) definitions: &'a Definitions<'m>,
    pub(crate) facts: &'a Facts,
    pub(crate) shapes: Shapes<'a, 'm>,
    /// Registers and immediates of ids: first one and number, in `parts`. A start of `u32::MAX`
    /// stands for none.
    pub(crate) values: IdMap<(u32, u32)>,
    pub(crate) parts: Vec<Operand>,
    /// Module-scope variables that functions use, in the order of their first use.
    pub(crate) variables: Vec<u32>,
    pub(crate) variable_names: HashMap<u32, String>,
    /// Functions that are called, still to be written.
    pub(crate) wanted: Vec<u32>,
    pub(crate) seen: HashSet<u32>,
    pub(crate) names: Names,
    /// Literal samplers: their state, and their name.
    pub(crate) samplers: Vec<(Sampler, String)>,
    /// Format strings of `printf`, with their vectors taken apart: name and bytes.
    pub(crate) strings: Vec<(String, Vec<u8>)>,
    pub(crate) uses_printf: bool,
    /// Whether kernels reduce over whole work-groups, which takes some local memory.
    pub(crate) uses_group_scratch: bool,
}

/// Names that are taken already.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The last number that was given to a name that several wished for.
    numbers: HashMap<String, u32>,
    of_functions: HashMap<u32, String>,
}

impl Names {
    /// A name that PTX takes and that nothing else has, close to `wish`.
    pub(crate) fn free(&mut self, wish: &str) -> String {
        let plain: String = wish
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '_' })
            .collect();
        let plain = match plain.chars().next() {
            Some(first) if first.is_ascii_alphabetic() => plain,
            _ => format!("o${plain}"),
        };
        if self.taken.insert(plain.clone()) {
            return plain;
        }
        // From the last number on: thousands of functions may have no name of their own.
        let number = self.numbers.entry(plain.clone()).or_default();
        loop {
            *number += 1;
            let name = format!("{plain}${number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

impl<'m> Context<'_, 'm> {
    /// The name of a function that is called, which will be written.
    pub(crate) fn function_name(&mut self, id: u32) -> String {
        if let Some(name) = self.names.of_functions.get(&id) {
            return name.clone();
        }
        let wish = self.facts.names.get(&id).map_or("f", String::as_str);
        let name = self.names.free(&format!("f${wish}"));
        self.names.of_functions.insert(id, name.clone());
        if self.seen.insert(id) {
            self.wanted.push(id);
        }
        name
    }

    /// The instruction that defines `id`.
    pub(crate) fn definition(&self, id: u32) -> Option<Instruction<'m>> {
        self.definitions.instruction(id)
    }
}

/// The PTX of a checked module.
pub(crate) fn translate(module: &Module, target: PtxTarget) -> Result<String> {
    let definitions = Definitions::new(module);
    let table = TypeTable::new(&definitions);
    let facts = Facts::read(module)?;
    if !facts.uses_wide_addresses {
        return Err(PtxError::Refused("its addresses do not have 64 bits; compile it for spir64".to_owned()));
    }
    let mut context = Context {
        target,
        definitions: &definitions,
        facts: &facts,
        shapes: Shapes::new(&definitions, &table),
        values: IdMap::new(module, (u32::MAX, 0)),
        parts: Vec::new(),
        variables: Vec::new(),
        variable_names: HashMap::new(),
        wanted: Vec::new(),
        seen: HashSet::new(),
        names: Names::default(),
        samplers: Vec::new(),
        strings: Vec::new(),
        uses_printf: false,
        uses_group_scratch: false,
    };
    let mut kernels = String::new();
    let mut functions: Vec<(String, String)> = Vec::new();
    let mut names = BTreeSet::new();
    // Kernels have the names that the host knows; everything else makes room.
    for kernel in &facts.kernels {
        if !is_identifier(&kernel.name) {
            return Err(PtxError::Refused(format!("PTX cannot have a kernel named `{}`", kernel.name)));
        }
        if !names.insert(kernel.name.as_str()) {
            return Err(PtxError::Refused(format!("two kernels are named `{}`", kernel.name)));
        }
        context.names.taken.insert(kernel.name.clone());
    }
    for kernel in &facts.kernels {
        if let Some(size) = kernel.required_sub_group.filter(|size| *size != WARP) {
            let _ = writeln!(
                kernels,
                "\n// Left out: kernel {} requires sub-groups of {size} work-items; warps have {WARP}.",
                kernel.name
            );
            continue;
        }
        let contract = !facts.contraction_off.contains(&kernel.function);
        let mut body = Body::new(&mut context, kernel.function, contract);
        let result = body.kernel(kernel, &mut kernels);
        result.map_err(|stop| at(stop, &kernel.name, body.instruction))?;
        // A function is contracted as the first kernel that calls it.
        while let Some(function) = context.wanted.pop() {
            let mut body = Body::new(&mut context, function, contract);
            let mut text = String::new();
            let result = body.function(&mut text);
            let head = result.map_err(|stop| at(stop, &kernel.name, body.instruction))?;
            functions.push((head, text));
        }
    }

    let mut text = String::with_capacity(kernels.len() + 1024);
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "// Made from SPIR-V by oclave-ptx.\n.version {}\n.target {target}, texmode_independent\n.address_size 64\n",
        target.version()
    );
    variables::write(&mut context, &mut text)?;
    for (head, _) in &functions {
        let _ = writeln!(text, "{head};");
    }
    for (head, body) in functions.iter().rev() {
        let _ = writeln!(text, "\n{head}\n{body}");
    }
    text.push_str(&kernels);
    Ok(text)
}

/// Puts the place to what went wrong.
pub(crate) fn at(stop: Stop, kernel: &str, instruction: Option<Instruction<'_>>) -> PtxError {
    let place = instruction.map_or_else(|| "its parameters".to_owned(), |i| describe(&i));
    match stop {
        Stop::Unsupported(what) => {
            PtxError::Unsupported { kernel: kernel.to_owned(), instruction: place, what }
        }
        Stop::Broken(what) => PtxError::Module(oclave_image::ImageError::Spirv {
            word: instruction.map_or(0, |i| i.at),
            what: format!("{place} of kernel `{kernel}`: {what}"),
        }),
    }
}

/// How messages call an instruction.
fn describe(instruction: &Instruction<'_>) -> String {
    let name = match instruction.op() {
        Some(Op::ExtInst) => match instruction.operand(1).and_then(crate::extended::name) {
            Some(name) => format!("OpenCL.std {name}"),
            None => "OpExtInst".to_owned(),
        },
        Some(op) => format!("Op{op:?}"),
        None => format!("opcode {}", instruction.opcode),
    };
    match instruction.result_id() {
        Some(id) => format!("{name} %{id} (word {})", instruction.at),
        None => format!("{name} (word {})", instruction.at),
    }
}

/// Whether PTX takes the name as it is.
fn is_identifier(name: &str) -> bool {
    let follows = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut chars = name.chars();
    match chars.next() {
        Some(c) if c.is_ascii_alphabetic() => chars.all(follows),
        Some('_' | '$') => name.len() > 1 && chars.all(follows),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_however_many_wish_for_one() {
        let mut names = Names::default();
        names.taken.insert("f$2".to_owned());
        let given: HashSet<String> = (0..50_000).map(|_| names.free("f")).collect();
        assert_eq!(given.len(), 50_000);
        assert!(given.contains("f") && given.contains("f$1") && !given.contains("f$2"));
        assert_eq!(names.free("2 f"), "o$2_f");
    }
}
