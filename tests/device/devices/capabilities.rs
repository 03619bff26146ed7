//! Devices and their capabilities, as the driver that is here tells them.

use oclave::device::Platform;
use oclave::device::mask::{self, Mask};
use oclave::record::{ObjectKind, Session};
use oclave::{Context, Device, ErrorKind};

/// The devices, or the reason why there are none.
fn devices() -> Option<Vec<Device>> {
    match Device::all() {
        Ok(devices) => {
            for device in &devices {
                println!("device: {} ({})", device.name(), device.platform().name());
            }
            Some(devices)
        }
        Err(error) => {
            println!("skipped: {error}");
            assert_eq!(error.kind(), ErrorKind::Platform, "{error}");
            None
        }
    }
}

#[device_test(devices)]
fn capabilities_are_plausible(devices: Vec<Device>) {
    for device in devices {
        let capabilities = device.capabilities();
        println!("{capabilities:#?}");
        assert!(!capabilities.name.is_empty() && !capabilities.driver_version.is_empty());
        assert!(capabilities.problems.is_empty(), "{:?}", capabilities.problems);
        assert!(capabilities.opencl.major >= 1);
        assert!(capabilities.compute_units > 0);
        assert!(capabilities.limits.max_work_group_size > 0);
        assert!(capabilities.limits.max_work_item_sizes.iter().all(|n| *n > 0));
        assert!(capabilities.limits.global_memory_bytes >= capabilities.limits.max_allocation_bytes);
        if let Some(command_buffer) = capabilities.command_buffer {
            assert!(command_buffer.version >= oclave::device::Version::new(0, 9, 4));
        }
        assert!(capabilities.spirv_versions.is_sorted());
        assert_eq!(capabilities.takes_kernels(), device.require_kernels().is_ok());
    }
}

#[device_test(devices)]
fn a_mask_hides_and_makes_another_device(devices: Vec<Device>) {
    for device in devices {
        let poor = device.masked(Mask::all());
        let capabilities = poor.capabilities();
        assert!(capabilities.usm.is_none() && capabilities.command_buffer.is_none());
        assert!(capabilities.mutable_dispatch.is_none() && capabilities.spirv_queries.is_none());
        assert!(!capabilities.global_variable_access && capabilities.max_global_variable_bytes == 0);
        assert!(!capabilities.out_of_order_queues && !capabilities.partition_equally);
        assert!(
            capabilities.aspects.names().all(|name| { ["pipes", "device_enqueue"].contains(&name) }),
            "{}",
            capabilities.aspects
        );
        let error = poor.require_kernels().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
        assert_eq!(poor.partition_equally(1).unwrap_err().kind(), ErrorKind::FeatureNotSupported);
        assert_ne!(poor, device);
        assert_eq!(device.masked(Mask::empty()), device);
        assert_eq!(poor.masked(Mask::USM), poor);

        // What is not masked stays.
        let no_fp64 = device.masked(Mask::FP64);
        assert_eq!(no_fp64.capabilities().usm, device.capabilities().usm);
        assert!(no_fp64.capabilities().aspects.names().all(|name| name != "fp64"));
    }
}

#[device_test(devices)]
fn a_scope_masks_the_devices_asked_for_in_it(before: Vec<Device>) {
    let scope = mask::scope(Mask::USM);
    let inside = Device::all().unwrap();
    drop(scope);
    assert_eq!(inside.len(), before.len());
    assert!(inside.iter().all(|device| device.capabilities().usm.is_none()));
    assert_eq!(Device::all().unwrap(), before);
}

#[device_test(devices)]
fn selection_takes_names_and_indices(devices: Vec<Device>) {
    if !devices.iter().any(|device| device.capabilities().takes_kernels()) {
        assert_eq!(Device::select_by("").unwrap_err().kind(), ErrorKind::FeatureNotSupported);
        println!("skipped: no device takes SPIR-V");
        return;
    }
    let best = Device::select_by("").unwrap();
    assert!(best.capabilities().takes_kernels());
    assert_eq!(Device::select_by(&best.name().to_uppercase()).unwrap().name(), best.name());
    let index = devices.iter().position(|device| *device == best).unwrap();
    assert_eq!(Device::select_by(&index.to_string()).unwrap(), best);

    let error = Device::select_by("no such device").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = format!("{error:#}");
    assert!(text.contains(&format!("device {index} is `{}`", best.name())), "{text}");
    assert!(!text.contains("OCLAVE_DEVICE"), "the argument was wrong, not the environment: {text}");
    assert_eq!(Device::select_by("4096").unwrap_err().kind(), ErrorKind::Invalid);

    let _scope = mask::scope(Mask::SPIRV);
    let error = Device::select_by(&index.to_string()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
    assert!(format!("{error:#}").contains("SPIR-V"), "{error}");
}

#[device_test(devices)]
fn sub_devices_are_released(devices: Vec<Device>) {
    let Some(device) = devices
        .into_iter()
        .find(|device| device.capabilities().partition_equally && device.capabilities().compute_units > 1)
    else {
        println!("skipped: no device with two compute units that can be partitioned");
        return;
    };
    let session = Session::start();
    let parts = device.partition_equally(1).unwrap();
    println!("{} into {} parts", device.name(), parts.len());
    assert_eq!(parts.len(), device.capabilities().compute_units as usize);
    assert_eq!(session.live().get(&ObjectKind::Device), Some(&parts.len()));
    for part in &parts {
        assert_eq!(part.capabilities().compute_units, 1);
        assert_eq!(part.parent(), Some(&device));
        assert_ne!(*part, device);
    }
    let clone = parts[0].clone();
    drop(parts);
    assert_eq!(session.live().get(&ObjectKind::Device), Some(&1));
    drop(clone);
    assert!(session.live().is_empty(), "{:?}", session.live());

    assert_eq!(device.partition_by_counts(&[]).unwrap_err().kind(), ErrorKind::Invalid);
    let error = device.partition_equally(u32::MAX).unwrap_err();
    assert_eq!(error.call(), Some("clCreateSubDevices"), "{error}");
    assert!(session.live().is_empty());
}

#[device_test(devices)]
fn injected_faults_come_out_as_errors_and_are_not_kept(devices: Vec<Device>) {
    let device = devices.into_iter().find(|device| device.capabilities().partition_equally);
    let Some(device) = device else {
        println!("skipped: no device that can be partitioned");
        return;
    };
    let session = Session::start();
    session.keep_log();
    for nth in [1, 2] {
        session.fail("clCreateSubDevices", nth, -6);
        let error = device.partition_equally(1).unwrap_err();
        assert_eq!((error.call(), error.code()), (Some("clCreateSubDevices"), Some(-6)), "{error}");
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation);
        assert_eq!(error.code_name(), Some("CL_OUT_OF_HOST_MEMORY"));
        assert_eq!(session.pending_faults(), 0);
    }
    assert_eq!(session.count("clCreateSubDevices"), 3);
    assert_eq!(session.log(), ["clCreateSubDevices"; 3]);
    assert!(session.live().is_empty());
    assert_eq!(device.partition_equally(1).unwrap().len(), device.capabilities().compute_units as usize);
}

#[device_test(devices)]
fn sessions_see_their_own_threads_only(devices: Vec<Device>) {
    let Some(device) = devices.into_iter().find(|device| device.capabilities().partition_equally) else {
        println!("skipped: no device that can be partitioned");
        return;
    };
    let session = Session::start();
    let partition = || drop(device.partition_equally(1).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(partition);
    });
    assert_eq!(session.total(), 0);
    let handle = session.handle();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _entered = handle.enter();
            partition();
        });
    });
    assert_eq!(session.count("clCreateSubDevices"), 2);

    // An object of the session that another thread releases counts as released.
    let parts = device.partition_equally(1).unwrap();
    assert!(!session.live().is_empty());
    std::thread::scope(|scope| {
        scope.spawn(move || drop(parts));
    });
    assert!(session.live().is_empty(), "{:?}", session.live());
}

#[device_test(devices)]
fn threads_make_and_release_sub_devices_at_once(devices: Vec<Device>) {
    let Some(device) = devices.into_iter().find(|device| device.capabilities().partition_equally) else {
        println!("skipped: no device that can be partitioned");
        return;
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let parts = device.partition_equally(1).unwrap();
                    assert_eq!(parts.len(), device.capabilities().compute_units as usize);
                }
            });
        }
    });
}

#[test]
fn public_types_are_send_and_sync() {
    fn check<T: Send + Sync + Clone + std::fmt::Debug>() {}
    check::<Device>();
    check::<Platform>();
    check::<oclave::device::Capabilities>();
    check::<oclave::record::Handle>();
}

/// A context may work around other faults than those of its driver.
#[device_test(devices)]
fn contexts_choose_the_faults_to_work_around(devices: Vec<Device>) {
    for device in devices {
        let known = device.driver_faults();
        if device.require_kernels().is_err() {
            continue;
        }
        let context = Context::builder(std::slice::from_ref(&device)).faults("none,+Q16").build().unwrap();
        let chosen = context.device();
        assert_eq!(chosen.driver_faults().iter().map(|fault| fault.to_string()).collect::<Vec<_>>(), ["Q16"]);
        assert_ne!(*chosen, device);
        assert_eq!(chosen.masked(Mask::USM).driver_faults(), chosen.driver_faults());
        assert_eq!(device.driver_faults(), known);
        assert_eq!(chosen.with_faults("none").unwrap().driver_faults().iter().count(), 0);
        for words in ["Q0", "-", "some"] {
            let error = Context::builder(std::slice::from_ref(&device)).faults(words).build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("is no fault"), "{error:#}");
        }
    }
}
