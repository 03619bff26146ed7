//! Timelines: when the nodes of a graph ran.

use std::fmt::Write as _;

use super::executable::{ExecutableGraph, PartitionInfo};
use crate::{Error, Event, Profiling, Result};

/// When the commands of one submission of a graph ran; from [`ExecutableGraph::timeline`].
#[derive(Debug, Clone)]
pub struct Timeline {
    graph: u64,
    nodes: Vec<NodeTimes>,
    /// From the host's clock to the device's, about.
    host_shift_ns: i64,
}

/// When a node ran, or a command buffer with several.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NodeTimes {
    /// The numbers of the nodes ([`Node::index`](super::Node::index)), those of a sub-graph by its number: one, unless they are in a
    /// command buffer or a segment of the interpreter, inside which nothing is measured.
    pub nodes: Vec<usize>,
    /// What it is: `kernel saxpy`, `memcpy`.
    pub name: String,
    /// The partition that it is in.
    pub partition: usize,
    /// Whether it is a host task.
    pub on_host: bool,
    /// When. Host tasks are measured on the host's clock, all else on the device's.
    pub times: Profiling,
}

impl Timeline {
    /// The nodes, partition by partition.
    pub fn nodes(&self) -> &[NodeTimes] {
        &self.nodes
    }

    /// As a Chrome trace in JSON, which `chrome://tracing` and Perfetto show: an event for each node on the track of its
    /// partition. Times are microseconds since the first start. As host and device have different clocks, host tasks are
    /// drawn as early as they can have run: one of them right behind what it waited for.
    pub fn to_chrome_trace(&self) -> String {
        let start = |node: &NodeTimes| {
            let shift = if node.on_host { self.host_shift_ns } else { 0 };
            node.times.started_ns.saturating_add_signed(shift)
        };
        let origin = self.nodes.iter().map(start).min().unwrap_or(0);
        let micros = |ns: u64| ns as f64 / 1000.0;
        let mut json = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        for (at, node) in self.nodes.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(
                json,
                "{separator}\n{{\"name\":\"{}\",\"cat\":\"graph {}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3},\"dur\":{:.3},\"args\":{{\"nodes\":{:?}}}}}",
                escaped(&node.name),
                self.graph,
                self.graph,
                node.partition,
                micros(start(node).saturating_sub(origin)),
                micros(node.times.ended_ns.saturating_sub(node.times.started_ns)),
                node.nodes,
            );
        }
        json.push_str("\n]}\n");
        json
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

impl ExecutableGraph {
    /// When each command ran in the submission that the event is of, which must have ended. With
    /// [`ReplayStrategy::Enqueue`](super::ReplayStrategy::Enqueue) node by node, with command buffers from their begin to their end.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the event is of something else; [`Profiling`](crate::ErrorKind::Profiling) when the graph was finalized
    /// without [`profiling`](super::Finalizer::profiling), the queue was built without it, or the submission has not ended.
    pub fn timeline(&self, event: &Event) -> Result<Timeline> {
        let partitions = self.partitions();
        let events: &[Event] = match event.parts_of(self.id()) {
            Some(parts) => parts,
            None if self.is_one_device_part() => std::slice::from_ref(event),
            None if partitions.is_empty() => &[],
            None => return Err(self.not_of_this()),
        };
        // Where the queue that it was submitted to is without profiling, or it has not ended.
        event.profiling().map_err(|error| self.at(error))?;
        let waits: Vec<Vec<usize>> = partitions.iter().map(|partition| partition.after.clone()).collect();
        let mut nodes = Vec::new();
        for (index, (partition, event)) in partitions.into_iter().zip(events).enumerate() {
            match partition.strategy {
                None => nodes.push(NodeTimes {
                    name: "host_task".to_owned(),
                    nodes: partition.nodes,
                    partition: index,
                    on_host: true,
                    times: event.profiling()?,
                }),
                Some(_) => self.add_measured(index, partition, event, &mut nodes)?,
            }
        }
        Ok(Timeline { graph: self.id(), host_shift_ns: host_shift(&nodes, &waits), nodes })
    }

    fn add_measured(
        &self,
        index: usize,
        partition: PartitionInfo,
        event: &Event,
        nodes: &mut Vec<NodeTimes>,
    ) -> Result<()> {
        let (sequence, commands) = self.commands_of(index);
        if commands.is_empty() {
            return Ok(());
        }
        let Some(measured) = event.measured().filter(|measured| measured.sequence == sequence) else {
            return Err(self.not_of_this());
        };
        match self.measures_steps(index) {
            true => {
                for ((of_step, name), event) in commands.into_iter().zip(&measured.events) {
                    let times = event.profiling()?;
                    nodes.push(NodeTimes { nodes: of_step, name, partition: index, on_host: false, times });
                }
            }
            false => nodes.push(NodeTimes {
                name: "command buffers".to_owned(),
                nodes: partition.nodes,
                partition: index,
                on_host: false,
                times: event.profiling()?,
            }),
        }
        Ok(())
    }

    fn not_of_this(&self) -> Error {
        self.at(Error::invalid("the event is not of a submission of this graph"))
    }
}

/// What to add to the host's times such that no host task began before the end of what its partition waits for.
fn host_shift(nodes: &[NodeTimes], waits: &[Vec<usize>]) -> i64 {
    let between = |from: u64, to: u64| to.wrapping_sub(from) as i64;
    let on_host = |wanted: bool| nodes.iter().filter(move |node| node.on_host == wanted);
    let mut ends = vec![None; waits.len()];
    for node in on_host(false) {
        if let Some(end) = ends.get_mut(node.partition) {
            *end = (*end).max(Some(node.times.ended_ns));
        }
    }
    let behind = on_host(true).flat_map(|node| {
        let waits = waits.get(node.partition).into_iter().flatten();
        let ends = waits.filter_map(|wait| ends.get(*wait).copied().flatten());
        ends.map(|end| between(node.times.started_ns, end))
    });
    let first = |wanted: bool| on_host(wanted).map(|node| node.times.started_ns).min();
    let together = || Some(between(first(true)?, first(false)?));
    behind.max().or_else(together).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(partition: usize, on_host: bool, started_ns: u64, ended_ns: u64) -> NodeTimes {
        let times = Profiling { queued_ns: 0, submitted_ns: 0, started_ns, ended_ns };
        NodeTimes { nodes: vec![partition], name: String::new(), partition, on_host, times }
    }

    #[test]
    fn host_tasks_are_drawn_behind_what_they_waited_for() {
        let nodes = [node(0, false, 900_000, 905_000), node(1, true, 20, 30), node(2, true, 50, 60)];
        assert_eq!(host_shift(&nodes, &[vec![], vec![0], vec![]]), 904_980);
        assert_eq!(host_shift(&nodes, &[vec![], vec![], vec![]]), 899_980);
        assert_eq!(host_shift(&nodes[1..], &[vec![], vec![], vec![1]]), 0);
        let timeline = Timeline { graph: 3, nodes: nodes.into(), host_shift_ns: 904_980 };
        let trace = timeline.to_chrome_trace();
        for ts in ["\"ts\":0.000,\"dur\":5.000", "\"ts\":5.000,\"dur\":0.010", "\"ts\":5.030"] {
            assert!(trace.contains(ts), "{trace}");
        }
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\u000ad");
    }
}
