//! Random changes to modules that keep much of them sound: fast, and the same for the same seed.

use oclave_spirv::Module;

/// A generator of random numbers (splitmix64), and the changes that it makes.
pub(crate) struct Mutator(u64);

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 for an `end` of 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or(0)
    }

    /// Changes a module one to three times.
    pub(crate) fn module(&mut self, words: &mut Vec<u32>) {
        for _ in 0..[1, 1, 1, 2, 3][self.below(5)] {
            self.change(words);
        }
    }

    /// Changes bytes one to four times.
    pub(crate) fn bytes(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(8) {
                0..=2 => bytes[at] ^= 1 << self.below(8),
                3 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                4 => bytes[at] = bytes[self.below(bytes.len())],
                5 => bytes.truncate(at),
                6 => bytes.insert(at, self.next() as u8),
                _ => {
                    bytes.remove(at);
                }
            }
        }
    }

    fn change(&mut self, words: &mut Vec<u32>) {
        let ranges: Vec<std::ops::Range<usize>> = Module::from_words(words.clone())
            .map(|m| m.instructions().map(|i| i.at..i.at + i.words.len()).collect())
            .unwrap_or_default();
        if ranges.is_empty() {
            return;
        }
        let range = ranges[self.below(ranges.len())].clone();
        let other = ranges[self.below(ranges.len())].clone();
        let operand = range.start + 1 + self.below(range.len() - 1);
        let has_operands = range.len() > 1;
        match self.below(20) {
            0..=5 if has_operands => words[operand] = words[5 + self.below(words.len() - 5)],
            6..=8 if has_operands => words[operand] = self.below(words[3] as usize + 2) as u32,
            9 if has_operands => words[operand] ^= 1 << self.below(32),
            10 if has_operands => words[operand] = self.value(),
            11 => self.resize(words, range.start, range.end, true),
            12 if has_operands => self.resize(words, operand, range.start, false),
            13 => {
                words.drain(range);
            }
            14 => {
                let copy = words[range.clone()].to_vec();
                words.splice(range.end..range.end, copy);
            }
            15 | 16 => {
                let copy = words[range].to_vec();
                words.splice(other.start..other.start, copy);
            }
            17 if range.end <= other.start => {
                let (first, second) = (words[range.clone()].to_vec(), words[other.clone()].to_vec());
                words.splice(other, first);
                words.splice(range, second);
            }
            18 => words[range.start] = words[range.start] & 0xffff_0000 | words[other.start] & 0xffff,
            _ => words[range.start] = words[range.start] & 0xffff_0000 | self.below(420) as u32,
        }
    }

    fn value(&mut self) -> u32 {
        match self.below(4) {
            0 => self.below(64) as u32,
            1 => self.below(8192) as u32,
            2 => 1 << self.below(32),
            _ => self.next() as u32,
        }
    }

    /// Adds a word to an instruction, or takes one from it, and corrects its word count.
    fn resize(&mut self, words: &mut Vec<u32>, start: usize, end: usize, grow: bool) {
        if grow {
            let word = if self.below(2) == 0 { self.value() } else { words[5 + self.below(words.len() - 5)] };
            words.insert(end, word);
            words[start] = words[start].wrapping_add(1 << 16);
        } else {
            words.remove(start);
            words[end] = words[end].wrapping_sub(1 << 16);
        }
    }
}
