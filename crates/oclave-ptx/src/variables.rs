//! Module-scope variables with their initial values.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use oclave_spirv::{Op, StorageClass, Type};

use crate::constants::{self, Constant};
use crate::error::{Step, Stop, need};
use crate::module::{Context, at};
use crate::operand::Space;
use crate::{PtxError, Result};

/// Larger initial values are refused: they would make PTX of many times that size.
const MOST_BYTES: u64 = 1 << 24;

/// The name of a variable in PTX. It will be written.
pub(crate) fn name(context: &mut Context<'_, '_>, variable: u32) -> String {
    if let Some(name) = context.variable_names.get(&variable) {
        return name.clone();
    }
    let wish = context.facts.names.get(&variable).map_or("variable", String::as_str);
    let name = context.names.free(&format!("v${wish}"));
    context.variable_names.insert(variable, name.clone());
    context.variables.push(variable);
    name
}

/// Writes the variables that functions use, those that these point to, and what else stands outside
/// of functions.
pub(crate) fn write(context: &mut Context<'_, '_>, text: &mut String) -> Result<()> {
    if context.uses_printf {
        text.push_str(
            ".extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);\n",
        );
    }
    if context.uses_group_scratch {
        text.push_str(".shared .align 8 .b8 $group_scratch[264];\n");
    }
    for (sampler, name) in &context.samplers {
        let _ = writeln!(text, ".global .samplerref {name} = {sampler};");
    }
    for (name, bytes) in std::mem::take(&mut context.strings) {
        let _ = write!(text, ".global .align 1 .b8 {name}[{}] = {{", bytes.len());
        list(text, bytes.iter());
        text.push_str("};\n");
    }
    // Initial values may name variables that no function uses.
    let mut next = 0;
    let mut declarations: HashMap<u32, Declaration> = HashMap::new();
    while let Some(&variable) = context.variables.get(next) {
        next += 1;
        let definition = context.definition(variable);
        let declaration = declare(context, variable).map_err(|stop| {
            let kernel = context.facts.kernels.first().map_or("", |kernel| &kernel.name);
            at(stop, kernel, definition)
        })?;
        declarations.insert(variable, declaration);
    }
    // What an initial value names is declared before it.
    let mut open: Vec<u32> = context.variables.iter().rev().copied().collect();
    let mut begun = HashSet::new();
    while let Some(&variable) = open.last() {
        let Some(declaration) = declarations.get(&variable) else {
            open.pop();
            continue;
        };
        if begun.insert(variable) {
            open.extend(declaration.names.iter().filter(|name| !begun.contains(name)));
            continue;
        }
        text.push_str(&declaration.text);
        declarations.remove(&variable);
        open.pop();
    }
    if next > 0 {
        text.push('\n');
    }
    Ok(())
}

/// A variable as PTX has it, and the variables that its initial value names.
#[derive(Debug, Default)]
struct Declaration {
    text: String,
    names: Vec<u32>,
}

fn list<T: std::fmt::Display>(text: &mut String, items: impl Iterator<Item = T>) {
    for (index, item) in items.enumerate() {
        let _ = write!(text, "{}{item}", if index == 0 { "" } else { "," });
    }
}

/// The declaration of a variable.
fn declare(context: &mut Context<'_, '_>, variable: u32) -> Step<Declaration> {
    let definition = need(context.definition(variable))?;
    if let Some(import) = context.facts.imports.get(&variable) {
        return Err(Stop::unsupported(format!("variable `{import}` is in no module that was linked")));
    }
    let pointer = need(definition.result_type())?;
    let Some(Type::Pointer { class, pointee }) = context.shapes.table.ty(pointer) else {
        return Err(Stop::Broken("a variable is a pointer"));
    };
    let bytes = context.shapes.size_bytes(pointee);
    let bytes = bytes.ok_or_else(|| Stop::unsupported("a variable of a type without a size"))?;
    let natural = context.shapes.table.align_bytes(pointee);
    let align = context.facts.of(variable).alignment.unwrap_or(natural).max(natural);
    let name = name(context, variable);
    let class = StorageClass::from_u32(class);
    if class == Some(StorageClass::Workgroup) {
        let text = format!(".shared .align {align} .b8 {name}[{}];\n", bytes.max(1));
        return Ok(Declaration { text, names: Vec::new() });
    }
    if class == Some(StorageClass::Input) {
        return Err(Stop::unsupported("built-in variables have no address"));
    }
    let mut text = format!(".global .align {} ", align.max(8));
    let Some(initializer) = definition.operand(1) else {
        let _ = writeln!(text, ".b8 {name}[{}];", bytes.max(1));
        return Ok(Declaration { text, names: Vec::new() });
    };
    if bytes > MOST_BYTES {
        return Err(Stop::unsupported(format!(
            "an initial value of {bytes} bytes; fill the memory in a kernel"
        )));
    }
    let mut image =
        Image { bytes: vec![0; bytes as usize], addresses: Vec::new(), names: Vec::new(), visited: 0 };
    image.fill(context, initializer, 0, 0)?;
    if image.addresses.is_empty() {
        let filled = image.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let _ = write!(text, ".b8 {name}[{}]", bytes.max(1));
        if filled > 0 {
            text.push_str(" = {");
            list(&mut text, image.bytes.iter().take(filled));
            text.push('}');
        }
    } else {
        image.write_words(context, &name, &mut text)?;
    }
    text.push_str(";\n");
    Ok(Declaration { text, names: image.names })
}

/// The initial value of a variable as memory.
struct Image {
    bytes: Vec<u8>,
    addresses: Vec<(u64, Constant)>,
    /// The variables of the addresses, once they are written.
    names: Vec<u32>,
    visited: u64,
}

impl Image {
    /// Puts the constant `id` at byte `at`.
    fn fill(&mut self, context: &mut Context<'_, '_>, id: u32, at: u64, depth: u32) -> Step {
        self.visited += 1;
        if self.visited > MOST_BYTES || depth > 64 {
            return Err(Stop::unsupported("an initial value of very many parts"));
        }
        let constant = need(context.definition(id))?;
        let ty = need(constant.result_type())?;
        match constant.op() {
            Some(Op::ConstantNull | Op::Undef) => return Ok(()),
            Some(Op::ConstantComposite | Op::SpecConstantComposite) => {
                let table = context.shapes.table;
                let offsets = table.member_offsets(ty);
                let each = match table.ty(ty) {
                    Some(Type::Array { element, .. }) => table.size_bytes(element),
                    Some(Type::Vector { component, .. }) => table.size_bytes(component),
                    _ => None,
                };
                for (index, &part) in constant.operands().iter().enumerate() {
                    let offset = match (&offsets, each) {
                        (Some(offsets), _) => need(offsets.get(index).copied())?,
                        (None, Some(each)) => each.saturating_mul(index as u64),
                        (None, None) => return Err(Stop::Broken("a composite of a type without a layout")),
                    };
                    self.fill(context, part, at.saturating_add(offset), depth + 1)?;
                }
                return Ok(());
            }
            _ => {}
        }
        let parts = constants::parts(&mut context.shapes, context.definitions, id)?;
        let shape = context.shapes.shape(ty)?;
        for ((part, kind), offset) in parts.into_iter().zip(&shape.kinds).zip(&shape.offsets) {
            let at = at.saturating_add(*offset);
            match part {
                Constant::Bits(bits) => {
                    let start = usize::try_from(at).unwrap_or(usize::MAX);
                    let end = start.saturating_add(kind.bytes() as usize);
                    let place = self.bytes.get_mut(start..end);
                    let place = place.ok_or(Stop::Broken("an initial value is larger than its variable"))?;
                    place.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, from)| *to = from);
                }
                address => self.addresses.push((at, address)),
            }
        }
        Ok(())
    }

    /// An array of 64-bit words, addresses among them.
    fn write_words(&mut self, context: &mut Context<'_, '_>, variable: &str, text: &mut String) -> Step {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let mut words: Vec<String> = self
            .bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()).to_string())
            .collect();
        for (at, address) in std::mem::take(&mut self.addresses) {
            let Constant::Address { variable, offset, space } = address else { continue };
            let place = words.get_mut((at / 8) as usize).filter(|_| at % 8 == 0);
            let place = place.ok_or_else(|| {
                Stop::unsupported("an address in an initial value that is not at a multiple of 8 bytes")
            })?;
            let own = need(context.definitions.type_of(variable))?;
            let own = context.shapes.kind(own)?;
            if own == crate::operand::Kind::Pointer(Space::Shared) {
                return Err(Stop::unsupported("the address of local memory in an initial value"));
            }
            self.names.push(variable);
            let name = name(context, variable);
            *place = match (space, offset) {
                (Space::Generic, 0) => format!("generic({name})"),
                (Space::Generic, offset) => format!("generic({name}){offset:+}"),
                (_, 0) => name,
                (_, offset) => format!("{name}{offset:+}"),
            };
        }
        let _ = write!(text, ".u64 {variable}[{}] = {{", words.len());
        list(text, words.iter());
        text.push('}');
        Ok(())
    }
}

impl From<Stop> for PtxError {
    fn from(stop: Stop) -> Self {
        at(stop, "", None)
    }
}
