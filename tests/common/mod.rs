//! What the tests on a device begin with.

// Each program uses a part of this.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod load;
pub(crate) mod prints;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use oclave::device::mask::Mask;
use oclave::device::{Aspects, MemoryKind};
use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelBundle, KernelCall, ProgramCache};
use oclave::queue::QueueBuilder;
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Context, Device, Event, Graph, Queue};

/// The folder of what the build made. `ci/gpu` packs such files beside the programs, for a machine
/// that has no folders of the build.
pub(crate) fn built() -> PathBuf {
    let built = PathBuf::from(env!("OUT_DIR"));
    if built.exists() { built } else { std::env::current_exe().unwrap().with_file_name("built") }
}

/// Waits until threads of the library and of the driver have released what they still held, or for
/// ten seconds.
pub(crate) fn settle(session: &Session) {
    settle_within(session, Duration::from_secs(10));
}

/// As [`settle`], with a limit of its own.
pub(crate) fn settle_within(session: &Session, limit: Duration) {
    let start = std::time::Instant::now();
    while !session.live().is_empty() && start.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The selected device, or `None` after saying why.
pub(crate) fn device() -> Option<Device> {
    match Device::select() {
        Ok(device) => {
            println!("device: {}", device.name());
            Some(device)
        }
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// A context of the selected device, or `None` after saying why.
pub(crate) fn context() -> Option<Context> {
    let device = device()?;
    if device.capabilities().memory().is_none() {
        println!("skipped: kernels cannot address memory by pointers on the device");
        return None;
    }
    Some(Context::new(&device).unwrap())
}

/// What tests with the attribute `device_test` ask for by the types of their parameters.
pub(crate) trait Given: Sized {
    /// Or `None` after saying why.
    fn given() -> Option<Self>;
}

impl Given for () {
    fn given() -> Option<Self> {
        Some(())
    }
}

impl Given for (Device,) {
    fn given() -> Option<Self> {
        device().map(|device| (device,))
    }
}

impl Given for (Context,) {
    fn given() -> Option<Self> {
        context().map(|context| (context,))
    }
}

impl Given for (Queue,) {
    fn given() -> Option<Self> {
        setting().map(|(_, queue)| (queue,))
    }
}

impl Given for (Context, Queue) {
    fn given() -> Option<Self> {
        setting()
    }
}

/// A test with the parameters `G`.
pub(crate) trait DeviceTest<G> {
    fn run(self, given: G);
}

impl<F: FnOnce()> DeviceTest<()> for F {
    fn run(self, (): ()) {
        self();
    }
}

impl<F: FnOnce(A), A> DeviceTest<(A,)> for F {
    fn run(self, (a,): (A,)) {
        self(a);
    }
}

impl<F: FnOnce(A, B), A, B> DeviceTest<(A, B)> for F {
    fn run(self, (a, b): (A, B)) {
        self(a, b);
    }
}

/// What `#[device_test]` calls.
pub(crate) fn on_device<G: Given>(test: impl DeviceTest<G>) {
    if let Some(given) = G::given() {
        test.run(given);
    }
}

/// What `#[device_test(source)]` calls.
pub(crate) fn on<T>(source: impl FnOnce() -> Option<T>, test: impl FnOnce(T)) {
    if let Some(given) = source() {
        test(given);
    }
}

/// What `#[device_test(alone)]` calls: runs a test in a process of its own, and prints what it prints.
///
/// For tests that change or measure what the whole process has, as its logger or its memory.
pub(crate) fn alone(module: &str, test: &str, run: impl FnOnce()) {
    const ALONE: &str = "OCLAVE_TEST_ALONE";
    let test = name_of(module, test);
    if std::env::var(ALONE).is_ok_and(|alone| alone == test) {
        return run();
    }
    let output = process_of(&test).arg("--show-output").env(ALONE, &test).output().unwrap();
    let [text, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && text.contains("1 passed"), "{}: {text}{errors}", output.status);
    let printed = text.lines().skip_while(|line| !line.starts_with("---- ")).skip(1);
    printed.take_while(|line| !line.is_empty()).for_each(|line| println!("{line}"));
}

/// The name by which the harness knows a test: `name_of(module_path!(), "child")`.
pub(crate) fn name_of(module: &str, test: &str) -> String {
    match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    }
}

/// A process of this program that runs one test, even if it is ignored otherwise.
pub(crate) fn process_of(test: &str) -> std::process::Command {
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", test, "--include-ignored", "--test-threads=1"]);
    process
}

/// Hides all memory that kernels address by pointers.
pub(crate) const NO_POINTERS: Mask =
    Mask::USM.union(Mask::SVM).union(Mask::BUFFER_DEVICE_ADDRESS).union(Mask::UNIFIED_SVM);

/// Names the library of `ci/setup.d/unified_svm.c`, which shows `cl_khr_unified_svm` on top of what the driver has.
const UNIFIED_SVM_LIBRARY: &str = "OCLAVE_UNIFIED_SVM_LIBRARY";

/// Whether this process is one that [`with_unified_svm`] started.
pub(crate) fn has_unified_svm() -> bool {
    std::env::var_os("OCLAVE_TEST_UNIFIED_SVM").is_some()
}

/// Runs tests of this program again, in a process whose memory is of `cl_khr_unified_svm`.
///
/// `types` are the types of memory that the driver shows. Empty means all. `tests` are words in the names of
/// the tests. Without the library, it does nothing and says so.
pub(crate) fn with_unified_svm(types: &str, tests: &[&str]) {
    check_passed(run_with_unified_svm(types, tests));
}

/// As [`with_unified_svm`]: whether the tests passed, and what they printed.
pub(crate) fn run_with_unified_svm(types: &str, tests: &[&str]) -> Option<(bool, String)> {
    let mut variables = vec![("OCLAVE_TEST_UNIFIED_SVM", "1"), ("OCLAVE_MEMORY", "unified_svm")];
    variables.extend((!types.is_empty()).then_some(("UNIFIED_SVM_TYPES", types)));
    run_with_library(&variables, tests)
}

/// As [`with_unified_svm`], where devices report OpenCL 3.1 and their memory is as usual.
pub(crate) fn with_opencl_3_1(tests: &[&str]) {
    check_passed(run_with_library(&[("SHOWN_OPENCL", "3.1")], tests));
}

/// Whether this process is one that [`with_opencl_3_1`] started.
pub(crate) fn has_opencl_3_1() -> bool {
    std::env::var_os("SHOWN_OPENCL").is_some()
}

fn run_with_library(variables: &[(&str, &str)], tests: &[&str]) -> Option<(bool, String)> {
    let Some(library) = std::env::var_os(UNIFIED_SVM_LIBRARY) else {
        println!("skipped: {UNIFIED_SVM_LIBRARY} names no library with cl_khr_unified_svm (ci/on sets it)");
        return None;
    };
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(tests).args(["--show-output", "--test-threads=2"]);
    child.env("OCLAVE_OPENCL_LIBRARY", library).envs(variables.iter().copied());
    let output = child.output().unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(!text.contains("running 0 tests"), "no test is called so: {tests:?}");
    Some((output.status.success(), format!("{variables:?}:\n{text}{errors}")))
}

fn check_passed(run: Option<(bool, String)>) {
    let Some((passed, text)) = run else { return };
    assert!(passed, "{text}");
    println!("{}", text.lines().find(|line| line.starts_with("test result")).unwrap());
}

/// That context and an in-order queue.
pub(crate) fn setting() -> Option<(Context, Queue)> {
    let context = context()?;
    let queue = Queue::new(&context).unwrap();
    Some((context, queue))
}

/// An in-order queue of a context without binaries from earlier runs, so that calls can be counted.
pub(crate) fn queue(device: &Device) -> Queue {
    let context =
        Context::builder(std::slice::from_ref(device)).program_cache(&ProgramCache::Off).build().unwrap();
    Queue::new(&context).unwrap()
}

/// How often memory of the context was freed: given back to the driver, or kept until that may have
/// it back.
pub(crate) fn freed(session: &Session, context: &Context) -> u64 {
    session.count(memory_of(context).1) + context.spare_memory().blocks as u64
}

/// How many allocations there are besides those that were freed.
pub(crate) fn allocated(session: &Session, context: &Context) -> usize {
    let live = session.live().get(&memory_of(context).0).copied().unwrap_or_default();
    let spare = context.spare_memory();
    live + spare.pieces - spare.slabs - spare.blocks
}

/// What an allocation of a context is for the driver, and the call that frees it. SVM that is
/// mapped has a buffer over each allocation, which is none of its own.
fn memory_of(context: &Context) -> (ObjectKind, &'static str) {
    match context.device().capabilities().memory().map(|memory| memory.kind) {
        Some(MemoryKind::Svm) => (ObjectKind::Svm, "clSVMFree"),
        Some(MemoryKind::UnifiedSvm) => (ObjectKind::Svm, "clSVMFreeWithPropertiesKHR"),
        Some(MemoryKind::BufferAddress) => (ObjectKind::Memory, "clReleaseMemObject"),
        _ => (ObjectKind::Usm, "clMemFreeINTEL"),
    }
}

/// The call of the selected device's kind of memory that does what one of USM does. Copies of
/// buffers are those within the device. Q89 is the fault whose work-around fills SVM by buffers.
pub(crate) fn memory_call(of_usm: &'static str) -> &'static str {
    let device = Device::select().ok();
    let memory = device.as_ref().and_then(|device| device.capabilities().memory());
    let calls = match of_usm {
        "clDeviceMemAllocINTEL" | "clSharedMemAllocINTEL" => {
            ["clSVMAlloc", "clCreateBufferWithProperties", "clSVMAllocWithPropertiesKHR"]
        }
        "clMemFreeINTEL" => ["clSVMFree", "clReleaseMemObject", "clSVMFreeWithPropertiesKHR"],
        "clEnqueueMemcpyINTEL" => ["clEnqueueSVMMemcpy", "clEnqueueCopyBuffer", "clEnqueueSVMMemcpy"],
        "clEnqueueMemFillINTEL" => ["clEnqueueSVMMemFill", "clEnqueueFillBuffer", "clEnqueueSVMMemFill"],
        _ => panic!("what takes the place of {of_usm} is not known"),
    };
    let has_q89 = |device: &Device| device.driver_faults().iter().any(|fault| fault.to_string() == "Q89");
    let fills_by_buffers = of_usm == "clEnqueueMemFillINTEL" && device.as_ref().is_some_and(has_q89);
    match memory.map(|memory| memory.kind) {
        Some(MemoryKind::Svm) if fills_by_buffers => calls[1],
        Some(MemoryKind::Svm) => calls[0],
        Some(MemoryKind::BufferAddress) => calls[1],
        Some(MemoryKind::UnifiedSvm) => calls[2],
        _ => of_usm,
    }
}

/// The calls of the selected device's kind of memory that copy to the host, and from it. SVM that
/// is mapped is read by the buffers over it.
pub(crate) fn host_copy_calls() -> [&'static str; 2] {
    let memory = Device::select().ok().and_then(|device| device.capabilities().memory());
    let is_mapped = memory.is_some_and(|memory| memory.mapped && memory.kind == MemoryKind::Svm);
    match memory_call("clEnqueueMemcpyINTEL") {
        "clEnqueueCopyBuffer" => ["clEnqueueReadBuffer", "clEnqueueWriteBuffer"],
        "clEnqueueSVMMemcpy" if is_mapped => ["clEnqueueReadBuffer", "clEnqueueSVMMemcpy"],
        call => [call; 2],
    }
}

/// The call that creates a program which is not in a cache, on the selected device: from SPIR-V, or
/// from PTX as a binary.
pub(crate) fn creation_call() -> &'static str {
    let takes_ptx = Device::select().is_ok_and(|device| device.capabilities().ptx.is_some());
    if takes_ptx { "clCreateProgramWithBinary" } else { "clCreateProgramWithIL" }
}

/// How many programs were compiled: from SPIR-V, or from PTX that was translated for it.
pub(crate) fn compiled(session: &Session) -> u64 {
    session.count("clCreateProgramWithIL") + session.count("translation to PTX")
}

/// How many programs came from binaries: of a cache, or of images that were built ahead of time.
pub(crate) fn from_binaries(session: &Session) -> u64 {
    session.count("clCreateProgramWithBinary").saturating_sub(session.count("translation to PTX"))
}

/// Resident memory of this process, where the system tells it.
pub(crate) fn resident_bytes() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

/// A host task that ends when the sender is used.
pub(crate) fn gate(queue: &Queue) -> (Event, Sender<()>) {
    let (open, wait) = channel::<()>();
    let wait: Mutex<Receiver<()>> = Mutex::new(wait);
    let task = queue.host_task(move || {
        wait.lock().unwrap().recv_timeout(Duration::from_secs(60)).map_err(|_| "the gate stayed shut")
    });
    (task.unwrap(), open)
}

/// Runs a kernel once.
#[track_caller]
pub(crate) fn single(queue: &Queue, call: KernelCall) {
    queue.single_task(call).unwrap().wait().unwrap();
}

/// The kernels of `tests/fixtures/launch.cl`.
#[allow(dead_code, reason = "not every test launches")]
pub(crate) fn bundle(context: &Context) -> KernelBundle {
    load::spirv(context, include_bytes!("../fixtures/launch.spv")).unwrap()
}

/// A call of one of them, without arguments yet.
#[allow(dead_code, reason = "not every test launches")]
pub(crate) fn call(bundle: &KernelBundle, name: &str) -> KernelCall {
    bundle.kernel(name).unwrap().call()
}

/// The kernels of `tests/fixtures/replay.cl`.
pub(crate) fn replay_kernels(context: &Context) -> KernelBundle {
    load::spirv(context, include_bytes!("../fixtures/replay.spv")).unwrap()
}

/// A context in which the environment does not say how graphs are replayed; or `None` after saying
/// why.
pub(crate) fn undecided() -> Option<Context> {
    let context = context()?;
    Some(Context::builder(context.devices()).graph_interpreter(None).build().unwrap())
}

/// Such a context that has built nothing yet, and learned nothing of its kernels.
pub(crate) fn without_cache(context: &Context) -> Context {
    Context::builder(context.devices())
        .program_cache(&ProgramCache::Off)
        .graph_interpreter(None)
        .build()
        .unwrap()
}

/// Adds commands to a graph, each behind all that are there.
pub(crate) fn chain(graph: &Graph, commands: impl IntoIterator<Item = Command>) {
    for command in commands {
        graph.after_all_leaves().add(command).unwrap();
    }
}

/// The selected device as it is, and with each capability hidden that device globals can use, where
/// it has it. Empty, after saying why, without a device.
#[allow(dead_code, reason = "not every test has device globals")]
pub fn variable_devices() -> Vec<Device> {
    let Some(device) = device() else { return Vec::new() };
    let capabilities = device.capabilities();
    let hidden = [
        (capabilities.global_variable_access, Mask::GLOBAL_VARIABLE_ACCESS),
        (capabilities.global_variable_pointer, Mask::GLOBAL_VARIABLE_POINTER),
        (capabilities.aspects.contains(Aspects::PROGRAM_SCOPE_VARIABLES), Mask::PROGRAM_SCOPE_VARIABLES),
    ];
    let mut devices = vec![device.clone()];
    devices.extend(hidden.into_iter().filter(|(has, _)| *has).map(|(_, mask)| device.masked(mask)));
    for device in &devices {
        println!("device: {} (mask: {:?})", device.name(), device.mask());
    }
    devices
}

/// The selected device as it is, and with what graphs can use hidden.
pub(crate) fn graph_devices() -> Vec<Device> {
    let Some(context) = context() else { return Vec::new() };
    let device = context.device();
    let mut devices = vec![device.clone()];
    if device.capabilities().command_buffer.is_some() {
        let masks = [Mask::COMMAND_BUFFER, Mask::SIMULTANEOUS_USE, Mask::UNORDERED_USE, Mask::OUT_OF_ORDER];
        devices.extend(masks.map(|mask| device.masked(mask)));
    }
    devices
}

/// What graphs can be finalized with on a device.
pub(crate) fn strategies(device: &Device) -> Vec<ReplayStrategy> {
    let mut all = vec![ReplayStrategy::Auto, ReplayStrategy::Enqueue, ReplayStrategy::Interpreter];
    if Graph::support(device).command_buffers {
        all.push(ReplayStrategy::CommandBuffer);
    }
    all
}

/// In order, and where the device has it out of order.
pub(crate) fn queues(context: &Context) -> Vec<Queue> {
    queues_with(context, |builder| builder)
}

/// The same with a property more.
pub(crate) fn queues_with(context: &Context, with: impl Fn(QueueBuilder) -> QueueBuilder) -> Vec<Queue> {
    let mut builders = vec![Queue::builder(context)];
    if context.device().capabilities().out_of_order_queues {
        builders.push(Queue::builder(context).out_of_order());
    }
    builders.into_iter().map(|builder| with(builder).build().unwrap()).collect()
}

/// Of each order those whose commands have events, and those whose commands have none.
pub(crate) fn queues_and_eventless(context: &Context) -> Vec<Queue> {
    let mut queues = queues(context);
    queues.extend(queues_with(context, QueueBuilder::discard_events));
    queues
}

/// Of each order those that do not measure, and those that do.
pub(crate) fn queues_and_measuring(context: &Context) -> Vec<Queue> {
    let mut queues = queues(context);
    queues.extend(queues_with(context, QueueBuilder::profiling));
    queues
}

/// Submits a command again and again, and lets one of its calls fail each time. The calls before that
/// one have ended when the error is returned.
pub(crate) fn fail_each_call(queue: &Queue, command: &Command) {
    // A marker only tells when memory may go, and may fail.
    let counts = |call: &str| call.starts_with("clEnqueue") && call != "clEnqueueMarkerWithWaitList";
    let enqueued = |session: &Session| -> Vec<(&'static str, u64)> {
        session.counts().into_iter().filter(|(call, _)| counts(call)).collect()
    };
    // The first time may make programs and memory.
    queue.submit(command.clone()).unwrap().wait().unwrap();
    let calls = {
        let session = Session::start();
        queue.submit(command.clone()).unwrap();
        enqueued(&session)
    };
    queue.wait().unwrap();
    assert!(calls.iter().map(|(_, count)| count).sum::<u64>() > 1, "{calls:?}");
    for (call, count) in calls {
        for nth in 1..=count {
            let session = Session::start();
            session.fail(call, nth, -5);
            let outcome = queue.submit(command.clone());
            assert!(outcome.is_err(), "call {nth} of {call}: {:?}", session.counts());
            let before = enqueued(&session).iter().map(|(_, count)| count).sum::<u64>() - 1;
            let counts = session.counts();
            assert!(before == 0 || session.count("clFinish") > 0, "call {nth} of {call}: {counts:?}");
        }
    }
}
