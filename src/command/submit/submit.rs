//! Submitting: the one way from a command to a queue.

use std::sync::Arc;

use super::deferred::defer;
use super::recording::{Recorder, recorder_of};
use crate::MakeError as _;
use crate::command::describe::argument::Value;
use crate::command::describe::call::KernelCall;
use crate::command::describe::command::{Command, CommandKind};
use crate::command::describe::compare::is_plain;
use crate::command::describe::name::{Labelled, Name, full_name};
use crate::command::describe::task::HostTask;
use crate::command::prepare::launch;
use crate::command::prepare::prepared::PreparedCommand;
use crate::driver::event as driver;
use crate::event::{Known, Promise};
use crate::handles::with_slice;
use crate::memory::Block;
use crate::memory::buffer::{self, Transport};
use crate::queue::Rank;
use crate::range::NdRange;
use crate::{Error, Event, Queue, Result, runtime};

/// Gives a command to what records the queue, or puts it on the queue.
pub(crate) fn submit(queue: &Queue, command: Command) -> Result<Event> {
    let own = command.name().cloned();
    submit_after(queue, command, queue.dependencies())
        .map_err(|error| with_name(error, name_on(queue, own.as_ref())))
}

/// The name of a command on a queue: its own name, in the labels of the queue.
fn name_on(queue: &Queue, own: Option<&Name>) -> Option<Name> {
    full_name(own, |whose| whose == Labelled::Queue(queue.recording().id()))
}

/// Names a command in an error.
#[cold]
fn with_name(error: Error, name: Option<Name>) -> Error {
    match name {
        Some(name) => error.at(format!("command `{name}`")),
        None => error,
    }
}

/// Whether [`submit_direct`] can launch a kernel. Nothing must record or defer it, submissions must
/// not block, and the driver must take its arguments as they are. This is the common case.
#[inline]
pub(crate) fn is_direct(queue: &Queue, call: &KernelCall) -> bool {
    let after = queue.dependencies();
    !queue.recording().is_active()
        && !queue.context().blocking_submissions()
        && call.bindings().is_empty()
        && goes_at_once(queue, call, after.iter())
}

/// Puts a kernel on the queue for which [`is_direct`] holds. No command is made, as nothing must be
/// kept. What this calls for each launch is inlined: a result that goes from function to function
/// in memory costs as much as an atomic operation.
pub(crate) fn submit_direct(queue: &Queue, range: &NdRange, call: &KernelCall) -> Result<Event> {
    launch_at_once(queue, range, call, queue.dependencies().iter())
        .or_else(|error| submit_if_busy(queue, range, call, error))
}

/// After a launch that failed with `error`: submits it again if a host task was in the way, as the
/// command is deferred then.
#[cold]
fn submit_if_busy(queue: &Queue, range: &NdRange, call: &KernelCall, error: Error) -> Result<Event> {
    if !error.is_busy_in_task() {
        return Err(with_name(error, name_on(queue, None)));
    }
    submit(queue, Command::parallel_for(*range, call.clone()))
}

/// As [`submit`]; the command waits for `after` instead of what the queue's handle waits for.
fn submit_after(queue: &Queue, command: Command, after: &[Event]) -> Result<Event> {
    if let Some(recorder) = recorder(queue, &command, after) {
        return match recorder.record(queue, command.after(after))? {
            Ok(event) => Ok(event),
            Err(command) => submit_after(queue, command, &[]),
        };
    }
    let name = command.name().cloned();
    let (mut kind, own) = command.into_parts();
    kind.check_bindings(None)?;
    if let CommandKind::HostTask(task) = &mut kind
        && let Some(name) = name_on(queue, name.as_ref())
    {
        *task = task.clone().with_name(Some(name));
    }
    if let CommandKind::Kernel { range, call } = &kind {
        let after = own.iter().chain(after);
        if goes_at_once(queue, call, after.clone()) {
            match launch_at_once(queue, range, call, after) {
                Err(error) if error.is_busy_in_task() => {}
                outcome => return outcome,
            }
        }
    }
    let requirements = kind.requirements();
    let prepared = kind.prepare(queue)?;
    let run = |more: &[&Event], behind: &[&Event]| {
        let all = own.iter().chain(after).chain(more.iter().copied());
        with_slice(all, |all| match prepared {
            PreparedCommand::Graph(graph) => graph.submit(queue, all, behind),
            prepared => submit_prepared(queue, prepared, all.iter().copied(), behind),
        })
    };
    match requirements.is_empty() {
        true => run(&[], &[]),
        false => {
            let carry = |what, after: &[Event], behind: &[Event]| carry(queue, what, after, behind);
            buffer::ordered(queue.context(), &requirements, &carry, run)
        }
    }
}

/// Submits what brings the contents of a buffer to the context of a queue. It also runs after
/// `behind`, whether or not that succeeds.
fn carry(queue: &Queue, transport: Transport, after: &[Event], behind: &[Event]) -> Result<Event> {
    let prepared = match transport {
        Transport::Zeroes(to) => PreparedCommand::Fill { to: Block::whole(to), pattern: Value::new(&0_u8) },
        Transport::Write { from, to } => PreparedCommand::Write { from: from.into(), to: Block::whole(to) },
        Transport::Task(task) => PreparedCommand::HostTask(HostTask::of(task)),
    };
    with_slice(behind.iter(), |behind| submit_prepared(queue, prepared, after.iter(), behind))
}

/// Whether a kernel's arguments can be given to the driver as they are, and nothing defers it.
#[inline]
fn goes_at_once<'a>(queue: &Queue, call: &KernelCall, mut after: impl Iterator<Item = &'a Event>) -> bool {
    call.arguments().iter().all(is_plain)
        && queue.order().lets_pass(Rank::Plain)
        && after.all(|event| is_for_driver(queue, event))
}

/// Puts a kernel on the queue for which [`goes_at_once`] holds.
#[inline(always)]
fn launch_at_once<'a>(
    queue: &Queue,
    range: &NdRange,
    call: &KernelCall,
    after: impl Iterator<Item = &'a Event>,
) -> Result<Event> {
    let (kernel, size) = launch::find(queue.context(), queue.device(), range, call)?;
    with_slice(after.filter_map(Event::native_event), |after| {
        launch::execute(queue.driver(), &kernel, call.arguments(), size.as_ref(), after, false)
            .map(Event::native)
    })
}

/// Enqueues a command that was prepared for the queue's context and device. It also runs after
/// `behind`, whether or not that succeeds.
pub(crate) fn submit_prepared<'a>(
    queue: &Queue,
    prepared: PreparedCommand,
    after: impl Iterator<Item = &'a Event> + Clone,
    behind: &[&Event],
) -> Result<Event> {
    // A driver would fail a command that waits for an event that failed.
    with_slice(behind.iter().copied().filter(|event| !event.is_done_or_failed()), |behind| {
        submit_behind(queue, prepared, after, behind)
    })
}

/// As [`submit_prepared`], for `behind` of which nothing is known to have failed.
fn submit_behind<'a>(
    queue: &Queue,
    prepared: PreparedCommand,
    after: impl Iterator<Item = &'a Event> + Clone,
    behind: &[&Event],
) -> Result<Event> {
    let alone = after.clone().next().is_none() && behind.is_empty();
    let rank = prepared.rank(alone);
    if alone && queue.is_out_of_order() && matches!(prepared, PreparedCommand::Empty) {
        return Ok(Event::promised(Promise::done(queue.driver().properties().profiling)));
    }
    let for_driver = !matches!(prepared, PreparedCommand::HostTask(_) | PreparedCommand::Control(_))
        && queue.order().lets_pass(rank)
        && after.clone().all(|event| is_for_driver(queue, event))
        && behind.iter().all(|event| is_for_driver(queue, event));
    if !for_driver {
        return defer(queue, prepared, after, behind);
    }
    let natives = both(after.clone(), behind).filter_map(Event::native_event);
    let event = match with_slice(natives, |natives| prepared.execute(queue.driver(), natives, false)) {
        Ok(event) => Event::native(event),
        Err(error) if error.is_busy_in_task() => return defer(queue, prepared, after, behind),
        Err(error) => return Err(error),
    };
    if matches!(rank, Rank::Barrier { .. }) {
        queue.order().passed_barrier(&event);
    }
    Ok(event)
}

/// Whether a driver can wait for an event on a queue, or need not.
fn is_for_driver(queue: &Queue, event: &Event) -> bool {
    match event.known() {
        Ok(Known::Native(event)) => Arc::ptr_eq(event.queue().context(), queue.driver().context()),
        Ok(Known::Done) => true,
        _ => false,
    }
}

/// The recorder of the command: that which the queue records into, or else that of an event that it
/// waits for.
#[inline]
fn recorder(queue: &Queue, command: &Command, after: &[Event]) -> Option<Arc<dyn Recorder>> {
    queue
        .recording()
        .recorder()
        .or_else(|| command.dependencies().iter().find_map(recorder_of))
        .or_else(|| after.iter().find_map(recorder_of))
}

/// For what the caller waits for anyway: waits for what the driver cannot wait for, and calls with
/// the events that it can.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for events of a recording; when a command that
/// is waited for failed.
pub(crate) fn with_driver_events<'a, R>(
    queue: &Queue,
    events: impl Iterator<Item = &'a Event>,
    run: impl FnOnce(&[&driver::Event]) -> Result<R>,
) -> Result<R> {
    for promise in queue.order().in_the_way() {
        promise.wait_known()?;
    }
    let mut natives = Vec::new();
    for event in events {
        match event.wait_known()? {
            Known::Native(event) if Arc::ptr_eq(event.queue().context(), queue.driver().context()) => {
                natives.push(event);
            }
            Known::Native(event) => {
                runtime::blocking(|| event.wait()).map_err(|error| error.of_dependent())?
            }
            Known::Failed(error) => return Err(error.of_dependent()),
            Known::Done | Known::Unknown(_) => {}
        }
    }
    run(&natives)
}

fn both<'s, 'a: 's>(
    after: impl Iterator<Item = &'a Event> + Clone,
    behind: &'s [&'s Event],
) -> impl Iterator<Item = &'s Event> + Clone {
    after.map(|event| -> &'s Event { event }).chain(behind.iter().copied())
}
