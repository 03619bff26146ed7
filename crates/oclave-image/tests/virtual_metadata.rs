//! What images say of virtual functions: there and back, as text, and malformed.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use oclave_image::{
    DEFAULT_SET, DeviceImage, Dispatcher, PropertyValue, SlotKey, VIRTUAL_ABI, VIRTUAL_CALLS,
    VIRTUAL_DISPATCHERS, VIRTUAL_FUNCTION_TABLE, VIRTUAL_FUNCTIONS, VIRTUAL_OFFSETS, VIRTUAL_SLOTS,
    VirtualFunction, VirtualFunctions, VirtualOffset, VirtualSlot,
};

fn sample() -> VirtualFunctions {
    let signature = || "i32_p8_i32".parse().unwrap();
    let dispatcher = |slot, class: Option<&str>| {
        Dispatcher::new(signature(), SlotKey { slot, class: class.map(str::to_owned) })
    };
    let slot = |code, slot, classes: &[&str]| VirtualSlot {
        code,
        function: "_ZN5shape4areaEi".into(),
        slot,
        classes: classes.iter().map(|class| (*class).to_owned()).collect(),
    };
    VirtualFunctions {
        provides: Some("shapes".into()),
        dummy: true,
        calls: BTreeSet::from([DEFAULT_SET.to_owned(), "list<int, 4>".to_owned()]),
        creates: BTreeSet::from(["größe-1".to_owned()]),
        functions: vec![VirtualFunction {
            name: "_ZN5shape4areaEi".into(),
            code: 0xffff,
            wrapper: "__vfw_1_area".into(),
            signature: signature(),
            calls: vec![dispatcher(Some(0), None).name],
        }],
        slots: vec![slot(0x10, Some(0), &["shape", "square"]), slot(0xffee_0000_0000_0018, None, &[])],
        offsets: vec![VirtualOffset { code: 8, value: -16 }],
        dispatchers: vec![dispatcher(None, None), dispatcher(Some(0), Some("shape"))],
        depth: Some(4),
    }
}

fn image() -> DeviceImage {
    let mut image = DeviceImage { name: "shapes".into(), ..DeviceImage::default() };
    image.set_virtual_functions(&sample());
    image
}

#[test]
fn what_is_written_is_read() {
    let read = DeviceImage::from_bytes(&image().to_bytes()).unwrap();
    assert_eq!(read.virtual_functions().unwrap(), sample());
    let empty = DeviceImage::default();
    assert!(empty.virtual_functions().unwrap().is_empty());
    let mut cleared = image();
    cleared.set_virtual_functions(&VirtualFunctions::default());
    assert_eq!(cleared.properties, empty.properties);
}

#[test]
fn the_specifications_properties_have_its_names() {
    let image = image();
    let text = |name| match image.properties.value(VIRTUAL_FUNCTIONS, name) {
        Some(PropertyValue::Bytes(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        other => format!("{other:?}"),
    };
    assert_eq!(text("virtual-functions-set"), "shapes");
    assert_eq!(text("calls-virtual-functions-set"), "list<int, 4>,void");
    assert_eq!(text("creates-virtual-functions-set"), "größe-1");
    assert_eq!(text("dummy-image"), "Some(U32(1))");
}

#[test]
fn dumps_show_all_of_it() {
    let text = image().dump();
    for line in [
        "  provides a dummy of shapes",
        "  calls list<int, 4>, the default set",
        "  creates objects of größe-1",
        "  virtual calls nest up to 4 deep",
        "  function _ZN5shape4areaEi: i32_p8_i32",
        "    calls __vfd_i32_p8_i32__s0",
        "  0000000000000010: slot 0 of shape, square: _ZN5shape4areaEi",
        "  ffee000000000018: slot ?: _ZN5shape4areaEi",
        "  0000000000000008: offset -16",
        "  imports __vfd_i32_p8_i32__s0__cshape",
    ] {
        assert!(text.lines().any(|l| l == line), "no line {line:?} in\n{text}");
    }
}

#[test]
fn malformed_properties_are_named() {
    let text = |text: &str| PropertyValue::Bytes(text.as_bytes().to_vec());
    let code = "0000000000000010";
    for (set, property, value, wanted) in [
        (VIRTUAL_CALLS, "abi", PropertyValue::U32(99), "rebuild"),
        (VIRTUAL_CALLS, "abi", text("1"), "u32 is wanted"),
        (VIRTUAL_CALLS, "depth", PropertyValue::U32(0), "depth 0"),
        (VIRTUAL_CALLS, "depth", PropertyValue::U32(65), "depth 65"),
        (VIRTUAL_CALLS, "depth", PropertyValue::U32(u32::MAX), "depth 4294967295"),
        (VIRTUAL_FUNCTIONS, "dummy-image", PropertyValue::U32(2), "neither 0 nor 1"),
        (VIRTUAL_FUNCTIONS, "virtual-functions-set", text(""), "no name"),
        (VIRTUAL_FUNCTIONS, "virtual-functions-set", PropertyValue::Bytes(vec![0xff]), "UTF-8"),
        (VIRTUAL_FUNCTIONS, "calls-virtual-functions-set", PropertyValue::U32(1), "text is wanted"),
        (VIRTUAL_FUNCTION_TABLE, "f", text("10 f i32 -"), "16 hexadecimal digits"),
        (VIRTUAL_FUNCTION_TABLE, "f", text("0000000000000010 f i33 -"), "i33"),
        (VIRTUAL_FUNCTION_TABLE, "f", text("0000000000000010 f  i32"), "is not of the form"),
        (VIRTUAL_SLOTS, "10", text("f 0 -"), "16 hexadecimal digits"),
        (VIRTUAL_SLOTS, code, text("f x -"), "no number of a slot"),
        (VIRTUAL_SLOTS, code, text("f 0"), "is not of the form"),
        (VIRTUAL_OFFSETS, code, text("eight"), "no offset"),
        (VIRTUAL_DISPATCHERS, "d", text("v_v - -"), "void"),
    ] {
        let mut image = image();
        image.properties.insert(set, property, value);
        let error = image.virtual_functions().unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains(property), "{set}, {property}: {error}");
        assert!(image.dump().contains(&error), "the dump tells");
    }
    let mut image = image();
    image.properties.remove(VIRTUAL_CALLS, "abi");
    assert!(image.virtual_functions().unwrap_err().to_string().contains("version none"));
    image.properties.remove(VIRTUAL_FUNCTIONS, "virtual-functions-set");
    image.properties.insert(VIRTUAL_CALLS, "abi", PropertyValue::U32(VIRTUAL_ABI));
    assert!(image.virtual_functions().unwrap_err().to_string().contains("a dummy of no set"));
}
