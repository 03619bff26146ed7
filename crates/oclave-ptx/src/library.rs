//! The library of OpenCL C's built-in functions: Debian's packages `libclc-15` to `libclc-19`, which
//! have them as one SPIR-V module.
//!
//! `sin` of a `float` is the function `_Z3sinf` of that module. [`Library::part_for`] takes out
//! what a module needs, and [`link`] makes one module of both; [`translate`](crate::translate) then
//! finds the functions by their names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oclave_image::passes::{LinkInput, link_modules};
use oclave_spirv::check;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::transform::strip;
use oclave_spirv::{Definitions, Editor, LinkageType, Module, Op, TypeTable};
use spirv::OpenclStd100Op as Cl;

use crate::extended::gamma;
use crate::operand::Kind;
use crate::types::Shapes;
use crate::{PtxError, Result};

/// The file's name, in all versions of the package.
const FILE: &str = "spirv64-mesa3d-.spv";
/// Where packages put it.
const FOLDERS: [&str; 7] = [
    "/usr/lib/clc",
    "/usr/share/clc",
    "/usr/lib64/clc",
    "/usr/local/share/clc",
    "/usr/lib/llvm-15/share/clc",
    "/usr/lib/llvm-18/share/clc",
    "/usr/lib/llvm-19/share/clc",
];
/// Names the file, before all folders.
pub const LIBRARY_VARIABLE: &str = "OCLAVE_LIBCLC";

/// The function that an instruction of OpenCL.std calls, without its types; `None` for those that
/// need none.
pub(crate) fn plain_name(cl: Cl) -> Option<&'static str> {
    Some(match cl {
        Cl::acos => "acos",
        Cl::acosh => "acosh",
        Cl::acospi => "acospi",
        Cl::asin => "asin",
        Cl::asinh => "asinh",
        Cl::asinpi => "asinpi",
        Cl::atan => "atan",
        Cl::atan2 => "atan2",
        Cl::atanh => "atanh",
        Cl::atanpi => "atanpi",
        Cl::atan2pi => "atan2pi",
        Cl::cbrt => "cbrt",
        Cl::cos | Cl::half_cos | Cl::native_cos => "cos",
        Cl::cosh => "cosh",
        Cl::cospi => "cospi",
        Cl::erfc => "erfc",
        Cl::erf => "erf",
        Cl::exp | Cl::half_exp | Cl::native_exp => "exp",
        Cl::exp2 | Cl::half_exp2 | Cl::native_exp2 => "exp2",
        Cl::exp10 | Cl::half_exp10 | Cl::native_exp10 => "exp10",
        Cl::expm1 => "expm1",
        Cl::fmod => "fmod",
        Cl::fract => "fract",
        Cl::frexp => "frexp",
        Cl::hypot => "hypot",
        Cl::ilogb => "ilogb",
        Cl::lgamma => "lgamma",
        Cl::lgamma_r => "lgamma_r",
        Cl::log | Cl::half_log | Cl::native_log => "log",
        Cl::log2 | Cl::half_log2 | Cl::native_log2 => "log2",
        Cl::log10 | Cl::half_log10 | Cl::native_log10 => "log10",
        Cl::log1p => "log1p",
        Cl::logb => "logb",
        Cl::modf => "modf",
        Cl::pow => "pow",
        Cl::pown => "pown",
        Cl::powr | Cl::half_powr | Cl::native_powr => "powr",
        Cl::remainder => "remainder",
        Cl::remquo => "remquo",
        Cl::rootn => "rootn",
        Cl::sin | Cl::half_sin | Cl::native_sin => "sin",
        Cl::sincos => "sincos",
        Cl::sinh => "sinh",
        Cl::sinpi => "sinpi",
        Cl::tan | Cl::half_tan | Cl::native_tan => "tan",
        Cl::tanh => "tanh",
        Cl::tanpi => "tanpi",
        Cl::tgamma => "tgamma",
        _ => return None,
    })
}

/// Instructions that the hardware does in single precision, and the library in the others.
fn is_native(cl: Cl) -> bool {
    matches!(cl as u32, 81..=94) || cl == Cl::half_exp2
}

/// The mangled name of a function of numbers and pointers to private memory.
pub(crate) fn mangled(name: &str, values: &[Kind], pointees: &[Kind]) -> Option<String> {
    let letter = |kind: &Kind| match kind {
        Kind::F32 => Some('f'),
        Kind::F64 => Some('d'),
        Kind::I32 => Some('i'),
        _ => None,
    };
    let mut text = format!("_Z{}{name}", name.len());
    for kind in values {
        text.push(letter(kind)?);
    }
    for kind in pointees {
        text.push('P');
        text.push(letter(kind)?);
    }
    Some(text)
}

/// The library.
#[derive(Debug, Clone)]
pub struct Library {
    module: Module,
    exports: BTreeSet<String>,
}

impl Library {
    /// The library where the distribution installs it, or where the variable `OCLAVE_LIBCLC` says.
    ///
    /// # Errors
    /// [`PtxError::Library`] where there is none, saying what to install.
    pub fn installed() -> Result<Self> {
        Self::read(&place(std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from), &FOLDERS)?)
    }

    /// The library in a file.
    ///
    /// # Errors
    /// [`PtxError::Library`] where it cannot be read; [`PtxError::Module`] where it is not a sound
    /// module.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| {
            PtxError::Library(format!("cannot read the library {}: {error}", path.display()))
        })?;
        Self::new(&Module::from_bytes(&bytes)?)
    }

    /// The library in a module.
    ///
    /// # Errors
    /// [`PtxError::Module`] where it is not sound.
    pub fn new(module: &Module) -> Result<Self> {
        let module = with_subnormals(&strip::strip(module, |_| false)?)?;
        check::check(&module)?;
        let facts = crate::facts::Facts::read(&module)?;
        Ok(Self { module, exports: facts.exports.into_keys().collect() })
    }

    /// The names of all functions of the library.
    pub fn exports(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().map(String::as_str)
    }

    /// What a module needs of the library, as a module of its own; `None` where it needs nothing.
    ///
    /// # Errors
    /// [`PtxError::Library`] naming a function that the library lacks.
    pub fn part_for(&self, module: &Module) -> Result<Option<Module>> {
        let mut wanted = needed(module)?;
        if wanted.is_empty() {
            return Ok(None);
        }
        loop {
            if let Some(missing) = wanted.iter().find(|name| !self.exports.contains(*name)) {
                return Err(PtxError::Library(format!("the library has no function `{missing}`")));
            }
            let part = dce::eliminate(&self.module, |root| match root {
                Root::Export(name) => wanted.contains(name),
                Root::EntryPoint(_) => false,
            })?;
            // Functions of the library call others by instructions of OpenCL.std.
            let more = needed(&part)?;
            if more.is_subset(&wanted) {
                return Ok(Some(without_other_exports(&part, &wanted)?));
            }
            wanted.extend(more);
        }
    }
}

/// The library's file: the named one, else the first that the folders have.
fn place(named: Option<PathBuf>, folders: &[&str]) -> Result<PathBuf> {
    let mut places = folders.iter().map(|folder| Path::new(folder).join(FILE));
    named.or_else(|| places.find(|path| path.is_file())).ok_or_else(|| {
        PtxError::Library(format!(
            "the library of OpenCL C's built-in functions is not installed: {FILE} is in none of {}. Install \
             libclc-15, 17, 18 or 19 (Debian, Ubuntu; later versions have no SPIR-V), or name the file in {LIBRARY_VARIABLE}",
            folders.join(", ")
        ))
    })
}

/// The library asks two functions whether there are subnormal numbers. There are.
fn with_subnormals(module: &Module) -> Result<Module> {
    const QUESTIONS: [&str; 2] = ["__clc_fp32_subnormals_supported", "__clc_fp64_subnormals_supported"];
    let definitions = Definitions::new(module);
    let facts = crate::facts::Facts::read(module)?;
    let asks = QUESTIONS.iter().filter_map(|name| facts.exports.get(*name).copied());
    let mut edit = Editor::new(&definitions);
    for function in asks {
        let Some(bool_type) = definitions.type_of(function) else { continue };
        let yes = edit.intern(Op::ConstantTrue, &[bool_type]);
        for answer in definitions.body(function).filter(|i| i.is(Op::ReturnValue)) {
            edit.replace(&answer, Op::ReturnValue, &[yes]);
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// Exports that nothing asks for by name are functions like others: names of two libraries must not
/// meet.
fn without_other_exports(part: &Module, wanted: &BTreeSet<String>) -> Result<Module> {
    let definitions = Definitions::new(part);
    let mut edit = Editor::new(&definitions);
    for instruction in part.global_instructions() {
        let linkage = instruction.linkage();
        if matches!(linkage, Some((_, name, LinkageType::Export)) if !wanted.contains(&*name)) {
            edit.remove(&instruction);
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| part.clone()))
}

/// One module of a module of kernels and its part of the library.
///
/// # Errors
/// [`PtxError::Module`] where they cannot be linked.
pub fn link(module: &Module, part: &Module) -> Result<Module> {
    let module = strip::strip(module, |_| true)?;
    let inputs = [LinkInput { name: "kernels", module: &module }, LinkInput { name: "libclc", module: part }];
    Ok(link_modules(&inputs, |_| false)?)
}

/// The functions of the library that the instructions of a module call.
fn needed(module: &Module) -> Result<BTreeSet<String>> {
    let definitions = Definitions::new(module);
    let table = TypeTable::new(&definitions);
    let mut shapes = Shapes::new(&definitions, &table);
    let mut names = BTreeSet::new();
    for instruction in module.instructions().skip_while(|i| !i.is(Op::Function)) {
        let mut kind_of = |id: u32| {
            let kind = definitions.type_of(id).and_then(|ty| shapes.kind(ty).ok())?;
            Some(if kind == Kind::F16 { Kind::F32 } else { kind })
        };
        let of = instruction.operands();
        if matches!(instruction.op(), Some(Op::FRem | Op::FMod)) {
            names.extend(mangled("fmod", &[Kind::F64, Kind::F64], &[]));
        }
        let (true, &[set, number, ref operands @ ..]) = (instruction.is(Op::ExtInst), of) else { continue };
        let Some(cl) = Cl::from_u32(number).filter(|_| definitions.opencl_std() == Some(set)) else {
            continue;
        };
        let Some(name) = plain_name(cl) else { continue };
        if cl == Cl::tgamma {
            names.extend(
                gamma::CALLS.iter().filter_map(|(name, n)| mangled(name, &[Kind::F64; 2][..*n], &[])),
            );
            continue;
        }
        // Done in double precision, whatever the operands have.
        let in_double: &[Kind] = match cl {
            Cl::erfc => &[Kind::F64],
            Cl::fmod | Cl::remainder | Cl::remquo => &[Kind::F64, Kind::F64],
            _ => &[],
        };
        if !in_double.is_empty() {
            let second: &[Kind] = if cl == Cl::remquo { &[Kind::I32] } else { &[] };
            names.extend(mangled(name, in_double, second));
            continue;
        }
        let mut kinds: Vec<Kind> = Vec::new();
        let mut pointees = Vec::new();
        for &operand in operands {
            match kind_of(operand) {
                Some(Kind::Pointer(_)) => {
                    let first = kinds.first().copied().unwrap_or(Kind::F32);
                    let second = if matches!(cl, Cl::frexp | Cl::lgamma_r) { Kind::I32 } else { first };
                    pointees.push(second);
                }
                Some(kind) => kinds.push(kind),
                None => {}
            }
        }
        let half =
            operands.first().and_then(|id| definitions.type_of(*id)).and_then(|ty| shapes.kind(ty).ok());
        if is_native(cl) && half == Some(Kind::F32) {
            continue;
        }
        names.extend(mangled(name, &kinds, &pointees));
    }
    Ok(names)
}

/// Whether a module calls functions of the library.
///
/// # Errors
/// None today; a later version may look at more than instructions.
pub fn needs_library(module: &Module) -> Result<bool> {
    Ok(!needed(module)?.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_library_is_looked_for_where_packages_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_str().unwrap();
        let text = place(None, &["/nonexistent", here]).unwrap_err().to_string();
        for part in ["not installed", FILE, "/nonexistent", "libclc-15", LIBRARY_VARIABLE] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        let file = folder.path().join(FILE);
        std::fs::write(&file, "").unwrap();
        assert_eq!(place(None, &["/nonexistent", here]), Ok(file));
        assert_eq!(place(Some(PathBuf::from("named")), &[here]), Ok(PathBuf::from("named")));
    }
}
