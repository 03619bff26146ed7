//! Images in graphs, recorded, added and updated: IMG.

use oclave::graph::{DynamicParameter, ReplayStrategy};
use oclave::images::{D2, Image, Rgba, Sampler};
use oclave::memory::HostTarget;
use oclave::{Command, Context, ErrorKind, Graph, Queue};

use super::common::{graph_devices, queues, strategies};
use super::graph_support::edges;
use super::kernels::images as kernels;
use super::kernels::saxpy::saxpy;

type Picture = Image<Rgba<f32>, D2>;

/// The contexts that graphs of images are tried in.
fn contexts() -> Vec<Context> {
    let devices = graph_devices().into_iter();
    let devices = devices.filter(|device| device.capabilities().images.is_some());
    let contexts: Vec<Context> = devices.map(|device| Context::new(&device).unwrap()).collect();
    if contexts.is_empty() {
        println!("skipped: no device, or one without images");
    }
    contexts
}

fn picture(context: &Context) -> Picture {
    context.alloc_image([4, 4]).unwrap()
}

#[test]
fn img_021_recorded() {
    for context in contexts() {
        for queue in queues(&context) {
            for strategy in strategies(context.device()) {
                let (a, b) = (picture(&context), picture(&context));
                let memory = context.alloc_device::<[f32; 4]>(16).unwrap();
                let graph = Graph::from_queue(&queue);
                let recording = graph.record(&queue).unwrap();
                queue.copy(&memory, &a).unwrap();
                queue.parallel_for([4, 4], kernels::brighten(&a, &b)).unwrap();
                queue.fill(&b.region([0, 0], [1, 1]).unwrap(), [9.0; 4]).unwrap();
                // The memory is USM, whose order is that of the queue. These depend on each other
                // through the images.
                queue.copy(&b, &memory).unwrap();
                recording.end();
                // The last one reads what the fill has left of the picture, too.
                assert_eq!(edges(&graph), [vec![], vec![0], vec![1], vec![1, 2]]);
                let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
                queue.fill(&memory, [1.0; 4]).unwrap().wait().unwrap();
                for _ in 0..3 {
                    queue.submit_graph(&executable).unwrap().wait().unwrap();
                }
                let all = queue.read(&memory).unwrap();
                assert_eq!(all[0], [9.0; 4], "{strategy:?}");
                assert_eq!(all[1..], [[8.0; 4]; 15], "{strategy:?}");
            }
        }
    }
}

#[test]
fn img_022_edges() {
    let Some(context) = contexts().into_iter().next() else { return };
    let (a, b, c) = (picture(&context), picture(&context), picture(&context));
    let target = HostTarget::new(16).unwrap();
    let graph = Graph::new(&context, context.device()).unwrap();
    let top = |image: &Picture| image.region([0, 0], [2, 4]).unwrap();
    let bottom = |image: &Picture| image.region([2, 0], [2, 4]).unwrap();
    for command in [
        Command::fill(&top(&a), [1.0; 4]),
        Command::fill(&bottom(&a), [2.0; 4]),
        Command::parallel_for([4, 4], kernels::brighten(&a, &b)),
        Command::parallel_for([4, 4], kernels::brighten(&a, &c)),
        Command::fill(&top(&a), [3.0; 4]),
        Command::copy(&bottom(&b), &bottom(&c)),
        Command::read(&c, &target),
    ] {
        graph.add(command).unwrap();
    }
    let expected = [vec![], vec![], vec![0, 1], vec![0, 1], vec![0, 2, 3], vec![2, 3], vec![3, 5]];
    assert_eq!(edges(&graph), expected);
    let executable = graph.finalize().unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    let expected = [[[2.0; 4]; 8], [[4.0; 4]; 8]].concat();
    assert_eq!(target.to_vec().unwrap(), expected);
    // A replay is ordered with what the queue does to the images, too.
    queue.fill(&b, [0.0; 4]).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!(queue.read(&b).unwrap(), expected);
}

#[test]
fn img_023_updated() {
    for context in contexts() {
        let queue = Queue::new(&context).unwrap();
        for strategy in strategies(context.device()) {
            let (a, b, out) = (picture(&context), picture(&context), picture(&context));
            queue.fill(&a, [1.0; 4]).unwrap();
            queue.fill(&b, [2.0; 4]).unwrap();
            let corner = b.region([0, 0], [1, 1]).unwrap();
            queue.fill(&corner, [5.0; 4]).unwrap().wait().unwrap();
            let graph = Graph::new(&context, context.device()).unwrap();
            let source = DynamicParameter::new(&graph, a.clone());
            let clamped = Sampler::builder(&context).build().unwrap();
            let border = Sampler::builder(&context).addressing(oclave::images::Addressing::Clamp);
            let border = border.build().unwrap();
            let sampler = DynamicParameter::new(&graph, clamped.clone());
            graph.add(Command::parallel_for([4, 4], kernels::brighten(&source, &out))).unwrap();
            let at = queue.upload(&[[-3.0_f32, 0.5]]).unwrap();
            let sampled = context.alloc_device::<[f32; 4]>(1).unwrap();
            let call = kernels::sample(&source, &sampler, at.cast().unwrap(), sampled.cast().unwrap());
            graph.add(Command::parallel_for(1, call)).unwrap();
            let executable = graph.finalizer().updatable().strategy(strategy).finalize().unwrap();
            let run = || {
                queue.submit_graph(&executable).unwrap().wait().unwrap();
                (queue.read(&out).unwrap()[0][0], queue.read(&sampled).unwrap()[0][0])
            };
            assert_eq!(run(), (2.0, 1.0), "{strategy:?}");
            executable.set(&source, &b).unwrap();
            assert_eq!(run(), (10.0, 5.0), "{strategy:?}");
            executable.set(&sampler, &border).unwrap();
            assert_eq!(run(), (10.0, 0.0), "{strategy:?}");
            let foreign = picture(&Context::new(context.device()).unwrap());
            let error = executable.set(&source, &foreign).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
            assert_eq!(run(), (10.0, 0.0), "{strategy:?}");
            // The image that it writes may not be what it reads.
            let error = executable.set(&source, &out).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::KernelArgument, "{error:#}");
        }
    }
}

#[test]
fn img_023_change_places() {
    for context in contexts() {
        let queue = Queue::new(&context).unwrap();
        for strategy in strategies(context.device()) {
            let images = [picture(&context), picture(&context)];
            queue.fill(&images[0], [1.0; 4]).unwrap();
            queue.fill(&images[1], [0.0; 4]).unwrap().wait().unwrap();
            let graph = Graph::new(&context, context.device()).unwrap();
            let [from, to] = [0, 1].map(|index: usize| DynamicParameter::new(&graph, images[index].clone()));
            let node = graph.add(Command::parallel_for([4, 4], kernels::brighten(&from, &to))).unwrap();
            let executable = graph.finalizer().updatable().strategy(strategy).finalize().unwrap();
            for turn in 0..5_usize {
                from.update(&images[turn % 2]).unwrap();
                // One of them is both for a moment, which no executable takes.
                if turn > 0 {
                    let error = executable.update(&node).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::KernelArgument, "{error}");
                    assert_eq!(graph.finalize().unwrap_err().kind(), ErrorKind::KernelArgument);
                    node.update_range([4, 4]).unwrap();
                }
                to.update(&images[(turn + 1) % 2]).unwrap();
                executable.update(&node).unwrap();
                queue.submit_graph(&executable).unwrap().wait().unwrap();
                let brightness = f32::from(1_u8 << (turn + 1));
                assert_eq!(queue.read(&images[(turn + 1) % 2]).unwrap()[0], [brightness; 4], "{strategy:?}");
            }
        }
    }
}

#[test]
fn img_024_updated_copies() {
    for context in contexts() {
        let queue = Queue::new(&context).unwrap();
        let (a, b) = (picture(&context), picture(&context));
        let memory = context.alloc_device::<[f32; 4]>(16).unwrap();
        let graph = Graph::new(&context, context.device()).unwrap();
        let fill = graph.add(Command::fill(&a, [1.0; 4])).unwrap();
        let copy = graph.after_all_leaves().add(Command::copy(&a, &memory)).unwrap();
        let executable = graph.finalizer().updatable().finalize().unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(queue.read(&memory).unwrap(), [[1.0; 4]; 16]);
        fill.update_command(Command::fill(&b, [2.0; 4])).unwrap();
        copy.update_command(Command::copy(&b, &memory)).unwrap();
        executable.update(&[&fill, &copy]).unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(queue.read(&memory).unwrap(), [[2.0; 4]; 16]);
    }
}

#[test]
fn img_025_interpreter() {
    let Some(context) = contexts().into_iter().next() else { return };
    let (a, b) = (picture(&context), picture(&context));
    let (x, y) = (context.alloc_device::<f32>(8).unwrap(), context.alloc_device::<f32>(8).unwrap());
    let queue = Queue::new(&context).unwrap();
    queue.fill(&x, 1.0).unwrap();
    queue.fill(&y, 0.0).unwrap().wait().unwrap();
    let graph = Graph::new(&context, context.device()).unwrap();
    graph.add(Command::fill(&a, [1.0; 4])).unwrap();
    graph.add(Command::parallel_for([4, 4], kernels::brighten(&a, &b))).unwrap();
    for _ in 0..8 {
        graph.after_all_leaves().add(Command::parallel_for(8, saxpy(1.0, &x, &y))).unwrap();
    }
    let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
    let executable = finalizer.finalize().unwrap();
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    assert_eq!(queue.read(&b).unwrap(), [[2.0; 4]; 16]);
    assert_eq!(queue.read(&y).unwrap(), [8.0; 8]);
    if std::env::var("OCLAVE_GRAPH_INTERPRETER").is_ok_and(|switch| switch == "off") {
        println!("skipped: the interpreter is switched off, so it gives no reasons");
        return;
    }
    assert_eq!(executable.segments().len(), 1, "{:?}", executable.not_interpreted());
    let reasons = executable.not_interpreted();
    let reason_of = |node: usize| {
        let found = reasons.iter().find(|reason| reason.nodes.contains(&node));
        found.map(|found| found.reason.clone()).unwrap_or_default()
    };
    assert!(reason_of(0).contains("a copy or a fill of an image"), "{reasons:?}");
    assert!(reason_of(1).contains("`brighten`: it uses images"), "{reasons:?}");
}
