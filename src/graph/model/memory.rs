//! Memory of graphs: there while the graph runs, and shared by what does not live at the same time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytemuck::Pod;

use super::graph::Graph;
use super::record::recorded_to;
use super::state::GraphInner;
use crate::MakeError as _;
use crate::memory::{DEFAULT_ALIGNMENT, Reserved, UsmSlice, usm};
use crate::{Context, Device, Error, Queue, Result};

impl Graph {
    /// Memory for `len` elements that the graph has while it runs.
    ///
    /// It is given to nodes like device memory: to kernels, copies and fills of this graph, and of
    /// bodies of its loops and conditions. It lives from the first node that uses it to the last,
    /// as the edges tell. Memory that does not live at the same time shares its bytes, and all of
    /// it is one allocation of each executable. [`ExecutableGraph::memory`](crate::graph::ExecutableGraph::memory)
    /// tells what lies where.
    ///
    /// Its contents are undefined before a node writes them, in each replay, and in each iteration
    /// for memory of a body. [`Finalizer::poison`](crate::graph::Finalizer::poison) makes mistakes visible.
    /// A kernel must not keep its address for nodes that are not given the memory.
    ///
    /// ```no_run
    /// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
    /// # use kernels::saxpy::saxpy;
    /// # fn main() -> oclave::Result<()> {
    /// use oclave::{Command, Context, Device, Graph, Queue};
    ///
    /// let queue = Queue::new(&Context::new(&Device::select()?)?)?;
    /// let y = queue.context().alloc_device::<f32>(1024)?;
    /// let graph = Graph::from_queue(&queue);
    /// let twos = graph.alloc::<f32>(1024)?;
    /// let filled = graph.add(Command::fill(&twos, 2.0))?;
    /// let cleared = graph.add(Command::fill(&y, 0.0))?;
    /// graph.after(&[&filled, &cleared]).add(Command::parallel_for(1024, saxpy(3.0, &twos, &y)))?;
    /// let executable = graph.finalize()?;
    /// println!("{}", executable.memory());
    /// queue.submit_graph(&executable)?.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`MemoryAllocation`](crate::ErrorKind::MemoryAllocation) for more than the device takes in
    /// one allocation, and [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when it
    /// has no such memory. [`Invalid`](crate::ErrorKind::Invalid) for types that are aligned to
    /// more than 128 bytes.
    ///
    /// Use by anything else is [`Invalid`](crate::ErrorKind::Invalid) too: by another graph when
    /// that is finalized, by a queue when the command is submitted.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<UsmSlice<T, usm::DeviceOnly>> {
        self.inner().alloc(len)
    }

    /// [`alloc`](Self::alloc) as a value, for code that takes temporary memory and need not know
    /// whether a queue records: see [`Arena`].
    pub fn arena(&self) -> Arena {
        Arena(Source::Graph(Arc::clone(self.inner())))
    }
}

impl Queue {
    /// Where commands on this queue get temporary memory: the graph that it records to, or else the
    /// device. See [`Arena`].
    pub fn arena(&self) -> Arena {
        match recorded_to(self) {
            Some(graph) => Arena(Source::Graph(graph)),
            None => Arena(Source::Device(self.context().clone(), self.device().clone())),
        }
    }
}

impl GraphInner {
    fn alloc<T: Pod>(&self, len: usize) -> Result<UsmSlice<T, usm::DeviceOnly>> {
        if align_of::<T>() > DEFAULT_ALIGNMENT {
            let message = format!(
                "memory of a graph is aligned to {DEFAULT_ALIGNMENT} bytes, not to {}",
                align_of::<T>()
            );
            return Err(self.at(Error::invalid(message).remedy("use `alloc_device`")));
        }
        let number = self.allocations.fetch_add(1, Ordering::Relaxed);
        let stands_for = Reserved { owner: self.id(), number };
        UsmSlice::reserve(self.context(), self.device(), stands_for, len).map_err(|error| self.at(error))
    }
}

/// Gives temporary memory to code that enqueues commands, whether these run at once or are recorded;
/// from [`Graph::arena`] and [`Queue::arena`].
///
/// Memory of a graph is [`Graph::alloc`]; that of a queue that does not record is
/// [`Context::alloc_device`]. A handle: clones are of the same graph or device. It does not keep
/// queues recording.
///
/// ```no_run
/// # use oclave::graph::Arena;
/// # use oclave::{Graph, Queue, Result, UsmSlice};
/// fn library(queue: &Queue, arena: &Arena, x: &UsmSlice<f32>) -> Result<()> {
///     let copy = arena.alloc::<f32>(x.len())?;
///     queue.copy(x, &copy)?;
///     // … kernels that use the copy
///     Ok(())
/// }
///
/// # fn f(queue: &Queue, x: &UsmSlice<f32>) -> Result<()> {
/// library(queue, &queue.arena(), x)?; // at once
/// let graph = Graph::from_queue(queue);
/// let recording = graph.record(queue)?;
/// library(queue, &graph.arena(), x)?; // recorded
/// recording.end();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Arena(Source);

#[derive(Debug, Clone)]
enum Source {
    Graph(Arc<GraphInner>),
    Device(Context, Device),
}

impl Arena {
    /// Memory for `len` elements. Its contents are undefined.
    ///
    /// # Errors
    /// As [`Graph::alloc`] or [`Context::alloc_device`].
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<UsmSlice<T, usm::DeviceOnly>> {
        match &self.0 {
            Source::Graph(graph) => graph.alloc(len),
            Source::Device(context, device) => context.alloc_device_on(device, len),
        }
    }
}
