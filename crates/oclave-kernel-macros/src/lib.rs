//! The macros of `oclave-kernel`, which shows them to users.
//!
//! They have no dependencies: `oclave-build` compiles them by one call of rustc.
#![forbid(unsafe_code)]

extern crate proc_macro;

mod objects;
mod print;

use std::iter::Peekable;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a function a kernel. See `oclave_kernel`.
#[proc_macro_attribute]
pub fn kernel(attributes: TokenStream, item: TokenStream) -> TokenStream {
    match expand_kernel(attributes, &item) {
        // Barriers must be in the kernel itself.
        Ok(more) => inline_always().into_iter().chain(item).chain(more).collect(),
        // The function itself stays, so that this is the only error.
        Err(error) => item.into_iter().chain(error.tokens()).collect(),
    }
}

/// Lets values of a struct be parameters and elements of memory of kernels. See `oclave_kernel`.
#[proc_macro_derive(Data)]
pub fn data(item: TokenStream) -> TokenStream {
    expand_data(item).unwrap_or_else(|error| error.tokens())
}

/// Declares variables that all kernels and the host share.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// use oclave_kernel::{Item, device_global, kernel};
///
/// device_global! {
///     /// How many work-items have run.
///     pub static COUNT: AtomicU32 = AtomicU32::new(0);
///     /// Set by the host.
///     #[host_access(write)]
///     pub static SCALES: [f32; 4] = [1.0, 2.0, 4.0, 8.0];
/// }
///
/// #[kernel]
/// pub fn count(_item: Item<1>) {
///     if SCALES.elements().get(1) > 1.0 {
///         COUNT.fetch_add(1, Relaxed);
///     }
/// }
/// ```
/// They have the type `DeviceGlobal` in kernels. The host has an `oclave::kernel::DeviceGlobal` of the same
/// name.
///
/// - `#[host_access(read)]`, `write` or `none` restricts the host.
/// - `#[device_image_scope]` gives each program a variable of its own.
/// - `extern static NAME: Type;` names a variable of a source in OpenCL C. That source is in the same
///   program, and defines it as `DEVICE_GLOBAL() __global`.
#[proc_macro]
pub fn device_global(items: TokenStream) -> TokenStream {
    statics(items).and_then(expand_globals).unwrap_or_else(|error| error.tokens())
}

/// Declares specialization constants: numbers that the host may set before a kernel is built for a
/// device.
///
/// ```
/// use oclave_kernel::{Item, Out, kernel, spec_constant};
///
/// spec_constant! {
///     /// Rounds of the kernel. The number is its `SpecId`, unique in the program.
///     #[id(0)]
///     pub static ROUNDS: u32 = 16;
/// }
///
/// #[kernel]
/// pub fn count(_item: Item<1>, mut out: Out<u32>) {
///     for _ in 0..ROUNDS.get() {
///         *out += 1;
///     }
/// }
/// ```
/// The host sets it with the `oclave::kernel::SpecConstant` of the same name.
#[proc_macro]
pub fn spec_constant(items: TokenStream) -> TokenStream {
    statics(items).and_then(expand_constants).unwrap_or_else(|error| error.tokens())
}

/// Lets objects of a trait be made in one kernel and called in another.
///
/// It stands before the trait, and before each implementation whose type is a class of objects. The types are
/// `Data`. See `oclave_kernel::Object`.
/// ```
/// use oclave_kernel::{Data, Object, objects};
///
/// #[objects]
/// pub trait Filter {
///     fn apply(&self, x: f32) -> f32;
/// }
///
/// #[derive(Clone, Copy, Data)]
/// #[repr(C)]
/// pub struct Gain {
///     factor: f32,
/// }
///
/// #[objects]
/// impl Filter for Gain {
///     fn apply(&self, x: f32) -> f32 {
///         self.factor * x
///     }
/// }
///
/// let filter = Object::<dyn Filter, 16>::new(Gain { factor: 2.0 });
/// assert_eq!(filter.apply(3.0), 6.0);
/// ```
/// The names of trait and type tell classes apart, without their modules. Two classes of one trait with one
/// name are an error of the build.
#[proc_macro_attribute]
pub fn objects(attributes: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = match attributes.into_iter().next() {
        Some(token) => wrong("`#[objects]` takes nothing", token.span()),
        None => objects::expand(&item),
    };
    item.into_iter().chain(expanded.unwrap_or_else(|error| error.tokens())).collect()
}

/// Prints a line from a kernel, as `println!` does on the host.
///
/// ```
/// use oclave_kernel::{HostRange, Item, device_println, kernel};
///
/// #[kernel]
/// pub fn report(item: Item<1>, x: &[f32]) {
///     let [i] = item.global_id();
///     if !x[i].is_finite() {
///         device_println!("x[{i}] is {:.3}, of {:>4} numbers", x[i], x.len());
///     }
/// }
///
/// report::run_on_host(HostRange::new([2]), &[1.0, f32::INFINITY]);
/// ```
/// It is OpenCL's `printf`. The text goes to the standard output, or to the function of
/// `ContextBuilder::printf`. Lines of work-items come in any order.
///
/// Values are numbers, `f16` included, and string literals. Formats have `<`, `>`, `0`, a width, a
/// precision, `?`, `x`, `X`, `o` and `#`. Names (`{i}`) and numbers (`{0}`) of values work as in Rust.
/// Integers, and floating-point numbers with a precision, have the text of Rust. Without a
/// precision, floating-point numbers have C's `%g`: six digits. Values that are not numbers are `nan`.
#[proc_macro]
pub fn device_println(tokens: TokenStream) -> TokenStream {
    print::expand(tokens, true).unwrap_or_else(|error| error.tokens())
}

/// As [`device_println!`], without the end of the line.
#[proc_macro]
pub fn device_print(tokens: TokenStream) -> TokenStream {
    print::expand(tokens, false).unwrap_or_else(|error| error.tokens())
}

/// `#[inline(always)]`.
fn inline_always() -> TokenStream {
    let always =
        Group::new(Delimiter::Parenthesis, TokenTree::from(Ident::new("always", Span::call_site())).into());
    let attribute =
        [TokenTree::from(Ident::new("inline", Span::call_site())), always.into()].into_iter().collect();
    [TokenTree::from(Punct::new('#', Spacing::Alone)), Group::new(Delimiter::Bracket, attribute).into()]
        .into_iter()
        .collect()
}

/// What is wrong, and where.
struct Wrong {
    what: String,
    span: Span,
}

type Expanded<T> = Result<T, Wrong>;

fn wrong<T>(what: impl Into<String>, span: Span) -> Expanded<T> {
    Err(Wrong { what: what.into(), span })
}

impl Wrong {
    fn tokens(&self) -> TokenStream {
        let mut message = Literal::string(&self.what);
        message.set_span(self.span);
        let argument = Group::new(Delimiter::Parenthesis, TokenTree::from(message).into());
        let tokens = [
            TokenTree::from(Ident::new("compile_error", self.span)),
            Punct::new('!', Spacing::Alone).into(),
            argument.into(),
            Punct::new(';', Spacing::Alone).into(),
        ];
        let spanned = tokens.into_iter().map(|mut token| {
            token.set_span(self.span);
            token
        });
        spanned.collect()
    }
}

/// A parameter of a kernel.
struct Parameter {
    name: String,
    ty: TokenStream,
}

/// The head of a function.
struct Head {
    visibility: TokenStream,
    name: Ident,
    documentation: String,
    parameters: Vec<Parameter>,
}

fn expand_kernel(attributes: TokenStream, item: &TokenStream) -> Expanded<TokenStream> {
    let work_group = work_group(attributes)?;
    let head = head(item)?;
    let name = head.name.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    let line = head.name.span().line();
    let function = &head.name;
    let (mut arguments, mut dimensions) = (String::new(), String::new());
    let mut descriptions = String::new();
    let (mut shared, mut host_parameters, mut ranges, mut calls) =
        (String::new(), String::new(), String::new(), String::new());
    let mut count = "0".to_owned();
    for (index, Parameter { name, ty }) in head.parameters.iter().enumerate() {
        // The types come back as tokens, so that errors point to the source.
        let parameter = format!("<__type{index}!() as ::oclave_kernel::__private::Parameter>");
        arguments += &format!("unsafe {{ {parameter}::argument({count}, LAUNCHES) }},");
        dimensions += &format!("{parameter}::DIMENSIONS,");
        count += &format!("+ {parameter}::ARGUMENTS");
        let text = spelled(ty);
        descriptions += &format!(
            "::oclave_kernel::__private::ParameterDescription::new({parameter}::KIND, {name:?}, {text:?}, {parameter}::TYPE),"
        );
        let parameter = format!("<__type{index}!() as ::oclave_kernel::__private::HostParameter>");
        host_parameters += &format!("__{index}: {parameter}::Host<'_>,");
        shared += &format!("let __{index} = {parameter}::share(__{index});");
        ranges += &format!("{parameter}::range(&__{index}),");
        calls += &format!("{parameter}::of(&__{index}, __work),");
    }
    let documentation = &head.documentation;
    let device = format!(
        "const _: () = {{
            const LAUNCHES: ::oclave_kernel::__private::Launches =
                ::oclave_kernel::__private::Launches::new({work_group}, &[{dimensions}]);
            #[allow(unsafe_code)]
            #[unsafe(export_name = \"__oclave_kernel_{name}\")]
            extern \"C\" fn entry() {{ {function}({arguments}) }}
            #[allow(unsafe_code)]
            #[used]
            #[unsafe(export_name = \"__oclave_description_{name}\")]
            static DESCRIPTION: ::oclave_kernel::__private::KernelDescription =
                ::oclave_kernel::__private::KernelDescription::new(
                    {line}, LAUNCHES, file!(), {documentation:?}, &[{descriptions}],
                );
        }};"
    );
    // A type of the kernel's name: types and functions have names of their own.
    let visibility = &head.visibility;
    let host = format!(
        "/// The kernel on the host.
        #[allow(non_camel_case_types, missing_debug_implementations)]
        {visibility} struct {function} {{}}
        impl {function} {{
            /// Runs the kernel on the host. Each parameter is given what its type takes there; `Item` takes the range.
            #[allow(clippy::too_many_arguments)]
            {visibility} fn run_on_host({host_parameters}) {{
                {shared}
                let __range = [{ranges}].into_iter().flatten().next();
                ::oclave_kernel::__private::run(__range, &|__work| {{ {function}({calls}) }});
            }}
        }}"
    );
    let text = format!(
        "::oclave_kernel::__device! {{ {device} }}
         ::oclave_kernel::__host! {{ {host} }}"
    );
    let Ok(tokens) = text.parse::<TokenStream>() else {
        return wrong("this kernel cannot be expanded; report it", head.name.span());
    };
    let tokens = with_types(tokens, &head.parameters);
    Ok(tokens)
}

/// Replaces `__typeN!()` by the type of a parameter.
fn with_types(tokens: TokenStream, parameters: &[Parameter]) -> TokenStream {
    let mut new = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) => {
                let text = ident.to_string();
                let number = text.strip_prefix("__type").and_then(|number| number.parse::<usize>().ok());
                match number.and_then(|number| parameters.get(number)) {
                    Some(parameter) => {
                        tokens.next();
                        tokens.next();
                        new.extend(parameter.ty.clone());
                    }
                    None => new.push(ident.into()),
                }
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), with_types(group.stream(), parameters));
                inner.set_span(group.span());
                new.push(inner.into());
            }
            token => new.push(token),
        }
    }
    new.into_iter().collect()
}

/// `work_group = [16, 16, 1]`.
fn work_group(attributes: TokenStream) -> Expanded<String> {
    let tokens: Vec<TokenTree> = attributes.into_iter().collect();
    match tokens.as_slice() {
        [] => Ok("[0; 3]".to_owned()),
        [TokenTree::Ident(key), TokenTree::Punct(equals), TokenTree::Group(sizes)]
            if key.to_string() == "work_group"
                && equals.as_char() == '='
                && sizes.delimiter() == Delimiter::Bracket =>
        {
            Ok(sizes.to_string())
        }
        [first, ..] => wrong("`#[kernel]` takes nothing, or `work_group = [x, y, z]`", first.span()),
    }
}

fn head(item: &TokenStream) -> Expanded<Head> {
    let mut tokens = item.clone().into_iter().peekable();
    let mut documentation = String::new();
    let mut visibility = Vec::new();
    let mut last = Span::call_site();
    let name = loop {
        let Some(token) = tokens.next() else { return wrong("`#[kernel]` stands before a function", last) };
        last = token.span();
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.next() {
                    documentation += &doc_line(group.stream());
                }
            }
            TokenTree::Ident(ident) => match ident.to_string().as_str() {
                "pub" => visibility = rest_of_visibility(token.clone(), &mut tokens),
                "fn" => match tokens.next() {
                    Some(TokenTree::Ident(name)) => break name,
                    _ => return wrong("a function without a name", last),
                },
                "unsafe" => {
                    return wrong("a kernel is launched by safe code: write `unsafe` blocks inside it", last);
                }
                word @ ("async" | "const" | "extern") => {
                    return wrong(format!("a kernel is no `{word} fn`"), last);
                }
                _ => return wrong("`#[kernel]` stands before a function", last),
            },
            _ => return wrong("`#[kernel]` stands before a function", last),
        }
    };
    let parameters = match tokens.next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
        Some(other) => {
            return wrong(
                "a kernel has no parameters for types or lifetimes; call a generic function from it",
                other.span(),
            );
        }
        None => return wrong("a function without parameters", last),
    };
    match tokens.next() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {}
        Some(other) => {
            return wrong("a kernel returns nothing; write results to `Out` or `Global`", other.span());
        }
        None => return wrong("a kernel has a body", last),
    }
    let mut found = Vec::new();
    for parameter in split(parameters.stream()) {
        found.push(self::parameter(parameter)?);
    }
    Ok(Head { visibility: visibility.into_iter().collect(), name, documentation, parameters: found })
}

/// A visibility that begins with `pub`: with the parentheses after it, if there are any.
fn rest_of_visibility(
    public: TokenTree,
    tokens: &mut Peekable<impl Iterator<Item = TokenTree>>,
) -> Vec<TokenTree> {
    let is_scope = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
    [public].into_iter().chain(tokens.next_if(is_scope)).collect()
}

/// The line of a `#[doc = "…"]`.
fn doc_line(attribute: TokenStream) -> String {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    let [TokenTree::Ident(doc), TokenTree::Punct(_), TokenTree::Literal(text)] = tokens.as_slice() else {
        return String::new();
    };
    if doc.to_string() != "doc" {
        return String::new();
    }
    let text = text.to_string();
    let text = text.strip_prefix('r').unwrap_or(&text).trim_matches('#');
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let text = text.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\");
    format!("{}\n", text.strip_prefix(' ').unwrap_or(&text))
}

/// Splits at commas that are not within brackets.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    let mut depth = 0_i32;
    let mut previous = ' ';
    for token in tokens {
        let mut now = ' ';
        if let TokenTree::Punct(punct) = &token {
            now = punct.as_char();
            match now {
                '<' => depth += 1,
                '>' if previous != '-' => depth -= 1,
                ',' if depth <= 0 => {
                    parts.push(std::mem::take(&mut part));
                    previous = now;
                    continue;
                }
                _ => {}
            }
        }
        previous = now;
        part.push(token);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn parameter(tokens: Vec<TokenTree>) -> Expanded<Parameter> {
    let span = tokens.first().map_or(Span::call_site(), TokenTree::span);
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ':' && p.spacing() == Spacing::Alone);
    let Some(at) = tokens.iter().position(is_colon) else {
        return wrong("a parameter of a kernel has a name and a type", span);
    };
    let (pattern, ty) = tokens.split_at(at);
    let is_static = |pair: &[TokenTree]| match pair {
        [TokenTree::Punct(quote), TokenTree::Ident(name)] => {
            quote.as_char() == '\'' && name.to_string() == "static"
        }
        _ => false,
    };
    if ty.windows(2).any(is_static) {
        return wrong("what a kernel is given lives as long as the launch: leave out `'static`", span);
    }
    let names: Vec<String> = pattern
        .iter()
        .filter_map(|token| match token {
            TokenTree::Ident(ident) => Some(ident.to_string()),
            _ => None,
        })
        .filter(|name| name != "mut" && name != "ref")
        .collect();
    let is_name = |token: &TokenTree| matches!(token, TokenTree::Ident(_));
    match (names.as_slice(), pattern.iter().all(is_name)) {
        ([name], true) => Ok(Parameter { name: name.clone(), ty: ty.iter().skip(1).cloned().collect() }),
        _ => wrong("a parameter of a kernel has a name, not a pattern", span),
    }
}

/// A type as one would write it.
fn spelled(ty: &TokenStream) -> String {
    ty.to_string()
        .replace(" <", "<")
        .replace("< ", "<")
        .replace(" >", ">")
        .replace("& ", "&")
        .replace(" ,", ",")
}

fn expand_data(item: TokenStream) -> Expanded<TokenStream> {
    let mut tokens = item.into_iter().peekable();
    let mut is_c = false;
    let mut last = Span::call_site();
    let name = loop {
        let Some(token) = tokens.next() else { return wrong("`Data` is derived for structs", last) };
        last = token.span();
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.next() {
                    let text = group.stream().to_string().replace(' ', "");
                    is_c |= text == "repr(C)";
                }
            }
            TokenTree::Ident(ident) => match ident.to_string().as_str() {
                "struct" => match tokens.next() {
                    Some(TokenTree::Ident(name)) => break name,
                    _ => return wrong("a struct without a name", last),
                },
                "enum" | "union" => {
                    return wrong("`Data` is derived for structs: any bytes must be a value", last);
                }
                _ => {}
            },
            _ => {}
        }
    };
    if !is_c {
        return wrong("`Data` needs `#[repr(C)]`, so that host and devices have one layout", name.span());
    }
    let fields = match tokens.next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => split(group.stream()),
        Some(other) => {
            return wrong(
                "`Data` is derived for structs with named fields, without parameters",
                other.span(),
            );
        }
        None => return wrong("a struct without fields", last),
    };
    let mut found: Vec<Parameter> = Vec::new();
    for field in fields {
        found.push(self::field(field)?);
    }
    let (mut checks, mut descriptions, mut sizes) = (String::new(), String::new(), "0".to_owned());
    for (index, field) in found.iter().enumerate() {
        let element = format!("<__type{index}!() as ::oclave_kernel::Element>");
        checks += &format!("const {{ ::oclave_kernel::__private::is_data::<__type{index}!()>() }};");
        sizes += &format!("+ ::core::mem::size_of::<__type{index}!()>()");
        descriptions += &format!(
            "::oclave_kernel::__private::FieldDescription::new({:?}, ::core::mem::offset_of!({name}, {}), {element}::DESCRIPTION),",
            field.name.strip_prefix("r#").unwrap_or(&field.name),
            field.name,
        );
    }
    let text = format!(
        "#[allow(unsafe_code)]
        // SAFETY: all fields are `Data`, and there are no bytes between them, which is checked.
        unsafe impl ::oclave_kernel::Element for {name} {{
            const DESCRIPTION: &'static ::oclave_kernel::__private::TypeDescription = {{
                {checks}
                assert!({sizes} == ::core::mem::size_of::<{name}>(), \"a struct for kernels has no padding: add fields for it\");
                const FIELDS: &[::oclave_kernel::__private::FieldDescription] = &[{descriptions}];
                const STRUCTURE: ::oclave_kernel::__private::TypeDescription =
                    ::oclave_kernel::__private::TypeDescription::structure::<{name}>({:?}, FIELDS);
                &STRUCTURE
            }};
            const IS_ATOMIC: bool = false;
        }}
        #[allow(unsafe_code)]
        // SAFETY: as above.
        unsafe impl ::oclave_kernel::Data for {name} {{}}
        ::oclave_kernel::__parameter!({name});",
        name.to_string()
    );
    match text.parse::<TokenStream>() {
        Ok(tokens) => Ok(with_types(tokens, &found)),
        Err(_) => wrong("this struct cannot be described; report it", name.span()),
    }
}

/// A static of `device_global!` or `spec_constant!`.
struct Static {
    /// Those that are left for rustc.
    attributes: TokenStream,
    documentation: String,
    /// The macro's own attributes, with their arguments.
    own: Vec<(String, String)>,
    visibility: TokenStream,
    is_extern: bool,
    name: Ident,
    ty: TokenStream,
    value: TokenStream,
}

/// Reads `pub static NAME: Type = value;`, any number of them.
fn statics(items: TokenStream) -> Expanded<Vec<Static>> {
    let mut tokens = items.into_iter().peekable();
    let mut found = Vec::new();
    while tokens.peek().is_some() {
        let (mut attributes, mut own) = (Vec::new(), Vec::new());
        let (mut documentation, mut visibility, mut is_extern) = (String::new(), Vec::new(), false);
        let mut last = Span::call_site();
        let name = loop {
            let Some(token) = tokens.next() else { return wrong("a `static NAME: Type = value;`", last) };
            last = token.span();
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let Some(TokenTree::Group(group)) = tokens.next() else {
                        return wrong("an attribute", last);
                    };
                    documentation += &doc_line(group.stream());
                    let parts: Vec<TokenTree> = group.stream().into_iter().collect();
                    let name = parts.first().map(ToString::to_string).unwrap_or_default();
                    if ["host_access", "device_image_scope", "id"].contains(&name.as_str()) {
                        let given = match parts.get(1) {
                            Some(TokenTree::Group(group)) => group.stream().to_string(),
                            _ => String::new(),
                        };
                        own.push((name, given));
                    } else {
                        attributes.extend([token.clone(), group.into()]);
                    }
                }
                TokenTree::Ident(ident) => match ident.to_string().as_str() {
                    "pub" => visibility = rest_of_visibility(token.clone(), &mut tokens),
                    "extern" => is_extern = true,
                    "static" => match tokens.next() {
                        Some(TokenTree::Ident(name)) => break name,
                        _ => return wrong("a static without a name", last),
                    },
                    _ => return wrong("a `static NAME: Type = value;`", last),
                },
                _ => return wrong("a `static NAME: Type = value;`", last),
            }
        };
        let (mut ty, mut value, mut in_value) = (Vec::new(), Vec::new(), false);
        let mut colon = false;
        for token in tokens.by_ref() {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => break,
                TokenTree::Punct(punct) if punct.as_char() == ':' && !colon => colon = true,
                TokenTree::Punct(punct) if punct.as_char() == '=' && !in_value => in_value = true,
                _ if in_value => value.push(token),
                _ => ty.push(token),
            }
        }
        if !colon || ty.is_empty() {
            return wrong("a static has a type", name.span());
        }
        if is_extern != value.is_empty() {
            let what = if is_extern {
                "an `extern static` has no value here: the source that defines it has one"
            } else {
                "a static has a value"
            };
            return wrong(what, name.span());
        }
        found.push(Static {
            attributes: attributes.into_iter().collect(),
            documentation,
            own,
            visibility: visibility.into_iter().collect(),
            is_extern,
            name,
            ty: ty.into_iter().collect(),
            value: value.into_iter().collect(),
        });
    }
    Ok(found)
}

/// The tokens of a static, for `__type0!()` (its name) to `__type4!()`.
fn parts(of: &Static) -> Vec<Parameter> {
    let name = TokenStream::from(TokenTree::Ident(of.name.clone()));
    [name, of.ty.clone(), of.value.clone(), of.attributes.clone(), of.visibility.clone()]
        .map(|ty| Parameter { name: String::new(), ty })
        .into()
}

fn expand_globals(statics: Vec<Static>) -> Expanded<TokenStream> {
    let mut all = TokenStream::new();
    for global in &statics {
        let mut properties = Vec::new();
        for (property, given) in &global.own {
            match (property.as_str(), given.as_str()) {
                ("host_access", "read" | "write" | "read_write" | "none") => {
                    properties.push(format!("host_access_{given}"));
                }
                ("device_image_scope", "") => properties.push(property.clone()),
                _ => {
                    return wrong(
                        format!(
                            "a device global has no property `{property}({given})`; it takes `host_access(read)`, `write`, \
                             `read_write` or `none`, and `device_image_scope`"
                        ),
                        global.name.span(),
                    );
                }
            }
        }
        let name = global.name.to_string();
        let (line, number) = (global.name.span().line(), u32::from(global.is_extern));
        let (documentation, properties) = (&global.documentation, properties.join(","));
        let ty = "::oclave_kernel::DeviceGlobal<__type1!()>";
        let on_device = if global.is_extern {
            format!(
                "#[allow(unsafe_code, improper_ctypes)]
                unsafe extern \"C\" {{
                    #[link_name = \"{name}\"]
                    __type3!() __type4!() safe static __type0!(): {ty};
                }}"
            )
        } else {
            format!(
                "#[allow(unsafe_code)]
                #[unsafe(export_name = \"{name}\")]
                __type3!() __type4!() static __type0!(): {ty} = ::oclave_kernel::DeviceGlobal::new(__type2!());"
            )
        };
        let on_host = if global.is_extern { "zeroed()" } else { "new(__type2!())" };
        let description = description(
            "global",
            &name,
            &format!(
                "({line}, {number}), file!(), {documentation:?}, {properties:?}, <__type1!() as ::oclave_kernel::Element>::DESCRIPTION, 0"
            ),
        );
        let text = format!(
            "::oclave_kernel::__device! {{ {on_device} {description} }}
             ::oclave_kernel::__host! {{
                 __type3!() __type4!() static __type0!(): {ty} = ::oclave_kernel::DeviceGlobal::{on_host};
             }}"
        );
        all.extend(expanded(&text, global)?);
    }
    Ok(all)
}

fn expand_constants(statics: Vec<Static>) -> Expanded<TokenStream> {
    let mut all = TokenStream::new();
    for constant in &statics {
        let id = match constant.own.as_slice() {
            [(id, number)] if id == "id" => number.parse::<u32>().ok(),
            _ => None,
        };
        let (Some(id), false) = (id, constant.is_extern) else {
            return wrong(
                "a specialization constant has a number that is unique in the program: `#[id(0)]`",
                constant.name.span(),
            );
        };
        let name = constant.name.to_string();
        let (line, documentation) = (constant.name.span().line(), &constant.documentation);
        let description = description(
            "spec",
            &name,
            &format!(
                "({line}, {id}), file!(), {documentation:?}, \"\", <__type1!() as ::oclave_kernel::Element>::DESCRIPTION, 0"
            ),
        );
        let text = format!(
            "__type3!() __type4!() const __type0!(): ::oclave_kernel::SpecConstant<__type1!(), {id}> =
                 ::oclave_kernel::SpecConstant::<__type1!(), {id}>::new(__type2!());
             ::oclave_kernel::__device! {{ {description} }}"
        );
        all.extend(expanded(&text, constant)?);
    }
    Ok(all)
}

/// The constant that `oclave-build` reads.
fn description(kind: &str, name: &str, arguments: &str) -> String {
    format!(
        "const _: () = {{
            #[allow(unsafe_code)]
            #[used]
            #[unsafe(export_name = \"__oclave_{kind}_{name}\")]
            static DESCRIPTION: ::oclave_kernel::__private::VariableDescription =
                ::oclave_kernel::__private::VariableDescription::new({arguments});
        }};"
    )
}

fn expanded(text: &str, of: &Static) -> Expanded<TokenStream> {
    match text.parse::<TokenStream>() {
        Ok(tokens) => Ok(with_types(tokens, &parts(of))),
        Err(_) => wrong("this static cannot be expanded; report it", of.name.span()),
    }
}

/// `pub name: Type`, attributes before it.
fn field(tokens: Vec<TokenTree>) -> Expanded<Parameter> {
    let mut rest = tokens.as_slice();
    loop {
        rest = match rest {
            [TokenTree::Punct(punct), TokenTree::Group(_), more @ ..] if punct.as_char() == '#' => more,
            [TokenTree::Ident(word), TokenTree::Group(group), more @ ..]
                if word.to_string() == "pub" && group.delimiter() == Delimiter::Parenthesis =>
            {
                more
            }
            [TokenTree::Ident(word), more @ ..] if word.to_string() == "pub" => more,
            _ => break,
        };
    }
    parameter(rest.to_vec())
}
