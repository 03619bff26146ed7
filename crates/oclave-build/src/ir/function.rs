//! A function whose values all have names, so that instructions can be added and removed: LLVM
//! numbers values without names, and refuses gaps.

use super::text::{definition, replace_tokens};

/// A function that is being edited.
#[derive(Debug, Clone)]
pub(super) struct Function {
    /// The line of `define`.
    head: String,
    /// Labels and instructions, a line each.
    pub(super) lines: Vec<String>,
    fresh: u32,
}

impl Function {
    pub(super) fn new(head: &str, body: &[String]) -> Self {
        let name = |token: &str| {
            let number = token.strip_prefix('%')?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("%oclave.{number}"))
        };
        let mut lines = Vec::with_capacity(body.len() + 1);
        let first = body.first().map_or("", String::as_str);
        if first.starts_with(' ') {
            // The entry block without a name takes the number after those of the parameters.
            let numbers = super::text::tokens(head).into_iter().filter(|(_, token)| name(token).is_some());
            lines.push(format!("oclave.{}:", numbers.count()));
        }
        for line in body {
            let label = line
                .split_once(':')
                .filter(|(label, _)| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()));
            match label {
                Some((label, _)) => lines.push(format!("oclave.{label}:")),
                None => lines.push(replace_tokens(line, name).into_owned()),
            }
        }
        Self { head: replace_tokens(head, name).into_owned(), lines, fresh: 0 }
    }

    /// The symbol, without `@` and quotes.
    pub(super) fn symbol(&self) -> &str {
        symbol(&self.head)
    }

    /// A name for a new value.
    pub(super) fn fresh(&mut self) -> String {
        self.fresh += 1;
        format!("%oclave.new{}", self.fresh)
    }

    /// The line that defines a value.
    pub(super) fn definition(&self, value: &str) -> Option<usize> {
        self.lines.iter().position(|line| definition(line).0 == value)
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        let mut lines = vec![self.head];
        lines.extend(self.lines);
        lines.push("}".to_owned());
        lines
    }
}

/// The symbol of a line of `define`.
pub(crate) fn symbol(head: &str) -> &str {
    let name = head.split_once('@').map_or("", |(_, rest)| rest);
    match name.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => name.split('(').next().unwrap_or_default(),
    }
}
