//! A device image as the device takes it.

use crate::lowering::device_target::DeviceTarget;
use crate::lowering::generic_pointers;
use crate::lowering::global_decorations;
use crate::{Aspects, DeviceImage, ImageError, Result};
use oclave_faults::passes::{
    Change, Error as FaultError, Image, LegalBarriers, Passes, needs_concrete_pointers,
};
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::check;
use oclave_spirv::transform::block_layout;
use oclave_spirv::transform::block_order;
use oclave_spirv::transform::capabilities;
use oclave_spirv::transform::dce;
use oclave_spirv::transform::interfaces;
use oclave_spirv::transform::merge_types::merge_types;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::version;
use oclave_spirv::{
    AddressingModel, Capability, Definitions, Module, Op, StorageClass, Type, TypeTable, Version,
};

/// A module as a device takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Legal {
    /// The words to hand to the device.
    pub words: Vec<u32>,
    /// Kernels that the device's compiler may get wrong: their barriers are where it does not follow
    /// them, and could not be brought into another form.
    pub refused_kernels: Vec<String>,
    /// Kernels that the words lack, as the device's compiler gets them wrong in every form.
    pub unsupported: Vec<UnsupportedKernel>,
}

/// A kernel of an image that a device cannot run, while it runs others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedKernel {
    /// Its name.
    pub name: String,
    /// The reason: [`ImageError::DeviceLacks`].
    pub reason: ImageError,
}

/// The words to hand to the device, checked and in its version of SPIR-V. They lack what the device
/// neither takes nor needs, and have a form that its compiler makes right code of.
///
/// # Errors
/// [`ImageError::DeviceLacks`] where the image needs a feature, capability, extension or version
/// that the device does not have; [`ImageError::Unsupported`] where this library cannot lower
/// something; [`ImageError::Spirv`] where the module breaks a rule of SPIR-V.
pub fn legalize(image: &DeviceImage, target: &DeviceTarget) -> Result<Vec<u32>> {
    legalize_with(image, target, Ok).map(|legal| legal.words)
}

/// As [`legalize`], with a pass of the caller in between. The pass sees the module without
/// annotations and hints, in its own version of SPIR-V. Its result is lowered and checked like
/// every module. Kernels that are launched and those that the interpreter runs take this path.
///
/// # Errors
/// As [`legalize`], and those of `pass`.
pub fn legalize_with(
    image: &DeviceImage,
    target: &DeviceTarget,
    pass: impl FnOnce(Module) -> Result<Module>,
) -> Result<Legal> {
    legalize_watched(image, target, pass, &mut |_| ())
}

/// As [`legalize_with`], and calls `watch` for each pass against faults that changes the module.
///
/// # Errors
/// As [`legalize_with`].
pub fn legalize_watched(
    image: &DeviceImage,
    target: &DeviceTarget,
    pass: impl FnOnce(Module) -> Result<Module>,
    watch: &mut dyn FnMut(Change<'_>),
) -> Result<Legal> {
    let aspects = image.kernels.iter().fold(Aspects::empty(), |all, kernel| all | kernel.aspects);
    let missing = aspects - target.aspects - Aspects::GENERIC_POINTER;
    if !missing.is_empty() {
        return Err(lacks(format!("{missing}, which image \"{}\" needs", image.name)));
    }
    let module = Module::from_words(image.spirv.clone())?;
    let takes = |c: u32| target.capabilities.as_ref().is_some_and(|all| all.contains(&c));
    let renumbered = global_decorations::for_device(&module, takes)?;
    let stripped = strip::strip(renumbered.as_ref().unwrap_or(&module), takes)?;
    let uniform_work_groups =
        !image.kernels.is_empty() && image.kernels.iter().all(|kernel| kernel.uniform_work_groups);
    let of = Image { name: &image.name, uniform_work_groups };
    let mut passes = Passes::new(target.for_passes(), of, watch);
    // What `pass` adds needs no fences: the interpreter's own accesses meet no others.
    let fenced = passes.insert_fences(stripped)?;
    let LegalBarriers { module, refused_kernels } = passes.legalize_barriers(pass(fenced)?)?;
    // llvm-spirv declares the type of samplers twice where a kernel has both a literal sampler and
    // one as an argument. Mesa's drivers refuse that.
    let module = match has_two_sampler_types(&module) {
        true => merge_types(&module)?,
        false => module,
    };
    let module = changed(true, module, block_order::sort)?;
    let is_generic = |module: &Module| {
        capabilities::declared(module).any(|capability| capability == Capability::GenericPointer as u32)
    };
    let resolves =
        needs_concrete_pointers(&module, target.faults) || !target.aspects.contains(Aspects::GENERIC_POINTER);
    let module = match resolves && is_generic(&module) {
        true => {
            check::check(&module)?;
            generic_pointers::resolve(&module).map_err(|error| match error {
                ImageError::DeviceLacks { what } => {
                    lacks(format!("{what}; image \"{}\" needs it", image.name))
                }
                other => other,
            })?
        }
        false => module,
    };
    let (module, unsupported) = finish(&mut passes, module, image)?;
    let module = changed(target.spirv_version >= Version::V1_4, module, interfaces::complete)?;
    // Passes compute conditions right before branches, behind their merge instructions.
    let module = changed(true, module, block_layout::sort)?;
    // Lowering reads operands by their places: what it gets must be sound.
    check::check(&module)?;
    let lowered = version::lower_with(&module, target.spirv_version, target.takes_wraps).map_err(
        |error| match error {
            oclave_spirv::Error::Unsupported(what) => {
                lacks(format!("SPIR-V {}, and of image \"{}\" {what}", module.version(), image.name))
            }
            other => other.into(),
        },
    )?;
    if lowered != module {
        check::check(&lowered)?;
    }
    refuse_what_it_lacks(&lowered, target, &image.name)?;
    Ok(Legal { words: lowered.into_words(), refused_kernels, unsupported })
}

/// Runs the last passes. Kernels that the device cannot run are left out, unless no other remains.
fn finish(
    passes: &mut Passes<'_>,
    mut module: Module,
    image: &DeviceImage,
) -> Result<(Module, Vec<UnsupportedKernel>)> {
    let mut unsupported: Vec<UnsupportedKernel> = Vec::new();
    loop {
        match passes.finish(&module) {
            Ok(changed) => return Ok((changed.unwrap_or(module), unsupported)),
            Err(FaultError::Kernel { kernel, what })
                if image.kernels.iter().any(|known| known.name == kernel)
                    && unsupported.len() + 1 < image.kernels.len() =>
            {
                module = dce::eliminate(&module, |root| root != dce::Root::EntryPoint(&kernel))?;
                unsupported
                    .push(UnsupportedKernel { name: kernel, reason: ImageError::DeviceLacks { what } });
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The module after a pass that some devices want, and that gives nothing where it has nothing to do.
fn changed<E>(
    is_wanted: bool,
    module: Module,
    pass: impl FnOnce(&Module) -> Result<Option<Module>, E>,
) -> Result<Module, E> {
    let new = if is_wanted { pass(&module)? } else { None };
    Ok(new.unwrap_or(module))
}

fn has_two_sampler_types(module: &Module) -> bool {
    let before_code = module.global_instructions();
    before_code.filter(|i| i.is(Op::TypeSampler)).nth(1).is_some()
}

fn refuse_what_it_lacks(module: &Module, target: &DeviceTarget, image: &str) -> Result<()> {
    let refuse = |what: String| Err(lacks(format!("{what}, which image \"{image}\" needs")));
    for capability in capabilities::declared(module) {
        let taken = match &target.capabilities {
            _ if target.says_uniform && capability == Capability::UniformDecoration as u32 => true,
            Some(all) => all.contains(&capability) || is_basic(capability),
            None => match aspect(capability) {
                Some(aspect) => target.aspects.contains(aspect),
                None => is_basic(capability),
            },
        };
        if !taken {
            return refuse(format!("SPIR-V capability {}", capabilities::name(capability)));
        }
    }
    for instruction in module.global_instructions() {
        let name = || instruction.string(0).unwrap_or_default();
        match instruction.op() {
            Some(Op::Extension) if target.extensions.as_ref().is_some_and(|all| !all.contains(&*name())) => {
                return refuse(format!("SPIR-V extension {}", name()));
            }
            Some(Op::ExtInstImport)
                if !name().starts_with("NonSemantic.")
                    && target.instruction_sets.as_ref().is_some_and(|all| !all.contains(&*name())) =>
            {
                return refuse(format!("the instruction set {}", name()));
            }
            Some(Op::MemoryModel) => {
                let bits = match instruction.operand(0) {
                    Some(model) if model == AddressingModel::Physical32 as u32 => 32,
                    _ => 64,
                };
                if bits != target.address_bits {
                    return refuse(format!("{bits}-bit addresses"));
                }
            }
            _ => {}
        }
    }
    if !target.aspects.contains(Aspects::PROGRAM_SCOPE_VARIABLES)
        && let Some(variable) = global_variable(module)
    {
        return refuse(format!("program-scope variables ({variable} is one)"));
    }
    Ok(())
}

/// A module-scope variable in global memory that has to persist. Pointers to imported ones count,
/// too. Constants do not: drivers without program-scope variables take constant tables.
fn global_variable(module: &Module) -> Option<String> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let facts = VariableFacts::new(&definitions);
    let variable = module.global_instructions().find(|i| {
        i.is(Op::Variable)
            && !i.result_id().is_some_and(|id| facts.constant.contains(&id))
            && i.result_type().and_then(|ty| types.ty(ty)).is_some_and(
                |ty| matches!(ty, Type::Pointer { class, .. } if class == StorageClass::CrossWorkgroup as u32),
            )
    })?;
    let id = variable.result_id()?;
    Some(module.names().find(|(named, _)| *named == id).map_or_else(|| format!("%{id}"), |(_, name)| name))
}

/// Capabilities that every OpenCL device with SPIR-V has.
fn is_basic(capability: u32) -> bool {
    use Capability as C;
    Capability::from_u32(capability).is_some_and(|c| {
        matches!(
            c,
            C::Matrix
                | C::Addresses
                | C::Linkage
                | C::Kernel
                | C::Vector16
                | C::Float16Buffer
                | C::Int64
                | C::Int16
                | C::Int8
                | C::Groups
        )
    })
}

/// The aspect that stands for a capability.
fn aspect(capability: u32) -> Option<Aspects> {
    use Capability as C;
    Some(match Capability::from_u32(capability)? {
        C::Float64 => Aspects::FP64,
        C::Float16 => Aspects::FP16,
        C::Int64Atomics => Aspects::ATOMIC64,
        C::ImageBasic
        | C::LiteralSampler
        | C::Sampled1D
        | C::Image1D
        | C::SampledBuffer
        | C::ImageBuffer
        | C::ImageMipmap => Aspects::IMAGE,
        C::ImageReadWrite => Aspects::IMAGE_READ_WRITE,
        C::Pipes | C::PipeStorage => Aspects::PIPES,
        C::DeviceEnqueue => Aspects::DEVICE_ENQUEUE,
        C::GenericPointer => Aspects::GENERIC_POINTER,
        c if capabilities::OF_SUB_GROUPS.contains(&c) => Aspects::SUB_GROUPS,
        C::AtomicFloat32AddEXT
        | C::AtomicFloat64AddEXT
        | C::AtomicFloat16AddEXT
        | C::AtomicFloat32MinMaxEXT
        | C::AtomicFloat64MinMaxEXT
        | C::AtomicFloat16MinMaxEXT => Aspects::ATOMIC_FLOAT,
        C::FunctionPointersINTEL | C::IndirectReferencesINTEL => Aspects::FUNCTION_POINTERS,
        _ => return None,
    })
}

fn lacks(what: String) -> ImageError {
    ImageError::DeviceLacks { what }
}
