//! The text that is compiled for the host instead of a source.
//!
//! It is the source itself and a wrapper for each of its shared functions (see [`super::abi`]).

use std::fmt::Write as _;

use oclave_image::ValueType;

use super::abi::{self, Passing};
use super::builtins;
use crate::ast::{SharedFunction, SharedParameter, SharedType};
use crate::compile::Unit;
use crate::config::Config;
use crate::source::{Language, Source};

/// Begins what is visible in this source only.
const INTERNAL: &str = "#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = any(function, variable(is_global)))\n";

/// A text of [`text`] in which all functions have the linkage that the source gives them.
pub(super) fn with_linkage(text: &str) -> String {
    let without = INTERNAL.replace("internal_linkage", "annotate(\"\")");
    text.replacen(INTERNAL, &without, 1)
}

/// A function and the linker's name of its wrapper.
#[derive(Debug)]
pub(super) struct Wrapped<'a> {
    pub(super) function: &'a SharedFunction,
    pub(super) symbol: String,
}

/// The functions of a source that have wrappers.
pub(super) fn wrapped<'a>(config: &Config, source: &Source, unit: &'a Unit) -> Vec<Wrapped<'a>> {
    let name = source.unit(config);
    let functions = unit.declarations.shared.iter().enumerate();
    functions
        .filter(|(_, function)| function.is_defined)
        .map(|(index, function)| Wrapped { function, symbol: abi::symbol(config, &name, index, function) })
        .collect()
}

/// The text. `elsewhere` are shared functions that this source declares and another one defines.
pub(super) fn text(source: &Source, own: &[Wrapped<'_>], elsewhere: &[Wrapped<'_>]) -> String {
    let path = std::path::absolute(&source.path).unwrap_or_else(|_| source.path.clone());
    let path = path.display().to_string().replace('\\', "/").replace('"', "\\\"");
    let mut text = builtins::prelude();
    // Nothing but the wrappers is visible outside, so that what they do not reach is not compiled
    // at all.
    text.push_str(INTERNAL);
    let _ = writeln!(text, "#include \"{path}\"\n#pragma clang attribute pop");
    let cpp = source.language == Language::CppForOpenCl;
    if cpp {
        // Virtual tables of abstract classes hold it, and Rust programs do not link the C++
        // library.
        text.push_str(
            "extern \"C\" __attribute__((weak)) void __cxa_pure_virtual(void) { __builtin_trap(); }\n",
        );
    }
    for wrapped in elsewhere {
        let forward = forward(wrapped, cpp);
        in_namespaces(&mut text, wrapped.function, &forward);
    }
    for wrapped in own {
        let wrapper = wrapper(wrapped, cpp);
        in_namespaces(&mut text, wrapped.function, &wrapper);
    }
    text
}

/// Puts code where names mean what they mean to the function's author.
fn in_namespaces(text: &mut String, function: &SharedFunction, code: &str) {
    let namespaces = function.scopes.iter().take_while(|scope| scope.is_namespace);
    let count = namespaces.clone().count();
    // Writing to a string does not fail.
    namespaces.for_each(|scope| {
        let _ = write!(text, "namespace {} {{ ", scope.name);
    });
    text.push_str(code);
    let _ = writeln!(text, "{}", "} ".repeat(count));
}

/// A wrapper: called from outside with plain C types.
fn wrapper(wrapped: &Wrapped<'_>, cpp: bool) -> String {
    let function = wrapped.function;
    let arguments: Vec<String> = (function.parameters.iter().enumerate())
        .map(|(index, parameter)| match (&parameter.ty, parameter.ty.passing()) {
            (_, Passing::ByAddress) => format!("*a{index}"),
            (SharedType::Value(_), _) => format!("({})a{index}", parameter.text),
            _ => format!("a{index}"),
        })
        .collect();
    let scope = if cpp { "::" } else { "" };
    let instance = match function.arguments.as_slice() {
        [] => String::new(),
        arguments => format!("<{}>", arguments.join(", ")),
    };
    let call = format!("{scope}{}{instance}({})", function.path(), arguments.join(", "));
    let call = match (&function.result.ty, function.result.ty.passing()) {
        (SharedType::Void, _) => format!("{call};"),
        (_, Passing::ByAddress) => format!("*result = {call};"),
        (SharedType::Value(ty), _) => format!("return ({}){call};", scalar(ty)),
        _ => format!("return {call};"),
    };
    let mut checks = String::new();
    for (index, parameter) in function.parameters.iter().enumerate() {
        checks += &layout_check(&format!("a{index}"), parameter, cpp);
    }
    if function.result.ty.passing() == Passing::ByAddress {
        checks += &layout_check("result", &function.result, cpp);
    }
    format!("{} {{ {checks}{call} }}", head(wrapped, cpp))
}

/// A definition, for this source, of a function whose body is in another one: it calls the wrapper
/// there.
fn forward(wrapped: &Wrapped<'_>, cpp: bool) -> String {
    let function = wrapped.function;
    let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
    for (index, parameter) in function.parameters.iter().enumerate() {
        parameters.push(format!("__typeof__({}) a{index}", parameter.text));
        arguments.push(match (&parameter.ty, parameter.ty.passing()) {
            (_, Passing::ByAddress) => format!("&a{index}"),
            (SharedType::Value(ty), _) => format!("({})a{index}", scalar(ty)),
            _ => format!("a{index}"),
        });
    }
    let result = &function.result;
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let body = if result.ty.passing() == Passing::ByAddress {
        arguments.push("&result".to_owned());
        format!("{} result; {}({}); return result;", result.text, wrapped.symbol, arguments.join(", "))
    } else {
        let call = format!("{}({});", wrapped.symbol, arguments.join(", "));
        if result.ty == SharedType::Void { call } else { format!("return ({}){call}", result.text) }
    };
    format!(
        "{}; __typeof__({}) {}({parameters}) {{ {body} }}",
        head(wrapped, cpp),
        result.text,
        function.name
    )
}

/// The declaration of a wrapper.
fn head(wrapped: &Wrapped<'_>, cpp: bool) -> String {
    let function = wrapped.function;
    let mut parameters: Vec<String> = (function.parameters.iter().enumerate())
        .map(|(index, parameter)| match (&parameter.ty, parameter.ty.passing()) {
            (_, Passing::ByAddress) => format!("const {} *a{index}", value(parameter)),
            (SharedType::Value(ty), _) => format!("{} a{index}", scalar(ty)),
            _ => format!("__typeof__({}) a{index}", parameter.text),
        })
        .collect();
    let result = match (&function.result.ty, function.result.ty.passing()) {
        (SharedType::Void, _) => "void".to_owned(),
        (_, Passing::ByAddress) => {
            parameters.push(format!("{} *result", value(&function.result)));
            "void".to_owned()
        }
        (SharedType::Value(ty), _) => scalar(ty),
        _ => format!("__typeof__({})", function.result.text),
    };
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let linkage = if cpp { "extern \"C\" " } else { "" };
    format!("{linkage}{result} {}({parameters})", wrapped.symbol)
}

/// Checks that the compiler sees the size and alignment that generated Rust has.
fn layout_check(name: &str, parameter: &SharedParameter, cpp: bool) -> String {
    let (ty, place) = match (&parameter.ty, parameter.ty.passing()) {
        (SharedType::Value(ty), Passing::ByAddress) => (ty, format!("*{name}")),
        (SharedType::Pointer { pointee: Some(ty), .. }, _) => (ty, format!("*{name}")),
        (SharedType::Reference { pointee, .. }, _) => (pointee, name.to_owned()),
        _ => return String::new(),
    };
    let assert = if cpp { "static_assert" } else { "_Static_assert" };
    format!(
        "{assert}(sizeof({place}) == {} && __alignof__({place}) == {}, \"the layout of {} differs from Rust's\"); ",
        ty.size_bytes(),
        ty.align_bytes().max(1),
        parameter.text.replace(['"', '\\'], "'")
    )
}

/// The type of a value that goes by address.
fn value(parameter: &SharedParameter) -> String {
    match &parameter.ty {
        SharedType::Value(ty @ (ValueType::Scalar(_) | ValueType::Vector(..))) => scalar(ty),
        _ => parameter.text.clone(),
    }
}

/// The built-in name of a scalar or vector, whatever the source calls it.
fn scalar(ty: &ValueType) -> String {
    match ty {
        ValueType::Scalar(scalar) => scalar.opencl_name().to_owned(),
        ValueType::Vector(element, lanes) => format!("{}{lanes}", element.opencl_name()),
        _ => ty.to_string(),
    }
}
