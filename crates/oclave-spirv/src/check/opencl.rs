//! How many operands the instructions of OpenCL.std take.

use std::ops::RangeInclusive;

/// First instruction, last instruction, operands of each; instructions of other numbers do not
/// exist.
#[rustfmt::skip]
const ARGUMENTS: &[(u32, u32, usize)] = &[
    (0, 6, 1), (7, 7, 2), (8, 9, 1), (10, 10, 2), (11, 12, 1), (13, 13, 2), (14, 23, 1), (24, 24, 2),
    (25, 25, 1), (26, 26, 3), (27, 32, 2), (33, 33, 1), (34, 34, 2), (35, 35, 1), (36, 36, 2), (37, 41, 1),
    (42, 42, 3), (43, 45, 2), (46, 46, 1), (47, 51, 2), (52, 52, 3), (53, 53, 1), (54, 54, 2), (55, 57, 1),
    (58, 58, 2), (59, 67, 1), (68, 68, 2), (69, 74, 1), (75, 75, 2), (76, 81, 1), (82, 82, 2), (83, 88, 1),
    (89, 89, 2), (90, 94, 1), (95, 95, 3), (96, 96, 1), (97, 98, 2), (99, 99, 3), (100, 100, 1), (101, 101, 2),
    (102, 102, 3), (103, 103, 1), (104, 105, 2), (106, 107, 1), (108, 108, 2), (109, 110, 1), (141, 141, 1), (142, 148, 2),
    (149, 150, 3), (151, 152, 1), (153, 155, 3), (156, 165, 2), (166, 166, 1), (167, 168, 3), (169, 170, 2), (171, 172, 3),
    (173, 173, 2), (174, 175, 3), (176, 176, 4), (177, 177, 3), (178, 178, 4), (179, 180, 3), (181, 181, 4),
    (182, 182, 2), (183, 183, 3), (185, 185, 2), (186, 187, 3), (201, 201, 1), (202, 203, 2), (204, 204, 3),
];

const PRINTF: u32 = 184;

/// How many operands an instruction takes, its number and set not counted; `None` where it does not
/// exist.
pub(super) fn arguments(number: u32) -> Option<RangeInclusive<usize>> {
    if number == PRINTF {
        return Some(1..=usize::MAX);
    }
    let at = ARGUMENTS.partition_point(|&(_, last, _)| last < number);
    let &(first, _, count) = ARGUMENTS.get(at)?;
    (number >= first).then_some(count..=count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is what rspirv's grammar says.
    #[test]
    fn agrees_with_rspirv() {
        let mut all: Vec<(u32, usize)> = rspirv::grammar::OPENCL_STD_100_INSTRUCTION_TABLE
            .iter()
            .map(|i| (u32::from(i.opcode), i.operands.len()))
            .collect();
        all.sort_unstable();
        let mut ranges: Vec<(u32, u32, usize)> = Vec::new();
        for &(number, count) in all.iter().filter(|(n, _)| *n != PRINTF) {
            match ranges.last_mut() {
                Some((_, last, c)) if *c == count && *last + 1 == number => *last = number,
                _ => ranges.push((number, number, count)),
            }
        }
        assert_eq!(ARGUMENTS, ranges, "{ranges:?}");
        assert!(all.len() > 150);
    }
}
