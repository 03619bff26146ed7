//! Environment variables with values that are looked at: what is no such value is reported.

use std::collections::BTreeSet;

use crate::driver::sync::Mutex;

/// The value of a switch: `0` or `off`, `1` or `on`. `None` where it is not set, empty, or something
/// else.
pub(crate) fn switch(name: &'static str) -> Option<bool> {
    let value = value(name)?;
    let known = parse_switch(&value);
    if known.is_none() {
        report(name, &value, "0, off, 1 or on");
    }
    known
}

/// The number that a variable has, if any.
pub(crate) fn number(name: &'static str) -> Option<u64> {
    let value = value(name)?;
    let known = value.parse().ok();
    if known.is_none() {
        report(name, &value, "a number");
    }
    known
}

/// The value of a variable that is set and not empty.
fn value(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    (!value.is_empty()).then(|| value.to_string_lossy().into_owned())
}

fn parse_switch(value: &str) -> Option<bool> {
    match value {
        "0" | "off" => Some(false),
        "1" | "on" => Some(true),
        _ => None,
    }
}

/// Logs a value that is not known, once for each variable.
fn report(name: &'static str, value: &str, expected: &str) {
    static REPORTED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if REPORTED.lock().insert(name) {
        log::warn!("the environment variable {name} is \"{value}\", which is not {expected}; it is ignored");
    }
}
