//! Loops and conditions that the interpreter runs: one launch, which decides by itself.
//!
//! A [`Flow`] is a list of tasks with jumps, made of all bodies, nested ones included. It is made
//! again when a body has changed. A launch stops when it has spent its budget, and goes on with the
//! next one, so that none takes much longer than [`LAUNCH`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oclave_image::passes::interpreter::{FlowEnd, FlowOp, FlowTask, FlowValue, TaskRecord};

use super::background::Build;
use super::survey::{Survey, Surveyed};
use super::tuned::{InterpreterPolicy, MOST_WAITS, policy};
use crate::MakeError as _;
use crate::command::{
    CommandKind, ControlFlow, ControlKind, ControlValue, GraphCommand, GraphPart, PreparedCommand, RunOn,
};
use crate::driver::DeviceKind;
use crate::driver::event::Event;
use crate::driver::run::Mode;
use crate::driver::sequence::{NO_LABEL, Sequence};
use crate::driver::step::Step;
use crate::driver::sync::Mutex;
use crate::driver::usm::Allocation;
use crate::graph::exec::draft::{Draft, lost};
use crate::graph::exec::options::Options;
use crate::graph::plan::eligibility::{Candidate, Kind};
use crate::graph::plan::unit::LONGEST_NS;
use crate::memory::buffer::Requirement;
use crate::program::{FlowGroup, FlowLoad, InterpreterProgram, TaskList};
use crate::{Context, Device, Error, ErrorKind, Event as AnyEvent, Queue, Result};

/// The longest time that a launch should take.
const LAUNCH: Duration = Duration::from_millis(50);
/// The budget of the first launch, in estimated nanoseconds: estimates may be far from the truth.
const FIRST_BUDGET_NS: u64 = 5_000_000;
/// Loops with an estimate up to this run in one launch, however long they take in fact.
const SHORT_NS: f64 = 20_000_000.0;
/// A node that is estimated to cost more is launched, and the loop around it is decided by the host.
const CAP_NS: f64 = 8000.0;
/// Steps of a task, from which on a group runs it faster than a work-item.
const SHARED_STEPS: f64 = 1024.0;
/// The cost of a task that jumps, in nanoseconds: on a CPU, and on a GPU, where the first work-item of a group runs it.
const JUMP_NS: f64 = 10.0;
const GPU_JUMP_NS: f64 = 200.0;
/// Nodes that must run for an interpreter program to be worth its build.
const FEW_RUNS: f64 = 64.0;
/// How often loops are taken to run whose count nobody knows.
const UNKNOWN_TRIPS: f64 = 100.0;

/// A loop or a condition, with the nodes of its bodies in the order in which they run.
pub(in crate::graph) struct FlowTree {
    /// The graph that it is in, and its node there, for errors.
    pub(in crate::graph) owner: (u64, u32),
    pub(in crate::graph) flow: ControlFlow,
    pub(in crate::graph) bodies: Vec<Vec<FlowNode>>,
}

pub(in crate::graph) enum FlowNode {
    Command(u32, Arc<CommandKind>),
    Control(FlowTree),
}

/// Whether the interpreter runs a loop or a condition, as far as is known.
#[derive(Default)]
pub(in crate::graph) enum FlowSlot {
    #[default]
    Unknown,
    /// For a reason, as the bodies were after so many changes.
    Never { reason: String, changes: u64 },
    /// An interpreter program is being built.
    Building(Build),
    /// As the bodies were after so many changes.
    Ready { flow: Arc<Flow>, changes: u64 },
}

/// A loop or a condition as tasks.
pub(in crate::graph) struct Flow {
    sequence: Mutex<Sequence>,
    run: Arc<Mutex<Run>>,
    memory: Vec<Arc<Allocation>>,
    /// Tasks that may fail, and whose they are.
    owners: Vec<(u64, FlowOwner)>,
    /// The second tasks of loops whose iterations are counted, outer ones first.
    counted: Vec<(usize, FlowOwner)>,
    /// Of all tasks together.
    pub(in crate::graph) cost_ns: f64,
    /// Whether a launch is known to do all of it.
    is_short: bool,
}

/// A loop, as errors name it.
#[derive(Debug, Clone)]
struct FlowOwner {
    graph: u64,
    node: u32,
    name: &'static str,
    limit: u64,
}

/// Where the walk is.
struct Run {
    list: TaskList,
    program: Arc<InterpreterProgram>,
    group: FlowGroup,
    next: u64,
    budget_ns: u64,
    began: Instant,
    /// Whether the launch was enqueued before the commands that it depends on had ended.
    is_early: bool,
    /// Of the loops whose iterations are counted: how many there were before this submission.
    before: Vec<u64>,
}

impl FlowSlot {
    /// The tasks to run now, if the interpreter runs them. Looks at the nodes if anything has
    /// changed.
    pub(in crate::graph) fn current(
        &mut self,
        tree: impl FnOnce() -> Option<FlowTree>,
        changes: u64,
        queue: &Queue,
        options: Options,
    ) -> Result<Option<Arc<Flow>>> {
        match self {
            Self::Ready { flow, changes: of } if *of == changes => return Ok(Some(Arc::clone(flow))),
            Self::Never { changes: of, .. } if *of == changes => return Ok(None),
            Self::Building(build) if !build.is_over() => return Ok(None),
            _ => {}
        }
        *self = match tree() {
            Some(tree) => Self::of(&tree, changes, queue, options)?,
            None => Self::never("its bodies are not known", changes),
        };
        Ok(match self {
            Self::Ready { flow, .. } => Some(Arc::clone(flow)),
            _ => None,
        })
    }

    /// Why nodes are launched.
    pub(in crate::graph) fn reason(&self) -> Option<&str> {
        match self {
            Self::Unknown => Some("it was not submitted yet"),
            Self::Never { reason, .. } => Some(reason),
            Self::Building(_) => Some("its interpreter program is being built"),
            Self::Ready { .. } => None,
        }
    }

    pub(in crate::graph) fn flow(&self) -> Option<&Arc<Flow>> {
        match self {
            Self::Ready { flow, .. } => Some(flow),
            _ => None,
        }
    }

    fn never(reason: &str, changes: u64) -> Self {
        Self::Never { reason: reason.to_owned(), changes }
    }

    fn of(tree: &FlowTree, changes: u64, queue: &Queue, options: Options) -> Result<Self> {
        let policy = policy(queue, options);
        match policy {
            InterpreterPolicy::Never(reason) => return Ok(Self::never(reason, changes)),
            InterpreterPolicy::Faster if tree.runs() < FEW_RUNS => {
                return Ok(Self::never("it runs few nodes", changes));
            }
            InterpreterPolicy::Faster | InterpreterPolicy::Always => {}
        }
        let mut commands = Vec::new();
        tree.commands(&mut commands);
        let mut waits = if options.wait_for_interpreter { MOST_WAITS } else { 0 };
        let survey = loop {
            let all = commands.iter().map(|(origin, command)| (*origin, &***command));
            match Survey::of(queue, all, true, true)? {
                Surveyed::Ready(survey) => break survey,
                Surveyed::Building(build) if waits > 0 => {
                    waits -= 1;
                    build.wait();
                }
                Surveyed::Building(build) => return Ok(Self::Building(build)),
                Surveyed::FirstRequest => return Ok(Self::Unknown),
            }
        };
        let program = match one_program(&survey, policy == InterpreterPolicy::Always) {
            Ok(program) => program,
            Err(reason) => return Ok(Self::never(&reason, changes)),
        };
        let mut writer = Writer {
            queue,
            counts: options.profiling,
            items: Vec::new(),
            owners: Vec::new(),
            counted: Vec::new(),
            memory: Vec::new(),
            cost_ns: 0.0,
            all_ns: 0.0,
            total_ns: 0.0,
            jump_ns: if queue.device().kind() == DeviceKind::Gpu { GPU_JUMP_NS } else { JUMP_NS },
        };
        let mut candidates = survey.candidates.nodes.iter();
        if let Err(reason) = writer.control(tree, &mut candidates)? {
            return Ok(Self::never(&reason, changes));
        }
        let flow = writer.finish(program)?;
        Ok(Self::Ready { flow: Arc::new(flow), changes })
    }
}

/// The program that all nodes run with.
///
/// # Errors
/// The reason why they are not one list.
fn one_program(survey: &Survey, always: bool) -> Result<Arc<InterpreterProgram>, String> {
    let candidates = &survey.candidates;
    let refused = candidates.nodes.iter().find_map(|node| match node.kind {
        Kind::Standalone(reason) => {
            Some(candidates.reasons.get(reason as usize).cloned().unwrap_or_default())
        }
        Kind::Of(_, Some(_)) => Some("a kernel shares local memory in work-groups".to_owned()),
        _ if !node.is_small(if always { f64::INFINITY } else { CAP_NS }) => {
            Some("a node is faster when it is launched".to_owned())
        }
        _ => None,
    });
    if let Some(reason) = refused {
        return Err(reason);
    }
    let program = match survey.programs.as_slice() {
        [program] => program,
        [] => return Err("there is no kernel".to_owned()),
        _ => return Err("its kernels are of several interpreter programs".to_owned()),
    };
    let kernels = candidates.nodes.iter().filter(|node| node.kind != Kind::Nothing);
    let (count, steps) = kernels.fold((0.0, 0.0), |(count, steps), node| (count + 1.0, steps + node.steps));
    if !always && program.has_idle_lanes() && steps > SHARED_STEPS * count {
        return Err("its nodes are faster when work-items run side by side".to_owned());
    }
    Ok(Arc::clone(program))
}

impl FlowTree {
    /// About how many nodes run in all.
    fn runs(&self) -> f64 {
        let trips = match (self.flow.kind, &self.flow.value) {
            (ControlKind::If | ControlKind::Switch, _) => 1.0,
            (ControlKind::Repeat, ControlValue::Number(number)) => *number as f64,
            _ => UNKNOWN_TRIPS,
        };
        let nodes = self.bodies.iter().flatten().map(|node| match node {
            FlowNode::Command(..) => 1.0,
            FlowNode::Control(tree) => tree.runs(),
        });
        trips * nodes.sum::<f64>()
    }

    fn commands<'t>(&'t self, all: &mut Vec<(u32, &'t Arc<CommandKind>)>) {
        for node in self.bodies.iter().flatten() {
            match node {
                FlowNode::Command(origin, command) => all.push((*origin, command)),
                FlowNode::Control(tree) => tree.commands(all),
            }
        }
    }
}

enum Item<'t> {
    Task(u32, &'t Arc<CommandKind>),
    Flow(FlowTask),
}

/// Writes a list, in two steps: its memory is made when it is known how many tasks there are.
struct Writer<'t> {
    queue: &'t Queue,
    /// Whether iterations are counted.
    counts: bool,
    items: Vec<Item<'t>>,
    owners: Vec<(u64, FlowOwner)>,
    /// The second tasks of loops, outer ones first; of one that is not there yet, 0.
    counted: Vec<(usize, FlowOwner)>,
    memory: Vec<Arc<Allocation>>,
    /// Of the innermost loop, inner loops left out.
    cost_ns: f64,
    all_ns: f64,
    /// All that may run, each node as often as it may; infinite where nobody knows.
    total_ns: f64,
    /// Of a task that jumps.
    jump_ns: f64,
}

impl<'t> Writer<'t> {
    fn here(&self) -> u64 {
        self.items.len() as u64
    }

    fn push(&mut self, task: FlowTask) -> usize {
        self.cost_ns += self.jump_ns;
        self.total_ns += self.jump_ns;
        self.items.push(Item::Flow(task));
        self.items.len() - 1
    }

    fn set_target(&mut self, at: usize, to: u64) {
        if let Some(Item::Flow(task)) = self.items.get_mut(at) {
            task.target = to;
        }
    }

    /// Adds a loop or a condition.
    ///
    /// # Errors
    /// When memory cannot be looked up; and inside, the reason why the interpreter cannot run it.
    fn control<'c>(
        &mut self,
        tree: &'t FlowTree,
        candidates: &mut impl Iterator<Item = &'c Candidate>,
    ) -> Result<Result<(), String>> {
        let FlowTree { owner: (graph, node), flow, bodies } = tree;
        let owner = FlowOwner { graph: *graph, node: *node, name: flow.name(), limit: flow.max_iterations };
        let (value, constant) = match &flow.value {
            ControlValue::Number(number) => (FlowValue::default(), *number),
            ControlValue::Parameter { value, .. } => (FlowValue::default(), *value),
            ControlValue::Device { from, scalar } => {
                let block = from.clone().into_block(self.queue)?;
                let address = block.region.address();
                if !address.is_multiple_of(scalar.size_bytes() as u64) {
                    return Ok(Err("what it decides by is not aligned".to_owned()));
                }
                // The word of 8 bytes that it is a part of is read.
                let allocation = block.region.allocation();
                let word_end = (address & !7) + 8 - allocation.address().addr() as u64;
                if word_end > allocation.readable_bytes() as u64 {
                    return Ok(Err("what it decides by ends memory of another library".to_owned()));
                }
                self.memory.push(Arc::clone(block.region.allocation()));
                let (mask, sign) = scalar.bits();
                (FlowValue { address, mask, sign }, 0)
            }
        };
        match flow.kind {
            ControlKind::While | ControlKind::Repeat => {
                let (begin, again) = match flow.kind {
                    ControlKind::While => (FlowOp::While, FlowOp::WhileAgain),
                    _ => (FlowOp::Repeat, FlowOp::RepeatAgain),
                };
                let limit = flow.max_iterations;
                let counts = self.counts;
                let begin =
                    self.push(FlowTask { op: begin, value, constant, limit, counts, ..FlowTask::default() });
                let place = self.counted.len();
                self.counted.extend(counts.then(|| (0, owner.clone())));
                let around = std::mem::take(&mut self.cost_ns);
                let before_ns = std::mem::take(&mut self.total_ns);
                let head = self.here();
                for body in bodies {
                    if let Err(reason) = self.body(body, candidates)? {
                        return Ok(Err(reason));
                    }
                }
                if self.cost_ns > LONGEST_NS {
                    return Ok(Err("an iteration takes too long for one launch".to_owned()));
                }
                let cost = (self.cost_ns + self.jump_ns).ceil() as u64;
                let again =
                    self.push(FlowTask { op: again, target: head, value, cost, ..FlowTask::default() });
                if let Some((task, _)) = self.counted.get_mut(place) {
                    *task = again;
                }
                let end = self.here();
                self.set_target(begin, end);
                self.owners.extend([(begin as u64, owner.clone()), (again as u64, owner)]);
                self.all_ns += self.cost_ns;
                self.cost_ns = around;
                let is_known = flow.kind == ControlKind::Repeat && value == FlowValue::default();
                let trips = match is_known && constant <= flow.max_iterations {
                    true => constant as f64,
                    false => f64::INFINITY,
                };
                self.total_ns = before_ns + trips * self.total_ns;
            }
            ControlKind::If => {
                let test = self.push(FlowTask { op: FlowOp::If, value, ..FlowTask::default() });
                let mut ends = Vec::new();
                for (number, body) in bodies.iter().enumerate() {
                    if number == 1 {
                        let otherwise = self.here();
                        self.set_target(test, otherwise);
                    }
                    if let Err(reason) = self.body(body, candidates)? {
                        return Ok(Err(reason));
                    }
                    ends.push(self.push(FlowTask::default()));
                }
                let end = self.here();
                ends.into_iter().for_each(|jump| self.set_target(jump, end));
            }
            ControlKind::Switch => {
                let limit = bodies.len() as u64;
                let switch = self.push(FlowTask { op: FlowOp::Switch, value, limit, ..FlowTask::default() });
                let jumps: Vec<usize> = bodies.iter().map(|_| self.push(FlowTask::default())).collect();
                let mut ends = vec![switch];
                for (jump, body) in jumps.into_iter().zip(bodies) {
                    let begin = self.here();
                    self.set_target(jump, begin);
                    if let Err(reason) = self.body(body, candidates)? {
                        return Ok(Err(reason));
                    }
                    ends.push(self.push(FlowTask::default()));
                }
                let end = self.here();
                ends.into_iter().for_each(|jump| self.set_target(jump, end));
            }
        }
        Ok(Ok(()))
    }

    fn body<'c>(
        &mut self,
        nodes: &'t [FlowNode],
        candidates: &mut impl Iterator<Item = &'c Candidate>,
    ) -> Result<Result<(), String>> {
        for node in nodes {
            match node {
                FlowNode::Command(origin, command) => {
                    let candidate = candidates.next().copied().unwrap_or(Candidate::NOTHING);
                    if candidate.kind != Kind::Nothing {
                        self.cost_ns += candidate.cost_ns();
                        self.total_ns += candidate.cost_ns();
                        self.items.push(Item::Task(*origin, command));
                    }
                }
                FlowNode::Control(tree) => {
                    if let Err(reason) = self.control(tree, candidates)? {
                        return Ok(Err(reason));
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// The list, with its memory.
    fn finish(mut self, program: Arc<InterpreterProgram>) -> Result<Flow> {
        // A launch writes its result behind the last task.
        let mut list = TaskList::new(self.items.len() + 1);
        let mut sequence = Sequence::new(self.queue.context().driver(), self.queue.device());
        let mut scratch = Vec::new();
        let mut load = FlowLoad { tasks: 0, items: 0.0, is_straight: true, list: self.items.len() };
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Item::Task(origin, command) => {
                    let named = |error: Error| error.at(format!("node {origin}"));
                    let draft = Draft::of(&program, command, self.queue, &mut scratch).map_err(named)?;
                    let Some(draft) = draft else { continue };
                    let kernel = program.layout().kernel(draft.record.kernel).ok_or_else(lost)?;
                    load.tasks += 1;
                    load.items += draft.record.global_size.iter().product::<u64>() as f64;
                    load.is_straight &= kernel.is_straight;
                    let block = list.add_block(kernel);
                    list.write(block, &scratch)?;
                    list.set(index, &TaskRecord { arguments: block as u64, ..draft.record })?;
                    self.memory.extend(draft.memory);
                }
                Item::Flow(task) => list.set_flow(index, &program.layout().flow(task).ok_or_else(lost)?)?,
            }
        }
        self.memory.sort_by_key(|memory| Arc::as_ptr(memory).addr());
        self.memory.dedup_by(|a, b| Arc::ptr_eq(a, b));
        self.memory.iter().try_for_each(|memory| sequence.keep(memory))?;
        let is_short = self.total_ns <= SHORT_NS;
        let budget_ns = if is_short { u64::MAX } else { FIRST_BUDGET_NS };
        let group = program.flow_group(&load);
        let counted: Vec<usize> = self.counted.iter().map(|(task, _)| *task).collect();
        let before = vec![0; counted.len()];
        let began = Instant::now();
        let run = Run { list, program, group, next: 0, budget_ns, began, is_early: false, before };
        let run = Arc::new(Mutex::new(run));
        let walk = Arc::clone(&run);
        let step = Step::other(
            Vec::new(),
            Box::new(move |queue, after, _| {
                let mut run = walk.lock();
                let Run { list, program, group, next, budget_ns, began, before, .. } = &mut *run;
                if *next == 0 {
                    list.prepare(queue.context(), queue.device())?;
                    for (task, before) in counted.iter().zip(before) {
                        *before = list.iterations(*task)?;
                    }
                }
                *began = Instant::now();
                list.launch_flow(program, queue, [*next, *budget_ns], *group, after)
            }),
        );
        sequence.push(step, &[], NO_LABEL)?;
        let cost_ns = self.all_ns + self.cost_ns;
        let (memory, owners, sequence) = (self.memory, self.owners, Mutex::new(sequence));
        let counted = self.counted;
        Ok(Flow { sequence, run, memory, owners, counted, cost_ns, is_short })
    }
}

impl Flow {
    /// The memory that its tasks use.
    pub(in crate::graph) fn memory(&self) -> &[Arc<Allocation>] {
        &self.memory
    }

    /// Lets the next launch begin with the first task. All launches before have ended. `is_early`: the launch is enqueued before the
    /// commands that it depends on have ended.
    pub(in crate::graph) fn begin(&self, is_early: bool) {
        let mut run = self.run.lock();
        (run.next, run.is_early) = (0, is_early);
    }

    /// Whether one launch does all of it, and no loop can come to its limit: then nobody must look
    /// how it ended.
    pub(in crate::graph) fn is_short(&self) -> bool {
        self.is_short
    }

    /// A launch, which runs tasks until all is done, or the budget is spent. The one before has
    /// ended.
    pub(in crate::graph) fn launch(self: &Arc<Self>) -> PreparedCommand {
        let graph = Arc::clone(self) as Arc<dyn GraphCommand>;
        PreparedCommand::Part(GraphPart::new(graph, 0, None))
    }

    /// How many iterations of each loop there were in this submission, outer loops first. Nothing where they are
    /// not counted. The last launch has ended.
    pub(in crate::graph) fn iterations(&self) -> Result<Vec<(LoopNode, u64)>> {
        let mut run = self.run.lock();
        let Run { list, before, .. } = &mut *run;
        let loops = self.counted.iter().zip(before);
        loops
            .map(|((task, owner), before)| {
                Ok((owner.as_node(), list.iterations(*task)?.wrapping_sub(*before)))
            })
            .collect()
    }

    /// Whether all is done. The last launch has ended.
    ///
    /// # Errors
    /// When a loop came to its limit, with its node.
    pub(in crate::graph) fn is_done(&self) -> Result<bool> {
        let mut run = self.run.lock();
        match run.list.end()? {
            FlowEnd::Done => Ok(true),
            FlowEnd::GoOn(next) => {
                run.next = next;
                // As far as estimates are wrong.
                let took = run.began.elapsed().max(Duration::from_micros(1));
                let shortest = if std::mem::take(&mut run.is_early) { 1.0 } else { 0.1 };
                let factor = (LAUNCH.as_secs_f64() / took.as_secs_f64()).clamp(shortest, 10.0);
                run.budget_ns = ((run.budget_ns as f64 * factor) as u64).max(1);
                Ok(false)
            }
            FlowEnd::Limit(task) => {
                let owner = self.owners.iter().find(|(own, _)| *own == task).map(|(_, owner)| owner);
                Err(owner.map_or_else(lost, FlowOwner::limit_reached))
            }
        }
    }
}

/// As the only part of a graph.
impl GraphCommand for Flow {
    fn id(&self) -> u64 {
        u64::MAX
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        Vec::new()
    }

    fn check(&self, _: &Context, _: &Device) -> Result<()> {
        Ok(())
    }

    fn is_bound(&self) -> bool {
        false
    }

    fn submit(self: Arc<Self>, _: &Queue, _: &[&AnyEvent], _: &[&AnyEvent]) -> Result<AnyEvent> {
        Err(Error::bug("tasks of a loop were submitted as a graph"))
    }

    fn part_memory(self: Arc<Self>, _: usize) -> Vec<Arc<Allocation>> {
        self.memory.clone()
    }

    fn run_part(self: Arc<Self>, _: usize, _: u64, on: RunOn<'_>) -> Result<Event> {
        let sequence = self.sequence.lock();
        let measure = on.queue.properties().profiling;
        on.queue.run(&sequence, 0..1, on.after, Mode { measure, held: on.held })
    }

    fn end_part(self: Arc<Self>, _: usize) {}
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flow({} owners)", self.owners.len())
    }
}

/// A loop, as timelines name it.
#[derive(Debug, Clone)]
pub(in crate::graph) struct LoopNode {
    pub(in crate::graph) node: u32,
    pub(in crate::graph) name: &'static str,
}

impl FlowOwner {
    fn as_node(&self) -> LoopNode {
        LoopNode { node: self.node, name: self.name }
    }

    fn limit_reached(&self) -> Error {
        let Self { graph, node, name, limit } = self;
        too_long(*limit).at(format!("{name} node {node}")).at(format!("graph {graph}"))
    }
}

/// The error of a loop that would run longer.
pub(in crate::graph) fn too_long(limit: u64) -> Error {
    Error::new(
        ErrorKind::Runtime,
        format!("the loop would run more than {limit} iterations, which is its limit"),
    )
    .remedy("set another limit with `Command::max_iterations`, or look why the loop does not end")
}
