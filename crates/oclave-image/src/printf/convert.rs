//! Format strings and the conversion of integers and strings (OpenCL C, "printf"; C99, 7.19.6.1).

use super::float;

/// The widest field, and the highest precision; more is no number that anyone wants printed.
const WIDEST: usize = 4096;

/// A part of a format string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'f> {
    Text(&'f [u8]),
    Conversion(Conversion),
}

/// A conversion of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Conversion {
    pub(super) left: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) alternative: bool,
    pub(super) zeros: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
    /// `vN`.
    pub(super) lanes: Option<usize>,
    /// The bits that the length says; `None` without.
    pub(super) bits: Option<u32>,
    pub(super) letter: u8,
}

impl<'f> Piece<'f> {
    /// The parts of a format string.
    pub(super) fn all(format: &'f [u8]) -> impl Iterator<Item = Self> {
        let mut rest = format;
        std::iter::from_fn(move || {
            let (piece, after) = Self::first(rest)?;
            rest = after;
            Some(piece)
        })
    }

    fn first(format: &'f [u8]) -> Option<(Self, &'f [u8])> {
        match format {
            [] => None,
            [b'%', b'%', after @ ..] => Some((Self::Text(b"%"), after)),
            [b'%', after @ ..] => match Conversion::parse(after) {
                Some((conversion, after)) => Some((Self::Conversion(conversion), after)),
                None => Some((Self::Text(b"%"), after)),
            },
            _ => {
                let end = format.iter().position(|byte| *byte == b'%').unwrap_or(format.len());
                let (text, after) = format.split_at(end);
                Some((Self::Text(text), after))
            }
        }
    }
}

impl Conversion {
    /// What stands behind a `%`, and the rest; `None` where it is no conversion.
    fn parse(mut text: &[u8]) -> Option<(Self, &[u8])> {
        let mut own = Self::default();
        while let [flag, after @ ..] = text {
            match flag {
                b'-' => own.left = true,
                b'+' => own.plus = true,
                b' ' => own.space = true,
                b'#' => own.alternative = true,
                b'0' => own.zeros = true,
                _ => break,
            }
            text = after;
        }
        (own.width, text) = number(text);
        if let [b'.', after @ ..] = text {
            let (precision, after) = number(after);
            (own.precision, text) = (Some(precision), after);
        }
        if let [b'v', after @ ..] = text {
            let (lanes, after) = number(after);
            (own.lanes, text) = (Some(lanes), after);
        }
        (own.bits, text) = match text {
            [b'h', b'h', after @ ..] => (Some(8), after),
            [b'h', b'l', after @ ..] => (Some(32), after),
            [b'h', after @ ..] => (Some(16), after),
            [b'l', b'l', after @ ..] | [b'l', after @ ..] => (Some(64), after),
            _ => (None, text),
        };
        let (&letter, after) = text.split_first()?;
        own.letter = letter;
        b"diouxXcspfFeEgGaA".contains(&letter).then_some((own, after))
    }

    /// An integer of so many bits.
    pub(super) fn integer(&self, value: u64, width: u32) -> Vec<u8> {
        let width = self.bits.map_or(width, |bits| bits.min(width)).clamp(1, 64);
        let unused = 64 - width;
        let unsigned = value << unused >> unused;
        match self.letter {
            b'c' => self.padded("", &[unsigned as u8], false),
            b'p' => self.pointer(unsigned),
            b'o' | b'u' | b'x' | b'X' => self.unsigned(unsigned),
            _ => {
                let signed = (value << unused).cast_signed() >> unused;
                self.signed(signed)
            }
        }
    }

    fn signed(&self, value: i64) -> Vec<u8> {
        let sign = self.sign(value < 0);
        self.padded(sign, &self.digits(value.unsigned_abs().to_string()), self.precision.is_none())
    }

    fn unsigned(&self, value: u64) -> Vec<u8> {
        let mut prefix = "";
        let mut digits = match self.letter {
            b'o' => self.digits(format!("{value:o}")),
            b'x' => self.digits(format!("{value:x}")),
            b'X' => self.digits(format!("{value:X}")),
            _ => self.digits(value.to_string()),
        };
        match self.letter {
            b'o' if self.alternative && digits.first() != Some(&b'0') => digits.insert(0, b'0'),
            b'x' if self.alternative && value != 0 => prefix = "0x",
            b'X' if self.alternative && value != 0 => prefix = "0X",
            _ => {}
        }
        self.padded(prefix, &digits, self.precision.is_none())
    }

    /// At least as many digits as the precision says; none for 0 with a precision of 0.
    fn digits(&self, digits: String) -> Vec<u8> {
        let precision = self.precision.unwrap_or(1);
        if precision == 0 && digits == "0" {
            return Vec::new();
        }
        let mut all = vec![b'0'; precision.saturating_sub(digits.len())];
        all.extend(digits.into_bytes());
        all
    }

    /// An address, as glibc prints it.
    pub(super) fn pointer(&self, address: u64) -> Vec<u8> {
        match address {
            0 => self.padded("", b"(nil)", false),
            _ => self.padded(self.sign(false), format!("{address:#x}").as_bytes(), false),
        }
    }

    /// A string.
    pub(super) fn text(&self, text: &[u8]) -> Vec<u8> {
        let end = self.precision.unwrap_or(text.len()).min(text.len());
        self.padded("", text.get(..end).unwrap_or(text), false)
    }

    /// A floating-point number.
    pub(super) fn float(&self, value: f64) -> Vec<u8> {
        let sign = self.sign(value.is_sign_negative());
        let upper = self.letter.is_ascii_uppercase();
        let mut text = float::digits(value.abs(), self.letter, self.precision, self.alternative);
        if upper {
            text.make_ascii_uppercase();
        }
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(rest) if value.is_finite() => {
                let prefix = format!("{sign}{}", if upper { "0X" } else { "0x" });
                self.padded(&prefix, rest.as_bytes(), true)
            }
            _ => self.padded(sign, text.as_bytes(), value.is_finite()),
        }
    }

    fn sign(&self, is_negative: bool) -> &'static str {
        match (is_negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    /// As wide as the field, with zeros or spaces.
    fn padded(&self, prefix: &str, text: &[u8], may_have_zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(prefix.len() + text.len());
        let pad = |byte: u8| std::iter::repeat_n(byte, missing);
        let (prefix, text) = (prefix.bytes(), text.iter().copied());
        match (self.left, self.zeros && may_have_zeros) {
            (true, _) => prefix.chain(text).chain(pad(b' ')).collect(),
            (false, true) => prefix.chain(pad(b'0')).chain(text).collect(),
            (false, false) => pad(b' ').chain(prefix).chain(text).collect(),
        }
    }
}

/// The number at the beginning of a text, 0 without, and the rest.
fn number(text: &[u8]) -> (usize, &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let add = |value: usize, digit: &u8| (value * 10 + usize::from(digit - b'0')).min(WIDEST);
    (digits.iter().fold(0, add), rest)
}
