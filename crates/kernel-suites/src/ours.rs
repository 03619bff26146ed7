//! Cases run by oclave: launched, or as nodes of a graph that the interpreter runs.

use std::collections::HashMap;

use oclave::command::RawArgument;
use oclave::graph::{Node, ReplayStrategy};
use oclave::images::{Addressing, Any, ChannelOrder, ChannelType, D2, Filter, Image, ImageFormat, Sampler};
use oclave::kernel::{KernelBundle, KernelCall, NdRange, Range};
use oclave::vector::Ulong16;
use oclave::{Command, Context, Device, ErrorKind, Graph, Queue, UsmSlice};
use oclave_image::{DeviceImage, KernelSignature, ParameterKind};

use crate::case::{Argument, Case, Launch, Memory, Space};
use crate::outcome::Outcome;
use crate::run::{Contents, Executor, Report, check_arguments, with_margin};
use crate::source::Driver;
use crate::suite::Program;

/// How many times a graph runs: what one replay leaves behind must not change the next.
const REPLAYS: usize = 2;

/// Runs cases by oclave.
pub(crate) struct Ours {
    driver: Driver,
    context: Context,
    queue: Queue,
    /// The images of the program, to be loaded when it is built.
    images: Vec<Vec<u8>>,
    /// Its bundles, each with its kernels.
    bundles: Vec<(KernelBundle, Vec<KernelSignature>)>,
    in_graph: bool,
}

/// Memory on the device.
enum Place {
    Buffer { memory: UsmSlice<Ulong16>, data: Vec<Ulong16>, size_bytes: usize },
    Image { image: Image<Any, D2>, data: Vec<u8> },
}

/// A case on the device.
pub(crate) struct Prepared {
    places: Vec<Place>,
    launches: Vec<(NdRange, KernelCall)>,
}

impl Ours {
    /// Of a program's images; in a graph, or launched.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn new(images: Vec<Vec<u8>>, in_graph: bool) -> Result<Self, Outcome> {
        let device = Device::select().map_err(|error| outcome(&error))?;
        let context = Context::new(&device).map_err(|error| outcome(&error))?;
        let queue = Queue::new(&context).map_err(|error| outcome(&error))?;
        Ok(Self { driver: Driver::new()?, context, queue, images, bundles: Vec::new(), in_graph })
    }

    /// Puts a case on the device; [`Ours::reset`] gives its memory contents.
    ///
    /// # Errors
    /// What the library says.
    pub(crate) fn prepare(&self, case: &Case) -> Result<Prepared, Outcome> {
        check_arguments(case)?;
        let places: Vec<Place> =
            case.memory.iter().map(|memory| self.place(memory)).collect::<Result<_, _>>()?;
        let launches = case
            .launches
            .iter()
            .map(|launch| self.launch(launch, case, &places))
            .collect::<Result<_, _>>()?;
        Ok(Prepared { places, launches })
    }

    fn place(&self, memory: &Memory) -> Result<Place, Outcome> {
        match memory {
            Memory::Buffer(bytes) => {
                let padded = with_margin(bytes);
                let mut data = vec![Ulong16::splat(0); padded.len().div_ceil(size_of::<Ulong16>())];
                let all: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
                all.iter_mut().zip(&padded).for_each(|(to, from)| *to = *from);
                let memory = self.context.alloc_device(data.len()).map_err(|error| outcome(&error))?;
                Ok(Place::Buffer { memory, data, size_bytes: bytes.len() })
            }
            Memory::Image { width, height, order, channel, pixels, .. } => {
                let format = image_format(order, channel)?;
                let image = self
                    .context
                    .alloc_image_of::<D2>(format, [*height, *width])
                    .map_err(|error| outcome(&error))?;
                Ok(Place::Image { image, data: pixels.clone() })
            }
        }
    }

    fn launch(
        &self,
        launch: &Launch,
        case: &Case,
        places: &[Place],
    ) -> Result<(NdRange, KernelCall), Outcome> {
        let found = self.bundles.iter().find_map(|(bundle, kernels)| {
            Some((bundle, kernels.iter().find(|kernel| kernel.name == launch.kernel)?))
        });
        let Some((bundle, signature)) = found else {
            return Err(Outcome::Fail(format!("the images have no kernel {}", launch.kernel)));
        };
        let mut call = bundle.kernel(&launch.kernel).map_err(|error| outcome(&error))?.call();
        for (at, argument) in launch.arguments.iter().enumerate() {
            let is_local = signature
                .parameters
                .get(at)
                .is_some_and(|parameter| matches!(parameter.kind, ParameterKind::Local { .. }));
            call = match argument {
                Argument::NullOrLocal(size_bytes) if is_local => call.raw(RawArgument::local(*size_bytes)),
                Argument::NullOrLocal(_) => call.raw(RawArgument::null()),
                Argument::Value(bytes) => call.raw(RawArgument::bytes(bytes)),
                Argument::Local(size_bytes) => call.raw(RawArgument::local(*size_bytes)),
                Argument::Memory(index) => match (places.get(*index), case.memory.get(*index)) {
                    (Some(Place::Buffer { memory, .. }), _) => call.raw(RawArgument::memory(memory)),
                    (Some(Place::Image { image, .. }), Some(Memory::Image { is_written: true, .. })) => {
                        call.write_image::<D2>(image)
                    }
                    (Some(Place::Image { image, .. }), _) => call.read_image::<D2>(image),
                    (None, _) => return Err(Outcome::Fail(format!("the case lacks memory {index}"))),
                },
                Argument::Sampler { is_normalized, addressing, is_linear } => {
                    let mut sampler = Sampler::builder(&self.context);
                    if *is_normalized {
                        sampler = sampler.normalized();
                    }
                    let filter = if *is_linear { Filter::Linear } else { Filter::Nearest };
                    let sampler = sampler.addressing(addressing_of(addressing)?).filter(filter).build();
                    call.sampler(&sampler.map_err(|error| outcome(&error))?)
                }
            };
        }
        Ok((nd_range(&launch.space), call))
    }

    /// Writes the contents before the first launch to all memory.
    ///
    /// # Errors
    /// What the library says.
    pub(crate) fn reset(&self, prepared: &Prepared) -> oclave::Result<()> {
        for place in &prepared.places {
            match place {
                Place::Buffer { memory, data, .. } => self.queue.write(memory, data.as_slice())?,
                Place::Image { image, data } => self.queue.write(image, data.as_slice())?,
            }
        }
        Ok(())
    }

    /// Runs all launches, and waits for them.
    ///
    /// # Errors
    /// What the library says.
    pub(crate) fn launch_all(&self, prepared: &Prepared) -> oclave::Result<()> {
        for (range, call) in &prepared.launches {
            self.queue.parallel_for(*range, call.clone())?;
        }
        self.queue.wait()
    }

    /// The contents of all memory.
    ///
    /// # Errors
    /// What the library says.
    pub(crate) fn contents(&self, prepared: &Prepared) -> oclave::Result<Vec<Vec<u8>>> {
        let place = |place: &Place| {
            Ok(match place {
                Place::Buffer { memory, size_bytes, .. } => {
                    let words = self.queue.read(memory)?;
                    let bytes: &[u8] = bytemuck::cast_slice(&words);
                    bytes.iter().take(*size_bytes).copied().collect()
                }
                Place::Image { image, .. } => self.queue.read(image)?,
            })
        };
        prepared.places.iter().map(place).collect()
    }

    fn run_launched(&self, case: &Case) -> Result<Contents, Outcome> {
        let prepared = self.prepare(case)?;
        let run = || {
            self.reset(&prepared)?;
            self.launch_all(&prepared)?;
            self.contents(&prepared)
        };
        run().map(|contents| (contents, String::new())).map_err(|error| outcome(&error))
    }

    /// All cases as one chain of nodes.
    fn run_in_graph(&self, program: &Program, numbers: &[usize], report: &mut dyn Report) {
        let graph = Graph::from_queue(&self.queue);
        let mut last: Option<Node> = None;
        let mut nodes: Vec<(usize, Vec<usize>, Prepared)> = Vec::new();
        for &number in numbers {
            let Some(case) = program.cases.get(number) else { continue };
            let added = self.prepare(case).and_then(|prepared| {
                let mut own = Vec::new();
                for (range, call) in &prepared.launches {
                    let command = Command::parallel_for(*range, call.clone());
                    let node = match &last {
                        Some(node) => graph.after(node).add(command),
                        None => graph.add(command),
                    };
                    let node = node.map_err(|error| outcome(&error))?;
                    own.push(node.index());
                    last = Some(node);
                }
                Ok((own, prepared))
            });
            match added {
                Ok((own, prepared)) => nodes.push((number, own, prepared)),
                Err(error) => report.ended(number, Err(error)),
            }
        }
        if nodes.is_empty() {
            return;
        }
        match self.replay(&graph, &nodes) {
            Ok(results) => {
                for ((number, ..), result) in nodes.iter().zip(results) {
                    report.ended(*number, Ok(result));
                }
            }
            Err(error) => nodes.iter().for_each(|(number, ..)| report.ended(*number, Err(error.clone()))),
        }
    }

    fn replay(
        &self,
        graph: &Graph,
        nodes: &[(usize, Vec<usize>, Prepared)],
    ) -> Result<Vec<Contents>, Outcome> {
        let failed = |error| outcome(&error);
        let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
        let executable = finalizer.finalize().map_err(failed)?;
        let mut refused: HashMap<usize, String> = HashMap::new();
        for info in executable.not_interpreted() {
            info.nodes.iter().for_each(|node| {
                refused.insert(*node, info.reason.clone());
            });
        }
        let mut results: Vec<Vec<Vec<u8>>> = Vec::new();
        for replay in 0..REPLAYS {
            for (.., prepared) in nodes {
                self.reset(prepared).map_err(failed)?;
            }
            self.queue.submit_graph(&executable).map_err(failed)?;
            self.queue.wait().map_err(failed)?;
            let contents: Vec<Vec<Vec<u8>>> = nodes
                .iter()
                .map(|(.., prepared)| self.contents(prepared))
                .collect::<Result<_, _>>()
                .map_err(failed)?;
            // A case whose replays differ gets the last one, whose check then tells.
            if replay == 0 || results != contents {
                results = contents;
            }
        }
        let remark = |own: &[usize]| match own.iter().find_map(|node| refused.get(node)) {
            Some(reason) => format!("not interpreted: {reason}"),
            None => "interpreted".to_owned(),
        };
        Ok(nodes.iter().zip(results).map(|((_, own, _), contents)| (contents, remark(own))).collect())
    }
}

impl Executor for Ours {
    fn lacks(&self, program: &Program) -> Option<String> {
        self.driver.lacks(program)
    }

    fn build(&mut self, _program: &Program) -> Result<(), Outcome> {
        for bytes in &self.images {
            let image = DeviceImage::from_bytes(bytes).map_err(|error| Outcome::Fail(error.to_string()))?;
            // SAFETY: the suites' kernels stay within the memory of their cases, or end this process,
            // which runs nothing else.
            #[expect(unsafe_code, reason = "loading foreign kernels is what this program is for")]
            let bundle = unsafe { KernelBundle::from_image(&self.context, bytes) };
            self.bundles.push((bundle.map_err(|error| outcome(&error))?, image.kernels));
        }
        Ok(())
    }

    fn run(&mut self, program: &Program, numbers: &[usize], report: &mut dyn Report) {
        if self.in_graph {
            return self.run_in_graph(program, numbers, report);
        }
        for &number in numbers {
            let Some(case) = program.cases.get(number) else { continue };
            report.starts(number);
            let result = self.run_launched(case);
            report.ended(number, result);
        }
    }
}

/// What an error of the library means for a case.
pub(crate) fn outcome(error: &oclave::Error) -> Outcome {
    let mut text = format!("{:?}: {error:#}", error.kind());
    if let Some(log) = error.build_log() {
        text.push_str(" / build log: ");
        text.push_str(log);
    }
    match error.kind() {
        ErrorKind::KernelNotSupported => Outcome::Skip(text),
        ErrorKind::FeatureNotSupported | ErrorKind::Build => Outcome::Refused(text),
        _ => Outcome::Fail(text),
    }
}

fn nd_range(space: &Space) -> NdRange {
    let sized = |[x, y, z]: [usize; 3]| match space.dimensions {
        1 => Range::from(x),
        2 => [x, y].into(),
        _ => [x, y, z].into(),
    };
    let range = match space.local {
        Some(local) => NdRange::new(sized(space.global), sized(local)),
        None => NdRange::from(sized(space.global)),
    };
    if space.offset == [0; 3] { range } else { range.with_offset(sized(space.offset)) }
}

fn addressing_of(name: &str) -> Result<Addressing, Outcome> {
    Ok(match name {
        "none" => Addressing::None,
        "clamp_to_edge" => Addressing::ClampToEdge,
        "clamp" => Addressing::Clamp,
        "repeat" => Addressing::Repeat,
        "mirrored_repeat" => Addressing::MirroredRepeat,
        _ => return Err(Outcome::Skip(format!("addressing {name}"))),
    })
}

fn image_format(order: &str, channel: &str) -> Result<ImageFormat, Outcome> {
    let name = match channel {
        "SNORM_INT8" => "snorm8",
        "SNORM_INT16" => "snorm16",
        "UNORM_INT8" => "unorm8",
        "UNORM_INT16" => "unorm16",
        "SIGNED_INT8" => "i8",
        "SIGNED_INT16" => "i16",
        "SIGNED_INT32" => "i32",
        "UNSIGNED_INT8" => "u8",
        "UNSIGNED_INT16" => "u16",
        "UNSIGNED_INT32" => "u32",
        "HALF_FLOAT" => "f16",
        "FLOAT" => "f32",
        _ => channel,
    };
    let lacks = |what: &str| Outcome::Skip(format!("images of {what}"));
    let order = ChannelOrder::ALL.iter().find(|one| one.to_string() == order).ok_or_else(|| lacks(order))?;
    let channel =
        ChannelType::ALL.iter().find(|one| one.to_string() == name).ok_or_else(|| lacks(channel))?;
    Ok(ImageFormat::new(*order, *channel))
}
