//! All of an executable that changes: commands, what was prepared for them, and what is due.

use std::collections::HashMap;
use std::sync::Arc;

use super::layout::Layout;
use super::part::Part;
use super::versions::{Pending, StepChanges, TaskChange};
use crate::Result;
use crate::command::CommandKind;
use crate::driver::mutable::Patches;
use crate::graph::exec::prepare::{Location, Steps};
use crate::graph::model::snapshot::Frozen;
use crate::graph::plan::commands::Commands;
use crate::graph::plan::memory::MemoryPlan;
use crate::graph::tune::flow::FlowSlot;
use crate::graph::tune::tuned::{Retune, TunedPart};
use crate::memory::buffer::{self, Requirement};

/// The accesses of each partition's bodies to parts of buffers.
pub(in crate::graph) type OfBodies = Vec<Vec<Arc<Requirement>>>;

/// All of an executable that changes.
pub(in crate::graph) struct Prepared {
    /// By node of the flat graph.
    pub(in crate::graph) commands: Commands,
    /// Where memory of the graph lies.
    pub(in crate::graph) memory: MemoryPlan,
    /// By node of the flat graph: what it was prepared as.
    pub(in crate::graph) locations: Vec<Option<Location>>,
    /// By partition; `None` for host tasks.
    pub(in crate::graph) parts: Vec<Option<Part>>,
    /// By partition: whether the interpreter runs a loop or a condition.
    pub(in crate::graph) flows: Vec<FlowSlot>,
    /// How often commands were changed.
    pub(in crate::graph) edits: u64,
    /// The accesses of the commands to parts of buffers, each once.
    pub(in crate::graph) requirements: Vec<Arc<Requirement>>,
    /// Those of bodies among them.
    of_bodies: OfBodies,
    /// The frozen graph that it was made from; for updates.
    pub(in crate::graph) frozen: Option<Frozen>,
    /// For updates.
    pub(in crate::graph) patches: Patches,
    /// The numbers of nodes that lack one of the first so many changes.
    pub(in crate::graph) outdated: (Vec<usize>, u64),
}

/// The purpose that an executable is brought up to date for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum RefreshFor {
    /// The next submission.
    Submission,
    /// A submission that is put on a queue now.
    Run(u64),
    /// An update.
    Update,
}

impl Prepared {
    /// Prepares commands.
    pub(in crate::graph) fn new(
        layout: &Layout,
        commands: Commands,
        memory: MemoryPlan,
        frozen: Frozen,
        of_bodies: OfBodies,
    ) -> Result<Self> {
        let mut locations = vec![None; layout.flat.len()];
        let mut parts = Vec::with_capacity(layout.partitions.len());
        for (index, partition) in layout.partitions.iter().enumerate() {
            let source = layout.source(index, &commands).filter(|_| !partition.host);
            let tuned = source.map(|source| TunedPart::new(source, &mut locations)).transpose()?;
            parts.push(tuned.map(Part::new));
        }
        let requirements = requirements(layout, &commands, &of_bodies);
        let outdated = (Vec::new(), frozen.changes.1);
        let frozen = layout.options.updatable.then(|| frozen.without_commands());
        let flows = layout.partitions.iter().map(|_| FlowSlot::default()).collect();
        let patches = Patches::default();
        Ok(Self {
            commands,
            memory,
            locations,
            parts,
            flows,
            edits: 0,
            requirements,
            of_bodies,
            frozen,
            patches,
            outdated,
        })
    }

    pub(in crate::graph) fn part(&self, index: usize) -> Option<&Part> {
        self.parts.get(index)?.as_ref()
    }

    pub(in crate::graph) fn part_mut(&mut self, index: usize) -> Option<&mut Part> {
        self.parts.get_mut(index)?.as_mut()
    }

    /// The steps that a node of the flat graph was prepared as.
    pub(in crate::graph) fn steps(&self, node: u32) -> Option<&Steps> {
        self.locations.get(node as usize)?.as_ref().map(|location| &location.step)
    }

    /// Commands with buffers have changed.
    pub(in crate::graph) fn find_requirements(&mut self, layout: &Layout) {
        self.requirements = requirements(layout, &self.commands, &self.of_bodies);
    }

    /// Bodies have changed, which do this to parts of buffers now.
    pub(in crate::graph) fn set_requirements_of_bodies(&mut self, layout: &Layout, of_bodies: OfBodies) {
        self.of_bodies = of_bodies;
        self.find_requirements(layout);
    }

    /// Brings a partition up to date. Before a submission it is prepared again if a command no
    /// longer fits its step, or if tuning has found better steps. Updates that are due are applied
    /// then, unless a deferred submission needs the present version.
    pub(in crate::graph) fn refresh(
        &mut self,
        layout: &Layout,
        index: usize,
        refresh_for: RefreshFor,
    ) -> Result<()> {
        let Self { commands, locations, parts, .. } = self;
        let Some(Some(part)) = parts.get_mut(index) else { return Ok(()) };
        if refresh_for == RefreshFor::Submission {
            rebuild_if_due(part, layout, index, commands)?;
        }
        let Part { tuned, versions } = part;
        let until = match refresh_for {
            RefreshFor::Run(submission) => submission,
            _ if versions.must_wait() => return Ok(()),
            _ => u64::MAX,
        };
        while let Some(pending) = versions.next_for(until) {
            match pending {
                Pending::Changes(StepChanges { steps, tasks }) => {
                    // Other plans were prepared without these changes.
                    tuned.cancel_race();
                    for (index, step) in steps {
                        tuned.exec.set_step(index, step)?;
                    }
                    for (task, TaskChange { before, command, .. }) in tasks {
                        tuned.exec.set_task(task, &before, &command, &layout.queue)?;
                    }
                }
                Pending::Rebuilt(new) => {
                    let (new, new_locations) = *new;
                    tuned.replace_steps(new);
                    for (now, new) in locations.iter_mut().zip(new_locations) {
                        *now = new.or(now.take());
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes that a part is submitted, and gives the number of the submission. Only those of an
    /// updatable executable are counted.
    pub(in crate::graph) fn begin_submission(
        &mut self,
        layout: &Layout,
        index: usize,
    ) -> Result<Option<u64>> {
        self.refresh(layout, index, RefreshFor::Submission)?;
        Ok(match self.part_mut(index) {
            Some(part) if layout.options.updatable => Some(part.versions.submit()),
            _ => None,
        })
    }

    /// Notes that a part that was submitted is on a queue, or never will be.
    pub(in crate::graph) fn end_submission(&mut self, index: usize) {
        if let Some(part) = self.part_mut(index) {
            part.versions.end_submission();
        }
    }
}

/// Prepares what the next submission of a partition runs, if it is not what there is.
fn rebuild_if_due(
    Part { tuned, versions }: &mut Part,
    layout: &Layout,
    index: usize,
    commands: &Commands,
) -> Result<()> {
    let retune = tuned.retune();
    if retune.is_none() && !versions.must_rebuild {
        return Ok(());
    }
    let Some(source) = layout.source(index, commands) else { return Ok(()) };
    let new = match retune {
        // Steps that won were made for the nodes as they were before a command came that does not
        // fit.
        Some(Retune::Steps(winner)) if !versions.must_rebuild => tuned.with_winner(source, *winner),
        _ => tuned
            .again(source)
            .map_err(|error| layout.at(error))
            .inspect_err(|_| versions.must_rebuild = true)?,
    };
    versions.rebuild(Box::new(new));
    Ok(())
}

/// The accesses of the commands to parts of buffers, each once.
fn requirements(layout: &Layout, commands: &Commands, of_bodies: &OfBodies) -> Vec<Arc<Requirement>> {
    let mut bodies: HashMap<usize, &[Arc<Requirement>]> = HashMap::new();
    for (partition, of_bodies) in layout.partitions.iter().zip(of_bodies) {
        if let (Some(node), false) = (partition.nodes.first(), of_bodies.is_empty()) {
            bodies.insert(*node as usize, of_bodies);
        }
    }
    let all: Vec<Arc<Requirement>> = commands
        .without_values()
        .enumerate()
        .flat_map(|(node, command)| match command {
            CommandKind::Control(flow) => {
                let of_bodies = bodies.get(&node).copied().unwrap_or_default();
                flow.own_requirement().into_iter().chain(of_bodies.iter().cloned()).collect()
            }
            command => command.requirements(),
        })
        .collect();
    buffer::joined(all.iter())
}
