//! The memory of graphs in commands: found, and replaced by memory that is there.

use std::sync::Arc;

use super::argument::Argument;
use super::command::CommandKind;
use super::control::ControlValue;
use super::place::Place;
use crate::memory::{Region, Reserved};

impl Place {
    fn own_region(&self) -> Option<&Region> {
        match self {
            Self::Usm(region) => Some(region),
            Self::Block(block) => Some(&block.region),
            _ => None,
        }
    }

    fn own_region_mut(&mut self) -> Option<&mut Region> {
        match self {
            Self::Usm(region) => Some(region),
            Self::Block(block) => Some(&mut block.region),
            _ => None,
        }
    }
}

impl CommandKind {
    /// Whether it is known to use no memory of graphs. That is asked of each command of each executable.
    pub(crate) fn has_no_graph_memory(&self) -> bool {
        match self {
            Self::Kernel { call, .. } => call.arguments().iter().all(|argument| match argument {
                Argument::Pointer(pointer) => {
                    pointer.place().own_region().is_none_or(|region| region.allocation().reserved().is_none())
                }
                _ => true,
            }),
            _ => false,
        }
    }

    /// The memory of graphs that the command itself uses. Bodies and sub-graphs are left out.
    pub(crate) fn graph_memory(&self) -> impl Iterator<Item = (Reserved, &Region)> {
        let control = match self {
            Self::Control(flow) => match &flow.value {
                ControlValue::Device { from, .. } => Some(from),
                ControlValue::Number(_) | ControlValue::Parameter { .. } => None,
            },
            _ => None,
        };
        let native = match self {
            Self::Native(native) => native.places(),
            _ => &[],
        };
        let arguments = self.arguments().iter().filter_map(|argument| match argument {
            Argument::Pointer(pointer) => Some(pointer.place()),
            _ => None,
        });
        let places = arguments.chain(self.places().into_iter().flatten()).chain(control).chain(native);
        let regions = places.filter_map(Place::own_region);
        regions.filter_map(|region| Some((region.allocation().reserved()?, region)))
    }

    /// All memory of graphs that it uses, that of bodies included, with what stands for it.
    pub(crate) fn all_graph_memory(&self) -> Vec<(Reserved, Region)> {
        let own =
            self.graph_memory().map(|(key, region)| (key, Region::whole(Arc::clone(region.allocation()))));
        let bodies = match self {
            Self::Control(flow) => flow.bodies.as_slice(),
            _ => &[],
        };
        own.chain(bodies.iter().flat_map(|body| body.memory())).collect()
    }

    /// The command with other memory in the place of graphs' memory.
    ///
    /// # Errors
    /// Those of `place`.
    pub(crate) fn with_memory<E>(
        &self,
        place: impl Fn(Reserved, &Region) -> Result<Region, E>,
    ) -> Result<Self, E> {
        let mut command = self.clone();
        let set = |to: &mut Place| match to.own_region_mut() {
            Some(region) => match region.allocation().reserved() {
                Some(reserved) => place(reserved, region).map(|new| *region = new),
                None => Ok(()),
            },
            None => Ok(()),
        };
        match &mut command {
            Self::Kernel { call, .. } => call.places_mut().try_for_each(set)?,
            Self::Control(flow) => {
                if let ControlValue::Device { from, .. } = &mut flow.value {
                    set(from)?;
                }
            }
            Self::Copy { from, to } => [from, to].into_iter().try_for_each(set)?,
            Self::Write { to: memory, .. }
            | Self::Read { from: memory, .. }
            | Self::Fill { to: memory, .. }
            | Self::Memset { to: memory, .. }
            | Self::Prefetch { memory }
            | Self::Advise { memory, .. } => set(memory)?,
            Self::HostTask(_)
            | Self::Native(_)
            | Self::Graph(_)
            | Self::External(_)
            | Self::Marker
            | Self::Barrier
            | Self::Empty => {}
        }
        Ok(command)
    }
}
