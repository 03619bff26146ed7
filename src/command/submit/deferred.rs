//! Deferred commands: host tasks, loops that the host decides, and others. These depend on an event
//! that no driver knows yet: that of a host task, of another context, from outside, or of another
//! deferred command.
//!
//! The thread that completes the last missing dependency puts the command on its queue, or gives it
//! to the threads of host tasks. So drivers only ever wait for what they have, and their queues
//! move on whatever the host does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::MakeError as _;
use crate::command::describe::task::{TASK, caught};
use crate::command::prepare::control::RunControl;
use crate::command::prepare::prepared::PreparedCommand;
use crate::driver::sync::Mutex;
use crate::driver::{event as driver, hook};
use crate::event::{Known, Outcome, Promise, Times};
use crate::queue::Ticket;
use crate::runtime::Counted;
use crate::{Error, Event, Queue, Result, runtime};

/// A command that waits.
struct DeferredCommand {
    /// Dependencies that are not met, and one while it is being set up.
    missing: AtomicUsize,
    /// Host tasks and loops wait for what the driver has to end; others leave that to the driver.
    is_task: bool,
    work: Mutex<Option<Work>>,
    promise: Arc<Promise>,
}

/// How a command depends on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// The other must succeed.
    Needs,
    /// The other only comes first.
    Behind,
    /// As `Behind`, and the driver keeps the order once it has both.
    SameQueue,
}

impl Tie {
    /// The effect of the other's failure on this one.
    fn failure(self, error: &Error) -> Option<&Error> {
        (self == Self::Needs).then_some(error)
    }
}

struct Work {
    prepared: PreparedCommand,
    queue: Queue,
    ticket: Ticket,
    /// The events that the driver must wait for.
    natives: Vec<(driver::Event, Tie)>,
    /// The events that the driver keeps in order without being told. A command that fails waits for them, too.
    ahead: Vec<driver::Event>,
    /// Whether its memory is still held.
    holds: bool,
    _counted: Counted,
    /// The first failure among the dependencies.
    failure: Option<Error>,
    session: Option<hook::Session>,
}

impl Work {
    /// Whether the end of a graph is over: all of the graph has ended, and so has what that came after. A driver
    /// is to tell when, where this is measured.
    fn all_has_ended(&self) -> bool {
        self.natives.is_empty() && self.ahead.is_empty() && !self.queue.driver().properties().profiling
    }
}

/// Takes a command that cannot go to the driver yet. It also runs after `behind`, whether or not
/// that succeeds.
///
/// # Errors
/// When the host accesses its memory, and for events of a recording.
pub(super) fn defer<'a>(
    queue: &Queue,
    prepared: PreparedCommand,
    after: impl Iterator<Item = &'a Event> + Clone,
    behind: &[&Event],
) -> Result<Event> {
    after.clone().try_for_each(|event| event.known().map(drop))?;
    runtime::start()?;
    queue.driver().context().check()?;
    let is_task = matches!(prepared, PreparedCommand::HostTask(_) | PreparedCommand::Control(_));
    let rank = prepared.rank(after.clone().next().is_none());
    prepared.hold(queue.driver(), Promise::is_in_loop())?;
    let promise = Promise::new(queue.driver().properties().profiling);
    // Before others see the promise: a thread that looks for a circle must find all that it waits
    // for.
    after.clone().for_each(|event| promise.comes_after_event(event));
    behind.iter().for_each(|event| promise.comes_after_event(event));
    let (ticket, before) = queue.order().enter(rank, &promise);
    let work = Work {
        prepared,
        queue: queue.clone(),
        ticket,
        natives: Vec::new(),
        ahead: Vec::new(),
        holds: true,
        _counted: Counted::held(),
        failure: None,
        session: hook::session(),
    };
    let held = Arc::new(DeferredCommand {
        missing: AtomicUsize::new(1),
        is_task,
        work: Mutex::new(Some(work)),
        promise: Arc::clone(&promise),
    });
    let native_order = if is_task { native_order(queue, before.is_empty()) } else { Ok(None) };
    after.for_each(|event| held.depend_on(event, Tie::Needs));
    behind.iter().for_each(|event| held.depend_on(event, Tie::Behind));
    before.into_iter().for_each(|promise| held.depend_on(&Event::promised(promise), Tie::SameQueue));
    match native_order {
        Ok(native_order) => {
            native_order.iter().for_each(|event| held.depend_on(event, Tie::SameQueue));
            held.met(None);
        }
        Err(error) => {
            // It is of this command, not of one that another wait tells of.
            queue.order().failed(&error);
            held.met(Some(&error));
        }
    }
    Ok(Event::promised(promise))
}

/// An event after which everything has ended that the driver has got and that a task on this queue
/// must come after. Deferred commands of an in-order queue come after it anyway.
fn native_order(queue: &Queue, is_first: bool) -> Result<Option<Event>> {
    if queue.is_out_of_order() {
        return Ok(queue.order().barrier());
    }
    if !is_first {
        return Ok(None);
    }
    queue.driver().marker_of_all().map(|marker| marker.map(Event::native))
}

impl DeferredCommand {
    /// Adds a dependency.
    fn depend_on(self: &Arc<Self>, event: &Event, tie: Tie) {
        self.missing.fetch_add(1, Ordering::AcqRel);
        match event.known() {
            Ok(Known::Native(event)) => self.depend_on_native(event, tie),
            Ok(Known::Unknown(promise)) => {
                let held = Arc::clone(self);
                promise.when_known(move |outcome| match outcome {
                    Outcome::Native(event) => held.depend_on_native(event, tie),
                    Outcome::Done(_) => held.met(None),
                    Outcome::Failed(error) => held.met(tie.failure(error)),
                });
            }
            Ok(Known::Done) => self.met(None),
            Ok(Known::Failed(error)) => self.met(tie.failure(error)),
            // Checked before.
            Err(error) => self.met(Some(&error)),
        }
    }

    fn depend_on_native(self: &Arc<Self>, event: &driver::Event, tie: Tie) {
        if !self.is_task {
            let mut place = self.lock();
            if let Some(work) = place.as_mut() {
                let is_same = tie == Tie::SameQueue;
                if is_same || Arc::ptr_eq(work.queue.driver().context(), event.queue().context()) {
                    match is_same {
                        true => work.ahead.push(event.clone()),
                        false => work.natives.push((event.clone(), tie)),
                    }
                    drop(place);
                    return self.met(None);
                }
            }
        }
        let held = Arc::clone(self);
        self.promise.when_ended(event, move |outcome| {
            held.met(outcome.err().as_ref().and_then(|error| tie.failure(error)))
        });
    }

    fn lock(&self) -> crate::driver::sync::MutexGuard<'_, Option<Work>> {
        self.work.lock()
    }

    /// One dependency less.
    fn met(self: &Arc<Self>, failure: Option<&Error>) {
        if let (Some(failure), Some(work)) = (failure, self.lock().as_mut()) {
            // The end of a graph tells what failed in the graph.
            let is_end = matches!(work.prepared, PreparedCommand::GraphEnd);
            work.failure.get_or_insert_with(|| if is_end { failure.clone() } else { failure.of_dependent() });
        }
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            run_ready(Arc::clone(self));
        }
    }

    /// All dependencies are met.
    fn run(self: Arc<Self>) {
        let Some(mut work) = self.lock().take() else { return };
        match (work.failure.take(), &work.prepared) {
            (Some(failure), _) => self.fail(work, failure),
            (None, PreparedCommand::HostTask(_)) => {
                let submitted = Instant::now();
                let promise = Arc::clone(&self.promise);
                promise.spawn(move || self.run_task(work, submitted));
            }
            (None, PreparedCommand::Control(control)) => {
                let control = Arc::clone(control);
                self.run_control(work, control);
            }
            (None, PreparedCommand::GraphEnd) if work.all_has_ended() => {
                self.end_task(work, [Instant::now(); 2], Ok(()));
            }
            (None, _) if !work.prepared.try_use_held() => {
                // A host task has access to the memory.
                *self.lock() = Some(work);
                runtime::spawn(move || self.run_later());
            }
            (None, _) => self.enqueue(work),
        }
    }

    /// Ends a command that did not get to the driver, once everything has ended that it comes
    /// after. A thread that waits for it takes its end for the end of all that.
    fn fail(self: Arc<Self>, mut work: Work, failure: Error) {
        let natives = std::mem::take(&mut work.natives).into_iter().map(|(event, _)| event);
        let before: Vec<_> = natives.chain(std::mem::take(&mut work.ahead)).collect();
        if !before.is_empty() {
            work.failure = Some(failure);
            self.missing.store(before.len(), Ordering::Release);
            *self.lock() = Some(work);
            for event in before {
                let held = Arc::clone(&self);
                self.promise.when_ended(&event, move |_| held.met(None));
            }
            return;
        }
        if matches!(work.prepared, PreparedCommand::GraphEnd | PreparedCommand::LastPart(_)) {
            // The parts failed on a queue that nobody waits for.
            work.queue.order().failed(&failure);
        }
        match work.prepared {
            // Dropping a closure may run any code, and this thread may have locked
            // something.
            PreparedCommand::HostTask(_) | PreparedCommand::Native { .. } => {
                runtime::spawn(move || self.end(work, Outcome::Failed(failure)));
            }
            _ => self.end(work, Outcome::Failed(failure)),
        }
    }

    fn run_later(self: Arc<Self>) {
        let allocations: Vec<_> = match self.lock().as_ref() {
            Some(work) => work.prepared.allocations().into_iter().cloned().collect(),
            None => return,
        };
        runtime::blocking(|| allocations.iter().for_each(|allocation| allocation.wait_for_tasks()));
        run_ready(self);
    }

    fn run_task(&self, work: Work, submitted: Instant) {
        let _entered = work.session.as_ref().map(hook::Session::enter);
        let started = Instant::now();
        self.promise.runs();
        let outcome = match &work.prepared {
            PreparedCommand::HostTask(task) => self.promise.as_task(|| task.run(work.queue.context())),
            _ => Ok(()),
        };
        runtime::stop_if_exiting();
        self.end_task(work, [submitted, started], outcome);
    }

    /// Begins a loop or a condition, which ends on some thread of the library, or on this one.
    fn run_control(self: Arc<Self>, work: Work, control: Arc<dyn RunControl>) {
        let _entered = work.session.as_ref().map(hook::Session::enter);
        let started = Instant::now();
        self.promise.runs();
        let promise = Arc::clone(&self.promise);
        control.start(promise, Box::new(move |outcome| self.end_task(work, [started; 2], outcome)));
    }

    fn end_task(&self, work: Work, [submitted, started]: [Instant; 2], outcome: Result<()>) {
        let outcome = match outcome {
            Ok(()) => Outcome::Done(Times { submitted, started, ended: Instant::now() }),
            Err(error) => {
                work.queue.order().failed(&error);
                Outcome::Failed(error)
            }
        };
        self.end(work, outcome);
    }

    fn enqueue(self: Arc<Self>, mut work: Work) {
        let _entered = work.session.as_ref().map(hook::Session::enter);
        let queue = work.queue.driver();
        let must_wait = |(event, tie): &&(driver::Event, Tie)| *tie == Tie::Needs || !event.has_failed();
        let natives: Vec<&driver::Event> =
            work.natives.iter().filter(must_wait).map(|(event, _)| event).collect();
        let enqueued = work.prepared.execute(queue, &natives, true);
        work.prepared.end_held_use();
        work.holds = false;
        match enqueued {
            Ok(event) => {
                // Nobody else may think of it. The driver has the command in any case.
                if let Err(error) = queue.flush() {
                    queue.context().keep_error(error);
                }
                if matches!(work.prepared, PreparedCommand::Barrier) {
                    work.queue.order().passed_barrier(&Event::native(event.clone()));
                }
                self.finish(work, Outcome::Native(event));
            }
            Err(error) => {
                work.queue.order().failed(&error);
                self.fail(work, error);
            }
        }
    }

    /// Ends what never went to a driver.
    fn end(&self, work: Work, outcome: Outcome) {
        if work.holds {
            work.prepared.release();
        }
        self.finish(work, outcome);
    }

    /// Releases all that the command used, and then resolves its promise. So a thread that waited
    /// for it finds nothing of it still in use.
    fn finish(&self, work: Work, outcome: Outcome) {
        let Work { prepared, queue, ticket, .. } = work;
        let outcome = match (outcome, without(prepared)) {
            (Outcome::Done(_), Err(error)) => {
                queue.order().failed(&error);
                Outcome::Failed(error)
            }
            (outcome, _) => outcome,
        };
        // From here on, nothing of a user is called, which might wait, but in a task that this is part of.
        if !Promise::is_in_task() {
            runtime::takes_steps();
        }
        self.promise.resolve(outcome);
        queue.order().leave(ticket);
        drop(queue);
        self.promise.notify();
    }
}

/// Lets go of a command. What a task holds may panic as it goes.
fn without(prepared: PreparedCommand) -> Result<()> {
    caught(TASK, || {
        drop(prepared);
        Ok(())
    })
}

thread_local! {
    /// Commands that became ready while this thread runs another one.
    static READY: RefCell<Option<VecDeque<Arc<DeferredCommand>>>> = const { RefCell::new(None) };
}

/// Runs a command whose dependencies are met, and then all commands that become ready by that. It
/// uses a loop, because a chain may be longer than the stack.
fn run_ready(held: Arc<DeferredCommand>) {
    let nested = READY.with_borrow_mut(|ready| match ready {
        Some(ready) => {
            ready.push_back(Arc::clone(&held));
            true
        }
        None => {
            *ready = Some(VecDeque::new());
            false
        }
    });
    if nested {
        return;
    }
    let mut next = Some(held);
    while let Some(held) = next {
        held.run();
        next = READY.with_borrow_mut(|ready| {
            let next = ready.as_mut().and_then(VecDeque::pop_front);
            if next.is_none() {
                *ready = None;
            }
            next
        });
    }
}
