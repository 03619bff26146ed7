//! The configuration of a piglit test: sections, keys and arguments.
//!
//! ```text
//! [config]
//! kernel_name: twice
//! [test]
//! global_size: 2 0 0
//! arg_out: 0 buffer int[2] 2 4
//! arg_in: 1 buffer int[2] 1 2
//! ```

use std::fmt;

use super::values::{Element, float, signed, unsigned};
use oclave_image::Scalar;

/// The `[config]` section, and the program where the configuration has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Config {
    /// What the test is called.
    pub(crate) name: Option<String>,
    /// The lowest version of OpenCL C: 12. 0 means 10.
    pub(crate) version_min: u32,
    /// The highest version of OpenCL C; 0 means any.
    pub(crate) version_max: u32,
    /// A POSIX expression for the name of the platform.
    pub(crate) platform_pattern: Option<String>,
    /// A POSIX expression for the name of the device.
    pub(crate) device_pattern: Option<String>,
    /// Extensions of the device or the platform.
    pub(crate) extensions: Vec<String>,
    /// The text of `[program source]`.
    pub(crate) source: Option<String>,
    /// Another file with the program, relative to the test's folder.
    pub(crate) source_file: Option<String>,
    /// For the compiler, as written.
    pub(crate) options: String,
    /// The kernel of tests that name none.
    pub(crate) kernel: Option<String>,
    /// Whether the program must be refused.
    pub(crate) expects_build_failure: bool,
    /// Whether the device needs images.
    pub(crate) needs_images: bool,
}

/// A `[test]` section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    /// Not unique, and often empty.
    pub(crate) name: String,
    /// Instead of the one in [`Config`].
    pub(crate) kernel: Option<String>,
    /// As written; 1 to 3 make sense.
    pub(crate) dimensions: u64,
    /// Work-items. Those of unused dimensions mean nothing.
    pub(crate) global: [usize; 3],
    /// Work-items of a group; `None` leaves it to the driver.
    pub(crate) local: Option<[usize; 3]>,
    /// The first global id.
    pub(crate) offset: Option<[usize; 3]>,
    /// Whether all outputs must be wrong.
    pub(crate) expects_failure: bool,
    /// What the kernel gets.
    pub(crate) inputs: Vec<Parameter>,
    /// What it must write.
    pub(crate) outputs: Vec<Parameter>,
}

/// An `arg_in` or `arg_out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Which parameter of the kernel it is.
    pub(crate) index: usize,
    /// What is passed.
    pub(crate) kind: Kind,
    /// The type of its elements.
    pub(crate) element: Element,
    /// How many there are.
    pub(crate) length: usize,
    /// The bytes of all elements; `None` is `NULL`.
    pub(crate) value: Option<Vec<u8>>,
    /// Steps of an integer, or ulps.
    pub(crate) tolerance: u64,
}

/// What an argument is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A scalar or vector.
    Value,
    /// A buffer. With the value `NULL`, it may also be local memory.
    Buffer,
    /// A two-dimensional image.
    Image {
        /// In pixels.
        width: usize,
        /// In pixels.
        height: usize,
        /// By OpenCL's name without `CL_`: `RGBA`.
        order: String,
        /// By OpenCL's name without `CL_`: `UNORM_INT8`.
        channel: String,
    },
    /// A sampler.
    Sampler {
        /// Whether coordinates are from 0 to 1.
        is_normalized: bool,
        /// In lower case: `clamp_to_edge`.
        addressing: String,
        /// Whether values between pixels are interpolated.
        is_linear: bool,
    },
}

/// A configuration that piglit would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// The line of the configuration, from 1; 0 if it is about the whole.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) reason: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.reason),
            line => write!(f, "line {line} of the configuration: {}", self.reason),
        }
    }
}

impl std::error::Error for ConfigError {}

impl Default for Test {
    fn default() -> Self {
        Self {
            name: String::new(),
            kernel: None,
            dimensions: 1,
            global: [1; 3],
            local: Some([1; 3]),
            offset: None,
            expects_failure: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }
}

/// The configuration in a source: from its first `/*!` to its last `!*/`.
pub(crate) fn comment(source: &str) -> Option<&str> {
    let (_, rest) = source.split_once("/*!")?;
    rest.rsplit_once("!*/").map(|(text, _)| text).filter(|text| !text.is_empty())
}

/// Reads a configuration.
///
/// # Errors
/// What piglit would refuse.
pub(crate) fn parse(text: &str) -> Result<(Config, Vec<Test>), ConfigError> {
    let mut parser = Parser::default();
    let lines: Vec<&str> = text.split('\n').collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let first = at;
        at += 1;
        let line = without_comment(line);
        let line = if key_and_value(line).is_some() && continued(line).is_some() {
            joined(&lines, first, &mut at)
        } else {
            line.to_owned()
        };
        let result = if let Some(name) = section(&line) {
            let until = (at..lines.len()).find(|at| section(lines[*at]).is_some()).unwrap_or(lines.len());
            parser.begin(name, || lines[at..until].join("\n")).map(|is_text| {
                if is_text {
                    at = until;
                }
            })
        } else if let Some((key, value)) = key_and_value(&line) {
            parser.set(key, value)
        } else if line.trim().is_empty() {
            Ok(())
        } else {
            Err(format!("neither a section nor a key with a value: {}", shortened(&line)))
        };
        result.map_err(|reason| ConfigError { line: first + 1, reason })?;
    }
    if !parser.has_config {
        return Err(ConfigError { line: 0, reason: "there is no [config]".to_owned() });
    }
    Ok((parser.config, parser.tests))
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line)
}

/// The part of a line before the backslash that continues it.
fn continued(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix('\\')
}

/// Joins the lines from `first` on. `at` becomes the line behind the last of them.
fn joined(lines: &[&str], first: usize, at: &mut usize) -> String {
    let mut whole = String::new();
    for (number, line) in lines.iter().enumerate().skip(first) {
        *at = number + 1;
        let line = without_comment(line);
        match continued(line) {
            Some(part) => whole.push_str(part),
            None => {
                whole.push_str(line);
                break;
            }
        }
    }
    whole
}

fn section(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c.is_whitespace();
    (!name.is_empty() && name.chars().all(is_word)).then_some(name)
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_key && !value.is_empty()).then_some((key, value))
}

fn shortened(text: &str) -> String {
    text.trim().chars().take(80).collect()
}

#[derive(Default)]
enum Section {
    #[default]
    None,
    Config,
    Test,
}

#[derive(Default)]
struct Parser {
    config: Config,
    has_config: bool,
    /// What tests begin with.
    defaults: Test,
    tests: Vec<Test>,
    section: Section,
}

impl Parser {
    /// Begins a section, and says whether it is a text without keys.
    fn begin(&mut self, name: &str, text: impl FnOnce() -> String) -> Result<bool, String> {
        match name {
            "config" if self.has_config => Err("there is a second [config]".to_owned()),
            "config" => {
                self.has_config = true;
                self.section = Section::Config;
                Ok(false)
            }
            "test" if !self.has_config => Err("there is no [config] before the first [test]".to_owned()),
            "test" if self.config.expects_build_failure => {
                Err("there is a [test] of a program that must not build".to_owned())
            }
            "test" => {
                self.tests.push(self.defaults.clone());
                self.section = Section::Test;
                Ok(false)
            }
            "program source" => {
                self.config.source = Some(text());
                self.section = Section::None;
                Ok(true)
            }
            "program binary" => Err("programs in binary form are not supported".to_owned()),
            _ => Err(format!("there is no section [{name}]")),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self.section {
            Section::None => Err(format!("`{key}` belongs to no section")),
            Section::Config => self.set_config(key, value),
            Section::Test => match self.tests.last_mut() {
                Some(test) => set_test(test, key, value),
                None => Err("there is no [test]".to_owned()),
            },
        }
    }

    fn set_config(&mut self, key: &str, value: &str) -> Result<(), String> {
        let words = || value.split_whitespace().map(str::to_owned);
        match key {
            "name" => self.config.name = Some(name(value)?),
            "clc_version_min" => self.config.version_min = version(value)?,
            "clc_version_max" => self.config.version_max = version(value)?,
            "platform_regex" => self.config.platform_pattern = Some(value.to_owned()),
            "device_regex" => self.config.device_pattern = Some(value.to_owned()),
            "require_platform_extensions" | "require_device_extensions" => {
                self.config.extensions.extend(words());
            }
            // No test of piglit has it.
            "require_device_features" => return Err("features of devices are not looked at".to_owned()),
            "program_source_file" => self.config.source_file = Some(value.to_owned()),
            "program_binary_file" => return Err("programs in binary form are not supported".to_owned()),
            "build_options" => self.config.options = value.to_owned(),
            "kernel_name" => self.config.kernel = (!is_null(value)).then(|| value.to_owned()),
            "expect_build_fail" => self.config.expects_build_failure = boolean(value)?,
            "need_image_support" => self.config.needs_images = boolean(value)?,
            _ => return set_common(&mut self.defaults, key, value),
        }
        Ok(())
    }
}

fn set_test(test: &mut Test, key: &str, value: &str) -> Result<(), String> {
    match key {
        "name" => test.name = name(value)?,
        "kernel_name" => test.kernel = Some(value.to_owned()),
        "arg_in" | "arg_out" => {
            let is_input = key == "arg_in";
            let new = parameter(value, is_input)?;
            let (same, other) = match is_input {
                true => (&mut test.inputs, &test.outputs),
                false => (&mut test.outputs, &test.inputs),
            };
            if same.iter().any(|old| old.index == new.index) {
                return Err(format!("there is a second {key} {}", new.index));
            }
            if other.iter().any(|old| old.index == new.index && !is_alike(old, &new)) {
                return Err(format!("arg_in and arg_out {} differ in kind or size", new.index));
            }
            same.push(new);
        }
        _ => return set_common(test, key, value),
    }
    Ok(())
}

fn is_alike(one: &Parameter, other: &Parameter) -> bool {
    let size = |one: &Parameter| one.element.total_bytes(one.length);
    std::mem::discriminant(&one.kind) == std::mem::discriminant(&other.kind) && size(one) == size(other)
}

fn set_common(test: &mut Test, key: &str, value: &str) -> Result<(), String> {
    let some = |value| if is_null(value) { Ok(None) } else { three(value).map(Some) };
    match key {
        "expect_test_fail" => test.expects_failure = boolean(value)?,
        "dimensions" => test.dimensions = unsigned(value)?,
        "global_size" => test.global = three(value)?,
        "local_size" => test.local = some(value)?,
        "global_offset" => test.offset = some(value)?,
        _ => return Err(format!("there is no key `{key}` here")),
    }
    Ok(())
}

fn name(value: &str) -> Result<String, String> {
    match value.contains(['/', '%']) {
        true => Err(format!("the name `{}` has a slash or a percent sign", shortened(value))),
        false => Ok(value.to_owned()),
    }
}

fn is_null(value: &str) -> bool {
    matches!(value, "NULL" | "null")
}

fn boolean(value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("`{}` is neither true nor false", shortened(value))),
    }
}

fn version(value: &str) -> Result<u32, String> {
    u32::try_from(unsigned(value)?).map_err(|_| format!("`{value}` is no version"))
}

fn size(word: &str) -> Result<usize, String> {
    usize::try_from(unsigned(word)?).map_err(|_| format!("`{word}` is too large"))
}

fn three(value: &str) -> Result<[usize; 3], String> {
    let all = value.split_whitespace().map(size).collect::<Result<Vec<_>, _>>()?;
    all.try_into().map_err(|_| format!("`{}` are not three numbers", shortened(value)))
}

/// The words of an argument, from front to back.
struct Words<'a>(&'a [&'a str]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        let (first, rest) = self.0.split_first().ok_or("something is missing at the end")?;
        self.0 = rest;
        Ok(first)
    }

    /// The word behind `key`, which must come now.
    fn after(&mut self, key: &str) -> Result<&'a str, String> {
        match self.next()? {
            word if word == key => self.next(),
            word => Err(format!("there is `{word}` instead of `{key}`")),
        }
    }

    /// All words before `key`, or to the end.
    fn until(&mut self, key: &str) -> &'a [&'a str] {
        let at = self.0.iter().position(|word| *word == key).unwrap_or(self.0.len());
        let (before, rest) = self.0.split_at(at);
        self.0 = rest;
        before
    }
}

fn parameter(text: &str, is_input: bool) -> Result<Parameter, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    parameter_of(&mut Words(&words), is_input)
        .map_err(|reason| format!("the argument `{}`: {reason}", shortened(text)))
}

fn parameter_of(words: &mut Words<'_>, is_input: bool) -> Result<Parameter, String> {
    let index = size(words.next()?)?;
    let element = |name| Element::named(name).ok_or_else(|| format!("`{name}` is no type"));
    let one = Parameter {
        index,
        kind: Kind::Value,
        element: Element { scalar: Scalar::U8, lanes: 1 },
        length: 1,
        value: None,
        tolerance: 0,
    };
    let parameter = match words.next()? {
        "sampler" if is_input => Parameter { kind: sampler(words)?, ..one },
        "buffer" => {
            let (name, length) = words.next()?.split_once('[').ok_or("a buffer has no length")?;
            let (element, length) = (element(name)?, size(length.strip_suffix(']').ok_or("] is missing")?)?);
            let value = contents(words.until("tolerance"), element, length, is_input)?;
            let tolerance = tolerance(words, element, is_input)?;
            Parameter { kind: Kind::Buffer, element, length, value, tolerance, ..one }
        }
        "image" => {
            let element = element(words.next()?)?;
            let values = words.until("image_type");
            let (kind, length) = image(words)?;
            let value = contents(values, element, length, is_input)?;
            let tolerance = tolerance(words, element, is_input)?;
            Parameter { kind, element, length, value, tolerance, ..one }
        }
        name if is_input => {
            let element = element(name)?;
            let value = match words.until("") {
                [null] if is_null(null) => None,
                values if values.len() == element.lanes => Some(element.bytes_of(values, 1)?),
                values => return Err(format!("{} values instead of {}", values.len(), element.lanes)),
            };
            Parameter { element, value, ..one }
        }
        _ => return Err("an output must be a buffer or an image".to_owned()),
    };
    match words.0 {
        [] => Ok(parameter),
        [more, ..] => Err(format!("there is `{more}` behind it")),
    }
}

/// `NULL`, `random`, `repeat` and values, or just all values.
fn contents(
    words: &[&str],
    element: Element,
    length: usize,
    is_input: bool,
) -> Result<Option<Vec<u8>>, String> {
    match words {
        [one] if is_null(one) && is_input => Ok(None),
        ["random" | "RANDOM"] if is_input => random(element, length).map(Some),
        [one] if is_null(one) || matches!(*one, "random" | "RANDOM") => {
            Err("an output must have values".to_owned())
        }
        ["repeat" | "REPEAT", values @ ..] => element.bytes_of(values, length).map(Some),
        values if Some(values.len()) == length.checked_mul(element.lanes) => {
            element.bytes_of(values, length).map(Some)
        }
        values => Err(format!("{} values for {length} elements of {}", values.len(), element.lanes)),
    }
}

/// Piglit leaves such a buffer as it was allocated. Here it is the same each time, and without NaN.
fn random(element: Element, length: usize) -> Result<Vec<u8>, String> {
    let total = element.total_bytes(length).ok_or_else(|| format!("{length} elements are too many"))?;
    let mut state = 0x9E37_79B9_u32;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 25) as u8 & 0x3f
    });
    Ok(bytes.take(total).collect())
}

fn tolerance(words: &mut Words<'_>, element: Element, is_input: bool) -> Result<u64, String> {
    if words.0.is_empty() {
        return Ok(0);
    }
    if is_input {
        return Err("an input has a tolerance".to_owned());
    }
    let value = words.after("tolerance")?;
    let is_float = matches!(element.scalar, Scalar::F16 | Scalar::F32 | Scalar::F64);
    if words.0 == ["ulp"] {
        words.next()?;
        return if is_float { unsigned(value) } else { Err("integers have no ulp".to_owned()) };
    }
    match element.scalar {
        // Piglit takes the bits of the float as a number of ulps.
        #[allow(clippy::cast_possible_truncation, reason = "piglit converts the double, too")]
        Scalar::F16 | Scalar::F32 | Scalar::F64 => Ok(u64::from((float(value)? as f32).to_bits())),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => unsigned(value),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => Ok(signed(value)?.cast_unsigned()),
    }
}

/// The properties of an image, and how many pixels it has.
fn image(words: &mut Words<'_>) -> Result<(Kind, usize), String> {
    let dimensions = words.after("image_type")?;
    if !matches!(dimensions, "2D" | "2d") {
        return Err(format!("images of the type `{dimensions}` are not supported"));
    }
    let width = size(words.after("image_width")?)?;
    let height = size(words.after("image_height")?)?;
    let order = words.after("image_channel_order")?.to_ascii_uppercase();
    let channel = words.after("image_channel_data_type")?.to_ascii_uppercase();
    let pixels = width.checked_mul(height).ok_or("the image is too large")?;
    Ok((Kind::Image { width, height, order, channel }, pixels))
}

fn sampler(words: &mut Words<'_>) -> Result<Kind, String> {
    let is_normalized = boolean(words.after("normalized_coords")?)?;
    let addressing = words.after("addressing_mode")?.to_ascii_lowercase();
    if !matches!(&*addressing, "none" | "clamp_to_edge" | "clamp" | "repeat" | "mirrored_repeat") {
        return Err(format!("there is no addressing mode `{addressing}`"));
    }
    let is_linear = match words.after("filter_mode")? {
        "linear" | "LINEAR" => true,
        "nearest" | "NEAREST" => false,
        mode => return Err(format!("there is no filter mode `{mode}`")),
    };
    Ok(Kind::Sampler { is_normalized, addressing, is_linear })
}

#[cfg(test)]
mod tests;
