//! Replayed kernels against launched ones, on the selected device: what they see of the index
//! space, arguments, barriers, atomics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use oclave_image::passes::interpreter::{ByteBox, InterpreterArgumentKind, InterpreterUnit, TaskRecord};
use proptest::prelude::*;

use super::{InterpreterProgram, Load, Segment, Shape, TaskList};
use crate::command::{Argument, KernelCall, Local};
use crate::memory::{Region, usm};
use crate::program::bundle::KernelBundle;
use crate::program::spec::SpecConstant;
use crate::range::{NdRange, Range};
use crate::vector::{Float3, Float4, Int2, Uchar16};
use crate::{Context, Device, Queue, UsmSlice};

const SPIRV: &[u8] = include_bytes!("../../../tests/fixtures/replay.spv");

struct Fixture {
    context: Context,
    queue: Queue,
    bundle: KernelBundle,
}

fn fixture() -> Option<Fixture> {
    let device = match Device::select() {
        Ok(device) if device.capabilities().memory().is_some() => device,
        Ok(_) => {
            println!("skipped: the device has no USM");
            return None;
        }
        Err(error) => {
            println!("skipped: {error}");
            return None;
        }
    };
    println!("device: {}", device.name());
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    let bundle = KernelBundle::of_spirv(&context, SPIRV).unwrap();
    Some(Fixture { context, queue, bundle })
}

impl Fixture {
    fn call(&self, name: &str) -> KernelCall {
        self.bundle.kernel(name).unwrap().call()
    }

    fn name(&self, call: &KernelCall) -> String {
        let kernel = self.context.programs().kernel(self.context.device(), call.target(), call.specs());
        kernel.unwrap().signature().name.clone()
    }

    /// The interpreter program for the kernels of some calls.
    fn program<'c>(&self, calls: impl IntoIterator<Item = &'c KernelCall>) -> Arc<InterpreterProgram> {
        let calls: Vec<_> = calls.into_iter().collect();
        let names = calls.iter().map(|call| self.name(call)).collect();
        let call = calls.first().unwrap();
        let programs = self.context.programs();
        programs.interpreter(self.context.device(), call.target(), call.specs(), &names).unwrap()
    }

    fn shared(&self, len: usize, value: u64) -> UsmSlice<u64, usm::Shared> {
        let memory = self.context.alloc_shared(len).unwrap();
        self.queue.fill(&memory, value).unwrap().wait().unwrap();
        memory
    }

    /// Runs calls one after the other, from one list, by one group.
    fn replay(&self, calls: &[(NdRange, KernelCall)], shape: Shape) {
        let mut list = TaskList::new(calls.len());
        let program = self.program(calls.iter().map(|(_, call)| call));
        let mut local = 0;
        for (index, (range, call)) in calls.iter().enumerate() {
            let kernel = program.layout().kernel_index(&self.name(call)).unwrap();
            local = local.max(add(&mut list, index, &program, kernel, range, call));
        }
        let segment = Segment { first: 0, count: calls.len() as u64, groups: 1, shape, local_bytes: local };
        list.prepare(self.context.driver(), self.context.device()).unwrap();
        let memory: Vec<_> =
            calls.iter().flat_map(|(_, call)| call.arguments()).filter_map(Argument::region).collect();
        let memory = memory.iter().map(|region| region.allocation().tail(0));
        list.launch(&program, self.queue.driver(), &segment, memory, &[]).unwrap().wait().unwrap();
    }
}

/// Writes one task; gives the local memory that it needs.
fn add(
    list: &mut TaskList,
    index: usize,
    program: &InterpreterProgram,
    number: u32,
    range: &NdRange,
    call: &KernelCall,
) -> usize {
    let kernel = program.layout().kernel(number).unwrap();
    let block = list.add_block(kernel);
    let mut local = 0_usize;
    for (place, argument) in kernel.arguments.iter().zip(call.arguments()) {
        let bytes = match (place.kind, argument) {
            (InterpreterArgumentKind::Value { size_bytes }, Argument::Value(value)) => {
                assert_eq!(value.bytes().len(), size_bytes as usize);
                value.bytes().to_vec()
            }
            (InterpreterArgumentKind::Pointer, Argument::Pointer(_)) => {
                argument.region().map_or(0, Region::address).to_ne_bytes().to_vec()
            }
            (InterpreterArgumentKind::Local, Argument::Local { size_bytes, .. }) => {
                let offset = local.next_multiple_of(128);
                local = offset + size_bytes;
                (offset as u64).to_ne_bytes().to_vec()
            }
            other => panic!("{other:?}"),
        };
        list.write(block + place.offset_bytes as usize, &bytes).unwrap();
    }
    let sizes = |range: Range| range.sizes().map(|size| size as u64);
    let offset = range.offset().map_or([0; 3], |offset| {
        let mut sizes = sizes(offset);
        (offset.dimensions()..3).for_each(|axis| sizes[axis] = 0);
        sizes
    });
    let group = range.local().map_or([1; 3], sizes);
    let record = TaskRecord::new(
        number,
        block as u64,
        range.global().dimensions() as u32,
        sizes(range.global()),
        offset,
        group,
    );
    list.set(index, &record).unwrap();
    local
}

const SHAPES: [Shape; 4] = [Shape::Seq, Shape::Wi([2, 1, 1]), Shape::Wi([16, 1, 1]), Shape::Wi([4, 2, 3])];
/// Those of programs for wide groups.
const TEAMS: [Shape; 3] = [
    Shape::Teams { items: 32, width: 32 },
    Shape::Teams { items: 64, width: 32 },
    Shape::Teams { items: 24, width: 3 },
];

/// The shapes that a program has.
fn shapes(program: &InterpreterProgram) -> impl Iterator<Item = Shape> {
    let most = program.wide.map_or(0, |wide| if wide.has_teams() { TEAMS.len() } else { 1 });
    SHAPES.into_iter().chain(TEAMS.into_iter().take(most))
}

/// Compares a launch with a replay in every shape. `call` gets the memory to write to, four numbers
/// for each item.
fn compare(f: &Fixture, range: NdRange, call: impl Fn(&UsmSlice<u64, usm::Shared>) -> KernelCall) {
    let items: usize = range.global().sizes().iter().product();
    let expected = f.shared(items * 4, 77);
    f.queue.parallel_for(range, call(&expected)).unwrap().wait().unwrap();
    for shape in shapes(&f.program([&call(&expected)])) {
        let out = f.shared(items * 4, 77);
        f.replay(&[(range, call(&out))], shape);
        let (out, expected) = (out.read().unwrap(), expected.read().unwrap());
        assert!(*out == *expected, "{range:?} {shape:?}:\n{:?}\nnot\n{:?}", &out[..], &expected[..]);
    }
}

/// Ranges with a local size, dividing or not, and an offset.
fn ranges() -> impl Strategy<Value = ([usize; 3], [usize; 3], [usize; 3], usize)> {
    let three = |range: std::ops::Range<usize>| [range.clone(), range.clone(), range];
    (three(1..9), three(1..5), three(0..10), 1..4_usize)
}

fn nd_range(
    global: [usize; 3],
    local: [usize; 3],
    offset: [usize; 3],
    dimensions: usize,
    whole: bool,
) -> NdRange {
    let global: [usize; 3] =
        std::array::from_fn(|i| if whole { global[i].next_multiple_of(local[i]) } else { global[i] });
    match dimensions {
        1 => NdRange::new(global[0] * 7, if whole { 7 } else { 4 }).with_offset(offset[0]),
        2 => NdRange::new([global[0], global[1]], [local[0], local[1]]).with_offset([offset[0], offset[1]]),
        _ => NdRange::new(global, local).with_offset(offset),
    }
}

#[test]
fn built_ins_are_those_of_a_launch() {
    let Some(f) = fixture() else { return };
    let non_uniform = f.context.device().capabilities().limits.non_uniform_work_groups;
    // PoCL compiles each kernel for each size of group.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5) };
    proptest!(config, |((global, local, offset, dimensions) in ranges())| {
        for whole in [true, false] {
            if !whole && !non_uniform {
                continue;
            }
            let range = nd_range(global, local, offset, dimensions, whole);
            for kernel in ["global_ids", "sizes", "group_ids"] {
                compare(&f, range, |out| f.call(kernel).pointer_mut::<u64>(out));
            }
            for factor in [1_u64, 5] {
                compare(&f, range, |out| f.call("called").pointer_mut::<u64>(out).value(factor));
            }
            for dimension in 0..3_u32 {
                compare(&f, range, |out| f.call("any_dimension").pointer_mut::<u64>(out).value(dimension));
            }
        }
    });
}

/// A launch is not compared, since drivers differ there.
#[test]
fn built_ins_have_the_values_of_opencl_c_beyond_the_third_dimension() {
    let Some(f) = fixture() else { return };
    for dimension in [3_u32, 7, u32::MAX] {
        for shape in shapes(&f.program([&f.call("any_dimension")])) {
            let out = f.shared(6 * 4, 77);
            let call = f.call("any_dimension").pointer_mut::<u64>(&out).value(dimension);
            f.replay(&[(NdRange::new([3, 2], [3, 1]).with_offset([4, 5]), call)], shape);
            assert_eq!(*out.read().unwrap(), *[0, 1, 0, 1001].repeat(6), "{dimension} {shape:?}");
        }
    }
}

#[test]
fn rows_in_parts_have_all_their_items() {
    let Some(f) = fixture() else { return };
    for items in [1, 2, 3, 4, 33] {
        for offset in [0, 1, 5] {
            // It asks for the global id and the global size.
            let row = NdRange::from(items).with_offset(offset);
            let rows = NdRange::from([items, 3]).with_offset([offset, 2]);
            for range in [row, rows] {
                compare(&f, range, |out| f.call("global_ids").pointer_mut::<u64>(out));
            }
        }
    }
}

#[test]
fn arguments_of_every_kind_arrive() {
    #[repr(C)]
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    struct Params {
        tag: i8,
        padding: u8,
        pair: [i16; 2],
        more_padding: [u8; 2],
        weight: f64,
        scale: Float4,
        bytes: [u8; 3],
        padding_inside: [u8; 5],
        wide: i64,
    }
    let Some(f) = fixture() else { return };
    let table = f.context.alloc_device::<i32>(4).unwrap();
    f.queue.write(&table, &[3, -5, 70, 9]).unwrap();
    let params = Params {
        tag: -3,
        padding: 0,
        pair: [100, -2000],
        more_padding: [0; 2],
        weight: 1.625,
        scale: Float4::new([1.0, 2.0, 3.0, 4.5]),
        bytes: [1, 2, 250],
        padding_inside: [0; 5],
        wide: 1 << 40,
    };
    let nothing: Option<UsmSlice<i32>> = None;
    compare(&f, NdRange::new(40, 8), |out| {
        f.call("values")
            .pointer_mut::<u64>(out)
            .value(-7_i8)
            .value(200_u8)
            .value(-300_i16)
            .value(60_000_u16)
            .value(-70_000_i32)
            .value(4_000_000_000_u32)
            .value(-(1_i64 << 40))
            .value(1_u64 << 63)
            .value(0.125_f32)
            .value(-2.5_f64)
            .value(Float3::new([1.0, 2.0, 3.0]))
            .value(Int2::new([-4, 5]))
            .value(Uchar16::new(std::array::from_fn(|i| i as u8 * 15)))
            .value(params)
            .pointer::<i32>(&table)
            .pointer_mut::<i32>(nothing.clone())
    });
}

#[test]
fn groups_have_barriers_and_local_memory() {
    let Some(f) = fixture() else { return };
    let input = f.context.alloc_device::<i32>(256).unwrap();
    f.queue.write(&input, &(0..256).map(|i| i * i % 97).collect::<Vec<_>>()).unwrap();
    for (range, local) in [
        (NdRange::new(64, 16), [16, 1, 1]),
        (NdRange::new(8, 8).with_offset(3), [8, 1, 1]),
        (NdRange::new([16, 8], [8, 4]), [8, 4, 1]),
        (NdRange::new([4, 4, 8], [2, 2, 4]), [2, 2, 4]),
    ] {
        let items: usize = range.global().sizes().iter().product();
        let size: usize = local.iter().product();
        let call = |out: &UsmSlice<u64, usm::Shared>| {
            let call = f.call("group_sums").pointer::<i32>(&input).pointer_mut::<u64>(out);
            call.local(Local::<i32>::new(size)).local(Local::<u8>::new(size))
        };
        let expected = f.shared(items * 4, 0);
        f.queue.parallel_for(range, call(&expected)).unwrap().wait().unwrap();
        // Three tasks on the same local memory, with one that needs no group between.
        let outs = [f.shared(items * 4, 0), f.shared(items * 4, 0)];
        let ids = f.shared(items * 4, 0);
        let tasks = [
            (range, call(&outs[0])),
            (range, f.call("group_ids").pointer_mut::<u64>(&ids)),
            (range, call(&outs[1])),
        ];
        f.replay(&tasks, Shape::Wi(local));
        for out in outs {
            assert_eq!(*out.read().unwrap(), *expected.read().unwrap(), "{range:?}");
        }
        f.queue
            .parallel_for(range, f.call("group_ids").pointer_mut::<u64>(&expected))
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(*ids.read().unwrap(), *expected.read().unwrap(), "{range:?}");
    }
}

#[test]
fn atomics_and_loops_compute_the_same() {
    let Some(f) = fixture() else { return };
    let counters = f.context.alloc_shared::<i32>(3).unwrap();
    for shape in shapes(&f.program([&f.call("atomics")])) {
        let out = f.shared(400, 0);
        f.queue.fill(&counters, 0).unwrap().wait().unwrap();
        let call = || f.call("atomics").pointer_mut::<i32>(&counters).pointer_mut::<u64>(&out);
        f.replay(&[(NdRange::from(100), call()), (NdRange::from(100).with_offset(4), call())], shape);
        assert_eq!(counters.read().unwrap()[..2], [4950 + 5350, 103], "{shape:?}");
    }
    let input = f.context.alloc_device::<f32>(256).unwrap();
    f.queue.write(&input, &(0..256).map(|i| i as f32 * 0.37).collect::<Vec<_>>()).unwrap();
    for n in [0, 1, 33] {
        compare(&f, NdRange::from(70), |out| {
            f.call("looped").pointer_mut::<u64>(out).pointer::<f32>(&input).value(n)
        });
    }
    if f.context.device().capabilities().aspects.contains(crate::device::Aspects::ATOMIC64) {
        let sum = f.shared(1, 0);
        f.replay(&[(NdRange::from(50), f.call("wide_atomics").pointer_mut::<u64>(&sum))], Shape::Seq);
        assert_eq!(sum.read().unwrap()[0], 1225 + (50_u64 << 40));
    }
}

#[test]
fn specialization_constants_have_their_values() {
    let Some(f) = fixture() else { return };
    static CONSTANT: SpecConstant<i32> = SpecConstant::new("CONSTANT", 7);
    for value in [None, Some(-9)] {
        compare(&f, NdRange::from(20), |out| {
            let call = f.call("specialized").pointer_mut::<u64>(out);
            value.map_or_else(|| call.clone(), |value| call.clone().spec(&CONSTANT, value))
        });
    }
    // A value of a constant that the kernel does not use, which is not in the interpreter program
    // then.
    let program = f.program([&f.call("chained").spec(&CONSTANT, 3)]);
    assert!(program.layout().kernel_index("chained").is_some());
}

/// What it prints is not looked at, only that it ends.
#[test]
fn printing_kernels_run() {
    let Some(f) = fixture() else { return };
    for shape in SHAPES {
        f.replay(&[(NdRange::from(3), f.call("says").value(5_i32))], shape);
    }
}

#[test]
fn tasks_see_what_those_before_them_wrote() {
    let Some(f) = fixture() else { return };
    const N: usize = 96;
    let memory = || f.context.alloc_shared::<i32>(N).unwrap();
    for shape in shapes(&f.program([&f.call("shifted"), &f.call("chained")])) {
        let [x, y] = [memory(), memory()];
        f.queue.fill(&x, 3).unwrap().wait().unwrap();
        let tasks: Vec<_> = (0..60)
            .map(|i| {
                let (from, to) = if i % 4 < 2 { (&x, &y) } else { (&y, &x) };
                let shifted = f.call("shifted").pointer::<i32>(from).pointer_mut::<i32>(to).value(N as i32);
                let chained = f.call("chained").pointer_mut::<i32>(from).value(3_i32);
                (NdRange::from(N), if i % 2 == 0 { chained } else { shifted })
            })
            .collect();
        f.replay(&tasks, shape);
        let replayed = (x.read().unwrap().to_vec(), y.read().unwrap().to_vec());
        f.queue.fill(&x, 3).unwrap().wait().unwrap();
        for (range, call) in tasks {
            f.queue.parallel_for(range, call).unwrap();
        }
        f.queue.wait().unwrap();
        assert!(replayed == (x.read().unwrap().to_vec(), y.read().unwrap().to_vec()), "{shape:?}");
    }
}

#[test]
fn lists_change_between_launches_and_groups_share_them() {
    let Some(f) = fixture() else { return };
    const TASKS: usize = 40;
    let x = f.context.alloc_shared::<i32>(TASKS).unwrap();
    let call = |at: usize, factor: i32| {
        f.call("chained").pointer_mut::<i32>(&x.slice(at..=at).unwrap()).value(factor)
    };
    let program = f.program([&call(0, 1)]);
    let number = program.layout().kernel_index("chained").unwrap();
    let kernel = program.layout().kernel(number).unwrap();
    assert_eq!(kernel.unit, InterpreterUnit::Items);
    let mut list = TaskList::new(TASKS);
    for index in 0..TASKS {
        add(&mut list, index, &program, number, &NdRange::from(1), &call(index, 2));
    }
    let factor_at = super::list_bytes(TASKS) + kernel.arguments[1].offset_bytes as usize;
    f.queue.fill(&x, 1).unwrap().wait().unwrap();
    let segment = Segment { first: 0, count: TASKS as u64, groups: 7, shape: Shape::Seq, local_bytes: 0 };
    // More than there are tasks, too.
    let groups = [7, 1, 3, 64, 40];
    let mut expected = 1;
    for (round, (groups, shape)) in
        groups.into_iter().flat_map(|groups| shapes(&program).map(move |s| (groups, s))).enumerate()
    {
        let factor = round as i32 % 3 + 1;
        for index in 0..TASKS {
            list.write(factor_at + index * kernel.block_bytes as usize, &i32::to_ne_bytes(factor)).unwrap();
        }
        list.prepare(f.context.driver(), f.context.device()).unwrap();
        let memory = std::iter::once(x.region().span().unwrap());
        let segment = Segment { groups, shape, ..segment };
        list.launch(&program, f.queue.driver(), &segment, memory, &[]).unwrap();
        expected *= factor;
    }
    f.queue.wait().unwrap();
    assert!(x.read().unwrap().iter().all(|x| *x == expected), "{:?}, not {expected}", x.read().unwrap());
    assert!(list.write(1 << 20, &[0]).is_err() && list.set(TASKS, &TaskRecord::default()).is_err());
    let beyond = Segment { count: TASKS as u64 + 1, ..segment };
    let none = std::iter::empty();
    assert!(list.launch(&program, f.queue.driver(), &beyond, none, &[]).is_err());
}

#[test]
fn copies_and_fills() {
    let Some(f) = fixture() else { return };
    let program = f.program([&f.call("chained")]);
    let layout = program.layout();
    let bytes = |len: usize| f.context.alloc_shared::<u8>(len).unwrap();
    let (from, to) = (bytes(4096), bytes(4096));
    let pattern: Vec<u8> = (0..4096).map(|i| (i * 31 % 251) as u8).collect();
    let address = |memory: &UsmSlice<u8, usm::Shared>| memory.allocation().address().addr() as u64;
    let boxes = [
        (0, 0, ByteBox::contiguous(1000)),
        (3, 5, ByteBox::contiguous(77)),
        (16, 4, ByteBox::contiguous(64)),
        (8, 32, ByteBox { extent: [12, 5, 3], to_pitch: [20, 200], from_pitch: [16, 96] }),
    ];
    for shape in shapes(&program) {
        for (to_at, from_at, of) in boxes {
            from.write().unwrap().copy_from_slice(&pattern);
            to.write().unwrap().fill(0);
            let mut expected = vec![0; 4096];
            let [row, rows, slices] = of.extent.map(|size| size as usize);
            for (z, y) in (0..slices).flat_map(|z| (0..rows).map(move |y| (z, y))) {
                let at = |start: u64, pitch: [u64; 2]| {
                    start as usize + y * pitch[0] as usize + z * pitch[1] as usize
                };
                let (source, target) = (at(from_at, of.from_pitch), at(to_at, of.to_pitch));
                expected[target..target + row].copy_from_slice(&pattern[source..source + row]);
            }
            run_own(
                &f,
                &program,
                shape,
                &layout.copy(address(&to) + to_at, address(&from) + from_at, &of).unwrap(),
                &[&from, &to],
            );
            assert!(*to.read().unwrap() == *expected, "{of:?} {shape:?}");
        }
        for (size, pattern) in
            [(64, vec![9_u8]), (96, vec![1, 2]), (48, vec![1, 2, 3, 4]), (160, (0..16).collect())]
        {
            to.write().unwrap().fill(0);
            let fill = layout.fill(address(&to) + 16, &pattern, &ByteBox::contiguous(size)).unwrap();
            run_own(&f, &program, shape, &fill, &[&to]);
            let mut expected = vec![0; 4096];
            expected
                .iter_mut()
                .skip(16)
                .take(size as usize)
                .zip(pattern.iter().cycle())
                .for_each(|(e, p)| *e = *p);
            assert!(*to.read().unwrap() == *expected, "{pattern:?} {shape:?}");
        }
    }
}

fn run_own(
    f: &Fixture,
    program: &InterpreterProgram,
    shape: Shape,
    task: &oclave_image::passes::interpreter::OwnTask,
    memory: &[&UsmSlice<u8, usm::Shared>],
) {
    let kernel = program.layout().kernel(task.kernel).unwrap();
    let mut list = TaskList::new(1);
    let block = list.add_block(kernel);
    assert_eq!(task.arguments.len(), kernel.block_bytes as usize);
    list.write(block, &task.arguments).unwrap();
    let record = TaskRecord::new(task.kernel, block as u64, 3, task.items, [0; 3], [1; 3]);
    list.set(0, &record).unwrap();
    list.prepare(f.context.driver(), f.context.device()).unwrap();
    let segment = Segment { first: 0, count: 1, groups: 1, shape, local_bytes: 0 };
    let memory = memory.iter().map(|memory| memory.region().span().unwrap());
    list.launch(program, f.queue.driver(), &segment, memory, &[]).unwrap().wait().unwrap();
}

#[test]
fn programs_hold_the_kernels_that_were_asked_for_and_serve_those_that_need_fewer() {
    let Some(f) = fixture() else { return };
    let [chained, shifted, ids] = ["chained", "shifted", "global_ids"].map(|name| f.call(name));
    let both = f.program([&chained, &shifted]);
    assert!(
        both.layout().kernel_index("shifted").is_some() && both.layout().kernel_index("global_ids").is_none()
    );
    assert!(Arc::ptr_eq(&both, &f.program([&shifted])));
    let other = f.program([&shifted, &ids]);
    assert!(!Arc::ptr_eq(&both, &other) && other.layout().kernel_index("chained").is_none());
}

#[test]
fn small_tasks_are_run_in_turn_and_large_ones_by_groups_where_work_items_run_side_by_side() {
    let Some(f) = fixture() else { return };
    let program = f.program([&f.call("chained")]);
    let load = |tasks, items, steps| Load {
        local: None,
        tasks,
        items,
        steps,
        is_straight: false,
        groups: 1,
        widest: 1,
    };
    let groups = Load { local: Some([4, 2, 1]), ..load(1, 8.0, 1.0) };
    assert_eq!(program.shape(&groups), Shape::Wi([4, 2, 1]));
    if program.wide.is_some() {
        assert!(matches!(program.shape(&load(10, 640.0, 640.0)), Shape::Teams { width: 64, .. }));
        return;
    }
    assert_eq!(program.shape(&load(10, 100.0, 10.0 * 100.0)), Shape::Seq);
    let large = program.shape(&load(10, 1e5, 10.0 * 1e5));
    assert_eq!(large, if program.serial_work_items { Shape::Seq } else { Shape::Wi([16, 1, 1]) });
}
