//! Apps that jurat starts: what they prove, how they fail, and what plain HTTP criteria say.

use std::fs;
use std::path::Path;

use jurat::engine::{self, Cancel, Format, Job, ParseOptions, RunReport};
use jurat_core::outcome::Answer;
use serde_json::Value;

use super::kit::{alone, deaf, lines, runtime, settings};

/// An app with one page, whose buttons do what their names say.
const SERVER: &str = r#"
import http.server, os, socket, sys, threading

visits = 0
PAGE = """<!doctype html><title>app</title><h1>Visit %d</h1>
<button onclick="fetch('/die').catch(() => 0)">Die</button>
<button onclick="fetch('/swap').then(r => r.text()).then(t => { document.querySelector('p').textContent = t })">Swap</button>
<p>waiting</p>"""

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        global visits
        status, body = 200, "fine"
        if self.path == "/":
            visits += 1
            body = PAGE % visits
        elif self.path == "/gone":
            status = 404
        elif self.path == "/die":
            print("a bug in the app", flush=True)
            os._exit(3)
        elif self.path == "/swap":
            body = "swapped"
            swap()
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words):
        pass

def listen():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    threading.Thread(target=server.serve_forever).start()
    return server

def swap():
    global server
    server.shutdown()
    server.socket.close()
    server = listen()

if len(sys.argv) > 2:
    exec(sys.argv[2])
server = listen()
print("up", os.environ.get("GREETING", ""), flush=True)
threading.Event().wait()
"#;

fn job(folder: &Path, text: &str) -> Job {
    fs::write(folder.join("app.py"), SERVER).unwrap();
    Job {
        contract: engine::parse(text, Format::Yaml, &ParseOptions::default()).unwrap(),
        name: "contract.yaml".into(),
        folder: folder.to_owned(),
        url: None,
    }
}

fn text(start: &str, rest: &str) -> String {
    format!("jurat: contract/1\nname: an app\ntarget:\n  url: http://127.0.0.1:4173/\n  start: {{ {start} }}\n{rest}\n")
}

const START: &str = "command: [python3, app.py, '4173'], ready: { path: / }";

struct Ran {
    report: RunReport,
    _evidence: tempfile::TempDir,
}

fn run(text: &str) -> Ran {
    let (folder, evidence) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let job = job(folder.path(), text);
    let settings = settings(evidence.path());
    let run = engine::run(vec![job], &settings, deaf(), Cancel::new());
    let report = runtime().block_on(run).unwrap().remove(0);
    // Whatever came of it, it follows from the bundle.
    assert_eq!(engine::recheck(&report.bundle).unwrap().verdict, report.verdict);
    Ran {
        report,
        _evidence: evidence,
    }
}

impl Ran {
    fn criterion(&self, id: &str) -> (Answer, Vec<String>, String) {
        let found = self.report.verdict.criteria.iter().find(|c| c.id == id).unwrap();
        (found.outcome, found.reasons.clone(), found.seen.raw().to_owned())
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let all = lines(&self.report.bundle.join("events.jsonl"));
        all.into_iter()
            .filter(|event| event["what"]["event"] == name)
            .map(|event| event["what"].clone())
            .collect()
    }
}

#[test]
fn an_app_is_started_afresh_for_each_viewport_and_gone_afterwards() {
    let _alone = alone();
    let start = format!("{START}, env: [{{ GREETING: hello }}]");
    let ran = run(&text(
        &start,
        "viewports:\n  - { name: one, width: 800, height: 600 }\n  - { name: two, width: 900, height: 600 }\nexpect:\n  - visible: { text: Visit 2 }",
    ));
    assert_eq!(ran.report.verdict.verdict, Answer::Pass, "{:?}", ran.report.verdict);
    assert_eq!(ran.report.verdict.processes_left, 0);
    let (started, ended) = (ran.events("app_started"), ran.events("app_ended"));
    assert_eq!((started.len(), ended.len()), (2, 2));
    assert_eq!(started[0]["command"][0], "python3");
    assert_eq!(started[0]["env"], serde_json::json!(["GREETING"]));
    assert!(
        ended
            .iter()
            .all(|e| e["by"] == "jurat" && e["processes_left"] == 0 && e["was_ready"] == true)
    );
    assert_eq!(ran.events("listener").len(), 4, "at the start and the end of each");
    assert_eq!(ran.events("source")[0]["files"], 1);
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("app.py"), SERVER).unwrap();
    engine::recheck_source(&ran.report.bundle, tree.path()).unwrap();
    fs::write(tree.path().join("app.py"), format!("{SERVER}\n")).unwrap();
    let other = engine::recheck_source(&ran.report.bundle, tree.path()).unwrap_err();
    assert!(other.to_string().contains("what was verified is"), "{other}");
    let blob = ended[0]["log"]["blob"]
        .as_str()
        .unwrap()
        .replace("sha256:", "blobs/sha256/");
    let log = fs::read_to_string(ran.report.bundle.join(blob)).unwrap();
    assert_eq!(log, "up hello\n");
    let layers = started[0]["layers"].as_array().unwrap();
    assert!(
        layers
            .iter()
            .any(|l| l["name"] == "app_lane" && l["state"] == "enforced"),
        "{layers:?}"
    );
}

#[test]
fn an_app_that_dies_is_at_fault_and_one_that_stays_is_not() {
    let _alone = alone();
    let ran = run(&text(
        START,
        "steps:\n  - navigate: /\n  - click: { role: button, name: Die }\n  - expect: { visible: { text: never } }",
    ));
    assert_eq!(ran.report.verdict.verdict, Answer::Fail, "{:?}", ran.report.verdict);
    assert!(
        ran.report.verdict.reasons.contains(&"app_exited".to_owned()),
        "{:?}",
        ran.report.verdict
    );
    let ended = &ran.events("app_ended")[0];
    assert_eq!((&ended["by"], &ended["code"]), (&"itself".into(), &3.into()));
    assert!(ended["log"]["tail"].as_str().unwrap().contains("a bug in the app"));
    // It was noticed at once, not at the end of the step's time.
    assert!(ran.report.took.as_secs() < 9, "{:?}", ran.report.took);
    // A death that nothing on the page shows is one.
    let ran = run(&text(
        START,
        "steps:\n  - navigate: /\n  - click: { role: button, name: Die }\nexpect:\n  - visible: { text: Visit 2 }",
    ));
    assert_eq!(ran.report.verdict.verdict, Answer::Fail, "{:?}", ran.report.verdict);
    assert!(
        ran.report.verdict.reasons.contains(&"app_exited".to_owned()),
        "{:?}",
        ran.report.verdict
    );
}

#[test]
fn an_app_that_is_not_ready_has_a_reason() {
    let _alone = alone();
    let late = START.replace("{ path: / }", "{ path: /gone, within: 1s }");
    let ran = run(&text(&late, "steps:\n  - navigate: /"));
    assert_eq!(ran.report.verdict.verdict, Answer::Inconclusive);
    let (_, reasons, _) = ran.criterion("step-1");
    assert_eq!(reasons, ["target_unreachable", "app_not_ready"]);
    let gone = START.replace("'4173'", "'4173', 'print(\"no database\", flush=True); sys.exit(4)'");
    let ran = run(&text(&gone, "steps:\n  - navigate: /"));
    let (outcome, reasons, seen) = ran.criterion("step-1");
    assert_eq!(outcome, Answer::Fail, "{reasons:?}");
    assert_eq!(reasons, ["app_exited", "exited_before_ready"]);
    assert!(seen.contains("no database"), "{seen}");
    // The twin: ready by a line of its log.
    let log = START.replace("{ path: / }", "{ log: 'up ' }");
    let ran = run(&text(&log, "expect:\n  - visible: { text: Visit 1 }"));
    assert_eq!(ran.report.verdict.verdict, Answer::Pass, "{:?}", ran.report.verdict);
}

#[test]
fn plain_http_criteria_are_looked_at_once_and_before_the_page() {
    let _alone = alone();
    let with = |http: &str, rest: &str| {
        text(
            &format!("{START} }}\n  http: [{http}]\n  allow: []\n  refuse: [] #"),
            rest,
        )
    };
    let holds = run(&with(
        "{ path: /gone, status: 404 }, { path: /health }",
        "steps:\n  - navigate: /",
    ));
    assert_eq!(holds.report.verdict.verdict, Answer::Pass, "{:?}", holds.report.verdict);
    let ids: Vec<_> = holds
        .report
        .verdict
        .criteria
        .iter()
        .map(|c| (&*c.id, &*c.viewport))
        .collect();
    assert_eq!(
        ids,
        [("target-http-1", ""), ("target-http-2", ""), ("step-1", "desktop")]
    );
    let broken = run(&with("{ path: /gone }, { path: /health }", "steps:\n  - navigate: /"));
    assert_eq!(broken.report.verdict.verdict, Answer::Fail);
    let (_, reasons, seen) = broken.criterion("target-http-1");
    assert_eq!(reasons, ["expectation_not_met", "request_status_differs"]);
    assert!(seen.contains("404"), "{seen}");
    assert_eq!(broken.criterion("target-http-2").0, Answer::Pass);
    assert_eq!(broken.criterion("step-1").1, ["not_reached"]);
    let alone_standing = run(&with("{ path: /health }", ""));
    assert_eq!(alone_standing.report.verdict.verdict, Answer::Pass);
    assert_eq!(alone_standing.report.verdict.criteria.len(), 1);
}

#[test]
fn another_listener_at_the_end_bars_a_pass() {
    let _alone = alone();
    let ran = run(&text(
        START,
        "steps:\n  - navigate: /\n  - click: { role: button, name: Swap }\n  - expect: { visible: { text: swapped } }",
    ));
    assert_eq!(
        ran.report.verdict.verdict,
        Answer::Inconclusive,
        "{:?}",
        ran.report.verdict
    );
    let (_, reasons, _) = ran.criterion("step-3");
    assert_eq!(reasons, ["evidence_missing", "listener_changed"]);
}

#[test]
fn two_runs_have_the_same_port_at_once() {
    let _alone = alone();
    let (folder, evidence) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let job = job(folder.path(), &text(START, "expect:\n  - visible: { text: Visit 2 }"));
    let mut settings = settings(evidence.path());
    settings.jobs = 2;
    let run = engine::run(vec![job.clone(), job], &settings, deaf(), Cancel::new());
    let reports = runtime().block_on(run).unwrap();
    for report in reports {
        assert_eq!(report.verdict.verdict, Answer::Pass, "{:?}", report.verdict);
    }
}

#[test]
fn the_example_with_a_node_server_passes() {
    let _alone = alone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/app");
    let text = fs::read_to_string(folder.join("contract.yaml")).unwrap();
    let evidence = tempfile::tempdir().unwrap();
    let job = Job {
        contract: engine::parse(&text, Format::Yaml, &ParseOptions::default()).unwrap(),
        name: "contract.yaml".into(),
        folder,
        url: None,
    };
    let settings = settings(evidence.path());
    let run = engine::run(vec![job], &settings, deaf(), Cancel::new());
    let report = runtime().block_on(run).unwrap().remove(0);
    assert_eq!(report.verdict.verdict, Answer::Pass, "{:?}", report.verdict);
}

#[test]
fn what_cannot_be_started_is_refused_before_anything_runs() {
    let (folder, evidence) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (start, says) in [
        (
            "command: [no-such-program-4711], ready: { path: / }",
            "no program in PATH",
        ),
        (
            "command: [python3], ready: { path: / }, cwd: absent",
            "target.start.cwd",
        ),
    ] {
        let job = job(folder.path(), &text(start, "steps:\n  - navigate: /"));
        let settings = settings(evidence.path());
        let run = engine::run(vec![job], &settings, deaf(), Cancel::new());
        let error = runtime().block_on(run).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}
