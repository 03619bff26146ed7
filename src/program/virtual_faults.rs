//! Errors of virtual calls that reached no function, and of panics of kernels in Rust. Both
//! leave a note where the host looks after waits: a code, the id of the kernel, and the values of a panic's message.

use std::collections::HashMap;
use std::sync::Arc;

use oclave_image::passes::fault_id;
use oclave_image::{PANIC_VALUES, PANICS, PanicSite, PropertyValue, decode_panics, panic_checksum};

use crate::MakeError as _;
use crate::driver::fault::FaultNote;
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
    sites: Vec<PanicSite>,
}

// The driver crate knows the words by their number.
const _: () = assert!(FaultNote::WORDS == 3 + PANIC_VALUES);

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
            let Some((id, sites)) = decode_panics(bytes) else { continue };
            let panics = || Panics { kernel: kernel.to_owned(), sites };
            self.panics.lock().entry(id).or_insert_with(panics);
        }
    }

    /// The error for what a call or a panic left.
    pub(super) fn explain(&self, note: &FaultNote) -> Error {
        if let Some(panics) = self.panics.lock().get(&note.kernel) {
            return panics.explain(note);
        }
        let kernels = self.kernels.lock();
        let caller = kernels.get(&note.kernel);
        let (what, remedy) = self.cause(note.code, caller);
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
    fn explain(&self, note: &FaultNote) -> Error {
        let number = (note.code >> WORK_ITEM_BITS).checked_sub(1);
        let item = note.code & ((1 << WORK_ITEM_BITS) - 1);
        let site = number.and_then(|number| self.sites.get(usize::try_from(number).ok()?));
        let what = match site {
            Some(site) => {
                let message = site.message_with(values(note, site));
                if site.place.is_empty() { message } else { format!("{}: {message}", site.place) }
            }
            None => "at an unknown place".to_owned(),
        };
        Error::new(ErrorKind::Kernel, format!("work-item {item} panicked: {what}"))
            .at(format!("kernel `{}`", self.kernel))
            .remedy(
                "correct the kernel or its arguments; memory that it wrote has what was written until then",
            )
    }
}

/// The values of the message, unless several work-items wrote the note at the same time.
fn values<'n>(note: &'n FaultNote, site: &PanicSite) -> Option<&'n [u64]> {
    let values = note.values.get(..site.value_count())?;
    (panic_checksum(note.code, note.kernel, values) == note.checksum).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_has_its_place_its_work_item_and_its_values() {
        let site =
            |place: &str, message: &str| PanicSite { place: place.to_owned(), message: message.to_owned() };
        let sites = vec![
            site("k.rs:3:5", "the len is {1 usize} but the index is {0 usize}"),
            site("k.rs:9:1", "attempt to divide by zero"),
        ];
        let panics = Panics { kernel: "step".to_owned(), sites };
        let note = |number: u64, checksum, values| FaultNote {
            code: number << WORK_ITEM_BITS | 77,
            kernel: 5,
            checksum,
            values,
        };
        let text = panics.explain(&note(2, 0, [0; 4])).to_string();
        assert!(text.contains("work-item 77 panicked: k.rs:9:1: attempt to divide by zero"), "{text}");
        assert!(text.contains("kernel `step`"), "{text}");
        assert!(panics.explain(&note(9, 0, [0; 4])).to_string().contains("unknown place"));

        let checksum = panic_checksum(1 << WORK_ITEM_BITS | 77, 5, &[7, 3]);
        let text = panics.explain(&note(1, checksum, [7, 3, 99, 99])).to_string();
        assert!(text.contains("k.rs:3:5: the len is 3 but the index is 7"), "{text}");
        let text = panics.explain(&note(1, checksum, [8, 3, 0, 0])).to_string();
        assert!(text.contains("the len is … but the index is …"), "{text}");
    }
}
