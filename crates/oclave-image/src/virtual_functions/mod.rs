//! What an image says of virtual functions: the sets that it provides, calls and creates, and the
//! tables from which the runtime makes the dispatchers.
//!
//! There is no vtable in memory. An object's vptr is a 64-bit number, the *code* of an address
//! point. A virtual call is a call of an imported dispatcher with the code of the slot. The runtime
//! generates the dispatchers for what it links: a switch from codes to the wrappers that set images
//! export.

mod cycles;
mod properties;
mod signature;

use std::collections::BTreeSet;
use std::fmt;

pub use cycles::find_cycle;
pub use signature::{CallSignature, CallType};

/// The set of `indirectly_callable` without a name, as in the specification, whose default argument
/// is `void`.
pub const DEFAULT_SET: &str = "void";

/// Version of names, codes and signatures. Images of different versions do not link.
pub const VIRTUAL_ABI: u32 = 2;

/// How deep virtual calls may nest that form a cycle, at most. The runtime makes a copy of the
/// functions for each level.
pub const MAX_VIRTUAL_CALL_DEPTH: u32 = 64;

/// How the names of imported dispatchers begin.
pub(crate) const DISPATCHER_PREFIX: &str = "__vfd_";

/// How the names of exported wrappers begin.
pub(crate) const WRAPPER_PREFIX: &str = "__vfw_";

/// The function that vcall and vbase offsets are asked of: `ulong __vfo_i64(ulong code)`.
pub const OFFSET_DISPATCHER: &str = "__vfo_i64";

/// What an image says of virtual functions. All of it empty for most images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VirtualFunctions {
    /// The set that the image provides the functions of; such an image has no kernels.
    pub provides: Option<String>,
    /// Whether the functions are empty, for devices that lack what the true ones need.
    pub dummy: bool,
    /// Sets that the kernels of the image call.
    pub calls: BTreeSet<String>,
    /// Sets with functions that objects may have which the image constructs.
    pub creates: BTreeSet<String>,
    /// The functions that the image exports, sorted by name.
    pub functions: Vec<VirtualFunction>,
    /// Slots of vtables, sorted by code.
    pub slots: Vec<VirtualSlot>,
    /// Offsets in vtables, sorted by code.
    pub offsets: Vec<VirtualOffset>,
    /// The dispatchers that the image imports, sorted by name. [`OFFSET_DISPATCHER`] is not among
    /// them.
    pub dispatchers: Vec<Dispatcher>,
    /// How deep virtual calls may nest that form a cycle, 1 to [`MAX_VIRTUAL_CALL_DEPTH`]; `None`
    /// where the program does not say.
    pub depth: Option<u32>,
}

/// A function that a set image provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualFunction {
    /// Its linkage name; where it has none, of an anonymous namespace, its name and a hash of the
    /// program.
    pub name: String,
    /// The code of its address, where the optimiser found out the function and no vtable is asked.
    pub code: u64,
    /// The name under which the image exports it: unique to function and image.
    pub wrapper: String,
    /// The signature of the wrapper.
    pub signature: CallSignature,
    /// The dispatchers that it calls, itself or through what it calls; sorted.
    pub calls: Vec<String>,
}

/// A slot of a vtable that holds a function. The function may be provided by another image, even of
/// another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualSlot {
    /// What a call of this slot passes to the dispatcher.
    pub code: u64,
    /// Name of the function as in [`VirtualFunction::name`].
    pub function: String,
    /// Number of the slot, from the address point; `None` where that is not known.
    pub slot: Option<u32>,
    /// The static types through which the slot may be called, sorted; empty where that is not
    /// known.
    pub classes: Vec<String>,
}

/// An offset in a vtable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualOffset {
    /// What [`OFFSET_DISPATCHER`] is asked with.
    pub code: u64,
    /// What it answers, in bytes.
    pub value: i64,
}

/// A dispatcher that an image imports: `result name(ulong code, parameters …)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatcher {
    /// The name under which it is imported; equal names are equal dispatchers.
    pub name: String,
    /// The signature of the call, the code not among the parameters.
    pub signature: CallSignature,
    /// Which slots may be called, where the call knows.
    pub key: SlotKey,
}

/// What a virtual call knows of its slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SlotKey {
    /// Number of the slot; where there is one, the code is a slot's and never a function's own.
    pub slot: Option<u32>,
    /// Static type of the object.
    pub class: Option<String>,
}

impl SlotKey {
    /// Whether a call that knows this may be a call of `slot`.
    pub fn admits(&self, slot: &VirtualSlot) -> bool {
        let number = self.slot.is_none() || slot.slot.is_none() || self.slot == slot.slot;
        let class =
            self.class.as_ref().is_none_or(|class| slot.classes.is_empty() || slot.classes.contains(class));
        number && class
    }
}

impl Dispatcher {
    /// The dispatcher for a signature and a key, with the name that all images give it.
    pub fn new(signature: CallSignature, key: SlotKey) -> Self {
        let mut name = format!("{DISPATCHER_PREFIX}{signature}");
        if let Some(slot) = key.slot {
            name += &format!("__s{slot}");
        }
        if let Some(class) = &key.class {
            name += &format!("__c{class}");
        }
        Self { name, signature, key }
    }
}

impl VirtualFunctions {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The names of sets in a list, in its order. Commas within brackets belong to a name (`list<int,
/// 4>`).
pub(crate) fn set_names(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    list.split(move |c| {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    })
    .map(str::trim)
    .filter(|name| !name.is_empty())
}

/// Sets as people read them.
pub(crate) struct Sets<'s>(pub(crate) &'s BTreeSet<String>);

impl fmt::Display for Sets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, set) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match set.as_str() {
                DEFAULT_SET => write!(f, "{comma}the default set")?,
                set => write!(f, "{comma}{set}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sets_are_split_at_outer_commas() {
        let split = |list| set_names(list).collect::<Vec<_>>();
        assert_eq!(split(" a, ns::b ,list<int, 4>,"), ["a", "ns::b", "list<int, 4>"]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("größe-1,void"), ["größe-1", "void"]);
    }

    #[test]
    fn a_key_admits_what_it_does_not_know_to_be_another() {
        let slot = |slot, classes: &[&str]| VirtualSlot {
            code: 0,
            function: "f".into(),
            slot,
            classes: classes.iter().map(|c| (*c).to_owned()).collect(),
        };
        let key = |slot, class: Option<&str>| SlotKey { slot, class: class.map(str::to_owned) };
        assert!(key(None, None).admits(&slot(Some(3), &["a"])));
        assert!(key(Some(3), None).admits(&slot(Some(3), &["a"])));
        assert!(key(Some(3), None).admits(&slot(None, &[])));
        assert!(!key(Some(2), None).admits(&slot(Some(3), &[])));
        assert!(key(Some(3), Some("a")).admits(&slot(Some(3), &["a", "b"])));
        assert!(key(Some(3), Some("a")).admits(&slot(Some(3), &[])));
        assert!(!key(Some(3), Some("c")).admits(&slot(Some(3), &["a", "b"])));
    }
}
