//! Typed launchers.

use oclave_image::{Access, KernelSignature, ParameterKind, ValueType};
use proc_macro2::TokenStream;
use quote::quote;

use super::names::{self, Scope, ident};
use super::types::Types;
use super::{docs, place};
use crate::ast::{KernelDeclaration, ParameterType};

/// The launcher of a kernel, called `name`; or why there is none. `statics` are names that no
/// parameter may have.
pub(crate) fn launcher(
    kernel: &KernelSignature,
    declared: Option<&KernelDeclaration>,
    path: &str,
    name: &str,
    statics: &[String],
    types: &mut Types<'_>,
) -> Result<TokenStream, String> {
    let mut scope = Scope::with(&["KERNEL", "None"]);
    statics.iter().for_each(|name| {
        scope.take(name.clone());
    });
    let (mut parameters, mut calls) = (vec![], vec![]);
    let is_length = |index: usize| {
        let parameter = declared.and_then(|declared| declared.parameters.get(index));
        parameter.is_some_and(|parameter| parameter.kind == ParameterType::Length)
    };
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        if is_length(index) {
            continue;
        }
        // What knows its length passes it as well.
        let is_slice = is_length(index + 1);
        let name = ident(&scope.take(names::sanitized(&parameter.name)));
        let (ty, call) = match &parameter.kind {
            ParameterKind::Value(ty) => match types.rust(ty) {
                Some(ty) => (quote!(impl ::oclave::kernel::KernelValue<#ty>), quote!(.value(#name))),
                None => return Err(refused(&parameter.name, &declared_type(declared, index, ty))),
            },
            ParameterKind::Pointer { access: Access::Read, pointee, .. } => {
                let pointee = element(pointee, types);
                let call = if is_slice { quote!(.slice(#name)) } else { quote!(.pointer(#name)) };
                (quote!(impl ::oclave::kernel::KernelPointer<#pointee>), call)
            }
            ParameterKind::Pointer { pointee, .. } => {
                let pointee = element(pointee, types);
                let call = if is_slice { quote!(.slice_mut(#name)) } else { quote!(.pointer_mut(#name)) };
                (quote!(impl ::oclave::kernel::KernelPointerMut<#pointee>), call)
            }
            ParameterKind::Local { pointee } => {
                let pointee = element(pointee, types);
                let call = if is_slice { quote!(.local_slice(#name)) } else { quote!(.local(#name)) };
                (quote!(impl ::oclave::kernel::KernelLocal<#pointee>), call)
            }
            ParameterKind::Image { type_name, access } => match dimensions(type_name) {
                Some(dimensions) => {
                    let dimensions = ident(dimensions);
                    let call = match access {
                        Access::Read => quote!(read_image),
                        Access::Write => quote!(write_image),
                        Access::ReadWrite => quote!(read_write_image),
                    };
                    (
                        quote!(impl ::oclave::images::KernelImage<::oclave::images::#dimensions>),
                        quote!(.#call(#name)),
                    )
                }
                None => return Err(refused(&parameter.name, &format!("an image ({type_name})"))),
            },
            ParameterKind::Sampler => (quote!(impl ::oclave::images::KernelSampler), quote!(.sampler(#name))),
        };
        parameters.push(quote!(#name: #ty));
        calls.push(call);
    }
    let doc = docs(&documentation(kernel, declared, path));
    let function = ident(name);
    let entry_point = &kernel.name;
    Ok(quote! {
        #doc
        pub fn #function(#(#parameters),*) -> ::oclave::kernel::KernelCall {
            static KERNEL: ::oclave::kernel::Kernel = ::oclave::kernel::Kernel::new(&super::IMAGES, #entry_point);
            ::oclave::kernel::KernelCall::new(&KERNEL) #(#calls)*
        }
    })
}

/// The dimensions of an image type, as oclave has them; `None` for those of several samples, which
/// only programs with OpenGL make.
fn dimensions(type_name: &str) -> Option<&'static str> {
    Some(match type_name {
        "image1d_t" => "D1",
        "image1d_buffer_t" => "D1Buffer",
        "image1d_array_t" => "D1Array",
        "image2d_t" => "D2",
        "image2d_array_t" => "D2Array",
        "image3d_t" => "D3",
        "image2d_depth_t" => "D2Depth",
        "image2d_array_depth_t" => "D2ArrayDepth",
        _ => return None,
    })
}

/// Why a kernel has no launcher.
fn refused(parameter: &str, what: &str) -> String {
    format!(
        "parameter `{parameter}` is {what}, which oclave does not pass to kernels; use buffers or USM, or launch the kernel \
         through OpenCL itself"
    )
}

/// The type of a parameter in the source's words, where they are known.
fn declared_type(declared: Option<&KernelDeclaration>, index: usize, ty: &ValueType) -> String {
    let text =
        declared.and_then(|declared| declared.parameters.get(index)).map(|parameter| parameter.text.as_str());
    match text {
        Some(text) if text.contains("pipe") => format!("a pipe ({text})"),
        Some(text) => format!("of the type `{text}`"),
        None => format!("of the type `{ty}`"),
    }
}

/// What a pointer points to; `void` is bytes.
fn element(pointee: &ValueType, types: &mut Types<'_>) -> TokenStream {
    types.rust(pointee).unwrap_or_else(|| quote!(u8))
}

fn documentation(kernel: &KernelSignature, declared: Option<&KernelDeclaration>, path: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    if let Some(declared) = declared.filter(|declared| !declared.comment.is_empty()) {
        paragraphs.push(declared.comment.join("\n"));
    }
    let line = declared.and_then(|declared| declared.line);
    paragraphs.push(format!("`{}` ({}).", signature(kernel, declared), place(path, line)));
    if let Some([x, y, z]) = kernel.required_work_group_size {
        paragraphs.push(format!("Work-groups must have {x} × {y} × {z} work-items."));
    }
    if let Some(size) = kernel.required_sub_group_size {
        paragraphs.push(format!("Sub-groups must have {size} work-items."));
    }
    if !kernel.aspects.is_empty() {
        paragraphs.push(format!("The device must have {}.", kernel.aspects));
    }
    paragraphs
}

/// The kernel's head as the source has it, without attributes.
pub(crate) fn signature(kernel: &KernelSignature, declared: Option<&KernelDeclaration>) -> String {
    if let Some(head) = declared.and_then(|declared| declared.head.as_ref()) {
        return head.clone();
    }
    let parameters: Vec<String> = match declared {
        Some(declared) => declared.parameters.iter().map(|p| join(&p.text, &p.name)).collect(),
        None => kernel.parameters.iter().map(|parameter| parameter.name.clone()).collect(),
    };
    format!("kernel void {}({})", kernel.name, parameters.join(", "))
}

fn join(ty: &str, name: &str) -> String {
    let separator = if ty.ends_with('*') || name.is_empty() { "" } else { " " };
    format!("{ty}{separator}{name}")
}
