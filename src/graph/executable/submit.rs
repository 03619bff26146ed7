//! How a graph is submitted.
//!
//! A graph that is one partition for the device is one command. Other graphs run on an internal
//! queue, out of order, each partition after those that it depends on. On the user's queue, only a
//! start marker and an end marker appear. The end marker has the graph's event. Submissions of one graph
//! share the internal queue, and so do graphs that do not run at the same time.
//!
//! If all partitions come after one for the device, that one is on the user's queue instead of the start
//! marker. The same holds for the end. A wait across queues costs more than a small kernel: 50 to 70 µs on Intel.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::awaited::{NodePromises, of_another_graph};
use super::bound::{BoundGraph, OutsideSource};
use super::control::{ControlRun, PartOf};
use super::handle::ExecutableGraph;
use super::put::Put;
use crate::MakeError as _;
use crate::command::{GraphCommand, GraphPart, Outside, PreparedCommand, submit_prepared};
use crate::driver::queue::Properties;
use crate::event::{Outcome, Promise};
use crate::graph::model::node::Node;
use crate::graph::plan::partition::Partition;
use crate::handles::with_slice;
use crate::{Error, Event, Queue, Result};

impl ExecutableGraph {
    /// The graph with an event for its next submission: nodes that wait for `outside` wait for `event`
    /// then. It may be of any queue and any context. Events in sub-graphs are given in the same way.
    ///
    /// Submissions that give no event wait for that of the recording, which has most often ended by
    /// then. Events of [`external_event`](crate::Graph::external_event) have none, and must be given.
    /// If the event's command fails, nodes that wait for it do not run.
    ///
    /// An event that is not of the graph is an error where the graph is submitted.
    ///
    /// ```no_run
    /// # use oclave::{Event, Graph, Queue, Result, UsmSlice};
    /// # fn library(_: &Queue) -> Result<()> { Ok(()) }
    /// # fn f(queue: &Queue, uploads: &Queue, x: &UsmSlice<f32>) -> Result<()> {
    /// let uploaded = uploads.write_async(x, vec![1.0; 64])?;
    /// let graph = Graph::from_queue(queue);
    /// let recording = graph.record(queue)?;
    /// library(&queue.after(&uploaded))?; // its commands wait for an event from outside
    /// recording.end();
    /// let executable = graph.finalize()?;
    /// let next = uploads.write_async(x, vec![2.0; 64])?;
    /// queue.submit_graph(executable.with(&uploaded, &next))?; // they wait for another one
    /// # Ok(())
    /// # }
    /// ```
    pub fn with(&self, outside: &impl OutsideSource, event: &Event) -> BoundGraph {
        BoundGraph::new(self.clone()).with(outside, event)
    }

    /// An event of the next submission, which is complete when the node is. Commands of any queue
    /// may depend on it, and the host may wait for it or await it, before the graph is submitted and
    /// after. The node must have been named to [`Finalizer::events_of`](crate::graph::Finalizer::events_of).
    ///
    /// Until the next submission, each call for a node gives the same event; from then on, that of the
    /// submission after. The event fails if the node does, if the submission fails, and if the executable
    /// is dropped without one. A submission that is refused as its events from outside are not all given
    /// is none.
    ///
    /// A wait before the submission takes until another thread makes it. As a sub-graph, an executable
    /// gives no events: name the node of the sub-graph when the outer graph is finalized.
    ///
    /// ```no_run
    /// # use oclave::graph::Node;
    /// # use oclave::{Graph, Queue, Result, UsmSlice};
    /// # fn f(graph: &Graph, edges: &Node, queue: &Queue, io: &Queue, x: &UsmSlice<f32>) -> Result<()> {
    /// let executable = graph.finalizer().events_of(edges).finalize()?;
    /// for _ in 0..10 {
    ///     let found = executable.event_of(edges)?;
    ///     queue.submit_graph(&executable)?;
    ///     let sent = io.after(&found).read_async(x)?; // while the rest of the graph runs
    ///     println!("{:?}", sent.wait()?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a node of another graph, and one that was not named.
    /// A submission is [`Invalid`](crate::ErrorKind::Invalid) if it would come after a command that
    /// waits for the event, as both would wait for ever.
    pub fn event_of(&self, node: &Node) -> Result<Event> {
        let layout = self.layout();
        if node.graph().id() != layout.graph {
            return Err(self.at(of_another_graph(node)));
        }
        let Some(partition) = layout.ends.get(&(node.index() as u32)) else {
            return Err(self.at(Error::invalid(format!("{} was not named for events", node.place()))
                .remedy("finalize the graph with `graph.finalizer().events_of(&node)`")));
        };
        let promise = self.inner().awaited.promise(*partition, layout.options.profiling);
        Ok(Event::promised(promise))
    }

    /// Submits it to a queue of its context and device. One instance runs at a time, so it comes
    /// after the last submission. It also runs after `behind`, whether or not that succeeds.
    pub(crate) fn submit<'a>(
        &self,
        queue: &Queue,
        after: impl Iterator<Item = &'a Event> + Clone,
        behind: &[&Event],
        bound: &[(u64, Event)],
    ) -> Result<Event> {
        self.warn_if_behind();
        let layout = self.layout();
        layout.externals.iter().filter(|external| external.is_used).try_for_each(|external| {
            event_for(&external.outside, bound)
                .map(drop)
                .map_err(|error| layout.at(error.at(format!("node {}", external.node))))
        })?;
        let mut turn = self.turn();
        let before = after.clone().filter_map(Event::promise);
        let before = before.chain(behind.iter().filter_map(|event| event.promise()));
        let promises = match layout.ends.is_empty() {
            true => NodePromises::default(),
            false => self.inner().awaited.take(queue, before).map_err(|error| self.at(error))?,
        };
        let (mut events, mut submitted) = (Vec::new(), None);
        let outcome = match self.layout().partitions.as_slice() {
            [] => submit_prepared(queue, PreparedCommand::Empty, after, behind),
            [Partition { host: false, .. }] => self.submit_alone(queue, after, behind, &mut turn),
            _ => {
                let submitted = submitted.insert(Promise::new(false));
                self.submit_on_lane(queue, after, (behind, bound), &mut turn, submitted, &mut events)
            }
        };
        drop(turn);
        match &outcome {
            Ok(event) if events.is_empty() => promises.fulfil(std::slice::from_ref(event)),
            Ok(_) => promises.fulfil(&events),
            Err(error) => promises.fail(error),
        }
        if let Some(submitted) = submitted {
            submitted.settle(Outcome::done_now());
        }
        outcome
    }

    /// Submits a graph that is one partition for the device.
    fn submit_alone<'a>(
        &self,
        queue: &Queue,
        after: impl Iterator<Item = &'a Event> + Clone,
        behind: &[&Event],
        turn: &mut Option<Event>,
    ) -> Result<Event> {
        let part = PreparedCommand::Part(self.submitted_part(0)?);
        let behind = turn.iter().chain(behind.iter().copied());
        let event = with_slice(behind, |behind| submit_prepared(queue, part, after, behind))?;
        // For what the driver has, `run` sees to it.
        *turn = Some(&event).filter(|event| event.native_event().is_none()).cloned();
        Ok(event)
    }

    /// Submits a graph of several partitions, by an internal queue. `events` gets those of the partitions.
    fn submit_on_lane<'a>(
        &self,
        queue: &Queue,
        after: impl Iterator<Item = &'a Event> + Clone,
        waits: (&[&Event], &[(u64, Event)]),
        turn: &mut Option<Event>,
        submitted: &Arc<Promise>,
        events: &mut Vec<Event>,
    ) -> Result<Event> {
        let context = self.context();
        let lane = context.take_queue(self.device(), self.lane_properties(), turn.as_ref())?;
        let lane = Queue::around(context.clone(), lane);
        let outcome = self.submit_parts((queue, &lane), after, waits, turn, submitted, events);
        context.put_queue_back(Arc::clone(lane.driver()), turn.clone());
        outcome
    }

    /// Those of the queue for the partitions.
    pub(super) fn lane_properties(&self) -> Properties {
        Properties {
            out_of_order: self.device().capabilities().out_of_order_queues,
            profiling: self.layout().options.profiling,
            ..Properties::default()
        }
    }

    /// A partition for the device as a command, for a submission that begins now.
    pub(super) fn submitted_part(&self, index: usize) -> Result<GraphPart> {
        let submission = self.prepared().begin_submission(self.layout(), index)?;
        let graph = Arc::clone(self.inner()) as Arc<dyn GraphCommand>;
        Ok(GraphPart::new(graph, index, submission))
    }

    fn submit_parts<'a>(
        &self,
        (queue, lane): (&Queue, &Queue),
        after: impl Iterator<Item = &'a Event> + Clone,
        (behind, bound): (&[&Event], &[(u64, Event)]),
        turn: &mut Option<Event>,
        submitted: &Arc<Promise>,
        events: &mut Vec<Event>,
    ) -> Result<Event> {
        let layout = self.layout();
        // Graphs with profiling use the internal queue alone, as the user's queue need not measure.
        let on_queue = |index: Option<usize>| index.filter(|_| !layout.options.profiling);
        let (first, last) = (on_queue(layout.first), on_queue(layout.last));
        let barriers = if queue.is_out_of_order() { barriers(queue) } else { Vec::new() };
        let (begin, behind): (Vec<Event>, Vec<&Event>) = match queue.is_out_of_order() {
            true => (after.cloned().collect(), behind.iter().copied().chain(&barriers).collect()),
            false if first.is_some() => (after.cloned().collect(), behind.to_vec()),
            false => (vec![submit_prepared(queue, PreparedCommand::Marker, after, behind)?], Vec::new()),
        };
        let behind: Vec<&Event> = behind.into_iter().chain(turn.as_ref()).collect();
        events.reserve(layout.partitions.len());
        let cancelled = Arc::new(AtomicBool::new(false));
        let waits = (begin.as_slice(), behind.as_slice());
        let given = (submitted, bound);
        let queues = |index: usize| if [first, last].contains(&Some(index)) { queue } else { lane };
        // The queue keeps the order of a loop's first launch, so that no thread must wait before it. All launches of the
        // last submission must have ended.
        let is_over = turn.as_ref().is_none_or(Event::is_behind);
        let is_simple = is_over && !queue.is_out_of_order() && !layout.options.profiling;
        let early = |index: usize, before: &[Event]| {
            let waits = &layout.partitions.get(index)?.waits;
            let comes_after_first = |wait: &u32| first == Some(*wait as usize);
            let is_known = is_simple
                && waits.iter().all(comes_after_first)
                && begin.iter().chain(before.first()).all(|event| event.native_event().is_some());
            is_known.then_some(queue)
        };
        if let Err(error) = self.put_parts((queues, early), waits, given, last, &cancelled, events) {
            // Its commands run after the last submission and before the next.
            if !events.is_empty() {
                *turn = Some(submit_prepared(lane, PreparedCommand::Empty, events.iter(), &[])?);
            }
            return Err(self.at(error));
        }
        let end = match last.and_then(|last| events.get(last)) {
            Some(last) => last.clone(),
            None => {
                let leaves = layout.leaves.iter().filter_map(|index| events.get(*index));
                submit_prepared(queue, PreparedCommand::GraphEnd, leaves, &[])?
            }
        };
        *turn = Some(end.clone());
        // An event from outside is no work of the graph.
        let parts = events.iter().enumerate().filter(|(index, _)| !layout.is_external(*index));
        let parts = parts.map(|(_, event)| event.clone()).collect();
        Ok(Event::of_graph(self.id(), layout.options.profiling, end, parts, cancelled))
    }

    /// Puts each part on the queue that `queues` gives for it, and gives their events to `events`. The part
    /// `last` has the graph's event.
    ///
    /// Host tasks wait until all of the graph is submitted. A task may wait for the queue. The commands
    /// after the graph are there then, and are found to wait for the task.
    fn put_parts<'q>(
        &self,
        (queues, early): (impl Fn(usize) -> &'q Queue, impl Fn(usize, &[Event]) -> Option<&'q Queue>),
        waits: (&[Event], &[&Event]),
        (submitted, bound): (&Arc<Promise>, &[(u64, Event)]),
        last: Option<usize>,
        cancelled: &Arc<AtomicBool>,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let submitted = Event::promised(Arc::clone(submitted));
        self.put_parts_by(queues, waits, Some(&submitted), events, |index, before| {
            Ok(Put::one(match PartOf::of(self, index) {
                Some(PartOf::Host(task)) => PreparedCommand::HostTask(task),
                Some(PartOf::Control(flow)) => {
                    let early = early(index, before);
                    let (launch, command) =
                        ControlRun::command(self, (index, &flow), cancelled, early.is_some())?;
                    return Ok(Put { launch: early.zip(launch), ..Put::one(command) });
                }
                Some(PartOf::External(external)) => {
                    // An event that has ended is left out.
                    let outside = Some(event_for(&external, bound)?).filter(|event| !event.is_behind());
                    return Ok(Put { outside: outside.cloned(), ..Put::one(PreparedCommand::Empty) });
                }
                None if last == Some(index) => PreparedCommand::LastPart(self.submitted_part(index)?),
                None => PreparedCommand::Part(self.submitted_part(index)?),
            }))
        })
    }

    /// Puts all parts on queues. `part` gives each by its number and the events of those before it.
    pub(super) fn put_parts_by<'q>(
        &self,
        queues: impl Fn(usize) -> &'q Queue,
        (begin, behind): (&[Event], &[&Event]),
        submitted: Option<&Event>,
        events: &mut Vec<Event>,
        part: impl Fn(usize, &[Event]) -> Result<Put<'q>>,
    ) -> Result<()> {
        let first = events.len();
        for (index, partition) in self.layout().partitions.iter().enumerate() {
            let before = events.get(first..).unwrap_or_default();
            let Put { command, launch, outside } = part(index, before)?;
            let waits: Vec<&Event> = partition
                .waits
                .iter()
                .map(|wait| before.get(*wait as usize).ok_or_else(|| no_partition(*wait)))
                .collect::<Result<_>>()?;
            let (waits, behind) = match waits.is_empty() {
                true => (begin.iter().collect(), behind),
                false => (waits, [].as_slice()),
            };
            let is_for_host = matches!(command, PreparedCommand::HostTask(_) | PreparedCommand::Control(_));
            let submitted = submitted.filter(|_| is_for_host).into_iter().chain(&outside);
            let queue = queues(index);
            let event = match launch {
                None => submit_prepared(queue, command, waits.into_iter().chain(submitted), behind)?,
                Some((on, launch)) => {
                    let launched = submit_prepared(on, launch, waits.into_iter(), behind)?;
                    match submit_prepared(queue, command, [&launched].into_iter().chain(submitted), &[]) {
                        Ok(event) => event,
                        Err(error) => {
                            events.push(launched);
                            return Err(error);
                        }
                    }
                }
            };
            events.push(event);
        }
        Ok(())
    }
}

/// The barriers that commands on a queue come after: those that are deferred, and the newest one that the driver has. In
/// this order, none is missed that goes to the driver meanwhile.
fn barriers(queue: &Queue) -> Vec<Event> {
    let mut barriers: Vec<Event> = queue.order().in_the_way().into_iter().map(Event::promised).collect();
    barriers.extend(queue.order().barrier());
    barriers
}

/// The event that a submission waits for: the one that it gives, or else that of the recording.
fn event_for<'a>(outside: &'a Outside, bound: &'a [(u64, Event)]) -> Result<&'a Event> {
    let given = bound.iter().find(|(id, _)| *id == outside.id()).map(|(_, event)| event);
    given.or(outside.recorded()).ok_or_else(|| {
        Error::invalid("the submission gives no event for an external event of the graph")
            .remedy("submit `executable.with(&outside, &event)`")
    })
}

fn no_partition(index: u32) -> Error {
    Error::bug(format!("partition {index} of a graph is not submitted before one that waits for it"))
}
