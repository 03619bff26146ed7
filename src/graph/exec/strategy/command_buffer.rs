//! Replay by command buffers of the driver.
//!
//! The sequence is cut into runs. A run becomes a buffer, with at most as many commands as the
//! driver handles well. Commands that buffers cannot hold are enqueued between the buffers. A run
//! waits for the one before it. Buffers are recorded when they are first needed, for each kind of
//! queue that the graph is submitted to, as drivers demand that they match.

use oclave_faults::Fault;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use super::replay::Replay;
use crate::MakeError as _;
use crate::driver::command_buffer::CommandBuffer;
use crate::driver::event::{Event, Measured, Several};
use crate::driver::mutable::Patches;
use crate::driver::queue::{Properties, Queue};
use crate::driver::run::Mode;
use crate::driver::sequence::Sequence;
use crate::driver::step::Step;
use crate::graph::exec::options::{Options, ReplayStrategy};
use crate::{Context, Device, Error, Result};

#[derive(Debug)]
pub(super) struct CommandBuffers {
    context: Context,
    device: Device,
    updatable: bool,
    /// `None` until the sequence was looked at.
    runs: Option<Vec<Run>>,
    /// Steps were replaced since, perhaps by some that no buffer holds.
    changed: bool,
    lanes: Vec<Lane>,
}

#[derive(Debug)]
struct Run {
    steps: Range<usize>,
    recordable: bool,
}

/// The buffers for queues of one kind.
#[derive(Debug)]
struct Lane {
    properties: Properties,
    /// That they are recorded for.
    queue: Arc<Queue>,
    /// One for each run; `None` where it is not recorded (yet, or any more).
    buffers: Vec<Option<CommandBuffer>>,
}

impl CommandBuffers {
    pub(super) fn new(context: &Context, device: &Device, options: Options) -> Self {
        Self {
            context: context.clone(),
            device: device.clone(),
            updatable: options.updatable,
            runs: None,
            changed: false,
            lanes: Vec::new(),
        }
    }

    /// The properties of the queue that buffers are recorded for, to be put on this one.
    fn properties_for(&self, queue: &Queue) -> Properties {
        let out_of_order =
            self.device.capabilities().command_buffer.is_some_and(|support| support.out_of_order);
        Properties {
            out_of_order: !queue.is_in_order() && out_of_order,
            profiling: queue.properties().profiling,
            ..Properties::default()
        }
    }

    /// The lane for queues like this, and the runs; with what is missing recorded.
    fn recorded(&mut self, sequence: &Sequence, properties: Properties) -> Result<(&Lane, &[Run])> {
        let limit = match (self.context.driver().driver_faults().has(Fault::Q7), self.updatable) {
            (false, _) => 1 << 16,
            (true, false) => 1000,
            (true, true) => 256,
        };
        if std::mem::take(&mut self.changed) && !self.fits(sequence) {
            self.runs = None;
            self.lanes.clear();
        }
        let runs = self.runs.get_or_insert_with(|| cut(sequence, limit));
        let index = match self.lanes.iter().position(|lane| lane.properties == properties) {
            Some(index) => index,
            None => {
                let queue = Queue::new(self.context.driver(), &self.device, properties)?;
                let buffers = runs.iter().map(|_| None).collect();
                self.lanes.push(Lane { properties, queue, buffers });
                self.lanes.len() - 1
            }
        };
        let lane = self.lanes.get_mut(index).ok_or_else(|| Error::invalid("no queue for command buffers"))?;
        for (run, buffer) in runs.iter().zip(&mut lane.buffers) {
            if run.recordable && buffer.is_none() {
                let steps = run.steps.clone();
                *buffer = Some(CommandBuffer::record(&lane.queue, sequence, steps, self.updatable)?);
            }
        }
        Ok((lane, runs))
    }

    /// Whether buffers can hold the runs that are recorded.
    fn fits(&self, sequence: &Sequence) -> bool {
        let holds = |run: &Run| run.steps.clone().all(|step| is_recordable(sequence, step));
        self.runs.iter().flatten().filter(|run| run.recordable).all(holds)
    }

    /// Puts the runs on a queue, or on that of the lane, one after the other. The events of the
    /// last and of the first, if it is another one.
    fn put(
        &mut self,
        sequence: &Sequence,
        queue: Option<&Arc<Queue>>,
        properties: Properties,
        after: &[&Event],
        held: bool,
    ) -> Result<(Event, Option<Event>)> {
        let (lane, runs) = self.recorded(sequence, properties)?;
        let queue = queue.unwrap_or(&lane.queue);
        let (mut first, mut last): (Option<Event>, Option<Event>) = (None, None);
        for (run, buffer) in runs.iter().zip(&lane.buffers) {
            let before = last.as_ref();
            let after = before.as_ref().map_or(after, std::slice::from_ref);
            let event = match buffer {
                // What comes after it waits for what it would wait for.
                Some(buffer) if buffer.is_empty() => continue,
                Some(buffer) => queue.run_buffer(buffer, sequence, after, held)?,
                None => queue.run(sequence, run.steps.clone(), after, Mode { measure: false, held })?,
            };
            first = first.or(last.replace(event));
        }
        Ok((last.map_or_else(|| queue.marker(after), Ok)?, first))
    }
}

fn is_recordable(sequence: &Sequence, step: usize) -> bool {
    sequence.step(step).is_some_and(Step::is_recordable)
}

/// Cuts a sequence into what is recorded and what is enqueued.
fn cut(sequence: &Sequence, limit: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for index in 0..sequence.len() {
        let recordable = is_recordable(sequence, index);
        match runs.last_mut() {
            Some(run) if run.recordable == recordable && (!recordable || run.steps.len() < limit) => {
                run.steps.end = index + 1;
            }
            _ => runs.push(Run { steps: index..index + 1, recordable }),
        }
    }
    runs
}

impl Replay for CommandBuffers {
    fn replay(
        &mut self,
        sequence: &Sequence,
        queue: &Arc<Queue>,
        after: &[&Event],
        Mode { measure, held }: Mode,
    ) -> Result<Event> {
        let properties = self.properties_for(queue);
        // A driver that does not record for queues out of order: by way of one in order, which
        // takes its turn on the other.
        let aside = properties.out_of_order == queue.is_in_order();
        let begin = (measure || aside).then(|| queue.marker(after)).transpose()?;
        let before = begin.as_ref();
        let after = before.as_ref().map_or(after, std::slice::from_ref);
        let (event, first) = self.put(sequence, Some(queue).filter(|_| !aside), properties, after, held)?;
        match (begin, measure) {
            (Some(begin), true) => {
                let end = queue.marker(&[&event])?;
                let measured = Measured { sequence: sequence.id(), events: vec![begin, end.clone()] };
                Ok(end.of_several(Several::Measured(measured)))
            }
            (Some(_), false) => {
                let end = queue.marker(&[&event])?;
                Ok(end.of_several(Several::Unmeasured(Some(first.unwrap_or(event)))))
            }
            (None, _) => Ok(event.of_several(Several::Unmeasured(first))),
        }
    }

    fn changed(&mut self, steps: &[usize]) {
        self.changed = true;
        let runs = self.runs.as_deref().unwrap_or_default();
        for lane in &mut self.lanes {
            for (run, buffer) in runs.iter().zip(&mut lane.buffers) {
                if steps.iter().any(|step| run.steps.contains(step)) {
                    *buffer = None;
                }
            }
        }
    }

    fn patch(&mut self, sequence: &Sequence, patches: &mut Patches) {
        let runs = self.runs.as_deref().unwrap_or_default();
        for lane in &mut self.lanes {
            for (run, place) in runs.iter().zip(&mut lane.buffers) {
                let touched = patches.steps().any(|step| run.steps.contains(&step));
                let Some(buffer) = place.as_ref().filter(|_| touched) else { continue };
                // A buffer that cannot be changed in place is recorded again when it is next
                // needed.
                if buffer.update(&self.device, sequence, patches).is_err() {
                    *place = None;
                }
            }
        }
    }

    fn strategy(&self) -> ReplayStrategy {
        ReplayStrategy::CommandBuffer
    }

    fn native(&mut self, sequence: &Sequence, queue: &Arc<Queue>) -> Result<Vec<*mut c_void>> {
        let properties = self.properties_for(queue);
        let (lane, _) = self.recorded(sequence, properties)?;
        let buffers = lane.buffers.iter().flatten();
        Ok(buffers.map(CommandBuffer::native).collect())
    }
}
