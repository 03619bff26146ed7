//! A map from ids that costs one index where ids are dense, and never more memory than the module
//! warrants.

use std::collections::HashMap;

use super::module::Module;

/// Values of ids, with a default for the ids that have none.
///
/// The id bound is only a number in the header: a module of ten words may declare four million ids.
/// The map is an array as long as the bound is in proportion to the module's words, else a hash
/// map.
#[derive(Debug, Clone)]
pub struct IdMap<T> {
    values: Values<T>,
    default: T,
}

#[derive(Debug, Clone)]
enum Values<T> {
    Dense(Vec<T>),
    Sparse(HashMap<u32, T>),
}

impl<T: Copy> IdMap<T> {
    /// A map for the ids of `module`, all of them at `default`.
    pub fn new(module: &Module, default: T) -> Self {
        Self::with_bound(module.id_bound(), module.words().len(), default)
    }

    /// A map for ids below `bound` of a module of `words` words.
    pub fn with_bound(bound: u32, words: usize, default: T) -> Self {
        let values = match usize::try_from(bound) {
            Ok(bound) if bound <= words.saturating_mul(2).saturating_add(1024) => {
                Values::Dense(vec![default; bound])
            }
            _ => Values::Sparse(HashMap::new()),
        };
        Self { values, default }
    }

    /// The value of `id`; the default where none was inserted or `id` is out of bounds.
    #[inline]
    pub fn value(&self, id: u32) -> T {
        match &self.values {
            Values::Dense(values) => values.get(id as usize).copied().unwrap_or(self.default),
            Values::Sparse(values) => values.get(&id).copied().unwrap_or(self.default),
        }
    }

    /// Sets the value of `id` and returns the one before. An id that is not below the bound is
    /// ignored in an array.
    #[inline]
    pub fn insert(&mut self, id: u32, value: T) -> T {
        match &mut self.values {
            Values::Dense(values) => match values.get_mut(id as usize) {
                Some(place) => std::mem::replace(place, value),
                None => self.default,
            },
            Values::Sparse(values) => values.insert(id, value).unwrap_or(self.default),
        }
    }
}
