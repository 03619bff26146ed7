//! Rust types with the layout of the device's types.

use oclave_image::{Scalar, StructType, ValueType};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::names::{self, Scope, ident};
use super::structs;

/// A struct that the generated code defines, and where.
#[derive(Debug, Clone)]
pub(crate) struct Defined {
    ty: ValueType,
    module: String,
    name: String,
}

/// Gives the types of one module, and defines structs as they are met. A struct that an earlier
/// module of the program defines is the same type in both.
#[derive(Debug)]
pub(crate) struct Types<'a> {
    /// Structs of the whole program.
    defined: &'a mut Vec<Defined>,
    /// Name of this module.
    module: &'a str,
    scope: &'a mut Scope,
    /// Structs that this module can name already: index into `defined`, local name.
    local: Vec<(usize, String)>,
    /// Definitions and re-exports for this module.
    items: Vec<TokenStream>,
}

impl<'a> Types<'a> {
    pub(crate) fn new(defined: &'a mut Vec<Defined>, module: &'a str, scope: &'a mut Scope) -> Self {
        Self { defined, module, scope, local: Vec::new(), items: Vec::new() }
    }

    /// Definitions and re-exports of the structs that were asked for.
    pub(crate) fn into_items(self) -> Vec<TokenStream> {
        self.items
    }

    /// The Rust type; `None` where there is none (`void`, nothing at all).
    pub(crate) fn rust(&mut self, ty: &ValueType) -> Option<TokenStream> {
        match ty {
            ValueType::Void => None,
            ValueType::Scalar(scalar) => Some(self::scalar(*scalar)),
            ValueType::Vector(element, lanes) => Some(match vector(*element, *lanes) {
                Some(name) => {
                    let name = ident(&name);
                    quote!(::oclave::vector::#name)
                }
                None => self.opaque(&format!("{}{lanes}", element.opencl_name()), ty),
            }),
            ValueType::Array(element, count) => {
                let element = self.rust(element)?;
                let count = Literal::u64_unsuffixed(*count);
                Some(quote!([#element; #count]))
            }
            ValueType::Struct(known) if structs::is_plain(known) => Some(self.named(ty, &known.name)),
            ValueType::Struct(StructType { name, .. }) | ValueType::Opaque { name, .. } => {
                (ty.size_bytes() > 0).then(|| self.opaque(name, ty))
            }
        }
    }

    fn opaque(&mut self, name: &str, ty: &ValueType) -> TokenStream {
        let (size_bytes, align_bytes) = (ty.size_bytes(), ty.align_bytes());
        self.named(&ValueType::Opaque { name: name.to_owned(), size_bytes, align_bytes }, name)
    }

    /// The name of a struct in this module; defines or re-exports it first.
    fn named(&mut self, ty: &ValueType, c_name: &str) -> TokenStream {
        let known = self.defined.iter().position(|defined| defined.ty == *ty);
        if let Some((_, name)) = self.local.iter().find(|(index, _)| Some(*index) == known) {
            let name = ident(name);
            return quote!(#name);
        }
        let c_name = if c_name.is_empty() { "unnamed" } else { c_name };
        let name = self.scope.take(names::type_name(c_name));
        let local = ident(&name);
        if let Some((index, defined)) = known.and_then(|index| Some((index, self.defined.get(index)?))) {
            let (module, original) = (ident(&defined.module), ident(&defined.name));
            self.items.push(reexport(&module, &original, &local));
            self.local.push((index, name));
        } else {
            self.local.push((self.defined.len(), name.clone()));
            self.defined.push(Defined { ty: ty.clone(), module: self.module.to_owned(), name });
            let item = match ty {
                ValueType::Struct(known) => structs::fields(known, &local, self),
                _ => structs::bytes(ty, c_name, &local),
            };
            self.items.push(item);
        }
        quote!(#local)
    }
}

/// `pub use` of a sibling module's item.
pub(crate) fn reexport(
    module: &proc_macro2::Ident,
    original: &proc_macro2::Ident,
    local: &proc_macro2::Ident,
) -> TokenStream {
    if original == local {
        quote!(pub use super::#module::#original;)
    } else {
        quote!(pub use super::#module::#original as #local;)
    }
}

fn scalar(scalar: Scalar) -> TokenStream {
    match scalar {
        Scalar::I8 => quote!(i8),
        Scalar::U8 => quote!(u8),
        Scalar::I16 => quote!(i16),
        Scalar::U16 => quote!(u16),
        Scalar::I32 => quote!(i32),
        Scalar::U32 => quote!(u32),
        Scalar::I64 => quote!(i64),
        Scalar::U64 => quote!(u64),
        Scalar::F16 => quote!(::oclave::half::f16),
        Scalar::F32 => quote!(f32),
        Scalar::F64 => quote!(f64),
    }
}

/// `float4` → `Float4`.
fn vector(element: Scalar, lanes: u8) -> Option<String> {
    matches!(lanes, 2 | 3 | 4 | 8 | 16)
        .then(|| names::type_name(&format!("{}{lanes}", element.opencl_name())))
}
