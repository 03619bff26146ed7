//! A device's capabilities as rows of words, and what oclave does on a device that has them.

use oclave::device::{Aspects, Capabilities, DeviceGlobalAccess, MemoryKind, MemorySupport, SvmCapabilities};
use oclave::images::{ChannelOrder, FormatSupport, ImageKind};
use oclave::{Context, Device};

/// A row: what it tells, and how to tell it of a device.
pub(crate) type Row = (&'static str, fn(&Device) -> String);

/// What the device has.
pub(crate) const CAPABILITIES: &[Row] = &[
    ("platform", |device| device.platform().name().to_owned()),
    ("kind", |device| format!("{}, {} compute units", device.kind(), device.capabilities().compute_units)),
    ("driver", |device| device.capabilities().driver_version.clone()),
    ("OpenCL", |device| device.capabilities().version_text.clone()),
    ("SPIR-V", |device| spirv(device.capabilities())),
    ("PTX", |device| match device.capabilities().ptx {
        Some(version) => format!("sm_{}{}", version.major, version.minor),
        None => "no".into(),
    }),
    ("SPIR-V queries", |device| match &device.capabilities().spirv_queries {
        Some(queries) => {
            format!("{} capabilities, {} extensions", queries.capabilities.len(), queries.extensions.len())
        }
        None => "no".into(),
    }),
    ("aspects", |device| or_none(device.capabilities().aspects.to_string())),
    ("USM", |device| usm(device.capabilities())),
    ("SVM", |device| {
        let svm = device.capabilities().svm;
        words(&[
            (svm.coarse_buffer, "coarse"),
            (svm.fine_buffer, "fine"),
            (svm.fine_system, "system"),
            (svm.atomics, "atomics"),
        ])
    }),
    ("unified SVM", |device| unified_svm(device.capabilities())),
    ("buffer addresses", |device| match device.capabilities().buffer_device_address {
        Some(version) => version.to_string(),
        None => "no".into(),
    }),
    ("UUID", |device| match device.capabilities().uuid {
        Some(uuid) => uuid_text(&uuid),
        None => "unknown".into(),
    }),
    ("suggested groups", |device| {
        if device.capabilities().suggested_group_sizes { "yes" } else { "no" }.into()
    }),
    ("command buffers", |device| command_buffers(device.capabilities())),
    ("mutable dispatch", |device| match device.capabilities().mutable_dispatch {
        Some(mutable) => {
            let what = words(&[
                (mutable.arguments, "arguments"),
                (mutable.global_size, "global size"),
                (mutable.local_size, "local size"),
                (mutable.global_offset, "offset"),
                (mutable.exec_info, "exec info"),
            ]);
            format!("{}: {what}", mutable.version)
        }
        None => "no".into(),
    }),
    ("global variables", |device| match device.capabilities().max_global_variable_bytes {
        0 => "no".into(),
        bytes => {
            let capabilities = device.capabilities();
            let how = words(&[
                (true, "by kernels"),
                (capabilities.global_variable_access, "by name from the host"),
                (capabilities.global_variable_pointer, "address by name"),
            ]);
            format!("up to {}: {how}", size(bytes as u64))
        }
    }),
    ("queues", |device| {
        let capabilities = device.capabilities();
        words(&[
            (true, "in order"),
            (capabilities.out_of_order_queues, "out of order"),
            (capabilities.profiling, "profiling"),
            (capabilities.concurrent_dispatch, "concurrent work-groups"),
        ])
    }),
    ("sub-devices", |device| {
        let capabilities = device.capabilities();
        words(&[(capabilities.partition_equally, "equally"), (capabilities.partition_by_counts, "by counts")])
    }),
    ("work-group", |device| {
        let limits = &device.capabilities().limits;
        let [x, y, z] = limits.max_work_item_sizes;
        format!("at most {} items, {x} × {y} × {z}", limits.max_work_group_size)
    }),
    ("sub-group", |device| {
        let limits = &device.capabilities().limits;
        let sizes: Vec<String> = limits.sub_group_sizes.iter().map(usize::to_string).collect();
        if limits.max_sub_groups == 0 {
            "no".into()
        } else {
            format!("sizes {}", or_unknown(sizes.join(", ")))
        }
    }),
    ("images", |device| match device.capabilities().images {
        None => "no".into(),
        Some(limits) => {
            let ([x, y], [u, v, w]) = (limits.max_2d, limits.max_3d);
            format!("at most {x} × {y}, {u} × {v} × {w}, {} layers", limits.max_layers)
        }
    }),
    ("image formats", |device| match device.capabilities().images {
        None => "none".into(),
        Some(_) => image_formats(device).unwrap_or_else(|error| format!("unknown: {error}")),
    }),
    ("memory size", |device| {
        let limits = &device.capabilities().limits;
        format!(
            "{}, allocation at most {}, local {}",
            size(limits.global_memory_bytes),
            size(limits.max_allocation_bytes),
            size(limits.local_memory_bytes)
        )
    }),
];

/// What oclave does with it.
pub(crate) const USES: &[Row] = &[
    ("kernels", |device| match device.require_kernels() {
        Err(_) => "cannot run: the device takes neither SPIR-V nor PTX".into(),
        Ok(()) if device.capabilities().ptx.is_some() => "PTX, made of SPIR-V by oclave".into(),
        Ok(()) if device.capabilities().spirv_queries.is_some() => {
            "SPIR-V, checked against what the device says it takes".into()
        }
        Ok(()) => "SPIR-V, of the versions that the device says it takes".into(),
    }),
    ("memory", |device| match device.capabilities().memory() {
        Some(memory) => memory_text(&memory),
        None => "none: kernels cannot address memory by pointers".into(),
    }),
    ("generic pointers", |device| {
        let has = device.capabilities().aspects.contains(Aspects::GENERIC_POINTER);
        if has { "as they are" } else { "resolved when a program is loaded" }.into()
    }),
    ("device globals", |device| {
        let capabilities = device.capabilities();
        if !capabilities.takes_kernels() || capabilities.memory().is_none() {
            return "none".into();
        }
        match device.device_global_access() {
            DeviceGlobalAccess::Functions => "program-scope variables, by the driver's entry points",
            DeviceGlobalAccess::Kernel => "program-scope variables, by a copy kernel",
            _ => "a hidden kernel argument",
        }
        .into()
    }),
    ("graph replay", |device| {
        let capabilities = device.capabilities();
        let interpreter = match capabilities.memory() {
            Some(_) => "the interpreter for small nodes; ",
            // Its list of tasks holds addresses.
            None => "",
        };
        let replay = match (&capabilities.command_buffer, &capabilities.mutable_dispatch) {
            _ if !capabilities.takes_kernels() => return "none".into(),
            (Some(_), Some(_)) => "command buffers or prepared enqueues; updates in place",
            (Some(_), None) => "command buffers or prepared enqueues; updates record again",
            (None, _) => "prepared enqueues",
        };
        format!("{interpreter}{replay}")
    }),
];

/// The formats of two-dimensional images, with the types of each order of channels.
fn image_formats(device: &Device) -> oclave::Result<String> {
    let formats = Context::new(device)?.image_formats(ImageKind::D2)?;
    let mut orders: Vec<(ChannelOrder, Vec<String>)> = Vec::new();
    for FormatSupport { format, read, write, read_write, .. } in formats {
        let only = match (read, write, read_write) {
            (_, _, true) | (true, true, _) => "",
            (true, ..) => " (read)",
            _ => " (write)",
        };
        let channel = format!("{}{only}", format.channel);
        match orders.iter_mut().find(|(order, _)| *order == format.order) {
            Some((_, channels)) => channels.push(channel),
            None => orders.push((format.order, vec![channel])),
        }
    }
    let orders: Vec<String> =
        orders.iter().map(|(order, channels)| format!("{order} {}", channels.join(" "))).collect();
    Ok(or_none(orders.join(", ")))
}

pub(crate) fn memory_text(memory: &MemorySupport) -> String {
    let kinds = words(&[(memory.device, "device"), (memory.shared, "shared"), (memory.host, "host")]);
    let by = match memory.kind {
        MemoryKind::Usm => "USM",
        MemoryKind::Svm if memory.mapped => "coarse-grained SVM",
        MemoryKind::Svm => "fine-grained SVM",
        MemoryKind::BufferAddress => "buffers with device addresses",
        MemoryKind::UnifiedSvm => "unified SVM",
        _ => "another kind of memory",
    };
    let mapped = if memory.mapped { "; mapped whenever the host accesses it" } else { "" };
    format!("{kinds}, by {by}{mapped}")
}

/// Words for what is true; `no` when nothing is.
fn words(facts: &[(bool, &str)]) -> String {
    let there: Vec<&str> = facts.iter().filter(|(there, _)| *there).map(|(_, word)| *word).collect();
    if there.is_empty() { "no".into() } else { there.join(", ") }
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".into() } else { text }
}

fn or_unknown(text: String) -> String {
    if text.is_empty() { "unknown".into() } else { text }
}

/// As Vulkan's tools write it.
fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::new();
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn spirv(capabilities: &Capabilities) -> String {
    let versions: Vec<String> = capabilities.spirv_versions.iter().map(ToString::to_string).collect();
    if versions.is_empty() { "none".into() } else { versions.join(", ") }
}

fn usm(capabilities: &Capabilities) -> String {
    match capabilities.usm {
        Some(usm) => {
            let kinds = words(&[
                (usm.device, "device"),
                (usm.host, "host"),
                (usm.shared, "shared"),
                (usm.concurrent_shared, "concurrent"),
                (usm.system, "system"),
            ]);
            format!("{}: {kinds}", usm.version)
        }
        None => "no".into(),
    }
}

/// The types of memory, each by what it can do, with their numbers.
fn unified_svm(capabilities: &Capabilities) -> String {
    let Some(support) = &capabilities.unified_svm else { return "no".into() };
    let describe = |one: &SvmCapabilities| {
        let has = |capability| one.contains(capability);
        words(&[
            (has(SvmCapabilities::SYSTEM_ALLOCATED), "system"),
            (has(SvmCapabilities::DEVICE_OWNED), "of the device"),
            (has(SvmCapabilities::HOST_OWNED), "of the host"),
            (has(SvmCapabilities::HOST_READ | SvmCapabilities::HOST_WRITE), "host"),
            (has(SvmCapabilities::HOST_MAP), "mapped"),
            (has(SvmCapabilities::CONCURRENT_ACCESS), "concurrent"),
            (has(SvmCapabilities::INDIRECT_ACCESS), "indirect"),
        ])
    };
    let types = support.types.iter().enumerate().filter(|(_, one)| !one.is_empty());
    let types: Vec<String> = types.map(|(at, one)| format!("{at} ({})", describe(one))).collect();
    format!("{}: types {}", support.version, or_none(types.join(", ")))
}

fn command_buffers(capabilities: &Capabilities) -> String {
    match &capabilities.command_buffer {
        Some(support) => {
            let what = words(&[
                (support.simultaneous_use, "simultaneous use"),
                (support.ordered_use && !support.simultaneous_use, "use in order while pending"),
                (support.out_of_order, "out of order"),
                (support.multiple_queues, "several queues"),
                (support.printf, "printf"),
            ]);
            let only_version = what == "no";
            if only_version { support.version.to_string() } else { format!("{}: {what}", support.version) }
        }
        None => match capabilities.extensions.get("cl_khr_command_buffer") {
            Some(version) => format!("no ({version} is not usable)"),
            None => "no".into(),
        },
    }
}

/// A size in the largest unit that leaves at least one whole.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) if bytes.is_multiple_of(1 << shift) => format!("{} {unit}", bytes >> shift),
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(65536), "64 KiB");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(u64::MAX), "17179869184.0 GiB");
    }

    #[test]
    fn nothing_is_no() {
        assert_eq!(words(&[(false, "a")]), "no");
        assert_eq!(words(&[(true, "a"), (false, "b"), (true, "c")]), "a, c");
    }
}
