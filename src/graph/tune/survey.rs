//! Asks interpreter programs which commands they can run, and returns plain numbers for planning.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::background::{Build, Wanted};
use crate::MakeError as _;
use crate::command::{Argument, CommandKind, Form, KernelForm};
use crate::driver::DeviceKind;
use crate::graph::exec::draft;
use crate::graph::exec::tasks::{TaskLimits, Tasks};
use crate::graph::plan::eligibility::{Candidate, Kind, LOCAL_ALIGN, groups_for};
use crate::graph::plan::planner::Candidates;
use crate::program::{INTERPRETER_FLOW, InterpreterPart, InterpreterProgram, InterpreterSlot, Shape};
use crate::{Error, Queue, Result};

/// The result of looking at the nodes of a partition.
pub(in crate::graph) enum Surveyed {
    Ready(Survey),
    /// Interpreter programs are being built for them.
    Building(Build),
    /// Nobody wanted the interpreter programs before, so that they are not built yet.
    FirstRequest,
}

/// The nodes of a partition for planning, and the programs that task lists of them run with.
#[derive(Default)]
pub(in crate::graph) struct Survey {
    pub(in crate::graph) candidates: Candidates,
    /// The programs that [`Kind::Of`](crate::graph::plan::eligibility::Kind::Of) indexes.
    pub(in crate::graph) programs: Vec<Arc<InterpreterProgram>>,
}

/// A program of kernels, by address, and the number of its interpreter program, or of the reason
/// why there is none.
type Numbers = HashMap<usize, Result<u32, u32>>;

impl Survey {
    /// Looks at commands, with numbers for messages. Builds missing interpreter programs in the
    /// background: `at_once`, or when one of them is wanted for the second time. With `has_flow`, all
    /// kernels are in one program, which runs lists with jumps.
    pub(in crate::graph) fn of<'c>(
        queue: &Queue,
        commands: impl ExactSizeIterator<Item = (u32, &'c CommandKind)>,
        at_once: bool,
        has_flow: bool,
    ) -> Result<Surveyed> {
        let mut forms = Vec::with_capacity(commands.len());
        for (origin, command) in commands {
            forms.push(command.form(queue).map_err(|error| error.at(format!("node {origin}")))?);
        }
        let mut parts: Vec<InterpreterPart> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for form in &forms {
            let Form::Kernel(KernelForm { kernel, call, .. }) = form else { continue };
            let at = *places.entry(address(kernel.interpreters())).or_insert_with(|| {
                parts.push(InterpreterPart {
                    target: call.target().clone(),
                    specs: call.specs().to_vec(),
                    slot: Arc::clone(kernel.interpreters()),
                    kernels: BTreeSet::new(),
                });
                parts.len() - 1
            });
            let name = &kernel.signature().name;
            if let Some(InterpreterPart { kernels, .. }) = parts.get_mut(at)
                && !kernels.contains(name)
            {
                kernels.insert(name.clone());
            }
        }
        let wanted: Vec<Wanted> = match (has_flow, parts.as_mut_slice()) {
            (true, [part]) => {
                part.kernels.insert(INTERPRETER_FLOW.to_owned());
                parts.into_iter().map(Wanted::One).collect()
            }
            (true, [_, _, ..]) => vec![Wanted::joined(queue.context(), parts)],
            _ => parts.into_iter().map(Wanted::One).collect(),
        };
        let mut survey = Self::default();
        let mut numbers = Numbers::new();
        let mut missing = Vec::new();
        for wanted in wanted {
            let (slot, kernels) = wanted.place();
            match slot.find(kernels) {
                Some(built) => {
                    let number = match built {
                        Ok(program) => {
                            survey.programs.push(program);
                            Ok(survey.programs.len() as u32 - 1)
                        }
                        Err(error) => Err(survey.reason(&format!("{error:#}"))),
                    };
                    numbers.extend(wanted.parts().iter().map(|part| (address(&part.slot), number)));
                }
                None => missing.push(wanted),
            }
        }
        if !missing.is_empty() {
            // All are noted.
            let known = missing
                .iter()
                .filter(|wanted| {
                    let (slot, kernels) = wanted.place();
                    slot.request(kernels)
                })
                .count();
            if known == 0 && !at_once {
                return Ok(Surveyed::FirstRequest);
            }
            return Ok(Surveyed::Building(Build::start(queue.context(), queue.device(), missing)));
        }
        survey.candidates.nodes.reserve(forms.len());
        for form in &forms {
            let candidate = survey.candidate(form, &numbers).unwrap_or_else(Candidate::standalone);
            survey.candidates.nodes.push(on_device(candidate, queue));
        }
        Ok(Surveyed::Ready(survey))
    }

    /// Rates a command for this interpreter program, which may lack its kernel. Its number is 0.
    fn candidate_for(
        queue: &Queue,
        program: &Arc<InterpreterProgram>,
        command: &CommandKind,
    ) -> Result<Candidate> {
        let mut survey = Self { programs: vec![Arc::clone(program)], ..Self::default() };
        let form = command.form(queue)?;
        let mut numbers = Numbers::new();
        if let Form::Kernel(KernelForm { kernel, .. }) = &form {
            let slot = kernel.interpreters();
            let is_its = slot.holds(program);
            numbers.insert(address(slot), if is_its { Ok(0) } else { Err(0) });
        }
        Ok(on_device(survey.candidate(&form, &numbers).unwrap_or_else(Candidate::standalone), queue))
    }

    /// # Errors
    /// The number of the reason why it is launched.
    fn candidate(&mut self, form: &Form<'_>, numbers: &Numbers) -> Result<Candidate, u32> {
        match form {
            Form::Nothing => Ok(Candidate::NOTHING),
            Form::Kernel(kernel) => self.kernel(kernel, numbers),
            Form::Copy { from, to, size } => Ok(Candidate::moved(from.address() | to.address(), size)),
            Form::Fill { pattern, .. } if pattern.len() > 16 => {
                Err(self.reason("a fill with a long pattern"))
            }
            Form::Fill { to, size, pattern } => {
                Ok(Candidate::moved(to.address() | pattern.len() as u64, size))
            }
            Form::Other(reason) => Err(self.reason(reason)),
        }
    }

    fn kernel(&mut self, form: &KernelForm<'_>, numbers: &Numbers) -> Result<Candidate, u32> {
        let name = &form.kernel.signature().name;
        let lost = || Error::invalid("the kernel's program is lost").to_string();
        let number = match numbers.get(&address(form.kernel.interpreters())) {
            Some(number) => (*number)?,
            None => return Err(self.reason(&lost())),
        };
        let look_up = || {
            let program = self.programs.get(number as usize).ok_or_else(lost)?;
            let index = program.kernel_index(form.kernel.interpreters(), name)?;
            let kernel = program.layout().kernel(index).ok_or_else(lost)?;
            let bytes = form.call.arguments().iter().map(local_bytes).fold(0, u64::saturating_add);
            let size = &form.size;
            let local = groups_for(kernel, program.limits(), size.global, size.local, bytes)?;
            let work_items: f64 = size.global.iter().map(|size| *size as f64).product();
            Ok(Candidate::kernel(number, kernel, work_items, local))
        };
        look_up().map_err(|reason: String| self.reason(&reason))
    }

    fn reason(&mut self, reason: &str) -> u32 {
        let reasons = &mut self.candidates.reasons;
        let known = reasons.iter().position(|known| known == reason);
        known.unwrap_or_else(|| {
            reasons.push(reason.to_owned());
            reasons.len() - 1
        }) as u32
    }
}

/// Whether a command can replace that of a task. Its kernel must be in the program of the
/// segment. It must be small, and need no other size of groups.
pub(in crate::graph) fn fits(
    tasks: &Tasks,
    task: u32,
    before: &CommandKind,
    command: &CommandKind,
    queue: &Queue,
) -> Result<bool> {
    if before.differs_in_arguments(command) {
        return Ok(true);
    }
    let TaskLimits { program, launch, cap_ns } = tasks.limits(task)?;
    if draft::local_bytes(command.arguments()) > launch.local_bytes {
        return Ok(false);
    }
    if before.is_patched_by(command) && before.range() == command.range() {
        return Ok(true);
    }
    let candidate = Survey::candidate_for(queue, program, command)?;
    let takes = match candidate.kind {
        Kind::Of(0, None) | Kind::AnyList => true,
        Kind::Of(0, Some(local)) => launch.shape == Shape::Wi(local.map(|size| size as usize)),
        _ => false,
    };
    Ok(takes && candidate.is_small(cap_ns))
}

/// The candidate with what it costs on the device of a queue.
fn on_device(candidate: Candidate, queue: &Queue) -> Candidate {
    if queue.device().kind() == DeviceKind::Gpu { candidate.on_gpu() } else { candidate }
}

fn address(slot: &Arc<InterpreterSlot>) -> usize {
    Arc::as_ptr(slot).addr()
}

fn local_bytes(argument: &Argument) -> u64 {
    match argument {
        Argument::Local { size_bytes, .. } => {
            (*size_bytes as u64).checked_next_multiple_of(LOCAL_ALIGN as u64).unwrap_or(u64::MAX)
        }
        _ => 0,
    }
}
