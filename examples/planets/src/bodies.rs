//! The bodies on the device, and what a step is there.

use oclave::memory::usm;
use oclave::{Command, Queue, UsmSlice};

use super::kernels::leapfrog;
use super::system::System;

/// A step in days.
pub(crate) const STEP: f64 = 10.0;

/// The bodies in device memory.
pub(crate) struct Bodies {
    positions: UsmSlice<f64, usm::DeviceOnly>,
    velocities: UsmSlice<f64, usm::DeviceOnly>,
    gm: UsmSlice<f64, usm::DeviceOnly>,
}

impl Bodies {
    pub(crate) fn new(queue: &Queue, system: &System) -> oclave::Result<Self> {
        let context = queue.context();
        let bodies = Self {
            positions: context.alloc_device(system.positions.len())?,
            velocities: context.alloc_device(system.velocities.len())?,
            gm: context.alloc_device(system.gm.len())?,
        };
        queue.write(&bodies.gm, &system.gm)?;
        Ok(bodies)
    }

    pub(crate) fn set(&self, queue: &Queue, system: &System) -> oclave::Result<()> {
        queue.write(&self.positions, &system.positions)?;
        queue.write(&self.velocities, &system.velocities)
    }

    pub(crate) fn get(&self, queue: &Queue, system: &System) -> oclave::Result<System> {
        Ok(System {
            positions: queue.read(&self.positions)?,
            velocities: queue.read(&self.velocities)?,
            gm: system.gm.clone(),
        })
    }

    /// The kernels of a step, in order.
    pub(crate) fn step(&self) -> [Command; 3] {
        let (bodies, massive) = (self.positions.len() / 3, self.gm.len() as i32);
        let drift = || {
            let call = leapfrog::drift(&self.positions, &self.velocities, STEP / 2.0);
            Command::parallel_for(3 * bodies, call)
        };
        let kick = leapfrog::kick(&self.positions, &self.velocities, &self.gm, massive, STEP);
        [drift(), Command::parallel_for(bodies, kick), drift()]
    }
}

/// Runs so many steps on the queue, and waits for them.
pub(crate) fn run_steps(queue: &Queue, step: &[Command], steps: usize) -> oclave::Result<()> {
    for _ in 0..steps {
        for command in step {
            queue.submit(command.clone())?;
        }
    }
    queue.wait()
}
