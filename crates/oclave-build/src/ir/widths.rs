//! Integers of widths that SPIR-V does not have (31 bits, 33 bits, …), as integers of the next
//! width that it has.
//!
//! A widened value has zeros above its own bits. What may leave others there is masked.

use super::function::Function;
use super::intrinsics::Call;
use super::text::{Cursor, Ty, definition, int_width, replace_tokens, tokens};
use super::unknown::Leftover;

/// What cannot be widened.
type Cause = String;

fn is_odd(bits: u32) -> bool {
    !matches!(bits, 1 | 8 | 16 | 32 | 64)
}

/// Whether a line has an integer of such a width.
pub(super) fn has_odd_width(line: &str) -> bool {
    // Most lines are none of these, and need no tokens.
    line.contains('i') && tokens(line).iter().any(|(_, token)| int_width(token).is_some_and(is_odd))
}

/// Widens the integers of a function; where one cannot be widened, the function stays as it is.
pub(super) fn widen(function: &mut Function) -> Option<Leftover> {
    let before = function.clone();
    let lines = std::mem::take(&mut function.lines);
    for line in lines {
        if !has_odd_width(&line) {
            function.lines.push(line);
            continue;
        }
        if let Err(cause) = (Widening { function, line: &line }).instruction() {
            *function = before;
            let instruction = line.trim().to_owned();
            return Some(Leftover { function: function.symbol().to_owned(), instruction, cause });
        }
    }
    None
}

/// The type that values of a type become.
fn widened(ty: Ty<'_>) -> Result<Ty<'_>, Cause> {
    let Some(bits) = ty.bits() else { return Ok(ty) };
    if bits > 64 {
        return Err(format!("an integer of {bits} bits"));
    }
    Ok(if is_odd(bits) { ty.with_bits(bits.next_power_of_two().max(8)) } else { ty })
}

/// A number that has the lowest bits of a lane set.
fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// An operand as a value of the widened type.
fn operand(value: &str, ty: Ty<'_>) -> Result<String, Cause> {
    let bits = ty.bits().unwrap_or(64);
    if !is_odd(bits) {
        return Ok(value.to_owned());
    }
    if value.starts_with('%') || value == "zeroinitializer" {
        return Ok(value.to_owned());
    }
    if value.contains('(') && !value.starts_with("splat") {
        return Err(format!("a constant expression of {bits} bits"));
    }
    let wide = widened(ty)?.bits().unwrap_or(bits);
    let new = replace_tokens(value, |token| match token {
        "undef" | "poison" => Some("zeroinitializer".to_owned()),
        token if int_width(token) == Some(bits) => Some(format!("i{wide}")),
        token => {
            let number: i128 = token.parse().ok()?;
            let low = u64::try_from(number.rem_euclid(1_i128 << bits)).ok()?;
            Some(low.to_string())
        }
    });
    Ok(new.into_owned())
}

struct Widening<'f> {
    function: &'f mut Function,
    line: &'f str,
}

impl Widening<'_> {
    fn push(&mut self, line: String) {
        self.function.lines.push(line);
    }

    /// Adds an instruction with a new result.
    fn emit(&mut self, words: String) -> String {
        let name = self.function.fresh();
        self.push(format!("  {name} = {words}"));
        name
    }

    /// Adds the instruction that gives the result of the line.
    fn result(&mut self, words: String) {
        let (name, _) = definition(self.line);
        let line = format!("  {name} = {words}");
        self.push(line);
    }

    /// Adds the result of the line, with what is above its own bits removed.
    fn masked(&mut self, words: String, ty: Ty<'_>) -> Result<(), Cause> {
        match ty.bits() {
            Some(bits) if is_odd(bits) => {
                let raw = self.emit(words);
                let wide = widened(ty)?;
                self.result(format!("and {wide} {raw}, {}", wide.splat(mask(bits))));
            }
            _ => self.result(words),
        }
        Ok(())
    }

    /// The sign of a value in all bits above its own.
    fn sign_extended(&mut self, value: &str, ty: Ty<'_>) -> Result<String, Cause> {
        let (Some(bits), wide) = (ty.bits(), widened(ty)?) else { return Ok(value.to_owned()) };
        let value = operand(value, ty)?;
        if !is_odd(bits) {
            return Ok(value);
        }
        let above = wide.splat(wide.bits().unwrap_or(bits) - bits);
        let high = self.emit(format!("shl {wide} {value}, {above}"));
        Ok(self.emit(format!("ashr {wide} {high}, {above}")))
    }

    fn instruction(&mut self) -> Result<(), Cause> {
        let (_, rest) = definition(self.line);
        let mut cursor = Cursor::new(rest);
        let op = cursor.next();
        match op {
            "add" | "sub" | "mul" | "shl" | "udiv" | "urem" | "lshr" | "and" | "or" | "xor" | "sdiv"
            | "srem" | "ashr" => self.arithmetic(op, cursor),
            "trunc" | "zext" | "sext" => self.cast(op, cursor),
            "uitofp" | "sitofp" | "fptoui" | "fptosi" => self.conversion(op, cursor),
            "icmp" => self.comparison(cursor),
            "select" => self.select(cursor),
            "phi" => self.phi(cursor),
            "switch" => self.switch(cursor),
            "extractelement" | "insertelement" | "shufflevector" => self.lanes(op, cursor),
            "bitcast" => self.bitcast(cursor),
            "tail" | "call" | "notail" => self.call(),
            "load" => self.load(cursor),
            "store" => self.store(cursor),
            // A case of a switch.
            op if int_width(op).is_some() && self.line.contains(", label %") => {
                let mut cursor = Cursor::new(rest);
                let ty = cursor.ty();
                let value = operand(cursor.value(), ty)?;
                let line = format!("    {} {value}{}", widened(ty)?, cursor.rest());
                self.push(line);
                Ok(())
            }
            _ if self.line.trim_start().starts_with("#dbg_") => {
                self.renamed();
                Ok(())
            }
            op => Err(format!("`{op}` of an integer of a width that SPIR-V does not have")),
        }
    }

    /// The line with other types and nothing else: for debug information.
    fn renamed(&mut self) {
        let line = replace_tokens(self.line, |token| {
            let bits = int_width(token).filter(|bits| is_odd(*bits))?;
            Some(format!("i{}", bits.next_power_of_two().clamp(8, 64)))
        });
        let line = line.into_owned();
        self.push(line);
    }

    fn arithmetic(&mut self, op: &str, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        while matches!(cursor.peek(), "nuw" | "nsw" | "exact" | "disjoint") {
            cursor.next();
        }
        let ty = cursor.ty();
        let a = cursor.value();
        cursor.take(",");
        let b = cursor.value();
        let wide = widened(ty)?;
        let signed = matches!(op, "sdiv" | "srem" | "ashr");
        let (a, b) = match op {
            "ashr" => (self.sign_extended(a, ty)?, operand(b, ty)?),
            _ if signed => (self.sign_extended(a, ty)?, self.sign_extended(b, ty)?),
            _ => (operand(a, ty)?, operand(b, ty)?),
        };
        let words = format!("{op} {wide} {a}, {b}");
        if signed || matches!(op, "add" | "sub" | "mul" | "shl") {
            return self.masked(words, ty);
        }
        self.result(words);
        Ok(())
    }

    /// From one integer to another, of which one at least has an odd width.
    fn cast(&mut self, op: &str, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        while matches!(cursor.peek(), "nuw" | "nsw" | "nneg") {
            cursor.next();
        }
        let from = cursor.ty();
        let value = cursor.value();
        cursor.take("to");
        let to = cursor.ty();
        let (wide_from, wide_to) = (widened(from)?, widened(to)?);
        let value = if op == "sext" { self.sign_extended(value, from)? } else { operand(value, from)? };
        let words = if wide_from == wide_to {
            // The same value: as an instruction, which keeps the name.
            format!("or {wide_to} {value}, {}", wide_to.splat(0))
        } else {
            format!("{op} {wide_from} {value} to {wide_to}")
        };
        // Zeros are above the bits of a zero-extended value already.
        if op == "zext" {
            self.result(words);
            return Ok(());
        }
        self.masked(words, to)
    }

    fn conversion(&mut self, op: &str, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        cursor.take("nneg");
        let from = cursor.ty();
        let value = cursor.value();
        cursor.take("to");
        let to = cursor.ty();
        let value = if op == "sitofp" { self.sign_extended(value, from)? } else { operand(value, from)? };
        let words = format!("{op} {} {value} to {}", widened(from)?, widened(to)?);
        self.masked(words, to)
    }

    fn comparison(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        cursor.take("samesign");
        let predicate = cursor.next();
        let ty = cursor.ty();
        let a = cursor.value();
        cursor.take(",");
        let b = cursor.value();
        let (a, b) = if predicate.starts_with('s') {
            (self.sign_extended(a, ty)?, self.sign_extended(b, ty)?)
        } else {
            (operand(a, ty)?, operand(b, ty)?)
        };
        self.result(format!("icmp {predicate} {} {a}, {b}", widened(ty)?));
        Ok(())
    }

    fn select(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let condition = (cursor.ty(), cursor.value());
        cursor.take(",");
        let ty = cursor.ty();
        let a = operand(cursor.value(), ty)?;
        cursor.take(",");
        cursor.ty();
        let b = operand(cursor.value(), ty)?;
        let wide = widened(ty)?;
        self.result(format!("select {} {}, {wide} {a}, {wide} {b}", condition.0, condition.1));
        Ok(())
    }

    fn phi(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let ty = cursor.ty();
        let mut incoming = Vec::new();
        while cursor.take("[") {
            let value = operand(cursor.value(), ty)?;
            cursor.take(",");
            incoming.push(format!("[ {value}, {} ]", cursor.next()));
            cursor.take("]");
            cursor.take(",");
        }
        self.result(format!("phi {} {}", widened(ty)?, incoming.join(", ")));
        Ok(())
    }

    /// The first line; the cases follow in lines of their own.
    fn switch(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let ty = cursor.ty();
        let value = operand(cursor.value(), ty)?;
        let line = format!("  switch {} {value}{}", widened(ty)?, cursor.rest());
        self.push(line);
        Ok(())
    }

    fn lanes(&mut self, op: &str, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let mut operands = Vec::new();
        loop {
            let ty = cursor.ty();
            operands.push(format!("{} {}", widened(ty)?, operand(cursor.value(), ty)?));
            if !cursor.take(",") || cursor.peek().starts_with('!') {
                break;
            }
        }
        self.result(format!("{op} {}", operands.join(", ")));
        Ok(())
    }

    /// Lanes of one bit as a number: SPIR-V's Booleans have no bits.
    fn bitcast(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let from = cursor.ty();
        let value = cursor.value();
        cursor.take("to");
        let to = cursor.ty();
        match (from, to) {
            (Ty::Vector(lanes, 1), Ty::Int(_)) => {
                let wide = widened(to)?;
                let mut sum = "0".to_owned();
                for lane in 0..lanes {
                    let bit = self.emit(format!("extractelement {from} {value}, i32 {lane}"));
                    let bit = self.emit(format!("select i1 {bit}, {wide} {}, {wide} 0", 1_u64 << lane));
                    sum = self.emit(format!("or {wide} {sum}, {bit}"));
                }
                self.result(format!("or {wide} {sum}, 0"));
                Ok(())
            }
            (Ty::Other(_), Ty::Other(_)) => {
                // Pointers.
                self.renamed();
                Ok(())
            }
            _ => Err(format!("`bitcast` from {from} to {to}")),
        }
    }

    fn call(&mut self) -> Result<(), Cause> {
        let line = self.line;
        if line.contains("@llvm.dbg.") {
            self.renamed();
            return Ok(());
        }
        let unknown = || "a call with an integer of a width that SPIR-V does not have".to_owned();
        let call = Call::parse(line).ok_or_else(unknown)?;
        let (ty, wide) = (call.ty, widened(call.ty)?);
        match (call.name, call.arguments.as_slice()) {
            ("umin" | "umax" | "smin" | "smax", &[(_, a), (_, b)]) => {
                let predicate = if call.name.ends_with("min") { "lt" } else { "gt" };
                let sign = if call.name.starts_with('s') { 's' } else { 'u' };
                let (x, y) = if sign == 's' {
                    (self.sign_extended(a, ty)?, self.sign_extended(b, ty)?)
                } else {
                    (operand(a, ty)?, operand(b, ty)?)
                };
                let is_first = self.emit(format!("icmp {sign}{predicate} {wide} {x}, {y}"));
                let (a, b) = (operand(a, ty)?, operand(b, ty)?);
                self.result(format!("select {} {is_first}, {wide} {a}, {wide} {b}", ty.with_bits(1)));
                Ok(())
            }
            ("usub.sat", &[(_, a), (_, b)]) => {
                let (a, b) = (operand(a, ty)?, operand(b, ty)?);
                let is_less = self.emit(format!("icmp ult {wide} {a}, {b}"));
                let difference = self.emit(format!("sub {wide} {a}, {b}"));
                let zero = wide.splat(0);
                self.result(format!(
                    "select {} {is_less}, {wide} {zero}, {wide} {difference}",
                    ty.with_bits(1)
                ));
                Ok(())
            }
            ("abs", &[(_, a), _]) => {
                let extended = self.sign_extended(a, ty)?;
                let negative = self.emit(format!("icmp slt {wide} {extended}, zeroinitializer"));
                let opposite = self.emit(format!("sub {wide} zeroinitializer, {extended}"));
                let condition = ty.with_bits(1);
                let words = format!("select {condition} {negative}, {wide} {opposite}, {wide} {extended}");
                self.masked(words, ty)
            }
            _ => Err(unknown()),
        }
    }

    /// Bit-fields of three, five or more bytes.
    fn load(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let ty = cursor.ty();
        cursor.take(",");
        let pointer = Pointer::read(&mut cursor, ty)?;
        let (Ty::Int(bits), wide) = (ty, widened(ty)?) else {
            return Err("`load` of a vector of a width that SPIR-V does not have".to_owned());
        };
        let bytes = self.bytes_at(&pointer, bits);
        let mut sum = "0".to_owned();
        for (at, address) in bytes.into_iter().enumerate() {
            let byte = self.emit(format!("load i8, {} {address}, align 1", pointer.to_byte));
            let mut part = self.emit(format!("zext i8 {byte} to {wide}"));
            if at > 0 {
                part = self.emit(format!("shl {wide} {part}, {}", 8 * at));
            }
            sum = self.emit(format!("or {wide} {sum}, {part}"));
        }
        self.result(format!("or {wide} {sum}, 0"));
        Ok(())
    }

    fn store(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let ty = cursor.ty();
        let value = operand(cursor.value(), ty)?;
        cursor.take(",");
        let pointer = Pointer::read(&mut cursor, ty)?;
        let (Ty::Int(bits), wide) = (ty, widened(ty)?) else {
            return Err("`store` of a vector of a width that SPIR-V does not have".to_owned());
        };
        for (at, address) in self.bytes_at(&pointer, bits).into_iter().enumerate() {
            let shifted = self.emit(format!("lshr {wide} {value}, {}", 8 * at));
            let byte = self.emit(format!("trunc {wide} {shifted} to i8"));
            let line = format!("  store i8 {byte}, {} {address}, align 1", pointer.to_byte);
            self.push(line);
        }
        Ok(())
    }

    /// The addresses of the bytes of an integer, the lowest first.
    fn bytes_at(&mut self, pointer: &Pointer<'_>, bits: u32) -> Vec<String> {
        let to_byte = pointer.to_byte.clone();
        let first = match &pointer.widened {
            Some(from) => self.emit(format!("bitcast {from} {} to {to_byte}", pointer.value)),
            None => pointer.value.to_owned(),
        };
        let address = |at| self.emit(format!("getelementptr i8, {to_byte} {first}, i64 {at}"));
        (0..bits / 8).map(address).collect()
    }
}

/// The address of a bit-field.
struct Pointer<'t> {
    value: &'t str,
    /// The type of pointers to bytes there.
    to_byte: String,
    /// The type of the pointer after widening, where pointers say what they point to.
    widened: Option<String>,
}

impl<'t> Pointer<'t> {
    fn read(cursor: &mut Cursor<'t>, pointee: Ty<'_>) -> Result<Self, Cause> {
        let Ty::Other(words) = cursor.ty() else {
            return Err(
                "a volatile or atomic access to an integer of a width that SPIR-V does not have".to_owned()
            );
        };
        let value = cursor.value();
        let bits = pointee.bits().unwrap_or_default();
        if !bits.is_multiple_of(8) || !value.starts_with('%') {
            return Err(format!("an access to an integer of {bits} bits"));
        }
        let typed = words.strip_suffix('*').and_then(|words| words.strip_prefix(&format!("i{bits}")));
        let wide = widened(pointee)?;
        Ok(match typed {
            Some(space) => {
                Self { value, to_byte: format!("i8{space}*"), widened: Some(format!("{wide}{space}*")) }
            }
            None => Self { value, to_byte: words.to_owned(), widened: None },
        })
    }
}
