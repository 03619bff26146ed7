//! Virtual functions as property sets.
//!
//! | property set | property → value | images that have it |
//! |---|---|---|
//! | `SYCL/virtual functions` | as in the specification; commas within brackets belong to a name, the default set is `void` | all that provide, call or create a set |
//! | `oclave/virtual calls` | `abi` → version of codes and names; `depth` → how deep calls may nest in a cycle | all of these |
//! | `oclave/virtual functions` | function → `code wrapper signature calls` | set images and dummies: what they export |
//! | `oclave/virtual slots` | code → `function slot classes` | images that define vtables with functions of a set |
//! | `oclave/virtual offsets` | code → bytes | the same images |
//! | `oclave/virtual dispatchers` | name → `signature slot class` | images that import dispatchers |
//!
//! Values of the tables are text. Single spaces separate the fields, and `-` stands for a missing
//! one.
//!
//! # What a dispatcher answers
//! A dispatcher must answer the codes of slots in all known images. These are the slots that its
//! key admits (`SlotKey::admits`), and whose function a linked set image provides with the same
//! signature. A dispatcher without a slot also answers the codes of these functions themselves.
//! Everything else is a fault. Several images may provide equal functions; one of them is called.
//! Two different functions with one code are an error.
//!
//! # Recursion
//! Where the dispatchers that linked functions call form a cycle, the set images are linked once
//! for each level. Level 0 exports `wrapper`, level *n* exports `wrapper__d<n>` and imports
//! `dispatcher__d<n+1>`. The dispatchers of the last level know no function.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::{
    CallSignature, Dispatcher, MAX_VIRTUAL_CALL_DEPTH, SlotKey, VIRTUAL_ABI, VirtualFunction,
    VirtualFunctions, VirtualOffset, VirtualSlot, set_names,
};
use crate::{
    DeviceImage, ImageError, PropertyValue, Result, VIRTUAL_CALLS, VIRTUAL_DISPATCHERS,
    VIRTUAL_FUNCTION_TABLE, VIRTUAL_FUNCTIONS, VIRTUAL_OFFSETS, VIRTUAL_SLOTS,
};

const SET: &str = "virtual-functions-set";
const DUMMY: &str = "dummy-image";
const CALLS: &str = "calls-virtual-functions-set";
const CREATES: &str = "creates-virtual-functions-set";
const ABI: &str = "abi";
const DEPTH: &str = "depth";

const ALL_SETS: [&str; 6] = [
    VIRTUAL_FUNCTIONS,
    VIRTUAL_CALLS,
    VIRTUAL_FUNCTION_TABLE,
    VIRTUAL_SLOTS,
    VIRTUAL_OFFSETS,
    VIRTUAL_DISPATCHERS,
];

impl DeviceImage {
    /// What the image says of virtual functions; nothing for an image without such properties.
    ///
    /// # Errors
    /// [`ImageError::Property`] where a property has the wrong shape, or was written by another
    /// version.
    pub fn virtual_functions(&self) -> Result<VirtualFunctions> {
        let sets = &self.properties;
        if ALL_SETS.iter().all(|set| sets.set(set).next().is_none()) {
            return Ok(VirtualFunctions::default());
        }
        match self.number(VIRTUAL_CALLS, ABI)? {
            Some(VIRTUAL_ABI) => {}
            found => {
                let found = found.map_or_else(|| "none".to_owned(), |abi| abi.to_string());
                let what = format!(
                    "image \"{}\" has version {found} of virtual functions, this library has {VIRTUAL_ABI}; rebuild \
                     the image",
                    self.name
                );
                return Err(wrong(VIRTUAL_CALLS, ABI, what));
            }
        }
        let dummy = match self.number(VIRTUAL_FUNCTIONS, DUMMY)? {
            None | Some(0) => false,
            Some(1) => true,
            Some(n) => return Err(wrong(VIRTUAL_FUNCTIONS, DUMMY, format!("{n} is neither 0 nor 1"))),
        };
        let list = |property| -> Result<BTreeSet<String>> {
            let text = self.text(VIRTUAL_FUNCTIONS, property)?.unwrap_or_default();
            Ok(set_names(text).map(str::to_owned).collect())
        };
        let provides = self.text(VIRTUAL_FUNCTIONS, SET)?.map(str::to_owned);
        if provides.as_ref().is_some_and(String::is_empty) {
            return Err(wrong(VIRTUAL_FUNCTIONS, SET, "the set has no name".to_owned()));
        }
        if dummy && provides.is_none() {
            return Err(wrong(VIRTUAL_FUNCTIONS, DUMMY, "a dummy of no set".to_owned()));
        }
        let depth = self.number(VIRTUAL_CALLS, DEPTH)?;
        if let Some(depth) = depth.filter(|depth| !(1..=MAX_VIRTUAL_CALL_DEPTH).contains(depth)) {
            let what = format!("virtual calls nest 1 to {MAX_VIRTUAL_CALL_DEPTH} deep, not depth {depth}");
            return Err(wrong(VIRTUAL_CALLS, DEPTH, what));
        }
        Ok(VirtualFunctions {
            provides,
            dummy,
            calls: list(CALLS)?,
            creates: list(CREATES)?,
            functions: self.table(VIRTUAL_FUNCTION_TABLE, function)?,
            slots: self.table(VIRTUAL_SLOTS, slot)?,
            offsets: self.table(VIRTUAL_OFFSETS, offset)?,
            dispatchers: self.table(VIRTUAL_DISPATCHERS, dispatcher)?,
            depth,
        })
    }

    /// Replaces what the image says of virtual functions.
    ///
    /// Names must have no spaces, and of two functions, slots, offsets or dispatchers of one name
    /// or code only the last stays.
    pub fn set_virtual_functions(&mut self, virtual_functions: &VirtualFunctions) {
        let old: Vec<(&str, String)> = ALL_SETS
            .into_iter()
            .flat_map(|set| self.properties.set(set).map(move |(name, _)| (set, name.to_owned())))
            .collect();
        old.iter().for_each(|(set, name)| self.properties.remove(set, name));
        if virtual_functions.is_empty() {
            return;
        }
        let number = PropertyValue::U32;
        let text = |text: String| PropertyValue::Bytes(text.into_bytes());
        let mut put = |set: &str, name: &str, value| self.properties.insert(set, name, value);
        let all = virtual_functions;
        put(VIRTUAL_CALLS, ABI, number(VIRTUAL_ABI));
        if let Some(depth) = all.depth {
            put(VIRTUAL_CALLS, DEPTH, number(depth));
        }
        if let Some(set) = &all.provides {
            put(VIRTUAL_FUNCTIONS, SET, text(set.clone()));
        }
        if all.dummy {
            put(VIRTUAL_FUNCTIONS, DUMMY, number(1));
        }
        for (name, sets) in [(CALLS, &all.calls), (CREATES, &all.creates)] {
            if !sets.is_empty() {
                let list: Vec<&str> = sets.iter().map(String::as_str).collect();
                put(VIRTUAL_FUNCTIONS, name, text(list.join(",")));
            }
        }
        for function in &all.functions {
            let VirtualFunction { name, code, wrapper, signature, calls } = function;
            let calls = or_dash(&calls.join(","));
            put(VIRTUAL_FUNCTION_TABLE, name, text(format!("{code:016x} {wrapper} {signature} {calls}")));
        }
        for VirtualSlot { code, function, slot, classes } in &all.slots {
            let classes = or_dash(&classes.join(","));
            put(
                VIRTUAL_SLOTS,
                &format!("{code:016x}"),
                text(format!("{function} {} {classes}", number_or_dash(*slot))),
            );
        }
        for VirtualOffset { code, value } in &all.offsets {
            put(VIRTUAL_OFFSETS, &format!("{code:016x}"), text(value.to_string()));
        }
        for Dispatcher { name, signature, key } in &all.dispatchers {
            let class = key.class.as_deref().unwrap_or("-");
            put(VIRTUAL_DISPATCHERS, name, text(format!("{signature} {} {class}", number_or_dash(key.slot))));
        }
    }

    fn number(&self, set: &str, property: &str) -> Result<Option<u32>> {
        match self.properties.value(set, property) {
            None => Ok(None),
            Some(PropertyValue::U32(number)) => Ok(Some(*number)),
            Some(PropertyValue::Bytes(_)) => {
                Err(wrong(set, property, "bytes where a u32 is wanted".to_owned()))
            }
        }
    }

    fn text(&self, set: &str, property: &str) -> Result<Option<&str>> {
        match self.properties.value(set, property) {
            None => Ok(None),
            Some(value) => text(set, property, value).map(Some),
        }
    }

    fn table<T>(&self, set: &str, read: fn(&str, &str) -> Result<T, String>) -> Result<Vec<T>> {
        let row = |(name, value)| read(name, text(set, name, value)?).map_err(|what| wrong(set, name, what));
        self.properties.set(set).map(row).collect()
    }
}

fn text<'v>(set: &str, property: &str, value: &'v PropertyValue) -> Result<&'v str> {
    match value {
        PropertyValue::Bytes(bytes) => {
            std::str::from_utf8(bytes).map_err(|_| wrong(set, property, "the text is not UTF-8".to_owned()))
        }
        PropertyValue::U32(_) => Err(wrong(set, property, "a u32 where text is wanted".to_owned())),
    }
}

fn function(name: &str, row: &str) -> Result<VirtualFunction, String> {
    let [code, wrapper, signature, calls] = fields(row, "code wrapper signature calls")?;
    Ok(VirtualFunction {
        name: name.to_owned(),
        code: code_of(code)?,
        wrapper: wrapper.to_owned(),
        signature: CallSignature::from_str(signature)?,
        calls: list(calls),
    })
}

fn slot(name: &str, row: &str) -> Result<VirtualSlot, String> {
    let [function, slot, classes] = fields(row, "function slot classes")?;
    Ok(VirtualSlot {
        code: code_of(name)?,
        function: function.to_owned(),
        slot: slot_number(slot)?,
        classes: list(classes),
    })
}

fn offset(name: &str, row: &str) -> Result<VirtualOffset, String> {
    let value = row.parse().map_err(|_| format!("\"{row}\" is no offset"))?;
    Ok(VirtualOffset { code: code_of(name)?, value })
}

fn dispatcher(name: &str, row: &str) -> Result<Dispatcher, String> {
    let [signature, slot, class] = fields(row, "signature slot class")?;
    let class = Some(class).filter(|class| *class != "-").map(str::to_owned);
    Ok(Dispatcher {
        name: name.to_owned(),
        signature: CallSignature::from_str(signature)?,
        key: SlotKey { slot: slot_number(slot)?, class },
    })
}

fn fields<'r, const N: usize>(row: &'r str, names: &str) -> Result<[&'r str; N], String> {
    let fields: Vec<&str> = row.split(' ').filter(|field| !field.is_empty()).collect();
    fields.try_into().map_err(|_| format!("\"{row}\" is not of the form \"{names}\""))
}

fn code_of(text: &str) -> Result<u64, String> {
    let digits = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let code = if digits { u64::from_str_radix(text, 16).ok() } else { None };
    code.ok_or_else(|| format!("\"{text}\" is no code of 16 hexadecimal digits"))
}

fn slot_number(text: &str) -> Result<Option<u32>, String> {
    match text {
        "-" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| format!("\"{text}\" is no number of a slot")),
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|item| *item != "-").map(str::to_owned).collect()
}

fn number_or_dash(number: Option<u32>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn wrong(set: &str, property: &str, what: String) -> ImageError {
    ImageError::Property { set: set.to_owned(), property: property.to_owned(), what }
}
