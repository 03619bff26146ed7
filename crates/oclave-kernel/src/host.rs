//! Kernels on the host, for tests.

use core::any::Any;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::panic::Location;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use crate::{Data, Element, Global, Item, Local, Object, Objects, Out};

/// A range on the host.
#[derive(Debug, Clone, Copy)]
pub struct HostRange<const D: usize> {
    global: [usize; 3],
    local: Option<[usize; 3]>,
}

/// A size of `D` dimensions with 1 for the others.
fn three<const D: usize>(size: [usize; D]) -> [usize; 3] {
    let mut all = [1; 3];
    all.iter_mut().zip(size).for_each(|(to, size)| *to = size);
    all
}

impl<const D: usize> HostRange<D> {
    /// A range whose work-groups have one work-item each. They run one after another.
    pub fn new(global: [usize; D]) -> Self {
        Self { global: three(global), local: None }
    }

    /// A range with work-groups, each work-item of which is a thread. The sizes of work-groups divide
    /// those of the range.
    ///
    /// # Panics
    /// If they do not.
    pub fn with_groups(global: [usize; D], local: [usize; D]) -> Self {
        let (global, local) = (three(global), three(local));
        let fits = global.iter().zip(&local).all(|(global, local)| *local > 0 && global % local == 0);
        assert!(fits, "work-groups of {local:?} do not divide a range of {global:?}");
        Self { global, local: Some(local) }
    }
}

/// A range of any dimensions.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    global: [usize; 3],
    local: [usize; 3],
    has_groups: bool,
}

/// A work-item while it runs.
#[derive(Debug)]
pub struct Work<'a> {
    item: Item<'a, 3>,
    number: usize,
    group: usize,
}

/// What the work-items of a work-group have in common.
#[derive(Debug)]
pub(crate) struct HostGroup {
    size: usize,
    meeting: Mutex<Meeting>,
    changed: Condvar,
    values: Mutex<Vec<u64>>,
    arrays: Mutex<Arrays>,
}

/// Work-items at a barrier.
#[derive(Debug, Default)]
struct Meeting {
    waiting: usize,
    /// How often all have met.
    count: u64,
    /// Whether a work-item has panicked. The others end at their next barrier.
    is_ended: bool,
}

/// With what a work-item unwinds because another one has panicked.
struct Ended;

/// Local arrays, by the place in the source that asks for them and their size in bytes.
type Arrays = HashMap<(&'static Location<'static>, usize), LocalArray>;

/// Memory for a local array.
#[derive(Debug)]
struct LocalArray(*mut [u64]);

// SAFETY: work-items access the memory as they do on a device.
unsafe impl Send for LocalArray {}

impl LocalArray {
    fn new(bytes: usize) -> Self {
        let words: Vec<u64> = (0..bytes.div_ceil(8)).map(|_| 0).collect();
        Self(Box::into_raw(words.into_boxed_slice()))
    }
}

impl Drop for LocalArray {
    fn drop(&mut self) {
        // SAFETY: the memory is that of the box in `new`. Work-items do not keep it longer than their work-group lives.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl HostGroup {
    fn new(size: usize) -> Self {
        let values = Mutex::new((0..size).map(|_| 0).collect());
        Self { size, meeting: Mutex::default(), changed: Condvar::new(), values, arrays: Mutex::default() }
    }

    fn meeting(&self) -> MutexGuard<'_, Meeting> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait(&self) {
        let mut meeting = self.meeting();
        let before = meeting.count;
        meeting.waiting += 1;
        if meeting.waiting == self.size {
            meeting.waiting = 0;
            meeting.count += 1;
            self.changed.notify_all();
            return;
        }
        while meeting.count == before && !meeting.is_ended {
            meeting = self.changed.wait(meeting).unwrap_or_else(PoisonError::into_inner);
        }
        if meeting.count == before {
            drop(meeting);
            std::panic::resume_unwind(Box::new(Ended));
        }
    }

    /// Lets the others end.
    fn end(&self) {
        self.meeting().is_ended = true;
        self.changed.notify_all();
    }

    /// Gives the value of a work-item to the others, and gets theirs.
    pub(crate) fn exchange(&self, number: usize, value: u64) -> Vec<u64> {
        let values = || self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = values().get_mut(number) {
            *own = value;
        }
        self.wait();
        let all = values().clone();
        self.wait();
        all
    }
}

/// The local array of the caller's place, for a work-group or for a work-item that is alone in its.
#[track_caller]
pub(crate) fn local_array(group: Option<&HostGroup>, bytes: usize) -> *mut u8 {
    std::thread_local! {
        static ALONE: RefCell<Arrays> = RefCell::default();
    }
    let key = (Location::caller(), bytes);
    let array = |arrays: &mut Arrays| arrays.entry(key).or_insert_with(|| LocalArray::new(bytes)).0.cast();
    match group {
        Some(group) => array(&mut group.arrays.lock().unwrap_or_else(PoisonError::into_inner)),
        None => ALONE.with_borrow_mut(array),
    }
}

/// Local memory of one parameter: that of the work-group that runs.
#[derive(Debug)]
pub struct LocalMemory<T> {
    len: usize,
    memory: Mutex<(usize, Vec<MaybeUninit<T>>)>,
}

/// Memory that work-items share, as they reach it.
#[derive(Debug)]
pub struct Shared<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: work-items access elements by volatile accesses or their own one; as on a device.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

/// A parameter on the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a kernel",
    note = "memory that the kernel changes is an `Out` (the work-item's own element) or a `Global` (all elements), and no `&mut`"
)]
pub trait HostParameter: Sized {
    /// What `run_on_host` takes.
    type Host<'h>;
    /// What all work-items share.
    type Shared: Sync;
    /// What the kernel is given. It lives no longer than the run.
    type Given<'s>;

    /// Begins a run. What is given must live until its end: `run_on_host` holds it.
    fn share(given: Self::Host<'_>) -> Self::Shared;

    /// The range, of the parameter that has it.
    fn range(_: &Self::Shared) -> Option<Range> {
        None
    }

    /// The parameter of a work-item.
    fn of<'s>(shared: &'s Self::Shared, work: &Work<'s>) -> Self::Given<'s>;
}

impl<const D: usize> HostParameter for Item<'_, D> {
    type Host<'h> = HostRange<D>;
    type Shared = HostRange<D>;
    type Given<'s> = Item<'s, D>;

    fn share(given: HostRange<D>) -> HostRange<D> {
        given
    }

    fn range(shared: &HostRange<D>) -> Option<Range> {
        Some(Range {
            global: shared.global,
            local: shared.local.unwrap_or([1; 3]),
            has_groups: shared.local.is_some(),
        })
    }

    fn of<'s>(_: &'s HostRange<D>, work: &Work<'s>) -> Item<'s, D> {
        let Item { global_id, global_size, local_id, local_size, group_id, group_count, group } = work.item;
        Item { global_id, global_size, local_id, local_size, group_id, group_count, group }
    }
}

macro_rules! values {
    ($($ty:ty),*) => {$(
        impl HostParameter for $ty {
            type Host<'h> = $ty;
            type Shared = $ty;
            type Given<'s> = $ty;

            fn share(given: $ty) -> $ty {
                given
            }

            fn of(shared: &$ty, _: &Work<'_>) -> Self {
                *shared
            }
        }
    )*};
}

values!(i8, u8, i16, u16, i32, u32, i64, u64, crate::f16, f32, f64);

impl<T: Data, const N: usize> HostParameter for [T; N] {
    type Host<'h> = [T; N];
    type Shared = [T; N];
    type Given<'s> = [T; N];

    fn share(given: [T; N]) -> [T; N] {
        given
    }

    fn of(shared: &[T; N], _: &Work<'_>) -> Self {
        *shared
    }
}

impl<D: Objects + ?Sized, const SIZE: usize> HostParameter for Object<D, SIZE> {
    type Host<'h> = Self;
    type Shared = Self;
    type Given<'s> = Self;

    fn share(given: Self) -> Self {
        given
    }

    fn of(shared: &Self, _: &Work<'_>) -> Self {
        *shared
    }
}

impl<T: Element + Send + Sync> HostParameter for &[T] {
    type Host<'h> = &'h [T];
    type Shared = Shared<T>;
    type Given<'s> = &'s [T];

    fn share(given: &[T]) -> Shared<T> {
        Shared { first: given.as_ptr().cast_mut(), len: given.len() }
    }

    fn of<'s>(shared: &'s Shared<T>, _: &Work<'_>) -> &'s [T] {
        // SAFETY: `run_on_host` holds the memory while `shared` lives.
        unsafe { core::slice::from_raw_parts(shared.first, shared.len) }
    }
}

impl<T: Data> HostParameter for Out<'_, T> {
    type Host<'h> = &'h mut [T];
    type Shared = Shared<T>;
    type Given<'s> = Out<'s, T>;

    fn share(given: &mut [T]) -> Shared<T> {
        Shared { first: given.as_mut_ptr(), len: given.len() }
    }

    fn of<'s>(shared: &'s Shared<T>, work: &Work<'s>) -> Out<'s, T> {
        assert!(work.number < shared.len, "the range has more work-items than an `Out` has elements");
        // SAFETY: in bounds, and each work-item has another number.
        let element = unsafe { shared.first.add(work.number) };
        Out { element, of: PhantomData }
    }
}

impl<T: Data> HostParameter for Global<'_, T> {
    type Host<'h> = &'h mut [T];
    type Shared = Shared<T>;
    type Given<'s> = Global<'s, T>;

    fn share(given: &mut [T]) -> Shared<T> {
        Shared { first: given.as_mut_ptr(), len: given.len() }
    }

    fn of<'s>(shared: &'s Shared<T>, _: &Work<'_>) -> Global<'s, T> {
        Global { first: shared.first, len: shared.len, of: PhantomData }
    }
}

impl<T: Data> HostParameter for Local<'_, T> {
    type Host<'h> = usize;
    type Shared = LocalMemory<T>;
    type Given<'s> = Local<'s, T>;

    fn share(given: usize) -> LocalMemory<T> {
        LocalMemory { len: given, memory: Mutex::new((usize::MAX, Vec::new())) }
    }

    fn of<'s>(shared: &'s LocalMemory<T>, work: &Work<'s>) -> Local<'s, T> {
        let mut memory = shared.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.0 != work.group {
            // Work-groups run one after another.
            *memory = (work.group, (0..shared.len).map(|_| MaybeUninit::zeroed()).collect());
        }
        Local { first: memory.1.as_mut_ptr().cast(), len: shared.len, of: PhantomData }
    }
}

/// Runs all work-items.
///
/// # Panics
/// If no parameter has the range, and where the kernel panics.
pub fn run(range: Option<Range>, kernel: &(dyn Fn(&Work<'_>) + Sync)) {
    let Range { global, local, has_groups } =
        range.expect("a kernel that runs on the host has a parameter `Item`");
    let count = [0, 1, 2].map(|axis| global[axis] / local[axis].max(1));
    for (group, group_id) in places(count).enumerate() {
        let size: usize = local.iter().product();
        let shared = has_groups.then(|| HostGroup::new(size));
        let shared = shared.as_ref();
        let work = |local_id: [usize; 3]| {
            let global_id = [0, 1, 2].map(|axis| group_id[axis] * local[axis] + local_id[axis]);
            let number = (global_id[2] * global[1] + global_id[1]) * global[0] + global_id[0];
            let item = Item {
                global_id,
                global_size: global,
                local_id,
                local_size: local,
                group_id,
                group_count: count,
                group: shared,
            };
            Work { item, number, group }
        };
        if has_groups {
            let first: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
            let run = |work: &Work<'_>| {
                let Err(cause) = catch_unwind(AssertUnwindSafe(|| kernel(work))) else { return };
                shared.into_iter().for_each(HostGroup::end);
                if !cause.is::<Ended>() {
                    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
                }
            };
            std::thread::scope(|scope| {
                for local_id in places(local) {
                    let work = work(local_id);
                    let run = &run;
                    scope.spawn(move || run(&work));
                }
            });
            if let Some(cause) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
                std::panic::resume_unwind(cause);
            }
        } else {
            places(local).for_each(|local_id| kernel(&work(local_id)));
        }
    }
}

/// All places of a size, the first axis fastest.
fn places(size: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [x, y, z] = size;
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}
