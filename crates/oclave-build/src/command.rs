//! Runs a tool to its end and keeps its words and its command line.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

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

/// Limits beyond this are none.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Runs a program with arguments; an error when it cannot be started at all, or does not end in
/// time.
pub(crate) fn run<S: AsRef<OsStr>>(program: &Path, args: &[S], environment: &Environment) -> Result<Run> {
    run_within(program, args, environment, environment.tool_limit())
}

/// As [`run`], with a limit of its own.
pub(crate) fn run_within<S: AsRef<OsStr>>(
    program: &Path,
    args: &[S],
    environment: &Environment,
    limit: Duration,
) -> Result<Run> {
    let mut command = Command::new(program);
    // The diagnostics are read (`warning:`), so they must not be translated.
    command.args(args).env("LC_ALL", "C").envs(environment.overrides());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let command_line = command_line(program, args);
    let failed =
        |error| Error::new(ErrorKind::Toolchain, format!("cannot run `{command_line}`")).with_source(error);
    let mut child = command.spawn().map_err(failed)?;
    let stdout = read(child.stdout.take());
    let stderr = read(child.stderr.take());
    let deadline = Instant::now() + limit.min(LONGEST);
    let outcome = wait(&mut child, &stdout, &stderr, deadline).map_err(failed)?;
    let Some((status, stdout, stderr)) = outcome else {
        return Err(Error::new(
            ErrorKind::Toolchain,
            format!(
                "a tool did not end within {} and was ended; if it needs longer, raise the limit with \
                 `Config::tool_limit`; the command was: {command_line}",
                seconds(limit)
            ),
        ));
    };
    Ok(Run {
        success: status.success(),
        stdout,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        command_line,
        status: status.to_string(),
    })
}

fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}

/// Reads a pipe to its end on a thread of its own, which ends with the pipe's last writer.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
        // Nobody listens any more where the limit passed.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

type Words = Receiver<std::io::Result<Vec<u8>>>;
/// How a program ended, its output and its errors.
type Ended = (ExitStatus, Vec<u8>, Vec<u8>);

/// The end of a program and what it wrote; `None`, and the program is ended, where that takes too
/// long.
fn wait(
    child: &mut Child,
    stdout: &Words,
    stderr: &Words,
    deadline: Instant,
) -> std::io::Result<Option<Ended>> {
    let words = |pipe: &Words| match pipe.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(words) => words.map(Some),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Ok(Some(Vec::new())),
    };
    // Both pipes are closed when the program ends, if not earlier.
    if let (Some(stdout), Some(stderr)) = (words(stdout)?, words(stderr)?) {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some((status, stdout, stderr)));
            }
            if Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

impl Run {
    /// The error of a run that failed: what it was about, the tool's words, its end, the command
    /// line.
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
