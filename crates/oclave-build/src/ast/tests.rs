//! Small trees written by hand: what compilers differ in, and what must stay unknown. Real trees:
//! `tests/program.rs`.

use oclave_image::{Scalar, ValueType};
use serde_json::{Value, json};

use super::*;

fn declarations(nodes: Value) -> Declarations {
    let tree = json!({"id": "0x1", "kind": "TranslationUnitDecl", "inner": nodes});
    // `kind` must come before `inner`, as clang writes it; the map of serde_json is sorted, where
    // it does not.
    let text = in_clangs_order(&tree);
    Declarations::parse(text.as_bytes(), b"line 1\nline 2\n").unwrap()
}

fn in_clangs_order(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let (inner, rest): (Vec<_>, Vec<_>) = map.iter().partition(|(key, _)| *key == "inner");
            let (kind, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(key, _)| *key == "kind");
            let fields: Vec<String> = kind
                .into_iter()
                .chain(rest)
                .chain(inner)
                .map(|(key, value)| format!("{}: {}", json!(key), in_clangs_order(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(in_clangs_order).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn kernel(attribute: &str, ty: &str) -> Value {
    json!({"id": "0x9", "kind": "FunctionDecl", "name": "k", "loc": {"offset": 8}, "inner": [
        {"id": "0xa", "kind": "ParmVarDecl", "name": "p", "type": {"qualType": ty}},
        {"id": "0xb", "kind": "CompoundStmt"},
        {"id": "0xc", "kind": attribute},
    ]})
}

fn record(body: Value) -> Value {
    let mut node = json!({"id": "0x2", "kind": "CXXRecordDecl", "name": "R", "tagUsed": "struct",
        "completeDefinition": true});
    node.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    node
}

fn int_field(name: &str) -> Value {
    json!({"kind": "FieldDecl", "name": name, "type": {"qualType": "int"}})
}

/// The type of the only parameter of `k`.
fn parameter_type(nodes: Value) -> ParameterType {
    declarations(nodes).kernels[0].parameters[0].kind.clone()
}

#[test]
fn both_spellings_of_the_kernel_attribute_count() {
    for attribute in ["OpenCLKernelAttr", "DeviceKernelAttr"] {
        let found = declarations(json!([kernel(attribute, "__global int *__private")]));
        assert_eq!(found.kernels.len(), 1, "{attribute}");
        assert_eq!(found.kernels[0].line, Some(2));
        assert_eq!(found.kernels[0].parameters[0].text, "global int *");
    }
    assert!(declarations(json!([kernel("AnnotateAttr", "int")])).kernels.is_empty());
}

#[test]
fn deep_expressions_do_not_stop_the_reader() {
    let mut expression = json!({"kind": "IntegerLiteral"});
    for _ in 0..100 {
        expression = json!({"kind": "BinaryOperator", "inner": [expression]});
    }
    let mut node = kernel("OpenCLKernelAttr", "int");
    node["inner"][1]["inner"] = json!([expression]);
    // Deeper than a recursive reader goes: 5000 more levels, put in as text.
    let text = in_clangs_order(&json!({"id": "0x1", "kind": "TranslationUnitDecl", "inner": [node]}));
    let deep = format!(
        "{}{}{}",
        "{\"kind\": \"BinaryOperator\", \"inner\": [".repeat(5000),
        "{\"kind\": \"IntegerLiteral\"}",
        "]}".repeat(5000)
    );
    let text = text.replacen("{\"kind\": \"IntegerLiteral\"}", &deep, 1);
    assert_eq!(Declarations::parse(text.as_bytes(), b"").unwrap().kernels.len(), 1);
}

#[test]
fn layouts_in_doubt_are_unknown() {
    let plain = record(json!({"inner": [int_field("a")]}));
    let known = parameter_type(json!([plain, kernel("OpenCLKernelAttr", "__private struct R")]));
    assert!(matches!(known, ParameterType::Value(Some(ValueType::Struct(_)))), "{known:?}");
    for doubtful in [
        json!({"inner": [int_field("a")], "bases": [{"type": {"qualType": "B"}}]}),
        json!({"inner": [int_field("a")], "definitionData": {"isPolymorphic": true}}),
        json!({"inner": [int_field("a"), {"kind": "MaxFieldAlignmentAttr"}]}),
        json!({"inner": [{"kind": "FieldDecl", "name": "a", "isBitfield": true, "type": {"qualType": "int"}}]}),
        json!({"inner": [{"kind": "FieldDecl", "name": "a", "type": {"qualType": "who_knows"}}]}),
        json!({"inner": [int_field("a"), {"kind": "AlignedAttr"}]}),
        json!({"inner": []}),
        json!({"inner": [int_field("a")], "completeDefinition": false}),
    ] {
        let found = parameter_type(json!([
            record(doubtful.clone()),
            kernel("OpenCLKernelAttr", "__private struct R")
        ]));
        assert_eq!(found, ParameterType::Value(None), "{doubtful}");
    }
}

#[test]
fn types_that_name_themselves_end() {
    let typedef =
        |name: &str, ty: &str| json!({"kind": "TypedefDecl", "name": name, "type": {"qualType": ty}});
    let circle = json!([typedef("a", "b"), typedef("b", "a"), kernel("OpenCLKernelAttr", "a")]);
    assert_eq!(parameter_type(circle), ParameterType::Value(None));
    let own =
        record(json!({"inner": [{"kind": "FieldDecl", "name": "a", "type": {"qualType": "struct R"}}]}));
    assert_eq!(
        parameter_type(json!([own, kernel("OpenCLKernelAttr", "struct R")])),
        ParameterType::Value(None)
    );
}

#[test]
fn pointers_hide_in_typedefs() {
    let mut node = kernel("OpenCLKernelAttr", "__private floats");
    node["inner"][0]["type"]["desugaredQualType"] = json!("const __global float *");
    assert_eq!(
        parameter_type(json!([node])),
        ParameterType::Pointer { access: Access::Read, pointee: Some(ValueType::Scalar(Scalar::F32)) }
    );
}

#[test]
fn a_definition_wins_over_declarations() {
    let variable = |class: &str, init: bool| {
        let mut node = json!({"kind": "VarDecl", "name": "v", "mangledName": "v", "loc": {"offset": 0},
            "type": {"qualType": "__global int"}});
        if !class.is_empty() {
            node["storageClass"] = json!(class);
        }
        if init {
            node["init"] = json!("c");
        }
        node
    };
    let found =
        declarations(json!([variable("extern", false), variable("", true), variable("extern", false)]));
    assert_eq!(found.variables.len(), 1);
    assert!(!found.variables[0].is_extern);
    assert!(declarations(json!([variable("extern", false)])).variables[0].is_extern);
}

#[test]
fn bytes_that_are_no_tree_are_an_error() {
    for text in ["", "{", "[]", "null", "{\"kind\": 3}", "warning: nothing\n{}"] {
        assert!(Declarations::parse(text.as_bytes(), b"").is_err(), "{text}");
    }
}
