//! What became of a case.

use std::fmt;

/// What became of a case on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The results are right; with a remark on how they came about, or none.
    Pass(String),
    /// The results are wrong, or a call failed.
    Fail(String),
    /// The device lacks what the case asks for.
    Skip(String),
    /// oclave or the driver refused to build the program or the kernel.
    Refused(String),
    /// The process ended.
    Crash(String),
    /// The process was stopped.
    Timeout(String),
}

impl Outcome {
    /// The word for reports.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Pass(_) => "pass",
            Self::Fail(_) => "fail",
            Self::Skip(_) => "skip",
            Self::Refused(_) => "refused",
            Self::Crash(_) => "crash",
            Self::Timeout(_) => "timeout",
        }
    }

    /// Why, or how.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Pass(text)
            | Self::Fail(text)
            | Self::Skip(text)
            | Self::Refused(text)
            | Self::Crash(text)
            | Self::Timeout(text) => text,
        }
    }

    /// The outcome of a word of [`Outcome::word`].
    pub(crate) fn of(word: &str, reason: &str) -> Option<Self> {
        let reason = reason.to_owned();
        Some(match word {
            "pass" => Self::Pass(reason),
            "fail" => Self::Fail(reason),
            "skip" => Self::Skip(reason),
            "refused" => Self::Refused(reason),
            "crash" => Self::Crash(reason),
            "timeout" => Self::Timeout(reason),
            _ => return None,
        })
    }
}

/// The remark on memory that is bit by bit as after the driver's own compiler.
pub(crate) const EQUAL: &str = "equal";
/// Begins the remark on memory in which floating-point numbers differ by little.
pub(crate) const CLOSE: &str = "close: ";
/// Begins the reason of a case whose memory differs in another way.
pub(crate) const DIFFERENT: &str = "different: ";
/// The remark on a case that leaves all memory as it was.
pub(crate) const NOTHING_WRITTEN: &str = "writes nothing new";

/// How a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// By the driver's own compiler, from source.
    Source,
    /// By oclave, launched.
    Launch,
    /// By oclave, as nodes of a graph that the interpreter runs.
    Graph,
    /// By Oclgrind, from source. It finds wrong accesses, and does not look at results.
    Check,
}

impl Mode {
    /// Those that compare results, in the order of reports.
    pub(crate) const ALL: [Self; 3] = [Self::Source, Self::Launch, Self::Graph];

    /// The mode of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Check]).find(|mode| mode.to_string() == name)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Launch => "launch",
            Self::Graph => "graph",
            Self::Check => "check",
        })
    }
}

/// A text on one line, without tabs, of at most 600 bytes.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut text = words.join(" / ").replace('\t', " ");
    if text.len() > 600 {
        let mut end = 600;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
