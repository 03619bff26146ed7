//! Shared functions as Rust functions.

use std::collections::BTreeMap;

use oclave_image::{Scalar, ValueType};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::names::{self, Scope, ident};
use super::types::Types;
use super::{docs, place};
use crate::ast::{SharedFunction, SharedParameter, SharedType};
use crate::host::abi::Passing;

/// What the name of a parameter with the length of another one ends in.
const LENGTH: &str = "_length";

/// The Rust names of the shared functions that a source defines, by their index. A name is the
/// plain one if that is unique. Otherwise it has the namespaces, and if need be also the types of
/// the parameters.
pub(crate) fn names(functions: &[SharedFunction]) -> BTreeMap<usize, String> {
    let plain = |function: &SharedFunction| {
        let mut name = function.name.clone();
        function.arguments.iter().for_each(|argument| name += &format!("_{}", words(argument)));
        name
    };
    let scoped = |function: &SharedFunction| {
        let scopes: String = function.scopes.iter().map(|scope| format!("{}_", scope.name)).collect();
        scopes + &plain(function)
    };
    let typed = |function: &SharedFunction| {
        let mut name = scoped(function);
        function.parameters.iter().for_each(|parameter| name += &format!("_{}", words(&parameter.text)));
        name
    };
    let levels: [&dyn Fn(&SharedFunction) -> String; 3] = [&plain, &scoped, &typed];
    let defined: Vec<_> = functions.iter().enumerate().filter(|(_, function)| function.is_defined).collect();
    let mut chosen = BTreeMap::new();
    for (index, function) in &defined {
        let name = levels
            .iter()
            .map(|level| (level, level(function)))
            .find(|(level, name)| defined.iter().filter(|(_, other)| level(other) == *name).count() == 1);
        let name = name.map_or_else(|| typed(function), |(_, name)| name);
        chosen.insert(*index, names::sanitized(&name));
    }
    chosen
}

/// A type's words as part of a name: `const __global float *` → `float_ptr`.
fn words(ty: &str) -> String {
    let spaced = ty.replace('*', " ptr ").replace('&', " ref ");
    let dull = [
        "const",
        "__global",
        "__local",
        "__constant",
        "__generic",
        "__private",
        "struct",
        "enum",
        "volatile",
    ];
    let words: Vec<String> = spaced
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty() && !dull.contains(word))
        .map(str::to_owned)
        .collect();
    words.join("_")
}

/// The Rust function `name` that calls a wrapper.
pub(crate) fn function(
    function: &SharedFunction,
    symbol: &str,
    path: &str,
    name: &str,
    statics: &[String],
    types: &mut Types<'_>,
) -> Option<TokenStream> {
    let mut scope = Scope::with(&["None"]);
    statics.iter().for_each(|name| {
        scope.take(name.clone());
    });
    let idents: Vec<Ident> = (function.parameters.iter().enumerate())
        .map(|(index, parameter)| {
            let name =
                if parameter.name.is_empty() { format!("argument{index}") } else { parameter.name.clone() };
            ident(&scope.take(names::sanitized(&name)))
        })
        .collect();
    let (mut parameters, mut passed, mut raw) = (Vec::new(), Vec::new(), false);
    for (parameter, name) in function.parameters.iter().zip(&idents) {
        let argument = Argument::of(parameter, name, function, &idents, types)?;
        raw |= argument.is_raw;
        parameters.extend(argument.parameter.map(|ty| quote!(#name: #ty)));
        let (abi, value) = (argument.abi, argument.value);
        passed.push(quote!(#name: #abi = #value));
    }
    let result = match &function.result.ty {
        SharedType::Void => quote!(value()),
        SharedType::Pointer { pointee, is_const } => {
            let pointer = pointer(pointee.as_ref(), *is_const, types);
            quote!(value #pointer)
        }
        ty => {
            let rust = value(ty, types)?;
            if ty.passing() == Passing::AsItIs { quote!(value #rust) } else { quote!(place #rust) }
        }
    };
    let mut paragraphs = Vec::new();
    if !function.comment.is_empty() {
        paragraphs.push(function.comment.join("\n"));
    }
    paragraphs.push(format!(
        "`{}` ({}), as kernels call it.",
        signature(function),
        place(path, function.line)
    ));
    let safety = if raw {
        paragraphs
            .push("# Safety\nThe pointers must be valid for what the function does with them.".to_owned());
        quote!(unsafe)
    } else {
        quote!(safe)
    };
    let doc = docs(&paragraphs);
    let function = ident(name);
    Some(quote! {
        ::oclave::shared_function! {
            #doc
            #symbol #safety fn #function(#(#parameters),*) -> #result { #(#passed),* }
        }
    })
}

/// One parameter on both sides of the call.
struct Argument {
    /// The type in the Rust function; `None` where another parameter implies it.
    parameter: Option<TokenStream>,
    /// The type that the wrapper takes.
    abi: TokenStream,
    /// What it is given.
    value: TokenStream,
    is_raw: bool,
}

impl Argument {
    fn of(
        parameter: &SharedParameter,
        name: &Ident,
        function: &SharedFunction,
        idents: &[Ident],
        types: &mut Types<'_>,
    ) -> Option<Self> {
        let plain = |ty: TokenStream| Self {
            parameter: Some(ty.clone()),
            abi: ty,
            value: quote!(#name),
            is_raw: false,
        };
        Some(match &parameter.ty {
            SharedType::Pointer { pointee: Some(pointee), is_const }
                if length_of(parameter, function).is_some() =>
            {
                let element = types.rust(pointee)?;
                let (slice, abi, value) = if *is_const {
                    (quote!(&[#element]), quote!(*const #element), quote!(#name.as_ptr()))
                } else {
                    (quote!(&mut [#element]), quote!(*mut #element), quote!(#name.as_mut_ptr()))
                };
                Self { parameter: Some(slice), abi, value, is_raw: false }
            }
            SharedType::Pointer { pointee, is_const } => {
                let pointer = pointer(pointee.as_ref(), *is_const, types);
                Self { is_raw: true, ..plain(pointer) }
            }
            SharedType::Reference { pointee, is_const } => {
                let pointee = types.rust(pointee)?;
                plain(if *is_const { quote!(&#pointee) } else { quote!(&mut #pointee) })
            }
            ty => {
                if let Some(slice) = sliced(parameter, function, idents) {
                    let (abi, value) = (quote!(u64), quote!(#slice.len() as u64));
                    return Some(Self { parameter: None, abi, value, is_raw: false });
                }
                let rust = value(ty, types)?;
                match ty.passing() {
                    Passing::AsItIs => plain(rust),
                    Passing::ByAddress => Self {
                        abi: quote!(*const #rust),
                        parameter: Some(rust),
                        value: quote!(&raw const #name),
                        is_raw: false,
                    },
                }
            }
        })
    }
}

/// The parameter with the length of a pointer's array: `x_length`, a `size_t`, belongs to `x`.
fn length_of(pointer: &SharedParameter, function: &SharedFunction) -> Option<usize> {
    function.parameters.iter().position(|parameter| {
        parameter.name.strip_suffix(LENGTH) == Some(pointer.name.as_str())
            && parameter.ty == SharedType::Value(ValueType::Scalar(Scalar::U64))
    })
}

/// The slice whose length a parameter is.
fn sliced<'i>(length: &SharedParameter, function: &SharedFunction, idents: &'i [Ident]) -> Option<&'i Ident> {
    let index = function.parameters.iter().position(|parameter| {
        let known = matches!(parameter.ty, SharedType::Pointer { pointee: Some(_), .. });
        let its = length_of(parameter, function).and_then(|at| function.parameters.get(at));
        known && its.is_some_and(|its| its.name == length.name)
    })?;
    idents.get(index)
}

fn value(ty: &SharedType, types: &mut Types<'_>) -> Option<TokenStream> {
    match ty {
        SharedType::Bool => Some(quote!(bool)),
        SharedType::Value(ty) => types.rust(ty),
        _ => None,
    }
}

fn pointer(pointee: Option<&ValueType>, is_const: bool, types: &mut Types<'_>) -> TokenStream {
    let pointee = pointee.and_then(|ty| types.rust(ty)).unwrap_or_else(|| quote!(::core::ffi::c_void));
    if is_const { quote!(*const #pointee) } else { quote!(*mut #pointee) }
}

/// The function's head as the source has it.
fn signature(function: &SharedFunction) -> String {
    let parameters: Vec<String> = function
        .parameters
        .iter()
        .map(|parameter| {
            let text = readable(&parameter.text);
            let separator = if text.ends_with(['*', '&']) || parameter.name.is_empty() { "" } else { " " };
            format!("{text}{separator}{}", parameter.name)
        })
        .collect();
    format!("{} {}({})", readable(&function.result.text), function.path(), parameters.join(", "))
}

/// A type without the address spaces that its author did not write.
fn readable(text: &str) -> String {
    let words: Vec<&str> =
        text.split_whitespace().filter(|word| !["__generic", "__private"].contains(word)).collect();
    words
        .join(" ")
        .replace("__global", "global")
        .replace("__constant", "constant")
        .replace("__local", "local")
}
