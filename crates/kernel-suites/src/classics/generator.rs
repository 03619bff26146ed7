//! Generators of random numbers.

use super::common::{Parts, Random, SIZES, all, equal, groups_of, in_groups, launch, mem, uint};
use crate::case::{Argument, Case, Memory, Space};

/// Numbers that each work-item makes.
const EACH: usize = 9;

/// A launch `(states, out, each)`, which also stores the states.
fn stepped<S, T>(kernel: &str, states: impl Fn(&mut Random) -> S, next: impl Fn(&mut S) -> T) -> Vec<Case>
where
    S: bytemuck::Pod + PartialEq + std::fmt::Debug,
    T: bytemuck::Pod + PartialEq + std::fmt::Debug,
{
    in_groups(kernel, &SIZES, |size| {
        let n = groups_of(size) * size;
        let mut random = Random::new(190);
        let mut all_states: Vec<S> = (0..n).map(|_| states(&mut random)).collect();
        let memory = vec![Memory::of(&all_states), Memory::unset::<T>(n * EACH)];
        let mut numbers = Vec::new();
        for state in &mut all_states {
            numbers.extend((0..EACH).map(|_| next(state)));
        }
        let launches = vec![launch(kernel, Space::d1(n, size), [mem(0), mem(1), uint(EACH)])];
        (memory, launches, all(vec![equal(0, all_states), equal(1, numbers)]))
    })
}

fn lcg64(x: &mut u64) -> u64 {
    *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *x
}

fn xorshift32(x: &mut u32) -> u32 {
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    *x
}

fn xorshift64_star(x: &mut u64) -> u64 {
    *x ^= *x >> 12;
    *x ^= *x << 25;
    *x ^= *x >> 27;
    x.wrapping_mul(2_685_821_657_736_338_717)
}

fn xorshift128([x, y, z, w]: &mut [u32; 4]) -> u32 {
    let t = *x ^ *x << 11;
    (*x, *y, *z) = (*y, *z, *w);
    *w = *w ^ *w >> 19 ^ t ^ t >> 8;
    *w
}

fn xoshiro128(s: &mut [u32; 4]) -> u32 {
    let number = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
    let t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3].rotate_left(11);
    number
}

fn pcg32([state, increment]: &mut [u64; 2]) -> u32 {
    let old = *state;
    *state = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(*increment | 1);
    let mixed = (((old >> 18) ^ old) >> 27) as u32;
    mixed.rotate_right((old >> 59) as u32)
}

pub(super) fn random_numbers() -> Vec<Case> {
    let mut cases = in_groups("lcg_jump", &SIZES, |size| {
        let n = groups_of(size) * size;
        let seed = 0x0123_4567_89AB_CDEFu64;
        let mut x = seed;
        let expected = (0..n * EACH).map(|_| (lcg64(&mut x) >> 32) as u32).collect();
        let arguments = [Argument::value(seed), mem(0), uint(EACH)];
        let launches = vec![launch("lcg_jump", Space::d1(n, size), arguments)];
        (vec![Memory::unset::<u32>(n * EACH)], launches, equal::<u32>(0, expected))
    });
    let four = |random: &mut Random| [random.u32(), random.u32(), random.u32(), random.u32() | 1];
    cases.extend(stepped("xorshift32", |random| random.u32() | 1, xorshift32));
    cases.extend(stepped("xorshift64_star", |random| random.u64() | 1, xorshift64_star));
    cases.extend(stepped("xorshift128", four, xorshift128));
    cases.extend(stepped("xoshiro128", four, xoshiro128));
    cases.extend(stepped("pcg32", |random| [random.u64(), random.u64()], pcg32));
    cases.extend(in_groups("bounded", &SIZES, bounded));
    cases.extend(in_groups("points_in_circle", &SIZES, points_in_circle));
    cases
}

fn bounded(size: usize) -> Parts {
    let (n, bound) = (groups_of(size) * size, 3_000_000_000u32);
    let states: Vec<u32> = Random::new(191).words(n).iter().map(|x| x | 1).collect();
    let mut expected = Vec::new();
    let threshold = ((1u64 << 32) % u64::from(bound)) as u32;
    for state in &states {
        let mut state = *state;
        let kept = std::iter::repeat_with(|| xorshift32(&mut state)).filter(|x| *x >= threshold);
        expected.extend(kept.map(|x| x % bound).take(EACH));
    }
    let arguments = [mem(0), Argument::value(bound), mem(1), uint(EACH)];
    let launches = vec![launch("bounded", Space::d1(n, size), arguments)];
    (vec![Memory::of(&states), Memory::unset::<u32>(n * EACH)], launches, equal(1, expected))
}

fn points_in_circle(size: usize) -> Parts {
    let (n, each, seed) = (groups_of(size) * size, 30, 12345u32);
    let mut count = 0u32;
    for item in 0..n as u32 {
        let mut x = seed.wrapping_add(item.wrapping_mul(2_654_435_761));
        let mut coordinate = || {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u64::from(x >> 17)
        };
        for _ in 0..each {
            let (a, b) = (coordinate(), coordinate());
            count += u32::from(a * a + b * b < 1 << 30);
        }
    }
    let launches =
        vec![launch("points_in_circle", Space::d1(n, size), [Argument::value(seed), uint(each), mem(0)])];
    (vec![Memory::of(&[0u32])], launches, equal(0, vec![count]))
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        let [high_a, high_b] = [a, b].map(|x| (x >> 32) as u32);
        counter = [high_b ^ counter[1] ^ key[0], b as u32, high_a ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

pub(super) fn of_philox() -> Vec<Case> {
    let mut cases = Vec::new();
    for kernel in ["with_mul_hi", "with_wide_products"] {
        cases.extend(in_groups(kernel, &SIZES, |size| {
            let n = groups_of(size) * size;
            let mut random = Random::new(192);
            let counters: Vec<[u32; 4]> = (0..n).map(|_| [0; 4].map(|_: u32| random.u32())).collect();
            let keys: Vec<[u32; 2]> = (0..n).map(|_| [0; 2].map(|_: u32| random.u32())).collect();
            let expected = counters.iter().zip(&keys).map(|(counter, key)| philox(*counter, *key)).collect();
            let memory = vec![Memory::of(&counters), Memory::of(&keys), Memory::unset::<[u32; 4]>(n)];
            (memory, vec![launch(kernel, Space::d1(n, size), [0, 1, 2].map(mem))], equal(2, expected))
        }));
    }
    cases.extend(in_groups("uniform", &SIZES, |size| {
        let (n, key) = (groups_of(size) * size, [7u32, 0xFFFF_FFFF]);
        let unit = |word: u32| (word >> 8) as f32 / 16_777_216.0;
        let expected = (0..n as u32).map(|i| philox([i, 0, 0, 0], key).map(unit)).collect();
        let launches = vec![launch("uniform", Space::d1(n, size), [Argument::value(key), mem(0)])];
        (vec![Memory::unset::<[f32; 4]>(n)], launches, equal::<[f32; 4]>(0, expected))
    }));
    cases
}

fn mt19937(seed: u32, count: usize) -> Vec<u32> {
    let mut state = vec![seed];
    for i in 1..624u32 {
        let last = state[i as usize - 1];
        state.push((last ^ last >> 30).wrapping_mul(1_812_433_253).wrapping_add(i));
    }
    // The sequence goes on without end; each number needs three before it.
    let mut numbers = Vec::new();
    for i in 0..count {
        let y = state[i] & 0x8000_0000 | state[i + 1] & 0x7FFF_FFFF;
        let odd = if y.is_multiple_of(2) { 0 } else { 0x9908_B0DF };
        let mut x = state[i + 397] ^ y >> 1 ^ odd;
        state.push(x);
        x ^= x >> 11;
        x ^= x << 7 & 0x9D2C_5680;
        x ^= x << 15 & 0xEFC6_0000;
        numbers.push(x ^ x >> 18);
    }
    numbers
}

fn additive_feedback(seed: u32, count: usize) -> Vec<u32> {
    let mut all = vec![i64::from(seed & i32::MAX as u32).max(1)];
    for i in 1..31 {
        all.push((16807 * all[i - 1]).rem_euclid(2_147_483_647));
    }
    let mut all: Vec<u32> = all.iter().map(|x| *x as u32).collect();
    // The first of the ring goes on where the ring ends.
    for i in 31..34 {
        all.push(all[i - 31]);
    }
    for i in 34..344 + count {
        all.push(all[i - 31].wrapping_add(all[i - 3]));
    }
    all[344..].iter().map(|x| x >> 1).collect()
}

pub(super) fn mersenne_twister() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in [624, 1500] {
        cases.extend(in_groups(&format!("{count} of mt19937"), &SIZES, |size| {
            let seeds = [5489u32, 1, 0xDEAD_BEEF];
            let expected = seeds.iter().flat_map(|seed| mt19937(*seed, count)).collect();
            let memory = vec![Memory::of(&seeds), Memory::unset::<u32>(seeds.len() * count)];
            let space = Space::d1(seeds.len() * size, size);
            (memory, vec![launch("mt19937", space, [mem(0), mem(1), uint(count)])], equal(1, expected))
        }));
    }
    cases.extend(in_groups("additive_feedback", &SIZES, |size| {
        let n = groups_of(size) * size;
        let mut seeds = Random::new(193).words(n);
        seeds[0] = 0;
        let expected = seeds.iter().flat_map(|seed| additive_feedback(*seed, EACH)).collect();
        let launches = vec![launch("additive_feedback", Space::d1(n, size), [mem(0), mem(1), uint(EACH)])];
        (vec![Memory::of(&seeds), Memory::unset::<u32>(n * EACH)], launches, equal(1, expected))
    }));
    cases
}

#[cfg(test)]
mod tests {
    use super::{
        additive_feedback, mt19937, pcg32, philox, xorshift32, xorshift64_star, xorshift128, xoshiro128,
    };

    #[test]
    fn mt19937_is_that_of_the_standard_library_of_cpp() {
        let numbers = mt19937(5489, 10_000);
        assert_eq!(numbers[..3], [3_499_211_612, 581_869_302, 3_890_346_734]);
        assert_eq!(numbers[9_999], 4_123_659_995);
    }

    #[test]
    fn philox_is_that_of_its_authors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        let pi = philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn pcg32_is_that_of_its_demonstration() {
        // The seed 42 of the sequence 54.
        let mut state = [0, 54 << 1 | 1];
        pcg32(&mut state);
        state[0] = state[0].wrapping_add(42);
        pcg32(&mut state);
        let numbers = [0; 6].map(|_: u32| pcg32(&mut state));
        assert_eq!(numbers, [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e]);
    }

    #[test]
    fn xorshift_is_that_of_marsaglia() {
        let mut x = 2_463_534_242;
        assert_eq!([0; 3].map(|_: u32| xorshift32(&mut x)), [723_471_715, 2_497_366_906, 2_064_144_800]);
        let mut s = [123_456_789, 362_436_069, 521_288_629, 88_675_123];
        assert_eq!([0; 3].map(|_: u32| xorshift128(&mut s)), [3_701_687_786, 458_299_110, 2_500_872_618]);
        assert_eq!(xorshift64_star(&mut 1), 0x47e4_ce4b_896c_dd1d);
    }

    #[test]
    fn xoshiro128_is_that_of_its_authors() {
        let mut s = [1, 2, 3, 4];
        assert_eq!([0; 4].map(|_: u32| xoshiro128(&mut s)), [11520, 0, 5_927_040, 70_819_200]);
    }

    #[test]
    fn additive_feedback_is_that_of_the_c_library() {
        assert_eq!(additive_feedback(1, 3), [1_804_289_383, 846_930_886, 1_681_692_777]);
    }
}
