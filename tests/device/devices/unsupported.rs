//! Machines that oclave cannot use: no loader, no driver, a device without SPIR-V, a device without
//! shared memory.
//!
//! `ci/test` runs this on every device, on PoCL 3.1 (which takes no SPIR-V) and on no driver at
//! all. On a device that takes SPIR-V the same situations are made with a mask, or in a process of
//! the test's own.

use crate::common::{name_of, process_of};
use oclave::device::mask::{self, Mask};
use oclave::{Context, Device, Error, ErrorKind};

/// Runs one test of this program again in a process of its own, with other environment variables.
fn in_own_process(test: &str, environment: &[(&str, &str)]) {
    let output = process_of(&name_of(module_path!(), test))
        .env("OCLAVE_TEST_INSIDE", test)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn is_inside(test: &str) -> bool {
    std::env::var("OCLAVE_TEST_INSIDE").is_ok_and(|name| name == test)
}

/// The message must say what to do.
fn assert_says(error: &Error, kind: ErrorKind, parts: &[&str]) {
    let message = format!("{error:#}");
    println!("{message}");
    assert_eq!(error.kind(), kind, "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert!(error.remedy_text().is_some_and(|text| !text.is_empty()), "no remedy in: {message}");
    assert!(
        !message.ends_with('.') && !message.contains('\n'),
        "not one line without a full stop: {message}"
    );
}

#[test]
fn without_a_loader() {
    if is_inside("without_a_loader") {
        let parts =
            ["no OpenCL loader", "/nonexistent/libOpenCL.so", "ocl-icd-libopencl1", "intel-opencl-rt"];
        assert_says(&Device::select().unwrap_err(), ErrorKind::Platform, &parts);
        assert_says(&Device::all().unwrap_err(), ErrorKind::Platform, &parts);
    } else {
        in_own_process("without_a_loader", &[("OCLAVE_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so")]);
    }
}

#[test]
fn without_a_driver() {
    if is_inside("without_a_driver") {
        let error = Device::select().unwrap_err();
        if format!("{error:#}").contains("no OpenCL loader") {
            println!("skipped: there is no OpenCL loader here");
            return;
        }
        assert_says(
            &error,
            ErrorKind::Platform,
            &["found no driver", "OCL_ICD_VENDORS", "pocl-opencl-icd", "/nonexistent"],
        );
        // Asking again gives the same answer: nothing is left half-made.
        assert_eq!(Device::all().unwrap_err().to_string(), format!("{error:#}"));
    } else {
        in_own_process("without_a_driver", &[("OCL_ICD_VENDORS", "/nonexistent"), ("OCL_ICD_FILENAMES", "")]);
    }
}

#[test]
fn a_device_without_spirv() {
    let _scope = mask::scope(Mask::SPIRV);
    let devices = match Device::all() {
        Ok(devices) => devices,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    for device in devices {
        println!("device: {}", device.name());
        let parts = ["takes no SPIR-V", device.name()];
        assert_says(&device.require_kernels().unwrap_err(), ErrorKind::FeatureNotSupported, &parts);
        assert_says(&Context::new(&device).unwrap_err(), ErrorKind::FeatureNotSupported, &parts);
    }
    assert_says(&Device::select().unwrap_err(), ErrorKind::FeatureNotSupported, &["takes no SPIR-V"]);
}

#[test]
fn a_device_without_shared_memory() {
    let _scope = mask::scope(Mask::USM | Mask::SVM | Mask::BUFFER_DEVICE_ADDRESS);
    let device = match Device::select() {
        Ok(device) => device,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    println!("device: {}", device.name());
    let context = Context::new(&device).unwrap();
    for error in [
        context.alloc_device::<f32>(16).unwrap_err(),
        context.alloc_host::<f32>(16).unwrap_err(),
        context.alloc_shared::<f32>(16).unwrap_err(),
    ] {
        let message = format!("{error:#}");
        println!("{message}");
        assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{message}");
    }
}

#[test]
fn a_wish_that_no_device_fits() {
    let error = match Device::select_by("no such device") {
        Ok(device) => panic!("`no such device` gave {}", device.name()),
        Err(error) if error.kind() == ErrorKind::Platform => {
            println!("skipped: {error}");
            return;
        }
        Err(error) => error,
    };
    assert_says(&error, ErrorKind::Invalid, &["no such device"]);
    assert!(!format!("{error:#}").contains("OCLAVE_DEVICE"), "the argument was wrong: {error:#}");
}
