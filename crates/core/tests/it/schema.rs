//! The published schema against the parser.

use jsonschema::Validator;
use jurat_core::contract::{as_json, schema};
use serde_json::Value;

use crate::contracts::{format, text, vectors};

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

#[test]
fn it_is_a_schema() {
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

#[test]
fn it_accepts_every_contract_of_the_vectors() {
    let validator = validator();
    for group in vectors()["same"].as_array().unwrap() {
        for (i, variant) in group["variants"].as_array().unwrap().iter().enumerate() {
            let value = as_json(&text(variant, "text"), format(variant)).unwrap();
            let errors: Vec<String> = validator
                .iter_errors(&value)
                .map(|e| format!("{} at {}", e, e.instance_path()))
                .collect();
            assert!(
                errors.is_empty(),
                "{}, variant {i}: {}",
                group["name"],
                errors.join("\n")
            );
        }
        let canonical: Value = serde_json::from_str(&text(group, "canonical")).unwrap();
        assert!(validator.is_valid(&canonical), "{}", group["name"]);
    }
}

#[test]
fn it_refuses_what_has_the_wrong_shape() {
    let validator = validator();
    let mut accepted = Vec::new();
    for vector in vectors()["refused"].as_array().unwrap() {
        if vector["structural"] == true {
            let value = as_json(&text(vector, "text"), format(vector)).unwrap();
            if validator.is_valid(&value) {
                accepted.push(text(vector, "name"));
            }
        }
    }
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
}

#[test]
fn every_field_has_a_description() {
    fn walk(value: &Value, path: &str, missing: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    for (key, property) in properties {
                        let described = property.get("description").is_some() || property.get("$ref").is_some();
                        let constraint = property
                            .as_object()
                            .is_some_and(|p| p.len() == 1 && p.contains_key("const"));
                        if !described && !constraint && key != "target" {
                            missing.push(format!("{path}/{key}"));
                        }
                    }
                }
                for (key, field) in fields {
                    walk(field, &format!("{path}/{key}"), missing);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path, missing)),
            _ => {}
        }
    }
    let mut missing = Vec::new();
    walk(&schema(), "", &mut missing);
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_committed_schema_is_fresh() {
    let committed: Value = serde_json::from_str(include_str!("../../../../schemas/contract.json")).unwrap();
    assert_eq!(committed, schema(), "write it with: cargo xtask schemas");
}
