//! What images tell of virtual functions, and what they export for it.

use std::collections::{BTreeMap, BTreeSet};

use super::demangle::readable;
use super::lower::Lowered;
use super::wrappers::Callable;
use crate::analysis::aspects::FunctionAspects;
use crate::virtual_functions::{
    CallType, Dispatcher, Sets, VirtualFunction, VirtualFunctions, VirtualOffset, VirtualSlot, find_cycle,
};
use crate::{Aspects, ImageError, KernelSignature, Result};
use oclave_spirv::analysis::references::References;

/// What is reachable from an entry point or a wrapper, as far as virtual functions are concerned.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    dispatchers: BTreeSet<u32>,
    creates: BTreeSet<String>,
}

/// A set on its way to be an image.
#[derive(Debug)]
pub(crate) struct SetFacts<'l> {
    pub(crate) callables: Vec<&'l Callable>,
    /// Everything that the functions reach.
    pub(crate) reached: BTreeSet<u32>,
    /// Union of what the functions need.
    pub(crate) aspects: Aspects,
}

/// A lowered module, and who reaches what in it.
#[derive(Debug)]
pub(crate) struct Virtual<'l> {
    lowered: &'l Lowered,
    kernels: BTreeMap<String, Reach>,
    wrappers: BTreeMap<u32, Reach>,
    pub(crate) sets: BTreeMap<String, SetFacts<'l>>,
    /// Function → its sets.
    sets_of: BTreeMap<&'l str, BTreeSet<&'l str>>,
}

impl<'l> Virtual<'l> {
    pub(crate) fn new(lowered: &'l Lowered, references: &References<'_>, aspects: &FunctionAspects) -> Self {
        let mut sets_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for callable in &lowered.callables {
            sets_of.entry(&callable.name).or_default().insert(&callable.set);
        }
        let mut all = Self {
            lowered,
            kernels: BTreeMap::new(),
            wrappers: BTreeMap::new(),
            sets: BTreeMap::new(),
            sets_of,
        };
        for entry in references.entry_points() {
            let reach = all.reach(&references.reachable(entry.function));
            all.kernels.insert(entry.name.clone(), reach);
        }
        for callable in &lowered.callables {
            let reached = references.reachable(callable.wrapper);
            all.wrappers.insert(callable.wrapper, all.reach(&reached));
            let set = all.sets.entry(callable.set.clone()).or_insert_with(|| SetFacts {
                callables: Vec::new(),
                reached: BTreeSet::new(),
                aspects: Aspects::empty(),
            });
            set.callables.push(callable);
            set.aspects |= aspects.of(&reached);
            set.reached.extend(reached);
        }
        all
    }

    fn reach(&self, reached: &BTreeSet<u32>) -> Reach {
        let tables: BTreeSet<u64> =
            reached.iter().filter_map(|id| self.lowered.codes.get(id)).map(|code| code & !0xffff).collect();
        let functions = tables.iter().filter_map(|base| self.lowered.vtables.get(base)).flatten();
        let creates = functions.filter_map(|name| self.sets_of.get(name.as_str())).flatten();
        Reach {
            dispatchers: reached
                .iter()
                .filter(|id| self.lowered.dispatchers.contains_key(id))
                .copied()
                .collect(),
            creates: creates.map(|set| (*set).to_owned()).collect(),
        }
    }

    /// Adds to kernels what the sets need that they call, and checks that those that call say so.
    ///
    /// # Errors
    /// [`ImageError::Diagnostic`] for a kernel that makes virtual calls and has no marker.
    pub(crate) fn complete_kernels(
        &self,
        kernels: &mut [KernelSignature],
        references: &References<'_>,
    ) -> Result<()> {
        for kernel in kernels {
            match self.lowered.calls.get(&kernel.name) {
                Some(marker) => {
                    let called = marker.sets.iter().filter_map(|set| self.sets.get(set));
                    kernel.aspects = called.fold(kernel.aspects, |all, set| all | set.aspects);
                }
                None if self.kernels.get(&kernel.name).is_some_and(|reach| !reach.dispatchers.is_empty()) => {
                    return Err(self.unmarked(&kernel.name, references));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn unmarked(&self, kernel: &str, references: &References<'_>) -> ImageError {
        let entry = references.entry_points().iter().find(|entry| entry.name == kernel);
        let caller = entry.and_then(|entry| {
            let reached = references.reachable(entry.function);
            reached
                .into_iter()
                .find(|id| references.direct(*id).iter().any(|f| self.lowered.dispatchers.contains_key(f)))
        });
        let name = caller.and_then(|id| references.module().names().find(|(named, _)| *named == id));
        let caller = match name {
            Some((_, name)) if name != kernel => format!(" (in function `{}`)", readable(&name)),
            _ => String::new(),
        };
        let sets: BTreeSet<String> = self.sets.keys().cloned().collect();
        ImageError::Diagnostic(format!(
            "kernel `{kernel}` makes virtual calls{caller}, but does not say of which sets; mark it \
             CALLS_INDIRECTLY(sets…). The program has {}",
            if sets.is_empty() { "no set".to_owned() } else { Sets(&sets).to_string() }
        ))
    }

    /// What the image of some kernels tells. Of a program without sets the kernels images have the
    /// tables.
    pub(crate) fn of_kernels<'k>(
        &self,
        kernels: impl Iterator<Item = &'k String>,
        default_depth: Option<u32>,
    ) -> VirtualFunctions {
        let mut image = VirtualFunctions::default();
        let mut dispatchers = BTreeSet::new();
        for kernel in kernels {
            if let Some(marker) = self.lowered.calls.get(kernel) {
                image.calls.extend(marker.sets.iter().cloned());
                image.depth = image.depth.max(marker.depth);
            }
            if let Some(reach) = self.kernels.get(kernel) {
                image.creates.extend(reach.creates.iter().cloned());
                dispatchers.extend(&reach.dispatchers);
            }
        }
        image.dispatchers = self.dispatchers(dispatchers);
        if self.sets.is_empty() {
            image.slots = self.foreign_slots().cloned().collect();
            image.offsets = self.offsets();
        }
        if !image.calls.is_empty() {
            image.depth = image.depth.or(default_depth);
        }
        image
    }

    /// How deep the virtual calls of kernels nest that say so, or that may come back to where they
    /// were.
    pub(crate) fn depths(&self, default_depth: Option<u32>) -> BTreeMap<String, u32> {
        let said: Vec<(&String, Option<u32>)> =
            self.lowered.calls.iter().map(|(kernel, marker)| (kernel, marker.depth)).collect();
        let Some(most) = said.iter().filter_map(|(_, depth)| *depth).max().or(default_depth) else {
            return BTreeMap::new();
        };
        let sets: BTreeMap<&String, VirtualFunctions> =
            self.sets.keys().map(|set| (set, self.of_set(set, false))).collect();
        let slots: Vec<VirtualSlot> = sets.values().flat_map(|set| set.slots.iter().cloned()).collect();
        let nests = |kernel: &String| {
            let told = self.of_kernels(std::iter::once(kernel), None);
            let called: Vec<&VirtualFunctions> = told.calls.iter().filter_map(|set| sets.get(set)).collect();
            find_cycle(&told, &called, &slots).is_some()
        };
        let depth = |(kernel, depth): (&String, Option<u32>)| {
            let depth = depth.or_else(|| nests(kernel).then(|| default_depth.unwrap_or(most)));
            depth.map(|depth| (kernel.clone(), depth))
        };
        said.into_iter().filter_map(depth).collect()
    }

    /// What the image of a set tells; of a dummy if `dummy`.
    pub(crate) fn of_set(&self, set: &str, dummy: bool) -> VirtualFunctions {
        let Some(facts) = self.sets.get(set) else { return VirtualFunctions::default() };
        let mut image =
            VirtualFunctions { provides: Some(set.to_owned()), dummy, ..VirtualFunctions::default() };
        let mut dispatchers = BTreeSet::new();
        for callable in facts.callables.iter().filter(|callable| !dummy || is_plain(callable)) {
            let reach = self.wrappers.get(&callable.wrapper).filter(|_| !dummy);
            if let Some(reach) = reach {
                image.creates.extend(reach.creates.iter().cloned());
                dispatchers.extend(reach.dispatchers.iter().copied());
            }
            image.functions.push(VirtualFunction {
                name: callable.name.clone(),
                code: callable.code,
                wrapper: callable.export.clone(),
                signature: callable.signature.clone(),
                calls: reach
                    .map(|r| self.dispatchers(r.dispatchers.iter().copied()))
                    .into_iter()
                    .flatten()
                    .map(|d| d.name)
                    .collect(),
            });
        }
        image.functions.sort_by(|a, b| a.name.cmp(&b.name));
        image.dispatchers = self.dispatchers(dispatchers);
        let of_set: BTreeSet<&str> = facts.callables.iter().map(|callable| callable.name.as_str()).collect();
        let mut slots: Vec<VirtualSlot> = self
            .lowered
            .slots
            .iter()
            .filter(|slot| of_set.contains(slot.function.as_str()))
            .cloned()
            .collect();
        slots.extend(self.foreign_slots().cloned());
        slots.sort_by_key(|slot| slot.code);
        image.slots = slots;
        image.offsets = self.offsets();
        image
    }

    fn dispatchers(&self, ids: impl IntoIterator<Item = u32>) -> Vec<Dispatcher> {
        let found = ids.into_iter().filter_map(|id| self.lowered.dispatchers.get(&id));
        let sorted: BTreeMap<&str, &Dispatcher> = found.map(|d| (d.name.as_str(), d)).collect();
        sorted.into_values().cloned().collect()
    }

    /// Slots whose functions the program does not define.
    fn foreign_slots(&self) -> impl Iterator<Item = &VirtualSlot> {
        self.lowered.slots.iter().filter(|slot| !self.sets_of.contains_key(slot.function.as_str()))
    }

    fn offsets(&self) -> Vec<VirtualOffset> {
        self.lowered.offsets.clone()
    }

    /// The sets that kernels call and that must be of this program.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (&String, &String)> {
        self.lowered.calls.iter().flat_map(|(kernel, marker)| {
            marker.sets.difference(&marker.external).map(move |set| (kernel, set))
        })
    }
}

/// Whether a dummy can have the function: a device that lacks what a type needs can have neither it
/// nor its callers.
pub(crate) fn is_plain(callable: &Callable) -> bool {
    let plain = |ty: &CallType| !matches!(ty, CallType::Float(16 | 64) | CallType::FloatVector(_, 16 | 64));
    let signature = &callable.signature;
    plain(&signature.result) && signature.parameters.iter().all(plain)
}
