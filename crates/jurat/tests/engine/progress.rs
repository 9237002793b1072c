//! Progress of a run: what a listener is told, in which order.

use std::sync::{Arc, Mutex};

use jurat::engine::{Listener, Progress};
use jurat_core::outcome::Answer;

use super::kit::{alone, contract, run, serve, settings};

const PAGE: &str = "<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1>";

#[test]
fn progress_comes_in_order() {
    let _alone = alone();
    let evidence = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let rest = "viewports: [{ name: wide, width: 900, height: 600 }, { name: small, width: 390, height: 600 }]
steps:
  - navigate: /
  - expect: { visible: { role: heading, name: Notes } }
expect:
  - { title_equals: Notes }";
    let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let listener: Listener = {
        let told = Arc::clone(&told);
        Arc::new(move |progress| told.lock().unwrap().push(progress))
    };
    let report = run(
        &contract("ordered", &site.origin(), rest),
        &settings(evidence.path()),
        listener,
    );
    assert_eq!(report.verdict.verdict, Answer::Pass, "{:?}", report.verdict);

    let told = told.lock().unwrap();
    let mut seen = Vec::new();
    for progress in told.iter() {
        seen.push(match progress {
            Progress::BrowserReady { product, .. } => {
                assert!(product.contains("Chrome/"), "{product}");
                "ready".to_owned()
            }
            Progress::RunBegun { run, name, criteria } => format!("begun {run} {name} {criteria}"),
            Progress::CriterionBegun {
                run,
                id,
                viewport,
                expected,
            } => {
                assert!(!expected.is_empty());
                format!("{run} {viewport} {id} begins")
            }
            Progress::CriterionEnded {
                run,
                id,
                viewport,
                outcome,
            } => format!("{run} {viewport} {id} {outcome}"),
            Progress::RunEnded {
                run,
                verdict,
                took,
                criteria,
            } => {
                assert_eq!(*criteria, report.verdict.criteria);
                assert_eq!(*took, report.took);
                format!("ended {run} {verdict}")
            }
            Progress::Held { .. } => "held".to_owned(),
        });
    }
    let mut expected = vec!["ready".to_owned(), "begun 0 contract.yaml 6".to_owned()];
    for viewport in ["wide", "small"] {
        for id in ["step-1", "step-2", "expect-1"] {
            expected.push(format!("0 {viewport} {id} begins"));
            expected.push(format!("0 {viewport} {id} pass"));
        }
    }
    expected.push("ended 0 pass".to_owned());
    assert_eq!(seen, expected);
}
