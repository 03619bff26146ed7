//! Reads types as clang prints them: `const __global float *restrict __private`, `struct pair[4]`,
//! `__global int (*)[2]`.

/// A type in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeText {
    /// The name that is left without qualifiers: `unsigned int`, `struct pair`, `ns::point`.
    pub(crate) base: String,
    /// Lanes, where the base is the element of an unnamed vector type.
    pub(crate) lanes: Option<u8>,
    /// Array lengths, outermost first.
    pub(crate) dimensions: Vec<u64>,
    /// What it points to, where it is a pointer.
    pub(crate) pointer: Option<Pointer>,
}

/// The pointer part of a type; `TypeText`'s other fields then tell of the pointee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) space: Space,
    pub(crate) is_const: bool,
    /// More than one `*`: the pointee is itself a pointer.
    pub(crate) to_pointer: bool,
}

/// Address space of a pointee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Constant,
    Local,
    Private,
    Generic,
}

const VECTOR: &str = "__attribute__((ext_vector_type(";

impl TypeText {
    /// The parts of a type; `None` for functions, references, and what is not understood.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (text, lanes) = take_vector(&without_atomic(text))?;
        // `(unnamed struct at file.cl:3:9)` is part of a name; other parentheses group a pointer
        // with its array.
        if text.contains("(unnamed") || text.contains("(anonymous") {
            let base = text.split('[').next()?.trim().to_owned();
            return Some(Self { base, lanes, dimensions: dimensions(&text)?, pointer: None });
        }
        let (pointee, stars, rest) = match text.find('*') {
            Some(star) => {
                let (pointee, rest) = text.split_at(star);
                (pointee.to_owned(), rest.matches('*').count(), rest.to_owned())
            }
            None => (text.clone(), 0, String::new()),
        };
        let pointee = pointee.trim_end().trim_end_matches('(').trim_end();
        if pointee.contains(['(', '&']) || rest.contains('&') {
            return None;
        }
        let mut space = Space::Private;
        let mut is_const = false;
        let mut words = Vec::new();
        for word in pointee.split('[').next()?.split_whitespace() {
            match word {
                "const" => is_const = true,
                "volatile" | "restrict" | "__restrict" | "__private" => {}
                "__global" => space = Space::Global,
                "__constant" => space = Space::Constant,
                "__local" => space = Space::Local,
                "__generic" => space = Space::Generic,
                "__read_only" | "__write_only" | "__read_write" => {}
                other => words.push(other),
            }
        }
        let base = words.join(" ");
        if base.is_empty() {
            return None;
        }
        let pointer = (stars > 0).then_some(Pointer { space, is_const, to_pointer: stars > 1 });
        // `float (*)[4]` points to an array; `float *[4]` is an array of pointers.
        let dimensions = dimensions(if stars > 0 { rest.rsplit(')').next()? } else { &text })?;
        if stars > 0 && !dimensions.is_empty() && !rest.contains(')') {
            return None;
        }
        Some(Self { base, lanes, dimensions, pointer })
    }
}

/// An atomic type has the layout of its value: `_Atomic(int)` reads as `int`.
fn without_atomic(text: &str) -> String {
    match text.split_once("_Atomic(") {
        Some((before, after)) => format!("{before}{}", after.replacen(')', "", 1)),
        None => text.to_owned(),
    }
}

/// Takes `__attribute__((ext_vector_type(4)))` out of a type.
fn take_vector(text: &str) -> Option<(String, Option<u8>)> {
    let Some((before, after)) = text.split_once(VECTOR) else { return Some((text.to_owned(), None)) };
    let (lanes, rest) = after.split_once(")))")?;
    Some((format!("{} {}", before.trim_end(), rest.trim_start()), Some(lanes.parse().ok()?)))
}

/// The numbers in `[4][2]`.
fn dimensions(text: &str) -> Option<Vec<u64>> {
    text.split('[').skip(1).map(|part| part.split(']').next()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(base: &str, lanes: Option<u8>, dimensions: &[u64]) -> TypeText {
        TypeText { base: base.to_owned(), lanes, dimensions: dimensions.to_vec(), pointer: None }
    }

    fn pointer(base: &str, dimensions: &[u64], space: Space, is_const: bool) -> TypeText {
        TypeText {
            base: base.to_owned(),
            lanes: None,
            dimensions: dimensions.to_vec(),
            pointer: Some(Pointer { space, is_const, to_pointer: false }),
        }
    }

    #[test]
    fn types_of_clang_come_apart() {
        let parse = |text| TypeText::parse(text).unwrap();
        assert_eq!(parse("__private float"), value("float", None, &[]));
        assert_eq!(parse("unsigned long long"), value("unsigned long long", None, &[]));
        assert_eq!(parse("__global uint[4][2]"), value("uint", None, &[4, 2]));
        assert_eq!(parse("__global _Atomic(int)"), value("int", None, &[]));
        assert_eq!(parse("__private ns::P"), value("ns::P", None, &[]));
        assert_eq!(parse("half __private __attribute__((ext_vector_type(3)))"), value("half", Some(3), &[]));
        assert_eq!(parse("float __attribute__((ext_vector_type(4)))[2]"), value("float", Some(4), &[2]));
        assert_eq!(
            parse("const __global float *restrict __private"),
            pointer("float", &[], Space::Global, true)
        );
        assert_eq!(parse("__constant uint4 *__private"), pointer("uint4", &[], Space::Constant, false));
        assert_eq!(parse("__local struct pair *__private"), pointer("struct pair", &[], Space::Local, false));
        assert_eq!(parse("__global float (*__private)[4]"), pointer("float", &[4], Space::Global, false));
        assert_eq!(
            parse("union (unnamed union at a dir/b.cl:5:71)[3]"),
            value("union (unnamed union at a dir/b.cl:5:71)", None, &[3])
        );
        assert!(parse("__global int *__global *").pointer.unwrap().to_pointer);
    }

    #[test]
    fn what_is_no_data_type_is_refused() {
        for text in ["", "const", "void (int)", "int &", "int *[4]", "int[n]", "int (^)(int)"] {
            assert_eq!(TypeText::parse(text), None, "{text}");
        }
    }
}
