//! A driver that fails while the platforms are listed. It has a process of its own, because
//! platforms that are found stay known.

use oclave::device::Platform;
use oclave::record::Session;
use oclave::{Device, ErrorKind};

#[device_test(alone)]
fn a_failed_enumeration_is_an_error_and_is_tried_again() {
    let session = Session::start();
    session.fail("clGetPlatformIDs", 1, -6);
    let error = Platform::all().unwrap_err();
    if session.pending_faults() > 0 {
        println!("skipped: {error}");
        return;
    }
    assert_eq!((error.kind(), error.code()), (ErrorKind::MemoryAllocation, Some(-6)), "{error}");

    session.fail("clGetPlatformIDs", 1, -1001);
    let error = Device::all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Platform, "{error}");
    assert!(format!("{error:#}").contains("OCL_ICD_VENDORS"), "{error}");

    let Ok(platforms) = Platform::all() else {
        println!("skipped: no platform");
        return;
    };
    session.fail("clGetDeviceIDs", 1, -5);
    match Device::all() {
        // The others serve.
        Ok(devices) => {
            assert!(platforms.len() > 1 && devices.iter().all(|device| device.platform() != platforms[0]));
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Platform, "{error}");
            assert!(format!("{error:#}").contains(platforms[0].name()), "{error}");
            assert!(format!("{error:#}").contains("clGetDeviceIDs returned -5"), "{error}");
        }
    }
    let devices = Device::all().unwrap();
    assert!(!devices.is_empty());

    // Once known, they are not listed again.
    session.reset();
    assert_eq!(Device::all().unwrap(), devices);
    assert_eq!(session.total(), 0, "{:?}", session.counts());
    println!("ran on {}", devices[0].name());
}
