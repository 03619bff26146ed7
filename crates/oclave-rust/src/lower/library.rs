//! Functions of mathematics: their names in C, Rust and LLVM, and their numbers in `OpenCL.std`.

pub(super) const CLZ: u32 = 151;
pub(super) const CTZ: u32 = 152;
pub(super) const S_ABS: u32 = 141;
pub(super) const S_ADD_SAT: u32 = 143;
pub(super) const U_ADD_SAT: u32 = 144;
pub(super) const S_MAX: u32 = 156;
pub(super) const U_MAX: u32 = 157;
pub(super) const S_MIN: u32 = 158;
pub(super) const U_MIN: u32 = 159;
pub(super) const S_MUL_HI: u32 = 160;
pub(super) const ROTATE: u32 = 161;
pub(super) const S_SUB_SAT: u32 = 162;
pub(super) const U_SUB_SAT: u32 = 163;
pub(super) const U_MUL_HI: u32 = 203;
pub(super) const F_MAX: u32 = 27;
pub(super) const F_MIN: u32 = 28;
pub(super) const LDEXP: u32 = 34;
pub(super) const POWN: u32 = 49;

/// Whether a function that is lowered to calculates a number from numbers. Others access memory, or print.
pub(super) const fn calculates(number: u32) -> bool {
    number <= U_SUB_SAT || number == U_MUL_HI
}

/// A function of floating-point numbers: its number and how many it takes. `name` has no suffix for
/// the type.
pub(super) fn function(name: &str) -> Option<(u32, usize)> {
    Some(match name {
        "acos" => (0, 1),
        "acosh" => (1, 1),
        "asin" => (3, 1),
        "asinh" => (4, 1),
        "atan" => (6, 1),
        "atan2" => (7, 2),
        "atanh" => (8, 1),
        "cbrt" => (11, 1),
        "ceil" => (12, 1),
        "copysign" => (13, 2),
        "cos" => (14, 1),
        "cosh" => (15, 1),
        "erfc" => (17, 1),
        "erf" => (18, 1),
        "exp" => (19, 1),
        "exp2" => (20, 1),
        "exp10" => (21, 1),
        "expm1" => (22, 1),
        "fabs" => (23, 1),
        "fdim" => (24, 2),
        "floor" => (25, 1),
        "fma" => (26, 3),
        "fmax" => (F_MAX, 2),
        "fmin" => (F_MIN, 2),
        "fmod" => (29, 2),
        "hypot" => (32, 2),
        "log" => (37, 1),
        "log2" => (38, 1),
        "log10" => (39, 1),
        "log1p" => (40, 1),
        "nextafter" => (47, 2),
        "pow" => (48, 2),
        "rint" => (53, 1),
        "round" => (55, 1),
        "rsqrt" => (56, 1),
        "sin" => (57, 1),
        "sinh" => (59, 1),
        "sqrt" => (61, 1),
        "tan" => (62, 1),
        "tanh" => (63, 1),
        "tgamma" => (65, 1),
        "trunc" => (66, 1),
        _ => return None,
    })
}

/// The function of an intrinsic of LLVM: `llvm.NAME.f32`.
pub(super) fn intrinsic(name: &str) -> Option<(u32, usize)> {
    function(match name {
        "maxnum" | "maximumnum" => "fmax",
        "minnum" | "minimumnum" => "fmin",
        "nearbyint" | "roundeven" => "rint",
        name => name,
    })
}

/// The function of a symbol: `sinf`, `sin`, or OpenCL's `_Z3sinf`.
pub(super) fn symbol(name: &str) -> Option<(u32, usize)> {
    if let Some(rest) = name.strip_prefix("_Z") {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (length, rest) = rest.split_at_checked(digits)?;
        let (name, types) = rest.split_at_checked(length.parse().ok()?)?;
        let found = function(name)?;
        let are_scalars = types.len() == found.1 && types.chars().all(|ty| matches!(ty, 'f' | 'd'));
        return are_scalars.then_some(found);
    }
    function(name).or_else(|| function(name.strip_suffix('f')?))
}
