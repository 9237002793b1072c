//! `jurat doctor`.

use crate::kit::Desk;

#[test]
fn where_a_verify_can_run_it_says_so() {
    let desk = Desk::new();
    let done = desk.jurat(&["doctor", "--json"]).exits(0);
    let all = done.json();
    assert_eq!(all["schema"], "jurat.doctor/1");
    assert_eq!(all["ready"], true);
    let findings = all["findings"].as_array().unwrap();
    for name in [
        "browser",
        "starts",
        "sandbox",
        "confinement",
        "bubblewrap",
        "/dev/shm",
        "temp",
        "evidence",
    ] {
        assert!(
            findings.iter().any(|f| f["name"] == name && f["found"].is_string()),
            "{name}"
        );
    }
    let confinement = findings.iter().find(|f| f["name"] == "confinement").unwrap();
    assert_eq!(
        (confinement["state"].as_str(), confinement["found"].as_str()),
        (Some("good"), Some("lane, and netns is accepted")),
        "{confinement}"
    );
    let starts = findings.iter().find(|f| f["name"] == "starts").unwrap();
    assert!(starts["found"].as_str().unwrap().contains("Chrom"), "{starts}");
    assert!(!desk.evidence().exists(), "looking makes nothing");
}

#[test]
fn without_a_browser_it_says_what_to_do() {
    let desk = Desk::new();
    let done = desk.jurat(&["doctor", "--browser", "/nonexistent/chromium"]).exits(4);
    assert!(done.err.is_empty(), "{}", done.err);
    assert!(!done.out.contains('\u{1b}'), "no colour where there is no terminal");
    for part in ["✗", "/nonexistent/chromium", "→", "snap"] {
        assert!(done.out.contains(part), "{part:?} is not in {}", done.out);
    }
}
