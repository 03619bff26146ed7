//! Kernels of real programs, with arguments by rule: what their parameters are called and point to.
//!
//! No result is known. The kernel's own source, built by the driver, says what is right. Arguments
//! are chosen so that most kernels stay within their buffers. Some do not, and may crash.
//!
//! Sources are one file each, as `ci/real` makes them: preprocessed, without macros and headers.

mod compare;
mod fill;
mod hashcat;
mod layout;

use std::path::{Path, PathBuf};

use oclave_image::{Access, AddressSpace, DeviceImage, KernelSignature, Parameter, ParameterKind};

pub(crate) use self::compare::Comparison;
use self::layout::Layout;
use crate::case::{Argument, Case, Launch, Memory, Space};

/// For both compilers. The version must be OpenCL C 3.0, by whose macros `ci/real` chose code.
pub(crate) const CLANG_ARGUMENTS: [&str; 1] = ["-w"];

/// The edge of images. All coordinates of launches are inside.
const IMAGE_EDGE: usize = 64;
/// Local memory of all parameters together.
const LOCAL_BYTES: usize = 16 << 10;

/// A launch of a kernel.
pub(crate) struct Kernel {
    /// Its check accepts everything, unless the right result is known.
    pub(crate) case: Case,
    /// What the elements of each memory are.
    layouts: Vec<Option<Layout>>,
}

impl Kernel {
    /// The launch, and what compares its results.
    pub(crate) fn into_parts(self) -> (Case, Comparer) {
        (self.case, Comparer { layouts: self.layouts })
    }
}

/// Compares the results of a kernel on two paths.
pub(crate) struct Comparer {
    /// What the elements of each memory are.
    layouts: Vec<Option<Layout>>,
}

impl Comparer {
    /// Compares the final contents of all memory.
    pub(crate) fn compare(&self, one: &[Vec<u8>], other: &[Vec<u8>]) -> Comparison {
        compare::compare(&self.layouts, one, other)
    }
}

/// All sources in a folder and below, relative to it and sorted.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn sources(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut folders = vec![root.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "cl") {
                found.extend(path.strip_prefix(root).map(Path::to_owned));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A launch of each kernel of a source, by its name. What cannot be filled says why.
pub(crate) fn kernels(images: &[DeviceImage], source: &str) -> Vec<(String, Result<Kernel, String>)> {
    let signatures = images.iter().flat_map(|image| &image.kernels);
    let made = |signature: &KernelSignature| {
        let body = body(&signature.name, source).unwrap_or_default();
        match hashcat::known(signature, body) {
            Some((case, layouts)) => Ok(Kernel { case, layouts }),
            None => kernel(signature, source),
        }
    };
    signatures.map(|signature| (signature.name.clone(), made(signature))).collect()
}

fn kernel(signature: &KernelSignature, source: &str) -> Result<Kernel, String> {
    let mut memory = Vec::new();
    let mut layouts = Vec::new();
    let mut arguments = Vec::new();
    let is_local = |parameter: &&Parameter| matches!(parameter.kind, ParameterKind::Local { .. });
    let has_floats = body(&signature.name, source).is_some_and(casts_to_float);
    let locals = signature.parameters.iter().filter(is_local).count().max(1);
    for parameter in &signature.parameters {
        let about = |reason: String| format!("the parameter `{}`: {reason}", parameter.name);
        let layout = |ty| Layout::of(ty, &parameter.name).map_err(about);
        let elements = |ty| layout(ty).map(|layout| if has_floats { layout.with_floats() } else { layout });
        arguments.push(match &parameter.kind {
            ParameterKind::Value(ty) => Argument::Value(fill::value(&layout(ty)?)),
            ParameterKind::Pointer { address_space, pointee, .. } => {
                let layout = elements(pointee)?;
                let size = match address_space {
                    AddressSpace::Global => fill::global_bytes(layout.stride),
                    AddressSpace::Constant => fill::CONSTANT_BYTES,
                };
                let seed = u32::try_from(memory.len()).unwrap_or(0);
                memory.push(Memory::Buffer(fill::buffer(&layout, size, seed)));
                layouts.push(Some(layout));
                Argument::Memory(memory.len() - 1)
            }
            ParameterKind::Local { pointee } => {
                let stride = layout(pointee)?.stride;
                Argument::Local((LOCAL_BYTES / locals / stride).max(1) * stride)
            }
            ParameterKind::Image { type_name, access } => {
                let (image, layout) = image(&parameter.name, type_name, *access, source).map_err(about)?;
                memory.push(image);
                layouts.push(layout);
                Argument::Memory(memory.len() - 1)
            }
            ParameterKind::Sampler => Argument::Sampler {
                is_normalized: false,
                addressing: "clamp_to_edge".to_owned(),
                is_linear: false,
            },
        });
    }
    let name = signature.name.clone();
    let launch = Launch { kernel: name.clone(), arguments, space: space(signature, source) };
    let check = Box::new(|_: &[Vec<u8>]| Ok(()));
    Ok(Kernel { case: Case { name, memory, launches: vec![launch], check }, layouts })
}

/// An image of four channels, with the kind of numbers that the source seems to read or write.
fn image(
    name: &str,
    type_name: &str,
    access: Access,
    source: &str,
) -> Result<(Memory, Option<Layout>), String> {
    use oclave_image::{Scalar, ValueType};

    if type_name != "image2d_t" {
        return Err(format!("images of the type {type_name} are not filled"));
    }
    let is_written = match access {
        Access::Read => false,
        Access::Write => true,
        Access::ReadWrite => return Err("images that are read and written are not filled".to_owned()),
    };
    let (scalar, channel) = match accessed_as(name, source) {
        'i' => (Scalar::I32, "SIGNED_INT32"),
        'u' => (Scalar::U32, "UNSIGNED_INT32"),
        _ => (Scalar::F32, "FLOAT"),
    };
    let layout = Layout::of(&ValueType::Scalar(scalar), name)?;
    let size = IMAGE_EDGE * IMAGE_EDGE * 4 * scalar.size_bytes() as usize;
    let image = Memory::Image {
        width: IMAGE_EDGE,
        height: IMAGE_EDGE,
        order: "RGBA".to_owned(),
        channel: channel.to_owned(),
        is_written,
        pixels: fill::buffer(&layout, size, 0),
    };
    Ok((image, Some(layout)))
}

/// The letter behind `read_image` or `write_image` where the source calls it with `name`; `f` where
/// it does not.
fn accessed_as(name: &str, source: &str) -> char {
    let calls = source.match_indices("_image").filter_map(|(at, word)| {
        let rest = source.get(at + word.len()..)?;
        let letter = rest.chars().next().filter(|letter| matches!(letter, 'f' | 'i' | 'u' | 'h'))?;
        let (_, arguments) = rest.split_once('(')?;
        let rest = arguments.trim_start().strip_prefix(name)?;
        rest.trim_start().starts_with(',').then_some(letter)
    });
    calls.into_iter().next().unwrap_or('f')
}

/// The body of a kernel in a preprocessed source, with its braces.
fn body<'a>(kernel: &str, source: &'a str) -> Option<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices(kernel).find_map(|(at, _)| {
        let after = source.get(at + kernel.len()..)?;
        let is_whole = !source.get(..at)?.ends_with(is_word) && after.trim_start().starts_with('(');
        // A declaration ends before any body begins. A call is an expression, and ends, too.
        let begin = after.find(['{', ';']).filter(|begin| is_whole && after[*begin..].starts_with('{'))?;
        let body = &after[begin..];
        let mut depth = 0_usize;
        let end = body.char_indices().find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        });
        body.get(..end?)
    })
}

/// Whether a text has casts to pointers to `float`: where parameters point to bytes, these are floats.
fn casts_to_float(text: &str) -> bool {
    text.match_indices("float").any(|(at, word)| {
        let after = text.get(at + word.len()..).unwrap_or_default().trim_start();
        let before = text.get(..at).unwrap_or_default();
        let is_in_parentheses = before.rsplit(['(', ')', ';']).next().map(|words| before.len() - words.len());
        after.strip_prefix('*').is_some_and(|rest| rest.trim_start().starts_with(')'))
            && is_in_parentheses
                .is_some_and(|open| before.get(..open).is_some_and(|text| text.ends_with('(')))
    })
}

/// Whether a text asks for ids of a dimension.
fn asks_for(dimension: usize, text: &str) -> bool {
    let argument = format!("({dimension})");
    ["get_global_id", "get_local_id", "get_group_id"].iter().any(|function| {
        text.match_indices(function).any(|(at, _)| {
            let rest = text.get(at + function.len()..).unwrap_or_default();
            let call: String = rest.chars().filter(|c| !c.is_whitespace()).take(3).collect();
            call == argument
        })
    })
}

/// As many dimensions as the kernel asks for, with few work-items. Groups are as it demands. A
/// kernel without ids of its own leaves them to the source's functions.
fn space(signature: &KernelSignature, source: &str) -> Space {
    let body = body(&signature.name, source);
    let text = body.filter(|body| (0..3).any(|dimension| asks_for(dimension, body))).unwrap_or(source);
    let asks_for = |dimension| asks_for(dimension, text);
    let (dimensions, groups, local) = match (asks_for(1), asks_for(2)) {
        (_, true) => (3, [2, 2, 2], [4, 4, 2]),
        (true, false) => (2, [2, 4, 1], [8, 4, 1]),
        (false, false) => (1, [4, 1, 1], [32, 1, 1]),
    };
    let required = signature.required_work_group_size.map(|size| size.map(|size| size as usize));
    let (dimensions, local) = match required {
        Some(local) => {
            let used = 3 - local.iter().rev().take_while(|size| **size == 1).count().min(2);
            (dimensions.max(used), local)
        }
        None => (dimensions, local),
    };
    let mut global = [1; 3];
    for (at, global) in global.iter_mut().enumerate().take(dimensions) {
        *global = local[at] * groups[at];
    }
    Space { dimensions, global, local: Some(local), offset: [0; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oclave_image::{Scalar, ValueType};

    fn signature(parameters: Vec<(&str, ParameterKind)>) -> KernelSignature {
        let named = |(name, kind): (&str, ParameterKind)| Parameter { name: name.to_owned(), kind };
        KernelSignature {
            name: "k".to_owned(),
            parameters: parameters.into_iter().map(named).collect(),
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects: Default::default(),
            device_globals: Vec::new(),
        }
    }

    fn pointer(address_space: AddressSpace) -> ParameterKind {
        let pointee = ValueType::Vector(Scalar::F32, 4);
        ParameterKind::Pointer { address_space, access: Access::ReadWrite, pointee }
    }

    #[test]
    fn parameters_are_filled_by_their_kind() {
        let signature = signature(vec![
            ("a", pointer(AddressSpace::Global)),
            ("b", pointer(AddressSpace::Constant)),
            ("c", ParameterKind::Local { pointee: ValueType::Scalar(Scalar::F64) }),
            ("n", ParameterKind::Value(ValueType::Scalar(Scalar::I32))),
            ("s", ParameterKind::Sampler),
            ("i", ParameterKind::Image { type_name: "image2d_t".to_owned(), access: Access::Write }),
        ]);
        let kernel = kernel(&signature, "write_imageui( i , x, y)").unwrap();
        let launch = &kernel.case.launches[0];
        assert_eq!(
            launch.arguments[..3],
            [Argument::Memory(0), Argument::Memory(1), Argument::Local(LOCAL_BYTES)]
        );
        assert_eq!(launch.arguments[3], Argument::Value(vec![100, 0, 0, 0]));
        let memory = &kernel.case.memory;
        assert!(memory[0].bytes().len() > memory[1].bytes().len());
        assert!(
            matches!(&memory[2], Memory::Image { channel, is_written: true, .. } if channel == "UNSIGNED_INT32")
        );
        let contents: Vec<Vec<u8>> = memory.iter().map(|memory| memory.bytes().to_vec()).collect();
        assert_eq!(kernel.into_parts().1.compare(&contents, &contents), Comparison::Equal);
    }

    #[test]
    fn what_cannot_be_filled_says_why() {
        let opaque = ValueType::Opaque { name: "U".to_owned(), size_bytes: 8, align_bytes: 8 };
        let signature = signature(vec![("u", ParameterKind::Value(opaque))]);
        let error = kernel(&signature, "").err().unwrap();
        assert!(error.contains("`u`") && error.contains("`U`"), "{error}");
    }

    #[test]
    fn kernels_are_looked_at_one_by_one() {
        let source = "void k(int); void k2() { get_global_id(2); } kernel void k (int a) { { get_global_id(1); } } \
                      void f() { get_local_id(2); k(1); }";
        assert_eq!(body("k", source), Some("{ { get_global_id(1); } }"));
        assert_eq!(body("k3", source), None);
        assert_eq!(space(&signature(vec![]), source).dimensions, 2);
        assert_eq!(
            space(&signature(vec![]), "kernel void k() { f(get_global_id(1)"),
            space(&signature(vec![]), "get_global_id(1)")
        );
    }

    #[test]
    fn casts_are_found() {
        assert!(
            casts_to_float("x = *(__global const float *)(p + 4);")
                && casts_to_float("((global float*)p)[0]")
        );
        assert!(!casts_to_float("float * x = f((int *)y); (float4 *)z; (float)(2) * (1)"));
    }

    #[test]
    fn launches_have_the_dimensions_of_the_source() {
        let mut signature = signature(vec![]);
        assert_eq!(space(&signature, "get_global_id(0)").global, [128, 1, 1]);
        assert_eq!(space(&signature, "get_group_id( 1 )").global, [16, 16, 1]);
        assert_eq!(space(&signature, "get_local_id (2)").dimensions, 3);
        signature.required_work_group_size = Some([4, 8, 1]);
        let space = space(&signature, "");
        assert_eq!((space.dimensions, space.global, space.local), (2, [16, 8, 1], Some([4, 8, 1])));
    }

    /// Builds all sources in the folder `OCLAVE_REAL` and below, and says which kernels cannot be
    /// filled. `ci/real fetch` prints a folder that has a folder for each project.
    #[test]
    fn sources_are_filled() {
        let Some(root) = std::env::var_os("OCLAVE_REAL").map(PathBuf::from) else {
            println!("skipped: OCLAVE_REAL is not set");
            return;
        };
        let (mut built, mut filled, mut bad) = (0, 0, Vec::new());
        let sources = sources(&root).unwrap();
        for path in &sources {
            let folder = tempfile::tempdir().unwrap();
            let mut config = oclave_build::Config::new();
            for variable in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "TARGET", "OUT_DIR", "NUM_JOBS"] {
                config.env(variable, "");
            }
            config.out_dir(folder.path()).extra_args(CLANG_ARGUMENTS);
            let images = match config.compile_images(&[root.join(path)]) {
                Ok(made) => made.images,
                Err(error) => {
                    let first: String = error.to_string().chars().take(300).collect();
                    bad.push(format!("{}: {first}", path.display()));
                    continue;
                }
            };
            built += 1;
            let images: Vec<_> = images.iter().map(|bytes| DeviceImage::from_bytes(bytes).unwrap()).collect();
            let source = std::fs::read_to_string(root.join(path)).unwrap();
            for (name, kernel) in kernels(&images, &source) {
                match kernel {
                    Ok(_) => filled += 1,
                    Err(error) => bad.push(format!("{} {name}: {error}", path.display())),
                }
            }
        }
        println!("{} sources, {built} built, {filled} kernels filled: {bad:#?}", sources.len());
        assert!(filled > 0);
    }
}
