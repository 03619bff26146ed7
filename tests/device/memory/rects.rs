//! Copies, fills, reads and writes of boxes of two and three dimensions, in USM and in buffers; on
//! the selected device.

use crate::common::{fail_each_call, host_copy_calls, memory_call, queues_and_eventless};
use oclave::command::{CopyFrom, CopyTo};
use oclave::memory::{HostTarget, UsmRect, usm};
use oclave::record::Session;
use oclave::{Buffer, Command, Context, ErrorKind, Event, Graph, Queue, Result, UsmSlice};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn counted(queue: &Queue, len: usize) -> UsmSlice<u32> {
    let memory = queue.context().alloc_device::<u32>(len).unwrap();
    queue.write(&memory, &(0..len as u32).collect::<Vec<_>>()).unwrap();
    memory
}

#[device_test]
fn boxes_of_two_and_three_dimensions(context: Context) {
    for queue in queues_and_eventless(&context) {
        let x = counted(&queue, 60);
        let y = context.alloc_shared::<u32>(60).unwrap();
        let zero = queue.fill(&y, 0).unwrap();
        let from = x.rect([6, 10]).unwrap().part([2, 3], [3, 4]).unwrap();
        let to = y.rect([12, 5]).unwrap().part([1, 0], [3, 4]).unwrap();
        let copied = queue.after(&[&zero]).copy(&from, &to).unwrap();
        let all = queue.after(&[&copied]).read(&y).unwrap();
        let rows = [[23, 24, 25, 26], [33, 34, 35, 36], [43, 44, 45, 46]];
        for (row, expected) in rows.iter().enumerate() {
            assert_eq!(all[5 * (row + 1)..][..4], *expected);
        }
        assert_eq!(all.iter().filter(|value| **value != 0).count(), 12);
        assert_eq!(queue.after(&[&copied]).read(&to).unwrap(), rows.concat());
        assert_eq!(queue.read_async(&from).unwrap().wait().unwrap(), rows.concat());

        // Three dimensions, into memory that lies side by side.
        let part = x.rect([3, 4, 5]).unwrap().part([1, 1, 2], [2, 2, 3]).unwrap();
        let expected = [27, 28, 29, 32, 33, 34, 47, 48, 49, 52, 53, 54];
        let flat = context.alloc_host::<u32>(12).unwrap();
        queue.copy(&part, &flat).unwrap().wait().unwrap();
        assert_eq!(*flat.read().unwrap(), expected);
        assert_eq!(part.shape().sizes(), [2, 2, 3]);
        // And a part of the part.
        let inner = part.part([1, 0, 1], [1, 2, 2]).unwrap();
        assert_eq!(queue.read(&inner).unwrap(), [48, 49, 53, 54]);
    }
}

#[device_test]
fn fills_and_host_data(context: Context) {
    for queue in queues_and_eventless(&context) {
        let memory = context.alloc_device::<u32>(8 * 8).unwrap();
        let zero = queue.fill(&memory, 0).unwrap();
        let part = memory.rect([8, 8]).unwrap().part([2, 2], [4, 4]).unwrap();
        let filled = queue.after(&[&zero]).fill(&part, 7).unwrap();
        let sum = |event: &Event| queue.after(&[event]).read(&memory).unwrap().iter().sum::<u32>();
        assert_eq!(sum(&filled), 16 * 7);
        let set = queue.after(&[&filled]).memset(&part, 1).unwrap();
        assert_eq!(sum(&set), 16 * 0x0101_0101);
        let data: Vec<u32> = (0..16).collect();
        let sent = queue.after(&[&set]).write_async(&part, data.clone()).unwrap();
        assert_eq!(sum(&sent), 120);
        let target = HostTarget::<u32>::new(16).unwrap();
        queue.submit(Command::read(&part, &target).after(&sent)).unwrap().wait().unwrap();
        assert_eq!(target.to_vec().unwrap(), data);
        queue.write(&part.part([1, 0], [1, 4]).unwrap(), &data[..4]).unwrap();
        let mut back = [0; 8];
        queue.read_into(&part.part([0, 1], [4, 2]).unwrap(), &mut back).unwrap();
        assert_eq!(back, [1, 2, 1, 2, 9, 10, 13, 14]);

        // Values that no driver fills with.
        let odd = context.alloc_device::<[u8; 3]>(5 * 7).unwrap();
        let zero = queue.fill(&odd, [0; 3]).unwrap();
        let part = odd.rect([5, 7]).unwrap().part([1, 2], [3, 4]).unwrap();
        let filled = queue.after(&[&zero]).fill(&part, [1, 2, 3]).unwrap();
        let all = queue.after(&[&filled]).read(&odd).unwrap();
        for (index, value) in all.iter().enumerate() {
            let inside = (1..4).contains(&(index / 7)) && (2..6).contains(&(index % 7));
            assert_eq!(*value, if inside { [1, 2, 3] } else { [0; 3] });
        }
        queue.prefetch(&part).unwrap().wait().unwrap();
        queue
            .submit(Command::mem_advise(&part, oclave::command::Advice::ReadMostly))
            .unwrap()
            .wait()
            .unwrap();
    }
}

#[device_test]
fn parts_of_buffers(context: Context) {
    for queue in queues_and_eventless(&context) {
        let image = Buffer::with_data([6, 8], (0..48_u32).collect::<Vec<_>>()).unwrap();
        let tile = Buffer::<u32>::new([2, 3]).unwrap();
        // Ordered by what they do to the buffers, without any event.
        queue.copy(&image.read().part([1, 2], [2, 3]).unwrap(), &tile.write()).unwrap();
        queue.fill(&tile.write().part([0, 1], [2, 1]).unwrap(), 99).unwrap();
        queue.copy(&tile.read(), &image.write().part([4, 5], [2, 3]).unwrap()).unwrap();
        let usm = context.alloc_shared::<u32>(6).unwrap();
        queue.copy(&image.read().part([4, 5], [2, 3]).unwrap(), &usm).unwrap().wait().unwrap();
        assert_eq!(*usm.read().unwrap(), [10, 99, 12, 18, 99, 20]);
        queue.write(&image.write().part([0, 0], [2, 2]).unwrap(), &[1, 2, 3, 4]).unwrap();
        let corner = queue.read(&image.read().part([0, 0], [3, 3]).unwrap()).unwrap();
        assert_eq!(corner, [1, 2, 2, 3, 4, 10, 16, 17, 18]);
        // Within one buffer, side by side.
        queue
            .copy(&image.read().part([0, 0], [6, 4]).unwrap(), &image.write().part([0, 4], [6, 4]).unwrap())
            .unwrap();
        let all = image.host_read().unwrap();
        assert!((0..48).all(|i| i % 8 < 4 || all[i] == all[i - 4]));
        let error = queue
            .copy(&image.read().part([0, 0], [6, 4]).unwrap(), &image.write().part([0, 3], [6, 4]).unwrap())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

#[device_test]
fn rules_of_boxes(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = counted(&queue, 24);
    for shape in [[4, 5], [0, 24], [usize::MAX, 2]] {
        assert_eq!(x.rect(shape).unwrap_err().kind(), ErrorKind::Invalid);
    }
    let rect = x.rect([4, 6]).unwrap();
    for (offset, extent) in [([0, 0], [5, 1]), ([3, 5], [1, 2]), ([usize::MAX, 0], [2, 2]), ([5, 0], [0, 0])]
    {
        let error = rect.part(offset, extent).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert!(rect.part(0, 4).is_err() && rect.part([0, 0, 0], [1, 1, 1]).is_err());
    assert!(rect.part([0, 0], 4).is_err());

    // Halves of an array lie between each other, and are apart.
    let (left, right) = (rect.part([0, 0], [4, 3]).unwrap(), rect.part([0, 3], [4, 3]).unwrap());
    queue.copy(&left, &right).unwrap();
    assert_eq!(queue.read(&right).unwrap(), queue.read(&left).unwrap());
    let middle = rect.part([0, 1], [4, 3]).unwrap();
    let error = queue.copy(&left, &middle).unwrap_err();
    assert!(format!("{error:#}").contains("overlapping"), "{error}");
    let error = queue.copy(&left, &x).unwrap_err();
    assert!(format!("{error:#}").contains("48 bytes to 96"), "{error}");
    // As many elements in another shape.
    let turned = context.alloc_device::<u32>(12).unwrap();
    queue.copy(&left, &turned.rect([3, 4]).unwrap()).unwrap();
    assert_eq!(queue.read(&turned).unwrap(), queue.read(&left).unwrap());

    // Nothing keeps its place.
    let nothing = rect.part([4, 0], [0, 6]).unwrap();
    assert!(nothing.shape().is_empty());
    queue.copy(&nothing, &turned.slice(..0).unwrap()).unwrap().wait().unwrap();
    queue.fill(&nothing, 3).unwrap().wait().unwrap();
    assert!(queue.read(&nothing).unwrap().is_empty());
    // Whole rows are one command.
    let session = Session::start();
    queue.fill(&rect.part([1, 0], [2, 6]).unwrap(), 1).unwrap();
    assert_eq!(session.count(memory_call("clEnqueueMemFillINTEL")), 1);
    // Of a few others each is one, and many are one kernel.
    queue.fill(&left, 1).unwrap();
    assert_eq!(session.count(memory_call("clEnqueueMemFillINTEL")), 5);
    assert_eq!(session.count("clEnqueueNDRangeKernel"), 0);
    let many = x.rect([12, 2]).unwrap();
    let (left_of_many, right_of_many) =
        (many.part([0, 0], [12, 1]).unwrap(), many.part([0, 1], [12, 1]).unwrap());
    queue.fill(&left_of_many, 7).unwrap();
    queue.copy(&left_of_many, &right_of_many).unwrap();
    assert_eq!(session.count(memory_call("clEnqueueMemFillINTEL")), 5);
    assert_eq!(session.count(memory_call("clEnqueueMemcpyINTEL")), 0);
    assert_eq!(session.count("clEnqueueNDRangeKernel"), 2);
    drop(session);
    assert_eq!(queue.read(&x).unwrap(), [7; 24]);

    let other = Context::new(context.device()).unwrap();
    let foreign = other.alloc_device::<u32>(12).unwrap();
    let error = queue.copy(&left, &foreign.rect([4, 3]).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[device_test]
fn behind_host_tasks_and_under_guards(context: Context) {
    for queue in queues_and_eventless(&context) {
        let memory = context.alloc_shared::<u32>(36).unwrap();
        let zero = queue.fill(&memory, 0).unwrap();
        let part = memory.rect([6, 6]).unwrap().part([1, 1], [4, 4]).unwrap();
        let task =
            queue.after(&[&zero]).host_task(|| std::thread::sleep(std::time::Duration::from_millis(5)));
        let filled = queue.after(&[&task.unwrap()]).fill(&part, 2).unwrap();
        let sent = queue.after(&[&filled]).write_async(&part.part([0, 0], [2, 2]).unwrap(), vec![9; 4]);
        let read = queue.after(&[&sent.unwrap()]).read_async(&part).unwrap().wait().unwrap();
        assert_eq!(read, [9, 9, 2, 2, 9, 9, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        let guard = memory.read().unwrap();
        assert_eq!(guard.iter().sum::<u32>(), 60);
        assert_eq!(queue.fill(&part, 1).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[device_test]
fn graphs_take_them(context: Context) {
    let graph = Graph::new(&context, context.device()).unwrap();
    let x = context.alloc_device::<u32>(24).unwrap();
    let (left, right) = (
        x.rect([4, 6]).unwrap().part([0, 0], [4, 3]).unwrap(),
        x.rect([4, 6]).unwrap().part([0, 3], [4, 3]).unwrap(),
    );
    let fill = graph.add(Command::fill(&left, 4)).unwrap();
    graph.after(&fill).add(Command::copy(&left, &right)).unwrap();
    let error = graph.add(Command::copy(&left, &x.rect([4, 6]).unwrap().part([0, 1], [4, 3]).unwrap()));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(graph.add(Command::copy(&left, &x)).unwrap_err().kind(), ErrorKind::Invalid);
    let executable = graph.finalize().unwrap();
    for queue in queues_and_eventless(&context) {
        let zero = queue.fill(&x, 0).unwrap();
        let ran = queue.after(&[&zero]).submit_graph(&executable).unwrap();
        assert_eq!(queue.after(&[&ran]).read(&x).unwrap(), [4; 24]);
    }
}

#[device_test]
fn a_driver_that_fails_in_the_middle(context: Context) {
    for queue in queues_and_eventless(&context) {
        let x = counted(&queue, 60);
        let part = x.rect([6, 10]).unwrap().part([0, 3], [6, 4]).unwrap();
        let session = Session::start();
        session.fail(host_copy_calls()[1], 4, -5);
        let error = queue.write_async(&part, vec![5; 24]).unwrap_err();
        assert_eq!(error.code(), Some(-5), "{error}");
        drop(session);
        queue.write_async(&part, vec![6; 24]).unwrap().wait().unwrap();
        assert_eq!(queue.read(&part).unwrap(), [6; 24]);
        queue.wait().unwrap();
    }
}

/// An array, a box in it.
#[derive(Debug, Clone)]
struct Shape {
    shape: [usize; 3],
    offset: [usize; 3],
    extent: [usize; 3],
}

fn shape(extent: [usize; 3]) -> impl Strategy<Value = Shape> {
    let around = prop::array::uniform3((0..3_usize, 0..3_usize));
    around.prop_map(move |around| {
        let offset = around.map(|(before, _)| before);
        let shape = [0, 1, 2].map(|i| around[i].0 + extent[i] + around[i].1);
        Shape { shape, offset, extent }
    })
}

/// Elements, all of whose bytes the index tells; widths for which there are kernels and others.
trait Element: oclave::bytemuck::Pod + PartialEq + std::fmt::Debug {
    fn of(index: usize) -> Self;
}

impl<const N: usize> Element for [u8; N]
where
    [u8; N]: oclave::bytemuck::Pod,
{
    fn of(index: usize) -> Self {
        std::array::from_fn(|byte| (index * N + byte) as u8)
    }
}

/// Many rows, of elements of one width: a copy to a box elsewhere, and a fill of it.
fn many_rows<T: Element>(queue: &Queue, (from, to): &(Shape, Shape)) -> Result<()> {
    let context = queue.context();
    let data: Vec<T> = (1..=from.len()).map(T::of).collect();
    let source = context.alloc_device::<T>(data.len())?;
    let target = context.alloc_host::<T>(to.len())?;
    let sent = queue.write_async(&source, data.clone())?;
    let zero = queue.fill(&target, T::of(0))?;
    let to_box = target.rect(to.shape)?.part(to.offset, to.extent)?;
    let from_box = source.rect(from.shape)?.part(from.offset, from.extent)?;
    let copied = queue.after(&[&sent, &zero]).copy(&from_box, &to_box)?;
    let mut expected = vec![T::of(0); to.len()];
    for (from, to) in from.indices().into_iter().zip(to.indices()) {
        expected[to] = data[from];
    }
    assert_eq!(queue.after(&[&copied]).read(&target)?, expected);
    let filled = queue.after(&[&copied]).fill(&to_box, T::of(77))?;
    to.indices().into_iter().for_each(|index| expected[index] = T::of(77));
    assert_eq!(queue.after(&[&filled]).read(&target)?, expected);
    Ok(())
}

#[device_test]
fn many_rows_of_any_width_against_a_model(context: Context) {
    let boxes = (1..4_usize, 2..40_usize, 1..20_usize).prop_flat_map(|(planes, rows, columns)| {
        let extent = [planes, rows, columns];
        (shape(extent), shape(extent))
    });
    for queue in queues_and_eventless(&context) {
        for run in [
            many_rows::<[u8; 1]>,
            many_rows::<[u8; 2]>,
            many_rows::<[u8; 3]>,
            many_rows::<[u8; 4]>,
            many_rows::<[u8; 8]>,
            many_rows::<[u8; 12]>,
            many_rows::<[u8; 16]>,
            many_rows::<[u8; 32]>,
        ] {
            let config = Config { cases: 8, failure_persistence: None, ..Config::default() };
            TestRunner::new(config)
                .run(&boxes, |case| {
                    run(&queue, &case).map_err(|error| TestCaseError::fail(format!("{error:#}")))
                })
                .unwrap();
        }
    }
}

#[derive(Debug, Clone)]
struct Case {
    from: Shape,
    to: Shape,
    from_buffer: bool,
    to_buffer: bool,
}

fn case() -> impl Strategy<Value = Case> {
    (prop::array::uniform3(1..4_usize), any::<[bool; 2]>()).prop_flat_map(
        |(extent, [from_buffer, to_buffer])| {
            // As many elements in another shape, too.
            let turned = [extent[2], extent[0], extent[1]];
            (shape(extent), prop_oneof![shape(extent), shape(turned)]).prop_map(move |(from, to)| Case {
                from,
                to,
                from_buffer,
                to_buffer,
            })
        },
    )
}

impl Shape {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn indices(&self) -> Vec<usize> {
        let mut all = Vec::new();
        for plane in 0..self.extent[0] {
            for row in 0..self.extent[1] {
                for column in 0..self.extent[2] {
                    let [a, b, c] = [plane + self.offset[0], row + self.offset[1], column + self.offset[2]];
                    all.push((a * self.shape[1] + b) * self.shape[2] + c);
                }
            }
        }
        all
    }

    fn rect<K: oclave::memory::UsmKind>(&self, memory: &UsmSlice<u16, K>) -> Result<UsmRect<u16, K>> {
        memory.rect(self.shape)?.part(self.offset, self.extent)
    }
}

fn run(queue: &Queue, case: &Case) -> Result<()> {
    fn copy(
        queue: &Queue,
        ready: &[&Event],
        from: &impl CopyFrom<Element = u16>,
        to: &impl CopyTo<Element = u16>,
    ) -> Result<Event> {
        queue.after(ready).copy(from, to)
    }
    let context = queue.context();
    let data: Vec<u16> = (1..=case.from.len() as u16).collect();
    let (source, target) =
        (context.alloc_device::<u16>(data.len())?, context.alloc_shared::<u16>(case.to.len())?);
    let sent = queue.write_async(&source, data.clone())?;
    let zero = queue.fill(&target, 0)?;
    let (from_buffer, to_buffer) =
        (Buffer::with_data(case.from.shape, data.clone())?, Buffer::<u16>::new(case.to.shape)?);
    let from = from_buffer.read().part(case.from.offset, case.from.extent)?;
    let to = to_buffer.write().part(case.to.offset, case.to.extent)?;
    let ready = [&sent, &zero];
    let done = match (case.from_buffer, case.to_buffer) {
        (false, false) => copy(queue, &ready, &case.from.rect(&source)?, &case.to.rect(&target)?)?,
        (false, true) => copy(queue, &ready, &case.from.rect(&source)?, &to)?,
        (true, false) => copy(queue, &ready, &from, &case.to.rect::<usm::Shared>(&target)?)?,
        (true, true) => copy(queue, &ready, &from, &to)?,
    };
    let mut expected = vec![0; case.to.len()];
    for (from, to) in case.from.indices().into_iter().zip(case.to.indices()) {
        expected[to] = data[from];
    }
    let result = match case.to_buffer {
        true => queue.read(&to_buffer.read())?,
        false => queue.after(&[&done]).read(&target)?,
    };
    assert_eq!(result, expected);
    Ok(())
}

#[device_test]
fn random_boxes_against_a_model(context: Context) {
    for queue in queues_and_eventless(&context) {
        let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(&case(), |case| {
                run(&queue, &case).map_err(|error| TestCaseError::fail(format!("{error:#}")))
            })
            .unwrap();
    }
}

/// Fills with patterns that OpenCL does not know are several calls. If one fails, those before it have
/// ended when the error is returned.
#[device_test]
fn calls_of_a_fill_before_one_that_fails_have_ended(context: Context, queue: Queue) {
    let memory = context.alloc_device::<[u8; 3]>(60_000).unwrap();
    let rect = memory.rect([300, 200]).unwrap().part([3, 5], [5, 100]).unwrap();
    fail_each_call(&queue, &Command::fill(&memory, [1, 2, 3]));
    fail_each_call(&queue, &Command::fill(&rect, [1, 2, 3]));
}
