//! What is refused before anything runs.

use crate::kit::Desk;

#[test]
fn what_clap_refuses_is_exit_3_and_help_is_exit_0() {
    let desk = Desk::new();
    for args in [
        &["verify", "--nonsense"][..],
        &["nonsense"],
        &[],
        &["verify"],
        &["verify", "x.yaml", "--jobs", "0"],
        &["verify", "x.yaml", "--accept-confinement", "moat"],
    ] {
        let done = desk.jurat(args).exits(3);
        assert!(done.out.is_empty() && !done.err.is_empty(), "{args:?}: {}", done.out);
    }
    for args in [
        &["--help"][..],
        &["--version"],
        &["verify", "--help"],
        &["help", "init"],
    ] {
        let done = desk.jurat(args).exits(0);
        assert!(done.err.is_empty() && !done.out.is_empty(), "{args:?}: {}", done.err);
    }
    assert!(!desk.evidence().exists());
}

#[test]
fn a_bad_contract_is_refused_at_its_place() {
    let desk = Desk::new();
    let bad = desk.contract("bad", "http://127.0.0.1:1", "steps:\n  - clik: { role: button }");
    let good = desk.contract("good", "http://127.0.0.1:1", "steps:\n  - navigate: /");
    let done = desk.verify(&bad, &["--json"]).exits(3);
    assert!(done.out.is_empty(), "{}", done.out);
    assert!(done.err.contains(&format!("{}:5:5:", bad.display())), "{}", done.err);
    assert!(
        done.err.contains("click"),
        "it says what to write instead: {}",
        done.err
    );

    // One refused of many: nothing is run, and every refused one is told.
    let absent = desk.dir.path().join("absent.yaml");
    let (good, bad, absent) = (good.to_str().unwrap(), bad.to_str().unwrap(), absent.to_str().unwrap());
    let done = desk.jurat(&["verify", good, bad, absent]).exits(3);
    assert!(
        done.err.contains("bad.yaml:5:5") && done.err.contains("absent.yaml"),
        "{}",
        done.err
    );
    assert!(done.err.contains("nothing was run"), "{}", done.err);
    assert_eq!(desk.bundles(), 0);
}

#[test]
fn what_is_not_built_yet_is_refused_by_name() {
    let desk = Desk::new();
    let cases = [("accept", "accept: it works"), ("checks", "checks: [keyboard]")];
    for (name, rest) in cases {
        let target = "url: http://127.0.0.1:1/";
        let text = format!("jurat: contract/1\nname: x\ntarget: {{ {target} }}\n{rest}\n");
        let contract = desk.file(&format!("{name}.yaml"), &text);
        let done = desk.verify(&contract, &[]).exits(3);
        assert!(done.err.contains(name) && done.err.contains("yet"), "{}", done.err);
        assert!(done.out.is_empty());
    }
    assert_eq!(desk.bundles(), 0);
}

#[test]
fn a_bad_url_or_report_is_refused() {
    let desk = Desk::new();
    let contract = desk.contract("c", "http://127.0.0.1:1", "steps:\n  - navigate: /");
    for more in [
        &["--url", "ftp://127.0.0.1/"][..],
        &["--url", "http://example.com/"],
        &["--url", "http://a:b@127.0.0.1/"],
        &["--report", "pdf=x"],
    ] {
        let done = desk.verify(&contract, more).exits(3);
        assert!(done.out.is_empty() && done.err.contains(more[0]), "{}", done.err);
    }
}

#[test]
fn no_browser_is_exit_4_and_leaves_nothing() {
    let desk = Desk::new();
    let contract = desk.contract("c", "http://127.0.0.1:1", "steps:\n  - navigate: /");
    let done = desk
        .verify(&contract, &["--json", "--browser", "/nonexistent/chromium"])
        .exits(4);
    assert!(
        done.out.is_empty() && done.err.contains("/nonexistent/chromium"),
        "{}",
        done.err
    );
    // One that is there and is no browser.
    let done = desk.verify(&contract, &["--browser", "/bin/false"]).exits(4);
    assert!(done.err.contains("/bin/false"), "{}", done.err);
    assert_eq!(desk.bundles(), 0);
}
