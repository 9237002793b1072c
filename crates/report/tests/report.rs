//! Reports of sample bundles: what they say, and what they never do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod sample;

use std::collections::BTreeMap;

use jurat_core::outcome::Answer;
use jurat_evidence::{Bundle, Contents, Manifest};
use jurat_report::{MAX_BYTES, render_html};
use sample::{HOSTILE, Twist, bundle, bundle_with};

/// The report; kept to be looked at when `JURAT_SAMPLE_DIR` names a directory.
fn report(name: &str, bundle: &Bundle) -> String {
    let html = render_html(bundle);
    if let Some(directory) = std::env::var_os("JURAT_SAMPLE_DIR") {
        std::fs::write(std::path::Path::new(&directory).join(format!("{name}.html")), &html).unwrap();
    }
    html
}

/// The markup alone: the contents of style, title and text left out.
fn tags(html: &str) -> Vec<&str> {
    let start = html.find("</style>").unwrap();
    html[start..]
        .split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap())
        .collect()
}

#[test]
fn a_pass_says_that_it_is_one_and_what_it_rests_on() {
    let bundle = bundle(Twist::None);
    assert_eq!(bundle.predicate().verdict, Answer::Pass);
    let html = report("pass", &bundle);
    for expected in [
        "<title>Pass: a note survives a reload · jurat</title>",
        "All 18 criteria held over 2 viewports.",
        "http://127.0.0.1:4173/",
        "2026-11-30, 15:45:00 UTC",
        "HeadlessChrome/156.0.7990.0",
        "Confined at level guard_only, which this run accepted in so many words. Not stopped at this level: udp, multicast, external protocol.",
        "jurat recheck runs/20261130T154500Z-0a1b2c3d",
        "Refused as expected",
        "390 × 844, mobile",
        "Nothing went, or tried to go, off the origins",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    assert!(!html.contains("id=\"problems\""));
    assert!(html.contains(bundle.manifest_digest().as_str()));
}

#[test]
fn a_fail_shows_expected_against_seen_with_reason_advice_and_picture() {
    let bundle = bundle(Twist::Broken);
    assert_eq!(bundle.predicate().verdict, Answer::Fail);
    let html = report("fail", &bundle);
    for expected in [
        "<title>Fail: a note survives a reload",
        "What went wrong",
        "You have <mark>3</mark> notes",
        "You have <mark>2</mark> notes",
        "text_differs",
        "is covered by div.cookie-banner",
        "Look at the screenshot and at what was seen",
        "src=\"data:image/png;base64,",
        "<rect class=\"box\"",
        "A request off the target&#39;s origin, refused",
        "http://127.0.0.1:9229/collect?id=42",
        "could not sync: 3 of 4 notes",
        "not reached",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
}

#[test]
fn what_bars_every_criterion_is_said_once() {
    let bundle = bundle(Twist::Weak);
    assert_eq!(bundle.predicate().verdict, Answer::Inconclusive);
    let html = report("inconclusive", &bundle);
    assert_eq!(html.matches("<article class=\"problem").count(), 1);
    assert!(html.contains("18 criteria of 18 could not be decided over 2 viewports."));
    assert!(html.contains("guard_only, where netns is demanded"));
    assert!(html.contains("and 6 more"));
}

#[test]
fn the_report_is_the_same_from_the_draft_and_from_the_bundle() {
    for twist in [Twist::None, Twist::Broken, Twist::Weak, Twist::Hostile] {
        let bundle = bundle(twist);
        assert_eq!(
            String::from_utf8(bundle.report().to_vec()).unwrap(),
            render_html(&bundle),
            "{twist:?}"
        );
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let html = report("hostile", &bundle(Twist::Hostile));
    for tag in tags(&html) {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        assert!(
            !matches!(
                name,
                "script" | "b" | "iframe" | "object" | "embed" | "form" | "base" | "link"
            ),
            "<{tag}>"
        );
        assert!(
            !tag.contains(" onerror") && !tag.contains(" onload") && !tag.contains(" style="),
            "<{tag}>"
        );
        assert!(
            name != "img" || tag.starts_with("img src=\"data:image/png;base64,"),
            "<{tag}>"
        );
    }
    assert!(html.contains("\\u{1b}[2J\\u{202e}gnp.exe"));
    assert!(!html.contains(HOSTILE) && !html.contains('\u{1b}') && !html.contains('\u{202e}'));
}

#[test]
fn the_page_asks_for_nothing_and_its_policy_allows_nothing_else() {
    use base64::Engine as _;
    let html = report("pass", &bundle(Twist::None));
    let style = html.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let hex = jurat_core::canon::sha256_hex(style.as_bytes());
    let digest: Vec<u8> = (0..64)
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect();
    let digest = base64::engine::general_purpose::STANDARD.encode(digest);
    let policy = html
        .split("Content-Security-Policy\" content=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let policy = policy.replace("&#39;", "'");
    assert_eq!(
        policy,
        format!("default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'")
    );
    assert!(!style.contains("url(") && !style.contains("@import"));
    for tag in tags(&html) {
        for attribute in ["src=\"", "href=\""] {
            let value = tag.split(attribute).nth(1).map(|rest| rest.split('"').next().unwrap());
            assert!(
                value.is_none_or(|value| value.starts_with('#') || value.starts_with("data:")),
                "<{tag}>"
            );
        }
    }
}

#[test]
fn every_fragment_that_is_linked_is_there() {
    let html = report("fail", &bundle(Twist::Broken));
    for target in html
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
    {
        assert_eq!(html.matches(&format!("id=\"{target}\"")).count(), 1, "{target}");
    }
}

#[test]
fn pictures_beyond_the_page_are_left_out_and_that_is_said() {
    let large = bundle_with(Twist::Broken, |record, pictures| {
        let mut noise = 1_u32;
        for observation in &mut record.observations {
            if let jurat_core::observation::Fact::Screenshot(fact) = &mut observation.fact {
                let random = (0..2_400_000).map(|_| {
                    noise ^= noise << 13;
                    noise ^= noise >> 17;
                    noise ^= noise << 5;
                    noise.to_le_bytes()[0]
                });
                let picture: Vec<u8> = random.collect();
                fact.blob = jurat_core::canon::Digest::of(&picture);
                pictures.push(picture);
            }
        }
    });
    let html = report("large", &large);
    assert!(html.len() <= MAX_BYTES);
    assert!(html.contains("A screenshot of 2.4 MB was left out of this page; it is blobs/sha256/"));
    assert!(html.contains("src=\"data:image/png;base64,"));
}

#[test]
fn a_flood_of_events_and_long_texts_stays_within_the_bound() {
    let flood = bundle_with(Twist::Hostile, |record, _| {
        let of = |kind: &str| {
            let named =
                |event: &&jurat_core::observation::Event| serde_json::to_value(&event.what).unwrap()["event"] == kind;
            record.events.iter().find(named).unwrap().clone()
        };
        let mut console = of("console");
        if let jurat_core::observation::Happening::Console(fact) = &mut console.what {
            fact.text = jurat_core::untrusted::Untrusted::new("<&\u{1b}".repeat(600));
        }
        let more = [console, of("guard"), of("navigation")];
        record.events.extend(more.iter().cycle().take(6_000).cloned());
    });
    let html = report("flood", &flood);
    assert!(html.len() <= MAX_BYTES, "{}", html.len());
    assert!(html.contains("more are in events.jsonl"));
}

/// Contents whose files can be changed at will.
struct Edited<'a> {
    bundle: &'a Bundle,
    files: BTreeMap<&'static str, Option<&'static [u8]>>,
}

impl Contents for Edited<'_> {
    fn manifest(&self) -> &Manifest {
        self.bundle.manifest()
    }

    fn manifest_text(&self) -> &str {
        self.bundle.manifest_text()
    }

    fn statement_text(&self) -> &str {
        self.bundle.statement_text()
    }

    fn file(&self, name: &str) -> Option<std::borrow::Cow<'_, [u8]>> {
        match self.files.get(name) {
            Some(edited) => edited.map(std::borrow::Cow::Borrowed),
            None => Contents::file(self.bundle, name),
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_is_no_pass() {
    let bundle = bundle(Twist::None);
    for (file, bytes, said) in [
        ("verdict.json", None, "verdict.json is missing"),
        ("verdict.json", Some(b"{}".as_slice()), "verdict.json cannot be read"),
        (
            "events.jsonl",
            Some(b"{}\n".as_slice()),
            "events.jsonl cannot be read from line 1",
        ),
        ("plan.json", Some(b"[".as_slice()), "plan.json cannot be read"),
        (
            "contract.json",
            Some(b"\xff".as_slice()),
            "contract.json cannot be read",
        ),
        ("observations.jsonl", None, "observations.jsonl is missing"),
    ] {
        let html = render_html(&Edited {
            bundle: &bundle,
            files: BTreeMap::from([(file, bytes)]),
        });
        assert!(html.contains(said), "{said}");
        if file == "verdict.json" {
            assert!(html.contains("<title>Inconclusive") && !html.contains("<span class=\"word\">Pass"));
        }
    }
}
