//! Loops and conditions that the host decides.
//!
//! No thread waits: when a command has ended that a decision depends on, the thread for events puts
//! the next ones on a queue. A submission of a graph takes a [`Ticket`] of each body. With it, all
//! iterations run the body as it was when the graph was submitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::flows;
use super::handle::ExecutableGraph;
use super::loops::{LoopNotes, LoopTimes};
use super::put::Put;
use crate::MakeError as _;
use crate::command::{
    CommandKind, ControlFlow, ControlKind, ControlValue, GraphCommand, GraphPart, Outside, PreparedCommand,
    RunControl, Scalar, Then, submit_prepared,
};
use crate::driver::hook;
use crate::driver::host::HostSink;
use crate::driver::sync::Mutex;
use crate::driver::usm::Allocation;
use crate::event::Promise;
use crate::graph::tune::flow::{Flow, LoopNode, too_long};
use crate::memory::{Block, HostTarget};
use crate::{Error, ErrorKind, Event, Queue, Result};

/// Iterations that are put on a queue at once, where nothing is decided between them.
const CHUNK: u64 = 32;

/// One submission of a loop or a condition.
pub(in crate::graph) struct ControlRun {
    /// Of the executable around it, for queues.
    owner: ExecutableGraph,
    /// Its node there, for errors.
    node: u32,
    name: &'static str,
    kind: ControlKind,
    decide: Decide,
    bodies: Vec<Ticket>,
    /// All of it as one list of tasks, in the place of the bodies.
    flow: Option<Arc<Flow>>,
    /// Whether it comes after the first launch of the tasks.
    is_launched: bool,
    max_iterations: u64,
    /// Whether it is to end before its next iteration.
    cancelled: Arc<AtomicBool>,
    /// Where it is measured.
    notes: Option<LoopNotes>,
    memory: Vec<Arc<Allocation>>,
}

/// Where the value comes from.
enum Decide {
    Number(u64),
    Device { from: Block, scalar: Scalar },
}

/// A submission of an executable graph, which may run many times.
pub(super) struct Ticket {
    graph: ExecutableGraph,
    parts: Vec<TicketPart>,
}

enum TicketPart {
    /// With the number of the submission, of an executable that can be updated.
    Device(Option<u64>),
    Host(crate::command::HostTask),
    Control(Arc<ControlRun>),
    /// Of one launch.
    Short(Arc<Flow>),
}

/// The kind of a partition that does not run on the device.
pub(super) enum PartOf {
    Host(crate::command::HostTask),
    Control(Box<ControlFlow>),
    External(Outside),
}

impl PartOf {
    /// That of a partition of a graph; `None` for one that runs on the device.
    pub(super) fn of(graph: &ExecutableGraph, index: usize) -> Option<Self> {
        let layout = graph.layout();
        let partition = layout.partitions.get(index).filter(|partition| partition.host)?;
        let node = *partition.nodes.first()? as usize;
        let prepared = graph.prepared();
        let command = prepared.commands.get(node)?;
        match &**command {
            CommandKind::HostTask(task) => {
                let name = layout.names.of(&layout.flat, node);
                Some(Self::Host(task.of_node(layout.graph, layout.flat.origin(node), name)))
            }
            CommandKind::Control(flow) => Some(Self::Control(flow.clone())),
            CommandKind::External(external) => Some(Self::External(external.clone())),
            _ => None,
        }
    }
}

impl Ticket {
    /// A submission of a body.
    fn new(graph: &ExecutableGraph, cancelled: &Arc<AtomicBool>) -> Result<Self> {
        graph.warn_if_behind();
        let layout = graph.layout();
        let mut ticket = Self { graph: graph.clone(), parts: Vec::with_capacity(layout.partitions.len()) };
        for index in 0..layout.partitions.len() {
            let part = match PartOf::of(graph, index) {
                Some(PartOf::Host(task)) => TicketPart::Host(task),
                Some(PartOf::External(_)) => {
                    return Err(Error::bug("a body waits for an event from outside"));
                }
                Some(PartOf::Control(flow)) => match flows::short(graph, index)? {
                    Some(tasks) => TicketPart::Short(tasks),
                    None => TicketPart::Control(Arc::new(ControlRun::new(graph, index, &flow, cancelled)?)),
                },
                None => TicketPart::Device(match layout.options.updatable {
                    true => graph.prepared().begin_submission(layout, index)?,
                    false => None,
                }),
            };
            ticket.parts.push(part);
        }
        Ok(ticket)
    }

    fn memory(&self) -> Vec<Arc<Allocation>> {
        let of = |(index, part): (usize, &TicketPart)| match part {
            TicketPart::Device(_) => Arc::clone(self.graph.inner()).part_memory(index),
            TicketPart::Host(_) => Vec::new(),
            TicketPart::Control(run) => run.memory.clone(),
            TicketPart::Short(tasks) => tasks.memory().to_vec(),
        };
        self.parts.iter().enumerate().flat_map(of).collect()
    }

    /// Whether it is one sequence for the device, so that a queue keeps its iterations in order.
    fn is_one_sequence(&self) -> bool {
        matches!(self.parts.as_slice(), [TicketPart::Device(_) | TicketPart::Short(_)])
    }

    /// Puts it on a queue, after an event. Gives the events of its partitions to `events`.
    fn submit(&self, lane: &Queue, after: Option<&Event>, events: &mut Vec<Event>) -> Result<()> {
        let begin: Vec<Event> = after.into_iter().cloned().collect();
        self.graph.put_parts_by(
            |_| lane,
            (&begin, &[]),
            None,
            events,
            |index, _| {
                Ok(Put::one(match self.parts.get(index) {
                    Some(TicketPart::Device(Some(number))) => {
                        let graph = Arc::clone(self.graph.inner()) as Arc<dyn GraphCommand>;
                        PreparedCommand::Part(GraphPart::again(graph, index, *number))
                    }
                    Some(TicketPart::Device(None)) => {
                        PreparedCommand::Part(self.graph.submitted_part(index)?)
                    }
                    Some(TicketPart::Host(task)) => PreparedCommand::HostTask(task.clone()),
                    Some(TicketPart::Control(run)) => {
                        PreparedCommand::Control(Arc::clone(run) as Arc<dyn RunControl>)
                    }
                    Some(TicketPart::Short(tasks)) => tasks.launch(),
                    None => PreparedCommand::Empty,
                }))
            },
        )
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let numbers = self.parts.iter().enumerate();
        for (index, _) in numbers.filter(|(_, part)| matches!(part, TicketPart::Device(Some(_)))) {
            self.graph.prepared().end_submission(index);
        }
    }
}

impl ControlRun {
    /// A loop or a condition, for a submission that begins now.
    fn new(
        graph: &ExecutableGraph,
        index: usize,
        flow: &ControlFlow,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let layout = graph.layout();
        let as_tasks = flows::current(graph, index)?;
        let bodies = graph.bodies().get(index).map(Vec::as_slice).unwrap_or_default();
        let bodies = bodies.iter().filter(|_| as_tasks.is_none());
        let bodies = bodies.map(|body| Ticket::new(body, cancelled)).collect::<Result<Vec<_>>>()?;
        let decide = match &flow.value {
            ControlValue::Number(number) => Decide::Number(*number),
            ControlValue::Parameter { value, .. } => Decide::Number(*value),
            ControlValue::Device { from, scalar } => {
                let from = from.clone().into_block(&layout.queue)?;
                Decide::Device { from, scalar: *scalar }
            }
        };
        let mut memory: Vec<Arc<Allocation>> = bodies.iter().flat_map(Ticket::memory).collect();
        if let Decide::Device { from, .. } = &decide {
            memory.push(Arc::clone(from.region.allocation()));
        }
        memory.extend(as_tasks.iter().flat_map(|flow| flow.memory().iter().cloned()));
        memory.sort_by_key(|memory| Arc::as_ptr(memory).addr());
        memory.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let node = layout.partitions.get(index).and_then(|partition| partition.nodes.first());
        Ok(Self {
            owner: graph.clone(),
            node: layout.flat.origin(node.map_or(usize::MAX, |node| *node as usize)),
            name: flow.name(),
            kind: flow.kind,
            decide,
            bodies,
            flow: as_tasks,
            is_launched: false,
            max_iterations: flow.max_iterations,
            cancelled: Arc::clone(cancelled),
            notes: layout.options.profiling.then(LoopNotes::default),
            memory,
        })
    }
    /// A loop or a condition as a command, for a submission that begins now. If it `may_begin` before the
    /// host knows that all before it has ended, there may be a command that comes first.
    pub(super) fn command(
        graph: &ExecutableGraph,
        (index, flow): (usize, &ControlFlow),
        cancelled: &Arc<AtomicBool>,
        may_begin: bool,
    ) -> Result<(Option<PreparedCommand>, PreparedCommand)> {
        if let Some(tasks) = flows::short(graph, index)? {
            return Ok((None, tasks.launch()));
        }
        let mut run = Self::new(graph, index, flow, cancelled)?;
        let first = run.flow.as_ref().filter(|_| may_begin && run.notes.is_none()).map(|flow| {
            flow.begin(true);
            flow.launch()
        });
        run.is_launched = first.is_some();
        Ok((first, PreparedCommand::Control(Arc::new(run))))
    }
}

impl RunControl for ControlRun {
    fn start(self: Arc<Self>, own: Arc<Promise>, then: Then) {
        let context = self.owner.context();
        let lane = match context.take_queue(self.owner.device(), self.owner.lane_properties(), None) {
            Ok(lane) => Queue::around(context.clone(), lane),
            Err(error) => return then(Err(self.at(error))),
        };
        let value = Vec::new();
        let stage = if self.is_launched { Stage::Tasks } else { Stage::Begin };
        let session = hook::session();
        Box::new(Machine {
            run: self,
            own,
            lane,
            stage,
            others: Vec::new(),
            measured: Vec::new(),
            value,
            target: None,
            then,
            session,
        })
        .advance(None);
    }

    fn memory(&self) -> &[Arc<Allocation>] {
        &self.memory
    }
}

impl ControlRun {
    /// Its node, if it is a loop.
    fn as_loop(&self) -> Option<LoopNode> {
        let is_loop = matches!(self.kind, ControlKind::While | ControlKind::Repeat);
        is_loop.then_some(LoopNode { node: self.node, name: self.name })
    }

    /// How often it ran, and the loops inside of it.
    fn loops(&self) -> Vec<LoopTimes> {
        let Some(notes) = &self.notes else { return Vec::new() };
        let mut all = notes.times(self.as_loop().as_ref());
        for part in self.bodies.iter().flat_map(|body| &body.parts) {
            if let TicketPart::Control(run) = part {
                all.extend(run.loops());
            }
        }
        all
    }

    fn at(&self, error: Error) -> Error {
        let node = format!("{} node {}", self.name, self.node);
        self.owner.at(error.at(node))
    }
}

/// A loop or a condition that runs.
struct Machine {
    run: Arc<ControlRun>,
    own: Arc<Promise>,
    lane: Queue,
    stage: Stage,
    /// Events that end before those that it waits for.
    others: Vec<Event>,
    /// The commands of each iteration that runs, or of the launch, where it is measured.
    measured: Vec<Vec<Event>>,
    /// The value that was read last.
    value: Vec<u8>,
    target: Option<(HostTarget<u8>, HostSink)>,
    then: Then,
    session: Option<hook::Session>,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Begin,
    /// The value was read, after so many iterations.
    Decide(u64),
    /// So many iterations are left of a number.
    Repeat(u64),
    /// Nothing comes after what runs.
    Last,
    /// A launch of tasks runs.
    Tasks,
}

/// The next action of a machine.
enum Next {
    /// It goes on when these have ended.
    Wait(Vec<Event>),
    /// It goes on when the last of these has ended, which comes after the others.
    WaitForLast(Vec<Event>),
    Done,
}

impl Machine {
    /// Goes on, until it must wait for something, or is over. `failure` is that of what it waited
    /// for.
    fn advance(mut self: Box<Self>, mut failure: Option<Error>) {
        let session = self.session.take();
        let _entered = session.as_ref().map(hook::Session::enter);
        self.session = hook::session();
        loop {
            let others = std::mem::take(&mut self.others);
            if let Some(error) = failure.take() {
                // The errors of the others come first, and they end before this does.
                if !others.is_empty() {
                    match Gate::new(others.len(), Some((usize::MAX, error))).wait(self, others) {
                        Some((machine, error)) => (self, failure) = (machine, error),
                        None => return,
                    }
                    continue;
                }
                let error = self.run.at(error);
                return self.end(Err(error));
            }
            let mut events = Vec::new();
            let own = Arc::clone(&self.own);
            let events = match own.as_loop(|| self.next(&mut events)) {
                Ok(Next::Done) => return self.end(Ok(())),
                Ok(Next::Wait(events)) => events,
                Ok(Next::WaitForLast(events)) => {
                    self.others = events;
                    self.others.pop().into_iter().collect()
                }
                Err(error) => {
                    // Commands on queues end before this does.
                    let gate = Gate::new(events.len(), Some((0, error)));
                    match gate.wait(self, events) {
                        Some((machine, error)) => (self, failure) = (machine, error),
                        None => return,
                    }
                    continue;
                }
            };
            if let Err(error) = self.lane.driver().flush() {
                self.lane.driver().context().keep_error(error);
            }
            match Gate::new(events.len(), None).wait(self, events) {
                Some((machine, error)) => (self, failure) = (machine, error),
                None => return,
            }
        }
    }

    fn end(self, outcome: Result<()>) {
        let Self { run, own, lane, then, .. } = self;
        if run.notes.is_some() && outcome.is_ok() {
            own.set_detail(Arc::new(run.loops()));
        }
        run.owner.context().put_queue_back(Arc::clone(lane.driver()), None);
        drop((run, lane));
        then(outcome);
    }

    /// Puts on the queue what comes next. `events` gets what is there if that fails.
    fn next(&mut self, events: &mut Vec<Event>) -> Result<Next> {
        let run = Arc::clone(&self.run);
        if let (Some(notes), None) = (&run.notes, &run.flow) {
            self.measured.drain(..).for_each(|events| notes.ended(1, &events));
        }
        let is_over = matches!(self.stage, Stage::Last | Stage::Repeat(0));
        if run.cancelled.load(Ordering::Relaxed) && !is_over {
            return Err(Error::new(ErrorKind::Runtime, "the submission was cancelled")
                .remedy("`Event::cancel` was called; submit the graph again"));
        }
        if let Some(flow) = &run.flow {
            return self.tasks(flow);
        }
        match (self.stage, &run.decide) {
            (Stage::Last, _) => Ok(Next::Done),
            (Stage::Begin, Decide::Number(number)) => self.decided(*number, 0, events),
            (Stage::Begin, Decide::Device { from, scalar }) => {
                self.stage = Stage::Decide(0);
                self.read(from, *scalar, events)?;
                Ok(Next::WaitForLast(std::mem::take(events)))
            }
            (Stage::Decide(iterations), Decide::Device { scalar, .. }) => {
                if let Some((target, _)) = &self.target {
                    self.value = target.to_vec()?;
                }
                let number = scalar.number(&self.value);
                let number = match run.kind {
                    ControlKind::Repeat => number.unwrap_or(0),
                    ControlKind::While | ControlKind::If => number.map_or(1, |number| number.min(1)),
                    ControlKind::Switch => number.unwrap_or(u64::MAX),
                };
                self.decided(number, iterations, events)
            }
            (Stage::Repeat(left), _) => self.repeat(left, events),
            (Stage::Decide(_) | Stage::Tasks, _) => Err(Error::bug("a loop that is at no stage")),
        }
    }

    /// Launches tasks, until all is done.
    fn tasks(&mut self, flow: &Arc<Flow>) -> Result<Next> {
        match self.stage {
            Stage::Tasks => {
                let is_done = flow.is_done()?;
                let launch = self.measured.pop().and_then(|events| events.into_iter().next());
                if let (Some(notes), Some(launch)) = (&self.run.notes, launch) {
                    notes.launched(self.run.as_loop().as_ref(), flow.iterations()?, &launch);
                }
                if is_done {
                    return Ok(Next::Done);
                }
            }
            _ => flow.begin(false),
        }
        self.stage = Stage::Tasks;
        let launched = submit_prepared(&self.lane, flow.launch(), std::iter::empty(), &[])?;
        self.measures(std::slice::from_ref(&launched));
        Ok(Next::Wait(vec![launched]))
    }

    /// A value is known, after so many iterations.
    fn decided(&mut self, number: u64, iterations: u64, events: &mut Vec<Event>) -> Result<Next> {
        let run = Arc::clone(&self.run);
        let limit = run.max_iterations;
        match run.kind {
            ControlKind::Repeat if number > limit => Err(too_long(limit)),
            ControlKind::Repeat => self.repeat(number, events),
            ControlKind::While if number == 0 => Ok(Next::Done),
            ControlKind::While if iterations >= limit => Err(too_long(limit)),
            ControlKind::While => {
                let (Some(body), Decide::Device { from, scalar }) = (run.bodies.first(), &run.decide) else {
                    return Ok(Next::Done);
                };
                body.submit(&self.lane, None, events)?;
                self.measures(events);
                self.stage = Stage::Decide(iterations + 1);
                self.read(from, *scalar, events)?;
                Ok(Next::WaitForLast(std::mem::take(events)))
            }
            ControlKind::If | ControlKind::Switch => {
                let index = match run.kind {
                    ControlKind::If => usize::from(number == 0),
                    _ => usize::try_from(number).unwrap_or(usize::MAX),
                };
                let Some(body) = run.bodies.get(index) else { return Ok(Next::Done) };
                self.stage = Stage::Last;
                body.submit(&self.lane, None, events)?;
                Ok(Next::Wait(std::mem::take(events)))
            }
        }
    }

    fn repeat(&mut self, left: u64, events: &mut Vec<Event>) -> Result<Next> {
        let run = Arc::clone(&self.run);
        let Some(body) = run.bodies.first().filter(|body| left > 0 && !body.parts.is_empty()) else {
            return Ok(Next::Done);
        };
        let chunk = if body.is_one_sequence() { left.min(CHUNK) } else { 1 };
        for _ in 0..chunk {
            // Each waits for the one before it, so that the last one tells of all.
            let before = events.pop();
            body.submit(&self.lane, before.as_ref(), events)
                .inspect_err(|_| events.extend(before.clone()))?;
            self.measures(events);
        }
        self.stage = Stage::Repeat(left - chunk);
        Ok(Next::Wait(std::mem::take(events)))
    }

    /// Keeps the commands of an iteration that runs, where it is measured.
    fn measures(&mut self, events: &[Event]) {
        if self.run.notes.is_some() {
            self.measured.push(events.to_vec());
        }
    }

    /// Reads the value, after events.
    fn read(&mut self, from: &Block, scalar: Scalar, events: &mut Vec<Event>) -> Result<()> {
        let to = match &self.target {
            Some((_, sink)) => sink.clone(),
            None => {
                let target = HostTarget::<u8>::new(scalar.size_bytes())?;
                let sink = target.sink();
                self.target = Some((target, sink.clone()));
                sink
            }
        };
        let read = PreparedCommand::Read { from: from.clone(), to };
        let event = submit_prepared(&self.lane, read, events.iter(), &[])?;
        events.push(event);
        Ok(())
    }
}

/// Waits for events, with a machine that goes on then.
struct Gate {
    left: AtomicUsize,
    place: Mutex<Place>,
}

#[derive(Default)]
struct Place {
    machine: Option<Box<Machine>>,
    /// The failure of the first event that failed, and its number.
    failure: Option<(usize, Error)>,
}

impl Gate {
    /// `failure`: one that is there already, and its number.
    fn new(events: usize, failure: Option<(usize, Error)>) -> Arc<Self> {
        let place = Mutex::new(Place { machine: None, failure });
        Arc::new(Self { left: AtomicUsize::new(events + 1), place })
    }

    /// Gives the machine back if all have ended; else it goes on by itself.
    fn wait(
        self: &Arc<Self>,
        machine: Box<Machine>,
        events: Vec<Event>,
    ) -> Option<(Box<Machine>, Option<Error>)> {
        let own = Arc::clone(&machine.own);
        self.place.lock().machine = Some(machine);
        for (number, event) in events.iter().enumerate() {
            let gate = Arc::clone(self);
            let over = event.when_over_for(&own, move |outcome| {
                if let Some((machine, failure)) = gate.ended(number + 1, outcome.err()) {
                    machine.advance(failure);
                }
            });
            if let Err(error) = over {
                // The last one to end is still to come.
                let _ = self.ended(number + 1, Some(error));
            }
        }
        self.ended(usize::MAX, None)
    }

    /// One has ended. Gives the machine with the last one.
    fn ended(&self, number: usize, error: Option<Error>) -> Option<(Box<Machine>, Option<Error>)> {
        let mut place = self.place.lock();
        if let Some(error) = error
            && place.failure.as_ref().is_none_or(|(before, _)| number < *before)
        {
            place.failure = Some((number, error));
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let Place { machine, failure } = std::mem::take(&mut *place);
        Some((machine?, failure.map(|(_, error)| error)))
    }
}
