//! Traits whose objects kernels share, and the classes of these.

use std::iter::Peekable;

use proc_macro::token_stream::IntoIter;
use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree};

use super::{Expanded, Parameter, spelled, with_types, wrong};

/// What follows a trait, or an implementation of one.
pub(super) fn expand(item: &TokenStream) -> Expanded<TokenStream> {
    let mut tokens = item.clone().into_iter().peekable();
    let mut last = Span::call_site();
    while let Some(token) = tokens.next() {
        last = token.span();
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                tokens.next();
            }
            TokenTree::Ident(word) => match word.to_string().as_str() {
                "trait" => return expand_trait(tokens, last),
                "impl" => return expand_class(tokens, last),
                "unsafe" | "pub" => {}
                _ => break,
            },
            TokenTree::Group(_) => {}
            _ => break,
        }
    }
    wrong("`#[objects]` stands before a trait, or before an implementation of one", last)
}

fn is_begin_of_parameters(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '<')
}

fn expand_trait(mut tokens: Peekable<IntoIter>, last: Span) -> Expanded<TokenStream> {
    let Some(TokenTree::Ident(name)) = tokens.next() else { return wrong("a trait without a name", last) };
    if let Some(token) = tokens.next_if(is_begin_of_parameters) {
        return wrong("a trait of objects has no parameters", token.span());
    }
    let line = name.span().line();
    let set = format!("concat!(module_path!(), \"::{name}:{line}\")");
    let device = format!(
        "const _: () = {{
            #[allow(unsafe_code)]
            unsafe extern \"C\" {{
                #[link_name = concat!(\"__oclave_object_index_\", module_path!(), \"::{name}:{line}\")]
                safe fn index(class: u64, size: u64) -> u32;
                #[link_name = concat!(\"__oclave_object_table_\", module_path!(), \"::{name}:{line}\")]
                safe fn table(index: u64) -> *const ();
            }}
            #[allow(unsafe_code)]
            // SAFETY: the functions are those of oclave-rust.
            unsafe impl ::oclave_kernel::Objects for dyn {name} {{
                const OBJECT: &'static str = \"{name}Object\";
                const SET: &'static str = {set};
                #[inline(always)]
                fn index(of: u64, size: u64) -> u32 {{ index(of, size) }}
                #[inline(always)]
                fn table(of: u64) -> *const () {{ table(of) }}
            }}
        }};"
    );
    let host = format!(
        "#[allow(unsafe_code)]
        // SAFETY: the list is that of this trait.
        unsafe impl ::oclave_kernel::Objects for dyn {name} {{
            const OBJECT: &'static str = \"{name}Object\";
            const SET: &'static str = {set};
            fn classes() -> &'static ::oclave_kernel::__private::Classes<Self> {{
                static CLASSES: ::oclave_kernel::__private::Classes<dyn {name}> =
                    ::oclave_kernel::__private::Classes::new();
                &CLASSES
            }}
        }}"
    );
    parsed(&device, &host, &[], name.span())
}

fn expand_class(mut tokens: Peekable<IntoIter>, last: Span) -> Expanded<TokenStream> {
    if let Some(token) = tokens.next_if(is_begin_of_parameters) {
        return wrong(
            "a class of objects has no parameters: write an implementation for each type",
            token.span(),
        );
    }
    let (mut of_trait, mut ty) = (Vec::new(), Vec::new());
    let (mut name, mut is_type): (Option<Ident>, bool) = (None, false);
    let mut depth = 0_i32;
    for token in tokens {
        match &token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
            TokenTree::Ident(word) if depth == 0 && !is_type && word.to_string() == "for" => {
                is_type = true;
                continue;
            }
            TokenTree::Ident(word) if depth == 0 && !is_type => name = Some(word.clone()),
            TokenTree::Ident(word) if depth == 0 && word.to_string() == "where" => {
                return wrong("a class of objects has no conditions", word.span());
            }
            _ => {}
        }
        if is_type { ty.push(token) } else { of_trait.push(token) }
    }
    let (Some(name), true) = (name, is_type) else {
        return wrong("`#[objects]` stands before an implementation of a trait", last);
    };
    let (of_trait, ty): (TokenStream, TokenStream) =
        (of_trait.into_iter().collect(), ty.into_iter().collect());
    let (spelled, line) = (spelled(&ty), name.span().line());
    let number = format!("::oclave_kernel::__private::class_number(\"{name}\", {spelled:?})");
    let class = "::oclave_kernel::Class<dyn __type0!()> for __type1!()";
    let symbol = format!("::{name}:{spelled}:{line}");
    let device = format!(
        "const _: () = {{
            #[allow(unsafe_code)]
            // SAFETY: the description below is that of the type.
            unsafe impl {class} {{
                const NUMBER: u64 = {number};
            }}
            #[allow(unsafe_code)]
            #[used]
            #[unsafe(export_name = concat!(\"__oclave_class_\", module_path!(), {symbol:?}))]
            static DESCRIPTION: ::oclave_kernel::__private::ClassDescription<dyn __type0!()> =
                ::oclave_kernel::__private::ClassDescription::new(
                    ({line}, {number}, ::core::mem::size_of::<__type1!()>()),
                    file!(),
                    {spelled:?},
                    <dyn __type0!() as ::oclave_kernel::Objects>::SET,
                    ::core::ptr::NonNull::<__type1!()>::dangling().as_ptr() as *const dyn __type0!(),
                );
        }};"
    );
    let host = format!(
        "#[allow(unsafe_code)]
        // SAFETY: the pointer is seen as one to the type.
        unsafe impl {class} {{
            const NUMBER: u64 = {number};
            fn upcast(object: *mut u8) -> *mut (dyn __type0!() + 'static) {{
                object.cast::<__type1!()>() as *mut (dyn __type0!() + 'static)
            }}
        }}"
    );
    let parts = [of_trait, ty].map(|ty| Parameter { name: String::new(), ty });
    parsed(&device, &host, &parts, name.span())
}

fn parsed(device: &str, host: &str, parts: &[Parameter], span: Span) -> Expanded<TokenStream> {
    let text = format!("::oclave_kernel::__device! {{ {device} }} ::oclave_kernel::__host! {{ {host} }}");
    match text.parse::<TokenStream>() {
        Ok(tokens) => Ok(with_types(tokens, parts)),
        Err(_) => wrong("this cannot be expanded; report it", span),
    }
}
