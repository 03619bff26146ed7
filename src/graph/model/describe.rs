//! Types of nodes, and their titles for drawings and messages.

use std::any::TypeId;
use std::fmt::{self, Debug, Write as _};

use bytemuck::Pod;

use crate::command::{Argument, CommandKind, ControlKind, ControlValue, Name, Place, Value};

/// The type of a node (`sycl_ext_oneapi_graph`, section 7.4, `node_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeType {
    /// Nothing; it joins other nodes.
    Empty,
    /// Another graph.
    Subgraph,
    /// A kernel.
    Kernel,
    /// A copy, also from and to host memory.
    Memcpy,
    /// Sets bytes.
    Memset,
    /// Sets elements.
    Memfill,
    /// Moves memory ahead of its use.
    Prefetch,
    /// Tells how memory will be used.
    MemAdvise,
    /// A barrier that was recorded.
    Barrier,
    /// Code on the host.
    HostTask,
    /// Raw commands of OpenCL.
    NativeCommand,
    /// A loop of a number of iterations.
    Repeat,
    /// A loop that goes on while a value is not zero.
    While,
    /// A graph that runs if a value is not zero, or else another one.
    If,
    /// One of several graphs.
    Switch,
    /// An event from outside, which each submission may bind.
    ExternalEvent,
}

impl NodeType {
    /// Of a node with this command.
    pub(crate) fn of(command: &CommandKind) -> Self {
        match command {
            CommandKind::Kernel { .. } => Self::Kernel,
            CommandKind::Copy { .. } | CommandKind::Write { .. } | CommandKind::Read { .. } => Self::Memcpy,
            CommandKind::Fill { .. } => Self::Memfill,
            CommandKind::Memset { .. } => Self::Memset,
            CommandKind::Prefetch { .. } => Self::Prefetch,
            CommandKind::Advise { .. } => Self::MemAdvise,
            CommandKind::HostTask(_) => Self::HostTask,
            CommandKind::Native(_) => Self::NativeCommand,
            CommandKind::Graph(_) => Self::Subgraph,
            CommandKind::Control(flow) => match flow.kind {
                ControlKind::Repeat => Self::Repeat,
                ControlKind::While => Self::While,
                ControlKind::If => Self::If,
                ControlKind::Switch => Self::Switch,
            },
            CommandKind::Barrier => Self::Barrier,
            CommandKind::External(_) => Self::ExternalEvent,
            CommandKind::Marker | CommandKind::Empty => Self::Empty,
        }
    }

    /// Whether executables can be updated with such a node.
    pub(crate) fn is_updatable(self) -> bool {
        self.is_control()
            || matches!(self, Self::Kernel | Self::Memcpy | Self::Memset | Self::Memfill | Self::HostTask)
    }

    /// Whether it is a loop or a condition.
    pub(in crate::graph) fn is_control(self) -> bool {
        matches!(self, Self::Repeat | Self::While | Self::If | Self::Switch)
    }

    /// The name that SYCL gives it, if it has such nodes.
    const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Subgraph => "subgraph",
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Memfill => "memfill",
            Self::Prefetch => "prefetch",
            Self::MemAdvise => "memadvise",
            Self::Barrier => "ext_oneapi_barrier",
            Self::HostTask => "host_task",
            Self::NativeCommand => "native_command",
            Self::Repeat => "repeat",
            Self::While => "while",
            Self::If => "if",
            Self::Switch => "switch",
            Self::ExternalEvent => "external_event",
        }
    }
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name that it was given, the type, and a kernel's name: `solve/residual: kernel dot`.
pub(crate) fn title(name: Option<&Name>, command: &CommandKind) -> String {
    let what = match command {
        CommandKind::Kernel { call, .. } => format!("{} {}", NodeType::Kernel, call.kernel_name()),
        command => NodeType::of(command).to_string(),
    };
    match name {
        Some(name) => format!("{name}: {what}"),
        None => what,
    }
}

/// The details below the title, line by line.
pub(in crate::graph) fn details(command: &CommandKind) -> Vec<String> {
    match command {
        CommandKind::Kernel { range, call } => {
            let names = call.target().parameter_names();
            let arguments = call.arguments().iter().enumerate().map(|(index, argument)| {
                match names.get(index).filter(|name| !name.is_empty()) {
                    Some(name) => format!("argument {index} (`{name}`): {}", of(argument)),
                    None => format!("argument {index}: {}", of(argument)),
                }
            });
            std::iter::once(range.to_string()).chain(arguments).collect()
        }
        CommandKind::Copy { from, to } => vec![format!("from {}", at(from)), format!("to {}", at(to))],
        CommandKind::Write { from, to } => vec![format!("from {from:?}"), format!("to {}", at(to))],
        CommandKind::Read { from, to } => vec![format!("from {}", at(from)), format!("to {to:?}")],
        CommandKind::Fill { to, pattern } => {
            vec![format!("value {}", value(pattern)), format!("to {}", at(to))]
        }
        CommandKind::Memset { to, byte } => vec![format!("byte {byte}"), format!("to {}", at(to))],
        CommandKind::Prefetch { memory } => vec![at(memory)],
        CommandKind::Native(native) => native.places().iter().map(at).collect(),
        CommandKind::Advise { memory, advice } => vec![format!("{advice:?}"), at(memory)],
        CommandKind::Graph(graph) => vec![format!("{graph:?}")],
        CommandKind::Control(flow) => vec![match &flow.value {
            ControlValue::Number(number) => format!("{number}"),
            ControlValue::Parameter { value, .. } => format!("{value}, of a parameter"),
            ControlValue::Device { from, scalar } => format!("{scalar:?} at {}", at(from)),
        }],
        CommandKind::HostTask(task) => task.uses().iter().map(|part| format!("{part:?}")).collect(),
        CommandKind::External(outside) => vec![format!("{outside:?}")],
        CommandKind::Marker | CommandKind::Barrier | CommandKind::Empty => Vec::new(),
    }
}

fn of(argument: &Argument) -> String {
    match argument {
        Argument::Value(bytes) => value(bytes),
        Argument::Local { size_bytes, .. } => format!("local memory of {size_bytes} bytes"),
        Argument::Pointer(pointer) => at(pointer.place()),
        Argument::Image(image) => format!("{image:?}"),
        Argument::Sampler(sampler) => format!("{sampler:?}"),
    }
}

fn at(place: &Place) -> String {
    match place {
        Place::Null => "null".to_owned(),
        Place::Usm(region) if region.allocation().reserved().is_some() => {
            format!(
                "{:?}, {} of them from {}",
                region.allocation(),
                region.size_bytes(),
                region.offset_bytes()
            )
        }
        Place::Usm(region) => format!("{:#x}, {} bytes", region.address(), region.size_bytes()),
        Place::Block(block) => {
            format!("{:#x}, {} bytes in rows", block.region.address(), block.rows.size_bytes())
        }
        Place::Global(global) => format!("{global:?}"),
        Place::Accessor(accessor) => format!("{accessor:?}"),
        Place::Image(image) => format!("{image:?}"),
        Place::Refused(error) => error.to_string(),
    }
}

/// Scalars as numbers, all else as bytes.
fn value(value: &Value) -> String {
    fn scalar<T: Pod + Debug>(value: &Value) -> Option<String> {
        let scalar = bytemuck::try_pod_read_unaligned::<T>(value.bytes()).ok()?;
        (value.ty == TypeId::of::<T>()).then(|| format!("{scalar:?}"))
    }
    let known = [
        scalar::<f32>,
        scalar::<f64>,
        scalar::<i32>,
        scalar::<u32>,
        scalar::<i64>,
        scalar::<u64>,
        scalar::<i16>,
        scalar::<u16>,
        scalar::<i8>,
        scalar::<u8>,
    ];
    known.iter().find_map(|read| read(value)).unwrap_or_else(|| {
        const SHOWN: usize = 32;
        let bytes = value.bytes();
        let mut text = bytes.iter().take(SHOWN).fold("bytes".to_owned(), |mut text, byte| {
            let _ = write!(text, " {byte:02x}");
            text
        });
        if bytes.len() > SHOWN {
            let _ = write!(text, " … ({} bytes)", bytes.len());
        }
        text
    })
}
