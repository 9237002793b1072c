//! Any text as a contract, in both formats. It is refused with an error that points into the text, or its canonical form is a
//! contract with the same identity.
#![no_main]

use jurat_core::contract::{Format, ParseOptions, canonical_json, contract_ref, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let options = ParseOptions {
        allow_remote_target: true,
    };
    for format in [Format::Yaml, Format::Json] {
        let Ok(contract) = parse(text, format, &options) else {
            continue;
        };
        let canonical = canonical_json(&contract);
        let again = std::str::from_utf8(&canonical)
            .ok()
            .and_then(|text| parse(text, Format::Json, &options).ok());
        assert_eq!(
            again.as_ref().map(contract_ref),
            Some(contract_ref(&contract)),
            "{}",
            String::from_utf8_lossy(&canonical)
        );
    }
});
