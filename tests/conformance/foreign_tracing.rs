//! What the crate `tracing` is told: TRC-SPN, TRC-DEV.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use oclave::graph::ReplayStrategy;
use oclave::kernel::ProgramCache;
use oclave::queue::QueueBuilder;
use oclave::{Command, Context, ErrorKind, Queue};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use super::graph_support::{Way, advance, ways};

/// A span, or an event of the device.
#[derive(Clone, Debug, Default)]
struct Told {
    name: String,
    fields: BTreeMap<&'static str, String>,
    /// The spans in which it was made.
    inside: Vec<String>,
    closed: bool,
}

impl Told {
    fn number(&self, field: &str) -> u64 {
        self.fields.get(field).unwrap_or_else(|| panic!("no {field} in {self:?}")).parse().unwrap()
    }

    fn text(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// Keeps what it is told on the thread that it is for.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    told: Vec<Told>,
    open: Vec<usize>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("oclave")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut told = Told { name: span.metadata().name().to_owned(), ..Told::default() };
        span.record(&mut told);
        let mut heard = self.0.lock().unwrap();
        told.inside = heard.open.iter().map(|at| heard.told[*at].name.clone()).collect();
        heard.told.push(told);
        Id::from_u64(heard.told.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        values.record(&mut self.0.lock().unwrap().told[id.into_u64() as usize - 1]);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        assert_eq!(event.metadata().target(), "oclave::device");
        let mut told = Told { name: "device".to_owned(), closed: true, ..Told::default() };
        event.record(&mut told);
        self.0.lock().unwrap().told.push(told);
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().open.push(id.into_u64() as usize - 1);
    }

    fn exit(&self, id: &Id) {
        assert_eq!(self.0.lock().unwrap().open.pop(), Some(id.into_u64() as usize - 1));
    }

    fn try_close(&self, id: Id) -> bool {
        self.0.lock().unwrap().told[id.into_u64() as usize - 1].closed = true;
        true
    }
}

/// A second subscriber, which lives as long as the process. While there is only one, the first thread that reaches a callsite decides
/// for all threads whether it is enabled. That thread may belong to another test, and have no subscriber.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Listener::default()));

/// What is told while a closure runs.
fn heard(run: impl FnOnce()) -> Vec<Told> {
    LazyLock::force(&SECOND);
    let listener = Listener::default();
    tracing::subscriber::with_default(listener.clone(), run);
    let told = std::mem::take(&mut listener.0.lock().unwrap().told);
    assert!(told.iter().all(|told| told.closed), "{told:#?}");
    told
}

fn named<'a>(told: &'a [Told], name: &str) -> Vec<&'a Told> {
    told.iter().filter(|told| told.name == name).collect()
}

fn profiled(way: &Way) -> Queue {
    Queue::builder(way.queue.context()).profiling().build().unwrap()
}

#[test]
fn trc_spn_001_building_finalizing_submitting_and_waiting() {
    for way in ways() {
        let device = way.queue.device().clone();
        let context = Context::builder(std::slice::from_ref(&device))
            .program_cache(&ProgramCache::Off)
            .build()
            .unwrap();
        let queue = Queue::new(&context).unwrap();
        let told = heard(|| {
            let values = queue.upload(&[1_u32; 8]).unwrap();
            queue.submit(advance(&values).named("first")).unwrap().wait().unwrap();
            let graph = oclave::Graph::from_queue(&queue);
            graph.add(advance(&values)).unwrap();
            let executable = graph.finalizer().strategy(way.strategy).finalize().unwrap();
            queue.submit_graph(&executable).unwrap();
            queue.wait().unwrap();
            assert_eq!(queue.read(&values).unwrap(), [13; 8]);
        });
        // The program of the kernel is built in its first submission.
        let build = named(&told, "build");
        let build = build.iter().find(|build| build.inside == ["submit"]).unwrap();
        assert_eq!((build.text("image"), build.text("device")), ("buffers", device.name()));
        let compile = named(&told, "compile");
        let compile = compile.iter().find(|compile| compile.inside == ["submit", "build"]).unwrap();
        assert_eq!(compile.text("device"), device.name());
        assert_eq!(named(&told, "finalize").len(), 1);
        let submitted = named(&told, "submit");
        let commands: Vec<&str> = submitted.iter().map(|submit| submit.text("command")).collect();
        assert!(commands.contains(&"first: kernel advance"), "{commands:?}");
        assert!(commands.contains(&"subgraph"), "{commands:?}");
        let names: Vec<&str> = submitted.iter().map(|submit| submit.text("otel.name")).collect();
        assert!(names.contains(&"submit first: kernel advance"), "{names:?}");
        let numbers: Vec<u64> = submitted.iter().map(|submit| submit.number("submission")).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        let waits: Vec<&str> = named(&told, "wait").iter().map(|wait| wait.text("what")).collect();
        assert!(waits.contains(&"event") && waits.contains(&"queue"), "{waits:?}");
        assert!(told.iter().all(|told| told.text("error").is_empty()), "{told:#?}");
    }
}

#[test]
fn trc_spn_002_failures_are_fields() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let told = heard(|| {
            let refused =
                way.queue.parallel_for(oclave::kernel::NdRange::new(1 << 24, 1 << 24), advance_call(&values));
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::NdRange);
            let failed = way.queue.host_task(|| Err::<(), _>("no paper")).unwrap();
            failed.wait().unwrap_err();
        });
        let submit = named(&told, "submit")[0];
        assert_eq!(submit.text("otel.status_code"), "ERROR");
        assert!(submit.text("error").contains("advance"), "{submit:?}");
        let wait = named(&told, "wait")[0];
        assert_eq!(wait.text("otel.status_code"), "ERROR");
        assert!(wait.text("error").contains("no paper"), "{wait:?}");
    }
}

fn advance_call(
    values: &oclave::UsmSlice<u32, oclave::memory::usm::DeviceOnly>,
) -> oclave::kernel::KernelCall {
    super::kernels::buffers::advance(values, 3_u32, 1_u32)
}

#[test]
fn trc_dev_001_times_of_commands() {
    for way in ways() {
        let queue = profiled(&way);
        let values = way.device(&[1_u32; 8]);
        let told = heard(|| {
            let begin = std::time::Instant::now();
            queue.submit(advance(&values)).unwrap();
            queue.submit(advance(&values).named("second")).unwrap();
            queue.host_task(|| ()).unwrap().wait().unwrap();
            queue.wait().unwrap();
            let took = begin.elapsed().as_nanos() as u64;
            queue.wait().unwrap();
            tracing::info_span!(target: "oclave", "took", took).in_scope(|| ());
        });
        let device = named(&told, "device");
        let names: Vec<&str> = device.iter().map(|ran| ran.text("command")).collect();
        assert_eq!(names, ["kernel advance", "second: kernel advance", "host_task"]);
        let submits: Vec<u64> =
            named(&told, "submit").iter().map(|submit| submit.number("submission")).collect();
        assert_eq!(device.iter().map(|ran| ran.number("submission")).collect::<Vec<_>>(), submits);
        let on_host: Vec<&str> = device.iter().map(|ran| ran.text("on_host")).collect();
        assert_eq!(on_host, ["false", "false", "true"]);
        let took = named(&told, "took")[0].number("took");
        for ran in &device {
            assert!(ran.number("started_ns") <= ran.number("ended_ns"), "{ran:?}");
            if ran.fields.contains_key("started_ago_ns") {
                let (started, ended) = (ran.number("started_ago_ns"), ran.number("ended_ago_ns"));
                assert!(ended <= started && started <= took, "{ran:?} in {took}");
            }
        }
        assert!(device[0].number("ended_ns") <= device[1].number("started_ns"), "{device:#?}");
    }
}

#[test]
fn trc_dev_002_times_of_nodes() {
    for way in ways() {
        let queue = profiled(&way);
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let first = graph.add(advance(&values).named("first")).unwrap();
        let task = graph.after_all_leaves().add(Command::host_task(|| ())).unwrap();
        let last = graph.after_all_leaves().add(advance(&values).named("last")).unwrap();
        let executable = graph.finalizer().profiling().strategy(way.strategy).finalize().unwrap();
        let told = heard(|| {
            queue.submit_graph(&executable).unwrap();
            queue.submit_graph(&executable).unwrap();
            queue.wait().unwrap();
        });
        let device = named(&told, "device");
        assert_eq!(device.len(), 6, "{device:#?}");
        for run in device.chunks(3) {
            let nodes: Vec<String> = run.iter().map(|ran| ran.text("nodes").to_owned()).collect();
            assert_eq!(nodes, [&first, &task, &last].map(|node| format!("{:?}", [node.index()])));
            let names: Vec<&str> = run.iter().map(|ran| ran.text("command")).collect();
            // A command buffer is measured as a whole.
            let [first, last] = match way.strategy {
                ReplayStrategy::CommandBuffer => ["command buffers"; 2],
                _ => ["first: kernel advance", "last: kernel advance"],
            };
            assert_eq!(names, [first, "host_task", last]);
            assert!(run.iter().all(|ran| ran.number("submission") == run[0].number("submission")));
        }
    }
}

#[test]
fn trc_dev_003_nothing_without_profiling_or_while_recording() {
    fn told_of(way: &Way, builder: QueueBuilder, work: impl Fn(&Queue)) -> usize {
        let queue = builder.build().unwrap();
        let told = heard(|| {
            work(&queue);
            queue.wait().unwrap();
        });
        assert!(!named(&told, "submit").is_empty(), "{}", way.queue.device().name());
        named(&told, "device").len()
    }
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let builder = || Queue::builder(way.queue.context());
        let once = |queue: &Queue| drop(queue.submit(advance(&values)).unwrap());
        let recorded = |queue: &Queue| {
            let graph = way.graph();
            let recording = graph.record(queue).unwrap();
            once(queue);
            recording.end();
        };
        assert_eq!(told_of(&way, builder().profiling(), once), 1);
        assert_eq!(told_of(&way, builder(), once), 0);
        assert_eq!(told_of(&way, builder().profiling(), recorded), 0);
    }
}
