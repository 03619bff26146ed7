//! The disk cache of program binaries, on the selected device.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::{fs, io};

use oclave::kernel::ProgramCache;
use oclave::record::Session;
use oclave::{Context, Device, Graph, Queue};

use crate::common;
use crate::common::{compiled, from_binaries, name_of, process_of};
use crate::kernels::{globals_define, program_scope, saxpy, spec_constants};

/// Runs one kernel in a fresh context and says how its program came about.
fn run(device: &Device, cache: &ProgramCache) -> oclave::Result<Origin> {
    let session = Session::start();
    let context = Context::builder(std::slice::from_ref(device)).program_cache(cache).build()?;
    let queue = Queue::new(&context)?;
    let (x, y) = (context.alloc_device::<f32>(4)?, context.alloc_device::<f32>(4)?);
    queue.write(&x, &[1.0, 2.0, 3.0, 4.0])?;
    queue.write(&y, &[1.0; 4])?;
    queue.parallel_for(4, saxpy::saxpy(2.0, &x, &y))?;
    assert_eq!(queue.read(&y)?, [3.0, 5.0, 7.0, 9.0]);
    Ok(match (compiled(&session), from_binaries(&session)) {
        (1, 0) => Origin::Compiled,
        (0, 1) => Origin::Cached,
        (1, 1) => Origin::Refused,
        other => panic!("programs (compiled, from a binary): {other:?}"),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Compiled,
    Cached,
    /// A cached binary was tried, and then the program was compiled.
    Refused,
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(directory.join("programs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn at(directory: &tempfile::TempDir) -> ProgramCache {
    ProgramCache::Directory(directory.path().to_owned())
}

/// With an empty cache, and with what the first context left in it. PoCL 6.0 read garbage in the first
/// run (Q57).
#[device_test]
fn program_scope_variables_hold_their_values_with_a_cache(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let run = || -> oclave::Result<[Vec<i32>; 2]> {
        let cache = at(&directory);
        let context = Context::builder(std::slice::from_ref(&device)).program_cache(&cache).build()?;
        let queue = Queue::new(&context)?;
        let out = queue.upload(&[-1_i32; 3])?;
        queue.single_task(program_scope::program_scope_look(&out))?;
        let first = queue.read(&out)?;
        queue.single_task(program_scope::program_scope_change(10))?;
        queue.single_task(program_scope::program_scope_look(&out))?;
        Ok([first, queue.read(&out)?])
    };
    for _ in 0..3 {
        match run() {
            Ok(seen) => assert_eq!(seen, [vec![7, 0, 5], vec![17, -10, 50]]),
            Err(error) => {
                println!("refused: {error}");
                let told = error.to_string().replace('_', "-");
                assert!(told.contains("program-scope"), "{error}");
            }
        }
    }
}

#[device_test]
fn the_second_context_finds_the_binary(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(&device, &at(&directory)).unwrap(), Origin::Compiled);
    assert_eq!(entries(directory.path()).len(), 1);
    assert_eq!(run(&device, &at(&directory)).unwrap(), Origin::Cached);
    assert_eq!(run(&device, &ProgramCache::Off).unwrap(), Origin::Compiled);
    assert_eq!(entries(directory.path()).len(), 1);
}

#[device_test]
fn device_globals_work_in_cached_binaries(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let mut binaries = 0;
    for _ in 0..2 {
        let session = Session::start();
        let context =
            Context::builder(std::slice::from_ref(&device)).program_cache(&at(&directory)).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        queue.write(&globals_define::COUNTER, &40).unwrap();
        queue.single_task(globals_define::count_up(2)).unwrap();
        assert_eq!(queue.read(&globals_define::COUNTER).unwrap(), 42);
        binaries += from_binaries(&session);
    }
    assert_eq!(binaries, 1);
}

#[device_test]
fn specialization_constants_keep_their_values(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let context =
            Context::builder(std::slice::from_ref(&device)).program_cache(&at(&directory)).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        for (factor, expected) in [(5, 50.5), (7, 70.5)] {
            let x = queue.upload(&[10.0_f32]).unwrap();
            let call = spec_constants::specialized(&x).spec(&spec_constants::FACTOR, factor);
            queue.single_task(call).unwrap();
            assert_eq!(queue.read(&x).unwrap(), [expected]);
        }
    }
}

#[device_test]
fn damaged_entries_are_rebuilt(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    run(&device, &at(&directory)).unwrap();
    let [entry] = &entries(directory.path())[..] else { panic!("one entry expected") };
    let good = fs::read(entry).unwrap();
    let damages: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("truncated", good[..good.len() / 2].to_vec()),
        (
            "flipped",
            good.iter().enumerate().map(|(i, b)| if i == good.len() - 9 { !b } else { *b }).collect(),
        ),
        ("longer", [&good[..], b"tail"].concat()),
        (
            "foreign",
            b"#!/bin/sh\necho this is no program binary, and longer than a header of it would be, by far\n"
                .to_vec(),
        ),
    ];
    for (what, bytes) in damages {
        fs::write(entry, bytes).unwrap();
        assert_eq!(run(&device, &at(&directory)).unwrap(), Origin::Compiled, "{what}");
        assert_eq!(run(&device, &at(&directory)).unwrap(), Origin::Cached, "after {what}");
    }
}

/// Graphs that run from lists have entries more: the program that does it, and what that costs.
#[device_test]
fn damaged_entries_of_lists_are_made_anew(device: Device) {
    if device.capabilities().memory().is_none() {
        return println!("skipped: kernels cannot address memory by pointers on the device");
    }
    let directory = tempfile::tempdir().unwrap();
    let replay = |what: &str| {
        let context = Context::builder(std::slice::from_ref(&device)).program_cache(&at(&directory));
        let context = context.graph_interpreter(Some(true)).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        let memory = context.alloc_shared::<i32>(8).unwrap();
        memory.write().unwrap().fill(1);
        let bundle = common::bundle(&context);
        let call = common::call(&bundle, "bump_by").pointer_mut::<i32>(&memory).value(1_i32);
        let graph = Graph::from_queue(&queue);
        common::chain(&graph, vec![oclave::Command::parallel_for(8, call); 5]);
        let executable = graph.finalizer().wait_for_interpreter().finalize().unwrap();
        assert_eq!(executable.segments().len(), 1, "{what}: {:?}", executable.not_interpreted());
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(*memory.read().unwrap(), [6; 8], "{what}");
    };
    replay("none");
    let paths = entries(directory.path());
    assert!(paths.len() >= 2, "{paths:?}");
    for path in &paths {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }
    replay("halves");
    for path in &paths {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }
    replay("folders");
}

/// The header of one program's entry, and the binary of another's with a hash that fits.
#[device_test]
fn the_binary_of_another_program_is_rebuilt(device: Device) {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&device, &at(&directory)).unwrap();
    let context = Context::builder(std::slice::from_ref(&device)).program_cache(&at(&other)).build().unwrap();
    let bundle = common::bundle(&context);
    let memory = context.alloc_shared::<i32>(8).unwrap();
    let call = common::call(&bundle, "bump_by").pointer_mut::<i32>(&memory).value(1_i32);
    Queue::new(&context).unwrap().submit(oclave::Command::parallel_for(8, call)).unwrap().wait().unwrap();
    let ([mine], [theirs]) = (&entries(directory.path())[..], &entries(other.path())[..]) else {
        panic!("one entry each expected")
    };
    let (header, foreign) = (fs::read(mine).unwrap(), fs::read(theirs).unwrap());
    let (key, binary) = (&header[16..48], &foreign[88..]);
    let mut forged = [&header[..48], &(binary.len() as u64).to_le_bytes()].concat();
    forged.extend_from_slice(blake3::hash(&[key, binary].concat()).as_bytes());
    forged.extend_from_slice(binary);
    fs::write(mine, forged).unwrap();
    assert_eq!(run(&device, &at(&directory)).unwrap(), Origin::Refused);
    assert_eq!(run(&device, &at(&directory)).unwrap(), Origin::Cached);
}

#[device_test]
fn a_binary_that_the_driver_refuses_is_rebuilt(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    run(&device, &at(&directory)).unwrap();
    for call in ["clCreateProgramWithBinary", "clBuildProgram"] {
        let session = Session::start();
        let handle = session.handle();
        // `run` has a session of its own, so the fault is set in one that both share.
        drop(handle);
        session.fail(call, 1, -42);
        let context =
            Context::builder(std::slice::from_ref(&device)).program_cache(&at(&directory)).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        let y = context.alloc_device::<f32>(1).unwrap();
        queue.write(&y, &[1.0]).unwrap();
        queue.parallel_for(1, saxpy::saxpy(2.0, &y, &y)).unwrap();
        assert_eq!(queue.read(&y).unwrap(), [3.0], "{call}");
        assert_eq!(session.pending_faults(), 0);
        assert_eq!(compiled(&session), 1, "{call}");
        drop((queue, y, context));
        common::settle(&session);
        assert!(session.live().is_empty(), "{call}: {:?}", session.live());
        drop(session);
        assert_eq!(
            run(&device, &at(&directory)).unwrap(),
            Origin::Cached,
            "the entry is there again after {call}"
        );
    }
}

#[device_test]
fn a_directory_that_cannot_be_written_does_no_harm(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"in the way").unwrap();
    for _ in 0..2 {
        assert_eq!(run(&device, &ProgramCache::Directory(file.clone())).unwrap(), Origin::Compiled);
    }
    assert_eq!(fs::read(&file).unwrap(), b"in the way");
}

/// Runs the test `child` of this program in another process.
fn spawn(environment: &[(&str, &std::ffi::OsStr)]) -> io::Result<Output> {
    process_of(&name_of(module_path!(), "child"))
        .arg("--nocapture")
        .env_remove("OCLAVE_CACHE")
        .env_remove("OCLAVE_CACHE_MAX_MIB")
        .envs(environment.iter().copied())
        .output()
}

#[test]
#[ignore = "run in processes of their own by other tests"]
fn child() {
    let device = Device::select().unwrap();
    println!("origin: {:?}", run(&device, &ProgramCache::Environment).unwrap());
}

fn origin(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text.lines().find_map(|line| line.split_once("origin: ")).expect("an origin").1.to_owned()
}

#[device_test]
fn the_environment_says_where_and_whether(_: Device) {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().as_os_str();
    let compiled = [
        vec![("OCLAVE_CACHE_DIR", here), ("OCLAVE_CACHE", "0".as_ref())],
        vec![("OCLAVE_CACHE_DIR", here), ("OCLAVE_CACHE", "off".as_ref())],
    ];
    for environment in compiled {
        assert_eq!(origin(&spawn(&environment).unwrap()), "Compiled");
        assert!(!directory.path().join("programs").exists());
    }
    let on = [("OCLAVE_CACHE_DIR", here), ("OCLAVE_CACHE", "1".as_ref())];
    assert_eq!(origin(&spawn(&on).unwrap()), "Compiled");
    assert_eq!(origin(&spawn(&on).unwrap()), "Cached");
    let small = [
        ("OCLAVE_CACHE_DIR", here),
        ("OCLAVE_CACHE", "1".as_ref()),
        ("OCLAVE_CACHE_MAX_MIB", "0".as_ref()),
        ("OCLAVE_MASK", "fp64".as_ref()),
    ];
    assert_eq!(origin(&spawn(&small).unwrap()), "Compiled", "a mask makes another device of it");
    assert!(entries(directory.path()).is_empty(), "a cache of no size keeps nothing");
    let xdg = [("OCLAVE_CACHE_DIR", "".as_ref()), ("XDG_CACHE_HOME", here), ("OCLAVE_CACHE", "1".as_ref())];
    assert_eq!(origin(&spawn(&xdg).unwrap()), "Compiled");
    assert_eq!(entries(&directory.path().join("oclave")).len(), 1);
}

/// PoCL keeps compiled kernels itself (Q87).
#[device_test]
fn by_default_programs_are_kept_but_on_pocl(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let by_default = [("OCLAVE_CACHE_DIR", directory.path().as_os_str())];
    let is_pocl = device.platform().name().contains("Portable Computing Language");
    let second = if is_pocl { "Compiled" } else { "Cached" };
    for expected in ["Compiled", second] {
        assert_eq!(origin(&spawn(&by_default).unwrap()), expected);
    }
}

#[device_test]
fn many_processes_share_one_directory(_: Device) {
    let directory = tempfile::tempdir().unwrap();
    let on = [("OCLAVE_CACHE_DIR", directory.path().as_os_str()), ("OCLAVE_CACHE", "1".as_ref())];
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let children: Vec<_> = (0..6).map(|_| scope.spawn(|| spawn(&on).unwrap())).collect();
        children.into_iter().map(|child| child.join().unwrap()).collect()
    });
    for output in &outputs {
        assert!(["Compiled", "Cached"].contains(&origin(output).as_str()));
    }
    assert_eq!(entries(directory.path()).len(), 1, "one entry and nothing temporary");
    assert_eq!(origin(&spawn(&on).unwrap()), "Cached");
}
