//! What tasks cost on a device: measured once for a program, and kept in its cache.

use std::sync::Arc;
use std::time::Instant;

use oclave_image::passes::interpreter::{ByteBox, OwnTask, TaskRecord};

use super::{ReplayProgram, Segment, TaskList};
use crate::Result;
use crate::driver::queue::{Properties, Queue};
use crate::driver::usm::{Allocation, Kind};
use crate::program::build::Builder;
use crate::program::device::DeviceState;
use crate::program::disk::CacheKey;

/// How a launch runs tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One work-item runs all work-items of a task.
    Seq,
    /// A group of this size shares them.
    Wi([usize; 3]),
}

/// What a list of tasks has to do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Work {
    pub(crate) tasks: f64,
    /// Items times the steps of one.
    pub(crate) steps: f64,
}

/// Times of one shape in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) shape: Shape,
    /// Of a task without work.
    task: f64,
    /// Of a step, on one core.
    step: f64,
}

/// What replaying costs on a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rates {
    /// Nanoseconds of one of many launches of no tasks on a queue.
    enqueue: f64,
    /// Nanoseconds that a launch of no tasks runs on the device, by its profile.
    launched: f64,
    shapes: Vec<Rate>,
}

impl Rates {
    /// What each of many launches on a queue costs in nanoseconds.
    pub(crate) fn enqueue_ns(&self) -> f64 {
        self.enqueue
    }

    /// The shape for tasks that need groups of a size, or none.
    pub(crate) fn shape(&self, local: Option<[u32; 3]>, work: Work) -> Shape {
        local.map_or_else(|| self.best(work).0, |local| Shape::Wi(local.map(|size| size as usize)))
    }

    /// What a launch that does nothing takes from start to end.
    pub(crate) fn launched_ns(&self) -> f64 {
        self.launched
    }

    /// Nanoseconds on one core, the launch left out, of tasks that run in a shape.
    pub(crate) fn time(&self, shape: Shape, work: Work) -> f64 {
        match shape {
            Shape::Wi(local) => self.of_groups(local.iter().product(), work),
            Shape::Seq => {
                let rate = self.shapes.iter().find(|rate| rate.shape == Shape::Seq);
                rate.map_or(f64::INFINITY, |rate| rate.time(work))
            }
        }
    }

    /// Nanoseconds on one core, the launch left out, by groups of so many work-items.
    fn of_groups(&self, work_items: usize, work: Work) -> f64 {
        let sizes = self.shapes.iter().filter_map(|rate| match rate.shape {
            Shape::Seq => None,
            Shape::Wi([x, ..]) => Some((x.abs_diff(work_items), rate)),
        });
        sizes.min_by_key(|(distance, _)| *distance).map_or(f64::INFINITY, |(_, rate)| rate.time(work))
    }

    /// The shape that is estimated to be the fastest, and the nanoseconds that it takes on one core, the launch left out.
    /// Not for kernels that need groups, whose shape is theirs.
    pub(crate) fn best(&self, work: Work) -> (Shape, f64) {
        let times = self.shapes.iter().map(|rate| (rate.shape, rate.time(work)));
        times.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Shape::Seq, f64::INFINITY))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut numbers = vec![self.enqueue, self.launched];
        for rate in &self.shapes {
            let local = match rate.shape {
                Shape::Seq => 0,
                Shape::Wi([x, ..]) => x,
            };
            numbers.extend([local as f64, rate.task, rate.step]);
        }
        bytemuck::cast_slice(&numbers).to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let numbers: Vec<f64> = bytes
            .chunks(8)
            .map(|number| {
                Some(f64::from_ne_bytes(number.try_into().ok()?)).filter(|n| n.is_finite() && *n >= 0.0)
            })
            .collect::<Option<_>>()?;
        let (&[enqueue, launched], rest) = numbers.split_first_chunk()?;
        let rate = |numbers: &[f64]| match *numbers {
            [local, task, step] if CANDIDATES.contains(&(local as usize)) => {
                let shape = if local == 0.0 { Shape::Seq } else { Shape::Wi([local as usize, 1, 1]) };
                Some(Rate { shape, task, step }).filter(|_| task > 0.0 && step > 0.0)
            }
            _ => None,
        };
        let shapes = rest.chunks(3).map(rate).collect::<Option<_>>()?;
        Some(Self { enqueue, launched, shapes })
    }
}

impl Rate {
    fn time(&self, work: Work) -> f64 {
        self.task * work.tasks + self.step * work.steps
    }

    /// Whether both say about the same.
    fn is_like(&self, other: &Self) -> bool {
        let alike = |a: f64, b: f64| (1.0 / ALIKE..ALIKE).contains(&(a / b));
        alike(self.task, other.task) && alike(self.step, other.step)
    }

    /// What was disturbed less.
    fn least(self, other: Self) -> Self {
        Self { task: self.task.min(other.task), step: self.step.min(other.step), ..self }
    }
}

/// Local sizes to try; 0 stands for [`Shape::Seq`].
const CANDIDATES: [usize; 4] = [0, 16, 64, 256];
/// Tasks without work to measure with.
const TASKS: usize = 512;
/// Tasks with work, and items of each.
const BUSY: usize = 16;
const ITEMS: u64 = 256;
/// Of a pass over all shapes, the best of which counts. In each all shapes take their turns, so that what else the machine does hits all
/// of them, or is over before the next round.
const ROUNDS: usize = 8;
/// Two passes that differ by less agree: something else on the machine would hardly do the same to both.
const ALIKE: f64 = 1.5;
/// How often passes that do not agree are made anew.
const ATTEMPTS: usize = 4;
/// Nanoseconds that a task without work, and a step of an item, are taken to cost where they could not be measured.
const LEAST_TASK: f64 = 5.0;
const LEAST_STEP: f64 = 0.02;
/// Launches behind each other.
const LAUNCHES: usize = 32;
const NO_TASKS: Segment = Segment { first: 0, count: 0, groups: 1, shape: Shape::Seq, local_bytes: 0 };

/// The rates of a program, from the cache or measured.
pub(super) fn known_or_measured(
    builder: &Builder<'_>,
    device: &DeviceState,
    key: &CacheKey,
    program: &ReplayProgram,
) -> Result<Rates> {
    if let Some(rates) = builder.disk.and_then(|disk| Rates::from_bytes(&disk.load(key)?)) {
        return Ok(rates);
    }
    let (rates, sound) = measure(builder, device, program)?;
    if let Some(disk) = builder.disk
        && sound
    {
        disk.store(key, &rates.to_bytes());
    }
    Ok(rates)
}

/// The rates, and whether they can be relied on: what other work of the machine disturbed is not kept.
fn measure(builder: &Builder<'_>, device: &DeviceState, program: &ReplayProgram) -> Result<(Rates, bool)> {
    let context = builder.context;
    let properties = Properties { profiling: true, internal: true, ..Properties::default() };
    let bytes = BUSY * ITEMS as usize * 4;
    let memory = Allocation::new(context, Some(device.device()), Kind::Device, bytes, 16)?;
    let mut list = list(program, memory.address().addr() as u64)?;
    list.prepare(context, device.device())?;
    let steps = program.layout().kernels().last().map_or(1.0, |churn| f64::from(churn.cost.steps));
    let shape = |local| if local == 0 { Shape::Seq } else { Shape::Wi([local, 1, 1]) };
    let runs = |local: &usize| *local == 0 || program.refusal([*local, 1, 1], 0).is_none();
    let shapes = CANDIDATES.into_iter().filter(runs).map(shape).collect();
    let queue = device.queue(context)?;
    let timed = Queue::new(context, device.device(), properties)?;
    let mut measuring = Measuring { program, queue, timed, memory, list, steps, shapes };
    let enqueue = measuring.enqueue()?;
    let launched = measuring.launched()?;
    let (shapes, is_sound) = measuring.rates()?;
    let rates = Rates { enqueue, launched, shapes };
    log::debug!(
        "replay on `{}`: {rates:?}{}",
        device.device().name(),
        if is_sound { "" } else { ", disturbed" }
    );
    Ok((rates, is_sound))
}

/// Tasks that fill four bytes, and behind them some that compute.
fn list(program: &ReplayProgram, address: u64) -> Result<TaskList> {
    let layout = program.layout();
    let missing = || crate::Error::invalid("a replay module without the library's own tasks");
    let mut list = TaskList::new(TASKS + BUSY);
    for index in 0..TASKS + BUSY {
        let at = address + index.saturating_sub(TASKS) as u64 * ITEMS * 4;
        let task: OwnTask = if index < TASKS {
            layout.fill(address, &[0; 4], &ByteBox::contiguous(4))
        } else {
            layout.churn(at, ITEMS)
        }
        .ok_or_else(missing)?;
        let kernel = layout.kernel(task.kernel).ok_or_else(missing)?;
        let block = list.add_block(kernel);
        list.write(block, &task.arguments)?;
        list.set(index, &TaskRecord::new(task.kernel, block as u64, 1, task.items, [0; 3], [1; 3]))?;
    }
    Ok(list)
}

struct Measuring<'a> {
    program: &'a ReplayProgram,
    queue: Arc<Queue>,
    /// Tells when commands began and ended on the device: what they take from the host's point of view says more of how fast threads
    /// are woken.
    timed: Arc<Queue>,
    memory: Arc<Allocation>,
    list: TaskList,
    /// Of an item of the tasks with work.
    steps: f64,
    shapes: Vec<Shape>,
}

impl Measuring<'_> {
    /// Nanoseconds of one of many launches of no tasks.
    fn enqueue(&mut self) -> Result<f64> {
        best_of(LAUNCHES, || {
            let start = Instant::now();
            let mut last = None;
            for _ in 0..LAUNCHES {
                let none = std::iter::empty();
                last = Some(self.list.launch(self.program, &self.queue, &NO_TASKS, none, &[])?);
            }
            last.map_or(Ok(()), |last| last.wait())?;
            Ok(start.elapsed().as_nanos() as f64 / LAUNCHES as f64)
        })
    }

    /// Nanoseconds from start to end of a launch of no tasks: as others are measured.
    fn launched(&mut self) -> Result<f64> {
        best_of(LAUNCHES, || self.time(Shape::Seq, 0, 0))
    }

    /// What the shapes cost, and whether two passes agreed.
    fn rates(&mut self) -> Result<(Vec<Rate>, bool)> {
        let mut attempt = 1;
        loop {
            let passes = [self.pass()?, self.pass()?];
            let [first, second] = &passes;
            let both = || first.iter().zip(second);
            let agree = both().all(|(a, b)| a.zip(*b).is_some_and(|(a, b)| a.is_like(&b)));
            if agree || attempt == ATTEMPTS {
                let rate = |(shape, (a, b)): (&Shape, (&Option<Rate>, &Option<Rate>))| {
                    let none = Rate { shape: *shape, task: LEAST_TASK, step: LEAST_STEP };
                    a.zip(*b).map(|(a, b)| a.least(b)).or(*a).or(*b).unwrap_or(none)
                };
                return Ok((self.shapes.iter().zip(both()).map(rate).collect(), agree));
            }
            attempt += 1;
        }
    }

    /// What each shape costs; `None` where the differences that tell were nothing, or less.
    fn pass(&mut self) -> Result<Vec<Option<Rate>>> {
        let shapes = self.shapes.clone();
        let mut best = vec![[f64::INFINITY; 3]; shapes.len()];
        for _ in 0..ROUNDS {
            for (shape, best) in shapes.iter().zip(&mut best) {
                for (best, (first, count)) in best.iter_mut().zip([(0, 0), (0, TASKS), (TASKS, BUSY)]) {
                    *best = best.min(self.time(*shape, first, count)?);
                }
            }
        }
        let rate = |(shape, [launch, empty, busy]): (&Shape, [f64; 3])| {
            let task = (empty - launch) / TASKS as f64;
            let step = (busy - launch - task * BUSY as f64) / (BUSY as f64 * ITEMS as f64 * self.steps);
            (task > 0.0 && step > 0.0).then_some(Rate { shape: *shape, task, step })
        };
        Ok(shapes.iter().zip(best).map(rate).collect())
    }

    /// Nanoseconds that tasks take on the device.
    fn time(&mut self, shape: Shape, first: usize, count: usize) -> Result<f64> {
        let segment = Segment { first: first as u64, count: count as u64, shape, ..NO_TASKS };
        let memory = std::iter::once(self.memory.tail(0));
        let event = self.list.launch(self.program, &self.timed, &segment, memory, &[])?;
        event.wait()?;
        let times = event.profiling()?;
        Ok(times.ended_ns.saturating_sub(times.started_ns) as f64)
    }
}

/// The least of some measurements, as others are disturbed.
fn best_of(rounds: usize, mut measure: impl FnMut() -> Result<f64>) -> Result<f64> {
    (0..rounds).try_fold(f64::INFINITY, |best, _| Ok(best.min(measure()?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rates() -> Rates {
        let rate = |shape, task, step| Rate { shape, task, step };
        Rates {
            enqueue: 4000.0,
            launched: 1000.0,
            shapes: vec![rate(Shape::Seq, 10.0, 1.0), rate(Shape::Wi([16, 1, 1]), 50.0, 0.1)],
        }
    }

    #[test]
    fn little_work_is_done_in_turn_and_much_by_many() {
        let (shape, time) = rates().best(Work { tasks: 100.0, steps: 100.0 });
        assert_eq!((shape, time), (Shape::Seq, 1100.0));
        let (shape, time) = rates().best(Work { tasks: 100.0, steps: 10_000.0 });
        assert_eq!((shape, time), (Shape::Wi([16, 1, 1]), 6000.0));
    }

    #[test]
    fn groups_take_as_long_as_the_most_alike_that_were_measured() {
        assert_eq!(rates().of_groups(64, Work { tasks: 10.0, steps: 100.0 }), 510.0);
    }

    #[test]
    fn passes_agree_when_neither_was_disturbed() {
        let rate = |task, step| Rate { shape: Shape::Seq, task, step };
        assert!(rate(10.0, 1.0).is_like(&rate(12.0, 0.8)));
        assert!(!rate(10.0, 1.0).is_like(&rate(10.0, 6.0)) && !rate(40.0, 1.0).is_like(&rate(10.0, 1.0)));
        assert_eq!(rate(12.0, 0.8).least(rate(10.0, 1.0)), rate(10.0, 0.8));
    }

    #[test]
    fn rates_are_kept_as_bytes() {
        assert_eq!(Rates::from_bytes(&rates().to_bytes()), Some(rates()));
        assert_eq!(Rates::from_bytes(&[]), None);
        assert_eq!(Rates::from_bytes(&[1; 7]), None);
        assert_eq!(Rates::from_bytes(&f64::NAN.to_ne_bytes()), None);
        assert_eq!(Rates::from_bytes(&[0; 24]), None);
    }
}
