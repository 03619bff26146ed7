//! Definitions of structs, with every padding byte explicit and the layout asserted at compile
//! time.

use oclave_image::{StructType, ValueType};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::docs;
use super::names::{self, Scope, ident};
use super::types::Types;

/// Whether `repr(C)` with explicit padding gives this layout.
pub(crate) fn is_plain(known: &StructType) -> bool {
    let mut end = 0u64;
    let placed = known.fields.iter().all(|field| {
        let fits = field.offset_bytes >= end
            && field.offset_bytes.is_multiple_of(u64::from(field.ty.align_bytes().max(1)))
            && field.ty.size_bytes() > 0;
        end = field.offset_bytes.saturating_add(field.ty.size_bytes());
        fits
    });
    placed
        && !known.fields.is_empty()
        && known.size_bytes >= end
        && known.align_bytes.is_power_of_two()
        && natural_alignment(known) <= known.align_bytes
        && known.size_bytes.is_multiple_of(u64::from(known.align_bytes))
}

fn natural_alignment(known: &StructType) -> u32 {
    known.fields.iter().map(|field| field.ty.align_bytes()).max().unwrap_or(1)
}

/// A struct whose fields Rust can name.
pub(crate) fn fields(known: &StructType, name: &Ident, types: &mut Types<'_>) -> TokenStream {
    let mut scope = Scope::default();
    let field_names: Vec<Ident> =
        known.fields.iter().map(|field| ident(&scope.take(names::sanitized(&field.name)))).collect();
    let (mut fields, mut parameters, mut values, mut offsets) = (vec![], vec![], vec![], vec![]);
    let mut compared = vec![];
    let mut end = 0;
    for (field, field_name) in known.fields.iter().zip(&field_names) {
        pad(end, field.offset_bytes, &mut scope, &mut fields, &mut values);
        end = field.offset_bytes.saturating_add(field.ty.size_bytes());
        let Some(ty) = types.rust(&field.ty) else { continue };
        let doc = docs(&[format!("`{}` at byte {}.", field.ty, field.offset_bytes)]);
        let offset = Literal::u64_unsuffixed(field.offset_bytes);
        fields.push(quote!(#doc pub #field_name: #ty));
        parameters.push(quote!(#field_name: #ty));
        compared.push(field_name);
        values.push(quote!(#field_name));
        offsets.push(quote!(|| ::core::mem::offset_of!(#name, #field_name) != #offset));
    }
    pad(end, known.size_bytes, &mut scope, &mut fields, &mut values);
    // Kernels leave any bytes in the padding, which must not make values unequal.
    let is_padded = fields.len() > parameters.len();
    let derived_eq = (!is_padded).then(|| quote!(PartialEq,));
    let own_eq = is_padded.then(|| {
        quote! {
            impl ::core::cmp::PartialEq for #name {
                fn eq(&self, other: &Self) -> bool {
                    #(self.#compared == other.#compared)&&*
                }
            }
        }
    });
    let size = Literal::u64_unsuffixed(known.size_bytes);
    let align = Literal::u32_unsuffixed(known.align_bytes);
    let repr = if natural_alignment(known) == known.align_bytes {
        quote!(#[repr(C)])
    } else {
        quote!(#[repr(C, align(#align))])
    };
    let doc = docs(&[format!("`{}`: {size} bytes, aligned to {align}.", known.name)]);
    quote! {
        #doc
        #repr
        #[derive(Clone, Copy, Debug, #derived_eq ::oclave::bytemuck::Pod, ::oclave::bytemuck::Zeroable)]
        #[bytemuck(crate = "::oclave::bytemuck")]
        pub struct #name { #(#fields,)* }

        #own_eq

        impl #name {
            /// The value with these fields.
            pub const fn new(#(#parameters),*) -> Self {
                Self { #(#values),* }
            }
        }

        const _: () = {
            if ::core::mem::size_of::<#name>() != #size
                || ::core::mem::align_of::<#name>() != #align
                #(#offsets)*
            {
                panic!("the layout differs from the device's");
            }
        };
    }
}

/// A field for the bytes between two fields, or after the last. It is public, so that values can be
/// written by field names.
fn pad(
    end: u64,
    until: u64,
    scope: &mut Scope,
    fields: &mut Vec<TokenStream>,
    values: &mut Vec<TokenStream>,
) {
    if until > end {
        let name = ident(&scope.take("_padding".to_owned()));
        let count = Literal::u64_unsuffixed(until - end);
        let doc = docs(&["Padding; any bytes.".to_owned()]);
        fields.push(quote!(#doc pub #name: [u8; #count]));
        values.push(quote!(#name: [0; #count]));
    }
}

/// A type whose inside Rust cannot express, as its bytes.
pub(crate) fn bytes(ty: &ValueType, c_name: &str, name: &Ident) -> TokenStream {
    let size = Literal::u64_unsuffixed(ty.size_bytes());
    let align = Literal::u32_unsuffixed(ty.align_bytes().max(1));
    let doc = docs(&[
        format!("`{c_name}` as its bytes: {size} of them, aligned to {align}."),
        "Equal when all bytes are, those between its members included.".to_owned(),
    ]);
    quote! {
        #doc
        #[repr(C, align(#align))]
        #[derive(Clone, Copy, Debug, PartialEq, ::oclave::bytemuck::Pod, ::oclave::bytemuck::Zeroable)]
        #[bytemuck(crate = "::oclave::bytemuck")]
        pub struct #name(pub [u8; #size]);

        const _: () = {
            if ::core::mem::size_of::<#name>() != #size {
                panic!("the layout differs from the device's");
            }
        };
    }
}
