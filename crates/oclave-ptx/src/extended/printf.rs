//! `printf`: the driver's `vprintf`, which takes arguments as C has them behind each other in
//! memory.
//!
//! It knows no vectors and no OpenCL lengths, so the format string is rewritten: `%v4hld` becomes
//! `%d,%d,%d,%d`.

use oclave_spirv::{Instruction, Op};

use crate::body::{Body, ptx};
use crate::constants::{self, Constant};
use crate::error::{Step, Stop, need};
use crate::facts::is_access_chain;
use crate::operand::{Class, Kind, Operand, Space};

/// One conversion of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Conversion {
    /// How many scalars it prints; more than one for a vector.
    lanes: usize,
    letter: char,
    /// The type that `hh` or `h` makes of the number.
    narrow: Option<Kind>,
}

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn printf(&mut self, instruction: &Instruction<'m>, operands: &[u32]) -> Step {
        let (id, _) = self.result(instruction)?;
        let Some((&format, arguments)) = operands.split_first() else {
            return Err(Stop::Broken("no format"));
        };
        let text = self.format_text(format)?;
        let (text, conversions) = rewrite(&text);
        let format = self.string(&text);

        // The printed values in memory: numbers of 4 or 8 bytes, aligned.
        let mut values = Vec::new();
        let mut conversions = conversions.into_iter();
        for &argument in arguments {
            let shape = self.shape_of(argument)?;
            let conversion = conversions.next();
            let letter = conversion.as_ref().map_or('d', |conversion| conversion.letter);
            let narrow = conversion.and_then(|conversion| conversion.narrow);
            let space = match shape.kinds.first() {
                Some(Kind::Pointer(_)) => Some(self.space_of(argument)?),
                _ => None,
            };
            for (part, kind) in self.value(argument)?.into_iter().zip(&shape.kinds) {
                // The driver's function does not know these lengths.
                let (kind, part) = match narrow.filter(|_| *kind == Kind::I32) {
                    Some(narrow) => (narrow, self.resize(Kind::I32, narrow, part, false)),
                    None => (*kind, part),
                };
                values.push(self.promoted_argument(letter, kind, part, space));
            }
        }
        let mut bytes = 0_u64;
        let mut places = Vec::new();
        for (kind, _) in &values {
            bytes = bytes.next_multiple_of(kind.bytes());
            places.push(bytes);
            bytes += kind.bytes();
        }
        let at = self.private_bytes(bytes.max(8), 8)?;
        let buffer = self.private_address(at);
        for ((kind, value), place) in values.into_iter().zip(places) {
            self.store_one(Space::Local, buffer, place, kind, value, 8, Default::default());
        }
        let buffer = self.generic_of(Space::Local, buffer);
        self.cx.uses_printf = true;
        let status = self.register(Class::B32);
        ptx!(self, "{{ // printf");
        ptx!(self, ".param .b64 a0");
        ptx!(self, "st.param.b64 [a0], {format}");
        ptx!(self, ".param .b64 a1");
        ptx!(self, "st.param.b64 [a1], {buffer}");
        ptx!(self, ".param .b32 r");
        ptx!(self, "call.uni (r), vprintf, (a0, a1)");
        ptx!(self, "ld.param.b32 {status}, [r]");
        ptx!(self, "}} // printf");
        // OpenCL's printf returns 0, or -1.
        let result = self.op2(Class::B32, "min.s32", crate::operand::Ty::S32, status, Operand::Immediate(0));
        self.bind(id, &[result])
    }

    /// An argument as C passes it: `int`, `long` or `double`.
    fn promoted_argument(
        &mut self,
        letter: char,
        kind: Kind,
        value: Operand,
        space: Option<Space>,
    ) -> (Kind, Operand) {
        match kind {
            Kind::F16 | Kind::F32 => (Kind::F64, self.float_to_float(kind, Kind::F64, value, None)),
            Kind::F64 | Kind::I64 | Kind::I32 => (kind, value),
            Kind::Pointer(_) => (Kind::I64, self.generic_of(space.unwrap_or(Space::Generic), value)),
            Kind::Bool | Kind::I8 | Kind::I16 => {
                let signed = matches!(letter, 'd' | 'i') && kind != Kind::Bool;
                (Kind::I32, self.resize(kind, Kind::I32, value, signed))
            }
        }
    }

    /// The characters of a format string, which must be a constant of the module.
    fn format_text(&mut self, mut pointer: u32) -> Step<Vec<u8>> {
        let refused = || Stop::unsupported("the format string of printf must be a string literal");
        for _ in 0..16 {
            let definition = need(self.cx.definition(pointer))?;
            match definition.op() {
                Some(Op::Variable) => {
                    let initializer = definition.operand(1).ok_or_else(refused)?;
                    return self.bytes_of(initializer).ok_or_else(refused);
                }
                Some(Op::SpecConstantOp) => pointer = definition.operand(1).ok_or_else(refused)?,
                op if is_access_chain(op) || matches!(op, Some(Op::Bitcast | Op::PtrCastToGeneric)) => {
                    pointer = definition.operand(0).ok_or_else(refused)?;
                }
                _ => return Err(refused()),
            }
        }
        Err(refused())
    }

    fn bytes_of(&mut self, constant: u32) -> Option<Vec<u8>> {
        let definition = self.cx.definition(constant)?;
        let mut bytes = Vec::new();
        match definition.op()? {
            Op::ConstantComposite => {
                for &part in definition.operands() {
                    match constants::parts(&mut self.cx.shapes, self.cx.definitions, part).ok()?.as_slice() {
                        [Constant::Bits(byte)] => bytes.push(*byte as u8),
                        _ => return None,
                    }
                }
            }
            Op::ConstantNull => {}
            _ => return None,
        }
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        bytes.truncate(end);
        Some(bytes)
    }

    /// The generic address of a string.
    fn string(&mut self, text: &[u8]) -> Operand {
        let mut bytes = text.to_vec();
        bytes.push(0);
        let known = self.cx.strings.iter().find(|(_, known)| *known == bytes).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = self.cx.names.free("s$format");
            self.cx.strings.push((name.clone(), bytes));
            name
        });
        let d = self.register(Class::B64);
        ptx!(self, "mov.u64 {d}, {name}");
        self.generic_of(Space::Global, d)
    }
}

/// The format without vectors and OpenCL's lengths, and its conversions.
fn rewrite(format: &[u8]) -> (Vec<u8>, Vec<Conversion>) {
    let mut text = Vec::with_capacity(format.len());
    let mut conversions = Vec::new();
    let mut rest = format;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            text.push(first);
            continue;
        }
        if let [b'%', after @ ..] = rest {
            text.extend_from_slice(b"%%");
            rest = after;
            continue;
        }
        let mut head = vec![b'%'];
        while let [c @ (b'-' | b'+' | b' ' | b'#' | b'.' | b'0'..=b'9'), after @ ..] = rest {
            head.push(*c);
            rest = after;
        }
        let mut lanes = 1_usize;
        if let [b'v', after @ ..] = rest {
            let digits = after.iter().take_while(|c| c.is_ascii_digit()).count();
            let number =
                after.get(..digits).and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| d.parse().ok());
            lanes = number.filter(|n| (1..=16).contains(n)).unwrap_or(1);
            rest = after.get(digits..).unwrap_or_default();
        }
        let (mut long, mut narrow) = (false, None);
        loop {
            match rest {
                [b'h', b'l', after @ ..] => rest = after,
                [b'h', b'h', after @ ..] => {
                    narrow = Some(Kind::I8);
                    rest = after;
                }
                [b'h', after @ ..] => {
                    narrow = Some(Kind::I16);
                    rest = after;
                }
                [b'l', after @ ..] => {
                    long = true;
                    rest = after;
                }
                [b'j' | b'z' | b't' | b'L', after @ ..] => rest = after,
                _ => break,
            }
        }
        let Some((&letter, after)) = rest.split_first() else {
            text.extend(head);
            break;
        };
        rest = after;
        for lane in 0..lanes {
            if lane > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&head);
            if long && matches!(letter, b'd' | b'i' | b'u' | b'x' | b'X' | b'o') {
                text.push(b'l');
            }
            text.push(letter);
        }
        conversions.push(Conversion { lanes, letter: char::from(letter), narrow });
    }
    (text, conversions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_lose_vectors_and_lengths() {
        for (format, expected, lanes) in [
            ("a%d%%", "a%d%%", vec![1]),
            ("%v4hld|", "%d,%d,%d,%d|", vec![4]),
            ("%5.2v2f %lu", "%5.2f,%5.2f %lu", vec![2, 1]),
            ("%v3hhx", "%x,%x,%x", vec![3]),
            ("%v2ld", "%ld,%ld", vec![2]),
            ("100%", "100%", vec![]),
            ("%s%c%p", "%s%c%p", vec![1, 1, 1]),
        ] {
            let (text, conversions) = rewrite(format.as_bytes());
            assert_eq!(String::from_utf8(text).unwrap(), expected);
            assert_eq!(conversions.iter().map(|c| c.lanes).collect::<Vec<_>>(), lanes, "{format}");
        }
    }

    #[test]
    fn lengths_of_small_numbers_are_kept() {
        let (text, conversions) = rewrite(b"%hhx %hd %v4hhu %v4hld %d");
        assert_eq!(text, b"%x %d %u,%u,%u,%u %d,%d,%d,%d %d");
        let narrow: Vec<_> = conversions.iter().map(|conversion| conversion.narrow).collect();
        assert_eq!(narrow, [Some(Kind::I8), Some(Kind::I16), Some(Kind::I8), None, None]);
    }
}
