//! The faults of drivers that exist, and of made-up ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use oclave_faults::{DeviceTexts, Driver, FAULTS, Family, Fault, FaultSet, On, Version, passes};

const POCL: &str = "Portable Computing Language";

fn driver(platform: &str, vendor: &str, driver_version: &str, device: &str, is_cpu: bool) -> Option<Driver> {
    Driver::of(&DeviceTexts { platform, vendor, driver_version, device, is_cpu, is_gpu: !is_cpu })
}

fn pocl(version: &str) -> FaultSet {
    FaultSet::of(&driver(POCL, "The pocl project", version, "cpu-skylake-avx512-AMD EPYC", true).unwrap())
}

#[test]
fn numbers_grow_and_are_below_128() {
    let numbers: Vec<u8> = FAULTS.iter().map(|row| row.fault.number()).collect();
    assert_eq!(numbers, numbers.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    assert!(numbers.iter().all(|number| *number < 128));
    for row in FAULTS {
        assert_eq!(Fault::by_name(&row.fault.to_string()), Some(row.fault));
        assert!(
            !row.affects.is_empty() && row.symptom.ends_with('.') && row.remedy.ends_with('.'),
            "{}",
            row.fault
        );
    }
}

#[test]
fn versions_have_both_ends() {
    for row in FAULTS {
        for affected in row.affects {
            let newest = affected.family.newest_seen();
            assert!(affected.from.is_none_or(|first| first <= newest), "{}: nothing seen has it", row.fault);
            if let (Some(first), Some(end)) = (affected.from, affected.before) {
                assert!(first < end, "{}: no version has it", row.fault);
            }
        }
    }
}

#[test]
fn pocl_6_and_7_have_faults_of_their_own() {
    let (six, seven) = (pocl("6.0+debian"), pocl("7.1+debian"));
    for (fault, on_six, on_seven) in [
        (Fault::Q15, true, false),
        (Fault::Q33, false, true),
        (Fault::Q13, true, true),
        (Fault::Q1, false, false),
    ] {
        assert_eq!((six.has(fault), seven.has(fault)), (on_six, on_seven), "{fault}");
    }
}

#[test]
fn versions_that_were_not_seen_are_like_their_neighbours() {
    assert_eq!(pocl("5.0"), pocl("6.0+debian"));
    assert_eq!(pocl("7.0"), pocl("7.1+debian"));
    for newer in ["7.2", "8.0-pre", "12.3"] {
        assert_eq!(pocl(newer), pocl("7.1+debian"), "{newer}");
        assert!(driver(POCL, "", newer, "cpu", true).unwrap().is_newer_than_seen(), "{newer}");
    }
    assert_eq!(pocl("no number"), pocl("7.1+debian"));
    assert!(!driver(POCL, "", "7.1+debian", "cpu", true).unwrap().is_newer_than_seen());
}

#[test]
fn faults_of_llvmpipe_are_not_those_of_gpus() {
    let on = |device| FaultSet::of(&driver("rusticl", "Mesa/X.org", "26.1.6-1", device, false).unwrap());
    let (llvmpipe, gpu) = (on("llvmpipe (LLVM 21.1.8, 256 bits)"), on("AMD Radeon RX 7800 XT (radeonsi)"));
    for fault in [Fault::Q17, Fault::Q21, Fault::Q42, Fault::Q46, Fault::Q56] {
        assert!(llvmpipe.has(fault) && !gpu.has(fault), "{fault}");
    }
    for fault in [Fault::Q18, Fault::Q27, Fault::Q36] {
        assert!(llvmpipe.has(fault) && gpu.has(fault), "{fault}");
    }
    let old = driver("rusticl", "Mesa/X.org", "25.0.7-2", "llvmpipe (LLVM 19)", false).unwrap();
    assert!(FaultSet::of(&old).has(Fault::Q23) && !llvmpipe.has(Fault::Q23));
}

#[test]
fn gpus_of_pocl_have_no_faults_of_cpus() {
    let gpu = FaultSet::of(&driver(POCL, "The pocl project", "6.0", "NVIDIA H100", false).unwrap());
    for row in FAULTS.iter().filter(|row| gpu.has(row.fault)) {
        assert!(row.affects.iter().any(|of| of.family == Family::Pocl && of.on == On::Any), "{}", row.fault);
    }
    assert!(gpu.has(Fault::Q2) && !gpu.has(Fault::Q15));
}

#[test]
fn drivers_by_other_names_have_none() {
    let gpu_of_intel =
        driver("Intel(R) OpenCL Graphics", "Intel(R) Corporation", "25.18", "Intel(R) Arc(TM) A770", false);
    assert_eq!(gpu_of_intel, None);
    assert_eq!(driver("Acme OpenCL", "Acme", "1.0", "Acme One", false), None);
    assert_eq!(driver("AMD Accelerated Parallel Processing", "AMD", "3581.0", "gfx1100", false), None);
    let cpu = driver("Intel(R) OpenCL", "Intel(R) Corporation", "2026.22.10.0.01_160000", "AMD EPYC", true)
        .unwrap();
    assert_eq!((cpu.family, cpu.version), (Family::IntelCpu, Version(2026, 22)));
    let nvidia = driver("NVIDIA CUDA", "NVIDIA Corporation", "580.159.03", "NVIDIA H100", false).unwrap();
    assert_eq!((nvidia.family, nvidia.version), (Family::Nvidia, Version(580, 159)));
}

#[test]
fn words_of_the_environment_add_and_remove() {
    let set = pocl("6.0");
    assert_eq!(set.adjust(""), Ok(set));
    assert_eq!(set.adjust("none"), Ok(FaultSet::NONE));
    assert_eq!(set.adjust("all"), Ok(FaultSet::all()));
    let changed = set.adjust("-Q15, +Q1,Q61").unwrap();
    assert!(!changed.has(Fault::Q15) && changed.has(Fault::Q1) && changed.has(Fault::Q61));
    let only = set.adjust("none,+Q13").unwrap();
    assert_eq!(only.iter().collect::<Vec<_>>(), [Fault::Q13]);
    for wrong in ["Q0", "Q999", "q13", "13", "some", "+", "--Q13"] {
        let error = set.adjust(wrong).unwrap_err().to_string();
        assert!(error.contains(wrong) && error.contains("oclave faults"), "{error}");
    }
}

#[test]
fn passes_have_faults_and_names() {
    let names: Vec<_> = passes::all().map(|(_, name)| name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    for (fault, name) in passes::all() {
        assert!(FAULTS.iter().any(|row| row.fault == fault), "{name}");
    }
}
