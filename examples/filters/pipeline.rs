//! The pipeline on the device: nine kernels that share their parameters as device globals, and filters as objects that one
//! kernel builds and another calls.

use std::time::Duration;

use oclave::{Context, Device, Event, Local, NdRange, Queue, Range, Result, UsmSlice, usm};

use crate::kernels::{blur, histogram, luminance, parameters, sobel, threshold, tones};
use crate::picture::Picture;
use crate::reference::Outputs;
use crate::settings::Settings;
use crate::tones::TONE_BYTES;

/// Work-items per group of the histogram; one slot of local memory a bin.
const HISTOGRAM_GROUP: usize = 64;
const BINS: usize = 256;

/// How long a stage took on the device.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) stage: &'static str,
    pub(crate) time: Duration,
}

/// Device memory for pictures of one size, and the queue that works on it.
#[derive(Debug)]
pub(crate) struct Pipeline {
    queue: Queue,
    width: usize,
    height: usize,
    rgb: UsmSlice<u8, usm::Device>,
    luminance: UsmSlice<u8, usm::Device>,
    toned: UsmSlice<u8, usm::Device>,
    rows: UsmSlice<u8, usm::Device>,
    blurred: UsmSlice<u8, usm::Device>,
    gradient: UsmSlice<u8, usm::Device>,
    mask: UsmSlice<u8, usm::Device>,
}

impl Pipeline {
    pub(crate) fn new(device: &Device, width: usize, height: usize) -> Result<Self> {
        let context = Context::new(device)?;
        let queue = Queue::builder(&context).profiling().build()?;
        let pixels = width * height;
        let plane = || context.alloc_device::<u8>(pixels);
        Ok(Self {
            width,
            height,
            rgb: context.alloc_device(3 * pixels)?,
            luminance: plane()?,
            toned: plane()?,
            rows: plane()?,
            blurred: plane()?,
            gradient: plane()?,
            mask: plane()?,
            queue,
        })
    }

    /// Runs every stage over `picture`. The histogram comes back in the middle, to choose the threshold.
    pub(crate) fn run(&self, picture: &Picture, settings: &Settings) -> Result<(Outputs, Vec<Timing>)> {
        let queue = &self.queue;
        let plane = Range::d2(self.width, self.height);
        let pixels = self.width * self.height;

        queue.copy_to_global(&parameters::LUMA_WEIGHTS, &settings.luma_weights)?;
        queue.copy_to_global(&parameters::BLUR_RADIUS, &settings.blur_radius)?;
        queue.copy_to_global(&parameters::BLUR_WEIGHTS, &settings.blur_weights())?;
        queue.copy_to_global(&parameters::EDGE_STRENGTH, &settings.edge_strength)?;
        queue.copy_to_global(&parameters::HISTOGRAM_BINS, &[0; BINS])?;
        queue.copy_to_global(&parameters::EDGE_COUNT, &0)?;
        queue.copy_to_device(&picture.rgb, &self.rgb)?;

        let mut stages: Vec<(&'static str, Event)> = Vec::new();
        let gray = luminance::luminance(&self.rgb, &self.luminance);
        stages.push(("luminance", queue.parallel_for(Range::d1(pixels), gray)?));
        let chain = self.build_tones(settings, &mut stages)?;
        let apply = tones::apply_tones(&chain, &self.luminance, &self.toned);
        stages.push(("tones", queue.parallel_for(Range::d1(pixels), apply)?));
        stages.push(("blur rows", queue.parallel_for(plane, blur::blur_rows(&self.toned, &self.rows))?));
        stages.push((
            "blur columns",
            queue.parallel_for(plane, blur::blur_columns(&self.rows, &self.blurred))?,
        ));
        stages.push(("sobel", queue.parallel_for(plane, sobel::sobel(&self.blurred, &self.gradient))?));

        let groups = pixels.div_ceil(HISTOGRAM_GROUP * BINS);
        let range = NdRange::new(groups * HISTOGRAM_GROUP, HISTOGRAM_GROUP);
        let count = histogram::histogram(&self.gradient, pixels as u32, Local::new(BINS));
        stages.push(("histogram", queue.parallel_for(range, count)?));
        let histogram = queue.copy_from_global(&parameters::HISTOGRAM_BINS)?;

        let level = settings.threshold(&histogram);
        queue.copy_to_global(&parameters::THRESHOLD_LEVEL, &i32::from(level))?;
        let mask = threshold::threshold(&self.gradient, &self.mask);
        stages.push(("threshold", queue.parallel_for(Range::d1(pixels), mask)?));

        let outputs = Outputs {
            luminance: queue.read(&self.luminance)?,
            toned: queue.read(&self.toned)?,
            blurred: queue.read(&self.blurred)?,
            gradient: queue.read(&self.gradient)?,
            histogram: histogram.to_vec(),
            threshold: level,
            mask: queue.read(&self.mask)?,
            edge_count: queue.copy_from_global(&parameters::EDGE_COUNT)?,
        };
        let timings: Result<Vec<Timing>> =
            stages.into_iter().map(|(stage, event)| timing(stage, &event)).collect();
        Ok((outputs, timings?))
    }

    /// The chain of filters that the settings name, in device memory; its first object comes first.
    fn build_tones(
        &self,
        settings: &Settings,
        stages: &mut Vec<(&'static str, Event)>,
    ) -> Result<UsmSlice<i8, usm::Device>> {
        let context = self.queue.context();
        let numbers: Vec<i32> = settings.tones.iter().flat_map(|tone| tone.numbers()).collect();
        let steps = context.alloc_device(numbers.len())?;
        self.queue.copy_to_device(&numbers, &steps)?;
        let count = settings.tones.len();
        let chain = context.alloc_device(count * TONE_BYTES)?;
        let build = tones::build_tones(&chain, TONE_BYTES as u32, &steps, count as u32);
        stages.push(("build tones", self.queue.single_task(build)?));
        Ok(chain)
    }
}

fn timing(stage: &'static str, event: &Event) -> Result<Timing> {
    event.wait()?;
    Ok(Timing { stage, time: event.profiling()?.duration() })
}
