//! Where in a source the translator found what it refuses.

use std::path::Path;

use super::fallback::{cause, translated_alone};
use crate::command::Run;
use crate::compile::{Compiler, Effort};
use crate::ir::places::{Places, attachment};
use crate::ir::{self, Leftover, symbol};
use crate::source::Source;

/// Function and line, as far as they can be found.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    /// As the source calls it.
    pub(super) function: Option<String>,
    /// What is wrong there, where it is known better than from the translator's words.
    pub(super) cause: Option<String>,
}

/// Most functions that are tried one by one.
const TRIED: usize = 64;

/// Compiles the source once more, with lines, and looks for the first function that the translator
/// refuses.
pub(super) fn find(compiler: &Compiler<'_>, source: &Source, effort: Effort, refused: &Run) -> Place {
    located(compiler, source, effort, refused).unwrap_or_default()
}

fn located(compiler: &Compiler<'_>, source: &Source, effort: Effort, refused: &Run) -> Option<Place> {
    let path = compiler.work.join(format!("{}.lines.ll", source.stem));
    if !compiler.ir_with_lines(source, effort, &path).ok()?.success {
        return None;
    }
    let ir::Mended { text, leftovers } = ir::mend(&String::from_utf8_lossy(&std::fs::read(&path).ok()?));
    let leftover = leftovers.first();
    let head = match leftover {
        Some(leftover) => head_of(&text, &leftover.function)?.to_owned(),
        None => refused_function(compiler, &text, &path)?,
    };
    let places = Places::new(&text);
    let (function, file, line) = places.function(attachment(&head)?)?;
    let instruction = match leftover {
        Some(leftover) => Some(leftover.instruction.clone()),
        None => instruction_of(&text, &head, &cause(&refused.stderr)),
    };
    let exact = instruction.and_then(|instruction| places.of(attachment(&instruction)?));
    let (file, line) = exact.map_or((file, line), |(file, line, _)| (file, line));
    Some(Place {
        file: Some(file),
        line: Some(line),
        function: Some(function),
        cause: leftover.map(|Leftover { cause, .. }| cause.clone()),
    })
}

fn head_of<'t>(text: &'t str, function: &str) -> Option<&'t str> {
    text.lines().find(|line| line.starts_with("define ") && symbol(line) == function)
}

/// The `define` line of the first function that is refused where all others are empty.
fn refused_function(compiler: &Compiler<'_>, text: &str, path: &Path) -> Option<String> {
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("define ")).collect();
    if let [head] = heads.as_slice() {
        return Some((*head).to_owned());
    }
    for head in heads.into_iter().take(TRIED) {
        std::fs::write(path, only(text, head)).ok()?;
        let bitcode = path.with_extension("bc");
        let assembled = compiler.assemble(path, &bitcode).ok()?.success;
        if assembled && !translated_alone(compiler, &bitcode).ok()?.success {
            return Some(head.to_owned());
        }
    }
    None
}

/// The module with the body of one function only.
fn only(text: &str, head: &str) -> String {
    let mut new = String::with_capacity(text.len());
    let mut skipping = false;
    for line in text.lines() {
        if line == "}" {
            skipping = false;
        }
        if !skipping {
            new.push_str(line);
            new.push('\n');
        }
        if line.starts_with("define ") && line != head {
            new.push_str("  unreachable\n");
            skipping = true;
        }
    }
    new
}

/// The line of a function that the translator's words quote.
fn instruction_of(text: &str, head: &str, words: &str) -> Option<String> {
    let (_, quoted) = words.split_once("instruction: ")?;
    let quoted = quoted.split(", !dbg").next()?.trim();
    let body = text.lines().skip_while(|line| *line != head).take_while(|line| *line != "}");
    let bare = |line: &str| line.split(", !dbg").next().unwrap_or_default().trim().to_owned();
    body.map(str::to_owned).find(|line| bare(line) == quoted)
}
