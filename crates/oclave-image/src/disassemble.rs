//! SPIR-V as text, one line an instruction.

use std::fmt::Write;

use oclave_spirv::{
    BuiltIn, Capability, Decoration, Definitions, ExecutionMode, ExecutionModel, Instruction, LinkageType,
    Module, Op, Role, StorageClass,
};

/// The instructions of a module as text: `%id = OpName words`. Ids begin with a percent sign,
/// strings are in quotes, literals are numbers but for the most common enumerants. Opcodes that
/// have no name are `Op` with their number.
pub fn disassemble(module: &Module) -> String {
    let definitions = Definitions::new(module);
    let mut text = String::new();
    let _ = writeln!(text, "; SPIR-V {}, id bound {}", module.version(), module.id_bound());
    for instruction in module.instructions() {
        line(&mut text, &instruction, &definitions);
    }
    text
}

fn line(text: &mut String, instruction: &Instruction<'_>, definitions: &Definitions<'_>) {
    let mut roles = vec![None; instruction.words.len()];
    instruction.visit_ids(definitions, |index, role| {
        if let Some(place) = roles.get_mut(index) {
            *place = Some(role);
        }
    });
    if let Some(result) = instruction.result_id() {
        let _ = write!(text, "%{result} = ");
    }
    match instruction.op() {
        Some(op) => {
            let _ = write!(text, "Op{op:?}");
        }
        None => {
            let _ = write!(text, "Op{}", instruction.opcode);
        }
    }
    let first = instruction.words.len() - instruction.operands().len();
    let string = string_operand(instruction);
    let mut skip = 0_usize;
    for (index, (&word, role)) in instruction.words.iter().zip(&roles).enumerate().skip(1) {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        match role {
            Some(Role::Result) => continue,
            Some(Role::ResultType | Role::Id) => {
                let _ = write!(text, " %{word}");
                continue;
            }
            Some(Role::MaybeId) | None => {}
        }
        let operand = index.checked_sub(first);
        if let Some(operand) = operand
            && Some(operand) == string
            && let (Some(value), Some(rest)) =
                (instruction.string(operand), instruction.after_string(operand))
        {
            let _ = write!(text, " {value:?}");
            skip = instruction.words.len().saturating_sub(index + 1 + rest.len());
            continue;
        }
        match operand.and_then(|operand| enumerant(instruction, operand, word)) {
            Some(name) => {
                let _ = write!(text, " {name}");
            }
            None => {
                let _ = write!(text, " {word}");
            }
        }
    }
    text.push('\n');
}

/// The operand at which a literal string starts.
fn string_operand(instruction: &Instruction<'_>) -> Option<usize> {
    match instruction.op()? {
        Op::Extension | Op::ExtInstImport | Op::String | Op::SourceExtension | Op::SourceContinued => Some(0),
        Op::ModuleProcessed | Op::TypeOpaque => Some(0),
        Op::Name => Some(1),
        Op::EntryPoint | Op::MemberName => Some(2),
        Op::Decorate | Op::DecorateString => match Decoration::from_u32(instruction.operand(1)?)? {
            Decoration::LinkageAttributes | Decoration::UserSemantic => Some(2),
            _ => None,
        },
        Op::MemberDecorate | Op::MemberDecorateString => match Decoration::from_u32(instruction.operand(2)?)?
        {
            Decoration::UserSemantic => Some(3),
            _ => None,
        },
        _ => None,
    }
}

fn enumerant(instruction: &Instruction<'_>, operand: usize, word: u32) -> Option<String> {
    let decoration = || instruction.operand(1).and_then(Decoration::from_u32);
    Some(match (instruction.op()?, operand) {
        (Op::Capability, 0) => format!("{:?}", Capability::from_u32(word)?),
        (Op::EntryPoint, 0) => format!("{:?}", ExecutionModel::from_u32(word)?),
        (Op::ExecutionMode, 1) => format!("{:?}", ExecutionMode::from_u32(word)?),
        (Op::TypePointer | Op::Variable, 0) => format!("{:?}", StorageClass::from_u32(word)?),
        (Op::Decorate, 1) | (Op::MemberDecorate, 2) => format!("{:?}", Decoration::from_u32(word)?),
        (Op::Decorate, 2) if decoration() == Some(Decoration::BuiltIn) => {
            format!("{:?}", BuiltIn::from_u32(word)?)
        }
        (Op::Decorate, _) if decoration() == Some(Decoration::LinkageAttributes) => {
            format!("{:?}", LinkageType::from_u32(word)?)
        }
        (Op::SpecConstantOp, 0) => format!("{:?}", Op::from_u32(word)?),
        _ => return None,
    })
}
