//! The generated code of the test kernels compiles without warnings in a crate that forbids
//! `unsafe`, and its types have the device's layouts. Needs no device.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub)]

/// The kernels of `kernels/tests`.
pub mod kernels {
    oclave::include_kernels!("tests");
}

/// A second program beside the first.
mod bench {
    oclave::include_kernels!("bench");
}

use kernels::{arguments, globals_define, globals_use, names, saxpy, spec_constants, templates};
use oclave::UsmSlice;
use oclave::kernel::host_access::{Read, ReadWrite, Write};
use oclave::kernel::{DeviceGlobal, KernelCall, Local, SpecConstant};
use oclave::memory::usm;
use oclave::vector::{Float3, Float4, Int2, Short8, Uchar3};

#[test]
fn structs_have_the_devices_layout() {
    assert_eq!((size_of::<arguments::Pair>(), align_of::<arguments::Pair>()), (8, 4));
    assert_eq!((size_of::<arguments::Sample>(), align_of::<arguments::Sample>()), (40, 4));
    assert_eq!((size_of::<arguments::Padded>(), align_of::<arguments::Padded>()), (48, 16));
    assert_eq!((size_of::<arguments::Packed>(), align_of::<arguments::Packed>()), (5, 1));
    let padded = arguments::Padded::new(1, -2, Float3::from([1.0, 2.0, 3.0]), 7, 4);
    let bytes = oclave::bytemuck::bytes_of(&padded);
    assert_eq!((bytes[0], bytes[32], bytes[36]), (1, 7, 4));
    assert_eq!(&bytes[8..16], &(-2i64).to_ne_bytes());
    assert_eq!(&bytes[20..24], &2.0f32.to_ne_bytes());
    let sample = arguments::Sample::new(arguments::Pair::new(1.0, 2.0), 3.0, 4, [[0.0, 0.5, 0.0], [0.0; 3]]);
    assert_eq!(oclave::bytemuck::bytes_of(&sample)[20..24], 0.5f32.to_ne_bytes());
}

/// Kernels leave any bytes in the padding of what they write.
#[test]
fn structs_compare_without_their_padding() {
    let padded = arguments::Padded::new(1, -2, Float3::from([1.0, 2.0, 3.0]), 7, 4);
    let mut bytes = oclave::bytemuck::bytes_of(&padded).to_vec();
    // Behind `small`, behind the three floats, behind `tail`.
    for index in [1, 7, 28, 47] {
        bytes[index] = 0xa5;
    }
    let written: arguments::Padded = oclave::bytemuck::pod_read_unaligned(&bytes);
    assert_eq!(written, padded);
    bytes[8] ^= 1;
    assert_ne!(oclave::bytemuck::pod_read_unaligned::<arguments::Padded>(&bytes), padded);
}

#[test]
fn calls_take_values_of_the_kernels_types() {
    let pair = arguments::Pair { first: 1.0, second: 2.0 };
    let calls: [(KernelCall, &str); 3] = [
        (
            arguments::scalars(-1, 1, -2, 2, -3, 3, -4, 4, 0.5, None::<&UsmSlice<i64, usm::DeviceOnly>>),
            "scalars",
        ),
        (
            names::r#type(
                names::Type { self_: 1, r#match: 2.0, _padding: 3 },
                names::Pick_::new(1, 2),
                None::<&UsmSlice<i32, usm::DeviceOnly>>,
                3,
                4,
            ),
            "type",
        ),
        (globals_use::double_shared(), "double_shared"),
    ];
    for (call, name) in calls {
        assert_eq!(call.kernel_name(), name);
    }
    let none = None::<&UsmSlice<f32, usm::Shared>>;
    assert_eq!(saxpy::saxpy(2.0, none, none).kernel_name(), "saxpy");
    let samples = None::<&UsmSlice<arguments::Sample, usm::Host>>;
    assert_eq!(arguments::structs(pair, samples, none).kernel_name(), "structs");
    let ints = None::<&UsmSlice<i32, usm::Host>>;
    assert_eq!(arguments::group_sum(ints, ints, Local::new(64)).kernel_name(), "group_sum");
    assert_eq!(bench::bump::bump(ints).kernel_name(), "bump");
    let boxes = None::<&UsmSlice<templates::Box, usm::DeviceOnly>>;
    assert_eq!(templates::areas(boxes, none).kernel_name(), "areas");
    let (floats, table) = (None::<&UsmSlice<Float4, usm::DeviceOnly>>, None::<&UsmSlice<_, usm::DeviceOnly>>);
    let call = arguments::vectors(
        Float4::splat(1.0),
        Int2::splat(2),
        Uchar3::splat(3),
        Short8::splat(4),
        floats,
        table,
    );
    assert_eq!(call.kernel_name(), "vectors");
}

#[test]
fn device_globals_are_typed_and_shared_by_sources() {
    let counter: &DeviceGlobal<i32, ReadWrite> = &globals_define::COUNTER;
    let histogram: &DeviceGlobal<[u32; 8], ReadWrite> = &globals_use::HISTOGRAM;
    let settings: &DeviceGlobal<globals_define::Settings, Write> = &globals_define::SETTINGS;
    let last: &DeviceGlobal<i64, Read> = &globals_define::LAST;
    assert_eq!(
        [counter.id(), histogram.id(), settings.id(), last.id()],
        ["counter", "histogram", "settings", "oclave-tests/tests/globals_define.last"]
    );
    // The source that only declares it names the same variable.
    assert!(std::ptr::eq(&globals_use::COUNTER, counter));
}

#[test]
fn specialization_constants_are_typed() {
    let factor: &SpecConstant<i32> = &spec_constants::FACTOR;
    let bias: &SpecConstant<f32> = &spec_constants::BIAS;
    let large: &SpecConstant<u32> = &spec_constants::LARGE;
    assert_eq!([factor.name(), bias.name(), large.name()], ["FACTOR", "BIAS", "LARGE"]);
    assert_eq!([factor.id(), bias.id(), large.id()], [0, 1, 2]);
}
