//! Which images of virtual functions are found and linked (VF-LNK), and optional features of sets
//! (VF-OKF).
//!
//! Each context gets its images as bundles, made from the bytes of programs' tables, so that tests
//! do not share them. OpenCL calls are counted. Where scenarios count links of the driver, these
//! tests count created programs: the library links once for each program that it builds.

use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::kernel::{ImageTable, KernelBundle, KernelCall, ProgramCache};
use oclave::record::Session;
use oclave::{Context, Device, ErrorKind, Queue, UsmSlice};
use oclave_image::DeviceImage;

/// Programs of `kernels/virtual_linking` and `kernels/virtual_apart`, each with images of its own.
macro_rules! programs_of_their_own {
    ($($name:ident $text:literal)*) => { $(mod $name { oclave::include_kernels!($text); })* };
}
programs_of_their_own! {
    squares "squares" circles "circles" use_first "use_first" use_both "use_both" misspelt "misspelt" names "names"
    use_names "use_names" use_default "use_default" mixed "mixed"
    apart_make "apart_make" apart_bodies "apart_bodies" apart_use "apart_use" together "together"
}

/// A queue whose context knows the images of some programs, and has no binaries of earlier runs.
struct Setting {
    queue: Queue,
    bundles: Vec<KernelBundle>,
}

impl Setting {
    fn new(device: &Device, tables: &[&ImageTable]) -> Self {
        Self::with_cache(device, tables, &ProgramCache::Off)
    }

    fn with_cache(device: &Device, tables: &[&ImageTable], cache: &ProgramCache) -> Self {
        let context = Context::builder(std::slice::from_ref(device)).program_cache(cache).build().unwrap();
        let mut setting = Self { queue: Queue::new(&context).unwrap(), bundles: Vec::new() };
        tables.iter().for_each(|table| setting.load(table));
        setting
    }

    fn load(&mut self, table: &ImageTable) {
        for bytes in table.containers() {
            self.bundles.push(crate::common::load::image(self.queue.context(), bytes).unwrap());
        }
    }

    fn call(&self, kernel: &str) -> KernelCall {
        let found = self.bundles.iter().find_map(|bundle| bundle.kernel(kernel).ok());
        found.unwrap_or_else(|| panic!("no kernel {kernel}")).call()
    }

    /// `COUNT` objects that a kernel makes.
    fn make(&self, kernel: &str) -> UsmSlice<u8> {
        let memory = self.queue.context().alloc_device::<u8>(16 * COUNT).unwrap();
        let call = self.call(kernel).pointer_mut::<i8>(&memory);
        self.queue.parallel_for(COUNT, call).unwrap().wait().unwrap();
        memory
    }

    /// What a kernel says of them.
    fn of(&self, kernel: &str, memory: &UsmSlice<u8>) -> oclave::Result<Vec<i32>> {
        let out = self.queue.context().alloc_device::<i32>(COUNT).unwrap();
        let call = self.call(kernel).pointer_mut::<i8>(memory).pointer_mut(&out);
        self.queue.parallel_for(COUNT, call)?.wait()?;
        self.queue.read(&out)
    }
}

const COUNT: usize = 4;

/// What kernel `measure` says of squares, and of circles.
const SQUARES: [i32; COUNT] = [10, 40, 90, 160];
const CIRCLES: [i32; COUNT] = [30, 60, 90, 120];

/// Programs created, built, compiled and linked by the driver.
fn programs(session: &Session) -> [u64; 4] {
    [crate::common::creation_call(), "clBuildProgram", "clCompileProgram", "clLinkProgram"]
        .map(|call| session.count(call))
}

#[device_test]
fn vf_lnk_001_one_set_of_one_image(device: Device) {
    let setting = Setting::new(&device, &[&squares::IMAGES, &use_first::IMAGES]);
    let memory = setting.make("make_squares");
    let session = Session::start();
    assert_eq!(setting.of("measure", &memory).unwrap(), SQUARES);
    assert_eq!(programs(&session), [1, 1, 0, 0]);
    assert_eq!(session.count("clCreateKernel"), 1);
}

#[device_test]
fn vf_lnk_002_one_set_of_two_images(device: Device) {
    let setting = Setting::new(&device, &[&squares::IMAGES, &circles::IMAGES, &use_first::IMAGES]);
    let (a, b) = (setting.make("make_squares"), setting.make("make_circles"));
    let session = Session::start();
    assert_eq!(setting.of("measure", &a).unwrap(), SQUARES);
    assert_eq!(setting.of("measure", &b).unwrap(), CIRCLES);
    assert_eq!(programs(&session), [1, 1, 0, 0], "both images are in one program");
}

#[device_test]
fn vf_lnk_003_two_sets_of_two_images(device: Device) {
    let setting = Setting::new(&device, &[&squares::IMAGES, &use_both::IMAGES]);
    let memory = setting.make("make_squares");
    let session = Session::start();
    assert_eq!(setting.of("measure_and_weigh", &memory).unwrap(), [6010, 7040, 8090, 9160]);
    assert_eq!(programs(&session), [1, 1, 0, 0]);
}

#[device_test]
fn vf_lnk_005_the_second_kernel_of_a_group_links_nothing(device: Device) {
    let setting = Setting::new(&device, &[&squares::IMAGES, &use_first::IMAGES]);
    let memory = setting.make("make_squares");
    setting.of("measure", &memory).unwrap();
    let session = Session::start();
    assert_eq!(setting.of("measure_more", &memory).unwrap(), SQUARES.map(|x| 100 * x));
    assert_eq!(programs(&session), [0; 4]);
    assert_eq!(session.count("clCreateKernel"), 1, "a kernel of the program that is there");
    assert_eq!(setting.of("measure", &memory).unwrap(), SQUARES);
    assert_eq!(session.count("clCreateKernel"), 1);
}

#[device_test]
fn vf_lnk_007_a_misspelt_set(device: Device) {
    let setting = Setting::new(&device, &[&squares::IMAGES, &misspelt::IMAGES]);
    let memory = setting.make("make_squares");
    let error = setting.of("measure_frist", &memory).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    let text = format!("{error:#}");
    // Tables that other tests have registered have sets, too.
    for part in ["`measure_frist`", "set `frist`", "there is `", "`first`", "`second`", "indirectly_callable"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[device_test]
fn vf_lnk_008_names_of_sets(device: Device) {
    let setting = Setting::new(&device, &[&names::IMAGES, &use_names::IMAGES]);
    let memory = setting.make("make_items");
    let session = Session::start();
    assert_eq!(setting.of("use_names", &memory).unwrap(), [1, 2, 3, 4].map(|x| 54321 * x));
    assert_eq!(programs(&session), [1, 1, 0, 0]);
    let sets: Vec<String> = names::IMAGES
        .containers()
        .iter()
        .filter_map(|bytes| DeviceImage::from_bytes(bytes).unwrap().virtual_functions().unwrap().provides)
        .collect();
    for set in ["void", "list<int, 4>", "tools::pens", "a.b-c", "100%", "(x, y)", "s16"] {
        assert!(sets.iter().any(|there| there == set), "{set} in {sets:?}");
    }
}

#[device_test]
fn vf_lnk_008_the_default_set(device: Device) {
    let setting = Setting::new(&device, &[&names::IMAGES, &use_default::IMAGES]);
    let memory = setting.make("make_items");
    assert_eq!(setting.of("use_default", &memory).unwrap(), [1, 2, 3, 4]);
}

#[device_test]
fn vf_lnk_009_functions_constructors_and_callers_in_three_files(device: Device) {
    let results = |tables: &[&ImageTable]| {
        let setting = Setting::new(&device, tables);
        let memory = setting.queue.context().alloc_device::<u8>(32).unwrap();
        let out = setting.queue.context().alloc_device::<i32>(2).unwrap();
        setting.queue.single_task(setting.call("make_workers").pointer_mut::<i8>(&memory)).unwrap();
        let call = setting.call("use_workers").pointer_mut::<i8>(&memory).pointer_mut(&out);
        setting.queue.parallel_for(2, call).unwrap();
        setting.queue.read(&out).unwrap()
    };
    let apart = results(&[&apart_make::IMAGES, &apart_bodies::IMAGES, &apart_use::IMAGES]);
    assert_eq!(apart, [14_070, 18_180]);
    assert_eq!(results(&[&together::IMAGES]), apart, "as one program of the same sources");
}

#[device_test]
fn vf_lnk_011_a_provider_that_is_loaded_later(device: Device) {
    let mut setting = Setting::new(&device, &[&squares::IMAGES, &use_first::IMAGES]);
    let memory = setting.make("make_squares");
    assert_eq!(setting.of("measure", &memory).unwrap(), SQUARES);
    setting.load(&circles::IMAGES);
    let circles = setting.make("make_circles");
    let session = Session::start();
    assert_eq!(
        setting.of("measure", &circles).unwrap(),
        CIRCLES,
        "seen by a kernel that was launched before"
    );
    assert_eq!(setting.of("measure", &memory).unwrap(), SQUARES);
    assert_eq!(programs(&session), [1, 1, 0, 0], "linked anew, once");
}

#[device_test]
fn vf_lnk_012_images_made_ahead_of_time(device: Device) {
    let tables = [&squares::IMAGES, &circles::IMAGES, &use_both::IMAGES];
    let bytes: Vec<&[u8]> = tables.iter().flat_map(|table| table.containers()).copied().collect();
    let made = oclave::kernel::build_ahead_of_time(&device, &bytes, true).unwrap();
    assert_eq!(made.len(), 3, "the sets are in the image that calls them");
    let mut setting = Setting::new(&device, &[]);
    for bytes in &made {
        let image = DeviceImage::from_bytes(bytes).unwrap();
        assert!(image.virtual_functions().unwrap().is_empty(), "nothing to link");
        setting.bundles.push(crate::common::load::image(setting.queue.context(), bytes).unwrap());
    }
    let session = Session::start();
    let memory = setting.make("make_squares");
    assert_eq!(setting.of("measure_and_weigh", &memory).unwrap(), [6010, 7040, 8090, 9160]);
    assert_eq!(crate::common::compiled(&session), 0, "nothing is compiled");
    assert_eq!(crate::common::from_binaries(&session), 2);
    let [_, others @ ..] = programs(&session);
    assert_eq!(others, [2, 0, 0]);
}

/// Objects hold codes of classes, no addresses: programs may go and come.
#[device_test]
fn vf_lnk_014_programs_that_are_gone(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let cache = ProgramCache::Directory(directory.path().to_owned());
    let mut setting = Setting::with_cache(&device, &[&squares::IMAGES, &use_first::IMAGES], &cache);
    let memory = setting.make("make_squares");
    assert_eq!(setting.of("measure", &memory).unwrap(), SQUARES);
    let session = Session::start();
    setting.bundles.clear();
    assert!(session.count("clReleaseProgram") >= 2, "the programs that made and used the objects");
    std::fs::remove_dir_all(directory.path()).unwrap();
    setting.load(&use_first::IMAGES);
    assert_eq!(setting.of("measure", &memory).unwrap(), SQUARES, "the set is still known");
    assert_eq!(crate::common::compiled(&session), 1, "built anew");
}

#[device_test]
fn vf_okf_001_a_set_with_fp64(device: Device) {
    if !device.capabilities().aspects.contains(Aspects::FP64 | Aspects::FP16) {
        skip!("the device lacks fp64 or fp16");
    }
    let setting = Setting::new(&device, &[&mixed::IMAGES]);
    let memory = setting.queue.context().alloc_device::<u8>(16).unwrap();
    let out = setting.queue.context().alloc_device::<i32>(1).unwrap();
    setting.queue.single_task(setting.call("make_number").pointer_mut::<i8>(&memory)).unwrap();
    setting
        .queue
        .single_task(setting.call("use_number").pointer_mut::<i8>(&memory).pointer_mut(&out))
        .unwrap();
    assert_eq!(setting.queue.read(&out).unwrap(), [2]);
}

#[device_test]
fn vf_okf_003_a_set_of_which_the_device_has_one_feature(device: Device) {
    for (mask, lacks) in [(Mask::FP16, "fp16"), (Mask::FP64, "fp64")] {
        let setting = Setting::new(&device.masked(mask), &[&mixed::IMAGES]);
        let memory = setting.queue.context().alloc_device::<u8>(16).unwrap();
        let out = setting.queue.context().alloc_device::<i32>(1).unwrap();
        let make = setting.call("make_number").pointer_mut::<i8>(&memory);
        setting.queue.single_task(make).expect("it only makes an object").wait().unwrap();
        let call = setting.call("use_number").pointer_mut::<i8>(&memory).pointer_mut(&out);
        let error = setting.queue.single_task(call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        let text = format!("{error:#}");
        assert!(text.contains("`use_number`") && text.contains(lacks), "{text}");
    }
}
