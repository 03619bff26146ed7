//! Runs the random kernels of a folder on a device and compares the results with the expected ones.
//!
//! ```text
//! ci/random-kernels DEVICE [SEED [COUNT]]
//! ```
//! The crate `random-kernels` writes the folder. Each launch runs on a queue, and by the graph
//! interpreter where it takes the kernel and the fourth argument is not `no`. The number of each
//! launch is printed before it runs, so that `ci/random-kernels` can continue after a launch that
//! ends the process. A launch that takes longer than the limit ends it with a line that begins with `HANG`.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{env, fs, process, thread};

use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelBundle, KernelCall, NdRange};
use oclave::{Command, Context, Device, Graph, Queue, UsmSlice};

/// A line of `launches.txt`.
struct Launch<'a> {
    kernel: &'a str,
    global: [usize; 2],
    group: [usize; 2],
    words: usize,
    arguments: [i32; 2],
}

impl<'a> Launch<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split(' ');
        let kernel = fields.next()?;
        let numbers: Vec<usize> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[global_x, global_y, group_x, group_y, words, a, b] = numbers.as_slice() else { return None };
        let arguments = [i32::try_from(a).ok()?, i32::try_from(b).ok()?];
        Some(Self { kernel, global: [global_x, global_y], group: [group_x, group_y], words, arguments })
    }

    fn range(&self) -> NdRange {
        NdRange::new(self.global, self.group)
    }
}

/// The output words of a launch, for each way in which it ran.
type Results = Vec<(&'static str, Vec<u32>)>;

struct Runner {
    queue: Queue,
    bundles: Vec<KernelBundle>,
    input: UsmSlice<u32>,
    /// Whether they are in Rust, whose kernels take lengths, and the output twice.
    is_rust: bool,
    /// Whether `llvm-spirv` made them, whose modules do not tell that parameters are slices.
    is_translated: bool,
    /// Whether graphs run the kernels, too.
    interpret: bool,
}

impl Runner {
    fn new(folder: &Path, interpret: bool) -> Result<Self, Box<dyn Error>> {
        let context = Context::new(&Device::select()?)?;
        let queue = Queue::new(&context)?;
        let mut bundles = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let load = match path.extension().and_then(|extension| extension.to_str()) {
                Some("oclimg") => KernelBundle::from_image,
                Some("spv") => KernelBundle::from_spirv,
                _ => continue,
            };
            let bytes = fs::read(path)?;
            // SAFETY: the kernels are this repository's own; they stay within the memory that
            // they are given.
            bundles.push(unsafe { load(&context, &bytes) }?);
        }
        let words = read_words(&folder.join("input.bin"))?;
        let input = context.alloc_device(words.len())?;
        queue.write(&input, &words)?;
        let is_rust = folder.join("kernels0.rs").is_file();
        let is_translated = folder.join("kernels0.spv").is_file();
        Ok(Self { queue, bundles, input, is_rust, is_translated, interpret })
    }

    fn call(&self, launch: &Launch<'_>, out: &UsmSlice<u32>) -> Result<KernelCall, Box<dyn Error>> {
        let bundle = self
            .bundles
            .iter()
            .find(|bundle| bundle.kernel_names().any(|name| name == launch.kernel))
            .ok_or("no image has the kernel")?;
        let [a, b] = launch.arguments;
        let call = bundle.kernel(launch.kernel)?.call();
        Ok(if self.is_translated {
            let (words, given) = (launch.words as u64, self.input.len() as u64);
            let call = call.pointer_mut(out).value(words).pointer_mut(out).value(words);
            call.pointer_mut(&self.input).value(given).value(a).value(b)
        } else if self.is_rust {
            call.slice_mut(out).slice_mut(out).slice(&self.input).value(a).value(b)
        } else {
            call.pointer_mut(out).pointer(&self.input).value(a).value(b)
        })
    }

    /// The result on the queue, and by the interpreter if it takes the kernel.
    fn results(&self, launch: &Launch<'_>) -> Result<Results, Box<dyn Error>> {
        let out = self.queue.context().alloc_device::<u32>(launch.words)?;
        let call = self.call(launch, &out)?;
        self.queue.fill(&out, 0)?;
        self.queue.parallel_for(launch.range(), call.clone())?;
        let mut results = vec![("launched", self.queue.read(&out)?)];
        if !self.interpret {
            return Ok(results);
        }

        let graph = Graph::from_queue(&self.queue);
        graph.add(Command::parallel_for(launch.range(), call))?;
        let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
        let executable = finalizer.finalize()?;
        if !executable.segments().is_empty() {
            self.queue.fill(&out, 0)?;
            self.queue.submit_graph(&executable)?;
            results.push(("interpreted", self.queue.read(&out)?));
        }
        Ok(results)
    }
}

fn read_words(path: &Path) -> std::io::Result<Vec<u32>> {
    Ok(fs::read(path)?.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

/// How a result differs from the expected one.
fn difference(seen: &[u32], expected: &[u32]) -> Option<String> {
    let wrong = seen.iter().zip(expected).filter(|(seen, expected)| seen != expected).count();
    let (at, (seen, wanted)) =
        seen.iter().zip(expected).enumerate().find(|(_, (seen, expected))| seen != expected)?;
    Some(format!("{wrong} of {} words differ; word {at} is {seen} instead of {wanted}", expected.len()))
}

/// Ends the process where a launch takes longer than the limit. No queue can be asked to give up.
fn watch(limit: Duration) -> Sender<String> {
    let (started, launches) = channel();
    thread::spawn(move || {
        let mut launch = String::from("before the first launch");
        loop {
            match launches.recv_timeout(limit) {
                Ok(next) => launch = next,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("HANG {launch}: no end after {} s", limit.as_secs());
                    process::abort();
                }
            }
        }
    });
    started
}

/// Runs the launches from number `from` on, and returns how many were wrong.
fn run(folder: &Path, from: usize, limit: Duration, interpret: bool) -> Result<usize, Box<dyn Error>> {
    let watcher = watch(limit);
    let runner = Runner::new(folder, interpret)?;
    let expected = read_words(&folder.join("expected.bin"))?;
    let lines = fs::read_to_string(folder.join("launches.txt"))?;
    let (mut at, mut wrong, mut interpreted) = (0, 0, 0);
    for (number, line) in lines.lines().enumerate() {
        let launch = Launch::parse(line).ok_or_else(|| format!("launches.txt:{}: {line}", number + 1))?;
        let words = expected.get(at..at + launch.words).ok_or("expected.bin is too short")?;
        at += launch.words;
        if number < from {
            continue;
        }
        eprintln!("launch {number}: {line}");
        watcher.send(line.to_owned())?;
        match runner.results(&launch) {
            Err(error) => {
                wrong += 1;
                println!("WRONG {line}: {error}");
            }
            Ok(results) => {
                interpreted += results.len() - 1;
                for (how, result) in results {
                    if let Some(difference) = difference(&result, words) {
                        wrong += 1;
                        println!("WRONG {line}, {how}: {difference}");
                    }
                }
            }
        }
    }
    println!(
        "{} launches, {interpreted} of them also interpreted, {wrong} wrong",
        lines.lines().count() - from
    );
    Ok(wrong)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let &[folder, from, limit, interpret @ ("yes" | "no")] = arguments.as_slice() else {
        eprintln!("usage: random_kernels FOLDER FIRST-LAUNCH SECONDS yes|no");
        return ExitCode::from(2);
    };
    let (Ok(from), Ok(limit)) = (from.parse(), limit.parse().map(Duration::from_secs)) else {
        eprintln!("error: FIRST-LAUNCH and SECONDS are whole numbers");
        return ExitCode::from(2);
    };
    match run(Path::new(folder), from, limit, interpret == "yes") {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::from(2)
        }
    }
}
