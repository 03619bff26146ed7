//! Copies of a set image for virtual calls that nest in a cycle.

use crate::Result;
use crate::virtual_functions::{DISPATCHER_PREFIX, WRAPPER_PREFIX};
use oclave_spirv::{Definitions, Editor, LinkageType, Module, Op, string_words};

/// The copy of a set image's module for calls that are nested `level` deep.
///
/// Its wrappers `w` are exported as `w__d<level>` (level 0: `w`). The dispatchers `d` that it
/// imports are `d__d<level + 1>`. So no function calls itself through a dispatcher, which devices
/// would refuse.
///
/// # Errors
/// As [`Editor::finish`].
pub fn at_level(module: &Module, level: u32) -> Result<Module> {
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for instruction in module.global_instructions() {
        let name = match instruction.linkage() {
            Some((_, name, LinkageType::Import)) if name.starts_with(DISPATCHER_PREFIX) => {
                format!("{name}__d{}", u64::from(level) + 1)
            }
            Some((_, name, LinkageType::Export)) if name.starts_with(WRAPPER_PREFIX) && level > 0 => {
                format!("{name}__d{level}")
            }
            _ => continue,
        };
        if let (Some(head), Some(kind)) = (instruction.operands().get(..2), instruction.after_string(2)) {
            edit.replace(&instruction, Op::Decorate, &[head, &string_words(&name), kind].concat());
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oclave_spirv::{Code, Decoration, Version};

    #[test]
    fn only_wrappers_and_dispatchers_are_renamed() {
        let linkage = |id, name: &str, kind: LinkageType| {
            let mut operands = vec![id, Decoration::LinkageAttributes as u32];
            operands.extend(string_words(name));
            operands.push(kind as u32);
            operands
        };
        let mut code = Code::new();
        for (id, name, kind) in [
            (1, "__vfw_1_f", LinkageType::Export),
            (2, "__vfd_v_p8", LinkageType::Import),
            (3, "__vfo_i64", LinkageType::Import),
            (4, "counter", LinkageType::Export),
        ] {
            code.push(Op::Decorate, &linkage(id, name, kind));
        }
        let words = [&[0x0723_0203, Version::V1_2.word(), 0, 5, 0], code.words()].concat();
        let module = Module::from_words(words).unwrap();
        let names = |level| {
            let copy = at_level(&module, level).unwrap();
            copy.instructions().map(|i| i.string(2).unwrap().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(0), ["__vfw_1_f", "__vfd_v_p8__d1", "__vfo_i64", "counter"]);
        assert_eq!(names(3), ["__vfw_1_f__d3", "__vfd_v_p8__d4", "__vfo_i64", "counter"]);
    }
}
