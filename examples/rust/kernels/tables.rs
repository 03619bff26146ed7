//! Tables of references: text, slices, structs, functions and objects in statics and constants.

use oclave_kernel::{Item, Out, kernel};

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
static ROWS: [&[u32]; 3] = [&[1, 2, 3], &[40, 50], &[600]];

/// Elements of rows of different lengths, and bytes of text.
#[kernel]
pub fn rows(item: Item<1>, x: &[u32], mut y: Out<u32>) {
    let x = x[item.global_id()[0]] as usize;
    let (row, day) = (ROWS[x % 3], DAYS[x % 7]);
    *y = row[x / 3 % row.len()] + day.len() as u32 + u32::from(day.as_bytes()[x % 6]);
}

struct Rule {
    name: &'static str,
    codes: &'static [u16],
    next: Option<&'static Rule>,
}

static LAST: Rule = Rule { name: "last", codes: &[9], next: None };
static MIDDLE: Rule = Rule { name: "in the middle", codes: &[4, 5, 6], next: Some(&LAST) };
static RULES: [&Rule; 3] = [&MIDDLE, &LAST, &Rule { name: "first", codes: &[], next: Some(&MIDDLE) }];

/// A list of structs that refer to each other.
#[kernel]
pub fn rules(item: Item<1>, x: &[u32], mut y: Out<u32>) {
    let mut rule = Some(RULES[x[item.global_id()[0]] as usize % 3]);
    let mut mixed = 1;
    while let Some(now) = rule {
        mixed = now
            .codes
            .iter()
            .fold(mixed ^ now.name.len() as u32, |mixed, code| mixed.rotate_left(5) ^ u32::from(*code));
        rule = now.next;
    }
    *y = mixed;
}

struct Operation {
    name: &'static str,
    run: fn(u32, u32) -> u32,
}

const OPERATIONS: &[Operation] = &[
    Operation { name: "add", run: u32::wrapping_add },
    Operation { name: "exclusive or", run: |a, b| a ^ b },
    Operation { name: "rotate", run: |a, b| a.rotate_right(b % 32) },
];

/// Functions beside their names.
#[kernel]
pub fn operations(item: Item<1>, x: &[u32], mut y: Out<u32>) {
    let x = x[item.global_id()[0]];
    *y = (0..5).fold(x, |value, step| {
        let operation = &OPERATIONS[(x >> (2 * step)) as usize % OPERATIONS.len()];
        (operation.run)(value, x / 3).wrapping_add(operation.name.len() as u32)
    });
}

#[inline(never)]
fn longest<'a>(words: &[&'a str]) -> &'a str {
    words.iter().fold("", |longest, word| if word.len() > longest.len() { word } else { longest })
}

/// A table on the stack with references to the same text, and a function that is given a part of a table. Some references
/// are to other memory.
#[kernel]
pub fn words(item: Item<1>, x: &[u32], mut y: Out<u32>) {
    let x = x[item.global_id()[0]];
    let mut days = [""; 3];
    for (at, day) in days.iter_mut().enumerate() {
        *day = DAYS[(x as usize >> at) % 7];
    }
    days.swap(0, x as usize % 3);
    let own = x.to_le_bytes();
    let bytes = if x & 1 == 0 { &own } else { days[1].as_bytes() };
    let first = x as usize % 4;
    let longest = longest(&DAYS[first..first + 3]).len() as u32;
    *y = bytes.iter().fold(longest, |sum, byte| sum.wrapping_mul(33) ^ u32::from(*byte));
}

struct Calendar<'a> {
    days: &'a [&'a str],
    first: usize,
}

#[inline(never)]
fn letters(calendar: &Calendar<'_>, day: usize) -> u32 {
    calendar.days[(calendar.first + day) % calendar.days.len()].bytes().map(u32::from).sum()
}

/// A struct that refers to a table, and that a function gets by reference.
#[kernel]
pub fn calendars(item: Item<1>, x: &[u32], mut y: Out<u32>) {
    let x = x[item.global_id()[0]] as usize;
    let mut calendar = Calendar { days: &DAYS, first: x % 7 };
    let whole = letters(&calendar, x / 7 % 7);
    calendar.days = &DAYS[5..];
    *y = whole << 16 | letters(&calendar, x / 49 % 7);
}

trait Wave {
    fn at(&self, x: u32) -> u32;
}

struct Saw(u32);
struct Pulse {
    high: u32,
    low: u32,
}

impl Wave for Saw {
    fn at(&self, x: u32) -> u32 {
        x % self.0
    }
}

impl Wave for Pulse {
    fn at(&self, x: u32) -> u32 {
        if x.is_multiple_of(2) { self.high } else { self.low }
    }
}

static WAVES: [&(dyn Wave + Sync); 3] = [&Saw(7), &Pulse { high: 3, low: 1 }, &Saw(100)];

/// Objects of traits.
#[kernel]
pub fn waves(item: Item<1>, x: &[u32], mut y: Out<u32>) {
    let x = x[item.global_id()[0]];
    *y = WAVES[x as usize % 3].at(x / 3);
}
