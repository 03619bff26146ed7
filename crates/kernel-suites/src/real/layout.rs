//! Where the scalars of a type lie.

use oclave_image::{Scalar, ValueType};

/// More scalars than types of sensible kernels have.
const MAX_LEAVES: usize = 1 << 14;

/// A scalar within a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// From the start of the type.
    pub(crate) offset: usize,
    /// Its type.
    pub(crate) scalar: Scalar,
    /// The name of the field that it is in, or of the parameter.
    pub(crate) name: String,
    /// Which component of a vector or element of an array it is.
    pub(crate) lane: usize,
}

/// The scalars of a type, in order of their offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// All of them, without padding.
    pub(crate) leaves: Vec<Leaf>,
    /// How far elements of this type are apart.
    pub(crate) stride: usize,
}

impl Layout {
    /// The layout of what the parameter `name` is or points to.
    ///
    /// # Errors
    /// A type with pointers in it, or otherwise of unknown contents.
    pub(crate) fn of(ty: &ValueType, name: &str) -> Result<Self, String> {
        // Kernels give `void` a type of their own. Bytes fit all of them.
        if let ValueType::Void = ty {
            let leaf = Leaf { offset: 0, scalar: Scalar::U8, name: name.to_owned(), lane: 0 };
            return Ok(Self { leaves: vec![leaf], stride: 1 });
        }
        let mut leaves = Vec::new();
        add(ty, name, 0, 0, &mut leaves)?;
        let stride = usize::try_from(ty.size_bytes()).unwrap_or(usize::MAX);
        if leaves.is_empty() || leaves.iter().any(|leaf| leaf.offset >= stride) {
            return Err("a type without contents".to_owned());
        }
        Ok(Self { leaves, stride })
    }
}

impl Layout {
    /// The layout of floats, instead of that of single bytes.
    pub(crate) fn with_floats(self) -> Self {
        match &*self.leaves {
            [leaf] if leaf.scalar == Scalar::U8 => {
                let leaf = Leaf { scalar: Scalar::F32, ..leaf.clone() };
                Self { leaves: vec![leaf], stride: size_of::<f32>() }
            }
            _ => self,
        }
    }
}

fn add(ty: &ValueType, name: &str, offset: usize, lane: usize, leaves: &mut Vec<Leaf>) -> Result<(), String> {
    if leaves.len() > MAX_LEAVES {
        return Err("a very large type".to_owned());
    }
    match ty {
        ValueType::Scalar(scalar) => {
            leaves.push(Leaf { offset, scalar: *scalar, name: name.to_owned(), lane });
            Ok(())
        }
        ValueType::Vector(scalar, lanes) => {
            let size = scalar.size_bytes() as usize;
            let lanes = 0..usize::from(*lanes);
            leaves.extend(lanes.map(|lane| Leaf {
                offset: offset + lane * size,
                scalar: *scalar,
                name: name.to_owned(),
                lane,
            }));
            Ok(())
        }
        ValueType::Array(element, length) => {
            let stride = usize::try_from(element.size_bytes()).map_err(|_| "a huge element")?;
            let length = usize::try_from(*length).ok().filter(|length| *length <= MAX_LEAVES);
            for at in 0..length.ok_or("a very long array")? {
                add(element, name, offset + at * stride, at, leaves)?;
            }
            Ok(())
        }
        ValueType::Struct(ty) => {
            for field in &ty.fields {
                let at = usize::try_from(field.offset_bytes).map_err(|_| "a huge struct")?;
                add(&field.ty, &field.name, offset + at, 0, leaves)?;
            }
            Ok(())
        }
        ValueType::Opaque { name, .. } => Err(format!("the type `{name}` of unknown contents")),
        ValueType::Void => Err("void".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oclave_image::{Field, StructType};

    #[test]
    fn structs_are_taken_apart() {
        let field = |name: &str, ty, offset_bytes| Field { name: name.to_owned(), ty, offset_bytes };
        let ty = ValueType::Struct(StructType {
            name: "S".to_owned(),
            fields: vec![
                field("a", ValueType::Scalar(Scalar::U8), 0),
                field("b", ValueType::Array(Box::new(ValueType::Vector(Scalar::F32, 3)), 2), 16),
            ],
            size_bytes: 48,
            align_bytes: 16,
        });
        let layout = Layout::of(&ty, "s").unwrap();
        let offsets: Vec<usize> = layout.leaves.iter().map(|leaf| leaf.offset).collect();
        assert_eq!(offsets, [0, 16, 20, 24, 32, 36, 40]);
        assert_eq!((layout.stride, &layout.leaves[0].name[..], &layout.leaves[6].name[..]), (48, "a", "b"));
        assert_eq!(Layout::of(&ValueType::Void, "p").unwrap().stride, 1);
        let opaque = ValueType::Opaque { name: "U".to_owned(), size_bytes: 8, align_bytes: 8 };
        assert!(Layout::of(&opaque, "u").is_err());
    }
}
