#![allow(clippy::unwrap_used, clippy::panic)]
mod support;
use oclave_image::{DeviceImage, PostLinkOptions, TranslationUnit, legalize, post_link};
use oclave_spirv::Module;
use std::hash::{DefaultHasher, Hash, Hasher};
#[test]
fn digest() {
    for (name, bytes) in support::corpus().into_iter().chain(support::fixtures()) {
        let module = Module::from_bytes(&bytes).unwrap();
        let unit = TranslationUnit::new(&name, module.clone());
        let linked = post_link(std::slice::from_ref(&unit), &PostLinkOptions::default());
        let plain =
            DeviceImage { name: name.clone(), spirv: module.words().to_vec(), ..DeviceImage::default() };
        for image in linked.into_iter().flatten().chain([plain]) {
            for (index, (_, target)) in support::fuzz::targets().iter().enumerate() {
                let mut h = DefaultHasher::new();
                match legalize(&image, target) {
                    Ok(words) => words.hash(&mut h),
                    Err(e) => format!("{e}").hash(&mut h),
                }
                println!("DIGEST {name} {} {index} {:016x}", image.name, h.finish());
            }
        }
    }
}
