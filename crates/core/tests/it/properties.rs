//! What holds for every text and every contract.

use jurat_core::aria::Template;
use jurat_core::contract::{Format, ParseOptions, as_json, canonical_json, contract_ref, parse, pattern, schema};
use proptest::prelude::*;
use serde_json::Value;

use crate::contracts::read;
use crate::generated::contract;

/// Every map of a value, by its JSON pointer.
fn maps(value: &Value, pointer: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            out.push(pointer.to_owned());
            for (key, field) in fields {
                maps(field, &format!("{pointer}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                maps(item, &format!("{pointer}/{i}"), out);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), remote in any::<bool>()) {
        let text = String::from_utf8_lossy(&bytes);
        for format in [Format::Yaml, Format::Json] {
            if let Err(errors) = parse(&text, format, &ParseOptions { allow_remote_target: remote }) {
                prop_assert!(errors.iter().count() > 0);
                prop_assert!(!errors.render("f", &text).to_string().is_empty());
            }
        }
    }

    #[test]
    fn no_yaml_like_text_makes_the_parser_panic(text in "(jurat: contract/1\n)?([a-z]{1,6}|steps|target|url|name|click|role|- |  |: |\\{|\\}|\\[|\\]|\"|'|\n|&a|\\*a|!|\\||>|#|\\?|,|\t|\u{e9}){0,60}") {
        for format in [Format::Yaml, Format::Json] {
            if let Err(errors) = parse(&text, format, &ParseOptions::default()) {
                prop_assert!(!errors.render("f", &text).to_string().is_empty());
            }
        }
        let _ = Template::parse(&text);
    }

    #[test]
    fn no_pattern_makes_the_compiler_panic(text in "[a-z0-9\\\\\\[\\](){}|*+?^$.,:<>=!/&~ -]{0,40}") {
        let _ = pattern::compile(&text);
    }

    #[test]
    fn a_contract_survives_its_own_canonical_bytes(value in contract()) {
        let text = value.to_string();
        let contract = read(&text, Format::Json).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let bytes = String::from_utf8(canonical_json(&contract)).unwrap();
        let again = read(&bytes, Format::Json).map_err(|e| TestCaseError::fail(format!("{e}\n{bytes}")))?;
        prop_assert_eq!(&again, &contract);
        prop_assert_eq!(contract_ref(&again), contract_ref(&contract));
        // Canonical JSON is YAML too, unless it holds an escape that YAML spells otherwise.
        if !bytes.contains('\\') {
            let yaml = read(&bytes, Format::Yaml).map_err(|e| TestCaseError::fail(format!("{e}\n{bytes}")))?;
            prop_assert_eq!(yaml, contract);
        }
    }

    #[test]
    fn a_key_with_a_slip_is_always_refused(value in contract(), which in any::<prop::sample::Index>(), key in any::<prop::sample::Index>()) {
        let mut pointers = Vec::new();
        maps(&value, "", &mut pointers);
        let mut slipped = value.clone();
        let map = slipped.pointer_mut(&pointers[which.index(pointers.len())]).and_then(Value::as_object_mut).unwrap();
        prop_assume!(!map.is_empty());
        let old = map.keys().nth(key.index(map.len())).unwrap().clone();
        let field = map.remove(&old).unwrap();
        map.insert(format!("{old}x"), field);
        prop_assert!(read(&slipped.to_string(), Format::Json).is_err(), "{}", slipped);
    }

    #[test]
    fn a_key_more_is_always_refused(value in contract(), which in any::<prop::sample::Index>()) {
        let mut pointers = Vec::new();
        maps(&value, "", &mut pointers);
        let mut more = value;
        let map = more.pointer_mut(&pointers[which.index(pointers.len())]).and_then(Value::as_object_mut).unwrap();
        map.insert("zzz".into(), Value::Null);
        prop_assert!(read(&more.to_string(), Format::Json).is_err(), "{}", more);
    }
}

#[test]
fn the_schema_accepts_generated_contracts() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&contract(), |value| {
            let value = as_json(&value.to_string(), Format::Json).unwrap();
            let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
            prop_assert!(errors.is_empty(), "{errors:?}\n{value}");
            Ok(())
        })
        .unwrap();
}
