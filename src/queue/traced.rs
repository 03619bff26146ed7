//! Reports the commands of a queue to the crate `tracing`.

use std::sync::Arc;

use super::Queue;
use crate::command::{self, CommandKind, GraphCommand, KernelCall};
use crate::driver::event::device_now;
use crate::event::{Known, Profiling, now_ns};
use crate::graph;
use crate::graph::NodeTimes;
use crate::range::NdRange;
use crate::trace::{self, Measured, Ran};
use crate::{Command, Event, Result};

/// The readings of the clocks that commands are measured by.
struct Clocks {
    /// `None` where the driver does not say.
    device_ns: Option<u64>,
    host_ns: u64,
}

impl Clocks {
    fn ran(&self, name: String, nodes: Vec<usize>, on_host: bool, times: Profiling) -> Ran {
        let now = if on_host { Some(self.host_ns) } else { self.device_ns };
        let ago_ns =
            now.map(|now| (now.saturating_sub(times.started_ns), now.saturating_sub(times.ended_ns)));
        Ran { name, nodes, on_host, times, ago_ns }
    }
}

impl Queue {
    /// Puts a command on the queue, or gives it to what records the queue.
    pub(super) fn submit_traced(&self, command: Command) -> Result<Event> {
        trace::submit(
            self.track(),
            command,
            |command| {
                let executable = match command.kind() {
                    CommandKind::Graph(executable) => Some(Arc::clone(executable)),
                    _ => None,
                };
                (graph::title(command.name(), command.kind()), executable)
            },
            |command| command::submit(self, command),
            |name, executable, event| self.measured(name, executable.as_ref(), event),
        )
    }

    /// The same for a kernel for which [`command::is_direct`] holds.
    #[inline]
    pub(super) fn submit_direct_traced(&self, range: &NdRange, call: KernelCall) -> Result<Event> {
        trace::submit(
            self.track(),
            call,
            |call| (format!("kernel {}", call.kernel_name()), ()),
            |call| command::submit_direct(self, range, &call),
            |name, (), event| self.measured(name, None, event),
        )
    }

    /// Reports a command of a queue with profiling when it has ended.
    fn measured(
        &self,
        name: String,
        executable: Option<&Arc<dyn GraphCommand>>,
        event: &Event,
    ) -> Option<Measured> {
        if !self.driver().properties().profiling || event.recorded().is_some() {
            return None;
        }
        let asked = event.clone();
        let (event, device) = (event.clone(), self.device().clone());
        let by_node = executable.and_then(graph::measured);
        let ran = move || {
            let clocks = Clocks { device_ns: device_now(&device), host_ns: now_ns() };
            if let Some(nodes) = by_node.and_then(|by_node| by_node.ran(&event)) {
                let ran = |node: NodeTimes| clocks.ran(node.name, node.nodes, node.on_host, node.times);
                return nodes.into_iter().map(ran).collect();
            }
            // A failed command has no times.
            let Ok(times) = event.profiling() else { return Vec::new() };
            let on_host = matches!(event.known(), Ok(Known::Done));
            vec![clocks.ran(name, Vec::new(), on_host, times)]
        };
        Some(Measured { has_ended: Box::new(move || asked.has_ended()), ran: Box::new(ran) })
    }
}
