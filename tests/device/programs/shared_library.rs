//! Virtual functions that a shared library brings, loaded when the program already runs.

#![allow(unsafe_code, reason = "loads a shared library")]

use crate::common;

use oclave::kernel::KernelBundle;
use oclave::{Context, ErrorKind, Queue};

mod kernels {
    oclave::include_kernels!("use_plug");
}

/// The images of `libplugged.so` (`tests/fixtures/plugged.rs`), which is closed again.
fn images_of_library() -> Vec<Vec<u8>> {
    type Image = unsafe extern "C" fn(usize, &mut usize) -> *const u8;
    let path = common::built().join("libplugged.so");
    // SAFETY: the library is ours, and has nothing that runs when it is loaded; the function has
    // this type.
    unsafe {
        let library = libloading::Library::new(path).unwrap();
        let image = library.get::<Image>(b"plugged_image").unwrap();
        let mut images = Vec::new();
        loop {
            let mut length = 0;
            let bytes = image(images.len(), &mut length);
            if bytes.is_null() {
                return images;
            }
            images.push(std::slice::from_raw_parts(bytes, length).to_vec());
        }
    }
}

#[device_test]
fn functions_of_a_library_that_is_loaded_later(context: Context) {
    use kernels::use_plug::use_plug;
    let queue = Queue::new(&context).unwrap();
    let memory = context.alloc_device::<i8>(16).unwrap();
    let out = context.alloc_device::<i32>(1).unwrap();
    let error = queue.single_task(use_plug(&memory, &out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    let text = format!("{error:#}");
    assert!(text.contains("set `plugged`") && text.contains("load its bundle"), "{text}");

    let images = images_of_library();
    assert_eq!(images.len(), 2);
    let bundles: Vec<KernelBundle> =
        images.iter().map(|bytes| common::load::image(&context, bytes).unwrap()).collect();
    let make = bundles.iter().find_map(|bundle| bundle.kernel("make_plug").ok()).unwrap();
    queue.single_task(make.call().pointer_mut::<i8>(&memory)).unwrap();
    queue.single_task(use_plug(&memory, &out)).unwrap().wait().unwrap();
    assert_eq!(queue.read(&out).unwrap(), [690]);
    drop((make, bundles));
    queue.single_task(use_plug(&memory, &out)).unwrap().wait().expect("what was found stays");
}
