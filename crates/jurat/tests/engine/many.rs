//! Many runs in one browser: their order, and that none sees anything of another.

use std::collections::BTreeSet;
use std::path::Path;

use super::kit::{alone, contract, json, lines, serve};

/// Says `fresh` in a context that was never here before, `stale` in any other.
const PAGE: &str = "<!doctype html><title>Memory</title><link rel=icon href=data:,><p role=status></p><script>
const kept = localStorage.getItem('here') || sessionStorage.getItem('here') || document.cookie.includes('here=');
document.querySelector('p').textContent = kept ? 'stale' : 'fresh';
localStorage.setItem('here', '1'); sessionStorage.setItem('here', '1'); document.cookie = 'here=1; max-age=3600';
</script>";

const REST: &str = "viewports: [{ name: wide, width: 900, height: 600 }, { name: small, width: 390, height: 600 }]
steps:
  - navigate: PATH
  - expect: { text_equals: { role: status, value: fresh } }
  - reload: {}
  - expect: { text_equals: { role: status, value: stale } }";

#[test]
fn runs_keep_their_order_and_share_nothing() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let names = ["a", "b", "c"];
    let pages: Vec<_> = names.iter().map(|n| format!("/{n}")).collect();
    let site = serve(&pages.iter().map(|p| (p.as_str(), PAGE)).collect::<Vec<_>>());
    let files: Vec<String> = names
        .iter()
        .map(|name| {
            let path = desk.path().join(format!("{name}.yaml"));
            let text = contract(name, &site.origin(), &REST.replace("PATH", &format!("/{name}")));
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        })
        .collect();
    let evidence = desk.path().join("evidence").display().to_string();
    let mut args = vec!["verify"];
    args.extend(files.iter().map(String::as_str));
    args.extend(["--jobs", "2", "--repeat", "2", "--json", "--evidence-root", &evidence]);
    let (code, result) = json(&args);
    assert_eq!((code, result["verdict"].as_str()), (0, Some("pass")), "{result:#}");

    let runs = result["runs"].as_array().unwrap();
    let order: Vec<_> = runs.iter().map(|r| r["contract"].as_str().unwrap()).collect();
    let wanted: Vec<_> = files.iter().flat_map(|f| [f.as_str(), f.as_str()]).collect();
    assert_eq!(order, wanted, "in the order given, repetitions together");
    let ids: BTreeSet<_> = runs.iter().map(|r| r["run_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 6, "every run has a name of its own");

    // Twelve contexts, twelve listeners at the guard, and one browser.
    let mut listeners = BTreeSet::new();
    let mut browsers = BTreeSet::new();
    for (run, file) in runs.iter().zip(&wanted) {
        let own = format!("/{}", Path::new(file).file_stem().unwrap().display());
        for viewport in ["wide", "small"] {
            let mut mine = BTreeSet::new();
            for event in lines(&Path::new(run["bundle"].as_str().unwrap()).join("events.jsonl")) {
                let what = &event["what"];
                if what["event"] == "browser" {
                    browsers.insert(what["argv"].to_string());
                }
                if what["event"] == "guard" && event["viewport"] == viewport {
                    mine.insert(what["listener"].as_u64().unwrap());
                    let url = what["url"].as_str().unwrap();
                    assert!(url.ends_with(&own), "{url} is of another run than {own}");
                }
            }
            assert_eq!(mine.len(), 1, "{own} in {viewport} has one listener: {mine:?}");
            assert!(
                listeners.insert(mine.pop_first().unwrap()),
                "{own} in {viewport} shares its listener"
            );
        }
    }
    assert_eq!(listeners.len(), 12);
    assert!(
        !listeners.contains(&0),
        "the global listener belongs to the browser itself"
    );
    assert_eq!(browsers.len(), 1, "one browser, with one profile");
    assert_eq!(
        site.hits().len(),
        24,
        "each context loads and reloads, and asks for nothing else"
    );
    assert!(site.strangers().is_empty());
}
