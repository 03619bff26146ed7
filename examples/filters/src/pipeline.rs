//! The pipeline on the device.
//!
//! Kernels share their parameters as device globals. One kernel builds the filters as objects, and
//! another calls them. A host task in the middle chooses the threshold. The pipeline is described
//! once, as a list of commands. It runs command by command, or as a recorded graph whose argument
//! and host task are updated for each frame.

use std::path::Path;
use std::time::{Duration, Instant};

use oclave::graph::{Detail, DynamicParameter, ExecutableGraph, Node, Timeline};
use oclave::kernel::{KernelValue, Local, NdRange};
use oclave::memory::{HostTarget, usm};
use oclave::{Command, Context, Device, ErrorKind, Event, Graph, Queue, Result, UsmSlice};

use super::kernels::{blur, histogram, luminance, parameters, sobel, threshold, tones};
use super::reference::Outputs;
use super::settings::Settings;
use super::tones::TONE_BYTES;

/// Work-items per group of the histogram; one slot of local memory a bin.
const HISTOGRAM_GROUP: usize = 64;
const BINS: usize = 256;

/// How a frame is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each command by itself.
    Eager,
    /// All of them as the graph that they were recorded in.
    Graph,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Graph => "graph",
        }
    }
}

/// How long a stage took on the device.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) stage: String,
    pub(crate) time: Duration,
}

/// The commands of a frame with their names, in order.
type Stages = Vec<(&'static str, Command)>;

/// Device memory for pictures of one size, and what works on it.
pub(crate) struct Pipeline {
    pub(crate) queue: Queue,
    /// As `queue`, and it measures.
    measuring: Queue,
    size: (usize, usize),
    chain: UsmSlice<i8, usm::DeviceOnly>,
    graph: Graph,
    executable: ExecutableGraph,
    /// What the graph's kernel `sobel` multiplies with.
    strength: DynamicParameter<i32>,
    /// The node of that kernel, and of the host task.
    updated: [Node; 2],
    /// Of the nodes, in order.
    names: Vec<&'static str>,
    planes: Planes,
    histogram: HostTarget<u32>,
    /// What the host task chose.
    level: UsmSlice<i32, usm::Shared>,
}

struct Planes {
    rgb: UsmSlice<u8, usm::DeviceOnly>,
    luminance: UsmSlice<u8, usm::DeviceOnly>,
    toned: UsmSlice<u8, usm::DeviceOnly>,
    rows: UsmSlice<u8, usm::DeviceOnly>,
    blurred: UsmSlice<u8, usm::DeviceOnly>,
    gradient: UsmSlice<u8, usm::DeviceOnly>,
    mask: UsmSlice<u8, usm::DeviceOnly>,
}

impl Pipeline {
    pub(crate) fn new(device: &Device, width: usize, height: usize, settings: &Settings) -> Result<Self> {
        let context = Context::new(device)?;
        let queue = Queue::new(&context)?;
        let plane = || context.alloc_device::<u8>(width * height);
        let planes = Planes {
            rgb: context.alloc_device(3 * width * height)?,
            luminance: plane()?,
            toned: plane()?,
            rows: plane()?,
            blurred: plane()?,
            gradient: plane()?,
            mask: plane()?,
        };
        let histogram = HostTarget::new(BINS)?;
        let level = context.alloc_shared(1)?;
        set_parameters(&queue, settings)?;
        let chain = build_tones(&queue, settings)?;
        let graph = Graph::builder(&context, device).allow_device_globals().build()?;
        let strength = DynamicParameter::new(&graph, settings.edge_strength);
        let choose = choose_threshold(settings, &histogram, &level);
        let stages = stages(&planes, (width, height), &chain, &strength, choose, &histogram, &level)?;
        let recording = graph.record(&queue)?;
        let mut nodes = Vec::new();
        for (_, command) in &stages {
            nodes.push(Node::from_event(&queue.submit(command.clone())?)?);
        }
        recording.end();
        let names: Vec<&str> = stages.iter().map(|(name, _)| *name).collect();
        let node = |stage: &str| {
            let at = names.iter().position(|name| *name == stage).unwrap_or_default();
            nodes[at].clone()
        };
        let updated = [node("sobel"), node("choose threshold")];
        let executable = graph.finalizer().profiling().updatable().finalize()?;
        let measuring = Queue::builder(&context).profiling().build()?;
        let size = (width, height);
        Ok(Self {
            queue,
            measuring,
            size,
            chain,
            graph,
            executable,
            strength,
            updated,
            names,
            planes,
            histogram,
            level,
        })
    }

    /// Gives the graph the settings of a frame. Frames that were submitted before keep theirs.
    fn update(&self, settings: &Settings) -> Result<()> {
        let [_, choose] = &self.updated;
        self.strength.update(settings.edge_strength)?;
        choose.update_command(choose_threshold(settings, &self.histogram, &self.level))?;
        self.executable.update(&self.updated)
    }

    /// Runs every stage over a frame, and gives the outputs with the time from the first submission
    /// to the last end.
    pub(crate) fn run(&self, way: Way, rgb: &[u8], settings: &Settings) -> Result<(Outputs, Duration)> {
        self.queue.write(&self.planes.rgb, rgb)?;
        let started = Instant::now();
        self.submit(way, &self.queue, settings)?;
        self.queue.wait()?;
        let time = started.elapsed();
        Ok((self.outputs()?, time))
    }

    /// Runs every stage over a frame, and measures each. Of a graph there is a timeline, too.
    pub(crate) fn measure(
        &self,
        way: Way,
        rgb: &[u8],
        settings: &Settings,
    ) -> Result<(Vec<Timing>, Option<Timeline>)> {
        self.measuring.write(&self.planes.rgb, rgb)?;
        let events = self.submit(way, &self.measuring, settings)?;
        self.measuring.wait()?;
        match (way, events.as_slice()) {
            (Way::Graph, [event]) => {
                let timeline = self.executable.timeline(event)?;
                let timing = |nodes: &[usize], time| Timing { stage: self.stage_names(nodes), time };
                let timings = timeline.nodes().iter().map(|node| timing(&node.nodes, node.times.duration()));
                Ok((timings.collect(), Some(timeline)))
            }
            (_, events) => {
                let timings = self.names.iter().zip(events).map(|(stage, event)| {
                    Ok(Timing { stage: (*stage).to_owned(), time: event.profiling()?.duration() })
                });
                Ok((timings.collect::<Result<_>>()?, None))
            }
        }
    }

    /// The stages of nodes: they were recorded in the order of the list.
    fn stage_names(&self, nodes: &[usize]) -> String {
        let names = nodes.iter().filter_map(|node| self.names.get(*node)).copied();
        names.collect::<Vec<_>>().join(" + ")
    }

    pub(crate) fn submit(&self, way: Way, queue: &Queue, settings: &Settings) -> Result<Vec<Event>> {
        let Self { planes, size, chain, histogram, level, .. } = self;
        match way {
            Way::Eager => {
                let choose = choose_threshold(settings, histogram, level);
                let stages = stages(planes, *size, chain, settings.edge_strength, choose, histogram, level)?;
                stages.into_iter().map(|(_, command)| queue.submit(command)).collect()
            }
            Way::Graph => {
                self.update(settings)?;
                Ok(vec![queue.submit_graph(&self.executable)?])
            }
        }
    }

    pub(crate) fn outputs(&self) -> Result<Outputs> {
        let (queue, planes) = (&self.queue, &self.planes);
        Ok(Outputs {
            luminance: queue.read(&planes.luminance)?,
            toned: queue.read(&planes.toned)?,
            blurred: queue.read(&planes.blurred)?,
            gradient: queue.read(&planes.gradient)?,
            histogram: self.histogram.to_vec()?,
            threshold: self.level.read()?[0] as u8,
            mask: queue.read(&planes.mask)?,
            edge_count: queue.read(&parameters::EDGE_COUNT)?,
        })
    }

    /// Draws the graph: `pipeline.dot`, and `pipeline.svg` where Graphviz is there. Says whether it
    /// is.
    pub(crate) fn draw(&self, out: &Path) -> Result<bool> {
        self.graph.print(out.join("pipeline.dot"), Detail::Verbose)?;
        match self.graph.print(out.join("pipeline.svg"), Detail::Brief) {
            Err(error) if error.kind() == ErrorKind::FeatureNotSupported => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// In how many pieces the graph is run, host tasks included.
    pub(crate) fn partitions(&self) -> usize {
        self.executable.partitions().len()
    }
}

fn set_parameters(queue: &Queue, settings: &Settings) -> Result<()> {
    queue.write(&parameters::LUMA_WEIGHTS, &settings.luma_weights)?;
    queue.write(&parameters::BLUR_RADIUS, &settings.blur_radius)?;
    queue.write(&parameters::BLUR_WEIGHTS, &settings.blur_weights())
}

/// The chain of filters that the settings name, in device memory; its first object comes first.
fn build_tones(queue: &Queue, settings: &Settings) -> Result<UsmSlice<i8, usm::DeviceOnly>> {
    let context = queue.context();
    let numbers: Vec<i32> = settings.tones.iter().flat_map(|tone| tone.numbers()).collect();
    let steps = context.alloc_device(numbers.len())?;
    queue.write(&steps, &numbers)?;
    let count = settings.tones.len();
    let chain = context.alloc_device(count * TONE_BYTES)?;
    queue.single_task(tones::build_tones(&chain, TONE_BYTES as u32, &steps, count as u32))?.wait()?;
    debug_assert_eq!(queue.read(&tones::BAD_TONES)?, 0, "is_tone says the same on both sides");
    Ok(chain)
}

/// The host's part: from the histogram of gradients to the threshold.
fn choose_threshold(
    settings: &Settings,
    histogram: &HostTarget<u32>,
    level: &UsmSlice<i32, usm::Shared>,
) -> Command {
    let (settings, histogram, level) = (settings.clone(), histogram.clone(), level.clone());
    Command::host_task(move || -> Result<()> {
        let chosen = histogram.with(|bins| settings.threshold(bins))?;
        level.write()?[0] = i32::from(chosen);
        Ok(())
    })
}

/// The stages for a queue in order, with their names.
fn stages(
    planes: &Planes,
    (width, height): (usize, usize),
    chain: &UsmSlice<i8, usm::DeviceOnly>,
    strength: impl KernelValue<i32>,
    choose_threshold: Command,
    histogram: &HostTarget<u32>,
    level: &UsmSlice<i32, usm::Shared>,
) -> Result<Stages> {
    let Planes { rgb, luminance, toned, rows, blurred, gradient, mask } = planes;
    let (plane, pixels) = ([width, height], width * height);
    let bins = parameters::HISTOGRAM_BINS.slice::<u32>(..)?;
    let groups = pixels.div_ceil(HISTOGRAM_GROUP * BINS);
    let groups = NdRange::new(groups * HISTOGRAM_GROUP, HISTOGRAM_GROUP);
    let count = histogram::histogram(gradient, pixels as u32, Local::new(BINS));
    Ok(vec![
        ("clear histogram", Command::fill(&bins, 0)),
        ("clear count", Command::fill(&parameters::EDGE_COUNT, 0)),
        ("luminance", Command::parallel_for(pixels, luminance::luminance(rgb, luminance))),
        ("tones", Command::parallel_for(pixels, tones::apply_tones(chain, luminance, toned))),
        ("blur rows", Command::parallel_for(plane, blur::blur_rows(toned, rows))),
        ("blur columns", Command::parallel_for(plane, blur::blur_columns(rows, blurred))),
        ("sobel", Command::parallel_for(plane, sobel::sobel(blurred, gradient, strength))),
        ("histogram", Command::parallel_for(groups, count)),
        ("read histogram", Command::read(&bins, histogram)),
        ("choose threshold", choose_threshold),
        ("set threshold", Command::copy(level, &parameters::THRESHOLD_LEVEL)),
        ("threshold", Command::parallel_for(pixels, threshold::threshold(gradient, mask))),
    ])
}
