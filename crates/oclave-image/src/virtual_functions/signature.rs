//! Signatures of virtual calls, with all that the caller and the called may see differently erased.

use std::fmt;
use std::str::FromStr;

use oclave_spirv::StorageClass;

/// Result and parameters of a virtual call, the dispatch code not among them.
///
/// As text, the types joined by `_`, the result first: `i32_p8_i32` returns an int and takes a
/// generic pointer and an int. Pointers have no pointees: the wrappers of functions cast them.
/// Structs by value are pointers (`sret`, `byval`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallSignature {
    /// What the call returns; [`CallType::Void`] for nothing.
    pub result: CallType,
    /// The parameters in order, `this` first; none is void.
    pub parameters: Vec<CallType>,
}

/// A type in a [`CallSignature`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallType {
    /// `v`: nothing.
    Void,
    /// `b`: a truth value.
    Bool,
    /// `i32`: an integer of that many bits: 8, 16, 32, 64.
    Int(u32),
    /// `f32`: a floating-point number of that many bits: 16, 32, 64.
    Float(u32),
    /// `x4i32`: a vector of integers: lanes (2, 3, 4, 8, 16) and bits.
    IntVector(u32, u32),
    /// `x4f32`: a vector of floating-point numbers: lanes and bits.
    FloatVector(u32, u32),
    /// `p8`: a pointer, with its storage class.
    Pointer(StorageClass),
}

impl fmt::Display for CallSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.result)?;
        self.parameters.iter().try_for_each(|parameter| write!(f, "_{parameter}"))
    }
}

impl fmt::Display for CallType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void => f.write_str("v"),
            Self::Bool => f.write_str("b"),
            Self::Int(bits) => write!(f, "i{bits}"),
            Self::Float(bits) => write!(f, "f{bits}"),
            Self::IntVector(lanes, bits) => write!(f, "x{lanes}i{bits}"),
            Self::FloatVector(lanes, bits) => write!(f, "x{lanes}f{bits}"),
            Self::Pointer(class) => write!(f, "p{}", *class as u32),
        }
    }
}

impl FromStr for CallSignature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut types = text.split('_').map(str::parse);
        let result = types.next().ok_or("an empty signature")??;
        let parameters: Vec<CallType> = types.collect::<Result<_, _>>()?;
        if parameters.contains(&CallType::Void) {
            return Err(format!("the signature \"{text}\" has a parameter of type void"));
        }
        Ok(Self { result, parameters })
    }
}

impl FromStr for CallType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("the type \"{text}\" is not one of signatures");
        let (lanes, scalar) = match text.strip_prefix('x') {
            Some(vector) => {
                let kind = vector.find(['i', 'f']).ok_or_else(unknown)?;
                let (lanes, scalar) = vector.split_at(kind);
                (Some(number(lanes).filter(|n| matches!(n, 2 | 3 | 4 | 8 | 16)).ok_or_else(unknown)?), scalar)
            }
            None => (None, text),
        };
        let mut rest = scalar.chars();
        let kind = rest.next().ok_or_else(unknown)?;
        let found = match (lanes, kind, number(rest.as_str())) {
            (None, 'v', _) if rest.as_str().is_empty() => Some(Self::Void),
            (None, 'b', _) if rest.as_str().is_empty() => Some(Self::Bool),
            (None, 'p', Some(class)) => pointer_class(class).map(Self::Pointer),
            (_, 'i', Some(bits @ (8 | 16 | 32 | 64))) => {
                Some(lanes.map_or(Self::Int(bits), |lanes| Self::IntVector(lanes, bits)))
            }
            (_, 'f', Some(bits @ (16 | 32 | 64))) => {
                Some(lanes.map_or(Self::Float(bits), |lanes| Self::FloatVector(lanes, bits)))
            }
            _ => None,
        };
        found.ok_or_else(unknown)
    }
}

/// Plain digits: no signs, no zeros in front.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// The storage classes that pointers of kernels have.
fn pointer_class(number: u32) -> Option<StorageClass> {
    [
        StorageClass::UniformConstant,
        StorageClass::Workgroup,
        StorageClass::CrossWorkgroup,
        StorageClass::Function,
        StorageClass::Generic,
    ]
    .into_iter()
    .find(|class| *class as u32 == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["v", "i32_p8_i32", "v_p7_p8_x4f32", "b_p8_i8_i16_i64_f16_f32_f64", "p5_p0_p4_x16i8_b"] {
            assert_eq!(text.parse::<CallSignature>().map(|s| s.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        for text in [
            "", "_", "i", "i31", "i032", "x5f32", "xf32", "x4", "x4b", "p", "p9", "p-1", "i32_", "i32_v",
            "vv", "é",
        ] {
            assert!(text.parse::<CallSignature>().is_err(), "{text}");
        }
    }
}
