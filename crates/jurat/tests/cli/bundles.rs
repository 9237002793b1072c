//! What can be done with a bundle: check it again, render it again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{Desk, assert_valid, passed};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, &target).unwrap();
    }
}

#[test]
fn recheck_gives_the_code_of_the_verdict() {
    let desk = Desk::new();
    let result = desk
        .jurat(&["recheck", passed().to_str().unwrap(), "--json"])
        .exits(0)
        .json();
    assert_valid(&result);
    assert_eq!(result["verdict"], "pass");
    let done = desk.jurat(&["recheck", passed().to_str().unwrap()]).exits(0);
    assert!(done.out.is_empty() && done.err.contains("PASS"), "{}", done.err);
    desk.jurat(&["recheck", "/nonexistent"]).exits(3);
}

#[test]
fn one_flipped_byte_of_any_file_is_found_and_named() {
    let desk = Desk::new();
    let original = passed();
    let all = files(original);
    let picture = all.iter().any(|f| f.starts_with(original.join("blobs")));
    assert!(all.len() >= 10 && picture, "{all:?}");
    for (number, file) in all.iter().enumerate() {
        let name = file.strip_prefix(original).unwrap();
        let bundle = desk
            .dir
            .path()
            .join(number.to_string())
            .join(original.file_name().unwrap());
        copy(original, &bundle);
        let mut bytes = fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(bundle.join(name), bytes).unwrap();
        let done = desk.jurat(&["recheck", bundle.to_str().unwrap(), "--json"]).exits(3);
        let named = name.file_name().unwrap().to_str().unwrap();
        assert!(
            done.out.is_empty() && done.err.contains(named),
            "{}: {}",
            name.display(),
            done.err
        );
    }
}

#[test]
fn a_report_comes_from_the_bundle_alone() {
    let desk = Desk::new();
    let bundle = passed().to_str().unwrap();
    let html = desk.jurat(&["report", bundle]).exits(0).out;
    assert!(
        html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"),
        "{}",
        &html[..60]
    );
    assert_eq!(
        html.trim_end(),
        fs::read_to_string(passed().join("report.html")).unwrap().trim_end()
    );
    let file = desk.dir.path().join("report.json");
    desk.jurat(&["report", bundle, "--kind", "json", "--output", file.to_str().unwrap()])
        .exits(0);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert!(json.is_object());
    desk.jurat(&["report", "/nonexistent"]).exits(3);
}
