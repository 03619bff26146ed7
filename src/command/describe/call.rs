//! A kernel with its arguments, as a plain value.

use std::fmt;
use std::sync::Arc;

use oclave_image::Access;

use super::argument::{Argument, RawArgument, Value};
use super::parameter::{Binding, Given, Parameter, newest_of};
use super::passed::{KernelLocal, KernelPointer, KernelPointerMut, KernelValue};
use super::place::Place;
use crate::image::Kernel;
use crate::images::{KernelImage, KernelSampler};
use crate::memory::buffer::Requirement;
use crate::program::{BundleKernel, CallTarget, SpecConstant, SpecType, SpecValue};

/// A kernel with its arguments and specialization values.
///
/// Describing a call makes no OpenCL call and cannot fail: what does not fit the kernel is an error
/// where the call is launched. The same value can be cloned and launched many times, on any queue
/// of the context that its memory belongs to.
///
/// Generated code makes these (`kernels::saxpy::saxpy(2.0, &x, &y)`), with rustc checking the
/// arguments; a kernel of a [`KernelBundle`](crate::kernel::KernelBundle) is checked against its signature
/// at launch.
///
/// ```no_run
/// # use oclave::kernel::{KernelBundle, Local, NdRange};
/// # use oclave::{Queue, Result, UsmSlice};
/// # fn f(queue: &Queue, bundle: &KernelBundle, x: &UsmSlice<f32>, sums: &UsmSlice<f32>) -> Result<()> {
/// // kernel void sums(global const float *x, global float *sums, local float *scratch, uint n)
/// let call = bundle.kernel("sums")?.call();
/// let call = call.pointer::<f32>(x).pointer_mut::<f32>(sums).local(Local::<f32>::new(64)).value(1024_u32);
/// queue.parallel_for(NdRange::new(1024, 64), call.clone())?;
/// queue.parallel_for(NdRange::new(1024, 64), call)?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call does nothing until it is put on a queue"]
#[derive(Clone)]
pub struct KernelCall {
    target: CallTarget,
    arguments: Vec<Argument>,
    more: Option<Box<More>>,
}

/// Options that few calls have.
#[derive(Clone, Default)]
struct More {
    /// Sorted by id, one value an id.
    specs: Vec<SpecValue>,
    /// The arguments that follow a parameter of a graph.
    bindings: Vec<Binding>,
    /// The lengths of slices that follow a parameter.
    lengths: Vec<Length>,
}

/// A slice whose length, the argument after it, follows it.
#[derive(Clone, Copy)]
struct Length {
    memory: usize,
    element_bytes: usize,
}

impl Length {
    fn follow(self, arguments: &mut [Argument]) {
        let length = arguments.get(self.memory).map(|memory| length_of(memory, self.element_bytes));
        let place = self.memory.checked_add(1).and_then(|index| arguments.get_mut(index));
        if let (Some(length), Some(place)) = (length, place) {
            *place = length;
        }
    }
}

/// How many elements memory has. Of memory whose size is not known that is 0, and the launch fails.
fn length_of(memory: &Argument, element_bytes: usize) -> Argument {
    let bytes = match memory {
        Argument::Pointer(pointer) => pointer.size_bytes(),
        Argument::Local { size_bytes, .. } => Some(*size_bytes),
        _ => None,
    };
    let len = bytes.and_then(|bytes| bytes.checked_div(element_bytes)).unwrap_or(0);
    Argument::Value(Value::new(&(len as u64)))
}

impl KernelCall {
    /// A call of `kernel` without arguments yet. Generated code begins with this.
    #[inline]
    pub fn new(kernel: &'static Kernel) -> Self {
        Self::of(CallTarget::Image(kernel))
    }

    #[inline]
    pub(crate) fn of(target: CallTarget) -> Self {
        Self { target, arguments: Vec::with_capacity(8), more: None }
    }

    #[inline]
    fn push(mut self, argument: Argument, parameters: Vec<Arc<Parameter>>) -> Self {
        if !parameters.is_empty() {
            self.bind(self.arguments.len(), parameters);
        }
        self.arguments.push(argument);
        self
    }

    /// Lets an argument follow parameters of a graph.
    #[cold]
    fn bind(&mut self, argument: usize, parameters: Vec<Arc<Parameter>>) {
        let bindings = parameters.into_iter().map(|parameter| Binding { argument, parameter });
        self.more.get_or_insert_default().bindings.extend(bindings);
    }

    /// The next argument, by value: a scalar, a vector, or a `repr(C)` struct; or a
    /// [`DynamicParameter`](crate::graph::DynamicParameter) of one.
    #[inline]
    pub fn value<T>(self, value: impl KernelValue<T>) -> Self {
        let Given { argument, parameters } = value.given();
        self.push(argument, parameters)
    }

    /// The next argument, as bytes or memory whose type is not looked at.
    pub fn raw(self, argument: impl KernelValue<RawArgument>) -> Self {
        self.value(argument)
    }

    /// The next argument: memory that the kernel reads.
    ///
    /// Bytes fit `char *` and `uchar *`. Name the kernel's type: `.pointer::<i8>(&text)`.
    #[inline]
    pub fn pointer<T: 'static>(self, memory: impl KernelPointer<T>) -> Self {
        let parameters = memory.parameters();
        self.push(Argument::Pointer(memory.pointer().typed::<T>(Access::Read)), parameters)
    }

    /// The next argument: memory that the kernel may write. For bytes, see [`pointer`](Self::pointer).
    #[inline]
    pub fn pointer_mut<T: 'static>(self, memory: impl KernelPointerMut<T>) -> Self {
        let parameters = memory.parameters();
        self.push(Argument::Pointer(memory.pointer().typed::<T>(Access::ReadWrite)), parameters)
    }

    /// The next two arguments of a kernel in Rust: memory that it reads, and how many elements it has.
    /// Where the memory follows a parameter of a graph, the number of elements does so, too.
    pub fn slice<T: 'static>(self, memory: impl KernelPointer<T>) -> Self {
        let parameters = memory.parameters();
        let pointer = memory.pointer().typed::<T>(Access::Read);
        self.with_length::<T>(Argument::Pointer(pointer), parameters)
    }

    /// The next two arguments of a kernel in Rust: memory that it may write, and how many elements it
    /// has. See [`slice`](Self::slice).
    pub fn slice_mut<T: 'static>(self, memory: impl KernelPointerMut<T>) -> Self {
        let parameters = memory.parameters();
        let pointer = memory.pointer().typed::<T>(Access::ReadWrite);
        self.with_length::<T>(Argument::Pointer(pointer), parameters)
    }

    /// The next two arguments of a kernel in Rust: local memory, and how many elements it has. See
    /// [`slice`](Self::slice).
    pub fn local_slice<T: 'static>(self, local: impl KernelLocal<T>) -> Self {
        let Given { argument, parameters } = local.given();
        self.with_length::<T>(argument, parameters)
    }

    fn with_length<T: 'static>(mut self, memory: Argument, parameters: Vec<Arc<Parameter>>) -> Self {
        let element_bytes = size_of::<T>();
        if !parameters.is_empty() {
            let lengths = &mut self.more.get_or_insert_default().lengths;
            lengths.push(Length { memory: self.arguments.len(), element_bytes });
        }
        let length = length_of(&memory, element_bytes);
        self.push(memory, parameters).push(length, Vec::new())
    }

    /// Whether the number of elements of a slice that follows a parameter follows it, too.
    pub(in crate::command) fn has_length_of(&self, memory: usize) -> bool {
        self.more.as_ref().is_some_and(|more| more.lengths.iter().any(|length| length.memory == memory))
    }

    /// The next argument: local memory.
    pub fn local<T: 'static>(self, local: impl KernelLocal<T>) -> Self {
        let Given { argument, parameters } = local.given();
        self.push(argument, parameters)
    }

    /// The next argument: an image that the kernel declares `read_only`.
    pub fn read_image<D>(self, image: impl KernelImage<D>) -> Self {
        self.image(image.given(), Access::Read)
    }

    /// The next argument: an image that the kernel declares `write_only`.
    pub fn write_image<D>(self, image: impl KernelImage<D>) -> Self {
        self.image(image.given(), Access::Write)
    }

    /// The next argument: an image that the kernel declares `read_write`.
    pub fn read_write_image<D>(self, image: impl KernelImage<D>) -> Self {
        self.image(image.given(), Access::ReadWrite)
    }

    fn image(self, Given { argument, parameters }: Given, access: Access) -> Self {
        let argument = match argument {
            Argument::Image(image) => Argument::Image(image.accessed(access)),
            other => other,
        };
        self.push(argument, parameters)
    }

    /// The next argument: a sampler.
    pub fn sampler(self, sampler: impl KernelSampler) -> Self {
        let Given { argument, parameters } = sampler.given();
        self.push(argument, parameters)
    }

    /// Runs the kernel with `constant` set to `value`. Each set of values is a program of its own,
    /// built once.
    pub fn spec<T: SpecType>(mut self, constant: &SpecConstant<T>, value: T) -> Self {
        crate::program::set_spec(&mut self.more.get_or_insert_default().specs, constant.with_value(value));
        self
    }

    /// The kernel's name.
    pub fn kernel_name(&self) -> &str {
        self.target.name()
    }

    #[inline]
    pub(crate) fn target(&self) -> &CallTarget {
        &self.target
    }

    #[inline]
    pub(crate) fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The arguments that follow a parameter of a graph.
    #[inline]
    pub(crate) fn bindings(&self) -> &[Binding] {
        self.more.as_ref().map_or(&[], |more| &more.bindings)
    }

    /// Changes an argument to a value of the same kind.
    pub(crate) fn set_argument(&mut self, index: usize, to: &Argument) {
        debug_assert!(index < self.arguments.len(), "argument {index} of {}", self.arguments.len());
        if let Some(argument) = self.arguments.get_mut(index) {
            argument.set(to);
        }
        if let Some(more) = &self.more {
            more.lengths
                .iter()
                .filter(|length| length.memory == index)
                .for_each(|length| length.follow(&mut self.arguments));
        }
    }

    /// The places that its pointers point to.
    pub(super) fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        self.arguments.iter_mut().filter_map(|argument| match argument {
            Argument::Pointer(pointer) => Some(pointer.place_mut()),
            _ => None,
        })
    }

    /// Gives all arguments that follow a parameter its value.
    pub(in crate::command) fn follow(&mut self) {
        let Some(more) = &self.more else { return };
        for Binding { argument, parameter } in newest_of(&more.bindings) {
            debug_assert!(*argument < self.arguments.len(), "argument {argument} of a kernel");
            if let Some(argument) = self.arguments.get_mut(*argument) {
                argument.set(&parameter.current());
            }
        }
        more.lengths.iter().for_each(|length| length.follow(&mut self.arguments));
    }

    /// Whether both run the same kernel, specialized in the same way.
    pub(crate) fn same_kernel(&self, other: &Self) -> bool {
        self.target.is_same(&other.target) && self.specs() == other.specs()
    }

    /// Gives back the room for further arguments.
    pub(crate) fn shrink(&mut self) {
        self.arguments.shrink_to_fit();
    }

    /// Takes the arguments out.
    pub(in crate::command) fn take_arguments(&mut self) -> Vec<Argument> {
        std::mem::take(&mut self.arguments)
    }

    /// The accesses of the kernel to parts of buffers, and to images.
    pub(in crate::command) fn requirements(&self) -> Vec<Arc<Requirement>> {
        let places = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Pointer(pointer) => pointer.place().requirement(),
            Argument::Image(image) => Some(Arc::clone(image.requirement())),
            _ => None,
        });
        places.collect()
    }

    /// Sorted by id, one value an id.
    #[inline]
    pub(crate) fn specs(&self) -> &[SpecValue] {
        self.more.as_ref().map_or(&[], |more| &more.specs)
    }
}

impl BundleKernel {
    /// A call without arguments yet. Count, kind and size of the arguments are checked against the
    /// kernel's signature when the call is launched.
    pub fn call(&self) -> KernelCall {
        KernelCall::of(CallTarget::Bundle(self.clone()))
    }
}

impl fmt::Debug for KernelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelCall")
            .field("kernel", &self.kernel_name())
            .field("arguments", &self.arguments)
            .field("specialization", &self.specs())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Local;
    use crate::image::ImageTable;

    static TABLE: ImageTable = ImageTable::generated("t", &[]);
    static KERNEL: Kernel = Kernel::new(&TABLE, "k");

    #[test]
    fn values_keep_their_bytes_small_or_large() {
        let small = Value::new(&7_u32);
        assert_eq!(small.bytes(), 7_u32.to_ne_bytes());
        let large = Value::new(&[3_u64; 9]);
        assert_eq!(large.bytes(), bytemuck::bytes_of(&[3_u64; 9]));
    }

    #[test]
    fn arguments_stay_in_order() {
        let call = KernelCall::new(&KERNEL).value(1.0_f32).local(Local::<f64>::new(4)).value(2_u8);
        assert_eq!(call.kernel_name(), "k");
        let sizes: Vec<usize> = call
            .arguments()
            .iter()
            .map(|argument| match argument {
                Argument::Value(value) => value.bytes().len(),
                Argument::Local { size_bytes, .. } => *size_bytes,
                _ => 0,
            })
            .collect();
        assert_eq!(sizes, [4, 32, 1]);
    }

    #[test]
    fn local_memory_beyond_the_address_space_saturates() {
        let call = KernelCall::new(&KERNEL).local(Local::<u64>::new(usize::MAX));
        assert!(matches!(call.arguments(), [Argument::Local { size_bytes: usize::MAX, .. }]));
    }
}
