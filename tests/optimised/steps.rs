//! Loops whose counters grow by what complements and subtractions make, on Intel (Q40).

use oclave::NdRange;

use crate::{kernel, queue, upload};

#[test]
fn loops_end_where_their_counters_say() {
    let Some(queue) = queue() else { return };
    let words: Vec<u32> = (0..256_u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i).collect();
    let input = upload(&queue, &words);
    for items in [1, 3, 8, 16, 24, 64] {
        for b in [2_u32, 5, 8] {
            let out = upload(&queue, &vec![0_u32; 2 * items]);
            let range = NdRange::new(2 * items, items);
            queue.parallel_for(range, kernel::complement_steps(&out, &input, b)).unwrap();
            let at = |index: usize| words[index];
            let of = b as usize;
            let expected: Vec<u32> = (0..2 * items)
                .map(|id| {
                    let (mut v, mut w, mut x, mut y, mut z) = (1_u32, 1_u32, 1_u32, at(id), 1_u32);
                    while v < 21 {
                        v += 7_u32.wrapping_sub(at(of)) % 8 + 1;
                        y = y.wrapping_mul(31);
                    }
                    while w < 21 {
                        w += (at(of) & 6) ^ 7;
                        if id % 4 == 3 {
                            y = y.wrapping_mul(31).wrapping_add(w);
                        }
                    }
                    while x < 21 {
                        x += (!at(id % 7) & 7) + 1;
                        y = y.wrapping_mul(31);
                    }
                    let mut i = 30;
                    while i > 4 {
                        z = z.wrapping_mul(5);
                        y ^= z;
                        i -= 8 - (at(of + 1) & 7).cast_signed();
                    }
                    let sums = [w, x].iter().fold(v, |sum, value| sum.wrapping_mul(31).wrapping_add(*value));
                    sums.wrapping_mul(31).wrapping_add(z).wrapping_add(y)
                })
                .collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{b} in groups of {items}");
        }
    }
}
