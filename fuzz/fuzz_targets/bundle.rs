//! Any bytes as the files of a bundle. It is refused, naming the file that is wrong, or opens; it never panics.
//!
//! An input without a seal is sealed here, over whatever it holds, so that the fuzzer gets past the digests.
#![no_main]

use std::collections::BTreeMap;

use jurat_core::canon::{Digest, to_canonical};
use jurat_evidence::Bundle;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

type Files = BTreeMap<String, Vec<u8>>;

fuzz_target!(|data: &[u8]| {
    let mut files = split(data);
    if !files.contains_key("seal.json") {
        name_entries(&mut files);
        seal(&mut files);
    }
    if let Ok(bundle) = Bundle::from_memory(files.clone()) {
        // What opened is whole: without any one of its files it does not open.
        for name in files.keys() {
            let mut fewer = files.clone();
            fewer.remove(name);
            assert!(Bundle::from_memory(fewer).is_err(), "opened without {name}");
        }
        let _ = bundle.verdict();
    }
});

/// A line `# NAME` begins a file; the file ends before the newline in front of the next such line.
fn split(data: &[u8]) -> Files {
    let mut files = Files::new();
    let mut name = None;
    for line in data.split(|byte| *byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b"# ") {
            let next = String::from_utf8_lossy(rest).into_owned();
            files.insert(next.clone(), Vec::new());
            name = Some(next);
        } else if let Some(bytes) = name.as_ref().and_then(|name| files.get_mut(name)) {
            if !bytes.is_empty() {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(line);
        }
    }
    files
}

fn sealed(bytes: &[u8]) -> Value {
    json!({ "bytes": bytes.len(), "sha256": hex(bytes) })
}

fn hex(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string().trim_start_matches("sha256:").to_owned()
}

/// Gives the entries of the manifest the length and digest of the files that they name.
fn name_entries(files: &mut Files) {
    let Some(Ok(mut manifest)) = files
        .get("manifest.json")
        .map(|bytes| serde_json::from_slice::<Value>(bytes))
    else {
        return;
    };
    for entry in manifest
        .get_mut("entries")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let Some(bytes) = entry
            .get("path")
            .and_then(Value::as_str)
            .and_then(|path| files.get(path))
        else {
            continue;
        };
        let (length, digest) = (json!(bytes.len()), json!(hex(bytes)));
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("bytes".to_owned(), length);
            entry.insert("sha256".to_owned(), digest);
        }
    }
    if let Ok(bytes) = to_canonical(&manifest) {
        files.insert("manifest.json".to_owned(), bytes);
    }
}

fn seal(files: &mut Files) {
    let part = |name: &str| sealed(files.get(name).map_or(&[], Vec::as_slice));
    let run_id = files
        .get("manifest.json")
        .and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok())
        .and_then(|manifest| manifest.get("run_id").cloned())
        .unwrap_or(Value::Null);
    let mut body = json!({
        "schema": "jurat.seal/1",
        "run_id": run_id,
        "manifest": part("manifest.json"),
        "statement": part("statement.dsse.json"),
        "report": part("report.html"),
    });
    let Ok(canonical) = to_canonical(&body) else { return };
    body["seal"] = json!(hex(&canonical));
    if let Ok(bytes) = to_canonical(&body) {
        files.insert("seal.json".to_owned(), bytes);
    }
}
