//! What nodes are to a list of tasks: where they can run, and what they cost.

use std::collections::HashMap;
use std::sync::Arc;

use oclave_image::passes::interpreter::{ByteBox, InterpreterKernel, InterpreterUnit};

use super::run::Segment;
use super::segments::{Candidate, Kind, Machine};
use crate::command::{Argument, CommandKind, Form, KernelForm};
use crate::graph::exec::background::Wanted;
use crate::graph::exec::costs;
use crate::program::{ReadyKernel, ReplayProgram, Source, Work};
use crate::{Error, Queue, Result};

/// The nodes of a partition as candidates for segments.
pub(crate) struct Classes {
    pub(in crate::graph) candidates: Vec<Candidate>,
    pub(in crate::graph) programs: Vec<Arc<ReplayProgram>>,
    pub(in crate::graph) machine: Machine,
    /// Whether some costs are not known, and are set so that the first replays tell them.
    pub(in crate::graph) is_guessed: bool,
    /// Of each node, what it does.
    nodes: Vec<Node>,
    /// Why a node runs by itself whatever its size: an index into `reasons`.
    pub(in crate::graph) alone: HashMap<u32, u32>,
    pub(in crate::graph) reasons: Vec<String>,
}

/// Looks at nodes one by one.
pub(in crate::graph) struct Classifier<'q> {
    queue: &'q Queue,
    programs: Vec<Arc<ReplayProgram>>,
    /// By address of the kernel, which is kept: program and number, or the reason why it is in none.
    kernels: HashMap<usize, (Arc<ReadyKernel>, Result<Place, u32>)>,
    reasons: Vec<String>,
    nodes: Vec<Node>,
    alone: HashMap<u32, u32>,
    /// Whether replay programs that are not there are left for others to build.
    in_background: bool,
    /// Whether nothing is to be learned.
    pub(in crate::graph) is_final: bool,
    /// Kernels whose programs others shall build.
    pub(in crate::graph) wanted: Vec<Wanted>,
}

/// So many launches a node may cost that nobody has seen in a list.
const TRIED_LAUNCHES: f64 = 32.0;
/// Nodes of a kernel that are launched to see what that costs.
const SAMPLES: u32 = 4;

/// A kernel's program and its number there.
type Place = (u32, u32);

#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    /// The kernel's number in its program; what has none is the library's own.
    kernel: Option<u32>,
    items: f64,
    steps: f64,
    /// As its launch has them.
    launch_steps: f64,
}

impl Node {
    const NOTHING: Self =
        Self { kind: Kind::Nothing, kernel: None, items: 0.0, steps: 0.0, launch_steps: 0.0 };
    const ALONE: Self = Self { kind: Kind::Alone, ..Self::NOTHING };
}

/// What a node is, and the steps that it has.
type Class = Result<Node, u32>;

impl<'q> Classifier<'q> {
    pub(in crate::graph) fn new(queue: &'q Queue, count: usize, in_background: bool) -> Self {
        Self {
            queue,
            programs: Vec::new(),
            kernels: HashMap::new(),
            reasons: Vec::new(),
            nodes: Vec::with_capacity(count),
            alone: HashMap::new(),
            in_background,
            is_final: false,
            wanted: Vec::new(),
        }
    }

    /// What a command is to the list of a program: of the number 0, whatever it uses.
    ///
    /// # Errors
    /// What a queue would refuse the command for.
    pub(in crate::graph) fn only(
        queue: &'q Queue,
        program: &Arc<ReplayProgram>,
        command: &CommandKind,
    ) -> Result<Option<(Candidate, Machine)>> {
        let mut classifier = Self::new(queue, 1, false);
        classifier.programs.push(Arc::clone(program));
        classifier.is_final = true;
        classifier.add(command)?;
        let classes = classifier.finish().0;
        Ok(classes.and_then(|classes| Some((*classes.candidates.first()?, classes.machine))))
    }

    /// Adds the next node. Builds the replay program of its kernel if nobody did.
    ///
    /// # Errors
    /// What a queue would refuse the command for.
    pub(in crate::graph) fn add(&mut self, command: &CommandKind) -> Result<()> {
        let class = match command.form(self.queue)? {
            Form::Nothing => Ok(Node::NOTHING),
            Form::Kernel(kernel) => self.kernel(&kernel),
            Form::Copy { from, to, size } => Ok(moved(from.address() | to.address(), &size)),
            Form::Fill { pattern, .. } if pattern.len() > 16 => {
                Err(self.reason("a fill with a long pattern"))
            }
            Form::Fill { to, size, pattern } => Ok(moved(to.address() | pattern.len() as u64, &size)),
            Form::Other(reason) => Err(self.reason(reason)),
        };
        self.nodes.push(class.unwrap_or_else(|reason| {
            self.alone.insert(self.nodes.len() as u32, reason);
            Node::ALONE
        }));
        Ok(())
    }

    /// With costs; none, and the reasons, where no list can run any kernel.
    pub(in crate::graph) fn finish(self) -> (Option<Classes>, Vec<String>) {
        let Some(first) = self.programs.first() else { return (None, self.reasons) };
        let machine = Machine {
            launch_ns: first.rates().enqueue_ns(),
            cores: self.queue.device().capabilities().compute_units,
            always: false,
        };
        let cores = f64::from(machine.cores.max(1));
        let mut samples: HashMap<Place, u32> = HashMap::new();
        let mut is_guessed = false;
        let mut candidate = |node: &Node| {
            let none = Candidate { cost_ns: 0.0, launch_ns: machine.launch_ns, kind: node.kind };
            let (program, local) = match node.kind {
                Kind::Nothing | Kind::Alone => return none,
                Kind::Free => (0, None),
                Kind::Of(program, local) => (program, local),
            };
            let program_of = self.programs.get(program as usize).unwrap_or(first);
            let rates = program_of.rates();
            let time = |steps: f64| {
                let work = Work { tasks: 1.0, steps };
                rates.time(rates.shape(local, work), work)
            };
            let mut cost_ns = time(node.steps);
            let mut launch_ns = machine.launch_ns + time(node.launch_steps) / cores;
            if let Some(kernel) = node.kernel {
                let is_known = |source: Source| program_of.is_known(kernel, source, node.items);
                if !is_known(Source::List) {
                    // A list tells what it costs there.
                    let tried_ns = TRIED_LAUNCHES * machine.launch_ns;
                    if cost_ns < tried_ns {
                        launch_ns = tried_ns;
                        is_guessed = true;
                    }
                } else if !is_known(Source::Launch) && cost_ns > machine.launch_ns / 2.0 && !self.is_final {
                    // Some launches tell what they cost.
                    let count = samples.entry((program, kernel)).or_default();
                    if *count < SAMPLES {
                        *count += 1;
                        cost_ns = f64::INFINITY;
                        is_guessed = true;
                    }
                }
            }
            Candidate { cost_ns, launch_ns, kind: node.kind }
        };
        let candidates = self.nodes.iter().map(&mut candidate).collect();
        let classes = Classes {
            candidates,
            is_guessed,
            programs: self.programs,
            machine,
            nodes: self.nodes,
            alone: self.alone,
            reasons: self.reasons,
        };
        (Some(classes), Vec::new())
    }

    /// The number of a reason.
    fn reason(&mut self, reason: &str) -> u32 {
        let known = self.reasons.iter().position(|known| known == reason);
        known.unwrap_or_else(|| {
            self.reasons.push(reason.to_owned());
            self.reasons.len() - 1
        }) as u32
    }

    fn kernel(&mut self, form: &KernelForm<'_>) -> Class {
        let (program, number) = self.place(form)?;
        let replay = self.programs.get(program as usize).cloned();
        let kernel = replay.as_ref().and_then(|replay| replay.layout().kernel(number));
        let (Some(replay), Some(kernel)) = (&replay, kernel) else {
            return Err(self.reason("the kernel is lost"));
        };
        let local = fits(form, kernel, replay).map_err(|reason| self.reason(&reason))?;
        let items: f64 = form.size.global.iter().map(|size| *size as f64).product();
        let [steps, launch_steps] =
            [Source::List, Source::Launch].map(|source| items * replay.steps(number, source));
        Ok(Node { kind: Kind::Of(program, local), kernel: Some(number), items, steps, launch_steps })
    }

    /// Where a kernel is.
    fn place(&mut self, form: &KernelForm<'_>) -> Result<Place, u32> {
        let key = Arc::as_ptr(&form.kernel).addr();
        if let Some((_, place)) = self.kernels.get(&key) {
            return *place;
        }
        let place = self.look_up(form).map_err(|error: Error| self.reason(&error.to_string()));
        self.kernels.insert(key, (Arc::clone(&form.kernel), place));
        place
    }

    fn look_up(&mut self, form: &KernelForm<'_>) -> Result<Place> {
        let (queue, call) = (self.queue, form.call);
        if self.in_background && form.kernel.replay().is_none() {
            self.wanted.push(Wanted { target: call.target().clone(), specs: call.specs().to_vec() });
            return Err(Error::invalid("its replay program is being built"));
        }
        let (program, number) =
            queue.context().programs().replay(queue.device(), call.target(), call.specs())?;
        let known = self.programs.iter().position(|known| Arc::ptr_eq(known, &program));
        let index = known.unwrap_or_else(|| {
            self.programs.push(program);
            self.programs.len() - 1
        });
        Ok((index as u32, number))
    }
}

impl Classes {
    /// Why none of the nodes can be in a list, if no kernel can.
    pub(in crate::graph) fn refusal(&self) -> Option<&str> {
        let can = self.candidates.iter().any(|candidate| matches!(candidate.kind, Kind::Of(..)));
        self.reasons.first().filter(|_| !can).map(String::as_str)
    }

    /// What the steps of a plan run, as far as something can be learned from it; the nodes still by their place in the partition.
    pub(in crate::graph) fn works(&self, segments: &[Segment]) -> Vec<costs::Work> {
        let is_to_learn = |node: &Node, source: Source| match node.kind {
            Kind::Of(program, _) => {
                let program = self.programs.get(program as usize).zip(node.kernel);
                program.is_some_and(|(program, kernel)| !program.is_measured(kernel, source, node.items))
            }
            _ => false,
        };
        let is_lesson = |segment: &Segment| match segment {
            Segment::List(run) => {
                let mut nodes = run.nodes.iter().filter_map(|node| self.nodes.get(*node as usize));
                nodes.any(|node| is_to_learn(node, Source::List))
            }
            Segment::Launch(node) => {
                self.nodes.get(*node as usize).is_some_and(|node| is_to_learn(node, Source::Launch))
            }
        };
        let work = |segment: &Segment| {
            let (nodes, groups, local, source) = match segment {
                Segment::List(run) => (run.nodes.as_slice(), run.groups, run.local, Source::List),
                Segment::Launch(node) => (std::slice::from_ref(node), u32::MAX, None, Source::Launch),
            };
            let all = || nodes.iter().filter_map(|node| self.nodes.get(*node as usize));
            let program = all().find_map(|node| match node.kind {
                Kind::Of(program, _) => self.programs.get(program as usize),
                _ => None,
            })?;
            let does = all().filter(|node| node.kind != Kind::Nothing);
            let steps = |node: &Node| if source == Source::List { node.steps } else { node.launch_steps };
            let whole = Work { tasks: does.count() as f64, steps: all().map(steps).sum() };
            let shape = program.rates().shape(local, whole);
            let mut work = costs::Work {
                node: *nodes.first()?,
                cores: f64::from(groups.min(self.machine.cores)),
                is_list: matches!(segment, Segment::List(_)),
                ..costs::Work::default()
            };
            for node in all().filter(|node| node.kind != Kind::Nothing) {
                let time = |steps: f64| program.rates().time(shape, Work { tasks: 1.0, steps });
                let kernel = match node.kind {
                    Kind::Of(program, _) if is_to_learn(node, source) => {
                        node.kernel.map(|kernel| (program, kernel))
                    }
                    _ => None,
                };
                work.add(kernel, node.items, time(steps(node)), time(0.0));
            }
            Some(work)
        };
        segments.iter().filter(|segment| is_lesson(segment)).filter_map(work).collect()
    }
}

/// What moves bytes, in elements as wide as all of `alignment` and the box are multiples of.
fn moved(alignment: u64, size: &ByteBox) -> Node {
    let [row_bytes, rows, planes] = size.extent;
    let pitches = size.to_pitch.iter().chain(&size.from_pitch).fold(0, |all, pitch| all | pitch);
    // As the library's own tasks do: 16, 4 or 1 bytes.
    let width = match (alignment | row_bytes | pitches).trailing_zeros() {
        4.. => 16,
        2.. => 4,
        _ => 1,
    };
    let steps = (row_bytes / width * rows * planes) as f64 * 6.0;
    Node { kind: Kind::Free, kernel: None, items: 0.0, steps, launch_steps: steps }
}

/// Whether a list can run the kernel over its range; with the size of groups that it needs, if it does.
pub(in crate::graph) fn fits(
    form: &KernelForm<'_>,
    kernel: &InterpreterKernel,
    program: &ReplayProgram,
) -> Result<Option<[u32; 3]>, String> {
    let name = || format!("kernel `{}`", kernel.name);
    let asks = kernel.needs_groups || kernel.unit == InterpreterUnit::Groups;
    let Some(local) = form.size.local else {
        return match asks {
            true => Err(format!("{} uses work-groups, and is launched without their size", name())),
            false => Ok(None),
        };
    };
    if !kernel.needs_groups {
        return Ok(None);
    }
    let whole = form.size.global.iter().zip(local).all(|(global, local)| global.is_multiple_of(local));
    if !whole {
        return Err(format!("{} shares local memory in work-groups that are not whole", name()));
    }
    let bytes = form.call.arguments().iter().map(local_bytes).fold(0, u64::saturating_add);
    if let Some(reason) = program.refusal(local, bytes) {
        return Err(format!("{} has {reason}", name()));
    }
    Ok(Some(local.map(|size| size as u32)))
}

fn local_bytes(argument: &Argument) -> u64 {
    match argument {
        Argument::Local { size_bytes, .. } => (*size_bytes as u64)
            .checked_next_multiple_of(super::interpreter::LOCAL_ALIGN as u64)
            .unwrap_or(u64::MAX),
        _ => 0,
    }
}
