//! The kernels of a program: entry points and their descriptions, both made by `oclave-kernel`.

use crate::llvm::metadata::Place;
use crate::memory::Image;
use crate::program::{Program, Symbol};
use crate::{Error, Result};

/// The prefix of the symbols of kernels.
pub(crate) const ENTRY: &str = "__oclave_kernel_";
/// The prefix of the symbols of their descriptions.
const DESCRIPTION: &str = "__oclave_description_";
/// The prefix of functions that only the lowering knows.
pub(crate) const INTRINSIC: &str = "__oclave_";
/// The prefix of the symbols of descriptions of device globals.
pub(crate) const GLOBAL: &str = "__oclave_global_";
/// The prefix of the symbols of descriptions of specialization constants.
const CONSTANT: &str = "__oclave_spec_";
/// The prefix of the symbols of descriptions of classes of objects.
const CLASS: &str = "__oclave_class_";
/// The version of descriptions that this crate reads.
const VERSION: u64 = 3;
/// Types may nest so deep.
const DEEPEST: u32 = 32;

/// A kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Name of the entry point.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// Its documentation.
    pub documentation: String,
    /// Parameters, those that are passed for the length of slices included.
    pub parameters: Vec<Parameter>,
    /// Work-items of a work-group, where the kernel demands them.
    pub work_group_size: Option<[u32; 3]>,
    /// Dimensions of its ranges. If a range has more, it has one work-item in each of them.
    pub dimensions: u8,
    pub(crate) symbol: Symbol,
}

impl Kernel {
    /// Which of the texts defines it.
    pub fn text(&self) -> usize {
        self.symbol.module
    }

    /// What tells the kernel in the note of a panic.
    pub fn panic_id(&self) -> u64 {
        crate::lower::panics::kernel_id(&self.symbol.name)
    }
}

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// As in the source. The length of a slice has the name of the slice and `_len`.
    pub name: String,
    /// The type as in the source.
    pub text: String,
    /// What is passed.
    pub kind: ParameterKind,
    /// Type of the value, or of the elements.
    pub ty: TypeDescription,
    /// The types of pixels that the kernel reads or writes. Bit 0 stands for `f32`, bit 1 for `i32`, bit 2 for `u32`. It is 0 for
    /// all but images and samplers.
    pub pixels: u8,
}

/// What is passed for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// A value.
    Value,
    /// Memory that the kernel reads.
    Read,
    /// Memory that the kernel reads and writes.
    Write,
    /// Memory of which each work-item has one element. Its length is that of the range.
    Out,
    /// Local memory.
    Local,
    /// The number of elements of the parameter before it.
    Length,
    /// An image.
    Image(ImageAccess, Dimensions),
    /// A sampler.
    Sampler,
}

/// What a kernel does with an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ImageAccess {
    Read,
    Write,
    ReadWrite,
}

/// The dimensions of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Dimensions {
    D1,
    D2,
    D3,
    D1Array,
    D2Array,
}

impl Dimensions {
    /// Numbers of a place, the layer included.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::D1 => 1,
            Self::D2 | Self::D1Array => 2,
            Self::D3 | Self::D2Array => 3,
        }
    }

    /// OpenCL's name.
    pub(crate) fn opencl_name(self) -> &'static str {
        match self {
            Self::D1 => "image1d_t",
            Self::D2 => "image2d_t",
            Self::D3 => "image3d_t",
            Self::D1Array => "image1d_array_t",
            Self::D2Array => "image2d_array_t",
        }
    }
}

/// A device global or a specialization constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// As in the source.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// Its documentation.
    pub documentation: String,
    /// Its type.
    pub ty: TypeDescription,
    /// Properties of a device global, as the markers of C have them.
    pub properties: String,
    /// A device global: whether another language defines it. A specialization constant: its id.
    pub number: u32,
    text: usize,
}

impl Variable {
    /// Which of the texts declares it.
    pub fn text(&self) -> usize {
        self.text
    }
}

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    /// In memory only. Kernels take its bits.
    F16,
}

impl Scalar {
    /// In the order of their numbers in descriptions.
    const ALL: [Self; 11] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::F16,
    ];

    /// Size in bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 | Self::F16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// By Rust's name.
    pub(crate) fn of_rust(name: &str) -> Option<Self> {
        let names = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"];
        let at = names.iter().position(|known| *known == name)?;
        Self::ALL.get(at).copied()
    }

    /// OpenCL's name.
    pub fn opencl_name(self) -> &'static str {
        match self {
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::I64 => "long",
            Self::U64 => "ulong",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::F16 => "half",
        }
    }
}

/// The type of a value in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeDescription {
    /// A scalar.
    Scalar(Scalar),
    /// A vector, which is aligned to its size. Three lanes take the room of four.
    Vector(Scalar, u32),
    /// An array.
    Array(Box<TypeDescription>, u64),
    /// A struct.
    Struct {
        /// As in the source.
        name: String,
        /// In order of their offsets.
        fields: Vec<Field>,
        /// Size in bytes.
        size: u64,
        /// Alignment in bytes.
        align: u64,
    },
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// As in the source.
    pub name: String,
    /// From the begin of the struct, in bytes.
    pub offset: u64,
    /// Its type.
    pub ty: TypeDescription,
}

impl TypeDescription {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => u64::from(scalar.bits() / 8),
            Self::Vector(lane, count) => u64::from(lane.bits() / 8 * count.next_power_of_two()),
            Self::Array(element, count) => element.size().saturating_mul(*count),
            Self::Struct { size, .. } => *size,
        }
    }

    /// Alignment in bytes.
    pub fn align(&self) -> u64 {
        match self {
            Self::Scalar(_) | Self::Vector(..) => self.size(),
            Self::Array(element, _) => element.align(),
            Self::Struct { align, .. } => *align,
        }
    }
}

/// Finds the kernels of a program.
pub(crate) fn find(program: &Program) -> Result<Vec<Kernel>> {
    let symbols = program.functions_with(ENTRY).into_iter().map(|(symbol, _)| symbol);
    let mut kernels = described(program, symbols, ("kernel", ENTRY), |reader, name, symbol| {
        reader.kernel(name, symbol.clone())
    })?;
    kernels.sort_by(|a, b| (&a.place.file, a.place.line).cmp(&(&b.place.file, b.place.line)));
    Ok(kernels)
}

/// The device globals of a program.
pub(crate) fn device_globals(program: &Program) -> Result<Vec<Variable>> {
    variables(program, GLOBAL)
}

/// The specialization constants of a program.
pub(crate) fn spec_constants(program: &Program) -> Result<Vec<Variable>> {
    variables(program, CONSTANT)
}

fn variables(program: &Program, prefix: &str) -> Result<Vec<Variable>> {
    described(program, program.globals_with(prefix), ("static", prefix), |reader, name, symbol| {
        reader.variable(name, symbol)
    })
}

/// Reads the descriptions of symbols. `kind` is for errors; the name in the source follows `prefix`.
fn described<T>(
    program: &Program,
    symbols: impl IntoIterator<Item = Symbol>,
    (kind, prefix): (&str, &str),
    read: impl Fn(&Reader<'_>, &str, &Symbol) -> Option<T>,
) -> Result<Vec<T>> {
    let one = |symbol: Symbol| {
        let name = symbol.name.strip_prefix(prefix).unwrap_or_default();
        read(&Reader { program, module: symbol.module }, name, &symbol).ok_or_else(|| {
            Error::Link(format!(
                "the {kind} `{name}` has no description that this version reads; use the version of oclave-kernel that \
                 belongs to this oclave-build"
            ))
        })
    };
    symbols.into_iter().map(one).collect()
}

/// A class of objects: a type whose implementation of a trait is marked.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    /// As in the source.
    pub(crate) name: String,
    /// What the classes of a trait have in common.
    pub(crate) set: String,
    /// What memory has of it.
    pub(crate) number: u64,
    /// Bytes of its values.
    pub(crate) size: u64,
    pub(crate) place: Place,
    /// Its table of functions.
    pub(crate) table: Symbol,
}

/// The classes of a program, by symbol.
pub(crate) fn classes(program: &Program) -> Result<Vec<Class>> {
    described(program, program.globals_with(CLASS), ("class", CLASS), |reader, _, symbol| {
        reader.class(symbol)
    })
}

struct Reader<'p> {
    program: &'p Program,
    module: usize,
}

/// A place in the bytes of a constant.
struct At {
    image: Image,
    offset: u64,
}

impl At {
    fn number(&self, offset: u64, bytes: u64) -> Option<u64> {
        self.image.number(self.offset.checked_add(offset)?, bytes)
    }
}

impl Reader<'_> {
    /// What a reference at an offset refers to, and the length of a slice or string. Of the two words
    /// of such a reference, one is an address.
    fn follow(&self, at: &At, offset: u64) -> Option<(At, u64)> {
        let start = at.offset.checked_add(offset)?;
        let (address, length) = match at.image.addresses.get(&start) {
            Some(address) => (Some(address), at.number(offset.checked_add(8)?, 8)?),
            None => match at.image.addresses.get(&start.checked_add(8)?) {
                Some(address) => (Some(address), at.number(offset, 8)?),
                // An empty slice has an address that is no variable.
                None => (None, 0),
            },
        };
        let Some((symbol, offset)) = address else {
            return Some((At { image: Image::default(), offset: 0 }, 0));
        };
        let image = Image::of_global(self.program, symbol.module, &symbol.name).ok()?;
        Some((At { image, offset: *offset }, length))
    }

    fn text(&self, at: &At, offset: u64) -> Option<String> {
        let (target, length) = self.follow(at, offset)?;
        let start = usize::try_from(target.offset).ok()?;
        let bytes = target.image.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    fn kernel(&self, name: &str, symbol: Symbol) -> Option<Kernel> {
        let image = Image::of_global(self.program, self.module, &format!("{DESCRIPTION}{name}")).ok()?;
        let at = At { image, offset: 0 };
        if at.number(0, 4)? != VERSION {
            return None;
        }
        let line = u32::try_from(at.number(4, 4)?).ok()?;
        let size = |axis: u64| u32::try_from(at.number(8 + 4 * axis, 4)?).ok();
        let work_group_size = [size(0)?, size(1)?, size(2)?];
        let dimensions = u8::try_from(at.number(20, 4)?).ok()?;
        let file = self.text(&at, 24)?;
        let documentation = self.text(&at, 40)?;
        let (first, count) = self.follow(&at, 56)?;
        let mut parameters = Vec::new();
        for index in 0..count.min(1 << 12) {
            self.parameter(
                &At { image: first.image.clone(), offset: first.offset + index * 64 },
                &mut parameters,
            )?;
        }
        Some(Kernel {
            name: name.to_owned(),
            place: Place { file, line, column: 0 },
            documentation,
            parameters,
            work_group_size: (work_group_size != [0; 3]).then_some(work_group_size),
            dimensions,
            symbol,
        })
    }

    fn variable(&self, name: &str, symbol: &Symbol) -> Option<Variable> {
        let image = Image::of_global(self.program, self.module, &symbol.name).ok()?;
        let at = At { image, offset: 0 };
        if at.number(0, 4)? != VERSION {
            return None;
        }
        let (ty, _) = self.follow(&at, 64)?;
        Some(Variable {
            name: name.to_owned(),
            place: Place {
                file: self.text(&at, 16)?,
                line: u32::try_from(at.number(4, 4)?).ok()?,
                column: 0,
            },
            documentation: self.text(&at, 32)?,
            properties: self.text(&at, 48)?,
            ty: self.ty(&ty, 0)?,
            number: u32::try_from(at.number(8, 4)?).ok()?,
            text: symbol.module,
        })
    }

    fn class(&self, symbol: &Symbol) -> Option<Class> {
        let image = Image::of_global(self.program, self.module, &symbol.name).ok()?;
        let at = At { image, offset: 0 };
        if at.number(0, 4)? != VERSION {
            return None;
        }
        // Which of the two words is the table is not for us to know.
        let (table, _) = at.image.addresses.get(&80).or_else(|| at.image.addresses.get(&72))?;
        Some(Class {
            name: self.text(&at, 40)?,
            set: self.text(&at, 56)?,
            number: at.number(8, 8)?,
            size: at.number(16, 8)?,
            place: Place {
                file: self.text(&at, 24)?,
                line: u32::try_from(at.number(4, 4)?).ok()?,
                column: 0,
            },
            table: table.clone(),
        })
    }

    /// A parameter of the source: nothing for `Item`, two of the kernel for a slice.
    fn parameter(&self, at: &At, parameters: &mut Vec<Parameter>) -> Option<()> {
        let name = self.text(at, 8)?;
        let text = self.text(at, 24)?;
        let kind = match at.number(0, 4)? {
            0 => return Some(()),
            1 => ParameterKind::Value,
            2 => ParameterKind::Read,
            3 => ParameterKind::Write,
            4 => ParameterKind::Out,
            5 => ParameterKind::Local,
            6 => ParameterKind::Sampler,
            kind => image(kind)?,
        };
        let (target, _) = self.follow(at, 40)?;
        let ty = self.ty(&target, 0)?;
        parameters.push(Parameter { name: name.clone(), text, kind, ty, pixels: 0 });
        if matches!(kind, ParameterKind::Read | ParameterKind::Write | ParameterKind::Local) {
            parameters.push(Parameter {
                name: format!("{name}_len"),
                text: "usize".to_owned(),
                kind: ParameterKind::Length,
                ty: TypeDescription::Scalar(Scalar::U64),
                pixels: 0,
            });
        }
        Some(())
    }

    fn ty(&self, at: &At, depth: u32) -> Option<TypeDescription> {
        if depth > DEEPEST {
            return None;
        }
        let (kind, scalar) = (at.number(0, 4)?, at.number(4, 4)?);
        let (count, size, align) = (at.number(8, 8)?, at.number(16, 8)?, at.number(24, 8)?);
        Some(match kind {
            0 => TypeDescription::Scalar(*Scalar::ALL.get(usize::try_from(scalar).ok()?)?),
            1 => {
                let (element, _) = self.follow(at, 48)?;
                TypeDescription::Array(Box::new(self.ty(&element, depth + 1)?), count)
            }
            2 => {
                let (first, count) = self.follow(at, 64)?;
                let mut fields = Vec::new();
                for index in 0..count.min(1 << 12) {
                    let field = At { image: first.image.clone(), offset: first.offset + index * 40 };
                    let (ty, _) = self.follow(&field, 24)?;
                    fields.push(Field {
                        name: self.text(&field, 0)?,
                        offset: field.number(16, 8)?,
                        ty: self.ty(&ty, depth + 1)?,
                    });
                }
                TypeDescription::Struct { name: self.text(at, 32)?, fields, size, align }
            }
            3 => {
                let lane = *Scalar::ALL.get(usize::try_from(scalar).ok()?)?;
                let count = u32::try_from(count).ok().filter(|count| matches!(count, 2 | 3 | 4 | 8 | 16))?;
                TypeDescription::Vector(lane, count)
            }
            _ => return None,
        })
    }
}

/// An image, by its kind in descriptions.
fn image(kind: u64) -> Option<ParameterKind> {
    let access = match kind >> 3 {
        2 => ImageAccess::Read,
        3 => ImageAccess::Write,
        4 => ImageAccess::ReadWrite,
        _ => return None,
    };
    let all = [Dimensions::D1, Dimensions::D2, Dimensions::D3, Dimensions::D1Array, Dimensions::D2Array];
    Some(ParameterKind::Image(access, *all.get(usize::try_from(kind & 7).ok()?)?))
}
