//! Timelines: when the nodes of a graph ran.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::partitions::PartitionInfo;
use crate::MakeError as _;
use crate::driver::step::Step;
use crate::event::Profiling;
use crate::graph::exec::options::ReplayStrategy;
use crate::graph::exec::prepare::Steps;
use crate::graph::executable::layout::Layout;
use crate::graph::executable::loops::LoopTimes;
use crate::graph::executable::names::Names;
use crate::graph::executable::part::Part;
use crate::graph::executable::prepared::Prepared;
use crate::graph::model::describe::title;
use crate::{Error, Event, Result};

/// When the commands of one submission of a graph ran; from
/// [`ExecutableGraph::timeline`](crate::graph::ExecutableGraph::timeline).
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
    /// The numbers of the nodes ([`Node::index`](crate::graph::Node::index)); nodes of a sub-graph have
    /// its number. There is one node, except for command buffers and segments of the interpreter,
    /// whose nodes are not measured one by one.
    pub nodes: Vec<usize>,
    /// Its title: `kernel saxpy`, `solve/copy: memcpy`.
    pub name: String,
    /// The names of those nodes that have one ([`Node::name`](crate::graph::Node::name)), in their order.
    pub names: Vec<String>,
    /// The partition that it is in.
    pub partition: usize,
    /// Whether it is a host task.
    pub on_host: bool,
    /// When. Host tasks, loops and conditions are measured on the host's clock, all else on the device's.
    pub times: Profiling,
    /// How often a loop ran: this node, if it is one, and then the loops inside of it, outer ones first.
    pub loops: Vec<LoopTimes>,
}

impl Timeline {
    /// The nodes, partition by partition.
    pub fn nodes(&self) -> &[NodeTimes] {
        &self.nodes
    }

    /// As a Chrome trace in JSON, which `chrome://tracing` and Perfetto show. Each node is an event
    /// on the track of its partition. While other nodes run there, it is on a further track of the
    /// partition. Times are microseconds since the first start. Host and device have different
    /// clocks, so host tasks are drawn as early as they can have run. A task begins right after the
    /// nodes that it waited for. A loop has a further track for its iterations, or for the launches of the interpreter, as they
    /// ran on the device. Its arguments have the numbers of iterations.
    pub fn to_chrome_trace(&self) -> String {
        let spans = self.nodes.iter().flat_map(|node| &node.loops).flat_map(|of| &of.spans);
        let spans = spans.filter_map(|span| span.times.map(|times| times.started_ns));
        let origin = self.nodes.iter().map(|node| self.start(node)).chain(spans).min().unwrap_or(0);
        let graph = self.graph;
        let lanes = self.lanes();
        let tracks: BTreeSet<(usize, usize)> =
            self.nodes.iter().zip(&lanes).map(|(node, lane)| (node.partition, *lane)).collect();
        let mut events = vec![format!(
            "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{graph},\"args\":{{\"name\":\"graph {graph}\"}}}}"
        )];
        events.extend(tracks.iter().enumerate().map(|(track, (partition, lane))| {
            let beside = if *lane == 0 { String::new() } else { format!(", beside ({lane})") };
            track_event(graph, track, &format!("partition {partition}{beside}"))
        }));
        let numbers: BTreeMap<_, usize> = tracks.iter().zip(0..).collect();
        events.extend(self.nodes.iter().zip(&lanes).map(|(node, lane)| {
            let names = match node.names.as_slice() {
                [] => String::new(),
                names => {
                    let names: Vec<String> =
                        names.iter().map(|name| format!("\"{}\"", escaped(name))).collect();
                    format!(",\"names\":[{}]", names.join(","))
                }
            };
            let loops: Vec<String> = node.loops.iter().map(loop_arguments).collect();
            let names = match loops.is_empty() {
                true => names,
                false => format!("{names},\"loops\":[{}]", loops.join(",")),
            };
            let track = numbers.get(&(node.partition, *lane)).copied().unwrap_or(0);
            let start = self.start(node).saturating_sub(origin);
            let arguments = format!("\"nodes\":{:?}{names}", node.nodes);
            span_event(graph, track, &escaped(&node.name), start, &node.times, &arguments)
        }));
        events.extend(self.spans(tracks.len(), origin));
        format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
    }

    /// The iterations of loops, on tracks of their own from a number on.
    fn spans(&self, first: usize, origin: u64) -> Vec<String> {
        let graph = self.graph;
        let mut events = Vec::new();
        let loops = self.nodes.iter().flat_map(|node| node.loops.iter().map(move |of| (node.partition, of)));
        let with_spans = loops.filter(|(_, of)| of.spans.iter().any(|span| span.times.is_some()));
        for (track, (partition, of)) in (first..).zip(with_spans) {
            let title = format!("partition {partition}, {} {}", of.name, of.node);
            events.push(track_event(graph, track, &title));
            let mut number = 0;
            for span in &of.spans {
                let name = match span.iterations {
                    1 => format!("iteration {number}"),
                    count => format!("iterations {number} to {}", number + count - 1),
                };
                number += span.iterations;
                let Some(times) = span.times else { continue };
                let start = times.started_ns.saturating_sub(origin);
                let arguments = format!("\"iterations\":{}", span.iterations);
                events.push(span_event(graph, track, &name, start, &times, &arguments));
            }
        }
        events
    }

    pub(super) fn into_nodes(self) -> Vec<NodeTimes> {
        self.nodes
    }

    /// Gives each entry the names of its nodes.
    pub(super) fn with_names(mut self, names: &Names) -> Self {
        for node in &mut self.nodes {
            node.names = names.of_nodes(node.nodes.iter().copied());
        }
        self
    }

    /// When a node began, on the device's clock.
    fn start(&self, node: &NodeTimes) -> u64 {
        let shift = if node.on_host { self.host_shift_ns } else { 0 };
        node.times.started_ns.saturating_add_signed(shift)
    }

    /// For each node the first lane of its partition where nothing runs while it does.
    fn lanes(&self) -> Vec<usize> {
        let mut order: Vec<(usize, &NodeTimes)> = self.nodes.iter().enumerate().collect();
        order.sort_by_key(|(_, node)| self.start(node));
        let mut ends: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut lanes = vec![0; self.nodes.len()];
        for (at, node) in order {
            let ends = ends.entry(node.partition).or_default();
            let start = self.start(node);
            let lane = ends.iter().position(|end| *end <= start).unwrap_or_else(|| {
                ends.push(0);
                ends.len() - 1
            });
            let took = node.times.ended_ns.saturating_sub(node.times.started_ns);
            if let Some(end) = ends.get_mut(lane) {
                *end = start.saturating_add(took);
            }
            if let Some(place) = lanes.get_mut(at) {
                *place = lane;
            }
        }
        lanes
    }
}

/// The event of a Chrome trace that names a track.
fn track_event(graph: u64, track: usize, name: &str) -> String {
    format!(
        "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{graph},\"tid\":{track},\"args\":{{\"name\":\"{name}\"}}}}"
    )
}

/// The event of a Chrome trace for what took `times`, `start` nanoseconds after the origin.
fn span_event(
    graph: u64,
    track: usize,
    name: &str,
    start: u64,
    times: &Profiling,
    arguments: &str,
) -> String {
    let duration = times.ended_ns.saturating_sub(times.started_ns);
    format!(
        "{{\"name\":\"{name}\",\"cat\":\"graph {graph}\",\"ph\":\"X\",\"pid\":{graph},\"tid\":{track},\"ts\":{:.3},\"dur\":{:.3},\"args\":{{{arguments}}}}}",
        micros(start),
        micros(duration),
    )
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// A loop in the arguments of an event.
fn loop_arguments(of: &LoopTimes) -> String {
    let LoopTimes { node, name, iterations, .. } = of;
    let mean = of.mean().map(|mean| format!(",\"mean_us\":{:.3}", mean.as_secs_f64() * 1e6));
    let mean = mean.unwrap_or_default();
    format!("{{\"node\":{node},\"loop\":\"{name}\",\"iterations\":{iterations}{mean}}}")
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

/// A partition, with what is measured of it.
pub(super) struct TimedPart {
    /// Its place among all partitions.
    index: usize,
    info: PartitionInfo,
    /// The title of its first command.
    name: String,
    /// `None` for a host task, a loop or a condition.
    sequence: Option<TimedSequence>,
}

struct TimedSequence {
    id: u64,
    /// Whether each command is measured for itself.
    by_command: bool,
    /// For each command the numbers of its nodes, and what it is.
    commands: Vec<(Vec<usize>, String)>,
}

impl TimedPart {
    /// Those that do something: an event from outside does not.
    pub(super) fn all(layout: &Layout, prepared: &Prepared) -> Vec<Self> {
        let timed = |(index, info)| {
            let sequence = prepared.part(index).map(|part| TimedSequence {
                id: part.tuned.exec.steps.sequence.id(),
                by_command: part.tuned.exec.replay.strategy() == ReplayStrategy::Enqueue,
                commands: commands_of(index, part, layout, prepared),
            });
            let node = layout.partitions.get(index).and_then(|partition| partition.nodes.first());
            let name = node.and_then(|node| {
                let node = *node as usize;
                let command = prepared.commands.get(node)?;
                Some(title(layout.names.of(&layout.flat, node), &command))
            });
            Self { index, info, name: name.unwrap_or_default(), sequence }
        };
        let all = PartitionInfo::all(layout, prepared).into_iter().enumerate();
        all.filter(|(index, _)| !layout.is_external(*index)).map(timed).collect()
    }
}

/// When each command ran in the submission that the event is of, of the graph with this number: see
/// [`ExecutableGraph::timeline`](crate::graph::ExecutableGraph::timeline).
pub(super) fn of_event(id: u64, parts: Vec<TimedPart>, event: &Event) -> Result<Timeline> {
    let events: &[Event] = match (event.parts_of(id), parts.as_slice()) {
        (Some(events), _) => events,
        (None, [TimedPart { sequence: Some(_), .. }]) => std::slice::from_ref(event),
        (None, []) => &[],
        (None, _) => return Err(not_of_this()),
    };
    // Where the queue that it was submitted to is without profiling, or it has not ended.
    event.profiling()?;
    let count = parts.iter().map(|part| part.index + 1).max().unwrap_or(0);
    let mut waits: Vec<Vec<usize>> = vec![Vec::new(); count];
    for part in &parts {
        if let Some(waits) = waits.get_mut(part.index) {
            waits.clone_from(&part.info.after);
        }
    }
    let mut nodes = Vec::new();
    for (TimedPart { index, info, name, sequence }, event) in parts.into_iter().zip(events) {
        match sequence {
            None => nodes.push(NodeTimes {
                name,
                names: Vec::new(),
                nodes: info.nodes,
                partition: index,
                on_host: true,
                times: event.profiling()?,
                loops: LoopTimes::of_event(event),
            }),
            Some(sequence) => add_measured(index, info, sequence, event, &mut nodes)?,
        }
    }
    Ok(Timeline { graph: id, host_shift_ns: host_shift(&nodes, &waits), nodes })
}

fn add_measured(
    index: usize,
    info: PartitionInfo,
    TimedSequence { id, by_command, commands }: TimedSequence,
    event: &Event,
    nodes: &mut Vec<NodeTimes>,
) -> Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    let measured = event.measured().filter(|measured| measured.sequence == id);
    let measured = measured.ok_or_else(not_of_this)?;
    match by_command {
        true => {
            for ((of_step, name), event) in commands.into_iter().zip(&measured.events) {
                let times = event.profiling()?;
                nodes.push(NodeTimes {
                    nodes: of_step,
                    name,
                    names: Vec::new(),
                    partition: index,
                    on_host: false,
                    times,
                    loops: Vec::new(),
                });
            }
        }
        false => nodes.push(NodeTimes {
            name: "command buffers".to_owned(),
            names: Vec::new(),
            nodes: info.nodes,
            partition: index,
            on_host: false,
            times: event.profiling()?,
            loops: Vec::new(),
        }),
    }
    Ok(())
}

/// For each command of a part the numbers of its nodes, and what it is.
fn commands_of(index: usize, part: &Part, layout: &Layout, prepared: &Prepared) -> Vec<(Vec<usize>, String)> {
    let sequence = &part.tuned.exec.steps.sequence;
    let mut steps: Vec<(Vec<usize>, String)> = vec![(Vec::new(), String::new()); sequence.len()];
    for node in layout.partitions.get(index).iter().flat_map(|partition| &partition.nodes) {
        let (Some(Steps::One(step) | Steps::Task { step, .. }), Some(command)) =
            (prepared.steps(*node), prepared.commands.get(*node as usize))
        else {
            continue;
        };
        if let Some((nodes, name)) = steps.get_mut(*step as usize) {
            nodes.push(layout.flat.origin(*node as usize) as usize);
            *name = match nodes.len() {
                1 => title(layout.names.of(&layout.flat, *node as usize), &command),
                count => format!("segment of {count} nodes"),
            };
        }
    }
    let is_join = |index: usize| sequence.step(index).is_none_or(Step::is_join);
    steps.into_iter().enumerate().filter(|(index, _)| !is_join(*index)).map(|(_, step)| step).collect()
}

fn not_of_this() -> Error {
    Error::invalid("the event is not of a submission of this graph as it is prepared now")
        .remedy("ask for the timeline of a submission before the graph is updated or submitted again")
}

/// What to add to the host's times such that no host task began before the end of what its
/// partition waits for.
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
    // Nor does a loop end before its last iteration.
    let around = on_host(true).filter_map(|node| {
        let spans = node.loops.iter().flat_map(|of| &of.spans).filter_map(|span| span.times);
        Some(between(node.times.ended_ns, spans.map(|times| times.ended_ns).max()?))
    });
    let behind = behind.chain(around);
    let first = |wanted: bool| on_host(wanted).map(|node| node.times.started_ns).min();
    let together = || Some(between(first(true)?, first(false)?));
    behind.max().or_else(together).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(partition: usize, on_host: bool, started_ns: u64, ended_ns: u64) -> NodeTimes {
        let times = Profiling::new([0, 0, started_ns, ended_ns]);
        NodeTimes {
            nodes: vec![partition],
            name: String::new(),
            names: Vec::new(),
            partition,
            on_host,
            times,
            loops: Vec::new(),
        }
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
    fn what_runs_side_by_side_is_drawn_on_tracks_of_its_own() {
        let nodes =
            [node(0, false, 0, 10), node(0, false, 5, 20), node(0, false, 10, 15), node(1, false, 6, 7)];
        let timeline = Timeline { graph: 3, nodes: nodes.into(), host_shift_ns: 0 };
        assert_eq!(timeline.lanes(), [0, 1, 0, 0]);
        let trace = timeline.to_chrome_trace();
        for track in [
            "\"tid\":0,\"args\":{\"name\":\"partition 0\"}",
            "\"tid\":1,\"args\":{\"name\":\"partition 0, beside (1)\"}",
            "\"tid\":2,\"args\":{\"name\":\"partition 1\"}",
            "\"tid\":1,\"ts\":0.005,\"dur\":0.015",
            "\"tid\":2,\"ts\":0.006,\"dur\":0.001",
        ] {
            assert!(trace.contains(track), "{trace}");
        }
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\u000ad");
    }
}
