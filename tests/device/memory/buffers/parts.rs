//! Parts: accessors of boxes, sub-buffers, and parts without elements.

use super::out_of_order;
use crate::kernels::buffers::{advance, advance_tile, combine};
use oclave::kernel::NdRange;
use oclave::memory::Shape;
use oclave::{Buffer, Context, ErrorKind, Queue};

#[device_test]
fn parts_of_buffers_of_three_dimensions(context: Context) {
    let queue = out_of_order(&context);
    let (planes, rows, columns) = (3, 4, 5);
    let buffer = Buffer::<u32>::new([planes, rows, columns]).unwrap();
    let part = buffer.read_write().part([1, 1, 2], [2, 2, 3]).unwrap();
    assert_eq!(part.shape(), Shape::from([2, 2, 3]));
    // The first dimension of a launch is the last one of a buffer.
    let range = NdRange::from([3, 2, 2]);
    for (factor, addend) in [(1, 7), (3, 1)] {
        let call = advance_tile(&part, columns as u64, (rows * columns) as u64, factor, addend);
        queue.parallel_for(range, call).unwrap();
    }
    let data = buffer.host_read().unwrap();
    for i in 0..planes {
        for j in 0..rows {
            for k in 0..columns {
                let inside = (1..3).contains(&i) && (1..3).contains(&j) && (2..5).contains(&k);
                assert_eq!(data[(i * rows + j) * columns + k], if inside { 22 } else { 0 }, "{i} {j} {k}");
            }
        }
    }
    assert_eq!(*part.host().unwrap(), [22; 12]);
    assert_eq!(
        buffer.read().part([0, 1, 1], [3, 1, 2]).unwrap().host().unwrap().into_vec(),
        [0, 0, 0, 22, 0, 22]
    );
}

#[test]
fn parts_know_their_bounds() {
    let buffer = Buffer::<f32>::new([4, 8]).unwrap();
    let whole = buffer.read();
    let part = whole.part([1, 2], [3, 6]).unwrap();
    assert!(part.part([2, 5], [1, 1]).is_ok());
    assert!(part.part([3, 6], [0, 0]).unwrap().shape().is_empty());
    assert!(part.slice(3..).unwrap().shape().is_empty());
    for bad in [
        part.part([3, 0], [1, 1]),
        part.part([0, 1], [1, 6]),
        part.part([0, 0], [usize::MAX, 1]),
        part.part([usize::MAX, 0], [2, 1]),
        part.part(0, 1),
        part.part([0, 0, 0], [1, 1, 1]),
        part.slice(2..4),
        #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
        part.slice(2..1),
        part.slice(..=usize::MAX),
    ] {
        let error = bad.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("[3, 6] elements of buffer"), "{error}");
        assert!(format!("{error:#}").contains("[4, 8] `f32`"), "{error}");
    }
}

#[device_test]
fn sub_buffers_share_their_elements(context: Context) {
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec((0..256).collect::<Vec<u32>>()).unwrap();
    let halves = [buffer.sub_buffer(0, 128).unwrap(), buffer.sub_buffer(128, 128).unwrap()];
    assert_eq!((halves[1].len(), halves[1].size_bytes()), (128, 512));
    for step in 0..20 {
        queue.parallel_for(128, combine(halves[0].read(), halves[1].read_write(), step)).unwrap();
        queue.parallel_for(256, advance(buffer.read_write(), 3, step)).unwrap();
    }
    let mut expected: Vec<u32> = (0..256).collect();
    for step in 0..20 {
        for i in 0..128 {
            expected[128 + i] = expected[128 + i].wrapping_mul(step).wrapping_add(expected[i]);
        }
        expected.iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(step));
    }
    assert_eq!(*halves[1].host_read().unwrap(), expected[128..]);
    assert_eq!(*buffer.host_read().unwrap(), *expected);
}

#[device_test]
fn sub_buffers_have_rules(context: Context) {
    let buffer = Buffer::<u32>::new([8, 64]).unwrap();
    let rows = buffer.sub_buffer([2, 0], [3, 64]).unwrap();
    assert!(buffer.sub_buffer([2, 5], [1, 50]).is_ok());
    assert!(buffer.sub_buffer([8, 0], [0, 64]).is_ok());
    for (bad, why) in [
        (buffer.sub_buffer([2, 1], [2, 63]), "side by side"),
        (buffer.sub_buffer([6, 0], [3, 64]), "not within"),
        (buffer.sub_buffer(0, 64), "not within"),
        (rows.sub_buffer([0, 0], [1, 64]), "sub-buffer of a sub-buffer"),
    ] {
        let error = bad.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            format!("{error:#}").contains(why) && format!("{error:#}").contains("[8, 64] `u32`"),
            "{error}"
        );
    }
    // Devices want sub-buffers to begin at certain addresses.
    let queue = Queue::new(&context).unwrap();
    let alignment = context.device().capabilities().limits.buffer_alignment_bytes;
    let odd = buffer.sub_buffer([0, 1], [1, 8]).unwrap();
    let launched = queue.parallel_for(8, advance(odd.read_write(), 1, 1));
    if alignment > 4 {
        let error = launched.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains(&format!("multiple of {alignment} bytes")), "{error}");
    } else {
        launched.unwrap();
    }
    odd.host_write().unwrap().fill(1);
    queue.parallel_for(8, advance(buffer.read_write().part([0, 1], [1, 8]).unwrap(), 1, 1)).unwrap();
    assert_eq!(*odd.host_read().unwrap(), [2; 8]);
}

#[device_test]
fn buffers_without_elements(context: Context) {
    let queue = out_of_order(&context);
    for buffer in [Buffer::<u32>::new(0).unwrap(), Buffer::from_vec(Vec::new()).unwrap()] {
        assert!(buffer.is_empty());
        queue.parallel_for(0, advance(buffer.read_write(), 1, 1)).unwrap();
        queue.copy(&buffer.read(), &Buffer::<u32>::new(0).unwrap().write()).unwrap();
        queue.fill(&buffer.write(), 1).unwrap().wait().unwrap();
        assert!(buffer.host_read().unwrap().is_empty());
        buffer.host_write().unwrap().fill(1);
        assert!(queue.read(&buffer.read()).unwrap().is_empty());
        assert!(buffer.sub_buffer(0, 0).unwrap().is_empty());
    }
    let flat = Buffer::<u32>::new([5, 0]).unwrap();
    assert!(flat.host_read().unwrap().is_empty());
    let buffer = Buffer::from_vec(vec![1_u32; 8]).unwrap();
    queue.parallel_for(0, advance(buffer.read_write().slice(8..).unwrap(), 1, 1)).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [1; 8]);
}
