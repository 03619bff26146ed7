//! The container: round trips, typed properties, and bytes that are no image.
#![allow(clippy::unwrap_used)]

use oclave_image::{
    Access, AddressSpace, Aspects, DEVICE_GLOBAL_ADDRESSES, DEVICE_GLOBALS, DeviceGlobalInfo, DeviceImage,
    Field, HostAccess, ImageError, InitMode, InitialAddress, InitialValue, KernelSignature, Parameter,
    ParameterKind, PropertyValue, Requirements, Scalar, SpecConstantInfo, StructType, ValueType,
};
use proptest::prelude::*;

fn sample() -> DeviceImage {
    let float4 = ValueType::Vector(Scalar::F32, 4);
    let params = ValueType::Struct(StructType {
        name: "params_t".into(),
        fields: vec![
            Field { name: "a".into(), ty: ValueType::Scalar(Scalar::F32), offset_bytes: 0 },
            Field {
                name: "b".into(),
                ty: ValueType::Array(Box::new(ValueType::Scalar(Scalar::I32)), 3),
                offset_bytes: 4,
            },
        ],
        size_bytes: 16,
        align_bytes: 4,
    });
    let opaque = ValueType::Opaque { name: "union u".into(), size_bytes: 8, align_bytes: 8 };
    let parameter = |name: &str, kind| Parameter { name: name.into(), kind };
    let kernel = KernelSignature {
        name: "saxpy".into(),
        parameters: vec![
            parameter("p", ParameterKind::Value(params)),
            parameter("u", ParameterKind::Value(opaque)),
            parameter(
                "x",
                ParameterKind::Pointer {
                    address_space: AddressSpace::Constant,
                    access: Access::Read,
                    pointee: ValueType::Void,
                },
            ),
            parameter("scratch", ParameterKind::Local { pointee: float4 }),
            parameter("im", ParameterKind::Image { type_name: "image2d_t".into(), access: Access::Write }),
            parameter("s", ParameterKind::Sampler),
        ],
        required_work_group_size: Some([8, 4, 1]),
        uniform_work_groups: true,
        required_sub_group_size: Some(16),
        aspects: Aspects::FP64 | Aspects::IMAGE,
        device_globals: vec!["counter".into(), "unit.table".into()],
    };
    let mut image = DeviceImage {
        name: "saxpy.fp64".into(),
        spirv: vec![0x0723_0203, 0x0001_0400, 0, 1, 0],
        kernels: vec![kernel],
        ..DeviceImage::default()
    };
    image.insert_device_global(&DeviceGlobalInfo {
        id: "counter".into(),
        size_bytes: 4,
        device_image_scope: false,
        host_access: HostAccess::Read,
        init_mode: Some(InitMode::Reset),
        implement_in_csr: Some(false),
        initial: InitialValue { bytes: vec![5, 0, 0, 0], addresses: Vec::new() },
    });
    image.insert_device_global(&DeviceGlobalInfo {
        id: "unit.table".into(),
        size_bytes: 16,
        device_image_scope: true,
        host_access: HostAccess::ReadWrite,
        init_mode: None,
        implement_in_csr: None,
        initial: InitialValue {
            bytes: Vec::new(),
            addresses: vec![InitialAddress { offset_bytes: 8, target: "counter".into(), addend_bytes: -4 }],
        },
    });
    image.insert_spec_constant(&SpecConstantInfo {
        id: 3,
        name: "WIDTH".into(),
        ty: Scalar::I16,
        default: vec![16, 0],
    });
    image.set_requirements(&Requirements { aspects: Aspects::FP64 | Aspects::IMAGE });
    image
}

#[test]
fn round_trip_of_every_kind_of_content() {
    let image = sample();
    let bytes = image.to_bytes();
    assert_eq!(DeviceImage::from_bytes(&bytes).unwrap(), image);
    assert_eq!(image.clone().to_bytes(), bytes, "equal images give equal bytes");
    assert_eq!(DeviceImage::from_bytes(&DeviceImage::default().to_bytes()).unwrap(), DeviceImage::default());
}

#[test]
fn typed_properties_come_back() {
    let image = DeviceImage::from_bytes(&sample().to_bytes()).unwrap();
    let globals = image.device_globals().unwrap();
    assert_eq!(globals.len(), 2);
    assert_eq!(globals[0].host_access, HostAccess::Read);
    assert_eq!((globals[0].init_mode, globals[0].implement_in_csr), (Some(InitMode::Reset), Some(false)));
    assert_eq!(globals[0].initial, InitialValue::from(vec![5, 0, 0, 0]));
    assert!(globals[1].device_image_scope && globals[1].initial.addresses.len() == 1);
    assert_eq!(image.spec_constants().unwrap()[0].ty, Scalar::I16);
    assert_eq!(image.requirements().unwrap().aspects, Aspects::FP64 | Aspects::IMAGE);
    assert_eq!(image.kernel("saxpy").unwrap().parameters.len(), 6);
    assert!(image.kernel("sax").is_none());
}

#[test]
fn zero_initial_bytes_and_default_access_leave_no_property() {
    let mut image = sample();
    let [mut counter, mut table] = <[_; 2]>::try_from(image.device_globals().unwrap()).unwrap();
    table.initial = InitialValue::default();
    image.insert_device_global(&table);
    counter.initial = vec![0; 4].into();
    counter.host_access = HostAccess::ReadWrite;
    counter.init_mode = None;
    counter.implement_in_csr = None;
    image.insert_device_global(&counter);
    assert!(image.device_globals().unwrap()[0].initial.is_zero());
    assert!(image.properties.set_names().all(|name| !name.starts_with("oclave/device global")));
}

#[test]
fn addresses_that_are_cut_off_or_outside_of_their_variable_are_refused() {
    for (value, wanted) in [
        (vec![0; 7], "cut off"),
        ([&13_u32.to_le_bytes()[..], &[0; 12]].concat(), "at byte 13 of a variable of 16"),
        ([&[0; 12], &[255; 4][..], b"name"].concat(), "cut off"),
        ([&[0; 12], &1_u32.to_le_bytes()[..], &[255]].concat(), "not UTF-8"),
    ] {
        let mut image = sample();
        image.properties.insert(DEVICE_GLOBAL_ADDRESSES, "unit.table", PropertyValue::Bytes(value));
        let error = image.device_globals().unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("unit.table"), "{error}");
    }
}

#[test]
fn wrong_property_shapes_are_named() {
    let mut image = sample();
    image.properties.insert(DEVICE_GLOBALS, "counter", PropertyValue::Bytes(vec![4, 0, 0, 0]));
    let error = image.device_globals().unwrap_err();
    assert!(matches!(&error, ImageError::Property { property, .. } if property == "counter"), "{error}");
    image.properties.insert(DEVICE_GLOBALS, "counter", PropertyValue::Bytes(vec![8, 0, 0, 0, 0]));
    let error = image.device_globals().unwrap_err().to_string();
    assert!(error.contains("4 initial bytes for a variable of 8"), "{error}");
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = sample().to_bytes();
    for length in 0..bytes.len() {
        let error = DeviceImage::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error, ImageError::Container { .. }), "{length} bytes: {error}");
    }
}

#[test]
fn every_flipped_byte_is_an_error() {
    let bytes = sample().to_bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(DeviceImage::from_bytes(&damaged).is_err(), "byte {at}");
    }
}

#[test]
fn another_version_is_told_apart() {
    let mut bytes = sample().to_bytes();
    bytes[8] = 9;
    let error = DeviceImage::from_bytes(&bytes).unwrap_err();
    assert_eq!(error, ImageError::Version { found: 9, supported: oclave_image::FORMAT_VERSION });
}

/// Makes the header fit the body again, so that the sections themselves are what is read.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let size = (bytes.len() as u64).to_le_bytes();
    bytes[16..24].copy_from_slice(&size);
    let checksum = crc32fast::hash(&bytes[16..]).to_le_bytes();
    bytes[12..16].copy_from_slice(&checksum);
    bytes
}

#[test]
fn nesting_without_end_is_refused() {
    let mut image = sample();
    let mut ty = ValueType::Scalar(Scalar::U8);
    for _ in 0..200 {
        ty = ValueType::Array(Box::new(ty), 1);
    }
    image.kernels[0].parameters[0].kind = ParameterKind::Value(ty);
    let error = DeviceImage::from_bytes(&image.to_bytes()).unwrap_err().to_string();
    assert!(error.contains("nests deeper"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_sections_never_panic(
        edits in prop::collection::vec((24usize..4096, any::<u8>()), 1..6),
        cut in 0usize..64,
    ) {
        let mut bytes = sample().to_bytes();
        for (at, value) in edits {
            let at = 24 + (at - 24) % (bytes.len() - 24);
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len() - 24));
        if let Ok(image) = DeviceImage::from_bytes(&resealed(bytes)) {
            // What is readable is also readable again, and its properties answer or say why not.
            prop_assert_eq!(DeviceImage::from_bytes(&image.to_bytes()).unwrap(), image.clone());
            let _ = (image.device_globals(), image.spec_constants(), image.requirements());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(DeviceImage::from_bytes(&bytes).is_err());
    }
}
