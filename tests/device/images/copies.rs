//! How copies from and to the host are given to the driver.

use oclave::images::{D2, Image, Rgba, Unorm8};
use oclave::record::Session;
use oclave::{Command, Queue};

use super::queue;
use crate::common;

type Picture = Image<Rgba<Unorm8>, D2>;

/// Counted in pixels.
fn pixels(count: usize) -> Vec<[u8; 4]> {
    (0..count).map(|i| [i as u8, (i >> 8) as u8, 1, 2]).collect()
}

#[device_test(queue)]
fn a_small_copy_that_nothing_precedes_is_one_call(queue: Queue) {
    let image: Picture = queue.context().alloc_image([8, 8]).unwrap();
    queue.wait().unwrap();
    let session = Session::start();
    queue.write(&image, &pixels(64)).unwrap();
    assert_eq!(queue.read(&image).unwrap(), pixels(64));
    assert_eq!(session.total(), 2, "{:?}", session.counts());
    assert_eq!(session.count("clEnqueueWriteImage"), 1);
    assert_eq!(session.count("clEnqueueReadImage"), 1);
}

/// Waits ask nothing before they block, for copies of 4 and 256 KiB.
#[device_test(queue)]
fn waits_block_at_once(queue: Queue) {
    for edge in [32, 256] {
        let image = || queue.context().alloc_image::<Rgba<Unorm8>, D2>([edge, edge]).unwrap();
        let [a, b]: [Picture; 2] = [image(), image()];
        let data = pixels(edge * edge);
        queue.write(&a, &data).unwrap();
        queue.wait().unwrap();
        let session = Session::start();
        assert_eq!(queue.read(&a).unwrap(), data);
        assert_eq!(session.total(), 1, "{:?}", session.counts());
        session.reset();
        queue.copy(&a, &b).unwrap().wait().unwrap();
        println!("{:?}", session.counts());
        // rusticl is asked how the command ended, after its wait.
        assert!(session.count("clGetEventInfo") <= 1, "{:?}", session.counts());
        let waits = session.count("clWaitForEvents") + session.count("clFinish");
        assert_eq!(waits, 1, "{:?}", session.counts());
        assert_eq!(queue.read(&b).unwrap(), data);
    }
}

#[device_test(queue)]
fn copies_of_every_size_come_behind_what_precedes_them(queue: Queue) {
    for edge in [8, 64, 300] {
        let image: Picture = queue.context().alloc_image([edge, edge]).unwrap();
        for value in 0..4 {
            queue.fill(&image, [value; 4]).unwrap();
            assert_eq!(queue.read(&image).unwrap(), vec![[value; 4]; edge * edge]);
            queue.fill(&image, [9; 4]).unwrap();
            queue.write(&image, &pixels(edge * edge)).unwrap();
            assert_eq!(queue.read(&image).unwrap(), pixels(edge * edge));
        }
    }
}

/// A copy of another queue, which has nothing to do itself, waits for the image.
#[device_test(queue)]
fn copies_wait_for_other_queues(queue: Queue) {
    let other = oclave::Queue::new(queue.context()).unwrap();
    let image: Picture = queue.context().alloc_image([16, 16]).unwrap();
    for value in 0..50 {
        queue.fill(&image, [value; 4]).unwrap();
        assert_eq!(other.read(&image).unwrap(), [[value; 4]; 256]);
        queue.fill(&image, [255; 4]).unwrap();
        other.write(&image, &pixels(256)).unwrap();
        assert_eq!(queue.read(&image).unwrap(), pixels(256));
    }
}

/// If a step of a copy fails, all steps before it have ended when the error is returned.
#[device_test(queue)]
fn steps_before_one_that_fails_have_ended(queue: Queue) {
    let context = queue.context();
    let image: Picture = context.alloc_image([64, 64]).unwrap();
    let memory = context.alloc_device::<[u8; 4]>(128 * 64).unwrap();
    queue.write(&image, &pixels(64 * 64)).unwrap();
    queue.fill(&memory, [0; 4]).unwrap().wait().unwrap();
    let rect = memory.rect([64, 128]).unwrap().part([0, 0], [64, 64]).unwrap();
    for command in [Command::copy(&image, &rect), Command::copy(&rect, &image)] {
        common::fail_each_call(&queue, &command);
    }
}
