//! What tests of the text that kernels print have in common.

use std::sync::{Arc, Mutex, OnceLock};

use log::{Level, LevelFilter, Log, Metadata, Record};
use oclave::context::ContextBuilder;
use oclave::kernel::Printed;
use oclave::{Context, Queue};

/// The output of kernels.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<Printed>>>);

impl Lines {
    pub(crate) fn push(&self, line: &Printed) {
        self.0.lock().unwrap().push(line.clone());
    }

    pub(crate) fn take(&self) -> Vec<Printed> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.take().iter().map(ToString::to_string).collect()
    }
}

/// A builder for the device; `None`, after saying why, where the library cannot take the text.
pub(crate) fn builder() -> Option<ContextBuilder> {
    let device = super::context()?.device().clone();
    if device.capabilities().memory().is_some_and(|memory| !memory.host && !memory.shared) {
        println!("skipped: the host does not reach the device's memory");
        return None;
    }
    Some(Context::builder(&[device]))
}

/// A context and a queue whose kernels print to a list.
pub(crate) fn setting() -> Option<(Context, Queue, Lines)> {
    let lines = Lines::default();
    let to = lines.clone();
    let context = builder()?.printf(move |line| to.push(line)).build().unwrap();
    let queue = Queue::new(&context).unwrap();
    Some((context, queue, lines))
}

/// Keeps the records of one target.
pub(crate) struct KeptLog {
    target: &'static str,
    records: Mutex<Vec<(Level, String)>>,
}

impl KeptLog {
    /// Makes it the logger of the process, which can be done once.
    pub(crate) fn install(target: &'static str, level: LevelFilter) -> &'static Self {
        static KEPT: OnceLock<KeptLog> = OnceLock::new();
        let kept = KEPT.get_or_init(|| Self { target, records: Mutex::default() });
        log::set_logger(kept).unwrap();
        log::set_max_level(level);
        kept
    }

    pub(crate) fn take(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut self.records.lock().unwrap())
    }
}

impl Log for KeptLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == self.target
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.records.lock().unwrap().push((record.level(), record.args().to_string()));
        }
    }

    fn flush(&self) {}
}
