//! What conformance tests share.

use std::process::Command;

use oclave::device::mask::Mask;
use oclave::{Context, Device, Queue};

/// Ends the test as skipped, for a reason: `skip!("no fp64 on {device}")`. The report shows the
/// reason; a silent `return` in a test would count as passed.
macro_rules! skip {
    ($($reason:tt)*) => {{
        println!("skipped: {}", format_args!($($reason)*));
        return;
    }};
}

/// The selected device; or `None`, after saying why there is none: `let Some(device) = device()
/// else { return };`.
pub(crate) fn device() -> Option<Device> {
    match Device::select() {
        Ok(device) => {
            println!("device: {} ({})", device.name(), device.platform().name());
            Some(device)
        }
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// In-order queues on the selected device: one on the device as it is, and one for each mask that
/// hides a capability.
///
/// A scenario must give the same results by every code path. Each queue has its own context. Empty,
/// after saying why, when there is no device.
pub(crate) fn queues(masks: &[Mask]) -> Vec<Queue> {
    let Some(device) = device() else { return Vec::new() };
    let mut devices = vec![device.clone()];
    for mask in masks {
        let masked = device.masked(*mask);
        if masked.capabilities() != device.capabilities() {
            devices.push(masked);
        }
    }
    devices
        .iter()
        .map(|device| {
            println!("masked: {:?}", device.mask());
            Queue::new(&Context::new(device).unwrap()).unwrap()
        })
        .collect()
}

/// Set in the process that [`output_of`] starts.
const SPEAKS: &str = "OCLAVE_TEST_SPEAKS";

/// Whether this process is the one whose output a test looks at.
pub(crate) fn speaks() -> bool {
    std::env::var_os(SPEAKS).is_some()
}

/// What a test of this program, with its modules in its name, prints in a process of its own.
pub(crate) fn output_of(test: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", "--nocapture", test]).env(SPEAKS, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The masks that change how device globals are attached.
pub(crate) const DEVICE_GLOBAL_MASKS: [Mask; 2] =
    [Mask::GLOBAL_VARIABLE_ACCESS, Mask::PROGRAM_SCOPE_VARIABLES];
