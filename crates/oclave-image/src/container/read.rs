//! Bounds-checked input of the container.

use super::bad;
use crate::Result;

/// Reads from a byte slice. Nothing is allocated for a count before the bytes that it promises were
/// seen.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of `bytes` in the file, for errors.
    base: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, at: 0, base }
    }

    /// Offset in the file of the next byte.
    pub(super) fn offset(&self) -> usize {
        self.base + self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left() == 0
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn raw(&mut self, length: usize, what: &str) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length);
        let Some((end, bytes)) = end.and_then(|end| Some((end, self.bytes.get(self.at..end)?))) else {
            let left = self.left();
            return Err(bad(self.offset(), format!("{what} needs {length} bytes, but only {left} are left")));
        };
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let at = self.offset();
        self.raw(N, what)?.try_into().map_err(|_| bad(at, format!("{what} is cut off")))
    }

    pub(super) fn u8(&mut self, what: &str) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A number of things of at least one byte each.
    pub(super) fn count(&mut self, what: &str) -> Result<usize> {
        let at = self.offset();
        let count = self.u64("count")?;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => Err(bad(at, format!("count {count} ({what}) is more than the {} bytes left", self.left()))),
        }
    }

    pub(super) fn text(&mut self, what: &str) -> Result<String> {
        let length = self.count(what)?;
        let at = self.offset();
        text(self.raw(length, what)?, at, what)
    }

    pub(super) fn list<T>(&mut self, what: &str, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        (0..self.count(what)?).map(|_| read(self)).collect()
    }

    pub(super) fn option<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        let at = self.offset();
        match self.u8(what)? {
            0 => Ok(None),
            1 => read(self).map(Some),
            flag => Err(bad(at, format!("{what} has the flag {flag}, which is neither 0 nor 1"))),
        }
    }

    pub(super) fn flag(&mut self, what: &str) -> Result<bool> {
        self.option(what, |_| Ok(())).map(|set| set.is_some())
    }

    /// The next section: its tag and a reader of its payload.
    pub(super) fn section(&mut self) -> Result<([u8; 4], Self)> {
        let tag: [u8; 4] = self.array("section tag")?;
        let what = format!("section {}", tag.escape_ascii());
        let at = self.offset();
        let reserved = self.u32("section head")?;
        if reserved != 0 {
            return Err(bad(at, format!("{what} has {reserved} where the format wants 0")));
        }
        let length = self.count(&what)?;
        let start = self.offset();
        let payload = self.raw(length, &what)?;
        let padding = length.next_multiple_of(4) - length;
        if self.raw(padding, "padding")?.iter().any(|&b| b != 0) {
            return Err(bad(start + length, format!("the padding of {what} is not zero")));
        }
        Ok((tag, Self::new(payload, start)))
    }

    pub(super) fn rest_as_text(&mut self, what: &str) -> Result<String> {
        let (at, left) = (self.offset(), self.left());
        text(self.raw(left, what)?, at, what)
    }

    pub(super) fn rest_as_words(&mut self) -> Result<Vec<u32>> {
        let at = self.offset();
        let bytes = self.raw(self.left(), "SPIR-V")?;
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(bad(at, format!("{} bytes of SPIR-V are no whole number of words", bytes.len())));
        }
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    pub(super) fn skip_rest(&mut self) {
        self.at = self.bytes.len();
    }

    /// Checks that nothing is left.
    pub(super) fn finish(&self, what: &str) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        Err(bad(self.offset(), format!("{} bytes are left over at the end of {what}", self.left())))
    }
}

fn text(bytes: &[u8], at: usize, what: &str) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| bad(at, format!("{what} is not UTF-8")))
}
