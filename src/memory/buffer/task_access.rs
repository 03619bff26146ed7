//! Accessors of host tasks: elements of buffers on the host, while a task runs.
//!
//! They are copies, like host accessors. A task is ordered among the commands that use its parts,
//! so it waits for nothing itself. The elements are read before it is called, and put back when it
//! has succeeded.

use std::sync::Arc;

use super::accessor::{AccessKind, Accessor};
use super::requirement::Requirement;
use crate::memory::zeroed;
use crate::{Context, Result};

#[allow(private_interfaces, reason = "nobody outside can name a sealed trait, nor its functions")]
mod sealed {
    use bytemuck::Pod;

    use super::{Accessor, Arc, Context, Requirement, Result, zeroed};
    use crate::memory::buffer::AccessKind;

    pub trait Access: Send + Sync + 'static {
        /// The elements while the task runs.
        type Data;

        fn requirements(&self, into: &mut Vec<Arc<Requirement>>);

        /// Reads the elements from memory of a context.
        fn open(&self, context: &Context) -> Result<Self::Data>;

        /// Puts those back that are written.
        fn close(&self, context: &Context, data: &Self::Data) -> Result<()>;
    }

    impl<T: Pod, A: AccessKind> Access for Accessor<T, A> {
        type Data = Vec<T>;

        fn requirements(&self, into: &mut Vec<Arc<Requirement>>) {
            into.push(Arc::clone(self.requirement()));
        }

        fn open(&self, context: &Context) -> Result<Vec<T>> {
            let mut data = zeroed(self.requirement().area().len())?;
            self.requirement().read_in(context, bytemuck::cast_slice_mut(&mut data))?;
            Ok(data)
        }

        fn close(&self, context: &Context, data: &Vec<T>) -> Result<()> {
            self.requirement().write_in(context, bytemuck::cast_slice(data))
        }
    }

    impl<S: Access> Access for Vec<S> {
        type Data = Vec<S::Data>;

        fn requirements(&self, into: &mut Vec<Arc<Requirement>>) {
            self.iter().for_each(|accessor| accessor.requirements(into));
        }

        fn open(&self, context: &Context) -> Result<Vec<S::Data>> {
            self.iter().map(|accessor| accessor.open(context)).collect()
        }

        fn close(&self, context: &Context, data: &Vec<S::Data>) -> Result<()> {
            self.iter().zip(data).try_for_each(|(accessor, data)| accessor.close(context, data))
        }
    }
}
use sealed::Access;

/// What a host task is given of buffers
/// ([`Command::host_task_with`](crate::Command::host_task_with)): an [`Accessor`], a tuple of up to
/// eight, or a vector.
pub trait TaskAccess: sealed::Access {
    /// The arguments of the closure: for an accessor that reads a `&[T]`, for one that writes a `&mut
    /// [T]`; tuples and vectors of these.
    type Views<'a>;

    #[doc(hidden)]
    fn views(data: &mut Self::Data) -> Self::Views<'_>;
}

impl<T: bytemuck::Pod, A: AccessKind> TaskAccess for Accessor<T, A> {
    type Views<'a> = A::View<'a, T>;

    fn views(data: &mut Vec<T>) -> A::View<'_, T> {
        A::view(data)
    }
}

impl<S: TaskAccess> TaskAccess for Vec<S> {
    type Views<'a> = Vec<S::Views<'a>>;

    fn views(data: &mut Vec<S::Data>) -> Vec<S::Views<'_>> {
        data.iter_mut().map(S::views).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))+) => {$(
        #[allow(private_interfaces, reason = "of a sealed trait")]
        impl<$($name: Access),+> Access for ($($name,)+) {
            type Data = ($($name::Data,)+);

            fn requirements(&self, into: &mut Vec<Arc<Requirement>>) {
                $(self.$index.requirements(into);)+
            }

            fn open(&self, context: &Context) -> Result<Self::Data> {
                Ok(($(self.$index.open(context)?,)+))
            }

            fn close(&self, context: &Context, data: &Self::Data) -> Result<()> {
                $(self.$index.close(context, &data.$index)?;)+
                Ok(())
            }
        }

        impl<$($name: TaskAccess),+> TaskAccess for ($($name,)+) {
            type Views<'a> = ($($name::Views<'a>,)+);

            fn views(data: &mut Self::Data) -> Self::Views<'_> {
                ($($name::views(&mut data.$index),)+)
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
