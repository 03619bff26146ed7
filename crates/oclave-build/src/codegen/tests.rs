//! Whatever the signatures: the generated text is Rust, the same each time, with each kernel once.

use oclave_image::{
    Access, AddressSpace, Aspects, DeviceGlobalInfo, Field, HostAccess, Parameter, ParameterKind, Scalar,
    SpecConstantInfo, StructType, ValueType,
};
use proptest::prelude::*;

use super::*;
use crate::ast::{KernelDeclaration, VariableDeclaration};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z_][a-zA-Z0-9_$]{0,6}",
        prop::sample::select(vec![
            "self",
            "Self",
            "crate",
            "super",
            "_",
            "type",
            "gen",
            "IMAGES",
            "KERNEL",
            "None",
            "Params",
            "params_t",
            "x",
            "u8",
            "f32",
            "macro_rules",
            "union",
            "",
            "3d",
            "ns::Box<int>",
            "naïve",
            "new",
            "_padding",
        ])
        .prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = Scalar> {
    prop::sample::select(Scalar::ALL.to_vec())
}

/// Types sound and unsound: layouts that overlap, alignments that are no power of two, vectors of
/// odd lanes.
fn value_type() -> impl Strategy<Value = ValueType> {
    let leaf = prop_oneof![
        scalar().prop_map(ValueType::Scalar),
        (scalar(), 0u8..20).prop_map(|(scalar, lanes)| ValueType::Vector(scalar, lanes)),
        (name(), 0u64..40, 0u32..20).prop_map(|(name, size_bytes, align_bytes)| ValueType::Opaque {
            name,
            size_bytes,
            align_bytes
        }),
        Just(ValueType::Void),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let field = (name(), inner.clone(), 0u64..64).prop_map(|(name, ty, offset_bytes)| Field {
            name,
            ty,
            offset_bytes,
        });
        prop_oneof![
            (inner, 0u64..5).prop_map(|(element, count)| ValueType::Array(Box::new(element), count)),
            (name(), prop::collection::vec(field, 0..4), 0u64..200, 0u32..40).prop_map(
                |(name, fields, size_bytes, align_bytes)| {
                    ValueType::Struct(StructType { name, fields, size_bytes, align_bytes })
                }
            ),
        ]
    })
}

fn parameter() -> impl Strategy<Value = Parameter> {
    let access = prop::sample::select(vec![Access::Read, Access::ReadWrite, Access::Write]);
    let kind = prop_oneof![
        4 => value_type().prop_map(ParameterKind::Value),
        4 => (access.clone(), value_type()).prop_map(|(access, pointee)| ParameterKind::Pointer {
            address_space: AddressSpace::Global,
            access,
            pointee
        }),
        2 => value_type().prop_map(|pointee| ParameterKind::Local { pointee }),
        1 => access.prop_map(|access| ParameterKind::Image { type_name: "image2d_t".to_owned(), access }),
        1 => Just(ParameterKind::Sampler),
    ];
    (name(), kind).prop_map(|(name, kind)| Parameter { name, kind })
}

prop_compose! {
    fn kernel()(
        name in name(),
        parameters in prop::collection::vec(parameter(), 0..5),
        required_work_group_size in prop::option::of(any::<[u32; 3]>()),
        aspects in any::<u64>(),
    ) -> KernelSignature {
        KernelSignature {
            name,
            parameters,
            required_work_group_size,
            uniform_work_groups: true,
            required_sub_group_size: None,
            aspects: Aspects::from_bits_truncate(aspects),
            device_globals: Vec::new(),
        }
    }
}
use oclave_image::KernelSignature;

prop_compose! {
    fn source()(
        kernels in prop::collection::vec(kernel(), 0..3),
        globals in prop::collection::vec((name(), prop::option::of(value_type()), 1u32..100, any::<bool>()), 0..3),
        constants in prop::collection::vec((name(), any::<u32>(), scalar(), any::<[u8; 8]>()), 0..3),
        comment in "\\PC{0,20}",
    ) -> (DeviceImage, Declarations) {
        let mut image = DeviceImage { kernels, ..DeviceImage::default() };
        let mut declarations = Declarations::default();
        for kernel in &image.kernels {
            declarations.kernels.push(KernelDeclaration {
                name: kernel.name.clone(),
                line: Some(7),
                comment: vec![comment.clone(), "```".to_owned()],
                parameters: Vec::new(),
                head: None,
            });
        }
        for (id, ty, size_bytes, is_extern) in globals {
            image.insert_device_global(&DeviceGlobalInfo {
                id: id.clone(),
                size_bytes,
                device_image_scope: is_extern,
                host_access: HostAccess::Read,
                ..DeviceGlobalInfo::default()
            });
            declarations.variables.push(VariableDeclaration {
                name: id.clone(),
                symbol: id,
                is_extern,
                is_static: false,
                line: None,
                comment: Vec::new(),
                ty,
            });
        }
        for (name, id, ty, default) in constants {
            let default = default.get(..ty.size_bytes() as usize).unwrap().to_vec();
            image.insert_spec_constant(&SpecConstantInfo { id, name, ty, default });
        }
        (image, declarations)
    }
}

fn text(parts: &[(DeviceImage, Declarations)]) -> String {
    let images: Vec<DeviceImage> = parts.iter().map(|(image, _)| image.clone()).collect();
    let stems: Vec<String> = (0..parts.len()).map(|index| format!("part{index}")).collect();
    let sources: Vec<Source<'_>> = parts
        .iter()
        .zip(&stems)
        .map(|((_, declarations), stem)| Source {
            stem,
            unit: format!("p/{stem}"),
            path: format!("kernels/{stem}.cl"),
            declarations,
        })
        .collect();
    let files: Vec<String> = stems.iter().map(|stem| format!("p.{stem}.oclimg")).collect();
    generate(&Program {
        config: &Config::new(),
        name: "p",
        sources: &sources,
        images: &images,
        files: &files,
    })
    .unwrap()
    .rust
}

/// Names that one scope has twice.
fn twice(items: &[syn::Item]) -> Vec<String> {
    let mut names: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Fn(item) => Some(item.sig.ident.to_string()),
            syn::Item::Static(item) => Some(item.ident.to_string()),
            syn::Item::Struct(item) => Some(item.ident.to_string()),
            _ => None,
        })
        .collect();
    names.sort();
    let pairs = names.windows(2).filter(|pair| pair[0] == pair[1]);
    pairs.map(|pair| pair[0].clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_signatures_give_rust(parts in prop::collection::vec(source(), 1..4)) {
        let text = text(&parts);
        let file = syn::parse_file(&text).unwrap();
        for item in &file.items {
            if let syn::Item::Mod(module) = item {
                let (_, items) = module.content.as_ref().unwrap();
                prop_assert!(twice(items).is_empty(), "{:?} in\n{text}", twice(items));
            }
        }
        prop_assert_eq!(&text, &self::text(&parts));
        prop_assert!(!text.contains("```"));
    }
}

fn struct_with(fields: Vec<Field>, size_bytes: u64, align_bytes: u32) -> ValueType {
    ValueType::Struct(StructType { name: "params_t".to_owned(), fields, size_bytes, align_bytes })
}

fn field(name: &str, ty: ValueType, offset_bytes: u64) -> Field {
    Field { name: name.to_owned(), ty, offset_bytes }
}

/// The text for one kernel `k` that takes a value of this type.
fn text_of_value(ty: ValueType) -> String {
    let kernel = KernelSignature {
        name: "k".to_owned(),
        parameters: vec![Parameter { name: "p".to_owned(), kind: ParameterKind::Value(ty) }],
        required_work_group_size: Some([8, 4, 1]),
        uniform_work_groups: true,
        required_sub_group_size: None,
        aspects: Aspects::FP64,
        device_globals: Vec::new(),
    };
    text(&[(DeviceImage { kernels: vec![kernel], ..DeviceImage::default() }, Declarations::default())])
}

#[test]
fn padding_is_explicit() {
    let f32 = || ValueType::Scalar(Scalar::F32);
    let fields =
        vec![field("a", f32(), 0), field("b", ValueType::Vector(Scalar::F32, 4), 16), field("c", f32(), 32)];
    let text = text_of_value(struct_with(fields, 48, 16));
    assert!(text.contains("_padding: [u8; 12]"), "{text}");
    assert!(text.contains("_padding_: [u8; 12]"), "{text}");
    assert!(text.contains("offset_of!(Params, c) != 32"), "{text}");
    assert!(text.contains("pub const fn new(a: f32, b: ::oclave::vector::Float4, c: f32) -> Self"), "{text}");
    assert!(text.contains("Work-groups must have 8 × 4 × 1 work-items."), "{text}");
    assert!(text.contains("The device must have fp64."), "{text}");
}

#[test]
fn larger_alignment_is_asked_for() {
    let fields = vec![field("a", ValueType::Scalar(Scalar::I32), 0)];
    let text = text_of_value(struct_with(fields, 32, 32));
    assert!(text.contains("#[repr(C, align(32))]") && text.contains("_padding: [u8; 28]"), "{text}");
}

#[test]
fn layouts_that_rust_lacks_become_bytes() {
    let int = || ValueType::Scalar(Scalar::I32);
    for (fields, size, align) in [
        (vec![field("a", int(), 0), field("b", int(), 2)], 8, 4),
        (vec![field("a", ValueType::Scalar(Scalar::U8), 0), field("b", int(), 1)], 5, 1),
        (vec![field("a", int(), 0)], 6, 4),
        (vec![], 8, 4),
    ] {
        let text = text_of_value(struct_with(fields, size, align));
        assert!(text.contains(&format!("pub struct Params(pub [u8; {size}]);")), "{text}");
    }
}

#[test]
fn equal_structs_of_two_sources_are_one_type() {
    let ty = struct_with(vec![field("a", ValueType::Scalar(Scalar::I32), 0)], 4, 4);
    let part = |kernel: &str| {
        let kernel = KernelSignature {
            name: kernel.to_owned(),
            parameters: vec![Parameter { name: "p".to_owned(), kind: ParameterKind::Value(ty.clone()) }],
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects: Aspects::empty(),
            device_globals: Vec::new(),
        };
        let declared = KernelDeclaration { name: kernel.name.clone(), ..KernelDeclaration::default() };
        let declarations = Declarations { kernels: vec![declared], ..Declarations::default() };
        (DeviceImage { kernels: vec![kernel], ..DeviceImage::default() }, declarations)
    };
    let text = text(&[part("k"), part("l")]);
    assert_eq!(text.matches("pub struct Params").count(), 1, "{text}");
    assert!(text.contains("pub use super::part0::Params;"), "{text}");
}
