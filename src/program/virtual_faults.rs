//! Errors of virtual calls that reached no function, and of panics of kernels in Rust. Both
//! leave two words where the host looks after waits: a code, and the id of the kernel.

use std::collections::HashMap;
use std::sync::Arc;

use oclave_image::passes::fault_id;
use oclave_image::{PANICS, PropertyValue};

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
    /// Kernels in Rust, by the ids of their descriptions.
    panics: Mutex<HashMap<u64, Panics>>,
}

/// The places where a kernel in Rust may panic.
#[derive(Debug)]
struct Panics {
    kernel: String,
    /// Place and message, as the images have them.
    sites: String,
}

/// In the code of a panic, the number of the place stands above so many bits of the work-item's id.
const WORK_ITEM_BITS: u32 = 40;

#[derive(Debug)]
struct Caller {
    kernel: String,
    image: Arc<LoadedImage>,
}

impl VirtualFaults {
    /// Notes the kernels of an image that is linked.
    pub(super) fn enter(&self, image: &Arc<LoadedImage>, known: &Known) {
        self.enter_panics(image);
        *self.known.lock() = known.all(image);
        let mut kernels = self.kernels.lock();
        for kernel in &image.image().kernels {
            let caller = || Caller { kernel: kernel.name.clone(), image: Arc::clone(image) };
            kernels.entry(fault_id(image.name(), &kernel.name)).or_insert_with(caller);
        }
    }

    /// Notes the kernels of an image that may panic.
    fn enter_panics(&self, image: &LoadedImage) {
        for (kernel, value) in image.image().properties.set(PANICS) {
            let PropertyValue::Bytes(bytes) = value else { continue };
            let Some((id, sites)) = bytes.split_first_chunk() else { continue };
            let panics =
                Panics { kernel: kernel.to_owned(), sites: String::from_utf8_lossy(sites).into_owned() };
            self.panics.lock().entry(u64::from_le_bytes(*id)).or_insert(panics);
        }
    }

    /// The error for the code of a call, or of a panic, and the id of its kernel.
    pub(super) fn explain(&self, code: u64, kernel: u64) -> Error {
        if let Some(panics) = self.panics.lock().get(&kernel) {
            return panics.explain(code);
        }
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

impl Panics {
    fn explain(&self, code: u64) -> Error {
        let number = (code >> WORK_ITEM_BITS).checked_sub(1).and_then(|number| usize::try_from(number).ok());
        let item = code & ((1 << WORK_ITEM_BITS) - 1);
        let site =
            number.and_then(|number| self.sites.lines().nth(number)).and_then(|line| line.split_once('\0'));
        let what = match site {
            Some((place, message)) if !place.is_empty() => format!("{place}: {message}"),
            Some((_, message)) => message.to_owned(),
            None => "at an unknown place".to_owned(),
        };
        Error::new(ErrorKind::Kernel, format!("work-item {item} panicked: {what}"))
            .at(format!("kernel `{}`", self.kernel))
            .remedy(
                "correct the kernel or its arguments; memory that it wrote has what was written until then",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_has_its_place_and_its_work_item() {
        let panics = Panics {
            kernel: "step".to_owned(),
            sites: "k.rs:3:5\0index out of bounds\nk.rs:9:1\0attempt to divide by zero\n".to_owned(),
        };
        let text = panics.explain(2 << WORK_ITEM_BITS | 77).to_string();
        assert!(text.contains("work-item 77 panicked: k.rs:9:1: attempt to divide by zero"), "{text}");
        assert!(text.contains("kernel `step`"), "{text}");
        assert!(panics.explain(9 << WORK_ITEM_BITS).to_string().contains("unknown place"));
    }
}
