//! What a bundle proves: its verdict follows from its facts, whoever seals it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jurat::engine::{self, Format, ParseOptions, RecheckError};
use jurat_core::canon::to_canonical;
use jurat_core::confinement::Level;
use jurat_core::observation::Record;
use jurat_core::outcome::Answer;
use jurat_core::plan::Plan;
use jurat_core::verdict::{Verdict, judge};
use jurat_evidence::{Bundle, reseal};
use serde_json::{Value, json};

use super::edits::{Change, EDITS, edit, event};
use super::kit::{alone, contract, copy, deaf, files, run, serve, settings};

const PAGE: &str = "<!doctype html><title>Notes</title><link rel=icon href=data:,>
<form><label>New note <input></label> <button>Add</button></form><p role=status></p><ul aria-label=Notes></ul>
<script>
document.querySelector('form').onsubmit = event => {
  event.preventDefault();
  const item = document.createElement('li');
  item.textContent = document.querySelector('input').value;
  document.querySelector('ul').append(item);
  document.querySelector('p').textContent = 'Saved';
};
</script>";

const REST: &str = "steps:
  - navigate: /
  - { id: write, fill: { label: New note, value: buy milk } }
  - { id: add, click: { role: button, name: Add } }
  - { id: said, expect: { text_equals: { role: status, value: Saved } } }
expect:
  - { id: listed, visible: { text: buy milk } }
  - { id: quiet, console_clean: {} }
  - { id: address, url_is: / }
capture: { screenshot: always }";

/// A real pass and a real fail, made once: the second page never says that it saved.
fn bundles() -> &'static [PathBuf; 2] {
    static BUNDLES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    BUNDLES.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("engine-recheck-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let make = |page: &str, expected: Answer| {
            let site = serve(&[("/", page)]);
            let rest = format!(
                "{REST}\nbudget: {{ step: {} }}",
                if expected == Answer::Pass { "10s" } else { "1s" }
            );
            let report = run(&contract("notes", &site.origin(), &rest), &settings(&root), deaf());
            assert_eq!(report.verdict.verdict, expected, "{:#?}", report.verdict);
            assert!(report.bundle.is_absolute());
            assert_eq!(engine::recheck(&report.bundle).unwrap().verdict, report.verdict);
            report.bundle
        };
        [
            make(PAGE, Answer::Pass),
            make(&PAGE.replace("= 'Saved'", "= 'Done'"), Answer::Fail),
        ]
    })
}

/// The verdict that the facts in a directory give, whatever its `verdict.json` says.
fn facts_give(bundle: &Path) -> Verdict {
    let bundle = Bundle::open(bundle).unwrap();
    let text = String::from_utf8(bundle.contract().to_vec()).unwrap();
    let contract = engine::parse(&text, Format::Json, &ParseOptions::default()).unwrap();
    let plan: Plan = serde_json::from_slice(bundle.plan()).unwrap();
    let of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let record = Record {
        observations: of(bundle.observations())
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect(),
        events: of(bundle.events())
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect(),
    };
    judge(&contract, &plan, &record)
}

/// Demands that a bundle whose digests all agree is refused, because of this file.
#[track_caller]
fn refused(bundle: &Path, file: &str) -> String {
    Bundle::open(bundle).unwrap();
    match engine::recheck(bundle) {
        Err(RecheckError::Disagrees { file: named, why }) => {
            assert_eq!(named, file, "{why}");
            why
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edited_fact_gives_another_verdict_however_it_is_sealed() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    for (i, edited) in EDITS.iter().enumerate() {
        let place = desk.path().join(i.to_string());
        fs::create_dir(&place).unwrap();
        let bundle = copy(&bundles()[0], &place);
        assert!(
            edit(&bundle.join(edited.file), edited.change) > 0,
            "{}: nothing to edit",
            edited.what
        );
        assert!(
            matches!(engine::recheck(&bundle), Err(RecheckError::Audit(_))),
            "{}: the seal holds",
            edited.what
        );

        reseal(&bundle, |_| {}).unwrap();
        let why = refused(&bundle, "verdict.json");
        let derived = facts_give(&bundle);
        assert_eq!(derived.verdict, edited.verdict, "{}: {derived:#?}", edited.what);
        assert!(
            derived.reasons.iter().any(|r| r == edited.reason),
            "{}: {:?}",
            edited.what,
            derived.reasons
        );
        assert!(why.contains(edited.verdict.as_str()), "{}: {why}", edited.what);

        // With the verdict that follows, all agrees again; with any other, the statement is refused.
        fs::write(bundle.join("verdict.json"), to_canonical(&derived).unwrap()).unwrap();
        reseal(&bundle, |_| {}).unwrap();
        refused(&bundle, "statement.dsse.json");
        reseal(&bundle, |predicate| predicate.verdict = derived.verdict).unwrap();
        assert_eq!(
            engine::derive(&Bundle::open(&bundle).unwrap()).unwrap(),
            derived,
            "{}",
            edited.what
        );
    }
}

#[test]
fn a_fail_that_is_called_a_pass_is_refused() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let bundle = copy(&bundles()[1], desk.path());
    let path = bundle.join("verdict.json");
    let mut verdict: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    verdict["verdict"] = json!("pass");
    verdict["reasons"] = json!([]);
    for criterion in verdict["criteria"].as_array_mut().unwrap() {
        criterion["outcome"] = json!("pass");
        criterion["reasons"] = json!([]);
    }
    fs::write(&path, to_canonical(&verdict).unwrap()).unwrap();
    reseal(&bundle, |predicate| predicate.verdict = Answer::Pass).unwrap();
    assert!(refused(&bundle, "verdict.json").contains("fail"));

    // The statement alone cannot say otherwise either.
    fs::write(&path, fs::read(bundles()[1].join("verdict.json")).unwrap()).unwrap();
    reseal(&bundle, |predicate| predicate.verdict = Answer::Pass).unwrap();
    refused(&bundle, "statement.dsse.json");
}

#[test]
fn a_plan_that_does_not_follow_is_refused() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let changes: [(&str, Change); 6] = [
        ("fewer criteria", |p| p["criteria"].as_array_mut().unwrap().truncate(1)),
        ("another order of actions", |p| {
            p["criteria"][3]["after_action"] = json!(0)
        }),
        ("a further origin", |p| p["allow"] = json!(["http://127.0.0.1:9"])),
        ("no viewport", |p| p["viewports"] = json!([])),
        ("another budget", |p| p["wall_ms"] = json!(1)),
        ("another contract", |p| {
            p["contract_ref"] = json!(format!("sha256:{}", "0".repeat(64)))
        }),
    ];
    for (i, (what, change)) in changes.into_iter().enumerate() {
        let place = desk.path().join(i.to_string());
        fs::create_dir(&place).unwrap();
        let bundle = copy(&bundles()[0], &place);
        let path = bundle.join("plan.json");
        let mut plan: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let before = plan.clone();
        change(&mut plan);
        assert_ne!(plan, before, "{what}");
        fs::write(&path, to_canonical(&plan).unwrap()).unwrap();
        reseal(&bundle, |_| {}).unwrap();
        assert!(!refused(&bundle, "plan.json").is_empty(), "{what}");
    }
}

/// The level that was demanded is part of the plan, so a weaker one is another plan with another verdict, and says so.
#[test]
fn a_weaker_demand_does_not_turn_a_sealed_verdict() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let mut strict = settings(&desk.path().join("evidence"));
    strict.level = Some(Level::GuardOnly);
    let report = run(&contract("notes", &site.origin(), REST), &strict, deaf());
    assert_eq!(report.verdict.verdict, Answer::Inconclusive);
    assert_eq!(report.verdict.reasons, ["confinement_insufficient"]);

    let bundle = copy(&report.bundle, desk.path());
    demand(&bundle, "guard_only");
    reseal(&bundle, |_| {}).unwrap();
    assert!(refused(&bundle, "verdict.json").contains("pass"));
    reseal(&bundle, |predicate| predicate.verdict = Answer::Pass).unwrap();
    refused(&bundle, "verdict.json");
    // Whoever rewrites the verdict too has another run: one that says what it accepted.
    let derived = facts_give(&bundle);
    fs::write(bundle.join("verdict.json"), to_canonical(&derived).unwrap()).unwrap();
    reseal(&bundle, |predicate| predicate.verdict = derived.verdict).unwrap();
    let rechecked = engine::recheck(&bundle).unwrap();
    assert_eq!(rechecked.verdict.verdict, Answer::Pass);
    assert_eq!(
        rechecked.verdict.confinement, report.verdict.confinement,
        "what held is a fact, and stays one"
    );
    let html = engine::report(&bundle, "html").unwrap();
    assert!(html.contains("guard_only, which this run accepted in so many words"));

    // The other way round, a pass at this level is none where more is demanded.
    let mut weaker = settings(&desk.path().join("evidence"));
    weaker.level = Some(Level::Netns);
    let netns = run(&contract("notes", &site.origin(), REST), &weaker, deaf());
    assert_eq!(netns.verdict.verdict, Answer::Pass);
    let stricter = desk.path().join("stricter");
    fs::create_dir(&stricter).unwrap();
    let bundle = copy(&netns.bundle, &stricter);
    demand(&bundle, "lane");
    reseal(&bundle, |_| {}).unwrap();
    assert!(refused(&bundle, "verdict.json").contains("inconclusive"));

    // And a level that did not hold cannot be claimed for the same verdict.
    let claimed = desk.path().join("claimed");
    fs::create_dir(&claimed).unwrap();
    let bundle = copy(&netns.bundle, &claimed);
    let raise = |line: &mut Value| {
        if let Some(what) = event(line, "confinement") {
            what["level"] = json!("lane");
        }
    };
    assert_eq!(edit(&bundle.join("events.jsonl"), raise), 1);
    reseal(&bundle, |_| {}).unwrap();
    refused(&bundle, "verdict.json");
}

fn demand(bundle: &Path, level: &str) {
    let path = bundle.join("plan.json");
    let mut plan: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    plan["accept_confinement"] = json!(level);
    fs::write(&path, to_canonical(&plan).unwrap()).unwrap();
}

#[test]
fn one_flipped_byte_in_any_file_is_found_and_named() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let bundle = copy(&bundles()[0], desk.path());
    let all = files(&bundle);
    assert!(all.len() >= 9, "{all:?}");
    for file in all {
        let whole = fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        fs::write(&file, &flipped).unwrap();
        let name = file.strip_prefix(&bundle).unwrap().display().to_string();
        let error = engine::recheck(&bundle).unwrap_err().to_string();
        assert!(error.contains(&name), "{name}: {error}");
        fs::write(&file, whole).unwrap();
    }
    engine::recheck(&bundle).unwrap();
}

#[test]
fn a_verdict_comes_from_disk_alone_and_is_the_same_each_time() {
    let _alone = alone();
    let bundle = &bundles()[0];
    let sealed = fs::read(bundle.join("verdict.json")).unwrap();
    for _ in 0..3 {
        let rechecked = engine::recheck(bundle).unwrap();
        assert_eq!(to_canonical(&rechecked.verdict).unwrap(), sealed);
        assert_eq!((rechecked.contract_name.as_str(), &rechecked.bundle), ("notes", bundle));
        assert_eq!(bundle.file_name().unwrap().to_str(), Some(rechecked.run_id.as_str()));
    }
    assert_eq!(
        fs::read_to_string(bundle.join("report.html")).unwrap(),
        engine::report(bundle, "html").unwrap()
    );
}
