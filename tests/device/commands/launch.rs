//! Launches: index spaces, arguments, order, events, on the selected device.

use crate::common;

use crate::common::{bundle, call, context};
use bytemuck::{Pod, Zeroable};
use oclave::device::mask::Mask;
use oclave::event::EventStatus;
use oclave::kernel::{Local, NdRange, Range};
use oclave::record::Session;
use oclave::vector::Float4;
use oclave::{Context, ErrorKind, Queue, UsmSlice};

#[device_test]
fn ranges_of_every_dimension(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let ranges: [NdRange; 7] = [
        60.into(),
        [6, 10].into(),
        [3, 4, 5].into(),
        NdRange::new(60, 10),
        NdRange::new([6, 10], [3, 2]),
        NdRange::new([3, 4, 5], [1, 2, 5]),
        NdRange::from([3, 4, 5]).with_offset([7, 0, 9]),
    ];
    for range in ranges {
        let out = context.alloc_shared::<u32>(60).unwrap();
        queue.fill(&out, 0).unwrap();
        queue.parallel_for(range, call(&bundle, "ids").pointer_mut::<u32>(&out)).unwrap();
        assert!(out.read().unwrap().iter().copied().eq(1..=60), "{range:?}: {out:?}");

        let shape = context.alloc_shared::<u64>(10).unwrap();
        queue.parallel_for(range, call(&bundle, "shape").pointer_mut::<u64>(&shape)).unwrap();
        let shape = shape.read().unwrap();
        let dimensions = range.global().dimensions();
        let sizes = |range: Range| range.sizes().map(|size| size as u64);
        assert_eq!(shape[0], dimensions as u64);
        assert_eq!(shape[1..4], sizes(range.global()));
        if let Some(local) = range.local() {
            assert_eq!(shape[4..7], sizes(local));
        }
        for i in 0..dimensions {
            assert_eq!(shape[7 + i], range.offset().map_or(0, |offset| offset.sizes()[i] as u64));
        }
    }
}

#[device_test]
fn empty_ranges_run_nothing_in_order(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let out = context.alloc_shared::<u32>(4).unwrap();
    queue.fill(&out, 9).unwrap();
    let session = Session::start();
    for range in [Range::from(0), [4, 0].into(), [0, 0, 0].into()] {
        let event = queue.parallel_for(range, call(&bundle, "ids").pointer_mut::<u32>(&out)).unwrap();
        event.wait().unwrap();
        assert_eq!(event.status().unwrap(), EventStatus::Complete);
    }
    assert_eq!(session.count("clEnqueueNDRangeKernel"), 0);
    assert_eq!(*out.read().unwrap(), [9; 4]);
}

#[test]
fn values_local_memory_and_null_arrive() {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        factor: i32,
        bias: [i16; 2],
        padding: [u8; 8],
        scale: Float4,
    }
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);

    let out = context.alloc_host::<f32>(4).unwrap();
    let params =
        Params { factor: 3, bias: [-1, 10], padding: [0; 8], scale: Float4::new([0.5, 1.0, 2.0, 4.0]) };
    let by_value = call(&bundle, "by_value").value(params).value(-7_i8).value(1_i64 << 33).pointer_mut(&out);
    queue.single_task(by_value).unwrap();
    assert_eq!(*out.read().unwrap(), [12.0, 7.5, -7.0, (1_u64 << 33) as f32]);

    let input = context.alloc_device::<i32>(64).unwrap();
    queue.write(&input, &(0..64).collect::<Vec<_>>()).unwrap();
    let sums = context.alloc_shared::<i32>(4).unwrap();
    let sum = call(&bundle, "group_sum").pointer(&input).pointer_mut(&sums).local(Local::<i32>::new(16));
    queue.parallel_for(NdRange::new(64, 16), sum).unwrap();
    assert_eq!(*sums.read().unwrap(), [120, 376, 632, 888]);

    let null = context.alloc_shared::<i32>(2).unwrap();
    let nothing: Option<UsmSlice<i32>> = None;
    let (first, second) = (null.slice(..1).unwrap(), null.slice(1..).unwrap());
    queue.single_task(call(&bundle, "is_null").pointer(nothing).pointer_mut(&first)).unwrap();
    queue.single_task(call(&bundle, "is_null").pointer(&input).pointer_mut(&second)).unwrap();
    assert_eq!(*null.read().unwrap(), [1, 0]);
}

#[device_test]
fn required_work_group_sizes(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let out = context.alloc_shared::<u32>(16 * 8).unwrap();
    let tiled = call(&bundle, "tiled").pointer_mut(&out);
    for range in [NdRange::from([16, 8]), NdRange::new([16, 8], [8, 4])] {
        queue.fill(&out, 0).unwrap();
        queue.parallel_for(range, tiled.clone()).unwrap();
        assert!(out.read().unwrap().iter().all(|x| *x == 804));
    }
    for range in [NdRange::new([16, 8], [4, 8]), NdRange::from(16), NdRange::new([16, 8, 1], [8, 4, 2])] {
        let error = queue.parallel_for(range, tiled.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
        assert!(
            format!("{error:#}").contains("[8, 4, 1]") && format!("{error:#}").contains("tiled"),
            "{error}"
        );
    }
}

#[device_test]
fn work_groups_beyond_the_device_are_refused(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let out = context.alloc_device::<u32>(1 << 20).unwrap();
    let session = Session::start();
    let limits = context.device().capabilities().limits.clone();
    let too_large = limits.max_work_group_size + 1;
    let mut bad: Vec<NdRange> = vec![
        NdRange::new(too_large, too_large),
        NdRange::new(64, 0),
        NdRange::new([64, 2], 64),
        NdRange::new(64, [8, 2]),
    ];
    if !limits.non_uniform_work_groups {
        bad.push(NdRange::new(65, 64));
    }
    for range in bad {
        let error = queue.parallel_for(range, call(&bundle, "ids").pointer_mut(&out)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NdRange, "{range:?}: {error}");
    }
    for local in [limits.local_memory_bytes as usize / 4 + 1, usize::MAX] {
        let sum = call(&bundle, "group_sum")
            .pointer(out.cast::<i32>().unwrap())
            .pointer_mut(out.cast::<i32>().unwrap());
        let error =
            queue.parallel_for(NdRange::new(64, 16), sum.local(Local::<i32>::new(local))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelArgument, "{error}");
    }
    assert_eq!(session.count("clEnqueueNDRangeKernel"), 0);
}

#[device_test]
fn partial_work_groups_run_where_the_device_has_them(context: Context) {
    if !context.device().capabilities().limits.non_uniform_work_groups {
        println!("skipped: the device only runs full work-groups");
        return;
    }
    let queue = Queue::new(&context).unwrap();
    let out = context.alloc_shared::<u32>(65).unwrap();
    queue.parallel_for(NdRange::new(65, 16), call(&bundle(&context), "ids").pointer_mut(&out)).unwrap();
    assert!(out.read().unwrap().iter().copied().eq(1..=65));
}

#[device_test]
fn partial_work_groups_can_be_refused_everywhere(context: Context) {
    let strict = Context::new(&context.device().masked(Mask::NON_UNIFORM_WORK_GROUPS)).unwrap();
    let queue = Queue::new(&strict).unwrap();
    let out = strict.alloc_shared::<u32>(65).unwrap();
    let ids = || call(&bundle(&strict), "ids").pointer_mut(&out);
    let error = queue.parallel_for(NdRange::new(65, 16), ids()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
    queue.parallel_for(NdRange::new(64, 16), ids()).unwrap().wait().unwrap();
}

#[device_test]
fn wrong_arguments_are_refused_before_the_driver_sees_them(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let out = context.alloc_device::<i32>(4).unwrap();
    let floats = context.alloc_device::<f32>(4).unwrap();
    let foreign = other.alloc_device::<i32>(4).unwrap();
    let warm = call(&bundle, "bump_by").pointer_mut(&out).value(1_i32);
    queue.parallel_for(4, warm.clone()).unwrap().wait().unwrap();
    let session = Session::start();
    let bump = || call(&bundle, "bump_by");
    for (bad, kind) in [
        (bump().pointer_mut(&out), ErrorKind::KernelArgument),
        (bump(), ErrorKind::KernelArgument),
        (warm.clone().value(1_i32), ErrorKind::KernelArgument),
        (bump().pointer_mut(&out).value(1_i64), ErrorKind::KernelArgument),
        (bump().pointer_mut(&out).value(1_f32), ErrorKind::KernelArgument),
        (bump().value(1_i32).pointer_mut(&out), ErrorKind::KernelArgument),
        (bump().pointer_mut(&floats).value(1_i32), ErrorKind::KernelArgument),
        (bump().pointer_mut(&foreign).value(1_i32), ErrorKind::Invalid),
    ] {
        let error = queue.parallel_for(4, bad).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(format!("{error:#}").contains("bump_by"), "{error}");
    }
    let error = Queue::new(&other).unwrap().parallel_for(4, warm).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(session.count("clEnqueueNDRangeKernel"), 0);
    assert_eq!(session.count("clSetKernelArg") + session.count("clSetKernelArgMemPointerINTEL"), 0);
    assert_eq!(bundle.kernel("nobody").unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn host_access_keeps_launches_off(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let value = context.alloc_shared::<u32>(1).unwrap();
    value.write().unwrap()[0] = 5;
    let slow = call(&bundle, "slow").pointer_mut(&value).value(3_000_000_u32);
    for _ in 0..3 {
        queue.single_task(slow.clone()).unwrap();
    }
    let guard = value.read().unwrap();
    assert_eq!(*guard, [8]);
    assert_eq!(queue.single_task(slow.clone()).unwrap_err().kind(), ErrorKind::Invalid);
    drop(guard);
    queue.single_task(slow).unwrap().wait().unwrap();
    assert_eq!(value.read().unwrap()[0], 9);
}

#[device_test]
fn dependencies_order_an_out_of_order_queue(context: Context) {
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let bundle = bundle(&context);
    let buffers = [context.alloc_device::<u32>(256).unwrap(), context.alloc_device::<u32>(256).unwrap()];
    let mut last = queue.fill(&buffers[0], 0).unwrap();
    for i in 0..300_u32 {
        let (from, to) = (&buffers[i as usize % 2], &buffers[(i as usize + 1) % 2]);
        let step = call(&bundle, "step").pointer(from).pointer_mut(to).value(i);
        last = queue.after(&[&last]).parallel_for(256, step).unwrap();
    }
    assert!(queue.after(&[&last]).read(&buffers[0]).unwrap().iter().all(|x| *x == 300));
}

#[device_test]
fn dependencies_between_queues_and_contexts(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let queues = [Queue::new(&context).unwrap(), Queue::builder(&context).out_of_order().build().unwrap()];
    let bundle = bundle(&context);
    let value = context.alloc_device::<u32>(1).unwrap();
    let start = queues[0].fill(&value, 0).unwrap();
    let mut last = queues[1].after(&[&start]).marker().unwrap();
    for i in 0..100_u32 {
        let slow = call(&bundle, "slow").pointer_mut(&value).value(1000_u32);
        last = queues[i as usize % 2].after(&[&last, &start]).single_task(slow).unwrap();
    }
    let elsewhere = Queue::new(&other).unwrap();
    let foreign = elsewhere.after(&[&last]).marker().unwrap();
    foreign.wait().unwrap();
    assert_eq!(last.status().unwrap(), EventStatus::Complete);
    assert_eq!(queues[0].after(&[&foreign]).read(&value).unwrap(), [100]);
}

#[device_test]
fn many_dependencies(context: Context) {
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let all = context.alloc_device::<u32>(40).unwrap();
    let events: Vec<_> = (0..40).map(|i| queue.fill(&all.slice(i..=i).unwrap(), i as u32).unwrap()).collect();
    for count in [7, 8, 9, 40] {
        let events: Vec<_> = events.iter().take(count).collect();
        let some = queue.after(&events).read(&all.slice(..count).unwrap()).unwrap();
        assert!(some.into_iter().eq(0..count as u32));
    }
}

#[device_test]
fn events_tell_how_far_a_command_is(context: Context) {
    let queue = Queue::builder(&context).profiling().build().unwrap();
    let plain = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let value = context.alloc_device::<u32>(1).unwrap();
    let slow = call(&bundle, "slow").pointer_mut(&value).value(20_000_000_u32);
    let event = queue.single_task(slow.clone()).unwrap();
    // Only asking must see it end.
    let mut states = vec![event.status().unwrap()];
    while !event.is_complete().unwrap() {
        states.push(event.status().unwrap());
        states.dedup();
        std::thread::yield_now();
    }
    println!("{states:?}");
    assert_ne!(states[0], EventStatus::Complete);
    let times = event.profiling().unwrap();
    assert!(times.queued_ns <= times.submitted_ns && times.submitted_ns <= times.started_ns, "{times:?}");
    assert!(times.ended_ns > times.started_ns + 1_000_000, "{times:?}");
    assert_eq!(event.clone().profiling().unwrap(), times);

    let event = plain.single_task(slow).unwrap();
    event.wait().unwrap();
    let error = event.profiling().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Profiling);
    assert!(format!("{error:#}").contains("profiling()"), "{error}");
}

#[device_test]
fn discarded_events_still_work(context: Context) {
    let bundle = bundle(&context);
    for out_of_order in [false, true] {
        let builder = Queue::builder(&context).discard_events();
        let queue = if out_of_order { builder.out_of_order() } else { builder }.build().unwrap();
        let other = Queue::new(&context).unwrap();
        let value = context.alloc_shared::<u32>(1).unwrap();
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let session = Session::start();
        let slow = call(&bundle, "slow").pointer_mut(&value).value(3_000_000_u32);
        let event = queue.single_task(slow.clone()).unwrap();
        assert_eq!(session.live().get(&oclave::record::ObjectKind::Event), None);
        let again = event.clone();
        let then = other.after(&[&event]).single_task(slow).unwrap();
        then.wait().unwrap();
        again.wait().unwrap();
        assert_eq!(event.status().unwrap(), EventStatus::Complete);
        assert_eq!(*value.read().unwrap(), [2]);
        assert_eq!(event.profiling().unwrap_err().kind(), ErrorKind::Profiling);
    }
}

#[device_test]
fn the_driver_suggests_groups(context: Context) {
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let values = queue.upload(&vec![0_i32; 4096]).unwrap();
    let bump = || call(&bundle, "bump_by").pointer_mut::<i32>(&values).value(1_i32);
    let has = context.device().capabilities().suggested_group_sizes;
    println!("suggested group sizes: {has}");
    let suggested = queue.suggested_group_size(4096, &bump()).unwrap();
    assert_eq!(suggested.is_some(), has);
    if let Some(group) = suggested {
        assert_eq!(4096 % group.sizes()[0], 0, "{group:?}");
        queue.parallel_for(NdRange::new(4096, group), bump()).unwrap().wait().unwrap();
        assert_eq!(queue.read(&values).unwrap(), vec![1; 4096]);
        let two = queue.suggested_group_size([64, 64], &bump()).unwrap().unwrap();
        assert_eq!(two.dimensions(), 2);
    }
    let given = queue.suggested_group_size(NdRange::new(64, 16), &bump()).unwrap();
    assert_eq!(given.map(|group| group.sizes()[0]), Some(16));
    assert_eq!(queue.suggested_group_size(0, &bump()).unwrap(), None);
    let wrong = queue.suggested_group_size(64, &call(&bundle, "bump_by")).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::KernelArgument);
    let masked = Context::new(&context.device().masked(Mask::SUGGESTED_GROUP_SIZES)).unwrap();
    let (queue, bundle) = (Queue::new(&masked).unwrap(), common::bundle(&masked));
    let values = queue.upload(&[0_i32; 8]).unwrap();
    let bump = call(&bundle, "bump_by").pointer_mut::<i32>(&values).value(1_i32);
    assert_eq!(queue.suggested_group_size(8, &bump).unwrap(), None);
}
