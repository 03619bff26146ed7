//! Recording of OpenCL calls, for tests: counts by name, live objects, fault injection. (Cargo
//! feature `record`.)
//!
//! A [`Session`] sees the calls of the thread that started it, and of threads that
//! [joined](Handle::enter) it. Tests that run in parallel threads do not see each other's calls.
//! Without a session a call costs one relaxed atomic load.
//!
//! ```
//! let session = oclave::record::Session::start();
//! session.fail("clGetPlatformIDs", 1, -6);      // the next call fails with CL_OUT_OF_HOST_MEMORY and is not made
//! // …
//! assert_eq!(session.count("clLinkProgram"), 0);
//! assert!(session.live().is_empty());
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::MakeError as _;
use crate::sync::Mutex;

pub use super::hook::ObjectKind;

/// Sessions alive in the process; zero is the fast path.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// Objects created under a session: which one, and how many references are held. Global, because
/// another thread than the creator's may release an object.
static OBJECTS: Mutex<Option<HashMap<(ObjectKind, usize), Owned>>> = Mutex::new(None);

struct Owned {
    session: Arc<State>,
    references: usize,
}

thread_local! {
    static CURRENT: RefCell<Vec<Arc<State>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct State {
    data: Mutex<Data>,
}

#[derive(Default)]
struct Data {
    counts: BTreeMap<&'static str, u64>,
    log: Option<Vec<&'static str>>,
    faults: Vec<Fault>,
    injected: u64,
    live: BTreeMap<ObjectKind, usize>,
    waits: u64,
}

struct Fault {
    call: String,
    /// Calls of that name until the first that fails, that one included.
    countdown: u64,
    code: i32,
    /// All later calls of that name fail, too.
    lasting: bool,
}

/// Records the calls of this thread until it is dropped. Sessions nest: the innermost records.
#[must_use = "a session records until it is dropped"]
pub struct Session {
    state: Arc<State>,
    /// The thread that starts a session ends it.
    not_send: PhantomData<*const ()>,
}

impl Session {
    /// Starts recording on this thread.
    pub fn start() -> Self {
        SESSIONS.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(State::default());
        push(&state);
        Self { state, not_send: PhantomData }
    }

    /// For another thread that shall take part.
    pub fn handle(&self) -> Handle {
        Handle { state: Arc::clone(&self.state) }
    }

    /// How often each function was called, failed and injected calls included.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.state.data.lock().counts.clone()
    }

    /// How often one function was called.
    pub fn count(&self, call: &str) -> u64 {
        self.state.data.lock().counts.get(call).copied().unwrap_or(0)
    }

    /// All calls together.
    pub fn total(&self) -> u64 {
        self.state.data.lock().counts.values().sum()
    }

    /// How many events and synchronisation points were in the wait lists of calls that succeeded:
    /// the edges that the driver was given.
    pub fn waits(&self) -> u64 {
        self.state.data.lock().waits
    }

    /// Sets the counts and the log back; live objects and faults stay.
    pub fn reset(&self) {
        let mut data = self.state.data.lock();
        data.counts.clear();
        data.waits = 0;
        if let Some(log) = &mut data.log {
            log.clear();
        }
    }

    /// Objects created in this session and not yet released to the last reference, by whichever
    /// thread. Kinds without any are left out.
    pub fn live(&self) -> BTreeMap<ObjectKind, usize> {
        self.state.data.lock().live.iter().filter(|(_, n)| **n > 0).map(|(kind, n)| (*kind, *n)).collect()
    }

    /// Keeps the names of all calls from now on, in order, for [`Session::log`].
    pub fn keep_log(&self) {
        self.state.data.lock().log.get_or_insert_with(Vec::new);
    }

    /// The calls since [`Session::keep_log`] or [`Session::reset`].
    pub fn log(&self) -> Vec<&'static str> {
        self.state.data.lock().log.clone().unwrap_or_default()
    }

    /// Makes the `nth` call from now (1 is the next) of a function fail with `code`; the driver is
    /// not called. A code of 0 is refused by doing nothing: success cannot be injected.
    pub fn fail(&self, call: &str, nth: u64, code: i32) {
        self.add_fault(call, nth, code, false);
    }

    /// Makes the `nth` call from now and all later calls of a function fail with `code`, as
    /// [`fail`](Self::fail) does.
    pub fn fail_from(&self, call: &str, nth: u64, code: i32) {
        self.add_fault(call, nth, code, true);
    }

    fn add_fault(&self, call: &str, nth: u64, code: i32, lasting: bool) {
        if code != 0 && nth > 0 {
            let fault = Fault { call: call.to_owned(), countdown: nth, code, lasting };
            self.state.data.lock().faults.push(fault);
        }
    }

    /// How many calls were made to fail.
    pub fn injected(&self) -> u64 {
        self.state.data.lock().injected
    }

    /// Faults that have not happened yet.
    pub fn pending_faults(&self) -> usize {
        self.state.data.lock().faults.len()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        pop(&self.state);
        if let Some(objects) = OBJECTS.lock().as_mut() {
            objects.retain(|_, owned| !Arc::ptr_eq(&owned.session, &self.state));
        }
        SESSIONS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("counts", &self.counts()).field("live", &self.live()).finish()
    }
}

/// Lets another thread take part in a session.
#[derive(Clone)]
pub struct Handle {
    state: Arc<State>,
}

impl Handle {
    /// The calls of this thread count for the session until the guard is dropped.
    pub fn enter(&self) -> Entered {
        push(&self.state);
        Entered { state: Arc::clone(&self.state), not_send: PhantomData }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// The session that this thread takes part in: what a library thread started on behalf of a caller
/// enters.
pub fn current() -> Option<Handle> {
    let state = if is_on() { innermost() } else { None };
    state.map(|state| Handle { state })
}

/// Guard of [`Handle::enter`].
#[must_use = "the thread takes part until this is dropped"]
#[derive(Debug)]
pub struct Entered {
    state: Arc<State>,
    not_send: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        pop(&self.state);
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("State")
    }
}

fn push(state: &Arc<State>) {
    // A thread that is ending has no thread-locals any more, and nothing to record.
    let _ = CURRENT.try_with(|current| current.borrow_mut().push(Arc::clone(state)));
}

fn pop(state: &Arc<State>) {
    let _ = CURRENT.try_with(|current| {
        let mut current = current.borrow_mut();
        if let Some(at) = current.iter().rposition(|other| Arc::ptr_eq(other, state)) {
            current.remove(at);
        }
    });
}

/// Whether there is a session. Every call asks this, and benchmarks are built with this module: so
/// what follows where there is one stands apart from the calls.
#[inline(always)]
fn is_on() -> bool {
    SESSIONS.load(Ordering::Relaxed) != 0
}

#[cold]
#[inline(never)]
fn innermost() -> Option<Arc<State>> {
    CURRENT.try_with(|current| current.borrow().last().cloned()).ok().flatten()
}

/// The functions that the tables call.
pub(crate) mod hooks {
    use super::*;
    use crate::sys::cl_event;
    use crate::{Error, Result};

    /// Counts a call that is about to be made.
    ///
    /// # Errors
    /// The failure that was asked for.
    #[inline(always)]
    #[doc(hidden)]
    pub fn before(call: &'static str) -> Result<()> {
        if is_on() { count(call) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn count(call: &'static str) -> Result<()> {
        let Some(state) = innermost() else { return Ok(()) };
        let mut data = state.data.lock();
        *data.counts.entry(call).or_default() += 1;
        if let Some(log) = &mut data.log {
            log.push(call);
        }
        let mut code = None;
        data.faults.retain_mut(|fault| {
            if fault.call != call {
                return true;
            }
            fault.countdown = fault.countdown.saturating_sub(1);
            if fault.countdown == 0 {
                code = Some(fault.code);
            }
            fault.countdown > 0 || fault.lasting
        });
        data.injected += u64::from(code.is_some());
        code.map_or(Ok(()), |code| Err(Error::cl(call, code)))
    }

    #[inline(always)]
    pub(crate) fn created<T>(kind: ObjectKind, object: *mut T) {
        if is_on() {
            add(kind, object.addr());
        }
    }

    #[cold]
    #[inline(never)]
    fn add(kind: ObjectKind, object: usize) {
        let Some(state) = innermost() else { return };
        *state.data.lock().live.entry(kind).or_default() += 1;
        OBJECTS
            .lock()
            .get_or_insert_default()
            .insert((kind, object), Owned { session: state, references: 1 });
    }

    /// Also undoes a release that failed. If it was the last reference, the object is missing in
    /// the balance. Only tests of that very failure could see this.
    #[inline(always)]
    pub(crate) fn retained<T>(kind: ObjectKind, object: *mut T) {
        if is_on() {
            retain(kind, object.addr());
        }
    }

    #[cold]
    #[inline(never)]
    fn retain(kind: ObjectKind, object: usize) {
        if let Some(owned) = OBJECTS.lock().as_mut().and_then(|o| o.get_mut(&(kind, object))) {
            owned.references += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn released<T>(kind: ObjectKind, object: *mut T) {
        if is_on() {
            release(kind, object.addr());
        }
    }

    #[cold]
    #[inline(never)]
    fn release(kind: ObjectKind, object: usize) {
        let mut objects = OBJECTS.lock();
        let Some(objects) = objects.as_mut() else { return };
        let Some(owned) = objects.get_mut(&(kind, object)) else { return };
        owned.references -= 1;
        if owned.references == 0 {
            if let Some(live) = owned.session.data.lock().live.get_mut(&kind) {
                *live = live.saturating_sub(1);
            }
            objects.remove(&(kind, object));
        }
    }

    #[inline(always)]
    pub(crate) fn waited(events: usize) {
        if events > 0
            && is_on()
            && let Some(state) = innermost()
        {
            state.data.lock().waits += events as u64;
        }
    }

    /// `event` is the out-parameter of a call that succeeded: null, or it holds a new event.
    #[inline(always)]
    pub(crate) fn event_created(event: *mut cl_event) {
        if !is_on() || event.is_null() {
            return;
        }
        // SAFETY: not null, so the caller passed a place for the event, and the driver has just
        // written it.
        let event = unsafe { *event };
        created(ObjectKind::Event, event);
    }
}
