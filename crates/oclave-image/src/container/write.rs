//! Little-endian output of the container.

/// Appends to a byte vector.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    pub(super) fn count(&mut self, count: usize) {
        self.u64(count as u64);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.raw(text.as_bytes());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u8(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn section(&mut self, tag: [u8; 4], payload: &[u8]) {
        self.section_head(tag, payload.len());
        self.raw(payload);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn words_section(&mut self, tag: [u8; 4], words: &[u32]) {
        self.section_head(tag, words.len() * 4);
        self.bytes.reserve(words.len() * 4);
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    fn section_head(&mut self, tag: [u8; 4], length: usize) {
        self.raw(&tag);
        self.u32(0);
        self.count(length);
    }
}
