//! Packed structs, which llvmpipe reads at the wrong place in local memory and in arguments (Q56). And
//! addresses in constants, which Mesa refuses (Q55). Passes help with both.

use oclave::Queue;
use oclave::command::RawArgument;
use oclave::kernel::NdRange;
use oclave::memory::usm;

use super::{common, kernel, queue, upload};

#[device_test(queue)]
fn fields_in_local_memory_are_where_they_belong(queue: Queue) {
    for group in [1, 3, 16, 64_u32] {
        let out = upload(&queue, &vec![0_u32; 12 * group as usize]);
        let range = NdRange::new(2 * group as usize, group as usize);
        queue.parallel_for(range, kernel::packed_in_local(&out)).unwrap();
        let row = |id: u32| {
            let other = group - 1 - id % group;
            let (b, c) = (other * 0x0102_0304, other * 257);
            let d = u64::from(other) * 0x0102_0304_0506_0708;
            let bytes = [b as u8, (b >> 8) as u8, d as u8, (d >> 8) as u8];
            [other + b, c, (d >> 20) as u32, other + d as u32, u32::from_le_bytes(bytes), b ^ c]
        };
        let expected: Vec<u32> = (0..2 * group).flat_map(row).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "groups of {group}");
    }
}

#[device_test(queue)]
fn addresses_in_constants_lead_where_they_belong(queue: Queue) {
    let out = upload(&queue, &[0_u32; 7]);
    for from in 0..3 {
        queue.parallel_for(7, kernel::addresses_in_constants(&out, from)).unwrap();
        let digits = [[3, 1], [9, 2], [4, 1]];
        let row = |id: u32| {
            let entry = (from + id) % 3;
            digits[entry as usize][(id & 1) as usize] * 100 + (entry + 1) * 11
        };
        assert_eq!(queue.read(&out).unwrap(), (0..7).map(row).collect::<Vec<u32>>(), "from {from}");
    }
}

#[device_test(queue)]
fn fields_of_arguments_are_where_they_belong(queue: Queue) {
    let bundle = common::load::spirv(queue.context(), include_bytes!("../../../fixtures/odd.spv")).unwrap();
    let random = |i: usize| (i as u32 + 1).wrapping_mul(2_654_435_761).rotate_left(13);
    let bytes = |number: usize, size: usize| -> Vec<u8> {
        (0..size).map(|at| random(at + number * 300) as u8).collect()
    };
    // tight, char, mixed, three, roomy and uchar of `odd.cl`.
    let given: Vec<Vec<u8>> =
        [15, 1, 44, 3, 256, 1].iter().enumerate().map(|(number, size)| bytes(number, *size)).collect();
    let [tight, char, mixed, three, roomy, last] = &given[..] else { panic!("six arguments") };
    let number = |bytes: &[u8], at: usize, size: usize| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[at..at + size]);
        let unused = 64 - 8 * size as u32;
        (i64::from_le_bytes(word) << unused) >> unused
    };
    let expected = |id: usize| {
        let of_tight = number(tight, 0, 1) + 3 * number(tight, 1, 4) + 5 * number(tight, 5, 2);
        let of_mixed = i64::from(mixed[id % 5 * 3 + 1]) + number(mixed, 16, 4) + number(mixed, 34, 1);
        let bytes = i64::from(mixed[42]) + i64::from(three[id % 3]) + i64::from(last[0]);
        let of_roomy = number(roomy, id % 61 * 4, 4);
        (of_tight + (number(tight, 7, 8) >> 7) + number(char, 0, 1) + of_mixed + bytes + of_roomy) as u32
    };
    let input = upload(&queue, &[0_u32; 4]);
    let out: oclave::UsmSlice<u32, usm::Shared> = queue.context().alloc_shared(100).unwrap();
    let call = common::call(&bundle, "structs").pointer_mut::<u32>(&out).pointer::<u32>(&input);
    let call = given.iter().fold(call, |call, bytes| call.raw(RawArgument::bytes(bytes)));
    queue.parallel_for(100, call).unwrap().wait().unwrap();
    assert_eq!(out.read().unwrap().to_vec(), (0..100).map(expected).collect::<Vec<u32>>());
}
