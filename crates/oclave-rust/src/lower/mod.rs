//! From functions of LLVM IR to functions of SPIR-V.

mod addresses;
mod barriers;
mod builder;
mod calls;
mod code;
mod conditions;
mod copied;
mod deferred;
mod floats;
mod foreign;
mod function;
mod halves;
mod images;
mod intrinsics;
mod ints;
mod library;
mod memory;
mod messages;
mod nested;
mod overwritten;
pub(crate) mod panics;
mod print;
mod ranges;
mod types;
mod unrolled;
mod variables;
mod versions;
mod wide;

use std::collections::BTreeMap;
use std::rc::Rc;

use oclave_spirv::{
    BuiltIn, Capability, Code, Decoration, Definitions, ExecutionMode, FunctionControl,
    FunctionParameterAttribute, LinkageType, Module, Op, StorageClass, Version,
};

use crate::foreign::ForeignFunction;
use crate::kernels::{Dimensions, Kernel, ParameterKind, Scalar, TypeDescription, Variable};
use crate::llvm::tree::Function;
use crate::memory::Image;
use crate::program::{Program, Symbol};
use crate::spaces::{Analyses, Copy, Storage};
use crate::{Error, Result};
use builder::{Builder, TypeId, ValueId};
use function::Lower;
use panics::{PanicSite, Panics};

/// What a copy of a function became.
#[derive(Debug, Clone)]
struct Emitted {
    id: ValueId,
    /// It has one more parameter, the address of the kernel's note of a panic.
    panics: bool,
}

/// A constant as a value of SPIR-V.
struct ConstantValue {
    value: ValueId,
    ty: TypeId,
    /// Offset → the constant whose address stands there, and the offset in that one.
    addresses: BTreeMap<u64, (Symbol, u64)>,
}

/// A parameter of the kernel that is being lowered.
#[derive(Debug, Clone, Copy)]
struct Argument {
    id: ValueId,
    ty: TypeId,
    /// What it points to.
    pointee: Option<(TypeId, Storage)>,
    /// Of an image.
    dimensions: Option<Dimensions>,
}

/// What kernels have in common with each other, the host and other languages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'p> {
    pub(crate) device_globals: &'p [Variable],
    pub(crate) spec_constants: &'p [Variable],
    /// The names of the texts.
    pub(crate) names: &'p [&'p str],
    /// Functions of other languages.
    pub(crate) foreign: &'p [ForeignFunction],
    /// Whether the host is told of panics.
    pub(crate) reports_panics: bool,
}

/// The module that is being made.
struct Output<'p> {
    program: &'p Program,
    variables: Surroundings<'p>,
    analyses: Analyses<'p>,
    builder: Builder<'p>,
    emitted: BTreeMap<Copy, Emitted>,
    /// Variables of constants, and the type of what they hold.
    constants: BTreeMap<Symbol, (ValueId, TypeId)>,
    /// Struct types by what they describe.
    structs: Vec<(TypeDescription, TypeId)>,
    /// Functions of this crate's own, by name.
    helpers: BTreeMap<String, ValueId>,
    panics: Panics,
    /// The name of the kernel that is being lowered.
    kernel: String,
    /// The size of work-groups that it demands.
    group: Option<[u32; 3]>,
    /// The dimensions of its ranges.
    dimensions: u8,
    /// Functions of other languages.
    foreign: &'p [ForeignFunction],
    /// Functions whose addresses are taken, by number. Calls through pointers compare these.
    functions: BTreeMap<Symbol, u64>,
    /// Those in Rust that other languages call.
    exported: Vec<String>,
    /// What [`Parameter::pixels`](crate::Parameter::pixels) has, by kernel and parameter.
    pixels: Pixels,
}

/// Kernel and parameter → kinds of pixels.
pub(crate) type Pixels = BTreeMap<(String, usize), u8>;

/// What kernels became.
pub(crate) struct Lowered {
    pub(crate) module: Module,
    pub(crate) panics: Vec<PanicSite>,
    /// Functions in Rust that other languages call.
    pub(crate) exported: Vec<String>,
    pub(crate) pixels: Pixels,
}

/// Lowers kernels and what they reach.
pub(crate) fn lower(program: &Program, kernels: &[Kernel], variables: Surroundings<'_>) -> Result<Lowered> {
    let empty = Module::empty(Version::V1_0);
    let definitions = Definitions::new(&empty);
    let mut output = Output {
        program,
        variables,
        analyses: Analyses::new(program),
        builder: Builder::new(&definitions),
        emitted: BTreeMap::new(),
        constants: BTreeMap::new(),
        structs: Vec::new(),
        helpers: BTreeMap::new(),
        panics: Panics::default(),
        kernel: String::new(),
        group: None,
        dimensions: 3,
        foreign: variables.foreign,
        functions: BTreeMap::new(),
        exported: Vec::new(),
        pixels: Pixels::new(),
    };
    // The host may access what no kernel uses.
    for global in variables.device_globals.iter().filter(|global| global.number == 0) {
        output.global_variable(&global.name).map_err(Error::Link)?;
    }
    output.mark_spec_constants();
    for kernel in kernels {
        output.kernel(kernel)?;
    }
    output.exports()?;
    let Output { builder, panics, exported, pixels, .. } = output;
    let module = builder.finish()?.unwrap_or(empty);
    Ok(Lowered { module, panics: panics.sites, exported, pixels })
}

impl Output<'_> {
    fn kernel(&mut self, kernel: &Kernel) -> Result<()> {
        let Some((symbol, function)) = self.program.function(kernel.symbol.module, &kernel.symbol.name)
        else {
            return Err(Error::Link(format!("the kernel `{}` has no body", kernel.name)));
        };
        self.kernel.clone_from(&kernel.name);
        self.group = kernel.work_group_size;
        self.dimensions = kernel.dimensions;
        let mut arguments = Vec::new();
        for parameter in &kernel.parameters {
            let id = self.builder.value();
            self.builder.name(id, &parameter.name);
            let ty = self.described(&parameter.ty);
            let pointer = |output: &mut Self, storage: Storage| {
                let class = types::class(storage);
                Argument {
                    id,
                    ty: output.builder.pointer_type(class, ty),
                    pointee: Some((ty, storage)),
                    dimensions: None,
                }
            };
            let argument = match (parameter.kind, &parameter.ty) {
                (
                    ParameterKind::Value | ParameterKind::Length,
                    TypeDescription::Scalar(_) | TypeDescription::Vector(..),
                ) => Argument { id, ty, pointee: None, dimensions: None },
                (ParameterKind::Value | ParameterKind::Length, _) => {
                    let by_value = FunctionParameterAttribute::ByVal as u32;
                    self.builder.decorate(id, Decoration::FuncParamAttr, &[by_value]);
                    // Intel's runtime takes structs by value, but no arrays.
                    let ty = match &parameter.ty {
                        TypeDescription::Array(..) => self.builder.struct_type(&[ty]),
                        _ => ty,
                    };
                    let ty_of_pointer = self.builder.pointer_type(types::class(Storage::Function), ty);
                    Argument {
                        id,
                        ty: ty_of_pointer,
                        pointee: Some((ty, Storage::Function)),
                        dimensions: None,
                    }
                }
                (ParameterKind::Local, _) => pointer(self, Storage::Local),
                (ParameterKind::Image(access, dimensions), _) => {
                    let ty = self.image_type(access, dimensions);
                    Argument { id, ty, pointee: None, dimensions: Some(dimensions) }
                }
                (ParameterKind::Sampler, _) => {
                    let ty = self.builder.ty(Op::TypeSampler, &[]);
                    Argument { id, ty, pointee: None, dimensions: None }
                }
                (ParameterKind::Read | ParameterKind::Write | ParameterKind::Out, _) => {
                    pointer(self, Storage::Global)
                }
            };
            arguments.push(argument);
        }
        let copy = self.analyses.kernel(&symbol);
        let analysis = self.analyses.get(&copy, &function)?;
        let id = self.builder.value();
        let lowered = Lower::new(self, &copy, &function, analysis, Some(&arguments)).run()?;
        let void = self.builder.void_type();
        let parameters: Vec<(TypeId, ValueId)> = arguments.iter().map(|a| (a.ty, a.id)).collect();
        self.add_function(id, FunctionControl::NONE, void, &parameters, lowered.code);
        self.builder.entry_point(id, &kernel.name);
        if let Some([x, y, z]) = kernel.work_group_size {
            self.builder.execution_mode(id, ExecutionMode::LocalSize, &[x, y, z]);
        }
        // Rust rounds every product.
        self.builder.execution_mode(id, ExecutionMode::ContractionOff, &[]);
        self.describe(kernel);
        Ok(())
    }

    /// The strings that tell types with their signs, and qualifiers, as `llvm-spirv` writes them.
    fn describe(&mut self, kernel: &Kernel) {
        let (mut types, mut qualifiers) = (String::new(), String::new());
        for parameter in &kernel.parameters {
            let base = match parameter.kind {
                ParameterKind::Image(_, dimensions) => dimensions.opencl_name().to_owned(),
                ParameterKind::Sampler => "sampler_t".to_owned(),
                _ => spelling(&parameter.ty),
            };
            let (star, qualifier) = match parameter.kind {
                ParameterKind::Value
                | ParameterKind::Length
                | ParameterKind::Image(..)
                | ParameterKind::Sampler => ("", ""),
                ParameterKind::Read => ("*", "const"),
                ParameterKind::Write | ParameterKind::Out | ParameterKind::Local => ("*", ""),
            };
            types += &format!("{base}{star},");
            qualifiers += &format!("{qualifier},");
        }
        self.builder.string(&format!("kernel_arg_type.{}.{types}", kernel.name));
        self.builder.string(&format!("kernel_arg_type_qual.{}.{qualifiers}", kernel.name));
    }

    /// The type of a description. Structs have names.
    fn described(&mut self, ty: &TypeDescription) -> TypeId {
        match ty {
            TypeDescription::Scalar(scalar) => match scalar {
                Scalar::F32 | Scalar::F64 => self.builder.float_type(scalar.bits()),
                _ => self.builder.int_type(scalar.bits()),
            },
            TypeDescription::Vector(lane, count) => {
                let lane = self.described(&TypeDescription::Scalar(*lane));
                self.builder.vector_type(lane, *count)
            }
            TypeDescription::Array(element, count) => {
                let element = self.described(element);
                self.builder.array_type(element, *count)
            }
            TypeDescription::Struct { name, fields, .. } => {
                if let Some((_, id)) = self.structs.iter().find(|(known, _)| known == ty) {
                    return *id;
                }
                let members: Vec<(TypeId, &str)> =
                    fields.iter().map(|field| (self.described(&field.ty), field.name.as_str())).collect();
                let id = self.builder.named_struct_type(&format!("struct.{name}"), &members);
                self.structs.push((ty.clone(), id));
                id
            }
        }
    }

    /// The copy of a function that is called.
    fn function(&mut self, copy: &Copy, function: &Rc<Function>) -> Result<Emitted> {
        if let Some(emitted) = self.emitted.get(copy) {
            return Ok(emitted.clone());
        }
        let analysis = self.analyses.get(copy, function)?;
        let id = self.builder.value();
        let lowered = Lower::new(self, copy, function, analysis, None).run()?;
        // Drivers take functions of one name for one function.
        let name = format!("{}.{}", crate::demangle::path(&copy.symbol.name), self.emitted.len());
        self.builder.name(id, &name);
        let function::Lowered { returns, parameters, code, panics } = lowered;
        self.add_function(id, FunctionControl::NONE, returns, &parameters, code);
        let emitted = Emitted { id, panics };
        self.emitted.insert(copy.clone(), emitted.clone());
        Ok(emitted)
    }

    fn add_function(
        &mut self,
        id: ValueId,
        control: FunctionControl,
        returns: TypeId,
        parameters: &[(TypeId, ValueId)],
        mut body: Code,
    ) {
        let types: Vec<TypeId> = parameters.iter().map(|(ty, _)| *ty).collect();
        let ty = self.builder.function_type(returns, &types);
        let mut code = Code::new();
        code.push(Op::Function, &[returns.word(), id.word(), control.bits(), ty.word()]);
        for (ty, parameter) in parameters {
            code.push(Op::FunctionParameter, &[ty.word(), parameter.word()]);
        }
        code.append(&mut body);
        code.push(Op::FunctionEnd, &[]);
        self.builder.add_function(code);
    }

    /// The variable of a constant without addresses, and the type of what it holds.
    fn constant_variable(&mut self, symbol: &Symbol) -> Result<(ValueId, TypeId), String> {
        if let Some(known) = self.constants.get(symbol) {
            return Ok(*known);
        }
        let ConstantValue { value, ty, addresses } = self.constant_value(symbol)?;
        if !addresses.is_empty() {
            return Err(format!(
                "the constant `{}` holds addresses (a table of references)",
                crate::demangle::path(&symbol.name)
            ));
        }
        let pointer = self.builder.pointer_type(StorageClass::UniformConstant, ty);
        let variable = self.builder.variable(pointer, StorageClass::UniformConstant, Some(value));
        self.builder.decorate(variable, Decoration::Constant, &[]);
        self.constants.insert(symbol.clone(), (variable, ty));
        Ok((variable, ty))
    }

    /// What stands for the address of a function.
    fn function_number(&mut self, symbol: &Symbol) -> u64 {
        let next = self.functions.len() as u64 + 1;
        *self.functions.entry(symbol.clone()).or_insert(next)
    }

    /// The value of a constant as an array of integers, with zeroes for the addresses of other constants.
    fn constant_value(&mut self, symbol: &Symbol) -> Result<ConstantValue, String> {
        let (owner, global) = self.program.global(symbol.module, &symbol.name).ok_or_else(|| {
            format!("the static `{}` has no value here", crate::demangle::path(&symbol.name))
        })?;
        if !global.is_constant {
            return Err(format!(
                "the static `{}` can change: declare it with `device_global!`",
                crate::demangle::path(&symbol.name)
            ));
        }
        let mut image = Image::of_global(self.program, owner.module, &owner.name)?;
        let mut addresses = BTreeMap::new();
        for (offset, (target, distance)) in std::mem::take(&mut image.addresses) {
            match self.program.function(target.module, &target.name) {
                Some((function, _)) => {
                    let number = self.function_number(&function);
                    image.set_address(offset, number);
                }
                None => drop(addresses.insert(offset, (target, distance))),
            }
        }
        let align = global.align.max(crate::llvm::layout::align(&global.ty));
        let bytes = image.bytes.len() as u64;
        let step = [8, 4, 2, 1]
            .into_iter()
            .find(|step| align.is_multiple_of(*step) && bytes.is_multiple_of(*step))
            .unwrap_or(1);
        let element = self.builder.int_type(step as u32 * 8);
        let count = (bytes / step).max(1);
        let ty = self.builder.array_type(element, count);
        let elements: Vec<ValueId> = (0..count)
            .map(|index| {
                let value = image.number(index * step, step).unwrap_or(0);
                self.builder.int_constant(step as u32 * 8, value)
            })
            .collect();
        Ok(ConstantValue { value: self.builder.composite(ty, &elements), ty, addresses })
    }

    /// The variable of a device global, and the type of what it holds.
    fn global_variable(&mut self, name: &str) -> Result<(ValueId, TypeId), String> {
        let key = format!("{}{name}", crate::kernels::GLOBAL);
        let variables = self.variables;
        let global = variables.device_globals.iter().find(|global| global.name == name);
        let global = global.ok_or_else(|| format!("the device global `{name}` is not declared"))?;
        let ty = self.described(&global.ty);
        if let Some(variable) = self.helpers.get(&key) {
            return Ok((*variable, ty));
        }
        let is_extern = global.number != 0;
        let value = if is_extern {
            None
        } else {
            let image = Image::of_global(self.program, global.text(), name)?;
            if !image.addresses.is_empty() {
                return Err(format!("the device global `{name}` holds an address"));
            }
            Some(self.constant_of(&global.ty, &image, 0)?)
        };
        let pointer = self.builder.pointer_type(StorageClass::CrossWorkgroup, ty);
        let variable = self.builder.variable(pointer, StorageClass::CrossWorkgroup, value);
        self.builder.name(variable, name);
        let linkage = if is_extern { LinkageType::Import } else { LinkageType::Export };
        self.builder.decorate_linkage(variable, name, linkage);
        let unit = variables.names.get(global.text()).map(std::path::Path::new);
        let unit = unit.and_then(|unit| unit.file_stem()).unwrap_or_default().to_string_lossy();
        let mut marker = format!("oclave:device_global,unit={unit}");
        if !global.properties.is_empty() {
            marker += &format!(",{}", global.properties);
        }
        if !is_extern {
            let marker = oclave_spirv::string_words(&marker);
            self.builder.decorate(variable, Decoration::UserSemantic, &marker);
        }
        let align = u32::try_from(global.ty.align()).unwrap_or(1);
        self.builder.decorate(variable, Decoration::Alignment, &[align]);
        self.helpers.insert(key, variable);
        Ok((variable, ty))
    }

    /// A constant of a described type from its bytes.
    fn constant_of(&mut self, ty: &TypeDescription, image: &Image, at: u64) -> Result<ValueId, String> {
        let outside = || "a constant that does not fit its type".to_owned();
        Ok(match ty {
            TypeDescription::Scalar(scalar) => {
                let bits = image.number(at, u64::from(scalar.bits() / 8)).ok_or_else(outside)?;
                match scalar {
                    Scalar::F32 | Scalar::F64 => self.builder.float_constant(scalar.bits(), bits),
                    _ => self.builder.int_constant(scalar.bits(), bits),
                }
            }
            TypeDescription::Vector(lane, count) => {
                let lane = TypeDescription::Scalar(*lane);
                let mut lanes = Vec::new();
                for index in 0..u64::from(*count) {
                    lanes.push(self.constant_of(&lane, image, at + index * lane.size())?);
                }
                let ty = self.described(ty);
                self.builder.composite(ty, &lanes)
            }
            TypeDescription::Array(element, count) => {
                let mut elements = Vec::new();
                for index in 0..*count {
                    elements.push(self.constant_of(element, image, at + index * element.size())?);
                }
                let ty = self.described(ty);
                self.builder.composite(ty, &elements)
            }
            TypeDescription::Struct { fields, .. } => {
                let mut members = Vec::new();
                for field in fields {
                    members.push(self.constant_of(&field.ty, image, at + field.offset)?);
                }
                let ty = self.described(ty);
                self.builder.composite(ty, &members)
            }
        })
    }

    /// Says what specialization constants are called, as the markers of C do.
    fn mark_spec_constants(&mut self) {
        let variables = self.variables;
        for constant in variables.spec_constants {
            let char = self.builder.int_type(8);
            let zero = self.builder.int_constant(8, 0);
            let pointer = self.builder.pointer_type(StorageClass::UniformConstant, char);
            let variable = self.builder.variable(pointer, StorageClass::UniformConstant, Some(zero));
            let name = format!("oclave_spec_constant_{}", constant.name);
            self.builder.name(variable, &name);
            let marker = format!(
                "oclave:spec_constant,name={},type={},id={}",
                constant.name,
                spelling(&constant.ty),
                constant.number
            );
            let marker = oclave_spirv::string_words(&marker);
            self.builder.decorate(variable, Decoration::UserSemantic, &marker);
        }
    }

    /// A specialization constant.
    fn spec_constant(&mut self, id: u32, scalar: Scalar, bits: u64) -> ValueId {
        let key = format!("{}{id}:{scalar:?}:{bits}", "spec");
        if let Some(constant) = self.helpers.get(&key) {
            return *constant;
        }
        let ty = self.described(&TypeDescription::Scalar(scalar));
        let mut words = vec![bits as u32];
        if scalar.bits() == 64 {
            words.push((bits >> 32) as u32);
        }
        let constant = self.builder.spec_constant(ty, id, &words);
        self.helpers.insert(key, constant);
        constant
    }

    /// The variable of a built-in vector of three, or of a number, of 64 bits.
    fn built_in(&mut self, what: BuiltIn, is_vector: bool) -> (ValueId, TypeId) {
        let ulong = self.builder.int_type(64);
        let ty = if is_vector { self.builder.vector_type(ulong, 3) } else { ulong };
        (self.builder.built_in(what, ty), ty)
    }

    /// The device global that notes panics for the host. See [`panics`].
    fn panic_variable(&mut self) -> (ValueId, TypeId) {
        let ulong = self.builder.int_type(64);
        let to = self.builder.pointer_type(StorageClass::CrossWorkgroup, ulong);
        if let Some(variable) = self.helpers.get(panics::VARIABLE) {
            return (*variable, to);
        }
        let words = self.builder.array_type(ulong, panics::WORDS);
        let place = self.builder.pointer_type(StorageClass::CrossWorkgroup, words);
        let null = self.builder.null(words);
        let variable = self.builder.variable(place, StorageClass::CrossWorkgroup, Some(null));
        self.builder.name(variable, panics::VARIABLE);
        self.builder.decorate_linkage(variable, panics::VARIABLE, LinkageType::Export);
        let marker = oclave_spirv::string_words("oclave:device_global,host_access_none");
        self.builder.decorate(variable, Decoration::UserSemantic, &marker);
        self.helpers.insert(panics::VARIABLE.to_owned(), variable);
        (variable, to)
    }

    fn capability(&mut self, capability: Capability) {
        self.builder.capability(capability);
    }
}

/// The type in OpenCL C, for the sign of scalars.
fn spelling(ty: &TypeDescription) -> String {
    match ty {
        // Kernels take its bits.
        TypeDescription::Scalar(Scalar::F16) => Scalar::U16.opencl_name().to_owned(),
        TypeDescription::Scalar(scalar) => scalar.opencl_name().to_owned(),
        TypeDescription::Vector(lane, count) => {
            format!("{}{count}", spelling(&TypeDescription::Scalar(*lane)))
        }
        TypeDescription::Array(element, count) => format!("{}[{count}]", spelling(element)),
        TypeDescription::Struct { name, .. } => format!("struct {name}"),
    }
}
