//! Intrinsic functions that the optimiser writes and SPIR-V lacks, as plain instructions.
//!
//! llvm-spirv refuses some of them. For others it writes helper functions (`spirv.llvm_fshl_i32`),
//! whose names drivers read as the intrinsic functions. The one for products without a sign
//! compares with the wrong operand, which shows on devices that call it.

use super::function::Function;
use super::text::{Cursor, Ty, definition, tokens};

/// A call of an intrinsic function.
#[derive(Debug)]
pub(super) struct Call<'t> {
    /// Without `@llvm.`, and without the types that end it.
    pub(super) name: &'t str,
    pub(super) ty: Ty<'t>,
    pub(super) arguments: Vec<(Ty<'t>, &'t str)>,
}

impl<'t> Call<'t> {
    /// The call of a line, where it is of an intrinsic function.
    pub(super) fn parse(line: &'t str) -> Option<Self> {
        let (_, rest) = definition(line);
        let mut cursor = Cursor::new(rest);
        while matches!(cursor.peek(), "tail" | "notail" | "musttail") {
            cursor.next();
        }
        if !cursor.take("call") {
            return None;
        }
        while matches!(cursor.peek(), "noundef" | "range") {
            cursor.value();
        }
        let ty = cursor.ty();
        let symbol = cursor.next().strip_prefix("@llvm.")?;
        let types = symbol.find(".i").or_else(|| symbol.find(".v")).unwrap_or(symbol.len());
        let name = symbol.get(..types)?;
        cursor.take("(").then_some(())?;
        let mut arguments = Vec::new();
        while !matches!(cursor.peek(), ")" | "") {
            let ty = cursor.ty();
            while matches!(cursor.peek(), "noundef" | "immarg" | "signext" | "zeroext") {
                cursor.next();
            }
            arguments.push((ty, cursor.value()));
            cursor.take(",");
        }
        Some(Self { name, ty, arguments })
    }
}

/// Whether a line calls an intrinsic function that [`lower`] replaces.
pub(super) fn is_unknown(line: &str) -> bool {
    line.contains("@llvm.") && Call::parse(line).is_some_and(|call| kind(&call).is_some())
}

/// What an intrinsic function computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The sum, or the largest number.
    UnsignedSum,
    /// The difference, or what is nearest to it.
    SignedDifference,
    /// The same with a sum.
    SignedSum,
    /// The groups of so many bits in the opposite order.
    Reversal { group: u32 },
    /// The high or low half of two numbers in a row after a shift to the left or right.
    Funnel { left: bool },
    /// `{ product, whether it is too large or too small }`.
    Product { signed: bool },
    /// -1, 0 or 1 where the first number is smaller, equal or larger.
    Order { signed: bool },
    /// The smaller or larger of two truth values, which the translator would compare as integers.
    Truth { op: &'static str },
    /// `{ result, whether it is too large or too small }` of `add` or `sub`.
    Overflow { op: &'static str, signed: bool },
}

fn kind(call: &Call<'_>) -> Option<Kind> {
    let is_truth = call.ty.bits() == Some(1);
    Some(match call.name {
        // A true value is 1 without a sign, and -1 with one.
        "umin" | "smax" if is_truth => Kind::Truth { op: "and" },
        "umax" | "smin" if is_truth => Kind::Truth { op: "or" },
        "uadd.sat" => Kind::UnsignedSum,
        "sadd.sat" => Kind::SignedSum,
        "ssub.sat" => Kind::SignedDifference,
        "bitreverse" => Kind::Reversal { group: 1 },
        "bswap" => Kind::Reversal { group: 8 },
        "fshl" => Kind::Funnel { left: true },
        "fshr" => Kind::Funnel { left: false },
        "umul.with.overflow" => Kind::Product { signed: false },
        "smul.with.overflow" => Kind::Product { signed: true },
        "ucmp" => Kind::Order { signed: false },
        "scmp" => Kind::Order { signed: true },
        "uadd.with.overflow" => Kind::Overflow { op: "add", signed: false },
        "usub.with.overflow" => Kind::Overflow { op: "sub", signed: false },
        "sadd.with.overflow" => Kind::Overflow { op: "add", signed: true },
        "ssub.with.overflow" => Kind::Overflow { op: "sub", signed: true },
        _ => return None,
    })
}

/// Replaces all calls of a function.
pub(super) fn lower(function: &mut Function) {
    let lines = std::mem::take(&mut function.lines);
    for line in lines {
        match replacement(function, &line) {
            Some(new) => function.lines.extend(new),
            None => function.lines.push(line),
        }
    }
}

fn replacement(function: &mut Function, line: &str) -> Option<Vec<String>> {
    let call = Call::parse(line)?;
    let kind = kind(&call)?;
    let (result, _) = definition(line);
    let mut new = Lines { function, lines: Vec::new() };
    let last = match (kind, call.arguments.as_slice()) {
        (Kind::Reversal { group }, &[(ty, value)]) => new.reversal(ty, value, group)?,
        (Kind::Funnel { left }, &[(ty, a), (_, b), (_, by)]) => new.funnel(ty, [a, b], by, left)?,
        (Kind::Truth { op }, &[(ty, a), (_, b)]) => format!("{op} {ty} {a}, {b}"),
        (Kind::Order { signed }, &[(ty, a), (_, b)]) => new.order(ty, call.ty, [a, b], signed),
        (Kind::Product { signed }, &[(ty, a), (_, b)]) => {
            let (product, overflow) = new.product(ty, [a, b], signed)?;
            new.pair(&call, ty, &product, &overflow)
        }
        (Kind::Overflow { op, signed }, &[(ty, a), (_, b)]) => {
            let (sum, overflow) = new.sum(op, ty, [a, b], signed);
            new.pair(&call, ty, &sum, &overflow)
        }
        (Kind::UnsignedSum, &[(ty, a), (_, b)]) => {
            let (sum, overflow) = new.sum("add", ty, [a, b], false);
            format!("select {} {overflow}, {ty} {}, {ty} {sum}", ty.with_bits(1), ty.splat(-1))
        }
        (Kind::SignedSum | Kind::SignedDifference, &[(ty, a), (_, b)]) => {
            let op = if kind == Kind::SignedSum { "add" } else { "sub" };
            let (sum, overflow) = new.sum(op, ty, [a, b], true);
            // The largest number where the result seems negative, the smallest where it seems
            // positive.
            let bits = ty.bits()?;
            let sign = new.emit(format!("ashr {ty} {sum}, {}", ty.splat(bits - 1)));
            let smallest = 1_i128 << (bits - 1).min(126);
            let end = new.emit(format!("xor {ty} {sign}, {}", ty.splat(-smallest)));
            format!("select {} {overflow}, {ty} {end}, {ty} {sum}", ty.with_bits(1))
        }
        _ => return None,
    };
    let mut lines = new.lines;
    lines.push(format!("  {result} = {last}"));
    Some(lines)
}

/// The instructions that replace a call. Their last one, which has the call's result, is given as
/// its words.
struct Lines<'f> {
    function: &'f mut Function,
    lines: Vec<String>,
}

impl Lines<'_> {
    /// Adds an instruction with a new result.
    fn emit(&mut self, words: String) -> String {
        let name = self.function.fresh();
        self.lines.push(format!("  {name} = {words}"));
        name
    }

    /// `{ value, overflow }`.
    fn pair(&mut self, call: &Call<'_>, ty: Ty<'_>, value: &str, overflow: &str) -> String {
        let pair = self.emit(format!("insertvalue {} undef, {ty} {value}, 0", call.ty));
        format!("insertvalue {} {pair}, {} {overflow}, 1", call.ty, ty.with_bits(1))
    }

    /// A sum or difference, and whether it overflows.
    fn sum(&mut self, op: &str, ty: Ty<'_>, [a, b]: [&str; 2], signed: bool) -> (String, String) {
        let sum = self.emit(format!("{op} {ty} {a}, {b}"));
        let overflow = if signed {
            // Overflow shows in the sign of the result. A sum overflows if its sign differs from both
            // operands'. A difference overflows if the operands' signs differ, and its own differs
            // from the first one's.
            let first = self.emit(format!("xor {ty} {sum}, {a}"));
            let other = if op == "add" { &sum } else { a };
            let second = self.emit(format!("xor {ty} {other}, {b}"));
            let both = self.emit(format!("and {ty} {first}, {second}"));
            self.emit(format!("icmp slt {ty} {both}, zeroinitializer"))
        } else if op == "add" {
            self.emit(format!("icmp ult {ty} {sum}, {a}"))
        } else {
            self.emit(format!("icmp ult {ty} {a}, {b}"))
        };
        (sum, overflow)
    }

    /// A product, and whether it overflows. Numbers of up to 32 bits are multiplied with twice the
    /// bits. Those of 64 bits are multiplied by halves.
    fn product(&mut self, ty: Ty<'_>, [a, b]: [&str; 2], signed: bool) -> Option<(String, String)> {
        let bits = ty.bits()?;
        let (product, high) = if bits <= 32 {
            let wide = ty.with_bits(2 * bits);
            let extend = if signed { "sext" } else { "zext" };
            let [a, b] = [a, b].map(|value| self.emit(format!("{extend} {ty} {value} to {wide}")));
            let full = self.emit(format!("mul {wide} {a}, {b}"));
            let high = self.emit(format!("lshr {wide} {full}, {}", wide.splat(bits)));
            let high = self.emit(format!("trunc {wide} {high} to {ty}"));
            (self.emit(format!("trunc {wide} {full} to {ty}")), high)
        } else if bits == 64 {
            (self.emit(format!("mul {ty} {a}, {b}")), self.high_half(ty, [a, b], signed))
        } else {
            return None;
        };
        // The high half has only copies of the sign, or zeros.
        let expected = match signed {
            true => self.emit(format!("ashr {ty} {product}, {}", ty.splat(bits - 1))),
            false => "zeroinitializer".to_owned(),
        };
        let overflow = self.emit(format!("icmp ne {ty} {high}, {expected}"));
        Some((product, overflow))
    }

    /// The upper 64 bits of a product of numbers of 64 bits, by four products of 32 bits.
    fn high_half(&mut self, ty: Ty<'_>, factors: [&str; 2], signed: bool) -> String {
        let (half, low_bits) = (ty.splat(32), ty.splat(0xffff_ffff_i64));
        let mut binary = |op: &str, a: &str, b: &str| self.emit(format!("{op} {ty} {a}, {b}"));
        let [[a_low, a_high], [b_low, b_high]] =
            factors.map(|factor| [binary("and", factor, &low_bits), binary("lshr", factor, &half)]);
        let low = binary("mul", &a_low, &b_low);
        let first = binary("mul", &a_high, &b_low);
        let second = binary("mul", &a_low, &b_high);
        let high = binary("mul", &a_high, &b_high);
        // No sum overflows: a product of numbers of 32 bits leaves room for two such numbers.
        let carried = binary("lshr", &low, &half);
        let middle = binary("add", &first, &carried);
        let middle_low = binary("and", &middle, &low_bits);
        let middle_high = binary("lshr", &middle, &half);
        let other = binary("add", &second, &middle_low);
        let other_high = binary("lshr", &other, &half);
        let sum = binary("add", &high, &middle_high);
        let unsigned = binary("add", &sum, &other_high);
        if !signed {
            return unsigned;
        }
        // A negative factor counts as 2^64 more, which adds the other factor to the high half.
        let [a, b] = factors;
        let last = ty.splat(63);
        let a_sign = binary("ashr", a, &last);
        let b_sign = binary("ashr", b, &last);
        let for_a = binary("and", &a_sign, b);
        let for_b = binary("and", &b_sign, a);
        let less = binary("sub", &unsigned, &for_a);
        binary("sub", &less, &for_b)
    }

    /// `a` and `b` in a row, shifted by a number modulo their width. Drivers see a rotation where
    /// both are the same.
    fn funnel(&mut self, ty: Ty<'_>, [a, b]: [&str; 2], by: &str, left: bool) -> Option<String> {
        let bits = ty.bits().filter(|bits| bits.is_power_of_two() && (8..=64).contains(bits))?;
        if let Ok(number) = by.parse::<u64>() {
            return Some(match (number % u64::from(bits), left) {
                (0, true) => format!("or {ty} {a}, zeroinitializer"),
                (0, false) => format!("or {ty} {b}, zeroinitializer"),
                (by, left) => {
                    let up = if left { by } else { u64::from(bits) - by };
                    let high = self.emit(format!("shl {ty} {a}, {up}"));
                    let low = self.emit(format!("lshr {ty} {b}, {}", u64::from(bits) - up));
                    format!("or {ty} {high}, {low}")
                }
            });
        }
        let mask = ty.splat(bits - 1);
        let by = self.emit(format!("and {ty} {by}, {mask}"));
        let (of_a, of_b) = if a == b {
            let negative = self.emit(format!("sub {ty} zeroinitializer, {by}"));
            let back = self.emit(format!("and {ty} {negative}, {mask}"));
            let (up, down) = if left { (by, back) } else { (back, by) };
            (self.emit(format!("shl {ty} {a}, {up}")), self.emit(format!("lshr {ty} {b}, {down}")))
        } else {
            // The other number is shifted in two steps, as no shift may be by the whole width.
            let rest = self.emit(format!("xor {ty} {by}, {mask}"));
            let one = ty.splat(1);
            if left {
                let half = self.emit(format!("lshr {ty} {b}, {one}"));
                (self.emit(format!("shl {ty} {a}, {by}")), self.emit(format!("lshr {ty} {half}, {rest}")))
            } else {
                let double = self.emit(format!("shl {ty} {a}, {one}"));
                (self.emit(format!("shl {ty} {double}, {rest}")), self.emit(format!("lshr {ty} {b}, {by}")))
            }
        };
        Some(format!("or {ty} {of_a}, {of_b}"))
    }

    /// -1, 0 or 1 of the type `result`.
    fn order(&mut self, ty: Ty<'_>, result: Ty<'_>, [a, b]: [&str; 2], signed: bool) -> String {
        let (less, more) = if signed { ("slt", "sgt") } else { ("ult", "ugt") };
        let bool = ty.with_bits(1);
        let less = self.emit(format!("icmp {less} {ty} {a}, {b}"));
        let more = self.emit(format!("icmp {more} {ty} {a}, {b}"));
        let more = self.emit(format!("zext {bool} {more} to {result}"));
        format!("select {bool} {less}, {result} {}, {result} {more}", result.splat(-1))
    }

    /// Exchanges neighbouring groups of bits, then pairs of groups, then groups of four, ….
    fn reversal(&mut self, ty: Ty<'_>, value: &str, group: u32) -> Option<String> {
        let bits = ty.bits().filter(|bits| bits.is_power_of_two() && (8..=64).contains(bits))?;
        let mut value = value.to_owned();
        let mut distance = group;
        while distance < bits {
            // Every other group of `distance` bits, from the lowest on.
            let mask = (0..bits).filter(|bit| bit & distance == 0).fold(0_u64, |mask, bit| mask | 1 << bit);
            let (mask, by) = (ty.splat(mask), ty.splat(distance));
            let high = self.emit(format!("lshr {ty} {value}, {by}"));
            let down = self.emit(format!("and {ty} {high}, {mask}"));
            let low = self.emit(format!("and {ty} {value}, {mask}"));
            let up = self.emit(format!("shl {ty} {low}, {by}"));
            let words = format!("or {ty} {down}, {up}");
            distance *= 2;
            if distance >= bits {
                return Some(words);
            }
            value = self.emit(words);
        }
        None
    }
}

/// Removes declarations of intrinsic functions that nothing calls any more: the translator looks at
/// their types.
pub(super) fn remove_unused_declarations(lines: &mut Vec<String>) {
    let is_declaration = |line: &str| line.starts_with("declare ") && line.contains("@llvm.");
    let used: std::collections::BTreeSet<String> = lines
        .iter()
        .filter(|line| line.starts_with("  ") && line.contains("@llvm."))
        .flat_map(|line| tokens(line).into_iter().map(|(_, token)| token))
        .filter(|token| token.starts_with("@llvm."))
        .map(str::to_owned)
        .collect();
    lines.retain(|line| !is_declaration(line) || tokens(line).iter().any(|(_, token)| used.contains(*token)));
}
