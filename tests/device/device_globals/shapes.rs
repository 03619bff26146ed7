//! Device globals of every shape and language, seen from kernels (`kernels/tests/globals_*.cl`,
//! `.clcpp`), by every way of attaching them that the device has.

use oclave::memory::usm;
use oclave::{Queue, UsmSlice};

use crate::common;

use crate::kernels::{
    globals_access as access, globals_addresses as addresses, globals_pointers as pointers,
    globals_types as types,
};
use crate::kernels::{
    globals_cpp as cpp, globals_cpp_define as cpp_define, globals_cpp_scope as cpp_scope,
    globals_cpp_use as cpp_use,
};
use crate::kernels::{globals_static_a as static_a, globals_static_b as static_b};

/// Queues of the selected device as it is, and without what it could do without.
fn queues() -> Vec<Queue> {
    common::variable_devices().iter().map(common::queue).collect()
}

fn memory<T: oclave::bytemuck::Pod>(queue: &Queue, len: usize) -> UsmSlice<T, usm::DeviceOnly> {
    queue.context().alloc_device(len).unwrap()
}

fn read_types(queue: &Queue) -> (Vec<i64>, Vec<f32>) {
    let (integers, floats) = (memory(queue, 31), memory(queue, 17));
    queue.single_task(types::types_read(&integers, &floats)).unwrap();
    (queue.read(&integers).unwrap(), queue.read(&floats).unwrap())
}

#[test]
fn scalars_vectors_arrays_and_structs() {
    for queue in queues() {
        let mut integers: Vec<i64> = vec![102, 200, -2, 65000, 3, 4_000_000_000, -5_000_000_000, 7];
        integers.extend([1, 2, 3, 5, 2, 3, 0, 3, 4, 5, 6, 7, 8, 6, 1, 7, 5, 1, 4, 7, 0, 8, 0]);
        let mut floats = vec![4.5, 1.0, 2.0, 3.0, 4.0, 4.25, 2.5, 2.75];
        floats.extend([0.0; 9]);
        assert_eq!(read_types(&queue), (integers.clone(), floats.clone()));
        queue.single_task(types::types_add_one()).unwrap();
        integers.iter_mut().for_each(|n| *n += 1);
        floats.iter_mut().for_each(|x| *x += 1.0);
        assert_eq!(read_types(&queue), (integers, floats));
        assert_eq!(queue.read(&types::G_TABLE).unwrap(), [[4, 5], [6, 7], [8, 9]]);
        assert_eq!(queue.read(&types::G_ITEMS).unwrap()[1].parts, [5, 6, 7, 9]);
        assert_eq!(queue.read(&types::G_ULONG).unwrap(), 8);
    }
}

#[test]
fn atomics_of_all_work_items() {
    for queue in queues() {
        for _ in 0..3 {
            queue.parallel_for(1000, types::types_count()).unwrap();
        }
        assert_eq!(queue.read(&types::G_ATOMIC).unwrap(), 3000);
    }
}

#[test]
fn large_variables() {
    for queue in queues() {
        queue.parallel_for(1 << 20, types::types_fill_large(7)).unwrap();
        let mut end = [0];
        queue
            .read_into(&types::G_LARGE.slice((1 << 20) - 1..(1 << 20) - 1 + end.len()).unwrap(), &mut end)
            .unwrap();
        assert_eq!(end, [7 + (1 << 20) - 1]);
    }
}

#[test]
fn addresses_are_stored_passed_and_followed() {
    for queue in queues() {
        let out = memory::<u64>(&queue, 1);
        queue.single_task(pointers::pointers_publish(&out)).unwrap();
        let address = queue.read(&out).unwrap()[0];
        assert_eq!(queue.read(&pointers::ADDRESS).unwrap(), address);
        assert_eq!(queue.read(&pointers::POINTER).unwrap(), address);
        queue.single_task(pointers::pointers_follow(7)).unwrap();
        queue.single_task(pointers::pointers_write_to(address - 4, 6)).unwrap();
        assert_eq!(queue.read(&pointers::TARGET).unwrap(), [10, 6, 7, 8]);
        let sums = memory::<i32>(&queue, 2);
        queue.single_task(pointers::pointers_sum(&sums)).unwrap();
        assert_eq!(queue.read(&sums).unwrap(), [31, 10]);
    }
}

#[test]
fn initial_values_with_addresses_of_other_variables() {
    for queue in queues() {
        let lonely = addresses::ADDRESSES_LONELY.device_address(&queue).unwrap();
        assert_eq!(queue.read(&addresses::ADDRESSES_UNUSED).unwrap(), lonely);
        let out = memory::<i32>(&queue, 9);
        queue.single_task(addresses::addresses_follow(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [30, 40, 40, 1, 2, 3, 3, 16, 6]);
        queue.single_task(addresses::addresses_targets(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap()[..2], [31, 7]);
        let values = addresses::ADDRESSES_VALUES.device_address(&queue).unwrap();
        // Arrays of pointers come as bytes.
        let table = [values + 16, values + 12, 0].map(u64::to_ne_bytes).concat();
        assert_eq!(queue.read(&addresses::ADDRESSES_TABLE).unwrap().to_vec(), table);
    }
}

#[test]
fn properties_do_not_concern_kernels() {
    for queue in queues() {
        let out = memory::<i32>(&queue, 6);
        queue.single_task(access::access_add(10)).unwrap();
        queue.single_task(access::access_read_all(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [11, 12, 13, 14, 5, 16]);
        assert_eq!(queue.read(&access::ACCESS_UNUSED).unwrap(), [8, 9]);
    }
}

#[test]
fn static_variables_belong_to_their_sources() {
    for queue in queues() {
        let out = memory::<i32>(&queue, 1);
        queue.single_task(static_a::static_a_add(1, &out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [101]);
        queue.single_task(static_b::static_b_add(2, &out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [202]);
        assert_eq!(queue.read(&static_a::SAME_NAME).unwrap(), 101);
        assert_eq!(queue.read(&static_b::SAME_NAME).unwrap(), 202);
        assert_ne!(static_a::SAME_NAME.id(), static_b::SAME_NAME.id());
    }
}

#[test]
fn the_class_template() {
    for queue in queues() {
        let (out, floats) = (memory::<i32>(&queue, 32), memory::<f32>(&queue, 2));
        queue.single_task(cpp::cpp_read(&out, &floats)).unwrap();
        let mut expected = vec![3, 102, 1, 5, 2, 3, 3, 4, 5, 6, 7, 8, 1, 0, 1, 7, 8, 5, 5, 3];
        expected.extend([10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 1, 3]);
        assert_eq!(queue.read(&out).unwrap(), expected);
        assert_eq!(queue.read(&floats).unwrap(), [4.5, 2.25]);

        queue.single_task(cpp::cpp_change()).unwrap();
        queue.single_task(cpp::cpp_read(&out, &floats)).unwrap();
        let mut expected = vec![202, 102, 1, 5, 202, 3, 3, 4, 5, 6, 7, 9, 1, 0, 1, 7, 10, 5, 1, 3];
        expected.extend([11, 12, 12, 13, 14, 20, 21, 22, 30, 31, 1, 202]);
        assert_eq!(queue.read(&out).unwrap(), expected);
        assert_eq!(queue.read(&cpp::CPP_INT).unwrap(), 202);
        assert_eq!(queue.read(&cpp::CPP_TABLE).unwrap(), [[3, 4], [5, 6], [7, 9]]);
        assert_eq!(queue.read(&cpp::CPP_POINTS).unwrap()[1].x, 6);
        assert_eq!(queue.read(&cpp::CPP_STATIC).unwrap(), 11);
        queue.write(&cpp::CPP_WRITE, &50).unwrap();
        queue.single_task(cpp::cpp_read(&out, &floats)).unwrap();
        assert_eq!(queue.read(&out).unwrap()[22], 50);
    }
}

#[test]
fn the_class_template_with_image_scope() {
    for queue in queues() {
        let out = memory::<i32>(&queue, 5);
        queue.single_task(cpp_scope::cpp_scoped_add(2, &out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [15, 17, 16, 17, 0]);
        queue.single_task(cpp_scope::cpp_scoped_add(3, &out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [17, 20, 16, 19, 1]);
    }
}

#[test]
fn a_class_object_of_another_source() {
    for queue in queues() {
        let out = memory::<i32>(&queue, 1);
        queue.single_task(cpp_define::cpp_define_add(2, &out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [1002]);
        queue.single_task(cpp_use::cpp_use(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [42]);
        assert_eq!(queue.read(&cpp_define::NUMBER).unwrap(), 0);
        assert_eq!(queue.read(&cpp_define::CPP_STATIC).unwrap(), 1002);
    }
}
