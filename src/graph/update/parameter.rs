//! Values that arguments of nodes follow (`sycl_ext_oneapi_graph`, section 7.4.2).

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::NoUninit;

use crate::MakeError as _;
use crate::command::{
    self, Argument, CommandKind, ControlInteger, ControlValue, Given, KernelPointer, KernelPointerMut,
    Parameter, Place, Pointer, Value, newest,
};
use crate::command::{KernelLocal, KernelValue, Local, RawArgument};
use crate::graph::model::dynamics::Changed;
use crate::graph::model::insert::check_part;
use crate::graph::model::state::{GraphInner, State};
use crate::images::{Image, ImageDimension, KernelImage, KernelSampler, PixelFormat, Sampler};
use crate::memory::{AccessKind, Accessor, UsmKind};
use crate::{Error, Graph, Result, UsmSlice};

/// A value that arguments of kernels in a graph follow.
///
/// It is passed by reference wherever a kernel takes an argument of its type. The argument is a
/// scalar or struct, USM, a buffer's accessor, local memory ([`Local`]), or [raw](RawArgument)
/// bytes and memory. Any number of arguments of any number of nodes may follow it, and an argument
/// [several](Self::and) parameters. When it is [updated](Self::update), the nodes of the graph have
/// the new value at once; executables get it with the nodes that they are updated with.
///
/// Edges stay as they are: two nodes that are ordered because they share a buffer should both
/// follow the same parameter. A handle: clones are of the same parameter.
///
/// ```no_run
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
/// # use kernels::saxpy::saxpy;
/// # fn main() -> oclave::Result<()> {
/// # use oclave::graph::DynamicParameter;
/// # use oclave::{Command, Context, Device, Graph};
/// # let context = Context::new(&Device::select()?)?;
/// # let (x, y) = (context.alloc_device::<f32>(1024)?, context.alloc_device::<f32>(1024)?);
/// let graph = Graph::new(&context, context.device())?;
/// let alpha = DynamicParameter::new(&graph, 2.0_f32);
/// let input = DynamicParameter::new(&graph, x.clone());
/// graph.add(Command::parallel_for(1024, saxpy(&alpha, &input, &y)))?;
/// alpha.update(3.0)?;
/// input.update(&y)?;
/// # Ok(())
/// # }
/// ```
pub struct DynamicParameter<V> {
    graph: Arc<GraphInner>,
    parameter: Arc<Parameter>,
    ty: PhantomData<fn(V)>,
}

mod sealed {
    pub trait Sealed {}
}

/// A value of a [`DynamicParameter`]: a by-value argument, a [`UsmSlice`], an [`Accessor`],
/// [`Local`] memory, or a [`RawArgument`].
pub trait DynamicValue: sealed::Sealed {
    /// Whether a new value may not fit where the one before did.
    #[doc(hidden)]
    const MAY_NOT_FIT: bool = false;

    #[doc(hidden)]
    #[allow(private_interfaces, reason = "of a sealed trait")]
    fn argument(&self) -> Argument;
}

impl<V: DynamicValue> DynamicParameter<V> {
    /// A parameter for nodes of a graph, with its first value. What the value must be is checked
    /// where it is used.
    pub fn new(graph: &Graph, value: V) -> Self {
        let graph = Arc::clone(graph.inner());
        let parameter = Arc::new(Parameter::new(graph.id(), value.argument()));
        Self { graph, parameter, ty: PhantomData }
    }

    pub(super) fn graph(&self) -> &Arc<GraphInner> {
        &self.graph
    }

    /// Tells it from all others of the process.
    pub(super) fn id(&self) -> u64 {
        self.parameter.id()
    }

    /// Gives all arguments that follow the parameter a value; a `V` or a `&V`. It may be the one
    /// that they have.
    ///
    /// Two images of a kernel change places with two updates, and then one
    /// [`ExecutableGraph::update`](crate::graph::ExecutableGraph::update). That both are one image for a moment is no error. It is one where
    /// the kernel writes the image and an executable gets the node like that.
    ///
    /// # Errors
    /// The errors of adding a command with the value to the graph. Examples are memory of another
    /// context, a buffer that writes back, and more local memory than the device has
    /// ([`KernelArgument`](crate::ErrorKind::KernelArgument)). No node has changed then.
    pub fn update(&self, value: impl Borrow<V>) -> Result<()> {
        let value = value.borrow().argument();
        // Commands that are committed at once get their values at once, too.
        let mut state = self.graph.state();
        self.check(&state, &value).map_err(|error| self.graph.at(error.at("dynamic parameter")))?;
        let before = self.parameter.set(value);
        state.dynamics.note_change(Changed::Parameter(self.parameter.id()));
        drop(state);
        drop(before);
        Ok(())
    }

    /// Whether all nodes that follow it take the value.
    fn check(&self, state: &State, value: &Argument) -> Result<()> {
        if let Argument::Pointer(pointer) = value {
            pointer.place().check(self.graph.context(), self.graph.device())?;
            pointer.place().requirement().map_or(Ok(()), |part| check_part(&part))?;
        }
        let (context, device) = (self.graph.context(), self.graph.device());
        for site in state.dynamics.sites(self.parameter.id()) {
            let command = state.command_of(site.owner);
            let command = command.ok_or_else(|| Error::bug(format!("{:?} has no command", site.owner)))?;
            // Else it is of the type that the nodes were checked with. Kernels in Rust take no memory that is too small.
            let is_memory = matches!(value, Argument::Pointer(_));
            if !(V::MAY_NOT_FIT || is_memory && command.is_kernel_in_rust(context, device)) {
                continue;
            }
            let mut command = CommandKind::clone(command);
            command.follow();
            if let CommandKind::Kernel { call, .. } = &mut command {
                call.set_argument(site.argument, value);
            }
            command.check_parameters(context, device)?;
        }
        Ok(())
    }
}

impl<T: NoUninit> sealed::Sealed for T {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl<T: NoUninit> DynamicValue for T {
    fn argument(&self) -> Argument {
        Argument::Value(Value::new(self))
    }
}

impl<T: 'static> sealed::Sealed for Local<T> {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl<T: 'static> DynamicValue for Local<T> {
    const MAY_NOT_FIT: bool = true;

    fn argument(&self) -> Argument {
        Self::argument(self)
    }
}

impl<T, K: UsmKind> sealed::Sealed for UsmSlice<T, K> {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl<T, K: UsmKind> DynamicValue for UsmSlice<T, K> {
    fn argument(&self) -> Argument {
        Argument::Pointer(Pointer::new(Place::Usm(self.region().clone())))
    }
}

impl<T, A> sealed::Sealed for Accessor<T, A> {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl<T, A: AccessKind> DynamicValue for Accessor<T, A> {
    fn argument(&self) -> Argument {
        Argument::Pointer(KernelPointer::<T>::pointer(self))
    }
}

impl sealed::Sealed for RawArgument {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl DynamicValue for RawArgument {
    const MAY_NOT_FIT: bool = true;

    fn argument(&self) -> Argument {
        Self::argument(self)
    }
}

impl<F: PixelFormat, D: ImageDimension> sealed::Sealed for Image<F, D> {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl<F: PixelFormat, D: ImageDimension> DynamicValue for Image<F, D> {
    const MAY_NOT_FIT: bool = true;

    fn argument(&self) -> Argument {
        Self::argument(self)
    }
}

impl sealed::Sealed for Sampler {}
#[allow(private_interfaces, reason = "of a sealed trait")]
impl DynamicValue for Sampler {
    const MAY_NOT_FIT: bool = true;

    fn argument(&self) -> Argument {
        Argument::Sampler(self.clone())
    }
}

impl<V> DynamicParameter<V> {
    /// If an argument follows this and another parameter, it has the value of the one that was
    /// updated last. While none was updated, that of the one that was made last. The specification
    /// has this, and leaves the first value open.
    pub fn and(&self, other: &Self) -> DynamicParameters<V> {
        self.alone().and(other)
    }

    fn alone(&self) -> DynamicParameters<V> {
        DynamicParameters { parameters: vec![Arc::clone(&self.parameter)], ty: PhantomData }
    }
}

/// Several parameters that an argument follows; from [`DynamicParameter::and`].
///
/// It is passed wherever one of them could be: `saxpy(alpha.and(&beta), &x, &y)`.
#[derive(Debug)]
#[must_use = "parameters do nothing until an argument follows them"]
pub struct DynamicParameters<V> {
    parameters: Vec<Arc<Parameter>>,
    ty: PhantomData<fn(V)>,
}

impl<V> DynamicParameters<V> {
    /// With one more.
    pub fn and(mut self, other: &DynamicParameter<V>) -> Self {
        self.parameters.push(Arc::clone(&other.parameter));
        self
    }

    fn given(self) -> Given {
        Given::following(self.parameters)
    }
}

impl<T: NoUninit> KernelValue<T> for &DynamicParameter<T> {
    fn given(self) -> Given {
        self.alone().given()
    }
}

impl<T: NoUninit> KernelValue<T> for DynamicParameters<T> {
    fn given(self) -> Given {
        self.given()
    }
}

impl<T> KernelValue<T> for &DynamicParameter<RawArgument> {
    fn given(self) -> Given {
        self.alone().given()
    }
}

impl<T> KernelValue<T> for DynamicParameters<RawArgument> {
    fn given(self) -> Given {
        self.given()
    }
}

impl<T: 'static> KernelLocal<T> for &DynamicParameter<Local<T>> {
    fn given(self) -> Given {
        self.alone().given()
    }
}

impl<T: 'static> KernelLocal<T> for DynamicParameters<Local<T>> {
    fn given(self) -> Given {
        self.given()
    }
}

impl<F: PixelFormat, D: ImageDimension> KernelImage<D> for &DynamicParameter<Image<F, D>> {
    fn given(self) -> Given {
        self.alone().given()
    }
}

impl<F: PixelFormat, D: ImageDimension> KernelImage<D> for DynamicParameters<Image<F, D>> {
    fn given(self) -> Given {
        self.given()
    }
}

impl KernelSampler for &DynamicParameter<Sampler> {
    fn given(self) -> Given {
        self.alone().given()
    }
}

impl KernelSampler for DynamicParameters<Sampler> {
    fn given(self) -> Given {
        self.given()
    }
}

impl<V> command::sealed::Sealed for &DynamicParameter<V> {}
impl<T, V: KernelPointer<T>> KernelPointer<T> for &DynamicParameter<V> {
    fn pointer(self) -> Pointer {
        self.alone().pointer()
    }

    #[allow(private_interfaces, reason = "of a sealed trait")]
    fn parameters(&self) -> Vec<Arc<Parameter>> {
        self.alone().parameters
    }
}
impl<T, V: KernelPointerMut<T>> KernelPointerMut<T> for &DynamicParameter<V> {}

impl<V> command::sealed::Sealed for DynamicParameters<V> {}
impl<T, V: KernelPointer<T>> KernelPointer<T> for DynamicParameters<V> {
    fn pointer(self) -> Pointer {
        newest(&self.parameters).into_pointer()
    }

    #[allow(private_interfaces, reason = "of a sealed trait")]
    fn parameters(&self) -> Vec<Arc<Parameter>> {
        self.parameters.clone()
    }
}
impl<T, V: KernelPointerMut<T>> KernelPointerMut<T> for DynamicParameters<V> {}

#[allow(private_interfaces, reason = "of a sealed trait")]
impl<T: ControlInteger> command::SealedCount for &DynamicParameter<T> {
    fn value(self) -> ControlValue {
        ControlValue::following::<T>(Arc::clone(&self.parameter))
    }
}

impl<V> Clone for DynamicParameter<V> {
    fn clone(&self) -> Self {
        Self { graph: Arc::clone(&self.graph), parameter: Arc::clone(&self.parameter), ty: PhantomData }
    }
}

impl<V> PartialEq for DynamicParameter<V> {
    fn eq(&self, other: &Self) -> bool {
        self.parameter.id() == other.parameter.id()
    }
}

impl<V> Eq for DynamicParameter<V> {}

impl<V> Hash for DynamicParameter<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parameter.id().hash(state);
    }
}

impl<V> fmt::Debug for DynamicParameter<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicParameter({:?})", self.parameter)
    }
}
