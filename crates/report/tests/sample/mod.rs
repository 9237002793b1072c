//! Sample bundles, written and sealed as a run would: a notes app that works, and broken twins of it.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::time::Duration;

use jurat_core::canon::{Digest, to_canonical};
use jurat_core::confinement::Level;
use jurat_core::contract::{Format, ParseOptions, parse};
use jurat_core::observation::{Event, Observation, Record};
use jurat_core::plan::{Plan, PlanOptions};
use jurat_core::verdict::judge;
use jurat_evidence::{Bundle, Class, FileName, Kind, Root, RunId, Writer};
use serde::Serialize;
use serde_json::{Value, json};

const CONTRACT: &str = r"
jurat: contract/1
name: a note survives a reload
target: { url: 'http://127.0.0.1:4173/', refuse: ['https://fonts.example.org'] }
viewports:
  - { name: mobile, width: 390, height: 844 }
  - { name: desktop, width: 1440, height: 900 }
steps:
  - navigate: /
  - fill: { label: New note, value: buy milk }
  - click: { role: button, name: Add }
  - { id: added, expect: { visible: { text: buy milk } } }
  - reload: {}
  - { id: survives, expect: { visible: { text: buy milk } } }
expect:
  - { id: counted, text_equals: { testid: count, value: You have 3 notes } }
  - { id: titled, title_equals: Notes }
  - { id: quiet, console_clean: {} }
";

/// What went wrong in a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    /// Nothing.
    None,
    /// The button is covered on mobile; on desktop the count is wrong, the console complains and another port is asked.
    Broken,
    /// The confinement is weaker than demanded.
    Weak,
    /// As [`Twist::Broken`], and every text from outside is hostile.
    Hostile,
}

/// Text that would act on a page or terminal if it were not escaped.
pub const HOSTILE: &str = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload=alert(3) {{7*7}} \u{1b}[2J\u{202e}gnp.exe";

struct Builder {
    twist: Twist,
    seq: u64,
    at_us: u64,
    observations: Vec<Observation>,
    events: Vec<Event>,
    pictures: Vec<Vec<u8>>,
}

impl Builder {
    fn text(&self, text: &str) -> String {
        if self.twist == Twist::Hostile {
            format!("{text} {HOSTILE}")
        } else {
            text.to_owned()
        }
    }

    fn broken(&self) -> bool {
        matches!(self.twist, Twist::Broken | Twist::Hostile)
    }

    fn next(&mut self, after_us: u64) -> (u64, u64) {
        self.seq += 1;
        self.at_us += after_us;
        (self.seq, self.at_us)
    }

    fn event(&mut self, viewport: Option<&str>, after_us: u64, what: Value) {
        let (seq, at_us) = self.next(after_us);
        let mut event = json!({"seq": seq, "at_us": at_us, "what": what});
        if let Some(viewport) = viewport {
            event["viewport"] = json!(viewport);
        }
        self.events.push(serde_json::from_value(event).unwrap());
    }

    fn fact(&mut self, viewport: &str, criterion: &str, after_action: u32, after_us: u64, fact: Value) {
        let (seq, at_us) = self.next(after_us);
        let value = json!({"seq": seq, "at_us": at_us, "viewport": viewport, "criterion": criterion,
            "after_action": after_action, "fact": fact});
        self.observations.push(serde_json::from_value(value).unwrap());
    }

    fn edge(&mut self, viewport: &str, criterion: &str, edge: &str, after_us: u64) {
        self.event(
            Some(viewport),
            after_us,
            json!({"event": "criterion", "criterion": criterion, "edge": edge}),
        );
    }

    fn element(&self, tag: &str, role: &str, name: &str, text: &str, area: [i64; 4], covered: bool) -> Value {
        let [x, y, width, height] = area.map(|n| n * 100);
        let top = if covered {
            json!({"x": x + 100, "y": y + 100, "is": "other", "other": self.text("div.cookie-banner")})
        } else {
            json!({"x": x + 100, "y": y + 100, "is": "own"})
        };
        let area = json!({"x": x, "y": y, "width": width, "height": height});
        json!({"node": 7, "frame": 0, "tag": tag, "path": self.text(&format!("main > {tag}")), "role": role,
            "name": self.text(name), "ax": true, "text": self.text(text), "enabled": true, "editable": tag == "input",
            "layout": {"rendered": true, "boxes": [area], "shown": area, "visibility": true, "opacity": 1000,
                "font_size": 1600, "contrast": 255, "tops": [top], "hit": top, "stable": true}})
    }

    fn probe(elements: &[Value], near: &[String]) -> Value {
        json!({"kind": "probe", "elements": elements, "matches": elements.len(), "frames": 1, "near": near})
    }

    fn guard(&mut self, viewport: Option<&str>, method: &str, url: &str, kind: (&str, u16, u64)) {
        let (disposition, status, bytes) = kind;
        let listener = u32::from(viewport.is_some());
        let (seq, at_us) = (self.seq + 1, self.at_us);
        let mut record = json!({"event": "guard", "seq": seq, "at_us": at_us, "listener": listener, "kind": "request",
            "disposition": disposition, "method": method, "url": url, "status": status, "request_bytes": 0,
            "response_bytes": bytes, "duration_us": 3100 + bytes / 10, "ended": true});
        match disposition {
            "refused" if listener == 0 => record["reason"] = json!("global_listener"),
            "refused" => record["reason"] = json!("off_origin"),
            "expected_refusal" => record["reason"] = json!("known_third_party"),
            _ => {}
        }
        if viewport.is_some() {
            let id = format!("r{seq}");
            let told = json!({"event": "request", "id": id, "owner": "page", "method": method, "url": url,
                "kind": "Fetch", "document": false});
            self.event(viewport, 0, told);
        }
        self.event(viewport, 400, record);
    }

    fn picture(&mut self, viewport: &str, criterion: &str, action: u32, outline: [i64; 4]) {
        let (width, height) = if viewport == "mobile" { (390, 844) } else { (1440, 900) };
        let png = drawn(width, height, outline);
        let [x, y, w, h] = outline.map(|n| n * 100);
        let fact = json!({"kind": "screenshot", "blob": Digest::of(&png), "bytes": png.len(), "width": width,
            "height": height, "outline": {"x": x, "y": y, "width": w, "height": h}});
        self.pictures.push(png);
        self.fact(viewport, criterion, action, 21_000, fact);
    }

    fn begin(&mut self) {
        self.event(
            None,
            0,
            json!({"event": "begun", "jurat": "0.1.0", "at": "2026-11-30T15:45:00.120Z",
            "platform": "linux x86_64", "target_address": "127.0.0.1:4173"}),
        );
        let argv = [
            "/usr/lib/chromium/chromium-headless-shell",
            "--remote-debugging-pipe",
            "--disable-quic",
            "--proxy-server=http://127.0.0.1:40001",
            "--proxy-bypass-list=<-loopback>",
        ];
        let product = self.text("HeadlessChrome/156.0.7990.0");
        self.event(None, 96_000, json!({"event": "browser", "product": product, "revision": "@1", "program": argv[0],
            "user_agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
            "kind": "headless-shell", "argv": argv}));
        self.event(None, 900, json!({"event": "confinement", "level": "guard_only", "sandbox": "on", "argv": argv, "uid": 65534,
            "layers": [{"name": "guard", "state": "enforced", "detail": "3 listeners; every context is bound to its own"},
                {"name": "unprivileged_uid", "state": "enforced", "detail": "65534"},
                {"name": "network_namespace", "state": "absent", "detail": "not part of this level"}],
            "not_enforced": ["udp", "multicast", "external_protocol"]}));
        self.guard(
            None,
            "CONNECT",
            "optimizationguide-pa.googleapis.com:443",
            ("refused", 403, 0),
        );
    }

    fn viewport(&mut self, viewport: &str) {
        let url = "http://127.0.0.1:4173/";
        let mobile = viewport == "mobile";
        let button = if mobile { [290, 120, 84, 40] } else { [900, 150, 96, 44] };
        let row = if mobile {
            [16, 260, 358, 44]
        } else {
            [360, 300, 720, 48]
        };
        let document = json!({"requested": url, "url": url, "status": 200, "redirects": 0, "loaded": true});
        let action = |n: u32, more: Value| {
            let mut fact = json!({"kind": "action", "action": n, "dispatched": true, "acknowledged": true});
            fact.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fact
        };

        self.edge(viewport, "step-1", "begin", 11_000);
        self.event(
            Some(viewport),
            10,
            json!({"event": "action", "action": 1, "criterion": "step-1"}),
        );
        self.guard(Some(viewport), "GET", url, ("forwarded", 200, 1840));
        self.guard(
            Some(viewport),
            "GET",
            "http://127.0.0.1:4173/app.js?v=3",
            ("forwarded", 200, 48_211),
        );
        self.guard(
            Some(viewport),
            "GET",
            "https://fonts.example.org/inter.woff2",
            ("expected_refusal", 403, 0),
        );
        self.event(
            Some(viewport),
            1_000,
            json!({"event": "navigation", "frame": "F", "main": true, "owner": "page",
            "url": url, "same_document": false}),
        );
        self.fact(viewport, "step-1", 1, 61_000, action(1, json!({"document": document})));
        self.edge(viewport, "step-1", "end", 900);

        self.edge(viewport, "step-2", "begin", 100);
        let mut input = self.element("input", "textbox", "New note", "", [16, 120, 260, 40], false);
        input["value"] = json!(self.text(""));
        self.fact(viewport, "step-2", 2, 9_000, Self::probe(&[input], &[]));
        self.event(
            Some(viewport),
            10,
            json!({"event": "action", "action": 2, "criterion": "step-2"}),
        );
        let filled = json!({"before": "", "given": "buy milk", "after": "buy milk", "received": {"own": true}});
        self.fact(viewport, "step-2", 2, 14_000, action(2, filled));
        self.edge(viewport, "step-2", "end", 300);

        self.edge(viewport, "step-3", "begin", 100);
        let covered = mobile && self.broken();
        let add = self.element("button", "button", "Add", "Add", button, covered);
        let waited = if covered { 10_000_000 } else { 11_000 };
        self.fact(viewport, "step-3", 3, waited, Self::probe(&[add], &[]));
        self.event(
            Some(viewport),
            10,
            json!({"event": "action", "action": 3, "criterion": "step-3"}),
        );
        if covered {
            let fact = json!({"kind": "action", "action": 3, "dispatched": false, "acknowledged": false});
            self.fact(viewport, "step-3", 3, 500, fact);
            self.picture(viewport, "step-3", 3, button);
            self.edge(viewport, "step-3", "end", 300);
            return;
        }
        self.fact(
            viewport,
            "step-3",
            3,
            18_000,
            action(3, json!({"received": {"own": true}})),
        );
        self.guard(
            Some(viewport),
            "POST",
            "http://127.0.0.1:4173/api/notes",
            ("forwarded", 201, 61),
        );
        self.edge(viewport, "step-3", "end", 300);

        for (criterion, action_number) in [("added", 3), ("survives", 4)] {
            if criterion == "survives" {
                self.edge(viewport, "step-5", "begin", 100);
                self.event(
                    Some(viewport),
                    10,
                    json!({"event": "action", "action": 4, "criterion": "step-5"}),
                );
                self.guard(Some(viewport), "GET", url, ("forwarded", 200, 1840));
                self.fact(viewport, "step-5", 4, 55_000, action(4, json!({"document": document})));
                self.edge(viewport, "step-5", "end", 100);
            }
            self.edge(viewport, criterion, "begin", 100);
            let note = self.element("li", "listitem", "", "buy milk", row, false);
            self.fact(viewport, criterion, action_number, 31_000, Self::probe(&[note], &[]));
            self.edge(viewport, criterion, "end", 100);
        }
        self.end(viewport, row);
    }

    fn end(&mut self, viewport: &str, row: [i64; 4]) {
        let settled = json!({"kind": "settled", "in_flight": 0, "quiet_us": 104_000, "waited_us": 131_000});
        if self.broken() {
            let text = self.text("could not sync: 3 of 4 notes");
            self.event(
                Some(viewport),
                200,
                json!({"event": "console", "level": "error", "text": text,
                "url": "http://127.0.0.1:4173/app.js", "line": 214}),
            );
            self.event(
                Some(viewport),
                200,
                json!({"event": "dialog", "kind": "alert", "message": self.text("Saved!"), "accepted": false}),
            );
        }
        let since = self
            .events
            .iter()
            .rev()
            .find(|e| serde_json::to_value(&e.what).unwrap()["event"] == "action")
            .unwrap()
            .seq;
        for criterion in ["counted", "titled", "quiet"] {
            self.edge(viewport, criterion, "begin", 100);
            match criterion {
                "counted" => {
                    let text = if self.broken() {
                        "You have 2 notes"
                    } else {
                        "You have 3 notes"
                    };
                    let place = [row[0], row[1] - 60, 180, 28];
                    let mut element = self.element("p", "paragraph", "", text, place, false);
                    element["matched"] = json!("count");
                    let waited = if self.broken() { 10_000_000 } else { 131_000 };
                    self.fact(viewport, criterion, 4, waited, Self::probe(&[element], &[]));
                    if self.broken() {
                        self.picture(viewport, criterion, 4, place);
                    }
                }
                "titled" => {
                    let page = json!({"kind": "page", "url": "http://127.0.0.1:4173/", "title": "Notes"});
                    self.fact(viewport, criterion, 4, 2_000, page);
                }
                _ => {
                    let events = self.seq;
                    self.fact(
                        viewport,
                        criterion,
                        4,
                        1_000,
                        json!({"kind": "log", "events": events, "since": since}),
                    );
                    self.fact(
                        viewport,
                        criterion,
                        4,
                        150_000,
                        json!({"kind": "held", "window_us": 150_000, "looks": 9}),
                    );
                }
            }
            self.fact(viewport, criterion, 4, 100, settled.clone());
            self.edge(viewport, criterion, "end", 100);
        }
        if self.broken() {
            self.guard(
                Some(viewport),
                "POST",
                "http://127.0.0.1:9229/collect?id=42",
                ("refused", 403, 0),
            );
        }
    }
}

/// A mock of the notes app, and something where the outline will be.
fn drawn(width: u32, height: u32, outline: [i64; 4]) -> Vec<u8> {
    let mut pixels = vec![250_u8; (width * height * 3) as usize];
    let mut fill = |area: [i64; 4], colour: [u8; 3]| {
        for y in area[1].max(0)..(area[1] + area[3]).min(i64::from(height)) {
            for x in area[0].max(0)..(area[0] + area[2]).min(i64::from(width)) {
                let at = ((y * i64::from(width) + x) * 3) as usize;
                pixels[at..at + 3].copy_from_slice(&colour);
            }
        }
    };
    let w = i64::from(width);
    fill([0, 0, w, 72], [38, 70, 120]);
    fill([24, 26, 120, 20], [240, 244, 250]);
    fill([w / 4, 150, w / 3, 44], [255, 255, 255]);
    for i in 0..4 {
        fill([w / 4, 300 + i * 62, w / 2, 48], [232, 236, 242]);
        fill([w / 4 + 16, 318 + i * 62, w / 5 + i * 17, 12], [120, 130, 148]);
    }
    fill(outline, [46, 125, 90]);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    drop(writer);
    bytes
}

fn jsonl<T: Serialize>(values: &[T]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| [to_canonical(value).unwrap(), b"\n".to_vec()].concat())
        .collect()
}

/// Writes, judges and seals a sample; gives back the bundle, whose report is the one that was sealed in.
pub fn bundle(twist: Twist) -> Bundle {
    bundle_with(twist, |_, _| ())
}

/// As [`bundle`], with more done to its record before it is judged.
pub fn bundle_with(twist: Twist, change: impl FnOnce(&mut Record, &mut Vec<Vec<u8>>)) -> Bundle {
    let mut builder = built(twist);
    let mut record = Record {
        observations: std::mem::take(&mut builder.observations),
        events: std::mem::take(&mut builder.events),
    };
    change(&mut record, &mut builder.pictures);
    sealed(twist, &record, &builder.pictures)
}

fn built(twist: Twist) -> Builder {
    let mut builder = Builder {
        twist,
        seq: 0,
        at_us: 0,
        observations: vec![],
        events: vec![],
        pictures: vec![],
    };
    builder.begin();
    builder.viewport("mobile");
    builder.viewport("desktop");
    builder.event(None, 3_000, json!({"event": "canaries", "hits": []}));
    builder.event(None, 41_000, json!({"event": "leftovers", "processes": 0}));
    builder
}

fn sealed(twist: Twist, record: &Record, pictures: &[Vec<u8>]) -> Bundle {
    let contract = if twist == Twist::Hostile {
        CONTRACT.replace(
            "a note survives a reload",
            &format!("{:?}", "a note <b>survives</b> \"'><script>alert(9)</script>"),
        )
    } else {
        CONTRACT.to_owned()
    };
    let contract = parse(&contract, Format::Yaml, &ParseOptions::default()).unwrap();
    let accept_confinement = if twist == Twist::Weak {
        Level::Netns
    } else {
        Level::GuardOnly
    };
    let plan = Plan::new(
        &contract,
        &PlanOptions {
            url: None,
            accept_confinement,
        },
    )
    .unwrap();
    let verdict = judge(&contract, &plan, record);

    let temp = tempfile::tempdir().unwrap();
    let root = Root::open(&temp.path().join("evidence")).unwrap();
    let id = RunId::new(Duration::from_mins(29_934_225), [0x0a, 0x1b, 0x2c, 0x3d]);
    let mut writer = Writer::begin(&root, &id).unwrap();
    for picture in pictures {
        writer.add_blob(Kind::Screenshot, Class::Observed, picture).unwrap();
    }
    let mut add = |name: &str, kind, class, bytes: &[u8]| {
        writer.add(&FileName::parse(name).unwrap(), kind, class, bytes).unwrap();
    };
    add(
        FileName::CONTRACT,
        Kind::Contract,
        Class::Control,
        &to_canonical(&contract).unwrap(),
    );
    add(
        FileName::PLAN,
        Kind::Plan,
        Class::Control,
        &to_canonical(&plan).unwrap(),
    );
    add(
        FileName::OBSERVATIONS,
        Kind::Observations,
        Class::Observed,
        &jsonl(&record.observations),
    );
    add(FileName::EVENTS, Kind::Events, Class::Observed, &jsonl(&record.events));
    add(
        FileName::VERDICT,
        Kind::Verdict,
        Class::Control,
        &to_canonical(&verdict).unwrap(),
    );
    let sealed = writer
        .seal(plan.contract_ref.clone(), verdict.verdict, |draft| {
            jurat_report::render_html(draft).into_bytes()
        })
        .unwrap();
    Bundle::open(&sealed.path).unwrap()
}
