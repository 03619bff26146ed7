//! Typed device globals and specialization constants.

use oclave_image::{DeviceGlobalInfo, HostAccess, Scalar, SpecConstantInfo};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::names::ident;
use super::types::Types;
use super::{docs, place};
use crate::ast::VariableDeclaration;

pub(crate) fn device_global(
    global: &DeviceGlobalInfo,
    declared: Option<&VariableDeclaration>,
    path: &str,
    name: &str,
    types: &mut Types<'_>,
) -> TokenStream {
    // The image decides how large the variable is; a type of another size would be a misreading.
    let known = declared
        .and_then(|declared| declared.ty.as_ref())
        .filter(|ty| ty.size_bytes() == u64::from(global.size_bytes));
    let size = Literal::u32_unsuffixed(global.size_bytes);
    let ty = known.and_then(|ty| types.rust(ty)).unwrap_or_else(|| quote!([u8; #size]));
    let access = ident(match global.host_access {
        HostAccess::Read => "Read",
        HostAccess::Write => "Write",
        HostAccess::ReadWrite => "ReadWrite",
        HostAccess::None => "None",
    });
    let mut paragraphs = Vec::new();
    if let Some(declared) = declared.filter(|declared| !declared.comment.is_empty()) {
        paragraphs.push(declared.comment.join("\n"));
    }
    let source_name = declared.map_or(global.id.as_str(), |declared| declared.name.as_str());
    let text = known.map_or_else(|| format!("{} bytes", global.size_bytes), |ty| format!("`{ty}`"));
    let place = place(path, declared.and_then(|declared| declared.line));
    paragraphs.push(format!("Device global `{source_name}`, {text} ({place})."));
    if global.device_image_scope {
        paragraphs.push("Each program has an instance of its own (`device_image_scope`).".to_owned());
    }
    let doc = docs(&paragraphs);
    let name = ident(name);
    let id = &global.id;
    quote! {
        #doc
        pub static #name: ::oclave::kernel::DeviceGlobal<#ty, ::oclave::kernel::host_access::#access> =
            ::oclave::kernel::DeviceGlobal::new(&super::IMAGES, #id);
    }
}

/// `None` for types that a specialization constant cannot have on the host.
pub(crate) fn spec_constant(constant: &SpecConstantInfo, path: &str, name: &str) -> Option<TokenStream> {
    let (ty, default) = typed(constant)?;
    let doc = docs(&[format!(
        "Specialization constant `{}`, SpecId {}, {default} unless set ({}).",
        constant.name,
        constant.id,
        place(path, None)
    )]);
    let name = ident(name);
    let source_name = &constant.name;
    let id = Literal::u32_unsuffixed(constant.id);
    Some(quote! {
        #doc
        pub static #name: ::oclave::kernel::SpecConstant<#ty> = ::oclave::kernel::SpecConstant::new(#source_name, #id);
    })
}

/// The Rust type and the default value as text.
fn typed(constant: &SpecConstantInfo) -> Option<(TokenStream, String)> {
    let mut bytes = [0u8; 8];
    bytes.iter_mut().zip(&constant.default).for_each(|(byte, given)| *byte = *given);
    let bits = u64::from_le_bytes(bytes);
    // Truncation takes the low bytes, which are all that a narrower type has.
    Some(match constant.ty {
        Scalar::I8 => (quote!(i8), (bits as i8).to_string()),
        Scalar::U8 => (quote!(u8), (bits as u8).to_string()),
        Scalar::I16 => (quote!(i16), (bits as i16).to_string()),
        Scalar::U16 => (quote!(u16), (bits as u16).to_string()),
        Scalar::I32 => (quote!(i32), (bits as i32).to_string()),
        Scalar::U32 => (quote!(u32), (bits as u32).to_string()),
        Scalar::I64 => (quote!(i64), (bits as i64).to_string()),
        Scalar::U64 => (quote!(u64), bits.to_string()),
        Scalar::F32 => (quote!(f32), f32::from_bits(bits as u32).to_string()),
        Scalar::F64 => (quote!(f64), f64::from_bits(bits).to_string()),
        Scalar::F16 => return None,
    })
}
