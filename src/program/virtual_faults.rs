//! What is said of a virtual call that reached no function.

use std::collections::HashMap;
use std::sync::Arc;

use oclave_image::passes::fault_id;

use crate::MakeError as _;
use crate::driver::sync::Mutex;
use crate::image::{Known, LoadedImage};
use crate::{Error, ErrorKind};

/// The kernels that make virtual calls, and the functions that there are.
#[derive(Debug, Default)]
pub(crate) struct VirtualFaults {
    /// By [`fault_id`].
    kernels: Mutex<HashMap<u64, Caller>>,
    known: Mutex<Vec<Arc<LoadedImage>>>,
}

#[derive(Debug)]
struct Caller {
    kernel: String,
    image: Arc<LoadedImage>,
}

impl VirtualFaults {
    /// Notes the kernels of an image that is linked.
    pub(super) fn enter(&self, image: &Arc<LoadedImage>, known: &Known) {
        *self.known.lock() = known.all(image);
        let mut kernels = self.kernels.lock();
        for kernel in &image.image().kernels {
            let caller = || Caller { kernel: kernel.name.clone(), image: Arc::clone(image) };
            kernels.entry(fault_id(image.name(), &kernel.name)).or_insert_with(caller);
        }
    }

    /// The error for the code of a call and the id of its kernel.
    pub(super) fn explain(&self, code: u64, kernel: u64) -> Error {
        let kernels = self.kernels.lock();
        let caller = kernels.get(&kernel);
        let (what, remedy) = self.cause(code, caller);
        let error = Error::new(
            ErrorKind::Kernel,
            format!("a virtual call reached no function, and returned zeroes: {what}"),
        )
        .remedy(remedy);
        match caller {
            Some(caller) => error.at(format!("kernel `{}`", caller.kernel)),
            None => error,
        }
    }

    fn cause(&self, code: u64, caller: Option<&Caller>) -> (String, &'static str) {
        let known = self.known.lock();
        let slots = || known.iter().flat_map(|image| &image.virtual_functions().slots);
        let functions = || known.iter().flat_map(|image| &image.virtual_functions().functions);
        let of_slot = slots().find(|slot| slot.code == code).map(|slot| slot.function.as_str());
        let function =
            of_slot.or_else(|| functions().find(|f| f.code == code).map(|function| function.name.as_str()));
        let Some(function) = function else {
            return (
                format!("the code {code:#x} is that of no known class"),
                "construct the object on the device before it is used, and keep its memory; register the table or load \
                 the bundle with its class",
            );
        };
        let sets: Vec<&str> = known
            .iter()
            .filter(|image| image.virtual_functions().functions.iter().any(|f| f.name == function))
            .filter_map(|image| image.virtual_functions().provides.as_deref())
            .collect();
        if caller.is_some_and(|caller| caller.image.virtual_functions().is_empty()) {
            return (
                format!("`{function}` was not linked ahead of time"),
                "make the images again from all that the program calls",
            );
        }
        let calls = caller.map(|caller| &caller.image.virtual_functions().calls);
        match (sets.first(), calls) {
            (None, _) => (
                format!("`{function}` is in no set"),
                "mark the function `indirectly_callable`, in a set that the kernel calls",
            ),
            (Some(set), Some(calls)) if !sets.iter().any(|set| calls.contains(*set)) => (
                format!("`{function}` is in set `{set}`, which the kernel does not call"),
                "add the set to the kernel's `calls_indirectly`",
            ),
            _ => (
                format!("`{function}` was called through another type, or virtual calls nest too deep"),
                "call it through a base of its class; raise the depth of nested virtual calls when building the images",
            ),
        }
    }
}
