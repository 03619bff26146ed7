//! USM: allocation, copies, fills, guards, and lifetimes, on the selected device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::context;
use oclave::{Context, Device, ErrorKind, Queue, usm};

#[test]
fn copies_arrive() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let data: Vec<u32> = (0..1000).collect();
    let a = context.alloc_device::<u32>(1000).unwrap();
    let b = context.alloc_shared::<u32>(1000).unwrap();
    let c = context.alloc_host::<u32>(1000).unwrap();
    queue.write(&a, &data).unwrap();
    queue.copy(&a, &b).unwrap();
    queue.copy(&b, &c).unwrap();
    assert_eq!(queue.read(&c).unwrap(), data);
    assert_eq!(*c.read().unwrap(), *data);
    let back = queue.read_async(&a).unwrap();
    assert_eq!(back.wait().unwrap(), data);
    let twice: Vec<u32> = data.iter().map(|x| x * 2).collect();
    queue.write_async(&a, twice.clone()).unwrap();
    assert_eq!(queue.read(&a).unwrap(), twice);
    let shared: Arc<[u32]> = data.clone().into();
    queue.write_async(&a, shared).unwrap();
    assert_eq!(queue.read(&a).unwrap(), data);
}

#[test]
fn fills_of_any_size() {
    let Some(context) = context() else { return };
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let bytes = context.alloc_device::<u8>(100).unwrap();
    queue.memset(&bytes, 7).unwrap().wait().unwrap();
    assert_eq!(queue.read(&bytes).unwrap(), [7; 100]);
    let odd = context.alloc_device::<[f32; 3]>(100_000).unwrap();
    let event = queue.fill(&odd, [1.0, 2.0, 3.0]).unwrap();
    assert!(queue.after(&[&event]).read(&odd).unwrap().iter().all(|v| *v == [1.0, 2.0, 3.0]));
    let middle = odd.slice(10..20).unwrap();
    queue.fill(&middle, [0.0, 0.0, 5.0]).unwrap().wait().unwrap();
    let all = queue.read(&odd).unwrap();
    let changed: Vec<usize> = (0..all.len()).filter(|i| all[*i][2] == 5.0).collect();
    assert_eq!(changed, (10..20).collect::<Vec<_>>());
    drop(queue);
}

#[test]
fn slices_know_their_bounds() {
    let Some(context) = context() else { return };
    let a = context.alloc_device::<u16>(10).unwrap();
    assert_eq!(a.slice(2..=4).unwrap().len(), 3);
    assert_eq!(a.slice(..).unwrap().slice(3..).unwrap().len(), 7);
    assert!(a.slice(10..).unwrap().is_empty());
    for bad in [5..11, 11..11, 0..usize::MAX] {
        assert_eq!(a.slice(bad).unwrap_err().kind(), ErrorKind::Invalid);
    }
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    let reversed = 5..4;
    assert_eq!(a.slice(reversed).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(a.slice(..=usize::MAX).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(a.cast::<u32>().unwrap().len(), 5);
    assert_eq!(a.slice(1..5).unwrap().cast::<u32>().unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(a.slice(..3).unwrap().cast::<u32>().unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn lengths_must_agree() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_device::<u32>(10).unwrap();
    assert_eq!(queue.write(&a, &[0; 9]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.read_into(&a, &mut [0; 11]).unwrap_err().kind(), ErrorKind::Invalid);
    let parts = (a.slice(0..5).unwrap(), a.slice(4..9).unwrap());
    assert_eq!(queue.copy(&parts.0, &parts.1).unwrap_err().kind(), ErrorKind::Invalid);
    queue.copy(&a.slice(0..5).unwrap(), &a.slice(5..10).unwrap()).unwrap().wait().unwrap();
}

#[test]
fn nothing_is_fine() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_device::<f64>(0).unwrap();
    let b = context.alloc_shared::<f64>(0).unwrap();
    queue.write(&a, &[]).unwrap();
    queue.copy(&a, &b).unwrap().wait().unwrap();
    queue.fill(&a, 1.0).unwrap().wait().unwrap();
    assert!(queue.read(&a).unwrap().is_empty());
    assert!(b.read().unwrap().is_empty());
    assert!(b.write().unwrap().is_empty());
}

#[test]
fn too_much_is_an_error() {
    let Some(context) = context() else { return };
    for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
        assert_eq!(context.alloc_device::<u64>(len).unwrap_err().kind(), ErrorKind::MemoryAllocation);
        assert_eq!(context.alloc_host::<u64>(len).unwrap_err().kind(), ErrorKind::MemoryAllocation);
        assert_eq!(context.alloc_shared::<u64>(len).unwrap_err().kind(), ErrorKind::MemoryAllocation);
    }
}

#[test]
fn memory_of_another_context_is_refused() {
    let Some(context) = context() else { return };
    let other = Context::new(context.device()).unwrap();
    let queue = Queue::new(&context).unwrap();
    let foreign = other.alloc_device::<u32>(4).unwrap();
    assert_eq!(queue.write(&foreign, &[0; 4]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.fill(&foreign, 1).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.read_async(&foreign).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn guards_keep_commands_off_and_wait_for_them() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_shared::<u32>(1 << 20).unwrap();
    queue.fill(&a, 3).unwrap();
    {
        let read = a.read().unwrap();
        assert!(read.iter().all(|x| *x == 3));
        let second = a.slice(5..6).unwrap().read().unwrap();
        assert_eq!(*second, [3]);
        assert_eq!(a.write().unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(queue.fill(&a, 4).unwrap_err().kind(), ErrorKind::Invalid);
    }
    {
        let mut write = a.slice(..2).unwrap().write().unwrap();
        write[1] = 9;
        assert_eq!(a.read().unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(queue.read(&a).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(queue.read(&a.slice(..3).unwrap()).unwrap(), [3, 9, 3]);
}

#[test]
fn hints_keep_the_order() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_shared::<u8>(4096).unwrap();
    queue.fill(&a, 1).unwrap();
    queue.prefetch(&a).unwrap();
    queue.submit(oclave::Command::mem_advise(&a, oclave::Advice::ReadMostly)).unwrap().wait().unwrap();
    assert!(a.read().unwrap().iter().all(|x| *x == 1));
}

#[test]
fn everything_is_send_sync_and_clone() {
    fn all<T: Send + Sync + Clone + std::fmt::Debug>() {}
    fn most<T: Send + Sync + std::fmt::Debug>() {}
    all::<Device>();
    all::<Context>();
    all::<Queue>();
    all::<oclave::Event>();
    all::<oclave::KernelCall>();
    all::<oclave::UsmSlice<f32, usm::Device>>();
    all::<oclave::UsmSlice<f32, usm::Shared>>();
    most::<oclave::Readback<f32>>();
    most::<oclave::ReadGuard<f32>>();
    most::<oclave::WriteGuard<f32>>();
    most::<oclave::Error>();
}
