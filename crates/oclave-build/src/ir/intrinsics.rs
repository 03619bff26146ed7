//! Intrinsic functions that the optimiser writes and llvm-spirv 15 does not know, as plain
//! instructions.

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
    /// The bits in the opposite order.
    Reversal,
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
        "bitreverse" => Kind::Reversal,
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
    if kind == Kind::Reversal {
        return reversal(function, &call, result);
    }
    let &[(ty, a), (_, b)] = call.arguments.as_slice() else { return None };
    if let Kind::Truth { op } = kind {
        return Some(vec![format!("  {result} = {op} {ty} {a}, {b}")]);
    }
    let bits = ty.bits()?;
    let bool = ty.with_bits(1);
    let mut lines = Vec::new();
    let mut emit = |function: &mut Function, words: String| {
        let name = function.fresh();
        lines.push(format!("  {name} = {words}"));
        name
    };
    let op = match kind {
        Kind::UnsignedSum | Kind::SignedSum => "add",
        Kind::SignedDifference | Kind::Reversal | Kind::Truth { .. } => "sub",
        Kind::Overflow { op, .. } => op,
    };
    let sum = emit(function, format!("{op} {ty} {a}, {b}"));
    let signed = !matches!(kind, Kind::UnsignedSum | Kind::Overflow { signed: false, .. });
    let overflow = if signed {
        // Overflow shows in the sign of the result. A sum overflows if its sign differs from both
        // operands'. A difference overflows if the operands' signs differ, and its own differs from
        // the first one's.
        let first = emit(function, format!("xor {ty} {sum}, {a}"));
        let second = if op == "add" { format!("xor {ty} {sum}, {b}") } else { format!("xor {ty} {a}, {b}") };
        let second = emit(function, second);
        let both = emit(function, format!("and {ty} {first}, {second}"));
        emit(function, format!("icmp slt {ty} {both}, zeroinitializer"))
    } else if op == "add" {
        emit(function, format!("icmp ult {ty} {sum}, {a}"))
    } else {
        emit(function, format!("icmp ult {ty} {a}, {b}"))
    };
    let last = match kind {
        Kind::Overflow { .. } => {
            let pair = emit(function, format!("insertvalue {} undef, {ty} {sum}, 0", call.ty));
            format!("insertvalue {} {pair}, {bool} {overflow}, 1", call.ty)
        }
        Kind::UnsignedSum => format!("select {bool} {overflow}, {ty} {}, {ty} {sum}", ty.splat(-1)),
        Kind::SignedSum | Kind::SignedDifference | Kind::Reversal | Kind::Truth { .. } => {
            // The largest number where the result seems negative, the smallest where it seems
            // positive.
            let sign = emit(function, format!("ashr {ty} {sum}, {}", ty.splat(bits - 1)));
            let smallest = 1_i128 << (bits - 1).min(126);
            let end = emit(function, format!("xor {ty} {sign}, {}", ty.splat(-smallest)));
            format!("select {bool} {overflow}, {ty} {end}, {ty} {sum}")
        }
    };
    lines.push(format!("  {result} = {last}"));
    Some(lines)
}

/// Exchanges neighbouring bits, then pairs, then groups of four, ….
fn reversal(function: &mut Function, call: &Call<'_>, result: &str) -> Option<Vec<String>> {
    let &[(ty, value)] = call.arguments.as_slice() else { return None };
    let bits = ty.bits().filter(|bits| bits.is_power_of_two() && (8..=64).contains(bits))?;
    let mut value = value.to_owned();
    let mut lines = Vec::new();
    let mut distance = 1;
    while distance < bits {
        // Every other group of `distance` bits, from the lowest on.
        let mask = (0..bits).filter(|bit| bit & distance == 0).fold(0_u64, |mask, bit| mask | 1 << bit);
        let (mask, by) = (ty.splat(mask), ty.splat(distance));
        let [high, low, up, down] = std::array::from_fn(|_| function.fresh());
        let last = if 2 * distance == bits { result.to_owned() } else { function.fresh() };
        lines.extend([
            format!("  {high} = lshr {ty} {value}, {by}"),
            format!("  {down} = and {ty} {high}, {mask}"),
            format!("  {low} = and {ty} {value}, {mask}"),
            format!("  {up} = shl {ty} {low}, {by}"),
            format!("  {last} = or {ty} {down}, {up}"),
        ]);
        value = last;
        distance *= 2;
    }
    Some(lines)
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
