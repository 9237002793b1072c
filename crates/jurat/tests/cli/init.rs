//! `jurat init` on the bundled app: the contract passes there, and not on what is broken.

use std::fs;
use std::path::Path;

use jurat_testkit::site::Site;
use serde_json::Value;

use crate::kit::{Desk, serve};

#[test]
fn the_contract_passes_on_the_app_and_not_on_broken_twins() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let app = fs::read_to_string(demo.join("app/index.html")).unwrap();
    let twins: Value = serde_json::from_slice(&fs::read(demo.join("twins.json")).unwrap()).unwrap();
    let (desk, site) = (Desk::new(), serve(&app));
    let file = desk.dir.path().join("first.yaml");
    let path = file.to_str().unwrap();
    let done = desk.jurat(&["init", &site.origin(), "-o", path]).exits(0);
    assert!(done.out.is_empty(), "{}", done.out);
    let text = fs::read_to_string(&file).unwrap();
    for part in [
        "# A first contract",
        "jurat verify",
        "fill: { label: New note",
        "name: Add",
        "reload: {}",
        "text: Saved",
        "console_clean",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}\n{}", done.err);
    }
    assert_eq!(desk.bundles(), 0, "what it tried is no evidence");
    desk.jurat(&["init", &site.origin(), "-o", path]).exits(3);

    // The app itself and its twins, each at an origin of its own, in one browser.
    let mut sites: Vec<(String, Site)> = vec![("app".into(), site)];
    for twin in twins["twins"].as_array().unwrap() {
        let (find, replace) = (twin["find"].as_str().unwrap(), twin["replace"].as_str().unwrap());
        sites.push((
            twin["name"].as_str().unwrap().to_owned(),
            serve(&app.replace(find, replace)),
        ));
    }
    let origin = sites[0].1.origin();
    let contracts: Vec<String> = sites
        .iter()
        .map(|(name, twin)| {
            let text = format!("{}budget: {{ step: 2s }}\n", text.replace(&origin, &twin.origin()));
            desk.file(&format!("{name}.yaml"), &text).display().to_string()
        })
        .collect();
    let mut args = vec!["verify", "--json", "--jobs", "2"];
    args.extend(contracts.iter().map(String::as_str));
    let result = desk.jurat(&args).json();
    let verdicts: Vec<(&str, &str)> = sites
        .iter()
        .zip(result["runs"].as_array().unwrap())
        .map(|((name, _), run)| (name.as_str(), run["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts[0], ("app", "pass"), "{text}\n{result}");
    let found = verdicts.iter().filter(|(_, verdict)| *verdict == "fail").count();
    assert!(found >= 6, "{verdicts:?}\n{text}");
}

#[test]
fn a_page_without_a_form_gets_what_it_shows() {
    let (desk, site) = (Desk::new(), serve(crate::kit::PAGE));
    let done = desk.jurat(&["init", &format!("{}/?q=1", site.origin())]).exits(0);
    for part in [
        "navigate: /?q=1",
        "role: heading, name: Notes",
        "url_is: /?q=1",
        "title_equals: Notes",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in {}", done.out);
    }
    assert!(
        !done.out.contains("--accept-confinement"),
        "it runs here as it is: {}",
        done.out
    );
}

#[test]
fn what_cannot_be_opened_gets_no_contract() {
    let desk = Desk::new();
    desk.jurat(&["init", "http://example.com/"]).exits(3);
    desk.jurat(&["init", "http://127.0.0.1:1/", "--browser", "/nonexistent"])
        .exits(4);
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let done = desk
        .jurat(&["init", &format!("http://127.0.0.1:{port}/"), "-o", "x.yaml"])
        .exits(2);
    assert!(done.err.contains("nothing answers"), "{}", done.err);
    assert!(
        done.out.is_empty() && !desk.dir.path().join("x.yaml").exists(),
        "{}",
        done.out
    );
}

/// A page whose notes are kept by its server.
const KEEPS: &str = r#"<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1>
<form id=f><label>New note<input id=t></label><button>Add</button></form><ul id=l></ul><script>
async function draw() {
  const all = await (await fetch("/api/notes")).json();
  l.replaceChildren(...all.map((note) => Object.assign(document.createElement("li"), { textContent: note.text })));
}
f.onsubmit = async (event) => {
  event.preventDefault();
  await fetch("/api/notes", { method: "POST", body: JSON.stringify({ text: t.value }) });
  t.value = "";
  draw();
};
draw();
</script>"#;

#[test]
fn where_the_server_keeps_what_was_sent_the_contract_holds_again() {
    let (desk, site) = (Desk::new(), serve(KEEPS));
    let file = desk.dir.path().join("first.yaml");
    let path = file.to_str().unwrap();
    let done = desk.jurat(&["init", &site.origin(), "-o", path]).exits(0);
    let text = fs::read_to_string(&file).unwrap();
    for part in [
        "request: { method: POST, path: /api/notes, status: 201 }",
        "nth: -1",
        "reload: {}",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}\n{}", done.err);
    }
    assert!(
        !text.contains("count:"),
        "how many there are depends on what was there: {text}"
    );
    desk.verify(&file, &["--json", "--repeat", "2"]).exits(0);
}
