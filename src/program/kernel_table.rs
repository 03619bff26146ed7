//! Kernels that stay as they are, found without a lock: launches ask for them.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use super::map::KernelKey;
use super::spec::SpecValue;

/// Kernels by what launches name. None is ever taken out or exchanged, so a reference stays valid
/// as long as the table does.
///
/// It is a tree. Each node holds one kernel. The bits of the key's hash, four at a time, say which
/// path to go from the root.
#[derive(Debug)]
pub(super) struct KernelTable<K> {
    root: Link<K>,
}

type Link<K> = OnceLock<Box<Node<K>>>;

#[derive(Debug)]
struct Node<K> {
    key: KernelKey,
    specs: Box<[SpecValue]>,
    kernel: Arc<K>,
    below: [Link<K>; BRANCHES],
}

const BRANCHES: usize = 1 << BITS;
const BITS: u32 = 4;

impl<K> Default for KernelTable<K> {
    fn default() -> Self {
        Self { root: OnceLock::new() }
    }
}

impl<K> Node<K> {
    fn is(&self, key: KernelKey, specs: &[SpecValue]) -> bool {
        self.key == key && *self.specs == *specs
    }
}

impl<K> KernelTable<K> {
    #[inline]
    pub(super) fn get(&self, key: KernelKey, specs: &[SpecValue]) -> Option<&Arc<K>> {
        let mut path = Path::new(key, specs);
        let mut node = self.root.get()?;
        while !node.is(key, specs) {
            node = path.next(node).get()?;
        }
        Some(&node.kernel)
    }

    /// Adds a kernel. If another thread was first, its kernel stays.
    pub(super) fn insert(&self, key: KernelKey, specs: &[SpecValue], kernel: &Arc<K>) {
        let make = || {
            let (specs, kernel) = (specs.into(), Arc::clone(kernel));
            Box::new(Node { key, specs, kernel, below: Default::default() })
        };
        let mut path = Path::new(key, specs);
        let mut node = self.root.get_or_init(make);
        while !node.is(key, specs) {
            node = path.next(node).get_or_init(make);
        }
    }
}

/// The path from the root to a key.
struct Path(u64);

impl Path {
    #[inline]
    fn new(key: KernelKey, specs: &[SpecValue]) -> Self {
        let mut hasher = KeyHasher::default();
        key.hash(&mut hasher);
        // Most launches have none.
        if !specs.is_empty() {
            specs.hash(&mut hasher);
        }
        Self(hasher.finish())
    }

    #[inline]
    fn next<'n, K>(&mut self, node: &'n Node<K>) -> &'n Link<K> {
        let [first, ..] = &node.below;
        let link = node.below.get(self.0 as usize % BRANCHES).unwrap_or(first);
        self.0 = self.0.rotate_right(BITS);
        link
    }
}

/// Hashes addresses, small numbers and values, which nobody chooses to collide.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, value: usize) {
        // Multiplication by an odd number carries low bits up; `finish` brings high bits down.
        self.0 = (self.0.rotate_left(5) ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> KernelKey {
        // As addresses of statics lie.
        KernelKey { kernel: 0x5555_0000 + 24 * (number / 2), device: number % 2 }
    }

    fn specs(number: usize) -> Vec<SpecValue> {
        (0..number % 3).map(|id| SpecValue::new(id as u32, number as u32)).collect()
    }

    #[test]
    fn what_was_added_is_found() {
        let table = KernelTable::default();
        for number in 0..3000 {
            assert_eq!(table.get(key(number), &specs(number)), None);
            table.insert(key(number), &specs(number), &Arc::new(number));
        }
        for number in 0..3000 {
            assert_eq!(table.get(key(number), &specs(number)).map(|found| **found), Some(number));
        }
        assert_eq!(table.get(key(3000), &[]), None);
        assert_eq!(table.get(key(1), &specs(2)), None);
    }

    #[test]
    fn one_kernel_may_have_many_specializations() {
        let table = KernelTable::default();
        let value = |number: usize| [SpecValue::new(0, number as u32)];
        (0..1000).for_each(|number| table.insert(key(0), &value(number), &Arc::new(number)));
        let found = |number| table.get(key(0), &value(number)).map(|found| **found);
        assert!((0..1000).all(|number| found(number) == Some(number)));
    }

    #[test]
    fn of_several_threads_the_first_counts_for_all() {
        let table = KernelTable::default();
        let run = |thread: usize| {
            let add = |number| {
                table.insert(key(number), &specs(number), &Arc::new((thread, number)));
                table.get(key(number), &specs(number)).map(|found| **found)
            };
            (0..1000).map(add).collect::<Vec<_>>()
        };
        let seen = std::thread::scope(|scope| {
            let threads = [0, 1, 2, 3].map(|thread| scope.spawn(move || run(thread)));
            threads.map(|thread| thread.join().unwrap_or_default())
        });
        for (number, found) in seen[0].iter().enumerate() {
            assert_eq!(found.map(|(_, number)| number), Some(number));
        }
        assert!(seen.iter().all(|other| *other == seen[0]));
    }
}
