//! `printf` of kernels for programs that take the text themselves.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use oclave_image::PropertyValue;
use oclave_image::passes::printf::{PrintBuffer, PrintSite, decode, lower_printf};

use super::ahead::BINARIES;
use super::map::ProgramMap;
use crate::Result;
use crate::driver::prints::PrintBatch;
use crate::driver::sync::Mutex;
use crate::image::LoadedImage;

/// The text that one call of `printf` in a kernel printed; for [`ContextBuilder::printf`].
///
/// Its `Display` is the text.
///
/// [`ContextBuilder::printf`]: crate::context::ContextBuilder::printf
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    text: String,
    kernel: Option<String>,
    source: Option<(String, u32)>,
    lost: u64,
}

impl Printed {
    /// The text, as the format says: with the end of the line, if there is one in the format.
    /// Bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kernel that printed it; `None` for a function that several kernels of a source call.
    pub fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// File and line of the call, if the kernels were built with debug information.
    pub fn source(&self) -> Option<(&str, u32)> {
        self.source.as_ref().map(|(file, line)| (file.as_str(), *line))
    }

    /// How many calls were lost because the buffer was full. Only the line in which the library says
    /// so has a number above 0.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The destination of the text.
#[derive(Clone)]
pub(crate) struct PrintSink(Arc<dyn Fn(&Printed) + Send + Sync>);

impl PrintSink {
    pub(crate) fn new(sink: impl Fn(&Printed) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Each line as a record of the log.
    pub(crate) fn log() -> Self {
        Self::new(|printed| {
            let text = printed.text.trim_end_matches('\n');
            let kernel = printed.kernel().map(|kernel| format!("kernel `{kernel}`"));
            let source = printed.source().map(|(file, line)| format!("{file}:{line}"));
            let place = [kernel, source].into_iter().flatten().collect::<Vec<_>>().join(", ");
            let level = if printed.lost > 0 { log::Level::Warn } else { log::Level::Info };
            match place.is_empty() {
                true => log::log!(target: "oclave::printf", level, "{text}"),
                false => log::log!(target: "oclave::printf", level, "{place}: {text}"),
            }
        })
    }
}

impl fmt::Debug for PrintSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrintSink")
    }
}

/// The calls of `printf` in the programs of a context.
pub(crate) struct Prints {
    sink: PrintSink,
    /// By the key in records.
    sites: Mutex<HashMap<u64, Arc<[PrintSite]>>>,
    /// Hashes of images that print nothing.
    silent: Mutex<HashSet<[u8; 32]>>,
}

impl Prints {
    pub(super) fn new(sink: PrintSink) -> Self {
        Self { sink, sites: Mutex::default(), silent: Mutex::default() }
    }

    /// The image with calls of `printf` that write to the context's buffer; `None` where it has no
    /// calls.
    ///
    /// # Errors
    /// [`ErrorKind::KernelNotSupported`](crate::ErrorKind::KernelNotSupported) for formats that are
    /// no string literals.
    pub(super) fn lowered(&self, map: &ProgramMap, image: &LoadedImage) -> Result<Option<Arc<LoadedImage>>> {
        if self.silent.lock().contains(image.hash()) {
            return Ok(None);
        }
        let hash = *blake3::Hasher::new().update(b"printf").update(image.hash()).finalize().as_bytes();
        let key = hash.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let is_known = self.sites.lock().contains_key(&key);
        if let Some(lowered) = map.linked_as(&hash).filter(|_| is_known) {
            return Ok(Some(lowered));
        }
        let Some(mut printing) = lower_printf(&*image.whole()?, key)? else {
            self.silent.lock().insert(*image.hash());
            return Ok(None);
        };
        // They were made from what prints as the driver does it.
        let made = &mut printing.image.properties;
        for set in [BINARIES, oclave_ptx::PTX_SET] {
            let names: Vec<String> =
                made.set(set).map(|(name, _): (&str, &PropertyValue)| name.to_owned()).collect();
            names.iter().for_each(|name| made.remove(set, name));
        }
        self.sites.lock().insert(key, printing.sites.into());
        Ok(Some(map.linked(LoadedImage::derived(printing.image, hash, image)?)))
    }

    /// Passes the output of kernels to the program.
    pub(super) fn deliver(&self, batch: &PrintBatch) {
        let mut rest = batch.records.as_slice();
        while let [header, low, high, ..] = rest {
            let (site, words) = PrintBuffer::parts(*header);
            let Some((record, after)) = rest.split_at_checked(words.max(PrintBuffer::RECORD_HEADER)) else {
                break;
            };
            rest = after;
            let sites = self.sites.lock().get(&(u64::from(*low) | u64::from(*high) << 32)).cloned();
            let Some(site) = sites.as_ref().and_then(|sites| sites.get(site)) else {
                log::error!("a record of printf that no program makes; a kernel may have written over it");
                continue;
            };
            let text = decode(site, record.get(PrintBuffer::RECORD_HEADER..).unwrap_or_default());
            let text = String::from_utf8_lossy(&text).into_owned();
            let (kernel, source) = (site.kernel.clone(), site.source.clone());
            (self.sink.0)(&Printed { text, kernel, source, lost: 0 });
        }
        if batch.lost > 0 {
            let lost = u64::from(batch.lost);
            let kib = PrintBuffer::RING_WORDS * size_of::<u32>() / 1024;
            let text =
                format!("oclave: {lost} calls of printf were lost: the buffer of {kib} KiB was full\n");
            (self.sink.0)(&Printed { text, kernel: None, source: None, lost });
        }
    }
}

impl fmt::Debug for Prints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prints").finish_non_exhaustive()
    }
}
