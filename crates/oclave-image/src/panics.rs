//! What kernels in Rust tell of their panics: where they may panic, and with which message.
//!
//! Messages are templates:
//!
//! | in the template | in the message |
//! |---|---|
//! | `{0 u32}` | value 0, whose Rust type is `u32` |
//! | `{1 f32 .3?}` | value 1 with a precision and the letter of a format: `?`, `x`, `X`, `b`, `o`, `e` or `E` |
//! | `{0 u32 #x}` | value 0 in the alternate form |
//! | `{0 range}` | what `core` says of a slice whose start, end and length are values 0, 1 and 2 |
//! | `{{`, `}}` | braces |

use std::fmt::Write as _;

/// The values that the note of a panic has room for.
pub const PANIC_VALUES: usize = 4;

/// What the parts of a note are multiplied by in its checksum.
pub const PANIC_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of a note. Work-items that panic at the same time may each write a part of it.
pub fn panic_checksum(code: u64, kernel: u64, values: &[u64]) -> u64 {
    let inner =
        values.iter().rev().fold(0_u64, |sum, value| sum.wrapping_add(*value).wrapping_mul(PANIC_FACTOR));
    inner ^ code.wrapping_mul(PANIC_FACTOR) ^ kernel
}

/// Where a kernel may panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanicSite {
    /// File, line and column; empty if they are not known.
    pub place: String,
    /// The template of the message.
    pub message: String,
}

/// The value of a kernel in the set [`PANICS`](crate::PANICS).
pub fn encode_panics(id: u64, sites: &[PanicSite]) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    for PanicSite { place, message } in sites {
        bytes.extend_from_slice(format!("{}\0{}\n", escaped(place), escaped(message)).as_bytes());
    }
    bytes
}

/// The id of a kernel, and the places where it may panic; `None` if these are not such bytes.
pub fn decode_panics(bytes: &[u8]) -> Option<(u64, Vec<PanicSite>)> {
    let (id, text) = bytes.split_first_chunk()?;
    let text = std::str::from_utf8(text).ok()?;
    let site = |line: &str| {
        let (place, message) = line.split_once('\0')?;
        Some(PanicSite { place: plain(place), message: plain(message) })
    };
    Some((u64::from_le_bytes(*id), text.lines().map(site).collect::<Option<_>>()?))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\0', "\\0")
}

fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        plain.push(match next {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('0') => '\0',
                other => other.unwrap_or('\\'),
            },
            other => other,
        });
    }
    plain
}

impl PanicSite {
    /// How many values the message shows.
    pub fn value_count(&self) -> usize {
        let mut count = 0;
        let _ = self.parts(|part| {
            if let Part::Value { index, ty, .. } = part {
                count = count.max(index + if ty == RANGE { 3 } else { 1 });
            }
        });
        count.min(PANIC_VALUES)
    }

    /// The message. Each value is `…` if they are not known.
    pub fn message_with(&self, values: Option<&[u64]>) -> String {
        let mut message = String::new();
        let well_formed = self.parts(|part| match part {
            Part::Text(text) => message += text,
            Part::Value { index, ty, options } => {
                let shown = values.and_then(|values| shown(values.get(index..)?, ty, options));
                message += shown.as_deref().unwrap_or("…");
            }
        });
        if well_formed.is_some() { message } else { self.message.clone() }
    }

    /// The parts of the template; `None` if it is none.
    fn parts<'t>(&'t self, mut visit: impl FnMut(Part<'t>)) -> Option<()> {
        let mut rest = self.message.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let (text, tail) = rest.split_at_checked(at)?;
            visit(Part::Text(text));
            if let Some(tail) = tail.strip_prefix("{{") {
                visit(Part::Text("{"));
                rest = tail;
            } else if let Some(tail) = tail.strip_prefix("}}") {
                visit(Part::Text("}"));
                rest = tail;
            } else {
                let (inner, tail) = tail.strip_prefix('{')?.split_once('}')?;
                let mut words = inner.splitn(3, ' ');
                let index = words.next()?.parse().ok().filter(|index| *index < PANIC_VALUES)?;
                visit(Part::Value { index, ty: words.next()?, options: words.next().unwrap_or_default() });
                rest = tail;
            }
        }
        visit(Part::Text(rest));
        Some(())
    }
}

enum Part<'t> {
    Text(&'t str),
    Value { index: usize, ty: &'t str, options: &'t str },
}

/// The type of a message about a slice.
const RANGE: &str = "range";

/// The first of the values as text; `None` if its type or its format is not known.
fn shown(values: &[u64], ty: &str, options: &str) -> Option<String> {
    let first = *values.first()?;
    match ty {
        RANGE => match values {
            [start, end, length, ..] => Some(out_of_range(*start, *end, *length)),
            _ => None,
        },
        "u8" => integer(first as u8, options),
        "u16" => integer(first as u16, options),
        "u32" => integer(first as u32, options),
        "u64" | "usize" => integer(first, options),
        "i8" => integer(first as i8, options),
        "i16" => integer(first as i16, options),
        "i32" => integer(first as i32, options),
        "i64" | "isize" => integer(first as i64, options),
        "f32" => float(f32::from_bits(first as u32), options),
        "f64" => float(f64::from_bits(first), options),
        "bool" => Some((first & 1 == 1).to_string()),
        "char" => {
            let value = char::from_u32(first as u32)?;
            Some(if options.ends_with('?') { format!("{value:?}") } else { value.to_string() })
        }
        _ => None,
    }
}

fn integer<T>(value: T, options: &str) -> Option<String>
where
    T: std::fmt::Display
        + std::fmt::LowerHex
        + std::fmt::UpperHex
        + std::fmt::Binary
        + std::fmt::Octal
        + std::fmt::LowerExp
        + std::fmt::UpperExp,
{
    let format = options.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    Some(match format {
        "" | "?" | "#" | "#?" => format!("{value}"),
        "x" => format!("{value:x}"),
        "#x" => format!("{value:#x}"),
        "X" => format!("{value:X}"),
        "#X" => format!("{value:#X}"),
        "b" => format!("{value:b}"),
        "#b" => format!("{value:#b}"),
        "o" => format!("{value:o}"),
        "#o" => format!("{value:#o}"),
        "e" => format!("{value:e}"),
        "E" => format!("{value:E}"),
        _ => return None,
    })
}

fn float<T>(value: T, options: &str) -> Option<String>
where
    T: std::fmt::Display + std::fmt::Debug + std::fmt::LowerExp + std::fmt::UpperExp,
{
    let digits = options.strip_prefix('.').unwrap_or_default();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (precision, tail) = digits.split_at_checked(end)?;
    let precision = precision.parse::<usize>().ok();
    let format = if precision.is_some() { tail } else { options };
    let mut text = String::new();
    match (format.trim_start_matches('#'), precision) {
        ("", None) => write!(text, "{value}"),
        ("", Some(precision)) => write!(text, "{value:.precision$}"),
        ("?", None) => write!(text, "{value:?}"),
        ("?", Some(precision)) => write!(text, "{value:.precision$?}"),
        ("e", None) => write!(text, "{value:e}"),
        ("e", Some(precision)) => write!(text, "{value:.precision$e}"),
        ("E", None) => write!(text, "{value:E}"),
        ("E", Some(precision)) => write!(text, "{value:.precision$E}"),
        _ => return None,
    }
    .ok()?;
    Some(text)
}

/// What `core` says of a range that a slice does not have.
fn out_of_range(start: u64, end: u64, length: u64) -> String {
    if start > length {
        format!("range start index {start} out of range for slice of length {length}")
    } else if end <= length && start > end {
        format!("slice index starts at {start} but ends at {end}")
    } else {
        format!("range end index {end} out of range for slice of length {length}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn site(message: &str) -> PanicSite {
        PanicSite { place: "k.rs:1:2".to_owned(), message: message.to_owned() }
    }

    fn message(template: &str, values: &[u64]) -> String {
        site(template).message_with(Some(values))
    }

    #[test]
    fn values_have_their_type_and_format() {
        assert_eq!(
            message("the len is {0 usize} but the index is {1 usize}", &[3, 7]),
            "the len is 3 but the index is 7"
        );
        assert_eq!(
            message("{0 i32}, {0 u32 x}, {0 u32 #x}, {{}}", &[0xffff_fffe]),
            "-2, fffffffe, 0xfffffffe, {}"
        );
        let one = u64::from(1.5_f32.to_bits());
        assert_eq!(
            message("{0 f32} {0 f32 ?} {0 f32 .3} {1 f64 .0e}", &[one, 2.0_f64.to_bits()]),
            "1.5 1.5 1.500 2e0"
        );
        assert_eq!(message("{0 f32} {0 f32 ?}", &[u64::from(1_f32.to_bits())]), "1 1.0");
        assert_eq!(message("{0 bool} {1 char} {1 char ?}", &[1, 0x61]), "true a 'a'");
    }

    #[test]
    fn ranges_are_told_as_by_core() {
        assert_eq!(
            message("{0 range}", &[9, 9, 4]),
            "range start index 9 out of range for slice of length 4"
        );
        assert_eq!(message("{0 range}", &[3, 2, 4]), "slice index starts at 3 but ends at 2");
        assert_eq!(message("{0 range}", &[3, 5, 4]), "range end index 5 out of range for slice of length 4");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!(site("{0 u32} and {1 u32}").message_with(None), "… and …");
        assert_eq!(message("{0 u32} and {1 u32}", &[1]), "1 and …");
        assert_eq!(message("{0 Complex}", &[1]), "…");
        assert_eq!(message("{broken", &[1]), "{broken");
        assert_eq!(message("{9 u32}", &[1]), "{9 u32}");
        assert_eq!(site("{0 u32} {2 u8}").value_count(), 3);
        assert_eq!(site("{0 range}").value_count(), 3);
        assert_eq!(site("none").value_count(), 0);
    }

    #[test]
    fn sites_come_back_from_bytes() {
        let sites = [
            site("left: {0 u32}\nright: \\ {1 u32}\r\0"),
            site(""),
            PanicSite { place: String::new(), message: "x".to_owned() },
        ];
        assert_eq!(decode_panics(&encode_panics(77, &sites)).unwrap(), (77, sites.to_vec()));
        assert_eq!(decode_panics(&[1, 2]), None);
    }
}
