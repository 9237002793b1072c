//! Vectors of RFC 8785: its appendix B (numbers), its section 3.2 (structure and the order of keys).
//!
//! Our canonical JSON refuses floats, so the numbers are held against the serialiser that it stands on.

use jurat_core::canon::to_canonical;
use serde_json::{Value, json};

#[test]
fn numbers_are_written_as_ecmascript_does() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/rfc8785.json")).unwrap();
    for vector in vectors["numbers"].as_array().unwrap() {
        let bits = u64::from_str_radix(vector["ieee754"].as_str().unwrap(), 16).unwrap();
        let number = f64::from_bits(bits);
        match vector["text"].as_str() {
            Some(text) => {
                assert_eq!(serde_json_canonicalizer::to_string(&number).unwrap(), text);
                assert!(to_canonical(&number).is_err(), "{text} is a float");
            }
            None => assert!(
                serde_json_canonicalizer::to_string(&number).is_err(),
                "{bits:x} is no number"
            ),
        }
    }
}

#[test]
fn structures_are_written_as_the_rfc_says() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/rfc8785.json")).unwrap();
    for vector in vectors["structures"].as_array().unwrap() {
        let value: Value = serde_json::from_str(vector["in"].as_str().unwrap()).unwrap();
        let out = String::from_utf8(to_canonical(&value).unwrap()).unwrap();
        assert_eq!(out, vector["out"].as_str().unwrap());
        let again: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            to_canonical(&again).unwrap(),
            out.as_bytes(),
            "writing twice changes nothing"
        );
    }
    assert_eq!(to_canonical(&json!({})).unwrap(), b"{}");
}
