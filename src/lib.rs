//! Device globals, virtual functions, if_device and updatable command graphs for plain OpenCL
//! devices.
//!
//! SYCL's newest extensions exist for C++ programs on one compiler's own backends. This library
//! gives Rust programs the same semantics on OpenCL devices that take SPIR-V (Intel's CPU runtime,
//! PoCL, Mesa's rusticl), and on NVIDIA's driver, which takes PTX. If a driver lacks USM, entry
//! points, program-scope variables or command buffers, the library does their work itself, with the
//! same results. Where that is not possible, an error says what is missing. The answer is never
//! wrong data.
//!
//! ```no_run
//! use oclave::{Context, Device, Queue};
//!
//! mod kernels {
//! # /*
//!     oclave::include_kernels!(); // written by the build script, from the files in kernels/
//! # */
//! #   include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs"));
//! }
//!
//! fn main() -> oclave::Result<()> {
//!     let context = Context::new(&Device::select()?)?;
//!     let queue = Queue::new(&context)?;
//!     let x = context.alloc_device::<f32>(1024)?;
//!     let y = context.alloc_device::<f32>(1024)?;
//!     queue.fill(&x, 2.0)?;
//!     queue.fill(&y, 1.0)?;
//!     queue.parallel_for(1024, kernels::saxpy::saxpy(10.0, &x, &y))?; // kernel void saxpy(float, global const float *, global float *)
//!     assert_eq!(queue.read(&y)?[7], 21.0);
//!     Ok(())
//! }
//! ```
//!
//! # From source to launch
//! 1. A build script calls `oclave_build::compile`. Clang and the SPIR-V translator turn OpenCL C
//!    and C++ for OpenCL into SPIR-V. The passes of `oclave_image` then rewrite device globals and
//!    describe each kernel's parameters. They split the module into *device images* by the features
//!    of a device that kernels need.
//! 2. [`include_kernels!`] brings the generated Rust in: an [`ImageTable`], a function per kernel
//!    whose arguments rustc checks, a [`DeviceGlobal`] per variable, a [`SpecConstant`] per
//!    constant.
//! 3. A kernel's function returns a [`KernelCall`], a plain value. No OpenCL call is made before it
//!    is given to a [`Queue`].
//! 4. The first launch selects the image that fits the device. It adapts the SPIR-V to the device,
//!    checks it, because drivers crash on bad modules, and builds it. Or it loads the program from
//!    the [`ProgramCache`]. Later launches find the kernel ready.
//!
//! # Where the names are
//! The root has the objects that every program uses. The other names are in modules:
//!
//! | module | what it has |
//! |---|---|
//! | [`device`] | platforms, capabilities and limits |
//! | [`context`], [`queue`], [`event`] | builders of contexts and queues; the status and times of events |
//! | [`memory`] | kinds of USM, rectangles, accessors, guards, reads and writes of the host |
//! | [`kernel`] | calls, arguments, ranges, device globals, specialization constants, bundles, the cache |
//! | [`command`] | what a [`Command`] is made of |
//! | [`graph`] | nodes, executables, parameters, bodies, the memory of graphs, what inspects them |
//! | [`images`], [`vector`] | images and samplers; the vector types of OpenCL C |
//! | [`native`] | the handles of OpenCL |
//!
//! # Objects
//! [`Device`] → [`Context`] → [`Queue`] → [`Event`]; memory is [`UsmSlice`]. All are handles: cheap
//! to clone, `Send` and `Sync`. Each keeps alive what it depends on, so they may be dropped in any
//! order. Memory is freed when its last handle is gone and no command uses it. The host looks into
//! host and shared memory through guards, which keep commands away meanwhile.
//!
//! # What is trusted
//! CPU drivers run kernels inside the process, and rustc cannot see what a kernel does. A launch is
//! as unsafe as its kernel:
//! - **Kernels of the build script** are launched by safe functions. The author who puts a kernel
//!   into the build vouches for it, as the author of a `safe fn` in an `unsafe extern` block does.
//!   The kernel must stay within its memory for every range and argument that the program launches
//!   it with. `None` is a null pointer. Nobody checks numbers that the kernel uses as addresses or
//!   indices. Kernels that run at the same time must not race. `SHARED` functions are vouched for
//!   in the same way.
//! - **Modules and images from elsewhere** are loaded by `unsafe` functions:
//!   [`KernelBundle::from_spirv`], [`KernelBundle::from_image`], [`ImageTable::new`], and
//!   `KernelBundle::from_source`. Their structure is checked, their behaviour is not.
//! - **Raw OpenCL** is behind `unsafe`: the handles of [`native`], and [`Command::native`].
//! - **The environment** is trusted as the dynamic linker's is: the OpenCL loader and its drivers,
//!   and the folder of the [`ProgramCache`], which holds machine code.
//!
//! Given these promises, safe code cannot break memory safety through this library; a case where it
//! can is a bug.
//!
//! # How it maps to SYCL
//! | SYCL 2020 and extensions | here |
//! |---|---|
//! | `device`, `context`, `queue`, `event` | [`Device`], [`Context`], [`Queue`], [`Event`] |
//! | `malloc_device`, `malloc_host`, `malloc_shared` | [`Context::alloc_device`], [`Context::alloc_host`], [`Context::alloc_shared`] |
//! | `range`, `nd_range`, `parallel_for`, `single_task` | [`Range`], [`NdRange`], [`Queue::parallel_for`], [`Queue::single_task`] |
//! | `queue::submit`, `handler` | [`Command`], [`Queue::submit`] |
//! | `handler::depends_on` | [`Queue::after`], [`Command::after`] |
//! | `handler::host_task` | [`Queue::host_task`] |
//! | `buffer`, `accessor`, `host_accessor` | [`Buffer`], [`Accessor`], [`HostReader`], [`HostWriter`] |
//! | `unsampled_image`, `sampled_image`, `image_sampler` | [`Image`], [`Sampler`]; a kernel has both as arguments |
//! | `ext_oneapi_memcpy2d`, copies of ranged accessors | [`UsmRect`], [`Accessor::part`] |
//! | `get_native`, `make_context`, `make_queue`, `make_event` | [`native`] |
//! | `make_buffer`, `get_native` of buffers | [`Buffer::from_native`], [`Buffer::to_native`]: copies |
//! | `ext_codeplay_enqueue_native_command` | [`Command::native`] |
//! | `kernel_bundle` from SPIR-V | [`KernelBundle`] |
//! | `specialization_id`, `set_specialization_constant` | [`SpecConstant`], [`KernelCall::spec`] |
//! | `device_global` (`sycl_ext_oneapi_device_global`, version 1) | [`DeviceGlobal`] and the marker `DEVICE_GLOBAL` |
//! | `if_device`, `if_host` (`sycl_ext_oneapi_if_device`, version 1) | [`if_device`], [`if_host`], `oclave/if_device.hpp` and the marker `SHARED` |
//! | `aspect` | the optional features of an image, matched with [`Device::capabilities`] |
//! | `errc`, `exception` | [`ErrorKind`], [`Error`] |
//!
//! # Limits
//! Pipes and images of several samples are no arguments of generated functions. Memory of
//! [`Context::alloc_device`] and of buffers needs one of three things from the driver: USM
//! (`cl_intel_unified_shared_memory`), shared virtual memory, or buffers with addresses
//! (`cl_ext_buffer_device_address`). [`Device::capabilities`] tells which. The host is
//! little-endian.
//!
//! # Features
//! - `compiler`: `KernelBundle::from_source` compiles OpenCL C while the program runs, with the
//!   clang and llvm-spirv of that machine.
//! - `image`: [`Image`] from and to the buffers of the crate
//!   [`image`](https://docs.rs/image). A release that needs another minor version of it is a major
//!   release.
//! - `opencl3`: `From` and `TryFrom` between the objects of this library and of the crate
//!   [`opencl3`](https://docs.rs/opencl3). A release that needs another minor version of it is a
//!   major release.
//! - `record`: the module `oclave::record` counts and can fail every OpenCL call, for tests of
//!   leaks, call counts and error paths. Off, it costs nothing.
//! - `tracing`: spans and events for the crate [`tracing`](https://docs.rs/tracing); the guide's page
//!   `tracing.md` lists them. Off, it costs nothing. Messages go to the crate `log` with and without
//!   it.
//!
//! [`ImageTable`]: kernel::ImageTable
//! [`DeviceGlobal`]: kernel::DeviceGlobal
//! [`SpecConstant`]: kernel::SpecConstant
//! [`KernelCall`]: kernel::KernelCall
//! [`ProgramCache`]: kernel::ProgramCache
//! [`KernelBundle`]: kernel::KernelBundle
//! [`Range`]: kernel::Range
//! [`NdRange`]: kernel::NdRange
//! [`Accessor`]: memory::Accessor
//! [`HostReader`]: memory::HostReader
//! [`HostWriter`]: memory::HostWriter
//! [`Image`]: images::Image
//! [`Sampler`]: images::Sampler
//! [`UsmRect`]: memory::UsmRect
//! [`KernelBundle::from_spirv`]: kernel::KernelBundle::from_spirv
//! [`KernelBundle::from_image`]: kernel::KernelBundle::from_image
//! [`ImageTable::new`]: kernel::ImageTable::new
//! [`Accessor::part`]: memory::Accessor::part
//! [`KernelCall::spec`]: kernel::KernelCall::spec
//! [`if_device`]: kernel::if_device
//! [`if_host`]: kernel::if_host
#![deny(unsafe_code)]

pub mod command;
pub mod context;
mod dag;
pub mod device;
mod device_global;
mod environment;
pub mod event;
pub mod graph;
mod handles;
mod if_device;
mod image;
pub mod images;
mod include_kernels;
pub mod kernel;
pub mod memory;
#[cfg(feature = "opencl3")]
mod opencl3;
mod program;
pub mod queue;
mod range;
mod runtime;
mod trace;
pub mod vector;

/// The layer that calls OpenCL.
use oclave_driver as driver;
/// How the library makes errors.
use oclave_driver::MakeError;
#[doc(hidden)]
pub use oclave_driver::{shared_call, shared_function, shared_library};

/// The crate whose [`Pod`](bytemuck::Pod) elements of memory must implement. Generated code uses
/// it. A release that needs another major version of it is a major release.
pub use bytemuck;
/// The crate with [`f16`](half::f16), the host type of OpenCL's `half`. A release that needs
/// another major version of it is a major release.
pub use half;

#[doc(inline)]
pub use command::Command;
#[doc(inline)]
pub use context::Context;
#[doc(inline)]
pub use device::Device;
pub use driver::native;
#[cfg(feature = "record")]
pub use driver::record;
#[doc(inline)]
pub use event::Event;
#[doc(inline)]
pub use graph::Graph;
#[doc(inline)]
pub use memory::{Buffer, UsmSlice};
pub use oclave_driver::{Error, ErrorKind, Result};
#[doc(inline)]
pub use queue::Queue;
