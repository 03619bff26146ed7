//! `oclave devices`.

use std::io::Write;

use oclave::device::{Capabilities, Platform};
use oclave::images::{FormatSupport, ImageKind};
use oclave::{Context, Device};
use serde_json::{Value, json};

use crate::facts::{CAPABILITIES, Row, USES, memory_text};
use crate::{Failure, columns};

/// Prints the table.
pub(crate) fn print(out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "OpenCL loader: {}", oclave::device::loader_name()?)?;
    let devices = Device::all()?;
    for platform in Platform::all()? {
        let has_devices = devices.iter().any(|device| device.platform().name() == platform.name());
        let devices = if has_devices { "" } else { ", without a device" };
        writeln!(out, "platform: {} ({}){devices}", platform.name(), platform.version())?;
    }
    writeln!(out)?;
    let mut rows = vec![heading("device", &devices)];
    rows.extend(CAPABILITIES.iter().map(|row| cells(row, &devices)));
    rows.push(vec![String::new()]);
    rows.push(vec!["oclave uses".to_owned()]);
    rows.extend(USES.iter().map(|row| cells(row, &devices)));
    columns::print(out, &rows)?;
    writeln!(out)?;
    for (index, device) in devices.iter().enumerate() {
        if !device.mask().is_empty() {
            writeln!(out, "device {index}: masked: {}", device.mask())?;
        }
        for problem in &device.capabilities().problems {
            writeln!(out, "device {index}: the driver failed to answer: {problem}")?;
        }
        if let Err(error) = device.require_kernels() {
            writeln!(out, "device {index}: {error}")?;
        }
    }
    match Device::select() {
        Ok(device) => {
            let index = devices.iter().position(|other| *other == device);
            let index = index.map_or_else(|| "?".to_owned(), |index| index.to_string());
            writeln!(out, "chosen by default (OCLAVE_DEVICE): device {index}, {}", device.name())?;
        }
        Err(error) => writeln!(out, "chosen by default (OCLAVE_DEVICE): none: {error}")?,
    }
    Ok(())
}

fn heading(title: &str, devices: &[Device]) -> Vec<String> {
    let names = devices.iter().enumerate().map(|(index, device)| format!("{index}: {}", device.name()));
    std::iter::once(title.to_owned()).chain(names).collect()
}

fn cells((title, tell): &Row, devices: &[Device]) -> Vec<String> {
    std::iter::once((*title).to_owned()).chain(devices.iter().map(tell)).collect()
}

/// Prints the same, and all extensions and limits, as JSON.
pub(crate) fn print_json(out: &mut impl Write) -> Result<(), Failure> {
    let devices = Device::all()?;
    let platforms: Vec<Value> = Platform::all()?
        .iter()
        .map(|platform| json!({ "name": platform.name(), "vendor": platform.vendor(), "version": platform.version() }))
        .collect();
    let chosen = Device::select().ok().and_then(|device| devices.iter().position(|other| *other == device));
    let all = json!({
        "loader": oclave::device::loader_name()?,
        "platforms": platforms,
        "devices": devices.iter().map(device).collect::<Vec<_>>(),
        "chosen": chosen,
    });
    writeln!(out, "{all:#}")?;
    Ok(())
}

fn device(device: &Device) -> Value {
    let capabilities = device.capabilities();
    let Capabilities { limits, .. } = capabilities;
    let mut all = json!({
        "name": capabilities.name,
        "vendor": capabilities.vendor,
        "platform": device.platform().name(),
        "kind": device.kind().to_string(),
        "driver_version": capabilities.driver_version,
        "version": capabilities.version_text,
        "opencl": capabilities.opencl.to_string(),
        "available": capabilities.available,
        "usable": device.require_kernels().is_ok(),
        "ptx": capabilities.ptx.map(|version| format!("sm_{}{}", version.major, version.minor)),
        "compute_units": capabilities.compute_units,
        "address_bits": capabilities.address_bits,
        "spirv_versions": capabilities.spirv_versions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "spirv_queries": capabilities.spirv_queries.as_ref().map(|queries| json!({
            "capabilities": queries.capabilities,
            "extensions": queries.extensions,
            "extended_instruction_sets": queries.extended_instruction_sets,
        })),
        "aspects": capabilities.aspects.names().collect::<Vec<_>>(),
        "usm": capabilities.usm.map(|usm| json!({
            "version": usm.version.to_string(), "host": usm.host, "device": usm.device, "shared": usm.shared,
            "concurrent_shared": usm.concurrent_shared, "system": usm.system,
        })),
        "svm": {
            "coarse_buffer": capabilities.svm.coarse_buffer, "fine_buffer": capabilities.svm.fine_buffer,
            "fine_system": capabilities.svm.fine_system, "atomics": capabilities.svm.atomics,
        },
        "unified_svm": capabilities.unified_svm.as_ref().map(|support| json!({
            "version": support.version.to_string(),
            "types": support.types.iter().map(|one| one.iter_names().map(|(name, _)| name).collect::<Vec<_>>())
                .collect::<Vec<_>>(),
        })),
        "memory": capabilities.memory().map(|memory| json!({
            "kind": format!("{:?}", memory.kind), "device": memory.device, "shared": memory.shared,
            "host": memory.host, "mapped": memory.mapped, "text": memory_text(&memory),
        })),
        "command_buffer": capabilities.command_buffer.map(|support| json!({
            "version": support.version.to_string(), "simultaneous_use": support.simultaneous_use,
            "printf": support.printf, "out_of_order": support.out_of_order,
            "multiple_queues": support.multiple_queues,
            "required_queue_properties": support.required_queue_properties,
            "records_with_properties": support.records_with_properties(),
        })),
        "mutable_dispatch": capabilities.mutable_dispatch.map(|support| json!({
            "version": support.version.to_string(), "global_offset": support.global_offset,
            "global_size": support.global_size, "local_size": support.local_size,
            "arguments": support.arguments, "exec_info": support.exec_info,
        })),
        "global_variable_access": capabilities.global_variable_access,
        "global_variable_pointer": capabilities.global_variable_pointer,
        "max_global_variable_bytes": capabilities.max_global_variable_bytes,
        "buffer_device_address": capabilities.buffer_device_address.map(|version| version.to_string()),
        "concurrent_dispatch": capabilities.concurrent_dispatch,
        "out_of_order_queues": capabilities.out_of_order_queues,
        "profiling": capabilities.profiling,
        "partition_equally": capabilities.partition_equally,
        "partition_by_counts": capabilities.partition_by_counts,
        "limits": {
            "max_work_group_size": limits.max_work_group_size,
            "max_work_item_sizes": limits.max_work_item_sizes,
            "non_uniform_work_groups": limits.non_uniform_work_groups,
            "max_sub_groups": limits.max_sub_groups,
            "sub_group_sizes": limits.sub_group_sizes,
            "local_memory_bytes": limits.local_memory_bytes,
            "global_memory_bytes": limits.global_memory_bytes,
            "max_allocation_bytes": limits.max_allocation_bytes,
            "max_constant_buffer_bytes": limits.max_constant_buffer_bytes,
            "max_parameter_bytes": limits.max_parameter_bytes,
            "buffer_alignment_bytes": limits.buffer_alignment_bytes,
            "profiling_resolution_ns": limits.profiling_resolution_ns,
        },
        "extensions": capabilities.extensions.iter()
            .map(|(name, version)| (name.clone(), Value::from(version.to_string())))
            .collect::<serde_json::Map<_, _>>(),
        "opencl_c_features": capabilities.opencl_c_features,
        "mask": device.mask().to_string(),
        "problems": capabilities.problems,
    });
    // One field more is beyond the depth of the macro.
    if let Value::Object(fields) = &mut all {
        fields.insert("images".to_owned(), images(device));
    }
    all
}

/// Bounds and formats of images; null without images.
fn images(device: &Device) -> Value {
    let Some(images) = device.capabilities().images else { return Value::Null };
    json!({
        "max_2d": images.max_2d, "max_3d": images.max_3d, "max_layers": images.max_layers,
        "max_buffer_pixels": images.max_buffer_pixels, "read_arguments": images.read_arguments,
        "write_arguments": images.write_arguments, "read_write_arguments": images.read_write_arguments,
        "samplers": images.samplers, "formats": image_formats(device),
    })
}

/// The formats of each kind of image: name, and what kernels can do with it.
fn image_formats(device: &Device) -> Value {
    let Ok(context) = Context::new(device) else { return Value::Null };
    let formats_of = |kind: ImageKind| {
        let formats = context.image_formats(kind).ok()?;
        let format = |support: &FormatSupport| {
            json!({
                "format": support.format.to_string(), "read": support.read, "write": support.write,
                "read_write": support.read_write,
            })
        };
        Some((kind.type_name().to_owned(), formats.iter().map(format).collect()))
    };
    Value::Object(ImageKind::ALL.into_iter().filter_map(formats_of).collect())
}
