//! The database of device globals: one piece of memory for each variable, context and device.
//!
//! A variable without `device_image_scope` is, in a program, a pointer to this memory. It is made and initialised when
//! the first program that uses the variable is built or the host first copies, whichever comes first, and is freed with
//! the context.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use oclave_image::DeviceGlobalInfo;

use super::flight::{Flight, lock};
use crate::driver::Device;
use crate::driver::context::Context;
use crate::driver::queue::Queue;
use crate::driver::usm::{Allocation, Kind};
use crate::{Error, Result};

/// The variables of a context.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    variables: Mutex<HashMap<String, Arc<Variable>>>,
}

/// One variable: what the first image said of it, and its memory on each device.
#[derive(Debug)]
struct Variable {
    size_bytes: u32,
    device_image_scope: bool,
    initial: Vec<u8>,
    declared_by: String,
    memory: Mutex<HashMap<Device, Arc<Flight<Arc<Allocation>>>>>,
}

impl Globals {
    /// The memory of a variable that `image` declares, made and initialised if need be.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when another image declares the variable differently.
    pub(crate) fn memory(
        &self,
        context: &Arc<Context>,
        queue: &Arc<Queue>,
        declaration: &DeviceGlobalInfo,
        image: &str,
    ) -> Result<Arc<Allocation>> {
        let variable = self.declare(declaration, image)?;
        let flight = Arc::clone(lock(&variable.memory).entry(queue.device().clone()).or_default());
        flight.get_or_make(|| variable.make(context, queue))
    }

    /// Enters a variable, or checks that it is the one that is known by this id.
    pub(crate) fn check(&self, declaration: &DeviceGlobalInfo, image: &str) -> Result<()> {
        self.declare(declaration, image).map(drop)
    }

    fn declare(&self, declaration: &DeviceGlobalInfo, image: &str) -> Result<Arc<Variable>> {
        let mut variables = lock(&self.variables);
        let variable = match variables.get(&declaration.id) {
            Some(variable) => Arc::clone(variable),
            None => {
                let variable = Arc::new(Variable {
                    size_bytes: declaration.size_bytes,
                    device_image_scope: declaration.device_image_scope,
                    initial: declaration.initial.clone(),
                    declared_by: image.to_owned(),
                    memory: Mutex::default(),
                });
                variables.insert(declaration.id.clone(), Arc::clone(&variable));
                variable
            }
        };
        match variable.conflict(declaration) {
            None => Ok(variable),
            Some(what) => Err(Error::invalid(format!(
                "images `{}` and `{image}` declare it with different {what}",
                variable.declared_by
            ))
            .remedy("give the variables different names, or one declaration in a shared header")),
        }
    }
}

impl Variable {
    fn conflict(&self, other: &DeviceGlobalInfo) -> Option<&'static str> {
        if self.size_bytes != other.size_bytes {
            Some("sizes")
        } else if self.device_image_scope != other.device_image_scope {
            Some("scopes (`device_image_scope`)")
        } else if self.initial != other.initial {
            Some("initial values")
        } else {
            None
        }
    }

    fn make(&self, context: &Arc<Context>, queue: &Arc<Queue>) -> Result<Arc<Allocation>> {
        let size_bytes = usize::try_from(self.size_bytes).unwrap_or(usize::MAX);
        // The alignment of the type is not known here; no type of OpenCL wants more than its size or 128 bytes.
        let align_bytes = size_bytes.clamp(1, 128).next_power_of_two();
        let memory = Allocation::new(context, Some(queue.device()), Kind::Device, size_bytes, align_bytes)?;
        // Kernels find it through the program, so the arguments of a launch do not tell who uses it.
        memory.used_by_any_queue();
        let span = memory.span(0, size_bytes)?;
        if self.initial.is_empty() {
            let pattern = [0u8; 128];
            // The largest power of two that divides the size, as drivers fill by whole patterns.
            let width = 1 << size_bytes.trailing_zeros().min(7);
            queue.fill(span, pattern.get(..width).unwrap_or(&pattern), &[])?.wait()?;
        } else {
            queue.write(&self.initial, span, &[])?;
        }
        Ok(memory)
    }
}
