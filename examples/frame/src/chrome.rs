//! A subscriber that makes a Chrome trace.

use std::collections::HashMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Clones write to the same trace.
#[derive(Clone)]
pub(crate) struct Chrome(Arc<(Instant, Mutex<State>)>);

#[derive(Default)]
struct State {
    spans: HashMap<u64, Span>,
    last_id: u64,
    events: Vec<String>,
}

struct Span {
    name: &'static str,
    fields: Fields,
    /// When it was entered, in nanoseconds since the begin of the trace.
    entered: u64,
}

/// Fields by name, as JSON.
#[derive(Default)]
struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), format!("\"{}\"", escaped(value))));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name(), value.to_string()));
    }
}

impl Fields {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    fn json(&self) -> String {
        let fields: Vec<String> = self.0.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        fields.join(",")
    }
}

impl Default for Chrome {
    fn default() -> Self {
        Self(Arc::new((Instant::now(), Mutex::default())))
    }
}

impl Chrome {
    /// What was written until now.
    pub(crate) fn trace(&self) -> String {
        format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", self.state().events.join(",\n"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.0.0.elapsed().as_nanos() as u64
    }
}

/// Something that took time, on a track.
fn bar(name: &str, track: &str, (start, end): (u64, u64), fields: &Fields) -> String {
    let micros = |ns: u64| ns as f64 / 1000.0;
    format!(
        "{{\"name\":\"{name}\",\"ph\":\"X\",\"pid\":1,\"tid\":\"{track}\",\"ts\":{:.3},\"dur\":{:.3},\"args\":{{{}}}}}",
        micros(start),
        micros(end.saturating_sub(start)),
        fields.json()
    )
}

impl Subscriber for Chrome {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        state.spans.insert(id, Span { name: span.metadata().name(), fields, entered: 0 });
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(span) = self.state().spans.get_mut(&id.into_u64()) {
            values.record(&mut span.fields);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    /// The times of commands of the device are events, which are told later.
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if event.metadata().target() != "oclave::device" {
            return;
        }
        let now = self.now();
        let took = fields.number("ended_ns").zip(fields.number("started_ns"));
        let took = took.map_or(0, |(ended, started)| ended.saturating_sub(started));
        // Without a clock of the device, it has ended just now.
        let end = now.saturating_sub(fields.number("ended_ago_ns").unwrap_or(0));
        let track = if fields.get("on_host") == Some("true") { "host tasks" } else { "device" };
        let name = fields.get("command").unwrap_or("\"command\"").trim_matches('"').to_owned();
        let bar = bar(&name, track, (end.saturating_sub(took), end), &fields);
        self.state().events.push(bar);
    }

    fn enter(&self, id: &Id) {
        let now = self.now();
        if let Some(span) = self.state().spans.get_mut(&id.into_u64()) {
            span.entered = now;
        }
    }

    fn exit(&self, id: &Id) {
        let now = self.now();
        let thread = std::thread::current();
        let track = escaped(thread.name().unwrap_or("another thread"));
        let mut state = self.state();
        if let Some(span) = state.spans.get(&id.into_u64()) {
            let name = span.fields.get("otel.name").map_or(span.name, |name| name.trim_matches('"'));
            let bar = bar(name, &track, (span.entered, now), &span.fields);
            state.events.push(bar);
        }
    }

    fn try_close(&self, id: Id) -> bool {
        self.state().spans.remove(&id.into_u64()).is_some()
    }
}

/// Text for the inside of a JSON string.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
        out
    })
}
