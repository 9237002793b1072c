//! The report of a fail, opened in a browser and judged by a contract of jurat's own.

use std::path::Path;

use jurat_core::outcome::Answer;

use super::kit::{alone, contract, deaf, json, run, serve, serve_folder, settings};

const PAGE: &str =
    "<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1><p role=status>2 notes</p>";

const REST: &str = "steps:
  - navigate: /
  - expect: { text_equals: { role: status, value: 3 notes } }
budget: { step: 1s }";

#[test]
fn the_report_of_a_fail_holds_its_own_contract() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let failed = run(
        &contract("three notes", &site.origin(), REST),
        &settings(&desk.path().join("judged")),
        deaf(),
    );
    assert_eq!(failed.verdict.verdict, Answer::Fail, "{:#?}", failed.verdict);

    let shown = serve_folder(&failed.bundle);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/report/contract.yaml");
    let url = format!("{}/report.html", shown.origin());
    let evidence = desk.path().join("report").display().to_string();
    let (code, result) = json(&[
        "verify",
        example.to_str().unwrap(),
        "--url",
        &url,
        "--json",
        "--evidence-root",
        &evidence,
    ]);
    let criteria = result["runs"][0]["criteria"].as_array().unwrap();
    let other: Vec<_> = criteria.iter().filter(|c| c["outcome"] != "pass").collect();
    assert_eq!((code, result["verdict"].as_str()), (0, Some("pass")), "{other:#?}");
    assert_eq!(criteria.len(), 38, "19 in each of two viewports");
    assert_eq!(result["runs"][0]["violations"].as_array().unwrap().len(), 0);

    // One request in each viewport, for the page itself; none went anywhere else.
    let asked: Vec<_> = shown.hits().into_iter().map(|hit| (hit.method, hit.path)).collect();
    assert_eq!(
        asked,
        [
            ("GET".to_owned(), "/report.html".to_owned()),
            ("GET".to_owned(), "/report.html".to_owned())
        ]
    );
    assert!(shown.strangers().is_empty());
}
