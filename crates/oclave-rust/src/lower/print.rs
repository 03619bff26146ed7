//! What kernels print: calls of OpenCL's `printf`.
//!
//! `device_println!` calls a function whose name has the place and the format. Its arguments are pairs
//! of a code, which tells the type, and the bits.

use oclave_spirv::{Op, StorageClass};

use super::Output;
use super::builder::ValueId;
use super::function::{Lower, Lowering, Refusal};
use crate::llvm::tree::{Constant, Instruction, Operand, Typed};

/// `printf` of `OpenCL.std`.
const PRINTF: u32 = 184;
/// Kinds of numbers.
const SIGNED: u64 = 0;
const FLOAT: u64 = 2;

/// A number that is printed.
struct Number {
    kind: u64,
    width: u32,
    /// 64 of them.
    bits: ValueId,
}

impl Output<'_> {
    /// The address of the first character of a text, which is followed by a zero.
    fn text(&mut self, text: &[u8]) -> ValueId {
        let char = self.builder.int_type(8);
        let count = text.len() as u64 + 1;
        let characters: Vec<ValueId> =
            text.iter().chain(&[0]).map(|byte| self.builder.int_constant(8, u64::from(*byte))).collect();
        let array = self.builder.array_type(char, count);
        let value = self.builder.composite(array, &characters);
        let pointer = self.builder.pointer_type(StorageClass::UniformConstant, array);
        let variable = self.builder.variable(pointer, StorageClass::UniformConstant, Some(value));
        self.builder.decorate(variable, oclave_spirv::Decoration::Constant, &[]);
        variable
    }
}

impl Lower<'_, '_> {
    /// A call of `device_println!`. `name` is `print_LINE_COLUMN_FORMAT`, the format in hexadecimal digits.
    pub(super) fn print(
        &mut self,
        instruction: &Instruction,
        name: &str,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let unknown = || Refusal::from("a format that this version of oclave-rust does not know");
        let digits = name.rsplit('_').next().unwrap_or_default();
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let template: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        let template = template.ok_or_else(unknown)?;
        let mut numbers = Vec::new();
        for pair in arguments.chunks_exact(2) {
            let [(_, code), (ty, bits)] = pair else { continue };
            let code = match code {
                Operand::Constant(Constant::Int(code)) => *code as u64,
                Operand::Constant(Constant::Zero) => 0,
                _ => {
                    return Err(Refusal::new(
                        "it prints a number whose type depends on the way to it",
                        "print in each branch by a format of its own",
                    ));
                }
            };
            let bits = self.scalar(ty, bits)?;
            numbers.push(Number { kind: code & 0xff, width: (code >> 8) as u32, bits });
        }
        let (mut format, mut values) = (Vec::new(), Vec::new());
        let mut numbers = numbers.into_iter();
        let mut rest = template.iter().copied();
        while let Some(byte) = rest.next() {
            format.push(byte);
            if byte != b'%' {
                continue;
            }
            let mut flags = Vec::new();
            let letter = loop {
                match rest.next().ok_or_else(unknown)? {
                    flag @ (b'0'..=b'9' | b'.' | b'-') => flags.push(flag),
                    letter => break letter,
                }
            };
            if letter == b'%' {
                format.push(letter);
                continue;
            }
            let number = numbers.next().ok_or_else(unknown)?;
            values.push(self.printed(&number, &mut flags, letter, &mut format)?);
        }
        let variable = self.output.text(&format);
        let (uint, char) = (self.int(32), self.int(8));
        let pointer = self.output.builder.pointer_type(StorageClass::UniformConstant, char);
        let zero = self.number(64, 0);
        let first = self.op(Op::InBoundsPtrAccessChain, pointer, &[variable, zero, zero]);
        let place = self.output.program.places(self.copy.symbol.module, instruction).into_iter().next();
        if let Some(place) = &place {
            let file = self.output.file(&place.file);
            self.effect(Op::Line, &[file.word(), place.line, place.column]);
        }
        let operands: Vec<ValueId> = std::iter::once(first).chain(values).collect();
        self.std(PRINTF, uint, &operands);
        if place.is_some() {
            self.effect(Op::NoLine, &[]);
        }
        self.set(instruction, Vec::new());
        Ok(())
    }

    /// Writes the conversion of a number to the format, and gives what `printf` takes for it.
    fn printed(
        &mut self,
        number: &Number,
        flags: &mut Vec<u8>,
        letter: u8,
        format: &mut Vec<u8>,
    ) -> Lowering<ValueId> {
        let Number { kind, width, bits } = *number;
        let point = flags.iter().position(|flag| *flag == b'.');
        if kind == FLOAT {
            if letter != b'?' {
                return Err(Refusal::new(
                    "it prints the digits of a floating-point number by `x`, `X` or `o`",
                    "print `to_bits()`",
                ));
            }
            format.append(flags);
            format.push(if point.is_some() { b'f' } else { b'g' });
            let (float, double) = (self.output.builder.float_type(width), self.output.builder.float_type(64));
            let bits = self.resize(bits, 64, width);
            let value = self.op(Op::Bitcast, float, &[bits]);
            // As in C. Devices without doubles get another form of the kernel.
            return Ok(if width == 64 { value } else { self.op(Op::FConvert, double, &[value]) });
        }
        // Rust's integers have no precision.
        flags.truncate(point.unwrap_or(flags.len()));
        format.append(flags);
        if width == 64 {
            format.push(b'l');
        }
        format.push(match letter {
            b'?' if kind == SIGNED => b'd',
            b'?' => b'u',
            letter => letter,
        });
        let value = self.resize(bits, 64, width.max(32));
        Ok(if letter != b'?' && width < 32 {
            let (uint, mask) = (self.int(32), self.number(32, (1 << width) - 1));
            self.op(Op::BitwiseAnd, uint, &[value, mask])
        } else {
            value
        })
    }
}

impl Output<'_> {
    /// The name of a file, for lines.
    fn file(&mut self, name: &str) -> ValueId {
        let key = format!("file {name}");
        if let Some(id) = self.helpers.get(&key) {
            return *id;
        }
        let id = self.builder.string(name);
        self.helpers.insert(key, id);
        id
    }
}
