//! Which function each code of each dispatcher leads to.

use std::collections::{BTreeMap, BTreeSet};

use crate::virtual_functions::{Dispatcher, VirtualFunction};
use crate::{ImageError, Result, VirtualFunctions};

/// How deep virtual calls that form a cycle may nest where no image says.
pub const DEFAULT_DEPTH: u32 = 8;

/// What the dispatchers of a program lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchPlan {
    pub(super) tables: Vec<Table>,
    /// Code → offset in bytes.
    pub(super) offsets: BTreeMap<u64, i64>,
    levels: Option<u32>,
}

/// A dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) dispatcher: Dispatcher,
    /// Code → wrapper.
    pub(super) cases: BTreeMap<u64, String>,
}

/// A function that is linked, and the image that provides it.
#[derive(Debug, Clone, Copy)]
struct Provided<'a> {
    function: &'a VirtualFunction,
    image: &'a str,
}

impl DispatchPlan {
    /// `sets` are the images of the called sets with their names; where several provide one
    /// function, the first does. Slots and offsets are those of `known`.
    ///
    /// # Errors
    /// [`ImageError::Link`] where one code would lead to two functions.
    pub fn new(
        kernels: &VirtualFunctions,
        sets: &[(&str, VirtualFunctions)],
        known: &[&VirtualFunctions],
    ) -> Result<Self> {
        let mut provided: BTreeMap<&str, Provided<'_>> = BTreeMap::new();
        for (image, set) in sets {
            for function in &set.functions {
                provided.entry(&function.name).or_insert(Provided { function, image });
            }
        }
        let imported = [kernels].into_iter().chain(sets.iter().map(|(_, set)| set));
        let dispatchers: BTreeMap<&str, &Dispatcher> =
            imported.flat_map(|image| &image.dispatchers).map(|d| (d.name.as_str(), d)).collect();
        let mut tables = Vec::new();
        for dispatcher in dispatchers.values() {
            tables.push(table(dispatcher, &provided, known)?);
        }
        let cyclic = is_cyclic(kernels, &tables);
        let depths = [kernels].into_iter().chain(sets.iter().map(|(_, set)| set));
        let depth = depths.filter_map(|image| image.depth).max().unwrap_or(DEFAULT_DEPTH);
        Ok(Self {
            tables: tables.into_iter().map(|(table, _)| table).collect(),
            offsets: offsets(known)?,
            levels: cyclic.then_some(depth),
        })
    }

    /// How many copies of each set are linked, one for each level of nested calls.
    ///
    /// `None` if no calls form a cycle: each set is linked once then.
    pub fn levels(&self) -> Option<u32> {
        self.levels
    }

    /// How many codes a dispatcher knows; `None` where it is not needed.
    pub fn codes_of(&self, dispatcher: &str) -> Option<usize> {
        self.tables.iter().find(|table| table.dispatcher.name == dispatcher).map(|table| table.cases.len())
    }
}

/// The table of a dispatcher, and the dispatchers that its functions call.
fn table<'a>(
    dispatcher: &Dispatcher,
    provided: &BTreeMap<&'a str, Provided<'a>>,
    known: &[&'a VirtualFunctions],
) -> Result<(Table, BTreeSet<&'a str>)> {
    let mut cases: BTreeMap<u64, Provided<'a>> = BTreeMap::new();
    let mut insert = |code: u64, to: Provided<'a>| match cases.insert(code, to) {
        Some(other) if other.function.name != to.function.name => Err(ImageError::Link(format!(
            "functions `{}` (image `{}`) and `{}` (image `{}`) have the same code {code:016x}; give one of the classes \
             another name",
            other.function.name, other.image, to.function.name, to.image
        ))),
        _ => Ok(()),
    };
    // Function → whether a slot of it is admitted.
    let mut slots: BTreeMap<&str, bool> = BTreeMap::new();
    for slot in known.iter().flat_map(|image| &image.slots) {
        let admitted = dispatcher.key.admits(slot);
        *slots.entry(&slot.function).or_default() |= admitted;
        let function = provided.get(slot.function.as_str());
        if let Some(&to) = function.filter(|to| admitted && to.function.signature == dispatcher.signature) {
            insert(slot.code, to)?;
        }
    }
    // Calls that know their slot loaded the code from an object: it is a slot's.
    for (name, &to) in provided.iter().filter(|_| dispatcher.key.slot.is_none()) {
        if to.function.signature == dispatcher.signature && slots.get(name).copied().unwrap_or(true) {
            insert(to.function.code, to)?;
        }
    }
    let calls = cases.values().flat_map(|to| to.function.calls.iter().map(String::as_str)).collect();
    let cases = cases.into_iter().map(|(code, to)| (code, to.function.wrapper.clone())).collect();
    Ok((Table { dispatcher: dispatcher.clone(), cases }, calls))
}

/// Whether a dispatcher that kernels reach leads to a function that reaches the same dispatcher.
fn is_cyclic(kernels: &VirtualFunctions, tables: &[(Table, BTreeSet<&str>)]) -> bool {
    let calls: BTreeMap<&str, &BTreeSet<&str>> =
        tables.iter().map(|(table, calls)| (table.dispatcher.name.as_str(), calls)).collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for root in &kernels.dispatchers {
        // A depth-first walk; what is open lies on the path from the root.
        let mut open: BTreeSet<&str> = BTreeSet::new();
        let mut stack = vec![(root.name.as_str(), false)];
        while let Some((name, leaving)) = stack.pop() {
            if leaving {
                open.remove(name);
                done.insert(name);
                continue;
            }
            if open.contains(name) {
                return true;
            }
            if done.contains(name) {
                continue;
            }
            open.insert(name);
            stack.push((name, true));
            stack.extend(
                calls.get(name).into_iter().flat_map(|names| names.iter()).map(|next| (*next, false)),
            );
        }
    }
    false
}

fn offsets(known: &[&VirtualFunctions]) -> Result<BTreeMap<u64, i64>> {
    let mut offsets = BTreeMap::new();
    for offset in known.iter().flat_map(|image| &image.offsets) {
        let before = offsets.insert(offset.code, offset.value);
        if before.is_some_and(|value| value != offset.value) {
            return Err(ImageError::Link(format!(
                "two classes have different offsets under the code {:016x}; give one of them another name",
                offset.code
            )));
        }
    }
    Ok(offsets)
}
