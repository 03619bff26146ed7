//! Every module of the test suite as PTX, taken by NVIDIA's assembler. No GPU is needed.
//!
//! Each module is assembled for one generation of devices, in turn. `OCLAVE_PTX_TARGETS=all`
//! assembles all of them for sm_70, sm_80 and sm_90. `OCLAVE_KEEP_PTX` names a folder for the PTX.

#[path = "../../crates/oclave-ptx/tests/support/assembler.rs"]
mod assembler;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use assembler::{Assembler, Text};
use oclave_image::passes::{self, ahead_of_time, interpreter};
use oclave_image::{Aspects, DeviceImage, DeviceProfile, DeviceTarget, Side};
use oclave_ptx::{Library, PtxError, PtxTarget};
use oclave_spirv::{Module, Op};

const TARGETS: [&str; 3] = ["sm_70", "sm_80", "sm_90"];
/// There are that many, fewer only where a change took kernels from the test suite.
const AT_LEAST: usize = 200;
/// The program that calls a set of virtual functions that there is not.
const NOT_LINKED: &str = "misspelt";

/// The images of each program, by the program's name.
fn programs() -> BTreeMap<String, Vec<DeviceImage>> {
    let mut programs: BTreeMap<String, Vec<DeviceImage>> = BTreeMap::new();
    for entry in std::fs::read_dir(env!("OUT_DIR")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some((program, _)) = name.split_once('.').filter(|_| name.ends_with(".oclimg")) {
            let image = DeviceImage::from_bytes(&std::fs::read(&path).unwrap()).unwrap();
            programs.entry(program.to_owned()).or_default().push(image);
        }
    }
    programs
}

/// The modules of the test suite as the runtime builds them: linked, device globals lowered, and
/// their interpreters in the form for GPUs. Equal modules of several programs count once.
fn modules() -> BTreeMap<String, Module> {
    let programs = programs();
    let is_set = |image: &&DeviceImage| image.virtual_functions().unwrap().provides.is_some();
    let sets: Vec<(&String, &DeviceImage)> = programs
        .iter()
        .flat_map(|(program, images)| images.iter().filter(is_set).map(move |image| (program, image)))
        .collect();
    let mut modules = Modules::default();
    for (program, images) in &programs {
        // Sets of virtual functions may come from other programs: those of the same sources, then
        // all.
        let stem = program.split('_').next().unwrap();
        let with_sets = |of: &dyn Fn(&str) -> bool| {
            let others = sets.iter().filter(|(name, _)| *name != program && of(name));
            images.iter().cloned().chain(others.map(|(_, image)| (*image).clone())).collect::<Vec<_>>()
        };
        let mut linked = 0;
        for side in [Side::Device, Side::Host] {
            let device = DeviceProfile { aspects: Aspects::all(), side, ..DeviceProfile::default() };
            let images = ahead_of_time(images, &device, true)
                .or_else(|_| ahead_of_time(&with_sets(&|name| name.starts_with(stem)), &device, true))
                .or_else(|_| ahead_of_time(&with_sets(&|_| true), &device, true));
            let images = match images {
                Err(_) if program == NOT_LINKED => continue,
                images => images.unwrap_or_else(|error| panic!("{program} does not link: {error}")),
            };
            for image in images {
                linked += 1;
                modules.add(program, &image);
            }
        }
        let only_sets = images.iter().all(|image| is_set(&image));
        assert!(linked > 0 || only_sets || program == NOT_LINKED, "{program} has no image with kernels");
    }
    modules.by_name
}

#[derive(Default)]
struct Modules {
    by_name: BTreeMap<String, Module>,
    seen: HashMap<Vec<u32>, String>,
}

impl Modules {
    fn add(&mut self, program: &str, image: &DeviceImage) {
        let name = format!("{program}.{}", image.name);
        let target = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
        let module = Module::from_words(oclave_image::legalize(image, &target).unwrap()).unwrap();
        if self.seen.contains_key(module.words()) {
            return;
        }
        let globals = image.device_globals().unwrap();
        let lowered = match globals.as_slice() {
            [] => module.clone(),
            globals => passes::lower_globals_to_hidden_argument(&module, globals).unwrap().module,
        };
        // Its form for processors is no form for GPUs, but must have PTX as well.
        let gpu = DeviceTarget { wide_groups: true, says_uniform: true, ..target.clone() };
        for (form, target) in [("interpreter", gpu), ("interpreter for CPUs", target)] {
            if let Ok(made) = interpreter::interpreter_module(&lowered, &target, 1 << 20)
                && made.layout.module_kernels() > 0
            {
                self.one(format!("{name} ({form})"), made.module);
            }
        }
        self.one(format!("{name} (hidden argument)"), lowered);
        self.one(name, module);
    }

    fn one(&mut self, name: String, module: Module) {
        if self.seen.insert(module.words().to_vec(), name.clone()).is_none() {
            self.by_name.insert(name, module);
        }
    }
}

fn has_images(module: &Module) -> bool {
    module.instructions().any(|instruction| instruction.is(Op::TypeImage))
}

#[test]
fn every_module_translates_and_assembles() {
    let (Some(assembler), Ok(library)) = (Assembler::find(), Library::installed()) else {
        println!("skipped: no ptxas or no libclc; ci/setup ptxas installs both");
        return;
    };
    let all = std::env::var("OCLAVE_PTX_TARGETS").is_ok_and(|targets| targets == "all");
    let modules = modules();
    let (mut texts, mut failures, mut refused) = (Vec::new(), Vec::new(), 0);
    for (index, (name, module)) in modules.iter().enumerate() {
        let module = match library.part_for(module) {
            Ok(Some(part)) => oclave_ptx::link(module, &part).unwrap(),
            Ok(None) => module.clone(),
            Err(error) => panic!("{name}: {error}"),
        };
        let targets = if all { &TARGETS[..] } else { &TARGETS[index % 3..=index % 3] };
        for target in targets {
            match oclave_ptx::translate(&module, &target.parse::<PtxTarget>().unwrap()) {
                Ok(ptx) => texts.push(Text { name: name.clone(), target, ptx }),
                // Kernels that read and write one image are refused, and only they.
                Err(PtxError::Unsupported { kernel, what, .. })
                    if has_images(&module) && what.contains("reads and writes") && !kernel.is_empty() =>
                {
                    println!("{name} for {target} is refused: kernel `{kernel}`: {what}");
                    refused += 1;
                }
                Err(error) => failures.push(format!("{name}: {error}")),
            }
        }
    }
    if let Some(folder) = std::env::var_os("OCLAVE_KEEP_PTX").map(PathBuf::from) {
        for Text { name, target, ptx } in &texts {
            std::fs::write(folder.join(format!("{name}.{target}.ptx")), ptx).unwrap();
        }
    }
    // The assembler inlines nothing: a virtual call as three calls took four times as long.
    let mut virtual_calls = texts.iter().filter(|text| text.name.starts_with("virtual_call.")).peekable();
    assert!(virtual_calls.peek().is_some(), "the benchmark of virtual calls is among the modules");
    for text in virtual_calls.filter(|text| text.ptx.contains("\n.func")) {
        failures.push(format!("{}: functions are called", text.name));
    }
    let (assembled, refusals) = assembler.assemble(&texts);
    failures.extend(refusals);
    println!(
        "{} modules, {} texts, {assembled} of them assembled now; {refused} refused, as they read and write one image",
        modules.len(),
        texts.len()
    );
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(texts.len() >= AT_LEAST, "only {} texts", texts.len());
}
