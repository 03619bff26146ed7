//! Cases run by the driver's own compiler, from source, without oclave.
#![expect(unsafe_code, reason = "opencl3 leaves the contracts of OpenCL to its callers")]

use std::ptr::{null, null_mut};

use opencl3::command_queue::{CL_BLOCKING, CommandQueue};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device};
use opencl3::error_codes::ClError;
use opencl3::kernel::{Kernel, set_kernel_arg};
use opencl3::memory::{
    Buffer, CL_ADDRESS_CLAMP, CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_MIRRORED_REPEAT, CL_ADDRESS_NONE,
    CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, CL_FILTER_NEAREST, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_ONLY,
    CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, ClMem, Image, Sampler,
};
use opencl3::platform::get_platforms;
use opencl3::program::Program as Built;
use opencl3::types::{cl_image_desc, cl_image_format, cl_mem, cl_sampler};

use crate::case::{Argument, Case, Launch, Memory};
use crate::outcome::Outcome;
use crate::run::{Contents, Executor, Report, check_arguments, with_margin};
use crate::suite::Program;

/// The device as its driver describes it.
pub(crate) struct Driver {
    device: Device,
    extensions: String,
    /// The version of OpenCL C that the driver prefers, and the newest one, as 12 for 1.2.
    versions: [u32; 2],
    has_images: bool,
    group_limit: usize,
    item_limits: Vec<usize>,
}

impl Driver {
    /// The first device.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn new() -> Result<Self, Outcome> {
        let devices = || {
            let platforms = get_platforms().ok()?;
            platforms.iter().find_map(|one| one.get_devices(CL_DEVICE_TYPE_ALL).ok()?.first().copied())
        };
        let device =
            Device::new(devices().ok_or_else(|| Outcome::Fail("there is no OpenCL device".to_owned()))?);
        let preferred = device.opencl_c_version().map_or(0, |text| version(&text));
        let all = device.opencl_c_all_versions().unwrap_or_default();
        let newest = all.iter().map(|one| (one.version >> 22) * 10 + (one.version >> 12 & 0x3ff)).max();
        Ok(Self {
            extensions: device.extensions().map_err(failed("the extensions"))?,
            versions: [preferred, newest.unwrap_or(preferred).max(preferred)],
            has_images: device.image_support().unwrap_or(false),
            group_limit: device.max_work_group_size().map_err(failed("the size of groups"))?,
            item_limits: device.max_work_item_sizes().map_err(failed("the sizes of groups"))?,
            device,
        })
    }

    /// What the device lacks for a program, if anything.
    pub(crate) fn lacks(&self, program: &Program) -> Option<String> {
        let needs = &program.needs;
        let has = |name: &String| self.extensions.split_whitespace().any(|one| one == name);
        if let Some(missing) = needs.extensions.iter().find(|name| !has(name)) {
            return Some(format!("extension {missing}"));
        }
        if let Some(platform) = &needs.platform {
            return Some(format!("the platform {platform}"));
        }
        if needs.images && !self.has_images {
            return Some("images".to_owned());
        }
        let [_, newest] = self.versions;
        (needs.oldest_version > newest).then(|| format!("OpenCL C {}", needs.oldest_version))
    }

    /// Whether the device takes the groups of a case. What it lacks, if not.
    pub(crate) fn lacks_groups(&self, case: &Case) -> Option<String> {
        let is_too_large = |launch: &Launch| {
            let local = launch.space.local.unwrap_or([1; 3]);
            let sizes = local.iter().take(launch.space.dimensions);
            let mut pairs = sizes.clone().zip(&self.item_limits);
            sizes.product::<usize>() > self.group_limit || pairs.any(|(size, limit)| size > limit)
        };
        case.launches.iter().any(is_too_large).then(|| "groups of that size".to_owned())
    }

    /// The option for the version of OpenCL C that a program is built as: the driver's own, within
    /// what the program is for.
    fn version_option(&self, program: &Program) -> String {
        if program.options.iter().any(|option| option.contains("-cl-std")) {
            return String::new();
        }
        let [preferred, newest] = self.versions;
        let needs = &program.needs;
        let mut version =
            if needs.newest_version == 0 { preferred } else { preferred.min(needs.newest_version) };
        if version < needs.oldest_version {
            version = newest;
        }
        if version <= 10 { String::new() } else { format!("-cl-std=CL{}.{}", version / 10, version % 10) }
    }
}

/// `OpenCL C 1.2 …` as 12.
fn version(text: &str) -> u32 {
    let mut numbers =
        text.trim_start_matches("OpenCL C ").split(['.', ' ']).map(|word| word.parse().unwrap_or(0));
    numbers.next().unwrap_or(0) * 10 + numbers.next().unwrap_or(0)
}

fn failed(what: &str) -> impl Fn(ClError) -> Outcome + '_ {
    move |error| Outcome::Fail(format!("{what}: {error}"))
}

/// Oclgrind does not run casts to generic pointers, which OpenCL C 1.2 lacks. Its search for uninitialized
/// values does not know all instructions of optimized code.
const OCLGRIND_OPTIONS: &str = "-cl-std=CL1.2 -cl-opt-disable";

/// Runs cases by the driver's own compiler.
pub(crate) struct Source {
    driver: Driver,
    context: Context,
    queue: CommandQueue,
    program: Option<Built>,
    /// Whether the driver is Oclgrind, which announces OpenCL 1.2 and takes OpenCL C 2.0.
    is_oclgrind: bool,
}

/// Memory on the device.
enum Place {
    Buffer(Buffer<u8>),
    Image(Image, [usize; 3]),
}

/// A case on the device.
pub(crate) struct Prepared {
    places: Vec<Place>,
    /// With their arguments, one for each launch.
    kernels: Vec<Kernel>,
    /// What kernels are given lives until they ended.
    _samplers: Vec<Sampler>,
}

impl Place {
    fn handle(&self) -> cl_mem {
        match self {
            Self::Buffer(buffer) => buffer.get(),
            Self::Image(image, _) => image.get(),
        }
    }
}

impl Source {
    /// On the first device.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn new(is_oclgrind: bool) -> Result<Self, Outcome> {
        let driver = Driver::new()?;
        let context = Context::from_device(&driver.device).map_err(failed("clCreateContext"))?;
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0);
        let queue = queue.map_err(failed("clCreateCommandQueue"))?;
        Ok(Self { queue, driver, context, program: None, is_oclgrind })
    }

    fn run_case(&self, case: &Case) -> Result<Contents, Outcome> {
        let prepared = self.prepare(case)?;
        self.launch(case, &prepared)?;
        Ok((self.read(case, &prepared)?, String::new()))
    }

    /// Puts a case on the device, with its contents before the first launch.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn prepare(&self, case: &Case) -> Result<Prepared, Outcome> {
        let Some(program) = &self.program else { return Err(Outcome::Fail("nothing was built".to_owned())) };
        check_arguments(case)?;
        let places: Vec<Place> =
            case.memory.iter().map(|memory| self.place(memory)).collect::<Result<_, _>>()?;
        let mut samplers = Vec::new();
        let mut kernels = Vec::new();
        for launch in &case.launches {
            let kernel = Kernel::create(program, &launch.kernel).map_err(failed("clCreateKernel"))?;
            for (index, argument) in launch.arguments.iter().enumerate() {
                self.set(&kernel, index, argument, &places, &mut samplers)?;
            }
            kernels.push(kernel);
        }
        Ok(Prepared { places, kernels, _samplers: samplers })
    }

    /// Writes the contents before the first launch to all buffers again.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn reset(&self, case: &Case, prepared: &mut Prepared) -> Result<(), Outcome> {
        for (place, memory) in prepared.places.iter_mut().zip(&case.memory) {
            if let Place::Buffer(buffer) = place {
                // SAFETY: the buffer is larger than the data, which the blocking call only reads.
                unsafe { self.queue.enqueue_write_buffer(buffer, CL_BLOCKING, 0, memory.bytes(), &[]) }
                    .map_err(failed("clEnqueueWriteBuffer"))?;
            }
        }
        Ok(())
    }

    /// Runs all launches, and waits for them.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn launch(&self, case: &Case, prepared: &Prepared) -> Result<(), Outcome> {
        for (launch, kernel) in case.launches.iter().zip(&prepared.kernels) {
            self.enqueue(kernel, launch)?;
        }
        self.queue.finish().map_err(failed("clFinish"))
    }

    /// The contents of all memory.
    ///
    /// # Errors
    /// What OpenCL says.
    pub(crate) fn read(&self, case: &Case, prepared: &Prepared) -> Result<Vec<Vec<u8>>, Outcome> {
        let pairs = prepared.places.iter().zip(&case.memory);
        pairs.map(|(place, memory)| self.contents(place, memory)).collect()
    }

    fn place(&self, memory: &Memory) -> Result<Place, Outcome> {
        match memory {
            Memory::Buffer(bytes) => {
                let data = with_margin(bytes);
                // SAFETY: without a host pointer, OpenCL allocates as many bytes as it is told.
                let buffer =
                    unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, data.len(), null_mut()) };
                let mut buffer = buffer.map_err(failed("clCreateBuffer"))?;
                // SAFETY: the buffer is as large as the data, which the blocking call only reads.
                let written =
                    unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &data, &[]) };
                written.map_err(failed("clEnqueueWriteBuffer"))?;
                Ok(Place::Buffer(buffer))
            }
            Memory::Image { width, height, order, channel, is_written, pixels } => {
                let format = cl_image_format {
                    image_channel_order: channel_order(order)?,
                    image_channel_data_type: channel_type(channel)?,
                };
                let description = cl_image_desc {
                    image_type: CL_MEM_OBJECT_IMAGE2D,
                    image_width: *width,
                    image_height: *height,
                    image_depth: 1,
                    image_array_size: 1,
                    image_row_pitch: 0,
                    image_slice_pitch: 0,
                    num_mip_levels: 0,
                    num_samples: 0,
                    buffer: null_mut(),
                };
                let access = if *is_written { CL_MEM_WRITE_ONLY } else { CL_MEM_READ_ONLY };
                // SAFETY: both structs live until the call returns; there is no host pointer.
                let image =
                    unsafe { Image::create(&self.context, access, &format, &description, null_mut()) };
                let mut image = image.map_err(failed("clCreateImage"))?;
                let region = [*width, *height, 1];
                // SAFETY: the pixels fill the region, without padding between rows; the call blocks.
                let written = unsafe {
                    let (origin, data) = ([0_usize; 3], pixels.as_ptr().cast_mut().cast());
                    let (origin, region) = (origin.as_ptr(), region.as_ptr());
                    self.queue.enqueue_write_image(&mut image, CL_BLOCKING, origin, region, 0, 0, data, &[])
                };
                written.map_err(failed("clEnqueueWriteImage"))?;
                Ok(Place::Image(image, region))
            }
        }
    }

    fn set(
        &self,
        kernel: &Kernel,
        index: usize,
        argument: &Argument,
        places: &[Place],
        samplers: &mut Vec<Sampler>,
    ) -> Result<(), Outcome> {
        let number = u32::try_from(index).map_err(|_| Outcome::Fail("too many arguments".to_owned()))?;
        let mut object: cl_mem = null_mut();
        let sampler: cl_sampler;
        let (size, value) = match argument {
            Argument::Value(bytes) => (bytes.len(), bytes.as_ptr().cast()),
            Argument::Local(size_bytes) => (*size_bytes, null()),
            Argument::NullOrLocal(size_bytes) => (*size_bytes, null()),
            Argument::Memory(at) => {
                object = places.get(*at).map_or(object, Place::handle);
                (size_of::<cl_mem>(), (&raw const object).cast())
            }
            Argument::Sampler { is_normalized, addressing, is_linear } => {
                let filter = if *is_linear { CL_FILTER_LINEAR } else { CL_FILTER_NEAREST };
                let made =
                    Sampler::create(&self.context, u32::from(*is_normalized), address(addressing)?, filter);
                let made = made.map_err(failed("clCreateSampler"))?;
                sampler = made.get();
                samplers.push(made);
                (size_of::<cl_sampler>(), (&raw const sampler).cast())
            }
        };
        // SAFETY: the pointer is null or leads to as many bytes, which live until the call returns.
        unsafe { set_kernel_arg(kernel.get(), number, size, value) }
            .map_err(|code| Outcome::Fail(format!("clSetKernelArg {index}: {}", ClError(code))))
    }

    fn enqueue(&self, kernel: &Kernel, launch: &Launch) -> Result<(), Outcome> {
        let space = &launch.space;
        let local = space.local.as_ref().map_or(null(), |local| local.as_ptr());
        let dimensions = u32::try_from(space.dimensions).unwrap_or(3);
        // SAFETY: the arrays have three elements, as many as there are dimensions at most. What the
        // kernel accesses is within its memory, or ends this process, which runs nothing else.
        let launched = unsafe {
            let (offset, global) = (space.offset.as_ptr(), space.global.as_ptr());
            self.queue.enqueue_nd_range_kernel(kernel.get(), dimensions, offset, global, local, &[])
        };
        launched.map(drop).map_err(failed("clEnqueueNDRangeKernel"))
    }

    fn contents(&self, place: &Place, memory: &Memory) -> Result<Vec<u8>, Outcome> {
        let mut bytes = vec![0_u8; memory.bytes().len()];
        match place {
            Place::Buffer(buffer) => {
                // SAFETY: the buffer has more bytes than this; the call blocks.
                unsafe { self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut bytes, &[]) }
                    .map_err(failed("clEnqueueReadBuffer"))?;
            }
            Place::Image(image, region) => {
                let origin = [0_usize; 3];
                // SAFETY: the pixels fill the region, without padding between rows; the call blocks.
                unsafe {
                    let (origin, region) = (origin.as_ptr(), region.as_ptr());
                    let data = bytes.as_mut_ptr().cast();
                    self.queue.enqueue_read_image(image, CL_BLOCKING, origin, region, 0, 0, data, &[])
                }
                .map_err(failed("clEnqueueReadImage"))?;
            }
        }
        Ok(bytes)
    }
}

impl Executor for Source {
    fn lacks(&self, program: &Program) -> Option<String> {
        if self.is_oclgrind { None } else { self.driver.lacks(program) }
    }

    fn build(&mut self, program: &Program) -> Result<(), Outcome> {
        if !self.is_oclgrind {
            let version = self.driver.version_option(program);
            return self.build_as(program, &version);
        }
        let mut built = Built::create_from_source(&self.context, &program.source)
            .map_err(failed("clCreateProgramWithSource"))?;
        if built.build(self.context.devices(), OCLGRIND_OPTIONS).is_err() {
            return self.build_as(program, "-cl-std=CL2.0 -cl-opt-disable");
        }
        self.program = Some(built);
        Ok(())
    }

    fn run(&mut self, program: &Program, numbers: &[usize], report: &mut dyn Report) {
        for &number in numbers {
            let Some(case) = program.cases.get(number) else { continue };
            report.starts(number);
            let result = self.run_case(case);
            report.ended(number, result);
        }
    }
}

impl Source {
    /// Builds the program with an option for the version of OpenCL C, or as the driver does without one.
    ///
    /// # Errors
    /// Why it does not build.
    pub(crate) fn build_as(&mut self, program: &Program, version: &str) -> Result<(), Outcome> {
        let mut options: Vec<String> = program.options.clone();
        options.extend(program.includes.iter().map(|folder| format!("-I {}", folder.display())));
        options.push(version.to_owned());
        let mut built = Built::create_from_source(&self.context, &program.source)
            .map_err(failed("clCreateProgramWithSource"))?;
        if let Err(error) = built.build(self.context.devices(), &options.join(" ")) {
            let log = built.get_build_log(self.driver.device.id()).unwrap_or_default();
            let line = log.lines().find(|line| line.contains("error")).or(log.lines().next()).unwrap_or("");
            return Err(Outcome::Refused(format!("clBuildProgram: {error}: {line}")));
        }
        self.program = Some(built);
        Ok(())
    }
}

fn address(name: &str) -> Result<u32, Outcome> {
    Ok(match name {
        "none" => CL_ADDRESS_NONE,
        "clamp_to_edge" => CL_ADDRESS_CLAMP_TO_EDGE,
        "clamp" => CL_ADDRESS_CLAMP,
        "repeat" => CL_ADDRESS_REPEAT,
        "mirrored_repeat" => CL_ADDRESS_MIRRORED_REPEAT,
        _ => return Err(Outcome::Skip(format!("addressing {name}"))),
    })
}

/// The numbers of OpenCL's names of channel orders, without `CL_`.
const ORDERS: [(&str, u32); 10] = [
    ("R", 0x10B0),
    ("A", 0x10B1),
    ("RG", 0x10B2),
    ("RA", 0x10B3),
    ("RGB", 0x10B4),
    ("RGBA", 0x10B5),
    ("BGRA", 0x10B6),
    ("ARGB", 0x10B7),
    ("INTENSITY", 0x10B8),
    ("LUMINANCE", 0x10B9),
];

/// The numbers of OpenCL's names of channel types, without `CL_`.
const TYPES: [(&str, u32); 12] = [
    ("SNORM_INT8", 0x10D0),
    ("SNORM_INT16", 0x10D1),
    ("UNORM_INT8", 0x10D2),
    ("UNORM_INT16", 0x10D3),
    ("SIGNED_INT8", 0x10D7),
    ("SIGNED_INT16", 0x10D8),
    ("SIGNED_INT32", 0x10D9),
    ("UNSIGNED_INT8", 0x10DA),
    ("UNSIGNED_INT16", 0x10DB),
    ("UNSIGNED_INT32", 0x10DC),
    ("HALF_FLOAT", 0x10DD),
    ("FLOAT", 0x10DE),
];

fn channel_order(name: &str) -> Result<u32, Outcome> {
    number(&ORDERS, name)
}

fn channel_type(name: &str) -> Result<u32, Outcome> {
    number(&TYPES, name)
}

fn number(names: &[(&str, u32)], name: &str) -> Result<u32, Outcome> {
    let found = names.iter().find(|(one, _)| *one == name);
    found.map(|(_, number)| *number).ok_or_else(|| Outcome::Skip(format!("images of {name}")))
}
