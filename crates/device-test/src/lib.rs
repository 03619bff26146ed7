//! The attribute `device_test`, of the tests of `oclave`.
#![forbid(unsafe_code)]

extern crate proc_macro;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// Makes a function a test that runs where there is a device.
///
/// Its parameters say what it needs: a `Device`, a `Context`, a `Queue` with or without its `Context`, or nothing
/// (`Given` in `tests/common`). Where that is missing, the test says so and passes.
///
/// `#[device_test(source)]` calls a function `source() -> Option<T>` instead, for a test with one parameter of type
/// `T`. The function says what is missing. `#[device_test(alone)]` runs the test in a process of its own.
#[proc_macro_attribute]
pub fn device_test(source: TokenStream, item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let keyword =
        tokens.iter().position(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"));
    let Some((attributes, function)) = keyword.map(|keyword| tokens.split_at(keyword)) else {
        return "compile_error!(\"device_test is for functions\");".parse().unwrap_or_default();
    };
    let Some(name) = function.get(1) else { return TokenStream::new() };
    let run = if source.is_empty() {
        format!("crate::common::on_device({name})")
    } else if source.to_string() == "alone" {
        format!("crate::common::alone(module_path!(), \"{name}\", || crate::common::on_device({name}))")
    } else {
        format!("crate::common::on({source}, {name})")
    };
    let call: TokenStream = run.parse().unwrap_or_default();
    let body: TokenStream = function.iter().cloned().chain(call).collect();
    let outer: TokenStream = "#[::core::prelude::v1::test]".parse().unwrap_or_default();
    let head = [
        TokenTree::Ident(Ident::new("fn", Span::call_site())),
        name.clone(),
        TokenTree::Group(Group::new(Delimiter::Parenthesis, TokenStream::new())),
        TokenTree::Group(Group::new(Delimiter::Brace, body)),
    ];
    outer.into_iter().chain(attributes.iter().cloned()).chain(head).collect()
}
