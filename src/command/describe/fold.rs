//! Reductions and scans: kernels of the library.
//!
//! One work-item folds up to [`FEW`] elements, which the graph interpreter can run. One group folds more. There is a module
//! for each operation and type, made when it is first asked for.

use std::collections::BTreeMap;

use bytemuck::Pod;
pub use oclave_image::passes::interpreter::Fold;
use oclave_image::passes::interpreter::{FOLD_GROUP, FoldKernel, fold_kernels};
use oclave_image::{PostLinkOptions, Scalar, SplitMode, TranslationUnit, post_link};

use super::argument::{Local, Pointer};
use super::call::KernelCall;
use super::command::{Command, CommandKind};
use super::passed::{KernelPointer, KernelPointerMut, sealed as passed};
use super::place::{CopyFrom, CopyTo, Place};
use crate::MakeError as _;
use crate::driver::sync::Mutex;
use crate::image::{ImageTable, Kernel};
use crate::range::NdRange;
use crate::{Error, Result};

/// One work-item folds so many elements faster than a group does on a CPU.
const FEW: usize = 1024;

mod sealed {
    pub trait Sealed {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "of a sealed trait")]
        const SCALAR: super::Scalar;
    }
}

/// Scalars that are reduced and scanned.
pub trait FoldScalar: Pod + sealed::Sealed {}
impl<T: Pod + sealed::Sealed> FoldScalar for T {}

macro_rules! scalars {
    ($($ty:ty: $scalar:ident),*) => {$(
        #[allow(private_interfaces, reason = "of a sealed trait")]
        impl sealed::Sealed for $ty {
            const SCALAR: Scalar = Scalar::$scalar;
        }
    )*};
}
scalars! {
    i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, half::f16: F16, f32: F32, f64: F64
}

impl Command {
    /// Folds all elements of memory into one: their sum, their largest, …
    ///
    /// The result is of the same type, at the first element of `to`. Without elements it is what
    /// changes nothing: zero for a sum, infinity for the smallest.
    ///
    /// It is a kernel of the library, and a node of that type in graphs. The order in which it
    /// combines elements depends on their number alone. So the result is the same each time on a
    /// device, also for floating-point numbers. One work-group does it, so that GPUs are slow with
    /// many elements.
    ///
    /// The result may be what a loop decides by: [`Command::while_`].
    ///
    /// ```no_run
    /// # fn main() -> oclave::Result<()> {
    /// use oclave::command::Fold;
    /// use oclave::{Command, Context, Device, Queue};
    ///
    /// let queue = Queue::new(&Context::new(&Device::select()?)?)?;
    /// let values = queue.upload(&[3.0_f32, 1.0, 2.0])?;
    /// let largest = queue.context().alloc_device::<f32>(1)?;
    /// queue.submit(Command::reduce(Fold::Max, &values, &largest))?;
    /// assert_eq!(queue.read(&largest)?, [3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When it is submitted or added to a graph, [`Invalid`](crate::ErrorKind::Invalid) for boxes of memory, for device
    /// globals, and for bits of floating-point numbers.
    /// [`KernelNotSupported`](crate::ErrorKind::KernelNotSupported) for a type that the device does not have.
    pub fn reduce<M: CopyFrom<Element: FoldScalar>>(
        fold: Fold,
        from: &M,
        to: &impl CopyTo<Element = M::Element>,
    ) -> Self {
        fold_command::<M::Element>(
            fold,
            [FoldKernel::Reduce, FoldKernel::ReduceByGroup],
            from.place(false),
            to.place(true),
            1,
        )
    }

    /// Writes to each element of `to` what the elements of `from` up to there come to, that one
    /// included: running sums, running maxima, …
    ///
    /// Both have the same length, and may be the same memory. All else is as for
    /// [`reduce`](Self::reduce).
    ///
    /// ```no_run
    /// # use oclave::command::Fold;
    /// # use oclave::{Command, Queue, Result, UsmSlice};
    /// # fn f(queue: &Queue, counts: &UsmSlice<u32>, ends: &UsmSlice<u32>) -> Result<()> {
    /// queue.submit(Command::scan(Fold::Sum, counts, ends))?; // 3, 1, 2 → 3, 4, 6
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan<M: CopyFrom<Element: FoldScalar>>(
        fold: Fold,
        from: &M,
        to: &impl CopyTo<Element = M::Element>,
    ) -> Self {
        let place = from.place(false);
        let count = place.size_bytes().map_or(1, |bytes| bytes / size_of::<M::Element>());
        fold_command::<M::Element>(
            fold,
            [FoldKernel::Scan, FoldKernel::ScanByGroup],
            place,
            to.place(true),
            count,
        )
    }
}

/// A launch of the first kernel for few elements, else of the second; `needed` elements are written.
fn fold_command<T: FoldScalar>(
    fold: Fold,
    [few, many]: [FoldKernel; 2],
    from: Place,
    to: Place,
    needed: usize,
) -> Command {
    let count = from.size_bytes().map_or(0, |bytes| bytes / size_of::<T>());
    let kernel = if count <= FEW { few } else { many };
    let found = kernel_of(fold, T::SCALAR, kernel);
    let written = checked(to, needed * size_of::<T>());
    let (call, read) = match found {
        Ok(kernel) => (KernelCall::new(kernel), checked(from, 0)),
        // Any kernel will do for a command that fails.
        Err(error) => match kernel_of(Fold::Sum, T::SCALAR, kernel) {
            Ok(any) => (KernelCall::new(any), Place::Refused(error)),
            Err(_) => return refused(error),
        },
    };
    let call = call.pointer::<T>(Whole(read)).value(count as u64).pointer_mut::<T>(Whole(written));
    if count <= FEW {
        return Command::single_task(call);
    }
    Command::parallel_for(NdRange::new(FOLD_GROUP, FOLD_GROUP), call.local(Local::<T>::new(FOLD_GROUP)))
}

/// A command that fails.
fn refused(error: Error) -> Command {
    Command::from_parts(CommandKind::Prefetch { memory: Place::Refused(error) }, Vec::new())
}

/// The place, if it is one piece of at least so many bytes.
fn checked(place: Place, size_bytes: usize) -> Place {
    let refuse = |message: String, remedy: &str| {
        Place::Refused(Error::invalid(message).remedy(remedy).at("reduction or scan"))
    };
    let pointer = Pointer::new(place);
    match (pointer.place(), pointer.size_bytes()) {
        (Place::Refused(_), _) => {}
        (_, None) => {
            let message = "memory that does not lie in one piece, or of a device global".to_owned();
            return refuse(message, "copy it to USM first, in a command before this one");
        }
        (_, Some(found)) if found < size_bytes => {
            let message = format!("the result has {size_bytes} bytes, and its memory {found}");
            return refuse(message, "give it memory of as many elements as it has");
        }
        _ => {}
    }
    let mut pointer = pointer;
    std::mem::replace(pointer.place_mut(), Place::Null)
}

/// A place as an argument.
struct Whole(Place);

impl passed::Sealed for Whole {}
impl<T> KernelPointer<T> for Whole {
    fn pointer(self) -> Pointer {
        Pointer::new(self.0)
    }
}
impl<T> KernelPointerMut<T> for Whole {}

/// The kernels of operations and types that were asked for.
static KERNELS: Mutex<BTreeMap<(Fold, Scalar), &'static [Kernel]>> = Mutex::new(BTreeMap::new());

/// A kernel of the library. It is there as long as the process.
fn kernel_of(fold: Fold, scalar: Scalar, kernel: FoldKernel) -> Result<&'static Kernel> {
    let mut kernels = KERNELS.lock();
    let all = match kernels.get(&(fold, scalar)) {
        Some(all) => *all,
        None => {
            let all = make(fold, scalar)?;
            kernels.insert((fold, scalar), all);
            all
        }
    };
    let found = all.iter().find(|found| found.name() == kernel.name());
    found.ok_or_else(|| Error::bug("a kernel for reductions is missing"))
}

fn make(fold: Fold, scalar: Scalar) -> Result<&'static [Kernel]> {
    let name = format!("oclave_{fold:?}_{}", scalar.opencl_name()).to_lowercase();
    let Some(module) = fold_kernels(fold, scalar)? else {
        let message = format!("the bits of `{}` were to be combined", scalar.opencl_name());
        return Err(Error::invalid(message).remedy("cast the memory to integers: `memory.cast::<u32>()`"));
    };
    let mut options = PostLinkOptions::default();
    options.split = SplitMode::Off;
    let images = post_link(&[TranslationUnit::new(&name, module)], &options)?;
    // There are no more of them than operations and types.
    let containers: Vec<&'static [u8]> = images.iter().map(|image| &*image.to_bytes().leak()).collect();
    let table: &'static ImageTable =
        Box::leak(Box::new(ImageTable::generated(name.leak(), containers.leak())));
    Ok(Vec::leak(FoldKernel::ALL.map(|kernel| Kernel::new(table, kernel.name())).into()))
}
