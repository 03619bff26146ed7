//! DG: device globals, by every way of attaching them that the device has.

use oclave::{Context, Queue};

use crate::kernels::{
    globals_access as access, globals_define as define, globals_types as types, globals_use as using,
};
use crate::support::{DEVICE_GLOBAL_MASKS, queues};

fn read_shared(queue: &Queue) -> (i32, Vec<u32>) {
    let count = queue.context().alloc_device::<i32>(1).unwrap();
    let bins = queue.context().alloc_device::<u32>(8).unwrap();
    queue.single_task(using::read_shared(&count, &bins)).unwrap();
    (queue.read(&count).unwrap()[0], queue.read(&bins).unwrap())
}

/// The integers and floats that `types_read` sees.
fn read_types(queue: &Queue) -> (Vec<i64>, Vec<f32>) {
    let integers = queue.context().alloc_device::<i64>(31).unwrap();
    let floats = queue.context().alloc_device::<f32>(17).unwrap();
    queue.single_task(types::types_read(&integers, &floats)).unwrap();
    (queue.read(&integers).unwrap(), queue.read(&floats).unwrap())
}

#[test]
fn dg_ini_001_never_written_is_zero_to_the_host() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        assert_eq!(queue.read(&types::G_ZERO).unwrap(), 0);
        assert_eq!(queue.read(&define::LAST).unwrap(), 0);
        let mut bytes = [1; 32];
        queue.read_into(&types::G_VECTORS.bytes(..bytes.len()).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes, [0; 32]);
    }
}

#[test]
fn dg_ini_002_a_kernel_reads_the_initial_value() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        assert_eq!(read_shared(&queue), (5, vec![1, 2, 3, 0, 0, 0, 0, 0]));
    }
}

#[test]
fn dg_ini_004_a_full_write_first_then_the_kernel() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&define::COUNTER, &77).unwrap();
        queue.write(&define::HISTOGRAM, &[8, 7, 6, 5, 4, 3, 2, 1]).unwrap();
        assert_eq!(read_shared(&queue), (77, vec![8, 7, 6, 5, 4, 3, 2, 1]));
    }
}

#[test]
fn dg_ini_006_kernel_then_host_write_then_kernel() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.single_task(define::count_up(1)).unwrap();
        queue.write(&define::COUNTER, &40).unwrap();
        queue.single_task(define::count_up(2)).unwrap();
        assert_eq!(read_shared(&queue), (42, vec![1, 2, 3, 0, 0, 0, 0, 0]));
    }
}

#[test]
fn dg_ini_007_initial_values_of_many_types() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let (integers, floats) = read_types(&queue);
        assert_eq!(integers[..11], [102, 200, -2, 65_000, 3, 4_000_000_000, -5_000_000_000, 7, 1, 2, 3]);
        assert_eq!(integers[11..21], [5, 2, 3, 0, 3, 4, 5, 6, 7, 8]);
        assert_eq!(integers[21..], [6, 1, 7, 5, 1, 4, 7, 0, 8, 0]);
        assert_eq!(floats[..8], [4.5, 1.0, 2.0, 3.0, 4.0, 4.25, 2.5, 2.75]);
        assert_eq!(floats[8..], [0.0; 9]);
    }
}

#[test]
fn dg_cpy_002_round_trips_of_many_types() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&types::G_CHAR, &-7).unwrap();
        queue.write(&types::G_ULONG, &u64::MAX).unwrap();
        queue.write(&types::G_ARRAY, &[9, 8, 7, 6]).unwrap();
        let mut items = queue.read(&types::G_ITEMS).unwrap();
        items[1].parts = [-1, -2, -3, -4];
        items[1].weight = 0.5;
        queue.write(&types::G_ITEMS, &items).unwrap();
        assert_eq!(queue.read(&types::G_CHAR).unwrap(), -7);
        assert_eq!(queue.read(&types::G_ULONG).unwrap(), u64::MAX);
        assert_eq!(queue.read(&types::G_ARRAY).unwrap(), [9, 8, 7, 6]);
        assert_eq!(queue.read(&types::G_ITEMS).unwrap(), items);
        // The kernels see the same.
        let (integers, floats) = read_types(&queue);
        assert_eq!((integers[0], &integers[11..15], integers[29]), (-7, &[9, 8, 7, 6][..], -4));
        assert_eq!(floats[7], 0.5);
    }
}

#[test]
fn dg_cpy_003_one_element_in_the_middle() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&types::G_ARRAY.slice(2..3).unwrap(), &[-9]).unwrap();
        assert_eq!(queue.read(&types::G_ARRAY).unwrap(), [5, 2, -9, 0]);
        let mut element = [0];
        queue.read_into(&types::G_ARRAY.slice(2..2 + element.len()).unwrap(), &mut element).unwrap();
        assert_eq!(element, [-9]);
    }
}

#[test]
fn dg_cpy_004_bytes_at_odd_offsets() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&types::G_ARRAY.bytes(3..6).unwrap(), &[0xaa, 0xbb, 0xcc]).unwrap();
        let mut bytes = [0; 7];
        queue.read_into(&types::G_ARRAY.bytes(1..1 + bytes.len()).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes, [0, 0, 0xaa, 0xbb, 0xcc, 0, 0]);
    }
}

/// That writes do not compile is shown by the compile-fail tests.
#[test]
fn dg_cpy_006_a_const_global_is_readable() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        assert_eq!(queue.read(&access::ACCESS_CONST).unwrap(), 5);
    }
}

#[test]
fn dg_cpy_007_host_access_does_not_concern_kernels() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&access::ACCESS_WRITE, &20).unwrap();
        queue.single_task(access::access_add(100)).unwrap();
        let out = queue.context().alloc_device::<i32>(6).unwrap();
        queue.single_task(access::access_read_all(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [101, 120, 103, 104, 5, 106]);
        assert_eq!(queue.read(&access::ACCESS_READ).unwrap(), 101);
    }
}

#[test]
fn dg_cpy_010_write_kernel_read_without_waits() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        for round in 0..20 {
            queue.write(&define::COUNTER, &(round * 10)).unwrap();
            queue.single_task(define::count_up(1)).unwrap();
            assert_eq!(queue.read(&define::COUNTER).unwrap(), round * 10 + 1);
        }
    }
}

#[test]
fn dg_scp_004_contexts_have_instances_of_their_own() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let other = Queue::new(&Context::new(queue.device()).unwrap()).unwrap();
        queue.write(&define::COUNTER, &1000).unwrap();
        assert_eq!(read_shared(&other).0, 5);
        assert_eq!(read_shared(&queue).0, 1000);
    }
}

#[test]
fn dg_lnk_002_defined_in_one_source_and_used_in_another() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.single_task(define::count_up(10)).unwrap();
        queue.single_task(using::double_shared()).unwrap();
        assert_eq!(read_shared(&queue), (30, vec![2, 4, 6, 0, 0, 0, 0, 0]));
    }
}

#[test]
fn dg_krn_001_the_second_run_sees_the_first() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        for _ in 0..3 {
            queue.single_task(define::count_up(4)).unwrap();
        }
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 17);
        assert_eq!(queue.read(&define::LAST).unwrap(), 17);
    }
}

#[test]
fn dg_krn_002_what_one_kernel_writes_another_reads() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.single_task(define::add_to_bin(7)).unwrap();
        queue.single_task(define::count_up(-5)).unwrap();
        assert_eq!(read_shared(&queue), (0, vec![1, 2, 3, 0, 0, 0, 0, 1]));
    }
}

#[test]
fn dg_dev_001_never_silent_wrong_data() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        // A driver that compiles program-scope variables, but does not keep them between kernels,
        // shows here.
        let context = queue.context();
        let count = context.alloc_device::<i32>(1).unwrap();
        let bins = context.alloc_device::<u32>(8).unwrap();
        for round in 1..=10 {
            queue.single_task(define::count_up(1)).unwrap();
            queue.single_task(using::read_shared(&count, &bins)).unwrap();
            assert_eq!(queue.read(&count).unwrap(), [5 + round]);
        }
    }
}
