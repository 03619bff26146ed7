//! Integers of more than 64 bits as several of 64 bits: their limbs, the lowest first.
//!
//! Clang up to version 18 accesses adjoining bit-fields at once, whatever their width. In OpenCL C,
//! literals with the suffix `ULL` have 128 bits.
//!
//! The highest limb has zeros above the bits of its integer.

use super::function::Function;
use super::intrinsics::Call;
use super::text::{Cursor, Ty, definition, int_width, replace_tokens, tokens};
use super::unknown::Leftover;
use super::{Ir, fields};

/// What cannot be split.
type Cause = String;

const LIMB: u32 = 64;

fn is_wide(bits: u32) -> bool {
    bits > LIMB
}

/// Whether a line has such an integer.
pub(super) fn has_limbs(line: &str) -> bool {
    line.contains('i') && tokens(line).iter().any(|(_, token)| int_width(token).is_some_and(is_wide))
}

/// The line with arrays of limbs for such integers.
fn renamed(line: &str) -> String {
    let array = |token: &str| {
        let bits = int_width(token).filter(|bits| is_wide(*bits))?;
        Some(format!("[{} x i64]", bits.div_ceil(LIMB)))
    };
    replace_tokens(line, array).into_owned()
}

/// Gives structs arrays of limbs, which have the same place in memory.
pub(super) fn rename_members(ir: &mut Ir) {
    for line in &mut ir.lines {
        if line.starts_with('%') && line.contains(" = type ") && has_limbs(line) {
            *line = renamed(line);
        }
    }
}

/// Splits the integers of a function; where one cannot be split, the function stays as it is.
pub(super) fn split(function: &mut Function) -> Option<Leftover> {
    let before = function.clone();
    for line in std::mem::take(&mut function.lines) {
        if !has_limbs(&line) {
            function.lines.push(line);
            continue;
        }
        if let Err(cause) = (Splitting { function, line: &line }).instruction() {
            *function = before;
            let instruction = line.trim().to_owned();
            return Some(Leftover { function: function.symbol().to_owned(), instruction, cause });
        }
    }
    None
}

/// A number in decimal digits as limbs.
fn limbs_of_number(text: &str, bits: u32) -> Option<Vec<u64>> {
    let (digits, is_negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let mut limbs = vec![0_u64; bits.div_ceil(LIMB) as usize];
    for digit in digits.chars() {
        let mut carry = u128::from(digit.to_digit(10)?);
        for limb in &mut limbs {
            let product = u128::from(*limb) * 10 + carry;
            (*limb, carry) = (product as u64, product >> LIMB);
        }
    }
    if is_negative {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
        }
    }
    if let Some(top) = limbs.last_mut() {
        *top &= top_mask(bits);
    }
    Some(limbs)
}

/// The bits of the highest limb that belong to an integer.
fn top_mask(bits: u32) -> u64 {
    u64::MAX >> (bits.div_ceil(LIMB) * LIMB - bits)
}

/// The name of a limb of a value.
fn limb(value: &str, at: usize) -> String {
    match value.strip_suffix('"') {
        Some(quoted) => format!("{quoted}.limb{at}\""),
        None => format!("{value}.limb{at}"),
    }
}

/// The limbs of an operand.
fn operand(value: &str, bits: u32) -> Result<Vec<String>, Cause> {
    let count = bits.div_ceil(LIMB) as usize;
    match value {
        "undef" | "poison" | "zeroinitializer" => Ok(vec!["0".to_owned(); count]),
        _ if value.starts_with('%') => Ok((0..count).map(|at| limb(value, at)).collect()),
        _ => limbs_of_number(value, bits)
            .map(|limbs| limbs.iter().map(|limb| limb.cast_signed().to_string()).collect())
            .ok_or_else(|| format!("a constant expression of {bits} bits")),
    }
}

fn unknown(op: &str, bits: u32) -> Cause {
    let op = if matches!(op, "tail" | "notail" | "musttail") { "call" } else { op };
    let literals = match bits {
        128 => "; literals with the suffix `ULL` or `LL` have 128 bits in OpenCL C, so write `UL` or `L`",
        _ => "",
    };
    format!("`{op}` of an integer of {bits} bits{literals}")
}

struct Splitting<'f> {
    function: &'f mut Function,
    line: &'f str,
}

impl Splitting<'_> {
    fn push(&mut self, line: String) {
        self.function.lines.push(line);
    }

    /// Adds an instruction with a new result.
    fn emit(&mut self, words: &str) -> String {
        let name = self.function.fresh();
        self.push(format!("  {name} = {words}"));
        name
    }

    /// Adds an instruction on limbs with a new result.
    fn limb(&mut self, op: &str, a: &str, b: &str) -> String {
        self.emit(&format!("{op} i64 {a}, {b}"))
    }

    /// Makes these limbs the result of the line, without what is above its bits.
    fn result(&mut self, limbs: &[String], bits: u32) {
        let (name, _) = definition(self.line);
        for (at, value) in limbs.iter().enumerate() {
            let mask = if at + 1 == limbs.len() { top_mask(bits) } else { u64::MAX };
            let words = format!("and i64 {value}, {}", mask.cast_signed());
            self.push(format!("  {} = {words}", limb(name, at)));
        }
    }

    /// Makes a value the result of the line, which is none of several limbs.
    fn narrow_result(&mut self, words: &str) {
        let (name, _) = definition(self.line);
        self.push(format!("  {name} = {words}"));
    }

    fn instruction(&mut self) -> Result<(), Cause> {
        let (_, rest) = definition(self.line);
        let mut cursor = Cursor::new(rest);
        if self.line.contains("@llvm.dbg.") || self.line.trim_start().starts_with("#dbg_") {
            // The value that it describes is no single one any more.
            return Ok(());
        }
        let op = cursor.next();
        let mut flags = cursor.clone();
        while matches!(flags.peek(), "nuw" | "nsw" | "exact" | "disjoint" | "nneg" | "samesign") {
            flags.next();
        }
        let bits = match flags.clone().ty() {
            Ty::Int(bits) => Some(bits),
            _ => None,
        };
        match (op, bits) {
            ("add" | "sub" | "mul" | "and" | "or" | "xor" | "shl" | "lshr" | "ashr", Some(bits)) => {
                self.arithmetic(op, flags, bits)
            }
            ("trunc" | "zext" | "sext", Some(bits)) => self.cast(op, flags, bits),
            ("icmp", _) => {
                let predicate = flags.next();
                match flags.ty() {
                    Ty::Int(bits) => self.comparison(predicate, flags, bits),
                    _ => Err(unknown(op, self.widest())),
                }
            }
            ("select", _) => self.select(flags),
            ("phi", Some(bits)) => self.phi(flags, bits),
            ("load", Some(bits)) if is_wide(bits) => self.load(flags, bits),
            ("store", Some(bits)) if is_wide(bits) => self.store(flags, bits),
            ("getelementptr" | "alloca" | "bitcast" | "addrspacecast" | "load" | "store" | "phi", _)
                if !self.has_wide_value() =>
            {
                let line = renamed(self.line);
                self.push(line);
                Ok(())
            }
            ("call" | "tail" | "notail", _) => self.call(),
            _ => Err(unknown(op, self.widest())),
        }
    }

    /// Whether a line that works on addresses also has a wide value.
    fn has_wide_value(&self) -> bool {
        let (_, rest) = definition(self.line);
        let is_value = |field: &str| {
            let mut cursor = Cursor::new(field);
            let is_wide = matches!(cursor.ty(), Ty::Int(bits) if is_wide(bits));
            is_wide && !cursor.peek().is_empty()
        };
        let of_bitcast = rest.strip_prefix("bitcast ").is_some_and(|rest| {
            is_value(rest) || rest.split(" to ").nth(1).is_some_and(|to| !to.contains('*'))
        });
        of_bitcast || fields(rest).iter().skip(1).any(|field| is_value(field))
    }

    fn arithmetic(&mut self, op: &str, mut cursor: Cursor<'_>, bits: u32) -> Result<(), Cause> {
        cursor.ty();
        let a = operand(cursor.value(), bits)?;
        cursor.take(",");
        let b = operand(cursor.value(), bits)?;
        let limbs = match op {
            "and" | "or" | "xor" => a.iter().zip(&b).map(|(a, b)| self.limb(op, a, b)).collect(),
            "add" | "sub" => self.sum(op, &a, &b),
            "mul" => self.product(&a, &b),
            "shl" => self.shift_left(&a, &b),
            "lshr" => self.shift_right(&a, &b, "0"),
            _ => {
                let a = self.sign_extended(a, bits);
                let sign = self.sign(&a);
                self.shift_right(&a, &b, &sign)
            }
        };
        self.result(&limbs, bits);
        Ok(())
    }

    /// Fills the highest limb with the sign.
    fn sign_extended(&mut self, mut limbs: Vec<String>, bits: u32) -> Vec<String> {
        let above = limbs.len() as u32 * LIMB - bits;
        if let Some(top) = limbs.last_mut().filter(|_| above > 0) {
            let high = self.limb("shl", top, &above.to_string());
            *top = self.limb("ashr", &high, &above.to_string());
        }
        limbs
    }

    /// A limb of sign bits.
    fn sign(&mut self, limbs: &[String]) -> String {
        let top = limbs.last().map_or("0", String::as_str).to_owned();
        self.limb("ashr", &top, "63")
    }

    /// Whether a sum or difference is carried, as a limb.
    fn carry(&mut self, a: &str, b: &str) -> String {
        let is_less = self.emit(&format!("icmp ult i64 {a}, {b}"));
        self.emit(&format!("select i1 {is_less}, i64 1, i64 0"))
    }

    fn sum(&mut self, op: &str, a: &[String], b: &[String]) -> Vec<String> {
        let mut carry = "0".to_owned();
        let mut sums = Vec::new();
        for (a, b) in a.iter().zip(b) {
            let first = self.limb(op, a, b);
            let second = self.limb(op, &first, &carry);
            let carries = match op {
                "add" => [self.carry(&first, a), self.carry(&second, &first)],
                _ => [self.carry(a, b), self.carry(&first, &carry)],
            };
            let [one, other] = &carries;
            carry = self.limb("or", one, other);
            sums.push(second);
        }
        sums
    }

    fn product(&mut self, a: &[String], b: &[String]) -> Vec<String> {
        let mut sum = vec!["0".to_owned(); a.len()];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().take(sum.len() - i).enumerate() {
                let (low, high) = self.limb_product(a, b);
                let mut addend = vec!["0".to_owned(); sum.len()];
                for (at, part) in [(i + j, low), (i + j + 1, high)] {
                    if let Some(place) = addend.get_mut(at) {
                        *place = part;
                    }
                }
                sum = self.sum("add", &sum, &addend);
            }
        }
        sum
    }

    /// The product of two limbs, by halves.
    fn limb_product(&mut self, a: &str, b: &str) -> (String, String) {
        let [a, b] = [a, b].map(|limb| [self.limb("and", limb, "4294967295"), self.limb("lshr", limb, "32")]);
        let [[a_low, a_high], [b_low, b_high]] = [&a, &b];
        let low = self.limb("mul", a_low, b_low);
        let (one, other) = (self.limb("mul", a_low, b_high), self.limb("mul", a_high, b_low));
        let high = self.limb("mul", a_high, b_high);
        // What is carried from the lower half of the product to the upper one.
        let of_low = self.limb("lshr", &low, "32");
        let middle = [&one, &other].map(|part| self.limb("and", part, "4294967295"));
        let [one_low, other_low] = &middle;
        let middle = self.limb("add", &of_low, one_low);
        let middle = self.limb("add", &middle, other_low);
        let mut high = high;
        for part in [&one, &other, &middle] {
            let upper = self.limb("lshr", part, "32");
            high = self.limb("add", &high, &upper);
        }
        let shifted = self.limb("shl", &middle, "32");
        let lowest = self.limb("and", &low, "4294967295");
        (self.limb("or", &shifted, &lowest), high)
    }

    /// Whole limbs and remaining bits of an amount.
    fn amount(&mut self, by: &[String]) -> (Amount, Amount) {
        let low = by.first().map_or("0", String::as_str).to_owned();
        match low.parse::<u64>() {
            Ok(number) => (Amount::Known(number / 64), Amount::Known(number % 64)),
            Err(_) => {
                let (whole, rest) = (self.limb("lshr", &low, "6"), self.limb("and", &low, "63"));
                (Amount::Value(whole), Amount::Value(rest))
            }
        }
    }

    /// Shifts a limb, and fills it from the bits that its neighbour loses.
    fn funnel(&mut self, [op, back]: [&str; 2], limb: &str, neighbour: &str, by: &Amount) -> String {
        let (by, left) = match by {
            Amount::Known(0) => return limb.to_owned(),
            Amount::Known(number) => (number.to_string(), (63 - number).to_string()),
            Amount::Value(value) => (value.clone(), self.limb("xor", value, "63")),
        };
        let own = self.limb(op, limb, &by);
        // In two steps, since a shift by all bits has no value.
        let one = self.limb(back, neighbour, "1");
        let others = self.limb(back, &one, &left);
        self.limb("or", &own, &others)
    }

    /// Moves limbs to higher places, or to lower ones; `fill` enters.
    fn moved(&mut self, limbs: &[String], by: &Amount, fill: &str, is_up: bool) -> Vec<String> {
        let from = |at: usize, by: usize| {
            let place = if is_up { at.checked_sub(by) } else { at.checked_add(by) };
            place.and_then(|place| limbs.get(place)).map_or(fill, String::as_str)
        };
        let mut all = Vec::new();
        for at in 0..limbs.len() {
            all.push(match by {
                Amount::Known(number) => from(at, usize::try_from(*number).unwrap_or(usize::MAX)).to_owned(),
                Amount::Value(value) => {
                    let mut chosen = fill.to_owned();
                    for number in 0..limbs.len() {
                        let is_it = self.emit(&format!("icmp eq i64 {value}, {number}"));
                        let limb = from(at, number);
                        chosen = self.emit(&format!("select i1 {is_it}, i64 {limb}, i64 {chosen}"));
                    }
                    chosen
                }
            });
        }
        all
    }

    fn shift_left(&mut self, limbs: &[String], by: &[String]) -> Vec<String> {
        let (whole, rest) = self.amount(by);
        let mut shifted = Vec::new();
        let mut neighbour = "0";
        for limb in limbs {
            shifted.push(self.funnel(["shl", "lshr"], limb, neighbour, &rest));
            neighbour = limb;
        }
        self.moved(&shifted, &whole, "0", true)
    }

    fn shift_right(&mut self, limbs: &[String], by: &[String], fill: &str) -> Vec<String> {
        let (whole, rest) = self.amount(by);
        let mut shifted = Vec::new();
        for (at, limb) in limbs.iter().enumerate() {
            let neighbour = limbs.get(at + 1).map_or(fill, String::as_str);
            shifted.push(self.funnel(["lshr", "shl"], limb, neighbour, &rest));
        }
        self.moved(&shifted, &whole, fill, false)
    }

    /// From one integer to another, of which one at least is wide.
    fn cast(&mut self, op: &str, mut cursor: Cursor<'_>, from: u32) -> Result<(), Cause> {
        cursor.ty();
        let value = cursor.value();
        cursor.take("to");
        let Ty::Int(to) = cursor.ty() else { return Err(unknown(op, from)) };
        let mut limbs = match from {
            // The one of 64 bits may be a constant.
            LIMB => vec![value.to_owned()],
            _ if is_wide(from) => operand(value, from)?,
            _ => vec![self.emit(&format!("{op} i{from} {value} to i64"))],
        };
        if !is_wide(to) {
            let low = limbs.first().map_or("0", String::as_str).to_owned();
            let words =
                if to == LIMB { format!("or i64 {low}, 0") } else { format!("trunc i64 {low} to i{to}") };
            self.narrow_result(&words);
            return Ok(());
        }
        let fill = match op {
            "sext" => {
                if is_wide(from) {
                    limbs = self.sign_extended(limbs, from);
                }
                self.sign(&limbs)
            }
            _ => "0".to_owned(),
        };
        limbs.resize(to.div_ceil(LIMB) as usize, fill);
        self.result(&limbs, to);
        Ok(())
    }

    fn comparison(&mut self, predicate: &str, mut cursor: Cursor<'_>, bits: u32) -> Result<(), Cause> {
        let a = operand(cursor.value(), bits)?;
        cursor.take(",");
        let b = operand(cursor.value(), bits)?;
        let words = self.compared(predicate, a, b, bits);
        self.narrow_result(&words);
        Ok(())
    }

    /// The instruction that ends a comparison.
    fn compared(&mut self, predicate: &str, a: Vec<String>, b: Vec<String>, bits: u32) -> String {
        if let "eq" | "ne" = predicate {
            let mut differences = "0".to_owned();
            for (a, b) in a.iter().zip(&b) {
                let difference = self.limb("xor", a, b);
                differences = self.limb("or", &differences, &difference);
            }
            return format!("icmp {predicate} i64 {differences}, 0");
        }
        let is_signed = predicate.starts_with('s');
        let (a, b) = match is_signed {
            true => (self.sign_extended(a, bits), self.sign_extended(b, bits)),
            false => (a, b),
        };
        // Lower limbs decide where the higher ones are equal.
        let (mut words, count) = (String::new(), a.len());
        for (at, (a, b)) in a.iter().zip(&b).enumerate() {
            let relation = predicate.get(1..).unwrap_or_default();
            if at == 0 {
                words = format!("icmp u{relation} i64 {a}, {b}");
                continue;
            }
            let sign = if is_signed && at + 1 == count { 's' } else { 'u' };
            let strict = relation.get(..1).unwrap_or_default();
            let lower = self.emit(&words);
            let differs = self.emit(&format!("icmp ne i64 {a}, {b}"));
            let here = self.emit(&format!("icmp {sign}{strict}t i64 {a}, {b}"));
            words = format!("select i1 {differs}, i1 {here}, i1 {lower}");
        }
        words
    }

    /// The smaller or larger one of two.
    fn call(&mut self) -> Result<(), Cause> {
        let line = self.line;
        let call = Call::parse(line);
        let (Some(Call { name, ty: Ty::Int(bits), arguments }), widest) = (call, self.widest()) else {
            return Err(unknown("call", self.widest()));
        };
        let predicate = match name {
            "smin" => "slt",
            "smax" => "sgt",
            "umin" => "ult",
            "umax" => "ugt",
            _ => return Err(unknown("call", widest)),
        };
        let &[(_, a), (_, b)] = arguments.as_slice() else { return Err(unknown("call", widest)) };
        let (a, b) = (operand(a, bits)?, operand(b, bits)?);
        let words = self.compared(predicate, a.clone(), b.clone(), bits);
        let is_first = self.emit(&words);
        self.chosen(&is_first, &a, &b, bits);
        Ok(())
    }

    /// Makes one of two values the result.
    fn chosen(&mut self, condition: &str, a: &[String], b: &[String], bits: u32) {
        let mut limbs = Vec::new();
        for (a, b) in a.iter().zip(b) {
            limbs.push(self.emit(&format!("select i1 {condition}, i64 {a}, i64 {b}")));
        }
        self.result(&limbs, bits);
    }

    /// The bits of the widest integer of the line.
    fn widest(&self) -> u32 {
        tokens(self.line).into_iter().filter_map(|(_, token)| int_width(token)).max().unwrap_or_default()
    }

    fn select(&mut self, mut cursor: Cursor<'_>) -> Result<(), Cause> {
        let (condition_type, condition) = (cursor.ty(), cursor.value());
        cursor.take(",");
        let ty = cursor.ty();
        let (Ty::Int(1), Ty::Int(bits)) = (condition_type, ty) else {
            return Err(unknown("select", self.widest()));
        };
        let a = operand(cursor.value(), bits)?;
        cursor.take(",");
        cursor.ty();
        let b = operand(cursor.value(), bits)?;
        self.chosen(condition, &a, &b, bits);
        Ok(())
    }

    fn phi(&mut self, mut cursor: Cursor<'_>, bits: u32) -> Result<(), Cause> {
        cursor.ty();
        let mut incoming = vec![Vec::new(); bits.div_ceil(LIMB) as usize];
        while cursor.take("[") {
            let limbs = operand(cursor.value(), bits)?;
            cursor.take(",");
            let block = cursor.next();
            for (all, limb) in incoming.iter_mut().zip(limbs) {
                all.push(format!("[ {limb}, {block} ]"));
            }
            cursor.take("]");
            cursor.take(",");
        }
        let (name, _) = definition(self.line);
        for (at, all) in incoming.into_iter().enumerate() {
            self.push(format!("  {} = phi i64 {}", limb(name, at), all.join(", ")));
        }
        Ok(())
    }

    fn load(&mut self, mut cursor: Cursor<'_>, bits: u32) -> Result<(), Cause> {
        cursor.ty();
        cursor.take(",");
        let mut limbs = vec!["0".to_owned(); bits.div_ceil(LIMB) as usize];
        for Piece { at, bytes, address, to } in self.pieces(cursor, bits)? {
            let width = 8 * bytes;
            let mut part = self.emit(&format!("load i{width}, {to} {address}, align {bytes}"));
            if width < LIMB {
                part = self.emit(&format!("zext i{width} {part} to i64"));
            }
            let Some(limb) = limbs.get_mut((at / 8) as usize) else { continue };
            if at % 8 > 0 {
                part = self.limb("shl", &part, &(at % 8 * 8).to_string());
                part = self.limb("or", limb, &part);
            }
            *limb = part;
        }
        self.result(&limbs, bits);
        Ok(())
    }

    fn store(&mut self, mut cursor: Cursor<'_>, bits: u32) -> Result<(), Cause> {
        cursor.ty();
        let limbs = operand(cursor.value(), bits)?;
        cursor.take(",");
        for Piece { at, bytes, address, to } in self.pieces(cursor, bits)? {
            let Some(limb) = limbs.get((at / 8) as usize) else { continue };
            let (mut part, width) = (limb.clone(), 8 * bytes);
            if at % 8 > 0 {
                part = self.limb("lshr", &part, &(at % 8 * 8).to_string());
            }
            if width < LIMB {
                part = self.emit(&format!("trunc i64 {part} to i{width}"));
            }
            self.push(format!("  store i{width} {part}, {to} {address}, align {bytes}"));
        }
        Ok(())
    }

    /// The parts of an integer in memory that a limb and the alignment allow.
    fn pieces(&mut self, mut cursor: Cursor<'_>, bits: u32) -> Result<Vec<Piece>, Cause> {
        let Ty::Other(words) = cursor.ty() else { return Err(unknown("an access", bits)) };
        let value = cursor.value();
        if !bits.is_multiple_of(8) || !value.starts_with(['%', '@']) {
            return Err(format!("an access to an integer of {bits} bits"));
        }
        let align =
            cursor.take(",").then(|| cursor.take("align").then(|| cursor.next().parse().ok()).flatten());
        let align: u32 = align.flatten().unwrap_or(1);
        let space = words.strip_suffix('*').and_then(|words| words.strip_prefix(&format!("i{bits}")));
        let to_byte = space.map_or_else(|| words.to_owned(), |space| format!("i8{space}*"));
        let first = match space {
            Some(space) => {
                let array = renamed(&format!("i{bits}"));
                self.emit(&format!("bitcast {array}{space}* {value} to {to_byte}"))
            }
            None => value.to_owned(),
        };
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < bits / 8 {
            let most = (bits / 8 - at).min(8).min(align).min(if at == 0 {
                8
            } else {
                1 << at.trailing_zeros().min(3)
            });
            let bytes = 1 << most.max(1).ilog2();
            let mut address = self.emit(&format!("getelementptr i8, {to_byte} {first}, i64 {at}"));
            let mut to = to_byte.clone();
            if let Some(space) = space.filter(|_| bytes > 1) {
                to = format!("i{}{space}*", 8 * bytes);
                address = self.emit(&format!("bitcast {to_byte} {address} to {to}"));
            }
            pieces.push(Piece { at, bytes, address, to });
            at += bytes;
        }
        Ok(pieces)
    }
}

/// How far a value is shifted.
enum Amount {
    Known(u64),
    Value(String),
}

/// Neighbouring bytes of an integer in memory.
struct Piece {
    /// The first byte.
    at: u32,
    bytes: u32,
    address: String,
    /// The type of the address.
    to: String,
}

#[cfg(test)]
mod tests {
    use super::{has_limbs, limbs_of_number};
    use crate::ir::{Mended, mend};

    fn function(pointer: &str, body: &[&str]) -> Mended {
        let body: String = body.iter().map(|line| format!("  {line}\n")).collect();
        mend(&format!("define void @f({pointer} %p, i64 %a, i1 %c) {{\nentry:\n{body}  ret void\n}}\n"))
    }

    #[test]
    fn numbers_are_split() {
        assert_eq!(limbs_of_number("18446744073709551617", 128), Some(vec![1, 1]));
        assert_eq!(limbs_of_number("-1", 72), Some(vec![u64::MAX, 255]));
        assert_eq!(
            limbs_of_number("-4722366481770133585921", 128),
            Some(vec![0xFF_FFFF_FFFF, u64::MAX << 8])
        );
        assert_eq!(limbs_of_number("ptrtoint", 96), None);
    }

    #[test]
    fn no_wide_integer_is_left() {
        let mended = function(
            "ptr addrspace(1)",
            &[
                "%x = load i96, ptr addrspace(1) %p, align 8",
                "%w = zext i64 %a to i96",
                "%s = shl nuw nsw i96 %w, 70",
                "%o = or i96 %s, %x",
                "%v = lshr i96 %o, %w",
                "%m = tail call i96 @llvm.umin.i96(i96 %v, i96 -5)",
                "%i = icmp slt i96 %m, 77",
                "%y = select i1 %i, i96 %m, i96 %x",
                "%t = trunc i96 %y to i17",
                "%z = sext i17 %t to i96",
                "store i96 %z, ptr addrspace(1) %p, align 4",
            ],
        );
        assert_eq!(mended.leftovers, []);
        assert!(!mended.text.lines().any(has_limbs), "{}", mended.text);
        let count = |text: &str| mended.text.matches(text).count();
        assert_eq!((count("load i64"), count("load i32"), count("store i32")), (1, 1, 3));
    }

    #[test]
    fn pointers_with_types_lead_to_limbs() {
        let mended = function(
            "%struct.s addrspace(1)*",
            &[
                "%q = getelementptr inbounds %struct.s, %struct.s addrspace(1)* %p, i64 %a, i32 0",
                "%r = bitcast %struct.s addrspace(1)* %p to i72 addrspace(1)*",
                "%x = load i72, i72 addrspace(1)* %r, align 8",
                "store i72 %x, i72 addrspace(1)* %r, align 1",
            ],
        );
        assert_eq!(mended.leftovers, []);
        for part in [
            "to [2 x i64] addrspace(1)*",
            "bitcast [2 x i64] addrspace(1)* %r to i8 addrspace(1)*",
            "load i64, i64 addrspace(1)*",
            "load i8, i8 addrspace(1)*",
        ] {
            assert!(mended.text.contains(part), "{part}: {}", mended.text);
        }
        let structs = mend("%struct.s = type { i96, i8 }\n");
        assert_eq!(structs.text, "%struct.s = type { [2 x i64], i8 }\n");
    }

    #[test]
    fn divisions_say_how_to_avoid_them() {
        let divided = function("ptr", &["%w = zext i64 %a to i128", "%d = udiv i128 %w, 7"]);
        let [leftover] = divided.leftovers.as_slice() else { panic!("{divided:?}") };
        assert!(leftover.cause.starts_with("`udiv` of an integer of 128 bits"), "{}", leftover.cause);
        assert!(leftover.cause.ends_with("so write `UL` or `L`"), "{}", leftover.cause);
        // The function is as it was.
        assert!(divided.text.contains("%d = udiv i128 %w, 7"));
    }
}
