//! A device image as text for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use crate::virtual_functions::Sets;
use crate::{
    Access, AddressSpace, DeviceImage, FORMAT_VERSION, HostAccess, InitMode, InitialAddress, KernelSignature,
    Parameter, ParameterKind, PropertyValue, Side, StructType, ValueType, VirtualOffset, VirtualSlot,
};
use oclave_spirv::Module;

/// How many bytes of a value are shown.
const SHOWN_BYTES: usize = 32;

impl DeviceImage {
    /// The image as text: module, requirements, kernels, structs, device globals, specialization
    /// constants, property sets. For people; the form may change.
    /// [`disassemble`](crate::disassemble) shows the module's instructions.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_dump(&mut text);
        text
    }

    fn write_dump(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "device image \"{}\", format {FORMAT_VERSION}", self.name)?;
        match Module::from_words(self.spirv.clone()) {
            Ok(module) => writeln!(
                out,
                "SPIR-V {}, {} bytes, id bound {}",
                module.version(),
                self.spirv.len() * 4,
                module.id_bound()
            )?,
            Err(error) => writeln!(out, "SPIR-V, {} bytes: {error}", self.spirv.len() * 4)?,
        }
        match self.requirements() {
            Ok(requirements) if requirements.aspects.is_empty() => writeln!(out, "aspects: none")?,
            Ok(requirements) => writeln!(out, "aspects: {}", requirements.aspects)?,
            Err(error) => writeln!(out, "aspects: {error}")?,
        }
        match self.side() {
            Ok(None) => {}
            Ok(Some(Side::Device)) => writeln!(out, "side: devices")?,
            Ok(Some(Side::Host)) => writeln!(out, "side: host")?,
            Err(error) => writeln!(out, "side: {error}")?,
        }
        match self.without_fp64() {
            Ok(None) => {}
            Ok(Some(form)) => {
                let names: Vec<&str> = form.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                writeln!(out, "also for devices without fp64: {}", names.join(", "))?;
            }
            Err(error) => writeln!(out, "for devices without fp64: {error}")?,
        }
        self.write_kernels(out)?;
        self.write_device_globals(out)?;
        self.write_spec_constants(out)?;
        self.write_virtual_functions(out)?;
        self.write_property_sets(out)
    }

    fn write_kernels(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\nkernels: {}", self.kernels.len())?;
        let mut structs = BTreeMap::new();
        for kernel in &self.kernels {
            writeln!(out, "  {kernel}")?;
            if !kernel.aspects.is_empty() {
                writeln!(out, "    aspects: {}", kernel.aspects)?;
            }
            if let Some([x, y, z]) = kernel.required_work_group_size {
                writeln!(out, "    required work-group size: {x} x {y} x {z}")?;
            }
            if !kernel.uniform_work_groups {
                writeln!(out, "    work-groups of several sizes")?;
            }
            if let Some(size) = kernel.required_sub_group_size {
                writeln!(out, "    required sub-group size: {size}")?;
            }
            if !kernel.device_globals.is_empty() {
                writeln!(out, "    device globals: {}", kernel.device_globals.join(", "))?;
            }
            for parameter in &kernel.parameters {
                if let Some(ty) = parameter.value_type() {
                    collect_structs(ty, &mut structs);
                }
            }
        }
        if !structs.is_empty() {
            writeln!(out, "\nstructs: {}", structs.len())?;
        }
        for ty in structs.values() {
            writeln!(out, "  struct {}: {} bytes, aligned to {}", ty.name, ty.size_bytes, ty.align_bytes)?;
            for field in &ty.fields {
                writeln!(out, "    {:>4}  {}", field.offset_bytes, Declared(&field.ty, "", &field.name))?;
            }
        }
        Ok(())
    }

    fn write_device_globals(&self, out: &mut String) -> fmt::Result {
        let globals = match self.device_globals() {
            Ok(globals) if globals.is_empty() => return Ok(()),
            Ok(globals) => globals,
            Err(error) => return writeln!(out, "\ndevice globals: {error}"),
        };
        writeln!(out, "\ndevice globals: {}", globals.len())?;
        for global in globals {
            let scope = if global.device_image_scope { "image scope" } else { "shared" };
            let access = match global.host_access {
                HostAccess::Read => "host reads",
                HostAccess::Write => "host writes",
                HostAccess::ReadWrite => "host reads and writes",
                HostAccess::None => "no host access",
            };
            write!(out, "  {}: {} bytes, {scope}, {access}", global.id, global.size_bytes)?;
            if let Some(mode) = global.init_mode {
                let what = match mode {
                    InitMode::Reprogram => "reprogramming",
                    InitMode::Reset => "reset",
                };
                write!(out, ", initialized by {what}")?;
            }
            if let Some(csr) = global.implement_in_csr {
                write!(out, ", {} a register map", if csr { "in" } else { "not in" })?;
            }
            if global.device_image_scope {
                writeln!(out, ", initial value in the module")?;
            } else if global.initial.is_zero() {
                writeln!(out, ", initially zero")?;
            } else {
                writeln!(out, ", initially {}", Hex(&global.initial.bytes))?;
            }
            for InitialAddress { offset_bytes, target, addend_bytes } in &global.initial.addresses {
                writeln!(out, "    at byte {offset_bytes}: address of {target} + {addend_bytes}")?;
            }
        }
        Ok(())
    }

    fn write_spec_constants(&self, out: &mut String) -> fmt::Result {
        let constants = match self.spec_constants() {
            Ok(constants) if constants.is_empty() => return Ok(()),
            Ok(constants) => constants,
            Err(error) => return writeln!(out, "\nspecialization constants: {error}"),
        };
        writeln!(out, "\nspecialization constants: {}", constants.len())?;
        for constant in constants {
            let (ty, id) = (constant.ty.opencl_name(), constant.id);
            writeln!(out, "  {ty} {}, id {id}, default {}", constant.name, Hex(&constant.default))?;
        }
        Ok(())
    }

    fn write_virtual_functions(&self, out: &mut String) -> fmt::Result {
        let all = match self.virtual_functions() {
            Ok(all) if all.is_empty() => return Ok(()),
            Ok(all) => all,
            Err(error) => return writeln!(out, "\nvirtual functions: {error}"),
        };
        writeln!(out, "\nvirtual functions:")?;
        if let Some(set) = all.provides {
            let dummy = if all.dummy { "a dummy of " } else { "" };
            writeln!(out, "  provides {dummy}{}", Sets(&BTreeSet::from([set])))?;
        }
        for (what, sets) in [("calls", &all.calls), ("creates objects of", &all.creates)] {
            if !sets.is_empty() {
                writeln!(out, "  {what} {}", Sets(sets))?;
            }
        }
        if let Some(depth) = all.depth {
            writeln!(out, "  virtual calls nest up to {depth} deep")?;
        }
        for function in &all.functions {
            writeln!(out, "  function {}: {}", function.name, function.signature)?;
            function.calls.iter().try_for_each(|name| writeln!(out, "    calls {name}"))?;
        }
        for VirtualSlot { code, function, slot, classes } in &all.slots {
            let number = slot.map_or_else(|| "?".to_owned(), |slot| slot.to_string());
            let classes =
                if classes.is_empty() { String::new() } else { format!(" of {}", classes.join(", ")) };
            writeln!(out, "  {code:016x}: slot {number}{classes}: {function}")?;
        }
        for VirtualOffset { code, value } in &all.offsets {
            writeln!(out, "  {code:016x}: offset {value}")?;
        }
        all.dispatchers.iter().try_for_each(|dispatcher| writeln!(out, "  imports {}", dispatcher.name))
    }

    fn write_property_sets(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\nproperty sets: {}", self.properties.set_names().count())?;
        for set in self.properties.set_names() {
            writeln!(out, "  [{set}]")?;
            for (name, value) in self.properties.set(set) {
                match value {
                    PropertyValue::U32(value) => writeln!(out, "    {name} = {value}")?,
                    PropertyValue::Bytes(bytes) => match readable(bytes) {
                        Some(text) => writeln!(out, "    {name} = {text:?}")?,
                        None => writeln!(out, "    {name} = {}", Hex(bytes))?,
                    },
                }
            }
        }
        Ok(())
    }
}

/// The text of a property that is one.
fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let plain = text.len() > 1 && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    plain.then_some(text)
}

/// Bytes as hexadecimal digits, in the order of memory.
struct Hex<'b>(&'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().take(SHOWN_BYTES).enumerate() {
            let space = if i > 0 && i % 4 == 0 { " " } else { "" };
            write!(f, "{space}{byte:02x}")?;
        }
        if self.0.len() > SHOWN_BYTES {
            write!(f, " … ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

fn collect_structs<'t>(ty: &'t ValueType, structs: &mut BTreeMap<&'t str, &'t StructType>) {
    match ty {
        ValueType::Array(element, _) => collect_structs(element, structs),
        ValueType::Struct(ty) => {
            structs.insert(&ty.name, ty);
            ty.fields.iter().for_each(|field| collect_structs(&field.ty, structs));
        }
        _ => {}
    }
}

impl Parameter {
    /// The type of the value, or of what the parameter points to; `None` for images and samplers.
    pub fn value_type(&self) -> Option<&ValueType> {
        match &self.kind {
            ParameterKind::Value(ty)
            | ParameterKind::Pointer { pointee: ty, .. }
            | ParameterKind::Local { pointee: ty } => Some(ty),
            ParameterKind::Image { .. } | ParameterKind::Sampler => None,
        }
    }
}

/// The kernel as OpenCL C declares it.
impl fmt::Display for KernelSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel void {}(", self.name)?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{parameter}")?;
        }
        f.write_char(')')
    }
}

/// The parameter as OpenCL C declares it.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.kind {
            ParameterKind::Value(ty) => write!(f, "{}", Declared(ty, "", name)),
            ParameterKind::Local { pointee } => write!(f, "local {}", Declared(pointee, "*", name)),
            ParameterKind::Pointer { address_space, access, pointee } => {
                let space = match (address_space, access) {
                    (AddressSpace::Constant, _) => "constant",
                    (AddressSpace::Global, Access::Read) => "global const",
                    (AddressSpace::Global, _) => "global",
                };
                write!(f, "{space} {}", Declared(pointee, "*", name))
            }
            ParameterKind::Image { type_name, access } => {
                let access = match access {
                    Access::Read => "read_only",
                    Access::Write => "write_only",
                    Access::ReadWrite => "read_write",
                };
                write!(f, "{access} {type_name} {name}")
            }
            ParameterKind::Sampler => write!(f, "sampler_t {name}"),
        }
    }
}

/// A type, a star or nothing, and a name, as in a declaration.
struct Declared<'t>(&'t ValueType, &'static str, &'t str);

impl fmt::Display for Declared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(mut ty, star, name) = *self;
        let mut lengths = String::new();
        while let ValueType::Array(element, length) = ty {
            write!(lengths, "[{length}]")?;
            ty = element;
        }
        match ty {
            ValueType::Struct(ty) => f.write_str(&ty.name)?,
            other => write!(f, "{other}")?,
        }
        match (star, lengths.as_str()) {
            ("", _) | (_, "") => write!(f, " {star}{name}{lengths}"),
            _ => write!(f, " ({star}{name}){lengths}"),
        }
    }
}
