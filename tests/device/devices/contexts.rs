//! Contexts of several devices, sub-devices, and devices that lack something, on the selected
//! device.

use crate::common::{NO_POINTERS, bundle, call};
use oclave::device::mask::Mask;
use oclave::{Context, ErrorKind, Queue};

#[device_test]
fn sub_devices_share_a_context(context: Context) {
    let device = context.device().clone();
    if !device.capabilities().partition_equally {
        println!("skipped: the device cannot be partitioned");
        return;
    }
    let parts = device.partition_equally(1).unwrap();
    let context = Context::builder(&parts).build().unwrap();
    assert_eq!(context.devices(), parts);
    let bundle = bundle(&context);
    let memory = context.alloc_shared::<u32>(8).unwrap();
    let mut last = None;
    for (i, part) in parts.iter().enumerate() {
        let queue = Queue::builder(&context).device(part).build().unwrap();
        let own = context.alloc_device_on::<u32>(part, 8).unwrap();
        queue.fill(&own, i as u32 * 10).unwrap();
        queue.single_task(call(&bundle, "slow").pointer_mut(&own).value(1000_u32)).unwrap();
        let events: Vec<_> = last.iter().collect();
        last = Some(queue.after(&events).copy(&own, &memory).unwrap());
        // Memory of one device is not for the queues of another.
        if i > 0 {
            let first = Queue::builder(&context).device(&parts[0]).build().unwrap();
            assert_eq!(first.fill(&own, 0).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
    let expected = (parts.len() as u32 - 1) * 10;
    let memory = memory.read().unwrap();
    assert_eq!((memory[0], &memory[1..]), (expected + 1, &[expected; 7][..]));
    // A whole device's memory is also its parts'.
    let whole = Context::builder(&[device.clone(), parts[0].clone()]).build().unwrap();
    let memory = whole.alloc_device_on::<u32>(&device, 4).unwrap();
    let queue = Queue::builder(&whole).device(&parts[0]).build().unwrap();
    queue.fill(&memory, 7).unwrap();
    assert_eq!(queue.read(&memory).unwrap(), [7; 4]);
}

#[device_test]
fn devices_that_are_not_there_are_refused(context: Context) {
    assert_eq!(Context::builder(&[]).build().unwrap_err().kind(), ErrorKind::Invalid);
    let foreign = context.device().masked(Mask::FP64);
    let error = Queue::builder(&context).device(&foreign).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(context.alloc_device_on::<u8>(&foreign, 1).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn what_a_device_lacks_is_named(context: Context) {
    let device = context.device();
    let without = |mask| Context::new(&device.masked(mask)).unwrap();
    let error = without(NO_POINTERS).alloc_device::<u8>(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
    assert!(format!("{error:#}").contains("cl_intel_unified_shared_memory"), "{error}");
    if device.capabilities().usm.is_some() {
        let some = without(Mask::SHARED_USM);
        assert_eq!(some.alloc_shared::<u8>(1).unwrap_err().kind(), ErrorKind::FeatureNotSupported);
        some.alloc_device::<u8>(1).unwrap();
    }
    let error = Queue::builder(&without(Mask::OUT_OF_ORDER)).out_of_order().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
    assert!(format!("{error:#}").contains("out-of-order"), "{error}");
    let error = Context::new(&device.masked(Mask::SPIRV)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
}
