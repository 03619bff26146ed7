//! Runs a tool to its end and keeps its words and its command line.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};

/// What a tool did.
#[derive(Debug)]
pub(crate) struct Run {
    /// Whether it exited with success.
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// The command line, quoted for a shell where needed.
    pub(crate) command_line: String,
    /// How it ended, when without success: an exit code or a signal.
    pub(crate) status: String,
}

/// Runs a program with arguments; an error when it cannot be started at all.
pub(crate) fn run<S: AsRef<OsStr>>(program: &Path, args: &[S], environment: &Environment) -> Result<Run> {
    let mut command = Command::new(program);
    // The diagnostics are read (`warning:`), so they must not be translated.
    command.args(args).env("LC_ALL", "C").envs(environment.overrides()).stdin(Stdio::null());
    let command_line = command_line(program, args);
    let output = command.output().map_err(|error| {
        Error::new(ErrorKind::Toolchain, format!("cannot run `{command_line}`")).with_source(error)
    })?;
    Ok(Run {
        success: output.status.success(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        command_line,
        status: output.status.to_string(),
    })
}

impl Run {
    /// The error of a run that failed: what it was about, the tool's words, its end, the command line.
    pub(crate) fn failure(&self, kind: ErrorKind, what: &str) -> Error {
        let words = self.stderr.trim_end();
        let words = if words.is_empty() { "(it said nothing)" } else { words };
        Error::new(kind, format!("{what}\n{words}\n{}; the command was: {}", self.status, self.command_line))
    }
}

fn command_line<S: AsRef<OsStr>>(program: &Path, args: &[S]) -> String {
    let mut line = quoted(&program.to_string_lossy());
    for arg in args {
        line.push(' ');
        line.push_str(&quoted(&arg.as_ref().to_string_lossy()));
    }
    line
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let line = command_line(Path::new("/opt/my tools/clang"), &["-DX=1", "-DS=\"it's\"", ""]);
        assert_eq!(line, r#"'/opt/my tools/clang' -DX=1 '-DS="it'\''s"' ''"#);
    }
}
